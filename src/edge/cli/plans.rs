//! Flight plans on a terminal: shown whole, approved only by a human whose terminal the agent did not start.

use crate::domain::gate::plan::{FlightPlan, PlanStatus};
use crate::edge::cli::terminal;
use crate::edge::runtime::clients::program_of;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};

/// A plan with which step of its decision it is, from 1, and how many steps that has.
type Step = ((usize, usize), FlightPlan);

/// Returns the plans in lines as they stand at a time, or as JSON.
pub fn list(plans: &[Step], now: jiff::Timestamp, as_json: bool) -> String {
    if as_json {
        return format!("{}\n", json!({ "plans": plans.iter().map(|(_, plan)| self::json(plan)).collect::<Vec<_>>() }));
    }
    if plans.is_empty() {
        return "No plan waits.\n".to_string();
    }
    plans.iter().map(|step| line(step, now)).collect()
}

fn line(((step, of), plan): &Step, now: jiff::Timestamp) -> String {
    let mut text = format!("{}  {:<9} {}\n", plan.id, plan.status.name(), plan.title);
    if plan.status == PlanStatus::Pending {
        let which = if *of > 1 { format!("step {step} of {of}, ") } else { String::new() };
        let (age, left) = (now.duration_since(plan.created), plan.expires.duration_since(now));
        let (badge, age, left) = (plan.about.badge.name(), span(age), span(left));
        let by = program_of(&plan.session.0).map_or(String::new(), |who| format!(", proposed by {who}"));
        text.push_str(&format!("         {which}{badge}, waits for {age}, expires in {left}{by}\n"));
    }
    text
}

/// Returns a span of time in its largest unit.
fn span(time: jiff::SignedDuration) -> String {
    let minutes = time.as_mins().max(0);
    match minutes {
        0..60 => format!("{minutes} min"),
        60..2880 => format!("{} h", minutes / 60),
        _ => format!("{} days", minutes / 1440),
    }
}

/// Returns a plan as JSON.
pub fn json(plan: &FlightPlan) -> Value {
    json!({
        "id": plan.id.0, "status": plan.status.name(), "title": plan.title, "tool": plan.action.tool(), "args": plan.action.args(),
        "why": plan.action.explanation().as_str(), "asked_by": plan.asks(), "body": plan.body, "diff": plan.diff,
        "badge": plan.about.badge.name(), "step": plan.about.step, "differs": plan.about.differs,
        "proposed_by": program_of(&plan.session.0), "decided_in": plan.about.decided_by, "shown": plan.shown(), "created": plan.created.to_string(), "expires": plan.expires.to_string(),
    })
}

/// Shows a text a page at a time, and asks the human who has seen all of it to type the plan's name; nothing else
/// approves, nor does what was typed before the question.
///
/// # Errors
/// When the terminal cannot be read or written.
pub fn confirmed(text: &str, id: &str, out: &mut dyn Write) -> std::io::Result<bool> {
    if !terminal::page_through(text, out)? {
        return Ok(false);
    }
    let question = format!("\nType {id} to approve exactly this, anything else to leave it: ");
    Ok(terminal::answer(out, &question)?.is_some_and(|line| line.eq_ignore_ascii_case(id)))
}

/// Whether a human sits at this terminal: both ends are a terminal, and no process above us was started by the agent.
///
/// # Errors
/// In words, when it is not so or cannot be found out.
pub fn human_terminal() -> Result<(), String> {
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Err("plans are decided about in Emacs or at a terminal, and here what is typed or what is shown is not one; xargs \
                    leaves it the terminal with -o".to_string());
    }
    crate::edge::peers::lineage::not_started_by_us(std::process::id())
        .map_err(|why| format!("this terminal may not decide about plans: {why}, so nothing is approved here"))
}
