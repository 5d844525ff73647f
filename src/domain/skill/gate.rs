//! Gates of skills: their rules, and the tools that a triggered skill leaves.

use crate::domain::gate::{Case, Gate, Reason, Verdict};
use crate::domain::skill::Skill;
use crate::domain::skill::rule::{Rule, RuleVerdict};
use crate::domain::tool::Effect;
use std::collections::BTreeSet;

/// The rules of one skill as a gate. It passes what no rule matches.
pub struct SkillGate {
    name: String,
    priority: u16,
    rules: Vec<Rule>,
}

impl SkillGate {
    /// Makes the gate of a skill; `None` when it has no rules.
    pub fn new(skill: &Skill) -> Option<SkillGate> {
        let name = format!("skill:{}", skill.name);
        (!skill.rules.is_empty()).then(|| SkillGate { name, priority: skill.priority, rules: skill.rules.clone() })
    }
}

impl Gate for SkillGate {
    fn name(&self) -> &str {
        &self.name
    }

    fn priority(&self) -> u16 {
        self.priority
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        let matches = |rule: &&Rule| rule.matches(case.action.tool(), case.action.args(), &case.facts.paths);
        let verdicts = self.rules.iter().filter(matches).map(|rule| {
            let reason = Reason::new(rule.reason.clone());
            match rule.verdict {
                RuleVerdict::Ask => Verdict::Ask(reason),
                RuleVerdict::Deny => Verdict::Deny(reason),
            }
        });
        verdicts.fold(Verdict::pass(), Verdict::stricter)
    }
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
        Some(ToolsGate { name: format!("skill:{}:tools", skill.name), tools })
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
