//! Turns that were stopped or broke: what they did is kept outside them as it happens, so that nothing of it is lost.

use crate::domain::action::Observation;
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::plan::FlightPlan;
use crate::domain::gate::title::title;
use crate::domain::id::{ActionHash, PlanId, SessionId, TurnId};
use crate::domain::label::{Labels, Privacy};
use crate::domain::port::LogLevel;
use crate::domain::turn::{Conversation, Deed, Ending, TurnReport, proposal};
use crate::edge::engine::Engine;
use crate::edge::engine::record::Finished;
use crate::edge::engine::skilled::Setting;
use crate::edge::engine::turns::BROKE;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is said of an act that was under way when its turn was stopped.
const UNDER_WAY: &str = "stopped while it was being done; look whether it was";
/// What is said of a plan that was parked by a turn that was stopped.
const WITHDRAWN: &str = "withdrawn: the turn that asked for it was stopped";

/// An approved plan on its way, and whether its act was begun.
#[derive(Clone)]
pub(super) struct Settling {
    plan: PlanId,
    action: ActionHash,
    begun: Arc<AtomicBool>,
}

impl Settling {
    pub(super) fn of(plan: &FlightPlan) -> Settling {
        Settling { plan: plan.id.clone(), action: plan.action.hash(), begun: Arc::default() }
    }

    /// Returns the plan.
    pub(super) fn plan(&self) -> &PlanId {
        &self.plan
    }

    /// Returns whether the act may have been begun.
    pub(super) fn begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    fn set_begun(&self, begun: bool) {
        self.begun.store(begun, Ordering::Release);
    }
}

/// What the turns that run have done so far.
#[derive(Default)]
pub(in crate::edge) struct Doings(Mutex<HashMap<TurnId, Doing>>);

struct Doing {
    session: SessionId,
    /// The approved steps that it carries out, in their order.
    settling: Vec<Settling>,
    /// Each with its action, while that is under way.
    deeds: Vec<(Option<ActionHash>, Deed)>,
    changed: Vec<String>,
    privacy: Privacy,
    /// The channel by which a human said yes.
    approver: Option<String>,
}

impl Doings {
    /// Takes note of a turn that begins, perhaps with approved steps of a plan.
    pub(super) fn begin(&self, turn: &TurnId, session: &SessionId, settling: Vec<Settling>) {
        let (session, privacy) = (session.clone(), Privacy::Open);
        let approver = None;
        let doing = Doing { session, settling, deeds: Vec::new(), changed: Vec::new(), privacy, approver };
        self.0.lock().insert(turn.clone(), doing);
    }

    /// Returns the conversations of turns that go on.
    pub(super) fn sessions(&self) -> HashSet<SessionId> {
        self.0.lock().values().map(|doing| doing.session.clone()).collect()
    }

    /// Takes note of the channel by which a human said yes to what a turn does.
    pub(super) fn approved_by(&self, turn: &TurnId, channel: &str) {
        if let Some(doing) = self.0.lock().get_mut(turn) {
            doing.approver = Some(channel.to_string());
        }
    }

    /// Returns the conversation of an act, its plan and who approved it.
    pub(super) fn behind(&self, turn: &TurnId, action: ActionHash) -> (String, Option<String>, Option<String>) {
        let turns = self.0.lock();
        let Some(doing) = turns.get(turn) else { return (String::new(), None, None) };
        let deed = doing.deeds.iter().rfind(|(under_way, _)| *under_way == Some(action));
        let plan = deed.and_then(|(_, deed)| deed.plan.as_ref()).map(|plan| plan.0.clone());
        // Of a turn that goes on after an approved plan, the later acts were approved by nobody.
        let approver = doing.approver.clone().filter(|_| plan.is_some() || doing.settling.is_empty());
        (doing.session.0.clone(), plan, approver)
    }

    /// Takes note of an act that is about to happen.
    pub(super) fn intend(&self, turn: &TurnId, cleared: &Cleared) {
        let mut turns = self.0.lock();
        let Some(doing) = turns.get_mut(turn) else { return };
        let (action, facts) = (cleared.action(), cleared.facts());
        let hash = action.hash();
        let settling = doing.settling.iter().find(|settling| settling.action == hash && !settling.begun());
        settling.inspect(|settling| settling.set_begun(true));
        let plan = settling.map(|settling| settling.plan.clone());
        let (tool, summary, trace) = (action.tool().to_string(), title(action, facts), Some(cleared.trace().clone()));
        let deed = Deed { tool, summary, trace, outcome: UNDER_WAY.to_string(), plan, bare: false };
        doing.deeds.push((Some(hash), deed));
    }

    /// Takes an intent back that could not be stored: then the act is not begun.
    pub(super) fn retract(&self, turn: &TurnId, action: ActionHash) {
        let mut turns = self.0.lock();
        let Some(doing) = turns.get_mut(turn) else { return };
        if let Some(at) = doing.deeds.iter().rposition(|(under_way, _)| *under_way == Some(action)) {
            let (_, deed) = doing.deeds.remove(at);
            let of_plan = |settling: &&Settling| deed.plan.as_ref() == Some(settling.plan());
            if let Some(settling) = doing.settling.iter().find(of_plan) {
                settling.set_begun(false);
            }
        }
    }

