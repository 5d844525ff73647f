//! The part of a node's body that fits a query best, with what was found in it marked.

use crate::domain::context::prose::prose;
use crate::domain::context::segment::prefix;
use crate::domain::context::words::{Analyser, Piece, pieces};
use crate::domain::memory::view::NodeRef;
use crate::domain::query::plan::Plan;
use crate::domain::query::text::Reader;
use std::collections::HashSet;
use std::ops::Range;

/// How many characters a snippet has at most, without its ellipses.
pub const LENGTH: usize = 160;
/// How many of them stand before the first mark.
const BEFORE: usize = 40;
/// How much of a body is looked through.
const LOOKED_THROUGH: usize = 64 << 10;
/// How many places are looked at.
const MOST_MARKS: usize = 2_000;

/// A part of a text, on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The text.
    pub text: String,
    /// What is marked, in characters of the text, in order and apart from each other.
    pub marks: Vec<Range<usize>>,
}

/// Finds the words of a query in texts.
pub struct Marker {
    /// Stems of words.
    stems: HashSet<Box<str>>,
    /// Runs of scripts without spaces.
    runs: Vec<String>,
}

impl Marker {
    /// Makes a marker for what a query looks for.
    pub fn of(plan: &Plan) -> Marker {
        let texts = plan.texts.iter().filter(|text| text.counts);
        let mut marker = Marker { stems: HashSet::new(), runs: Vec::new() };
        for text in texts {
            text.wanted.marks(&mut marker.stems, &mut marker.runs);
        }
        marker
    }

    /// Returns whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.stems.is_empty() && self.runs.is_empty()
    }

    /// Returns the best part of a node's body; `None` when no text was asked for, or there is none.
    pub fn snippet(&self, reader: &mut Reader, node: &NodeRef) -> Option<Snippet> {
        if self.is_empty() {
            return None;
        }
        let body = one_line(&without_links(&prose(prefix(node.body(), LOOKED_THROUGH))));
        (!body.is_empty()).then(|| cut(&body, &self.marks(reader, &body)))
    }

    /// Returns what of a text is marked, in bytes, in order and apart from each other.
    pub fn marks(&self, reader: &mut Reader, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for run in &self.runs {
            found.extend(text.match_indices(run.as_str()).take(MOST_MARKS).map(|(at, found)| at..at + found.len()));
        }
        for word in words(text) {
            if found.len() > 2 * MOST_MARKS {
                break;
            }
            if text.get(word.clone()).is_some_and(|word| self.is_wanted(reader.analyser(), word)) {
                found.push(word);
            }
        }
        found.sort_by_key(|range| (range.start, range.end));
        let mut marks: Vec<Range<usize>> = Vec::new();
        for range in found {
            match marks.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                Some(_) | None => marks.push(range),
            }
        }
        marks
    }

    fn is_wanted(&self, analyser: &mut Analyser, word: &str) -> bool {
        let mut wanted = false;
        pieces(word, |piece| {
            wanted |= match piece {
                Piece::Word(word) => self.stems.contains(analyser.stem(word)) || self.stems.contains(word),
                Piece::Day(day) => self.stems.contains(day),
                Piece::Gram(_) => false,
            }
        });
        wanted
    }
}

/// Returns the words of a text, in bytes; a day is one.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '\u{300}'..='\u{36f}');
    let joins = |c: char| c == '-';
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let begin = at + rest.find(part)?;
        let mut end = text.len();
        for (offset, c) in text.get(begin..)?.char_indices() {
            let digits = || {
                text.get(begin..begin + offset)
                    .is_some_and(|before| before.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
            };
            let inside = part(c) || (joins(c) && digits());
            if !inside {
                end = begin + offset;
                break;
            }
        }
        at = end;
        Some(begin..end)
    })
}

