//! Reads an archive, and puts back what is in it: first all of it is read and summed, and only then anything is written.
//!
//! What lies in the way is never overwritten: it is moved aside, under a name that is said.

use super::places::{Places, check_memex};
use super::{Entry, FORM, Kept, LONGEST_MANIFEST, MANIFEST, Manifest, copy_summed, is_safe};
use crate::domain::memory::store::StoreError;
use crate::edge::store::{Lock, owner_of};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Where things are put back.
#[derive(Clone, Debug)]
pub struct Targets {
    /// The store's folder.
    pub store: PathBuf,
    /// The settings' folder.
    pub settings: PathBuf,
    /// The user's home.
    pub home: PathBuf,
    /// The folders of the memex go back, too, to where they lay.
    pub memex: bool,
    /// What is there already is moved aside.
    pub force: bool,
}

/// What was put back.
#[derive(Clone, Debug, Default)]
pub struct Restored {
    /// Files that were put back.
    pub files: usize,
    /// Files that are there already, just so.
    pub same: usize,
    /// What lay in the way, and where it lies now.
    pub aside: Vec<(PathBuf, PathBuf)>,
    /// What was left as it is, and why.
    pub left: Vec<String>,
}

/// Why nothing was put back.
#[derive(Debug, PartialEq, Eq)]
pub enum Unrestorable {
    /// The archive is no backup, or damaged.
    Damaged(String),
    /// Something is in the way, or in use.
    InTheWay(String),
    /// The system says no.
    Failed(String),
}

impl Unrestorable {
    /// Returns why, in words.
    pub fn words(&self) -> &str {
        match self {
            Unrestorable::Damaged(why) | Unrestorable::InTheWay(why) | Unrestorable::Failed(why) => why,
        }
    }
}

/// Reads all of an archive; every file is there once, with its length and its sum.
///
/// # Errors
/// In words, what is wrong.
pub fn verify(file: &Path) -> Result<Manifest, Unrestorable> {
    let damaged = |why: String| Unrestorable::Damaged(format!("{}: {why}; nothing was put back", file.display()));
    let (mut found, mut manifest): (BTreeMap<String, Entry>, Option<Manifest>) = (BTreeMap::new(), None);
    each(file, &mut |name, _, from| {
        if manifest.is_some() {
            return Err("something stands behind its manifest".to_string());
        }
        if name == MANIFEST {
            let mut text = Vec::new();
            from.take(LONGEST_MANIFEST).read_to_end(&mut text).map_err(|why| why.to_string())?;
            manifest =
                Some(serde_json::from_slice(&text).map_err(|why| format!("its manifest cannot be read ({why})"))?);
            return Ok(());
        }
        let (bytes, blake3) = copy_summed(from, &mut io::sink()).map_err(|why| why.to_string())?;
        match found.insert(name.to_string(), Entry { name: name.to_string(), bytes, blake3 }) {
            None => Ok(()),
            Some(_) => Err(format!("{name} is in it twice")),
        }
    })
    .map_err(damaged)?;
    let manifest = manifest.ok_or_else(|| damaged("it has no manifest, so it was not written to its end".into()))?;
    if manifest.form != FORM {
        return Err(damaged(format!("it has form {}, and this version reads form {FORM}", manifest.form)));
    }
    for entry in &manifest.files {
        match found.remove(&entry.name) {
            Some(there) if there == *entry => {}
            Some(_) => return Err(damaged(format!("{} is not what was written", entry.name))),
            None => return Err(damaged(format!("{} is missing", entry.name))),
        }
    }
    match found.keys().next() {
        None => Ok(manifest),
        Some(name) => Err(damaged(format!("its manifest does not know {name}"))),
    }
}

/// What is done with an entry: its name, what is kept of it, and what is in it.
type Visit<'a> = dyn FnMut(&str, Kept, &mut dyn Read) -> Result<(), String> + 'a;

