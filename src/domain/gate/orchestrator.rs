//! Gate: what the event orchestrator (schedules, hooks) sets off with nobody present stays bounded.

use crate::domain::gate::{Case, Gate, Reason, Verdict};
use crate::domain::tool::Effect;

/// Judges what schedules and hooks propose.
pub struct Orchestrator;

/// The marks with which proposals of schedules and hooks begin their explanation.
pub const MARKS: [&str; 2] = ["schedule:", "hook:"];

impl Gate for Orchestrator {
    fn name(&self) -> &str {
        "event-orchestrator"
    }

    fn priority(&self) -> u16 {
        80
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        let words = case.action.explanation().as_str().trim_start().to_ascii_lowercase();
        if !MARKS.iter().any(|mark| words.starts_with(mark)) {
            return Verdict::Pass(Some(Reason::new("Not set off by a schedule or a hook.")));
        }
        match case.tool.effect {
            Effect::Reply | Effect::ReadMemory | Effect::ReadFile => Verdict::pass(),
            Effect::EditOrg | Effect::WriteFile | Effect::Execute | Effect::Evaluate | Effect::Send => {
                Verdict::Ask(Reason::new(format!("Nobody is present, so {} waits for you.", case.tool.name)))
            }
        }
    }
}
