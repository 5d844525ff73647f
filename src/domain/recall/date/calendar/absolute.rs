//! Days by their number: `2026-11-25`, 25 Nov, 25.11., the 25th, December.

use super::{Rules, Unit, shift};
use crate::domain::recall::date::{Days, Lean, Read, Scan, weekday};
use crate::domain::recall::token::Token;
use jiff::civil::Date;

impl Rules {
    /// `2026-11-25`, `<2026-11-25 Wed 15:00>`, `25.11.`, `11/25`, “25 Nov 2026”, “Nov 25th”, “the 25th”.
    pub(super) fn absolute(self, scan: Scan<'_>) -> Read<'_> {
        let mut ahead = scan;
        if let Some(date) = ahead.take().and_then(iso) {
            // A time may hang on with a T; a weekday's name may follow.
            let time = scan.peek().and_then(|word| word.split_once('t')).and_then(|(_, time)| parse_time(time));
            if ahead.peek().is_some_and(|word| weekday(word, true).is_some()) {
                ahead.at += 1;
            }
            return Some((Days { time, ..Days::day(date) }, ahead));
        }
        let mut ahead = scan;
        if let Some((day, month, year)) = ahead.take().and_then(numeric) {
            return Some((Days::day(self.placed(year, month, day)?), ahead));
        }
        self.day_month(scan).or_else(|| self.month_day(scan)).or_else(|| self.month_alone(scan))
    }

    /// “25 Nov”, “the 25th of November 2026”, “the 25th”.
    fn day_month(self, mut scan: Scan<'_>) -> Read<'_> {
        let the = scan.eat(&["the"]).is_some();
        let word = scan.take()?;
        let day = small_day(word).or_else(|| ordinal(word).filter(|_| the || self.introduced))?;
        let mut ahead = scan;
        ahead.eat(&["of"]);
        if let Some(month) = ahead.take().and_then(|word| month(word, true)) {
            let year = eat_year(&mut ahead);
            return Some((Days::day(self.placed(year, month, day as i8)?), ahead));
        }
        let bare = ordinal(word).is_some() && (the || self.introduced);
        bare.then_some(())?;
        self.nth_of_month(day as i8).map(|date| (Days::day(date), scan))
    }

    /// “Nov 25”, “November 25th, 2026”.
    fn month_day(self, mut scan: Scan<'_>) -> Read<'_> {
        let month = month(scan.take()?, true)?;
        scan.eat(&["the"]);
        let word = scan.take()?;
        let day = small_day(word).or_else(|| ordinal(word))?;
        let year = eat_year(&mut scan);
        Some((Days::day(self.placed(year, month, day as i8)?), scan))
    }

    /// “December”, “in May”, “November 2026”.
    pub(super) fn month_alone(self, mut scan: Scan<'_>) -> Read<'_> {
        let month = month(scan.take()?, self.introduced)?;
        let year = eat_year(&mut scan);
        let from = match year {
            Some(year) => Date::new(year, month, 1).ok()?,
            None => {
                let first = self.today.first_of_month();
                let ahead = i64::from((month - first.month()).rem_euclid(12));
                let steps = match self.lean {
                    Lean::Coming => ahead,
                    Lean::Past => ahead - if ahead > 0 { 12 } else { 0 },
                    Lean::Nearest => ahead - if ahead > 6 { 12 } else { 0 },
                };
                shift(first, steps, Unit::Month)?
            }
        };
        Some((Days { from, to: from.last_of_month(), time: None }, scan))
    }

    /// Puts a day without a year where the lean says.
    fn placed(self, year: Option<i16>, month: i8, day: i8) -> Option<Date> {
        if let Some(year) = year {
            return Date::new(year, month, day).ok();
        }
        let this = self.today.year();
        // Eight years reach the next 29 February.
        let years = |step: i16| (0..=8).filter_map(move |n| Date::new(this.checked_add(step * n)?, month, day).ok());
        let coming = years(1).find(|date| *date >= self.today);
        let past = years(-1).find(|date| *date <= self.today);
        match self.lean {
            Lean::Coming => coming,
            Lean::Past => past,
            Lean::Nearest => nearest(self.today, past, coming),
        }
    }

    fn nth_of_month(self, day: i8) -> Option<Date> {
        let first = self.today.first_of_month();
        let months = |step: i64| {
            (0..=2).filter_map(move |n| {
                let month = shift(first, step * n, Unit::Month)?;
                Date::new(month.year(), month.month(), day).ok()
            })
        };
        let coming = months(1).find(|date| *date >= self.today);
        let past = months(-1).find(|date| *date <= self.today);
        match self.lean {
            Lean::Coming => coming,
            Lean::Past => past,
            Lean::Nearest => nearest(self.today, past, coming),
        }
    }
}

fn nearest(today: Date, past: Option<Date>, coming: Option<Date>) -> Option<Date> {
    match (past, coming) {
        (Some(past), Some(coming)) => {
            let behind = today.since(past).ok()?.get_days();
            let ahead = coming.since(today).ok()?.get_days();
            Some(if behind < ahead { past } else { coming })
        }
        (past, coming) => past.or(coming),
    }
}
pub(super) fn parse_time(text: &str) -> Option<jiff::civil::Time> {
    let (hour, minute) = text.split_once(':')?;
    jiff::civil::Time::new(hour.parse().ok()?, minute.get(..2)?.parse().ok()?, 0, 0).ok()
}
/// Reads `2026-11-25`, `2026/11/25`, perhaps with a time behind a `t`.
pub(super) fn iso(word: &str) -> Option<Date> {
    let word = word.split_once('t').map_or(word, |(date, _)| date);
    let separator = if word.contains('-') { '-' } else { '/' };
    let mut parts = word.split(separator);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() != 4 || month.len() > 2 || day.len() > 2 {
        return None;
    }
    Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()
}

/// Reads `25.11.`, `25.11.2026`, `11/25`, `25/11/26`: day, month, year.
fn numeric(word: &str) -> Option<(i8, i8, Option<i16>)> {
    let dots = word.contains('.');
    let mut parts = word.split(if dots { '.' } else { '/' });
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next().filter(|part| !part.is_empty()));
    if parts.next().is_some() || first.len() > 2 || second.len() > 2 {
        return None;
    }
    let (first, second): (i8, i8) = (first.parse().ok()?, second.parse().ok()?);
    let year = match third {
        None => None,
        Some(year) if year.len() == 4 => Some(year.parse().ok()?),
        Some(year) if year.len() == 2 => Some(year.parse::<i16>().ok()? + 2000),
        Some(_) => return None,
    };
    let (day, month) = match dots {
        true => (first, second),
        // As Americans write it, unless that is no date.
        false if first > 12 => (first, second),
        false => (second, first),
    };
    Date::new(year.unwrap_or(2024), month, day).ok()?;
    Some((day, month, year))
}

fn month(word: &str, introduced: bool) -> Option<i8> {
    let found = match word {
        "january" | "jan" => 1,
        "february" | "feb" => 2,
        "march" | "mar" if introduced => 3,
        "april" | "apr" => 4,
        "may" if introduced => 5,
        "june" | "jun" => 6,
        "july" | "jul" => 7,
        "august" | "aug" => 8,
        "september" | "sept" | "sep" => 9,
        "october" | "oct" => 10,
        "november" | "nov" => 11,
        "december" | "dec" => 12,
        _ => return None,
    };
    Some(found)
}

/// Reads `25` or `25th`.
fn small_day(word: &str) -> Option<i64> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|suffix| word.strip_suffix(suffix)).unwrap_or(word);
    let plain = !digits.is_empty() && digits.len() <= 2 && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten().filter(|day| (1..=31).contains(day))
}
/// Reads `25th`, “first”.
pub(super) fn ordinal(word: &str) -> Option<i64> {
    let named = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];
    if let Some(index) = named.iter().position(|name| *name == word) {
        return i64::try_from(index + 1).ok();
    }
    let suffixed = ["st", "nd", "rd", "th"].iter().any(|suffix| word.ends_with(suffix));
    if suffixed { small_day(word) } else { None }
}
pub(super) fn eat_year(scan: &mut Scan<'_>) -> Option<i16> {
    let word = scan.peek().filter(|word| word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit()))?;
    let year = word.parse().ok().filter(|year| (1900..=2199).contains(year))?;
    scan.at += 1;
    Some(year)
}

/// Returns how many words name a day that is in no calendar: “31 Feb”, “Feb 30th 2027”, `2026-02-30`.
pub fn impossible(words: &[Token]) -> Option<usize> {
    let mut scan = Scan::new(words);
    let word = scan.take()?;
    if is_iso(word) {
        return iso(word).is_none().then_some(scan.at);
    }
    let (day, month) = match month(word, true) {
        Some(month) => {
            scan.eat(&["the"]);
            (two_digits(scan.take()?)?, month)
        }
        None => {
            let day = two_digits(word)?;
            scan.eat(&["of"]);
            (day, self::month(scan.take()?, true)?)
        }
    };
    // Without a year, 29 February is a day of some year.
    let year = eat_year(&mut scan).unwrap_or(2024);
    Date::new(year, month, day).is_err().then_some(scan.at)
}

fn two_digits(word: &str) -> Option<i8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|suffix| word.strip_suffix(suffix)).unwrap_or(word);
    let plain = matches!(digits.len(), 1 | 2) && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

fn is_iso(word: &str) -> bool {
    let lengths: Vec<usize> = word.split('-').map(str::len).collect();
    lengths == [4, 2, 2] && word.bytes().all(|b| b.is_ascii_digit() || b == b'-')
}
