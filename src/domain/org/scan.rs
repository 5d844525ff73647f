//! The line scanner: Org text → [`Outline`], linear in the text, without recursion, as Org 9.7 reads it.
//!
//! It knows headlines, in-buffer settings, planning lines and property drawers, and nothing of what a section holds.
//! Inline tasks are headings, as in an Emacs without `org-inlinetask`.

mod again;

use super::headline::{self, Keywords, split_tags};
use super::outline::{Node, Outline, Problem, SetupUse};
use super::section::{self, DrawerAt, line_at};
use super::settings::{self, Line, Settings};
use super::setup::{self, Setups};
use std::ops::Range;
use std::sync::Arc;

pub use again::{common, scan_again};

/// The largest file that is read, in bytes.
pub const MAX_BYTES: usize = 500_000_000;

/// The most headings that a file may have.
pub const MAX_HEADINGS: usize = 1_000_000;

/// How many problems of one file are kept.
const MAX_PROBLEMS: usize = 100;

/// What the user's Emacs says where a file is silent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanOptions {
    /// Keyword sequences, each as it would stand behind `#+TODO:`, such as `TODO(t) NEXT | DONE(d!)`.
    pub sequences: Vec<String>,
    /// Where the texts of `#+SETUPFILE` come from, and for which file.
    pub setups: Setups,
}

impl Default for ScanOptions {
    fn default() -> Self {
        ScanOptions { sequences: vec!["TODO | DONE".to_owned()], setups: Setups::default() }
    }
}

impl ScanOptions {
    /// Returns the same for a file, whose setup files are read from now on.
    pub fn of(&self, file: &str) -> ScanOptions {
        ScanOptions { sequences: self.sequences.clone(), setups: self.setups.of(file) }
    }
}

/// A text that is too large to be read as one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// More than [`MAX_BYTES`].
    #[error("{0} bytes; an Org file of more than 500 MB is not read. Split it into several files")]
    Bytes(usize),
    /// More than [`MAX_HEADINGS`].
    #[error("more than a million headings; such a file is not read. Split it into several files")]
    Headings,
}

/// Reads the structure of an Org text.
///
/// # Errors
///
/// Only when the text has more than 500 MB or a million headings; every other text has an outline.
pub fn scan(text: Arc<str>, options: &ScanOptions) -> Result<Outline, TooLarge> {
    if text.len() > MAX_BYTES {
        return Err(TooLarge::Bytes(text.len()));
    }
    let survey = survey(&text)?;
    let lines = live_settings(&text, &survey);
    let gathered = setup::gather(&text, &lines, &options.setups, |at| line_number(&text, at));
    let settings = settings::read(&gathered.statements, &options.sequences);
    let setups = gathered.uses;
    let mut problems = Vec::new();
    if settings.too_many_keywords {
        problems.push(Problem {
            line: 1,
            text: "too many keywords; the lines from the one that passes 65,535 on are ignored".to_owned(),
        });
    }
    let nodes = nodes(&text, &survey.heads, &settings, &mut problems);
    Ok(outline(text, nodes, settings, setups, problems))
}

/// Puts together what was read.
fn outline(
    text: Arc<str>,
    nodes: Vec<Node>,
    settings: Settings,
    setups: Vec<SetupUse>,
    problems: Vec<Problem>,
) -> Outline {
    let Settings { keywords, sequences, filetags, title, startup, properties, category, abbreviations, .. } = settings;
    Outline {
        text,
        nodes,
        keywords,
        sequences,
        filetags,
        title,
        startup,
        properties,
        category,
        abbreviations,
        setups,
        problems,
    }
}

/// Returns the lines of a setup file that make settings; none of one that is too large to be read as Org.
pub(super) fn setting_lines(text: &str) -> Vec<Line> {
    survey(text).map(|survey| live_settings(text, &survey)).unwrap_or_default()
}

