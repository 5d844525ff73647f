//! The lane of the store: one thread owns it, and everyone else asks that thread.
//!
//! Steps of memory are stored in the order in which they were made; a record is acknowledged only when it is on disk.

use crate::domain::id::OperationId;
use crate::domain::memory::operation::Operation;
use crate::domain::memory::store::{Commit, NewRecord, Record, Stamp, Store};
use crate::domain::memory::view::View;
use std::sync::mpsc;
use tokio::sync::oneshot;

/// Asks the thread that owns the store.
#[derive(Clone)]
pub struct Archive(mpsc::Sender<Job>);

enum Job {
    Step(Box<(Operation, View)>),
    Stamps(Vec<Stamp>),
    Commit(Vec<NewRecord>, oneshot::Sender<Result<(), String>>),
    List(String, u64, oneshot::Sender<Result<Vec<Record>, String>>),
    Head(oneshot::Sender<OperationId>),
    Close(oneshot::Sender<()>),
}

/// What the lane holds that is not stored yet: after a failure it is tried again with the next commit.
#[derive(Default)]
struct Pending {
    steps: Vec<(Operation, View)>,
    stamps: Vec<Stamp>,
    stored: OperationId,
}

impl Archive {
    /// Gives a store to a thread of its own. `complain` is told of what could not be stored.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(
        mut store: Box<dyn Store>,
        head: OperationId,
        complain: impl Fn(String) + Send + 'static,
    ) -> Result<Archive, String> {
        let (sender, jobs) = mpsc::channel::<Job>();
        let work = move || {
            let mut pending = Pending { stored: head, ..Pending::default() };
            while let Ok(first) = jobs.recv() {
                // What waits already is stored with one sync.
                let mut waiting: Vec<Job> =
                    std::iter::once(first).chain(std::iter::from_fn(|| jobs.try_recv().ok())).collect();
                let close = waiting.iter().position(|job| matches!(job, Job::Close(_)));
                let close = close.map(|at| waiting.swap_remove(at));
                serve(store.as_mut(), &mut pending, waiting, &complain);
                if let Some(Job::Close(done)) = close {
                    drop(store);
                    // Who asked may have given up waiting.
                    let _ = done.send(());
                    return;
                }
            }
        };
        crate::edge::thread::spawn("passepartout-store", 8 << 20, work)
            .map_err(|e| format!("no thread for the store: {e}"))?;
        Ok(Archive(sender))
    }

    /// Queues a step of memory.
    pub fn step(&self, operation: Operation, view: View) {
        // The lane ends only with the program; a step that comes after that has nowhere to go.
        let _ = self.0.send(Job::Step(Box::new((operation, view))));
    }

    /// Queues what files on disk looked like when they were read.
    pub fn stamps(&self, stamps: Vec<Stamp>) {
        // Stamps are derived: losing them costs reading again.
        let _ = self.0.send(Job::Stamps(stamps));
    }

    /// Stores records, and every step queued before them. An error means that none of it is stored yet.
    pub async fn append(&self, records: Vec<NewRecord>) -> Result<(), String> {
        let (reply, answer) = oneshot::channel();
        let gone = || "the store has stopped".to_string();
        self.0.send(Job::Commit(records, reply)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Queues records without waiting until they are stored.
    pub fn queue(&self, records: Vec<NewRecord>) {
        let (reply, _) = oneshot::channel();
        // As with steps: what comes after the end has nowhere to go.
        let _ = self.0.send(Job::Commit(records, reply));
    }

    /// Returns the records of a kind behind a place, oldest first.
    pub async fn list(&self, kind: &str, since: u64) -> Result<Vec<Record>, String> {
        let (reply, answer) = oneshot::channel();
        let gone = || "the store has stopped".to_string();
        self.0.send(Job::List(kind.to_string(), since, reply)).map_err(|_| gone())?;
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

fn serve(store: &mut dyn Store, pending: &mut Pending, jobs: Vec<Job>, complain: &dyn Fn(String)) {
    let mut records = Vec::new();
    let mut replies = Vec::new();
    let mut reads = Vec::new();
    for job in jobs {
        match job {
            Job::Step(step) => pending.steps.push(*step),
            Job::Stamps(stamps) => pending.stamps.extend(stamps),
            Job::Commit(more, reply) => {
                records.extend(more);
                replies.push(reply);
            }
            Job::List(..) | Job::Head(_) => reads.push(job),
            // At most one is left here, when two ask for it at once; the lane ends all the same.
            Job::Close(_) => {}
        }
    }
    let outcome = flush(store, pending, &records);
    if let Err(why) = &outcome {
        complain(why.clone());
    }
    for reply in replies {
        // Who no longer waits for the answer does not need it.
        let _ = reply.send(outcome.clone());
    }
    for job in reads {
        match job {
            Job::List(kind, since, reply) => {
                let _ = reply.send(store.list(&kind, since).map_err(|e| e.to_string()));
            }
            Job::Head(reply) => {
                let _ = reply.send(pending.stored);
            }
            Job::Step(_) | Job::Stamps(_) | Job::Commit(..) | Job::Close(_) => {}
        }
    }
}

fn flush(store: &mut dyn Store, pending: &mut Pending, records: &[NewRecord]) -> Result<(), String> {
    if pending.steps.is_empty() && pending.stamps.is_empty() && records.is_empty() {
        return Ok(());
    }
    let commit = Commit { steps: &pending.steps, records, stamps: &pending.stamps };
    store.commit(&commit).map_err(|e| e.to_string())?;
    if let Some((operation, _)) = pending.steps.last() {
        pending.stored = operation.id;
    }
    pending.steps.clear();
    pending.stamps.clear();
    Ok(())
}
