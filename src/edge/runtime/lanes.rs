//! One lane a session: its turns run in the order in which they came, beside those of other sessions.

use crate::domain::id::{SessionId, TurnId};
use crate::domain::inert::{Inert, exact};
use crate::domain::label::Privacy;
use crate::domain::markdown::Markdown;
use crate::domain::port::Streamed;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::{Origin, Role, Said};
use crate::domain::turn::earlier::Older;
use crate::domain::turn::{Conversation, Ending, TurnReport};
use crate::edge::engine::Engine;
use crate::edge::engine::commands::runs_beside;
use crate::edge::engine::delegation::{Reported, shown_in};
use crate::edge::engine::once::{Before, Going, Once};
use crate::edge::engine::record::{Finished, read_role};
use crate::edge::engine::turns::{Ask, Attached, BROKE, Decided, first_line};
use crate::edge::runtime::clients::{Channel, ClientId, Clients};
use crate::edge::runtime::{Event, show};
use futures_util::FutureExt;
use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a stopped turn may take to end.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// In which form the words of a model are shown.
#[derive(Default, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Markup {
    /// As they were written.
    #[default]
    AsWritten,
    /// As Org, whatever they were written in.
    Org,
}

/// Who asked in a conversation last, and how answers are shown there.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Home {
    client: ClientId,
    markup: Markup,
}

/// What a lane has to do, and for whom.
struct Task {
    client: ClientId,
    markup: Markup,
    work: Work,
}

enum Work {
    /// A question; under a name when it is asked once, whatever becomes of this core.
    Ask(Box<Ask>, Option<Once>),
    Decide {
        origin: Origin,
        /// The steps that it is about, by plan.
        plans: Vec<String>,
        /// `Err` when it does not count, and why.
        decided: Result<Vec<(String, Decided)>, String>,
    },
    /// A line of a REPL, and where it was typed.
    Repl { origin: Origin, line: String, folder: Option<PathBuf> },
    /// Says something of our own about what was typed here.
    Say(String),
    /// Tells what came of work that was handed over here.
    Report(Box<Reported>),
}

impl Work {
    /// Returns whether it is a command that is answered while a turn of its conversation goes on.
    fn runs_beside(&self) -> bool {
        matches!(self, Work::Ask(ask, _) if runs_beside(&ask.text))
    }
}

struct Running {
    /// `None` while it is being stopped.
    task: Option<tokio::task::JoinHandle<()>>,
    turn: Turn,
}

#[derive(Default)]
struct Lane {
    queue: VecDeque<Task>,
    running: Option<Running>,
}

/// The lanes of all clients.
pub(super) struct Lanes {
    engine: Arc<Engine>,
    clients: Arc<Clients>,
    inbox: mpsc::UnboundedSender<Event>,
    lanes: HashMap<SessionId, Lane>,
    /// Who asked in a conversation last: its answers are shown there, whoever decides about a plan of it.
    homes: HashMap<SessionId, Home>,
}

impl Drop for Lanes {
    /// Without the loop nobody hears of the turns, and the store may soon be another's: they end, too.
    fn drop(&mut self) {
        for running in self.lanes.values().filter_map(|lane| lane.running.as_ref()) {
            if let Some(task) = &running.task {
                task.abort();
            }
        }
    }
}

impl Lanes {
    pub(super) fn new(engine: Arc<Engine>, clients: Arc<Clients>, inbox: mpsc::UnboundedSender<Event>) -> Lanes {
        Lanes { engine, clients, inbox, lanes: HashMap::new(), homes: HashMap::new() }
    }

    /// Returns whether a turn of a client is running.
    pub(super) fn busy(&self, client: ClientId) -> bool {
        self.lanes.values().any(|lane| lane.running.as_ref().is_some_and(|running| running.turn.is_heard_by(client)))
    }

    /// Returns whether nothing runs and nothing waits.
    pub(super) fn are_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// A client has gone: what it had set off is stopped, and what waited behind that is dropped.
    pub(super) fn leave(&mut self, client: ClientId) {
        let theirs: Vec<SessionId> =
            self.homes.iter().filter(|(_, home)| home.client == client).map(|(session, _)| session.clone()).collect();
        for session in theirs {
            self.homes.remove(&session);
            self.engine.end_conversation(&session);
        }
        for lane in self.lanes.values_mut() {
            lane.queue.retain(|task| task.client != client);
        }
        let theirs = |lane: &Lane| lane.running.as_ref().is_some_and(|running| running.turn.client == client);
        let sessions: Vec<SessionId> =
            self.lanes.iter().filter(|(_, lane)| theirs(lane)).map(|(session, _)| session.clone()).collect();
        for session in sessions {
            self.stop(&session);
        }
    }

