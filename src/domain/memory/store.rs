//! What memory asks of a store: keep operations, texts and records; give them back after a crash.
//!
//! A store is blocking and belongs to one owner. What it acknowledged, it has.

use crate::domain::id::{ObjectHash, OperationId};
use crate::domain::memory::card::Card;
use crate::domain::memory::document::Document;
use crate::domain::memory::operation::Operation;
use crate::domain::memory::shape::Shape;
use crate::domain::memory::view::View;
use std::path::PathBuf;
use std::sync::Arc;

/// The kind of the records that say what an act, or taking one back, changed: what stood at each path before and after.
/// Of these a store also finds those of one turn, and those that were begun at an operation or behind it.
pub const CHANGE: &str = "change";

/// One entry of what only the store knows: approvals, rules, intents, outcomes, audit. Never changed, never removed.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its place; the first is 1.
    pub seq: u64,
    /// When, as the edge's clock said.
    pub at: jiff::Timestamp,
    /// What kind of thing it is about: `plan`, `rule`, `provider`, `intent`, ….
    pub kind: String,
    /// Which one.
    pub key: String,
    /// What is said of it.
    pub body: serde_json::Value,
}

/// A record that is not stored yet.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRecord {
    /// When.
    pub at: jiff::Timestamp,
    /// What kind of thing it is about.
    pub kind: String,
    /// Which one.
    pub key: String,
    /// What is said of it.
    pub body: serde_json::Value,
}

/// What a file on disk looked like when it was read; a file that still does is not read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The file.
    pub file: Arc<str>,
    /// When it was last changed, in nanoseconds since 1970.
    pub modified: i64,
    /// Its length in bytes.
    pub size: u64,
    /// The hash of the document that was read from it.
    pub document: ObjectHash,
    /// Whether it had been at rest when it was read; a file changed a moment ago may change again
    /// within the same tick of the disk's clock, and is read once more.
    pub settled: bool,
}

/// What is stored in one piece: all of it or, after a crash or an error, none.
#[derive(Default)]
pub struct Commit<'a> {
    /// Operations that follow the stored head, oldest first, each with the view it left.
    pub steps: &'a [(Operation, View)],
    /// Records to append.
    pub records: &'a [NewRecord],
    /// Stamps to replace. They are derived: losing them costs reading again.
    pub stamps: &'a [Stamp],
}

/// The bytes of a file, by the name that they have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Names the bytes; see [`Content::of`].
    pub name: ObjectHash,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// A document whose text has the same bytes: when its text is kept, these need no room of their own.
    pub same_as: Option<ObjectHash>,
}

impl Content {
    /// Names bytes.
    pub fn of(bytes: Vec<u8>) -> Content {
        Content { name: content_name(&bytes), bytes, same_as: None }
    }
}

/// Returns the name of the bytes of a file.
pub fn content_name(bytes: &[u8]) -> ObjectHash {
    ObjectHash::new(crate::domain::hash::ContentHasher::new("file bytes").bytes(bytes).finish())
}

/// A file in which memory differs between two operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// The file.
    pub file: Arc<str>,
    /// Its document at the first operation; `None` when it was not there.
    pub before: Option<ObjectHash>,
    /// Its document at the second one.
    pub after: Option<ObjectHash>,
}

/// What a commit came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// The place of the first record that was appended; the others follow it.
    pub first_record: u64,
    /// How many objects were new.
    pub objects: usize,
    /// How many bytes they have.
    pub bytes: u64,
    /// What went wrong without losing anything, for people.
    pub warning: Option<String>,
}

/// What a store held when it was opened.
#[derive(Default)]
pub struct Loaded {
    /// The head.
    pub view: View,
    /// The last operations, oldest first.
    pub log: Vec<Operation>,
    /// The stamps of files.
    pub stamps: Vec<Stamp>,
    /// What was damaged or is read differently now, for people; the rest is there.
    pub problems: Vec<String>,
}

/// Makes a document of a stored text: scans it and builds it, or says why it cannot.
pub type Build<'a> = &'a (dyn Fn(&Arc<str>, Arc<str>) -> Result<Document, String> + Sync);

