//! Gate: what the archivist's jobs (scribe, gardener) propose stays housekeeping.
//!
//! The scribe distils and the gardener looks after notes while nobody looks on: in runs of jobs and hooks, when the skill
//! `archivist` is at work. They may read memory and edit notes; nothing else is theirs to propose, and nothing else is what
//! the clock alone sets off. They take nothing away, whoever asks them to.

use crate::domain::gate::facts::EditFact;
use crate::domain::gate::{Case, Gate, Reason, Verdict};
use crate::domain::label::Provenance;
use crate::domain::signal::Sensor;
use crate::domain::tool::Effect;

/// The skill whose runs are housekeeping.
pub const SKILL: &str = "archivist";

/// Judges what the clock alone sets off.
pub struct Archivist;

/// Judges what is proposed while the skill is at work; it stands among the gates of its turns alone.
pub struct ArchivistAtWork;

impl Gate for Archivist {
    fn name(&self) -> &str {
        "archivist"
    }

    fn priority(&self) -> u16 {
        100
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        if case.set_off != Sensor::Heartbeat {
            return Verdict::Pass(Some(Reason::new("Not proposed by the archivist.")));
        }
        housekeeping(case)
    }
}

impl Gate for ArchivistAtWork {
    fn name(&self) -> &str {
        "archivist at work"
    }

    fn priority(&self) -> u16 {
        100
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        if let Some(file) = case.facts.edits.iter().chain(&case.facts.put_texts).find(|edit| takes_away(edit)) {
            return Verdict::Deny(Reason::instead(
                format!("The archivist deletes nothing, and lines of {} would go.", file.file),
                "Say in words what could go; the user decides about it.",
            ));
        }
        match case.tool.effect {
            _ if case.set_off.is_of_job() => housekeeping(case),
            Effect::EditOrg | Effect::WriteFile => Verdict::Ask(Reason::new("The archivist proposes, and you decide.")),
            _ => Verdict::Pass(Some(Reason::new("Somebody looks on: it is no run of a job or a hook."))),
        }
    }
}

/// Returns whether fewer headings, or fewer lines that say something, would stand in a file than before.
fn takes_away(edit: &EditFact) -> bool {
    let headings = |text: &str| text.lines().filter(|line| is_headline(line)).count();
    let lines = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count();
    let before = edit.before.as_deref().unwrap_or_default();
    headings(&edit.after) < headings(before) || lines(&edit.after) < lines(before)
}

fn is_headline(line: &str) -> bool {
    line.trim_start_matches('*').starts_with(' ') && line.starts_with('*')
}

fn housekeeping(case: &Case<'_>) -> Verdict {
    match case.tool.effect {
        // A web page or a mail that steers housekeeping is no housekeeping.
        Effect::EditOrg if matches!(case.action.labels().provenance, Provenance::Web | Provenance::Gateway) => {
            Verdict::Ask(Reason::new("Text from outside led to this change of notes."))
        }
        Effect::Reply | Effect::ReadMemory | Effect::EditOrg => Verdict::pass(),
        Effect::ReadFile
        | Effect::ReadEditor
        | Effect::WriteFile
        | Effect::Commit
        | Effect::Delegate
        | Effect::Configure
        | Effect::ShowInEditor
        | Effect::Execute
        | Effect::Evaluate
        | Effect::Send
        | Effect::Fetch
        | Effect::Custom(_) => Verdict::Deny(Reason::instead(
            format!("The archivist keeps notes; {} is not part of that.", case.tool.name),
            "Propose an edit of an Org file.",
        )),
    }
}
