//! A store that is only read along: what may be forgotten is taken and dropped, everything else is refused.

use crate::domain::id::{ObjectHash, OperationId};
use crate::domain::memory::operation::Operation;
use crate::domain::memory::shape::Shape;
use crate::domain::memory::store::{Build, Commit, Committed, Content, Differing, Loaded, Record, Store, StoreError};
use crate::domain::memory::view::View;
use crate::edge::store::disk::DiskStore;
use std::path::PathBuf;
use std::sync::Arc;

/// A store as it stood when it was opened, beside the process that owns it.
pub struct Beside {
    store: DiskStore,
    /// Who owns it, in words; `None` when nobody does.
    owner: Option<String>,
    /// Says of a kind of records whether they may be forgotten.
    forget: fn(&str) -> bool,
}

impl Beside {
    /// Reads along in a store. Steps of memory are forgotten, as their files are there to be read again;
    /// records are when `forget` says so of their kind.
    pub fn new(store: DiskStore, owner: Option<String>, forget: fn(&str) -> bool) -> Beside {
        Beside { store, owner, forget }
    }
}

impl Beside {
    fn refusal(&self) -> StoreError {
        let path = self.store.path().unwrap_or_default();
        match self.owner.clone() {
            Some(owner) => StoreError::Locked { path, owner },
            None => StoreError::ReadOnly { path },
        }
    }
}

impl Store for Beside {
    fn load(&mut self, build: Build<'_>) -> Result<Loaded, StoreError> {
        self.store.load(build)
    }

    fn load_cards(
        &mut self,
        shape: &Shape,
        going: &(dyn Fn() -> Result<(), String> + Sync),
    ) -> Result<Loaded, StoreError> {
        self.store.load_cards(shape, going)
    }

    fn reshape(&mut self, shape: &Shape) {
        self.store.reshape(shape);
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        if commit.records.iter().all(|record| (self.forget)(&record.kind)) {
            return Ok(Committed::default());
        }
        Err(self.refusal())
    }

    fn view_at(&mut self, operation: OperationId, build: Build<'_>) -> Result<Option<View>, StoreError> {
        self.store.view_at(operation, build)
    }

    fn operations(&mut self, limit: usize) -> Result<Vec<Operation>, StoreError> {
        self.store.operations(limit)
    }

    fn operation(&mut self, id: OperationId) -> Result<Option<Operation>, StoreError> {
        self.store.operation(id)
    }

    fn latest(&mut self, kind: &str, key: &str) -> Result<Option<Record>, StoreError> {
        self.store.latest(kind, key)
    }

    fn list(&mut self, kind: &str, since: u64) -> Result<Vec<Record>, StoreError> {
        self.store.list(kind, since)
    }

    fn newest(&mut self, kind: &str, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.store.newest(kind, limit)
    }

    fn newest_of(&mut self, kind: &str, key: &str, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.store.newest_of(kind, key, limit)
    }

    fn newest_before(&mut self, kind: &str, before: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.store.newest_before(kind, before, limit)
    }

    fn changes_of_turn(&mut self, turn: &str) -> Result<Vec<Record>, StoreError> {
        self.store.changes_of_turn(turn)
    }

    fn changes_since(&mut self, operation: OperationId) -> Result<Vec<Record>, StoreError> {
        self.store.changes_since(operation)
    }

    fn latest_each(&mut self, kind: &str) -> Result<Vec<Record>, StoreError> {
        self.store.latest_each(kind)
    }

    fn keep(&mut self, contents: &[Content]) -> Result<(), StoreError> {
        // Nothing is kept, so what needs it is not done.
        if contents.is_empty() { Ok(()) } else { Err(self.refusal()) }
    }

    fn content(&mut self, name: ObjectHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.content(name)
    }

    fn text(&mut self, document: ObjectHash) -> Result<Option<Arc<str>>, StoreError> {
        self.store.text(document)
    }

    fn differing(&mut self, before: OperationId, after: OperationId) -> Result<Vec<Differing>, StoreError> {
        self.store.differing(before, after)
    }

    fn versions(
        &mut self,
        file: &str,
        after: OperationId,
        until: OperationId,
    ) -> Result<Vec<(OperationId, Option<ObjectHash>)>, StoreError> {
        self.store.versions(file, after, until)
    }

    fn let_go(&mut self, operation: OperationId) -> Result<Option<String>, StoreError> {
        self.store.let_go(operation)
    }

    fn touching(&mut self, file: &str, until: OperationId, most: usize) -> Result<Vec<OperationId>, StoreError> {
        self.store.touching(file, until, most)
    }

    fn path(&self) -> Option<PathBuf> {
        self.store.path()
    }
}
