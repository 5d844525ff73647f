//! The runtime: one loop takes every message, and one lane a session runs its turns in order.
//!
//! It is what a client talks to. Nothing here waits on the client's thread: a message is queued and that is all.

mod buffers;
mod editor;
mod lanes;
mod mirror;
pub mod outbox;
mod past;
mod reading;
mod requests;
mod scans;
pub mod show;
mod status;

use crate::domain::id::{SessionId, TurnId};
use crate::domain::port::LogLevel;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::{Origin, Rights, Source};
use crate::edge::clock::SystemClock;
use crate::edge::config::{Config, Surroundings};
use crate::edge::engine::boot::{self, Boot, Keep};
use crate::edge::engine::turns::Decided;
use crate::edge::engine::{Engine, Notice, Notify};
use crate::edge::runtime::editor::EmacsEditor;
use crate::edge::runtime::lanes::Lanes;
use crate::edge::runtime::mirror::Mirrors;
use crate::edge::runtime::outbox::Outbox;
use crate::edge::runtime::reading::Reading;
use crate::edge::runtime::scans::{Read, Scanned, Scans};
use crate::edge::runtime::status::{Offered, Statuses};
use crate::edge::secret::{Secret, Vault};
use crate::edge::watch::Watch;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::mpsc;

/// How often the status is sent at most.
const STATUS_PAUSE: Duration = Duration::from_millis(100);
/// How long each half of stopping may take.
const STOP_PATIENCE: Duration = Duration::from_millis(140);
/// Messages that may wait for the loop, in bytes.
const INBOX_MOST: usize = 256 * 1024 * 1024;

/// A running core, as a client holds it.
pub struct Core {
    inbox: mpsc::UnboundedSender<Event>,
    waiting: Arc<std::sync::atomic::AtomicUsize>,
    outbox: Arc<Outbox>,
    engine: Arc<OnceLock<Arc<Engine>>>,
    /// Ends a start that is under way.
    stop: Arc<AtomicBool>,
    runtime: tokio::runtime::Runtime,
}

/// Everything that can wake the loop.
enum Event {
    /// A message of the client.
    Message(String),
    /// A buffer has rested: read what its mirror holds.
    Rested(String),
    /// A buffer was read, or why not.
    Scanned(String, Scanned),
    /// A turn of a session ended.
    TurnDone(SessionId, TurnId),
    /// The status may have changed.
    Status,
    /// The pause between two statuses is over.
    StatusPause,
}

impl Core {
    /// Starts a core for one client. `settings` is a plist; see `docs/PROTOCOL.org`.
    /// It returns at once: the store is opened and the memex read in the background.
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
            .max_blocking_threads(8)
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
        let (inbox, events) = mpsc::unbounded_channel();
        let waiting = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let engine = Arc::new(OnceLock::new());
        let ears = Ears { inbox: inbox.clone(), events, waiting: waiting.clone() };
        let stop = Arc::new(AtomicBool::new(false));
        let starting = Starting { shared: engine.clone(), stop: stop.clone() };
        let (served, last_words) = (serve(settings, outbox.clone(), ears, starting), outbox.clone());
        runtime.spawn(async move {
            if AssertUnwindSafe(served).catch_unwind().await.is_err() {
                end(&last_words, "the core broke while it started; start it again");
            }
        });
        Ok(Core { inbox, waiting, outbox, engine, stop, runtime })
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
        self.inbox.send(Event::Message(text.to_string())).map_err(|_| "the core has stopped".to_string())
    }

    /// Returns messages that wait, at most about `bytes` of them.
    pub fn receive(&self, bytes: usize) -> Vec<String> {
        self.outbox.receive(bytes)
    }

    /// Stops within 300 ms. What was acknowledged is stored.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(engine) = self.engine.get() {
            let closed = async { tokio::time::timeout(STOP_PATIENCE, engine.close()).await };
            // Late or not: what was acknowledged is on disk already.
            let _ = self.runtime.block_on(closed);
        }
        self.runtime.shutdown_timeout(STOP_PATIENCE);
    }
}

/// How the loop hears.
struct Ears {
    inbox: mpsc::UnboundedSender<Event>,
    events: mpsc::UnboundedReceiver<Event>,
    waiting: Arc<std::sync::atomic::AtomicUsize>,
}

/// What a start shares with whoever may end it.
struct Starting {
    shared: Arc<OnceLock<Arc<Engine>>>,
    stop: Arc<AtomicBool>,
}

/// The loop's own state.
struct Loop {
    engine: Arc<Engine>,
    outbox: Arc<Outbox>,
    editor: Arc<EmacsEditor>,
    inbox: mpsc::UnboundedSender<Event>,
    mirrors: Mirrors,
    scans: Scans,
    point: Option<(String, usize)>,
    lanes: Lanes,
    status: Statuses,
    health: Arc<parking_lot::Mutex<String>>,
    reading: Arc<parking_lot::Mutex<Reading>>,
    /// Watches the memex as long as the loop runs.
    watch: Option<Watch>,
}

