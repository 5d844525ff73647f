//! Lists: what is due, scheduled, overdue, on the agenda, waiting, open, tagged, finished, and projects.

use crate::domain::memory::card::Planning;
use crate::domain::memory::query::tagged as with_tag;
use crate::domain::memory::view::NodeRef;
use crate::domain::recall::answer::{Notes, Reply, missing};
use crate::domain::recall::request::Window;
use crate::domain::recall::resolve::{Among, Resolved, is_open, resolve};
use crate::domain::recall::show::{day, distance, headline, keyword, place};
use crate::domain::recall::stamp::{Stamp, stamps};
use jiff::civil::{Date, Time};
use std::ops::Range;
use std::sync::Arc;

mod agenda;
mod coming;
mod project;
mod waiting;

pub(super) use agenda::agenda;
pub(super) use project::{projects, stuck};
pub(super) use waiting::waiting;

/// How many lines a list has.
const MAX_LINES: usize = 40;

/// One line of a list with a date.
struct Entry {
    date: Date,
    time: Option<Time>,
    kind: &'static str,
    node: NodeRef,
}

/// Open headings with a deadline in a window.
pub(super) fn due(notes: &Notes<'_>, window: &Window, within: Option<&str>) -> Reply {
    let place = match Place::find(notes, within) {
        Ok(place) => place,
        Err(reply) => return reply,
    };
    let entries = planned(notes, window, &place, Planning::Deadline, "deadline");
    let head = format!("Due{}{}", phrase(window, notes.now.date()), place.words());
    let mut reply = dated(notes, &entries, &head, "Nothing is due");
    coming::overdue_before(&mut reply, notes, window, &place);
    coming::next(&mut reply, notes, window, &place, &entries);
    reply
}

/// Open headings that are scheduled in a window.
pub(super) fn scheduled(notes: &Notes<'_>, window: &Window, within: Option<&str>) -> Reply {
    let place = match Place::find(notes, within) {
        Ok(place) => place,
        Err(reply) => return reply,
    };
    let entries = planned(notes, window, &place, Planning::Scheduled, "scheduled");
    let head = format!("Scheduled{}{}", phrase(window, notes.now.date()), place.words());
    let mut reply = dated(notes, &entries, &head, "Nothing is scheduled");
    coming::next(&mut reply, notes, window, &place, &entries);
    reply
}

/// Open headings whose deadline or scheduled day lies before today.
pub(super) fn overdue(notes: &Notes<'_>, within: Option<&str>) -> Reply {
    let place = match Place::find(notes, within) {
        Ok(place) => place,
        Err(reply) => return reply,
    };
    let past = Window { from: None, to: notes.now.date().yesterday().ok() };
    let mut entries = planned(notes, &past, &place, Planning::Deadline, "deadline");
    entries.extend(planned(notes, &past, &place, Planning::Scheduled, "scheduled"));
    sort(&mut entries);
    dated(notes, &entries, &format!("Overdue{}", place.words()), "Nothing is overdue")
}

/// Open headings, or those with one keyword.
pub(super) fn todos(notes: &Notes<'_>, state: Option<&str>, within: Option<&str>) -> Reply {
    let Some(state) = state else {
        return plain(notes, within, &is_open, "Open", "Nothing is open");
    };
    let has = |node: &NodeRef| keyword(node).is_some_and(|keyword| keyword.name.eq_ignore_ascii_case(state));
    let reply = plain(notes, within, &has, state, &format!("Nothing is {state}"));
    if reply.sources.is_empty() && state == "NEXT" {
        // Without that keyword, what is open is what there is to do next.
        return plain(notes, within, &is_open, "Nothing is marked NEXT. Open", "Nothing is open");
    }
    reply
}

