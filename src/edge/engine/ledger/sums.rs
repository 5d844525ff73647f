//! Sums of the ledger by day and grouping, which grow with it: it is read whole once, and behind that only what is new.

use crate::domain::money::totals::Sums;
use crate::edge::engine::Engine;

/// More sums than these are not kept: then the ledger is read whole each time.
const MOST: usize = 200_000;

/// What all calls that are stored come to.
#[derive(Debug, Default)]
pub(super) struct Summed {
    /// The place of the newest record that is in it.
    newest: u64,
    /// How many records could not be read.
    pub(super) unreadable: u64,
    pub(super) sums: Sums,
}

impl Engine {
    /// Calls `look` with the sums of all that stands in the ledger now.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) async fn summed<T>(&self, look: impl FnOnce(&Summed) -> T) -> Result<T, String> {
        // One behind the other: what is new is taken in once.
        let mut kept = self.ledger.summed.lock().await;
        let mut newer = Sums::default();
        let read = self.read_ledger(kept.newest, |call, day| {
            newer.take(&call, day);
            true
        });
        let (newest, unreadable) = read.await?;
        // Not before all of it was read.
        kept.sums.join(newer);
        (kept.newest, kept.unreadable) = (newest, kept.unreadable.saturating_add(unreadable));
        let looked = look(&kept);
        if kept.sums.len() > MOST {
            *kept = Summed::default();
        }
        Ok(looked)
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::money::totals::{Grouping, Sum};
    use crate::domain::money::{Call, Cost, Micros};
    use crate::domain::work::Work;
    use crate::edge::clock::local;
    use crate::edge::engine::fresh::tests::Place;
    use crate::edge::engine::record::kind;
    use jiff::Timestamp;
    use jiff::civil::Date;
    use std::collections::BTreeMap;

    fn call(n: i64) -> Call {
        Call {
            at: Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(n * 7),
            session: format!("s{}", n % 2),
            provider: format!("p{}", n % 3),
            model: "m".to_string(),
            work: if n % 4 == 0 { Work::Background } else { Work::Foreground },
            skill: (n % 5 == 0).then(|| "weekly".to_string()),
            heading: (n % 2 == 0).then(|| format!("h{}", n % 6)),
            usage: None,
            status: if n % 7 == 0 { "timeout" } else { "answered" }.to_string(),
            http: None,
            attempts: 1,
            cost: if n % 9 == 0 { Cost::Unknown } else { Cost::Known(Micros(u64::try_from(n).unwrap_or(0))) },
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn sums_that_grow_are_those_of_reading_everything() {
        let place = Place::new("* One\n").await;
        let engine = &place.engine;
        let mut all: Vec<Call> = Vec::new();
        for (begin, end) in [(0, 0), (0, 1), (1, 40), (40, 40), (40, 90)] {
            all.extend((begin..end).map(call));
            engine.write_down((begin..end).map(call)).await;
            let days: Vec<Date> = all.iter().map(|call| local(call.at).date()).collect();
            for since in [None, days.get(days.len() / 2).copied()] {
                for by in Grouping::ALL {
                    let mut expected: BTreeMap<String, Sum> = BTreeMap::new();
                    for (call, day) in all.iter().zip(&days).filter(|(_, day)| since.is_none_or(|since| **day >= since))
                    {
                        expected.entry(by.key(call, *day)).or_default().take(call);
                    }
                    let costs = engine.costs(by, since).await.expect("it is read");
                    assert_eq!(costs.groups, expected, "{by:?} since {since:?}, {} calls", all.len());
                    assert_eq!(costs.all.calls, expected.values().map(|sum| sum.calls).sum::<u64>());
                }
            }
        }
        engine.append(kind::CALL, "s0", serde_json::json!({})).await.expect("it is stored");
        for _ in 0..2 {
            let costs = engine.costs(Grouping::Day, None).await.expect("it is read");
            assert_eq!((costs.unreadable, costs.all.calls), (1, 90), "it is counted once");
        }
    }
}
