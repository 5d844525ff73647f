//! Several acts of one answer against a whole engine: edits of one file, messages, and windows that are too small.

use crate::support::engine::{Home, status, waiting};
use crate::support::fake_server::{Dialect, FakeCall, FakeServer, Reply};
use passepartout::domain::gate::plan::PlanStatus;
use passepartout::domain::memory::store::Store;
use passepartout::domain::port::CountTokens;
use passepartout::domain::scope::Level;
use passepartout::domain::turn::Ending;
use passepartout::edge::config::Config;
use passepartout::edge::engine::Engine;
use passepartout::edge::store::DiskStore;
use passepartout::edge::tokens::Tokens;
use serde_json::{Value, json};
use std::sync::Arc;

const TILES: &str = "* Kitchen\n** TODO Order tiles\n:PROPERTIES:\n:ID: tiles\n:END:\nThe white ones.\n";

fn why(mut args: Value) -> Value {
    args["explanation"] = json!("The user asked for exactly this.");
    args
}

fn calls(calls: &[FakeCall<'_>]) -> Reply {
    Reply::answer(Dialect::OpenAi, &[], calls)
}

fn says(text: &str) -> Reply {
    Reply::answer(Dialect::OpenAi, &[text], &[])
}

/// Three todos for one file, in one answer.
fn three(home: &Home) -> Reply {
    let add = |title: &str| why(json!({"title": title, "file": home.file("home.org"), "todo": "TODO"}));
    calls(&[
        ("c1", "org-add-heading", add("First")),
        ("c2", "org-add-heading", add("Second")),
        ("c3", "org-add-heading", add("Third")),
    ])
}

async fn served(home: &Home, server: &FakeServer, set: impl FnOnce(&mut Config)) -> Arc<Engine> {
    let engine = home
        .engine_with(|config| {
            crate::support::engine::provide(config, &[("fake", server, true)], &["fake"]);
            set(config);
        })
        .await;
    home.read(&engine).await;
    engine
}

fn titles(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with('*')).collect()
}

const ALL: [&str; 5] = ["* Kitchen", "** TODO Order tiles", "* TODO First", "* TODO Second", "* TODO Third"];