    /// Queues the user's words. A chat's file outlives the store: what it marks as private makes the conversation so,
    /// and what it does not mark is as private as the store says. `blotted` takes out of the chat so far what nobody may
    /// read there.
    pub(super) fn ask(&mut self, client: ClientId, origin: Origin, payload: &Sexp, blotted: &dyn Fn(&str) -> String) {
        self.engine.mark_private(&origin.session, privacy_at(payload));
        if payload.flag_at("resumed") {
            self.engine.note_resumed(&origin.session);
        }
        if payload.flag_at("waits") {
            self.engine.stay_for(&origin.session);
        }
        let markup = match payload.name_at("markup") {
            Some("org") => Markup::Org,
            Some(_) | None => Markup::AsWritten,
        };
        match payload.text_at("once").map(Once::read).transpose() {
            Ok(once) => self.take(Home { client, markup }, asked(origin, payload, blotted), once),
            Err(why) => self.say(client, origin.session, format!("{why}; nobody was asked.")),
        }
    }

    /// Queues a slash command, without its slash.
    pub(super) fn command(&mut self, client: ClientId, origin: Origin, line: &str) {
        let markup = self.markup(&origin.session);
        self.take(
            Home { client, markup },
            Ask {
                text: format!("/{line}"),
                origin,
                history: Vec::new(),
                older: Older::default(),
                folder: None,
                attached: Vec::new(),
            },
            None,
        );
    }

    /// Queues a line of a REPL.
    pub(super) fn repl(&mut self, client: ClientId, origin: Origin, line: String, payload: &Sexp) {
        let session = origin.session.clone();
        self.homes.insert(session.clone(), Home { client, markup: Markup::AsWritten });
        self.queue(client, session, Work::Repl { origin, line, folder: folder_in(payload) });
    }

    /// Queues what was typed; a decision about a plan of another conversation is carried out in that one's lane.
    fn take(&mut self, home: Home, ask: Ask, once: Option<Once>) {
        let (here, client) = (ask.origin.session.clone(), home.client);
        self.homes.insert(here.clone(), home);
        let elsewhere = self
            .engine
            .typed_decision(&ask.text)
            .and_then(|(id, decided)| Some((self.engine.plan(id)?, decided)))
            .filter(|(plan, _)| plan.session != here);
        match elsewhere {
            Some((plan, decided)) => {
                let id = plan.id.0;
                self.decide(client, ask.origin, vec![id.clone()], Ok(vec![(id.clone(), decided)]));
                let text = format!("{id} belongs to another conversation; what comes of it stands there.");
                self.queue(client, here, Work::Say(text));
            }
            None => self.queue(client, here, Work::Ask(Box::new(ask), once)),
        }
    }

    /// Queues words of our own, as the answer to what was typed in a conversation.
    pub(super) fn say(&mut self, client: ClientId, session: SessionId, text: String) {
        self.queue(client, session, Work::Say(text));
    }

    /// Queues what came of work that a conversation handed over, for whoever is there; it is in the store in any case.
    pub(super) fn report(&mut self, reported: Box<Reported>) {
        let session = shown_in(&reported.finished.session);
        if let Some(Home { client, .. }) = self.homes.get(&session).copied() {
            self.queue(client, session, Work::Report(reported));
        }
    }

    /// Queues a human's decision, in the lane of the conversation that it belongs to.
    pub(super) fn decide(
        &mut self,
        client: ClientId,
        origin: Origin,
        plans: Vec<String>,
        decided: Result<Vec<(String, Decided)>, String>,
    ) {
        let session = plans.first().and_then(|plan| self.engine.with_plan(plan, |plan| plan.session.clone()));
        let session = session.unwrap_or_else(|| origin.session.clone());
        self.queue(client, session, Work::Decide { origin, plans, decided });
    }

    /// Stops the running turn of a session when it is one of this client's.
    pub(super) fn interrupt(&mut self, client: ClientId, session: &SessionId) {
        let running = self.lanes.get(session).and_then(|lane| lane.running.as_ref());
        if running.is_some_and(|running| running.turn.is_heard_by(client)) {
            self.stop(session);
        }
    }

    /// Drops the questions of this client that wait in a session behind a turn that goes on; the turn itself does.
    pub(super) fn drop_waiting(&mut self, client: ClientId, session: &SessionId) {
        let Some(lane) = self.lanes.get_mut(session) else { return };
        let is_theirs = |task: &Task| task.client == client && matches!(task.work, Work::Ask(..));
        let (dropped, stays): (VecDeque<Task>, _) = std::mem::take(&mut lane.queue).into_iter().partition(is_theirs);
        lane.queue = stays;
        for task in dropped {
            let (turn, _) = self.begun(session, task);
            turn.end_as(Ending::Interrupted, "Stopped before it began; nobody was asked.");
        }
    }

