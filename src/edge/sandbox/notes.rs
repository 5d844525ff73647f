//! Finds the private notes of a project: the Org files that a command could read, and what keeps copies of them.
//!
//! A note is as private as its text. What cannot be read, or comes after the bounds, counts as private.

use crate::domain::gate::place::holds_notes;
use crate::domain::label::{Privacy, PrivacyTag};
use crate::domain::memory::document::{PrivacyOptions, privacy};
use crate::domain::org::decode::decode;
use crate::domain::org::scan::{ScanOptions, scan};
use crate::edge::sandbox::policy::Stamps;
use crate::edge::survey::open;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How much of a project's notes is looked at for one command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Files.
    pub(super) files: usize,
    /// Bytes of all files together.
    pub(super) bytes: u64,
}

/// A project's usual notes many times over; what comes after them counts as private.
pub(super) const USUAL: Bounds = Bounds { files: 4_000, bytes: 64 << 20 };

/// What makes notes private.
pub(super) struct Marks<'a> {
    /// Tags.
    pub(super) tags: &'a [PrivacyTag],
    /// Files with notes that are more private than they say.
    pub(super) held: &'a BTreeMap<String, Privacy>,
}

/// Where private text may stand in a project.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Private {
    /// Files, in the order of their names, with every other name of theirs in the project, and how private each is.
    pub(super) files: Vec<(PathBuf, Privacy)>,
    /// Folders in which version control keeps what files were.
    pub(super) history: Vec<PathBuf>,
}

/// Returns where private text stands among the entries of a project. Reads files, so it is called where blocking is allowed.
///
/// `scan` is how they are scanned: with their setup files, whose lines may make them private.
pub(super) fn private(entries: &Stamps, marks: &Marks<'_>, scan: &ScanOptions, bounds: Bounds) -> Private {
    let options = PrivacyOptions { tags: marks.tags.to_vec() };
    let mut left = bounds;
    let mut inodes = BTreeMap::new();
    for (path, stamp) in entries {
        if stamp.regular && path.to_str().is_none_or(holds_notes) {
            let held = path.to_str().and_then(|path| marks.held.get(path)).copied();
            let found = privacy_of(path, &options, scan, &mut left).max(held.unwrap_or(Privacy::Open));
            if found > Privacy::Open {
                let known = inodes.entry(stamp.inode).or_insert(found);
                *known = found.max(*known);
            }
        }
    }
    if inodes.is_empty() {
        return Private::default();
    }
    // A second name of a file has another ending, and the same text.
    let same = entries.iter().filter(|(_, stamp)| stamp.regular);
    let same = same.filter_map(|(path, stamp)| Some((path.clone(), *inodes.get(&stamp.inode)?)));
    let history = entries.iter().filter(|(path, stamp)| stamp.folder && keeps_history(path));
    Private { files: same.collect(), history: history.map(|(path, _)| path.clone()).collect() }
}

fn privacy_of(path: &Path, options: &PrivacyOptions, how: &ScanOptions, left: &mut Bounds) -> Privacy {
    let Some(files) = left.files.checked_sub(1) else { return Privacy::Private };
    left.files = files;
    let Some(text) = read(path, left).and_then(|bytes| decode(&bytes).ok()) else { return Privacy::Private };
    // A name that is no UTF-8 has no setup files, and is in no memory.
    let how = how.of(path.to_str().unwrap_or_default());
    match scan(text.text, &how) {
        Ok(outline) => privacy(&outline, options).into_iter().max().unwrap_or(Privacy::Private),
        Err(_) => Privacy::Private,
    }
}

/// Reads a file as far as there are bytes left to read; `None` when that is not all of it.
fn read(path: &Path, left: &mut Bounds) -> Option<Vec<u8>> {
    let file = open::file(path).ok()?;
    let about = file.metadata().ok()?;
    if !about.is_file() || about.len() > left.bytes {
        return None;
    }
    let mut bytes = Vec::new();
    let read = file.take(left.bytes.saturating_add(1)).read_to_end(&mut bytes).ok()? as u64;
    left.bytes = left.bytes.checked_sub(read)?;
    Some(bytes)
}

/// Returns whether a folder keeps what files of the project were before.
fn keeps_history(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let of_git = path.components().any(|part| part.as_os_str() == ".git");
    (of_git && name == "objects") || [".hg", ".svn", ".jj", ".bzr"].iter().any(|system| name == *system)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::sandbox::stamps;

    fn names(folder: &Path, bounds: Bounds) -> Vec<String> {
        names_of(folder, &BTreeMap::new(), bounds)
    }

    fn names_of(folder: &Path, held: &BTreeMap<String, Privacy>, bounds: Bounds) -> Vec<String> {
        let marks = Marks { tags: &["private".into()], held };
        let found = private(&stamps(folder).expect("it is read"), &marks, &ScanOptions::default(), bounds);
        let all = found.files.iter().map(|(path, _)| path).chain(&found.history);
        all.map(|path| path.strip_prefix(folder).expect("it lies there").display().to_string()).collect()
    }

    #[test]
    fn what_is_not_looked_at_is_private() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().canonicalize().expect("it is there");
        for name in ["a.org", "b.org", "c.org"] {
            std::fs::write(at.join(name), "* A garden\n").expect("a file");
        }
        std::fs::write(at.join("z.txt"), "* Health :private:\n").expect("a file");
        std::fs::create_dir_all(at.join(".git/objects")).expect("a folder");
        let nothing: [&str; 0] = [];
        assert_eq!(names(&at, USUAL), nothing, "nothing is private, so history is not either");
        let held = BTreeMap::from([(at.join("b.org").display().to_string(), Privacy::Ask)]);
        assert_eq!(names_of(&at, &held, USUAL), ["b.org", ".git/objects"], "its label was taken away, and counts");
        assert_eq!(names(&at, Bounds { files: 2, ..USUAL }), ["c.org", ".git/objects"]);
        assert_eq!(names(&at, Bounds { bytes: 22, ..USUAL }), ["c.org", ".git/objects"]);
        std::fs::write(at.join("b.org"), "* A garden\n** Tax :@Private:\n").expect("a file");
        std::fs::hard_link(at.join("b.org"), at.join("y.txt")).expect("a second name");
        std::fs::hard_link(at.join("b.org"), at.join("#y.org#")).expect("a third name");
        assert_eq!(names(&at, USUAL), ["#y.org#", "b.org", "y.txt", ".git/objects"]);
    }
}
