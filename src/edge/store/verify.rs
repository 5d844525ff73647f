//! Proves a store: the chain of operations, what hangs on it, the plain log beside it, and the head noted outside.
//!
//! It only reads, also beside a process that owns the store, and goes on behind what is broken.

use crate::domain::count::counted;
use crate::domain::id::ObjectHash;
use crate::domain::memory::files::StoredEntry;
use crate::domain::memory::store::{StoreError, content_name};
use crate::domain::memory::view::View;
use crate::edge::store::journal::{Entry, Reach, read_whole};
use crate::edge::store::lock::owner_of;
use crate::edge::store::objects::{self, ReadError};
use crate::edge::store::open::connect_to_read;
use crate::edge::store::rows::{OPERATION, operation_of, record_of};
use crate::edge::store::witness::{self, Seen, chained};
use crate::edge::store::{cards, compact};
use rusqlite::Connection;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// How many broken places are named; more are counted.
const MOST_NAMED: usize = 500;

/// What kind of thing is broken; it decides what repairs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The database as SQLite sees it: pages, indexes.
    Database,
    /// The chain of operations.
    Operation,
    /// What was decided.
    Record,
    /// A piece of content, by its hash.
    Object,
    /// The plain log beside the database.
    Log,
    /// The head that was noted outside the store does not fit.
    Head,
}

/// One broken place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Break {
    /// What kind of thing it is.
    pub what: What,
    /// What and where, for people.
    pub text: String,
}

/// What checking a store came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// When the first operation was made, if there is one.
    pub since: Option<String>,
    /// How many operations there are.
    pub operations: u64,
    /// How many records.
    pub records: u64,
    /// How many objects and texts.
    pub objects: u64,
    /// How many bytes these have.
    pub bytes: u64,
    /// How many of them nothing refers to.
    pub unreferenced: u64,
    /// How many entries the plain log has.
    pub log_entries: u64,
    /// How many bytes it has.
    pub log_bytes: u64,
    /// Where it breaks.
    pub breaks: Vec<Break>,
    /// How many broken places are not named.
    pub more: u64,
    /// What is no damage and should be known.
    pub notes: Vec<String>,
}

impl Proof {
    /// Returns whether nothing is broken.
    pub fn whole(&self) -> bool {
        self.breaks.is_empty()
    }

    /// Returns whether something of a kind is broken.
    pub fn broken(&self, what: What) -> bool {
        self.breaks.iter().any(|place| place.what == what)
    }

    /// Returns the first line for people: that it is whole, or that it is not.
    pub fn verdict(&self) -> String {
        let all = format!(
            "{}, {}, {} in {:.1} MB",
            counted(self.operations as usize, "operation"),
            counted(self.records as usize, "record"),
            counted(self.objects as usize, "object"),
            self.bytes as f64 / 1e6
        );
        match (self.breaks.len() as u64 + self.more, &self.since) {
            (0, Some(since)) => format!("unbroken since {since}: {all}"),
            (0, None) => format!("unbroken, and no operation yet: {all}"),
            (broken, _) => format!("BROKEN in {}: {all}", counted(broken as usize, "place")),
        }
    }

    /// Returns all of it for people.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.verdict());
        for place in &self.breaks {
            text.push_str(&format!("- {}\n", place.text));
        }
        if self.more > 0 {
            text.push_str(&format!("- and {} more\n", self.more));
        }
        for note in &self.notes {
            text.push_str(&format!("{note}\n"));
        }
        if self.breaks.iter().any(|place| place.what != What::Head) {
            text.push_str("`passepartout doctor --fix` makes good what the log and the Org files hold.\n");
        }
        text
    }

    fn add(&mut self, what: What, text: impl Into<String>) {
        match self.breaks.len() < MOST_NAMED {
            true => self.breaks.push(Break { what, text: text.into() }),
            false => self.more += 1,
        }
    }
}

