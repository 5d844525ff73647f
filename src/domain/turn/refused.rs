//! What was refused in a turn, as short lines for the user: they stand beside the answer and are no part of it.

use crate::domain::action::Action;
use crate::domain::gate::{Facts, Trace, Verdict, dispatcher};
use crate::domain::id::ActionHash;
use crate::domain::label::Privacy;
use crate::domain::turn::report::{Deed, TurnReport};

/// What a deed came to that gates denied.
pub(super) const DENIED: &str = "refused";
/// What stands before the reason why a call is no action at all.
pub(super) const UNREADABLE: &str = "refused: ";
/// What stands before the reason why nothing was done that gates had let pass.
const CHANGED: &str = "stale: ";

/// At most so many refusals of a turn are told one by one.
const MOST: usize = 5;
/// A reason is cut after so many characters.
const LONGEST: usize = 160;

/// Something that a model wanted in a turn and that was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What it was and why not, in one line of bounded length.
    pub text: String,
    /// The action, for asking why; `None` for what is no action at all.
    pub action: Option<ActionHash>,
}

/// Returns what was refused in a turn and what failed closed, in its order, each of it once. Of what was no action at all
/// nothing is told that the notice of the turn says already; what gates denied is told in any case, because a notice may
/// quote a model. Of more than a few the last line has the number.
pub fn refused(report: &TurnReport) -> Vec<Refused> {
    let notice = report.notice.as_deref().unwrap_or_default();
    let mut lines: Vec<Refused> = Vec::new();
    for (at, deed) in report.deeds.iter().enumerate() {
        let later = report.deeds.get(at + 1..).unwrap_or_default();
        let is_new = |why: &String| deed.trace.is_some() || !notice.contains(why.as_str());
        let Some(why) = why(deed, later).filter(is_new) else { continue };
        // Of a call that is no action the reason names all that is known of it.
        let text = match deed.trace {
            Some(_) => format!("{} — {why}", line(&deed.summary)),
            None => why,
        };
        if !lines.iter().any(|known| known.text == text) {
            lines.push(Refused { text, action: deed.trace.as_ref().map(|trace| trace.action) });
        }
    }
    match lines.len().checked_sub(MOST) {
        None | Some(0) => {}
        Some(more) => {
            lines.truncate(MOST);
            lines.push(Refused { text: format!("and {more} more; the gate trace has them all"), action: None });
        }
    }
    lines
}

/// Returns why a deed was not done; `None` for what was done, what waits, and what a human decided.
fn why(deed: &Deed, later: &[Deed]) -> Option<String> {
    match (&deed.trace, deed.outcome.as_str()) {
        (Some(trace), DENIED) => Some(denial(trace, deed.bare)),
        // What became of a plan stands with the plan.
        (Some(_), outcome) if deed.plan.is_none() => outcome.strip_prefix(CHANGED).map(line),
        (None, outcome) => {
            // A call with a slip in it that the model mended is nobody's concern.
            let mended = later.iter().any(|other| other.tool == deed.tool && other.trace.is_some());
            outcome.strip_prefix(UNREADABLE).filter(|_| !mended).map(|why| sentence(&line(why)))
        }
        (Some(_), _) => None,
    }
}

/// Returns the first sentence of the first gate that denied; the rest is for whoever asks why. Of what is `bare` only
/// words of our own tables are told, or else which gate it was.
fn denial(trace: &Trace, bare: bool) -> String {
    let mut denied = trace.opinions.iter().filter_map(|opinion| match &opinion.verdict {
        Verdict::Deny(reason) => Some((opinion, reason)),
        Verdict::Pass(_) | Verdict::Ask(_) => None,
    });
    let first = denied.clone().next();
    let text = match (denied.find(|(_, reason)| reason.ours || !bare), first) {
        (Some((_, reason)), _) => reason.text.as_str(),
        (None, Some((opinion, _))) => return format!("The gate {} denies it.", line(&opinion.gate)),
        (None, None) => "No gate let it pass.",
    };
    sentence(&line(dispatcher::unnamed(text.lines().next().unwrap_or_default())))
}

/// Returns the first sentence of a text. A full stop in what is quoted ends none.
fn sentence(text: &str) -> String {
    let mut quoted = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '“' => quoted += 1,
            '”' => quoted = quoted.saturating_sub(1),
            '.' if quoted == 0 && text.get(at + 1..).is_some_and(|rest| rest.starts_with(' ')) => {
                return text.get(..=at).unwrap_or(text).to_string();
            }
            _ => {}
        }
    }
    text.to_string()
}

fn line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST) {
        None => text,
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default().trim_end()),
    }
}

