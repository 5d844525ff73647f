//! One lane a session: its turns run in the order in which they came, beside those of other sessions.

use crate::domain::id::{SessionId, TurnId};
use crate::domain::inert::Inert;
use crate::domain::label::Privacy;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::{Origin, Role, Said};
use crate::domain::turn::{Conversation, TurnReport};
use crate::edge::engine::Engine;
use crate::edge::engine::record::{Finished, read_role};
use crate::edge::engine::turns::{Ask, Decided, first_line};
use crate::edge::runtime::outbox::Outbox;
use crate::edge::runtime::{Event, show};
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a stopped turn may take to end.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// What a lane has to do.
enum Work {
    Ask(Box<Ask>),
    Decide {
        origin: Origin,
        plan: String,
        decided: Decided,
    },
    /// Says where a decision that was typed here is carried out.
    Elsewhere {
        plan: String,
    },
}

struct Running {
    task: tokio::task::JoinHandle<()>,
    turn: TurnId,
    asked: String,
    began: jiff::Timestamp,
}

#[derive(Default)]
struct Lane {
    queue: VecDeque<Work>,
    running: Option<Running>,
}

/// The lanes of one client.
pub(super) struct Lanes {
    engine: Arc<Engine>,
    outbox: Arc<Outbox>,
    inbox: mpsc::UnboundedSender<Event>,
    lanes: HashMap<SessionId, Lane>,
}

impl Lanes {
    pub(super) fn new(engine: Arc<Engine>, outbox: Arc<Outbox>, inbox: mpsc::UnboundedSender<Event>) -> Lanes {
        Lanes { engine, outbox, inbox, lanes: HashMap::new() }
    }

    /// Returns whether a turn is running.
    pub(super) fn busy(&self) -> bool {
        self.lanes.values().any(|lane| lane.running.is_some())
    }

    /// Queues the user's words.
    pub(super) fn ask(&mut self, origin: Origin, payload: &Sexp) {
        let history = payload
            .list_at("history")
            .iter()
            .filter_map(|said| {
                let role = match read_role(said.name_at("role")?) {
                    // Whatever a chat file claims, a tool's answer does not come from there.
                    Role::Tool | Role::Assistant => Role::Assistant,
                    Role::User => Role::User,
                };
                Some(Said { role, text: said.text_at("text")?.to_string(), privacy: Privacy::Open })
            })
            .collect();
        let folder = payload
            .text_at("project")
            .map(PathBuf::from)
            .or_else(|| payload.text_at("file").and_then(|file| PathBuf::from(file).parent().map(PathBuf::from)));
        let text = payload.text_at("text").unwrap_or("").to_string();
        self.take(Ask { origin, text, history, folder });
    }

    /// Queues a slash command, without its slash.
    pub(super) fn command(&mut self, origin: Origin, line: &str) {
        self.take(Ask { text: format!("/{line}"), origin, history: Vec::new(), folder: None });
    }

    /// Queues what was typed; a decision about a plan of another conversation is carried out in that one's lane.
    fn take(&mut self, ask: Ask) {
        let here = ask.origin.session.clone();
        let elsewhere = self
            .engine
            .typed_decision(&ask.text)
            .and_then(|(id, decided)| Some((self.engine.plan(id)?, decided)))
            .filter(|(plan, _)| plan.session != here);
        match elsewhere {
            Some((plan, decided)) => {
                let id = plan.id.0;
                self.decide(ask.origin, &id, decided);
                self.queue(here, Work::Elsewhere { plan: id });
            }
            None => self.queue(here, Work::Ask(Box::new(ask))),
        }
    }

    /// Queues a human's decision, in the lane of the conversation that it belongs to.
    pub(super) fn decide(&mut self, origin: Origin, plan: &str, decided: Decided) {
        let session = self.engine.plan(plan).map_or_else(|| origin.session.clone(), |plan| plan.session);
        self.queue(session, Work::Decide { origin, plan: plan.to_string(), decided });
    }

    /// Stops the running turn of a session. Turns behind it go on.
    pub(super) async fn interrupt(&mut self, session: &SessionId) {
        let Some(running) = self.lanes.get_mut(session).and_then(|lane| lane.running.take()) else { return };
        let mut task = running.task;
        task.abort();
        // What is on its way on another thread ends at its next pause; a turn that had ended by itself counts.
        if let Ok(Ok(())) = tokio::time::timeout(STOP_PATIENCE, &mut task).await {
            return self.finished(session, &running.turn);
        }
        let finished = self.engine.interrupted(&running.turn, session.clone(), running.asked, running.began).await;
        done(&self.outbox, &self.engine, &finished);
        self.finished(session, &running.turn);
    }

