//! Which texts an edit writes that are made from text from outside, and what they are called.
//!
//! A text is named by its content, without what marks of work change on it (keyword, tags, planning, ids): it keeps
//! its mark wherever it is moved or copied to, and loses it when somebody edits what it says.

use crate::domain::gate::facts::EditFact;
use crate::domain::hash::ContentHasher;
use crate::domain::org::is_org;
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::{ScanOptions, TooLarge, scan};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The property that says where the text of a heading, and of all below it, came from.
pub const SOURCE_URL: &str = "SOURCE_URL";

/// The name of a text.
pub type TextName = [u8; 32];

/// A text that is made from text from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its name.
    pub name: TextName,
    /// The name of its title alone; of a whole file, that of its path.
    pub title: TextName,
    /// The file in which it is written; for people.
    pub file: String,
    /// Whether the file as a whole is meant, which is no Org file.
    pub whole: bool,
    /// Where what it is made from came from.
    pub sources: Vec<String>,
}

/// Returns the name of a heading's text.
pub fn name<'a>(title: &str, properties: impl Iterator<Item = (&'a str, &'a str)>, body: &str) -> TextName {
    let mut hasher = ContentHasher::new("text from outside");
    hasher.text(title.trim());
    for (key, value) in properties.filter(|(key, _)| !is_housekeeping(key)) {
        hasher.text(key).text(value);
    }
    hasher.text(body.trim()).finish()
}

/// Returns the name of a title, or of a path.
pub fn title_name(title: &str) -> TextName {
    ContentHasher::new("title from outside").text(title.trim()).finish()
}

/// Returns the name of a whole text that is no Org file.
pub fn whole_name(text: &[u8]) -> TextName {
    ContentHasher::new("file from outside").bytes(text).finish()
}

/// Properties that Org and its packages set by themselves.
fn is_housekeeping(key: &str) -> bool {
    const KEYS: [&str; 8] =
        ["ID", "CUSTOM_ID", "CREATED", "LAST_REPEAT", "ORDERED", "EFFORT", "CATEGORY", "VISIBILITY"];
    KEYS.contains(&key) || key.starts_with("ARCHIVE_")
}

/// Returns the name of a node's text.
pub fn node_name(outline: &Outline, index: usize) -> TextName {
    let Some(node) = outline.nodes.get(index) else { return name("", std::iter::empty(), "") };
    let properties = node.properties.iter().map(|(key, value)| (&**key, &**value));
    name(title(outline, index), properties, outline.slice(&node.body))
}

/// Returns a heading's title; a file has none of its own.
fn title(outline: &Outline, index: usize) -> &str {
    outline.nodes.get(index).filter(|_| index > 0).map_or("", |node| outline.slice(&node.title))
}

/// Returns whether what a property says names a source.
pub fn names_source((key, value): (&str, &str)) -> bool {
    let value = value.trim();
    key.trim_end_matches('+').eq_ignore_ascii_case(SOURCE_URL) && !value.is_empty() && value != "nil"
}

/// Returns the address that a node came from: of its own, or of anything above it. Nothing below takes it back.
pub fn source_url(outline: &Outline, index: usize) -> Option<&str> {
    let own = |at: usize| {
        let node = outline.nodes.get(at)?;
        node.properties.iter().map(|(key, value)| (&**key, &**value)).find(|entry| names_source(*entry))
    };
    let mut at = index;
    loop {
        if let Some((_, url)) = own(at) {
            return Some(url);
        }
        match outline.nodes.get(at) {
            Some(node) if at > 0 && (node.parent as usize) < at => at = node.parent as usize,
            Some(_) | None => break,
        }
    }
    let lines = outline.properties.iter().map(|(key, value)| (&**key, &**value));
    lines.into_iter().find(|entry| names_source(*entry)).map(|(_, url)| url)
}

/// Returns the host of an address, or its beginning.
pub fn host(url: &str) -> String {
    let bare = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = bare.split(['/', '?', '#']).next().unwrap_or(bare);
    host.rsplit('@').next().unwrap_or(host).chars().take(60).collect()
}

