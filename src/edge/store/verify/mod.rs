//! Proves a store: the chain of operations, what hangs on it, the plain log beside it, and the head noted outside.
//!
//! It only reads, also beside a process that owns the store, and goes on behind what is broken.

mod contents;
mod database;
mod heads;
mod kept;
mod log;
mod proof;

pub use heads::misfit;
pub use kept::{Checked, keep_result, last_result};
pub use proof::{Break, Proof, What};

use crate::domain::id::ObjectHash;
use crate::domain::memory::store::StoreError;
use crate::edge::store::lock::owner_of;
use crate::edge::store::open::connect_to_read;
use crate::edge::store::witness::{self, Seen};
use std::collections::BTreeMap;
use std::path::Path;

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

/// Checks only what stands in order: the chain of operations, every record, the plain log, and the head outside.
///
/// # Errors
/// As [`verify`].
pub fn verify_records(folder: &Path, heads: &Path) -> Result<Proof, StoreError> {
    let owned = owner_of(folder).is_some();
    let seen = witness::look(heads, folder).map(|(seen, _)| seen);
    let connection = connect_to_read(&folder.join("memory.sqlite"))?;
    let (operations, records) = (BTreeMap::new(), BTreeMap::new());
    let mut walk = Walk { proof: Proof::default(), owned, seen, operations, records };
    walk.chain(&connection);
    walk.decisions(&connection);
    walk.log(&folder.join("memory.log"), true);
    walk.heads(heads, folder, true);
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
