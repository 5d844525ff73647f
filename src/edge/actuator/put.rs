//! Puts a file, a link or a folder at a path whole, or takes it away, when what stands there is what was judged.
#![allow(unsafe_code)] // unlinkat, symlinkat, mkdirat, fchmodat and renameat, which the standard library does not offer.

use crate::domain::gate::facts::{Identity, PutFact};
use crate::domain::undo::Image;
use crate::edge::actuator::write::{self, c_string};
use crate::edge::shadow;
use crate::edge::survey::open;
use std::ffi::CString;
use std::fs::File;
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
    if shadow::at(path, u64::MAX - 1).0 != fact.before {
        return Err("it changed after it was judged".to_string());
    }
    let name = c_string(name)?;
    place_it(&folder, &name, fact, bytes).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOTEMPTY) => "the folder is not empty".to_string(),
        _ => error.to_string(),
    })?;
    folder.sync_all().map_err(|error| error.to_string())
}

fn place_it(folder: &File, name: &CString, fact: &PutFact, bytes: Option<&[u8]>) -> std::io::Result<()> {
    let was_folder = matches!(fact.before, Image::Folder { .. });
    let new = matches!(fact.before, Image::Absent);
    match &fact.after {
        Image::Absent => remove(folder, name, was_folder),
        Image::File { mode, .. } => {
            let bytes = bytes.ok_or_else(|| std::io::Error::other("its bytes are not in the store"))?;
            if was_folder {
                remove(folder, name, true)?;
            }
            write::write_beside(folder, name, bytes, *mode, new || was_folder)
        }
        Image::Link { target } => {
            if !new {
                remove(folder, name, was_folder)?;
            }
            let target = CString::new(target.as_bytes()).map_err(|_| std::io::ErrorKind::InvalidInput)?;
            // SAFETY: both texts end with NUL and live over the call; the descriptor is open.
            done(unsafe { libc::symlinkat(target.as_ptr(), folder.as_raw_fd(), name.as_ptr()) })
        }
        Image::Folder { mode } => {
            if !was_folder {
                if !new {
                    remove(folder, name, false)?;
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

fn remove(folder: &File, name: &CString, is_folder: bool) -> std::io::Result<()> {
    let flags = if is_folder { libc::AT_REMOVEDIR } else { 0 };
    // SAFETY: the name ends with NUL and lives over the call; the descriptor is open.
    done(unsafe { libc::unlinkat(folder.as_raw_fd(), name.as_ptr(), flags) })
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
    use crate::domain::memory::store::content_name;

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
        std::fs::create_dir(base.join("full")).expect("a folder");
        std::fs::write(base.join("full/x"), "x").expect("a file");
        assert_eq!(put(&fact("full", Image::Absent), None, None), Err("the folder is not empty".to_string()));
        let judged = fact("full/x", Image::Absent);
        std::fs::write(base.join("full/x"), "by hand").expect("a file");
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
