//! What people and programs are shown of an answer: fields of a node, lines of a terminal.

use crate::domain::context::segment::prefix;
use crate::domain::inert::exact;
use crate::domain::memory::query::Planning;
use crate::domain::query::error::cells;
use crate::domain::query::run::{Found, Hit, Total};
use crate::domain::query::snippet::{one_line, without_links};
use crate::domain::query::source;
use std::ops::Range;

/// Of a longer title the beginning is handed on, in bytes.
const LONGEST_FIELD: usize = 1000;
/// The longest title that is shown on one line, in characters.
const LONGEST_TITLE: usize = 200;

/// What is said of one node, every text on one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// Its file.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
    /// The byte at which its headline begins, from 0.
    pub byte: u32,
    /// Its level; 0 for a file.
    pub level: u16,
    /// Its title.
    pub title: String,
    /// The titles above it, outermost first.
    pub path: Vec<String>,
    /// Its keyword.
    pub keyword: Option<String>,
    /// Whether that is a done one.
    pub done: bool,
    /// Its priority.
    pub priority: Option<char>,
    /// Its tags, inherited ones first.
    pub tags: Vec<String>,
    /// Its timestamps as they are written.
    pub scheduled: Option<String>,
    /// Likewise.
    pub deadline: Option<String>,
    /// Likewise.
    pub closed: Option<String>,
    /// Whether it is private.
    pub private: bool,
    /// How well its text fits.
    pub score: Option<f32>,
    /// The part of its body that fits best.
    pub snippet: Option<String>,
    /// What is marked in that, in characters.
    pub marks: Vec<Range<usize>>,
}

impl Row {
    /// Returns what is said of a node that fits.
    pub fn of(hit: &Hit) -> Row {
        let node = &hit.node;
        let keyword = source::keyword(node);
        let planning = |kind| source::planning(node, kind).map(one_line);
        Row {
            id: node.id().as_str().to_string(),
            file: source::file(node).to_string(),
            line: source::line(node),
            byte: source::begin(node),
            level: source::level(node),
            title: one_line(prefix(node.title(), LONGEST_FIELD)),
            path: source::path(node).iter().map(|title| one_line(prefix(title, LONGEST_FIELD))).collect(),
            keyword: keyword.map(|(name, _)| name.to_string()),
            done: keyword.is_some_and(|(_, done)| done),
            priority: source::priority(node),
            tags: source::all_tags(node).into_iter().map(str::to_string).collect(),
            scheduled: planning(Planning::Scheduled),
            deadline: planning(Planning::Deadline),
            closed: planning(Planning::Closed),
            private: crate::domain::query::plan::is_private(node.privacy()),
            score: hit.score,
            snippet: hit.snippet.as_ref().map(|snippet| snippet.text.clone()),
            marks: hit.snippet.as_ref().map(|snippet| snippet.marks.clone()).unwrap_or_default(),
        }
    }
}

impl Total {
    /// Returns the number.
    pub fn count(self) -> usize {
        match self {
            Total::Exactly(count) | Total::AtLeast(count) => count,
        }
    }

    /// Returns whether there may be more.
    pub fn is_exact(self) -> bool {
        match self {
            Total::Exactly(_) => true,
            Total::AtLeast(_) => false,
        }
    }

    /// Returns it in words, of which so many are shown: `20 of at least 21 headings`.
    pub fn words(self, shown: usize) -> String {
        let noun = if self.count() == 1 { "heading" } else { "headings" };
        match self {
            Total::Exactly(0) => "nothing".to_string(),
            Total::Exactly(count) if count == shown => format!("{count} {noun}"),
            Total::Exactly(count) => format!("{shown} of {count} {noun}"),
            Total::AtLeast(count) => format!("{shown} of at least {count} {noun}"),
        }
    }
}

/// How a terminal marks things.
pub struct Style {
    /// Around keywords, titles and marks; empty where nothing is coloured.
    pub coloured: bool,
    /// How many cells a line has.
    pub width: usize,
}

const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const OPEN: &str = "\u{1b}[33m";
const DONE: &str = "\u{1b}[32m";
const PLAIN: &str = "\u{1b}[0m";

/// Returns an answer for a terminal.
pub fn plain(found: &Found, style: &Style) -> String {
    let mut out = String::new();
    let paint = |text: &str, colour: &str| match style.coloured {
        true => format!("{colour}{text}{PLAIN}"),
        false => text.to_string(),
    };
    for row in found.hits.iter().map(Row::of) {
        out.push_str(&headline(&row, &paint));
        let place = format!("{}:{}", exact(&row.file), row.line);
        out.push_str(&format!("  {}\n", paint(&place, DIM)));
        let mut where_and_when: Vec<String> = Vec::new();
        if !row.path.is_empty() {
            where_and_when.push(clip(&exact(&row.path.join(" › ")), style.width.saturating_sub(2)));
        }
        let stamps = [("scheduled", &row.scheduled), ("deadline", &row.deadline), ("closed", &row.closed)];
        where_and_when
            .extend(stamps.iter().filter_map(|(name, at)| at.as_ref().map(|at| format!("{name} {}", exact(at)))));
        if !where_and_when.is_empty() {
            out.push_str(&format!("  {}\n", where_and_when.join("  ")));
        }
        if let Some(snippet) = &row.snippet {
            out.push_str(&format!("  {}\n", marked(snippet, &row.marks, &paint)));
        }
    }
    for note in &found.notes {
        out.push_str(&format!("Note: {}\n", exact(&ended(note))));
    }
    out
}

/// Returns a note as a sentence: with a full stop, unless it ends one already.
pub fn ended(note: &str) -> String {
    let end = if note.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{note}{end}")
}

fn headline(row: &Row, paint: &dyn Fn(&str, &str) -> String) -> String {
    let mut parts = Vec::new();
    if let Some(keyword) = &row.keyword {
        parts.push(paint(&exact(keyword), if row.done { DONE } else { OPEN }));
    }
    if let Some(priority) = row.priority {
        parts.push(format!("[#{priority}]"));
    }
    parts.push(paint(&exact(&clip(&without_links(&row.title), LONGEST_TITLE)), BOLD));
    if !row.tags.is_empty() {
        parts.push(paint(&exact(&format!(":{}:", row.tags.join(":"))), DIM));
    }
    format!("{}\n", parts.join(" "))
}

/// Returns a snippet with its marks; without colours they are stars.
fn marked(text: &str, marks: &[Range<usize>], paint: &dyn Fn(&str, &str) -> String) -> String {
    let chars: Vec<char> = text.chars().collect();
    let slice = |range: Range<usize>| exact(&chars.get(range).unwrap_or(&[]).iter().collect::<String>());
    let mut out = String::new();
    let mut at = 0;
    for mark in marks {
        out.push_str(&slice(at..mark.start));
        out.push_str(&paint(&slice(mark.clone()), BOLD));
        at = mark.end;
    }
    out.push_str(&slice(at..chars.len()));
    out
}

/// Returns a text cut to so many cells, with an ellipsis where it was cut.
pub fn clip(text: &str, width: usize) -> String {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += cells(c);
        if used > width.max(1) {
            let kept: String = text.get(..at).unwrap_or("").chars().collect();
            let mut kept = kept;
            kept.pop();
            return format!("{kept}…");
        }
    }
    text.to_string()
}
