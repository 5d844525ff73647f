//! Conversations of the terminal client through a core: each is a session of its own there, and one that goes on is the
//! same as before.

use crate::peers::{Raw, meanwhile};
use crate::runtime::{Client, TILES, action, mark_done, parked, payload_of, says, text};
use crate::support::engine::Home;
use crate::support::fake_server::FakeServer;
use passepartout::domain::sexp::plist::Plist;
use passepartout::domain::sexp::reader::Sexp;
use passepartout::edge::tui::kept::Conversations;
use passepartout::edge::tui::state::{Effect, Event, Linked, State};
use passepartout::edge::tui::theme::Theme;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The terminal client without its terminal: its state, its files and its connection are what they are there.
pub(crate) struct Desk {
    pub(crate) state: State,
    pub(crate) raw: Raw,
    kept: Conversations,
    /// What was sent.
    pub(crate) sent: Vec<String>,
    /// What is sent goes nowhere.
    deaf: bool,
}

impl Desk {
    /// Begins one as another program does: with random bytes of its own.
    pub(crate) fn open(home: &Home, seed: u8) -> Desk {
        let state = State::new((80, 24), Theme::None, Vec::new(), None, [seed; 32]);
        let (raw, kept) = (joined(home), Conversations::beside(&home.store()));
        let mut desk = Desk { state, raw, kept, sent: Vec::new(), deaf: false };
        let (version, here) = (env!("CARGO_PKG_VERSION").to_string(), false);
        desk.take(Event::Linked(Linked::Up { version, here, doubt: None }));
        desk
    }

    pub(crate) fn take(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.state.update(event) {
                match effect {
                    Effect::Send(text) => {
                        if !self.deaf {
                            self.raw.say(&text);
                        }
                        self.sent.push(text);
                    }
                    Effect::KeepSaid(name, said) => {
                        self.kept.keep(&name, &said, jiff::Timestamp::now()).expect("it is kept");
                    }
                    Effect::BeginAnew => self.kept.begin_anew(),
                    Effect::Sessions => events.push(Event::Sessions(self.kept.list().map_err(|why| why.to_string()))),
                    Effect::Resume(kept) => {
                        events.push(Event::Resumed(self.kept.resume(&kept).map_err(|why| why.to_string())));
                    }
                    _ => {}
                }
            }
        }
    }

    /// From now on nobody is there to hear what is sent, until it joins again.
    pub(crate) fn lose_what_is_sent(&mut self) {
        self.deaf = true;
    }

    /// Types a line.
    pub(crate) fn enter(&mut self, line: &str) {
        self.take(Event::Paste(line.to_string()));
        self.take(Event::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)));
    }

    /// Takes messages of the core until one fits, and returns it.
    #[track_caller]
    pub(crate) fn until(&mut self, owner: &mut Client, fits: impl Fn(&Sexp) -> bool) -> Sexp {
        loop {
            let raw = &mut self.raw;
            let heard = meanwhile(owner, || raw.next());
            if let Some(heard) = self.hear(heard).filter(&fits) {
                return heard;
            }
        }
    }

    /// Does the same where no Emacs is to be answered for.
    #[track_caller]
    pub(crate) fn until_alone(&mut self, fits: impl Fn(&Sexp) -> bool) -> Sexp {
        loop {
            let heard = self.raw.next();
            if let Some(heard) = self.hear(heard).filter(&fits) {
                return heard;
            }
        }
    }

    #[track_caller]
    fn hear(&mut self, heard: Option<String>) -> Option<Sexp> {
        let heard = Sexp::read(&heard.expect("it goes on")).expect("a message");
        self.take(Event::Heard(heard.clone()));
        Some(heard)
    }

    /// Loses its connection, and joins whoever owns the store now.
    pub(crate) fn join_again(&mut self, home: &Home) {
        self.take(Event::Linked(Linked::Down("it ended".to_string(), 1)));
        (self.raw, self.deaf) = (joined(home), false);
        let (version, here) = (env!("CARGO_PKG_VERSION").to_string(), false);
        self.take(Event::Linked(Linked::Up { version, here, doubt: None }));
    }

    /// Types a line, and returns the end of its turn.
    #[track_caller]
    fn ask(&mut self, owner: &mut Client, line: &str) -> Sexp {
        self.enter(line);
        self.until(owner, |heard| action(heard) == Some("turn-done"))
    }
}

/// Joins as the terminal client does.
fn joined(home: &Home) -> Raw {
    let mut raw = Raw::connect(&home.store());
    raw.next().expect("it greets");
    raw.say("(:type :event :payload (:action :handshake :protocol 2 :version \"test\" :as :tui))");
    assert!(raw.next().expect("it is let in").contains("the terminal interface of process"));
    raw
}

fn session_of(message: &Sexp) -> String {
    message.get("meta").and_then(|meta| meta.text_at("session-id")).expect("it names a session").to_string()
}

