//! The plain log beside the database, entry by entry.

use super::{Walk, What, of, stretches};
use crate::domain::count::counted;
use crate::domain::id::ObjectHash;
use crate::edge::store::journal::{Entry, Reach, read_whole};
use crate::edge::store::witness::chained;
use std::path::Path;

impl Walk {
    /// Compares the plain log with the database, entry by entry.
    pub(super) fn log(&mut self, path: &Path, database: bool) {
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
}
