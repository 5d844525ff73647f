//! What an edit does to privacy: which text would be less private, and which places get text that is new there.
//!
//! Judged from the outlines before and after, with everything that a heading inherits, not from tags in the text.

use crate::domain::gate::facts::EditFact;
use crate::domain::label::{Privacy, PrivacyTag};
use crate::domain::memory::document::{PrivacyOptions, privacy};
use crate::domain::org::is_org;
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::{ScanOptions, TooLarge, scan};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The tiers that text can lose, least first.
const TIERS: [Privacy; 3] = [Privacy::Warn, Privacy::Ask, Privacy::Private];

/// One side of one edit.
pub(super) struct Side {
    file: String,
    pub(super) outline: Outline,
    /// By node; `None` for a file that keeps nothing private.
    privacy: Option<Vec<Privacy>>,
}

/// How private nodes are held, whatever their text says.
struct Held {
    /// By index; empty where none is.
    by_node: Vec<Privacy>,
    /// How private each is where the nodes are others than those.
    otherwise: Privacy,
}

/// How often a piece of text stands in places of each tier.
#[derive(Clone, Copy, Default)]
struct Count {
    /// In the order of [`Privacy`].
    at: [usize; 4],
}

impl Count {
    fn below(&self, tier: Privacy) -> usize {
        self.at.iter().take(tier as usize).sum()
    }

    fn from(&self, tier: Privacy) -> usize {
        self.at.iter().skip(tier as usize).sum()
    }
}

/// What an edit would make less private.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loosened {
    /// The highest headings, by their titles, and files.
    pub names: Vec<String>,
    /// How private the most private of those headings is now.
    pub was: Privacy,
    /// Whether something of it would not be private at all.
    pub opens: bool,
}

/// Returns the highest headings whose text was private before and would stand in a less private place, by their titles;
/// a file by its name for what stands above its first heading, or when a setup file would no longer make it private.
///
/// All edits are taken together: a heading may leave one file for another. A file that is no Org file keeps nothing
/// private. A copy leaves the private text where it is, and is no loosening: who could copy it has read it, and what
/// it writes then has labels that say so; see [`opened`].
///
/// # Errors
/// When a text is too large to be read as Org.
pub fn loosened(edits: &[EditFact], private_tags: &[PrivacyTag]) -> Result<Loosened, TooLarge> {
    let before = befores(edits, private_tags)?;
    // What is set up keeps its text, so that nothing of it stands in the edits.
    let mut names: Vec<String> = Vec::new();
    let opened = edits.iter().flat_map(|edit| &edit.by_setup.opens);
    opened.for_each(|file| add(&mut names, readable(file.rsplit('/').next().unwrap_or(file))));
    let mut lost = Loosened { opens: !names.is_empty(), names, was: Privacy::Open };
    if !before.iter().any(|side| (0..side.outline.nodes.len()).any(|node| side.tier(node) > Privacy::Open)) {
        return Ok(lost);
    }
    let after = afters(edits, private_tags)?;
    let (old, new) = (counts(&before), counts(&after));
    let count = |counts: &HashMap<&str, Count>, piece: &str| counts.get(piece).copied().unwrap_or_default();
    let loses = |piece: &str, tier: Privacy| {
        let (old, new) = (count(&old, piece), count(&new, piece));
        new.below(tier) > old.below(tier) && new.from(tier) < old.from(tier)
    };
    let found = highest(&before, &|piece, is| TIERS.into_iter().any(|tier| tier <= is && loses(piece, tier)));
    for (side, node) in found {
        lost.was = lost.was.max(side.tier(node));
        add(&mut lost.names, side.name(node));
    }
    let pieces = before.iter().flat_map(|side| (0..side.outline.nodes.len()).flat_map(|node| side.pieces(node)));
    lost.opens |= pieces.into_iter().any(|piece| loses(piece, Privacy::Warn));
    Ok(lost)
}

