//! What came already by an account of a messenger, so that nothing is taken twice.

use crate::domain::gateway::{Arrived, Mark};
use std::collections::{BTreeMap, HashSet, VecDeque};

/// So many names are known of each sender; the one that came first is forgotten first.
pub const NAMES: usize = 64;

/// What came by one account: the number of what came last, and names of what came last from each sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    number: i64,
    names: BTreeMap<String, VecDeque<String>>,
}

impl Seen {
    /// Returns the number of what came last; 0 where nothing with a number came.
    pub fn number(&self) -> i64 {
        self.number
    }

    /// Returns the names that are known of a sender, the oldest first.
    pub fn names(&self, sender: &str) -> impl Iterator<Item = &str> {
        self.names.get(sender).into_iter().flatten().map(String::as_str)
    }

    /// Returns whether something came already.
    pub fn has(&self, mark: &Mark) -> bool {
        match mark {
            Mark::Number(number) => *number <= self.number,
            Mark::Name { sender, name } => self.names(sender).any(|known| known == name),
        }
    }

    /// Takes note that something came.
    pub fn note(&mut self, mark: &Mark) {
        match mark {
            Mark::Number(number) => self.number = *number,
            Mark::Name { sender, name } => {
                let names = self.names.entry(sender.clone()).or_default();
                names.push_back(name.clone());
                if names.len() > NAMES {
                    names.pop_front();
                }
            }
        }
    }

    /// Returns what is new of what came in, each once: by numbers where there are any, or else as it came.
    pub fn fresh(&self, mut arrived: Vec<Arrived>) -> Vec<Arrived> {
        let mut met = HashSet::new();
        arrived.retain(|one| !self.has(&one.mark) && met.insert(one.mark.clone()));
        arrived.sort_by_key(|one| match one.mark {
            Mark::Number(number) => number,
            Mark::Name { .. } => 0,
        });
        arrived
    }
}
