//! How memory grows: 10⁴, 10⁵ and 10⁶ headings of 1 kB, each size in processes of its own, because what counts is
//! what they take in all. `cargo bench -- scale` prints the rows; `cargo bench -- scale=10000` those of one size.

use crate::report;
use passepartout::domain::context::lexical::Index;
use passepartout::domain::id::NodeId;
use passepartout::domain::label::Privacy;
use passepartout::domain::memory::Memory;
use passepartout::domain::memory::card::Planning;
use passepartout::domain::memory::document::Document;
use passepartout::domain::memory::operation::Why;
use passepartout::domain::memory::query::{self, Key};
use passepartout::domain::memory::shape::Shape;
use passepartout::domain::memory::store::{Commit, Store};
use passepartout::domain::memory::view::View;
use passepartout::domain::org::property::Inheritance;
use passepartout::domain::query::parse::parse;
use passepartout::domain::query::run::{World, answer};
use passepartout::edge::clock::SystemClock;
use passepartout::edge::config::{Config, Surroundings};
use passepartout::edge::editor::NoEditor;
use passepartout::edge::engine::boot::{Boot, Keep, start};
use passepartout::edge::secret::Vault;
use passepartout::edge::store::DiskStore;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Headings, and the files that they stand in.
const SIZES: [(usize, usize); 3] = [(10_000, 2_000), (100_000, 20_000), (1_000_000, 20_000)];
/// Files that are stored at once.
const BATCH: usize = 500;
const ROUNDS: usize = 2_000;

/// Runs what an argument asks for; returns whether one did.
pub fn run(arguments: &[String]) -> bool {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let sizes: Vec<(usize, usize)> = match words.iter().find_map(|word| word.strip_prefix("scale")) {
        None => return false,
        Some("") => SIZES.to_vec(),
        Some(size) => SIZES.into_iter().filter(|(headings, _)| size == format!("={headings}")).collect(),
    };
    match words.iter().find_map(|word| word.strip_prefix("child=")).and_then(|child| child.split_once(',')) {
        None => sizes.into_iter().for_each(|(headings, files)| parent(headings, files)),
        Some((part, folder)) => {
            for (headings, files) in sizes {
                match part {
                    "fill" => fill(Path::new(folder), headings, files),
                    "index" => index(Path::new(folder), headings, files),
                    _ => measure(Path::new(folder), headings, files),
                }
            }
        }
    }
    true
}

fn parent(headings: usize, files: usize) {
    let folder = tempfile::tempdir().unwrap();
    println!("\n{headings} headings of 1 kB in {files} files");
    for part in ["fill", "measure", "index"] {
        let child = format!("child={part},{}", folder.path().display());
        let size = format!("scale={headings}");
        let status = Command::new(std::env::current_exe().unwrap()).args([size, child]).status().unwrap();
        assert!(status.success());
    }
}

fn name(file: usize) -> Arc<str> {
    format!("/home/user/memex/folder-{:02}/file-{file:05}.org", file % 40).into()
}

/// One file; every word of it depends on its number.
fn text(file: usize, headings: usize) -> String {
    let nouns = ["harbour", "crane", "boat", "timber", "quotes", "garden", "lighthouse", "choir", "engine", "letter"];
    let mut text = format!("#+TITLE: File {file}\n");
    for n in 0..headings {
        let at = file * 1009 + n;
        let noun = |step: usize| nouns[(at * step + n) % nouns.len()];
        let begin = text.len();
        let stars = if n % 5 == 0 { "*" } else { "**" };
        let todo = ["TODO ", "", "", "DONE ", "", ""][at % 6];
        let rare = if at.is_multiple_of(5003) { ":rare" } else { "" };
        text.push_str(&format!("{stars} {todo}The {} of the {} {at}  :{}{rare}:\n", noun(1), noun(3), noun(7)));
        if at.is_multiple_of(5) {
            let (month, day) = (1 + at % 12, 1 + at / 5 % 28);
            text.push_str(&format!("SCHEDULED: <{}-{month:02}-{day:02} Mon>\n", 2020 + at % 8));
        }
        text.push_str(&format!(
            ":PROPERTIES:\n:ID: {at:08x}-0000-4000-8000-{at:012x}\n:CREATED: [2026-01-01 Thu]\n:END:\n"
        ));
        if n % 3 == 0 {
            let other = at / 3;
            text.push_str(&format!("See [[id:{other:08x}-0000-4000-8000-{other:012x}][that one]].\n"));
        }
        while text.len() - begin < 950 {
            text.push_str(&format!("Some words about the {} and the {}, number {}.\n", noun(2), noun(9), text.len()));
        }
    }
    text
}

fn document(file: usize, headings: usize, shape: &Shape) -> Arc<Document> {
    let modified = jiff::Timestamp::from_second(1_700_000_000 + file as i64 * 60).ok();
    Arc::new(shape.build(&name(file), text(file, headings).into()).unwrap().changed_at(modified))
}