    /// A conversation of this client is closed: what was kept alive for it ends. It may be opened again later.
    pub(super) fn close(&mut self, client: ClientId, session: &SessionId) {
        self.drop_waiting(client, session);
        self.interrupt(client, session);
        if self.homes.get(session).is_some_and(|home| home.client == client) {
            self.homes.remove(session);
            self.engine.end_conversation(session);
        }
    }

    /// Stops the running turn of a session. Turns behind it go on when it has ended; nobody waits for that here.
    fn stop(&mut self, session: &SessionId) {
        let Some(running) = self.lanes.get_mut(session).and_then(|lane| lane.running.as_mut()) else { return };
        // Without a task it is being stopped already.
        let Some(task) = running.task.take() else { return };
        task.abort();
        let (turn, inbox) = (running.turn.clone(), self.inbox.clone());
        tokio::spawn(async move {
            // What is on its way on another thread ends at its next pause; a turn that had ended by itself counts.
            if let Ok(Ok(())) = tokio::time::timeout(STOP_PATIENCE, task).await {
                return;
            }
            turn.end(turn.stopped()).await;
            let _ = inbox.send(Event::TurnDone(turn.session, turn.name));
        });
    }

    /// Takes note that a turn of a session has ended, and starts the next.
    pub(super) fn finished(&mut self, session: &SessionId, turn: &TurnId) {
        if let Some(lane) = self.lanes.get_mut(session)
            && lane.running.as_ref().is_none_or(|running| running.turn.name == *turn)
        {
            lane.running = None;
            match lane.queue.pop_front() {
                Some(task) => self.start(session.clone(), task),
                None => {
                    self.lanes.remove(session);
                }
            }
        }
        let _ = self.inbox.send(Event::Status);
    }

    /// Returns how answers are shown in a conversation.
    fn markup(&self, session: &SessionId) -> Markup {
        self.homes.get(session).map(|home| home.markup).unwrap_or_default()
    }

    fn queue(&mut self, client: ClientId, session: SessionId, work: Work) {
        let task = Task { client, markup: self.markup(&shown_in(&session)), work };
        let lane = self.lanes.entry(session.clone()).or_default();
        // Where something waits already, clients could not tell whose turn it is.
        if lane.running.is_some() && lane.queue.is_empty() && task.work.runs_beside() {
            let (turn, work) = self.begun(&session, task);
            tokio::spawn(async move {
                if AssertUnwindSafe(turn.run(work)).catch_unwind().await.is_err() {
                    turn.end(turn.broken()).await;
                }
            });
        } else if lane.running.is_some() {
            lane.queue.push_back(task);
        } else {
            self.start(session, task);
        }
    }

    /// Makes the turn of what is to be done, and tells that it has started.
    fn begun(&self, session: &SessionId, Task { client, markup, work }: Task) -> (Turn, Work) {
        let engine = self.engine.clone();
        // Who set it off hears it, and where its conversation is.
        let home = self.homes.get(&shown_in(session)).map(|home| home.client).filter(|home| *home != client);
        let hearers: Vec<Arc<Channel>> =
            [Some(client), home].into_iter().flatten().filter_map(|id| self.clients.get(id)).collect();
        let hearers: Arc<[Arc<Channel>]> = hearers.into();
        let asked = match &work {
            Work::Ask(ask, _) => first_line(&ask.text),
            Work::Decide { plans, .. } => first_line(&format!("decision about {}", plans.join(", "))),
            Work::Repl { line, .. } => first_line(line),
            Work::Say(_) => "a decision about a plan".to_string(),
            Work::Report(reported) => first_line(&format!("report of the task: {}", reported.task)),
        };
        let (name, began) = (engine.new_turn(), engine.clock.now());
        let _going = Arc::new(engine.goes_on(&name));
        // What is no answer of a model is not written in Markdown.
        let markup = match work {
            Work::Repl { .. } | Work::Say(_) => Markup::AsWritten,
            Work::Ask(..) | Work::Decide { .. } | Work::Report(_) => markup,
        };
        let turn = Turn { engine, client, markup, hearers, session: session.clone(), name, asked, began, _going };
        turn.begin(&work);
        (turn, work)
    }

