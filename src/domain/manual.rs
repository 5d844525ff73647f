//! The manual as something that can be asked: its sections are found as notes are, by the same index.

use crate::domain::context::lexical::Index;
use crate::domain::context::rank::search;
use crate::domain::label::Privacy;
use crate::domain::memory::document::{Document, PrivacyOptions};
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::org::scan::{ScanOptions, scan};
use std::sync::Arc;

/// What the file of the manual is called here; it is no file of the user's.
const FILE: &str = "manual.org";
/// Of a longer section the beginning is told, in characters.
const LONGEST: usize = 3_000;
/// Words of fewer letters say too little.
const ALIKE: usize = 4;
/// Words that begin with the same letters are forms of one.
const BEGINNING: usize = 5;

/// A text in Org with its index.
pub struct Manual {
    view: View,
    index: Index,
}

/// A section that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The titles down to it.
    pub path: Vec<String>,
    /// Its text, without what stands below further headings.
    pub text: String,
}

impl Manual {
    /// Reads a manual; of one that is too large nothing is found.
    pub fn of(text: &str) -> Manual {
        let mut view = View::default();
        if let Ok(outline) = scan(text.into(), &ScanOptions::default()) {
            view.put(Arc::new(Document::build(FILE, outline, &PrivacyOptions::default())));
        }
        let index = Index::of(&view);
        Manual { view, index }
    }

    /// Returns the sections that fit some words best, the best first.
    pub fn search(&self, words: &str, most: usize) -> Vec<Section> {
        // One that holds nothing but further headings says nothing, so that more are asked for than are told.
        let hits = search(&self.view, &self.index, words, most.saturating_mul(3), Privacy::Open);
        let nodes = hits.iter().filter_map(|hit| self.view.get(&hit.id)).filter(|node| node.index > 0);
        let mut nodes: Vec<NodeRef> = nodes.filter(|node| !node.body().trim().is_empty()).collect();
        // A section is called by what it is about; of others that is said in passing.
        nodes.sort_by_key(|node| std::cmp::Reverse(titled(node.title(), words)));
        nodes.iter().take(most).map(section).collect()
    }

    /// Returns the sections in which a text stands as it is, in the order of the manual.
    pub fn speaking_of(&self, text: &str) -> Vec<String> {
        let part = |c: char| c.is_alphanumeric() || c == '-';
        let whole = |body: &str| body.match_indices(text).any(|(at, _)| !body[at + text.len()..].starts_with(part));
        let speaks = self.view.nodes().filter(|node| node.index > 0 && whole(node.body()));
        speaks.map(|node| section(&node).path.join(" › ")).collect()
    }
}

/// Returns how many of some words stand in a title, in whatever form: they begin alike.
fn titled(title: &str, words: &str) -> usize {
    let split = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= ALIKE);
        words.map(|word| word.chars().flat_map(char::to_lowercase).take(BEGINNING).collect()).collect()
    };
    let title = split(title);
    let alike = |word: &String| title.iter().any(|known| known.starts_with(word) || word.starts_with(known));
    split(words).iter().filter(|word| alike(word)).count()
}

fn section(node: &NodeRef) -> Section {
    let mut path: Vec<String> =
        node.ancestors().filter(|above| above.index > 0).map(|a| a.title().to_string()).collect();
    path.reverse();
    path.push(node.title().to_string());
    let body = node.body().trim();
    let mut text: String = body.chars().take(LONGEST).collect();
    if text.len() < body.len() {
        text.push_str("\n[the rest of this section is left out]");
    }
    Section { path, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_that_speak_of_an_option_are_named() {
        let manual =
            Manual::of("* A\nSee =pp-plan=.\n** B\nSee =pp-plan-hours=.\n* C\n** D\n=pp-plan-hours= and =pp-plan=\n");
        assert_eq!(manual.speaking_of("pp-plan"), ["A", "C › D"]);
        assert_eq!(manual.speaking_of("pp-plan-hours"), ["A › B", "C › D"]);
        assert!(manual.speaking_of("pp-none").is_empty());
    }

    #[test]
    fn the_section_that_speaks_of_something_is_found() {
        let manual = Manual::of(
            "#+TITLE: M\n* Plans\n** Approving\nA plan is approved with a key.\n** Denying\nA plan is denied with another.\n\
             * Empty\n* Long\n",
        );
        let found = manual.search("how do I approve a plan?", 1);
        assert_eq!(found.first().map(|section| section.path.join(" › ")), Some("Plans › Approving".to_string()));
        // What a section is called counts before what it says in passing.
        let manual = Manual::of(
            "* Keys\nWhere a plan is denied. A plan, a plan, and denied again.\n* Denying a plan\nSay why.\n",
        );
        let found = manual.search("deny plans", 1);
        assert_eq!(found.first().map(|section| section.path.join(" › ")), Some("Denying a plan".to_string()));
        assert!(manual.search("zeppelin", 3).is_empty() && manual.search("", 3).is_empty());
        let manual = Manual::of("* Empty\n* Long\n");
        assert!(manual.search("empty", 3).is_empty(), "a title alone answers nothing");
        let long = format!("* Long\n{}\n", "word ".repeat(2_000));
        let found = Manual::of(&long).search("word", 1);
        assert!(found.first().is_some_and(|section| section.text.ends_with("left out]") && section.text.len() < 3_100));
    }
}
