//! The skill that a conversation goes on under: chosen when it began, and kept with what it leaves.
//!
//! Between a plan and its approval point moves and skills change; what narrowed the question narrows the answer.

use crate::domain::label::Privacy;
use crate::domain::port::LogLevel;
use crate::domain::preset::Preset;
use crate::domain::scope::Scope;
use crate::domain::skill::lisp::{Lisp, Role};
use crate::domain::skill::{DEFAULT_PRIORITY, Skill};
use crate::domain::turn::consensus::{Mode, Together};
use crate::edge::engine::Engine;
use crate::edge::engine::gateways::chat_of;
use crate::edge::engine::presets::Wishes;
use crate::edge::runtime::clients::program_of;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a conversation goes on under, as the store keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Under {
    /// The skill; `None` when none was triggered.
    pub skill: Option<Bound>,
    /// The heading at which it began, by its id: what is ruled there holds on.
    #[serde(default)]
    pub below: Option<String>,
    /// The preset of the conversation, by its name, with the only tools that it left.
    #[serde(default)]
    pub preset: Option<Bound>,
    /// Whether several models are asked at once, as the user wanted it: for what, and how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<(String, usize)>,
    /// The skill that answered in place of a model, which goes on doing so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled: Option<String>,
    /// How private what it may see is at most, by the word for it: what who asked could see. `None` in records of earlier
    /// versions, which do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sees: Option<String>,
    /// What the question said of itself.
    #[serde(default, skip_serializing_if = "Wishes::is_empty")]
    pub wishes: Wishes,
}

/// A skill as it was at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Its name.
    pub name: String,
    /// The only tools that it left; `None` when it left all.
    pub tools: Option<BTreeSet<String>>,
    /// Names its Lisp, where that rewrites what is proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewrites: Option<String>,
}

/// What is kept of a conversation beside its messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setting {
    /// The root of the project that it works in.
    pub project: Option<String>,
    /// What it goes on under; `None` in records of the first versions, which do not say it.
    pub under: Option<Under>,
}

impl Setting {
    /// Returns a scope that sees no more than who asked could, whoever decides. Where nobody knows that any more, a
    /// conversation that is not the user's own sees what is open.
    pub fn narrowed(&self, scope: Scope) -> Scope {
        let may_see = match self.under.as_ref().filter(|under| under.sees.is_some()) {
            Some(under) => under.may_see(scope.may_see),
            None if program_of(&scope.session.0).is_some() || chat_of(&scope.session).is_some() => Privacy::Open,
            None => scope.may_see,
        };
        Scope { may_see, ..scope }
    }
}

impl Under {
    /// Returns what to keep of the skill and the preset of a turn.
    pub fn of(skill: Option<&Skill>, preset: Option<&Preset>) -> Under {
        let rewrites = |lisp: &Lisp| lisp.has(Role::Refine).then(|| lisp.digest());
        let bound = |name: &str, tools: &Option<BTreeSet<String>>, rewrites| Bound {
            name: name.to_string(),
            tools: tools.clone(),
            rewrites,
        };
        let skill = skill.map(|skill| bound(&skill.name, &skill.tools, rewrites(&skill.lisp)));
        let preset = preset.map(|preset| bound(&preset.name, &preset.tools, None));
        Under { skill, preset, ..Under::default() }
    }

    /// Returns a conversation's preset with no more tools than when this was kept, whatever became of it since.
    pub fn narrowed(&self, preset: Option<Preset>) -> Option<Preset> {
        let Some(bound) = &self.preset else { return preset };
        let now = preset.unwrap_or_else(|| Preset { name: bound.name.clone(), ..Preset::default() });
        let tools = both(&bound.tools, &now.tools);
        Some(Preset { tools, ..now })
    }

    /// Returns the most private that it may see, where whoever goes on with it may see so much; a word that is none leaves
    /// what is open.
    pub fn may_see(&self, may_see: Privacy) -> Privacy {
        let most = self.sees.as_deref().map(|word| Privacy::tier(word).unwrap_or(Privacy::Open));
        most.map_or(may_see, |most| most.min(may_see))
    }