/// What is known of texts beside the edits themselves.
pub struct Known<'a> {
    /// Where an action is led from.
    pub led: &'a [String],
    /// What is kept of a text by its name.
    pub marked: &'a dyn Fn(&TextName) -> Option<Vec<String>>,
    /// Where a whole file came from by the place that it lies in.
    pub place: &'a dyn Fn(&str) -> Option<String>,
    /// How the source of a heading with an address is called, by file and address.
    pub called: &'a dyn Fn(&str, &str) -> String,
}

/// Returns the marks of what edits write: every new text of an action that is led from outside, every text that
/// leaves the place which says where it came from, and what becomes of a marked text.
///
/// # Errors
/// When a text is too large to be read as Org.
pub fn marks(edits: &[EditFact], known: &Known<'_>) -> Result<Vec<Mark>, TooLarge> {
    let mut marks = Vec::new();
    let (org, other): (Vec<&EditFact>, Vec<&EditFact>) = edits.iter().partition(|edit| is_org(&edit.file));
    for edit in other {
        let before = edit.before.as_deref().and_then(|text| (known.marked)(&whole_name(text.as_bytes())));
        let sources: BTreeSet<String> = known.led.iter().cloned().chain(before.into_iter().flatten()).collect();
        if !sources.is_empty() && edit.before.as_deref() != Some(&*edit.after) {
            marks.push(whole(&edit.file, edit.after.as_bytes(), sources.into_iter().collect()));
        }
    }
    let mut old: HashMap<TextName, Vec<String>> = HashMap::new();
    let mut before: HashSet<TextName> = HashSet::new();
    for edit in &org {
        let Some(text) = &edit.before else { continue };
        let outline = scan(text.clone(), &ScanOptions::default())?;
        for index in 0..outline.nodes.len() {
            let name = node_name(&outline, index);
            if says_nothing(&outline, index) {
                continue;
            }
            before.insert(name);
            let sources = old.entry(name).or_default();
            sources.extend(by_place(&outline, index, &edit.file, known));
            sources.extend((known.marked)(&name).into_iter().flatten());
        }
    }
    old.retain(|_, sources| !sources.is_empty());
    let mut after = Vec::new();
    for edit in &org {
        after.push((edit, scan(edit.after.clone(), &ScanOptions::default())?));
    }
    let there: HashSet<TextName> =
        after.iter().flat_map(|(_, outline)| (0..outline.nodes.len()).map(|index| node_name(outline, index))).collect();
    // What became of a text that is gone is among what is new.
    let gone = old.iter().filter(|(name, _)| !there.contains(*name)).flat_map(|(_, sources)| sources.iter().cloned());
    let made_from: BTreeSet<String> = known.led.iter().cloned().chain(gone).collect();
    for (edit, outline) in &after {
        for index in (0..outline.nodes.len()).filter(|index| !says_nothing(outline, *index)) {
            let name = node_name(outline, index);
            let sources: Vec<String> = match old.get(&name) {
                Some(sources) if by_place(outline, index, &edit.file, known).is_none() => sources.clone(),
                Some(_) => continue,
                None if before.contains(&name) || by_place(outline, index, &edit.file, known).is_some() => continue,
                None => made_from.iter().cloned().collect(),
            };
            if !sources.is_empty() {
                let (title, file) = (title_name(title(outline, index)), edit.file.clone());
                marks.push(Mark { name, title, file, whole: false, sources });
            }
        }
    }
    Ok(marks)
}

/// Returns the mark of a file that is no Org file, or of which no part is better known.
pub fn whole(file: &str, text: &[u8], sources: Vec<String>) -> Mark {
    Mark { name: whole_name(text), title: title_name(file), file: file.to_string(), whole: true, sources }
}

fn by_place(outline: &Outline, index: usize, file: &str, known: &Known<'_>) -> Option<String> {
    (known.place)(file).or_else(|| source_url(outline, index).map(|url| (known.called)(file, url)))
}

