//! Lets go of old contents, when the user says so: the log of operations and every hash stay.
//!
//! What is kept is worked out from the roots of the operations that are kept; everything else is swept.
//! A compaction is a record like any other, so the chain says what was let go and when.

use crate::domain::count::counted;
use crate::domain::id::ObjectHash;
use crate::domain::memory::files::StoredEntry;
use crate::domain::memory::store::{NewRecord, StoreError};
use crate::domain::memory::view::View;
use crate::edge::clock::local;
use crate::edge::store::disk::DiskStore;
use crate::edge::store::objects::{self, ReadError};
use crate::edge::store::rows::{insert_record, numbered, query_latest, signed, unsigned};
use rusqlite::Connection;
use serde::Serialize;
use serde_json::json;
use std::collections::HashSet;

/// The kind of the records that say what was let go.
pub const RETENTION: &str = "retention";
/// Their key.
const MEMORY: &str = "memory";
/// From how many freed bytes on the file is made smaller at once.
const WORTH_SHRINKING: u64 = 1 << 20;

/// What the user wants to keep. Nothing said: everything that an operation refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The contents of this many last days.
    pub days: Option<u32>,
    /// The contents of this many last operations.
    pub operations: Option<u64>,
}

/// What a compaction frees and keeps, or would.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compaction {
    /// Whether it was done.
    pub done: bool,
    /// How many operations there are; all of them stay in the log.
    pub operations: u64,
    /// From which operation on all contents are kept.
    pub kept_from: u64,
    /// How many operations lose contents that no kept one shares.
    pub let_go: u64,
    /// How many objects and texts stay.
    pub kept_objects: u64,
    /// Their bytes.
    pub kept_bytes: u64,
    /// How many are swept.
    pub swept_objects: u64,
    /// Their bytes.
    pub swept_bytes: u64,
    /// How long the database file was, in bytes.
    pub file_before: u64,
    /// How long it is.
    pub file_after: u64,
    /// What is kept and why, for people.
    pub reasons: Vec<String>,
    /// What went otherwise than meant, without losing anything.
    pub notes: Vec<String>,
}

impl Compaction {
    /// Returns all of it for people.
    pub fn text(&self) -> String {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let (would, are) = if self.done { ("were swept", "stay") } else { ("would be swept", "would stay") };
        let mut text = format!(
            "{} ({:.1} MB) {would}, {} ({:.1} MB) {are}\n",
            counted(self.swept_objects as usize, "object"),
            megabytes(self.swept_bytes),
            counted(self.kept_objects as usize, "object"),
            megabytes(self.kept_bytes)
        );
        if self.let_go > 0 {
            text.push_str(&format!(
                "{} before operation {} can no longer be shown or gone back to; when and why they were made stays in the log\n",
                counted(self.let_go as usize, "operation"),
                self.kept_from
            ));
        }
        for line in self.reasons.iter().chain(&self.notes) {
            text.push_str(line);
            text.push('\n');
        }
        if self.done {
            let (before, after) = (megabytes(self.file_before), megabytes(self.file_after));
            text.push_str(&format!("the database had {before:.1} MB and has {after:.1} MB\n"));
        }
        text
    }
}

/// Returns from which operation on all contents are kept, as the last compaction said; 1 without any.
///
/// # Errors
/// When the database refuses to be read.
pub fn kept_from(connection: &Connection) -> rusqlite::Result<u64> {
    let last = query_latest(connection, RETENTION, MEMORY)?;
    Ok(last.and_then(|record| record.body["kept_from"].as_u64()).unwrap_or(1))
}

/// Names of rows.
pub type Names = Vec<[u8; 32]>;

/// What stays, and what does not.
struct Sweep {
    objects: Names,
    texts: Names,
    figures: Compaction,
}

impl DiskStore {
    /// Works out what a compaction would free and keep; nothing is changed.
    ///
    /// # Errors
    /// When the database refuses to be read.
    pub fn plan_compaction(&self, keep: Keep, now: jiff::Timestamp) -> Result<Compaction, StoreError> {
        Ok(self.sweep(keep, now).map_err(self.sql())?.figures)
    }

