//! The head of a section: the planning line and the property drawer, and where the text behind them begins.

use super::chars::is_space_syntax;
use std::ops::Range;

/// The three keywords of a planning line, as Org writes them.
const PLANNING: [&str; 3] = ["SCHEDULED:", "DEADLINE:", "CLOSED:"];

/// Timestamps of a planning line; ranges are bytes into the whole text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Planning {
    pub scheduled: Option<Range<usize>>,
    pub deadline: Option<Range<usize>>,
    pub closed: Option<Range<usize>>,
    /// Whether a keyword stood before something that is no timestamp.
    pub unreadable: bool,
}

/// A property drawer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Drawer {
    /// From the line of `:PROPERTIES:` to behind the newline of `:END:`.
    pub whole: Range<usize>,
    /// The lines between.
    pub inside: Range<usize>,
}

/// What stands at the place of a property drawer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DrawerAt {
    None,
    /// `:PROPERTIES:`, but not closed, or with a line that is no property: Org does not read it.
    Broken,
    Found(Drawer),
}

/// Returns the end of the line that begins at `at` (without newline) and the begin of the next.
pub(super) fn line_at(text: &str, at: usize, limit: usize) -> (usize, usize) {
    let rest = text.as_bytes().get(at..limit).unwrap_or_default();
    match memchr::memchr(b'\n', rest) {
        Some(offset) => (at + offset, at + offset + 1),
        None => (limit, limit),
    }
}

/// Tells whether a line is a planning line: whether it begins with one of the three keywords, in any case.
pub(super) fn is_planning(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t']);
    PLANNING.iter().any(|keyword| starts_with_fold(line, keyword))
}

/// Reads the timestamps of a planning line, as Org 9.7's element parser does.
///
/// That parser finds keywords in any case and inside of words, but tells them apart by exact case, so `scheduled:`
/// counts as CLOSED; and of a keyword that comes twice the last one counts, even when it has no readable timestamp.
pub(super) fn planning(text: &str, line: Range<usize>) -> Planning {
    let mut found = Planning::default();
    let bytes = text.as_bytes();
    let mut at = line.start;
    // Every keyword ends with a colon: look for those.
    while let Some(offset) = memchr::memchr(b':', bytes.get(at..line.end).unwrap_or_default()) {
        let behind = at + offset + 1;
        let head = text.get(line.start..behind).unwrap_or_default();
        at = behind;
        let Some(keyword) = PLANNING.iter().find_map(|keyword| word_at_end(head, keyword)) else { continue };
        let rest = text.get(behind..line.end).unwrap_or_default();
        let stamp = rest.trim_start_matches([' ', '\t']);
        let begin = behind + (rest.len() - stamp.len());
        let value = stamp_length(stamp).map(|length| begin..begin + length);
        found.unreadable |= value.is_none();
        match keyword {
            "SCHEDULED:" => found.scheduled = value,
            "DEADLINE:" => found.deadline = value,
            _ => found.closed = value,
        }
    }
    found
}

/// Looks for a property drawer whose first line begins at `at`.
pub(super) fn drawer(text: &str, at: usize, limit: usize) -> DrawerAt {
    let (end, next) = line_at(text, at, limit);
    let first = text.get(at..end).unwrap_or_default();
    if !first.trim_matches([' ', '\t']).eq_ignore_ascii_case(":PROPERTIES:") || next == end {
        return DrawerAt::None;
    }
    let mut line = next;
    while line < limit {
        let (end, behind) = line_at(text, line, limit);
        let content = text.get(line..end).unwrap_or_default();
        if content.trim_matches([' ', '\t']).eq_ignore_ascii_case(":END:") {
            return DrawerAt::Found(Drawer { whole: at..behind, inside: next..line });
        }
        if property(content).is_none() {
            return DrawerAt::Broken;
        }
        line = behind;
    }
    DrawerAt::Broken
}

/// Returns the properties of a drawer: upper-case key, trimmed value, in order.
pub(super) fn properties(text: &str, inside: &Range<usize>) -> Vec<(Box<str>, Box<str>)> {
    let lines = text.get(inside.clone()).unwrap_or_default().split_terminator('\n');
    lines.filter_map(property).map(|(key, value)| (upper(key), Box::from(value))).collect()
}

