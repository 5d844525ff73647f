//! Commands that change a heading: its keyword, a property, where it stands.

use super::Words;
use crate::domain::recall::clause::clean;
use crate::domain::recall::date::{Lean, days};
use crate::domain::recall::grammar::stands_before;
use crate::domain::recall::request::Request;
use std::ops::Range;

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

impl Words<'_, '_> {
    /// “mark X as done”, “I finished X”, “X is done”, “tick off X”, “complete X”.
    pub(super) fn done(&self, range: Range<usize>) -> Option<Request> {
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
        let fits = |phrase: &&str| stands_before(self.tokens, range.end, phrase);
        let length = phrases.iter().filter_map(fits).max()?;
        range.end.checked_sub(length).filter(|end| *end > range.start)
    }

    /// “set X to WAITING”, “mark X as waiting”, “make X a NEXT”, “cancel X”, “reopen X”.
    pub(super) fn state(&self, range: Range<usize>) -> Option<Request> {
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
            if let Some(length) = stands_before(self.tokens, end, words)
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
    pub(super) fn property(&self, range: Range<usize>) -> Option<Request> {
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

    /// “add the property EFFORT 2:00 to X”, “add property URL=… to X”, “add an effort of 2:00 to X”.
    pub(super) fn given(&self, range: Range<usize>) -> Option<Request> {
        let mut at = self.after(&range, &["add", "set", "give", "put"])?;
        while self.is(at, &["the", "a", "an", "new"]) {
            at += 1;
        }
        let named = self.is(at, &["property"]);
        let key = if named { at + 1 } else { at };
        if self.is_quoted(key) || !(named || self.is(key, &["effort"])) {
            return None;
        }
        let text = self.tokens.text(key..key + 1);
        let (property, inline) = text.split_once('=').map_or((text, None), |(key, value)| (key, Some(value)));
        let valid =
            !property.is_empty() && property.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        let mut begin = key + 1;
        // “set property EFFORT of X to …” says the heading first.
        if !valid || (self.is(begin, &["of"]) && (named || !self.is(range.start, &["add"]))) {
            return None;
        }
        while self.is(begin, &["with", "the", "value", "of", "=", "as"]) {
            begin += 1;
        }
        let joints = ["to", "on", "of", "for", "at"];
        let joint =
            (begin + usize::from(inline.is_none())..range.end.saturating_sub(1)).find(|at| self.is(*at, &joints))?;
        let value = match inline {
            Some(value) if joint == begin => value.trim_matches(['"', '“', '”']).to_string(),
            Some(_) => return None,
            None => clean(&self.tokens.line(begin..joint)),
        };
        // Without the word “property”, only what is an effort.
        if value.is_empty() || !(named || value.starts_with(|c: char| c.is_ascii_digit())) {
            return None;
        }
        let target = self.name(joint + 1..range.end)?;
        Some(Request::SetProperty { target, property: property.to_uppercase(), value: Some(value) })
    }

    /// “add the tag urgent to X”, “remove tag urgent from X”, “tag X with urgent”, “untag X”.
    pub(super) fn tags(&self, range: Range<usize>) -> Option<Request> {
        if self.is(range.start, &["untag"]) && range.len() > 1 {
            return Some(Request::NoTags);
        }
        if self.is(range.start, &["tag"]) && (range.start + 2..range.end).any(|at| self.is(at, &["with", "as"])) {
            return Some(Request::NoTags);
        }
        let verbs = ["add", "set", "put", "give", "remove", "delete", "clear", "change", "drop"];
        let mut at = self.after(&range, &verbs)?;
        while self.is(at, &["the", "a", "an", "new", "another", "all", "its"]) && !self.is_quoted(at) {
            at += 1;
        }
        let tags = !self.is_quoted(at) && self.mark(at - 1) != Some(':') && self.is(at, &["tag", "tags"]);
        tags.then_some(Request::NoTags)
    }

    /// “move X under Y”, “refile X to Y”, “file X under Y”; a date behind “to” schedules.
    pub(super) fn relocate(&self, range: Range<usize>) -> Option<Request> {
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
}
