//! The store on disk: what it acknowledged it has, what is damaged it names, what it cannot do it says.

use crate::memory::{document, outline, why};
use crate::support::skip::skipped;
use crate::support::user::ordinary;
use passepartout::domain::id::{NodeId, OperationId};
use passepartout::domain::memory::Memory;
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::shape::Shape;
use passepartout::domain::memory::store::{Commit, Loaded, NewRecord, RamStore, Record, Stamp, Store, StoreError};
use passepartout::domain::memory::view::View;
use passepartout::edge::store::verify::verify;
use passepartout::edge::store::{DiskStore, owner_of};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub fn build(file: &Arc<str>, text: Arc<str>) -> Result<Document, String> {
    Ok(Document::build(file.clone(), outline(&text), &PrivacyOptions::default()))
}

pub fn record(kind: &str, key: &str, body: serde_json::Value) -> NewRecord {
    NewRecord { at: why("").at, kind: kind.into(), key: key.into(), body }
}

/// Makes a change of one file, and stores it with one record.
pub fn save(store: &mut dyn Store, memory: &mut Memory, file: &str, text: &str) -> Result<(), StoreError> {
    let mut change = memory.begin();
    change.put(document(file, text));
    let operation = change.finish(why(file)).publish(memory).unwrap();
    let steps = [(operation.clone(), memory.head().clone())];
    let records = [record("intent", &operation.id.0.to_string(), json!({"file": file}))];
    store.commit(&Commit { steps: &steps, records: &records, stamps: &[] }).map(|_| ())
}

pub fn reopened(folder: &Path) -> (DiskStore, Memory, Vec<String>) {
    let mut store = DiskStore::open(folder).unwrap();
    let loaded = store.load(&build).unwrap();
    (store, Memory::restore(loaded.view, loaded.log), loaded.problems)
}

/// Returns what breaks the proof of a store.
fn breaks(folder: &Path) -> Vec<String> {
    let proof = verify(folder, None).unwrap();
    proof.breaks.into_iter().map(|found| found.text).collect()
}

pub fn long(words: &str, lines: usize) -> String {
    (0..lines).map(|n| format!("* {words} {n}\nBody of {words} number {n}.\n")).collect()
}

fn both(check: impl Fn(&mut dyn Store)) {
    check(&mut RamStore::default());
    let folder = tempfile::tempdir().unwrap();
    check(&mut DiskStore::open(folder.path()).unwrap());
}

#[test]
fn many_files_are_cut_and_read_on_several_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, mut memory, _) = reopened(folder.path());
    store.load_cards(&Shape::default(), &|| Ok(())).unwrap();
    let mut change = memory.begin();
    for n in 0..2_500 {
        // Some lie in their manifests, some are cut; two files at a time have the same text.
        let lines = if n % 50 < 2 { 400 } else { 2 };
        change.put(document(&format!("/memex/{n:04}.org"), &long(&format!("number {}", n / 2), lines)));
    }
    let operation = change.finish(why("many")).publish(&mut memory).unwrap();
    let steps = [(operation, memory.head().clone())];
    store.commit(&Commit { steps: &steps, ..Commit::default() }).unwrap();
    drop(store);
    let mut store = DiskStore::open(folder.path()).unwrap();
    let Loaded { view, problems, .. } = store.load_cards(&Shape::default(), &|| Ok(())).unwrap();
    assert_eq!((problems, view.root()), (Vec::new(), memory.head().root()));
    assert_eq!(view.headings(), memory.head().headings());
    let id = NodeId::new("/memex/0050.org::*number 25 7");
    assert_eq!(view.get(&id).unwrap().body(), memory.head().get(&id).unwrap().body());
    for (here, there) in view.cards().zip(memory.head().cards()) {
        assert_eq!(here, there);
        assert_eq!(view.text(&here.file), memory.head().text(&there.file));
    }
}

