//! Which headings an edit would mark done while something below them is still open.
//!
//! Compared are the outlines before and after, whatever tool makes the edit: what is closed in the same edit is closed.

use crate::domain::label::Privacy;
use crate::domain::memory::document::{PrivacyOptions, privacy};
use crate::domain::org::outline::Outline;
use std::collections::HashMap;
use std::fmt;

/// What rules of skills name it by, as if it were an argument.
pub const OPEN_CHILDREN: &str = "open-children";
/// How many of the open ones are named.
const NAMED: usize = 3;
/// The longest title that is named, in characters.
const LONGEST: usize = 80;

/// A heading that would be done while some below it are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOpen {
    /// Its title.
    pub title: String,
    /// The titles of the first that are open; of those that may not be seen none.
    pub open: Vec<String>,
    /// How many are open.
    pub count: usize,
    /// How private the titles are that are named, its own among them.
    pub privacy: Privacy,
}

impl fmt::Display for LeftOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<String> = self.open.iter().map(|title| format!("“{title}”")).collect();
        let more = self.count.saturating_sub(self.open.len());
        match (named.is_empty(), more) {
            (false, 0) => write!(f, "“{}”: {}", self.title, named.join(", ")),
            (false, more) => write!(f, "“{}”: {} and {more} more", self.title, named.join(", ")),
            (true, more) => write!(f, "“{}”: {more} that may not be named here", self.title),
        }
    }
}

/// Returns the headings that would come to be done while something below them is open, of all files that one action edits:
/// each as it was, where there was one, and as it would be. Those that were done already with something open below are not
/// among them, nor one that says `:NOBLOCKING:`, as in Org. Titles more private than `may_see` are not named.
pub fn left_open(edits: &[(Option<Outline>, Outline)], options: &PrivacyOptions, may_see: Privacy) -> Vec<LeftOpen> {
    let mut were: HashMap<Name<'_>, usize> = HashMap::new();
    for before in edits.iter().filter_map(|(before, _)| before.as_ref()) {
        for name in amiss(before).into_iter().filter_map(|index| name(before, index)) {
            *were.entry(name).or_default() += 1;
        }
    }
    let mut left = Vec::new();
    for (_, after) in edits {
        let mut now = amiss(after);
        now.retain(|index| match name(after, *index).and_then(|name| were.get_mut(&name)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            Some(_) | None => true,
        });
        if !now.is_empty() {
            let private = privacy(after, options);
            left.extend(now.into_iter().map(|index| told(after, index, &private, may_see)));
        }
    }
    left
}

/// Returns what is said of a heading that is done too early.
fn told(after: &Outline, index: usize, private: &[Privacy], may_see: Privacy) -> LeftOpen {
    let label = |index: usize| private.get(index).copied().unwrap_or(Privacy::Private);
    let title = |index: usize| {
        let title = after.nodes.get(index).map(|node| after.slice(&node.title)).unwrap_or("");
        title.chars().filter(|c| !c.is_control()).take(LONGEST).collect::<String>()
    };
    let open = open_below(after, index);
    let named: Vec<usize> = open.iter().copied().filter(|open| label(*open) <= may_see).take(NAMED).collect();
    let seen = label(index) <= may_see;
    let labels = named.iter().copied().chain(seen.then_some(index)).map(label);
    LeftOpen {
        title: if seen { title(index) } else { "a private heading".to_string() },
        privacy: labels.max().unwrap_or(Privacy::Open),
        open: named.into_iter().map(title).collect(),
        count: open.len(),
    }
}

/// Returns the headings that are done with something open below, in order.
fn amiss(outline: &Outline) -> Vec<usize> {
    let is_open = |index: &usize| state(outline, *index) == Some(false);
    // From the last open one upwards each heading above is looked at once.
    let mut above = vec![false; outline.nodes.len()];
    for open in (1..outline.nodes.len()).filter(is_open) {
        let mut at = outline.nodes.get(open).map_or(0, |node| node.parent as usize);
        while let Some(known) = above.get_mut(at).filter(|known| at > 0 && !**known) {
            *known = true;
            at = outline.nodes.get(at).map_or(0, |node| node.parent as usize);
        }
    }
    let blocks = |index: usize| {
        let said = outline.nodes.get(index).and_then(|node| outline.property(node, "NOBLOCKING"));
        said.is_none_or(|said| said.trim().is_empty() || said.trim() == "nil")
    };
    let done =
        |index: &usize| above.get(*index) == Some(&true) && state(outline, *index) == Some(true) && blocks(*index);
    (1..outline.nodes.len()).filter(done).collect()
}

/// Returns the open headings below one, in order.
fn open_below(outline: &Outline, index: usize) -> Vec<usize> {
    (index + 1..outline.after(index)).filter(|below| state(outline, *below) == Some(false)).collect()
}

/// Returns whether a heading is done; `None` when it has no keyword.
fn state(outline: &Outline, index: usize) -> Option<bool> {
    let node = outline.nodes.get(index)?;
    outline.todo(node).map(|keyword| keyword.done)
}

