//! Three letters in a row: which words are written nearly alike, and which blocks of a dictionary may hold such.
//!
//! A block has a sketch: one bit for each of the three-letter runs of its words, of which several may share a bit. A slip
//! of the pen spares most runs of a word, and a part of a word has nearly all of its own in the whole; so the blocks with
//! the most runs of a word are read, few of many, and what they hold is compared letter by letter.

use std::ops::RangeInclusive;

/// Letters of the words that are looked for by their runs: shorter ones are near everything, longer ones are data.
const LETTERS: RangeInclusive<usize> = 4..=24;
/// Numbers of 64 bits in a sketch.
const NUMBERS: usize = 32;
/// From so many letters on a word may have a slip: most words of fewer are another word with one letter changed.
const ONE_SLIP: usize = 5;
/// From so many on it may have two.
const TWO_SLIPS: usize = 8;
/// What stands before and behind a word.
const EDGE: char = '\0';

/// Which runs of three letters the words of a block have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch([u64; NUMBERS]);

impl Default for Sketch {
    fn default() -> Self {
        Sketch([0; NUMBERS])
    }
}

impl Sketch {
    /// How many bytes one takes.
    pub const BYTES: usize = NUMBERS * 8;

    /// Takes in a word that can be looked for by its runs; returns whether it is such a one. What has a digit is none.
    pub fn take(sketch: &mut Option<Box<Sketch>>, term: &[u8]) {
        let term = std::str::from_utf8(term).unwrap_or_default();
        if term.chars().take(3).count() == 3 && term.chars().all(char::is_alphabetic) {
            let sketch = sketch.get_or_insert_default();
            runs(term, |run| sketch.0[run / 64] |= 1 << (run % 64));
        }
    }

    /// Writes it down.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        self.0.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    }

    /// Reads one; `None` when there are not as many bytes as it takes.
    pub fn read(bytes: &[u8]) -> Option<Sketch> {
        let (numbers, rest) = bytes.as_chunks::<8>();
        let mut sketch = Sketch::default();
        if numbers.len() != NUMBERS || !rest.is_empty() {
            return None;
        }
        for (to, from) in sketch.0.iter_mut().zip(numbers) {
            *to = u64::from_le_bytes(*from);
        }
        Some(sketch)
    }
}

/// Calls `emit` with the bit of each run of three letters of a word, its edges included.
fn runs(word: &str, mut emit: impl FnMut(usize)) {
    let (mut first, mut second) = (None, EDGE);
    for third in word.chars().chain([EDGE]) {
        if let Some(first) = first {
            let mixed = [first, second, third]
                .iter()
                .fold(0u32, |sum, c| (sum ^ u32::from(*c)).wrapping_mul(0x9e37_79b1).rotate_left(13));
            emit(mixed.wrapping_mul(0x85eb_ca6b) as usize >> (32 - 11));
        }
        (first, second) = (Some(second), third);
    }
}

/// A word that others may be written like.
pub struct Pattern {
    word: Vec<char>,
    runs: Vec<usize>,
    letters: u64,
}

impl Pattern {
    /// Makes one of a word of the index's kind; `None` where nothing is looked for that is written alike.
    pub fn of(word: &str) -> Option<Pattern> {
        let letters: Vec<char> = word.chars().take(LETTERS.end() + 1).collect();
        if !LETTERS.contains(&letters.len()) || !letters.iter().all(|c| c.is_alphabetic()) {
            return None;
        }
        let mut found = Vec::with_capacity(letters.len());
        runs(word, |run| found.push(run));
        Some(Pattern { letters: mask(letters.iter().copied()), word: letters, runs: found })
    }

    /// Returns how many of its runs a block has, if they are enough that a word of it may be alike.
    pub fn promise(&self, sketch: &Sketch) -> Option<usize> {
        let has = |run: &&usize| sketch.0[**run / 64] >> (**run % 64) & 1 == 1;
        let found = self.runs.iter().filter(has).count();
        // One slip takes up to four runs away.
        let least = self.runs.len().saturating_sub(2 + 2 * self.slips()).max(2);
        (found >= least).then_some(found)
    }

    /// Returns how much another word is written alike, up to 1, if it is at all: it has a slip or two, or this one is a
    /// part of it.
    pub fn likeness(&self, other: &str) -> Option<f32> {
        // Most words end here.
        if other.len() < self.word.len().saturating_sub(self.slips()) || other.len() > 4 * 2 * LETTERS.end() {
            return None;
        }
        let theirs = mask(other.chars());
        let missing = (self.letters & !theirs).count_ones() as usize;
        if missing > self.slips() {
            return None;
        }
        // A slip takes away one letter at most and brings one along.
        let brought = (theirs & !self.letters).count_ones() as usize;
        if missing > 0 && brought > self.slips() {
            return None;
        }
        let other: Vec<char> = other.chars().collect();
        let (own, theirs) = (self.word.len(), other.len());
        if own.abs_diff(theirs) <= self.slips()
            && brought <= self.slips()
            && let Some(slips) = slips(&self.word, &other, self.slips())
        {
            return Some(1.0 - slips as f32 / own as f32);
        }
        let part = missing == 0 && other.windows(own).any(|part| part == self.word);
        part.then(|| own as f32 / theirs as f32)
    }

