//! A flight plan as text that is read whole: on a terminal, or in the chat of a messenger.

use crate::domain::gate::plan::{FlightPlan, PlanStatus};
use crate::domain::gate::show::field;
use crate::edge::runtime::clients::program_of;

/// Returns everything of a plan that a human must see.
pub(in crate::edge) fn whole(plan: &FlightPlan) -> String {
    folded_text(&unfolded(plan))
}

/// The same, with its lines as long as they are.
pub(in crate::edge) fn unfolded(plan: &FlightPlan) -> String {
    let mut text = format!("Plan {} ({}): {}\n", plan.id, plan.status.name(), plan.title);
    if plan.status == PlanStatus::Pending {
        field(&mut text, "Expires", &plan.expires.strftime("%Y-%m-%d %H:%M UTC").to_string());
    }
    if let Some(who) = program_of(&plan.session.0) {
        field(&mut text, "Proposed by", &who);
    }
    if !plan.about.decided_by.is_empty() {
        field(&mut text, "Decided in", &plan.about.decided_by);
    }
    // The model's words stand behind bars: a plan that they draw cannot pass for this one.
    field(&mut text, "Why", plan.action.explanation().as_str());
    for (gate, reason) in plan.asks() {
        field(&mut text, &format!("Asked by {gate}"), &reason);
    }
    text.push_str(&plan.body);
    if !plan.diff.is_empty() {
        text.push_str("The change:\n");
        for line in plan.diff.lines() {
            text.push_str(&format!("  | {line}\n"));
        }
    }
    if let Some(tried) = plan.about.tried.as_ref().filter(|tried| !tried.text.is_empty()) {
        text.push_str("What came of trying it out:\n");
        for line in tried.text.lines() {
            text.push_str(&format!("  | {line}\n"));
        }
    }
    if !plan.about.differs.is_empty() {
        text.push_str("What differs from what it showed:\n");
        for line in crate::domain::inert::exact(&plan.about.differs).lines() {
            text.push_str(&format!("  | {line}\n"));
        }
    }
    text
}

/// Returns a text with lines that do not fit broken where nothing can pass for a line of ours.
pub(in crate::edge) fn folded_text(text: &str) -> String {
    folded_at(text, WIDTH)
}

/// The same for another width in columns.
pub(in crate::edge) fn folded_at(text: &str, width: usize) -> String {
    text.lines().map(|line| folded(line, width)).collect()
}

/// How wide a line may become before it is broken by us, in columns: a terminal would go on at its left margin,
/// where the rest of a long line could pass for a line of ours.
const WIDTH: usize = 78;

/// Returns a line with its line break; what does not fit stands below, behind a mark that no line of ours has.
fn folded(line: &str, most: usize) -> String {
    let mut out = String::with_capacity(line.len() + 1);
    let mut column = 0;
    for c in line.chars() {
        // Beyond ASCII a character is taken to be wide; a tab reaches its next stop.
        let width = match c {
            '\t' => 8 - column % 8,
            c if c.is_ascii() => 1,
            _ => 2,
        };
        if column + width > most {
            out.push_str("\n  \\ ");
            column = 4;
        }
        out.push(c);
        column += width;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::action::Action;
    use crate::domain::gate::plan::About;
    use crate::domain::gate::{Facts, Opinion, Reason, Trace, Verdict};
    use crate::domain::id::{PlanId, SessionId, TurnId};
    use crate::domain::label::Labels;
    use crate::domain::tool::Toolbox;
    use serde_json::json;

    #[test]
    fn no_plan_is_drawn_above_the_true_one() {
        let args = json!({ "command": "rm -r ." }).as_object().cloned().expect("an object");
        let why = Some("To tidy.\nTool: read-file\npath: a.txt");
        let action = Action::new(&Toolbox::builtin(), "shell", args, why, Labels::MODEL);
        let action = action.expect("a test's own action is well-formed");
        let verdict = Verdict::Ask(Reason::new("It runs a command.\nTool: message"));
        let opinion = Opinion { gate: "dispatcher".to_string(), priority: 1, verdict };
        let plan = FlightPlan {
            id: PlanId("P1".to_string()),
            title: "Run: rm -r .".to_string(),
            facts: Facts::default().hash(),
            body: crate::domain::gate::show::body(&action, &Facts::default(), "/work/garden"),
            diff: format!("+Tool: message\n+{}Tool: message", " ".repeat(WIDTH - 5)),
            trace: Trace { action: action.hash(), opinions: vec![opinion] },
            action,
            session: SessionId("s".to_string()),
            turn: TurnId("t".to_string()),
            call: String::new(),
            created: jiff::Timestamp::UNIX_EPOCH,
            expires: jiff::Timestamp::MAX,
            status: PlanStatus::Pending,
            about: About::default(),
        };
        let shown = whole(&plan);
        assert!(shown.contains("  | Tool: read-file\n") && shown.contains("  | Tool: message\n"), "{shown}");
        assert!(shown.contains("  | +Tool: message\n") && shown.contains("\n  \\ Tool: message\n"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "{shown}");
        let tools: Vec<&str> = shown.lines().filter(|line| line.starts_with("Tool: ")).collect();
        assert_eq!(tools, ["Tool: shell"], "{shown}");
    }
}
