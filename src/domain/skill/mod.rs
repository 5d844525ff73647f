//! Skills: Org files with a prompt, mandates, rules with examples, and declarative triggers.
//!
//! A skill can tighten what is allowed and cannot loosen it: a rule has no word for “pass”,
//! and the tools that it lists are only ever taken away from those that there are.

pub mod asks;
pub mod gate;
pub mod handbook;
pub mod lisp;
pub mod order;
pub mod parse;
pub mod rule;
pub mod template;
pub mod trigger;

mod front;
mod page;
mod slip;
mod table;

use crate::domain::gate::rule::Rule;
use crate::domain::skill::lisp::{Lisp, Role};
use crate::domain::skill::trigger::{SignalFacts, Trigger};
use crate::domain::tool::{Effect, Offered, Tool, Toolbox};
use crate::domain::turn::error::Resolution;
use std::borrow::Cow;
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
    /// Whether it comes from outside and the user did not confirm it: no word of it reaches a model or the log.
    pub unconfirmed: bool,
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

/// Returns the tools that a turn may offer: those of the toolbox, less what the triggered skill does not list, and with
/// what is offered only where a skill does.
pub fn offered(toolbox: &Toolbox, skill: Option<&Skill>) -> Vec<&'static Tool> {
    let is_offered = |tool: &&'static Tool| match tool.offered {
        Offered::Always => skill.is_none_or(|skill| skill.may_use(tool)),
        Offered::BySkill => skill.is_some_and(|skill| skill.tools.is_some() && skill.may_use(tool)),
        Offered::Never => false,
    };
    toolbox.all().filter(is_offered).collect()
}

/// Returns how a skill is called where a model may read it, of which nobody but its author chose the name: as it is when it
/// is a plain name, else by a few digits of its hash.
pub fn spoken_name(name: &str) -> Cow<'_, str> {
    if handbook::is_name(name) {
        return Cow::Borrowed(name);
    }
    let hash = blake3::hash(name.as_bytes()).to_hex();
    Cow::Owned(format!("#{}", hash.get(..8).unwrap_or_default()))
}

impl Skill {
    /// Returns how it is called where a model may read it.
    pub fn called(&self) -> Cow<'_, str> {
        if self.unconfirmed { spoken_name(&self.name) } else { Cow::Borrowed(&self.name) }
    }

    /// Returns whether a turn of this skill may use a tool. Speaking to the user is always left.
    pub fn may_use(&self, tool: &Tool) -> bool {
        let speaks = tool.effect == Effect::Reply;
        speaks || self.tools.as_ref().is_none_or(|tools| tools.contains(tool.name))
    }
}
