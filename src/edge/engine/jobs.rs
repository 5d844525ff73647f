//! Jobs and hooks of headings: which there are, how each stands, and what the user rules about them.
//!
//! What a file says is compared with what was confirmed each time, as with every line that loosens. Only files that
//! changed are read again.

mod known;
mod run;
mod standing;
mod tick;
mod watched;

use crate::domain::audit::{Decider, Ruling};
use crate::domain::id::NodeId;
use crate::domain::job::found::Found;
use crate::domain::job::watch::State;
use crate::domain::job::{Job, When, key as key_of, skill_of_task, starts_work};
use crate::domain::label::Privacy;
use crate::domain::memory::document::Document;
use crate::domain::memory::index::Key;
use crate::domain::memory::view::View;
use crate::domain::policy::loosening::Loosening;
use crate::domain::signal::{Origin, Source};
use crate::edge::engine::Engine;
use crate::edge::engine::record::{Finished, kind};
use crate::edge::thread::{aside, in_place};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use standing::{RETRIES, Standing, moment};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
pub(in crate::edge) use tick::REST;
pub use tick::Ticked;
use watched::Watched;

/// Why a run ends before its time, as the log says it of a turn.
const STOPPED: &str = "was stopped by the user";
const WITHDRAWN: &str = "was stopped, as its job does not count any more";
const RESTS: &str = "was stopped, as the user lets its job rest";
const CHANGED: &str = "was stopped, as its job says something else by now";

/// What is known of jobs.
#[derive(Default)]
pub(in crate::edge) struct Jobs {
    known: Mutex<Known>,
    /// Held while the jobs of files that changed are read.
    reading: Mutex<()>,
    watched: Mutex<Watched>,
    /// Those that run now, by key.
    running: Mutex<BTreeMap<String, Run>>,
    /// Wakes who looks whether the one that runs may go on.
    doubt: tokio::sync::Notify,
    /// Held by the one that runs.
    one: tokio::sync::Mutex<()>,
    /// Held while it is looked what is due.
    looking: tokio::sync::Mutex<()>,
    /// Held while how one stands is stored.
    storing: tokio::sync::Mutex<()>,
    /// Wakes who looks what is due.
    wake: Arc<tokio::sync::Notify>,
}

/// A run that goes on.
#[derive(Default)]
struct Run {
    /// What its own edits did so far to the state of what its job watches.
    difference: State,
    /// Why it is to end, when it is.
    ends: Option<&'static str>,
}

#[derive(Default)]
struct Known {
    /// By file; only files that have any.
    found: BTreeMap<Arc<str>, Vec<Arc<Found>>>,
    /// The files of which not all found room.
    crowded: BTreeSet<Arc<str>>,
    /// Which skills there were when the Lisp of those was taken that ask for some.
    skills: u64,
    /// Whether every file was read once.
    whole: bool,
    /// The files that changed since.
    stale: BTreeSet<Arc<str>>,
    /// By key.
    standings: BTreeMap<String, Standing>,
    /// What the user was told of jobs that do not run.
    told: BTreeSet<String>,
    /// When the last look ended, in milliseconds of Unix time.
    alive: Option<i64>,
    /// How long nothing can be due, as far as nothing changes.
    quiet: Option<Quiet>,
    /// Counts what may make that wrong.
    doubts: u64,
}

/// A while in which nothing can be due.
struct Quiet {
    from: Timestamp,
    until: Timestamp,
    /// By the clock of this place.
    zone: TimeZone,
}

/// One line of the list of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What it is called in requests.
    pub key: String,
    /// Its heading.
    pub node: NodeId,
    /// Its file.
    pub file: String,
    /// The line where it begins, unless it is gone.
    pub line: Option<u32>,
    /// Its title.
    pub title: String,
    /// How private that is.
    pub privacy: Privacy,
    /// `waiting`, `confirmed`, `paused`, `running`, `outside` or `broken`.
    pub state: &'static str,
    /// What sets it off, in words.
    pub rhythm: String,
    /// How much thought it is given.
    pub tier: &'static str,
    /// When it is due next.
    pub next: Option<jiff::Timestamp>,
    /// When it is due in the next days, where no timestamp of its heading says so.
    pub ahead: Vec<jiff::Timestamp>,
    /// When it ran last, and what that came to.
    pub ran: Option<(jiff::Timestamp, String)>,
    /// How many runs were missed since, and when the last of them was due.
    pub missed: Option<(usize, jiff::Timestamp)>,
    /// What is wrong with it.
    pub why: Option<String>,
    /// All of it, as it is confirmed.
    pub shown: String,
}

