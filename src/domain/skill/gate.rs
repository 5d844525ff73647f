//! Gates of skills: their rules, what stands in for rules that cannot be used, what their own gates answered, and the tools
//! that a triggered skill leaves.

use crate::domain::gate::facts::Answer;
use crate::domain::gate::rule::Rules;
use crate::domain::gate::{Case, Gate, Reason, Verdict};
use crate::domain::preset::Preset;
use crate::domain::skill::lisp::Role;
use crate::domain::skill::{Skill, spoken_name};
use crate::domain::tool::{Class, Effect, Offered};
use std::collections::BTreeSet;

/// Returns the gates of skills: one for each that has rules. In place of rules that do not hold what their examples
/// say, there is one that asks.
pub fn gates(skills: &[Skill]) -> (Vec<Rules>, Vec<Unread>) {
    let (mut rules, mut unread) = (Vec::new(), Vec::new());
    for skill in skills.iter().filter(|skill| !skill.rules.is_empty()) {
        if skill.unconfirmed {
            rules.push(Rules::unconfirmed(&skill.called(), skill.priority, skill.rules.clone()));
            continue;
        }
        match Rules::new(&skill.name, skill.priority, skill.rules.clone()) {
            Ok(gate) => rules.push(gate),
            Err(why) => unread.push(Unread::new(&format!("skill {}", skill.name), why.to_string())),
        }
    }
    (rules, unread)
}

/// Returns the gates of skills that are kept out: every rule of theirs that can be read holds, whatever their examples say.
pub fn kept_out(skills: &[Skill]) -> impl Iterator<Item = Rules> {
    skills.iter().filter(|skill| !skill.rules.is_empty()).map(|skill| match skill.unconfirmed {
        true => Rules::unconfirmed(&skill.called(), skill.priority, skill.rules.clone()),
        false => Rules::untried(&skill.name, skill.priority, skill.rules.clone()),
    })
}

/// Returns a gate for each skill that has one of its own in Lisp.
pub fn own_gates(skills: &[Skill]) -> impl Iterator<Item = Asked> {
    skills.iter().filter(|skill| skill.lisp.has(Role::Gate)).map(Asked::of)
}

/// Returns what a gate that a skill wrote in Lisp is asked by: another code is another gate.
pub fn gate_key(skill: &str, digest: &str) -> String {
    format!("skill {skill}: gate {digest}")
}

/// Returns the skill that a gate is asked of, and the name of its code.
pub fn gate_of(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix("skill ")?.rsplit_once(": gate ")
}

/// Stands for a gate that a skill wrote in Lisp. It runs nothing: what the gate said was found out before judging, within a
/// bounded time, and is one of the facts. One that hung, broke or was never asked left no answer, and denies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    name: String,
    key: String,
    skill: String,
    priority: u16,
}

impl Asked {
    /// Makes the gate of a skill, whose code has this name.
    pub fn new(skill: &str, digest: &str, priority: u16) -> Asked {
        let (name, key) = (format!("skill {skill}: gate"), gate_key(skill, digest));
        Asked { name, key, skill: skill.to_string(), priority }
    }

    /// Makes the gate of a skill as it was read.
    fn of(skill: &Skill) -> Asked {
        Asked::new(&skill.name, &skill.lisp.digest(), skill.priority)
    }

    /// Returns what it is asked by, and answers by.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns what follows where nobody can ask it, and the way out.
    pub fn words(&self) -> String {
        format!(
            "the skill {} has a gate of its own in Lisp, and no Lisp can be confined here, so it denies every act; \
             M-x passepartout-doctor says what is missing; or take its block “gate” out",
            self.skill
        )
    }
}

impl Gate for Asked {
    fn name(&self) -> &str {
        &self.name
    }

