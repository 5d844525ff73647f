//! The engine: everything behind a chat turn and a command, without any client.
//!
//! One `Engine` owns memory's head, the plans that wait and the log; a turn works on a snapshot of them.
//! Locks are held for a look or a swap, never across I/O.

mod along;
pub mod archive;
mod at_work;
pub mod audit;
pub mod authority;
pub mod boot;
pub mod briefing;
pub mod cascade;
pub mod cassette;
pub mod changes;
mod chores;
pub(in crate::edge) mod code;
pub(in crate::edge) mod commands;
mod commit;
pub mod confined;
pub mod decisions;
pub mod delegation;
pub mod embedding;
pub mod explain;
mod factors;
pub mod focus;
pub mod folders;
pub mod fresh;
pub mod full_text;
pub mod gateways;
pub mod head;
pub mod inspect;
pub mod intents;
pub mod jobs;
pub mod journal;
pub mod kept_back;
pub mod key_test;
mod lately;
pub mod ledger;
pub mod lent;
mod lookups;
pub mod memory;
pub mod model;
pub mod models;
mod notes;
pub mod once;
pub mod org;
pub mod outside;
mod own_tools;
pub mod past;
pub mod pictures;
pub mod planner;
pub mod plans;
pub mod presets;
pub mod query;
pub mod quotations;
pub mod record;
mod repl;
pub mod restore;
pub mod rollback;
mod selector;
pub mod servers;
pub mod settings;
mod share;
mod skill_edit;
pub mod skill_list;
pub mod skill_test;
pub mod skilled;
pub mod skills;
pub mod slices;
pub mod stopped;
pub mod time;
mod together;
pub mod turns;

use crate::domain::audit::Ruling;
use crate::domain::context::lexical::Index;
use crate::domain::focus::FocusStack;
use crate::domain::gate::Gates;
use crate::domain::gate::plan::FlightPlan;
use crate::domain::id::{ActionHash, NodeId, OperationId, PlanId, SessionId};
use crate::domain::label::Privacy;
use crate::domain::memory::Memory;
use crate::domain::memory::operation::Operation;
use crate::domain::memory::store::Stamp;
use crate::domain::memory::view::View;
use crate::domain::port::{CountTokens, LogLevel, Surveyor};
use crate::domain::tool::Toolbox;
use crate::edge::actuator::shell::Shell;
use crate::edge::clock::{Clock, local};
use crate::edge::config::{Config, OrgSettings, ProviderSettings};
use crate::edge::editor::Editor;
use crate::edge::engine::archive::Archive;
use crate::edge::engine::boot::StoreTrouble;
use crate::edge::engine::skills::Skills;
use crate::edge::ingest::Problem;
use crate::edge::log::{Line, Log};
use crate::edge::provider::cascade::Cascade;
use crate::edge::secret::Vault;
use crate::edge::setup_files::SetupFiles;
use crate::edge::skill_host::{LispHost, Runs};
use crate::edge::worker::Workers;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;

/// What subscribers are told as it happens.
#[derive(Clone, Debug)]
pub enum Notice {
    /// A plan was parked.
    Parked(Box<FlightPlan>),
    /// A plan's status changed.
    Changed(Box<FlightPlan>),
    /// A line was logged.
    Logged(Line),
    /// Work that was handed over ended.
    Reported(Box<delegation::Reported>),
    /// Something that the status shows changed.
    Status,
}

/// Tells subscribers. It must not block.
pub type Notify = Arc<dyn Fn(Notice) + Send + Sync>;

/// How far reading the memex has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Files that were read.
    pub done: usize,
    /// Files that there are, as far as is known.
    pub total: usize,
}

