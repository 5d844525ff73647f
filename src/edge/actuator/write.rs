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
    let name = c_string(name)?;
    // Without O_NONBLOCK, opening a pipe that was put there would wait for ever.
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let (format, mode) = match (open_at(folder.as_raw_fd(), &name, flags, 0), before) {
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
            (decoded.format, meta.permissions().mode() & 0o777)
        }
        (Ok(_), None) => return Err("it came into being after it was judged".to_string()),
        (Err(error), None) if error.kind() == std::io::ErrorKind::NotFound => (Format::default(), 0o644),
        (Err(error), _) => return Err(error.to_string()),
    };
    let bytes = format.encode(after).map_err(|error| error.to_string())?;
    match write_beside(&folder, &name, &bytes, mode, before.is_none()) {
        Err(error) if before.is_none() && error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err("it came into being after it was judged".to_string())
        }
        other => other.map_err(|error| error.to_string()),
    }
}

/// Counts the temporary files of this process, so that two writes at once never share one.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// Writes a temporary file and renames it to its name; a `new` file never replaces one that is there.
pub(super) fn write_beside(folder: &File, name: &CString, bytes: &[u8], mode: u32, new: bool) -> std::io::Result<()> {
    let tail = format!(".passepartout-{}-{}~", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
    let mut temporary = vec![b'.'];
    temporary.extend_from_slice(name.as_bytes().get(..200).unwrap_or(name.as_bytes()));
    temporary.extend_from_slice(tail.as_bytes());
    let temporary = CString::new(temporary).map_err(|_| std::io::ErrorKind::InvalidInput)?;
    let fd = folder.as_raw_fd();
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    // What is there already is not ours: it is neither written nor removed.
    let mut file = open_at(fd, &temporary, flags, 0o600)?;
    let written = (|| {
        use std::os::unix::fs::PermissionsExt;
        file.write_all(bytes)?;
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        rename(fd, &temporary, name, new)
    })();
    if written.is_err() {
        // SAFETY: the name is NUL-terminated and lives over the call; the descriptor is open. The file is ours.
        unsafe { libc::unlinkat(fd, temporary.as_ptr(), 0) };
        return written;
    }
    folder.sync_all()
}

/// Renames within a folder; with `new` it fails when the name is taken, in one step with the renaming.
fn rename(folder: RawFd, from: &CString, to: &CString, new: bool) -> std::io::Result<()> {
    let flags = if new { libc::RENAME_NOREPLACE } else { 0 };
    // SAFETY: both names are NUL-terminated and live over the call; the descriptor is open.
    let done = unsafe { libc::syscall(libc::SYS_renameat2, folder, from.as_ptr(), folder, to.as_ptr(), flags) };
    if done == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
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
    fn what_came_into_being_is_neither_replaced_nor_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("it is there");
        let file = folder.join("new.txt");
        std::fs::write(&file, "theirs").expect("it is written");
        let name = c_string(OsStr::new("new.txt")).expect("a name");
        let opened = open::folder(&folder).expect("it opens");
        let error = write_beside(&opened, &name, b"ours", 0o644, true).expect_err("it is taken");
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
}
