//! Caps: how much may be spent in a conversation, in a day, and in the background of a day; held while calls run, so that
//! several at once cannot go beyond.

use crate::domain::money::{Call, Cost, Micros};
use crate::domain::work::Work;
use jiff::civil::Date;
use std::collections::{HashMap, HashSet};

/// What the user allows; `None` is no cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// In one conversation, over all days.
    pub session: Option<Micros>,
    /// In one day.
    pub day: Option<Micros>,
    /// In one day for what no human waits for.
    pub background: Option<Micros>,
    /// How many calls of unknown price in one day; 0 refuses them.
    pub unpriced: Option<u64>,
}

impl Caps {
    /// Tells whether there is any.
    pub fn any(&self) -> bool {
        *self != Caps::default()
    }

    /// Tells whether there is one in dollars on such work.
    pub fn in_dollars(&self, work: Work) -> bool {
        let background = self.background.filter(|_| work == Work::Background);
        self.session.or(self.day).or(background).is_some()
    }
}

/// A cap as people know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// What it is about.
    pub what: &'static str,
    /// The variable of the environment that sets it.
    pub variable: &'static str,
    /// The option of Emacs that sets it.
    pub option: &'static str,
}

/// On a conversation.
pub const SESSION: Cap =
    Cap { what: "this conversation", variable: "SESSION_BUDGET_USD", option: "passepartout-session-budget" };
/// On a day.
pub const DAY: Cap = Cap { what: "this day", variable: "DAY_BUDGET_USD", option: "passepartout-day-budget" };
/// On what nobody waits for, in a day.
pub const BACKGROUND: Cap = Cap {
    what: "background work of this day",
    variable: "BACKGROUND_BUDGET_USD",
    option: "passepartout-background-budget",
};
/// On calls of unknown price, in a day.
pub const UNPRICED: Cap = Cap {
    what: "calls of unknown price of this day",
    variable: "UNPRICED_CALLS",
    option: "passepartout-unpriced-calls",
};

/// What is held for calls that run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// In the conversation.
    pub session: Micros,
    /// In the day.
    pub day: Micros,
    /// In the background of the day.
    pub background: Micros,
}

/// An amount that was spent, and what is held for calls that run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Account {
    spent: Micros,
    held: Micros,
}

impl Account {
    fn used(&self) -> Micros {
        self.spent.plus(self.held)
    }

    fn settle(&mut self, held: Micros, spent: Micros) {
        self.held = self.held.minus(held);
        self.spent = self.spent.plus(spent);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Day {
    all: Account,
    background: Account,
    /// Calls of unknown price, those that run among them.
    unpriced: u64,
}

/// What was spent, as far as caps are about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    days: HashMap<Date, Day>,
    sessions: HashMap<String, Account>,
    /// Conversations of which it is known what they spent before.
    recalled: HashSet<String>,
}

/// What is asked for: on whose behalf, and what it may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The conversation.
    pub session: String,
    /// The day.
    pub day: Date,
    /// Who waits for it.
    pub work: Work,
    /// What it may cost.
    pub estimate: Cost,
}

/// An amount that is held for a call. It is given back by [`Accounts::settle`], once.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Held(Wanted);

impl Accounts {
    /// Takes in a call that was made before, for the sums of its day.
    pub fn recall_day(&mut self, call: &Call, day: Date) {
        let known = self.days.entry(day).or_default();
        let cost = call.cost.counted();
        known.all.spent = known.all.spent.plus(cost);
        if call.work == Work::Background {
            known.background.spent = known.background.spent.plus(cost);
        }
        known.unpriced = known.unpriced.saturating_add(u64::from(call.cost == Cost::Unknown));
    }

    /// Sets what a conversation spent before, once; what it spent since stays.
    pub fn recall_session(&mut self, session: &str, before: Micros) {
        if self.recalled.insert(session.to_string()) {
            let known = self.sessions.entry(session.to_string()).or_default();
            known.spent = known.spent.plus(before);
        }
    }

    /// Tells whether it is known what a conversation spent before. A free call may have been made without that.
    pub fn knows_session(&self, session: &str) -> bool {
        self.recalled.contains(session)
    }

    /// Returns what is held for calls that run.
    pub fn holding(&self, session: Option<&str>, day: Date) -> Holding {
        let of_day = self.days.get(&day).copied().unwrap_or_default();
        let of_session = session.and_then(|session| self.sessions.get(session)).copied().unwrap_or_default();
        Holding { session: of_session.held, day: of_day.all.held, background: of_day.background.held }
    }