#[test]
fn a_preset_counts_in_its_conversation_alone_and_there_also_in_a_later_program() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start((0..4).map(|_| says(&["Well."])));
    let presets = ":presets ((\"reader\" :tools \"none\"))";
    let mut owner = Client::start_with(&home, Some(&server), "\"fake\"", presets);
    let mut desk = Desk::open(&home, 1);
    let preset = |done: &Sexp| payload_of(done).text_at("preset").map(str::to_string);
    desk.ask(&mut owner, "/preset reader");
    let first = desk.ask(&mut owner, "what is due?");
    assert_eq!(preset(&first).as_deref(), Some("reader"), "{first}");
    desk.enter("/clear");
    let second = desk.ask(&mut owner, "what is due?");
    assert_eq!(preset(&second), None, "{second}");
    assert_ne!(session_of(&first), session_of(&second));
    drop(desk);
    let mut later = Desk::open(&home, 2);
    let third = later.ask(&mut owner, "what is due?");
    assert_eq!(preset(&third), None, "{third}");
    later.enter("/sessions");
    later.take(Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)));
    later.enter("/resume 3");
    let again = later.ask(&mut owner, "and now?");
    assert_eq!((preset(&again).as_deref(), session_of(&again)), (Some("reader"), session_of(&first)), "{again}");
}

#[test]
fn what_goes_on_is_as_much_from_outside_as_it_was_and_what_nobody_knows_is() {
    for (named, outside) in [(true, false), (false, true)] {
        let home = Home::new(&[("home.org", TILES)]);
        let server = FakeServer::start([says(&["They are white."]), mark_done(), says(&["Done."])]);
        let mut owner = Client::start(&home, Some(&server), "\"fake\"");
        let mut desk = Desk::open(&home, 1);
        desk.ask(&mut owner, "which tiles?");
        drop(desk);
        if !named {
            // As an earlier version kept it.
            let folder = home.store().join("conversations");
            let file = std::fs::read_dir(&folder).expect("a folder").next().expect("a file").expect("a file").path();
            let text = std::fs::read_to_string(&file).expect("it is there");
            let text: String =
                text.lines().filter(|line| !line.contains("conversation")).map(|line| format!("{line}\n")).collect();
            std::fs::write(&file, text).expect("it is written");
        }
        let mut later = Desk::open(&home, 2);
        later.enter("/resume");
        later.enter("the tiles are ordered");
        let parked = later.until(&mut owner, |heard| action(heard) == Some("plan-parked"));
        let plan = payload_of(&parked).get("plan").expect("a plan");
        let asks = plan
            .list_at("asked-by")
            .iter()
            .any(|asked| asked.to_string().contains("an earlier part of this conversation"));
        assert_eq!(asks, outside, "named: {named}: {plan}");
    }
}

#[test]
fn what_everybody_hears_of_a_conversation_leads_nobody_into_it() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done(), says(&["Well."])]);
    let mut owner = Client::start(&home, Some(&server), "\"fake\"");
    let mut desk = Desk::open(&home, 1);
    desk.enter("the tiles are ordered");
    let told = owner.wait("plan-parked", |m| action(m) == Some("plan-parked"));
    let session =
        payload_of(&told).get("plan").and_then(|plan| plan.text_at("session")).expect("a session").to_string();
    desk.until(&mut owner, |heard| action(heard) == Some("turn-done"));
    let secret = Sexp::read(desk.sent.last().expect("something was sent")).expect("a message");
    let secret = session_of(&secret);
    // The name itself is in nothing that anybody is told, and not in the store.
    let turns = owner.request("trace", Plist::new()).to_string();
    assert!(turns.contains(&session) && !turns.contains(&secret), "{turns}");
    for file in std::fs::read_dir(home.store()).expect("a folder").flatten().filter(|file| file.path().is_file()) {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        assert!(!bytes.windows(64).any(|part| part == secret.as_bytes()), "{}", file.path().display());
    }
    let mut thief = joined(&home);
    for name in [session.as_str(), &session[4..], "chat-1", "emacs"] {
        thief.say(&format!(
            "(:type :event :meta (:session-id \"{name}\") :payload (:sensor :user-input :text \"hello\"))"
        ));
        let refused = loop {
            let heard = meanwhile(&mut owner, || thief.next()).expect("it lives on");
            let heard = Sexp::read(&heard).expect("a message");
            if heard.name_at("type") == Some("response") {
                break heard;
            }
        };
        assert_eq!(action(&refused), Some("protocol-error"), "{refused}");
        assert!(text(&refused, "text").contains("64 random"), "{refused}");
    }
}

#[test]
fn a_plan_that_an_emacs_parked_is_told_of_though_nobody_asked() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done(), says(&["Well."])]);
    let mut owner = Client::start(&home, Some(&server), "\"fake\"");
    let mut desk = Desk::open(&home, 1);
    // What it asks at its beginning is answered.
    desk.until(&mut owner, |heard| action(heard) == Some("plans"));
    desk.sent.clear();
    parked(&mut owner);
    desk.until(&mut owner, |heard| action(heard) == Some("plan-parked"));
    assert!(desk.sent.iter().all(|sent| sent.contains(":plans")), "{:?}", desk.sent);
    desk.until(&mut owner, |heard| action(heard) == Some("plans"));
    assert_eq!((desk.state.plans.len(), desk.state.status.pending), (1, 1));
}
