//! One run of a job: a turn that nobody waits for, with the rights of its heading, and a line in its log.

use crate::domain::action::Action;
use crate::domain::gate::secret;
use crate::domain::id::{SessionId, TurnId};
use crate::domain::job::found::Found;
use crate::domain::job::watch::State;
use crate::domain::job::{HOOKS_A_DAY, Job, When, began_of_session, key_of_session};
use crate::domain::label::{Labels, Privacy, Provenance};
use crate::domain::port::LogLevel;
use crate::domain::scope::Scope;
use crate::domain::signal::{Body, Depth, Origin, Rights, Signal, Source};
use crate::domain::tool::LOG_JOB;
use crate::domain::turn::{Ending, Start};
use crate::edge::engine::authority::Order;
use crate::edge::engine::jobs::standing::{RETRIES, STOPPED, day};
use crate::edge::engine::jobs::{CHANGED, Run, called};
use crate::edge::engine::record::{Finished, kind};
use crate::edge::engine::skilled::{Setting, Under};
use crate::edge::engine::turns::first_line;
use crate::edge::engine::{Engine, Notice};
use crate::edge::project::scratch;
use crate::edge::thread::aside;
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::sync::Arc;

/// So many characters are kept of what a run said.
const SAID: usize = 16_000;

/// Says that a job does not run any more, whatever ends it.
struct Running<'a> {
    engine: &'a Engine,
    key: String,
}

impl Running<'_> {
    /// Returns what the job's own edits did to what it watches.
    fn difference(&self) -> State {
        self.engine.jobs.running.lock().get(&self.key).map(|run| run.difference).unwrap_or_default()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.engine.jobs.running.lock().remove(&self.key);
        (self.engine.notify)(Notice::Status);
    }
}

impl Engine {
    /// Returns how many jobs run just now.
    pub fn running_jobs(&self) -> usize {
        self.jobs.running.lock().len()
    }

    /// Runs a job now, as the user wants it. It must be confirmed.
    ///
    /// # Errors
    /// When there is none that may run, or it runs already.
    pub async fn run_job_now(self: &Arc<Self>, origin: &Origin, key: &str) -> Result<Finished, String> {
        if !origin.rights.approve || origin.source != Source::Emacs {
            return Err("a job is run by hand in Emacs: M-x passepartout-jobs".to_string());
        }
        let key = key.trim();
        if self.jobs.running.lock().contains_key(key) {
            return Err("it is running already".to_string());
        }
        let finished = self.run_confirmed(key, None, None).await?;
        self.note_standing(key, |standing| (standing.missed, standing.late) = (0, None)).await;
        Ok(finished)
    }

    /// Runs a job as memory has it at this moment: it must stand as it was confirmed, and where somebody looked at it before,
    /// as it stood then. `looked` is up to when what was due is done with it; by hand nothing that is due is.
    ///
    /// # Errors
    /// Why it does not run.
    pub(super) async fn run_confirmed(
        self: &Arc<Self>,
        key: &str,
        confirmed: Option<&str>,
        looked: Option<Timestamp>,
    ) -> Result<Finished, String> {
        // One after the other; what is known of it is asked behind the one before.
        let _one = self.jobs.one.lock().await;
        let (engine, wanted) = (self.clone(), key.to_string());
        let (found, state) = aside(move || {
            let found = engine.job_of(&wanted)?;
            let Found::Job(job) = &*found else { return Err("BUG: it cannot be understood".to_string()) };
            let view = engine.view();
            if let Some((_, why)) = engine.hindrance(job, &view) {
                return Err(why);
            }
            let state = engine.watched(job, &view).ok_or("what it watches is not there any more")?;
            Ok((found, state))
        })
        .await?;
        let Found::Job(job) = &*found else { return Err("BUG: it cannot be understood".to_string()) };
        let loosening = job.loosening();
        if !self.is_confirmed(&loosening) {
            return Err("it does not run before you confirm it".to_string());
        }
        let paused = looked.is_some() && self.job_standing(key).paused;
        if paused || confirmed.is_some_and(|confirmed| confirmed != loosening.hash()) {
            return Err("it rests, or says something else by now".to_string());
        }
        Ok(self.run_job(job, state, looked).await)
    }