/// What an engine is made of; see [`Engine::new`].
pub struct Parts {
    /// Settings.
    pub config: Config,
    /// Finds out facts.
    pub surveyor: Arc<dyn Surveyor>,
    /// Setup files of Org files.
    pub setups: Arc<SetupFiles>,
    /// The store.
    pub archive: Archive,
    /// What the store held.
    pub memory: Memory,
    /// The user's editor.
    pub editor: Arc<dyn Editor>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Counts tokens.
    pub tokens: Arc<dyn CountTokens>,
    /// Keys.
    pub vault: Arc<Vault>,
    /// What files on disk looked like when they were read.
    pub stamps: Vec<Stamp>,
    /// Why the store could not be opened, when this session goes on without it.
    pub store_trouble: Option<StoreTrouble>,
    /// Why the store is only read along, when it is.
    pub beside: Option<String>,
    /// Runs commands; `None` and why when the launcher is missing.
    pub shell: Result<Shell, String>,
    /// Evaluates Lisp; or why not.
    pub workers: Result<Arc<Workers>, String>,
    /// Runs the Lisp of skills; `None` where nothing can be confined.
    pub skill_host: Option<Arc<LispHost>>,
    /// Skills, what became of each, and the gates that there are with them.
    pub skills: Skills,
    /// Keeps the full-text index.
    pub full_text: full_text::FullText,
    /// Tells subscribers.
    pub notify: Notify,
}

