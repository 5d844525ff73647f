//! The structural index: which files hold an id, a tag, a keyword, a property, a planned day, a link, and how often.
//!
//! One sorted set of (key, file, count) serves all of them; a key is its kind and a fingerprint, or a number where the
//! order matters. What is found is compared with the card, so a fingerprint that two words share costs time, no truth.

use crate::domain::memory::card::{Card, Keyword, Planning, day_of, fingerprint, minute_of};
use crate::domain::memory::tree::{Iter, Tree, Weighed};
use jiff::civil::Date;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};
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
        let mut entries: Vec<Entry> = Vec::new();
        for card in cards {
            let entry = |(key, count): (u64, u32)| Entry { key, file: card.file.clone(), count };
            entries.extend(keys_of(card).into_iter().map(entry));
        }
        // Stable: where files come in order, as nearly always, their names need not be compared.
        entries.sort_by_key(|entry| entry.key);
        if !entries.is_sorted() {
            entries.sort();
        }
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
const TIMED: u64 = 13 << KIND;

impl Key<'_> {
    fn number(&self) -> u64 {
        match self {
            Key::Id(id) => hashed(ID, id),
            Key::Tag(tag) => hashed(TAG, &tag.to_lowercase()),
            Key::Keyword(keyword) => hashed(KEYWORD, keyword),
            Key::Open => STATE,
            Key::Done => STATE | 1,
            Key::Property(key) => hashed(PROPERTY, key),
            Key::Value(key, value) => hashed(VALUE, key) ^ shortened(value),
            Key::Planned(planning) => PLANNED | number_of(*planning),
            Key::Link(target) => hashed(LINK, target),
            Key::FileProperty(key) => hashed(FILE_PROPERTY, key),
            Key::Setup(path) => hashed(SETUP, path),
        }
    }
}

fn hashed(kind: u64, text: &str) -> u64 {
    kind | shortened(text)
}

fn shortened(text: &str) -> u64 {
    fingerprint(text) >> (64 - KIND)
}

fn number_of(planning: Planning) -> u64 {
    match planning {
        Planning::Scheduled => 0,
        Planning::Deadline => 1,
        Planning::Closed => 2,
    }
}

fn day_number(planning: Planning, day: Date) -> u64 {
    DAY | number_of(planning) << 48 | number_of_day(day)
}

/// Of what is planned at a time of day, that comes behind the day.
fn timed_number(planning: Planning, day: Date, minute: u16) -> u64 {
    TIMED | number_of(planning) << 48 | number_of_day(day) << MINUTE | u64::from(minute)
}

fn number_of_day(day: Date) -> u64 {
    let (year, month) = (i64::from(day.year()) + 10_000, i64::from(day.month()));
    ((year << 4 | month) << 5 | i64::from(day.day())) as u64
}

/// A day has 1,440 minutes, which are numbered with so many bits.
const MINUTE: u32 = 11;
const LAST_MINUTE: u16 = (1 << MINUTE) - 1;

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
        Entry::day_of_number(self.key & ((1 << 48) - 1))
    }

    /// Returns day and minute of an entry of [`Index::timed`].
    pub fn day_and_minute(&self) -> Option<(Date, u16)> {
        let number = self.key & ((1 << 48) - 1);
        Some((Entry::day_of_number(number >> MINUTE)?, number as u16 & LAST_MINUTE))
    }

    fn day_of_number(number: u64) -> Option<Date> {
        let year = i16::try_from((number >> 9) as i64 - 10_000).ok()?;
        Date::new(year, (number >> 5 & 15) as i8, (number & 31) as i8).ok()
    }

    fn at(&self) -> (u64, &str) {
        (self.key, &self.file)
    }
}