    /// Says which cap a call would go beyond, how much is used, and how to raise it.
    ///
    /// # Errors
    /// When it would.
    pub fn check(&self, wanted: &Wanted, caps: &Caps) -> Result<(), String> {
        let day = self.days.get(&wanted.day).copied().unwrap_or_default();
        let session = self.sessions.get(&wanted.session).copied().unwrap_or_default();
        if wanted.estimate == Cost::Unknown
            && let Some(most) = caps.unpriced
            && day.unpriced >= most
        {
            return Err(format!(
                "its price stands in no table, and UNPRICED_CALLS allows {most} such calls a day ({} were made); add \
                 its price to prices.org, or set passepartout-unpriced-calls higher",
                day.unpriced
            ));
        }
        let background = caps.background.filter(|_| wanted.work == Work::Background);
        if wanted.estimate == Cost::Known(Micros::default()) {
            // What costs nothing is asked whatever was spent.
            return Ok(());
        }
        let amount = wanted.estimate.counted();
        for (cap, used, Cap { what, variable, option }) in [
            (caps.session, session.used(), SESSION),
            (caps.day, day.all.used(), DAY),
            (background, day.background.used(), BACKGROUND),
        ] {
            // Of unknown price is nothing counted, and what has used up its cap is over all the same.
            let over = |cap: Micros| used.plus(amount) > cap || (used >= cap && wanted.estimate == Cost::Unknown);
            if let Some(cap) = cap.filter(|cap| over(*cap)) {
                return Err(format!(
                    "the cap of {what} is {cap}, {used} of it is used or held, and this call may cost {}; raise \
                     {variable} or {option}",
                    told(wanted.estimate)
                ));
            }
        }
        Ok(())
    }

    /// Says which cap several calls at once would go beyond, each counted with those before it.
    ///
    /// # Errors
    /// When they would.
    pub fn check_all(&self, wanted: Vec<Wanted>, caps: &Caps) -> Result<(), String> {
        let mut tried = self.clone();
        wanted.into_iter().try_for_each(|wanted| tried.hold(wanted, caps).map(drop))
    }

    /// Holds what a call may cost until it is settled: looking and holding are one.
    ///
    /// # Errors
    /// As [`Accounts::check`] says.
    pub fn hold(&mut self, wanted: Wanted, caps: &Caps) -> Result<Held, String> {
        self.check(&wanted, caps)?;
        let amount = wanted.estimate.counted();
        for account in self.accounts(&wanted) {
            account.held = account.held.plus(amount);
        }
        if wanted.estimate == Cost::Unknown {
            let day = self.days.entry(wanted.day).or_default();
            day.unpriced = day.unpriced.saturating_add(1);
        }
        Ok(Held(wanted))
    }

    /// Gives back what was held for a call, and counts what it cost.
    pub fn settle(&mut self, held: Held, cost: Cost) {
        let (amount, spent) = (held.0.estimate.counted(), cost.counted());
        for account in self.accounts(&held.0) {
            account.settle(amount, spent);
        }
        let day = self.days.entry(held.0.day).or_default();
        match (held.0.estimate == Cost::Unknown, cost == Cost::Unknown) {
            (true, false) => day.unpriced = day.unpriced.saturating_sub(1),
            (false, true) => day.unpriced = day.unpriced.saturating_add(1),
            (true, true) | (false, false) => {}
        }
    }

    fn accounts(&mut self, wanted: &Wanted) -> Vec<&mut Account> {
        let day = self.days.entry(wanted.day).or_default();
        let mut all = vec![self.sessions.entry(wanted.session.clone()).or_default(), &mut day.all];
        if wanted.work == Work::Background {
            all.push(&mut day.background);
        }
        all
    }
}

