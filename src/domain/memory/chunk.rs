//! Cuts a text into pieces where its content says, so that an edit changes one or two of them.

use crate::domain::hash::ContentHasher;
use crate::domain::id::ObjectHash;

/// No piece but the last is shorter, in bytes.
pub const MIN_CHUNK: usize = 2 * 1024;
/// No piece is longer, in bytes.
pub const MAX_CHUNK: usize = 32 * 1024;
/// Beyond the minimum one byte in this many ends a piece.
const MASK: u64 = (4 * 1024 - 1) << 20;

/// Cuts bytes into pieces; together they are the bytes again. The empty text has no pieces.
pub fn chunks(bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::with_capacity(bytes.len() / (MIN_CHUNK * 2) + 1);
    let mut rest = bytes;
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(cut(rest));
        found.push(chunk);
        rest = behind;
    }
    found
}

/// Returns the name of a piece.
pub fn name_of(chunk: &[u8]) -> ObjectHash {
    ObjectHash::new(ContentHasher::new("chunk").bytes(chunk).finish())
}

/// A rolling hash over about the last 64 bytes decides; it knows nothing of what lies further back.
fn cut(bytes: &[u8]) -> usize {
    let limit = bytes.len().min(MAX_CHUNK);
    let mut gear: u64 = 0;
    for (at, byte) in bytes.iter().enumerate().take(limit).skip(MIN_CHUNK.saturating_sub(64)) {
        gear = (gear << 1).wrapping_add(GEAR[*byte as usize]);
        if at >= MIN_CHUNK && gear & MASK == 0 {
            return at + 1;
        }
    }
    limit
}

/// One fixed random number for each byte: the numbers may never change, or every stored text is cut anew.
static GEAR: [u64; 256] = gear();

const fn gear() -> [u64; 256] {
    let mut table = [0; 256];
    let mut state: u64 = 0x5041_5353_4550_4152;
    let mut at = 0;
    while at < 256 {
        // SplitMix64, written from its published constants.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        table[at] = z ^ (z >> 31);
        at += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn text(lines: usize) -> Vec<u8> {
        (0..lines).flat_map(|n| format!("* Heading {n} {}\nSome words.\n", n * 7919 % 1013).into_bytes()).collect()
    }

    #[test]
    fn pieces_make_the_whole() {
        for length in [0, 1, MIN_CHUNK - 1, MIN_CHUNK, MIN_CHUNK + 1, MAX_CHUNK, MAX_CHUNK + 1, 500_000] {
            let text = &text(20_000)[..length];
            let pieces = chunks(text);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.iter().all(|piece| piece.len() <= MAX_CHUNK && !piece.is_empty()));
        }
        assert!(chunks(&vec![0; 1_000_000]).len() <= 1_000_000 / MIN_CHUNK + 1);
    }

    #[test]
    fn an_edit_changes_few_pieces() {
        let before = text(20_000);
        let mut after = before.clone();
        after.splice(300_000..300_000, *b"inserted");
        let names = |text: &[u8]| chunks(text).into_iter().map(name_of).collect::<HashSet<_>>();
        let (old, new) = (names(&before), names(&after));
        assert!(old.len() > 50);
        assert!(new.difference(&old).count() <= 3, "{} of {}", new.difference(&old).count(), new.len());
    }

    #[test]
    fn the_cuts_are_pinned() {
        assert_eq!(
            chunks(&text(1_000)).iter().map(|c| c.len()).collect::<Vec<_>>(),
            [7190, 4221, 6054, 2166, 9073, 1092]
        );
    }
}
