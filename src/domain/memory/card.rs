//! What stays in memory of a file: a compact, immutable card of its headings, without their texts.
//!
//! All words of a file lie in one string, and a heading is forty bytes that point into it; tags, keys of properties
//! and keywords are kept once a file. A card answers everything but what stands below a headline.

mod build;
mod code;

use crate::domain::id::{NodeId, ObjectHash};
use crate::domain::label::Privacy;
use crate::domain::memory::document::Document;
use crate::domain::memory::names::{self, Kept};
use crate::domain::org::property::Inheritance;
use crate::domain::org::timestamp::Timestamp;
use jiff::civil::Date;
use std::borrow::Cow;
use std::sync::Arc;

pub use code::{KeptNames, VERSION};

/// The three timestamps of a planning line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Planning {
    /// When work is to begin.
    Scheduled,
    /// When it is due.
    Deadline,
    /// When it was done.
    Closed,
}

impl Planning {
    /// All three.
    pub const ALL: [Planning; 3] = [Planning::Scheduled, Planning::Deadline, Planning::Closed];

    /// The key under which a timestamp lies among the properties; no word has so high a number.
    fn key(self) -> u32 {
        match self {
            Planning::Scheduled => u32::MAX - 2,
            Planning::Deadline => u32::MAX - 1,
            Planning::Closed => u32::MAX,
        }
    }
}

/// Words from here on are none, but [`Planning::key`].
const PLANNED: u32 = u32::MAX - 2;
/// The keyword of a heading that has none.
const NO_KEYWORD: u16 = u16::MAX;
/// The title or the text below holds what may be an active timestamp.
const DATED: u32 = 1 << 29;
/// The section holds a link to an id.
const LINKING: u32 = 1 << 28;
const COMMENTED: u32 = 1 << 30;
/// How private it is, in two bits: [`Privacy`] in its order.
const PRIVACY: u32 = 0b11 << PRIVACY_AT;
const PRIVACY_AT: u32 = 26;
/// It is more private than the text and what it stands in make it.
const HELD: u32 = 1 << 25;
/// The section may hold a `#+CRON:` or `#+HOOK:` line.
const RUNS: u32 = 1 << 24;
const PRIORITY: u32 = (1 << 21) - 1;

/// A keyword of a heading, such as TODO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyword<'a> {
    /// The word.
    pub name: &'a str,
    /// Whether it means that nothing is left to do.
    pub done: bool,
}

/// What stays in memory of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The file: absolute path, or its name in tests.
    pub file: Arc<str>,
    root: ObjectHash,
    modified: Option<jiff::Timestamp>,
    notes: bool,
    titled: bool,
    /// Whether a node is more private than the text says.
    holds: bool,
    /// One a node, and one behind them that says where the last one ends.
    slots: Box<[Slot]>,
    /// Words of tags, node by node.
    tags: Box<[u32]>,
    /// Planning and properties, node by node, and one behind them.
    entries: Box<[Entry]>,
    /// Where words begin in the arena, and where the last one ends.
    words: Box<[u32]>,
    /// Words of keywords; the highest bit says done.
    keywords: Box<[u32]>,
    /// Nodes by the fingerprint of their id.
    places: Box<[Place]>,
    /// Numbers behind ids that would stand twice, by node.
    suffixes: Box<[(u32, u32)]>,
    /// Paths in ids that are not those of the titles, by node.
    kept: Box<[Kept]>,
    /// Target and node of links to ids, by target.
    links: Box<[(u32, u32)]>,
    /// What `#+PROPERTY` lines say, also those of setup files: words of key and value.
    file_properties: Box<[(u32, u32)]>,
    /// Setup files that have a say in all this: the word of each path, and the hash of its text if that was read.
    setups: Box<[(u32, Option<ObjectHash>)]>,
    /// Titles, values, words.
    arena: Box<str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    begin: u32,
    body: u32,
    line: u32,
    parent: u32,
    after: u32,
    title: u32,
    tags: u32,
    entries: u32,
    level: u16,
    keyword: u16,
    mark: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    key: u32,
    value: u32,
}

