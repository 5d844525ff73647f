//! Reads changed buffers beside the loop: one reading of a file at a time, and what is stale is dropped. The whole memex is
//! read so, too.
//!
//! The loop hears of a change, of a rest in typing, and of the end of a reading; it waits for none of them.

use crate::domain::id::ObjectHash;
use crate::edge::engine::Engine;
use crate::edge::runtime::Event;
use crate::edge::runtime::mirror::{Job, OnDisk, Outcome};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// How long a changed buffer rests before it is read, so that a burst of typing is read once.
const REST: Duration = Duration::from_millis(10);

/// Reads a file as it is on disk; `None` when it is gone. It may take long. An error is words for the user.
pub(super) type Disk = Arc<dyn Fn(&str) -> Result<Option<OnDisk>, String> + Send + Sync>;
/// Returns which text of a file memory holds.
pub(super) type Held = Arc<dyn Fn(&str) -> Option<ObjectHash> + Send + Sync>;
/// Reads the text of a buffer into memory over what that held when the text was taken, unless it is no longer wanted by
/// then; returns whether memory still held that. It may take long. An error is words for the user.
pub(super) type Take =
    Arc<dyn Fn(&str, Option<ObjectHash>, Arc<str>, &dyn Fn() -> bool) -> Result<bool, String> + Send + Sync>;

/// What takes long.
#[derive(Clone)]
pub(super) struct Read {
    pub(super) disk: Disk,
    pub(super) held: Held,
    pub(super) take: Take,
}

/// How a reading ended.
pub(super) struct Scanned {
    /// What became of the mirror's job; `None` when that broke.
    pub(super) outcome: Option<Outcome>,
    /// Whether memory still held what it did when the text was taken. An error is words for the user.
    pub(super) taken: Result<bool, String>,
}

impl Read {
    fn run(&self, file: &str, held: Option<ObjectHash>, job: Job, wanted: &dyn Fn() -> bool) -> Scanned {
        let (text, outcome) = job.text(|| (self.disk)(file));
        let take = |text: Option<Arc<str>>| text.map_or(Ok(true), |text| (self.take)(file, held, text, wanted));
        Scanned { outcome: Some(outcome), taken: text.and_then(take) }
    }
}

/// One file whose buffer changed.
#[derive(Default)]
struct State {
    /// Grows with each change; a reading of an older one is stale.
    version: Arc<AtomicU64>,
    /// The rest after the last change is not over.
    resting: bool,
    /// It is being read.
    running: bool,
    /// Its rest was over while it was being read: once more.
    again: bool,
}

/// The files that are to be read, or are being read.
pub(super) struct Scans {
    read: Read,
    inbox: mpsc::UnboundedSender<Event>,
    files: HashMap<String, State>,
}

impl Scans {
    pub(super) fn new(read: Read, inbox: mpsc::UnboundedSender<Event>) -> Scans {
        Scans { read, inbox, files: HashMap::new() }
    }

    /// Returns whether memory does not have a file's newest text yet.
    pub(super) fn pending(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    /// Takes note of a change; [`Event::Rested`] follows when no further one has come for a moment.
    pub(super) fn changed(&mut self, file: String) {
        let state = self.files.entry(file.clone()).or_default();
        state.version.fetch_add(1, Ordering::Relaxed);
        if !std::mem::replace(&mut state.resting, true) {
            let inbox = self.inbox.clone();
            tokio::spawn(async move {
                tokio::time::sleep(REST).await;
                // The loop may have ended; then nothing is read any more.
                let _ = inbox.send(Event::Rested(file));
            });
        }
    }

    /// The rest is over: reads the text, or reads it after the reading that is under way.
    pub(super) fn rested(&mut self, file: String, job: impl FnOnce() -> Job) {
        let Some(state) = self.files.get_mut(&file) else { return };
        state.resting = false;
        if state.running {
            state.again = true;
            return;
        }
        state.running = true;
        let (read, inbox, job) = (self.read.clone(), self.inbox.clone(), job());
        let held = (read.held)(&file);
        let (newest, version) = (state.version.clone(), state.version.load(Ordering::Relaxed));
        tokio::spawn(async move {
            let name = file.clone();
            let wanted = move || newest.load(Ordering::Relaxed) == version;
            let scanned = tokio::task::spawn_blocking(move || read.run(&name, held, job, &wanted)).await;
            let scanned = scanned.unwrap_or_else(|_| Scanned {
                outcome: None,
                taken: Err(format!("{file}: reading it broke; memory keeps what it had")),
            });
            let _ = inbox.send(Event::Scanned(file, scanned));
        });
    }

    /// A reading has ended, `behind` what memory holds by now or not; returns whether the file must be read once more, as
    /// [`Scans::rested`] does.
    pub(super) fn ended(&mut self, file: &str, behind: bool) -> bool {
        let Some(state) = self.files.get_mut(file) else { return false };
        state.running = false;
        let again = std::mem::take(&mut state.again) || behind && !state.resting;
        if !again && !state.resting {
            self.files.remove(file);
        }
        again
    }
}

/// Readings of the whole memex: one at a time, however often it is wanted, and one behind it.
pub(super) struct Rescans {
    engine: Arc<Engine>,
    inbox: mpsc::UnboundedSender<Event>,
    /// The memex is being read.
    running: bool,
    /// It was wanted since that began, and what is held until it was read once more; `None` when it was not.
    behind: Option<Vec<OwnedSemaphorePermit>>,
}

impl Rescans {
    pub(super) fn new(engine: Arc<Engine>, inbox: mpsc::UnboundedSender<Event>) -> Rescans {
        Rescans { engine, inbox, running: false, behind: None }
    }

    /// Has the memex read from now on: when it is being read, once more behind that, for all who want it meanwhile. The
    /// seat of who does is held until then.
    pub(super) fn want(&mut self, seat: Option<OwnedSemaphorePermit>) {
        match self.running {
            true => self.behind.get_or_insert_default().extend(seat),
            false => self.begin(seat.into_iter().collect()),
        }
    }

    fn begin(&mut self, seats: Vec<OwnedSemaphorePermit>) {
        self.running = true;
        let (engine, inbox) = (self.engine.clone(), self.inbox.clone());
        tokio::spawn(async move {
            // One that breaks has ended, too; the log says where.
            let _ = tokio::task::spawn_blocking(move || drop(engine.read_memex(&mut |_| {}))).await;
            drop(seats);
            // The loop may have ended; then nothing is read any more.
            let _ = inbox.send(Event::Reread);
        });
    }

    /// A reading has ended: begins the one behind it.
    pub(super) fn ended(&mut self) {
        self.running = false;
        if let Some(seats) = self.behind.take() {
            self.begin(seats);
        }
    }
}
