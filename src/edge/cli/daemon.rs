//! `passepartout daemon`: the core without Emacs, in the foreground, until a signal ends it.

use crate::domain::inert::exact;
use crate::domain::label::{Privacy, PrivacyTag};
use crate::domain::port::LogLevel;
use crate::edge::cli::args::Place;
use crate::edge::cli::run::{DONE, Failure, UNFIT};
use crate::edge::cli::session::{block_on, configured, settled, somewhere, vault};
use crate::edge::config::{Config, READ, Surroundings};
use crate::edge::engine::folders::known_memex;
use crate::edge::engine::{Notice, Notify};
use crate::edge::runtime::daemon::{Daemon, Unbegun};
use crate::edge::secret::{Vault, read_env_file};
use crate::edge::signals::{self, Told};
use crate::edge::thread::in_place;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;

/// How often it is looked whether a store that is in use is free.
const LOOK: Duration = Duration::from_secs(1);

/// Works until it is told to end.
///
/// # Errors
/// When the store cannot be had; with [`UNFIT`] when another process owns it.
pub(super) fn run_daemon(place: &Place, wait: bool, private: bool) -> Result<u8, Failure> {
    // Before any other thread is there.
    let mut told = signals::expect()?;
    somewhere(place)?;
    let log = Arc::new(Log::new(private));
    block_on(async {
        let Some(daemon) = begun(place, wait, &log, &mut told).await? else { return Ok(DONE) };
        let mut known = fingerprints(&configured(place).settings).unwrap_or_default();
        while let Some(Told::Reload) = told.recv().await {
            reload(&daemon, place, &mut known, &log).await;
        }
        log.say(LogLevel::Info, "told to end: what is under way is interrupted and everything is saved");
        daemon.end().await;
        log.say(LogLevel::Info, "ended");
        Ok(DONE)
    })
}

/// Begins, and with `wait` waits for a store that is in use; `None` when it was told to end meanwhile.
async fn begun(
    place: &Place,
    wait: bool,
    log: &Arc<Log>,
    told: &mut UnboundedReceiver<Told>,
) -> Result<Option<Daemon>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut said = false;
    loop {
        let config = in_place(|| settings(place));
        let store = config.store.display().to_string();
        log.settings(&config.notices);
        let vault = vault(&config);
        let begun = tokio::select! {
            begun = Daemon::begin(config, vault, hearing(log), stop.clone()) => begun,
            () = ending(told) => {
                stop.store(true, Ordering::Relaxed);
                return Ok(None);
            }
        };
        match begun {
            Ok(daemon) => {
                let (process, socket) = (std::process::id(), daemon.socket.display());
                log.say(LogLevel::Info, &format!("process {process} owns the store {store} and listens at {socket}"));
                return Ok(Some(daemon));
            }
            Err(Unbegun::Failed(why)) => return Err(why.into()),
            Err(Unbegun::Owned(owner)) if !wait => {
                let text = format!(
                    "the store {store} is in use by {owner}; end that process first, or say --wait to begin when it has ended"
                );
                return Err(Failure { text, status: UNFIT });
            }
            Err(Unbegun::Owned(owner)) => {
                if !std::mem::replace(&mut said, true) {
                    log.say(
                        LogLevel::Info,
                        &format!("the store {store} is in use by {owner}; waiting until it is free"),
                    );
                }
            }
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = ending(told) => return Ok(None),
        }
    }
}

/// Waits until this is to end.
async fn ending(told: &mut UnboundedReceiver<Told>) {
    while let Some(Told::Reload) = told.recv().await {}
}

/// The settings of the environment and of the settings folder. What was private in this store stays so: an Emacs that
/// owned it may have set tags that the environment does not have.
pub(super) fn settings(place: &Place) -> Config {
    let mut config = settled(place);
    let known = known_memex(&config.store);
    let more: Vec<PrivacyTag> =
        known.private_tags.into_iter().filter(|tag| !config.private_tags.contains(tag)).collect();
    config.private_tags.extend(more);
    let more: Vec<_> =
        known.untrusted_folders.into_iter().filter(|folder| !config.untrusted_folders.contains(folder)).collect();
    config.untrusted_folders.extend(more);
    config
}

