//! Reading folders: every file is read or named, nothing is lost, and what is unchanged is left alone.

use crate::support::engine::Home;
use crate::support::skip::skipped;
use crate::support::user::ordinary;
use passepartout::domain::memory::store::{Commit, Stamp, Store};
use passepartout::domain::memory::view::View;
use passepartout::domain::memory::{Memory, document::Document, document::PrivacyOptions};
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::edge::cli;
use passepartout::edge::engine::Engine;
use passepartout::edge::ingest::{IngestOptions, IngestReport, Known, Parts, Progress};
use passepartout::edge::ingest::{ingest, ingest_changed, ingest_in_parts};
use passepartout::edge::store::DiskStore;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

fn read(root: &Path, known: &Known) -> IngestReport {
    read_with(root, known, &IngestOptions::default())
}

fn read_with(root: &Path, known: &Known, options: &IngestOptions) -> IngestReport {
    ingest(&[root.to_path_buf()], known, options, &mut |_| {}, &AtomicBool::new(false))
}

/// Writes a file that has been at rest for a while.
fn write(root: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    settle(&path, 100);
    path
}

fn settle(path: &Path, seconds: u64) {
    let file = fs::File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

/// Memory after a report was taken in.
fn take(known: Known, report: &IngestReport) -> Known {
    let mut view = known.view;
    report.documents.iter().for_each(|document| view.put(document.clone()));
    report.removed.iter().for_each(|file| view.remove(file));
    let mut stamps = known.stamps;
    stamps.extend(report.stamps.iter().map(|stamp| (stamp.file.clone(), stamp.clone())));
    Known { view, stamps }
}

fn problems(report: &IngestReport, root: &Path) -> Vec<String> {
    report.problems.iter().map(|p| p.to_string().replace(root.to_str().unwrap(), "ROOT")).collect()
}

#[test]
fn a_folder_is_read_once() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    write(root, "a.org", "* A\n** B\n");
    write(root, "sub/c.org", "* C\n");
    write(root, ".hidden.org", "* D\n");
    write(root, "notes.txt", "* no\n");
    let mut seen = Vec::new();
    let stop = AtomicBool::new(false);
    let first =
        ingest(&[root.to_path_buf()], &Known::default(), &IngestOptions::default(), &mut |p| seen.push(p), &stop);
    assert_eq!((first.files, first.headings, first.bytes, first.unchanged), (2, 3, 13, 0));
    assert_eq!(problems(&first, root), [""; 0]);
    assert_eq!(seen.first(), Some(&Progress { done: 0, total: 2, bytes: 0 }));
    assert_eq!(seen.last(), Some(&Progress { done: 2, total: 2, bytes: 13 }));
    assert!(first.documents[0].modified.is_some());
    let known = take(Known::default(), &first);
    let again = read(root, &known);
    assert_eq!((again.files, again.headings, again.bytes, again.unchanged), (2, 3, 13, 2));
    assert!(again.documents.is_empty() && again.stamps.is_empty() && again.removed.is_empty());
    // Same size, another time: it is read, and found to be the same or not.
    write(root, "a.org", "* A\n** X\n");
    settle(&root.join("a.org"), 50);
    settle(&root.join("sub/c.org"), 50);
    let third = read(root, &known);
    assert_eq!(third.documents.len(), 1);
    assert!(third.documents[0].ids[2].as_str().ends_with("::*A/B"), "a new title leaves its key");
    assert_eq!(third.stamps.len(), 2);
}

#[test]
fn a_file_changed_a_moment_ago_is_read_once_more() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a.org"), "* A\n").unwrap();
    let known = take(Known::default(), &read(root.path(), &Known::default()));
    // The same length within the same tick of the clock.
    let time = fs::metadata(root.path().join("a.org")).unwrap().modified().unwrap();
    fs::write(root.path().join("a.org"), "* B\n").unwrap();
    fs::File::options().append(true).open(root.path().join("a.org")).unwrap().set_modified(time).unwrap();
    let again = read(root.path(), &known);
    assert_eq!(again.documents.len(), 1, "a change within the clock's tick was missed");
}

