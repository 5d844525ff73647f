//! Days: today, next week, in three days, 25 Nov, the end of the month.

use crate::domain::recall::date::{Days, Lean, Read, Scan, clock, weekday};
use jiff::civil::{Date, DateTime, ISOWeekDate, Weekday};

mod absolute;

pub use absolute::impossible;
use absolute::{eat_year, iso, ordinal};

/// Reads a day or a run of days.
pub(super) fn day(scan: Scan<'_>, now: DateTime, lean: Lean, introduced: bool) -> Read<'_> {
    let rules = Rules { today: now.date(), lean, introduced };
    rules
        .fixed(scan)
        .or_else(|| rules.edge_of_period(scan))
        .or_else(|| rules.counted(scan))
        .or_else(|| rules.period(scan))
        .or_else(|| rules.week_number(scan))
        .or_else(|| rules.absolute(scan))
        .or_else(|| rules.weekday(scan))
        .or_else(|| rules.year(scan))
}

/// Reads a number in digits or words, or “a”.
pub(super) fn number(scan: &mut Scan<'_>) -> Option<i64> {
    if scan.phrase("a couple of") || scan.phrase("a couple") {
        return Some(2);
    }
    if scan.phrase("a few") {
        return Some(3);
    }
    let word = scan.peek()?;
    let found = match word {
        "a" | "an" | "one" => 1,
        "two" => 2,
        "three" | "few" => 3,
        "four" => 4,
        "five" => 5,
        "six" => 6,
        "seven" => 7,
        "eight" => 8,
        "nine" => 9,
        "ten" => 10,
        "eleven" => 11,
        "twelve" => 12,
        "fourteen" => 14,
        "twenty" => 20,
        "thirty" => 30,
        digits if digits.len() <= 4 && digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok()?,
        _ => return None,
    };
    scan.at += 1;
    Some(found)
}

#[derive(Clone, Copy)]
struct Rules {
    today: Date,
    lean: Lean,
    introduced: bool,
}

#[derive(Clone, Copy)]
enum Unit {
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl Rules {
    fn fixed(self, mut scan: Scan<'_>) -> Read<'_> {
        let start = scan;
        scan.eat(&["the"]);
        if scan.phrase("day after tomorrow") {
            return Some((Days::day(shift(self.today, 2, Unit::Day)?), scan));
        }
        if scan.phrase("day before yesterday") {
            return Some((Days::day(shift(self.today, -2, Unit::Day)?), scan));
        }
        scan = start;
        let date = match scan.take()? {
            "today" => self.today,
            "tonight" => {
                let time = jiff::civil::Time::new(20, 0, 0, 0).ok()?;
                return Some((Days { time: Some(time), ..Days::day(self.today) }, scan));
            }
            "tomorrow" | "tmrw" | "tomorow" | "tommorow" | "tommorrow" => self.today.tomorrow().ok()?,
            "yesterday" => self.today.yesterday().ok()?,
            _ => return None,
        };
        if scan.phrase("week") {
            return Some((Days::day(shift(date, 1, Unit::Week)?), scan));
        }
        Some((Days::day(date), scan))
    }

    /// “(the) end of (the|this|next) month”, “beginning of December”, “middle of next week”.
    fn edge_of_period(self, mut scan: Scan<'_>) -> Read<'_> {
        scan.eat(&["the"]);
        let ordinal = ordinal(scan.peek()?);
        let edge = match scan.take()? {
            "end" => Edge::End,
            "start" | "beginning" => Edge::Start,
            "middle" => Edge::Middle,
            "month" if scan.eat(&["end"]).is_some() => {
                return Some((Days::day(self.today.last_of_month()), scan));
            }
            _ => Edge::Nth(ordinal?),
        };
        scan.eat(&["of"])?;
        let inside = Rules { introduced: true, ..self };
        if scan.eat(&["day"]).is_some() {
            return matches!(edge, Edge::End).then_some((Days::day(self.today), scan));
        }
        let (days, scan) = inside
            .period(scan)
            .or_else(|| inside.bare_period(scan))
            .or_else(|| inside.month_alone(scan))
            .or_else(|| inside.year(scan))?;
        let date = match edge {
            Edge::End => days.to,
            Edge::Start => days.from,
            Edge::Middle => {
                let half = (days.to.day_of_year() as i64 - days.from.day_of_year() as i64) / 2;
                shift(days.from, half.max(0), Unit::Day)?
            }
            Edge::Nth(n) => shift(days.from, n - 1, Unit::Day).filter(|date| *date <= days.to)?,
        };
        Some((Days::day(date), scan))
    }

    /// “in 3 days”, “two weeks ago”, “a week from Friday”, “the next 3 days”, “within a week”.
    fn counted(self, mut scan: Scan<'_>) -> Read<'_> {
        if scan.eat(&["within"]).is_some() {
            scan.eat(&["the"]);
            scan.eat(&["next"]);
            let (count, unit) = amount(&mut scan)?;
            return Some((Days { from: self.today, to: shift(self.today, count, unit)?, time: None }, scan));
        }
        let mut ahead = scan;
        ahead.eat(&["the"]);
        if let Some(word) = ahead.eat(&["next", "coming", "following", "last", "past", "previous"]) {
            // “next week” is a calendar week; “next 2 weeks” counts from today.
            let (count, unit) = amount(&mut ahead)?;
            let days = match word {
                "next" | "coming" | "following" => {
                    Days { from: self.today, to: shift(self.today, count, unit)?, time: None }
                }
                _ => Days { from: shift(self.today, -count, unit)?, to: self.today, time: None },
            };
            return Some((days, ahead));
        }
        if scan.eat(&["in"]).is_some() {
            let (count, unit) = amount(&mut scan)?;
            scan.phrase("from now");
            let days = Days::day(shift(self.today, count, unit)?);
            scan.eat(&["time"]);
            return Some((days, scan));
        }
        let (count, unit) = amount(&mut scan)?;
        if scan.eat(&["ago", "back", "earlier"]).is_some() {
            return Some((Days::day(shift(self.today, -count, unit)?), scan));
        }
        let sign = match scan.eat(&["from", "after", "before"])? {
            "before" => -1,
            _ => 1,
        };
        if scan.eat(&["now"]).is_some() {
            return Some((Days::day(shift(self.today, sign * count, unit)?), scan));
        }
        let inside = Rules { introduced: true, ..self };
        let (days, scan) = inside.fixed(scan).or_else(|| inside.weekday(scan)).or_else(|| inside.absolute(scan))?;
        Some((Days::day(shift(days.from, sign * count, unit)?), scan))
    }

    /// “this week”, “next month”, “last year”, “the weekend”, “this morning”.
    fn period(self, mut scan: Scan<'_>) -> Read<'_> {
        scan.eat(&["the"]);
        let which = scan.eat(&["this", "current", "next", "coming", "following", "last", "past", "previous"]);
        let steps = match which {
            Some("this" | "current") | None => 0,
            Some("next" | "coming" | "following") => 1,
            Some(_) => -1,
        };
        if which == Some("this")
            && let Some(time) = clock_part(&mut scan)
        {
            return Some((Days { time: Some(time), ..Days::day(self.today) }, scan));
        }
        if scan.eat(&["weekend"]).is_some() {
            let monday = shift(monday_of(self.today)?, steps, Unit::Week)?;
            let from = shift(monday, 5, Unit::Day)?;
            return Some((Days { from, to: shift(from, 1, Unit::Day)?, time: None }, scan));
        }
        which?;
        let unit = unit(scan.take()?)?;
        if matches!(unit, Unit::Day) {
            let date = shift(self.today, steps, Unit::Day)?;
            return Some((Days::day(date), scan));
        }
        Some((self.whole(unit, steps)?, scan))
    }

    /// “week”, “month”, after “the end of the”.
    fn bare_period(self, mut scan: Scan<'_>) -> Read<'_> {
        scan.eat(&["the", "my"]);
        let unit = unit(scan.take()?)?;
        Some((self.whole(unit, 0)?, scan))
    }

    fn whole(self, unit: Unit, steps: i64) -> Option<Days> {
        let from = match unit {
            Unit::Day => self.today,
            Unit::Week => monday_of(self.today)?,
            Unit::Month => self.today.first_of_month(),
            Unit::Quarter => {
                let month = (self.today.month() - 1) / 3 * 3 + 1;
                Date::new(self.today.year(), month, 1).ok()?
            }
            Unit::Year => self.today.first_of_year(),
        };
        let from = shift(from, steps, unit)?;
        let to = shift(shift(from, 1, unit)?, -1, Unit::Day)?;
        Some(Days { from, to, time: None })
    }

    /// “week 48”, “W48”, “2026-W48”.
    fn week_number(self, mut scan: Scan<'_>) -> Read<'_> {
        scan.eat(&["calendar"]);
        let word = scan.take()?;
        let (year, week) = if matches!(word, "week" | "kw") {
            (self.today.year(), scan.take()?)
        } else if let Some((year, week)) = word.split_once("-w") {
            (year.parse().ok()?, week)
        } else {
            (self.today.year(), word.strip_prefix('w')?)
        };
        let week: i8 = week.parse().ok().filter(|_| week.len() <= 2)?;
        let monday = ISOWeekDate::new(year, week, Weekday::Monday).ok()?.date();
        Some((Days { from: monday, to: shift(monday, 6, Unit::Day)?, time: None }, scan))
    }

    /// “Friday”, “next Friday”, “last Friday”, “Friday 27 November”, “Friday week”, “Friday next week”.
    fn weekday(self, mut scan: Scan<'_>) -> Read<'_> {
        let which = scan.eat(&["this", "next", "coming", "last", "past", "previous"]);
        let name = weekday(scan.take()?, self.introduced || which.is_some())?;
        if which.is_none() {
            // The weekday only adorns a date that follows.
            if let Some(read) = (Rules { introduced: true, ..self }).absolute_day(scan) {
                return Some(read);
            }
        }
        let mut ahead = scan;
        if ahead.phrase("week") {
            return Some((Days::day(shift(self.first_from_today(name)?, 1, Unit::Week)?), ahead));
        }
        if ahead.phrase("next week") || ahead.phrase("of next week") {
            return Some((Days::day(self.in_week(name, 1)?), ahead));
        }
        if ahead.phrase("this week") || ahead.phrase("of this week") {
            return Some((Days::day(self.in_week(name, 0)?), ahead));
        }
        if ahead.phrase("last week") || ahead.phrase("of last week") {
            return Some((Days::day(self.in_week(name, -1)?), ahead));
        }
        let date = match which {
            Some("next") => self.in_week(name, 1)?,
            Some("last" | "past" | "previous") => self.latest_until(name, self.today.yesterday().ok()?)?,
            None | Some("this") if self.lean == Lean::Past => self.latest_until(name, self.today)?,
            _ => self.first_from_today(name)?,
        };
        Some((Days::day(date), scan))
    }

    fn absolute_day(self, scan: Scan<'_>) -> Read<'_> {
        let found = self.absolute(scan).filter(|(days, _)| days.from == days.to);
        // “Friday 3pm” has no date behind the weekday.
        let mut ahead = scan;
        let time = clock(&mut ahead, false).is_some() && iso(scan.peek().unwrap_or("")).is_none();
        if time { None } else { found }
    }

    /// “in 2025”, “2026”.
    fn year(self, mut scan: Scan<'_>) -> Read<'_> {
        if !self.introduced {
            return None;
        }
        let year = eat_year(&mut scan)?;
        Some((Days { from: Date::new(year, 1, 1).ok()?, to: Date::new(year, 12, 31).ok()?, time: None }, scan))
    }

    fn first_from_today(self, name: Weekday) -> Option<Date> {
        let ahead = i64::from(name.since(self.today.weekday()));
        shift(self.today, ahead, Unit::Day)
    }

    fn latest_until(self, name: Weekday, last: Date) -> Option<Date> {
        shift(last, -i64::from(last.weekday().since(name)), Unit::Day)
    }

    fn in_week(self, name: Weekday, steps: i64) -> Option<Date> {
        let monday = shift(monday_of(self.today)?, steps, Unit::Week)?;
        shift(monday, i64::from(name.to_monday_zero_offset()), Unit::Day)
    }
}

enum Edge {
    Start,
    Middle,
    End,
    Nth(i64),
}

fn amount(scan: &mut Scan<'_>) -> Option<(i64, Unit)> {
    let mut ahead = *scan;
    let count = number(&mut ahead)?;
    let word = ahead.take()?;
    let (count, unit) = match word {
        "fortnight" | "fortnights" => (count.checked_mul(2)?, Unit::Week),
        word => (count, unit(word)?),
    };
    *scan = ahead;
    Some((count, unit))
}

fn unit(word: &str) -> Option<Unit> {
    match word {
        "day" | "days" => Some(Unit::Day),
        "week" | "weeks" => Some(Unit::Week),
        "month" | "months" => Some(Unit::Month),
        "quarter" | "quarters" => Some(Unit::Quarter),
        "year" | "years" => Some(Unit::Year),
        _ => None,
    }
}

fn shift(date: Date, count: i64, unit: Unit) -> Option<Date> {
    let span = jiff::Span::new();
    let span = match unit {
        Unit::Day => span.try_days(count),
        Unit::Week => span.try_weeks(count),
        Unit::Month => span.try_months(count),
        Unit::Quarter => span.try_months(count.checked_mul(3)?),
        Unit::Year => span.try_years(count),
    };
    date.checked_add(span.ok()?).ok()
}

fn monday_of(date: Date) -> Option<Date> {
    shift(date, -i64::from(date.weekday().to_monday_zero_offset()), Unit::Day)
}

fn clock_part(scan: &mut Scan<'_>) -> Option<jiff::civil::Time> {
    super::part_of_day(scan)
}