impl Weighed for Entry {
    fn weight(&self) -> usize {
        self.count as usize
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
    /// Builds an index of many cards at once, which come in the order of their files.
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
        let Some(file) = new.or(old).map(|card| card.file.clone()) else { return };
        let (old, new) = match (old, new) {
            // Text that was typed below headings, as nearly always.
            (Some(old), Some(new)) if new.says_the_same(old) => {
                (times_of(old).into_iter().collect(), times_of(new).into_iter().collect())
            }
            (old, new) => (old.map(keys_of).unwrap_or_default(), new.map(keys_of).unwrap_or_default()),
        };
        let entry = |(key, count): (u64, u32)| Entry { key, file: file.clone(), count };
        let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((gone, _)), Some((come, _))) => gone.cmp(come),
            };
            let gone = if order.is_le() { old.next() } else { None };
            let come = if order.is_ge() { new.next() } else { None };
            match (gone, come) {
                (Some(gone), None) => self.0.remove(&entry(gone)),
                (Some(gone), Some(come)) if gone == come => {}
                (_, Some(come)) => self.0.insert(entry(come)),
                (None, None) => return,
            }
        }
    }

    /// Returns the files that may hold a key, in order.
    pub fn files<'a>(&'a self, key: &Key<'_>) -> impl Iterator<Item = &'a Entry> + Clone + use<'a> {
        let number = key.number();
        self.range(number..=number)
    }

    /// Returns how many nodes hold a key, without looking at the files that do; of days, see [`Index::count_days`].
    pub fn count(&self, key: &Key<'_>) -> usize {
        let number = key.number();
        self.count_range(number..=number)
    }

    /// Returns how many nodes have something planned on a day between two.
    pub fn count_days(&self, planning: Planning, first: Date, last: Date) -> usize {
        self.count_range(day_number(planning, first)..=day_number(planning, last))
    }

    fn count_range(&self, keys: RangeInclusive<u64>) -> usize {
        let (first, last) = keys.into_inner();
        self.0.weight(|entry| entry.key <= last).saturating_sub(self.0.weight(|entry| entry.key < first))
    }

    /// Returns the files that have something planned on a day between two, by day, then by file.
    pub fn days(&self, planning: Planning, first: Date, last: Date) -> impl Iterator<Item = &Entry> + Clone {
        self.range(day_number(planning, first)..=day_number(planning, last))
    }

    /// Returns the files that have something planned at a time of a day between two, by day and time, then by file.
    pub fn timed(&self, planning: Planning, first: Date, last: Date) -> impl Iterator<Item = &Entry> + Clone {
        self.range(timed_number(planning, first, 0)..=timed_number(planning, last, LAST_MINUTE))
    }

    /// Returns the files that were changed between two moments, the latest first.
    pub fn changed(&self, from: jiff::Timestamp, to: jiff::Timestamp) -> impl Iterator<Item = &Entry> + Clone {
        self.range(time_number(to)..=time_number(from))
    }

    /// Returns the files that have something planned on a day between two, each once, in order.
    ///
    /// Nothing when there are more than so many days on which something is planned: they are merged, not collected, so
    /// that whoever wants ten files pays for about ten and for each day once.
    pub fn planned_files(&self, planning: Planning, first: Date, last: Date, most: usize) -> Option<Merged<'_>> {
        let (mut next, end) = (day_number(planning, first), day_number(planning, last));
        let mut merged = Merged { days: Vec::new(), first: BinaryHeap::new(), last: None };
        while next <= end {
            let mut day = self.0.from(|entry| entry.key < next);
            let Some(entry) = day.next().filter(|entry| entry.key <= end) else { break };
            if merged.days.len() == most {
                return None;
            }
            merged.first.push(Reverse((&entry.file, merged.days.len())));
            merged.days.push((entry.key, day));
            next = entry.key + 1;
        }
        Some(merged)
    }

    fn range(&self, keys: RangeInclusive<u64>) -> impl Iterator<Item = &Entry> + Clone {
        let (first, last) = keys.into_inner();
        self.0.from(move |entry| entry.key < first).take_while(move |entry| entry.key <= last)
    }
}

/// The files of several days, in order, each once.
pub struct Merged<'a> {
    /// What is left of each day, with its key.
    days: Vec<(u64, Iter<'a, Entry>)>,
    /// The first file that is left of each.
    first: BinaryHeap<Reverse<(&'a Arc<str>, usize)>>,
    last: Option<&'a Arc<str>>,
}

impl<'a> Iterator for Merged<'a> {
    type Item = &'a Arc<str>;

    fn next(&mut self) -> Option<&'a Arc<str>> {
        loop {
            let Reverse((file, index)) = self.first.pop()?;
            if let Some((key, day)) = self.days.get_mut(index)
                && let Some(entry) = day.next().filter(|entry| entry.key == *key)
            {
                self.first.push(Reverse((&entry.file, index)));
            }
            if self.last != Some(file) {
                self.last = Some(file);
                return Some(file);
            }
        }
    }
}

/// The nodes of one file that have a tag.
struct Tagged {
    key: u64,
    count: u32,
    /// Where the last subtree ends that has it.
    until: usize,
}

