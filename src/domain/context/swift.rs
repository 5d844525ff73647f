//! A hash map for words: quick, and seeded anew for each map, so that no text can be written to make it slow.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

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

impl Hasher for SwiftHasher {
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
    fn words_fall_apart() {
        let swift = Swift::default();
        let seen: std::collections::HashSet<u64> =
            (0..100_000).map(|n| swift.hash_one(format!("word{n}").as_str())).collect();
        assert_eq!(seen.len(), 100_000);
        assert_eq!(swift.hash_one("word"), swift.hash_one(Box::<str>::from("word")));
        assert_ne!(Swift::default().hash_one("word"), swift.hash_one("word"), "two maps have two seeds");
    }
}
