//! One block of a segment's dictionary: terms in order, each with how much of the one before it shares, and where its
//! list of nodes stands. Everything is read as if it came from a stranger.

use crate::domain::context::postings::{number, small};
use crate::domain::context::segment::Entry;
use std::cmp::Ordering;

/// Finds a term in one block of the dictionary; `None` when the block makes no sense. Nothing is put together on the way:
/// what a term shares with the one before says whether it needs to be compared.
pub(super) fn seek(bytes: &[u8], wanted: &[u8]) -> Option<Option<Entry>> {
    let mut at = 0;
    let mut begin = number(bytes, &mut at)?;
    // Bytes of the term at hand, and how many of its first ones are those that are wanted.
    let (mut length, mut matched) = (0usize, 0usize);
    while at < bytes.len() {
        let shared = number(bytes, &mut at)? as usize;
        let more = number(bytes, &mut at)? as usize;
        if shared > length {
            return None;
        }
        let tail = bytes.get(at..at.checked_add(more)?)?;
        at += more;
        length = shared.checked_add(more)?;
        let entry = Entry { count: small(bytes, &mut at)?, begin, bytes: small(bytes, &mut at)? };
        begin = begin.checked_add(u64::from(entry.bytes))?;
        match shared.cmp(&matched) {
            // It differs from what is wanted where the one before did, which came first.
            Ordering::Greater => continue,
            Ordering::Less => return Some(None),
            Ordering::Equal => {}
        }
        let rest = wanted.get(matched..).unwrap_or_default();
        let same = tail.iter().zip(rest).take_while(|(a, b)| a == b).count();
        matched += same;
        match (tail.get(same), rest.get(same)) {
            (None, None) => return Some(Some(entry)),
            (Some(here), Some(there)) if here > there => return Some(None),
            (Some(_), None) => return Some(None),
            (None | Some(_), Some(_)) => {}
        }
    }
    Some(None)
}

/// Goes through the entries of one block of the dictionary.
pub(super) struct Terms<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the next list begins.
    list: Option<u64>,
    /// The term at hand.
    pub(super) term: Vec<u8>,
}

pub(super) enum Step {
    Entry(Entry),
    End,
    Nonsense,
}

impl<'a> Terms<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut at = 0;
        let list = number(bytes, &mut at);
        Terms { bytes, at, list, term: Vec::new() }
    }

    pub(super) fn next(&mut self) -> Step {
        if self.at >= self.bytes.len() && self.list.is_some() {
            return Step::End;
        }
        self.read().map_or(Step::Nonsense, Step::Entry)
    }

    fn read(&mut self) -> Option<Entry> {
        let begin = self.list?;
        let shared = number(self.bytes, &mut self.at)? as usize;
        let more = number(self.bytes, &mut self.at)? as usize;
        if shared > self.term.len() {
            return None;
        }
        self.term.truncate(shared);
        self.term.extend_from_slice(self.bytes.get(self.at..self.at.checked_add(more)?)?);
        self.at += more;
        let count = small(self.bytes, &mut self.at)?;
        let bytes = small(self.bytes, &mut self.at)?;
        self.list = Some(begin.checked_add(u64::from(bytes))?);
        Some(Entry { count, begin, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::context::postings::push_number;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn block(terms: &BTreeSet<String>) -> Vec<u8> {
        let (mut bytes, mut before) = (Vec::new(), "");
        push_number(&mut bytes, 7);
        for (at, term) in terms.iter().enumerate() {
            let shared = before.bytes().zip(term.bytes()).take_while(|(a, b)| a == b).count();
            push_number(&mut bytes, shared as u64);
            push_number(&mut bytes, (term.len() - shared) as u64);
            bytes.extend_from_slice(&term.as_bytes()[shared..]);
            push_number(&mut bytes, at as u64 + 1);
            push_number(&mut bytes, 3);
            before = term;
        }
        bytes
    }

    proptest! {
        #[test]
        fn a_term_is_found_where_it_stands(
            terms in prop::collection::btree_set("[ab漢]{1,6}", 0..40), wanted in "[ab漢]{0,6}"
        ) {
            let bytes = block(&terms);
            for wanted in terms.iter().chain([&wanted]) {
                let place = terms.iter().position(|term| term == wanted);
                let entry = place.map(|at| Entry { count: at as u32 + 1, begin: 7 + 3 * at as u64, bytes: 3 });
                prop_assert_eq!(seek(&bytes, wanted.as_bytes()), Some(entry), "{}", wanted);
            }
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), wanted in "[ab]{0,6}") {
            seek(&bytes, wanted.as_bytes());
        }
    }
}
