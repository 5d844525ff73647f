//! What is due now: one look at all jobs, at each beat of the clock and after each change of memory.

use crate::domain::job::found::Found;
use crate::domain::job::rhythm::{COUNTED, Rhythm};
use crate::domain::job::watch::State;
use crate::domain::job::{HOOK_PAUSE, HOOKS_A_DAY, Job, When, skill_of_task};
use crate::domain::memory::view::View;
use crate::domain::policy::loosening::Loosening;
use crate::domain::port::LogLevel;
use crate::edge::engine::Engine;
use crate::edge::engine::jobs::standing::{AHEAD, Standing, day, moment};
use crate::edge::engine::jobs::{Quiet, called};
use crate::edge::thread::aside;
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A hook fires when what it watches has been at rest for so long,
pub(in crate::edge) const REST: Duration = Duration::from_secs(2);
/// or when it has changed again and again for so long.
const RESTLESS: Duration = Duration::from_secs(60);
/// A run is late when it was due so many beats of the clock ago while nobody looked, and is not done blindly any more.
const BEATS: i64 = 5;
/// It is looked so often at least, whatever is known.
const LOOKED: SignedDuration = SignedDuration::from_hours(1);
/// That nothing changed is written down so often at most.
const KEPT: i64 = 3_600_000;

/// What one look came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticked {
    /// Jobs that ran.
    pub ran: usize,
    /// Jobs that were due and had nothing to do, as nothing changed.
    pub unchanged: usize,
    /// Runs that were missed and are listed.
    pub missed: usize,
    /// Jobs that gave way to a turn of the user.
    pub postponed: usize,
    /// Whether to look again in a moment: a hook waits for rest, or a run took time in which others became due.
    pub soon: bool,
}

/// A job that is to run.
pub(super) struct Due {
    pub(super) key: String,
    /// What was confirmed, by its hash.
    text: String,
    /// Up to when it was looked what is due.
    pub(super) looked: Timestamp,
}

/// What a look found.
#[derive(Default)]
struct Looked {
    due: Vec<Due>,
    /// What was confirmed and stands at no heading any more.
    lost: Vec<Loosening>,
    /// Of whom it is stored how they stand.
    store: Vec<String>,
    ticked: Ticked,
    /// Until when nothing can be due; `None` when something is, or nobody knows.
    until: Option<Timestamp>,
}

impl Looked {
    /// Takes note that something may be due at a moment.
    fn due_at(&mut self, at: Timestamp) {
        self.until = self.until.map(|until| until.min(at));
    }
}

/// What is to be done about one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// Nothing.
    Nothing,
    /// Nothing yet: it waits for rest.
    Soon,
    /// It runs.
    Run,
    /// It was due, and nothing changed.
    Unchanged,
    /// So many runs of it were missed, the last of them at this time; perhaps it runs all the same.
    Missed(usize, Timestamp, bool),
}

impl Engine {
    /// Looks what is due, and does it, one job after the other. Nothing is asked of a model to learn that nothing changed.
    pub async fn tick_jobs(self: &Arc<Self>) -> Ticked {
        let read = self.memex_read.load(std::sync::atomic::Ordering::Relaxed);
        if self.beside.is_some() || self.store_trouble.is_some() || !read || self.is_stopping() {
            return Ticked::default();
        }
        let _alone = self.jobs.looking.lock().await;
        if self.is_quiet() {
            return Ticked::default();
        }
        let engine = self.clone();
        let Looked { due, lost, store, mut ticked, .. } = aside(move || engine.look_at_jobs()).await;
        self.revoke_jobs(lost).await;
        for key in store {
            self.note_standing(&key, |_| {}).await;
        }
        for one in due {
            if self.is_stopping() {
                break;
            }
            if self.user_is_served() {
                // What is due stays so: it was not looked at.
                ticked.postponed += 1;
                continue;
            }
            let confirmed = one.text.clone();
            if self.run_confirmed(&one.key, Some(&confirmed), Some(one.looked)).await.is_ok() {
                ticked.ran += 1;
                ticked.soon = true;
            }
        }
        self.jobs.known.lock().alive = Some(self.clock.now().as_millisecond());
        ticked
    }

    /// Returns whether nothing can be due, as the last look found out.
    fn is_quiet(&self) -> bool {
        let (now, zone) = (self.clock.now(), self.clock.zone());
        let mut known = self.jobs.known.lock();
        let quiet = known.quiet.as_ref();
        let is = quiet.is_some_and(|quiet| (quiet.from..quiet.until).contains(&now) && quiet.zone == zone);
        if is {
            known.alive = Some(now.as_millisecond());
        }
        is
    }

