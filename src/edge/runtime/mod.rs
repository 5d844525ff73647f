//! The runtime: one loop takes every message, and one lane a session runs its turns in order.
//!
//! It is what a client talks to. Nothing here waits on the client's thread: a message is queued and that is all.

mod editor;
mod lanes;
pub mod mirror;
pub mod outbox;
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
use crate::edge::engine::{Engine, Notice};
use crate::edge::runtime::editor::EmacsEditor;
use crate::edge::runtime::lanes::Lanes;
use crate::edge::runtime::mirror::{Mirrors, Update};
use crate::edge::runtime::outbox::Outbox;
use crate::edge::runtime::reading::Reading;
use crate::edge::runtime::scans::{Read, Scans};
use crate::edge::runtime::status::{Offered, Statuses};
use crate::edge::secret::{Secret, Vault};
use crate::edge::walk::canonical_name;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
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
    runtime: tokio::runtime::Runtime,
}

/// Everything that can wake the loop.
pub(crate) enum Event {
    /// A message of the client.
    Message(String),
    /// A buffer has rested: read what its mirror holds.
    Rested(String),
    /// A buffer was read, or why not.
    Scanned(String, Result<(), String>),
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
        let (served, last_words) = (serve(settings, outbox.clone(), ears, engine.clone()), outbox.clone());
        runtime.spawn(async move {
            if AssertUnwindSafe(served).catch_unwind().await.is_err() {
                end(&last_words, "the core broke while it started; start it again");
            }
        });
        Ok(Core { inbox, waiting, outbox, engine, runtime })
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
}

async fn serve(settings: Sexp, outbox: Arc<Outbox>, ears: Ears, shared: Arc<OnceLock<Arc<Engine>>>) {
    let editor = EmacsEditor::new(outbox.clone());
    let engine = match start_engine(&settings, &outbox, &ears.inbox, editor.clone()).await {
        Ok(engine) => engine,
        Err(why) => {
            return end(&outbox, &why);
        }
    };
    let _ = shared.set(engine.clone());
    let reader = engine.clone();
    let read: Read = Arc::new(move |file, text, wanted| reader.take_buffer(file, text, wanted));
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
    };
    state.send_status();
    state.read_memex();
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
    let (sender, status) = (outbox.clone(), inbox.clone());
    let notify = Arc::new(move |notice: Notice| match notice {
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
    });
    let boot = Boot { config, vault, editor, clock: Arc::new(SystemClock), notify, keep: Keep::OnDisk };
    boot::start(boot).await
}

impl Loop {
    async fn handle(&mut self, event: Event) {
        match event {
            Event::Message(text) => self.take(&text).await,
            Event::Rested(file) => self.rested(file),
            Event::Scanned(file, outcome) => self.scanned(file, outcome),
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
            Some("point-update") => {
                let place = payload.text_at("file").map(canonical_name).zip(payload.count_at("byte"));
                if let Some((file, byte)) = place {
                    self.point = Some((file.clone(), byte));
                    if !self.scans.pending(&file) {
                        self.engine.focus_at(&file, byte);
                    }
                }
            }
            Some("buffer-update") => self.buffer_update(payload).await,
            other => {
                let name = other.unwrap_or("without a name").to_string();
                self.engine.say(
                    LogLevel::Warning,
                    &format!("a client sent the sensor {name}, which is raised here only; it is ignored"),
                );
            }
        }
    }

    async fn buffer_update(&mut self, payload: &Sexp) {
        let Some(typed) = payload.text_at("file") else { return };
        let file = canonical_name(typed);
        // A buffer that was equal to its file has no mirror yet: its first change needs one.
        if payload.name_at("part") == Some("change") && self.mirrors.text(&file).is_none() {
            match self.engine.view().document(&file) {
                Some(document) => self.mirrors.seed(&file, document.outline.text.to_string()),
                None => {
                    if let Ok(decoded) = crate::edge::org_file::read_text(std::path::Path::new(&file)) {
                        self.mirrors.seed(&file, decoded.text.to_string());
                    }
                }
            }
        }
        let update = self.mirrors.take(&file, payload);
        self.engine.note_open(&file, self.mirrors.text(&file).is_some());
        match update {
            Update::Changed | Update::Disk => self.scans.changed(file),
            Update::Waiting => {}
            Update::Lost => {
                let payload = Plist::new().keyword("action", "resync").text("file", typed);
                self.outbox.send("request", None, payload);
            }
        }
    }

    /// Reads a file's new text, beside the loop.
    fn rested(&mut self, file: String) {
        let mirrors = &self.mirrors;
        self.scans.rested(file.clone(), || mirrors.text(&file).map(Arc::<str>::from));
    }

