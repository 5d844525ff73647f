//! What waits, for whom, and since when, where the note says it.

use super::{MAX_LINES, Place, more};
use crate::domain::memory::view::NodeRef;
use crate::domain::recall::answer::{Notes, Reply};
use crate::domain::recall::show::{clip, day, distance, headline, keyword, place, plain};
use crate::domain::recall::stamp::{Stamp, stamps};
use jiff::civil::Date;

/// Keywords and tags of what waits.
const WORDS: &[&str] =
    &["WAITING", "WAIT", "HOLD", "BLOCKED", "DELEGATED", "ONHOLD", "ON-HOLD", "WAITINGFOR", "WAITING-FOR"];
/// Properties that say for whom or what.
const FOR: &[&str] = &["WAITING_ON", "WAITING_FOR", "WAITINGFOR", "DELEGATED_TO", "BLOCKED_BY", "ASSIGNEE", "WHO"];
/// Properties that say since when.
const SINCE: &[&str] = &["SINCE", "WAITING_SINCE", "DELEGATED_ON", "DELEGATED_AT", "DELEGATED"];
/// Longest name shown, in characters.
const LONGEST: usize = 60;

/// Headings that wait, by keyword or tag.
pub(in crate::domain::recall) fn waiting(notes: &Notes<'_>, within: Option<&str>) -> Reply {
    let place = match Place::find(notes, within) {
        Ok(place) => place,
        Err(reply) => return reply,
    };
    let nodes: Vec<NodeRef> =
        notes.view.nodes().filter(|node| node.index > 0 && place.holds(node) && waits(node)).collect();
    if nodes.is_empty() {
        return Reply::words(format!("Nothing is waiting{}.", place.words()));
    }
    let mut reply = Reply::words(format!("Waiting{} ({}):", place.words(), nodes.len()));
    for node in nodes.iter().take(MAX_LINES) {
        show(&mut reply, node, notes.now.date());
    }
    more(&mut reply, nodes.len());
    reply
}

fn waits(node: &NodeRef) -> bool {
    let by_keyword = keyword(node).is_some_and(|k| !k.done && WORDS.contains(&k.name.to_uppercase().as_str()));
    let done = keyword(node).is_some_and(|k| k.done);
    let waiting = |tag: &str| WORDS.contains(&tag.trim_start_matches('@').to_uppercase().as_str());
    by_keyword || (!done && node.tags().any(waiting))
}

fn show(reply: &mut Reply, node: &NodeRef, today: Date) {
    let property = |key: &&'static str| node.property(key).filter(|value| !value.trim().is_empty());
    let whom = FOR.iter().find_map(property).map(|value| format!("for {}", clip(&plain(value), LONGEST)));
    let since = SINCE.iter().find_map(property).and_then(Stamp::parse).map(|stamp| stamp.date);
    let since = since.or_else(|| logged(node)).map(|date| format!("since {} ({})", day(date), distance(today, date)));
    let told: Vec<String> = whom.into_iter().chain(since).collect();
    let told = if told.is_empty() { String::new() } else { format!(", {}", told.join(", ")) };
    reply.line(node, &format!("- {}{told} — {}", headline(node), place(node)));
}

/// Returns the day on which Org logged that a heading took its keyword; the newest line stands first.
fn logged(node: &NodeRef) -> Option<Date> {
    let state = format!("State \"{}\"", keyword(node)?.name);
    let line = node.section().lines().find(|line| line.contains(&state))?;
    stamps(line).into_iter().next().map(|stamp| stamp.date)
}