    fn slips(&self) -> usize {
        match self.word.len() {
            ..ONE_SLIP => 0,
            ONE_SLIP..TWO_SLIPS => 1,
            TWO_SLIPS.. => 2,
        }
    }
}

/// Returns one bit for each letter of a word, of which several may share a bit.
fn mask(word: impl Iterator<Item = char>) -> u64 {
    word.fold(0, |mask, c| mask | 1 << (u32::from(c) % 64))
}

/// Returns how many letters differ, are too many, are missing, or stand the wrong way round, if no more than `most`.
fn slips(a: &[char], b: &[char], most: usize) -> Option<usize> {
    let (mut earlier, mut before): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=b.len()).collect());
    for (row, from) in a.iter().enumerate() {
        let mut here: Vec<usize> = Vec::with_capacity(b.len() + 1);
        here.push(row + 1);
        for (column, to) in b.iter().enumerate() {
            let changed = before[column] + usize::from(from != to);
            let mut least = changed.min(before[column + 1] + 1).min(here[column] + 1);
            let turned = row > 0 && column > 0 && a[row - 1] == *to && b[column - 1] == *from;
            if turned && let Some(two) = earlier.get(column - 1) {
                least = least.min(two + 1);
            }
            here.push(least);
        }
        if here.iter().all(|slips| *slips > most) {
            return None;
        }
        (earlier, before) = (before, here);
    }
    before.last().copied().filter(|slips| *slips <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_with_slips_and_parts_of_words_are_alike() {
        for (word, other, expected) in [
            ("harbour", "harbour", Some(1.0)),
            ("harbuor", "harbour", Some(0.857)),
            ("harbur", "harbour", Some(0.833)),
            ("habour", "harbour", Some(0.833)),
            ("lighthuose", "lighthouse", Some(0.9)),
            ("ligthhuose", "lighthouse", Some(0.8)),
            ("haus", "gartenhaus", Some(0.4)),
            ("größe", "grösse", None),
            ("größe", "größ", Some(0.8)),
            ("boats", "coats", Some(0.8)),
            ("boat", "coat", None),
            ("boat", "lifeboat", Some(0.5)),
            ("harbour", "garden", None),
            ("gartenhaus", "haus", None),
            ("harbour", "", None),
        ] {
            let found = Pattern::of(word).and_then(|pattern| pattern.likeness(other));
            assert_eq!(found.map(|f| (f * 1000.0) as u32), expected.map(|f| (f * 1000.0) as u32), "{word} {other}");
        }
        for none in ["", "tea", "key12", "東京タワー ", "x", "abcdefghijklmnopqrstuvwxyz"] {
            assert!(Pattern::of(none).is_none(), "{none}");
        }
    }

    proptest! {
        #[test]
        fn a_block_that_holds_a_word_with_a_slip_promises_it(
            word in "[a-zé]{6,14}", others in prop::collection::vec("[a-z]{3,9}", 0..50), at in 0usize..14, kind in 0..4
        ) {
            let mut sketch = None;
            others.iter().chain([&word]).for_each(|word| Sketch::take(&mut sketch, word.as_bytes()));
            let mut typed: Vec<char> = word.chars().collect();
            let at = at % (typed.len() - 1);
            match kind {
                0 => typed.swap(at, at + 1),
                1 => typed[at] = 'q',
                2 => drop(typed.remove(at)),
                _ => typed.insert(at, 'q'),
            }
            let typed: String = typed.into_iter().collect();
            let pattern = Pattern::of(&typed).expect("a word of letters");
            prop_assert!(pattern.likeness(&word).is_some(), "{typed} {word}");
            let sketch = sketch.expect("there are words");
            // In the shortest words a slip may leave less than two runs.
            prop_assert!(pattern.promise(&sketch).is_some() || word.chars().count() < 7, "{typed} {word}");
            let mut bytes = Vec::new();
            sketch.write(&mut bytes);
            prop_assert_eq!(bytes.len(), Sketch::BYTES);
            prop_assert_eq!(Sketch::read(&bytes), Some(*sketch));
            prop_assert_eq!(Sketch::read(&bytes[1..]), None);
        }

        #[test]
        fn any_words_are_survived(word in "\\PC{0,30}", other in "\\PC{0,60}") {
            if let Some(pattern) = Pattern::of(&word) {
                let likeness = pattern.likeness(&other);
                prop_assert!(likeness.is_none_or(|likeness| (0.0..=1.0).contains(&likeness)));
            }
        }
    }
}
