//! Gate: what the archivist's jobs (scribe, gardener) propose stays housekeeping.
//!
//! The scribe distils and the gardener repairs notes while nobody looks on, whenever the clock ticks. They may read
//! memory and edit Org files; nothing else is theirs to propose.

use crate::domain::gate::{Case, Gate, Reason, Verdict};
use crate::domain::label::Provenance;
use crate::domain::signal::Sensor;
use crate::domain::tool::Effect;

/// Judges what housekeeping proposes.
pub struct Archivist;

impl Gate for Archivist {
    fn name(&self) -> &str {
        "archivist"
    }

    fn priority(&self) -> u16 {
        100
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        if case.set_off != Sensor::Heartbeat {
            return Verdict::Pass(Some(Reason::new("Not proposed by the archivist.")));
        }
        match case.tool.effect {
            // A web page or a mail that steers housekeeping is no housekeeping.
            Effect::EditOrg if matches!(case.action.labels().provenance, Provenance::Web | Provenance::Gateway) => {
                Verdict::Ask(Reason::new("Text from outside led to this change of notes."))
            }
            Effect::Reply | Effect::ReadMemory | Effect::EditOrg => Verdict::pass(),
            Effect::ReadFile
            | Effect::ReadEditor
            | Effect::WriteFile
            | Effect::Commit
            | Effect::Delegate
            | Effect::Configure
            | Effect::ShowInEditor
            | Effect::Execute
            | Effect::Evaluate
            | Effect::Send
            | Effect::Fetch
            | Effect::Custom(_) => Verdict::Deny(Reason::instead(
                format!("The archivist keeps notes; {} is not part of that.", case.tool.name),
                "Propose an edit of an Org file.",
            )),
        }
    }
}
