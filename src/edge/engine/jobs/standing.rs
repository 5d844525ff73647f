//! How jobs stand: one small record for each, of which single fields are changed under one lock.

use crate::domain::job::watch::State;
use crate::domain::port::LogLevel;
use crate::edge::engine::Engine;
use crate::edge::engine::record::kind;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A clock that was so far ahead at most is taken for right until it is caught up with.
pub(super) const AHEAD: SignedDuration = SignedDuration::from_mins(15);
/// What failed is tried again so often, each time after a longer while.
pub(super) const RETRIES: u32 = 3;
/// The first of these whiles.
const WHILE: SignedDuration = SignedDuration::from_mins(5);

/// What is known of a run that has begun and not ended.
const BROKEN_OFF: &str = "broken off";
/// What a run came to that the user ended.
pub(super) const STOPPED: &str = "stopped";

/// How a job stands. Times are milliseconds of Unix time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Standing {
    /// What was confirmed, by its hash, that this is about; `None` when nothing is.
    pub(super) text: Option<String>,
    /// Up to when it was looked what is due, and that was done.
    pub(super) looked: Option<i64>,
    /// When its last run began.
    pub(super) began: Option<i64>,
    /// When the last one began that came to something.
    pub(super) ran: Option<i64>,
    /// What the last one came to.
    pub(super) outcome: Option<String>,
    /// The turn of that.
    pub(super) turn: Option<String>,
    /// The state of what it watches of which something was made.
    pub(super) seen: Option<State>,
    /// The state with which it failed.
    pub(super) failed: Option<State>,
    /// Whether its last run began and is not known to have ended.
    pub(super) open: bool,
    /// How often in a row it failed.
    pub(super) tries: u32,
    /// When it is tried again.
    pub(super) retry: Option<i64>,
    /// How many runs were missed.
    pub(super) missed: usize,
    /// When the last of them was due.
    pub(super) late: Option<i64>,
    /// The user lets it rest.
    pub(super) paused: bool,
    /// A day of the user's calendar, counted from 1970, and how often a hook ran in it.
    pub(super) day: (i64, u32),
    /// Up to when the store knows that it was looked.
    #[serde(skip)]
    pub(super) stored: Option<i64>,
    /// What a hook saw change: the state, since when it stands, and since when there is another one than was seen.
    #[serde(skip)]
    pub(super) pending: Option<(State, Duration, Duration)>,
}

impl Standing {
    /// Forgets all but that it rests and what came before: what is confirmed anew begins anew.
    pub(super) fn begin(&mut self, text: String, now: i64) {
        let Standing { began, ran, outcome, turn, paused, day, .. } = std::mem::take(self);
        let (text, looked) = (Some(text), Some(now));
        *self = Standing { text, looked, began, ran, outcome, turn, paused, day, ..Standing::default() };
    }

    /// Returns since when it counts that runs from its last run on, where that is not later than now.
    pub(super) fn last(&self, now: Timestamp) -> Option<Timestamp> {
        let over = self.tries > RETRIES || self.outcome.as_deref() == Some(STOPPED);
        let at = if over { self.began } else { self.ran };
        let until = now.checked_add(AHEAD).unwrap_or(now);
        at.and_then(moment).filter(|at| *at <= until)
    }

    /// Takes note of a run that failed.
    pub(super) fn fail(&mut self, now: Timestamp, state: State) {
        self.failed = Some(state);
        self.tries = self.tries.saturating_add(1);
        let pause = WHILE.checked_mul(4i32.pow(self.tries.clamp(1, RETRIES) - 1)).unwrap_or(WHILE);
        let again = now.checked_add(pause).ok().filter(|_| self.tries <= RETRIES);
        self.retry = again.map(|at| at.as_millisecond());
    }

    /// Takes note of a run that begins, with the state of what it watches.
    pub(super) fn open(&mut self, began: i64, state: State) {
        (self.open, self.began, self.outcome) = (true, Some(began), Some(BROKEN_OFF.to_string()));
        (self.failed, self.pending) = (Some(state), None);
    }

