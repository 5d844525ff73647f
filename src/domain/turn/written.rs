//! Proposals that a model writes into its text, as property lists.
//!
//! A text proposes something when it begins with such a list, or with a code fence around one: what stands in the middle
//! of prose is an example. Several lists may follow one another, and prose may follow them.

use crate::domain::port::Call;
use crate::domain::sexp::reader::{Fault, Sexp};
use serde_json::{Map, Value};

/// What a list that proposes something begins with.
const BEGINNINGS: &[&str] = &["type", "target", "payload", "action", "tool"];
/// The most calls in one text.
const MOST: usize = 64;
/// How much of the text around a fault is quoted, in characters.
const QUOTED: usize = 40;

/// What a text proposes.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Written {
    /// What it says beside that.
    pub(super) words: String,
    /// The calls.
    pub(super) calls: Vec<Call>,
}

/// Reads `(:type :request :target :tool :payload (:action :call :tool "…" :args (…) :explanation "…"))`, or the inner list
/// alone, in any case and several of them; `None` when the text proposes nothing. `Err` says to the model what is wrong
/// with what it wrote, and where.
pub(super) fn read(text: &str) -> Option<Result<Written, String>> {
    let mut rest = text.trim_start();
    let mut fenced = false;
    let mut said: Vec<String> = Vec::new();
    let mut calls: Vec<Call> = Vec::new();
    let mut found = false;
    loop {
        rest = rest.trim_start();
        if fenced && let Some(after) = rest.strip_prefix("```") {
            (rest, fenced) = (after, false);
        } else if let Some(body) = in_fence(rest).filter(|body| !fenced && begins(body)) {
            (rest, fenced) = (body, true);
        } else if begins(rest) {
            found = true;
            let at = text.len() - rest.len();
            let (form, used) = match Sexp::read_first(rest) {
                Ok(read) => read,
                Err(error) => return Some(Err(unreadable(text, at + error.at, &error.fault))),
            };
            match proposed(&form, calls.len()) {
                Ok(Proposed::Call(_)) if calls.len() >= MOST => {
                    return Some(Err(wrong(text, at, &format!("there are more than {MOST} calls"))));
                }
                Ok(Proposed::Call(call)) => calls.push(call),
                Ok(Proposed::Words(words)) => said.push(words),
                Err(why) => return Some(Err(wrong(text, at, why))),
            }
            rest = rest.get(used..).unwrap_or("");
        } else {
            break;
        }
    }
    let prose = rest.trim();
    if !prose.is_empty() {
        said.push(prose.to_string());
    }
    found.then(|| Ok(Written { words: said.join("\n\n"), calls }))
}

/// Returns what stands behind the line that opens a code fence.
fn in_fence(text: &str) -> Option<&str> {
    let (_, body) = text.strip_prefix("```")?.split_once('\n')?;
    Some(body.trim_start())
}

/// Tells whether a text begins with a list that proposes something.
fn begins(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('(') else { return false };
    let Some(name) = inside.trim_start().strip_prefix(':') else { return false };
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(name.len());
    let name = name.get(..end).unwrap_or("");
    BEGINNINGS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

enum Proposed {
    Call(Call),
    Words(String),
}

fn proposed(whole: &Sexp, before: usize) -> Result<Proposed, &'static str> {
    let payload = whole.get("payload").unwrap_or(whole);
    if payload.name_at("action") == Some("message") {
        let words = payload.text_at("text").ok_or("a message without “:text \"…\"”")?;
        return Ok(Proposed::Words(words.to_string()));
    }
    let tool = payload.name_at("tool").ok_or("it names no tool: “:tool \"NAME\"” is missing")?;
    let mut args = match payload.get("args") {
        None | Some(Sexp::Nil) => Map::new(),
        Some(list) => arguments(list).ok_or("its “:args” are no pairs of a keyword and a value")?,
    };
    if let Some(why) = payload.text_at("explanation").or_else(|| whole.text_at("explanation")) {
        args.insert("explanation".to_string(), Value::String(why.to_string()));
    }
    let id = if before == 0 { "plist".to_string() } else { format!("plist-{}", before + 1) };
    Ok(Proposed::Call(Call { id, tool: tool.to_ascii_lowercase(), args }))
}

fn arguments(list: &Sexp) -> Option<Map<String, Value>> {
    let Sexp::List(items) = list else { return None };
    let pairs = items.chunks(2).map(|pair| match pair {
        [Sexp::Keyword(key), value] => Some((key.as_str().to_string(), argument(value))),
        _ => None,
    });
    pairs.collect()
}

fn argument(value: &Sexp) -> Value {
    match value {
        Sexp::Nil | Sexp::Dotted(..) => Value::Null,
        Sexp::T => Value::Bool(true),
        Sexp::Keyword(word) | Sexp::Symbol(word) => Value::String(word.as_str().to_string()),
        Sexp::Str(text) => Value::String(text.clone()),
        Sexp::Int(number) => Value::from(*number),
        Sexp::Float(number) => Value::from(*number),
        Sexp::List(items) => items.iter().filter_map(Sexp::as_text).map(|s| Value::String(s.to_string())).collect(),
    }
}

fn unreadable(text: &str, at: usize, fault: &Fault) -> String {
    wrong(text, at, &fault.to_string())
}

/// Says to the model what is wrong with its proposal, and where.
fn wrong(text: &str, at: usize, what: &str) -> String {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let (before, after) = text.split_at(at);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    let near: String = after.chars().take_while(|c| *c != '\n').take(QUOTED).collect();
    let near = if near.is_empty() { String::new() } else { format!(", at “{near}”") };
    format!(
        "What you wrote looks like a call of a tool and cannot be read: line {line}, column {column}{near}: {what}. \
         Nothing was done. Write it again as (:tool \"NAME\" :args (:name \"value\") :explanation \"why\"), with every \
         parenthesis and string closed, or answer in words."
    )
}
