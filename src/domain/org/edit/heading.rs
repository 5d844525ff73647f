//! Edits of the headline itself: keyword, priority, title, tags.

use super::verify::records;
use super::{EditError, Plan, Splice, heading_at};
use crate::domain::org::chars::is_tag_char;
use crate::domain::org::headline::{self, Headline, Keywords};
use crate::domain::org::outline::{Node, Outline};
use crate::domain::org::section::line_at;
use std::borrow::Cow;
use std::ops::Range;

/// The column that tags end at, as Org's default `org-tags-column` has it.
const TAGS_END: usize = 77;

/// A headline taken apart, with the range of its line.
pub(super) struct Parts {
    pub line: Range<usize>,
    pub headline: Headline,
}

/// Takes a node's headline apart again, for where its parts stand.
pub(super) fn parts(outline: &Outline, node: &Node) -> Parts {
    let begin = node.begin as usize;
    let (end, _) = line_at(&outline.text, begin, outline.text.len());
    let keywords = Keywords::of(&outline.keywords);
    Parts { line: begin..end, headline: headline::parse(&outline.text, begin..end, &keywords) }
}

/// Refuses a keyword that the file does not have.
pub(super) fn check_state(outline: &Outline, state: &str) -> Result<(), EditError> {
    if !state.is_empty() && outline.keywords.iter().any(|keyword| keyword.name.as_ref() == state) {
        return Ok(());
    }
    let known = outline.keywords.iter().map(|keyword| keyword.name.to_string()).collect();
    Err(EditError::UnknownState { state: state.to_owned(), known })
}

/// Refuses what cannot be a title.
pub(super) fn check_title(title: &str) -> Result<&str, EditError> {
    let title = title.trim_matches([' ', '\t']);
    if title.is_empty() {
        return Err(EditError::Invalid("a heading needs a title".to_owned()));
    }
    check_line("a title", title)?;
    Ok(title)
}

/// Refuses line ends and other control characters.
pub(super) fn check_line(what: &str, text: &str) -> Result<(), EditError> {
    match text.chars().find(|c| c.is_control() && *c != '\t') {
        Some(c) => Err(EditError::Invalid(format!("{what} is one line of text; it cannot hold {c:?}"))),
        None => Ok(()),
    }
}

/// Refuses what Org would not read as a tag.
pub(super) fn check_tags(tags: &[String]) -> Result<(), EditError> {
    match tags.iter().find(|tag| tag.is_empty() || !tag.chars().all(is_tag_char)) {
        Some(tag) => Err(EditError::Invalid(format!(
            "{tag:?} is no tag: a tag is made of letters, digits and the signs _ @ # %"
        ))),
        None => Ok(()),
    }
}

/// Refuses what Org would not read as a priority.
pub(super) fn check_priority(priority: char) -> Result<(), EditError> {
    if priority.is_ascii_graphic() && priority != ']' {
        return Ok(());
    }
    Err(EditError::Invalid(format!("{priority:?} is no priority; use a letter or a digit")))
}

/// Returns the splice that sets or removes the keyword.
pub(super) fn keyword_splice(outline: &Outline, node: &Node, state: Option<&str>) -> Splice {
    let parts = parts(outline, node);
    word_splice(&outline.text, &parts.line, parts.headline.keyword, state)
}

/// Sets or removes a word of the headline that has a blank behind it.
fn word_splice(text: &str, line: &Range<usize>, place: Range<usize>, word: Option<&str>) -> Splice {
    let bytes = text.as_bytes();
    let blank = |at: usize| matches!(bytes.get(at), Some(b' ' | b'\t'));
    match word {
        Some(word) if place.is_empty() => {
            let before = if place.start > line.start && !blank(place.start - 1) { " " } else { "" };
            let after = if place.start < line.end { " " } else { "" };
            Splice { range: place, text: format!("{before}{word}{after}") }
        }
        Some(word) => Splice { range: place, text: word.to_owned() },
        None if place.is_empty() => Splice { range: place, text: String::new() },
        None => {
            let mut end = place.end;
            while end < line.end && blank(end) {
                end += 1;
            }
            Splice { range: place.start..end, text: String::new() }
        }
    }
}

pub(super) fn set_priority(outline: &Outline, node: usize, priority: Option<char>) -> Result<Plan<'_>, EditError> {
    let heading = heading_at(outline, node)?;
    priority.map_or(Ok(()), check_priority)?;
    let parts = parts(outline, heading);
    let cookie = priority.map(|c| format!("[#{c}]"));
    let splice = word_splice(&outline.text, &parts.line, parts.headline.cookie, cookie.as_deref());
    let mut expected = records(outline);
    expected[node].priority = priority;
    Ok(Plan { splices: vec![splice], expected })
}

pub(super) fn set_title<'a>(outline: &'a Outline, node: usize, title: &str) -> Result<Plan<'a>, EditError> {
    let heading = heading_at(outline, node)?;
    let title = check_title(title)?;
    let parts = parts(outline, heading);
    let place = parts.headline.title;
    let bytes = outline.text.as_bytes();
    let mut text = title.to_owned();
    if place.is_empty() {
        if !matches!(bytes.get(place.start.wrapping_sub(1)), Some(b' ' | b'\t')) {
            text.insert(0, ' ');
        }
        if !parts.headline.tags.is_empty() && place.end == parts.headline.tags.start {
            text.push(' ');
        }
    }
    let mut expected = records(outline);
    expected[node].title = Cow::Owned(title.to_owned());
    Ok(Plan { splices: vec![Splice { range: place, text }], expected })
}

pub(super) fn set_tags<'a>(outline: &'a Outline, node: usize, tags: &[String]) -> Result<Plan<'a>, EditError> {
    let heading = heading_at(outline, node)?;
    check_tags(tags)?;
    let parts = parts(outline, heading);
    let old = &parts.headline.tags;
    let head = outline.text.get(parts.line.start..old.start).unwrap_or_default();
    // The stars need the blank behind them even where nothing else stands.
    let stars = head.bytes().take_while(|byte| *byte == b'*').count();
    let content = head.trim_end_matches([' ', '\t']).len().max(stars + 1).min(head.len());
    let kept = head.get(content..).filter(|_| !old.is_empty());
    let text = match (tags.is_empty(), kept) {
        (true, _) => String::new(),
        (false, Some(blanks)) => format!("{blanks}{}", field(tags)),
        (false, None) => aligned(head.get(..content).unwrap_or_default(), tags),
    };
    let mut expected = records(outline);
    expected[node].tags = tags.to_vec();
    Ok(Plan { splices: vec![Splice { range: parts.line.start + content..parts.line.end, text }], expected })
}

/// Returns the blanks and tags that go behind a headline, so that the tags end at Org's column.
pub(super) fn aligned(head: &str, tags: &[String]) -> String {
    if tags.is_empty() {
        return String::new();
    }
    let field = field(tags);
    let least = usize::from(!head.ends_with([' ', '\t']));
    let blanks = TAGS_END.saturating_sub(width(head) + width(&field)).max(least);
    format!("{}{field}", " ".repeat(blanks))
}

fn field(tags: &[String]) -> String {
    format!(":{}:", tags.join(":"))
}

/// Returns about how many columns a text takes: East Asian wide characters take two.
fn width(text: &str) -> usize {
    let wide = |c: char| matches!(u32::from(c), 0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0x1f300..=0x1faff | 0x20000..=0x3fffd);
    text.chars().map(|c| if wide(c) { 2 } else { 1 }).sum()
}