#[test]
fn what_is_gone_is_removed_and_what_cannot_be_seen_is_kept() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("memex");
    write(&root, "a.org", "* A\n");
    write(&root, "sub/b.org", "* B\n");
    write(&root, "sub/c.org", "* C\n");
    let elsewhere = Arc::new(Document::build(
        "/elsewhere.org",
        scan("".into(), &ScanOptions::default()).unwrap(),
        &PrivacyOptions::default(),
    ));
    let mut known = take(Known::default(), &read(&root, &Known::default()));
    known.view.put(elsewhere);
    fs::remove_file(root.join("sub/b.org")).unwrap();
    let report = read(&root, &known);
    assert_eq!(report.removed.iter().map(|f| f.rsplit('/').next().unwrap()).collect::<Vec<_>>(), ["b.org"]);
    let known = take(known, &report);
    // The whole folder is away: an unmounted disk must not empty the memory.
    fs::rename(&root, parent.path().join("moved")).unwrap();
    let report = read(&root, &known);
    assert!(report.removed.is_empty());
    let root = root.display();
    assert_eq!(report.problems[0].to_string(), format!("{root}: does not exist. What is known of it is kept"));
}

#[test]
fn bad_files_are_named_one_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "good.org", "* Good\n");
    // As Emacs reads it: NUL is a character like others.
    write(root, "binary.org", b"\x00\x01\x02ELF\x00");
    write(root, "garbled.org", b"* caf\xe9 \x81\x8d\xff\n");
    let huge = write(root, "huge.org", "* Huge\n");
    fs::File::options().write(true).open(&huge).unwrap().set_len(500_000_001).unwrap();
    std::os::unix::fs::symlink(root.join("nowhere"), root.join("vanished.org")).unwrap();
    std::os::unix::fs::symlink(root, root.join("loop")).unwrap();
    write(root, "new\nline.org", b"* caf\xe9 \x81\x8d\xff\n");
    let latin = root.join(OsStr::from_bytes(b"l\xe4tin.org"));
    fs::write(&latin, "* L\n").unwrap();
    let pipe = std::ffi::CString::new(root.join("pipe.org").as_os_str().as_bytes()).unwrap();
    let made = std::process::Command::new("mkfifo").arg(OsStr::from_bytes(pipe.as_bytes())).status().unwrap();
    assert!(made.success());
    let report = read(root, &Known::default());
    assert_eq!((report.files, report.headings), (2, 1));
    let found = problems(&report, root);
    let expect = [
        "garbled.org: line 1",
        "huge.org: has 500 MB",
        "l\u{fffd}tin.org: its name is not UTF-8",
        "new\\nline.org: line 1",
        "pipe.org: is not a regular file",
        "vanished.org: does not exist",
    ];
    assert_eq!(found.len(), expect.len(), "{found:#?}");
    for (line, words) in found.iter().zip(expect) {
        assert!(line.starts_with(&format!("ROOT/{words}")), "{line}");
        assert!(!line.contains('\n'));
    }
}

#[test]
fn a_file_that_turns_bad_keeps_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let path = write(root, "a.org", "* A\n");
    let known = take(Known::default(), &read(root, &Known::default()));
    write(root, "a.org", b"* caf\xe9 \x81\x8d\xff\n");
    settle(&path, 10);
    let report = read(root, &known);
    assert!(report.removed.is_empty() && report.documents.is_empty());
    assert!(report.problems[0].text.ends_with("Its last known content is kept"), "{:?}", report.problems);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let report = ordinary(|| read(root, &known));
    assert!(report.problems[0].text.contains("may not be read by you"), "{:?}", report.problems);
    assert!(report.removed.is_empty());
}

