//! What differs between what a plan showed and what holds now, as text for the human who looks at a stale plan.

use crate::domain::gate::Facts;
use crate::domain::gate::facts::{Answer, FileKind, PathFact};
use crate::domain::gate::plan::FlightPlan;
use crate::domain::gate::show::{Shown, shown};
use crate::domain::label::Privacy;
use crate::domain::skill::gate::gate_of;
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
/// how private it is, what the gates of skills answered. Two facts with the same lines and the same rendering have the same hash, nearly always.
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
    lines.extend(facts.answers.iter().map(|(gate, answer)| {
        // That its code is another one is seen by the code's name.
        let (skill, code) = gate_of(gate).unwrap_or((gate, ""));
        let why = match answer {
            Answer::Pass => "",
            Answer::Ask(why) | Answer::Deny(why) => why,
        };
        let code = code.get(..8).unwrap_or(code);
        format!("the gate of the skill {skill} (Lisp {code}) says {}. {why}", answer.name()).trim_end().to_string()
    }));
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

/// More words than these that read like times are not told apart from other differences.
const TIMES: usize = 8;

/// Returns each two words that differ, when two texts differ only in a few words that read like times: all of them, so
/// that whoever reads them sees what they are. `None` when they differ otherwise, in more, or not at all.
pub fn times<'a>(then: &'a str, now: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    let (mut old, mut new) = (then.lines(), now.lines());
    loop {
        let (a, b) = match (old.next(), new.next()) {
            (None, None) => return Some(found).filter(|found| !found.is_empty()),
            (Some(a), Some(b)) => (a, b),
            (Some(_), None) | (None, Some(_)) => return None,
        };
        if a == b {
            continue;
        }
        let (a, b): (Vec<&str>, Vec<&str>) = (a.split_whitespace().collect(), b.split_whitespace().collect());
        if a.len() != b.len() {
            return None;
        }
        for (at, (one, other)) in a.iter().zip(&b).enumerate() {
            let reads = |word: &str, words: &[&str]| is_time(word, words.get(at + 1).copied().unwrap_or_default());
            match one == other {
                true => {}
                false if !reads(one, &a) || !reads(other, &b) => return None,
                false if found.contains(&(*one, *other)) => {}
                false if found.len() == TIMES => return None,
                false => found.push((*one, *other)),
            }
        }
    }
}

/// Units behind a number that make a length of time of it.
const UNITS: &[&str] = &["ns", "us", "µs", "μs", "ms", "s", "sec", "secs", "second", "seconds", "min", "minutes"];

/// Returns whether a word reads like a time of day, a date, or a length of time; `next` is the word behind it.
fn is_time(word: &str, next: &str) -> bool {
    let (word, next) = (bare(word), bare(next));
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = word.strip_suffix(unit).unwrap_or_default();
    if !number.is_empty() && (UNITS.contains(&unit) || unit.is_empty() && UNITS.contains(&next)) {
        return true;
    }
    // 0m0.41s
    if let Some((minutes, seconds)) = word.split_once('m')
        && let Some(seconds) = seconds.strip_suffix('s')
    {
        let plain = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
        return plain(minutes) && plain(seconds);
    }
    let (day, clock) = word.split_once('T').unwrap_or(match word.contains(':') {
        true => ("", word),
        false => (word, ""),
    });
    (!day.is_empty() || !clock.is_empty()) && (day.is_empty() || is_day(day)) && (clock.is_empty() || is_clock(clock))
}

/// Returns a word without the signs around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && c != '.').trim_end_matches('.')
}

/// Returns whether a text is a day such as 2026-11-22.
fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let numbers = |parts: &[&str]| parts.iter().all(|part| part.chars().all(|c| c.is_ascii_digit()));
    matches!(parts.as_slice(), [year, month, day] if year.len() == 4 && month.len() == 2 && day.len() == 2)
        && numbers(&parts)
}

