//! Org timestamps: text ↔ value, and how a repeater moves one.
//!
//! Reading is total: what is no timestamp, or names a day that does not exist, gives `None`.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::{Span, ToSpan};
use std::fmt;
use std::ops::Range;

/// The longest text between brackets that is looked at; longer ones are no timestamps.
const MAX_LENGTH: usize = 200;

/// A timestamp such as `<2026-11-21 Sat 10:00-11:00 +1w -2d>` or `[2026-11-21 Sat]--[2026-11-23 Mon]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// `<…>` rather than `[…]`.
    pub active: bool,
    /// The day, or the first day.
    pub date: Date,
    /// The time of day, to the minute.
    pub time: Option<Time>,
    /// What it reaches to.
    pub until: Until,
    /// How it repeats.
    pub repeater: Option<Repeater>,
    /// How long before it warns, or how long after it shows.
    pub delay: Option<Delay>,
    /// Words that Org does not know, kept as they are.
    pub other: Vec<Box<str>>,
}

/// What a timestamp reaches to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Nothing: a moment or a day.
    Open,
    /// A later time of the same day: `10:00-11:00`.
    Time(Time),
    /// Another day: `<…>--<…>`.
    Day(Date, Option<Time>),
}

/// `+1w`, `++1w`, `.+1w`, `.+2d/4d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeater {
    /// Which of the three.
    pub kind: RepeaterKind,
    /// How many units; Org ignores 0.
    pub count: u16,
    /// Of what.
    pub unit: Unit,
    /// A habit's latest day: the part behind the slash.
    pub habit: Option<(u16, Unit)>,
}

/// From where a repeater counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeaterKind {
    /// `+`: from the old date.
    Cumulate,
    /// `++`: from the old date, as often as needed to reach the future.
    CatchUp,
    /// `.+`: from the day it was done.
    Restart,
}

/// `-2d` or `--2d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// `--`: only for the first of a repeating series.
    pub first_only: bool,
    /// How many units.
    pub count: u16,
    /// Of what.
    pub unit: Unit,
}

/// A unit of repeaters and delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `h`
    Hour,
    /// `d`
    Day,
    /// `w`
    Week,
    /// `m`
    Month,
    /// `y`
    Year,
}

impl Timestamp {
    /// Returns an active timestamp of a day.
    pub fn day(date: Date) -> Self {
        Timestamp { active: true, date, time: None, until: Until::Open, repeater: None, delay: None, other: Vec::new() }
    }

    /// Returns an inactive timestamp of a minute, as Org notes when something was closed.
    pub fn inactive(at: DateTime) -> Self {
        Timestamp { active: false, time: Some(minute(at.time())), ..Timestamp::day(at.date()) }
    }

    /// Reads a text that is one timestamp and nothing else but blanks around it.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_matches([' ', '\t']);
        let (stamp, length) = Timestamp::parse_start(text)?;
        (length == text.len()).then_some(stamp)
    }

    /// Reads the timestamp at the start of a text; also returns its length in bytes.
    pub fn parse_start(text: &str) -> Option<(Self, usize)> {
        let (mut stamp, length) = single(text)?;
        if stamp.until != Until::Open {
            return Some((stamp, length));
        }
        let second = text.get(length..).and_then(|rest| rest.strip_prefix("--")).and_then(single);
        match second {
            Some((second, more)) if second.active == stamp.active => {
                stamp.until = Until::Day(second.date, second.time);
                stamp.repeater = stamp.repeater.or(second.repeater);
                stamp.delay = stamp.delay.or(second.delay);
                stamp.other.extend(second.other);
                Some((stamp, length + 2 + more))
            }
            Some(_) | None => Some((stamp, length)),
        }
    }

    /// Returns when it begins; a day without a time begins at midnight.
    pub fn start(&self) -> DateTime {
        self.date.to_datetime(self.time.unwrap_or(Time::midnight()))
    }

    /// Returns the timestamp as Org moves it when a repeating task is done at `now`.
    ///
    /// Nothing when it does not repeat, repeats by 0, or would leave the calendar.
    /// Like Org, a month is added to the month's number: 31 January and a month is 3 March (2 March in leap years).
    pub fn repeated(&self, now: DateTime) -> Option<Self> {
        let repeater = self.repeater.filter(|repeater| repeater.count > 0)?;
        let start = self.start();
        let moved = match repeater.kind {
            RepeaterKind::Cumulate => shift(start, repeater, 1)?,
            RepeaterKind::CatchUp => first_after(start, repeater, now)?,
            RepeaterKind::Restart => {
                let from = match repeater.unit {
                    Unit::Hour => now.date().to_datetime(minute(now.time())),
                    Unit::Day | Unit::Week | Unit::Month | Unit::Year => now.date().to_datetime(start.time()),
                };
                shift(from, repeater, 1)?
            }
        };
        self.moved(start, moved)
    }

    fn moved(&self, from: DateTime, to: DateTime) -> Option<Self> {
        let span = to.duration_since(from);
        let shifted = |at: DateTime| at.checked_add(span).ok();
        let mut stamp = self.clone();
        stamp.date = to.date();
        stamp.time = match self.repeater?.unit {
            Unit::Hour => Some(to.time()),
            Unit::Day | Unit::Week | Unit::Month | Unit::Year => self.time,
        };
        stamp.until = match self.until {
            Until::Open => Until::Open,
            Until::Time(time) => Until::Time(shifted(self.date.to_datetime(time))?.time()),
            Until::Day(date, time) => {
                let end = shifted(date.to_datetime(time.unwrap_or(Time::midnight())))?;
                Until::Day(end.date(), time.map(|_| end.time()))
            }
        };
        Some(stamp)
    }
}

