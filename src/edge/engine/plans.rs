//! Plans as a human meets them: listed, approved, denied, edited.

use crate::domain::action::Action;
use crate::domain::audit::Decision;
use crate::domain::gate::clearance::{Judgement, judge, may_rehearse};
use crate::domain::gate::differ::differs;
use crate::domain::gate::plan::{About, Approval, FlightPlan, PlanStatus, Refused, Tried};
use crate::domain::gate::show::Shown;
use crate::domain::gate::{Case, Facts};
use crate::domain::id::{PlanId, SessionId, TurnId};
use crate::domain::label::Privacy;
use crate::domain::memory::store::NewRecord;
use crate::domain::port::{Actuator, Journal, LogLevel, Message};
use crate::domain::scope::Scope;
use crate::domain::signal::{Origin, Source};
use crate::domain::tool::{Effect, Tool};
use crate::domain::turn::{Conversation, Parking, TRYING, proposal};
use crate::edge::actuator::Actuators;
use crate::edge::engine::audit;
use crate::edge::engine::decisions::MAY_NOT_DECIDE;
use crate::edge::engine::record::{self, kind};
use crate::edge::engine::skilled::Setting;
use crate::edge::engine::stopped::Settling;
use crate::edge::engine::turns::decided_by;
use crate::edge::engine::{Engine, Notice};
use crate::edge::thread::{aside, in_place};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

