//! Sums of calls, by day, heading, skill, provider, or on whose behalf.

use crate::domain::money::{Call, Cost, Micros};
use crate::domain::port::Usage;
use jiff::civil::Date;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// By what calls are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grouping {
    /// By the day of the user's clock.
    Day,
    /// By the heading that was in focus.
    Heading,
    /// By the skill.
    Skill,
    /// By provider and model.
    Provider,
    /// By what was asked for by a human, and what in the background.
    Work,
}

impl Grouping {
    /// All there are, in the order in which people go through them.
    pub const ALL: [Grouping; 5] =
        [Grouping::Day, Grouping::Heading, Grouping::Skill, Grouping::Provider, Grouping::Work];

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Grouping::Day => "day",
            Grouping::Heading => "heading",
            Grouping::Skill => "skill",
            Grouping::Provider => "provider",
            Grouping::Work => "background",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Grouping> {
        Grouping::ALL.into_iter().find(|grouping| grouping.name() == word)
    }

    /// Returns under what a call stands; empty when it has no heading or no skill. `day` is that of the call.
    pub fn key(self, call: &Call, day: Date) -> String {
        match self {
            Grouping::Day => day.to_string(),
            Grouping::Heading => call.heading.clone().unwrap_or_default(),
            Grouping::Skill => call.skill.clone().unwrap_or_default(),
            Grouping::Provider => format!("{} {}", call.provider, call.model).trim_end().to_string(),
            Grouping::Work => call.work.name().to_string(),
        }
    }
}

/// What calls come to together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub calls: u64,
    /// How many of them failed or were stopped.
    pub failed: u64,
    /// Their tokens, as far as they were reported.
    pub usage: Usage,
    /// What they cost, as far as that is known or guessed.
    pub cost: Micros,
    /// How many of them are in it by a guess.
    pub guessed: u64,
    /// How many are not in it, as their price is not known.
    pub unknown: u64,
}

impl Sum {
    /// Takes a call in.
    pub fn take(&mut self, call: &Call) {
        self.calls += 1;
        self.failed += u64::from(call.status != "answered");
        self.usage += call.usage.unwrap_or_default();
        self.cost = self.cost.plus(call.cost.counted());
        self.guessed += u64::from(matches!(call.cost, Cost::Guessed(_)));
        self.unknown += u64::from(call.cost == Cost::Unknown);
    }

    /// Takes another sum in.
    pub fn join(&mut self, other: &Sum) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.usage += other.usage;
        self.cost = self.cost.plus(other.cost);
        self.guessed += other.guessed;
        self.unknown += other.unknown;
    }

    /// Says what it cost in words: what is not known is said, and never 0.
    pub fn words(&self) -> String {
        let calls = |count: u64| if count == 1 { "1 call".to_string() } else { format!("{count} calls") };
        if self.calls > 0 && self.unknown == self.calls {
            return format!("price unknown ({})", calls(self.unknown));
        }
        let about = if self.guessed > 0 { "about " } else { "" };
        let rest = match self.unknown {
            0 => String::new(),
            unknown => format!(", and {} of unknown price", calls(unknown)),
        };
        format!("{about}{}{rest}", self.cost)
    }
}

/// What the calls of one provider come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The provider.
    pub provider: String,
    /// The model, as its newest call named it.
    pub model: String,
    /// What they come to.
    pub sum: Sum,
}

/// What the calls of a turn come to, each provider's by itself, in the order in which their first calls ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shares(Vec<Share>);

impl Shares {
    /// Takes a call in.
    pub fn take(&mut self, call: &Call) {
        let mut sum = Sum::default();
        sum.take(call);
        self.join(Share { provider: call.provider.clone(), model: call.model.clone(), sum });
    }

    /// Takes in what calls of a provider come to.
    pub fn join(&mut self, share: Share) {
        match self.0.iter_mut().find(|known| known.provider == share.provider) {
            Some(known) => {
                known.sum.join(&share.sum);
                known.model = share.model;
            }
            None => self.0.push(share),
        }
    }

    /// Returns what all of them come to.
    pub fn all(&self) -> Sum {
        self.0.iter().fold(Sum::default(), |mut all, share| {
            all.join(&share.sum);
            all
        })
    }

    /// Returns what those of one provider come to, if any was made.
    pub fn of(&self, provider: &str) -> Option<&Share> {
        self.0.iter().find(|share| share.provider == provider)
    }

    /// Returns each provider's.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Share> {
        self.0.iter()
    }
}

/// What calls come to, by day and by whatever else they are put together by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums(BTreeMap<(Date, &'static str, String), Sum>);