    /// Takes note that the program ended during its last run, which counts as one that failed: it may have been the run that
    /// ended it.
    fn break_off(&mut self, now: Timestamp) {
        if std::mem::take(&mut self.open) {
            self.fail(now, self.failed.unwrap_or_default());
        }
    }

    /// Returns whether nothing of it may run yet, whatever changes: its last run was broken off a moment ago.
    pub(super) fn recovers(&self, now: Timestamp) -> bool {
        self.outcome.as_deref() == Some(BROKEN_OFF) && self.waits(now).0
    }

    /// Returns whether what failed is tried again later, and whether it is now.
    pub(super) fn waits(&self, now: Timestamp) -> (bool, bool) {
        const FAR: i64 = 2 * 3_600_000;
        let wait = self.retry.map(|at| at - now.as_millisecond());
        // One that lies far ahead was set by a clock that did.
        (wait.is_some_and(|wait| (1..=FAR).contains(&wait)), wait.is_some_and(|wait| !(1..=FAR).contains(&wait)))
    }

    /// Takes note of a run that the user stopped: it is as one that was given up.
    pub(super) fn stop(&mut self, state: State) {
        self.rest();
        self.failed = Some(state);
    }

    /// Takes note that there is nothing to try again.
    pub(super) fn rest(&mut self) {
        (self.failed, self.tries, self.retry, self.pending) = (None, 0, None, None);
    }

    /// Counts a run of a hook; returns how often it had run in that day before.
    pub(super) fn count(&mut self, day: i64) -> u32 {
        let before = if self.day.0 == day { self.day.1 } else { 0 };
        self.day = (day, before.saturating_add(1));
        before
    }
}

/// Returns the day that it is then for the user, counted from 1970.
pub(super) fn day(at: Timestamp, zone: TimeZone) -> i64 {
    let date = at.to_zoned(zone).date();
    date.duration_since(jiff::civil::date(1970, 1, 1)).as_hours().div_euclid(24)
}

/// Returns a moment of the store.
pub(super) fn moment(at: i64) -> Option<Timestamp> {
    Timestamp::from_millisecond(at).ok()
}