/// Checks everything of a store, and its head against what is noted in `heads`, if that is given.
///
/// # Errors
/// When there is no store, it is newer than this program, or the system refuses; damage is no error.
pub fn verify(folder: &Path, heads: Option<&Path>) -> Result<Proof, StoreError> {
    let mut proof = Proof::default();
    let owned = owner_of(folder).is_some();
    // Before the database: an owner that saves meanwhile is then ahead of its head, and never behind it.
    let seen = heads.and_then(|heads| witness::look(heads, folder)).map(|(seen, _)| seen);
    let connection = match connect_to_read(&folder.join("memory.sqlite")) {
        Ok(connection) => Some(connection),
        Err(StoreError::Damaged { why, .. }) => {
            proof.add(What::Database, format!("the database cannot be read: {why}"));
            None
        }
        Err(error) => return Err(error),
    };
    let mut walk = Walk { proof, owned, seen, operations: BTreeMap::new(), records: BTreeMap::new() };
    if let Some(connection) = &connection {
        walk.pages(connection);
        walk.chain(connection);
        walk.decisions(connection);
        walk.contents(connection);
    }
    walk.log(&folder.join("memory.log"), connection.is_some());
    if let Some(heads) = heads {
        walk.heads(heads, folder, connection.is_some());
    }
    Ok(walk.proof)
}

/// What one check has come across.
struct Walk {
    proof: Proof,
    /// Another process owns the store: its log may be ahead of what is seen here.
    owned: bool,
    /// What was noted outside.
    seen: Option<Seen>,
    /// Hash and root of each operation.
    operations: BTreeMap<u64, Step>,
    /// A sum of each record.
    records: BTreeMap<u64, ObjectHash>,
}

/// What is kept of an operation.
struct Step {
    hash: ObjectHash,
    root: ObjectHash,
    at: jiff::Timestamp,
}

impl Walk {
    /// Lets SQLite check its pages and indexes.
    fn pages(&mut self, connection: &Connection) {
        let said = connection.prepare("PRAGMA integrity_check(100)").and_then(|mut statement| {
            let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
            lines.collect::<rusqlite::Result<Vec<_>>>()
        });
        match said {
            Ok(lines) => {
                for line in lines.into_iter().filter(|line| line != "ok") {
                    self.proof.add(What::Database, format!("the database: {}", line.replace('\n', " ")));
                }
            }
            Err(error) => self.proof.add(What::Database, format!("the database: {error}")),
        }
    }

    /// Walks the chain of operations.
    fn chain(&mut self, connection: &Connection) {
        let walked = (|| -> rusqlite::Result<()> {
            let sql = format!("SELECT {OPERATION}, hash FROM operations ORDER BY id");
            let mut statement = connection.prepare(&sql)?;
            let mut rows = statement.query([])?;
            let mut last: Option<(u64, ObjectHash)> = None;
            while let Some(row) = rows.next()? {
                let id: i64 = row.get(0)?;
                let operation = match operation_of(row) {
                    Ok(operation) => operation,
                    Err(error) => {
                        self.proof.add(What::Operation, format!("operation {id} cannot be read: {error}"));
                        continue;
                    }
                };
                let id = operation.id.0;
                let hash = operation.hash();
                if row.get::<_, [u8; 32]>(1).ok() != Some(*hash.as_bytes()) {
                    self.proof.add(What::Operation, format!("operation {id} was changed after it was written"));
                }
                let expected = last.map_or(1, |(id, _)| id + 1);
                if id > expected {
                    let lost = stretch(expected, id - 1);
                    self.proof.add(What::Operation, format!("{} missing", of("operation", &lost)));
                } else if operation.parent != last.map(|(_, hash)| hash) {
                    let before = last.map_or(0, |(id, _)| id);
                    let text = format!(
                        "the log of operations is broken between {before} and {id}: one of them was changed after it was written"
                    );
                    self.proof.add(What::Operation, text);
                }
                if self.proof.since.is_none() {
                    self.proof.since = Some(operation.why.at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string());
                }
                self.proof.operations += 1;
                self.operations.insert(id, Step { hash, root: operation.root, at: operation.why.at });
                last = Some((id, hash));
            }
            let head: Option<i64> =
                connection.query_row("SELECT max(operation) FROM heads WHERE name = 'memory'", [], |row| row.get(0))?;
            if head.and_then(|head| u64::try_from(head).ok()) != last.map(|(id, _)| id) {
                self.proof.add(
                    What::Operation,
                    format!(
                        "the head is operation {}, and the last one is {}",
                        head.unwrap_or(0),
                        last.map_or(0, |(id, _)| id)
                    ),
                );
            }
            Ok(())
        })();
        if let Err(error) = walked {
            self.proof.add(What::Database, format!("the operations cannot be read on: {error}"));
        }
    }

