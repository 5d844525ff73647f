//! Gate: arguments have a shape and a size that can be shown and carried out, and what is asked can be done.

use crate::domain::gate::{Case, Gate, Reason, Verdict};
use crate::domain::tool::{Class, Effect};
use serde_json::Value;

/// The largest text argument that is read, in bytes. What is larger asks, unread.
pub const MAX_TEXT: usize = 4 * 1024 * 1024;
/// The longest path, in bytes.
const MAX_PATH: usize = 4_096;

/// Denies what is malformed or hides what it says; asks about what is too large to be read.
pub struct Validator;

impl Gate for Validator {
    fn name(&self) -> &str {
        "validator"
    }

    fn priority(&self) -> u16 {
        95
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        if case.facts.unsurveyed && case.tool.effect != Effect::Reply {
            let text = "What it would touch could not be found out, so nothing may be done.";
            let why = Reason::instead(text, "Try it again, or take a smaller step.");
            return Verdict::Deny(why.in_our_words());
        }
        if let Some(why) = case.facts.impossible.first() {
            return Verdict::Deny(Reason::new(format!("It cannot be done as it was asked: {why}")));
        }
        let mut large = Verdict::pass();
        for (name, value) in case.action.args() {
            let texts: Vec<&str> = match value {
                Value::String(text) => vec![text],
                Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
            };
            let is_path = case.tool.paths.contains(&name.as_str());
            for text in texts {
                if text.len() > MAX_TEXT && !is_path {
                    let why =
                        format!("The argument “{name}” has {} bytes; more than {MAX_TEXT} are not read.", text.len());
                    large = Verdict::Ask(Reason::instead(why, "Send it in smaller parts."));
                } else if let Some(why) = odd(case, name, text, is_path) {
                    return Verdict::Deny(why);
                }
            }
        }
        large
    }
}

fn odd(case: &Case<'_>, name: &str, text: &str, is_path: bool) -> Option<Reason> {
    if is_path && text.len() > MAX_PATH {
        let why = format!("The path “{name}” has {} bytes; at most {MAX_PATH} can be one.", text.len());
        return Some(Reason::new(why));
    }
    if text.contains('\0') {
        return Some(Reason::new(format!("The argument “{name}” holds a NUL character.")));
    }
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r' | '\u{c}');
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // What is executed, evaluated or named must not hide anything; text for people may hold odd characters,
    // which are shown as escapes.
    let strict = is_path || case.tool.effect.class() == Class::Execute;
    let found = text.chars().find(|c| control(*c) || (strict && turns(*c)))?;
    strict.then(|| {
        Reason::new(format!(
            "The argument “{name}” holds the character U+{:04X}, which hides what it says.",
            found as u32
        ))
    })
}
