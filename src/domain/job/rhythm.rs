//! When a job is due: repeaters of Org and cron lines, as moments of a time zone.
//!
//! Both are worked out on the wall clock and only then become moments: a time that a day does not have, as clocks go
//! forward, is that much later, and one that it has twice counts once.

use crate::domain::job::cron::Cron;
use crate::domain::org::timestamp::{Repeater, RepeaterKind, Timestamp as Stamp, Unit, first_after, shift, weekday};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// So many runs are counted at most.
pub const COUNTED: usize = 1_000;
/// So many days ahead are told to a calendar, with so many times at most.
const AHEAD: (i64, usize) = (14, 60);
/// The wall clock is at most so many hours off where it is set back.
const BACK: i64 = 25;
/// For the newest run so many hours are looked through, one after the other.
const WINDOWS: [i64; 6] = [3, 48, 24 * 62, 24 * 800, 24 * 366 * 10, 24 * 366 * 400];

/// When a job is due.
#[derive(Clone, Debug, PartialEq)]
pub enum Rhythm {
    /// By the repeater of a timestamp.
    Repeats {
        /// The first time.
        start: DateTime,
        /// How it repeats.
        repeater: Repeater,
    },
    /// By a cron line.
    Cron(Cron),
}

impl Rhythm {
    /// Returns the rhythm of a timestamp; `None` when it does not repeat or is not active.
    pub fn of(stamp: &Stamp) -> Option<Rhythm> {
        let repeater = stamp.repeater.filter(|repeater| repeater.count > 0 && stamp.active)?;
        Some(Rhythm::Repeats { start: stamp.start(), repeater })
    }

    /// Returns it in words, which are the same for all timestamps that lead to the same times: Org moves the date of what
    /// was done, and that is no other rhythm. What counts from its last run has no day of its own.
    pub fn words(&self) -> String {
        let (start, repeater) = match self {
            Rhythm::Cron(cron) => return format!("cron {}", cron.text()),
            Rhythm::Repeats { start, repeater } => (start, repeater),
        };
        let count = i64::from(repeater.count).max(1);
        let time = format!("{:02}:{:02}", start.hour(), start.minute());
        if repeater.kind == RepeaterKind::Restart {
            return match repeater.unit {
                Unit::Hour => repeater.to_string(),
                Unit::Day | Unit::Week | Unit::Month | Unit::Year => format!("{repeater} at {time}"),
            };
        }
        let days = days(*start);
        let nth = |number: i64, what: &str| match count {
            1 => String::new(),
            _ => format!(", {what} {} of {count}", number.rem_euclid(count) + 1),
        };
        let phase = match repeater.unit {
            Unit::Hour => {
                let minutes = days * 1440 + i64::from(start.hour()) * 60 + i64::from(start.minute());
                let into = minutes.rem_euclid(count * 60);
                format!("{:02}:{:02} into each", into / 60, into % 60)
            }
            Unit::Day => format!("at {time}{}", nth(days, "day")),
            // The first day of 1970 was a Thursday.
            Unit::Week => {
                format!("{} at {time}{}", weekday(start.date()), nth((days + 3).div_euclid(7), "week"))
            }
            Unit::Month => {
                let month = i64::from(start.year()) * 12 + i64::from(start.month()) - 1;
                format!("on day {} at {time}{}", start.day(), nth(month, "month"))
            }
            Unit::Year => {
                let (year, month, day) = (i64::from(start.year()), start.month(), start.day());
                format!("on {month:02}-{day:02} at {time}{}", nth(year, "year"))
            }
        };
        format!("{repeater} {phase}")
    }

    /// Returns whether a run that comes late is still wanted: `.+1d` counts from the last run, and says so.
    pub fn catches_up(&self) -> bool {
        matches!(self, Rhythm::Repeats { repeater, .. } if repeater.kind == RepeaterKind::Restart)
    }

