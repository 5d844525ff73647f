//! The head of a store, noted outside it at each save: who rewrites the whole chain does not rewrite this.
//!
//! One small file a store, in a folder of its own beside the settings. It holds two slots of fixed length, written in
//! turn in place: a save costs one write and one sync, and a crash in the middle leaves the slot before.
//! Behind them stands where the store lay, so that one that was moved is told from one that was rewritten.

use crate::domain::hash::ContentHasher;
use crate::domain::id::ObjectHash;
use crate::domain::memory::operation::Operation;
use crate::domain::memory::store::Record;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::edge::store::journal::free_name;
use crate::edge::store::open::sync_folder;

/// Bytes of one slot.
const SLOT: usize = 512;
/// What a slot begins with.
const MAGIC: &str = "head 1";
/// What the names of the files end with.
const SUFFIX: &str = "head";
/// What stands in the place of a hash that does not exist.
const NONE: &str = "-";

/// What was last seen of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The hash of its first operation: which store it is. `None` while it has none.
    pub first: Option<ObjectHash>,
    /// The last operation, 0 when there was none.
    pub operation: u64,
    /// The hash of that operation.
    pub hash: Option<ObjectHash>,
    /// The last record, 0 when there was none.
    pub record: u64,
    /// The hash over all records up to that one; see [`chained`].
    pub records: ObjectHash,
    /// When that was.
    pub at: jiff::Timestamp,
}

impl Seen {
    /// Nothing yet.
    pub fn nothing() -> Seen {
        let (records, at) = (ObjectHash::new([0; 32]), jiff::Timestamp::UNIX_EPOCH);
        Seen { first: None, operation: 0, hash: None, record: 0, records, at }
    }
}

/// Returns the hash over records up to and with one, from that over those before it.
pub fn chained(before: ObjectHash, record: &Record) -> ObjectHash {
    let mut hasher = ContentHasher::new("record");
    hasher
        .bytes(before.as_bytes())
        .number(record.seq)
        .text(&record.at.as_nanosecond().to_string())
        .text(&record.kind)
        .text(&record.key)
        .json(&record.body);
    ObjectHash::new(hasher.finish())
}

/// The file of one store, open for writing.
pub struct Witness {
    file: File,
    /// Which slot is written next.
    next: u64,
    /// What was seen last.
    pub seen: Seen,
}

impl Witness {
    /// Opens or makes the file of a store. What it holds is in [`Witness::seen`].
    ///
    /// # Errors
    /// What the system says.
    pub fn open(heads: &Path, store: &Path) -> io::Result<Witness> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(heads)?;
        let path = name_of(heads, store);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        let slots = [slot(&file, 0), slot(&file, 1)];
        let next = match &slots {
            [Some(a), Some(b)] => u64::from((a.operation, a.record) >= (b.operation, b.record)),
            [Some(_), None] => 1,
            [None, _] => 0,
        };
        let seen = slots.into_iter().flatten().max_by_key(|seen| (seen.operation, seen.record));
        if seen.is_none() {
            let mut line = vec![b' '; 2 * SLOT];
            line.extend_from_slice(format!("\nstore {}\n", absolute(store).display()).as_bytes());
            file.write_all_at(&line, 0)?;
            file.sync_all()?;
            sync_folder(heads)?;
        }
        Ok(Witness { file, next, seen: seen.unwrap_or_else(Seen::nothing) })
    }

    /// Notes what a save came to, and waits until it is on the disk.
    ///
    /// # Errors
    /// What the system says; the slot before is then what counts.
    pub fn note(&mut self, head: Option<&Operation>, records: &[Record], at: jiff::Timestamp) -> io::Result<()> {
        if let Some(head) = head {
            let hash = head.hash();
            // The first operation of a store names it.
            self.seen.first = self.seen.first.or((head.id.0 == 1).then_some(hash));
            (self.seen.operation, self.seen.hash) = (head.id.0, Some(hash));
        }
        let known = self.seen.record;
        for record in records.iter().filter(|record| record.seq > known) {
            self.seen.records = chained(self.seen.records, record);
            self.seen.record = record.seq;
        }
        self.seen.at = at;
        self.file.write_all_at(&written(&self.seen), self.next * SLOT as u64)?;
        self.file.sync_data()?;
        self.next = 1 - self.next;
        Ok(())
    }
}

/// Returns what was last seen of a store, and in which file that stands.
pub fn look(heads: &Path, store: &Path) -> Option<(Seen, PathBuf)> {
    let path = name_of(heads, store);
    Some((read(&path)?, path))
}

/// Returns what was seen of the same store at another place, the newest first of all, and where it lay.
pub fn elsewhere(heads: &Path, store: &Path, first: ObjectHash) -> Option<(Seen, PathBuf)> {
    let own = name_of(heads, store);
    let files = fs::read_dir(heads).ok()?.flatten().map(|entry| entry.path());
    let others = files.filter(|path| *path != own && path.extension().is_some_and(|e| e == SUFFIX));
    let same = others.filter_map(|path| Some((read(&path)?, place(&path)?))).filter(|(s, _)| s.first == Some(first));
    same.max_by_key(|(seen, _)| (seen.operation, seen.record))
}