/// A node by the fingerprint of its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub print: u32,
    pub node: u32,
}

/// The highest bit of a keyword's word: it means done.
const DONE: u32 = 1 << 31;

impl Card {
    /// Returns the hash of the whole file's content.
    pub fn root(&self) -> ObjectHash {
        self.root
    }

    /// Returns when the file was last changed, if it is known.
    pub fn modified(&self) -> Option<jiff::Timestamp> {
        self.modified
    }

    /// Returns whether this is a file of notes; a chat that was saved is none.
    pub fn is_notes(&self) -> bool {
        self.notes
    }

    /// Returns how many nodes there are, the file included.
    pub fn len(&self) -> usize {
        self.slots.len().saturating_sub(1)
    }

    /// Returns whether there is no node; no file is so.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many headings there are, the file not counted.
    pub fn headings(&self) -> usize {
        self.len().saturating_sub(1)
    }

    /// Returns how many bytes it takes on the heap.
    pub fn heap_bytes(&self) -> usize {
        let words = self.tags.len() + self.words.len() + self.keywords.len();
        let pairs = self.entries.len() + self.places.len() + self.suffixes.len() + self.links.len();
        let pairs = pairs + self.file_properties.len() + self.setups.len() * 5;
        let kept: usize = self.kept.iter().map(|(_, path)| size_of::<Kept>() + path.len()).sum();
        size_of::<Card>() + self.slots.len() * size_of::<Slot>() + words * 4 + pairs * 8 + kept + self.arena.len()
    }

    fn slot(&self, index: usize) -> Option<&Slot> {
        self.slots.get(index).filter(|_| index < self.len())
    }

    fn cut(&self, from: u32, to: u32) -> &str {
        self.arena.get(from as usize..to as usize).unwrap_or("")
    }

    fn word(&self, word: u32) -> &str {
        let end = self.words.get(word as usize + 1);
        self.words.get(word as usize).zip(end).map_or("", |(from, to)| self.cut(*from, *to))
    }

    /// Returns a heading's title as it is written; a file's is its `#+TITLE`, or its name.
    pub fn title(&self, index: usize) -> &str {
        if index == 0 && !self.titled {
            return self.file.rsplit('/').next().unwrap_or(&self.file);
        }
        self.own_title(index)
    }

    /// Returns a heading's title, or a file's `#+TITLE`; the empty text without one.
    pub(super) fn own_title(&self, index: usize) -> &str {
        let next = self.slots.get(index + 1);
        self.slot(index).zip(next).map_or("", |(slot, next)| self.cut(slot.title, next.title))
    }

    /// Returns the level; a file's is 0.
    pub fn level(&self, index: usize) -> u16 {
        self.slot(index).map_or(0, |slot| slot.level)
    }

    /// Returns the one-based line of the headline.
    pub fn line(&self, index: usize) -> u32 {
        self.slot(index).map_or(1, |slot| slot.line)
    }

    /// Returns the byte at which the headline begins.
    pub fn begin(&self, index: usize) -> u32 {
        self.slot(index).map_or(0, |slot| slot.begin)
    }

    /// Returns the byte at which the subtree ends.
    pub fn end(&self, index: usize) -> u32 {
        self.slots.get(self.after(index)).map_or(0, |slot| slot.begin)
    }

    /// Returns the bytes from a headline to the next one.
    pub(super) fn own_bytes(&self, index: usize) -> std::ops::Range<u32> {
        let next = self.slots.get(index + 1);
        self.slot(index).zip(next).map_or(0..0, |(slot, next)| slot.begin..next.begin)
    }

    /// Returns the bytes of the text below a headline, without planning line and drawer.
    pub(super) fn body(&self, index: usize) -> std::ops::Range<u32> {
        let next = self.slots.get(index + 1);
        self.slot(index).zip(next).map_or(0..0, |(slot, next)| slot.body..next.begin)
    }

