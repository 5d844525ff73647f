//! Each fault of each protocol through the whole turn: engine, cascade, HTTP and back, with nothing left hanging.

use super::*;
use crate::support::engine::{Home, ask as words};
use crate::support::soak::survived;
use passepartout::domain::sexp::reader::Sexp;
use passepartout::domain::turn::Ending;
use passepartout::edge::config::Config;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::record::Finished;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// Longer than any time-out of these engines: what takes so long hangs.
const HANGS: Duration = Duration::from_secs(120);
/// How often one provider is asked.
const TRIES: u32 = 3;
pub(super) const NEXT: &str = "From the next one.";

/// Where a redirect leads: nobody may come here.
pub(super) static ELSEWHERE: LazyLock<FakeServer> = LazyLock::new(|| FakeServer::start([]));

/// What must come of a turn.
pub(super) enum Comes {
    /// This answer.
    Text(&'static str),
    /// No answer, and these words to the user.
    Words(&'static str),
}
use Comes::{Text, Words};

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) script: fn(Dialect) -> Vec<Script>,
    pub(super) comes: Comes,
    /// It is waited for: the time-outs are short.
    pub(super) silent: bool,
    /// It goes on until somebody hangs up.
    pub(super) blocks: bool,
}

const fn case(name: &'static str, script: fn(Dialect) -> Vec<Script>, comes: Comes) -> Case {
    Case { name, script, comes, silent: false, blocks: false }
}

const fn silent(name: &'static str, script: fn(Dialect) -> Vec<Script>, comes: Comes) -> Case {
    Case { name, script, comes, silent: true, blocks: true }
}

fn searches() -> [(&'static str, &'static str, Value); 3] {
    let search = |query: &str| json!({"query": query, "explanation": "To find it."});
    [
        ("call_a", "memory-search", search("boiler")),
        ("call_b", "memory-search", search("Grüße 漢字")),
        ("call_c", "memory-search", search("x".repeat(500).as_str())),
    ]
}

pub(super) const CASES: &[Case] = &[
    case(
        "split in UTF-8",
        |d| vec![Script::answer(d, &["Grüß dich, ", "漢字 😀!"], &[]).in_pieces(1)],
        Text("Grüß dich, 漢字 😀!"),
    ),
    case("split in JSON", |d| vec![Script::answer(d, &["a \"b\" {c}\\"], &[]).in_pieces(7)], Text("a \"b\" {c}\\")),
    case(
        "parallel calls",
        |d| vec![Script::answer(d, &["Looking."], &searches()).in_pieces(13), Script::answer(d, &["Found."], &[])],
        Text("Found."),
    ),
    case(
        "thinking",
        |d| {
            vec![
                Script::thinking(d, &["Hm, ", "漢."], &[], &searches()),
                Script::thinking(d, &["So."], &["Found."], &[]),
            ]
        },
        Text("Found."),
    ),
    case(
        "a plist in text",
        |d| {
            vec![
                Script::answer(d, &["(:tool memory-search ", ":args (:query \"x\") :explanation \"y\")"], &[]),
                hello(d),
            ]
        },
        Text("Hello, world"),
    ),
    case(
        "a broken plist",
        |d| vec![Script::answer(d, &["(:tool memory-search :args (:query \"x"], &[]), hello(d)],
        Text("Hello, world"),
    ),
    case(
        "broken arguments",
        |d| vec![Script::answer(d, &[], &[("c", "memory-search", json!([1]))]), hello(d)],
        Text("Hello, world"),
    ),
    case("401", |_| vec![status(401)], Words("key")),
    case("403", |_| vec![status(403)], Words("key")),
    case("404", |_| vec![status(404)], Words("set another model")),
    case("429, then an answer", |d| vec![status(429), hello(d)], Text("Hello, world")),
    case(
        "429 with Retry-After, then an answer",
        |d| vec![status(429).header("retry-after", "0"), hello(d)],
        Text("Hello, world"),
    ),
    case(
        "429 with a long Retry-After",
        |d| vec![status(429).header("retry-after", "30"), hello(d)],
        Words("try again after 30 seconds"),
    ),
    case("429 again and again", |_| vec![status(429), status(429), status(429)], Words("(asked 3 times)")),
    case("500, then an answer", |d| vec![status(500), hello(d)], Text("Hello, world")),
    case("500 again and again", |_| vec![status(500), status(500), status(500)], Words("try again later")),
    case("cut", |d| vec![hello(d).cut_after("Hello, ")], Words("hung up in the middle")),
    case(
        "garbage",
        |_| vec![Script::raw(200, "text/event-stream", (0..=255_u8).cycle().take(5000).collect::<Vec<u8>>())],
        Words("cannot be read"),
    ),
    case(
        "50 MB of words",
        |d| vec![Script::answer(d, &["x".repeat(1 << 20).as_str(); 50], &[])],
        Words("over the limit of 4096 kB"),
    ),
    case(
        "8 MB in one line",
        |_| vec![Script::raw(200, "text/event-stream", "x".repeat(8 << 20))],
        Words("fake: 127.0.0.1:"),
    ),
    Case {
        silent: true,
        ..case(
            "50 MB in one line",
            |_| vec![Script::raw(200, "text/event-stream", "x".repeat(50 << 20))],
            // Whichever comes first: the time, or the end of the line.
            Words("fake: 127.0.0.1:"),
        )
    },
    case(
        "50 MB of an error",
        |_| vec![Script::raw(400, "text/plain", "x".repeat(50 << 20))],
        Words("does not accept the request"),
    ),
    case(
        "a page in place of a stream",
        |_| vec![Script::raw(200, "text/html", "<html>Welcome</html>")],
        Words("cannot be read"),
    ),
    case(
        "a stream that is called otherwise",
        |d| vec![Script::answer(d, &["Yes."], &[]).header("content-type", "image/png")],
        Text("Yes."),
    ),
    case(
        "redirect",
        |_| vec![status(307).header("location", &format!("{}/v1/", ELSEWHERE.url()))],
        Words("which is not followed"),
    ),
    case("slow trickle", |d| vec![hello(d).in_pieces(40).dripping(Duration::from_millis(10))], Text("Hello, world")),
    silent("stall", |d| vec![hello(d).silent_after("Hello, ")], Words("said nothing for 1 seconds")),
    silent("no answer", |_| vec![Script::nothing()], Words("said nothing for 1 seconds")),
];

