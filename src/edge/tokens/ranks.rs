//! How many tokens a run of bytes is joined to, by the ranks of a vocabulary.
//!
//! Byte-pair encoding joins, again and again, the two neighbours whose joined bytes have the lowest rank, the first of
//! several. What `tiktoken-rs` does with a map of vectors is done here with words that lie in the table itself, since a
//! question's time is that of the words that it meets for the first time.

use crate::domain::context::swift::Swift;
use std::hash::BuildHasher;
use tiktoken_rs::CoreBPE;

/// Runs of more bytes are left to the encoder of the vocabulary: here time grows with the square of the length.
pub const LONGEST_RUN: usize = 96;
/// There are no more tokens of o200k.
const MOST: u32 = 200_000;
/// Slots of the table, two or three for each token, so that most that is no token meets an empty one at once.
const SLOTS: usize = 1 << 19;
/// How many bits of a slot are the rank.
const RANK_BITS: u32 = 18;
const EMPTY: u64 = u64::MAX;
/// No two neighbours are joined.
const NONE: u32 = u32::MAX;

/// Which bytes are a token, and how early they are joined: 4 MB, one word of memory a token, since what looking up costs
/// is fetching it. A slot holds the rank and 46 bits of a hash; one run in many millions of millions may be miscounted.
pub struct Ranks {
    slots: Box<[u64]>,
    hasher: Swift,
    /// The ranks of any two bytes, which every run is looked up by first; they are few enough to stay at hand.
    pairs: Box<[u32]>,
}

impl Ranks {
    /// Reads them from a vocabulary.
    pub fn of(vocabulary: &CoreBPE) -> Ranks {
        let (slots, pairs) = (vec![EMPTY; SLOTS].into_boxed_slice(), vec![NONE; 1 << 16].into_boxed_slice());
        let mut ranks = Ranks { slots, hasher: Swift::default(), pairs };
        for rank in 0..MOST {
            let Ok(bytes) = vocabulary.decode_bytes(&[rank]) else { continue };
            if let [one, two] = bytes.as_slice()
                && let Some(pair) = ranks.pairs.get_mut(pair(*one, *two))
            {
                *pair = rank;
                continue;
            }
            let (first, tag) = ranks.place(&bytes);
            let mut free = (first..first + SLOTS).map(|slot| slot % SLOTS);
            if let Some(slot) = free.find(|slot| ranks.slots[*slot] == EMPTY) {
                ranks.slots[slot] = tag << RANK_BITS | u64::from(rank);
            }
        }
        ranks
    }

    /// Returns the slot where bytes would stand, or behind which, and their tag there.
    fn place(&self, bytes: &[u8]) -> (usize, u64) {
        let hash = self.hasher.hash_one(bytes);
        (hash as usize % SLOTS, hash >> RANK_BITS)
    }

    fn rank(&self, bytes: &[u8]) -> u32 {
        if let [one, two] = bytes {
            return self.pairs.get(pair(*one, *two)).copied().unwrap_or(NONE);
        }
        let (first, tag) = self.place(bytes);
        for slot in first..first + SLOTS {
            match self.slots[slot % SLOTS] {
                EMPTY => return NONE,
                known if known >> RANK_BITS == tag => return (known & ((1 << RANK_BITS) - 1)) as u32,
                _ => {}
            }
        }
        NONE
    }

    /// Returns how many tokens a run becomes, or `None` where it is longer than [`LONGEST_RUN`].
    pub fn tokens_of(&self, run: &str) -> Option<u32> {
        let run = run.as_bytes();
        if run.len() > LONGEST_RUN {
            return None;
        }
        if run.len() < 2 || self.rank(run) != NONE {
            return Some(run.len().min(1) as u32);
        }
        // Where each part begins, the end of the last one behind them, and the rank of a part joined with the next.
        let (mut begins, mut ranks) = ([0u8; LONGEST_RUN + 1], [NONE; LONGEST_RUN]);
        begins.iter_mut().zip(0..).for_each(|(begin, at)| *begin = at);
        let joined = |begins: &[u8], at: usize| match (begins.get(at), begins.get(at + 2)) {
            (Some(begin), Some(end)) => {
                run.get(usize::from(*begin)..usize::from(*end)).map_or(NONE, |bytes| self.rank(bytes))
            }
            _ => NONE,
        };
        for (rank, two) in ranks.iter_mut().zip(run.windows(2)) {
            *rank = self.rank(two);
        }
        let mut parts = run.len();
        while let Some((at, rank)) = least(ranks.get(..parts).unwrap_or_default())
            && rank != NONE
        {
            // Nothing is joined with the last part, so there are two parts at least from here on.
            begins.copy_within(at + 2..=parts, at + 1);
            ranks.copy_within(at + 2..parts, at + 1);
            parts -= 1;
            let standing = begins.get(..=parts).unwrap_or_default();
            for changed in at.saturating_sub(1)..=at {
                if let Some(rank) = ranks.get_mut(changed) {
                    *rank = joined(standing, changed);
                }
            }
        }
        Some(parts as u32)
    }
}

/// Returns the place of two bytes in the table of pairs.
fn pair(one: u8, two: u8) -> usize {
    usize::from(one) << 8 | usize::from(two)
}

/// Returns the least of some ranks and where it stands, the first of several. In two passes, since finding how small it
/// is takes many at a time.
fn least(ranks: &[u32]) -> Option<(usize, u32)> {
    let least = ranks.iter().copied().min()?;
    ranks.iter().position(|rank| *rank == least).map(|at| (at, least))
}
