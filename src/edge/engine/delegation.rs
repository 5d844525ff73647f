//! Work that a turn hands over: a turn in the background, with no more rights than the one that handed it over, which
//! reports to the conversation that it came from.

use crate::domain::action::clip;
use crate::domain::gate::clearance::Cleared;
use crate::domain::id::{SessionId, TurnId};
use crate::domain::inert::exact;
use crate::domain::label::Labels;
use crate::domain::outside::{Outside, Piece};
use crate::domain::port::LogLevel;
use crate::domain::scope::Scope;
use crate::domain::signal::{Body, Depth, Origin, Rights, Signal, Source};
use crate::domain::tool::DELEGATE;
use crate::domain::turn::{Ending, Start, TurnReport};
use crate::edge::engine::record::Finished;
use crate::edge::engine::skilled::{Bound, Setting, Under};
use crate::edge::engine::turns::first_line;
use crate::edge::engine::{Engine, Notice};
use futures_util::FutureExt;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Stands between the name of a conversation and that of a turn to which it handed work over.
const BELOW: &str = "/task-";
/// So many such turns run at once.
const MOST: usize = 3;
/// How one ended that took longer: nobody stopped it.
const LATE: &str = "took too long and was ended";

/// Returns the conversation in which what a conversation says is shown: of work that was handed over, the one that it came
/// from; else itself.
pub fn shown_in(session: &SessionId) -> SessionId {
    match session.0.rsplit_once(BELOW) {
        Some((home, _)) => SessionId(home.to_string()),
        None => session.clone(),
    }
}

/// What a turn has that it may hand on.
#[derive(Clone, Debug)]
pub struct Lent {
    /// Whose turn it is.
    pub origin: Origin,
    /// The tools that it may use.
    pub tools: BTreeSet<String>,
    /// What it goes on under.
    pub under: Under,
}

/// What came of work that was handed over.
#[derive(Clone, Debug)]
pub struct Reported {
    /// The turn that handed it over.
    pub follows: TurnId,
    /// The task, in one line.
    pub task: String,
    /// How it ended.
    pub finished: Finished,
    /// That in words, behind the task.
    pub how: &'static str,
}

impl Reported {
    /// Returns what the conversation is told, as the end of a turn of that name.
    pub fn told(&self, turn: &TurnId) -> Finished {
        let (report, ended) = (&self.finished.report, self.how);
        let colon = if report.text.trim().is_empty() { "." } else { ":" };
        let text = format!("The task “{}” {ended}{colon}\n\n{}", self.task, report.text.trim());
        let told = TurnReport { text: text.trim_end().to_string(), ..report.clone() };
        // What waits is kept with the conversation of the task, where it goes on.
        let ending = if report.ending == Ending::Parked { Ending::Answered } else { report.ending };
        let report = TurnReport { ending, roll_back: false, ..told };
        Finished { turn: turn.clone(), session: shown_in(&self.finished.session), report, ..self.finished.clone() }
    }
}

/// The work that goes on in the background, by its conversation.
#[derive(Default)]
pub(in crate::edge::engine) struct Tasks {
    going: Mutex<BTreeMap<String, Task>>,
    /// Who is told, by conversation.
    told: Mutex<BTreeMap<String, ToBeTold>>,
}

/// What a conversation is still to be told.
#[derive(Default)]
struct ToBeTold {
    /// So many tasks of it were not told of, whether they go on or not.
    tasks: usize,
    /// Whether somebody waits for that who would else leave.
    stays: bool,
}

struct Task {
    /// What it is about, in one line.
    words: String,
    /// Stops it, also by being dropped; `None` once it was told.
    stop: Option<oneshot::Sender<()>>,
}

impl Tasks {
    /// Stops all that goes on.
    pub(in crate::edge::engine) fn end(&self) {
        self.going.lock().values_mut().for_each(|task| task.stop = None);
    }
}

