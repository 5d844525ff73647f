//! The plain log: what only the store knows, entry by entry, readable without a database.
//!
//! An entry is its length (four bytes, little-endian), the BLAKE3 of its bytes, its bytes (JSON), and
//! its length again, so that the last entry can be found from the end.
//! An entry that is damaged is stepped over and named; the ones behind it count.

use crate::domain::id::{ObjectHash, OperationId};
use crate::domain::memory::operation::{Operation, Why};
use crate::domain::memory::store::Record;
use crate::edge::store::open::sync_folder;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What the file begins with.
const MAGIC: &[u8] = b"passepartout log 1\n";
/// Bytes of an entry beside its content.
const FRAME: u64 = 4 + 32 + 4;
/// The longest entry that is believed, in bytes.
const MAX_ENTRY: u64 = 1 << 30;

/// A longer log is not checked as a whole at each start: this many bytes at its end are. `memory verify` checks all.
const MAX_CHECKED: u64 = 64 << 20;
/// What the content of each entry begins with: where one is damaged, the next is looked for by this.
const BEGIN: &[u8] = b"{\"last_operation\":";
/// How many bytes are read at once while the next entry is looked for.
const WINDOW: usize = 1 << 20;

/// One entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Operations, oldest first.
    pub operations: Vec<Operation>,
    /// Records, oldest first.
    pub records: Vec<Record>,
}

impl Entry {
    /// Returns whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.records.is_empty()
    }
}

/// How far a log, or a store, has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// The last operation.
    pub operation: u64,
    /// The last record.
    pub record: u64,
}

/// A stretch of a log that holds no whole entry, with whole ones behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Where it begins, in bytes.
    pub at: u64,
    /// How long it is, in bytes.
    pub bytes: u64,
}

impl std::fmt::Display for Hole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "bytes {} to {}", self.at, self.at + self.bytes)
    }
}

/// What reading a log from its beginning came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Where the last whole entry ends.
    pub end: u64,
    /// What the entries cover.
    pub reach: Reach,
    /// How many whole entries there are.
    pub entries: u64,
    /// The damaged stretches between whole entries.
    pub holes: Vec<Hole>,
}

/// The log, open for appending.
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Damaged stretches that were found when it was opened.
    pub holes: Vec<Hole>,
    /// Where the last whole entry ends.
    end: u64,
    /// What the entries cover.
    pub reach: Reach,
}

