//! What a store does about damage: it catches up with its log, is made anew from it, and says what is broken.

use crate::domain::count::counted;
use crate::domain::id::ObjectHash;
use crate::domain::memory::operation::Operation;
use crate::domain::memory::store::{Record, StoreError};
use crate::edge::store::cards;
use crate::edge::store::carve::carve;
use crate::edge::store::compact::delete_all;
use crate::edge::store::disk::{DiskStore, written_by_others};
use crate::edge::store::journal::{Entry, Journal, Reach, free_name};
use crate::edge::store::lock::Lock;
use crate::edge::store::objects::{self, insert_found};
use crate::edge::store::open::{cannot_open, make_folder, sync_folder};
use crate::edge::store::rows::{insert_operation, insert_record, query_operations, query_records, set_head};
use crate::edge::store::verify::{Proof, What, misfit, verify};
use crate::edge::store::witness::{self, Seen, Witness};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many rows go into one entry when the plain log is brought up to date.
const CATCH_UP: usize = 1000;
/// How many damaged places of the log are named.
const MOST_HOLES: usize = 20;

/// Says, in the store's folder, that a repair has begun: it holds the name under which the database is put aside.
const MENDING: &str = "memory.sqlite.mending";

/// What became of a store that was repaired.
const LEFT: &str = "the database is whole and was left as it is";

impl DiskStore {
    /// Repairs a store: a database that is damaged is put aside and made anew from the plain log and from what is
    /// whole in it; a damaged log is made good from the database; single damaged objects are taken out.
    ///
    /// Texts of Org files that are lost come back when the files are read again. Nothing is deleted, and a database
    /// that is whole stays.
    ///
    /// # Errors
    /// As [`DiskStore::open`].
    pub fn rebuild(folder: &Path) -> Result<DiskStore, StoreError> {
        make_folder(folder)?;
        let database = folder.join("memory.sqlite");
        if !database.exists() {
            return DiskStore::open(folder);
        }
        let proof = verify(folder, None)?;
        if ![What::Database, What::Operation, What::Record].into_iter().any(|what| proof.broken(what)) {
            return DiskStore::cleaned(folder, &proof);
        }
        let (lock, _) = Lock::take(folder)?;
        begin_mending(folder, &database).map_err(|why| cannot_open(&database, why))?;
        DiskStore::under(folder, Arc::new(lock))
    }

    /// Takes over what is whole in a database that was put aside, if there is one that this was not done with.
    pub(super) fn finish_mending(&mut self, aside: Option<PathBuf>) -> Result<(), StoreError> {
        let Some(aside) = aside else { return Ok(()) };
        self.notices.push(format!("the damaged database was kept as {}", aside.display()));
        self.salvage(&aside, &with(&aside, "-wal"))?;
        self.mend_log()?;
        let marker = self.folder.join(MENDING);
        fs::remove_file(&marker).map_err(|why| cannot_open(&marker, why))
    }

    /// Opens a store whose tables are whole, and takes single damaged objects out.
    fn cleaned(folder: &Path, proof: &Proof) -> Result<DiskStore, StoreError> {
        let mut store = DiskStore::open(folder)?;
        if !proof.broken(What::Object) {
            store.notices.push(LEFT.to_string());
            return Ok(store);
        }
        let sql = store.sql();
        let transaction = store.connection.transaction().map_err(&sql)?;
        let mut count = objects::drop_damaged(&transaction).map_err(&sql)?;
        for document in cards::changed(&transaction).map_err(&sql)? {
            count += objects::drop_text(&transaction, document).map_err(&sql)?;
        }
        // What still stood for a text that is gone would keep its file from being read again.
        objects::drop_unfounded(&transaction).map_err(&sql)?;
        transaction.commit().map_err(&sql)?;
        store.notices.push(format!("{} taken out of the database", counted(count, "damaged object")));
        Ok(store)
    }

