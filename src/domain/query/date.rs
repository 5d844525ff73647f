//! Days in queries: `today`, `+7d`, `monday`, `2026-11`, and ranges of them, kept as they were written.
//!
//! A query is kept and asked again tomorrow, so what it says of days gets its meaning only when it is asked.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::{Span, ToSpan};
use std::fmt;

/// A day or a longer stretch of time, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// `2026-11-22`
    Day(Date),
    /// `2026-11`
    Month(i16, i8),
    /// `2026`
    Year(i16),
    /// `yesterday`, `today`, `tomorrow`: days from today.
    Near(i8),
    /// `monday`: the nearest one, which for planning is today or after it and else today or before it.
    Weekday(Weekday),
    /// `last-week`, `this-week`, `next-week`, and of months and years.
    Stretch(i8, Unit),
    /// `+7d`, `-2w`: so far from now.
    Away(i32, Unit),
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `h`
    Hour,
    /// `d`
    Day,
    /// `w`; weeks begin on Monday.
    Week,
    /// `m`
    Month,
    /// `y`
    Year,
}

/// When something must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// In this stretch; `+7d` and `-7d` reach from now to there.
    In(Moment),
    /// From the beginning of the one to the end of the other; an end may be open, not both.
    Range(Option<Moment>, Option<Moment>),
    /// Before it begins.
    Before(Moment),
    /// After it ends.
    After(Moment),
    /// Whenever.
    Any,
    /// Never: there is no such time.
    None,
}

/// Into which direction a bare weekday looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lean {
    /// To come.
    Forward,
    /// Gone.
    Back,
}

/// A resolved stretch: from `from` on, and before `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first moment, if there is a bound.
    pub from: Option<DateTime>,
    /// The first moment behind it, if there is a bound.
    pub to: Option<DateTime>,
}

impl Window {
    /// Returns whether a moment lies in it.
    pub fn contains(&self, at: DateTime) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at < to)
    }

    /// Returns whether a day lies in it: where it begins within a day, that day counts.
    pub fn contains_day(&self, day: Date) -> bool {
        let last = |to: DateTime| if to.time() == Time::midnight() { day < to.date() } else { day <= to.date() };
        self.from.is_none_or(|from| from.date() <= day) && self.to.is_none_or(last)
    }
}

impl When {
    /// Returns the stretch that is meant when it is asked now; `None` for [`When::Any`] and [`When::None`], and where
    /// the calendar ends.
    pub fn window(&self, now: DateTime, lean: Lean) -> Option<Window> {
        let of = |moment: &Moment| moment.stretch(now, lean);
        match self {
            When::In(Moment::Away(count, unit)) => {
                let there = Moment::Away(*count, *unit).stretch(now, lean)?;
                let here = match unit {
                    Unit::Hour => (now, now),
                    Unit::Day | Unit::Week | Unit::Month | Unit::Year => Moment::Near(0).stretch(now, lean)?,
                };
                Some(match *count < 0 {
                    true => Window { from: Some(there.0), to: Some(here.1) },
                    false => Window { from: Some(here.0), to: Some(there.1) },
                })
            }
            When::In(moment) => of(moment).map(|(from, to)| Window { from: Some(from), to: Some(to) }),
            When::Range(from, to) => {
                let from = match from {
                    Some(from) => Some(of(from)?.0),
                    None => None,
                };
                let to = match to {
                    Some(to) => Some(of(to)?.1),
                    None => None,
                };
                Some(Window { from, to })
            }
            When::Before(moment) => of(moment).map(|(from, _)| Window { from: None, to: Some(from) }),
            When::After(moment) => of(moment).map(|(_, to)| Window { from: Some(to), to: None }),
            When::Any | When::None => None,
        }
    }
}

