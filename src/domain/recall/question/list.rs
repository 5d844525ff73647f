//! Questions for lists: every word is of a closed vocabulary, but for a window of days and a place.

use super::is;
use super::vocabulary::{
    AGENDA, CHANGED, DUE, FILLERS, FINISHED, KINDS, OVERDUE, PROJECTS, SCHEDULED, STUCK, TODOS, URGENT, WAITING, WITHIN,
};
use super::window::{moment, window};
use crate::domain::recall::clause::{name, pointer};
use crate::domain::recall::date::Lean;
use crate::domain::recall::request::{Request, Window};
use crate::domain::recall::token::{Token, Tokens};
use jiff::ToSpan;
use jiff::civil::{DateTime, Time};
use std::ops::Range;

/// Reads a question for a list: every word is of the vocabulary, but for a window of days and a place.
pub(in crate::domain::recall) fn list(tokens: &Tokens<'_>, range: Range<usize>, now: DateTime) -> Option<Request> {
    if let Some(request) = tagged(tokens, range.clone()) {
        return Some(request);
    }
    // “set the deadline of X to Friday” and “deadline for X: Friday” are commands.
    let colon = range.clone().skip(1).any(|at| tokens.list.get(at).is_some_and(|token| token.mark == Some(':')));
    // “this is done” is a statement.
    let said = pointer(tokens, range.start).is_some_and(|length| is(tokens, range.start + length, &["is", "has"]));
    // “schedule it for Friday” is a command, though its words are those of lists.
    let verbs = ["schedule", "plan", "reschedule", "mark", "do", "finish", "complete", "close"];
    let said = said || (is(tokens, range.start, &verbs) && pointer(tokens, range.start + 1).is_some());
    if colon || said || is(tokens, range.start, &["set", "change", "extend", "give", "put", "move", "add"]) {
        return None;
    }
    let asked = Asked::new(tokens, range, now)?;
    asked.request(now)
}

/// “headings tagged work”, “what is tagged :work:”, “everything with the tag work”.
fn tagged(tokens: &Tokens<'_>, range: Range<usize>) -> Option<Request> {
    let key = range.clone().find(|at| is(tokens, *at, &["tagged", "tag", "tags"]))?;
    let mut at = key + 1;
    while is(tokens, at, &["as", "with", "the", "tag", "is"]) {
        at += 1;
    }
    let fillers = range.start..key;
    let plain = fillers.clone().all(|at| is(tokens, at, FILLERS));
    if !plain || at + 1 != range.end {
        return None;
    }
    let tag = tokens.text(at..at + 1).trim_matches([':', '#', '@']).to_string();
    (!tag.is_empty()).then_some(Request::Tagged { tag })
}

/// A question for a list, taken apart.
struct Asked<'a> {
    words: Vec<&'a Token>,
    typed: Vec<&'a str>,
    window: Option<Window>,
    since: Option<DateTime>,
    within: Option<String>,
}

