//! Asks the gates that skills wrote in Lisp, before anything is judged, and waits for none longer than it may.
//!
//! One that hangs, breaks or has nothing to say leaves no answer; the gate that stands for it denies then.

use crate::domain::action::Action;
use crate::domain::gate::Facts;
use crate::domain::port::SkillHost;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// The gates that skills wrote in Lisp, and who asks them.
#[derive(Clone)]
pub(super) struct OwnGates {
    /// Who knows them, and asks them.
    pub host: Arc<dyn SkillHost>,
    /// For how long each is waited for; they are asked at once.
    pub patience: Duration,
}

/// Returns the facts with every answer that came in time.
pub(super) async fn gathered(own: &OwnGates, action: Action, facts: Facts) -> Facts {
    let case = Arc::new((action, facts));
    let mut asking = JoinSet::new();
    for gate in own.host.gates() {
        let (host, case, patience) = (own.host.clone(), case.clone(), own.patience);
        asking.spawn(async move {
            let answer = tokio::time::timeout(patience, host.answer(&gate, &case.0, &case.1)).await;
            Some((gate, answer.ok()?.ok()?))
        });
    }
    let mut facts = case.1.clone();
    while let Some(asked) = asking.join_next().await {
        // What panicked gave no answer.
        facts.answers.extend(asked.ok().flatten());
    }
    facts
}
