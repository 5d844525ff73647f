//! Follows paths to what they mean, and looks at each place once: what one survey says of a place it says everywhere.
//!
//! A survey makes one and throws it away. Nothing of it is kept for the next, so that facts are what is true now.

use super::open;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, ReadDir};
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The most links that one path may lead over; the system follows no more either.
const MAX_LINKS: usize = 40;
/// The most parts of one path, those of its links included.
const MAX_PARTS: usize = 4_096;
/// From how many parts on one question about the whole path is cheaper than one about each.
const WORTH_IT: usize = 3;
/// The most entries of a folder that are listed.
pub const MAX_ENTRIES: usize = 4_096;

/// What stands at a place.
#[derive(Clone)]
enum Stand {
    /// A file or a folder.
    Here,
    /// A link, and where it leads.
    Link(Rc<[u8]>),
    /// Nothing.
    Missing,
    /// What may not be looked at.
    Closed,
}

/// A folder from which names are followed.
struct Start {
    /// As it was asked for.
    asked: PathBuf,
    /// The canonical one that it leads to, if it leads to one.
    at: Option<Rc<[u8]>>,
    /// That, open for naming: what stands below it is asked for from there, which is shorter than from the root.
    open: Option<File>,
}

/// One name in a folder.
pub struct Entry {
    /// The name.
    pub name: OsString,
    /// Whether it is known to be no link.
    pub plain: bool,
}

/// Asks the system what stands at a path, itself and no link's end.
type Ask = fn(&Path) -> std::io::Result<Metadata>;
/// Lists a folder.
type List = fn(&Path) -> std::io::Result<ReadDir>;

/// The places that one survey has looked at.
pub struct Roads {
    ask: Ask,
    list: List,
    known: RefCell<HashMap<Vec<u8>, Stand>>,
    /// Folders from which names were followed, and where they lead: few, so they are searched one by one.
    starts: RefCell<Vec<Start>>,
    listed: RefCell<HashMap<PathBuf, Rc<[Entry]>>>,
    looks: Cell<usize>,
}

impl Default for Roads {
    fn default() -> Roads {
        Roads {
            ask: |path| std::fs::symlink_metadata(path),
            list: |folder| std::fs::read_dir(folder),
            known: RefCell::default(),
            starts: RefCell::default(),
            listed: RefCell::default(),
            looks: Cell::default(),
        }
    }
}

impl Roads {
    /// Makes one on a system that is asked by other means, as one in which letters do not count.
    #[cfg(test)]
    pub fn on(ask: Ask, list: List) -> Roads {
        Roads { ask, list, ..Roads::default() }
    }

    /// Returns what stands at a canonical path now.
    ///
    /// # Errors
    /// Those of the system.
    pub fn ask(&self, path: &Path) -> std::io::Result<Metadata> {
        self.looks.set(self.looks.get() + 1);
        (self.ask)(path)
    }

    /// Returns a canonical path with each name as its folder has it, where large and small letters name the same file;
    /// `None` when that cannot be found out. `here` is what stands at the path.
    ///
    /// A folder makes no difference when what stands in it stands there in the other case, too. Where one does, those above
    /// it are taken to, so that mostly a single name is looked for, which is not there.
    pub fn as_listed(&self, path: PathBuf, here: Option<&Metadata>) -> Option<PathBuf> {
        let identity = |about: &Metadata| (about.dev(), about.ino());
        let (mut end, mut at) = (Vec::new(), path.as_path());
        let mut standing = here.map(identity);
        while let (Some(folder), Some(name)) = (at.parent(), at.file_name()) {
            let mut listed = name.to_os_string();
            if let (Some(this), Some(other)) = (standing, other_case(name)) {
                let same = |name: &OsStr| self.ask(&folder.join(name)).is_ok_and(|about| identity(&about) == this);
                if !same(&other) {
                    break;
                }
                let names = self.names(folder);
                if !names.iter().any(|entry| entry.name == name) {
                    let small = |name: &OsStr| name.to_string_lossy().to_lowercase();
                    listed =
                        names.iter().find(|entry| small(&entry.name) == small(name) && same(&entry.name))?.name.clone();
                }
            }
            end.push(listed);
            at = folder;
            standing = self.ask(at).ok().as_ref().map(identity);
        }
        if end.is_empty() {
            return Some(path);
        }
        let mut whole = at.to_path_buf();
        whole.extend(end.into_iter().rev());
        Some(whole)
    }

    /// Returns how often the disk was asked so far.
    pub fn looks(&self) -> usize {
        self.looks.get()
    }

