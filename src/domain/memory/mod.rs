//! The versioned memory: documents and their nodes, named by content, with a log that only grows.
//!
//! One owner holds the [`Memory`]; everyone else gets a [`view::View`], which never moves.

pub mod card;
pub mod chunk;
mod digest;
pub mod document;
pub mod files;
pub mod group;
pub mod index;
mod kin;
pub mod lately;
pub mod link;
mod names;
mod node;
pub mod operation;
pub mod query;
pub mod quotation;
pub mod shape;
pub mod shelf;
pub mod sight;
pub mod store;
pub mod transaction;
pub mod tree;
pub mod view;

pub(crate) use kin::followed;

use crate::domain::id::OperationId;
use crate::domain::memory::operation::{Operation, Why};
use crate::domain::memory::transaction::Transaction;
use crate::domain::memory::view::{Document, View};
use std::collections::VecDeque;
use std::sync::Arc;

/// How many of the last views stay in memory for time travel; older ones are loaded from the store.
pub const KEPT_VIEWS: usize = 64;

/// Fewer are kept when more headings than this were changed on the way from the oldest: each change of a heading copies
/// a few parts of the index, and the reading of a large memex changes all.
pub const KEPT_CHANGES: usize = 50_000;

/// Memory's head and the log of what moved it.
#[derive(Clone, Default)]
pub struct Memory {
    head: View,
    log: Vec<Operation>,
    views: VecDeque<Kept>,
    moves: u64,
}

/// A view that stays in memory.
#[derive(Clone)]
struct Kept {
    operation: OperationId,
    view: View,
    /// How many headings the operation changed, about.
    changed: usize,
}

/// Why memory could not go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RollbackError {
    /// There is no such operation in the log.
    #[error("there is no operation {} in the log", .0.0)]
    Unknown(OperationId),
    /// The view is no longer in memory.
    #[error("operation {} is no longer in memory; load it from the store first", .0.0)]
    NotKept(OperationId),
    /// The view that was handed in is not the operation's.
    #[error("the view does not belong to operation {}; nothing was changed", .0.0)]
    Mismatch(OperationId),
}

impl Memory {
    /// Returns memory as a store keeps it: the head, and the last operations of the log, oldest first.
    pub fn restore(head: View, log: Vec<Operation>) -> Memory {
        let views = log.last().map(|last| Kept { operation: last.id, view: head.clone(), changed: 0 });
        let views = views.into_iter().collect();
        Memory { head, log, views, moves: 0 }
    }

    /// Returns the present; cloning it is O(1).
    pub fn head(&self) -> &View {
        &self.head
    }

    /// Returns how often the head was replaced since memory was made or restored. The same bytes may mean something else:
    /// with this number nothing of it does.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Returns the last operation; a fresh memory has none.
    pub fn last(&self) -> Option<&Operation> {
        self.log.last()
    }

    /// Returns the last operation's id; 0 for a fresh memory.
    pub fn at(&self) -> OperationId {
        self.last().map_or(OperationId(0), |last| last.id)
    }

    /// Returns the log, oldest first, as far back as it was loaded.
    pub fn log(&self) -> &[Operation] {
        &self.log
    }

    /// Finds an operation that was loaded.
    pub fn operation(&self, id: OperationId) -> Option<&Operation> {
        self.log.binary_search_by_key(&id, |operation| operation.id).ok().and_then(|at| self.log.get(at))
    }

    /// Returns memory as an operation left it, while it is kept; operation 0 is the empty memory.
    pub fn view_at(&self, id: OperationId) -> Option<View> {
        if id == OperationId(0) {
            return Some(self.head.cleared());
        }
        self.views.iter().find(|kept| kept.operation == id).map(|kept| kept.view.clone())
    }

    /// Begins a change on the present head.
    pub fn begin(&self) -> Transaction {
        Transaction::begin(self.last().cloned(), self.head.clone())
    }

    /// Makes memory what it was after an operation, by appending another operation. Nothing is lost.
    ///
    /// # Errors
    /// When the operation is unknown or its view no longer kept; memory is as it was.
    pub fn rollback(&mut self, to: OperationId, why: Why) -> Result<Operation, RollbackError> {
        let known = to == OperationId(0) || self.operation(to).is_some();
        match self.view_at(to) {
            Some(view) => Ok(self.go_to(view, why)),
            None if known => Err(RollbackError::NotKept(to)),
            None => Err(RollbackError::Unknown(to)),
        }
    }

    /// Does the same with a view that was loaded from the store.
    ///
    /// # Errors
    /// When the operation is unknown or the view is not its own; memory is as it was.
    pub fn rollback_to(&mut self, view: View, to: OperationId, why: Why) -> Result<Operation, RollbackError> {
        let operation = self.operation(to).ok_or(RollbackError::Unknown(to))?;
        if operation.root != view.root() {
            return Err(RollbackError::Mismatch(to));
        }
        Ok(self.go_to(view, why))
    }

    /// Takes documents that were made of the same texts in another way. No byte is another one, so nothing is logged;
    /// returns those that were taken, as memory has another text for the rest by now.
    pub fn reshape(&mut self, documents: Vec<Arc<Document>>) -> Vec<Arc<Document>> {
        let mut view = self.head.clone();
        let same = |document: &Arc<Document>| view.card(&document.file).is_some_and(|c| c.root() == document.root());
        let taken: Vec<_> = documents.into_iter().filter(same).collect();
        taken.iter().for_each(|document| view.put(document.clone()));
        if let Some(last) = self.views.back_mut()
            && last.view.root() == view.root()
        {
            last.view = view.clone();
        }
        self.replace(view);
        taken
    }

    fn go_to(&mut self, view: View, why: Why) -> Operation {
        let operation = Operation::after(self.last(), view.root(), why);
        self.append(operation.clone(), view, 0);
        operation
    }

    /// The only place that moves the head.
    fn append(&mut self, operation: Operation, view: View, changed: usize) {
        self.views.push_back(Kept { operation: operation.id, view: view.clone(), changed });
        // What the oldest one changed lies before it.
        let between = |views: &VecDeque<Kept>| views.iter().skip(1).map(|kept| kept.changed).sum::<usize>();
        while self.views.len() > KEPT_VIEWS || (self.views.len() > 1 && between(&self.views) > KEPT_CHANGES) {
            self.views.pop_front();
        }
        self.log.push(operation);
        self.replace(view);
    }

    fn replace(&mut self, view: View) {
        self.head = view;
        self.moves = self.moves.saturating_add(1);
    }
}
