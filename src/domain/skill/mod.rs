//! Skills: Org files with a prompt, mandates, rules with examples, and declarative triggers.
//!
//! A skill can tighten what is allowed and cannot loosen it: a rule has no word for “pass”,
//! and the tools that it lists are only ever taken away from those that there are.

pub mod gate;
pub mod lisp;
pub mod order;
pub mod parse;
pub mod rule;
pub mod trigger;

mod table;

use crate::domain::gate::rule::Rule;
use crate::domain::skill::lisp::{Lisp, Role};
use crate::domain::skill::trigger::{SignalFacts, Trigger};
use crate::domain::tool::{Effect, Tool, Toolbox};
use crate::domain::turn::error::Resolution;
use std::collections::BTreeSet;

/// What a skill without `#+PRIORITY` has.
pub const DEFAULT_PRIORITY: u16 = 10;

/// One skill.
#[derive(Clone, Debug, PartialEq)]
pub struct Skill {
    /// Its name: the file's, without `.org`.
    pub name: String,
    /// The `:ID:` of its file.
    pub id: Option<String>,
    /// Its title, for people.
    pub title: String,
    /// Higher is triggered first; at most 1000.
    pub priority: u16,
    /// Names, or `id:` links, of the skills that it needs.
    pub depends_on: Vec<String>,
    /// It is triggered when one of them matches.
    pub triggers: Vec<Trigger>,
    /// The only tools that a turn of this skill may use; `None` leaves all.
    pub tools: Option<BTreeSet<String>>,
    /// What ends a fault of a turn that it was triggered for; without it, the turn is aborted.
    pub on_error: Option<Resolution>,
    /// What the model is told when it is triggered.
    pub prompt: Option<String>,
    /// Standing text for the system prompt.
    pub mandates: Vec<Mandate>,
    /// What it asks about and denies, each with its examples.
    pub rules: Vec<Rule>,
    /// Its Emacs Lisp. When a gate of its own is in it, nothing happens without that gate's answer.
    pub lisp: Lisp,
    /// What is odd but does not keep it out, for people.
    pub remarks: Vec<String>,
}

/// Standing text for the system prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Mandate {
    /// When it stands there; always without.
    pub when: Option<Trigger>,
    /// The text.
    pub text: String,
}

/// Why a skill is kept out, with what and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkillProblem {
    /// A line of the front matter cannot be read.
    #[error("line {line}: #+{key}: {text}")]
    FrontMatter {
        /// One-based.
        line: u32,
        /// The keyword.
        key: String,
        /// What is wrong and what would be right.
        text: String,
    },
    /// A table or property under one of the skill's headings cannot be read.
    #[error("line {line}: {text}")]
    Section {
        /// One-based.
        line: u32,
        /// What is wrong and what would be right.
        text: String,
    },
    /// An example does not hold.
    #[error("line {line}: the example “{example}” of {tool} should give {expected}, but gives {found}")]
    Example {
        /// One-based.
        line: u32,
        /// The tool.
        tool: String,
        /// The example as it is written.
        example: String,
        /// What the table says.
        expected: String,
        /// What the rules say.
        found: String,
    },
    /// Something is larger than may be.
    #[error("the {what} is larger than {limit}")]
    TooLarge {
        /// What.
        what: &'static str,
        /// The limit, with its unit.
        limit: &'static str,
    },
}

/// Returns the skills that may be for a signal: those with something to tell a model whose trigger matches, the highest
/// priority first, the first by name among equals. A trigger in Lisp has not been asked.
pub fn triggered<'a>(skills: &'a [Skill], facts: &SignalFacts<'_>) -> Vec<&'a Skill> {
    matching(skills, facts, |skill| skill.prompt.is_some() || skill.lisp.has(Role::Prompt))
}

/// Returns the skills that may answer a signal themselves, in the same order.
pub fn handlers<'a>(skills: &'a [Skill], facts: &SignalFacts<'_>) -> Vec<&'a Skill> {
    matching(skills, facts, |skill| skill.lisp.has(Role::Handler))
}

fn matching<'a>(skills: &'a [Skill], facts: &SignalFacts<'_>, fits: impl Fn(&Skill) -> bool) -> Vec<&'a Skill> {
    let matches = |skill: &&Skill| skill.triggers.iter().any(|trigger| trigger.matches(facts));
    let mut found: Vec<&Skill> = skills.iter().filter(|skill| fits(skill)).filter(matches).collect();
    found.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.name.cmp(&b.name)));
    found
}

/// Returns the standing texts that hold for a signal, each with its skill, in the order of the skills.
pub fn mandates<'a>(skills: &'a [Skill], facts: &'a SignalFacts<'_>) -> impl Iterator<Item = (&'a Skill, &'a Mandate)> {
    let holds = move |mandate: &&Mandate| mandate.when.as_ref().is_none_or(|when| when.matches(facts));
    skills.iter().flat_map(move |skill| skill.mandates.iter().filter(holds).map(move |mandate| (skill, mandate)))
}

/// Returns what ends a fault: what the triggered skill chose, and without a choice the turn is aborted.
pub fn on_error(skill: Option<&Skill>) -> Resolution {
    skill.and_then(|skill| skill.on_error.clone()).unwrap_or(Resolution::Abort)
}

/// Returns the tools that a turn may offer: those of the toolbox, less what the triggered skill does not list.
pub fn offered(toolbox: &Toolbox, skill: Option<&Skill>) -> Vec<&'static Tool> {
    toolbox.offered().filter(|tool| skill.is_none_or(|skill| skill.may_use(tool))).collect()
}

impl Skill {
    /// Returns whether a turn of this skill may use a tool. Speaking to the user is always left.
    pub fn may_use(&self, tool: &Tool) -> bool {
        let speaks = tool.effect == Effect::Reply;
        speaks || self.tools.as_ref().is_none_or(|tools| tools.contains(tool.name))
    }
}
