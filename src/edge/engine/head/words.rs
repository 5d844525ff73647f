//! A move of memory in words: what is shown before it, and what is said of it afterwards.

use crate::domain::count::counted;
use crate::domain::focus::FocusStack;
use crate::domain::gate::show::field;
use crate::domain::hash::ContentHasher;
use crate::domain::inert::exact;
use crate::edge::engine::head::{Move, Way};
use crate::edge::engine::time::Preview;

/// How many files a preview of memory names.
const NAMED: usize = 50;

pub(super) fn title(to: &Move) -> String {
    match to.legs.last() {
        Some(leg) => format!("Rewind memory to operation {}", leg.to.0),
        None => "Rewind the focus".to_string(),
    }
}

/// Returns what was done, for people.
pub(super) fn done(to: &Move, way: &Way) -> String {
    let mut text = Vec::new();
    if let Some(leg) = to.legs.last().filter(|_| !way.steps.is_empty()) {
        text.push(format!(
            "Memory is as it was at operation {} in {}. \
             The files stay as they are; memory follows a file again when that changes.",
            leg.to.0,
            counted(way.steps.len(), "file")
        ));
    }
    if let Some((_, stack)) = &way.focus {
        text.push(format!("The agent looks at {}.", exact(&stack.reach().to_string())));
    }
    text.join("\n")
}

/// Returns a move as people are shown it. Its name stands for each file with what it was and becomes.
pub(super) fn shown(to: &Move, way: &Way) -> Preview {
    let mut text = String::new();
    if let Some(leg) = to.legs.last().filter(|_| !way.steps.is_empty()) {
        field(&mut text, "memory goes back to operation", &leg.to.0.to_string());
        field(&mut text, "files on disk", "stay as they are; memory follows a file again when that changes");
    }
    for step in way.steps.iter().take(NAMED) {
        let what = match (step.then, step.now) {
            (None, _) => "forgets",
            (Some(_), None) => "remembers",
            (Some(_), Some(_)) => "goes back in",
        };
        field(&mut text, what, &step.file);
    }
    if let Some(more @ 1..) = way.steps.len().checked_sub(NAMED) {
        field(&mut text, "and", &counted(more, "more file"));
    }
    if let Some((now, then)) = &way.focus {
        field(&mut text, "the focus goes back from", &focus_line(now));
        field(&mut text, "the focus goes back to", &focus_line(then));
    }
    for left in &way.left {
        field(&mut text, "left as it is", left);
    }
    let mut hasher = ContentHasher::new("preview of memory");
    hasher.text(&text).number(way.steps.len() as u64).number(to.legs.len() as u64);
    for leg in &to.legs {
        hasher.number(leg.since.0).number(leg.to.0);
    }
    for step in &way.steps {
        hasher.text(&step.file);
        for document in [step.now, step.then] {
            hasher.number(u64::from(document.is_some()));
            hasher.bytes(document.as_ref().map_or(&[][..], |document| document.as_bytes()));
        }
    }
    let shown = blake3::Hash::from_bytes(hasher.finish()).to_hex().to_string();
    Preview { shown, title: title(to), text }
}

/// Says all of a focus in a line.
fn focus_line(stack: &FocusStack) -> String {
    let mut line = stack.reach().to_string();
    for frame in stack.frames().iter().rev().skip(1) {
        line.push_str(&format!(", upon {}", frame.reach));
    }
    for (name, value) in stack.settings() {
        line.push_str(&format!(", {name} = {value}"));
    }
    line
}
