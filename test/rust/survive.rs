//! What a store must survive: short forms here, long ones in `make soak` (`test/scripts/soak.sh survive`).
//!
//! Each test says what it counted.

mod memex;

use crate::memory::{document, why};
use crate::store::{build, long, record, reopened, save};
use crate::support::engine::{Home, ask, origin, provide, tree};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use crate::support::skip::skipped;
use crate::support::soak::{self, survived};
use crate::support::user::ordinary;
use passepartout::domain::gate::plan::PlanStatus;
use passepartout::domain::id::OperationId;
use passepartout::domain::memory::Memory;
use passepartout::domain::memory::shape::Shape;
use passepartout::domain::memory::store::{Commit, Record, Store, StoreError};
use passepartout::domain::scope::Level;
use passepartout::edge::clock::SystemClock;
use passepartout::edge::config::{Config, Surroundings};
use passepartout::edge::editor::{Buffer, Editor, Splice};
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::archive::Archive;
use passepartout::edge::engine::boot::{Boot, Keep, start};
use passepartout::edge::engine::intents::Intents;
use passepartout::edge::engine::time::Wish;
use passepartout::edge::secret::Vault;
use passepartout::edge::store::DiskStore;
use passepartout::edge::store::verify::verify;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// A store of some pages, closed: notes of every size, each changed, and records.
fn filled(folder: &Path) -> (Memory, Vec<Record>, BTreeMap<String, String>) {
    let (mut memory, mut files) = (Memory::default(), BTreeMap::new());
    let mut store = DiskStore::open(folder).unwrap();
    for n in 0..24u64 {
        let (name, lines) = (format!("/n/{}.org", n % 9), [3, 40, 400][n as usize % 3]);
        let text = long(&format!("note {n}"), lines);
        save(&mut store, &mut memory, &name, &text).unwrap();
        files.insert(name, text);
    }
    let records = store.list("intent", 0).unwrap();
    drop(store);
    (memory, records, files)
}

