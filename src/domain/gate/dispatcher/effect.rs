//! Checks on what an action does: commands, connections, and what cannot easily be taken back.

use super::Evidence;
use crate::domain::action::texts;
use crate::domain::gate::facts::{EditFact, WallsFact};
use crate::domain::gate::lisp::Found;
use crate::domain::gate::place::{self, Zone};
use crate::domain::gate::shell::{Concern, Harm, Matter};
use crate::domain::gate::unruled::{Unruled, unruled};
use crate::domain::gate::{Case, Reason, Verdict, reach};
use crate::domain::label::{Privacy, Provenance};
use crate::domain::policy::loosening::SKILL;
use crate::domain::scope::Level;
use crate::domain::setting::{Stand, stand};
use crate::domain::tool::{CONFIRM, Class, Effect, RESTORE, SET_CASCADE};
use crate::domain::web;

/// Passes commands that read only, denies what cannot be meant, asks about the rest.
pub(super) fn shell_safety(evidence: &Evidence<'_>) -> Verdict {
    verdict(evidence.concerns.iter().filter(|concern| concern.matter == Matter::Effect))
}

/// Asks about what connects; denies what would carry secrets out.
pub(super) fn exfiltration(evidence: &Evidence<'_>) -> Verdict {
    let connects =
        verdict(evidence.concerns.iter().filter(|concern| matches!(concern.matter, Matter::Network | Matter::Leak)));
    match reaches(evidence).or_else(|| own_reaches(evidence)) {
        Some(reaches) if reaches.severity() > connects.severity() => reaches,
        Some(Verdict::Ask(reaches)) => match connects {
            // Both are said: what connects, and which hosts it would find.
            Verdict::Ask(connects) => Verdict::Ask(Reason::new(format!("{} {}", reaches.text, connects.text))),
            Verdict::Pass(_) | Verdict::Deny(_) => connects,
        },
        Some(_) | None => connects,
    }
}

/// Asks about the hosts that a command names, whatever they are; denies what is none, and what private notes led to.
fn reaches(evidence: &Evidence<'_>) -> Option<Verdict> {
    let case = evidence.case;
    if case.tool.effect != Effect::Execute {
        return None;
    }
    let hosts = match reach::wanted(case.action.args()) {
        Ok(hosts) if hosts.is_empty() => return None,
        Ok(hosts) => hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        Err(why) => {
            let instead = "Name each host exactly, such as “example.org” or “example.org:8443”.";
            return Some(Verdict::Deny(Reason::instead(format!("It would reach the network: {why}."), instead)));
        }
    };
    let labels = case.action.labels();
    let privacy = labels.privacy.max(case.facts.privacy.unwrap_or(Privacy::Open));
    if privacy == Privacy::Private {
        let why = format!("Private notes led to this, and it would reach {hosts}.");
        return Some(Verdict::Deny(Reason::instead(why, "Do it in a conversation that has read no private note.")));
    }
    let mut why = format!("It would reach {hosts}.");
    if privacy == Privacy::Ask {
        why.push_str(" Notes that you want to be asked about led to it.");
    }
    if matches!(labels.provenance, Provenance::Web | Provenance::Agent | Provenance::Gateway) {
        why.push_str(" Text from outside is part of this turn and may have named them.");
    }
    Some(Verdict::Ask(Reason::new(why)))
}

/// Asks about the hosts that a tool of the user's own is given and no rule of theirs names, and about one that sends
/// something and names no host, unless they allowed it by its name.
fn own_reaches(evidence: &Evidence<'_>) -> Option<Verdict> {
    let case = evidence.case;
    let Effect::Custom(class) = case.tool.effect else { return None };
    let named = case.tool.hosts.iter().filter_map(|name| case.action.args().get(*name)).flat_map(texts);
    let (mut any, mut why) = (false, Vec::new());
    for text in named {
        any = true;
        why.extend(asked_host(text, &case.scope.hosts));
    }
    if class == Class::Network && !any && !is_allowed(case) {
        why.push("Something may leave this machine, and nothing says which host would learn of it.".to_string());
    }
    why.dedup();
    (!why.is_empty()).then(|| Verdict::Ask(Reason::new(why.join(" "))))
}