impl Journal {
    /// Opens or makes the log; what cannot be read at its end is put aside in a file of its own.
    ///
    /// Returns the path of that file, if there was need for one.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> io::Result<(Journal, Option<PathBuf>)> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let length = file.metadata()?.len();
        let mut journal = Journal {
            path: path.to_path_buf(),
            file: file.try_clone()?,
            holes: Vec::new(),
            end: 0,
            reach: Reach::default(),
        };
        if length == 0 {
            file.write_all(MAGIC)?;
            file.sync_all()?;
            journal.end = MAGIC.len() as u64;
            return Ok((journal, None));
        }
        let last = if length > MAX_CHECKED { last_entries(&mut file, length, MAX_CHECKED) } else { None };
        let found = match last {
            Some(reach) => Scan { end: length, reach, ..Scan::default() },
            None => scan(&mut file, length, &mut |_| {})?,
        };
        (journal.reach, journal.end, journal.holes) = (found.reach, found.end, found.holes);
        let aside = (journal.end < length).then(|| journal.put_aside(length)).transpose()?;
        Ok((journal, aside))
    }

    /// Appends one entry and waits until it is on the disk.
    ///
    /// # Errors
    /// What the system says; the log is then as it was.
    pub fn append(&mut self, entry: &Entry) -> io::Result<()> {
        if entry.is_empty() {
            return Ok(());
        }
        let mut reach = self.reach;
        cover(&mut reach, entry);
        let bytes = serde_json::to_vec(&stored(entry, reach))?;
        let length = u32::try_from(bytes.len()).map_err(|_| io::Error::other("an entry of more than 4 GB"))?;
        let mut frame = Vec::with_capacity(bytes.len() + FRAME as usize);
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(blake3::hash(&bytes).as_bytes());
        frame.extend_from_slice(&bytes);
        frame.extend_from_slice(&length.to_le_bytes());
        let written = self
            .file
            .seek(SeekFrom::Start(self.end))
            .and_then(|_| self.file.write_all(&frame))
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Half an entry would be put aside at the next start anyway; this only keeps the file tidy.
            let _ = self.file.set_len(self.end);
            return Err(error);
        }
        self.end += frame.len() as u64;
        self.reach = reach;
        Ok(())
    }

    /// Hands every entry to `visit`, from the first.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&mut self, visit: &mut dyn FnMut(Entry)) -> io::Result<()> {
        scan(&mut self.file, self.end, visit).map(|_| ())
    }

    /// Returns whether its file was removed while it is open here.
    pub fn removed(&self) -> bool {
        self.file.metadata().is_ok_and(|meta| std::os::unix::fs::MetadataExt::nlink(&meta) == 0)
    }

    /// Writes everything that was appended into another file.
    ///
    /// # Errors
    /// What the system says.
    pub fn copy_to(&mut self, path: &Path) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        io::copy(&mut Read::by_ref(&mut self.file).take(self.end), &mut copy)?;
        copy.sync_all()
    }

    /// Keeps this log under another name and puts a new one in its place that `fill` writes; returns the other name.
    ///
    /// # Errors
    /// What the system says, or `fill`; this log is then as it was.
    pub fn replace(&mut self, fill: &mut dyn FnMut(&mut Journal) -> io::Result<()>) -> io::Result<PathBuf> {
        let new = self.path.with_extension("log.new");
        match std::fs::remove_file(&new) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            Ok(()) | Err(_) => {}
        }
        let (mut journal, _) = Journal::open(&new)?;
        fill(&mut journal)?;
        let aside = free_name(&self.path, "damaged");
        // A link first: at no moment is there no log.
        std::fs::hard_link(&self.path, &aside).or_else(|_| std::fs::rename(&self.path, &aside))?;
        std::fs::rename(&new, &self.path)?;
        sync_folder(self.path.parent().unwrap_or(Path::new(".")))?;
        journal.path = std::mem::take(&mut self.path);
        *self = journal;
        Ok(aside)
    }

    /// Moves what follows the last whole entry into a file of its own: nothing is thrown away.
    fn put_aside(&mut self, length: u64) -> io::Result<PathBuf> {
        let aside = free_name(&self.path, "torn");
        self.file.seek(SeekFrom::Start(self.end))?;
        let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
        io::copy(&mut Read::by_ref(&mut self.file).take(length - self.end), &mut copy)?;
        copy.sync_all()?;
        // The copy must be there before what it was copied from is cut off.
        sync_folder(aside.parent().unwrap_or(Path::new(".")))?;
        if self.end == 0 {
            self.file.set_len(0)?;
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(MAGIC)?;
            self.end = MAGIC.len() as u64;
        }
        self.file.set_len(self.end)?;
        self.file.sync_all()?;
        Ok(aside)
    }
}

/// Returns a name beside `path` that no file has yet.
pub fn free_name(path: &Path, what: &str) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    (1..u32::MAX)
        .map(|n| path.with_file_name(format!("{name}.{what}-{n}")))
        .find(|candidate| !candidate.exists())
        .unwrap_or_else(|| path.with_file_name(format!("{name}.{what}")))
}

fn cover(reach: &mut Reach, entry: &Entry) {
    reach.operation = entry.operations.iter().map(|o| o.id.0).fold(reach.operation, u64::max);
    reach.record = entry.records.iter().map(|r| r.seq).fold(reach.record, u64::max);
}

/// Reads a log that may be open elsewhere, from its first entry to its last whole one.
///
/// # Errors
/// What the system says.
pub fn read_whole(path: &Path, visit: &mut dyn FnMut(Entry)) -> io::Result<(Scan, u64)> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok((scan(&mut file, length, visit)?, length))
}

