//! What the database says of itself: its pages, the chain of operations, and the records in their order.

use super::{Step, Walk, What, of, stretch};
use crate::domain::id::ObjectHash;
use crate::edge::store::rows::{OPERATION, operation_of, record_of};
use crate::edge::store::witness::chained;
use rusqlite::Connection;

impl Walk {
    /// Lets SQLite check its pages and indexes.
    pub(super) fn pages(&mut self, connection: &Connection) {
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
    pub(super) fn chain(&mut self, connection: &Connection) {
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
    pub(super) fn decisions(&mut self, connection: &Connection) {
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
}