/// Returns a text on one line, runs of white space and control characters as one space.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Returns a text in which links stand as their words.
pub fn without_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[[") {
        out.push_str(before);
        let end = link.find("]]").filter(|end| link.get(..*end).is_some_and(|inner| !inner.contains("[[")));
        let Some((inner, behind)) = end.and_then(|end| Some((link.get(..end)?, link.get(end + 2..)?))) else {
            out.push_str("[[");
            rest = link;
            continue;
        };
        out.push_str(inner.split_once("][").map_or(inner, |(_, words)| words));
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Cuts the part with the most different marks out of a text; marks come in bytes of the text.
pub fn cut(text: &str, marks: &[Range<usize>]) -> Snippet {
    // Places of characters: marks are few, so each is looked up.
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let character = |byte: usize| starts.partition_point(|at| *at < byte);
    let marks: Vec<Range<usize>> = marks.iter().map(|mark| character(mark.start)..character(mark.end)).collect();
    let first = densest(text, &starts, &marks).saturating_sub(BEFORE);
    let begin = if starts.len() <= LENGTH { 0 } else { word_start(text, &starts, first) };
    let end = starts.len().min(begin + LENGTH);
    let byte = |character: usize| starts.get(character).copied().unwrap_or(text.len());
    let (lead, tail) = (if begin > 0 { "…" } else { "" }, if end < starts.len() { "…" } else { "" });
    let inner = text.get(byte(begin)..byte(end)).unwrap_or("");
    let shift = usize::from(begin > 0);
    let marks = marks.iter().filter(|mark| mark.start >= begin && mark.start < end);
    Snippet {
        text: format!("{lead}{inner}{tail}"),
        marks: marks.map(|mark| mark.start - begin + shift..mark.end.min(end) - begin + shift).collect(),
    }
}

/// Returns where the mark stands behind which the most different words are marked within one snippet.
fn densest(text: &str, starts: &[usize], marks: &[Range<usize>]) -> usize {
    let word = |mark: &Range<usize>| {
        let (from, to) =
            (starts.get(mark.start).copied().unwrap_or(0), starts.get(mark.end).copied().unwrap_or(text.len()));
        text.get(from..to).unwrap_or("").to_lowercase()
    };
    let mut best = (0, 0);
    for (at, mark) in marks.iter().take(200).enumerate() {
        let near =
            marks.get(at..).unwrap_or(&[]).iter().take(30).take_while(|near| near.end <= mark.start + LENGTH - BEFORE);
        let different: HashSet<String> = near.map(word).collect();
        if different.len() > best.0 {
            best = (different.len(), mark.start);
        }
    }
    best.1
}

/// Returns a place at or little behind another one where a word begins.
fn word_start(text: &str, starts: &[usize], at: usize) -> usize {
    if at == 0 {
        return 0;
    }
    let begins = |place: &usize| {
        let before = starts.get(place - 1).and_then(|at| text.get(*at..)?.chars().next());
        before.is_some_and(char::is_whitespace)
    };
    (at..at + BEFORE / 2).find(begins).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(snippet: &Snippet) -> String {
        let mut out = String::new();
        for (at, c) in snippet.text.chars().enumerate() {
            if snippet.marks.iter().any(|mark| mark.start == at) {
                out.push('[');
            }
            out.push(c);
            if snippet.marks.iter().any(|mark| mark.end == at + 1) {
                out.push(']');
            }
        }
        out
    }

    #[test]
    fn marks_keep_their_places() {
        assert_eq!(shown(&cut("one two three", std::slice::from_ref(&(4..7)))), "one [two] three");
        assert_eq!(shown(&cut("", &[])), "");
        let long = format!("{}needle and thread{}", "hay ".repeat(100), " straw".repeat(100));
        let snippet = cut(&long, std::slice::from_ref(&(400..406)));
        assert!(shown(&snippet).contains("hay [needle] and"), "{}", shown(&snippet));
        assert!(snippet.text.starts_with("…hay") && snippet.text.ends_with('…'));
        assert_eq!(snippet.text.chars().count(), LENGTH + 2);
        let wide = "漢字".repeat(200);
        let at = wide.char_indices().nth(300).map(|(at, _)| at).expect("it is long enough");
        let snippet = cut(&wide, std::slice::from_ref(&(at..at + 6)));
        assert_eq!(snippet.marks, vec![BEFORE + 1..BEFORE + 3]);
    }
}
