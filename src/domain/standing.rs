//! What is remembered of providers that failed: for how long each stands behind the others, and why.
//!
//! A failure demotes, a success restores; nobody is left out for having failed.

use crate::domain::port::{ProviderError, ProviderErrorKind};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;

/// The longest that a provider is demoted, in seconds.
pub const LONGEST: i64 = 1_800;

/// How a provider stands that failed when it was asked last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// How often it failed since it answered last; failures while it was demoted are one with the one before.
    pub failures: u32,
    /// Until when it stands behind the others.
    pub until: Timestamp,
    /// Why, in the words of its failure.
    pub why: String,
}

/// How providers stand, by their names; who is not in it is as good as any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standings(BTreeMap<String, Standing>);

/// Returns for how many seconds the first failure of this kind demotes: the longer, the less likely it passes by itself.
fn first_wait(error: &ProviderError) -> i64 {
    match (&error.kind, error.status) {
        // Somebody must mend the key, the model or the account.
        (ProviderErrorKind::Refused, Some(401..=404)) | (ProviderErrorKind::Quota, Some(402)) => 300,
        (ProviderErrorKind::Quota, _) => 60,
        (ProviderErrorKind::Timeout, _) => 60,
        (ProviderErrorKind::Unreachable, _) => 30,
        // This request may be what it does not take: the next one is another.
        (ProviderErrorKind::Refused | ProviderErrorKind::Cut | ProviderErrorKind::Garbled, _) => 15,
    }
}

impl Standings {
    /// Takes in that a provider failed: it is demoted for a time that doubles with each failure in a row.
    pub fn failed(&mut self, error: &ProviderError, now: Timestamp) {
        let known = self.0.get(&error.provider);
        let before = known.map_or(0, |standing| standing.failures);
        // Of many turns at once that meet the same outage only the first counts.
        let again = known.is_none_or(|standing| standing.until <= now);
        let failures = if again { before.saturating_add(1) } else { before };
        let doubled = first_wait(error).saturating_mul(1 << failures.saturating_sub(1).min(16));
        let until = now.saturating_add(SignedDuration::from_secs(doubled.min(LONGEST))).unwrap_or(now);
        let until = known.map_or(until, |standing| standing.until.max(until));
        self.0.insert(error.provider.clone(), Standing { failures, until, why: error.text.clone() });
    }

    /// Takes in that a provider answered: nothing is held against it any more.
    pub fn answered(&mut self, provider: &str) {
        self.0.remove(provider);
    }

    /// Returns how a provider stands that is demoted now.
    pub fn demoted(&self, provider: &str, now: Timestamp) -> Option<&Standing> {
        self.0.get(provider).filter(|standing| standing.until > now)
    }

    /// Forgets whoever is not among these.
    pub fn keep(&mut self, is_known: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| is_known(name));
    }

    /// Puts those that are demoted behind the others, else in the order in which they come. None of them comes to
    /// stand on the other side of a `fence`, which always answers: behind it nobody would be asked.
    pub fn ordered<T>(
        &self,
        providers: impl IntoIterator<Item = T>,
        name: impl Fn(&T) -> &str,
        fence: impl Fn(&T) -> bool,
        now: Timestamp,
    ) -> Vec<T> {
        let (mut ordered, mut behind) = (Vec::new(), Vec::new());
        for provider in providers {
            if fence(&provider) {
                ordered.append(&mut behind);
                ordered.push(provider);
            } else if self.demoted(name(&provider), now).is_some() {
                behind.push(provider);
            } else {
                ordered.push(provider);
            }
        }
        ordered.append(&mut behind);
        ordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).expect("a moment")
    }

    fn error(provider: &str, kind: ProviderErrorKind, status: Option<u16>) -> ProviderError {
        ProviderError { status, attempts: 1, ..ProviderError::new(provider, kind, "why") }
    }

    #[test]
    fn each_kind_of_failure_demotes_for_its_own_time_and_then_it_is_over() {
        use ProviderErrorKind::*;
        for (kind, status, seconds) in [
            (Timeout, None, 60),
            (Unreachable, Some(500), 30),
            (Cut, None, 15),
            (Garbled, None, 15),
            (Refused, Some(400), 15),
            (Refused, Some(401), 300),
            (Refused, Some(404), 300),
            (Quota, Some(402), 300),
            (Quota, Some(429), 60),
        ] {
            let mut standings = Standings::default();
            standings.failed(&error("a", kind.clone(), status), at(0));
            assert!(standings.demoted("a", at(seconds - 1)).is_some(), "{kind:?} {status:?}");
            assert_eq!(standings.demoted("a", at(seconds)), None, "{kind:?} {status:?}");
            assert_eq!(standings.demoted("b", at(0)), None);
        }
    }

    #[test]
    fn the_time_doubles_with_each_failure_in_a_row_to_half_an_hour_and_a_success_ends_it() {
        let (mut standings, mut now, mut waits) = (Standings::default(), 0, Vec::new());
        for _ in 0..40 {
            standings.failed(&error("a", ProviderErrorKind::Unreachable, None), at(now));
            let until = standings.demoted("a", at(now)).expect("demoted").until;
            waits.push((until - at(now)).get_seconds());
            now += waits.last().expect("a wait");
        }
        assert_eq!(waits[..8], [30, 60, 120, 240, 480, 960, LONGEST, LONGEST]);
        assert_eq!(waits[39], LONGEST);
        standings.answered("a");
        standings.failed(&error("a", ProviderErrorKind::Unreachable, None), at(now));
        assert_eq!(standings.demoted("a", at(now)).map(|standing| standing.failures), Some(1));
    }

    #[test]
    fn two_hundred_failures_at_once_are_one() {
        let mut standings = Standings::default();
        for _ in 0..200 {
            standings.failed(&error("a", ProviderErrorKind::Timeout, None), at(0));
        }
        let standing = standings.demoted("a", at(0)).expect("demoted");
        assert_eq!((standing.failures, standing.until), (1, at(60)));
    }

    proptest! {
        #[test]
        fn nobody_is_lost_and_nobody_passes_the_fence(
            names in proptest::collection::vec("[a-e|]", 0..12),
            failed in proptest::collection::vec(("[a-e]", 0_i64..100), 0..12),
            now in 0_i64..200,
        ) {
            let mut standings = Standings::default();
            for (name, when) in &failed {
                standings.failed(&error(name, ProviderErrorKind::Unreachable, None), at(*when));
            }
            let fence = |name: &&String| name.as_str() == "|";
            let ordered = standings.ordered(&names, |name| name.as_str(), fence, at(now));
            let part = |names: Vec<&String>| -> Vec<Vec<String>> {
                names.split(|name| name.as_str() == "|").map(|part| part.iter().map(|s| s.to_string()).collect()).collect()
            };
            let (before, after) = (part(names.iter().collect()), part(ordered));
            prop_assert_eq!(before.len(), after.len());
            for (before, after) in before.into_iter().zip(after) {
                let demoted = |name: &String| standings.demoted(name, at(now)).is_some();
                let (behind, ready): (Vec<String>, Vec<String>) = before.into_iter().partition(demoted);
                prop_assert_eq!([ready, behind].concat(), after);
            }
        }
    }
}