/// Returns whether the user set the tool's level to allow.
fn is_allowed(case: &Case<'_>) -> bool {
    let set = case.scope.permissions.iter().find(|(tool, _)| tool.eq_ignore_ascii_case(case.tool.name));
    set.is_some_and(|(_, level)| *level == Level::Allow)
}

/// Returns why a host would have to be asked about, given as an address or by its name; `None` when a rule names it.
fn asked_host(text: &str, rules: &[String]) -> Option<String> {
    let text = text.trim();
    let address = if text.contains("://") { text.to_string() } else { format!("https://{text}") };
    match web::host_of(&address) {
        Ok(host) if web::is_allowed(&host, rules) => None,
        Ok(host) => Some(format!("{host} would learn that this was asked for.")),
        Err(words) => Some(format!("Which host would be asked is not clear: {words}.")),
    }
}

fn verdict<'a>(concerns: impl Iterator<Item = &'a Concern>) -> Verdict {
    let mut concerns: Vec<&Concern> = concerns.collect();
    concerns.sort_by_key(|concern| std::cmp::Reverse(concern.harm));
    let Some(worst) = concerns.first() else { return Verdict::pass() };
    let text = concerns.iter().take(4).map(|concern| concern.why.as_str()).collect::<Vec<_>>().join(" ");
    match worst.harm {
        Harm::Catastrophic => Verdict::Deny(Reason::instead(text, "Say what it is for, and choose a smaller step.")),
        Harm::Dangerous | Harm::Moderate | Harm::Unknown => Verdict::Ask(Reason::new(text)),
    }
}

/// Asks about what reaches far: files that run later, places outside, Lisp that is not pure, whatever could
/// not be found out.
pub(super) fn high_impact(evidence: &Evidence<'_>) -> Verdict {
    let case = evidence.case;
    let mut why: Vec<String> = case.facts.unknown.clone();
    match &case.facts.walls {
        Some(WallsFact::Nothing(missing)) if matches!(case.tool.effect, Effect::Execute | Effect::Evaluate) => {
            let text = format!("Commands cannot be confined on this machine: {missing}.");
            return Verdict::Deny(Reason::instead(
                text,
                "The user can ask the doctor what to do: passepartout doctor.",
            ));
        }
        Some(WallsFact::Fewer(missing)) if matches!(case.tool.effect, Effect::Execute | Effect::Evaluate) => {
            if reach::wanted(case.action.args()).is_ok_and(|hosts| !hosts.is_empty()) {
                let text = format!("Hosts can be reached only from namespaces, and there are none: {missing}.");
                return Verdict::Deny(Reason::instead(text, "Do without the network."));
            }
            why.push(format!(
                "It would run without namespaces ({missing}): it could learn which files there are, and what it starts \
                 would outlive a crash of Emacs."
            ));
        }
        Some(WallsFact::All | WallsFact::Fewer(_) | WallsFact::Nothing(_)) | None => {}
    }
    if case.action.tool() == RESTORE {
        // What goes back is worked out by merging: a human sees it first, whatever the rules allow.
        why.push("It takes back what was done to files.".to_string());
    }
    match case.tool.effect {
        Effect::WriteFile | Effect::EditOrg => {
            let named = case.facts.paths.iter().map(|path| path.resolved.as_str());
            let edited = case.facts.edits.iter().map(|edit| edit.file.as_str());
            for file in named.chain(edited).chain(case.facts.puts.iter().map(|put| put.file.as_str())) {
                why.extend(written(evidence, file));
            }
            why.extend(case.facts.edits.iter().chain(&case.facts.put_texts).filter_map(changes_rules));
            why.extend(leaves_rules(case));
            let property = case.action.text("property").unwrap_or("").to_ascii_uppercase();
            if property.starts_with("PP_") {
                why.push(format!("{property} decides what Passepartout may do."));
            }
        }
        Effect::Evaluate => {
            why.extend(
                evidence
                    .lisp
                    .iter()
                    .filter(|found| !matches!(found, Found::Unreadable(_)))
                    .take(4)
                    .map(|found| found.why().to_string()),
            );
        }
        Effect::Send if case.action.tool() == CONFIRM => {
            why.push(match case.action.text("name").is_some_and(|name| name.starts_with(SKILL)) {
                true => "It decides which skills steer the model and tighten what may happen.".to_string(),
                false => "It would let more happen without asking you.".to_string(),
            });
        }
        Effect::Configure if case.action.tool() == SET_CASCADE => {
            why.push(
                "It decides which models are asked, and so to whom what you ask and your notes are sent.".to_string(),
            );
        }
        Effect::Configure => why.push(match case.facts.setting.as_ref().map(|setting| stand(&setting.option).0) {
            Some(Stand::Guards(what)) => format!("It changes a setting that guards {what}."),
            Some(Stand::May | Stand::Never(_)) => "It changes a setting of yours.".to_string(),
            None => "What it would change was not found out.".to_string(),
        }),
        Effect::Send => why.push("Something would leave this machine.".to_string()),
        Effect::Commit => why.push("A commit stays in the history of the project.".to_string()),
        Effect::Fetch => why.extend(fetched(evidence)),
        Effect::Custom(Class::Write | Class::Execute) => {
            why.extend(case.facts.paths.iter().filter_map(|path| written(evidence, &path.resolved)));
        }
        Effect::Reply
        | Effect::Delegate
        | Effect::ReadMemory
        | Effect::ReadFile
        | Effect::ReadEditor
        | Effect::ShowInEditor
        | Effect::Execute
        | Effect::Custom(Class::Pure | Class::Read | Class::Network) => {}
    }
    why.dedup();
    if why.is_empty() {
        return Verdict::pass();
    }
    Verdict::Ask(Reason::new(why.join(" ")))
}