async fn serve(settings: Sexp, outbox: Arc<Outbox>, ears: Ears, starting: Starting) {
    let editor = EmacsEditor::new(outbox.clone());
    let engine = match start_engine(&settings, &outbox, &ears.inbox, editor.clone(), starting.stop).await {
        Ok(engine) => engine,
        Err(why) => {
            return end(&outbox, &why);
        }
    };
    let _ = starting.shared.set(engine.clone());
    let read = buffers::read(engine.clone());
    listen(engine, outbox, editor, ears, read).await
}

/// The loop: takes every event in order, and waits for nothing that takes long.
async fn listen(engine: Arc<Engine>, outbox: Arc<Outbox>, editor: Arc<EmacsEditor>, ears: Ears, read: Read) {
    let Ears { inbox, mut events, waiting } = ears;
    let mut state = Loop {
        engine: engine.clone(),
        outbox: outbox.clone(),
        editor,
        inbox: inbox.clone(),
        mirrors: Mirrors::default(),
        scans: Scans::new(read, inbox.clone()),
        point: None,
        lanes: Lanes::new(engine.clone(), outbox.clone(), inbox.clone()),
        status: Statuses::default(),
        health: Arc::new(parking_lot::Mutex::new("unknown".to_string())),
        reading: Arc::default(),
        watch: None,
    };
    state.send_status();
    state.follow_memex();
    state.examine_at_start();
    while let Some(event) = events.recv().await {
        if let Event::Message(text) = &event {
            waiting.fetch_sub(text.len(), Ordering::Relaxed);
        }
        // One event that breaks is lost, with its place in the log, and the loop goes on.
        let _ = AssertUnwindSafe(state.handle(event)).catch_unwind().await;
    }
}

/// Says why the core has ended.
fn end(outbox: &Outbox, why: &str) {
    outbox.send("log", None, Plist::new().text("level", "error").text("text", why));
    outbox.send("status", None, Plist::new().text("state", "stopped").text("health", "unhealthy"));
}

async fn start_engine(
    settings: &Sexp,
    outbox: &Arc<Outbox>,
    inbox: &mpsc::UnboundedSender<Event>,
    editor: Arc<EmacsEditor>,
    stop: Arc<AtomicBool>,
) -> Result<Arc<Engine>, String> {
    let surroundings = Surroundings::of_settings(settings);
    let mut config = Config::read(&surroundings);
    config.take_settings(settings);
    let given = settings.list_at("keys").iter().filter_map(|entry| match entry {
        Sexp::Dotted(items, key) => {
            Some((items.first()?.as_name()?.to_string(), Secret::new(key.as_text()?.to_string())))
        }
        Sexp::List(items) => {
            Some((items.first()?.as_name()?.to_string(), Secret::new(items.get(1)?.as_text()?.to_string())))
        }
        _ => None,
    });
    let env_file = crate::edge::secret::read_env_file(&config.settings.join(".env")).unwrap_or_default();
    let vault = Vault::gather(given, surroundings.variables, env_file);
    let notify = tell(outbox.clone(), inbox.clone());
    let boot = Boot { config, vault, editor, clock: Arc::new(SystemClock), notify, keep: Keep::OnDisk };
    boot::start_until(boot, stop).await
}

/// Tells the client, or the loop, what the engine says.
fn tell(sender: Arc<Outbox>, status: mpsc::UnboundedSender<Event>) -> Notify {
    Arc::new(move |notice: Notice| match notice {
        Notice::Parked(plan) => sender.send(
            "event",
            Some(&plan.session.0),
            Plist::new().keyword("action", "plan-parked").plist("plan", show::plan(&plan)),
        ),
        Notice::Changed(plan) => sender.send(
            "event",
            Some(&plan.session.0),
            Plist::new().keyword("action", "plan-changed").plist("plan", show::plan(&plan)),
        ),
        Notice::Logged(line) => sender.send("log", None, show::line(&line)),
        Notice::Status => {
            // The loop may have ended; then nobody needs a status.
            let _ = status.send(Event::Status);
        }
    })
}

impl Loop {
    async fn handle(&mut self, event: Event) {
        match event {
            Event::Message(text) => self.take(&text).await,
            Event::Rested(file) => self.rested(file),
            Event::Scanned(file, scanned) => self.scanned(file, scanned),
            Event::TurnDone(session, turn) => self.lanes.finished(&session, &turn),
            Event::Status => self.send_status(),
            Event::StatusPause => {
                self.status.pause_is_over();
                self.send_status();
            }
        }
    }