/// Everything behind a client.
pub struct Engine {
    /// Settings.
    pub config: Config,
    /// Tools, those of the user's own among them.
    pub(super) tools: RwLock<Toolbox>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The user's editor.
    pub editor: Arc<dyn Editor>,
    /// Setup files of Org files.
    pub(super) setups: Arc<SetupFiles>,
    pub(super) surveyor: Arc<dyn Surveyor>,
    pub(super) archive: Archive,
    pub(super) memory: Mutex<Memory>,
    pub(super) index: RwLock<Index>,
    pub(super) full_text: full_text::FullText,
    /// What is known of vectors.
    pub(super) embedding: embedding::Embedding,
    /// What is known of jobs and hooks.
    pub(super) jobs: jobs::Jobs,
    /// Which words stand in private notes.
    pub(super) quoting: quotations::Quoting,
    /// How often each private tag kept something back since the start.
    pub(super) kept_back: Mutex<kept_back::Counts>,
    /// How often notes that are marked were sent all the same, by tag.
    pub(super) sent: Mutex<kept_back::Counts>,
    /// Itself, for its threads.
    pub(super) me: std::sync::Weak<Engine>,
    pub(super) tokens: Arc<dyn CountTokens>,
    pub(super) vault: Arc<Vault>,
    /// The skills that hold now; see [`Engine::skills`].
    pub(super) skills: RwLock<Arc<Skills>>,
    /// What became of the turns of skills.
    pub(super) skill_turns: Mutex<skills::SkillTurns>,
    /// What came of trying the Lisp of skills out.
    pub(super) tried: Mutex<skills::TriedLisp>,
    /// Held by whoever tries Lisp out.
    pub(super) trying: tokio::sync::Mutex<()>,
    /// Held by whoever reads the skills anew.
    pub(super) reloading: tokio::sync::Mutex<()>,
    /// What the user confirmed that loosens.
    pub(super) authority: Mutex<authority::Authority>,
    /// Whether the user was told in a chat which rules are not in force.
    pub(super) gaps_told: std::sync::atomic::AtomicBool,
    pub(super) stamps: Mutex<HashMap<Arc<str>, Stamp>>,
    pub(super) store_trouble: Option<StoreTrouble>,
    pub(super) beside: Option<String>,
    /// Held by whoever changes memory, until its index has followed.
    pub(super) changing: Mutex<()>,
    pub(crate) shell: Result<Shell, String>,
    /// Evaluates Lisp; or why not.
    pub(crate) workers: Result<Arc<Workers>, String>,
    /// Runs the Lisp of skills; `None` where nothing can be confined.
    pub(super) skill_host: Option<Arc<LispHost>>,
    pub(super) problems: Mutex<Vec<Problem>>,
    /// Where programs can connect by the network, or why they cannot.
    pub(super) listening: Mutex<Option<Result<SocketAddr, String>>>,
    pub(super) stop: std::sync::atomic::AtomicBool,
    /// The memex was read to its end since the start.
    pub(super) memex_read: std::sync::atomic::AtomicBool,
    pub(super) plans: Mutex<BTreeMap<PlanId, FlightPlan>>,
    /// What the turns that run have done so far.
    pub(super) doings: stopped::Doings,
    /// The turns of clients that go on, from before they have done anything until what they came to is stored.
    pub(super) going: Mutex<std::collections::HashSet<crate::domain::id::TurnId>>,
    /// Work that was handed over and goes on.
    pub(in crate::edge::engine) tasks: delegation::Tasks,
    /// Whether somebody stays to be told what comes of such work.
    pub(in crate::edge) serves: std::sync::atomic::AtomicBool,
    /// What acts that are under way are about to change.
    pub(super) watching: changes::Watching,
    /// The times that edits write whose plans wait, newest last.
    pub(super) pinned: Mutex<std::collections::VecDeque<(ActionHash, jiff::civil::DateTime)>>,
    /// Merged bytes of what may be put back.
    pub(super) merged: Mutex<restore::Merged>,
    /// What was shown and may be carried out.
    pub(super) previews: Mutex<std::collections::VecDeque<time::Prepared>>,
    /// Lets few previews at once be worked out.
    pub(super) previewing: time::Previewing,
    /// Held by whatever goes on in a conversation; see [`Engine::alone`].
    pub(super) lanes: Mutex<HashMap<SessionId, std::sync::Weak<tokio::sync::Mutex<()>>>>,
    /// Conversations of this session of the program that drew on something private: how private.
    pub(super) private: turns::Rising,
    /// Whether the user lets what asks go to models elsewhere, or took that back, by conversation; others were not looked
    /// up, or nothing was said in them.
    pub(super) shared: Mutex<HashMap<SessionId, bool>>,
    /// Who did not answer in a conversation, as the user was told, each with why.
    pub(super) passed: Mutex<HashMap<SessionId, BTreeMap<String, String>>>,
    /// Conversations in which it was said that something was left out.
    pub(super) told: Mutex<std::collections::HashSet<SessionId>>,
    /// What was collapsed of conversations in their last turns, the newest first.
    pub(super) earlier: Mutex<std::collections::VecDeque<(SessionId, Vec<crate::domain::turn::earlier::Earlier>)>>,
    /// When conversations began that began since the start; see [`turns::KNOWN_SESSIONS`].
    pub(super) begun: Mutex<std::collections::HashMap<SessionId, jiff::Timestamp>>,
    /// What the user wants in every context in this session of the program, or out of it.
    pub(super) pins: Mutex<BTreeMap<NodeId, bool>>,
    /// The prompts that were sent last, the newest first.
    /// The HTTP clients, once somebody needed them.
    pub(super) clients: Mutex<Option<crate::edge::provider::http::Clients>>,
    pub(super) sent_last: Mutex<std::collections::VecDeque<inspect::Sent>>,
    /// What was sent or would be, as it was shown last to whom.
    pub(super) inspected: Mutex<Option<(SessionId, u64, Vec<inspect::Inspected>)>>,
    /// Messengers, and who is let in.
    pub(super) gateways: gateways::Gateways,
    /// The tokens that channels were shown, to decide about plans by typing.
    pub(in crate::edge) shown_tokens: crate::edge::token::Channels,
    /// The MCP servers of the settings.
    pub(super) servers: servers::Servers,
    /// What was asked last.
    pub(super) asked: Mutex<Option<explain::Last>>,
    /// What records exchanges with providers.
    pub(super) deck: Arc<crate::edge::provider::deck::Deck>,
    /// How far cassettes were played, by their files: who sets providers up anew goes on where they are.
    pub(super) playbacks: Mutex<HashMap<std::path::PathBuf, Arc<crate::edge::provider::replay::Playback>>>,
    /// What calls of models cost.
    pub(super) ledger: ledger::Ledger,
    /// The last slices of memory that were assembled.
    pub(super) slices: Mutex<slices::Slices>,
    /// How many tokens providers count for one of ours, by their names.
    pub(super) factors: Mutex<HashMap<String, Option<crate::domain::factor::Factor>>>,
    /// What conversations of this session of the program read from outside.
    pub(super) outside: Mutex<HashMap<SessionId, crate::domain::outside::Outside>>,
    /// Which texts are made from text from outside.
    pub(super) marks: RwLock<outside::Marks>,
    /// What commands that are under way are led by.
    pub(super) led_acts: Mutex<outside::LedActs>,
    /// Which places are from outside.
    pub(super) origins: crate::edge::origin::Places,
    pub(super) cascade: RwLock<Cascade>,
    /// The presets of conversations, by name; `None` for one that has none.
    pub(super) chosen_presets: Mutex<HashMap<SessionId, Option<String>>>,
    /// Which models providers said that they have.
    pub(super) lists: models::Lists,
    /// Which providers failed lately.
    pub(super) standing: Arc<crate::edge::provider::cascade::Memory>,
    /// The settings of the providers, as they are now.
    pub(super) providers: RwLock<ProviderSettings>,
    pub(super) focus: Mutex<Option<NodeId>>,
    /// What the user narrowed the agent's sight to.
    pub(super) sight: Mutex<FocusStack>,
    /// Held while the focus is moved: one move after the other, so that none is lost.
    pub(super) turning: tokio::sync::Mutex<()>,
    pub(super) reading: Mutex<Option<Reading>>,
    /// How Org files are read.
    pub(super) org: RwLock<OrgSettings>,
    /// Held while something is read by them and put into memory.
    pub(super) org_held: RwLock<()>,
    /// Held while memory is made anew by other settings of Org.
    pub(super) reshaping: Arc<tokio::sync::Mutex<()>>,
    pub(super) open: Mutex<std::collections::HashSet<String>>,
    /// Where the folders of the memex lie.
    pub(super) places: Vec<std::path::PathBuf>,
    /// Files that a client follows buffers of.
    pub(super) buffers: Mutex<std::collections::HashSet<String>>,
    lately: Mutex<lately::Lately>,
    pub(super) log: Log,
    pub(super) notify: Notify,
    pub(super) serial: std::sync::atomic::AtomicU64,
}

