//! Puts an engine together: store, memory, gates, skills, providers.

use crate::domain::gate::{Gate, Gates};
use crate::domain::id::{ActionHash, TurnId};
use crate::domain::label::Privacy;
use crate::domain::memory::Memory;
use crate::domain::memory::document::PrivacyOptions;
use crate::domain::memory::shape::Shape;
use crate::domain::memory::store::{Loaded, NewRecord, RamStore, Store, StoreError};
use crate::domain::policy::loosening::Confirmed;
use crate::domain::port::LogLevel;
use crate::domain::tool;
use crate::edge::actuator::shell::Shell;
use crate::edge::clock::Clock;
use crate::edge::config::Config;
use crate::edge::editor::Editor;
use crate::edge::engine::archive::{Archive, Saving};
use crate::edge::engine::full_text::FullText;
use crate::edge::engine::intents::Intents;
use crate::edge::engine::planner::Lookout;
use crate::edge::engine::record::kind;
use crate::edge::engine::skills::{self as engine_skills};
use crate::edge::engine::{Engine, Notify, Parts};
use crate::edge::full_text::folder::{self, Folder};
use crate::edge::project;
use crate::edge::sandbox::{Launcher, Limits, SecretTest};
use crate::edge::secret::Vault;
use crate::edge::setup_files::SetupFiles;
use crate::edge::skill_host::{self, LispHost};
use crate::edge::skills::Loaded as Skills;
use crate::edge::store::{Beside, DiskStore, owner_of};
use crate::edge::survey::{Confinement, Nowhere, Survey};
use crate::edge::thread::in_place;
use crate::edge::tokens::Tokens;
use crate::edge::walk::canonical;
use crate::edge::worker::{WorkerLimits, Workers};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a start waits for the owner of a store that is about to end.
const OWNER_PATIENCE: Duration = Duration::from_millis(500);
/// How long an owner is waited for that makes its store just now: its tables are on the disk within that.
const MAKING_PATIENCE: Duration = Duration::from_secs(10);
/// How long finding facts may take.
const SURVEY_PATIENCE: Duration = Duration::from_secs(15);
/// What is said of a start that was stopped.
const STOPPED: &str = "the start was stopped";

/// What an engine is started with.
pub struct Boot {
    /// Settings.
    pub config: Config,
    /// Keys.
    pub vault: Vault,
    /// The user's editor.
    pub editor: Arc<dyn Editor>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Tells subscribers.
    pub notify: Notify,
    /// Whether the store lives on disk, or in memory alone.
    pub keep: Keep,
}

/// Where the store lives, and what to do when it cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// On disk. When it cannot be opened, this session goes on without one and says so.
    OnDisk,
    /// On disk, or the start fails.
    OnDiskOnly,
    /// On disk; when another process owns it, it is read along, and what must be stored is refused.
    Along,
    /// As [`Keep::Along`], and as [`Keep::OnDisk`] when it cannot be opened at all.
    Examine,
    /// On disk, to be read only, whoever owns it. Where there is none yet, it is empty.
    ToRead,
    /// In memory: nothing is kept.
    InMemory,
}

/// Starts an engine: opens the store and loads what it holds. It reads no memex yet.
///
/// # Errors
/// When the system gives no threads, or the store must be on disk and cannot be opened.
pub async fn start(boot: Boot) -> Result<Arc<Engine>, String> {
    start_until(boot, Arc::default()).await
}

/// Starts an engine, as [`start`] does, unless it is told to stop meanwhile: then it lets go of the store soon,
/// also when nobody waits for this any more.
///
/// # Errors
/// As [`start`], and when it was stopped.
pub async fn start_until(boot: Boot, stop: Arc<AtomicBool>) -> Result<Arc<Engine>, String> {
    let (folder, heads, keep) = (boot.config.store.clone(), boot.config.heads(), boot.keep);
    let opened = tokio::task::spawn_blocking(move || open(&folder, &heads, keep));
    let opened = opened.await.map_err(|_| "opening the store broke".to_string())??;
    start_found(boot, opened, stop).await
}

/// Where the store of a session is.
pub enum Found {
    /// It is this process's, or this session goes on without one.
    Here(Opened),
    /// Another process owns it: who, in words.
    Elsewhere(String),
}