/// Takes what can be taken anew of the settings, and says what cannot.
async fn reload(daemon: &Daemon, place: &Place, known: &mut BTreeMap<String, blake3::Hash>, log: &Log) {
    let config = in_place(|| configured(place));
    let now = match fingerprints(&config.settings) {
        Ok(now) => now,
        Err(why) => return log.say(LogLevel::Error, &format!("the settings stay as they were: {why}")),
    };
    let changed: BTreeSet<&String> =
        now.keys().chain(known.keys()).filter(|name| now.get(*name) != known.get(*name)).collect();
    let (taken, late): (Vec<&String>, Vec<&String>) = changed.into_iter().partition(|name| is_taken(name));
    let mut lines = Vec::new();
    let listed = |names: &[&String]| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    if !taken.is_empty() {
        lines.push(format!("taken: {}", listed(&taken)));
    }
    if taken.iter().any(|name| !now.contains_key(*name)) {
        lines.push("a key that was taken away is known until the next start".to_string());
    }
    if !late.is_empty() {
        lines.push(format!("these count from the next start on: {}", listed(&late)));
    }
    let env_file = read_env_file(&config.settings.join(".env")).unwrap_or_default();
    let variables = Surroundings::of_process().variables;
    // The first of one name counts: the environment goes before the file.
    let mut keys = Vault::keys_among(variables.into_iter().chain(env_file));
    let mut seen = BTreeSet::new();
    keys.retain(|(name, _)| seen.insert(name.clone()));
    let (skills, providers) = daemon.reload(config.provider_settings(), keys).await;
    lines.extend(skills.is_empty().then(|| "skills as before".to_string()));
    lines.extend(skills);
    lines.push(format!("providers: {}", providers.join(", ")));
    lines.extend(config.unknown_names());
    log.say(LogLevel::Info, &format!("settings were read anew; {}", lines.join("; ")));
    *known = now;
}

/// Returns whether a setting counts as soon as it is read anew.
fn is_taken(name: &str) -> bool {
    let address = ["OLLAMA_HOST", "LLAMA_HOST", "LOCAL_BASE_URL"].contains(&name);
    let embedding = name.starts_with("EMBEDDING_");
    address || name.starts_with("PROVIDER_CASCADE") || (name.ends_with("_API_KEY") && !embedding)
}

/// Returns every setting with what tells whether it has changed, and not with its value: some are keys.
fn fingerprints(settings: &Path) -> Result<BTreeMap<String, blake3::Hash>, String> {
    let file = read_env_file(&settings.join(".env")).map_err(|why| why.to_string())?;
    let environment = Surroundings::of_process().variables;
    let all = file.into_iter().chain(environment).filter(|(name, _)| READ.contains(&name.as_str()));
    Ok(all.map(|(name, value)| (name, blake3::hash(value.as_bytes()))).collect())
}

/// Hands on what the engine logs.
fn hearing(log: &Arc<Log>) -> Notify {
    let log = log.clone();
    Arc::new(move |notice| {
        if let Notice::Logged(line) = notice {
            log.engine(line.level, line.privacy, &line.text);
        }
    })
}

/// Lines on standard error, each with its level.
struct Log {
    /// Lines of which nobody knows how private they are are written, too.
    whole: bool,
    /// The journal takes levels in its own form, and knows the time.
    journal: bool,
    /// It was said that a line was left out.
    left_out: AtomicBool,
    /// What was said of the settings; the engine says it once more.
    settings: Mutex<Vec<String>>,
}

impl Log {
    fn new(private: bool) -> Log {
        // At a terminal its user reads along.
        let whole = private || std::io::stderr().is_terminal();
        Log { whole, journal: in_journal(), left_out: AtomicBool::new(false), settings: Mutex::default() }
    }