#[test]
fn what_is_stored_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut memory = Memory::default();
    {
        let mut store = DiskStore::open(folder.path()).unwrap();
        assert!(store.load(&build).unwrap().view.is_empty());
        save(&mut store, &mut memory, "/n/a.org", "* A\n:ID: a\n").unwrap();
        save(&mut store, &mut memory, "/n/long.org", &long("x", 9_000)).unwrap();
        save(&mut store, &mut memory, "/n/empty.org", "").unwrap();
        save(&mut store, &mut memory, "/n/a.org", "* Changed\n:ID: a\n").unwrap();
        let stamp =
            Stamp { file: "/n/a.org".into(), modified: -5, size: 18, document: memory.head().root(), settled: true };
        store.commit(&Commit { stamps: &[stamp], ..Commit::default() }).unwrap();
    }
    let mut store = DiskStore::open(folder.path()).unwrap();
    let loaded = store.load(&build).unwrap();
    assert_eq!(loaded.problems, [""; 0]);
    assert_eq!(loaded.view.root(), memory.head().root());
    assert_eq!(loaded.log, memory.log());
    assert_eq!(loaded.stamps.iter().map(|s| (s.modified, s.size)).collect::<Vec<_>>(), [(-5, 18)]);
    assert_eq!(loaded.view.get(&NodeId::new("a")).unwrap().title(), "Changed");
    for operation in memory.log() {
        let view = store.view_at(operation.id, &build).unwrap().unwrap();
        assert_eq!(view.root(), operation.root);
    }
    assert!(store.view_at(OperationId(0), &build).unwrap().unwrap().is_empty());
    assert!(store.view_at(OperationId(99), &build).unwrap().is_none());
    assert_eq!(breaks(folder.path()), [""; 0]);
}

#[test]
fn going_back_is_stored_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut memory = Memory::default();
    let mut store = DiskStore::open(folder.path()).unwrap();
    save(&mut store, &mut memory, "a", "* one\n").unwrap();
    save(&mut store, &mut memory, "b", "* two\n").unwrap();
    let back = memory.rollback(OperationId(1), why("undo")).unwrap();
    let commit = [(back, memory.head().clone())];
    store.commit(&Commit { steps: &commit, ..Commit::default() }).unwrap();
    drop(store);
    let (_, found, _) = reopened(folder.path());
    assert_eq!(found.head().root(), memory.head().root());
    assert_eq!(found.head().len(), 1);
    assert_eq!(found.at(), OperationId(3));
}

#[test]
fn records_only_grow() {
    both(|store| {
        let plan = |state: &str| record("plan", "P1", json!({"state": state}));
        let committed =
            store.commit(&Commit { records: &[plan("pending"), plan("approved")], ..Commit::default() }).unwrap();
        assert_eq!(committed.first_record, 1);
        let other = [record("rule", "P1", json!(null))];
        assert_eq!(store.commit(&Commit { records: &other, ..Commit::default() }).unwrap().first_record, 3);
        assert_eq!(store.latest("plan", "P1").unwrap().unwrap().body, json!({"state": "approved"}));
        assert_eq!(store.latest("plan", "P2").unwrap(), None);
        let seqs =
            |store: &mut dyn Store, since| store.list("plan", since).unwrap().iter().map(|r| r.seq).collect::<Vec<_>>();
        assert_eq!(seqs(store, 0), [1, 2]);
        assert_eq!(seqs(store, 1), [2]);
        let last = [record("plan", "P2", json!(2)), record("plan", "P1", json!({"state": "done"}))];
        store.commit(&Commit { records: &last, ..Commit::default() }).unwrap();
        let places = |records: Vec<Record>| records.iter().map(|r| r.seq).collect::<Vec<_>>();
        assert_eq!(places(store.newest("plan", 2).unwrap()), [5, 4]);
        assert_eq!(places(store.newest("plan", 9).unwrap()), [5, 4, 2, 1]);
        assert_eq!(places(store.newest("nothing", 9).unwrap()), [0; 0]);
        assert_eq!(places(store.latest_each("plan").unwrap()), [4, 5]);
        assert_eq!(places(store.latest_each("rule").unwrap()), [3]);
    });
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let folder = tempfile::tempdir().unwrap();
    let mut store = DiskStore::open(folder.path()).unwrap();
    let refused = store.commit(&Commit { records: &[record("x", "y", deep)], ..Commit::default() });
    assert!(refused.unwrap_err().to_string().contains("nested"));
    assert!(store.list("x", 0).unwrap().is_empty());
}

#[test]
fn a_change_on_an_old_head_is_refused() {
    both(|store| {
        let mut memory = Memory::default();
        let mut other = Memory::default();
        save(store, &mut memory, "a", "* one\n").unwrap();
        let refused = save(store, &mut other, "b", "* two\n").unwrap_err();
        assert!(
            matches!(refused, StoreError::Conflict { expected: OperationId(0), found: OperationId(1) }),
            "{refused}"
        );
        assert_eq!(store.list("intent", 0).unwrap().len(), 1, "nothing of a refused commit is stored");
    });
}