/// Hands every entry to `visit`, with its name, what is kept of it, and what is in it.
fn each(file: &Path, visit: &mut Visit<'_>) -> Result<(), String> {
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(file);
    let mut archive = tar::Archive::new(io::BufReader::new(opened.map_err(|why| why.to_string())?));
    let unreadable = |why: io::Error| format!("it is no archive, or cut off ({why})");
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let name = String::from_utf8(entry.path_bytes().into_owned()).map_err(|_| "a name is not UTF-8".to_string())?;
        if entry.header().entry_type() != tar::EntryType::Regular || !(name == MANIFEST || is_safe(&name)) {
            return Err(format!("{} has no place in a backup", crate::domain::inert::exact(&name)));
        }
        let (mode, modified) =
            (entry.header().mode().map_err(unreadable)?, entry.header().mtime().map_err(unreadable)?);
        visit(&name, Kept { mode, modified }, &mut entry)?;
    }
    Ok(())
}

/// Puts an archive back that was verified just now.
///
/// # Errors
/// When something is in use or in the way, and what the system says. What was moved aside is named then.
pub fn restore(file: &Path, manifest: &Manifest, targets: &Targets, at: &str) -> Result<Restored, Unrestorable> {
    let has_store = manifest.files.iter().any(|entry| entry.name.starts_with("store/"));
    let failed = |why: String| Unrestorable::Failed(why);
    check_memex(manifest, targets)?;
    store_is_free(targets, has_store)?;
    make_folder(&targets.store).map_err(failed)?;
    // Held to the end: nobody opens the store, and works by settings and notes that change below them.
    let lock = lock(&targets.store)?;
    store_is_free_of(targets, has_store)?;
    let ahead = look_ahead(manifest, targets)?;
    let staging = targets.store.with_extension(format!("restoring-{}", std::process::id()));
    make_folder(&staging).map_err(failed)?;
    let result = put_back(file, manifest, targets, (&staging, at), ahead);
    let _ = fs::remove_dir_all(&staging);
    drop(lock);
    result
}

/// Looks before anything is made, and says who has the store open.
fn store_is_free(targets: &Targets, has_store: bool) -> Result<(), Unrestorable> {
    match owner_of(&targets.store) {
        Some(owner) => Err(in_use(&targets.store, &owner)),
        None => store_is_free_of(targets, has_store),
    }
}

fn in_use(store: &Path, owner: &str) -> Unrestorable {
    Unrestorable::InTheWay(format!("the store {} is in use by {owner}; end that process first", store.display()))
}

/// Looks whether there is another store, which may be moved.
fn store_is_free_of(targets: &Targets, has_store: bool) -> Result<(), Unrestorable> {
    if !has_store || targets.force || !holds_store(&targets.store) {
        return Ok(());
    }
    let store = targets.store.display();
    let text = format!("there is a store at {store}; --force moves it aside and puts the one of the backup there");
    Err(Unrestorable::InTheWay(text))
}

fn lock(store: &Path) -> Result<Lock, Unrestorable> {
    match Lock::take(store) {
        Ok((lock, _)) => Ok(lock),
        Err(StoreError::Locked { owner, .. }) => Err(in_use(store, &owner)),
        Err(why) => Err(Unrestorable::Failed(format!("{why}; nothing was put back"))),
    }
}

/// Where each file goes that is not there just so.
struct Ahead {
    places: BTreeMap<String, PathBuf>,
    left: Vec<String>,
}

/// Looks what is in the way, before anything is touched.
fn look_ahead(manifest: &Manifest, targets: &Targets) -> Result<Ahead, Unrestorable> {
    let mut ahead = Ahead { places: BTreeMap::new(), left: Vec::new() };
    let places = Places::new(manifest, targets);
    for entry in &manifest.files {
        let Some(place) = places.of(&entry.name) else { continue };
        // A link that leads nowhere is something, too.
        if place.symlink_metadata().is_err() {
            ahead.places.insert(entry.name.clone(), place);
        } else if entry.name == "settings/.env" && !manifest.keys {
            ahead.left.push(format!("{} stays, as it may hold keys, which the backup does not", place.display()));
        } else if targets.force || is_same(&place, entry) {
            ahead.places.insert(entry.name.clone(), place);
        } else {
            let place = place.display();
            let text = format!("{place} is there and another one; --force moves what is in the way aside");
            return Err(Unrestorable::InTheWay(text));
        }
    }
    Ok(ahead)
}

