//! Gates of skills: their rules, and the tools that a triggered skill leaves.

use crate::domain::gate::rule::{BadRule, Rules};
use crate::domain::gate::{Case, Gate, Reason, Verdict};
use crate::domain::skill::Skill;
use crate::domain::tool::Effect;
use std::collections::BTreeSet;

/// Returns the gates of skills: one for each that has rules.
///
/// # Errors
///
/// A rule whose examples do not hold; a skill that was parsed has none.
pub fn gates(skills: &[Skill]) -> Result<Vec<Rules>, BadRule> {
    let with_rules = skills.iter().filter(|skill| !skill.rules.is_empty());
    with_rules.map(|skill| Rules::new(&skill.name, skill.priority, skill.rules.clone())).collect()
}

/// Denies what a triggered skill does not list in `#+TOOLS`. It belongs to that skill's turns alone.
pub struct ToolsGate {
    name: String,
    tools: BTreeSet<String>,
}

impl ToolsGate {
    /// Makes the gate for turns of a skill; `None` when it lists no tools, which leaves all.
    pub fn new(skill: &Skill) -> Option<ToolsGate> {
        let tools = skill.tools.clone()?;
        Some(ToolsGate { name: format!("skill {}: tools", skill.name), tools })
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
        if case.tool.effect == Effect::Reply || self.tools.contains(case.tool.name) {
            return Verdict::pass();
        }
        let list: Vec<&str> = self.tools.iter().map(String::as_str).collect();
        let instead =
            if list.is_empty() { "Answer in words.".to_string() } else { format!("Use {}.", list.join(", ")) };
        Verdict::Deny(Reason::instead(format!("This skill may not use {}.", case.tool.name), instead))
    }
}
