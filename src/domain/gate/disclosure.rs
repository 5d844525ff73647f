//! What an edit does to privacy: which private text would no longer be private, and which open places get new text.
//!
//! Judged from the outlines before and after, with everything that a heading inherits, not from tags in the text.

use crate::domain::gate::facts::EditFact;
use crate::domain::label::Privacy;
use crate::domain::memory::document::{PrivacyOptions, privacy};
use crate::domain::org::is_org;
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::{ScanOptions, TooLarge, scan};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// One side of one edit.
struct Side {
    file: String,
    outline: Outline,
    /// By node; `None` for a file that keeps nothing private.
    privacy: Option<Vec<Privacy>>,
}

/// How often a piece of text stands in private and in open places.
#[derive(Clone, Copy, Default)]
struct Count {
    private: usize,
    open: usize,
}

/// Returns the highest headings whose text was private before and would stand in an open place, by their titles;
/// a file by its name for what stands above its first heading, or when a setup file would no longer make it private.
///
/// All edits are taken together: a heading may leave one file for another. A file that is no Org file keeps nothing
/// private. A copy leaves the private text where it is, and is no loosening: who could copy it has read it, and what
/// it writes then has labels that say so; see [`opened`].
///
/// # Errors
/// When a text is too large to be read as Org.
pub fn loosened(edits: &[EditFact], private_tags: &[String]) -> Result<Vec<String>, TooLarge> {
    let before = befores(edits, private_tags)?;
    // What is set up keeps its text, so that nothing of it stands in the edits.
    let mut names: Vec<String> = Vec::new();
    let opened = edits.iter().flat_map(|edit| &edit.by_setup.opens);
    opened.for_each(|file| add(&mut names, readable(file.rsplit('/').next().unwrap_or(file))));
    if !before.iter().any(|side| (0..side.outline.nodes.len()).any(|node| side.is_private(node))) {
        return Ok(names);
    }
    let after = afters(edits, private_tags)?;
    let (old, new) = (counts(&before), counts(&after));
    let count = |counts: &HashMap<&str, Count>, piece: &str| counts.get(piece).copied().unwrap_or_default();
    let found = highest(&before, &|piece| {
        let (old, new) = (count(&old, piece), count(&new, piece));
        new.open > old.open && new.private < old.private
    });
    found.into_iter().for_each(|name| add(&mut names, name));
    Ok(names)
}

fn add(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

fn readable(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// Returns the open headings and files that would get text which stood in no open place before.
///
/// # Errors
/// When a text is too large to be read as Org.
pub fn opened(edits: &[EditFact], private_tags: &[String]) -> Result<Vec<String>, TooLarge> {
    let (before, after) = (befores(edits, private_tags)?, afters(edits, private_tags)?);
    let (old, new) = (counts(&before), counts(&after));
    let open = |counts: &HashMap<&str, Count>, piece: &str| counts.get(piece).map_or(0, |count| count.open);
    Ok(places(&after, &|piece| open(&new, piece) > open(&old, piece)))
}

/// Returns what would stand in open places and stood in none before: the name of each place, and its new text as one
/// piece.
///
/// # Errors
/// When a text is too large to be read as Org.
pub fn newly_open(edits: &[EditFact], private_tags: &[String]) -> Result<Vec<(String, String)>, TooLarge> {
    let (before, after) = (befores(edits, private_tags)?, afters(edits, private_tags)?);
    let (old, new) = (counts(&before), counts(&after));
    let open = |counts: &HashMap<&str, Count>, piece: &str| counts.get(piece).map_or(0, |count| count.open);
    let opens = |piece: &str| open(&new, piece) > open(&old, piece);
    let mut found = Vec::new();
    for side in &after {
        let places = standing(side, &opens);
        for (node, place) in places.into_iter().enumerate().filter(|(node, _)| !side.is_private(*node)) {
            let pieces: Vec<&str> = side.pieces(node).collect();
            let (first, last) =
                (pieces.iter().position(|piece| opens(piece)), pieces.iter().rposition(|piece| opens(piece)));
            // A line between new ones may stand elsewhere already; the passage goes through it.
            let Some(text) = first.zip(last).and_then(|(first, last)| pieces.get(first..=last)) else { continue };
            found.push((side.name(place), text.join("\n")));
        }
    }
    Ok(found)
}

fn befores(edits: &[EditFact], private_tags: &[String]) -> Result<Vec<Side>, TooLarge> {
    sides(edits.iter().filter_map(|edit| Some((edit, edit.before.as_ref()?, edit.by_setup.before))), private_tags)
}

fn afters(edits: &[EditFact], private_tags: &[String]) -> Result<Vec<Side>, TooLarge> {
    sides(edits.iter().map(|edit| (edit, &edit.after, edit.by_setup.after)), private_tags)
}

fn sides<'a>(
    texts: impl Iterator<Item = (&'a EditFact, &'a Arc<str>, bool)>,
    private_tags: &[String],
) -> Result<Vec<Side>, TooLarge> {
    let options = PrivacyOptions { tags: private_tags.to_vec() };
    texts.map(|(edit, text, private)| Side::read(edit, text, private, &options)).collect()
}

impl Side {
    fn read(edit: &EditFact, text: &Arc<str>, private: bool, options: &PrivacyOptions) -> Result<Side, TooLarge> {
        let outline = scan(text.clone(), &ScanOptions::default())?;
        let privacy = is_org(&edit.file).then(|| match private {
            true => vec![Privacy::Private; outline.nodes.len()],
            false => privacy(&outline, options),
        });
        Ok(Side { file: edit.file.clone(), outline, privacy })
    }

    fn is_private(&self, node: usize) -> bool {
        self.privacy.as_ref().is_some_and(|privacy| privacy.get(node) == Some(&Privacy::Private))
    }

    fn parent(&self, node: usize) -> Option<usize> {
        self.outline.nodes.get(node).filter(|_| node > 0).map(|node| node.parent as usize)
    }

    /// Returns the pieces of a node's own text: its title, and each line of its section that says something.
    fn pieces(&self, node: usize) -> impl Iterator<Item = &str> + '_ {
        let node = self.outline.nodes.get(node);
        let title = node.map(|node| self.outline.slice(&node.title)).unwrap_or("");
        let section = node.map(|node| self.outline.slice(&node.section)).unwrap_or("");
        std::iter::once(title).chain(section.lines()).map(str::trim).filter(|piece| says_something(piece))
    }

    fn name(&self, node: usize) -> String {
        let title = self.outline.nodes.get(node).map_or("", |node| self.outline.slice(&node.title));
        let file = self.file.rsplit('/').next().unwrap_or(&self.file);
        let heading = node > 0 && self.privacy.is_some() && !title.trim().is_empty();
        let name = if heading { title } else { file };
        readable(name)
    }
}