    /// Takes over what is whole in a database that was put aside.
    fn salvage(&mut self, aside: &Path, companion: &Path) -> Result<(), StoreError> {
        let sql = self.sql();
        let reach = self.reach()?;
        let transaction = self.connection.transaction().map_err(&sql)?;
        let (mut count, mut failed) = (0, None);
        let carved = carve(aside, companion, &mut |found| match insert_found(&transaction, &found) {
            Ok(new) => count += new,
            Err(error) => failed = failed.take().or(Some(error)),
        });
        carved.map_err(|why| cannot_open(aside, why))?;
        if let Some(error) = failed {
            return Err(sql(error));
        }
        let behind = Entry {
            operations: rows_behind(aside, |old| query_operations(old, reach.operation, usize::MAX)),
            records: rows_behind(aside, |old| query_records(old, reach.record, usize::MAX)),
        };
        // What the log had not yet; an operation only when it goes on where the log ends.
        let last = query_operations(&transaction, reach.operation.saturating_sub(1), 1).map_err(&sql)?.pop();
        let mut last = last.map(|operation| operation.hash());
        for operation in &behind.operations {
            if operation.parent == last {
                insert_operation(&transaction, operation).map_err(&sql)?;
                set_head(&transaction, operation.id).map_err(&sql)?;
                last = Some(operation.hash());
            }
        }
        for record in &behind.records {
            insert_record(&transaction, record).map_err(&sql)?;
        }
        transaction.commit().map_err(&sql)?;
        // Rows that were deleted before may have been found, too.
        let swept = self.drop_unused()?;
        let kept = count.saturating_sub(swept);
        self.notices.push(format!("{} came back from it, each checked by its hash", counted(kept, "object")));
        self.catch_up()
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
            self.name_gaps()?;
            self.notices.push(format!(
                "{operations} operations and {records} records were missing in the database and came back from its log"
            ));
        }
        self.catch_up()
    }

    /// Says which operations and records are neither in the log nor in the database.
    fn name_gaps(&mut self) -> Result<(), StoreError> {
        for (table, column, what) in [("operations", "id", "operations"), ("records", "seq", "records")] {
            let sql = format!(
                "SELECT a.{column} + 1, (SELECT min({column}) FROM {table} b WHERE b.{column} > a.{column}) - 1
                 FROM (SELECT 0 AS {column} UNION ALL SELECT {column} FROM {table}) a
                 WHERE a.{column} < (SELECT max({column}) FROM {table})
                 AND NOT EXISTS (SELECT 1 FROM {table} c WHERE c.{column} = a.{column} + 1)"
            );
            let gaps = self.connection.prepare(&sql).and_then(|mut statement| {
                statement
                    .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                    .collect::<rusqlite::Result<Vec<(i64, i64)>>>()
            });
            for (from, to) in gaps.map_err(self.sql())? {
                self.notices.push(format!("{what} {from} to {to} are lost: neither the database nor its log has them"));
            }
        }
        Ok(())
    }

    /// Makes a log with damaged places anew from the database; the damaged one is kept.
    pub(super) fn mend_log(&mut self) -> Result<(), StoreError> {
        let Some(owned) = &mut self.owned else { return Ok(()) };
        let holes = std::mem::take(&mut owned.journal.holes);
        if holes.is_empty() {
            return Ok(());
        }
        let (connection, other) = (&self.connection, |error: rusqlite::Error| std::io::Error::other(error.to_string()));
        let made = owned.journal.replace(&mut |new| {
            loop {
                let Reach { operation, record } = new.reach;
                let entry = Entry {
                    operations: query_operations(connection, operation, CATCH_UP).map_err(other)?,
                    records: query_records(connection, record, CATCH_UP).map_err(other)?,
                };
                if entry.is_empty() {
                    return Ok(());
                }
                new.append(&entry)?;
            }
        });
        let places: Vec<String> = holes.iter().take(MOST_HOLES).map(ToString::to_string).collect();
        let more = if holes.len() > places.len() {
            format!(" and {} more", holes.len() - places.len())
        } else {
            String::new()
        };
        let places = format!("{}{more}", places.join(", "));
        self.notices.push(match made {
            Ok(aside) => format!(
                "the store's log was damaged in {places}; it was kept as {} and made good from the database",
                aside.display()
            ),
            Err(why) => format!("the store's log is damaged in {places}, and could not be made good: {why}"),
        });
        Ok(())
    }

    /// Deletes what no kept operation refers to; returns how much that was.
    fn drop_unused(&mut self) -> Result<usize, StoreError> {
        let sql = self.sql();
        let (objects, texts) = self.unused().map_err(&sql)?;
        let transaction = self.connection.transaction().map_err(&sql)?;
        delete_all(&transaction, &objects, &texts).map_err(&sql)?;
        transaction.commit().map_err(&sql)?;
        Ok(objects.len() + texts.len())
    }

    /// Notes the head of this store outside it from now on, and compares it with what was noted there before.
    pub fn watch(&mut self, heads: &Path) {
        if self.owned.is_none() {
            return;
        }
        self.heads = Some(heads.to_path_buf());
        if let Err(why) = self.begin_to_watch(heads) {
            self.witness = None;
            self.notices.push(format!(
                "the head of the store cannot be noted in {}: {why}; until it can, a rewritten chain would not be noticed",
                heads.display()
            ));
        }
    }

    fn begin_to_watch(&mut self, heads: &Path) -> Result<(), String> {
        let words = |why: std::io::Error| why.to_string();
        let mut witness = Witness::open(heads, &self.folder).map_err(words)?;
        let reach = self.reach().map_err(|error| error.to_string())?;
        let first = self.hash_of(1)?;
        if witness.seen == Seen::nothing() {
            let before = first.and_then(|first| witness::elsewhere(heads, &self.folder, first));
            if let Some((seen, place)) = before
                && misfit(&seen, first, self.hash_of(seen.operation)?, reach).is_none()
            {
                if !place.join("memory.sqlite").exists() {
                    let place = place.display();
                    self.notices.push(format!("the store lay at {place} before; its head fits what was noted there"));
                }
                witness.seen = seen;
            }
        } else if let Some(why) = misfit(&witness.seen, first, self.hash_of(witness.seen.operation)?, reach) {
            let aside = witness::put_aside(heads, &self.folder).map_err(words)?;
            self.notices.push(format!("{why}; what was noted is kept as {}", aside.display()));
            witness = Witness::open(heads, &self.folder).map_err(words)?;
        }
        witness.seen.first = first;
        let known = witness.seen.record;
        let records = query_records(&self.connection, known, usize::MAX).map_err(|error| error.to_string())?;
        let head = self.read_head().map_err(|error| error.to_string())?;
        let at = [head.as_ref().map(|head| head.why.at), records.last().map(|record| record.at), Some(witness.seen.at)];
        let at = at.into_iter().flatten().max().unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        witness.note(head.as_ref(), &records, at).map_err(words)?;
        self.witness = Some(witness);
        Ok(())
    }

    /// Returns the hash of an operation as it is now.
    fn hash_of(&self, operation: u64) -> Result<Option<ObjectHash>, String> {
        let Some(before) = operation.checked_sub(1) else { return Ok(None) };
        let found = query_operations(&self.connection, before, 1).map_err(|error| error.to_string())?;
        Ok(found.first().filter(|found| found.id.0 == operation).map(Operation::hash))
    }

    /// Writes what is stored now into the plain log, and the head outside; returns what went wrong, for people.
    pub(super) fn keep_outside(&mut self, records: &[Record]) -> Option<String> {
        let behind = self.catch_up().err().map(|error| {
            format!("this change is saved, but the store's log could not be written ({error}); it is made good at the next save")
        });
        let head = self.head.clone();
        let at = [head.as_ref().map(|head| head.why.at), records.last().map(|record| record.at)];
        let at = at.into_iter().flatten().max().unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let noted = self.witness.as_mut().map(|witness| witness.note(head.as_ref(), records, at));
        let unnoted = noted.and_then(Result::err).map(|why| {
            format!("this change is saved, but the head could not be noted outside the store ({why}); it is at the next save")
        });
        behind.or(unnoted)
    }

    /// Sees that the files are still the ones that were opened, and puts back what was deleted.
    ///
    /// # Errors
    /// [`StoreError::Vanished`] when what is written now would be nowhere.
    pub(super) fn still_there(&mut self) -> Result<(), StoreError> {
        let (Some(file), Some(owned)) = (self.file, &mut self.owned) else { return Ok(()) };
        let (database, removed) = (self.folder.join("memory.sqlite"), owned.journal.removed());
        let vanished = |why: &str| StoreError::Vanished { path: database.clone(), why: why.to_string() };
        match fs::metadata(&database) {
            Ok(meta) if (meta.dev(), meta.ino()) == file => {
                if !owned.lock.is_of(&self.folder) {
                    // Who took it meanwhile owns the store, and nothing is written beside him, nor behind him.
                    let lock = Lock::take(&self.folder)?.0;
                    let others = written_by_others(&self.connection);
                    if !others.is_ok_and(|others| others == owned.others) {
                        return Err(vanished("were written by another process while their lock was away"));
                    }
                    owned.lock = Arc::new(lock);
                }
                if removed {
                    let path = self.folder.join("memory.log");
                    owned.journal = Journal::open(&path).map_err(|why| cannot_open(&path, why))?.0;
                }
                Ok(())
            }
            Ok(_) => Err(vanished("are no longer those that were opened")),
            Err(_) if removed => self.put_back(),
            Err(why) if matches!(why.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
                Err(vanished("were moved away while it was in use"))
            }
            // That one may not look there any more takes nothing away: they are open.
            Err(_) => Ok(()),
        }
    }

    /// Writes a deleted store anew from the files that are still open: they live until they are closed.
    /// Where that fails they stay open, and the next save tries again.
    fn put_back(&mut self) -> Result<(), StoreError> {
        make_folder(&self.folder)?;
        let Some(owned) = &mut self.owned else { return Ok(()) };
        // First: while the rest is written, others must see that there is an owner.
        if !owned.lock.is_of(&self.folder) {
            owned.lock = Arc::new(Lock::take(&self.folder)?.0);
        }
        let lock = owned.lock.clone();
        let (database, new) = (self.folder.join("memory.sqlite"), self.folder.join("memory.sqlite.new"));
        let failed = |why| cannot_open(&new, why);
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new).map_err(failed)?;
        self.connection.execute("VACUUM INTO ?1", [new.to_string_lossy()]).map_err(self.sql())?;
        fs::File::open(&new).and_then(|file| file.sync_all()).map_err(failed)?;
        // Else SQLite would remove the companions by their names at the end, which are those of the new one then.
        let close = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        self.connection.set_db_config(close, true).map_err(self.sql())?;
        let Some(owned) = &mut self.owned else { return Ok(()) };
        let log = self.folder.join("memory.log");
        owned.journal.copy_to(&log).map_err(|why| cannot_open(&log, why))?;
        // Companions of the deleted one are none of the new one.
        for companion in ["memory.sqlite-wal", "memory.sqlite-shm"] {
            let _ = fs::remove_file(self.folder.join(companion));
        }
        let renamed = fs::rename(&new, &database).map_err(failed);
        let made = renamed.is_ok();
        let mut back = match renamed.and_then(|()| DiskStore::under(&self.folder, lock)) {
            Ok(back) => back,
            Err(error) => {
                let _ = fs::remove_file(&log);
                if made {
                    let _ = fs::remove_file(&database);
                }
                return Err(error);
            }
        };
        back.saved = std::mem::take(&mut self.saved);
        (back.repair, back.shape, back.texts) = (self.repair, self.shape.take(), self.texts.clone());
        back.notices.splice(0..0, std::mem::take(&mut self.notices));
        if let Some(heads) = self.heads.take() {
            back.watch(&heads);
        }
        *self = back;
        Ok(())
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

