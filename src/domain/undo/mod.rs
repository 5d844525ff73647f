//! Taking back what was done: what a change is, which one is next, and how it is undone beside what came since.
//!
//! A change names what stood at each path before and after it. Undoing one is a three-way merge with what stands there
//! now; what the user wrote since is kept, and where both touched the same, nothing is done and it is said.

pub mod back;
pub mod headings;
pub mod lines;

use crate::domain::id::{ObjectHash, OperationId};
use std::collections::BTreeSet;

/// What stands at a path, with the bytes of a file by their name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Image {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// The name of its bytes; see [`crate::domain::memory::store::content_name`].
        content: ObjectHash,
        /// Its size in bytes.
        size: u64,
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it leads.
        target: String,
    },
    /// A folder.
    Folder {
        /// Its permission bits.
        mode: u32,
    },
    /// Something that was not kept, and why.
    Unkept {
        /// Why, in words.
        why: String,
    },
}

/// What a change made of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The path, absolute.
    pub path: String,
    /// What stood there before.
    pub before: Image,
    /// What stood there after.
    pub after: Image,
}

/// What kind of change it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An act of the agent.
    Act,
    /// It took others back.
    Undo,
    /// It took an undo back.
    Redo,
    /// It took back everything behind an operation.
    Rewind,
}

impl Kind {
    /// Returns the word for the store, the wire and people.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Act => "act",
            Kind::Undo => "undo",
            Kind::Redo => "redo",
            Kind::Rewind => "rewind",
        }
    }

    /// Reads what [`Kind::name`] wrote.
    pub fn parse(name: &str) -> Option<Kind> {
        [Kind::Act, Kind::Undo, Kind::Redo, Kind::Rewind].into_iter().find(|kind| kind.name() == name)
    }
}

/// One change of files or of memory's head: what was done, for whom, and what stood there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub id: String,
    /// Its kind.
    pub kind: Kind,
    /// When.
    pub time: jiff::Timestamp,
    /// Where memory's log stood when it began.
    pub since: OperationId,
    /// The turn.
    pub turn: String,
    /// The conversation.
    pub session: String,
    /// The tool.
    pub tool: String,
    /// What was done, in a line.
    pub summary: String,
    /// The plan, when a human approved one.
    pub plan: Option<String>,
    /// The channel by which a human approved it, when one did.
    pub approver: Option<String>,
    /// The changes that it took back, in the order in which that was done.
    pub of: Vec<String>,
    /// The files.
    pub files: Vec<FileChange>,
    /// When it moved memory's head alone: from where, and to where.
    pub memory: Option<(OperationId, OperationId)>,
    /// What is not known of it, for people.
    pub doubt: Option<String>,
}

/// What can be undone and redone, worked out from all changes, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Steps that can be undone, oldest first; each is a list of changes, oldest first.
    undo: Vec<Vec<String>>,
    /// Undos that can be redone, oldest first.
    redo: Vec<String>,
}

impl History {
    /// Replays changes: an act is a new step, together with the other acts of its turn, and ends what could be redone.
    pub fn of<'a>(changes: impl IntoIterator<Item = &'a Change>) -> History {
        let mut history = History::default();
        let mut last_turn: Option<&str> = None;
        for change in changes.into_iter().filter(|change| !change.files.is_empty() || change.memory.is_some()) {
            match change.kind {
                Kind::Act | Kind::Rewind => {
                    history.redo.clear();
                    let same = change.kind == Kind::Act && last_turn == Some(change.turn.as_str());
                    match history.undo.last_mut().filter(|_| same) {
                        Some(step) => step.push(change.id.clone()),
                        None => history.undo.push(vec![change.id.clone()]),
                    }
                }
                Kind::Undo => {
                    let gone: BTreeSet<&String> = change.of.iter().collect();
                    for step in &mut history.undo {
                        step.retain(|id| !gone.contains(id));
                    }
                    history.undo.retain(|step| !step.is_empty());
                    history.redo.push(change.id.clone());
                }
                Kind::Redo => {
                    history.redo.retain(|id| !change.of.contains(id));
                    // What was done again is undone by undoing this.
                    history.undo.push(vec![change.id.clone()]);
                }
            }
            last_turn = (change.kind == Kind::Act).then_some(change.turn.as_str());
        }
        history
    }

    /// Returns the changes that the next undo takes back, newest first; empty when there is nothing.
    pub fn next_undo(&self) -> Vec<String> {
        self.undo.last().map(|step| step.iter().rev().cloned().collect()).unwrap_or_default()
    }

    /// Returns the undo that the next redo takes back.
    pub fn next_redo(&self) -> Option<&String> {
        self.redo.last()
    }

    /// Returns whether a change can still be undone by itself.
    pub fn stands(&self, id: &str) -> bool {
        self.undo.iter().flatten().any(|step| step == id)
    }
}

/// Returns the changes that began at an operation or behind it, newest first: what a rewind to it takes back.
pub fn behind(changes: &[Change], operation: OperationId) -> Vec<&Change> {
    changes.iter().rev().filter(|change| change.since >= operation && !change.files.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(id: &str, kind: Kind, turn: &str, of: &[&str]) -> Change {
        let file = FileChange { path: "/f".into(), before: Image::Absent, after: Image::Folder { mode: 0o755 } };
        Change {
            id: id.into(),
            kind,
            time: jiff::Timestamp::UNIX_EPOCH,
            since: OperationId(0),
            turn: turn.into(),
            session: "s".into(),
            tool: "shell".into(),
            summary: String::new(),
            plan: None,
            approver: None,
            of: of.iter().map(|id| id.to_string()).collect(),
            files: vec![file],
            memory: None,
            doubt: None,
        }
    }

    #[test]
    fn steps_are_turns_and_a_new_act_ends_what_could_be_redone() {
        let mut all =
            vec![change("a", Kind::Act, "1", &[]), change("b", Kind::Act, "2", &[]), change("c", Kind::Act, "2", &[])];
        assert_eq!(History::of(&all).next_undo(), ["c", "b"]);
        all.push(change("u", Kind::Undo, "3", &["c", "b"]));
        assert_eq!(History::of(&all).next_undo(), ["a"]);
        assert_eq!(History::of(&all).next_redo().map(String::as_str), Some("u"));
        all.push(change("v", Kind::Undo, "4", &["a"]));
        assert_eq!(History::of(&all).next_redo().map(String::as_str), Some("v"));
        all.push(change("r", Kind::Redo, "5", &["v"]));
        assert_eq!(History::of(&all).next_undo(), ["r"], "what was done again can be undone again");
        assert_eq!(History::of(&all).next_redo().map(String::as_str), Some("u"));
        all.push(change("d", Kind::Act, "6", &[]));
        assert_eq!(History::of(&all).next_redo(), None);
        assert_eq!(History::of(&all).next_undo(), ["d"]);
        assert!(!History::of(&all).stands("b"));
    }
}
