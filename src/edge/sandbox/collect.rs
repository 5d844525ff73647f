//! Keeps the begin and the end of what a command writes, whatever it writes.

use crate::edge::sandbox::Output;
use std::collections::VecDeque;

/// Most bytes of one character.
const CHARACTER: usize = 4;

/// What was kept of an output.
pub struct Collected {
    characters: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Collected {
    /// Begins an output of which at most so many characters will be shown.
    pub fn new(characters: usize) -> Collected {
        Collected { characters, head: Vec::new(), tail: VecDeque::new(), dropped: 0 }
    }

    /// Adds bytes. Memory stays below four bytes a character, however many come.
    pub fn add(&mut self, bytes: &[u8]) {
        let half = self.characters.saturating_mul(CHARACTER) / 2;
        let (first, rest) = bytes.split_at(half.saturating_sub(self.head.len()).min(bytes.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(half);
        self.tail.drain(..surplus);
        self.dropped += surplus as u64;
    }

    /// Returns the text: whole, or its begin and its end with a line between them that says so.
    pub fn text(&self) -> Output {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.dropped == 0 {
            let all = String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
            if all.chars().count() <= self.characters {
                return Output { text: all, truncated: false };
            }
            return self.shortened(&all, &all);
        }
        self.shortened(&String::from_utf8_lossy(&self.head), &String::from_utf8_lossy(&tail))
    }

    fn shortened(&self, from: &str, to: &str) -> Output {
        let half = self.characters / 2;
        let head: String = from.chars().take(half).collect();
        let skip = to.chars().count().saturating_sub(half);
        let tail: String = to.chars().skip(skip).collect();
        let text = format!("{head}\n[… the middle is left out; narrow the command to see it …]\n{tail}");
        Output { text, truncated: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn begin_and_end_stay() {
        let mut collected = Collected::new(8);
        for n in 0..1000 {
            collected.add(format!("{n:04}").as_bytes());
        }
        assert_eq!(
            collected.text(),
            Output {
                text: "0000\n[… the middle is left out; narrow the command to see it …]\n0999".to_string(),
                truncated: true
            }
        );
    }

    proptest! {
        #[test]
        fn never_longer_than_asked(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..50), most in 0usize..40) {
            let mut collected = Collected::new(most);
            pieces.iter().for_each(|piece| collected.add(piece));
            let output = collected.text();
            let all = String::from_utf8_lossy(&pieces.concat()).into_owned();
            if all.chars().count() <= most && pieces.concat().len() <= most * CHARACTER / 2 {
                prop_assert_eq!(&output.text, &all);
            }
            prop_assert!(output.truncated || output.text.chars().count() <= most);
            prop_assert!(output.text.chars().count() <= most + 70);
        }
    }
}