    /// Returns the node that a byte stands in: the last one that begins at or before it.
    pub fn at(&self, byte: usize) -> usize {
        let nodes = self.slots.get(..self.len()).unwrap_or_default();
        nodes.partition_point(|slot| slot.begin as usize <= byte).saturating_sub(1)
    }

    /// Returns the parent; a file has none.
    pub fn parent(&self, index: usize) -> Option<usize> {
        // A parent stands before its children, so whoever climbs arrives.
        self.slot(index).map(|slot| slot.parent as usize).filter(|parent| *parent < index)
    }

    /// Returns the index of the first node behind a node's subtree.
    pub fn after(&self, index: usize) -> usize {
        self.slot(index).map_or(self.len(), |slot| (slot.after as usize).clamp(index + 1, self.len()))
    }

    /// Returns the children, in order.
    pub fn children(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.after(index);
        std::iter::successors(Some(index + 1), |child| Some(self.after(*child))).take_while(move |child| *child < end)
    }

    /// Returns the sibling behind a heading.
    pub fn next(&self, index: usize) -> Option<usize> {
        let after = self.after(index);
        (index > 0 && after < self.len() && self.parent(after) == self.parent(index)).then_some(after)
    }

    /// Returns the sibling before a heading.
    pub fn previous(&self, index: usize) -> Option<usize> {
        let parent = self.parent(index)?;
        // Climbs from the deepest node before to the sibling above it.
        let mut at = index - 1;
        while at > parent {
            let up = self.parent(at)?;
            if up == parent {
                return Some(at);
            }
            at = up;
        }
        None
    }