/// Whether anything of a store lies there: beside a database from elsewhere, what SQLite or a repair left of another one
/// would be taken for its own. What cannot be looked into may hold one.
fn holds_store(folder: &Path) -> bool {
    let of_store = |entry: io::Result<fs::DirEntry>| {
        entry.map_or(true, |entry| entry.file_name().as_encoded_bytes().starts_with(b"memory."))
    };
    match fs::read_dir(folder) {
        Ok(mut entries) => entries.any(of_store),
        Err(why) => why.kind() != io::ErrorKind::NotFound,
    }
}

fn is_same(place: &Path, entry: &Entry) -> bool {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(place);
    let summed = file.and_then(|file| match file.metadata()?.is_file() {
        true => copy_summed(&mut io::BufReader::new(file), &mut io::sink()),
        false => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    });
    summed.is_ok_and(|(bytes, sum)| bytes == entry.bytes && sum == entry.blake3)
}

/// Writes everything beside its place, then puts it there.
fn put_back(
    file: &Path,
    manifest: &Manifest,
    targets: &Targets,
    (staging, at): (&Path, &str),
    ahead: Ahead,
) -> Result<Restored, Unrestorable> {
    let sums: BTreeMap<&str, &Entry> = manifest.files.iter().map(|entry| (entry.name.as_str(), entry)).collect();
    let mut done = Restored { left: ahead.left, ..Restored::default() };
    let mut has_store = false;
    // The archive may be another one by now: each file is summed again, before it takes its place.
    each(file, &mut |name, kept, from| {
        let (Some(entry), store) = (sums.get(name), name.strip_prefix("store/")) else { return Ok(()) };
        let place = match (store, ahead.places.get(name)) {
            (Some(rest), _) => staging.join(rest),
            (None, Some(place)) if is_same(place, entry) => {
                done.same += 1;
                return Ok(());
            }
            (None, Some(place)) => place.clone(),
            (None, None) => return Ok(()),
        };
        has_store |= store.is_some();
        let folder = place.parent().unwrap_or(Path::new("/"));
        make_folder(folder)?;
        let kept = if store.is_some() { Kept { mode: 0o600, modified: 0 } } else { kept };
        done.aside.extend(put_one(&place, at, &mut |part| write_new(part, from, entry, kept))?);
        done.files += 1;
        Ok(())
    })
    .map_err(|why| Unrestorable::Failed(format!("{why}{}", told(&done.aside))))?;
    if has_store {
        let moved = place_store(staging, &targets.store, at);
        let aside = moved.map_err(|why| Unrestorable::Failed(format!("{why}{}", told(&done.aside))))?;
        done.aside.extend(aside);
    }
    Ok(done)
}

/// Writes a file beside its place, moves aside what lies there, and puts it there; returns what was moved, and to where.
fn put_one(
    place: &Path,
    at: &str,
    write: &mut dyn FnMut(&Path) -> Result<(), String>,
) -> Result<Option<(PathBuf, PathBuf)>, String> {
    let mut part = place.to_path_buf().into_os_string();
    part.push(format!(".restoring-{}", std::process::id()));
    let part = PathBuf::from(part);
    let named = |why: io::Error| format!("{}: {why}", place.display());
    let mut aside = None;
    let put = write(&part).and_then(|()| {
        if place.symlink_metadata().is_ok() {
            let free = free(place, at);
            fs::rename(place, &free).map_err(named)?;
            aside = Some((place.to_path_buf(), free));
        }
        fs::rename(&part, place).map_err(|why| format!("{}{}", named(why), told(aside.as_slice())))
    });
    if put.is_err() {
        // Nothing half is left behind.
        let _ = fs::remove_file(&part);
    }
    put.map(|()| aside)
}

/// Says what was moved aside before it went wrong.
fn told(aside: &[(PathBuf, PathBuf)]) -> String {
    aside.iter().map(|(was, is)| format!("; {} lies in {} now", was.display(), is.display())).collect()
}