/// Sets scripted servers up as the providers of an engine that runs, all of them here.
fn set_up(engine: &Arc<Engine>, servers: &[(&str, Dialect, &FakeServer)]) {
    set_up_at(
        engine,
        &servers.iter().map(|(name, dialect, server)| (*name, *dialect, *server, true)).collect::<Vec<_>>(),
    );
}

/// As [`set_up`], saying of each server whether it runs here.
pub(super) fn set_up_at(engine: &Arc<Engine>, servers: &[(&str, Dialect, &FakeServer, bool)]) {
    let word = |dialect| Kind::NAMES.iter().find(|(_, known)| *known == kind(dialect)).expect("a kind has a word").0;
    let entries: String = servers
        .iter()
        .map(|(name, dialect, server, local)| {
            let (kind, url, local) = (word(*dialect), server.url(), if *local { "t" } else { "nil" });
            format!("(\"{name}\" :kind \"{kind}\" :url \"{url}\" :model \"m\" :local {local})")
        })
        .collect();
    let names: String = servers.iter().map(|(name, ..)| format!("\"{name}\" ")).collect();
    let settings = Sexp::read(&format!("(:providers ({entries}) :cascade ({names}))")).expect("a plist");
    let names = engine.follow_providers(&settings);
    assert_eq!(names.len(), servers.len(), "{names:?}");
}

async fn engine(home: &Home, patience: u64, tokens: usize) -> Arc<Engine> {
    let engine = home
        .engine_with(|config| {
            hasty(config, patience);
            config.context_tokens = tokens;
        })
        .await;
    home.read(&engine).await;
    engine
}

/// Runs a turn that must end by itself; returns it, and what was streamed.
async fn turn(home: &Home, engine: &Arc<Engine>, at: &str) -> (Finished, String) {
    turn_of(home, engine, "What about the boiler?", at).await
}

/// As [`turn`], of other words.
pub(super) async fn turn_of(home: &Home, engine: &Arc<Engine>, words: &str, at: &str) -> (Finished, String) {
    let done = tokio::time::timeout(HANGS, home.ask(engine, words)).await;
    done.unwrap_or_else(|_| panic!("{at}: it hangs"))
}

/// Sets how many seconds are waited for a word, with two more tries and no wait between them.
pub(super) fn hasty(config: &mut Config, patience: u64) {
    (config.request_timeout, config.stall_timeout) = (patience, patience);
    config.request_tries = TRIES;
    // No wait at all, and who wants one is not asked again.
    config.retry_wait = 0;
}

