//! Caps: how much may be spent in a conversation, in a day, and in the background of a day; held while calls run, so that
//! several at once cannot go beyond.

use crate::domain::money::{Call, Cost, Micros};
use crate::domain::work::Work;
use jiff::civil::Date;
use std::collections::HashMap;

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

impl Day {
    /// Returns the accounts that such work counts towards.
    fn accounts(&mut self, work: Work) -> impl Iterator<Item = &mut Account> {
        let background = (work == Work::Background).then_some(&mut self.background);
        [&mut self.all].into_iter().chain(background)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Conversation {
    account: Account,
    /// Whether it is known what it spent. Where it is not, the ledger alone says so.
    known: bool,
}

/// So many conversations are known one by one: their names are the clients' own to choose. Beyond that all are let go for
/// which nothing is held, and the ledger is read again for whoever comes back.
pub const KNOWN: usize = 10_000;

/// What was spent, as far as caps are about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    days: HashMap<Date, Day>,
    sessions: HashMap<String, Conversation>,
    /// How often something came to be known by the ledger alone: a call ended in a conversation of which it was not known
    /// what it spent, or conversations were let go.
    unseen: u64,
}

/// How the accounts stood before the ledger was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u64);

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

    /// Returns how they stand now. Whatever ended until now must be in the ledger before it is read.
    pub fn mark(&self) -> Mark {
        Mark(self.unseen)
    }

    /// Takes in what a conversation spent, as the ledger said behind a mark. Where a call has ended since that may stand in
    /// that ledger or not, nothing is taken in, and it must be read again: that is told by `false`.
    #[must_use]
    pub fn recall_session(&mut self, session: &str, spent: Micros, read: Mark) -> bool {
        if self.knows_session(session) {
            return true;
        }
        if read != self.mark() {
            return false;
        }
        let of = self.session(session);
        (of.account.spent, of.known) = (spent, true);
        true
    }

    /// Tells whether it is known what a conversation spent. A free call may have been made without that.
    pub fn knows_session(&self, session: &str) -> bool {
        self.sessions.get(session).is_some_and(|known| known.known)
    }

    /// Returns a conversation, and makes room for it where it is new.
    fn session(&mut self, session: &str) -> &mut Conversation {
        if self.sessions.len() >= KNOWN && !self.sessions.contains_key(session) {
            self.let_go();
        }
        self.sessions.entry(session.to_string()).or_default()
    }

    /// Lets go of conversations for which nothing is held.
    fn let_go(&mut self) {
        self.sessions.retain(|_, of| of.account.held > Micros::default());
        self.unseen = self.unseen.wrapping_add(1);
    }

    /// Returns what is held for calls that run.
    pub fn holding(&self, session: Option<&str>, day: Date) -> Holding {
        let of_day = self.days.get(&day).copied().unwrap_or_default();
        let of_session = session.and_then(|session| self.sessions.get(session)).copied().unwrap_or_default();
        Holding { session: of_session.account.held, day: of_day.all.held, background: of_day.background.held }
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
        if caps.session.is_some() && !session.known {
            return Err("there is a cap on this conversation, and what it spent is not known; ask again".to_string());
        }
        let amount = wanted.estimate.counted();
        for (cap, used, Cap { what, variable, option }) in [
            (caps.session, session.account.used(), SESSION),
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
        let mut tried = Accounts::default();
        for Wanted { session, day, .. } in &wanted {
            tried.sessions.extend(self.sessions.get(session).map(|of| (session.clone(), *of)));
            tried.days.extend(self.days.get(day).map(|of| (*day, *of)));
        }
        wanted.into_iter().try_for_each(|wanted| tried.hold(wanted, caps).map(drop))
    }

    /// Holds what a call may cost until it is settled: looking and holding are one.
    ///
    /// # Errors
    /// As [`Accounts::check`] says.
    pub fn hold(&mut self, wanted: Wanted, caps: &Caps) -> Result<Held, String> {
        self.check(&wanted, caps)?;
        let amount = wanted.estimate.counted();
        let account = &mut self.session(&wanted.session).account;
        account.held = account.held.plus(amount);
        let day = self.days.entry(wanted.day).or_default();
        for account in day.accounts(wanted.work) {
            account.held = account.held.plus(amount);
        }
        day.unpriced = day.unpriced.saturating_add(u64::from(wanted.estimate == Cost::Unknown));
        Ok(Held(wanted))
    }

    /// Gives back what was held for a call, and counts what it cost. What a conversation spent of which that is not known is
    /// counted by the ledger alone, in which the call must stand from this moment on.
    pub fn settle(&mut self, Held(wanted): Held, cost: Cost) {
        let (amount, spent) = (wanted.estimate.counted(), cost.counted());
        match self.sessions.get_mut(&wanted.session) {
            Some(Conversation { account, known: true }) => account.settle(amount, spent),
            of => {
                of.into_iter().for_each(|of| of.account.settle(amount, Micros::default()));
                self.unseen = self.unseen.wrapping_add(1);
            }
        }
        let day = self.days.entry(wanted.day).or_default();
        for account in day.accounts(wanted.work) {
            account.settle(amount, spent);
        }
        match (wanted.estimate == Cost::Unknown, cost == Cost::Unknown) {
            (true, false) => day.unpriced = day.unpriced.saturating_sub(1),
            (false, true) => day.unpriced = day.unpriced.saturating_add(1),
            (true, true) | (false, false) => {}
        }
    }
}

fn told(estimate: Cost) -> String {
    match estimate {
        Cost::Known(amount) | Cost::Guessed(amount) => amount.to_string(),
        Cost::Unknown => "an unknown amount".to_string(),
    }
}

#[cfg(test)]
mod tests;
