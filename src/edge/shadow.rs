//! Copies of a project's files as they stand before a command, so that what the command changes can be taken back.
//!
//! They lie in the cache folder, each by the name of its bytes, and are made once: a file that looks as it did is not
//! read again. Only what a command really changed goes into the store. Folders, links and modes are noted as well.

mod image;
pub mod room;

pub use image::{at, image_json, read_image};

use crate::domain::gate::place::secret_name;
use crate::domain::id::ObjectHash;
use crate::domain::memory::store::{Content, content_name};
use crate::domain::undo::{FileChange, Image};
use crate::edge::peers::lineage::boot;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How much of a project is copied; what has more cannot be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Bytes of all files together.
    pub bytes: u64,
    /// Files, folders and links together.
    pub files: usize,
}

/// What a path looked like, and what stood there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    image: Image,
    look: Look,
}

/// What tells one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    size: u64,
    inode: u64,
    mode: u32,
    changed: (i64, i64),
}

/// The copies of one project.
pub struct Shadow {
    project: PathBuf,
    folder: PathBuf,
    caps: Caps,
    seen: BTreeMap<String, Seen>,
    /// Whether the copies were made since the machine started; older ones may have lost what was not on disk yet.
    whole: bool,
}

/// What a command changed.
#[derive(Debug, Default)]
pub struct Changed {
    /// The paths.
    pub files: Vec<FileChange>,
    /// The bytes that stood there before, and those that stand there now.
    pub contents: Vec<Content>,
    /// What could not be kept, for people.
    pub doubt: Option<String>,
}

/// Returns why what a command changes in a project could not be taken back; `None` when it could. Reads no file.
pub fn objection(project: &Path, caps: Caps) -> Option<String> {
    let (mut bytes, mut files) = (0u64, 0usize);
    let mut over = None;
    let walked = walk(project, &mut |_, about| {
        files += 1;
        bytes = bytes.saturating_add(if about.is_file() { about.len() } else { 0 });
        if files > caps.files || bytes > caps.bytes {
            over = Some(too_much(project, caps));
        }
        over.is_none()
    });
    over.or(walked.err())
}

fn too_much(project: &Path, caps: Caps) -> String {
    format!(
        "{} holds more than {} files or {} MB, so what stands there now is not copied before the command runs \
         (UNDO_MAX_FILES and UNDO_MAX_MB set this)",
        project.display(),
        caps.files,
        caps.bytes >> 20
    )
}

impl Shadow {
    /// Returns the shadow of a project below a folder for all of them, with what an earlier session noted of it.
    pub fn of(root: &Path, project: &Path, caps: Caps) -> Shadow {
        let name = blake3::hash(project.as_os_str().as_encoded_bytes()).to_hex();
        let folder = root.join(name.get(..32).unwrap_or_default());
        let mut shadow = Shadow { project: project.to_path_buf(), folder, caps, seen: BTreeMap::new(), whole: false };
        (shadow.whole, shadow.seen) = shadow.read_index().unwrap_or_default();
        shadow
    }

    /// Copies what is not copied yet, and notes what the command is about to find. `note` is kept until
    /// [`Shadow::after`]: whoever starts after a crash finds it with [`unfinished`].
    ///
    /// # Errors
    /// In words: then the command must not run, because the plan said that it can be undone.
    pub fn before(&mut self, note: &Value) -> Result<(), String> {
        let using = USED.read();
        let failed = |what: &Path, error: std::io::Error| format!("{}: {error}", what.display());
        // First of all: another process may be about to take away what was not used for long.
        self.note_use().map_err(|error| failed(&self.folder, error))?;
        let mut now = BTreeMap::new();
        let mut room = self.caps.bytes;
        let mut trouble = None;
        walk(&self.project, &mut |path, about| {
            let Some(name) = path.to_str() else { return true };
            let look = look(about);
            let known = self.seen.get(name).filter(|seen| seen.look == look && self.holds(&seen.image));
            let image = match known {
                Some(seen) => Ok(seen.image.clone()),
                None => self.copy(path, about),
            };
            if let Ok(Image::File { size, .. }) = &image {
                match room.checked_sub(*size) {
                    Some(left) => room = left,
                    None => trouble = Some(too_much(&self.project, self.caps)),
                }
            }
            match image {
                Ok(image) => {
                    now.insert(name.to_string(), Seen { image, look });
                }
                Err(why) => trouble = Some(why),
            }
            if now.len() > self.caps.files {
                trouble = Some(too_much(&self.project, self.caps));
            }
            trouble.is_none()
        })?;
        if let Some(why) = trouble {
            return Err(why);
        }
        let new = !self.folder.join(INDEX).exists();
        if now != self.seen || new || !self.whole {
            (self.seen, self.whole) = (now, true);
            self.write_index().map_err(|error| failed(&self.folder, error))?;
            self.sweep();
        }
        let note = json!({ "project": self.project.to_str(), "note": note });
        write_synced(&self.folder.join(RUNNING), note.to_string().as_bytes())
            .map_err(|error| failed(&self.folder, error))?;
        drop(using);
        if let Some(root) = self.folder.parent().filter(|_| new) {
            room::tidy(root, self.caps);
        }
        Ok(())
    }