impl Engine {
    /// Reads what the store knows of jobs.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(in crate::edge::engine) async fn load_jobs(&self) -> Result<(), String> {
        let records = self.archive.latest_each(kind::JOB).await?;
        let read = |body| serde_json::from_value::<Standing>(body).ok();
        let standings = records.into_iter().filter_map(|record| Some((record.key, read(record.body)?)));
        let now = self.clock.now();
        let standings = standings.map(|(key, standing)| {
            let mut standing = Standing { stored: standing.looked, ..standing };
            standing.break_off(now);
            (key, standing)
        });
        self.jobs.known.lock().standings = standings.collect();
        Ok(())
    }

    /// Returns how a job stands now.
    pub(super) fn job_standing(&self, key: &str) -> Standing {
        self.jobs.known.lock().standings.get(key).cloned().unwrap_or_default()
    }

    /// Changes how a job stands, for this session of the program.
    pub(super) fn touch_standing<T>(&self, key: &str, change: impl FnOnce(&mut Standing) -> T) -> T {
        let mut known = self.jobs.known.lock();
        known.quiet = None;
        change(known.standings.entry(key.to_string()).or_default())
    }

    /// Changes how a job stands, and stores it. It holds in this session whatever becomes of the store.
    pub(super) async fn keep_standing(&self, key: &str, change: impl FnOnce(&mut Standing)) -> Result<(), String> {
        // In the order in which they are made.
        let _order = self.jobs.storing.lock().await;
        {
            // Who looks meanwhile looks again.
            let mut known = self.jobs.known.lock();
            known.doubts = known.doubts.wrapping_add(1);
        }
        let body = self.touch_standing(key, |standing| {
            change(standing);
            standing.stored = standing.looked;
            serde_json::to_value(&*standing)
        });
        self.append(kind::JOB, key, body.map_err(|why| why.to_string())?).await
    }

    /// Stores how a job stands; what goes wrong is said.
    pub(super) async fn note_standing(&self, key: &str, change: impl FnOnce(&mut Standing)) {
        if let Err(why) = self.keep_standing(key, change).await {
            self.say(LogLevel::Error, &format!("how a job stands could not be stored: {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_tried_again_after_longer_and_longer_whiles_and_then_given_up() {
        let now: Timestamp = "2026-03-02T09:00:00Z".parse().expect("a moment");
        let mut standing = Standing { began: Some(now.as_millisecond()), ..Standing::default() };
        let minutes: Vec<Option<i64>> = (0..5)
            .map(|_| {
                standing.fail(now, State::default());
                standing.retry.map(|at| (at - now.as_millisecond()) / 60_000)
            })
            .collect();
        assert_eq!(minutes, [Some(5), Some(20), Some(80), None, None]);
        assert_eq!(standing.last(now), Some(now), "what was given up counts from there");
        standing.rest();
        assert_eq!((standing.last(now), standing.tries, standing.retry), (None, 0, None));
    }

    #[test]
    fn a_run_that_the_program_ended_in_counts_as_one_that_failed() {
        let now: Timestamp = "2026-03-02T09:00:00Z".parse().expect("a moment");
        let mut standing = Standing::default();
        standing.break_off(now);
        assert_eq!(standing, Standing::default(), "nothing had begun");
        for (times, minutes) in [(1, Some(5)), (2, Some(20)), (3, Some(80)), (4, None)] {
            standing.open(now.as_millisecond(), State::default());
            let body = serde_json::to_value(&standing).expect("it is JSON");
            standing = serde_json::from_value(body).expect("it is read back");
            standing.break_off(now);
            assert_eq!(
                (standing.tries, standing.retry.map(|at| (at - now.as_millisecond()) / 60_000)),
                (times, minutes)
            );
            assert_eq!(standing.recovers(now), minutes.is_some());
            let before = standing.clone();
            standing.break_off(now);
            assert_eq!(standing, before, "once");
        }
        standing.rest();
        assert!(!standing.recovers(now));
    }

    #[test]
    fn what_a_clock_that_was_ahead_wrote_down_does_not_count() {
        let now: Timestamp = "2026-03-02T09:00:00Z".parse().expect("a moment");
        for (ahead, counts) in [(-60, true), (0, true), (14, true), (16, false), (60 * 24 * 365, false)] {
            let at = now + SignedDuration::from_mins(ahead);
            let standing = Standing { ran: Some(at.as_millisecond()), ..Standing::default() };
            assert_eq!(standing.last(now), Some(at).filter(|_| counts), "{ahead}");
        }
    }

    #[test]
    fn a_day_is_that_of_the_user() {
        for (at, zone, expected) in [
            ("1970-01-01T00:00:00Z", "UTC0", 0),
            ("1970-01-01T07:59:59Z", "PST8", -1),
            ("1970-01-01T08:00:00Z", "PST8", 0),
            ("1970-01-02T07:59:59Z", "PST8", 0),
            ("1970-01-01T14:00:00Z", "NZST-12", 1),
        ] {
            let zone = TimeZone::posix(zone).expect("it is a time zone");
            assert_eq!(day(at.parse().expect("a moment"), zone), expected, "{at}");
        }
    }

    #[test]
    fn a_day_has_its_own_count_and_a_record_is_read_back() {
        let mut standing = Standing::default();
        assert_eq!([1, 1, 2, 2].map(|day| standing.count(day)), [0, 1, 0, 1]);
        (standing.seen, standing.text) = (Some(State::default()), Some("x".to_string()));
        let body = serde_json::to_value(&standing).expect("it is JSON");
        assert_eq!(serde_json::from_value::<Standing>(body).ok(), Some(standing));
        assert_eq!(serde_json::from_str::<Standing>("{}").ok(), Some(Standing::default()));
    }
}
