//! Who is asked by the kind of work, and that what is private is asked of nobody elsewhere, whatever goes wrong here.

use super::*;
use crate::support::engine::{Home, ask_from, provide};
use crate::support::soak::survived;
use passepartout::domain::id::SessionId;
use passepartout::domain::route::Slot;
use passepartout::domain::signal::{Origin, Rights, Source};
use passepartout::domain::turn::Ending;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::cascade::Choice;
use passepartout::edge::engine::explain::About;
use passepartout::edge::engine::record::Finished;

const NOTES: &str = "* Boiler\nThe boiler is from 1998.\n* Health :private:\nZANZIBAR7 is the diagnosis.\n";

fn says(text: &str) -> Script {
    Script::answer(Dialect::OpenAi, &[text], &[])
}

/// Returns an engine with these providers, all of them confirmed, and slots of their own.
async fn engine(home: &Home, servers: &[(&str, &FakeServer, bool)], cascade: &[&str], code: &[&str]) -> Arc<Engine> {
    let engine = home
        .engine_with(|config| {
            provide(config, servers, cascade);
            (config.request_timeout, config.stall_timeout) = (1, 1);
            config.slots = [(Slot::Code, code.iter().map(|name| name.to_string()).collect())].into();
        })
        .await;
    home.read(&engine).await;
    for (name, server, _) in servers {
        engine.confirm_provider(name, &format!("{}/v1/", server.url())).await.expect("it is stored");
    }
    engine
}

fn look_at(home: &Home, engine: &Engine, word: &str) {
    let byte = NOTES.find(word).expect("it is there");
    engine.focus_at(&home.file("notes.org"), byte).expect("a heading");
}