    fn start(&mut self, session: SessionId, task: Task) {
        let inbox = self.inbox.clone();
        let (turn, work) = self.begun(&session, task);
        let running = turn.clone();
        let task = tokio::spawn(async move {
            if AssertUnwindSafe(turn.run(work)).catch_unwind().await.is_err() {
                turn.end(turn.broken()).await;
            }
            let _ = inbox.send(Event::TurnDone(turn.session, turn.name));
        });
        self.lanes.entry(session).or_default().running = Some(Running { task: Some(task), turn: running });
        let _ = self.inbox.send(Event::Status);
    }
}

/// One turn of a lane.
#[derive(Clone)]
struct Turn {
    engine: Arc<Engine>,
    /// Who set it off.
    client: ClientId,
    markup: Markup,
    /// Who is told of it.
    hearers: Arc<[Arc<Channel>]>,
    session: SessionId,
    name: TurnId,
    asked: String,
    began: jiff::Timestamp,
    /// It goes on as long as anybody has to do with it.
    _going: Arc<Going>,
}

impl Turn {
    fn is_heard_by(&self, client: ClientId) -> bool {
        self.client == client || self.hearers.iter().any(|channel| channel.id == client)
    }

    fn tell(&self, kind: &str, payload: Plist) {
        for channel in self.hearers.iter() {
            channel.outbox.send(kind, Some(&shown_in(&self.session).0), payload.clone());
        }
    }

    fn stream(&self, piece: Streamed<'_>) {
        for channel in self.hearers.iter() {
            channel.outbox.stream(&shown_in(&self.session).0, &self.name.0, piece);
        }
    }

    /// Tells that it has started, and what it goes on from: in the order in which turns begin.
    fn begin(&self, work: &Work) {
        let follows = match work {
            Work::Ask(..) | Work::Repl { .. } | Work::Say(_) => None,
            Work::Report(reported) => Some(reported.follows.0.clone()),
            Work::Decide { plans, .. } => {
                plans.first().and_then(|plan| self.engine.with_plan(plan, |plan| plan.turn.0.clone()))
            }
        };
        let decides = match work {
            Work::Decide { plans, .. } => plans.clone(),
            Work::Ask(..) | Work::Repl { .. } | Work::Say(_) | Work::Report(_) => Vec::new(),
        };
        let started = Plist::new().keyword("action", "turn-started").text("turn", self.name.0.as_str());
        self.tell("event", started.maybe("follows", follows).texts("decides", decides));
    }

    async fn run(&self, work: Work) {
        let Turn { engine, session, name, .. } = self;
        let decided = match &work {
            // Nothing is shown as decided because of what was typed.
            Work::Ask(..) | Work::Repl { .. } | Work::Say(_) | Work::Report(_) => Vec::new(),
            Work::Decide { plans, .. } => plans.clone(),
        };
        let mut telling = Telling::new(self);
        let mut sink = |piece: Streamed<'_>| telling.hear(piece);
        let result = match work {
            Work::Ask(ask, once) => match once_only(engine, once, name).await {
                Ok(None) => Ok(engine.ask(*ask, name.clone(), &mut sink).await),
                Ok(Some(before)) => return self.was_asked(&before),
                Err(why) => Err(why),
            },
            Work::Decide { origin, decided: Ok(decided), .. } => {
                engine.decide_steps(&origin, decided, name.clone(), &mut sink).await
            }
            Work::Decide { decided: Err(why), .. } => Err(why),
            Work::Repl { origin, line, folder } => {
                Ok(engine.repl(&origin, &line, folder, name.clone(), &mut sink).await)
            }
            Work::Report(reported) => {
                // First, so that nobody waits for a report that breaks.
                engine.note_told(&shown_in(&reported.finished.session));
                let told = reported.told(name);
                sink(Streamed::Text(&told.report.text));
                Ok(engine.keep_told(told).await)
            }
            Work::Say(text) => {
                let mut report = TurnReport::of(Conversation::empty());
                report.text = text;
                sink(Streamed::Text(&report.text));
                let (turn, session, asked) = (name.clone(), session.clone(), self.asked.clone());
                Ok(Finished { turn, session, at: self.began, asked, seconds: 0.0, report })
            }
        };
        telling.finish();
        match result {
            Ok(finished) => self.done(&finished),
            Err(why) => {
                // A client may show the decision already; it hears how the plan really stands.
                for plan in decided.iter().filter_map(|id| engine.plan(id)) {
                    let payload = Plist::new().keyword("action", "plan-changed").plist("plan", show::plan(&plan));
                    self.tell("event", payload);
                }
                self.refuse(&why);
            }
        }
    }

