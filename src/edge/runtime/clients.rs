//! Who talks with the core: the Emacs that it runs in, other Emacsen, and commands, each by a channel of its own.
//!
//! Together their editors are one editor: an edit of a file goes to the Emacs that has it open.

use crate::domain::editor::{Question, Row};
use crate::domain::gate::place;
use crate::domain::id::SessionId;
use crate::domain::inert::exact;
use crate::domain::setting::{Change, SettingFact, Told};
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::{Origin, Rights, Said, Source};
use crate::domain::turn::earlier::Older;
use crate::edge::editor::{Buffer, Call, Editor, NO_SETTINGS, Offer, Selection, Splice, Unanswered, Unchanged, Wanted};
use crate::edge::peers::lineage::command_session;
use crate::edge::peers::pulse;
use crate::edge::random;
use crate::edge::runtime::Letter;
use crate::edge::runtime::capacity::{Capacity, Most};
use crate::edge::runtime::editor::{EmacsEditor, Seen};
use crate::edge::runtime::lanes::{older_in, said_in};
use crate::edge::runtime::outbox::Outbox;
use crate::edge::wire::proof::is_nonce;
use async_trait::async_trait;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::{Notify, Semaphore, watch};

/// The number of a client, which no other one of this core ever had.
pub(super) type ClientId = u32;
/// The Emacs that the core runs in.
pub(super) const OWN: ClientId = 0;
/// The place of a client's number in a tick: Emacs's own ticks are far smaller.
const TICK_BITS: u32 = 40;
/// Messages of one client that may wait for the loop, in bytes, before no more is read of its connection.
const WAITING_MOST: usize = 8 << 20;

/// Requests of one connection that are answered at once; the next one is read when one of them is.
const REQUESTS_MOST: usize = 16;

/// What kind of client it is, as the edge found it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An Emacs: it shows plans, and edits.
    Emacs,
    /// A command on a terminal or in a pipe.
    Cli,
    /// The terminal interface: a command that shows plans, and hears how things stand.
    Tui,
    /// A program: its road gives it no rights beyond those of a stranger.
    Program(Program),
}

/// What kind of program it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// Any other one, here or at the other end of a network: it reads and proposes, and has what the user granted it.
    Client,
    /// What lends memory to another agent over MCP: it reads and proposes, and nobody can grant it more.
    Mcp,
    /// What another editor talks with over ACP: a program as any other, on this machine.
    Acp,
}

impl Program {
    const ALL: [Program; 3] = [Program::Client, Program::Mcp, Program::Acp];

    /// Returns its word for people and the wire.
    const fn name(self) -> &'static str {
        match self {
            Program::Client => "client",
            Program::Mcp => "mcp",
            Program::Acp => "acp",
        }
    }

    /// Returns what it is, in words.
    const fn words(self) -> &'static str {
        match self {
            Program::Client => "a program",
            Program::Mcp => "an agent by MCP",
            Program::Acp => "an editor by ACP",
        }
    }

    /// Returns what it may do as long as nothing is granted to it.
    const fn rights(self) -> Rights {
        // An editor is started here by its user, in the folder that it works in.
        Rights { here: matches!(self, Program::Acp), ..STRANGER }
    }
}

impl Kind {
    /// Returns its word for people and the wire.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Kind::Emacs => "emacs",
            Kind::Cli => "cli",
            Kind::Tui => "tui",
            Kind::Program(program) => program.name(),
        }
    }

    /// Returns whether it is a program.
    pub(super) const fn is_program(self) -> bool {
        matches!(self, Kind::Program(_))
    }

    /// Returns how much of what it asks is taken on at once.
    const fn most(self) -> Most {
        match self {
            Kind::Emacs | Kind::Cli | Kind::Tui => Most::USER,
            Kind::Program(_) => Most::PROGRAM,
        }
    }

    /// Returns whether it is told how things stand without asking.
    pub(super) const fn hears_news(self) -> bool {
        match self {
            Kind::Emacs | Kind::Tui | Kind::Program(Program::Client) => true,
            // Neither listens while it has nothing under way.
            Kind::Cli | Kind::Program(Program::Mcp | Program::Acp) => false,
        }
    }
}

/// What a client may do that nothing was granted to: it reads what is open, and has things proposed.
pub(in crate::edge) const STRANGER: Rights = Rights { read: true, propose: true, ..Rights::NONE };
/// The name of a conversation within a client's own has at most so many characters.
const SESSION: usize = 100;

/// What the user can grant to a client, one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    /// To see what is private.
    Private,
    /// To decide about plans; a plan may hold what is private.
    Approve,
}

impl Grant {
    /// Finds a grant by its word.
    pub(super) fn parse(word: &str) -> Option<Grant> {
        match word {
            "private" => Some(Grant::Private),
            "approve" => Some(Grant::Approve),
            _ => None,
        }
    }

    /// Returns it in words: what it lets a client do.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Grant::Private => "see what is private",
            Grant::Approve => "see what is private and decide about plans",
        }
    }
}

/// What is known of a client beside its name.
#[derive(Clone, Debug, Default)]
pub(super) struct About {
    /// By which road it came.
    pub(super) road: String,
    /// When it came.
    pub(super) since: jiff::Timestamp,
    /// It says that it shows plans whole.
    pub(super) shows_plans: bool,
}

