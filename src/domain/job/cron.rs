//! Cron lines: minute, hour, day of the month, month, day of the week, as cron itself reads them.
//!
//! A line knows the wall clock alone; time zones are [`super::rhythm`]'s. [ADR 0012] says why this is no library.
//!
//! [ADR 0012]: ../../../../docs/adr/0012-cron-lines.org

use jiff::ToSpan;
use jiff::civil::{Date, DateTime};
use std::ops::RangeInclusive;

/// The 29th of February comes again after eight years at the latest.
const DAYS: usize = 366 * 9;
/// A longer line is none.
const LONGEST: usize = 200;
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A cron line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    text: String,
    /// One bit for each value, in the order of the fields.
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether a day must fit both its fields: one of them begins with a star, and leaves all to the other one.
    both: bool,
}

impl Cron {
    /// Reads a line of five fields.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn parse(line: &str) -> Result<Cron, String> {
        if line.len() > LONGEST {
            return Err(format!("a cron line has at most {LONGEST} characters"));
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(format!(
                "a cron line has five fields, minute, hour, day, month and day of the week, as in 0 8 * * 1-5, not “{}”",
                line.trim()
            ));
        };
        let weekdays = field(weekday, 0..=7, &WEEKDAYS, "day of the week")?;
        let cron = Cron {
            text: fields.join(" "),
            minutes: field(minute, 0..=59, &[], "minute")?,
            hours: field(hour, 0..=23, &[], "hour")?,
            days: field(day, 1..=31, &[], "day")?,
            months: field(month, 1..=12, &MONTHS, "month")?,
            // Sunday is 0 and 7.
            weekdays: (weekdays | weekdays >> 7) & 0x7f,
            both: day.starts_with('*') || weekday.starts_with('*'),
        };
        // A day that no year has is a slip, and would never be noticed.
        match cron.after(jiff::civil::date(2000, 1, 1).at(0, 0, 0, 0)) {
            Some(_) => Ok(cron),
            None => Err(format!("no year has a day for the cron line “{}”", cron.text)),
        }
    }

    /// Returns the line with single blanks.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the first minute after a time; `None` beyond the calendar.
    pub fn after(&self, at: DateTime) -> Option<DateTime> {
        let next = at.checked_add(1.minutes()).ok()?;
        let (mut date, mut first) = (next.date(), (next.hour(), next.minute()));
        for _ in 0..DAYS {
            if self.has(date)
                && let Some((hour, minute)) = self.time_from(first)
            {
                return Some(date.at(hour, minute, 0, 0));
            }
            date = date.tomorrow().ok()?;
            first = (0, 0);
        }
        None
    }

    fn has(&self, date: Date) -> bool {
        let (day, weekday) = (bit(self.days, date.day()), bit(self.weekdays, date.weekday().to_sunday_zero_offset()));
        bit(self.months, date.month()) && if self.both { day && weekday } else { day || weekday }
    }

    /// Returns the first time of a day that fits, from an hour and a minute on.
    fn time_from(&self, (hour, minute): (i8, i8)) -> Option<(i8, i8)> {
        let within = (minute..60).find(|minute| bit(self.minutes, *minute)).filter(|_| bit(self.hours, hour));
        within.map(|minute| (hour, minute)).or_else(|| {
            let hour = (hour.checked_add(1)?..24).find(|hour| bit(self.hours, *hour))?;
            (0..60).find(|minute| bit(self.minutes, *minute)).map(|minute| (hour, minute))
        })
    }
}

fn bit(bits: u64, at: i8) -> bool {
    u32::try_from(at).is_ok_and(|at| bits.checked_shr(at).is_some_and(|bits| bits & 1 == 1))
}

