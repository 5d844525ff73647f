//! Moments and windows of days in questions.

use super::is;
use crate::domain::recall::date::{Lean, days};
use crate::domain::recall::request::Window;
use crate::domain::recall::token::Tokens;
use jiff::ToSpan;
use jiff::civil::{DateTime, Time};
use std::ops::Range;

/// “since Monday”, “in the last 2 hours”, “since 15:00”: a moment, and how many words.
pub(super) fn moment(tokens: &Tokens<'_>, range: Range<usize>, now: DateTime) -> Option<(DateTime, usize)> {
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
pub(super) fn window(tokens: &Tokens<'_>, range: Range<usize>, now: DateTime, lean: Lean) -> Option<(Window, usize)> {
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
    // “today and tomorrow”, “Monday or Tuesday”.
    if is(tokens, start + used, &["and", "or", "&"])
        && let Some((other, more)) = read(start + used + 1, true)
    {
        let days = Window { from: Some(found.from.min(other.from)), to: Some(found.to.max(other.to)) };
        return Some((days, used + 1 + more));
    }
    Some((Window { from: Some(found.from), to: Some(found.to) }, used))
}