/// One client.
pub(super) struct Channel {
    pub(super) id: ClientId,
    pub(super) kind: Kind,
    /// What it is called towards people.
    pub(super) name: String,
    /// The session of messages that name none; of a command, the only one.
    session: String,
    rights: Mutex<Rights>,
    /// How often what was granted was taken back.
    withdrawn: AtomicUsize,
    about: Mutex<About>,
    /// It is to go; each connection that it has in this moment is told.
    dismissed: watch::Sender<bool>,
    /// Why it has less rights than what it says it is, if it has.
    pub(super) doubt: Option<String>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) editor: Arc<EmacsEditor>,
    /// It did not answer a question, and nothing that its Lisp sends has come from it since.
    silent: AtomicBool,
    /// Its connection broke, and it may come back.
    away: AtomicBool,
    waiting: AtomicUsize,
    room: Notify,
    /// One for each request that may be answered at once.
    pub(super) seats: Arc<Semaphore>,
    /// For what begins a turn.
    pub(super) capacity: Arc<Capacity>,
}

impl Channel {
    /// The channel of the Emacs that the core runs in.
    pub(super) fn own(outbox: Arc<Outbox>) -> Arc<Channel> {
        Channel::new(OWN, Kind::Emacs, ("this Emacs", "emacs"), (Rights::HUMAN, None), outbox)
    }

    /// The channel of another Emacs.
    pub(super) fn emacs(id: ClientId, process: u32, outbox: Arc<Outbox>) -> Arc<Channel> {
        let (name, session) = (format!("the Emacs of process {process}"), format!("emacs-{process}"));
        Channel::new(id, Kind::Emacs, (&name, &session), (Rights::HUMAN, None), outbox)
    }

    /// The channel of a process that says it is an Emacs and is not shown to be one: it has the rights of a command.
    pub(super) fn doubted(
        id: ClientId,
        process: u32,
        (why, approve): (String, bool),
        outbox: Arc<Outbox>,
    ) -> Arc<Channel> {
        let (name, session) =
            (format!("process {process}, which says that it is an Emacs,"), format!("emacs-{process}"));
        let rights = Rights { approve, ..Rights::HUMAN };
        Channel::new(id, Kind::Emacs, (&name, &session), (rights, Some(why)), outbox)
    }

    /// The channel of a command; at a terminal it may approve.
    pub(super) fn cli(id: ClientId, process: u32, approve: bool, outbox: Arc<Outbox>) -> Arc<Channel> {
        let (name, session) = (format!("the command of process {process}"), command_session(process));
        Channel::new(id, Kind::Cli, (&name, &session), (Rights { approve, ..Rights::HUMAN }, None), outbox)
    }

    /// The channel of the terminal interface; at a terminal it may approve. What names no conversation is of one that
    /// nobody had before.
    pub(super) fn tui(id: ClientId, own: &str, process: u32, approve: bool, outbox: Arc<Outbox>) -> Arc<Channel> {
        let (name, session) = (format!("the terminal interface of process {process}"), format!("tui-{own}"));
        Channel::new(id, Kind::Tui, (&name, &session), (Rights { approve, ..Rights::HUMAN }, None), outbox)
    }

    /// The channel of any other program, under a name of its own that nobody had before.
    pub(super) fn client(id: ClientId, own: &str, called: Option<&str>, outbox: Arc<Outbox>) -> Arc<Channel> {
        Channel::program(id, Program::Client, (own, called), outbox)
    }

    /// The channel of what lends memory over MCP, for the agent that calls itself so.
    pub(super) fn mcp(id: ClientId, own: &str, called: Option<&str>, outbox: Arc<Outbox>) -> Arc<Channel> {
        Channel::program(id, Program::Mcp, (own, called), outbox)
    }

    /// The channel of what an editor that calls itself so talks with over ACP.
    pub(super) fn acp(id: ClientId, own: &str, called: Option<&str>, outbox: Arc<Outbox>) -> Arc<Channel> {
        Channel::program(id, Program::Acp, (own, called), outbox)
    }

    fn program(id: ClientId, what: Program, (own, called): (&str, Option<&str>), outbox: Arc<Outbox>) -> Arc<Channel> {
        // What it calls itself is claimed, and nothing but words; the part before it and the one behind it are ours.
        let session = match what {
            Program::Client => program_session(what.name(), None, own),
            Program::Mcp | Program::Acp => program_session(what.name(), called, own),
        };
        let name = called.map_or_else(|| session.clone(), |called| format!("“{called}” ({session})"));
        outbox.speak_below(&session);
        Channel::new(id, Kind::Program(what), (&name, &session), (what.rights(), None), outbox)
    }

    fn new(
        id: ClientId,
        kind: Kind,
        (name, session): (&str, &str),
        (rights, doubt): (Rights, Option<String>),
        outbox: Arc<Outbox>,
    ) -> Arc<Channel> {
        let (editor, room) = (EmacsEditor::new(outbox.clone()), Notify::new());
        let (silent, waiting) = (AtomicBool::new(false), AtomicUsize::new(0));
        let seats = Arc::new(Semaphore::new(REQUESTS_MOST));
        let capacity = Arc::new(Capacity::new(kind.most()));
        let (name, session) = (name.to_string(), session.to_string());
        let (rights, about, dismissed) = (Mutex::new(rights), Mutex::default(), watch::Sender::new(false));
        Arc::new(Channel {
            id,
            kind,
            name,
            session,
            rights,
            withdrawn: AtomicUsize::new(0),
            about,
            dismissed,
            doubt,
            outbox,
            editor,
            silent,
            away: AtomicBool::new(false),
            waiting,
            room,
            seats,
            capacity,
        })
    }

    /// Notes by which road a client came, when, and what it can do.
    pub(super) fn note_about(&self, about: About) {
        *self.about.lock() = about;
    }