/// Returns why a host would have to be asked about: every one that no rule of the user names.
fn fetched(evidence: &Evidence<'_>) -> Vec<String> {
    let case = evidence.case;
    let asked = case.tool.hosts.iter().filter_map(|name| case.action.text(name));
    let mut why = Vec::new();
    for text in asked {
        why.extend(match web::host_of(text) {
            Ok(_) => asked_host(text, &case.scope.hosts),
            Err(words) => Some(format!("Which host would be asked is not clear: {words}.")),
        });
    }
    why
}

/// Returns whether the high-impact check asks of a case only because of where a file stands.
pub(super) fn is_routine(evidence: &Evidence<'_>) -> bool {
    let case = evidence.case;
    let files = matches!(case.tool.effect, Effect::WriteFile | Effect::EditOrg) && case.action.tool() != RESTORE;
    let property = case.action.text("property").unwrap_or("").to_ascii_uppercase();
    files
        && case.facts.unknown.is_empty()
        && !property.starts_with("PP_")
        && case.facts.edits.iter().all(|edit| changes_rules(edit).is_none())
        && leaves_rules(case).is_empty()
}

fn written(evidence: &Evidence<'_>, file: &str) -> Option<String> {
    let scope = evidence.case.scope;
    if let Some(why) = place::guarded(file, scope) {
        return Some(format!("“{file}”: {why}."));
    }
    match place::zone(file, scope) {
        Zone::Project | Zone::Memex | Zone::Own => None,
        Zone::Home | Zone::Scratch | Zone::System => Some(format!("“{file}” lies outside memex and project.")),
    }
}

/// Returns what edits take out from under rules that stay where they are.
fn leaves_rules(case: &Case<'_>) -> Vec<String> {
    let edits: Vec<EditFact> = case.facts.edits.iter().chain(&case.facts.put_texts).cloned().collect();
    match unruled(&edits, &case.scope.private_tags) {
        Ok(found) => found
            .into_iter()
            .take(4)
            .map(|Unruled { name, rule }| {
                let what = name.map_or("A private heading".to_string(), |name| format!("“{name}”"));
                format!("{what} would leave what {rule} forbids above it, which loosens.")
            })
            .collect(),
        Err(_) => {
            vec!["Whether it takes headings from under rules was not found out: a file is too large.".to_string()]
        }
    }
}

/// Returns in words that an edit changes lines that rule; `None` when it leaves them as they are.
pub fn changes_rules(edit: &EditFact) -> Option<String> {
    let rules = |text: &str| {
        text.lines()
            .filter(|line| {
                let line = line.trim_start().to_ascii_uppercase();
                // A property of a heading, or of a whole file.
                let key = line.strip_prefix("#+PROPERTY:").map(str::trim_start).or_else(|| line.strip_prefix(':'));
                key.is_some_and(|key| key.starts_with("PP_"))
            })
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    let before = edit.before.as_deref().unwrap_or("");
    (rules(before) != rules(&edit.after)).then(|| format!("It changes rules (PP_…) in “{}”.", edit.file))
}
