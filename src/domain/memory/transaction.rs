//! A change of memory that is built aside and published whole, or not at all.

use crate::domain::id::{ObjectHash, OperationId};
use crate::domain::memory::Memory;
use crate::domain::memory::operation::{Operation, Why};
use crate::domain::memory::view::{Document, View};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An edit of a file is taken for one of at most so many headings.
const EDITED: usize = 100;

/// A change in the making. Dropping it changes nothing.
#[derive(Clone)]
pub struct Transaction {
    base: Option<Operation>,
    before: View,
    view: View,
    changes: BTreeMap<Arc<str>, Option<Arc<Document>>>,
}

/// A finished change that nobody sees yet.
#[must_use = "a change counts only once it is published"]
#[derive(Clone)]
pub struct Unpublished {
    transaction: Transaction,
    operation: Operation,
}

/// Memory's head has moved since the change was begun.
#[derive(thiserror::Error)]
#[error("memory has moved on to operation {} since this change was begun at {}; it was not made", found.0, expected.0)]
pub struct Conflict {
    /// The operation that the change was built on; 0 for the empty memory.
    pub expected: OperationId,
    /// The operation that memory is at.
    pub found: OperationId,
    /// The change, to be rebased or dropped.
    pub change: Box<Unpublished>,
}

/// Files that both sides changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("changed by someone else in the meantime: {}; read again and repeat the change", files.join(", "))]
pub struct Clash {
    /// Which ones, in order.
    pub files: Vec<String>,
}

impl std::fmt::Debug for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Conflict(expected {}, found {})", self.expected.0, self.found.0)
    }
}

impl std::fmt::Debug for Unpublished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Unpublished({:?})", self.operation)
    }
}

impl Transaction {
    pub(super) fn begin(base: Option<Operation>, view: View) -> Transaction {
        Transaction { base, before: view.clone(), view, changes: BTreeMap::new() }
    }

    /// Returns memory as this change leaves it.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Returns memory as it was when the change was begun.
    pub fn before(&self) -> &View {
        &self.before
    }

    /// Returns whether anything was put in or taken out.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Puts a document in, or replaces the one of the same file.
    pub fn put(&mut self, document: Arc<Document>) {
        self.changes.insert(document.file.clone(), Some(document.clone()));
        self.view.put(document);
    }

    /// Puts many documents in; it is faster than one by one.
    pub fn put_all(&mut self, documents: &[Arc<Document>]) {
        self.changes.extend(documents.iter().map(|document| (document.file.clone(), Some(document.clone()))));
        self.view.put_all(documents);
    }

    /// Takes a document out; nothing happens when there is none.
    pub fn remove(&mut self, file: &str) {
        self.changes.insert(file.into(), None);
        self.view.remove(file);
    }

    /// Returns how many headings were changed, about: an edit touches few of those of its file.
    fn changed_headings(&self) -> usize {
        let headings = |view: &View, file: &str| view.card(file).map(|card| card.len());
        let changed = |file: &Arc<str>| match (headings(&self.before, file), headings(&self.view, file)) {
            (Some(before), Some(after)) => before.max(after).min(EDITED),
            (Some(all), None) | (None, Some(all)) => all,
            (None, None) => 0,
        };
        self.changes.keys().map(changed).sum()
    }

    /// Ends the change. It may be stored now, and counts once it is published.
    pub fn finish(self, why: Why) -> Unpublished {
        let operation = Operation::after(self.base.as_ref(), self.view.root(), why);
        Unpublished { transaction: self, operation }
    }
}

impl Unpublished {
    /// Returns the operation that publishing will append.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Returns memory as it will be.
    pub fn view(&self) -> &View {
        &self.transaction.view
    }

    /// Returns whether publishing would meet a [`Conflict`] now.
    pub fn conflicts(&self, memory: &Memory) -> bool {
        memory.last().map(Operation::hash) != self.operation.parent
    }

    /// Makes this change memory's head, and appends its operation to the log.
    ///
    /// # Errors
    /// [`Conflict`] when the head has moved; memory is as it was, and the change can be rebased.
    pub fn publish(self, memory: &mut Memory) -> Result<Operation, Conflict> {
        if self.conflicts(memory) {
            return Err(Conflict {
                expected: OperationId(self.operation.id.0.saturating_sub(1)),
                found: memory.at(),
                change: Box::new(self),
            });
        }
        let changed = self.transaction.changed_headings();
        memory.append(self.operation.clone(), self.transaction.view, changed);
        Ok(self.operation)
    }

    /// Repeats this change on memory's present head, when no file was changed on both sides.
    ///
    /// # Errors
    /// [`Clash`] with the files that were.
    pub fn rebase(self, memory: &Memory) -> Result<Unpublished, Clash> {
        let (old, now) = (&self.transaction.before, memory.head());
        let root = |view: &View, file: &str| -> Option<ObjectHash> { view.card(file).map(|card| card.root()) };
        let wanted = &self.transaction.changes;
        let files: Vec<String> = wanted
            .iter()
            .filter(|(file, change)| {
                let found = root(now, file);
                found != root(old, file) && found != change.as_ref().map(|document| document.root())
            })
            .map(|(file, _)| file.to_string())
            .collect();
        if !files.is_empty() {
            return Err(Clash { files });
        }
        let mut next = memory.begin();
        for (file, change) in &self.transaction.changes {
            match change {
                Some(document) => next.put(document.clone()),
                None => next.remove(file),
            }
        }
        Ok(next.finish(self.operation.why))
    }
}