/// Where headlines begin, and lines that may be settings.
struct Survey {
    heads: Vec<Head>,
    settings: Vec<Line>,
}

#[derive(Clone, Copy)]
struct Head {
    begin: u32,
    line: u32,
}

fn survey(text: &str) -> Result<Survey, TooLarge> {
    let mut survey = Survey { heads: Vec::new(), settings: Vec::new() };
    survey.read(text, 0..text.len(), 1)?;
    survey.heads.shrink_to_fit();
    Ok(survey)
}

impl Survey {
    /// Adds what stands in a part of a text that begins with a line, whose number is told.
    fn read(&mut self, text: &str, part: Range<usize>, line: u32) -> Result<(), TooLarge> {
        let bytes = text.as_bytes();
        let here = bytes.get(part.clone()).unwrap_or_default();
        let mut at = part.start;
        let ends = memchr::memchr_iter(b'\n', here).map(|offset| part.start + offset);
        for (before, end) in ends.chain([part.end]).enumerate() {
            match bytes.get(at).filter(|_| at < part.end) {
                Some(b'*') if headline::stars(bytes.get(at..end).unwrap_or_default()).is_some() => {
                    if self.heads.len() == MAX_HEADINGS {
                        return Err(TooLarge::Headings);
                    }
                    self.heads.push(Head { begin: at as u32, line: before as u32 + line });
                }
                Some(b'#' | b' ' | b'\t') => {
                    let inner = bytes.get(at..end).unwrap_or_default();
                    let first = inner.iter().position(|byte| !matches!(byte, b' ' | b'\t')).unwrap_or(inner.len());
                    if inner.get(first..).is_some_and(|rest| rest.starts_with(b"#+")) {
                        self.settings.extend(settings::setting(text.get(at..end).unwrap_or_default(), at));
                    }
                }
                Some(_) | None => {}
            }
            at = end + 1;
        }
        Ok(())
    }
}

/// Returns the setting lines that are not inside blocks, section by section: no block reaches over a headline.
fn live_settings(text: &str, survey: &Survey) -> Vec<Line> {
    let mut live = Vec::new();
    let mut rest = survey.settings.as_slice();
    while let Some(first) = rest.first() {
        let behind = survey.heads.partition_point(|head| (head.begin as usize) <= first.begin);
        let begin = behind.checked_sub(1).and_then(|index| survey.heads.get(index)).map_or(0, |h| h.begin as usize);
        let end = survey.heads.get(behind).map_or(text.len(), |head| head.begin as usize);
        let count = rest.partition_point(|line| line.begin < end);
        let (own, others) = rest.split_at(count);
        live.extend(settings::outside_blocks(text, begin..end, own));
        rest = others;
    }
    live
}

fn nodes(text: &str, heads: &[Head], settings: &Settings, problems: &mut Vec<Problem>) -> Vec<Node> {
    let keywords = Keywords::of(&settings.keywords);
    let mut tree = Tree::new(heads.len() + 1, file_node(text, heads.first(), problems));
    for (index, head) in heads.iter().enumerate() {
        let limit = heads.get(index + 1).map_or(text.len(), |next| next.begin as usize);
        tree.add(heading_node(text, head, limit, &keywords, problems));
    }
    tree.close(text.len())
}

/// Nodes that are put one below the other.
struct Tree {
    nodes: Vec<Node>,
    /// Ancestors of the next heading, with rising levels.
    open: Vec<u32>,
}

impl Tree {
    fn new(room: usize, file: Node) -> Tree {
        let mut nodes = Vec::with_capacity(room);
        nodes.push(file);
        Tree { nodes, open: Vec::new() }
    }

    fn add(&mut self, mut node: Node) {
        while let Some(last) =
            self.open.last().and_then(|&at| self.nodes.get_mut(at as usize)).filter(|n| n.level >= node.level)
        {
            last.end = node.begin;
            self.open.pop();
        }
        node.parent = self.open.last().copied().unwrap_or(0);
        self.open.push(self.nodes.len() as u32);
        self.nodes.push(node);
    }

