//! Settling: what a human decided about steps of a plan is carried out in their order, or not.

use crate::domain::action::Outcome;
use crate::domain::gate::differ::differs;
use crate::domain::gate::plan::{Approval, FlightPlan, PlanStatus};
use crate::domain::gate::show::rendered;
use crate::domain::port::{Call, LogLevel, Sink};
use crate::domain::signal::{Sensor, Signal};
use crate::domain::tool::{CONFIRM, CONTACT_EMBEDDER, RESTORE};
use crate::domain::turn::act::{CONTACT, to_be_sent};
use crate::domain::turn::error::Fault;
use crate::domain::turn::reason::{Judged, Refusal};
use crate::domain::turn::report::Ending;
use crate::domain::turn::{Decision, Desk, Flow, Turn, proposal};
use serde_json::Map;
use std::collections::VecDeque;

/// What is said of a step that waits beside one with which the user stopped all of it.
const STOPPED: &str = "the user stopped what it belonged to";

/// What an approved step came to.
pub(super) struct Settled {
    /// In words, for the model.
    words: String,
    /// Whether what follows it may go on.
    well: bool,
}

impl Turn {
    /// Carries out, or not, what a human decided; the conversation goes on when nothing waits any more.
    ///
    /// A step that does not succeed ends those behind it. One that an earlier step changed under it is shown anew, and
    /// those behind it wait again.
    pub(super) async fn settle(
        &mut self,
        signal: Signal,
        steps: Vec<(FlightPlan, Decision)>,
        desk: &Desk<'_>,
        sink: Sink<'_>,
    ) -> Result<Flow, Fault> {
        let mut rest = VecDeque::from(steps);
        let mut failed: Option<String> = None;
        let mut over = None;
        while let Some((plan, decision)) = rest.pop_front() {
            let contact = plan.action.tool() == CONTACT;
            let mut beside = Vec::new();
            let words = match (decision, &failed) {
                (Decision::Denied(reason), _) => {
                    if contact {
                        over = Some("Nothing was sent.".to_string());
                    }
                    self.denied(&plan, &reason)
                }
                (Decision::Stopped(reason), _) => {
                    let sent = if contact { "Nothing was sent." } else { "Denied, and stopped there." };
                    over = Some(sent.to_string());
                    self.denied(&plan, &reason)
                }
                (Decision::Approved(_), Some(before)) => self.not_begun(&plan, before, desk).await,
                (Decision::Approved(approval), None) => {
                    beside = self.beside(&plan, &rest, desk).await;
                    let settled = self.settle_approved(&plan, approval, desk, sink).await?;
                    if !settled.well {
                        failed = Some(plan.id.0.clone());
                    }
                    settled.words
                }
            };
            self.report.conversation.waiting.retain(|(_, id)| *id != plan.id);
            if !contact {
                let call = Call { id: plan.call.clone(), tool: plan.action.tool().to_string(), args: Map::new() };
                self.result(&call, words);
            }
            let typed = matches!(self.report.conversation.set_off, Sensor::ReplEval | Sensor::UserCommand);
            if typed || matches!(plan.action.tool(), RESTORE | CONFIRM | CONTACT_EMBEDDER) {
                // Nobody asked a model, so none goes on with it.
                over = Some(self.report.deeds.last().map(|deed| deed.outcome.clone()).unwrap_or_default());
            }
            let renewed = self.renew(beside, desk).await?;
            if rest.iter().any(|(next, _)| renewed.contains(&next.id)) {
                // Steps keep their order: what was approved to follow one that is shown anew waits with it.
                break;
            }
        }
        if let Some(notice) = over {
            self.report.notice = Some(notice);
            self.end_waiting(desk).await;
            return Ok(Flow::End(Ending::Answered));
        }
        if !self.report.conversation.waiting.is_empty() {
            self.report.plans = self.report.conversation.waiting.iter().map(|(_, id)| id.clone()).collect();
            return Ok(Flow::End(Ending::Parked));
        }
        Ok(self.go_on(signal))
    }

    /// Notes a human's no; returns it in words for the model.
    fn denied(&mut self, plan: &FlightPlan, reason: &str) -> String {
        let words = proposal::denial(reason);
        self.about(plan, words.clone());
        words
    }

    /// Ends an approved step that stands behind one that did not succeed; returns that in words for the model.
    async fn not_begun(&mut self, plan: &FlightPlan, before: &str, desk: &Desk<'_>) -> String {
        let words = format!("not carried out: step {before}, which stands before it, did not succeed.");
        self.about(plan, words.clone());
        self.settled(plan, PlanStatus::Failed(words.clone()), "", desk).await;
        words
    }

    fn about(&mut self, plan: &FlightPlan, words: String) {
        let (tool, title) = (plan.action.tool().to_string(), plan.title.clone());
        self.deed(tool, title, Some(plan.trace.clone()), words, Some(plan.id.clone()));
    }

