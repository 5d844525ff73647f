//! Acts of a rule's own shape, at its own place, that it must not let pass: the harmless act with one thing wrong.
//!
//! First the harmless act itself must pass by the rule: else the others would be held by not fitting it, which says nothing.

use crate::domain::action::Action;
use crate::domain::gate::clearance::ask_all;
use crate::domain::gate::facts::{EditFact, FileKind, PathFact, PathForm, QuoteFact, QuotedNote, WallsFact};
use crate::domain::gate::facts::{RedirectFact, RedirectKind, Word};
use crate::domain::gate::standard::standard;
use crate::domain::gate::{Case, Facts, Trace};
use crate::domain::label::{Labels, Privacy, Provenance};
use crate::domain::policy::learned::{Learned, TELLING};
use crate::domain::scope::{Level, Scope};
use crate::domain::signal::Sensor;
use crate::domain::tool::{Effect, Kind, Tool, Toolbox};
use serde_json::{Map, Value, json};

/// A name that nothing has.
const NAME: &str = "canary";
/// Says why, as every action must.
const WHY: &str = "A canary that is judged and never carried out.";

/// An act that is judged and never carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The tool.
    pub tool: &'static Tool,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// Why it would be done.
    pub why: String,
    /// What led to it.
    pub labels: Labels,
    /// What would have been found out.
    pub facts: Facts,
}

/// What came of trying a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// How many acts there were, the harmless one among them.
    pub count: usize,
    /// Those that the rule would let pass, or that could not be tried.
    pub open: Vec<String>,
}

/// Returns where a rule is tried: where its tool asks, so that the rule is needed.
pub fn ground(rule: &Learned, tool: &Tool, scope: &Scope) -> Scope {
    let mut scope = scope.clone();
    scope.permissions.retain(|name, _| !name.eq_ignore_ascii_case(tool.name));
    scope.permissions.insert(tool.name.to_string(), Level::Ask);
    if tool.effect == Effect::Execute {
        scope.project.clone_from(&rule.place);
    }
    Scope { may_see: Privacy::Private, ..scope }
}

/// Makes the harmless act that a rule was learned for. Of a command, what it would do must still be found out.
///
/// # Errors
/// When the shape is none that this tool can have.
pub fn sample(rule: &Learned, tool: &'static Tool) -> Result<Sample, String> {
    let (mut args, mut name) = (Map::new(), NAME.to_string());
    if tool.effect == Effect::Execute {
        let words = rule.shape.words.iter().map(|word| match word.as_str() {
            "<path>" => format!("{NAME}.txt"),
            word => format!("'{}'", word.replace('\'', "'\\''")),
        });
        args.insert("command".to_string(), Value::String(words.collect::<Vec<_>>().join(" ")));
        return Ok(Sample { tool, args, why: WHY.to_string(), labels: Labels::USER, facts: Facts::default() });
    }
    let mut paths = Vec::new();
    for word in &rule.shape.words {
        if let Some(known) = word.strip_prefix("name=") {
            name = known.replace('*', NAME);
            continue;
        }
        let (arg, value) = word.split_once('=').map_or((word.as_str(), None), |(arg, value)| (arg, Some(value)));
        let param = tool.params.iter().find(|param| param.name == arg);
        let param = param.ok_or_else(|| format!("{} has no argument “{arg}”", tool.name))?;
        if tool.paths.contains(&arg) {
            paths.push(arg.to_string());
        }
        let value = match (value, param.kind) {
            (Some(value), _) => json!(value),
            (None, Kind::Text) => json!(NAME),
            (None, Kind::OneOf(words)) => json!(words.first()),
            (None, Kind::Number { least, .. }) => json!(least),
            (None, Kind::Flag) => json!(true),
            (None, Kind::Texts { .. }) => json!([NAME]),
        };
        args.insert(arg.to_string(), value);
    }
    let file = match tool.effect {
        Effect::EditOrg => rule.place.clone(),
        // A rule for what runs by itself names that very file.
        _ if name.starts_with('/') => name,
        _ => format!("{}/{name}", rule.place.trim_end_matches('/')),
    };
    let mut facts = Facts::default();
    for arg in paths {
        args.insert(arg.clone(), json!(file));
        facts.paths.push(path(arg, &file));
    }
    if matches!(tool.effect, Effect::EditOrg | Effect::WriteFile) {
        facts.edits.push(edit(&file, "* Canary\n", "* Canary\nIt sings.\n"));
    }
    Ok(Sample { tool, args, why: WHY.to_string(), labels: Labels::USER, facts })
}

