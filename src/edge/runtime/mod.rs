//! The runtime: one loop takes every message of every client, and one lane a session runs its turns in order.
//!
//! It is what a client talks to. Nothing here waits on the client's thread: a message is queued and that is all.
//! Of several processes on one store the owner's has the loop; the others join it (see `link`).

mod buffers;
mod capacity;
pub(in crate::edge) mod clients;
mod costs;
pub mod daemon;
mod editor;
mod embedding;
pub(in crate::edge) mod gateways;
mod granted;
pub mod guests;
mod hall;
mod health;
mod jobs;
mod lanes;
mod line;
mod link;
pub(in crate::edge) mod lobby;
mod mirror;
mod models;
mod opened;
pub mod outbox;
mod past;
mod reading;
mod request;
mod requests;
mod scans;
mod servers;
pub mod show;
mod skills;
mod status;
mod told;
mod uprooted;

use crate::domain::id::{NodeId, SessionId, TurnId};
use crate::domain::inert::exact;
use crate::domain::port::LogLevel;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::{Origin, Sensor};
use crate::edge::engine::decisions::MAY_NOT_DECIDE;
use crate::edge::engine::delegation::Reported;
use crate::edge::engine::turns::Decided;
use crate::edge::engine::{Engine, Notice, Notify};
use crate::edge::peers::pulse;
use crate::edge::runtime::clients::{Channel, ClientId, Clients, Kind, OWN};
use crate::edge::runtime::hall::Host;
use crate::edge::runtime::health::Health;
use crate::edge::runtime::lanes::Lanes;
use crate::edge::runtime::link::{Ending, Link, Shut};
use crate::edge::runtime::opened::Opened;
use crate::edge::runtime::outbox::Outbox;
use crate::edge::runtime::reading::{ANOTHER, Reading};
use crate::edge::runtime::requests::Asked;
use crate::edge::runtime::scans::{Read, Rescans, Scanned, Scans};
use crate::edge::runtime::status::{Offered, Statuses};
use crate::edge::token::ASTRAY;
use crate::edge::watch::Watch;
use futures_util::FutureExt;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::JoinSet;

pub use gateways::follow as follow_gateways;

/// Returns the name of every request that a client can make.
pub fn request_names() -> impl Iterator<Item = &'static str> {
    request::Request::ALL.iter().map(|request| request.name())
}

/// How often the status is sent at most. Each makes Emacs read it and draw a line, which is garbage while somebody types.
const STATUS_PAUSE: Duration = Duration::from_millis(250);
/// How long each half of stopping may take.
const STOP_PATIENCE: Duration = Duration::from_millis(140);
/// Messages that may wait to be taken, in bytes.
const INBOX_MOST: usize = 256 * 1024 * 1024;

/// A running core, as a client holds it.
pub struct Core {
    uplink: mpsc::UnboundedSender<String>,
    waiting: Arc<AtomicUsize>,
    outbox: Arc<Outbox>,
    ending: Arc<Ending>,
    runtime: tokio::runtime::Runtime,
}

/// Everything that can wake the loop.
enum Event {
    /// A client has joined.
    Joined(Arc<Channel>),
    /// A client has gone.
    Left(ClientId),
    /// A message of a client.
    Message(ClientId, Letter),
    /// A buffer has rested: read what its mirror holds.
    Rested(String),
    /// A buffer was read, or why not.
    Scanned(String, Scanned),
    /// The whole memex was read as somebody wanted, or that broke.
    Reread,
    /// A turn of a session ended.
    TurnDone(SessionId, TurnId),
    /// Work that was handed over ended.
    Reported(Box<Reported>),
    /// The status may have changed.
    Status,
    /// The pause between two statuses of a client is over.
    StatusPause(ClientId),
    /// A request was answered.
    Answered,
    /// The store's folder or its socket was taken away.
    Uprooted,
    /// This ends: nothing new is begun, and somebody waits until nothing is under way any more.
    Rest(oneshot::Sender<()>),
}

