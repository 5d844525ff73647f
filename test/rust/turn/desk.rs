//! Doubles of everything that a turn works with: scripted, and recording in order what was asked of them.

use async_trait::async_trait;
use passepartout::domain::action::{Action, Observation, Outcome};
use passepartout::domain::gate::clearance::{Cleared, Rehearsal};
use passepartout::domain::gate::plan::{About, Approval, FlightPlan, PlanStatus, Tried};
use passepartout::domain::gate::title::title;
use passepartout::domain::gate::{Case, Facts, Gate, Gates, Reason, Trace, Verdict};
use passepartout::domain::id::{PlanId, SessionId, TurnId};
use passepartout::domain::label::{Labels, Privacy, Provenance, Trust};
use passepartout::domain::port::{
    Actuator, Answered, AtWork, Call, Completion, Content, CountTokens, Ended, Journal, Locality, LogLevel, Message,
    Model, ModelFailure, Prompt, ProviderError, ProviderErrorKind, Sink, Streamed, Surveyor, Thinking, Usage,
};
use passepartout::domain::scope::Scope;
use passepartout::domain::signal::{Body, Depth, Origin, Rights, Sensor, Signal, Source};
use passepartout::domain::tool::Toolbox;
use passepartout::domain::turn::error::{Fault, Resolution};
use passepartout::domain::turn::prompt::{Briefing, Lean};
use passepartout::domain::turn::{Conversation, Decision, Desk, Parking, Start, TurnReport, run};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// What the model does when it is asked.
pub enum Say {
    Words(&'static str),
    Calls(Vec<Call>),
    Both(&'static str, Vec<Call>),
    Panic(&'static str),
    Exhausted,
    Confirm,
}

/// What is broken on purpose.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Broken {
    #[default]
    Nothing,
    Surveyor,
    Actuator,
    Briefing,
    OnError,
    Log,
    Intent,
    Outcome,
    Park,
    SecondPark,
}

/// The world of one test.
pub struct World {
    pub script: Mutex<VecDeque<Say>>,
    pub locality: Locality,
    pub broken: Broken,
    pub resolution: Resolution,
    /// What an act comes to, and its labels.
    pub outcome: fn(&Action) -> (Outcome, Labels),
    /// How private the slice of memory is that the model is told.
    pub memory: Privacy,
    /// What the model is told in place of that slice.
    pub told: Option<fn(Lean) -> Briefing>,
    pub facts: Mutex<Facts>,
    /// For how many milliseconds each trial was allowed to go on.
    pub trials: Mutex<Vec<u64>>,
    /// How many each of them takes.
    pub trial_takes: u64,
    /// Everything that happened, in order.
    pub events: Mutex<Vec<String>>,
    /// What was told of acts while they were done.
    pub acts: Mutex<Vec<String>>,
    pub log: Mutex<Vec<String>>,
    pub prompts: Mutex<Vec<Prompt>>,
    pub plans: Mutex<Vec<FlightPlan>>,
    pub gates: Arc<Gates>,
    /// The most tokens, here words, of a prompt.
    pub max_tokens: usize,
}

/// Counts words as tokens.
pub struct Words;

impl CountTokens for Words {
    fn count(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }
}

pub const NOTE: Labels = Labels { provenance: Provenance::Note, trust: Trust::Kept, privacy: Privacy::Open };
pub const SECRET: Labels = Labels { privacy: Privacy::Private, ..NOTE };

/// Returns a call with an explanation.
pub fn call(id: &str, tool: &str, args: Value) -> Call {
    let mut args = args.as_object().cloned().unwrap_or_default();
    args.entry("explanation").or_insert("The user wants it so.".into());
    Call { id: id.to_string(), tool: tool.to_string(), args }
}

/// A gate of two: by tool and argument it passes, asks, denies or breaks.
struct Scripted(&'static str, u16, fn(&Case<'_>) -> Verdict);

impl Gate for Scripted {
    fn name(&self) -> &str {
        self.0
    }
    fn priority(&self) -> u16 {
        self.1
    }
    fn judge(&self, case: &Case<'_>) -> Verdict {
        (self.2)(case)
    }
}

fn gates() -> Gates {
    Gates::for_tests(vec![
        Box::new(Scripted("asker", 600, |case| match case.tool.name {
            "org-set-todo" | "write-file" | "contact-provider" => Verdict::Ask(Reason::new("It changes something.")),
            "shell" if case.action.text("command").is_some_and(|command| command.starts_with("attempt ")) => {
                Verdict::Ask(Reason::new("It changes something."))
            }
            _ => Verdict::pass(),
        })),
        Box::new(Scripted("denier", 150, |case| {
            let command = case.action.text("command").unwrap_or("");
            assert!(!command.contains("break the gate"), "the gate breaks");
            match command.contains("rm -rf") {
                true => Verdict::Deny(Reason::instead("It deletes everything.", "Name one file.")),
                false => Verdict::pass(),
            }
        })),
    ])
}

impl World {
    pub fn new(script: impl IntoIterator<Item = Say>) -> World {
        World {
            script: Mutex::new(script.into_iter().collect()),
            locality: Locality::Local,
            broken: Broken::Nothing,
            resolution: Resolution::Abort,
            outcome: |action| (Outcome::Done(format!("{} was carried out.", action.tool())), NOTE),
            memory: Privacy::Open,
            told: None,
            facts: Mutex::default(),
            trials: Mutex::default(),
            trial_takes: 0,
            events: Mutex::default(),
            acts: Mutex::default(),
            log: Mutex::default(),
            prompts: Mutex::default(),
            plans: Mutex::default(),
            gates: Arc::new(gates()),
            max_tokens: usize::MAX,
        }
    }

