//! A command that owns a store while it runs serves who joins it meanwhile, as the owner in an Emacs does.
//!
//! Nobody waits for the command then. When it has done its own work, it begins nothing new, lets what it does for others
//! come to an end, says that it leaves, and one of those that joined it owns the store next.
//!
//! The command has the settings of the command line, and of an Emacs that joined it knows neither the private tags nor
//! the permissions nor the models. So such an Emacs looks at what is there, and has nothing begun or done.

use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::Origin;
use crate::edge::editor::Editor;
use crate::edge::engine::{Engine, Notify};
use crate::edge::peers::{place, pulse};
use crate::edge::runtime::clients::{Channel, Clients, Kind, Program};
use crate::edge::runtime::hall::{self, Door, Host};
use crate::edge::runtime::request::Request;
use crate::edge::runtime::requests::Asked;
use crate::edge::runtime::{Ears, Event, Loop, attend, buffers, show, steps, tell};
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How long what others have under way may go on when the command's own work is done.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the last words may take.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Who may come while a command runs; nobody can yet.
pub struct Guests {
    clients: Arc<Clients>,
    ears: Ears,
}

/// A command whose store others can join.
pub struct Serving {
    clients: Arc<Clients>,
    inbox: mpsc::UnboundedSender<Event>,
    hall: JoinHandle<()>,
    room: JoinHandle<()>,
}

impl Guests {
    /// Expects guests for an engine that is about to be started.
    pub fn expected() -> Guests {
        let (inbox, events) = mpsc::unbounded_channel();
        Guests { clients: Arc::default(), ears: Ears { inbox, events } }
    }

    /// Returns the editors of all of them, as one.
    pub fn editor(&self) -> Arc<dyn Editor> {
        self.clients.clone()
    }

    /// Returns what tells all of them, and somebody else.
    pub fn telling(&self, other: Notify) -> Notify {
        let told = tell(self.clients.clone(), self.ears.inbox.clone());
        Arc::new(move |notice| {
            other(notice.clone());
            told(notice);
        })
    }

    /// Lets others join the engine's store; `None` when they cannot, which is no reason not to do the command.
    pub fn open(self, engine: &Arc<Engine>) -> Option<Serving> {
        let listening = place::listen(&engine.config.store).ok()?;
        let Guests { clients, ears } = self;
        let inbox = ears.inbox.clone();
        let (store, door) = (engine.config.store.clone(), Door::new(inbox.clone()));
        let hall = tokio::spawn(hall::open(listening, store, (door, Host::Command), |_| {}));
        let room = tokio::spawn(attend(engine.clone(), clients.clone(), ears, buffers::read(engine.clone())));
        Some(Serving { clients, inbox, hall, room })
    }
}

impl Serving {
    /// What serves those who joined a daemon.
    pub(super) fn of(
        clients: Arc<Clients>,
        inbox: mpsc::UnboundedSender<Event>,
        hall: JoinHandle<()>,
        room: JoinHandle<()>,
    ) -> Serving {
        Serving { clients, inbox, hall, room }
    }

    /// Serves until what others have under way is done, or takes too long; then they look for another owner.
    pub async fn end(self) {
        self.end_unless(std::future::pending()).await;
    }

    /// Does the same, and waits no longer than for what says that it is late.
    pub(super) async fn end_unless(self, late: impl Future<Output = ()>) {
        // Before the store is free: its next owner binds a socket of its own.
        self.hall.abort();
        let _ = self.hall.await;
        let (rested, rest) = oneshot::channel();
        let asked = self.inbox.send(Event::Rest(rested)).is_ok();
        let nothing_is_under_way = asked
            && tokio::select! {
                rested = tokio::time::timeout(PATIENCE, rest) => matches!(rested, Ok(Ok(()))),
                () = late => false,
            };
        let all = self.clients.all();
        if nothing_is_under_way {
            for channel in &all {
                channel.outbox.send("event", None, Plist::new().keyword("action", pulse::LEAVING));
            }
        }
        // Else who joined hears that what it asked for is lost, as the connection ends without a word.
        // Who takes nothing finds out when the connection ends.
        let taken = join_all(all.iter().map(|channel| channel.outbox.room(0)));
        let _ = tokio::time::timeout(LAST_WORDS, taken).await;
        // With it end the turns and answers that took too long.
        self.room.abort();
        let _ = self.room.await;
    }
}

