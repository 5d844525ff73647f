//! Checks on files: secret ones are never touched, our own never without a human.

use super::Evidence;
use crate::domain::gate::facts::{FileKind, PathFact, PathForm};
use crate::domain::gate::place::{self, Zone};
use crate::domain::gate::shell::Matter;
use crate::domain::gate::{Case, Reason, Verdict};
use crate::domain::tool::{Class, Effect, RESTORE, writes_skills};

/// Denies secret files; asks about names that do not say which file is meant.
pub(super) fn secret_path(evidence: &Evidence<'_>) -> Verdict {
    let case = evidence.case;
    if let Some(verdict) = unsurveyed(case) {
        return verdict;
    }
    let mut verdict = Verdict::pass();
    for path in &case.facts.paths {
        verdict = verdict.stricter(one(case, path));
    }
    for edit in case.facts.edits.iter().filter(|edit| writable_skill(case, &edit.file).is_none()) {
        if let Some(why) = place::secret(&edit.file, case.scope) {
            verdict = verdict.stricter(Verdict::Deny(Reason::new(format!("“{}” is out of bounds: {why}.", edit.file))));
        }
    }
    for concern in evidence.concerns.iter().filter(|concern| concern.matter == Matter::Secret) {
        let reason = Reason::instead(concern.why.clone(), "Leave out what names secrets.");
        verdict = verdict.stricter(if concern.harm >= crate::domain::gate::shell::Harm::Catastrophic {
            Verdict::Deny(reason)
        } else {
            Verdict::Ask(reason)
        });
    }
    verdict
}

/// Returns the name of the user's own skill that a file is, where the tool is one that may write it. Those that write
/// skills write nothing else, and what they wrote can be taken back.
fn writable_skill<'a>(case: &Case<'a>, file: &'a str) -> Option<&'a str> {
    let may = writes_skills(case.tool.name) || case.tool.name == RESTORE;
    place::own_skill(file, case.scope).filter(|_| may)
}

/// A path that was not looked up is not harmless.
fn unsurveyed(case: &Case<'_>) -> Option<Verdict> {
    let missing = case
        .tool
        .paths
        .iter()
        .find(|arg| case.action.text(arg).is_some() && !case.facts.paths.iter().any(|path| path.arg == **arg))?;
    Some(Verdict::Deny(Reason::new(format!("Which file “{missing}” means was not found out."))))
}

fn one(case: &Case<'_>, path: &PathFact) -> Verdict {
    let asked: String = path.asked.chars().take(120).collect();
    let names = [path.resolved.as_str(), path.asked.as_str()];
    let prose = path.asked.split_whitespace().count() > 3;
    if path.form == PathForm::Web {
        return match case.tool.effect {
            Effect::ReadFile => Verdict::Pass(Some(Reason::new("It is an address of the web: it names no file here."))),
            _ => Verdict::Ask(Reason::new(format!("“{asked}” is an address of the web, not a file."))),
        };
    }
    let by_place = place::secret(&path.resolved, case.scope).filter(|_| writable_skill(case, &path.resolved).is_none());
    let by_name = names.iter().find_map(|name| place::secret_name(name));
    if let Some(why) = by_place.or(by_name).filter(|_| !prose) {
        return Verdict::Deny(Reason::new(format!("“{asked}” is out of bounds: {why}.")));
    }
    let why = match (path.form, path.kind) {
        (PathForm::Remote, _) => "it lies on another machine, in a container, or belongs to another user",
        (PathForm::Expands, _) => "which file it means is known only at run time",
        (PathForm::Deceptive, _) => "it holds characters that hide which file it means",
        (PathForm::Unresolved, _) => "where it leads could not be found out",
        (_, FileKind::Unknown) => "what it is could not be found out",
        (_, FileKind::Special) if !harmless_device(&path.resolved) => "it is a device, a pipe or a socket",
        _ if path.resolved.starts_with("/dev/") && !harmless_device(&path.resolved) => "it is a device",
        _ if path.links > 1 && path.kind == FileKind::File => "the same file has another name as well (a hard link)",
        _ if place::of_another(&path.resolved, case.scope) => "it lies in the home of another user",
        _ if !inside(case, path) && place::kept_by_a_program(&path.resolved, case.scope) => {
            "a program keeps its settings or data there, and often keys with them"
        }
        _ if private_here(case, path) => "only its owner may read it, and it lies as keys and accounts lie in a home",
        _ if elsewhere(case, path) => "only its owner may read it, and it lies outside memex and project",
        (
            PathForm::Plain | PathForm::Web,
            FileKind::Missing | FileKind::File | FileKind::Folder | FileKind::Special,
        ) => {
            return Verdict::pass();
        }
    };
    Verdict::Ask(Reason::new(format!("“{asked}”: {why}.")))
}

