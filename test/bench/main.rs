//! What the domain costs, in this run and against a yardstick of the same run: `cargo bench`.
//!
//! Times of a shared machine vary; the ratios to the yardsticks, printed at the end, vary less.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod flood;
mod ledger;
mod ratios;
mod report;
mod scale;
mod skills;
mod spawn;
mod speed;
mod tui;
mod turns;
mod vectors;
mod verdicts;
mod wire;
mod world;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use passepartout::domain::gate::clearance::ask_all;
use passepartout::domain::gate::{Case, secret};
use passepartout::domain::inert::Inert;
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::recall::grammar;
use passepartout::domain::sexp::reader::Sexp;
use passepartout::domain::signal::Sensor;
use passepartout::domain::tool::Toolbox;
use passepartout::edge::survey::read_shell;
use std::sync::Arc;
use world::World;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if scale::run(&arguments) {
        return;
    }
    // `cargo bench -- speed` prints the rows about reading alone, `corpus` those about the corpus, `verdicts` those
    // about the time of a verdict, `spawn` those about starting commands, `vectors` those about vectors, `ledger` those
    // about the ledger, `skills` those about skills, `turns` those about what a turn waits for before a model is asked, and
    // `flood` those about connections that say nothing, and `wire` those about the codec and clients under load.
    match arguments.iter().find(|argument| !argument.starts_with('-')).map(String::as_str) {
        Some("speed") => return speed::print(),
        Some("tui") => return tui::print(),
        Some("corpus") => return speed::corpus(),
        Some("verdicts") => return verdicts::print(&World::get()),
        Some("spawn") => return spawn::print(),
        Some("vectors") => return vectors::print(),
        Some("ledger") => return ledger::print(),
        Some("skills") => return skills::print(),
        Some("turns") => return turns::print(),
        Some("flood") => return flood::print(),
        Some("wire") => return wire::print(),
        Some(_) | None => divan::main(),
    }
    // With a filter somebody looks for one figure; the ratios measure everything again.
    if !std::env::args().skip(1).any(|argument| !argument.starts_with('-')) {
        ratios::print(&World::get());
        speed::print();
        tui::print();
        verdicts::print(&World::get());
        spawn::print();
        vectors::print();
        ledger::print();
        skills::print();
        turns::print();
        flood::print();
        wire::print();
        // By themselves they are asked for with `scale`, because they take minutes.
        if report::collected() {
            scale::run(&["scale".to_string()]);
        }
    }
}

mod yardstick {
    use super::*;

    /// How fast memory can be hashed at all.
    #[divan::bench]
    fn blake3(bencher: Bencher) {
        let text = World::get().text.clone();
        bencher.counter(BytesCount::of_str(&text)).bench(|| ::blake3::hash(black_box(text.as_bytes())));
    }

    /// How fast lines can be found at all.
    #[divan::bench]
    fn memchr_lines(bencher: Bencher) {
        let text = World::get().text.clone();
        bencher
            .counter(BytesCount::of_str(&text))
            .bench(|| ::memchr::memchr_iter(b'\n', black_box(text.as_bytes())).count());
    }
}

mod org {
    use super::*;

    #[divan::bench]
    fn scan_one_large_file(bencher: Bencher) {
        let text = World::get().text.clone();
        bencher.counter(BytesCount::of_str(&text)).bench(|| scan(black_box(text.clone()), &ScanOptions::default()));
    }

    #[divan::bench]
    fn scan_and_hash(bencher: Bencher) {
        let text = World::get().text.clone();
        bencher.counter(BytesCount::of_str(&text)).bench(|| {
            let outline = scan(black_box(text.clone()), &ScanOptions::default()).unwrap();
            Document::build("a.org", outline, &PrivacyOptions::default()).root()
        });
    }
}

mod memory {
    use super::*;

    #[divan::bench(sample_count = 10)]
    fn ingest_from_disk(bencher: Bencher) {
        let world = World::get();
        bencher.counter(BytesCount::new(world.bytes)).bench(|| world.ingest());
    }