/// A request that is being answered beside the loop, which hears when it is done, or broke.
pub(super) struct Answering(mpsc::UnboundedSender<Event>);

impl Drop for Answering {
    fn drop(&mut self) {
        // The loop may have ended; then nobody counts.
        let _ = self.0.send(Event::Answered);
    }
}

/// The sensors that begin a turn.
const BEGIN: [&str; 5] = ["user-input", "user-command", "repl-eval", "approval", "denial"];

impl Loop {
    /// Counts a request as under way until the value is dropped.
    pub(super) fn begin_answer(&mut self) -> Answering {
        self.answering += 1;
        Answering(self.inbox.clone())
    }

    /// Returns why nothing is begun or done for a client; `None` when it is.
    fn closed_to(&self, kind: Kind) -> Option<String> {
        let process = std::process::id();
        if self.ending && self.host == Host::Daemon {
            return Some(format!(
                "the Passepartout (process {process}) that owns the store is ending; ask again in a moment"
            ));
        }
        if self.ending {
            return Some(format!(
                "the passepartout command (process {process}) that owns the store is ending; ask again in a moment"
            ));
        }
        match (self.host, kind) {
            (Host::Command, Kind::Emacs | Kind::Program(Program::Client)) => {
                Some(format!("a passepartout command (process {process}) owns the store until it ends; then ask again"))
            }
            // These have no settings of their own to miss: a command of this machine is as good as another.
            (Host::Command, Kind::Cli | Kind::Tui | Kind::Program(Program::Mcp | Program::Acp)) => None,
            (Host::Emacs | Host::Daemon, Kind::Emacs | Kind::Cli | Kind::Tui | Kind::Program(_)) => None,
        }
    }

    /// Returns whether an event would begin a turn that is not begun here; the client is told so then.
    pub(super) fn turns_away(&self, channel: &Channel, origin: &Origin, payload: &Sexp) -> bool {
        let begins = payload.name_at("sensor").is_some_and(|sensor| BEGIN.contains(&sensor));
        let Some(why) = self.closed_to(channel.kind).filter(|_| begins) else { return false };
        // A plan may hold what is private, and so may the name of its conversation.
        let named = steps(payload).0.into_iter().filter(|_| origin.rights.see_private);
        let plans: Vec<_> = named.filter_map(|(id, _)| self.engine.plan(&id)).collect();
        let session = plans.first().map_or(&origin.session, |plan| &plan.session).0.as_str();
        let tell = |kind: &str, action: &str, payload: Plist| {
            channel.outbox.send(kind, Some(session), payload.keyword("action", action));
        };
        for plan in &plans {
            // A client may show the decision already; it hears how the plan really stands.
            tell("event", "plan-changed", Plist::new().plist("plan", show::plan(plan)));
        }
        let turn = self.engine.new_turn().0;
        let named = || Plist::new().text("turn", turn.as_str());
        tell("event", "turn-started", named().texts("decides", steps(payload).0.into_iter().map(|(id, _)| id)));
        channel.outbox.send("stream-chunk", Some(session), named().text("text", ""));
        tell("response", "turn-done", named().text("status", "failed").text("text", why).flag("again", self.ending));
        true
    }

    /// Returns whether a request is not answered here; the client is told so then.
    pub(super) fn refuses(&self, Asked { client, origin, payload, seat: _ }: &Asked) -> bool {
        let Some(client) = self.clients.get(client) else { return false };
        let action = payload.name_at("action").unwrap_or("unknown");
        let request = Request::read(payload);
        let open = request.is_some_and(|request| request.looks(payload)) && !self.ending;
        let closed = || self.closed_to(client.channel.kind).filter(|_| !open);
        let lacking = request.and_then(|request| request.refusal(payload, origin.rights)).map(str::to_string);
        let Some(why) = lacking.or_else(closed) else { return false };
        let answer = Plist::new().text("error", why);
        let answer = match payload.int_at("request") {
            Some(number) => answer.int("request", number),
            None => answer,
        };
        client.channel.outbox.send("response", Some(&origin.session.0), answer.keyword("action", action));
        true
    }

