//! What full text costs at 10,000, 100,000 and a million headings of 1 kB: `cargo bench --bench full_text [HEADINGS…]`.
//!
//! With `near` it prints how near the evidence of the recall corpus lies instead.
//!
//! Filling is cutting texts into words, writing segments and joining them, in one thread; making the texts and scanning
//! them is not counted. Questions are the 200 of `synthetic.rs`, ten results each, after one round to warm up.
//! Times are processor time of the thread: what else the machine does is not counted, and waiting for a disk is not either.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(unsafe_code)] // One call of clock_gettime.

mod near;
mod report;
mod synthetic;

use jiff::civil::DateTime;
use passepartout::domain::context::build::Builder;
use passepartout::domain::context::lexical::{BATCH, Index};
use passepartout::domain::context::question::Question;
use passepartout::domain::context::rank::search;
use passepartout::domain::context::{Audience, Request, assemble};
use passepartout::domain::label::Privacy;
use passepartout::domain::memory::Memory;
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::operation::Why;
use passepartout::domain::memory::shape::Shape;
use passepartout::domain::memory::store::{Commit, Store};
use passepartout::domain::memory::view::View;
use passepartout::domain::org::property::Inheritance;
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::port::CountTokens;
use passepartout::domain::query::parse::parse;
use passepartout::domain::query::run::{World, answer};
use passepartout::edge::full_text::folder::{Folder, reading};
use passepartout::edge::store::DiskStore;
use passepartout::edge::tokens::Tokens;
use std::path::Path;
use std::sync::Arc;

/// Files that are stored at once.
const STORED: usize = 200;

fn main() {
    if std::env::args().any(|argument| argument == "near") {
        return near::print();
    }
    let asked: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![10_000, 100_000, 1_000_000] } else { asked };
    let contexts: Vec<(usize, f64)> = sizes.into_iter().map(|headings| (headings, measure(headings))).collect();
    for ((fewer, quick), (more, slow)) in contexts.iter().zip(contexts.iter().skip(1)) {
        let grown = format!("headings × {}, time × {:.1}", more / fewer, slow / quick);
        report::row(&format!("context of 4,000 tokens, growth to {more} headings"), "less than headings", &grown);
    }
}

fn document(number: usize, text: String) -> Document {
    let outline = scan(text.into(), &ScanOptions::default()).unwrap();
    Document::build(format!("/memex/{number}.org"), outline, &PrivacyOptions::default())
}