impl Engine {
    /// Hands the task of an action over to a turn in the background; returns what to say of it.
    ///
    /// # Errors
    /// Why it was not handed over, in words.
    pub(in crate::edge) fn delegate(
        self: &Arc<Self>,
        turn: &TurnId,
        lent: &Lent,
        cleared: &Cleared,
    ) -> Result<String, String> {
        let action = cleared.action();
        let task = action.text("task").unwrap_or("").trim().to_string();
        if task.is_empty() {
            return Err("it says no task".to_string());
        }
        if shown_in(&lent.origin.session) != lent.origin.session {
            return Err("what was handed over is not handed on".to_string());
        }
        let tools = handed_on(&lent.tools, action.args().contains_key("tools").then(|| action.list("tools")))?;
        let (words, name) = (first_line(&task), self.new_turn());
        let session = SessionId(format!("{}{BELOW}{}", lent.origin.session.0, name.0));
        let work = {
            let led = action.led().is_some();
            let under = Under {
                preset: Some(Bound { name: DELEGATE.to_string(), tools: Some(tools), rewrites: None }),
                sees: Some(cleared.scope().may_see.word().to_string()),
                ..lent.under.clone()
            };
            let scope = Scope { session: session.clone(), ..cleared.scope().clone() };
            Work { name: name.clone(), session: session.clone(), task, labels: action.labels(), led, under, scope }
        };
        let mut tasks = self.tasks.going.lock();
        if tasks.len() >= MOST {
            // Of other conversations nothing is told here.
            let of_it = |name: &str| shown_in(&SessionId(name.to_string())) == lent.origin.session;
            let going: Vec<String> = tasks
                .iter()
                .filter(|(name, _)| of_it(name))
                .map(|(_, task)| format!("“{}”", exact(&clip(&task.words))))
                .collect();
            let going = if going.is_empty() { "tasks of other conversations".to_string() } else { going.join(", ") };
            return Err(format!("{MOST} tasks go on already: {going}"));
        }
        let (stop, stopped) = oneshot::channel();
        self.tasks.told.lock().entry(lent.origin.session.0.clone()).or_default().tasks += 1;
        tasks.insert(session.0, Task { words: words.clone(), stop: Some(stop) });
        let (engine, follows, about) = (self.clone(), turn.clone(), words.clone());
        tokio::spawn(async move {
            let (finished, how) = engine.worked(work, stopped).await;
            engine.tasks.going.lock().remove(&finished.session.0);
            let known = engine.known_privacy(&finished.session);
            let privacy = finished.report.conversation.labels.privacy.max(known);
            engine.say_of(LogLevel::Info, privacy, &format!("the task “{about}” {how}"));
            (engine.notify)(Notice::Reported(Box::new(Reported { follows, task: about, finished, how })));
        });
        Ok(format!(
            "It was handed over as “{}”; what comes of it is told in this conversation. Go on without it, and do not wait for it.",
            exact(&clip(&words))
        ))
    }

    /// Returns the longest that a turn in the background may take.
    pub(super) fn patience(&self) -> Duration {
        Duration::from_secs(self.config.background_timeout)
    }

    /// Runs such a turn to its end, whatever becomes of it; returns how it ended, also in words.
    async fn worked(self: &Arc<Self>, work: Work, stopped: oneshot::Receiver<()>) -> (Finished, &'static str) {
        let (name, session, asked, began) =
            (work.name.clone(), work.session.clone(), first_line(&work.task), self.clock.now());
        let turned = AssertUnwindSafe(self.work_turn(work, began)).catch_unwind();
        let turned = tokio::time::timeout(self.patience(), turned);
        let finished = tokio::select! {
            turned = turned => match turned {
                Ok(Ok(finished)) => finished,
                Ok(Err(_)) => self.broken(&name, session, asked, began).await,
                Err(_) => return (self.overran(&name, session, asked, began).await, LATE),
            },
            _ = stopped => self.interrupted(&name, session, asked, began).await,
        };
        let how = ended(finished.report.ending);
        (finished, how)
    }

    async fn work_turn(self: &Arc<Self>, work: Work, began: jiff::Timestamp) -> Finished {
        let Work { name, session, task, labels, led, under, scope } = work;
        let _alone = self.alone(&session).await;
        self.mark_private(&session, labels.privacy);
        self.doings.begin(&name, &session, Vec::new());
        // It decides about nothing, and sees no more than the turn that handed it over.
        let see_private = scope.may_see.is_kept();
        let origin = Origin {
            source: Source::System,
            session: session.clone(),
            rights: Rights { approve: false, see_private, ..Rights::HUMAN },
        };
        let outside = match led {
            true => {
                let mut outside = Outside::default();
                outside.take(&Piece::new("a task that text from outside led to", &task, labels.privacy));
                outside
            }
            false => Outside::default(),
        };
        let asked = first_line(&task);
        let body = Body::Delegation { task };
        let labels = Labels { privacy: labels.privacy, ..Labels::USER };
        let signal = Signal { origin, depth: Depth::outermost(), turn: name.clone(), at: began, labels, body };
        let start = Start::Words { signal, history: Vec::new(), past: Default::default(), outside };
        let (report, under) = self.run(start, Some(under), None, &scope, &mut |_| {}).await;
        let setting = Setting { project: Some(scope.project), under: Some(under) };
        self.finish(name, session, began, asked, report, &setting).await
    }

