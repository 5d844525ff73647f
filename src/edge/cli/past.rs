//! Memory's past on a terminal: the log, differences, blame; undo, redo and rewind after they were shown.

use crate::domain::id::OperationId;
use crate::domain::inert::exact;
use crate::domain::sexp::plist::Plist;
use crate::domain::turn::Ending;
use crate::edge::cli::args::{Memory, Place};
use crate::edge::cli::plans;
use crate::edge::cli::run::{DONE, FAILED, Failure};
use crate::edge::cli::session::{block_on, blocking, origin, owner, readable, say, somewhere, with_engine};
use crate::edge::clock::local;
use crate::edge::engine::boot::Keep;
use crate::edge::engine::past::{blame_json, blame_text};
use crate::edge::engine::time::{self, Preview, Reach, Wish};
use crate::edge::plan_text;
use serde_json::json;
use std::io::Write;

/// How wide a line of the log is, before it is cut.
const LINE: usize = 160;

/// Carries out a command about memory's past.
///
/// # Errors
/// In words for the user.
pub fn run(command: Memory, out: &mut dyn Write) -> Result<u8, Failure> {
    match command {
        Memory::Log { place, limit, json } => with_engine(&place, Keep::ToRead, async |engine| {
            let entries = engine.memory_log(limit).await?;
            if json {
                let entries: Vec<_> = entries.iter().map(|entry| entry.json()).collect();
                writeln!(out, "{}", json!({ "operations": entries }))?;
                return Ok(DONE);
            }
            for entry in &entries {
                let at = local(entry.operation.why.at).strftime("%Y-%m-%d %H:%M:%S");
                let name = entry.change.as_ref().map_or("", |change| change.id.as_str());
                let line = format!("{:>6}  {at}  {name:<11}  {}: {}", entry.operation.id.0, entry.who(), entry.what());
                writeln!(out, "{}", line.chars().take(LINE).collect::<String>())?;
            }
            if entries.is_empty() {
                writeln!(out, "Memory has not moved yet.")?;
            }
            Ok(DONE)
        }),
        Memory::Show { operation, place, json } => with_engine(&place, Keep::ToRead, async |engine| {
            let id = engine.operation_called(&operation).await?;
            if json {
                writeln!(out, "{}", engine.memory_show_json(id).await?)?;
            } else {
                write!(out, "{}", engine.memory_show(id).await?)?;
            }
            Ok(DONE)
        }),
        Memory::Diff { from, to, place, json } => with_engine(&place, Keep::ToRead, async |engine| {
            let (from, to) = (engine.operation_called(&from).await?, engine.operation_called(&to).await?);
            match json {
                true => writeln!(out, "{}", engine.memory_diff_json(from, to).await?)?,
                false => write!(out, "{}", engine.memory_diff(from, to).await?)?,
            }
            Ok(DONE)
        }),
        Memory::Blame { heading, place, json } => with_engine(&place, Keep::ToRead, async |engine| {
            let (title, found) = engine.blame(&named(&heading)).await?;
            match json {
                true => writeln!(out, "{}", blame_json(&title, &found))?,
                false => write!(out, "{}", blame_text(&title, &found))?,
            }
            Ok(DONE)
        }),
        Memory::Endorse { text, place, json } => {
            plans::human_terminal().map_err(|why| why.replace("plans are decided about", "this is done"))?;
            somewhere(&place)?;
            if let Some(said) = block_on(endorsed_beside(&text, &place))? {
                return say(&said, json, out);
            }
            with_engine(&place, Keep::OnDiskOnly, async |engine| {
                blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
                let said = engine.endorse(&origin(true), &text).await?;
                engine.flush().await?;
                say(&said, json, out)
            })
        }
        Memory::Rewind { operation, memory, files, both: _, dry_run, place, json } => {
            let reach = match (memory, files) {
                (true, _) => Reach::Memory,
                (false, true) => Reach::Files,
                (false, false) => Reach::Both,
            };
            take_back(Wish::Rewind(OperationId(operation), reach), dry_run, &place, json, out)
        }
        Memory::Undo { change, dry_run, place, json } => take_back(Wish::Undo(change), dry_run, &place, json, out),
        // What the store says of itself is dispatched before this.
        Memory::Verify { .. } | Memory::Compact { .. } => Err(Failure::from("BUG: this is about the store itself")),
        Memory::Redo { dry_run, place, json } => take_back(Wish::Redo, dry_run, &place, json, out),
    }
}

/// Returns FILE:LINE with the whole name of a file that is there; an id as it is.
fn named(heading: &str) -> String {
    let place = heading.rsplit_once(':').filter(|(file, _)| std::path::Path::new(file).exists());
    let whole = place.and_then(|(file, line)| Some((std::path::absolute(file).ok()?, line)));
    whole.map_or_else(|| heading.to_string(), |(file, line)| format!("{}:{line}", file.display()))
}

/// How far undo, redo or rewind goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// It is shown, and done when a human says so.
    Asked,
    /// It is shown.
    Shown,
    /// It is shown as JSON.
    Json,
}

