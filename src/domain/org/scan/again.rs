//! The structure of a text that follows another after an edit: only the sections that were touched are read.

use super::{
    Head, Keywords, MAX_BYTES, MAX_HEADINGS, MAX_PROBLEMS, ScanOptions, Survey, TooLarge, Tree, file_node,
    heading_node, line_number, live_settings, outline, scan,
};
use crate::domain::org::headline;
use crate::domain::org::outline::{Node, Outline, Problem};
use crate::domain::org::settings;
use crate::domain::org::setup;
use std::ops::Range;
use std::sync::Arc;

/// Reads the structure of a text that is an earlier one after an edit; the result is what [`scan`] gives.
///
/// # Errors
///
/// As [`scan`].
pub fn scan_again(previous: &Outline, text: Arc<str>, options: &ScanOptions) -> Result<Outline, TooLarge> {
    if text.len() > MAX_BYTES {
        return Err(TooLarge::Bytes(text.len()));
    }
    let Some(change) = Change::between(previous, &text) else { return scan(text, options) };
    let (before, behind) = change.kept(previous);
    let mut survey = Survey { heads: Vec::with_capacity(previous.nodes.len() + 16), settings: Vec::new() };
    survey.heads.extend(before.iter().skip(1).map(head));
    survey.read(&text, change.part.clone(), change.line)?;
    let touched = survey.heads.len().saturating_sub(before.len().saturating_sub(1));
    survey.heads.extend(behind.iter().map(|node| change.moved_head(node)));
    if survey.heads.len() > MAX_HEADINGS {
        return Err(TooLarge::Headings);
    }
    // Settings may be changed anywhere: they are looked for in all of the text, which is quick.
    survey.settings = settings::all(&text);
    let lines = live_settings(&text, &survey);
    let gathered = setup::gather(&text, &lines, &options.setups, |at| line_number(&text, at));
    let settings = settings::read(&gathered.statements, &options.sequences);
    let setups = gathered.uses;
    if settings.too_many_keywords || settings.keywords != previous.keywords {
        return scan(text, options);
    }
    let mut problems: Vec<Problem> =
        previous.problems.iter().filter(|problem| problem.line < change.line).cloned().collect();
    let keywords = Keywords::of(&settings.keywords);
    let file = match before.first() {
        Some(file) => file.clone(),
        None => file_node(&text, survey.heads.first(), &mut problems),
    };
    let mut tree = Tree::new(survey.heads.len() + 1, file);
    before.iter().skip(1).for_each(|node| tree.add(node.clone()));
    let first = before.len().saturating_sub(1);
    for index in first..first + touched {
        let limit = survey.heads.get(index + 1).map_or(text.len(), |next| next.begin as usize);
        if let Some(head) = survey.heads.get(index) {
            tree.add(heading_node(&text, head, limit, &keywords, &mut problems));
        }
    }
    behind.iter().for_each(|node| tree.add(change.moved(node)));
    problems.extend(change.moved_problems(previous, behind));
    problems.truncate(MAX_PROBLEMS);
    let nodes = tree.close(text.len());
    Ok(outline(text, nodes, settings, setups, problems))
}

/// What an edit touched.
struct Change {
    /// Nodes in front of it, and the first one behind it.
    first: usize,
    behind: usize,
    /// The part of the new text that is read, and the number of its first line.
    part: Range<usize>,
    line: u32,
    /// How far what stands behind is moved, in bytes and lines.
    bytes: i64,
    lines: i64,
}