    /// Sweeps what no kept operation refers to, and says so in a record: in one piece.
    ///
    /// # Errors
    /// When the store is only read, or the database refuses; then nothing was swept.
    pub fn compact(&mut self, keep: Keep, now: jiff::Timestamp) -> Result<Compaction, StoreError> {
        if self.owned.is_none() {
            return Err(StoreError::ReadOnly { path: self.folder.join("memory.sqlite") });
        }
        self.still_there()?;
        let sql = self.sql();
        let Sweep { objects, texts, mut figures } = self.sweep(keep, now).map_err(&sql)?;
        figures.file_before = self.size();
        if !objects.is_empty() || !texts.is_empty() {
            let record = NewRecord {
                at: now,
                kind: RETENTION.to_string(),
                key: MEMORY.to_string(),
                body: json!({
                    "kept_from": figures.kept_from, "objects": figures.swept_objects, "bytes": figures.swept_bytes,
                    "days": keep.days, "operations": keep.operations,
                }),
            };
            let record = numbered(&record, self.reach()?.record + 1);
            let transaction = self.connection.transaction().map_err(&sql)?;
            delete_all(&transaction, &objects, &texts).map_err(&sql)?;
            insert_record(&transaction, &record).map_err(&sql)?;
            transaction.commit().map_err(&sql)?;
            figures.notes.extend(self.keep_outside(&[record]));
            self.shrink(&mut figures);
        }
        figures.done = true;
        figures.file_after = self.size();
        Ok(figures)
    }

    /// Returns the objects and texts that no kept operation refers to.
    pub(super) fn unused(&self) -> rusqlite::Result<(Names, Names)> {
        let Sweep { objects, texts, .. } = self.sweep(Keep::default(), jiff::Timestamp::UNIX_EPOCH)?;
        Ok((objects, texts))
    }

    /// Gives what was freed back to the system; where that cannot be, the next saves use it.
    fn shrink(&self, figures: &mut Compaction) {
        let shrunk = match figures.swept_bytes >= WORTH_SHRINKING {
            true => self.connection.execute_batch("VACUUM"),
            false => Ok(()),
        };
        let shrunk = shrunk.and_then(|()| self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
        if let Err(error) = shrunk {
            let note =
                format!("the file could not be made smaller ({error}); the room in it is used by the next saves");
            figures.notes.push(note);
        }
    }

    fn size(&self) -> u64 {
        std::fs::metadata(self.folder.join("memory.sqlite")).map_or(0, |meta| meta.len())
    }

    fn sweep(&self, keep: Keep, now: jiff::Timestamp) -> rusqlite::Result<Sweep> {
        let connection = &self.connection;
        let mut figures = Compaction::default();
        let steps = steps(connection)?;
        figures.operations = steps.len() as u64;
        figures.kept_from = boundary(&steps, keep, now, kept_from(connection)?, &mut figures.reasons);
        // What it was before the first kept operation belongs to it: else that one could not be shown or undone.
        let begin = figures.kept_from.saturating_sub(1);
        let mut used = HashSet::new();
        for (_, root, _) in steps.iter().filter(|(id, _, _)| *id >= begin) {
            mark(connection, *root, &mut used)?;
        }
        // Bytes that records name, such as those of a file before an act: as long as that act can be undone.
        let first = if figures.kept_from > 1 { first_kept(connection, &steps, begin)? } else { 0 };
        used.extend(named(connection, first)?);
        let mut pieces = Vec::new();
        for document in &used {
            objects::below(connection, *document, &mut |name| pieces.push(name))?;
        }
        used.extend(pieces);
        let mut unused = |sql: &str| -> rusqlite::Result<Vec<[u8; 32]>> {
            let mut names = Vec::new();
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let (name, bytes): ([u8; 32], i64) = (row.get(0)?, row.get(1)?);
                let (count, sum) = match used.contains(&ObjectHash::new(name)) {
                    true => (&mut figures.kept_objects, &mut figures.kept_bytes),
                    false => {
                        names.push(name);
                        (&mut figures.swept_objects, &mut figures.swept_bytes)
                    }
                };
                *count += 1;
                *sum += unsigned(bytes);
            }
            Ok(names)
        };
        // Only kinds that are known here are swept.
        let kinds = objects::KINDS.map(|kind| kind.to_string()).join(", ");
        let objects = unused(&format!("SELECT hash, length(bytes) FROM objects WHERE kind IN ({kinds})"))?;
        let texts = unused("SELECT document, length(manifest) FROM texts")?;
        figures.let_go = lost(connection, &steps, begin, &used)?;
        Ok(Sweep { objects, texts, figures })
    }
}

