//! A text that is read over all of the window, page by page; of a plan it knows how far it was really displayed.
//!
//! What goes on in the next line stands behind a mark that no line of ours has: nothing that a model wrote can pass for
//! one.

use crate::domain::inert::exact;
use crate::edge::tui::input::Input;
use crate::edge::tui::wrap::{Fold, folds, folds_at_blanks, untabbed};

/// Of a text that is read at most so many bytes are shown: more than any plan may have.
const LONGEST: usize = 8 << 20;
/// Said of what is longer.
pub const TOO_LONG: &str = "too long to be shown here; decide in Emacs";
/// In a window with fewer columns nothing counts as displayed: a wide character may not fit.
const NARROWEST: usize = 16;
/// Stands before each line of a plan, below the title of its part.
pub const BELOW: &str = "  ";
/// How far in a line goes on.
pub const HANG: usize = 2;

/// What is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// Something to know.
    Words,
    /// A flight plan, which may be decided about.
    Plan {
        /// Its name.
        id: String,
        /// What names all of its text, once its last page has come.
        shown: Option<String>,
        /// It waits for a decision.
        waits: bool,
    },
    /// What undoing or going back would do.
    Preview {
        /// What its pages are asked for with.
        name: String,
        /// What names all of it, once its last page has come.
        shown: Option<String>,
    },
}

/// What the reader is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing: they read.
    Nothing,
    /// Whether to do exactly this.
    Yes,
    /// Why not.
    Reason {
        /// What was typed of it.
        reason: Input,
        /// The model is not asked again.
        stop: bool,
    },
}

/// A text that is read.
#[derive(Clone, Debug)]
pub struct Reader {
    /// What stands above it.
    pub title: String,
    /// What it is.
    pub of: Of,
    /// What is being asked.
    pub asked: Asked,
    text: String,
    part: String,
    /// Where the next page begins, as the core named it.
    next: Option<i64>,
    /// Where the page begins that was asked for last.
    expected: i64,
    /// A page was asked for and has not come.
    pub awaited: bool,
    /// All of it is here.
    whole: bool,
    /// There is more of it than is shown here.
    pub cut: bool,
    /// The first byte that is shown.
    top: usize,
    /// So many bytes were displayed, without a gap.
    seen: usize,
    /// It was said that all was displayed.
    told: bool,
    laid: Option<(usize, Vec<Fold>)>,
}

impl Reader {
    /// Reads words that are all here.
    pub fn words(title: &str, text: &str) -> Reader {
        let mut reader = Reader::pages(title, Of::Words);
        reader.add(text);
        (reader.whole, reader.next, reader.awaited) = (true, None, false);
        reader
    }

    /// Reads something that comes in pages, of which the first was asked for.
    pub fn pages(title: &str, of: Of) -> Reader {
        Reader {
            title: exact(title),
            of,
            asked: Asked::Nothing,
            text: String::new(),
            part: String::new(),
            next: None,
            expected: 0,
            awaited: true,
            whole: false,
            cut: false,
            top: 0,
            seen: 0,
            told: false,
            laid: None,
        }
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(&untabbed(&exact(text)));
        self.laid = None;
    }

    /// Adds text of a plan, of which every line stands a little in: none of it can pass for a title of ours.
    fn add_below(&mut self, text: &str) {
        let mut out = String::with_capacity(text.len() + text.len() / 16);
        let mut begins = self.text.is_empty() || self.text.ends_with('\n');
        for line in text.split_inclusive('\n') {
            if begins && line != "\n" {
                out.push_str(BELOW);
            }
            out.push_str(line);
            begins = line.ends_with('\n');
        }
        self.add(&out);
    }

