//! What the edge found out before judging: resolved paths, parsed commands, predicted edits.
//!
//! Gates judge what was resolved, and performing refuses if it has changed since.

use crate::domain::hash::ContentHasher;
use crate::domain::id::FactsHash;
use crate::domain::label::Privacy;

/// Everything that was found out about one action. `Default` is "nothing was found out",
/// which gates treat as unknown, never as harmless.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// One entry for each path that the action names.
    pub paths: Vec<PathFact>,
    /// What an edit would change, file by file.
    pub edits: Vec<EditFact>,
    /// The strictest privacy label of the nodes and files that the action reads or writes.
    pub privacy: Option<Privacy>,
    /// Where secrets of the vault stand in the arguments: names only, never values.
    pub vault: Vec<String>,
    /// Why something could not be found out; anything here asks or denies.
    pub unknown: Vec<String>,
}

/// One path that an action names.
#[derive(Clone, Debug, PartialEq)]
pub struct PathFact {
    /// The argument it stands in.
    pub arg: String,
    /// As the action spells it.
    pub asked: String,
    /// Canonical; links followed; for what does not exist, its canonical parent and its name.
    pub resolved: String,
    /// What stands there.
    pub kind: FileKind,
    /// Size in bytes; 0 for what does not exist.
    pub size: u64,
    /// How many hard links.
    pub links: u64,
    /// Names the exact bytes that stand there, for files that the action would change or show.
    pub content: Option<[u8; 32]>,
    /// Whether a buffer of the user's Emacs visits it.
    pub open: bool,
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// Nothing.
    Missing,
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A device, pipe or socket.
    Special,
    /// It could not be found out.
    Unknown,
}

/// What an edit would change in one file.
#[derive(Clone, Debug, PartialEq)]
pub struct EditFact {
    /// The file, canonical.
    pub file: String,
    /// Its text before; `None` when it does not exist.
    pub before: Option<std::sync::Arc<str>>,
    /// Its text after.
    pub after: std::sync::Arc<str>,
    /// Unified diff of the two.
    pub diff: String,
}

impl Facts {
    /// Returns the name of exactly these facts, as far as they decide what would happen.
    pub fn hash(&self) -> FactsHash {
        let mut hasher = ContentHasher::new("facts");
        hasher.number(self.paths.len() as u64);
        for path in &self.paths {
            hasher.text(&path.arg).text(&path.asked).text(&path.resolved).number(path.kind as u64);
            hasher.number(path.links.min(2));
            match &path.content {
                None => hasher.number(0),
                Some(content) => hasher.number(1).bytes(content),
            };
        }
        hasher.number(self.edits.len() as u64);
        for edit in &self.edits {
            hasher.text(&edit.file).option(edit.before.as_deref()).text(&edit.after);
        }
        hasher.number(match self.privacy {
            None => 0,
            Some(Privacy::Open) => 1,
            Some(Privacy::Private) => 2,
        });
        hasher.number(self.unknown.len() as u64);
        for unknown in &self.unknown {
            hasher.text(unknown);
        }
        FactsHash::new(hasher.finish())
    }
}
