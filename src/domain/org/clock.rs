//! `CLOCK:` lines: read from a node's own section, and summed as `org-clock-sum` does.

use super::lines::{self, Kind};
use super::outline::Outline;
use super::section::{line_at, starts_with_fold};
use super::timestamp::{Timestamp, Until};
use jiff::civil::DateTime;
use std::ops::Range;

/// One `CLOCK:` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The line without its newline, in bytes of the whole text.
    pub range: Range<usize>,
    /// What it says.
    pub time: Clocked,
}

/// What a `CLOCK:` line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocked {
    /// `[from]`: still running.
    Since(DateTime),
    /// `[from]--[to]`.
    Between(DateTime, DateTime),
    /// `=> 1:30`, in minutes.
    Duration(i64),
}

impl Clock {
    /// Returns the minutes that it counts for: a running clock for none, one that ends before it begins for none.
    pub fn minutes(&self) -> i64 {
        match self.time {
            Clocked::Since(_) => 0,
            Clocked::Between(from, to) => (to.duration_since(from).as_secs() / 60).max(0),
            Clocked::Duration(minutes) => minutes,
        }
    }
}

impl Outline {
    /// Returns the clock lines of a node's own section, in order.
    pub fn clocks(&self, index: usize) -> Vec<Clock> {
        let Some(node) = self.nodes.get(index) else { return Vec::new() };
        let text = self.slice(&node.body);
        if !has_clock(text) {
            return Vec::new();
        }
        let offset = node.body.start as usize;
        let mut found = Vec::new();
        let mut seen = Vec::new();
        lines::for_each(text, |range, kind| {
            if kind == Kind::Clock {
                let line = text.get(range.clone()).unwrap_or_default();
                found.extend(read(line).map(|time| Clock { range: range.start + offset..range.end + offset, time }));
                seen.push(range.start);
            }
        });
        // A bare duration counts even inside a block, as Org looks for it without asking where it stands.
        let mut at = 0;
        while at < text.len() {
            let (end, next) = line_at(text, at, text.len());
            let line = text.get(at..end).unwrap_or_default();
            if seen.binary_search(&at).is_err()
                && let Some(time @ Clocked::Duration(_)) = read(line)
            {
                found.push(Clock { range: at + offset..end + offset, time });
            }
            at = next;
        }
        found.sort_by_key(|clock| clock.range.start);
        found
    }

    /// Returns the minutes clocked at a node and all below it.
    pub fn clocked(&self, index: usize) -> i64 {
        let minutes = |at| self.clocks(at).iter().map(Clock::minutes).fold(0i64, i64::saturating_add);
        (index..self.after(index)).map(minutes).fold(0, i64::saturating_add)
    }
}

/// Tells quickly whether a text may hold a clock line.
fn has_clock(text: &str) -> bool {
    memchr::memchr2_iter(b'C', b'c', text.as_bytes())
        .any(|at| text.as_bytes().get(at..at + 6).is_some_and(|word| word.eq_ignore_ascii_case(b"CLOCK:")))
}

/// Reads a line.
fn read(line: &str) -> Option<Clocked> {
    let line = line.trim_start_matches([' ', '\t']);
    if !starts_with_fold(line, "CLOCK:") {
        return None;
    }
    let rest = line.get(6..)?.trim_start_matches([' ', '\t']);
    if let Some(rest) = rest.strip_prefix("=>") {
        let rest = rest.strip_prefix([' ', '\t'])?.trim_start_matches([' ', '\t']);
        let (hours, minutes) = rest.split_once(':')?;
        let minutes = minutes.get(..minutes.bytes().take_while(u8::is_ascii_digit).count())?;
        let all = !hours.is_empty() && hours.bytes().all(|byte| byte.is_ascii_digit());
        let hours: i64 = hours.parse().ok().filter(|_| all)?;
        return Some(Clocked::Duration(hours.checked_mul(60)?.checked_add(minutes.parse().ok()?)?));
    }
    let (stamp, _) = Timestamp::parse_start(rest).filter(|(stamp, _)| !stamp.active)?;
    let from = stamp.date.to_datetime(stamp.time?);
    match stamp.until {
        Until::Open => Some(Clocked::Since(from)),
        Until::Time(time) => Some(Clocked::Between(from, stamp.date.to_datetime(time))),
        Until::Day(date, time) => Some(Clocked::Between(from, date.to_datetime(time?))),
    }
}