#[test]
fn it_can_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..300 {
        write(folder.path(), &format!("{n}.org"), "* A\n");
    }
    let known = take(Known::default(), &read(folder.path(), &Known::default()));
    fs::remove_file(folder.path().join("7.org")).unwrap();
    let stop = AtomicBool::new(false);
    let mut done = 0;
    let fresh = Known::default();
    let report = ingest(
        &[folder.path().to_path_buf()],
        &fresh,
        &IngestOptions::default(),
        &mut |p| {
            done = p.done;
            if p.done == 10 {
                stop.store(true, Ordering::Relaxed)
            }
        },
        &stop,
    );
    assert!(report.cancelled && report.files < 299 && report.files >= 10);
    stop.store(true, Ordering::Relaxed);
    let report = ingest(&[folder.path().to_path_buf()], &known, &IngestOptions::default(), &mut |_| {}, &stop);
    assert!(report.removed.is_empty(), "what was not looked at is not gone");
}

#[test]
fn a_store_spares_reading_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("memex");
    for n in 0..20 {
        write(&root, &format!("{n}.org"), format!("#+FILETAGS: :private:\n* Heading {n}\n"));
    }
    let options = IngestOptions::default();
    let place = folder.path().join("store");
    let first = read(&root, &Known::default());
    let mut memory = Memory::default();
    let mut change = memory.begin();
    first.documents.iter().for_each(|document| change.put(document.clone()));
    let operation = change.finish(crate::memory::why("ingest")).publish(&mut memory).unwrap();
    let mut store = DiskStore::open(&place).unwrap();
    let steps = [(operation, memory.head().clone())];
    store.commit(&Commit { steps: &steps, stamps: &first.stamps, records: &[] }).unwrap();
    drop(store);
    let mut store = DiskStore::open(&place).unwrap();
    let build = |file: &Arc<str>, text: Arc<str>| {
        let outline = scan(text, &options.scan).map_err(|e| e.to_string())?;
        Ok(Document::build(file.clone(), outline, &options.privacy))
    };
    let loaded = store.load(&build).unwrap();
    assert_eq!(loaded.problems, [""; 0]);
    let file = root.join("3.org");
    let (old, new) = (&first.documents, loaded.view.document(file.to_str().unwrap()).unwrap());
    let old = old.iter().find(|d| d.file == new.file).unwrap();
    assert_eq!((&old.modified, &old.privacy, &old.hashes), (&new.modified, &new.privacy, &new.hashes));
    let second = read(&root, &Known::new(loaded.view, loaded.stamps));
    assert_eq!((second.unchanged, second.files, second.documents.len()), (20, 20, 0));
}

