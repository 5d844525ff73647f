//! One turn: perceive, reason, act. This file reads as the specification; its parts stand beside it.
//!
//! The chain is flat: what an act comes to is the next signal, one deeper, until a proposal wants nothing more.

pub mod error;
pub mod prompt;
pub mod proposal;

use crate::domain::action::{Action, Malformed, Observation, Outcome, clip};
use crate::domain::gate::clearance::{Cleared, Judgement, judge};
use crate::domain::gate::plan::{Approval, FlightPlan, PlanStatus};
use crate::domain::gate::{Case, Facts, Gates, Trace};
use crate::domain::id::{NodeId, PlanId, SessionId, TurnId};
use crate::domain::label::{Labels, Privacy, Provenance, Trust};
use crate::domain::port::{
    Actuator, Answered, Call, Completion, Journal, Locality, LogLevel, Message, Model, ModelFailure, Sink, Surveyor,
    Usage,
};
use crate::domain::scope::Scope;
use crate::domain::signal::{Body, Depth, Signal};
use crate::domain::tool::{Tool, Toolbox};
use error::{Fault, Resolution};
use futures_util::FutureExt;
use serde_json::{Map, Value};
use std::panic::AssertUnwindSafe;

/// How often a rejected proposal is given back to the model.
pub const MAX_TRIES: usize = 3;

/// All that a turn works with. Built by the runtime for one turn, from one snapshot of the world.
pub struct Desk<'a> {
    /// The gates.
    pub gates: &'a Gates,
    /// The tools.
    pub toolbox: Toolbox,
    /// The tools that the model is told of.
    pub offered: &'a [&'static Tool],
    /// What the turn may see and touch.
    pub scope: &'a Scope,
    /// The model.
    pub model: &'a dyn Model,
    /// Finds out facts.
    pub surveyor: &'a dyn Surveyor,
    /// Carries out what is cleared.
    pub actuator: &'a dyn Actuator,
    /// Keeps intents, outcomes and plans.
    pub journal: &'a dyn Journal,
    /// What the model is told beside the conversation.
    pub briefing: &'a (dyn Fn(Privacy) -> prompt::Briefing + Send + Sync),
    /// What a skill chose for faults; without one a fault aborts.
    pub on_error: &'a (dyn Fn(&Fault) -> Resolution + Send + Sync),
    /// The wall clock of the user when the turn began.
    pub now: jiff::civil::DateTime,
    /// The clock; for the life of plans.
    pub clock: &'a (dyn Fn() -> jiff::Timestamp + Send + Sync),
}

/// An action that a gate asked about, on its way to becoming a plan.
#[derive(Clone, Debug)]
pub struct Parking {
    /// The action.
    pub action: Action,
    /// What was found out.
    pub facts: Facts,
    /// What the gates said.
    pub trace: Trace,
    /// The conversation.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The model's name for the call.
    pub call: String,
    /// The root of the turn's project, in which a command would run.
    pub project: String,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// With an answer.
    Answered,
    /// With plans that wait.
    Parked,
    /// The user stopped it.
    Interrupted,
    /// With a fault.
    Failed,
}

impl Ending {
    /// Returns the word for the wire.
    pub fn name(self) -> &'static str {
        match self {
            Ending::Answered => "answered",
            Ending::Parked => "parked",
            Ending::Interrupted => "interrupted",
            Ending::Failed => "failed",
        }
    }
}

/// One action of a turn, with what was said of it and what it came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Deed {
    /// The tool.
    pub tool: String,
    /// The action in a line.
    pub summary: String,
    /// What the gates said; `None` for a call that is no action at all.
    pub trace: Option<Trace>,
    /// What it came to, in words.
    pub outcome: String,
    /// The plan that it waits in.
    pub plan: Option<PlanId>,
}

