//! The agenda: appointments, deadlines and scheduled headings, day by day.
//!
//! What is late stands once: on its own day where the window shows that day, else under today.

use super::{Entry, MAX_LINES, Place, appointments, coming, hour, is_live, more, phrase, sort, stamp};
use crate::domain::memory::card::Planning;
use crate::domain::recall::answer::{Notes, Reply};
use crate::domain::recall::request::Window;
use crate::domain::recall::show::{day, distance, headline, place};
use jiff::ToSpan;
use jiff::civil::Date;

/// How many days an agenda shows.
const MAX_DAYS: usize = 62;

/// Shows all that stands on the days of a window.
pub(in crate::domain::recall) fn agenda(notes: &Notes<'_>, window: &Window, within: Option<&str>) -> Reply {
    let place = match Place::find(notes, within) {
        Ok(place) => place,
        Err(reply) => return reply,
    };
    let today = notes.now.date();
    let bounded = bounded(window, today);
    let mut entries = Vec::new();
    for node in notes.view.nodes().filter(|node| place.holds(node) && is_live(node)) {
        for stamp in appointments(&node) {
            for date in days(&bounded).filter(|date| stamp.first_in(&Window::day(*date)).is_some()) {
                entries.push(Entry { date, time: stamp.time, kind: "appointment", node: node.clone() });
            }
        }
        for (planning, kind, late) in
            [(Planning::Deadline, "deadline", "late deadline"), (Planning::Scheduled, "scheduled", "scheduled earlier")]
        {
            let Some(stamp) = stamp(&node, planning) else { continue };
            let falls: Vec<Date> =
                days(&bounded).filter(|date| stamp.first_in(&Window::day(*date)).is_some()).collect();
            let is_late = bounded.contains(today) && stamp.date < today && !falls.contains(&today);
            if is_late && !falls.iter().any(|date| *date < today) {
                entries.push(Entry { date: today, time: None, kind: late, node: node.clone() });
            }
            let kind = |date: Date| if is_late && date < today { late } else { kind };
            let entry = |date| Entry { date, time: stamp.time, kind: kind(date), node: node.clone() };
            entries.extend(falls.into_iter().map(entry));
        }
    }
    sort(&mut entries);
    let mut reply = render(&entries, &format!("{}{}", phrase(&bounded, today), place.words()), today);
    coming::next(&mut reply, notes, window, &place, &entries);
    reply
}

fn render(entries: &[Entry], when: &str, today: Date) -> Reply {
    if entries.is_empty() {
        return Reply::words(format!("Nothing stands on the agenda{when}."));
    }
    let mut reply = Reply::words(format!("Agenda{when} ({}):", entries.len()));
    let one_day = entries.iter().all(|entry| Some(entry.date) == entries.first().map(|first| first.date));
    let mut last = None;
    for entry in entries.iter().take(MAX_LINES) {
        if !one_day && last != Some(entry.date) {
            reply.text.push_str(&format!("\n{} ({})", day(entry.date), distance(today, entry.date)));
            last = Some(entry.date);
        }
        let time = hour(entry.time);
        let time = if time.is_empty() { String::new() } else { format!("{} ", time.trim_start()) };
        let line = format!("- {time}{} ({}) — {}", headline(&entry.node), entry.kind, place(&entry.node));
        reply.line(&entry.node, &line);
    }
    more(&mut reply, entries.len());
    reply
}

/// Gives open ends a bound.
fn bounded(window: &Window, today: Date) -> Window {
    let from = window.from.unwrap_or(today);
    let last = from.checked_add(i64::try_from(MAX_DAYS).unwrap_or(62).days()).unwrap_or(from);
    Window { from: Some(from), to: Some(window.to.map_or(last, |to| to.min(last))) }
}

fn days(window: &Window) -> impl Iterator<Item = Date> + use<> {
    let (from, to) = (window.from, window.to);
    from.into_iter()
        .flat_map(|from| from.series(1.day()))
        .take_while(move |date| to.is_some_and(|to| *date <= to))
        .take(MAX_DAYS + 1)
}