impl Engine {
    /// Lets what is known follow a change of memory.
    pub(super) fn jobs_follow(&self, changed: &[Arc<Document>], gone: &[&str]) {
        let mut known = self.jobs.known.lock();
        if known.whole {
            known.stale.extend(changed.iter().map(|document| document.file.clone()));
            known.stale.extend(gone.iter().map(|file| Arc::from(*file)));
        }
        drop(known);
        self.jobs_doubt();
    }

    /// Has it looked whether what runs may go on, and what is due.
    pub(super) fn jobs_doubt(&self) {
        {
            let mut known = self.jobs.known.lock();
            (known.quiet, known.doubts) = (None, known.doubts.wrapping_add(1));
        }
        self.jobs.doubt.notify_one();
        self.jobs.wake.notify_one();
    }

    /// Returns what wakes who looks what is due: memory changed, or the user ruled something.
    pub(in crate::edge) fn jobs_wake(&self) -> Arc<tokio::sync::Notify> {
        self.jobs.wake.clone()
    }

    /// Returns why a job may not run or be confirmed, whatever was confirmed: a state of the list, and words.
    fn hindrance(&self, job: &Job, view: &View) -> Option<(&'static str, String)> {
        let broken = |why: &str| Some(("broken", why.to_string()));
        let Some(node) = view.get(&job.node) else { return broken("its heading is not there any more") };
        let own = node.card().own_id(node.index);
        let files = |id: &str| view.index().files(&Key::Id(id)).count();
        if *node.file() != job.file || own.is_some_and(|id| files(id) > 1) {
            return broken("its ID stands at another heading as well; give each heading one of its own");
        }
        if let (Some(skill), None) = (skill_of_task(&job.task), &job.lisp) {
            return broken(&format!(
                "no skill {skill} is loaded that has a block “job”; M-x passepartout-skills says why"
            ));
        }
        if let Some(source) = self.source_of(&node) {
            let way_out = "vouch for it first, with /endorse or M-x passepartout-endorse";
            return Some(("outside", format!("it came from {source}; {way_out}")));
        }
        match self.watched(job, view) {
            Some(_) => None,
            None => broken(&format!(
                "PP_WATCH names {}, which is neither the ID of a heading nor a file that memory has",
                job.watch.words()
            )),
        }
    }

    /// Returns what of jobs waits for the user.
    pub(super) fn waiting_jobs(&self) -> Vec<Loosening> {
        let view = self.view();
        let waits = |found: &Found| match found {
            Found::Job(job) if self.hindrance(job, &view).is_none() => {
                Some(job.loosening()).filter(|loosening| !self.is_confirmed(loosening))
            }
            Found::Job(_) | Found::Broken { .. } => None,
        };
        self.found_jobs().iter().filter_map(|found| waits(found)).collect()
    }

    /// Returns the job whole that a line is about, for who confirms it, with how private that is; `None` for a line that
    /// starts no work.
    ///
    /// # Errors
    /// When no heading says this now, so that nobody can be shown it.
    pub(super) fn shown_job(&self, loosening: &Loosening) -> Result<Option<(String, Privacy)>, String> {
        if !starts_work(loosening) {
            return Ok(None);
        }
        let view = self.view();
        for found in self.found_jobs() {
            let Found::Job(job) = &*found else { continue };
            if job.loosening() == *loosening {
                return match self.hindrance(job, &view) {
                    Some((_, why)) => Err(why),
                    None => Ok(Some((job.shown(), job.privacy))),
                };
            }
        }
        Err("its heading says something else by now, or is gone; look at the list again: M-x passepartout-jobs"
            .to_string())
    }

    /// Returns the confirmation by which the job of a heading may run now; `None` when it may not.
    pub(super) fn confirmed_job(&self, node: &str) -> Option<String> {
        let view = self.view();
        self.found_jobs().iter().find_map(|found| match &**found {
            Found::Job(job) if job.node.as_str() == node && self.hindrance(job, &view).is_none() => {
                Some(job.loosening()).filter(|loosening| self.is_confirmed(loosening)).map(|loosening| loosening.id())
            }
            Found::Job(_) | Found::Broken { .. } => None,
        })
    }

