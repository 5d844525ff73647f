//! What may be asked of the user's editor: a closed table of verbs, and the form of its answers.

/// What an editor is asked to look up, or to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Which files are open.
    Buffers,
    /// What the checkers of an open file complain of.
    Diagnostics,
    /// Where a name is defined.
    Definitions,
    /// Where a name is used.
    References,
    /// The parts of an open file: functions, headings.
    Index,
    /// Opens a file and shows it.
    Open,
    /// Shows a line of a file.
    GoTo,
    /// Shows how the buffer of a file differs from the file.
    Diff,
    /// Shows the agenda.
    Agenda,
}

/// The verbs of `editor-look`.
pub const LOOK: &[&str] = &["buffers", "diagnostics", "definitions", "references", "index"];
/// The verbs of `editor-show`.
pub const SHOW: &[&str] = &["open", "go-to", "diff", "agenda"];

impl Verb {
    /// Every verb.
    pub const ALL: [Verb; 9] = [
        Verb::Buffers,
        Verb::Diagnostics,
        Verb::Definitions,
        Verb::References,
        Verb::Index,
        Verb::Open,
        Verb::GoTo,
        Verb::Diff,
        Verb::Agenda,
    ];

    /// Returns the word for models and for the wire.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Buffers => "buffers",
            Verb::Diagnostics => "diagnostics",
            Verb::Definitions => "definitions",
            Verb::References => "references",
            Verb::Index => "index",
            Verb::Open => "open",
            Verb::GoTo => "go-to",
            Verb::Diff => "diff",
            Verb::Agenda => "agenda",
        }
    }

    /// Finds a verb by its word.
    pub fn parse(word: &str) -> Option<Verb> {
        Verb::ALL.into_iter().find(|verb| verb.name() == word)
    }

    /// Returns whether it only looks, and moves nothing that the user sees.
    pub fn looks(self) -> bool {
        match self {
            Verb::Buffers | Verb::Diagnostics | Verb::Definitions | Verb::References | Verb::Index => true,
            Verb::Open | Verb::GoTo | Verb::Diff | Verb::Agenda => false,
        }
    }

    /// Returns the argument that it needs besides, and that is missing; `None` when it has all.
    pub fn missing(self, path: bool, name: bool, line: bool) -> Option<&'static str> {
        match self {
            Verb::Buffers | Verb::Agenda => None,
            Verb::Diagnostics | Verb::Index | Verb::Open | Verb::Diff => (!path).then_some("path"),
            Verb::Definitions | Verb::References if !path => Some("path"),
            Verb::Definitions | Verb::References => (!name).then_some("name"),
            Verb::GoTo if !path => Some("path"),
            Verb::GoTo => (!line).then_some("line"),
        }
    }
}

/// One question to an editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is asked.
    pub verb: Verb,
    /// The file that it is about.
    pub file: Option<String>,
    /// The name that is looked up.
    pub name: Option<String>,
    /// The line that is shown, from 1.
    pub line: Option<u32>,
    /// What is shown, of a verb that shows what the core made: how a buffer differs from its file.
    pub text: Option<String>,
    /// How many rows at most.
    pub limit: usize,
}

/// One row of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The file, absolute; empty when it is in none.
    pub file: String,
    /// The line, from 1; 0 when there is none.
    pub line: u32,
    /// What is said of it: bounded, and the text of others.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_both_tools_are_all_the_verbs() {
        for verb in Verb::ALL {
            assert_eq!(Verb::parse(verb.name()), Some(verb));
            assert_eq!(LOOK.contains(&verb.name()), verb.looks());
            assert_eq!(SHOW.contains(&verb.name()), !verb.looks());
        }
        assert_eq!(LOOK.len() + SHOW.len(), Verb::ALL.len());
        assert_eq!(Verb::parse("eval"), None);
    }
}
