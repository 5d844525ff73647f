//! How the core is: what the doctor found last, and whether what is wrong has been mended since.
//!
//! While something is unhealthy that can be mended without a new start, it is looked at again after a few seconds, and
//! less and less often, here and not in the client, which hears of it when that changes.

use crate::domain::sexp::plist::Plist;
use crate::edge::doctor::{Check, State, examine, look_again, may_be_mended, verdict};
use crate::edge::engine::Engine;
use crate::edge::runtime::Event;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// How long after it was found what is wrong is looked at again; each time twice as long after that.
pub(super) const PAUSE: Duration = Duration::from_secs(2);
/// The longest of these pauses.
const LONGEST: Duration = Duration::from_secs(60);

/// What the doctor found last.
#[derive(Clone)]
pub(super) struct Health {
    checks: Arc<Mutex<Vec<Check>>>,
    /// When the doctor was asked last.
    checked: Arc<Mutex<Option<jiff::Timestamp>>>,
    /// Somebody looks whether what is wrong has been mended.
    watched: Arc<AtomicBool>,
    /// The first pause before it is looked at again.
    pause: Duration,
}

impl Health {
    /// Makes one that knows nothing yet.
    pub(super) fn new(pause: Duration) -> Health {
        Health { checks: Arc::default(), checked: Arc::default(), watched: Arc::default(), pause }
    }

    /// Returns the worst state of all, in a word.
    pub(super) fn word(&self) -> &'static str {
        verdict(&self.checks.lock()).name()
    }

    /// Takes what the doctor found just now.
    pub(super) fn take(&self, checks: Vec<Check>) {
        *self.checks.lock() = checks;
        *self.checked.lock() = Some(jiff::Timestamp::now());
    }

    /// Returns what is said of it to who asks: the word, and when the doctor was asked last.
    pub(super) fn answer(&self) -> Plist {
        let checked = self.checked.lock().map(|at| at.to_string());
        Plist::new().text("status", self.word()).maybe("checked", checked)
    }

    /// Runs the local checks for the first time; returns what does not work.
    pub(super) async fn examine(&self, engine: &Arc<Engine>) -> Vec<Check> {
        let checks = examine(engine, None).await;
        self.take(checks.clone());
        checks.into_iter().filter(|check| check.state == State::Unhealthy).collect()
    }

    /// Returns whether something is wrong that can be mended and nobody looks yet whether it has been; then the caller
    /// does, with [`Health::watch`].
    pub(super) fn wants_watching(&self, engine: &Engine) -> bool {
        self.may_be_mended(engine) && !self.watched.swap(true, Ordering::Relaxed)
    }

    fn may_be_mended(&self, engine: &Engine) -> bool {
        may_be_mended(engine, &self.checks.lock())
    }

    /// Looks again and again until nothing is unhealthy any more that can be mended, and says so to the loop.
    pub(super) async fn watch(self, engine: Arc<Engine>, inbox: mpsc::UnboundedSender<Event>) {
        let _watching = Watching { watched: self.watched.clone(), inbox };
        let mut pause = self.pause;
        let mut last = self.checks.lock().clone();
        while self.may_be_mended(&engine) {
            tokio::time::sleep(pause).await;
            let known = std::mem::replace(&mut last, self.checks.lock().clone());
            // What a doctor found meanwhile may be mended soon.
            pause = if known == last { longer(pause) } else { self.pause };
            let now = look_again(&engine, &last).await;
            let mut checks = self.checks.lock();
            // What a doctor found meanwhile is newer.
            if *checks == last {
                last.clone_from(&now);
                *checks = now;
            }
        }
    }
}

/// Returns the pause after a pause.
fn longer(pause: Duration) -> Duration {
    pause.saturating_mul(2).min(LONGEST)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::engine::fresh::tests::Place;

    fn check(name: &'static str, state: State) -> Check {
        Check { name, title: name, state, detail: String::new(), repair: None, fix: false }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn only_what_can_be_mended_is_looked_at_again_and_until_it_is() {
        let place = Place::new("* One\n").await;
        let health = Health::new(Duration::from_millis(1));
        for (name, state, wanted) in [
            ("rules", State::Unhealthy, true),
            ("rules", State::Degraded, false),
            ("store", State::Unhealthy, true),
            ("confinement", State::Unhealthy, false),
            ("gates", State::Unhealthy, false),
            ("skills", State::Unhealthy, false),
        ] {
            health.take(vec![check(name, state)]);
            assert_eq!(health.may_be_mended(&place.engine), wanted, "{name} {state:?}");
        }
        // It was broken, and is not any more.
        health.take(vec![check("rules", State::Unhealthy), check("skills", State::Unhealthy)]);
        assert!(health.wants_watching(&place.engine) && !health.wants_watching(&place.engine));
        let (inbox, mut events) = mpsc::unbounded_channel();
        health.clone().watch(place.engine.clone(), inbox).await;
        assert!(matches!(events.recv().await, Some(Event::Status)));
        let states: Vec<State> = health.checks.lock().iter().map(|check| check.state).collect();
        assert_eq!((states, health.word()), (vec![State::Healthy, State::Unhealthy], "unhealthy"));
        assert!(!health.wants_watching(&place.engine), "what is left cannot be mended here");
    }

    #[test]
    fn the_pauses_grow_to_a_minute() {
        let pauses: Vec<u64> = std::iter::successors(Some(PAUSE), |pause| Some(longer(*pause)))
            .map(|pause| pause.as_secs())
            .take(7)
            .collect();
        assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60]);
    }
}
