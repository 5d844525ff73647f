//! Opens a file or a folder by its canonical name and follows no link: what is opened is what was judged.
//!
//! A canonical name has no link in it; one that is met on the way was put there since.
#![allow(unsafe_code)] // openat2 and openat, which the standard library does not offer.

use crate::domain::gate::facts::Identity;
use std::ffi::CString;
use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

/// Opens a file for reading; a pipe is opened as well, without waiting for who writes to it.
///
/// # Errors
/// When any part of the path is a link or is not there, or the file may not be read.
pub fn file(path: &Path) -> Result<File> {
    without_links(path, libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOFOLLOW)
}

/// Opens a folder.
///
/// # Errors
/// When any part of the path is a link, is no folder, or is not there.
pub fn folder(path: &Path) -> Result<File> {
    without_links(path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW)
}

/// Opens a path for naming it only, when it leads to something and has no link anywhere in it, its end included.
pub fn without_any_link(path: &Path) -> Option<File> {
    #[cfg(target_os = "linux")]
    return at_once(path, libc::O_PATH).ok(); // With O_NOFOLLOW, a link at the end would be opened itself.
    #[cfg(not(target_os = "linux"))]
    return None;
}

/// The longest name that is handed to the system without a copy of its own, in bytes.
const SHORT: usize = 255;

/// Returns where a link leads that stands in a folder which is open for naming.
///
/// # Errors
/// As the system says; of what is there and no link, `EINVAL`.
pub fn read_link_in(folder: &File, name: &[u8]) -> Result<Vec<u8>> {
    let mut short = [0u8; SHORT + 1];
    let long;
    let name = match short.get_mut(..name.len()) {
        Some(place) if name.len() <= SHORT && !name.contains(&0) => {
            place.copy_from_slice(name);
            short.as_ptr().cast()
        }
        _ => {
            long = CString::new(name).map_err(|_| ErrorKind::InvalidInput)?;
            long.as_ptr()
        }
    };
    let mut target = [0u8; libc::PATH_MAX as usize];
    // SAFETY: the name ends with NUL and the buffer has the length that is given; both live over the call.
    let length = unsafe { libc::readlinkat(folder.as_raw_fd(), name, target.as_mut_ptr().cast(), target.len()) };
    let length = usize::try_from(length).map_err(|_| Error::last_os_error())?;
    // One that fills the buffer may go on; the system follows none that is so long.
    target.get(..length).filter(|_| length < target.len()).map(<[u8]>::to_vec).ok_or(ErrorKind::InvalidInput.into())
}

/// Returns which object of the file system something is, and when it was last changed.
pub fn identity(metadata: &Metadata) -> Identity {
    let modified = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    Identity { device: metadata.dev(), inode: metadata.ino(), modified }
}

fn without_links(path: &Path, flags: i32) -> Result<File> {
    #[cfg(target_os = "linux")]
    match at_once(path, flags) {
        // An old kernel, or a container that does not know the call: the way is walked, no less strictly.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {}
        opened => return opened,
    }
    step_by_step(path, flags)
}

/// Opens a path with one call that refuses links anywhere in it.
#[cfg(target_os = "linux")]
fn at_once(path: &Path, flags: i32) -> Result<File> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| ErrorKind::InvalidInput)?;
    // SAFETY: open_how is plain data, for which zero is a valid value.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (flags | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS;
    // SAFETY: the name is NUL-terminated, `how` has the size that is named, and both live over the call.
    let fd = unsafe {
        libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, name.as_ptr(), &how, std::mem::size_of::<libc::open_how>())
    };
    owned(RawFd::try_from(fd).unwrap_or(-1))
}

