//! Gate: what the user allows each tool to do at all.

use crate::domain::gate::{Case, Gate, Reason, Verdict};
use crate::domain::policy::mandate::is_unnamed;
use crate::domain::scope::Level;
use crate::domain::tool::{Class, Effect, Tool};

/// Judges by the level of the tool.
pub struct Permissions;

/// Returns the level of a tool that the user has set none for. Exhaustive: a new effect must be decided.
pub fn default_level(tool: &Tool) -> Level {
    match tool.effect {
        Effect::Reply | Effect::Delegate | Effect::ReadMemory | Effect::ReadFile | Effect::ReadEditor => Level::Allow,
        Effect::EditOrg
        | Effect::WriteFile
        | Effect::Commit
        | Effect::ShowInEditor
        | Effect::Send
        | Effect::Configure => Level::Ask,
        // What they would do is judged: commands and Lisp by what they are, fetching by its host.
        Effect::Execute | Effect::Evaluate | Effect::Fetch => Level::Auto,
        // Nobody but the user knows what a tool of theirs does: only what it was declared to be is judged.
        Effect::Custom(Class::Pure | Class::Read) => Level::Allow,
        Effect::Custom(Class::Write | Class::Execute | Class::Network) => Level::Ask,
    }
}

impl Gate for Permissions {
    fn name(&self) -> &str {
        "permissions"
    }

    fn priority(&self) -> u16 {
        600
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        by_level(case).stricter(by_headings(case))
    }
}

/// Judges by what the headings say above what the action is about.
fn by_headings(case: &Case<'_>) -> Verdict {
    let mandate = &case.facts.mandate;
    if let Some(who) = mandate.deny.get(case.tool.name) {
        let why = Reason::new(format!("{who} denies {} below it (PP_DENY).", case.tool.name));
        return Verdict::Deny(if is_unnamed(who) { why.in_our_words() } else { why });
    }
    match mandate.wrong.first() {
        Some(wrong) if case.tool.effect != Effect::Reply => {
            Verdict::Ask(Reason::new(format!("What a heading above it rules cannot be read: {wrong}.")))
        }
        Some(_) | None => Verdict::pass(),
    }
}

/// Judges by the level of the tool. What it says is made of the tool's name and of words of ours.
fn by_level(case: &Case<'_>) -> Verdict {
    let name = case.tool.name;
    let set = case.scope.permissions.iter().find(|(tool, _)| tool.eq_ignore_ascii_case(name)).map(|(_, level)| *level);
    let ours = |text: String| Reason::new(text).in_our_words();
    match set.unwrap_or_else(|| default_level(case.tool)) {
        Level::Allow => Verdict::pass(),
        Level::Auto if matches!(case.tool.effect, Effect::Custom(Class::Write | Class::Execute)) => {
            Verdict::Ask(ours(format!("Nobody but you knows what {name} would do, so auto asks.")))
        }
        Level::Auto => Verdict::Pass(Some(ours(format!("{name} is judged by what it would do.")))),
        Level::Ask => Verdict::Ask(ours(match set {
            Some(_) => format!("You set {name} to ask."),
            None => format!("By default {name} asks first."),
        })),
        Level::Deny => Verdict::Deny(ours(format!("You set {name} to deny."))),
    }
}
