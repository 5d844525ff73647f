//! Which conversations the user lets notes go out of that ask first, and how the user hears that some were left out.
//!
//! It stands in a record of the store by the conversation's name, and only a human's own channel makes one. A newer
//! record takes it back; what went out by then is gone.

use crate::domain::audit::Ruling;
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::disclosure::quoted;
use crate::domain::id::{SessionId, TurnId};
use crate::domain::label::Privacy;
use crate::domain::port::LogLevel;
use crate::domain::signal::Origin;
use crate::edge::engine::record::kind;
use crate::edge::engine::turns::KNOWN_SESSIONS;
use crate::edge::engine::turns::channel;
use crate::edge::engine::{Engine, audit};
use serde_json::json;

impl Engine {
    /// Returns the most private that a model elsewhere may be given in a conversation.
    pub(super) fn elsewhere(&self, session: &SessionId) -> Privacy {
        if self.is_shared(session) { Privacy::Ask } else { Privacy::ELSEWHERE }
    }

    /// Returns whether the user lets what asks go to models elsewhere in a conversation, as far as this was looked up.
    pub(super) fn is_shared(&self, session: &SessionId) -> bool {
        self.shared.lock().get(session) == Some(&true)
    }

    /// Looks up whether the user said so earlier. What cannot be read was not said.
    pub(super) async fn recall_shared(&self, session: &SessionId) {
        if self.shared.lock().contains_key(session) {
            return;
        }
        let latest = self.archive.latest(kind::SHARED, session.0.clone()).await;
        if latest.is_ok_and(|record| record.is_some_and(|record| record.body["withdrawn"] != true)) {
            // Not over what was said while that was read.
            self.shared.lock().entry(session.clone()).or_insert(true);
        }
    }

    /// Lets what asks go to models elsewhere in the conversation that a human's words belong to.
    ///
    /// # Errors
    /// When the channel may not decide that, or it could not be stored.
    pub(super) async fn let_go(&self, origin: &Origin) -> Result<String, String> {
        if !origin.rights.may_steer() {
            return Err(
                "this channel may not let notes go; do it in Emacs, or in a terminal that the agent did not start"
                    .to_string(),
            );
        }
        self.keep_shared(&origin.session, channel(origin.source)).await?;
        Ok("Notes that you want to be asked about may go to models elsewhere, in this conversation only.".to_string())
    }

    /// Takes it back: from now on what asks stays here again. It tightens, so every channel of a human may do it.
    ///
    /// # Errors
    /// When the channel may not decide that, or there is nothing to take back. Where it could not be stored it counts in
    /// this session of the program all the same, and the text says so.
    pub(super) async fn unshare(&self, origin: &Origin) -> Result<String, String> {
        if !origin.rights.propose {
            return Err("this channel may not decide what goes out".to_string());
        }
        let session = &origin.session;
        self.recall_shared(session).await;
        // Before it is stored: whoever looks it up meanwhile finds it taken back.
        if !self.share_no_more(session) {
            return Err("/share was not said in this conversation, so there is nothing to take back".to_string());
        }
        // What is left out from here on is news again.
        self.told.lock().remove(session);
        let by = channel(origin.source);
        let words = format!("what asks first stays here again in the conversation {session}");
        let decision = Engine::of_human(Ruling::Revoked, words.clone(), by);
        let record = (kind::SHARED, session.0.clone(), json!({ "by": by, "withdrawn": true }));
        let stored = self.append_all([record, audit::kept(&decision)].into_iter()).await;
        self.say(LogLevel::Info, &words);
        let holds = match stored {
            Ok(_) => String::new(),
            Err(why) => format!(" It could not be stored ({why}); it holds until Emacs ends. Say /unshare again then."),
        };
        Ok("Notes that you want to be asked about stay here again. What already went to models elsewhere is gone: it \
            cannot be called back. This conversation goes on elsewhere only if it drew on none of them."
            .to_string()
            + &holds)
    }

    /// Has no note that asks go out any more, whatever the store says; returns whether one might have until now.
    fn share_no_more(&self, session: &SessionId) -> bool {
        self.shared.lock().get_mut(session).is_some_and(|shared| std::mem::replace(shared, false))
    }

    /// Takes the yes to showing such a note to a model elsewhere for what the plan said that it is.
    ///
    /// # Errors
    /// When it could not be stored; then nothing may be shown.
    pub(in crate::edge) async fn shared_by(&self, turn: &TurnId, cleared: &Cleared) -> Result<(), String> {
        if !cleared.lets_in() {
            return Ok(());
        }
        let (_, _, approver) = self.doings.behind(turn, cleared.action().hash());
        self.keep_shared(&cleared.scope().session, approver.as_deref().unwrap_or("a plan")).await
    }

    async fn keep_shared(&self, session: &SessionId, by: &str) -> Result<(), String> {
        if self.is_shared(session) {
            return Ok(());
        }
        let words = format!("what asks first may go to models elsewhere in the conversation {session}");
        let decision = Engine::of_human(Ruling::Confirmed, words.clone(), by);
        let record = (kind::SHARED, session.0.clone(), json!({ "by": by }));
        self.append_all([record, audit::kept(&decision)].into_iter()).await?;
        self.shared.lock().insert(session.clone(), true);
        self.say(LogLevel::Info, &words);
        Ok(())
    }

    /// Returns whether the user was not told yet; after very many conversations some are told once more.
    fn is_news(&self, session: &SessionId) -> bool {
        let mut told = self.told.lock();
        if told.len() >= KNOWN_SESSIONS {
            told.clear();
        }
        told.insert(session.clone())
    }

    /// Has the user told, once in a conversation, what was left out as it asks first, and how to let it in.
    pub(super) fn tell_left_out(&self, session: &SessionId, titles: &[String], named: bool) {
        if titles.is_empty() || self.is_shared(session) || !self.is_news(session) {
            return;
        }
        let what = match named {
            true => quoted(titles),
            false => "some notes".to_string(),
        };
        let said = format!(
            "Left out of what the model was given, as you want to be asked first: {what}. /share lets such notes go to \
             models elsewhere in this conversation; ask again then."
        );
        self.tell(session, said);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::engine::fresh::tests::Place;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_taken_back_is_not_found_again_in_an_older_record() {
        let place = Place::new("* One\n").await;
        let (engine, session) = (&place.engine, SessionId("s".to_string()));
        engine.keep_shared(&session, "Emacs").await.expect("it is stored");
        engine.shared.lock().clear();
        engine.recall_shared(&session).await;
        assert!(engine.is_shared(&session));
        // The store still says so: the withdrawal is on its way to it, or never came there.
        engine.share_no_more(&session);
        engine.recall_shared(&session).await;
        assert!(!engine.is_shared(&session));
        engine.keep_shared(&session, "Emacs").await.expect("it is stored");
        assert!(engine.is_shared(&session));
    }
}
