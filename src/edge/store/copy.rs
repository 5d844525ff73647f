//! A copy of a store as it stands, taken while its owner may write: nothing is locked for longer than a read.

use rusqlite::{Connection, OpenFlags};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Copies database and log of a store to new files; returns whether there was anything to copy. The database comes
/// first: whatever it holds, the log then holds as well.
///
/// # Errors
/// In words, when it cannot be read or written.
pub fn copy_store(folder: &Path, database: &Path, log: &Path) -> Result<bool, String> {
    let (from_database, from_log) = (folder.join("memory.sqlite"), folder.join("memory.log"));
    let there = from_database.exists();
    if there {
        super::open::check_header(&from_database).map_err(|why| why.to_string())?;
        snapshot(&from_database, database).map_err(|why| format!("{}: {why}", from_database.display()))?;
    }
    let logged = from_log.exists();
    if logged {
        copy(&from_log, log).map_err(|why| format!("{}: {why}", from_log.display()))?;
    }
    Ok(there || logged)
}

/// Has SQLite write all of one moment into a new file.
fn snapshot(from: &Path, to: &Path) -> Result<(), String> {
    let open = |flags| Connection::open_with_flags(from, flags);
    // Where nothing can be written, SQLite cannot make the companions of a database that is read by several.
    let connection = open(OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(|why| why.to_string())?;
    connection.busy_timeout(std::time::Duration::from_secs(10)).map_err(|why| why.to_string())?;
    let name = to.to_str().ok_or("the name of the copy is not UTF-8")?;
    connection.execute("VACUUM INTO ?1", [name]).map_err(|why| why.to_string())?;
    fs::File::open(to).and_then(|copy| copy.sync_all()).map_err(|why| why.to_string())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut fs::File::open(from)?, &mut copy)?;
    copy.sync_all()
}