    /// Makes the folder of the copies when it is not there, and notes that it is used now.
    fn note_use(&self) -> std::io::Result<()> {
        let make = || std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        // The folder above goes when the last one in it went, which may be just now.
        make().or_else(|_| make())?;
        std::fs::File::open(&self.folder)?.set_modified(std::time::SystemTime::now())
    }

    /// Returns what has changed since [`Shadow::before`].
    pub fn after(&mut self) -> Changed {
        let mut changed = Changed::default();
        let mut now: BTreeMap<String, Look> = BTreeMap::new();
        let mut unnamed = 0usize;
        let mut more = false;
        // A command may have made many files; those that it found are looked at in any case.
        let walked = walk(&self.project, &mut |path, about| {
            match path.to_str() {
                Some(name) => drop(now.insert(name.to_string(), look(about))),
                None => unnamed += 1,
            }
            more = now.len() > self.caps.files.saturating_mul(2).max(1_000);
            !more
        });
        let mut room = self.caps.bytes;
        let paths: BTreeSet<&String> = self.seen.keys().chain(now.keys()).collect();
        for path in paths {
            let before = self.seen.get(path.as_str());
            if before.map(|seen| seen.look) == now.get(path.as_str()).copied() {
                continue;
            }
            let mut image = before.map_or(Image::Absent, |seen| seen.image.clone());
            let (after, bytes) = at(Path::new(path), room);
            if after == image || folders_alike(&image, &after) {
                continue;
            }
            room = room.saturating_sub(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64));
            if let Image::File { content, size, .. } = image {
                match self.copy_of(content, size) {
                    Some(bytes) => changed.contents.push(Content { name: content, bytes, same_as: None }),
                    None => image = Image::Unkept { why: "the copy of what stood there is damaged".to_string() },
                }
            }
            changed.contents.extend(bytes.map(Content::of));
            changed.files.push(FileChange { path: path.clone(), before: image, after });
        }
        if more || unnamed > 0 || walked.is_err() {
            changed.doubt = Some("not all that it made could be looked at".to_string());
        }
        // What it says is kept by the caller before this note goes: see `finished`.
        changed
    }

    /// Forgets that a command runs.
    pub fn finished(&self) {
        // When it stays, the next start looks once more and finds nothing that differs but what came since.
        let _ = std::fs::remove_file(self.folder.join(RUNNING));
    }

    fn holds(&self, image: &Image) -> bool {
        match image {
            Image::File { content, size, .. } => match self.whole {
                true => self.folder.join(content.to_hex()).metadata().is_ok_and(|copy| copy.len() == *size),
                false => self.copy_of(*content, *size).is_some(),
            },
            Image::Absent | Image::Link { .. } | Image::Folder { .. } | Image::Unkept { .. } => true,
        }
    }

    /// Returns the bytes of a copy, when they are those that it is named by.
    fn copy_of(&self, content: ObjectHash, size: u64) -> Option<Vec<u8>> {
        let copy = self.folder.join(content.to_hex());
        copy.metadata().ok().filter(|about| about.len() == size)?;
        std::fs::read(copy).ok().filter(|bytes| content_name(bytes) == content)
    }

    fn copy(&self, path: &Path, about: &std::fs::Metadata) -> Result<Image, String> {
        if about.is_file() && about.len() > self.caps.bytes {
            return Err(too_much(&self.project, self.caps));
        }
        let (image, bytes) = at(path, self.caps.bytes);
        if let Some(bytes) = bytes
            && let Image::File { content, .. } = &image
        {
            let copy = self.folder.join(content.to_hex());
            if !self.holds(&image) {
                write_whole(&copy, &bytes).map_err(|error| format!("{}: {error}", copy.display()))?;
            }
        }
        Ok(image)
    }

    /// Returns whether the copies were made since the machine started, and what was noted of each path.
    fn read_index(&self) -> Option<(bool, BTreeMap<String, Seen>)> {
        let text = std::fs::read_to_string(self.folder.join(INDEX)).ok()?;
        let (first, lines) = text.split_once('\n')?;
        let first: Value = serde_json::from_str(first).ok()?;
        let whole = boot().is_some_and(|boot| first["boot"] == boot);
        Some((whole, lines.lines().map(read_seen).collect::<Option<_>>()?))
    }

    fn write_index(&self) -> std::io::Result<()> {
        let mut text = format!("{}\n", json!({ "boot": boot() }));
        for (path, Seen { image, look }) in &self.seen {
            let Look { size, inode, mode, changed } = look;
            let line = json!([path, image_json(image), size, inode, mode, changed.0, changed.1]);
            text.push_str(&line.to_string());
            text.push('\n');
        }
        write_synced(&self.folder.join(INDEX), text.as_bytes())
    }

    /// Takes copies away that no file has any more.
    fn sweep(&self) {
        let kept: BTreeSet<String> = self
            .seen
            .values()
            .filter_map(|seen| match &seen.image {
                Image::File { content, .. } => Some(content.to_hex()),
                Image::Absent | Image::Link { .. } | Image::Folder { .. } | Image::Unkept { .. } => None,
            })
            .collect();
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.len() == 64 && !kept.contains(&name) {
                // A copy too many costs room and nothing else.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// Returns the commands that ran when the program ended: the project of each, and what was noted of it.
pub fn unfinished(root: &Path) -> Vec<(PathBuf, Value)> {
    let folders = std::fs::read_dir(root).into_iter().flatten().flatten();
    let read = |folder: std::fs::DirEntry| {
        let text = std::fs::read_to_string(folder.path().join(RUNNING)).ok()?;
        let note: Value = serde_json::from_str(&text).ok()?;
        Some((PathBuf::from(note["project"].as_str()?), note["note"].clone()))
    };
    folders.filter_map(read).collect()
}

/// Returns what was noted of a command that ran in a project, when what it changed is not stored yet.
pub fn unfinished_in(root: &Path, project: &Path) -> Option<Value> {
    unfinished(root).into_iter().find(|(of, _)| of == project).map(|(_, note)| note)
}

/// Held shared by who makes copies, and alone by who takes them away.
static USED: parking_lot::RwLock<()> = parking_lot::RwLock::new(());

const INDEX: &str = "index.jsonl";
const RUNNING: &str = "running.json";

/// A folder changes its times with what is in it; that is no change of its own.
fn folders_alike(a: &Image, b: &Image) -> bool {
    matches!((a, b), (Image::Folder { mode: a }, Image::Folder { mode: b }) if a == b)
}

fn look(about: &std::fs::Metadata) -> Look {
    let times = if about.is_dir() { (0, 0) } else { (about.ctime(), about.ctime_nsec()) };
    let size = if about.is_dir() { 0 } else { about.len() };
    Look { size, inode: about.ino(), mode: about.mode(), changed: times }
}

/// Visits everything below a folder but what git keeps of old versions and what holds secrets: no command can change it.
fn walk(folder: &Path, visit: &mut dyn FnMut(&Path, &std::fs::Metadata) -> bool) -> Result<(), String> {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        // A folder that we may not read, the command may not read either.
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(about) = entry.metadata() else { continue };
            if path.ends_with(".git/objects") || path.to_str().is_some_and(|path| secret_name(path).is_some()) {
                continue;
            }
            if !visit(&path, &about) {
                return Ok(());
            }
            if about.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(())
}

fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    write_then(path, bytes, |_| Ok(()))
}

fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    write_then(path, bytes, |file| file.sync_all())
}

