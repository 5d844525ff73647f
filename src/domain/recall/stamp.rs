//! On which days an Org timestamp falls: ranges of days, and repeaters on each later day.

use crate::domain::org::timestamp::{Timestamp, Unit, Until, timestamps};
use crate::domain::recall::request::Window;
use jiff::civil::{Date, Time};

/// How many timestamps of one text are looked at.
const MAX_STAMPS: usize = 200;

/// One timestamp, as far as the calendar goes.
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

/// A repeater: `+1w`, `++1m`, `.+2d`. Which of the three makes no difference to the days it falls on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// How many units; above 0.
    pub count: u16,
    /// Of what.
    pub unit: Unit,
}

impl Stamp {
    /// Reads the timestamp at the beginning of a text; `None` for anything else, such as a diary sexp.
    pub fn parse(text: &str) -> Option<Stamp> {
        Timestamp::parse_start(text.trim_start()).map(|(stamp, _)| Stamp::of(&stamp))
    }

    fn of(stamp: &Timestamp) -> Stamp {
        let until = match stamp.until {
            Until::Day(date, _) => (date > stamp.date).then_some(date),
            Until::Open | Until::Time(_) => None,
        };
        let repeater = stamp.repeater.filter(|repeater| repeater.count > 0);
        let repeat = repeater.map(|repeater| Repeat { count: repeater.count, unit: repeater.unit });
        Stamp { date: stamp.date, time: stamp.time, until, repeat, active: stamp.active }
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
    /// Returns the words for people: `1w`.
    pub fn words(self) -> String {
        let unit = match self.unit {
            Unit::Hour => 'h',
            Unit::Day => 'd',
            Unit::Week => 'w',
            Unit::Month => 'm',
            Unit::Year => 'y',
        };
        format!("{}{unit}", self.count)
    }

    /// Returns the first day from `from` on which something that began on `base` comes again.
    fn first_from(self, base: Date, from: Date) -> Option<Date> {
        let count = i64::from(self.count);
        let days = i64::from(base.until(from).ok()?.get_days()).max(0);
        let span = jiff::Span::new();
        let by_days = |step: i64| base.checked_add(span.try_days((days + step - 1) / step * step).ok()?).ok();
        let by_months = |step: i64| {
            let months = i64::from(from.year() - base.year()) * 12 + i64::from(from.month() - base.month());
            let least = (months.max(0) / step) * step;
            (0..2).find_map(|n| {
                let day = base.checked_add(span.try_months(least + n * step).ok()?).ok()?;
                (day >= from).then_some(day)
            })
        };
        match self.unit {
            // What comes again every few hours is there every day.
            Unit::Hour => Some(from.max(base)),
            Unit::Day => by_days(count),
            Unit::Week => by_days(count * 7),
            Unit::Month => by_months(count),
            Unit::Year => by_months(count * 12),
        }
    }
}

/// Returns the timestamps that stand in a text; at most 200.
pub fn stamps(text: &str) -> Vec<Stamp> {
    timestamps(text).iter().take(MAX_STAMPS).map(|(_, stamp)| Stamp::of(stamp)).collect()
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
        let found: Vec<(String, bool)> = stamps(text).into_iter().map(|s| (s.date.to_string(), s.active)).collect();
        assert_eq!(found, [("2026-11-18".into(), true), ("2026-11-19".into(), false), ("2026-11-20".into(), true)]);
    }
}
