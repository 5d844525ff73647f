//! What memory asks of the calendar: what is due when, and which headings are projects.

use crate::domain::memory::card::Planning;
use crate::domain::memory::query;
use crate::domain::memory::view::{NodeRef, View};
use jiff::Span;
use jiff::civil::{Date, DateTime, Time};

/// A planning line of a heading that is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Whether it is a deadline; else it is scheduled.
    pub kind: DueKind,
    /// The day.
    pub date: Date,
    /// The hour, if one is given.
    pub time: Option<Time>,
}

/// Which of the two planning dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DueKind {
    /// `DEADLINE:`
    Deadline,
    /// `SCHEDULED:`
    Scheduled,
}

/// Returns what is planned for one of the days from `first` to `last` and not done, in the order of files and lines.
pub fn due(view: &View, first: Date, last: Date) -> Vec<(NodeRef, Due)> {
    let mut found: Vec<(NodeRef, Due)> = Vec::new();
    for (kind, planning) in [(DueKind::Deadline, Planning::Deadline), (DueKind::Scheduled, Planning::Scheduled)] {
        for (node, _) in query::planned(view, planning, first, last).filter(|(node, _)| is_open(node)) {
            if let Some((date, time)) = node.planning(planning).and_then(timestamp) {
                found.push((node, Due { kind, date, time }));
            }
        }
    }
    // Stable: of one node the deadline comes first.
    found.sort_by(|(a, _), (b, _)| (a.file(), a.index).cmp(&(b.file(), b.index)));
    found
}

/// Returns until when what is due stays what it is now, for a window of so many minutes: until something comes into it or
/// passes, and at most until the day ends.
pub fn holds_until(view: &View, now: DateTime, window: i64) -> DateTime {
    let midnight =
        now.date().checked_add(Span::new().days(1)).map_or(DateTime::MAX, |day| day.to_datetime(Time::midnight()));
    let (before, after) = (window.clamp(0, WIDEST).saturating_add(1), 1);
    let horizon = Span::new().days(before / 1440 + 2);
    let last = now.date().checked_add(horizon).unwrap_or(Date::MAX);
    let first = now.date().yesterday().unwrap_or(Date::MIN);
    let moments = due(view, first, last).into_iter().flat_map(|(_, due)| {
        let moment = due.moment();
        let (enters, passes) = (Span::new().minutes(before), Span::new().minutes(after));
        [moment.checked_sub(enters).ok(), Some(moment), moment.checked_add(passes).ok()]
    });
    moments.flatten().filter(|moment| *moment > now).min().map_or(midnight, |moment| moment.min(midnight))
}

/// A window of more minutes is none that somebody waits in: it is a year.
const WIDEST: i64 = 366 * 1440;

/// Returns the headings that carry a tag themselves and are not done, in the order of files and lines.
pub fn tagged<'a>(view: &'a View, tag: &'a str) -> impl Iterator<Item = NodeRef> + 'a {
    let carries =
        move |node: &NodeRef| node.tags().any(|own| own.eq_ignore_ascii_case(tag) || own.to_lowercase() == tag);
    query::tagged(view, tag).filter(move |node| node.index > 0 && carries(node) && is_open(node))
}

fn is_open(node: &NodeRef) -> bool {
    !node.commented() && node.keyword().is_none_or(|word| !word.done)
}

impl Due {
    /// Returns the moment; a day without an hour ends with the day.
    pub fn moment(&self) -> DateTime {
        self.date.to_datetime(self.time.unwrap_or(Time::constant(23, 59, 59, 0)))
    }
}

/// Reads the day and the hour of an Org timestamp such as `<2026-03-14 Sat 10:00 +1w>`.
pub fn timestamp(text: &str) -> Option<(Date, Option<Time>)> {
    let text = text.trim_start_matches(['<', '[']);
    let date: Date = text.get(..10)?.parse().ok()?;
    let hour = text.get(10..)?.split(|c: char| c.is_whitespace() || matches!(c, '>' | ']' | '-')).find_map(clock);
    Some((date, hour))
}

fn clock(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_read() {
        for (text, expected) in [
            ("<2026-03-14 Sat>", Some("2026-03-14")),
            ("<2026-03-14 Sat 09:30>", Some("2026-03-14T09:30:00")),
            ("<2026-03-14 Sat 9:30-10:00 +1w>", Some("2026-03-14T09:30:00")),
            ("[2026-03-14]", Some("2026-03-14")),
            ("<2026-02-30 Mon>", None),
            ("<2026-03-14 Sat 25:00>", Some("2026-03-14")),
            ("<%%(diary-float t 4 2)>", None),
            ("", None),
            ("<２０２６-03>", None),
        ] {
            let read = timestamp(text).map(|(date, time)| match time {
                Some(time) => date.to_datetime(time).to_string(),
                None => date.to_string(),
            });
            assert_eq!(read.as_deref(), expected, "{text}");
        }
    }
}
