//! Takes away a folder that a command made: shut, still being written to, or deeper than any name can say.
//!
//! Nothing is recursive: what stands in a folder is moved up beside it, and the folder goes when it is empty. So three
//! descriptors do, however deep a command has dug.

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fchmod, openat, renameat, unlinkat};
use std::ffi::{OsStr, OsString};
use std::io::Result;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How often it is tried.
const ROUNDS: usize = 200;

/// Takes a folder away, if it is there. Nothing is waited for: who was killed makes nothing more, and what is left for
/// another reason is left. Blocks.
pub(super) fn remove(folder: &Path) {
    for round in 0..ROUNDS {
        if std::fs::remove_dir(folder).is_ok() || folder.symlink_metadata().is_err() {
            return;
        }
        if flatten(folder, round).is_err() {
            std::thread::yield_now();
        }
    }
}

/// Takes away all that stands in a folder.
fn flatten(folder: &Path, round: usize) -> Result<()> {
    let top = opened(CWD, folder.as_os_str())?;
    let mut moved = 0usize;
    loop {
        let names_here = names(&top)?;
        if names_here.is_empty() {
            return Ok(());
        }
        for name in names_here {
            if gone(&top, &name) {
                continue;
            }
            let inner = opened(&top, &name)?;
            for deeper in names(&inner)? {
                if !gone(&inner, &deeper) {
                    // Whoever moves a folder must be able to write in it.
                    drop(opened(&inner, &deeper)?);
                    moved += 1;
                    renameat(&inner, &deeper, &top, format!("\u{1}{round}-{moved}"))?;
                }
            }
            unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Takes a file or an empty folder away; returns whether it has gone.
fn gone(at: &OwnedFd, name: &OsStr) -> bool {
    unlinkat(at, name, AtFlags::empty()).is_ok() || unlinkat(at, name, AtFlags::REMOVEDIR).is_ok()
}

/// Opens a folder, and makes it one that can be looked into and written in. No link is followed.
fn opened(at: impl AsFd, name: &OsStr) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || openat(&at, name, flags, Mode::empty());
    let folder = match open() {
        Err(rustix::io::Errno::ACCESS) => {
            unlocked(&at, name)?;
            open()?
        }
        opened => opened?,
    };
    fchmod(&folder, Mode::RWXU)?;
    Ok(folder)
}

/// Gives us the rights to a folder that we may not open.
#[cfg(target_os = "linux")]
fn unlocked(at: impl AsFd, name: &OsStr) -> Result<()> {
    use std::os::fd::AsRawFd;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat(at, name, flags, Mode::empty())?;
    // By its descriptor, as a name could be a link by now.
    Ok(rustix::fs::chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU)?)
}

/// Gives us the rights to a folder that we may not open.
#[cfg(not(target_os = "linux"))]
fn unlocked(at: impl AsFd, name: &OsStr) -> Result<()> {
    Ok(rustix::fs::chmodat(at, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn names(folder: &OwnedFd) -> Result<Vec<OsString>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_os_string();
        if name != "." && name != ".." {
            found.push(name);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_taken_away_however_deep_it_is_and_what_it_links_to_stays() {
        let below = tempfile::tempdir().expect("a folder");
        let (room, kept) = (below.path().join("room"), below.path().join("kept"));
        for folder in [&room, &kept] {
            std::fs::create_dir(folder).expect("it is made");
        }
        std::fs::write(kept.join("file"), "mine").expect("it is written");
        std::os::unix::fs::symlink(&kept, room.join("link")).expect("a link");
        // Deeper than a path can say, and than there are descriptors.
        let mut at = opened(CWD, room.as_os_str()).expect("it is there");
        for depth in 0..6_000 {
            rustix::fs::mkdirat(&at, "deep", Mode::RWXU).expect("it is made");
            let inner = opened(&at, OsStr::new("deep")).expect("it is there");
            if depth % 1_000 == 0 {
                let flags = OFlags::CREATE | OFlags::WRONLY;
                drop(openat(&inner, "file", flags, Mode::RUSR).expect("it is made"));
                fchmod(&at, Mode::empty()).expect("it is ours");
            }
            at = inner;
        }
        drop(at);
        remove(&room);
        assert!(!room.exists());
        assert_eq!(std::fs::read_to_string(kept.join("file")).expect("it stays"), "mine");
    }
}