impl Sums {
    /// Takes in a call of a day.
    pub fn take(&mut self, call: &Call, day: Date) {
        for by in Grouping::ALL {
            self.0.entry((day, by.name(), by.key(call, day))).or_default().take(call);
        }
    }

    /// Takes in the sums of other calls.
    pub fn join(&mut self, others: Sums) {
        for (key, sum) in others.0 {
            self.0.entry(key).or_default().join(&sum);
        }
    }

    /// Returns the groups of a grouping, over some days.
    pub fn groups(&self, by: Grouping, days: RangeInclusive<Date>) -> BTreeMap<String, Sum> {
        let mut groups: BTreeMap<String, Sum> = BTreeMap::new();
        let from = self.0.range((*days.start(), "", String::new())..);
        let within = from.take_while(|((day, ..), _)| day <= days.end());
        for ((_, _, key), sum) in within.filter(|((_, grouping, _), _)| *grouping == by.name()) {
            groups.entry(key.clone()).or_default().join(sum);
        }
        groups
    }

    /// Returns how many sums there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::work::Work;
    use jiff::civil::date;
    use proptest::prelude::*;

    fn calls() -> impl Strategy<Value = Vec<(Call, Date)>> {
        let cost = prop_oneof![
            (0..1_u64 << 40).prop_map(|n| Cost::Known(Micros(n))),
            (0..1_u64 << 40).prop_map(|n| Cost::Guessed(Micros(n))),
            Just(Cost::Unknown)
        ];
        let name = || prop_oneof![Just(None), "[ab]".prop_map(Some)];
        let call = (cost, name(), name(), "[ab]", any::<(bool, bool)>(), 0..1000_u64, 1..5_i8).prop_map(
            |(cost, skill, heading, provider, (background, answered), tokens, day)| {
                let call = Call {
                    at: jiff::Timestamp::UNIX_EPOCH,
                    session: "s".to_string(),
                    provider,
                    model: "m".to_string(),
                    work: if background { Work::Background } else { Work::Foreground },
                    skill,
                    heading,
                    usage: answered.then_some(Usage { input: tokens, output: tokens, cached: 1, thinking: 2 }),
                    status: if answered { "answered" } else { "timeout" }.to_string(),
                    http: None,
                    attempts: 1,
                    cost,
                };
                (call, date(2026, 1, day))
            },
        );
        proptest::collection::vec(call, 0..40)
    }

    proptest! {
        #[test]
        fn totals_by_any_grouping_agree(calls in calls(), cut in 0..40_usize, from in 1..5_i8, to in 1..5_i8) {
            let days = date(2026, 1, from)..=date(2026, 1, to);
            let within: Vec<&(Call, Date)> = calls.iter().filter(|(_, day)| days.contains(day)).collect();
            let mut all = Sum::default();
            within.iter().for_each(|(call, _)| all.take(call));
            // Sums that were taken apart are those of the whole.
            let (mut sums, mut others) = (Sums::default(), Sums::default());
            for (n, (call, day)) in calls.iter().enumerate() {
                if n < cut { &mut sums } else { &mut others }.take(call, *day);
            }
            sums.join(others);
            // Nor does it matter by whom they were.
            let mut shares = Shares::default();
            within.iter().for_each(|(call, _)| shares.take(call));
            prop_assert_eq!(shares.all(), all);
            for share in shares.iter() {
                let mut slow = Sum::default();
                within.iter().filter(|(call, _)| call.provider == share.provider).for_each(|(call, _)| slow.take(call));
                prop_assert_eq!(Some((share, share.sum)), shares.of(&share.provider).map(|found| (found, slow)));
            }
            for by in Grouping::ALL {
                let groups = sums.groups(by, days.clone());
                let mut joined = Sum::default();
                groups.values().for_each(|sum| joined.join(sum));
                prop_assert_eq!(joined, all, "by {}", by.name());
                for (key, sum) in groups {
                    let mut slow = Sum::default();
                    within.iter().filter(|(call, day)| by.key(call, *day) == key).for_each(|(call, _)| slow.take(call));
                    prop_assert_eq!(sum, slow, "{} {}", by.name(), key);
                }
            }
        }
    }

    #[test]
    fn what_is_not_known_is_said_and_never_nothing() {
        let check = |calls: u64, guessed: u64, unknown: u64, expected: &str| {
            let sum = Sum { calls, guessed, unknown, cost: Micros(12_000), ..Sum::default() };
            assert_eq!(sum.words(), expected);
        };
        check(2, 0, 0, "$0.012");
        check(2, 1, 0, "about $0.012");
        check(3, 0, 1, "$0.012, and 1 call of unknown price");
        check(2, 0, 2, "price unknown (2 calls)");
        check(0, 0, 0, "$0.012");
    }
}