    /// Runs a job that was looked at; `state` is that of what it watches.
    async fn run_job(self: &Arc<Self>, job: &Job, state: State, looked: Option<Timestamp>) -> Finished {
        let key = job.key();
        self.jobs.running.lock().insert(key.clone(), Run::default());
        let running = Running { engine: self, key: key.clone() };
        (self.notify)(Notice::Status);
        let (began, turn) = (self.clock.now(), self.new_turn());
        self.note_begin(job, (began, state), looked).await;
        let session = SessionId(job.session(began));
        let origin = Origin { source: Source::Clock, session: session.clone(), rights: rights(job) };
        let turned = self.job_turn(job, &origin, &turn, began);
        let ended = tokio::select! {
            turned = tokio::time::timeout(self.patience(), turned) => turned.map_err(|_| None),
            why = self.ends_early(job) => Err(Some(why)),
        };
        let (finished, in_time) = match ended {
            Ok(finished) => (finished, true),
            Err(Some(why)) => (self.stopped(&turn, session, first_line(&job.task), began, why).await, true),
            Err(None) => (self.overran(&turn, session, first_line(&job.task), began).await, false),
        };
        let outcome = outcome(&finished, in_time);
        // A plan that waits is about the file as it stands: the log has it once that was decided.
        if finished.report.ending != Ending::Parked {
            self.log_run(job, outcome, None).await;
        }
        let (level, privacy, text) = self.note_end(job, &finished, outcome, state + running.difference()).await;
        // Who hears that it ended finds it ended.
        drop(running);
        self.say_of(level, privacy, &text);
        finished
    }