/// A message as it came.
struct Letter {
    bytes: usize,
    /// Or why it cannot be read.
    message: Result<Sexp, String>,
    /// Held until a request is answered: of each client's only so many are answered at once.
    seat: Option<OwnedSemaphorePermit>,
}

impl Letter {
    fn read(text: &str) -> Letter {
        Letter { bytes: text.len(), message: Sexp::read(text).map_err(|error| error.to_string()), seat: None }
    }
}

impl Core {
    /// Starts a core for one client. `settings` is a plist; see `docs/PROTOCOL.org`.
    /// It returns at once: the store is opened, or the process that owns it is joined, in the background.
    ///
    /// # Errors
    /// When the settings cannot be read or the system gives no threads.
    pub fn start(settings: &str, wake: Box<dyn Fn() + Send + Sync>) -> Result<Core, String> {
        let settings = match settings.trim() {
            "" => Sexp::Nil,
            text => Sexp::read(text).map_err(|error| format!("the settings cannot be read: {error}"))?,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(32)
            .thread_name("passepartout")
            .thread_stack_size(8 << 20)
            .on_thread_start(|| {
                crate::edge::thread::block_signals();
                crate::edge::thread::step_back();
            })
            .enable_all()
            .build()
            .map_err(|error| format!("no threads: {error}"))?;
        let outbox = Outbox::new(wake);
        let (uplink, coming) = mpsc::unbounded_channel();
        let (waiting, ending) = (Arc::new(AtomicUsize::new(0)), Arc::new(Ending::default()));
        let link = Link::new(settings, outbox.clone(), (coming, waiting.clone()), ending.clone());
        let last_words = outbox.clone();
        runtime.spawn(async move {
            if AssertUnwindSafe(link.live()).catch_unwind().await.is_err() {
                end(&last_words, "the core broke while it started; start it again");
            }
        });
        Ok(Core { uplink, waiting, outbox, ending, runtime })
    }

    /// Queues one message.
    ///
    /// # Errors
    /// When the core has stopped, or is so far behind that memory would run out.
    pub fn send(&self, text: &str) -> Result<(), String> {
        if self.waiting.fetch_add(text.len(), Ordering::Relaxed) > INBOX_MOST {
            self.waiting.fetch_sub(text.len(), Ordering::Relaxed);
            return Err("the core is too far behind; wait a moment".to_string());
        }
        self.uplink.send(text.to_string()).map_err(|_| "the core has stopped".to_string())
    }

    /// Returns messages that wait, at most about `bytes` of them.
    pub fn receive(&self, bytes: usize) -> Vec<String> {
        self.outbox.receive(bytes)
    }

    /// Stops within 300 ms. What was acknowledged is stored, and who joined this core finds another.
    pub fn stop(self) {
        if let Some(engine) = self.ending.begin() {
            let closed = async { tokio::time::timeout(STOP_PATIENCE, engine.close()).await };
            // Late or not: what was acknowledged is on disk already.
            let _ = self.runtime.block_on(closed);
        }
        self.runtime.shutdown_timeout(STOP_PATIENCE);
    }
}

/// A client, as the loop knows it.
struct Client {
    channel: Arc<Channel>,
    point: Option<(String, usize)>,
    focus: Option<NodeId>,
    status: Statuses,
    reading: Arc<parking_lot::Mutex<Reading>>,
}

impl Client {
    fn new(channel: Arc<Channel>) -> Client {
        Client { channel, point: None, focus: None, status: Statuses::default(), reading: Arc::default() }
    }
}

/// What the status of a client depends on beside the core: whether a turn of it runs, the heading at its point, and whether it
/// sees what is private.
type Seen = (bool, Option<NodeId>, bool);

/// The loop's own state.
struct Loop {
    engine: Arc<Engine>,
    inbox: mpsc::UnboundedSender<Event>,
    registry: Arc<Clients>,
    clients: BTreeMap<ClientId, Client>,
    opened: Opened,
    scans: Scans,
    rescans: Rescans,
    /// Whose point moved last.
    pointed: ClientId,
    /// Questions about a place in a file whose newest text is being read, each with the file.
    held: Vec<(String, Asked)>,
    lanes: Lanes,
    health: Health,
    /// Looks whether what is wrong has been mended; it ends with the loop.
    looks: JoinSet<()>,
    /// Watches the memex as long as the loop runs.
    watch: Option<Watch>,
    /// Tells of changed skills.
    skill_watch: Option<Watch>,
    /// What owns the store.
    host: Host,
    /// The memex was followed for guests of a command, or that was tried.
    followed: bool,
    /// Requests that are being answered beside the loop; they end with it.
    answers: JoinSet<()>,
    /// So many of them are not answered yet.
    answering: usize,
    /// Nothing new is begun any more.
    ending: bool,
    /// What was said last of a store that was taken away.
    uprooted: Arc<tokio::sync::Mutex<String>>,
    /// Who waits until nothing is under way.
    resting: Vec<oneshot::Sender<()>>,
}

/// How the loop hears.
struct Ears {
    inbox: mpsc::UnboundedSender<Event>,
    events: mpsc::UnboundedReceiver<Event>,
}

/// The loop: takes every event in order, and waits for nothing that takes long.
async fn listen(engine: Arc<Engine>, registry: Arc<Clients>, ears: Ears, (read, host): (Read, Host)) {
    let Ears { inbox, events } = ears;
    let mut state = Loop::new(engine, registry, inbox, read, host);
    state.send_status();
    state.follow_memex();
    state.looks.spawn(embedding::follow(Arc::downgrade(&state.engine)));
    state.looks.spawn(jobs::follow(Arc::downgrade(&state.engine)));
    state.looks.spawn(gateways::follow(Arc::downgrade(&state.engine)));
    state.looks.spawn(servers::follow(Arc::downgrade(&state.engine)));
    state.examine_at_start();
    state.hear(events).await;
}

/// The loop beside a command, which reads its memex itself; from then on it is followed for who joined.
async fn attend(engine: Arc<Engine>, registry: Arc<Clients>, ears: Ears, read: Read) {
    let Ears { inbox, events } = ears;
    Loop::new(engine, registry, inbox, read, Host::Command).hear(events).await;
}

/// A decision names at most so many steps.
const STEPS: usize = 200;

/// Returns the steps that a decision names, each with the hash that was shown; and why it does not count, when it names
/// more than are decided about at once.
fn steps(payload: &Sexp) -> (Vec<(String, String)>, Option<String>) {
    let step = |step: &Sexp| {
        let text = |key: &str| step.text_at(key).unwrap_or("").to_string();
        (text("plan"), text("shown"))
    };
    match payload.list_at("steps") {
        [] => (vec![step(payload)], None),
        steps => {
            let why = format!(
                "{} plans were decided about at once, and {STEPS} can be: nothing was done; decide about fewer at a time.",
                steps.len()
            );
            (steps.iter().take(STEPS).map(step).collect(), Some(why).filter(|_| steps.len() > STEPS))
        }
    }
}

/// Of what a client calls a sensor so many characters are said again.
const SENSOR: usize = 40;

/// Returns what a client calls a sensor, as it can be said.
fn named(sensor: &str) -> String {
    exact(&sensor.chars().take(SENSOR).collect::<String>())
}

/// Returns why an event is none: it names no sensor, or lacks what its sensor needs. Who sent it would else wait for the
/// turn that it begins.
fn says_nothing(payload: &Sexp) -> Option<String> {
    let Some(sensor) = payload.name_at("sensor") else {
        return Some("an event names its sensor, such as :sensor :user-input; nothing was begun".to_string());
    };
    let needed = match sensor {
        "user-input" => "text",
        "user-command" => "line",
        "repl-eval" => "code",
        _ => return None,
    };
    let lacks = payload.text_at(needed).is_none();
    lacks.then(|| format!("the sensor {sensor} needs a text, :{needed}; nothing was begun"))
}

impl Loop {
    fn new(
        engine: Arc<Engine>,
        registry: Arc<Clients>,
        inbox: mpsc::UnboundedSender<Event>,
        read: Read,
        host: Host,
    ) -> Loop {
        engine.serves.store(true, std::sync::atomic::Ordering::Relaxed);
        Loop {
            engine: engine.clone(),
            inbox: inbox.clone(),
            clients: registry.get(OWN).into_iter().map(|own| (OWN, Client::new(own))).collect(),
            rescans: Rescans::new(engine.clone(), inbox.clone()),
            lanes: Lanes::new(engine, registry.clone(), inbox.clone()),
            registry,
            opened: Opened::default(),
            scans: Scans::new(read, inbox),
            pointed: OWN,
            held: Vec::new(),
            health: Health::new(health::PAUSE),
            looks: JoinSet::new(),
            watch: None,
            skill_watch: None,
            host,
            followed: false,
            answers: JoinSet::new(),
            answering: 0,
            ending: false,
            uprooted: Arc::default(),
            resting: Vec::new(),
        }
    }

