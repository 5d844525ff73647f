//! What an action would write that does not stand there yet: of each text the part that changes, with what is around it.
//!
//! What is given can be harmless in parts and a secret where it comes to stand, so the text that comes to be is searched.

use super::facts::Facts;
use super::secret::{Finding, scan};
use super::validator::MAX_TEXT;
use std::collections::HashSet;

/// How much of what stays is read on both sides of what changes, in bytes: more than any secret and its name take.
const AROUND: usize = 16 * 1024;

/// What becomes of the part of a file that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brought<'a> {
    /// The file; of a commit relative to the project.
    pub file: &'a str,
    /// What stands there.
    pub before: &'a str,
    /// What would stand there.
    pub after: &'a str,
}

/// A secret that would come into a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposed<'a> {
    /// The file, as in [`Brought`].
    pub file: &'a str,
    /// What it is; its range is one of `value` and says nothing of the file.
    pub finding: Finding,
    /// Its words, which are not to be shown.
    pub value: &'a str,
}

/// Returns what changes in each text that is edited, put whole or committed.
pub fn brought(facts: &Facts) -> Vec<Brought<'_>> {
    let edits = facts.edits.iter().chain(&facts.put_texts);
    let edits = edits.map(|edit| (edit.file.as_str(), edit.before.as_deref(), Some(&*edit.after)));
    let files = facts.commit.iter().flat_map(|commit| &commit.files);
    let files = files.map(|file| (file.path.as_str(), file.before.as_deref(), file.after.as_deref()));
    edits
        .chain(files)
        .filter(|(_, before, after)| before != after)
        .map(|(file, before, after)| {
            let (before, after) = changing(before.unwrap_or(""), after.unwrap_or(""));
            Brought { file, before, after }
        })
        .collect()
}

/// Returns the files that are not searched, because too much changes in them and those before them.
pub fn unsearched<'a>(parts: &[Brought<'a>]) -> Vec<&'a str> {
    parts.iter().skip(within(parts, |part| part.after).len()).map(|part| part.file).collect()
}

/// Returns the secrets that stand in what comes to be and in nothing of what was there, in whichever of the files: what
/// moves from one to another is not new.
pub fn secrets<'a>(parts: &[Brought<'a>]) -> Vec<Exposed<'a>> {
    let after = found(parts, |part| part.after);
    if after.is_empty() {
        return after;
    }
    let known: HashSet<&str> = found(parts, |part| part.before).into_iter().map(|one| one.value).collect();
    after.into_iter().filter(|one| !known.contains(one.value)).collect()
}

/// Returns the names that `find` finds in what comes to be and in nothing of what was there.
pub fn newly(parts: &[Brought<'_>], find: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    let mut names: Vec<String> = within(parts, |part| part.after).iter().flat_map(|part| find(part.after)).collect();
    if !names.is_empty() {
        let known = within(parts, |part| part.before).iter().flat_map(|part| find(part.before));
        let known: HashSet<String> = known.collect();
        names.retain(|name| !known.contains(name));
        names.sort();
        names.dedup();
    }
    names
}

fn found<'a>(parts: &[Brought<'a>], text: fn(&Brought<'a>) -> &'a str) -> Vec<Exposed<'a>> {
    let each = within(parts, text).iter().flat_map(|part| {
        let text = text(part);
        scan(text).into_iter().map(move |finding| {
            let value = text.get(finding.range.clone()).unwrap_or("");
            Exposed { file: part.file, finding, value }
        })
    });
    each.collect()
}

/// Returns the first parts whose texts are as much together as one argument may hold. What was there and is not looked
/// through any more counts as not having been there.
fn within<'p, 'a>(parts: &'p [Brought<'a>], text: fn(&Brought<'a>) -> &'a str) -> &'p [Brought<'a>] {
    let mut left = MAX_TEXT;
    let fits = |part: &&Brought<'a>| {
        let rest = left.checked_sub(text(part).len());
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    parts.get(..parts.iter().take_while(fits).count()).unwrap_or(parts)
}

