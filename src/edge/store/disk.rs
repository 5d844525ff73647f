//! The store in SQLite: one transaction a commit, a plain log beside it, every object checked when read.
//!
//! The database is the truth and the plain log follows it: what the log lacks is added at the next
//! start, and what the database lost comes back from the log.

use crate::domain::id::{ObjectHash, OperationId};
use crate::domain::memory::card::Card;
use crate::domain::memory::operation::Operation;
use crate::domain::memory::shape::Shape;
use crate::domain::memory::store::{
    Build, Commit, Committed, Content, Differing, Loaded, Record, Stamp, Store, StoreError, follows,
};
use crate::domain::memory::view::View;
use crate::edge::store::cards::{Files, Going, insert_card};
use crate::edge::store::compact::let_go;
use crate::edge::store::journal::{Journal, Reach};
use crate::edge::store::lock::{Lock, owner_of};
use crate::edge::store::objects;
use crate::edge::store::open::{Held, cannot_open, check_header, connect_to_read, make_folder, opening, set_up};
use crate::edge::store::recover::{broken_chain, put_aside, which};
use crate::edge::store::rows::{
    MAX_NESTING, OPERATION, insert_operation, insert_record, insert_stamp, numbered, operation_of,
    query_changes_of_turn, query_changes_since, query_kind, query_latest, query_latest_each, query_newest,
    query_newest_before, query_newest_of, query_operations, query_stamps, set_head, signed, too_deep, unsigned,
};
use crate::edge::store::snapshot::write_view;
use crate::edge::store::texts::SavedTexts;
use crate::edge::store::touched::{note_step, touching};
use crate::edge::store::witness::Witness;
use crate::edge::store::writer::Writer;
use crate::edge::thread::each;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};
use std::collections::{BTreeSet, HashMap};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a store that is in use is tried again.
///
/// The system has no waiting for a lock of a file that ends after a time, and SQLite waits for its own locks only.
const RETRY: Duration = Duration::from_millis(20);
/// How many of the last operations are loaded at start.
pub const LOADED_OPERATIONS: usize = 1000;

/// A store on disk, owned by this process, or opened to be read.
pub struct DiskStore {
    pub(super) folder: PathBuf,
    pub(super) connection: Connection,
    /// `None` when it was opened to be read.
    pub(super) owned: Option<Owned>,
    /// The view of the stored head as it was last loaded or saved: what it shares is not written again.
    pub(super) saved: View,
    pub(super) head: Option<Operation>,
    /// How cards are made, once memory was loaded by them.
    pub(super) shape: Option<Shape>,
    /// Damage was found: the next commit writes everything it has.
    pub(super) repair: bool,
    /// What opening it brought to light, for people.
    pub(super) notices: Vec<String>,
    /// Which file the database is, to notice that it was taken away.
    pub(super) file: Option<(u64, u64)>,
    /// The head as it is noted outside the store.
    pub(super) witness: Option<Witness>,
    /// The folder of heads, once one is used.
    pub(super) heads: Option<PathBuf>,
    /// Where views read texts; it is connected to the database, too.
    pub(super) texts: Option<Arc<SavedTexts>>,
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        self.forget_lost();
        if let Some(texts) = &self.texts {
            texts.close();
        }
    }
}

/// What a commit wrote.
struct Written {
    objects: usize,
    bytes: u64,
    /// Files whose texts are stored now, for each step.
    texts: Vec<Vec<Arc<str>>>,
}

pub(super) struct Owned {
    pub(super) journal: Journal,
    /// It outlives the database that is put back.
    pub(super) lock: Arc<Lock>,
    /// SQLite's own number for what others have written, as it was when the database was opened.
    pub(super) others: i64,
    _held: Held,
}

