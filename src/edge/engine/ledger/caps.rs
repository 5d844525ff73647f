//! Caps as the engine keeps to them: what was spent is read from the ledger, and held while calls run.

use crate::domain::id::SessionId;
use crate::domain::money::caps::{Accounts, Caps, Held, Wanted};
use crate::domain::money::{Cost, Micros};
use crate::domain::port::{LogLevel, Profile, Prompt};
use crate::edge::clock::local;
use crate::edge::engine::Engine;
use crate::edge::engine::ledger::{Behalf, record};
use crate::edge::engine::record::kind;

/// So many calls of one conversation count; none has as many.
const OF_SESSION: usize = 1_000_000;

impl Engine {
    /// Reads from the ledger what was spent today.
    pub(in crate::edge::engine) async fn load_spent(&self) {
        if !self.config.caps.any() {
            return;
        }
        let trouble = self.store_trouble.as_ref().map(|trouble| trouble.text.clone()).or(self.beside.clone());
        let found = match trouble {
            Some(why) => Err(why),
            None => self.spent_today().await,
        };
        if let Err(why) = &found {
            let text = format!("what was spent on models is not known, so nothing that costs is asked: {why}");
            self.say(LogLevel::Warning, &text);
        }
        *self.ledger.accounts.lock() = found;
    }

    async fn spent_today(&self) -> Result<Accounts, String> {
        let (today, mut accounts) = (local(self.clock.now()).date(), Accounts::default());
        // They stand in the order in which they ended, with the time at which they began: one of yesterday may stand
        // behind some of today.
        let enough = today.yesterday().unwrap_or(today);
        let unreadable = self.read_ledger(|call, day| {
            accounts.recall_day(&call, day);
            day >= enough
        });
        match unreadable.await? {
            0 => Ok(accounts),
            some => Err(format!("{some} records of the ledger cannot be read")),
        }
    }

    /// Reads from the ledger what a conversation spent before.
    pub(in crate::edge::engine) async fn recall_spent(&self, session: &str, behalf: &Behalf) -> Result<(), String> {
        let known = self.ledger.accounts.lock().as_ref().is_ok_and(|accounts| accounts.knows_session(session));
        if known {
            return Ok(());
        }
        // Without a cap, too: one may come with a preset, and what was spent before counts then.
        let capped = behalf.caps(&self.config.caps).session.is_some();
        let spent = match self.spent_in(session).await {
            Err(why) if capped => return Err(why),
            Err(_) => return Ok(()),
            Ok(spent) => spent,
        };
        if let Ok(accounts) = self.ledger.accounts.lock().as_mut() {
            accounts.recall_session(session, spent);
        }
        Ok(())
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
            self.recall_spent(&wanted.session, behalf).await.map_err(|why| unknown(&why))?;
        }
        match self.ledger.accounts.lock().as_mut() {
            Ok(accounts) => accounts.hold(wanted, caps).map_err(|why| of_preset(why, caps, &self.config.caps)),
            Err(_) if free => Ok(Accounts::default().hold(wanted, caps)?),
            Err(why) => Err(unknown(why)),
        }
    }

    /// Counts what a call cost in place of what was held for it.
    pub(super) fn settle(&self, held: Held, cost: Cost) {
        if let Ok(accounts) = self.ledger.accounts.lock().as_mut() {
            accounts.settle(held, cost);
        }
    }
}

fn is_free(estimate: Cost) -> bool {
    estimate == Cost::Known(Micros::default())
}

/// Adds that a preset is stricter than the user's own caps, where it is.
fn of_preset(why: String, caps: &Caps, own: &Caps) -> String {
    match caps.session == own.session {
        true => why,
        false => format!("{why}; the preset of this conversation allows it no more: /preset says which, and its USD"),
    }
}

fn unknown(why: &str) -> String {
    format!("there is a cap on what is spent, and what was spent is not known: {why}")
}
