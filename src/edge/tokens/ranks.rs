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
}

impl Ranks {
    /// Reads them from a vocabulary.
    pub fn of(vocabulary: &CoreBPE) -> Ranks {
        let mut ranks = Ranks { slots: vec![EMPTY; SLOTS].into_boxed_slice(), hasher: Swift::default() };
        for rank in 0..MOST {
            let Ok(bytes) = vocabulary.decode_bytes(&[rank]) else { continue };
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
        let mut begins: Vec<usize> = (0..=run.len()).collect();
        let joined = |begins: &[usize], at: usize| match (begins.get(at), begins.get(at + 2)) {
            (Some(begin), Some(end)) => run.get(*begin..*end).map_or(NONE, |bytes| self.rank(bytes)),
            _ => NONE,
        };
        let mut ranks: Vec<u32> = (0..run.len()).map(|at| joined(&begins, at)).collect();
        while let Some((at, rank)) = ranks.iter().copied().enumerate().min_by_key(|(_, rank)| *rank) {
            if rank == NONE {
                break;
            }
            begins.remove(at + 1);
            ranks.remove(at + 1);
            for changed in at.saturating_sub(1)..=at {
                if let Some(rank) = ranks.get_mut(changed) {
                    *rank = joined(&begins, changed);
                }
            }
        }
        Some(ranks.len() as u32)
    }
}
