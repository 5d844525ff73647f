//! One process owns a store: an advisory lock that ends with its process, with the owner's id and its socket.

use crate::domain::memory::store::StoreError;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The lock, held as long as this lives.
pub struct Lock(File);

impl Lock {
    /// Takes a store's lock; returns also who held it last and did not close the store, if anyone.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when a living process holds it.
    pub fn take(folder: &Path) -> Result<(Lock, Option<String>), StoreError> {
        let path = folder.join("lock");
        let failed = |why: std::io::Error| StoreError::Open {
            path: path.clone(),
            why: why.to_string(),
            cure: "make the folder writable, or choose another store",
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked { path: folder.to_path_buf(), owner: named(&owner(&mut file)) });
            }
            Err(TryLockError::Error(why)) => return Err(failed(why)),
        }
        let before = owner(&mut file);
        // The text is for people, and a full disk has no room for it; who holds the lock is what counts.
        let _ = file.set_len(0);
        let _ = std::io::Seek::rewind(&mut file).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok((Lock(file), Some(before).filter(|pid| !pid.is_empty())))
    }
}

impl Lock {
    /// Returns whether it is still the lock of a store, and nobody took its file away.
    pub fn is_of(&self, folder: &Path) -> bool {
        let which = |meta: std::io::Result<Metadata>| meta.ok().map(|meta| (meta.dev(), meta.ino()));
        let here = which(std::fs::metadata(folder.join("lock")));
        here.is_some() && here == which(self.0.metadata())
    }
}

/// Returns who owns a store now, in words; `None` when nobody does.
pub fn owner_of(folder: &Path) -> Option<String> {
    let mut file = File::open(folder.join("lock")).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(named(&owner(&mut file))),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// Returns whether the lock that lies in a store's folder is held by this process.
pub fn owned_here(folder: &Path) -> bool {
    let Ok(mut file) = File::open(folder.join("lock")) else { return false };
    let held = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    held && owner(&mut file) == std::process::id().to_string()
}

/// Writes into the lock of a store that this process owns where it listens for others.
///
/// # Errors
/// When the lock's file cannot be written.
pub fn announce(folder: &Path, socket: &Path) -> std::io::Result<()> {
    let mut text = format!("{}\n", std::process::id()).into_bytes();
    text.extend_from_slice(socket.as_os_str().as_encoded_bytes());
    text.push(b'\n');
    let mut file = OpenOptions::new().write(true).truncate(true).open(folder.join("lock"))?;
    file.write_all(&text)
}

/// Returns where the owner of a store listens, as its lock says.
pub fn socket_of(folder: &Path) -> Option<PathBuf> {
    let mut text = Vec::new();
    File::open(folder.join("lock")).ok()?.take(MOST).read_to_end(&mut text).ok()?;
    let path = text.split(|byte| *byte == b'\n').nth(1).filter(|path| !path.is_empty())?;
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(path));
    path.is_absolute().then_some(path)
}

/// Names a process for people, with its program where the system tells it.
fn named(pid: &str) -> String {
    let program = pid.parse::<u32>().ok().and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).ok());
    let program = program.map(|name| name.trim().chars().filter(|c| !c.is_control()).collect::<String>());
    match (pid, program) {
        ("", _) => "another process".to_string(),
        (pid, Some(name)) if !name.is_empty() => format!("process {pid} ({name})"),
        (pid, _) => format!("process {pid}"),
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // An emptied file says that the store was closed; if it cannot be emptied, the next owner is told.
        let _ = self.0.set_len(0);
        // Closing alone would leave it held for as long as a process that was forked meanwhile has a copy.
        let _ = self.0.unlock();
    }
}

/// At most so many bytes of a lock are read: a number, and the path of a socket.
const MOST: u64 = 4096;

fn owner(file: &mut File) -> String {
    let mut text = Vec::new();
    // An unreadable owner is still an owner.
    let _ = Read::by_ref(file).take(MOST).read_to_end(&mut text);
    let text = String::from_utf8_lossy(text.split(|byte| *byte == b'\n').next().unwrap_or(&[])).into_owned();
    let text = text.trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.to_string() } else { String::new() }
}
