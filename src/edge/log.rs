//! The log: the last lines in memory, for `M-x passepartout-log` and for the model.

use crate::domain::label::Privacy;
use crate::domain::port::LogLevel;
use parking_lot::Mutex;
use std::collections::VecDeque;

/// How many lines are kept.
const KEPT: usize = 1_000;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When.
    pub at: jiff::Timestamp,
    /// How much it matters.
    pub level: LogLevel,
    /// What; one line, without secrets.
    pub text: String,
    /// How private it is, as far as whoever said it knew; what nobody knows is private.
    pub privacy: Privacy,
}

/// A ring of lines.
#[derive(Default)]
pub struct Log(Mutex<VecDeque<Line>>);

impl Log {
    /// Adds a line; the oldest is dropped when there are too many.
    pub fn add(&self, line: Line) {
        let mut lines = self.0.lock();
        if lines.len() >= KEPT {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Returns the last lines, oldest first.
    pub fn last(&self, limit: usize) -> Vec<Line> {
        let lines = self.0.lock();
        lines.iter().skip(lines.len().saturating_sub(limit)).cloned().collect()
    }

    /// Returns the last of those lines that are no more private than this, oldest first.
    pub fn last_up_to(&self, privacy: Privacy, limit: usize) -> Vec<Line> {
        let lines = self.0.lock();
        let mut last: Vec<Line> =
            lines.iter().rev().filter(|line| line.privacy <= privacy).take(limit).cloned().collect();
        last.reverse();
        last
    }
}
