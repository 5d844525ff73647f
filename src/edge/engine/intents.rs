//! Acts that have an intent and no outcome: kept as they come, so that nobody has to read them all to find them.
//!
//! When none is open, a mark in the store says so; the next start reads only what stands behind the last mark.

use crate::domain::memory::store::{NewRecord, Record, Store, StoreError};
use crate::edge::engine::record::kind;
use std::collections::BTreeMap;

/// What one act is known by: its action and its turn.
type Act = (String, String);

/// The intents without an outcome.
#[derive(Clone, Debug, Default)]
pub struct Intents {
    open: BTreeMap<Act, NewRecord>,
    /// How many intents stand behind the last mark.
    seen: usize,
}

impl Intents {
    /// Reads what stands behind the last mark of a store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn read(store: &mut dyn Store) -> Result<Intents, StoreError> {
        let mark = store.latest(kind::SETTLED, kind::INTENT)?.map_or(0, |mark| mark.seq);
        let mut records: Vec<Record> = store.list(kind::INTENT, mark)?;
        records.extend(store.list(kind::OUTCOME, mark)?);
        records.sort_by_key(|record| record.seq);
        let mut intents = Intents::default();
        for Record { at, kind, key, body, .. } in records {
            intents.take(&NewRecord { at, kind, key, body });
        }
        Ok(intents)
    }

    /// Takes note of a record that was stored.
    pub fn take(&mut self, record: &NewRecord) {
        let act = || (record.key.clone(), record.body["turn"].as_str().unwrap_or("").to_string());
        match record.kind.as_str() {
            kind::INTENT => {
                self.seen += 1;
                self.open.insert(act(), record.clone());
            }
            kind::OUTCOME => {
                self.open.remove(&act());
            }
            kind::SETTLED => self.seen = 0,
            _ => {}
        }
    }

    /// Returns the intents without an outcome.
    pub fn open(&self) -> impl Iterator<Item = &NewRecord> {
        self.open.values()
    }

    /// Returns whether a mark would save the next start some reading: all acts have ended, and there were some.
    pub fn worth_a_mark(&self) -> bool {
        self.open.is_empty() && self.seen > 0
    }
}
