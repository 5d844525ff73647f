//! Many turns at once through one server: none is lost, none gets another's answer, and memory stays flat.

use super::*;
use crate::support::engine::{Home, ask_from, origin, provide};
use crate::support::heap;
use crate::support::soak::{asked, survived};
use passepartout::domain::id::SessionId;
use passepartout::domain::signal::Origin;
use passepartout::domain::turn::Ending;
use std::collections::BTreeSet;

/// So many turns run at once.
const AT_ONCE: usize = 200;

/// Returns the resident memory of this process in MB; `None` where the system does not tell.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    // Pages of files that are mapped are the disk's own, and go when they are needed.
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().split(' ').next()?.parse::<u64>().ok().map(|kilobytes| kilobytes / 1024)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_turns_at_once_lose_nothing_and_memory_stays_flat() {
    let rounds: usize = asked("LOAD_ROUNDS").unwrap_or(2);
    let home = Home::new(&[("house.org", "* The boiler\nIt is old.\n")]);
    let server = FakeServer::start([]);
    server.forget();
    let set = |config: &mut passepartout::edge::config::Config| {
        provide(config, &[("fake", &server, true)], &["fake"]);
        // Whether a busy machine is fast is not looked at here.
        (config.request_timeout, config.stall_timeout) = (300, 300);
    };
    let engine = home.engine_with(set).await;
    home.read(&engine).await;
    let mut first = None;
    for round in 0..rounds {
        let body = "It is old. ".repeat(200);
        for n in 0..AT_ONCE {
            let text = format!("{body}Answer {round}-{n}.");
            server.push(Script::answer(Dialect::OpenAi, &[text.as_str()], &[]).in_pieces(700));
        }
        let turns: Vec<_> = (0..AT_ONCE)
            .map(|n| {
                let engine = engine.clone();
                let from = Origin { session: SessionId(format!("s{n}")), ..origin() };
                tokio::spawn(async move {
                    let mut streamed = String::new();
                    let mut sink = |piece: Streamed<'_>| streamed.push_str(piece.text());
                    let done = engine.ask(ask_from(from, "Is the boiler old?"), engine.new_turn(), &mut sink).await;
                    assert_eq!((done.report.ending, &done.report.text), (Ending::Answered, &streamed));
                    streamed
                })
            })
            .collect();
        let mut answers = BTreeSet::new();
        for turn in turns {
            answers.insert(turn.await.expect("a turn ends"));
        }
        let expected: BTreeSet<String> = (0..AT_ONCE).map(|n| format!("{body}Answer {round}-{n}.")).collect();
        assert_eq!(answers, expected, "each answer reached one turn");
        engine.flush().await.expect("it is kept");
        // The first round fills what is kept for the next ones.
        first = first.or_else(heap::used);
    }
    assert_eq!(server.connections(), AT_ONCE * rounds);
    let (first, last) = (first.unwrap_or(0), heap::used().unwrap_or(0));
    // What a turn may leave behind in memory is half a kilobyte; the rest of the room is for caches that fill.
    let most = first + 8 + (AT_ONCE * rounds / 2_000) as u64 + heap::caches();
    assert!(last <= most, "from {first} MB behind the first round to {last} MB behind round {rounds}");
    let resident =
        resident().map_or(String::new(), |resident| format!("; {resident} MB with what the allocator keeps"));
    survived(format!("{} turns, {AT_ONCE} at once, from {first} to {last} MB in use{resident}", AT_ONCE * rounds));
}