    /// Takes note of what an act came to. Returns its conversation, when that has drawn on something private now.
    pub(super) fn ended(&self, turn: &TurnId, observation: &Observation) -> Option<SessionId> {
        let mut turns = self.0.lock();
        let doing = turns.get_mut(turn)?;
        let is_it = |(under_way, _): &&mut (Option<ActionHash>, Deed)| *under_way == Some(observation.action);
        if let Some((under_way, deed)) = doing.deeds.iter_mut().rfind(is_it) {
            *under_way = None;
            deed.outcome = proposal::outcome(&observation.outcome);
        }
        doing.changed.extend(observation.changed.iter().cloned());
        doing.privacy = doing.privacy.max(observation.labels.privacy);
        (observation.labels.privacy > Privacy::Open).then(|| doing.session.clone())
    }

    /// Takes note of a plan that was parked.
    pub(super) fn parked(&self, plan: &FlightPlan) {
        let mut turns = self.0.lock();
        let Some(doing) = turns.get_mut(&plan.turn) else { return };
        let (tool, trace) = (plan.action.tool().to_string(), Some(plan.trace.clone()));
        let (summary, outcome, plan) = (plan.title.clone(), WITHDRAWN.to_string(), Some(plan.id.clone()));
        doing.deeds.push((None, Deed { tool, summary, trace, outcome, plan, bare: false }));
    }

    /// Ends a turn, and returns what it did. What it may still do counts as begun from here on.
    pub(super) fn end(&self, turn: &TurnId) -> TurnReport {
        let mut report = TurnReport::of(Conversation::empty());
        if let Some(doing) = self.0.lock().remove(turn) {
            doing.settling.iter().for_each(|settling| settling.set_begun(true));
            report.deeds = doing.deeds.into_iter().map(|(_, deed)| deed).collect();
            report.changed = doing.changed;
            report.conversation.labels = Labels { privacy: doing.privacy, ..report.conversation.labels };
        }
        report
    }
}

impl Engine {
    /// Says what became of a turn that was stopped: acts that were under way have no known outcome.
    pub async fn interrupted(&self, turn: &TurnId, session: SessionId, asked: String, at: jiff::Timestamp) -> Finished {
        self.stopped(turn, session, asked, at, "was stopped by the user").await
    }

    /// As [`Engine::interrupted`]; the log says of the turn why that was.
    pub(super) async fn stopped(
        &self,
        turn: &TurnId,
        session: SessionId,
        asked: String,
        at: jiff::Timestamp,
        why: &str,
    ) -> Finished {
        let under_way = self.end_unfinished(turn).await;
        let notice = match under_way.as_slice() {
            [] => "Stopped.".to_string(),
            acts => format!("Stopped while this was being done: {}; look whether it was.", acts.join("; ")),
        };
        self.say_of(LogLevel::Info, Privacy::Open, &format!("turn {turn} {why}"));
        self.cut_short(turn, session, asked, at, Ending::Interrupted, notice).await
    }

    /// Says what became of a turn of a job that took too long.
    pub(super) async fn overran(
        &self,
        turn: &TurnId,
        session: SessionId,
        asked: String,
        at: jiff::Timestamp,
    ) -> Finished {
        let under_way = self.end_unfinished(turn).await;
        let notice = match under_way.as_slice() {
            [] => "It took too long and was stopped.".to_string(),
            acts => format!(
                "It took too long and was stopped while this was being done: {}; look whether it was.",
                acts.join("; ")
            ),
        };
        self.say(LogLevel::Warning, &format!("turn {turn} took too long and was ended"));
        self.cut_short(turn, session, asked, at, Ending::Interrupted, notice).await
    }

    /// Says what became of a turn in which something broke that no fault of the turn covers.
    pub async fn broken(&self, turn: &TurnId, session: SessionId, asked: String, at: jiff::Timestamp) -> Finished {
        let under_way = self.end_unfinished(turn).await;
        let notice = match under_way.as_slice() {
            [] => BROKE.to_string(),
            acts => format!("{BROKE} This was being done: {}; look whether it was.", acts.join("; ")),
        };
        self.say(LogLevel::Error, &format!("turn {turn} broke and was ended"));
        self.cut_short(turn, session, asked, at, Ending::Failed, notice).await
    }

    /// Reports what a turn did that did not come to its own end.
    async fn cut_short(
        &self,
        turn: &TurnId,
        session: SessionId,
        asked: String,
        at: jiff::Timestamp,
        ending: Ending,
        notice: String,
    ) -> Finished {
        let report = TurnReport { ending, notice: Some(notice), ..self.doings.end(turn) };
        self.finish(turn.clone(), session, at, asked, report, &Setting::default()).await
    }
}
