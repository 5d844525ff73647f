//! The parts of what the terminal client knows: plain data, each with one meaning.

use crate::edge::tui::input::Input;
use crate::edge::tui::reader::Reader;
use crate::edge::tui::transcript::EntryId;
use std::collections::BTreeMap;

/// What the answer to a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Status,
    Plans,
    Page(String),
    /// A preview: its first page, whose name is not known yet, or the one of that name which begins there.
    Preview(Option<(String, i64)>),
    Done,
    Gauge,
    /// It is shown, under this title.
    Show(&'static str),
}

/// A plan as it is listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Its name.
    pub id: String,
    /// What would happen, in one line.
    pub title: String,
    /// How it stands.
    pub status: String,
    /// How it can be taken back.
    pub badge: String,
}

/// How the core stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// In a word.
    pub state: String,
    /// So many plans wait.
    pub pending: usize,
    /// The heading in focus.
    pub focus: Option<String>,
    /// What the agent looks at, where that is narrowed.
    pub scope: Option<String>,
    /// Files and headings of memory.
    pub memory: (usize, usize),
    /// How far the memex is read.
    pub reading: Option<String>,
    /// Its health.
    pub health: String,
}

/// A turn that goes on.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub name: String,
    /// Its session, as the core calls it.
    pub session: Option<String>,
    pub answer: Option<EntryId>,
    pub thought: Option<EntryId>,
    /// What is being done in it, in a line: one act at a time.
    pub doing: Option<String>,
    /// What is sent back as history.
    pub said: String,
    /// What it answers, where it answers something.
    pub asked: Option<Asked>,
}

/// What was typed and asked of the core.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// A question; of a command, whose answer is no part of the conversation, nothing.
    pub text: String,
    /// The message that asks it, when it has a name by which it can be asked again and nobody answers it twice.
    pub again: Option<String>,
}

/// Something that was said, as it is sent along with the next question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Whose words they are: `user` or `assistant`.
    pub role: &'static str,
    /// The words.
    pub text: String,
    /// How private it is, in the words of the protocol.
    pub private: Option<String>,
}

/// A conversation that goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Talk {
    /// By which the core knows it; one that was kept by an earlier version has none.
    pub name: Option<String>,
    /// What was said in it.
    pub said: Vec<Said>,
}

/// What the conversations are listed for, when it is not to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The one of this number is gone on with; no list was shown whose number it could be.
    This(usize),
    /// A list was shown, and none in it had this number: what it would be now is shown, and not gone on with unseen.
    Unlisted(usize),
}

/// What lies over the transcript.
#[derive(Debug)]
pub enum Over {
    /// A text.
    Reader(Box<Reader>),
    /// The plans, with the chosen one.
    Plans(usize),
    /// The palette: what is typed, and the chosen command.
    Palette(Input, usize),
}

/// What is searched for.
#[derive(Debug, Default)]
pub struct Search {
    /// What was typed of it.
    pub words: Input,
    /// What came of looking for these words.
    pub came_to: CameTo,
}

/// What came of looking for words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CameTo {
    /// Nobody has looked.
    #[default]
    Unknown,
    /// They were found.
    Found,
    /// They were found before, and are not there again.
    NoMore,
    /// They were not found, upwards or else downwards.
    Nothing(bool),
}

/// What the calls of models of this conversation came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Tokens in and out.
    pub tokens: (usize, usize),
    /// What the last turn cost, in words.
    pub last: Option<String>,
    /// Who answered last.
    pub model: Option<String>,
}

/// An action of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// What the gates said of it, in a word.
    pub verdict: String,
    /// What it does, in a line.
    pub summary: String,
    /// The plan that it waited as, if it did.
    pub plan: Option<String>,
}

/// What the gates said of the last turn, and in all.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    /// Each action of the last turn.
    pub last: Vec<Act>,
    /// How often each gate asked or denied.
    pub counts: BTreeMap<String, (usize, usize)>,
}
