//! Days and times of day in words, read from the beginning of a list of tokens.
//!
//! Conventions, where English leaves a choice:
//! weeks begin on Monday; “Friday”, “on Friday” and “this Friday” are the first Friday from today on;
//! “next Friday” is the Friday of the coming calendar week; “last Friday” is the latest one before today.
//! In looking back (“since Monday”) a bare weekday is the latest one up to today.
//! `25.11.` is day and month; `11/25` is month and day unless only the other reading is a date (`25/11`).
//! A day without a year is the first from today on for what shall be done, the latest for what was,
//! and the nearest for a question about what is.
//! A bare hour from 1 to 6 (“at 3”) is in the afternoon.

use crate::domain::recall::token::Token;
use jiff::civil::{Date, DateTime, Time, Weekday};

mod calendar;
mod clock;

pub use calendar::impossible;
pub use clock::{clock, part_of_day};

/// Which of several days is meant when words leave it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lean {
    /// The first from today on.
    Coming,
    /// The latest up to today.
    Past,
    /// The nearest to today.
    Nearest,
}

/// Days that words name, and perhaps a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Days {
    /// The first day.
    pub from: Date,
    /// The last day.
    pub to: Date,
    /// The time of day.
    pub time: Option<Time>,
}

impl Days {
    fn day(date: Date) -> Days {
        Days { from: date, to: date, time: None }
    }
}

/// A place in a list of words. Copying it is how a rule tries and goes back.
#[derive(Clone, Copy)]
pub struct Scan<'t> {
    words: &'t [Token],
    /// How many words were read.
    pub at: usize,
}

impl<'t> Scan<'t> {
    /// Starts at the first of some words.
    pub fn new(words: &'t [Token]) -> Scan<'t> {
        Scan { words, at: 0 }
    }

    /// Returns the next word, unless it is quoted or there is none.
    pub fn peek(&self) -> Option<&'t str> {
        self.words.get(self.at).filter(|token| !token.quoted).map(|token| token.word.as_str())
    }

    /// Returns the next token.
    pub fn token(&self) -> Option<&'t Token> {
        self.words.get(self.at)
    }

    /// Takes the next word and returns it.
    pub fn take(&mut self) -> Option<&'t str> {
        let word = self.peek()?;
        self.at += 1;
        Some(word)
    }

    /// Takes the next word when it is one of these.
    pub fn eat(&mut self, words: &[&str]) -> Option<&'t str> {
        self.peek().filter(|word| words.contains(word))?;
        self.take()
    }

    /// Takes a phrase, word by word; takes nothing when it does not stand here.
    pub fn phrase(&mut self, phrase: &str) -> bool {
        let mut scan = *self;
        for word in phrase.split(' ') {
            if scan.eat(&[word]).is_none() {
                return false;
            }
        }
        *self = scan;
        true
    }
}

/// Reads a day, days or a time from the beginning of some words.
///
/// `introduced` says that a word such as “on” stood before them: only then are short names of weekdays,
/// “May”, a bare hour or a year taken for dates. Returns what was read and how many words it took.
pub fn days(words: &[Token], now: DateTime, lean: Lean, introduced: bool) -> Option<(Days, usize)> {
    let scan = Scan::new(words);
    time_then_day(scan, now, lean)
        .or_else(|| day_then_time(scan, now, lean, introduced))
        .or_else(|| delay(scan, now))
        .or_else(|| time_alone(scan, now))
        .map(|(days, scan)| (days, scan.at))
}

type Read<'t> = Option<(Days, Scan<'t>)>;

/// “at 15:00 on Friday”, “3pm tomorrow”.
fn time_then_day(mut scan: Scan<'_>, now: DateTime, lean: Lean) -> Read<'_> {
    let introduced = scan.eat(&["at", "around"]).is_some();
    let time = clock(&mut scan, introduced)?;
    let on = scan.eat(&["on"]).is_some();
    let (days, scan) = calendar::day(scan, now, lean, on)?;
    Some((Days { time: Some(time), ..days }, scan))
}

/// “Friday”, “Friday at 15:00”, “Monday morning”, “tomorrow, 3pm”.
fn day_then_time(scan: Scan<'_>, now: DateTime, lean: Lean, introduced: bool) -> Read<'_> {
    let (days, scan) = calendar::day(scan, now, lean, introduced)?;
    if days.from != days.to {
        return Some((days, scan));
    }
    let mut after = scan;
    let at = after.eat(&["at", "around"]).is_some();
    let in_the = !at && after.phrase("in the");
    let time = match part_of_day(&mut after) {
        Some(time) => Some(time),
        None if in_the => None,
        None => clock(&mut after, at),
    };
    let Some(time) = time else { return Some((days, scan)) };
    // “tonight at 8”, “this afternoon at 3”.
    let late = days.time.is_some_and(|part| part.hour() >= 12) && time.hour() < 12;
    let hour = if late { time.hour() + 12 } else { time.hour() };
    Some((Days { time: Time::new(hour, time.minute(), 0, 0).ok(), ..days }, after))
}

/// “in two hours”, “in 30 minutes”.
fn delay(mut scan: Scan<'_>, now: DateTime) -> Read<'_> {
    scan.eat(&["in"])?;
    let count = calendar::number(&mut scan)?;
    let minutes = match scan.take()? {
        "hour" | "hours" | "h" => count.checked_mul(60)?,
        "minute" | "minutes" | "min" | "mins" => count,
        _ => return None,
    };
    let span = jiff::Span::new().try_minutes(minutes).ok()?;
    let then = now.checked_add(span).ok()?;
    let time = Time::new(then.hour(), then.minute(), 0, 0).ok()?;
    Some((Days { time: Some(time), ..Days::day(then.date()) }, scan))
}

/// “at 15:00”: today, or tomorrow when that has passed.
fn time_alone(mut scan: Scan<'_>, now: DateTime) -> Read<'_> {
    let introduced = scan.eat(&["at"]).is_some();
    let time = match introduced.then(|| part_of_day(&mut scan)).flatten() {
        Some(time) => time,
        None => clock(&mut scan, introduced)?,
    };
    let date = if time > now.time() { now.date() } else { now.date().tomorrow().ok()? };
    Some((Days { time: Some(time), ..Days::day(date) }, scan))
}

/// Reads the name of a weekday; short names only where a date is expected.
pub(crate) fn weekday(word: &str, introduced: bool) -> Option<Weekday> {
    let full = match word {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        "mon" if introduced => Weekday::Monday,
        "tue" | "tues" if introduced => Weekday::Tuesday,
        "wed" | "weds" if introduced => Weekday::Wednesday,
        "thu" | "thur" | "thurs" if introduced => Weekday::Thursday,
        "fri" if introduced => Weekday::Friday,
        "sat" if introduced => Weekday::Saturday,
        "sun" if introduced => Weekday::Sunday,
        _ => return None,
    };
    Some(full)
}