    fn priority(&self) -> u16 {
        self.priority
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        let why = |said: &str, verdict: &str| match said.trim() {
            "" => Reason::new(format!("This skill {verdict} it and says no more.")),
            said => Reason::new(said),
        };
        match case.facts.answers.get(&self.key) {
            Some(Answer::Pass) => Verdict::pass(),
            Some(Answer::Ask(said)) => Verdict::Ask(why(said, "asks about")),
            Some(Answer::Deny(said)) => Verdict::Deny(why(said, "denies")),
            None => {
                let text = "The gate of this skill gave no answer, and a gate that gives none denies.";
                Verdict::Deny(Reason::new(text).in_our_words())
            }
        }
    }
}

/// Stands where rules of the user cannot be used: nobody knows what they forbid, so all but plain reading asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    name: String,
    what: String,
    /// Why; `None` where that would quote what nobody confirmed.
    why: Option<String>,
}

impl Unread {
    /// Makes the gate for what could not be used, such as `skill push`, and why, with file and line.
    pub fn new(what: &str, why: impl Into<String>) -> Unread {
        Unread { name: format!("{what}: unread"), what: what.to_string(), why: Some(why.into()) }
    }

    /// Makes the gate for a skill from outside, of which no word is told.
    pub fn from_outside(skill: &str) -> Unread {
        let what = format!("skill {}", spoken_name(skill));
        Unread { name: format!("{what}: unread"), what, why: None }
    }

    /// Returns what is wrong, what follows from it, and the way out.
    pub fn words(&self) -> String {
        let why = self.why.as_deref().unwrap_or("it comes from outside; M-x passepartout-skills says why");
        format!(
            "the rules of {} are not in force ({why}), so whatever is more than reading asks; mend it or move it away",
            self.what
        )
    }
}

impl Gate for Unread {
    fn name(&self) -> &str {
        &self.name
    }

    fn priority(&self) -> u16 {
        450
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        match case.tool.effect.class() {
            Class::Pure | Class::Read => Verdict::pass(),
            Class::Write | Class::Execute | Class::Network => {
                let text = format!("Nobody knows what {} forbids, for it cannot be used", self.what);
                Verdict::Ask(match &self.why {
                    Some(why) => Reason::new(format!("{text}: {why}.")),
                    None => Reason::new(format!("{text}; M-x passepartout-skills tells the user why.")).in_our_words(),
                })
            }
        }
    }
}

/// Denies what a triggered skill does not list in `#+TOOLS`, or a preset in `:TOOLS:`. It belongs to turns under it alone.
pub struct ToolsGate {
    name: String,
    /// Whose list it is.
    whose: &'static str,
    tools: BTreeSet<String>,
}

impl ToolsGate {
    /// Makes the gate for turns of a skill; `None` when it lists no tools, which leaves all.
    pub fn new(skill: &Skill) -> Option<ToolsGate> {
        let tools = skill.tools.clone()?;
        Some(ToolsGate { name: format!("skill {}: tools", skill.name), whose: "skill", tools })
    }

    /// Makes the gate for turns of a conversation with a preset; `None` when that leaves all tools.
    pub fn of_preset(preset: &Preset) -> Option<ToolsGate> {
        let tools = preset.tools.clone()?;
        Some(ToolsGate { name: format!("preset {}: tools", preset.name), whose: "preset", tools })
    }
}

impl Gate for ToolsGate {
    fn name(&self) -> &str {
        &self.name
    }

    fn priority(&self) -> u16 {
        400
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        // What no model can call is an act of the user's own: a first contact, going back.
        if case.tool.offered == Offered::Never
            || case.tool.effect == Effect::Reply
            || self.tools.contains(case.tool.name)
        {
            return Verdict::pass();
        }
        let list: Vec<&str> = self.tools.iter().map(String::as_str).collect();
        let instead =
            if list.is_empty() { "Answer in words.".to_string() } else { format!("Use {}.", list.join(", ")) };
        Verdict::Deny(Reason::instead(format!("This {} may not use {}.", self.whose, case.tool.name), instead))
    }
}