#[test]
fn an_edit_adds_little() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = DiskStore::open(folder.path()).unwrap();
    let mut memory = Memory::default();
    let text = long("heading", 20_000);
    let mut change = memory.begin();
    for n in 0..500 {
        change.put(document(&format!("/notes/{n}.org"), &format!("* Note {n}\n")));
    }
    change.put(document("/notes/long.org", &text));
    let first = change.finish(why("all")).publish(&mut memory).unwrap();
    let all = store.commit(&Commit { steps: &[(first, memory.head().clone())], ..Commit::default() }).unwrap();
    assert!(all.bytes > text.len() as u64);
    let edited = text.replacen("number 10000.", "number 10000, edited.", 1);
    let mut change = memory.begin();
    change.put(document("/notes/long.org", &edited));
    let second = change.finish(why("edit")).publish(&mut memory).unwrap();
    let edit = store.commit(&Commit { steps: &[(second, memory.head().clone())], ..Commit::default() }).unwrap();
    assert!(
        edit.bytes < 64 * 1024,
        "one edit in {} bytes added {} bytes in {} objects",
        text.len(),
        edit.bytes,
        edit.objects
    );
}

#[test]
fn files_are_private() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("a/b");
    let mut store = DiskStore::open(&folder).unwrap();
    save(&mut store, &mut Memory::default(), "a", "* one\n").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    assert!(names.len() >= 4, "{names:?}");
    assert!(names.iter().all(|name| mode(name) == 0o600), "{names:?}");
    let shared = parent.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("other"), "x").unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
    drop(DiskStore::open(&shared).unwrap());
    assert_eq!(mode(&shared), 0o755, "a folder that holds other things is not ours to close");
    assert_eq!(mode(&shared.join("memory.sqlite")), 0o600);
}

#[test]
fn one_process_owns_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let mut memory = Memory::default();
    let mut store = DiskStore::open(folder.path()).unwrap();
    save(&mut store, &mut memory, "a", "* one\n").unwrap();
    let refused = DiskStore::open(folder.path()).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains(&format!("in use by process {}", std::process::id())), "{refused}");
    let mut reader = DiskStore::open_to_read(folder.path()).unwrap();
    assert_eq!(reader.load(&build).unwrap().view.root(), memory.head().root());
    let refused = reader.commit(&Commit { records: &[record("a", "b", json!(1))], ..Commit::default() });
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })));
    drop(store);
    assert!(DiskStore::open(folder.path()).is_ok());
}

#[test]
fn a_reader_sees_the_store_as_it_was_when_it_was_opened() {
    let folder = tempfile::tempdir().unwrap();
    let mut memory = Memory::default();
    let mut store = DiskStore::open(folder.path()).unwrap();
    save(&mut store, &mut memory, "a", "* one\n").unwrap();
    let then = memory.head().root();
    let mut reader = DiskStore::open_to_read(folder.path()).unwrap();
    for n in 0..20 {
        save(&mut store, &mut memory, "a", &format!("* two {n}\n")).unwrap();
    }
    let loaded = reader.load(&build).unwrap();
    assert_eq!((loaded.view.root(), loaded.log.len()), (then, 1));
    assert_eq!(loaded.problems, [""; 0]);
    assert_eq!(reader.list("intent", 0).unwrap().len(), 1);
    assert_eq!(DiskStore::open_to_read(folder.path()).unwrap().list("intent", 0).unwrap().len(), 21);
}

#[test]
fn reading_leaves_a_store_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut memory = Memory::default();
    let mut store = DiskStore::open(folder.path()).unwrap();
    save(&mut store, &mut memory, "a", "* one\n").unwrap();
    drop(store);
    assert_eq!(owner_of(folder.path()), None);
    let before = listing(folder.path());
    let read = || {
        let mut reader = DiskStore::open_to_read(folder.path()).unwrap();
        assert_eq!(reader.load(&build).unwrap().view.root(), memory.head().root());
        assert_eq!(breaks(folder.path()), [""; 0]);
    };
    read();
    // SQLite's own companions are not the store.
    let ours = |listing: Vec<(String, Vec<u8>)>| {
        let kept = listing
            .into_iter()
            .filter(|(name, bytes)| !(name.ends_with("-shm") || bytes.is_empty() && name.ends_with("-wal")));
        kept.collect::<Vec<_>>()
    };
    assert_eq!(ours(listing(folder.path())), ours(before));
    for name in ["memory.sqlite-wal", "memory.sqlite-shm"] {
        let _ = fs::remove_file(folder.path().join(name));
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
    ordinary(read);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
}