    /// Reads every record, and follows their hash.
    fn decisions(&mut self, connection: &Connection) {
        let mut sum = ObjectHash::new([0; 32]);
        let walked = (|| -> rusqlite::Result<()> {
            let mut statement = connection.prepare("SELECT seq, at, kind, key, body FROM records ORDER BY seq")?;
            let mut rows = statement.query([])?;
            let mut last = 0;
            while let Some(row) = rows.next()? {
                let seq: i64 = row.get(0)?;
                let seq = u64::try_from(seq).unwrap_or(0);
                if seq != last + 1 {
                    let lost = stretch(last + 1, seq.saturating_sub(1));
                    self.proof.add(What::Record, format!("{} missing", of("record", &lost)));
                }
                last = seq;
                self.proof.records += 1;
                let record = match record_of(row) {
                    Ok(record) => record,
                    Err(error) => {
                        self.proof.add(What::Record, format!("record {seq} cannot be read: {error}"));
                        continue;
                    }
                };
                sum = chained(sum, &record);
                if self.seen.as_ref().is_some_and(|seen| seen.record == seq && seen.records != sum) {
                    let text =
                        format!("records up to {seq} are not what they were at the last save: one of them was changed");
                    self.proof.add(What::Head, text);
                }
                self.records.insert(seq, chained(ObjectHash::new([0; 32]), &record));
            }
            Ok(())
        })();
        if let Err(error) = walked {
            self.proof.add(What::Database, format!("the records cannot be read on: {error}"));
        }
    }

    /// Checks every object, and walks from each root to every text.
    fn contents(&mut self, connection: &Connection) {
        if let Err(error) = self.walk_contents(connection) {
            self.proof.add(What::Database, format!("the objects cannot be read on: {error}"));
        }
    }