/// Why a store did not do what it was asked to. Each text names what, where and the way out.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Stored bytes do not match their name.
    #[error(
        "the store is damaged: object {expected} holds the bytes of {actual}; the Org files and the store's log can rebuild it (`passepartout doctor --fix`)"
    )]
    Corrupt {
        /// The name.
        expected: ObjectHash,
        /// The name that the bytes would have.
        actual: ObjectHash,
    },
    /// An object that should be there is not.
    #[error(
        "the store is damaged: object {0} is missing; the Org files and the store's log can rebuild it (`passepartout doctor --fix`)"
    )]
    Missing(ObjectHash),
    /// The stored head is not what the commit was built on.
    #[error("the store is at operation {}, this change follows {}; nothing was saved; reload the memory", found.0, expected.0)]
    Conflict {
        /// What the commit follows.
        expected: OperationId,
        /// What the store is at.
        found: OperationId,
    },
    /// Written by a newer version of this program.
    #[error("{}: was written by a newer version of Passepartout (format {found}, this one knows {known}); nothing was changed; update Passepartout or choose another store", path.display())]
    Newer {
        /// The store.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format that is known here.
        known: u32,
    },
    /// Another process owns the store.
    #[error("{}: is in use by {owner}; do this there, end that process first, or choose another store", path.display())]
    Locked {
        /// The store.
        path: PathBuf,
        /// Who owns it: `process 4711 (emacs)`.
        owner: String,
    },
    /// The database cannot be read as one.
    #[error(
        "{}: the store is damaged: {why}; `passepartout doctor --fix` puts it aside and rebuilds it from the store's log and the Org files",
        path.display()
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// It cannot be opened.
    #[error("{}: the store cannot be opened: {why}; {cure}", path.display())]
    Open {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        why: String,
        /// The way out.
        cure: &'static str,
    },
    /// There is none yet, or its owner is just making it.
    #[error("{}: there is no store yet; start Passepartout once, or run `passepartout ingest` with --store", path.display())]
    Unmade {
        /// Where it would be.
        path: PathBuf,
    },
    /// Its files were taken away while it was open.
    #[error("{}: the store's files {why}; nothing can be saved until they are back", path.display())]
    Vanished {
        /// The store.
        path: PathBuf,
        /// What became of them.
        why: String,
    },
    /// An old state whose contents were let go.
    #[error("{0}")]
    LetGo(String),
    /// There is no room.
    #[error("{}: the disk is full; nothing that was saved before is lost, and this change was not saved; make room and try again", path.display())]
    Full {
        /// The store.
        path: PathBuf,
    },
    /// It can be read but not written.
    #[error("{}: the store was opened to be read only; nothing was saved", path.display())]
    ReadOnly {
        /// The store.
        path: PathBuf,
    },
    /// Anything else that reading or writing met.
    #[error("{}: {why}; what was saved before is kept", path.display())]
    Failed {
        /// The store.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
}

