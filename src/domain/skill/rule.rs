//! Rules of skills, read from the cells of a table. There is no word for “pass”.

use crate::domain::gate::closing::OPEN_CHILDREN;
use crate::domain::gate::rule::{Pattern, Rule, Ruling};
use crate::domain::tool::{Effect, Tool, Toolbox};

/// Longest pattern, in bytes; with the length of the text it bounds the time.
const LONGEST: usize = 300;

/// Makes a rule; a pattern may begin with `argument:`. Its examples are still to be given.
///
/// # Errors
///
/// Words that say what is wrong: a tool or argument that there is not would never match, and a rule that never
/// matches protects nothing.
pub fn read(toolbox: &Toolbox, tool: &str, pattern: &str, verdict: &str, reason: &str) -> Result<Rule, String> {
    let tool = tool.trim();
    let tools: Vec<&Tool> = toolbox.all().filter(|known| tool == "*" || known.name == tool).collect();
    if tools.is_empty() {
        let names: Vec<&str> = toolbox.all().map(|tool| tool.name).collect();
        return Err(format!("no tool is called “{tool}”; the tools are {}, and * for all", names.join(", ")));
    }
    let (argument, pattern) = split_argument(&tools, tool, pattern)?;
    let reason = reason.trim();
    if reason.is_empty() {
        return Err("a rule needs a reason, which the user and the model are shown".to_string());
    }
    let pattern = match pattern.as_str() {
        "" => return Err("a pattern is missing; * stands for anything".to_string()),
        long if long.len() > LONGEST => {
            return Err(format!("a pattern has at most {LONGEST} bytes, not {}", long.len()));
        }
        "*" if argument.is_none() => Pattern::Always,
        glob => Pattern::Glob(glob.to_string()),
    };
    let ruling = ruling(verdict)?;
    let (matches, spares) = (Vec::new(), Vec::new());
    Ok(Rule { tool: tool.to_string(), argument, pattern, ruling, reason: reason.to_string(), matches, spares })
}

/// Returns `ask` or `deny`.
pub fn name(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Ask => "ask",
        Ruling::Deny => "deny",
    }
}

/// Returns how long the pattern of a rule is, in bytes: with the length of a text, what looking costs. At least one.
pub fn length(rule: &Rule) -> usize {
    match &rule.pattern {
        Pattern::Always => 1,
        Pattern::Contains(text) | Pattern::Begins(text) | Pattern::Glob(text) => text.len().max(1),
        Pattern::Words(words) => words.iter().map(String::len).sum::<usize>().max(1),
    }
}

/// Returns whether a rule speaks of an example: one value of one argument of a tool.
pub fn fits(rule: &Rule, tool: &str, argument: &str, value: &str) -> bool {
    let named = rule.argument.as_ref().is_none_or(|name| name == argument);
    (rule.tool == "*" || rule.tool == tool) && (rule.pattern == Pattern::Always || (named && rule.pattern.fits(value)))
}

fn ruling(text: &str) -> Result<Ruling, String> {
    Ruling::parse(text).ok_or_else(|| match text.trim().to_ascii_lowercase().as_str() {
        loose @ ("pass" | "allow" | "auto") => {
            format!("a skill cannot {loose}: it can tighten what is allowed, with ask or deny, and never loosen it")
        }
        other => format!("“{other}” is no verdict; there are ask and deny"),
    })
}

/// Returns whether a word names an argument of a tool, or what is found out of its edits.
pub fn names(tool: &Tool, word: &str) -> bool {
    let found_out = matches!(tool.effect, Effect::EditOrg | Effect::WriteFile) && word.trim() == OPEN_CHILDREN;
    found_out || tool.params.iter().any(|param| param.name == word.trim())
}

/// Takes `argument:` off a pattern when one of the tools has an argument of that name.
///
/// # Errors
/// When the pattern begins as with the name of an argument that there is not: such a rule would never match.
fn split_argument(tools: &[&Tool], tool: &str, pattern: &str) -> Result<(Option<String>, String), String> {
    let pattern = pattern.trim();
    let Some((name, rest)) = pattern.split_once(':') else { return Ok((None, pattern.to_string())) };
    if tools.iter().any(|tool| names(tool, name)) {
        return Ok((Some(name.trim().to_string()), rest.trim().to_string()));
    }
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    if !is_name || !rest.starts_with(char::is_whitespace) {
        return Ok((None, pattern.to_string()));
    }
    let known = match tools {
        [one] => {
            let names: Vec<&str> = one.params.iter().map(|param| param.name).collect();
            let known = if names.is_empty() { "it has none".to_string() } else { names.join(", ") };
            format!("{tool} has no argument “{name}”; its arguments are {known}")
        }
        _ => format!("no tool has an argument “{name}”"),
    };
    Err(format!("{known}; where the text itself is meant, begin the pattern with *"))
}