    async fn hear(mut self, mut events: mpsc::UnboundedReceiver<Event>) {
        while let Some(event) = events.recv().await {
            // One event that breaks is lost, with its place in the log, and the loop goes on.
            let _ = AssertUnwindSafe(self.handle(event)).catch_unwind().await;
        }
    }
}

/// Says why the core has ended.
fn end(outbox: &Outbox, why: &str) {
    outbox.send("log", None, Plist::new().text("level", "error").text("text", why));
    outbox.send("status", None, Plist::new().text("state", "stopped").text("health", "unhealthy"));
}

/// Tells the clients, or the loop, what the engine says.
fn tell(clients: Arc<Clients>, status: mpsc::UnboundedSender<Event>) -> Notify {
    Arc::new(move |notice: Notice| match notice {
        Notice::Parked(plan) => clients.tell(
            "event",
            Some(&plan.session.0),
            &Plist::new().keyword("action", "plan-parked").plist("plan", show::plan(&plan)),
        ),
        Notice::Changed(plan) => clients.tell(
            "event",
            Some(&plan.session.0),
            &Plist::new().keyword("action", "plan-changed").plist("plan", show::plan(&plan)),
        ),
        Notice::Logged(line) => clients.tell("log", None, &show::line(&line)),
        Notice::Reported(reported) => {
            // The loop may have ended; the turn is in the store all the same.
            let _ = status.send(Event::Reported(reported));
        }
        Notice::Status => {
            // The loop may have ended; then nobody needs a status.
            let _ = status.send(Event::Status);
        }
    })
}

impl Loop {
    async fn handle(&mut self, event: Event) {
        match event {
            Event::Joined(channel) => {
                self.joined(channel);
                self.follow_for_guests();
            }
            Event::Left(client) => self.left(client),
            Event::Message(client, letter) => self.take(client, letter),
            Event::Rested(file) => self.rested(file),
            Event::Scanned(file, scanned) => self.scanned(file, scanned),
            Event::Reread => self.rescans.ended(),
            Event::TurnDone(session, turn) => {
                self.lanes.finished(&session, &turn);
                self.rest();
            }
            Event::Reported(reported) => self.lanes.report(reported),
            Event::Answered => {
                self.answering = self.answering.saturating_sub(1);
                while self.answers.try_join_next().is_some() {}
                self.rest();
            }
            Event::Uprooted => self.stay(),
            Event::Rest(waiting) => {
                self.ending = true;
                self.resting.push(waiting);
                self.rest();
            }
            Event::Status => {
                self.watch_health();
                self.send_status();
                self.follow_for_guests();
            }
            Event::StatusPause(client) => {
                if let Some(client) = self.clients.get_mut(&client) {
                    client.status.pause_is_over();
                }
                self.send_status_to(|other| other == client);
            }
        }
    }