/// The tables as the first version made them.
const FIRST_LAYOUT: &str = "
CREATE TABLE objects(hash BLOB PRIMARY KEY, kind INTEGER NOT NULL, bytes BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE texts(document BLOB PRIMARY KEY, manifest BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE operations(id INTEGER PRIMARY KEY, hash BLOB NOT NULL, parent BLOB, root BLOB NOT NULL,
  cause TEXT NOT NULL, origin TEXT NOT NULL, at TEXT NOT NULL, note TEXT NOT NULL);
CREATE TABLE heads(name TEXT PRIMARY KEY, operation INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE records(seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX records_by_key ON records(kind, key, seq);
CREATE TABLE stamps(file TEXT PRIMARY KEY, modified INTEGER NOT NULL, size INTEGER NOT NULL, document BLOB NOT NULL,
  settled INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER operations_stay BEFORE DELETE ON operations BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER operations_hold BEFORE UPDATE ON operations BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER records_stay BEFORE DELETE ON records BEGIN SELECT RAISE(ABORT, 'records only grow'); END;
CREATE TRIGGER records_hold BEFORE UPDATE ON records BEGIN SELECT RAISE(ABORT, 'records only grow'); END;
PRAGMA application_id = 1349537133; PRAGMA user_version = 1; PRAGMA journal_mode = wal;
";

#[test]
fn a_store_of_the_first_layout_opens_and_keeps_everything() {
    let (folder, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut memory = Memory::default();
    let mut store = DiskStore::open(new.path()).unwrap();
    save(&mut store, &mut memory, "/n/a.org", &long("a", 500)).unwrap();
    save(&mut store, &mut memory, "/n/b.org", "* B\n").unwrap();
    drop(store);
    let old = rusqlite::Connection::open(folder.path().join("memory.sqlite")).unwrap();
    old.execute_batch(FIRST_LAYOUT).unwrap();
    old.execute("ATTACH ?1 AS new", [new.path().join("memory.sqlite").to_str().unwrap()]).unwrap();
    for table in ["objects", "texts", "operations", "heads", "records", "stamps"] {
        old.execute(&format!("INSERT INTO {table} SELECT * FROM new.{table}"), []).unwrap();
    }
    drop(old);
    fs::copy(new.path().join("memory.log"), folder.path().join("memory.log")).unwrap();

    let mut reader = DiskStore::open_to_read(folder.path()).unwrap();
    assert_eq!(reader.newest("intent", 1).unwrap().len(), 1, "it can be read before it was brought up to date");
    drop(reader);
    let (mut store, found, problems) = reopened(folder.path());
    assert_eq!(problems, [""; 0]);
    assert_eq!(found.head().root(), memory.head().root());
    assert_eq!(store.newest("intent", 9).unwrap().len(), 2);
    let mut found = found;
    save(&mut store, &mut found, "/n/b.org", "* C\n").unwrap();
    assert_eq!(breaks(folder.path()), [""; 0]);
    drop(store);
    // The version before ours opens it still: the format has the same number.
    let database = rusqlite::Connection::open(folder.path().join("memory.sqlite")).unwrap();
    let index: String = database
        .query_row("SELECT name FROM sqlite_schema WHERE type = 'index' AND name = 'records_by_kind'", [], |r| r.get(0))
        .unwrap();
    assert_eq!(index, "records_by_kind");
    assert_eq!(database.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0)).unwrap(), 1);
    for sql in [
        "SELECT body FROM records WHERE kind = ?1 ORDER BY seq DESC LIMIT 5",
        "SELECT body FROM records WHERE kind = ?1 AND key = 'x' ORDER BY seq DESC LIMIT 1",
    ] {
        let plan: String =
            database.query_row(&format!("EXPLAIN QUERY PLAN {sql}"), ["turn"], |row| row.get("detail")).unwrap();
        assert!(plan.starts_with("SEARCH records USING INDEX"), "{sql}: {plan}");
    }
    for name in ["changes_by_turn", "changes_by_since", "touched"] {
        let sql = "SELECT count(*) FROM sqlite_schema WHERE name = ?1";
        assert_eq!(database.query_row(sql, [name], |row| row.get::<_, i64>(0)).unwrap(), 1, "{name}");
    }
}

#[test]
fn a_whole_database_is_not_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let mut memory = Memory::default();
    let mut store = DiskStore::open(folder.path()).unwrap();
    save(&mut store, &mut memory, "a", "* one\n").unwrap();
    drop(store);
    let mut store = DiskStore::rebuild(folder.path()).unwrap();
    assert!(store.notices()[0].contains("was left as it is"), "{:?}", store.notices());
    assert_eq!(store.load(&build).unwrap().view.root(), memory.head().root());
}

#[test]
fn an_owner_that_is_about_to_end_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let held = DiskStore::open(folder.path()).unwrap();
    assert!(owner_of(folder.path()).is_some_and(|owner| owner.contains(&std::process::id().to_string())));
    assert!(DiskStore::open_patiently(folder.path(), Duration::ZERO).is_err());
    let path = folder.path().to_path_buf();
    let waiting = std::thread::spawn(move || DiskStore::open_patiently(&path, Duration::from_secs(20)).map(|_| ()));
    drop(held);
    waiting.join().unwrap().unwrap();
}

#[test]
fn a_lock_of_a_dead_process_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    drop(DiskStore::open(folder.path()).unwrap());
    fs::write(folder.path().join("lock"), "999999\n").unwrap();
    let store = DiskStore::open(folder.path()).unwrap();
    assert!(store.notices()[0].contains("999999"), "{:?}", store.notices());
}

#[test]
fn what_cannot_be_opened_says_so() {
    let check = |prepare: &dyn Fn(&Path), expect: &[&str]| {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("store");
        fs::create_dir(&folder).unwrap();
        prepare(&folder);
        let before = listing(&folder);
        let message = DiskStore::open(&folder).map(|_| ()).unwrap_err().to_string();
        for words in expect.iter().chain(&[folder.to_str().unwrap()]) {
            assert!(message.contains(words), "{message:?} lacks {words:?}");
        }
        assert_eq!(listing(&folder), before, "a refusal changes nothing");
    };
    let newer = |folder: &Path| {
        drop(DiskStore::open(folder).unwrap());
        let connection = rusqlite::Connection::open(folder.join("memory.sqlite")).unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
    };
    check(&newer, &["newer version", "format 99", "update Passepartout"]);
    check(
        &|f| fs::write(f.join("memory.sqlite"), "#!/bin/sh\n").unwrap(),
        &["not a database of Passepartout", "move the file away"],
    );
    let foreign = |folder: &Path| {
        let connection = rusqlite::Connection::open(folder.join("memory.sqlite")).unwrap();
        connection.pragma_update(None, "application_id", 7).unwrap();
    };
    check(&foreign, &["not a database of Passepartout"]);
    let unmarked = |folder: &Path| {
        let connection = rusqlite::Connection::open(folder.join("memory.sqlite")).unwrap();
        connection.execute_batch("CREATE TABLE someone_elses(x)").unwrap();
    };
    check(&unmarked, &["not a database of Passepartout"]);
    check(&|f| fs::create_dir(f.join("memory.sqlite")).unwrap(), &["memory.sqlite"]);
    let file = tempfile::NamedTempFile::new().unwrap();
    let message = DiskStore::open(file.path()).map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("folder is needed"), "{message}");
    let none = tempfile::tempdir().unwrap();
    let message = DiskStore::open_to_read(none.path()).map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("no store yet"), "{message}");
    // Another process has made the file, and has not come to the tables yet.
    fs::write(none.path().join("memory.sqlite"), "").unwrap();
    let message = DiskStore::open_to_read(none.path()).map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("no store yet"), "{message}");
}

