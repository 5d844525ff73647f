//! Org timestamps as days: repeaters, ranges of days, and those that stand in running text.

use crate::domain::recall::request::Window;
use jiff::civil::{Date, Time};

/// How many timestamps of one text are read.
const MAX_STAMPS: usize = 200;

/// One timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its day.
    pub date: Date,
    /// Its hour, if one is given.
    pub time: Option<Time>,
    /// The last day of a range such as `<2026-11-20 Fri>--<2026-11-22 Sun>`.
    pub until: Option<Date>,
    /// How often it comes again.
    pub repeat: Option<Repeat>,
    /// Whether it stands in angle brackets: Org's agenda shows it.
    pub active: bool,
}

/// A repeater: `+1w`, `++1m`, `.+2d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// How many units; above 0.
    pub count: u16,
    /// Hours, days, weeks, months or years, as Org writes it: `h`, `d`, `w`, `m`, `y`.
    pub unit: char,
}

impl Stamp {
    /// Reads the timestamp at the beginning of a text; `None` for anything else, such as a diary sexp.
    pub fn parse(text: &str) -> Option<Stamp> {
        let (mut stamp, rest) = one(text)?;
        if let Some((last, _)) = rest.strip_prefix("--").and_then(one) {
            stamp.until = (last.date > stamp.date).then_some(last.date);
        }
        Some(stamp)
    }

    /// Returns the first day of a window on which it falls; one with a repeater falls on later days too.
    pub fn first_in(&self, window: &Window) -> Option<Date> {
        let from = window.from.unwrap_or(self.date).max(self.date);
        let day = match (self.until, self.repeat) {
            (Some(until), _) if from <= until => Some(from),
            (_, Some(repeat)) => repeat.first_from(self.date, from),
            (_, None) => (from == self.date).then_some(from),
        };
        day.filter(|day| window.contains(*day))
    }
}

impl Repeat {
    /// Returns the first day from `from` on which something that began on `base` comes again.
    fn first_from(self, base: Date, from: Date) -> Option<Date> {
        let count = i64::from(self.count);
        let days = i64::from(base.until(from).ok()?.get_days()).max(0);
        let span = jiff::Span::new();
        match self.unit {
            // What comes again every few hours is there every day.
            'h' => Some(from.max(base)),
            'd' | 'w' => {
                let step = if self.unit == 'w' { count * 7 } else { count };
                base.checked_add(span.try_days((days + step - 1) / step * step).ok()?).ok()
            }
            'm' | 'y' => {
                let step = if self.unit == 'y' { count * 12 } else { count };
                let months = i64::from(from.year() - base.year()) * 12 + i64::from(from.month() - base.month());
                let least = (months.max(0) / step) * step;
                (0..2).find_map(|n| {
                    let day = base.checked_add(span.try_months(least + n * step).ok()?).ok()?;
                    (day >= from).then_some(day)
                })
            }
            _ => None,
        }
    }
}

/// Returns the timestamps that stand in a text, with where each begins; at most 200.
pub fn stamps(text: &str) -> Vec<(usize, Stamp)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find(['<', '['])) {
        at += offset;
        match text.get(at..).and_then(|rest| Stamp::parse(rest).map(|stamp| (stamp, one(rest)))) {
            Some((stamp, read)) => {
                found.push((at, stamp));
                at = read.map_or(text.len(), |(_, rest)| text.len() - rest.len());
                if stamp.until.is_some() {
                    // The second half of the range is no timestamp by itself.
                    at += text.get(at..).and_then(|rest| rest.find(['>', ']'])).unwrap_or(0);
                }
            }
            None => at += 1,
        }
        if found.len() >= MAX_STAMPS {
            break;
        }
    }
    found
}

fn one(text: &str) -> Option<(Stamp, &str)> {
    let active = text.starts_with('<');
    let inner = text.strip_prefix(['<', '['])?;
    // A timestamp is short and stands on one line.
    let end = inner.bytes().take(80).position(|b| matches!(b, b'>' | b']' | b'\n'))?;
    let (body, rest) = (inner.get(..end)?, inner.get(end + 1..)?);
    let close = inner.as_bytes().get(end)?;
    if *close != if active { b'>' } else { b']' } {
        return None;
    }
    let mut parts = body.split_whitespace();
    let date: Date = parts.next().filter(|day| day.len() == 10)?.parse().ok()?;
    let mut stamp = Stamp { date, time: None, until: None, repeat: None, active };
    for part in parts {
        if let Some(time) = clock(part.split_once('-').map_or(part, |(begin, _)| begin)) {
            stamp.time = Some(time);
        } else if let Some(repeat) = repeat(part) {
            stamp.repeat = Some(repeat);
        }
    }
    Some((stamp, rest))
}

fn clock(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

fn repeat(text: &str) -> Option<Repeat> {
    let amount = text.strip_prefix("++").or_else(|| text.strip_prefix(".+")).or_else(|| text.strip_prefix('+'))?;
    // `.+1d/3d` is a habit: its least interval counts.
    let amount = amount.split('/').next()?;
    let unit = amount.chars().last().filter(|unit| matches!(unit, 'h' | 'd' | 'w' | 'm' | 'y'))?;
    let count: u16 = amount.get(..amount.len() - 1)?.parse().ok()?;
    (count > 0).then_some(Repeat { count, unit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn days_of_timestamps() {
        let day = |text: &str, from: Date, to: Date| {
            Stamp::parse(text).and_then(|stamp| stamp.first_in(&Window { from: Some(from), to: Some(to) }))
        };
        let (from, to) = (date(2026, 11, 18), date(2026, 11, 24));
        for (text, expected) in [
            ("<2026-11-18 Wed>", Some(date(2026, 11, 18))),
            ("<2026-11-17 Tue>", None),
            ("<2026-11-25 Wed>", None),
            ("<2026-11-02 Mon +1w>", Some(date(2026, 11, 23))),
            ("<2026-11-23 Mon ++1w>", Some(date(2026, 11, 23))),
            ("<2025-01-20 Mon 09:00 .+1m>", Some(date(2026, 11, 20))),
            ("<2020-11-24 Tue +1y -3d>", Some(date(2026, 11, 24))),
            ("<2026-11-16 Mon +3d>", Some(date(2026, 11, 19))),
            ("<2026-11-16 Mon>--<2026-11-19 Thu>", Some(date(2026, 11, 18))),
            ("<2026-12-01 Tue +1w>", None),
            ("<2024-01-31 Wed +1m>", None),
            ("<2026-13-01 Tue>", None),
            ("<%%(diary-float t 4 2)>", None),
            ("<2026-11-18 Wed", None),
        ] {
            assert_eq!(day(text, from, to), expected, "{text}");
        }
    }

    #[test]
    fn timestamps_in_text() {
        let text =
            "a <2026-11-18 Wed 10:00-11:00> b [2026-11-19 Thu] <2026-11-20 Fri>--<2026-11-22 Sun> <<target>> [[x]]";
        let found: Vec<(usize, String, bool)> =
            stamps(text).into_iter().map(|(at, s)| (at, s.date.to_string(), s.active)).collect();
        assert_eq!(
            found,
            [(2, "2026-11-18".into(), true), (33, "2026-11-19".into(), false), (50, "2026-11-20".into(), true)]
        );
    }
}
