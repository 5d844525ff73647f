//! Times of day: 15:00, 3pm, noon, in the morning.

use crate::domain::recall::date::Scan;
use jiff::civil::Time;

/// Reads a time of day. A bare hour counts only when a word such as “at” stood before it.
pub fn clock(scan: &mut Scan<'_>, introduced: bool) -> Option<Time> {
    let mut ahead = *scan;
    if introduced && let Some(word) = ahead.eat(&["noon", "midday", "midnight", "lunchtime"]) {
        *scan = ahead;
        return time(if word == "midnight" { 0 } else { 12 }, 0);
    }
    let word = ahead.take()?;
    let (digits, half) = match word.strip_suffix("am").or_else(|| word.strip_suffix("a.m")) {
        Some(digits) => (digits, Some(Half::Morning)),
        None => match word.strip_suffix("pm").or_else(|| word.strip_suffix("p.m")) {
            Some(digits) => (digits, Some(Half::Afternoon)),
            None => (word, None),
        },
    };
    let (hour, minute) = hour_and_minute(digits, introduced || half.is_some())?;
    let half = half.or_else(|| next_half(&mut ahead));
    let found = match half {
        Some(Half::Exact) => time(hour, minute.unwrap_or(0)),
        Some(Half::Morning) if (1..=12).contains(&hour) => time(hour % 12, minute.unwrap_or(0)),
        Some(Half::Afternoon) if (1..=12).contains(&hour) => time(hour % 12 + 12, minute.unwrap_or(0)),
        Some(Half::Morning | Half::Afternoon) => None,
        None => match minute {
            Some(minute) => time(hour, minute),
            None if !introduced => None,
            // Nobody means three at night.
            None if (1..=6).contains(&hour) && digits.len() == 1 => time(hour + 12, 0),
            None => time(hour, 0),
        },
    }?;
    *scan = ahead;
    Some(found)
}

/// Reads a part of the day and returns the hour that it is planned for: morning 9, afternoon 14,
/// evening 18, night 20.
pub fn part_of_day(scan: &mut Scan<'_>) -> Option<Time> {
    let hour = match scan.eat(&["morning", "noon", "midday", "afternoon", "evening", "night", "midnight"])? {
        "morning" => 9,
        "noon" | "midday" => 12,
        "afternoon" => 14,
        "evening" => 18,
        "midnight" => 0,
        _ => 20,
    };
    time(hour, 0)
}

#[derive(Clone, Copy)]
enum Half {
    Morning,
    Afternoon,
    Exact,
}

/// “3 pm”, “3 in the afternoon”, “9 o'clock”, “15 h”.
fn next_half(scan: &mut Scan<'_>) -> Option<Half> {
    if let Some(word) = scan.eat(&["am", "a.m", "pm", "p.m", "o'clock", "oclock", "h", "hrs"]) {
        return Some(match word {
            "am" | "a.m" => Half::Morning,
            "pm" | "p.m" => Half::Afternoon,
            _ => Half::Exact,
        });
    }
    let mut ahead = *scan;
    if ahead.phrase("in the morning") {
        *scan = ahead;
        return Some(Half::Morning);
    }
    if ahead.phrase("in the afternoon") || ahead.phrase("in the evening") || ahead.phrase("at night") {
        *scan = ahead;
        return Some(Half::Afternoon);
    }
    None
}

/// Reads `15:00`, `15.30` (where a time is expected), `15h30`, `15h`, `9`.
fn hour_and_minute(text: &str, expected: bool) -> Option<(i8, Option<i8>)> {
    let split = text.split_once(':').or_else(|| text.split_once('h'));
    let split = split.or_else(|| if expected { text.split_once('.') } else { None });
    match split {
        Some((hour, "")) if text.ends_with('h') => Some((small(hour)?, Some(0))),
        Some((hour, minute)) if minute.len() == 2 => Some((small(hour)?, Some(small(minute)?))),
        Some(_) => None,
        None => Some((small(text)?, None)),
    }
}

fn small(text: &str) -> Option<i8> {
    if text.is_empty() || text.len() > 2 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

fn time(hour: i8, minute: i8) -> Option<Time> {
    Time::new(hour, minute, 0, 0).ok()
}
