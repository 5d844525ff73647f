//! Puts an engine together: store, memory, gates, skills, providers.

use crate::domain::gate::Gates;
use crate::domain::gate::standard::standard;
use crate::domain::id::TurnId;
use crate::domain::memory::Memory;
use crate::domain::memory::document::{Document, PrivacyOptions};
use crate::domain::memory::store::{Loaded, RamStore, Record, Store, StoreError};
use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::port::LogLevel;
use crate::domain::skill::Skill;
use crate::edge::actuator::shell::Shell;
use crate::edge::clock::Clock;
use crate::edge::config::Config;
use crate::edge::editor::Editor;
use crate::edge::engine::archive::Archive;
use crate::edge::engine::planner::Lookout;
use crate::edge::engine::record::kind;
use crate::edge::engine::{Engine, Notify, Parts};
use crate::edge::sandbox::{Launcher, Limits, SecretTest};
use crate::edge::secret::Vault;
use crate::edge::store::DiskStore;
use crate::edge::survey::Survey;
use crate::edge::tokens::Tokens;
use crate::edge::walk::canonical;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// How long finding facts may take.
const SURVEY_PATIENCE: Duration = Duration::from_secs(15);

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

/// Where the store lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// On disk. When it cannot be opened, this session goes on without one and says so.
    OnDisk,
    /// On disk, or the start fails.
    OnDiskOnly,
    /// In memory: nothing is kept.
    InMemory,
}

/// Starts an engine: opens the store and loads what it holds. It reads no memex yet.
///
/// # Errors
/// When the system gives no threads, or the store must be on disk and cannot be opened.
pub async fn start(boot: Boot) -> Result<Arc<Engine>, String> {
    let Boot { mut config, vault, editor, clock, notify, keep } = boot;
    // Facts name files by their canonical paths: memory must too, or it would not know what is private.
    config.directories = config.directories.iter().map(|path| canonical(path)).collect();
    let (scan_options, privacy) = (
        ScanOptions { sequences: config.todo_sequences.clone() },
        PrivacyOptions { tags: config.private_tags.clone() },
    );
    let folder = config.store.clone();
    let opened = tokio::task::spawn_blocking(move || open(&folder, keep, scan_options, privacy));
    let (store, loaded, trouble) = opened.await.map_err(|_| "opening the store broke".to_string())??;
    let memory = Memory::restore(loaded.view, loaded.log);
    let complaints = notify.clone();
    let complaint_clock = clock.clone();
    let archive = Archive::start(store, memory.at(), move |why| {
        let line = crate::edge::log::Line {
            at: complaint_clock.now(),
            level: LogLevel::Error,
            text: format!("the store: {why}"),
        };
        complaints(crate::edge::engine::Notice::Logged(line));
    })?;
    let lookout = Lookout::default();
    let config_launcher = config.launcher.clone();
    let vault = Arc::new(vault);
    let skills = crate::edge::skills::load(&skill_folders(&config));
    let (gates, gate_trouble) = gates(&skills.skills);
    let survey = Survey::new(
        Arc::new(VaultNames(vault.clone())),
        Arc::new(lookout.clone()),
        Some(Arc::new(lookout.clone())),
        SURVEY_PATIENCE,
    );
    let engine = Engine::new(Parts {
        gates,
        config,
        surveyor: Arc::new(survey),
        archive,
        memory,
        stamps: loaded.stamps,
        editor,
        clock,
        tokens: Arc::new(Tokens::new()),
        vault,
        store_trouble: trouble.clone(),
        shell: shell(&config_launcher),
        skills,
        notify,
    });
    lookout.set(&engine);
    for problem in trouble.into_iter().map(|trouble| trouble.text).chain(gate_trouble) {
        engine.say(LogLevel::Error, &problem);
    }
    for problem in loaded.problems.into_iter().chain(engine.skill_report().1) {
        engine.say(LogLevel::Warning, &problem);
    }
    for notice in engine.config.notices.clone() {
        engine.say(LogLevel::Warning, &notice);
    }
    engine.load_plans().await?;
    engine.find_unfinished().await;
    engine.set_up_cascade();
    Ok(engine)
}

/// Runs commands under the launcher that was set, or that lies beside this program.
fn shell(launcher: &Option<std::path::PathBuf>) -> Result<Shell, String> {
    let found = match launcher {
        Some(path) => Launcher::at(path),
        None => Launcher::find(),
    };
    let secret: SecretTest = Arc::new(|path: &str| crate::domain::gate::place::secret_name(path).is_some());
    found.map(|launcher| Shell::new(launcher, secret, Limits::USUAL)).map_err(|error| error.to_string())
}

