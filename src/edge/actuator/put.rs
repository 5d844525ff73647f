//! Puts a file, a link or a folder at a path whole, or takes it away, when what stands there is what was judged.
#![allow(unsafe_code)] // unlinkat, symlinkat, mkdirat, fchmodat and renameat, which the standard library does not offer.

use crate::domain::gate::facts::{Identity, PutFact};
use crate::domain::memory::store::content_name;
use crate::domain::undo::Image;
use crate::edge::actuator::write::{self, c_string};
use crate::edge::survey::open;
use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Makes of a path what a plan showed. `bytes` are those of a file that is put there; no link is followed.
///
/// # Errors
/// In words; what stands there is then as it was.
pub fn put(fact: &PutFact, bytes: Option<&[u8]>, place: Option<Identity>) -> Result<(), String> {
    let path = Path::new(&fact.file);
    let (folder, name) = path.parent().zip(path.file_name()).ok_or_else(|| "it is no file name".to_string())?;
    let folder = open::folder(folder).map_err(|error| format!("its folder cannot be opened: {error}"))?;
    let standing = open::identity(&folder.metadata().map_err(|error| error.to_string())?);
    if place.is_some_and(|place| (place.device, place.inode) != (standing.device, standing.inode)) {
        return Err("its folder is another one than when it was judged".to_string());
    }
    write::unlocked(path)?;
    let name = c_string(name)?;
    if !stands(&folder, &name, &fact.before) {
        return Err("it changed after it was judged".to_string());
    }
    place_it(&folder, &name, fact, bytes).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOTEMPTY) => "the folder is not empty".to_string(),
        _ => error.to_string(),
    })?;
    folder.sync_all().map_err(|error| error.to_string())?;
    match stands_there(&folder, &name, &fact.after) {
        true => Ok(()),
        false => Err("it was put there, and is something else by now; look at it".to_string()),
    }
}

/// As [`stands`] with any rights: not every file system keeps those that it is given.
fn stands_there(folder: &File, name: &CString, image: &Image) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let mut image = image.clone();
    if let Image::File { mode, .. } | Image::Folder { mode } = &mut image
        && let Ok(found) = open::open_at(folder.as_raw_fd(), name, libc::O_PATH | libc::O_NOFOLLOW, 0)
        && let Ok(about) = found.metadata()
    {
        *mode = about.permissions().mode() & 0o7777;
    }
    stands(folder, name, &image)
}

/// Whether something stands at a name in a folder; of a file no more is read than it should have.
fn stands(folder: &File, name: &CString, image: &Image) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let open = |flags: i32| open::open_at(folder.as_raw_fd(), name, flags | libc::O_NOFOLLOW, 0);
    let mode_of = |about: &std::fs::Metadata| about.permissions().mode() & 0o7777;
    let about = match open(libc::O_PATH).and_then(|found| Ok((found.metadata()?, found))) {
        Ok(about) => about,
        Err(error) => return matches!(image, Image::Absent) && error.kind() == std::io::ErrorKind::NotFound,
    };
    match (about, image) {
        ((about, _), Image::File { content, size, mode }) => {
            if !about.is_file() || about.len() != *size || mode_of(&about) != *mode {
                return false;
            }
            let mut bytes = Vec::new();
            let read = open(libc::O_RDONLY | libc::O_NONBLOCK)
                .and_then(|file| file.take(size.saturating_add(1)).read_to_end(&mut bytes));
            read.is_ok() && content_name(&bytes) == *content
        }
        ((about, link), Image::Link { target }) => about.is_symlink() && leads_to(&link, target),
        ((about, _), Image::Folder { mode }) => about.is_dir() && mode_of(&about) == *mode,
        (_, Image::Absent | Image::Unkept { .. }) => false,
    }
}

/// Whether a link that was opened leads there.
fn leads_to(link: &File, target: &str) -> bool {
    let mut found = vec![0u8; target.len() + 1];
    // SAFETY: the empty name ends with NUL, the buffer has the length that is named, and the descriptor is open.
    let length = unsafe { libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), found.as_mut_ptr().cast(), found.len()) };
    usize::try_from(length).ok().and_then(|length| found.get(..length)) == Some(target.as_bytes())
}

fn place_it(folder: &File, name: &CString, fact: &PutFact, bytes: Option<&[u8]>) -> std::io::Result<()> {
    let was_folder = matches!(fact.before, Image::Folder { .. });
    let new = matches!(fact.before, Image::Absent);
    let same = |now: &CString| stands(folder, now, &fact.before);
    let remove = || if was_folder { remove_folder(folder, name) } else { write::remove_same(folder, name, &same) };
    match &fact.after {
        Image::Absent => remove(),
        Image::File { mode, .. } => {
            let bytes = bytes.ok_or_else(|| std::io::Error::other("its bytes are not in the store"))?;
            if was_folder {
                remove()?;
            }
            if new || was_folder {
                return write::write_new(folder, name, bytes, *mode);
            }
            write::write_over(folder, name, bytes, *mode, &same)
        }
        Image::Link { target } => {
            if !new {
                remove()?;
            }
            let target = CString::new(target.as_bytes()).map_err(|_| std::io::ErrorKind::InvalidInput)?;
            // SAFETY: both texts end with NUL and live over the call; the descriptor is open.
            done(unsafe { libc::symlinkat(target.as_ptr(), folder.as_raw_fd(), name.as_ptr()) })
        }
        Image::Folder { mode } => {
            if !was_folder {
                if !new {
                    remove()?;
                }
                // SAFETY: the name ends with NUL and lives over the call; the descriptor is open.
                done(unsafe { libc::mkdirat(folder.as_raw_fd(), name.as_ptr(), 0o700) })?;
            }
            // Through the folder itself: a link that was put there meanwhile is not followed.
            let made =
                open::open_at(folder.as_raw_fd(), name, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW, 0)?;
            use std::os::unix::fs::PermissionsExt;
            made.set_permissions(std::fs::Permissions::from_mode(*mode))
        }
        Image::Unkept { why } => Err(std::io::Error::other(format!("it was not kept: {why}"))),
    }
}