    async fn take(&mut self, text: &str) {
        let message = match Sexp::read(text) {
            Ok(message) => message,
            Err(error) => {
                let payload = Plist::new().keyword("action", "protocol-error").text("text", error.to_string());
                self.outbox.send("response", None, payload);
                return;
            }
        };
        let session = message.get("meta").and_then(|meta| meta.text_at("session-id")).unwrap_or("emacs").to_string();
        let empty = Sexp::Nil;
        let payload = message.get("payload").unwrap_or(&empty).clone();
        match message.name_at("type") {
            Some("event") => self.event(&session, &payload).await,
            Some("request") => self.request(&session, payload),
            Some("response") if payload.name_at("action") == Some("editor-reply") => self.editor.reply(&payload),
            _ => {
                let payload =
                    Plist::new().keyword("action", "protocol-error").text("text", "a message of no known type");
                self.outbox.send("response", Some(&session), payload);
            }
        }
    }

    /// Stamps the origin: this client is the user's own Emacs. What a message claims is ignored.
    fn origin(&self, session: &str) -> Origin {
        Origin { source: Source::Emacs, session: SessionId(session.to_string()), rights: Rights::HUMAN }
    }

    async fn event(&mut self, session: &str, payload: &Sexp) {
        let origin = self.origin(session);
        match payload.name_at("sensor") {
            Some("user-input") => {
                let text = payload.text_at("text").unwrap_or("");
                let unseen = self.reading.lock().typed_unseen(&self.engine, text);
                match unseen {
                    Some(why) => self.lanes.say(origin.session, why),
                    None => self.lanes.ask(origin, payload),
                }
            }
            Some("user-command") => {
                let line = payload.text_at("line").unwrap_or("");
                let unseen = self.reading.lock().typed_unseen(&self.engine, &format!("/{line}"));
                match unseen {
                    Some(why) => self.lanes.say(origin.session, why),
                    None => self.lanes.command(origin, line),
                }
            }
            Some("plan-displayed") => {
                let (id, shown) = (payload.text_at("plan").unwrap_or(""), payload.text_at("shown").unwrap_or(""));
                self.reading.lock().note_displayed(&self.engine, id, shown);
            }
            Some("approval") => {
                let (id, shown) = (payload.text_at("plan").unwrap_or(""), payload.text_at("shown").unwrap_or(""));
                let unseen = self.reading.lock().unseen(&self.engine, id, shown);
                let decided = match unseen {
                    Some(why) => Err(why),
                    None => Ok(Decided::Approve { shown: shown.to_string() }),
                };
                self.lanes.decide(origin, id, decided);
            }
            Some("denial") => {
                let reason = payload.text_at("reason").unwrap_or("").to_string();
                let decided = Decided::Deny { reason };
                self.lanes.decide(origin, payload.text_at("plan").unwrap_or(""), Ok(decided));
            }
            Some("interrupt") => self.lanes.interrupt(&origin.session),
            Some("point-update") => self.point_update(payload),
            Some("buffer-update") => self.buffer_update(payload),
            other => {
                let name = other.unwrap_or("without a name").to_string();
                self.engine.say(
                    LogLevel::Warning,
                    &format!("a client sent the sensor {name}, which is raised here only; it is ignored"),
                );
            }
        }
    }

    /// Reads the memex, and from then on what changes in it.
    fn follow_memex(&mut self) {
        match self.engine.follow_memex() {
            Ok(watch) => self.watch = Some(watch),
            Err(why) => {
                self.engine.say(LogLevel::Warning, &format!("the memex is not watched ({why}); it is read once"));
                self.read_memex();
            }
        }
    }

    fn read_memex(&self) {
        let engine = self.engine.clone();
        tokio::task::spawn_blocking(move || engine.read_memex(&mut |_| {}));
    }

    /// The local checks run at start, without blocking and without network.
    fn examine_at_start(&self) {
        let (engine, health, inbox) = (self.engine.clone(), self.health.clone(), self.inbox.clone());
        tokio::spawn(async move {
            let checks = crate::edge::doctor::examine(&engine, false).await;
            *health.lock() = crate::edge::doctor::verdict(&checks).name().to_string();
            for check in checks.iter().filter(|check| check.state == crate::edge::doctor::State::Unhealthy) {
                engine.say(LogLevel::Error, &format!("{}: {}", check.title, check.detail));
            }
            let _ = inbox.send(Event::Status);
        });
    }

    fn send_status(&mut self) {
        let now = status::now(&self.engine, self.lanes.busy(), &self.health.lock());
        match self.status.offer(now) {
            Offered::Kept => {}
            Offered::Send(payload) => self.outbox.send("status", None, payload),
            Offered::SendAndPause(payload) => {
                self.outbox.send("status", None, payload);
                let inbox = self.inbox.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(STATUS_PAUSE).await;
                    let _ = inbox.send(Event::StatusPause);
                });
            }
        }
    }
}