fn measure(headings: usize) -> f64 {
    let cache = tempfile::tempdir().unwrap();
    let folder = Folder::open(cache.path(), Path::new("bench"), reading(&ScanOptions::default())).unwrap();
    let before = resident();
    let (mut spent, mut bytes) = (0.0, 0);
    let mut index = Index::default();
    let mut builder = Builder::default();
    let (mut store, mut memory) = opened(cache.path());
    let mut unsaved = Vec::with_capacity(STORED);
    let files = headings.div_ceil(synthetic::HEADINGS_A_FILE);
    for number in 0..files {
        let text = synthetic::file(number);
        bytes += text.len();
        let document = Arc::new(document(number, text));
        unsaved.push(document.clone());
        if unsaved.len() >= STORED || number + 1 == files {
            save(&mut store, &mut memory, std::mem::take(&mut unsaved));
        }
        let begun = now();
        builder.add(&document);
        if builder.size() >= BATCH {
            index = index.including(folder.keep(&builder.cut()).unwrap());
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
    let of = format!("{headings} headings");
    let rate = bytes as f64 / 1e6 / spent;
    report::rated(&format!("full text: filling, {of}"), "20 MB/s", &format!("{rate:.1} MB/s"), Some(rate));
    let (resident, heap) = (resident().saturating_sub(before) as f64 / 1e6, index.heap_bytes() as f64 / 1e6);
    let segments = index.segments().count();
    println!(
        "  {} B a heading on disk in {segments} segments; {resident:.0} MB resident; {heap:.1} MB of heads",
        disk / headings as u64
    );
    said("full text: words alone", &of, middle, late);
    drop((store, memory));
    as_tools_do(cache.path(), &folder, &index, &of, files, &questions)
}

/// Prints a row about one of the lists of questions.
fn said(what: &str, of: &str, middle: f64, late: f64) {
    report::row(&format!("{what}, 200 questions, {of}"), "p99 50 ms", &format!("p50 {middle:.2}, p99 {late:.2} ms"));
}

fn opened(folder: &Path) -> (DiskStore, Memory) {
    let mut store = DiskStore::open(&folder.join("store")).unwrap();
    let view = store.load_cards(&Shape::default(), &|| Ok(())).unwrap().view;
    (store, Memory::restore(view, Vec::new()))
}

fn save(store: &mut DiskStore, memory: &mut Memory, documents: Vec<Arc<Document>>) {
    let mut change = memory.begin();
    documents.into_iter().for_each(|document| change.put(document));
    let (cause, origin, note) = ("read".to_string(), "bench".to_string(), String::new());
    change.finish(Why { cause, origin, at: jiff::Timestamp::UNIX_EPOCH, note }).publish(memory).unwrap();
    let steps = [(memory.last().unwrap().clone(), memory.head().clone())];
    store.commit(&Commit { steps: &steps, ..Commit::default() }).unwrap();
}

fn joined(folder: &Folder, mut index: Index) -> Index {
    while let Some(crowd) = index.crowd(usize::MAX) {
        index = index.joined(&crowd, folder.join(&crowd).unwrap());
    }
    index
}

/// Asks as tools, the query language and contexts do, of a memory that was just opened, its texts on disk; changes
/// files; opens everything anew. Returns the median of a context in milliseconds.
fn as_tools_do(cache: &Path, folder: &Folder, index: &Index, of: &str, files: usize, questions: &[String]) -> f64 {
    let (_store, memory) = opened(cache);
    let view = memory.head();
    let ask = |question: &String| search(view, index, question, 10, Privacy::Private).len();
    let (middle, late) = times(questions, ask);
    said("full text: with kindred words and neighbours", of, middle, late);
    let date = jiff::civil::date(2026, 3, 14).at(9, 26, 0, 0);
    let local = |_| date;
    let inheritance = Inheritance::default();
    let world = World { view, index, now: date, local: &local, clearance: Privacy::Private, inheritance: &inheritance };
    let ask = |question: &String| answer(&parse(question).unwrap(), &world, 10).hits.len();
    let (middle, late) = times(questions, ask);
    said("query language: parse, run, ten snippets", of, middle, late);
    let context = contexts(view, index, of, date, questions);
    let mut edited = index.clone();
    let changed: Vec<Arc<Document>> = (0..files.min(300))
        .map(|number| Arc::new(document(number * 7 % files, synthetic::file(number).replace(" ba", " bb"))))
        .collect();
    let (middle, late) = times(&changed, |document| {
        edited = edited.with(document);
        edited.len()
    });
    println!("  a file of 50 kB changed: p50 {middle:.2}, p99 {late:.2} ms");
    let begun = now();
    let found = folder.load(view);
    let (loaded, missing) = found.index.compared(view);
    assert_eq!((loaded.len(), missing.len(), found.damaged), (index.len(), 0, 0));
    println!("  opened in {:.1} ms", (now() - begun) * 1e3);
    context
}

/// Assembles contexts for questions: alone, asking for a time, and with a focus; and for a focus alone. Returns the
/// median for a question alone.
fn contexts(view: &View, index: &Index, of: &str, now: DateTime, questions: &[String]) -> f64 {
    let tokens = Tokens::new();
    // A program that runs has its vocabulary; loading it is not what a question costs.
    tokens.count("ready");
    let request = Request {
        focus: None,
        query: None,
        max_tokens: 4_000,
        audience: Audience::Local,
        now,
        deadline_minutes: 60,
        project_tag: "project",
        changed: &[],
        apart: false,
        explained: false,
        pinned: &[],
        unpinned: &[],
        quoting: None,
        nearness: None,
        most_at_point: usize::MAX,
        near_cosine: passepartout::domain::context::rank::NEAR_COSINE,
    };
    let promised = match view.headings() {
        ..50_000 => "p99 5 ms",
        50_000..500_000 => "p99 15 ms",
        500_000.. => "p99 80 ms",
    };
    let timed: Vec<String> = questions.iter().map(|question| format!("When was {question}?")).collect();
    let files = view.len();
    let focus =
        |at: usize| view.node(&format!("/memex/{}.org", at * 7 % files), 1 + at % 50).map(|node| node.id().clone());
    let asked: Vec<(usize, &String)> = questions.iter().enumerate().collect();
    let row = |what: &str, (middle, late): (f64, f64)| {
        let measured = format!("p50 {middle:.1}, p99 {late:.1} ms");
        report::row(&format!("context of 4,000 tokens{what}, {of}"), promised, &measured);
        middle
    };
    let ask = |request: Request<'_>| assemble(view, index, &request, &tokens).tokens;
    // Words and texts that a question brings for the first time are part of what it costs: nothing is warmed up.
    let alone = row("", times(questions, |query| ask(Request { query: Some(query), ..request.clone() })));
    row(", of a time", times(&timed, |query| ask(Request { query: Some(query), ..request.clone() })));
    row(
        " with a focus",
        times(&asked, |(at, query)| ask(Request { query: Some(query), focus: focus(*at).as_ref(), ..request.clone() })),
    );
    row(" of a focus alone", times(&asked, |(at, _)| ask(Request { focus: focus(*at).as_ref(), ..request.clone() })));
    alone
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
