//! Between Emacs and a loop: this process owns the store and has the loop itself, or passes messages on to the owner.
//!
//! A relay understands no message. When the owner ends, one of those that joined it owns the store next, and the
//! others join that one. Of what was asked of the old owner and not answered nobody knows whether it was begun, so
//! nothing of it is sent again: Emacs hears of it, and says hello anew.

use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::clock::SystemClock;
use crate::edge::config::{Config, Surroundings};
use crate::edge::engine::Engine;
use crate::edge::engine::boot::{self, Boot, Found, Keep, Opened};
use crate::edge::peers::greeting::{As, Said, Unmet};
use crate::edge::peers::join::{Joined, join};
use crate::edge::peers::place::{self, Guard, Listening};
use crate::edge::peers::pulse::{self, Do, Silence};
use crate::edge::peers::stream::{Broken, Incoming, write};
use crate::edge::runtime::clients::{Channel, Clients, OWN};
use crate::edge::runtime::hall::{self, Door, Host};
use crate::edge::runtime::outbox::Outbox;
use crate::edge::runtime::{Ears, Event, Letter, buffers, end, listen, lobby, tell};
use crate::edge::secret::{Vault, keys_of, read_env_file};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc};

/// How long the owner of a store is looked for before this session goes on without the store.
const PATIENCE: Duration = Duration::from_secs(60);
/// The first and the longest pause between two looks.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// After so long the user is told what is waited for.
const WORTH_A_WORD: Duration = Duration::from_secs(1);
/// A connection that did not last as long as this is not made again at once.
const SHORT: Duration = Duration::from_secs(1);
/// No more is read of the owner's messages while so many bytes of them wait for Emacs.
const WAITING_MOST: usize = 4 << 20;
/// How long the last words of an owner are listened to.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What ends a core.
#[derive(Default)]
pub(super) struct Ending {
    stop: Arc<AtomicBool>,
    engine: Mutex<Option<Arc<Engine>>>,
    socket: Mutex<Option<Guard>>,
}

impl Ending {
    /// Begins to end: nobody can join any more. Returns the engine, which is to be closed.
    pub(super) fn begin(&self) -> Option<Arc<Engine>> {
        self.stop.store(true, Ordering::Relaxed);
        // Before the store is free: its next owner binds a socket of its own.
        if let Some(socket) = self.socket.lock().take() {
            socket.remove();
        }
        self.engine.lock().take()
    }
}

/// One Emacs's way to the loop.
pub(super) struct Link {
    settings: Sexp,
    outbox: Arc<Outbox>,
    uplink: mpsc::UnboundedReceiver<String>,
    waiting: Arc<AtomicUsize>,
    ending: Arc<Ending>,
    /// The owner was lost, and Emacs has not said hello since: what it says was meant for the old one.
    fenced: bool,
}

/// How an owner ended, as who joined it sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// In the middle of whatever it was doing.
    Lost,
    /// With nothing under way, as it said.
    Done,
}

/// Where the store is.
enum Place {
    /// Here.
    Own(Opened, Option<Listening>),
    /// At a process that was joined.
    Joined(Joined),
}

impl Link {
    pub(super) fn new(
        settings: Sexp,
        outbox: Arc<Outbox>,
        (uplink, waiting): (mpsc::UnboundedReceiver<String>, Arc<AtomicUsize>),
        ending: Arc<Ending>,
    ) -> Link {
        Link { settings, outbox, uplink, waiting, ending, fenced: false }
    }

    /// Lives as long as the core does.
    pub(super) async fn live(mut self) {
        let surroundings = Surroundings::of_settings(&self.settings);
        let mut config = Config::read(&surroundings);
        config.take_settings(&self.settings);
        loop {
            let joined = match self.find(&config.store, &config.heads()).await {
                Ok(Place::Own(opened, listening)) => return self.own(config, surroundings, opened, listening).await,
                Ok(Place::Joined(joined)) => joined,
                Err(why) => return end(&self.outbox, &why),
            };
            let begun = Instant::now();
            let Joined { incoming, writer, process, doubt: _ } = joined;
            let left = self.relay(incoming, writer, process).await;
            self.lost(left);
            if begun.elapsed() < SHORT {
                tokio::time::sleep(SHORT / 2).await;
            }
        }
    }