    /// Forgets what a job was told to begin with, as what was confirmed of it was taken back or given again; a run of it
    /// that goes on ends.
    pub(super) fn job_begins_anew(&self, loosening: &Loosening) {
        if starts_work(loosening) {
            let key = key_of(&loosening.file, &loosening.heading);
            self.touch_standing(&key, |standing| standing.text = None);
            self.end_run(&key, WITHDRAWN);
        }
    }

    /// Has a run end that goes on, as a turn does that the user stops; returns whether there is one.
    fn end_run(&self, key: &str, why: &'static str) -> bool {
        let ends = self.jobs.running.lock().get_mut(key).map(|run| run.ends.get_or_insert(why)).is_some();
        self.jobs.doubt.notify_one();
        ends
    }

    /// Stops the run of a job that goes on. It tightens, so every channel of a human may do it.
    ///
    /// # Errors
    /// When it does not run, or the channel may not decide that.
    pub fn stop_job(&self, origin: &Origin, key: &str) -> Result<String, String> {
        if !origin.rights.may_take_away() {
            return Err("this channel may not change jobs".to_string());
        }
        match self.end_run(key.trim(), STOPPED) {
            true => {
                Ok("The run is stopped; the job runs again when it is next due or something else changes.".to_string())
            }
            false => Err("it does not run now, so there is nothing to stop".to_string()),
        }
    }

    /// Takes back what was confirmed of headings that say something else now, are gone, or are done: a text that comes back
    /// is shown again.
    async fn revoke_jobs(&self, lost: Vec<Loosening>) {
        for loosening in lost {
            let why = Decider::Nobody("its heading changed, went, or is done".to_string());
            if let Err(why) = self.keep_decided(&loosening, Ruling::Revoked, why).await {
                let text = format!("that {} does not count any more could not be stored: {why}", loosening.id());
                self.say(crate::domain::port::LogLevel::Error, &text);
            }
        }
    }

    /// Returns every job and hook, by file and line. It may read texts.
    pub fn jobs(&self) -> Vec<Listed> {
        let view = self.view();
        self.found_jobs().iter().map(|found| self.listed_job(found, &view)).collect()
    }

    fn listed_job(&self, found: &Found, view: &View) -> Listed {
        let job = match found {
            Found::Job(job) => job,
            Found::Broken { at, file, title, why } => return broken(at, file, title, why, view),
        };
        let (now, zone, key) = (self.clock.now(), self.clock.zone(), job.key());
        let (standing, hindrance) = (self.job_standing(&key), self.hindrance(job, view));
        let state = match (&hindrance, self.is_confirmed(&job.loosening())) {
            (Some((state, _)), _) => *state,
            (None, false) => "waiting",
            (None, true) if self.jobs.running.lock().contains_key(&key) => "running",
            (None, true) if standing.paused => "paused",
            (None, true) => "confirmed",
        };
        let again = standing.retry.and_then(moment).filter(|at| *at > now);
        let next = again.or_else(|| match &job.when {
            When::Due(rhythm) => rhythm.next(now, standing.last(now), &zone),
            When::Changed => None,
        });
        let ahead = match &job.when {
            When::Due(rhythm) if state == "confirmed" => rhythm.ahead(now, &zone),
            When::Due(_) | When::Changed => Vec::new(),
        };
        let tried = (standing.tries > RETRIES).then(|| {
            let when = if job.when == When::Changed { "something else changes" } else { "it is due again" };
            format!("it failed {} times in a row, and is tried again when {when}", standing.tries)
        });
        Listed {
            key,
            node: job.node.clone(),
            file: job.file.to_string(),
            line: view.get(&job.node).map(|node| node.line()),
            title: job.title.clone(),
            privacy: job.privacy,
            state,
            rhythm: job.rhythm(),
            tier: job.tier.name(),
            next: next.filter(|_| state == "confirmed"),
            ahead,
            ran: standing.began.and_then(moment).zip(standing.outcome),
            missed: Some(standing.missed).filter(|missed| *missed > 0).zip(standing.late.and_then(moment)),
            why: hindrance.map(|(_, why)| why).or(tried),
            shown: job.shown(),
        }
    }

    /// Finds a job that can be understood.
    fn job_of(&self, key: &str) -> Result<Arc<Found>, String> {
        let found = self.understood_jobs().into_iter().find(|(_, known)| known == key.trim());
        found.map(|(found, _)| found).ok_or_else(|| "there is no such job any more; look at the list again".to_string())
    }