    /// Returns what is known of it beside its name.
    pub(super) fn about(&self) -> About {
        self.about.lock().clone()
    }

    /// Returns what it may do now.
    pub(super) fn rights(&self) -> Rights {
        *self.rights.lock()
    }

    /// Returns the session of messages that name none, which all others of a program stand below.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// Returns how often what was granted was taken back: a grant counts only when it is so often still.
    pub(super) fn withdrawn(&self) -> usize {
        self.withdrawn.load(Ordering::Relaxed)
    }

    /// Lets a client do more, as long as its connection lasts; `withdrawn` is from when the user wanted it.
    ///
    /// # Errors
    /// In words, when it is nobody to whom something is granted, does not show plans, or the user took it back since.
    pub(super) fn grant(&self, grant: Grant, withdrawn: usize) -> Result<(), String> {
        self.may_be_granted(grant)?;
        let mut rights = self.rights.lock();
        if self.withdrawn.load(Ordering::Relaxed) != withdrawn {
            return Err(format!("what is granted to {} was taken back meanwhile", self.name));
        }
        rights.see_private = true;
        rights.approve |= grant == Grant::Approve;
        Ok(())
    }

    /// As [`Channel::grant`], without doing it.
    ///
    /// # Errors
    /// As there.
    pub(super) fn may_be_granted(&self, grant: Grant) -> Result<(), String> {
        if self.kind == Kind::Program(Program::Mcp) {
            return Err(format!("{} lends memory to another agent; nothing is ever granted to it", self.name));
        }
        if !self.kind.is_program() {
            return Err(format!("{} has the rights that its road gives it; nothing is granted to it", self.name));
        }
        if grant == Grant::Approve && !self.about.lock().shows_plans {
            return Err(format!(
                "{} does not say that it shows plans whole, so it cannot decide about them",
                self.name
            ));
        }
        Ok(())
    }

    /// Takes back what was granted to a client.
    ///
    /// # Errors
    /// In words, when it is nobody to whom something is granted.
    pub(super) fn withdraw(&self) -> Result<(), String> {
        let Kind::Program(what) = self.kind else {
            return Err(format!("nothing was granted to {}", self.name));
        };
        let mut rights = self.rights.lock();
        self.withdrawn.fetch_add(1, Ordering::Relaxed);
        *rights = what.rights();
        Ok(())
    }

    /// Notes whether it has a connection: who has none is asked nothing.
    pub(super) fn note_away(&self, away: bool) {
        self.away.store(away, Ordering::Relaxed);
    }

    /// Ends its connection.
    pub(super) fn dismiss(&self) {
        self.dismissed.send_replace(true);
    }

    /// Waits until it is to go.
    pub(super) async fn until_dismissed(&self) {
        // It lives as long as this does, so the wait ends for no other reason.
        let _ = self.dismissed.subscribe().wait_for(|dismissed| *dismissed).await;
    }

    /// Stamps the origin of a message. Of what it claims, only the name of its conversation counts: as it stands from an
    /// Emacs alone, whose conversations are chats, which outlive it, and may be open in another.
    pub(super) fn origin(&self, session: Option<&str>) -> Origin {
        let own = || self.session.clone();
        let named = || session.unwrap_or(&self.session).to_string();
        let (source, session) = match (self.kind, &self.doubt) {
            (Kind::Emacs, None) => (Source::Emacs, named()),
            // What only Emacs may do, it may not.
            (Kind::Emacs, Some(_)) => (Source::Client, named()),
            (Kind::Cli, _) => (Source::Cli, own()),
            // Its conversations outlive it, too, and whoever knows the name of one has it: nobody else is told it.
            (Kind::Tui, _) => (Source::Cli, session.and_then(tui_session).unwrap_or_else(own)),
            // Its conversations stand below its own name: it comes into none of anybody else.
            (Kind::Program(_), _) => (Source::Client, session.map_or_else(own, |name| self.below(name))),
        };
        Origin { source, session: SessionId(session), rights: self.rights() }
    }

    /// Makes sure that a client can have a conversation of this name.
    ///
    /// # Errors
    /// In words, when it cannot.
    pub(super) fn may_name(&self, name: Option<&str>) -> Result<(), String> {
        if self.kind == Kind::Tui && name.is_some_and(|name| tui_session(name).is_none()) {
            let text = "a conversation of the terminal interface is named by 64 random lower-case hexadecimal digits";
            return Err(text.to_string());
        }
        let odd = |c: char| c.is_control() || c.is_whitespace() || "/\"\\()".contains(c);
        let wrong = |name: &str| name.is_empty() || name.chars().count() > SESSION || name.contains(odd);
        match name.filter(|name| self.kind.is_program() && wrong(self.short(name)) && *name != self.session) {
            None => Ok(()),
            Some(_) => Err(format!(
                "a conversation has a name of 1 to {SESSION} characters, without blanks, slashes, quotes and parentheses"
            )),
        }
    }

