//! Clauses at the ends of a command: “on Friday”, “by 25 Nov”, “under Kitchen”.

use crate::domain::recall::date::{Days, Lean, days};
use crate::domain::recall::request::{Planning, THIS, When};
use crate::domain::recall::token::Tokens;
use jiff::civil::DateTime;
use std::ops::Range;

/// How many words a date clause may have.
const LONGEST: usize = 12;
/// Words that begin a place, whatever it is.
const UNDER: &[&str] = &["under", "beneath", "underneath", "below"];
/// Words that begin a place when what follows is clearly one.
const MAYBE_UNDER: &[&str] = &["to", "in", "into", "on", "inside", "within"];
/// Words that say that something is a place in Org files.
const PLACES: &[&str] = &[
    "list", "project", "projects", "heading", "headline", "section", "file", "inbox", "area", "category", "journal",
    "log", "notes", "tasks", "todos",
];
/// Words before a name that are no part of it.
const BEFORE_NAMES: &[&str] =
    &["the", "my", "our", "a", "an", "this", "that", "heading", "headline", "task", "todo", "item", "called", "named"];

/// What the heading at point may be called.
const KINDS: &[&str] =
    &["heading", "headline", "task", "todo", "item", "entry", "note", "project", "one", "subtree", "section"];

/// What “this” stands before in a date.
const PERIODS: &[&str] = &[
    "week",
    "weekend",
    "month",
    "quarter",
    "year",
    "morning",
    "noon",
    "afternoon",
    "evening",
    "night",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "coming",
];

/// The clauses of a command, and what is left.
#[derive(Debug)]
pub(super) struct Clauses {
    /// The words that are no clause.
    pub rest: Range<usize>,
    /// “on Friday”.
    pub scheduled: Option<When>,
    /// “by Friday”.
    pub deadline: Option<When>,
    /// “under Kitchen”.
    pub under: Option<String>,
}

impl Clauses {
    /// Returns the dates in the order of Org.
    pub fn plans(&self) -> Vec<(Planning, Option<When>)> {
        let scheduled = self.scheduled.map(|when| (Planning::Scheduled, Some(when)));
        let deadline = self.deadline.map(|when| (Planning::Deadline, Some(when)));
        scheduled.into_iter().chain(deadline).collect()
    }
}

/// Whether a command has a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Places {
    /// It may have one.
    Taken,
    /// It has none: “under” is part of the name.
    Left,
}

/// Takes dates and a place off the end, and dates off the front, of some words.
pub(super) fn peel(tokens: &Tokens<'_>, range: Range<usize>, now: DateTime, places: Places) -> Clauses {
    let mut found = Clauses { rest: range, scheduled: None, deadline: None, under: None };
    // Two dates and a place, in any order.
    for _ in 0..3 {
        if peel_date(tokens, &mut found, now) {
            continue;
        }
        if places == Places::Left || found.under.is_some() || !peel_place(tokens, &mut found) {
            break;
        }
    }
    peel_front(tokens, &mut found, now);
    found
}

fn peel_date(tokens: &Tokens<'_>, found: &mut Clauses, now: DateTime) -> bool {
    let Range { start, end } = found.rest.clone();
    let first = (start + 1).max(end.saturating_sub(LONGEST));
    for at in first..end {
        if let Some((planning, when, used)) = date_clause(tokens, at..end, now)
            && at + used == end
            && place(found, planning, when)
        {
            found.rest.end = without_joint(tokens, start, at);
            return true;
        }
    }
    false
}

/// “for tomorrow: buy milk”, “on Friday to call mum”, “tomorrow, buy milk”.
fn peel_front(tokens: &Tokens<'_>, found: &mut Clauses, now: DateTime) {
    let Range { start, end } = found.rest.clone();
    let Some((planning, when, used)) = date_clause(tokens, start..end, now) else { return };
    let behind = start + used;
    let Some(last) = tokens.list.get(behind - 1).filter(|_| behind < end) else { return };
    let to = tokens.list.get(behind).is_some_and(|token| token.is_any(&["to", "that"]));
    let parted = to || matches!(last.mark, Some(':' | ',')) || last.is_any(&["today", "tomorrow", "tonight"]);
    if parted && place(found, planning, when) {
        found.rest.start = if to && behind + 1 < end { behind + 1 } else { behind };
    }
}

fn place(found: &mut Clauses, planning: Planning, when: When) -> bool {
    let slot = match planning {
        Planning::Scheduled => &mut found.scheduled,
        Planning::Deadline => &mut found.deadline,
    };
    let free = slot.is_none();
    if free {
        *slot = Some(when);
    }
    free
}

/// Leaves out “and” and “with a” between two clauses.
fn without_joint(tokens: &Tokens<'_>, start: usize, at: usize) -> usize {
    let mut end = at;
    while end > start + 1 && tokens.list.get(end - 1).is_some_and(|token| token.is_any(&["and", "with", "a", "&", "-"]))
    {
        end -= 1;
    }
    end
}

