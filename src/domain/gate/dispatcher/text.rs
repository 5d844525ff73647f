//! Checks on text: secrets in it, and what is private.

use super::{Evidence, Place};
use crate::domain::gate::disclosure::{loosened, opened, quoted};
use crate::domain::gate::facts::EditFact;
use crate::domain::gate::secret::Certainty;
use crate::domain::gate::{Case, Reason, Verdict, reach};
use crate::domain::label::{Privacy, Provenance};
use crate::domain::tool::{CONFIRM, Class, Effect, is_user};

/// Denies what looks exactly like a secret, asks about what may be one, in any argument of any tool and in every text that
/// it would write.
pub(super) fn exposure(evidence: &Evidence<'_>) -> Verdict {
    let Some((place, finding)) = evidence.secrets.iter().max_by_key(|(_, finding)| finding.certainty) else {
        return match evidence.unsearched.as_slice() {
            [] => Verdict::pass(),
            _ => Verdict::Ask(Reason::new("Too much of a file changes to be searched for secrets.")),
        };
    };
    let others = match evidence.secrets.len() {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let holds = match place {
        Place::Argument(name) => format!("The argument “{name}” seems to hold"),
        Place::File(name) => format!("What “{name}” would become seems to hold"),
    };
    let why = format!("{holds} a secret: {}{others}.", finding.kind);
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

/// What stands behind a remark in the trace on text of the tier that warns.
const WARNED: &str = "Notes that you want to be told of go with it.";

/// What is said where words of such a note go out.
const QUOTED: &str = "Words of a note that you want to be told of go with it.";

/// Denies private text on its way out, or asks, by its tier; asks before it stands where it is less private, and names the
/// notes.
pub(super) fn privacy_tags(evidence: &Evidence<'_>) -> Verdict {
    match reads(evidence.case) {
        Verdict::Pass(None) => leaves(evidence),
        read => read.stricter(leaves(evidence)),
    }
}

/// Returns whether an action would show a model elsewhere what the user wants to be asked about, in a conversation in which
/// that was not allowed yet.
pub fn shows_what_asks(case: &Case<'_>) -> bool {
    let shows = match case.tool.effect {
        Effect::ReadMemory | Effect::ReadFile | Effect::ReadEditor | Effect::Execute | Effect::Custom(_) => true,
        Effect::Reply
        | Effect::Delegate
        | Effect::Configure
        | Effect::EditOrg
        | Effect::WriteFile
        | Effect::Commit
        | Effect::ShowInEditor
        | Effect::Evaluate
        | Effect::Send
        | Effect::Fetch => false,
    };
    shows && case.facts.privacy == Some(Privacy::Ask) && case.scope.may_see < Privacy::Ask
}

/// Judges what would be shown to a model that may not see everything.
fn reads(case: &Case<'_>) -> Verdict {
    let (privacy, may_see) = (case.facts.privacy.unwrap_or(Privacy::Open), case.scope.may_see);
    let named = match case.tool.effect {
        Effect::ReadMemory | Effect::ReadFile | Effect::ReadEditor => "",
        Effect::Execute | Effect::Custom(_) => "A file that it names: ",
        Effect::Reply
        | Effect::Delegate
        | Effect::Configure
        | Effect::EditOrg
        | Effect::WriteFile
        | Effect::Commit
        | Effect::ShowInEditor
        | Effect::Evaluate
        | Effect::Send
        | Effect::Fetch => return Verdict::pass(),
    };
    if shows_what_asks(case) {
        // Only the user's word for this conversation is missing, and a yes gives it.
        return Verdict::Ask(Reason::new(format!(
            "{named}You want to be asked about it, and the model that would be shown it is not local. A yes lets notes \
             that are marked so go to models elsewhere for the rest of this conversation."
        )));
    }
    let seen = privacy <= may_see;
    match privacy {
        Privacy::Warn if seen && may_see < Privacy::Private => Verdict::Pass(Some(Reason::new(WARNED))),
        _ if seen => Verdict::pass(),
        Privacy::Open | Privacy::Warn | Privacy::Ask | Privacy::Private => {
            let why = format!("{named}It is private, and the model that would be shown it is not local.");
            Verdict::Deny(Reason::new(why).in_our_words())
        }
    }
}

/// Returns whether it is what the user confirms: shown in the user's own Emacs, kept in the store, and sent to nobody.
fn goes_nowhere(case: &Case<'_>) -> bool {
    case.action.tool() == CONFIRM
}

/// Judges by what led to an action, and by what it is about, where that would go.
fn leaves(evidence: &Evidence<'_>) -> Verdict {
    let case = evidence.case;
    let label = case.action.labels().privacy;
    let privacy = label.max(case.facts.privacy.unwrap_or(Privacy::Open));
    match case.tool.effect {
        Effect::Send if goes_nowhere(case) => Verdict::pass(),
        Effect::Send | Effect::Fetch | Effect::Custom(Class::Network) => out(privacy, "it would leave the machine"),
        Effect::Reply if is_outward(case) => out(privacy, "it goes to somebody else"),
        Effect::EditOrg | Effect::WriteFile => {
            ask(less_private(case).into_iter().chain(label.is_kept().then(|| spread(case, label)).flatten()))
        }
        // What only reads writes nothing down.
        Effect::Execute if label.is_kept() && !evidence.concerns.is_empty() => Verdict::Ask(Reason::new(
            "Private notes led to this command, and what a command writes is not kept private.",
        )),
        Effect::Commit | Effect::Custom(Class::Write | Class::Execute) if privacy.is_kept() => {
            Verdict::Ask(Reason::new("Private notes led to this, and what it writes is not kept private."))
        }
        Effect::Reply
        | Effect::Delegate
        | Effect::Configure
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

/// Judges what private notes led to and what would leave, by their tier.
fn out(privacy: Privacy, where_to: &str) -> Verdict {
    let reason = || Reason::new(format!("Private notes led to this, and {where_to}."));
    match privacy {
        Privacy::Open => Verdict::pass(),
        Privacy::Warn => Verdict::Pass(Some(Reason::new(WARNED))),
        Privacy::Ask => Verdict::Ask(reason()),
        Privacy::Private => Verdict::Deny(reason()),
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
    let lost = match loosened(&texts(case), &case.scope.private_tags) {
        Ok(lost) => lost,
        Err(_) => {
            return Some("Whether it makes notes less private was not found out: a file is too large.".to_string());
        }
    };
    if lost.names.is_empty() {
        return None;
    }
    let less = if lost.opens { "would no longer be private" } else { "would be less private" };
    // Reasons go to the model as well: titles only to one that may see them, in a turn that counts as so private.
    let known = case.facts.privacy.unwrap_or(Privacy::Open);
    if lost.was <= known && known <= case.scope.may_see {
        return Some(format!("{} {less}.", quoted(&lost.names)));
    }
    let edits = texts(case);
    let files = edits.iter().map(|edit| edit.file.rsplit('/').next().unwrap_or(&edit.file).to_string());
    Some(format!("Something in {} {less}.", quoted(&files.collect::<Vec<_>>())))
}

/// Returns where the words of a conversation of a tier would stand less privately.
///
/// What the user typed for this action did not come from a note, whatever else the conversation drew on.
fn spread(case: &Case<'_>, tier: Privacy) -> Option<String> {
    if !brings_words(case) || case.action.labels().provenance == Provenance::User {
        return None;
    }
    let edits = texts(case);
    match opened(&edits, &case.scope.private_tags, tier) {
        Ok(_) | Err(_) if edits.is_empty() => {
            Some("Private notes led to this text, and where it would go was not found out.".to_string())
        }
        Ok(names) if names.is_empty() => None,
        Ok(names) => Some(format!("Private notes led to this text, and {} is {}.", quoted(&names), less_than(tier))),
        Err(_) => Some("Private notes led to this text, and the file is too large to say what is private.".to_string()),
    }
}

/// Returns what a place is that is less private than a tier.
fn less_than(tier: Privacy) -> &'static str {
    match tier {
        Privacy::Open | Privacy::Warn | Privacy::Ask => "less private than they are",
        Privacy::Private => "not private",
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
    match goes_nowhere(evidence.case) {
        true => Verdict::pass(),
        false => tagged(evidence.case).stricter(quotation(evidence)),
    }
}

/// Says of words of a note that only warns that they would go where others read them.
fn warns_of(evidence: &Evidence<'_>) -> Verdict {
    let case = evidence.case;
    let goes = match case.tool.effect {
        Effect::Send | Effect::Fetch | Effect::Custom(Class::Network) => true,
        Effect::Reply => is_outward(case),
        Effect::Execute => reaches_hosts(case),
        Effect::EditOrg
        | Effect::WriteFile
        | Effect::Commit
        | Effect::Delegate
        | Effect::Configure
        | Effect::Evaluate
        | Effect::ReadMemory
        | Effect::ReadFile
        | Effect::ReadEditor
        | Effect::ShowInEditor
        | Effect::Custom(Class::Pure | Class::Read | Class::Write | Class::Execute) => false,
    };
    if goes { Verdict::Pass(Some(Reason::new(QUOTED))) } else { Verdict::pass() }
}

/// Judges by the words of private notes, whoever brought them. The note is named in the plan, which no model reads.
fn quotation(evidence: &Evidence<'_>) -> Verdict {
    let case = evidence.case;
    let Some(tier) = case.facts.quotes.iter().map(|quote| quote.note.privacy).max() else {
        return Verdict::pass();
    };
    if !tier.is_kept() {
        return warns_of(evidence);
    }
    let deny = |where_to: &str| {
        let way = "Leave the quotation out.";
        let reason = Reason::instead(format!("Words of a private note stand in it, and it {where_to}."), way);
        if tier < Privacy::Private { Verdict::Ask(reason) } else { Verdict::Deny(reason) }
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
            ask(&format!("{} is {}", quoted(&places), less_than(tier)))
        }
        Effect::Evaluate if !evidence.lisp.is_empty() => ask("what it does with them is not known"),
        Effect::Reply
        | Effect::Delegate
        | Effect::Configure
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

/// Denies, or asks, by its tier, when a text that goes out carries a privacy tag: it was copied from a private note.
fn tagged(case: &Case<'_>) -> Verdict {
    if !(case.tool.effect.class() == Class::Network || is_outward(case)) {
        return Verdict::pass();
    }
    let mut worst = Verdict::pass();
    for (_, value) in case.action.args() {
        let Some(text) = value.as_str() else { continue };
        let carried = case.scope.private_tags.iter().filter(|tag| carries(text, &tag.tag));
        if let Some(tag) = carried.max_by_key(|tag| tag.tier) {
            let why = format!("The text carries the tag “{}”, which marks what is private.", tag.tag);
            worst = worst.stricter(match tag.tier {
                Privacy::Open => Verdict::pass(),
                Privacy::Warn => Verdict::Pass(Some(Reason::new(why))),
                Privacy::Ask => Verdict::Ask(Reason::new(why)),
                Privacy::Private => Verdict::Deny(Reason::new(why)),
            });
        }
    }
    worst
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