    /// Returns a name without the name of the client before it.
    fn short<'a>(&self, name: &'a str) -> &'a str {
        name.strip_prefix(self.session.as_str()).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name)
    }

    /// Returns the full name of a conversation of a client; what it was told itself is known again.
    fn below(&self, name: &str) -> String {
        if name == self.session { self.session.clone() } else { format!("{}/{}", self.session, self.short(name)) }
    }

    /// Notes that a message waits for the loop, and waits itself while too much does.
    pub(super) async fn make_room(&self, bytes: usize) {
        while self.waiting.load(Ordering::Acquire) > WAITING_MOST {
            self.room.notified().await;
        }
        self.note_waiting(bytes);
    }

    /// Notes that a message waits for the loop.
    pub(super) fn note_waiting(&self, bytes: usize) {
        self.waiting.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Notes that the loop has come to a message. One that the client's Lisp has sent says that it answers again; what
    /// its module or the hall asks for a sign of life with comes from an Emacs that hangs, too.
    pub(super) fn note_taken(&self, letter: &Letter) {
        self.waiting.fetch_sub(letter.bytes, Ordering::AcqRel);
        self.room.notify_one();
        if letter.message.as_ref().is_ok_and(|message| !pulse::is_ping(message)) {
            self.silent.store(false, Ordering::Relaxed);
        }
    }

    /// Notes that a message which was to wait for the loop was left out.
    pub(super) fn note_left_out(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::AcqRel);
        self.room.notify_one();
    }

    /// Says something about the answer to a message, to this client alone.
    pub(super) fn refuse(&self, session: Option<&str>, why: impl Into<String>) {
        let payload = Plist::new().keyword("action", "protocol-error").text("text", why);
        self.outbox.send("response", session, payload);
    }
}

/// Of what a program calls itself at most so many characters stand in the names of its conversations.
const CALLED: usize = 20;

/// Returns the name below which the conversations of a program stand: what it is, what of its own name a name can hold,
/// and what nobody else has.
pub(in crate::edge) fn program_session(kind: &str, called: Option<&str>, own: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
    let words: String = called.unwrap_or_default().chars().map(plain).take(CALLED).collect();
    let words = words.split_whitespace().collect::<Vec<_>>().join("-");
    if words.is_empty() { format!("{kind}-{own}") } else { format!("{kind}-{words}-{own}") }
}

/// Of the hash of such a name so many digits stand in that of the session: enough that no two are the same.
const STAMPED: usize = 32;

/// Returns the session of a conversation of the terminal interface, from the name that it gave to it; `None` when that is
/// none. The session is named after the name's hash, and is told to everybody; the name leads into it, and is not.
pub(in crate::edge) fn tui_session(name: &str) -> Option<String> {
    let digits = || blake3::hash(name.as_bytes()).to_hex().chars().take(STAMPED).collect::<String>();
    is_nonce(name).then(|| format!("tui-{}", digits()))
}

/// Nobody else has what stands at the end of a program's name: so many hexadecimal digits, given to it at random.
const OWN_DIGITS: usize = 12;

/// Returns the end of a program's name.
///
/// # Errors
/// When the system gives no random bytes.
pub(in crate::edge) fn own_name() -> std::io::Result<String> {
    Ok(random::hex(&random::bytes::<{ OWN_DIGITS / 2 }>()?))
}

/// Returns which program a conversation belongs to, in words; `None` for the user's own, whatever the user calls them.
pub(in crate::edge) fn program_of(session: &str) -> Option<String> {
    let (program, name) = program_named(session)?;
    Some(format!("{}, {}", program.words(), exact(name)))
}

/// Returns the name that the core gave to the program that a conversation belongs to; `None` for the user's own.
pub(in crate::edge) fn program_name(session: &str) -> Option<&str> {
    program_named(session).map(|(_, name)| name)
}

/// Returns whether a conversation is one that the user has in another editor: what is said there is typed by the user.
pub(in crate::edge) fn is_of_editor(session: &str) -> bool {
    program_named(session).is_some_and(|(program, _)| program == Program::Acp)
}

/// Returns the program that a conversation belongs to, and its name, by the name that was given to it.
fn program_named(session: &str) -> Option<(Program, &str)> {
    let name = session.strip_prefix("agent-").unwrap_or(session).split('/').next()?;
    let (kind, rest) = name.split_once('-')?;
    let own = rest.rsplit('-').next()?;
    let is_own = own.len() == OWN_DIGITS && own.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let program = Program::ALL.into_iter().find(|program| program.name() == kind).filter(|_| is_own)?;
    Some((program, name))
}

/// The clients of a core.
#[derive(Default)]
pub(super) struct Clients {
    channels: Mutex<BTreeMap<ClientId, Arc<Channel>>>,
    /// Which clients have told that a file is open.
    open: Mutex<HashMap<String, BTreeSet<ClientId>>>,
}

impl Clients {
    /// The client of a core that nobody else has joined yet.
    pub(super) fn of(own: Arc<Channel>) -> Arc<Clients> {
        let clients = Clients::default();
        clients.join(own);
        Arc::new(clients)
    }

    pub(super) fn join(&self, channel: Arc<Channel>) {
        self.channels.lock().insert(channel.id, channel);
    }

    pub(super) fn leave(&self, id: ClientId) {
        self.channels.lock().remove(&id);
        self.open.lock().retain(|_, who| {
            who.remove(&id);
            !who.is_empty()
        });
    }

    pub(super) fn get(&self, id: ClientId) -> Option<Arc<Channel>> {
        self.channels.lock().get(&id).cloned()
    }

    /// Returns all of them.
    pub(super) fn all(&self) -> Vec<Arc<Channel>> {
        self.channels.lock().values().cloned().collect()
    }

    /// Returns the Emacsen that can be asked something.
    pub(super) fn emacsen(&self) -> Vec<Arc<Channel>> {
        let here = |channel: &&Arc<Channel>| channel.kind == Kind::Emacs && !channel.away.load(Ordering::Relaxed);
        self.channels.lock().values().filter(here).cloned().collect()
    }

    /// Returns those that are told how things stand without asking.
    pub(super) fn hearers(&self) -> Vec<Arc<Channel>> {
        self.channels.lock().values().filter(|channel| channel.kind.hears_news()).cloned().collect()
    }