/// Deletes objects and texts by their names.
///
/// # Errors
/// When the database refuses to be written.
pub fn delete_all(connection: &Connection, objects: &Names, texts: &Names) -> rusqlite::Result<()> {
    let delete = |sql: &str, names: &Names| -> rusqlite::Result<()> {
        let mut statement = connection.prepare(sql)?;
        names.iter().try_for_each(|name| statement.execute([name.as_slice()]).map(|_| ()))
    };
    delete("DELETE FROM objects WHERE hash = ?1", objects)?;
    delete("DELETE FROM texts WHERE document = ?1", texts)
}

/// An operation, its root, and when it was made.
type Step = (u64, ObjectHash, Option<jiff::Timestamp>);

fn steps(connection: &Connection) -> rusqlite::Result<Vec<Step>> {
    let mut statement = connection.prepare("SELECT id, root, at FROM operations ORDER BY id")?;
    let rows = statement.query_map([], |row| {
        let at: String = row.get(2)?;
        Ok((unsigned(row.get(0)?), ObjectHash::new(row.get(1)?), at.parse().ok()))
    })?;
    rows.collect()
}

/// Returns from which operation on everything is kept, and says why.
fn boundary(steps: &[Step], keep: Keep, now: jiff::Timestamp, before: u64, reasons: &mut Vec<String>) -> u64 {
    let head = steps.last().map_or(1, |(id, _, _)| *id);
    let by_days = keep.days.map(|days| {
        let begin = now.checked_sub(jiff::SignedDuration::from_hours(i64::from(days) * 24));
        let begin = begin.unwrap_or(jiff::Timestamp::MIN);
        // The first of them in the log, wherever the clock stood: with a clock that went back, more is kept.
        // A time that cannot be read is taken for a late one.
        steps.iter().find(|(_, _, at)| at.is_none_or(|at| at >= begin)).map_or(head, |(id, _, _)| *id)
    });
    let by_count = keep.operations.map(|count| head.saturating_sub(count.max(1)).saturating_add(1));
    let from = match (by_days, by_count) {
        (None, None) => before,
        (Some(one), None) | (None, Some(one)) => one,
        (Some(one), Some(other)) => one.min(other),
    };
    let from = from.clamp(1, head).max(before);
    if let Some(days) = keep.days {
        reasons.push(format!("kept: all contents of the last {}", counted(days as usize, "day")));
    }
    if let Some(count) = keep.operations {
        reasons.push(format!("kept: all contents of the last {}", counted(count as usize, "operation")));
    }
    if from > 1 {
        reasons.push(format!(
            "kept: operations {from} to {head} whole, and what was there before {from}, so that it can be shown and undone"
        ));
    } else {
        reasons.push("kept: the contents of every operation".to_string());
    }
    reasons.push(
        "kept: memory as it is now, every operation and its hashes, and every record (plans, rules, intents, audit)"
            .to_string(),
    );
    from
}

