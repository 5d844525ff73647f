//! The lane of the store: one thread owns it, and everyone else asks that thread.
//!
//! Steps of memory are stored in the order in which they were made; a record is acknowledged only when it is on disk.
//! What is read is asked for by its key or its number: a question costs the same in a store of any size.

mod lane;

use crate::domain::id::{ObjectHash, OperationId};
use crate::domain::memory::card::Card;
use crate::domain::memory::operation::Operation;
use crate::domain::memory::shape::Shape;
use crate::domain::memory::store::{Content, Differing, NewRecord, Record, Stamp, Store, StoreError};
use crate::domain::memory::view::View;
use crate::edge::engine::archive::lane::{Lane, next};
use crate::edge::engine::intents::Intents;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock, mpsc};
use tokio::sync::oneshot;

/// Asks the thread that owns the store.
#[derive(Clone)]
pub struct Archive(mpsc::Sender<Job>, Arc<OnceLock<String>>);

type Look = Box<dyn FnOnce(&mut dyn Store) + Send>;
type Reply = oneshot::Sender<Result<(), String>>;

enum Job {
    Step(Box<(Operation, View)>, Vec<NewRecord>),
    Stamps(Vec<Stamp>),
    Commit(Vec<NewRecord>, Reply),
    Look(Look),
    Intents(oneshot::Sender<Intents>),
    Head(oneshot::Sender<OperationId>),
    Close(oneshot::Sender<()>),
}

/// When what waits is saved beside the moment at which it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saving {
    /// After how many seconds what could not be saved is tried again; 0 waits for the next change.
    pub retry: u64,
    /// Whether steps that still wait are saved when the lane is closed. Records always are.
    pub on_exit: bool,
}

impl Default for Saving {
    fn default() -> Saving {
        Saving { retry: 300, on_exit: true }
    }
}

