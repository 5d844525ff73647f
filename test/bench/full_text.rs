//! What full text costs at 10,000, 100,000 and a million headings of 1 kB: `cargo bench --bench full_text [HEADINGS…]`.
//!
//! Filling is cutting texts into words, writing segments and joining them, in one thread; making the texts and scanning
//! them is not counted. Questions are the 200 of `synthetic.rs`, ten results each, after one round to warm up.
//! Times are processor time of the thread: what else the machine does is not counted, and waiting for a disk is not either.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(unsafe_code)] // One call of clock_gettime.

mod synthetic;

use passepartout::domain::context::build::Builder;
use passepartout::domain::context::lexical::{BATCH, Index};
use passepartout::domain::context::question::Question;
use passepartout::domain::context::rank::search;
use passepartout::domain::label::Privacy;
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::view::View;
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::edge::full_text::folder::{Folder, reading};
use std::path::Path;
use std::sync::Arc;

/// Memories up to this many headings are asked as tools ask them, too.
const SEARCHED: usize = 100_000;

fn main() {
    let asked: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![10_000, 100_000, 1_000_000] } else { asked };
    println!(
        "{:>9} | fill MB/s | B/heading disk | resident | index    | p50 ms | p99 ms | search p50, p99 | edit p50, p99 | start ms",
        "headings"
    );
    for headings in sizes {
        measure(headings);
    }
}

fn document(number: usize, text: String) -> Document {
    let outline = scan(text.into(), &ScanOptions::default()).unwrap();
    Document::build(format!("/memex/{number}.org"), outline, &PrivacyOptions::default())
}

fn measure(headings: usize) {
    let cache = tempfile::tempdir().unwrap();
    let folder = Folder::open(cache.path(), Path::new("bench"), reading(&ScanOptions::default())).unwrap();
    let before = resident();
    let (mut spent, mut bytes) = (0.0, 0);
    let mut index = Index::default();
    let mut builder = Builder::default();
    let files = headings.div_ceil(synthetic::HEADINGS_A_FILE);
    for number in 0..files {
        let text = synthetic::file(number);
        bytes += text.len();
        let document = document(number, text);
        let begun = now();
        builder.add(&document);
        if builder.size() >= BATCH {
            index = index.including(folder.keep(&std::mem::take(&mut builder).finish()).unwrap());
            index = joined(&folder, index);
        }
        spent += now() - begun;
    }
    let begun = now();
    if !builder.is_empty() {
        index = index.including(folder.keep(&builder.finish()).unwrap());
    }
    index = joined(&folder, index);
    folder.sweep(&index);
    spent += now() - begun;
    let disk: u64 =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    let questions = synthetic::questions();
    let ask = |question: &String| index.scores(&Question::read(question, None).terms, 10, &|_, _| true).len();
    let hits: usize = questions.iter().map(ask).sum();
    assert!(hits > 1_000, "only {hits} hits");
    let (middle, late) = times(&questions, ask);
    let resident = resident().saturating_sub(before);
    let heap = index.heap_bytes();
    print!(
        "{headings:>9} | {:>9.1} | {:>14} | {:>5} MB | {:>5.1} MB | {middle:>6.2} | {late:>6.2}",
        bytes as f64 / 1e6 / spent,
        disk / headings as u64,
        resident / 1_000_000,
        heap as f64 / 1e6,
    );
    let segments = index.segments().count();
    if headings <= SEARCHED {
        as_tools_do(&folder, &index, files, &questions);
    }
    println!("   ({segments} segments)");
}

fn joined(folder: &Folder, mut index: Index) -> Index {
    while let Some(crowd) = index.crowd(usize::MAX) {
        index = index.joined(&crowd, folder.join(&crowd).unwrap());
    }
    index
}

/// Asks through the ranking, with what stands beside and kindred words; changes files; opens everything anew.
fn as_tools_do(folder: &Folder, index: &Index, files: usize, questions: &[String]) {
    let mut view = View::default();
    for number in 0..files {
        view.put(Arc::new(document(number, synthetic::file(number))));
    }
    let ask = |question: &String| search(&view, index, question, 10, Privacy::Private).len();
    let (middle, late) = times(questions, ask);
    print!(" | {middle:>6.2}, {late:>6.2}");
    let mut edited = index.clone();
    let changed: Vec<Arc<Document>> = (0..files.min(300))
        .map(|number| Arc::new(document(number * 7 % files, synthetic::file(number).replace(" ba", " bb"))))
        .collect();
    let (middle, late) = times(&changed, |document| {
        edited = edited.with(document);
        edited.len()
    });
    print!(" | {middle:>5.2}, {late:>5.2}");
    let begun = now();
    let found = folder.load(&view);
    let (loaded, missing) = found.index.compared(&view);
    assert_eq!((loaded.len(), missing.len(), found.damaged), (index.len(), 0, 0));
    print!(" | {:>8.1}", (now() - begun) * 1e3);
}

/// Returns the median and the 99th of a hundred, in milliseconds.
fn times<T>(each: &[T], mut run: impl FnMut(&T) -> usize) -> (f64, f64) {
    let mut times: Vec<f64> = each
        .iter()
        .map(|one| {
            let begun = now();
            std::hint::black_box(run(one));
            (now() - begun) * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times.get(times.len() * part / 100).or(times.last()).copied().unwrap_or(0.0);
    (at(50), at(99))
}

/// Seconds of processor time that this thread has used.
fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `time`, which lives as long as it runs, and to nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Bytes of this process that are in memory, pages of files left out; 0 where the system does not tell.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("RssAnon")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<usize>().ok()).unwrap_or(0) * 1024
}
