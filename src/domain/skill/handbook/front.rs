//! The part of YAML that front matter is written in: texts, lists of texts, and tables that nobody looks into.
//!
//! Anchors, references, tags and tables in braces are refused, for who reads on without them reads something else than
//! what was written. Every line is looked at a bounded number of times, and nothing recurses.

use super::HandbookProblem;

/// Most lines of a front matter.
const MAX_LINES: usize = 500;

/// A key at the beginning of a line, with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub line: usize,
    pub key: String,
    pub value: Value,
}

/// A value, as far as it is looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    List(Vec<String>),
    /// A table, or lists in lists.
    Nested,
}

/// What stands before the text and the text.
pub(super) struct Front<'a> {
    pub entries: Vec<Entry>,
    pub body: &'a str,
    /// The line on which the front matter ends, one-based.
    pub end: usize,
}

type Line<'a> = (usize, &'a str);

pub(super) fn read(text: &str) -> Result<Front<'_>, HandbookProblem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut at = 0;
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        at += line.len();
        let line = line.trim_end();
        match (index, line == "---") {
            (0, true) => {}
            (0, false) => {
                let text = "a skill begins with a line “---”, its name and description, and a line “---”";
                return Err(HandbookProblem::new(1, text));
            }
            (_, true) => {
                return Ok(Front { entries: entries(&lines)?, body: text.get(at..).unwrap_or(""), end: index + 1 });
            }
            (_, false) if index > MAX_LINES => break,
            (_, false) => lines.push((index + 1, line)),
        }
    }
    let text = format!("the front matter has no end; a line “---” ends it, within {MAX_LINES} lines");
    Err(HandbookProblem::new(1, text))
}

fn entries(lines: &[Line<'_>]) -> Result<Vec<Entry>, HandbookProblem> {
    let mut found: Vec<Entry> = Vec::new();
    let mut rest = lines;
    while let Some(((line, text), behind)) = rest.split_first() {
        if is_blank(text) {
            rest = behind;
            continue;
        }
        let Some((key, value)) = key_of(text) else {
            let text = "this is neither “key: value” nor what a key above it goes on with";
            return Err(HandbookProblem::new(*line, text));
        };
        if found.iter().any(|known| known.key == key) {
            return Err(HandbookProblem::new(*line, format!("“{key}” stands there twice")));
        }
        // What is indented goes on with it; the items of a list may stand below their key.
        let listed = value.is_empty();
        let goes_on = |(_, text): &Line<'_>| {
            text.is_empty() || text.starts_with([' ', '\t']) || (listed && (text.starts_with("- ") || *text == "-"))
        };
        let count = behind.iter().take_while(|line| goes_on(line)).count();
        let (own, after) = behind.split_at(count);
        if let Some((line, _)) = own.iter().find(|(_, text)| {
            let blanks = text.len() - text.trim_start().len();
            text.get(..blanks).unwrap_or("").contains('\t')
        }) {
            return Err(HandbookProblem::new(*line, "a tab stands at its beginning; indent with blanks"));
        }
        found.push(Entry { line: *line, key: key.to_string(), value: value_of(*line, value, own)? });
        rest = after;
    }
    Ok(found)
}

/// Returns whether a line says nothing.
fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let plain = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let good = plain && key.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    (good && (value.is_empty() || value.starts_with([' ', '\t']))).then(|| (key, uncommented(value.trim())))
}

/// Returns a plain value without a comment behind it.
fn uncommented(value: &str) -> &str {
    if value.starts_with('#') {
        return "";
    }
    if value.starts_with(['"', '\'']) {
        return value;
    }
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end())
}

