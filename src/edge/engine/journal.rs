//! Keeps intents, outcomes and plans: what must survive a crash is on disk before it counts.

use crate::domain::action::{Action, Observation, Outcome};
use crate::domain::audit::{Decision, Ruling};
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::plan::{About, FlightPlan, PlanStatus};
use crate::domain::gate::show::{self, Shown};
use crate::domain::gate::title::title;
use crate::domain::gate::{Facts, Trace};
use crate::domain::hash::ContentHasher;
use crate::domain::id::{PlanId, SessionId, TurnId};
use crate::domain::label::{Privacy, Trust};
use crate::domain::memory::store::NewRecord;
use crate::domain::outside::Outside;
use crate::domain::port::{Journal, LogLevel};
use crate::domain::signal::Origin;
use crate::domain::turn::proposal;
use crate::domain::turn::{Conversation, Parking};
use crate::edge::engine::audit;
use crate::edge::engine::changes::intent_json;
use crate::edge::engine::record::{self, kind};
use crate::edge::engine::skilled::Setting;
use crate::edge::engine::turns::{decided_by, first_line};
use crate::edge::engine::{Engine, Notice};
use async_trait::async_trait;
use serde_json::json;

#[async_trait]
impl Journal for Engine {
    async fn intent(&self, turn: &TurnId, cleared: &Cleared) -> Result<(), String> {
        let action = cleared.action();
        self.doings.intend(turn, cleared);
        let change = match self.begin_change(turn, cleared).await {
            Ok(change) => change,
            Err(why) => {
                self.doings.retract(turn, action.hash());
                return Err(format!("what stood there before could not be kept: {why}"));
            }
        };
        let marks = self.marks_of(turn, cleared).await;
        let body = json!({
            "turn": turn.0, "tool": action.tool(),
            "summary": self.vault.mask(&proposal::logged(action, cleared.facts())),
            "facts": cleared.facts().hash().to_hex(), "change": change, "since": self.head().0,
        });
        let passed = self.passed(turn, cleared).map(|decision| audit::kept(&decision));
        let used = match cleared.rule().map(|rule| self.use_rule(rule)) {
            Some(Err(why)) => {
                self.doings.retract(turn, action.hash());
                self.drop_change(turn, action.hash());
                return Err(why);
            }
            Some(Ok(used)) => used,
            None => None,
        };
        let intent = (kind::INTENT, action.hash().to_hex(), intent_json(body));
        let kept = match marks {
            // Before the act, and in one piece with its intent: what it writes is never without its mark.
            Ok(marks) => self.append_all(marks.into_iter().chain(passed).chain(used).chain([intent])).await,
            Err(why) => Err(format!("where its text comes from could not be found out: {why}")),
        };
        if kept.is_err() {
            self.doings.retract(turn, action.hash());
            self.drop_change(turn, action.hash());
        }
        kept
    }

    async fn outcome(&self, turn: &TurnId, observation: &Observation) -> Result<(), String> {
        // Before it is stored: whatever becomes of that, the act has ended.
        if observation.labels.trust == Trust::Untrusted || !observation.outside.is_empty() {
            let (session, ..) = self.doings.behind(turn, observation.action);
            let mut outside = Outside::default();
            observation.outside.iter().for_each(|piece| outside.take(piece));
            self.mark_outside(&SessionId(session), &outside);
        }
        if let Some(session) = self.doings.ended(turn, observation) {
            self.mark_private(&session, observation.labels.privacy);
        }
        let word = match &observation.outcome {
            Outcome::Done(_) => "done",
            Outcome::Failed(_) => "failed",
            Outcome::Stale(_) => "stale",
            Outcome::Cancelled(_) => "cancelled",
        };
        let body = json!({ "turn": turn.0, "outcome": word, "changed": observation.changed });
        let mut ended = self.end_change(turn, observation).await;
        let change = std::mem::take(&mut ended.records);
        let marks = match self.me.upgrade() {
            Some(engine) => engine.marks_after(turn, observation).await,
            None => Vec::new(),
        };
        self.append_all(marks.into_iter().chain(change).chain([(kind::OUTCOME, observation.action.to_hex(), body)]))
            .await?;
        ended.stored();
        Ok(())
    }

    async fn park(&self, parking: Parking) -> Result<FlightPlan, String> {
        let asked = self.asked_of(&parking);
        let (plan, logged) = self.plan_of(parking);
        let asked = audit::kept(&Decision { plan: Some(plan.id.clone()), ..asked });
        self.append_all([(kind::PLAN, plan.id.0.clone(), record::plan(&plan)), asked].into_iter()).await?;
        self.doings.parked(&plan);
        self.take_plan(&plan, &logged);
        Ok(plan)
    }

    fn plan(&self, id: &PlanId) -> Option<FlightPlan> {
        self.plans.lock().get(id).cloned()
    }

    async fn renew(
        &self,
        old: &FlightPlan,
        parking: Parking,
        conversation: &Conversation,
    ) -> Result<FlightPlan, String> {
        // What it goes on under is that of the conversation it waited in.
        let (_, kept) = self.conversation(old).await?;
        let setting = Setting { project: Some(parking.project.clone()), ..kept };
        let new = self.replace(old.clone(), parking, conversation.clone(), &setting).await?;
        self.say(LogLevel::Info, &format!("plan {} no longer held: {} is shown in its place", old.id, new.id));
        Ok(new)
    }

