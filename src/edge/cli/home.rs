//! The core that a client runs as long as it owns the store, because nobody else does: the same as the daemon's.

use crate::edge::cli::args::Place;
use crate::edge::cli::daemon::settings;
use crate::edge::cli::session::{complaining_by, vault};
use crate::edge::peers::home::Home;
use crate::edge::runtime::daemon::{Daemon, Unbegun};
use crate::edge::thread::in_place;
use async_trait::async_trait;
use std::sync::Arc;
use tokio::sync::Mutex;

/// The core that runs here when nobody else owns the store.
pub(super) struct Here {
    place: Place,
    reading: Reading,
    tell: Arc<dyn Fn(String) + Send + Sync>,
    running: Mutex<Option<Daemon>>,
}

/// When the memex is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Before anything is answered.
    First,
    /// While something is answered already.
    Beside,
}

impl Here {
    /// Makes one; `tell` hears what is worth a warning.
    pub(super) fn new(place: &Place, reading: Reading, tell: impl Fn(String) + Send + Sync + 'static) -> Arc<Here> {
        Arc::new(Here { place: place.clone(), reading, tell: Arc::new(tell), running: Mutex::new(None) })
    }

    /// Lets go of the store when what others have under way is done; once that is hurried, within 2 s.
    pub(super) async fn leave(&self, hurry: impl Future<Output = ()> + Send) {
        let daemon = self.running.lock().await.take();
        if let Some(daemon) = daemon {
            daemon.leave(hurry).await;
        }
    }
}

#[async_trait]
impl Home for Here {
    async fn begin(&self) -> Result<bool, String> {
        let mut running = self.running.lock().await;
        if running.is_some() {
            return Ok(true);
        }
        let config = in_place(|| settings(&self.place));
        let (vault, tell) = (vault(&config), self.tell.clone());
        let tell = complaining_by(move |line| tell(line));
        let daemon = match Daemon::begin(config, vault, tell, Arc::default()).await {
            Ok(daemon) => daemon,
            Err(Unbegun::Owned(_)) => return Ok(false),
            Err(Unbegun::Failed(why)) => return Err(why),
        };
        if self.reading == Reading::First {
            daemon.read().await;
        }
        *running = Some(daemon);
        Ok(true)
    }

    fn is_here(&self) -> bool {
        // Who holds it begins to own the store, or lets go of it.
        self.running.try_lock().map_or(true, |running| running.is_some())
    }

    async fn end(&self, soon: bool) {
        match soon {
            true => self.leave(std::future::ready(())).await,
            false => self.leave(std::future::pending()).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_the_store_is_owned_here_is_said_at_once_also_while_a_core_begins() {
        let here = Here::new(&Place::default(), Reading::Beside, |_| {});
        assert!(!here.is_here());
        let begins = here.running.try_lock().expect("nobody has it");
        assert!(here.is_here(), "it is about to be");
        drop(begins);
        assert!(!here.is_here());
    }
}