impl Archive {
    /// Gives a store to a thread of its own. `complain` is told of what could not be stored.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(
        store: Box<dyn Store>,
        head: OperationId,
        intents: Intents,
        complain: impl Fn(String) + Send + 'static,
    ) -> Result<Archive, String> {
        Archive::start_saving(store, head, intents, Saving::default(), complain)
    }

    /// Does what [`Archive::start`] does, and saves as it is told.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start_saving(
        store: Box<dyn Store>,
        head: OperationId,
        intents: Intents,
        saving: Saving,
        complain: impl Fn(String) + Send + 'static,
    ) -> Result<Archive, String> {
        let (sender, jobs) = mpsc::channel::<Job>();
        let (steps, beside, stamps) = (Vec::new(), Vec::new(), Vec::new());
        let lost = Arc::<OnceLock<String>>::default();
        let (complain, told) = (Box::new(complain), lost.clone());
        let mut lane = Lane { store, steps, beside, stamps, stored: head, intents, complain, trouble: None, lost };
        let work = move || {
            while let Some(first) = next(&jobs, &mut lane, saving.retry) {
                // What waits already is stored with one sync.
                let mut waiting: Vec<Job> =
                    std::iter::once(first).chain(std::iter::from_fn(|| jobs.try_recv().ok())).collect();
                let close = waiting.iter().position(|job| matches!(job, Job::Close(_)));
                let close = close.map(|at| waiting.remove(at));
                if close.is_some() && !saving.on_exit {
                    lane.forget_steps(&mut waiting);
                }
                // What breaks here was answered where it could be; the thread must outlive it.
                let _ = catch_unwind(AssertUnwindSafe(|| lane.serve(waiting)));
                if let Some(Job::Close(done)) = close {
                    drop(lane);
                    // Who asked may have given up waiting.
                    let _ = done.send(());
                    return;
                }
            }
        };
        crate::edge::thread::spawn("passepartout-store", 8 << 20, work)
            .map_err(|e| format!("no thread for the store: {e}"))?;
        Ok(Archive(sender, told))
    }

    /// Returns why changes of memory are not stored any more until the next start, if they are not.
    pub fn lost(&self) -> Option<String> {
        self.1.get().cloned()
    }

    /// Queues a step of memory.
    pub fn step(&self, operation: Operation, view: View) {
        self.step_with(operation, view, Vec::new());
    }

    /// Queues a step of memory with records that say what it was: one is never stored without the other.
    pub fn step_with(&self, operation: Operation, view: View, records: Vec<NewRecord>) {
        // The lane ends only with the program; a step that comes after that has nowhere to go.
        let _ = self.0.send(Job::Step(Box::new((operation, view)), records));
    }

    /// Queues what files on disk looked like when they were read.
    pub fn stamps(&self, stamps: Vec<Stamp>) {
        // Stamps are derived: losing them costs reading again.
        let _ = self.0.send(Job::Stamps(stamps));
    }

    /// Stores records, and every step queued before them. An error means that none of it is stored yet.
    pub async fn append(&self, records: Vec<NewRecord>) -> Result<(), String> {
        let (reply, answer) = oneshot::channel();
        let gone = || GONE.to_string();
        self.0.send(Job::Commit(records, reply)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Queues records without waiting until they are stored.
    pub fn queue(&self, records: Vec<NewRecord>) {
        let (reply, _) = oneshot::channel();
        // As with steps: what comes after the end has nowhere to go.
        let _ = self.0.send(Job::Commit(records, reply));
    }

    /// Waits until what was queued is stored, or could not be. It blocks, and is not for threads that run tasks.
    pub fn wait(&self) {
        let (reply, answer) = oneshot::channel();
        if self.0.send(Job::Commit(Vec::new(), reply)).is_ok() {
            // That it was not stored is complained of where that is found out.
            let _ = answer.blocking_recv();
        }
    }

    /// Returns the last record of one thing.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn latest(&self, kind: &'static str, key: String) -> Result<Option<Record>, String> {
        self.look(move |store| store.latest(kind, &key)).await
    }

    /// Returns the last record of each of some things, in their order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn latest_of(&self, kind: &'static str, keys: Vec<String>) -> Result<Vec<Option<Record>>, String> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        self.look(move |store| keys.iter().map(|key| store.latest(kind, key)).collect()).await
    }

    /// Returns the last records of one thing, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn newest_of(&self, kind: &'static str, key: String, limit: usize) -> Result<Vec<Record>, String> {
        self.look(move |store| store.newest_of(kind, &key, limit)).await
    }

    /// Returns the last record of each thing of a kind, in the order of their places.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn latest_each(&self, kind: &'static str) -> Result<Vec<Record>, String> {
        self.look(move |store| store.latest_each(kind)).await
    }

    /// Returns the last records of a kind, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn newest(&self, kind: &'static str, limit: usize) -> Result<Vec<Record>, String> {
        self.look(move |store| store.newest(kind, limit)).await
    }

    /// Returns the last records of a kind before a place, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn newest_before(&self, kind: &'static str, before: u64, limit: usize) -> Result<Vec<Record>, String> {
        self.look(move |store| store.newest_before(kind, before, limit)).await
    }

    /// Returns the last record of each change of a turn, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn changes_of_turn(&self, turn: String) -> Result<Vec<Record>, String> {
        self.look(move |store| store.changes_of_turn(&turn)).await
    }

    /// Returns the last record of each change that was begun at an operation or behind it, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn changes_since(&self, operation: OperationId) -> Result<Vec<Record>, String> {
        self.look(move |store| store.changes_since(operation)).await
    }

    /// Keeps the bytes of files; they are on disk when this returns.
    ///
    /// # Errors
    /// When they could not be stored.
    pub async fn keep(&self, contents: Vec<Content>) -> Result<(), String> {
        if contents.is_empty() {
            return Ok(());
        }
        self.look(move |store| store.keep(&contents)).await
    }

    /// Reads bytes that were kept.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn content(&self, name: ObjectHash) -> Result<Option<Vec<u8>>, String> {
        self.look(move |store| store.content(name)).await
    }

    /// Reads the text of a document that memory held.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn text(&self, document: ObjectHash) -> Result<Option<Arc<str>>, String> {
        self.look(move |store| store.text(document)).await
    }

    /// Returns the files in which memory differs between two operations.
    ///
    /// # Errors
    /// When an operation is unknown or the store cannot be read.
    pub async fn differing(&self, before: OperationId, after: OperationId) -> Result<Vec<Differing>, String> {
        self.look(move |store| store.differing(before, after)).await
    }

    /// Returns what a file was at each operation between two.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn versions(
        &self,
        file: String,
        after: OperationId,
        until: OperationId,
    ) -> Result<Vec<(OperationId, Option<ObjectHash>)>, String> {
        self.look(move |store| store.versions(&file, after, until)).await
    }

    /// Makes sure that the store lies where it was opened; one that was deleted is put back.
    ///
    /// # Errors
    /// When it is elsewhere, or cannot be put back.
    pub async fn stay(&self) -> Result<(), String> {
        self.look(|store| store.stay()).await
    }

    /// Says that what memory was at an operation was let go, and what is still there; `None` when it was not.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn let_go(&self, operation: OperationId) -> Result<Option<String>, String> {
        self.look(move |store| store.let_go(operation)).await
    }

    /// Returns the last operations up to one that may have touched a file, newest first, as far as that is noted.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn touching(&self, file: String, until: OperationId, most: usize) -> Result<Vec<OperationId>, String> {
        self.look(move |store| store.touching(&file, until, most)).await
    }

    /// Makes documents of stored texts in another way from now on.
    ///
    /// # Errors
    /// When the lane has ended.
    pub async fn reshape(&self, shape: Shape) -> Result<(), String> {
        self.look(move |store| {
            store.reshape(&shape);
            Ok(())
        })
        .await
    }

    /// Keeps cards that were made in that way, and returns the last operation that is stored. Blocks.
    ///
    /// # Errors
    /// When they could not be stored.
    pub fn keep_cards(&self, shape: Shape, cards: Vec<Arc<Card>>, last: bool) -> Result<OperationId, String> {
        let (reply, answer) = mpsc::sync_channel(1);
        let keep = move |store: &mut dyn Store| {
            let kept = store.keep_cards(&shape, &cards, last).and_then(|()| store.operations(1));
            let head = |kept: Vec<Operation>| kept.last().map_or(OperationId(0), |operation| operation.id);
            // Who no longer waits for the answer does not need it.
            let _ = reply.send(kept.map(head).map_err(|error| error.to_string()));
        };
        self.0.send(Job::Look(Box::new(keep))).map_err(|_| GONE.to_string())?;
        answer.recv().map_err(|_| GONE.to_string())?
    }

    /// Queues cards that were made anew of texts that are stored, without waiting.
    pub fn queue_cards(&self, shape: Shape, cards: Vec<Arc<Card>>) {
        let keep = move |store: &mut dyn Store| {
            // They are derived: a card that is missing, or is not the newest, is made anew at the next start.
            let _ = store.keep_cards(&shape, &cards, false);
        };
        // As with steps: what comes after the end has nowhere to go.
        let _ = self.0.send(Job::Look(Box::new(keep)));
    }

    /// Returns the last operations, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn operations(&self, limit: usize) -> Result<Vec<Operation>, String> {
        self.look(move |store| store.operations(limit)).await
    }

    /// Returns one operation; `None` when there is none of that number.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn operation(&self, id: OperationId) -> Result<Option<Operation>, String> {
        self.look(move |store| store.operation(id)).await
    }

    /// Returns the intents that have no outcome; what was queued before is counted.
    pub async fn intents(&self) -> Intents {
        let (reply, answer) = oneshot::channel();
        match self.0.send(Job::Intents(reply)) {
            Ok(()) => answer.await.unwrap_or_default(),
            Err(_) => Intents::default(),
        }
    }

    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, String> {
        let (reply, answer) = oneshot::channel();
        let gone = || GONE.to_string();
        let look = move |store: &mut dyn Store| {
            // Who no longer waits for the answer does not need it.
            let _ = reply.send(look(store).map_err(|error| error.to_string()));
        };
        self.0.send(Job::Look(Box::new(look))).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Stores what waits, closes the store and ends the lane.
    pub async fn close(&self) {
        let (reply, answer) = oneshot::channel();
        if self.0.send(Job::Close(reply)).is_ok() {
            // An error means that it is closed already.
            let _ = answer.await;
        }
    }

    /// Returns the last operation that is stored.
    pub async fn stored(&self) -> Option<OperationId> {
        let (reply, answer) = oneshot::channel();
        self.0.send(Job::Head(reply)).ok()?;
        answer.await.ok()
    }
}

/// What is told who gets no answer.
const GONE: &str = "the store gave no answer: it has stopped, or broke on this; the log says more";
