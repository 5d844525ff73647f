//! Turns that begin with a human's decision about a plan: which steps it is about, what it makes of each, and how the
//! conversation goes on.

use crate::domain::gate::plan::FlightPlan;
use crate::domain::id::{PlanId, TurnId};
use crate::domain::label::Trust;
use crate::domain::port::Sink;
use crate::domain::signal::{Body, Origin, Signal, Source};
use crate::domain::turn::{Contact, Conversation, Decision, Start, TurnReport};
use crate::edge::engine::Engine;
use crate::edge::engine::plans::Unsettled;
use crate::edge::engine::record::Finished;
use crate::edge::engine::skilled::Setting;
use crate::edge::engine::turns::decided_by;
use crate::edge::thread::aside;
use std::sync::Arc;

/// What is said to a channel that may not decide about plans, whatever plan it names.
pub const MAY_NOT_DECIDE: &str = "this channel may not decide about plans";

/// So many bytes are kept of the reason of a no, each of whose steps has a copy of it that a model is told.
const MOST_REASON: usize = 4 << 10;
/// Stands where a reason was cut.
const CUT: &str = "…";

/// A human's decision, as a client sends it.
#[derive(Clone, Debug)]
pub enum Decided {
    /// Yes, to what was shown under this hash.
    Approve {
        /// The hash.
        shown: String,
    },
    /// No, and why; the model is told and may try otherwise.
    Deny {
        /// May be empty.
        reason: String,
    },
    /// No, and why; the model is not asked again, and what waits beside it is denied as well.
    Stop {
        /// May be empty.
        reason: String,
    },
}

impl Decided {
    /// Makes a no, with as much of its reason as is kept; with `stop` the model is not asked again.
    pub fn no(reason: &str, stop: bool) -> Decided {
        let head = |reason: &str| reason.get(..reason.floor_char_boundary(MOST_REASON - CUT.len())).map(str::to_string);
        let reason = match reason.len() > MOST_REASON {
            true => head(reason).unwrap_or_default() + CUT,
            false => reason.to_string(),
        };
        match stop {
            true => Decided::Stop { reason },
            false => Decided::Deny { reason },
        }
    }

    /// Returns it with as much of a reason as is kept, whoever made it.
    fn bounded(self) -> Decided {
        match self {
            Decided::Approve { .. } => self,
            Decided::Deny { reason } => Decided::no(&reason, false),
            Decided::Stop { reason } => Decided::no(&reason, true),
        }
    }

    /// Returns whether it is a no.
    pub fn is_no(&self) -> bool {
        match self {
            Decided::Approve { .. } => false,
            Decided::Deny { .. } | Decided::Stop { .. } => true,
        }
    }
}

impl Engine {
    /// Carries out a human's decision about a plan; see [`Engine::decide_steps`].
    ///
    /// # Errors
    /// When there is no such plan, or the decision does not count; nothing was changed then.
    pub async fn decide(
        self: &Arc<Self>,
        origin: &Origin,
        id: &str,
        decided: Decided,
        turn: TurnId,
        sink: Sink<'_>,
    ) -> Result<Finished, String> {
        self.decide_steps(origin, vec![(id.to_string(), decided)], turn, sink).await
    }

