//! A card ↔ bytes, as a store keeps it: numbers in little-endian order behind their counts, and a sum over all.
//!
//! All of it can be made anew of the text but the names that headings keep. These stand in front with a sum of their
//! own, so that a card of another version, or of another shape, still gives them back.

use super::{Card, Entry, Place, Slot};
use crate::domain::hash::ContentHasher;
use crate::domain::id::ObjectHash;
use crate::domain::memory::names::Kept;
use std::sync::Arc;

/// The version of cards: what was written with another one is made anew of its text.
pub const VERSION: u32 = 7;

/// The version of the names in front of it. Another one is no card at all: it must be read here as well.
const NAMES: u64 = 1;
/// The first number of a card that has names in front; before, a card began with its sum.
const MARK: &[u8; 8] = b"ppnames1";

/// Paths that nodes keep, and numbers behind ids that would stand twice.
pub type KeptNames = (Vec<Kept>, Vec<(u32, u32)>);

/// How many numbers a slot is written as.
const SLOT: usize = 10;

impl Card {
    /// Returns the card as bytes; the time of the file's last change is not part of it.
    pub fn encode(&self) -> Vec<u8> {
        let mut numbers: Vec<u32> =
            vec![u32::from(self.notes) | u32::from(self.titled) << 1 | u32::from(self.holds) << 2];
        let counts = [
            self.slots.len(),
            self.tags.len(),
            self.entries.len(),
            self.words.len(),
            self.keywords.len(),
            self.places.len(),
            self.links.len(),
            self.file_properties.len(),
            self.setups.len(),
        ];
        numbers.extend(counts.map(|count| count as u32));
        numbers.extend(self.slots.iter().flat_map(|slot| slot.numbers()));
        numbers.extend(&self.tags);
        numbers.extend(self.entries.iter().flat_map(|entry| [entry.key, entry.value]));
        numbers.extend(&self.words);
        numbers.extend(&self.keywords);
        numbers.extend(self.places.iter().flat_map(|place| [place.print, place.node]));
        numbers.extend(self.links.iter().chain(&self.file_properties).flat_map(|(a, b)| [*a, *b]));
        for (path, hash) in &self.setups {
            numbers.extend([*path, u32::from(hash.is_some())]);
            let bytes = hash.map_or([0; 32], |hash| *hash.as_bytes());
            numbers.extend(bytes.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)));
        }
        let names = self.encode_names();
        let mut bytes = Vec::with_capacity(names.len() + 32 + numbers.len() * 4 + self.arena.len());
        bytes.extend_from_slice(&names);
        let at = bytes.len();
        bytes.extend_from_slice(&[0; 32]);
        bytes.extend(numbers.into_iter().flat_map(u32::to_le_bytes));
        bytes.extend_from_slice(self.arena.as_bytes());
        let sum = sum(&self.file, self.root, &names, bytes.get(at + 32..).unwrap_or_default());
        bytes.iter_mut().skip(at).zip(sum).for_each(|(to, from)| *to = from);
        bytes
    }

    fn encode_names(&self) -> Vec<u8> {
        let mut body: Vec<u8> = Vec::new();
        let mut number = |number: usize| body.extend((number as u32).to_le_bytes());
        number(self.suffixes.len());
        number(self.kept.len());
        for (node, suffix) in &self.suffixes {
            number(*node as usize);
            number(*suffix as usize);
        }
        for (node, path) in &self.kept {
            number(*node as usize);
            number(path.len());
        }
        self.kept.iter().for_each(|(_, path)| body.extend(path.bytes()));
        let sum = sum_of_names(&self.file, self.root, &body);
        [&MARK[..], &(body.len() as u32).to_le_bytes(), &sum, &body].concat()
    }

    /// Reads the names that headings keep from a card of this file and content, whatever its version and shape.
    pub fn decode_names(file: &str, root: ObjectHash, bytes: &[u8]) -> Option<KeptNames> {
        split_names(file, root, bytes).map(|(names, _)| names)
    }

    /// Reads a card; `None` when the bytes are not exactly what was written for this file and content.
    pub fn decode(file: Arc<str>, root: ObjectHash, modified: Option<jiff::Timestamp>, bytes: &[u8]) -> Option<Card> {
        let ((kept, suffixes), rest) = split_names(&file, root, bytes)?;
        let names = bytes.get(..bytes.len() - rest.len())?;
        let (known, rest) = rest.split_first_chunk::<32>()?;
        if sum(&file, root, names, rest) != *known {
            return None;
        }
        let mut reader = Reader(rest);
        let flags = reader.number()?;
        let counts: Vec<usize> = reader.numbers(9)?.into_iter().map(|count| count as usize).collect();
        let [slots, tags, entries, words, keywords, places, links, globals, setups] = *counts.as_slice() else {
            return None;
        };
        let slots = reader.numbers(slots.checked_mul(SLOT)?)?;
        let slots: Box<[Slot]> = slots.as_chunks::<SLOT>().0.iter().map(Slot::of).collect();
        let tags = reader.numbers(tags)?.into();
        let entries = reader.pairs(entries)?.into_iter().map(|(key, value)| Entry { key, value }).collect();
        let words = reader.numbers(words)?.into();
        let keywords = reader.numbers(keywords)?.into();
        let places = reader.pairs(places)?.into_iter().map(|(print, node)| Place { print, node }).collect();
        let links = reader.pairs(links)?.into();
        let file_properties = reader.pairs(globals)?.into();
        let setups = (0..setups).map(|_| reader.setup()).collect::<Option<_>>()?;
        let arena = std::str::from_utf8(reader.0).ok()?.into();
        let (notes, titled, holds) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
        let (suffixes, kept) = (suffixes.into(), kept.into());
        let card = Card {
            file,
            root,
            modified,
            notes,
            titled,
            holds,
            slots,
            tags,
            entries,
            words,
            keywords,
            places,
            suffixes,
            kept,
            links,
            file_properties,
            setups,
            arena,
        };
        (!card.is_empty()).then_some(card)
    }
}

