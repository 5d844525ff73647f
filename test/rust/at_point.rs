//! The heading at point is told with all that is below it, byte for byte, or the turn says why not.

use crate::explained::explained;
use crate::prompts::says;
use crate::support::engine::{Home, provide};
use crate::support::fake_server::FakeServer;
use passepartout::domain::context::reason::Reason;
use passepartout::domain::port::{CountTokens, Locality};
use passepartout::domain::turn::Ending;
use passepartout::edge::engine::Engine;
use passepartout::edge::tokens::Tokens;
use proptest::prelude::*;
use std::sync::Arc;

/// How a refusal begins.
const TOO_LARGE: &str = "The heading at point is too large: ";

/// What is told beside memory takes fewer tokens.
const BESIDE: usize = 6_000;

async fn engine(home: &Home, server: &FakeServer, tokens: usize) -> Arc<Engine> {
    let set = |config: &mut passepartout::edge::config::Config| {
        provide(config, &[("fake", server, true)], &["fake"]);
        config.context_tokens = tokens;
    };
    let engine = home.engine_with(set).await;
    home.read(&engine).await;
    engine.wait_until_filled();
    engine
}

/// Returns a heading with so many words of its own.
fn heading(level: usize, name: usize, words: usize) -> String {
    let woods = ["larch", "oak", "elm", "pine", "ash"];
    let mut text = format!("{} Heading {name}\n", "*".repeat(level));
    for n in 0..words {
        let end = if n % 12 == 11 { "\n" } else { " " };
        text.push_str(&format!("{}{end}", woods[(n * 7 + name) % woods.len()]));
    }
    text + if words > 0 { "\n" } else { "" }
}

/// Returns the system text of the last request.
fn system(server: &FakeServer) -> String {
    let body = server.requests().last().expect("it was sent").json();
    body["messages"][0]["content"].as_str().expect("a text").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_larger_than_the_notes_share_takes_of_the_whole_and_what_no_prompt_holds_is_refused() {
    let large = heading(1, 0, 3_000) + &heading(2, 1, 2_500) + &heading(3, 2, 10);
    let huge = heading(1, 3, 12_000) + &heading(2, 4, 12_000);
    let home = Home::new(&[("boat.org", &large), ("mill.org", &huge), ("other.org", "* Larch\nLarch of another.\n")]);
    let server = FakeServer::start(["Larch."; 3].map(says));
    let engine = engine(&home, &server, 16_384).await;
    let at = |file: &str, byte: usize| engine.focus_at(&home.file(file), byte).expect("a heading");
    at("boat.org", 3);
    let (done, _) = home.ask(&engine, "which larch?").await;
    assert_eq!(done.report.text, "Larch.", "{:?}", done.report.notice);
    let told = system(&server);
    for part in [heading(1, 0, 3_000), heading(2, 1, 2_500), heading(3, 2, 10)] {
        let (_, body) = part.split_once('\n').expect("a body");
        assert!(told.contains(body), "{told}");
    }
    // All other notes gave way, and that is said.
    assert!(!told.contains("Larch of another.") && !told.contains("\n\nOUTLINE ("), "{told}");
    let shown = explained(&engine, "which larch?", Locality::Local).await;
    assert!(shown.nodes.iter().filter(|node| node.rendered.is_none()).all(|node| node.reason == Reason::OverBudget));
    // No prompt holds the other one.
    at("mill.org", 3);
    let (done, _) = home.ask(&engine, "which larch?").await;
    let notice = done.report.notice.clone().unwrap_or_default();
    assert_eq!((done.report.ending, server.requests().len()), (Ending::Failed, 1), "{notice}");
    assert!(notice.contains(TOO_LARGE) && notice.contains("Move point to a heading below it"), "{notice}");
    let shown = explained(&engine, "which larch?", Locality::Local).await;
    let why = shown.asked.expect_err("nobody is asked");
    assert!(why.contains("move point to a heading below it"), "{why}");
    assert!(shown.nodes.iter().any(|node| matches!(node.reason, Reason::TooLarge(tokens) if tokens > 14_000)));
    // The way out.
    at("mill.org", heading(1, 3, 12_000).len() + 3);
    let (done, _) = home.ask(&engine, "which larch?").await;
    assert_eq!(done.report.ending, Ending::Failed, "12,000 words are still too many");
    at("other.org", 3);
    assert_eq!(home.ask(&engine, "which larch?").await.0.report.text, "Larch.");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::soak::cases(12)))]

    #[test]
    fn the_heading_at_point_is_told_as_it_stands_or_the_turn_says_why_not(
        tree in prop::collection::vec((1usize..4, prop_oneof![0usize..40, 0usize..4_000]), 1..8),
        at in 0usize..8,
        tokens in 5_000usize..16_384,
    ) {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let parts: Vec<String> = tree.iter().enumerate().map(|(n, (level, words))| heading(*level, n, *words)).collect();
            let at = at % parts.len();
            let below = tree.iter().skip(at + 1).take_while(|(level, _)| *level > tree[at].0).count();
            let home = Home::new(&[("tree.org", &parts.concat()), ("other.org", "* Larch\nLarch of another.\n")]);
            let server = FakeServer::start([says("Larch.")]);
            let engine = engine(&home, &server, tokens).await;
            let byte = parts[..at].iter().map(String::len).sum::<usize>() + 2;
            engine.focus_at(&home.file("tree.org"), byte).expect("a heading");
            let (done, _) = home.ask(&engine, "which larch?").await;
            let whole = &parts[at..=at + below];
            if done.report.ending == Ending::Answered {
                let told = system(&server);
                for part in whole {
                    let (_, body) = part.split_once('\n').expect("a body");
                    assert!(told.contains(body), "{body} in {told}");
                }
            } else {
                let notice = done.report.notice.clone().unwrap_or_default();
                assert!(notice.contains(TOO_LARGE) && server.requests().is_empty(), "{notice}");
                let size = Tokens::default().count(&whole.concat());
                assert!((size + BESIDE) as f64 * 1.15 > tokens as f64, "{size} of {tokens}");
            }
            engine.close().await;
        });
    }
}