#[test]
fn a_store_that_its_owner_is_just_making_is_waited_for() {
    let (made, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(DiskStore::open(made.path()).unwrap());
    let nobody = DiskStore::open_beside(folder.path(), Duration::from_secs(60)).map(|_| ());
    assert!(matches!(nobody, Err(StoreError::Unmade { .. })), "nobody makes it: {nobody:?}");
    // Its owner holds the lock, and has made an empty file.
    let lock = fs::File::create(folder.path().join("lock")).unwrap();
    lock.lock().unwrap();
    let database = folder.path().join("memory.sqlite");
    fs::write(&database, "").unwrap();
    let late = DiskStore::open_beside(folder.path(), Duration::ZERO).map(|_| ());
    assert!(matches!(late, Err(StoreError::Unmade { .. })), "patience ends: {late:?}");
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| DiskStore::open_beside(folder.path(), Duration::from_secs(60)).map(|_| ()));
        fs::rename(made.path().join("memory.sqlite"), &database).unwrap();
        assert!(reader.join().unwrap().is_ok());
    });
}

#[test]
fn a_folder_without_rights_says_so() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("store");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    let message = ordinary(|| DiskStore::open(&folder).map(|_| ()).unwrap_err().to_string());
    assert!(message.contains("Permission denied") && message.contains("make the folder writable"), "{message}");
}

fn listing(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap_or_default()))
        .collect();
    found.sort();
    found
}

/// Changes one byte of stored objects of one kind, behind the store's back.
fn flip(folder: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(folder.join("memory.sqlite")).unwrap();
    let changed = connection.execute(sql, []).unwrap();
    assert!(changed > 0, "{sql}");
}

