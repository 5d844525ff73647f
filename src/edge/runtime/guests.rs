//! A command that owns a store while it runs serves who joins it meanwhile, as the owner in an Emacs does.
//!
//! Nobody waits for the command then. When it has done its own work, it lets what it does for others come to an end,
//! says that it leaves, and one of those that joined it owns the store next.

use crate::domain::sexp::plist::Plist;
use crate::edge::editor::Editor;
use crate::edge::engine::{Engine, Notify};
use crate::edge::peers::{place, pulse};
use crate::edge::runtime::clients::Clients;
use crate::edge::runtime::hall::{self, Host};
use crate::edge::runtime::{Ears, Event, attend, buffers, tell};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How long turns of others may go on when the command's own work is done.
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
        let hall = tokio::spawn(hall::open(listening, inbox.clone(), Host::Command));
        let room = tokio::spawn(attend(engine.clone(), clients.clone(), ears, buffers::read(engine.clone())));
        Some(Serving { clients, inbox, hall, room })
    }
}

impl Serving {
    /// Serves until what others have under way is done, or takes too long; then they look for another owner.
    pub async fn end(self) {
        // Before the store is free: its next owner binds a socket of its own.
        self.hall.abort();
        let (rested, rest) = oneshot::channel();
        if self.inbox.send(Event::Rest(rested)).is_ok() {
            // Whoever takes longer hears that it is lost.
            let _ = tokio::time::timeout(PATIENCE, rest).await;
        }
        let all = self.clients.all();
        for channel in &all {
            channel.outbox.send("event", None, Plist::new().keyword("action", pulse::LEAVING));
        }
        for channel in &all {
            // Who takes nothing finds out when the connection ends.
            let _ = tokio::time::timeout(LAST_WORDS, channel.outbox.room(0)).await;
        }
        self.room.abort();
    }
}
