//! The lane of the store: bounded reading, what one failure means for others, and acts without an outcome.

use crate::memory::{document, why};
use crate::support::engine::{Home, origin};
use passepartout::domain::id::{ObjectHash, OperationId};
use passepartout::domain::memory::Memory;
use passepartout::domain::memory::operation::{Operation, Why};
use passepartout::domain::memory::store::{
    Build, Commit, Committed, Content, Differing, Loaded, NewRecord, RamStore, Record, Store, StoreError, content_name,
};
use passepartout::domain::memory::view::View;
use passepartout::domain::turn::Ending;
use passepartout::domain::undo::{Change, FileChange, Image, Kind};
use passepartout::edge::editor::NoEditor;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::archive::Archive;
use passepartout::edge::engine::boot::{Boot, Keep, Opened, start_found, start_until};
use passepartout::edge::engine::changes::change_json;
use passepartout::edge::engine::intents::Intents;
use passepartout::edge::engine::time::{Reach, Wish};
use passepartout::edge::secret::Vault;
use passepartout::edge::store::DiskStore;
use passepartout::edge::store::compact;
use serde_json::json;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
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
        self.inner.operations(limit).inspect(|operations| {
            self.rows.fetch_add(operations.len(), Ordering::Relaxed);
        })
    }

    fn operation(&mut self, id: OperationId) -> Result<Option<Operation>, StoreError> {
        self.rows.fetch_add(1, Ordering::Relaxed);
        self.inner.operation(id)
    }

    fn newest_of(&mut self, kind: &str, key: &str, limit: usize) -> Result<Vec<Record>, StoreError> {
        let found = self.inner.newest_of(kind, key, limit);
        self.counted(found)
    }

    fn newest_before(&mut self, kind: &str, before: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let found = self.inner.newest_before(kind, before, limit);
        self.counted(found)
    }

    fn changes_of_turn(&mut self, turn: &str) -> Result<Vec<Record>, StoreError> {
        let found = self.inner.changes_of_turn(turn);
        self.counted(found)
    }

    fn changes_since(&mut self, operation: OperationId) -> Result<Vec<Record>, StoreError> {
        let found = self.inner.changes_since(operation);
        self.counted(found)
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

/// Makes a store of one that has a [`DiskStore`] inside, and a say in what is committed.
macro_rules! over_disk {
    ($name:ident) => {
        impl Store for $name {
            fn load(&mut self, build: Build<'_>) -> Result<Loaded, StoreError> {
                self.inner.load(build)
            }
            fn commit(&mut self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
                self.take(commit)
            }
            fn view_at(&mut self, operation: OperationId, build: Build<'_>) -> Result<Option<View>, StoreError> {
                self.inner.view_at(operation, build)
            }
            fn operations(&mut self, limit: usize) -> Result<Vec<Operation>, StoreError> {
                self.inner.operations(limit)
            }
            fn latest(&mut self, kind: &str, key: &str) -> Result<Option<Record>, StoreError> {
                self.inner.latest(kind, key)
            }
            fn list(&mut self, kind: &str, since: u64) -> Result<Vec<Record>, StoreError> {
                self.inner.list(kind, since)
            }
            fn newest(&mut self, kind: &str, limit: usize) -> Result<Vec<Record>, StoreError> {
                self.inner.newest(kind, limit)
            }
            fn latest_each(&mut self, kind: &str) -> Result<Vec<Record>, StoreError> {
                self.inner.latest_each(kind)
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
    };
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

async fn engine_on(home: &Home, store: impl Store + 'static) -> Arc<Engine> {
    let boot = Boot {
        config: home.config(),
        vault: Vault::empty(),
        editor: Arc::new(NoEditor),
        clock: home.clock.clone(),
        notify: Arc::new(|_| {}),
        keep: Keep::OnDiskOnly,
    };
    start_found(boot, Opened::owned(Box::new(store)), Arc::default()).await.expect("the engine starts")
}

/// Fills a store with as many acts as are asked for, one operation each; the last one made `home.org`.
fn acted(home: &Home, acts: usize) {
    std::fs::create_dir_all(home.store().parent().expect("it has one")).expect("a folder");
    let mut store = DiskStore::open(&home.store()).expect("a new store");
    let mut memory = Memory::default();
    let (mut steps, mut records) = (Vec::new(), Vec::new());
    let texts = [(home.file("home.org"), "* Kitchen\n"), (home.file("other.org"), "* Other\n")];
    for n in 1..=acts {
        let (file, text) = match n == acts {
            true => (&texts[0].0, texts[0].1.to_string()),
            false => (&texts[1].0, format!("{}Act {n}.\n", texts[1].1)),
        };
        let id = format!("A{n:010}");
        let after = Image::File { content: content_name(text.as_bytes()), size: text.len() as u64, mode: 0o644 };
        let made = FileChange { path: file.clone(), before: Image::Absent, after };
        let change = Change {
            id: id.clone(),
            kind: Kind::Act,
            time: why("").at,
            since: OperationId(n as u64 - 1),
            turn: format!("T{n}"),
            session: "chat".into(),
            tool: "org-set-body".into(),
            summary: format!("Act {n}"),
            plan: None,
            approver: None,
            of: Vec::new(),
            files: vec![made],
            memory: None,
            focus: None,
            doubt: None,
        };
        let mut step = memory.begin();
        step.put(document(file, &text));
        let operation =
            step.finish(Why { note: format!("{id} {file}"), ..why("act") }).publish(&mut memory).expect("one");
        steps.push((operation, memory.head().clone()));
        records.push(record("change", &id, change_json(&change)));
        if steps.len() == 500 || n == acts {
            store.commit(&Commit { steps: &steps, records: &records, stamps: &[] }).expect("it is stored");
            steps.clear();
            records.clear();
        }
    }
    for (file, text) in &texts {
        std::fs::write(file, text).expect("a file");
        std::fs::set_permissions(file, Permissions::from_mode(0o644)).expect("its mode");
    }
}

/// Returns how many rows a look reads: what goes on after a start reads some of its own, so the least of a few counts.
async fn rows_of<T>(rows: &AtomicUsize, look: impl AsyncFn() -> T) -> (usize, T) {
    let mut least = usize::MAX;
    for _ in 0..4 {
        rows.store(0, Ordering::Relaxed);
        look().await;
        least = least.min(rows.load(Ordering::Relaxed));
    }
    (least, look().await)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_is_looked_up_and_not_searched_for() {
    let mut read: Vec<[usize; 4]> = Vec::new();
    for acts in [1_000, 5_000] {
        let home = Home::new(&[]);
        acted(&home, acts);
        let store = Watched::over(Box::new(DiskStore::open(&home.store()).expect("the store is free")));
        let rows = store.rows.clone();
        let engine = engine_on(&home, store).await;
        let (of_log, log) = rows_of(&rows, async || engine.memory_log(50).await.expect("it is read")).await;
        assert_eq!((log.len(), log[0].what().as_str(), log[0].stands), (50, &*format!("Act {acts}"), true));
        let shown = async || {
            for id in [engine.head(), OperationId(7)] {
                let shown = engine.memory_show(id).await.expect("it is shown");
                assert!(shown.contains(&format!("what: Act {}\n", id.0)), "{shown}");
            }
        };
        let (of_show, ()) = rows_of(&rows, shown).await;
        let diff = async || engine.memory_diff(OperationId(5), OperationId(7)).await.expect("it is compared");
        let (of_diff, _) = rows_of(&rows, diff).await;
        let blame = format!("{}:1", home.file("home.org"));
        let (of_blame, (_, found)) = rows_of(&rows, async || engine.blame(&blame).await.expect("it is known")).await;
        assert_eq!((found.len(), found[0].author.by.as_str()), (1, "agent (org-set-body)"));
        read.push([of_log, of_show, of_diff, of_blame]);
    }
    assert_eq!(read[0], read[1], "rows of the log, of two steps, of a difference, of blame");
    assert!(read[0][0] <= 150 && read[0][1..].iter().all(|rows| *rows <= 10), "{read:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn blame_says_where_it_knows_no_more_because_contents_were_let_go() {
    let home = Home::new(&[]);
    acted(&home, 40);
    let mut store = DiskStore::open(&home.store()).expect("the store is free");
    store.compact(compact::Keep { operations: Some(5), ..compact::Keep::default() }, why("").at).expect("it is let go");
    let engine = engine_on(&home, store).await;
    let (_, found) = engine.blame(&format!("{}:1", home.file("other.org"))).await.expect("the rest is known");
    let said: Vec<_> = found.iter().map(|blame| (blame.operation.0, blame.what)).collect();
    let expected = [(39, "changed"), (38, "changed"), (37, "changed"), (36, "changed"), (35, "before that, let go")];
    assert_eq!(said.get(..5), Some(&expected[..]));
    let perhaps: Vec<_> = (16..=35).rev().map(|id| (id, "perhaps written")).collect();
    assert_eq!(said.get(5..), Some(&perhaps[..]), "of what touched the file until then, the last are named");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_is_looked_up_and_not_searched_for() {
    let mut read: Vec<Vec<usize>> = Vec::new();
    for acts in [1_000, 5_000] {
        let home = Home::new(&[]);
        acted(&home, acts);
        let store = Watched::over(Box::new(DiskStore::open(&home.store()).expect("the store is free")));
        let rows = store.rows.clone();
        let engine = engine_on(&home, store).await;
        home.read(&engine).await;
        let mut of_each = Vec::new();
        let before = OperationId(acts as u64 - 1);
        let last = format!("a{acts:010}");
        for wish in [
            Wish::Undo(None),
            Wish::Undo(Some(last.clone())),
            Wish::Undo(Some(format!("T{acts}"))),
            Wish::Rewind(before, Reach::Both),
            Wish::Rewind(before, Reach::Files),
            Wish::Rewind(before, Reach::Memory),
            Wish::Undo(None),
            Wish::Redo,
        ] {
            let preview = async || engine.preview(&origin(), wish.clone()).await.expect("it is shown");
            let (least, preview) = rows_of(&rows, preview).await;
            of_each.push(least);
            if of_each.len() == 7 {
                let turn = engine.new_turn();
                let done = engine.carry_out(&origin(), &preview.shown, turn, &mut |_| {}).await.expect("it is undone");
                assert_eq!(done.report.ending, Ending::Answered, "{}", done.report.text);
                assert!(!std::path::Path::new(&home.file("home.org")).exists());
                assert!(engine.preview(&origin(), Wish::Undo(Some(last.clone()))).await.is_err(), "it does not stand");
            }
        }
        engine.close().await;
        read.push(of_each);
    }
    assert_eq!(read[0], read[1], "rows of an undo, by its name, by its turn, of rewinds, of a redo");
    assert!(read[0].iter().all(|rows| *rows <= 20), "{read:?}");
}

#[tokio::test]
async fn a_step_and_the_record_of_what_it_was_are_stored_in_one_piece() {
    // However the store fails, it never has one without the other.
    for fails in 0..4 {
        let folder = tempfile::tempdir().expect("a folder");
        let pieces: Arc<Mutex<Vec<(usize, usize)>>> = Arc::default();
        let store =
            Failing { inner: DiskStore::open(folder.path()).expect("a new store"), fails, pieces: pieces.clone() };
        let archive = Archive::start(Box::new(store), OperationId(0), Intents::default(), |_| {}).expect("a thread");
        let mut memory = Memory::default();
        for n in 0..3 {
            let mut step = memory.begin();
            step.put(document("a.org", &format!("* Step {n}\n")));
            let operation = step.finish(why("rewind")).publish(&mut memory).expect("it is published");
            archive.step_with(operation, memory.head().clone(), vec![record("change", &format!("c{n}"), json!({}))]);
        }
        let mut tries = 0;
        while archive.append(vec![record("label", "l", json!({}))]).await.is_err() {
            tries += 1;
            assert!(tries < 9, "it goes on when the store does");
        }
        archive.close().await;
        let pieces = pieces.lock().expect("not poisoned").clone();
        assert!(pieces.iter().all(|(steps, changes)| steps == changes), "{fails}: {pieces:?}");
        let mut store = DiskStore::open(folder.path()).expect("the store is free");
        assert_eq!(store.operations(9).expect("they are read").len(), 3, "{fails}");
        let kept = store.list("change", 0).expect("they are read");
        assert_eq!(kept.iter().map(|record| record.key.as_str()).collect::<Vec<_>>(), ["c0", "c1", "c2"], "{fails}");
    }
}

/// A store that is full a few times, and notes how many steps and records of changes came in one piece.
struct Failing {
    inner: DiskStore,
    fails: usize,
    pieces: Arc<Mutex<Vec<(usize, usize)>>>,
}

impl Failing {
    fn take(&mut self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        let changes = commit.records.iter().filter(|record| record.kind == "change").count();
        self.pieces.lock().expect("not poisoned").push((commit.steps.len(), changes));
        if self.fails > 0 {
            self.fails -= 1;
            return Err(StoreError::Full { path: PathBuf::new() });
        }
        self.inner.commit(commit)
    }
}

over_disk!(Failing);

/// A store that is as good as killed once memory was moved back: nothing is stored behind that.
struct Dying {
    inner: DiskStore,
    dead: bool,
}

impl Dying {
    fn take(&mut self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        if self.dead {
            return Err(StoreError::Full { path: PathBuf::new() });
        }
        self.dead = commit.steps.iter().any(|(operation, _)| operation.why.cause == "rewind");
        self.inner.commit(commit)
    }
}

over_disk!(Dying);

/// A store that is full whenever memory is moved back, as long as that is wished.
struct Crammed {
    inner: DiskStore,
    full: Arc<AtomicBool>,
}

impl Crammed {
    fn take(&mut self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        let rewinds = commit.steps.iter().any(|(operation, _)| operation.why.cause == "rewind");
        if rewinds && self.full.load(Ordering::Relaxed) {
            return Err(StoreError::Full { path: PathBuf::new() });
        }
        self.inner.commit(commit)
    }
}

over_disk!(Crammed);

#[tokio::test(flavor = "multi_thread")]
async fn a_move_of_memory_that_cannot_be_stored_is_done_all_the_same_and_says_so() {
    let home = Home::new(&[("home.org", "* Kitchen\n")]);
    std::fs::create_dir_all(home.store().parent().expect("it has one")).expect("a folder");
    let full = Arc::new(AtomicBool::new(true));
    let store = Crammed { inner: DiskStore::open(&home.store()).expect("a new store"), full: full.clone() };
    let engine = engine_on(&home, store).await;
    home.read(&engine).await;
    let start = engine.head();
    std::fs::write(home.file("home.org"), "* Kitchen\nMine.\n").expect("it is written");
    home.read(&engine).await;
    let preview = engine.preview(&origin(), Wish::Rewind(start, Reach::Memory)).await.expect("it is shown");
    let turn = engine.new_turn();
    let done = engine.carry_out(&origin(), &preview.shown, turn, &mut |_| {}).await.expect("memory was moved");
    let text = &done.report.text;
    assert!(text.contains("Memory is as it was") && text.contains("not on disk yet: "), "{text}");
    let text = |engine: &Engine| engine.view().text(&home.file("home.org")).expect("it is in memory").to_string();
    home.read(&engine).await;
    assert_eq!(text(&engine), "* Kitchen\n", "memory keeps it until the file changes");
    full.store(false, Ordering::Relaxed);
    engine.flush().await.expect("there is room");
    engine.close().await;
    drop(engine);
    let again = home.engine().await;
    assert_eq!((again.head().0, text(&again).as_str()), (start.0 + 2, "* Kitchen\n"));
    again.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_of_memory_that_is_stored_can_be_undone_whatever_ends_the_program_behind_it() {
    let home = Home::new(&[("home.org", "* Kitchen\n")]);
    std::fs::create_dir_all(home.store().parent().expect("it has one")).expect("a folder");
    let store = Dying { inner: DiskStore::open(&home.store()).expect("a new store"), dead: false };
    let engine = engine_on(&home, store).await;
    home.read(&engine).await;
    let start = engine.head();
    std::fs::write(home.file("home.org"), "* Kitchen\nMine.\n").expect("it is written");
    home.read(&engine).await;
    let preview = engine.preview(&origin(), Wish::Rewind(start, Reach::Memory)).await.expect("it is shown");
    let turn = engine.new_turn();
    // The store dies in it, so whether it is said to be done does not matter.
    let _ = engine.carry_out(&origin(), &preview.shown, turn, &mut |_| {}).await;
    engine.close().await;
    drop(engine);
    let again = home.engine().await;
    let text = |engine: &Engine| engine.view().text(&home.file("home.org")).expect("it is in memory").to_string();
    assert_eq!((again.head().0, text(&again).as_str()), (start.0 + 2, "* Kitchen\n"));
    let log = again.memory_log(1).await.expect("it is read");
    assert_eq!((log[0].who().as_str(), log[0].stands), ("rewind by you", true));
    let preview = again.preview(&origin(), Wish::Undo(None)).await.expect("it is shown");
    again.carry_out(&origin(), &preview.shown, again.new_turn(), &mut |_| {}).await.expect("it is done");
    assert_eq!(text(&again), "* Kitchen\nMine.\n");
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