#[test]
fn damage_is_found_named_and_healed() {
    let cases = [
        "UPDATE objects SET bytes = x'00' || substr(bytes, 2) WHERE kind = 0",
        "UPDATE objects SET bytes = x'09' || substr(bytes, 2) WHERE kind = 2",
        "UPDATE texts SET manifest = substr(manifest, 1, 33) || x'03' || substr(manifest, 35)",
        "UPDATE texts SET manifest = x''",
        "DELETE FROM objects WHERE kind = 0",
        "DELETE FROM texts",
    ];
    for sql in cases {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = Memory::default();
        let mut store = DiskStore::open(folder.path()).unwrap();
        save(&mut store, &mut memory, "/n/a.org", &long("a", 500)).unwrap();
        drop(store);
        flip(folder.path(), sql);
        let (mut store, found, problems) = reopened(folder.path());
        assert_eq!(problems.len(), 1, "{sql}: {problems:?}");
        assert!(problems[0].contains("the store is damaged: object"), "{problems:?}");
        assert!(found.head().is_empty());
        assert!(sql.starts_with("DELETE") || !breaks(folder.path()).is_empty(), "{sql}");
        // The Org file is read again: what it holds is whole again.
        let mut again = found;
        save(&mut store, &mut again, "/n/a.org", &long("a", 500)).unwrap();
        drop(store);
        let (_store, healed, problems) = reopened(folder.path());
        assert_eq!(problems, [""; 0], "{sql}");
        assert_eq!(healed.head().root(), memory.head().root(), "{sql}");
        assert_eq!(breaks(folder.path()), [""; 0], "{sql}");
    }
}

#[test]
fn a_rewritten_log_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut memory = Memory::default();
    let mut store = DiskStore::open(folder.path()).unwrap();
    for n in 0..3 {
        save(&mut store, &mut memory, "a", &format!("* {n}\n")).unwrap();
    }
    drop(store);
    let connection = rusqlite::Connection::open(folder.path().join("memory.sqlite")).unwrap();
    assert!(connection.execute("UPDATE operations SET note = 'x' WHERE id = 2", []).is_err(), "the log only grows");
    assert!(connection.execute("DELETE FROM records", []).is_err());
    connection.execute_batch("DROP TRIGGER operations_hold; UPDATE operations SET note = 'x' WHERE id = 2").unwrap();
    drop(connection);
    let (_, _, problems) = reopened(folder.path());
    assert!(problems[0].contains("broken between 2 and 3"), "{problems:?}");
}

#[test]
fn the_log_rebuilds_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let mut memory = Memory::default();
    let mut store = DiskStore::open(folder.path()).unwrap();
    for n in 0..5 {
        save(&mut store, &mut memory, "a", &format!("* {n}\n")).unwrap();
    }
    drop(store);
    let database = folder.path().join("memory.sqlite");
    fs::write(&database, "SQLite format 3\0 and then nothing").unwrap();
    let message = DiskStore::open(folder.path()).map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("doctor --fix"), "{message}");
    let mut store = DiskStore::rebuild(folder.path()).unwrap();
    assert!(folder.path().join("memory.sqlite.damaged-1").exists());
    assert_eq!(store.operations(usize::MAX).unwrap(), memory.log());
    assert_eq!(store.list("intent", 0).unwrap().len(), 5);
    let loaded = store.load(&build).unwrap();
    assert!(loaded.view.is_empty() && !loaded.problems.is_empty());
    let mut again = Memory::restore(loaded.view, loaded.log);
    save(&mut store, &mut again, "a", "* 4\n").unwrap();
    assert_eq!(again.head().root(), memory.head().root());
    assert_eq!(again.at(), OperationId(6));
}

#[test]
fn a_torn_or_lost_log_is_made_good() {
    type Tear<'a> = &'a dyn Fn(&mut Vec<u8>);
    let tears: &[Tear<'_>] = &[
        &|bytes| bytes.truncate(bytes.len() - 3),
        &|bytes| bytes.extend_from_slice(b"half an entry"),
        &|bytes| bytes[100] ^= 1,
        &|bytes| bytes.clear(),
        &|bytes| bytes[0] ^= 1,
    ];
    for (case, tear) in tears.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = Memory::default();
        let mut store = DiskStore::open(folder.path()).unwrap();
        for n in 0..3 {
            save(&mut store, &mut memory, "a", &format!("* {n}\n")).unwrap();
        }
        drop(store);
        let log = folder.path().join("memory.log");
        let mut bytes = fs::read(&log).unwrap();
        tear(&mut bytes);
        fs::write(&log, &bytes).unwrap();
        drop(DiskStore::open(folder.path()).unwrap());
        fs::remove_file(folder.path().join("memory.sqlite")).unwrap();
        let mut store = DiskStore::open(folder.path()).unwrap();
        assert_eq!(store.operations(9).unwrap(), memory.log(), "case {case}");
        assert_eq!(store.list("intent", 0).unwrap().len(), 3, "case {case}");
    }
}