impl Moment {
    /// Returns the first moment of it and the first one behind it.
    fn stretch(self, now: DateTime, lean: Lean) -> Option<(DateTime, DateTime)> {
        let today = now.date();
        let days = |first: Date, length: Span| {
            Some((first.to_datetime(Time::midnight()), first.checked_add(length).ok()?.to_datetime(Time::midnight())))
        };
        match self {
            Moment::Day(date) => days(date, 1.day()),
            Moment::Month(year, month) => days(Date::new(year, month, 1).ok()?, 1.month()),
            Moment::Year(year) => days(Date::new(year, 1, 1).ok()?, 1.year()),
            Moment::Near(offset) => days(today.checked_add(i64::from(offset).days()).ok()?, 1.day()),
            Moment::Weekday(weekday) => {
                let ahead = i64::from(today.weekday().until(weekday));
                let offset = match lean {
                    Lean::Forward => ahead,
                    Lean::Back if ahead == 0 => 0,
                    Lean::Back => ahead - 7,
                };
                days(today.checked_add(offset.days()).ok()?, 1.day())
            }
            Moment::Stretch(offset, unit) => {
                let offset = i64::from(offset);
                let (first, length) = match unit {
                    Unit::Hour | Unit::Day => (today.checked_add(offset.days()).ok()?, 1.day()),
                    Unit::Week => {
                        let monday = i64::from(today.weekday().to_monday_zero_offset());
                        (today.checked_add((offset * 7 - monday).days()).ok()?, 7.days())
                    }
                    Unit::Month => (today.first_of_month().checked_add(offset.months()).ok()?, 1.month()),
                    Unit::Year => (today.first_of_year().checked_add(offset.years()).ok()?, 1.year()),
                };
                days(first, length)
            }
            Moment::Away(count, unit) => {
                let count = i64::from(count);
                let there = match unit {
                    Unit::Hour => {
                        let there = now.checked_add(count.hours()).ok()?;
                        return Some((there, there));
                    }
                    Unit::Day => today.checked_add(count.days()),
                    Unit::Week => today.checked_add((count * 7).days()),
                    Unit::Month => today.checked_add(Span::new().try_months(count).ok()?),
                    Unit::Year => today.checked_add(Span::new().try_years(count).ok()?),
                };
                days(there.ok()?, 1.day())
            }
        }
    }
}

/// Weekdays by name; three letters are enough.
const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

/// Words for stretches around now.
const STRETCHES: [(&str, i8, Unit); 9] = [
    ("last-week", -1, Unit::Week),
    ("this-week", 0, Unit::Week),
    ("next-week", 1, Unit::Week),
    ("last-month", -1, Unit::Month),
    ("this-month", 0, Unit::Month),
    ("next-month", 1, Unit::Month),
    ("last-year", -1, Unit::Year),
    ("this-year", 0, Unit::Year),
    ("next-year", 1, Unit::Year),
];

/// How far away a moment may be, in its unit.
const FARTHEST: i32 = 10_000;

/// Returns every word that names a moment, for suggestions.
pub fn words() -> impl Iterator<Item = &'static str> {
    ["today", "tomorrow", "yesterday", "any", "none"]
        .into_iter()
        .chain(WEEKDAYS.iter().map(|(name, _)| *name))
        .chain(STRETCHES.iter().map(|(name, _, _)| *name))
}

/// Reads a moment; `None` when the text is none.
pub fn moment(text: &str) -> Option<Moment> {
    let text = text.trim_matches(['<', '[', '>', ']']).to_lowercase();
    match text.as_str() {
        "today" | "now" => return Some(Moment::Near(0)),
        "tomorrow" => return Some(Moment::Near(1)),
        "yesterday" => return Some(Moment::Near(-1)),
        _ => {}
    }
    if let Some((_, weekday)) = WEEKDAYS.iter().find(|(name, _)| *name == text || name.get(..3) == Some(&text)) {
        return Some(Moment::Weekday(*weekday));
    }
    if let Some((_, offset, unit)) = STRETCHES.iter().find(|(name, _, _)| *name == text) {
        return Some(Moment::Stretch(*offset, *unit));
    }
    away(&text).or_else(|| calendar(&text))
}