/// Returns whether a text is a time of day such as 20:51, 20:51:31.04 or 20:51:31Z.
fn is_clock(text: &str) -> bool {
    let text = text.split(['Z', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = text.split(':').collect();
    let digits = |part: &str, most: usize| (1..=most).contains(&part.len()) && part.chars().all(|c| c.is_ascii_digit());
    match parts.as_slice() {
        [hour, minute] => digits(hour, 2) && minute.len() == 2 && digits(minute, 2),
        [hour, minute, second] => {
            let whole = second.split(['.', ',']).next().unwrap_or_default();
            let rest = second.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','));
            digits(hour, 2) && digits(minute, 2) && digits(whole, 2) && rest
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::skill::gate::gate_key;
    use proptest::prelude::*;

    #[test]
    fn what_differs_is_named_with_both_sides() {
        let text = difference("the change", "a\nb\n", "a\nc\n");
        assert_eq!(text, "--- the change, as it was shown\n+++ the change, now\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert_eq!(difference("the change", "a", "a"), "");
        assert!(difference("x", &"a".repeat(COMPARED + 1), "").contains("too long"));
    }

    #[test]
    fn a_gate_of_a_skill_that_came_or_says_something_else_is_named() {
        let of = |answers: &[(String, Answer)]| {
            basis(&Facts { answers: answers.iter().cloned().collect(), ..Facts::default() })
        };
        let [one, two] = ["11223344aa", "55667788bb"].map(|code| gate_key("fridays", code));
        let asks = || Answer::Ask("It is Friday.".to_string());
        let quiet = [(one.clone(), Answer::Pass)];
        for (then, now, said) in [
            (&[][..], &quiet[..], "+the gate of the skill fridays (Lisp 11223344) says pass.\n"),
            (&quiet, &[(one, asks())], "+the gate of the skill fridays (Lisp 11223344) says ask. It is Friday.\n"),
            (&quiet, &[(two, asks())], "+the gate of the skill fridays (Lisp 55667788) says ask. It is Friday.\n"),
            (&quiet, &[], "-the gate of the skill fridays (Lisp 11223344) says pass.\n"),
        ] {
            let text = difference("what it rests on", &of(then), &of(now));
            assert!(text.contains(said), "{text}");
        }
        assert_eq!(of(&quiet), of(&quiet));
    }

    #[test]
    fn a_difference_in_times_alone_is_told_from_others() {
        for (then, now, found) in [
            ("done in 0.41s\n", "done in 0.38s\n", Some(vec![("0.41s", "0.38s")])),
            ("Finished in 1.5 seconds", "Finished in 1.25 seconds", Some(vec![("1.5", "1.25")])),
            ("Sun Nov 22 20:51:31 UTC 2026", "Sun Nov 22 20:51:59 UTC 2026", Some(vec![("20:51:31", "20:51:59")])),
            (
                "at 2026-11-22T20:51:31Z.",
                "at 2026-11-23T00:00:02Z.",
                Some(vec![("2026-11-22T20:51:31Z.", "2026-11-23T00:00:02Z.")]),
            ),
            (
                "real 0m0.005s\nuser 0m0.001s\nsys 0m0.001s",
                "real 0m0.007s\nuser 0m0.002s\nsys 0m0.002s",
                Some(vec![("0m0.005s", "0m0.007s"), ("0m0.001s", "0m0.002s")]),
            ),
            ("ran (12 ms)", "ran (9 ms)", Some(vec![("(12", "(9")])),
            // A number of ten digits may count bytes, or name an account.
            ("1763845000", "1763845001", None),
            ("1s 2s 3s 4s 5s 6s 7s 8s 9s", "2s 3s 4s 5s 6s 7s 8s 9s 10s", None),
            ("3 tests in 1.5s", "4 tests in 1.4s", None),
            ("3 tests", "4 tests", None),
            ("a.rs:12:3", "a.rs:12:4", None),
            ("1.2.3", "1.2.4", None),
            ("20:51", "none", None),
            ("20:51", "20:51\nmore", None),
            ("20:51", "20:52 more", None),
            ("same", "same", None),
        ] {
            assert_eq!(times(then, now), found, "{then} / {now}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_look_for_times(a in "[0-9:.mTZs µ-]{0,30}", b in "[0-9:.mTZs µ-]{0,30}") {
            prop_assert!(times(&a, &a).is_none());
            let apart = |found: &(&str, &str)| found.0 != found.1;
            prop_assert!(times(&a, &b).is_none_or(|found| !found.is_empty() && found.iter().all(apart)));
        }

        #[test]
        fn a_difference_is_bounded_and_there_exactly_when_texts_differ(a in "[ab\n]{0,60}", times in 1usize..2000) {
            let (then, now) = (a.repeat(times), "c\n".repeat(times));
            prop_assert_eq!(difference("x", &then, &then), "");
            let text = difference("x", &then, &now);
            prop_assert!(!text.is_empty() && text.len() <= LONGEST + 64);
        }
    }
}
