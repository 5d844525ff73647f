//! What is being done while a command waits for its answer, on a terminal's standard error only.

use crate::domain::inert::exact;
use crate::domain::port::Streamed;
use crate::domain::sexp::reader::Sexp;
use crate::domain::turn::ActState;
use crate::edge::tui::wrap::clipped;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// So many columns of it are shown: a line that folds could not be taken back.
const COLUMNS: usize = 70;

/// Takes back the line that was shown.
const GONE: &str = "\r\x1b[K";

/// Whether a line of ours stands there.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// Shows what a turn of this process tells.
pub(super) fn heard(piece: Streamed<'_>) {
    if let Streamed::Act(act) = piece {
        show(act.state == ActState::Begun, &act.summary);
    }
}

/// Shows what the owner of the store tells of an act.
pub(super) fn told(act: &Sexp) {
    let words = act.text_at("summary").or(act.text_at("tool")).unwrap_or_default();
    show(act.name_at("state") == Some(ActState::Begun.name()), words);
}

/// Takes back what is shown: the turn is over.
pub(super) fn over() {
    show(false, "");
}

fn show(begun: bool, words: &str) {
    let mut screen = std::io::stderr();
    // What was not shown is not taken back: somebody else's line may stand there.
    if screen.is_terminal() && (SHOWN.swap(begun, Ordering::Relaxed) || begun) {
        // Who has closed standard error reads nothing.
        let _ = screen.write_all(line(begun, words).as_bytes());
        let _ = screen.flush();
    }
}

/// Returns what is written: a line in the place of the one before, or nothing in its place.
fn line(begun: bool, words: &str) -> String {
    match begun {
        true => format!("{GONE}{}", clipped(&exact(words).replace(['\n', '\t'], " "), COLUMNS)),
        false => GONE.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_is_one_line_that_goes_when_it_is_over() {
        for (begun, words, expected) in [
            (true, "shell ls", "\r\x1b[Kshell ls".to_string()),
            (true, "a\nb\tc", "\r\x1b[Ka b c".to_string()),
            (true, "\x1b[2J", format!("\r\x1b[K{}", exact("\x1b[2J"))),
            (false, "shell ls", "\r\x1b[K".to_string()),
        ] {
            assert_eq!(line(begun, words), expected, "{words:?}");
        }
        let long = line(true, &"ö".repeat(500));
        assert!(long.chars().count() <= COLUMNS + GONE.len(), "{long}");
    }
}
