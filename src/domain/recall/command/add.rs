//! Commands that make something new: headings to do, notes.

use super::Words;
use crate::domain::recall::clause::{Clauses, Places, clean, date_clause, peel, pointer};
use crate::domain::recall::request::{Request, THIS};
use std::ops::Range;

/// What a new heading to do is called.
const TODOS: &[&str] = &[
    "todo",
    "to-do",
    "task",
    "action",
    "item",
    "reminder",
    "todos",
    "next action",
    "action item",
    "todo item",
    "to do",
    "todo entry",
    "to-do item",
    "next step",
    "entry",
];
/// What a new heading to keep is called.
const NOTES: &[&str] = &["note", "memo", "thought", "idea", "quick note", "short note", "note to self"];
/// What a heading has: who adds one of these means no new heading.
const ABOUT: &[&str] = &[
    "property",
    "properties",
    "priority",
    "deadline",
    "effort",
    "schedule",
    "scheduled",
    "keyword",
    "drawer",
    "timestamp",
];
/// Words between such a noun and its title.
const JOINTS: &[&str] =
    &["to", "that", "called", "named", "titled", "about", "for", "saying", "which says", "that says", "of"];
/// What begins a new heading to do by itself.
const REMINDERS: &[&str] = &[
    "remind me to",
    "remind me about",
    "remind me of",
    "remind me that",
    "remind me",
    "i need to",
    "i have to",
    "i must",
    "i should",
    "do not forget to",
    "don't forget to",
    "dont forget to",
    "don't let me forget to",
    "remember to",
    "i am going to",
    "i still have to",
    "i still need to",
    "set a reminder to",
    "set a reminder for",
    "set reminder to",
];
/// What begins a note by itself.
const KEEPERS: &[&str] = &[
    "note down that",
    "note down",
    "note that",
    "note",
    "take a note that",
    "take a note of",
    "take a note",
    "take note that",
    "take note of",
    "make a note that",
    "make a note of",
    "make a note to self",
    "make a note",
    "jot down that",
    "jot down",
    "jot",
    "write down that",
    "write down",
    "remember that",
    "remember",
    "save a note that",
    "save a note",
    "record that",
    "note to self",
    "record",
    "keep a note that",
    "keep in mind that",
    "log that",
    "log",
    "memo",
    "idea",
    "for the record",
];

impl Words<'_, '_> {
    /// “under Kitchen, add a todo: paint the walls”.
    pub(super) fn place_first(&self, range: Range<usize>) -> Option<Request> {
        if !self.is(range.start, &["under", "in", "below"]) {
            return None;
        }
        let verbs = ["add", "create", "note", "remember", "todo", "insert"];
        let at = (range.start + 2..range.end).find(|at| self.is(*at, &verbs))?;
        let place = self.name(range.start + 1..at)?;
        match self.add(at..range.end).or_else(|| self.note(at..range.end))? {
            Request::AddTodo { title, under: None, scheduled, deadline } => {
                Some(Request::AddTodo { title, under: Some(place), scheduled, deadline })
            }
            Request::Note { text, under: None } => Some(Request::Note { text, under: Some(place) }),
            _ => None,
        }
    }

    /// “add a todo … under … by …”, “todo: …”, “add … to the shopping list”, “new note: …”.
    pub(super) fn add(&self, range: Range<usize>) -> Option<Request> {
        let verb =
            self.after(&range, &["add", "create", "make", "new", "insert", "append", "capture", "put", "set up"]);
        let mut at = verb.unwrap_or(range.start);
        while at + 1 < range.end && self.is(at, &["a", "an", "the", "another", "one", "new", "me", "this", "my"]) {
            at += 1;
        }
        if verb.is_some() && !self.is_quoted(at) && self.mark(at - 1) != Some(':') && self.is(at, ABOUT) {
            return None;
        }
        let rest = at..range.end;
        if let (Some(after), Some(_)) = (self.after(&rest, NOTES), verb) {
            return self.keep(after..range.end);
        }
        if let Some(after) = self.after(&rest, TODOS) {
            // “action” and “item” begin a command only behind a verb.
            let bare = verb.is_none() && !self.is(range.start, &["todo", "to-do", "task", "reminder"]);
            return if bare { None } else { self.todo(after..range.end) };
        }
        let adds = self.is(range.start, &["add", "append", "capture", "insert"]);
        let start = verb?;
        if adds {
            return self.todo_in_list(start..range.end);
        }
        // “put milk on my list”.
        let found = peel(self.tokens, start..range.end, self.now, Places::Taken);
        let puts = self.is(range.start, &["put"]) && found.under.is_some() && self.listed(range.end - 1);
        if puts { self.todo(start..range.end) } else { None }
    }

    pub(super) fn listed(&self, last: usize) -> bool {
        self.is(last, &["list", "inbox", "todos", "tasks"])
    }