impl Engine {
    /// Reads the plans that the store kept.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn load_plans(&self) -> Result<(), String> {
        for record in self.archive.latest_each(kind::PLAN).await? {
            match record::read_plan(&record.body, &self.toolbox()) {
                Some(plan) => {
                    if plan.status == PlanStatus::Pending {
                        let proposed = plan.created.to_zoned(self.clock.zone()).datetime();
                        self.pin_time(plan.action.hash(), proposed);
                    }
                    self.plans.lock().insert(plan.id.clone(), plan);
                }
                None => {
                    let key = &record.key;
                    self.say(
                        LogLevel::Warning,
                        &format!("plan {key} of the store cannot be read, so it cannot be approved"),
                    );
                }
            }
        }
        Ok(())
    }

    /// Shows what has expired as such, where nothing can be stored.
    pub(super) fn show_expired(&self) {
        let now = self.clock.now();
        let mut plans = self.plans.lock();
        let over = |plan: &&mut FlightPlan| plan.status == PlanStatus::Pending && plan.expires <= now;
        plans.values_mut().filter(over).for_each(|plan| plan.status = PlanStatus::Expired);
    }

    /// Ends what an earlier session left open, and what has expired.
    ///
    /// # Errors
    /// When that could not be stored.
    pub async fn settle_plans(&self) -> Result<(), String> {
        self.settle_approved().await?;
        self.expire_plans().await
    }

    /// Ends plans that an earlier session approved and did not see to an end.
    async fn settle_approved(&self) -> Result<(), String> {
        let open: Vec<PlanId> = {
            let plans = self.plans.lock();
            plans.values().filter(|plan| plan.status == PlanStatus::Approved).map(|plan| plan.id.clone()).collect()
        };
        for id in open {
            self.set_status(&id, PlanStatus::Failed(UNKNOWN_END.to_string())).await?;
        }
        Ok(())
    }

    /// Marks pending plans whose time is over.
    pub async fn expire_plans(&self) -> Result<(), String> {
        let now = self.clock.now();
        let over = |plan: &&FlightPlan| plan.status == PlanStatus::Pending && plan.expires <= now;
        let ids: Vec<PlanId> = self.plans.lock().values().filter(over).map(|plan| plan.id.clone()).collect();
        for id in ids {
            self.set_status(&id, PlanStatus::Expired).await?;
        }
        Ok(())
    }

    /// Returns the plans, oldest first: those that wait, or all.
    pub fn plans(&self, all: bool) -> Vec<FlightPlan> {
        let mut plans: Vec<FlightPlan> =
            self.plans.lock().values().filter(|plan| all || plan.status == PlanStatus::Pending).cloned().collect();
        // Steps of one decision stay together and in their order, those that were shown anew among them.
        let begun: HashMap<TurnId, jiff::Timestamp> = plans.iter().fold(HashMap::new(), |mut begun, plan| {
            let first = begun.entry(plan.turn.clone()).or_insert(plan.created);
            *first = plan.created.min(*first);
            begun
        });
        let place = |plan: &FlightPlan| {
            (begun.get(&plan.turn).copied().unwrap_or(plan.created), plan.turn.clone(), plan.about.step, plan.created)
        };
        plans.sort_by_cached_key(|plan| (place(plan), plan.id.clone()));
        plans
    }

    /// Returns which step of its decision a plan is, from 1, and how many there are; those that were replaced by another
    /// do not count.
    pub fn step(&self, plan: &FlightPlan) -> (usize, usize) {
        let plans = self.plans.lock();
        let of_it = plans.values().filter(|other| other.turn == plan.turn && other.session == plan.session);
        let mut steps: Vec<u32> = of_it.map(|other| other.about.step).collect();
        steps.sort_unstable();
        steps.dedup();
        (steps.iter().position(|step| *step == plan.about.step).map_or(1, |at| at + 1), steps.len().max(1))
    }

    /// Finds a plan by its name, without regard to case.
    pub fn plan(&self, id: &str) -> Option<FlightPlan> {
        self.with_plan(id, FlightPlan::clone)
    }

    /// Looks at a plan without copying it.
    pub fn with_plan<T>(&self, id: &str, look: impl FnOnce(&FlightPlan) -> T) -> Option<T> {
        self.plans.lock().values().find(|plan| plan.id.0.eq_ignore_ascii_case(id.trim())).map(look)
    }

    /// Returns how private a plan is now: by what it drew on when it was made, by its conversation, and by the files that it is
    /// about, as they stand.
    pub(in crate::edge) async fn plan_privacy(self: &Arc<Self>, plan: &FlightPlan) -> Privacy {
        let known = plan.about.privacy.max(self.session_privacy(&plan.session).await);
        let (engine, files) = (self.clone(), plan.about.files.clone());
        let here = aside(move || files.iter().map(|file| engine.privacy_here(file)).max()).await;
        known.max(here.unwrap_or(Privacy::Open))
    }

    /// Returns how many plans wait.
    pub fn pending(&self) -> usize {
        self.plans.lock().values().filter(|plan| plan.status == PlanStatus::Pending).count()
    }

    /// Makes an approval of a plan and marks the plan as approved, so that it counts once.
    pub(super) async fn approve(
        self: &Arc<Self>,
        plan: &FlightPlan,
        shown: &str,
        origin: &Origin,
    ) -> Result<(Approval, Unsettled), String> {
        self.expire_plans().await?;
        self.undone_where_it_may_be(plan, origin)?;
        // Its conversation, or a file that it is about, may have become private while the turns before this one ran.
        if origin.source == Source::Gateway && self.plan_privacy(plan).await.is_kept() {
            return Err(Refused::Kept(plan.id.clone()).to_string());
        }
        let now = self.clock.now();
        let settling = Settling::of(plan);
        let approval = self.claim(&plan.id, PlanStatus::Approved, |plan| {
            let approval = Approval::new(plan, shown, origin, now).map_err(|refused| refused.to_string())?;
            // Files were looked at a moment ago; that it drew on something private since is known here.
            if origin.source == Source::Gateway && self.known_privacy(&plan.session).is_kept() {
                return Err(Refused::Kept(plan.id.clone()).to_string());
            }
            self.may_decide_now(plan, origin).map(|()| approval)
        })?;
        // From the claim on: while it is being stored, the turn may be stopped.
        let unsettled = Unsettled { engine: self.clone(), settling };
        self.keep_claim(&plan.id, PlanStatus::Approved, Some(origin)).await?;
        Ok((approval, unsettled))
    }

    /// Says whether all of some plans may be denied: they wait, and the channel may decide.
    pub(super) fn may_deny<'p>(
        &self,
        denied: impl Iterator<Item = (&'p FlightPlan, &'p str)>,
        origin: &Origin,
    ) -> Result<(), String> {
        let plans = self.plans.lock();
        let one = |(plan, _): (&FlightPlan, &str)| match plans.get(&plan.id) {
            Some(_) if !origin.rights.approve => Err(MAY_NOT_DECIDE.to_string()),
            Some(known) => self.may_decide_now(known, origin).and_then(|()| pending(known)),
            None => Err(format!("there is no plan {}", plan.id)),
        };
        denied.into_iter().try_for_each(one)
    }

    /// Marks plans as denied, each for its reason: all of them, or none when one of them does not wait.
    pub(super) async fn deny_all(&self, denied: &[(&FlightPlan, &str)], origin: &Origin) -> Result<(), String> {
        self.may_deny(denied.iter().copied(), origin)?;
        let status = |reason: &str| PlanStatus::Denied(reason.to_string());
        {
            let mut plans = self.plans.lock();
            // Somebody else may have decided since.
            if let Some((other, _)) =
                denied.iter().find(|(plan, _)| plans.get(&plan.id).is_none_or(|p| pending(p).is_err()))
            {
                return Err(format!("plan {} no longer waits; nothing was decided", other.id));
            }
            for (plan, reason) in denied {
                if let Some(known) = plans.get_mut(&plan.id) {
                    known.status = status(reason);
                }
            }
        }
        let mut outcome = Ok(());
        for (plan, reason) in denied {
            // What cannot be stored waits again, and each is tried: a no that can be kept is not lost by another.
            outcome = outcome.and(self.keep_claim(&plan.id, status(reason), Some(origin)).await);
        }
        outcome
    }

    /// Takes a plan out of waiting: of several who decide at once, one succeeds.
    fn claim<T>(
        &self,
        id: &PlanId,
        status: PlanStatus,
        check: impl FnOnce(&FlightPlan) -> Result<T, String>,
    ) -> Result<T, String> {
        let mut plans = self.plans.lock();
        let plan = plans.get_mut(id).ok_or_else(|| format!("there is no plan {id}"))?;
        let checked = check(plan)?;
        plan.status = status;
        Ok(checked)
    }

    /// Stores what was claimed; what cannot be stored does not count, and the plan waits again.
    async fn keep_claim(&self, id: &PlanId, status: PlanStatus, by: Option<&Origin>) -> Result<(), String> {
        // The reason of a denial stays out of the log: a model reads that.
        let chat = by.filter(|origin| origin.source == Source::Gateway);
        let who = chat.map_or(String::new(), |origin| format!(" by {}", decided_by(origin)));
        let said = format!("plan {id} is {}{who}", status.name());
        match self.set_status_by(id, status, by).await {
            Ok(_) => {
                self.say_of(LogLevel::Info, Privacy::Open, &said);
                Ok(())
            }
            Err(why) => {
                if let Some(plan) = self.plans.lock().get_mut(id) {
                    plan.status = PlanStatus::Pending;
                }
                Err(why)
            }
        }
    }

    /// Lets a plan that is still marked as approved wait again: its act was not begun.
    fn take_back(&self, id: &PlanId) {
        let mut plans = self.plans.lock();
        let Some(plan) = plans.get_mut(id).filter(|plan| plan.status == PlanStatus::Approved) else { return };
        plan.status = PlanStatus::Pending;
        plan.about.decided_by.clear();
        let plan = plan.clone();
        let (at, kind, key) = (self.clock.now(), kind::PLAN.to_string(), id.0.clone());
        // Queued before anyone can claim it anew: what is stored of a later claim stands behind this.
        self.archive.queue(vec![NewRecord { at, kind, key, body: record::plan(&plan) }]);
        drop(plans);
        self.say(LogLevel::Info, &format!("plan {id} waits again: its turn ended before it was begun"));
        (self.notify)(Notice::Changed(Box::new(plan)));
        (self.notify)(Notice::Status);
    }

    /// Ends a plan that is still marked as approved: nobody knows what came of it.
    fn give_up(self: &Arc<Self>, id: &PlanId) {
        let status = PlanStatus::Failed(UNKNOWN_END.to_string());
        let approved = |plan: &FlightPlan| match plan.status {
            PlanStatus::Approved => Ok(()),
            _ => Err(String::new()),
        };
        if self.claim(id, status.clone(), approved).is_ok()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (engine, id) = (self.clone(), id.clone());
            runtime.spawn(async move {
                if let Err(why) = engine.set_status(&id, status).await {
                    engine.say(LogLevel::Error, &format!("what came of plan {id} could not be stored: {why}"));
                }
            });
        }
    }

    /// Denies the plans that a stopped turn had parked: its conversation does not go on.
    pub(super) async fn withdraw(&self, turn: &TurnId) {
        let parked: Vec<PlanId> = {
            let plans = self.plans.lock();
            let of_turn = plans.values().filter(|plan| plan.turn == *turn && plan.status == PlanStatus::Pending);
            of_turn.map(|plan| plan.id.clone()).collect()
        };
        let status = PlanStatus::Denied("the turn that asked for it was stopped".to_string());
        for id in parked {
            let claimed = self.claim(&id, status.clone(), pending);
            if claimed.is_ok()
                && let Err(why) = self.keep_claim(&id, status.clone(), None).await
            {
                self.say(LogLevel::Error, &format!("that plan {id} was withdrawn could not be stored: {why}"));
            }
        }
    }

    /// Gives calls of a conversation that wait for plans which can no longer be decided about their results:
    /// what is recorded of each plan. Returns whether one of them was begun.
    pub(super) fn drop_ended(&self, conversation: &mut Conversation, deciding: &[PlanId]) -> bool {
        let plans = self.plans.lock();
        let ended =
            |id: &PlanId| !deciding.contains(id) && plans.get(id).is_none_or(|plan| plan.status != PlanStatus::Pending);
        let mut begun = false;
        for (call, id) in conversation.waiting.iter().filter(|(_, id)| ended(id)) {
            let plan = plans.get(id);
            let tool = plan.map(|plan| plan.action.tool().to_string()).unwrap_or_default();
            let text = plan.map_or_else(|| LOST.to_string(), |plan| recorded(&plan.status));
            if let Some(plan) = plan.filter(|plan| may_be_done(&plan.status)) {
                begun = true;
                let privacy = &mut conversation.labels.privacy;
                *privacy = (*privacy).max(plan.action.labels().privacy);
                conversation.labels.trust = conversation.labels.trust.min(plan.action.labels().trust);
            }
            conversation.messages.push(Message::Result { call: call.clone(), tool, text });
        }
        conversation.waiting.retain(|(_, id)| !ended(id));
        begun
    }

    /// Waits until nothing else goes on in a conversation, and keeps it so as long as the answer lives:
    /// turns, decisions and edits each read what the one before stored.
    pub(super) async fn alone(&self, session: &SessionId) -> tokio::sync::OwnedMutexGuard<()> {
        let lane = {
            let mut lanes = self.lanes.lock();
            lanes.retain(|_, lane| lane.strong_count() > 0);
            let lane = lanes.get(session).and_then(std::sync::Weak::upgrade).unwrap_or_default();
            lanes.insert(session.clone(), Arc::downgrade(&lane));
            lane
        };
        lane.lock_owned().await
    }

    /// Parks an edited copy of a plan: judged anew, shown anew, approved anew. The old one is replaced.
    ///
    /// # Errors
    /// When the channel may not approve, the plan does not wait, the arguments are malformed, a gate denies, or it is
    /// known already that the edited action would fail or change nothing.
    pub async fn edit_plan(&self, origin: &Origin, id: &str, args: Map<String, Value>) -> Result<FlightPlan, String> {
        if !origin.rights.approve {
            return Err("this channel may not edit plans; edit in Emacs".to_string());
        }
        let unknown = || format!("there is no plan {id}");
        // What a sibling is doing meanwhile comes first: its result goes into the conversation that is copied here.
        let _alone = self.alone(&self.plan(id).ok_or_else(unknown)?.session).await;
        let old = self.plan(id).ok_or_else(unknown)?;
        pending(&old)?;
        let why = Some(old.action.explanation().as_str());
        let toolbox = self.toolbox();
        let action = Action::new(&toolbox, old.action.tool(), args, why, old.action.labels()).map_err(|m| m.0)?;
        // Whoever edits it, what led to it stays what it was.
        let action = action.led_by(old.action.led().cloned().unwrap_or_default());
        let action = action.refined_from(old.action.refinement().cloned());
        let (conversation, setting) = self.conversation(&old).await?;
        let scope = in_place(|| self.scope_of(&old, &setting, origin.rights.see_private))?;
        // Narrowed to what the model may see that goes on with it, as its own proposals are.
        let may_see = if conversation.local { scope.may_see } else { scope.may_see.min(self.elsewhere(&old.session)) };
        let scope = Scope { may_see, ..scope };
        let facts = self.surveyor.survey(&action, &scope).await;
        let tool = toolbox.get(action.tool()).ok_or_else(|| "BUG: an action without a tool".to_string())?;
        let set_off = conversation.set_off;
        let case = Case { action: &action, tool, scope: &scope, facts: &facts, set_off };
        let skill = setting.under.as_ref().and_then(|under| under.skill.as_ref()).map(|bound| self.bound(bound));
        let gates = in_place(|| self.gates_now(skill.as_ref()));
        let trace = match judge(&gates, case, None) {
            Judgement::Parked(trace) => trace,
            Judgement::Cleared(cleared) => cleared.trace().clone(),
            Judgement::Rejected(trace) => {
                self.refused(&old.session, &old.turn, &action, &facts, &trace).await;
                let about = action.labels().privacy.max(facts.strictest());
                return Err(proposal::rejection(&trace, about.is_kept() && !origin.rights.see_private));
            }
        };
        can_be_done(tool, &facts)?;
        let tried = match may_rehearse(&Case { action: &action, tool, scope: &scope, facts: &facts, set_off }, &trace) {
            _ if tool.effect != Effect::Execute => None,
            Err(why) => Some(Tried::not(why)),
            Ok(rehearsal) => match self.me.upgrade() {
                Some(engine) => Some(Actuators::new(engine).rehearse(rehearsal, TRYING).await.0),
                None => Some(Tried::not("the program is ending")),
            },
        };
        let (session, turn, call) = (old.session.clone(), old.turn.clone(), old.call.clone());
        let (step, project) = (old.about.step, scope.project.clone());
        let privacy = conversation.labels.privacy.max(old.about.privacy);
        let parking = Parking { action, facts, trace, session, turn, call, project, step, tried, privacy };
        let replaced = old.id.clone();
        let new = self.replace(old, parking, conversation, &setting).await?;
        self.say(LogLevel::Info, &format!("plan {replaced} was edited: {} waits in its place", new.id));
        Ok(new)
    }

    /// Parks a plan in place of one that waits, in the conversation that the old one waits in.
    pub(super) async fn replace(
        &self,
        old: FlightPlan,
        parking: Parking,
        mut conversation: Conversation,
        setting: &Setting,
    ) -> Result<FlightPlan, String> {
        let asked = self.asked_of(&parking);
        let (new, logged) = self.plan_of(parking);
        let asked = audit::kept(&Decision { plan: Some(new.id.clone()), ..asked });
        for (_, waiting) in conversation.waiting.iter_mut().filter(|(_, waiting)| *waiting == old.id) {
            *waiting = new.id.clone();
        }
        let replaced = PlanStatus::Replaced(new.id.clone());
        let about = About { differs: differs(&old, &Shown::of(&new)), ..old.about.clone() };
        let before = old.status.clone();
        let old = FlightPlan { status: replaced.clone(), about, ..old };
        self.claim(&old.id, replaced, not_begun)?;
        // Other plans of the same answer wait in the same conversation.
        let conversations = conversation
            .waiting
            .iter()
            .map(|(_, waiting)| (kind::CONVERSATION, waiting.0.clone(), record::conversation(&conversation, setting)));
        let plans = [&old, &new].map(|plan| (kind::PLAN, plan.id.0.clone(), record::plan(plan)));
        // In one piece: whenever the program ends, the store holds the one or the other.
        let ruled = self.ruled_on(&old, None).await;
        let kept = plans.into_iter().chain(conversations).chain([asked]).chain(ruled);
        if let Err(why) = self.append_all(kept).await {
            if let Some(plan) = self.plans.lock().get_mut(&old.id) {
                plan.status = before;
            }
            return Err(why);
        }
        if let Some(plan) = self.plans.lock().get_mut(&old.id) {
            plan.about = old.about.clone();
        }
        // The new one first: who shows that the old one was replaced can show by what.
        self.take_plan(&new, &logged);
        (self.notify)(Notice::Changed(Box::new(old)));
        Ok(new)
    }

    /// Returns the conversation that a plan belongs to, and what it works in and under.
    pub(super) async fn conversation(&self, plan: &FlightPlan) -> Result<(Conversation, Setting), String> {
        let last = self.archive.latest(kind::CONVERSATION, plan.id.0.clone()).await?;
        let id = &plan.id;
        let last = last.ok_or_else(|| {
            format!(
                "the conversation of plan {id} is not in the store, so it cannot go on; deny the plan and ask again"
            )
        })?;
        let (engine, named) = (self.me.upgrade().ok_or("this program ends")?, record::pictures_of(&last.body));
        let (pictures, privacy) = engine.pictures_again(&plan.session, named).await.map_err(|why| {
            format!("{why}, so the conversation of plan {id} cannot go on; deny the plan and ask again")
        })?;
        let read = record::read_conversation(&last.body, &pictures).map(|(mut conversation, setting)| {
            if privacy > conversation.labels.privacy {
                // One of them became private meanwhile: what was shown is not sent.
                (conversation.labels.privacy, conversation.contact) = (privacy, None);
            }
            (conversation, setting)
        });
        read.ok_or_else(|| {
            format!(
                "the conversation of plan {id} was kept by an earlier version and cannot be read whole, so it cannot go on; deny the plan and ask again"
            )
        })
    }
}

