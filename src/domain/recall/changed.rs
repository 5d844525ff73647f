//! What changed since a moment: files by their time, headings by the timestamps they carry.

use crate::domain::count::counted;
use crate::domain::memory::card::Card;
use crate::domain::memory::view::NodeRef;
use crate::domain::recall::answer::{Notes, Reply};
use crate::domain::recall::show::{day, headline, link};
use crate::domain::recall::stamp::{Stamp, stamps};
use jiff::civil::{DateTime, Time};
use std::sync::Arc;

/// How many files, and how many headings of each, are shown.
const MAX_FILES: usize = 20;
/// How many headings of one file are shown.
const MAX_HEADINGS: usize = 5;

/// Lists files that changed since a moment, the latest first, with their headings that are dated since then.
pub(super) fn changed(notes: &Notes<'_>, since: DateTime) -> Reply {
    let mut files: Vec<(DateTime, &Arc<Card>)> = notes
        .view
        .cards()
        .filter_map(|card| card.modified().map(|at| ((notes.local)(at), card)))
        .filter(|(at, _)| *at >= since)
        .collect();
    files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.file.cmp(&b.1.file)));
    let from = format!("{} {}", day(since.date()), since.time().strftime("%H:%M"));
    if files.is_empty() {
        return Reply::words(format!("No file has changed since {from}."));
    }
    let have = if files.len() == 1 { "has" } else { "have" };
    let mut reply = Reply::words(format!("{} {have} changed since {from}:", counted(files.len(), "file")));
    for (at, card) in files.iter().take(MAX_FILES) {
        let Some(file) = notes.view.node(&card.file, 0) else { continue };
        let line = format!("- {} {}: {}", day(at.date()), at.time().strftime("%H:%M"), link(&file));
        reply.line(&file, &line);
        headings(&mut reply, &file, since, notes);
    }
    if files.len() > MAX_FILES {
        reply.text.push_str(&format!("\n… and {} more.", files.len() - MAX_FILES));
    }
    reply
}

/// Returns the headings of a file with an inactive timestamp between two moments, the latest first. It reads the text.
pub(crate) fn dated(file: &NodeRef, since: DateTime, now: DateTime) -> Vec<(DateTime, NodeRef)> {
    // Read once, for all of them.
    file.text();
    let mut dated: Vec<(DateTime, NodeRef)> =
        file.with_descendants().skip(1).filter_map(|node| latest(&node, since, now).map(|at| (at, node))).collect();
    dated.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    dated
}

fn headings(reply: &mut Reply, file: &NodeRef, since: DateTime, notes: &Notes<'_>) {
    let mut dated = dated(file, since, notes.now);
    dated.retain(|(_, node)| notes.view.shows(node.card(), node.index));
    for (_, node) in dated.iter().take(MAX_HEADINGS) {
        reply.line(node, &format!("  - {}", headline(node)));
    }
    if dated.len() > MAX_HEADINGS {
        reply.text.push_str(&format!("\n  - … and {} more", dated.len() - MAX_HEADINGS));
    }
}

/// Returns the latest inactive timestamp of a heading's own section that lies between two moments.
fn latest(node: &NodeRef, since: DateTime, now: DateTime) -> Option<DateTime> {
    let found = stamps(node.title()).into_iter().chain(stamps(node.section()));
    found.filter(|stamp| !stamp.active).map(|stamp| moment(&stamp)).filter(|at| *at >= since && *at <= now).max()
}

/// Returns the moment of a stamp; a day without an hour counts from its beginning.
fn moment(stamp: &Stamp) -> DateTime {
    stamp.date.to_datetime(stamp.time.unwrap_or(Time::midnight()))
}