/// Opens a store, unless another process owns it; at `last`, goes on without it then. It may take long.
///
/// # Errors
/// Never in words of its own: what cannot be opened is gone without, with the reason.
pub fn find(folder: &std::path::Path, heads: &std::path::Path, last: bool) -> Result<Found, String> {
    match DiskStore::open(folder) {
        Ok(mut store) => {
            store.watch(heads);
            Ok(Found::Here(Opened::owned(Box::new(store))))
        }
        Err(StoreError::Locked { owner, .. }) if !last => Ok(Found::Elsewhere(owner)),
        Err(error) => go_without(error, Keep::OnDisk).map(Found::Here),
    }
}

/// Starts an engine on a store that was opened already, unless it is told to stop meanwhile; where `boot` says that it
/// lives does not count.
///
/// # Errors
/// When the system gives no threads, the store cannot be read, or it was stopped.
pub async fn start_found(boot: Boot, opened: Opened, stop: Arc<AtomicBool>) -> Result<Arc<Engine>, String> {
    let Boot { mut config, vault, editor, clock, notify, keep } = boot;
    // Facts name files by their canonical paths: memory must too, or it would not know what is private.
    config.directories = config.directories.iter().map(|path| canonical(path)).collect();
    let setups = SetupFiles::of(&config);
    let shape = Shape {
        scan: setups.scan_options(config.org.todo_sequences.clone()),
        privacy: PrivacyOptions { tags: config.private_tags.clone() },
    };
    let scanning = shape.scan.clone();
    let read = tokio::task::spawn_blocking(move || load(opened, keep, &shape, &stop));
    let (opened, loaded, intents) = read.await.map_err(|_| "reading the store broke".to_string())??;
    let Opened { store, trouble, beside } = opened;
    // Who only looks on asks no model.
    let own = beside.is_none() && !matches!(keep, Keep::ToRead | Keep::Examine);
    let noted = store.path().filter(|_| own);
    let memory = Memory::restore(loaded.view, loaded.log);
    let complaints = notify.clone();
    let complaint_clock = clock.clone();
    let saving = Saving { retry: config.auto_save, on_exit: config.save_on_exit };
    let archive = Archive::start_saving(store, memory.at(), intents, saving, move |why| {
        let line = crate::edge::log::Line {
            at: complaint_clock.now(),
            level: LogLevel::Error,
            text: format!("the store: {why}"),
            privacy: Privacy::Private,
        };
        complaints(crate::edge::engine::Notice::Logged(line));
    })?;
    let full_text = match keep {
        Keep::InMemory => FullText::default(),
        Keep::OnDisk | Keep::OnDiskOnly | Keep::Along | Keep::Examine | Keep::ToRead => {
            // Without a folder for it the index is in memory.
            FullText::new(Folder::open(&config.cache, &config.store, folder::reading(&scanning)).ok())
        }
    };
    let lookout = Lookout::default();
    let config_launcher = config.launcher.clone();
    let vault = Arc::new(vault);
    let skills = {
        let confirmed = super::authority::confirmed(&archive).await?;
        in_place(|| crate::edge::skills::load_for(&config, &confirmed, &|_| None))
    };
    let survey =
        Survey::new(vault.clone(), Arc::new(lookout.clone()), Some(Arc::new(lookout.clone())), SURVEY_PATIENCE);
    let shell = shell(&config_launcher);
    let confinement = shell.as_ref().ok().map(|shell| Arc::new(shell.clone()) as Arc<dyn Confinement>);
    let workers = workers(&shell);
    let host = skill_host(&workers, &confinement, &skills);
    let survey = asking(survey.confined_by(confinement), &host);
    let parts = Parts {
        config,
        surveyor: Arc::new(survey),
        setups,
        archive,
        memory,
        stamps: loaded.stamps,
        editor,
        clock,
        tokens: Arc::new(Tokens::new()),
        vault,
        store_trouble: trouble.clone(),
        beside: beside.clone(),
        shell,
        workers,
        skill_host: host.clone(),
        skills: engine_skills::Skills::new(skills),
        full_text,
        notify,
    };
    // It opens the full-text index, which may take a moment.
    let made = tokio::task::spawn_blocking(move || Engine::new(parts)).await;
    let engine = made.map_err(|_| "making the engine broke".to_string())?;
    lookout.set(&engine);
    log_panics(&engine);
    if let Some(host) = host {
        let engine = Arc::downgrade(&engine);
        host.telling(move |text| {
            if let Some(engine) = engine.upgrade() {
                engine.say(LogLevel::Warning, text);
            }
        });
    }
    log_lost_texts(&engine);
    engine.leave_out_strangers();
    for problem in trouble.into_iter().map(|trouble| trouble.text).chain(engine.skill_gaps()) {
        engine.say(LogLevel::Error, &problem);
    }
    for problem in loaded.problems.into_iter().chain(engine.skill_report().1) {
        engine.say(LogLevel::Warning, &problem);
    }
    for notice in engine.config.notices.clone() {
        engine.say(LogLevel::Warning, &notice);
    }
    // What a crash left of trials; nobody waits for it.
    let trials = crate::edge::actuator::rehearse::folder(&engine.config);
    drop(tokio::task::spawn_blocking(move || crate::edge::actuator::rehearse::sweep(&trials)));
    if beside.is_none() {
        let scratches = project::scratches(&engine.config);
        drop(tokio::task::spawn_blocking(move || project::sweep(&scratches, project::OLD)));
    }
    engine.load_plans().await?;
    engine.load_marks().await?;
    engine.load_authority().await?;
    engine.load_jobs().await?;
    engine.load_focus().await;
    // Who only looks on makes no context.
    if !matches!(keep, Keep::ToRead | Keep::Examine) {
        engine.recall_changes_soon();
    }
    match beside {
        // What is under way there is its owner's to end.
        Some(why) => {
            engine.show_expired();
            // What may be done beside the owner is not known yet of a question: whoever asks it says so.
            if !matches!(keep, Keep::ToRead | Keep::Along) {
                engine.say(LogLevel::Warning, &why);
            }
        }
        None => {
            // Who only examines does not say where the notes are.
            let kept = if matches!(keep, Keep::Examine) { Ok(()) } else { engine.keep_memex().await };
            if let Err(why) = kept {
                engine.say(LogLevel::Warning, &format!("the folders of the memex could not be kept: {why}"));
            }
            engine.settle_plans().await?;
            engine.find_unfinished().await;
            engine.find_changed().await;
        }
    }
    engine.load_cascade().await;
    engine.set_up_cascade();
    let cascade = engine.cascade.read().clone();
    engine.load_factors(&cascade).await;
    engine.find_calls(noted).await;
    engine.load_spent().await;
    engine.set_up_embedding(keep != Keep::InMemory);
    Ok(engine)
}

