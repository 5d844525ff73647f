//! Gate: what the event orchestrator (schedules, hooks) sets off with nobody present stays bounded.

use crate::domain::gate::{Case, Gate, Reason, Verdict};
use crate::domain::signal::Sensor;
use crate::domain::tool::{Class, Effect};

/// Judges what schedules and hooks propose.
pub struct Orchestrator;

impl Gate for Orchestrator {
    fn name(&self) -> &str {
        "event-orchestrator"
    }

    fn priority(&self) -> u16 {
        80
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        if !matches!(case.set_off, Sensor::Schedule | Sensor::Hook) {
            return Verdict::Pass(Some(Reason::new("Not set off by a schedule or a hook.")));
        }
        if matches!(case.tool.effect, Effect::Delegate | Effect::Configure) {
            return Verdict::Deny(Reason::new("What runs by itself hands nothing over, and changes no setting."));
        }
        match case.tool.effect.class() {
            Class::Pure | Class::Read => Verdict::pass(),
            Class::Write | Class::Execute | Class::Network => {
                Verdict::Ask(Reason::new(format!("Nobody is present, so {} waits for you.", case.tool.name)))
            }
        }
    }
}