/// Reads the names in front of a card; returns also what stands behind them.
fn split_names<'a>(file: &str, root: ObjectHash, bytes: &'a [u8]) -> Option<(KeptNames, &'a [u8])> {
    let mut reader = Reader(bytes.strip_prefix(MARK)?);
    let length = reader.number()? as usize;
    let (known, rest) = reader.0.split_first_chunk::<32>()?;
    let (body, rest) = rest.split_at_checked(length)?;
    if sum_of_names(file, root, body) != *known {
        return None;
    }
    let mut reader = Reader(body);
    let (suffixes, kept) = (reader.number()? as usize, reader.number()? as usize);
    let suffixes = reader.pairs(suffixes)?;
    let mut names: Vec<Kept> = Vec::new();
    let lengths = reader.pairs(kept)?;
    let mut text = std::str::from_utf8(reader.0).ok()?;
    for (node, length) in lengths {
        let (path, rest) = text.split_at_checked(length as usize)?;
        names.push((node, path.into()));
        text = rest;
    }
    text.is_empty().then_some(((names, suffixes), rest))
}

impl Slot {
    fn numbers(&self) -> [u32; SLOT] {
        let state = u32::from(self.level) | u32::from(self.keyword) << 16;
        let Slot { begin, body, line, parent, after, title, tags, entries, mark, .. } = *self;
        [begin, body, line, parent, after, title, tags, entries, state, mark]
    }

    fn of(numbers: &[u32; SLOT]) -> Slot {
        let [begin, body, line, parent, after, title, tags, entries, state, mark] = *numbers;
        let (level, keyword) = (state as u16, (state >> 16) as u16);
        Slot { begin, body, line, parent, after, title, tags, entries, level, keyword, mark }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*first))
    }

    fn numbers(&mut self, count: usize) -> Option<Vec<u32>> {
        let (here, rest) = self.0.split_at_checked(count.checked_mul(4)?)?;
        self.0 = rest;
        Some(here.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
    }

    fn setup(&mut self) -> Option<(u32, Option<ObjectHash>)> {
        let (path, read) = (self.number()?, self.number()?);
        let (hash, rest) = self.0.split_first_chunk::<32>()?;
        self.0 = rest;
        Some((path, (read != 0).then(|| ObjectHash::new(*hash))))
    }

    fn pairs(&mut self, count: usize) -> Option<Vec<(u32, u32)>> {
        let numbers = self.numbers(count.checked_mul(2)?)?;
        Some(numbers.as_chunks::<2>().0.iter().map(|[a, b]| (*a, *b)).collect())
    }
}

fn sum(file: &str, root: ObjectHash, names: &[u8], bytes: &[u8]) -> [u8; 32] {
    let mut hasher = ContentHasher::new("card");
    hasher.number(u64::from(VERSION)).text(file).bytes(root.as_bytes()).bytes(names).bytes(bytes).finish()
}

fn sum_of_names(file: &str, root: ObjectHash, bytes: &[u8]) -> [u8; 32] {
    let mut hasher = ContentHasher::new("names of a card");
    hasher.number(NAMES).text(file).bytes(root.as_bytes()).bytes(bytes).finish()
}
