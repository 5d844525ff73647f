//! What is promised about speed for reading: ingest, hostile texts, and one character typed into a large buffer.

use crate::report::{processor_seconds, rated, row};
use passepartout::domain::memory::Memory;
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::operation::Why;
use passepartout::domain::memory::shape::Shape;
use passepartout::domain::memory::store::{Commit, Store};
use passepartout::domain::memory::view::View;
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::edge::ingest::{IngestOptions, IngestReport, Known, ingest};
use passepartout::edge::store::DiskStore;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Rounds of what is timed as a whole; the best counts.
const ROUNDS: usize = 5;
/// Characters typed; the 99th of a hundred counts.
const EDITS: usize = 500;
/// The size of a hostile text, in bytes.
const HOSTILE: usize = 5_000_000;
/// The size of the buffer that is typed into, in bytes.
const BUFFER: usize = 1_000_000;

/// Prints every row, with what is promised.
pub fn print() {
    println!("\nReading ({ROUNDS} rounds, the best; {EDITS} edits)");
    println!("{:<58} {:>34}  promised", "", "measured");
    corpus();
    for (name, piece) in [
        ("hostile: short headings with a line each", "* H\nbody\n"),
        ("hostile: headings with a drawer that is not closed", "* h\n:PROPERTIES:\n:ID: a\n"),
        ("hostile: headings with keyword and tag", "* TODO heading :tag:\n"),
        ("hostile: a drawer with a million lines", ":a: b\n"),
        ("hostile: keyword lines", "#+TODO: A | B\n"),
    ] {
        let head = if piece.starts_with(":a") { "* h\n:PROPERTIES:\n" } else { "" };
        let text: Arc<str> = format!("{head}{}:END:\n", piece.repeat(HOSTILE / piece.len())).into();
        let took = best(&|| build(&text));
        row(name, "500 ms", &format!("{:.0} ms", millis(took)));
    }
    edits(
        "typed into 1 MB, Latin",
        "The harbour and its cranes",
        "Some words that stand below, and go on for a while.",
    );
    edits("typed into 1 MB, Japanese", "港と倉庫の見出し", "本文は漢字と仮名で書かれた文章であり、しばらく続く。");
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn best<T>(work: &dyn Fn() -> T) -> Duration {
    let round = || {
        let begun = Instant::now();
        let made = black_box(work());
        let took = begun.elapsed();
        drop(made);
        took
    };
    (0..ROUNDS).map(|_| round()).min().unwrap_or_default()
}

fn build(text: &Arc<str>) -> Document {
    let outline = scan(text.clone(), &ScanOptions::default()).unwrap();
    Document::build("a.org", outline, &PrivacyOptions::default())
}

/// Reads the corpus beside the project into memory: parse, hash, graph and indexes; then the same with all of it saved.
pub fn corpus() {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/org");
    if !root.is_dir() {
        println!("no corpus beside the project: its rows are left out");
        return;
    }
    let read = || {
        let roots = std::slice::from_ref(&root);
        ingest(roots, &Known::default(), &IngestOptions::default(), &mut |_| {}, &AtomicBool::new(false))
    };
    let view = |report: &IngestReport| {
        let mut view = View::default();
        report.documents.iter().for_each(|document| view.put(document.clone()));
        view
    };
    let report = read();
    let files: Vec<&str> = report.documents.iter().map(|document| document.file.as_ref()).collect();
    let plain = spent(&|| {
        let hashes = files.iter().filter_map(|file| std::fs::read(file).ok()).map(|bytes| blake3::hash(&bytes));
        hashes.fold(0u8, |sum, hash| sum ^ hash.as_bytes()[0])
    });
    let rate = |took: (Duration, f64)| report.bytes as f64 / 1e6 / took.0.as_secs_f64();
    let told = |took: (Duration, f64)| {
        let (files, processor) = (report.files as f64 / took.0.as_secs_f64(), report.bytes as f64 / 1e6 / took.1);
        format!("{:.0} MB/s, {files:.0} files/s ({processor:.0} MB a cpu-s)", rate(took))
    };
    rated("plain read and BLAKE3 of the corpus, one thread", "", &told(plain), Some(rate(plain)));
    let in_memory = spent(&|| view(&read()).root());
    rated("ingest of the corpus in memory", "150 MB/s, 10,000 files/s", &told(in_memory), Some(rate(in_memory)));
    let saved = spent(&|| save(read()));
    rated("ingest of the corpus, all of it saved", "60 MB/s", &told(saved), Some(rate(saved)));
}

/// Saves what was read, as the first reading of a memex does: one operation, and the stamps of the files.
fn save(report: IngestReport) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let mut store = DiskStore::open(folder.path()).unwrap();
    let mut memory = Memory::restore(store.load_cards(&Shape::default(), &|| Ok(())).unwrap().view, Vec::new());
    let mut change = memory.begin();
    report.documents.into_iter().for_each(|document| change.put(document));
    let (cause, origin, note) = ("read".to_string(), "bench".to_string(), String::new());
    change.finish(Why { cause, origin, at: jiff::Timestamp::UNIX_EPOCH, note }).publish(&mut memory).unwrap();
    let steps = [(memory.last().unwrap().clone(), memory.head().clone())];
    store.commit(&Commit { steps: &steps, stamps: &report.stamps, ..Commit::default() }).unwrap().bytes
}

/// Returns the least time of some rounds, and the least processor time in seconds.
fn spent<T>(work: &dyn Fn() -> T) -> (Duration, f64) {
    let mut least = (Duration::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let (begun, before) = (Instant::now(), processor_seconds());
        let made = black_box(work());
        least = (least.0.min(begun.elapsed()), least.1.min(processor_seconds() - before));
        drop(made);
    }
    least
}

/// Types one character after the other at places spread over a text; what memory does is timed, from text to root.
fn edits(name: &str, title: &str, line: &str) {
    let mut text = String::new();
    for n in 0.. {
        if text.len() >= BUFFER {
            break;
        }
        let stars = if n % 5 == 0 { "*" } else { "**" };
        text.push_str(&format!("{stars} {title} {n} :work:\n{line}\n{line}\n"));
    }
    let mut text: Arc<str> = text.into();
    let mut document = Arc::new(build(&text));
    let mut view = View::default();
    view.put(document.clone());
    let mut times = Vec::with_capacity(EDITS);
    for n in 0..EDITS {
        let mut at = n * 7_919_777 % text.len();
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let begun = Instant::now();
        let typed: Arc<str> = [&text[..at], "x", &text[at..]].concat().into();
        let (shape, privacy) = (ScanOptions::default(), PrivacyOptions::default());
        let next = Arc::new(Document::edited(&document, typed.clone(), &shape, &privacy).unwrap());
        view.put(next.clone());
        black_box(view.root());
        (text, document) = (typed, next);
        times.push(begun.elapsed());
    }
    times.sort();
    let at = |share: usize| millis(times[EDITS * share / 100]);
    row(name, "p99 5 ms", &format!("p50 {:.1}, p99 {:.1} ms", at(50), at(99)));
}