    fn is_stopping(&self) -> bool {
        self.stop.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Returns whether a turn goes on that is no job's: those go first.
    fn user_is_served(&self) -> bool {
        self.doings.sessions().iter().any(|session| crate::domain::job::key_of_session(&session.0).is_none())
    }

    /// Looks at every job once.
    fn look_at_jobs(&self) -> Looked {
        // What changes meanwhile is looked at the next time.
        let doubts = self.jobs.known.lock().doubts;
        // What is confirmed meanwhile is about what stands there by then.
        let counts = self.confirmed_work();
        let (all, now, view) = (self.found_jobs(), self.clock.now(), self.view());
        let alive = self.jobs.known.lock().alive.and_then(moment);
        let patience = SignedDuration::from_secs(BEATS.saturating_mul(self.config.heartbeat.min(86_400) as i64));
        // Only what was due while nobody looked is late: not what waited for another job, or for the user.
        let asleep = alive.is_none_or(|alive| now.duration_since(alive) > patience);
        let line = Some(now.checked_sub(patience).unwrap_or(now)).filter(|_| asleep);
        let until = now.checked_add(LOOKED).ok();
        let (mut looked, mut told) = (Looked { until, ..Looked::default() }, BTreeSet::new());
        let (mut keys, mut present, mut away) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut waiting = Vec::new();
        for found in &all {
            let Found::Job(job) = &**found else { continue };
            let (key, loosening) = (job.key(), job.loosening());
            let text = loosening.hash();
            if !self.is_confirmed(&loosening) {
                waiting.push(&**job);
            } else if self.may_run(job, &view, &mut told) {
                self.look_at(job, &text, &view, (now, line), &mut looked);
            } else {
                looked.until = None;
            }
            if skill_of_task(&job.task).is_some() && job.lisp.is_none() {
                away.insert((loosening.file, loosening.heading));
            }
            present.insert(text);
            keys.insert(key);
        }
        self.say_waiting(&waiting, &view, &mut told);
        let mut known = self.jobs.known.lock();
        known.told = told;
        known.standings.retain(|key, _| keys.contains(key));
        if known.doubts == doubts {
            let zone = self.clock.zone();
            known.quiet = looked.until.map(|until| Quiet { from: now, until, zone });
        }
        drop(known);
        self.jobs.watched.lock().keep(|key| keys.contains(key));
        let lost = counts.into_iter().filter(|loosening| !present.contains(&loosening.hash()));
        let mut lost: Vec<Loosening> = lost.collect();
        // A skill that is not loaded, and a folder of another Emacs, take nothing back: what stands there is not seen.
        lost.retain(|loosening| !away.contains(&(loosening.file.clone(), loosening.heading.clone())));
        if !lost.is_empty() {
            let memex = self.config.places().memex;
            lost.retain(|loosening| memex.iter().any(|folder| Path::new(&loosening.file).starts_with(folder)));
        }
        looked.lost = lost;
        looked
    }

    /// Returns whether a job that was confirmed may run; who was not told that it does not is told.
    fn may_run(&self, job: &Job, view: &View, told: &mut BTreeSet<String>) -> bool {
        let Some((_, why)) = self.hindrance(job, view) else { return true };
        let what = format!("{} {why}", job.text);
        if !self.jobs.known.lock().told.contains(&what) {
            self.say_of(LogLevel::Warning, job.privacy, &format!("{} does not run: {why}", called(job)));
        }
        told.insert(what);
        let now = self.clock.now().as_millisecond();
        self.touch_standing(&job.key(), |standing| standing.looked = Some(now));
        false
    }

    /// Tells the user once of those that wait to be confirmed, all together.
    fn say_waiting(&self, waiting: &[&Job], view: &View, told: &mut BTreeSet<String>) {
        let mut new = Vec::new();
        for job in waiting {
            let known = self.jobs.known.lock().told.contains(&job.text);
            match known {
                true => drop(told.insert(job.text.clone())),
                // What came from elsewhere waits for nobody.
                false if matches!(self.hindrance(job, view), Some(("outside", _))) => {}
                false => {
                    told.insert(job.text.clone());
                    new.push(*job);
                }
            }
        }
        match new.as_slice() {
            [] => {}
            [job] => {
                let text = format!("{} does not run before you confirm it: M-x passepartout-jobs", called(job));
                self.say_of(LogLevel::Warning, job.privacy, &text);
            }
            more => {
                let text = format!("{} jobs do not run before you confirm them: M-x passepartout-jobs", more.len());
                self.say(LogLevel::Warning, &text);
            }
        }
    }

    /// Looks at one job that may run.
    fn look_at(
        &self,
        job: &Job,
        text: &str,
        view: &View,
        (now, line): (Timestamp, Option<Timestamp>),
        into: &mut Looked,
    ) {
        let (key, millis) = (job.key(), now.as_millisecond());
        let ahead = now.checked_add(AHEAD).unwrap_or(now).as_millisecond();
        let (standing, begins) = self.touch_standing(&key, |standing| {
            let begins = standing.text.as_deref() != Some(text);
            if begins {
                standing.begin(text.to_string(), millis);
            }
            // A clock that was ahead keeps nothing from running.
            if standing.looked.is_some_and(|looked| looked > ahead) {
                standing.looked = Some(millis);
            }
            (standing.clone(), begins)
        });
        if begins {
            into.store.push(key.clone());
        }
        if standing.paused {
            return;
        }
        let state = self.watched(job, view).filter(|_| !self.jobs.running.lock().contains_key(&key));
        let Some(state) = state else {
            into.until = None;
            return;
        };
        let look = match &job.when {
            When::Due(rhythm) => self.look_at_rhythm((job, rhythm), &standing, state, (now, line)),
            When::Changed => self.look_at_hook(job, state, now),
        };
        match (look, &job.when) {
            (Look::Nothing, When::Due(rhythm)) => {
                let retry = standing.retry.and_then(moment);
                let next = rhythm.next(now, standing.last(now), &self.clock.zone());
                [next, retry].into_iter().flatten().filter(|at| *at > now).for_each(|at| into.due_at(at));
            }
            (Look::Nothing, When::Changed) if self.job_standing(&key).seen == Some(state) => {}
            _ => into.until = None,
        }
        match look {
            Look::Nothing => return,
            Look::Soon => into.ticked.soon = true,
            Look::Run => {}
            Look::Unchanged => {
                into.ticked.unchanged += 1;
                let old = self.touch_standing(&key, |standing| {
                    standing.looked = Some(millis.max(standing.looked.unwrap_or(millis)));
                    standing.rest();
                    standing.stored.is_none_or(|stored| millis - stored > KEPT)
                });
                into.store.extend(Some(key.clone()).filter(|_| old));
            }
            Look::Missed(count, last, runs) => {
                into.ticked.missed += count;
                let last = last.as_millisecond();
                let all = self.touch_standing(&key, |standing| {
                    standing.missed = standing.missed.saturating_add(count).min(COUNTED + 1);
                    standing.late = Some(last);
                    standing.looked = Some(if runs { last } else { millis });
                    standing.missed
                });
                self.say_missed(job, all);
                into.store.push(key.clone());
            }
        }
        if matches!(look, Look::Run | Look::Missed(_, _, true)) {
            into.due.push(Due { key, text: text.to_string(), looked: now });
        }
    }

    /// Returns what is to be done about a job that goes by the clock.
    fn look_at_rhythm(
        &self,
        (job, rhythm): (&Job, &Rhythm),
        standing: &Standing,
        state: State,
        (now, line): (Timestamp, Option<Timestamp>),
    ) -> Look {
        let zone = self.clock.zone();
        let Some(looked) = standing.looked.and_then(moment) else { return Look::Nothing };
        let (waits, again) = standing.waits(now);
        let newest = rhythm.latest(looked, now, standing.last(now), &zone);
        let Some(newest) = newest.filter(|_| !(rhythm.catches_up() && waits)) else {
            return if again { Look::Run } else { Look::Nothing };
        };
        if !job.always && standing.seen == Some(state) {
            return Look::Unchanged;
        }
        let late = line
            .filter(|_| !rhythm.catches_up())
            .and_then(|line| Some((line, rhythm.latest(looked, line, None, &zone)?)));
        match late {
            Some((line, last)) => Look::Missed(rhythm.count(looked, line, &zone), last, newest > line),
            None => Look::Run,
        }
    }

    /// Returns whether a hook fires: what it watches is not as it was seen, and at rest.
    fn look_at_hook(&self, job: &Job, state: State, now: Timestamp) -> Look {
        let (steady, millis, today) = (self.clock.steady(), now.as_millisecond(), day(now, self.clock.zone()));
        self.touch_standing(&job.key(), |standing| {
            // What stood there when it was confirmed is no change.
            let seen = *standing.seen.get_or_insert(state);
            standing.looked = Some(millis);
            if seen == state {
                standing.rest();
                return Look::Nothing;
            }
            // What was given up is due again when something else changes.
            let again = standing.failed == Some(state);
            if standing.recovers(now) || again && !standing.waits(now).1 {
                return Look::Nothing;
            }
            let (since, first) = match standing.pending {
                Some((known, since, first)) => (if known == state { since } else { steady }, first),
                None => (steady, steady),
            };
            standing.pending = Some((state, since, first));
            let rests = again || steady.saturating_sub(since) >= REST || steady.saturating_sub(first) >= RESTLESS;
            let pause = standing.began.map(|began| millis - began).filter(|pause| *pause >= 0);
            let soon = pause.is_some_and(|pause| pause < HOOK_PAUSE * 1000);
            let often = standing.day.0 == today && standing.day.1 >= HOOKS_A_DAY;
            match () {
                () if often || soon => Look::Nothing,
                () if !rests => Look::Soon,
                () => Look::Run,
            }
        })
    }

    /// Tells the user of runs that were missed.
    fn say_missed(&self, job: &Job, missed: usize) {
        let many = match missed {
            more if more > COUNTED => format!("more than {COUNTED} runs"),
            missed => crate::domain::count::counted(missed, "run"),
        };
        let text = format!("{} missed {many}; M-x passepartout-jobs", called(job));
        self.say_of(LogLevel::Warning, job.privacy, &text);
    }
}
