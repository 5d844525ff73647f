//! Seed phrases of wallets: 12 to 24 words of the list of BIP 39, with the checksum that the last of them holds.
//!
//! The list is kept by the first four letters of its words, which tell all of them apart (BIP 39, bitcoin/bips). Only every
//! sixth word of a text is looked up, since any phrase holds two of those.

use super::{Certainty, Finding};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::LazyLock;

/// How many words are looked at on each side of one that is on the list.
const WORDS: usize = 40;
/// The most bytes between two words.
const GAP: usize = 12;
/// The lengths that a phrase can have.
const LENGTHS: [usize; 5] = [24, 21, 18, 15, 12];

static NUMBERS: LazyLock<HashMap<&'static str, u16>> =
    LazyLock::new(|| include_str!("seed_words.txt").split_ascii_whitespace().zip(0..).collect());

/// Builds the list now, so that no text pays for it.
pub(super) fn prepare() {
    LazyLock::force(&NUMBERS);
}

/// Counts the words of a text, and looks at every sixth.
#[derive(Default)]
pub(super) struct Seeds {
    words: usize,
    /// How far words were looked at.
    done: usize,
    /// How many checksums were worked out.
    pub(super) sums: usize,
}

impl Seeds {
    /// Takes note that a word begins at a place; returns the phrase around it.
    pub(super) fn word(&mut self, text: &str, at: usize) -> Option<Finding> {
        self.words += 1;
        if !self.words.is_multiple_of(6) || at < self.done {
            return None;
        }
        let (number, end) = word_at(text, at)?;
        let mut behind: Vec<(u16, usize, usize)> = vec![(number, at, end)];
        while let Some((number, start, end)) = behind.last().and_then(|last| next(text, last.2)) {
            behind.push((number, start, end));
            if behind.len() >= WORDS {
                break;
            }
        }
        let mut run: Vec<(u16, usize, usize)> = Vec::new();
        let mut from = at;
        while let Some(before) = previous(text, from).filter(|_| run.len() < WORDS) {
            from = before.1;
            run.push(before);
        }
        run.reverse();
        run.extend(behind);
        let seen = std::mem::replace(&mut self.done, run.last().map_or(at, |last| last.2));
        let found = phrase(text, &run, seen, &mut self.sums);
        if let Some(found) = &found {
            // Another may follow at once.
            self.done = found.range.end;
        }
        found
    }
}

/// Words that say that a phrase is one of a wallet.
const TELLING: &[&str] = &["seed", "mnemonic", "recovery", "wallet", "phrase", "bip39", "bip-39", "backup"];
/// How far before a phrase they are looked for, in bytes.
const BEFORE: usize = 100;

/// Returns the first phrase in a run of words with the right checksum.
///
/// One list of words in sixteen has it by chance: where the run is longer than the phrase, a word has to tell or the
/// phrase to stand on lines of its own, and only a run that is the phrase, and that a word tells, is certain.
///
/// What ends before `seen` was looked at with the words before.
fn phrase(text: &str, run: &[(u16, usize, usize)], seen: usize, sums: &mut usize) -> Option<Finding> {
    let (shortest, (start, end)) = (LENGTHS.iter().min()?, (run.first()?.1, run.last()?.2));
    if run.len() < *shortest || !varied(run, *shortest) {
        return None;
    }
    let telling = telling(text, start, end);
    for length in LENGTHS {
        for window in run.windows(length) {
            let range = window.first()?.1..window.last()?.2;
            if range.end <= seen {
                continue;
            }
            let told = || telling.iter().any(|at| (range.start.saturating_sub(BEFORE)..range.start).contains(at));
            let whole = run.len() == length;
            if !(whole || stands_alone(text, &range) || told()) {
                continue;
            }
            *sums += 1;
            if has_checksum(window) {
                let certainty = if whole && told() { Certainty::Certain } else { Certainty::Likely };
                return Some(Finding { kind: "seed phrase", range: range.clone(), certainty });
            }
        }
    }
    None
}

/// Returns whether a run holds enough different words for a phrase of that length.
fn varied(run: &[(u16, usize, usize)], length: usize) -> bool {
    let mut numbers: Vec<u16> = run.iter().map(|word| word.0).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.len() * 3 >= length * 2
}

