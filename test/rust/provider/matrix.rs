//! What surrounds a fault: privacy, several models, a cap and a stop, under each fault of each protocol.

use super::whole_turn::{CASES, Case, Comes, ELSEWHERE, NEXT, hasty, set_up_at, turn_of};
use super::*;
use crate::support::engine::{Home, ask as words};
use crate::support::soak::survived;
use passepartout::domain::money::totals::Grouping;
use passepartout::domain::money::{Call, Cost, Micros};
use passepartout::domain::turn::Ending;
use passepartout::edge::clock::Clock;
use passepartout::edge::config::{Config, Surroundings};
use passepartout::edge::engine::Engine;
use std::sync::atomic::{AtomicUsize, Ordering};

const NOTES: &str = "* The boiler\nIt is old.\n* Health :private:\nZANZIBAR7 is the diagnosis.\n";
/// What one answer may cost under these prices, and not two.
const PRICES: &str = "| provider | model | from | in | cached | out |\n\
    | fake | m | 2026-01-01 | 3 | 0.30 | 15 |\n| next | m | 2026-01-01 | 3 | 0.30 | 15 |\n";
const CAP: (&str, Micros) = ("0.11", Micros(110_000));
/// Nobody waits longer for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whom the engine under test asks, and how long it waits.
struct World {
    home: Home,
    engine: Arc<Engine>,
    dialect: Dialect,
}

impl World {
    async fn new(dialect: Dialect, silent: bool, set: impl FnOnce(&mut Config)) -> World {
        let home = Home::new(&[("house.org", NOTES)]);
        let folder = home.config().settings;
        std::fs::create_dir_all(&folder).expect("the settings' folder");
        std::fs::write(folder.join("prices.org"), PRICES).expect("it is written");
        let engine = home
            .engine_with(|config| {
                hasty(config, if silent { 1 } else { 40 });
                set(config);
            })
            .await;
        home.read(&engine).await;
        World { home, engine, dialect }
    }

    /// Sets servers up, those that are not here as if the user had confirmed them.
    async fn provide(&self, servers: &[(&str, &FakeServer, bool)]) {
        let with_kind: Vec<_> =
            servers.iter().map(|(name, server, local)| (*name, self.dialect, *server, *local)).collect();
        set_up_at(&self.engine, &with_kind);
        let below = match self.dialect {
            Dialect::OpenAi | Dialect::Anthropic => "/v1/",
            Dialect::Gemini => "/v1beta/",
            Dialect::Ollama => "/",
        };
        for (name, server, _) in servers.iter().filter(|(.., local)| !local) {
            let place = format!("{}{below}", server.url());
            self.engine.confirm_provider(name, &place).await.expect("it is stored");
        }
    }

    fn look_at(&self, word: &str) {
        let byte = NOTES.find(word).expect("it is there");
        self.engine.focus_at(&self.home.file("house.org"), byte).expect("a heading");
    }

    fn next(&self) -> FakeServer {
        FakeServer::start([Script::answer(self.dialect, &[NEXT], &[])])
    }

    /// A day later nothing of today's money and failures counts.
    fn tomorrow(&self) {
        self.home.clock.advance(24);
    }

    /// Returns the calls that were written down since there were so many, the latest first.
    async fn calls_since(&self, before: usize) -> Vec<Call> {
        let mut calls = self.engine.calls(10_000).await.expect("the ledger");
        calls.truncate(calls.len() - before);
        calls
    }
}

/// Who answered, where something did.
fn by(finished: &passepartout::edge::engine::record::Finished) -> Option<&str> {
    finished.report.answered_by.as_ref().map(|(provider, _)| provider.as_str())
}

/// A private heading at point: whatever goes wrong here, nobody elsewhere is asked.
async fn privately(world: &World, case: &Case, at: &str) {
    let (far, near) = (world.next(), FakeServer::start((case.script)(world.dialect)));
    world.provide(&[("far", &far, false), ("fake", &near, true)]).await;
    world.look_at("* Health");
    let (done, _) = turn_of(&world.home, &world.engine, "What about the boiler?", at).await;
    let notice = done.report.notice.clone().unwrap_or_default();
    match case.comes {
        Comes::Text(_) => {
            assert_eq!((done.report.ending, by(&done)), (Ending::Answered, Some("fake")), "{at}: {notice}")
        }
        Comes::Words(words) => {
            assert_eq!(done.report.ending, Ending::Failed, "{at}");
            // First it is the heading, then the conversation that is private.
            assert!(notice.contains(words) && notice.contains("far: not asked: the "), "{at}: {notice}");
        }
    }
    assert_eq!(far.connections(), 0, "{at}: what is private stays here");
    world.look_at("* The boiler");
}

/// Three are asked at once, and the first fails: the others decide.
async fn together(world: &World, case: &Case, at: &str) {
    let (fault, two, three) = (FakeServer::start((case.script)(world.dialect)), world.next(), world.next());
    world.provide(&[("fake", &fault, true), ("two", &two, true), ("three", &three, true)]).await;
    let before = world.engine.calls(10_000).await.expect("the ledger").len();
    let (done, streamed) = turn_of(&world.home, &world.engine, "/consensus 3 What about the boiler?", at).await;
    let notice = done.report.notice.clone().unwrap_or_default();
    assert_eq!((done.report.ending, by(&done)), (Ending::Answered, Some("two")), "{at}: {notice}");
    assert_eq!(streamed, NEXT, "{at}: nothing of the one that failed is shown");
    let ballot = &done.report.rounds[0].ballots[0];
    assert_eq!(ballot.kind, "none", "{at}: {ballot:?}");
    assert!(notice.contains("fake"), "{at}: {notice}");
    assert_eq!(world.calls_since(before).await.len(), 3, "{at}: each call is written down once");
}

