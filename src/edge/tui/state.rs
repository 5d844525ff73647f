//! What the terminal client knows, and how it changes: events in, effects out. No terminal, no socket, no clock.

use crate::domain::sexp::plist::{Plist, message};
use crate::domain::sexp::reader::Sexp;
use crate::edge::runtime::clients::tui_session;
use crate::edge::tui::aside::{Aside, CameBack};
use crate::edge::tui::history::History;
use crate::edge::tui::input::Input;
use crate::edge::tui::kept::Kept;
use crate::edge::tui::layout::{Areas, areas};
use crate::edge::tui::names::Names;
use crate::edge::tui::parts::{
    Asked, CameTo, Gates, Over, Plan, Said, Search, Spent, Status, Talk, Turn, Wanted, What,
};
use crate::edge::tui::reader::{self, Of, Reader};
use crate::edge::tui::theme::Theme;
use crate::edge::tui::transcript::{Kind, Look, Transcript};
use ratatui::crossterm::event::KeyEvent;
use std::collections::{BTreeMap, VecDeque};

/// What happens.
#[derive(Debug)]
pub enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The wheel was turned by so many notches, upwards when negative.
    Wheel(isize),
    /// The window has this size now.
    Resize(u16, u16),
    /// The connection with the core changed.
    Linked(Linked),
    /// The core said something.
    Heard(Sexp),
    /// Something to know that did not come by the connection; the flag says that it is a warning.
    Told(String, bool),
    /// The conversations that are kept, the newest first, or why they cannot be read.
    Sessions(Result<Vec<Kept>, String>),
    /// What was said in one of them, which goes on now, or why it does not.
    Resumed(Result<Talk, String>),
    /// What had the terminal gave it back.
    Back(CameBack),
    /// What was shown stands on the screen.
    Drawn,
    /// Time for the next picture of what moves.
    Tick,
}

/// How the connection stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linked {
    /// It is being made.
    Looking,
    /// It stands; with the version of the core, whether it is in this process, and why rights lack.
    Up {
        /// The version.
        version: String,
        /// The core is in this process.
        here: bool,
        /// Why this client may not approve, if it may not.
        doubt: Option<String>,
    },
    /// It was lost, why, and in how many seconds it is tried again.
    Down(String, u64),
    /// The owner of the store is silent, and what is the matter.
    Silent(String),
    /// It speaks again.
    Back,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send this to the core.
    Send(String),
    /// Keep this history.
    Keep(Vec<String>),
    /// Keep what was said in the conversation of this name beyond the end of this program.
    KeepSaid(String, Vec<Said>),
    /// What is said next begins another conversation.
    BeginAnew,
    /// List the conversations that are kept.
    Sessions,
    /// Go on with one of those that were listed.
    Resume(Kept),
    /// Give the terminal to a program of the user's own until it ends.
    Aside(Aside),
    /// Stop this process until the shell goes on with it.
    Suspend,
    /// Connect anew.
    Reconnect,
    /// Draw all of it anew.
    Repaint,
    /// Take the mouse, or leave it to the terminal.
    Mouse(bool),
    /// End.
    Quit,
}

/// So many characters of words are looked for, the first.
const SOUGHT: usize = 200;
/// So many conversations of before are remembered, whose turns may go on.
const EARLIER: usize = 16;

