//! Ratios to yardsticks of the same run: what a busy or slow machine changes least.

use crate::world::{self, World};
use passepartout::domain::inert::Inert;
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::sexp::reader::Sexp;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rounds of each; the best counts.
const ROUNDS: usize = 9;

fn best<T>(work: &dyn Fn() -> T) -> Duration {
    (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            black_box(work());
            begun.elapsed()
        })
        .min()
        .unwrap_or_default()
}

/// Prints bytes a second, and how many times the yardstick's time each takes for the same bytes.
pub fn print(world: &World) {
    let text = &world.text;
    let prose = world::prose(text.len());
    let message = Sexp::list([Sexp::text(prose.as_str())]).to_string();
    let hash = best(&|| blake3::hash(text.as_bytes()));
    let lines = best(&|| memchr::memchr_iter(b'\n', text.as_bytes()).count());
    let scanned = || scan(text.clone(), &ScanOptions::default()).unwrap();
    let rows: Vec<(&str, Duration)> = vec![
        ("yardstick: blake3", hash),
        ("yardstick: memchr of line ends", lines),
        ("scan", best(&scanned)),
        ("scan and hash", best(&|| Document::build("a.org", scanned(), &PrivacyOptions::default()).root())),
        ("ingest from disk", best(&|| world.ingest())),
        ("index", best(&|| world.index())),
        ("inert stream", best(&|| Inert::default().push(&prose).len())),
        ("read a message", best(&|| Sexp::read(&message).unwrap())),
    ];
    println!("\nRatios over {:.1} MB, best of {ROUNDS}; 1.0 is the time that blake3 takes", text.len() as f64 / 1e6);
    println!("{:<32} {:>10} {:>9}", "", "MB/s", "× blake3");
    for (name, took) in rows {
        let rate = text.len() as f64 / 1e6 / took.as_secs_f64();
        println!("{name:<32} {rate:>10.1} {:>9.2}", took.as_secs_f64() / hash.as_secs_f64());
    }
}