    /// One character typed into a file of a hundred headings: scan, rebuild, put, index.
    #[divan::bench]
    fn one_edit(bencher: Bencher) {
        let world = World::get();
        let edited = world.edited_file();
        bencher.bench(|| world.edit(black_box(&edited)));
    }

    /// The same in one file that holds all headings.
    #[divan::bench(sample_count = 20)]
    fn one_edit_in_one_large_file(bencher: Bencher) {
        let world = World::get();
        let previous = world.large_document();
        let edited: Arc<str> = world.text.replacen("Some words", "Some word", 1).into();
        bencher.bench(|| {
            let outline = scan(black_box(edited.clone()), &ScanOptions::default()).unwrap();
            Document::rebuild(&previous, outline, &PrivacyOptions::default()).root()
        });
    }
}

mod context {
    use super::*;

    #[divan::bench(args = ["", "harbour quotes for the crane", "when is the boat due"], sample_count = 30)]
    fn assemble_at_10_000_headings(bencher: Bencher, query: &str) {
        let world = World::get();
        let query = Some(query).filter(|query| !query.is_empty());
        bencher.bench(|| world.context(black_box(query)));
    }

    #[divan::bench(sample_count = 5)]
    fn index_10_000_headings(bencher: Bencher) {
        let world = World::get();
        bencher.bench(|| world.index());
    }
}

mod gates {
    use super::*;

    const COMMANDS: &[&str] = &[
        "ls -la",
        "git log --oneline -5 | head",
        "for f in *.org; do sed -n '1,5p' \"$f\" && rm -- \"$f\"; done",
        "find . -name '*.x' -print0 | xargs -0 -I{} sh -c 'rm {}'",
    ];

    #[divan::bench(args = COMMANDS)]
    fn read_a_command(bencher: Bencher, command: &str) {
        let world = World::get();
        bencher.bench(|| read_shell(black_box(command), &world.scope));
    }

    #[divan::bench(args = COMMANDS)]
    fn judge_a_command(bencher: Bencher, command: &str) {
        let world = World::get();
        let action = world.action("shell", "command", command);
        let facts = world.survey.look(&action, &world.scope);
        let tool = Toolbox::builtin().get("shell").unwrap();
        bencher.bench(|| {
            let set_off = Sensor::UserInput;
            ask_all(
                &world.gates,
                black_box(&Case { action: &action, tool, scope: &world.scope, facts: &facts, set_off }),
            )
        });
    }

    #[divan::bench]
    fn survey_and_judge_a_write(bencher: Bencher) {
        let world = World::get();
        let action = world.write(&world::prose(64 * 1024));
        bencher.counter(ItemsCount::new(1_usize)).bench(|| world.judge(black_box(&action)));
    }

    #[divan::bench]
    fn look_for_secrets(bencher: Bencher) {
        let text = world::prose(1 << 20);
        bencher.counter(BytesCount::of_str(&text)).bench(|| secret::scan(black_box(&text)));
    }
}

mod text {
    use super::*;

    /// A model's answer in pieces of 20 bytes.
    #[divan::bench]
    fn inert_stream(bencher: Bencher) {
        let text = world::prose(1 << 20);
        bencher.counter(BytesCount::of_str(&text)).bench(|| {
            let mut stream = Inert::default();
            let mut bytes = 0;
            for piece in text.as_bytes().chunks(20) {
                bytes += stream.push(std::str::from_utf8(piece).unwrap()).len();
            }
            bytes + stream.finish().len()
        });
    }

    #[divan::bench]
    fn read_a_message(bencher: Bencher) {
        let message = Sexp::list([Sexp::keyword("text"), Sexp::text(world::prose(64 * 1024))]).to_string();
        bencher.counter(BytesCount::of_str(&message)).bench(|| Sexp::read(black_box(&message)).unwrap());
    }

    #[divan::bench(args = ["what is due this week", "add a todo “Call Ida” under Boat for tomorrow at 10:00"])]
    fn recall_grammar(bencher: Bencher, typed: &str) {
        bencher.bench(|| grammar::parse(black_box(typed), world::now()));
    }
}
