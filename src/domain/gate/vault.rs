//! Gate: no secret of the vault ever stands in an action.

use crate::domain::gate::{Case, Gate, Reason, Verdict};

/// Denies when the survey found a value of the vault in the arguments.
pub struct Vault;

impl Gate for Vault {
    fn name(&self) -> &str {
        "vault"
    }

    fn priority(&self) -> u16 {
        600
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        if case.facts.vault.is_empty() {
            return Verdict::pass();
        }
        Verdict::Deny(Reason::instead(
            format!("It holds a secret of yours: {}.", case.facts.vault.join(", ")),
            "Leave the secret out; what needs it gets it from the vault.",
        ))
    }
}