fn harmless_device(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/zero" | "/dev/random" | "/dev/urandom")
}

/// Outside memex and project, only what everybody on the machine may read is read unasked.
fn elsewhere(case: &Case<'_>, path: &PathFact) -> bool {
    !inside(case, path) && !path.shared && path.kind != FileKind::Missing
}

/// A project has files that are named like those of a home as examples; one that others may not read is no example.
fn private_here(case: &Case<'_>, path: &PathFact) -> bool {
    inside(case, path) && !path.shared && path.kind == FileKind::File && place::lies_as_in_a_home(&path.resolved)
}

fn inside(case: &Case<'_>, path: &PathFact) -> bool {
    matches!(place::zone(&path.resolved, case.scope), Zone::Project | Zone::Memex)
}

/// Denies or asks about changes to Passepartout itself, and denies commands that reach for it.
pub(super) fn self_build(evidence: &Evidence<'_>) -> Verdict {
    let case = evidence.case;
    if let Some(concern) = evidence.concerns.iter().find(|concern| concern.matter == Matter::Own) {
        return Verdict::Deny(Reason::new(concern.why.clone()));
    }
    let writes =
        matches!(case.tool.effect, Effect::WriteFile | Effect::EditOrg | Effect::Custom(Class::Write | Class::Execute));
    let touched = case
        .facts
        .paths
        .iter()
        .map(|path| path.resolved.as_str())
        .chain(case.facts.edits.iter().map(|edit| edit.file.as_str()))
        .chain(case.facts.puts.iter().map(|put| put.file.as_str()));
    let mut skill = None;
    for file in touched.filter(|_| writes) {
        if let Some(name) = writable_skill(case, file) {
            skill.get_or_insert(name);
            continue;
        }
        if writes_skills(case.tool.name) {
            return Verdict::Deny(Reason::new(format!("“{file}” is no skill of the user's own.")));
        }
        if place::zone(file, case.scope) == Zone::Own {
            return Verdict::Deny(Reason::new(format!("“{file}” belongs to Passepartout itself.")));
        }
        if is_ours(file) {
            let why = format!("“{file}” is part of Passepartout's own program or skills.");
            return if case.scope.self_build {
                Verdict::Ask(Reason::new(why))
            } else {
                Verdict::Deny(Reason::instead(why, "The user can allow it with SELF_BUILD_MODE."))
            };
        }
    }
    skill.map_or(Verdict::pass(), |name| {
        Verdict::Ask(Reason::new(format!(
            "The skill {name} would be written: skills say what models are told, and what they may not do."
        )))
    })
}

/// Returns whether a file is part of the agent's program, wherever its tree lies.
fn is_ours(file: &str) -> bool {
    let lower = file.to_lowercase();
    let parts: Vec<&str> = lower.split('/').collect();
    let base = parts.last().copied().unwrap_or("");
    let named =
        base.starts_with("passepartout") && (base.ends_with(".el") || base.ends_with(".so") || base.ends_with(".elc"));
    let core = base.starts_with("core-")
        && (base.ends_with(".org") || base.ends_with(".lisp"))
        && parts.contains(&"passepartout");
    let skill = parts.windows(2).any(|pair| {
        pair == ["passepartout", "skills"] || pair == ["passepartout", "src"] || pair == ["passepartout", "lisp"]
    });
    named || core || skill || base == "rules.org" && parts.contains(&"passepartout")
}