    fn close(mut self, end: usize) -> Vec<Node> {
        for at in std::iter::once(0).chain(self.open) {
            if let Some(node) = self.nodes.get_mut(at as usize) {
                node.end = end as u32;
            }
        }
        self.nodes
    }
}

fn file_node(text: &str, first: Option<&Head>, problems: &mut Vec<Problem>) -> Node {
    let limit = first.map_or(text.len(), |head| head.begin as usize);
    let at = section::behind_comments(text, limit);
    let (properties, behind) = read_drawer(text, at, limit, problems, || line_number(text, at));
    let body = behind.unwrap_or(0);
    Node {
        level: 0,
        parent: 0,
        line: 1,
        begin: 0,
        section: small(0..limit),
        end: text.len() as u32,
        title: 0..0,
        todo: None,
        priority: None,
        tags: Arc::default(),
        commented: false,
        properties,
        scheduled: None,
        deadline: None,
        closed: None,
        body: small(body..limit),
    }
}

fn heading_node(text: &str, head: &Head, limit: usize, keywords: &Keywords<'_>, problems: &mut Vec<Problem>) -> Node {
    let begin = head.begin as usize;
    let (end, next) = line_at(text, begin, limit);
    let headline = headline::parse(text, begin..end, keywords);
    let tags: Arc<[Box<str>]> = split_tags(text.get(headline.tags).unwrap_or_default()).into();
    let mut at = next;
    let (line_end, line_next) = line_at(text, at, limit);
    let mut planning = section::Planning::default();
    if section::is_planning(text.get(at..line_end).unwrap_or_default()) {
        planning = section::planning(text, at..line_end);
        at = line_next;
        if planning.unreadable {
            note(problems, head.line + 1, || "a date of this planning line is not one that Org can read".to_owned());
        }
    }
    let drawer_line = head.line + 1 + u32::from(at != next);
    let (properties, behind) = read_drawer(text, at, limit, problems, || drawer_line);
    let body = behind.unwrap_or(at);
    Node {
        level: headline.level,
        parent: 0,
        line: head.line,
        begin: head.begin,
        section: small(next..limit),
        end: text.len() as u32,
        title: small(headline.title),
        todo: headline.todo,
        priority: headline.priority,
        tags,
        commented: headline.commented,
        properties,
        scheduled: planning.scheduled.map(small),
        deadline: planning.deadline.map(small),
        closed: planning.closed.map(small),
        body: small(body..limit),
    }
}

type Properties = Arc<[(Box<str>, Box<str>)]>;

/// Returns the properties of the drawer at `at`, and where the text behind it begins if there is one.
fn read_drawer(
    text: &str,
    at: usize,
    limit: usize,
    problems: &mut Vec<Problem>,
    line: impl FnOnce() -> u32,
) -> (Properties, Option<usize>) {
    match section::drawer(text, at, limit) {
        DrawerAt::None => (Arc::default(), None),
        DrawerAt::Broken => {
            note(problems, line(), || {
                "this property drawer is not closed, or holds a line that is no property: Org does not read it"
                    .to_owned()
            });
            (Arc::default(), None)
        }
        DrawerAt::Found(drawer) => (section::properties(text, &drawer.inside).into(), Some(drawer.whole.end)),
    }
}

fn note(problems: &mut Vec<Problem>, line: u32, text: impl FnOnce() -> String) {
    if problems.len() < MAX_PROBLEMS {
        problems.push(Problem { line, text: text() });
    }
}

fn line_number(text: &str, at: usize) -> u32 {
    memchr::memchr_iter(b'\n', text.as_bytes().get(..at).unwrap_or_default()).count() as u32 + 1
}

/// Narrows offsets, which [`MAX_BYTES`] keeps below four gigabytes.
fn small(range: Range<usize>) -> Range<u32> {
    range.start as u32..range.end as u32
}