    /// Ends the turn for the client; when even that breaks, in the fewest words.
    async fn end(&self, end: impl Future<Output = Finished>) {
        let told = async { self.done(&end.await) };
        if AssertUnwindSafe(told).catch_unwind().await.is_err() {
            self.refuse(BROKE);
        }
    }

    fn stopped(&self) -> impl Future<Output = Finished> {
        self.engine.interrupted(&self.name, self.session.clone(), self.asked.clone(), self.began)
    }

    fn broken(&self) -> impl Future<Output = Finished> {
        self.engine.broken(&self.name, self.session.clone(), self.asked.clone(), self.began)
    }

    /// Ends the turn of a question that was asked before: how that one stands.
    fn was_asked(&self, before: &Before) {
        let payload = Plist::new().keyword("action", "turn-done").text("turn", self.name.0.as_str());
        self.end_stream();
        let payload = payload.text("status", before.stands.status()).text("before", before.turn.0.as_str());
        self.tell("response", payload.text("text", format!("{}.", exact(&before.to_string()))));
    }

    /// Ends the turn as failed, with why.
    fn refuse(&self, why: &str) {
        self.end_as(Ending::Failed, why);
    }

    /// Ends the turn without a report.
    fn end_as(&self, ending: Ending, why: &str) {
        let text = crate::domain::inert::inert(why);
        let payload = Plist::new().keyword("action", "turn-done").text("turn", self.name.0.as_str());
        self.end_stream();
        self.tell("response", payload.text("status", ending.name()).text("text", text));
    }

    fn end_stream(&self) {
        self.tell("stream-chunk", Plist::new().text("turn", self.name.0.as_str()).text("text", ""));
    }

    /// Returns the heading that a turn looked at, for those who may see whatever it is.
    fn focus(&self, finished: &Finished) -> Option<String> {
        let sees = self.hearers.iter().all(|channel| channel.rights().see_private);
        finished.report.focus.as_ref().filter(|_| sees).map(|id| exact(id.as_str()))
    }

    fn done(&self, finished: &Finished) {
        self.end_stream();
        let labels = finished.report.conversation.labels;
        let privacy = labels.privacy.max(self.engine.known_privacy(&finished.session));
        let refused = self.engine.refusals(&finished.report);
        let payload = show::turn(finished, &self.engine.view())
            .list("refused", refused.iter().map(show::refused))
            .maybe_int("tasks", Some(self.engine.untold_tasks(&finished.session)).filter(|tasks| *tasks > 0))
            .maybe("preset", self.engine.preset_name(&finished.session).map(|name| exact(&name)))
            .int("pending", self.engine.pending() as i64)
            .list("blocked", finished.report.blocked().into_iter().map(show::blocked))
            .maybe("focus", self.focus(finished));
        let payload = match finished.report.taken {
            Some(taken) => payload.plist("context", show::taken(taken)),
            None => payload,
        };
        let payload = payload
            .list(
                "others",
                finished.report.others.iter().map(|one| show::other(one, self.markup, &finished.report.spent)),
            )
            .keyword("action", "turn-done");
        let payload = match privacy {
            Privacy::Open => payload,
            Privacy::Private => payload.flag("private", true),
            Privacy::Warn | Privacy::Ask => payload.text("private", privacy.word()),
        };
        self.tell("response", payload);
    }
}

/// Words of a model on their way to those who hear them.
enum Words {
    AsWritten(Inert),
    Org(Box<Markdown>),
}

impl Words {
    fn of(markup: Markup) -> Words {
        match markup {
            Markup::AsWritten => Words::AsWritten(Inert::default()),
            Markup::Org => Words::Org(Box::default()),
        }
    }

    fn push(&mut self, text: &str) -> String {
        match self {
            Words::AsWritten(inert) => inert.push(text),
            Words::Org(markdown) => markdown.push(text),
        }
    }

    fn finish(&mut self) -> String {
        match self {
            Words::AsWritten(inert) => inert.finish(),
            Words::Org(markdown) => markdown.finish(),
        }
    }
}

/// What a turn says and thinks, on its way to those who hear it: inert, and with thoughts counted.
struct Telling<'a> {
    turn: &'a Turn,
    text: Words,
    thoughts: Inert,
    /// Thoughts that are not counted yet.
    uncounted: String,
    /// The tokens of the thoughts before those; `None` while nothing is thought.
    tokens: Option<usize>,
}

/// So many bytes of thoughts are counted at a time.
const COUNTED: usize = 4096;

impl<'a> Telling<'a> {
    fn new(turn: &'a Turn) -> Self {
        let text = Words::of(turn.markup);
        Telling { turn, text, thoughts: Inert::default(), uncounted: String::new(), tokens: None }
    }