impl Manner {
    /// Prints what would happen, unless it is asked about; returns the exit status when that was all.
    fn print(self, preview: &Preview, out: &mut dyn Write) -> Result<Option<u8>, Failure> {
        match self {
            Manner::Asked => return Ok(None),
            Manner::Shown => write!(out, "{}", whole(preview))?,
            Manner::Json => {
                writeln!(out, "{}", time::json(preview))?;
                return Ok(Some(DONE));
            }
        }
        nothing_done(out).map(Some)
    }
}

/// Returns all that a human must see of what would happen.
fn whole(preview: &Preview) -> String {
    format!("{}\n{}", exact(&preview.title), plan_text::folded_text(&preview.text))
}

fn nothing_done(out: &mut dyn Write) -> Result<u8, Failure> {
    writeln!(out, "Nothing was done.")?;
    Ok(DONE)
}

fn word(wish: &Wish) -> &'static str {
    match wish {
        Wish::Undo(_) => "undo",
        Wish::Redo => "redo",
        Wish::Rewind(..) => "rewind",
    }
}

/// Returns the request that asks the owner of a store what a wish would do.
fn asked_of_owner(wish: &Wish) -> (&'static str, Plist) {
    match wish {
        Wish::Undo(change) => ("undo", Plist::new().maybe("change", change.as_deref())),
        Wish::Redo => ("redo", Plist::new()),
        Wish::Rewind(operation, reach) => {
            let reach = match reach {
                Reach::Memory => "memory",
                Reach::Files => "files",
                Reach::Both => "both",
            };
            let number = i64::try_from(operation.0).unwrap_or(i64::MAX);
            ("memory-rewind", Plist::new().int("operation", number).keyword("reach", reach))
        }
    }
}

/// As [`take_back`], by the process that owns the store, which knows what is typed and not saved; `None` when there is
/// none.
fn take_back_beside(wish: &Wish, manner: Manner, place: &Place, out: &mut dyn Write) -> Result<Option<u8>, Failure> {
    block_on(async {
        let Some(mut owner) = owner(place).await? else { return Ok(None) };
        let (action, payload) = asked_of_owner(wish);
        let preview = owner.preview(action, payload).await?;
        if let Some(status) = manner.print(&preview, out)? {
            return Ok(Some(status));
        }
        if !tokio::task::block_in_place(|| plans::confirmed(&whole(&preview), word(wish), out))? {
            return nothing_done(out).map(Some);
        }
        let (done, words) = owner.take_back(&preview.shown).await?;
        writeln!(out, "{}", readable(&words))?;
        Ok(Some(if done { DONE } else { FAILED }))
    })
}

/// Has the process that owns the store take a text as the user's own, and returns what it says; `None` when there is none.
async fn endorsed_beside(text: &str, place: &Place) -> Result<Option<String>, Failure> {
    let Some(mut owner) = owner(place).await? else { return Ok(None) };
    // It works in another folder.
    let file = std::path::absolute(text).ok().filter(|file| file.exists());
    let named = file.map_or_else(|| text.to_string(), |file| file.to_string_lossy().into_owned());
    let answer = owner.request("endorse", Plist::new().text("id", named)).await?;
    Ok(Some(answer.text_at("text").unwrap_or_default().to_string()))
}

/// Shows what a wish does and, unless it is only to be shown, does it when a human at this terminal says so.
fn take_back(wish: Wish, dry_run: bool, place: &Place, json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    somewhere(place)?;
    let manner = match (json, dry_run) {
        (true, _) => Manner::Json,
        (false, true) => Manner::Shown,
        (false, false) => Manner::Asked,
    };
    if manner == Manner::Asked {
        plans::human_terminal().map_err(|why| why.replace("plans are decided about", "this is done"))?;
    }
    if let Some(status) = take_back_beside(&wish, manner, place, out)? {
        return Ok(status);
    }
    let keep = if manner == Manner::Asked { Keep::OnDiskOnly } else { Keep::ToRead };
    with_engine(place, keep, async |engine| {
        if manner == Manner::Asked {
            blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        }
        let origin = origin(manner == Manner::Asked);
        let preview = engine.preview(&origin, wish.clone()).await?;
        if let Some(status) = manner.print(&preview, out)? {
            return Ok(status);
        }
        if !plans::confirmed(&whole(&preview), word(&wish), out)? {
            return nothing_done(out);
        }
        let finished = engine.carry_out(&origin, &preview.shown, engine.new_turn(), &mut |_| {}).await?;
        engine.flush().await?;
        if let Some(notice) = finished.report.notice.as_ref().filter(|notice| !notice.is_empty()) {
            writeln!(out, "{}", readable(notice))?;
        }
        if !finished.report.text.is_empty() {
            writeln!(out, "{}", readable(&finished.report.text))?;
        }
        Ok(if finished.report.ending == Ending::Answered { DONE } else { FAILED })
    })
}
