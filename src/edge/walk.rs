//! Which Org files lie below a folder: a bounded walk that follows no linked folder.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// How many folders deep the walk goes; deeper ones are reported, not read.
pub const MAX_DEPTH: usize = 256;

/// As many links are followed on the way of one name, as the system does.
const MAX_LINKS: usize = 40;

/// Hidden folders that hold copies of files, not notes: histories, bins and versions kept by sync tools.
///
/// Other hidden folders are read: only hidden *files* are skipped, and people keep `.emacs.d/init.org`.
const FOLDERS_OF_COPIES: [&str; 12] = [
    ".git",
    ".hg",
    ".svn",
    ".bzr",
    ".jj",
    ".stversions",
    ".stfolder",
    ".sync",
    ".dropbox.cache",
    ".trash",
    ".Trash",
    ".backup",
];

/// What could not be looked at, and why.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// A folder or file could not be read.
    #[error("{}: {source}; it was left out", path.display())]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A pipe, socket or device that is named like an Org file.
    #[error("{}: is not a regular file; it was left out", path.display())]
    NotAFile {
        /// Which one.
        path: PathBuf,
    },
    /// A folder below [`MAX_DEPTH`] others.
    #[error("{}: lies more than {MAX_DEPTH} folders deep; what is below it was left out", path.display())]
    TooDeep {
        /// Which one.
        path: PathBuf,
    },
}

impl WalkError {
    /// Returns the path that the error is about.
    pub fn path(&self) -> &Path {
        match self {
            WalkError::Unreadable { path, .. } | WalkError::NotAFile { path } | WalkError::TooDeep { path } => path,
        }
    }
}

/// Returns every Org file below `root`, in byte order of the path, and what could not be looked at.
///
/// Paths are `root` as typed, joined with what is below it, without any `./`; nothing is resolved.
/// Hidden files, linked folders and folders of copies such as `.git` are skipped; linked files are listed.
/// A `root` that is itself a file is listed whatever its name, and a `root` that is a link is followed:
/// the user named it.
pub fn org_files(root: &Path) -> Vec<Result<PathBuf, WalkError>> {
    let prefix = without_dots(root);
    let opened = if prefix.as_os_str().is_empty() { Path::new(".") } else { &prefix };
    let mut found = Vec::new();
    match fs::metadata(opened) {
        Err(source) => found.push(Err(WalkError::Unreadable { path: root.to_path_buf(), source })),
        Ok(meta) if meta.is_file() => found.push(Ok(prefix)),
        Ok(meta) if meta.is_dir() => walk(prefix, &mut found),
        Ok(_) => found.push(Err(WalkError::NotAFile { path: root.to_path_buf() })),
    }
    // By bytes of the whole path, not by component as `Path` compares.
    found.sort_by(|a, b| key(a).cmp(key(b)));
    found
}

/// Returns every Org file at or below a path somewhere in a memex, by the rules of [`org_files`].
///
/// Unlike a root, a path that is hidden, no Org file or not there has none, and that is no error.
pub fn org_files_at(path: &Path) -> Vec<Result<PathBuf, WalkError>> {
    match fs::symlink_metadata(path) {
        Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Vec::new(),
        Err(source) => vec![Err(WalkError::Unreadable { path: path.to_path_buf(), source })],
        Ok(meta) if meta.is_dir() => match path.file_name().is_some_and(is_folder_of_copies) {
            true => Vec::new(),
            false => org_files(path),
        },
        Ok(meta) => match path.file_name().filter(|name| is_org_name(name)) {
            Some(_) => file_at(path, meta.file_type()).into_iter().collect(),
            None => Vec::new(),
        },
    }
}

/// Returns whether a file may be one of the memex by its name: it ends in `.org` and is not hidden.
pub fn is_org_name(name: &OsStr) -> bool {
    !name.as_encoded_bytes().starts_with(b".") && name.as_encoded_bytes().ends_with(b".org")
}

/// Returns whether a file lies below a root, or is it, and is one that [`org_files`] lists by its name.
///
/// The disk is not asked: it says the same of a file that is there and of a buffer whose file is not there yet.
pub fn is_listed(root: &Path, file: &Path) -> bool {
    let Ok(below) = file.strip_prefix(root) else { return false };
    let mut parts = below.iter().rev();
    // A root that is a file is named by the user, whatever its name.
    parts.next().is_none_or(is_org_name) && !parts.any(is_folder_of_copies)
}

/// Returns the linked Org files at and below a folder that are looked through. Each folder is `met` before it is looked
/// into, so that who watches it from then on misses nothing that comes later.
pub fn links_below(root: &Path, met: &mut dyn FnMut(&Path)) -> Vec<PathBuf> {
    let (mut links, mut folders) = (Vec::new(), vec![(root.to_path_buf(), 0)]);
    while let Some((folder, depth)) = folders.pop() {
        met(&folder);
        // What cannot be read is reported by the reading itself.
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries {
            let (name, kind) = (entry.file_name(), entry.file_type());
            match kind {
                Ok(kind) if kind.is_dir() && !is_folder_of_copies(&name) && depth < MAX_DEPTH => {
                    folders.push((entry.path(), depth + 1));
                }
                Ok(kind) if kind.is_symlink() && is_org_name(&name) => links.push(entry.path()),
                Ok(_) | Err(_) => {}
            }
        }
    }
    links
}

fn is_folder_of_copies(name: &OsStr) -> bool {
    FOLDERS_OF_COPIES.iter().any(|copies| name == *copies)
}