/// A conversation that can go on: kept while plans wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// The messages so far.
    pub messages: Vec<Message>,
    /// What the user typed to set it off.
    pub typed: String,
    /// How deep the next signal is.
    pub depth: Depth,
    /// The labels of everything in it.
    pub labels: Labels,
    /// Whether the last answer came from this machine; what a model elsewhere asks for is never private.
    pub local: bool,
    /// Calls of the last answer that still have no result, by call and plan.
    pub waiting: Vec<(String, PlanId)>,
}

/// What came of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnReport {
    /// How it ended.
    pub ending: Ending,
    /// What the model said last.
    pub text: String,
    /// A sentence for the user beside the text.
    pub notice: Option<String>,
    /// What was wanted and done.
    pub deeds: Vec<Deed>,
    /// Plans that wait.
    pub plans: Vec<PlanId>,
    /// Files that were changed.
    pub changed: Vec<String>,
    /// Nodes that the answer drew on.
    pub sources: Vec<NodeId>,
    /// Which provider and model answered last.
    pub answered_by: Option<(String, String)>,
    /// Tokens of all requests of the turn.
    pub usage: Usage,
    /// The conversation, for going on.
    pub conversation: Conversation,
    /// Whether memory must go back to where it stood when the turn began.
    pub roll_back: bool,
}

impl Conversation {
    /// Returns a conversation in which nothing was said.
    pub fn empty() -> Conversation {
        Conversation {
            messages: Vec::new(),
            typed: String::new(),
            depth: Depth::outermost(),
            labels: Labels::USER,
            local: true,
            waiting: Vec::new(),
        }
    }
}

impl TurnReport {
    /// Returns the report of a turn in which nothing has happened yet.
    pub fn of(conversation: Conversation) -> TurnReport {
        TurnReport {
            ending: Ending::Answered,
            text: String::new(),
            notice: None,
            deeds: Vec::new(),
            plans: Vec::new(),
            changed: Vec::new(),
            sources: Vec::new(),
            answered_by: None,
            usage: Usage::default(),
            conversation,
            roll_back: false,
        }
    }
}

/// What sets a turn going.
pub enum Start {
    /// A signal that is reasoned about: the user's words, after the conversation so far.
    Words {
        /// The signal.
        signal: Signal,
        /// The messages before it.
        history: Vec<Message>,
    },
    /// A human decided about a plan.
    Decided {
        /// The signal.
        signal: Signal,
        /// The plan.
        plan: Box<FlightPlan>,
        /// Yes, or no with a reason.
        decision: Decision,
        /// The conversation that waited.
        conversation: Conversation,
    },
}

/// What a human decided about a plan.
#[derive(Debug)]
pub enum Decision {
    /// Yes.
    Approved(Approval),
    /// No, and why.
    Denied(String),
}

/// Whether a signal is reasoned about, or passes through.
pub fn is_reasoned(body: &Body) -> bool {
    match body {
        Body::UserInput { .. }
        | Body::ChatMessage { .. }
        | Body::ToolOutput { .. }
        | Body::ToolError { .. }
        | Body::Approval { .. }
        | Body::Denial { .. } => true,
        Body::UserCommand { .. }
        | Body::BufferUpdate { .. }
        | Body::PointUpdate { .. }
        | Body::Heartbeat
        | Body::Schedule { .. }
        | Body::Hook { .. }
        | Body::Interrupt
        | Body::Delegation { .. }
        | Body::LoopError { .. }
        | Body::SyntaxError { .. }
        | Body::RepairRequest { .. }
        | Body::ReplEval { .. }
        | Body::Undo
        | Body::Redo => false,
    }
}

