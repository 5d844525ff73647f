//! Gates built from the rules of skills. A rule can only tighten: it has no way to say that something passes.

use crate::domain::action::Action;
use crate::domain::gate::place;
use crate::domain::gate::{Case, Gate, Reason, Verdict};
use serde_json::Value;

/// What a rule says of an action that it matches. There is no pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ruling {
    /// A human must see it first.
    Ask,
    /// It must not happen.
    Deny,
}

impl Ruling {
    /// Reads `ask` or `deny`, without regard to case; `None` for anything else, `allow` included.
    pub fn parse(text: &str) -> Option<Ruling> {
        match text.trim().to_ascii_lowercase().as_str() {
            "ask" => Some(Ruling::Ask),
            "deny" => Some(Ruling::Deny),
            _ => None,
        }
    }
}

/// How a pattern is compared. Case makes no difference in any of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Matches any action on the tool.
    Always,
    /// The text stands somewhere in an argument.
    Contains(String),
    /// An argument begins with the text.
    Begins(String),
    /// A whole argument fits a pattern with `*` and `?`.
    Glob(String),
    /// The words stand in an argument as whole words, in this order, side by side.
    Words(Vec<String>),
}

/// One rule of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The tool; `*` for all.
    pub tool: String,
    /// The argument that is looked at; `None` for all.
    pub argument: Option<String>,
    /// What is looked for.
    pub pattern: Pattern,
    /// What it says.
    pub ruling: Ruling,
    /// Why, for the human and the model.
    pub reason: String,
    /// Examples of arguments that it must match; at least one.
    pub matches: Vec<String>,
    /// Examples of arguments that it must spare.
    pub spares: Vec<String>,
}

/// Why a rule is not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    /// It has no example that it matches.
    #[error("the rule “{0}” has no example that it matches; give one")]
    NoExample(String),
    /// An example that it should match does not.
    #[error("the rule “{0}” does not match its own example “{1}”")]
    Misses(String, String),
    /// An example that it should spare matches.
    #[error("the rule “{0}” matches “{1}”, which it should spare")]
    Hits(String, String),
    /// Its reason or its pattern is empty.
    #[error("the rule on “{0}” has no reason or no pattern")]
    Empty(String),
}

impl Rule {
    /// Runs the rule's examples; a rule that fails them is not loaded.
    pub fn check_examples(&self) -> Result<(), BadRule> {
        let hollow = match &self.pattern {
            Pattern::Always => false,
            Pattern::Contains(text) | Pattern::Begins(text) | Pattern::Glob(text) => text.trim().is_empty(),
            Pattern::Words(words) => words.is_empty(),
        };
        if hollow || self.reason.trim().is_empty() || self.tool.trim().is_empty() {
            return Err(BadRule::Empty(self.tool.clone()));
        }
        if self.matches.is_empty() && self.pattern != Pattern::Always {
            return Err(BadRule::NoExample(self.reason.clone()));
        }
        if let Some(example) = self.matches.iter().find(|example| !self.pattern.fits(example)) {
            return Err(BadRule::Misses(self.reason.clone(), example.clone()));
        }
        match self.spares.iter().find(|example| self.pattern.fits(example)) {
            Some(example) => Err(BadRule::Hits(self.reason.clone(), example.clone())),
            None => Ok(()),
        }
    }

    /// Returns whether the rule speaks of an action.
    pub fn applies(&self, action: &Action) -> bool {
        if self.tool != "*" && !self.tool.eq_ignore_ascii_case(action.tool()) {
            return false;
        }
        if self.pattern == Pattern::Always {
            return true;
        }
        let args = action
            .args()
            .iter()
            .filter(|(name, _)| self.argument.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(name)));
        args.flat_map(|(_, value)| texts(value)).any(|text| self.pattern.fits(&text))
    }

    /// Returns whether the rule speaks of a case: of the action as it is spelled, or of a path as it was resolved.
    fn reaches(&self, case: &Case<'_>) -> bool {
        let tool = self.tool == "*" || self.tool.eq_ignore_ascii_case(case.action.tool());
        let named = |name: &str| self.argument.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(name));
        let mut paths = case.facts.paths.iter().filter(|path| named(&path.arg));
        self.applies(case.action) || (tool && paths.any(|path| self.pattern.fits(&path.resolved)))
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_string).collect(),
        Value::Number(number) => vec![number.to_string()],
        Value::Bool(flag) => vec![flag.to_string()],
        Value::Null | Value::Object(_) => Vec::new(),
    }
}

impl Pattern {
    /// Returns whether a text fits, as it stands or with single spaces between its words.
    pub fn fits(&self, text: &str) -> bool {
        let single = text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.fits_exactly(text) || (single != text && self.fits_exactly(&single))
    }

    fn fits_exactly(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        match self {
            Pattern::Always => true,
            Pattern::Contains(part) => lower.contains(&part.to_lowercase()),
            Pattern::Begins(part) => lower.starts_with(&part.to_lowercase()),
            Pattern::Glob(pattern) => place::matches(&pattern.to_lowercase(), &lower),
            Pattern::Words(words) => {
                let found: Vec<&str> = lower
                    .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')))
                    .filter(|w| !w.is_empty())
                    .collect();
                let wanted: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
                found
                    .windows(wanted.len().max(1))
                    .any(|window| window.iter().zip(&wanted).all(|(a, b)| *a == b.as_str()))
            }
        }
    }
}

/// The rules of one skill as a gate.
pub struct Rules {
    name: String,
    priority: u16,
    rules: Vec<Rule>,
}

impl Rules {
    /// Makes a gate of rules whose examples hold; the first rule that fails its examples is the error.
    pub fn new(skill: &str, priority: u16, rules: Vec<Rule>) -> Result<Rules, BadRule> {
        for rule in &rules {
            rule.check_examples()?;
        }
        Ok(Rules { name: format!("skill {skill}"), priority, rules })
    }
}

impl Gate for Rules {
    fn name(&self) -> &str {
        &self.name
    }

    fn priority(&self) -> u16 {
        self.priority
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        let mut verdict = Verdict::pass();
        for rule in self.rules.iter().filter(|rule| rule.reaches(case)) {
            let reason = Reason::new(rule.reason.clone());
            verdict = verdict.stricter(match rule.ruling {
                Ruling::Ask => Verdict::Ask(reason),
                Ruling::Deny => Verdict::Deny(reason),
            });
        }
        verdict
    }
}
