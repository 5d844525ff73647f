//! Caps as the engine keeps to them: what was spent is read from the ledger, and held while calls run.

use crate::domain::id::SessionId;
use crate::domain::money::caps::{Accounts, Caps, Held, Wanted};
use crate::domain::money::{Call, Cost, Micros};
use crate::domain::port::{LogLevel, Profile, Prompt};
use crate::edge::clock::local;
use crate::edge::engine::Engine;
use crate::edge::engine::ledger::{Behalf, record};
use crate::edge::engine::record::kind;

/// So many calls of one conversation count; none has as many.
pub(super) const OF_SESSION: usize = 1_000_000;
/// So often the ledger is read for one conversation, when calls end meanwhile.
const READINGS: usize = 5;

impl Engine {
    /// Reads from the ledger what was spent today.
    pub(in crate::edge::engine) async fn load_spent(&self) {
        if !self.config.caps.any() {
            return;
        }
        let found = match self.unbooked() {
            Some(why) => Err(why),
            None => self.spent_today().await,
        };
        // Who only reads asks nothing that costs, and need not be told.
        if let Err(why) = &found
            && self.beside.is_none()
        {
            let text = format!("what was spent on models is not known, so nothing that costs is asked: {why}");
            self.say(LogLevel::Warning, &text);
        }
        *self.ledger.accounts.lock() = found;
    }

    /// Says why the ledger of this store is not at hand, if so.
    fn unbooked(&self) -> Option<String> {
        let trouble = self.store_trouble.as_ref().map(|trouble| trouble.text.clone());
        trouble.or(self.beside.clone()).or_else(|| self.ledger.lost.lock().clone())
    }

    async fn spent_today(&self) -> Result<Accounts, String> {
        let (today, mut accounts) = (local(self.clock.now()).date(), Accounts::default());
        // They stand in the order in which they ended, with the time at which they began: one of yesterday may stand
        // behind some of today.
        let enough = today.yesterday().unwrap_or(today);
        let read = self.read_ledger(0, |call, day| {
            accounts.recall_day(&call, day);
            day >= enough
        });
        match read.await?.1 {
            0 => Ok(accounts),
            some => Err(format!("{some} records of the ledger cannot be read")),
        }
    }