    /// Denies what still waits in a conversation that does not go on.
    async fn end_waiting(&mut self, desk: &Desk<'_>) {
        for (_, id) in std::mem::take(&mut self.report.conversation.waiting) {
            let Some(plan) = desk.journal.plan(&id).filter(|plan| plan.status == PlanStatus::Pending) else { continue };
            self.about(&plan, format!("denied: {STOPPED}."));
            self.settled(&plan, PlanStatus::Denied(STOPPED.to_string()), "", desk).await;
        }
    }

    /// Judges an approved action anew on what holds now, and performs it when it is what was shown.
    async fn settle_approved(
        &mut self,
        plan: &FlightPlan,
        approval: Approval,
        desk: &Desk<'_>,
        sink: Sink<'_>,
    ) -> Result<Settled, Fault> {
        let facts = desk.surveyor.survey(&plan.action, &self.scope(desk)).await;
        let mut differing = String::new();
        let outcome = if self.is_other_contact(plan, desk).await {
            self.stale(plan, "what would be sent is not what was shown, so nothing was sent. It is shown anew.")
        } else if facts.hash() != plan.facts {
            let effect = desk.toolbox.get(plan.action.tool()).map(|tool| tool.effect);
            differing = differs(plan, &rendered(&plan.action, &facts, &desk.scope.project, effect));
            self.stale(plan, "what it is about has changed since it was shown. Propose it again if it is still wanted.")
        } else {
            match self.judge(plan.action.clone(), desk, Some(approval)).await? {
                Ok(Judged::Cleared(cleared)) => {
                    let known = self.report.changed.len();
                    let outcome = self.perform(cleared, Some(&plan.id), desk, sink).await?;
                    let changed = self.report.changed.get(known..).unwrap_or_default().to_vec();
                    differing = self.beside_reality(plan, &outcome, &changed, desk).await;
                    outcome
                }
                Ok(Judged::Parked(parked)) => {
                    let (_, _, trace) = *parked;
                    differing = objections(plan, &trace);
                    self.stale(plan, "it is judged otherwise now than when it was shown, so nothing was done.")
                }
                Err(Refusal { words, .. }) => {
                    self.settled(plan, PlanStatus::Failed(words.clone()), "", desk).await;
                    return Ok(Settled { words, well: false });
                }
            }
        };
        let words = proposal::outcome(&outcome);
        if matches!(outcome, Outcome::Stale(_)) {
            // What is sent is then put together anew, and shown anew.
            self.report.conversation.contact = None;
        }
        let effect = desk.toolbox.get(plan.action.tool()).map(|tool| tool.effect);
        let well = proposal::went_well(effect, &outcome);
        let status = match outcome {
            Outcome::Done(text) => PlanStatus::Done(text),
            Outcome::Stale(text) => PlanStatus::Stale(text),
            Outcome::Failed(_) | Outcome::Cancelled(_) => PlanStatus::Failed(words.clone()),
        };
        self.settled(plan, status, &differing, desk).await;
        Ok(Settled { words, well })
    }

    /// Returns whether a plan is about a first contact, and what would be sent is not what it showed: to the byte, so that a
    /// model that was chosen meanwhile counts too.
    async fn is_other_contact(&self, plan: &FlightPlan, desk: &Desk<'_>) -> bool {
        if plan.action.tool() != CONTACT {
            return false;
        }
        let Some(contact) = &self.report.conversation.contact else { return true };
        let provider = plan.action.text("provider").unwrap_or_default();
        match to_be_sent(provider, &contact.prompt, desk).await {
            Ok(sent) => plan.action.text("sent") != Some(sent.as_str()),
            Err(_) => true,
        }
    }

    pub(super) fn stale(&mut self, plan: &FlightPlan, why: &str) -> Outcome {
        self.about(plan, format!("stale: {why}"));
        Outcome::Stale(why.to_string())
    }

    /// Keeps what became of an approved plan, and what differs, before the model is asked again.
    pub(super) async fn settled(&self, plan: &FlightPlan, status: PlanStatus, differs: &str, desk: &Desk<'_>) {
        if let Err(why) = desk.journal.settled(&plan.id, status, differs).await {
            let text = format!("what came of plan {} could not be stored: {why}", plan.id);
            desk.journal.log(LogLevel::Error, &text);
        }
    }
}

/// Returns the difference between the objections that a plan showed and those that are raised now.
fn objections(plan: &FlightPlan, now: &crate::domain::gate::Trace) -> String {
    let lines = |asks: Vec<(String, String)>| -> String {
        asks.iter().map(|(gate, reason)| format!("{gate}: {}\n", crate::domain::inert::exact(reason))).collect()
    };
    let (then, now) = (lines(plan.asks()), lines(crate::domain::gate::plan::asks(now)));
    crate::domain::gate::differ::difference("why you are asked", &then, &now)
}
