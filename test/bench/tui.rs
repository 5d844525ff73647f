//! What a key costs on a terminal: from the key to the picture, with a long transcript above.

use crate::report::row;
use passepartout::edge::tui::state::{Event, State};
use passepartout::edge::tui::theme::Theme;
use passepartout::edge::tui::transcript::Kind;
use passepartout::edge::tui::view::draw;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::{Duration, Instant};

/// Keys that are pressed; the 99th of a hundred counts.
const KEYS: usize = 1_000;
/// The transcript holds so many bytes.
const BYTES: usize = 10_000_000;

/// Prints the rows, with what is promised.
pub fn print() {
    println!("\nA terminal of 140 by 40 with 10 MB said ({KEYS} keys, the 99th of a hundred)");
    let mut state = State::new((140, 40), Theme::Dark, Vec::new(), None, [0; 32]);
    let answer = "Some **words** that stand there, and `code`, and go on for a while.\n\n- an item\n".repeat(60);
    while state.transcript.bytes() < BYTES {
        state.transcript.push(Kind::Answer, &answer);
    }
    let mut terminal = Terminal::new(TestBackend::new(140, 40)).expect("a picture");
    for (name, code) in [("typed", KeyCode::Char('x')), ("scrolled by ten lines", KeyCode::PageUp)] {
        let mut took: Vec<Duration> = Vec::with_capacity(KEYS);
        for _ in 0..KEYS {
            let begun = Instant::now();
            state.update(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
            terminal.draw(|frame| draw(frame, &mut state)).expect("it is drawn");
            took.push(begun.elapsed());
        }
        took.sort_unstable();
        row(name, "16 ms", &format!("{:.2} ms", took[KEYS * 99 / 100].as_secs_f64() * 1e3));
    }
}
