//! Draws the state. What is drawn is inert already, or made so here.

use crate::domain::inert::exact;
use crate::edge::tui::commands::found;
use crate::edge::tui::input::Input;
use crate::edge::tui::layout::{Areas, MARK};
use crate::edge::tui::panel;
use crate::edge::tui::parts::{CameTo, Over};
use crate::edge::tui::reader::{Asked, BELOW, HANG, Of, Reader, TOO_LONG};
use crate::edge::tui::state::{Linked, State};
use crate::edge::tui::theme::{Part, Theme};
use crate::edge::tui::wrap::{clipped, columns};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

/// The pictures of what moves.
const SPINNER: [&str; 8] = ["⠋", "⠙", "⠹", "⠸", "⠴", "⠦", "⠧", "⠇"];

/// Of what is being done so many columns are shown at the foot.
const DOING: usize = 40;

/// Draws all of it.
pub fn draw(frame: &mut Frame<'_>, state: &mut State) {
    let size = frame.area();
    // The window may have another size than was told last.
    state.size = (size.width, size.height);
    let areas = state.areas();
    draw_transcript(frame, state, areas.transcript);
    draw_input(frame, state, areas.input);
    frame.render_widget(Paragraph::new(foot(state, areas.status.width)), areas.status);
    if areas.panel.width > 0 {
        frame.render_widget(Clear, areas.panel);
        panel::draw(frame, state, areas.panel);
    }
    match state.over.take() {
        Some(Over::Reader(mut reader)) => {
            draw_reader(frame, state, &mut reader, &areas);
            state.over = Some(Over::Reader(reader));
        }
        Some(Over::Plans(at)) => {
            draw_plans(frame, state, at, areas.over);
            state.over = Some(Over::Plans(at));
        }
        Some(Over::Palette(words, at)) => {
            let at = draw_palette(frame, state, &words, at, areas.over);
            state.over = Some(Over::Palette(words, at));
        }
        None => {}
    }
}

