//! The head of a store, against what was noted of it outside the store.

use super::{Walk, What};
use crate::domain::id::ObjectHash;
use crate::edge::store::journal::Reach;
use crate::edge::store::witness::{self, Seen};
use std::path::Path;

impl Walk {
    /// Compares the head with what was noted outside at the last save.
    pub(super) fn heads(&mut self, heads: &Path, folder: &Path, database: bool) {
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
