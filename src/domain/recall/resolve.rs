//! From a name that the user typed to the heading that is meant: one, several, or none.
//!
//! It never guesses: headings that match about equally are all given back.

use crate::domain::context::words::{Analyser, is_stop_word};
use crate::domain::id::NodeId;
use crate::domain::memory::view::{NodeRef, View};
use std::collections::HashSet;

/// A title that is exactly the name.
const EXACT: u32 = 1000;
/// From here on a heading counts as a match.
const MATCH: u32 = 600;
/// Matches this close to the best are about equal.
const CLOSE: u32 = 60;
/// How many candidates or near misses are given back.
pub const MAX_CANDIDATES: usize = 8;
/// How many words of a name are compared.
const MAX_WORDS: usize = 24;
/// Words of a name that say what it is, not how it is called.
const KINDS: &[&str] = &[
    "heading", "headline", "project", "task", "todo", "item", "list", "section", "file", "note", "notes", "entry",
    "one",
];

/// What a name stands for.
#[derive(Clone)]
pub enum Resolved {
    /// One node.
    One(NodeRef),
    /// Several that match about equally, best first.
    Several(Vec<NodeRef>),
    /// None; what is nearest, best first.
    None(Vec<NodeRef>),
}

/// Which nodes a name may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// Headings.
    Headings,
    /// Headings; of those that match about equally, only those with something left to do, if there are any.
    Open,
    /// Headings and files.
    Places,
}

/// Finds what a name stands for: an id, a link, a path of titles (`Kitchen/Paint`), or words of a title.
pub fn resolve(view: &View, name: &str, among: Among) -> Resolved {
    if let Some(node) = by_id(view, name).filter(|node| among == Among::Places || node.index > 0) {
        return Resolved::One(node);
    }
    let whole = ranked(view, name, &[], among);
    if whole.first().is_none_or(|(score, _)| *score < MATCH)
        && let Some((above, title)) = path(name)
    {
        let inside = ranked(view, &title, &above, among);
        if inside.first().is_some_and(|(score, _)| *score >= MATCH) {
            return decide(inside, among);
        }
    }
    decide(whole, among)
}

/// Returns the nodes that match a name, best first, each at least as good as a match.
pub fn matches(view: &View, name: &str, limit: usize) -> Vec<NodeRef> {
    let ranked = ranked(view, name, &[], Among::Places);
    ranked.into_iter().take_while(|(score, _)| *score >= MATCH).take(limit).map(|(_, node)| node).collect()
}

fn decide(ranked: Vec<(u32, NodeRef)>, among: Among) -> Resolved {
    let best = ranked.first().map_or(0, |(score, _)| *score);
    if best < MATCH {
        return Resolved::None(ranked.into_iter().take(MAX_CANDIDATES).map(|(_, node)| node).collect());
    }
    let close = |score: u32| if best == EXACT { score == EXACT } else { score + CLOSE >= best && score >= MATCH };
    let mut nodes: Vec<NodeRef> = ranked.into_iter().filter(|(score, _)| close(*score)).map(|(_, node)| node).collect();
    if among == Among::Open && nodes.iter().any(is_open) {
        nodes.retain(is_open);
    }
    if nodes.len() > 1 {
        nodes.truncate(MAX_CANDIDATES);
        return Resolved::Several(nodes);
    }
    nodes.pop().map_or(Resolved::None(Vec::new()), Resolved::One)
}

/// Returns whether a heading has a keyword that is not done.
pub fn is_open(node: &NodeRef) -> bool {
    node.document.outline.todo(node.node()).is_some_and(|keyword| !keyword.done)
}

/// Reads `id:X`, the target of a link, or a node's id as it stands.
fn by_id(view: &View, name: &str) -> Option<NodeRef> {
    if let Some(node) = view.get(&NodeId::new(name)) {
        return Some(node);
    }
    let name = name.trim_start_matches('[');
    let target = name.split(']').next().unwrap_or(name);
    if let Some(id) = target.strip_prefix("id:") {
        return view.get(&NodeId::new(id.trim()));
    }
    let target = target.strip_prefix("file:")?;
    view.get(&NodeId::new(target))
}

/// Splits `Kitchen/Paint the walls` into what stands above and the title.
fn path(name: &str) -> Option<(Vec<String>, String)> {
    let separator = ["›", " > ", "/"].into_iter().find(|separator| name.contains(separator))?;
    let mut parts: Vec<String> = name.split(separator).map(|part| part.trim().to_string()).collect();
    let title = parts.pop().filter(|title| !title.is_empty())?;
    Some((parts, title))
}

/// Returns nodes by how well they match, best first; in the order of files and lines where equal.
fn ranked(view: &View, name: &str, above: &[String], among: Among) -> Vec<(u32, NodeRef)> {
    let mut analyser = Analyser::default();
    let wanted = Wanted::new(name, &mut analyser);
    if wanted.words.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(u32, NodeRef)> = Vec::new();
    for node in view.nodes() {
        if node.index == 0 && among != Among::Places {
            continue;
        }
        let score = wanted.score(&node, &mut analyser);
        if score > 0 && above.iter().all(|part| stands_below(&node, part)) {
            found.push((score, node));
        }
        // Keeps what is held bounded in a large memory.
        if found.len() > 4096 {
            found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
            found.truncate(256);
        }
    }
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found
}