fn step(memory: &mut Memory, documents: Vec<Arc<Document>>) {
    let mut change = memory.begin();
    documents.into_iter().for_each(|document| change.put(document));
    let (cause, origin, note) = ("read".to_string(), "bench".to_string(), String::new());
    change.finish(Why { cause, origin, at: jiff::Timestamp::UNIX_EPOCH, note }).publish(memory).unwrap();
}

fn fill(folder: &Path, headings: usize, files: usize) {
    let begun = Instant::now();
    let shape = Shape::default();
    let mut store = DiskStore::open(folder).unwrap();
    let mut memory = Memory::restore(store.load_cards(&shape, &|| Ok(())).unwrap().view, Vec::new());
    let mut bytes = 0;
    for batch in (0..files).step_by(BATCH) {
        let some = |file| document(file, headings / files, &shape);
        let documents: Vec<_> = (batch..files.min(batch + BATCH)).map(some).collect();
        bytes += documents.iter().map(|document| document.outline.text.len()).sum::<usize>();
        step(&mut memory, documents);
        let steps = [(memory.last().unwrap().clone(), memory.head().clone())];
        store.commit(&Commit { steps: &steps, ..Commit::default() }).unwrap();
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("  stored           {:>9.1} MB of text in {seconds:.1} s", bytes as f64 / 1e6);
    let of = format!("{headings} headings in {files} files");
    let promised = if headings >= 1_000_000 { "1 GB" } else { "" };
    report::row(&format!("peak while texts are stored, {of}"), promised, &format!("{:.0} MB", status("VmHWM:")));
}

/// Fills the full-text index as the first start after a reading does: texts come from the store, on all threads that it
/// takes, while the engine runs.
fn index(folder: &Path, headings: usize, files: usize) {
    let place = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let names = ["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"];
    let variables = names.map(|name| (name.to_string(), place(name))).into();
    let mut config = Config::read(&Surroundings { variables });
    config.store = folder.to_path_buf();
    config.directories = vec!["/home/user/memex".into()];
    let (editor, clock) = (Arc::new(NoEditor), Arc::new(SystemClock));
    let boot = Boot { config, vault: Vault::empty(), editor, clock, notify: Arc::new(|_| {}), keep: Keep::OnDiskOnly };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let begun = Instant::now();
    let engine = runtime.block_on(start(boot)).unwrap();
    engine.wait_until_filled();
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(engine.filling(), None);
    let view = engine.view();
    assert_eq!((view.len(), engine.index().len()), (files, headings + files));
    let bytes: u64 = view.cards().map(|card| u64::from(card.end(0))).sum();
    let (rate, of) = (bytes as f64 / 1e6 / seconds, format!("{headings} headings in {files} files"));
    let name = format!("full text: filled by the engine, {of}");
    report::rated(&name, "20 MB/s", &format!("{rate:.1} MB/s, with the start"), Some(rate));
    let promised = if headings >= 1_000_000 { "1 GB" } else { "" };
    report::row(&format!("peak while so, {of}"), promised, &format!("{:.0} MB resident", status("VmHWM:")));
}

fn measure(folder: &Path, headings: usize, files: usize) {
    let shape = Shape::default();
    let begun = Instant::now();
    let mut store = DiskStore::open(folder).unwrap();
    let view = store.load_cards(&shape, &|| Ok(())).unwrap().view;
    black_box(query::open(&view).take(100).count());
    let start = begun.elapsed();
    assert_eq!(view.headings(), headings / files * files);
    let of = format!("{headings} headings in {files} files");
    let start = format!("{:.0} ms", start.as_secs_f64() * 1e3);
    report::row(&format!("start to the first query, {of}"), if files >= 20_000 { "1 s" } else { "" }, &start);
    let cards: usize = view.cards().map(|card| card.heap_bytes()).sum();
    let resident = status("VmRSS:");
    let (each, promised) = (resident * 1e6 / headings as f64, if headings >= 1_000_000 { "1 GB" } else { "" });
    report::row(&format!("resident, {of}"), promised, &format!("{resident:.0} MB, {each:.0} B a heading"));
    println!("  cards            {:>9.1} MB, {:.0} B a heading", cards as f64 / 1e6, cards as f64 / headings as f64);
    let late = queries(&view, headings);
    report::row(&format!("id, tag, keyword, planning …, {of}"), "p99 1 ms", &format!("worst p99 {late:.0} µs"));
    let late = questions(&view);
    report::row(&format!("query language, 50 of them, {of}"), "p99 1 ms", &format!("worst p99 {late:.0} µs"));
    let round = |n: usize| view.node(&name(n * 7919 % files), 1).unwrap().body().len();
    timed("text, cold", &mut |n| round(n));
    println!("  resident then    {:>9.1} MB", status("VmRSS:"));
    let late = updates(view, headings, files, &shape);
    let promised = if files >= 20_000 { "100 µs" } else { "" };
    report::row(&format!("snapshot and update, {of}"), promised, &late);
}

/// Returns the worst p99 in µs.
fn queries(view: &View, headings: usize) -> f64 {
    let mut late: f64 = 0.0;
    let mut timed = |name: &str, work: &mut dyn FnMut(usize) -> usize| late = late.max(timed(name, work).1);
    let place = |n: usize| {
        let at = n * 7919 % headings;
        // Numbers of headings are those of files times 1009.
        let per = headings / view.len();
        at / per * 1009 + at % per
    };
    timed("id", &mut |n| {
        let at = place(n);
        view.get(&NodeId::new(format!("{at:08x}-0000-4000-8000-{at:012x}"))).unwrap().index
    });
    timed("tag, first 100", &mut |_| query::tagged(view, "harbour").take(100).count());
    timed("rare tag, all", &mut |_| query::tagged(view, "rare").take(100).count());
    timed("keyword, first 100", &mut |_| query::with_keyword(view, "TODO").take(100).count());
    let day = |n: usize| jiff::civil::date(2020 + (n % 8) as i16, 1 + (n % 12) as i8, 1 + (n % 20) as i8);
    let week = |n: usize| (day(n), day(n).checked_add(jiff::Span::new().days(7)).unwrap());
    timed("planned in a week, 100", &mut |n| {
        query::planned(view, Planning::Scheduled, week(n).0, week(n).1).take(100).count()
    });
    timed("planned by day, 100", &mut |n| {
        query::planned_by_day(view, Planning::Scheduled, week(n).0, week(n).1).take(100).count()
    });
    timed("planned ever, 100", &mut |_| {
        query::planned(view, Planning::Scheduled, jiff::civil::Date::MIN, jiff::civil::Date::MAX).take(100).count()
    });
    timed("property, first 100", &mut |_| query::with_property(view, "CREATED", None).take(100).count());
    timed("backlinks", &mut |n| {
        let at = place(n);
        view.backlinks(&NodeId::new(format!("{at:08x}-0000-4000-8000-{at:012x}"))).len()
    });
    timed("count of a tag", &mut |_| query::count(view, &Key::Tag("harbour")));
    timed("count of a keyword", &mut |_| query::count(view, &Key::Keyword("TODO")));
    late
}

/// Asks ordinary questions in the query language; returns the worst p99 in µs.
fn questions(view: &View) -> f64 {
    let now = jiff::civil::date(2024, 3, 14).at(9, 26, 0, 0);
    let (index, inheritance) = (Index::default(), Inheritance::default());
    let clearance = Privacy::Private;
    let world = World { view, index: &index, now, local: &|_| now, clearance, inheritance: &inheritance };
    let asked = [
        "todo:TODO",
        "tag:harbour",
        "tag:rare",
        "todo:TODO tag:harbour sort:file",
        "todo:TODO scheduled:<+7d sort:scheduled",
        "tag:harbour scheduled:+7d sort:scheduled",
        "scheduled:today",
        "prop:CREATED level:1",
        "id:00000001-0000-4000-8000-000000000001",
        "backlinks:00000001-0000-4000-8000-000000000001",
    ];
    let late = asked.map(|text| {
        let ask = |_: usize| answer(&parse(text).unwrap(), &world, 50).hits.len();
        timed(text, &mut { ask }).1
    });
    late.into_iter().fold(0.0, f64::max)
}

fn updates(view: View, headings: usize, files: usize, shape: &Shape) -> String {
    let mut memory = Memory::restore(view, Vec::new());
    // Each file has another text in each round, so that each round changes something.
    let edited = |n: usize| {
        let file = n % 200 * 7919 % files;
        let words = format!("{}More, {n}.\n", text(file, headings / files).replacen("TODO", "DONE", 1 + n / 200 % 2));
        Arc::new(shape.build(&name(file), words.into()).unwrap())
    };
    let (middle, late) = timed_after("snapshot and update", &edited, &mut |document| {
        let before = memory.head().clone();
        step(&mut memory, vec![document]);
        usize::from(before.root() == memory.head().root())
    });
    format!("p50 {middle:.0}, p99 {late:.0} µs")
}

/// Prints the median and the 99th percentile of many rounds; returns them in µs.
fn timed(name: &str, work: &mut dyn FnMut(usize) -> usize) -> (f64, f64) {
    timed_after(name, &|n| n, work)
}

/// Does the same for work on what is made for each round, which is not timed.
fn timed_after<T>(name: &str, made: &dyn Fn(usize) -> T, work: &mut dyn FnMut(T) -> usize) -> (f64, f64) {
    let mut took: Vec<Duration> = Vec::with_capacity(ROUNDS);
    for n in 0..ROUNDS {
        let ready = made(n);
        let begun = Instant::now();
        black_box(work(ready));
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    let at = |part: usize| took[(ROUNDS * part / 100).min(ROUNDS - 1)].as_secs_f64() * 1e6;
    println!("  {name:<22} {:>9.1} µs p50 {:>9.1} µs p99", at(50), at(99));
    (at(50), at(99))
}

/// Returns a line of this process's status in MB; 0 where the system tells none.
fn status(field: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok()).map_or(0.0, |kb| kb * 1.024 / 1000.0)
}