fn away(text: &str) -> Option<Moment> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let rest = text.get(1..)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let count: i32 = rest.get(..end)?.parse().ok().filter(|count| *count <= FARTHEST)?;
    let unit = match rest.get(end..)? {
        "h" => Unit::Hour,
        "" | "d" => Unit::Day,
        "w" => Unit::Week,
        "m" => Unit::Month,
        "y" => Unit::Year,
        _ => return None,
    };
    Some(Moment::Away(sign * count, unit))
}

fn calendar(text: &str) -> Option<Moment> {
    let digits = |part: &str, count: usize| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next(), parts.next());
    if parts.next().is_some() || !digits(year, 4) {
        return None;
    }
    let year: i16 = year.parse().ok()?;
    let Some(month) = month else { return Some(Moment::Year(year)) };
    let month: i8 = Some(month).filter(|month| digits(month, 2))?.parse().ok()?;
    let Some(day) = day else {
        return Date::new(year, month, 1).ok().map(|_| Moment::Month(year, month));
    };
    let day: i8 = Some(day).filter(|day| digits(day, 2))?.parse().ok()?;
    Date::new(year, month, day).ok().map(Moment::Day)
}

/// Reads when something must be: a moment, a comparison, a range, `any` or `none`.
///
/// # Errors
/// With the part of the text that is no moment.
pub fn when<'a>(text: &'a str) -> Result<When, &'a str> {
    let one = |part: &'a str| moment(part).ok_or(part);
    match text.to_lowercase().as_str() {
        "any" => return Ok(When::Any),
        "none" => return Ok(When::None),
        _ => {}
    }
    if let Some((from, to)) = text.split_once("..") {
        let end = |part: &'a str| if part.is_empty() { Ok(None) } else { one(part).map(Some) };
        return match (end(from)?, end(to)?) {
            (None, None) => Err(text),
            (from, to) => Ok(When::Range(from, to)),
        };
    }
    for (mark, make) in COMPARISONS {
        if let Some(rest) = text.strip_prefix(mark) {
            return one(rest).map(make);
        }
    }
    one(text).map(When::In)
}

/// Makes what a mark says of a moment.
type MakeWhen = fn(Moment) -> When;