    /// Finds the store: owns it when nobody does, or joins who does.
    async fn find(&self, folder: &Path, heads: &Path) -> Result<Place, String> {
        let begun = Instant::now();
        let (mut pause, mut told) = (PAUSES.0, false);
        loop {
            let (at, noted, last) = (folder.to_path_buf(), heads.to_path_buf(), begun.elapsed() > PATIENCE);
            let found = tokio::task::spawn_blocking(move || boot::find(&at, &noted, last)).await;
            let owner = match found.map_err(|_| "opening the store broke".to_string())?? {
                Found::Here(opened) if opened.trouble.is_some() => return Ok(Place::Own(opened, None)),
                Found::Here(opened) => {
                    let listening = place::listen(folder);
                    if let Err(why) = &listening {
                        self.say("warning", &format!("no other Emacs can join this one: {why}"));
                    }
                    return Ok(Place::Own(opened, listening.ok()));
                }
                Found::Elsewhere(owner) => owner,
            };
            match join(folder, &Said::plain(As::Emacs)).await {
                Ok(joined) => {
                    self.say(
                        "info",
                        &format!("the store is in use by {owner}, which does the work for this Emacs too"),
                    );
                    if let Some(why) = &joined.doubt {
                        let text = format!(
                            "plans are approved and things taken back there or at a terminal, not in this Emacs: {why}"
                        );
                        self.say("warning", &text);
                    }
                    return Ok(Place::Joined(joined));
                }
                Err(Unmet::Refused(why)) => return Err(format!("{owner} owns the store and cannot be joined: {why}")),
                Err(Unmet::Silent(why) | Unmet::Late(why)) if begun.elapsed() > WORTH_A_WORD && !told => {
                    told = true;
                    self.say("warning", &format!("the store is in use by {owner}, which cannot be joined yet ({why})"));
                }
                Err(Unmet::Silent(_) | Unmet::Late(_)) => {}
            }
            // Of several that look for a new owner at once, not all look at the same moment.
            let own = Duration::from_micros(u64::from(std::process::id() % 16) * 250);
            tokio::time::sleep(pause + own).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    fn say(&self, level: &str, text: &str) {
        self.outbox.send("log", None, Plist::new().text("level", level).text("text", text));
    }

    /// Has the loop in this process, and does not come back.
    async fn own(self, config: Config, surroundings: Surroundings, opened: Opened, listening: Option<Listening>) {
        let Link { settings, outbox, mut uplink, waiting, ending, fenced } = self;
        let own = Channel::own(outbox.clone());
        let clients = Clients::of(own.clone());
        let (inbox, events) = mpsc::unbounded_channel();
        *ending.socket.lock() = listening.as_ref().map(Listening::guard);
        // From now on: who joins meanwhile waits until the store is read.
        let (folder, socket) = (config.store.clone(), ending.clone());
        let told = move |guard| *socket.socket.lock() = Some(guard);
        let door = Door::new(inbox.clone());
        let hall =
            listening.map(|listening| tokio::spawn(hall::open(listening, folder, (door.clone(), Host::Emacs), told)));
        let _shut = Shut(hall);
        let notify = tell(clients.clone(), inbox.clone());
        let vault = vault(&settings, &config, surroundings);
        let (editor, clock) = (clients.clone(), Arc::new(SystemClock));
        let boot = Boot { config, vault, editor, clock, notify, keep: Keep::OnDisk };
        let starting = boot::start_found(boot, opened, ending.stop.clone());
        let (engine, early) = answering(starting, &mut uplink, &waiting, &own).await;
        let engine = match engine {
            Ok(engine) => engine,
            Err(why) => return end(&outbox, &why),
        };
        *ending.engine.lock() = Some(engine.clone());
        tokio::spawn(pump((early, uplink), waiting, own, inbox.clone(), fenced));
        let read = buffers::read(engine.clone());
        let _lobby = lobby::open(&engine, door, Host::Emacs).await;
        listen(engine, clients, Ears { inbox, events }, (read, Host::Emacs)).await
    }

    /// Passes messages on until the connection ends, and returns how it did. When the owner is silent it is asked for a
    /// sign of life, and when none comes Emacs is told; nothing is sent again, and what Emacs says waits for the owner
    /// all the same.
    async fn relay(
        &mut self,
        incoming: Incoming<impl AsyncRead + Unpin>,
        mut writer: impl AsyncWrite + Unpin,
        process: Option<u32>,
    ) -> Left {
        let ask = Notify::new();
        let down = hear(incoming, &self.outbox, &ask, process);
        let (uplink, waiting, fenced, told) = (&mut self.uplink, &self.waiting, &mut self.fenced, self.outbox.clone());
        let up = async {
            loop {
                let text = tokio::select! {
                    () = ask.notified() => pulse::ping(),
                    text = uplink.recv() => match text {
                        Some(text) => {
                            waiting.fetch_sub(text.len(), Ordering::Relaxed);
                            if held_back(fenced, &text) {
                                continue;
                            }
                            text
                        }
                        None => return,
                    },
                };
                match write(&mut writer, &text).await {
                    Ok(()) => {}
                    Err(Broken::Frame(error)) => {
                        let payload = Plist::new().keyword("action", "protocol-error").text("text", error.to_string());
                        told.send("response", None, payload);
                    }
                    Err(Broken::System(_) | Broken::Half) => return,
                }
            }
        };
        tokio::pin!(down);
        tokio::select! {
            left = &mut down => return left,
            () = up => {}
        }
        // It may have said why it ends.
        tokio::time::timeout(LAST_WORDS, down).await.unwrap_or(Left::Lost)
    }

    /// Tells Emacs that what it asked for and has not heard of is lost.
    fn lost(&mut self, left: Left) {
        self.fenced = true;
        let text = match left {
            Left::Lost => {
                "The process that did the work for this Emacs has ended. Questions of chats are asked again, and none \
                 is asked twice; what else was under way there is lost: look whether it was done before you ask for \
                 it again."
            }
            Left::Done => {
                "The command that did the work for this Emacs has ended, with nothing under way. Another process goes \
                 on; what you asked for in the last moment is to be asked again."
            }
        };
        self.outbox.send("event", None, Plist::new().keyword("action", "core-lost").text("text", text));
    }
}

/// Hands what the owner says to Emacs until the connection ends; why it ended does not matter, it is looked for anew.
async fn hear(
    mut incoming: Incoming<impl AsyncRead + Unpin>,
    outbox: &Outbox,
    ask: &Notify,
    process: Option<u32>,
) -> Left {
    let (mut silence, mut left) = (Silence::default(), Left::Lost);
    loop {
        match tokio::time::timeout(silence.patience(), incoming.next()).await {
            Ok(Ok(Some(text))) => {
                if silence.heard() {
                    tell_of_owner(outbox, "core-back", "The process that does the work for this Emacs answers again.");
                }
                if pulse::is_leaving(&text) {
                    left = Left::Done;
                } else if !pulse::is_alive(&text) {
                    // Nothing is heard while Emacs takes nothing, and that is no silence.
                    outbox.room(WAITING_MOST).await;
                    outbox.pass(text);
                }
            }
            Ok(Ok(None) | Err(_)) => return left,
            Err(_) => match silence.go_on() {
                Do::Ask => ask.notify_one(),
                Do::Tell => {
                    ask.notify_one();
                    let then = "then this Emacs goes on by itself. Until then what you ask for waits; nothing is asked \
                                for twice.";
                    tell_of_owner(outbox, "core-silent", &pulse::diagnosis(process, then));
                }
            },
        }
    }
}

fn tell_of_owner(outbox: &Outbox, action: &str, text: &str) {
    outbox.send("event", None, Plist::new().keyword("action", action).text("text", text));
}

/// Returns whether a message was meant for an owner that was lost; a hello is the first one for the next. Answers are
/// for whoever asked, which their numbers tell.
fn held_back(fenced: &mut bool, text: &str) -> bool {
    if *fenced {
        let message = Sexp::read(text).ok();
        let action = message.as_ref().and_then(|message| message.get("payload")?.name_at("action"));
        if action == Some("editor-reply") {
            return false;
        }
        *fenced = action != Some("hello");
    }
    *fenced
}

/// Waits for the start, which asks Emacs of files that an earlier session was changing, and takes the answers; returns
/// also what else Emacs said meanwhile.
async fn answering<T>(
    starting: impl Future<Output = T>,
    uplink: &mut mpsc::UnboundedReceiver<String>,
    waiting: &AtomicUsize,
    own: &Channel,
) -> (T, Vec<String>) {
    let mut early = Vec::new();
    tokio::pin!(starting);
    loop {
        tokio::select! {
            started = &mut starting => return (started, early),
            Some(text) = uplink.recv() => {
                let read = Sexp::read(&text).ok();
                let payload = read.as_ref().and_then(|message| message.get("payload"));
                match payload.filter(|payload| payload.name_at("action") == Some("editor-reply")) {
                    Some(payload) => {
                        if let Err(why) = own.editor.reply(payload) {
                            own.refuse(None, why);
                        }
                        waiting.fetch_sub(text.len(), Ordering::Relaxed);
                    }
                    None => early.push(text),
                }
            }
        }
    }
}

/// Hands what Emacs says to the loop of this process; first what it said while that began.
async fn pump(
    (early, mut uplink): (Vec<String>, mpsc::UnboundedReceiver<String>),
    waiting: Arc<AtomicUsize>,
    own: Arc<Channel>,
    inbox: mpsc::UnboundedSender<Event>,
    mut fenced: bool,
) {
    let mut early = early.into_iter();
    loop {
        let text = match early.next() {
            Some(text) => text,
            None => match uplink.recv().await {
                Some(text) => text,
                None => return,
            },
        };
        if !held_back(&mut fenced, &text) {
            own.make_room(text.len()).await;
            if inbox.send(Event::Message(OWN, Letter::read(&text))).is_err() {
                return;
            }
        }
        waiting.fetch_sub(text.len(), Ordering::Relaxed);
    }
}

/// Shuts the hall when the loop ends.
pub(super) struct Shut(pub(super) Option<tokio::task::JoinHandle<()>>);

impl Drop for Shut {
    fn drop(&mut self) {
        if let Some(hall) = &self.0 {
            hall.abort();
        }
    }
}

/// Gathers the keys that Emacs gave, and those of the environment.
fn vault(settings: &Sexp, config: &Config, surroundings: Surroundings) -> Vault {
    let env_file = read_env_file(&config.settings.join(".env")).unwrap_or_default();
    Vault::gather(keys_of(settings), surroundings.variables, env_file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::peers::pulse::SILENCE;

    /// Emacs beside an owner: what it hears, and what it can say.
    struct Beside {
        outbox: Arc<Outbox>,
        woken: Arc<Notify>,
        uplink: mpsc::UnboundedSender<String>,
        _relay: tokio::task::JoinHandle<Left>,
    }

    fn beside(owner: tokio::io::DuplexStream) -> Beside {
        let woken = Arc::new(Notify::new());
        let bell = woken.clone();
        let outbox = Outbox::new(Box::new(move || bell.notify_one()));
        let (uplink, coming) = mpsc::unbounded_channel();
        let mut link = Link::new(Sexp::Nil, outbox.clone(), (coming, Arc::default()), Arc::default());
        let (reader, writer) = tokio::io::split(owner);
        let process = Some(std::process::id());
        let _relay = tokio::spawn(async move { link.relay(Incoming::new(reader), writer, process).await });
        Beside { outbox, woken, uplink, _relay }
    }

    impl Beside {
        /// Waits for the next messages.
        async fn hear(&self) -> String {
            loop {
                let heard = self.outbox.receive(1 << 20).concat();
                if !heard.is_empty() {
                    return heard;
                }
                self.woken.notified().await;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_owner_that_never_answers_is_told_of_in_words_and_nothing_is_sent_twice() {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let emacs = beside(ours);
        emacs.uplink.send("(:type :request :payload (:action :hello :request 1))".to_string()).expect("it is taken");
        let begun = tokio::time::Instant::now();
        let told = emacs.hear().await;
        assert_eq!(begun.elapsed().as_secs(), SILENCE.as_secs());
        let own = std::process::id();
        assert!(told.contains(":core-silent") && told.contains(&format!("Process {own}")), "{told}");
        assert!(told.contains("has not answered for 10 seconds") && told.contains("kill"), "{told}");
        // It is said once, however long it lasts.
        assert!(tokio::time::timeout(SILENCE * 10, emacs.hear()).await.is_err());

        let (reader, mut writer) = tokio::io::split(theirs);
        let mut asked = Incoming::new(reader);
        let mut hellos = 0;
        while let Ok(next) = tokio::time::timeout(Duration::from_millis(1), asked.next()).await {
            let text = next.expect("frames").expect("it is there");
            hellos += usize::from(text.contains(":hello"));
            assert!(text.contains(":hello") || text == pulse::ping(), "{text}");
        }
        assert_eq!(hellos, 1);
        write(&mut writer, "(:type :event :payload (:action :alive))").await.expect("it is taken");
        let told = emacs.hear().await;
        assert!(told.contains(":core-back") && !told.contains(":alive"), "{told}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_owner_that_answers_is_not_told_of_however_long_nothing_else_happens() {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let emacs = beside(ours);
        let (reader, mut writer) = tokio::io::split(theirs);
        let owner = tokio::spawn(async move {
            let mut asked = Incoming::new(reader);
            let mut pings = 0;
            while let Ok(Some(text)) = asked.next().await {
                assert_eq!(text, pulse::ping());
                pings += 1;
                // Nearly too late.
                tokio::time::sleep(Duration::from_millis(4_900)).await;
                write(&mut writer, "(:type :event :payload (:action :alive))").await.expect("it is taken");
                if pings == 20 {
                    break;
                }
            }
            pings
        });
        assert_eq!(owner.await.expect("it goes well"), 20);
        assert!(emacs.outbox.receive(1 << 20).is_empty(), "Emacs hears nothing of it");
    }

    #[tokio::test]
    async fn a_start_that_asks_emacs_is_answered_and_all_else_comes_behind_it_in_order() {
        let woken = Arc::new(Notify::new());
        let bell = woken.clone();
        let outbox = Outbox::new(Box::new(move || bell.notify_one()));
        let own = Channel::own(outbox.clone());
        let (says, mut uplink) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let say = |text: String| {
            waiting.fetch_add(text.len(), Ordering::Relaxed);
            says.send(text).expect("it is taken");
        };
        // For the owner before; the first word to this one; and what comes behind that.
        let request = |action: &str| format!("(:type :request :payload (:action :{action} :request 1))");
        say(request("undo"));
        let emacs = async {
            woken.notified().await;
            let asked = Sexp::read(&outbox.receive(1 << 20).concat()).expect("a question");
            let number = asked.get("payload").and_then(|payload| payload.int_at("request")).expect("its number");
            let reply =
                |rest: &str| format!("(:type :response :payload (:action :editor-reply :request {number} {rest}))");
            say(request("hello"));
            say(reply(":slice 1 :more t :text \"* Ta\""));
            say(request("status"));
            let hash = crate::edge::wire::slices::chain("* Task", 4).hash().to_string();
            say(reply(&format!(":open t :tick 1 :size 6 :slice 2 :text \"sk\" :hash \"{hash}\"")));
        };
        let starting = answering(own.editor.look("/notes/home.org"), &mut uplink, &waiting, &own);
        let ((seen, early), ()) = tokio::join!(starting, emacs);
        let seen = seen.expect("Emacs has answered").expect("it is open");
        assert_eq!(&*seen.buffer.text, "* Task");
        assert_eq!(early, ["undo", "hello", "status"].map(request));
        assert_eq!(waiting.load(Ordering::Relaxed), early.iter().map(String::len).sum::<usize>());
        say(request("log"));
        let (inbox, mut events) = mpsc::unbounded_channel();
        drop(says);
        pump((early, uplink), waiting.clone(), own, inbox, true).await;
        let mut heard = Vec::new();
        while let Some(Event::Message(OWN, letter)) = events.recv().await {
            let message = letter.message.expect("it can be read");
            heard.extend(message.get("payload").and_then(|payload| payload.name_at("action")).map(str::to_string));
        }
        assert_eq!(heard, ["hello", "status", "log"], "what was meant for another is left out");
        assert_eq!(waiting.load(Ordering::Relaxed), 0);
    }
}
