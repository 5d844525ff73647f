//! How an entry of the transcript is laid out in lines, and what is searched for is marked.

use crate::domain::inert::exact;
use crate::edge::tui::markup;
use crate::edge::tui::theme::Part;
use crate::edge::tui::transcript::{Entry, Kind, Look};
use crate::edge::tui::wrap::{Run, columns, plain, untabbed, wrapped};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Returns the lines of an entry.
pub(super) fn laid_out(entry: &Entry, look: &Look) -> Vec<Line<'static>> {
    let Look { width, theme, .. } = *look;
    let style = |part: Part| theme.style(part);
    let said = |mark: &str, part: Part| {
        let first: [Run; 1] = [(mark.to_string(), style(part))];
        let rest: [Run; 1] = [(" ".repeat(mark.chars().count()), Style::new())];
        let mut out = Vec::new();
        for line in untabbed(&exact(entry.text.trim_end())).lines() {
            let before = if out.is_empty() { &first } else { &rest };
            out.extend(wrapped(&[(line.to_string(), style(part))], width, before, &rest));
        }
        out
    };
    let mut lines = match entry.kind {
        Kind::User => said("› ", Part::User),
        Kind::Answer => {
            let mut lines = markup::lines(&entry.text, width, theme);
            while !entry.joined && lines.last().is_some_and(|line| plain(line).trim().is_empty()) {
                lines.pop();
            }
            lines
        }
        Kind::Thought if look.thoughts || entry.open => said("┊ ", Part::Thought),
        Kind::Thought => {
            let words = entry.text.split_whitespace().count();
            vec![Line::styled(format!("┊ thought, {words} words (Ctrl+T shows them)"), style(Part::Thought))]
        }
        Kind::Trace if look.traces => said("  ", Part::Dim),
        Kind::Trace => return Vec::new(),
        Kind::Foot => said("  ", Part::Dim),
        Kind::Note => said("· ", Part::Dim),
        Kind::Warning => said("! ", Part::Warning),
        Kind::Bad => said("!! ", Part::Bad),
    };
    if entry.cut {
        lines.push(Line::styled("[interrupted]", style(Part::Warning)));
    }
    if !look.search.is_empty() {
        lines = highlighted(lines, &look.search, width, style(Part::Match));
    }
    if !entry.joined && !entry.open {
        lines.push(Line::default());
    }
    lines
}

/// What stands before a line that goes on: blanks, and the marks of code and of quotations.
const BEFORE: [char; 3] = [' ', '│', '▎'];

/// A line as words are looked for in it.
struct Sought {
    /// Its characters in lower case, each with where the one of the line begins and ends, in bytes.
    chars: Vec<(char, usize, usize)>,
    /// The first that is not before what goes on.
    words: usize,
    /// A line that follows may go on within a word.
    full: bool,
}

/// Where words stand: in which line they begin, and the part of each line from there on.
pub(super) struct Found {
    /// The line.
    pub line: usize,
    parts: Vec<(usize, usize)>,
}

/// Finds words, in lower case, as they are shown: also where a line of the screen ends within them. There a blank of the
/// words is the end of the line, and a word goes on in the next line where there was no room for it.
pub(super) fn found(lines: &[Line<'static>], words: &str, width: usize) -> Vec<Found> {
    let words: Vec<char> = words.chars().collect();
    let Some(first) = words.first() else { return Vec::new() };
    let lines: Vec<Sought> = lines
        .iter()
        .map(|line| {
            let text = plain(line);
            // Lower case may be longer or shorter: each of its characters knows the one that it is of.
            let chars = text
                .char_indices()
                .flat_map(|(at, c)| c.to_lowercase().map(move |lower| (lower, at, at + c.len_utf8())))
                .collect::<Vec<_>>();
            let words = chars.iter().position(|(c, ..)| !BEFORE.contains(c)).unwrap_or(chars.len());
            // A character may take two columns.
            Sought { words, full: columns(&text) + 1 >= width, chars }
        })
        .collect();
    let mut out = Vec::new();
    for (line, sought) in lines.iter().enumerate() {
        let mut at = 0;
        while let Some((c, ..)) = sought.chars.get(at) {
            let parts = if c == first { reaches(&lines, line, at, &words) } else { None };
            let Some(parts) = parts else {
                at += 1;
                continue;
            };
            let end = parts.first().map_or(0, |(_, end)| *end);
            // What was found is not found again within itself.
            at = sought.chars.iter().position(|(_, begun, _)| *begun >= end).unwrap_or(sought.chars.len()).max(at + 1);
            out.push(Found { line, parts });
        }
    }
    out
}

/// Returns the parts of the lines that the words take up which begin there, if they do.
fn reaches(lines: &[Sought], line: usize, at: usize, words: &[char]) -> Option<Vec<(usize, usize)>> {
    let (mut line, mut at, mut parts) = (line, at, Vec::new());
    let mut part: Option<(usize, usize)> = None;
    let mut wanted = words.iter().peekable();
    while let Some(word) = wanted.peek().map(|word| **word) {
        let here = lines.get(line)?;
        match here.chars.get(at) {
            Some((c, begun, end)) if *c == word => {
                part = Some((part.map_or(*begun, |(begun, _)| begun), *end));
                at += 1;
                wanted.next();
            }
            Some(_) => return None,
            None => {
                // An empty line parts what is above it from what is below.
                let next = lines.get(line + 1).filter(|next| next.words < next.chars.len())?;
                if word == ' ' {
                    wanted.next();
                } else if !here.full {
                    return None;
                }
                parts.push(part.take().unwrap_or((0, 0)));
                (line, at) = (line + 1, next.words);
            }
        }
    }
    parts.extend(part);
    Some(parts)
}

/// Marks words, in lower case, wherever they stand in some lines.
pub(super) fn highlighted(lines: Vec<Line<'static>>, words: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    let mut places = vec![Vec::new(); lines.len()];
    for found in found(&lines, words, width) {
        for (number, part) in found.parts.iter().enumerate() {
            if let Some(places) = places.get_mut(found.line + number) {
                places.push(*part);
            }
        }
    }
    lines.into_iter().zip(places).map(|(line, places)| marked(line, places, style)).collect()
}

/// Marks parts of a line.
fn marked(line: Line<'static>, mut found: Vec<(usize, usize)>, style: Style) -> Line<'static> {
    if found.is_empty() {
        return line;
    }
    found.sort_unstable();
    let (mut spans, mut at) = (Vec::new(), 0);
    for span in line.spans {
        let (begun, ends) = (at, at + span.content.len());
        let mut from = begun;
        for (start, end) in &found {
            let (start, end) = ((*start).clamp(from, ends), (*end).clamp(from, ends));
            if start < end {
                let piece =
                    |from: usize, to: usize| span.content.get(from - begun..to - begun).unwrap_or("").to_string();
                spans.push(Span::styled(piece(from, start), span.style));
                spans.push(Span::styled(piece(start, end), span.style.patch(style)));
                from = end;
            }
        }
        spans.push(Span::styled(span.content.get(from - begun..).unwrap_or("").to_string(), span.style));
        at = ends;
    }
    spans.retain(|span| !span.content.is_empty());
    Line { spans, ..line }
}