/// Keeps memory. All methods block; the caller runs them beside the turn.
pub trait Store: Send {
    /// Reads the head, the last operations and the stamps. Damage to a file is a problem, not an error.
    fn load(&mut self, build: Build<'_>) -> Result<Loaded, StoreError>;
    /// Reads the same by cards, whose texts are read when somebody asks, so that a start reads no text. `going` says
    /// whether it goes on, or why not. A store that keeps no cards reads everything.
    fn load_cards(
        &mut self,
        shape: &Shape,
        going: &(dyn Fn() -> Result<(), String> + Sync),
    ) -> Result<Loaded, StoreError> {
        self.load(&|file, text| going().and_then(|()| shape.build(file, text)))
    }
    /// Stores everything in one piece; when it returns, all of it survives a crash.
    fn commit(&mut self, commit: &Commit<'_>) -> Result<Committed, StoreError>;
    /// Reads memory as it was after an operation.
    fn view_at(&mut self, operation: OperationId, build: Build<'_>) -> Result<Option<View>, StoreError>;
    /// Returns the last `limit` operations, oldest first.
    fn operations(&mut self, limit: usize) -> Result<Vec<Operation>, StoreError>;
    /// Returns one operation; `None` when there is none of that number. A store on disk reads no others.
    fn operation(&mut self, id: OperationId) -> Result<Option<Operation>, StoreError> {
        Ok(self.operations(usize::MAX)?.into_iter().find(|operation| operation.id == id))
    }
    /// Returns the last record of one thing.
    fn latest(&mut self, kind: &str, key: &str) -> Result<Option<Record>, StoreError>;
    /// Returns the records of a kind behind a place, oldest first.
    fn list(&mut self, kind: &str, since: u64) -> Result<Vec<Record>, StoreError>;
    /// Returns the last `limit` records of a kind, newest first; it reads no others.
    fn newest(&mut self, kind: &str, limit: usize) -> Result<Vec<Record>, StoreError>;
    /// Returns the last `limit` records of one thing, newest first. A store on disk reads no others.
    fn newest_of(&mut self, kind: &str, key: &str, limit: usize) -> Result<Vec<Record>, StoreError> {
        let of_it = self.newest(kind, usize::MAX)?.into_iter().filter(|record| record.key == key);
        Ok(of_it.take(limit).collect())
    }
    /// Returns the last `limit` records of a kind before a place, newest first. A store on disk reads no others.
    fn newest_before(&mut self, kind: &str, before: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let earlier = self.newest(kind, usize::MAX)?.into_iter().filter(|record| record.seq < before);
        Ok(earlier.take(limit).collect())
    }
    /// Returns the last record of each change of a turn, newest first. A store on disk reads no others.
    fn changes_of_turn(&mut self, turn: &str) -> Result<Vec<Record>, StoreError> {
        let all = self.latest_each(CHANGE)?.into_iter().rev();
        Ok(all.filter(|record| record.body["turn"] == turn).collect())
    }
    /// Returns the last record of each change that was begun at an operation or behind it, newest first. A store on disk
    /// reads no others.
    fn changes_since(&mut self, operation: OperationId) -> Result<Vec<Record>, StoreError> {
        let all = self.latest_each(CHANGE)?.into_iter().rev();
        Ok(all.filter(|record| record.body["since"].as_u64().is_some_and(|since| since >= operation.0)).collect())
    }
    /// Returns the last record of each thing of a kind, in the order of their places.
    fn latest_each(&mut self, kind: &str) -> Result<Vec<Record>, StoreError>;
    /// Keeps the bytes of files by their names, in one piece; when it returns, they survive a crash.
    fn keep(&mut self, contents: &[Content]) -> Result<(), StoreError>;
    /// Reads bytes that were kept; `None` when there are none of that name.
    fn content(&mut self, name: ObjectHash) -> Result<Option<Vec<u8>>, StoreError>;
    /// Reads the text of a document that a view held; `None` when there is none of that name.
    fn text(&mut self, document: ObjectHash) -> Result<Option<Arc<str>>, StoreError>;
    /// Returns the files in which memory differs between two operations, by name. What both share is not read.
    fn differing(&mut self, before: OperationId, after: OperationId) -> Result<Vec<Differing>, StoreError>;
    /// Returns the hash of a file's document at each operation between two, oldest first, without repetitions:
    /// each with the first operation at which it was so.
    fn versions(
        &mut self,
        file: &str,
        after: OperationId,
        until: OperationId,
    ) -> Result<Vec<(OperationId, Option<ObjectHash>)>, StoreError>;
    /// Makes sure that it lies where it was opened, and puts it back where it was deleted meanwhile. A store in memory is
    /// always there.
    fn stay(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
    /// Says that what memory was at an operation was let go: when, and what is still there; `None` when it was not.
    fn let_go(&mut self, _operation: OperationId) -> Result<Option<String>, StoreError> {
        Ok(None)
    }
    /// Returns the last operations up to one that may have touched a file, newest first, as far as that is noted. What
    /// they made of it may have been let go.
    fn touching(&mut self, _file: &str, _until: OperationId, _most: usize) -> Result<Vec<OperationId>, StoreError> {
        Ok(Vec::new())
    }
    /// Makes documents of stored texts in another way from now on, and keeps no cards until [`Store::keep_cards`] has
    /// kept the last ones. A store that keeps no cards has nothing to do.
    fn reshape(&mut self, _shape: &Shape) {}
    /// Keeps cards that were made in that way; after the `last` ones those of every step are kept again.
    fn keep_cards(&mut self, _shape: &Shape, _cards: &[Arc<Card>], _last: bool) -> Result<(), StoreError> {
        Ok(())
    }
    /// Returns where it lies; `None` when it lives in memory alone.
    fn path(&self) -> Option<PathBuf>;
}

/// A store that ends with the process. Old views are kept by [`crate::domain::memory::Memory`], not here.
#[derive(Default)]
pub struct RamStore {
    head: View,
    log: Vec<Operation>,
    records: Vec<Record>,
    stamps: std::collections::BTreeMap<Arc<str>, Stamp>,
    contents: std::collections::BTreeMap<ObjectHash, Vec<u8>>,
    /// The last views, each with its operation; cloning them is cheap.
    views: std::collections::VecDeque<(OperationId, View)>,
}

/// How many of the last views a store in memory keeps.
const RAM_VIEWS: usize = 1_000;

impl RamStore {
    fn kept(&self, operation: OperationId) -> Option<View> {
        if operation == OperationId(0) {
            return Some(View::default());
        }
        self.views.iter().find(|(id, _)| *id == operation).map(|(_, view)| view.clone())
    }

    fn wanted(&self, operation: OperationId) -> Result<View, StoreError> {
        self.kept(operation).ok_or_else(|| StoreError::Failed {
            path: PathBuf::new(),
            why: format!("operation {} is not kept: there is no store on disk", operation.0),
        })
    }
}

/// Checks that steps follow a head and each other.
///
/// # Errors
/// [`StoreError::Conflict`] when they do not.
pub fn follows(head: Option<&Operation>, steps: &[(Operation, View)]) -> Result<(), StoreError> {
    let mut last = head;
    for (operation, _) in steps {
        if operation.parent != last.map(Operation::hash) {
            return Err(StoreError::Conflict {
                expected: OperationId(operation.id.0.saturating_sub(1)),
                found: last.map_or(OperationId(0), |last| last.id),
            });
        }
        last = Some(operation);
    }
    Ok(())
}

impl Store for RamStore {
    fn load(&mut self, _build: Build<'_>) -> Result<Loaded, StoreError> {
        Ok(Loaded {
            view: self.head.clone(),
            log: self.log.clone(),
            stamps: self.stamps.values().cloned().collect(),
            problems: Vec::new(),
        })
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        follows(self.log.last(), commit.steps)?;
        self.log.extend(commit.steps.iter().map(|(operation, _)| operation.clone()));
        self.views.extend(commit.steps.iter().map(|(operation, view)| (operation.id, view.clone())));
        while self.views.len() > RAM_VIEWS {
            self.views.pop_front();
        }
        if let Some((_, view)) = commit.steps.last() {
            self.head = view.clone();
        }
        let first_record = self.records.len() as u64 + 1;
        for (record, seq) in commit.records.iter().cloned().zip(first_record..) {
            let NewRecord { at, kind, key, body } = record;
            self.records.push(Record { seq, at, kind, key, body });
        }
        self.stamps.extend(commit.stamps.iter().map(|stamp| (stamp.file.clone(), stamp.clone())));
        Ok(Committed { first_record, ..Committed::default() })
    }

    fn view_at(&mut self, operation: OperationId, _build: Build<'_>) -> Result<Option<View>, StoreError> {
        Ok(self.kept(operation))
    }

    fn operations(&mut self, limit: usize) -> Result<Vec<Operation>, StoreError> {
        Ok(self.log[self.log.len().saturating_sub(limit)..].to_vec())
    }

    fn latest(&mut self, kind: &str, key: &str) -> Result<Option<Record>, StoreError> {
        Ok(self.records.iter().rev().find(|record| record.kind == kind && record.key == key).cloned())
    }

    fn list(&mut self, kind: &str, since: u64) -> Result<Vec<Record>, StoreError> {
        Ok(self.records.iter().filter(|record| record.kind == kind && record.seq > since).cloned().collect())
    }

    fn newest(&mut self, kind: &str, limit: usize) -> Result<Vec<Record>, StoreError> {
        Ok(self.records.iter().rev().filter(|record| record.kind == kind).take(limit).cloned().collect())
    }

    fn latest_each(&mut self, kind: &str) -> Result<Vec<Record>, StoreError> {
        let of_kind = self.records.iter().filter(|record| record.kind == kind);
        let last: std::collections::BTreeMap<&str, &Record> =
            of_kind.map(|record| (record.key.as_str(), record)).collect();
        let mut last: Vec<Record> = last.into_values().cloned().collect();
        last.sort_by_key(|record| record.seq);
        Ok(last)
    }

    fn keep(&mut self, contents: &[Content]) -> Result<(), StoreError> {
        self.contents.extend(contents.iter().map(|content| (content.name, content.bytes.clone())));
        Ok(())
    }

    fn content(&mut self, name: ObjectHash) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.contents.get(&name).cloned())
    }

    fn text(&mut self, document: ObjectHash) -> Result<Option<Arc<str>>, StoreError> {
        let views = self.views.iter().rev().map(|(_, view)| view);
        let mut found = views.flat_map(View::documents).filter(|found| found.root() == document);
        Ok(found.next().map(|found| found.outline.text.clone()))
    }

    fn differing(&mut self, before: OperationId, after: OperationId) -> Result<Vec<Differing>, StoreError> {
        let (before, after) = (self.wanted(before)?, self.wanted(after)?);
        let root = |view: &View, file: &str| view.card(file).map(|card| card.root());
        let names = before.differing(&after).into_iter();
        Ok(names.map(|file| Differing { before: root(&before, &file), after: root(&after, &file), file }).collect())
    }

    fn versions(
        &mut self,
        file: &str,
        after: OperationId,
        until: OperationId,
    ) -> Result<Vec<(OperationId, Option<ObjectHash>)>, StoreError> {
        let mut found: Vec<(OperationId, Option<ObjectHash>)> = Vec::new();
        for (id, view) in self.views.iter().filter(|(id, _)| *id >= after && *id <= until) {
            let root = view.card(file).map(|card| card.root());
            if found.last().is_none_or(|(_, last)| *last != root) {
                found.push((*id, root));
            }
        }
        Ok(found)
    }

    fn path(&self) -> Option<PathBuf> {
        None
    }
}
