//! Writes a file whole: a temporary file beside it, synced, then renamed over it. No link is ever followed.
#![allow(unsafe_code)] // renameat2, linkat and unlinkat, which the standard library does not offer.

use crate::domain::gate::facts::Identity;
use crate::domain::org::decode::{Format, decode};
use crate::edge::survey::open::{self, open_at};
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Replaces the text of a file, which must still be `before` (`None`: must not exist), by `after`.
/// The encoding, the line ends and the mode of an existing file are kept. `place` is the folder that was judged, where
/// that is known.
///
/// # Errors
/// In words; the file is then as it was.
pub fn replace(path: &Path, before: Option<&str>, after: &str, place: Option<Identity>) -> Result<(), String> {
    let (folder, name) = path.parent().zip(path.file_name()).ok_or_else(|| "it is no file name".to_string())?;
    let folder = open::folder(folder).map_err(|error| format!("its folder cannot be opened: {error}"))?;
    let standing = folder.metadata().map_err(|error| error.to_string())?;
    if place.is_some_and(|place| (place.device, place.inode) != (standing.dev(), standing.ino())) {
        return Err("its folder is another one than when it was judged".to_string());
    }
    unlocked(path)?;
    let name = c_string(name)?;
    // Without O_NONBLOCK, opening a pipe that was put there would wait for ever.
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let (format, mode, found) = match (open_at(folder.as_raw_fd(), &name, flags, 0), before) {
        (Ok(mut file), Some(before)) => {
            let meta = file.metadata().map_err(|error| error.to_string())?;
            if !meta.is_file() {
                return Err("it is no regular file".to_string());
            }
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
            let decoded = decode(&bytes).map_err(|error| error.to_string())?;
            if &*decoded.text != before {
                return Err("it changed after it was judged".to_string());
            }
            use std::os::unix::fs::PermissionsExt;
            (decoded.format, meta.permissions().mode() & 0o777, Some(bytes))
        }
        (Ok(_), None) => return Err("it came into being after it was judged".to_string()),
        (Err(error), None) if error.kind() == std::io::ErrorKind::NotFound => (Format::default(), 0o644, None),
        (Err(error), _) => return Err(error.to_string()),
    };
    let bytes = format.encode(after).map_err(|error| error.to_string())?;
    let done = match found {
        None => write_new(&folder, &name, &bytes, mode),
        Some(found) => write_over(&folder, &name, &bytes, mode, &|now| holds(&folder, now, &found)),
    };
    match done {
        Err(error) if before.is_none() && error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err("it came into being after it was judged".to_string())
        }
        other => other.map_err(|error| error.to_string()),
    }
}

/// Writes by `write`, and reads back what was written.
///
/// # Errors
/// Why it was not written; or that the file does not say what was written: somebody wrote over it at once, or the disk
/// lost it.
pub(super) fn checked(path: &Path, after: &str, write: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    write()?;
    verify(path, after)
}

fn verify(path: &Path, after: &str) -> Result<(), String> {
    let mut bytes = Vec::new();
    let read = open::file(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|error| format!("it was written and could not be read back: {error}"))?;
    match decode(&bytes) {
        Ok(decoded) if *decoded.text == *after => Ok(()),
        Ok(_) | Err(_) => Err("it was written, and says something else by now; look at it".to_string()),
    }
}

/// Whether a file has these very bytes; of a larger one no more is read.
fn holds(folder: &File, name: &CString, bytes: &[u8]) -> bool {
    let mut found = Vec::new();
    let file = open_at(folder.as_raw_fd(), name, libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK, 0);
    let read = file.and_then(|file| file.take(bytes.len() as u64 + 1).read_to_end(&mut found));
    read.is_ok() && found == bytes
}

/// Refuses a file of which an Emacs that lives holds changes that are not saved: it keeps a lock beside it, also when
/// it does not answer, or is none of ours.
///
/// # Errors
/// When there is such a lock, in words.
pub(super) fn unlocked(path: &Path) -> Result<(), String> {
    let Some(name) = path.file_name() else { return Ok(()) };
    let mut lock = std::ffi::OsString::from(".#");
    lock.push(name);
    let Ok(owner) = std::fs::read_link(path.with_file_name(lock)) else { return Ok(()) };
    let owner = owner.to_string_lossy().into_owned();
    if gone(&owner) {
        return Ok(());
    }
    Err(format!("Emacs holds changes of it that are not saved ({owner}); save or revert them there first"))
}

/// Whether the owner of a lock, USER@HOST.PID:BOOT, was a process of this machine that has ended.
fn gone(owner: &str) -> bool {
    let (owner, booted) = owner.rsplit_once(':').map_or((owner, None), |(owner, booted)| (owner, Some(booted)));
    let Some((host, pid)) = owner.split_once('@').and_then(|(_, rest)| rest.rsplit_once('.')) else { return false };
    let here = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let known = pid.parse::<u32>().is_ok() && booted.is_none_or(|booted| booted.parse::<u64>().is_ok());
    known && host == here.trim() && Path::new("/proc/self").exists() && !Path::new("/proc").join(pid).exists()
}

