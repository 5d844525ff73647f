//! How the core is: what the doctor found last, and whether what is wrong has been mended since.
//!
//! While something is unhealthy it is looked at again every few seconds, here and not in the client, which hears of it
//! when that changes.

use crate::edge::doctor::{Check, State, examine, look_again, verdict};
use crate::edge::engine::Engine;
use crate::edge::runtime::Event;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// How often what is wrong is looked at again.
const PAUSE: Duration = Duration::from_secs(2);

/// What the doctor found last.
#[derive(Clone, Default)]
pub(super) struct Health {
    checks: Arc<Mutex<Vec<Check>>>,
    /// Somebody looks whether what is wrong has been mended.
    watched: Arc<AtomicBool>,
}

impl Health {
    /// Returns the worst state of all, in a word.
    pub(super) fn word(&self) -> &'static str {
        verdict(&self.checks.lock()).name()
    }

    /// Takes what the doctor found just now.
    pub(super) fn take(&self, checks: Vec<Check>) {
        *self.checks.lock() = checks;
    }

    /// Runs the local checks for the first time; returns what does not work.
    pub(super) async fn examine(&self, engine: &Arc<Engine>) -> Vec<Check> {
        let checks = examine(engine, false).await;
        self.take(checks.clone());
        checks.into_iter().filter(|check| check.state == State::Unhealthy).collect()
    }

    /// Returns whether something is wrong and nobody looks yet whether it has been mended; then the caller does, with
    /// [`Health::watch`].
    pub(super) fn wants_watching(&self) -> bool {
        self.is_bad() && !self.watched.swap(true, Ordering::Relaxed)
    }

    fn is_bad(&self) -> bool {
        verdict(&self.checks.lock()) == State::Unhealthy
    }

    /// Looks again and again until nothing is unhealthy any more, and says so to the loop.
    pub(super) async fn watch(self, engine: Arc<Engine>, inbox: mpsc::UnboundedSender<Event>) {
        let _watching = Watching { watched: self.watched.clone(), inbox };
        while self.is_bad() {
            tokio::time::sleep(PAUSE).await;
            let last = self.checks.lock().clone();
            let now = look_again(&engine, &last).await;
            let mut checks = self.checks.lock();
            // What a doctor found meanwhile is newer.
            if *checks == last {
                *checks = now;
            }
        }
    }
}

/// Somebody looks; whatever ends that, the next one may begin, and the loop is told.
struct Watching {
    watched: Arc<AtomicBool>,
    inbox: mpsc::UnboundedSender<Event>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.watched.store(false, Ordering::Relaxed);
        // The loop may have ended; then nobody needs a status.
        let _ = self.inbox.send(Event::Status);
    }
}
