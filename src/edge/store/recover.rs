//! What a store does about damage: it catches up with its log, is made anew from it, and says what is broken.

use crate::domain::memory::operation::Operation;
use crate::domain::memory::store::{Store, StoreError};
use crate::edge::store::disk::DiskStore;
use crate::edge::store::journal::{Entry, Reach, free_name};
use crate::edge::store::lock::Lock;
use crate::edge::store::objects;
use crate::edge::store::open::{cannot_open, make_folder};
use crate::edge::store::rows::{insert_operation, insert_record, query_operations, query_records, set_head};
use rusqlite::{Connection, OpenFlags};
use std::fs;
use std::path::{Path, PathBuf};

/// How many rows go into one entry when the plain log is brought up to date.
const CATCH_UP: usize = 1000;

impl DiskStore {
    /// Puts a damaged database aside and makes a new one from the plain log: operations and records.
    ///
    /// Texts come back when the Org files are read again. Nothing is deleted, and a database that is whole stays.
    ///
    /// # Errors
    /// As [`DiskStore::open`].
    pub fn rebuild(folder: &Path) -> Result<DiskStore, StoreError> {
        make_folder(folder)?;
        let (lock, _) = Lock::take(folder)?;
        let database = folder.join("memory.sqlite");
        if whole(&database) {
            drop(lock);
            let mut store = DiskStore::open(folder)?;
            store.notices.push("the database is whole and was left as it is".to_string());
            return Ok(store);
        }
        let aside = free_name(&database, "damaged");
        for suffix in ["", "-wal", "-shm"] {
            let with = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
            match fs::rename(with(&database), with(&aside)) {
                Err(why) if why.kind() != std::io::ErrorKind::NotFound => return Err(cannot_open(&database, why)),
                Ok(()) | Err(_) => {}
            }
        }
        drop(lock);
        let mut store = DiskStore::open(folder)?;
        store.notices.push(format!("the damaged database was kept as {}", aside.display()));
        Ok(store)
    }

    /// Checks every object, the chain of operations, and the head; returns what is damaged, for people.
    ///
    /// # Errors
    /// When the database itself refuses to be read.
    pub fn verify(&mut self) -> Result<Vec<String>, StoreError> {
        let mut found: Vec<String> =
            objects::verify(&self.connection).map_err(self.sql())?.iter().map(StoreError::to_string).collect();
        let operations = self.operations(usize::MAX)?;
        found.extend(broken_chain(&operations));
        Ok(found)
    }

    /// Brings the plain log and the database to the same point, whichever is behind.
    pub(super) fn reconcile(&mut self) -> Result<(), StoreError> {
        let reach = self.reach()?;
        let Some(owned) = &mut self.owned else { return Ok(()) };
        let logged = owned.journal.reach;
        if logged.operation > reach.operation || logged.record > reach.record {
            let mut missing = Entry::default();
            let path = self.folder.join("memory.log");
            let read = owned.journal.read(&mut |entry| {
                missing.operations.extend(entry.operations.into_iter().filter(|o| o.id.0 > reach.operation));
                missing.records.extend(entry.records.into_iter().filter(|r| r.seq > reach.record));
            });
            read.map_err(|why| cannot_open(&path, why))?;
            let (operations, records) = (missing.operations.len(), missing.records.len());
            self.import(missing)?;
            self.notices.push(format!(
                "{operations} operations and {records} records were missing in the database and came back from its log"
            ));
        }
        self.catch_up()
    }

    /// Puts into the database what only the plain log has.
    fn import(&mut self, entry: Entry) -> Result<(), StoreError> {
        let sql = self.sql();
        let transaction = self.connection.transaction().map_err(&sql)?;
        for operation in &entry.operations {
            insert_operation(&transaction, operation).map_err(&sql)?;
        }
        for record in &entry.records {
            insert_record(&transaction, record).map_err(&sql)?;
        }
        if let Some(last) = entry.operations.last() {
            set_head(&transaction, last.id).map_err(&sql)?;
        }
        transaction.commit().map_err(&sql)
    }

    /// Appends to the plain log what only the database has.
    pub(super) fn catch_up(&mut self) -> Result<(), StoreError> {
        let sql = self.sql();
        loop {
            let Some(owned) = &mut self.owned else { return Ok(()) };
            let Reach { operation, record } = owned.journal.reach;
            let entry = Entry {
                operations: query_operations(&self.connection, operation, CATCH_UP).map_err(&sql)?,
                records: query_records(&self.connection, record, CATCH_UP).map_err(&sql)?,
            };
            if entry.is_empty() {
                return Ok(());
            }
            let path = self.folder.join("memory.log");
            owned.journal.append(&entry).map_err(|why| StoreError::Failed { path, why: why.to_string() })?;
        }
    }
}

/// Returns where a stretch of the log does not hang together.
pub(super) fn broken_chain(operations: &[Operation]) -> Option<String> {
    let pair = operations.windows(2).find(|pair| pair[1].parent != Some(pair[0].hash()))?;
    Some(format!(
        "the log of operations is broken between {} and {}: one of them was changed after it was written",
        pair[0].id.0, pair[1].id.0
    ))
}

/// Returns whether SQLite finds nothing wrong with a database.
fn whole(database: &Path) -> bool {
    let check = || {
        let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
    };
    check().is_ok_and(|said| said == "ok")
}