    /// Returns the canonical path; for what does not exist, that of its nearest parent and the rest.
    /// `None` when links turn in a circle or a folder on the way may not be entered.
    pub fn resolve(&self, path: &Path) -> Option<PathBuf> {
        let bytes = path.as_os_str().as_bytes();
        if !bytes.starts_with(b"/") {
            return self.resolve(&std::env::current_dir().ok()?.join(path));
        }
        if self.canonical(path).is_some() {
            return Some(as_stored(path.to_path_buf()));
        }
        self.walked(path)
    }

    fn walked(&self, path: &Path) -> Option<PathBuf> {
        let bytes = path.as_os_str().as_bytes();
        self.walk(Vec::with_capacity(bytes.len() + 16), bytes).map(into_path).map(as_stored)
    }

    /// Opens a path of several parts for naming, when one question tells that it is there and has no link in it. When it
    /// does not, the way is walked.
    fn canonical(&self, path: &Path) -> Option<File> {
        let bytes = path.as_os_str().as_bytes();
        let parts = || bytes.get(1..).unwrap_or(&[]).split(|b| *b == b'/');
        if parts().take(WORTH_IT).count() < WORTH_IT || parts().any(|part| matches!(part, b"" | b"." | b"..")) {
            return None;
        }
        self.looks.set(self.looks.get() + 1);
        open::without_any_link(path)
    }

    /// As [`Roads::resolve`], of a name in a folder; the folder itself is followed once.
    pub fn resolve_in(&self, folder: &Path, name: &str) -> Option<PathBuf> {
        if name.starts_with('/') {
            return self.resolve(Path::new(name));
        }
        let known = self.starts.borrow().iter().find(|start| start.asked == folder).map(|start| start.at.clone());
        let start = match known {
            Some(start) => start,
            None => self.start(folder),
        }?;
        let mut at = Vec::with_capacity(start.len() + name.len() + 1);
        at.extend_from_slice(if &*start == b"/" { b"" } else { &start });
        self.walk(at, name.as_bytes()).map(into_path).map(as_stored)
    }

    /// Follows a folder from which names will be followed, and keeps it.
    fn start(&self, folder: &Path) -> Option<Rc<[u8]>> {
        let absolute = folder.is_absolute();
        let open = if absolute { self.canonical(folder) } else { None };
        let found = match open {
            Some(_) => Some(as_stored(folder.to_path_buf())),
            None if absolute => self.walked(folder),
            None => self.resolve(folder),
        };
        let at: Option<Rc<[u8]>> = found.map(|path| Rc::from(path.as_os_str().as_bytes()));
        self.starts.borrow_mut().push(Start { asked: folder.to_path_buf(), at: at.clone(), open });
        at
    }

    /// Reads a link by its canonical name, from the folder above it that is open.
    fn read_link(&self, at: &[u8]) -> std::io::Result<Vec<u8>> {
        for start in self.starts.borrow().iter() {
            if let (Some(above), Some(open)) = (&start.at, &start.open)
                && let Some(below) = at.strip_prefix(&**above).and_then(|below| below.strip_prefix(b"/"))
                && !below.is_empty()
            {
                return open::read_link_in(open, below);
            }
        }
        std::fs::read_link(Path::new(std::ffi::OsStr::from_bytes(at))).map(|target| target.into_os_string().into_vec())
    }

    /// Returns whether it is already known that nothing stands at a canonical path.
    pub fn is_missing(&self, path: &str) -> bool {
        matches!(self.known.borrow().get(path.as_bytes()), Some(Stand::Missing))
    }

    /// Returns the names in a folder, so many at most; none when it cannot be listed.
    pub fn names(&self, folder: &Path) -> Rc<[Entry]> {
        if let Some(names) = self.listed.borrow().get(folder) {
            return names.clone();
        }
        self.looks.set(self.looks.get() + 1);
        let entries = (self.list)(folder).into_iter().flatten().take(MAX_ENTRIES).flatten();
        let names: Rc<[Entry]> = entries
            .map(|entry| Entry {
                plain: entry.file_type().is_ok_and(|kind| !kind.is_symlink()),
                name: entry.file_name(),
            })
            .collect();
        self.listed.borrow_mut().insert(folder.to_path_buf(), names.clone());
        names
    }

