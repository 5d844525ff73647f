//! Gate: every action says why, in words that a human can weigh.

use crate::domain::gate::{Case, Gate, Reason, Verdict};

/// The shortest explanation that says anything, in characters.
const SHORTEST: usize = 11;

/// Denies actions that do not say why.
pub struct Policy;

impl Gate for Policy {
    fn name(&self) -> &str {
        "policy"
    }

    fn priority(&self) -> u16 {
        500
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        let words = case.action.explanation().as_str();
        let counted = words.chars().filter(|c| c.is_alphanumeric() || *c == ' ').count();
        if counted >= SHORTEST {
            return Verdict::pass();
        }
        let reason =
            Reason::instead("The explanation is too short to say why.", "Say in one sentence what the action is for.");
        Verdict::Deny(reason.in_our_words())
    }
}