    /// Tells all who hear of plans and lines of the log, which may hold what is private.
    pub(super) fn tell(&self, kind: &str, session: Option<&str>, payload: &Plist) {
        for channel in self.hearers().iter().filter(|channel| channel.rights().see_private) {
            channel.outbox.send(kind, session, payload.clone());
        }
    }

    /// Notes whether a client has a file open.
    pub(super) fn note_open(&self, file: &str, client: ClientId, open: bool) {
        let mut files = self.open.lock();
        if open {
            files.entry(file.to_string()).or_default().insert(client);
        } else if let Some(who) = files.get_mut(file) {
            who.remove(&client);
            if who.is_empty() {
                files.remove(file);
            }
        }
    }

    /// Returns the Emacsen that are asked about a file. One that was silent is not waited for again while another
    /// answers, unless it has that file open. For a file on another machine none is: asking would connect to it.
    fn asked(&self, file: &str) -> Result<Vec<Arc<Channel>>, String> {
        if place::is_remote(file) {
            return Err(place::connects(file));
        }
        let (silent, awake): (Vec<_>, Vec<_>) =
            self.emacsen().into_iter().partition(|channel| channel.silent.load(Ordering::Relaxed));
        if awake.is_empty() {
            return Ok(silent);
        }
        let open = self.open.lock();
        match silent.iter().find(|channel| open.get(file).is_some_and(|who| who.contains(&channel.id))) {
            Some(channel) => {
                Err(format!("{file} is open in {}, which does not answer; look there first", channel.name))
            }
            None => Ok(awake),
        }
    }

    /// Takes note of who did not answer; an error when it may have had something to say.
    fn heard<T>(&self, answers: Vec<(Arc<Channel>, Result<T, String>)>) -> Result<Vec<(Arc<Channel>, T)>, String> {
        let (alone, mut all, mut failed) = (answers.len() == 1, Vec::new(), None);
        for (channel, answer) in answers {
            match answer {
                Ok(answer) => all.push((channel, answer)),
                // Who has left has nothing open any more.
                Err(_) if self.get(channel.id).is_none() => {}
                Err(why) if alone => return Err(why),
                Err(why) => {
                    channel.silent.store(true, Ordering::Relaxed);
                    failed = Some(format!("{}: {why}", channel.name));
                }
            }
        }
        failed.map_or(Ok(all), Err)
    }
}

impl Clients {
    /// Asks each Emacs in turn for a turn of a chat, or for those before it, until one has the chat.
    async fn chat_turns(&self, session: &SessionId, key: &str, name: &str) -> Result<Sexp, String> {
        let mut last = "there is no Emacs to ask".to_string();
        for channel in self.asked("")? {
            match channel.editor.chat_turns(session, key, name).await {
                Ok(answer) => return Ok(answer),
                Err(why) => last = why,
            }
        }
        Err(last)
    }
}

/// Names a client in a tick of one of its buffers.
fn stamp(client: ClientId, tick: i64) -> Result<i64, String> {
    let fits = (0..1_i64 << TICK_BITS).contains(&tick) && client < 1 << (62 - TICK_BITS);
    if fits { Ok(i64::from(client) << TICK_BITS | tick) } else { Err(format!("{tick} is no tick of a buffer")) }
}

#[async_trait]
impl Editor for Clients {
    async fn buffer(&self, file: &str) -> Result<Option<Buffer>, String> {
        // All at once.
        let asked = self.asked(file)?.into_iter().map(|channel| {
            let file = file.to_string();
            async move {
                let seen = channel.editor.look(&file).await;
                (channel, seen)
            }
        });
        let all = self.heard(join_all(asked).await)?;
        let mut open: Vec<(Arc<Channel>, Seen)> =
            all.into_iter().filter_map(|(channel, seen)| Some((channel, seen?))).collect();
        let unsaved: Vec<&str> =
            open.iter().filter(|(_, seen)| seen.modified).map(|(channel, _)| channel.name.as_str()).collect();
        if unsaved.len() > 1 {
            let who = unsaved.join(" and ");
            return Err(format!(
                "{file} has unsaved changes in {who}; save it in one and revert it in the other first"
            ));
        }
        // What somebody has typed and not saved comes first.
        open.sort_by_key(|(channel, seen)| (!seen.modified, channel.id));
        let Some((channel, seen)) = open.into_iter().next() else { return Ok(None) };
        let tick = stamp(channel.id, seen.buffer.tick)?;
        Ok(Some(Buffer { tick, ..seen.buffer }))
    }

    async fn is_open(&self, file: &str) -> Result<bool, String> {
        let asked = self.asked(file)?.into_iter().map(|channel| {
            let file = file.to_string();
            async move {
                let open = channel.editor.holds(&file).await;
                (channel, open)
            }
        });
        let all = self.heard(join_all(asked).await)?;
        Ok(all.into_iter().any(|(_, open)| open))
    }

    async fn ask(&self, question: &Question) -> Result<Vec<Row>, String> {
        let file = question.file.as_deref().unwrap_or("");
        let asked = self.asked(file)?;
        // The one that has the file open, else the first: a window of one Emacs is enough.
        let has = |channel: &&Arc<Channel>| self.open.lock().get(file).is_some_and(|who| who.contains(&channel.id));
        let channel = asked.iter().find(has).or(asked.first()).cloned();
        let channel = channel.ok_or("there is no Emacs to ask: open one (M-x passepartout-chat), and ask again")?;
        channel.editor.verb(question).await
    }