    fn event(&self, text: String) {
        self.events.lock().expect("not poisoned").push(text);
    }

    pub fn events(&self) -> Vec<String> {
        self.events.lock().expect("not poisoned").clone()
    }

    pub fn log(&self) -> Vec<String> {
        self.log.lock().expect("not poisoned").clone()
    }

    pub fn prompts(&self) -> Vec<Prompt> {
        self.prompts.lock().expect("not poisoned").clone()
    }

    pub fn plan(&self, at: usize) -> FlightPlan {
        self.plans.lock().expect("not poisoned")[at].clone()
    }

    /// Runs a turn for the user's words; returns the report and what was streamed.
    pub async fn ask(&self, text: &str) -> (TurnReport, String) {
        let body = Body::UserInput { text: text.to_string(), history: Vec::new() };
        self.start(Start::Words {
            signal: signal(body),
            history: Vec::new(),
            past: Default::default(),
            outside: Default::default(),
        })
        .await
    }

    /// Runs a turn for a human's yes to the first plan that was parked.
    pub async fn approve(&self, conversation: Conversation) -> (TurnReport, String) {
        let plan = self.plan(0);
        let approval = Approval::new(&plan, &plan.shown(), &origin(), at()).expect("the plan waits");
        let body = Body::Approval { plan: plan.id.clone(), shown: plan.shown() };
        self.decide(plan, body, Decision::Approved(approval), conversation).await
    }

    /// Runs a turn for a human's no.
    pub async fn deny(&self, reason: &str, conversation: Conversation) -> (TurnReport, String) {
        let plan = self.plan(0);
        let body = Body::Denial { plan: plan.id.clone(), reason: reason.to_string() };
        self.decide(plan, body, Decision::Denied(reason.to_string()), conversation).await
    }

    async fn decide(
        &self,
        plan: FlightPlan,
        body: Body,
        decision: Decision,
        conversation: Conversation,
    ) -> (TurnReport, String) {
        let signal = signal(body);
        self.start(Start::Decided { signal, steps: vec![(plan, decision)], conversation }).await
    }

    pub async fn start(&self, start: Start) -> (TurnReport, String) {
        let toolbox = Toolbox::builtin();
        let offered: Vec<_> = toolbox.offered().collect();
        let scope = scope();
        let mut streamed = String::new();
        let desk = Desk {
            gates: &|| self.gates.clone(),
            toolbox,
            offered: &offered,
            scope: &scope,
            model: self,
            surveyor: self,
            actuator: self,
            journal: self,
            briefing: &|may_see, lean| self.brief(may_see, lean),
            elsewhere: &|| Privacy::ELSEWHERE,
            skill: self,
            now: jiff::civil::date(2026, 3, 2).at(9, 0, 0, 0),
            tokens: &Words,
            max_tokens: &|| self.max_tokens,
            clock: &at,
        };
        let mut hear = |piece: Streamed<'_>| {
            streamed.push_str(piece.text());
            if let Streamed::Act(act) = piece {
                let plan = act.plan.as_ref().map(|id| format!(" [{id}]")).unwrap_or_default();
                // Beside what else happened: it is told in that moment.
                let done = self.events().len();
                let told =
                    format!("{} {} {}{plan} {:?}, at {done}", act.number, act.state.name(), act.summary, act.privacy);
                self.acts.lock().expect("not poisoned").push(told);
            }
        };
        let report = run(start, &desk, &mut hear).await;
        (report, streamed)
    }