/// A plan whose approval is being carried out. When that ends without a word of what came of it, the plan waits again
/// if its act was not begun, and has failed if it may have been.
pub(super) struct Unsettled {
    engine: Arc<Engine>,
    settling: Settling,
}

impl Unsettled {
    /// Returns what the turn that carries it out notes its beginning in.
    pub(super) fn settling(&self) -> Settling {
        self.settling.clone()
    }
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        match self.settling.begun() {
            true => self.engine.give_up(self.settling.plan()),
            false => self.engine.take_back(self.settling.plan()),
        }
    }
}

/// Refuses an edit of notes or files of which is known already that performing it would fail.
fn can_be_done(tool: &Tool, facts: &Facts) -> Result<(), String> {
    if !matches!(tool.effect, Effect::EditOrg | Effect::WriteFile) {
        return Ok(());
    }
    if let Some(why) = facts.impossible.first() {
        return Err(format!("this cannot be done, so the plan stays as it was: {why}"));
    }
    match facts.unknown.as_slice() {
        [] if facts.edits.iter().all(|edit| edit.before.as_ref() == Some(&edit.after)) => {
            Err("this would change nothing, so the plan stays as it was".to_string())
        }
        [] => Ok(()),
        why => Err(format!("this cannot be done, so the plan stays as it was: {}", why.join(" "))),
    }
}

