//! What was: bytes of files by their names, and how memory differed between two operations, read without loading either.

use crate::domain::id::{ObjectHash, OperationId};
use crate::domain::memory::files::{StoredEntry, slot_of};
use crate::domain::memory::store::{Content, Differing, StoreError, content_name};
use crate::domain::memory::view::View;
use crate::edge::store::compact::let_go;
use crate::edge::store::disk::DiskStore;
use crate::edge::store::objects::{self, ReadError};
use crate::edge::store::rows::signed;
use crate::edge::store::writer::Writer;
use rusqlite::OptionalExtension;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The deepest that a trie of files can be: one step for each half byte of a name's hash.
const DEEPEST: usize = 64;

/// Files with what each was and is.
pub(super) type Pairs = BTreeMap<Arc<str>, (Option<ObjectHash>, Option<ObjectHash>)>;

impl DiskStore {
    fn read_error(&self, error: ReadError) -> StoreError {
        match error {
            ReadError::Damaged(error) => error,
            ReadError::Sqlite(error) => self.sql()(error),
        }
    }

    /// Keeps the bytes of files.
    pub(super) fn keep_contents(&mut self, contents: &[Content]) -> Result<(), StoreError> {
        if contents.is_empty() {
            return Ok(());
        }
        let sql = self.sql();
        let transaction = self.connection.transaction().map_err(&sql)?;
        let mut writer = Writer::new(&transaction, false);
        for content in contents {
            writer.content(content.name, &content.bytes, content.same_as).map_err(|error| match error {
                ReadError::Damaged(error) => error,
                ReadError::Sqlite(error) => sql(error),
            })?;
        }
        transaction.commit().map_err(&sql)
    }

    /// Reads the bytes of a file; other bytes than those of that name are damage.
    pub(super) fn kept_content(&self, name: ObjectHash) -> Result<Option<Vec<u8>>, StoreError> {
        match objects::content(&self.connection, name) {
            Ok(bytes) => match content_name(&bytes) {
                actual if actual == name => Ok(Some(bytes)),
                actual => Err(StoreError::Corrupt { expected: name, actual }),
            },
            Err(ReadError::Damaged(StoreError::Missing(missing))) if missing == name => Ok(None),
            Err(error) => Err(self.read_error(error)),
        }
    }

    /// Reads the text of a document.
    pub(super) fn kept_text(&self, document: ObjectHash) -> Result<Option<Arc<str>>, StoreError> {
        match objects::text(&self.connection, document) {
            Ok(text) => Ok(Some(text)),
            Err(ReadError::Damaged(StoreError::Missing(missing))) if missing == document => Ok(None),
            Err(error) => Err(self.read_error(error)),
        }
    }

    /// Returns the root of memory at an operation; `None` for the empty memory.
    fn root_at(&self, operation: OperationId) -> Result<Option<ObjectHash>, StoreError> {
        if operation == OperationId(0) {
            return Ok(None);
        }
        let sql = "SELECT root FROM operations WHERE id = ?1";
        let found = self.connection.query_row(sql, [signed(operation.0)], |row| row.get::<_, [u8; 32]>(0)).optional();
        let root = found.map_err(self.sql())?.ok_or_else(|| StoreError::Failed {
            path: self.folder.join("memory.sqlite"),
            why: format!("there is no operation {}", operation.0),
        })?;
        Ok(Some(ObjectHash::new(root)).filter(|root| *root != View::default().root()))
    }

    /// Returns an error as it is, unless what is missing was let go on purpose with one of some operations.
    fn unless_let_go(&self, operations: impl IntoIterator<Item = OperationId>, error: StoreError) -> StoreError {
        if !matches!(error, StoreError::Missing(_)) {
            return error;
        }
        let told = operations.into_iter().find_map(|id| let_go(&self.connection, id.0).transpose());
        match told {
            Some(Ok(text)) => StoreError::LetGo(text),
            // That it cannot be found out makes what is missing no less missing.
            Some(Err(_)) | None => error,
        }
    }

    /// Walks two tries at once, and only where they differ.
    pub(super) fn differing_files(
        &self,
        before: OperationId,
        after: OperationId,
    ) -> Result<Vec<Differing>, StoreError> {
        let found = self.differing_roots(self.root_at(before)?, self.root_at(after)?, usize::MAX);
        let found = found.map_err(|error| self.unless_let_go([before, after], error))?.unwrap_or_default();
        let differing = found.into_iter().map(|(file, (before, after))| Differing { file, before, after });
        Ok(differing.filter(|file| file.before != file.after).collect())
    }

    /// Returns the files that may differ below two roots, with what they are; nothing when there are more than `most`.
    pub(super) fn differing_roots(
        &self,
        before: Option<ObjectHash>,
        after: Option<ObjectHash>,
        most: usize,
    ) -> Result<Option<Pairs>, StoreError> {
        let mut found = Pairs::new();
        let root =
            |root: Option<ObjectHash>| root.filter(|root| *root != View::default().root()).map(StoredEntry::Branch);
        let mut waiting = vec![(root(before), root(after))];
        while let Some((left, right)) = waiting.pop() {
            if found.len() > most {
                return Ok(None);
            }
            if left == right {
                continue;
            }
            let both = matches!((&left, &right), (Some(StoredEntry::Branch(_)), Some(StoredEntry::Branch(_))));
            let mut sides: [BTreeMap<u8, StoredEntry>; 2] = Default::default();
            for (side, entry) in [left, right].into_iter().enumerate() {
                match entry {
                    None => {}
                    Some(StoredEntry::File(file, document)) => {
                        let pair = found.entry(file).or_default();
                        *(if side == 0 { &mut pair.0 } else { &mut pair.1 }) = Some(document);
                    }
                    Some(StoredEntry::Branch(name)) => {
                        let entries = objects::slots(&self.connection, name).map_err(|error| self.read_error(error))?;
                        match sides.get_mut(side) {
                            Some(slots) if both => slots.extend(entries),
                            // Nothing stands on the other side, or another kind of thing: all below counts.
                            _ => waiting.extend(entries.into_iter().map(|(_, entry)| match side {
                                0 => (Some(entry), None),
                                _ => (None, Some(entry)),
                            })),
                        }
                    }
                }
            }
            let [mut left, mut right] = sides;
            waiting.extend((0..16).map(|slot| (left.remove(&slot), right.remove(&slot))));
        }
        Ok(Some(found).filter(|found| found.len() <= most))
    }

    /// Looks a file up below a root; branches that were met before are not read again.
    pub(super) fn look_up(
        &self,
        file: &str,
        root: ObjectHash,
        known: &mut HashMap<ObjectHash, Option<ObjectHash>>,
    ) -> Result<Option<ObjectHash>, StoreError> {
        let (mut name, mut way) = (root, Vec::new());
        let mut document = None;
        for depth in 0..DEEPEST {
            if root == View::default().root() {
                break;
            }
            if let Some(answer) = known.get(&name) {
                document = *answer;
                break;
            }
            way.push(name);
            let entries = objects::slots(&self.connection, name).map_err(|error| self.read_error(error))?;
            let slot = slot_of(file, depth);
            match entries.into_iter().find(|(at, _)| *at == slot).map(|(_, entry)| entry) {
                Some(StoredEntry::Branch(below)) => name = below,
                Some(StoredEntry::File(found, hash)) if *found == *file => {
                    document = Some(hash);
                    break;
                }
                Some(StoredEntry::File(..)) | None => break,
            }
        }
        known.extend(way.into_iter().map(|branch| (branch, document)));
        Ok(document)
    }
}
