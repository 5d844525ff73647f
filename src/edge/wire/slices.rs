//! Long texts in numbered slices, with a hash of the whole, so that none is missing, twice, changed or another text's.
//!
//! Pure. A slice is `:slice N :text T :more t`, the last `:slice N :text T :hash HEX`; a text in one message needs neither.
//! The hash of a slice is SHA-256 over its number, a blank, the hash of the slice before it (nothing before the first), a
//! line feed and its text; the hash of the last slice names all of them. So neither end ever hashes more than one slice.

use crate::domain::sexp::reader::Sexp;
use crate::edge::random::hex;
use sha2::{Digest, Sha256};

/// A text comes in at most so many slices.
pub const MOST: u64 = 1 << 16;

/// Why a slice is not taken; nothing of its text is kept then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// Another one was due.
    #[error("slice {came} of a text came where slice {wanted} was due; send the text again from its beginning")]
    Order {
        /// What was due.
        wanted: u64,
        /// What came.
        came: i64,
    },
    /// A slice that is not the only one has no number.
    #[error("a slice of a text came without its number (:slice); send the text again from its beginning")]
    Number,
    /// The last slice has no hash.
    #[error("the last slice of a text came without the hash of all of them (:hash); send the text again")]
    NoHash,
    /// The hash is that of something else.
    #[error("the slices of a text do not have the hash that came with the last of them; send the text again")]
    Hash,
    /// One in the middle holds nothing.
    #[error("slice {0} of a text is empty and not its last")]
    Empty(u64),
    /// Too many.
    #[error("a text came in more than {MOST} slices; send larger ones")]
    TooMany,
}

/// The number and the hash of the slices so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    number: u64,
    hash: String,
}

impl Chain {
    /// Takes the text of the next slice.
    pub fn add(&mut self, text: &str) {
        self.number += 1;
        let mut hash = Sha256::new_with_prefix(format!("{} {}\n", self.number, self.hash));
        hash.update(text);
        self.hash = hex(&hash.finalize());
    }

    /// Returns the number of the last slice, from 1 on.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the hash of all of them.
    pub fn hash(&self) -> &str {
        &self.hash
    }
}

/// Cuts a text into slices of at most so many bytes, of which there is at least one; none is cut within a character.
pub fn cut(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        // A character has four bytes at most.
        let end = (0..=text.len().min(most.max(4))).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        let (slice, behind) = text.split_at_checked(end)?;
        rest = (!behind.is_empty()).then_some(behind);
        Some(slice)
    })
}

/// Returns the chain of all slices of a text.
pub fn chain(text: &str, most: usize) -> Chain {
    let mut chain = Chain::default();
    cut(text, most).for_each(|slice| chain.add(slice));
    chain
}

/// One slice, as it came.
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a> {
    /// Its number; a text that came in one message need not have one.
    pub number: Option<i64>,
    /// Its text.
    pub text: &'a str,
    /// Others follow.
    pub more: bool,
    /// The hash of all of them.
    pub hash: Option<&'a str>,
}

impl<'a> Slice<'a> {
    /// Reads the slice in a payload, with its text in this field.
    pub fn read(payload: &'a Sexp, field: &str) -> Slice<'a> {
        Slice {
            number: payload.int_at("slice"),
            text: payload.text_at(field).unwrap_or(""),
            more: payload.flag_at("more"),
            hash: payload.text_at("hash"),
        }
    }
}

/// A text that comes in slices.
#[derive(Debug)]
pub struct Joining {
    chain: Chain,
    text: String,
    most: usize,
    over: bool,
}

impl Joining {
    /// Expects the first slice of a text; of one that is longer than so many bytes nothing is kept.
    pub fn new(most: usize) -> Joining {
        Joining { chain: Chain::default(), text: String::new(), most, over: false }
    }

    /// Takes the next slice.
    ///
    /// # Errors
    /// When it is not the next one, or the text is not the one that its last slice names.
    pub fn take(&mut self, slice: Slice<'_>) -> Result<(), Wrong> {
        let Slice { number, text, more, hash } = slice;
        let wanted = self.chain.number() + 1;
        let alone = wanted == 1 && !more && hash.is_none();
        match number {
            None if alone => {}
            None => return Err(Wrong::Number),
            Some(_) if more && text.is_empty() => return Err(Wrong::Empty(wanted)),
            Some(number) => return self.add(number, text).and_then(|()| if more { Ok(()) } else { self.ends(hash) }),
        }
        self.keep(text);
        Ok(())
    }

    /// Takes the text of the next slice, where what ends them comes by itself.
    ///
    /// # Errors
    /// When it is not the next one.
    pub fn add(&mut self, came: i64, text: &str) -> Result<(), Wrong> {
        let wanted = self.chain.number() + 1;
        if u64::try_from(came) != Ok(wanted) {
            return Err(Wrong::Order { wanted, came });
        }
        if wanted > MOST {
            return Err(Wrong::TooMany);
        }
        self.chain.add(text);
        self.keep(text);
        Ok(())
    }

    fn keep(&mut self, text: &str) {
        self.over |= self.text.len().saturating_add(text.len()) > self.most;
        match self.over {
            true => self.text = String::new(),
            false => self.text.push_str(text),
        }
    }

    /// Makes sure that what came is what its end names.
    ///
    /// # Errors
    /// When it names another text, or none.
    pub fn ends(&self, hash: Option<&str>) -> Result<(), Wrong> {
        match hash {
            None => Err(Wrong::NoHash),
            Some(hash) if hash == self.chain.hash() => Ok(()),
            Some(_) => Err(Wrong::Hash),
        }
    }