/// Returns gates and survey as an engine has them, but for memory, editor and planner; also what is wrong with the skills.
pub fn without_memory(config: &Config, vault: Vault, patience: Duration) -> (Gates, Survey, Vec<String>) {
    // Without a store nobody knows what was confirmed; what tightens counts all the same.
    let report = crate::edge::skills::load_for(config, &Confirmed::default(), &|_| None);
    let survey = Survey::new(Arc::new(vault), Arc::new(Nowhere), None, patience);
    let asked = report.own_gates().into_iter().map(|gate| {
        format!("{}: no gate in Lisp is asked without a store or a memex, so it denies every act", gate.name())
    });
    let problems = asked.chain(report.gaps(true)).chain(report.complaints()).collect();
    (report.gates(), survey, problems)
}

/// Says in the log which texts the store cannot give back, as long as the engine lives.
fn log_lost_texts(engine: &Arc<Engine>) {
    let (view, engine) = (engine.view(), Arc::downgrade(engine));
    if let Some(shelf) = view.shelf() {
        shelf.listen(move |text| {
            if let Some(engine) = engine.upgrade() {
                engine.say(LogLevel::Warning, text);
            }
        });
    }
}

/// Takes panics of this program into the log, each with its place, as long as the engine lives.
fn log_panics(engine: &Arc<Engine>) {
    let (mut lines, engine) = (crate::edge::panics::listen(), Arc::downgrade(engine));
    tokio::spawn(async move {
        while let Some(line) = lines.recv().await
            && let Some(engine) = engine.upgrade()
        {
            engine.say(LogLevel::Error, &line);
        }
    });
}

