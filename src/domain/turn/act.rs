//! Acting: what is cleared is performed, what is asked about is parked, what a human decided is settled.

use crate::domain::action::{Action, Observation, Outcome};
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::plan::{Approval, FlightPlan, PlanStatus};
use crate::domain::gate::title::title;
use crate::domain::gate::{Facts, Trace};
use crate::domain::id::PlanId;
use crate::domain::label::{Labels, Privacy, Trust};
use crate::domain::outside::Piece;
use crate::domain::port::{Call, LogLevel, Prompt};
use crate::domain::signal::{Body, Signal};
use crate::domain::tool::{CONFIRM, Effect, RESTORE};
use crate::domain::turn::error::Fault;
use crate::domain::turn::faults::panic_text;
use crate::domain::turn::reason::{By, Judged, Refusal};
use crate::domain::turn::report::{Contact, Ending};
use crate::domain::turn::{Commanded, Decision, Desk, Flow, Parking, Turn, prompt, proposal};
use futures_util::FutureExt;
use serde_json::{Map, Value};
use std::panic::AssertUnwindSafe;

/// The tool that stands for the first contact with a provider that is not local. No model may call it.
pub(super) const CONTACT: &str = "contact-provider";

impl Turn {
    /// Acts on judged calls in order. From the first one that waits, nothing further is performed.
    pub(super) async fn act_all(
        &mut self,
        signal: Signal,
        calls: Vec<Call>,
        judged: Vec<Judged>,
        desk: &Desk<'_>,
    ) -> Result<Flow, Fault> {
        let mut outcomes = Vec::new();
        // Whether what the later calls were judged on may have changed by an earlier one.
        let mut moved = false;
        for (call, judged) in calls.iter().zip(judged) {
            let judged = match judged {
                judged if !moved => judged,
                before => match self.judge_later(call, before, desk).await? {
                    Ok(now) => now,
                    Err(failed) => {
                        outcomes.push(failed);
                        continue;
                    }
                },
            };
            match judged {
                Judged::Parked(parked) => {
                    let (action, facts, trace) = *parked;
                    self.park(action, facts, trace, call.id.clone(), desk).await?;
                }
                Judged::Cleared(_) if !self.report.plans.is_empty() => {
                    self.result(
                        call,
                        "Not carried out yet: an earlier call of this answer waits for the user.".to_string(),
                    );
                }
                Judged::Cleared(cleared) => {
                    moved |= desk.toolbox.get(&call.tool).is_none_or(|tool| tool.effect.changes());
                    let outcome = self.perform(cleared, None, desk).await?;
                    self.result(call, proposal::outcome(&outcome));
                    outcomes.push((call.tool.clone(), outcome));
                }
            }
        }
        if !self.report.plans.is_empty() {
            self.report.conversation.depth = signal.depth;
            return Ok(Flow::End(Ending::Parked));
        }
        Ok(self.feed_back(signal, outcomes))
    }

    /// Judges a call anew on what the earlier calls of its answer left. `Err` says that it is refused by now.
    async fn judge_later(
        &mut self,
        call: &Call,
        before: Judged,
        desk: &Desk<'_>,
    ) -> Result<Result<Judged, (String, Outcome)>, Fault> {
        let action = match before {
            Judged::Parked(parked) => parked.0,
            Judged::Cleared(cleared) => cleared.action().clone(),
        };
        Ok(self.judge(action, desk, None).await?.map_err(|refusal| {
            self.result(call, refusal.words.clone());
            (call.tool.clone(), Outcome::Failed(refusal.words))
        }))
    }

    /// Performs a cleared action, of a plan or not: intent before, outcome after.
    pub(super) async fn perform(
        &mut self,
        cleared: Box<Cleared>,
        plan: Option<&PlanId>,
        desk: &Desk<'_>,
    ) -> Result<Outcome, Fault> {
        desk.journal.intent(&self.signal.turn, &cleared).await.map_err(|why| {
            Fault::Pipeline(format!("the store could not keep the intent, so nothing was done ({why})"))
        })?;
        let tool = cleared.action().tool().to_string();
        let summary = title(cleared.action(), cleared.facts());
        let logged = proposal::logged(cleared.action(), cleared.facts());
        let trace = cleared.trace().clone();
        let effect = desk.toolbox.get(&tool).map(|tool| tool.effect);
        let message = cleared.action().text("text").filter(|_| effect == Some(Effect::Reply)).map(str::to_string);
        let hash = cleared.action().hash();
        let facts_privacy = cleared.facts().privacy.unwrap_or(Privacy::Open);
        let labels = Labels { privacy: cleared.action().labels().privacy.max(facts_privacy), ..Labels::MODEL };
        let performed = AssertUnwindSafe(desk.actuator.perform(&self.signal.turn, *cleared)).catch_unwind().await;
        let (mut observation, broke) = match performed {
            Ok(observation) => (observation, None),
            Err(panic) => {
                // What a panic says may quote what it was about: that is for the log, and no model hears it.
                let words = format!("{tool} broke, and nobody knows how far it got; the log says where.");
                let outcome = Outcome::Failed(words);
                (
                    Observation { action: hash, outcome, labels, outside: Vec::new(), changed: Vec::new() },
                    Some(panic_text(panic.as_ref())),
                )
            }
        };
        let words = proposal::outcome(&observation.outcome);
        if observation.labels.trust == Trust::Untrusted && observation.outside.is_empty() {
            let source = format!("what {tool} said");
            observation.outside.push(Piece::new(&source, &words, observation.labels.privacy));
        }
        // First what the user is told: whatever else fails now, the act was done.
        self.report.changed.extend(observation.changed.iter().cloned());
        self.report.conversation.labels = self.report.conversation.labels.join(observation.labels);
        self.report.conversation.take_outside(&observation.outside);
        self.deed(tool, summary, Some(trace), words, plan.cloned());
        self.acted = true;
        self.said.extend(message.filter(|_| matches!(observation.outcome, Outcome::Done(_))));
        if let Err(why) = desk.journal.outcome(&self.signal.turn, &observation).await {
            desk.journal.log(LogLevel::Error, &format!("the outcome of {logged} could not be stored: {why}"));
        }
        if let Some(panic) = broke {
            desk.journal.log(LogLevel::Error, &format!("{logged} broke: {panic}"));
        }
        Ok(observation.outcome)
    }

