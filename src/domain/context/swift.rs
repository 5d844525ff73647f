//! A hash map for words: quick, and seeded anew for each map, so that no text can be written to make it slow.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

/// A map whose keys are hashed quickly.
pub type SwiftMap<K, V> = HashMap<K, V, Swift>;

/// Makes hashers of one seed.
#[derive(Clone)]
pub struct Swift(u64);

impl Default for Swift {
    fn default() -> Self {
        Swift(RandomState::new().hash_one(0u8))
    }
}

impl BuildHasher for Swift {
    type Hasher = SwiftHasher;

    fn build_hasher(&self) -> SwiftHasher {
        SwiftHasher(self.0)
    }
}

/// Folds eight bytes at a time into a product of 128 bits.
pub struct SwiftHasher(u64);

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// A map of words to something small. Words of up to fifteen bytes, as nearly all are, lie in the table itself.
pub struct WordMap<V> {
    short: SwiftMap<Short, V>,
    long: SwiftMap<Box<str>, V>,
}

impl<V> Default for WordMap<V> {
    fn default() -> Self {
        WordMap { short: SwiftMap::default(), long: SwiftMap::default() }
    }
}

impl<V: Copy> WordMap<V> {
    /// Returns what stands under a word.
    pub fn get(&self, word: &str) -> Option<V> {
        match Short::of(word) {
            Some(short) => self.short.get(&short).copied(),
            None => self.long.get(word).copied(),
        }
    }

    /// Puts something under a word.
    pub fn insert(&mut self, word: &str, value: V) {
        match Short::of(word) {
            Some(short) => self.short.insert(short, value),
            None => self.long.insert(Box::from(word), value),
        };
    }

    /// Returns how many words there are.
    pub fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A word of at most fifteen bytes: those, and how many they are.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Short([u64; 2]);

impl Short {
    fn of(word: &str) -> Option<Short> {
        let mut all = [0u8; 16];
        let length = word.len();
        all.get_mut(..length).filter(|_| length < 16)?.copy_from_slice(word.as_bytes());
        all[15] = length as u8;
        let number = u128::from_le_bytes(all);
        Some(Short([number as u64, (number >> 64) as u64]))
    }
}

impl Hash for Short {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0[0]);
        state.write_u64(self.0[1]);
    }
}

impl Hasher for SwiftHasher {
    fn write_u64(&mut self, number: u64) {
        self.0 = fold(self.0 ^ number, ODD);
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
            self.0 = fold(self.0 ^ word, ODD);
        }
        let mut last = [0u8; 8];
        let rest = words.remainder();
        last[..rest.len()].copy_from_slice(rest);
        self.0 = fold(self.0 ^ u64::from_le_bytes(last), ODD ^ bytes.len() as u64);
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u8(&mut self, byte: u8) {
        self.0 ^= u64::from(byte);
    }

    fn finish(&self) -> u64 {
        fold(self.0, ODD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_apart() {
        let mut words = WordMap::default();
        let all: Vec<String> = (0..20_000usize).map(|n| format!("{n}{}", "x".repeat(n % 40))).collect();
        let odd = ["", "a", "a\0", "\0", "fifteen bytes !", "sixteen bytes !!", "漢字", "漢"];
        for (number, word) in all.iter().map(String::as_str).chain(odd).enumerate() {
            assert_eq!(words.get(word), None, "{word:?}");
            words.insert(word, number);
        }
        for (number, word) in all.iter().map(String::as_str).chain(odd).enumerate() {
            assert_eq!(words.get(word), Some(number), "{word:?}");
        }
        assert_eq!(words.len(), all.len() + odd.len());
    }

    #[test]
    fn words_fall_apart() {
        let swift = Swift::default();
        let seen: std::collections::HashSet<u64> =
            (0..100_000).map(|n| swift.hash_one(format!("word{n}").as_str())).collect();
        assert_eq!(seen.len(), 100_000);
        assert_eq!(swift.hash_one("word"), swift.hash_one(Box::<str>::from("word")));
        assert_ne!(Swift::default().hash_one("word"), swift.hash_one("word"), "two maps have two seeds");
    }
}
