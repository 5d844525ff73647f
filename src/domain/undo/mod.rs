//! Taking back what was done: what a change is, which one is next, and how it is undone beside what came since.
//!
//! A change names what stood at each path before and after it. Undoing one is a three-way merge with what stands there
//! now; what the user wrote since is kept, and where both touched the same, nothing is done and it is said.

mod again;
pub mod back;
pub mod headings;
pub mod lines;
pub mod next;
mod parts;

use crate::domain::focus::FocusStack;
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
    /// The changes that it took back, in the order in which that was done. Behind one of which a part was left as it
    /// was stands [`IN_PART`].
    pub of: Vec<String>,
    /// The files.
    pub files: Vec<FileChange>,
    /// When it moved memory's head alone: from where, and to where.
    pub memory: Option<(OperationId, OperationId)>,
    /// When it moved the focus: what that was, and what it became.
    pub focus: Option<(FocusStack, FocusStack)>,
    /// What is not known of it, for people.
    pub doubt: Option<String>,
}

impl Change {
    /// Returns whether it moved memory alone, or the focus, and no file.
    pub fn is_inner(&self) -> bool {
        self.memory.is_some() || self.focus.is_some()
    }

    /// Returns whether there is anything that could be taken back.
    pub fn is_any(&self) -> bool {
        !self.files.is_empty() || self.is_inner()
    }

    /// Returns the changes that do not stand any more once this one does: all of what an undo took back whole.
    pub fn taken_whole(&self) -> impl Iterator<Item = &String> {
        let of = if self.kind == Kind::Undo { self.of.as_slice() } else { &[] };
        of.iter().filter(|id| !id.ends_with(IN_PART))
    }
}

/// Stands behind the name of a change that was taken back in part.
pub const IN_PART: &str = "~";

/// Marks the changes of which files, or headings in them, are left as they are; `known` are all changes.
pub fn leaving(of: Vec<String>, known: &[Change], is_left: &dyn Fn(&str) -> bool) -> Vec<String> {
    let touches = |id: &str| known.iter().any(|c| c.id == id && c.files.iter().any(|file| is_left(&file.path)));
    of.into_iter().map(|id| if touches(&id) { format!("{id}{IN_PART}") } else { id }).collect()
}

/// Marks the changes of which files should have gone back and did not, and drops those of which none did.
pub fn failing(of: Vec<String>, known: &[Change], stuck: &BTreeSet<String>, gone: &BTreeSet<String>) -> Vec<String> {
    let mut left = Vec::new();
    for name in of {
        let id = name.strip_suffix(IN_PART).unwrap_or(&name);
        let of_it = |paths: &BTreeSet<String>| {
            known.iter().any(|c| c.id == id && c.files.iter().any(|file| paths.contains(&file.path)))
        };
        match (of_it(stuck), of_it(gone)) {
            (false, _) => left.push(name),
            (true, true) => left.push(format!("{id}{IN_PART}")),
            (true, false) => {}
        }
    }
    left
}