fn told(estimate: Cost) -> String {
    match estimate {
        Cost::Known(amount) | Cost::Guessed(amount) => amount.to_string(),
        Cost::Unknown => "an unknown amount".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    fn wanted(session: &str, work: Work, estimate: Cost) -> Wanted {
        Wanted { session: session.to_string(), day: date(2026, 1, 5), work, estimate }
    }

    #[test]
    fn a_refusal_names_the_cap_what_is_used_and_how_to_raise_it() {
        let dollar = |dollars: u64| Micros(dollars * 1_000_000);
        let check = |caps: Caps, work: Work, estimate: Cost, expected: Option<&str>| {
            let mut accounts = Accounts::default();
            let first = wanted("one", Work::Background, Cost::Guessed(dollar(1)));
            let first = accounts.hold(first, &Caps::default()).expect("there is no cap");
            accounts.settle(first, Cost::Known(dollar(2)));
            let found = accounts.hold(wanted("one", work, estimate), &caps).err();
            assert_eq!(found.as_deref(), expected);
        };
        let (chat, background) = (Work::Foreground, Work::Background);
        let (one, none) = (Cost::Guessed(dollar(1)), Caps::default());
        check(none, chat, one, None);
        check(Caps { session: Some(dollar(3)), ..none }, chat, one, None);
        check(
            Caps { session: Some(dollar(2)), ..none },
            chat,
            one,
            Some(
                "the cap of this conversation is $2.00, $2.00 of it is used or held, and this call may cost $1.00; \
                 raise SESSION_BUDGET_USD or passepartout-session-budget",
            ),
        );
        check(
            Caps { day: Some(Micros(2_500_000)), ..none },
            chat,
            one,
            Some(
                "the cap of this day is $2.50, $2.00 of it is used or held, and this call may cost $1.00; raise \
                 DAY_BUDGET_USD or passepartout-day-budget",
            ),
        );
        check(Caps { background: Some(dollar(2)), ..none }, chat, one, None);
        check(
            Caps { background: Some(dollar(2)), ..none },
            background,
            Cost::Unknown,
            Some(
                "the cap of background work of this day is $2.00, $2.00 of it is used or held, and this call may cost \
                 an unknown amount; raise BACKGROUND_BUDGET_USD or passepartout-background-budget",
            ),
        );
        check(Caps { day: Some(dollar(3)), ..none }, chat, Cost::Unknown, None);
        check(Caps { unpriced: Some(1), ..none }, chat, Cost::Unknown, None);
        check(
            Caps { unpriced: Some(0), ..none },
            chat,
            Cost::Unknown,
            Some(
                "its price stands in no table, and UNPRICED_CALLS allows 0 such calls a day (0 were made); add its \
                 price to prices.org, or set passepartout-unpriced-calls higher",
            ),
        );
        // What costs nothing is asked whatever was used.
        check(Caps { day: Some(dollar(2)), ..none }, chat, Cost::Known(Micros(0)), None);
    }

    #[test]
    fn a_free_call_does_not_make_a_conversation_known() {
        let (mut accounts, caps) = (Accounts::default(), Caps { session: Some(Micros(10)), ..Caps::default() });
        let free = wanted("one", Work::Foreground, Cost::Known(Micros(0)));
        let held = accounts.hold(free, &caps).expect("it is free");
        assert!(!accounts.knows_session("one"));
        accounts.recall_session("one", Micros(9));
        assert!(accounts.knows_session("one"));
        accounts.settle(held, Cost::Known(Micros(0)));
        // Once is enough.
        accounts.recall_session("one", Micros(9));
        let more = |amount: u64| wanted("one", Work::Foreground, Cost::Guessed(Micros(amount)));
        assert!(accounts.check(&more(1), &caps).is_ok());
        assert!(accounts.check(&more(2), &caps).is_err());
    }

    #[derive(Clone, Debug)]
    enum Act {
        Ask {
            session: u8,
            day: i8,
            background: bool,
            estimate: Option<u64>,
        },
        /// Ends one of those that run, for so many hundredths of what was held.
        End {
            which: usize,
            part: u64,
        },
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let ask = (0..3_u8, 1..3_i8, any::<bool>(), proptest::option::of(0..400_u64))
            .prop_map(|(session, day, background, estimate)| Act::Ask { session, day, background, estimate });
        let end = (any::<usize>(), 0..=100_u64).prop_map(|(which, part)| Act::End { which, part });
        proptest::collection::vec(prop_oneof![2 => ask, 1 => end], 0..80)
    }

    proptest! {
        #[test]
        fn caps_hold_under_any_interleaving(acts in acts(), session in 0..1000_u64, day in 0..1500_u64, background in 0..800_u64, unpriced in 0..6_u64) {
            let caps = Caps {
                session: Some(Micros(session)), day: Some(Micros(day)), background: Some(Micros(background)),
                unpriced: Some(unpriced),
            };
            let (mut accounts, mut running) = (Accounts::default(), Vec::new());
            for act in acts {
                match act {
                    Act::Ask { session, day, background, estimate } => {
                        let work = if background { Work::Background } else { Work::Foreground };
                        let estimate = estimate.map_or(Cost::Unknown, |amount| Cost::Guessed(Micros(amount)));
                        let day = date(2026, 1, day);
                        running.extend(accounts.hold(Wanted { session: session.to_string(), day, work, estimate }, &caps));
                    }
                    Act::End { which, part } if !running.is_empty() => {
                        let held = running.swap_remove(which % running.len());
                        let cost = match held.0.estimate {
                            Cost::Unknown => Cost::Unknown,
                            Cost::Known(amount) | Cost::Guessed(amount) => Cost::Known(Micros(amount.0 * part / 100)),
                        };
                        accounts.settle(held, cost);
                    }
                    Act::End { .. } => {}
                }
                for account in accounts.sessions.values() {
                    prop_assert!(account.used() <= Micros(session));
                }
                for known in accounts.days.values() {
                    prop_assert!(known.all.used() <= Micros(day));
                    prop_assert!(known.background.used() <= Micros(background));
                    prop_assert!(known.unpriced <= unpriced);
                }
            }
            for held in running.drain(..) {
                accounts.settle(held, Cost::Known(Micros(0)));
            }
            for known in accounts.days.values() {
                prop_assert_eq!((known.all.held, known.background.held), (Micros(0), Micros(0)));
            }
        }
    }
}