/// Returns a number that changes whenever another connection has written, <https://sqlite.org/pragma.html#pragma_data_version>.
pub(super) fn written_by_others(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0))
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
        let mut store = DiskStore::under(folder, Arc::new(lock))?;
        if let Some(pid) = left {
            let text = format!("process {pid} ended without closing the store; it was taken over");
            store.notices.insert(0, text);
        }
        Ok(store)
    }

    /// Opens or makes the store in a folder whose lock is held.
    pub(super) fn under(folder: &Path, lock: Arc<Lock>) -> Result<DiskStore, StoreError> {
        let database = folder.join("memory.sqlite");
        let aside = put_aside(folder).map_err(|why| cannot_open(&database, why))?;
        // Made by us before SQLite sees it, because its companions take over its mode.
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&database);
        drop(file.map_err(|why| cannot_open(&database, why))?);
        let held = Held::of(&database).map_err(|why| cannot_open(&database, why))?;
        let mut connection = Connection::open_with_flags(&database, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .map_err(|error| opening(&database, error))?;
        set_up(&mut connection, &database)?;
        let others = written_by_others(&connection).map_err(|error| opening(&database, error))?;
        let path = folder.join("memory.log");
        let (journal, torn) = Journal::open(&path).map_err(|why| cannot_open(&path, why))?;
        let mut store = DiskStore {
            folder: folder.to_path_buf(),
            connection,
            owned: Some(Owned { journal, lock, others, _held: held }),
            saved: View::default(),
            head: None,
            shape: None,
            repair: false,
            notices: Vec::new(),
            file: which(&database),
            witness: None,
            heads: None,
            texts: None,
        };
        if let Some(torn) = torn {
            let torn = torn.display();
            store.notices.push(format!("the store's log had a damaged end; it was kept as {torn} and made good"));
        }
        store.reconcile()?;
        store.mend_log()?;
        store.finish_mending(aside)?;
        store.head = store.read_head()?;
        Ok(store)
    }

    /// Opens a store as [`DiskStore::open`] does, and waits a moment for an owner that is about to end.
    ///
    /// A command that runs for a second must not cost Emacs its store.
    ///
    /// # Errors
    /// As [`DiskStore::open`].
    pub fn open_patiently(folder: &Path, patience: Duration) -> Result<DiskStore, StoreError> {
        let begun = Instant::now();
        loop {
            match DiskStore::open(folder) {
                Err(StoreError::Locked { .. }) if begun.elapsed() < patience => std::thread::sleep(RETRY),
                other => return other,
            }
        }
    }

    /// Opens a store to be read while another process may own it: as it stands now, whatever is written meanwhile.
    ///
    /// # Errors
    /// As [`DiskStore::open`], and when there is no store yet.
    pub fn open_to_read(folder: &Path) -> Result<DiskStore, StoreError> {
        let connection = connect_to_read(&folder.join("memory.sqlite"))?;
        let mut store = DiskStore {
            folder: folder.to_path_buf(),
            connection,
            owned: None,
            saved: View::default(),
            head: None,
            shape: None,
            repair: false,
            notices: Vec::new(),
            file: None,
            witness: None,
            heads: None,
            texts: None,
        };
        store.head = store.read_head()?;
        Ok(store)
    }

    /// Opens a store to be read as [`DiskStore::open_to_read`] does, and waits while its owner is making it.
    ///
    /// # Errors
    /// As [`DiskStore::open_to_read`].
    pub fn open_beside(folder: &Path, patience: Duration) -> Result<DiskStore, StoreError> {
        let begun = Instant::now();
        loop {
            let owned = owner_of(folder).is_some();
            match DiskStore::open_to_read(folder) {
                Err(StoreError::Unmade { .. }) if owned && begun.elapsed() < patience => std::thread::sleep(RETRY),
                other => return other,
            }
        }
    }

    /// Returns what opening it brought to light, for people.
    pub fn notices(&self) -> &[String] {
        &self.notices
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
    pub(super) fn sql(&self) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
        let path = self.database();
        move |error| match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full { path: path.clone() },
            Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path: path.clone() },
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                StoreError::Damaged { path: path.clone(), why: error.to_string() }
            }
            _ => StoreError::Failed { path: path.clone(), why: error.to_string() },
        }
    }

    pub(super) fn reach(&self) -> Result<Reach, StoreError> {
        let sql = "SELECT (SELECT coalesce(max(id), 0) FROM operations), (SELECT coalesce(max(seq), 0) FROM records)";
        let reach = self
            .connection
            .query_row(sql, [], |row| Ok(Reach { operation: unsigned(row.get(0)?), record: unsigned(row.get(1)?) }));
        reach.map_err(self.sql())
    }

    pub(super) fn read_head(&self) -> Result<Option<Operation>, StoreError> {
        let sql = format!(
            "SELECT {OPERATION} FROM operations WHERE id = (SELECT operation FROM heads WHERE name = 'memory')"
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(self.sql())?;
        statement.query_row([], operation_of).optional().map_err(self.sql())
    }

    /// Takes out what stands for texts that could not be read: then the next start reads their files again.
    fn forget_lost(&mut self) {
        let lost = self.texts.as_ref().map(|texts| texts.take_lost()).unwrap_or_default();
        if self.owned.is_none() || lost.is_empty() {
            return;
        }
        let forget = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            objects::forget(&transaction, &lost)?;
            transaction.commit()
        };
        // They are derived. Where they cannot be taken out now, whoever wants the text is told again.
        let _ = forget(&mut self.connection);
    }

    fn write(&mut self, commit: &Commit<'_>, records: &[Record]) -> Result<Written, StoreError> {
        let sql = self.sql();
        let transaction = self.connection.transaction().map_err(&sql)?;
        let mut writer = Writer::new(&transaction, self.repair);
        let empty = View::default();
        let mut before = if self.repair { &empty } else { &self.saved };
        let mut parent = self.head.as_ref().map(|head| head.root);
        let mut texts = Vec::new();
        for (operation, view) in commit.steps {
            texts.push(write_view(&mut writer, view, before).map_err(&sql)?);
            insert_operation(&transaction, operation).map_err(&sql)?;
            note_step(&transaction, operation, (parent, before), view).map_err(&sql)?;
            (before, parent) = (view, Some(operation.root));
        }
        if let (Some(shape), Some((_, view))) = (&self.shape, commit.steps.last()) {
            let (name, files) = (shape.name(), texts.iter().flatten().collect::<BTreeSet<_>>());
            let cards: Vec<_> = files.into_iter().filter_map(|file| view.card(file)).collect();
            for (card, bytes) in cards.iter().zip(each(&cards, |card| card.encode())) {
                insert_card(&transaction, name, card, &bytes).map_err(&sql)?;
            }
        }
        let written = Written { objects: writer.objects, bytes: writer.bytes, texts };
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

    fn reshape(&mut self, shape: &Shape) {
        self.reshaped(shape);
    }

    fn keep_cards(&mut self, shape: &Shape, cards: &[Arc<Card>], last: bool) -> Result<(), StoreError> {
        match self.owned {
            Some(_) => self.keep_reshaped(shape, cards, last),
            None => Ok(()),
        }
    }

    fn load_cards(&mut self, shape: &Shape, going: Going<'_>) -> Result<Loaded, StoreError> {
        let log = self.operations(LOADED_OPERATIONS)?;
        let mut problems = std::mem::take(&mut self.notices);
        problems.extend(broken_chain(&log));
        let stamps = query_stamps(&self.connection).map_err(self.sql())?;
        let before = problems.len();
        let files = match &self.head {
            None => Files::new(),
            Some(head) => self.files_at(head.root, &mut problems)?,
        };
        let view = self.view_of_cards(&files, &stamps, shape, going, &mut problems)?;
        // As in `load`.
        self.repair = problems.len() > before;
        self.saved = view.clone();
        self.shape = Some(shape.clone());
        Ok(Loaded { view, log, stamps, problems })
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        if self.owned.is_none() {
            return Err(StoreError::ReadOnly { path: self.database() });
        }
        self.still_there()?;
        follows(self.head.as_ref(), commit.steps)?;
        self.forget_lost();
        let first_record = self.reach()?.record + 1;
        let records: Vec<Record> =
            commit.records.iter().zip(first_record..).map(|(record, seq)| numbered(record, seq)).collect();
        if let Some(record) = records.iter().find(|record| too_deep(&record.body)) {
            let why =
                format!("a record of kind {} is nested more than {MAX_NESTING} deep and was refused", record.kind);
            return Err(StoreError::Failed { path: self.database(), why });
        }
        let Written { objects, bytes, texts } = self.write(commit, &records)?;
        // From here on it is stored; only the plain log may still fall behind.
        for ((_, view), files) in commit.steps.iter().zip(&texts) {
            view.settle(files.iter().map(|file| file.as_ref()));
        }
        if let Some((last, view)) = commit.steps.last() {
            self.head = Some(last.clone());
            self.saved = view.clone();
            self.repair = false;
        }
        let warning = self.keep_outside(&records);
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
                if let Some(text) = let_go(&self.connection, operation.0).map_err(self.sql())? {
                    return Err(StoreError::LetGo(text));
                }
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

    fn operation(&mut self, id: OperationId) -> Result<Option<Operation>, StoreError> {
        let found = query_operations(&self.connection, id.0.saturating_sub(1), 1).map_err(self.sql())?;
        Ok(found.into_iter().find(|operation| operation.id == id))
    }

    fn latest(&mut self, kind: &str, key: &str) -> Result<Option<Record>, StoreError> {
        query_latest(&self.connection, kind, key).map_err(self.sql())
    }

    fn list(&mut self, kind: &str, since: u64) -> Result<Vec<Record>, StoreError> {
        query_kind(&self.connection, kind, since).map_err(self.sql())
    }

    fn newest(&mut self, kind: &str, limit: usize) -> Result<Vec<Record>, StoreError> {
        query_newest(&self.connection, kind, limit).map_err(self.sql())
    }

    fn newest_of(&mut self, kind: &str, key: &str, limit: usize) -> Result<Vec<Record>, StoreError> {
        query_newest_of(&self.connection, kind, key, limit).map_err(self.sql())
    }

    fn newest_before(&mut self, kind: &str, before: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        query_newest_before(&self.connection, kind, before, limit).map_err(self.sql())
    }

    fn changes_of_turn(&mut self, turn: &str) -> Result<Vec<Record>, StoreError> {
        query_changes_of_turn(&self.connection, turn).map_err(self.sql())
    }

    fn changes_since(&mut self, operation: OperationId) -> Result<Vec<Record>, StoreError> {
        query_changes_since(&self.connection, operation).map_err(self.sql())
    }

    fn latest_each(&mut self, kind: &str) -> Result<Vec<Record>, StoreError> {
        query_latest_each(&self.connection, kind).map_err(self.sql())
    }

    fn keep(&mut self, contents: &[Content]) -> Result<(), StoreError> {
        match self.owned {
            None if !contents.is_empty() => Err(StoreError::ReadOnly { path: self.database() }),
            _ => {
                self.still_there()?;
                self.keep_contents(contents)
            }
        }
    }

    fn content(&mut self, name: ObjectHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.kept_content(name)
    }

    fn text(&mut self, document: ObjectHash) -> Result<Option<Arc<str>>, StoreError> {
        self.kept_text(document)
    }

    fn differing(&mut self, before: OperationId, after: OperationId) -> Result<Vec<Differing>, StoreError> {
        self.differing_files(before, after)
    }

    fn versions(
        &mut self,
        file: &str,
        after: OperationId,
        until: OperationId,
    ) -> Result<Vec<(OperationId, Option<ObjectHash>)>, StoreError> {
        self.file_versions(file, after, until)
    }

    fn stay(&mut self) -> Result<(), StoreError> {
        self.still_there()
    }

    fn let_go(&mut self, operation: OperationId) -> Result<Option<String>, StoreError> {
        let_go(&self.connection, operation.0).map_err(self.sql())
    }

    fn touching(&mut self, file: &str, until: OperationId, most: usize) -> Result<Vec<OperationId>, StoreError> {
        touching(&self.connection, file, until, most).map_err(self.sql())
    }

    fn path(&self) -> Option<PathBuf> {
        Some(self.folder.clone())
    }
}