    /// Returns whether a command or a daemon that owns the store has nothing to do with a file: what an Emacs shows of it
    /// stays there. A daemon takes a new file of its own memex.
    pub(super) fn is_strange(&self, file: &str) -> bool {
        let unknown = || self.engine.view().card(file).is_none();
        match self.host {
            Host::Emacs => false,
            Host::Command => unknown(),
            Host::Daemon => unknown() && !self.engine.lies_in_memex(file),
        }
    }

    /// Returns whether the focus follows the point of an Emacs; that of a command is what the command says.
    pub(super) fn follows_point(&self) -> bool {
        match self.host {
            Host::Emacs | Host::Daemon => true,
            Host::Command => false,
        }
    }

    /// Follows the memex for who joined a command, once the command has read it by itself.
    pub(super) fn follow_for_guests(&mut self) {
        let wanted = self.host == Host::Command && !self.followed && !self.ending && !self.clients.is_empty();
        if wanted && self.engine.has_read_memex() {
            self.followed = true;
            self.follow_memex();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::clock::SystemClock;
    use crate::edge::config::{Config, ProviderSetting, Surroundings};
    use crate::edge::editor::NoEditor;
    use crate::edge::engine::boot::{Boot, Keep, start};
    use crate::edge::runtime::Letter;
    use crate::edge::runtime::outbox::Outbox;
    use crate::edge::secret::Vault;
    use std::io::Read;
    use tokio::sync::oneshot::error::TryRecvError;

    /// The loop of a command, which one client has joined.
    struct Room {
        state: Loop,
        events: mpsc::UnboundedReceiver<Event>,
        guest: Arc<Channel>,
        _memex: tempfile::TempDir,
    }

    async fn room(guest: fn(Arc<Outbox>) -> Arc<Channel>) -> Room {
        room_with(guest, |_| ()).await
    }

    async fn room_with(guest: fn(Arc<Outbox>) -> Arc<Channel>, set: impl FnOnce(&mut Config)) -> Room {
        let memex = tempfile::tempdir().expect("a folder");
        let mut config = Config::read(&Surroundings { variables: Default::default() });
        config.directories = vec![memex.path().canonicalize().expect("it is there")];
        set(&mut config);
        let (vault, clock, notify) = (Vault::empty(), Arc::new(SystemClock), Arc::new(|_| {}));
        let boot = Boot { config, vault, editor: Arc::new(NoEditor), clock, notify, keep: Keep::InMemory };
        let engine = start(boot).await.expect("the engine starts");
        let Guests { clients, ears } = Guests::expected();
        let read = buffers::read(engine.clone());
        let mut state = Loop::new(engine, clients, ears.inbox, read, Host::Command);
        let guest = guest(Outbox::new(Box::new(|| {})));
        state.handle(Event::Joined(guest.clone())).await;
        Room { state, events: ears.events, guest, _memex: memex }
    }

    impl Room {
        async fn take(&mut self, text: &str) {
            self.take_letter(Letter::read(text)).await;
        }

        async fn take_letter(&mut self, letter: Letter) {
            self.guest.note_waiting(letter.bytes);
            self.state.handle(Event::Message(self.guest.id, letter)).await;
        }

        /// Takes what comes until a reader of the events says that it is enough.
        async fn until(&mut self, enough: impl Fn(&Event) -> bool) {
            loop {
                let event = self.events.recv().await.expect("there are events");
                let last = enough(&event);
                self.state.handle(event).await;
                if last {
                    return;
                }
            }
        }

        fn heard(&self) -> String {
            self.guest.outbox.receive(1 << 20).concat()
        }
    }

    fn command(outbox: Arc<Outbox>) -> Arc<Channel> {
        Channel::cli(7, 4711, true, outbox)
    }

    fn emacs(outbox: Arc<Outbox>) -> Arc<Channel> {
        Channel::doubted(7, 4711, ("nobody knows".to_string(), true), outbox)
    }

    #[tokio::test]
    async fn a_request_that_is_under_way_is_waited_for_and_nothing_new_is_begun() {
        let mut room = room(command).await;
        room.take("(:type :request :payload (:action :command :request 1 :words (\"doctor\")))").await;
        let (rested, mut rest) = oneshot::channel();
        room.state.handle(Event::Rest(rested)).await;
        assert_eq!(rest.try_recv(), Err(TryRecvError::Empty), "it is not answered yet");
        drop(room.heard());
        for (text, answer) in [
            ("(:type :event :payload (:sensor :user-input :text \"hello\"))", ":turn-done"),
            ("(:type :event :payload (:sensor :denial :plan \"P1\" :reason \"\"))", ":turn-done"),
            ("(:type :request :payload (:action :query :request 2 :query \"a\"))", ":request 2"),
        ] {
            room.take(text).await;
            let heard = room.heard();
            assert!(heard.contains(answer) && heard.contains("is ending; ask again"), "{heard}");
        }
        room.until(|event| matches!(event, Event::Answered)).await;
        assert!(room.heard().contains(":request 1"), "it was answered to its end");
        assert_eq!(rest.try_recv(), Ok(()));
        assert!(room.state.lanes.are_empty());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_took_too_long_ends_with_the_loop() {
        for asked in [
            "(:type :request :payload (:action :doctor :request 1 :providers t))",
            "(:type :event :payload (:sensor :user-input :text \"hello\"))",
        ] {
            // A model that never says anything.
            let model = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
            let url = format!("http://{}/v1/", model.local_addr().expect("an address"));
            let mut room = room_with(command, |config| {
                let (name, kind) = ("silent".to_string(), "openai".to_string());
                config.cascade = Some(vec![name.clone()]);
                config.providers = vec![ProviderSetting {
                    name,
                    kind,
                    url: Some(url),
                    model: Some("m".into()),
                    local: true,
                    effort: None,
                }];
            })
            .await;
            room.take(asked).await;
            let (mut request, _) = tokio::task::block_in_place(|| model.accept()).expect("it is asked");
            request.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
            drop(room);
            let ended = tokio::task::block_in_place(|| request.read_to_end(&mut Vec::new()));
            assert!(ended.is_ok(), "nobody listens for an answer any more: {asked}: {ended:?}");
        }
    }

    #[tokio::test]
    async fn an_emacs_that_joined_a_command_looks_and_has_nothing_begun_or_done() {
        let mut room = room(emacs).await;
        drop(room.heard());
        for event in [
            ":sensor :user-input :text \"hello\"",
            ":sensor :user-command :line \"focus\"",
            ":sensor :repl-eval :code \"(+ 1 2)\"",
            ":sensor :approval :plan \"P1\" :shown \"\"",
            ":sensor :denial :plan \"P1\" :reason \"\"",
        ] {
            room.take(&format!("(:type :event :payload ({event}))")).await;
            let heard = room.heard();
            assert!(
                heard.contains(":turn-started") && heard.contains(":turn-done") && heard.contains("\"failed\""),
                "{heard}"
            );
            assert!(heard.contains("owns the store until it ends; then ask again"), "{event}: {heard}");
        }
        assert!(room.state.lanes.are_empty(), "no turn was begun");
        for action in
            ["edit-plan", "command", "undo", "redo", "memory-rewind", "memory-do", "focus", "doctor-fix", "rescan", "x"]
        {
            room.take(&format!("(:type :request :payload (:action :{action} :request 3))")).await;
            let heard = room.heard();
            assert!(heard.contains(":request 3") && heard.contains("then ask again"), "{action}: {heard}");
        }
        room.take("(:type :request :payload (:action :doctor :request 4 :providers t))").await;
        assert!(room.heard().contains("then ask again"), "the models of the command line are not asked for it");
        for place in ["", ":for :note", ":for :private-note"] {
            room.take(&format!("(:type :request :payload (:action :query :request 4 :query \"a\" {place}))")).await;
            let heard = room.heard();
            assert!(heard.contains("then ask again"), "by other private tags it goes into a note: {place}: {heard}");
        }
        assert_eq!(room.state.answering, 0);
        let plain = Sexp::read("(:for :screen)").expect("a plist");
        for action in Request::ALL.iter().filter(|request| request.looks(&plain)).map(|request| request.name()) {
            room.take(&format!("(:type :request :payload (:action :{action} :request 5 :for :screen))")).await;
            room.until(|event| matches!(event, Event::Answered)).await;
            let heard = room.heard();
            assert!(heard.contains(":request 5") && !heard.contains("then ask again"), "{action}: {heard}");
        }
        // What it shows of a file that the command has nothing to do with stays there.
        room.take("(:type :event :payload (:sensor :buffer-update :file \"/p.org\" :part :whole :text \"* Secret\"))")
            .await;
        assert!(!room.state.opened.is_open("/p.org"));
        // Nor does what it looks at become what the command looks at.
        room.take("(:type :event :payload (:sensor :point-update :file \"/p.org\" :byte 0))").await;
        assert!(room.state.clients.get(&room.guest.id).is_some_and(|client| client.point.is_none()));
    }

    #[tokio::test]
    async fn programs_of_our_own_have_turns_begun_by_a_command_and_others_have_none() {
        type Guest = fn(Arc<Outbox>) -> Arc<Channel>;
        let guests: [(Guest, bool); 3] = [
            (|outbox| Channel::acp(7, "ab", Some("zed"), outbox), true),
            (|outbox| Channel::mcp(7, "ab", None, outbox), true),
            (|outbox| Channel::client(7, "ab", None, outbox), false),
        ];
        for (guest, served) in guests {
            let mut room = room(guest).await;
            room.take("(:type :event :payload (:sensor :user-input :text \"/help\"))").await;
            let heard = room.heard();
            assert!(heard.contains(":turn-started"), "{heard}");
            assert_eq!(heard.contains("then ask again"), !served, "{heard}");
        }
    }

    #[tokio::test]
    async fn however_often_the_memex_is_to_be_read_again_it_is_once_at_a_time_and_once_behind_that() {
        let mut room = room(command).await;
        let seats = room.guest.seats.clone();
        let most = seats.available_permits();
        for number in 0..most {
            let text = format!("(:type :request :payload (:action :rescan :request {number}))");
            let seat = seats.clone().try_acquire_owned().expect("one for each");
            room.take_letter(Letter { seat: Some(seat), ..Letter::read(&text) }).await;
        }
        // The first reading gives back the seat of who asked for it, and the second those of all others.
        for back in [1, most] {
            loop {
                match room.events.recv().await.expect("there are events") {
                    Event::Reread => break,
                    other => room.state.handle(other).await,
                }
            }
            assert_eq!(seats.available_permits(), back);
            room.state.handle(Event::Reread).await;
        }
        assert_eq!(room.heard().matches("is being read again").count(), most, "each was answered");
        // Nothing is left that would be read once more; who wants it now begins anew.
        room.take("(:type :request :payload (:action :rescan :request 1))").await;
        room.until(|event| matches!(event, Event::Reread)).await;
        room.state.engine.close().await;
    }

    #[tokio::test]
    async fn the_memex_is_followed_for_guests_once_the_command_has_read_it() {
        let mut room = room(command).await;
        assert!(room.state.watch.is_none(), "the command reads it itself");
        let reader = room.state.engine.clone();
        tokio::task::spawn_blocking(move || reader.read_memex(&mut |_| {})).await.expect("it is read");
        room.state.handle(Event::Status).await;
        assert!(room.state.watch.is_some());
        room.state.engine.close().await;
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_with_something_under_way_does_not_say_that_nothing_is() {
        for (under_way, says_so) in [(false, true), (true, false)] {
            let (inbox, mut events) = mpsc::unbounded_channel();
            let guest = emacs(Outbox::new(Box::new(|| {})));
            let clients = Clients::of(guest.clone());
            let room = tokio::spawn(async move {
                let Some(Event::Rest(rested)) = events.recv().await else { return };
                if under_way {
                    std::future::pending::<()>().await;
                }
                rested.send(()).expect("it is waited for");
            });
            let begun = tokio::time::Instant::now();
            Serving { clients, inbox, hall: tokio::spawn(std::future::pending()), room }.end().await;
            assert_eq!(begun.elapsed() >= PATIENCE, under_way);
            let heard = guest.outbox.receive(1 << 20);
            assert_eq!(heard.iter().any(|text| pulse::is_leaving(text)), says_so, "{heard:?}");
        }
    }
}