impl Engine {
    /// Puts an engine together; it has read nothing yet.
    pub fn new(parts: Parts) -> Arc<Engine> {
        let places = folders::places(&parts.config.directories);
        let org = RwLock::new(parts.config.org.clone());
        let origins = parts.config.places();
        let standing = Arc::new(crate::edge::provider::cascade::Memory::new(parts.clock.clone()));
        let vault = parts.vault.clone();
        let deck = |me: std::sync::Weak<Engine>| {
            let say = move |level, text: &str| me.upgrade().iter().for_each(|engine| engine.say(level, text));
            Arc::new(crate::edge::provider::deck::Deck::new(vault, say))
        };
        let servers = servers::Servers::of(&parts.config.mcp_servers);
        let secrets = parts.config.mcp_servers.iter().flat_map(|server| server.secrets());
        parts.vault.add(secrets);
        let engine = Arc::new_cyclic(|me| Engine {
            providers: RwLock::new(parts.config.provider_settings()),
            config: parts.config,
            tools: RwLock::default(),
            clock: parts.clock,
            editor: parts.editor,
            setups: parts.setups,
            surveyor: parts.surveyor,
            archive: parts.archive,
            memory: Mutex::new(parts.memory),
            index: RwLock::default(),
            full_text: parts.full_text,
            embedding: Default::default(),
            jobs: Default::default(),
            quoting: Default::default(),
            kept_back: Mutex::default(),
            sent: Mutex::default(),
            me: me.clone(),
            tokens: parts.tokens,
            vault: parts.vault,
            skills: RwLock::new(Arc::new(parts.skills)),
            skill_turns: Mutex::default(),
            tried: Mutex::default(),
            passed: Mutex::default(),
            trying: Default::default(),
            reloading: Default::default(),
            authority: Mutex::default(),
            gaps_told: Default::default(),
            stamps: Mutex::new(parts.stamps.into_iter().map(|stamp| (stamp.file.clone(), stamp)).collect()),
            store_trouble: parts.store_trouble,
            beside: parts.beside,
            changing: Mutex::default(),
            workers: parts.workers,
            skill_host: parts.skill_host,
            shell: parts.shell,
            problems: Mutex::default(),
            listening: Mutex::default(),
            stop: Default::default(),
            memex_read: Default::default(),
            plans: Mutex::new(BTreeMap::new()),
            doings: Default::default(),
            going: Mutex::default(),
            tasks: Default::default(),
            serves: Default::default(),
            watching: Default::default(),
            pinned: Mutex::default(),
            merged: Mutex::default(),
            previews: Mutex::default(),
            previewing: Default::default(),
            lanes: Mutex::default(),
            private: turns::Rising::default(),
            shared: Mutex::default(),
            told: Mutex::default(),
            earlier: Mutex::default(),
            begun: Mutex::default(),
            factors: Mutex::default(),
            deck: deck(me.clone()),
            playbacks: Mutex::default(),
            ledger: Default::default(),
            lists: Default::default(),
            chosen_presets: Mutex::default(),
            slices: Mutex::default(),
            pins: Mutex::default(),
            clients: Mutex::default(),
            sent_last: Mutex::default(),
            inspected: Mutex::default(),
            gateways: Default::default(),
            shown_tokens: Default::default(),
            servers,
            asked: Mutex::default(),
            outside: Mutex::default(),
            marks: RwLock::default(),
            led_acts: Mutex::default(),
            origins,
            cascade: RwLock::new(Cascade::default()),
            standing,
            focus: Mutex::new(None),
            sight: Mutex::default(),
            turning: tokio::sync::Mutex::default(),
            reading: Mutex::new(None),
            org,
            org_held: RwLock::default(),
            reshaping: Arc::default(),
            open: Mutex::default(),
            places,
            buffers: Mutex::default(),
            lately: Mutex::default(),
            log: Log::default(),
            notify: parts.notify,
            serial: std::sync::atomic::AtomicU64::new(0),
        });
        engine.start_full_text();
        engine.start_quotations();
        engine
    }