fn add(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

fn readable(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// Returns the headings and files less private than a tier that would get text which stood in no such place before.
///
/// # Errors
/// When a text is too large to be read as Org.
pub fn opened(edits: &[EditFact], private_tags: &[PrivacyTag], tier: Privacy) -> Result<Vec<String>, TooLarge> {
    let (before, after) = (befores(edits, private_tags)?, afters(edits, private_tags)?);
    let (old, new) = (counts(&before), counts(&after));
    let below = |counts: &HashMap<&str, Count>, piece: &str| counts.get(piece).map_or(0, |count| count.below(tier));
    Ok(places(&after, tier, &|piece| below(&new, piece) > below(&old, piece)))
}

/// A text that would stand where it was not before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewlyOpen {
    /// The name of the place.
    pub place: String,
    /// The new text there, as one piece.
    pub text: String,
    /// The place is less private than this.
    pub below: Privacy,
}

/// Returns what would stand in places less private than each tier that is kept, and stood in none of them before.
///
/// # Errors
/// When a text is too large to be read as Org.
pub fn newly_open(edits: &[EditFact], private_tags: &[PrivacyTag]) -> Result<Vec<NewlyOpen>, TooLarge> {
    let (before, after) = (befores(edits, private_tags)?, afters(edits, private_tags)?);
    let (old, new) = (counts(&before), counts(&after));
    let mut found = Vec::new();
    for tier in TIERS.into_iter().filter(|tier| tier.is_kept()) {
        let below = |counts: &HashMap<&str, Count>, piece: &str| counts.get(piece).map_or(0, |count| count.below(tier));
        let opens = |piece: &str| below(&new, piece) > below(&old, piece);
        for side in &after {
            let places = standing(side, &opens);
            for (node, place) in places.into_iter().enumerate().filter(|(node, _)| side.tier(*node) < tier) {
                let pieces: Vec<&str> = side.pieces(node).collect();
                let (first, last) =
                    (pieces.iter().position(|piece| opens(piece)), pieces.iter().rposition(|piece| opens(piece)));
                // A line between new ones may stand elsewhere already; the passage goes through it.
                let Some(text) = first.zip(last).and_then(|(first, last)| pieces.get(first..=last)) else { continue };
                found.push(NewlyOpen { place: side.name(place), text: text.join("\n"), below: tier });
            }
        }
    }
    Ok(found)
}

pub(super) fn befores(edits: &[EditFact], private_tags: &[PrivacyTag]) -> Result<Vec<Side>, TooLarge> {
    let before = |edit: &EditFact| {
        // Where it cannot be told which node is held, each was as private as the strictest.
        let held = edit.by_setup.held_before.clone();
        (edit.by_setup.before, Held { otherwise: held.iter().copied().max().unwrap_or(Privacy::Open), by_node: held })
    };
    let texts = edits.iter().filter_map(|edit| edit.before.as_ref().map(|text| (edit, text)));
    sides(texts.map(|(edit, text)| (edit, text, before(edit))), private_tags)
}

pub(super) fn afters(edits: &[EditFact], private_tags: &[PrivacyTag]) -> Result<Vec<Side>, TooLarge> {
    let after = |edit: &EditFact| {
        // Where it cannot be told, nothing is: what was private before asks as being less so.
        let held = Held { otherwise: Privacy::Open, by_node: edit.by_setup.held_after.clone() };
        (edit.by_setup.after, held)
    };
    sides(edits.iter().map(|edit| (edit, &edit.after, after(edit))), private_tags)
}

fn sides<'a>(
    texts: impl Iterator<Item = (&'a EditFact, &'a Arc<str>, (Privacy, Held))>,
    private_tags: &[PrivacyTag],
) -> Result<Vec<Side>, TooLarge> {
    let options = PrivacyOptions { tags: private_tags.to_vec() };
    texts.map(|(edit, text, least)| Side::read(edit, text, least, &options)).collect()
}