#[tokio::test(flavor = "multi_thread")]
async fn three_edits_of_one_file_are_all_shown_and_each_is_approved_on_what_the_earlier_ones_left() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([three(&home), says("All three.")]);
    let engine = served(&home, &server, |_| {}).await;
    let (asked, _) = home.ask(&engine, "add three todos").await;
    assert_eq!((asked.report.ending, asked.report.plans.len()), (Ending::Parked, 3), "all are visible at once");

    let mut plans = engine.plans(false);
    for left in [2, 1, 0] {
        let (plan, before) = (plans.remove(0), plans.clone());
        let done = home.approve(&engine, &plan).await.expect("the approval counts");
        assert!(matches!(status(&engine, &plan), PlanStatus::Done(_)), "{:?}", status(&engine, &plan));
        plans = engine.plans(false);
        assert_eq!((plans.len(), done.report.plans.len()), (left, left));
        for (old, new) in before.iter().zip(&plans) {
            assert_eq!(status(&engine, old), PlanStatus::Replaced(new.id.clone()), "it is shown anew");
            assert_eq!((old.action.hash(), &old.call), (new.action.hash(), &new.call), "and asks for the same");
            assert_ne!(old.shown(), new.shown());
            assert!(home.approve(&engine, old).await.is_err(), "the old one counts no more");
            let notice = done.report.notice.clone().unwrap_or_default();
            assert!(notice.contains(&format!("{} (was {})", new.id, old.id)), "{notice}");
        }
        assert_eq!(titles(&home.read_file("home.org")), ALL[..5 - left], "nothing is approved beside");
        let expected = if left == 0 { Ending::Answered } else { Ending::Parked };
        assert_eq!(done.report.ending, expected);
    }
    let results = server.requests().last().expect("a request").json()["messages"].clone();
    let results = results.as_array().expect("messages").iter().filter(|message| message["role"] == "tool");
    assert!(results.clone().count() == 3);
    for result in results {
        assert!(result["content"].as_str().is_some_and(|text| text.starts_with("Done. ")), "{result}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_edits_of_one_file_are_all_done_at_level_allow() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([three(&home), says("All three.")]);
    let allow = |config: &mut Config| {
        config.permissions.insert("org-add-heading".into(), Level::Allow);
    };
    let engine = served(&home, &server, allow).await;
    let (asked, _) = home.ask(&engine, "add three todos").await;
    assert_eq!(asked.report.ending, Ending::Answered, "{:?}", asked.report.deeds);
    assert_eq!(titles(&home.read_file("home.org")), ALL);
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_that_are_shown_anew_outlive_the_program() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([three(&home), says("All three.")]);
    let engine = served(&home, &server, |_| {}).await;
    let _ = home.ask(&engine, "add three todos").await;
    home.approve(&engine, &engine.plans(false)[0]).await.expect("the approval counts");
    engine.close().await;
    let engine = served(&home, &server, |_| {}).await;
    for _ in 0..2 {
        home.approve(&engine, &engine.plans(false)[0]).await.expect("the approval counts");
    }
    assert_eq!(titles(&home.read_file("home.org")), ALL);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_whose_file_the_user_changed_is_not_shown_anew_with_its_siblings() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([three(&home), says("I see.")]);
    let engine = served(&home, &server, |_| {}).await;
    let _ = home.ask(&engine, "add three todos").await;
    let plans = engine.plans(false);
    std::fs::write(home.file("home.org"), TILES.replace("white", "blue")).expect("the file is written");
    home.approve(&engine, &plans[0]).await.expect("the approval is taken");
    assert!(matches!(status(&engine, &plans[0]), PlanStatus::Stale(_)));
    assert_eq!(engine.plans(false).len(), 2);
    assert_eq!(status(&engine, &plans[1]), PlanStatus::Pending);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_dates_without_a_model_are_one_plan() {
    let home = Home::new(&[("home.org", TILES)]);
    let engine = home.engine().await;
    home.read(&engine).await;
    let (asked, _) = home.ask(&engine, "schedule order tiles for 2026-03-09 by 2026-03-13").await;
    assert_eq!(asked.report.ending, Ending::Parked, "{:?}", asked.report);
    let plan = waiting(&engine);
    assert_eq!(plan.title, "Schedule “Order tiles” for 2026-03-09 and set its deadline to 2026-03-13");
    home.approve(&engine, &plan).await.expect("the approval counts");
    let text = home.read_file("home.org");
    assert!(text.contains("SCHEDULED: <2026-03-09 Mon>") && text.contains("DEADLINE: <2026-03-13 Fri>"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_may_message_the_user_and_nobody_else() {
    let home = Home::new(&[("home.org", TILES)]);
    let message = |text: &str, to: &str| calls(&[("c1", "message", why(json!({"text": text, "to": to})))]);
    let server = FakeServer::start([message("Half way.", "me"), message("Hello.", "bob@example.org"), says("Done.")]);
    let engine = served(&home, &server, |_| {}).await;
    let (asked, streamed) = home.ask(&engine, "tell me how it goes").await;
    assert_eq!(asked.report.ending, Ending::Answered);
    assert_eq!(streamed, "Message from the agent: Half way.\n\nDone.");
    let outcomes: Vec<&str> = asked.report.deeds.iter().map(|deed| deed.outcome.as_str()).collect();
    assert_eq!(outcomes[0], "The user was shown it.");
    assert!(outcomes[1].contains("“bob@example.org” cannot be reached"), "{outcomes:?}");
    let offered = server.requests()[0].json()["tools"].to_string();
    assert!(offered.contains("\"message\""), "{offered}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_too_long_is_not_sent_and_the_message_says_what_to_do() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([says("Never.")]);
    let engine = served(&home, &server, |config| config.context_tokens = 6_000).await;
    let (asked, _) = home.ask(&engine, &"why oh why ".repeat(4_000)).await;
    assert_eq!((asked.report.ending, server.requests().len()), (Ending::Failed, 0));
    let notice = asked.report.notice.unwrap_or_default();
    assert!(notice.starts_with("The question is too long") && notice.contains("CONTEXT_MAX_TOKENS"), "{notice}");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_many_steps_never_outgrow_the_window() {
    let long = format!("* Long\n:PROPERTIES:\n:ID: long\n:END:\n{}", "many words of a long note\n".repeat(1_000));
    let home = Home::new(&[("home.org", &long)]);
    let read = |id: &'static str| calls(&[(id, "memory-read", why(json!({"id": "long"})))]);
    let server = FakeServer::start([read("c1"), read("c2"), read("c3"), says("Read.")]);
    let engine = served(&home, &server, |config| config.context_tokens = 12_000).await;
    let (asked, _) = home.ask(&engine, "read the long note").await;
    assert_eq!(asked.report.ending, Ending::Answered, "{:?}", asked.report.notice);
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    let last = requests[3].json()["messages"].to_string();
    assert!(last.contains("left out, for lack of room. Make the same call again"), "{}", last.len());
    assert!(Tokens::new().count(&last) < 12_000);
}

/// Whoever opens the store sees an act once its turn has ended, and nobody waits for an interval or an end.
#[tokio::test(flavor = "multi_thread")]
async fn an_act_is_saved_when_its_turn_has_ended() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([three(&home), says("All three.")]);
    let allow = |config: &mut Config| {
        config.auto_save = 0;
        config.permissions.insert("org-add-heading".into(), Level::Allow);
    };
    let engine = served(&home, &server, allow).await;
    let before = engine.head();
    let _ = home.ask(&engine, "add three todos").await;
    let mut beside = DiskStore::open_to_read(&home.store()).expect("it can be read beside its owner");
    let saved = beside.operations(usize::MAX).expect("they can be read");
    assert!(engine.head() > before);
    assert_eq!(saved.last().map(|operation| operation.id), Some(engine.head()));
    let outcomes = beside.list("outcome", 0).expect("they can be read");
    assert_eq!(outcomes.iter().filter(|record| record.body["outcome"] == "done").count(), 3);
}
