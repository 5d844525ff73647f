//! The store proves itself: its chain, its objects, its log, the head noted outside; and lets go only of what it may.

use crate::memory::{document, why};
use crate::store::{build, long, record, reopened, save};
use passepartout::domain::id::OperationId;
use passepartout::domain::memory::Memory;
use passepartout::domain::memory::operation::Why;
use passepartout::domain::memory::store::{Commit, Content, Store, StoreError};
use passepartout::edge::store::compact::Keep;
use passepartout::edge::store::verify::{Proof, What, keep_result, last_result, verify};
use passepartout::edge::store::{DiskStore, witness};
use std::fs;
use std::path::Path;

/// A store with some history, closed again; its head was noted at each save.
fn history(folder: &Path, heads: &Path) -> Memory {
    let mut memory = Memory::default();
    let mut store = DiskStore::open(folder).unwrap();
    store.watch(heads);
    for n in 0..6 {
        save(&mut store, &mut memory, "/n/a.org", &long(&format!("round {n}"), 300)).unwrap();
        save(&mut store, &mut memory, &format!("/n/{n}.org"), &format!("* Note {n}\n")).unwrap();
    }
    assert_eq!(store.notices(), [""; 0]);
    memory
}

fn database(folder: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(folder.join("memory.sqlite")).unwrap()
}

fn texts(proof: &Proof) -> Vec<&str> {
    proof.breaks.iter().map(|place| place.text.as_str()).collect()
}

fn copied(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for name in ["memory.sqlite", "memory.log"] {
        fs::copy(folder.join(name), copy.path().join(name)).unwrap();
    }
    copy
}

#[test]
fn a_whole_store_says_since_when_it_is_unbroken() {
    let (folder, heads) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let memory = history(folder.path(), heads.path());
    let proof = verify(folder.path(), Some(heads.path())).unwrap();
    assert_eq!(texts(&proof), [""; 0]);
    assert_eq!((proof.operations, proof.records, proof.unreferenced), (12, 12, 0));
    assert_eq!(proof.log_entries, 12);
    assert!(
        proof.verdict().starts_with("unbroken since 2023-11-14 22:13:20 UTC: 12 operations, 12 records, "),
        "{}",
        proof.verdict()
    );
    assert!(
        proof.notes.iter().any(|note| note.starts_with("the head fits what was noted outside")),
        "{:?}",
        proof.notes
    );
    let at = memory.last().unwrap().why.at;
    keep_result(heads.path(), folder.path(), &proof, at).unwrap();
    let last = last_result(heads.path(), folder.path()).unwrap();
    assert_eq!((last.whole, last.at, last.verdict), (true, at, proof.verdict()));
    // Beside its owner, too.
    let (_store, _, _) = reopened(folder.path());
    assert!(verify(folder.path(), Some(heads.path())).unwrap().whole());
}

/// The noted head is of what was handed over, and the proof is of what is read back: a number that came back as its
/// neighbour would look as if somebody had changed it.
#[test]
fn fractions_in_records_are_no_damage() {
    let (folder, heads) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut store = DiskStore::open(folder.path()).unwrap();
    store.watch(heads.path());
    // What a clock, a price or a model may come to: every mantissa is as likely as any other.
    let fractions =
        (1..400u64).map(|n| f64::from_bits(0x3fb0_0000_0000_0000 | n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12));
    let all = fractions.chain([5e-324, f64::MAX, -0.0, 0.1 + 0.2]);
    let records: Vec<_> = all.map(|fraction| record("factor", "a", serde_json::json!(fraction))).collect();
    store.commit(&Commit { records: &records, ..Commit::default() }).unwrap();
    drop(store);
    assert_eq!(texts(&verify(folder.path(), Some(heads.path())).unwrap()), [""; 0]);
}