/// Reads forward; what is no whole entry is stepped over.
fn scan(file: &mut File, length: u64, visit: &mut dyn FnMut(Entry)) -> io::Result<Scan> {
    let mut found = Scan::default();
    file.seek(SeekFrom::Start(0))?;
    let mut reader = io::BufReader::with_capacity(1 << 16, file);
    let mut magic = vec![0; MAGIC.len()];
    let mut at = MAGIC.len() as u64;
    if reader.read_exact(&mut magic).is_err() || magic != MAGIC {
        at = 0;
    } else {
        found.end = at;
    }
    loop {
        if at > 0
            && let Some((entry, reach, size)) = next_entry(&mut reader, length.saturating_sub(at))
        {
            at += size;
            (found.end, found.reach) = (at, reach);
            found.entries += 1;
            visit(entry);
            continue;
        }
        let Some(next) = next_begin(reader.get_mut(), at, length)? else { return Ok(found) };
        found.holes.push(Hole { at, bytes: next - at });
        at = next;
        reader.seek(SeekFrom::Start(at))?;
    }
}

/// Returns where the first whole entry behind a place begins.
fn next_begin(file: &mut File, behind: u64, length: u64) -> io::Result<Option<u64>> {
    let finder = memchr::memmem::Finder::new(BEGIN);
    let front = FRAME - 4;
    let mut at = behind + 1;
    let mut window = Vec::new();
    while at < length {
        file.seek(SeekFrom::Start(at))?;
        window.clear();
        Read::by_ref(file).take(WINDOW as u64).read_to_end(&mut window)?;
        for place in finder.find_iter(&window) {
            let Some(begin) = (at + place as u64).checked_sub(front).filter(|begin| *begin > behind) else { continue };
            file.seek(SeekFrom::Start(begin))?;
            if next_entry(file, length - begin).is_some() {
                return Ok(Some(begin));
            }
        }
        // The mark may lie across the border of two windows.
        at += (window.len().max(BEGIN.len()) - BEGIN.len() + 1) as u64;
    }
    Ok(None)
}

/// Reads the entry at the reader's place; `None` when what is there is no whole entry.
fn next_entry(reader: &mut impl Read, room: u64) -> Option<(Entry, Reach, u64)> {
    let mut number = [0; 4];
    let mut hash = [0; 32];
    reader.read_exact(&mut number).ok()?;
    let length = u64::from(u32::from_le_bytes(number));
    // A length is checked before it is believed.
    if length > MAX_ENTRY || length + FRAME > room {
        return None;
    }
    reader.read_exact(&mut hash).ok()?;
    let mut bytes = vec![0; length as usize];
    reader.read_exact(&mut bytes).ok()?;
    reader.read_exact(&mut number).ok()?;
    if u64::from(u32::from_le_bytes(number)) != length || blake3::hash(&bytes) != hash {
        return None;
    }
    let stored: StoredEntry = serde_json::from_slice(&bytes).ok()?;
    let reach = Reach { operation: stored.last_operation, record: stored.last_record };
    Some((stored.into_entry()?, reach, length + FRAME))
}

/// Reads backwards, entry by entry, as many bytes as are asked for; returns what the log covers, and `None` when one
/// of these entries is not whole.
fn last_entries(file: &mut File, length: u64, wanted: u64) -> Option<Reach> {
    let (mut end, mut found) = (length, None);
    while end > MAGIC.len() as u64 && length - end < wanted {
        let mut number = [0; 4];
        file.seek(SeekFrom::Start(end.checked_sub(4)?)).ok()?;
        file.read_exact(&mut number).ok()?;
        let size = u64::from(u32::from_le_bytes(number)) + FRAME;
        end = end.checked_sub(size).filter(|begin| *begin >= MAGIC.len() as u64)?;
        file.seek(SeekFrom::Start(end)).ok()?;
        let (_, reach, _) = next_entry(file, size)?;
        found = found.or(Some(reach));
    }
    found
}

#[derive(Serialize, Deserialize)]
struct StoredEntry {
    /// The last operation of the log up to and with this entry.
    last_operation: u64,
    /// Likewise the last record.
    last_record: u64,
    operations: Vec<StoredOperation>,
    records: Vec<StoredRecord>,
}

#[derive(Serialize, Deserialize)]
struct StoredOperation {
    id: u64,
    parent: Option<String>,
    root: String,
    cause: String,
    origin: String,
    at: String,
    note: String,
}

