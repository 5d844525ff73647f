//! From what the user typed to a request: the top of the grammar.
//!
//! Rules are tried in one order, each reads the words at most a bounded number of times, and there is always an
//! answer: `Unknown` when no rule fits.
//! 1. Words of politeness are left out.
//! 2. Help and greetings.
//! 3. Lists: every word belongs to a closed vocabulary, but for a window of days and a place.
//! 4. Commands: they begin with a verb, or end in “is done”.
//! 5. Questions: who or what, when, and anything that looks like a question, which is a search.

use crate::domain::recall::request::Request;
use crate::domain::recall::token::Tokens;
use crate::domain::recall::{command, question};
use jiff::civil::DateTime;
use std::ops::Range;

/// What may stand before a request without changing it.
const BEFORE: &[&str] = &[
    "please",
    "hey",
    "hi",
    "hello",
    "ok",
    "okay",
    "so",
    "well",
    "now",
    "and",
    "also",
    "then",
    "kindly",
    "passepartout",
    "can you",
    "could you",
    "would you",
    "will you",
    "can you please",
    "i want you to",
    "i would like you to",
    "i would like to",
    "i want to",
    "let me",
    "let us",
    "go ahead and",
    "just",
    "quickly",
    "can i",
    "may i",
    "could i",
    "um",
    "oh",
    "good morning",
    "good evening",
];
/// What may stand behind it.
const BEHIND: &[&str] =
    &["please", "thanks", "thank you", "for me", "now", "ok", "okay", "pls", "thx", "right now", "if you can", "again"];

/// Reads one request. It looks at what the user typed and at the clock, and at nothing else.
pub fn parse(typed: &str, now: DateTime) -> Request {
    let tokens = Tokens::new(typed);
    let all = 0..tokens.list.len();
    if let Some(request) = question::help(&tokens, all.clone()) {
        return request;
    }
    let range = polite(&tokens, all);
    question::help(&tokens, range.clone())
        .or_else(|| question::list(&tokens, range.clone(), now))
        .or_else(|| command::parse(&tokens, range.clone(), now))
        .or_else(|| question::natural(&tokens, range))
        .unwrap_or(Request::Unknown)
}

/// Returns the words without politeness at both ends; at least one is left.
fn polite(tokens: &Tokens<'_>, range: Range<usize>) -> Range<usize> {
    let Range { mut start, mut end } = range;
    while let Some(length) = BEFORE.iter().filter_map(|phrase| stands(tokens, start, phrase)).max() {
        if start + length >= end {
            break;
        }
        start += length;
    }
    while let Some(length) = BEHIND.iter().filter_map(|phrase| stands_before(tokens, end, phrase)).max() {
        if start + length >= end {
            break;
        }
        end -= length;
    }
    start..end
}

/// Returns how many words a phrase has when it stands at a place.
pub(super) fn stands(tokens: &Tokens<'_>, at: usize, phrase: &str) -> Option<usize> {
    let mut length = 0;
    for word in phrase.split(' ') {
        tokens.list.get(at + length).filter(|token| token.is(word))?;
        length += 1;
    }
    Some(length)
}

/// Returns how many words a phrase has when it ends at a place.
pub(super) fn stands_before(tokens: &Tokens<'_>, end: usize, phrase: &str) -> Option<usize> {
    let length = phrase.split(' ').count();
    let at = end.checked_sub(length)?;
    stands(tokens, at, phrase)
}