    async fn select(&self, offer: &Offer) -> Result<Selection, String> {
        // The function is that of the Emacs whose settings count.
        match self.get(OWN) {
            Some(own) => own.editor.select(offer).await,
            None => Err("the Emacs that has the function is not there".to_string()),
        }
    }

    async fn earlier_turn(&self, session: &SessionId, name: &str) -> Result<Vec<Said>, String> {
        Ok(said_in(&self.chat_turns(session, "turn", name).await?, &str::to_string))
    }

    async fn turns_before(&self, session: &SessionId, name: &str) -> Result<Older, String> {
        Ok(older_in(&self.chat_turns(session, "before", name).await?, &str::to_string))
    }

    async fn settings(&self, wanted: &Wanted) -> Result<Vec<Told>, String> {
        match self.get(OWN) {
            Some(own) => own.editor.settings(wanted).await,
            None => Err(NO_SETTINGS.to_string()),
        }
    }

    async fn weigh(&self, change: &Change) -> Result<SettingFact, Unchanged> {
        match self.get(OWN) {
            Some(own) => own.editor.weigh(change).await,
            None => Err(Unchanged::Refused(NO_SETTINGS.to_string())),
        }
    }

    async fn set(&self, change: &Change, found: &SettingFact) -> Result<(), Unchanged> {
        match self.get(OWN) {
            Some(own) => own.editor.set(change, found).await,
            None => Err(Unchanged::Refused(NO_SETTINGS.to_string())),
        }
    }

    async fn call(&self, call: &Call) -> Result<String, Unanswered> {
        // Nobody else declared it.
        match self.get(OWN) {
            Some(own) => own.editor.call(call).await,
            None => Err(Unanswered::Not("the Emacs that declared the tool is not there".to_string())),
        }
    }