/// What is said of a plan that was approved and whose end nobody saw.
const UNKNOWN_END: &str = "it was stopped before anything was known of its end; look whether it was done";

/// What the model is told of a call whose plan is not known any more.
const LOST: &str = "Nobody knows what came of it: its plan is not in the store any more. \
Look whether it was done before it is done again.";

/// Returns what the model is told of a call whose plan has ended without it.
fn recorded(status: &PlanStatus) -> String {
    match status {
        PlanStatus::Pending => "Not carried out: its plan waits for the user.".to_string(),
        PlanStatus::Approved => "It was approved and may be under way, and nobody knows yet what came of it. \
                                 Look whether it was done before it is done again."
            .to_string(),
        PlanStatus::Denied(reason) => proposal::denial(reason),
        PlanStatus::Done(words) => match words.trim() {
            "" => "It was done already.".to_string(),
            words => format!("It was done already: {words}"),
        },
        PlanStatus::Failed(words) => format!("failed: {}", words.strip_prefix("failed: ").unwrap_or(words)),
        PlanStatus::Stale(words) => format!("stale: {words}"),
        PlanStatus::Expired => {
            "Nothing was done: the user did not decide in time, and its plan has expired.".to_string()
        }
        PlanStatus::Replaced(by) => {
            format!("The user put plan {by} in its place. Look what came of that before it is done again.")
        }
    }
}

/// Returns whether something of a plan may have been carried out.
fn may_be_done(status: &PlanStatus) -> bool {
    match status {
        PlanStatus::Approved | PlanStatus::Done(_) | PlanStatus::Failed(_) => true,
        PlanStatus::Pending
        | PlanStatus::Denied(_)
        | PlanStatus::Stale(_)
        | PlanStatus::Expired
        | PlanStatus::Replaced(_) => false,
    }
}

/// Whether something else may come in the place of a plan: it waits, or was approved as a step that was not begun yet.
/// Who decides about a conversation, edits in it or goes on with it does so alone, so a step that was begun has ended.
fn not_begun(plan: &FlightPlan) -> Result<(), String> {
    match plan.status {
        PlanStatus::Approved => Ok(()),
        _ => pending(plan),
    }
}

fn pending(plan: &FlightPlan) -> Result<(), String> {
    match plan.status {
        PlanStatus::Pending => Ok(()),
        _ => Err(format!("plan {} no longer waits: it is {}", plan.id, plan.status.name())),
    }
}