/// A cap with room for one answer: what is paid by then, or may have to be, keeps a second from being asked.
async fn under_a_cap(world: &World, case: &Case, at: &str) {
    world.tomorrow();
    let (fault, next) = (FakeServer::start((case.script)(world.dialect)), world.next());
    world.provide(&[("fake", &fault, false), ("next", &next, false)]).await;
    let before = world.engine.calls(10_000).await.expect("the ledger").len();
    let (done, _) = turn_of(&world.home, &world.engine, "What about the boiler?", at).await;
    let notice = done.report.notice.clone().unwrap_or_default();
    let calls = world.calls_since(before).await;
    assert!(calls.iter().all(|call| matches!(call.cost, Cost::Known(_) | Cost::Guessed(_))), "{at}: {calls:?}");
    match case.comes {
        Comes::Text(_) => {
            assert_eq!((done.report.ending, next.connections()), (Ending::Answered, 0), "{at}: {notice}");
            let attempts: u32 = calls.iter().map(|call| call.attempts).sum();
            assert_eq!(attempts as usize, fault.requests().len(), "{at}: each is written down once: {calls:?}");
        }
        Comes::Words(_) => {
            let first = calls.last().expect("it is written down");
            let free = first.cost == Cost::Known(Micros(0));
            let expected = if free { (Ending::Answered, 1, 2) } else { (Ending::Failed, 0, 1) };
            assert_eq!((done.report.ending, next.connections(), calls.len()), expected, "{at}: {notice} {calls:?}");
            assert!(free || notice.contains("DAY_BUDGET_USD"), "{at}: {notice}");
        }
    }
    let day = world.home.clock.wall().date();
    let costs = world.engine.costs(Grouping::Day, Some(day)).await.expect("it is read");
    assert!(costs.all.cost <= CAP.1, "{at}: {}", costs.all.cost);
}

/// Stopped as soon as it was asked: the connection closes, what was begun is written down, and the next turn is answered.
async fn stopped(world: &World, case: &Case, at: &str) {
    let server = Arc::new(FakeServer::start((case.script)(world.dialect)));
    world.provide(&[("fake", &server, true)]).await;
    let before = world.engine.calls(10_000).await.expect("the ledger").len();
    {
        let mut sink = |_: Streamed<'_>| {};
        let turn = world.engine.ask(words("What about the boiler?"), world.engine.new_turn(), &mut sink);
        let come = async {
            while server.requests().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = come => {}
            _ = turn => {}
        }
    }
    if case.blocks {
        let gone = server.clone();
        let gone = tokio::task::spawn_blocking(move || gone.wait_gone(1)).await.expect("it is seen");
        assert!(gone, "{at}: the connection is still open");
    }
    let written = async {
        while world.calls_since(before).await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, written).await.unwrap_or_else(|_| panic!("{at}: it is not written down"));
    let asked = server.requests().len();
    let next = world.next();
    world.provide(&[("fake", &next, true)]).await;
    let (done, _) = turn_of(&world.home, &world.engine, "And now?", at).await;
    assert_eq!((done.report.ending, done.report.text.as_str()), (Ending::Answered, NEXT), "{at}");
    let calls = world.calls_since(before).await;
    let of_next = calls.iter().filter(|call| call.status == "answered").count();
    assert!(of_next >= 1 && calls.len() <= asked + 1, "{at}: each call is written down once: {calls:?}");
    assert_eq!(server.requests().len(), asked, "{at}: who stops it asks nobody again");
}

/// Runs what `surround` does with each case of each protocol; returns how many there were.
fn each(
    set: impl Fn(&mut Config) + Sync,
    wanted: impl Fn(&Case) -> bool + Sync,
    surround: impl AsyncFn(&World, &Case, &str) + Sync,
) -> usize {
    let count = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for dialect in DIALECTS {
            let (count, set, wanted, surround) = (&count, &set, &wanted, &surround);
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
                runtime.expect("a runtime starts").block_on(async {
                    for silent in [false, true] {
                        let world = World::new(dialect, silent, set).await;
                        // What takes long because it is large is tried with nothing around it.
                        let small = |case: &&Case| !case.name.starts_with("50 MB");
                        for case in CASES.iter().filter(|case| case.silent == silent && wanted(case)).filter(small) {
                            surround(&world, case, &format!("{dialect:?}, {}", case.name)).await;
                            count.fetch_add(1, Ordering::Relaxed);
                        }
                        world.engine.close().await;
                    }
                });
            });
        }
    });
    assert_eq!(ELSEWHERE.connections(), 0, "a redirect leads nobody there");
    count.into_inner()
}

#[test]
fn what_is_private_stays_here_under_every_fault_of_every_protocol() {
    let count = each(|_| {}, |_| true, privately);
    survived(format!("{count} turns about a private heading, the local model at fault: nobody elsewhere was asked"));
}

#[test]
fn three_models_are_not_held_up_by_any_fault_of_one() {
    let count = each(|_| {}, |case| matches!(case.comes, Comes::Words(_)), together);
    survived(format!("{count} turns of three models in four protocols with one at fault"));
}

#[test]
fn a_cap_holds_under_every_fault_of_every_protocol() {
    let caps = |config: &mut Config| {
        let variables = [("DAY_BUDGET_USD".to_string(), CAP.0.to_string())].into();
        config.caps = Config::read(&Surroundings { variables }).caps;
    };
    let count = each(caps, |_| true, under_a_cap);
    survived(format!("{count} turns under a cap with room for one answer, the first provider at fault"));
}

#[test]
fn a_stop_is_a_stop_under_every_fault_of_every_protocol() {
    let count = each(|_| {}, |_| true, stopped);
    survived(format!("{count} turns that were stopped as soon as they had asked, and one after each"));
}