    /// Returns the first time after a moment, or since when it is due; `ran` is when it ran last. `None` when there is none
    /// in the calendar.
    pub fn next(&self, after: Timestamp, ran: Option<Timestamp>, zone: &TimeZone) -> Option<Timestamp> {
        match self.counted(ran, zone) {
            Some(due) => due,
            None => self.walk(after, zone).next(),
        }
    }

    /// Returns the times of the next two weeks, sixty at most, where no timestamp of a heading tells a calendar of them.
    pub fn ahead(&self, after: Timestamp, zone: &TimeZone) -> Vec<Timestamp> {
        let (days, most) = AHEAD;
        match (self, after.checked_add((days * 24).hours())) {
            (Rhythm::Cron(_), Ok(until)) => self.walk(after, zone).take_while(|at| *at <= until).take(most).collect(),
            (Rhythm::Repeats { .. }, _) | (_, Err(_)) => Vec::new(),
        }
    }

    /// Returns the newest time after one moment and not after another.
    pub fn latest(
        &self,
        after: Timestamp,
        until: Timestamp,
        ran: Option<Timestamp>,
        zone: &TimeZone,
    ) -> Option<Timestamp> {
        if let Some(due) = self.counted(ran, zone) {
            return due.filter(|due| *due <= until);
        }
        for hours in WINDOWS {
            let from = until.checked_sub(hours.hours()).unwrap_or(Timestamp::MIN).max(after);
            let newest = self.walk(from, zone).take_while(|at| *at <= until).last();
            if newest.is_some() || from == after {
                return newest;
            }
        }
        None
    }

    /// Returns how many times there are after one moment and not after another; at most one more than [`COUNTED`].
    pub fn count(&self, after: Timestamp, until: Timestamp, zone: &TimeZone) -> usize {
        match self.catches_up() {
            true => 0,
            false => self.walk(after, zone).take_while(|at| *at <= until).take(COUNTED + 1).count(),
        }
    }

    /// Returns when it is due that counts from its last run, or from its own date while there was none.
    fn counted(&self, ran: Option<Timestamp>, zone: &TimeZone) -> Option<Option<Timestamp>> {
        let Rhythm::Repeats { start, repeater } = self else { return None };
        if !self.catches_up() {
            return None;
        }
        let Some(ran) = ran else { return Some(moment(*start, zone)) };
        let ran = zone.to_datetime(ran);
        let from = match repeater.unit {
            Unit::Hour => ran,
            Unit::Day | Unit::Week | Unit::Month | Unit::Year => ran.date().to_datetime(start.time()),
        };
        Some(shift(from, *repeater, 1).and_then(|due| moment(due.max(*start), zone)))
    }

    /// Returns the times after a moment, each later than the one before.
    fn walk<'a>(&'a self, after: Timestamp, zone: &'a TimeZone) -> impl Iterator<Item = Timestamp> + 'a {
        let mut at = zone.to_datetime(after).checked_sub(BACK.hours()).unwrap_or(DateTime::MIN);
        let mut last = after;
        std::iter::from_fn(move || {
            loop {
                at = self.civil_after(at)?;
                // The ends of the calendar are no moments everywhere.
                if let Some(here) = moment(at, zone).filter(|here| *here > last) {
                    last = here;
                    return Some(here);
                }
            }
        })
    }

    fn civil_after(&self, at: DateTime) -> Option<DateTime> {
        match self {
            Rhythm::Repeats { start, .. } if *start > at => Some(*start),
            Rhythm::Repeats { start, repeater } => first_after(*start, *repeater, at),
            Rhythm::Cron(cron) => cron.after(at),
        }
    }
}

fn moment(at: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    zone.to_ambiguous_timestamp(at).compatible().ok()
}

fn days(at: DateTime) -> i64 {
    let epoch = jiff::civil::date(1970, 1, 1);
    at.date().duration_since(epoch).as_secs() / 86_400
}

#[cfg(test)]
mod tests;