    /// Takes a page; `next` is where the one behind it begins, and `shown` names all when there is none.
    pub fn take(&mut self, part: &str, text: &str, next: Option<i64>, shown: Option<&str>) {
        self.awaited = false;
        // A page is taken whole or not at all: nothing of it is missing from what counts as read.
        if self.text.len() >= LONGEST {
            (self.next, self.whole, self.cut) = (None, false, true);
            return;
        }
        if part != self.part && !part.is_empty() {
            self.part = part.to_string();
            let gap = match self.text.as_str() {
                "" => "",
                text if text.ends_with("\n\n") => "",
                text if text.ends_with('\n') => "\n",
                _ => "\n\n",
            };
            let title = match part {
                "body" => "What would happen",
                "asked" => "Which gates ask, and why",
                "why" => "Why the agent wants it",
                "diff" => "The change",
                "predicted" => "What came of trying it out",
                other => other,
            };
            self.text.push_str(&format!("{gap}── {} ──\n", exact(title)));
        }
        if self.part.is_empty() {
            self.add(text)
        } else {
            self.add_below(text)
        }
        (self.next, self.whole) = (next, next.is_none());
        match &mut self.of {
            Of::Plan { shown: named, .. } | Of::Preview { shown: named, .. } => *named = shown.map(str::to_string),
            Of::Words => {}
        }
    }

    /// Returns where the page begins that is needed now, and notes that it was asked for.
    pub fn wants(&mut self, width: usize, height: usize) -> Option<i64> {
        let (at, lines) = (self.line(width), self.lines(width).len());
        if self.awaited || at + 2 * height < lines {
            return None;
        }
        let next = self.next.take()?;
        (self.awaited, self.expected) = (true, next);
        Some(next)
    }

    /// Whether a page that begins there is the one that is waited for.
    pub fn awaits(&self, from: Option<i64>) -> bool {
        self.awaited && from.is_none_or(|from| from == self.expected)
    }

