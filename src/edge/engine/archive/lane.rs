//! The thread that owns the store: what waits is stored in one piece, and what breaks takes nothing else with it.

use crate::domain::id::OperationId;
use crate::domain::memory::operation::Operation;
use crate::domain::memory::store::{Commit, NewRecord, Stamp, Store};
use crate::domain::memory::view::View;
use crate::edge::engine::archive::{Job, Reply};
use crate::edge::engine::intents::Intents;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

/// What the lane holds that is not stored yet: after a failure it is tried again with the next commit.
pub(super) struct Lane {
    pub(super) store: Box<dyn Store>,
    pub(super) steps: Vec<(Operation, View)>,
    /// Records that are stored in one piece with one of the steps, in their order.
    pub(super) beside: Vec<(OperationId, NewRecord)>,
    pub(super) stamps: Vec<Stamp>,
    pub(super) stored: OperationId,
    pub(super) intents: Intents,
    pub(super) complain: Box<dyn Fn(String) + Send>,
    /// What was complained of last, while nothing could be stored since.
    pub(super) trouble: Option<String>,
    /// Why no step can be stored any more: one was dropped, and each step follows the one before.
    pub(super) lost: Arc<OnceLock<String>>,
}

/// Waits for the next job; what could not be stored is tried again meanwhile.
pub(super) fn next(jobs: &mpsc::Receiver<Job>, lane: &mut Lane, retry: u64) -> Option<Job> {
    loop {
        if retry == 0 || (lane.steps.is_empty() && lane.stamps.is_empty()) {
            return jobs.recv().ok();
        }
        match jobs.recv_timeout(Duration::from_secs(retry)) {
            Ok(job) => return Some(job),
            Err(mpsc::RecvTimeoutError::Disconnected) => return None,
            // What breaks here is tried once more with the next change.
            Err(mpsc::RecvTimeoutError::Timeout) => drop(catch_unwind(AssertUnwindSafe(|| lane.store_all(Vec::new())))),
        }
    }
}

/// What is told when storing panicked.
const BROKE: &str = "it broke on this, so it is not stored; the log says where";

impl Lane {
    pub(super) fn serve(&mut self, jobs: Vec<Job>) {
        let (mut groups, mut reads) = (Vec::new(), Vec::new());
        for job in jobs {
            match job {
                // A file whose stamp is stored is not read again, so a stamp without its step is dropped with it.
                Job::Step(..) | Job::Stamps(_) if self.lost.get().is_some() => {}
                Job::Step(step, records) => {
                    self.beside.extend(records.into_iter().map(|record| (step.0.id, record)));
                    self.steps.push(*step);
                }
                Job::Stamps(stamps) => self.stamps.extend(stamps),
                Job::Commit(records, reply) => groups.push((records, reply)),
                Job::Look(_) | Job::Intents(_) | Job::Head(_) => reads.push(job),
                // At most one is left here, when two ask for it at once; the lane ends all the same.
                Job::Close(_) => {}
            }
        }
        self.store_all(groups);
        for job in reads {
            // Who no longer waits for the answer does not need it.
            match job {
                // A question that breaks the store drops its reply: who asked hears that there is no answer.
                Job::Look(look) => drop(catch_unwind(AssertUnwindSafe(|| look(self.store.as_mut())))),
                Job::Intents(reply) => {
                    let _ = reply.send(self.intents.clone());
                }
                Job::Head(reply) => {
                    let _ = reply.send(self.stored);
                }
                Job::Step(..) | Job::Stamps(_) | Job::Commit(..) | Job::Close(_) => {}
            }
        }
    }

    /// Drops the steps that nobody waits for: their files are read again at the next start.
    pub(super) fn forget_steps(&mut self, waiting: &mut Vec<Job>) {
        let acknowledged = waiting.iter().any(|job| matches!(job, Job::Commit(..)));
        if !acknowledged {
            waiting.retain(|job| !matches!(job, Job::Step(..) | Job::Stamps(_)));
            self.steps.clear();
            self.beside.clear();
            self.stamps.clear();
        }
    }

    /// Stores groups of records, with all steps, in one piece; and each by itself when that cannot be.
    fn store_all(&mut self, groups: Vec<(Vec<NewRecord>, Reply)>) {
        let all: Vec<NewRecord> = groups.iter().flat_map(|(records, _)| records.iter().cloned()).collect();
        let outcome = self.flush(&all);
        if outcome.is_err() && groups.len() > 1 {
            // One that cannot be stored is no reason to refuse the others.
            for (records, reply) in groups {
                let outcome = self.flush(&records);
                self.answer(outcome, vec![reply]);
            }
        } else {
            self.answer(outcome, groups.into_iter().map(|(_, reply)| reply).collect());
        }
    }

