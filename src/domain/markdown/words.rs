//! Words of a paragraph as they come: a run of them is given out as soon as no markup is open in it.

use super::inline::{Place, rendered};
use super::scan::Scan;

/// A run with open markup is not held back longer than this, in bytes: then its marks are taken for words.
const LONGEST: usize = 480;
/// So many blanks in a row are kept.
const BLANKS: usize = 400;

/// What a text has shown itself to be written in. The first that can only be one of them decides.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Not known yet: one star on either side stays, as it is bold in Org and emphasis in Markdown.
    #[default]
    Unknown,
    Markdown,
    Org,
}

impl Dialect {
    pub(super) fn see(&mut self, seen: Dialect) {
        if *self == Dialect::Unknown {
            *self = seen;
        }
    }
}

/// What is owed at the end of a line.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Break {
    /// Nothing: no line has ended, or its end was given out.
    #[default]
    Nothing,
    Soft,
    /// A break that stays one when the paragraph is filled anew, and what stands before it.
    Hard(&'static str),
}

/// The words of the paragraph that is open.
#[derive(Default)]
pub(super) struct Words {
    /// The run that is not given out.
    run: String,
    /// Blanks behind it.
    blanks: String,
    scan: Scan,
    owed: Break,
    /// How far the paragraph is set in.
    indent: usize,
    /// What was given out right before the run, if no blank stands between.
    before: Option<char>,
    pub(super) dialect: Dialect,
    /// How many bytes were parsed.
    #[cfg(test)]
    pub(super) parsed: usize,
}

impl Words {
    pub(super) fn of(dialect: Dialect) -> Words {
        Words { dialect, ..Words::default() }
    }

    /// Begins a paragraph.
    pub(super) fn begin(&mut self, indent: usize) {
        self.indent = indent;
        self.before = None;
    }

    /// Takes a part of a line.
    pub(super) fn push(&mut self, text: &str, out: &mut String) {
        for c in text.chars() {
            if c == ' ' || c == '\t' {
                if self.blanks.is_empty() {
                    self.end_word(out);
                }
                if self.blanks.len() < BLANKS {
                    self.blanks.push(c);
                }
                continue;
            }
            if !self.blanks.is_empty() {
                let to = if self.run.is_empty() { &mut *out } else { &mut self.run };
                to.push_str(&self.blanks);
                self.blanks.clear();
            }
            self.run.push(c);
            if self.run.len() >= LONGEST {
                self.scan.look(&self.run);
                let last = self.run.chars().next_back();
                self.give(out);
                self.before = last;
            }
        }
    }

    /// Takes the end of a line: its break is given out at once unless something else may follow.
    pub(super) fn end_line(&mut self, out: &mut String) {
        let blanks = std::mem::take(&mut self.blanks);
        self.scan.look(&self.run);
        let mut owed = if blanks.ends_with("  ") { Break::Hard(" ") } else { Break::Soft };
        let bare = self.run.trim_end_matches('\\').len();
        if !self.scan.is_in_code() && blanks.is_empty() && matches!(self.run.len() - bare, 1 | 2) {
            // Before a backslash that stands alone, a blank was given out.
            owed = Break::Hard(if bare == 0 { "" } else { " " });
            self.run.truncate(bare);
            self.scan.cut(bare);
        }
        self.end_word(out);
        if owed == Break::Soft && self.run.is_empty() {
            out.push('\n');
            owed = Break::Nothing;
        }
        self.owed = owed;
    }

    /// Goes on in the next line, which is set in so far.
    pub(super) fn go_on(&mut self, indent: usize, out: &mut String) {
        self.indent = indent;
        let owed = std::mem::take(&mut self.owed);
        if !self.run.is_empty() {
            self.run.push_str(match owed {
                Break::Nothing => "",
                Break::Soft => "\n",
                Break::Hard(_) => "  \n",
            });
        } else {
            match owed {
                Break::Nothing => {}
                Break::Soft => out.push('\n'),
                Break::Hard(blank) => out.extend([blank, "\\\\\n"]),
            }
            out.push_str(&" ".repeat(indent));
        }
        self.before = None;
    }

    /// Gives out what is left: the paragraph has ended.
    pub(super) fn end(&mut self, out: &mut String) {
        self.scan.look(&self.run);
        self.give(out);
        self.blanks.clear();
        if std::mem::take(&mut self.owed) != Break::Nothing {
            out.push('\n');
        }
    }

    /// Returns the words of a heading, as a line in bold where Org can show it so.
    pub(super) fn heading(&mut self, text: &str) -> String {
        self.dialect.see(Dialect::Markdown);
        self.whole(text, Place::Heading)
    }

    /// Returns the words of a field of a table.
    pub(super) fn field(&mut self, text: &str) -> String {
        self.whole(text, Place::Field).replace('|', "\\vert{}")
    }

    fn whole(&mut self, text: &str, place: Place) -> String {
        let mut scan = Scan::default();
        scan.look(text);
        #[cfg(test)]
        {
            self.parsed += text.len();
        }
        rendered(text, &scan, None, place, &mut self.dialect)
    }

    /// A word has ended: the run is given out unless something is open in it.
    fn end_word(&mut self, out: &mut String) {
        self.scan.look(&self.run);
        if !self.scan.is_open() {
            self.give(out);
        }
    }

    fn give(&mut self, out: &mut String) {
        if !self.run.is_empty() {
            #[cfg(test)]
            {
                self.parsed += self.run.len();
            }
            let place = Place::Text { indent: self.indent };
            out.push_str(&rendered(&self.run, &self.scan, self.before, place, &mut self.dialect));
        }
        self.run.clear();
        self.scan = Scan::default();
        self.before = None;
    }
}