/// Opens a path folder by folder, from the root on.
fn step_by_step(path: &Path, flags: i32) -> Result<File> {
    #[cfg(target_os = "linux")]
    const PASS: i32 = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    #[cfg(not(target_os = "linux"))]
    const PASS: i32 = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let mut parts = path.components().peekable();
    if parts.next() != Some(Component::RootDir) {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no absolute path"));
    }
    let root = CString::new("/").map_err(|_| ErrorKind::InvalidInput)?;
    let mut at = open_at(libc::AT_FDCWD, &root, if parts.peek().is_none() { flags } else { PASS }, 0)?;
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(Error::new(ErrorKind::InvalidInput, "it is no canonical path"));
        };
        let name = CString::new(name.as_bytes()).map_err(|_| ErrorKind::InvalidInput)?;
        at = open_at(at.as_raw_fd(), &name, if parts.peek().is_none() { flags } else { PASS }, 0)?;
    }
    Ok(at)
}

/// Opens a name within an open folder; it is closed for programs that are started.
///
/// # Errors
/// As the system says.
pub(in crate::edge) fn open_at(folder: RawFd, name: &CString, flags: i32, mode: libc::c_uint) -> Result<File> {
    // SAFETY: the name is NUL-terminated and lives over the call; the descriptor is open, or that of the working folder.
    owned(unsafe { libc::openat(folder, name.as_ptr(), flags | libc::O_CLOEXEC, mode) })
}

fn owned(fd: RawFd) -> Result<File> {
    if fd < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the kernel has just given this descriptor to us alone.
    Ok(unsafe { File::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_in_a_folder_is_read_whatever_its_name_is() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("b")).expect("a folder");
        std::fs::write(folder.path().join("b/plain"), "x").expect("a file");
        let long = "x".repeat(250);
        for name in ["b/short", &format!("b/{long}")] {
            symlink("where", folder.path().join(name)).expect("a link");
        }
        let open = File::open(folder.path()).expect("it opens");
        for name in
            ["b/short".to_string(), format!("b/{long}"), format!("b/./{long}"), format!("b/{}short", "./".repeat(300))]
        {
            assert_eq!(read_link_in(&open, name.as_bytes()).expect(&name), b"where");
        }
        let error = |name: &[u8]| read_link_in(&open, name).expect_err("it is no link").raw_os_error();
        assert_eq!(error(b"b/plain"), Some(libc::EINVAL));
        assert_eq!(error(b"none"), Some(libc::ENOENT));
        assert_eq!(error(b"b/plain/x"), Some(libc::ENOTDIR));
        assert_eq!(error(b"b\0"), None);
    }

    #[test]
    fn no_link_on_the_way_is_followed_by_either_road() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("it is there");
        std::fs::create_dir_all(base.join("a/b")).expect("folders");
        std::fs::write(base.join("a/b/c"), "mine").expect("a file");
        symlink(base.join("a"), base.join("to-a")).expect("a link");
        symlink("c", base.join("a/b/to-c")).expect("a link");
        type Open = fn(&Path, i32) -> Result<File>;
        for open in [without_links as Open, step_by_step as Open] {
            let read = |path: &Path| {
                let mut text = String::new();
                open(path, libc::O_RDONLY | libc::O_NOFOLLOW)?.read_to_string(&mut text).map(|_| text)
            };
            assert_eq!(read(&base.join("a/b/c")).expect("it opens"), "mine");
            for refused in ["to-a/b/c", "a/b/to-c", "to-a", "a/b/missing", "a/b/c/d"] {
                assert!(read(&base.join(refused)).is_err(), "{refused}");
            }
            assert!(open(&base.join("a/b"), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW).is_ok());
            assert!(open(&base.join("to-a"), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW).is_err());
            assert!(open(Path::new("/"), libc::O_RDONLY | libc::O_DIRECTORY).is_ok());
        }
        assert!(step_by_step(&base.join("a/../a/b/c"), libc::O_RDONLY).is_err(), "only canonical names");
        assert!(step_by_step(Path::new("a/b/c"), libc::O_RDONLY).is_err(), "only absolute names");
    }
}