/// Headings with a tag, their own or inherited from the file; done ones last.
pub(super) fn tagged(notes: &Notes<'_>, tag: &str) -> Reply {
    let own = |node: &NodeRef| {
        let same = |other: &str| other.trim_start_matches('@').eq_ignore_ascii_case(tag.trim_start_matches('@'));
        node.tags().any(same)
    };
    let mut reply = Reply::words(format!("Tagged {tag}:"));
    let nodes: Vec<NodeRef> = notes.view.nodes().filter(own).collect();
    if nodes.is_empty() {
        return Reply::words(format!("No heading is tagged {tag}."));
    }
    lines(&mut reply, &nodes);
    reply
}

/// Headings that were closed in a window, the latest first.
pub(super) fn finished(notes: &Notes<'_>, window: &Window, within: Option<&str>) -> Reply {
    let place = match Place::find(notes, within) {
        Ok(place) => place,
        Err(reply) => return reply,
    };
    let mut entries: Vec<Entry> = Vec::new();
    for node in notes.view.nodes().filter(|node| place.holds(node)) {
        let Some(stamp) = stamp(&node, Planning::Closed) else { continue };
        if window.contains(stamp.date) {
            entries.push(Entry { date: stamp.date, time: stamp.time, kind: "closed", node });
        }
    }
    let head = format!("Finished{}{}", phrase(window, notes.now.date()), place.words());
    entries.sort_by_key(|entry| std::cmp::Reverse((entry.date, entry.time)));
    let mut reply = dated(notes, &entries, &head, "Nothing was closed");
    if reply.sources.is_empty() {
        reply.text.push_str(" Only headings with a CLOSED date are found.");
    }
    reply
}

fn plain(notes: &Notes<'_>, within: Option<&str>, keep: &dyn Fn(&NodeRef) -> bool, head: &str, none: &str) -> Reply {
    let place = match Place::find(notes, within) {
        Ok(place) => place,
        Err(reply) => return reply,
    };
    let nodes: Vec<NodeRef> =
        notes.view.nodes().filter(|node| node.index > 0 && place.holds(node) && keep(node)).collect();
    if nodes.is_empty() {
        return Reply::words(format!("{none}{}.", place.words()));
    }
    let mut reply = Reply::words(format!("{head}{} ({}):", place.words(), nodes.len()));
    lines(&mut reply, &nodes);
    reply
}

fn lines(reply: &mut Reply, nodes: &[NodeRef]) {
    for node in nodes.iter().take(MAX_LINES) {
        let line = format!("- {} — {}", headline(node), place(node));
        reply.line(node, &line);
    }
    more(reply, nodes.len());
}

fn more(reply: &mut Reply, count: usize) {
    if count > MAX_LINES {
        reply.text.push_str(&format!("\n… and {} more.", count - MAX_LINES));
    }
}

/// Renders entries in their order.
fn dated(notes: &Notes<'_>, entries: &[Entry], head: &str, none: &str) -> Reply {
    if entries.is_empty() {
        let rest = head.split_once(' ').map(|(_, rest)| format!(" {rest}")).unwrap_or_default();
        return Reply::words(format!("{none}{}.", rest.trim_end()));
    }
    let mut reply = Reply::words(format!("{} ({}):", head.trim_end(), entries.len()));
    for entry in entries.iter().take(MAX_LINES) {
        line(&mut reply, entry, notes.now.date());
    }
    more(&mut reply, entries.len());
    reply
}

/// Adds one entry: its day, how far that is, what it is.
fn line(reply: &mut Reply, entry: &Entry, today: Date) {
    let far = distance(today, entry.date);
    let line = format!(
        "- {}{} ({far}, {}) {} — {}",
        day(entry.date),
        hour(entry.time),
        entry.kind,
        headline(&entry.node),
        place(&entry.node)
    );
    reply.line(&entry.node, &line);
}

fn sort(entries: &mut [Entry]) {
    // What has no hour stands behind what has one; else the order of files and lines stays.
    entries.sort_by_key(|entry| (entry.date, entry.time.is_none(), entry.time));
}

fn hour(time: Option<Time>) -> String {
    time.map(|time| format!(" {}", time.strftime("%H:%M"))).unwrap_or_default()
}