    /// Says what is wrong with the settings, wherever the lines go: what stands in them is no note.
    fn settings(&self, notices: &[String]) {
        let mut said = self.settings.lock();
        for notice in notices {
            if !said.contains(notice) {
                self.say(LogLevel::Warning, notice);
                said.push(notice.clone());
            }
        }
    }

    /// Writes a line of the engine's, from which secrets were masked. One that may name private notes is left out where
    /// the lines are kept.
    fn engine(&self, level: LogLevel, privacy: Privacy, text: &str) {
        if self.settings.lock().iter().any(|said| said == text) {
            return;
        }
        if self.whole || privacy == Privacy::Open {
            return self.say(level, text);
        }
        if level != LogLevel::Info && !self.left_out.swap(true, Ordering::Relaxed) {
            let text = "a line was left out here, as it may name private notes (and others may follow); \
                        M-x passepartout-log shows it, passepartout health says what is wrong, and --log-private \
                        writes all of them";
            self.say(level, text);
        }
    }

    fn say(&self, level: LogLevel, text: &str) {
        let line = line(level, text, self.journal, jiff::Timestamp::now());
        // Who has closed standard error reads nothing.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

fn line(level: LogLevel, text: &str, journal: bool, at: jiff::Timestamp) -> String {
    // A line stays one, and nothing in it is hidden or turns the order of what stands behind it.
    let text = exact(text).replace(['\n', '\t'], " ");
    let number = match level {
        LogLevel::Error => 3,
        LogLevel::Warning => 4,
        LogLevel::Info => 6,
    };
    match journal {
        true => format!("<{number}>{text}\n"),
        false => format!("{} {}: {text}\n", at.strftime("%Y-%m-%dT%H:%M:%SZ"), level.name()),
    }
}

/// Returns whether standard error leads to the journal, as systemd says it.
fn in_journal() -> bool {
    let said = std::env::var("JOURNAL_STREAM").ok();
    let Some((device, inode)) = said.as_deref().and_then(|said| said.split_once(':')) else { return false };
    let here = std::fs::metadata("/proc/self/fd/2");
    here.is_ok_and(|here| here.dev().to_string() == device && here.ino().to_string() == inode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_level_in_the_form_that_its_reader_takes() {
        let at: jiff::Timestamp = "2026-03-02T09:00:00Z".parse().expect("a moment");
        for (level, journal, expected) in [
            (LogLevel::Info, false, "2026-03-02T09:00:00Z info: one two\n"),
            (LogLevel::Warning, false, "2026-03-02T09:00:00Z warning: one two\n"),
            (LogLevel::Error, true, "<3>one two\n"),
            (LogLevel::Warning, true, "<4>one two\n"),
            (LogLevel::Info, true, "<6>one two\n"),
        ] {
            assert_eq!(line(level, "one\ntwo", journal, at), expected);
        }
        for text in ["a\u{202e}b", "a\u{200b}b", "a\u{1b}[2Jb", "a\rb", "a\u{2028}b", "a\u{85}b"] {
            let line = line(LogLevel::Info, text, true, at);
            let plain = |c: char| c == ' ' || c.is_ascii_graphic();
            assert!(
                line.strip_prefix("<6>a").is_some_and(|rest| rest.trim_end_matches('\n').chars().all(plain)),
                "{line:?}"
            );
        }
    }

    #[test]
    fn only_providers_and_their_keys_count_at_once() {
        for (name, taken) in [
            ("PROVIDER_CASCADE", true),
            ("PROVIDER_CASCADE_CODE", true),
            ("OPENAI_API_KEY", true),
            ("OLLAMA_HOST", true),
            ("EMBEDDING_API_KEY", false),
            ("EMBEDDING_URL", false),
            ("MEMEX_DIR", false),
            ("DAY_BUDGET_USD", false),
        ] {
            assert_eq!(is_taken(name), taken, "{name}");
        }
    }
}
