//! Calls that are not in the ledger yet, noted in a file beside the store as well: those that were under way when this
//! program was killed, or that the store did not take any more before it ended, are written down at the next start.

use crate::domain::label::Privacy;
use crate::domain::memory::store::{NewRecord, Record};
use crate::domain::port::LogLevel;
use crate::edge::engine::Engine;
use crate::edge::engine::ledger::{Ledger, MOST_WAITING, name_of, record};
use crate::edge::engine::record::kind;
use crate::edge::own_file;
use crate::edge::thread::aside;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The file, in the store's folder; at rest there is none.
pub(super) const FILE: &str = "calls";
/// Where one that cannot be read is put: under a cap nothing that costs is asked while it lies there.
pub(super) const UNREADABLE: &str = "calls.unreadable";
/// None is longer, in bytes: so many calls as may wait have room in it.
const LONGEST: u64 = 64 << 20;

/// Calls that are not over.
#[derive(Default)]
pub(super) struct UnderWay {
    next: u64,
    calls: BTreeMap<u64, NewRecord>,
    /// The ledger is closed: no call is begun any more.
    closed: bool,
}

impl UnderWay {
    /// Takes note of a call that begins, as it stands if nobody hears of its end; `None` when the ledger is closed.
    pub(super) fn begin(&mut self, call: NewRecord) -> Option<u64> {
        if self.closed {
            return None;
        }
        self.next += 1;
        self.calls.insert(self.next, call);
        Some(self.next)
    }

    /// Takes note that a call is over; returns whether it is to be written down still.
    pub(super) fn end(&mut self, number: u64) -> bool {
        self.calls.remove(&number).is_some()
    }
}

impl Ledger {
    /// Begins no call any more. Those that are not over are to be written down as they stand: who makes them ends only
    /// when the store has ended already.
    fn close(&self) {
        let mut under_way = self.under_way.lock();
        under_way.closed = true;
        self.unwritten.lock().extend(std::mem::take(&mut under_way.calls).into_values());
    }

    /// Makes the file say which calls are not in the ledger. Blocks.
    ///
    /// # Errors
    /// What the system says.
    fn note(&self) -> io::Result<()> {
        let Some(folder) = self.folder.get() else { return Ok(()) };
        let _one = self.noting.lock();
        let text: String = {
            // In this order, which is that of a call: it is never in neither.
            let under_way = self.under_way.lock();
            let unwritten = self.unwritten.lock();
            unwritten.iter().chain(under_way.calls.values()).map(line).collect()
        };
        match text.is_empty() {
            true => own_file::remove(&folder.join(FILE)),
            false => own_file::replace_soon(&folder.join(FILE), &text),
        }
    }
}

/// What a file holds.
#[derive(Default)]
struct Noted {
    calls: Vec<NewRecord>,
    /// Why there may be more, when nobody knows.
    lost: Option<String>,
}

/// Returns a call as a line.
fn line(call: &NewRecord) -> String {
    let NewRecord { at, kind: _, key, body } = call;
    format!("{}\n", json!({ "at": at.to_string(), "session": key, "call": body }))
}

/// Reads a line; `None` when it is no whole call.
fn read_line(text: &str) -> Option<NewRecord> {
    let mut all: Value = serde_json::from_str(text).ok()?;
    let at = all["at"].as_str()?.parse().ok()?;
    let key = all["session"].as_str()?.to_string();
    let record = Record { seq: 0, at, kind: kind::CALL.to_string(), key, body: all["call"].take() };
    record::read(&record)?;
    let Record { at, kind, key, body, .. } = record;
    Some(NewRecord { at, kind, key, body })
}

