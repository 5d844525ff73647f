//! The store in SQLite: one transaction a commit, a plain log beside it, every object checked when read.
//!
//! The database is the truth and the plain log follows it: what the log lacks is added at the next
//! start, and what the database lost comes back from the log.

use crate::domain::id::{ObjectHash, OperationId};
use crate::domain::memory::files::StoredEntry;
use crate::domain::memory::operation::Operation;
use crate::domain::memory::store::{
    Build, Commit, Committed, Loaded, NewRecord, Record, Stamp, Store, StoreError, follows,
};
use crate::domain::memory::view::View;
use crate::edge::store::journal::{Entry, Journal, Reach, free_name};
use crate::edge::store::lock::Lock;
use crate::edge::store::objects::{self, ReadError, Writer};
use crate::edge::store::open::{cannot_open, check_header, make_folder, opening, set_up};
use crate::edge::store::rows::{
    OPERATION, insert_operation, insert_record, insert_stamp, operation_of, query_operations, query_records,
    query_stamps, record_of, set_head, signed, unsigned,
};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How many of the last operations are loaded at start.
pub const LOADED_OPERATIONS: usize = 1000;
/// How many rows go into one entry when the plain log is brought up to date.
const CATCH_UP: usize = 1000;

/// How deep the body of a record may be nested.
const MAX_NESTING: usize = 64;

/// A store on disk, owned by this process, or opened to be read.
pub struct DiskStore {
    folder: PathBuf,
    connection: Connection,
    /// `None` when it was opened to be read.
    owned: Option<Owned>,
    /// The view of the stored head as it was last loaded or saved: what it shares is not written again.
    saved: View,
    head: Option<Operation>,
    /// Damage was found: the next commit writes everything it has.
    repair: bool,
    /// What opening it brought to light, for people.
    notices: Vec<String>,
}

struct Owned {
    journal: Journal,
    _lock: Lock,
}

impl DiskStore {
    /// Opens or makes the store in a folder, and owns it until dropped.
    ///
    /// # Errors
    /// Each names the path and the way out; nothing is changed by a refusal.
    pub fn open(folder: &Path) -> Result<DiskStore, StoreError> {
        let database = folder.join("memory.sqlite");
        check_header(&database)?;
        make_folder(folder)?;
        let (lock, left) = Lock::take(folder)?;
        // Made by us before SQLite sees it, because its companions take over its mode.
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&database);
        file.map_err(|why| cannot_open(&database, why))?;
        let mut connection = Connection::open_with_flags(&database, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .map_err(|error| opening(&database, error))?;
        set_up(&mut connection, &database)?;
        let path = folder.join("memory.log");
        let (journal, torn) = Journal::open(&path).map_err(|why| cannot_open(&path, why))?;
        let mut store = DiskStore {
            folder: folder.to_path_buf(),
            connection,
            owned: Some(Owned { journal, _lock: lock }),
            saved: View::default(),
            head: None,
            repair: false,
            notices: Vec::new(),
        };
        if let Some(pid) = left {
            store.notices.push(format!("process {pid} ended without closing the store; it was taken over"));
        }
        if let Some(torn) = torn {
            let torn = torn.display();
            store.notices.push(format!("the store's log had a damaged end; it was kept as {torn} and made good"));
        }
        store.reconcile()?;
        store.head = store.read_head()?;
        Ok(store)
    }

    /// Opens a store to be read while another process may own it.
    ///
    /// # Errors
    /// As [`DiskStore::open`], and when there is no store yet.
    pub fn open_to_read(folder: &Path) -> Result<DiskStore, StoreError> {
        let database = folder.join("memory.sqlite");
        check_header(&database)?;
        if !database.exists() {
            let cure = "start Passepartout once, or run `passepartout ingest` with --store";
            return Err(StoreError::Open { path: database, why: "there is no store yet".to_string(), cure });
        }
        let connection = Connection::open_with_flags(&database, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .map_err(|error| opening(&database, error))?;
        connection.busy_timeout(Duration::from_secs(5)).map_err(|error| opening(&database, error))?;
        let mut store = DiskStore {
            folder: folder.to_path_buf(),
            connection,
            owned: None,
            saved: View::default(),
            head: None,
            repair: false,
            notices: Vec::new(),
        };
        store.head = store.read_head()?;
        Ok(store)
    }

    /// Puts a damaged database aside and makes a new one from the plain log: operations and records.
    ///
    /// Texts come back when the Org files are read again. Nothing is deleted.
    ///
    /// # Errors
    /// As [`DiskStore::open`].
    pub fn rebuild(folder: &Path) -> Result<DiskStore, StoreError> {
        make_folder(folder)?;
        let (lock, _) = Lock::take(folder)?;
        let database = folder.join("memory.sqlite");
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

    /// Returns what opening it brought to light, for people.
    pub fn notices(&self) -> &[String] {
        &self.notices
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

    /// Limits the size of the database, in pages; for tests of a full disk.
    #[doc(hidden)]
    pub fn limit_pages(&self, pages: u32) -> Result<(), StoreError> {
        self.connection.pragma_update(None, "max_page_count", pages).map_err(self.sql())
    }

    fn database(&self) -> PathBuf {
        self.folder.join("memory.sqlite")
    }

    /// Translates SQLite's errors.
    fn sql(&self) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
        let path = self.database();
        move |error| match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full { path: path.clone() },
            Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path: path.clone() },
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => opening(&path, error),
            _ => StoreError::Failed { path: path.clone(), why: error.to_string() },
        }
    }