/// What tells a heading from others wherever it is moved: its `ID`, or else its title.
#[derive(PartialEq, Eq, Hash)]
enum Name<'a> {
    Id(&'a str),
    Title(&'a str),
}

fn name(outline: &Outline, index: usize) -> Option<Name<'_>> {
    let node = outline.nodes.get(index)?;
    let id = outline.property(node, "ID").map(Name::Id);
    Some(id.unwrap_or_else(|| Name::Title(outline.slice(&node.title))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::org::scan::{ScanOptions, scan};

    fn outline(text: &str) -> Outline {
        scan(text.into(), &ScanOptions::default()).expect("it is short")
    }

    fn found(before: Option<&str>, after: &str, may_see: Privacy) -> String {
        let left = left_open(&[(before.map(outline), outline(after))], &PrivacyOptions::default(), may_see);
        left.iter().map(LeftOpen::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn what_comes_to_be_done_before_what_stands_below_it_is_found() {
        let check = |before: Option<&str>, after: &str, expected: &str| {
            assert_eq!(found(before, after, Privacy::Private), expected, "{before:?} {after}");
        };
        let move_house = "* TODO Move\n** TODO Pack\n** DONE Sell\n*** WAIT Car\n";
        check(Some(move_house), &move_house.replacen("TODO", "DONE", 1), "“Move”: “Pack”");
        check(Some(move_house), &move_house.replace("TODO", "DONE"), "");
        check(Some("* TODO A\n** B\n*** TODO C\n"), "* DONE A\n** B\n*** TODO C\n", "“A”: “C”");
        check(None, "* DONE A\n** TODO B\n** TODO C\n** TODO D\n** TODO E\n", "“A”: “B”, “C”, “D” and 1 more");
        // What is amiss already, and is only changed otherwise or moved, is not found again.
        let amiss = "* DONE A\n** TODO B\n* C\n";
        check(Some(amiss), "* C\ntext\n* DONE A\nmore\n** TODO B\n** TODO D\n", "");
        check(Some(amiss), "* DONE A\n** TODO B\n* DONE A\n** TODO B\n", "“A”: “B”");
        let named = "* DONE A\n:PROPERTIES:\n:ID: a\n:END:\n** TODO B\n";
        check(Some(named), &named.replace("DONE A", "DONE Other"), "");
        check(Some("* TODO A\n** TODO B\n"), "* A\n** TODO B\n", "");
        check(Some("* DONE A\n"), "* DONE A\n** TODO B\n", "“A”: “B”");
        check(
            Some("#+TODO: OPEN | SHUT\n* OPEN A\n** OPEN B\n"),
            "#+TODO: OPEN | SHUT\n* SHUT A\n** OPEN B\n",
            "“A”: “B”",
        );
    }

    #[test]
    fn what_goes_from_one_file_to_another_is_not_found_again_and_some_let_themselves_be_done() {
        let amiss = "* DONE A\n** TODO B\n";
        let moved = [
            (Some(outline(amiss)), outline("* C\n")),
            (Some(outline("* D\n")), outline("* D\n** DONE A\n*** TODO B\n")),
        ];
        assert_eq!(left_open(&moved, &PrivacyOptions::default(), Privacy::Private), []);
        let copied = [(Some(outline(amiss)), outline(amiss)), (None, outline(amiss))];
        assert_eq!(left_open(&copied, &PrivacyOptions::default(), Privacy::Private).len(), 1);
        for (said, count) in [("t", 0), ("nil", 1)] {
            let text = format!("* DONE A\n:PROPERTIES:\n:NOBLOCKING: {said}\n:END:\n** TODO B\n");
            let left = left_open(&[(None, outline(&text))], &PrivacyOptions::default(), Privacy::Private);
            assert_eq!(left.len(), count, "{said}");
        }
    }

    #[test]
    fn what_may_not_be_seen_is_not_named() {
        let text =
            "* DONE A\n** TODO B :private:\n** TODO C\n* DONE D\n** TODO E :private:\n* DONE F :private:\n** TODO G\n";
        assert_eq!(found(None, text, Privacy::Private), "“A”: “B”, “C”; “D”: “E”; “F”: “G”");
        assert_eq!(
            found(None, text, Privacy::Open),
            "“A”: “C” and 1 more; “D”: 1 that may not be named here; “a private heading”: 1 that may not be named here"
        );
        // What is named is as private as its titles.
        for (may_see, expected) in [
            (Privacy::Private, [Privacy::Private, Privacy::Private, Privacy::Private]),
            (Privacy::Open, [Privacy::Open, Privacy::Open, Privacy::Open]),
        ] {
            let left = left_open(&[(None, outline(text))], &PrivacyOptions::default(), may_see);
            assert_eq!(left.iter().map(|left| left.privacy).collect::<Vec<_>>(), expected);
        }
    }
}
