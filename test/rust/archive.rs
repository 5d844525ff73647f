//! The lane of the store: bounded reading, what one failure means for others, and acts without an outcome.

use crate::memory::why;
use crate::support::engine::Home;
use passepartout::domain::id::{ObjectHash, OperationId};
use passepartout::domain::memory::operation::Operation;
use passepartout::domain::memory::store::{
    Build, Commit, Committed, Content, Differing, Loaded, NewRecord, RamStore, Record, Store, StoreError,
};
use passepartout::domain::memory::view::View;
use passepartout::domain::turn::Ending;
use passepartout::edge::editor::NoEditor;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::archive::Archive;
use passepartout::edge::engine::boot::{Boot, Keep, Opened, start_on, start_until};
use passepartout::edge::engine::intents::Intents;
use passepartout::edge::secret::Vault;
use passepartout::edge::store::DiskStore;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

fn record(kind: &str, key: &str, body: serde_json::Value) -> NewRecord {
    NewRecord { at: why("").at, kind: kind.into(), key: key.into(), body }
}

/// A store that counts the records which it hands out, and can be made to wait or to warn.
struct Watched {
    inner: Box<dyn Store>,
    rows: Arc<AtomicUsize>,
    /// The first commit says that it has begun, and waits to be told to go on.
    gate: Option<(SyncSender<()>, Receiver<()>)>,
    warning: Option<String>,
}

impl Watched {
    fn over(inner: Box<dyn Store>) -> Watched {
        Watched { inner, rows: Arc::default(), gate: None, warning: None }
    }

    fn counted(&self, records: Result<Vec<Record>, StoreError>) -> Result<Vec<Record>, StoreError> {
        records.inspect(|records| {
            self.rows.fetch_add(records.len(), Ordering::Relaxed);
        })
    }
}

impl Store for Watched {
    fn load(&mut self, build: Build<'_>) -> Result<Loaded, StoreError> {
        self.inner.load(build)
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        if let Some((begun, go_on)) = self.gate.take() {
            begun.send(()).expect("the test waits");
            go_on.recv().expect("the test goes on");
        }
        let committed = self.inner.commit(commit)?;
        Ok(Committed { warning: self.warning.clone(), ..committed })
    }

    fn view_at(&mut self, operation: OperationId, build: Build<'_>) -> Result<Option<View>, StoreError> {
        self.inner.view_at(operation, build)
    }

    fn operations(&mut self, limit: usize) -> Result<Vec<Operation>, StoreError> {
        self.inner.operations(limit)
    }

    fn latest(&mut self, kind: &str, key: &str) -> Result<Option<Record>, StoreError> {
        self.rows.fetch_add(1, Ordering::Relaxed);
        self.inner.latest(kind, key)
    }

    fn list(&mut self, kind: &str, since: u64) -> Result<Vec<Record>, StoreError> {
        let found = self.inner.list(kind, since);
        self.counted(found)
    }

    fn newest(&mut self, kind: &str, limit: usize) -> Result<Vec<Record>, StoreError> {
        let found = self.inner.newest(kind, limit);
        self.counted(found)
    }

    fn latest_each(&mut self, kind: &str) -> Result<Vec<Record>, StoreError> {
        let found = self.inner.latest_each(kind);
        self.counted(found)
    }

    fn keep(&mut self, contents: &[Content]) -> Result<(), StoreError> {
        self.inner.keep(contents)
    }

    fn content(&mut self, name: ObjectHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.content(name)
    }

    fn text(&mut self, document: ObjectHash) -> Result<Option<Arc<str>>, StoreError> {
        self.inner.text(document)
    }

    fn differing(&mut self, before: OperationId, after: OperationId) -> Result<Vec<Differing>, StoreError> {
        self.inner.differing(before, after)
    }

    fn versions(
        &mut self,
        file: &str,
        after: OperationId,
        until: OperationId,
    ) -> Result<Vec<(OperationId, Option<ObjectHash>)>, StoreError> {
        self.inner.versions(file, after, until)
    }

    fn path(&self) -> Option<PathBuf> {
        self.inner.path()
    }
}

/// Fills a store with what many turns leave: each with an act, a label and a conversation of its own.
fn fill(folder: &Path, turns: usize) {
    let mut store = DiskStore::open(folder).expect("a new store");
    let mut records = Vec::new();
    for n in 0..turns {
        let (turn, act) = (format!("T{n}"), format!("a{n}"));
        records.push(record("intent", &act, json!({"turn": turn, "summary": "an act"})));
        records.push(record("outcome", &act, json!({"turn": turn, "outcome": "done", "changed": []})));
        records.push(record("label", &format!("s{n}"), json!({"privacy": "private"})));
        records.push(record("confirmation", &format!("far http://{n}"), json!({})));
        records.push(record("conversation", &format!("P{n}"), json!({})));
        records.push(record(
            "turn",
            &turn,
            json!({"turn": turn, "session": format!("s{n}"), "at": "2026-03-01T00:00:00Z", "asked": format!("question {n}"),
                   "ending": "answered", "notice": null, "deeds": [], "plans": [], "changed": [], "sources": [],
                   "provider": null, "model": null, "input": 0, "output": 0, "seconds": 0.1}),
        ));
    }
    store.commit(&Commit { records: &records, ..Commit::default() }).expect("it is stored");
}