fn write_then(
    path: &Path,
    bytes: &[u8],
    then: impl FnOnce(&std::fs::File) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    then(&file)?;
    std::fs::rename(&beside, path)
}

fn read_seen(line: &str) -> Option<(String, Seen)> {
    let value: Value = serde_json::from_str(line).ok()?;
    let number = |at: usize| value[at].as_u64();
    let time = |at: usize| value[at].as_i64();
    let look = Look {
        size: number(2)?,
        inode: number(3)?,
        mode: u32::try_from(number(4)?).ok()?,
        changed: (time(5)?, time(6)?),
    };
    Some((value[0].as_str()?.to_string(), Seen { image: read_image(&value[1])?, look }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPS: Caps = Caps { bytes: 1 << 20, files: 100 };

    fn said(changed: &Changed, project: &Path) -> Vec<String> {
        let short = |image: &Image| match image {
            Image::Absent => "nothing".to_string(),
            Image::File { size, mode, .. } => format!("{size} {mode:o}"),
            Image::Link { target } => format!("-> {target}"),
            Image::Folder { .. } => "folder".to_string(),
            Image::Unkept { why } => why.clone(),
        };
        let name = |path: &str| Path::new(path).strip_prefix(project).expect("it lies there").display().to_string();
        let one = |f: &FileChange| format!("{}: {} => {}", name(&f.path), short(&f.before), short(&f.after));
        changed.files.iter().map(one).collect()
    }

    #[test]
    fn everything_that_changes_is_found_with_what_stood_there() {
        let place = tempfile::tempdir().expect("a folder");
        let base = place.path().canonicalize().expect("it is there");
        let (cache, project) = (base.join("cache"), base.join("project"));
        std::fs::create_dir_all(project.join("d")).expect("a folder");
        for (name, text) in [("a", "1"), ("b", "22"), ("d/c", "333"), (".env", "KEY=1")] {
            std::fs::write(project.join(name), text).expect("a file");
        }
        assert_eq!(objection(&project, CAPS), None);
        assert!(objection(&project, Caps { files: 2, ..CAPS }).is_some_and(|why| why.contains("UNDO_MAX_FILES")));
        let mut shadow = Shadow::of(&cache, &project, CAPS);
        shadow.before(&json!("x")).expect("it is copied");
        assert_eq!(unfinished(&cache), [(project.clone(), json!("x"))]);
        assert!(shadow.after().files.is_empty());
        // The same copies serve the next session, and a file that changed since is copied anew.
        std::fs::write(project.join("a"), "4444").expect("a file");
        let mut shadow = Shadow::of(&cache, &project, CAPS);
        shadow.before(&json!("x")).expect("it is copied");
        std::fs::rename(project.join("b"), project.join("e")).expect("renamed");
        std::fs::remove_dir_all(project.join("d")).expect("removed");
        std::fs::write(project.join("a"), "changed").expect("a file");
        std::os::unix::fs::symlink("a", project.join("l")).expect("a link");
        let changed = shadow.after();
        let expected = [
            "a: 4 644 => 7 644",
            "b: 2 644 => nothing",
            "d: folder => nothing",
            "d/c: 3 644 => nothing",
            "e: nothing => 2 644",
            "l: nothing => -> a",
        ];
        assert_eq!(said(&changed, &project), expected);
        let kept: Vec<&[u8]> = changed.contents.iter().map(|content| content.bytes.as_slice()).collect();
        assert_eq!(kept, [b"4444".as_slice(), b"changed", b"22", b"333", b"22"]);
        shadow.finished();
        assert_eq!(unfinished(&cache), []);
    }

    #[test]
    fn copies_that_are_damaged_are_made_anew_or_said_to_be() {
        let place = tempfile::tempdir().expect("a folder");
        let base = place.path().canonicalize().expect("it is there");
        let (cache, project) = (base.join("cache"), base.join("project"));
        std::fs::create_dir_all(&project).expect("a folder");
        std::fs::write(project.join("a"), "one").expect("a file");
        let begin = || {
            let mut shadow = Shadow::of(&cache, &project, CAPS);
            shadow.before(&Value::Null).expect("it is copied");
            shadow
        };
        let shadow = begin();
        let copy = shadow.folder.join(content_name(b"one").to_hex());
        let index = shadow.folder.join(INDEX);
        // Cut short; and, when the machine was off meanwhile, of the right size as well.
        for damage in ["", "\0\0\0"] {
            std::fs::write(&copy, damage).expect("a file");
            if damage.len() == 3 {
                let text = std::fs::read_to_string(&index).expect("it is there");
                std::fs::write(&index, text.replace(&boot().expect("a boot"), "another")).expect("a file");
            }
            begin();
            assert_eq!(std::fs::read(&copy).expect("it is there"), b"one");
        }
        let mut shadow = begin();
        std::fs::write(&copy, "\0\0\0").expect("a file");
        std::fs::write(project.join("a"), "changed").expect("a file");
        let changed = shadow.after();
        assert_eq!(said(&changed, &project), ["a: the copy of what stood there is damaged => 7 644"]);
    }

    #[test]
    fn images_are_read_as_they_were_written() {
        for image in [
            Image::Absent,
            Image::File { content: ObjectHash::new([7; 32]), size: 9, mode: 0o755 },
            Image::Link { target: "../x".into() },
            Image::Folder { mode: 0o700 },
            Image::Unkept { why: "it is large".into() },
        ] {
            assert_eq!(read_image(&image_json(&image)), Some(image));
        }
    }
}