/// Runs one turn to its end. It always ends, and never panics: a fault is an ending.
pub async fn run(start: Start, desk: &Desk<'_>, sink: Sink<'_>) -> TurnReport {
    let (mut turn, mut next) = Turn::begin(start);
    loop {
        let sensor = next.signal().body.sensor();
        let depth = next.signal().depth;
        let step = AssertUnwindSafe(turn.step(next, desk, sink)).catch_unwind().await;
        let fault = match step {
            Ok(Ok(Flow::Go(following))) => {
                next = *following;
                continue;
            }
            Ok(Ok(Flow::End(ending))) => {
                turn.report.ending = ending;
                return turn.report;
            }
            Ok(Err(fault)) => fault,
            Err(panic) => Fault::Pipeline(panic_text(panic.as_ref())),
        };
        match resolve(&fault, &format!("{sensor}, depth {}: {fault}", depth.get()), desk, sink) {
            Resolution::Skip => {
                turn.report.ending = Ending::Answered;
                return turn.report;
            }
            Resolution::Fallback(text) => {
                turn.report.text = text;
                turn.report.ending = Ending::Answered;
                return turn.report;
            }
            Resolution::Abort => {}
        }
        turn.report.ending = Ending::Failed;
        turn.report.notice.get_or_insert_with(|| fault.to_string());
        turn.report.roll_back |= !is_error_sensor(sensor);
        match raised(next_signal_of(&turn, depth, &fault), sensor, depth) {
            Some(signal) => next = Step::Pass(signal),
            None => return turn.report,
        }
    }
}

/// Logs a fault and asks what ends it. Whoever is asked may break too: then the turn aborts.
fn resolve(fault: &Fault, line: &str, desk: &Desk<'_>, sink: Sink<'_>) -> Resolution {
    let asked = std::panic::catch_unwind(AssertUnwindSafe(|| {
        desk.journal.log(LogLevel::Error, line);
        let resolution = (desk.on_error)(fault);
        if let Resolution::Fallback(text) = &resolution {
            sink(text);
        }
        resolution
    }));
    asked.unwrap_or(Resolution::Abort)
}

/// Returns the loop-error signal that a fault raises; none when the chain is already deep or about an error.
fn raised(signal: Option<Signal>, sensor: &str, depth: Depth) -> Option<Signal> {
    signal.filter(|_| depth.get() <= 2 && !is_error_sensor(sensor))
}

fn is_error_sensor(sensor: &str) -> bool {
    matches!(sensor, "loop-error" | "tool-error" | "syntax-error")
}

fn next_signal_of(turn: &Turn, depth: Depth, fault: &Fault) -> Option<Signal> {
    let mut signal = turn.signal.clone();
    signal.depth = depth.deeper()?;
    signal.body = Body::LoopError { text: fault.to_string() };
    Some(signal)
}

/// Returns the words of a panic.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().map(|s| s.to_string()).or_else(|| panic.downcast_ref::<String>().cloned());
    words.unwrap_or_else(|| "something panicked without a word".to_string())
}

/// Refuses a tool that the model was not told of, though we have it: what only we may ask for is never a model's call.
fn offered(desk: &Desk<'_>, tool: &str) -> Result<(), Malformed> {
    if desk.offered.iter().any(|offered| offered.name == tool) {
        return Ok(());
    }
    let names: Vec<&str> = desk.offered.iter().map(|offered| offered.name).collect();
    Err(Malformed(format!("There is no tool “{}”. The tools are: {}.", clip(tool), names.join(", "))))
}

/// One signal on its way through the turn.
enum Step {
    /// Ask the model.
    Reason(Signal),
    /// Carry out what a human decided.
    Settle(Signal, Box<FlightPlan>, Decision),
    /// Nothing is reasoned about it.
    Pass(Signal),
}

impl Step {
    fn signal(&self) -> &Signal {
        match self {
            Step::Reason(signal) | Step::Settle(signal, _, _) | Step::Pass(signal) => signal,
        }
    }
}

enum Flow {
    Go(Box<Step>),
    End(Ending),
}

/// One action of an answer, judged.
enum Judged {
    Cleared(Box<Cleared>),
    Parked(Box<(Action, Facts, Trace)>),
}

struct Turn {
    signal: Signal,
    report: TurnReport,
    tries: usize,
}

