//! From what the user typed to a request: the top of the grammar.
//!
//! Rules are tried in one order, each reads the words at most a bounded number of times, and there is always an
//! answer: `Unknown` when no rule fits.
//! 1. Words of politeness are left out.
//! 2. Help and greetings.
//! 3. Two requests in one message, which are told apart and not carried out.
//! 4. Lists: every word belongs to a closed vocabulary, but for a window of days and a place.
//! 5. Commands: they begin with a verb, or end in “is done”.
//! 6. Questions: who or what, when, and anything that looks like a question, which is a search.

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
    if let Some(name) = slash(typed) {
        return Request::NoCommand { name };
    }
    let range = polite(&tokens, all);
    question::help(&tokens, range.clone())
        .or_else(|| both(&tokens, range.clone(), now))
        .or_else(|| one(&tokens, range, now))
        .unwrap_or(Request::Unknown)
}

/// Reads `/foo`; a path such as `/m/a.org` is none.
fn slash(typed: &str) -> Option<String> {
    let name = typed.trim().strip_prefix('/')?.split_whitespace().next()?;
    let is_name = name.chars().count() <= 40 && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    is_name.then(|| name.to_string())
}

fn one(tokens: &Tokens<'_>, range: Range<usize>, now: DateTime) -> Option<Request> {
    question::list(tokens, range.clone(), now)
        .or_else(|| command::parse(tokens, range.clone(), now))
        .or_else(|| question::natural(tokens, range))
}

/// Words that a second request begins with.
const SECOND: &[&str] = &[
    "add",
    "create",
    "new",
    "schedule",
    "reschedule",
    "unschedule",
    "postpone",
    "mark",
    "set",
    "move",
    "refile",
    "remind",
    "cancel",
    "reopen",
    "remove",
    "tick",
    "check",
    "finish",
    "complete",
    "close",
    "deadline",
    "change",
    "find",
    "search",
    "show",
    "list",
    "tell",
    "what",
    "whats",
    "which",
    "who",
    "when",
    "where",
    "how",
];
/// At so many places a second request is looked for.
const MOST_JOINTS: usize = 8;

/// “add a todo X and schedule Y for Friday”: two requests, each of which would be read by itself.
///
/// A note keeps its text whatever it says, and so does what stands behind a colon.
fn both(tokens: &Tokens<'_>, range: Range<usize>, now: DateTime) -> Option<Request> {
    let is = |at: usize, words: &[&str]| tokens.list.get(at).is_some_and(|token| token.is_any(words));
    let ends = |at: usize| tokens.list.get(at).is_some_and(|token| matches!(token.mark, Some(';' | '.' | '?' | '!')));
    let joint = |at: &usize| is(*at, &["and", "then", "also", "plus"]) || ends(at - 1);
    for at in (range.start + 1..range.end).filter(joint).take(MOST_JOINTS) {
        let mut second = at;
        while is(second, &["and", "then", "also", "plus", "please"]) {
            second += 1;
        }
        let mut end = at;
        while end > range.start && is(end - 1, &["and", "then", "also", "plus"]) {
            end -= 1;
        }
        if !is(second, SECOND) || second + 1 >= range.end || end == range.start {
            continue;
        }
        let literal = (range.start..end).any(|at| tokens.list.get(at).is_some_and(|token| token.mark == Some(':')));
        let first = one(tokens, range.start..end, now)?;
        if literal || matches!(first, Request::Note { .. }) {
            return None;
        }
        let asks = |request: &Request| {
            matches!(request, Request::Find { .. } | Request::WhoOrWhat { .. } | Request::When { .. })
        };
        // Behind a command only what is clearly a request counts: “… and find the keys” belongs to a title.
        match one(tokens, second..range.end, now) {
            Some(Request::Unknown) | None => continue,
            Some(request) if asks(&request) && is_command(&first) => continue,
            Some(_) => {
                return Some(Request::Both {
                    first: tokens.line(range.start..end),
                    second: tokens.line(second..range.end),
                });
            }
        }
    }
    None
}

/// Returns whether what was typed is done by fixed rules whoever reads it: an order, or a question about dates and keywords
/// that has one answer. What looks something up by its words has better and worse ones.
pub fn is_fixed(typed: &str) -> bool {
    // Which day it is decides about dates, not about what is asked.
    let request = parse(typed, jiff::civil::date(2000, 1, 3).at(9, 0, 0, 0));
    let dated = matches!(
        request,
        Request::Due { .. }
            | Request::Scheduled { .. }
            | Request::Overdue { .. }
            | Request::Agenda { .. }
            | Request::Waiting { .. }
            | Request::Projects { .. }
            | Request::StuckProjects
            | Request::Finished { .. }
            | Request::ChangedSince { .. }
    );
    dated || is_command(&request)
}

/// Returns whether a request asks for a change.
pub(super) fn is_command(request: &Request) -> bool {
    match request {
        Request::AddTodo { .. }
        | Request::Schedule { .. }
        | Request::ScheduleWhen { .. }
        | Request::NoDate { .. }
        | Request::NoTags
        | Request::MarkDone { .. }
        | Request::SetTodo { .. }
        | Request::SetProperty { .. }
        | Request::Move { .. }
        | Request::Note { .. } => true,
        Request::Due { .. }
        | Request::Scheduled { .. }
        | Request::Overdue { .. }
        | Request::Agenda { .. }
        | Request::Waiting { .. }
        | Request::Projects { .. }
        | Request::StuckProjects
        | Request::Todos { .. }
        | Request::Tagged { .. }
        | Request::Finished { .. }
        | Request::ChangedSince { .. }
        | Request::When { .. }
        | Request::Find { .. }
        | Request::WhoOrWhat { .. }
        | Request::Both { .. }
        | Request::NoCommand { .. }
        | Request::Help
        | Request::Unknown => false,
    }
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
