//! Questions: lists over a closed vocabulary, who or what, when, and searches.

use crate::domain::recall::clause::{clean, name};
use crate::domain::recall::date::{Lean, days};
use crate::domain::recall::grammar::{stands, stands_before};
use crate::domain::recall::request::{Request, Window};
use crate::domain::recall::token::{Token, Tokens};
use jiff::ToSpan;
use jiff::civil::{DateTime, Time};
use std::ops::Range;

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
/// Words that carry no meaning in a question for a list.
const FILLERS: &[&str] = &[
    "what",
    "which",
    "who",
    "is",
    "are",
    "was",
    "were",
    "am",
    "be",
    "been",
    "do",
    "does",
    "did",
    "done",
    "i",
    "me",
    "my",
    "mine",
    "we",
    "our",
    "us",
    "you",
    "your",
    "the",
    "a",
    "an",
    "all",
    "any",
    "anything",
    "everything",
    "something",
    "some",
    "of",
    "there",
    "have",
    "has",
    "had",
    "got",
    "get",
    "show",
    "list",
    "give",
    "tell",
    "display",
    "see",
    "view",
    "open",
    "print",
    "need",
    "needs",
    "must",
    "should",
    "can",
    "will",
    "would",
    "to",
    "that",
    "it",
    "its",
    "still",
    "yet",
    "currently",
    "now",
    "next",
    "left",
    "remaining",
    "pending",
    "active",
    "current",
    "on",
    "for",
    "in",
    "at",
    "up",
    "with",
    "so",
    "far",
    "just",
    "about",
    "how",
    "many",
    "much",
    "look",
    "looks",
    "like",
    "coming",
    "thing",
    "things",
    "stuff",
    "item",
    "items",
    "task",
    "tasks",
    "todo",
    "todos",
    "to-do",
    "to-dos",
    "action",
    "actions",
    "heading",
    "headings",
    "entry",
    "entries",
    "work",
    "working",
    "note",
    "notes",
    "file",
    "files",
    "overview",
    "summary",
    "please",
    "going",
    "say",
    "date",
    "dates",
    "and",
    "from",
    "by",
    "today",
    "out",
    "else",
    "recent",
    "recently",
    "lately",
    "plate",
    "where",
    "if",
    "set",
    "most",
    "first",
    "top",
    "important",
    "down",
    "already",
    "ever",
    "actually",
    "exactly",
    "day",
    "whole",
    "new",
    "check",
    "know",
];
const OVERDUE: &[&str] = &["overdue", "late", "missed", "behind", "unfinished", "slipped", "past-due"];
const WAITING: &[&str] = &["waiting", "wait", "hold", "blocked", "delegated", "on-hold", "await", "awaiting"];
const STUCK: &[&str] = &["stuck", "stalled", "idle", "dormant"];
const DUE: &[&str] = &["due", "deadline", "deadlines"];
const SCHEDULED: &[&str] = &["scheduled"];
const FINISHED: &[&str] = &[
    "finished",
    "finish",
    "completed",
    "complete",
    "closed",
    "close",
    "accomplished",
    "accomplish",
    "achieved",
    "achieve",
    "done",
];
const CHANGED: &[&str] = &[
    "changed",
    "change",
    "changes",
    "modified",
    "modify",
    "edited",
    "edit",
    "edits",
    "updated",
    "update",
    "updates",
    "touched",
    "touch",
    "wrote",
    "write",
    "written",
    "new",
    "added",
    "different",
    "recent",
    "recently",
    "lately",
    "happened",
    "created",
];
const PROJECTS: &[&str] = &["project", "projects"];
const AGENDA: &[&str] = &[
    "agenda",
    "calendar",
    "appointment",
    "appointments",
    "meeting",
    "meetings",
    "event",
    "events",
    "plan",
    "plans",
    "planned",
    "schedule",
    "diary",
    "busy",
    "free",
    "happening",
    "upcoming",
    "happens",
    "day",
    "planner",
    "booked",
];
const TODOS: &[&str] = &[
    "todo",
    "todos",
    "to-do",
    "to-dos",
    "task",
    "tasks",
    "action",
    "actions",
    "left",
    "remaining",
    "pending",
    "next",
    "open",
    "outstanding",
    "unfinished",
    "plate",
];
/// What headings to do are called, behind a keyword.
const KINDS: &[&str] = &["items", "tasks", "headings", "entries", "todos", "actions", "things", "notes"];
/// Words that begin the place of a list.
const WITHIN: &[&str] = &["in", "under", "for", "from", "of", "within", "inside", "below", "about", "on"];
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

/// Reads a question for a list: every word is of the vocabulary, but for a window of days and a place.
pub(super) fn list(tokens: &Tokens<'_>, range: Range<usize>, now: DateTime) -> Option<Request> {
    if let Some(request) = tagged(tokens, range.clone()) {
        return Some(request);
    }
    // “set the deadline of X to Friday” and “deadline for X: Friday” are commands.
    let colon = range.clone().skip(1).any(|at| tokens.list.get(at).is_some_and(|token| token.mark == Some(':')));
    if colon || is(tokens, range.start, &["set", "change", "extend", "give", "put", "move", "add"]) {
        return None;
    }
    let asked = Asked::new(tokens, range, now)?;
    asked.request(now)
}