    fn answer(&mut self, outcome: Result<(), String>, replies: Vec<Reply>) {
        // A disk that stays full is complained of once, not with every word that is typed.
        let trouble = outcome.clone().err();
        if let Some(why) = trouble.clone().filter(|_| trouble != self.trouble) {
            self.complain(why);
        }
        self.trouble = trouble;
        for reply in replies {
            // Who no longer waits for the answer does not need it.
            let _ = reply.send(outcome.clone());
        }
    }

    fn complain(&self, why: String) {
        // That nobody can be told is no reason not to answer.
        let _ = catch_unwind(AssertUnwindSafe(|| (self.complain)(why)));
    }

    fn flush(&mut self, records: &[NewRecord]) -> Result<(), String> {
        if self.steps.is_empty() && self.stamps.is_empty() && records.is_empty() {
            // Nobody is told that everything is stored when it is not.
            return self.lost.get().map_or(Ok(()), |why| Err(why.clone()));
        }
        match self.commit(self.steps.len(), records, true) {
            Ok(outcome) => outcome,
            // Nothing else was in it: what broke the store is what was to be stored.
            Err(Broke) if self.steps.is_empty() && self.stamps.is_empty() => Err(BROKE.to_string()),
            Err(Broke) => {
                let all = self.steps.last().map(|(operation, _)| operation.id);
                if all.is_some() && self.forget_stored() >= all {
                    // It broke behind the commit, which is stored in one piece.
                    records.iter().for_each(|record| self.intents.take(record));
                    return Ok(());
                }
                self.store_steps_alone();
                // They are derived: without them files are read once more.
                self.stamps.clear();
                self.commit(0, records, false).unwrap_or_else(|Broke| Err(BROKE.to_string()))
            }
        }
    }

    /// Commits the first steps with records, and the stamps if they are wanted.
    fn commit(&mut self, steps: usize, records: &[NewRecord], stamps: bool) -> Result<Result<(), String>, Broke> {
        let now = self.steps.get(..steps).unwrap_or_default();
        let last = now.last().map(|(operation, _)| operation.id);
        let own = self.beside.iter().take_while(|(id, _)| Some(*id) <= last).count();
        let records: Cow<'_, [NewRecord]> = match own {
            0 => records.into(),
            own => self.beside.iter().take(own).map(|(_, record)| record).chain(records).cloned().collect(),
        };
        let commit = Commit { steps: now, records: &records, stamps: if stamps { &self.stamps } else { &[] } };
        let committed = catch_unwind(AssertUnwindSafe(|| self.store.commit(&commit))).map_err(|_| Broke)?;
        let committed = match committed {
            Ok(committed) => committed,
            Err(error) => return Ok(Err(error.to_string())),
        };
        self.stored = last.unwrap_or(self.stored);
        self.steps.drain(..steps.min(self.steps.len()));
        self.beside.drain(..own);
        if stamps {
            self.stamps.clear();
        }
        records.iter().for_each(|record| self.intents.take(record));
        if let Some(warning) = committed.warning {
            self.complain(warning);
        }
        Ok(Ok(()))
    }

    /// Drops the steps that the store has in spite of a panic; returns its head, if it can be asked.
    fn forget_stored(&mut self) -> Option<OperationId> {
        let asked = catch_unwind(AssertUnwindSafe(|| self.store.operations(1)));
        let head = asked.ok()?.ok()?.last()?.id;
        self.steps.retain(|(operation, _)| operation.id > head);
        self.beside.retain(|(id, _)| *id > head);
        self.stored = self.stored.max(head);
        if self.steps.is_empty() {
            self.stamps.clear();
        }
        Some(head)
    }

    /// Stores one step after the other; from the first that breaks the store again, all are dropped:
    /// each follows the one before, and no intent waits for them.
    fn store_steps_alone(&mut self) {
        while let Some(id) = self.steps.first().map(|(operation, _)| operation.id) {
            match self.commit(1, &[], false) {
                Ok(Ok(())) => {}
                // Tried again with the next commit.
                Ok(Err(_)) => return,
                Err(Broke) => {
                    let why = format!(
                        "it broke on operation {}, so changes of memory are not stored from there on; start again, and the files are read anew",
                        id.0
                    );
                    self.complain(why.clone());
                    // It is set once: nothing is queued behind it.
                    let _ = self.lost.set(why);
                    self.steps.clear();
                    self.beside.clear();
                }
            }
        }
    }
}

