//! What can fail in a turn, as a tree of kinds with their slots. The bridge gives Lisp the same tree.

use crate::domain::id::ActionHash;
use crate::domain::port::ProviderError;

/// A fault of a turn. All but `Protocol` are pipeline faults.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// Something in the pipeline broke.
    #[error("the turn failed: {0}")]
    Pipeline(String),
    /// No provider answered.
    #[error("no model answered.\n{}", lines(.attempts))]
    Model {
        /// Each provider that was tried or left out, with its reason.
        attempts: Vec<ProviderError>,
    },
    /// A gate refused, and the model did not find another way.
    #[error("{gate} refused: {reason}")]
    Gate {
        /// The gate.
        gate: String,
        /// The action that was refused.
        action: ActionHash,
        /// Why.
        reason: String,
    },
    /// There is not enough room or money.
    #[error("the budget is used up: {requested} asked for, {remaining} left")]
    Budget {
        /// What is left.
        remaining: u64,
        /// What was asked for.
        requested: u64,
    },
    /// A message could not be read.
    #[error("a message could not be read: {text}")]
    Protocol {
        /// What is wrong with it.
        text: String,
        /// Its beginning.
        raw: String,
    },
}

fn lines(attempts: &[ProviderError]) -> String {
    if attempts.is_empty() {
        return "- No provider is set up; see passepartout-provider-cascade.".to_string();
    }
    attempts.iter().map(|error| format!("- {error}")).collect::<Vec<_>>().join("\n")
}

impl Fault {
    /// Returns the Lisp error symbol.
    pub fn symbol(&self) -> &'static str {
        match self {
            Fault::Pipeline(_) => "passepartout-pipeline-error",
            Fault::Model { .. } => "passepartout-model-error",
            Fault::Gate { .. } => "passepartout-gate-error",
            Fault::Budget { .. } => "passepartout-budget-error",
            Fault::Protocol { .. } => "passepartout-protocol-error",
        }
    }
}

/// What ends a fault. A skill may choose; without one it is [`Resolution::Abort`]. In each case memory goes back to
/// where it stood, the log has the fault, and the user is told what failed and what was done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Drop the signal: the turn ends without an answer.
    Skip,
    /// Answer with this text instead.
    Fallback(String),
    /// End the turn and say what failed.
    Abort,
}
