//! Gates built from the rules of skills. A rule can only tighten: it has no way to say that something passes.

use crate::domain::action::Action;
use crate::domain::gate::closing::OPEN_CHILDREN;
use crate::domain::gate::place;
use crate::domain::gate::{Case, Gate, Reason, Verdict};
use serde_json::Value;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

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
        let args = action.args().iter().filter(|(name, _)| self.looks_at(name));
        args.flat_map(|(_, value)| texts(value)).any(|text| self.pattern.fits(&text))
    }

    fn looks_at(&self, argument: &str) -> bool {
        self.argument.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(argument))
    }

    /// Returns whether a text of a case is one that the rule looks at: what was found out is looked at by its name alone.
    fn looks_at_text(&self, text: &Spelt<'_>) -> bool {
        let named = || self.argument.as_ref().is_some_and(|wanted| wanted.eq_ignore_ascii_case(OPEN_CHILDREN));
        self.looks_at(text.argument) && (text.argument != OPEN_CHILDREN || named())
    }

    /// Returns why, with what the case has to say of what the rule looks at.
    fn reason_for(&self, case: &Case<'_>) -> Reason {
        let left = case.facts.left_open.iter().map(ToString::to_string).collect::<Vec<_>>();
        match self.argument.as_deref() {
            Some(argument) if argument.eq_ignore_ascii_case(OPEN_CHILDREN) => {
                Reason::new(format!("{} {}.", self.reason, left.join("; ")))
            }
            Some(_) | None => Reason::new(self.reason.clone()),
        }
    }

    /// Returns whether the rule speaks of a case: of the action as it is spelled, or of a path as it was resolved.
    fn reaches<'a>(&self, case: &'a Case<'_>, spelt: &OnceCell<Vec<Spelt<'a>>>) -> bool {
        if self.tool != "*" && !self.tool.eq_ignore_ascii_case(case.action.tool()) {
            return false;
        }
        let spelt = || spelt.get_or_init(|| spellings(case));
        self.pattern == Pattern::Always
            || spelt().iter().any(|text| self.looks_at_text(text) && self.pattern.fits_in(text))
    }
}

/// A text of a case, and how it reads in small letters. All rules look at the same, so it is made once.
struct Spelt<'a> {
    argument: &'a str,
    small: String,
    /// With single spaces between its words, where that is another text.
    single: Option<String>,
    /// The words, of this and of the other: made when a pattern asks for them.
    words: OnceCell<Vec<Range<usize>>>,
}

impl<'a> Spelt<'a> {
    fn new(argument: &'a str, text: &str) -> Spelt<'a> {
        let single = (!is_single(text)).then(|| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase());
        Spelt { argument, small: text.to_lowercase(), single, words: OnceCell::new() }
    }

    /// The words are the same with single spaces: what parts words parts them there as well.
    fn words(&self) -> &[Range<usize>] {
        self.words.get_or_init(|| word_ranges(&self.small))
    }
}

/// Returns whether a text has single spaces between its words, and no other white space.
fn is_single(text: &str) -> bool {
    let mut before = ' ';
    for c in text.chars() {
        if c.is_whitespace() && (c != ' ' || before == ' ') {
            return false;
        }
        before = c;
    }
    text.is_empty() || before != ' '
}

fn word_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        match (start, c.is_alphanumeric() || matches!(c, '_' | '-')) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                ranges.push(from..at);
                start = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }
    ranges.extend(start.map(|from| from..text.len()));
    ranges
}

fn spellings<'a>(case: &'a Case<'_>) -> Vec<Spelt<'a>> {
    let args = case.action.args().iter();
    let args = args.flat_map(|(name, value)| texts(value).into_iter().map(move |text| Spelt::new(name, &text)));
    let paths = case.facts.paths.iter().map(|path| Spelt::new(&path.arg, &path.resolved));
    let left = case.facts.left_open.iter().map(|left| Spelt::new(OPEN_CHILDREN, &left.to_string()));
    args.chain(paths).chain(left).collect()
}

fn texts(value: &Value) -> Vec<Cow<'_, str>> {
    match value {
        Value::String(text) => vec![Cow::Borrowed(text)],
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(Cow::Borrowed).collect(),
        Value::Number(number) => vec![Cow::Owned(number.to_string())],
        Value::Bool(flag) => vec![Cow::Owned(flag.to_string())],
        Value::Null | Value::Object(_) => Vec::new(),
    }
}

impl Pattern {
    /// Returns whether a text fits, as it stands or with single spaces between its words.
    pub fn fits(&self, text: &str) -> bool {
        self.fits_in(&Spelt::new("", text))
    }

    fn fits_in(&self, text: &Spelt<'_>) -> bool {
        let either = |fits: &dyn Fn(&str) -> bool| fits(&text.small) || text.single.as_deref().is_some_and(fits);
        match self {
            Pattern::Always => true,
            Pattern::Contains(part) => {
                let part = part.to_lowercase();
                either(&|text| text.contains(&part))
            }
            Pattern::Begins(part) => {
                let part = part.to_lowercase();
                either(&|text| text.starts_with(&part))
            }
            Pattern::Glob(pattern) => {
                let pattern = pattern.to_lowercase();
                either(&|text| place::matches(&pattern, text))
            }
            Pattern::Words(words) => {
                let wanted: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
                let word = |range: &Range<usize>| text.small.get(range.clone());
                let is = |(range, wanted): (&Range<usize>, &String)| word(range) == Some(wanted.as_str());
                text.words().windows(wanted.len().max(1)).any(|window| window.iter().zip(&wanted).all(is))
            }
        }
    }
}

/// What is said in place of the words of a skill that nobody confirmed: they may be written for the model.
pub const UNCONFIRMED: &str =
    "A skill from outside, which the user did not confirm, says so; M-x passepartout-skills shows the user its words.";

/// The rules of one skill as a gate.
pub struct Rules {
    name: String,
    priority: u16,
    rules: Vec<Rule>,
    /// Whether nobody confirmed them, so that none of their words is told.
    unconfirmed: bool,
}

impl Rules {
    /// Makes a gate of rules whose examples hold; the first rule that fails its examples is the error.
    pub fn new(skill: &str, priority: u16, rules: Vec<Rule>) -> Result<Rules, BadRule> {
        for rule in &rules {
            rule.check_examples()?;
        }
        Ok(Rules { name: format!("skill {skill}"), priority, rules, unconfirmed: false })
    }

    /// Makes a gate of rules whose examples are not run: those of a skill in which something else is wrong.
    pub fn untried(skill: &str, priority: u16, rules: Vec<Rule>) -> Rules {
        Rules { name: format!("skill {skill}"), priority, rules, unconfirmed: false }
    }

    /// Makes a gate of rules that nobody confirmed: they hold, their examples are not run, and none of their words is told.
    pub fn unconfirmed(skill: &str, priority: u16, rules: Vec<Rule>) -> Rules {
        Rules { name: format!("skill {skill}"), priority, rules, unconfirmed: true }
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
        let spelt = OnceCell::new();
        for rule in self.rules.iter().filter(|rule| rule.reaches(case, &spelt)) {
            let reason = match self.unconfirmed {
                true => Reason::new(UNCONFIRMED).in_our_words(),
                false => rule.reason_for(case),
            };
            verdict = verdict.stricter(match rule.ruling {
                Ruling::Ask => Verdict::Ask(reason),
                Ruling::Deny => Verdict::Deny(reason),
            });
        }
        verdict
    }
}