impl Turn {
    fn begin(start: Start) -> (Turn, Step) {
        let (signal, conversation, settle) = match start {
            Start::Words { signal, mut history } => {
                let typed = match &signal.body {
                    Body::UserInput { text, .. } | Body::ChatMessage { text } => text.clone(),
                    _ => String::new(),
                };
                history.push(Message::Text { role: crate::domain::signal::Role::User, text: typed.clone() });
                let labels = signal.labels;
                let depth = signal.depth;
                (
                    signal,
                    Conversation { messages: history, typed, depth, labels, local: true, waiting: Vec::new() },
                    None,
                )
            }
            Start::Decided { mut signal, plan, decision, conversation } => {
                signal.depth = conversation.depth;
                (signal, conversation, Some((plan, decision)))
            }
        };
        let report = TurnReport::of(conversation);
        let step = match settle {
            Some((plan, decision)) => Step::Settle(signal.clone(), plan, decision),
            None if is_reasoned(&signal.body) => Step::Reason(signal.clone()),
            None => Step::Pass(signal.clone()),
        };
        (Turn { signal, report, tries: 0 }, step)
    }

    async fn step(&mut self, step: Step, desk: &Desk<'_>, sink: Sink<'_>) -> Result<Flow, Fault> {
        match step {
            Step::Pass(signal) => {
                if let Body::LoopError { text } = &signal.body {
                    let depth = signal.depth.get();
                    desk.journal.log(LogLevel::Warning, &format!("loop-error, depth {depth}: {text}"));
                }
                Ok(Flow::End(self.report.ending))
            }
            Step::Reason(signal) => self.reason(signal, desk, sink).await,
            Step::Settle(signal, plan, decision) => self.settle(signal, *plan, decision, desk).await,
        }
    }

    /// Asks the model, judges what it wants, and acts on it.
    async fn reason(&mut self, signal: Signal, desk: &Desk<'_>, sink: Sink<'_>) -> Result<Flow, Fault> {
        let completion = match self.complete(desk, sink).await? {
            Ok(completion) => completion,
            Err(flow) => return Ok(flow),
        };
        let (text, calls) = proposal::parse(&completion);
        self.report.text = text.clone();
        if calls.is_empty() {
            let role = crate::domain::signal::Role::Assistant;
            self.report.conversation.messages.push(Message::Text { role, text });
            return Ok(Flow::End(Ending::Answered));
        }
        self.report.conversation.messages.push(Message::Calls { text, calls: calls.clone() });
        let judged = match self.judge_all(&calls, desk).await? {
            Ok(judged) => judged,
            Err(last) => return self.rejected(signal, last, desk),
        };
        self.tries = 0;
        self.act_all(signal, calls, judged, desk).await
    }

    /// Gets a completion; or parks the first contact with a provider that is not local.
    async fn complete(&mut self, desk: &Desk<'_>, sink: Sink<'_>) -> Result<Result<Completion, Flow>, Fault> {
        let conversation = &self.report.conversation;
        let prompt = |locality| prompt::assemble(desk, conversation, locality);
        match desk.model.complete(&prompt, sink).await {
            Ok(Answered { completion, locality, privacy }) => {
                let conversation = &mut self.report.conversation;
                conversation.labels.privacy = conversation.labels.privacy.max(privacy);
                conversation.local = locality != Locality::Remote;
                let usage = completion.usage.unwrap_or_default();
                self.report.usage.input += usage.input;
                self.report.usage.output += usage.output;
                self.report.answered_by = Some((completion.provider.clone(), completion.model.clone()));
                self.report.sources.extend(completion.sources.iter().cloned());
                Ok(Ok(completion))
            }
            Err(ModelFailure::Exhausted(attempts)) => Err(Fault::Model { attempts }),
            Err(ModelFailure::Confirm { provider, url, sent }) => {
                let mut args = Map::new();
                args.insert("provider".into(), Value::String(provider.clone()));
                args.insert("url".into(), Value::String(url));
                args.insert("sent".into(), Value::String(sent));
                let why = format!("You asked something, and {provider} has never been sent anything from here before.");
                let action = Action::new(&desk.toolbox, "contact-provider", args, Some(&why), Labels::USER)
                    .map_err(|malformed| Fault::Pipeline(malformed.0))?;
                match self.judge(action, desk, None).await? {
                    Ok(Judged::Parked(parked)) => {
                        let (action, facts, trace) = *parked;
                        self.park(action, facts, trace, String::new(), desk).await?;
                        Ok(Err(Flow::End(Ending::Parked)))
                    }
                    Ok(Judged::Cleared(cleared)) => {
                        // The user's rules allow it: it is performed like any other act, and asked again.
                        self.perform(cleared, None, desk).await?;
                        Ok(Err(self.go_on(self.signal.clone())))
                    }
                    Err(words) => Err(Fault::Pipeline(words)),
                }
            }
        }
    }