/// Returns open headings by one of their planning dates; repeating ones on the first day in the window.
fn planned(notes: &Notes<'_>, window: &Window, place: &Place, planning: Planning, kind: &'static str) -> Vec<Entry> {
    let mut entries = Vec::new();
    for node in notes.view.nodes().filter(|node| place.holds(node) && is_live(node)) {
        let Some(stamp) = stamp(&node, planning) else { continue };
        if let Some(date) = stamp.first_in(window) {
            entries.push(Entry { date, time: stamp.time, kind, node });
        }
    }
    sort(&mut entries);
    entries
}

fn stamp(node: &NodeRef, planning: Planning) -> Option<Stamp> {
    Stamp::parse(node.planning(planning)?)
}

/// Returns whether a heading is neither done nor commented out.
fn is_live(node: &NodeRef) -> bool {
    node.index > 0 && !node.commented() && !keyword(node).is_some_and(|keyword| keyword.done)
}

/// Returns active timestamps of a heading's title and body: appointments.
fn appointments(node: &NodeRef) -> Vec<Stamp> {
    // Most texts need not be read for this.
    if !node.may_be_dated() {
        return Vec::new();
    }
    let title = if node.index > 0 { node.title() } else { "" };
    let texts = [title, node.body()];
    let found = texts.into_iter().filter(|text| text.contains('<')).flat_map(stamps);
    found.filter(|stamp| stamp.active).collect()
}

/// Returns words for a window, with a space before them: “ on Wed 2026-11-25”, “ from … to …”.
fn phrase(window: &Window, today: Date) -> String {
    match (window.from, window.to) {
        (None, None) => String::new(),
        (Some(from), Some(to)) if from == to => match distance(today, from).as_str() {
            near @ ("today" | "tomorrow" | "yesterday") => format!(" {near}, {}", day(from)),
            _ => format!(" on {}", day(from)),
        },
        (Some(from), Some(to)) => format!(" from {} to {}", day(from), day(to)),
        (Some(from), None) => format!(" from {} on", day(from)),
        (None, Some(to)) => format!(" until {}", day(to)),
    }
}

/// What a list is restricted to: nothing, or what stands below some headings or carries a tag.
pub(super) struct Place {
    name: Option<String>,
    trees: Vec<(Arc<str>, Range<usize>)>,
    tag: Option<String>,
}

impl Place {
    /// Finds the headings, files or the tag that a name means; all that match equally count, for nothing is changed.
    fn find(notes: &Notes<'_>, within: Option<&str>) -> Result<Place, Reply> {
        let Some(name) = within else { return Ok(Place { name: None, trees: Vec::new(), tag: None }) };
        let bare = name.trim_matches([':', '#']);
        let is_tag = |node: &NodeRef| node.tags().any(|tag| tag.eq_ignore_ascii_case(bare));
        let tag = with_tag(notes.view, bare).any(|node| is_tag(&node)).then(|| bare.to_string());
        let nodes = match resolve(notes.view, name, Among::Places) {
            Resolved::One(node) => vec![node],
            Resolved::Several(nodes) | Resolved::Close(nodes) => nodes,
            Resolved::None(nearest) if tag.is_none() => return Err(missing(name, &nearest)),
            Resolved::None(_) => Vec::new(),
        };
        let trees = nodes.iter().map(|node| (node.file().clone(), node.index..node.after()));
        // A heading that was meant by its id is called by its title.
        let titled = nodes.first().filter(|node| node.id().as_str() == name).map(|node| node.title().to_string());
        Ok(Place { name: Some(titled.unwrap_or_else(|| name.to_string())), trees: trees.collect(), tag })
    }

    fn holds(&self, node: &NodeRef) -> bool {
        if self.name.is_none() {
            return true;
        }
        let inside = self.trees.iter().any(|(file, range)| file == node.file() && range.contains(&node.index));
        let tagged = |tag: &String| node.all_tags().iter().any(|own| own.eq_ignore_ascii_case(tag));
        inside || self.tag.as_ref().is_some_and(tagged)
    }

    fn words(&self) -> String {
        self.name.as_ref().map(|name| format!(" in “{}”", super::answer::shown(name))).unwrap_or_default()
    }
}