/// Reads any other question.
pub(super) fn natural(tokens: &Tokens<'_>, range: Range<usize>) -> Option<Request> {
    when(tokens, range.clone()).or_else(|| who_or_what(tokens, range.clone())).or_else(|| search(tokens, range))
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
        &["past", "without"],
    ];
    KEYS.iter().any(|words| is(tokens, at, words))
}

/// Returns whether a word is typed in capitals, as keywords are.
fn is_keyword(tokens: &Tokens<'_>, at: usize) -> bool {
    let word = tokens.text(at..at + 1);
    word.len() >= 4 && word.bytes().all(|b| b.is_ascii_uppercase())
}

/// “since Monday”, “in the last 2 hours”, “since 15:00”: a moment, and how many words.
fn moment(tokens: &Tokens<'_>, range: Range<usize>, now: DateTime) -> Option<(DateTime, usize)> {
    let Range { start, end } = range;
    if let Some(read) = last_hours(tokens, start..end, now) {
        return Some(read);
    }
    if !is(tokens, start, &["since", "after"]) {
        return None;
    }
    let words = tokens.list.get(start + 1..end)?;
    if let Some((back, used)) = hours_ago(tokens, start + 1..end, now) {
        return Some((back, used + 1));
    }
    let (found, used) = days(words, now, Lean::Past, true)?;
    // “since 15:00” is today's.
    let clock = words.first().is_some_and(|token| token.word.contains(':') || token.is("at"));
    let date = if clock { now.date() } else { found.from };
    Some((date.to_datetime(found.time.unwrap_or(Time::midnight())), used + 1))
}

/// “in the last hour”, “over the past 30 minutes”.
fn last_hours(tokens: &Tokens<'_>, range: Range<usize>, now: DateTime) -> Option<(DateTime, usize)> {
    let mut at = range.start;
    if is(tokens, at, &["in", "over", "within", "during"]) {
        at += 1;
    }
    if is(tokens, at, &["the"]) {
        at += 1;
    }
    if !is(tokens, at, &["last", "past"]) {
        return None;
    }
    let (moment, used) = hours_back(tokens, at + 1, now)?;
    Some((moment, at + 1 + used - range.start))
}

/// “2 hours ago”.
fn hours_ago(tokens: &Tokens<'_>, range: Range<usize>, now: DateTime) -> Option<(DateTime, usize)> {
    let (moment, used) = hours_back(tokens, range.start, now)?;
    is(tokens, range.start + used, &["ago"]).then_some((moment, used + 1))
}

fn hours_back(tokens: &Tokens<'_>, at: usize, now: DateTime) -> Option<(DateTime, usize)> {
    let word = tokens.list.get(at).filter(|token| !token.quoted)?;
    let (count, used) = match word.word.as_str() {
        "a" | "an" => (1, 1),
        "few" => (3, 1),
        digits if digits.len() <= 3 && digits.parse::<i64>().is_ok() => (digits.parse().ok()?, 1),
        _ => (1, 0),
    };
    let span = jiff::Span::new();
    let span = match tokens.list.get(at + used)?.word.as_str() {
        "hour" | "hours" => span.try_hours(count).ok()?,
        "minute" | "minutes" => span.try_minutes(count).ok()?,
        _ => return None,
    };
    Some((now.checked_sub(span).ok()?, used + 1))
}

/// Reads a window of days from the beginning of some words; returns how many it took.
fn window(tokens: &Tokens<'_>, range: Range<usize>, now: DateTime, lean: Lean) -> Option<(Window, usize)> {
    let Range { start, end } = range;
    let read = |at: usize, introduced: bool| days(tokens.list.get(at..end)?, now, lean, introduced);
    if is(tokens, start, &["between", "from"])
        && let Some((first, used)) = read(start + 1, true)
    {
        let joint = start + 1 + used;
        if is(tokens, joint, &["and", "to", "until", "till", "through", "-"])
            && let Some((last, more)) = read(joint + 1, true)
        {
            // “between Monday and Friday”: the Friday behind that Monday.
            let to = if last.to < first.from { last.to.checked_add(7.days()).ok()? } else { last.to };
            return Some((Window { from: Some(first.from), to: Some(to) }, 2 + used + more));
        }
        return Some((Window { from: Some(first.from), to: None }, 1 + used));
    }
    if is(tokens, start, &["by", "until", "till"]) {
        let (found, used) = read(start + 1, true)?;
        return Some((Window { from: None, to: Some(found.to) }, 1 + used));
    }
    if is(tokens, start, &["before"]) {
        let (found, used) = read(start + 1, true)?;
        return Some((Window { from: None, to: found.from.yesterday().ok() }, 1 + used));
    }
    if is(tokens, start, &["after", "since", "starting"]) {
        let (found, used) = read(start + 1, true)?;
        let from = if is(tokens, start, &["after"]) { found.to.tomorrow().ok() } else { Some(found.from) };
        return Some((Window { from, to: None }, 1 + used));
    }
    let introducer = is(tokens, start, &["on", "for", "in", "during", "over", "at", "through"]);
    // “in 3 days” reads its “in” itself.
    let own = read(start, false);
    let found = match own {
        Some((found, used)) => Some((found, used)),
        None if introducer => read(start + 1, true).map(|(found, used)| (found, used + 1)),
        None => None,
    };
    let (found, used) = found?;
    Some((Window { from: Some(found.from), to: Some(found.to) }, used))
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

fn is(tokens: &Tokens<'_>, at: usize, words: &[&str]) -> bool {
    tokens.list.get(at).is_some_and(|token| token.is_any(words))
}