    /// “add milk to shopping”: without a noun, the last “to” begins the place.
    fn todo_in_list(&self, range: Range<usize>) -> Option<Request> {
        let found = peel(self.tokens, range.clone(), self.now, Places::Taken);
        let to = (found.rest.start + 1..found.rest.end.saturating_sub(1)).rev().find(|at| self.is(*at, &["to"]));
        match (&found.under, to) {
            (None, Some(to)) => {
                let under = self.name(to + 1..found.rest.end);
                self.new_todo(Clauses { rest: found.rest.start..to, under, ..found })
            }
            _ => self.todo(range),
        }
    }

    fn todo(&self, range: Range<usize>) -> Option<Request> {
        let mut start = range.start;
        if let Some(at) = self.front_place(&range) {
            let (place, rest) = at;
            let found = peel(self.tokens, rest, self.now, Places::Left);
            return self.new_todo(Clauses { under: Some(place), ..found });
        }
        let colon = range.start > 0 && self.mark(range.start - 1) == Some(':');
        if !colon {
            // “add a todo for Friday: …” and “add a todo for the kitchen: …” keep their “for” until dates are read.
            if date_clause(self.tokens, range.clone(), self.now).is_none() {
                start = self.after(&range, JOINTS).unwrap_or(start);
            }
        }
        self.new_todo(peel(self.tokens, start..range.end, self.now, Places::Taken))
    }

    /// “under Kitchen: paint the walls”.
    fn front_place(&self, range: &Range<usize>) -> Option<(String, Range<usize>)> {
        if !self.is(range.start, &["under", "in", "to", "below", "for"]) {
            return None;
        }
        let colon = (range.start + 1..range.end.saturating_sub(1)).find(|at| self.mark(*at) == Some(':'))?;
        // “for Friday: …” is a date.
        let dated = date_clause(self.tokens, range.start..colon + 1, self.now);
        if dated.is_some_and(|(_, _, used)| range.start + used == colon + 1) {
            return None;
        }
        Some((self.name(range.start + 1..colon + 1)?, colon + 1..range.end))
    }

    pub(super) fn new_todo(&self, found: Clauses) -> Option<Request> {
        let title = clean(&self.tokens.line(found.rest));
        let Clauses { scheduled, deadline, under, .. } = found;
        (!title.is_empty()).then_some(Request::AddTodo { title, under, scheduled, deadline })
    }

    /// “remind me to call mum on Friday”.
    pub(super) fn reminder(&self, range: Range<usize>) -> Option<Request> {
        let at = self.after(&range, REMINDERS)?;
        self.new_todo(peel(self.tokens, at..range.end, self.now, Places::Taken))
    }

    /// “note: …”, “remember that … under …”.
    pub(super) fn note(&self, range: Range<usize>) -> Option<Request> {
        let at = self.after(&range, KEEPERS)?;
        // “notes on X” and “note about X” are looked for, not kept.
        if self.is(at, &["on", "about"]) && self.mark(at - 1) != Some(':') {
            return None;
        }
        self.keep(at..range.end)
    }

    fn keep(&self, range: Range<usize>) -> Option<Request> {
        if let Some((place, rest)) = self.front_place(&range) {
            let text = clean(self.tokens.whole(rest));
            return (!text.is_empty()).then_some(Request::Note { text, under: Some(place) });
        }
        if let Some(rest) = self.onto_this(&range) {
            let text = clean(self.tokens.whole(rest));
            return (!text.is_empty()).then_some(Request::Note { text, under: Some(THIS.to_string()) });
        }
        let colon = self.mark(range.start.saturating_sub(1)) == Some(':');
        let start = if colon { range.start } else { self.after(&range, JOINTS).unwrap_or(range.start) };
        let found = self.place_of(start..range.end);
        let (rest, under) = found.unwrap_or((start..range.end, None));
        let text = clean(self.tokens.whole(rest));
        (!text.is_empty()).then_some(Request::Note { text, under })
    }

    /// “to this that the code is 4711”, “to it saying …”: the words of a note for the heading at point.
    fn onto_this(&self, range: &Range<usize>) -> Option<Range<usize>> {
        if !self.is(range.start, &["to", "under", "on", "below", "for"]) {
            return None;
        }
        let at = range.start + 1 + pointer(self.tokens, range.start + 1)?;
        let said = self.after(&(at..range.end), &["that", "saying", "which says", "that says"]);
        let quoted = self.tokens.list.get(at).is_some_and(|token| token.quoted).then_some(at);
        said.or(quoted).map(|at| at..range.end)
    }

    /// Takes a place off the end of a note; its dates stay in its text.
    fn place_of(&self, range: Range<usize>) -> Option<(Range<usize>, Option<String>)> {
        let at = (range.start + 1..range.end.saturating_sub(1)).rev().find(|at| {
            let ended = |at: usize| matches!(self.mark(at), Some('.' | '!' | '?' | ';'));
            let one_sentence = !(range.start..*at).any(ended);
            let to_place = one_sentence
                && self.is(*at, &["to", "in", "into"])
                && self
                    .is(range.end - 1, &["inbox", "journal", "list", "project", "heading", "section", "file", "log"]);
            self.is(*at, &["under", "beneath", "underneath", "below"]) || to_place
        })?;
        Some((range.start..at, self.name(at + 1..range.end)))
    }
}