/// One case, alone and with another provider behind it.
async fn check_case(home: &Home, engine: &Arc<Engine>, dialect: Dialect, case: &Case, longest: &AtomicU64) {
    let at = format!("{dialect:?}, {}", case.name);
    let server = FakeServer::start((case.script)(dialect));
    set_up(engine, &[("fake", dialect, &server)]);
    let begun = Instant::now();
    let (alone, streamed) = turn(home, engine, &at).await;
    if case.silent {
        let took = begun.elapsed().as_millis();
        longest.fetch_max(u64::try_from(took).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
    let notice = alone.report.notice.clone().unwrap_or_default();
    match case.comes {
        Text(text) => {
            assert_eq!((alone.report.ending, alone.report.text.as_str()), (Ending::Answered, text), "{at}: {notice}");
            assert!(streamed.ends_with(text), "{at}: {streamed}");
        }
        Words(words) => {
            assert_eq!(alone.report.ending, Ending::Failed, "{at}");
            assert!(notice.contains(words) && notice.contains("fake: 127.0.0.1:"), "{at}: {notice}");
            assert!(notice.len() < 1_000, "{at}: {} bytes of words", notice.len());
        }
    }
    let (first, second) =
        (FakeServer::start((case.script)(dialect)), FakeServer::start([Script::answer(dialect, &[NEXT], &[])]));
    set_up(engine, &[("fake", dialect, &first), ("next", dialect, &second)]);
    let (both, _) = turn(home, engine, &at).await;
    let expected = match case.comes {
        Text(text) => ("fake", text, 0),
        Words(_) => ("next", NEXT, 1),
    };
    let by = both.report.answered_by.clone().map(|(provider, _)| provider);
    assert_eq!((both.report.ending, by.as_deref()), (Ending::Answered, Some(expected.0)), "{at}");
    assert_eq!((both.report.text.as_str(), second.connections()), (expected.1, expected.2), "{at}");
}

/// What blocks is let go of at once when the turn is dropped, and the connection closed.
async fn check_cancel(engine: &Arc<Engine>, dialect: Dialect, case: &Case) {
    let server = FakeServer::start((case.script)(dialect));
    set_up(engine, &[("fake", dialect, &server)]);
    let asked = words("What about the boiler?");
    {
        let mut sink = |_: Streamed<'_>| {};
        let turn = engine.ask(asked, engine.new_turn(), &mut sink);
        let come = async {
            while server.requests().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = turn => panic!("{dialect:?}, {}: it ended", case.name),
            () = come => {}
        }
    }
    let gone = tokio::task::spawn_blocking(move || server.wait_gone(1)).await.expect("it is seen");
    assert!(gone, "{dialect:?}, {}: the connection is still open", case.name);
}

#[test]
fn every_fault_of_every_protocol_ends_in_an_answer_or_in_words() {
    let (count, longest) = (AtomicUsize::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for dialect in DIALECTS {
            let (count, longest) = (&count, &longest);
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
                runtime.expect("a runtime starts").block_on(async {
                    for hasty in [false, true] {
                        let home = Home::new(&[("house.org", "* The boiler\nIt is old.\n")]);
                        let engine = engine(&home, if hasty { 1 } else { 40 }, 16_384).await;
                        for case in CASES.iter().filter(|case| case.silent == hasty) {
                            check_case(&home, &engine, dialect, case, longest).await;
                            count.fetch_add(2, Ordering::Relaxed);
                            if case.blocks {
                                check_cancel(&engine, dialect, case).await;
                                count.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                });
            });
        }
    });
    let count = count.into_inner();
    assert_eq!(count, DIALECTS.len() * (2 * CASES.len() + CASES.iter().filter(|case| case.blocks).count()));
    assert_eq!(ELSEWHERE.connections(), 0, "a redirect leads nobody there");
    let longest = longest.into_inner() as f64 / 1000.0;
    survived(format!(
        "{count} turns against misbehaving servers of four protocols; where silence is waited for, {TRIES} times a second, \
         the longest took {longest:.1} s"
    ));
}

#[test]
fn over_budget_nothing_is_sent_in_any_protocol() {
    for dialect in DIALECTS {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("a runtime starts").block_on(async {
            let home = Home::new(&[]);
            let engine = engine(&home, 20, 50).await;
            let server = FakeServer::start([hello(dialect)]);
            set_up(&engine, &[("fake", dialect, &server), ("next", dialect, &server)]);
            let (done, _) = turn(&home, &engine, "over budget").await;
            let notice = done.report.notice.unwrap_or_default();
            assert_eq!((done.report.ending, server.connections()), (Ending::Failed, 0), "{notice}");
            assert!(notice.contains("tokens") && notice.contains("CONTEXT_MAX_TOKENS"), "{notice}");
        });
    }
}

#[test]
fn what_was_used_and_thought_is_counted_over_the_steps_of_a_turn() {
    for dialect in DIALECTS {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("a runtime starts").block_on(async {
            let home = Home::new(&[]);
            let engine = engine(&home, 20, 16_384).await;
            let script = [
                Script::thinking(dialect, &["Hm."], &[], &searches()),
                Script::thinking(dialect, &["So."], &["Found."], &[]),
            ];
            let server = FakeServer::start(script);
            set_up(&engine, &[("fake", dialect, &server)]);
            let mut thoughts = String::new();
            let mut sink = |piece: Streamed<'_>| {
                if let Streamed::Thought(words) = piece {
                    thoughts.push_str(words);
                }
            };
            let done = engine.ask(words("What about the boiler?"), engine.new_turn(), &mut sink).await;
            assert_eq!((done.report.text.as_str(), thoughts.as_str()), ("Found.", "Hm.So."), "{dialect:?}");
            let thinking = if dialect == Dialect::Ollama { 0 } else { 10 };
            assert_eq!(done.report.usage, Usage { input: 22, output: 14, cached: 8, thinking }, "{dialect:?}");
            assert_eq!(done.report.deeds.len(), 3, "{dialect:?}");
            assert!(
                !done
                    .report
                    .conversation
                    .messages
                    .iter()
                    .any(|message| matches!(message, Message::Text { text, .. } if text.contains("Hm.")))
            );
        });
    }
}