    /// Whether this preview is read.
    pub fn is_of_preview(&self, name: &str) -> bool {
        matches!(&self.of, Of::Preview { name: of, .. } if of == name)
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the lines for a width.
    pub fn lines(&mut self, width: usize) -> &[Fold] {
        if self.laid.as_ref().is_none_or(|(of, _)| *of != width) {
            let laid = match self.of {
                // Of a plan not one blank is left out of sight.
                Of::Plan { .. } | Of::Preview { .. } => folds(&self.text, width, HANG),
                Of::Words => folds_at_blanks(&self.text, width, HANG),
            };
            self.laid = Some((width, laid));
        }
        self.laid.as_ref().map_or(&[], |(_, lines)| lines)
    }

    /// Returns which line is the first that is shown.
    pub fn line(&mut self, width: usize) -> usize {
        let top = self.top;
        self.lines(width).partition_point(|fold| fold.end <= top)
    }

    /// Moves by lines, up when they are negative; the last line stays in the window.
    pub fn scroll(&mut self, by: isize, width: usize, height: usize) {
        let last = self.lines(width).len().saturating_sub(height.max(1));
        let to = (self.line(width) as isize).saturating_add(by).clamp(0, last as isize) as usize;
        self.top = self.lines(width).get(to).map_or(0, |fold| fold.start);
    }

    /// Notes that what is looked at was displayed in a window of this size. Returns true when now all of it was, for the
    /// first time.
    pub fn displayed(&mut self, width: usize, height: usize) -> bool {
        if width < NARROWEST || height == 0 {
            return false;
        }
        let from = self.line(width);
        let lines = self.lines(width);
        let first = lines.get(from).map_or(0, |fold| fold.start);
        let last = lines.get(from..).unwrap_or_default().iter().take(height).next_back().map_or(0, |fold| fold.end);
        if first <= self.seen {
            self.seen = self.seen.max(last);
        }
        let all = self.whole && self.seen >= self.text.len() && !self.text.is_empty();
        all && !std::mem::replace(&mut self.told, true)
    }

    /// Whether all of it was displayed.
    pub fn was_displayed(&self) -> bool {
        self.told
    }

    /// Returns how far the reader is, in hundredths of what is here.
    pub fn progress(&mut self, width: usize, height: usize) -> usize {
        let (at, lines) = (self.line(width), self.lines(width).len());
        ((at + height).min(lines) * 100).checked_div(lines).unwrap_or(100)
    }

    /// Whether all of it has come.
    pub fn is_whole(&self) -> bool {
        self.whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Reader {
        Reader::pages("P1", Of::Plan { id: "P1".to_string(), shown: None, waits: true })
    }

    #[test]
    fn a_plan_is_displayed_when_every_line_of_every_page_was() {
        let mut reader = plan();
        assert!(!reader.displayed(40, 10), "nothing has come");
        reader.take("body", "one\ntwo\nthree\nfour\n", Some(20), None);
        assert!(!reader.displayed(40, 3));
        assert_eq!((reader.wants(40, 3), reader.wants(40, 3)), (Some(20), None), "it is asked for once");
        reader.take("diff", "+five\n", None, Some("HASH"));
        assert!(!reader.displayed(40, 3));
        reader.scroll(100, 40, 3);
        assert!(!reader.displayed(40, 3), "what lies between was skipped");
        reader.scroll(-100, 40, 3);
        for _ in 0..2 {
            assert!(!reader.displayed(40, 3));
            reader.scroll(2, 40, 3);
        }
        assert!(!reader.displayed(40, 3) && !reader.was_displayed());
        reader.scroll(2, 40, 3);
        assert!(reader.displayed(40, 3) && reader.was_displayed());
        assert!(!reader.displayed(40, 3), "it is said once");
        assert_eq!(reader.of, Of::Plan { id: "P1".into(), shown: Some("HASH".into()), waits: true });
    }

    #[test]
    fn what_is_too_long_to_be_shown_is_never_taken_for_read() {
        // The title of the last page goes over what is shown.
        for (length, whole) in [(LONGEST - 1, true), (LONGEST, false), (LONGEST + 1, false)] {
            let mut reader = plan();
            reader.take("", &format!("{:x<63}\n", "").repeat(length / 64 - 1), Some(1), None);
            reader.take("", &"x".repeat(length - reader.text().len()), Some(2), None);
            assert_eq!(reader.text().len(), length);
            assert_eq!(reader.wants(80, usize::MAX / 4), Some(2));
            reader.take("diff", "-all of it\n", None, Some("HASH"));
            assert_eq!((reader.is_whole(), reader.cut), (whole, !whole), "{length}");
            assert_eq!(reader.text().contains("-all of it"), whole, "{length}");
            assert_eq!(reader.displayed(80, usize::MAX / 4), whole, "{length}");
            let named = matches!(&reader.of, Of::Plan { shown: Some(_), .. });
            assert_eq!((named, reader.wants(80, usize::MAX / 4)), (whole, None), "{length}");
        }
    }

    #[test]
    fn no_line_of_a_plan_passes_for_a_title() {
        let mut reader = plan();
        reader.take("why", "to tidy\n── The change ──\n+ noth", Some(9), None);
        reader.take("why", "ing\n\nelse", Some(12), None);
        reader.take("diff", "-all", None, Some("HASH"));
        let expected = "── Why the agent wants it ──\n  to tidy\n  ── The change ──\n  + nothing\n\n  else\n\n── The change ──\n  -all";
        assert_eq!(reader.text(), expected);
    }

    #[test]
    fn a_window_that_shows_nothing_displays_nothing_and_a_new_width_keeps_what_was_seen() {
        let mut reader = plan();
        reader.take("", &"word ".repeat(40), None, Some("HASH"));
        assert!(!reader.displayed(NARROWEST - 1, 100) && !reader.displayed(80, 0));
        assert!(!reader.displayed(40, 2));
        let seen = reader.seen;
        reader.scroll(2, 40, 2);
        // Wider now: the line at the top begins with what was not seen yet, or before it.
        assert!(reader.line(60) <= 2 && reader.seen == seen);
        assert!(reader.displayed(60, 4), "{reader:?}");
    }

    #[test]
    fn what_steers_a_terminal_is_shown_as_an_escape() {
        let mut reader = plan();
        reader.take("body", "a\u{1b}[2J\u{202e}b\tc", None, Some("HASH"));
        assert!(!reader.text().contains(['\u{1b}', '\u{202e}', '\t']), "{}", reader.text());
    }
}