#[test]
fn whatever_is_changed_behind_its_back_is_named() {
    let drop = "DROP TRIGGER operations_hold; DROP TRIGGER operations_stay; DROP TRIGGER records_hold; DROP TRIGGER records_stay;";
    let cases: &[(&str, What, &str)] = &[
        (
            "UPDATE operations SET note = 'x' WHERE id = 3",
            What::Operation,
            "operation 3 was changed after it was written",
        ),
        ("UPDATE operations SET root = zeroblob(32) WHERE id = 3", What::Operation, "broken between 3 and 4"),
        ("DELETE FROM operations WHERE id IN (4, 5)", What::Operation, "operations 4 to 5 are missing"),
        ("UPDATE heads SET operation = 2", What::Operation, "the head is operation 2, and the last one is 12"),
        (
            "UPDATE records SET body = '{}' WHERE seq = 7",
            What::Record,
            "record 7 (intent 7) is another one in the plain log",
        ),
        ("DELETE FROM records WHERE seq = 7", What::Record, "record 7 is missing"),
        ("UPDATE objects SET bytes = x'00' || substr(bytes, 2) WHERE kind = 0", What::Object, "holds the bytes of"),
        ("DELETE FROM texts", What::Object, "operation 1 (2023-11-14 22:13): the text of /n/a.org is lost"),
        ("DELETE FROM objects WHERE kind = 2", What::Object, "operation 1 (2023-11-14 22:13): object "),
        ("UPDATE texts SET manifest = x'00'", What::Object, "text "),
    ];
    for (sql, what, words) in cases {
        let (folder, heads) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        history(folder.path(), heads.path());
        database(folder.path()).execute_batch(&format!("{drop} {sql}")).unwrap();
        let proof = verify(folder.path(), Some(heads.path())).unwrap();
        let found = proof.breaks.iter().any(|place| place.what == *what && place.text.contains(words));
        assert!(found, "{sql}: {:#?}", proof.breaks);
        assert!(proof.verdict().starts_with("BROKEN in "), "{}", proof.verdict());
        assert!(proof.text().contains("doctor --fix"));
    }
}