    /// Returns a heading's keyword.
    pub fn keyword(&self, index: usize) -> Option<Keyword<'_>> {
        let slot = self.slot(index).filter(|slot| slot.keyword != NO_KEYWORD)?;
        self.keywords.get(slot.keyword as usize).map(|word| self.keyword_of(*word))
    }

    fn keyword_of(&self, word: u32) -> Keyword<'_> {
        Keyword { name: self.word(word & !DONE), done: word & DONE != 0 }
    }

    /// Returns the keywords that hold in this file, in order.
    pub fn keywords(&self) -> impl Iterator<Item = Keyword<'_>> {
        self.keywords.iter().map(|word| self.keyword_of(*word))
    }

    /// Returns the priority, if there is one.
    pub fn priority(&self, index: usize) -> Option<char> {
        self.slot(index).and_then(|slot| char::from_u32(slot.mark & PRIORITY)).filter(|c| *c != '\0')
    }

    /// Returns whether the title begins with COMMENT.
    pub fn commented(&self, index: usize) -> bool {
        self.slot(index).is_some_and(|slot| slot.mark & COMMENTED != 0)
    }

    /// Returns whether the title, or the text below it, may hold an active timestamp; planning lines do not count.
    pub fn may_be_dated(&self, index: usize) -> bool {
        self.slot(index).is_some_and(|slot| slot.mark & DATED != 0)
    }

    /// Returns whether the text below it may hold a `#+CRON:` or `#+HOOK:` line.
    pub fn may_run(&self, index: usize) -> bool {
        self.slot(index).is_some_and(|slot| slot.mark & RUNS != 0)
    }

    /// Returns how private a node is, of itself or by what it stands in.
    pub fn privacy(&self, index: usize) -> Privacy {
        match self.slot(index).map(|slot| (slot.mark & PRIVACY) >> PRIVACY_AT) {
            Some(0) => Privacy::Open,
            Some(1) => Privacy::Warn,
            Some(2) => Privacy::Ask,
            // What is not there is shown to nobody.
            Some(_) | None => Privacy::Private,
        }
    }

    /// Returns whether something in it is more private than the text says.
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// Returns whether a node is more private than the text and what it stands in make it.
    pub fn is_held(&self, index: usize) -> bool {
        self.slot(index).is_some_and(|slot| slot.mark & HELD != 0)
    }

    /// Returns whether the same nodes are more private than their text says, and as private, as in a document.
    pub(super) fn holds_as(&self, document: &Document) -> bool {
        let held = document.held();
        match self.holds {
            false => held.is_empty(),
            true => {
                (0..self.len()).filter(|index| self.is_held(*index)).eq(held.iter().map(|index| *index as usize))
                    && (0..self.len()).map(|index| self.privacy(index)).eq(document.privacy.iter().copied())
            }
        }
    }

    /// Returns the label of what is most private in the file.
    pub fn strictest(&self) -> Privacy {
        (0..self.len()).map(|index| self.privacy(index)).max().unwrap_or(Privacy::Private)
    }

    /// Returns a heading's own tags, in order; a file's are those of `#+FILETAGS`.
    pub fn tags(&self, index: usize) -> impl Iterator<Item = &str> {
        self.tag_words(index).iter().map(|word| self.word(*word))
    }

    /// Returns the own tags as numbers of words.
    pub(super) fn tag_words(&self, index: usize) -> &[u32] {
        let range = self.slot(index).zip(self.slots.get(index + 1)).map(|(slot, next)| slot.tags..next.tags);
        let range = range.unwrap_or_default();
        self.tags.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    /// Returns timestamps and own properties in order, the latter with their keys as numbers of words.
    pub(super) fn stamps_and_words(&self, index: usize) -> impl Iterator<Item = (Result<Planning, u32>, &str)> {
        self.entries(index).map(|(key, value)| match Planning::ALL.into_iter().find(|planning| planning.key() == key) {
            Some(planning) if key >= PLANNED => (Ok(planning), value),
            Some(_) | None => (Err(key), value),
        })
    }

    /// Returns the place of a heading's keyword among [`Card::keywords`].
    pub(super) fn keyword_place(&self, index: usize) -> Option<usize> {
        self.slot(index).filter(|slot| slot.keyword != NO_KEYWORD).map(|slot| slot.keyword.into())
    }

    /// Returns whether another card of the same file has the same ids, tags, keywords, properties, planning and links at
    /// the same nodes; titles, places in the text and times may differ.
    pub(super) fn says_the_same(&self, other: &Card) -> bool {
        let below = |slot: &Slot| (slot.after, slot.tags, slot.entries, slot.keyword);
        // Values and words stand behind the titles, which may have another length.
        let titles = |card: &Card| card.entries.first().map_or(0, |entry| entry.value);
        let (here, there) = (titles(self), titles(other));
        self.file == other.file
            && self.slots.len() == other.slots.len()
            && self.tags == other.tags
            && self.keywords == other.keywords
            && self.links == other.links
            && self.suffixes == other.suffixes
            && self.kept == other.kept
            && self.file_properties == other.file_properties
            && self.setups == other.setups
            && self.entries.len() == other.entries.len()
            && self.words.len() == other.words.len()
            && self.slots.iter().map(below).eq(other.slots.iter().map(below))
            && self.arena.get(here as usize..) == other.arena.get(there as usize..)
            && self.words.iter().map(|at| at.wrapping_sub(here)).eq(other.words.iter().map(|at| at.wrapping_sub(there)))
            && self
                .entries
                .iter()
                .map(|e| (e.key, e.value.wrapping_sub(here)))
                .eq(other.entries.iter().map(|e| (e.key, e.value.wrapping_sub(there))))
    }

    /// Returns all words of tags, keys, keywords and links; their places are their numbers.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        (0..self.words.len().saturating_sub(1)).map(|word| self.word(word as u32))
    }

    /// Returns own and inherited tags: file tags first, then from the top down, without duplicates.
    pub fn all_tags(&self, index: usize) -> Vec<&str> {
        let mut chain: Vec<usize> = std::iter::successors(Some(index), |at| self.parent(*at)).collect();
        chain.reverse();
        let mut tags: Vec<&str> = Vec::new();
        for tag in chain.into_iter().flat_map(|at| self.tags(at)) {
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        tags
    }

    fn entries(&self, index: usize) -> impl Iterator<Item = (u32, &str)> {
        let range = self.slot(index).zip(self.slots.get(index + 1)).map(|(slot, next)| slot.entries..next.entries);
        let range = range.unwrap_or_default();
        // One more, to see where the last value ends.
        let window = self.entries.get(range.start as usize..range.end as usize + 1).unwrap_or_default();
        window.iter().zip(window.iter().skip(1)).map(|(entry, next)| (entry.key, self.cut(entry.value, next.value)))
    }

    /// Returns the own property drawer: upper-case key and trimmed value, in order; `:KEY+:` keeps its `+`.
    pub fn properties(&self, index: usize) -> impl Iterator<Item = (&str, &str)> {
        self.entries(index).filter(|(key, _)| *key < PLANNED).map(|(key, value)| (self.word(key), value))
    }

    /// Returns the value of an own property, by upper-case key; of several lines the last, as Org has it.
    pub fn property(&self, index: usize, key: &str) -> Option<&str> {
        self.properties(index).filter(|(known, _)| *known == key).last().map(|(_, value)| value)
    }

    /// Returns what a node's lines say of a property: the last `KEY`, and what `KEY+` lines add, in order.
    fn lines<'a>(&'a self, index: usize, key: &str) -> (Option<&'a str>, Vec<&'a str>) {
        let (mut base, mut added) = (None, Vec::new());
        for (own, value) in self.properties(index) {
            match own.strip_prefix(key) {
                Some("") => base = Some(value),
                Some("+") => added.push(value),
                Some(_) | None => {}
            }
        }
        (base, added)
    }

    /// Returns what holds of a property, by upper-case key, with what `KEY+` lines add, a blank between; of a heading
    /// above, too, where `inheritance` says so. The word `nil` means none.
    ///
    /// As [`crate::domain::org::outline::Outline::effective_value`].
    pub fn effective_value(&self, index: usize, key: &str, inheritance: &Inheritance) -> Option<Cow<'_, str>> {
        let inherits = inheritance.inherits(key);
        let mut values: Vec<&str> = Vec::new();
        let (mut at, mut found) = (Some(index), false);
        while let Some(node) = at {
            let (base, added) = self.lines(node, key);
            found = base.is_some();
            let base = base.filter(|value| inherits || *value != "nil");
            values.splice(0..0, base.into_iter().chain(added));
            at = self.parent(node).filter(|_| inherits && !found);
        }
        if inherits && !found {
            values.splice(0..0, self.file_property(key));
        }
        let value = match values.as_slice() {
            [] => return None,
            [one] => Cow::Borrowed(*one),
            several => Cow::Owned(several.join(" ")),
        };
        (value != "nil").then_some(value)
    }

    /// Returns what `#+PROPERTY` lines say of all nodes of the file: upper-case key without `+`, and value. Of a
    /// category it is what holds where no heading says otherwise.
    pub fn file_properties(&self) -> impl Iterator<Item = (&str, &str)> {
        self.file_properties.iter().map(|(key, value)| (self.word(*key), self.word(*value)))
    }

    /// Returns the value of one of them, by upper-case key.
    pub fn file_property(&self, key: &str) -> Option<&str> {
        self.file_properties().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// Returns the setup files that have a say in what is held here, and what named their texts when they were read;
    /// nothing where one could not be read.
    pub fn setups(&self) -> impl Iterator<Item = (&str, Option<ObjectHash>)> {
        self.setups.iter().map(|(path, hash)| (self.word(*path), *hash))
    }

    /// Returns whether a document holds the same text, was shaped by the same setup files, and counts as private beyond
    /// its text where this does.
    pub fn is_of(&self, document: &Document) -> bool {
        let theirs = document.outline.setups.iter().map(|setup| (&*setup.path, setup.hash));
        self.root == document.root() && self.setups().eq(theirs) && self.holds_as(document)
    }

    /// Returns a timestamp of the planning line as it is written.
    pub fn planning(&self, index: usize, planning: Planning) -> Option<&str> {
        // Timestamps stand in front of properties.
        let mut stamps = self.entries(index).take_while(|(key, _)| *key >= PLANNED);
        stamps.find(|(key, _)| *key == planning.key()).map(|(_, value)| value)
    }

    /// Returns the day of a planning, if it has one that can be read; repeaters are not followed.
    pub fn planned_day(&self, index: usize, planning: Planning) -> Option<Date> {
        day_of(self.planning(index, planning)?)
    }

    /// Returns the nodes that have a planning on a day, in order.
    pub fn planned_on(&self, planning: Planning, day: Date) -> impl Iterator<Item = usize> {
        // As it is written: nothing is read into a date. All entries lie in a row; only for one that fits is its node
        // looked for.
        let (key, written) = (planning.key(), day.to_string());
        let stamps = self.entries.iter().zip(self.entries.iter().skip(1)).enumerate();
        stamps.filter_map(move |(at, (entry, next))| {
            let is_it = entry.key == key && {
                let stamp = self.cut(entry.value, next.value);
                stamp.trim_start_matches(['<', '[']).starts_with(&written)
            };
            is_it.then(|| self.slots.partition_point(|slot| slot.entries as usize <= at).saturating_sub(1))
        })
    }

    /// Returns the links to ids, as target and index of the node, sorted by target.
    pub fn links(&self) -> impl Iterator<Item = (&str, usize)> {
        self.links.iter().map(|(target, node)| (self.word(*target), *node as usize))
    }

    /// Returns the nodes that link to an id, in order.
    pub fn links_to(&self, target: &str) -> impl Iterator<Item = usize> {
        let begin = self.links.partition_point(|(word, _)| self.word(*word) < target);
        let rest = self.links.get(begin..).unwrap_or_default();
        let count = rest.partition_point(|(word, _)| self.word(*word) == target);
        rest.iter().take(count).map(|(_, node)| *node as usize)
    }

    /// Returns whether a node links to an id.
    pub fn has_links(&self, index: usize) -> bool {
        self.slot(index).is_some_and(|slot| slot.mark & LINKING != 0)
    }

    /// Returns the ids that a node links to, sorted.
    pub fn links_of(&self, index: usize) -> impl Iterator<Item = &str> {
        self.links()
            .filter(move |_| self.has_links(index))
            .filter(move |(_, node)| *node == index)
            .map(|(target, _)| target)
    }

    /// Returns a node's id; see [`crate::domain::memory::document::Document::build`] for how it is made.
    pub fn id(&self, index: usize) -> NodeId {
        let name = match self.own_id(index) {
            Some(own) => own.to_string(),
            None => self.path_name(index),
        };
        NodeId::new(self.suffix(index).map(|number| format!("{name}#{number}")).unwrap_or(name))
    }

    /// Returns how a node would be named without an id: by the file and the titles down to it.
    pub fn path_name(&self, index: usize) -> String {
        match index {
            0 => self.file.to_string(),
            _ => format!("{}::*{}", self.file, self.path(index)),
        }
    }

    /// Returns the number behind an id that would stand twice.
    pub(super) fn suffix(&self, index: usize) -> Option<u32> {
        let at = self.suffixes.binary_search_by_key(&(index as u32), |(node, _)| *node).ok()?;
        self.suffixes.get(at).map(|(_, number)| *number)
    }

    /// Returns the `:ID:` of a node, as it stands there.
    pub fn own_id(&self, index: usize) -> Option<&str> {
        self.property(index, "ID").map(str::trim).filter(|id| !id.is_empty())
    }

    /// Returns the path of a heading as its id holds it: the titles from the top down, or what it keeps.
    fn path(&self, index: usize) -> String {
        let (mut at, mut chain) = (index, Vec::new());
        let mut path = loop {
            if let Some(kept) = self.kept_path(at) {
                break kept.to_string();
            }
            chain.push(at);
            match self.parent(at).filter(|up| *up > 0) {
                Some(up) => at = up,
                None => break String::new(),
            }
        };
        for at in chain.into_iter().rev() {
            path = names::path(&path, self.own_title(at));
        }
        path
    }

    fn kept_path(&self, index: usize) -> Option<&str> {
        let at = self.kept.binary_search_by_key(&(index as u32), |(node, _)| *node).ok()?;
        self.kept.get(at).map(|(_, path)| path.as_ref())
    }

    /// Returns the paths that nodes keep, and the numbers behind ids that would stand twice, by node.
    pub(super) fn names(&self) -> (&[Kept], &[(u32, u32)]) {
        (&self.kept, &self.suffixes)
    }

    /// Finds a node of this file by its id.
    pub fn index_of(&self, id: &NodeId) -> Option<usize> {
        let print = short(self.root, id.as_str());
        let begin = self.places.partition_point(|place| place.print < print);
        let candidates = self.places.get(begin..).unwrap_or_default().iter().take_while(|place| place.print == print);
        candidates.map(|place| place.node as usize).find(|node| self.id(*node) == *id)
    }

    /// Returns whether an id is made from this file's name, so that the file alone can find it.
    pub fn derives(&self, id: &str) -> bool {
        let Some(rest) = id.strip_prefix(self.file.as_ref()) else { return false };
        rest.is_empty() || rest.starts_with("::*")
    }
}

