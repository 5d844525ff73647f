//! `passepartout query`: answers a query for a terminal, or as JSON for a program.

use crate::domain::inert::exact;
use crate::domain::label::Privacy;
use crate::domain::query::error::QueryError;
use crate::domain::query::parse::parse;
use crate::domain::query::show::{Row, Style, plain};
use crate::domain::query::{MAX_BYTES, MAX_LIMIT};
use crate::edge::cli::args::Place;
use crate::edge::cli::run::{DONE, Failure, USAGE};
use crate::edge::cli::session::{blocking, readable, somewhere, with_engine};
use crate::edge::engine::boot::Keep;
use crate::edge::engine::query::Answer;
use crate::edge::engine::query::Manner;
use serde_json::{Value, json};
use std::io::{self, Read, Write};

/// The version of the JSON form; a field that is taken away or changes its meaning makes a new one.
pub const FORM: u32 = 1;

/// Writes an answer for a terminal.
///
/// # Errors
/// When writing fails.
pub fn print_plain(answer: &Answer, files: usize, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(plain(&answer.found, style).as_bytes())?;
    let total = answer.found.total.words(answer.found.hits.len());
    if answer.found.hits.is_empty() {
        writeln!(
            out,
            "Nothing fits: {}",
            if answer.query.is_empty() { "everything".to_string() } else { exact(&answer.query) }
        )?;
    } else {
        writeln!(out, "{total}.")?;
    }
    match answer.state(files) {
        Some(state) => writeln!(out, "Note: {state}."),
        None => Ok(()),
    }
}

/// Returns an answer as JSON.
pub fn json(answer: &Answer, mask: &dyn Fn(&str) -> String) -> Value {
    let hits: Vec<Value> = answer.found.hits.iter().map(|hit| row(&Row::of(hit), mask)).collect();
    json!({
        "form": FORM,
        "query": mask(&answer.query),
        "total": answer.found.total.count(),
        "exact": answer.found.total.is_exact(),
        "hits": hits,
        "notes": answer.found.notes,
        "reading": answer.reading.map(|reading| json!({ "done": reading.done, "total": reading.total })),
    })
}

fn row(row: &Row, mask: &dyn Fn(&str) -> String) -> Value {
    json!({
        "id": row.id, "file": row.file, "line": row.line, "byte": row.byte, "level": row.level,
        "title": mask(&row.title), "path": row.path.iter().map(|title| mask(title)).collect::<Vec<_>>(),
        "keyword": row.keyword, "done": row.done, "priority": row.priority.map(String::from), "tags": row.tags,
        "scheduled": row.scheduled, "deadline": row.deadline, "closed": row.closed,
        "private": row.private, "score": row.score,
        "snippet": row.snippet.as_deref().map(mask),
        "marks": row.marks.iter().map(|mark| [mark.start, mark.end]).collect::<Vec<_>>(),
    })
}

/// Returns an error as JSON.
pub fn json_error(error: &QueryError) -> Value {
    json!({
        "form": FORM,
        "error": error.to_string(),
        "what": error.what, "way_out": error.way_out, "column": error.column, "width": error.width,
    })
}

/// Returns what is asked: the words, or what is piped in when they are only “-”.
///
/// # Errors
/// When nothing is asked, as by a script whose variable is empty, or what is piped in cannot be read.
pub(super) fn asked(words: &[String]) -> Result<String, Failure> {
    let text = if matches!(words, [only] if only == "-") { piped()? } else { words.join(" ") };
    if text.trim().is_empty() {
        let text = "there is no query; write words, or terms such as tag:project\nUsage: passepartout query TERMS";
        return Err(Failure { text: text.to_string(), status: USAGE });
    }
    Ok(text)
}

fn piped() -> Result<String, Failure> {
    let mut text = String::new();
    let mut input = io::stdin().lock().take(MAX_BYTES as u64 + 1);
    input.read_to_string(&mut text).map_err(|error| {
        let text = format!("the query cannot be read: {error}\nUsage: passepartout query TERMS, or pipe them in to -");
        Failure { text, status: USAGE }
    })?;
    Ok(text.trim().to_string())
}

pub(super) fn run_query(
    text: &str,
    place: &Place,
    limit: Option<usize>,
    json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    if limit.is_some_and(|limit| !(1..=MAX_LIMIT).contains(&limit)) {
        let text = format!("--limit takes a number from 1 to {MAX_LIMIT}");
        return Err(Failure { text, status: USAGE });
    }
    // What cannot be read needs no memory to say so.
    if let Err(error) = parse(text) {
        if json {
            writeln!(out, "{}", json_error(&error))?;
            return Ok(USAGE);
        }
        return Err(Failure { text: readable(&error.pointed(text)), status: USAGE });
    }
    somewhere(place)?;
    with_engine(place, Keep::ToRead, async |engine| {
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        let asked = text.to_string();
        // A terminal is the user's own.
        let answer = blocking(engine, move |engine| {
            engine.query(&engine.view(), &asked, limit, Privacy::Private, Manner::Whole)
        })
        .await?;
        let answer = answer.map_err(|error| Failure { text: readable(&error.pointed(text)), status: USAGE })?;
        if json {
            writeln!(out, "{}", self::json(&answer, &|text| engine.mask(text)))?;
        } else {
            let mut shown = Vec::new();
            print_plain(&answer, engine.view().len(), &style(), &mut shown)?;
            write!(out, "{}", engine.mask(&String::from_utf8_lossy(&shown)))?;
        }
        Ok(DONE)
    })
}

/// Colours on a terminal that wants them.
fn style() -> Style {
    use std::io::IsTerminal;
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let width = std::env::var("COLUMNS").ok().and_then(|width| width.parse().ok()).unwrap_or(100);
    Style { coloured: wanted && std::io::stdout().is_terminal(), width }
}
