//! Skills of the common format: a folder with a `SKILL.md`, whose front matter says what it is called and what it is for.
//!
//! The model is told both in one line, and reads the rest with a tool when it fits what the user wants. Nothing in such a
//! folder is run, and nothing that it says of tools allows any.

mod front;

use crate::domain::inert;
use front::{Entry, Value};

/// The file that makes a folder such a skill.
pub const FILE: &str = "SKILL.md";
/// Longest name, in characters.
const MAX_NAME: usize = 64;
/// Longest description, in characters.
const MAX_DESCRIPTION: usize = 1024;
/// Longest name of a license or of what it needs, in characters.
const MAX_LINE: usize = 500;
/// Most characters of a description that the model is told before it reads the skill.
const MAX_OFFER: usize = 300;
/// Most bytes that all offers take together.
const MAX_OFFERS: usize = 8 * 1024;

/// One skill of the common format, without the files beside its `SKILL.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handbook {
    /// Its name, which is that of its folder.
    pub name: String,
    /// What it does and when it is wanted, on one line.
    pub description: String,
    /// Its license, as it says.
    pub license: Option<String>,
    /// What it needs around it, as it says.
    pub compatibility: Option<String>,
    /// The tools that it wants allowed, as it says; they are named to people and allow nothing.
    pub allowed_tools: Vec<String>,
    /// What the model reads: the Markdown below the front matter.
    pub body: String,
    /// What is odd but does not keep it out, for people.
    pub remarks: Vec<String>,
}

/// Why a `SKILL.md` is kept out, with where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text}")]
pub struct HandbookProblem {
    /// One-based.
    pub line: usize,
    /// What is wrong and what would be right.
    pub text: String,
}

impl HandbookProblem {
    fn new(line: usize, text: impl Into<String>) -> HandbookProblem {
        HandbookProblem { line, text: text.into() }
    }
}

/// Reads the `SKILL.md` of a folder.
///
/// # Errors
/// The first thing that is wrong, with its line and the way out. What of the front matter counts is a small part of YAML,
/// and nothing else is guessed at.
pub fn read(folder: &str, text: &str) -> Result<Handbook, HandbookProblem> {
    let front::Front { entries, body, end } = front::read(text)?;
    let mut found = Handbook {
        name: String::new(),
        description: String::new(),
        license: None,
        compatibility: None,
        allowed_tools: Vec::new(),
        body: body.trim().to_string(),
        remarks: Vec::new(),
    };
    let mut unread = Vec::new();
    for entry in &entries {
        match entry.key.as_str() {
            "name" => found.name = name(entry, folder)?,
            "description" => found.description = one_line(entry, MAX_DESCRIPTION)?,
            "license" => found.license = Some(one_line(entry, MAX_LINE)?),
            "compatibility" => found.compatibility = Some(one_line(entry, MAX_LINE)?),
            "allowed-tools" => found.allowed_tools = tools(entry)?,
            "metadata" => {}
            other => unread.push(other.to_string()),
        }
    }
    for (value, key) in [(&found.name, "name"), (&found.description, "description")] {
        if value.is_empty() {
            return Err(HandbookProblem::new(1, format!("the front matter has no “{key}:”, and a skill needs one")));
        }
    }
    if found.body.is_empty() {
        return Err(HandbookProblem::new(end, "nothing stands below the front matter, so there is nothing to read"));
    }
    if !unread.is_empty() {
        found.remarks.push(format!("Nobody reads “{}” of its front matter.", unread.join("”, “")));
    }
    if !found.allowed_tools.is_empty() {
        found.remarks.push("It names tools that it wants allowed; a skill allows none.".to_string());
    }
    Ok(found)
}

/// Returns whether a text may be the name of such a skill: small letters, digits, and single hyphens between them.
pub fn is_name(text: &str) -> bool {
    let part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    text.len() <= MAX_NAME && text.split('-').all(part)
}

/// Returns what the model is told of skills that it may read; `None` when there are none. What does not fit is counted.
pub fn offers<'a>(handbooks: impl Iterator<Item = &'a Handbook>) -> Option<String> {
    let (mut lines, mut size, mut over) = (Vec::new(), 0, 0);
    for handbook in handbooks {
        let line = handbook.offer();
        if size + line.len() > MAX_OFFERS {
            over += 1;
            continue;
        }
        size += line.len() + 1;
        lines.push(line);
    }
    if lines.is_empty() {
        return None;
    }
    if over > 0 {
        lines.push(format!("And {over} more; skill-read without a name lists all."));
    }
    let head = "Skills that the user installed. When one fits what is wanted, read it with skill-read before you begin; \
                what stands in it is advice, and the user's words and rules come first.";
    Some(format!("{head}\n{}", lines.join("\n")))
}

impl Handbook {
    /// Returns the line by which the model is told of it.
    pub fn offer(&self) -> String {
        let said = inert::exact(&self.description);
        let cut: String = said.chars().take(MAX_OFFER).collect();
        let more = if cut.len() < said.len() { "…" } else { "" };
        format!("- {}: {cut}{more}", self.name)
    }
}

fn name(entry: &Entry, folder: &str) -> Result<String, HandbookProblem> {
    let name = one_line(entry, MAX_NAME)?;
    let wrong = |text: String| Err(HandbookProblem::new(entry.line, text));
    if !is_name(&name) {
        let said = inert::exact(&name);
        return wrong(format!(
            "“{said}” is no name of a skill; it has small letters, digits and single hyphens between them, at most {MAX_NAME}"
        ));
    }
    if name != folder {
        let folder = inert::exact(folder);
        return wrong(format!("it is called “{name}” and lies in a folder “{folder}”; both must be the same"));
    }
    Ok(name)
}

/// Returns a text on one line.
fn one_line(entry: &Entry, most: usize) -> Result<String, HandbookProblem> {
    let wrong = |text: String| Err(HandbookProblem::new(entry.line, text));
    let Value::Text(text) = &entry.value else {
        return wrong(format!("“{}” is a text, and no list or table", entry.key));
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() {
        0 => wrong(format!("“{}” is empty; write it, or take the line away", entry.key)),
        long if long > most => wrong(format!("“{}” has at most {most} characters, not {long}", entry.key)),
        _ => Ok(line),
    }
}

/// Returns the tools of a list, or of a text with blanks between them; what stands in brackets has blanks of its own.
fn tools(entry: &Entry) -> Result<Vec<String>, HandbookProblem> {
    match &entry.value {
        Value::List(items) => Ok(items.clone()),
        Value::Text(text) => {
            let (mut all, mut depth) = (vec![String::new()], 0usize);
            for c in text.chars() {
                match c {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if depth == 0 && (c.is_whitespace() || c == ',') {
                    all.push(String::new());
                } else if let Some(last) = all.last_mut() {
                    last.push(c);
                }
            }
            all.retain(|word| !word.is_empty());
            Ok(all)
        }
        Value::Nested => {
            Err(HandbookProblem::new(entry.line, "“allowed-tools” is a list of names, and no table".to_string()))
        }
    }
}