    fn brief(&self, may_see: Privacy, lean: Lean) -> Briefing {
        assert!(self.broken != Broken::Briefing, "the briefing breaks");
        if let Some(told) = self.told {
            return told(lean);
        }
        // What may not be seen is left out, and what is left is open.
        let label = if self.memory <= may_see { self.memory } else { Privacy::Open };
        let memory = match label {
            Privacy::Open | Privacy::Warn => "* an open note",
            Privacy::Ask | Privacy::Private => "* an open note\n* a private note",
        };
        Briefing {
            identity: "You are Agent.".into(),
            memory: memory.into(),
            privacy: Some(label),
            ..Briefing::default()
        }
    }
}

#[async_trait]
impl AtWork for World {
    async fn resolve(&self, fault: &Fault) -> Resolution {
        assert!(self.broken != Broken::OnError, "whoever is asked breaks");
        self.event(format!("fault {}", fault.symbol()));
        self.resolution.clone()
    }
}

pub fn at() -> jiff::Timestamp {
    jiff::Timestamp::UNIX_EPOCH
}

pub fn origin() -> Origin {
    Origin { source: Source::Emacs, session: SessionId("s".into()), rights: Rights::HUMAN }
}

pub fn signal(body: Body) -> Signal {
    let (turn, depth) = (TurnId("t".into()), Depth::outermost());
    Signal { origin: origin(), depth, turn, at: at(), labels: Labels::USER, body }
}

pub fn scope() -> Scope {
    Scope {
        session: SessionId("s".into()),
        memex: vec!["/m".into()],
        project: "/p".into(),
        home: "/h".into(),
        own: vec!["/own".into()],
        permissions: BTreeMap::new(),
        private_tags: vec!["private".into()],
        held: Default::default(),
        self_build: false,
        may_see: passepartout::domain::label::Privacy::Private,
        hosts: Vec::new(),
    }
}

#[async_trait]
impl Model for World {
    async fn exactly(&self, provider: &str, prompt: &Prompt) -> Result<String, String> {
        Ok(format!("to {provider}: {} messages", prompt.messages.len()))
    }

    async fn complete(
        &self,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
        sink: Sink<'_>,
    ) -> Result<Answered, ModelFailure> {
        let given = prompt(self.locality);
        self.event("model".into());
        let privacy = given.privacy;
        self.prompts.lock().expect("not poisoned").push(given.clone());
        let said = self.script.lock().expect("not poisoned").pop_front();
        let (text, calls) = match said.expect("the script is long enough") {
            Say::Words(text) => (text, Vec::new()),
            Say::Calls(calls) => ("", calls),
            Say::Both(text, calls) => (text, calls),
            Say::Panic(text) => panic!("{text}"),
            Say::Exhausted => {
                let (provider, kind) = ("fake".to_string(), ProviderErrorKind::Unreachable);
                return Err(ModelFailure::Exhausted(vec![ProviderError::new(provider, kind, "it is down")]));
            }
            Say::Confirm => {
                let (provider, url) = ("far".to_string(), "https://far.example/v1/".to_string());
                return Err(ModelFailure::Confirm { provider, url, prompt: Box::new(given) });
            }
        };
        sink(Streamed::Text(text));
        let completion = Completion {
            provider: "fake".into(),
            model: "m".into(),
            text: text.into(),
            ended: Ended::Whole,
            thinking: Thinking::default(),
            calls,
            unreadable: Vec::new(),
            labels: Labels::MODEL,
            usage: Some(Usage { input: 10, output: 5, ..Usage::default() }),
            attempts: 1,
            sources: Vec::new(),
        };
        Ok(Answered { completion, locality: self.locality, privacy, outside: Vec::new() })
    }
}

