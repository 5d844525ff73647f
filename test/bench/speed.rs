//! What is promised about speed for reading: ingest, hostile texts, and one character typed into a large buffer.

use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::view::View;
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::edge::ingest::{IngestOptions, IngestReport, Known, ingest};
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
    println!("{:<58} {:>22}  promised", "", "measured");
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
        let took = best(&|| build(&text).root());
        row(name, format!("{:.0} ms", millis(took)), "500 ms");
    }
    edits(
        "typed into 1 MB, Latin",
        "The harbour and its cranes",
        "Some words that stand below, and go on for a while.",
    );
    edits("typed into 1 MB, Japanese", "港と倉庫の見出し", "本文は漢字と仮名で書かれた文章であり、しばらく続く。");
}

fn row(name: &str, measured: String, promised: &str) {
    println!("{name:<58} {measured:>22}  {promised}");
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

/// Reads the corpus beside the project into memory: parse, hash, graph and indexes.
fn corpus() {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/org");
    if !root.is_dir() {
        println!("no corpus beside the project: its row is left out");
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
    let plain = best(&|| {
        files
            .iter()
            .filter_map(|file| std::fs::read(file).ok())
            .map(|bytes| blake3::hash(&bytes))
            .fold(0u8, |sum, hash| sum ^ hash.as_bytes()[0])
    });
    let took = best(&|| view(&read()).root());
    let (rate, files) = (report.bytes as f64 / 1e6 / took.as_secs_f64(), report.files as f64 / took.as_secs_f64());
    row("ingest of the corpus in memory", format!("{rate:.0} MB/s, {files:.0} files/s"), "150 MB/s, 10,000 files/s");
    let ratio = took.as_secs_f64() / plain.as_secs_f64();
    row("  times what plain read and BLAKE3 take on one thread", format!("{ratio:.2}"), "");
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
        let outline = scan(typed.clone(), &ScanOptions::default()).unwrap();
        let next = Arc::new(Document::rebuild(&document, outline, &PrivacyOptions::default()));
        view.put(next.clone());
        black_box(view.root());
        (text, document) = (typed, next);
        times.push(begun.elapsed());
    }
    times.sort();
    let at = |share: usize| millis(times[EDITS * share / 100]);
    row(name, format!("p50 {:.1}, p99 {:.1} ms", at(50), at(99)), "p99 5 ms");
}