    /// Carries out what a human decided about steps of one plan, in the order of the steps; the conversation goes on with
    /// what came of it.
    ///
    /// # Errors
    /// When there is no such step, they belong to different decisions, or a decision does not count; nothing was changed
    /// then.
    pub async fn decide_steps(
        self: &Arc<Self>,
        origin: &Origin,
        steps: Vec<(String, Decided)>,
        turn: TurnId,
        sink: Sink<'_>,
    ) -> Result<Finished, String> {
        let began = self.clock.now();
        let first = steps.first().map(|(id, _)| id.as_str()).unwrap_or_default();
        let _alone = self.alone(&self.known(first)?.session).await;
        let steps = self.steps_of(steps)?;
        let plans: Vec<PlanId> = steps.iter().map(|(plan, _)| plan.id.clone()).collect();
        let all_no = steps.iter().all(|(_, decided)| decided.is_no());
        let Some(plan) = steps.first().map(|(plan, _)| plan.clone()) else {
            return Err("name the plan; the plans are listed by /plans".to_string());
        };
        let names: Vec<&str> = plans.iter().map(|id| id.0.as_str()).collect();
        let names = names.join(", ");
        let (mut conversation, setting) = match self.conversation(&plan).await {
            Ok(kept) => kept,
            // What cannot go on can still be denied.
            Err(_) if all_no => {
                self.deny_all(&steps.iter().filter_map(no).collect::<Vec<_>>(), origin).await?;
                let mut report = TurnReport::of(Conversation::empty());
                report.notice = Some("Nothing was done.".to_string());
                let asked = format!("denial {names}");
                return Ok(self.finish(turn, plan.session, began, asked, report, &Setting::default()).await);
            }
            Err(why) => return Err(why),
        };
        if self.drop_ended(&mut conversation, &plans) {
            // What was done drew on who knows what, and its own labels ended with its turn.
            let known = self.session_privacy(&plan.session).await;
            conversation.labels.privacy = conversation.labels.privacy.max(known);
        }
        self.recall_shared(&plan.session).await;
        if conversation.labels.trust == Trust::Untrusted {
            // The texts themselves are kept as long as this runs.
            conversation.outside.join(&self.outside_of(&plan.session).await);
        }
        // What was shown and has become private meanwhile is not sent: it is put together anew, and shown anew.
        let elsewhere = self.elsewhere(&plan.session);
        let shut = |contact: &Contact| contact.prompt.nodes.iter().any(|id| self.node_privacy(id) > elsewhere);
        conversation.contact = conversation.contact.take().filter(|contact| !shut(contact));
        self.mark_private(&plan.session, conversation.labels.privacy);
        self.recall_earlier(&plan.session, &conversation);
        let below = setting.under.as_ref().and_then(|under| under.below.clone());
        let (engine, about, kept) = (self.clone(), plan.clone(), setting.clone());
        let sees = origin.rights.see_private;
        let scope = aside(move || {
            let scope = match engine.scope_of(&about, &kept, sees) {
                Ok(scope) => scope,
                // What is denied needs no project; what the model wants next is judged where nothing is.
                Err(_) if all_no => kept.narrowed(engine.scope(&about.session, None, sees)),
                Err(why) => return Err(why),
            };
            Ok(engine.tightened(scope, below.as_deref()))
        });
        let scope = scope.await?;
        // Whatever becomes of the turn, no approved step stays half decided: the guards see to that.
        let (decisions, body, unsettled) = self.take_decisions(origin, steps).await?;
        let by = Some(origin).filter(|origin| origin.source == Source::Gateway);
        let by = by.map_or(String::new(), |origin| format!(" by {}", decided_by(origin)));
        let asked = format!("{} {names}{by}", body.sensor().name());
        self.doings.begin(&turn, &plan.session, unsettled.iter().map(Unsettled::settling).collect());
        if !unsettled.is_empty() {
            self.doings.approved_by(&turn, &decided_by(origin));
        }
        let signal = Signal {
            origin: Origin { session: plan.session.clone(), ..origin.clone() },
            depth: conversation.depth,
            turn: turn.clone(),
            at: began,
            labels: conversation.labels,
            body,
        };
        let is_yes = |(_, decision): &&(FlightPlan, Decision)| matches!(decision, Decision::Approved(_));
        let approved: Vec<FlightPlan> = decisions.iter().filter(is_yes).map(|(plan, _)| plan.clone()).collect();
        let start = Start::Decided { signal, steps: decisions, conversation };
        let (mut report, under) = self.run(start, setting.under, None, &scope, sink).await;
        drop(unsettled);
        let is_done = |plan: &&FlightPlan| self.with_plan(&plan.id.0, |plan| plan.status.is_done()).unwrap_or(false);
        for plan in approved.iter().filter(is_done) {
            if let Some(offer) = self.offer_rule(plan).await {
                report.notice = Some(report.notice.map_or(offer.clone(), |notice| format!("{notice}\n{offer}")));
            }
        }
        let setting = Setting { project: Some(scope.project), under: Some(under) };
        let finished = self.finish(turn, plan.session, began, asked, report, &setting).await;
        self.settle_job(&finished, all_no).await;
        Ok(finished)
    }