    async fn edit(&self, file: &str, tick: i64, splices: Vec<Splice>) -> Result<(), String> {
        let client = ClientId::try_from(tick >> TICK_BITS).ok().and_then(|id| self.get(id));
        let channel = client.ok_or_else(|| format!("the Emacs that had {file} open has gone; nothing was changed"))?;
        channel.editor.edit(file, tick & ((1 << TICK_BITS) - 1), splices).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sexp::reader::Sexp;
    use std::time::Duration;

    /// An Emacs that answers as it is told; `None` says nothing.
    fn emacs(clients: &Arc<Clients>, id: ClientId, answer: Option<&'static str>) -> Arc<Channel> {
        let woken = Arc::new(Notify::new());
        let bell = woken.clone();
        let outbox = Outbox::new(Box::new(move || bell.notify_one()));
        let channel = Channel::emacs(id, 100 + id, outbox.clone());
        clients.join(channel.clone());
        let told = channel.clone();
        tokio::spawn(async move {
            loop {
                woken.notified().await;
                for text in outbox.receive(1 << 20) {
                    let asked = Sexp::read(&text).expect("it can be read");
                    let number = asked.get("payload").and_then(|p| p.int_at("request")).expect("a number");
                    if let Some(answer) = answer {
                        let reply = format!("(:action :editor-reply :request {number} {answer})");
                        told.editor.reply(&Sexp::read(&reply).expect("it can be read")).expect("it fits");
                    }
                }
            }
        });
        channel
    }

    const SHUT: &str = ":open nil";
    const CLEAN: &str = ":open t :tick 7 :state \"1.7\" :size 1 :text \"c\"";
    const UNSAVED: &str = ":open t :tick 9 :state \"1.9\" :modified t :size 1 :text \"u\" :ok t";

    async fn buffer(answers: &[Option<&'static str>]) -> Result<Option<Buffer>, String> {
        let clients = Arc::new(Clients::default());
        for (id, answer) in answers.iter().enumerate() {
            emacs(&clients, id as ClientId, *answer);
        }
        clients.buffer("/f.org").await
    }

    #[tokio::test(start_paused = true)]
    async fn no_emacs_is_given_a_name_on_another_machine() {
        let clients = Arc::new(Clients::default());
        let channel = emacs(&clients, 0, Some(CLEAN));
        for file in ["/ssh:evil.example:/x", "/evil.example:/x", "/[ssh/evil.example]/x"] {
            let question = Question {
                verb: crate::domain::editor::Verb::Diagnostics,
                file: Some(file.to_string()),
                name: None,
                line: None,
                text: None,
                limit: 1,
            };
            for refused in [
                clients.buffer(file).await.map(|_| ()),
                clients.is_open(file).await.map(|_| ()),
                clients.ask(&question).await.map(|_| ()),
            ] {
                assert!(refused.expect_err("it would connect").contains("on another machine"), "{file}");
            }
        }
        assert!(!channel.silent.load(Ordering::Relaxed));
        assert!(clients.buffer("/f.org").await.is_ok_and(|found| found.is_some()), "others are asked about");
    }

    #[tokio::test(start_paused = true)]
    async fn of_several_buffers_the_unsaved_one_counts_and_two_unsaved_ones_are_refused() {
        let text = async |answers: &[Option<&'static str>]| {
            buffer(answers).await.map(|found| found.map(|buffer| (buffer.text.to_string(), buffer.tick)))
        };
        let found = |text: &str, client: i64, tick: i64| Ok(Some((text.to_string(), (client << 40) + tick)));
        assert_eq!(text(&[]).await, Ok(None));
        assert_eq!(text(&[Some(SHUT), Some(SHUT)]).await, Ok(None));
        assert_eq!(text(&[Some(CLEAN), Some(SHUT)]).await, found("c", 0, 7), "alone, a tick is as it was");
        assert_eq!(text(&[Some(SHUT), Some(CLEAN)]).await, found("c", 1, 7));
        assert_eq!(text(&[Some(CLEAN), Some(CLEAN)]).await, found("c", 0, 7));
        assert_eq!(text(&[Some(CLEAN), Some(SHUT), Some(UNSAVED)]).await, found("u", 2, 9));
        let why = text(&[Some(UNSAVED), Some(UNSAVED)]).await.expect_err("which?");
        assert!(why.contains("process 100 and the Emacs of process 101") && why.contains("save it in one"), "{why}");
        assert!(text(&[Some(CLEAN), None]).await.is_err(), "who does not answer may have it open");
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_answer_is_waited_for_once_and_asked_again_when_it_has_spoken() {
        let clients = Arc::new(Clients::default());
        emacs(&clients, 0, Some(CLEAN));
        let stopped = emacs(&clients, 1, None);
        let why = clients.buffer("/f.org").await.expect_err("it may have it open");
        assert!(why.contains("process 101"), "{why}");
        let begun = tokio::time::Instant::now();
        assert!(clients.buffer("/f.org").await.is_ok());
        assert_eq!(clients.is_open("/f.org").await, Ok(true));
        assert!(begun.elapsed() < Duration::from_secs(1));
        clients.note_open("/g.org", 1, true);
        let why = clients.buffer("/g.org").await.expect_err("it has it open");
        assert!(why.contains("does not answer"), "{why}");
        let takes = |text: &str| {
            let letter = Letter::read(text);
            stopped.note_waiting(letter.bytes);
            stopped.note_taken(&letter);
        };
        takes(&pulse::ping());
        assert!(clients.buffer("/f.org").await.is_ok(), "its module asks for a sign of life, and Emacs hangs still");
        takes("(:type :event :payload (:sensor :point-update))");
        assert!(clients.buffer("/f.org").await.is_err(), "it is asked again");
        clients.leave(1);
        assert!(clients.buffer("/g.org").await.is_ok(), "who has gone has nothing open");
    }

    #[tokio::test(start_paused = true)]
    async fn an_edit_goes_to_the_emacs_that_has_the_file_open() {
        let clients = Arc::new(Clients::default());
        emacs(&clients, 0, Some(SHUT));
        emacs(&clients, 5, Some(UNSAVED));
        let buffer = clients.buffer("/f.org").await.expect("it is open").expect("there");
        assert_eq!(clients.edit("/f.org", buffer.tick, Vec::new()).await, Ok(()));
        assert!(clients.edit("/f.org", 9, Vec::new()).await.is_err(), "of the other");
        clients.leave(5);
        let why = clients.edit("/f.org", buffer.tick, Vec::new()).await.expect_err("it has gone");
        assert!(why.contains("nothing was changed"), "{why}");
        assert!(clients.edit("/f.org", -1, Vec::new()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_tool_of_the_users_own_is_called_in_the_owners_emacs_and_nowhere_else() {
        let clients = Arc::new(Clients::default());
        let other = emacs(&clients, 3, Some(":ok t :text \"of another\""));
        let limits = crate::domain::tool::Limits::USUAL;
        let (tool, directory) = ("mine".to_string(), "/project".to_string());
        let call = Call { tool, mark: String::new(), args: Default::default(), directory, limits };
        let why = clients.call(&call).await.expect_err("who declared it is not there");
        assert_eq!(why, Unanswered::Not("the Emacs that declared the tool is not there".to_string()));
        emacs(&clients, OWN, Some(":ok t :text \"its own\""));
        assert_eq!(clients.call(&call).await, Ok("its own".to_string()));
        assert!(other.outbox.receive(1 << 20).is_empty());
    }

    #[test]
    fn a_conversation_is_a_programs_by_the_name_that_was_given_to_it() {
        let own = own_name().expect("random bytes");
        for (session, words) in [
            (format!("mcp-helper-{own}/one"), Some("an agent by MCP, mcp-helper-")),
            (format!("agent-acp-zed-{own}/one/2"), Some("an editor by ACP, acp-zed-")),
            (format!("client-{own}"), Some("a program, client-")),
            (format!("chat-{own}"), None),
            (format!("mcp{own}"), None),
            (own.clone(), None),
            // What the user calls a chat.
            ("mcp-notes".to_string(), None),
            ("acp-2026".to_string(), None),
            ("client-of-mine".to_string(), None),
            ("mcp-".to_string(), None),
            (format!("mcp-{}", own.to_uppercase().replace(|c: char| c.is_ascii_digit(), "A")), None),
        ] {
            let told = program_of(&session);
            assert_eq!(told.is_some(), words.is_some(), "{session}: {told:?}");
            assert!(told.unwrap_or_default().starts_with(words.unwrap_or_default()), "{session}");
        }
    }

    #[test]
    fn every_connection_of_a_client_that_is_sent_away_is_told() {
        use futures_util::FutureExt;
        let client = Channel::client(4, "ab12", None, Outbox::new(Box::new(|| {})));
        assert!(client.until_dismissed().now_or_never().is_none());
        client.dismiss();
        for connection in ["one that was just left", "the one that goes on"] {
            assert!(client.until_dismissed().now_or_never().is_some(), "{connection}");
        }
    }

    #[test]
    fn a_command_speaks_for_itself_alone() {
        let outbox = || Outbox::new(Box::new(|| {}));
        let cli = Channel::cli(3, 77, false, outbox()).origin(Some("chat-1"));
        assert_eq!((cli.source, cli.session.0, cli.rights.approve), (Source::Cli, command_session(77), false));
        assert!(Channel::cli(3, 77, true, outbox()).origin(None).rights.approve);
        let tui = Channel::tui(3, "ab12", 77, true, outbox());
        let [one, other] = ["a", "b"].map(|digit| digit.repeat(64));
        let session = |name: Option<&str>| tui.origin(name).session.0;
        assert_eq!(session(None), "tui-ab12");
        let stamped = session(Some(&one));
        assert!(
            stamped.starts_with("tui-") && stamped.len() == "tui-".len() + STAMPED && !one.starts_with(&stamped[4..])
        );
        assert_ne!(stamped, session(Some(&other)));
        let again = Channel::tui(5, "cd34", 78, true, outbox());
        assert_eq!(again.origin(Some(&one)).session.0, stamped, "it outlives the program");
        for odd in ["chat-1", "", "cli-77", "tui-ab12", &stamped, &stamped[4..], &one[1..], &one.to_uppercase()] {
            assert!(tui.may_name(Some(odd)).is_err_and(|why| why.contains("64 random")), "{odd}");
            assert_eq!(session(Some(odd)), "tui-ab12", "what is heard of a conversation leads into none: {odd}");
        }
        assert_eq!((tui.may_name(Some(&one)), tui.may_name(None)), (Ok(()), Ok(())));
        let client = Channel::client(4, "ab12", Some("other"), outbox());
        for (named, session) in [
            (None, "client-ab12"),
            (Some("client-ab12"), "client-ab12"),
            (Some("chat-1"), "client-ab12/chat-1"),
            (Some("client-ab12/chat-1"), "client-ab12/chat-1"),
            (Some("chat-1@box"), "client-ab12/chat-1@box"),
        ] {
            assert_eq!(client.may_name(named), Ok(()));
            let origin = client.origin(named);
            assert_eq!((origin.source, origin.session.0.as_str(), origin.rights), (Source::Client, session, STRANGER));
        }
        for (channel, session) in [
            (Channel::mcp(4, "ab12", Some("Claude Code (beta) <x>/../y"), outbox()), "mcp-claude-code-beta-ab12"),
            (Channel::acp(4, "ab12", Some("Zed"), outbox()), "acp-zed-ab12"),
            (Channel::acp(4, "ab12", Some("«»"), outbox()), "acp-ab12"),
            (Channel::mcp(4, "ab12", None, outbox()), "mcp-ab12"),
        ] {
            let origin = channel.origin(Some("one"));
            let here = session.starts_with("acp");
            assert_eq!(origin.rights.may_name_the_project(), here, "an editor is in the folder that it names");
            let stamped = (origin.source, origin.session.0, origin.rights);
            assert_eq!(stamped, (Source::Client, format!("{session}/one"), Rights { here, ..STRANGER }));
            assert!(channel.name.contains(session) && channel.may_name(Some("a b")).is_err(), "{}", channel.name);
        }
        let long = "x".repeat(SESSION + 1);
        for odd in ["", "a b", "client-cd34/chat-1", "client-ab12/a/b", "../x", "a\nb", "(x)", "\"", long.as_str()] {
            assert!(client.may_name(Some(odd)).is_err(), "{odd:?}");
        }
        let emacs = Channel::emacs(2, 78, outbox());
        assert_eq!(emacs.may_name(Some("a b")), Ok(()), "its conversations are chats, which it names itself");
        assert_eq!(emacs.origin(Some("chat-1")).session.0, "chat-1");
        assert_eq!((emacs.origin(None).session.0.as_str(), emacs.origin(None).rights), ("emacs-78", Rights::HUMAN));
    }

    #[test]
    fn a_client_is_granted_what_it_can_do_and_nobody_else_anything() {
        let outbox = || Outbox::new(Box::new(|| {}));
        let client = Channel::client(4, "ab12", None, outbox());
        assert!(client.grant(Grant::Approve, 0).is_err_and(|why| why.contains("shows plans whole")));
        assert_eq!(client.rights(), STRANGER);
        assert_eq!(client.grant(Grant::Private, 0), Ok(()));
        assert_eq!(client.rights(), Rights { see_private: true, ..STRANGER });
        client.note_about(About { shows_plans: true, ..About::default() });
        assert_eq!(client.grant(Grant::Approve, 0), Ok(()));
        assert_eq!(client.origin(None).rights, Rights { own: false, here: false, ..Rights::HUMAN });
        assert!(!client.rights().may_steer(), "to decide about plans is not to be the user");
        assert_eq!(client.withdraw(), Ok(()));
        assert!(client.grant(Grant::Private, 0).is_err_and(|why| why.contains("taken back meanwhile")));
        assert_eq!(client.origin(None).rights, STRANGER);
        let editor = Channel::acp(5, "ab13", Some("zed"), outbox());
        assert!(editor.grant(Grant::Approve, 0).is_err_and(|why| why.contains("shows plans whole")));
        assert_eq!(editor.grant(Grant::Private, 0), Ok(()));
        let agent = Channel::mcp(6, "ab14", Some("helper"), outbox());
        agent.note_about(About { shows_plans: true, ..About::default() });
        for grant in [Grant::Private, Grant::Approve] {
            assert!(agent.grant(grant, 0).is_err_and(|why| why.contains("nothing is ever granted")));
        }
        assert_eq!((agent.rights(), agent.withdraw()), (STRANGER, Ok(())));
        for other in [Channel::cli(3, 77, false, outbox()), Channel::emacs(2, 78, outbox())] {
            let before = other.rights();
            assert!(other.grant(Grant::Private, 0).is_err() && other.withdraw().is_err());
            assert_eq!(other.rights(), before);
        }
    }
}
