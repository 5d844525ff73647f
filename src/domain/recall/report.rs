//! What became of a proposal, in one short sentence.

use crate::domain::port::Message;
use crate::domain::recall::show::{clip, one_line};

/// How much of a result is quoted, in characters.
const LONGEST: usize = 300;

/// Returns a sentence for each result at the end of a conversation; `None` when the last message is none.
pub fn report(messages: &[Message]) -> Option<String> {
    report_with(messages, &|_| false)
}

/// As [`report`], with what some tools found whole.
pub fn report_with(messages: &[Message], whole: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut lines = Vec::new();
    for message in messages.iter().rev() {
        match message {
            Message::Result { tool, text, .. } => lines.push(sentence(tool, text, whole(tool))),
            Message::Text { .. } | Message::Calls { .. } | Message::Picture(_) => break,
        }
    }
    lines.reverse();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn sentence(tool: &str, text: &str, whole: bool) -> String {
    let lower = text.trim_start().to_lowercase();
    let said = |words: &str| clip(&one_line(words), LONGEST);
    let after = |head: &str| {
        let text = text.trim_start();
        said(text.get(head.len()..).unwrap_or("").trim())
    };
    let verb = verb(tool);
    if lower.starts_with("denied:") {
        let words = after("denied:");
        let Some(reason) = words.strip_prefix("the user said no") else {
            return format!("You denied it, so nothing was changed ({}).", words.trim_end_matches('.'));
        };
        let reason = reason.trim_end_matches("Nothing was done.").trim_matches([':', '.', ' ']);
        return match reason.to_lowercase().as_str() {
            "" | "no" => "You denied it, so nothing was changed.".to_string(),
            _ => format!("You denied it, so nothing was changed. Your reason: {reason}."),
        };
    }
    if lower.starts_with("refused") {
        // By whom and why stands below the answer; of what is no action at all it stands nowhere else.
        let why = lower.strip_prefix("refused:").map(|_| format!(" {}", after("refused:")));
        return format!("The gates refused to {verb}, so nothing was changed.{}", why.unwrap_or_default());
    }
    if lower.starts_with("failed:") {
        return format!("I could not {verb}: {}", after("failed:"));
    }
    if lower.starts_with("stale:") {
        return format!("Nothing was done: {}", after("stale:"));
    }
    if lower.starts_with("cancelled:") {
        return format!("It was stopped: {}", after("cancelled:"));
    }
    if whole && !text.trim().is_empty() {
        return text.trim().to_string();
    }
    match said(text).as_str() {
        "" => format!("{tool} was carried out."),
        // Edits say in full what became of them.
        words if words.starts_with("Done. ") => words.to_string(),
        words => format!("{tool}: {words}"),
    }
}

fn verb(tool: &str) -> &'static str {
    match tool {
        "org-add-heading" => "add the heading",
        "org-set-todo" => "change the keyword",
        "org-schedule" => "change the date",
        "org-move" => "move the heading",
        "org-set-property" => "set the property",
        _ => "do that",
    }
}