impl Side {
    /// Reads a text of which every node is at least so private as `least`, and each as private as it is held.
    fn read(
        edit: &EditFact,
        text: &Arc<str>,
        (least, held): (Privacy, Held),
        options: &PrivacyOptions,
    ) -> Result<Side, TooLarge> {
        let outline = scan(text.clone(), &ScanOptions::default())?;
        let known = held.by_node.is_empty() || held.by_node.len() == outline.nodes.len();
        let held = |node: usize| match known {
            true => held.by_node.get(node).copied().unwrap_or(Privacy::Open),
            false => held.otherwise,
        };
        let counts = |(node, own): (usize, Privacy)| own.max(least).max(held(node));
        let privacy = is_org(&edit.file)
            .then(|| privacy(&outline, options).into_iter().enumerate().map(counts).collect::<Vec<_>>());
        Ok(Side { file: edit.file.clone(), outline, privacy })
    }

    /// Returns whether it is read as Org at all.
    pub(super) fn is_org(&self) -> bool {
        self.privacy.is_some()
    }

    pub(super) fn tier(&self, node: usize) -> Privacy {
        match &self.privacy {
            Some(privacy) => privacy.get(node).copied().unwrap_or(Privacy::Private),
            None => Privacy::Open,
        }
    }

    pub(super) fn parent(&self, node: usize) -> Option<usize> {
        self.outline.nodes.get(node).filter(|_| node > 0).map(|node| node.parent as usize)
    }

    /// Returns the pieces of a node's own text: its title, and each line of its section that says something.
    pub(super) fn pieces(&self, node: usize) -> impl Iterator<Item = &str> + '_ {
        let node = self.outline.nodes.get(node);
        let title = node.map(|node| self.outline.slice(&node.title)).unwrap_or("");
        let section = node.map(|node| self.outline.slice(&node.section)).unwrap_or("");
        std::iter::once(title).chain(section.lines()).map(str::trim).filter(|piece| says_something(piece))
    }

    pub(super) fn name(&self, node: usize) -> String {
        let title = self.outline.nodes.get(node).map_or("", |node| self.outline.slice(&node.title));
        let file = self.file.rsplit('/').next().unwrap_or(&self.file);
        let heading = node > 0 && self.privacy.is_some() && !title.trim().is_empty();
        let name = if heading { title } else { file };
        readable(name)
    }
}

/// Returns whether a line is more than structure: marks of drawers and blocks and rules say nothing, and neither does
/// what only says how private something is.
fn says_something(piece: &str) -> bool {
    let lower = piece.get(..8).map(str::to_ascii_lowercase).unwrap_or_default();
    let drawer = piece.starts_with(':') && piece.ends_with(':') && !piece.contains(char::is_whitespace);
    let block = lower.starts_with("#+end_") || lower == "#+begin_" && piece.split_whitespace().count() < 3;
    let upper = piece.get(..24.min(piece.len())).map(str::to_ascii_uppercase).unwrap_or_default();
    let mark = [":PRIVACY", ":PP_PRIVACY"]
        .iter()
        .any(|mark| upper.strip_prefix(mark).is_some_and(|rest| rest.starts_with(':') || rest.starts_with("+:")));
    piece.chars().any(char::is_alphanumeric) && !drawer && !block && !mark
}

fn counts(sides: &[Side]) -> HashMap<&str, Count> {
    let mut counts: HashMap<&str, Count> = HashMap::new();
    for side in sides {
        for node in 0..side.outline.nodes.len() {
            for piece in side.pieces(node) {
                let count = counts.entry(piece).or_default();
                if let Some(count) = count.at.get_mut(side.tier(node) as usize) {
                    *count += 1;
                }
            }
        }
    }
    counts
}

/// Returns the highest private nodes that hold a piece which becomes less private than they are.
fn highest<'a>(before: &'a [Side], loosens: &dyn Fn(&str, Privacy) -> bool) -> Vec<(&'a Side, usize)> {
    let mut holders: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for (at, side) in before.iter().enumerate() {
        for node in (0..side.outline.nodes.len()).filter(|node| side.tier(*node) > Privacy::Open) {
            for piece in side.pieces(node).filter(|piece| loosens(piece, side.tier(node))) {
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
    named
}

/// Names the nodes below a tier that get a piece which stood in no such place; of a new heading, the place that it goes
/// to.
fn places(after: &[Side], tier: Privacy, opens: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for side in after {
        let places = standing(side, opens);
        for (node, place) in places.into_iter().enumerate() {
            if side.tier(node) < tier && side.pieces(node).any(opens) {
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
