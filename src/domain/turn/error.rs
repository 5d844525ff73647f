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
    #[error("{reason}")]
    Gate {
        /// The gate.
        gate: String,
        /// The action that was refused last.
        action: ActionHash,
        /// That it was refused, in words for the user.
        reason: String,
    },
    /// A prompt has not enough room for what must be in it.
    #[error("{}", no_room(*.remaining, *.requested, *.at_point))]
    Budget {
        /// The room that is left for the conversation, in tokens.
        remaining: u64,
        /// The tokens that it needs.
        requested: u64,
        /// The tokens of the heading at point, where there would be room without it.
        at_point: Option<u64>,
    },
    /// What the model wanted could not be read as an action, and it did not find other words.
    #[error("{text}")]
    Protocol {
        /// What is wrong with it, in words for the user.
        text: String,
        /// Its beginning.
        raw: String,
    },
}

fn no_room(remaining: u64, requested: u64, at_point: Option<u64>) -> String {
    match at_point {
        Some(tokens) => format!(
            "The heading at point is too large: with all that is below it, it takes {tokens} tokens or more, and it is \
             told as it stands or not at all. Move point to a heading below it and ask again, or raise \
             CONTEXT_MAX_TOKENS, or what PP_BUDGET or a preset allows. Nothing was sent."
        ),
        None => format!(
            "The question is too long: with what must stand beside it, it needs {requested} tokens, and there is room \
             for {remaining}. Ask with fewer words, start a new chat, or raise CONTEXT_MAX_TOKENS, or what PP_BUDGET or \
             a preset allows. Nothing was sent."
        ),
    }
}

fn lines(attempts: &[ProviderError]) -> String {
    if attempts.is_empty() {
        return "- No provider is set up; see passepartout-provider-cascade.".to_string();
    }
    attempts.iter().map(|error| format!("- {error}")).collect::<Vec<_>>().join("\n")
}

impl Fault {
    /// Returns the fault as the log may hold it: without words of a model or of a note.
    pub fn logged(&self) -> String {
        match self {
            Fault::Gate { gate, .. } => format!("{gate} refused the last of three proposals"),
            Fault::Protocol { .. } => "the last of three proposals could not be read".to_string(),
            Fault::Pipeline(_) | Fault::Model { .. } | Fault::Budget { .. } => self.to_string(),
        }
    }

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
