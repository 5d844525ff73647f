//! What a skill asks for, in lines for the human who decides whether to use it.

use crate::domain::skill::handbook::Handbook;
use crate::domain::skill::lisp::Role;
use crate::domain::skill::{DEFAULT_PRIORITY, Skill, rule};
use crate::domain::turn::error::Resolution;

/// Most rules that are told one by one.
const RULES: usize = 20;

/// Returns what an Org skill asks for. `waits`: it lies there already, so that what it forbids holds.
pub fn of_skill(skill: &Skill, waits: bool) -> Vec<String> {
    let already = |words: &'static str| if waits { words } else { "" };
    let mut lines = Vec::new();
    if skill.priority != DEFAULT_PRIORITY {
        let than = if skill.priority > DEFAULT_PRIORITY { "before" } else { "after" };
        let usual = format!("{than} those that say nothing, which have {DEFAULT_PRIORITY}");
        lines.push(format!("the priority {} of at most 1000: it is asked {usual}", skill.priority));
    }
    if skill.prompt.is_some() {
        let when: Vec<String> = skill.triggers.iter().map(ToString::to_string).collect();
        lines.push(match when.as_slice() {
            [] => "a prompt that nothing triggers".to_string(),
            when => format!("to tell the model its prompt when {}", when.join(", or ")),
        });
    }
    for mandate in &skill.mandates {
        lines.push(match &mandate.when {
            None => "to tell the model its mandates in every turn".to_string(),
            Some(when) => format!("to tell the model a mandate when {when}"),
        });
    }
    match &skill.tools {
        None => lines.push("all tools, each judged as always".to_string()),
        Some(tools) if tools.is_empty() => lines.push("no tools".to_string()),
        Some(tools) => {
            let names: Vec<&str> = tools.iter().map(String::as_str).collect();
            lines.push(format!("these tools alone, each judged as always: {}", names.join(", ")));
        }
    }
    for rule in skill.rules.iter().take(RULES) {
        let ruling = rule::name(rule.ruling);
        let already = already(", which holds already");
        lines.push(format!("a rule that may {ruling} ({}){already}: {}", rule.tool, rule.reason));
    }
    if skill.rules.len() > RULES {
        lines.push(format!("{} rules more{}", skill.rules.len() - RULES, already(", which hold already")));
    }
    if skill.prompt.is_none() && !skill.triggers.is_empty() && roles(skill).iter().any(|role| is_triggered(*role)) {
        let when: Vec<String> = skill.triggers.iter().map(ToString::to_string).collect();
        lines.push(format!("that its Lisp is asked when {}", when.join(", or ")));
    }
    for role in roles(skill) {
        lines.push(format!("Lisp in a worker that reaches nothing: {}", of_role(role)));
    }
    match &skill.on_error {
        None | Some(Resolution::Abort) => {}
        Some(Resolution::Skip) => lines.push("to end a turn of it that fails without an answer".to_string()),
        Some(Resolution::Fallback(_)) => lines.push("to end a turn of it that fails with its own text".to_string()),
    }
    if !skill.depends_on.is_empty() {
        lines.push(format!("the skills {}", skill.depends_on.join(", ")));
    }
    lines.dedup();
    lines
}

/// Returns what a skill of the common format asks for.
pub fn of_handbook(handbook: &Handbook) -> Vec<String> {
    let mut lines = vec![
        format!("to be offered to the model in every turn in one line: “{}”", handbook.offer()),
        "that the model reads its texts when it finds them fitting; they count as text from outside".to_string(),
        "nothing is run: no script of it, and no command".to_string(),
    ];
    if !handbook.allowed_tools.is_empty() {
        let tools = handbook.allowed_tools.join(", ");
        lines.push(format!("these tools, which is granted to no skill (each is judged as always): {tools}"));
    }
    let said = [("license", &handbook.license), ("it needs", &handbook.compatibility)];
    lines.extend(said.into_iter().filter_map(|(name, value)| value.as_ref().map(|value| format!("{name}: {value}"))));
    lines
}

/// Returns what a block of Lisp does.
fn of_role(role: Role) -> &'static str {
    match role {
        Role::Definitions => "definitions that its other Lisp uses",
        Role::Trigger => "it says when the skill is for what you ask",
        Role::Prompt => "it writes what the model is told",
        Role::Refine => "it may put other arguments in the place of those that are proposed, before they are judged",
        Role::Gate => "it judges every act",
        Role::Handler => "it may answer you, or propose an act, before a model is asked; the act is judged as always",
        Role::OnError => "it says what ends a turn of it that fails",
        Role::Job => "it does work when that is due, once you confirmed the heading that wants it",
        Role::Tests => "tests, which are run when you test the skill",
    }
}

/// Returns whether a block is called when a trigger matches.
fn is_triggered(role: Role) -> bool {
    matches!(role, Role::Trigger | Role::Prompt | Role::Handler)
}

/// Returns what the Lisp of a skill is for, each once.
fn roles(skill: &Skill) -> Vec<Role> {
    let mut roles: Vec<Role> = skill.lisp.blocks.iter().map(|block| block.role).collect();
    roles.sort();
    roles.dedup();
    roles
}