    /// Tells who waits for it when nothing is under way: no turn, and no request.
    fn rest(&mut self) {
        if self.lanes.are_empty() && self.answering == 0 && self.held.is_empty() {
            for waiting in self.resting.drain(..) {
                // Who no longer waits need not hear it.
                let _ = waiting.send(());
            }
        }
    }

    fn joined(&mut self, channel: Arc<Channel>) {
        match &channel.doubt {
            None => self.engine.say(LogLevel::Info, &format!("{} has joined", channel.name)),
            Some(why) => {
                let text = format!("{} has joined with the rights of a command: {why}", channel.name);
                self.engine.say(LogLevel::Warning, &text);
            }
        }
        self.registry.join(channel.clone());
        if self.host == Host::Daemon && channel.kind == Kind::Emacs {
            let text = format!(
                "a Passepartout without Emacs (process {}) owns the store: its settings count, and permissions, private tags, \
                 models and tools that are set in this Emacs do not",
                std::process::id()
            );
            channel.outbox.send("log", None, Plist::new().text("level", "warning").text("text", text));
        }
        let id = channel.id;
        self.clients.insert(id, Client::new(channel));
        // For the others nothing has changed.
        self.send_status_to(|client| client == id);
    }

    /// Forgets a client: what it had set off is stopped, and of its files the disk counts, or another client's buffers.
    fn left(&mut self, id: ClientId) {
        let Some(client) = self.clients.remove(&id) else { return };
        self.registry.leave(id);
        self.lanes.leave(id);
        let files = self.opened.leave(id);
        let had = !files.is_empty();
        for file in files {
            self.note_open(&file);
            self.scans.changed(file);
        }
        self.engine.say(LogLevel::Info, &format!("{} has left", client.channel.name));
        // Turns of it that are stopped say so when they have ended.
        if had {
            self.send_status();
        }
    }

