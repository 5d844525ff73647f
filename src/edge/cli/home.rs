//! The engine that a client runs as long as it owns the store, because nobody else does.

use crate::edge::cli::args::Place;
use crate::edge::cli::session::{complaining_by, owns, start};
use crate::edge::engine::Engine;
use crate::edge::engine::boot::Keep;
use crate::edge::peers::home::Home;
use crate::edge::runtime::guests::{Guests, Serving};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// How long the last of it may take when a signal ends this: half for who joined, half for the store.
const SOON: Duration = Duration::from_millis(900);

/// The engine that runs here when nobody else owns the store.
pub(super) struct Here {
    place: Place,
    reading: Reading,
    tell: Arc<dyn Fn(String) + Send + Sync>,
    running: Mutex<Option<(Serving, Arc<Engine>)>>,
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
}

#[async_trait]
impl Home for Here {
    async fn begin(&self) -> Result<bool, String> {
        let mut running = self.running.lock().await;
        if running.is_some() {
            return Ok(true);
        }
        let (guests, tell) = (Guests::expected(), self.tell.clone());
        let tell = complaining_by(move |line| tell(line));
        let started = start(&self.place, Keep::Along, guests.editor(), guests.telling(tell)).await;
        let engine = started.map_err(|failure| failure.text)?;
        if !owns(Keep::Along, &engine) {
            engine.close().await;
            return Ok(false);
        }
        let Some(serving) = guests.open(&engine) else {
            engine.close().await;
            return Err("no socket can be made for the store; passepartout doctor says more".to_string());
        };
        let reader = engine.clone();
        let read = tokio::task::spawn_blocking(move || reader.read_memex(&mut |_| {}));
        if self.reading == Reading::First {
            // One that breaks is in the log.
            let _ = read.await;
        }
        *running = Some((serving, engine));
        Ok(true)
    }

    async fn is_here(&self) -> bool {
        self.running.lock().await.is_some()
    }

    async fn end(&self, soon: bool) {
        let Some((serving, engine)) = self.running.lock().await.take() else { return };
        if soon {
            // What was acknowledged is on disk already.
            let _ = tokio::time::timeout(SOON, serving.end()).await;
            let _ = tokio::time::timeout(SOON, engine.close()).await;
        } else {
            serving.end().await;
            engine.close().await;
        }
    }
}
