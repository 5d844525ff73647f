//! What one document asks of the calendar: what is due when, and which headings are projects.

use crate::domain::memory::view::Document;
use jiff::civil::{Date, DateTime, Time};

/// A planning line of a heading that is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Index of the node.
    pub index: u32,
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

/// What one document asks of the calendar.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Almanac {
    /// What is planned and not done, in the order of lines.
    pub due: Vec<Due>,
    /// Tags of headings that are not done, in lower case, with the node; sorted.
    tagged: Vec<(Box<str>, u32)>,
}

impl Almanac {
    /// Reads a document's planning lines and tags.
    pub fn of(document: &Document) -> Almanac {
        let outline = &document.outline;
        let mut almanac = Almanac::default();
        for (index, node) in outline.nodes.iter().enumerate() {
            let done = node.todo.and_then(|todo| outline.keywords.get(todo as usize)).is_some_and(|word| word.done);
            if done || node.commented {
                continue;
            }
            if index > 0 {
                let tags = node.tags.iter().map(|tag| (tag.to_lowercase().into_boxed_str(), index as u32));
                almanac.tagged.extend(tags);
            }
            for (kind, range) in [(DueKind::Deadline, &node.deadline), (DueKind::Scheduled, &node.scheduled)] {
                if let Some((date, time)) = range.as_ref().and_then(|range| timestamp(outline.slice(range))) {
                    almanac.due.push(Due { index: index as u32, kind, date, time });
                }
            }
        }
        almanac.tagged.sort_unstable();
        almanac
    }

    /// Returns the headings that carry a tag themselves and are not done, in the order of lines. The tag is lower case.
    pub fn tagged(&self, tag: &str) -> impl Iterator<Item = u32> {
        let begin = self.tagged.partition_point(|(known, _)| known.as_ref() < tag);
        self.tagged[begin..].iter().take_while(move |(known, _)| known.as_ref() == tag).map(|(_, index)| *index)
    }

    /// Returns whether nothing is planned or tagged.
    pub fn is_empty(&self) -> bool {
        self.due.is_empty() && self.tagged.is_empty()
    }
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
