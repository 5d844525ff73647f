//! From a name that the user typed to the heading that is meant: one, several, close ones, or none.
//!
//! It never guesses: one heading is found only by an id, a link, or its whole title. What fits in part is given
//! back as close, and headings that fit equally are all given back.

use crate::domain::context::words::{Analyser, Piece, fold, is_stop_word, pieces};
use crate::domain::id::NodeId;
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::recall::show::{plain, without_cookies};
use std::collections::HashSet;

/// A title that is exactly the name, but for case, accents and punctuation.
const EXACT: u32 = 1000;
/// A title that is the name but for articles, what it is called (“the Kitchen project”), and dates.
const WHOLE: u32 = 990;
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

/// Words before a title that a user leaves out or adds.
const ARTICLES: &[&str] = &["the", "a", "an", "my", "our"];

/// What a name stands for.
#[derive(Clone)]
pub enum Resolved {
    /// One node, by its id, a link, or its whole title.
    One(NodeRef),
    /// Several with that title.
    Several(Vec<NodeRef>),
    /// Nodes that the name fits in part, about equally, best first; there may be only one.
    Close(Vec<NodeRef>),
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
    let best = |ranked: &[(u32, NodeRef)]| ranked.first().map_or(0, |(score, _)| *score);
    if best(&whole) < WHOLE
        && let Some((above, title)) = path(name)
    {
        let inside = ranked(view, &title, &above, among);
        if best(&inside) >= WHOLE || (best(&whole) < MATCH && best(&inside) >= MATCH) {
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
    let whole = best >= WHOLE;
    let close = |score: u32| if whole { score == best } else { score + CLOSE >= best && score >= MATCH };
    let mut nodes: Vec<NodeRef> = ranked.into_iter().filter(|(score, _)| close(*score)).map(|(_, node)| node).collect();
    if among == Among::Open && nodes.iter().any(is_open) {
        nodes.retain(is_open);
    }
    nodes.truncate(MAX_CANDIDATES);
    match (whole, nodes.len()) {
        (true, 1) => nodes.pop().map_or(Resolved::None(Vec::new()), Resolved::One),
        (true, _) => Resolved::Several(nodes),
        (false, _) => Resolved::Close(nodes),
    }
}

/// Returns whether a heading has a keyword that is not done.
pub fn is_open(node: &NodeRef) -> bool {
    node.keyword().is_some_and(|keyword| !keyword.done)
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
        if score > 0 && stands_below(&node, above) {
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

/// Returns whether each part of a path is a title above a node, its file, or, before its file, a folder of it.
fn stands_below(node: &NodeRef, above: &[String]) -> bool {
    if above.is_empty() {
        return true;
    }
    let parts: Vec<String> = above.iter().map(|part| normal(part)).collect();
    let mut folders = node.file().rsplit('/');
    let file = folders.next().unwrap_or_default().to_lowercase();
    let stem = normal(file.strip_suffix(".org").unwrap_or(&file));
    let file = normal(&file);
    let is_file = |part: &String| *part == file || *part == stem;
    // A file as a whole is the end of its own path.
    let file_at = if node.index == 0 { Some(parts.len()) } else { parts.iter().rposition(is_file) };
    let folders: Vec<String> = folders.map(normal).collect();
    let in_folders = file_at.filter(|at| *at > 0).is_some_and(|at| {
        let named = parts.get(..at).unwrap_or(&[]);
        named.iter().rev().zip(&folders).filter(|(part, folder)| part == folder).count() == named.len()
    });
    let behind = if in_folders { file_at.unwrap_or(0) } else { 0 };
    let titles: Vec<String> = titles_above(node).map(|title| normal(&title)).collect();
    parts.iter().skip(behind).all(|part| is_file(part) || titles.contains(part))
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
        if title == self.exact || self.is_called(node, &title) {
            return EXACT;
        }
        if self.is_whole(node, &title) {
            return WHOLE;
        }
        if node.index == 0 {
            let name = node.file().rsplit('/').next().unwrap_or_default().to_lowercase();
            let stem = normal(name.strip_suffix(".org").unwrap_or(&name));
            if normal(&name) == self.exact || stem == self.exact {
                return EXACT;
            }
            if stem == bare(&self.exact) {
                return WHOLE;
            }
        }
        // The weekday of a date in a title is no word of it.
        let title = if node.title().contains(['<', '[']) { normal(&without_stamps(node.title())) } else { title };
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

    /// Returns whether a title is the name when counts are left out and links stand as their words.
    fn is_called(&self, node: &NodeRef, title: &str) -> bool {
        let begins = self.exact.split(' ').next().is_some_and(|first| title.contains(first));
        begins && node.title().contains('[') && normal(&plain(&without_cookies(node.title()))) == self.exact
    }

    /// Returns whether name and title are the same without what people leave out: articles, the word for the kind
    /// of thing, and in the title counts, dates and marks of links.
    fn is_whole(&self, node: &NodeRef, title: &str) -> bool {
        let wanted = bare(&self.exact);
        let first = wanted.split(' ').next().unwrap_or_default();
        // Most titles do not hold the first word, and need no closer look.
        if wanted.is_empty() || !title.contains(first) {
            return false;
        }
        let shown = normal(&plain(&without_cookies(&without_stamps(node.title()))));
        shown == self.exact || bare(&shown) == wanted
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

/// Returns a text in lower case, without accents, its words parted by one space.
fn normal(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        fold(if matches!(c, '\u{2019}' | '\u{2bc}') { '\'' } else { c }, &mut folded);
    }
    let words = folded.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|word| !word.is_empty());
    words.take(64).collect::<Vec<_>>().join(" ")
}

/// Returns a normal text without articles before it and without words for the kind of thing around it;
/// something is always left.
fn bare(normal: &str) -> String {
    let mut words: Vec<&str> = normal.split(' ').collect();
    while words.len() > 1 && words.first().is_some_and(|word| ARTICLES.contains(word) || KINDS.contains(word)) {
        words.remove(0);
    }
    while words.len() > 1 && words.last().is_some_and(|word| KINDS.contains(word)) {
        words.pop();
    }
    words.join(" ")
}

/// Returns a text without timestamps.
pub fn without_stamps(title: &str) -> String {
    let mut out = String::new();
    let mut rest = title;
    while let Some(begin) = rest.find(['<', '[']) {
        let (before, from) = rest.split_at_checked(begin).unwrap_or((rest, ""));
        out.push_str(before);
        let dated = from.get(1..11).is_some_and(|date| date.parse::<jiff::civil::Date>().is_ok());
        let end = if dated { from.find(['>', ']']).map_or(from.len(), |end| end + 1) } else { 1 };
        out.push_str(if dated { "" } else { from.get(..end).unwrap_or("") });
        rest = from.get(end..).unwrap_or("");
    }
    out.push_str(rest);
    out
}

fn stems(normal: &str, analyser: &mut Analyser) -> Vec<String> {
    let all: Vec<&str> = normal.split(' ').filter(|word| !word.is_empty()).collect();
    let telling: Vec<&str> = all.iter().copied().filter(|word| !is_stop_word(word)).collect();
    let kept = if telling.is_empty() { all } else { telling };
    let bare = kept.into_iter().map(|word| word.strip_suffix("'s").unwrap_or(word)).take(MAX_WORDS);
    let mut found = Vec::new();
    for word in bare {
        let before = found.len();
        if !word.is_ascii() {
            // Words of scripts without spaces are compared as the index does, by their pairs of characters.
            pieces(word, |piece| match piece {
                Piece::Gram(pair) => found.push(pair.to_string()),
                Piece::Word(_) | Piece::Day(_) => {}
            });
        }
        if found.len() == before {
            found.push(analyser.stem(word).to_string());
        }
    }
    found.truncate(MAX_WORDS);
    found
}
