//! How much of what one client asks is taken on at once: what is beyond is refused, and nobody else's waits for it.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How much of a client is taken on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Most {
    /// Turns that are under way.
    turns: usize,
    /// Turns, with what waits for one.
    asked: usize,
    /// Bytes of all that.
    bytes: u32,
    /// Conversations whose names are known.
    pub(super) conversations: usize,
}

impl Most {
    /// For a program: four turns, and sixteen questions that wait.
    pub(super) const PROGRAM: Most = Most { turns: 4, asked: 20, bytes: 8 << 20, conversations: 1_000 };
    /// For the user's own Emacs, commands and terminal.
    pub(super) const USER: Most = Most { turns: 64, asked: 320, bytes: 64 << 20, conversations: 100_000 };
}

/// What of a client can be taken on.
pub(super) struct Capacity {
    pub(super) most: Most,
    turns: Arc<Semaphore>,
    asked: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
}

/// What something that was taken on takes of it, until this is dropped.
pub(super) struct Place {
    _asked: OwnedSemaphorePermit,
    _bytes: OwnedSemaphorePermit,
}

impl Capacity {
    pub(super) fn new(most: Most) -> Capacity {
        let of = |count: usize| Arc::new(Semaphore::new(count));
        let bytes = of(usize::try_from(most.bytes).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS));
        Capacity { most, turns: of(most.turns), asked: of(most.asked), bytes }
    }

    /// Takes on something of so many bytes. One that is larger than all room has it alone.
    ///
    /// # Errors
    /// Why it is not taken on, and what to do.
    pub(super) fn place(&self, bytes: usize) -> Result<Place, String> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.most.bytes);
        let full = |what: String| format!("Nothing was begun: {what} already. Ask again when one of them has ended.");
        let asked = self.asked.clone().try_acquire_owned();
        let asked = asked.map_err(|_| full(format!("{} questions of this client go on or wait", self.most.asked)))?;
        let taken = self.bytes.clone().try_acquire_many_owned(bytes);
        let taken = taken
            .map_err(|_| full(format!("questions of this client with {} MB go on or wait", self.most.bytes >> 20)))?;
        Ok(Place { _asked: asked, _bytes: taken })
    }

    /// Returns whether something that was taken on goes on or waits.
    pub(super) fn is_in_use(&self) -> bool {
        self.asked.available_permits() < self.most.asked
    }

    /// Waits until a turn may go on; it may as long as what this returns is kept.
    pub(super) async fn turn(self: Arc<Self>) -> Option<OwnedSemaphorePermit> {
        // Nobody closes it.
        self.turns.clone().acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1 << 20;

    #[test]
    fn what_is_beyond_is_refused_until_something_has_ended() {
        let why = |told: Result<Place, String>| told.err().unwrap_or_default();
        let capacity = Capacity::new(Most::PROGRAM);
        let mut held: Vec<Place> = (0..20).map(|_| capacity.place(1).expect("there is room")).collect();
        assert!(why(capacity.place(1)).contains("20 questions of this client go on or wait already"));
        held.pop();
        assert_eq!(why(capacity.place(1)), "", "it was given back");
        assert!(capacity.is_in_use());
        drop(held);
        assert!(!capacity.is_in_use());
        let half = [capacity.place(4 * MB), capacity.place(4 * MB)];
        assert!(half.iter().all(Result::is_ok) && why(capacity.place(1)).contains("with 8 MB go on or wait already"));
        drop(half);
        // What is refused takes nothing, and what is larger than all has all.
        let whole = capacity.place(usize::MAX);
        assert!(whole.is_ok());
        (0..100).for_each(|_| assert!(capacity.place(MB).is_err()));
        assert!((0..19).map(|_| capacity.place(0)).collect::<Vec<_>>().iter().all(Result::is_ok));
        drop(whole);
        assert!(capacity.place(8 * MB).is_ok());
    }
}