    /// Reads from the ledger what a conversation spent, where that is not known.
    ///
    /// # Errors
    /// When there is a cap on it, and the ledger cannot be written or read.
    pub(in crate::edge::engine) async fn recall_spent(&self, session: &str, behalf: &Behalf) -> Result<(), String> {
        // Without a cap, too: one may come with a preset, and what was spent before counts then.
        match self.take_spent(session).await {
            Err(why) if behalf.caps(&self.config.caps).session.is_some() => Err(unknown(&why)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    async fn take_spent(&self, session: &str) -> Result<(), String> {
        for _ in 0..READINGS {
            let mark = match &*self.ledger.accounts.lock() {
                Ok(accounts) if accounts.knows_session(session) => return Ok(()),
                Ok(accounts) => accounts.mark(),
                // Whoever asks what may be spent is told.
                Err(_) => return Ok(()),
            };
            if let Some(why) = self.unbooked() {
                return Err(why);
            }
            // What ended until now is read, too.
            self.write_ledger().await.map_err(|why| why.to_string())?;
            let spent = self.spent_in(session).await?;
            let mut accounts = self.ledger.accounts.lock();
            if accounts.as_mut().is_ok_and(|accounts| accounts.recall_session(session, spent, mark)) {
                return Ok(());
            }
        }
        Err("other calls ended again and again while the ledger was read; ask again".to_string())
    }

    async fn spent_in(&self, session: &str) -> Result<Micros, String> {
        let records = self.archive.newest_of(kind::CALL, session.to_string(), OF_SESSION).await?;
        let mut spent = Micros::default();
        for found in &records {
            let call = record::read(found).ok_or("a record of the ledger cannot be read")?;
            spent = spent.plus(call.cost.counted());
        }
        Ok(spent)
    }

    /// Says why a provider may not be sent a prompt now, because of what was spent. It holds nothing yet.
    ///
    /// # Errors
    /// Which cap stands against it.
    pub(in crate::edge::engine) fn affords(
        &self,
        provider: &dyn Profile,
        prompt: &Prompt,
        session: &SessionId,
        behalf: &Behalf,
    ) -> Result<(), String> {
        let caps = &behalf.caps(&self.config.caps);
        if !caps.any() {
            return Ok(());
        }
        let wanted = self.wanted(provider, prompt, session, behalf)?;
        match (&*self.ledger.accounts.lock(), is_free(wanted.estimate)) {
            (_, true) => Ok(()),
            (Ok(accounts), false) => {
                accounts.check(&wanted, caps).map_err(|why| of_preset(why, caps, &self.config.caps))
            }
            (Err(why), false) => Err(unknown(why)),
        }
    }

    /// Says why these calls may not all be made at once, because of what all of them may cost. It holds nothing yet.
    ///
    /// # Errors
    /// Which cap stands against it.
    pub(in crate::edge::engine) fn affords_all(
        &self,
        calls: &[(&dyn Profile, Prompt)],
        session: &SessionId,
        behalf: &Behalf,
    ) -> Result<(), String> {
        let caps = &behalf.caps(&self.config.caps);
        if !caps.any() {
            return Ok(());
        }
        let wanted = calls.iter().map(|(provider, prompt)| self.wanted(*provider, prompt, session, behalf));
        let wanted = wanted.collect::<Result<Vec<Wanted>, String>>()?;
        let costly: Vec<Wanted> = wanted.into_iter().filter(|wanted| !is_free(wanted.estimate)).collect();
        match &*self.ledger.accounts.lock() {
            _ if costly.is_empty() => Ok(()),
            Ok(accounts) => accounts.check_all(costly, caps).map_err(|why| of_preset(why, caps, &self.config.caps)),
            Err(why) => Err(unknown(why)),
        }
    }

    /// Holds what a call may cost. Under a cap nothing is sent while earlier calls cannot be written down.
    pub(super) async fn hold_for_call(&self, wanted: Wanted, behalf: &Behalf) -> Result<Held, String> {
        let (caps, free) = (&behalf.caps(&self.config.caps), is_free(wanted.estimate));
        if caps.any() && !free {
            self.write_ledger().await.map_err(|why| unknown(&why.to_string()))?;
            self.recall_spent(&wanted.session, behalf).await?;
        }
        match self.ledger.accounts.lock().as_mut() {
            Ok(accounts) => accounts.hold(wanted, caps).map_err(|why| of_preset(why, caps, &self.config.caps)),
            Err(_) if free => Ok(Accounts::default().hold(wanted, caps)?),
            Err(why) => Err(unknown(why)),
        }
    }

    /// Gives back what was held for a call that was not made.
    pub(super) fn give_back(&self, held: Option<Held>) {
        if let (Ok(accounts), Some(held)) = (self.ledger.accounts.lock().as_mut(), held) {
            accounts.settle(held, Cost::Known(Micros::default()));
        }
    }

    /// Counts what a call cost in place of what was held for it, and has it written down; nobody reads between the two.
    pub(super) fn settle(&self, held: Option<Held>, call: &Call, name: &str) {
        let mut accounts = self.ledger.accounts.lock();
        self.ledger.unwritten.lock().push(record::kept(call, name));
        if let (Ok(accounts), Some(held)) = (accounts.as_mut(), held) {
            accounts.settle(held, call.cost);
        }
    }
}

pub(super) fn is_free(estimate: Cost) -> bool {
    estimate == Cost::Known(Micros::default())
}

/// Adds that a preset is stricter than the user's own caps, where it is.
fn of_preset(why: String, caps: &Caps, own: &Caps) -> String {
    match caps.session == own.session {
        true => why,
        false => format!(
            "{why}; the preset of this conversation allows it no more: /preset says which, and its USD, or PP_USD in the chat"
        ),
    }
}

fn unknown(why: &str) -> String {
    format!("there is a cap on what is spent, and what was spent is not known: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::work::Work;
    use crate::edge::engine::fresh::tests::Place;

    const CAP: Micros = Micros(100);

    fn behalf() -> Behalf {
        let (skill, heading, spent) = Default::default();
        Behalf { work: Work::Foreground, skill, heading, cap: Some(CAP), spent }
    }

    /// Has a call of a conversation made and ended, which nobody had asked what it spent before.
    fn call(engine: &Engine, session: &str, cost: u64) {
        let (at, cost) = (engine.clock.now(), Cost::Known(Micros(cost)));
        let (work, estimate) = (Work::Foreground, Cost::Guessed(Micros(90)));
        let wanted = Wanted { session: session.to_string(), day: local(at).date(), work, estimate };
        let held = engine.ledger.accounts.lock().as_mut().expect("they are known").hold(wanted, &Caps::default());
        let call = Call {
            at,
            session: session.to_string(),
            provider: "far".to_string(),
            model: "m".to_string(),
            work,
            skill: None,
            heading: None,
            usage: None,
            status: "answered".to_string(),
            http: None,
            attempts: 1,
            cost,
        };
        engine.settle(Some(held.expect("there is no cap")), &call, "");
    }

    #[track_caller]
    fn left(engine: &Engine, session: &str, expected: u64) {
        let caps = behalf().caps(&Caps::default());
        let allows = |amount: u64| {
            let (day, work) = (local(engine.clock.now()).date(), Work::Foreground);
            let wanted = Wanted { session: session.to_string(), day, work, estimate: Cost::Guessed(Micros(amount)) };
            engine.ledger.accounts.lock().as_ref().expect("they are known").check(&wanted, &caps)
        };
        assert_eq!(allows(expected), Ok(()));
        assert!(allows(expected + 1).is_err(), "{expected}");
    }

    /// A call may end before it is known what its conversation spent, as while the ledger could not be read.
    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_spent_before_the_ledger_was_read_counts_once() {
        let place = Place::new("* One\n").await;
        let engine = &place.engine;
        call(engine, "one", 30);
        for stored in [false, true] {
            if stored {
                engine.write_ledger().await.expect("it is stored");
            }
            engine.recall_spent("one", &behalf()).await.expect("it is read");
            left(engine, "one", 70);
        }
        // What comes behind that counts as well, and once.
        call(engine, "one", 20);
        engine.recall_spent("one", &behalf()).await.expect("it is known");
        left(engine, "one", 50);
        call(engine, "two", 1);
        engine.recall_spent("two", &behalf()).await.expect("it is read");
        left(engine, "two", 99);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_record_that_cannot_be_read_keeps_a_capped_conversation_from_spending() {
        let place = Place::new("* One\n").await;
        let engine = &place.engine;
        engine.append(kind::CALL, "one", serde_json::json!({ "provider": 7 })).await.expect("it is stored");
        let why = engine.recall_spent("one", &behalf()).await.expect_err("nobody knows");
        let expected =
            "there is a cap on what is spent, and what was spent is not known: a record of the ledger cannot be read";
        assert_eq!(why, expected);
        let free = Behalf { cap: None, ..behalf() };
        engine.recall_spent("one", &free).await.expect("nobody need know");
        assert!(!engine.ledger.accounts.lock().as_ref().expect("others are known").knows_session("one"));
    }
}