/// Returns what differs of two texts, with what is around it and stays.
fn changing<'a>(before: &'a str, after: &'a str) -> (&'a str, &'a str) {
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let part = |text: &'a str| {
        let from = text.floor_char_boundary(head.saturating_sub(AROUND));
        let to = text.ceil_char_boundary((text.len() - tail + AROUND).min(text.len()));
        text.get(from..to).unwrap_or(text)
    };
    (part(before), part(after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::gate::facts::{BySetup, CommitFact, CommitFile, EditFact};

    fn edit(file: &str, before: Option<&str>, after: &str) -> EditFact {
        EditFact {
            file: file.to_string(),
            before: before.map(Into::into),
            after: after.into(),
            diff: String::new(),
            by_setup: BySetup::default(),
        }
    }

    fn token(letters: &str) -> String {
        format!("ghp_{}", letters.repeat(3))
    }

    /// Returns the files that would get a secret.
    fn exposed(facts: &Facts) -> Vec<String> {
        secrets(&brought(facts)).iter().map(|one| one.file.to_string()).collect()
    }

    #[test]
    fn a_secret_that_comes_to_be_is_new_and_one_that_stays_moves_or_goes_is_not() {
        let (one, other) = (token("a1B2c3D4e5F6"), token("Z9y8X7w6V5u4"));
        let half = one.split_at(20);
        let split = format!("{}\n{}", half.0, half.1);
        let far = "words of a note\n".repeat(20_000);
        for (before, after, new) in [
            (Some(split.clone()), one.clone(), true),
            (None, one.clone(), true),
            (Some(one.clone()), format!("{one} and more"), false),
            (Some(one.clone()), other.clone(), true),
            (Some(format!("{one} {other}")), format!("{other} {one}"), false),
            (Some(one.clone()), "nothing".to_string(), false),
            (Some(format!("{one}\n{far}")), format!("{one}\n{far}end"), false),
            (Some(format!("{far}{split}\n{far}")), format!("{far}{one}\n{far}"), true),
            (Some(format!("ä{far}")), format!("ö{far}{one}"), true),
        ] {
            let edits = vec![edit("a", before.as_deref(), &after)];
            let facts = Facts { edits: edits.clone(), ..Facts::default() };
            assert_eq!(exposed(&facts), vec!["a"; usize::from(new)], "{:?}", before.map(|text| text.len()));
            let put = Facts { put_texts: edits, ..Facts::default() };
            assert_eq!(exposed(&put).len(), usize::from(new));
        }
        let moved = vec![edit("a", Some(&format!("x {one}")), "x "), edit("b", Some("y "), &format!("y {one}"))];
        assert_eq!(exposed(&Facts { edits: moved, ..Facts::default() }), Vec::<String>::new());
        let file = |path: &str, before: Option<&str>, after: Option<&str>| CommitFile {
            path: path.to_string(),
            before: before.map(Into::into),
            after: after.map(Into::into),
            diff: String::new(),
        };
        let files = vec![
            file("kept", Some(&one), Some(&format!("{one}\n"))),
            file("gone", Some(&other), None),
            file("new", None, Some(&token("Q1q2R3r4S5s6"))),
        ];
        let commit = CommitFact { head: String::new(), branch: String::new(), files, left: Vec::new() };
        assert_eq!(exposed(&Facts { commit: Some(commit), ..Facts::default() }), ["new"]);
    }

    #[test]
    fn only_what_changes_is_read_and_what_is_too_much_is_said() {
        let far = "words of a note\n".repeat(200_000);
        let facts =
            |before: &str, after: &str| Facts { edits: vec![edit("a", Some(before), after)], ..Facts::default() };
        let small = facts(&far, &format!("{far}x"));
        let parts = brought(&small);
        assert!(parts[0].after.len() <= AROUND + 1 && unsearched(&parts).is_empty());
        let large = facts("", &far.repeat(2));
        assert_eq!(unsearched(&brought(&large)), ["a"]);
        // So is what is small in each file, and large in all of them.
        let many: Vec<EditFact> = (0..3).map(|n| edit(&n.to_string(), None, &far[n..n + 2_000_000])).collect();
        assert_eq!(unsearched(&brought(&Facts { edits: many, ..Facts::default() })), ["2"]);
        // What was there is looked through as far, and no further: a secret behind it counts as new.
        let key = token("a1B2c3D4e5F6");
        let moved = vec![edit("a", Some(&format!("{}{key}", far.repeat(2))), &key)];
        assert_eq!(exposed(&Facts { edits: moved, ..Facts::default() }), ["a"]);
        assert_eq!(brought(&facts("same", "same")), []);
    }
}
