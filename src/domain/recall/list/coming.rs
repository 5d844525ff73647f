//! What is overdue and what comes next: said where a list of days leaves its reader with little.

use super::{Entry, Place, appointments, is_live, line, planned, sort};
use crate::domain::memory::card::Planning;
use crate::domain::memory::view::NodeRef;
use crate::domain::recall::answer::{Notes, Reply};
use crate::domain::recall::request::Window;
use jiff::civil::Date;

/// How many lines each part has.
const MAX_LINES: usize = 5;
/// A day with fewer things than this leaves room for what comes next.
const FEW: usize = 3;

/// Adds the deadlines that passed before a window that today is in.
pub(super) fn overdue_before(reply: &mut Reply, notes: &Notes<'_>, window: &Window, place: &Place) {
    let today = notes.now.date();
    let Some(from) = window.from.filter(|_| window.contains(today)) else { return };
    let before = Window { from: None, to: from.yesterday().ok() };
    let entries = planned(notes, &before, place, Planning::Deadline, "deadline");
    let count = entries.len();
    part(reply, &format!("Overdue before that ({count})"), entries, today);
    if count > MAX_LINES {
        reply.text.push_str(&format!("\n… and {} more.", count - MAX_LINES));
    }
}

/// Adds what comes next when nothing, or for today little, of what was shown lies ahead.
pub(super) fn next(reply: &mut Reply, notes: &Notes<'_>, window: &Window, place: &Place, shown: &[Entry]) {
    let today = notes.now.date();
    let ahead = shown.iter().filter(|entry| entry.date >= today).count();
    let enough = if *window == Window::day(today) { FEW } else { 1 };
    if window.to.is_none_or(|to| to < today) || ahead >= enough {
        return;
    }
    let from = Window { from: Some(window.from.map_or(today, |from| from.max(today))), to: None };
    let mut entries = planned(notes, &from, place, Planning::Deadline, "deadline");
    entries.extend(planned(notes, &from, place, Planning::Scheduled, "scheduled"));
    for node in notes.view.nodes().filter(|node| place.holds(node) && is_live(node)) {
        let first =
            appointments(&node).into_iter().filter_map(|stamp| Some((stamp.first_in(&from)?, stamp.time))).min();
        entries.extend(first.map(|(date, time)| Entry { date, time, kind: "appointment", node }));
    }
    let is_shown = |node: &NodeRef| shown.iter().any(|entry| entry.node.id() == node.id());
    entries.retain(|entry| !is_shown(&entry.node));
    part(reply, "Next", entries, today);
}

fn part(reply: &mut Reply, head: &str, mut entries: Vec<Entry>, today: Date) {
    if entries.is_empty() {
        return;
    }
    sort(&mut entries);
    reply.text.push_str(&format!("\n{head}:"));
    for entry in entries.iter().take(MAX_LINES) {
        line(reply, entry, today);
    }
}
