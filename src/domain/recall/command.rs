//! Commands: add, note, schedule, mark done, set, move, find.

use crate::domain::recall::clause::{Clauses, Places, clean, date_clause, name, peel, when_of};
use crate::domain::recall::date::{Lean, days};
use crate::domain::recall::grammar::stands;
use crate::domain::recall::request::{Planning, Request, When};
use crate::domain::recall::token::Tokens;
use jiff::civil::DateTime;
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
/// Words for keywords, and the keyword; `None` is any keyword that means done.
const STATES: &[(&str, Option<&str>)] = &[
    ("done", None),
    ("complete", None),
    ("completed", None),
    ("finished", None),
    ("closed", None),
    ("todo", Some("TODO")),
    ("to-do", Some("TODO")),
    ("to do", Some("TODO")),
    ("next", Some("NEXT")),
    ("waiting", Some("WAITING")),
    ("on hold", Some("HOLD")),
    ("hold", Some("HOLD")),
    ("started", Some("STARTED")),
    ("in progress", Some("STARTED")),
    ("cancelled", Some("CANCELLED")),
    ("canceled", Some("CANCELLED")),
    ("someday", Some("SOMEDAY")),
    ("maybe", Some("MAYBE")),
    ("blocked", Some("BLOCKED")),
    ("delegated", Some("DELEGATED")),
];
/// Properties that may be named without the word “property”.
const PROPERTIES: &[&str] = &["effort", "category", "location", "url", "phone", "email"];

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
    fn is(&self, at: usize, words: &[&str]) -> bool {
        self.tokens.list.get(at).is_some_and(|token| token.is_any(words))
    }

    fn mark(&self, at: usize) -> Option<char> {
        self.tokens.list.get(at).and_then(|token| token.mark)
    }

    /// Returns where the longest of some phrases that stands at a place ends; something must follow it.
    fn after(&self, range: &Range<usize>, phrases: &[&str]) -> Option<usize> {
        let length = phrases.iter().filter_map(|phrase| stands(self.tokens, range.start, phrase)).max()?;
        Some(range.start + length).filter(|at| *at < range.end)
    }

    fn name(&self, range: Range<usize>) -> Option<String> {
        Some(name(self.tokens, range)).filter(|name| !name.is_empty())
    }

    /// “under Kitchen, add a todo: paint the walls”.
    fn place_first(&self, range: Range<usize>) -> Option<Request> {
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
    fn add(&self, range: Range<usize>) -> Option<Request> {
        let verb =
            self.after(&range, &["add", "create", "make", "new", "insert", "append", "capture", "put", "set up"]);
        let mut at = verb.unwrap_or(range.start);
        while at + 1 < range.end && self.is(at, &["a", "an", "the", "another", "one", "new", "me", "this", "my"]) {
            at += 1;
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

    fn listed(&self, last: usize) -> bool {
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

    fn new_todo(&self, found: Clauses) -> Option<Request> {
        let title = clean(&self.tokens.line(found.rest));
        let Clauses { scheduled, deadline, under, .. } = found;
        (!title.is_empty()).then_some(Request::AddTodo { title, under, scheduled, deadline })
    }

    /// “remind me to call mum on Friday”.
    fn reminder(&self, range: Range<usize>) -> Option<Request> {
        let at = self.after(&range, REMINDERS)?;
        self.new_todo(peel(self.tokens, at..range.end, self.now, Places::Taken))
    }

    /// “note: …”, “remember that … under …”.
    fn note(&self, range: Range<usize>) -> Option<Request> {
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
        let colon = self.mark(range.start.saturating_sub(1)) == Some(':');
        let start = if colon { range.start } else { self.after(&range, JOINTS).unwrap_or(range.start) };
        let found = self.place_of(start..range.end);
        let (rest, under) = found.unwrap_or((start..range.end, None));
        let text = clean(self.tokens.whole(rest));
        (!text.is_empty()).then_some(Request::Note { text, under })
    }

    /// Takes a place off the end of a note; its dates stay in its text.
    fn place_of(&self, range: Range<usize>) -> Option<(Range<usize>, Option<String>)> {
        let at = (range.start + 1..range.end.saturating_sub(1)).rev().find(|at| {
            let to_place = self.is(*at, &["to", "in", "into"])
                && self
                    .is(range.end - 1, &["inbox", "journal", "list", "project", "heading", "section", "file", "log"]);
            self.is(*at, &["under", "beneath", "underneath", "below"]) || to_place
        })?;
        Some((range.start..at, self.name(at + 1..range.end)))
    }

    /// “set the deadline of X to Friday”, “X is due on Friday”, “deadline for X: 25 Nov”.
    fn deadline(&self, range: Range<usize>) -> Option<Request> {
        let heads = [
            "set a deadline",
            "set the deadline",
            "set deadline",
            "add a deadline",
            "add deadline",
            "deadline",
            "change the deadline",
            "move the deadline",
            "set the due date",
            "set due date",
            "change the due date",
            "give a deadline",
            "due date",
            "extend the deadline",
            "put a deadline",
        ];
        let at = self.after(&range, &heads)?;
        let at = if self.is(at, &["of", "for", "on"]) { at + 1 } else { at };
        let (target, days) =
            self.target_and_days(at..range.end, &["to", "on", "for", "is", "at", "by", "as", "until"])?;
        let when = when_of(days, Planning::Deadline, false, self.now)?;
        Some(Request::Schedule { target, plans: vec![(Planning::Deadline, Some(when))] })
    }

    /// Splits “X to Friday” into a name and days.
    fn target_and_days(
        &self,
        range: Range<usize>,
        joints: &[&str],
    ) -> Option<(String, crate::domain::recall::date::Days)> {
        let first = (range.start + 1).max(range.end.saturating_sub(12));
        for at in first..range.end {
            let introduced = self.is(at - 1, joints);
            // “in” and “at” belong to some dates, and introduce others.
            let skip = usize::from(self.is(at, joints) || self.is(at, &["in"]) && self.plain_in(at, range.end));
            let words = self.tokens.list.get(at + skip..range.end)?;
            let Some((days, used)) = days(words, self.now, Lean::Coming, introduced || skip > 0) else { continue };
            if at + skip + used == range.end {
                let end = if introduced { at - 1 } else { at };
                return Some((self.name(range.start..end)?, days));
            }
        }
        None
    }

    /// Returns whether “in” stands before a month or year, not a count.
    fn plain_in(&self, at: usize, end: usize) -> bool {
        self.tokens.list.get(at..end).is_some_and(|words| days(words, self.now, Lean::Coming, true).is_none())
    }

    /// “unschedule X”, “remove the deadline of X”.
    fn unschedule(&self, range: Range<usize>) -> Option<Request> {
        if let Some(at) = self.after(&range, &["unschedule", "deschedule"]) {
            return Some(Request::Schedule {
                target: self.name(at..range.end)?,
                plans: vec![(Planning::Scheduled, None)],
            });
        }
        let at = self.after(&range, &["remove", "clear", "delete", "drop", "cancel", "unset"])?;
        let at = if self.is(at, &["the"]) { at + 1 } else { at };
        let rest = at..range.end;
        let (at, planning) = match self.after(&rest, &["deadline", "due date"]) {
            Some(at) => (at, Planning::Deadline),
            None => {
                (self.after(&rest, &["schedule", "scheduled date", "scheduling", "planned date"])?, Planning::Scheduled)
            }
        };
        let at = if self.is(at, &["of", "from", "for", "on"]) { at + 1 } else { at };
        Some(Request::Schedule { target: self.name(at..range.end)?, plans: vec![(planning, None)] })
    }

    /// “schedule X for Friday at 15:00”, “postpone X until Monday”, “put X on Tuesday”.
    fn schedule(&self, range: Range<usize>) -> Option<Request> {
        let verbs = [
            "schedule",
            "reschedule",
            "plan",
            "postpone",
            "defer",
            "delay",
            "push",
            "push back",
            "put",
            "put off",
            "set",
            "bring forward",
            "move",
            "shift",
            "do",
            "book",
            "pencil in",
            "re-schedule",
        ];
        let at = self.after(&range, &verbs)?;
        if self.is(at, &["a", "an"]) && self.is(range.start, &["schedule", "plan", "book"]) {
            // “schedule a call with Bob on Friday” wants something new.
            return self.new_todo(peel(self.tokens, at + 1..range.end, self.now, Places::Taken)).filter(dated);
        }
        let found = peel(self.tokens, at..range.end, self.now, Places::Left);
        let to = self.target_and_days(at..range.end, &["to", "until", "till", "for", "on"]);
        let plans = match &to {
            // “until” is a deadline only where something is to be finished.
            Some((_, days)) if found.deadline.is_none() || self.until(&found) => {
                vec![(Planning::Scheduled, Some(when_of(*days, Planning::Scheduled, false, self.now)?))]
            }
            _ => found.plans(),
        };
        let target = match to {
            Some((target, _)) if found.plans().len() < 2 && (found.deadline.is_none() || self.until(&found)) => target,
            _ => self.name(found.rest.clone())?,
        };
        let plans = if found.plans().len() == 2 { found.plans() } else { plans };
        (!plans.is_empty()).then_some(Request::Schedule { target, plans })
    }

    fn until(&self, found: &Clauses) -> bool {
        self.is(found.rest.end, &["until", "till"])
    }

    /// “mark X as done”, “I finished X”, “X is done”, “tick off X”, “complete X”.
    fn done(&self, range: Range<usize>) -> Option<Request> {
        let heads = [
            "done with",
            "i am done with",
            "i did",
            "i finished",
            "i have finished",
            "i completed",
            "i have completed",
            "i have done",
            "i just finished",
            "i have just finished",
            "finish",
            "finished",
            "complete",
            "completed",
            "close",
            "check off",
            "tick off",
            "cross off",
            "cross out",
            "tick",
            "check",
            "done",
            "resolve",
            "i got done with",
            "i just did",
            "finished with",
            "i am finished with",
            "i closed",
            "strike off",
        ];
        if let Some(end) =
            self.ends(&range, &["is done", "is finished", "is complete", "is completed", "are done", "has been done"])
        {
            // “when X is done …” and questions are no statements.
            let asks = self.is(range.start, &["what", "which", "who", "when", "if", "how", "is", "are"]);
            return if asks { None } else { Some(Request::MarkDone { target: self.name(range.start..end)? }) };
        }
        if self.is(range.start, &["check", "tick", "cross"]) && self.is(range.end - 1, &["off", "out"]) {
            return Some(Request::MarkDone { target: self.name(range.start + 1..range.end - 1)? });
        }
        let at = self.after(&range, &heads)?;
        Some(Request::MarkDone { target: self.name(at..range.end)? })
    }

    fn ends(&self, range: &Range<usize>, phrases: &[&str]) -> Option<usize> {
        let fits = |phrase: &&str| crate::domain::recall::grammar::stands_before(self.tokens, range.end, phrase);
        let length = phrases.iter().filter_map(fits).max()?;
        range.end.checked_sub(length).filter(|end| *end > range.start)
    }

    /// “set X to WAITING”, “mark X as waiting”, “make X a NEXT”, “cancel X”, “reopen X”.
    fn state(&self, range: Range<usize>) -> Option<Request> {
        if let Some(at) = self.after(&range, &["reopen", "re-open", "undone", "uncheck"]) {
            return Some(Request::SetTodo { target: self.name(at..range.end)?, state: None });
        }
        if self.is(range.start, &["cancel"]) && range.len() > 1 {
            let target = self.name(range.start + 1..range.end)?;
            return Some(Request::SetTodo { target, state: Some("CANCELLED".to_string()) });
        }
        let heads = [
            "mark",
            "set",
            "change",
            "make",
            "turn",
            "flag",
            "set the state of",
            "set the status of",
            "set the keyword of",
            "change the state of",
            "change the status of",
            "change the keyword of",
            "set state of",
            "change state of",
            "put",
            "set the todo state of",
            "move",
        ];
        let at = self.after(&range, &heads)?;
        let (state, begin) = self.state_at_end(at, range.end)?;
        let mut end = begin;
        while end > at + 1 && self.is(end - 1, &["as", "to", "a", "an", "into", "state", "being", "the", "on"]) {
            end -= 1;
        }
        // “make X done” needs no joint, “put X next” does.
        let joined =
            end < begin || self.is(begin, &["on", "in"]) || self.is(range.start, &["mark", "make", "set", "flag"]);
        let target = joined.then(|| self.name(at..end)).flatten()?;
        Some(match state {
            None => Request::MarkDone { target },
            state => Request::SetTodo { target, state },
        })
    }

    /// Reads a keyword at the end: a word for one, or one typed in capitals behind “to” or “as”.
    fn state_at_end(&self, start: usize, end: usize) -> Option<(Option<String>, usize)> {
        for (words, state) in STATES {
            if let Some(length) = crate::domain::recall::grammar::stands_before(self.tokens, end, words)
                && end - length > start
            {
                return Some((state.map(str::to_string), end - length));
            }
        }
        let word = self.tokens.text(end.checked_sub(1)?..end);
        let capitals = word.len() >= 3 && word.bytes().all(|b| b.is_ascii_uppercase() || b == b'-' || b == b'_');
        let joined = end > start + 2 && self.is(end - 2, &["to", "as", "a", "an"]);
        (capitals && joined).then(|| (Some(word.to_string()), end - 1))
    }

    /// “set property EFFORT of X to 1:00”, “set the effort of X to 2h”, “remove property URL from X”.
    fn property(&self, range: Range<usize>) -> Option<Request> {
        let removes = self.after(&range, &["remove", "delete", "clear", "unset"]);
        let at = removes.or_else(|| self.after(&range, &["set", "change", "add"]))?;
        let at = if self.is(at, &["the", "a"]) { at + 1 } else { at };
        let (key, named) = if self.is(at, &["property"]) { (at + 1, true) } else { (at, false) };
        let text = self.tokens.text(key..key + 1);
        let capitals = text.len() >= 3 && text.bytes().all(|b| b.is_ascii_uppercase() || b == b'_' || b == b'-');
        let known = named || capitals || PROPERTIES.contains(&text.to_lowercase().as_str());
        let of = self.is(key + 1, &["of", "on", "for", "from", "in"]);
        let valid = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if !known || !valid || !of || key + 2 >= range.end {
            return None;
        }
        let property = text.to_uppercase();
        if removes.is_some() {
            return Some(Request::SetProperty { target: self.name(key + 2..range.end)?, property, value: None });
        }
        let to = (key + 3..range.end.saturating_sub(1)).rev().find(|at| self.is(*at, &["to", "as"]))?;
        let value = clean(&self.tokens.line(to + 1..range.end));
        let target = self.name(key + 2..to)?;
        (!value.is_empty()).then_some(Request::SetProperty { target, property, value: Some(value) })
    }

    /// “move X under Y”, “refile X to Y”, “file X under Y”; a date behind “to” schedules.
    fn relocate(&self, range: Range<usize>) -> Option<Request> {
        let at = self.after(&range, &["move", "refile", "file", "transfer", "put", "shift", "re-file", "relocate"])?;
        let joints = ["to", "under", "into", "below", "beneath", "underneath", "in", "inside"];
        let joint = (at + 1..range.end.saturating_sub(1)).rev().find(|at| self.is(*at, &joints))?;
        let words = self.tokens.list.get(joint + 1..range.end)?;
        let dated = days(words, self.now, Lean::Coming, true).is_some_and(|(_, used)| used == words.len());
        let counted = self.is(joint, &["in"]) && !self.plain_in(joint, range.end);
        if dated || counted || (self.is(joint, &["in"]) && self.is(range.start, &["put"]) && self.listed(range.end - 1))
        {
            return None;
        }
        Some(Request::Move { target: self.name(at..joint)?, to: self.name(joint + 1..range.end)? })
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

fn dated(request: &Request) -> bool {
    let has = |scheduled: &Option<When>, deadline: &Option<When>| scheduled.is_some() || deadline.is_some();
    matches!(request, Request::AddTodo { scheduled, deadline, .. } if has(scheduled, deadline))
}