fn value_of(line: usize, value: &str, own: &[Line<'_>]) -> Result<Value, HandbookProblem> {
    let wrong = |text: String| Err(HandbookProblem::new(line, text));
    match value.chars().next() {
        None => below(own),
        Some('|' | '>') => block(line, value, own).map(Value::Text),
        Some('"' | '\'') => {
            let whole = joined(value, own);
            let (text, rest) = quoted(&whole).map_err(|text| HandbookProblem::new(line, text))?;
            if is_blank(rest) {
                return Ok(Value::Text(text));
            }
            wrong("something stands behind the closing quotation mark".to_string())
        }
        Some('[') => flow(&joined(value, own)).map(Value::List).map_err(|text| HandbookProblem::new(line, text)),
        Some(c @ ('{' | '&' | '*' | '!' | '%' | '@' | '`' | ']' | '}' | ',')) => {
            wrong(format!("a value that begins with “{c}” is not read; put it in quotation marks"))
        }
        Some(_) if value == "-" || value.starts_with("- ") || value.starts_with("? ") => {
            wrong("a list begins on the line below its key".to_string())
        }
        Some(_) => Ok(Value::Text(joined(value, own))),
    }
}

/// Returns a value that goes on over several lines, on one. In quotation marks nothing is a comment.
fn joined(value: &str, own: &[Line<'_>]) -> String {
    let quoted = value.starts_with(['"', '\'']);
    let more = own.iter().map(|(_, text)| text.trim()).filter(|text| !text.is_empty() && (quoted || !is_blank(text)));
    std::iter::once(value).chain(more).collect::<Vec<_>>().join(" ")
}

/// Returns what stands below a key without a value.
fn below(own: &[Line<'_>]) -> Result<Value, HandbookProblem> {
    let told: Vec<Line<'_>> =
        own.iter().filter(|(_, text)| !is_blank(text)).map(|(line, text)| (*line, *text)).collect();
    let item = |text: &str| {
        text.trim_start()
            .strip_prefix('-')
            .filter(|rest| rest.is_empty() || rest.starts_with(' '))
            .map(str::trim)
            .map(str::to_string)
    };
    let depth = |text: &str| text.len() - text.trim_start().len();
    let Some((_, first)) = told.first() else { return Ok(Value::Text(String::new())) };
    if item(first).is_none() {
        let keys = told.iter().any(|(_, text)| key_of(text.trim_start()).is_some());
        let text = || told.iter().map(|(_, text)| text.trim()).collect::<Vec<_>>().join(" ");
        return Ok(if keys { Value::Nested } else { Value::Text(text()) });
    }
    let mut items = Vec::new();
    for (line, text) in &told {
        let Some(said) = item(text).filter(|said| depth(text) == depth(first) && key_of(said).is_none()) else {
            return Ok(Value::Nested);
        };
        items.push(scalar(&said).map_err(|text| HandbookProblem::new(*line, text))?);
    }
    Ok(Value::List(items))
}

/// Returns the lines below `|`, or folded into one below `>`.
fn block(line: usize, head: &str, own: &[Line<'_>]) -> Result<String, HandbookProblem> {
    if !matches!(head, "|" | ">" | "|-" | ">-" | "|+" | ">+") {
        let text = format!("“{head}” is not read; write | or > alone, and the text below it");
        return Err(HandbookProblem::new(line, text));
    }
    let between = if head.starts_with('|') { "\n" } else { " " };
    Ok(own.iter().map(|(_, text)| text.trim()).collect::<Vec<_>>().join(between).trim().to_string())
}

/// Reads one text of a list.
fn scalar(text: &str) -> Result<String, String> {
    if text.starts_with(['"', '\'']) {
        let (said, rest) = quoted(text)?;
        return if is_blank(rest) {
            Ok(said)
        } else {
            Err("something stands behind the closing quotation mark".into())
        };
    }
    let text = uncommented(text);
    match text.chars().next() {
        None => Err("an item of this list is empty".to_string()),
        Some(c @ ('{' | '[' | '&' | '*' | '!' | '%' | '@' | '`' | '|' | '>' | ']' | '}')) => {
            Err(format!("an item that begins with “{c}” is not read; put it in quotation marks"))
        }
        Some(_) => Ok(text.to_string()),
    }
}

/// Reads a text in quotation marks, and returns it with what stands behind.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let mut chars = text.char_indices().peekable();
    let mark = chars.next().map_or('"', |(_, mark)| mark);
    let mut said = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if mark == '"' => match chars.next() {
                Some((_, c @ ('"' | '\\' | '/'))) => said.push(c),
                Some((_, 'n' | 't' | ' ')) => said.push(' '),
                Some((_, c)) => return Err(format!("“\\{c}” is not read in quotation marks")),
                None => break,
            },
            c if c == mark => match chars.peek() {
                Some((_, next)) if mark == '\'' && *next == '\'' => {
                    said.push('\'');
                    chars.next();
                }
                Some(_) | None => return Ok((said, text.get(at + c.len_utf8()..).unwrap_or(""))),
            },
            c => said.push(c),
        }
    }
    Err("a quotation mark is not closed".to_string())
}

/// Reads a list in brackets.
fn flow(text: &str) -> Result<Vec<String>, String> {
    let mut rest = text.strip_prefix('[').unwrap_or(text).trim_start();
    let mut items = Vec::new();
    loop {
        if let Some(behind) = rest.strip_prefix(']') {
            return if is_blank(behind) { Ok(items) } else { Err("something stands behind the list".to_string()) };
        }
        let behind = if rest.starts_with(['"', '\'']) {
            let (said, behind) = quoted(rest)?;
            items.push(said);
            behind.trim_start()
        } else {
            let end = rest.find([',', ']']).ok_or_else(|| "a list is not closed".to_string())?;
            let (said, behind) = rest.split_at(end);
            items.push(scalar(said.trim())?);
            behind
        };
        rest = match behind.strip_prefix(',') {
            Some(behind) => behind.trim_start(),
            None if behind.starts_with(']') => behind,
            None => return Err("a comma is missing in a list, or it is not closed".to_string()),
        };
    }
}
