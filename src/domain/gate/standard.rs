//! The gates of every session, and those that skills add.

use crate::domain::gate::archivist::Archivist;
use crate::domain::gate::dispatcher::Dispatcher;
use crate::domain::gate::orchestrator::Orchestrator;
use crate::domain::gate::permissions::Permissions;
use crate::domain::gate::policy::Policy;
use crate::domain::gate::rule::Rules;
use crate::domain::gate::validator::Validator;
use crate::domain::gate::vault::Vault;
use crate::domain::gate::{Gate, Gates};

/// The gates without which nothing is cleared, by name.
pub const MANDATORY: &[&str] =
    &["permissions", "vault", "policy", "dispatcher", "archivist", "validator", "event-orchestrator"];

/// Returns the seven gates, with the gates that skills add. What they add can only tighten.
pub fn standard(rules: Vec<Rules>) -> Gates {
    // Tables are built before the first verdict, not in it.
    crate::domain::gate::secret::prepare();
    crate::domain::gate::place::prepare();
    crate::domain::gate::shell::prepare();
    crate::domain::gate::lisp::prepare();
    let mut gates: Vec<Box<dyn Gate>> = vec![
        Box::new(Permissions),
        Box::new(Vault),
        Box::new(Policy),
        Box::new(Dispatcher),
        Box::new(Archivist),
        Box::new(Validator),
        Box::new(Orchestrator),
    ];
    gates.extend(rules.into_iter().map(|rules| Box::new(rules) as Box<dyn Gate>));
    Gates::new(gates)
}