fn path(arg: String, file: &str) -> PathFact {
    PathFact {
        arg,
        asked: file.to_string(),
        resolved: file.to_string(),
        kind: FileKind::File,
        size: 9,
        links: 1,
        content: None,
        open: false,
        form: PathForm::Plain,
        shared: true,
        identity: None,
        folder: None,
    }
}

fn edit(file: &str, before: &str, after: &str) -> EditFact {
    let (file, before, after) = (file.to_string(), Some(before.into()), after.into());
    EditFact { file, before, after, diff: String::new(), by_setup: Default::default() }
}

/// Judges the harmless act, which the rule must let pass, and each canary, which it must not.
///
/// `answers` says whether the rule answers all that gates ask of a case. Only the gates of every session judge: what a skill
/// holds back today it may let go tomorrow.
pub fn tried(sample: &Sample, scope: &Scope, toolbox: &Toolbox, answers: &dyn Fn(&Case<'_>, &Trace) -> bool) -> Tried {
    let gates = standard(Vec::new());
    let passes = |one: &Sample| -> Result<bool, String> {
        let args = one.args.clone();
        let action = Action::new(toolbox, one.tool.name, args, Some(&one.why), one.labels).map_err(|wrong| wrong.0)?;
        let case = Case { action: &action, tool: one.tool, scope, facts: &one.facts, set_off: Sensor::UserInput };
        let trace = ask_all(&gates, &case);
        Ok(match trace.strictest().map(|opinion| opinion.verdict.severity()) {
            Some(0) => true,
            Some(1) => answers(&case, &trace),
            Some(_) | None => false,
        })
    };
    let mut tried = Tried { count: 1, ..Tried::default() };
    if passes(sample) != Ok(true) {
        tried.open.push("what it was learned for does not pass by it, so nothing could be tried".to_string());
    }
    for (what, spoilt) in spoilt(sample, scope) {
        tried.count += 1;
        match passes(&spoilt) {
            Ok(false) => {}
            Ok(true) => tried.open.push(what.to_string()),
            Err(why) => tried.open.push(format!("{what}: it could not be tried ({why})")),
        }
    }
    tried
}

/// Returns the act with one thing wrong, each time another.
fn spoilt(sample: &Sample, scope: &Scope) -> Vec<(&'static str, Sample)> {
    let mut all = Vec::new();
    let mut with = |what: &'static str, spoil: &dyn Fn(&mut Sample)| {
        let mut one = sample.clone();
        spoil(&mut one);
        if one != *sample {
            all.push((what, one));
        }
    };
    let token = ["ghp_", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"].concat();
    with("a key in its words", &|one| one.why.push_str(&token));
    with("a key in its text", &|one| {
        let texts = one.tool.params.iter().filter(|param| param.kind == Kind::Text);
        let free = texts.filter(|param| !TELLING.contains(&param.name) && !one.tool.paths.contains(&param.name));
        for param in free.filter(|param| param.name != "command") {
            if let Some(value) = one.args.get_mut(param.name) {
                *value = json!(token);
            }
        }
    });
    with("a value of the vault", &|one| one.facts.vault.push("content".to_string()));
    with("a private heading", &|one| one.facts.privacy = Some(Privacy::Private));
    with("a heading to ask about", &|one| one.facts.privacy = Some(Privacy::Ask));
    with("what private notes led to", &|one| one.labels.privacy = Privacy::Private);
    with("what text from outside led to", &|one| one.labels = Labels::untrusted(Provenance::Web, Privacy::Open));
    with("words of a private note", &|one| {
        let note = QuotedNote { title: NAME.to_string(), tag: NAME.to_string(), privacy: Privacy::Private };
        one.facts.quotes.push(QuoteFact { place: NAME.to_string(), note });
    });
    with("what is not all known", &|one| one.facts.unknown.push("It is not known.".to_string()));
    with("what was not looked at", &|one| one.facts.unsurveyed = true);
    with("what is not certain", &|one| one.facts.doubts.push("It is not certain.".to_string()));
    with("what cannot be undone", &|one| one.facts.not_undoable = Some("It cannot.".to_string()));
    with("what a heading denies", &|one| {
        one.facts.mandate.deny.insert(one.tool.name.to_string(), NAME.to_string());
    });
    with("a heading that cannot be read", &|one| one.facts.mandate.wrong.push(NAME.to_string()));
    with("another place", &|one| {
        let elsewhere = |file: &mut String| *file = format!("/elsewhere{file}");
        one.facts.paths.iter_mut().for_each(|path| elsewhere(&mut path.resolved));
        one.facts.edits.iter_mut().for_each(|edit| elsewhere(&mut edit.file));
    });
    with("a file with a second name", &|one| one.facts.paths.iter_mut().for_each(|path| path.links = 2));
    with("a name known only at run time", &|one| {
        one.facts.paths.iter_mut().for_each(|path| path.form = PathForm::Expands);
    });
    with("a file that runs by itself", &|one| {
        let guarded = |file: &str| file.rsplit_once('/').map(|(folder, name)| format!("{folder}/.git/hooks/{name}"));
        let facts = &mut one.facts;
        // The place of notes is one file: another one would be another place.
        for path in facts.paths.iter_mut().filter(|_| one.tool.effect != Effect::EditOrg) {
            path.resolved = guarded(&path.resolved).unwrap_or_default();
        }
        for edit in facts.edits.iter_mut().filter(|_| one.tool.effect != Effect::EditOrg) {
            edit.file = guarded(&edit.file).unwrap_or_default();
        }
    });
    let texts = |before: String, after: &'static str| {
        move |one: &mut Sample| {
            for edit in &mut one.facts.edits {
                (edit.before, edit.after) = (Some(before.as_str().into()), after.into());
            }
        }
    };
    const RULED: &str = "* Rules\n:PROPERTIES:\n:PP_DENY: shell\n:END:\n";
    with("a line that rules", &texts("* Canary\n".to_string(), "* Canary\n:PROPERTIES:\n:PP_ALLOW: shell\n:END:\n"));
    if sample.facts.edits.iter().any(|edit| crate::domain::org::is_org(&edit.file)) {
        with(
            "a heading that leaves what rules it",
            &texts(format!("{RULED}** Canary\n"), "* Rules\n:PROPERTIES:\n:PP_DENY: shell\n:END:\n* Canary\n"),
        );
        with("Lisp that runs by itself", &texts("* Canary\n".to_string(), "* Canary\n%%(delete-file \"x\")\n"));
        let tag = scope.private_tags.first().map(|tag| tag.tag.trim_matches(':').to_string());
        if let Some(tag) = tag {
            with("a heading that is private no longer", &texts(format!("* Canary :{tag}:\n"), "* Canary\n"));
        }
    }
    if sample.tool.effect == Effect::Execute {
        commands(&mut with);
    }
    all
}

