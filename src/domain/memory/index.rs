//! The structural index: which files hold an id, a tag, a keyword, a property, a planned day, a link, and how often.
//!
//! One sorted set of (key, file, count) serves all of them; a key is its kind and a fingerprint, or a number where the
//! order matters. What is found is compared with the card, so a fingerprint that two words share costs time, no truth.

use crate::domain::memory::card::{Card, Planning, fingerprint};
use crate::domain::memory::tree::Tree;
use jiff::civil::Date;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// What can be looked up, and counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key<'a> {
    /// An id that is not made from a file's name.
    Id(&'a str),
    /// A tag, own or inherited, without regard to case.
    Tag(&'a str),
    /// A keyword.
    Keyword(&'a str),
    /// Any keyword that means that something is left to do.
    Open,
    /// Any keyword that means that nothing is.
    Done,
    /// An own property, by upper-case key.
    Property(&'a str),
    /// An own property with exactly this value.
    Value(&'a str, &'a str),
    /// Any planning of one kind that has a day.
    Planned(Planning),
    /// A link to an id.
    Link(&'a str),
    /// A property of all nodes of a file, by upper-case key.
    FileProperty(&'a str),
    /// A setup file that has a say in a file, by its path.
    Setup(&'a str),
}

/// One file that holds a key.
#[derive(Clone, Debug)]
pub struct Entry {
    key: u64,
    /// The file.
    pub file: Arc<str>,
    /// How many of its nodes do.
    pub count: u32,
}

/// The keys of some cards, in order. They may be gathered on several threads.
#[derive(Default)]
pub struct Keys(Vec<Entry>);

impl Keys {
    /// Gathers the keys of some cards.
    pub fn of<'a>(cards: impl Iterator<Item = &'a Card>) -> Keys {
        let mut entries: Vec<Entry> = cards.flat_map(entries_of).collect();
        entries.sort_unstable();
        Keys(entries)
    }
}

/// All keys of all files. Cloning is O(1).
#[derive(Clone, Default)]
pub struct Index(Tree<Entry>);

const KIND: u32 = 56;
const ID: u64 = 1 << KIND;
const TAG: u64 = 2 << KIND;
const KEYWORD: u64 = 3 << KIND;
const STATE: u64 = 4 << KIND;
const PROPERTY: u64 = 5 << KIND;
const VALUE: u64 = 6 << KIND;
const PLANNED: u64 = 7 << KIND;
const DAY: u64 = 8 << KIND;
const LINK: u64 = 9 << KIND;
const CHANGED: u64 = 10 << KIND;
const FILE_PROPERTY: u64 = 11 << KIND;
const SETUP: u64 = 12 << KIND;

impl Key<'_> {
    fn number(&self) -> u64 {
        let hashed = |kind: u64, text: &str| kind | fingerprint(text) >> (64 - KIND);
        match self {
            Key::Id(id) => hashed(ID, id),
            Key::Tag(tag) => hashed(TAG, &tag.to_lowercase()),
            Key::Keyword(keyword) => hashed(KEYWORD, keyword),
            Key::Open => STATE,
            Key::Done => STATE | 1,
            Key::Property(key) => hashed(PROPERTY, key),
            Key::Value(key, value) => hashed(VALUE, key) ^ fingerprint(value) >> (64 - KIND),
            Key::Planned(planning) => PLANNED | number_of(*planning),
            Key::Link(target) => hashed(LINK, target),
            Key::FileProperty(key) => hashed(FILE_PROPERTY, key),
            Key::Setup(path) => hashed(SETUP, path),
        }
    }
}

fn number_of(planning: Planning) -> u64 {
    match planning {
        Planning::Scheduled => 0,
        Planning::Deadline => 1,
        Planning::Closed => 2,
    }
}

fn day_number(planning: Planning, day: Date) -> u64 {
    let (year, month) = (i64::from(day.year()) + 10_000, i64::from(day.month()));
    let number = (year << 4 | month) << 5 | i64::from(day.day());
    DAY | number_of(planning) << 48 | number as u64
}

const LATEST: u64 = (1 << KIND) - 1;

fn time_number(time: jiff::Timestamp) -> u64 {
    // Microseconds of more than two thousand years, shifted so that none is below zero.
    let shifted = time.as_microsecond().saturating_add(1 << 55).clamp(0, LATEST as i64);
    // The latest come first.
    CHANGED | (LATEST - shifted as u64)
}

impl Entry {
    /// Returns the day of an entry of [`Index::days`].
    pub fn day(&self) -> Option<Date> {
        let number = self.key & ((1 << 48) - 1);
        let year = i16::try_from((number >> 9) as i64 - 10_000).ok()?;
        Date::new(year, (number >> 5 & 15) as i8, (number & 31) as i8).ok()
    }

    fn at(&self) -> (u64, &str) {
        (self.key, &self.file)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.at() == other.at()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        // Most files share a long beginning of their name, and most comparisons are of other keys.
        self.key.cmp(&other.key).then_with(|| match Arc::ptr_eq(&self.file, &other.file) {
            true => Ordering::Equal,
            false => self.file.cmp(&other.file),
        })
    }
}

impl Index {
    /// Builds an index of many cards at once.
    pub fn of<'a>(cards: impl Iterator<Item = &'a Card>) -> Index {
        Index::of_keys(vec![Keys::of(cards)])
    }

    /// Builds an index of the keys of cards; no file is among those of two.
    pub fn of_keys(keys: Vec<Keys>) -> Index {
        let together = |mut all: Vec<Entry>, mut more: Vec<Entry>| {
            all.append(&mut more);
            all
        };
        let mut entries = keys.into_iter().map(|keys| keys.0).reduce(together).unwrap_or_default();
        // Each part is in order: this sort sees that, and joins them.
        entries.sort();
        Index(Tree::of_sorted(entries))
    }

    /// Replaces a file's keys; what both cards hold alike is not touched.
    pub fn change(&mut self, old: Option<&Card>, new: Option<&Card>) {
        let old = old.map(entries_of).unwrap_or_default();
        let new = new.map(entries_of).unwrap_or_default();
        let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(gone), Some(come)) => gone.cmp(come),
            };
            let gone = if order.is_le() { old.next() } else { None };
            let come = if order.is_ge() { new.next() } else { None };
            match (gone, come) {
                (Some(gone), None) => self.0.remove(&gone),
                (Some(gone), Some(come)) if gone.count == come.count => {}
                (_, Some(come)) => self.0.insert(come),
                (None, None) => return,
            }
        }
    }

    /// Returns the files that may hold a key, in order.
    pub fn files<'a>(&'a self, key: &Key<'_>) -> impl Iterator<Item = &'a Entry> + Clone + use<'a> {
        let number = key.number();
        self.range(number..=number)
    }

    /// Returns how many nodes hold a key; of a day, see [`Index::days`].
    pub fn count(&self, key: &Key<'_>) -> usize {
        self.files(key).map(|entry| entry.count as usize).sum()
    }

    /// Returns the files that have something planned on a day between two, by day, then by file.
    pub fn days(&self, planning: Planning, first: Date, last: Date) -> impl Iterator<Item = &Entry> + Clone {
        self.range(day_number(planning, first)..=day_number(planning, last))
    }

    /// Returns the files that were changed between two moments, the latest first.
    pub fn changed(&self, from: jiff::Timestamp, to: jiff::Timestamp) -> impl Iterator<Item = &Entry> + Clone {
        self.range(time_number(to)..=time_number(from))
    }

    fn range(&self, keys: RangeInclusive<u64>) -> impl Iterator<Item = &Entry> + Clone {
        let (first, last) = keys.into_inner();
        self.0.from(move |entry| entry.key < first).take_while(move |entry| entry.key <= last)
    }
}