/// Returns the one name of a file or folder: folders are resolved, and so is what lies on the way to a file.
///
/// A linked file keeps its own name, as in [`org_files`]. What cannot be resolved stays as typed.
pub fn canonical(path: &Path) -> PathBuf {
    if !path.is_absolute() {
        return path.to_path_buf();
    }
    let resolved = match (path.is_dir(), path.parent(), path.file_name()) {
        (false, Some(folder), Some(name)) => folder.canonicalize().map(|folder| folder.join(name)),
        (false, None, _) | (false, _, None) | (true, _, _) => path.canonicalize(),
    };
    resolved.unwrap_or_else(|_| path.to_path_buf())
}

/// Returns where a name leads, link by link, also when nothing is there.
pub fn destination(path: &Path) -> PathBuf {
    links_and_destination(path).1
}

/// As [`destination`], with the links that are followed, in their order, each by a name without links before it.
pub fn links_and_destination(path: &Path) -> (Vec<PathBuf>, PathBuf) {
    let parts = |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    let (mut found, mut rest, mut links) = (PathBuf::new(), parts(path), Vec::new());
    while let Some(part) = rest.pop() {
        match part.as_encoded_bytes() {
            b"." => {}
            b".." => {
                found.pop();
            }
            _ => {
                let next = found.join(&part);
                match fs::read_link(&next) {
                    // A loop of links leads nowhere.
                    Ok(target) if links.len() < MAX_LINKS => {
                        links.push(next);
                        rest.extend(parts(&target));
                    }
                    Ok(_) | Err(_) => found = next,
                }
            }
        }
    }
    (links, found)
}

/// Returns [`canonical`] of a name that came as text.
pub fn canonical_name(file: &str) -> String {
    canonical(Path::new(file)).to_str().unwrap_or(file).to_string()
}

/// Returns every Org file below several roots, in byte order, each file once.
pub fn org_files_of(roots: &[PathBuf]) -> Vec<Result<PathBuf, WalkError>> {
    let mut found: Vec<_> = roots.iter().flat_map(|root| org_files(root)).collect();
    found.sort_by(|a, b| key(a).cmp(key(b)));
    found.dedup_by(|a, b| key(a) == key(b) && a.is_ok() == b.is_ok());
    found
}

fn key(entry: &Result<PathBuf, WalkError>) -> &[u8] {
    let path = match entry {
        Ok(path) => path.as_path(),
        Err(error) => error.path(),
    };
    path.as_os_str().as_encoded_bytes()
}

fn without_dots(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, Component::CurDir)).collect()
}

fn walk(root: PathBuf, found: &mut Vec<Result<PathBuf, WalkError>>) {
    let mut folders = vec![(root, 0)];
    while let Some((folder, depth)) = folders.pop() {
        if depth > MAX_DEPTH {
            found.push(Err(WalkError::TooDeep { path: folder }));
            continue;
        }
        let opened = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        let entries = match fs::read_dir(opened) {
            Ok(entries) => entries,
            Err(source) => {
                found.push(Err(WalkError::Unreadable { path: folder, source }));
                continue;
            }
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(source) => {
                    found.push(Err(WalkError::Unreadable { path: folder.clone(), source }));
                    // A folder that fails in the middle may fail for ever.
                    break;
                }
            };
            let name = entry.file_name();
            let path = folder.join(&name);
            match visit(&entry, &path) {
                Visit::Folder => folders.push((path, depth + 1)),
                Visit::File => found.push(Ok(path)),
                Visit::Skip => {}
                Visit::Problem(error) => found.push(Err(error)),
            }
        }
    }
}

enum Visit {
    Folder,
    File,
    Skip,
    Problem(WalkError),
}

fn visit(entry: &fs::DirEntry, path: &Path) -> Visit {
    let kind = match entry.file_type() {
        Ok(kind) => kind,
        Err(source) => return Visit::Problem(WalkError::Unreadable { path: path.to_path_buf(), source }),
    };
    let name = entry.file_name();
    if kind.is_dir() {
        return if is_folder_of_copies(&name) { Visit::Skip } else { Visit::Folder };
    }
    if !is_org_name(&name) {
        return Visit::Skip;
    }
    match file_at(path, kind) {
        Some(Ok(_)) => Visit::File,
        Some(Err(problem)) => Visit::Problem(problem),
        None => Visit::Skip,
    }
}

/// Returns a file that is named like an Org file, when it is one or leads to one; a linked folder is nothing.
fn file_at(path: &Path, kind: fs::FileType) -> Option<Result<PathBuf, WalkError>> {
    let not_a_file = || Some(Err(WalkError::NotAFile { path: path.to_path_buf() }));
    if kind.is_file() {
        return Some(Ok(path.to_path_buf()));
    }
    if !kind.is_symlink() {
        // Opening a pipe would hang.
        return not_a_file();
    }
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() => Some(Ok(path.to_path_buf())),
        Ok(meta) if meta.is_dir() => None,
        Ok(_) => not_a_file(),
        Err(source) => Some(Err(WalkError::Unreadable { path: path.to_path_buf(), source })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_into_a_folder_once_it_was_met_is_met_as_well() {
        let place = tempfile::tempdir().expect("a folder");
        let deep = place.path().join("deep");
        let mut met = Vec::new();
        links_below(place.path(), &mut |folder| {
            // As it happens between a look into a folder and the watch on it.
            if folder == place.path() {
                fs::create_dir(&deep).expect("a folder");
            }
            met.push(folder.to_path_buf());
        });
        assert_eq!(met, [place.path(), &deep]);
    }
}
