//! The side panel: what is in focus, what the gates said, what it costs, and what was changed. No model is asked for it.

use crate::domain::inert::exact;
use crate::edge::tui::parts::Act;
use crate::edge::tui::show::sign;
use crate::edge::tui::state::State;
use crate::edge::tui::theme::Part;
use crate::edge::tui::view::short;
use crate::edge::tui::wrap::clipped;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

/// The gauge has so many steps.
const STEPS: usize = 24;
/// So many lines of each part are shown.
const PART: usize = 8;

/// Draws the panel.
pub fn draw(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let block = Block::new().borders(Borders::LEFT).border_style(state.theme.style(Part::Frame));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    frame.render_widget(Paragraph::new(lines(state, usize::from(inner.width))), inner);
}

fn lines(state: &State, width: usize) -> Vec<Line<'static>> {
    let theme = state.theme;
    let mut out = Vec::new();
    let mut part = |title: &str, rows: Vec<(Part, String)>| {
        if rows.is_empty() {
            return;
        }
        out.push(Line::styled(clipped(&format!(" {title}"), width), theme.style(Part::Heading)));
        for (part, row) in rows.into_iter().take(PART) {
            let row = clipped(&exact(&row).replace(['\n', '\t'], " "), width.saturating_sub(1));
            out.push(Line::from(Span::styled(format!(" {row}"), theme.style(part))));
        }
        out.push(Line::default());
    };
    let status = &state.status;
    let (files, headings) = status.memory;
    let mut focus: Vec<(Part, String)> = Vec::new();
    focus.extend(status.focus.iter().map(|focus| (Part::Plain, focus.clone())));
    focus.extend(status.scope.iter().map(|scope| (Part::Plain, scope.clone())));
    focus.push((Part::Dim, format!("{files} files, {headings} headings in memory")));
    focus.extend(status.reading.iter().map(|reading| (Part::Warning, format!("reading {reading}"))));
    part("Focus", focus);
    part("Being done", state.doing().into_iter().map(|words| (Part::Warning, words)).collect());
    let plans = state.plans.iter().filter(|plan| plan.status == "pending");
    part("Waits for you", plans.map(|plan| (Part::Warning, format!("{} {}", plan.id, plan.title))).collect());
    let last = state.gates.last.iter().map(|act| {
        let verdict = stands(state, act);
        let how = match verdict {
            "pass" => Part::Good,
            "ask" => Part::Warning,
            _ => Part::Bad,
        };
        (how, format!("{} {}", sign(verdict), act.summary))
    });
    part("Last actions", last.collect());
    let counts = state.gates.counts.iter();
    let counts = counts.map(|(gate, (asked, denied))| (Part::Plain, format!("{gate}: {denied} denied, {asked} asked")));
    part("Protection", counts.collect());
    part("Context", context(state));
    let (came, went) = state.spent.tokens;
    let mut cost: Vec<(Part, String)> = Vec::new();
    cost.extend(state.spent.model.iter().map(|model| (Part::Plain, model.clone())));
    if came + went > 0 {
        cost.push((Part::Plain, format!("{} tokens in, {} out", short(came), short(went))));
    }
    cost.extend(state.spent.last.iter().map(|last| (Part::Plain, format!("last: {last}"))));
    part("Cost", cost);
    part(
        "Files changed",
        state.files.iter().map(|file| (Part::Plain, end_of(file, width.saturating_sub(2)))).collect(),
    );
    out
}

/// Returns what became of an action: of one that waited, what was decided, once that is known.
fn stands<'a>(state: &State, act: &'a Act) -> &'a str {
    let plan = act.plan.as_ref().and_then(|id| state.plans.iter().find(|plan| plan.id == *id));
    match plan.map(|plan| plan.status.as_str()) {
        Some("approved" | "done") => "pass",
        Some("pending") | None => &act.verdict,
        Some(_) => "deny",
    }
}

fn context(state: &State) -> Vec<(Part, String)> {
    let Some((used, most)) = state.context else { return Vec::new() };
    if most == 0 {
        return vec![(Part::Plain, format!("{} tokens", short(used)))];
    }
    let steps = (used.saturating_mul(STEPS) / most).min(STEPS);
    let how = if steps * 10 >= STEPS * 9 { Part::Warning } else { Part::Good };
    let gauge = format!("{}{}", "█".repeat(steps), "░".repeat(STEPS - steps));
    vec![
        (how, format!("{gauge} {}%", used.saturating_mul(100) / most)),
        (Part::Dim, format!("{} of {} tokens", short(used), short(most))),
    ]
}

/// Returns the end of a path that fits: its name says more than its folders.
fn end_of(path: &str, width: usize) -> String {
    let (mut start, mut text) = (0, path.to_string());
    while crate::edge::tui::wrap::columns(&text) > width {
        let Some(next) = path.get(start..).and_then(|rest| rest.find('/')) else { break };
        start += next + 1;
        text = format!("…/{}", path.get(start..).unwrap_or_default());
    }
    text
}