#[test]
fn the_report_can_be_read() {
    let report =
        IngestReport { files: 2, headings: 5, bytes: 1_500_000, seconds: 0.5, unchanged: 1, ..IngestReport::default() };
    let mut report = report;
    report.problems.push(passepartout::edge::ingest::Problem { file: "/n/a.org".into(), text: "is not text".into() });
    insta::assert_snapshot!(cli::ingest::report(&report), @r"
    2 files, 5 headings, 1.5 MB read in 0.50 s (3 MB/s), 1 problem
    unchanged since the last time: 1 file
    /n/a.org: is not text
    ");
    insta::assert_snapshot!(cli::ingest::json(&report), @r#"{"files":2,"headings":5,"bytes":1500000,"problems":1,"seconds":0.5}"#);
}

/// Reads the shared corpus when it is there, and prints figures.
#[test]
fn the_corpus_is_read_without_a_problem() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/org");
    if !corpus.exists() {
        skipped("no shared corpus here");
        return;
    }
    let report = read(&corpus, &Known::default());
    print!("{}", cli::ingest::report(&report));
    assert!(report.files > 1000 && report.headings > 1000);
    assert_eq!(report.documents.len(), report.files);
}

#[test]
fn a_saved_file_takes_no_linked_one_out() {
    let root = tempfile::tempdir().unwrap();
    let real = write(root.path(), "real.org", "* One\n");
    std::os::unix::fs::symlink(&real, root.path().join("link.org")).unwrap();
    let report = read(root.path(), &Known::default());
    assert_eq!(report.documents.len(), 2);
    let known = take(Known::default(), &report);
    fs::write(&real, "* Two\n").unwrap();
    let report = ingest_changed(&[real], &known, &IngestOptions::default(), &AtomicBool::new(false));
    assert_eq!((report.documents.len(), report.removed.len()), (1, 0), "{:?}", report.removed);
}

#[test]
fn a_root_that_is_a_file_is_read_again_whatever_its_name() {
    let root = tempfile::tempdir().unwrap();
    let file = write(root.path(), "notes.txt", "* One\n");
    let known = take(Known::default(), &read(&file, &Known::default()));
    fs::write(&file, "* Two, longer\n").unwrap();
    let changed = |named: Vec<PathBuf>| {
        let options = IngestOptions { named, ..IngestOptions::default() };
        ingest_changed(std::slice::from_ref(&file), &known, &options, &AtomicBool::new(false))
    };
    assert_eq!(changed(vec![file.clone()]).documents.len(), 1);
    // Of a folder's files only those count that are called so.
    assert_eq!(changed(vec![root.path().to_path_buf()]).documents.len(), 0);
}

#[test]
fn what_was_read_is_given_away_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for n in 0..40 {
        write(root, &format!("{n:02}.org"), format!("* Heading {n}\n{}\n", "x".repeat(1_000)));
    }
    let read = |known: &Known| {
        let (mut parts, stop) = (Vec::new(), AtomicBool::new(false));
        let mut take = |documents: Vec<Arc<Document>>, stamps: Vec<Stamp>| {
            assert_eq!(documents.len(), stamps.len());
            parts.push(documents);
        };
        let taken = Parts { bytes: 10_000, take: &mut take };
        let options = IngestOptions::default();
        let report = ingest_in_parts(&[root.to_path_buf()], known, &options, &mut |_| {}, taken, &stop);
        (report, parts)
    };
    let (first, parts) = read(&Known::default());
    assert_eq!((first.files, first.headings, parts.len()), (40, 40, 4));
    assert!(parts.iter().all(|part| part.len() == 10) && first.documents.is_empty() && first.stamps.is_empty());
    // What is gone may have come to another name: then all of it is looked at together.
    let view = parts.concat().into_iter().fold(View::default(), |view, document| view.with(document));
    std::fs::rename(root.join("07.org"), root.join("99.org")).unwrap();
    let (second, parts) = read(&Known { view, ..Known::default() });
    assert_eq!((second.documents.len(), second.removed.len(), parts.len()), (1, 1, 0));
}

/// A new memex is in memory part by part, and queries say that more is to come.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_memex_comes_into_memory_in_parts() {
    let line = format!("{}\n", "word ".repeat(200));
    let long = |n: usize| format!("* Heading {n}\n{}", line.repeat(6_000));
    let texts: Vec<(String, String)> = (0..4).map(|n| (format!("{n}.org"), long(n))).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let home = Home::new(&files);
    let (engine, seen) = (Arc::new(Mutex::new(None::<Arc<Engine>>)), Arc::new(Mutex::new(Vec::new())));
    let (known, told) = (engine.clone(), seen.clone());
    *home.notify.lock().unwrap() = Arc::new(move |_| {
        if let Some(engine) = known.lock().unwrap().as_ref() {
            told.lock().unwrap().push((engine.view().len(), engine.reading().is_some()));
        }
    });
    *engine.lock().unwrap() = Some(home.engine().await);
    let read = engine.lock().unwrap().clone().unwrap();
    home.read(&read).await;
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    assert!(seen.iter().any(|(files, reading)| *reading && (1..4).contains(files)), "{seen:?}");
    assert_eq!(seen.last(), Some(&(4, false)));
    assert_eq!(read.head().0, 2, "each part is an operation");
    assert!(texts.iter().all(|(name, text)| read.view().text(&home.file(name)).as_deref() == Some(text.as_str())));
    engine.lock().unwrap().take();
    read.close().await;
    let again = home.engine().await;
    assert_eq!(again.view().len(), 4);
    home.read(&again).await;
    assert_eq!(again.head().0, 2, "nothing has changed");
}
