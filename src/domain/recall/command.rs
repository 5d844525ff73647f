//! Commands: add, note, schedule, mark done, set, move, find.

use crate::domain::recall::clause::{clean, name};
use crate::domain::recall::date;
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
    let read = words.read(range.clone());
    match words.no_date(range) {
        Some(no_date) if read.as_ref().is_some_and(takes_dates) => Some(no_date),
        _ => read,
    }
}

/// Returns whether a command may have a date; the words of a note, a state or a search are no date.
fn takes_dates(request: &Request) -> bool {
    matches!(request, Request::AddTodo { .. } | Request::Schedule { .. } | Request::ScheduleWhen { .. })
}

#[derive(Clone, Copy)]
struct Words<'a, 't> {
    tokens: &'a Tokens<'t>,
    now: DateTime,
}

impl Words<'_, '_> {
    /// Tries the commands in their order.
    fn read(&self, range: Range<usize>) -> Option<Request> {
        self.place_first(range.clone())
            .or_else(|| self.tags(range.clone()))
            .or_else(|| self.given(range.clone()))
            .or_else(|| self.add(range.clone()))
            .or_else(|| self.reminder(range.clone()))
            .or_else(|| self.property(range.clone()))
            .or_else(|| self.deadline(range.clone()))
            .or_else(|| self.unschedule(range.clone()))
            .or_else(|| self.state(range.clone()))
            .or_else(|| self.done(range.clone()))
            .or_else(|| self.relocate(range.clone()))
            .or_else(|| self.schedule(range.clone()))
            .or_else(|| self.find(range.clone()))
            .or_else(|| self.note(range))
    }

    pub(super) fn is(&self, at: usize, words: &[&str]) -> bool {
        self.tokens.list.get(at).is_some_and(|token| token.is_any(words))
    }

    pub(super) fn is_quoted(&self, at: usize) -> bool {
        self.tokens.list.get(at).is_some_and(|token| token.quoted)
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

    /// “by 31 Feb”, “for 2026-02-30”: a day with its number that is in no calendar, where a command has its date.
    fn no_date(&self, range: Range<usize>) -> Option<Request> {
        let joints = ["on", "for", "by", "to", "until", "till", "before", "due", "deadline", "from", "the"];
        for at in range.start + 1..range.end {
            let words = self.tokens.list.get(at..range.end)?;
            let Some(length) = date::impossible(words).filter(|_| self.is(at - 1, &joints)) else { continue };
            return Some(Request::NoDate { words: self.tokens.line(at..at + length) });
        }
        None
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