    /// Goes on from a canonical folder, part by part.
    fn walk(&self, mut at: Vec<u8>, path: &[u8]) -> Option<Vec<u8>> {
        let mut parts: Vec<Cow<'_, [u8]>> = path.rsplit(|b| *b == b'/').map(Cow::Borrowed).collect();
        let (mut links, mut walked, mut gone) = (0, 0, false);
        while let Some(part) = parts.pop() {
            walked += 1;
            if walked > MAX_PARTS {
                return None;
            }
            match part.as_ref() {
                b"" | b"." => continue,
                b".." => {
                    up(&mut at);
                    // What stands above may exist again.
                    gone = false;
                    continue;
                }
                _ => {}
            }
            let above = at.len();
            at.push(b'/');
            at.extend_from_slice(&part);
            if gone {
                continue;
            }
            match self.stand(&at) {
                Stand::Here => {}
                Stand::Missing => gone = true,
                Stand::Closed => return None,
                Stand::Link(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return None;
                    }
                    at.truncate(if target.starts_with(b"/") { 0 } else { above });
                    parts.extend(target.rsplit(|b| *b == b'/').map(|part| Cow::Owned(part.to_vec())));
                }
            }
        }
        Some(at)
    }

    fn stand(&self, at: &[u8]) -> Stand {
        if let Some(stand) = self.known.borrow().get(at) {
            return stand.clone();
        }
        self.looks.set(self.looks.get() + 1);
        let stand = match self.read_link(at) {
            Ok(target) => Stand::Link(Rc::from(target)),
            // It is there, and no link.
            Err(error) if error.kind() == ErrorKind::InvalidInput && error.raw_os_error() == Some(libc::EINVAL) => {
                Stand::Here
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Stand::Missing,
            Err(_) => Stand::Closed,
        };
        self.known.borrow_mut().insert(at.to_vec(), stand.clone());
        stand
    }
}

fn up(at: &mut Vec<u8>) {
    at.truncate(at.iter().rposition(|b| *b == b'/').unwrap_or(0));
}

fn into_path(mut at: Vec<u8>) -> PathBuf {
    if at.is_empty() {
        at.push(b'/');
    }
    PathBuf::from(OsString::from_vec(at))
}

/// Returns a name with large letters for small ones and small for large; `None` when there are none.
fn other_case(name: &OsStr) -> Option<OsString> {
    let swap = |c: char| {
        let (mut small, mut large) = (c.to_lowercase(), c.to_uppercase());
        match (small.next(), small.next(), large.next(), large.next()) {
            (Some(small), None, _, _) if small != c => small,
            (_, _, Some(large), None) => large,
            _ => c,
        }
    };
    let other: String = name.to_str()?.chars().map(swap).collect();
    (OsStr::new(&other) != name).then(|| OsString::from(other))
}

/// Returns a path as the file system spells it, where large and small letters name the same file.
#[cfg(not(target_os = "linux"))]
fn as_stored(path: PathBuf) -> PathBuf {
    let stored = path.ancestors().find_map(|above| Some((above, std::fs::canonicalize(above).ok()?)));
    stored.and_then(|(above, stored)| Some(stored.join(path.strip_prefix(above).ok()?))).unwrap_or(path)
}

/// Returns a path as it is: where letters count, there is nothing to do.
#[cfg(target_os = "linux")]
fn as_stored(path: PathBuf) -> PathBuf {
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_path_leads_where_the_system_leads_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("it is there");
        std::fs::create_dir_all(base.join("a/b/c")).expect("folders");
        std::fs::write(base.join("a/f"), "x").expect("a file");
        for (name, target) in [
            ("to-b", "a/b"),
            ("to-to-b", "to-b"),
            ("absolute", base.join("a").to_str().expect("UTF-8")),
            ("loop", "loop"),
            ("dangling", "a/none/x"),
            ("a/up", ".."),
        ] {
            symlink(target, base.join(name)).expect("a link");
        }
        let roads = Roads::default();
        for name in
            ["", "a", "a/f", "a/../a/b", "to-b/c", "to-to-b/..", "absolute/b/./c", "a/up/a/up/to-b", "a//b///c", "a/b/"]
        {
            let system = std::fs::canonicalize(base.join(name)).expect("it is there");
            assert_eq!(roads.resolve(&base.join(name)), Some(system.clone()), "{name}");
            assert_eq!(roads.resolve_in(&base, name), Some(system), "{name}");
        }
        for (name, expected) in [
            ("none", Some("none")),
            ("none/../a/f", Some("a/f")),
            ("none/../to-b/x", Some("a/b/x")),
            ("a/f/x", Some("a/f/x")),
            ("to-b/x/../../y", Some("a/y")),
            ("dangling", Some("a/none/x")),
            ("loop/x", None),
        ] {
            assert_eq!(roads.resolve_in(&base, name), expected.map(|end| base.join(end)), "{name}");
        }
        assert_eq!(roads.resolve(Path::new("/../..")), Some(PathBuf::from("/")));
    }

    #[test]
    fn a_place_is_looked_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("it is there");
        let roads = Roads::default();
        let _ = roads.resolve_in(&base, "x");
        let first = roads.looks();
        for _ in 0..100 {
            let _ = roads.resolve_in(&base, "x");
            let _ = roads.resolve_in(&base, "./x/../x/y/z");
        }
        assert_eq!(roads.looks(), first, "known places are not looked at again");
        let _ = roads.resolve_in(&base, "y");
        assert_eq!(roads.looks(), first + 1, "a new name in a known folder is one look");
    }
}