/// A commit panicked; the log says where.
struct Broke;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::ObjectHash;
    use crate::domain::memory::operation::Why;
    use crate::domain::memory::store::{Build, Committed, Content, Differing, Loaded, RamStore, Record, StoreError};
    use crate::edge::engine::archive::{Archive, GONE, Saving};
    use serde_json::json;
    use std::sync::Mutex;

    /// Makes a store of one that has a [`RamStore`] inside, and a say in what is given.
    macro_rules! over_ram {
        ($name:ident { $($own:item)* }) => {
            impl Store for $name {
                $($own)*
                fn load(&mut self, build: Build<'_>) -> Result<Loaded, StoreError> {
                    self.0.load(build)
                }
                fn view_at(&mut self, operation: OperationId, build: Build<'_>) -> Result<Option<View>, StoreError> {
                    self.0.view_at(operation, build)
                }
                fn operations(&mut self, limit: usize) -> Result<Vec<Operation>, StoreError> {
                    self.0.operations(limit)
                }
                fn latest(&mut self, kind: &str, key: &str) -> Result<Option<Record>, StoreError> {
                    self.0.latest(kind, key)
                }
                fn list(&mut self, kind: &str, since: u64) -> Result<Vec<Record>, StoreError> {
                    self.0.list(kind, since)
                }
                fn latest_each(&mut self, kind: &str) -> Result<Vec<Record>, StoreError> {
                    self.0.latest_each(kind)
                }
                fn keep(&mut self, contents: &[Content]) -> Result<(), StoreError> {
                    self.0.keep(contents)
                }
                fn content(&mut self, name: ObjectHash) -> Result<Option<Vec<u8>>, StoreError> {
                    self.0.content(name)
                }
                fn text(&mut self, document: ObjectHash) -> Result<Option<Arc<str>>, StoreError> {
                    self.0.text(document)
                }
                fn differing(&mut self, before: OperationId, after: OperationId) -> Result<Vec<Differing>, StoreError> {
                    self.0.differing(before, after)
                }
                fn versions(
                    &mut self,
                    file: &str,
                    after: OperationId,
                    until: OperationId,
                ) -> Result<Vec<(OperationId, Option<ObjectHash>)>, StoreError> {
                    self.0.versions(file, after, until)
                }
                fn path(&self) -> Option<std::path::PathBuf> {
                    None
                }
            }
        };
    }

    /// A store that panics on one kind of records, on steps of one cause, and on others once behind the commit.
    #[derive(Default)]
    struct Brittle(RamStore);

    over_ram!(Brittle {
        fn commit(&mut self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
            assert!(commit.records.iter().all(|record| record.kind != "poison"), "it is poison");
            let caused = |cause: &str| commit.steps.iter().any(|(operation, _)| operation.why.cause == cause);
            assert!(!caused("poison"), "it is poison");
            let committed = self.0.commit(commit);
            assert!(!caused("late"), "it is poison, and stored");
            committed
        }
        fn newest(&mut self, kind: &str, limit: usize) -> Result<Vec<Record>, StoreError> {
            assert_ne!(kind, "poison");
            self.0.newest(kind, limit)
        }
    });

    #[tokio::test]
    async fn a_panic_in_the_lane_is_answered_with_an_error_and_the_lane_goes_on() {
        for complaining_breaks in [false, true] {
            let complaints: Arc<Mutex<Vec<String>>> = Arc::default();
            let told = complaints.clone();
            let complain = move |why: String| {
                told.lock().expect("not poisoned").push(why);
                assert!(!complaining_breaks, "complaining breaks");
            };
            let store = Box::new(Brittle::default());
            let archive = Archive::start(store, OperationId(0), Intents::default(), complain).expect("a thread");
            let record = |kind: &str| NewRecord {
                at: jiff::Timestamp::UNIX_EPOCH,
                kind: kind.to_string(),
                key: "k".to_string(),
                body: json!({}),
            };
            archive.append(vec![record("good")]).await.expect("it is stored");
            assert_eq!(archive.append(vec![record("poison")]).await, Err(BROKE.to_string()));
            assert_eq!(archive.newest("poison", 1).await, Err(GONE.to_string()));
            archive.append(vec![record("good")]).await.expect("the lane goes on");
            assert_eq!(archive.newest("good", 9).await.map(|records| records.len()), Ok(2));
            archive.close().await;
            assert_eq!(archive.append(Vec::new()).await, Err(GONE.to_string()));
            if !complaining_breaks {
                assert_eq!(*complaints.lock().expect("not poisoned"), [BROKE]);
            }
        }
    }

    /// A store that is full until it is told that there is room.
    struct Crowded(RamStore, Arc<std::sync::atomic::AtomicBool>, std::sync::mpsc::Sender<usize>);

    over_ram!(Crowded {
        fn commit(&mut self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
            let room = self.1.load(std::sync::atomic::Ordering::SeqCst);
            // Told when it is decided; nobody may be listening any more.
            let _ = self.2.send(commit.steps.len());
            if !room {
                return Err(StoreError::Full { path: "store".into() });
            }
            self.0.commit(commit)
        }
        fn newest(&mut self, kind: &str, limit: usize) -> Result<Vec<Record>, StoreError> {
            self.0.newest(kind, limit)
        }
    });

    #[tokio::test]
    async fn what_found_no_room_is_saved_by_itself_later_and_at_the_end_if_that_is_wanted() {
        for (retry, on_exit, kept) in [(1, true, true), (0, true, true), (0, false, false)] {
            let (room, (told, attempts)) = (Arc::<std::sync::atomic::AtomicBool>::default(), mpsc::channel());
            let store = Box::new(Crowded(RamStore::default(), room.clone(), told));
            let saving = Saving { retry, on_exit };
            let archive =
                Archive::start_saving(store, OperationId(0), Intents::default(), saving, |_| {}).expect("one");
            let why = Why {
                cause: "c".to_string(),
                origin: String::new(),
                at: jiff::Timestamp::UNIX_EPOCH,
                note: String::new(),
            };
            archive.step(Operation::after(None, ObjectHash::new([7; 32]), why), View::default());
            assert_eq!(attempts.recv().expect("it is tried at once"), 1);
            room.store(true, std::sync::atomic::Ordering::SeqCst);
            if retry > 0 {
                assert_eq!(attempts.recv().expect("and again, though nothing happens"), 1);
                assert_eq!(archive.stored().await, Some(OperationId(1)));
            }
            archive.close().await;
            let saved = retry > 0 || attempts.try_iter().sum::<usize>() > 0;
            assert_eq!(saved, kept, "{retry} {on_exit}");
        }
    }

    #[tokio::test]
    async fn a_step_that_breaks_the_store_holds_no_record_up() {
        let complaints: Arc<Mutex<Vec<String>>> = Arc::default();
        let told = complaints.clone();
        let complain = move |why: String| told.lock().expect("not poisoned").push(why);
        let store = Box::new(Brittle::default());
        let archive = Archive::start(store, OperationId(0), Intents::default(), complain).expect("a thread");
        let record = |key: &str| NewRecord {
            at: jiff::Timestamp::UNIX_EPOCH,
            kind: "intent".to_string(),
            key: key.to_string(),
            body: json!({ "turn": "T" }),
        };
        let mut last: Option<Operation> = None;
        let mut step = |cause: &str| {
            let (origin, note) = (String::new(), String::new());
            let why = Why { cause: cause.to_string(), origin, at: jiff::Timestamp::UNIX_EPOCH, note };
            let operation = Operation::after(last.as_ref(), ObjectHash::new([7; 32]), why);
            last = Some(operation.clone());
            archive.step(operation, View::default());
        };
        step("read");
        archive.append(vec![record("1")]).await.expect("it is stored");
        // It broke, and everything was stored in spite of it.
        step("late");
        archive.append(vec![record("2")]).await.expect("it is stored, once");
        assert_eq!((archive.stored().await, archive.lost()), (Some(OperationId(2)), None));
        // The first of these can be stored, the second cannot, and the third follows it.
        ["read", "poison", "read"].into_iter().for_each(&mut step);
        archive.append(vec![record("3")]).await.expect("an intent can still be stored");
        step("read");
        let stamp = Stamp { file: "f".into(), modified: 1, size: 1, document: ObjectHash::new([7; 32]), settled: true };
        archive.stamps(vec![stamp]);
        archive.append(vec![record("4")]).await.expect("and another one");
        let keys = archive.newest("intent", 9).await.expect("they are read");
        assert_eq!(keys.iter().map(|record| record.key.as_str()).collect::<Vec<_>>(), ["4", "3", "2", "1"]);
        assert_eq!(archive.intents().await.open().count(), 4);
        assert_eq!(archive.stored().await, Some(OperationId(3)));
        let why = archive.lost().expect("it is known");
        assert!(why.starts_with("it broke on operation 4, so changes of memory are not stored from there on"), "{why}");
        assert_eq!(archive.append(Vec::new()).await, Err(why.clone()), "not everything is stored");
        assert!(complaints.lock().expect("not poisoned").contains(&why));
    }
}