    async fn settled(&self, plan: &PlanId, status: PlanStatus, differs: &str) -> Result<(), String> {
        let status = match status {
            PlanStatus::Done(words) => PlanStatus::Done(first_line(&words)),
            PlanStatus::Failed(words) => PlanStatus::Failed(first_line(&words)),
            other => other,
        };
        let said = format!("plan {plan} is {}", status.name());
        self.set_status_with(plan, status, None, Some(self.vault.mask(differs))).await?;
        self.say_of(LogLevel::Info, Privacy::Open, &said);
        Ok(())
    }

    async fn refused(&self, session: &SessionId, turn: &TurnId, action: &Action, facts: &Facts, trace: &Trace) {
        self.count_refused(action, facts, trace);
        self.count_quotes(facts);
        let decision = self.of_gates(Ruling::Refused, action, facts, trace);
        self.keep_refusal(session, turn, decision).await;
    }

    fn log(&self, level: LogLevel, text: &str) {
        self.say(level, text);
    }
}

impl Engine {
    /// Makes a plan that waits, and the words for the log; nothing is stored and nobody is told.
    pub(super) fn plan_of(&self, parking: Parking) -> (FlightPlan, String) {
        let created = self.clock.now();
        let logged = proposal::logged(&parking.action, &parking.facts);
        let effect = self.toolbox().get(parking.action.tool()).map(|tool| tool.effect);
        let Shown { body, diff, basis, badge } =
            show::rendered(&parking.action, &parking.facts, &parking.project, effect);
        // What is known of the conversation here and in the store, and not only what this turn drew on.
        let known = self.known_privacy(&parking.session).max(parking.privacy);
        let privacy = known.max(parking.action.labels().privacy).max(parking.facts.strictest());
        let life = jiff::SignedDuration::from_hours(i64::from(self.config.plan_hours));
        let plan = FlightPlan {
            id: self.plan_id(&parking, created),
            title: title(&parking.action, &parking.facts),
            body,
            diff,
            facts: parking.facts.hash(),
            action: parking.action,
            trace: parking.trace,
            session: parking.session,
            turn: parking.turn,
            call: parking.call,
            created,
            expires: created.checked_add(life).unwrap_or(jiff::Timestamp::MAX),
            status: PlanStatus::Pending,
            about: About {
                badge,
                step: parking.step,
                basis,
                tried: parking.tried,
                privacy,
                files: parking.facts.files(&parking.project),
                ..About::default()
            },
        };
        (plan, logged)
    }

    /// Takes in a plan that was stored, and tells everyone.
    pub(super) fn take_plan(&self, plan: &FlightPlan, logged: &str) {
        self.plans.lock().insert(plan.id.clone(), plan.clone());
        self.say(LogLevel::Info, &format!("plan {} waits: {logged}", plan.id));
        (self.notify)(Notice::Parked(Box::new(plan.clone())));
        (self.notify)(Notice::Status);
    }

    /// Stores one record; it is on disk when this returns.
    pub(super) async fn append(&self, kind: &str, key: &str, body: serde_json::Value) -> Result<(), String> {
        let record = NewRecord { at: self.clock.now(), kind: kind.to_string(), key: key.to_string(), body };
        self.archive.append(vec![record]).await
    }

    /// Stores records in one piece; they are on disk when this returns.
    pub(super) async fn append_all(
        &self,
        records: impl Iterator<Item = (&'static str, String, serde_json::Value)>,
    ) -> Result<(), String> {
        let at = self.clock.now();
        let records = records.map(|(kind, key, body)| NewRecord { at, kind: kind.to_string(), key, body });
        self.archive.append(records.collect()).await
    }

    /// Returns a short name that no known plan has.
    fn plan_id(&self, parking: &Parking, created: jiff::Timestamp) -> PlanId {
        let plans = self.plans.lock();
        loop {
            let mut hasher = ContentHasher::new("plan id");
            hasher.bytes(parking.action.hash().as_bytes()).text(&created.to_string()).number(self.next_serial());
            let hash = blake3::Hash::from_bytes(hasher.finish()).to_hex();
            let id = PlanId(format!("P{}", hash.as_str().get(..6).unwrap_or_default().to_ascii_uppercase()));
            if !plans.contains_key(&id) {
                return id;
            }
        }
    }

    /// Stores a plan's new status that no human decided, and tells everyone.
    pub(super) async fn set_status(&self, id: &PlanId, status: PlanStatus) -> Result<FlightPlan, String> {
        self.set_status_by(id, status, None).await
    }

    /// Stores a plan's new status with who decided it, and tells everyone.
    pub(super) async fn set_status_by(
        &self,
        id: &PlanId,
        status: PlanStatus,
        by: Option<&Origin>,
    ) -> Result<FlightPlan, String> {
        self.set_status_with(id, status, by, None).await
    }

    /// Stores a plan's new status and, when there is something to say of it, what differs from what it showed.
    async fn set_status_with(
        &self,
        id: &PlanId,
        status: PlanStatus,
        by: Option<&Origin>,
        differs: Option<String>,
    ) -> Result<FlightPlan, String> {
        let mut plan = self.plans.lock().get(id).cloned().ok_or_else(|| format!("there is no plan {id}"))?;
        plan.status = status;
        plan.about.differs = differs.unwrap_or(plan.about.differs);
        if let Some(origin) = by {
            plan.about.decided_by = decided_by(origin);
        }
        let ruled = self.ruled_on(&plan, by).await;
        self.append_all([(kind::PLAN, id.0.clone(), record::plan(&plan))].into_iter().chain(ruled)).await?;
        self.plans.lock().insert(id.clone(), plan.clone());
        (self.notify)(Notice::Changed(Box::new(plan.clone())));
        (self.notify)(Notice::Status);
        Ok(plan)
    }
}