    /// Parks the first contact with a provider that is not local: a human sees what would be sent.
    pub(super) async fn contact(
        &mut self,
        provider: String,
        url: String,
        prompt: Prompt,
        desk: &Desk<'_>,
    ) -> Result<Flow, Fault> {
        let mut args = Map::new();
        args.insert("provider".into(), Value::String(provider.clone()));
        args.insert("url".into(), Value::String(url));
        args.insert("sent".into(), Value::String(prompt::shown(&prompt)));
        let why = format!("You asked something, and {provider} has never been sent anything from here before.");
        let action = Action::new(&desk.toolbox, CONTACT, args, Some(&why), Labels::USER)
            .map_err(|malformed| Fault::Pipeline(malformed.0))?;
        match self.judge(action, desk, None).await? {
            Ok(Judged::Parked(parked)) => {
                let (action, facts, trace) = *parked;
                let nodes = (desk.briefing)(Privacy::Open).nodes;
                self.report.conversation.contact = Some(Box::new(Contact { prompt, nodes }));
                self.park(action, facts, trace, String::new(), desk).await?;
                Ok(Flow::End(Ending::Parked))
            }
            Ok(Judged::Cleared(cleared)) => {
                // The user's rules allow it: it is performed like any other act, and asked again.
                self.perform(cleared, None, desk).await?;
                Ok(self.go_on(self.signal.clone()))
            }
            Err(Refusal { words, by: By::Gate { gate, action } }) => Err(Fault::Gate { gate, action, reason: words }),
            Err(Refusal { words, by: By::Form { .. } }) => Err(Fault::Pipeline(words)),
        }
    }

    /// Carries out, or not, what a human decided; the conversation goes on when nothing waits any more.
    pub(super) async fn settle(
        &mut self,
        signal: Signal,
        plan: FlightPlan,
        decision: Decision,
        desk: &Desk<'_>,
    ) -> Result<Flow, Fault> {
        let beside = match &decision {
            Decision::Denied(_) => Vec::new(),
            Decision::Approved(_) => self.beside(&plan, desk).await,
        };
        let words = match decision {
            Decision::Denied(reason) => {
                let summary = plan.title.clone();
                let words = proposal::denial(&reason);
                self.deed(
                    plan.action.tool().to_string(),
                    summary,
                    Some(plan.trace.clone()),
                    words.clone(),
                    Some(plan.id.clone()),
                );
                words
            }
            Decision::Approved(approval) => self.settle_approved(&plan, approval, desk).await?,
        };
        let contact = plan.action.tool() == CONTACT;
        let denied_contact = contact && matches!(signal.body, Body::Denial { .. });
        self.report.conversation.waiting.retain(|(_, id)| *id != plan.id);
        if !contact {
            let call = Call { id: plan.call.clone(), tool: plan.action.tool().to_string(), args: Map::new() };
            self.result(&call, words);
        } else if denied_contact {
            self.report.notice = Some("Nothing was sent.".to_string());
            return Ok(Flow::End(Ending::Answered));
        }
        if matches!(plan.action.tool(), RESTORE | CONFIRM) {
            // Nobody asked a model, so none goes on with it.
            self.report.notice = Some(self.report.deeds.last().map(|deed| deed.outcome.clone()).unwrap_or_default());
            return Ok(Flow::End(Ending::Answered));
        }
        self.renew(beside, desk).await?;
        if !self.report.conversation.waiting.is_empty() {
            self.report.plans = self.report.conversation.waiting.iter().map(|(_, id)| id.clone()).collect();
            return Ok(Flow::End(Ending::Parked));
        }
        Ok(self.go_on(signal))
    }