/// Rewrites a whole chain as someone would who wants to change the past: database, log, every hash.
fn rewritten(folder: &Path, from: u64) {
    let (mut store, memory, _) = reopened(folder);
    let records = store.list("intent", 0).unwrap();
    let views: Vec<_> =
        memory.log().iter().map(|operation| store.view_at(operation.id, &build).unwrap().unwrap()).collect();
    drop(store);
    for name in ["memory.sqlite", "memory.log"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    let mut store = DiskStore::open(folder).unwrap();
    let mut last = None;
    for ((operation, view), record) in memory.log().iter().zip(views).zip(records) {
        let mut why = operation.why.clone();
        if operation.id.0 >= from {
            why.note = "nothing happened".to_string();
        }
        let step = passepartout::domain::memory::operation::Operation::after(last.as_ref(), operation.root, why);
        last = Some(step.clone());
        let record = crate::store::record(&record.kind, &record.key, record.body);
        store.commit(&Commit { steps: &[(step, view)], records: &[record], stamps: &[] }).unwrap();
    }
}

#[test]
fn a_chain_that_was_rewritten_as_a_whole_is_noticed_by_the_head_outside() {
    for (from, words) in [(5, "operation 12 is not what it was at "), (1, "another store lies here than at ")] {
        let (folder, heads) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        history(folder.path(), heads.path());
        rewritten(folder.path(), from);
        assert!(verify(folder.path(), None).unwrap().whole(), "inside the store nothing shows it");
        let proof = verify(folder.path(), Some(heads.path())).unwrap();
        assert_eq!(proof.breaks.len(), 1, "{:?}", proof.breaks);
        assert!(proof.broken(What::Head) && proof.breaks[0].text.contains(words), "{:?}", proof.breaks);
        // Opening it says so, and what was noted is kept until the user accepts what is there.
        let mut store = DiskStore::open(folder.path()).unwrap();
        store.watch(heads.path());
        assert!(store.notices()[0].contains(words), "{:?}", store.notices());
        let mut memory = Memory::restore(store.load(&build).unwrap().view, store.operations(99).unwrap());
        save(&mut store, &mut memory, "/n/a.org", "* More\n").unwrap();
        drop(store);
        let proof = verify(folder.path(), Some(heads.path())).unwrap();
        assert!(proof.broken(What::Head), "a later save does not hide it");
        assert!(proof.breaks[0].text.contains("did not fit when the store was opened later"), "{:?}", proof.breaks);
        assert_eq!(witness::accept(heads.path(), folder.path()).unwrap(), 1);
        DiskStore::open(folder.path()).unwrap().watch(heads.path());
        assert_eq!(texts(&verify(folder.path(), Some(heads.path())).unwrap()), [""; 0]);
    }
}

#[test]
fn a_record_that_was_rewritten_in_database_and_log_is_noticed() {
    let (folder, heads) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    history(folder.path(), heads.path());
    let sql = "DROP TRIGGER records_hold; UPDATE records SET body = '{\"file\":\"/other\"}' WHERE seq = 3";
    database(folder.path()).execute_batch(sql).unwrap();
    fs::remove_file(folder.path().join("memory.log")).unwrap();
    drop(DiskStore::open(folder.path()).unwrap());
    assert!(verify(folder.path(), None).unwrap().whole(), "database and log agree");
    let proof = verify(folder.path(), Some(heads.path())).unwrap();
    assert_eq!(texts(&proof), ["records up to 12 are not what they were at the last save: one of them was changed"]);
}

#[test]
fn an_older_copy_is_told_from_a_rewritten_chain() {
    let (folder, heads) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut memory = history(folder.path(), heads.path());
    let old = copied(folder.path());
    let mut store = DiskStore::open(folder.path()).unwrap();
    store.watch(heads.path());
    save(&mut store, &mut memory, "/n/a.org", "* More\n").unwrap();
    drop(store);
    for name in ["memory.sqlite", "memory.log"] {
        fs::copy(old.path().join(name), folder.path().join(name)).unwrap();
    }
    let proof = verify(folder.path(), Some(heads.path())).unwrap();
    assert!(proof.breaks[0].text.contains("an older copy was put here"), "{:?}", proof.breaks);
}

#[test]
fn a_store_that_was_moved_is_explained_and_not_accused() {
    let (parent, heads) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = parent.path().join("here");
    let mut memory = history(&folder, heads.path());
    let there = parent.path().join("there");
    fs::rename(&folder, &there).unwrap();
    let proof = verify(&there, Some(heads.path())).unwrap();
    assert!(proof.whole() && proof.text().contains("here before; its head fits"), "{}", proof.text());
    let mut store = DiskStore::open(&there).unwrap();
    store.watch(heads.path());
    assert!(store.notices()[0].contains("here before; its head fits"), "{:?}", store.notices());
    save(&mut store, &mut memory, "/n/a.org", "* More\n").unwrap();
    drop(store);
    assert!(verify(&there, Some(heads.path())).unwrap().whole());
    // To another machine, whose folder of heads knows nothing of it.
    let elsewhere = tempfile::tempdir().unwrap();
    let proof = verify(&there, Some(elsewhere.path())).unwrap();
    assert!(proof.whole() && proof.text().contains("was brought from another one"), "{}", proof.text());
    // A folder in which nothing can be noted costs a line, not the save.
    let mut store = DiskStore::open(&there).unwrap();
    fs::write(parent.path().join("file"), "").unwrap();
    store.watch(&parent.path().join("file"));
    assert!(store.notices()[0].contains("cannot be noted"), "{:?}", store.notices());
    save(&mut store, &mut memory, "/n/a.org", "* Again\n").unwrap();
}

#[test]
fn compaction_keeps_what_it_says_and_the_chain_still_verifies() {
    let (folder, heads) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let memory = history(folder.path(), heads.path());
    let now = why("").at;
    let mut store = DiskStore::open(folder.path()).unwrap();
    store.watch(heads.path());
    let nothing = store.compact(Keep::default(), now).unwrap();
    assert_eq!((nothing.swept_objects, nothing.let_go, nothing.kept_from), (0, 0, 1));
    let keep = Keep { operations: Some(4), days: None };
    let plan = store.plan_compaction(keep, now).unwrap();
    assert!(!plan.done && plan.swept_bytes > 10_000 && plan.kept_from == 9, "{plan:?}");
    assert!(plan.text().contains("would be swept"), "{}", plan.text());
    assert!(verify(folder.path(), None).unwrap().notes.iter().all(|note| !note.contains("let go")));
    let done = store.compact(keep, now).unwrap();
    assert_eq!(
        (done.swept_objects, done.swept_bytes, done.let_go),
        (plan.swept_objects, plan.swept_bytes, plan.let_go)
    );
    assert!(done.let_go > 0 && done.text().contains("stays in the log"), "{}", done.text());
    assert_eq!(store.operations(99).unwrap(), memory.log(), "the log only grows");
    for operation in memory.log() {
        match store.view_at(operation.id, &build) {
            Ok(view) => assert_eq!(view.unwrap().root(), operation.root),
            Err(StoreError::LetGo(text)) => {
                assert!(operation.id.0 < 8, "{text}");
                assert!(text.contains("were let go by `passepartout memory compact` on 2023-11-14"), "{text}");
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(store.view_at(OperationId(8), &build).is_ok(), "what was before the first kept one can be shown");
    drop(store);
    let proof = verify(folder.path(), Some(heads.path())).unwrap();
    assert_eq!((texts(&proof), proof.operations, proof.records), (vec![], 12, 13));
    assert!(proof.text().contains("were let go by `passepartout memory compact`"), "{}", proof.text());
    let (store, found, problems) = reopened(folder.path());
    assert_eq!((problems, found.head().root()), (vec![], memory.head().root()));
    // By days: with a clock that went back since, more is kept, not less.
    let later = now + jiff::SignedDuration::from_hours(24 * 10);
    let kept = store.plan_compaction(Keep { days: Some(30), operations: None }, later).unwrap();
    assert_eq!(kept.kept_from, 9, "what was let go does not come back");
    let all = store.plan_compaction(Keep { days: Some(3), operations: None }, later).unwrap();
    assert_eq!(all.kept_from, 12, "memory as it is now always stays");
}

#[test]
fn what_nothing_refers_to_is_swept_and_what_a_record_names_is_kept() {
    let (folder, heads) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    history(folder.path(), heads.path());
    let stray = database(folder.path());
    stray.execute("INSERT INTO objects VALUES (?1, 0, x'01')", [[5u8; 32]]).unwrap();
    drop(stray);
    let proof = verify(folder.path(), None).unwrap();
    assert_eq!(proof.unreferenced, 1);
    let mut store = DiskStore::open(folder.path()).unwrap();
    assert_eq!(store.compact(Keep::default(), why("").at).unwrap().swept_objects, 1);
    assert_eq!(verify(folder.path(), None).unwrap().unreferenced, 0);
    let text = "kept for undo\n".repeat(1_000);
    let mut other = Memory::restore(store.load(&build).unwrap().view, store.operations(99).unwrap());
    let document = document("/n/undo.org", &text);
    let name = document.root().to_hex();
    let mut change = other.begin();
    change.put(document);
    let step = change.finish(why("x")).publish(&mut other).unwrap();
    let steps = [(step, other.head().clone())];
    let records = [record("act", "1", serde_json::json!({ "before": [{ "file": "/n/undo.org", "hash": name }] }))];
    store.commit(&Commit { steps: &steps, records: &records, stamps: &[] }).unwrap();
    for n in 0..3 {
        save(&mut store, &mut other, "/n/undo.org", &format!("* {n}\n")).unwrap();
    }
    let kept = store.plan_compaction(Keep { operations: Some(1), days: None }, why("").at).unwrap();
    store.compact(Keep { operations: Some(1), days: None }, why("").at).unwrap();
    let there = database(folder.path());
    let found = there.query_row(
        "SELECT 1 FROM texts WHERE document = ?1",
        [steps[0].1.document("/n/undo.org").unwrap().root().as_bytes()],
        |_| Ok(()),
    );
    assert!(found.is_ok(), "a record of the same time names it: {kept:?}");
}

#[test]
fn what_a_kept_operation_needs_is_missed_also_where_one_that_was_let_go_had_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (mut memory, mut store) = (Memory::default(), DiskStore::open(folder.path()).unwrap());
    for text in ["* none\n", "* one\n", "* two\n", "* one\n", "* three\n"] {
        save(&mut store, &mut memory, "/n/a.org", text).unwrap();
    }
    save(&mut store, &mut memory, "/n/b.org", "* gone\n").unwrap();
    store.compact(Keep { operations: Some(3), days: None }, why("").at).unwrap();
    drop(store);
    assert!(verify(folder.path(), None).unwrap().whole());
    let sql = "DELETE FROM objects WHERE hash = (SELECT root FROM operations WHERE id = 4)";
    assert_eq!(database(folder.path()).execute(sql, []).unwrap(), 1);
    let proof = verify(folder.path(), None).unwrap();
    let named =
        proof.breaks.iter().any(|place| place.text.starts_with("operation 4 ") && place.text.ends_with(" is lost"));
    assert!(named, "{:#?}", proof.breaks);
}

#[test]
fn bytes_that_undo_needs_are_kept_when_the_clock_went_back() {
    let folder = tempfile::tempdir().unwrap();
    let (mut memory, mut store) = (Memory::default(), DiskStore::open(folder.path()).unwrap());
    let earlier = |hours: i64| why("").at - jiff::SignedDuration::from_hours(hours);
    let contents: Vec<Content> = (0..3).map(|n| Content::of(format!("bytes {n}\n").repeat(900).into())).collect();
    store.keep(&contents).unwrap();
    let act = |store: &mut DiskStore, memory: &mut Memory, n: usize, hours: i64, since: Option<u64>| {
        let mut change = memory.begin();
        change.put(document("/n/a.org", &format!("* {n}\n")));
        let because = Why { at: earlier(hours), ..why("") };
        let step = change.finish(because).publish(memory).unwrap();
        let steps = [(step, memory.head().clone())];
        let hash = contents[n].name.to_hex();
        let body = match since {
            Some(since) => serde_json::json!({ "before": hash, "since": since }),
            None => serde_json::json!({ "before": hash }),
        };
        let mut made = record("act", &n.to_string(), body);
        made.at = earlier(hours);
        store.commit(&Commit { steps: &steps, records: &[made], stamps: &[] }).unwrap();
    };
    // The first is old, the second is made by the right clock, and then the clock goes back.
    act(&mut store, &mut memory, 0, 48, None);
    for n in 0..3 {
        save(&mut store, &mut memory, "/n/b.org", &format!("* {n}\n")).unwrap();
    }
    act(&mut store, &mut memory, 1, 0, Some(4));
    act(&mut store, &mut memory, 2, 24, Some(5));
    store.compact(Keep { operations: Some(2), days: None }, why("").at).unwrap();
    let there: Vec<bool> = contents.iter().map(|content| store.content(content.name).unwrap().is_some()).collect();
    assert_eq!(there, [false, true, true]);
    assert!(
        store.commit(&Commit { records: &[record("act", "3", serde_json::json!({}))], ..Commit::default() }).is_ok()
    );
    store.compact(Keep { operations: Some(1), days: None }, why("").at).unwrap();
    assert!(store.content(contents[2].name).unwrap().is_some(), "its time is before that of the operation before");
}

#[test]
fn what_stood_before_an_act_is_kept_beside_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (mut memory, mut store) = (Memory::default(), DiskStore::open(folder.path()).unwrap());
    let text = long("before", 400);
    save(&mut store, &mut memory, "/n/a.org", &text).unwrap();
    let same_as = memory.head().card("/n/a.org").map(|card| card.root());
    let content = Content { same_as, ..Content::of(text.clone().into()) };
    let damages = [
        "UPDATE objects SET bytes = x'00' || substr(bytes, 2) WHERE kind = 0",
        "UPDATE texts SET manifest = x''",
        "DELETE FROM objects WHERE kind = 0",
        "DELETE FROM texts",
    ];
    for damage in damages {
        assert!(database(folder.path()).execute(damage, []).unwrap() > 0, "{damage}");
        store.keep(std::slice::from_ref(&content)).unwrap();
        let kept = store.content(content.name).unwrap();
        assert_eq!(kept.as_deref(), Some(text.as_bytes()), "{damage}");
    }
    // Where the text is whole, they need no room of their own.
    save(&mut store, &mut memory, "/n/b.org", &long("other", 400)).unwrap();
    let same_as = memory.head().card("/n/b.org").map(|card| card.root());
    let content = Content { same_as, ..Content::of(long("other", 400).into()) };
    store.keep(std::slice::from_ref(&content)).unwrap();
    let length = "SELECT length(manifest) FROM texts WHERE document = ?1";
    let name = content.name;
    let length: i64 = database(folder.path()).query_row(length, [name.as_bytes()], |row| row.get(0)).unwrap();
    assert_eq!(length, 32 + 1 + 8 + 1 + 32);
    assert_eq!(store.content(name).unwrap(), Some(content.bytes));
}

#[test]
fn every_stored_encoding_is_pinned() {
    use passepartout::domain::id::ObjectHash;
    use passepartout::domain::memory::files::FileTree;
    use passepartout::domain::memory::operation::Operation;
    use passepartout::domain::memory::store::{Record, content_name};
    use passepartout::domain::memory::{chunk, group};
    let hash = |n: u8| ObjectHash::new([n; 32]);
    let mut files = FileTree::default();
    for n in 0..40 {
        files.insert(&std::sync::Arc::from(format!("/n/{n}.org")), hash(n));
    }
    let first = Operation::after(None, hash(1), why("first"));
    let second = Operation::after(Some(&first), hash(2), why("second"));
    let kept = Record {
        seq: 7,
        at: why("").at,
        kind: "plan".to_string(),
        key: "P1".to_string(),
        body: serde_json::json!({ "b": [1, 2.5, null, true], "a": "ä" }),
    };
    let folder = tempfile::tempdir().unwrap();
    let mut store = DiskStore::open(folder.path()).unwrap();
    let mut memory = Memory::default();
    save(&mut store, &mut memory, "/n/short.org", "* Short\n").unwrap();
    save(&mut store, &mut memory, "/n/long.org", &long("x", 2_000)).unwrap();
    let rows = |sql: &str| -> String {
        let connection = database(folder.path());
        let mut statement = connection.prepare(sql).unwrap();
        let all = statement.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
        let joined: Vec<u8> = all.flat_map(|row| row.unwrap()).collect();
        blake3::hash(&joined).to_hex().to_string()
    };
    let names = [
        ("a branch", files.root().to_hex()),
        ("the empty memory", FileTree::default().root().to_hex()),
        ("a group", group::hash(1, &[hash(1), hash(2)]).to_hex()),
        ("a list", group::root(&(0..200).map(hash).collect::<Vec<_>>(), &mut |_, _, _| {}).to_hex()),
        ("a piece", chunk::name_of(b"words").to_hex()),
        ("bytes of a file", content_name(b"words").to_hex()),
        ("an operation", first.hash().to_hex()),
        ("the one behind it", second.hash().to_hex()),
        ("a record", witness::chained(hash(0), &kept).to_hex()),
        ("manifests", rows("SELECT manifest FROM texts ORDER BY document")),
        ("objects", rows("SELECT CAST(hash || bytes AS BLOB) FROM objects ORDER BY hash")),
    ];
    let told: String = names.iter().map(|(what, name)| format!("{what}: {}\n", &name[..32])).collect();
    insta::assert_snapshot!(told, @r"
    a branch: 7f8cf0c4f67018701b04ab1c33dd5685
    the empty memory: e85c61fed3cdb3cff9005c762ce012d1
    a group: 405e87fc4b3b76927a32d56f4e5cdbef
    a list: 9b0c9bf66fb8e028523dabc1936bca12
    a piece: 1e43ab14043446ecc3f4bee66d2d85fa
    bytes of a file: ec5d530bc144e1e3483bc2a0694c0d45
    an operation: 0e8451fdd4431c4fd866e24d7be26b9e
    the one behind it: e92e22464cc716559b3fb88fc85a330c
    a record: 99b45567b250e728e111ecdd9891a7bb
    manifests: 84a6cee5a4d84ab16eb48aaf713984d9
    objects: be244ab3dedab035ab7248385a13a9fb
    ");
}