/// Evaluates Lisp under the same launcher; nothing is started before the first call.
fn workers(shell: &Result<Shell, String>) -> Result<Arc<Workers>, String> {
    let shell = shell.as_ref().map_err(Clone::clone)?;
    Ok(Arc::new(Workers::new(shell.launcher().clone(), WorkerLimits::USUAL)))
}

/// Runs the Lisp of skills; `None` where nothing can be confined.
fn skill_host(
    workers: &Result<Arc<Workers>, String>,
    confinement: &Option<Arc<dyn Confinement>>,
    skills: &Skills,
) -> Option<Arc<LispHost>> {
    let (Ok(workers), Some(confinement)) = (workers, confinement) else { return None };
    let host = LispHost::new(workers.clone(), confinement.clone(), skills.with_lisp(), skill_host::CALL);
    Some(Arc::new(host))
}

/// Makes a survey ask the gates of skills. Without a host none has an answer, and denies.
fn asking(survey: Survey, host: &Option<Arc<LispHost>>) -> Survey {
    match host {
        Some(host) => survey.asking(host.clone(), skill_host::PATIENCE),
        None => survey,
    }
}

/// Runs commands under the launcher that was set, or that lies beside this program.
fn shell(launcher: &Option<std::path::PathBuf>) -> Result<Shell, String> {
    let found = match launcher {
        Some(path) => Launcher::at(path),
        None => Launcher::find(),
    };
    let said = tool::Toolbox::builtin().get("shell").map_or(tool::Limits::USUAL, |tool| tool.limits);
    let limits = Limits { seconds: said.seconds, output: said.characters };
    let secret: SecretTest = Arc::new(|path: &str| crate::domain::gate::place::secret_name(path).is_some());
    found.map(|launcher| Shell::new(launcher, secret, limits)).map_err(|error| error.to_string())
}

/// Why this session goes on without its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreTrouble {
    /// What is wrong and what to do.
    pub text: String,
    /// Whether the store can be made anew from its log and the Org files.
    pub rebuild: bool,
}

/// A store, and how it was come by.
pub struct Opened {
    /// The store.
    pub store: Box<dyn Store>,
    /// Why it lives in memory only, when it should not.
    pub trouble: Option<StoreTrouble>,
    /// Why it is only read along, when it is.
    pub beside: Option<String>,
}

impl Opened {
    /// A store of one's own.
    pub fn owned(store: Box<dyn Store>) -> Opened {
        Opened { store, trouble: None, beside: None }
    }

    fn without(trouble: Option<StoreTrouble>) -> Opened {
        Opened { trouble, ..Opened::owned(Box::<RamStore>::default()) }
    }
}

fn open(folder: &std::path::Path, heads: &std::path::Path, keep: Keep) -> Result<Opened, String> {
    let watched = |mut store: DiskStore| {
        store.watch(heads);
        Opened::owned(Box::new(store))
    };
    let own = || DiskStore::open_patiently(folder, OWNER_PATIENCE).map(watched);
    let opened = match keep {
        Keep::InMemory => return Ok(Opened::without(None)),
        Keep::OnDisk | Keep::OnDiskOnly => own(),
        Keep::Along | Keep::Examine => match DiskStore::open(folder) {
            Ok(store) => Ok(watched(store)),
            Err(StoreError::Locked { owner, .. }) => beside(folder, Some(owner)),
            Err(error) => Err(error),
        },
        Keep::ToRead => match (folder.join("memory.sqlite").exists(), folder.join("memory.log").exists()) {
            (true, _) => beside(folder, owner_of(folder)),
            // The log makes the store anew.
            (false, true) => own(),
            (false, false) => return Ok(Opened::without(None)),
        },
    };
    opened.or_else(|error| go_without(error, keep))
}

/// Reads along in the store of another process.
fn beside(folder: &std::path::Path, owner: Option<String>) -> Result<Opened, StoreError> {
    let store = DiskStore::open_beside(folder, MAKING_PATIENCE)?;
    let why = match &owner {
        Some(owner) => format!(
            "the store is in use by {owner}: it is read as it stands, and nothing of this is kept in it; what must be kept is done there, or after that process has ended"
        ),
        None => "the store was opened to be read".to_string(),
    };
    let store = Box::new(Beside::new(store, owner, forgettable));
    Ok(Opened { beside: Some(why), ..Opened::owned(store) })
}