/// Returns whether a title above a node, or its file, holds all words of a part of a path.
fn stands_below(node: &NodeRef, part: &str) -> bool {
    let part = part.to_lowercase();
    let file = node.document.file.rsplit('/').next().unwrap_or_default().to_lowercase();
    let stem = file.strip_suffix(".org").unwrap_or(&file);
    part == file || part == stem || titles_above(node).any(|title| title.to_lowercase() == part)
}

fn titles_above(node: &NodeRef) -> impl Iterator<Item = String> {
    let mut above = node.parent();
    std::iter::from_fn(move || {
        let node = above.take()?;
        above = node.parent();
        Some(node.title().to_string())
    })
}

/// A name to be found, prepared once.
struct Wanted {
    /// Lower case, single spaces, no punctuation.
    exact: String,
    /// Stems of its words.
    words: Vec<String>,
    /// The same without words that only say what it is.
    core: Vec<String>,
}

impl Wanted {
    fn new(name: &str, analyser: &mut Analyser) -> Wanted {
        let exact = normal(name);
        let words = stems(&exact, analyser);
        let kinds: HashSet<String> = KINDS.iter().map(|kind| analyser.stem(kind).to_string()).collect();
        let core: Vec<String> = words.iter().filter(|word| !kinds.contains(*word)).cloned().collect();
        let core = if core.is_empty() { words.clone() } else { core };
        Wanted { exact, words, core }
    }

    /// Returns how well a node's title matches; 0 when nothing does.
    fn score(&self, node: &NodeRef, analyser: &mut Analyser) -> u32 {
        let title = normal(node.title());
        if title == self.exact {
            return EXACT;
        }
        if node.index == 0 {
            let name = node.document.file.rsplit('/').next().unwrap_or_default().to_lowercase();
            let stem = normal(name.strip_suffix(".org").unwrap_or(&name));
            if name == self.exact || stem == self.exact || stem == self.core.join(" ") {
                return EXACT;
            }
        }
        let have = stems(&title, analyser);
        if have.is_empty() {
            return 0;
        }
        let full = self.against(&self.words, &have, node, analyser);
        if self.core.len() == self.words.len() {
            return full;
        }
        // “the Kitchen project” may be called “Kitchen”.
        full.max(self.against(&self.core, &have, node, analyser).saturating_sub(20))
    }

    fn against(&self, words: &[String], have: &[String], node: &NodeRef, analyser: &mut Analyser) -> u32 {
        let hits: Vec<u32> =
            words.iter().map(|word| have.iter().map(|other| alike(word, other)).max().unwrap_or(0)).collect();
        let in_title = hits.iter().filter(|hit| **hit > 0).count();
        if in_title == 0 {
            return 0;
        }
        let quality = hits.iter().sum::<u32>() / u32::try_from(hits.len()).unwrap_or(1).max(1);
        let (wanted, there) = (words.len() as u32, have.len() as u32);
        if in_title == words.len() {
            // All words; the fewer others, the better.
            let share = 250 * wanted.min(there) / wanted.max(there);
            return (700 + share) * quality / 100;
        }
        // What the title lacks may stand above it: “paint in the kitchen”.
        let mut above: HashSet<String> = HashSet::new();
        for title in titles_above(node).take(8) {
            above.extend(stems(&normal(&title), analyser));
        }
        let missing = words.iter().zip(&hits).filter(|(_, hit)| **hit == 0);
        if missing.clone().all(|(word, _)| above.contains(word)) {
            return 620 + 100 * in_title as u32 / wanted;
        }
        500 * hits.iter().sum::<u32>() / 100 / wanted
    }
}

/// Returns 100 for equal words, less for a likely slip of the keys, 0 for different ones.
fn alike(a: &str, b: &str) -> u32 {
    if a == b {
        return 100;
    }
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.len() < 5 || long.len() - short.len() > 1 || short.bytes().any(|b| b.is_ascii_digit()) {
        return 0;
    }
    if one_slip(short, long) { 85 } else { 0 }
}

/// Returns whether two words differ by one letter changed, left out, or swapped with its neighbour.
fn one_slip(short: &str, long: &str) -> bool {
    let (short, long): (Vec<char>, Vec<char>) = (short.chars().collect(), long.chars().collect());
    let same = short.iter().zip(&long).take_while(|(a, b)| a == b).count();
    let behind = |short_at: usize, long_at: usize| {
        short.get(short_at..) == long.get(long_at..) && short.get(short_at..).is_some()
    };
    let swapped = short.get(same) == long.get(same + 1) && short.get(same + 1) == long.get(same);
    if short.len() == long.len() {
        return behind(same + 1, same + 1) || (swapped && behind(same + 2, same + 2));
    }
    long.len() == short.len() + 1 && behind(same, same + 1)
}

fn normal(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|word| !word.is_empty());
    words.take(64).collect::<Vec<_>>().join(" ")
}

fn stems(normal: &str, analyser: &mut Analyser) -> Vec<String> {
    let all: Vec<&str> = normal.split(' ').filter(|word| !word.is_empty()).collect();
    let telling: Vec<&str> = all.iter().copied().filter(|word| !is_stop_word(word)).collect();
    let kept = if telling.is_empty() { all } else { telling };
    kept.into_iter().take(MAX_WORDS).map(|word| analyser.stem(word).to_string()).collect()
}