#[test]
fn a_full_disk_loses_nothing_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut memory = Memory::default();
    let mut store = DiskStore::open(folder.path()).unwrap();
    save(&mut store, &mut memory, "a", "* kept\n").unwrap();
    let kept = memory.clone();
    store.limit_pages(40).unwrap();
    let refused = save(&mut store, &mut memory, "b", &long("b", 20_000)).unwrap_err();
    assert!(matches!(refused, StoreError::Full { .. }), "{refused}");
    assert!(refused.to_string().contains("make room"), "{refused}");
    assert_eq!(store.list("intent", 0).unwrap().len(), 1);
    // What is not saved yet can be saved once there is room, in one piece with what came after.
    store.limit_pages(1_000_000).unwrap();
    let unsaved = (memory.last().unwrap().clone(), memory.head().clone());
    store.commit(&Commit { steps: &[unsaved], ..Commit::default() }).unwrap();
    drop(store);
    let (mut store, found, problems) = reopened(folder.path());
    assert_eq!(problems, [""; 0]);
    assert_eq!(found.head().root(), memory.head().root());
    assert_eq!(store.view_at(kept.at(), &build).unwrap().unwrap().root(), kept.head().root());
}

#[test]
fn a_log_without_room_says_so() {
    if !Path::new("/dev/full").exists() {
        skipped("no /dev/full here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("memory.log")).unwrap();
    let message = DiskStore::open(folder.path()).map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("memory.log") && message.contains("make room"), "{message}");
}

#[test]
fn a_lock_without_room_for_a_name_is_a_lock_all_the_same() {
    if !Path::new("/dev/full").exists() {
        println!("skipped: no /dev/full here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("lock")).unwrap();
    let mut store = DiskStore::open(folder.path()).unwrap();
    assert_eq!(store.notices(), [""; 0]);
    save(&mut store, &mut Memory::default(), "a", "* one\n").unwrap();
}

/// Copies the files of a store as a crash would leave them.
fn crashed(folder: &Path, names: &[&str]) -> tempfile::TempDir {
    let image = tempfile::tempdir().unwrap();
    for name in names {
        fs::copy(folder.join(name), image.path().join(name)).unwrap();
    }
    image
}

#[test]
fn whatever_a_crash_leaves_of_the_files_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let mut memory = Memory::default();
    let mut store = DiskStore::open(folder.path()).unwrap();
    save(&mut store, &mut memory, "a", "* one\n").unwrap();
    let (database, companion, log) = ("memory.sqlite", "memory.sqlite-wal", "memory.log");
    let early = crashed(folder.path(), &[database, companion, log]);
    for n in 0..5 {
        save(&mut store, &mut memory, "a", &format!("* two {n}\n")).unwrap();
    }
    // In the order in which a repair moves them, a commit writes them, or a copy brings them back.
    let mixed = crashed(folder.path(), &[log]);
    for name in [database, companion] {
        fs::copy(early.path().join(name), mixed.path().join(name)).unwrap();
    }
    let behind = crashed(folder.path(), &[database, companion]);
    fs::copy(early.path().join(log), behind.path().join(log)).unwrap();
    let all = crashed(folder.path(), &[database, companion, log]);
    let only_companion = crashed(folder.path(), &[companion, log]);
    let only_log = crashed(folder.path(), &[log]);
    for (case, image, whole) in [
        ("everything", &all, true),
        ("a log that is behind", &behind, true),
        ("an older database", &mixed, false),
        ("a companion without its database", &only_companion, false),
        ("the log alone", &only_log, false),
    ] {
        let (mut found, mut again, problems) = reopened(image.path());
        assert_eq!(again.log(), memory.log(), "{case}");
        assert_eq!(found.list("intent", 0).unwrap().len(), 6, "{case}");
        assert_eq!(again.head().root() == memory.head().root(), whole, "{case}: {problems:?}");
        // What the Org files hold is read again, and then all is whole.
        if !whole {
            save(&mut found, &mut again, "a", "* two 4\n").unwrap();
        }
        assert_eq!(again.head().root(), memory.head().root(), "{case}");
        drop(found);
        let (_found, again, problems) = reopened(image.path());
        assert_eq!(problems, [""; 0], "{case}");
        assert_eq!(again.head().root(), memory.head().root(), "{case}");
        // Old texts that stood nowhere else are lost, and named.
        let breaks = breaks(image.path());
        assert!(breaks.iter().all(|text| !whole && text.ends_with(" is lost")), "{case}: {breaks:?}");
    }
}

const LOOK: &str = "PASSEPARTOUT_TEST_LOOK";

/// The body of another program that looks into the database and ends.
#[test]
fn child_that_looks() {
    let Ok(folder) = std::env::var(LOOK) else { return };
    let other = rusqlite::Connection::open(Path::new(&folder).join("memory.sqlite")).unwrap();
    let count: i64 = other.query_row("SELECT count(*) FROM operations", [], |row| row.get(0)).unwrap();
    assert!(count > 0);
}

#[test]
fn another_program_that_looks_into_the_database_takes_nothing_away() {
    let folder = tempfile::tempdir().unwrap();
    let mut memory = Memory::default();
    let mut store = DiskStore::open(folder.path()).unwrap();
    save(&mut store, &mut memory, "a", "* one\n").unwrap();
    // Whatever of ours looks at the file meanwhile must leave SQLite's locks on it.
    assert!(DiskStore::open(folder.path()).is_err());
    drop(DiskStore::open_to_read(folder.path()).unwrap());
    let companion = folder.path().join("memory.sqlite-wal");
    let which = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(&companion).unwrap());
    let before = which();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "store::child_that_looks", "--test-threads=1"]).env(LOOK, folder.path());
    assert!(child.output().unwrap().status.success());
    assert_eq!(which(), before, "what is written now would go into a file that was removed");
    save(&mut store, &mut memory, "a", "* two\n").unwrap();
    let image = crashed(folder.path(), &["memory.sqlite", "memory.sqlite-wal", "memory.log"]);
    let (_, found, problems) = reopened(image.path());
    assert_eq!((problems, found.head().root()), (vec![], memory.head().root()));
}