    /// Takes note that a turn of a session has ended, and starts the next.
    pub(super) fn finished(&mut self, session: &SessionId, turn: &TurnId) {
        if let Some(lane) = self.lanes.get_mut(session)
            && lane.running.as_ref().is_none_or(|running| running.turn == *turn)
        {
            lane.running = None;
            match lane.queue.pop_front() {
                Some(work) => self.start(session.clone(), work),
                None => {
                    self.lanes.remove(session);
                }
            }
        }
        let _ = self.inbox.send(Event::Status);
    }

    fn queue(&mut self, session: SessionId, work: Work) {
        let lane = self.lanes.entry(session.clone()).or_default();
        if lane.running.is_some() {
            lane.queue.push_back(work);
        } else {
            self.start(session, work);
        }
    }

    fn start(&mut self, session: SessionId, work: Work) {
        let (engine, outbox, inbox) = (self.engine.clone(), self.outbox.clone(), self.inbox.clone());
        let turn = engine.new_turn();
        let asked = match &work {
            Work::Ask(ask) => first_line(&ask.text),
            Work::Decide { plan, .. } | Work::Elsewhere { plan } => format!("decision about {plan}"),
        };
        let follows = match &work {
            Work::Ask(_) | Work::Elsewhere { .. } => None,
            Work::Decide { plan, .. } => self.engine.plan(plan).map(|plan| plan.turn.0),
        };
        let decided = match &work {
            Work::Decide { plan, .. } => Some(plan.clone()),
            // Nothing is shown as decided because of what was typed.
            Work::Ask(_) | Work::Elsewhere { .. } => None,
        };
        let began = engine.clock.now();
        let (lane, name, subject) = (session.clone(), turn.clone(), asked.clone());
        let task = tokio::spawn(async move {
            let started =
                Plist::new().keyword("action", "turn-started").text("turn", name.0.as_str()).maybe("follows", follows);
            outbox.send("event", Some(&lane.0), started);
            let mut stream = Inert::default();
            let mut sink = |text: &str| outbox.stream(&lane.0, &name.0, &stream.push(text));
            let result = match work {
                Work::Ask(ask) => Ok(engine.ask(*ask, name.clone(), &mut sink).await),
                Work::Decide { origin, plan, decided } => {
                    engine.decide(&origin, &plan, decided, name.clone(), &mut sink).await
                }
                Work::Elsewhere { plan } => {
                    let mut report = TurnReport::of(Conversation::empty());
                    report.text = format!("{plan} belongs to another conversation; what comes of it stands there.");
                    sink(&report.text);
                    let (turn, session) = (name.clone(), lane.clone());
                    Ok(Finished { turn, session, at: began, asked: subject, seconds: 0.0, report })
                }
            };
            outbox.stream(&lane.0, &name.0, &stream.finish());
            match result {
                Ok(finished) => done(&outbox, &engine, &finished),
                Err(why) => {
                    // A client may show the decision already; it hears how the plan really stands.
                    if let Some(plan) = decided.and_then(|id| engine.plan(&id)) {
                        let payload = Plist::new().keyword("action", "plan-changed").plist("plan", show::plan(&plan));
                        outbox.send("event", Some(&plan.session.0), payload);
                    }
                    let text = crate::domain::inert::inert(&why);
                    let payload = Plist::new().keyword("action", "turn-done").text("turn", name.0.as_str());
                    end_stream(&outbox, &lane, &name);
                    outbox.send("response", Some(&lane.0), payload.text("status", "failed").text("text", text));
                }
            }
            let _ = inbox.send(Event::TurnDone(lane, name));
        });
        self.lanes.entry(session).or_default().running = Some(Running { task, turn, asked, began });
        let _ = self.inbox.send(Event::Status);
    }
}

fn end_stream(outbox: &Outbox, session: &SessionId, turn: &TurnId) {
    outbox.send("stream-chunk", Some(&session.0), Plist::new().text("turn", turn.0.as_str()).text("text", ""));
}

fn done(outbox: &Outbox, engine: &Engine, finished: &Finished) {
    end_stream(outbox, &finished.session, &finished.turn);
    let labels = finished.report.conversation.labels;
    let private = labels.privacy == Privacy::Private || engine.is_known_private(&finished.session);
    let payload = show::turn(finished, &engine.view()).keyword("action", "turn-done").flag("private", private);
    outbox.send("response", Some(&finished.session.0), payload);
}