    fn hear(&mut self, piece: Streamed<'_>) {
        match piece {
            _ if piece.is_empty() => {}
            Streamed::Text(text) => {
                self.end_thoughts();
                self.turn.stream(Streamed::Text(&self.text.push(text)));
            }
            Streamed::Thought(text) => {
                if self.tokens.is_none() {
                    // What was held back of the words before comes before.
                    self.turn.stream(Streamed::Text(&self.text.finish()));
                    self.tokens = Some(0);
                }
                self.uncounted.push_str(text);
                if self.uncounted.len() > COUNTED {
                    self.count();
                }
                self.turn.stream(Streamed::Thought(&self.thoughts.push(text)));
            }
        }
    }

    fn count(&mut self) {
        let more = self.turn.engine.tokens.count(&self.uncounted);
        self.tokens = Some(self.tokens.unwrap_or(0) + more);
        self.uncounted.clear();
    }

    /// Says that what was thought up to now is over, and how long it was.
    fn end_thoughts(&mut self) {
        if self.tokens.is_none() {
            return;
        }
        self.count();
        self.turn.stream(Streamed::Thought(&self.thoughts.finish()));
        let over = Plist::new().text("turn", self.turn.name.0.as_str()).text("thought", "");
        self.turn.tell("stream-chunk", over.maybe_int("tokens", self.tokens.take()));
    }

    fn finish(mut self) {
        self.end_thoughts();
    }
}

impl Drop for Telling<'_> {
    /// However it ends, what was held back is told, and what is open is ended: code would go on in what comes next.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.turn.stream(Streamed::Text(&self.text.finish()));
        }
    }
}

/// Takes note that a question is asked; returns what became of it when it was asked before.
async fn once_only(engine: &Engine, once: Option<Once>, turn: &TurnId) -> Result<Option<Before>, String> {
    match once {
        Some(once) => engine.ask_once(&once, turn).await,
        None => Ok(None),
    }
}

/// Reads the user's words with the chat so far.
pub(super) fn asked(origin: Origin, payload: &Sexp, blotted: &dyn Fn(&str) -> String) -> Ask {
    let text = payload.text_at("text").unwrap_or("").to_string();
    let folder = folder_in(payload);
    let attached = attached_in(payload, blotted);
    Ask { origin, text, history: said_in(payload, blotted), older: older_in(payload, blotted), folder, attached }
}

/// So many texts that came along are taken at once.
const MOST_ATTACHED: usize = 64;

/// Returns what came along with the user's words, as a client tells it.
fn attached_in(payload: &Sexp, blotted: &dyn Fn(&str) -> String) -> Vec<Attached> {
    let one = |text: &Sexp| {
        let name = text.text_at("name").unwrap_or("a text without a name").to_string();
        let file = text.text_at("file").map(str::to_string);
        Some(Attached { name, file, text: blotted(text.text_at("text")?) })
    };
    payload.list_at("attached").iter().filter_map(one).take(MOST_ATTACHED).collect()
}

/// Returns where something was typed: the folder of the project that a client names, or that of its file.
fn folder_in(payload: &Sexp) -> Option<PathBuf> {
    let of_file = || payload.text_at("file").and_then(|file| PathBuf::from(file).parent().map(PathBuf::from));
    payload.text_at("project").map(PathBuf::from).or_else(of_file)
}

/// Returns what was said in a chat, as a client tells it.
pub(super) fn said_in(payload: &Sexp, blotted: &dyn Fn(&str) -> String) -> Vec<Said> {
    let said = payload.list_at("history").iter().filter_map(|said| {
        let role = match read_role(said.name_at("role")?) {
            // Whatever a chat file claims, a tool's answer does not come from there.
            Role::Tool | Role::Assistant => Role::Assistant,
            Role::User => Role::User,
        };
        let (privacy, aside) = (privacy_at(said), said.flag_at("aside"));
        Some(Said { role, text: blotted(said.text_at("text")?), privacy, aside })
    });
    said.collect()
}

/// So many turns that lie further back are taken at once.
const MOST_OLDER: usize = 500;

/// Returns what lies further back in a chat, as a client names it.
pub(super) fn older_in(payload: &Sexp, blotted: &dyn Fn(&str) -> String) -> Older {
    let turn = |turn: &Sexp| Some((turn.text_at("name")?.to_string(), blotted(turn.text_at("title")?)));
    let turns = payload.list_at("older").iter().filter_map(turn).take(MOST_OLDER).collect();
    Older { turns, more: payload.flag_at("more") }
}