/// The folders of skills: the shipped ones, those beside our settings, then the user's.
fn skill_folders(config: &Config) -> Vec<std::path::PathBuf> {
    let beside = || {
        let program = std::env::current_exe().ok()?;
        let near = program.ancestors().skip(1).take(4).map(|folder| folder.join("skills"));
        near.into_iter().find(|folder| folder.join("policy.org").is_file())
    };
    let shipped = config.shipped_skills.clone().or_else(beside);
    shipped
        .into_iter()
        .chain([config.settings.join("skills")])
        .chain(config.skill_directories.iter().cloned())
        .collect()
}

/// The gates with the rules of skills. When a rule is broken nothing may happen: an empty stack denies.
pub(super) fn gates(skills: &[Skill]) -> (Gates, Option<String>) {
    match crate::domain::skill::gate::gates(skills) {
        Ok(rules) => (standard(rules), None),
        Err(bad) => (Gates::new(Vec::new()), Some(format!("a skill's rule is broken, so nothing may happen: {bad}"))),
    }
}

/// Why this session goes on without its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreTrouble {
    /// What is wrong and what to do.
    pub text: String,
    /// Whether the store can be made anew from its log and the Org files.
    pub rebuild: bool,
}

type Opened = (Box<dyn Store>, Loaded, Option<StoreTrouble>);

fn open(
    folder: &std::path::Path,
    keep: Keep,
    scan_options: ScanOptions,
    privacy: PrivacyOptions,
) -> Result<Opened, String> {
    let build = |file: &Arc<str>, text: Arc<str>| {
        let outline = scan(text, &scan_options).map_err(|e| format!("{file}: {e}"))?;
        Ok(Document::build(file.clone(), outline, &privacy))
    };
    let in_memory = |trouble| Ok((Box::new(RamStore::default()) as Box<dyn Store>, Loaded::default(), trouble));
    if keep == Keep::InMemory {
        return in_memory(None);
    }
    let opened = DiskStore::open(folder).and_then(|mut store| store.load(&build).map(|loaded| (store, loaded)));
    match opened {
        Ok((store, loaded)) => Ok((Box::new(store), loaded, None)),
        Err(error) if keep == Keep::OnDiskOnly => Err(error.to_string()),
        Err(error) => {
            let rebuild = match &error {
                StoreError::Corrupt { .. }
                | StoreError::Missing(_)
                | StoreError::Open { .. }
                | StoreError::Failed { .. } => true,
                StoreError::Conflict { .. }
                | StoreError::Newer { .. }
                | StoreError::Locked { .. }
                | StoreError::Full { .. }
                | StoreError::ReadOnly { .. } => false,
            };
            in_memory(Some(StoreTrouble { text: error.to_string(), rebuild }))
        }
    }
}

/// The vault as the survey sees it: names of keys, never values.
struct VaultNames(Arc<Vault>);

impl crate::edge::survey::VaultScan for VaultNames {
    fn find(&self, text: &str) -> Vec<String> {
        self.0.scan(text)
    }
}

impl Engine {
    /// Says which acts of an earlier session have an intent and no outcome: nobody knows what came of them.
    async fn find_unfinished(&self) {
        for intent in self.unfinished().await {
            let what = intent.body["summary"].as_str().unwrap_or("an act").to_string();
            let text = format!("an earlier session ended while this was being done: {what}; look whether it was");
            self.say(LogLevel::Warning, &text);
            self.end_intent(&intent, "unknown").await;
        }
    }

    /// Ends the acts of a turn that was stopped, and returns them in words.
    pub(super) async fn end_unfinished(&self, turn: &TurnId) -> Vec<String> {
        let mut acts = Vec::new();
        for intent in self.unfinished().await.into_iter().filter(|intent| intent.body["turn"] == turn.0.as_str()) {
            acts.push(intent.body["summary"].as_str().unwrap_or("an act").to_string());
            self.end_intent(&intent, "cancelled").await;
        }
        acts
    }

    /// Returns the intents that have no outcome.
    async fn unfinished(&self) -> Vec<Record> {
        let (Ok(intents), Ok(outcomes)) =
            (self.archive.list(kind::INTENT, 0).await, self.archive.list(kind::OUTCOME, 0).await)
        else {
            return Vec::new();
        };
        let of = |record: &Record| (record.key.clone(), record.body["turn"].as_str().unwrap_or("").to_string());
        let ended: HashSet<(String, String)> = outcomes.iter().map(of).collect();
        intents.into_iter().filter(|intent| !ended.contains(&of(intent))).collect()
    }

    async fn end_intent(&self, intent: &Record, word: &str) {
        let body = serde_json::json!({ "turn": intent.body["turn"], "outcome": word, "changed": [] });
        if let Err(why) = self.append(kind::OUTCOME, &intent.key, body).await {
            self.say(LogLevel::Error, &why);
        }
    }
}