    /// Keeps what came of work that was handed over with the conversation that is told of it, as private and as much from
    /// outside as it is.
    pub(in crate::edge) async fn keep_told(&self, told: Finished) -> Finished {
        let Finished { turn, session, at, asked, report, .. } = told;
        self.mark_private(&session, report.conversation.labels.privacy);
        self.finish(turn, session, at, asked, report, &Setting::default()).await
    }

    /// Notes that somebody stays in a conversation until all is told that it hands over.
    pub(in crate::edge) fn stay_for(&self, session: &SessionId) {
        self.tasks.told.lock().entry(session.0.clone()).or_default().stays = true;
    }

    /// Returns whether somebody does.
    pub(in crate::edge::engine) fn is_stayed_for(&self, session: &SessionId) -> bool {
        self.tasks.told.lock().get(&session.0).is_some_and(|told| told.stays)
    }

    /// Returns of how many tasks a conversation is still to be told.
    pub(in crate::edge) fn untold_tasks(&self, session: &SessionId) -> usize {
        self.tasks.told.lock().get(&session.0).map_or(0, |told| told.tasks)
    }

    /// Notes that a conversation is told of one of them.
    pub(in crate::edge) fn note_told(&self, session: &SessionId) {
        if let Some(told) = self.tasks.told.lock().get_mut(&session.0) {
            told.tasks = told.tasks.saturating_sub(1);
        }
    }

    /// Stops what goes on for a conversation that is over, and forgets who was to be told of it.
    pub(in crate::edge::engine) fn end_tasks(&self, session: &SessionId) {
        self.task_lines(session, true);
        self.tasks.told.lock().remove(&session.0);
    }

    /// Handles `/tasks`: says what goes on in the background for a conversation; `/tasks stop` ends it.
    pub(super) fn task_lines(&self, session: &SessionId, stop: bool) -> String {
        let mut tasks = self.tasks.going.lock();
        let of_it = |name: &str| shown_in(&SessionId(name.to_string())) == *session;
        let theirs = tasks.iter_mut().filter(|(name, _)| of_it(name));
        let mut lines: Vec<String> = theirs
            .map(|(_, task)| {
                let stopped = stop && task.stop.take().is_some();
                format!("- {}{}", if stopped { "stopped: " } else { "" }, exact(&task.words))
            })
            .collect();
        match lines.is_empty() {
            true => lines.push("Nothing goes on in the background for this conversation.".to_string()),
            false if !stop => lines.push("/tasks stop ends them.".to_string()),
            false => {}
        }
        lines.join("\n")
    }
}

/// What is handed over.
struct Work {
    name: TurnId,
    session: SessionId,
    task: String,
    labels: Labels,
    led: bool,
    under: Under,
    scope: Scope,
}

/// Returns how work ended that was handed over.
fn ended(ending: Ending) -> &'static str {
    match ending {
        Ending::Answered => "is done",
        Ending::Parked => "waits for you, as a flight plan",
        Ending::Interrupted => "was stopped",
        Ending::Failed => "failed",
    }
}

/// Returns the tools of work that is handed over: of those of the turn, the ones that are wanted.
///
/// # Errors
/// When one is wanted that the turn does not have.
fn handed_on(tools: &BTreeSet<String>, wanted: Option<Vec<&str>>) -> Result<BTreeSet<String>, String> {
    let all: BTreeSet<String> = tools.iter().filter(|tool| *tool != DELEGATE).cloned().collect();
    let Some(wanted) = wanted else { return Ok(all) };
    match wanted.iter().find(|tool| !all.contains(**tool)) {
        Some(tool) => Err(format!("“{}” is no tool that this turn may hand on", exact(&clip(tool)))),
        None => Ok(wanted.into_iter().map(str::to_string).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::turn::Conversation;

    #[test]
    fn what_took_too_long_is_not_said_to_be_stopped() {
        let turn = TurnId("T1".to_string());
        for (how, expected) in [
            (LATE, "The task “Look.” took too long and was ended."),
            (ended(Ending::Interrupted), "The task “Look.” was stopped."),
        ] {
            let report = TurnReport { ending: Ending::Interrupted, ..TurnReport::of(Conversation::empty()) };
            let session = SessionId(format!("chat{BELOW}T2"));
            let (at, asked) = (jiff::Timestamp::UNIX_EPOCH, "Look.".to_string());
            let finished = Finished { turn: turn.clone(), session, at, asked, seconds: 0.0, report };
            let reported = Reported { follows: turn.clone(), task: "Look.".to_string(), finished, how };
            assert_eq!(reported.told(&turn).report.text, expected);
        }
    }
}
