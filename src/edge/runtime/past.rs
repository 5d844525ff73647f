//! Answers about memory's past: the log, differences, blame, and what is shown before it is taken back.

use crate::domain::id::OperationId;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::Origin;
use crate::edge::engine::Engine;
use crate::edge::engine::past::blame_text;
use crate::edge::engine::time::{Reach, Wish, preview_name, slice};
use crate::edge::runtime::reading::Reading;
use crate::edge::runtime::request::Request;
use parking_lot::Mutex;
use std::sync::Arc;

/// Lists what moved memory.
pub(super) async fn log(engine: &Engine, limit: usize) -> Result<Plist, String> {
    let entries = engine.memory_log(limit).await?;
    let entry = |entry: &crate::edge::engine::past::Entry| {
        Plist::new()
            .int("operation", number(entry.operation.id))
            .text("at", entry.operation.why.at.to_string())
            .text("by", entry.who())
            .text("what", entry.what().chars().take(300).collect::<String>())
            .maybe("change", entry.change.as_ref().map(|change| change.id.clone()))
            .flag("undoable", entry.stands)
            .build()
    };
    Ok(Plist::new().list("entries", entries.iter().map(entry)))
}

/// Shows one operation, or what differs between two, or who wrote a heading; a page at a time. All pages are of the text as
/// it was made for the first one.
pub(super) async fn text(
    engine: &Engine,
    reading: &Mutex<Reading>,
    request: Request,
    payload: &Sexp,
) -> Result<Plist, String> {
    let (name, from) = (asked_for(request, payload), payload.count_at("from").unwrap_or(0));
    let text: Arc<str> = match from {
        0 => made(engine, request, payload).await?.into(),
        _ => reading.lock().past_text(&name).ok_or("its first page was shown too long ago; ask for it again")?,
    };
    let (page, next) = slice(&text, from);
    reading.lock().note_past(name, next.map(|_| text));
    Ok(page_of(page, next))
}

/// Names what is asked for, whichever page of it.
fn asked_for(request: Request, payload: &Sexp) -> String {
    let numbers = ["from-operation", "operation", "line"].map(|key| payload.count_at(key));
    let words = ["file", "id"].map(|key| payload.text_at(key));
    format!("{} {numbers:?} {words:?}", request.name())
}

async fn made(engine: &Engine, request: Request, payload: &Sexp) -> Result<String, String> {
    Ok(match request {
        Request::MemoryShow => engine.memory_show(operation(payload, "operation")?).await?,
        Request::MemoryDiff => {
            engine.memory_diff(operation(payload, "from-operation")?, operation(payload, "operation")?).await?
        }
        _ => {
            let file = payload.text_at("file").zip(payload.count_at("line"));
            let named = file.map(|(file, line)| format!("{file}:{line}"));
            let name = named.or_else(|| payload.text_at("id").map(str::to_string));
            let (title, found) = engine.blame(&name.ok_or("say which heading: an id, or a file and a line")?).await?;
            blame_text(&title, &found)
        }
    })
}

/// Works out what undo, redo or rewind would do, and answers with its first page.
pub(super) async fn preview(
    engine: &Arc<Engine>,
    reading: &Mutex<Reading>,
    origin: &Origin,
    (request, payload): (Request, &Sexp),
) -> Result<Plist, String> {
    let wish = match request {
        Request::Undo => Wish::Undo(payload.text_at("change").map(str::to_string)),
        Request::Redo => Wish::Redo,
        _ => Wish::Rewind(operation(payload, "operation")?, reach(payload.name_at("reach"))?),
    };
    let preview = engine.preview(origin, wish).await?;
    let first = page_from(engine, reading, &preview.name(), 0)?;
    Ok(first.text("title", preview.title.clone()).text("preview", preview.name()))
}

/// Answers with a page of a preview.
pub(super) fn page(engine: &Engine, reading: &Mutex<Reading>, payload: &Sexp) -> Result<Plist, String> {
    page_from(engine, reading, payload.text_at("preview").unwrap_or(""), payload.count_at("from").unwrap_or(0))
}

fn page_from(engine: &Engine, reading: &Mutex<Reading>, name: &str, from: usize) -> Result<Plist, String> {
    let page = engine.preview_page(name, from)?;
    reading.lock().note_preview(name, from, page.next);
    Ok(page_of(page.text, page.next).maybe("shown", page.shown))
}

/// Carries out what was shown to this client, all of it.
pub(super) async fn carry_out(
    engine: &Arc<Engine>,
    reading: &Mutex<Reading>,
    origin: &Origin,
    payload: &Sexp,
) -> Result<Plist, String> {
    let shown = payload.text_at("shown").unwrap_or("");
    if !reading.lock().has_preview(&preview_name(shown)) {
        return Err("not all of it was shown here; look at it again".to_string());
    }
    let finished = engine.carry_out(origin, shown, engine.new_turn(), &mut |_| {}).await?;
    let report = &finished.report;
    let words = report.notice.clone().filter(|notice| !notice.is_empty()).unwrap_or_else(|| report.text.clone());
    Ok(Plist::new()
        .text("status", report.ending.name())
        .text("text", words)
        .texts("changed", report.changed.iter().map(String::as_str)))
}

/// Returns one page of a text.
pub(super) fn page_of(text: String, next: Option<usize>) -> Plist {
    let page = Plist::new().text("text", text);
    match next {
        Some(next) => page.int("next", next as i64),
        None => page,
    }
}

fn operation(payload: &Sexp, key: &str) -> Result<OperationId, String> {
    let number = payload.count_at(key).ok_or_else(|| format!("say which operation: {key} is a number"))?;
    Ok(OperationId(number as u64))
}

fn number(id: OperationId) -> i64 {
    i64::try_from(id.0).unwrap_or(i64::MAX)
}

fn reach(name: Option<&str>) -> Result<Reach, String> {
    match name {
        None | Some("both") => Ok(Reach::Both),
        Some("files") => Ok(Reach::Files),
        Some("memory") => Ok(Reach::Memory),
        Some(other) => Err(format!("there is no reach “{}”", crate::domain::inert::exact(other))),
    }
}