/// Returns whether a line is more than structure: marks of drawers and blocks and rules say nothing.
fn says_something(piece: &str) -> bool {
    let lower = piece.get(..8).map(str::to_ascii_lowercase).unwrap_or_default();
    let drawer = piece.starts_with(':') && piece.ends_with(':') && !piece.contains(char::is_whitespace);
    let block = lower.starts_with("#+end_") || lower == "#+begin_" && piece.split_whitespace().count() < 3;
    piece.chars().any(char::is_alphanumeric) && !drawer && !block
}

fn counts(sides: &[Side]) -> HashMap<&str, Count> {
    let mut counts: HashMap<&str, Count> = HashMap::new();
    for side in sides {
        for node in 0..side.outline.nodes.len() {
            for piece in side.pieces(node) {
                let count = counts.entry(piece).or_default();
                match side.is_private(node) {
                    true => count.private += 1,
                    false => count.open += 1,
                }
            }
        }
    }
    counts
}

/// Names the highest private nodes that hold a piece which becomes open.
fn highest(before: &[Side], loosens: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut holders: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for (at, side) in before.iter().enumerate() {
        for node in (0..side.outline.nodes.len()).filter(|node| side.is_private(*node)) {
            for piece in side.pieces(node).filter(|piece| loosens(piece)) {
                holders.entry(piece).or_default().push((at, node));
            }
        }
    }
    // A piece that stands in several private places does not say which of them was meant, unless all do.
    let certain: BTreeSet<_> = holders.values().filter(|nodes| nodes.len() == 1).flatten().copied().collect();
    let found = if certain.is_empty() { holders.into_values().flatten().collect() } else { certain };
    let mut named = Vec::new();
    for (at, side) in before.iter().enumerate() {
        // Parents stand before their children.
        let mut covered = vec![false; side.outline.nodes.len()];
        for node in 0..covered.len() {
            let above = side.parent(node).is_some_and(|parent| covered.get(parent).copied().unwrap_or(false));
            let here = found.contains(&(at, node));
            if here && !above {
                named.push((side, node));
            }
            if let Some(covered) = covered.get_mut(node) {
                *covered = here || above;
            }
        }
    }
    names(named.into_iter())
}

/// Names the open nodes that get a piece which stood in no open place; of a new heading, the place that it goes to.
fn places(after: &[Side], opens: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for side in after {
        let places = standing(side, opens);
        for (node, place) in places.into_iter().enumerate() {
            if !side.is_private(node) && side.pieces(node).any(opens) {
                found.push((side, place));
            }
        }
    }
    names(found.into_iter())
}

/// Returns for each node the nearest one, itself or above, whose title is not new.
fn standing(side: &Side, opens: &dyn Fn(&str) -> bool) -> Vec<usize> {
    // Parents stand before their children.
    let mut places: Vec<usize> = Vec::with_capacity(side.outline.nodes.len());
    for (node, heading) in side.outline.nodes.iter().enumerate() {
        let is_new = node > 0 && opens(side.outline.slice(&heading.title).trim());
        let above = side.parent(node).and_then(|parent| places.get(parent).copied());
        places.push(above.filter(|_| is_new).unwrap_or(node));
    }
    places
}

fn names<'a>(nodes: impl Iterator<Item = (&'a Side, usize)>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    nodes.for_each(|(side, node)| add(&mut names, side.name(node)));
    names
}

/// Returns names in quotes for a sentence, four of them at most.
pub fn quoted(names: &[String]) -> String {
    let shown = names.iter().take(4).map(|name| format!("“{name}”")).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(4) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