/// Reads what the last process left of calls; what cannot be read of it is put aside. Blocks.
///
/// # Errors
/// When it is there, and can neither be read nor put aside: then it stays as it is.
fn left_behind(folder: &Path) -> Result<Noted, String> {
    let (file, unreadable) = (folder.join(FILE), folder.join(UNREADABLE));
    let (mut noted, mut whole) = (Noted::default(), true);
    let mut text = String::new();
    let read = File::open(&file).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    match read {
        Ok(length) if length as u64 <= LONGEST => {
            for line in text.lines() {
                match read_line(line) {
                    Some(call) => noted.calls.push(call),
                    None => whole = false,
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Ok(_) | Err(_) => whole = false,
    }
    if !whole {
        let put = std::fs::rename(&file, &unreadable);
        put.map_err(|error| format!("{}: it can neither be read nor put aside: {error}", file.display()))?;
    }
    if unreadable.symlink_metadata().is_ok() {
        noted.lost = Some(format!(
            "{} has calls that were under way when this program ended, and cannot be read; look with your provider what \
             they cost, then remove that file and start again",
            unreadable.display()
        ));
    }
    Ok(noted)
}

impl Engine {
    /// Takes the folder of a store of its own, and writes down the calls that the process before could not write down.
    pub(in crate::edge::engine) async fn find_calls(&self, folder: Option<PathBuf>) {
        let Some(folder) = folder else { return };
        let place = folder.clone();
        let noted = match aside(move || left_behind(&place)).await {
            Ok(noted) => {
                // It is set once, at the start.
                let _ = self.ledger.folder.set(folder);
                noted
            }
            // Where nothing can be noted, nothing is written over it either.
            Err(why) => Noted { lost: Some(why), ..Noted::default() },
        };
        if let Some(why) = &noted.lost {
            self.say(LogLevel::Error, why);
        }
        *self.ledger.lost.lock() = noted.lost;
        if noted.calls.is_empty() {
            return;
        }
        // Stored, and the program ended before the file could say so.
        let stored = self.archive.newest(kind::CALL, MOST_WAITING).await.unwrap_or_default();
        let stored: HashSet<&str> = stored.iter().filter_map(|record| name_of(&record.body)).collect();
        let is_new = |call: &NewRecord| name_of(&call.body).is_none_or(|name| !stored.contains(name));
        let calls: Vec<NewRecord> = noted.calls.into_iter().filter(is_new).collect();
        if !calls.is_empty() {
            let text = format!(
                "calls of models that the ledger did not have yet when this program ended before: {}; they stand in it \
                 now, those that were under way as stopped, with what they may have cost",
                calls.len()
            );
            // No note is named in it.
            self.say_of(LogLevel::Warning, Privacy::Open, &text);
        }
        self.ledger.unwritten.lock().extend(calls);
        // What could not be written was said, and waits.
        let _ = self.write_ledger().await;
        let _ = self.note_calls().await;
    }

    /// Has the file beside the store say which calls are not in the ledger.
    ///
    /// # Errors
    /// When it cannot be written, in words that are said once.
    pub(super) async fn note_calls(&self) -> Result<(), String> {
        let engine = self.me.upgrade().ok_or("this program ends")?;
        let noted = aside(move || engine.ledger.note()).await;
        noted.map_err(|error| {
            let why = format!("calls of models that are under way cannot be noted beside the store: {error}");
            if !self.ledger.told.swap(true, Ordering::Relaxed) {
                self.say(LogLevel::Warning, &why);
            }
            why
        })
    }

    /// Writes down what is not in the ledger, also the calls that are not over, before the store is closed.
    pub(in crate::edge::engine) async fn close_ledger(&self) {
        self.ledger.close();
        // What could not be written was said, and stands in the file.
        if self.write_ledger().await.is_err() {
            let _ = self.note_calls().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_calls_is_read_and_what_is_no_call_is_put_aside() {
        let call = |name: &str| NewRecord {
            at: jiff::Timestamp::UNIX_EPOCH,
            kind: kind::CALL.to_string(),
            key: "chat".to_string(),
            body: json!({
                "provider": "far", "model": "m", "work": "foreground", "status": "stopped", "attempts": 1, "name": name,
            }),
        };
        let (one, two) = (line(&call("one")), line(&call("two")));
        let none: &[&str] = &[];
        for (text, names, lost) in [
            (None, none, false),
            (Some(String::new()), none, false),
            (Some(format!("{one}{two}")), &["one", "two"], false),
            (Some(format!("{one}{}", &two[..two.len() / 2])), &["one"], true),
            (Some("no call".to_string()), none, true),
            (Some("{\"at\":\"1970-01-01T00:00:00Z\",\"session\":\"chat\",\"call\":{}}\n".to_string()), none, true),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            if let Some(text) = &text {
                std::fs::write(folder.path().join(FILE), text).expect("a file");
            }
            for again in [false, true] {
                let noted = left_behind(folder.path()).expect("it can be put aside");
                let found: Vec<&str> = noted.calls.iter().filter_map(|call| name_of(&call.body)).collect();
                let names = if again && lost { none } else { names };
                assert_eq!((found.as_slice(), noted.lost.is_some()), (names, lost), "{text:?} {again}");
            }
            assert_eq!(folder.path().join(UNREADABLE).exists(), lost, "{text:?}");
        }
    }
}
