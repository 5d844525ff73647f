//! Says of an action, from facts, whether what it does can be taken back.

use crate::domain::gate::Facts;
use crate::domain::tool::{Class, Effect};

/// Whether what an action does can be taken back. The list is closed, from the lightest to the heaviest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Badge {
    /// It changes nothing.
    Nothing,
    /// We can take it back.
    Undoable,
    /// Git can take it back.
    ByGit,
    /// The user can say that it counts no more; what came of it meanwhile stays.
    Withdrawable,
    /// Nobody can, or it is not known that somebody could.
    Irreversible,
}

impl Badge {
    /// Every badge.
    pub const ALL: [Badge; 5] =
        [Badge::Nothing, Badge::Undoable, Badge::ByGit, Badge::Withdrawable, Badge::Irreversible];

    /// Returns the words for people, the wire and the store.
    pub fn name(self) -> &'static str {
        match self {
            Badge::Nothing => "changes nothing",
            Badge::Undoable => "undoable",
            Badge::ByGit => "undoable by git",
            Badge::Withdrawable => "can be withdrawn",
            Badge::Irreversible => "irreversible",
        }
    }

    /// Returns the badge as the sentence with which a plan begins.
    pub fn sentence(self) -> &'static str {
        match self {
            Badge::Nothing => "This changes nothing.",
            Badge::Undoable => "This is undoable.",
            Badge::ByGit => "This is undoable by git.",
            Badge::Withdrawable => "This can be withdrawn.",
            Badge::Irreversible => "This is irreversible.",
        }
    }

    /// Reads a badge; what is not known is the heaviest.
    pub fn read(name: &str) -> Badge {
        Badge::ALL.into_iter().find(|badge| badge.name() == name).unwrap_or(Badge::Irreversible)
    }
}

/// Returns the badge of an action with this effect; without one it is the heaviest.
pub fn badge(effect: Option<Effect>, facts: &Facts) -> Badge {
    let Some(effect) = effect else { return Badge::Irreversible };
    match effect {
        Effect::Reply | Effect::Delegate | Effect::ReadMemory | Effect::ReadFile | Effect::ReadEditor => Badge::Nothing,
        // Windows and buffers of the user's change, and nobody puts them back.
        Effect::ShowInEditor => Badge::Irreversible,
        // What it would do was not found out: then neither is how to take it back.
        Effect::EditOrg | Effect::WriteFile if !facts.unknown.is_empty() => Badge::Irreversible,
        Effect::EditOrg | Effect::WriteFile | Effect::Execute if facts.not_undoable.is_none() => Badge::Undoable,
        Effect::EditOrg | Effect::WriteFile | Effect::Execute => Badge::Irreversible,
        Effect::Commit => Badge::ByGit,
        // What was set in Emacs can be put back; what was asked of somebody meanwhile cannot be unasked.
        Effect::Configure if facts.setting.is_some() && facts.unknown.is_empty() => Badge::Undoable,
        Effect::Configure => Badge::Irreversible,
        // What was sent cannot be unsent, and what Lisp does was not looked at.
        Effect::Evaluate | Effect::Send | Effect::Fetch => Badge::Irreversible,
        Effect::Custom(Class::Pure | Class::Read) => Badge::Nothing,
        Effect::Custom(Class::Write | Class::Execute | Class::Network) => Badge::Irreversible,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_badge_follows_from_facts() {
        let known = Facts::default();
        let unknown = Facts { unknown: vec!["It was not found out.".to_string()], ..Facts::default() };
        let lost = Facts { not_undoable: Some("the project is too large".to_string()), ..Facts::default() };
        for (effect, facts, expected) in [
            (Some(Effect::ReadFile), &known, Badge::Nothing),
            (Some(Effect::Reply), &unknown, Badge::Nothing),
            (Some(Effect::WriteFile), &known, Badge::Undoable),
            (Some(Effect::EditOrg), &unknown, Badge::Irreversible),
            (Some(Effect::Execute), &known, Badge::Undoable),
            (Some(Effect::Execute), &lost, Badge::Irreversible),
            (Some(Effect::Commit), &known, Badge::ByGit),
            (Some(Effect::Send), &known, Badge::Irreversible),
            (Some(Effect::ReadEditor), &known, Badge::Nothing),
            (Some(Effect::ShowInEditor), &known, Badge::Irreversible),
            (Some(Effect::Custom(Class::Read)), &known, Badge::Nothing),
            (Some(Effect::Custom(Class::Write)), &known, Badge::Irreversible),
            (None, &known, Badge::Irreversible),
        ] {
            assert_eq!(badge(effect, facts), expected, "{effect:?}");
        }
    }

    #[test]
    fn badges_are_read_back_and_what_is_not_known_is_the_heaviest() {
        for badge in Badge::ALL {
            assert_eq!(Badge::read(badge.name()), badge);
            assert!(badge.sentence().ends_with(&format!("{}.", badge.name())));
        }
        assert_eq!(Badge::read("harmless"), Badge::Irreversible);
    }
}