    /// Judges every call of an answer. `Err` says that one was rejected; every call then has a result.
    async fn judge_all(&mut self, calls: &[Call], desk: &Desk<'_>) -> Result<Result<Vec<Judged>, String>, Fault> {
        let mut judged = Vec::with_capacity(calls.len());
        let mut rejections: Vec<(String, String)> = Vec::new();
        for call in calls {
            let labels = self.report.conversation.labels.join(Labels::MODEL);
            let offered = offered(desk, &call.tool);
            match offered.and_then(|()| Action::new(&desk.toolbox, &call.tool, call.args.clone(), None, labels)) {
                Err(malformed) => {
                    let outcome = format!("refused: {}", malformed.0);
                    self.deed(call.tool.clone(), malformed.0.clone(), None, outcome, None);
                    rejections.push((call.id.clone(), malformed.0));
                }
                Ok(action) => match self.judge(action, desk, None).await? {
                    Ok(one) => judged.push(one),
                    Err(words) => rejections.push((call.id.clone(), words)),
                },
            }
        }
        let Some((_, last)) = rejections.last().cloned() else { return Ok(Ok(judged)) };
        for call in calls {
            let words = rejections.iter().find(|(id, _)| *id == call.id).map_or_else(
                || "Not carried out: another call of the same answer was refused.".to_string(),
                |(_, words)| words.clone(),
            );
            self.result(call, words);
        }
        Ok(Err(last))
    }

    /// Returns the turn's scope, narrowed to what the model that proposes may see.
    fn scope(&self, desk: &Desk<'_>) -> Scope {
        Scope { see_private: desk.scope.see_private && self.report.conversation.local, ..desk.scope.clone() }
    }

    /// Surveys and judges one action. `Err` is the rejection in words, for the model.
    async fn judge(
        &mut self,
        action: Action,
        desk: &Desk<'_>,
        approval: Option<Approval>,
    ) -> Result<Result<Judged, String>, Fault> {
        let tool =
            desk.toolbox.get(action.tool()).ok_or_else(|| Fault::Pipeline("BUG: an action without a tool".into()))?;
        let scope = self.scope(desk);
        let facts = desk.surveyor.survey(&action, &scope).await;
        let case = Case { action: &action, tool, scope: &scope, facts: &facts };
        Ok(match judge(desk.gates, case, approval) {
            Judgement::Cleared(cleared) => Ok(Judged::Cleared(cleared)),
            Judgement::Parked(trace) => Ok(Judged::Parked(Box::new((action, facts, trace)))),
            Judgement::Rejected(trace) => {
                let words = proposal::rejection(&trace);
                let summary = proposal::summary(&action);
                let logged = proposal::logged(&action, facts.privacy);
                desk.journal.log(LogLevel::Warning, &format!("refused: {logged}"));
                self.deed(action.tool().to_string(), summary, Some(trace), "refused".to_string(), None);
                Err(words)
            }
        })
    }

    /// Gives a rejection back to the model; after the last try it is the outcome.
    fn rejected(&mut self, signal: Signal, last: String, desk: &Desk<'_>) -> Result<Flow, Fault> {
        self.tries += 1;
        if self.tries >= MAX_TRIES {
            desk.journal.log(LogLevel::Warning, "the last of three proposals was refused; the turn ends");
            self.report.notice = Some(format!(
                "What the model wanted was refused {MAX_TRIES} times, so nothing was done. The last reason:\n{last}"
            ));
            return Ok(Flow::End(Ending::Failed));
        }
        Ok(Flow::Go(Box::new(Step::Reason(signal))))
    }

