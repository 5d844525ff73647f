//! Where things stand on the screen, for any size of a window.

use crate::edge::tui::parts::Over;
use crate::edge::tui::state::State;
use ratatui::layout::Rect;

/// From so many columns on the side panel has its place.
pub const WIDE: u16 = 120;
/// So wide is it.
pub const PANEL: u16 = 42;
/// What is typed never takes more rows.
const INPUT_MOST: u16 = 8;

/// The areas of the screen; what has no room is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Areas {
    /// What was said.
    pub transcript: Rect,
    /// What is typed, with its border above.
    pub input: Rect,
    /// The line at the foot.
    pub status: Rect,
    /// The side panel.
    pub panel: Rect,
    /// What lies over the transcript, with its border.
    pub over: Rect,
    /// The text in it.
    pub reader: Rect,
}

/// The mark before what is typed takes so many columns.
pub const MARK: u16 = 2;

/// Returns where things stand.
pub fn areas(state: &State) -> Areas {
    let (columns, rows) = state.size;
    let wide = columns >= WIDE;
    let beside = wide && state.panel.unwrap_or(true);
    let width = if beside { columns - PANEL } else { columns };
    let status = Rect::new(0, rows.saturating_sub(1), columns, rows.min(1));
    let typed = state.input.rows(usize::from(width.saturating_sub(MARK))).len();
    let border = u16::from(rows >= 8);
    let most = INPUT_MOST.min(rows / 3).max(1);
    let height = (u16::try_from(typed).unwrap_or(most).clamp(1, most) + border).min(rows.saturating_sub(1));
    let input = Rect::new(0, status.y.saturating_sub(height), width, height);
    let transcript = Rect::new(0, 0, width, input.y);
    let panel = match (beside, state.panel) {
        (true, _) => Rect::new(width, 0, PANEL, status.y),
        // Never over something that is read: what it hides would count as displayed.
        (false, Some(true)) if state.over.is_none() => {
            let narrow = PANEL.min(columns);
            Rect::new(columns - narrow, 0, narrow, status.y)
        }
        (false, _) => Rect::default(),
    };
    // Readers take the whole height: of a plan as much as possible is seen at once.
    let over = match &state.over {
        None => Rect::default(),
        Some(Over::Reader(_)) => Rect::new(0, 0, width, status.y),
        Some(Over::Plans(_) | Over::Palette(..)) => {
            let (w, h) = (width.min(76), status.y.min(22));
            Rect::new((width - w) / 2, (status.y - h) / 2, w, h)
        }
    };
    // A border at each side, and a line at the foot that says what can be done.
    let inner = over.height.saturating_sub(3);
    let reader = Rect::new(over.x + 1, over.y + 1, over.width.saturating_sub(2), inner);
    Areas { transcript, input, status, panel, over, reader }
}