/// Returns the keys that a heading with a keyword has.
fn keyword_keys(keyword: Keyword<'_>) -> [u64; 2] {
    [Key::Keyword(keyword.name).number(), if keyword.done { Key::Done } else { Key::Open }.number()]
}

/// Returns the key of a file's time alone.
fn times_of(card: &Card) -> Option<(u64, u32)> {
    card.modified().map(|time| (time_number(time), 1))
}

/// Returns the keys of one file, sorted, each once, with how many nodes hold it.
fn keys_of(card: &Card) -> Vec<(u64, u32)> {
    // Words stand in many nodes; their keys are worked out once a file, and only when they are wanted.
    let words: Vec<&str> = card.words().collect();
    let id_word = words.iter().position(|word| *word == "ID").map(|word| word as u32);
    let mut properties: Vec<Option<(u64, u64)>> = vec![None; words.len()];
    // Tags that differ in case alone have one key; what each word has is looked up once.
    let mut groups: Vec<Tagged> = Vec::new();
    let mut group_of_key: HashMap<u64, usize> = HashMap::new();
    let mut group_of_word: Vec<Option<usize>> = vec![None; words.len()];
    let keywords: Vec<[u64; 2]> = card.keywords().map(keyword_keys).collect();
    let mut keys: Vec<u64> = Vec::with_capacity(card.len() * 4);
    for index in 0..card.len() {
        keys.extend(card.keyword_place(index).and_then(|place| keywords.get(place)).into_iter().flatten());
        let mut own_id = None;
        // The first of each kind counts, and none has a second.
        for (what, value) in card.stamps_and_words(index) {
            match what {
                Ok(planning) => {
                    if let Some(day) = day_of(value) {
                        keys.extend([Key::Planned(planning).number(), day_number(planning, day)]);
                        keys.extend(minute_of(value).map(|minute| timed_number(planning, day, minute)));
                    }
                }
                Err(word) => {
                    let Some((known, key)) = properties.get_mut(word as usize).zip(words.get(word as usize)) else {
                        continue;
                    };
                    let (number, values) =
                        *known.get_or_insert_with(|| (Key::Property(key).number(), hashed(VALUE, key)));
                    keys.push(number);
                    // An id is found by its own key.
                    if Some(word) == id_word {
                        own_id = Some(value.trim());
                    } else {
                        keys.push(values ^ shortened(value));
                    }
                }
            }
        }
        if let Some(own) = own_id.filter(|own| !own.is_empty()) {
            let numbered = card.suffix(index).map(|number| format!("{own}#{number}"));
            let id = numbered.as_deref().unwrap_or(own);
            if !card.derives(id) {
                keys.push(Key::Id(id).number());
            }
        }
        for word in card.tag_words(index) {
            let Some((known, tag)) = group_of_word.get_mut(*word as usize).zip(words.get(*word as usize)) else {
                continue;
            };
            let group = *known.get_or_insert_with(|| {
                let key = Key::Tag(tag).number();
                *group_of_key.entry(key).or_insert_with(|| {
                    groups.push(Tagged { key, count: 0, until: 0 });
                    groups.len() - 1
                })
            });
            // What stands in a subtree that has the tag already is counted with it.
            if let Some(tagged) = groups.get_mut(group).filter(|tagged| index >= tagged.until) {
                tagged.until = card.after(index);
                tagged.count += (tagged.until - index) as u32;
            }
        }
    }
    keys.extend(card.links().map(|(target, _)| Key::Link(target).number()));
    keys.extend(card.file_properties().map(|(key, _)| Key::FileProperty(key).number()));
    keys.extend(card.setups().map(|(path, _)| Key::Setup(path).number()));
    keys.sort_unstable();
    groups.sort_unstable_by_key(|tagged| tagged.key);
    // Each kind by itself is in order, and the kinds are numbered.
    let (before, behind) = keys.split_at(keys.partition_point(|key| *key < TAG));
    let runs = |keys: &[u64], found: &mut Vec<(u64, u32)>| {
        found.extend(keys.chunk_by(|a, b| a == b).filter_map(|run| Some((*run.first()?, run.len() as u32))));
    };
    let mut found: Vec<(u64, u32)> = Vec::with_capacity(keys.len() + groups.len() + 1);
    runs(before, &mut found);
    found.extend(groups.iter().map(|tagged| (tagged.key, tagged.count)));
    runs(behind, &mut found);
    if let Some(time) = times_of(card) {
        found.insert(found.partition_point(|known| *known < time), time);
    }
    found
}