/// Puts the files of a store into another folder.
fn copy_store(from: &Path, to: &Path) {
    for name in ["memory.sqlite", "memory.log"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

/// Reads again what the Org files hold, as a start does; returns whether anything was missing.
fn read_again(store: &mut DiskStore, files: &BTreeMap<String, String>) -> (Memory, bool) {
    let loaded = store.load(&build).unwrap();
    let mut memory = Memory::restore(loaded.view, loaded.log);
    let mut change = memory.begin();
    for (name, text) in files {
        let now = document(name, text);
        if memory.head().document(name).is_none_or(|known| known.root() != now.root()) {
            change.put(now);
        }
    }
    let missing = !change.is_empty();
    if missing {
        let operation = change.finish(why("read")).publish(&mut memory).unwrap();
        let steps = [(operation, memory.head().clone())];
        store.commit(&Commit { steps: &steps, ..Commit::default() }).unwrap();
    }
    (memory, missing)
}

/// A number that is another one for each place, the same in each run.
fn scattered(n: u64) -> u64 {
    let hash = blake3::hash(&n.to_le_bytes());
    u64::from_le_bytes(*hash.as_bytes().first_chunk().unwrap())
}

#[derive(Default, Debug)]
struct Flips {
    tried: usize,
    found: usize,
    harmless: usize,
    lost_texts: usize,
}

fn flip(counts: &mut Flips, original: &Path, at: u64, all: &(Memory, Vec<Record>, BTreeMap<String, String>)) {
    let (memory, records, files) = all;
    let folder = tempfile::tempdir().unwrap();
    copy_store(original, folder.path());
    let database = folder.path().join("memory.sqlite");
    let mut bytes = fs::read(&database).unwrap();
    bytes[at as usize] ^= 1 << (scattered(at) % 8);
    fs::write(&database, &bytes).unwrap();
    counts.tried += 1;
    let place = format!("byte {at}, page {}", at / 4096 + 1);
    let proof = match verify(folder.path(), None) {
        Ok(proof) => proof,
        // The head of the file names the program and the version: it is not touched, and the way out is said.
        Err(error @ (StoreError::Open { .. } | StoreError::Unmade { .. } | StoreError::Newer { .. })) => {
            assert!(at < 100, "{place}: {error}");
            assert_eq!(fs::read(&database).unwrap(), bytes, "{place}: a refusal changes nothing");
            counts.found += 1;
            fs::remove_file(&database).unwrap();
            let mut store = DiskStore::open(folder.path()).unwrap();
            assert_eq!(store.operations(usize::MAX).unwrap(), memory.log(), "{place}");
            assert_eq!(read_again(&mut store, files).0.head().root(), memory.head().root(), "{place}");
            return;
        }
        Err(error) => panic!("{place}: {error}"),
    };
    if proof.whole() {
        // In room that nothing uses: then everything is as it was.
        counts.harmless += 1;
        let mut store = DiskStore::open(folder.path()).unwrap();
        for operation in memory.log() {
            assert_eq!(store.view_at(operation.id, &build).unwrap().unwrap().root(), operation.root, "{place}");
        }
        assert_eq!(&store.list("intent", 0).unwrap(), records, "{place}");
        return;
    }
    counts.found += 1;
    let mut store = DiskStore::rebuild(folder.path()).unwrap_or_else(|error| panic!("{place}: {error}"));
    let log = store.operations(usize::MAX).unwrap();
    assert_eq!(log, memory.log(), "{place}: what only the store knew comes back from its log");
    assert_eq!(&store.list("intent", 0).unwrap(), records, "{place}");
    let (again, _) = read_again(&mut store, files);
    assert_eq!(again.head().root(), memory.head().root(), "{place}: what the Org files hold is there again");
    drop(store);
    let (mut store, _, problems) = reopened(folder.path());
    assert_eq!(problems, [""; 0], "{place}");
    // What is lost after that is listed, and nothing else is.
    let after = verify(folder.path(), None).unwrap();
    let readable = |store: &mut DiskStore, id| store.view_at(id, &build).is_ok_and(|view| view.is_some());
    let unreadable = memory.log().iter().filter(|operation| !readable(&mut store, operation.id)).count();
    assert_eq!(unreadable == 0, after.whole(), "{place}: {:?}", after.breaks);
    assert!(
        after.breaks.iter().all(|b| b.text.starts_with("operation ") && b.text.ends_with(" is lost")),
        "{place}: {:?}",
        after.breaks
    );
    counts.lost_texts += after.breaks.len();
    assert!(after.breaks.len() <= 12, "{place}: one byte costs one page at most: {:?}", after.breaks);
}

/// Every page is tried, each with one byte; in a soak with as many as `FLIPS` says.
#[test]
fn a_flipped_byte_in_any_page_is_found_named_and_healed() {
    let original = tempfile::tempdir().unwrap();
    let all = filled(original.path());
    let pages = fs::metadata(original.path().join("memory.sqlite")).unwrap().len() / 4096;
    let mut counts = Flips::default();
    for round in 0..soak::asked("FLIPS").unwrap_or(1) {
        for page in 0..pages {
            flip(&mut counts, original.path(), page * 4096 + scattered(page + round * 1_000_003) % 4096, &all);
        }
    }
    // The head of the file, byte by byte.
    (0..100)
        .step_by(if soak::asked::<u64>("FLIPS").is_some() { 1 } else { 9 })
        .for_each(|at| flip(&mut counts, original.path(), at, &all));
    assert!(counts.found > counts.tried / 4, "{counts:?}");
    survived(format!(
        "{} flipped bytes in {pages} pages: {} found and healed, {} in unused room, {} old texts lost and listed, nothing else",
        counts.tried, counts.found, counts.harmless, counts.lost_texts
    ));
}

/// Wherever a repair ends early, whoever opens the store next goes on with it.
#[test]
fn a_repair_that_was_broken_off_is_finished_at_the_next_start() {
    let original = tempfile::tempdir().unwrap();
    let (memory, records, _) = filled(original.path());
    for round in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        copy_store(original.path(), folder.path());
        let (database, aside) = (folder.path().join("memory.sqlite"), folder.path().join("memory.sqlite.damaged-1"));
        fs::write(folder.path().join("memory.sqlite.mending"), "memory.sqlite.damaged-1").unwrap();
        if round > 0 {
            fs::rename(&database, &aside).unwrap();
        }
        if round > 1 {
            // The new one was made of the log, and nothing was taken over yet.
            let marker = folder.path().join("memory.sqlite.mending");
            let hidden = folder.path().join("hidden");
            fs::rename(&marker, &hidden).unwrap();
            drop(DiskStore::open(folder.path()).unwrap());
            fs::rename(&hidden, &marker).unwrap();
        }
        let mut store = match round {
            3 => DiskStore::rebuild(folder.path()).unwrap(),
            _ => DiskStore::open(folder.path()).unwrap(),
        };
        let told = store.notices().join("\n");
        assert!(told.contains("was kept as") && told.contains("came back from it"), "{round}: {told}");
        for operation in memory.log() {
            assert_eq!(store.view_at(operation.id, &build).unwrap().unwrap().root(), operation.root, "{round}");
        }
        assert_eq!(store.list("intent", 0).unwrap(), records, "{round}");
        assert!(aside.exists() && !folder.path().join("memory.sqlite.mending").exists(), "{round}");
        drop(store);
        assert!(verify(folder.path(), None).unwrap().whole(), "{round}");
        assert_eq!(DiskStore::open(folder.path()).unwrap().notices(), [""; 0], "{round}");
    }
    survived("4 repairs broken off, each finished at the next start");
}

#[test]
fn a_damaged_log_is_stepped_over_where_it_is_damaged() {
    let original = tempfile::tempdir().unwrap();
    let (memory, records, files) = filled(original.path());
    let length = fs::metadata(original.path().join("memory.log")).unwrap().len();
    let rounds = soak::asked("FLIPS").unwrap_or(1) * 24;
    let mut named = 0;
    for round in 0..rounds {
        let at = scattered(round) % length;
        let flipped = |folder: &Path| {
            copy_store(original.path(), folder);
            let mut bytes = fs::read(folder.join("memory.log")).unwrap();
            bytes[at as usize] ^= 1 << (round % 8);
            fs::write(folder.join("memory.log"), bytes).unwrap();
        };
        // With a whole database everything is made good, and the damaged log is kept.
        let folder = tempfile::tempdir().unwrap();
        flipped(folder.path());
        assert!(!verify(folder.path(), None).unwrap().whole(), "byte {at}");
        let store = DiskStore::open(folder.path()).unwrap();
        let told = store.notices().join("\n");
        assert!(told.contains("damaged") && told.contains("made good"), "byte {at}: {told}");
        named += usize::from(told.contains("damaged in bytes "));
        drop(store);
        assert!(verify(folder.path(), None).unwrap().whole(), "byte {at}");
        // Without one, what stands before and behind the place comes back, and what is lost is named.
        let folder = tempfile::tempdir().unwrap();
        flipped(folder.path());
        fs::remove_file(folder.path().join("memory.sqlite")).unwrap();
        let mut store = DiskStore::open(folder.path()).unwrap();
        let (found, told) = (store.operations(usize::MAX).unwrap(), store.notices().join("\n"));
        assert!(found.len() + 1 >= memory.log().len(), "byte {at}: {} of {}", found.len(), memory.log().len());
        assert!(found.iter().all(|operation| memory.log().contains(operation)), "byte {at}");
        let kept = store.list("intent", 0).unwrap();
        assert!(kept.len() + 1 >= records.len() && kept.iter().all(|record| records.contains(record)), "byte {at}");
        let in_the_middle = found.last() == memory.last() && found.len() < memory.log().len();
        assert!(
            !in_the_middle || told.contains("are lost: neither the database nor its log has them"),
            "byte {at}: {told}"
        );
        read_again(&mut store, &files);
    }
    survived(format!(
        "{rounds} flipped bytes in the plain log: all found, {named} in the middle stepped over and named"
    ));
}

#[test]
fn a_log_that_was_cut_in_the_middle_gives_both_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, _, files) = filled(folder.path());
    let log = folder.path().join("memory.log");
    let bytes = fs::read(&log).unwrap();
    let (a, b) = (bytes.len() / 3, bytes.len() / 2);
    fs::write(&log, [&bytes[..a], &bytes[b..]].concat()).unwrap();
    fs::remove_file(folder.path().join("memory.sqlite")).unwrap();
    let mut store = DiskStore::open(folder.path()).unwrap();
    let found = store.operations(usize::MAX).unwrap();
    assert_eq!((found.first(), found.last()), (memory.log().first(), memory.last()));
    let told = store.notices().join("\n");
    assert!(told.contains("are lost: neither") && told.contains("damaged in bytes"), "{told}");
    let (again, _) = read_again(&mut store, &files);
    assert_eq!(again.head().root(), memory.head().root());
    drop(store);
    let proof = verify(folder.path(), None).unwrap();
    assert!(
        proof.breaks.iter().any(|b| b.text.starts_with("operations ") && b.text.ends_with(" are missing")),
        "{:?}",
        proof.breaks
    );
}

