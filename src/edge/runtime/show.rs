//! What the engine knows, as messages of the protocol. Text that a client shows in Org is inert here.

use crate::domain::action::Action;
use crate::domain::count::counted;
use crate::domain::gate::Trace;
use crate::domain::gate::plan::{FlightPlan, PlanStatus};
use crate::domain::inert::{exact, inert};
use crate::domain::memory::view::View;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::turn::{Deed, proposal};
use crate::edge::doctor::Check;
use crate::edge::engine::record::Finished;
use crate::edge::log::Line;
use serde_json::Value;

/// How many decided plans a client is sent.
const DECIDED: usize = 50;

/// Returns the plans that wait or are being carried out, with the newest of the others; the order, oldest first, stays.
pub fn newest(plans: Vec<FlightPlan>) -> Vec<FlightPlan> {
    let open = |plan: &FlightPlan| matches!(plan.status, PlanStatus::Pending | PlanStatus::Approved);
    let mut surplus = plans.iter().filter(|plan| !open(plan)).count().saturating_sub(DECIDED);
    plans
        .into_iter()
        .filter(|plan| {
            let left_out = !open(plan) && surplus > 0;
            surplus -= usize::from(left_out);
            !left_out
        })
        .collect()
}

/// Returns a plan as clients show it.
pub fn plan(plan: &FlightPlan) -> Plist {
    let result = match &plan.status {
        PlanStatus::Pending | PlanStatus::Approved | PlanStatus::Expired => None,
        PlanStatus::Denied(words) | PlanStatus::Done(words) | PlanStatus::Failed(words) | PlanStatus::Stale(words) => {
            Some(exact(words))
        }
        PlanStatus::Replaced(by) => Some(format!("replaced by {by}")),
    };
    let asked = plan
        .asks()
        .into_iter()
        .map(|(gate, reason)| Sexp::list([Sexp::text(exact(&gate)), Sexp::text(exact(&reason))]));
    Plist::new()
        .text("id", plan.id.0.as_str())
        .text("status", plan.status.name())
        .text("shown", plan.shown())
        .text("session", plan.session.0.as_str())
        .text("turn", plan.turn.0.as_str())
        .text("tool", plan.action.tool())
        .text("title", exact(&proposal::summary(&plan.action)))
        .text("why", exact(plan.action.explanation().as_str()))
        .list("asked-by", asked)
        .text("body", plan.body.as_str())
        .text("diff", plan.diff.as_str())
        .list("args", arguments(&plan.action))
        .text("created", plan.created.to_string())
        .text("expires", plan.expires.to_string())
        .maybe("result", result)
}