    /// Returns memory now; cloning it was O(1).
    pub fn view(&self) -> View {
        self.memory.lock().head().clone()
    }

    /// Returns the node that the user's point is in.
    pub fn focus(&self) -> Option<NodeId> {
        self.focus.lock().clone()
    }

    /// Returns the gates that there are now, without what the user's rules add.
    pub fn gates(&self) -> Gates {
        self.skills().gates.clone()
    }

    /// Returns what finds out about actions.
    pub fn surveyor(&self) -> &dyn Surveyor {
        self.surveyor.as_ref()
    }

    /// Returns how far reading has come; `None` when nothing is being read.
    pub fn reading(&self) -> Option<Reading> {
        *self.reading.lock()
    }

    /// Returns the last lines of the log, oldest first.
    pub fn log_lines(&self, limit: usize) -> Vec<Line> {
        self.log.last(limit)
    }

    /// Returns the last of those lines of the log that may be told beside what is so private, oldest first.
    pub(super) fn log_beside(&self, privacy: Privacy, limit: usize) -> Vec<Line> {
        self.log.last_up_to(privacy, limit)
    }

    /// Logs a line of which nobody knows how private it is. Values of the vault and other secrets are masked, and line
    /// breaks shown as spaces.
    pub fn say(&self, level: LogLevel, text: &str) {
        self.say_of(level, Privacy::Private, text);
    }

    /// Does the same with a line that is so private: a model is told none that is more private than what stands beside it.
    pub(in crate::edge) fn say_of(&self, level: LogLevel, privacy: Privacy, text: &str) {
        let text = crate::domain::gate::secret::mask(&self.vault.mask(text)).0;
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let line = Line { at: self.clock.now(), level, text, privacy };
        self.log.add(line.clone());
        (self.notify)(Notice::Logged(line));
    }

    /// Returns why the store could not be opened, if it could not.
    pub fn store_trouble(&self) -> Option<StoreTrouble> {
        self.store_trouble.clone()
    }

    /// Returns why the store is only read along, in words, when it is: nothing is kept in it then.
    pub fn beside(&self) -> Option<&str> {
        self.beside.as_deref()
    }

    /// Has clients told how things stand.
    pub(crate) fn tell_status(&self) {
        (self.notify)(Notice::Status);
    }

    /// Returns the last operation of memory.
    pub fn head(&self) -> OperationId {
        self.memory.lock().at()
    }

    /// Returns what moved memory last; a fresh memory has none.
    pub fn last_operation(&self) -> Option<Operation> {
        self.memory.lock().last().cloned()
    }

    /// Returns the last operation that is on disk.
    pub async fn stored(&self) -> Option<OperationId> {
        self.archive.stored().await
    }

    /// Makes sure that the store lies where it was opened; one that was deleted is put back.
    ///
    /// # Errors
    /// In words, when it is elsewhere, or cannot be put back.
    pub async fn stay(&self) -> Result<(), String> {
        self.archive.stay().await
    }

    /// Returns why changes of memory are not stored any more until the next start, if they are not.
    pub fn lost(&self) -> Option<String> {
        self.archive.lost()
    }

    /// Waits until everything that was queued is on disk.
    ///
    /// # Errors
    /// When it could not be stored.
    pub async fn flush(&self) -> Result<(), String> {
        let _ = self.write_ledger().await;
        self.archive.append(Vec::new()).await
    }