/// Reads a date clause from the beginning of some words; returns how many it took.
pub(super) fn date_clause(tokens: &Tokens<'_>, range: Range<usize>, now: DateTime) -> Option<(Planning, When, usize)> {
    let words = tokens.list.get(range)?;
    let word = |at: usize, any: &[&str]| words.get(at).is_some_and(|token| token.is_any(any));
    let mut at = 0;
    let mut planning = Planning::Scheduled;
    let mut before = false;
    if word(0, &["no", "not"]) && word(1, &["later"]) && word(2, &["than"]) {
        (planning, at) = (Planning::Deadline, 3);
    } else if word(0, &["due", "deadline", "deadline:", "due:"]) {
        planning = Planning::Deadline;
        at = 1;
        while word(at, &["date", "on", "by", "is", "of", "at", "for", "to", "the"]) && at < 4 {
            at += 1;
        }
    } else if word(0, &["by", "before", "until", "till"]) {
        planning = Planning::Deadline;
        before = word(0, &["before"]);
        at = 1;
    } else if word(0, &["scheduled", "starting", "start", "schedule", "beginning"]) {
        at = 1;
        while word(at, &["for", "on", "at", "to", "from", "it"]) && at < 4 {
            at += 1;
        }
    } else if word(0, &["on", "for", "from"]) {
        at = 1;
    }
    // “at 3” and “in two weeks” read their first word themselves; before other dates it only introduces.
    let own = word(at, &["at", "in", "around"]).then(|| days(words.get(at..)?, now, Lean::Coming, true)).flatten();
    let (found, used) = match own {
        Some((found, used)) => (found, at + used),
        None => {
            let skip = usize::from(word(at, &["at", "in", "around", "on"]));
            let (found, used) = days(words.get(at + skip..)?, now, Lean::Coming, at + skip > 0)?;
            (found, at + skip + used)
        }
    };
    Some((planning, when_of(found, planning, before, now)?, used))
}

/// Returns the one day that a plan takes of several: the first that has not passed, or the last for a deadline.
pub(super) fn when_of(days: Days, planning: Planning, before: bool, now: DateTime) -> Option<When> {
    let date = match planning {
        Planning::Deadline if before && days.time.is_none() => days.from.yesterday().ok()?,
        Planning::Deadline => days.to,
        Planning::Scheduled => {
            let today = now.date();
            if days.from < today && today <= days.to { today } else { days.from }
        }
    };
    Some(When { date, time: days.time })
}

fn peel_place(tokens: &Tokens<'_>, found: &mut Clauses) -> bool {
    let Range { start, end } = found.rest.clone();
    let at = (start + 1..end.saturating_sub(1)).rev().find(|at| begins_place(tokens, start, *at, end));
    let Some(at) = at else { return false };
    let name = name(tokens, at + 1..end);
    if name.is_empty() {
        return false;
    }
    found.under = Some(name);
    found.rest.end = at;
    true
}

fn begins_place(tokens: &Tokens<'_>, start: usize, at: usize, end: usize) -> bool {
    let Some(token) = tokens.list.get(at) else { return false };
    if token.is_any(UNDER) {
        return true;
    }
    if !token.is_any(MAYBE_UNDER) {
        return false;
    }
    let quoted = |at: usize| tokens.list.get(at).is_some_and(|token| token.quoted);
    let named = tokens.list.get(end - 1).is_some_and(|token| token.is_any(PLACES));
    let leads = tokens.list.get(at + 1).is_some_and(|token| token.is_any(&["project", "heading", "file", "list"]));
    named || leads || (quoted(at + 1) && at + 2 == end) || (quoted(start) && start + 1 == at)
}

/// Returns how many words stand for the heading at point: “this”, “it”, “this task”, “the heading at point”.
pub(super) fn pointer(tokens: &Tokens<'_>, at: usize) -> Option<usize> {
    let is = |at: usize, words: &[&str]| tokens.list.get(at).is_some_and(|token| token.is_any(words));
    if is(at, &["the", "my"]) {
        let current = is(at + 1, &["current"]) && is(at + 2, KINDS);
        let at_point = is(at + 1, KINDS) && is(at + 2, &["at"]) && is(at + 3, &["point"]);
        return if current { Some(3) } else { at_point.then_some(4) };
    }
    if is(at, &["this", "that"]) && is(at + 1, KINDS) {
        return Some(2);
    }
    if is(at, &["this"]) && is(at + 1, PERIODS) {
        return None;
    }
    is(at, &["this", "that", "it"]).then_some(1)
}

/// Returns the name that some words are, without articles before it; [`THIS`] when they point.
pub(super) fn name(tokens: &Tokens<'_>, range: Range<usize>) -> String {
    let Range { mut start, end } = range;
    if pointer(tokens, start).is_some_and(|length| start + length == end) {
        return THIS.to_string();
    }
    while start + 1 < end && tokens.list.get(start).is_some_and(|token| token.is_any(BEFORE_NAMES)) {
        start += 1;
    }
    clean(&tokens.line(start..end))
}

/// Returns a title without what surrounds it.
pub(super) fn clean(text: &str) -> String {
    let text = text.trim().trim_end_matches([',', ';', ':', ' ']);
    text.trim_start_matches([':', ',', '-', ' ']).trim().to_string()
}
