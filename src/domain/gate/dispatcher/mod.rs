//! Gate: the twelve checks of what an action would do. All run; the strictest wins; each objection is named.

mod code;
mod effect;
mod place;
mod provenance;
mod text;

pub use effect::changes_rules;
pub use text::shows_what_asks;

use crate::domain::action::Action;
use crate::domain::gate::brought::{self, Brought};
use crate::domain::gate::live::Fresh;
use crate::domain::gate::secret::Certainty;
use crate::domain::gate::shell::{self, Concern};
use crate::domain::gate::validator::MAX_TEXT;
use crate::domain::gate::{Case, Gate, Reason, Verdict, lisp, secret};
use crate::domain::tool::{Effect, RESTORE};
use serde_json::Value;
use std::collections::BTreeMap;

/// What the checks share, found out once for an action.
pub(super) struct Evidence<'a> {
    case: &'a Case<'a>,
    /// What speaks against a shell command.
    concerns: Vec<Concern>,
    /// What speaks against Lisp that would be evaluated.
    lisp: Vec<lisp::Found>,
    /// What would run of the texts that it brings into files.
    live: Vec<Fresh<'a>>,
    /// Secrets in the arguments and in what would be written: where, and what was found.
    secrets: Vec<(Place, secret::Finding)>,
    /// Files of which too much changes to be searched for secrets.
    unsearched: Vec<&'a str>,
}

/// Where a secret stands.
enum Place {
    /// In an argument of this name, or in the explanation.
    Argument(String),
    /// In what this file would become.
    File(String),
}

/// One check.
type Check = fn(&Evidence<'_>) -> Verdict;

/// The one check whose asks a rule may answer.
const HIGH_IMPACT: &str = "high impact";

/// The checks, in the order in which they are shown.
const CHECKS: [(&str, Check); 12] = [
    ("REPL lint", code::repl_lint),
    ("Lisp", code::lisp),
    ("secret path", place::secret_path),
    ("self-build", place::self_build),
    ("content exposure", text::exposure),
    ("vault secrets", text::vault_secrets),
    ("privacy tags", text::privacy_tags),
    ("privacy text", text::privacy_text),
    ("shell safety", effect::shell_safety),
    ("network exfiltration", effect::exfiltration),
    (HIGH_IMPACT, effect::high_impact),
    ("provenance", provenance::provenance),
];

/// Runs the twelve checks.
pub struct Dispatcher;

impl Gate for Dispatcher {
    fn name(&self) -> &str {
        "dispatcher"
    }

    fn priority(&self) -> u16 {
        150
    }

    fn judge(&self, case: &Case<'_>) -> Verdict {
        let evidence = Evidence::gather(case);
        combine(CHECKS.iter().map(|(name, check)| (*name, check(&evidence))).collect())
    }
}

/// Returns an objection without the name of the check that raised it, for those who need not know our checks.
pub fn unnamed(objection: &str) -> &str {
    let named = CHECKS.iter().find_map(|(name, _)| objection.strip_prefix(name)?.strip_prefix(": "));
    named.unwrap_or(objection)
}

/// Returns whether the dispatcher asks of a case, denies nothing, and asks only by the high-impact check and only because
/// of where a file stands. Such asks may be answered by a rule; what any other check says never is.
pub fn asks_only_of_routine(case: &Case<'_>) -> bool {
    let evidence = Evidence::gather(case);
    CHECKS.iter().all(|(name, check)| match check(&evidence) {
        Verdict::Pass(_) => true,
        Verdict::Ask(_) => *name == HIGH_IMPACT && effect::is_routine(&evidence),
        Verdict::Deny(_) => false,
    })
}

impl<'a> Evidence<'a> {
    fn gather(case: &'a Case<'a>) -> Evidence<'a> {
        let concerns = match case.tool.effect {
            Effect::Execute => shell::examine(case.facts.shell.as_ref(), case.scope),
            Effect::Reply
            | Effect::Delegate
            | Effect::Configure
            | Effect::ReadMemory
            | Effect::ReadFile
            | Effect::EditOrg
            | Effect::WriteFile
            | Effect::Evaluate
            | Effect::Send
            | Effect::ReadEditor
            | Effect::Commit
            | Effect::ShowInEditor
            | Effect::Fetch
            | Effect::Custom(_) => Vec::new(),
        };
        let lisp = match case.tool.effect {
            Effect::Evaluate => lisp::examine(case.action.text("code").unwrap_or("(")),
            Effect::Reply
            | Effect::Delegate
            | Effect::Configure
            | Effect::ReadMemory
            | Effect::ReadFile
            | Effect::EditOrg
            | Effect::WriteFile
            | Effect::Execute
            | Effect::Send
            | Effect::ReadEditor
            | Effect::Commit
            | Effect::ShowInEditor
            | Effect::Fetch
            | Effect::Custom(_) => Vec::new(),
        };
        let parts = brought::brought(case.facts);
        let unsearched = brought::unsearched(&parts);
        Evidence { case, concerns, lisp, live: code::live(case), secrets: secrets(case.action, &parts), unsearched }
    }
}

/// Returns the secrets in every argument, at any depth, in the names of arguments, in the explanation, and those that the
/// arguments do not hold whole but files would.
fn secrets(action: &Action, parts: &[Brought<'_>]) -> Vec<(Place, secret::Finding)> {
    let mut found = Vec::new();
    let mut values: BTreeMap<String, Certainty> = BTreeMap::new();
    let mut look = |name: &str, text: &str| {
        if text.len() > MAX_TEXT {
            // The validator asks about it.
            return;
        }
        for finding in secret::scan(text) {
            let value = text.get(finding.range.clone()).unwrap_or("").to_string();
            let certainty = values.entry(value).or_insert(finding.certainty);
            *certainty = finding.certainty.max(*certainty);
            found.push((Place::Argument(name.to_string()), finding));
        }
    };
    look("explanation", action.explanation().as_str());
    for (name, value) in action.args() {
        let mut stack = vec![value];
        while let Some(value) = stack.pop() {
            match value {
                Value::String(text) => look(name, text),
                Value::Array(items) => stack.extend(items),
                Value::Object(map) => {
                    for (key, value) in map {
                        look(name, key);
                        stack.push(value);
                    }
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }
    for brought::Exposed { file, mut finding, value } in brought::secrets(parts) {
        if action.tool() == RESTORE {
            // It stood there before, and taking something back is shown to the user whatever the rules allow.
            finding.certainty = Certainty::Likely;
        }
        if values.get(value).is_none_or(|certainty| *certainty < finding.certainty) {
            found.push((Place::File(file.rsplit('/').next().unwrap_or(file).to_string()), finding));
        }
    }
    found
}

/// Combines verdicts by the strictest; the reason names every check that was as strict.
fn combine(verdicts: Vec<(&'static str, Verdict)>) -> Verdict {
    let worst = verdicts.iter().map(|(_, verdict)| verdict.severity()).max().unwrap_or(2);
    let mut texts = Vec::new();
    let mut instead = None;
    let mut ours = true;
    for (name, verdict) in &verdicts {
        if verdict.severity() != worst {
            continue;
        }
        if let Some(reason) = verdict.reason() {
            texts.push(format!("{name}: {}", reason.text));
            instead = instead.or_else(|| reason.instead.clone());
            ours &= reason.ours;
        }
    }
    let reason = Reason { instead, ours, ..Reason::new(texts.join("\n")) };
    match worst {
        0 if texts.is_empty() => Verdict::pass(),
        0 => Verdict::Pass(Some(reason)),
        1 => Verdict::Ask(reason),
        _ => Verdict::Deny(reason),
    }
}