#[test]
fn a_store_whose_folder_is_deleted_while_it_is_open_is_put_back_whole() {
    let (parent, heads) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = parent.path().join("store");
    let mut memory = Memory::default();
    let mut store = DiskStore::open(&folder).unwrap();
    store.watch(heads.path());
    save(&mut store, &mut memory, "a", "* one\n").unwrap();
    for round in 0..3 {
        fs::remove_dir_all(&folder).unwrap();
        save(&mut store, &mut memory, "a", &long(&format!("round {round}"), 200)).unwrap();
        let proof = verify(&folder, Some(heads.path())).unwrap();
        assert!(proof.whole(), "{:?}", proof.breaks);
        assert_eq!(proof.operations, memory.at().0);
    }
    // The log alone.
    fs::remove_file(folder.join("memory.log")).unwrap();
    save(&mut store, &mut memory, "a", "* two\n").unwrap();
    assert!(verify(&folder, Some(heads.path())).unwrap().whole());
    // Moved away: nothing is acknowledged that would be nowhere, and it goes on when it is back.
    let away = parent.path().join("away");
    fs::rename(&folder, &away).unwrap();
    let refused = save(&mut store, &mut memory, "a", "* three\n").unwrap_err();
    assert!(refused.to_string().contains("were moved away while it was in use"), "{refused}");
    fs::rename(&away, &folder).unwrap();
    let steps = [(memory.last().unwrap().clone(), memory.head().clone())];
    store.commit(&Commit { steps: &steps, ..Commit::default() }).unwrap();
    drop(store);
    let (_, found, problems) = reopened(&folder);
    assert_eq!((problems, found.head().root()), (vec![], memory.head().root()));
    // Where it cannot be put back, nothing is acknowledged either.
    let mut store = DiskStore::open(&folder).unwrap();
    store.load(&build).unwrap();
    fs::remove_dir_all(parent.path()).unwrap();
    fs::write(parent.path(), "a file").unwrap();
    let refused = save(&mut store, &mut memory, "a", "* four\n").unwrap_err();
    assert!(refused.to_string().contains("memory.sqlite") || refused.to_string().contains("store"), "{refused}");
    fs::remove_file(parent.path()).unwrap();
    survived("3 deleted folders put back, 1 moved one refused until it was back");
}

#[test]
fn a_lock_that_was_taken_away_is_taken_again_and_nothing_is_written_beside_another_owner() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("store");
    let mut memory = Memory::default();
    let mut store = DiskStore::open(&folder).unwrap();
    save(&mut store, &mut memory, "a", "* one\n").unwrap();
    fs::remove_file(folder.join("lock")).unwrap();
    save(&mut store, &mut memory, "a", "* two\n").unwrap();
    let own = fs::File::open(folder.join("lock")).unwrap();
    assert!(own.try_lock().is_err(), "it is locked again");
    // Somebody else was faster, and still is there.
    fs::remove_file(folder.join("lock")).unwrap();
    let other = fs::File::create(folder.join("lock")).unwrap();
    other.lock().unwrap();
    let before = memory.clone();
    let refused = save(&mut store, &mut memory, "a", "* three\n").unwrap_err();
    assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
    memory = before.clone();
    // He went without having written.
    drop(other);
    save(&mut store, &mut memory, "a", "* three\n").unwrap();
    // And with.
    fs::remove_file(folder.join("lock")).unwrap();
    let other = rusqlite::Connection::open(folder.join("memory.sqlite")).unwrap();
    other.execute_batch("CREATE TABLE his(own)").unwrap();
    let refused = save(&mut store, &mut memory, "a", "* four\n").unwrap_err();
    assert!(refused.to_string().contains("by another process"), "{refused}");
}

#[test]
fn a_deleted_store_that_cannot_be_put_back_now_is_put_back_later() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("store");
    let mut store = DiskStore::open(&folder).unwrap();
    let loaded = store.load_cards(&Shape::default(), &|| Ok(())).unwrap();
    let mut memory = Memory::restore(loaded.view, loaded.log);
    save(&mut store, &mut memory, "a", &long("before", 200)).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    let other = fs::File::create(folder.join("lock")).unwrap();
    other.lock().unwrap();
    for round in 0..2 {
        let before = memory.clone();
        let refused = save(&mut store, &mut memory, "b", "* b\n").unwrap_err();
        assert!(matches!(refused, StoreError::Locked { .. }), "{round}: {refused}");
        memory = before;
    }
    drop(other);
    save(&mut store, &mut memory, "b", "* b\n").unwrap();
    save(&mut store, &mut memory, "c", "* c\n").unwrap();
    assert_eq!(memory.head().text("a").as_deref(), Some(long("before", 200).as_str()));
    // The database and its log alone, beside what SQLite keeps.
    for name in ["memory.sqlite", "memory.log"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    save(&mut store, &mut memory, "d", "* d\n").unwrap();
    drop(store);
    let connection = rusqlite::Connection::open(folder.join("memory.sqlite")).unwrap();
    let cards = connection.query_row("SELECT count(*) FROM cards", [], |row| row.get::<_, i64>(0)).unwrap();
    drop(connection);
    assert_eq!(cards, 4, "cards are stored in what was put back, too");
    let proof = verify(&folder, None).unwrap();
    assert!(proof.whole(), "{:?}", proof.breaks);
    let (_, found, problems) = reopened(&folder);
    assert_eq!((problems, found.head().root()), (vec![], memory.head().root()));
}