/// Notes under which name a damaged database is put aside, so that whoever opens the store next goes on with it.
fn begin_mending(folder: &Path, database: &Path) -> io::Result<()> {
    let (marker, new) = (folder.join(MENDING), folder.join(format!("{MENDING}.new")));
    if marker.exists() {
        return Ok(());
    }
    let aside = free_name(database, "damaged");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(aside.file_name().unwrap_or_default().as_encoded_bytes())?;
    file.sync_all()?;
    fs::rename(new, marker)?;
    sync_folder(folder)
}

/// Puts a database aside for which a repair has begun; returns its new name while the repair is not done.
pub(super) fn put_aside(folder: &Path) -> io::Result<Option<PathBuf>> {
    let (database, marker) = (folder.join("memory.sqlite"), folder.join(MENDING));
    let name = match fs::read_to_string(&marker) {
        Ok(name) => name,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(why),
    };
    // Only a name of our own making is followed.
    if !name.starts_with("memory.sqlite.damaged") || name.contains('/') {
        fs::remove_file(&marker)?;
        return Ok(None);
    }
    let aside = folder.join(name);
    if !aside.exists() {
        // The database itself is the last: as long as it lies there, what belongs to it does, too.
        for suffix in ["-wal", "-shm", ""] {
            match fs::rename(with(&database, suffix), with(&aside, suffix)) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
                Ok(()) | Err(_) => {}
            }
        }
        sync_folder(folder)?;
    }
    if !aside.exists() {
        // Somebody took it away: there is nothing to take over.
        fs::remove_file(&marker)?;
        return Ok(None);
    }
    Ok(Some(aside))
}

fn with(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

/// Returns where a stretch of the log does not hang together.
pub(super) fn broken_chain(operations: &[Operation]) -> Option<String> {
    let pair = operations.windows(2).find(|pair| pair[1].parent != Some(pair[0].hash()))?;
    Some(format!(
        "the log of operations is broken between {} and {}: one of them was changed after it was written",
        pair[0].id.0, pair[1].id.0
    ))
}

/// Reads rows of a damaged database that its log may not have yet; none when they cannot be read.
fn rows_behind<T>(aside: &Path, read: impl Fn(&Connection) -> rusqlite::Result<Vec<T>>) -> Vec<T> {
    let connection = Connection::open_with_flags(aside, OpenFlags::SQLITE_OPEN_READ_WRITE);
    connection.and_then(|connection| read(&connection)).unwrap_or_default()
}

/// Returns which file lies at a path, as the system tells files apart.
pub(super) fn which(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}