/// Marks everything that is reached from a root down to the names of its texts.
fn mark(connection: &Connection, root: ObjectHash, used: &mut HashSet<ObjectHash>) -> rusqlite::Result<()> {
    let mut waiting = vec![root];
    while let Some(name) = waiting.pop() {
        if !used.insert(name) {
            continue;
        }
        match objects::branch(connection, name) {
            Ok(entries) => {
                for entry in entries {
                    match entry {
                        StoredEntry::Branch(below) => waiting.push(below),
                        StoredEntry::File(_, document) => {
                            used.insert(document);
                        }
                    }
                }
            }
            // What is damaged or gone leads nowhere.
            Err(ReadError::Damaged(_)) => {}
            Err(ReadError::Sqlite(error)) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the number of the first record that may belong to an operation that is kept; when in doubt, an earlier one.
///
/// The clock may have gone back between any two of them, so their times alone decide nothing: a record that names the
/// operation it was made at counts by that, and every one behind the first that counts does, too.
fn first_kept(connection: &Connection, steps: &[Step], begin: u64) -> rusqlite::Result<u64> {
    // A time that cannot be read is taken for a late one of a record, and for an early one of an operation.
    let early = |at: &Option<jiff::Timestamp>| at.unwrap_or(jiff::Timestamp::MIN);
    let since = steps.iter().filter(|(id, _, _)| *id >= begin).map(|(_, _, at)| early(at)).min();
    let since = since.unwrap_or(jiff::Timestamp::MIN);
    let mut statement = connection.prepare("SELECT seq, at, body FROM records ORDER BY seq")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let at = row.get_ref(1)?.as_str().ok().and_then(|at| at.parse::<jiff::Timestamp>().ok());
        let body = row.get_ref(2)?.as_bytes().unwrap_or_default();
        if at.is_none_or(|at| at >= since) || made_at(body).is_some_and(|operation| operation >= begin) {
            return Ok(unsigned(row.get(0)?));
        }
    }
    Ok(u64::MAX)
}

/// Returns which operation was the last when a record of an act or a change was made, if it says so.
fn made_at(body: &[u8]) -> Option<u64> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    body.get("since")?.as_u64()
}

/// Returns every hash that stands in a record from a number on: what they name may be needed.
///
/// # Errors
/// When the database refuses to be read.
pub fn named(connection: &Connection, first: u64) -> rusqlite::Result<HashSet<ObjectHash>> {
    let mut found = HashSet::new();
    let mut statement = connection.prepare("SELECT body FROM records WHERE seq >= ?1")?;
    let mut rows = statement.query([signed(first)])?;
    while let Some(row) = rows.next()? {
        let body = row.get_ref(0)?.as_bytes().unwrap_or_default();
        let words = body.split(|byte| !byte.is_ascii_hexdigit()).filter(|word| word.len() == 64);
        found.extend(words.filter_map(|word| ObjectHash::from_hex(std::str::from_utf8(word).ok()?)));
    }
    Ok(found)
}

/// Counts the operations before a place that refer to something that is not kept.
fn lost(connection: &Connection, steps: &[Step], begin: u64, used: &HashSet<ObjectHash>) -> rusqlite::Result<u64> {
    let empty = View::default().root();
    let mut known: HashSet<ObjectHash> = HashSet::new();
    let mut count = 0;
    for (_, root, _) in steps.iter().filter(|(id, _, _)| *id < begin) {
        // The root covers everything below: one that is not marked differs from all that are.
        if *root != empty && !used.contains(root) && (known.contains(root) || exists(connection, *root)?) {
            known.insert(*root);
            count += 1;
        }
    }
    Ok(count)
}

fn exists(connection: &Connection, name: ObjectHash) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM objects WHERE hash = ?1")?.exists([name.as_bytes()])
}

/// Says that an operation's contents were let go, if they were: why it cannot be shown or restored, and what can.
///
/// # Errors
/// When the database refuses to be read.
pub fn let_go(connection: &Connection, operation: u64) -> rusqlite::Result<Option<String>> {
    let Some(record) = query_latest(connection, RETENTION, MEMORY)? else { return Ok(None) };
    let kept = record.body["kept_from"].as_u64().unwrap_or(1);
    // Before the first operation memory was empty, and the state before the first kept one is kept, too.
    if operation == 0 || operation + 1 >= kept {
        return Ok(None);
    }
    Ok(Some(format!(
        "the contents of operation {operation} were let go by `passepartout memory compact` on {}; memory can be shown and gone back to from operation {} on",
        local(record.at).strftime("%Y-%m-%d"),
        kept - 1
    )))
}