    fn walk_contents(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut objects: HashMap<ObjectHash, u64> = HashMap::new();
        let damaged = objects::verify_each(connection, &mut |name, bytes| {
            objects.insert(name, bytes);
        })?;
        for error in damaged {
            self.proof.add(What::Object, short(&error));
        }
        let mut texts: HashMap<ObjectHash, u64> = HashMap::new();
        let mut otherwise = 0;
        let (shapes, shaped) = (cards::query_shapes(connection)?, cards::query_shaped(connection)?);
        let mut statement = connection.prepare("SELECT document, length(manifest) FROM texts")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let document = ObjectHash::new(row.get(0)?);
            let length: i64 = row.get(1)?;
            texts.insert(document, u64::try_from(length).unwrap_or(0));
            match objects::content(connection, document) {
                Ok(bytes) if content_name(&bytes) == document => {}
                Ok(bytes) => {
                    let text = String::from_utf8(bytes).map(Arc::from).unwrap_or_default();
                    match shaped.get(&document).and_then(|shape| shapes.get(shape)) {
                        Some(shape) if cards::makes(shape, &text, document) => {}
                        Some(_) => {
                            let text = "it is not the text that was stored, and was changed with its sum";
                            self.proof.add(What::Object, format!("text {}: {text}", brief(document)));
                        }
                        None => {
                            otherwise += usize::from(!shapes.values().any(|shape| cards::makes(shape, &text, document)))
                        }
                    }
                }
                Err(ReadError::Damaged(error)) => {
                    self.proof.add(What::Object, format!("text {}: {}", brief(document), short(&error)));
                }
                Err(ReadError::Sqlite(error)) => return Err(error),
            }
        }
        if otherwise > 0 {
            let text = format!(
                "{} divided into headings otherwise than when stored: by an older version of the program, or changed by hand",
                counted(otherwise, "text")
            );
            self.proof.notes.push(text);
        }
        self.proof.objects = (objects.len() + texts.len()) as u64;
        self.proof.bytes = objects.values().sum::<u64>() + texts.values().sum::<u64>();
        let mut used = HashSet::new();
        self.walk_roots(connection, &texts, &mut used)?;
        used.extend(compact::named(connection, 0)?);
        for document in texts.keys().filter(|document| used.contains(*document)).copied().collect::<Vec<_>>() {
            objects::below(connection, document, &mut |name| {
                used.insert(name);
            })?;
        }
        self.proof.unreferenced =
            objects.keys().chain(texts.keys()).filter(|name| !used.contains(*name)).count() as u64;
        if self.proof.unreferenced > 0 {
            let text = format!(
                "{} belong to no operation that is kept; `passepartout memory compact` frees them",
                counted(self.proof.unreferenced as usize, "object")
            );
            self.proof.notes.push(text);
        }
        Ok(())
    }

    /// Walks from every root through its branches to the names of its texts.
    fn walk_roots(
        &mut self,
        connection: &Connection,
        texts: &HashMap<ObjectHash, u64>,
        used: &mut HashSet<ObjectHash>,
    ) -> rusqlite::Result<()> {
        // The state before the first kept operation is kept, too.
        let kept = compact::kept_from(connection)?.saturating_sub(1);
        let empty = View::default().root();
        let mut let_go = 0u64;
        let steps: Vec<(u64, ObjectHash, jiff::Timestamp)> =
            self.operations.iter().map(|(id, step)| (*id, step.root, step.at)).collect();
        for (id, root, at) in steps {
            let mut waiting = vec![root];
            let mut gaps = Vec::new();
            while let Some(name) = waiting.pop() {
                if name == empty || !used.insert(name) {
                    continue;
                }
                match objects::branch(connection, name) {
                    Ok(entries) => {
                        for entry in entries {
                            match entry {
                                StoredEntry::Branch(below) => waiting.push(below),
                                StoredEntry::File(file, document) => {
                                    if used.insert(document) && !texts.contains_key(&document) {
                                        gaps.push(format!("the text of {file}"));
                                    }
                                }
                            }
                        }
                    }
                    Err(ReadError::Damaged(error)) => gaps.push(short(&error)),
                    Err(ReadError::Sqlite(error)) => return Err(error),
                }
            }
            let_go += u64::from(!gaps.is_empty() && id < kept);
            for gap in gaps.into_iter().filter(|_| id >= kept) {
                let when = at.strftime("%Y-%m-%d %H:%M");
                self.proof.add(What::Object, format!("operation {id} ({when}): {gap} is lost"));
            }
        }
        if kept > 1 && let_go > 0 {
            let text = format!(
                "contents of {} before operation {} were let go by `passepartout memory compact`; their hashes are all there",
                counted(let_go as usize, "operation"),
                kept + 1
            );
            self.proof.notes.push(text);
        }
        Ok(())
    }

    /// Compares the plain log with the database, entry by entry.
    fn log(&mut self, path: &Path, database: bool) {
        let mut covered = Reach::default();
        let mut found: (Vec<u64>, Vec<u64>) = Default::default();
        let mut differ = Vec::new();
        let (operations, records) = (&self.operations, &self.records);
        let read = read_whole(path, &mut |Entry { operations: steps, records: decisions }| {
            for operation in steps {
                covered.operation = covered.operation.max(operation.id.0);
                found.0.push(operation.id.0);
                if operations.get(&operation.id.0).is_some_and(|step| step.hash != operation.hash()) {
                    differ.push(format!("operation {} is another one in the plain log", operation.id.0));
                }
            }
            for record in decisions {
                covered.record = covered.record.max(record.seq);
                found.1.push(record.seq);
                let sum = chained(ObjectHash::new([0; 32]), &record);
                if records.get(&record.seq).is_some_and(|known| *known != sum) {
                    differ.push(format!(
                        "record {} ({} {}) is another one in the plain log",
                        record.seq, record.kind, record.key
                    ));
                }
            }
        });
        let (scan, length) = match read {
            Ok(read) => read,
            Err(why) => {
                return self.proof.add(What::Log, format!("{}: the plain log cannot be read: {why}", path.display()));
            }
        };
        (self.proof.log_entries, self.proof.log_bytes) = (scan.entries, length);
        for text in differ {
            self.proof.add(What::Record, text);
        }
        for hole in &scan.holes {
            self.proof.add(What::Log, format!("{}: {hole} are damaged", path.display()));
        }
        // What another process is just writing is no whole entry yet.
        if scan.end < length && !self.owned {
            let text = format!("{}: bytes {} to {length}, its end, are no whole entry", path.display(), scan.end);
            self.proof.add(What::Log, text);
        }
        if database {
            self.compare("operation", covered.operation, found.0, self.operations.keys().copied().collect());
            self.compare("record", covered.record, found.1, self.records.keys().copied().collect());
        }
    }

    /// Says what stands in one of the two and not in the other.
    fn compare(&mut self, what: &str, reach: u64, mut logged: Vec<u64>, stored: Vec<u64>) {
        logged.sort_unstable();
        let is_in = |list: &[u64], number: &u64| list.binary_search(number).is_ok();
        let last = stored.last().copied().unwrap_or(0);
        let (behind, lost): (Vec<u64>, Vec<u64>) =
            stored.iter().copied().filter(|number| !is_in(&logged, number)).partition(|number| *number > reach);
        let (ahead, gone): (Vec<u64>, Vec<u64>) =
            logged.iter().copied().filter(|number| !is_in(&stored, number)).partition(|number| *number > last);
        for stretch in stretches(lost) {
            self.proof.add(What::Log, format!("{} missing in the plain log", of(what, &stretch)));
        }
        for stretch in stretches(gone) {
            self.proof.add(
                What::Record,
                format!(
                    "{} in the plain log, and missing in the database",
                    of(what, &stretch).replace(" is", " stands").replace(" are", " stand")
                ),
            );
        }
        if !behind.is_empty() {
            let text = format!("{} not in the plain log yet; the next start adds them", counted(behind.len(), what));
            self.proof.notes.push(text);
        }
        if !ahead.is_empty() && !self.owned {
            let text = format!("{} only in the plain log; the next start takes them over", counted(ahead.len(), what));
            self.proof.notes.push(text);
        }
    }

    /// Compares the head with what was noted outside at the last save.
    fn heads(&mut self, heads: &Path, folder: &Path, database: bool) {
        for (seen, path) in witness::misfits(heads, folder) {
            let text = format!(
                "the head of {} (operation {}) did not fit when the store was opened later: it was rewritten, cut off or replaced since; {} holds it; if you did that yourself: passepartout memory verify --accept",
                seen.at.strftime("%Y-%m-%d %H:%M:%S UTC"),
                seen.operation,
                path.display()
            );
            self.proof.add(What::Head, text);
        }
        if !database {
            return;
        }
        let last = |number: Option<&u64>| number.copied().unwrap_or(0);
        let reach = Reach {
            operation: last(self.operations.keys().next_back()),
            record: last(self.records.keys().next_back()),
        };
        let first = self.operations.get(&1).map(|step| step.hash);
        let moved = || first.and_then(|first| witness::elsewhere(heads, folder, first));
        match (self.seen.clone(), moved()) {
            (Some(seen), _) if seen.operation == 0 && seen.record == 0 => {}
            (Some(seen), _) => {
                let known = self.operations.get(&seen.operation).map(|step| step.hash);
                match misfit(&seen, first, known, reach) {
                    Some(text) => self.proof.add(What::Head, text),
                    None => self.proof.notes.push(format!(
                        "the head fits what was noted outside the store at {} (operation {})",
                        seen.at.strftime("%Y-%m-%d %H:%M:%S UTC"),
                        seen.operation
                    )),
                }
            }
            (None, Some((seen, place))) => {
                let known = self.operations.get(&seen.operation).map(|step| step.hash);
                match misfit(&seen, first, known, reach) {
                    None => self.proof.notes.push(format!(
                        "this store lay at {} before; its head fits what was noted there at {}",
                        place.display(),
                        seen.at.strftime("%Y-%m-%d %H:%M:%S UTC")
                    )),
                    Some(_) => self.proof.notes.push(format!(
                        "a store that began like this one lay at {}, and went on otherwise: this is a copy or an older state of it",
                        place.display()
                    )),
                }
            }
            (None, None) => self.proof.notes.push(
                "no head of this store was noted on this machine: it is new here, or was brought from another one; the next save notes it"
                    .to_string(),
            ),
        }
    }
}