    /// Returns how many bytes of it are kept.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns whether nothing of it is kept.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns whether more came than is kept.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Returns the text; `None` when it was too long.
    pub fn text(self) -> Option<String> {
        (!self.over).then_some(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a slice is on its way.
    type Sent = (Option<i64>, String, bool, Option<String>);

    fn sent(text: &str, most: usize) -> Vec<Sent> {
        let (mut chain, all) = (Chain::default(), cut(text, most).collect::<Vec<_>>());
        let send = |slice: &&str| {
            chain.add(slice);
            let more = chain.number() < all.len() as u64;
            (Some(chain.number() as i64), slice.to_string(), more, (!more).then(|| chain.hash().to_string()))
        };
        all.iter().map(send).collect()
    }

    fn join(slices: &[Sent], most: usize) -> Result<Option<String>, Wrong> {
        let mut joining = Joining::new(most);
        for (number, text, more, hash) in slices {
            joining.take(Slice { number: *number, text, more: *more, hash: hash.as_deref() })?;
            if !more {
                return Ok(joining.text());
            }
        }
        // The end never came.
        Err(Wrong::NoHash)
    }

    #[test]
    fn the_hash_is_the_one_that_the_protocol_names() {
        // As another program's SHA-256 has it: of "1 \nab", and of "2 HASH\nc".
        insta::assert_snapshot!(chain("abc", 4).hash(), @"c54a9360f3530330822e8831a5eb56cc189be0c08d8a5b2ea40edfa8db156f46");
        let mut chain = Chain::default();
        chain.add("ab");
        insta::assert_snapshot!(chain.hash(), @"1bcb57688870d5b9d3456c581bd94cce0e36cf0d583c75a70ab26607778caaaf");
        chain.add("c");
        insta::assert_snapshot!(chain.hash(), @"743a15d55fe38582224b382f3f4be45e7ce11342890b358255937918748495d1");
    }

    #[test]
    fn a_text_in_one_message_needs_neither_number_nor_hash() {
        let alone = |number, more, hash| {
            let mut joining = Joining::new(10);
            joining.take(Slice { number, text: "abc", more, hash }).map(|()| joining.text())
        };
        let hash = chain("abc", 10);
        assert_eq!(alone(None, false, None), Ok(Some("abc".to_string())));
        assert_eq!(alone(Some(1), false, Some(hash.hash())), Ok(Some("abc".to_string())));
        assert_eq!(alone(None, true, None), Err(Wrong::Number));
        assert_eq!(alone(None, false, Some(hash.hash())), Err(Wrong::Number));
        assert_eq!(alone(Some(1), false, None), Err(Wrong::NoHash));
        assert_eq!(alone(Some(1), false, Some("")), Err(Wrong::Hash));
        assert_eq!(alone(Some(2), false, Some(hash.hash())), Err(Wrong::Order { wanted: 1, came: 2 }));
        assert_eq!(alone(Some(-1), false, Some(hash.hash())), Err(Wrong::Order { wanted: 1, came: -1 }));
    }

    #[test]
    fn what_comes_is_bounded() {
        let text = "x".repeat(100);
        assert_eq!(join(&sent(&text, 7), 99), Ok(None), "nothing of it is kept");
        assert_eq!(join(&sent(&text, 7), 100), Ok(Some(text)));
        let empty = [(Some(1), "a".to_string(), true, None), (Some(2), String::new(), true, None)];
        assert_eq!(join(&empty, 10), Err(Wrong::Empty(2)));
        let mut joining = Joining::new(1 << 20);
        let mut take =
            |number: u64| joining.take(Slice { number: Some(number as i64), text: "x", more: true, hash: None });
        assert!((1..=MOST).all(|number| take(number).is_ok()));
        assert_eq!(take(MOST + 1), Err(Wrong::TooMany));
    }

    proptest! {
        /// Any text comes back as it was, however it is cut.
        #[test]
        fn a_text_comes_back_as_it_was(text in any::<String>(), most in 4_usize..40) {
            let slices = sent(&text, most);
            prop_assert!(slices.iter().all(|(_, slice, ..)| slice.len() <= most));
            prop_assert_eq!(join(&slices, usize::MAX), Ok(Some(text)));
        }

        /// Whatever happens to one slice of several is noticed: no other text is ever made of them.
        #[test]
        fn any_change_of_one_slice_is_noticed(
            text in "[a-zé漢😀\n]{20,200}", other in "[a-zé漢😀\n]{20,200}", which in any::<prop::sample::Index>(), change in 0..9,
        ) {
            let mut slices = sent(&text, 8);
            let at = which.index(slices.len());
            let last = slices.len() - 1;
            match change {
                0 => { slices.remove(at); }
                1 => {
                    // Behind the last one nothing is due any more.
                    prop_assume!(at < last);
                    let twice = slices[at].clone(); slices.insert(at, twice); }
                2 => slices.swap(at, (at + 1) % (last + 1)),
                3 => slices[at].1.push('x'),
                4 => { slices[at].1.pop(); }
                5 => slices[at].0 = Some(at as i64 + 2),
                6 => slices[at].0 = None,
                7 => {
                    let others = sent(&other, 8);
                    let strange = others[at.min(others.len() - 1)].1.clone();
                    prop_assume!(strange != slices[at].1);
                    slices[at].1 = strange;
                }
                _ => {
                    // Cut off behind it, with the hash of what came so far left out or that of the whole.
                    slices.truncate(at + 1);
                    prop_assume!(at < last);
                    slices[at].2 = false;
                    slices[at].3 = (at % 2 == 0).then(|| chain(&text, 8).hash().to_string());
                }
            }
            prop_assert!(join(&slices, usize::MAX).is_err());
        }
    }
}