/// Counts the temporary files of this process, so that two writes at once never share one.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// Returns a name in a folder that nothing else has.
fn temporary_name(name: &CString) -> std::io::Result<CString> {
    let tail = format!(".passepartout-{}-{}~", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
    let mut temporary = vec![b'.'];
    temporary.extend_from_slice(name.as_bytes().get(..200).unwrap_or(name.as_bytes()));
    temporary.extend_from_slice(tail.as_bytes());
    CString::new(temporary).map_err(|_| std::io::ErrorKind::InvalidInput.into())
}

/// Writes a temporary file, and lets `place` give it its name; when that fails, the file goes.
fn write_beside(
    folder: &File,
    name: &CString,
    bytes: &[u8],
    mode: u32,
    place: &dyn Fn(&File, &CString) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let temporary = temporary_name(name)?;
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    // What is there already is not ours: it is neither written nor removed.
    let mut file = open_at(folder.as_raw_fd(), &temporary, flags, 0o600)?;
    let written = (|| {
        use std::os::unix::fs::PermissionsExt;
        file.write_all(bytes)?;
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        place(&file, &temporary)
    })();
    if written.is_err() && is(folder, &temporary, &file) {
        unlink(folder, &temporary);
    }
    written.and_then(|()| folder.sync_all())
}

/// Whether a name stands for this very file.
fn is(folder: &File, name: &CString, file: &File) -> bool {
    let named = open_at(folder.as_raw_fd(), name, libc::O_PATH | libc::O_NOFOLLOW, 0);
    let both = named.and_then(|named| named.metadata()).ok().zip(file.metadata().ok());
    both.is_some_and(|(a, b)| (a.dev(), a.ino()) == (b.dev(), b.ino()))
}

/// Takes a temporary name away; one that is left over does no harm.
fn unlink(folder: &File, name: &CString) {
    // SAFETY: the name is NUL-terminated and lives over the call; the descriptor is open.
    unsafe { libc::unlinkat(folder.as_raw_fd(), name.as_ptr(), 0) };
}

/// Writes a file where nothing stands; it never replaces one that came meanwhile.
pub(super) fn write_new(folder: &File, name: &CString, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    write_beside(folder, name, bytes, mode, &|_, temporary| rename(folder.as_raw_fd(), temporary, name, true))
}

fn changed() -> std::io::Error {
    std::io::Error::other("it changed after it was judged")
}

/// Writes a file over another one, which must be what `same` says of it. Both change places in one step, and only
/// then it is looked at: what somebody saved in the last moment comes back.
pub(super) fn write_over(
    folder: &File,
    name: &CString,
    bytes: &[u8],
    mode: u32,
    same: &dyn Fn(&CString) -> bool,
) -> std::io::Result<()> {
    let fd = folder.as_raw_fd();
    write_beside(folder, name, bytes, mode, &|ours, temporary| {
        match rename_with(fd, temporary, name, libc::RENAME_EXCHANGE) {
            // A file system that cannot do it.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                return if same(name) { rename(fd, temporary, name, false) } else { Err(changed()) };
            }
            exchanged => exchanged?,
        }
        if same(temporary) {
            unlink(folder, temporary);
            return Ok(());
        }
        if is(folder, name, ours) {
            rename_with(fd, temporary, name, libc::RENAME_EXCHANGE)?;
        }
        Err(changed())
    })
}

/// Takes a file or a link away, which must be what `same` says of it; what somebody put there in the last moment
/// comes back.
pub(super) fn remove_same(folder: &File, name: &CString, same: &dyn Fn(&CString) -> bool) -> std::io::Result<()> {
    let (fd, aside) = (folder.as_raw_fd(), temporary_name(name)?);
    match rename_with(fd, name, &aside, libc::RENAME_NOREPLACE) {
        // A file system that cannot do it.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            if !same(name) {
                return Err(changed());
            }
            unlink(folder, name);
            return Ok(());
        }
        moved => moved?,
    }
    if same(&aside) {
        unlink(folder, &aside);
        return Ok(());
    }
    rename_with(fd, &aside, name, libc::RENAME_NOREPLACE)?;
    Err(changed())
}