/// Returns every timestamp of a text, with its range in bytes.
pub fn timestamps(text: &str) -> Vec<(Range<usize>, Timestamp)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = memchr::memchr2(b'<', b'[', text.as_bytes().get(at..).unwrap_or_default()) {
        let begin = at + offset;
        at = begin + 1;
        if let Some((stamp, length)) = text.get(begin..).and_then(Timestamp::parse_start) {
            at = begin + length;
            found.push((begin..at, stamp));
        }
    }
    found
}

/// Returns the first time of a series after a moment, not counting its beginning; `None` beyond the calendar.
pub(crate) fn first_after(start: DateTime, repeater: Repeater, now: DateTime) -> Option<DateTime> {
    // At least one step, then on until the future; by halving, as a step may be an hour and the past centuries away.
    let (mut low, mut high) = (0i64, 1i64);
    while shift(start, repeater, high)? <= now {
        low = high;
        high = high.checked_mul(2)?;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if shift(start, repeater, middle).is_none_or(|at| at > now) {
            high = middle;
        } else {
            low = middle;
        }
    }
    shift(start, repeater, high)
}

/// Returns a time so many steps of a repeater later, as Org steps; `None` beyond the calendar.
pub(crate) fn shift(at: DateTime, repeater: Repeater, times: i64) -> Option<DateTime> {
    let count = i64::from(repeater.count).checked_mul(times)?;
    let span = |span: Result<Span, jiff::Error>| span.ok().and_then(|span| at.checked_add(span).ok());
    match repeater.unit {
        Unit::Hour => span(Span::new().try_hours(count)),
        Unit::Day => span(Span::new().try_days(count)),
        Unit::Week => span(Span::new().try_weeks(count)),
        Unit::Month => months(at, count),
        Unit::Year => months(at, count.checked_mul(12)?),
    }
}

/// Adds to the month's number and lets a day that the month lacks run over into the next.
fn months(at: DateTime, count: i64) -> Option<DateTime> {
    let month = i64::from(at.year()) * 12 + i64::from(at.month()) - 1 + count;
    let year = i16::try_from(month.div_euclid(12)).ok()?;
    let first = Date::new(year, i8::try_from(month.rem_euclid(12) + 1).ok()?, 1).ok()?;
    let date = first.checked_add((i64::from(at.day()) - 1).days()).ok()?;
    Some(date.to_datetime(at.time()))
}

fn minute(time: Time) -> Time {
    Time::new(time.hour(), time.minute(), 0, 0).unwrap_or(Time::midnight())
}

/// Reads one pair of brackets.
fn single(text: &str) -> Option<(Timestamp, usize)> {
    let active = text.starts_with('<');
    let inner = text.strip_prefix(if active { '<' } else { '[' })?;
    // The date first: most brackets hold none, and are left at once.
    let date = date(inner.get(..10)?)?;
    let end = if active { b'>' } else { b']' };
    let head = inner.as_bytes().get(..inner.len().min(MAX_LENGTH)).unwrap_or_default();
    let close = head.iter().position(|byte| *byte == end || *byte == b'\n').filter(|at| head.get(*at) == Some(&end))?;
    let inner = inner.get(..close)?;
    let rest = inner.get(10..)?;
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let mut stamp = Timestamp { active, ..Timestamp::day(date) };
    for (index, word) in rest.split_ascii_whitespace().enumerate() {
        read_word(&mut stamp, word, index == 0);
    }
    Some((stamp, close + 2))
}