/// Marks before a moment; longer ones first. Those with a word are org-ql's.
const COMPARISONS: [(&str, MakeWhen); 8] = [
    ("<=", |moment| When::Range(None, Some(moment))),
    (">=", |moment| When::Range(Some(moment), None)),
    ("<", When::Before),
    (">", When::After),
    ("=", |moment| When::Range(Some(moment), Some(moment))),
    ("on=", When::In),
    ("from=", |moment| When::Range(Some(moment), None)),
    ("to=", |moment| When::Range(None, Some(moment))),
];

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::Day(date) => write!(f, "{date}"),
            Moment::Month(year, month) => write!(f, "{year:04}-{month:02}"),
            Moment::Year(year) => write!(f, "{year:04}"),
            Moment::Near(offset) => f.write_str(match offset {
                ..=-1 => "yesterday",
                0 => "today",
                1.. => "tomorrow",
            }),
            Moment::Weekday(weekday) => {
                let name = WEEKDAYS.iter().find(|(_, known)| known == weekday);
                f.write_str(name.map_or("monday", |(name, _)| name))
            }
            Moment::Stretch(offset, unit) => {
                let which = match offset {
                    ..=-1 => "last",
                    0 => "this",
                    1.. => "next",
                };
                let what = match unit {
                    Unit::Month => "month",
                    Unit::Year => "year",
                    Unit::Hour | Unit::Day | Unit::Week => "week",
                };
                write!(f, "{which}-{what}")
            }
            Moment::Away(count, unit) => {
                let unit = match unit {
                    Unit::Hour => 'h',
                    Unit::Day => 'd',
                    Unit::Week => 'w',
                    Unit::Month => 'm',
                    Unit::Year => 'y',
                };
                write!(f, "{count:+}{unit}")
            }
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |moment: &Option<Moment>| moment.map(|moment| moment.to_string()).unwrap_or_default();
        match self {
            When::In(moment) => write!(f, "{moment}"),
            When::Range(from, to) => write!(f, "{}..{}", end(from), end(to)),
            When::Before(moment) => write!(f, "<{moment}"),
            When::After(moment) => write!(f, ">{moment}"),
            When::Any => f.write_str("any"),
            When::None => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn what_days_mean() {
        // A Sunday.
        let now = date(2026, 11, 22).at(9, 30, 0, 0);
        for (text, lean, expected) in [
            ("today", Lean::Forward, "2026-11-22..2026-11-23"),
            ("yesterday", Lean::Forward, "2026-11-21..2026-11-22"),
            ("monday", Lean::Forward, "2026-11-23..2026-11-24"),
            ("mon", Lean::Back, "2026-11-16..2026-11-17"),
            ("sunday", Lean::Forward, "2026-11-22..2026-11-23"),
            ("sunday", Lean::Back, "2026-11-22..2026-11-23"),
            ("this-week", Lean::Forward, "2026-11-16..2026-11-23"),
            ("next-month", Lean::Forward, "2026-12-01..2027-01-01"),
            ("last-year", Lean::Forward, "2025-01-01..2026-01-01"),
            ("2026-12", Lean::Forward, "2026-12-01..2027-01-01"),
            ("2024", Lean::Forward, "2024-01-01..2025-01-01"),
            ("+7d", Lean::Forward, "2026-11-22..2026-11-30"),
            ("-2w", Lean::Forward, "2026-11-08..2026-11-23"),
            ("=+7d", Lean::Forward, "2026-11-29..2026-11-30"),
            ("<2026-12", Lean::Forward, "..2026-12-01"),
            ("<=2026-12", Lean::Forward, "..2027-01-01"),
            (">2026-12", Lean::Forward, "2027-01-01.."),
            (">=today", Lean::Forward, "2026-11-22.."),
            ("today..+1w", Lean::Forward, "2026-11-22..2026-11-30"),
            ("..yesterday", Lean::Forward, "..2026-11-22"),
            ("+1m", Lean::Forward, "2026-11-22..2026-12-23"),
            ("from=<2026-11-01>", Lean::Forward, "2026-11-01.."),
        ] {
            let window = when(text).unwrap_or_else(|part| panic!("{text}: {part}")).window(now, lean);
            let window = window.unwrap_or_else(|| panic!("{text} has no window"));
            let day = |at: Option<DateTime>| at.map(|at| at.date().to_string()).unwrap_or_default();
            assert_eq!(format!("{}..{}", day(window.from), day(window.to)), expected, "{text}");
        }
        let hours = when("-3h").expect("a moment").window(now, Lean::Back).expect("a window");
        assert_eq!(hours.from, Some(date(2026, 11, 22).at(6, 30, 0, 0)));
    }

    #[test]
    fn what_is_no_day_is_named() {
        for (text, part) in [
            ("2026-13", "2026-13"),
            ("2026-02-30", "2026-02-30"),
            ("todya", "todya"),
            ("today..later", "later"),
            ("..", ".."),
            ("<", ""),
            ("+99999999999d", "+99999999999d"),
            ("+7q", "+7q"),
            ("", ""),
        ] {
            assert_eq!(when(text), Err(part), "{text}");
        }
    }

    #[test]
    fn the_ends_of_the_calendar_do_not_break() {
        let now = date(9999, 12, 31).at(23, 59, 0, 0);
        for text in ["tomorrow", "+10000y", "-10000y", "9999", "9999-12-31", "next-year", "0000", "-10000m"] {
            if let Ok(when) = when(text) {
                let _ = when.window(now, Lean::Forward);
            }
        }
    }
}