/// Says why a store is not the one that was seen, if it is not.
pub fn misfit(seen: &Seen, first: Option<ObjectHash>, known: Option<ObjectHash>, now: Reach) -> Option<String> {
    let when = seen.at.strftime("%Y-%m-%d %H:%M:%S UTC");
    let way_out = "if you did that yourself: passepartout memory verify --accept";
    if now.record < seen.record {
        return Some(format!(
            "at {when} the store had {} records, and now it has {}: its end was cut off, or an older copy was put here; {way_out}",
            seen.record, now.record
        ));
    }
    if seen.operation == 0 {
        return None;
    }
    match (known, first == seen.first || seen.first.is_none()) {
        (Some(known), _) if Some(known) == seen.hash => None,
        (_, false) => Some(format!(
            "another store lies here than at {when}: its first operation is another one, so it was rewritten from the beginning or replaced; {way_out}"
        )),
        (Some(_), true) => Some(format!(
            "operation {} is not what it was at {when}: the chain was rewritten; {way_out}",
            seen.operation
        )),
        (None, true) => Some(format!(
            "at {when} the store was at operation {}, and now it is at {}: its end was cut off, or an older copy was put here; {way_out}",
            seen.operation, now.operation
        )),
    }
}

/// Returns an error without the way out, which stands at the end once.
fn short(error: &StoreError) -> String {
    match error {
        StoreError::Corrupt { expected, actual } => {
            format!("object {} holds the bytes of {}", brief(*expected), brief(*actual))
        }
        StoreError::Missing(name) => format!("object {} is missing", brief(*name)),
        other => other.to_string(),
    }
}