fn remove_folder(folder: &File, name: &CString) -> std::io::Result<()> {
    // SAFETY: the name ends with NUL and lives over the call; the descriptor is open. A folder goes only when empty.
    done(unsafe { libc::unlinkat(folder.as_raw_fd(), name.as_ptr(), libc::AT_REMOVEDIR) })
}

fn done(code: i32) -> std::io::Result<()> {
    if code == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Returns what is put, in an order in which each can be done: what goes first, folders before what stands in them.
pub fn in_order(puts: &[PutFact]) -> Vec<&PutFact> {
    let depth = |put: &PutFact| put.file.matches('/').count();
    let is_folder = |image: &Image| matches!(image, Image::Folder { .. });
    let mut ordered: Vec<&PutFact> = puts.iter().collect();
    ordered.sort_by_key(|put| {
        let goes = matches!(put.after, Image::Absent);
        let deep = isize::try_from(depth(put)).unwrap_or(0);
        match (goes, is_folder(&put.before), is_folder(&put.after)) {
            (true, false, _) => (0, 0),
            (_, true, false) => (1, -deep),
            (_, _, true) => (2, deep),
            (false, false, false) => (3, 0),
        }
    });
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::shadow;

    #[test]
    fn each_kind_is_put_and_taken_away_when_it_is_what_was_judged() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("it is there");
        let at = |name: &str| base.join(name).to_string_lossy().into_owned();
        let fact = |name: &str, after: Image| PutFact {
            file: at(name),
            before: shadow::at(Path::new(&at(name)), 1 << 20).0,
            after,
            diff: String::new(),
        };
        let image = |bytes: &[u8], mode| Image::File { content: content_name(bytes), size: bytes.len() as u64, mode };
        let now = |name: &str| shadow::at(Path::new(&at(name)), 1 << 20).0;
        for (name, after) in [
            ("f", image(b"\0one", 0o600)),
            ("f", image(b"two", 0o755)),
            ("f", Image::Link { target: "nowhere".into() }),
            ("f", Image::Folder { mode: 0o750 }),
            ("f", Image::Folder { mode: 0o700 }),
            ("f", image(b"two", 0o644)),
            ("f", Image::Absent),
        ] {
            let bytes: Option<&[u8]> = match &after {
                Image::File { size: 4, .. } => Some(b"\0one"),
                Image::File { .. } => Some(b"two"),
                _ => None,
            };
            assert_eq!(put(&fact(name, after.clone()), bytes, None), Ok(()));
            assert_eq!(now(name), after);
        }
        // A byte is lost on the way: what was put is read back.
        let lost = put(&fact("g", image(b"three", 0o600)), Some(b"thre"), None);
        assert_eq!(lost, Err("it was put there, and is something else by now; look at it".to_string()));
        std::fs::create_dir(base.join("full")).expect("a folder");
        std::fs::write(base.join("full/x"), "x").expect("a file");
        assert_eq!(put(&fact("full", Image::Absent), None, None), Err("the folder is not empty".to_string()));
        let judged = fact("full/x", Image::Absent);
        std::fs::write(base.join("full/x"), "by hand").expect("a file");
        assert_eq!(put(&judged, None, None), Err("it changed after it was judged".to_string()));
        // What is far larger by now is not read.
        std::fs::File::create(base.join("full/x")).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        assert_eq!(put(&judged, None, None), Err("it changed after it was judged".to_string()));
    }

    #[test]
    fn what_goes_makes_room_and_folders_come_first() {
        let (file, folder) = (Image::Link { target: "t".into() }, Image::Folder { mode: 0o755 });
        let put = |file: &str, before: &Image, after: &Image| PutFact {
            file: file.into(),
            before: before.clone(),
            after: after.clone(),
            diff: String::new(),
        };
        let puts = [
            put("/p/n/x", &Image::Absent, &file),
            put("/p/n", &file, &folder),
            put("/p/o", &folder, &Image::Absent),
            put("/p/o/y", &file, &Image::Absent),
            put("/p/o/d", &folder, &Image::Absent),
        ];
        let order: Vec<&str> = in_order(&puts).iter().map(|put| put.file.as_str()).collect();
        assert_eq!(order, ["/p/o/y", "/p/o/d", "/p/o", "/p/n", "/p/n/x"]);
    }
}
