//! What differs between what a plan showed and what holds now, as text for the human who looks at a stale plan.

use crate::domain::gate::Facts;
use crate::domain::gate::facts::{FileKind, PathFact};
use crate::domain::gate::plan::FlightPlan;
use crate::domain::gate::show::{Shown, shown};
use crate::domain::label::Privacy;
use std::time::Duration;

/// Longer texts are not compared line by line, in bytes.
const COMPARED: usize = 1 << 20;
/// Of a text that an edit changes, one that is longer is named by its hash alone, in bytes.
const KEPT: usize = 64 * 1024;
/// A difference is cut after so many bytes.
const LONGEST: usize = 16 * 1024;
/// How long two texts are compared before the rest of them counts as one change.
const PATIENCE: Duration = Duration::from_millis(200);

/// Returns what a plan rests on beside what it shows, line by line: where paths lead, which bytes stand there,
/// how private it is. Two facts with the same lines and the same rendering have the same hash, nearly always.
pub fn basis(facts: &Facts) -> String {
    let mut lines: Vec<String> = facts.paths.iter().map(path_line).collect();
    for edit in &facts.edits {
        let before = edit.before.as_deref().map_or_else(|| "nothing".to_string(), |text| name(text.as_bytes()));
        lines.push(format!("edited: {}, from {before} to {}", edit.file, name(edit.after.as_bytes())));
        // With the text itself it can be said later which of its lines have changed.
        let text = edit.before.as_deref().filter(|text| text.len() <= KEPT).unwrap_or_default();
        lines.extend(text.lines().map(|line| format!("  | {line}")));
        for file in &edit.by_setup.opens {
            lines.push(format!("no longer private by setup: {file}"));
        }
    }
    lines.extend(facts.left.iter().map(|left| format!("left as it is: {left}")));
    let scripts = facts.shell.iter().flat_map(|shell| &shell.scripts);
    for word in scripts.flat_map(|script| script.words()) {
        for resolved in word.resolved.iter().chain(&word.matched) {
            lines.push(format!("{} leads to {resolved}", word.raw));
        }
    }
    for file in facts.shell.iter().flat_map(|shell| &shell.files) {
        let bytes = match &file.content {
            Some(content) => short(content),
            None => format!("changed last at {}", file.identity.modified),
        };
        lines.push(format!("file {}: {} bytes, {bytes}", file.path, file.size));
    }
    lines.push(format!(
        "privacy: {}",
        match facts.privacy {
            None => "not known",
            Some(Privacy::Open) => "open",
            Some(Privacy::Warn) => "warn",
            Some(Privacy::Ask) => "ask",
            Some(Privacy::Private) => "private",
        }
    ));
    // Secrets are masked as a whole: one may go over several lines.
    let whole: String = lines.iter().map(|line| format!("{}\n", line.replace('\n', " "))).collect();
    shown(&whole)
}

fn path_line(path: &PathFact) -> String {
    let kind = match path.kind {
        FileKind::Missing => "nothing is there",
        FileKind::File => "a file",
        FileKind::Folder => "a folder",
        FileKind::Special => "a device, pipe or socket",
        FileKind::Unknown => "not known",
    };
    let bytes = match (&path.content, &path.identity) {
        (Some(content), _) => format!(", {}", short(content)),
        (None, Some(identity)) if path.kind == FileKind::File => format!(", changed last at {}", identity.modified),
        (None, _) => String::new(),
    };
    let links = if path.links > 1 { ", with more than one name" } else { "" };
    format!("{} leads to {}: {kind}, {} bytes{bytes}{links}", path.arg, path.resolved, path.size)
}

fn name(bytes: &[u8]) -> String {
    short(blake3::hash(bytes).as_bytes())
}

fn short(hash: &[u8; 32]) -> String {
    let hex = blake3::Hash::from_bytes(*hash).to_hex();
    format!("BLAKE3 {}", hex.get(..16).unwrap_or_default())
}

/// Returns what differs between what a plan showed and what it would show now. It is never empty.
pub fn differs(plan: &FlightPlan, now: &Shown) -> String {
    let pieces = [
        difference("what would happen", &plan.body, &now.body),
        difference("the change", &plan.diff, &now.diff),
        difference("what it rests on", &plan.about.basis, &now.basis),
    ];
    let text: String = pieces.concat();
    if text.is_empty() {
        return "What it shows reads as it did; something that is not shown has changed.\n".to_string();
    }
    text
}

/// Returns the difference of two texts under a name, as a unified diff of bounded length; empty when they are alike.
pub fn difference(what: &str, then: &str, now: &str) -> String {
    if then == now {
        return String::new();
    }
    if then.len().max(now.len()) > COMPARED {
        return format!("{what} has changed, and is too long to be compared here\n");
    }
    let diff = similar::TextDiff::configure()
        .timeout(PATIENCE)
        .diff_lines(then, now)
        .unified_diff()
        .context_radius(2)
        .header(&format!("{what}, as it was shown"), &format!("{what}, now"))
        .to_string();
    if diff.len() <= LONGEST {
        return diff;
    }
    let fits = (0..=LONGEST).rev().find_map(|end| diff.get(..end)).unwrap_or_default();
    let whole = fits.rfind('\n').and_then(|at| fits.get(..=at)).unwrap_or_default();
    format!("{whole}… and more that is not shown here\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_differs_is_named_with_both_sides() {
        let text = difference("the change", "a\nb\n", "a\nc\n");
        assert_eq!(text, "--- the change, as it was shown\n+++ the change, now\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert_eq!(difference("the change", "a", "a"), "");
        assert!(difference("x", &"a".repeat(COMPARED + 1), "").contains("too long"));
    }

    proptest! {
        #[test]
        fn a_difference_is_bounded_and_there_exactly_when_texts_differ(a in "[ab\n]{0,60}", times in 1usize..2000) {
            let (then, now) = (a.repeat(times), "c\n".repeat(times));
            prop_assert_eq!(difference("x", &then, &then), "");
            let text = difference("x", &then, &now);
            prop_assert!(!text.is_empty() && text.len() <= LONGEST + 64);
        }
    }
}