/// All of it.
pub struct State {
    /// Columns and rows.
    pub size: (u16, u16),
    /// The colours.
    pub theme: Theme,
    /// The connection.
    pub linked: Linked,
    /// The core, as it said last.
    pub status: Status,
    /// What was said.
    pub transcript: Transcript,
    /// What is typed.
    pub input: Input,
    /// What was typed.
    pub history: History,
    /// What lies over the transcript.
    pub over: Option<Over>,
    /// What is searched for.
    pub search: Option<Search>,
    /// The plans.
    pub plans: Vec<Plan>,
    /// What was spent.
    pub spent: Spent,
    /// What the gates said.
    pub gates: Gates,
    /// Files that the last turns changed, the newest first.
    pub files: VecDeque<String>,
    /// How full the context of the last question was: tokens, and how many there may be.
    pub context: Option<(usize, usize)>,
    /// The side panel is wanted.
    pub panel: Option<bool>,
    /// Thoughts are shown whole.
    pub thoughts: bool,
    /// Traces are shown.
    pub traces: bool,
    /// The wheel of the mouse is ours.
    pub mouse: bool,
    /// A word in the line at the foot, until the next key.
    pub hint: Option<String>,
    /// Which picture of what moves is shown.
    pub spin: usize,
    /// Something is to be drawn.
    pub changed: bool,
    /// The core does not answer just now.
    pub silent: bool,
    /// The folder of the project.
    pub project: Option<String>,
    /// Something to say as soon as there is a connection.
    pub news: Option<String>,
    /// The options that say where things are with which this was started, each behind a blank.
    pub options: String,
    /// Ctrl+X was pressed.
    pub(super) prefix: bool,
    /// Questions that have no turn yet.
    pub(super) asked: VecDeque<Asked>,
    /// Questions of which it is not known what became of them; they are asked again, once there is a connection.
    pub(super) unanswered: VecDeque<Asked>,
    pub(super) turns: Vec<Turn>,
    pub(super) said: VecDeque<Said>,
    pub(super) requests: BTreeMap<i64, What>,
    pub(super) numbers: i64,
    pub(super) stopping: bool,
    /// Makes the names of conversations.
    pub(super) names: Names,
    /// The name of the one that goes on; nobody else is told it.
    pub(super) conversation: String,
    /// The names of those before, and as what the core knows each: a plan of one may be decided about later.
    pub(super) earlier: VecDeque<(String, String)>,
    /// Plans about which a decision was sent that nothing came of yet.
    pub(super) decided: Vec<String>,
    /// What was said comes from another conversation, of which the core does not know that it was this one.
    pub(super) resumed: bool,
    /// The conversations as they were listed last, the newest first.
    pub(super) kept: Option<Vec<Kept>>,
    /// What is to be done as soon as they are listed.
    pub(super) resuming: Option<Wanted>,
    /// The first plan that waits is to be read as soon as it is known which it is.
    pub(super) opening: bool,
    pub(super) effects: Vec<Effect>,
}

impl State {
    /// Begins, with lines that were typed before, and with random bytes of which names are made that nobody can guess.
    pub fn new(size: (u16, u16), theme: Theme, history: Vec<String>, project: Option<String>, seed: [u8; 32]) -> State {
        let mut names = Names::new(seed);
        let conversation = names.make();
        State {
            size,
            theme,
            linked: Linked::Looking,
            status: Status::default(),
            transcript: Transcript::default(),
            input: Input::default(),
            history: History::new(history),
            over: None,
            search: None,
            plans: Vec::new(),
            spent: Spent::default(),
            gates: Gates::default(),
            files: VecDeque::new(),
            context: None,
            panel: None,
            thoughts: false,
            traces: false,
            mouse: true,
            hint: None,
            spin: 0,
            changed: true,
            silent: false,
            project,
            news: None,
            options: String::new(),
            prefix: false,
            asked: VecDeque::new(),
            unanswered: VecDeque::new(),
            turns: Vec::new(),
            said: VecDeque::new(),
            requests: BTreeMap::new(),
            numbers: 0,
            stopping: false,
            names,
            conversation,
            earlier: VecDeque::new(),
            decided: Vec::new(),
            resumed: false,
            kept: None,
            resuming: None,
            opening: false,
            effects: Vec::new(),
        }
    }