/// Returns whether a refused action is more private than its conversation: then it is told there without words that it
/// was made of.
pub(super) fn is_bare(action: &Action, facts: &Facts, conversation: Privacy) -> bool {
    action.labels().privacy.max(facts.strictest()) > conversation
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::gate::{Opinion, Reason};
    use crate::domain::id::PlanId;
    use crate::domain::turn::report::Conversation;

    fn deed(tool: &str, summary: &str, reason: Option<&str>, outcome: &str) -> Deed {
        let opinion = |gate: &str, verdict| Opinion { gate: gate.to_string(), priority: 1, verdict };
        let trace = reason.map(|reason| Trace {
            action: ActionHash::new([7; 32]),
            opinions: vec![
                opinion("permissions", Verdict::Ask(Reason::new("By default it asks."))),
                opinion("dispatcher", Verdict::Deny(Reason::new(reason))),
            ],
        });
        let (tool, summary, outcome) = (tool.to_string(), summary.to_string(), outcome.to_string());
        Deed { tool, summary, trace, outcome, plan: None, bare: false }
    }

    fn told(notice: Option<&str>, deeds: Vec<Deed>) -> Vec<String> {
        let notice = notice.map(str::to_string);
        let report = TurnReport { notice, deeds, ..TurnReport::of(Conversation::empty()) };
        refused(&report).into_iter().map(|refused| refused.text).collect()
    }

    #[test]
    fn each_refusal_is_one_short_line_and_stands_there_once() {
        let wipe = || {
            deed(
                "shell",
                "Run: rm -rf ~",
                Some("shell safety: It deletes all. It is no reader.\nself-build: It is ours."),
                DENIED,
            )
        };
        assert_eq!(told(None, vec![wipe(), wipe()]), ["Run: rm -rf ~ — It deletes all."]);
        // A notice may quote a model, which could say that sentence itself.
        let quoting = "The last reason:\nThere is no tool “It deletes all.”.";
        assert_eq!(told(Some(quoting), vec![wipe()]), ["Run: rm -rf ~ — It deletes all."]);
        let quoted = deed("read-file", "Read a. b", Some("“a. b” is out of bounds: it is ours. Ask."), DENIED);
        assert_eq!(told(None, vec![quoted]), ["Read a. b — “a. b” is out of bounds: it is ours."]);
        let long = deed("shell", "Run: a\nb", Some(&"word ".repeat(100)), DENIED);
        let [text] = <[String; 1]>::try_from(told(None, vec![long])).expect("one line");
        assert!(text.starts_with("Run: a b — word word") && text.ends_with("word…") && text.len() < 200, "{text}");
    }

    #[test]
    fn of_what_is_more_private_than_the_conversation_the_words_of_gates_stay_out() {
        let private = |reason| Deed { bare: true, ..deed("memory-read", "memory-read diary", Some(reason), DENIED) };
        assert_eq!(
            told(None, vec![private("It is of “HIV test”.")]),
            ["memory-read diary — The gate dispatcher denies it."]
        );
        let mut ours = private("It is of “HIV test”.");
        let verdict = Verdict::Deny(Reason::new("You set memory-read to deny.").in_our_words());
        let opinion = Opinion { gate: "permissions".to_string(), priority: 1, verdict };
        ours.trace.as_mut().expect("a trace").opinions.push(opinion);
        assert_eq!(told(None, vec![ours]), ["memory-read diary — You set memory-read to deny."]);
    }

    #[test]
    fn what_was_done_what_waits_and_what_a_human_decided_is_no_refusal() {
        let plan = |deed| Deed { plan: Some(PlanId("P1".to_string())), ..deed };
        let fine = |outcome| deed("shell", "Run: ls", Some("x"), outcome);
        let deeds = vec![
            fine("Exit status 0."),
            fine("failed: there is no such file"),
            plan(fine("waits for approval")),
            plan(fine("denied: the user said no. Nothing was done.")),
            plan(fine("stale: it has changed")),
        ];
        assert_eq!(told(None, deeds), [""; 0]);
        assert_eq!(told(None, vec![fine("stale: it has changed.")]), ["Run: ls — it has changed."]);
    }

    #[test]
    fn a_call_that_is_no_action_is_told_unless_it_was_mended() {
        let bad = |tool| deed(tool, "", None, "refused: There is no tool “fly”. There are: a, b.");
        assert_eq!(told(None, vec![bad("fly")]), ["There is no tool “fly”."]);
        assert_eq!(told(Some("Refused. The last reason:\nThere is no tool “fly”. There"), vec![bad("fly")]), [""; 0]);
        assert_eq!(told(None, vec![bad("shell"), deed("shell", "Run: ls", Some("x"), "Exit status 0.")]), [""; 0]);
    }

    #[test]
    fn of_many_refusals_the_last_line_has_the_number() {
        let many = (0..9).map(|n| deed("shell", &format!("Run: {n}"), Some("No."), DENIED)).collect();
        let lines = told(None, many);
        assert_eq!(lines.len(), MOST + 1);
        assert_eq!(lines.last().map(String::as_str), Some("and 4 more; the gate trace has them all"));
    }
}