fn brief(name: ObjectHash) -> String {
    name.to_hex().chars().take(16).collect()
}

fn stretch(from: u64, to: u64) -> (u64, u64) {
    (from, to.max(from))
}

/// Joins neighbours.
fn stretches(numbers: Vec<u64>) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match found.last_mut() {
            Some((_, to)) if *to + 1 >= number => *to = number,
            _ => found.push((number, number)),
        }
    }
    found
}

fn of(what: &str, (from, to): &(u64, u64)) -> String {
    match from == to {
        true => format!("{what} {from} is"),
        false => format!("{what}s {from} to {to} are"),
    }
}

/// The result of a check as it is kept for the doctor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// When.
    pub at: jiff::Timestamp,
    /// Whether it was whole.
    pub whole: bool,
    /// The first line of what was said.
    pub verdict: String,
}

/// Keeps the result of a check outside the store.
///
/// # Errors
/// What the system says.
pub fn keep_result(heads: &Path, folder: &Path, proof: &Proof, at: jiff::Timestamp) -> std::io::Result<()> {
    let word = if proof.whole() { "whole" } else { "broken" };
    let text = format!("{at} {word} {}\n", proof.verdict());
    witness::replace(&witness::result_file(heads, folder), &text)
}

/// Returns the result of the last check of a store.
pub fn last_result(heads: &Path, folder: &Path) -> Option<Checked> {
    let text = std::fs::read_to_string(witness::result_file(heads, folder)).ok()?;
    let (at, rest) = text.trim_end().split_once(' ')?;
    let (word, verdict) = rest.split_once(' ')?;
    Some(Checked { at: at.parse().ok()?, whole: word == "whole", verdict: verdict.to_string() })
}
