//! What is being typed: several lines, a cursor between characters as a human counts them, and what was killed last.

use crate::edge::tui::wrap::{Fold, columns, folds};
use unicode_segmentation::UnicodeSegmentation;

/// What is typed at once is no longer than this, in bytes: a message takes no more.
pub const LONGEST: usize = 60 * 1024;

/// A text with a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    text: String,
    /// In bytes, always between two characters.
    cursor: usize,
    killed: String,
}

impl Input {
    /// Returns what is typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns where the cursor stands, in bytes.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Whether nothing is typed.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Puts another text in the place of all; the cursor stands at its end.
    pub fn set(&mut self, text: &str) {
        self.text.clear();
        self.cursor = 0;
        self.insert(text);
    }

    /// Takes all of it away and returns it.
    pub fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Inserts a text at the cursor; returns whether all of it fitted.
    pub fn insert(&mut self, text: &str) -> bool {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let room = LONGEST.saturating_sub(self.text.len());
        let end = (0..=text.len().min(room)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let fitting = text.get(..end).unwrap_or_default();
        self.text.insert_str(self.cursor, fitting);
        self.cursor += fitting.len();
        end == text.len()
    }

    fn before(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn behind(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.behind().find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn previous(&self) -> usize {
        self.cursor - self.before().graphemes(true).next_back().map_or(0, str::len)
    }

    fn next(&self) -> usize {
        self.cursor + self.behind().graphemes(true).next().map_or(0, str::len)
    }

    fn word_start(&self) -> usize {
        let trimmed = self.before().trim_end();
        trimmed
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + trimmed.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8))
    }

    fn word_end(&self) -> usize {
        let behind = self.behind();
        let blanks = behind.len() - behind.trim_start().len();
        let rest = behind.trim_start();
        self.cursor + blanks + rest.find(char::is_whitespace).unwrap_or(rest.len())
    }

    fn cut(&mut self, from: usize, to: usize) -> String {
        let (from, to) = (from.min(to), from.max(to));
        let cut = self.text.get(from..to).unwrap_or_default().to_string();
        self.text.replace_range(from..to, "");
        self.cursor = from;
        cut
    }

    fn kill(&mut self, from: usize, to: usize) {
        let cut = self.cut(from, to);
        if !cut.is_empty() {
            self.killed = cut;
        }
    }

    /// Carries out a movement or a change.
    pub fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Left => self.cursor = self.previous(),
            Edit::Right => self.cursor = self.next(),
            Edit::WordLeft => self.cursor = self.word_start(),
            Edit::WordRight => self.cursor = self.word_end(),
            Edit::LineStart => self.cursor = self.line_start(),
            Edit::LineEnd => self.cursor = self.line_end(),
            Edit::Backspace => drop(self.cut(self.previous(), self.cursor)),
            Edit::Delete => drop(self.cut(self.cursor, self.next())),
            Edit::KillWord => self.kill(self.word_start(), self.cursor),
            Edit::KillToStart => self.kill(self.line_start(), self.cursor),
            Edit::KillToEnd => {
                let end = self.line_end();
                // At the end of a line its line break goes.
                let end = if end == self.cursor { self.next() } else { end };
                self.kill(self.cursor, end);
            }
            Edit::Yank => {
                let killed = self.killed.clone();
                self.insert(&killed);
            }
        }
    }

    /// Moves the cursor a row up or down where text is broken at a width; returns false when there is no such row.
    pub fn row(&mut self, width: usize, down: bool) -> bool {
        let rows = self.rows(width);
        let (at, column) = self.place(width);
        let Some(row) = (if down { at.checked_add(1) } else { at.checked_sub(1) }).and_then(|to| rows.get(to)) else {
            return false;
        };
        let mut used = 0;
        self.cursor = row.shown;
        for (offset, piece) in self.text.get(row.start..row.shown).unwrap_or_default().grapheme_indices(true) {
            if used >= column {
                self.cursor = row.start + offset;
                break;
            }
            used += columns(piece);
        }
        true
    }

    /// Returns the rows in which it is shown.
    pub fn rows(&self, width: usize) -> Vec<Fold> {
        let mut rows = folds(&self.text, width, 0);
        // The cursor may stand behind a last line break, or behind a row that is full.
        let full = rows.last().is_none_or(|row| {
            let text = self.text.get(row.start..row.shown).unwrap_or_default();
            row.shown < row.end || columns(text) >= width.max(1)
        });
        if full {
            let end = self.text.len();
            rows.push(Fold { start: end, shown: end, end, goes_on: true });
        }
        rows
    }

    /// Returns the row and the column of the cursor.
    pub fn place(&self, width: usize) -> (usize, usize) {
        let rows = self.rows(width);
        let at = rows.iter().rposition(|row| row.start <= self.cursor).unwrap_or(0);
        let start = rows.get(at).map_or(0, |row| row.start);
        (at, columns(self.text.get(start..self.cursor).unwrap_or_default()))
    }
}

