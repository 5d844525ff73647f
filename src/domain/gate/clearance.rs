//! The only file that can clear an action.
//!
//! `Cleared` has private fields and no other constructor, and is consumed by the actuator:
//! "no action without gates" and "one clearance, one act" hold at compile time.

use crate::domain::action::Action;
use crate::domain::gate::dispatcher::shows_what_asks;
use crate::domain::gate::plan::{Approval, asks};
use crate::domain::gate::shell::{self, Harm, Matter};
use crate::domain::gate::{Case, Facts, Gates, Opinion, Reason, Trace, Verdict, reach, secret};
use crate::domain::label::{Privacy, Trust};
use crate::domain::scope::Scope;
use crate::domain::tool::Effect;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An action that may happen now, once.
#[derive(Debug)]
pub struct Cleared {
    action: Action,
    facts: Facts,
    scope: Scope,
    trace: Trace,
    rule: Option<String>,
    lets_in: bool,
}

impl Cleared {
    /// Returns the action.
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// Returns what was found out when it was judged.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns what the turn may see and touch.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns the name of the rule that answered what the gates asked, if one did.
    pub fn rule(&self) -> Option<&str> {
        self.rule.as_deref()
    }

    /// Returns what the gates said.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns whether a human approved that a model elsewhere is shown what asks first. The scope lets it be seen then.
    pub fn lets_in(&self) -> bool {
        self.lets_in
    }
}

/// Leave to try a command out, once, in a throw-away copy of its project, for the human who decides about it.
/// It clears no act: what performs takes a [`Cleared`], and what tries takes nothing else than this.
#[derive(Debug)]
pub struct Rehearsal {
    command: String,
    scope: Scope,
}

impl Rehearsal {
    /// Returns the command.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Returns what the turn may see and touch.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }
}

/// Returns leave to try a command out that gates ask about and none denies, when all that speaks against it is known and
/// moderate.
///
/// # Errors
/// Why it may not be tried, in words.
pub fn may_rehearse(case: &Case<'_>, trace: &Trace) -> Result<Rehearsal, &'static str> {
    if case.tool.effect != Effect::Execute || trace.action != case.action.hash() {
        return Err("it is no command that was judged");
    }
    if trace.strictest().map(|opinion| opinion.verdict.severity()) != Some(1) {
        return Err("a gate denies it, or none asks");
    }
    if !case.facts.unknown.is_empty() {
        return Err("not all that it touches could be found out");
    }
    if case.action.labels().trust == Trust::Untrusted {
        return Err("text from outside is part of this turn and may have led to it, so it is not even tried");
    }
    let concerns = shell::examine(case.facts.shell.as_ref(), case.scope);
    let beyond = |matter| matches!(matter, Matter::Own | Matter::Network | Matter::Leak | Matter::Secret);
    let hosts = reach::wanted(case.action.args());
    if hosts.is_err() || hosts.is_ok_and(|hosts| !hosts.is_empty()) || concerns.iter().any(|c| beyond(c.matter)) {
        return Err("it reaches for the network, secrets or the agent itself, and none of these is there in a trial");
    }
    for concern in &concerns {
        match concern.harm {
            Harm::Moderate => {}
            Harm::Unknown => return Err("not all that it may do is known, so it is not even tried"),
            Harm::Dangerous | Harm::Catastrophic => {
                return Err("it may do more than moderate harm, so it is not even tried");
            }
        }
    }
    let command = case.action.text("command").ok_or("there is no command")?.to_string();
    Ok(Rehearsal { command, scope: case.scope.clone() })
}

/// What judging came to.
#[derive(Debug)]
pub enum Judgement {
    /// It may happen.
    Cleared(Box<Cleared>),
    /// A human must see it first.
    Parked(Trace),
    /// It must not happen.
    Rejected(Trace),
}

/// Runs all gates on a case and combines their verdicts by the strictest.
///
/// A gate that panics denies. A mandatory gate that is missing denies, and so does an empty stack.
/// An approval covers exactly the asks that were shown to the human, on exactly the action and facts that were shown;
/// it never overrides a denial. Where nobody was asked, a rule that the user confirmed may answer what the permissions
/// gate and the high-impact check ask, and nothing else.
pub fn judge(gates: &Gates, case: Case<'_>, approval: Option<Approval>) -> Judgement {
    let trace = ask_all(gates, &case);
    let verdict = trace.strictest().map(|opinion| opinion.verdict.severity());
    let cleared = |trace: Trace, rule: Option<String>, lets_in: bool| {
        let may_see = if lets_in { Privacy::Ask } else { case.scope.may_see };
        Judgement::Cleared(Box::new(Cleared {
            action: case.action.clone(),
            facts: case.facts.clone(),
            scope: Scope { may_see, ..case.scope.clone() },
            trace,
            rule,
            lets_in,
        }))
    };
    match verdict {
        Some(0) => cleared(trace, None, false),
        Some(1) => match approval {
            Some(approval) if covers(&approval, &case, &trace) => {
                let lets_in = shows_what_asks(&case);
                cleared(trace, None, lets_in)
            }
            Some(_) => Judgement::Parked(trace),
            None => match answered(gates, &case, &trace) {
                Some(rule) => cleared(trace, Some(rule), false),
                None => Judgement::Parked(trace),
            },
        },
        _ => Judgement::Rejected(trace),
    }
}

/// Runs all gates on a case and returns what they said; clears nothing.
pub fn ask_all(gates: &Gates, case: &Case<'_>) -> Trace {
    let mut opinions: Vec<Opinion> = gates
        .iter()
        .map(|gate| {
            let broken = || Reason::new("The gate failed, and a gate that fails denies.").in_our_words();
            let verdict =
                catch_unwind(AssertUnwindSafe(|| masked(gate.judge(case)))).unwrap_or_else(|_| Verdict::Deny(broken()));
            Opinion { gate: gate.name().to_string(), priority: gate.priority(), verdict }
        })
        .collect();
    for name in gates.missing() {
        let why = Reason::new("This gate is not loaded, so nothing may happen.");
        let verdict = Verdict::Deny(why.in_our_words());
        opinions.insert(0, Opinion { gate: name.to_string(), priority: u16::MAX, verdict });
    }
    if opinions.is_empty() {
        let why = Reason::new("No gates are loaded, so nothing may happen.");
        let verdict = Verdict::Deny(why.in_our_words());
        opinions.push(Opinion { gate: "clearance".to_string(), priority: u16::MAX, verdict });
    }
    Trace { action: case.action.hash(), opinions }
}

/// Returns a verdict in whose reason no secret stands: reasons quote what was proposed, and go to logs and models.
fn masked(verdict: Verdict) -> Verdict {
    let clean = |reason: Reason| match reason.ours || secret::scan(&reason.text).is_empty() {
        true => reason,
        false => Reason { text: secret::mask(&reason.text).0, ..reason },
    };
    match verdict {
        Verdict::Pass(reason) => Verdict::Pass(reason.map(clean)),
        Verdict::Ask(reason) => Verdict::Ask(clean(reason)),
        Verdict::Deny(reason) => Verdict::Deny(clean(reason)),
    }
}

/// Returns the rule that answers all that was asked; one that breaks answers nothing.
fn answered(gates: &Gates, case: &Case<'_>, trace: &Trace) -> Option<String> {
    catch_unwind(AssertUnwindSafe(|| gates.answered_by(case, trace))).ok().flatten()
}

fn covers(approval: &Approval, case: &Case<'_>, trace: &Trace) -> bool {
    approval.action == case.action.hash()
        && approval.facts == case.facts.hash()
        && asks(trace).iter().all(|ask| approval.asks.contains(ask))
}
