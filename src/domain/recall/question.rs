//! Questions: who or what, when, searches, and calls for help; lists have a file of their own.

use crate::domain::recall::clause::{clean, name};
use crate::domain::recall::grammar::{stands, stands_before};
use crate::domain::recall::request::Request;
use crate::domain::recall::token::Tokens;
use std::ops::Range;

mod list;
mod vocabulary;
mod window;

pub(super) use list::list;

const HELP: &[&str] = &[
    "help",
    "help me",
    "what can you do",
    "what can i ask",
    "what can i ask you",
    "what can i say",
    "how do you work",
    "how does this work",
    "what do you understand",
    "what are you",
    "who are you",
    "commands",
    "what can i do here",
    "what do you do",
    "usage",
    "examples",
    "hi",
    "hello",
    "hey",
    "good morning",
    "thanks",
    "thank you",
    "show help",
    "what are my options",
    "list commands",
    "what commands are there",
    "how can you help",
    "how can you help me",
    "what can i do",
    "what is possible",
    "hello there",
    "hi there",
    "how do i use you",
    "how do i use this",
];
/// Words that a question begins with.
const ASKING: &[&str] = &[
    "what",
    "who",
    "when",
    "where",
    "why",
    "how",
    "which",
    "whose",
    "whom",
    "is",
    "are",
    "was",
    "were",
    "do",
    "does",
    "did",
    "has",
    "have",
    "had",
    "can",
    "could",
    "should",
    "would",
    "will",
    "am",
    "anything",
    "any",
    "tell",
    "explain",
    "describe",
    "summarize",
    "summarise",
    "in",
    "remind",
];

/// Reads a call for help or a greeting.
pub(super) fn help(tokens: &Tokens<'_>, range: Range<usize>) -> Option<Request> {
    let typed = tokens.source.trim();
    let whole = |phrase: &&&str| stands(tokens, range.start, phrase) == Some(range.len());
    let asked =
        matches!(typed, "?" | "??" | "/help") || (!range.is_empty() && HELP.iter().any(|phrase| whole(&phrase)));
    asked.then_some(Request::Help)
}

/// Reads any other question.
pub(super) fn natural(tokens: &Tokens<'_>, range: Range<usize>) -> Option<Request> {
    when(tokens, range.clone()).or_else(|| who_or_what(tokens, range.clone())).or_else(|| search(tokens, range))
}

/// “when is X due”, “what is the deadline of X”.
fn when(tokens: &Tokens<'_>, range: Range<usize>) -> Option<Request> {
    let heads = [
        "what is the deadline of",
        "what is the deadline for",
        "what is the due date of",
        "what is the due date for",
        "when is",
        "when are",
        "what day is",
        "when do i have",
        "when was",
    ];
    let length = heads.iter().filter_map(|phrase| stands(tokens, range.start, phrase)).max()?;
    let start = range.start + length;
    let mut end = range.end;
    let tails =
        ["due", "scheduled", "scheduled for", "planned", "planned for", "due date", "happening", "taking place"];
    if let Some(tail) = tails.iter().filter_map(|phrase| stands_before(tokens, range.end, phrase)).max() {
        end = range.end.saturating_sub(tail);
    }
    if start >= end || end - start > 8 {
        return None;
    }
    let target = clean(&name(tokens, start..end));
    (!target.is_empty()).then_some(Request::When { target })
}

/// “who is X”, “what is X”, “tell me about X”, “define X”.
fn who_or_what(tokens: &Tokens<'_>, range: Range<usize>) -> Option<Request> {
    let heads = [
        "who is",
        "who was",
        "who are",
        "what is",
        "what are",
        "what was",
        "what were",
        "tell me about",
        "tell me more about",
        "tell me something about",
        "define",
        "describe",
        "who the hell is",
        "explain",
        "what does",
        "who exactly is",
        "who might",
    ];
    let length = heads.iter().filter_map(|phrase| stands(tokens, range.start, phrase)).max()?;
    let start = range.start + length;
    let mut end = range.end;
    if let Some(tail) = stands_before(tokens, end, "mean").or_else(|| stands_before(tokens, end, "stand for")) {
        end = end.saturating_sub(tail);
    } else if is(tokens, range.start + 1, &["does"]) {
        return None;
    }
    // A long question is a search.
    if start >= end || end - start > 6 {
        return None;
    }
    let name = name(tokens, start..end);
    (!name.is_empty()).then_some(Request::WhoOrWhat { name })
}

/// “what do I know about X”, “where did I write about X”, and all that looks like a question.
fn search(tokens: &Tokens<'_>, range: Range<usize>) -> Option<Request> {
    let heads = [
        "what do i know about",
        "what do we know about",
        "what do you know about",
        "what do i have on",
        "what do i have about",
        "what have i got on",
        "what have i written about",
        "what did i write about",
        "what did i say about",
        "what did i note about",
        "where did i write about",
        "where did i mention",
        "where did i note",
        "where do i mention",
        "where do i write about",
        "where have i written about",
        "which notes mention",
        "which notes are about",
        "what notes do i have on",
        "what notes do i have about",
        "do i have notes on",
        "do i have notes about",
        "do i have any notes on",
        "do i have any notes about",
        "do i have anything on",
        "do i have anything about",
        "do we have anything on",
        "is there anything about",
        "is there anything on",
        "is there a note about",
        "is there a note on",
        "have i written about",
        "have i written anything about",
        "what is known about",
        "what do my notes say about",
        "what do the notes say about",
        "remind me what i know about",
        "where is",
        "where are",
        "did i write about",
        "did i write anything about",
        "what information do i have on",
        "what information do i have about",
    ];
    let length = heads.iter().filter_map(|phrase| stands(tokens, range.start, phrase)).max().unwrap_or(0);
    let asks = tokens.list.get(range.end.checked_sub(1)?).is_some_and(|token| token.mark == Some('?'))
        || tokens.source.trim_end().ends_with('?');
    let begins = is(tokens, range.start, ASKING) && range.len() > 1;
    if !asks && !begins {
        return None;
    }
    let start = if range.start + length < range.end { range.start + length } else { range.start };
    let text = clean(&tokens.line(start..range.end));
    (!text.is_empty()).then_some(Request::Find { text })
}

/// Returns whether one of some words stands at a place, outside quotation marks.
fn is(tokens: &Tokens<'_>, at: usize, words: &[&str]) -> bool {
    tokens.list.get(at).is_some_and(|token| token.is_any(words))
}