fn says_nothing(outline: &Outline, index: usize) -> bool {
    outline
        .nodes
        .get(index)
        .is_none_or(|node| title(outline, index).trim().is_empty() && outline.slice(&node.body).trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::gate::facts::BySetup;

    fn edit(file: &str, before: Option<&str>, after: &str) -> EditFact {
        let (before, after) = (before.map(Into::into), after.into());
        EditFact { file: file.into(), before, after, diff: String::new(), by_setup: BySetup::default() }
    }

    /// Compares what is marked, as titles or files with sources.
    #[track_caller]
    fn check(edits: &[EditFact], led: &[&str], marked: &[(TextName, &str)], expected: &[(&str, &str)]) {
        let led: Vec<String> = led.iter().map(ToString::to_string).collect();
        let known = Known {
            led: &led,
            marked: &|name| marked.iter().find(|(known, _)| known == name).map(|(_, s)| vec![s.to_string()]),
            place: &|file| file.contains("/captured/").then(|| "captured".to_string()),
            called: &|_, url| host(url),
        };
        let found = marks(edits, &known).expect("small texts");
        let titles = ["A", "B", "C", "New", "f.txt", ""];
        let name =
            |mark: &Mark| titles.iter().find(|title| title_name(title) == mark.title).unwrap_or(&"?").to_string();
        let found: Vec<_> = found.iter().map(|mark| (name(mark), mark.sources.join(","))).collect();
        let found: Vec<_> = found.iter().map(|(name, sources)| (name.as_str(), sources.as_str())).collect();
        assert_eq!(found, expected);
    }

    const NOTES: &str = "* A\nOne.\n* B\n:PROPERTIES:\n:SOURCE_URL: https://example.org/x\n:END:\nTwo.\n** C\nThree.\n";

    #[test]
    fn what_is_written_is_as_weak_as_what_it_is_made_from() {
        let named = |title: &str, body: &str| name(title, std::iter::empty(), body);
        // A turn without text from outside marks nothing that it writes.
        check(&[edit("a.org", Some("* A\nOne.\n"), "* A\nOne.\n* New\nX.\n")], &[], &[], &[]);
        check(&[edit("a.org", Some("* A\nOne.\n"), "* A\nOne.\n* New\nX.\n")], &["web"], &[], &[("New", "web")]);
        check(&[edit("f.txt", None, "x")], &["web"], &[], &[("f.txt", "web")]);
        check(&[edit("f.txt", None, "x")], &[], &[], &[]);
        // Marks of work change nothing of what a text says.
        let done = "* DONE [#A] A :x:\nCLOSED: [2026-01-01]\n:PROPERTIES:\n:ID: a\n:END:\nOne.\n";
        check(&[edit("a.org", Some("* A\nOne.\n"), done)], &["web"], &[], &[]);
        // What leaves the heading that says where it came from keeps that.
        let moved = "* A\nOne.\n** C\nThree.\n* B\n:PROPERTIES:\n:SOURCE_URL: https://example.org/x\n:END:\nTwo.\n";
        check(&[edit("a.org", Some(NOTES), moved)], &[], &[], &[("C", "example.org")]);
        check(
            &[edit("a.org", Some(NOTES), "* A\nOne.\n* B\nTwo.\n** C\nThree.\n")],
            &[],
            &[],
            &[("B", "example.org"), ("C", "example.org")],
        );
        let away = [edit("b.org", Some(""), "* C\nThree.\n"), edit("/m/captured/x.org", Some("* C\nThree.\n"), "")];
        check(&away, &[], &[], &[("C", "captured")]);
        // What became of a marked text is marked.
        let marked = [(named("A", "One."), "mail")];
        check(&[edit("a.org", Some("* A\nOne.\n"), "* A\nOne and more.\n")], &[], &marked, &[("A", "mail")]);
        check(&[edit("a.org", Some("* A\nOne.\n"), "* A\nOne.\n* New\nX.\n")], &[], &marked, &[("A", "mail")]);
        // Within its place nothing need be marked.
        check(&[edit("a.org", Some(NOTES), &NOTES.replace("Three", "Four"))], &[], &[], &[]);
    }
}