fn rename_with(folder: RawFd, from: &CString, to: &CString, flags: libc::c_uint) -> std::io::Result<()> {
    // SAFETY: both names are NUL-terminated and live over the call; the descriptor is open.
    let done = unsafe { libc::syscall(libc::SYS_renameat2, folder, from.as_ptr(), folder, to.as_ptr(), flags) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Renames within a folder; with `new` it fails when the name is taken, in one step with the renaming.
fn rename(folder: RawFd, from: &CString, to: &CString, new: bool) -> std::io::Result<()> {
    let flags = if new { libc::RENAME_NOREPLACE } else { 0 };
    let Err(error) = rename_with(folder, from, to, flags) else { return Ok(()) };
    if !(new && error.raw_os_error() == Some(libc::EINVAL)) {
        return Err(error);
    }
    // A file system without the flag: a second name fails when it is taken, too, and then the first one goes.
    // SAFETY: as above.
    if unsafe { libc::linkat(folder, from.as_ptr(), folder, to.as_ptr(), 0) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: as above. The file stands under its name; a temporary name that is left over does no harm.
    unsafe { libc::unlinkat(folder, from.as_ptr(), 0) };
    Ok(())
}

pub(super) fn c_string(name: &OsStr) -> Result<CString, String> {
    CString::new(name.as_bytes()).map_err(|_| "its name holds a NUL".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().canonicalize().expect("it is there").join("a.txt");
        let write = |text: &'static str| {
            let file = file.clone();
            move || std::fs::write(file, text).map_err(|error| error.to_string())
        };
        assert_eq!(checked(&file, "three\n", write("three\n")), Ok(()));
        let lost = checked(&file, "three\n", write("thre\n"));
        assert_eq!(lost, Err("it was written, and says something else by now; look at it".to_string()));
        assert_eq!(
            checked(&file, "three\n", || Err("the disk is full".to_string())),
            Err("the disk is full".to_string())
        );
    }

    #[test]
    fn what_came_into_being_is_neither_replaced_nor_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("it is there");
        let file = folder.join("new.txt");
        std::fs::write(&file, "theirs").expect("it is written");
        let name = c_string(OsStr::new("new.txt")).expect("a name");
        let opened = open::folder(&folder).expect("it opens");
        let error = write_new(&opened, &name, b"ours", 0o644).expect_err("it is taken");
        assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "theirs");
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1, "nothing is left behind");
        let pipe = CString::new(folder.join("pipe").as_os_str().as_bytes()).expect("a name");
        // SAFETY: the name is NUL-terminated and lives over the call.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        let refused = replace(&folder.join("pipe"), Some(""), "ours", None);
        assert_eq!(refused, Err("it is no regular file".to_string()));
        let judged = open::identity(&opened.metadata().expect("a folder"));
        let elsewhere = Identity { inode: judged.inode + 1, ..judged };
        let refused = replace(&folder.join("a"), None, "ours", Some(elsewhere));
        assert_eq!(refused, Err("its folder is another one than when it was judged".to_string()));
        assert_eq!(replace(&folder.join("a"), None, "ours", Some(judged)), Ok(()));
    }

    #[test]
    fn what_is_saved_in_the_last_moment_stays() {
        let place = tempfile::tempdir().expect("a folder");
        let place = place.path().canonicalize().expect("it is there");
        let file = place.join("notes.org");
        let (opened, name) =
            (open::folder(&place).expect("it opens"), c_string(OsStr::new("notes.org")).expect("a name"));
        for saved in ["judged", "saved meanwhile"] {
            std::fs::write(&file, saved).expect("a file");
            let same = |now: &CString| holds(&opened, now, b"judged");
            let refused = write_over(&opened, &name, b"ours", 0o644, &same).map_err(|error| error.to_string());
            let expected = if saved == "judged" { Ok(()) } else { Err("it changed after it was judged".to_string()) };
            assert_eq!(refused, expected);
            let text = if saved == "judged" { "ours" } else { saved };
            assert_eq!(std::fs::read_to_string(&file).expect("it is there"), text);
            std::fs::write(&file, saved).expect("a file");
            assert_eq!(remove_same(&opened, &name, &same).map_err(|error| error.to_string()), expected);
            assert_eq!(file.exists(), saved != "judged");
            assert_eq!(std::fs::read_dir(&place).expect("a folder").count(), usize::from(file.exists()));
        }
    }

    #[test]
    fn a_file_of_which_an_emacs_holds_changes_is_not_written() {
        let place = tempfile::tempdir().expect("a folder");
        let place = place.path().canonicalize().expect("it is there");
        let (file, lock) = (place.join("notes.org"), place.join(".#notes.org"));
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim();
        let me = std::process::id();
        for (owner, held) in [
            (format!("user@{host}.{me}:1760000000"), true),
            (format!("user@{host}.{me}"), true),
            ("user@elsewhere.example.1:1760000000".to_string(), true),
            ("nobody knows".to_string(), true),
            // No process has a number as large.
            (format!("user@{host}.4294967295:1760000000"), false),
        ] {
            std::fs::write(&file, "old").expect("a file");
            std::os::unix::fs::symlink(&owner, &lock).expect("a lock");
            let written = replace(&file, Some("old"), "new", None);
            assert_eq!(written.is_err(), held, "{owner}: {written:?}");
            assert_eq!(std::fs::read_to_string(&file).expect("it is there"), if held { "old" } else { "new" });
            std::fs::remove_file(&lock).expect("it goes");
        }
    }
}
