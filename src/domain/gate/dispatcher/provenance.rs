//! Check: text from outside that is in the conversation steers nothing that reaches out of it, unseen by a human.

use super::Evidence;
use crate::domain::gate::{Reason, Verdict};
use crate::domain::tool::{Class, Effect, is_user};

/// Asks about whatever acts on the world once text from outside is in the conversation.
///
/// Reading and speaking to the user stay free, and so does an edit of the very note that the text came from: what is
/// written there is from outside already.
pub(super) fn provenance(evidence: &Evidence<'_>) -> Verdict {
    let case = evidence.case;
    let Some(led) = case.action.led() else { return Verdict::pass() };
    let reaches_out = match case.tool.effect {
        Effect::ReadMemory | Effect::ReadFile | Effect::ReadEditor => false,
        Effect::Custom(Class::Pure | Class::Read) => false,
        Effect::Reply => !is_user(case.action.text("to")),
        Effect::EditOrg => !case.facts.own_note,
        Effect::WriteFile | Effect::Commit | Effect::ShowInEditor | Effect::Delegate | Effect::Configure => true,
        Effect::Execute | Effect::Evaluate | Effect::Send | Effect::Fetch => true,
        Effect::Custom(Class::Write | Class::Execute | Class::Network) => true,
    };
    if reaches_out { Verdict::Ask(Reason::new(led.sentence())) } else { Verdict::pass() }
}