const CHILD: &str = "PASSEPARTOUT_TEST_STORE";

/// The body of the process that is killed: it saves, and says what was acknowledged.
#[test]
fn child_that_saves() {
    let Ok(folder) = std::env::var(CHILD) else { return };
    let (mut store, mut memory, _) = reopened(Path::new(&folder));
    let mut out = std::io::stdout();
    for n in memory.at().0.. {
        let text = long(&format!("round {n}"), 30 + (n as usize * 37) % 400);
        save(&mut store, &mut memory, &format!("{}.org", n % 7), &text).unwrap();
        writeln!(out, "saved {} {}", memory.at().0, memory.head().root()).unwrap();
        out.flush().unwrap();
    }
}

/// Kills a saving process in the middle, several times; everything that it said was saved is there.
#[test]
fn killed_at_any_moment_keeps_what_was_acknowledged() {
    let rounds = crate::support::soak::asked("KILLS").unwrap_or(6);
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..rounds {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::child_that_saves", "--nocapture", "--test-threads=1"])
            .env(CHILD, folder.path())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // The moment differs from round to round without a clock: after so many saves, in the next one.
        let saves = lines.by_ref().filter(|line| line.starts_with("saved ")).take(1 + round % 5);
        acknowledged.extend(saves);
        child.kill().unwrap();
        acknowledged
            .extend(lines.filter(|line| line.starts_with("saved ") && line.split(' ').count() == 3 && line.len() > 70));
        child.wait().unwrap();
        let (mut store, memory, problems) = reopened(folder.path());
        assert!(problems.iter().all(|p| p.contains("taken over") || p.contains("damaged end")), "{problems:?}");
        let intents = store.list("intent", 0).unwrap();
        assert_eq!(intents.len() as u64, memory.at().0, "a record without its operation, or the reverse");
        for line in acknowledged.drain(..) {
            let words: Vec<&str> = line.split(' ').collect();
            let id = OperationId(words[1].parse().unwrap());
            let found = memory.operation(id).unwrap_or_else(|| panic!("operation {} was lost", id.0));
            assert_eq!(found.root.to_hex(), words[2]);
        }
        assert_eq!(memory.head().root(), memory.last().map_or(View::default().root(), |last| last.root));
        assert_eq!(breaks(folder.path()), [""; 0]);
    }
    let (_, memory, _) = reopened(folder.path());
    assert!(memory.at().0 >= rounds as u64);
    crate::support::soak::survived(format!("{rounds} kills, {} operations, none lost", memory.at().0));
}

#[test]
fn ten_thousand_headings_load_quickly() {
    let folder = tempfile::tempdir().unwrap();
    let mut memory = Memory::default();
    let mut change = memory.begin();
    for n in 0..200 {
        change.put(document(&format!("/notes/{n}.org"), &long(&format!("note {n}"), 50)));
    }
    let operation = change.finish(why("all")).publish(&mut memory).unwrap();
    let mut store = DiskStore::open(folder.path()).unwrap();
    let begin = std::time::Instant::now();
    store.commit(&Commit { steps: &[(operation, memory.head().clone())], ..Commit::default() }).unwrap();
    let saved = begin.elapsed();
    drop(store);
    let begin = std::time::Instant::now();
    let (_, found, _) = reopened(folder.path());
    let loaded = begin.elapsed();
    assert_eq!(found.head().headings(), 10_000);
    println!("10,000 headings: saved in {saved:?}, opened and loaded in {loaded:?}");
    assert!(loaded.as_secs() < 5, "even unoptimised, on a busy machine: {loaded:?}");
}