/// Returns where words begin that say that a phrase is one of a wallet, from a little before a run to its end.
fn telling(text: &str, start: usize, end: usize) -> Vec<usize> {
    let from = start.saturating_sub(BEFORE);
    let near = text.as_bytes().get(from..end).unwrap_or(&[]).to_ascii_lowercase();
    TELLING
        .iter()
        .flat_map(|word| memchr::memmem::find_iter(&near, word).map(|at| from + at).collect::<Vec<_>>())
        .collect()
}

/// Returns whether a range fills lines, or what stands in quotes or behind a colon.
fn stands_alone(text: &str, range: &std::ops::Range<usize>) -> bool {
    let numbering = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '\t' | '.' | ')' | '-' | '*' | '+');
    let left = text.get(..range.start).unwrap_or("").trim_end_matches(numbering);
    let right = text.get(range.end..).unwrap_or("").trim_start_matches([' ', '\t', ',', '.', ';', ']', ')']);
    let begins = left.is_empty() || left.ends_with(['\n', ':', '=', '"', '\'', '`', '[', '(', '|']);
    begins && (right.is_empty() || right.starts_with(['\n', '\r', '"', '\'', '`', '|', '\\']))
}

/// Eleven bits a word; of each 33 bits one belongs to the checksum, the first bits of SHA-256 of the others.
fn has_checksum(words: &[(u16, usize, usize)]) -> bool {
    // Some words over and over are no phrase, save the known examples of one.
    // Words in the order of the list are a piece of the list.
    if words.is_sorted_by_key(|word| word.0) || !varied(words, words.len()) {
        return false;
    }
    let bit = |n: usize| words.get(n / 11).is_some_and(|(number, ..)| number >> (10 - n % 11) & 1 == 1);
    let sum = words.len() / 3;
    let drawn = words.len() * 11 - sum;
    let bytes: Vec<u8> =
        (0..drawn / 8).map(|byte| (0..8).fold(0, |all, n| all << 1 | u8::from(bit(byte * 8 + n)))).collect();
    let digest = Sha256::digest(&bytes);
    let expected = |n: usize| digest.first().is_some_and(|first| first >> (7 - n) & 1 == 1);
    (0..sum).all(|n| bit(drawn + n) == expected(n))
}

fn word_at(text: &str, at: usize) -> Option<(u16, usize)> {
    let rest = text.as_bytes().get(at..)?;
    let length = rest.iter().take(9).take_while(|b| b.is_ascii_alphabetic()).count();
    let word = rest.get(..length).filter(|_| (3..=8).contains(&length))?;
    let mut beginning = [0; 4];
    let known = beginning.get_mut(..length.min(4))?;
    known.copy_from_slice(word.get(..length.min(4))?);
    known.make_ascii_lowercase();
    NUMBERS.get(std::str::from_utf8(known).ok()?).map(|number| (*number, at + length))
}

/// What may stand between two words: white space, signs of lists and quotes, and the words' numbers.
fn between(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte.is_ascii_digit() || b",.;:)(]['\"`|-*+".contains(&byte)
}

fn next(text: &str, end: usize) -> Option<(u16, usize, usize)> {
    let rest = text.as_bytes().get(end..)?;
    let gap = rest.iter().take(GAP).take_while(|b| between(**b)).count();
    let (number, last) = word_at(text, end + gap).filter(|_| gap > 0)?;
    Some((number, end + gap, last))
}

fn previous(text: &str, start: usize) -> Option<(u16, usize, usize)> {
    let left = text.as_bytes().get(..start)?;
    let gap = left.iter().rev().take(GAP).take_while(|b| between(**b)).count();
    let end = start - gap;
    let length = text.as_bytes().get(..end)?.iter().rev().take(9).take_while(|b| b.is_ascii_alphabetic()).count();
    let at = end - length;
    let (number, last) = word_at(text, at).filter(|_| gap > 0)?;
    (last == end).then_some((number, at, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_whole_and_its_checksum_is_the_published_one() {
        assert_eq!(NUMBERS.len(), 2048);
        let run = |text: &str| {
            let mut at = 0;
            text.split(' ')
                .map(|word| {
                    let start = at;
                    at += word.len() + 1;
                    (word_at(text, start).expect("on the list").0, start, start + word.len())
                })
                .collect::<Vec<_>>()
        };
        // The first example of BIP 39 with words of more than one kind.
        let example = "legal winner thank year wave sausage worth useful legal winner thank yellow";
        assert!(has_checksum(&run(example)));
        assert!(!has_checksum(&run(&example.replace("yellow", "zebra"))));
    }
}