async fn engine_on(home: &Home, store: Watched) -> Arc<Engine> {
    let boot = Boot {
        config: home.config(),
        vault: Vault::empty(),
        editor: Arc::new(NoEditor),
        clock: home.clock.clone(),
        notify: Arc::new(|_| {}),
        keep: Keep::OnDiskOnly,
    };
    start_on(boot, Opened::owned(Box::new(store))).await.expect("the engine starts")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_reads_a_bounded_number_of_rows() {
    let home = Home::new(&[("home.org", "* TODO Order tiles\nDEADLINE: <2026-03-01 Sun>\n")]);
    std::fs::create_dir_all(home.store().parent().expect("it has one")).expect("a folder");
    fill(&home.store(), 10_000);
    let open = || Watched::over(Box::new(DiskStore::open(&home.store()).expect("the store is free")));

    // The first start of this version pairs all acts once, and marks that it has.
    let first = engine_on(&home, open()).await;
    first.close().await;
    let store = open();
    let rows = store.rows.clone();
    let engine = engine_on(&home, store).await;
    home.read(&engine).await;
    let at_start = rows.swap(0, Ordering::Relaxed);
    assert!(at_start <= 10, "a start read {at_start} rows");

    let (finished, answer) = home.ask(&engine, "what is overdue?").await;
    assert_eq!(finished.report.ending, Ending::Answered);
    assert!(answer.contains("Order tiles"), "{answer}");
    let asked = rows.swap(0, Ordering::Relaxed);
    assert!(asked <= 10, "a question read {asked} rows");

    let (parked, _) = home.ask(&engine, "mark order tiles done").await;
    assert_eq!(parked.report.ending, Ending::Parked, "{:?}", parked.report.notice);
    let plan = crate::support::engine::waiting(&engine);
    home.approve(&engine, &plan).await.expect("it counts");
    let decided = rows.swap(0, Ordering::Relaxed);
    assert!(decided <= 20, "a plan and its approval read {decided} rows");

    let turns = engine.turns(20).await.expect("they are read");
    assert_eq!(turns.len(), 20);
    assert_eq!(turns.iter().filter(|turn| turn.asked.starts_with("question ")).count(), 17, "the newest come first");
    assert_eq!(rows.swap(0, Ordering::Relaxed), 20);

    engine.interrupted(&engine.new_turn(), finished.session, String::new(), finished.at).await;
    assert_eq!(rows.swap(0, Ordering::Relaxed), 0, "acts that are under way are known without reading");
    engine.close().await;
}

#[test]
fn acts_are_paired_in_order_and_read_from_the_last_mark_on() {
    let intent = |act: &str, turn: &str| record("intent", act, json!({"turn": turn}));
    let outcome = |act: &str, turn: &str| record("outcome", act, json!({"turn": turn}));
    let cases = [
        (vec![], vec![]),
        (vec![intent("a", "1")], vec![("a", "1")]),
        (vec![intent("a", "1"), outcome("a", "1")], vec![]),
        (vec![intent("a", "1"), outcome("a", "2")], vec![("a", "1")]),
        // The same act twice in a turn: the second has no outcome.
        (vec![intent("a", "1"), outcome("a", "1"), intent("a", "1")], vec![("a", "1")]),
        (vec![intent("a", "1"), record("settled", "intent", json!(null)), intent("b", "1")], vec![("b", "1")]),
    ];
    for (records, expected) in cases {
        let mut store = RamStore::default();
        store.commit(&Commit { records: &records, ..Commit::default() }).expect("it is stored");
        let found = Intents::read(&mut store).expect("it is read");
        let open: Vec<_> = found.open().map(|i| (i.key.as_str(), i.body["turn"].as_str().unwrap_or(""))).collect();
        assert_eq!(open, expected);
        let mut followed = Intents::default();
        records.iter().for_each(|record| followed.take(record));
        let settled = records.iter().any(|record| record.kind == "settled");
        assert!(settled || followed.open().count() == expected.len());
        assert_eq!(found.worth_a_mark(), expected.is_empty() && !records.is_empty());
    }
}

/// What was complained of.
type Complaints = Arc<Mutex<Vec<String>>>;

/// Starts a lane; returns it, what it complains of, and the gate of its first commit.
fn lane(mut store: Watched) -> (Archive, Complaints, Receiver<()>, SyncSender<()>) {
    let (begun, waits) = sync_channel(1);
    let (go_on, told) = sync_channel(1);
    store.gate = Some((begun, told));
    let complaints = Complaints::default();
    let heard = complaints.clone();
    let complain = move |why| heard.lock().expect("not poisoned").push(why);
    let archive = Archive::start(Box::new(store), OperationId(0), Intents::default(), complain);
    (archive.expect("a thread"), complaints, waits, go_on)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_stored_is_no_reason_to_refuse_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = DiskStore::open(folder.path()).expect("a new store");
    let (archive, complaints, waits, go_on) = lane(Watched::over(Box::new(store)));
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    archive.queue(vec![record("turn", "first", json!(1))]);
    waits.recv().expect("the first commit is under way");
    // Both wait behind it, and are taken together.
    archive.queue(vec![record("turn", "deep", deep)]);
    let good = archive.append(vec![record("intent", "good", json!({"turn": "1"}))]);
    let (stored, ()) = tokio::join!(good, async { go_on.send(()).expect("it waits") });
    assert_eq!(stored, Ok(()));
    assert!(archive.latest("turn", "deep".to_string()).await.expect("it can be read").is_none());
    assert!(archive.latest("intent", "good".to_string()).await.expect("it can be read").is_some());
    assert_eq!(archive.intents().await.open().count(), 1);
    let complaints = complaints.lock().expect("not poisoned").clone();
    assert!(matches!(complaints.as_slice(), [one] if one.contains("nested")), "{complaints:?}");
    archive.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_store_warns_of_is_said() {
    let mut store = Watched::over(Box::new(RamStore::default()));
    store.warning = Some("the log could not be written".to_string());
    let (archive, complaints, waits, go_on) = lane(store);
    go_on.send(()).expect("there is room");
    archive.append(vec![record("turn", "a", json!(1))]).await.expect("it is stored");
    waits.recv().expect("it was begun");
    assert_eq!(*complaints.lock().expect("not poisoned"), ["the log could not be written"]);
    archive.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_stays_full_is_complained_of_once() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(DiskStore::open(folder.path()).expect("a new store"));
    let reader = DiskStore::open_to_read(folder.path()).expect("it can be read");
    let (archive, complaints, waits, go_on) = lane(Watched::over(Box::new(reader)));
    go_on.send(()).expect("there is room");
    for _ in 0..5 {
        assert!(archive.append(vec![record("turn", "a", json!(1))]).await.is_err(), "it is refused each time");
    }
    waits.recv().expect("it was begun");
    assert_eq!(complaints.lock().expect("not poisoned").len(), 1);
    archive.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_the_memex_takes_nothing_back_that_came_while_it_was_read() {
    let home = Home::new(&[("home.org", "* Old\n"), ("gone.org", "* Gone\n")]);
    let engine = home.engine().await;
    let (file, gone, reader) = (home.file("home.org"), home.file("gone.org"), engine.clone());
    let work = move || {
        reader.read_memex(&mut |_| {});
        std::fs::write(&file, "* Newer on disk\n").expect("a file");
        std::fs::remove_file(&gone).expect("a file");
        let mut done = false;
        reader.read_memex(&mut |at| {
            // Both were looked at by now, and nothing of it is in memory yet.
            if at.done == at.total && !std::mem::replace(&mut done, true) {
                reader.take_text(&file, "* Newest by an act\n".into(), "act").expect("it is read");
                reader.take_text(&gone, "* Back again\n".into(), "act").expect("it is read");
            }
        });
        let view = reader.view();
        let title = |file: &str| view.document(file).map(|document| document.outline.text.to_string());
        (title(&file), title(&gone))
    };
    let (home_now, gone_now) = tokio::task::spawn_blocking(work).await.expect("it runs");
    assert_eq!(home_now.as_deref(), Some("* Newest by an act\n"));
    assert_eq!(gone_now.as_deref(), Some("* Back again\n"));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_is_stopped_lets_go_of_the_store_and_loses_nothing() {
    let home = Home::new(&[("home.org", "* One\n** Two\n"), ("garden.org", "* Three\n")]);
    let engine = home.engine().await;
    home.read(&engine).await;
    engine.close().await;
    drop(engine);
    let stopped = start_until(home.boot(home.config()), Arc::new(AtomicBool::new(true))).await;
    assert_eq!(stopped.err().as_deref(), Some("the start was stopped"));
    let opened = DiskStore::open(&home.store()).expect("the store is free at once");
    drop(opened);
    let engine = home.engine().await;
    assert_eq!(engine.view().headings(), 3, "it is there before anything is read");
    assert!(engine.log_lines(100).iter().all(|line| !line.text.contains("stopped")), "nothing is taken for damage");
}