/// A movement of the cursor, or a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Each says what it does.
pub enum Edit {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Backspace,
    Delete,
    KillWord,
    KillToStart,
    KillToEnd,
    Yank,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, edits: &[Edit], expected: &str) {
        let mut input = Input::default();
        let (before, behind) = text.split_once('^').expect("a cursor");
        input.set(&format!("{before}{behind}"));
        input.cursor = before.len();
        edits.iter().for_each(|edit| input.edit(*edit));
        let (before, behind) = input.text.split_at(input.cursor);
        assert_eq!(format!("{before}^{behind}"), expected, "{text} {edits:?}");
    }

    #[test]
    fn the_cursor_moves_and_kills_as_a_human_counts() {
        use Edit::*;
        check("ab^c", &[Left], "a^bc");
        check("^", &[Left, Backspace, Delete, Right, KillWord, KillToEnd, WordLeft, WordRight], "^");
        check("xe\u{301}^", &[Left], "x^e\u{301}");
        check("👩‍👩‍👧^x", &[Backspace], "^x");
        check("^漢字", &[Delete], "^字");
        check("one two^", &[WordLeft], "one ^two");
        check("one two ^", &[KillWord], "one ^");
        check("^ one two", &[WordRight], " one^ two");
        check("a\nbc^d\ne", &[LineStart], "a\n^bcd\ne");
        check("a\nbc^d\ne", &[LineEnd], "a\nbcd^\ne");
        check("a\nbc^d\ne", &[KillToStart], "a\n^d\ne");
        check("a\nb^cd\ne", &[KillToEnd], "a\nb^\ne");
        check("a\nb^cd\ne", &[KillToEnd, KillToEnd], "a\nb^e");
        check("a\nb^cd", &[KillToEnd, LineStart, Yank], "a\ncd^b");
        check("größe größe^", &[KillWord, Yank, Yank], "größe größegröße^");
    }

    #[test]
    fn rows_hold_the_cursor_wherever_it_stands() {
        let mut input = Input::default();
        input.set("abcdef\n漢字x");
        assert_eq!(input.place(3), (4, 0), "behind a full row");
        assert!(input.row(3, false) && input.cursor() == 10, "{}", input.cursor());
        assert!((0..3).all(|_| input.row(3, false)) && !input.row(3, false));
        assert!(input.row(3, true));
        input.set("abc");
        assert_eq!((input.place(3), input.rows(3).len()), ((1, 0), 2), "behind a full row");
        input.set("a\n");
        assert_eq!(input.place(3), (1, 0));
        input.set("");
        assert_eq!((input.place(0), input.rows(0).len()), ((0, 0), 1));
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        let mut input = Input::default();
        assert!(!input.insert(&"漢".repeat(LONGEST)));
        assert!(input.text().len() <= LONGEST && input.text().len() > LONGEST - 3);
        assert!(!input.insert("漢"));
        input.set("a\r\nb\rc");
        assert_eq!(input.text(), "a\nb\nc");
    }
}
