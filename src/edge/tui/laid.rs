//! How an entry of the transcript is laid out in lines, and what is searched for is marked.

use crate::domain::inert::exact;
use crate::edge::tui::markup;
use crate::edge::tui::theme::Part;
use crate::edge::tui::transcript::{Entry, Kind, Look};
use crate::edge::tui::wrap::{Run, plain, untabbed, wrapped};
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
        lines = lines.into_iter().map(|line| highlighted(line, &look.search, style(Part::Match))).collect();
    }
    if !entry.joined && !entry.open {
        lines.push(Line::default());
    }
    lines
}

/// Marks words, in lower case, wherever they stand in a line.
pub(super) fn highlighted(line: Line<'static>, words: &str, style: Style) -> Line<'static> {
    let text = plain(&line);
    // Lower case may be longer or shorter: then each place is one of a character.
    let lower: Vec<(usize, char)> =
        text.char_indices().flat_map(|(at, c)| c.to_lowercase().map(move |lower| (at, lower))).collect();
    let folded: String = lower.iter().map(|(_, c)| c).collect();
    let starts: Vec<usize> = folded.char_indices().map(|(at, _)| at).collect();
    let place = |byte: usize| {
        let character = starts.partition_point(|start| *start < byte);
        lower.get(character).map_or(text.len(), |(at, _)| *at)
    };
    let found: Vec<(usize, usize)> =
        folded.match_indices(words).map(|(at, found)| (place(at), place(at + found.len()))).collect();
    if found.is_empty() {
        return line;
    }
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
    Line::from(spans)
}