    fn known(&self, id: &str) -> Result<FlightPlan, String> {
        self.plan(id).ok_or_else(|| match id {
            "" => "name the plan; the plans are listed by /plans".to_string(),
            id => format!("there is no plan {id}; the plans are listed by /plans"),
        })
    }

    /// Returns the plans of decided steps in the order of the steps, with reasons as they are kept.
    fn steps_of(&self, steps: Vec<(String, Decided)>) -> Result<Vec<(FlightPlan, Decided)>, String> {
        let mut found: Vec<(FlightPlan, Decided)> = Vec::with_capacity(steps.len());
        for (id, decided) in steps {
            let plan = self.known(&id)?;
            if let Some((other, _)) = found.first()
                && (other.turn != plan.turn || other.session != plan.session)
            {
                return Err(format!("{} and {} are not steps of one plan; decide about each", other.id, plan.id));
            }
            if found.iter().any(|(other, _)| other.id == plan.id) {
                return Err(format!("step {} is named twice; nothing was decided", plan.id));
            }
            found.push((plan, decided.bounded()));
        }
        found.sort_by_key(|(plan, _)| plan.about.step);
        Ok(found)
    }

    /// Makes decisions of what a human decided: first what is approved, each with an approval of its own, so that
    /// nothing is denied when one of those does not count.
    async fn take_decisions(
        self: &Arc<Self>,
        origin: &Origin,
        steps: Vec<(FlightPlan, Decided)>,
    ) -> Result<(Vec<(FlightPlan, Decision)>, Body, Vec<Unsettled>), String> {
        let denied: Vec<(&FlightPlan, &str)> = steps.iter().filter_map(no).collect();
        self.may_deny(denied.iter().copied(), origin)?;
        let (mut taken, mut unsettled, mut body) = (Vec::new(), Vec::new(), None);
        for (plan, decided) in &steps {
            taken.push(match decided {
                Decided::Approve { shown } => {
                    let (approval, settling) = self.approve(plan, shown, origin).await?;
                    unsettled.push(settling);
                    body.get_or_insert(Body::Approval { plan: plan.id.clone(), shown: shown.clone() });
                    Decision::Approved(approval)
                }
                Decided::Deny { reason } => Decision::Denied(reason.clone()),
                Decided::Stop { reason } => Decision::Stopped(reason.clone()),
            });
        }
        self.deny_all(&denied, origin).await?;
        if let Some((plan, reason)) = denied.first() {
            body.get_or_insert(Body::Denial { plan: plan.id.clone(), reason: reason.to_string() });
        }
        let body = body.ok_or_else(|| "nothing was decided".to_string())?;
        Ok((steps.into_iter().map(|(plan, _)| plan).zip(taken).collect(), body, unsettled))
    }
}

/// Returns the plan and the reason of a no.
fn no((plan, decided): &(FlightPlan, Decided)) -> Option<(&FlightPlan, &str)> {
    match decided {
        Decided::Deny { reason } | Decided::Stop { reason } => Some((plan, reason)),
        Decided::Approve { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_kept_up_to_a_length_and_cut_at_a_character() {
        let cut = |head: &str, times: usize| format!("{}…", head.repeat(times));
        for (reason, kept) in [
            (String::new(), String::new()),
            ("not before Friday".to_string(), "not before Friday".to_string()),
            ("x".repeat(4096), "x".repeat(4096)),
            ("x".repeat(4097), cut("x", 4093)),
            ("é".repeat(2048), "é".repeat(2048)),
            ("é".repeat(4 << 20), cut("é", 2046)),
            ("😀".repeat(1025), cut("😀", 1023)),
        ] {
            for stop in [false, true] {
                let no = Decided::no(&reason, stop);
                let again = no.clone().bounded();
                let (Decided::Deny { reason: once } | Decided::Stop { reason: once }) = &no else { panic!("{no:?}") };
                assert!(*once == kept && once.len() <= MOST_REASON, "{} bytes: {once}", reason.len());
                assert_eq!(matches!(no, Decided::Stop { .. }), stop);
                assert_eq!(format!("{no:?}"), format!("{again:?}"), "what was cut is not cut again");
            }
        }
    }
}