fn read_word(stamp: &mut Timestamp, word: &str, first: bool) {
    if let Some((time, until)) = clock(word).filter(|_| stamp.time.is_none()) {
        stamp.time = Some(time);
        stamp.until = until.map_or(Until::Open, Until::Time);
    } else if let Some(repeater) = repeater(word).filter(|_| stamp.repeater.is_none()) {
        stamp.repeater = Some(repeater);
    } else if let Some(delay) = delay(word).filter(|_| stamp.delay.is_none()) {
        stamp.delay = Some(delay);
    } else if !(first && word.chars().next().is_some_and(char::is_alphabetic)) {
        // The first word, in letters of any language, is the day of the week, which is printed anew.
        stamp.other.push(word.into());
    }
}

fn date(text: &str) -> Option<Date> {
    let part = |range: Range<usize>| {
        let digits = text.get(range)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i16>().ok())?
    };
    if text.as_bytes().get(4) != Some(&b'-') || text.as_bytes().get(7) != Some(&b'-') {
        return None;
    }
    Date::new(part(0..4)?, i8::try_from(part(5..7)?).ok()?, i8::try_from(part(8..10)?).ok()?).ok()
}

/// `10:00`, `9:30`, `10:00-11:00`, `10:00--11:00`.
fn clock(word: &str) -> Option<(Time, Option<Time>)> {
    match word.split_once('-') {
        None => Some((time(word)?, None)),
        Some((start, end)) => Some((time(start)?, Some(time(end.strip_prefix('-').unwrap_or(end))?))),
    }
}

fn time(word: &str) -> Option<Time> {
    let (hour, minute) = word.split_once(':')?;
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !(1..=2).contains(&hour.len()) || minute.len() != 2 || !digits(hour) || !digits(minute) {
        return None;
    }
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

fn repeater(word: &str) -> Option<Repeater> {
    let (kind, rest) = if let Some(rest) = word.strip_prefix("++") {
        (RepeaterKind::CatchUp, rest)
    } else if let Some(rest) = word.strip_prefix(".+") {
        (RepeaterKind::Restart, rest)
    } else {
        (RepeaterKind::Cumulate, word.strip_prefix('+')?)
    };
    let (main, habit) = match rest.split_once('/') {
        None => (rest, None),
        Some((main, habit)) => (main, Some(amount(habit)?)),
    };
    let (count, unit) = amount(main)?;
    Some(Repeater { kind, count, unit, habit })
}

fn delay(word: &str) -> Option<Delay> {
    let rest = word.strip_prefix('-')?;
    let (first_only, rest) = match rest.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let (count, unit) = amount(rest)?;
    Some(Delay { first_only, count, unit })
}

fn amount(text: &str) -> Option<(u16, Unit)> {
    let unit = match text.as_bytes().last()? {
        b'h' => Unit::Hour,
        b'd' => Unit::Day,
        b'w' => Unit::Week,
        b'm' => Unit::Month,
        b'y' => Unit::Year,
        _ => return None,
    };
    let digits = text.get(..text.len() - 1)?;
    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| digits.parse().ok())?.map(|count| (count, unit))
}

/// Returns the English abbreviation that Org writes.
pub fn weekday(date: Date) -> &'static str {
    match date.weekday() {
        Weekday::Monday => "Mon",
        Weekday::Tuesday => "Tue",
        Weekday::Wednesday => "Wed",
        Weekday::Thursday => "Thu",
        Weekday::Friday => "Fri",
        Weekday::Saturday => "Sat",
        Weekday::Sunday => "Sun",
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.active { ('<', '>') } else { ('[', ']') };
        write!(f, "{open}{} {}", self.date, weekday(self.date))?;
        if let Some(time) = self.time {
            write!(f, " {:02}:{:02}", time.hour(), time.minute())?;
            if let Until::Time(end) = self.until {
                write!(f, "-{:02}:{:02}", end.hour(), end.minute())?;
            }
        }
        if let Some(repeater) = self.repeater {
            write!(f, " {repeater}")?;
        }
        if let Some(delay) = self.delay {
            write!(f, " {}{}{}", if delay.first_only { "--" } else { "-" }, delay.count, delay.unit)?;
        }
        for word in &self.other {
            write!(f, " {word}")?;
        }
        write!(f, "{close}")?;
        if let Until::Day(date, time) = self.until {
            write!(f, "--{open}{date} {}", weekday(date))?;
            if let Some(time) = time {
                write!(f, " {:02}:{:02}", time.hour(), time.minute())?;
            }
            write!(f, "{close}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Repeater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.kind {
            RepeaterKind::Cumulate => "+",
            RepeaterKind::CatchUp => "++",
            RepeaterKind::Restart => ".+",
        };
        write!(f, "{sign}{}{}", self.count, self.unit)?;
        self.habit.map_or(Ok(()), |(count, unit)| write!(f, "/{count}{unit}"))
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Hour => "h",
            Unit::Day => "d",
            Unit::Week => "w",
            Unit::Month => "m",
            Unit::Year => "y",
        })
    }
}