    /// Keeps that several models are asked at once.
    pub fn asking(self, together: Option<Together>) -> Under {
        Under { together: together.map(|together| (together.mode.name().to_string(), together.count)), ..self }
    }

    /// Returns whether several models are asked at once.
    pub fn together(&self) -> Option<Together> {
        let (mode, count) = self.together.as_ref()?;
        Mode::parse(mode).map(|mode| Together::new(mode, *count))
    }
}

impl Engine {
    /// Returns the skill that a conversation goes on under: it never leaves more tools than when it was kept, and what
    /// rewrote then lets nothing pass now that it is another or gone, whatever has become of its file.
    pub(super) fn bound(&self, bound: &Bound) -> Skill {
        let skills = self.skills();
        let Some(now) = skills.loaded.skills.iter().find(|skill| skill.name == bound.name) else {
            let text = format!("the skill {} is gone; what was begun under it goes on with its tools only", bound.name);
            self.say(LogLevel::Warning, &text);
            return gone(bound);
        };
        let same = bound.rewrites.as_ref().is_none_or(|rewrites| *rewrites == now.lisp.digest());
        let lisp = if same { now.lisp.clone() } else { Lisp::of_lost_refine() };
        Skill { tools: both(&bound.tools, &now.tools), lisp, ..now.clone() }
    }
}

/// Returns the tools that both leave; `None` leaves all.
fn both(then: &Option<BTreeSet<String>>, now: &Option<BTreeSet<String>>) -> Option<BTreeSet<String>> {
    match (then, now) {
        (None, tools) | (tools, None) => tools.clone(),
        (Some(then), Some(now)) => Some(then.intersection(now).cloned().collect()),
    }
}

/// What is left of a skill without its file.
fn gone(bound: &Bound) -> Skill {
    Skill {
        name: bound.name.clone(),
        id: None,
        title: bound.name.clone(),
        priority: DEFAULT_PRIORITY,
        depends_on: Vec::new(),
        triggers: Vec::new(),
        tools: bound.tools.clone(),
        on_error: None,
        prompt: None,
        mandates: Vec::new(),
        rules: Vec::new(),
        lisp: bound.rewrites.as_ref().map_or_else(Lisp::default, |_| Lisp::of_lost_refine()),
        remarks: Vec::new(),
        unconfirmed: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::SessionId;

    #[test]
    fn what_goes_on_sees_no_more_than_who_asked() {
        let own = "0123456789ab";
        for (session, sees, expected) in [
            ("chat-1".to_string(), None, Privacy::Private),
            ("chat-1".to_string(), Some("block"), Privacy::Private),
            ("chat-1".to_string(), Some("open"), Privacy::Open),
            ("chat-1".to_string(), Some("no tier"), Privacy::Open),
            (format!("client-{own}"), Some("block"), Privacy::Private),
            (format!("client-{own}"), Some("open"), Privacy::Open),
            // Who asked is not known any more.
            (format!("client-{own}"), None, Privacy::Open),
            (format!("client-{own}/a/task-T1"), None, Privacy::Open),
            (format!("acp-zed-{own}/one"), None, Privacy::Open),
            (format!("agent-mcp-helper-{own}"), None, Privacy::Open),
            ("telegram-7".to_string(), None, Privacy::Open),
        ] {
            let scope = Scope { session: SessionId(session.clone()), ..Scope::bare() };
            let unders = match sees {
                Some(word) => vec![Some(Under { sees: Some(word.to_string()), ..Under::default() })],
                None => vec![None, Some(Under::default())],
            };
            for under in unders {
                let narrowed = Setting { project: None, under }.narrowed(scope.clone());
                assert_eq!(narrowed.may_see, expected, "{session}, {sees:?}");
            }
            // And no more than who decides.
            let narrow = Scope { may_see: Privacy::Open, ..scope };
            assert_eq!(Setting::default().narrowed(narrow).may_see, Privacy::Open);
        }
    }
}