/// Returns how private a chat says that something of it is. What it says otherwise than we would is the strictest.
pub(super) fn privacy_at(payload: &Sexp) -> Privacy {
    match payload.get("private").and_then(Sexp::as_name).map(Privacy::tier) {
        Some(Some(tier)) => tier,
        Some(None) | None if payload.flag_at("private") => Privacy::Private,
        Some(None) | None => Privacy::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::signal::{Rights, Source};
    use crate::edge::clock::SystemClock;
    use crate::edge::config::{Config, ProviderSetting, Surroundings};
    use crate::edge::editor::NoEditor;
    use crate::edge::engine::Notice;
    use crate::edge::engine::boot::{Boot, Keep, start};
    use crate::edge::panics::{Echo, PREFIX, install};
    use crate::edge::runtime::clients::OWN;
    use crate::edge::runtime::outbox::Outbox;
    use crate::edge::secret::Vault;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// How often telling of a line in the log still panics.
    type Bombs = Arc<AtomicUsize>;

    /// A model that never says anything, as long as this lives.
    fn silent(config: &mut Config) -> std::net::TcpListener {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1/", listener.local_addr().expect("an address"));
        let (name, kind, model) = ("silent".to_string(), "openai".to_string(), Some("m".to_string()));
        config.providers =
            vec![ProviderSetting { name: name.clone(), kind, url: Some(url), model, local: true, effort: None }];
        config.cascade = Some(vec![name]);
        listener
    }

    fn config() -> Config {
        let mut config = Config::read(&Surroundings { variables: Default::default() });
        // Nobody answers: the turn fails, and says so in the log.
        config.cascade = Some(vec!["nobody".to_string()]);
        config
    }

    async fn lanes(config: Config, bombs: Bombs) -> (Lanes, mpsc::UnboundedReceiver<Event>) {
        let notify = Arc::new(move |notice: Notice| {
            let fails = matches!(&notice, Notice::Logged(line) if line.text.starts_with("the turn failed"))
                || matches!(&notice, Notice::Logged(line) if line.text.ends_with("broke and was ended"));
            let left = bombs.load(Ordering::Relaxed);
            if fails && left > 0 {
                bombs.store(left - 1, Ordering::Relaxed);
                panic!("the notice breaks");
            }
        });
        let (vault, clock) = (Vault::empty(), Arc::new(SystemClock));
        let boot = Boot { config, vault, editor: Arc::new(NoEditor), clock, notify, keep: Keep::InMemory };
        let engine = start(boot).await.expect("the engine starts");
        let (inbox, events) = mpsc::unbounded_channel();
        let own = Channel::own(Outbox::new(Box::new(|| {})));
        (Lanes::new(engine, Clients::of(own), inbox), events)
    }

    fn say(lanes: &mut Lanes) {
        let session = SessionId("s".to_string());
        let origin = Origin { source: Source::Emacs, session, rights: Rights::HUMAN };
        lanes.ask(OWN, origin, &Plist::new().text("text", "hello").build(), &|text| text.to_string());
    }

    /// Waits for the end of a turn, and returns what the client was told of it.
    async fn done(lanes: &mut Lanes, events: &mut mpsc::UnboundedReceiver<Event>) -> (String, String) {
        let heard = loop {
            let event = tokio::time::timeout(Duration::from_secs(20), events.recv()).await;
            if let Event::TurnDone(session, turn) = event.expect("it comes in time").expect("there are events") {
                let heard = lanes.clients.get(OWN).expect("it is there").outbox.receive(1 << 20);
                lanes.finished(&session, &turn);
                break heard;
            }
        };
        let mut done =
            heard.iter().rev().filter_map(|text| Sexp::read(text).ok()).filter_map(|m| m.get("payload").cloned());
        let last = done.find(|payload| payload.name_at("action") == Some("turn-done")).expect("a turn-done");
        let text = |key: &str| last.text_at(key).unwrap_or_default().to_string();
        (text("status"), text("text"))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_a_chat_marks_as_private_goes_nowhere_else_whatever_the_store_knows() {
        for (ask, private) in [
            ("(:text \"go on\" :history ((:role :assistant :text \"The result is 7.\" :private nil)))", false),
            ("(:text \"go on\" :private nil)", false),
            ("(:text \"go on\" :history ((:role :assistant :text \"The result is 7.\" :private t)))", true),
            (
                "(:text \"go on\" :history ((:role :user :text \"a\") (:private t :role :tool :text \"b\") \
                  (:role :user :text \"c\")))",
                true,
            ),
            ("(:text \"go on\" :attached ((:name \"m\" :file \"/no/mail.org\" :text \"* A\")))", false),
            ("(:text \"go on\" :attached ((:name \"m\" :file \"/no/mail.org\" :text \"* A :private:\")))", true),
            ("(:text \"the result is 7\" :private t)", true),
            ("(:text \"go on\" :private yes :history ((:role :user :text \"a\")))", true),
        ] {
            let mut config = config();
            let _listening = silent(&mut config);
            config.providers.iter_mut().for_each(|provider| provider.local = false);
            let (mut lanes, mut events) = lanes(config, Bombs::default()).await;
            let session = SessionId("s".to_string());
            let origin = Origin { source: Source::Emacs, session: session.clone(), rights: Rights::HUMAN };
            lanes.ask(OWN, origin.clone(), &Sexp::read(ask).expect("a question"), &|text| text.to_string());
            let (status, text) = done(&mut lanes, &mut events).await;
            assert_eq!(status, if private { "failed" } else { "parked" }, "{ask}: {text}");
            assert_eq!(text.contains("never leave this machine"), private, "{ask}: {text}");
            assert_eq!(lanes.engine.known_privacy(&session) == Privacy::Private, private, "{ask}");
            assert_eq!(lanes.engine.plans(false).is_empty(), private, "{ask}: nothing is offered to be sent");
            // What is not said again is not forgotten.
            say(&mut lanes);
            assert_eq!(done(&mut lanes, &mut events).await.0, if private { "failed" } else { "parked" }, "{ask}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_stops_a_turn_twice_stops_one_turn_and_nobody_waits_for_it() {
        let mut config = config();
        let _listening = silent(&mut config);
        let (mut lanes, mut events) = lanes(config, Bombs::default()).await;
        say(&mut lanes);
        say(&mut lanes);
        let session = SessionId("s".to_string());
        for _ in 0..2 {
            lanes.interrupt(OWN, &session);
            lanes.interrupt(OWN, &session);
            assert!(lanes.busy(OWN), "until it has ended, the one behind it waits");
            assert_eq!(done(&mut lanes, &mut events).await, ("interrupted".to_string(), "Stopped.".to_string()));
        }
        assert!(!lanes.busy(OWN));
        lanes.interrupt(OWN, &session);
        assert_eq!(lanes.engine.turns(10).await.map(|turns| turns.len()), Ok(2));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_drops_what_waits_leaves_what_goes_on() {
        let mut config = config();
        let _listening = silent(&mut config);
        let (mut lanes, mut events) = lanes(config, Bombs::default()).await;
        let session = SessionId("s".to_string());
        // Nothing is there to be dropped.
        lanes.drop_waiting(OWN, &session);
        (0..3).for_each(|_| say(&mut lanes));
        lanes.drop_waiting(OWN + 1, &session);
        assert_eq!(lanes.lanes.get(&session).map(|lane| lane.queue.len()), Some(2), "another's stay");
        lanes.drop_waiting(OWN, &session);
        assert_eq!(lanes.lanes.get(&session).map(|lane| lane.queue.len()), Some(0));
        let heard = lanes.clients.get(OWN).expect("it is there").outbox.receive(1 << 20).concat();
        assert_eq!(heard.matches("Stopped before it began").count(), 2, "{heard}");
        assert_eq!(heard.matches(":turn-started").count(), 3, "each turn begins before it ends: {heard}");
        assert!(lanes.busy(OWN), "the first goes on");
        lanes.interrupt(OWN, &session);
        assert_eq!(done(&mut lanes, &mut events).await.0, "interrupted");
        assert!(!lanes.busy(OWN) && lanes.are_empty());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_lane_that_panics_is_logged_answered_and_goes_on() {
        install(Echo::AsBefore);
        // The turn breaks; and the turn breaks, and what says so breaks, too.
        for count in [1, 2] {
            let bombs = Bombs::default();
            let (mut lanes, mut events) = lanes(config(), bombs.clone()).await;
            bombs.store(count, Ordering::Relaxed);
            say(&mut lanes);
            say(&mut lanes);
            let (status, text) = done(&mut lanes, &mut events).await;
            assert_eq!((status.as_str(), text.as_str()), ("failed", BROKE), "{count}");
            // The one behind it has its turn.
            let (status, text) = done(&mut lanes, &mut events).await;
            assert_eq!(status, "failed");
            assert!(text.starts_with("no model answered."), "{text}");
            assert!(!lanes.busy(OWN));
            let place = format!("{PREFIX}{}:", file!());
            let logged = async {
                while !lanes
                    .engine
                    .log_lines(100)
                    .iter()
                    .any(|line| line.text.starts_with(&place) && line.text.ends_with(": the notice breaks"))
                {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(20), logged).await.expect("the log has text and place");
        }
    }
}