/// What may be forgotten of a question that is asked beside a store: the turn, and the label of a conversation
/// that ends with its process. Intents, plans and confirmations may not.
fn forgettable(what: &str) -> bool {
    matches!(what, kind::TURN | kind::LABEL)
}

fn go_without(error: StoreError, keep: Keep) -> Result<Opened, String> {
    match keep {
        Keep::OnDiskOnly | Keep::Along | Keep::ToRead | Keep::InMemory => return Err(error.to_string()),
        Keep::OnDisk | Keep::Examine => {}
    }
    let rebuild = match &error {
        StoreError::Corrupt { .. }
        | StoreError::Missing(_)
        | StoreError::Damaged { .. }
        | StoreError::Failed { .. } => true,
        StoreError::Open { .. }
        | StoreError::Unmade { .. }
        | StoreError::Conflict { .. }
        | StoreError::Newer { .. }
        | StoreError::Locked { .. }
        | StoreError::Vanished { .. }
        | StoreError::LetGo(_)
        | StoreError::Full { .. }
        | StoreError::ReadOnly { .. } => false,
    };
    Ok(Opened::without(Some(StoreTrouble { text: error.to_string(), rebuild })))
}

/// Reads what a store holds: memory, and the acts that have no outcome.
fn load(mut opened: Opened, keep: Keep, shape: &Shape, stop: &AtomicBool) -> Result<(Opened, Loaded, Intents), String> {
    // Whoever stops does not wait for all files, and the next start finds the store free.
    let going = || if stop.load(Ordering::Relaxed) { Err(STOPPED.to_string()) } else { Ok(()) };
    let read = |store: &mut dyn Store| -> Result<(Loaded, Intents), StoreError> {
        Ok((store.load_cards(shape, &going)?, Intents::read(store)?))
    };
    let read = read(opened.store.as_mut());
    // What was left out here must not be taken for damage.
    going()?;
    let (loaded, intents) = match read {
        Ok(read) => read,
        Err(error) => {
            opened = go_without(error, keep)?;
            Default::default()
        }
    };
    Ok((opened, loaded, intents))
}

impl Engine {
    /// Says which acts of an earlier session have an intent and no outcome: nobody knows what came of them.
    async fn find_unfinished(&self) {
        for intent in self.archive.intents().await.open() {
            let what = intent.body["summary"].as_str().unwrap_or("an act").to_string();
            let text = format!("an earlier session ended while this was being done: {what}; look whether it was");
            self.say(LogLevel::Warning, &text);
            let changed = self.recover_change(intent).await;
            self.end_intent(intent, "unknown", &changed).await;
        }
        if self.archive.intents().await.worth_a_mark()
            && let Err(why) = self.append(kind::SETTLED, kind::INTENT, serde_json::Value::Null).await
        {
            self.say(LogLevel::Error, &why);
        }
    }

    /// Ends the acts of a turn that was stopped, and returns them in words.
    pub(super) async fn end_unfinished(&self, turn: &TurnId) -> Vec<String> {
        let mut acts = Vec::new();
        let intents = self.archive.intents().await;
        for intent in intents.open().filter(|intent| intent.body["turn"] == turn.0.as_str()) {
            acts.push(intent.body["summary"].as_str().unwrap_or("an act").to_string());
            let begun = ActionHash::from_hex(&intent.key).map(|action| (turn.clone(), action));
            if let Some(act) = begun
                && !self.stop_change(&act).await
            {
                let text = "an act that was stopped still writes; the next start looks at what it changed";
                self.say(LogLevel::Error, text);
                continue;
            }
            let changed = self.recover_change(intent).await;
            self.end_intent(intent, "cancelled", &changed).await;
        }
        acts
    }

    async fn end_intent(&self, intent: &NewRecord, word: &str, changed: &[String]) {
        let body = serde_json::json!({ "turn": intent.body["turn"], "outcome": word, "changed": changed });
        if let Err(why) = self.append(kind::OUTCOME, &intent.key, body).await {
            self.say(LogLevel::Error, &why);
        }
    }
}
