//! Commands: add, note, schedule, mark done, set, move, find.

use crate::domain::recall::clause::{clean, name};
use crate::domain::recall::grammar::stands;
use crate::domain::recall::request::Request;
use crate::domain::recall::token::Tokens;
use jiff::civil::DateTime;
use std::ops::Range;

mod add;
mod change;
mod plan;

/// Reads a command; `None` when the words are none.
pub(super) fn parse(tokens: &Tokens<'_>, range: Range<usize>, now: DateTime) -> Option<Request> {
    let words = Words { tokens, now };
    words
        .place_first(range.clone())
        .or_else(|| words.add(range.clone()))
        .or_else(|| words.reminder(range.clone()))
        .or_else(|| words.property(range.clone()))
        .or_else(|| words.deadline(range.clone()))
        .or_else(|| words.unschedule(range.clone()))
        .or_else(|| words.state(range.clone()))
        .or_else(|| words.done(range.clone()))
        .or_else(|| words.relocate(range.clone()))
        .or_else(|| words.schedule(range.clone()))
        .or_else(|| words.find(range.clone()))
        .or_else(|| words.note(range))
}

#[derive(Clone, Copy)]
struct Words<'a, 't> {
    tokens: &'a Tokens<'t>,
    now: DateTime,
}

impl Words<'_, '_> {
    pub(super) fn is(&self, at: usize, words: &[&str]) -> bool {
        self.tokens.list.get(at).is_some_and(|token| token.is_any(words))
    }

    pub(super) fn mark(&self, at: usize) -> Option<char> {
        self.tokens.list.get(at).and_then(|token| token.mark)
    }

    /// Returns where the longest of some phrases that stands at a place ends; something must follow it.
    pub(super) fn after(&self, range: &Range<usize>, phrases: &[&str]) -> Option<usize> {
        let length = phrases.iter().filter_map(|phrase| stands(self.tokens, range.start, phrase)).max()?;
        Some(range.start + length).filter(|at| *at < range.end)
    }

    pub(super) fn name(&self, range: Range<usize>) -> Option<String> {
        Some(name(self.tokens, range)).filter(|name| !name.is_empty())
    }
    /// “find X”, “search for X”, “show me notes about X”.
    fn find(&self, range: Range<usize>) -> Option<Request> {
        let heads = [
            "find",
            "find me",
            "find all",
            "find notes about",
            "find notes on",
            "find my notes on",
            "find my notes about",
            "find everything about",
            "find anything about",
            "find anything on",
            "find the note about",
            "find the notes about",
            "search",
            "search for",
            "search my notes for",
            "search notes for",
            "search the notes for",
            "search everything for",
            "look for",
            "look up",
            "lookup",
            "grep",
            "grep for",
            "locate",
            "show me notes about",
            "show me notes on",
            "show notes about",
            "show notes on",
            "show me my notes on",
            "show me my notes about",
            "show me everything about",
            "show me everything on",
            "show everything about",
            "show me anything about",
            "show me what i wrote about",
            "show me what i have on",
            "show me what i know about",
            "notes about",
            "notes on",
            "my notes on",
            "my notes about",
            "note about",
            "note on",
            "anything about",
            "anything on",
            "everything about",
            "everything on",
            "list notes about",
            "list notes on",
            "list everything about",
            "passages about",
            "show me the note about",
            "show me",
            "show",
            "open the note about",
            "give me my notes on",
            "query",
        ];
        let at = self.after(&range, &heads)?;
        let text = clean(&self.tokens.line(at..range.end));
        (!text.is_empty()).then_some(Request::Find { text })
    }
}