    fn take(&mut self, id: ClientId, letter: Letter) {
        // Who has left is not heard any more.
        let Some(client) = self.clients.get(&id) else { return };
        let channel = client.channel.clone();
        channel.note_taken(&letter);
        let message = match letter.message {
            Ok(message) => message,
            Err(why) => return channel.refuse(None, why),
        };
        let session = message.get("meta").and_then(|meta| meta.text_at("session-id"));
        if let Err(why) = channel.may_name(session) {
            return channel.refuse(None, why);
        }
        let origin = channel.origin(session);
        let empty = Sexp::Nil;
        let payload = message.get("payload").unwrap_or(&empty).clone();
        match message.name_at("type") {
            Some("event") => self.event(&channel, origin, &payload),
            Some("request") => self.asked(Asked { client: id, origin, payload, seat: letter.seat }),
            Some("response") if payload.name_at("action") == Some("editor-reply") => {
                if let Err(why) = channel.editor.reply(&payload) {
                    channel.refuse(None, why);
                }
            }
            _ => channel.refuse(Some(&origin.session.0), "a message of no known type"),
        }
    }

    fn event(&mut self, channel: &Channel, origin: Origin, payload: &Sexp) {
        if payload.name_at("action") == Some(pulse::ALIVE) {
            // That something came is all that it says.
            return;
        }
        if payload.name_at("action") == Some(pulse::PING) {
            // Here, in the loop: who asks wants to know that it runs.
            return channel.outbox.send("event", None, Plist::new().keyword("action", pulse::ALIVE));
        }
        if let Some(why) = says_nothing(payload) {
            return channel.refuse(Some(&origin.session.0), why);
        }
        if self.turns_away(channel, &origin, payload) {
            return;
        }
        let (id, editor) = (channel.id, channel.kind == Kind::Emacs);
        let text = |key: &str| payload.text_at(key).unwrap_or("");
        let Some(reading) = self.clients.get(&id).map(|client| client.reading.clone()) else { return };
        match payload.name_at("sensor") {
            Some("user-input") => match self.typed(&reading, &origin, text("text")) {
                Err(why) => self.lanes.say(id, origin.session, why),
                Ok(named) => {
                    self.look_where_it_is(id);
                    match named.as_deref().and_then(|line| line.strip_prefix('/')) {
                        Some(line) => self.lanes.command(id, origin, line),
                        None => {
                            if payload.flag_at("redirect") {
                                // What was said of the answer so far was streamed; the rest is not waited for.
                                self.lanes.interrupt(id, &origin.session);
                            }
                            let engine = self.engine.clone();
                            let blotted = |text: &str| engine.shown_tokens.blotted(text);
                            self.lanes.ask(id, origin, payload, &blotted);
                        }
                    }
                }
            },
            Some("user-command") => {
                let line = format!("/{}", text("line"));
                match self.typed(&reading, &origin, &line) {
                    Err(why) => self.lanes.say(id, origin.session, why),
                    Ok(named) => {
                        self.look_where_it_is(id);
                        let line = named.unwrap_or(line);
                        self.lanes.command(id, origin, line.strip_prefix('/').unwrap_or(&line));
                    }
                }
            }
            Some("repl-eval") => match self.typed(&reading, &origin, text("code")) {
                Err(why) => self.lanes.say(id, origin.session, why),
                Ok(named) => self.lanes.repl(id, origin, named.unwrap_or_else(|| text("code").to_string()), payload),
            },
            Some("plan-displayed") => reading.lock().note_displayed(&self.engine, text("plan"), text("shown")),
            Some("approval" | "denial") if !origin.rights.approve => {
                let plans = steps(payload).0.into_iter().map(|(plan, _)| plan).collect();
                self.lanes.refuse_decision(id, origin, plans);
            }
            Some("approval") => {
                let (steps, many) = steps(payload);
                let unseen = many.or_else(|| {
                    let reading = reading.lock();
                    steps.iter().find_map(|(plan, shown)| reading.unseen(&self.engine, plan, shown))
                });
                let plans = steps.iter().map(|(plan, _)| plan.clone()).collect();
                let approve = |(plan, shown)| (plan, Decided::Approve { shown });
                let decided = unseen.map_or_else(|| Ok(steps.into_iter().map(approve).collect()), Err);
                self.lanes.decide(id, origin, plans, decided);
            }
            Some("denial") => {
                // A model is told the reason, which is cut before each step has a copy of it.
                let no = Decided::no(&self.engine.shown_tokens.blotted(text("reason")), payload.flag_at("stop"));
                let (steps, many) = steps(payload);
                let plans: Vec<String> = steps.into_iter().map(|(plan, _)| plan).collect();
                let decided =
                    many.map_or_else(|| Ok(plans.iter().map(|plan| (plan.clone(), no.clone())).collect()), Err);
                self.lanes.decide(id, origin, plans, decided);
            }
            Some("interrupt") if payload.flag_at("closed") => self.lanes.close(id, &origin.session),
            Some("interrupt") if payload.flag_at("waiting") => self.lanes.drop_waiting(id, &origin.session),
            Some("interrupt") => self.lanes.interrupt(id, &origin.session),
            Some("point-update") if editor => {
                if self.follows_point() {
                    self.point_update(id, payload);
                }
            }
            Some("buffer-update") if editor => {
                self.buffer_update(id, payload);
                // Who types moves point: one message says both.
                if payload.count_at("byte").is_some() && self.follows_point() {
                    self.point_update(id, payload);
                }
            }
            other => {
                // Without one it has been answered.
                let name = named(other.unwrap_or_default());
                self.engine.say(
                    LogLevel::Warning,
                    &format!("a client sent the sensor {name}, which is raised here only; it is ignored"),
                );
                let why = match Sensor::parse(&name) {
                    Some(_) => format!("the sensor {name} is not for this client to send; nothing was begun"),
                    None => format!("there is no sensor {name}; nothing was begun"),
                };
                channel.refuse(Some(&origin.session.0), why);
            }
        }
    }