/// Returns the files of heads that did not fit when the store was opened, until the user accepts what is there.
pub fn misfits(heads: &Path, store: &Path) -> Vec<(Seen, PathBuf)> {
    let own = name_of(heads, store);
    let begin = format!("{}.was-", own.file_name().unwrap_or_default().to_string_lossy());
    let files = fs::read_dir(heads).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = files.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begin)));
    let mut found: Vec<_> = ours.filter_map(|path| Some((read(&path)?, path))).collect();
    found.sort_by(|a, b| a.1.cmp(&b.1));
    found
}

/// Puts a head aside that does not fit; a new one is begun by the next [`Witness::open`].
///
/// # Errors
/// What the system says.
pub fn put_aside(heads: &Path, store: &Path) -> io::Result<PathBuf> {
    let own = name_of(heads, store);
    let aside = free_name(&own, "was");
    fs::rename(own, &aside)?;
    sync_folder(heads)?;
    Ok(aside)
}

/// Takes what is in the store now for the truth: heads that did not fit are forgotten.
///
/// # Errors
/// What the system says.
pub fn accept(heads: &Path, store: &Path) -> io::Result<usize> {
    let misfits = misfits(heads, store);
    for (_, path) in &misfits {
        fs::remove_file(path)?;
    }
    match fs::remove_file(name_of(heads, store)) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
        Ok(()) | Err(_) => {}
    }
    Ok(misfits.len())
}

/// Returns the file in which the result of the last check stands.
pub fn result_file(heads: &Path, store: &Path) -> PathBuf {
    name_of(heads, store).with_extension("checked")
}

/// One file for each place of a store.
fn name_of(heads: &Path, store: &Path) -> PathBuf {
    let name = ContentHasher::new("store").bytes(absolute(store).as_os_str().as_encoded_bytes()).finish();
    let hex = ObjectHash::new(name).to_hex();
    heads.join(format!("{}.{SUFFIX}", hex.get(..16).unwrap_or(&hex)))
}

fn absolute(store: &Path) -> PathBuf {
    let full = store.canonicalize().or_else(|_| std::path::absolute(store));
    full.unwrap_or_else(|_| store.to_path_buf())
}

fn read(path: &Path) -> Option<Seen> {
    let file = File::open(path).ok()?;
    [slot(&file, 0), slot(&file, 1)].into_iter().flatten().max_by_key(|seen| (seen.operation, seen.record))
}

/// Returns where the store of a file lay.
fn place(path: &Path) -> Option<PathBuf> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(bytes.get(2 * SLOT..)?).into_owned();
    text.lines().find_map(|line| line.strip_prefix("store ").map(PathBuf::from))
}

fn slot(file: &File, at: u64) -> Option<Seen> {
    let mut bytes = [0; SLOT];
    file.read_exact_at(&mut bytes, at * SLOT as u64).ok()?;
    let (content, sum) = std::str::from_utf8(&bytes).ok()?.trim_end().rsplit_once(' ')?;
    if *sum != *ObjectHash::new(ContentHasher::new("head").text(content).finish()).to_hex() {
        return None;
    }
    let mut words = content.strip_prefix(MAGIC)?.split_whitespace();
    let mut word = || words.next();
    let hash = |word: &str| (word != NONE).then(|| ObjectHash::from_hex(word));
    let optional = |word: Option<&str>| match hash(word?) {
        None => Some(None),
        Some(found) => Some(Some(found?)),
    };
    Some(Seen {
        first: optional(word())?,
        operation: word()?.parse().ok()?,
        hash: optional(word())?,
        record: word()?.parse().ok()?,
        records: ObjectHash::from_hex(word()?)?,
        at: word()?.parse().ok()?,
    })
}

fn written(seen: &Seen) -> [u8; SLOT] {
    let hash = |hash: Option<ObjectHash>| hash.map_or_else(|| NONE.to_string(), |hash| hash.to_hex().to_string());
    let content = format!(
        "{MAGIC} {} {} {} {} {} {}",
        hash(seen.first),
        seen.operation,
        hash(seen.hash),
        seen.record,
        seen.records.to_hex(),
        seen.at
    );
    let sum = ObjectHash::new(ContentHasher::new("head").text(&content).finish()).to_hex();
    let mut bytes = [b' '; SLOT];
    for (to, from) in bytes.iter_mut().zip(format!("{content} {sum}").into_bytes()) {
        *to = from;
    }
    if let Some(last) = bytes.last_mut() {
        *last = b'\n';
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::memory::operation::Why;

    fn operation(last: Option<&Operation>) -> Operation {
        let why = Why {
            cause: "c".to_string(),
            origin: "o".to_string(),
            at: jiff::Timestamp::UNIX_EPOCH,
            note: String::new(),
        };
        Operation::after(last, ObjectHash::new([7; 32]), why)
    }

    #[test]
    fn a_torn_slot_leaves_the_one_before() {
        let (heads, store) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let mut last = operation(None);
        for _ in 0..4 {
            let mut witness = Witness::open(heads.path(), store.path()).expect("it opens");
            witness.note(Some(&last), &[], jiff::Timestamp::UNIX_EPOCH).expect("it is noted");
            last = operation(Some(&last));
        }
        let (seen, path) = look(heads.path(), store.path()).expect("it is there");
        assert_eq!((seen.operation, seen.first), (4, Some(operation(None).hash())));
        assert_eq!(place(&path), store.path().canonicalize().ok());
        let whole = fs::read(&path).expect("it is read");
        for at in (0..2 * SLOT).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, &bytes).expect("it is written");
            let found = look(heads.path(), store.path()).expect("one slot is left").0.operation;
            assert!(found == 3 || found == 4, "{at}: {found}");
        }
    }
}