/// Puts the files of a store into its place, which is locked, and moves the one that is there aside whole.
fn place_store(staging: &Path, store: &Path, at: &str) -> Result<Option<(PathBuf, PathBuf)>, String> {
    let named = |what: &Path, why: &dyn std::fmt::Display| format!("{}: {why}", what.display());
    if holds_store(store) {
        // It comes with a lock of its own that is held: there is no moment in which somebody else could open it.
        let (_lock, _) = Lock::take(staging).map_err(|why| why.to_string())?;
        let place = free(store, at);
        fs::rename(store, &place).map_err(|why| named(store, &why))?;
        let of_before =
            |why: io::Error| format!("{}; the store of before lies in {}", named(store, &why), place.display());
        fs::rename(staging, store).map_err(of_before)?;
        let _ = store.parent().map(|folder| File::open(folder).and_then(|folder| folder.sync_all()));
        return Ok(Some((store.to_path_buf(), place)));
    }
    // The log first: a database without its log is mended by it, and not the other way round.
    for name in ["memory.log", "memory.sqlite"] {
        let (from, to) = (staging.join(name), store.join(name));
        if from.exists() {
            // A link does not go over what somebody made there meanwhile.
            let moved = fs::hard_link(&from, &to).or_else(|why| match to.symlink_metadata() {
                Ok(_) => Err(why),
                Err(_) => fs::rename(&from, &to),
            });
            moved.map_err(|why| named(&to, &why))?;
        }
    }
    let _ = File::open(store).and_then(|folder| folder.sync_all());
    Ok(None)
}

/// Writes a file that nobody else can read, and makes sure that it is what the manifest says.
fn write_new(part: &Path, from: &mut dyn Read, entry: &Entry, kept: Kept) -> Result<(), String> {
    let named = |why: io::Error| format!("{}: {why}", part.display());
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(part).map_err(named)?;
    let mut from = from;
    let (bytes, sum) = copy_summed(&mut from, &mut file).map_err(named)?;
    if bytes != entry.bytes || sum != entry.blake3 {
        return Err(format!("{} changed while it was put back", entry.name));
    }
    // Of the mode nothing counts but whether its user may run it.
    file.set_permissions(fs::Permissions::from_mode(0o600 | (kept.mode & 0o100))).map_err(named)?;
    let now = SystemTime::now();
    let modified = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(kept.modified));
    if let Some(modified) = modified.filter(|at| kept.modified > 0 && *at <= now) {
        // Some file systems keep no such times.
        let _ = file.set_modified(modified);
    }
    file.sync_all().map_err(named)
}

/// Makes a folder that only its user can enter, where there is none.
fn make_folder(folder: &Path) -> Result<(), String> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|why| format!("{}: {why}", folder.display()))
}

/// Returns a name beside a place that nothing has yet.
fn free(place: &Path, at: &str) -> PathBuf {
    let name = place.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let named = |n: usize| {
        let more = if n == 0 { String::new() } else { format!("-{n}") };
        place.with_file_name(format!("{name}.before-{at}{more}"))
    };
    (0..).map(named).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| named(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn of_mode_and_time_nothing_comes_back_but_what_is_harmless() {
        let folder = tempfile::tempdir().expect("a folder");
        let entry = Entry { name: "memex/0/a".into(), bytes: 1, blake3: blake3::hash(b"x").to_hex().to_string() };
        for (n, (mode, modified, is, kept)) in [
            (0o600, 1_000_000_000, 0o600, true),
            (0o700, 1, 0o700, true),
            (0o777, 1, 0o700, true),
            (0o7777, 1, 0o700, true),
            (0o4611, 1, 0o600, true),
            (0o400, 1, 0o600, true),
            (u32::MAX, 1, 0o700, true),
            (0o600, 0, 0o600, false),
            (0o600, 99_999_999_999, 0o600, false),
            (0o600, u64::MAX, 0o600, false),
        ]
        .into_iter()
        .enumerate()
        {
            let part = folder.path().join(n.to_string());
            write_new(&part, &mut &b"x"[..], &entry, Kept { mode, modified }).expect("it is written");
            let about = fs::metadata(&part).expect("it is there");
            assert_eq!(about.permissions().mode() & 0o7777, is, "{mode:o}");
            assert_eq!(about.mtime() == i64::try_from(modified).unwrap_or(-1), kept, "{modified}");
        }
    }
}