    /// Looks at what was typed before anything else does: a token in it goes no further. Returns the line with the name
    /// of the plan in the token's place, when there was one.
    ///
    /// # Errors
    /// When it decides about a plan and does not count, with why.
    fn typed(
        &self,
        reading: &parking_lot::Mutex<Reading>,
        origin: &Origin,
        text: &str,
    ) -> Result<Option<String>, String> {
        let named = reading.lock().redeem(&self.engine, origin, text);
        if named.is_err() {
            // It may be one that another channel was shown.
            self.engine.shown_tokens.forget_typed(text);
        }
        let named = named?;
        // Also one that another channel was shown: whoever can type it has it.
        if named.is_none() && self.engine.shown_tokens.forget_typed(text) {
            return Err(format!("{ASTRAY}: {ANOTHER}."));
        }
        let line = named.as_deref().unwrap_or(text);
        if !origin.rights.approve && self.engine.typed_decision(line).is_some() {
            return Err(MAY_NOT_DECIDE.to_string());
        }
        match reading.lock().typed_unseen(&self.engine, line) {
            Some(why) => Err(why),
            None => Ok(named),
        }
    }

    /// Reads the memex, and from then on what changes in it.
    fn follow_memex(&mut self) {
        match self.engine.follow_skills() {
            Ok(watch) => self.skill_watch = Some(watch),
            Err(why) => self.engine.say(LogLevel::Warning, &format!("the skills are not watched ({why})")),
        }
        match self.engine.follow_memex() {
            Ok(watch) => self.watch = Some(watch),
            Err(why) => {
                self.engine.say(LogLevel::Warning, &format!("the memex is not watched ({why}); it is read once"));
                self.rescans.want(None);
            }
        }
    }