#[derive(Serialize, Deserialize)]
struct StoredRecord {
    seq: u64,
    at: String,
    kind: String,
    key: String,
    body: serde_json::Value,
}

fn stored(entry: &Entry, reach: Reach) -> StoredEntry {
    let operation = |o: &Operation| StoredOperation {
        id: o.id.0,
        parent: o.parent.map(|parent| parent.to_hex()),
        root: o.root.to_hex(),
        cause: o.why.cause.clone(),
        origin: o.why.origin.clone(),
        at: o.why.at.to_string(),
        note: o.why.note.clone(),
    };
    let record = |r: &Record| StoredRecord {
        seq: r.seq,
        at: r.at.to_string(),
        kind: r.kind.clone(),
        key: r.key.clone(),
        body: r.body.clone(),
    };
    StoredEntry {
        last_operation: reach.operation,
        last_record: reach.record,
        operations: entry.operations.iter().map(operation).collect(),
        records: entry.records.iter().map(record).collect(),
    }
}

impl StoredEntry {
    fn into_entry(self) -> Option<Entry> {
        let operation = |o: StoredOperation| {
            Some(Operation {
                id: OperationId(o.id),
                parent: o.parent.map(|parent| ObjectHash::from_hex(&parent).ok_or(())).transpose().ok()?,
                root: ObjectHash::from_hex(&o.root)?,
                why: Why { cause: o.cause, origin: o.origin, at: o.at.parse().ok()?, note: o.note },
            })
        };
        let record = |r: StoredRecord| {
            Some(Record { seq: r.seq, at: r.at.parse().ok()?, kind: r.kind, key: r.key, body: r.body })
        };
        Some(Entry {
            operations: self.operations.into_iter().map(operation).collect::<Option<_>>()?,
            records: self.records.into_iter().map(record).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(seq: u64) -> Entry {
        let record = Record {
            seq,
            at: jiff::Timestamp::UNIX_EPOCH,
            kind: "k".to_string(),
            key: seq.to_string(),
            body: json!({ "last_operation": "words ".repeat(20) }),
        };
        Entry { operations: Vec::new(), records: vec![record] }
    }

    fn log(folder: &Path) -> PathBuf {
        let path = folder.join("memory.log");
        let (mut journal, _) = Journal::open(&path).expect("it opens");
        (1..=50).for_each(|seq| journal.append(&entry(seq)).expect("it is appended"));
        path
    }

    #[test]
    fn of_a_long_log_the_end_is_checked_and_a_damaged_end_leads_to_all_of_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = log(folder.path());
        let whole = std::fs::read(&path).expect("it is read");
        let length = whole.len() as u64;
        let check = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("it is written");
            last_entries(&mut File::open(&path).expect("it opens"), length, length / 4)
        };
        let reach = Reach { operation: 0, record: 50 };
        assert_eq!(check(&whole), Some(reach));
        for at in (MAGIC.len()..whole.len()).step_by(61) {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            let found = check(&bytes);
            match at as u64 {
                at if at > length * 3 / 4 => assert_eq!(found, None, "{at}"),
                // The entry on the border may be among those that are read.
                at if at < length / 2 => assert_eq!(found, Some(reach), "{at}"),
                _ => {}
            }
        }
    }

    #[test]
    fn every_damaged_place_is_stepped_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = log(folder.path());
        let whole = std::fs::read(&path).expect("it is read");
        for at in (0..whole.len()).step_by(29) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).expect("it is written");
            let mut seen = Vec::new();
            let (scan, _) =
                read_whole(&path, &mut |entry| seen.extend(entry.records.iter().map(|r| r.seq))).expect("it is read");
            // The first line is no entry; a byte of any entry costs that one.
            let lost = usize::from(at >= MAGIC.len());
            assert_eq!(seen.len(), 50 - lost, "byte {at}: {seen:?}");
            let inside = scan.holes.iter().any(|hole| (hole.at..hole.at + hole.bytes).contains(&(at as u64)));
            assert!(inside || scan.end <= at as u64, "byte {at}: {scan:?}");
        }
    }
}