#[async_trait]
impl Surveyor for World {
    async fn survey(&self, action: &Action, scope: &Scope) -> Facts {
        assert!(self.broken != Broken::Surveyor, "the surveyor breaks");
        let sees = if scope.may_see == Privacy::Private { "" } else { ", private notes shut" };
        self.event(format!("survey {}{sees}", action.tool()));
        self.facts.lock().expect("not poisoned").clone()
    }
}

#[async_trait]
impl Actuator for World {
    async fn rehearse(&self, _: Rehearsal, most: u64) -> (Tried, u64) {
        self.trials.lock().expect("not poisoned").push(most);
        (Tried::not("this is a test"), self.trial_takes)
    }

    fn masked(&self, text: &str) -> String {
        text.to_string()
    }

    async fn contents(&self, files: &[String]) -> BTreeMap<String, Content> {
        files.iter().map(|file| (file.clone(), Content::Nothing)).collect()
    }

    async fn perform(&self, _: &TurnId, cleared: Cleared) -> Observation {
        let action = cleared.action();
        let sees = if cleared.scope().may_see == Privacy::Private { "" } else { ", private notes shut" };
        self.event(format!("perform {}{sees}", action.tool()));
        assert!(self.broken != Broken::Actuator, "the actuator breaks at `ZANZIBAR7`");
        let (outcome, labels) = (self.outcome)(action);
        let changed = if action.tool() == "write-file" { vec!["/p/f".to_string()] } else { Vec::new() };
        Observation { action: action.hash(), outcome, labels, outside: Vec::new(), nodes: Vec::new(), changed }
    }
}

#[async_trait]
impl Journal for World {
    async fn intent(&self, _turn: &TurnId, cleared: &Cleared) -> Result<(), String> {
        self.event(format!("intent {}", cleared.action().tool()));
        if self.broken == Broken::Intent { Err("the disk is full".into()) } else { Ok(()) }
    }

    async fn outcome(&self, _turn: &TurnId, observation: &Observation) -> Result<(), String> {
        let word = match observation.outcome {
            Outcome::Done(_) => "done",
            Outcome::Failed(_) => "failed",
            Outcome::Stale(_) => "stale",
            Outcome::Cancelled(_) => "cancelled",
        };
        self.event(format!("outcome {word}"));
        if self.broken == Broken::Outcome { Err("the disk is full".into()) } else { Ok(()) }
    }

    async fn park(&self, parking: Parking) -> Result<FlightPlan, String> {
        self.event(format!("park {}", parking.action.tool()));
        if self.broken == Broken::Park {
            return Err("the disk is full".into());
        }
        let mut plans = self.plans.lock().expect("not poisoned");
        if self.broken == Broken::SecondPark && !plans.is_empty() {
            return Err("the disk is full now".into());
        }
        let plan = FlightPlan {
            id: PlanId(format!("P{}", plans.len() + 1)),
            title: title(&parking.action, &parking.facts),
            facts: parking.facts.hash(),
            body: parking.action.tool().to_string(),
            diff: String::new(),
            action: parking.action,
            trace: parking.trace,
            session: parking.session,
            turn: parking.turn,
            call: parking.call,
            created: at(),
            expires: jiff::Timestamp::MAX,
            status: PlanStatus::Pending,
            about: About { tried: parking.tried, ..About::default() },
        };
        plans.push(plan.clone());
        Ok(plan)
    }

    fn plan(&self, id: &PlanId) -> Option<FlightPlan> {
        self.plans.lock().expect("not poisoned").iter().find(|plan| plan.id == *id).cloned()
    }

    async fn renew(&self, old: &FlightPlan, parking: Parking, _: &Conversation) -> Result<FlightPlan, String> {
        self.event(format!("renew {}", old.id));
        let new = self.park(parking).await?;
        let mut plans = self.plans.lock().expect("not poisoned");
        let replaced = plans.iter_mut().find(|plan| plan.id == old.id).expect("it is known");
        replaced.status = PlanStatus::Replaced(new.id.clone());
        Ok(new)
    }

    async fn settled(&self, plan: &PlanId, status: PlanStatus, _: &str) -> Result<(), String> {
        self.event(format!("plan {plan} {}", status.name()));
        Ok(())
    }

