//! What came already by an account of a messenger, so that nothing is taken twice.

use crate::domain::gateway::{Arrived, Mark};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, HashSet, VecDeque};

/// So many names are known of each sender; the one that came first is forgotten first.
pub const NAMES: usize = 64;
/// What was sent so much later than what came last is not what came before that. Messages of about the same time may be
/// numbered in another order.
const LATER: SignedDuration = SignedDuration::from_mins(1);
/// When nothing came for so long, the messenger may begin to count anew, and from a smaller number: Telegram does after a
/// week. It keeps what came for a day at most, so none of it comes again then.
const QUIET: SignedDuration = SignedDuration::from_hours(6 * 24);

/// What came by one account: the number of what came last, and names of what came last from each sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    last: Option<Last>,
    names: BTreeMap<String, VecDeque<String>>,
}

/// What came last of what has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Last {
    number: i64,
    /// When it was sent; when it came, where that was not said.
    sent: Timestamp,
}

impl Seen {
    /// Returns the number of what is asked for next; 0 is whatever there is.
    pub fn next(&self, now: Timestamp) -> i64 {
        let counts_on = |last: &Last| now.duration_since(last.sent) < QUIET;
        self.last.filter(counts_on).map_or(0, |last| last.number.saturating_add(1))
    }

    /// Returns the names that are known of a sender, the oldest first.
    pub fn names(&self, sender: &str) -> impl Iterator<Item = &str> {
        self.names.get(sender).into_iter().flatten().map(String::as_str)
    }

    /// Returns whether something came already. A number that is no larger than the last one did, unless what has it was sent
    /// later: then the messenger counts anew.
    pub fn has(&self, mark: &Mark) -> bool {
        match mark {
            Mark::Number { number, sent } => self.last.is_some_and(|last| {
                let later = sent.is_some_and(|sent| sent.duration_since(last.sent) > LATER);
                *number <= last.number && !later
            }),
            Mark::Name { sender, name } => self.names(sender).any(|known| known == name),
        }
    }

    /// Takes note that something came now.
    pub fn note(&mut self, mark: &Mark, now: Timestamp) {
        match mark {
            Mark::Number { number, sent } => {
                self.last = Some(Last { number: *number, sent: sent.unwrap_or(now) });
            }
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
        arrived.retain(|one| {
            // A number is one thing, whenever it says that it was sent.
            let alone = match &one.mark {
                Mark::Number { number, .. } => Mark::Number { number: *number, sent: None },
                named @ Mark::Name { .. } => named.clone(),
            };
            !self.has(&one.mark) && met.insert(alone)
        });
        arrived.sort_by_key(|one| match one.mark {
            Mark::Number { number, .. } => number,
            Mark::Name { .. } => 0,
        });
        arrived
    }
}
