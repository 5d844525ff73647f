//! One headline: stars, keyword, priority, COMMENT, title, tags, as Org 9.7's element parser takes them apart.

use super::chars::is_tag_char;
use super::outline::Keyword;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// How many tags a headline may have before only the different ones are kept.
const TAGS_KEPT_AS_TYPED: usize = 1000;

/// The parts of a headline; ranges are bytes into the whole text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Headline {
    pub level: u16,
    pub todo: Option<u16>,
    /// The keyword; empty where one would go.
    pub keyword: Range<usize>,
    pub priority: Option<char>,
    /// `[#A]`; empty where one would go.
    pub cookie: Range<usize>,
    pub commented: bool,
    pub title: Range<usize>,
    /// With its colons; empty without tags.
    pub tags: Range<usize>,
}

/// Keywords by their name; of two with one name the first counts.
pub(super) struct Keywords<'a> {
    few: &'a [Keyword],
    /// Those behind the first [`FEW`].
    many: HashMap<&'a str, u16>,
}

/// So many keywords are compared one after the other, which is faster than any table.
const FEW: usize = 8;

impl<'a> Keywords<'a> {
    pub fn of(keywords: &'a [Keyword]) -> Keywords<'a> {
        let (few, rest) = keywords.split_at(keywords.len().min(FEW));
        let mut many = HashMap::new();
        for (index, keyword) in rest.iter().enumerate() {
            many.entry(keyword.name.as_ref()).or_insert((few.len() + index) as u16);
        }
        Keywords { few, many }
    }

    fn find(&self, word: &str) -> Option<u16> {
        match self.few.iter().position(|keyword| keyword.name.as_ref() == word) {
            Some(index) => Some(index as u16),
            None if self.many.is_empty() => None,
            None => self.many.get(word).copied(),
        }
    }
}

/// Returns how many stars a line begins with, if a blank follows them: what makes a line a headline.
pub(super) fn stars(line: &[u8]) -> Option<usize> {
    let count = line.iter().take_while(|&&byte| byte == b'*').count();
    (count > 0 && line.get(count) == Some(&b' ')).then_some(count)
}

/// Takes a headline apart. `line` is its range without the newline.
pub(super) fn parse(text: &str, line: Range<usize>, keywords: &Keywords<'_>) -> Headline {
    let bytes = text.as_bytes();
    let count = stars(bytes.get(line.clone()).unwrap_or_default()).unwrap_or(0);
    let end = line.end;
    let mut at = skip_blanks(bytes, line.start + count, end);
    let mut todo = None;
    let mut keyword = at..at;
    // The word must be followed by a blank (no tab) or the end of the line; an empty word is one, too, if declared.
    let word_end = memchr::memchr(b' ', bytes.get(at..end).unwrap_or_default()).map_or(end, |offset| at + offset);
    if let Some(index) = text.get(at..word_end).and_then(|word| keywords.find(word)) {
        todo = Some(index);
        keyword = at..word_end;
        at = skip_blanks(bytes, word_end, end);
    }
    let mut priority = None;
    let mut cookie = at..at;
    if let Some((c, length)) = read_cookie(text.get(at..end).unwrap_or_default()) {
        priority = Some(c);
        cookie = at..at + length;
        at = skip_blanks(bytes, at + length, end);
    }
    let rest = text.get(at..end).unwrap_or_default();
    let commented = rest == "COMMENT" || rest.starts_with("COMMENT ");
    if commented {
        at += "COMMENT".len();
    }
    let tags = tags(text, at..end);
    let title_end = if tags.is_empty() { end } else { tags.start };
    let title = trim(bytes, at..title_end);
    Headline {
        level: u16::try_from(count).unwrap_or(u16::MAX),
        todo,
        keyword,
        priority,
        cookie,
        commented,
        title,
        tags,
    }
}

/// Returns the tags between the colons of `:a:b:`, in order.
///
/// Beyond a thousand, each is kept once, so that a hostile line costs no more memory than its text.
pub(super) fn split_tags(field: &str) -> Vec<Box<str>> {
    if field.is_empty() {
        return Vec::new();
    }
    let field = field.strip_prefix(':').unwrap_or(field);
    // A colon alone, which only a settings line may have, is no tag.
    if field.is_empty() {
        return Vec::new();
    }
    let field = field.strip_suffix(':').unwrap_or(field);
    if memchr::memchr_iter(b':', field.as_bytes()).count() < TAGS_KEPT_AS_TYPED {
        return field.split(':').map(Box::from).collect();
    }
    let mut seen = HashSet::new();
    field.split(':').filter(|tag| seen.insert(*tag)).map(Box::from).collect()
}

/// Returns the priority and the length of `[#X]` at the start of a text.
fn read_cookie(text: &str) -> Option<(char, usize)> {
    let rest = text.strip_prefix("[#")?;
    let c = rest.chars().next()?;
    rest.get(c.len_utf8()..)?.starts_with(']').then_some((c, 3 + c.len_utf8()))
}

/// Returns the range of `:a:b:` at the end of a range, colons included; empty without tags.
fn tags(text: &str, range: Range<usize>) -> Range<usize> {
    let none = range.end..range.end;
    let field = text.get(range.clone()).unwrap_or_default().trim_end_matches([' ', '\t']);
    if !field.ends_with(':') {
        return none;
    }
    // The longest run of tag characters at the end, then its first colon.
    let run = field.trim_end_matches(|c| c == ':' || is_tag_char(c)).len();
    let Some(colon) = field.get(run..).and_then(|run| run.find(':')) else { return none };
    let begin = run + colon;
    if field.len() - begin < 3 {
        return none;
    }
    range.start + begin..range.start + field.len()
}

fn skip_blanks(bytes: &[u8], mut at: usize, end: usize) -> usize {
    while at < end && matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    at
}

/// Returns a range without blanks and carriage returns at its ends.
fn trim(bytes: &[u8], mut range: Range<usize>) -> Range<usize> {
    let blank = |at: usize| matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r'));
    while range.start < range.end && blank(range.start) {
        range.start += 1;
    }
    while range.start < range.end && blank(range.end - 1) {
        range.end -= 1;
    }
    range
}