#[test]
fn permission_that_is_lost_while_it_is_open_loses_nothing() {
    let (folder, heads) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut memory = Memory::default();
    let mode = |mode| {
        let set = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        set(0o700);
        for name in ["memory.sqlite", "memory.log"] {
            fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode & 0o600)).unwrap();
        }
        set(mode);
    };
    ordinary(|| {
        let mut store = DiskStore::open(folder.path()).unwrap();
        store.watch(heads.path());
        save(&mut store, &mut memory, "a", "* one\n").unwrap();
        for closed in [0o500, 0o000] {
            mode(closed);
            let before = memory.clone();
            // Either it is saved, or it is said; what is refused is saved when the right is back.
            match save(&mut store, &mut memory, "a", &format!("* {closed}\n")) {
                Ok(()) => {}
                Err(error) => {
                    assert!(error.to_string().contains("memory.sqlite"), "{error}");
                    memory = before;
                }
            }
            let refused = DiskStore::open_to_read(folder.path()).map(|_| ());
            assert!(closed == 0o500 || refused.unwrap_err().to_string().contains("Permission denied"));
            mode(0o700);
            save(&mut store, &mut memory, "a", &format!("* after {closed}\n")).unwrap();
        }
    });
    let (_, found, problems) = reopened(folder.path());
    assert_eq!((problems.len(), found.log(), found.head().root()), (0, memory.log(), memory.head().root()));
    assert!(verify(folder.path(), Some(heads.path())).unwrap().whole());
    survived("2 times the rights on an open store were lost: refused or saved, and saved when they were back");
}

#[test]
fn a_store_of_a_newer_version_is_untouched_byte_for_byte() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("store");
    filled(&folder);
    let newer = rusqlite::Connection::open(folder.join("memory.sqlite")).unwrap();
    newer.pragma_update(None, "user_version", 2).unwrap();
    drop(newer);
    let before = tree(&folder);
    let attempts: [&dyn Fn() -> Result<(), StoreError>; 4] = [
        &|| DiskStore::open(&folder).map(|_| ()),
        &|| DiskStore::open_to_read(&folder).map(|_| ()),
        &|| verify(&folder, None).map(|_| ()),
        &|| DiskStore::rebuild(&folder).map(|_| ()),
    ];
    for attempt in attempts {
        let refused = attempt().unwrap_err();
        assert!(matches!(refused, StoreError::Newer { found: 2, known: 1, .. }), "{refused}");
        assert_eq!(tree(&folder), before, "not even a companion is made");
    }
    survived(format!("a newer store: {} attempts refused, not a byte of it changed", attempts.len()));
}

const SMALL: &str = "PASSEPARTOUT_TEST_SMALL_DISK";

/// The body of the process that has a small disk of its own, made by the test below.
#[test]
fn child_on_a_small_disk() {
    let Ok(disk) = std::env::var(SMALL) else { return };
    let (disk, folder) = (Path::new(&disk), Path::new(&disk).join("store"));
    let mut memory = Memory::default();
    let mut store = DiskStore::open(&folder).unwrap();
    let (mut refusals, mut saves) = (0, 0);
    for round in 0..3 {
        // Until the disk is full; what was refused waits, as it does in the engine.
        let (mut n, mut waiting) = (0, Vec::new());
        loop {
            n += 1;
            let mut change = memory.begin();
            change.put(document(&format!("{round}-{n}"), &long(&format!("{round} {n}"), 300)));
            let operation = change.finish(why("fill")).publish(&mut memory).unwrap();
            waiting.push((operation, memory.head().clone()));
            let intent = [record("intent", &format!("{round}-{n}"), json!({}))];
            match store.commit(&Commit { steps: &waiting, records: &intent, stamps: &[] }) {
                Ok(committed) => {
                    saves += 1;
                    waiting.clear();
                    // The plain log may be what found no room: then it is said, and made good later.
                    assert!(committed.warning.is_none_or(|why| why.contains("made good at the next save")));
                }
                Err(error) => {
                    refusals += 1;
                    assert!(matches!(error, StoreError::Full { .. } | StoreError::Failed { .. }), "{error}");
                    if waiting.len() >= 3 {
                        break;
                    }
                }
            }
            assert!(n < 2_000, "the disk never fills");
        }
        // Room again: everything that waited is saved in one piece.
        fs::remove_file(disk.join(format!("ballast-{round}"))).unwrap();
        store.commit(&Commit { steps: &waiting, ..Commit::default() }).unwrap();
        saves += 1;
    }
    drop(store);
    let (mut store, found, problems) = reopened(&folder);
    assert_eq!((problems, found.head().root()), (vec![], memory.head().root()));
    assert_eq!(store.list("intent", 0).unwrap().len() + 3, saves, "acknowledged is kept, refused is not");
    assert!(verify(&folder, None).unwrap().whole());
    // And a disk that becomes read-only.
    let mount = |how: &str| {
        let done = Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(disk).status();
        done.is_ok_and(|status| status.success())
    };
    if mount("ro") {
        let refused = save(&mut store, &mut memory, "x", "* x\n").unwrap_err();
        assert!(refused.to_string().contains("memory.sqlite"), "{refused}");
        assert!(mount("rw"));
        let steps = [(memory.last().unwrap().clone(), memory.head().clone())];
        store.commit(&Commit { steps: &steps, ..Commit::default() }).unwrap();
        println!("\na disk that became read-only: refused, and saved when it was writable again");
    }
    println!("\n3 times a full disk: {saves} saves, {refusals} refusals, none lost");
}