    /// Stores what waits and closes the store; nothing can be stored after that.
    pub async fn close(&self) {
        self.stop();
        self.tasks.end();
        if let Ok(workers) = &self.workers {
            workers.end_all().await;
        }
        // Turns that were told to end may end only behind the store: what they asked models is written down before.
        self.close_ledger().await;
        self.archive.close().await;
        let deck = self.deck.clone();
        // Behind the store, which does not wait for another disk; what was stopped is written down behind its turn.
        let _ = tokio::task::spawn_blocking(move || deck.end()).await;
        if let Some(me) = self.me.upgrade() {
            // Behind the store: what is acknowledged there must not wait for what can be made again.
            let _ = tokio::task::spawn_blocking(move || me.keep_full_text()).await;
        }
    }

    /// Returns when the last operation was made, in words.
    pub fn saved_when(&self) -> String {
        match self.memory.lock().last() {
            Some(operation) => format!("last at {}", local(operation.why.at).strftime("%Y-%m-%d %H:%M:%S")),
            None => "nothing yet".to_string(),
        }
    }

    /// Notes where programs can connect by the network, or why they cannot.
    pub fn note_listening(&self, at: Result<SocketAddr, String>) {
        *self.listening.lock() = Some(at);
    }

    /// Returns where programs can connect by the network, or why they cannot; `None` where they are not meant to.
    pub fn listening(&self) -> Option<Result<SocketAddr, String>> {
        self.listening.lock().clone()
    }

    /// Returns what of the memex could not be read, one line a file.
    pub fn problems(&self) -> Vec<String> {
        self.problems.lock().iter().map(ToString::to_string).collect()
    }

    /// Returns how many skills are loaded, and what is wrong with others; see [`Engine::skill_gaps`] for those with
    /// rules.
    pub fn skill_report(&self) -> (usize, Vec<String>) {
        let skills = self.skills();
        (skills.loaded.skills.len() + skills.loaded.installed.len(), skills.loaded.complaints())
    }

    /// Returns which skills have rules that are not in force, with what follows from it and the way out.
    pub fn skill_gaps(&self) -> Vec<String> {
        self.skills().loaded.gaps(self.skill_host.is_some())
    }

    /// Returns the gaps for the first conversation of this session of the program, and nothing after that.
    pub(super) fn untold_gaps(&self) -> Option<String> {
        let gaps: Vec<String> = self.skill_gaps().into_iter().chain(self.rule_gaps()).collect();
        let told = gaps.is_empty() || self.gaps_told.swap(true, std::sync::atomic::Ordering::Relaxed);
        (!told).then(|| gaps.iter().map(|gap| format!("Attention: {gap}.")).collect::<Vec<_>>().join("\n"))
    }

    /// Returns how the Lisp of skills did since the start: for each skill that was called, its name and what is known.
    pub fn skill_runs(&self) -> Vec<(String, Runs)> {
        self.skill_host.as_ref().map_or_else(Vec::new, |host| host.all_runs())
    }

    /// Returns how many Lisp workers are alive and wait for a call.
    pub fn lisp_workers(&self) -> usize {
        self.workers.as_ref().map_or(0, |workers| workers.processes().len())
    }

    /// Tells background work to end.
    pub fn stop(&self) {
        self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// Returns a text with every value of the vault masked.
    pub fn mask(&self, text: &str) -> String {
        self.vault.mask(text)
    }

    /// Notes whether a buffer of the user holds a file's text: then the file on disk does not count.
    pub fn note_open(&self, file: &str, open: bool) {
        let mut files = self.open.lock();
        if open {
            files.insert(file.to_string());
        } else {
            files.remove(file);
        }
    }

    /// Keeps that the user confirmed a provider that is not local.
    ///
    /// # Errors
    /// When it could not be stored: then it is asked again.
    pub async fn confirm_provider(&self, name: &str, url: &str) -> Result<(), String> {
        let body = serde_json::json!({ "provider": name, "url": url });
        let decision = Engine::of_human(Ruling::Confirmed, format!("the provider {name} at {url}"), "a flight plan");
        let record = (record::kind::CONFIRMATION, model::contact(name, url), body);
        self.append_all([record, audit::kept(&decision)].into_iter()).await
    }

    /// Returns a number that no other call of this process got.
    pub(super) fn next_serial(&self) -> u64 {
        self.serial.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }
}