    /// Acts on judged calls in order. From the first one that waits, nothing further is performed.
    async fn act_all(
        &mut self,
        signal: Signal,
        calls: Vec<Call>,
        judged: Vec<Judged>,
        desk: &Desk<'_>,
    ) -> Result<Flow, Fault> {
        for (call, judged) in calls.iter().zip(judged) {
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
                    let outcome = self.perform(cleared, None, desk).await?;
                    self.result(call, proposal::outcome(&outcome));
                }
            }
        }
        if !self.report.plans.is_empty() {
            self.report.conversation.depth = signal.depth;
            return Ok(Flow::End(Ending::Parked));
        }
        self.feed_back(signal)
    }

    /// Performs a cleared action, of a plan or not: intent before, outcome after.
    async fn perform(
        &mut self,
        cleared: Box<Cleared>,
        plan: Option<&PlanId>,
        desk: &Desk<'_>,
    ) -> Result<Outcome, Fault> {
        desk.journal.intent(&self.signal.turn, &cleared).await.map_err(|why| {
            Fault::Pipeline(format!("the store could not keep the intent, so nothing was done ({why})"))
        })?;
        let tool = cleared.action().tool().to_string();
        let summary = proposal::summary(cleared.action());
        let logged = proposal::logged(cleared.action(), cleared.facts().privacy);
        let trace = cleared.trace().clone();
        let hash = cleared.action().hash();
        let performed = AssertUnwindSafe(desk.actuator.perform(*cleared)).catch_unwind().await;
        let observation = performed.unwrap_or_else(|panic| Observation {
            action: hash,
            outcome: Outcome::Failed(format!("{tool} broke: {}", panic_text(panic.as_ref()))),
            labels: Labels::MODEL,
            changed: Vec::new(),
        });
        if let Err(why) = desk.journal.outcome(&self.signal.turn, &observation).await {
            desk.journal.log(LogLevel::Error, &format!("the outcome of {logged} could not be stored: {why}"));
        }
        self.report.changed.extend(observation.changed.iter().cloned());
        self.report.conversation.labels = self.report.conversation.labels.join(observation.labels);
        let words = proposal::outcome(&observation.outcome);
        self.deed(tool, summary, Some(trace), words, plan.cloned());
        Ok(observation.outcome)
    }

    /// Turns results into the next signal, one deeper; at the limit, ends with what was done.
    fn feed_back(&mut self, mut signal: Signal) -> Result<Flow, Fault> {
        let Some(depth) = signal.depth.deeper() else { return Ok(self.offer()) };
        let (tool, text) = match self.report.conversation.messages.last() {
            Some(Message::Result { tool, text, .. }) => (tool.clone(), text.clone()),
            _ => (String::new(), String::new()),
        };
        signal.depth = depth;
        signal.labels = Labels {
            provenance: Provenance::Tool,
            trust: Trust::Untrusted,
            privacy: self.report.conversation.labels.privacy,
        };
        signal.body = Body::ToolOutput { tool, text };
        self.report.conversation.depth = depth;
        Ok(Flow::Go(Box::new(Step::Reason(signal))))
    }

    /// Carries out, or not, what a human decided; the conversation goes on when nothing waits any more.
    async fn settle(
        &mut self,
        signal: Signal,
        plan: FlightPlan,
        decision: Decision,
        desk: &Desk<'_>,
    ) -> Result<Flow, Fault> {
        let words = match decision {
            Decision::Denied(reason) => {
                let summary = proposal::summary(&plan.action);
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
        let contact = plan.call.is_empty();
        let denied_contact = contact && matches!(signal.body, Body::Denial { .. });
        self.report.conversation.waiting.retain(|(_, id)| *id != plan.id);
        if !contact {
            let call = Call { id: plan.call.clone(), tool: plan.action.tool().to_string(), args: Map::new() };
            self.result(&call, words);
        } else if denied_contact {
            self.report.notice = Some("Nothing was sent.".to_string());
            return Ok(Flow::End(Ending::Answered));
        }
        if !self.report.conversation.waiting.is_empty() {
            self.report.plans = self.report.conversation.waiting.iter().map(|(_, id)| id.clone()).collect();
            return Ok(Flow::End(Ending::Parked));
        }
        Ok(self.go_on(signal))
    }

    /// Judges an approved action anew on what holds now, and performs it when it is what was shown.
    async fn settle_approved(
        &mut self,
        plan: &FlightPlan,
        approval: Approval,
        desk: &Desk<'_>,
    ) -> Result<String, Fault> {
        let facts = desk.surveyor.survey(&plan.action, &self.scope(desk)).await;
        let outcome = if facts.hash() != plan.facts {
            self.stale(plan, "what the plan was about has changed since it was shown, so nothing was done. Propose it again if it is still wanted.")
        } else {
            match self.judge(plan.action.clone(), desk, Some(approval)).await? {
                Ok(Judged::Cleared(cleared)) => self.perform(cleared, Some(&plan.id), desk).await?,
                Ok(Judged::Parked(_)) => {
                    self.stale(plan, "it is judged otherwise now than when it was shown, so nothing was done.")
                }
                Err(words) => {
                    self.settled(plan, PlanStatus::Failed(words.clone()), desk).await;
                    return Ok(words);
                }
            }
        };
        let words = proposal::outcome(&outcome);
        let status = match outcome {
            Outcome::Done(text) => PlanStatus::Done(text),
            Outcome::Stale(text) => PlanStatus::Stale(text),
            Outcome::Failed(_) | Outcome::Cancelled(_) => PlanStatus::Failed(words.clone()),
        };
        self.settled(plan, status, desk).await;
        Ok(words)
    }

    fn stale(&mut self, plan: &FlightPlan, why: &str) -> Outcome {
        let (tool, summary) = (plan.action.tool().to_string(), proposal::summary(&plan.action));
        self.deed(tool, summary, Some(plan.trace.clone()), format!("stale: {why}"), Some(plan.id.clone()));
        Outcome::Stale(why.to_string())
    }

    /// Keeps what became of an approved plan before the model is asked again.
    async fn settled(&self, plan: &FlightPlan, status: PlanStatus, desk: &Desk<'_>) {
        if let Err(why) = desk.journal.settled(&plan.id, status).await {
            let text = format!("what came of plan {} could not be stored: {why}", plan.id);
            desk.journal.log(LogLevel::Error, &text);
        }
    }

    async fn park(
        &mut self,
        action: Action,
        facts: Facts,
        trace: Trace,
        call: String,
        desk: &Desk<'_>,
    ) -> Result<(), Fault> {
        let (session, turn) = (self.signal.origin.session.clone(), self.signal.turn.clone());
        let tool = action.tool().to_string();
        let summary = proposal::summary(&action);
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

    fn result(&mut self, call: &Call, text: String) {
        let (call, tool) = (call.id.clone(), call.tool.clone());
        self.report.conversation.messages.push(Message::Result { call, tool, text });
    }

    fn deed(&mut self, tool: String, summary: String, trace: Option<Trace>, outcome: String, plan: Option<PlanId>) {
        self.report.deeds.push(Deed { tool, summary, trace, outcome, plan });
    }

    /// Asks the model again, one deeper than the conversation; at the limit, ends with an offer.
    fn go_on(&mut self, mut signal: Signal) -> Flow {
        let Some(depth) = self.report.conversation.depth.deeper() else { return self.offer() };
        signal.depth = depth;
        self.report.conversation.depth = depth;
        Flow::Go(Box::new(Step::Reason(signal)))
    }

    /// Ends a chain at its limit: with what was done, and an offer to go on.
    fn offer(&mut self) -> Flow {
        self.report.notice = Some(format!(
            "Stopped after {} steps. What was done is listed below; say “go on” to continue.",
            Depth::MAX
        ));
        Flow::End(Ending::Answered)
    }
}