/// Returns the first day of a raw timestamp such as `<2026-11-21 Sat 10:00 +1w>`.
pub fn day_of(timestamp: &str) -> Option<Date> {
    let date = timestamp.trim_start_matches(['<', '[']).as_bytes().first_chunk::<10>()?;
    let [a, b, c, d, b'-', e, f, b'-', g, h] = *date else { return None };
    let number = |digits: &[u8]| {
        let digit = |sum: i16, byte: &u8| byte.is_ascii_digit().then(|| sum * 10 + i16::from(byte - b'0'));
        digits.iter().try_fold(0, digit)
    };
    let (year, month, day) = (number(&[a, b, c, d])?, number(&[e, f])?, number(&[g, h])?);
    Date::new(year, month as i8, day as i8).ok()
}

/// Returns the minute of the day at which a timestamp begins, if it names a time.
pub fn minute_of(timestamp: &str) -> Option<u16> {
    // Most name none, and are not read.
    let time = timestamp.contains(':').then(|| Timestamp::parse_start(timestamp))??.0.time?;
    Some(time.hour() as u16 * 60 + time.minute() as u16)
}

/// Returns what a card sorts an id by. The content of the file takes part, so that nobody can write a file in which many
/// ids share it: with each id that is tried, all the others get another one.
fn short(content: ObjectHash, id: &str) -> u32 {
    let key = content.as_bytes().first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    (keyed(key, id) >> 32) as u32
}

