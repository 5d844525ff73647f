//! One run of a job: a turn that nobody waits for, with the rights of its heading, and a line in its log.

use crate::domain::action::Action;
use crate::domain::id::{SessionId, TurnId};
use crate::domain::job::found::Found;
use crate::domain::job::watch::State;
use crate::domain::job::{HOOKS_A_DAY, Job, When, key_of_session};
use crate::domain::label::{Labels, Privacy, Provenance};
use crate::domain::port::LogLevel;
use crate::domain::scope::Scope;
use crate::domain::signal::{Body, Depth, Origin, Rights, Signal, Source};
use crate::domain::tool::LOG_JOB;
use crate::domain::turn::{Ending, Start};
use crate::edge::engine::Engine;
use crate::edge::engine::jobs::called;
use crate::edge::engine::jobs::standing::RETRIES;
use crate::edge::engine::record::Finished;
use crate::edge::engine::skilled::{Setting, Under};
use crate::edge::engine::turns::first_line;
use crate::edge::project::scratch;
use crate::edge::thread::aside;
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// The longest that a run may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// What is known of a run that has begun and not ended.
const BROKEN_OFF: &str = "broken off";

/// Says that a job does not run any more, whatever ends it.
struct Running<'a> {
    engine: &'a Engine,
    key: String,
}

impl Running<'_> {
    /// Returns what the job's own edits did to what it watches.
    fn difference(&self) -> State {
        self.engine.jobs.running.lock().get(&self.key).copied().unwrap_or_default()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.engine.jobs.running.lock().remove(&self.key);
    }
}

impl Engine {
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
        self.jobs.running.lock().insert(key.clone(), State::default());
        let running = Running { engine: self, key: key.clone() };
        let (began, turn) = (self.clock.now(), self.new_turn());
        self.note_begin(job, began, looked).await;
        let session = SessionId(job.session(began));
        let origin = Origin { source: Source::Clock, session: session.clone(), rights: rights(job) };
        let turned = self.job_turn(job, &origin, &turn, began);
        let (finished, in_time) = match tokio::time::timeout(PATIENCE, turned).await {
            Ok(finished) => (finished, true),
            Err(_) => (self.overran(&turn, session, first_line(&job.task), began).await, false),
        };
        let outcome = outcome(&finished, in_time);
        // A plan that waits is about the file as it stands: the log has it once that was decided.
        if finished.report.ending != Ending::Parked {
            self.log_run(job, outcome).await;
        }
        self.note_end(job, &finished, outcome, state + running.difference()).await;
        drop(running);
        finished
    }

    /// Takes note of a run before it begins: one that is broken off is known, and is not made up for blindly.
    async fn note_begin(&self, job: &Job, began: Timestamp, looked: Option<Timestamp>) {
        let began = began.as_millisecond();
        let before = self.touch_standing(&job.key(), |standing| standing.count(began));
        self.note_standing(&job.key(), |standing| {
            standing.began = Some(began);
            standing.outcome = Some(BROKEN_OFF.to_string());
            standing.pending = None;
            standing.looked = looked.map(|at| at.as_millisecond()).or(standing.looked);
        })
        .await;
        if job.when == When::Changed && before + 1 == HOOKS_A_DAY {
            let text = format!("{} ran {HOOKS_A_DAY} times today, and rests until tomorrow", called(job));
            self.say_of(LogLevel::Warning, job.privacy, &text);
        }
    }

    /// Takes note of how a run ended, and says it. Only one that came to something has seen what changed.
    async fn note_end(&self, job: &Job, finished: &Finished, outcome: &str, seen: State) {
        let now = self.clock.now();
        let came = matches!(finished.report.ending, Ending::Answered | Ending::Parked);
        let mut tries = 0;
        self.note_standing(&job.key(), |standing| {
            standing.outcome = Some(outcome.to_string());
            standing.turn = Some(finished.turn.0.clone());
            match came {
                true => {
                    (standing.ran, standing.seen) = (standing.began, Some(seen));
                    standing.rest();
                }
                false => standing.fail(now, seen),
            }
            tries = standing.tries;
        })
        .await;
        let why = finished.report.notice.as_deref().filter(|_| !came).map(first_line).unwrap_or_default();
        let colon = if why.is_empty() { "" } else { ": " };
        let gave_up =
            if tries == RETRIES + 1 { "; it is not tried again before it is due or something changes" } else { "" };
        let level = if came { LogLevel::Info } else { LogLevel::Warning };
        let privacy = job.privacy.max(finished.report.conversation.labels.privacy);
        self.say_of(level, privacy, &format!("{} {}{colon}{why}{gave_up}", called(job), words(outcome)));
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
    /// confirmation of the job. Where that does not do, nothing is written, nobody is asked, and that is said.
    async fn log_run(self: &Arc<Self>, job: &Job, outcome: &str) {
        let args: Map<String, Value> = [("id", job.node.to_string()), ("outcome", outcome.to_string())]
            .map(|(name, value)| (name.to_string(), Value::String(value)))
            .into_iter()
            .collect();
        let labels = Labels { privacy: job.privacy, ..Labels::USER };
        let why = "A confirmed job ran, and its heading keeps a log of that.";
        let logged = match Action::new(&self.toolbox(), LOG_JOB, args, Some(why), labels) {
            Ok(action) => {
                let turn = self.new_turn();
                let rights = Rights { see_private: job.privacy > Privacy::Open, ..rights(job) };
                let origin = Origin { source: Source::Clock, session: place(&job.key()), rights };
                let logged = self.commanded(&origin, turn.clone(), "log of a job".to_string(), action).await;
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

    /// Takes note of how a run ended that went on behind a decision about its plans. The future has a name of its own, as the
    /// line in the log is the end of a turn as well.
    pub(in crate::edge::engine) fn settle_job<'a>(
        &'a self,
        finished: &'a Finished,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move {
            // A client may name its conversation as it likes.
            let of_job = finished.report.conversation.set_off.is_of_job();
            let Some(key) = key_of_session(&finished.session.0).filter(|_| of_job) else { return };
            if finished.report.ending == Ending::Parked || self.jobs.running.lock().contains_key(key) {
                return;
            }
            let (Some(engine), Some(reader)) = (self.me.upgrade(), self.me.upgrade()) else { return };
            let wanted = key.to_string();
            let Ok(found) = aside(move || reader.job_of(&wanted)).await else { return };
            let Found::Job(job) = &*found else { return };
            let outcome = outcome(finished, true);
            engine.log_run(job, outcome).await;
            // What its edits did to what it watches is known already; see [`Engine::own_edit`].
            self.note_standing(key, |standing| standing.outcome = Some(outcome.to_string())).await;
        })
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
        Ending::Interrupted => "stopped",
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