/// A true small disk, in a namespace of its own: nobody else sees it, and it goes with its process.
#[test]
fn a_disk_that_is_really_full_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=6m,mode=700 tmpfs \"$1\" || exit 77
        for n in 0 1 2; do dd if=/dev/zero of=\"$1/ballast-$n\" bs=1k count=1500 2>/dev/null || exit 78; done
        exec \"$2\" --exact survive::child_on_a_small_disk --nocapture --test-threads=1";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .env(SMALL, folder.path())
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Ok(output) if output.status.code() != Some(77) && !output.stderr.starts_with(b"unshare:") => output,
        Ok(output) => return skipped(String::from_utf8_lossy(&output.stderr)),
        Err(why) => return skipped(format!("no unshare here: {why}")),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said.lines().filter(|line| line.contains(" disk")).for_each(survived);
    assert!(said.contains("3 times a full disk"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_goes_back_keeps_the_order_and_expires_nothing_anew() {
    let home = Home::new(&[("a.org", "* TODO A\n:PROPERTIES:\n:ID: a\n:END:\n")]);
    let engine = home.engine().await;
    home.read(&engine).await;
    home.ask(&engine, "mark A done").await;
    let plan = crate::support::engine::waiting(&engine);
    home.clock.advance(24 * 8);
    engine.close().await;
    // It expired while the clock was ahead.
    let engine = home.engine().await;
    assert_eq!(crate::support::engine::status(&engine, &plan), PlanStatus::Expired);
    let ahead = engine.head();
    home.clock.advance(-24 * 400);
    engine.close().await;
    let engine = home.engine().await;
    assert_eq!(crate::support::engine::status(&engine, &plan), PlanStatus::Expired, "what has expired stays so");
    fs::write(home.file("a.org"), "* TODO A\n* B\n").unwrap();
    home.read(&engine).await;
    engine.flush().await.unwrap();
    assert_eq!(engine.head(), OperationId(ahead.0 + 1), "operations are ordered by their places, not their times");
    assert_eq!(engine.view().headings(), 2);
    home.ask(&engine, "mark B done").await;
    let later = crate::support::engine::waiting(&engine);
    assert!(later.created < plan.created);
    engine.close().await;
    let again = home.engine().await;
    assert_eq!(crate::support::engine::status(&again, &later), PlanStatus::Pending, "nothing expires because of it");
    assert_eq!(again.view().headings(), 2);
    again.close().await;
    let proof = verify(&home.store(), Some(&home.config().heads())).unwrap();
    assert!(proof.whole(), "{:?}", proof.breaks);
    survived("a clock that went 400 days back: the order kept, nothing expired and nothing alive again");
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_files_that_change_at_once_are_all_read() {
    let count: usize = soak::asked("FILES").unwrap_or(2_000);
    let home = Home::new(&[]);
    let write = |round: usize| {
        for n in 0..count {
            let folder = home.file(&format!("{}", n % 50));
            fs::create_dir_all(&folder).unwrap();
            fs::write(format!("{folder}/{n}.org"), format!("* Round {round} of note {n}\nWords.\n")).unwrap();
        }
    };
    write(1);
    let engine = home.engine().await;
    home.read(&engine).await;
    let before = engine.head();
    write(22);
    for n in 0..count / 10 {
        let from = home.file(&format!("{}/{n}.org", n % 50));
        if n % 2 == 0 {
            fs::remove_file(from).unwrap()
        } else {
            fs::rename(&from, format!("{from}-moved.org")).unwrap()
        }
    }
    home.read(&engine).await;
    engine.flush().await.unwrap();
    assert_eq!(engine.head(), OperationId(before.0 + 1), "one reading is one operation");
    let gone = (count / 10).div_ceil(2);
    let check = |view: &passepartout::domain::memory::view::View| {
        assert_eq!((view.len(), view.headings()), (count - gone, count - gone));
        let odd = view.document(&home.file("1/1.org-moved.org")).map(|d| d.outline.text.to_string());
        assert_eq!(odd.as_deref(), Some("* Round 22 of note 1\nWords.\n"));
    };
    check(&engine.view());
    engine.close().await;
    let again = home.engine().await;
    check(&again.view());
    again.close().await;
    survived(format!(
        "{count} files changed at once, {gone} of them deleted, as many renamed: all as they are on disk"
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn loops_growing_files_and_strange_names_stop_nothing() {
    use std::os::unix::ffi::OsStrExt;
    let home = Home::new(&[("good.org", "* Good\n"), ("new\nline.org", "* Line\n"), ("grows.org", "* Grows\n")]);
    let memex = home.file("");
    let memex = Path::new(&memex);
    std::os::unix::fs::symlink(memex, memex.join("loop")).unwrap();
    std::os::unix::fs::symlink("b.org", memex.join("a.org")).unwrap();
    std::os::unix::fs::symlink("a.org", memex.join("b.org")).unwrap();
    let bad = memex.join(std::ffi::OsStr::from_bytes(b"bad-\xff\xfe.org"));
    fs::write(&bad, "* Bad name\n").unwrap();
    let engine = home.engine().await;
    let path = home.file("grows.org");
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let grower = {
        let stop = stop.clone();
        std::thread::spawn(move || {
            let mut lines = 0;
            let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) && lines < 200_000 {
                file.write_all(b"* More\n").unwrap();
                lines += 1;
            }
            lines
        })
    };
    for _ in 0..5 {
        home.read(&engine).await;
        let view = engine.view();
        let text = view.document(&home.file("grows.org")).unwrap().outline.text.to_string();
        assert!(text.starts_with("* Grows\n") && text.len() >= 8);
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let lines = grower.join().unwrap();
    home.read(&engine).await;
    let view = engine.view();
    assert_eq!(view.document(&home.file("grows.org")).unwrap().ids.len(), 2 + lines, "what came last is there");
    assert_eq!(view.document(&home.file("new\nline.org")).unwrap().ids.len(), 2);
    assert!(view.document(&home.file("good.org")).is_some());
    let problems = engine.problems();
    assert!(problems.iter().all(|problem| !problem.contains('\n')), "one line each: {problems:?}");
    assert!(problems.iter().any(|problem| problem.contains("bad-")), "a name that is no UTF-8 is named: {problems:?}");
    assert!(problems.iter().any(|problem| problem.contains("a.org")), "a loop of links is named: {problems:?}");
    engine.flush().await.unwrap();
    engine.close().await;
    assert!(verify(&home.store(), Some(&home.config().heads())).unwrap().whole());
    survived(format!(
        "a loop of folders and one of files, a file that grew by {lines} lines while it was read, a name of two lines and one that is no UTF-8: read or named"
    ));
}

const LOAD: &str = "PASSEPARTOUT_TEST_LOAD";
const HELD: &str = "PASSEPARTOUT_TEST_HELD";
/// How many files an act under load makes.
const PARTS: u64 = 5;

/// The body of the process that is killed: it changes memory without a pause, and acts: intent, act, outcome. Its first
/// act stops behind as many files as it is told, until the process ends.
#[test]
fn child_under_load() {
    let Ok(folder) = std::env::var(LOAD) else { return };
    let folder = Path::new(&folder);
    let (mut store, mut memory, _) = reopened(&folder.join("store"));
    let mut out = std::io::stdout();
    let intents = Intents::read(&mut store).unwrap();
    let open: Vec<String> = intents.open().map(|intent| intent.key.clone()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let archive = Archive::start(Box::new(store), memory.at(), intents, |why| eprintln!("{why}")).unwrap();
    let mut acts = fs::OpenOptions::new().create(true).append(true).open(folder.join("acts")).unwrap();
    let body = || json!({ "turn": "T" });
    // The harness has begun a line.
    writeln!(out).unwrap();
    runtime.block_on(async {
        for key in open {
            // As the engine does at its start: it is reported, and not done again.
            archive.append(vec![record("outcome", &key, json!({ "turn": "T", "outcome": "unknown" }))]).await.unwrap();
            writeln!(out, "reported {key}").unwrap();
            out.flush().unwrap();
        }
        for n in 0.. {
            for part in 0..3u64 {
                let mut change = memory.begin();
                let text = long(&format!("{n} {part}"), 20 + (scattered(n * 3 + part) % 200) as usize);
                change.put(document(&format!("/n/{}.org", (n + part) % 11), &text));
                if let Ok(operation) = change.finish(why("load")).publish(&mut memory) {
                    archive.step(operation, memory.head().clone());
                }
            }
            let key = format!("{}-{n}", std::process::id());
            archive.append(vec![record("intent", &key, body())]).await.unwrap();
            acts.write_all(format!("{key}\n").as_bytes()).unwrap();
            writeln!(out, "acting {key}").unwrap();
            out.flush().unwrap();
            for part in 0..PARTS {
                if n == 1 && soak::asked(HELD) == Some(part) {
                    writeln!(out, "held {key}").unwrap();
                    out.flush().unwrap();
                    // Nothing comes: it is killed here.
                    std::io::stdin().read_line(&mut String::new()).unwrap();
                }
                let made =
                    fs::OpenOptions::new().write(true).create_new(true).open(folder.join(format!("{key}.{part}")));
                made.unwrap_or_else(|error| panic!("{key} {part} was done before: {error}")).sync_all().unwrap();
            }
            archive.append(vec![record("outcome", &key, body())]).await.unwrap();
            writeln!(out, "done {key} {}", memory.at().0).unwrap();
            out.flush().unwrap();
        }
    });
}

/// Kills a process that acts, in the middle of anything: what was acknowledged is there, an act whose outcome is
/// unknown is reported once and never repeated.
#[test]
fn killed_under_load_every_act_has_its_intent_and_none_is_repeated() {
    let rounds: u64 = soak::asked("KILLS").unwrap_or(6);
    let folder = tempfile::tempdir().unwrap();
    let (mut done, mut reported, mut head, mut between) = (Vec::new(), Vec::new(), 0, 0);
    for round in 0..rounds {
        // Every other time in the middle of an act, behind some of its files; else at any moment.
        let held = (round % 2 == 0).then_some(round / 2 % PARTS);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "survive::child_under_load", "--nocapture", "--test-threads=1"])
            .env(LOAD, folder.path())
            .envs(held.map(|part| (HELD, part.to_string())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut said = Vec::new();
        for line in lines.by_ref() {
            let moment = match held {
                Some(_) => line.starts_with("held "),
                None => line.starts_with("done ") && said.len() as u64 >= scattered(round) % 9,
            };
            said.push(line);
            if moment {
                break;
            }
        }
        // Another moment in each round, without a clock.
        for _ in 0..scattered(round) % 2_000_000 {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        said.extend(lines);
        child.wait().unwrap();
        for line in said {
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["done", key, at] => {
                    done.push(key.to_string());
                    head = at.parse::<u64>().unwrap().max(head);
                }
                ["reported", key] => reported.push(key.to_string()),
                _ => {}
            }
        }
        let (mut store, memory, problems) = reopened(&folder.path().join("store"));
        assert!(problems.iter().all(|p| p.contains("taken over") || p.contains("damaged end")), "{problems:?}");
        assert!(memory.at().0 >= head, "operation {head} was acknowledged, the head is {}", memory.at().0);
        let keys = |store: &mut DiskStore, kind: &str| -> Vec<String> {
            store.list(kind, 0).unwrap().into_iter().map(|record| record.key).collect()
        };
        let (intents, outcomes) = (keys(&mut store, "intent"), keys(&mut store, "outcome"));
        let acts = fs::read_to_string(folder.path().join("acts")).unwrap();
        let acts: Vec<&str> = acts.lines().collect();
        let once: std::collections::BTreeSet<&&str> = acts.iter().collect();
        assert_eq!(once.len(), acts.len(), "an act was repeated");
        assert!(acts.iter().all(|act| intents.iter().any(|key| key == act)), "an act without an intent");
        assert!(done.iter().all(|key| outcomes.contains(key)), "an acknowledged outcome was lost");
        let open = intents.iter().filter(|key| !outcomes.contains(key)).count();
        assert!(open <= 1, "{open} intents are open");
        assert!(held.is_none() || open == 1, "it was killed in the middle of an act");
        between += open;
        assert_eq!(Intents::read(&mut store).unwrap().open().count(), open);
        drop(store);
        if round % 20 == 0 || round + 1 == rounds {
            let proof = verify(&folder.path().join("store"), None).unwrap();
            assert!(proof.whole(), "{:?}", proof.breaks);
        }
    }
    let once: std::collections::BTreeSet<&String> = reported.iter().collect();
    assert_eq!(once.len(), reported.len(), "reported once each");
    // The last one is reported by whoever starts next.
    let (mut store, _, _) = reopened(&folder.path().join("store"));
    let left = Intents::read(&mut store).unwrap().open().count();
    assert_eq!(reported.len() + left, between, "each that was open, and no other");
    assert!(between as u64 >= rounds / 2);
    survived(format!(
        "{rounds} kills under load, {} acts and {head} operations acknowledged and all there, {between} between intent and outcome, all reported, none repeated",
        done.len()
    ));
}

const ACTING: &str = "PASSEPARTOUT_TEST_ACTING";

/// An editor in which nothing is open, and which stops answering at one question.
struct Stopping {
    asked: std::sync::atomic::AtomicU64,
    at: u64,
}

#[async_trait::async_trait]
impl Editor for Stopping {
    async fn buffer(&self, _file: &str) -> Result<Option<Buffer>, String> {
        if self.asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == self.at {
            println!("held");
            std::future::pending::<()>().await;
        }
        Ok(None)
    }

    async fn edit(&self, _file: &str, _tick: i64, _splices: Vec<Splice>) -> Result<(), String> {
        Err("it is open nowhere".to_string())
    }
}

/// The settings of a whole engine in a folder, as a program beside another has them.
fn settings_in(folder: &Path) -> Config {
    let names =
        [("HOME", "home"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config"), ("XDG_CACHE_HOME", "cache")];
    let at = |(name, folder_name): (&str, &str)| (name.to_string(), folder.join(folder_name).display().to_string());
    let mut config = Config::read(&Surroundings { variables: names.map(at).into() });
    config.directories = vec![folder.join("memex")];
    config.project = Some(folder.join("home"));
    config.permissions.insert("org-move".into(), Level::Allow);
    config
}

async fn started_in(folder: &Path, server: Option<&FakeServer>, at: u64) -> (Arc<Engine>, Arc<Stopping>) {
    let mut config = settings_in(folder);
    server.inspect(|server| provide(&mut config, &[("fake", server, true)], &["fake"]));
    let editor = Arc::new(Stopping { asked: Default::default(), at });
    let (vault, clock, notify) = (Vault::empty(), Arc::new(SystemClock), Arc::new(|_| {}));
    let boot = Boot { config, vault, editor: editor.clone(), clock, notify, keep: Keep::OnDiskOnly };
    let engine = start(boot).await.unwrap();
    let reading = engine.clone();
    tokio::task::spawn_blocking(move || reading.read_memex(&mut |_| {})).await.unwrap();
    (engine, editor)
}

/// The body of the process that is killed in a real act: it moves a heading from one file to another.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_acts() {
    let Ok(folder) = std::env::var(ACTING) else { return };
    let args = json!({"id": "tiles", "file": format!("{folder}/memex/b.org"), "explanation": "The user asked for it."});
    let script = [
        Reply::answer(Dialect::OpenAi, &[], &[("c", "org-move", args)]),
        Reply::answer(Dialect::OpenAi, &["Done."], &[]),
    ];
    let server = FakeServer::start(script);
    let (engine, editor) = started_in(Path::new(&folder), Some(&server), soak::asked(HELD).unwrap_or(u64::MAX)).await;
    let finished = engine.ask(ask("move it"), engine.new_turn(), &mut |_| {}).await;
    println!("acted {} {}", finished.report.ending.name(), editor.asked.load(std::sync::atomic::Ordering::SeqCst));
    engine.close().await;
}

/// Kills a whole engine wherever an act asks the editor: before it, between its two files, and behind them. What was done
/// of it is reported once, is not done again, and can be undone.
#[tokio::test(flavor = "multi_thread")]
async fn killed_in_a_real_act_what_was_done_of_it_is_reported_once_and_can_be_undone() {
    let texts = [("a.org", "* Kitchen\n* Tiles\n:PROPERTIES:\n:ID: tiles\n:END:\n* Garden\n"), ("b.org", "* Shed\n")];
    let acting = |folder: &Path, held: Option<u64>| {
        for name in ["home", "memex"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        texts.iter().for_each(|(name, text)| fs::write(folder.join("memex").join(name), text).unwrap());
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "survive::child_that_acts", "--nocapture", "--test-threads=1"])
            .env(ACTING, folder)
            .envs(held.map(|at| (HELD, at.to_string())))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        child.unwrap()
    };
    let until = |child: &mut std::process::Child, word: &str| {
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // The harness begins the line.
        lines.find_map(|line| line.find(word).map(|at| line[at..].to_string()))
    };
    let folder = tempfile::tempdir().unwrap();
    let mut whole = acting(&folder.path().canonicalize().unwrap(), None);
    let said = until(&mut whole, "acted ").expect("it acts");
    whole.wait().unwrap();
    let Some(questions) = said.strip_prefix("acted answered ").and_then(|count| count.parse::<u64>().ok()) else {
        panic!("{said}")
    };
    let rounds = soak::asked("KILLS").unwrap_or(questions);
    let (mut between, mut halves) = (0, 0);
    for round in 0..rounds {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let mut child = acting(&base, Some(round % questions));
        assert!(until(&mut child, "held").is_some(), "{round}");
        child.kill().unwrap();
        child.wait().unwrap();
        let now = || texts.map(|(name, _)| fs::read_to_string(base.join("memex").join(name)).unwrap());
        let left = now();
        let changed = left.iter().zip(texts).filter(|(now, (_, before))| now != before).count();
        let (engine, _) = started_in(&base, None, u64::MAX).await;
        let log = engine.log_lines(usize::MAX);
        let reports =
            log.iter().filter(|line| line.text.contains("an earlier session ended while this was being done"));
        let reported = reports.count();
        assert!(reported == 1 || (reported == 0 && changed == 0), "{round}: {changed} files, {reported} reports");
        assert_eq!(now(), left, "{round}: nothing is done again");
        let changes = engine.changes().await.unwrap();
        assert_eq!(changes.iter().map(|change| change.files.len()).sum::<usize>(), changed, "{round}");
        if changed > 0 {
            let you = origin();
            let preview = engine.preview(&you, Wish::Undo(None)).await.unwrap();
            engine.carry_out(&you, &preview.shown, engine.new_turn(), &mut |_| {}).await.unwrap();
            assert_eq!(now(), texts.map(|(_, text)| text.to_string()), "{round}: all of it goes back");
        }
        engine.close().await;
        drop(engine);
        let (again, _) = started_in(&base, None, u64::MAX).await;
        let told = again.log_lines(usize::MAX).iter().any(|line| line.text.contains("an earlier session ended"));
        assert!(!told, "{round}: it is reported once");
        again.close().await;
        (between, halves) = (between + reported, halves + usize::from(changed == 1));
    }
    assert!(between > 0 && halves > 0, "{between} between, {halves} halves of {rounds}");
    survived(format!(
        "{rounds} kills in an act of two files: {between} between intent and outcome, {halves} with half of it done, all reported once, none repeated, all undone"
    ));
}

/// The whole way: a database and a log that are damaged, `doctor --fix`, the memex read again.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_fix_brings_back_everything_that_log_and_org_files_hold() {
    use passepartout::edge::doctor;
    type Harm<'a> = &'a dyn Fn(&Path);
    let flip = |name: &'static str, places: fn(usize) -> Vec<usize>| {
        move |store: &Path| {
            let mut bytes = fs::read(store.join(name)).unwrap();
            places(bytes.len()).into_iter().for_each(|at| bytes[at] ^= 0xff);
            fs::write(store.join(name), bytes).unwrap();
        }
    };
    let schema = flip("memory.sqlite", |_| vec![100]);
    // The first byte of a page says what page it is.
    let half = flip("memory.sqlite", |length| (length / 4096 / 2..length / 4096).map(|page| page * 4096).collect());
    let log = flip("memory.log", |length| vec![length / 3, length / 2]);
    let garbage = |store: &Path| fs::write(store.join("memory.sqlite"), "SQLite format 3\0 and then nothing").unwrap();
    let gone = |store: &Path| fs::remove_file(store.join("memory.sqlite")).unwrap();
    let record = |store: &Path| {
        let connection = rusqlite::Connection::open(store.join("memory.sqlite")).unwrap();
        connection
            .execute_batch(
                "DROP TRIGGER records_hold; UPDATE records SET body = '{\"status\":\"approved\"}' WHERE kind = 'plan'",
            )
            .unwrap();
    };
    let cases: [(&str, Harm<'_>); 6] = [
        ("the tables' own page", &schema),
        ("half of all pages", &half),
        ("the log", &log),
        ("a database that is none", &garbage),
        ("no database", &gone),
        ("a plan that was changed", &record),
    ];
    for (case, harm) in cases {
        let note = "* TODO A\n:PROPERTIES:\n:ID: a\n:END:\n";
        let home = Home::new(&[("a.org", note), ("b.org", &long("b", 500))]);
        let engine = home.engine().await;
        home.read(&engine).await;
        home.ask(&engine, "mark A done").await;
        let plan = crate::support::engine::waiting(&engine);
        let (root, head) = (engine.view().root(), engine.head());
        engine.close().await;
        harm(&home.store());
        let found = verify(&home.store(), None);
        assert!(found.is_err() || !found.unwrap().whole(), "{case}: it is found");
        let told = doctor::mend(&home.store());
        assert!(!told.is_empty() || case == "no database", "{case}");
        let engine = home.engine().await;
        home.read(&engine).await;
        engine.flush().await.unwrap();
        assert_eq!(engine.view().root(), root, "{case}: {told:?}");
        assert!(engine.head() >= head, "{case}");
        assert_eq!(crate::support::engine::waiting(&engine).shown(), plan.shown(), "{case}: what only the store knew");
        home.approve(&engine, &plan).await.unwrap();
        assert_eq!(home.read_file("a.org"), note.replace("TODO", "DONE"), "{case}");
        engine.close().await;
        let proof = verify(&home.store(), Some(&home.config().heads())).unwrap();
        let lost = proof.breaks.iter().all(|place| place.text.ends_with(" is lost"));
        assert!(lost, "{case}: {:?}", proof.breaks);
    }
    survived(format!("{} damaged stores mended by the doctor: all that log and Org files hold is there", cases.len()));
}

/// A thousand headings changed in twenty thousand files, in a soak; fewer here, with the same bound for each.
#[test]
fn a_change_of_one_heading_adds_little_to_the_disk() {
    let (files, changes) = (soak::asked("FILES").unwrap_or(2_000), soak::asked("CHANGES").unwrap_or(100usize));
    let folder = tempfile::tempdir().unwrap();
    let mut memory = Memory::default();
    let mut store = DiskStore::open(folder.path()).unwrap();
    let text = |n: usize, round: usize| -> String {
        (0..10)
            .map(|h| {
                format!(
                    "* Heading {h} of {n}, round {}\n{}\n",
                    if h == 3 { round } else { 0 },
                    "Some words of it. ".repeat(13)
                )
            })
            .collect()
    };
    let mut change = memory.begin();
    (0..files).for_each(|n| change.put(document(&format!("/home/user/org/notes/some-folder/{n}.org"), &text(n, 0))));
    let operation = change.finish(why("all")).publish(&mut memory).unwrap();
    store.commit(&Commit { steps: &[(operation, memory.head().clone())], ..Commit::default() }).unwrap();
    drop(store);
    let size = || -> u64 {
        ["memory.sqlite", "memory.log"].map(|name| fs::metadata(folder.path().join(name)).unwrap().len()).iter().sum()
    };
    let before = size();
    let (mut store, mut memory, _) = reopened(folder.path());
    for round in 1..=changes {
        let n = scattered(round as u64) as usize % files;
        let mut change = memory.begin();
        change.put(document(&format!("/home/user/org/notes/some-folder/{n}.org"), &text(n, round)));
        let operation = change.finish(why("edit")).publish(&mut memory).unwrap();
        // About what a turn leaves: what was meant, what came of it, and the turn.
        let records = [
            record("intent", "x", json!({ "turn": "T", "tool": "org-set-todo", "summary": "words ".repeat(30) })),
            record("outcome", "x", json!({ "turn": "T", "outcome": "done", "changed": ["file"] })),
            record("turn", "T", json!({ "asked": "words ".repeat(20), "trace": "words ".repeat(150) })),
        ];
        store.commit(&Commit { steps: &[(operation, memory.head().clone())], records: &records, stamps: &[] }).unwrap();
    }
    drop(store);
    let added = size() - before;
    survived(format!(
        "{changes} one-heading changes in {files} files of {} bytes ({:.0} MB stored) added {:.1} MB, {} bytes each",
        text(0, 0).len(),
        before as f64 / 1e6,
        added as f64 / 1e6,
        added / changes as u64
    ));
    assert!(added < 20_000 * changes as u64, "{added} bytes for {changes} changes");
}

/// A log that is longer than what is checked at each start; tried in a soak.
#[test]
fn a_log_of_more_than_64_megabytes_is_good_for_all_of_it() {
    let Some(megabytes) = soak::asked::<u64>("LOG_MB") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut store = DiskStore::open(folder.path()).unwrap();
    for n in 0..megabytes {
        let body = json!({ "words": format!("{n} ").repeat(1_000_000 / (n.to_string().len() + 1)) });
        store.commit(&Commit { records: &[record("turn", &n.to_string(), body)], ..Commit::default() }).unwrap();
    }
    drop(store);
    let log = folder.path().join("memory.log");
    let mut bytes = fs::read(&log).unwrap();
    assert!(bytes.len() as u64 > megabytes * 950_000 && bytes.len() > 64 << 20, "{}", bytes.len());
    // Before what a start checks.
    bytes[1_500_000] ^= 1;
    fs::write(&log, &bytes).unwrap();
    assert_eq!(DiskStore::open(folder.path()).unwrap().notices(), [""; 0], "a start checks its end");
    let proof = verify(folder.path(), None).unwrap();
    assert!(proof.breaks.iter().any(|place| place.text.contains("are damaged")), "{:?}", proof.breaks);
    fs::remove_file(folder.path().join("memory.sqlite")).unwrap();
    let mut store = DiskStore::open(folder.path()).unwrap();
    assert_eq!(store.list("turn", 0).unwrap().len() as u64, megabytes - 1);
    assert!(store.notices().iter().any(|line| line.contains("are lost: neither")), "{:?}", store.notices());
    survived(format!("a log of {megabytes} MB, damaged in the middle: all but the damaged record came back"));
}
