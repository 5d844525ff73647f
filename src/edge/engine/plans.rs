//! Plans as a human meets them: listed, approved, denied, edited.

use crate::domain::action::Action;
use crate::domain::gate::Case;
use crate::domain::gate::clearance::{Judgement, judge};
use crate::domain::gate::plan::{Approval, FlightPlan, PlanStatus};
use crate::domain::id::PlanId;
use crate::domain::port::{Journal, LogLevel};
use crate::domain::signal::Origin;
use crate::domain::turn::{Conversation, Parking, proposal};
use crate::edge::engine::Engine;
use crate::edge::engine::record::{self, kind};
use serde_json::{Map, Value};

impl Engine {
    /// Reads the plans that the store kept; what has expired says so.
    pub async fn load_plans(&self) -> Result<(), String> {
        for record in self.archive.list(kind::PLAN, 0).await? {
            match record::read_plan(&record.body, &self.toolbox) {
                Some(plan) => {
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
        self.expire_plans().await
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
        plans.sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.id.cmp(&b.id)));
        plans
    }

    /// Finds a plan by its name, without regard to case.
    pub fn plan(&self, id: &str) -> Option<FlightPlan> {
        self.plans.lock().values().find(|plan| plan.id.0.eq_ignore_ascii_case(id.trim())).cloned()
    }

    /// Returns how many plans wait.
    pub fn pending(&self) -> usize {
        self.plans.lock().values().filter(|plan| plan.status == PlanStatus::Pending).count()
    }

    /// Makes an approval of a plan and marks the plan as approved, so that it counts once.
    pub(super) async fn approve(&self, plan: &FlightPlan, shown: &str, origin: &Origin) -> Result<Approval, String> {
        self.expire_plans().await?;
        let now = self.plan(&plan.id.0).ok_or_else(|| format!("there is no plan {}", plan.id))?;
        let approval = Approval::new(&now, shown, origin, self.clock.now()).map_err(|refused| refused.to_string())?;
        self.set_status(&plan.id, PlanStatus::Approved).await?;
        Ok(approval)
    }

    /// Parks an edited copy of a plan: judged anew, shown anew, approved anew. The old one is replaced.
    ///
    /// # Errors
    /// When the channel may not approve, the plan does not wait, the arguments are malformed, or a gate denies.
    pub async fn edit_plan(&self, origin: &Origin, id: &str, args: Map<String, Value>) -> Result<FlightPlan, String> {
        if !origin.rights.approve {
            return Err("this channel may not edit plans; edit in Emacs".to_string());
        }
        let old = self.plan(id).ok_or_else(|| format!("there is no plan {id}"))?;
        if old.status != PlanStatus::Pending {
            return Err(format!("plan {} no longer waits: it is {}", old.id, old.status.name()));
        }
        let why = Some(old.action.explanation().as_str());
        let action = Action::new(&self.toolbox, old.action.tool(), args, why, old.action.labels()).map_err(|m| m.0)?;
        let mut conversation = self.conversation(&old).await?;
        let scope = self.scope(&old.session, None, conversation.local && origin.rights.see_private);
        let facts = self.surveyor.survey(&action, &scope).await;
        let tool = self.toolbox.get(action.tool()).ok_or_else(|| "BUG: an action without a tool".to_string())?;
        let case = Case { action: &action, tool, scope: &scope, facts: &facts };
        let trace = match judge(&self.gates, case, None) {
            Judgement::Parked(trace) => trace,
            Judgement::Cleared(cleared) => cleared.trace().clone(),
            Judgement::Rejected(trace) => return Err(proposal::rejection(&trace)),
        };
        let (session, turn, call) = (old.session.clone(), old.turn.clone(), old.call.clone());
        let new = self.park(Parking { action, facts, trace, session, turn, call }).await?;
        for (_, waiting) in conversation.waiting.iter_mut().filter(|(_, waiting)| *waiting == old.id) {
            *waiting = new.id.clone();
        }
        self.keep_conversation(&new, &conversation).await?;
        self.set_status(&old.id, PlanStatus::Replaced(new.id.clone())).await?;
        Ok(new)
    }

    /// Returns the conversation that a plan belongs to.
    pub(super) async fn conversation(&self, plan: &FlightPlan) -> Result<Conversation, String> {
        let records = self.archive.list(kind::CONVERSATION, 0).await?;
        let last = records.iter().rev().find(|record| record.key == plan.id.0);
        last.and_then(|record| record::read_conversation(&record.body))
            .ok_or_else(|| format!("the conversation of plan {} is not in the store, so it cannot go on", plan.id))
    }

    pub(super) async fn keep_conversation(&self, plan: &FlightPlan, conversation: &Conversation) -> Result<(), String> {
        self.append(kind::CONVERSATION, &plan.id.0, record::conversation(conversation)).await
    }
}