    /// The local checks run at start, without blocking and without network.
    fn examine_at_start(&self) {
        let (engine, health, inbox) = (self.engine.clone(), self.health.clone(), self.inbox.clone());
        tokio::spawn(async move {
            for check in health.examine(&engine).await {
                engine.say(LogLevel::Error, &format!("{}: {}", check.title, check.detail));
            }
            let _ = inbox.send(Event::Status);
        });
    }

    /// While something is unhealthy, looks whether it has been mended.
    fn watch_health(&mut self) {
        while self.looks.try_join_next().is_some() {}
        if self.health.wants_watching(&self.engine) {
            self.looks.spawn(self.health.clone().watch(self.engine.clone(), self.inbox.clone()));
        }
    }

    /// Tells all who hear it how things stand, each Emacs with the heading at its own point.
    fn send_status(&mut self) {
        self.send_status_to(|_| true);
    }

    /// Tells some of them.
    fn send_status_to(&mut self, these: impl Fn(ClientId) -> bool) {
        let hears = |id: ClientId, channel: &Channel| channel.kind.hears_news() && these(id);
        let mut last: Option<(Seen, status::Status)> = None;
        for (id, client) in self.clients.iter_mut().filter(|(id, client)| hears(**id, &client.channel)) {
            let sees = client.channel.rights().see_private;
            let seen = (self.lanes.busy(*id), client.focus.clone(), sees);
            let make = |(busy, focus, sees): &Seen| {
                status::now(&self.engine, *busy, self.health.word(), (focus.as_ref(), *sees))
            };
            // Of a thousand clients nearly all are told the same.
            let now = match &last {
                Some((of, status)) if *of == seen => status.clone(),
                Some(_) | None => make(&seen),
            };
            last = Some((seen, now.clone()));
            let payload = match client.status.offer(now) {
                Offered::Kept => continue,
                Offered::Send(payload) => payload,
                Offered::SendAndPause(payload) => {
                    let (inbox, id) = (self.inbox.clone(), *id);
                    tokio::spawn(async move {
                        tokio::time::sleep(STATUS_PAUSE).await;
                        let _ = inbox.send(Event::StatusPause(id));
                    });
                    payload
                }
            };
            client.channel.outbox.send("status", None, payload);
        }
    }
}