    /// Shows a job as a flight plan, for the user to approve in Emacs.
    ///
    /// # Errors
    /// When there is no such job, it counts already, or the channel is not the user's Emacs.
    pub async fn propose_job(self: &Arc<Self>, origin: &Origin, key: &str) -> Result<Finished, String> {
        let (engine, key) = (self.clone(), key.to_string());
        let found = aside(move || engine.job_of(&key)).await?;
        let Found::Job(job) = &*found else { return Err("BUG: it cannot be understood".to_string()) };
        self.propose_rule(origin, &job.loosening().id(), self.new_turn()).await
    }

    /// Takes back whatever was confirmed of a heading, as it stands now or as it stood. It tightens, so every channel of a
    /// human may do it.
    ///
    /// # Errors
    /// When nothing of it counts, or it could not be stored.
    pub async fn withdraw_job(self: &Arc<Self>, origin: &Origin, key: &str) -> Result<String, String> {
        let counts = self.confirmed_work();
        let of_it = counts.iter().filter(|loosening| key_of(&loosening.file, &loosening.heading) == key.trim());
        let mut said = Vec::new();
        for loosening in of_it {
            said.push(self.withdraw_rule(origin, &loosening.id()).await?);
        }
        match said.is_empty() {
            true => Err("it does not count, so there is nothing to take back".to_string()),
            false => Ok("The job does not run any more.".to_string()),
        }
    }

    /// Lets a job rest, or go on.
    ///
    /// # Errors
    /// When there is no such job, the channel may not decide that, or it could not be stored.
    pub async fn pause_job(self: &Arc<Self>, origin: &Origin, key: &str, rests: bool) -> Result<String, String> {
        if !origin.rights.may_take_away() {
            return Err("this channel may not change jobs".to_string());
        }
        if !rests && (!origin.rights.approve || origin.source != Source::Emacs) {
            return Err("a job that rests goes on again in Emacs: M-x passepartout-jobs".to_string());
        }
        let (engine, wanted) = (self.clone(), key.to_string());
        let found = aside(move || engine.job_of(&wanted)).await?;
        let hook = matches!(&*found, Found::Job(job) if job.when == When::Changed);
        let now = self.clock.now().as_millisecond();
        self.keep_standing(key.trim(), |standing| {
            (standing.paused, standing.missed, standing.late) = (rests, 0, None);
            if !rests {
                // It goes on from here: what was due or changed while it rested was not missed.
                standing.looked = Some(now);
                standing.seen = standing.seen.filter(|_| !hook);
                standing.rest();
            }
        })
        .await?;
        let stopped = if rests && self.end_run(key.trim(), RESTS) { " Its run is stopped." } else { "" };
        Ok(format!("{}{stopped}", if rests { "The job rests." } else { "The job goes on." }))
    }

    /// Returns what the last run of a job said, whole.
    ///
    /// # Errors
    /// When it has not run, or the channel may not see it.
    pub async fn job_report(&self, origin: &Origin, key: &str) -> Result<String, String> {
        let record = self.archive.latest(kind::JOB_SAID, key.trim().to_string()).await?;
        let record = record.ok_or("it has not run yet, so there is no report")?;
        // What is not known of it counts as private.
        let privacy = [Privacy::Open, Privacy::Warn, Privacy::Ask]
            .into_iter()
            .find(|known| record.body["privacy"] == known.word())
            .unwrap_or(Privacy::Private);
        if privacy.is_kept() && !origin.rights.see_private {
            return Err("what it said is private, and this channel may not see that".to_string());
        }
        let said = record.body["text"].as_str().map(str::trim).filter(|said| !said.is_empty());
        Ok(said.unwrap_or("It said nothing.").to_string())
    }

    /// Returns how many texts were read so far to learn what changed.
    pub fn job_texts_read(&self) -> u64 {
        in_place(|| self.jobs.watched.lock().read)
    }
}

/// Returns the line of a heading that cannot be understood.
fn broken(at: &NodeId, file: &str, title: &str, why: &str, view: &View) -> Listed {
    Listed {
        key: String::new(),
        node: at.clone(),
        file: file.to_string(),
        line: view.get(at).map(|node| node.line()),
        title: title.to_string(),
        privacy: view.get(at).map_or(Privacy::Private, |node| node.privacy()),
        state: "broken",
        rhythm: String::new(),
        tier: "",
        next: None,
        ahead: Vec::new(),
        ran: None,
        missed: None,
        why: Some(why.to_string()),
        shown: String::new(),
    }
}

/// Returns what a log may call a job.
fn called(job: &Job) -> String {
    format!("the job “{}”", job.title)
}
