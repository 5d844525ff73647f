//! A card ↔ bytes, as a store keeps it: numbers in little-endian order behind their counts, and a sum over all.

use super::{Card, Entry, Place, Slot};
use crate::domain::hash::ContentHasher;
use crate::domain::id::ObjectHash;
use std::sync::Arc;

/// The version of cards: what was written with another one is made anew of its text.
pub const VERSION: u32 = 2;

/// How many numbers a slot is written as.
const SLOT: usize = 10;

impl Card {
    /// Returns the card as bytes; the time of the file's last change is not part of it.
    pub fn encode(&self) -> Vec<u8> {
        let mut numbers: Vec<u32> = vec![u32::from(self.notes) | u32::from(self.titled) << 1];
        let counts = [
            self.slots.len(),
            self.tags.len(),
            self.entries.len(),
            self.words.len(),
            self.keywords.len(),
            self.places.len(),
            self.suffixes.len(),
            self.links.len(),
        ];
        numbers.extend(counts.map(|count| count as u32));
        numbers.extend(self.slots.iter().flat_map(|slot| slot.numbers()));
        numbers.extend(&self.tags);
        numbers.extend(self.entries.iter().flat_map(|entry| [entry.key, entry.value]));
        numbers.extend(&self.words);
        numbers.extend(&self.keywords);
        numbers.extend(self.places.iter().flat_map(|place| [place.print, place.node]));
        numbers.extend(self.suffixes.iter().chain(&self.links).flat_map(|(a, b)| [*a, *b]));
        let mut bytes = Vec::with_capacity(32 + numbers.len() * 4 + self.arena.len());
        bytes.extend_from_slice(&[0; 32]);
        bytes.extend(numbers.into_iter().flat_map(u32::to_le_bytes));
        bytes.extend_from_slice(self.arena.as_bytes());
        let sum = sum(&self.file, self.root, bytes.get(32..).unwrap_or_default());
        bytes.iter_mut().zip(sum).for_each(|(to, from)| *to = from);
        bytes
    }

    /// Reads a card; `None` when the bytes are not exactly what was written for this file and content.
    pub fn decode(file: Arc<str>, root: ObjectHash, modified: Option<jiff::Timestamp>, bytes: &[u8]) -> Option<Card> {
        let (known, rest) = bytes.split_first_chunk::<32>()?;
        if sum(&file, root, rest) != *known {
            return None;
        }
        let mut reader = Reader(rest);
        let flags = reader.number()?;
        let counts: Vec<usize> = reader.numbers(8)?.into_iter().map(|count| count as usize).collect();
        let [slots, tags, entries, words, keywords, places, suffixes, links] = *counts.as_slice() else { return None };
        let slots = reader.numbers(slots.checked_mul(SLOT)?)?;
        let slots: Box<[Slot]> = slots.as_chunks::<SLOT>().0.iter().map(Slot::of).collect();
        let tags = reader.numbers(tags)?.into();
        let entries = reader.pairs(entries)?.into_iter().map(|(key, value)| Entry { key, value }).collect();
        let words = reader.numbers(words)?.into();
        let keywords = reader.numbers(keywords)?.into();
        let places = reader.pairs(places)?.into_iter().map(|(print, node)| Place { print, node }).collect();
        let suffixes = reader.pairs(suffixes)?.into();
        let links = reader.pairs(links)?.into();
        let arena = std::str::from_utf8(reader.0).ok()?.into();
        let (notes, titled) = (flags & 1 != 0, flags & 2 != 0);
        let card = Card {
            file,
            root,
            modified,
            notes,
            titled,
            slots,
            tags,
            entries,
            words,
            keywords,
            places,
            suffixes,
            links,
            arena,
        };
        (!card.is_empty()).then_some(card)
    }
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

    fn pairs(&mut self, count: usize) -> Option<Vec<(u32, u32)>> {
        let numbers = self.numbers(count.checked_mul(2)?)?;
        Some(numbers.as_chunks::<2>().0.iter().map(|[a, b]| (*a, *b)).collect())
    }
}

fn sum(file: &str, root: ObjectHash, bytes: &[u8]) -> [u8; 32] {
    let mut hasher = ContentHasher::new("card");
    hasher.number(u64::from(VERSION)).text(file).bytes(root.as_bytes()).bytes(bytes).finish()
}