    /// Waits until a run is to end before its time: the user stopped it, or its job is not any more what was confirmed.
    async fn ends_early(self: &Arc<Self>, job: &Job) -> &'static str {
        let (key, hash) = (job.key(), job.loosening().hash());
        loop {
            let ends = || self.jobs.running.lock().get(&key).and_then(|run| run.ends);
            if let Some(why) = ends() {
                return why;
            }
            let (engine, wanted, hash) = (self.clone(), key.clone(), hash.clone());
            let stands = aside(move || match engine.job_of(&wanted).as_deref() {
                Ok(Found::Job(now)) => now.loosening().hash() == hash && engine.is_confirmed(&now.loosening()),
                Ok(Found::Broken { .. }) | Err(_) => false,
            });
            if !stands.await {
                return ends().unwrap_or(CHANGED);
            }
            self.jobs.doubt.notified().await;
        }
    }

    /// Takes note of a run before it begins: one that is broken off is known, and is not made up for blindly.
    async fn note_begin(&self, job: &Job, (began, state): (Timestamp, State), looked: Option<Timestamp>) {
        let day = day(began, self.clock.zone());
        let began = began.as_millisecond();
        let before = self.touch_standing(&job.key(), |standing| standing.count(day));
        self.note_standing(&job.key(), |standing| {
            standing.open(began, state);
            standing.looked = looked.map(|at| at.as_millisecond()).or(standing.looked);
        })
        .await;
        if job.when == When::Changed && before + 1 == HOOKS_A_DAY {
            let text = format!("{} ran {HOOKS_A_DAY} times today, and rests until tomorrow", called(job));
            self.say_of(LogLevel::Warning, job.privacy, &text);
        }
    }

    /// Takes note of how a run ended, and returns what is to be said of it. Only one that came to something has seen what changed.
    async fn note_end(
        &self,
        job: &Job,
        finished: &Finished,
        outcome: &str,
        seen: State,
    ) -> (LogLevel, Privacy, String) {
        let now = self.clock.now();
        let came = matches!(finished.report.ending, Ending::Answered | Ending::Parked);
        let mut tries = 0;
        self.note_standing(&job.key(), |standing| {
            standing.outcome = Some(outcome.to_string());
            standing.turn = Some(finished.turn.0.clone());
            standing.open = false;
            match came {
                true => {
                    (standing.ran, standing.seen) = (standing.began, Some(seen));
                    standing.rest();
                }
                // What the user stopped is not tried again by itself.
                false if outcome == STOPPED => standing.stop(seen),
                false => standing.fail(now, seen),
            }
            tries = standing.tries;
        })
        .await;
        let unsaid = came || outcome == STOPPED;
        self.keep_said(&job.key(), finished).await;
        let why = finished.report.notice.as_deref().filter(|_| !unsaid).map(first_line).unwrap_or_default();
        let colon = if why.is_empty() { "" } else { ": " };
        let gave_up =
            if tries == RETRIES + 1 { "; it is not tried again before it is due or something changes" } else { "" };
        let level = if unsaid { LogLevel::Info } else { LogLevel::Warning };
        let privacy = job.privacy.max(finished.report.conversation.labels.privacy);
        (level, privacy, format!("{} {}{colon}{why}{gave_up}", called(job), words(outcome)))
    }

    /// Keeps what a run said, for the list of jobs: nobody looked on.
    async fn keep_said(&self, key: &str, finished: &Finished) {
        let report = &finished.report;
        let parts = [report.text.trim(), report.notice.as_deref().unwrap_or_default().trim()];
        let said = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        let said: String = secret::mask(&self.mask(&said)).0.chars().take(SAID).collect();
        let privacy = self.known_privacy(&finished.session).max(report.conversation.labels.privacy);
        let body = serde_json::json!({ "text": said, "privacy": privacy.word() });
        if let Err(why) = self.append(kind::JOB_SAID, key, body).await {
            self.say(LogLevel::Error, &format!("what a job said could not be stored: {why}"));
        }
    }

    async fn job_turn(self: &Arc<Self>, job: &Job, origin: &Origin, turn: &TurnId, began: Timestamp) -> Finished {
        let _alone = self.alone(&origin.session).await;
        self.mark_private(&origin.session, job.privacy);
        self.doings.begin(turn, &origin.session, Vec::new());
        let task = job.task.clone();
        let body = match &job.when {
            When::Due(_) => Body::Schedule { job: job.title.clone(), task },
            When::Changed => Body::Hook { name: job.title.clone(), task },
        };
        let labels = Labels { provenance: Provenance::Note, privacy: job.privacy, ..Labels::USER };
        let (depth, turn, at) = (Depth::outermost(), turn.clone(), began);
        let signal = Signal { origin: origin.clone(), depth, turn: turn.clone(), at, labels, body };
        let (engine, session, below) = (self.clone(), origin.session.clone(), job.node.to_string());
        let (key, may_see) = (job.key(), job.privacy);
        let scope = aside(move || {
            // Runs of one job share a folder of their own, wherever the user is at work.
            let folder = scratch(&engine.config, &place(&key));
            let project = folder.canonicalize().unwrap_or(folder).to_string_lossy().into_owned();
            let scope = engine.scope(&place(&key), None, may_see == Privacy::Private);
            engine.tightened(Scope { session, project, may_see, ..scope }, Some(&below))
        })
        .await;
        let start = Start::Words { signal, history: Vec::new(), past: Default::default(), outside: Default::default() };
        let sees = Some(job.privacy.word().to_string());
        let under = Under { below: Some(job.node.to_string()), sees, ..Under::default() };
        let (report, under) = self.run(start, Some(under), None, &scope, &mut |_| {}).await;
        let setting = Setting { project: Some(scope.project), under: Some(under) };
        self.finish(turn, origin.session.clone(), began, first_line(&job.task), report, &setting).await
    }

    /// Writes a line into the log of a job's heading, as any other edit: judged by every gate, and let through by the
    /// confirmation of the job. Where that does not do, nothing is written, nobody is asked, and that is said. `began` says
    /// which run it was, where others came since.
    async fn log_run(self: &Arc<Self>, job: &Job, outcome: &str, began: Option<Timestamp>) {
        let began = began.map(|began| ("began", began.to_string()));
        let args: Map<String, Value> = [("id", job.node.to_string()), ("outcome", outcome.to_string())]
            .into_iter()
            .chain(began)
            .map(|(name, value)| (name.to_string(), Value::String(value)))
            .collect();
        let labels = Labels { privacy: job.privacy, ..Labels::USER };
        let why = "A confirmed job ran, and its heading keeps a log of that.";
        let logged = match Action::new(&self.toolbox(), LOG_JOB, args, Some(why), labels) {
            Ok(action) => {
                let turn = self.new_turn();
                let rights = Rights { see_private: job.privacy > Privacy::Open, ..rights(job) };
                let origin = Origin { source: Source::Clock, session: place(&job.key()), rights };
                // It is the clock's own housekeeping: no human typed it, and no job proposed it.
                let order = Order { body: Body::Heartbeat, asked: "log of a job".to_string(), folder: None };
                let logged = self.ordered(&origin, turn.clone(), order, action).await;
                if logged.report.ending == Ending::Parked {
                    self.withdraw(&turn).await;
                }
                !logged.report.changed.is_empty()
            }
            Err(_) => false,
        };
        if !logged {
            let text =
                format!("{} ran ({outcome}); that could not be written into the log of its heading", called(job));
            self.say_of(LogLevel::Info, job.privacy, &text);
        }
    }

    /// Takes note of how a run ended that went on behind a decision about its plans; `denied` says that all of these were
    /// denied.
    pub(in crate::edge::engine) async fn settle_job(self: &Arc<Self>, finished: &Finished, denied: bool) {
        let session = &finished.session.0;
        // A client may name its conversation as it likes.
        let of_job = finished.report.conversation.set_off.is_of_job();
        let (Some(key), Some(began)) = (key_of_session(session).filter(|_| of_job), began_of_session(session)) else {
            return;
        };
        if finished.report.ending == Ending::Parked {
            return;
        }
        let (reader, wanted) = (self.clone(), key.to_string());
        let Ok(found) = aside(move || reader.job_of(&wanted)).await else { return };
        let Found::Job(job) = &*found else { return };
        let outcome = if denied { "denied" } else { outcome(finished, true) };
        let newest = self.job_standing(key).began == Some(began.as_millisecond());
        self.log_run(job, outcome, Some(began).filter(|_| !newest)).await;
        // What its edits did to what it watches is known already; see [`Engine::own_edit`]. How the job stands is told of
        // its newest run.
        if newest {
            self.note_standing(key, |standing| standing.outcome = Some(outcome.to_string())).await;
            self.keep_said(key, finished).await;
        }
    }
}

/// Returns what a run may: it decides about nothing, and sees what is private only where its heading is.
fn rights(job: &Job) -> Rights {
    Rights { approve: false, see_private: job.privacy == Privacy::Private, ..Rights::HUMAN }
}

/// Returns the conversation that stands for a job beside those of its runs.
fn place(key: &str) -> SessionId {
    SessionId(format!("job-{key}"))
}

/// Returns what a run came to, in a word.
fn outcome(finished: &Finished, in_time: bool) -> &'static str {
    match finished.report.ending {
        _ if !in_time => "overran",
        Ending::Answered => "done",
        Ending::Parked => "waits",
        Ending::Interrupted => STOPPED,
        Ending::Failed => "failed",
    }
}

/// Returns that in a sentence.
fn words(outcome: &str) -> &'static str {
    match outcome {
        "done" => "was done",
        "waits" => "left a flight plan for you: M-x passepartout-flight-plans",
        "stopped" => "was stopped",
        "overran" => "took too long and was ended",
        _ => "failed",
    }
}
