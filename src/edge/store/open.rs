//! Opening a database: whose it is, which format, its folder, its tables, and what to say when it cannot be.

use crate::domain::memory::store::StoreError;
use crate::edge::store::rows::CHANGE_INDEXES;
use crate::edge::store::touched;
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The format that this version writes.
pub const FORMAT: u32 = 1;
/// Marks the file as ours (`PpMm`).
const APPLICATION: i32 = 0x5070_4d6d;
/// Objects have row numbers: without them SQLite compares a hash with whole pieces on the way down, and reads each.
/// Stores that were made so are read and written by the same statements.
const SCHEMA: &str = "
CREATE TABLE objects(hash BLOB PRIMARY KEY, kind INTEGER NOT NULL, bytes BLOB NOT NULL);
CREATE TABLE texts(document BLOB PRIMARY KEY, manifest BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE operations(id INTEGER PRIMARY KEY, hash BLOB NOT NULL, parent BLOB, root BLOB NOT NULL,
  cause TEXT NOT NULL, origin TEXT NOT NULL, at TEXT NOT NULL, note TEXT NOT NULL);
CREATE TABLE heads(name TEXT PRIMARY KEY, operation INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE records(seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX records_by_key ON records(kind, key, seq);
CREATE TABLE stamps(file TEXT PRIMARY KEY, modified INTEGER NOT NULL, size INTEGER NOT NULL, document BLOB NOT NULL,
  settled INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER operations_stay BEFORE DELETE ON operations BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER operations_hold BEFORE UPDATE ON operations BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER records_stay BEFORE DELETE ON records BEGIN SELECT RAISE(ABORT, 'records only grow'); END;
CREATE TRIGGER records_hold BEFORE UPDATE ON records BEGIN SELECT RAISE(ABORT, 'records only grow'); END;
";

/// What was added since the format was made, and changes nothing that is stored.
const INDEXES: &str = "CREATE INDEX IF NOT EXISTS records_by_kind ON records(kind, seq);
CREATE TABLE IF NOT EXISTS cards(file TEXT PRIMARY KEY, document BLOB NOT NULL, shape BLOB NOT NULL, card BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS shapes(name BLOB PRIMARY KEY, shape TEXT NOT NULL) WITHOUT ROWID;";

/// The databases that this process owns, as the system tells files apart.
static OWNED: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

/// Says that this process owns a database, as long as this lives.
///
/// Closing any descriptor of a file takes away all locks that the process has on it, those of SQLite too; another
/// program that looks into the database would then think that it is the last one, and remove the companion that we
/// write to. So nobody here opens a database by hand that is owned here.
pub struct Held((u64, u64));

impl Held {
    /// Notes a database; it must be there.
    pub fn of(database: &Path) -> std::io::Result<Held> {
        let meta = fs::metadata(database)?;
        let which = (meta.dev(), meta.ino());
        OWNED.lock().insert(which);
        Ok(Held(which))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        OWNED.lock().remove(&self.0);
    }
}

/// Refuses what is not ours or is newer, by reading the file's head: nothing is touched, not even the lock.
pub fn check_header(database: &Path) -> Result<(), StoreError> {
    let mut header = Vec::new();
    let held = |meta: fs::Metadata| OWNED.lock().contains(&(meta.dev(), meta.ino()));
    if fs::metadata(database).is_ok_and(held) {
        // It was looked at when it was opened here.
        return Ok(());
    }
    match fs::File::open(database) {
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(why) => return Err(cannot_open(database, why)),
        Ok(file) => file.take(100).read_to_end(&mut header).map_err(|why| cannot_open(database, why))?,
    };
    // An empty file is one that was made a moment before a crash.
    if header.is_empty() {
        return Ok(());
    }
    let number = |at: usize| {
        let bytes = header.get(at..).and_then(|bytes| bytes.first_chunk::<4>());
        bytes.map(|bytes| u32::from_be_bytes(*bytes)).unwrap_or(0)
    };
    // Of a head that was cut short SQLite says what is wrong with it.
    let ours = header.starts_with(b"SQLite format 3\0") && (header.len() < 100 || number(68) as i32 == APPLICATION);
    if !ours {
        let why = "it is not a database of Passepartout".to_string();
        let cure = "move the file away (the store's log rebuilds it), or choose another store";
        return Err(StoreError::Open { path: database.to_path_buf(), why, cure });
    }
    match number(60) {
        found if found > FORMAT => Err(StoreError::Newer { path: database.to_path_buf(), found, known: FORMAT }),
        _ => Ok(()),
    }
}

/// Makes the folder, private to the user. A folder that holds other things keeps its mode; the files are private anyway.
pub fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let failed = |why| cannot_open(folder, why);
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => {
            return folder.parent().map_or(Ok(()), sync_folder).map_err(failed);
        }
        Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(why) => return Err(failed(why)),
    }
    let mode = fs::metadata(folder).map_err(failed)?.mode();
    let ours = folder.join("memory.sqlite").exists() || fs::read_dir(folder).map_err(failed)?.next().is_none();
    if ours && mode & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

/// Waits until the names in a folder are on the disk.
pub fn sync_folder(folder: &Path) -> std::io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    fs::File::open(folder)?.sync_all()
}

/// Makes the tables of a new database, and sets what every connection needs.
pub fn set_up(connection: &mut Connection, database: &Path) -> Result<(), StoreError> {
    let failed = |error| opening(database, error);
    connection.busy_timeout(Duration::from_secs(5)).map_err(failed)?;
    let found: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
    if found > FORMAT {
        return Err(StoreError::Newer { path: database.to_path_buf(), found, known: FORMAT });
    }
    if found == 0 {
        // Before the switch to WAL, so that the version stands in the file's own head.
        let transaction = connection.transaction().map_err(failed)?;
        transaction.execute_batch(SCHEMA).map_err(failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
        transaction.pragma_update(None, "user_version", FORMAT).map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0)).map_err(failed)?;
    if mode != "wal" {
        let why = format!("its journal cannot be set to WAL (it is {mode})");
        let cure = "put the store on a local file system";
        return Err(StoreError::Open { path: database.to_path_buf(), why, cure });
    }
    for (name, value) in [("synchronous", "FULL"), ("trusted_schema", "OFF"), ("cell_size_check", "ON")] {
        connection.pragma_update(None, name, value).map_err(failed)?;
    }
    // Stores of before get them here. They are derived: an older version of the program need not know them.
    connection.execute_batch(INDEXES).map_err(failed)?;
    connection.execute_batch(CHANGE_INDEXES).map_err(failed)?;
    connection.execute_batch(touched::TABLE).map_err(failed)?;
    // The companion file shrinks again after a large commit, to 16 MB.
    connection.pragma_update(None, "journal_size_limit", 16 << 20).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

/// Connects to a database that another process may own, and holds on to what it is now.
pub fn connect_to_read(database: &Path) -> Result<Connection, StoreError> {
    check_header(database)?;
    let none_yet = || StoreError::Unmade { path: database.to_path_buf() };
    if !database.exists() {
        return Err(none_yet());
    }
    let (connection, found) = match look(database, "ro") {
        // Nobody writes where nothing can be written, and SQLite needs its companion files otherwise.
        Err(error)
            if matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
                && !companion(database).exists() =>
        {
            look(database, "immutable")
        }
        other => other,
    }
    .map_err(|error| opening(database, error))?;
    match found {
        0 => Err(none_yet()),
        found if found > FORMAT => Err(StoreError::Newer { path: database.to_path_buf(), found, known: FORMAT }),
        _ => Ok(connection),
    }
}

/// Connects to a database to read what never changes in it, whatever is written meanwhile: it holds on to nothing.
pub fn connect_to_texts(database: &Path) -> Result<Connection, StoreError> {
    let tried = |how| {
        let connection = only_reading(database, how)?;
        connection.prepare("SELECT 1 FROM texts LIMIT 1")?.exists([])?;
        Ok(connection)
    };
    // As above: where nothing can be written, nobody writes.
    let found = tried("ro").or_else(|error: rusqlite::Error| match companion(database).exists() {
        true => Err(error),
        false => tried("immutable"),
    });
    found.map_err(|error| opening(database, error))
}

/// Opens a transaction that only reads; returns the format that it sees.
fn look(database: &Path, how: &str) -> rusqlite::Result<(Connection, u32)> {
    let connection = only_reading(database, how)?;
    // The first look takes the snapshot, and everything after it sees the same.
    connection.execute_batch("BEGIN")?;
    let found = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok((connection, found))
}

fn only_reading(database: &Path, how: &str) -> rusqlite::Result<Connection> {
    let connection = match how {
        "immutable" => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(format!("file:{}?immutable=1", escaped(database)), flags)?
        }
        _ => Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
    };
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(32);
    for (name, value) in [("trusted_schema", "OFF"), ("cell_size_check", "ON")] {
        connection.pragma_update(None, name, value)?;
    }
    Ok(connection)
}

/// Returns the file in which SQLite keeps what is not in the database yet.
fn companion(database: &Path) -> PathBuf {
    PathBuf::from(format!("{}-wal", database.display()))
}

/// Writes a path as the part of a URI that it stands for.
fn escaped(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    bytes
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => char::from(*byte).to_string(),
            other => format!("%{other:02x}"),
        })
        .collect()
}

/// Says why the system would not open a path, and the way out.
pub fn cannot_open(path: &Path, why: std::io::Error) -> StoreError {
    let cure = match why.kind() {
        std::io::ErrorKind::PermissionDenied => "give yourself the right to read and write it, or choose another store",
        std::io::ErrorKind::ReadOnlyFilesystem => "the disk is read-only: choose a store on another one",
        std::io::ErrorKind::NotADirectory => "a file stands where a folder is needed: choose another store",
        std::io::ErrorKind::StorageFull => "the disk is full: make room",
        _ => "see that the folder exists and is writable, or choose another store",
    };
    StoreError::Open { path: path.to_path_buf(), why: why.to_string(), cure }
}

/// Says why SQLite would not open a database, and the way out.
pub fn opening(path: &Path, error: rusqlite::Error) -> StoreError {
    let cure = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            return StoreError::Damaged { path: path.to_path_buf(), why: error.to_string() };
        }
        Some(ErrorCode::DiskFull) => "the disk is full: make room",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another program is using it: end that one first",
        _ => "see that the folder is yours and writable, or choose another store",
    };
    StoreError::Open { path: path.to_path_buf(), why: error.to_string(), cure }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_nobody_can_write_is_read_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let odd = folder.path().join("a b#c?d%e&ä");
        fs::create_dir(&odd).expect("a folder");
        let database = odd.join("memory.sqlite");
        let mut connection = Connection::open(&database).expect("a database");
        set_up(&mut connection, &database).expect("its tables");
        drop(connection);
        let (_held, found) = look(&database, "immutable").expect("it can be read");
        assert_eq!(found, FORMAT);
        let names: Vec<_> = fs::read_dir(&odd).expect("the folder").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["memory.sqlite"], "no companions are made");
    }
}