/// The arguments as they are, for editing; numbers and flags as text.
fn arguments(action: &Action) -> Vec<Sexp> {
    let entry = |(name, value): (&String, &Value)| {
        let (kind, text) = match value {
            Value::String(text) => ("text", text.clone()),
            Value::Array(items) => ("texts", items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")),
            Value::Number(number) => ("number", number.to_string()),
            Value::Bool(flag) => ("flag", flag.to_string()),
            Value::Null | Value::Object(_) => ("text", String::new()),
        };
        Plist::new().text("name", name.as_str()).text("value", text).text("kind", kind).build()
    };
    action.args().iter().map(entry).collect()
}

/// Reads edited arguments back: `((:name N :value V :kind K)…)`.
pub fn read_arguments(entries: &[Sexp]) -> serde_json::Map<String, Value> {
    let mut args = serde_json::Map::new();
    for entry in entries {
        let (Some(name), text) = (entry.text_at("name"), entry.text_at("value").unwrap_or("")) else { continue };
        let value = match entry.name_at("kind") {
            Some("number") => text.trim().parse::<i64>().map(Value::from).unwrap_or_else(|_| Value::from(text)),
            Some("flag") => Value::Bool(text.trim() == "true"),
            Some("texts") => text.lines().map(Value::from).collect(),
            _ => Value::from(text),
        };
        args.insert(name.to_string(), value);
    }
    args
}

/// Returns what came of a turn, for `turn-done` and for the trace.
pub fn turn(finished: &Finished, view: &View) -> Plist {
    let report = &finished.report;
    let sources = report.sources.iter().filter_map(|id| view.get(id)).take(12).map(|node| {
        Plist::new()
            .maybe("id", node.document.outline.property(node.node(), "ID").map(exact))
            .text("title", exact(node.title()))
            .text("file", &*node.document.file)
            .int("line", i64::from(node.node().line))
            .build()
    });
    let (provider, model) = report.answered_by.clone().unzip();
    let cost = match provider.as_deref() {
        // Nothing is paid for what runs here; prices of others are not known in this version.
        Some("recall") => Some("0"),
        _ => None,
    };
    Plist::new()
        .text("turn", finished.turn.0.as_str())
        .text("session", finished.session.0.as_str())
        .text("at", finished.at.to_string())
        .text("asked", exact(&finished.asked))
        .text("status", report.ending.name())
        .maybe("text", report.notice.as_deref().map(inert))
        .maybe("model", model.map(|m| exact(&m)))
        .maybe("provider", provider.map(|p| exact(&p)))
        .int("tokens-in", report.usage.input as i64)
        .int("tokens-out", report.usage.output as i64)
        .maybe("cost", cost)
        .float("seconds", (finished.seconds * 1000.0).round() / 1000.0)
        .list("sources", sources)
        .list("trace", report.deeds.iter().map(deed))
        .texts("plans", report.plans.iter().map(|id| id.0.clone()))
        .texts("changed", report.changed.iter().cloned())
}

fn deed(deed: &Deed) -> Sexp {
    let verdict = deed.trace.as_ref().and_then(|trace| trace.strictest().map(|o| o.verdict.name())).unwrap_or("deny");
    Plist::new()
        .text("tool", exact(&deed.tool))
        .text("summary", exact(&deed.summary))
        .text("verdict", verdict)
        .text("outcome", exact(&first_lines(&deed.outcome)))
        .maybe("plan", deed.plan.as_ref().map(|id| id.0.clone()))
        .list("opinions", deed.trace.iter().flat_map(opinions))
        .build()
}

/// Returns every gate's verdict, highest priority first.
pub fn opinions(trace: &Trace) -> Vec<Sexp> {
    trace
        .opinions
        .iter()
        .map(|opinion| {
            Plist::new()
                .text("gate", opinion.gate.as_str())
                .int("priority", i64::from(opinion.priority))
                .text("verdict", opinion.verdict.name())
                .maybe("reason", opinion.verdict.reason().map(|reason| exact(&reason.text)))
                .build()
        })
        .collect()
}

/// Returns a line of the log.
pub fn line(line: &Line) -> Plist {
    Plist::new().text("level", line.level.name()).text("at", line.at.to_string()).text("text", exact(&line.text))
}

/// Returns one check of the doctor.
pub fn check(check: &Check) -> Sexp {
    Plist::new()
        .text("name", check.name)
        .text("title", check.title)
        .text("state", check.state.name())
        .text("detail", exact(&check.detail))
        .maybe("repair", check.repair.as_deref().map(exact))
        .flag("fix", check.fix)
        .build()
}

fn first_lines(text: &str) -> String {
    let mut lines = text.lines();
    let shown: Vec<&str> = lines.by_ref().take(12).collect();
    let more = lines.count();
    if more > 0 { format!("{}\n… and {} more", shown.join("\n"), counted(more, "line")) } else { shown.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::gate::Facts;
    use crate::domain::id::{PlanId, SessionId, TurnId};
    use crate::domain::label::Labels;
    use crate::domain::tool::Toolbox;

    #[test]
    fn of_decided_plans_the_newest_are_sent() {
        let args = serde_json::json!({ "command": "ls" }).as_object().cloned().expect("an object");
        let action = Action::new(&Toolbox::builtin(), "shell", args, Some("To look around."), Labels::USER);
        let action = action.expect("a test's own action is well-formed");
        let plans = (0..200u32).map(|n| FlightPlan {
            id: PlanId(n.to_string()),
            action: action.clone(),
            facts: Facts::default().hash(),
            body: String::new(),
            diff: String::new(),
            trace: Trace { action: action.hash(), opinions: Vec::new() },
            session: SessionId("s".to_string()),
            turn: TurnId("t".to_string()),
            call: String::new(),
            created: jiff::Timestamp::UNIX_EPOCH,
            expires: jiff::Timestamp::MAX,
            status: if n % 100 == 0 { PlanStatus::Pending } else { PlanStatus::Expired },
        });
        let sent: Vec<u32> = newest(plans.collect()).iter().filter_map(|plan| plan.id.0.parse().ok()).collect();
        assert_eq!(sent, [0, 100].into_iter().chain(150..200).collect::<Vec<_>>());
    }
}