/// Adds a sample in which one thing is wrong, with its name.
type With<'a> = dyn FnMut(&'static str, &dyn Fn(&mut Sample)) + 'a;

/// Adds what may be wrong with a command alone.
fn commands(with: &mut With) {
    fn script(one: &mut Sample) -> Option<&mut crate::domain::gate::facts::ScriptFact> {
        one.facts.shell.as_mut()?.scripts.first_mut()
    }
    with("fewer walls", &|one| one.facts.walls = Some(WallsFact::Fewer(NAME.to_string())));
    with("something left running", &|one| script(one).into_iter().for_each(|script| script.background = true));
    with("a part that cannot be read", &|one| {
        script(one).into_iter().for_each(|script| script.unknown.push(NAME.to_string()));
    });
    with("a second command", &|one| {
        script(one).into_iter().for_each(|script| script.commands.extend(script.commands.first().cloned()));
    });
    with("a script inside", &|one| {
        one.facts.shell.iter_mut().for_each(|shell| shell.scripts.extend(shell.scripts.first().cloned()));
    });
    with("a file that is written", &|one| {
        let target = Some(Word { raw: NAME.to_string(), value: Some(NAME.to_string()), ..Word::default() });
        let redirect = RedirectFact { kind: RedirectKind::Write, target, pipeline: 0 };
        script(one).into_iter().for_each(|script| script.redirects.push(redirect.clone()));
    });
    with("an assignment before it", &|one| {
        let set = ("LD_PRELOAD".to_string(), Word::default());
        let command = script(one).and_then(|script| script.commands.first_mut());
        command.into_iter().for_each(|command| command.assignments.push(set.clone()));
    });
    with("a file elsewhere", &|one| {
        let command = script(one).and_then(|script| script.commands.first_mut());
        let words = command.into_iter().flat_map(|command| command.words.iter_mut().skip(1));
        for word in words.filter(|word| !word.resolved.is_empty()) {
            word.resolved = vec!["/elsewhere/canary.txt".to_string()];
        }
    });
}

#[cfg(test)]
mod tests;