    /// Takes note that a file was read; the point may be in a heading that was not known before.
    fn scanned(&mut self, file: String, outcome: Result<(), String>) {
        if let Err(why) = outcome {
            self.engine.say(LogLevel::Warning, &why);
        }
        if self.scans.ended(&file) {
            return self.rested(file);
        }
        if let Some((at, byte)) = self.point.clone().filter(|(at, _)| *at == file)
            && !self.scans.pending(&file)
        {
            self.engine.focus_at(&at, byte);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::config::ProviderSetting;
    use std::sync::mpsc as channel;

    /// A test never hangs.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// The loop with a client that only listens, and a reading of buffers that the test holds up.
    struct Held {
        inbox: mpsc::UnboundedSender<Event>,
        outbox: Arc<Outbox>,
        woken: Arc<tokio::sync::Notify>,
        engine: Arc<Engine>,
        /// Each reading says which text it has, and waits to be told to go on.
        begun: channel::Receiver<String>,
        go_on: channel::Sender<()>,
    }

    impl Held {
        async fn start(folder: &std::path::Path, url: String) -> Held {
            let woken = Arc::new(tokio::sync::Notify::new());
            let bell = woken.clone();
            let outbox = Outbox::new(Box::new(move || bell.notify_one()));
            let variables = [("HOME", folder.join("home")), ("XDG_STATE_HOME", folder.join("state"))];
            let variables =
                variables.map(|(name, path)| (name.to_string(), path.to_string_lossy().into_owned())).into();
            let mut config = Config::read(&Surroundings { variables });
            config.cascade = Some(vec!["mute".to_string()]);
            let (name, kind) = ("mute".to_string(), "openai".to_string());
            config.providers =
                vec![ProviderSetting { name, kind, url: Some(url), model: Some("m".into()), local: true }];
            let editor = EmacsEditor::new(outbox.clone());
            let boot = Boot {
                config,
                vault: Vault::empty(),
                editor: editor.clone(),
                clock: Arc::new(SystemClock),
                notify: Arc::new(|_| {}),
                keep: Keep::InMemory,
            };
            let engine = boot::start(boot).await.expect("the engine starts");
            let (inbox, events) = mpsc::unbounded_channel();
            let ears = Ears { inbox: inbox.clone(), events, waiting: Arc::default() };
            let (begin, begun) = channel::channel();
            let (go_on, told) = channel::channel();
            let (begin, told, reader) = (parking_lot::Mutex::new(begin), parking_lot::Mutex::new(told), engine.clone());
            let read: Read = Arc::new(move |file, text, wanted| {
                begin.lock().send(text.as_deref().unwrap_or("").to_string()).expect("the test listens");
                told.lock().recv_timeout(PATIENCE).expect("the test goes on");
                reader.take_buffer(file, text, wanted)
            });
            tokio::spawn(listen(engine.clone(), outbox.clone(), editor, ears, read));
            Held { inbox, outbox, woken, engine, begun, go_on }
        }

        fn event(&self, payload: &str) {
            let text = format!("(:type :event :meta (:session-id \"s\") :payload {payload})");
            assert!(self.inbox.send(Event::Message(text)).is_ok(), "the loop runs");
        }

        fn write(&self, text: &str) {
            for part in
                [format!(":begin :size {}", text.len()), format!(":slice :text {text:?}"), ":end :tick 1".to_string()]
            {
                self.event(&format!("(:sensor :buffer-update :file \"/notes/big.org\" :part {part})"));
            }
        }

        async fn reading(&self) -> String {
            tokio::task::block_in_place(|| self.begun.recv_timeout(PATIENCE)).expect("it is read")
        }

        /// Waits for a message in which a text stands.
        async fn wait(&self, words: &str) {
            let heard = async {
                while !self.outbox.receive(usize::MAX).iter().any(|message| message.contains(words)) {
                    self.woken.notified().await;
                }
            };
            assert!(tokio::time::timeout(PATIENCE, heard).await.is_ok(), "waited for {words}");
        }
    }

    /// A server that takes connections and says nothing.
    fn mute() -> (std::net::TcpListener, String) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("it has one"));
        (listener, url)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_interrupt_is_answered_while_a_buffer_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let (_server, url) = mute();
        let held = Held::start(folder.path(), url).await;
        held.write("* A heading\n");
        assert_eq!(held.reading().await, "* A heading\n");
        held.event("(:sensor :user-input :text \"are you there?\")");
        held.wait(":turn-started").await;
        held.event("(:sensor :interrupt)");
        held.wait("\"interrupted\"").await;
        assert!(held.engine.view().is_empty(), "the buffer is still being read");
        held.go_on.send(()).expect("it waits");
        held.wait(":headings 1").await;
        assert_eq!(held.engine.view().headings(), 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_read_of_an_older_text_is_dropped_and_the_newest_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let (_server, url) = mute();
        let held = Held::start(folder.path(), url).await;
        held.write("* Old\n");
        assert_eq!(held.reading().await, "* Old\n");
        held.write("* Half\n");
        held.write("* New\n** Newer\n");
        held.event("(:sensor :point-update :file \"/notes/big.org\" :byte 8)");
        // The loop takes messages in order: when it answers, it has heard of the changes.
        let hello = "(:type :request :payload (:action :hello :request 1))";
        assert!(held.inbox.send(Event::Message(hello.to_string())).is_ok(), "the loop runs");
        held.wait(":request 1").await;
        held.go_on.send(()).expect("it waits");
        assert_eq!(held.reading().await, "* New\n** Newer\n", "one reading at a time, and of the newest");
        assert!(held.engine.view().is_empty(), "what is stale was dropped");
        held.go_on.send(()).expect("it waits");
        held.wait(":focus-title \"Newer\"").await;
        assert_eq!(held.engine.view().headings(), 2);
        assert_eq!(held.engine.head().0, 1, "one operation");
    }
}