/// Returns 64 bits that tell texts apart in most cases: fast, the same on every machine, and no promise.
/// Whoever finds something by it compares the text itself.
pub fn fingerprint(text: &str) -> u64 {
    keyed(0, text)
}

fn keyed(key: u64, text: &str) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |state: u64, word: u64| {
        let wide = u128::from(state ^ word).wrapping_mul(u128::from(ODD ^ 0x2545_f491_4f6c_dd1d));
        (wide as u64) ^ ((wide >> 64) as u64)
    };
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let mut state = ODD ^ key ^ (text.len() as u64);
    for word in words {
        state = mix(state, u64::from_le_bytes(*word)).wrapping_add(ODD);
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    mix(mix(state, u64::from_le_bytes(last)), ODD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Ids that one content sorts together are apart in another one: who looks for such ids moves the content.
    #[test]
    fn ids_are_sorted_by_a_key_of_their_content() {
        let contents = [ObjectHash::new([1; 32]), ObjectHash::new([2; 32])];
        let mut pairs = Vec::new();
        let mut seen: HashMap<u32, String> = HashMap::new();
        for n in 0..300_000 {
            let id = format!("/notes/a.org::*Heading {n}");
            if let Some(other) = seen.insert(short(contents[0], &id), id.clone()) {
                pairs.push((id, other));
            }
        }
        assert!(!pairs.is_empty(), "so many of them share one now and then");
        assert!(pairs.iter().all(|(a, b)| short(contents[1], a) != short(contents[1], b)), "{pairs:?}");
    }
}
