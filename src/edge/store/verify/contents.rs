//! What hangs on the operations: every object by its hash, and every text that a root leads to.

use super::{Walk, What, brief, short};
use crate::domain::count::counted;
use crate::domain::id::ObjectHash;
use crate::domain::memory::files::StoredEntry;
use crate::domain::memory::store::{StoreError, content_name};
use crate::domain::memory::view::View;
use crate::edge::store::objects::{self, ReadError};
use crate::edge::store::{cards, compact};
use rusqlite::Connection;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl Walk {
    /// Checks every object, and walks from each root to every text.
    pub(super) fn contents(&mut self, connection: &Connection) {
        if let Err(error) = self.walk_contents(connection) {
            self.proof.add(What::Database, format!("the objects cannot be read on: {error}"));
        }
    }

    fn walk_contents(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut objects: HashMap<ObjectHash, u64> = HashMap::new();
        let damaged = objects::verify_each(connection, &mut |name, bytes| {
            objects.insert(name, bytes);
        })?;
        for error in damaged {
            self.proof.add(What::Object, short(&error));
        }
        let mut texts: HashMap<ObjectHash, u64> = HashMap::new();
        let mut otherwise = 0;
        let (shapes, shaped) = (cards::query_shapes(connection)?, cards::query_shaped(connection)?);
        let mut statement = connection.prepare("SELECT document, length(manifest) FROM texts")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let document = ObjectHash::new(row.get(0)?);
            let length: i64 = row.get(1)?;
            texts.insert(document, u64::try_from(length).unwrap_or(0));
            match objects::content(connection, document) {
                Ok(bytes) if content_name(&bytes) == document => {}
                Ok(bytes) => {
                    let text = String::from_utf8(bytes).map(Arc::from).unwrap_or_default();
                    match shaped.get(&document).and_then(|shape| shapes.get(shape)) {
                        Some(shape) if cards::makes(shape, &text, document) => {}
                        Some(_) => {
                            let text = "it is not the text that was stored, and was changed with its sum";
                            self.proof.add(What::Object, format!("text {}: {text}", brief(document)));
                        }
                        None => {
                            otherwise += usize::from(!shapes.values().any(|shape| cards::makes(shape, &text, document)))
                        }
                    }
                }
                Err(ReadError::Damaged(error)) => {
                    self.proof.add(What::Object, format!("text {}: {}", brief(document), short(&error)));
                }
                Err(ReadError::Sqlite(error)) => return Err(error),
            }
        }
        if otherwise > 0 {
            let text = format!(
                "{} divided into headings otherwise than when stored: by an older version of the program, or changed by hand",
                counted(otherwise, "text")
            );
            self.proof.notes.push(text);
        }
        self.proof.objects = (objects.len() + texts.len()) as u64;
        self.proof.bytes = objects.values().sum::<u64>() + texts.values().sum::<u64>();
        let mut used = HashSet::new();
        self.walk_roots(connection, &texts, &mut used)?;
        used.extend(compact::named(connection, 0)?);
        for document in texts.keys().filter(|document| used.contains(*document)).copied().collect::<Vec<_>>() {
            objects::below(connection, document, &mut |name| {
                used.insert(name);
            })?;
        }
        self.proof.unreferenced =
            objects.keys().chain(texts.keys()).filter(|name| !used.contains(*name)).count() as u64;
        if self.proof.unreferenced > 0 {
            let text = format!(
                "{} belong to no operation that is kept; `passepartout memory compact` frees them",
                counted(self.proof.unreferenced as usize, "object")
            );
            self.proof.notes.push(text);
        }
        Ok(())
    }

    /// Walks from every root through its branches to the names of its texts.
    fn walk_roots(
        &mut self,
        connection: &Connection,
        texts: &HashMap<ObjectHash, u64>,
        used: &mut HashSet<ObjectHash>,
    ) -> rusqlite::Result<()> {
        // The state before the first kept operation is kept, too.
        let kept = compact::kept_from(connection)?.saturating_sub(1);
        let empty = View::default().root();
        let mut let_go = 0u64;
        let mut steps: Vec<(u64, ObjectHash, jiff::Timestamp)> =
            self.operations.iter().map(|(id, step)| (*id, step.root, step.at)).collect();
        // Memory may have come back to what it was: what is kept for a later operation is not let go with an earlier one.
        steps.sort_by_key(|(id, ..)| *id < kept);
        for (id, root, at) in steps {
            let mut waiting = vec![root];
            let mut gaps = Vec::new();
            while let Some(name) = waiting.pop() {
                if name == empty || !used.insert(name) {
                    continue;
                }
                match objects::branch(connection, name) {
                    Ok(entries) => {
                        for entry in entries {
                            match entry {
                                StoredEntry::Branch(below) => waiting.push(below),
                                StoredEntry::File(file, document) => {
                                    if used.insert(document) && !texts.contains_key(&document) {
                                        gaps.push(format!("the text of {file}"));
                                    }
                                }
                            }
                        }
                    }
                    Err(ReadError::Damaged(StoreError::Missing(name))) => gaps.push(format!("object {}", brief(name))),
                    Err(ReadError::Damaged(error)) => gaps.push(format!("{}: what it held", short(&error))),
                    Err(ReadError::Sqlite(error)) => return Err(error),
                }
            }
            let_go += u64::from(!gaps.is_empty() && id < kept);
            for gap in gaps.into_iter().filter(|_| id >= kept) {
                let when = at.strftime("%Y-%m-%d %H:%M");
                self.proof.add(What::Object, format!("operation {id} ({when}): {gap} is lost"));
            }
        }
        if kept > 1 && let_go > 0 {
            let text = format!(
                "contents of {} before operation {} were let go by `passepartout memory compact`; their hashes are all there",
                counted(let_go as usize, "operation"),
                kept + 1
            );
            self.proof.notes.push(text);
        }
        Ok(())
    }
}
