//! Emacs Lisp as a text that is edited: what it is made of, whether it is sound, and changes that leave every other byte.
//!
//! Nothing is evaluated here, and nothing recurses; what a call would do is told by `gate/lisp`.

pub mod balance;
pub mod check;
pub mod edit;
pub mod forms;
pub mod repl;
pub mod scan;

/// Where something stands in a text, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The character of the line, from 1.
    pub column: usize,
}

impl Place {
    /// Returns where a byte of a text stands.
    pub fn of(text: &str, at: usize) -> Place {
        let before = text.get(..at).unwrap_or(text);
        let begin = before.rfind('\n').map_or(0, |end| end + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        Place { line, column: before.get(begin..).unwrap_or("").chars().count() + 1 }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}