/// Returns the keys of one file, sorted, each once.
fn entries_of(card: &Card) -> Vec<Entry> {
    // Words stand in many nodes; their keys are worked out once a file, and only when they are wanted.
    let words: Vec<&str> = card.words().collect();
    let mut properties: Vec<Option<u64>> = vec![None; words.len()];
    let mut tags: Vec<Option<u64>> = vec![None; words.len()];
    let mut tagged: HashMap<u64, (u32, usize)> = HashMap::new();
    let mut keys: Vec<u64> = Vec::with_capacity(card.len() * 4);
    for index in 0..card.len() {
        node_keys(card, index, &mut keys);
        for (word, value) in card.property_words(index) {
            let Some((known, key)) = properties.get_mut(word as usize).zip(words.get(word as usize)) else { continue };
            keys.push(*known.get_or_insert_with(|| Key::Property(key).number()));
            // An id is found by its own key.
            if *key != "ID" {
                keys.push(Key::Value(key, value).number());
            }
        }
        for word in card.tag_words(index) {
            let Some((known, tag)) = tags.get_mut(*word as usize).zip(words.get(*word as usize)) else { continue };
            let key = *known.get_or_insert_with(|| Key::Tag(tag).number());
            // What stands in a subtree that has the tag already is counted with it.
            let (count, until) = tagged.entry(key).or_default();
            if index >= *until {
                *until = card.after(index);
                *count += (*until - index) as u32;
            }
        }
    }
    keys.extend(card.links().map(|(target, _)| Key::Link(target).number()));
    keys.extend(card.file_properties().map(|(key, _)| Key::FileProperty(key).number()));
    keys.extend(card.setups().map(|(path, _)| Key::Setup(path).number()));
    keys.extend(card.modified().map(time_number));
    keys.sort_unstable();
    let entry = |key: u64, count: u32| Entry { key, file: card.file.clone(), count };
    let mut entries: Vec<Entry> = Vec::with_capacity(keys.len() + tagged.len());
    entries.extend(keys.chunk_by(|a, b| a == b).filter_map(|run| Some(entry(*run.first()?, run.len() as u32))));
    entries.extend(tagged.into_iter().map(|(key, (count, _))| entry(key, count)));
    entries.sort_unstable();
    entries.dedup();
    entries
}

/// Adds what is not a word of the file: id, state, planning.
fn node_keys(card: &Card, index: usize, keys: &mut Vec<u64>) {
    if let Some(own) = card.own_id(index) {
        let numbered = card.suffix(index).map(|number| format!("{own}#{number}"));
        let id = numbered.as_deref().unwrap_or(own);
        if !card.derives(id) {
            keys.push(Key::Id(id).number());
        }
    }
    if let Some(keyword) = card.keyword(index) {
        keys.push(Key::Keyword(keyword.name).number());
        keys.push(if keyword.done { Key::Done } else { Key::Open }.number());
    }
    for planning in Planning::ALL {
        if let Some(day) = card.planned_day(index, planning) {
            keys.push(Key::Planned(planning).number());
            keys.push(day_number(planning, day));
        }
    }
}