fn provider(finished: &Finished) -> Option<&str> {
    finished.report.answered_by.as_ref().map(|(provider, _)| provider.as_str())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_heading_at_point_keeps_every_question_here_whatever_fails() {
    let faults: [(&str, Script, &str); 6] = [
        ("well", says("From here."), "near"),
        ("dead", status(500), "recall"),
        ("busy", status(429), "recall"),
        ("cut", says("Half of it").cut_after("Half"), "recall"),
        ("garbage", Script::raw(200, "text/html", "<html></html>"), "recall"),
        ("stalled", Script::nothing(), "recall"),
    ];
    let mut cases = 0;
    for (fault, script, expected) in faults {
        for question in ["boiler", "fix the bug in x.rs", "what is my agenda?", "ZANZIBAR7 is the diagnosis."] {
            let home = Home::new(&[("notes.org", NOTES)]);
            let (far, near) = (FakeServer::start([says("From afar.")]), FakeServer::start([script.clone()]));
            let servers = [("far", &far, false), ("near", &near, true)];
            let engine = engine(&home, &servers, &["far", "near", "recall"], &["far", "near", "recall"]).await;
            look_at(&home, &engine, "* Health");
            let (finished, _) = home.ask(&engine, question).await;
            let notice = &finished.report.notice;
            assert_eq!(
                (provider(&finished), far.connections()),
                (Some(expected), 0),
                "{fault}, {question}: {notice:?}"
            );
            let routes = &finished.report.routes;
            assert!(routes[0].contains("not far: the heading at point is private"), "{routes:?}");
            assert!(!routes.concat().contains("ZANZIBAR7"), "{routes:?}");
            engine.close().await;
            cases += 1;
        }
    }
    survived(format!("{cases} private questions under faults"));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_here_is_set_up_it_is_refused_with_the_way_out_and_elsewhere_is_asked_again_later() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let far = FakeServer::start([says("From afar.")]);
    let engine = engine(&home, &[("far", &far, false)], &["far"], &[]).await;
    look_at(&home, &engine, "* Health");
    let (finished, _) = home.ask(&engine, "boiler").await;
    let notice = finished.report.notice.clone().unwrap_or_default();
    assert_eq!((finished.report.ending, far.connections()), (Ending::Failed, 0), "{notice}");
    assert!(notice.contains("far: not asked: the heading at point is private"), "{notice}");
    assert!(notice.contains("ask again with point elsewhere, or use a model that runs here"), "{notice}");
    // Who may not see what is private is not told that point is in such a heading.
    let rights = Rights { see_private: false, ..Rights::HUMAN };
    let guest = Origin { session: SessionId("guest".to_string()), rights, source: Source::Client };
    let question = ask_from(guest.clone(), "boiler");
    let refused = engine.ask(question, engine.new_turn(), &mut |_| {}).await.report;
    let notice = refused.notice.unwrap_or_default();
    assert!(notice.contains("far: not asked: nothing may leave this machine just now"), "{notice}");
    let about = About { query: Some("boiler"), reader: Some(Locality::Remote), ..About::default() };
    let explained = engine.explained_for(&guest, about).await;
    let why = explained.asked.as_ref().err().cloned().unwrap_or_default();
    assert!(why.contains("nothing may leave this machine just now"), "{why}");
    let all = format!("{notice} {why} {:?} {:?}", refused.routes, engine.explained_lines(&explained, None));
    assert!(!all.contains("heading at point") && !all.contains("focus"), "{all}");
    assert_eq!(far.connections(), 0);
    look_at(&home, &engine, "* Boiler");
    let (finished, _) = home.ask(&engine, "boiler").await;
    assert_eq!(provider(&finished), Some("far"), "{:?}", finished.report.notice);
    assert!(!far.requests()[0].body.contains("ZANZIBAR7"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_request_is_shown_as_whom_the_router_asks_would_get_it() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let (far, near, code) = (FakeServer::start([]), FakeServer::start([]), FakeServer::start([]));
    let servers = [("far", &far, false), ("near", &near, true), ("coder", &code, true)];
    let engine = engine(&home, &servers, &["far", "near"], &["coder"]).await;
    look_at(&home, &engine, "* Boiler");
    let shown = async |text: &str| engine.inspect_next(crate::support::engine::ask(text)).await;
    for (text, expected) in [("how old is it?", "far"), ("fix the bug in x.rs", "coder")] {
        assert_eq!(shown(text).await.expect("it can be shown").provider, expected, "{text}");
    }
    look_at(&home, &engine, "* Health");
    assert_eq!(shown("how old is it?").await.expect("it can be shown").provider, "near");
    engine.set_cascade(&crate::support::engine::origin(), Choice::parse("far").expect("a choice")).await.expect("set");
    let why = shown("how old is it?").await.expect_err("nobody would be sent it");
    assert!(why.contains("the heading at point is private"), "{why}");
    assert_eq!([&far, &near, &code].map(|server| server.connections()), [0, 0, 0], "it is shown, and not sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_work_has_its_own_providers_and_the_trace_keeps_why() {
    let home = Home::new(&[("notes.org", NOTES)]);
    let (one, two) =
        (FakeServer::start([says("1"), says("1"), says("1")]), FakeServer::start([says("2"), status(401)]));
    let engine = engine(&home, &[("one", &one, true), ("two", &two, true)], &["one"], &["two", "gone", "one"]).await;
    let (chat, _) = home.ask(&engine, "boiler").await;
    let (code, _) = home.ask(&engine, "fix the bug").await;
    let (failed, _) = home.ask(&engine, "fix the bug").await;
    assert_eq!([provider(&chat), provider(&code), provider(&failed)], [Some("one"), Some("two"), Some("one")]);
    let own = "foreground, code, as the question has a word of programming; its own cascade: two, one";
    assert_eq!(chat.report.routes, ["foreground, chat, as no other rule fits; the usual cascade: one"]);
    assert_eq!(code.report.routes, [own]);
    let kept = engine.turns(3).await.expect("they are kept");
    assert_eq!(kept.iter().map(|turn| turn.report.routes.len()).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(kept[0].report.routes, [own]);
    let (said, _) = home.ask(&engine, "/cascade").await;
    assert!(said.report.text.contains("- for “code”: two, gone, one"), "{}", said.report.text);
    // What is set at run time counts for every kind of work.
    let (said, _) = home.ask(&engine, "/cascade one").await;
    assert!(said.report.text.contains("order: one (until"), "{}", said.report.text);
    let (code, _) = home.ask(&engine, "fix the bug").await;
    assert_eq!(provider(&code), Some("one"));
    assert!(code.report.routes[0].ends_with("the usual cascade: one"), "{:?}", code.report.routes);
}
