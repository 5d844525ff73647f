//! Acting: what is cleared is performed, what is asked about is parked.

use crate::domain::action::{Action, Observation, Outcome};
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::plan::Tried;
use crate::domain::gate::title::told;
use crate::domain::gate::{Facts, Trace};
use crate::domain::id::PlanId;
use crate::domain::label::{Labels, Privacy, Trust};
use crate::domain::outside::Piece;
use crate::domain::port::{Call, LogLevel, Prompt, Sink};
use crate::domain::signal::Signal;
use crate::domain::tool::Effect;
use crate::domain::turn::error::Fault;
use crate::domain::turn::faults::panic_text;
use crate::domain::turn::reason::{By, Judged, Refusal};
use crate::domain::turn::report::{ActState, Contact, Ending};
use crate::domain::turn::{Commanded, Desk, Flow, Parking, Turn, prompt, proposal};
use futures_util::FutureExt;
use serde_json::{Map, Value};
use std::panic::AssertUnwindSafe;

/// The tool that stands for the first contact with a provider that is not local. No model may call it.
pub const CONTACT: &str = "contact-provider";

impl Turn {
    /// Acts on judged calls in order. From the first one that waits, nothing further is performed.
    pub(super) async fn act_all(
        &mut self,
        signal: Signal,
        calls: Vec<Call>,
        judged: Vec<Judged>,
        desk: &Desk<'_>,
        sink: Sink<'_>,
    ) -> Result<Flow, Fault> {
        let mut outcomes = Vec::new();
        // Whether what the later calls were judged on may have changed by an earlier one.
        let mut moved = false;
        let mut parked = Vec::new();
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
                Judged::Parked(waits) => parked.push((call.id.clone(), *waits)),
                Judged::Cleared(_) if !parked.is_empty() => {
                    self.result(
                        call,
                        "Not carried out yet: an earlier call of this answer waits for the user.".to_string(),
                    );
                }
                Judged::Cleared(cleared) => {
                    moved |= desk.toolbox.get(&call.tool).is_none_or(|tool| tool.effect.changes());
                    let outcome = self.perform(cleared, None, desk, sink).await?;
                    self.result(call, proposal::outcome(&outcome));
                    outcomes.push((call.tool.clone(), outcome));
                }
            }
        }
        // All are tried before one is parked: a turn that is stopped meanwhile leaves no plan, and all appear together.
        let mut tried = Vec::new();
        for (_, (action, facts, trace)) in &parked {
            tried.push(self.rehearse(action, facts, trace, desk).await);
        }
        for ((call, (action, facts, trace)), tried) in parked.into_iter().zip(tried) {
            self.park(action, facts, trace, call, tried, desk).await?;
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
        sink: Sink<'_>,
    ) -> Result<Outcome, Fault> {
        desk.journal.intent(&self.signal.turn, &cleared).await.map_err(|why| {
            Fault::Pipeline(format!("the store could not keep the intent, so nothing was done ({why})"))
        })?;
        let tool = cleared.action().tool().to_string();
        let summary = told(cleared.action(), cleared.facts());
        let logged = proposal::logged(cleared.action(), cleared.facts());
        let trace = cleared.trace().clone();
        let effect = desk.toolbox.get(&tool).map(|tool| tool.effect);
        let message = cleared.action().text("text").filter(|_| effect == Some(Effect::Reply)).map(str::to_string);
        let hash = cleared.action().hash();
        // Who proposed it goes on from what was done.
        let rewritten = cleared.action().refinement().map(|refined| {
            let args = Value::Object(cleared.action().args().clone());
            format!("(The skill {} rewrote the call before it was judged; it was carried out with {args})", refined.by)
        });
        let facts_privacy = cleared.facts().privacy.unwrap_or(Privacy::Open);
        let about = cleared.action().labels().privacy.max(cleared.facts().strictest());
        let labels = Labels { privacy: cleared.action().labels().privacy.max(facts_privacy), ..Labels::MODEL };
        self.note_act(&tool, &summary, ActState::Begun, plan, about);
        self.tell_acts(sink);
        let performed = AssertUnwindSafe(desk.actuator.perform(&self.signal.turn, *cleared)).catch_unwind().await;
        let (mut observation, broke) = match performed {
            Ok(observation) => (observation, None),
            Err(panic) => {
                // What a panic says may quote what it was about: that is for the log, and no model hears it.
                let words = format!("{tool} broke, and nobody knows how far it got; the log says where.");
                let outcome = Outcome::Failed(words);
                (
                    Observation {
                        action: hash,
                        outcome,
                        labels,
                        outside: Vec::new(),
                        nodes: Vec::new(),
                        changed: Vec::new(),
                    },
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
        self.report.conversation.nodes.extend(observation.nodes.iter().cloned());
        let state = match proposal::went_well(effect, &observation.outcome) {
            true => ActState::Done,
            false => ActState::Failed,
        };
        self.note_act(&tool, &summary, state, plan, about.max(observation.labels.privacy));
        self.tell_acts(sink);
        self.deed(tool, summary, Some(trace), words, plan.cloned());
        self.acted = true;
        self.said.extend(message.filter(|_| matches!(observation.outcome, Outcome::Done(_))));
        if let Err(why) = desk.journal.outcome(&self.signal.turn, &observation).await {
            desk.journal.log(LogLevel::Error, &format!("the outcome of {logged} could not be stored: {why}"));
        }
        if let Some(panic) = broke {
            desk.journal.log(LogLevel::Error, &format!("{logged} broke: {panic}"));
        }
        Ok(match (observation.outcome, rewritten) {
            (Outcome::Done(text), Some(told)) => Outcome::Done(format!("{text}\n{}", desk.actuator.masked(&told))),
            (outcome, _) => outcome,
        })
    }

    /// Parks the first contact with a provider that is not local: a human sees what would be sent.
    pub(super) async fn contact(
        &mut self,
        provider: String,
        url: String,
        prompt: Prompt,
        desk: &Desk<'_>,
        sink: Sink<'_>,
    ) -> Result<Flow, Fault> {
        let mut args = Map::new();
        args.insert("provider".into(), Value::String(provider.clone()));
        args.insert("url".into(), Value::String(url));
        let sent = to_be_sent(&provider, &prompt, desk).await.map_err(Fault::Pipeline)?;
        args.insert("sent".into(), Value::String(sent));
        let why = format!("You asked something, and {provider} has never been sent anything from here before.");
        let action = Action::new(&desk.toolbox, CONTACT, args, Some(&why), Labels::USER)
            .map_err(|malformed| Fault::Pipeline(malformed.0))?;
        match self.judge(action, desk, None).await? {
            Ok(Judged::Parked(parked)) => {
                let (action, facts, trace) = *parked;
                self.report.conversation.contact = Some(Box::new(Contact { prompt }));
                self.park(action, facts, trace, String::new(), None, desk).await?;
                Ok(Flow::End(Ending::Parked))
            }
            Ok(Judged::Cleared(cleared)) => {
                // The user's rules allow it: it is performed like any other act, and asked again.
                self.perform(cleared, None, desk, sink).await?;
                Ok(self.go_on(self.signal.clone()))
            }
            Err(Refusal { words, by: By::Gate { gate, action } }) => Err(Fault::Gate { gate, action, reason: words }),
            Err(Refusal { words, by: By::Form { .. } }) => Err(Fault::Pipeline(words)),
        }
    }

    /// Carries out what a human's own command asks for: judged like any other act, and no model is told of it.
    pub(super) async fn command(
        &mut self,
        commanded: Commanded,
        desk: &Desk<'_>,
        sink: Sink<'_>,
    ) -> Result<Flow, Fault> {
        let Commanded { action, approval, .. } = commanded;
        let shown = approval.is_some();
        match self.judge(action, desk, approval).await? {
            Ok(Judged::Cleared(cleared)) => {
                let outcome = self.perform(cleared, None, desk, sink).await?;
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
                let tried = self.rehearse(&action, &facts, &trace, desk).await;
                self.park(action, facts, trace, String::new(), tried, desk).await?;
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

    pub(super) async fn park(
        &mut self,
        action: Action,
        facts: Facts,
        trace: Trace,
        call: String,
        tried: Option<Tried>,
        desk: &Desk<'_>,
    ) -> Result<(), Fault> {
        let (session, turn) = (self.signal.origin.session.clone(), self.signal.turn.clone());
        let tool = action.tool().to_string();
        let summary = told(&action, &facts);
        let project = desk.scope.project.clone();
        // Several of one answer are steps of one decision.
        let step = u32::try_from(self.report.plans.len()).unwrap_or(u32::MAX);
        let (asked, call_id) = (trace.clone(), call.clone());
        let privacy = self.report.conversation.labels.privacy;
        let about = action.labels().privacy.max(facts.strictest());
        let parking =
            Parking { action, facts, trace: asked, session, turn, call: call_id, project, step, tried, privacy };
        let plan = desk
            .journal
            .park(parking)
            .await
            .map_err(|why| Fault::Pipeline(format!("the plan could not be kept, so nothing was done ({why})")))?;
        self.report.plans.push(plan.id.clone());
        self.report.conversation.waiting.push((call, plan.id.clone()));
        self.note_act(&tool, &summary, ActState::Asked, Some(&plan.id), about);
        self.deed(tool, summary, Some(trace), "waits for approval".to_string(), Some(plan.id));
        Ok(())
    }
}

/// Stands in what is shown of a first contact between the prompt as people read it and the request itself.
pub const EXACTLY: &str = "THE REQUEST ITSELF, BYTE FOR BYTE\n";

/// Returns what a human is shown before the first contact with a provider: the prompt as people read it, and the request.
///
/// # Errors
/// In words, when the request cannot be made.
pub(super) async fn to_be_sent(provider: &str, prompt: &Prompt, desk: &Desk<'_>) -> Result<String, String> {
    let exactly = desk.model.exactly(provider, prompt).await;
    let exactly = exactly.map_err(|why| format!("what would be sent cannot be shown, so nothing was sent: {why}"))?;
    Ok(format!("{}\n{EXACTLY}{exactly}", prompt::shown(prompt)))
}
