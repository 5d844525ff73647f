//! Plans that wait beside one that was carried out: what it changed under them is shown anew, never approved with it.

use crate::domain::action::Outcome;
use crate::domain::gate::plan::{FlightPlan, PlanStatus};
use crate::domain::id::PlanId;
use crate::domain::port::{Call, LogLevel};
use crate::domain::turn::act::CONTACT;
use crate::domain::turn::error::Fault;
use crate::domain::turn::reason::Judged;
use crate::domain::turn::{Decision, Desk, Parking, Turn, proposal};
use serde_json::Map;
use std::collections::VecDeque;

impl Turn {
    /// Returns the plans of the same answer that wait beside one, or were approved to follow it, and still hold as they
    /// were shown.
    pub(super) async fn beside(
        &self,
        plan: &FlightPlan,
        rest: &VecDeque<(FlightPlan, Decision)>,
        desk: &Desk<'_>,
    ) -> Vec<FlightPlan> {
        let scope = self.scope(desk);
        let mut found = Vec::new();
        for (_, id) in self.report.conversation.waiting.iter().filter(|(_, id)| *id != plan.id) {
            let Some(other) = desk.journal.plan(id) else { continue };
            let follows = other.status == PlanStatus::Approved && rest.iter().any(|(next, _)| next.id == other.id);
            let waits = (other.status == PlanStatus::Pending || follows) && other.action.tool() != CONTACT;
            if waits && desk.surveyor.survey(&other.action, &scope).await.hash() == other.facts {
                found.push(other);
            }
        }
        found
    }

    /// Shows plans anew that held before an act and do not hold after it; returns those that hold no longer.
    pub(super) async fn renew(&mut self, beside: Vec<FlightPlan>, desk: &Desk<'_>) -> Result<Vec<PlanId>, Fault> {
        let (mut renewed, mut gone) = (Vec::new(), Vec::new());
        for old in beside {
            let facts = desk.surveyor.survey(&old.action, &self.scope(desk)).await;
            if facts.hash() == old.facts {
                continue;
            }
            gone.push(old.id.clone());
            let (action, facts, trace) = match self.judge(old.action.clone(), desk, None).await? {
                Ok(Judged::Parked(parked)) => *parked,
                // A human waits for it already: it is not done behind their back, whatever the rules are by now.
                Ok(Judged::Cleared(cleared)) => {
                    (cleared.action().clone(), cleared.facts().clone(), cleared.trace().clone())
                }
                Err(refusal) => {
                    self.overtaken(&old, &refusal.words, desk).await;
                    continue;
                }
            };
            let (session, turn, call) = (old.session.clone(), old.turn.clone(), old.call.clone());
            let project = desk.scope.project.clone();
            let step = old.about.step;
            let tried = self.rehearse(&action, &facts, &trace, desk).await;
            let (asked, privacy) = (trace.clone(), self.report.conversation.labels.privacy.max(old.about.privacy));
            let parking = Parking { action, facts, trace: asked, session, turn, call, project, step, tried, privacy };
            match desk.journal.renew(&old, parking, &self.report.conversation).await {
                Ok(new) => {
                    let waiting = &mut self.report.conversation.waiting;
                    waiting.iter_mut().filter(|(_, id)| *id == old.id).for_each(|(_, id)| *id = new.id.clone());
                    let words = format!("shown anew in place of {}: what it is about has changed", old.id);
                    let tool = new.action.tool().to_string();
                    self.deed(tool, new.title.clone(), Some(trace), words, Some(new.id.clone()));
                    renewed.push(format!("{} (was {})", new.id, old.id));
                }
                // It still waits as it was, and is stale when it is approved.
                Err(why) => {
                    desk.journal.log(LogLevel::Warning, &format!("plan {} could not be shown anew: {why}", old.id));
                }
            }
        }
        if !renewed.is_empty() {
            self.report.notice = Some(format!(
                "What was carried out changed what other plans are about, so they are shown anew: {}.",
                renewed.join(", ")
            ));
        }
        Ok(gone)
    }

    /// Ends a plan that gates refuse after what was carried out before it.
    async fn overtaken(&mut self, old: &FlightPlan, refused: &str, desk: &Desk<'_>) {
        let outcome =
            self.stale(old, "what was carried out before it changed what it is about, and now it is refused.");
        if let Outcome::Stale(text) = &outcome {
            self.settled(old, PlanStatus::Stale(text.clone()), "", desk).await;
        }
        self.report.conversation.waiting.retain(|(_, id)| *id != old.id);
        let call = Call { id: old.call.clone(), tool: old.action.tool().to_string(), args: Map::new() };
        self.result(&call, format!("{}\n{refused}", proposal::outcome(&outcome)));
    }
}