    /// Takes an event; returns what is to be done.
    pub fn update(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) => {
                self.changed = true;
                self.key(key);
            }
            Event::Paste(text) => {
                self.changed = true;
                self.paste(&text);
            }
            Event::Wheel(notches) => {
                self.changed = true;
                self.scroll(notches * 3);
            }
            Event::Resize(columns, rows) => {
                self.changed |= self.size != (columns, rows);
                self.size = (columns, rows);
            }
            Event::Linked(linked) => self.linked(linked),
            Event::Heard(message) => self.heard(&message),
            Event::Told(text, warning) => {
                self.note(if warning { Kind::Warning } else { Kind::Note }, &text);
            }
            Event::Sessions(listed) => self.listed(listed),
            Event::Resumed(said) => self.resumed(said),
            Event::Back(came) => self.came_back(came),
            Event::Drawn => self.drawn(),
            Event::Tick => {
                if self.busy() {
                    self.spin = self.spin.wrapping_add(1);
                    self.changed = true;
                }
            }
        }
        std::mem::take(&mut self.effects)
    }

    /// Whether something goes on.
    pub fn busy(&self) -> bool {
        !self.asked.is_empty() || !self.turns.is_empty()
    }

    /// Whether an answer comes just now.
    pub fn streams(&self) -> bool {
        self.turns.iter().any(|turn| turn.answer.is_some() || turn.thought.is_some())
    }

    /// Returns what is being done just now, each in a line.
    pub fn doing(&self) -> Vec<String> {
        self.turns.iter().filter_map(|turn| turn.doing.clone()).collect()
    }

    /// Whether the connection stands.
    pub fn is_up(&self) -> bool {
        matches!(self.linked, Linked::Up { .. })
    }

    /// Returns where things stand on the screen.
    pub fn areas(&self) -> Areas {
        areas(self)
    }

    /// Returns how the transcript is laid out.
    pub fn look(&self) -> Look {
        let search = self.search.as_ref().map(|search| search.words.text().chars().take(SOUGHT));
        let search = search.map(|words| words.flat_map(char::to_lowercase).collect::<String>());
        Look {
            width: usize::from(self.areas().transcript.width),
            theme: self.theme,
            thoughts: self.thoughts,
            traces: self.traces,
            search: search.unwrap_or_default(),
        }
    }

    pub(super) fn note(&mut self, kind: Kind, text: &str) {
        self.changed = true;
        self.transcript.push(kind, text);
    }

    pub(super) fn hint(&mut self, text: &str) {
        self.changed = true;
        self.hint = Some(text.to_string());
    }

    pub(super) fn do_it(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Sends an event, in the conversation that goes on.
    pub(super) fn send(&mut self, sensor: &str, payload: Plist) {
        let conversation = self.conversation.clone();
        self.send_in(&conversation, sensor, payload);
    }

    /// Sends an event in a conversation.
    pub(super) fn send_in(&mut self, conversation: &str, sensor: &str, payload: Plist) {
        self.do_it(Effect::Send(event(conversation, sensor, payload)));
    }

    /// Asks a question in the conversation that goes on, by a name of its own: nobody is asked twice by it.
    pub(super) fn ask_once(&mut self, text: &str, payload: Plist) {
        let payload = payload.text("once", self.names.make());
        let message = event(&self.conversation, "user-input", payload);
        self.asked.push_back(Asked { text: text.to_string(), again: Some(message.clone()) });
        self.do_it(Effect::Send(message));
    }

    /// Goes on in another conversation.
    pub(super) fn go_over_to(&mut self, name: String) {
        let before = std::mem::replace(&mut self.conversation, name);
        self.earlier.extend(tui_session(&before).map(|session| (before, session)));
        if self.earlier.len() > EARLIER {
            self.earlier.pop_front();
        }
    }

    /// Whether a session of the core is the conversation that goes on; what names none is of it.
    pub(super) fn is_here(&self, session: Option<&str>) -> bool {
        session.is_none_or(|session| tui_session(&self.conversation).as_deref() == Some(session))
    }

    /// Asks something of the core.
    pub(super) fn ask(&mut self, action: &str, payload: Plist, what: What) {
        self.numbers += 1;
        self.requests.insert(self.numbers, what);
        let payload = payload.keyword("action", action).int("request", self.numbers);
        let said = message("request", payload).plist("meta", named(&self.conversation));
        self.do_it(Effect::Send(said.build().to_string()));
    }

    /// Takes up the connection, or its end.
    fn linked(&mut self, linked: Linked) {
        self.changed |= self.linked != linked;
        self.silent &= matches!(linked, Linked::Silent(_) | Linked::Back);
        match &linked {
            Linked::Up { here, doubt, .. } => {
                if self.transcript.is_empty() {
                    let where_it_is = match here {
                        true => "The core runs in this terminal: nobody else had the notes open.",
                        false => "Connected with the Passepartout that has the notes open.",
                    };
                    let how = "Type a question and press Enter; ? on an empty line shows keys and commands.";
                    self.note(Kind::Note, &format!("{where_it_is} {how}"));
                } else {
                    self.note(Kind::Note, "Connected.");
                }
                if let Some(news) = self.news.take() {
                    self.note(Kind::Note, &news);
                }
                if let Some(why) = doubt {
                    self.note(Kind::Warning, &format!("Plans cannot be approved here: {why}"));
                }
                self.linked = linked;
                self.ask("hello", Plist::new().text("version", env!("CARGO_PKG_VERSION")), What::Done);
                self.ask("status", Plist::new(), What::Status);
                self.ask("plans", Plist::new(), What::Plans);
                self.ask_again();
                return;
            }
            Linked::Down(why, _) => {
                if self.is_up() {
                    self.lost();
                    self.note(Kind::Warning, &format!("The connection is lost: {why}"));
                }
            }
            Linked::Silent(why) => {
                self.silent = true;
                return self.note(Kind::Warning, why);
            }
            Linked::Back => {
                self.silent = false;
                return self.note(Kind::Note, "The core answers again.");
            }
            Linked::Looking => {}
        }
        self.linked = linked;
    }

    /// What is shown stands on the screen now.
    fn drawn(&mut self) {
        let area = self.areas().reader;
        let (width, height) = (usize::from(area.width), usize::from(area.height));
        let Some(Over::Reader(reader)) = self.over.as_mut() else { return };
        let all = reader.displayed(width, height);
        let next = reader.wants(width, height);
        let of = reader.of.clone();
        match (of, all) {
            (Of::Plan { id, shown: Some(shown), waits: _ }, true) => {
                self.changed = true;
                self.send("plan-displayed", Plist::new().text("plan", id).text("shown", shown));
            }
            (Of::Plan { id, .. }, false) => {
                if let Some(next) = next {
                    let payload = Plist::new().text("plan", id.as_str()).int("from", next);
                    self.ask("plan-page", payload, What::Page(id));
                }
            }
            (Of::Preview { name, .. }, false) => {
                if let Some(next) = next {
                    let payload = Plist::new().text("preview", name.as_str()).int("from", next);
                    self.ask("memory-page", payload, What::Preview(Some((name, next))));
                }
            }
            (Of::Preview { .. }, true) => self.changed = true,
            (Of::Plan { .. } | Of::Words, _) => {}
        }
    }

    /// Opens a plan to be read.
    pub(super) fn read_plan(&mut self, id: &str) {
        let waits = self.plans.iter().any(|plan| plan.id == id && plan.status == "pending");
        let title = self.plans.iter().find(|plan| plan.id == id).map(|plan| format!(": {}", plan.title));
        let title = format!("Plan {id}{}", title.unwrap_or_default());
        let of = Of::Plan { id: id.to_string(), shown: None, waits };
        self.over = Some(Over::Reader(Box::new(Reader::pages(&title, of))));
        self.ask("plan-page", Plist::new().text("plan", id).int("from", 0), What::Page(id.to_string()));
    }

    /// Opens a text to be read.
    pub(super) fn read_words(&mut self, title: &str, text: &str) {
        self.changed = true;
        self.over = Some(Over::Reader(Box::new(Reader::words(title, text))));
    }

    /// Scrolls what is looked at by lines.
    pub(super) fn scroll(&mut self, by: isize) {
        let areas = self.areas();
        match self.over.as_mut() {
            Some(Over::Reader(reader)) => {
                let (width, height) = (usize::from(areas.reader.width), usize::from(areas.reader.height));
                reader.scroll(by, width, height);
            }
            Some(Over::Plans(at)) => {
                *at = at.saturating_add_signed(by.signum()).min(self.plans.len().saturating_sub(1));
            }
            Some(Over::Palette(_, at)) => *at = at.saturating_add_signed(by.signum()),
            None => {
                let look = self.look();
                self.transcript.scroll(by, &look, usize::from(areas.transcript.height));
            }
        }
    }

    /// Pastes a text to wherever is typed; nothing of it is sent.
    fn paste(&mut self, text: &str) {
        let fitted = match (&mut self.over, &mut self.search) {
            (Some(Over::Reader(reader)), _) => match &mut reader.asked {
                reader::Asked::Reason { reason, .. } => reason.insert(&text.replace(['\n', '\r'], " ")),
                reader::Asked::Nothing | reader::Asked::Yes => true,
            },
            (Some(Over::Palette(words, at)), _) => {
                *at = 0;
                words.insert(&text.replace(['\n', '\r'], " "))
            }
            (Some(Over::Plans(_)), _) => true,
            (None, Some(search)) => {
                search.came_to = CameTo::Unknown;
                search.words.insert(&text.replace(['\n', '\r'], " "))
            }
            (None, None) => {
                self.history.stop();
                self.input.insert(text)
            }
        };
        if !fitted {
            self.hint("not all of it was taken: a message has room for 60 kB");
        }
    }
}

/// Returns what names the conversation of a message.
fn named(conversation: &str) -> Plist {
    Plist::new().text("session-id", conversation)
}

/// Returns an event of a conversation.
fn event(conversation: &str, sensor: &str, payload: Plist) -> String {
    message("event", payload.keyword("sensor", sensor)).plist("meta", named(conversation)).build().to_string()
}