    async fn refused(&self, _: &SessionId, _: &TurnId, _: &Action, _: &Facts, _: &Trace) {}

    fn log(&self, level: LogLevel, text: &str) {
        assert!(self.broken != Broken::Log, "the log breaks");
        self.log.lock().expect("not poisoned").push(format!("{}: {text}", level.name()));
    }
}

/// Tells a whole report, field by field; a new field must be told too.
pub fn told(report: &TurnReport) -> String {
    let TurnReport {
        ending,
        text,
        notice,
        deeds,
        plans,
        changed,
        sources,
        skill,
        answered_by,
        ended,
        routes,
        rounds,
        others,
        spent: _,
        usage,
        // The words of prompts have tests of their own, and the engine says what it looked at.
        taken: _,
        focus: _,
        conversation,
        fault,
        roll_back,
        // Its notice says so.
        out_of_steps: _,
        slot: _,
    } = report;
    let mut out = vec![format!("ending: {}", ending.name()), format!("text: {text}")];
    out.extend(notice.iter().map(|notice| format!("notice: {notice}")));
    for deed in deeds {
        let trace = deed.trace.as_ref().map(|trace| {
            let told = trace.opinions.iter().map(|o| format!("{} {}", o.gate, o.verdict.name()));
            told.collect::<Vec<_>>().join(", ")
        });
        let plan = deed.plan.as_ref().map(|id| format!(" [{id}]")).unwrap_or_default();
        let trace = trace.unwrap_or_else(|| "no action".into());
        out.push(format!("deed: {} ({trace}){plan}: {}", deed.summary, deed.outcome));
    }
    if !(plans.is_empty() && changed.is_empty() && sources.is_empty()) {
        out.push(format!("plans {plans:?}, changed {changed:?}, sources {sources:?}"));
    }
    if *ended != Ended::Whole {
        out.push(format!("cut off: {ended:?}"));
    }
    out.extend(skill.iter().map(|skill| format!("skill: {skill}")));
    out.extend(routes.iter().map(|words| format!("route: {words}")));
    out.extend(rounds.iter().map(|round| format!("asked together: {round:?}")));
    out.extend(others.iter().map(|other| format!("beside: {other:?}")));
    if let Some((provider, model)) = answered_by {
        out.push(format!("by {provider}/{model}, tokens {}+{}", usage.input, usage.output));
    }
    let Conversation { messages, typed, depth, labels, outside, nodes, local, waiting, contact, set_off, past } =
        conversation;
    out.push(format!("typed: {typed}"));
    out.extend(messages.iter().map(|message| match message {
        Message::Text { role, text } => format!("  {role:?}: {text}"),
        Message::Calls { text, calls, thinking: _ } => {
            let calls: Vec<_> = calls.iter().map(|call| format!("{}={}", call.id, call.tool)).collect();
            format!("  calls: {text}{}", calls.join(" "))
        }
        Message::Result { call, tool, text } => format!("  {call} {tool}: {}", text.replace('\n', " / ")),
        Message::Picture(picture) => format!("  {picture}"),
    }));
    let waiting: Vec<_> = waiting.iter().map(|(call, plan)| format!("{call}→{plan}")).collect();
    let place = if *local { "local" } else { "remote" };
    let labels = format!("{:?}/{:?}/{:?}", labels.provenance, labels.trust, labels.privacy);
    out.push(format!("depth {}, {place}, {labels}, waiting [{}]", depth.get(), waiting.join(" ")));
    if !outside.is_empty() {
        out.push(format!("from outside: {}", outside.sources().join(", ")));
    }
    if *past != Default::default() {
        out.push(format!("{} turns named, {} whole", past.named.len(), past.whole.len()));
    }
    if !nodes.is_empty() {
        out.push(format!("headings read: {nodes:?}"));
    }
    if let Some(contact) = contact {
        out.push(format!("shown: {}", contact.prompt.system));
    }
    if *set_off != Sensor::UserInput {
        out.push(format!("set off by {}", set_off.name()));
    }
    out.extend(fault.iter().map(|fault| format!("fault: {}", fault.symbol())));
    if *roll_back {
        out.push("memory rolls back".into());
    }
    out.join("\n")
}