    /// Carries out what a human's own command asks for: judged like any other act, and no model is told of it.
    pub(super) async fn command(&mut self, commanded: Commanded, desk: &Desk<'_>) -> Result<Flow, Fault> {
        let Commanded { action, approval, .. } = commanded;
        let shown = approval.is_some();
        match self.judge(action, desk, approval).await? {
            Ok(Judged::Cleared(cleared)) => {
                let outcome = self.perform(cleared, None, desk).await?;
                Ok(self.commanded(&outcome))
            }
            Ok(Judged::Parked(_)) if shown => {
                self.report.notice = Some(
                    "What this is about has changed since it was shown, so nothing was done. Look at it again."
                        .to_string(),
                );
                Ok(Flow::End(Ending::Failed))
            }
            Ok(Judged::Parked(parked)) => {
                let (action, facts, trace) = *parked;
                self.park(action, facts, trace, String::new(), desk).await?;
                Ok(Flow::End(Ending::Parked))
            }
            Err(Refusal { words, .. }) => {
                self.report.notice = Some(words);
                Ok(Flow::End(Ending::Failed))
            }
        }
    }

    /// Ends a turn of a human's own command with what came of it.
    fn commanded(&mut self, outcome: &Outcome) -> Flow {
        match outcome {
            Outcome::Done(text) => {
                self.report.text = text.clone();
                Flow::End(Ending::Answered)
            }
            Outcome::Failed(_) | Outcome::Stale(_) | Outcome::Cancelled(_) => {
                self.report.notice = Some(proposal::outcome(outcome));
                Flow::End(Ending::Failed)
            }
        }
    }

    /// Judges an approved action anew on what holds now, and performs it when it is what was shown.
    pub(super) async fn settle_approved(
        &mut self,
        plan: &FlightPlan,
        approval: Approval,
        desk: &Desk<'_>,
    ) -> Result<String, Fault> {
        let facts = desk.surveyor.survey(&plan.action, &self.scope(desk)).await;
        let outcome = if self.is_other_contact(plan) {
            self.stale(plan, "what would be sent is not what was shown, so nothing was sent. It is shown anew.")
        } else if facts.hash() != plan.facts {
            self.stale(plan, "what the plan was about has changed since it was shown, so nothing was done. Propose it again if it is still wanted.")
        } else {
            match self.judge(plan.action.clone(), desk, Some(approval)).await? {
                Ok(Judged::Cleared(cleared)) => self.perform(cleared, Some(&plan.id), desk).await?,
                Ok(Judged::Parked(_)) => {
                    self.stale(plan, "it is judged otherwise now than when it was shown, so nothing was done.")
                }
                Err(Refusal { words, .. }) => {
                    self.settled(plan, PlanStatus::Failed(words.clone()), desk).await;
                    return Ok(words);
                }
            }
        };
        let words = proposal::outcome(&outcome);
        if matches!(outcome, Outcome::Stale(_)) {
            // What is sent is then put together anew, and shown anew.
            self.report.conversation.contact = None;
        }
        let status = match outcome {
            Outcome::Done(text) => PlanStatus::Done(text),
            Outcome::Stale(text) => PlanStatus::Stale(text),
            Outcome::Failed(_) | Outcome::Cancelled(_) => PlanStatus::Failed(words.clone()),
        };
        self.settled(plan, status, desk).await;
        Ok(words)
    }

    /// Returns whether a plan is about a first contact, and what would be sent is not what it showed.
    fn is_other_contact(&self, plan: &FlightPlan) -> bool {
        let kept = self.report.conversation.contact.as_ref().map(|contact| prompt::shown(&contact.prompt));
        plan.action.tool() == CONTACT && (kept.is_none() || kept.as_deref() != plan.action.text("sent"))
    }

    pub(super) fn stale(&mut self, plan: &FlightPlan, why: &str) -> Outcome {
        let (tool, summary) = (plan.action.tool().to_string(), plan.title.clone());
        self.deed(tool, summary, Some(plan.trace.clone()), format!("stale: {why}"), Some(plan.id.clone()));
        Outcome::Stale(why.to_string())
    }

    /// Keeps what became of an approved plan before the model is asked again.
    pub(super) async fn settled(&self, plan: &FlightPlan, status: PlanStatus, desk: &Desk<'_>) {
        if let Err(why) = desk.journal.settled(&plan.id, status).await {
            let text = format!("what came of plan {} could not be stored: {why}", plan.id);
            desk.journal.log(LogLevel::Error, &text);
        }
    }

    pub(super) async fn park(
        &mut self,
        action: Action,
        facts: Facts,
        trace: Trace,
        call: String,
        desk: &Desk<'_>,
    ) -> Result<(), Fault> {
        let (session, turn) = (self.signal.origin.session.clone(), self.signal.turn.clone());
        let tool = action.tool().to_string();
        let summary = title(&action, &facts);
        let project = desk.scope.project.clone();
        let parking = Parking { action, facts, trace: trace.clone(), session, turn, call: call.clone(), project };
        let plan = desk
            .journal
            .park(parking)
            .await
            .map_err(|why| Fault::Pipeline(format!("the plan could not be kept, so nothing was done ({why})")))?;
        self.report.plans.push(plan.id.clone());
        self.report.conversation.waiting.push((call, plan.id.clone()));
        self.deed(tool, summary, Some(trace), "waits for approval".to_string(), Some(plan.id));
        Ok(())
    }
}