/// Reads a field: parts with commas, each a value or a range, perhaps with a step.
fn field(text: &str, range: RangeInclusive<u32>, names: &[&str], what: &str) -> Result<u64, String> {
    let wrong = || {
        let (least, most) = (range.start(), range.end());
        format!("“{text}” is no {what} of a cron line: write *, a number from {least} to {most}, 1-5, 1,3 or */2")
    };
    let value = |word: &str| {
        let named = names.iter().position(|name| word.eq_ignore_ascii_case(name)).and_then(|at| u32::try_from(at).ok());
        // Months are counted from 1, days of the week from 0.
        let named = named.map(|at| if *range.start() == 1 { at + 1 } else { at });
        let digits = !word.is_empty() && word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
        let number = || digits.then(|| word.parse().ok()).flatten();
        named.or_else(number).filter(|number| range.contains(number))
    };
    let mut bits = 0;
    for part in text.split(',') {
        let (span, step) = match part.split_once('/') {
            None => (part, None),
            Some((span, step)) => {
                let digits = !step.is_empty() && step.len() <= 2 && step.bytes().all(|byte| byte.is_ascii_digit());
                let step = digits.then(|| step.parse::<usize>().ok()).flatten().filter(|step| *step > 0);
                (span, Some(step.ok_or_else(wrong)?))
            }
        };
        let (from, to) = match span.split_once('-') {
            None if span == "*" => (*range.start(), *range.end()),
            None => {
                let only = value(span).ok_or_else(wrong)?;
                // From a value on in steps, as many crons have it.
                (only, if step.is_some() { *range.end() } else { only })
            }
            Some((from, to)) => (value(from).ok_or_else(wrong)?, value(to).ok_or_else(wrong)?),
        };
        if from > to {
            return Err(wrong());
        }
        bits = (from..=to).step_by(step.unwrap_or(1)).fold(bits, |bits, at| bits | 1 << at);
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    fn next(line: &str, at: DateTime, count: usize) -> Vec<String> {
        let cron = Cron::parse(line).expect("it is a cron line");
        let times = std::iter::successors(cron.after(at), |at| cron.after(*at));
        times.take(count).map(|at| at.strftime("%a %m-%d %H:%M").to_string()).collect()
    }

    #[test]
    fn lines_are_read_as_cron_reads_them() {
        // A Monday.
        let at = date(2026, 11, 23).at(8, 0, 30, 0);
        for (line, expected) in [
            ("* * * * *", ["Mon 11-23 08:01", "Mon 11-23 08:02"]),
            ("0 8 * * *", ["Tue 11-24 08:00", "Wed 11-25 08:00"]),
            ("*/20 8 * * *", ["Mon 11-23 08:20", "Mon 11-23 08:40"]),
            ("5/30 8 * * *", ["Mon 11-23 08:05", "Mon 11-23 08:35"]),
            ("0 8-10/2,23 * * *", ["Mon 11-23 10:00", "Mon 11-23 23:00"]),
            ("0 0 1 JAN *", ["Fri 01-01 00:00", "Sat 01-01 00:00"]),
            ("0 0 * * sat,SUN", ["Sat 11-28 00:00", "Sun 11-29 00:00"]),
            ("0 0 * * 7", ["Sun 11-29 00:00", "Sun 12-06 00:00"]),
            ("0 0 * * 5-7", ["Fri 11-27 00:00", "Sat 11-28 00:00"]),
            // Both days: either will do.
            ("0 0 13 * 5", ["Fri 11-27 00:00", "Fri 12-04 00:00"]),
            ("0 0 24 * 5", ["Tue 11-24 00:00", "Fri 11-27 00:00"]),
            // A star, in steps as well, leaves it to the other one.
            ("0 0 */2 * 2", ["Tue 12-01 00:00", "Tue 12-15 00:00"]),
            ("0 0 31 * *", ["Thu 12-31 00:00", "Sun 01-31 00:00"]),
            ("59 23 31 12 *", ["Thu 12-31 23:59", "Fri 12-31 23:59"]),
            ("  0   8  * *   * ", ["Tue 11-24 08:00", "Wed 11-25 08:00"]),
        ] {
            assert_eq!(next(line, at, 2), expected, "{line}");
        }
        assert_eq!(Cron::parse(" 0  8 * * * ").map(|cron| cron.text().to_string()), Ok("0 8 * * *".to_string()));
    }

    #[test]
    fn what_is_none_says_why() {
        for line in [
            "",
            "0 8 * *",
            "0 8 * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * 32 * *",
            "* * * 13 *",
            "* * * * 8",
            "*/0 * * * *",
            "5-1 * * * *",
            "a * * * *",
            "1, * * * *",
            "-1 * * * *",
            "* * * * mo",
            "0 0 30 2 *",
            "@daily",
            "1/ * * * *",
            "*5 * * * *",
            "001 * * * *",
            "0 0 L * *",
            "١ * * * *",
        ] {
            let why = Cron::parse(line).expect_err(line);
            assert!(why.len() > 20 && why.contains("cron line"), "{line}: {why}");
        }
        assert!(Cron::parse(&"1,".repeat(200)).is_err());
        assert_eq!(Cron::parse("* * * * *").expect("one").after(DateTime::MAX), None);
    }

    /// Whether a minute fits, field by field and without any shortcut.
    fn fits(fields: &[Vec<i8>; 5], stars: [bool; 2], at: DateTime) -> bool {
        let [minutes, hours, days, months, weekdays] = fields;
        let (day, weekday) = (days.contains(&at.day()), weekdays.contains(&at.weekday().to_sunday_zero_offset()));
        let days = if stars[0] || stars[1] { day && weekday } else { day || weekday };
        minutes.contains(&at.minute()) && hours.contains(&at.hour()) && months.contains(&at.month()) && days
    }

    fn some_field(least: i8, most: i8) -> impl Strategy<Value = (String, Vec<i8>)> {
        let all: Vec<i8> = (least..=most).collect();
        let listed = proptest::collection::btree_set(least..=most, 1..4)
            .prop_map(|set| (set.iter().map(i8::to_string).collect::<Vec<_>>().join(","), set.into_iter().collect()));
        let ranged = (least..=most, least..=most).prop_map(|(a, b)| {
            let (from, to) = (a.min(b), a.max(b));
            (format!("{from}-{to}"), (from..=to).collect())
        });
        let stepped = (2i8..5).prop_map(move |step| {
            (format!("*/{step}"), (least..=most).step_by(usize::try_from(step).unwrap_or(1)).collect())
        });
        prop_oneof![3 => Just(("*".to_string(), all)), 1 => listed, 1 => ranged, 1 => stepped]
    }

    proptest! {
        #[test]
        fn the_next_minute_is_the_first_that_fits(
            minute in some_field(0, 59), hour in some_field(0, 23), day in some_field(1, 31), month in some_field(1, 12),
            weekday in some_field(0, 6), begin in 0i64..20_000_000,
        ) {
            let line = [&minute.0, &hour.0, &day.0, &month.0, &weekday.0].map(String::as_str).join(" ");
            let stars = [day.0.starts_with('*'), weekday.0.starts_with('*')];
            let fields = [minute.1, hour.1, day.1, month.1, weekday.1];
            let Ok(cron) = Cron::parse(&line) else { return Ok(()) };
            let at = date(2000, 1, 1).at(0, 0, 0, 0) + begin.minutes();
            let found = cron.after(at).expect("it comes again");
            prop_assert!(found > at && fits(&fields, stars, found), "{line}: {found}");
            let mut between = (1..).map(|step: i64| at + step.minutes()).take_while(|at| *at < found).take(3_000);
            prop_assert!(between.all(|at| !fits(&fields, stars, at)), "{line}: {found}");
        }
    }
}
