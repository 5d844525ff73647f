//! Rules of skills: which calls are asked about or denied. There is no word for “pass”.

use crate::domain::gate::facts::PathFact;
use crate::domain::tool::{Tool, Toolbox};
use serde_json::{Map, Value};

/// What a rule says of what it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleVerdict {
    /// A human must see it first.
    Ask,
    /// It must not happen.
    Deny,
}

impl RuleVerdict {
    /// Reads `ask` or `deny`.
    ///
    /// # Errors
    ///
    /// Words that say what is wrong; anything that would loosen is named as such.
    pub fn parse(text: &str) -> Result<RuleVerdict, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "ask" => Ok(RuleVerdict::Ask),
            "deny" => Ok(RuleVerdict::Deny),
            loose @ ("pass" | "allow" | "auto") => Err(format!(
                "a skill cannot {loose}: it can tighten what is allowed, with ask or deny, and never loosen it"
            )),
            other => Err(format!("“{other}” is no verdict; there are ask and deny")),
        }
    }

    /// Returns `ask` or `deny`.
    pub fn name(self) -> &'static str {
        match self {
            RuleVerdict::Ask => "ask",
            RuleVerdict::Deny => "deny",
        }
    }
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The tool's name, with `*` and `?`.
    pub tool: Glob,
    /// The argument that must match; any without.
    pub argument: Option<String>,
    /// What it must match, whole.
    pub pattern: Glob,
    /// What the rule says.
    pub verdict: RuleVerdict,
    /// Why, for the user and the model.
    pub reason: String,
    /// One-based line in the skill's file.
    pub line: u32,
}

impl Rule {
    /// Makes a rule from the cells of a table; a pattern may begin with `argument:`.
    ///
    /// # Errors
    ///
    /// Words that say what is wrong: a tool or argument that there is not would never match, and a rule that never
    /// matches protects nothing.
    pub fn new(
        toolbox: &Toolbox,
        tool: &str,
        pattern: &str,
        verdict: &str,
        reason: &str,
        line: u32,
    ) -> Result<Rule, String> {
        let tool = Glob::new(tool)?;
        let tools: Vec<&Tool> = toolbox.all().filter(|known| tool.matches(known.name)).collect();
        if tools.is_empty() {
            let names: Vec<&str> = toolbox.all().map(|tool| tool.name).collect();
            return Err(format!("no tool is called “{}”; the tools are {}", tool.0, names.join(", ")));
        }
        let (argument, pattern) = split_argument(&tools, pattern);
        let verdict = RuleVerdict::parse(verdict)?;
        let reason = reason.trim();
        if reason.is_empty() {
            return Err("a rule needs a reason, which the user and the model are shown".to_string());
        }
        Ok(Rule { tool, argument, pattern: Glob::new(&pattern)?, verdict, reason: reason.to_string(), line })
    }

    /// Returns whether it matches a call. A path is compared as it is spelled and as it was resolved.
    pub fn matches(&self, tool: &str, args: &Map<String, Value>, paths: &[PathFact]) -> bool {
        if !self.tool.matches(tool) {
            return false;
        }
        let named = |name: &str| self.argument.as_ref().is_none_or(|argument| argument == name);
        let resolved = paths.iter().filter(|path| named(&path.arg)).any(|path| self.pattern.matches(&path.resolved));
        // A tool without arguments, or a pattern for anything, needs no value.
        let anything = self.argument.is_none() && self.pattern.is_anything();
        anything || resolved || args.iter().any(|(name, value)| named(name) && self.fits(value))
    }

    fn fits(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.pattern.matches(text) || self.pattern.matches(&single_spaces(text)),
            Value::Number(number) => self.pattern.matches(&number.to_string()),
            Value::Bool(flag) => self.pattern.matches(if *flag { "true" } else { "false" }),
            Value::Array(items) => items.iter().filter_map(Value::as_str).any(|text| self.pattern.matches(text)),
            Value::Null | Value::Object(_) => false,
        }
    }
}

/// Takes `argument:` off a pattern when one of the tools has an argument of that name.
fn split_argument(tools: &[&Tool], pattern: &str) -> (Option<String>, String) {
    let pattern = pattern.trim();
    if let Some((name, rest)) = pattern.split_once(':') {
        let known = tools.iter().any(|tool| tool.params.iter().any(|param| param.name == name.trim()));
        if known {
            return (Some(name.trim().to_string()), rest.trim().to_string());
        }
    }
    (None, pattern.to_string())
}

fn single_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A pattern: `*` stands for any run of characters, `?` for one. It must match the whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(String);

/// Longest pattern, in bytes; with the length of the text it bounds the time.
const LONGEST: usize = 300;
/// Longest text that is compared, in bytes.
const LONGEST_TEXT: usize = 1024 * 1024;

impl Glob {
    /// Wraps a pattern.
    ///
    /// # Errors
    ///
    /// When it is empty or longer than 300 bytes.
    pub fn new(pattern: &str) -> Result<Glob, String> {
        let pattern = pattern.trim();
        match pattern.len() {
            0 => Err("a pattern is missing; * stands for anything".to_string()),
            length if length > LONGEST => Err(format!("a pattern has at most {LONGEST} bytes, not {length}")),
            _ => Ok(Glob(pattern.to_string())),
        }
    }

    /// Returns whether it matches a whole text, in time at most pattern × text.
    ///
    /// A text of more than 1 MB counts as matched: a rule that cannot be judged in time tightens.
    pub fn matches(&self, text: &str) -> bool {
        if text.len() > LONGEST_TEXT {
            return true;
        }
        let pattern: Vec<char> = self.0.chars().collect();
        let mut text_at = text.chars();
        let (mut at, mut star): (usize, Option<(usize, std::str::Chars<'_>)>) = (0, None);
        loop {
            let before = text_at.clone();
            match (pattern.get(at), text_at.next()) {
                (Some('*'), _) => {
                    star = Some((at, before.clone()));
                    text_at = before;
                    at += 1;
                }
                (Some(p), Some(c)) if *p == '?' || *p == c => at += 1,
                (None, None) => return true,
                _ => {
                    // Back to the last star, which takes one character more.
                    let Some((place, from)) = star.as_mut().filter(|(_, from)| !from.as_str().is_empty()) else {
                        return false;
                    };
                    from.next();
                    at = *place + 1;
                    text_at = from.clone();
                }
            }
        }
    }

    fn is_anything(&self) -> bool {
        self.0.chars().all(|c| c == '*')
    }
}