/// Takes a line of a drawer apart: `:KEY: value`.
pub(super) fn property(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches([' ', '\t']);
    let token = line.split(is_space_syntax).next().unwrap_or_default();
    let key = token.strip_prefix(':')?.strip_suffix(':')?;
    if key.is_empty() {
        return None;
    }
    let value = line.get(token.len()..)?;
    if !value.is_empty() && !value.starts_with([' ', '\t']) {
        return None;
    }
    Some((key, value.trim_matches([' ', '\t', '\r', '\n'])))
}

/// Returns where the drawer of a file may begin: behind the comment lines at its top.
pub(super) fn behind_comments(text: &str, limit: usize) -> usize {
    let mut at = 0;
    while at < limit {
        let (end, next) = line_at(text, at, limit);
        let line = text.get(at..end).unwrap_or_default().trim_start_matches([' ', '\t']);
        if !(line == "#" || line.starts_with("# ")) {
            break;
        }
        at = next;
    }
    at
}

fn upper(key: &str) -> Box<str> {
    if key.is_ascii() { key.to_ascii_uppercase().into() } else { key.to_uppercase().into() }
}

pub(super) fn starts_with_fold(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
}

/// Returns the word as it stands at the end of `head`, if it is `keyword` but for case.
fn word_at_end<'a>(head: &'a str, keyword: &str) -> Option<&'a str> {
    let word = head.get(head.len().checked_sub(keyword.len())?..)?;
    word.eq_ignore_ascii_case(keyword).then_some(word)
}

/// Returns the length of the timestamp at the start of a text of one line, its second half included.
pub(super) fn stamp_length(text: &str) -> Option<usize> {
    if !is_plain_stamp(text) && !is_diary_stamp(text) && !is_loose_stamp(text) {
        return None;
    }
    let close = text.get(1..)?.find(['>', ']'])? + 2;
    let second = text.get(close..).and_then(|rest| rest.strip_prefix("--")).filter(|rest| is_plain_stamp(rest));
    match second.and_then(|rest| rest.get(1..)?.find(['>', ']'])) {
        Some(offset) => Some(close + 2 + offset + 2),
        None => Some(close),
    }
}

/// `<2026-11-21>` or `<2026-11-21 anything>`, in either brackets.
fn is_plain_stamp(text: &str) -> bool {
    let Some(inner) = text.strip_prefix(['<', '[']) else { return false };
    let shape = b"dddd-dd-dd";
    let digits = inner.as_bytes().iter().zip(shape).all(|(byte, kind)| match kind {
        b'd' => byte.is_ascii_digit(),
        _ => byte == kind,
    });
    if inner.len() < shape.len() || !digits {
        return false;
    }
    match inner.as_bytes().get(shape.len()) {
        Some(b'>' | b']') => true,
        Some(b' ') => inner.contains(['>', ']']),
        _ => false,
    }
}

/// `<%%(expression) rest>`.
fn is_diary_stamp(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("<%%(").and_then(|rest| rest.split('>').next()) else { return false };
    text.contains('>') && inner.rfind(')').is_some_and(|close| close > 0)
}

/// `<2026-1-2 anything +1w>`: Org's older, looser form with a repeater.
fn is_loose_stamp(text: &str) -> bool {
    let Some((inner, _)) = text.strip_prefix('<').and_then(|rest| rest.split_once('>')) else { return false };
    let mut parts = inner.splitn(3, '-');
    let digits = |part: Option<&str>| part.is_some_and(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
    if !digits(parts.next()) || !digits(parts.next()) {
        return false;
    }
    let rest = parts.next().unwrap_or_default();
    let day = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let repeater = day.strip_suffix(['d', 'w', 'm', 'y']);
    let Some(repeater) = repeater.filter(|_| day.len() < rest.len()) else { return false };
    let head = repeater.trim_end_matches(|c: char| c.is_ascii_digit());
    head.len() < repeater.len() && head.ends_with('+') && head.len() > 1
}