impl<'a> Asked<'a> {
    fn new(tokens: &'a Tokens<'_>, range: Range<usize>, now: DateTime) -> Option<Asked<'a>> {
        let past = range.clone().any(|at| {
            is(tokens, at, CHANGED) && !is(tokens, at, &["new"])
                || is(tokens, at, &["did", "finished", "completed", "since"])
        });
        let lean = if past { Lean::Past } else { Lean::Nearest };
        let timed = range.clone().find_map(|at| {
            let rest = at..range.end;
            moment(tokens, rest.clone(), now)
                .map(|(since, used)| (at, used, None, Some(since)))
                .or_else(|| window(tokens, rest, now, lean).map(|(window, used)| (at, used, Some(window), None)))
        });
        let (cut, window, since) = match timed {
            None => (range.end..range.end, None, None),
            Some((at, used, window, since)) => (at..at + used, window, since),
        };
        let core: Vec<usize> = range.clone().filter(|at| !cut.contains(at)).collect();
        let named = core.iter().any(|at| is(tokens, *at, KINDS));
        let known = |at: &usize| is_known(tokens, *at) || (named && is_keyword(tokens, *at));
        // The place is what the first unknown word stands in.
        let (core, within) = match core.iter().position(|at| !known(at)) {
            None => (core, None),
            Some(unknown) => {
                let begin = core[..unknown].iter().rposition(|at| is(tokens, *at, WITHIN))?;
                let place = &core[begin + 1..];
                let (first, last) = (*place.first()?, *place.last()?);
                // A place is one run of words, and a short one.
                if last - first + 1 != place.len() || place.len() > 7 {
                    return None;
                }
                let name = name(tokens, first..last + 1);
                (core[..begin].to_vec(), Some(name).filter(|name| !name.is_empty()))
            }
        };
        let words = core.iter().filter_map(|at| tokens.list.get(*at)).collect();
        let typed = core.iter().map(|at| tokens.text(*at..*at + 1)).collect();
        Some(Asked { words, typed, window, since, within })
    }

    fn has(&self, words: &[&str]) -> bool {
        self.words.iter().any(|token| token.is_any(words))
    }

    fn request(self, now: DateTime) -> Option<Request> {
        let today = now.date();
        let window = self.window;
        let any = window.unwrap_or(Window::ANY);
        let past = self.has(&["did", "have", "was", "has", "i", "get", "got"]);
        let next_deadline = self.has(&["next", "upcoming", "coming"]) && window.is_none();
        let within = self.within.clone();
        if self.has(OVERDUE) || (self.has(DUE) && self.has(&["past"])) {
            return Some(Request::Overdue { within });
        }
        if self.has(STUCK) && self.has(PROJECTS) {
            return Some(Request::StuckProjects);
        }
        if self.has(WAITING) {
            return Some(Request::Waiting { within });
        }
        if let (Some(target), true, None) = (&self.within, self.has(&["deadline"]), window) {
            return Some(Request::When { target: target.clone() });
        }
        if self.has(URGENT) {
            let soon = Window { from: None, to: today.checked_add(7.days()).ok() };
            return Some(Request::Due { window: window.unwrap_or(soon), within });
        }
        // “what did I do last week” asks for what was finished, “what did I work on” for what changed.
        if self.has(&["did"]) && self.has(&["do"]) && window.is_some() {
            return Some(Request::Finished { window: any, within });
        }
        if self.has(DUE) {
            let window = if next_deadline { Window { from: Some(today), to: None } } else { any };
            return Some(Request::Due { window, within });
        }
        if self.has(SCHEDULED) {
            return Some(Request::Scheduled { window: any, within });
        }
        if let Some(request) = self.changed(now) {
            return Some(request);
        }
        if self.has(FINISHED) && (past || self.words.len() <= 4) {
            return Some(Request::Finished { window: any, within });
        }
        if self.has(PROJECTS) || (self.has(&["working"]) && self.has(&["what"])) {
            return Some(Request::Projects { within });
        }
        self.plans(now)
    }

    fn changed(&self, now: DateTime) -> Option<Request> {
        let asks = self.has(CHANGED) || (self.since.is_some() && self.has(&["what", "work", "working"]));
        let worked = self.has(&["did"]) && self.has(&["work"]) && self.window.is_some();
        if !(asks || worked) || self.within.is_some() {
            return None;
        }
        let midnight = |date: jiff::civil::Date| date.to_datetime(Time::midnight());
        let week = now.date().checked_sub(7.days()).ok().map(midnight);
        let since = self.since.or_else(|| self.window.and_then(|window| window.from).map(midnight)).or(week)?;
        Some(Request::ChangedSince { since })
    }

    fn plans(self, now: DateTime) -> Option<Request> {
        let today = now.date();
        let upcoming = self.has(&["upcoming", "coming"]);
        let week = Window { from: Some(today), to: today.checked_add(7.days()).ok() };
        if let Some(window) = self.window {
            // A window by itself, or with any of the vocabulary, is an agenda.
            return Some(Request::Agenda { window, within: self.within });
        }
        if self.has(AGENDA) || upcoming {
            let window = if upcoming { week } else { Window::day(today) };
            return Some(Request::Agenda { window, within: self.within });
        }
        let capitals = self.typed.iter().find(|word| word.len() >= 4 && word.bytes().all(|b| b.is_ascii_uppercase()));
        let state = match capitals {
            Some(word) if !matches!(*word, "TODO" | "TODOS") => Some((*word).to_string()),
            _ => (self.has(&["next"]) && !self.has(&["todo", "todos"])).then(|| "NEXT".to_string()),
        };
        // “what should I do” asks for things to do, “what do I have” does not.
        let ends_in_do = self.words.last().is_some_and(|token| token.is_any(&["do", "work"]));
        let must = self.has(&["need", "should", "must", "have", "has", "can", "going"]) && ends_in_do;
        if !(must || self.has(TODOS) || state.is_some()) {
            return None;
        }
        Some(Request::Todos { state, within: self.within })
    }
}

fn is_known(tokens: &Tokens<'_>, at: usize) -> bool {
    const KEYS: &[&[&str]] = &[
        FILLERS,
        WITHIN,
        OVERDUE,
        WAITING,
        STUCK,
        DUE,
        SCHEDULED,
        FINISHED,
        CHANGED,
        PROJECTS,
        AGENDA,
        TODOS,
        URGENT,
        &["past", "without"],
    ];
    KEYS.iter().any(|words| is(tokens, at, words))
}

/// Returns whether a word is typed in capitals, as keywords are.
fn is_keyword(tokens: &Tokens<'_>, at: usize) -> bool {
    let word = tokens.text(at..at + 1);
    word.len() >= 4 && word.bytes().all(|b| b.is_ascii_uppercase())
}