impl Change {
    /// Finds out what was touched; nothing when that cannot be told from the earlier outline.
    fn between(previous: &Outline, text: &str) -> Option<Change> {
        // Problems are told apart by their lines; the first line may have some of the whole file.
        let odd = previous.problems.len() >= MAX_PROBLEMS || previous.problems.iter().any(|problem| problem.line <= 1);
        if odd || previous.nodes.is_empty() {
            return None;
        }
        let (old, new) = (previous.text.as_bytes(), text.as_bytes());
        let (head, tail) = common(old, new);
        let (old_tail, new_tail) = (old.len() - tail, new.len() - tail);
        // A heading stays one when its stars and the line end in front of them do.
        let stays = |node: &Node| headline::stars(new.get(node.begin as usize..).unwrap_or_default()).is_some();
        let nodes = &previous.nodes;
        let mut first = nodes.partition_point(|node| (node.begin as usize) < head).saturating_sub(1);
        while first > 0 && !nodes.get(first).is_some_and(stays) {
            first -= 1;
        }
        let behind = first + 1 + nodes.get(first + 1..)?.partition_point(|node| (node.begin as usize) <= old_tail);
        let begin = nodes.get(first).map_or(0, |node| node.begin as usize);
        let old_end = nodes.get(behind).map_or(old.len(), |node| node.begin as usize);
        let end = old_end - old_tail + new_tail;
        let count = |bytes: Option<&[u8]>| memchr::memchr_iter(b'\n', bytes.unwrap_or_default()).count() as i64;
        Some(Change {
            first,
            behind,
            part: begin..end,
            line: nodes.get(first).map_or(1, |node| node.line),
            bytes: new.len() as i64 - old.len() as i64,
            lines: count(new.get(begin..end)) - count(old.get(begin..old_end)),
        })
    }

    /// Returns the nodes in front of what was touched, and those behind it.
    fn kept<'a>(&self, previous: &'a Outline) -> (&'a [Node], &'a [Node]) {
        let nodes = previous.nodes.as_slice();
        (nodes.get(..self.first).unwrap_or_default(), nodes.get(self.behind..).unwrap_or_default())
    }

    fn byte(&self, at: u32) -> u32 {
        (i64::from(at) + self.bytes) as u32
    }

    fn line(&self, line: u32) -> u32 {
        (i64::from(line) + self.lines) as u32
    }

    fn moved_head(&self, node: &Node) -> Head {
        Head { begin: self.byte(node.begin), line: self.line(node.line) }
    }

    fn moved(&self, node: &Node) -> Node {
        let range = |range: &Range<u32>| self.byte(range.start)..self.byte(range.end);
        Node {
            level: node.level,
            parent: 0,
            line: self.line(node.line),
            begin: self.byte(node.begin),
            section: range(&node.section),
            end: 0,
            title: range(&node.title),
            todo: node.todo,
            priority: node.priority,
            tags: node.tags.clone(),
            commented: node.commented,
            properties: node.properties.clone(),
            scheduled: node.scheduled.as_ref().map(range),
            deadline: node.deadline.as_ref().map(range),
            closed: node.closed.as_ref().map(range),
            body: range(&node.body),
        }
    }

    /// Returns the problems of the nodes behind what was touched.
    fn moved_problems<'a>(&'a self, previous: &'a Outline, behind: &'a [Node]) -> impl Iterator<Item = Problem> + 'a {
        let from = behind.first().map_or(u32::MAX, |node| node.line);
        let theirs = previous.problems.iter().filter(move |problem| problem.line >= from);
        theirs.map(|problem| Problem { line: self.line(problem.line), text: problem.text.clone() })
    }
}

fn head(node: &Node) -> Head {
    Head { begin: node.begin, line: node.line }
}

/// How many bytes are compared at once.
const STRIDE: usize = 4096;

/// Returns how many bytes two texts begin with alike, and with how many of the rest they end alike.
pub fn common(old: &[u8], new: &[u8]) -> (usize, usize) {
    let head = common_head(old, new);
    let room = old.len().min(new.len()) - head;
    (head, common_tail(&old[old.len() - room..], &new[new.len() - room..]))
}

fn common_head(a: &[u8], b: &[u8]) -> usize {
    let whole = a.chunks(STRIDE).zip(b.chunks(STRIDE)).take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum();
    whole + a[whole..].iter().zip(&b[whole..]).take_while(|(a, b)| a == b).count()
}

/// Two slices of the same length.
fn common_tail(a: &[u8], b: &[u8]) -> usize {
    let whole: usize = a.rchunks(STRIDE).zip(b.rchunks(STRIDE)).take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum();
    let (a, b) = (&a[..a.len() - whole], &b[..b.len() - whole]);
    whole + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}