    /// Brings the plain log and the database to the same point, whichever is behind.
    fn reconcile(&mut self) -> Result<(), StoreError> {
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
    fn catch_up(&mut self) -> Result<(), StoreError> {
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

    fn reach(&self) -> Result<Reach, StoreError> {
        let sql = "SELECT (SELECT coalesce(max(id), 0) FROM operations), (SELECT coalesce(max(seq), 0) FROM records)";
        let reach = self
            .connection
            .query_row(sql, [], |row| Ok(Reach { operation: unsigned(row.get(0)?), record: unsigned(row.get(1)?) }));
        reach.map_err(self.sql())
    }

    fn read_head(&self) -> Result<Option<Operation>, StoreError> {
        let sql = format!(
            "SELECT {OPERATION} FROM operations WHERE id = (SELECT operation FROM heads WHERE name = 'memory')"
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(self.sql())?;
        statement.query_row([], operation_of).optional().map_err(self.sql())
    }

    /// Walks from a root to every document; what is damaged becomes a line in `problems`.
    fn read_view(&self, root: ObjectHash, build: Build<'_>, problems: &mut Vec<String>) -> Result<View, StoreError> {
        let mut files = BTreeMap::new();
        // The empty memory has a root but no branch.
        let mut branches = if root == View::default().root() { Vec::new() } else { vec![root] };
        while let Some(name) = branches.pop() {
            match objects::branch(&self.connection, name) {
                Ok(entries) => entries.into_iter().for_each(|entry| match entry {
                    StoredEntry::File(file, document) => {
                        files.insert(file, document);
                    }
                    StoredEntry::Branch(below) => branches.push(below),
                }),
                Err(ReadError::Damaged(error)) => problems.push(error.to_string()),
                Err(ReadError::Sqlite(error)) => return Err(self.sql()(error)),
            }
        }
        let mut view = View::default();
        let mut otherwise = 0;
        for (file, document) in files {
            if let Some(known) = self.saved.document(&file).filter(|known| known.root() == document) {
                view.put(known.clone());
                continue;
            }
            let built = match objects::text(&self.connection, document) {
                Ok(text) => build(&file, text),
                Err(ReadError::Damaged(error)) => Err(error.to_string()),
                Err(ReadError::Sqlite(error)) => return Err(self.sql()(error)),
            };
            match built {
                Ok(built) => {
                    otherwise += usize::from(built.root() != document);
                    view.put(Arc::new(built));
                }
                Err(why) => problems.push(format!("{file}: {why}")),
            }
        }
        if otherwise > 0 {
            problems.push(format!("{otherwise} files are divided into headings otherwise than when they were stored"));
        }
        Ok(view)
    }

    fn write(&mut self, commit: &Commit<'_>, records: &[Record]) -> Result<(usize, u64), StoreError> {
        let sql = self.sql();
        let transaction = self.connection.transaction().map_err(&sql)?;
        let mut writer = Writer::new(&transaction, self.repair);
        let empty = View::default();
        let mut before = if self.repair { &empty } else { &self.saved };
        for (operation, view) in commit.steps {
            write_view(&mut writer, view, before).map_err(&sql)?;
            insert_operation(&transaction, operation).map_err(&sql)?;
            before = view;
        }
        let written = (writer.objects, writer.bytes);
        if let Some((last, _)) = commit.steps.last() {
            set_head(&transaction, last.id).map_err(&sql)?;
        }
        for record in records {
            insert_record(&transaction, record).map_err(&sql)?;
        }
        for stamp in commit.stamps {
            insert_stamp(&transaction, stamp).map_err(&sql)?;
        }
        transaction.commit().map_err(&sql)?;
        Ok(written)
    }
}

/// Writes what a view has and an earlier one has not.
fn write_view(writer: &mut Writer<'_>, view: &View, before: &View) -> rusqlite::Result<()> {
    let mut outcome = Ok(());
    view.files().new_branches(Some(before.files()), &mut |branch| {
        let mut write = || {
            for (file, document) in branch.files() {
                let known = before.document(file).is_some_and(|known| known.root() == document);
                if let Some(found) = view.document(file).filter(|_| !known) {
                    writer.text(document, &found.outline.text)?;
                }
            }
            writer.branch(branch)
        };
        if outcome.is_ok() {
            outcome = write();
        }
    });
    outcome
}

impl Store for DiskStore {
    fn load(&mut self, build: Build<'_>) -> Result<Loaded, StoreError> {
        let log = self.operations(LOADED_OPERATIONS)?;
        let mut problems = std::mem::take(&mut self.notices);
        problems.extend(broken_chain(&log));
        let stamps = query_stamps(&self.connection).map_err(self.sql())?;
        let modified: HashMap<&str, &Stamp> = stamps.iter().map(|stamp| (stamp.file.as_ref(), stamp)).collect();
        let dated = |file: &Arc<str>, text| {
            let built = build(file, text)?;
            let stamp = modified.get(file.as_ref()).filter(|stamp| stamp.document == built.root());
            let at = stamp.and_then(|stamp| jiff::Timestamp::from_nanosecond(stamp.modified.into()).ok());
            Ok(built.changed_at(at))
        };
        let before = problems.len();
        let view = match &self.head {
            None => View::default(),
            Some(head) => self.read_view(head.root, &dated, &mut problems)?,
        };
        // Everything that is known goes into the next commit, over what is damaged.
        self.repair = problems.len() > before;
        self.saved = view.clone();
        Ok(Loaded { view, log, stamps, problems })
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        if self.owned.is_none() {
            return Err(StoreError::ReadOnly { path: self.database() });
        }
        follows(self.head.as_ref(), commit.steps)?;
        let first_record = self.reach()?.record + 1;
        let records: Vec<Record> =
            commit.records.iter().zip(first_record..).map(|(record, seq)| numbered(record, seq)).collect();
        if let Some(record) = records.iter().find(|record| too_deep(&record.body)) {
            let why =
                format!("a record of kind {} is nested more than {MAX_NESTING} deep and was refused", record.kind);
            return Err(StoreError::Failed { path: self.database(), why });
        }
        let (objects, bytes) = self.write(commit, &records)?;
        // From here on it is stored; only the plain log may still fall behind.
        if let Some((last, view)) = commit.steps.last() {
            self.head = Some(last.clone());
            self.saved = view.clone();
            self.repair = false;
        }
        let warning = self.catch_up().err().map(|error| {
            format!("this change is saved, but the store's log could not be written ({error}); it is made good at the next save")
        });
        Ok(Committed { first_record, objects, bytes, warning })
    }

    fn view_at(&mut self, operation: OperationId, build: Build<'_>) -> Result<Option<View>, StoreError> {
        if operation == OperationId(0) {
            return Ok(Some(View::default()));
        }
        let root =
            self.connection.query_row("SELECT root FROM operations WHERE id = ?1", [signed(operation.0)], |row| {
                row.get::<_, [u8; 32]>(0)
            });
        let Some(root) = root.optional().map_err(self.sql())? else { return Ok(None) };
        let mut problems = Vec::new();
        let view = self.read_view(ObjectHash::new(root), build, &mut problems)?;
        match problems.as_slice() {
            [] => Ok(Some(view)),
            [first, ..] => {
                let why = format!("operation {} cannot be restored whole: {first}", operation.0);
                Err(StoreError::Failed { path: self.database(), why })
            }
        }
    }

    fn operations(&mut self, limit: usize) -> Result<Vec<Operation>, StoreError> {
        let last = self.reach()?.operation;
        let from = last.saturating_sub(limit as u64);
        query_operations(&self.connection, from, usize::MAX).map_err(self.sql())
    }

    fn latest(&mut self, kind: &str, key: &str) -> Result<Option<Record>, StoreError> {
        let sql = "SELECT seq, at, kind, key, body FROM records WHERE kind = ?1 AND key = ?2 ORDER BY seq DESC LIMIT 1";
        let mut statement = self.connection.prepare_cached(sql).map_err(self.sql())?;
        statement.query_row([kind, key], record_of).optional().map_err(self.sql())
    }

    fn list(&mut self, kind: &str, since: u64) -> Result<Vec<Record>, StoreError> {
        let sql = "SELECT seq, at, kind, key, body FROM records WHERE kind = ?1 AND seq > ?2 ORDER BY seq";
        let mut statement = self.connection.prepare_cached(sql).map_err(self.sql())?;
        let rows = statement.query_map(params![kind, signed(since)], record_of);
        rows.and_then(Iterator::collect).map_err(self.sql())
    }

    fn path(&self) -> Option<PathBuf> {
        Some(self.folder.clone())
    }
}

fn numbered(record: &NewRecord, seq: u64) -> Record {
    let NewRecord { at, kind, key, body } = record.clone();
    Record { seq, at, kind, key, body }
}

/// Returns whether a value could not be read back: serde_json's reader stops at 128.
fn too_deep(value: &serde_json::Value) -> bool {
    let mut waiting = vec![(value, 0)];
    while let Some((value, depth)) = waiting.pop() {
        if depth > MAX_NESTING {
            return true;
        }
        match value {
            serde_json::Value::Array(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            serde_json::Value::Object(fields) => waiting.extend(fields.values().map(|item| (item, depth + 1))),
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::String(_) => {}
        }
    }
    false
}

/// Returns where a stretch of the log does not hang together.
fn broken_chain(operations: &[Operation]) -> Option<String> {
    let pair = operations.windows(2).find(|pair| pair[1].parent != Some(pair[0].hash()))?;
    Some(format!(
        "the log of operations is broken between {} and {}: one of them was changed after it was written",
        pair[0].id.0, pair[1].id.0
    ))
}
