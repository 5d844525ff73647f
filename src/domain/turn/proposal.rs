//! Reads what a model said into calls, and puts what gates and acts came to into words for it.

use crate::domain::action::{Action, Outcome};
use crate::domain::gate::title::title;
use crate::domain::gate::{Facts, Trace, Verdict};
use crate::domain::label::Privacy;
use crate::domain::port::{Call, Completion};
use crate::domain::tool::Effect;
use crate::domain::turn::written;
use std::collections::BTreeSet;

/// Returns the words and the calls of a completion. `Err` says to the model why what it wrote is neither.
///
/// Native calls win; without one, text that begins with property lists is read as calls; anything else is words.
/// What was thought is never looked at.
pub fn parse(completion: &Completion) -> Result<(String, Vec<Call>), String> {
    if !completion.calls.is_empty() {
        return Ok((completion.text.clone(), named(&completion.calls)));
    }
    match written::read(&completion.text) {
        Some(written) => written.map(|written| (written.words, written.calls)),
        None => Ok((completion.text.clone(), Vec::new())),
    }
}

/// Reads a text that is written as a proposal; `None` when it is none. `Err` says what is wrong with it.
pub fn written(text: &str) -> Option<Result<(String, Vec<Call>), String>> {
    written::read(text).map(|read| read.map(|written| (written.words, written.calls)))
}

/// Gives every call of an answer a name of its own: a result is tied to its call by nothing else.
fn named(calls: &[Call]) -> Vec<Call> {
    let given: BTreeSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    let mut taken = BTreeSet::new();
    let mut fresh = (1_usize..).map(|n| format!("call-{n}")).filter(|name| !given.contains(name.as_str()));
    let own = |call: &Call| !call.id.trim().is_empty();
    let one = |call: &Call| {
        let id = Some(call.id.clone()).filter(|id| own(call) && taken.insert(id.clone()));
        Call { id: id.or_else(|| fresh.next()).unwrap_or_default(), ..call.clone() }
    };
    calls.iter().map(one).collect()
}

/// Returns an action as the log and the records of acts may name it: of a private one the tool, and which heading
/// or file, but none of the text.
pub fn logged(action: &Action, facts: &Facts) -> String {
    // A model reads the log: words that text from outside may have put in an action's mouth stay out of it as well.
    match (action.labels().privacy.max(facts.strictest()), action.led()) {
        (Privacy::Open | Privacy::Warn, None) => title(action, facts),
        (Privacy::Ask | Privacy::Private, _) | (Privacy::Open | Privacy::Warn, Some(_)) => bare(action),
    }
}

/// Returns the tool of an action, and which heading or file it is about, but none of the text.
pub fn bare(action: &Action) -> String {
    match ["path", "id", "parent", "file"].iter().find_map(|name| action.text(name)) {
        Some(place) => format!("{} {}", action.tool(), bare_place(place)),
        None => action.tool().to_string(),
    }
}

/// Returns a file or an id without words of a note: an id made of titles is cut to its file.
fn bare_place(place: &str) -> String {
    let (place, cut) = match place.split_once("::*") {
        Some((file, _)) => (file, "::*…"),
        None => (place, ""),
    };
    // What is neither an id nor a path may be anything that the model wrote.
    let word = !place.contains(char::is_whitespace) || place.starts_with(['/', '~']);
    match word {
        true => format!("{}{cut}", place.chars().filter(|c| !c.is_control()).take(120).collect::<String>()),
        false => "…".to_string(),
    }
}

/// What is told in the place of words that whoever is told may not see.
const WITHHELD: &str = "It is about something private, and the user alone is told what.";

/// Returns a rejection with every objection. When it is `withheld` from whoever is told what the action is about, only
/// words of our own tables are said: a gate's reason may quote it.
pub fn rejection(trace: &Trace, withheld: bool) -> String {
    let mut lines = vec!["Refused. Nothing was done.".to_string()];
    for opinion in &trace.opinions {
        let (Verdict::Deny(reason) | Verdict::Ask(reason)) = &opinion.verdict else { continue };
        let (text, instead) = match !withheld || reason.ours {
            true => (reason.text.as_str(), reason.instead.as_deref()),
            false => (WITHHELD, None),
        };
        let instead = instead.map(|words| format!(" Instead: {words}")).unwrap_or_default();
        lines.push(format!("- {} ({}): {text}{instead}", opinion.gate, opinion.verdict.name()));
    }
    lines.join("\n")
}

/// Returns what an act came to, for the model and the trace.
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done(text) => text.clone(),
        Outcome::Failed(text) => format!("failed: {text}"),
        Outcome::Stale(text) => format!("stale: {text}"),
        Outcome::Cancelled(text) => format!("cancelled: {text}"),
    }
}

/// Returns what is said of a command that ended by itself.
pub fn exited(status: i32) -> String {
    format!("Exit status {status}.")
}

/// Returns whether what follows an act may go on: it was done, and a command ended with status 0.
pub fn went_well(effect: Option<Effect>, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Done(text) => effect != Some(Effect::Execute) || text.starts_with(&exited(0)),
        Outcome::Failed(_) | Outcome::Stale(_) | Outcome::Cancelled(_) => false,
    }
}

/// Returns a human's no, for the model.
pub fn denial(reason: &str) -> String {
    match reason.trim() {
        "" => "denied: the user said no. Nothing was done.".to_string(),
        reason => format!("denied: the user said no: {reason}. Nothing was done."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::label::Labels;
    use crate::domain::tool::Toolbox;
    use serde_json::{Value, json};

    #[test]
    fn of_a_private_act_only_tool_and_place_are_logged() {
        let logged = |tool: &str, args: Value, privacy| {
            let args = args.as_object().cloned().expect("an object");
            let action =
                Action::new(&Toolbox::builtin(), tool, args, Some("a test"), Labels::USER).expect("well-formed");
            logged(&action, &Facts { privacy: Some(privacy), ..Facts::default() })
        };
        let add = json!({"title": "Salary", "parent": "/m/pay.org::*Pay/Salary", "body": "5000"});
        let cases = [
            ("org-add-heading", add.clone(), Privacy::Private, "org-add-heading /m/pay.org::*…"),
            ("org-add-heading", add, Privacy::Open, "Add “Salary” under “/m/pay.org::*Pay/Salary”"),
            ("org-set-todo", json!({"id": "2f1e7c1a", "state": "DONE"}), Privacy::Private, "org-set-todo 2f1e7c1a"),
            ("org-set-todo", json!({"id": "my salary", "state": "DONE"}), Privacy::Private, "org-set-todo …"),
            (
                "write-file",
                json!({"path": "/m/my pay.org", "content": "5"}),
                Privacy::Private,
                "write-file /m/my pay.org",
            ),
            ("memory-search", json!({"query": "salary"}), Privacy::Private, "memory-search"),
            ("shell", json!({"command": "grep salary x"}), Privacy::Private, "shell"),
        ];
        for (tool, args, privacy, expected) in cases {
            assert_eq!(logged(tool, args, privacy), expected);
        }
    }
}