fn draw_transcript(frame: &mut Frame<'_>, state: &mut State, area: Rect) {
    let look = state.look();
    let lines = state.transcript.visible(&look, usize::from(area.height));
    // What is said stands at the foot, near to what is typed.
    let blank = usize::from(area.height).saturating_sub(lines.len());
    let area = Rect {
        y: area.y + u16::try_from(blank).unwrap_or(0),
        height: area.height - u16::try_from(blank).unwrap_or(0),
        ..area
    };
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_input(frame: &mut Frame<'_>, state: &State, area: Rect) {
    if area.height == 0 || area.width == 0 {
        return;
    }
    let theme = state.theme;
    let border = area.height > 1 && state.size.1 >= 8;
    let mut rows = area;
    if border {
        let line = Line::styled("─".repeat(usize::from(area.width)), theme.style(Part::Frame));
        frame.render_widget(Paragraph::new(line), Rect { height: 1, ..area });
        rows = Rect { y: area.y + 1, height: area.height - 1, ..area };
    }
    let (mark, input) = match &state.search {
        Some(search) => ("/ ", &search.words),
        None => ("› ", &state.input),
    };
    if input.is_empty() && state.over.is_none() {
        let words = match &state.search {
            Some(_) => "search; Enter or Up looks above, Down below, Esc ends",
            None => "ask something, or / for a command",
        };
        let room = usize::from(rows.width.saturating_sub(MARK));
        let line = vec![
            Span::styled(mark, theme.style(Part::User)),
            Span::styled(clipped(words, room), theme.style(Part::Dim)),
        ];
        frame.render_widget(Paragraph::new(Line::from(line)), rows);
        frame.set_cursor_position(Position::new(rows.x + MARK.min(rows.width.saturating_sub(1)), rows.y));
        return;
    }
    draw_typed(frame, theme, input, mark, rows, state.over.is_none());
}

/// Draws what is typed, with the cursor in sight.
fn draw_typed(frame: &mut Frame<'_>, theme: Theme, input: &Input, mark: &str, area: Rect, cursor: bool) {
    let width = usize::from(area.width.saturating_sub(MARK)).max(1);
    let (row, column) = input.place(width);
    let height = usize::from(area.height);
    let first = row.saturating_sub(height.saturating_sub(1));
    let rows = input.rows(width);
    let lines: Vec<Line<'static>> = rows
        .iter()
        .enumerate()
        .skip(first)
        .take(height)
        .map(|(at, fold)| {
            let text = input.text().get(fold.start..fold.shown).unwrap_or_default();
            let before = if at == 0 { mark.to_string() } else { " ".repeat(usize::from(MARK)) };
            Line::from(vec![Span::styled(before, theme.style(Part::User)), Span::raw(visible(text))])
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
    if cursor {
        let x = area.x + MARK + u16::try_from(column).unwrap_or(0);
        let y = area.y + u16::try_from(row - first).unwrap_or(0);
        frame.set_cursor_position(Position::new(x.min(area.right().saturating_sub(1)), y));
    }
}

/// Shows what is typed or pasted with a picture in the place of each character that steers, of the same width.
fn visible(text: &str) -> String {
    let picture = |c: char| match c {
        '\t' => ' ',
        c if exact(c.encode_utf8(&mut [0; 4])).starts_with("\\u{") => '\u{fffd}',
        c => c,
    };
    text.chars().map(picture).collect()
}

/// Returns the line at the foot.
fn foot(state: &State, width: u16) -> Line<'static> {
    let (theme, width) = (state.theme, usize::from(width));
    let style = theme.style(Part::Status);
    if let Some(hint) = &state.hint {
        return Line::styled(filled(&format!(" {hint}"), width), style);
    }
    let mut parts = vec![match &state.linked {
        Linked::Up { .. } if state.silent => "◌ silent".to_string(),
        Linked::Up { version, here: true, .. } => format!("● here {version}"),
        Linked::Up { version, .. } => format!("● {version}"),
        Linked::Down(_, seconds) => format!("○ no connection, again in {seconds} s"),
        Linked::Looking | Linked::Silent(_) | Linked::Back => "○ connecting".to_string(),
    }];
    let spin = SPINNER.get(state.spin % SPINNER.len()).copied().unwrap_or("*");
    if state.stopping {
        parts.push(format!("{spin} stopping"));
    } else if let [first, rest @ ..] = state.doing().as_slice() {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        parts.push(format!("{spin} {}{more}, Esc stops", clipped(&exact(first).replace(['\n', '\t'], " "), DOING)));
    } else if state.streams() {
        parts.push(format!("{spin} answering, Esc stops"));
    } else if state.busy() {
        parts.push(format!("{spin} thinking, Esc stops"));
    } else if let Some(reading) = &state.status.reading {
        parts.push(format!("reading {reading}"));
    } else if !state.status.state.is_empty() {
        parts.push(state.status.state.clone());
    }
    match state.status.pending {
        0 => {}
        1 => parts.push("1 plan waits".to_string()),
        more => parts.push(format!("{more} plans wait")),
    }
    let searched = state.search.as_ref().filter(|search| !search.words.is_empty());
    let searched = searched.and_then(|search| match search.came_to {
        CameTo::Unknown => Some("Enter or Up looks above, Down below"),
        CameTo::Found => None,
        CameTo::NoMore => Some("nothing more is found"),
        CameTo::Nothing(true) => Some("nothing is found here and above"),
        CameTo::Nothing(false) => Some("nothing is found here and below"),
    });
    parts.extend(searched.map(str::to_string));
    if !state.transcript.at_end() {
        parts.push("more below (Esc)".to_string());
    }
    let (came, went) = state.spent.tokens;
    if came + went > 0 {
        parts.push(format!("{} tokens", short(came + went)));
    }
    parts.extend(state.spent.last.clone());
    parts.extend(state.status.focus.as_ref().map(|focus| format!("at {focus}")));
    if !matches!(state.status.health.as_str(), "" | "healthy" | "unknown") {
        parts.push(format!("{} (/doctor)", state.status.health));
    }
    Line::styled(filled(&format!(" {}", parts.join(" · ")), width), style)
}

/// Returns a number in few characters.
pub(super) fn short(number: usize) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

/// Returns a text of exactly so many columns.
fn filled(text: &str, width: usize) -> String {
    let text = clipped(&exact(text).replace(['\n', '\t'], " "), width);
    let blank = width.saturating_sub(columns(&text));
    format!("{text}{}", " ".repeat(blank))
}

fn framed(frame: &mut Frame<'_>, theme: Theme, title: &str, area: Rect) -> Rect {
    frame.render_widget(Clear, area);
    let title = clipped(&exact(title).replace('\n', " "), usize::from(area.width.saturating_sub(4)));
    let block = Block::bordered()
        .border_style(theme.style(Part::Frame))
        .title(Span::styled(format!(" {title} "), theme.style(Part::Heading)));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

fn draw_reader(frame: &mut Frame<'_>, state: &State, reader: &mut Reader, areas: &Areas) {
    if areas.over.height < 3 || areas.over.width < 4 {
        return;
    }
    let (theme, area) = (state.theme, areas.reader);
    let inner = framed(frame, theme, &reader.title, areas.over);
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let from = reader.line(width);
    let folds: Vec<_> = reader.lines(width).iter().skip(from).take(height).copied().collect();
    let diff = matches!(reader.of, Of::Plan { .. });
    let lines: Vec<Line<'static>> = folds
        .iter()
        .map(|fold| {
            let text = reader.text().get(fold.start..fold.shown).unwrap_or_default().to_string();
            if fold.goes_on {
                let mark = Span::styled(format!("{:<width$}", "\\", width = HANG), theme.style(Part::Frame));
                return Line::from(vec![mark, Span::raw(text)]);
            }
            let part = match text.strip_prefix(BELOW).map(|below| below.chars().next()) {
                None if diff && text.starts_with('─') => Part::Heading,
                Some(Some('+')) if diff => Part::Good,
                Some(Some('-')) if diff => Part::Bad,
                _ => Part::Plain,
            };
            Line::styled(text, theme.style(part))
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
    let line = Rect { y: inner.bottom().saturating_sub(1), height: inner.height.min(1), ..inner };
    if let Asked::Reason { reason, stop } = &reader.asked {
        let mark = if *stop { "Stop, because (Enter): " } else { "Deny, because (Enter): " };
        let text = clipped(&format!("{mark}{}", visible(reason.text())), usize::from(line.width).saturating_sub(1));
        let x = line.x + u16::try_from(columns(&text)).unwrap_or(0);
        frame.render_widget(Paragraph::new(Line::styled(text, theme.style(Part::Warning))), line);
        frame.set_cursor_position(Position::new(x.min(line.right().saturating_sub(1)), line.y));
        return;
    }
    let text = reader_foot(reader, width, height);
    frame.render_widget(Paragraph::new(Line::styled(clipped(&text, width), theme.style(Part::Warning))), line);
}

/// Says what can be done with what is read.
fn reader_foot(reader: &mut Reader, width: usize, height: usize) -> String {
    let far = if reader.awaited && reader.text().is_empty() {
        "…".to_string()
    } else {
        let more = if reader.is_whole() { "" } else { "+" };
        format!("{}%{more}", reader.progress(width, height))
    };
    let read = reader.was_displayed();
    match (&reader.of, &reader.asked) {
        (Of::Plan { id, .. }, Asked::Yes) => format!("Carry out exactly this ({id}), once? y: yes, any other key: no"),
        (Of::Preview { .. }, Asked::Yes) => "Do exactly this? y: yes, any other key: no".to_string(),
        (Of::Plan { waits: true, .. }, _) if reader.cut => format!("{far}  {TOO_LONG}  d deny  s stop  Esc back"),
        (Of::Preview { .. }, _) if reader.cut => format!("{far}  {TOO_LONG}  Esc back"),
        (Of::Plan { waits: true, .. }, _) if read => format!("{far}  a approve  d deny  s stop  w why  Esc back"),
        (Of::Plan { waits: true, .. }, _) => format!("{far}  Space on (read all to approve)  d deny  s stop  Esc back"),
        (Of::Plan { .. }, _) => format!("{far}  it does not wait any more  w why  Esc back"),
        (Of::Preview { .. }, _) if read => format!("{far}  y do this  Esc leave it"),
        (Of::Preview { .. }, _) => format!("{far}  Space on (read all first)  Esc leave it"),
        (Of::Words, _) => format!("{far}  Space on  b back  Esc closes"),
    }
}

fn draw_plans(frame: &mut Frame<'_>, state: &State, at: usize, area: Rect) {
    if area.height < 3 || area.width < 4 {
        return;
    }
    let theme = state.theme;
    let inner = framed(frame, theme, "Plans that wait", area);
    let width = usize::from(inner.width);
    let rows = usize::from(inner.height.saturating_sub(1)).max(1);
    let mut lines: Vec<Line<'static>> = Vec::new();
    if state.plans.is_empty() {
        lines.push(Line::styled("No plan waits.", theme.style(Part::Dim)));
    }
    let first = at.saturating_sub(rows - 1);
    for (number, plan) in state.plans.iter().enumerate().skip(first).take(rows) {
        let text = filled(&format!("{}  {} ({})", plan.id, plan.title, plan.badge), width);
        let part = if number == at { Part::Chosen } else { Part::Plain };
        lines.push(Line::styled(text, theme.style(part)));
    }
    frame.render_widget(Paragraph::new(lines), inner);
    let foot = Rect { y: inner.bottom().saturating_sub(1), height: 1, ..inner };
    let text = clipped("Enter reads it, to approve or deny  Esc back", width);
    frame.render_widget(Paragraph::new(Line::styled(text, theme.style(Part::Dim))), foot);
}

/// Draws the palette; returns which command is chosen, of those that there are.
fn draw_palette(frame: &mut Frame<'_>, state: &State, words: &Input, at: usize, area: Rect) -> usize {
    let found = found(words.text());
    let at = at.min(found.len().saturating_sub(1));
    if area.height < 4 || area.width < 4 {
        return at;
    }
    let theme = state.theme;
    let inner = framed(frame, theme, "Commands", area);
    let width = usize::from(inner.width);
    draw_typed(frame, theme, words, "› ", Rect { height: 1, ..inner }, true);
    let rows = usize::from(inner.height - 1).max(1);
    let lines: Vec<Line<'static>> = found
        .iter()
        .enumerate()
        .skip(at.saturating_sub(rows - 1))
        .take(rows)
        .map(|(number, command)| {
            let name = format!("/{} {}", command.name, command.words);
            let text = filled(&format!("{name:<26} {}", command.summary), width);
            Line::styled(text, theme.style(if number == at { Part::Chosen } else { Part::Plain }))
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), Rect { y: inner.y + 1, height: inner.height - 1, ..inner });
    at
}
