//! Checks on text: secrets in it, and what is private.

use super::Evidence;
use crate::domain::gate::disclosure::{loosened, opened, quoted};
use crate::domain::gate::facts::EditFact;
use crate::domain::gate::secret::Certainty;
use crate::domain::gate::{Case, Reason, Verdict, reach};
use crate::domain::label::{Privacy, Provenance};
use crate::domain::tool::{Class, Effect, is_user};

/// Denies what looks exactly like a secret, asks about what may be one, in any argument of any tool.
pub(super) fn exposure(evidence: &Evidence<'_>) -> Verdict {
    let Some((arg, finding)) = evidence.secrets.iter().max_by_key(|(_, finding)| finding.certainty) else {
        return Verdict::pass();
    };
    let others = match evidence.secrets.len() {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let why = format!("The argument “{arg}” seems to hold a secret: {}{others}.", finding.kind);
    let way = "Leave the secret out, or name where it is kept.";
    match finding.certainty {
        Certainty::Certain => Verdict::Deny(Reason::instead(why, way)),
        Certainty::Likely => Verdict::Ask(Reason::instead(why, way)),
    }
}

/// Denies when a value of the vault stands in a text that is shown, sent or written.
pub(super) fn vault_secrets(evidence: &Evidence<'_>) -> Verdict {
    match evidence.case.facts.vault.as_slice() {
        [] => Verdict::pass(),
        names => Verdict::Deny(Reason::new(format!("It holds the value of {}.", names.join(", ")))),
    }
}

/// Denies private text on its way out; asks before it stands where it is no longer private, and names the notes.
pub(super) fn privacy_tags(evidence: &Evidence<'_>) -> Verdict {
    let case = evidence.case;
    if case.facts.privacy == Some(Privacy::Private) && !case.scope.see_private {
        let reads = "It is private, and the model that would be shown it is not local.";
        match case.tool.effect {
            Effect::ReadMemory | Effect::ReadFile | Effect::ReadEditor => return Verdict::Deny(Reason::new(reads)),
            Effect::Execute => return Verdict::Deny(Reason::new(format!("A file that it names: {reads}"))),
            Effect::Custom(_) => return Verdict::Deny(Reason::new(format!("A file that it names: {reads}"))),
            Effect::Reply
            | Effect::EditOrg
            | Effect::WriteFile
            | Effect::Commit
            | Effect::ShowInEditor
            | Effect::Evaluate
            | Effect::Send
            | Effect::Fetch => {}
        }
    }
    let labelled = case.action.labels().privacy == Privacy::Private;
    let private = labelled || case.facts.privacy == Some(Privacy::Private);
    match case.tool.effect {
        Effect::Send | Effect::Fetch | Effect::Custom(Class::Network) if private => {
            Verdict::Deny(Reason::new("Private notes led to this, and it would leave the machine."))
        }
        Effect::Reply if private && is_outward(case) => {
            Verdict::Deny(Reason::new("Private notes led to this, and it goes to somebody else."))
        }
        Effect::EditOrg | Effect::WriteFile => {
            ask(less_private(case).into_iter().chain(labelled.then(|| spread(case)).flatten()))
        }
        // What only reads writes nothing down.
        Effect::Execute if labelled && !evidence.concerns.is_empty() => Verdict::Ask(Reason::new(
            "Private notes led to this command, and what a command writes is not kept private.",
        )),
        Effect::Commit | Effect::Custom(Class::Write | Class::Execute) if private => {
            Verdict::Ask(Reason::new("Private notes led to this, and what it writes is not kept private."))
        }
        Effect::Send
        | Effect::Fetch
        | Effect::Reply
        | Effect::ReadMemory
        | Effect::ReadFile
        | Effect::ReadEditor
        | Effect::Commit
        | Effect::ShowInEditor
        | Effect::Execute
        | Effect::Evaluate
        | Effect::Custom(_) => Verdict::pass(),
    }
}

fn ask(why: impl Iterator<Item = String>) -> Verdict {
    let why: Vec<String> = why.collect();
    if why.is_empty() { Verdict::pass() } else { Verdict::Ask(Reason::new(why.join(" "))) }
}

/// Returns every text that changes: edits, and texts that are put whole.
fn texts(case: &Case<'_>) -> Vec<EditFact> {
    case.facts.edits.iter().chain(&case.facts.put_texts).cloned().collect()
}

/// Returns which notes an edit would make less private.
fn less_private(case: &Case<'_>) -> Option<String> {
    let names = match loosened(&texts(case), &case.scope.private_tags) {
        Ok(names) => names,
        Err(_) => {
            return Some("Whether it makes notes less private was not found out: a file is too large.".to_string());
        }
    };
    if names.is_empty() {
        return None;
    }
    // Reasons go to the model as well: titles only to one that may see what is private, in a turn that counts as private.
    if case.scope.see_private && case.facts.privacy == Some(Privacy::Private) {
        return Some(format!("{} would no longer be private.", quoted(&names)));
    }
    let edits = texts(case);
    let files = edits.iter().map(|edit| edit.file.rsplit('/').next().unwrap_or(&edit.file).to_string());
    Some(format!("Something in {} would no longer be private.", quoted(&files.collect::<Vec<_>>())))
}

/// Returns where the words of a private conversation would stand openly.
///
/// What the user typed for this action did not come from a note, whatever else the conversation drew on.
fn spread(case: &Case<'_>) -> Option<String> {
    if !brings_words(case) || case.action.labels().provenance == Provenance::User {
        return None;
    }
    let edits = texts(case);
    match opened(&edits, &case.scope.private_tags) {
        Ok(_) | Err(_) if edits.is_empty() => {
            Some("Private notes led to this text, and where it would go was not found out.".to_string())
        }
        Ok(names) if names.is_empty() => None,
        Ok(names) => Some(format!("Private notes led to this text, and {} is not private.", quoted(&names))),
        Err(_) => Some("Private notes led to this text, and the file is too large to say what is private.".to_string()),
    }
}

/// Returns whether an edit writes words of the action's, and not only a keyword of the file or what stands elsewhere.
fn brings_words(case: &Case<'_>) -> bool {
    const NAMES: [&str; 5] = ["id", "parent", "state", "under", "do"];
    let names = |name: &str| NAMES.contains(&name) || case.tool.paths.contains(&name);
    case.action.args().iter().any(|(name, value)| !names(name) && (value.is_string() || value.is_array()))
}

/// Denies when a text that goes out carries a privacy tag or words of a private note; asks before such words stand
/// openly.
pub(super) fn privacy_text(evidence: &Evidence<'_>) -> Verdict {
    tagged(evidence.case).stricter(quotation(evidence))
}

/// Judges by the words of private notes, whoever brought them. The note is named in the plan, which no model reads.
fn quotation(evidence: &Evidence<'_>) -> Verdict {
    let case = evidence.case;
    if case.facts.quotes.is_empty() {
        return Verdict::pass();
    }
    let deny = |where_to: &str| {
        let way = "Leave the quotation out.";
        Verdict::Deny(Reason::instead(format!("Words of a private note stand in it, and it {where_to}."), way))
    };
    let ask = |why: &str| Verdict::Ask(Reason::new(format!("Words of a private note stand in it, and {why}.")));
    match case.tool.effect {
        Effect::Send | Effect::Fetch | Effect::Custom(Class::Network) => deny("would leave the machine"),
        Effect::Reply if is_outward(case) => deny("goes to somebody else"),
        Effect::Execute if reaches_hosts(case) => deny("would reach the network"),
        // What only reads writes nothing down.
        Effect::Execute if evidence.concerns.is_empty() => Verdict::pass(),
        Effect::Execute | Effect::Custom(Class::Write | Class::Execute) => ask("what it writes is not kept private"),
        Effect::EditOrg | Effect::WriteFile | Effect::Commit => {
            let mut places: Vec<String> = case.facts.quotes.iter().map(|quote| quote.place.clone()).collect();
            places.dedup();
            ask(&format!("{} is not private", quoted(&places)))
        }
        Effect::Evaluate if !evidence.lisp.is_empty() => ask("what it does with them is not known"),
        Effect::Reply
        | Effect::Evaluate
        | Effect::ReadMemory
        | Effect::ReadFile
        | Effect::ReadEditor
        | Effect::ShowInEditor
        | Effect::Custom(Class::Pure | Class::Read) => Verdict::pass(),
    }
}

/// Returns whether a command names hosts, or cannot say which.
fn reaches_hosts(case: &Case<'_>) -> bool {
    reach::wanted(case.action.args()).map_or(true, |hosts| !hosts.is_empty())
}

/// Denies when a text that goes out carries a privacy tag: it was copied from a private note.
fn tagged(case: &Case<'_>) -> Verdict {
    if !(case.tool.effect.class() == Class::Network || is_outward(case)) {
        return Verdict::pass();
    }
    for (_, value) in case.action.args() {
        let Some(text) = value.as_str() else { continue };
        if let Some(tag) = case.scope.private_tags.iter().find(|tag| carries(text, tag)) {
            return Verdict::Deny(Reason::new(format!(
                "The text carries the tag “{tag}”, which marks what is private."
            )));
        }
    }
    Verdict::pass()
}

/// Returns whether a message goes to anybody but the user.
fn is_outward(case: &Case<'_>) -> bool {
    case.tool.effect == Effect::Reply && !is_user(case.action.text("to"))
}

/// Returns whether a tag stands in a text as Org writes tags: `:tag:`.
fn carries(text: &str, tag: &str) -> bool {
    let tag = tag.trim_matches(':').to_lowercase();
    let lower = text.to_lowercase();
    let heading_tag = format!(":{tag}:");
    !tag.is_empty() && (lower.contains(&heading_tag) || (tag.starts_with('@') && lower.contains(&tag)))
}
