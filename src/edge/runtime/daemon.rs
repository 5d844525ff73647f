//! A core without an Emacs: it owns the store in the foreground, works by itself, and serves who joins it, the terminal
//! client of its own process too.
//!
//! Its settings are those of its environment and of the settings folder. An Emacs that joins has the rights of a human's
//! own channel when the system installed it and a human may sit before it, which [`crate::edge::peers::identity`] finds
//! out; a terminal may approve as everywhere. What only the Emacs of a core can do (its own tools, its settings, a
//! function that chooses a provider) nobody does here.

use crate::domain::port::LogLevel;
use crate::edge::clock::SystemClock;
use crate::edge::config::{Config, ProviderSettings};
use crate::edge::engine::boot::{self, Boot, Found, Keep};
use crate::edge::engine::{Engine, Notice, Notify};
use crate::edge::peers::place;
use crate::edge::runtime::clients::Clients;
use crate::edge::runtime::guests::Serving;
use crate::edge::runtime::hall::{self, Door, Host};
use crate::edge::runtime::lobby::{self, Lobby};
use crate::edge::runtime::{Ears, Shut, buffers, listen, tell};
use crate::edge::secret::{Secret, Vault};
use crate::edge::thread::aside;
use futures_util::FutureExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::sleep;

/// How long what is under way may come to its end by itself when the daemon is told to end; then it is interrupted.
const COME_TO_AN_END: Duration = Duration::from_millis(200);
/// How long what was interrupted may take.
const INTERRUPTED: Duration = Duration::from_millis(400);
/// How long saving may take; what was acknowledged is on disk already.
const SAVING: Duration = Duration::from_millis(900);

/// Why a daemon did not begin.
#[derive(Debug, PartialEq, Eq)]
pub enum Unbegun {
    /// Another process owns the store: who, in words.
    Owned(String),
    /// The store cannot be opened, or nobody could join.
    Failed(String),
}

/// A running core without an Emacs.
pub struct Daemon {
    engine: Arc<Engine>,
    serving: Serving,
    _lobby: Option<Lobby>,
    /// Where it listens.
    pub socket: PathBuf,
}

impl Daemon {
    /// Owns the store and begins; `logs` hears every notice. From now on others can join.
    ///
    /// # Errors
    /// When another process owns the store, when it cannot be opened, and when nobody could join.
    pub async fn begin(config: Config, vault: Vault, logs: Notify, stop: Arc<AtomicBool>) -> Result<Daemon, Unbegun> {
        let (folder, heads) = (config.store.clone(), config.heads());
        let opened = match aside(move || boot::find(&folder, &heads, false)).await.map_err(Unbegun::Failed)? {
            Found::Elsewhere(owner) => return Err(Unbegun::Owned(owner)),
            Found::Here(opened) => opened,
        };
        if let Some(trouble) = opened.trouble {
            return Err(Unbegun::Failed(trouble.text));
        }
        let listening = place::listen(&config.store).map_err(Unbegun::Failed)?;
        let socket = place::of_owner(&config.store);
        let clients: Arc<Clients> = Arc::default();
        let (inbox, events) = mpsc::unbounded_channel();
        let store = config.store.clone();
        // From now on: who joins meanwhile waits until the store is read.
        let door = Door::new(inbox.clone());
        let hall = tokio::spawn(hall::open(listening, store, (door.clone(), Host::Daemon), |_| {}));
        let mut shut = Shut(Some(hall));
        let told = tell(clients.clone(), inbox.clone());
        let notify: Notify = Arc::new(move |notice: Notice| {
            logs(notice.clone());
            told(notice);
        });
        let (editor, clock) = (clients.clone(), Arc::new(SystemClock));
        let boot = Boot { config, vault, editor, clock, notify, keep: Keep::OnDiskOnly };
        let engine = boot::start_found(boot, opened, stop).await.map_err(Unbegun::Failed)?;
        let ears = Ears { inbox: inbox.clone(), events };
        let read = buffers::read(engine.clone());
        let lobby = lobby::open(&engine, door, Host::Daemon).await;
        let room = tokio::spawn(listen(engine.clone(), clients.clone(), ears, (read, Host::Daemon)));
        let hall = shut.0.take().ok_or_else(|| Unbegun::Failed("nobody listens".to_string()))?;
        Ok(Daemon { engine, serving: Serving::of(clients, inbox, hall, room), socket, _lobby: lobby })
    }

    /// Says something to all who hear the log.
    pub fn say(&self, level: LogLevel, text: &str) {
        self.engine.say(level, text);
    }

    /// Takes providers, keys and skills as they are in the settings now; returns what changed of the skills, and the
    /// names of the providers in their order.
    pub async fn reload(&self, settings: ProviderSettings, keys: Vec<(String, Secret)>) -> (Vec<String>, Vec<String>) {
        let names = self.engine.replace_providers(settings, keys);
        let skills = self.engine.reload_skills().await;
        self.engine.try_skills().await;
        (skills, names)
    }

    /// Reads the memex, and returns when all of it is known; what breaks there is in the log.
    pub async fn read(&self) {
        let engine = self.engine.clone();
        let _ = tokio::task::spawn_blocking(move || engine.read_memex(&mut |_| {})).await;
    }

    /// Lets what is under way for others come to an end, then saves and ends; once that is hurried, within 2 s.
    pub async fn leave(self, hurry: impl Future<Output = ()> + Send) {
        let Daemon { engine, serving, _lobby, .. } = self;
        let hurry = hurry.shared();
        let late = async {
            hurry.clone().await;
            sleep(COME_TO_AN_END).await;
            engine.stop();
            sleep(INTERRUPTED).await;
        };
        serving.end_unless(late).await;
        let late = async {
            hurry.await;
            sleep(SAVING).await;
        };
        tokio::select! {
            () = engine.close() => {}
            // What was acknowledged is on disk already.
            () = late => {}
        }
    }

    /// Saves and ends, within 2 s whatever is under way.
    pub async fn end(self) {
        self.leave(std::future::ready(())).await;
    }
}
