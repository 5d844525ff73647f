//! The engine against a scripted model server: whole conversations, with plans, interruptions and providers that misbehave.

use crate::support::engine::{Home, ask, origin, provide, status, tree, waiting};
use crate::support::fake_server::{Dialect, FakeCall, FakeServer, Reply};
use crate::support::skip::skipped;
use passepartout::domain::action::Action;
use passepartout::domain::gate::clearance::{Judgement, judge};
use passepartout::domain::gate::plan::PlanStatus;
use passepartout::domain::gate::standard::standard;
use passepartout::domain::gate::{Case, Facts};
use passepartout::domain::id::{NodeId, SessionId};
use passepartout::domain::label::{Labels, Privacy};
use passepartout::domain::memory::store::Store;
use passepartout::domain::port::{Journal, Streamed};
use passepartout::domain::signal::{Origin, Rights, Role, Said, Sensor, Source};
use passepartout::domain::tool::Toolbox;
use passepartout::domain::turn::{EXACTLY, Ending, Parking};
use passepartout::edge::editor::{Buffer, Editor, NoEditor, Splice};
use passepartout::edge::engine::boot::{Boot, Keep, start};
use passepartout::edge::engine::confined::Confined;
use passepartout::edge::engine::turns::{Ask, Decided};
use passepartout::edge::engine::{Engine, Notice};
use passepartout::edge::secret::Vault;
use passepartout::edge::store::disk::DiskStore;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

const TILES: &str = "* Kitchen\n** TODO Order tiles\n:PROPERTIES:\n:ID: tiles\n:END:\nThe white ones.\n";
/// Stands in private notes only.
const CANARY: &str = "ZANZIBAR7";

fn why(mut args: Value) -> Value {
    args["explanation"] = json!("The user asked for exactly this.");
    args
}

fn says(texts: &[&str]) -> Reply {
    Reply::answer(Dialect::OpenAi, texts, &[])
}

fn calls(calls: &[FakeCall<'_>]) -> Reply {
    Reply::answer(Dialect::OpenAi, &[], calls)
}

fn mark_done() -> Reply {
    calls(&[("c3", "org-set-todo", why(json!({"id": "tiles", "state": "DONE"})))])
}

/// Returns the texts of the messages of the last request that have a role.
fn sent(server: &FakeServer, role: &str) -> Vec<String> {
    let requests = server.requests();
    let body = requests.last().expect("there was a request").json();
    let messages = body["messages"].as_array().expect("messages").clone();
    let of_role = messages.iter().filter(|message| message["role"] == role);
    of_role.map(|message| message["content"].as_str().unwrap_or_default().to_string()).collect()
}

/// Waits for a message of a channel; a test never hangs.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it comes in time")
}

#[tokio::test(flavor = "multi_thread")]
async fn question_calls_plan_approval_change_result_answer() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([
        calls(&[("c1", "memory-search", why(json!({"query": "tiles"})))]),
        calls(&[("c2", "memory-read", why(json!({"id": "tiles"})))]),
        mark_done(),
        says(&["The tiles ", "are ordered."]),
    ]);
    let engine = home.served(&server, &["fake"], true).await;
    let (asked, _) = home.ask(&engine, "the tiles are ordered").await;
    assert_eq!(asked.report.ending, Ending::Parked);
    assert_eq!(server.requests().len(), 3);
    let results = sent(&server, "tool");
    assert!(results[0].contains("Order tiles (id: tiles)"), "{results:?}");
    assert!(results[1].contains("The white ones."), "{results:?}");
    assert_eq!(home.read_file("home.org"), TILES, "nothing changes before the approval");

    let plan = waiting(&engine);
    let edit = plan
        .diff
        .lines()
        .filter(|line| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---"));
    let (plus, minus): (Vec<&str>, Vec<&str>) = edit.partition(|line| line.starts_with('+'));
    assert_eq!(minus, ["-** TODO Order tiles"]);
    assert_eq!(plus[0], "+** DONE Order tiles");
    let decided = Decided::Approve { shown: plan.shown() };
    let mut streamed = String::new();
    let turn = engine.new_turn();
    let done = engine.decide(&origin(), &plan.id.0, decided, turn, &mut |text| streamed.push_str(text.text())).await;
    let done = done.expect("the approval counts");
    assert_eq!((done.report.ending, streamed.as_str()), (Ending::Answered, "The tiles are ordered."));
    let text = home.read_file("home.org");
    let expected: Vec<&str> = TILES
        .lines()
        .flat_map(|line| match line {
            "** TODO Order tiles" => plus.iter().map(|line| &line[1..]).collect(),
            line => vec![line],
        })
        .collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected, "the file is changed exactly as shown");
    assert!(sent(&server, "tool").last().is_some_and(|result| result.starts_with("Done. ")));
    let node = engine.view().get(&NodeId::new("tiles")).expect("the heading is in memory");
    assert_eq!(node.keyword().map(|k| k.name.to_string()).as_deref(), Some("DONE"));
    assert!(matches!(status(&engine, &plan), PlanStatus::Done(_)));
    let deeds: Vec<_> = done.report.deeds.iter().map(|deed| (deed.tool.as_str(), deed.plan.clone())).collect();
    assert_eq!(deeds, [("org-set-todo", Some(plan.id.clone()))]);
    let turns = engine.turns(10).await.expect("the turns are stored");
    assert_eq!(turns.iter().map(|t| t.report.ending).collect::<Vec<_>>(), [Ending::Answered, Ending::Parked]);

    let again = home.approve(&engine, &plan).await.expect_err("an approval counts once");
    assert!(again.contains("no longer waits: it is done"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_plan_changes_nothing_and_the_model_hears_why() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done(), says(&["Then not."])]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "the tiles are ordered").await;
    let plan = waiting(&engine);
    let done = home.deny(&engine, &plan, "not before Friday").await.expect("the denial counts");
    assert_eq!((done.report.ending, done.report.text.as_str()), (Ending::Answered, "Then not."));
    assert_eq!(sent(&server, "tool"), ["denied: the user said no: not before Friday. Nothing was done."]);
    assert_eq!(home.read_file("home.org"), TILES);
    assert_eq!(status(&engine, &plan), PlanStatus::Denied("not before Friday".to_string()));
    assert!(home.approve(&engine, &plan).await.is_err(), "a denied plan cannot be approved");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_reason_without_end_the_beginning_is_kept_by_whatever_road_it_comes() {
    let (long, kept) = ("é".repeat(1 << 20), format!("{}…", "é".repeat(2046)));
    for (road, typed, asked_again) in
        [("deny", false, true), ("stop", false, false), ("deny", true, true), ("stop", true, false)]
    {
        let home = Home::new(&[("home.org", TILES)]);
        let server = FakeServer::start([mark_done(), says(&["Then not."])]);
        let engine = home.served(&server, &["fake"], true).await;
        let _ = home.ask(&engine, "the tiles are ordered").await;
        let plan = waiting(&engine);
        if typed {
            home.ask(&engine, &format!("/{road} {} {long}", plan.id)).await;
        } else {
            let reason = long.clone();
            let decided = if asked_again { Decided::Deny { reason } } else { Decided::Stop { reason } };
            let done = engine.decide(&origin(), &plan.id.0, decided, engine.new_turn(), &mut |_| {}).await;
            done.expect("the denial counts");
        }
        assert_eq!(status(&engine, &plan), PlanStatus::Denied(kept.clone()), "{road}, typed: {typed}");
        assert_eq!(server.requests().len(), if asked_again { 2 } else { 1 }, "{road}, typed: {typed}");
        if asked_again {
            assert_eq!(sent(&server, "tool"), [format!("denied: the user said no: {kept}. Nothing was done.")]);
        }
    }
}

/// Starts a turn, stops it as soon as something is streamed, and returns what is recorded of it.
async fn interrupt(engine: &Arc<Engine>, text: &str) -> passepartout::edge::engine::record::Finished {
    let (first, mut streamed) = tokio::sync::mpsc::unbounded_channel();
    let turn = engine.new_turn();
    let (running, name, ask) = (engine.clone(), turn.clone(), ask(text));
    let at = ask.origin.session.clone();
    let task = tokio::spawn(async move {
        let mut sink = |piece: Streamed<'_>| {
            let _ = first.send(piece.text().to_string());
        };
        running.ask(ask, name, &mut sink).await
    });
    assert!(soon(streamed.recv()).await.is_some_and(|text| !text.is_empty()));
    task.abort();
    assert!(soon(task).await.is_err(), "it was stopped in the middle");
    engine.interrupted(&turn, at, text.to_string(), engine.clock.now()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_in_mid_stream_closes_the_connection_and_does_nothing() {
    let home = Home::new(&[("home.org", TILES)]);
    let half = Reply::answer(
        Dialect::OpenAi,
        &["Half an ", "answer"],
        &[("c1", "org-set-todo", why(json!({"id": "tiles", "state": "DONE"})))],
    );
    let server = FakeServer::start([half.silent_after("Half an ")]);
    let engine = home.served(&server, &["fake"], true).await;
    let finished = interrupt(&engine, "are the tiles ordered?").await;
    assert!(server.wait_gone(1), "the server sees the connection closed");
    assert_eq!((finished.report.ending, finished.report.notice.as_deref()), (Ending::Interrupted, Some("Stopped.")));
    let turns = engine.turns(1).await.expect("the turns are stored");
    assert_eq!(turns[0].report.ending, Ending::Interrupted);
    assert!(engine.plans(true).is_empty());
    assert_eq!(home.read_file("home.org"), TILES);
    server.push(says(&["Still here."]));
    assert_eq!(home.ask(&engine, "hello?").await.1, "Still here.");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_after_an_approved_act_leaves_the_plan_done() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done(), says(&["It is ", "done."]).silent_after("It is ")]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "the tiles are ordered").await;
    let plan = waiting(&engine);
    let (first, mut streamed) = tokio::sync::mpsc::unbounded_channel();
    let (running, turn, id, shown) = (engine.clone(), engine.new_turn(), plan.id.clone(), plan.shown());
    let task = tokio::spawn(async move {
        let mut sink = |piece: Streamed<'_>| {
            if matches!(piece, Streamed::Text(_)) {
                let _ = first.send(());
            }
        };
        running.decide(&origin(), &id.0, Decided::Approve { shown }, turn, &mut sink).await.map(|_| ())
    });
    soon(streamed.recv()).await.expect("the answer begins");
    task.abort();
    assert!(soon(task).await.is_err());
    assert!(home.read_file("home.org").contains("DONE Order tiles"));
    assert!(matches!(status(&engine, &plan), PlanStatus::Done(_)), "{:?}", status(&engine, &plan));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_in_mid_stream_is_followed_by_the_next() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([says(&["Half an ", "answer"]).cut_after("Half an ")]);
    let engine = home.served(&server, &["fake", "recall"], true).await;
    let (finished, streamed) = home.ask(&engine, "what is due?").await;
    assert_eq!(finished.report.ending, Ending::Answered);
    assert_eq!(finished.report.answered_by.as_ref().map(|(name, _)| name.as_str()), Some("recall"));
    assert!(streamed.starts_with("Half an ") && streamed.contains("(The answer of fake broke off here."), "{streamed}");
    let log: Vec<_> = engine.log_lines(20).into_iter().map(|line| line.text).collect();
    assert!(log.iter().any(|line| line.contains("fake") && line.contains("the next provider is tried")), "{log:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_misbehave_is_one_clear_message_and_nothing_else() {
    let huge = "x".repeat(100_000);
    let ten_megabytes: Vec<&str> = std::iter::repeat_n(huge.as_str(), 100).collect();
    let call = || [("c1", "org-set-todo", why(json!({"id": "tiles", "state": "DONE"})))];
    let cases: Vec<(&str, Reply, u64)> = vec![
        ("429", Reply::json(429, &json!({"error": {"message": "slow down"}})), 20),
        ("401", Reply::json(401, &json!({"error": {"message": "no such key"}})), 20),
        ("500", Reply::raw(500, "text/plain", "oops"), 20),
        ("garbage", Reply::raw(200, "text/event-stream", vec![0xff, 0x00, 0x13, 0x37]), 20),
        ("a page", Reply::raw(200, "text/html", "<html>log in</html>"), 20),
        ("an empty stream", Reply::raw(200, "text/event-stream", ""), 20),
        ("half a stream", says(&["Half ", "an answer"]).ended_after("Half "), 20),
        ("half a call", Reply::answer(Dialect::OpenAi, &[], &call()).ended_after("tool_calls"), 20),
        ("a cut call", Reply::answer(Dialect::OpenAi, &[], &call()).cut_after("tool_calls"), 20),
        ("nothing at all", Reply::nothing(), 1),
        ("10 MB of text", says(&ten_megabytes), 20),
    ];
    for (name, reply, seconds) in cases {
        let home = Home::new(&[("home.org", TILES)]);
        let server = FakeServer::start([reply]);
        let engine = home
            .engine_with(|config| {
                provide(config, &[("fake", &server, true)], &["fake"]);
                config.request_timeout = seconds;
            })
            .await;
        home.read(&engine).await;
        let before = tree(home.folder.path().join("memex").as_path());
        let (finished, streamed) = soon(home.ask(&engine, "are the tiles ordered?")).await;
        assert_eq!(finished.report.ending, Ending::Failed, "{name}");
        let notice = finished.report.notice.unwrap_or_default();
        assert!(notice.starts_with("no model answered.\n- fake: ") && notice.len() < 600, "{name}: {notice}");
        assert!(streamed.len() < 9_000_000, "{name}: an answer has a bound, and {} bytes came", streamed.len());
        assert!(engine.plans(true).is_empty(), "{name}");
        assert_eq!(tree(home.folder.path().join("memex").as_path()), before, "{name}");
        server.push(says(&["Here again."]));
        assert_eq!(home.ask(&engine, "hello?").await.1, "Here again.", "{name}: the engine goes on");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_tools_and_wrong_types_go_back_to_the_model() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([
        calls(&[("c1", "teleport", why(json!({"to": "the moon"}))), ("c2", "memory-read", why(json!({"id": 7})))]),
        calls(&[("c3", "eval-lisp", why(json!({"code": "(delete-file \"/etc/passwd\")"})))]),
        says(&["I cannot."]),
    ]);
    let engine = home.served(&server, &["fake"], true).await;
    let (finished, _) = home.ask(&engine, "beam me up").await;
    assert!(matches!(finished.report.ending, Ending::Answered | Ending::Parked), "{:?}", finished.report);
    let second = server.requests()[1].json();
    let told = second["messages"].to_string();
    assert!(told.contains("There is no tool “teleport”."), "{told}");
    assert!(told.contains("memory-read: the argument “id” must be text, not a number."), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_contact_with_a_provider_elsewhere_is_shown_and_confirmed_once() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([says(&["Hello."]), says(&["Again."]), says(&["And again."])]);
    let engine = home.served(&server, &["fake"], false).await;
    let (asked, _) = home.ask(&engine, "what about the tiles?").await;
    assert_eq!(asked.report.ending, Ending::Parked);
    assert_eq!(server.connections(), 0, "nothing is sent before it is confirmed");
    let plan = waiting(&engine);
    assert_eq!(plan.action.tool(), "contact-provider");
    let shown = plan.action.text("sent").expect("what would be sent").to_string();
    let done = home.approve(&engine, &plan).await.expect("the approval counts");
    assert_eq!((done.report.ending, done.report.text.as_str()), (Ending::Answered, "Hello."), "{:?}", done.report);
    assert_eq!(server.requests().len(), 1);
    for role in ["system", "user"] {
        for text in sent(&server, role) {
            assert!(shown.contains(&text), "{role} was sent and not shown: {text}");
        }
    }
    assert!(engine.plans(false).is_empty());
    assert_eq!(home.ask(&engine, "and now?").await.1, "Again.", "it is asked once");
    engine.close().await;
    let engine = home.served(&server, &["fake"], false).await;
    assert_eq!(home.ask(&engine, "and tomorrow?").await.1, "And again.", "it is kept in the store");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_shown_for_a_first_contact_is_exactly_what_is_sent() {
    for restarted in [false, true] {
        let home = Home::new(&[("home.org", TILES)]);
        let server = FakeServer::start([says(&["Hello."])]);
        let mut engine = home.served(&server, &["fake"], false).await;
        let _ = home.ask(&engine, "what about the tiles?").await;
        let shown = waiting(&engine).action.text("sent").expect("what would be sent").to_string();
        // Notes, focus and the time of day move on.
        let later = format!("{TILES}** TODO Tell the tiler\nThe black ones.\n");
        std::fs::write(home.file("home.org"), &later).expect("it is written");
        engine.take_text(&home.file("home.org"), later.into(), "buffer-update").expect("it is read");
        engine.focus_at(&home.file("home.org"), 30);
        home.clock.advance(3);
        if restarted {
            engine.close().await;
            engine = home.served(&server, &["fake"], false).await;
        }
        let done = home.approve(&engine, &waiting(&engine)).await.expect("the approval counts");
        assert_eq!((done.report.ending, done.report.text.as_str()), (Ending::Answered, "Hello."), "{:?}", done.report);
        assert_eq!(server.requests().len(), 1);
        let (read, exactly) = shown.split_once(EXACTLY).expect("as people read it, and as it is");
        let (head, body) = exactly.split_once("\n\n").expect("headers and a body");
        assert_eq!(body, server.requests()[0].body, "byte for byte");
        assert!(head.starts_with(&format!("POST {}/v1/chat/completions\n", server.url())), "{head}");
        for line in head.lines().skip(1) {
            let (name, value) = line.split_once(": ").expect("a header");
            assert_eq!(server.requests()[0].header(name), Some(value), "{line}");
        }
        assert!(read.contains("what about the tiles?"), "{read}");
        let (system, user) = (sent(&server, "system"), sent(&server, "user"));
        let expected = format!("SYSTEM\n{}\n\nUSER\n{}\n\nTOOLS\n", system[0], user[0]);
        let tools = read.trim_end().strip_prefix(&expected).unwrap_or_else(|| panic!("{shown}\nis not\n{expected}"));
        let request = server.requests()[0].json();
        let told = request["tools"].as_array().expect("tools").clone();
        assert!(!told.is_empty());
        for tool in &told {
            let words = [&tool["function"]["name"], &tool["function"]["description"]];
            for word in words.map(|word| word.as_str().expect("a text")) {
                assert!(tools.contains(word), "{word} was sent and not shown");
            }
        }
        assert_eq!(tools.lines().count(), 2 * told.len(), "a line for each tool and one for its arguments");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_contact_is_shown_anew_when_another_model_was_chosen_meanwhile() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([says(&["Hello."])]);
    let engine = home.served(&server, &["fake"], false).await;
    let _ = home.ask(&engine, "what about the tiles?").await;
    let old = waiting(&engine);
    let choice = passepartout::edge::engine::cascade::Choice::parse("fake/larger").expect("an order");
    engine.set_cascade(&origin(), choice).await.expect("it is set");
    let done = home.approve(&engine, &old).await.expect("the approval is taken");
    assert_eq!((done.report.ending, server.connections()), (Ending::Parked, 0), "{:?}", done.report);
    let anew = waiting(&engine).action.text("sent").expect("what would be sent").to_string();
    let (_, exactly) = anew.split_once(EXACTLY).expect("as it is");
    assert!(exactly.contains("\"larger\"") && !old.action.text("sent").unwrap_or_default().contains("\"larger\""));
    let done = home.approve(&engine, &waiting(&engine)).await.expect("the approval counts");
    assert_eq!(done.report.text, "Hello.", "{:?}", done.report);
    let body = server.requests()[0].body.clone();
    assert_eq!(exactly.split_once("\n\n").map(|(_, body)| body.to_string()), Some(body));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_contact_is_shown_anew_when_what_was_shown_may_not_be_sent_any_more() {
    for edited in [false, true] {
        let notes = format!("{TILES}* Cellar\nDark.\n");
        let home = Home::new(&[("home.org", &notes)]);
        let server = FakeServer::start([says(&["Hello."])]);
        let engine = home.served(&server, &["fake"], false).await;
        engine.focus_at(&home.file("home.org"), 30);
        let _ = home.ask(&engine, "what about the tiles?").await;
        let mut old = waiting(&engine);
        assert!(old.action.text("sent").is_some_and(|sent| sent.contains("The white ones.")));
        if edited {
            let mut args = old.action.args().clone();
            args.insert("sent".into(), "nothing of mine".into());
            old = engine.edit_plan(&origin(), &old.id.0, args).await.expect("it is judged anew");
        } else {
            let private = notes.replace("* Kitchen", "* Kitchen :private:");
            let cellar = private.find("Dark.").expect("it is there");
            engine.take_text(&home.file("home.org"), private.into(), "buffer-update").expect("it is read");
            // With point on what is private now, nobody elsewhere would be asked at all.
            engine.focus_at(&home.file("home.org"), cellar);
        }
        let done = home.approve(&engine, &old).await.expect("the approval is taken");
        assert_eq!((done.report.ending, server.connections()), (Ending::Parked, 0), "{:?}", done.report);
        assert!(matches!(status(&engine, &old), PlanStatus::Stale(_)), "{:?}", status(&engine, &old));
        let anew = waiting(&engine);
        let sent_now = anew.action.text("sent").expect("what would be sent");
        assert_eq!(sent_now.contains("The white ones."), edited);
        let done = home.approve(&engine, &anew).await.expect("the approval counts");
        assert_eq!((done.report.text.as_str(), server.requests().len()), ("Hello.", 1));
        assert!(sent_now.contains(&sent(&server, "system")[0]));
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_first_contact_sends_nothing() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([says(&["Hello."])]);
    let engine = home.served(&server, &["fake"], false).await;
    let _ = home.ask(&engine, "hello").await;
    let done = home.deny(&engine, &waiting(&engine), "").await.expect("the denial counts");
    assert_eq!(done.report.notice.as_deref(), Some("Nothing was sent."));
    assert_eq!(home.ask(&engine, "hello?").await.0.report.ending, Ending::Parked, "it is asked again");
    assert_eq!(server.connections(), 0);
}

/// A memex with the canary in every kind of private place, and open notes beside it.
fn secret_home() -> Home {
    Home::new(&[
        ("home.org", TILES),
        (
            "inherited.org",
            "* Health :private:\n** Doctor\n:PROPERTIES:\n:ID: doctor\n:END:\nThe result is ZANZIBAR7.\n* Open\nnothing\n",
        ),
        ("file.org", "#+FILETAGS: :private:\n* Diary\n:PROPERTIES:\n:ID: diary\n:END:\nZANZIBAR7 again.\n"),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn private_notes_reach_no_provider_elsewhere() {
    let home = secret_home();
    let tries = [
        ("c1", "memory-search", why(json!({"query": "result"}))),
        ("c2", "memory-search", why(json!({"query": "diary doctor result"}))),
        ("c3", "memory-read", why(json!({"id": "doctor"}))),
        ("c4", "memory-read", why(json!({"id": "diary"}))),
    ];
    let file = home.file("file.org");
    let server = FakeServer::start([
        says(&["Hello."]),
        calls(&tries),
        calls(&[("c5", "read-file", why(json!({"path": file})))]),
        says(&["I give up."]),
    ]);
    let engine = home.served(&server, &["fake"], false).await;
    let _ = home.ask(&engine, "hello").await;
    let plan = waiting(&engine);
    assert!(!plan.action.text("sent").expect("what would be sent").contains(CANARY));
    home.approve(&engine, &plan).await.expect("the approval counts");
    let _ = home.ask(&engine, "what do the doctor and my diary say?").await;
    let asked = server.requests().len();
    assert!(asked >= 3, "{asked}");
    // With point on a private heading nobody elsewhere is asked at all.
    engine.focus_at(&home.file("inherited.org"), 30);
    let (refused, _) = home.ask(&engine, "what does the doctor say?").await;
    assert_eq!(
        (refused.report.ending, server.requests().len()),
        (Ending::Failed, asked),
        "{:?}",
        refused.report.notice
    );
    for request in server.requests() {
        assert!(!request.body.contains(CANARY), "a private note left: {}", request.body);
    }

    // The same to a model of this machine shows that the test bites.
    engine.close().await;
    let near = FakeServer::start([calls(&tries), says(&["So it is."])]);
    let engine = home.served(&near, &["fake"], true).await;
    let _ = home.ask(&engine, "what do the doctor and my diary say?").await;
    assert!(near.requests().iter().any(|request| request.body.contains(CANARY)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_drew_on_private_notes_goes_nowhere_else_even_when_it_was_cut_short() {
    let confirm = |far: &FakeServer| {
        far.push(says(&["Hello."]));
    };
    for interrupted in [false, true] {
        let home = secret_home();
        let (near, far) = (FakeServer::start([]), FakeServer::start([]));
        confirm(&far);
        let both = |config: &mut passepartout::edge::config::Config, order: &[&str]| {
            provide(config, &[("near", &near, true), ("far", &far, false)], order);
        };
        let engine = home.engine_with(|config| both(config, &["far"])).await;
        home.read(&engine).await;
        let _ = home.ask(&engine, "hello").await;
        home.approve(&engine, &waiting(&engine)).await.expect("the far one is confirmed");
        engine.close().await;
        let asked = far.requests().len();

        let engine = home.engine_with(|config| both(config, &["near", "far"])).await;
        home.read(&engine).await;
        let answer = says(&["The result is ZANZIBAR7 ", "as you know."]);
        if interrupted {
            near.push(answer.silent_after("ZANZIBAR7 "));
            let _ = interrupt(&engine, "what is the result of the doctor?").await;
        } else {
            near.push(answer.cut_after("ZANZIBAR7 "));
            far.push(says(&["I do not know."]));
            let _ = home.ask(&engine, "what is the result of the doctor?").await;
        }
        assert!(near.requests()[0].body.contains(CANARY), "the near one is told: the question is a fair one");
        let before = far.requests().len();
        assert!(before <= asked + 1 && far.requests().iter().all(|request| !request.body.contains(CANARY)));
        // The near one is down now; the chat holds half of its answer.
        for restart in [false, true] {
            let engine = match restart {
                false => engine.clone(),
                true => {
                    engine.close().await;
                    home.engine_with(|config| both(config, &["near", "far"])).await
                }
            };
            near.push(Reply::raw(500, "text/plain", "down"));
            far.push(says(&["never"]));
            let said = Said {
                role: Role::Assistant,
                text: format!("The result is {CANARY} "),
                privacy: Privacy::Open,
                aside: false,
            };
            let again = Ask { history: vec![said], ..ask("go on") };
            let finished = engine.ask(again, engine.new_turn(), &mut |_| {}).await;
            assert_eq!(finished.report.ending, Ending::Failed, "{:?}", finished.report.notice);
            assert!(finished.report.notice.as_deref().is_some_and(|n| n.contains("never leave this machine")));
            assert_eq!(far.requests().len(), before, "interrupted {interrupted}, restarted {restart}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_survive_a_restart_and_can_be_approved_then() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done(), says(&["It is done."])]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "the tiles are ordered").await;
    let before = waiting(&engine);
    engine.close().await;
    let engine = home.served(&server, &["fake"], true).await;
    let plan = waiting(&engine);
    assert_eq!((plan.clone(), plan.shown()), (before.clone(), before.shown()));
    let done = home.approve(&engine, &plan).await.expect("the approval counts");
    assert_eq!(done.report.text, "It is done.");
    assert!(home.read_file("home.org").contains("DONE Order tiles"));
    assert!(sent(&server, "user").contains(&"the tiles are ordered".to_string()), "the conversation goes on");
    engine.close().await;
    let engine = home.served(&server, &["fake"], true).await;
    assert!(home.approve(&engine, &plan).await.is_err(), "nor does it count again after a restart");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_approvals_at_once_one_counts() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done()].into_iter().chain((0..9).map(|_| says(&["Done."]))));
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "the tiles are ordered").await;
    let plan = waiting(&engine);
    let tasks: Vec<_> = (0..8)
        .map(|n| {
            let (engine, plan) = (engine.clone(), plan.clone());
            tokio::spawn(async move {
                let decided = match n % 4 {
                    3 => Decided::Deny { reason: String::new() },
                    _ => Decided::Approve { shown: plan.shown() },
                };
                engine.decide(&origin(), &plan.id.0, decided, engine.new_turn(), &mut |_| {}).await.is_ok()
            })
        })
        .collect();
    let mut counted = 0;
    for task in tasks {
        counted += usize::from(soon(task).await.expect("no panic"));
    }
    assert_eq!(counted, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_human_and_only_what_was_shown() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done()]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "the tiles are ordered").await;
    let plan = waiting(&engine);
    let weak = Origin { rights: Rights { approve: false, ..Rights::HUMAN }, source: Source::Cli, ..origin() };
    for (from, decided, words) in [
        (&weak, Decided::Approve { shown: plan.shown() }, "this channel may not approve"),
        (&weak, Decided::Deny { reason: String::new() }, "this channel may not decide"),
        (&origin(), Decided::Approve { shown: "00".repeat(32) }, "has changed since it was shown"),
        (&origin(), Decided::Approve { shown: String::new() }, "has changed since it was shown"),
    ] {
        let refused = engine.decide(from, &plan.id.0, decided, engine.new_turn(), &mut |_| {}).await;
        let refused = refused.expect_err("it does not count");
        assert!(refused.contains(words), "{refused}");
    }
    let decided = Decided::Approve { shown: plan.shown() };
    let unknown = engine.decide(&origin(), "P000000", decided, engine.new_turn(), &mut |_| {}).await;
    assert!(unknown.expect_err("no such plan").contains("there is no plan P000000"));
    let typed = Ask { origin: weak, ..ask(&format!("/approve {}", plan.id)) };
    let typed = engine.ask(typed, engine.new_turn(), &mut |_| {}).await;
    assert!(typed.report.text.contains("may not approve"));
    assert_eq!(status(&engine, &plan), PlanStatus::Pending);
    home.clock.advance(25);
    let late = home.approve(&engine, &plan).await.expect_err("a day is over");
    assert!(late.contains("expired"), "{late}");
    assert_eq!(status(&engine, &plan), PlanStatus::Expired);
    assert_eq!(home.read_file("home.org"), TILES);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changed_since_makes_the_plan_stale() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done(), says(&["I see."])]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "the tiles are ordered").await;
    let plan = waiting(&engine);
    let changed = TILES.replace("white", "blue");
    std::fs::write(home.file("home.org"), &changed).expect("the file is written");
    let done = home.approve(&engine, &plan).await.expect("the approval is taken");
    assert_eq!(done.report.text, "I see.");
    assert_eq!(home.read_file("home.org"), changed, "nothing was done");
    assert!(matches!(status(&engine, &plan), PlanStatus::Stale(_)), "{:?}", status(&engine, &plan));
    assert!(sent(&server, "tool")[0].starts_with("stale: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_plan_is_judged_anew_and_replaces_the_old_one() {
    let home = Home::new(&[("home.org", TILES)]);
    let file = home.project("note.txt");
    let write = |id: &'static str, text: &str| (id, "write-file", why(json!({"path": file, "content": text})));
    let server = FakeServer::start([calls(&[write("c1", "one\n"), mark("c2")]), says(&["Both."])]);
    fn mark(id: &'static str) -> FakeCall<'static> {
        (id, "org-set-todo", why(json!({"id": "tiles", "state": "DONE"})))
    }
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "write it down").await;
    let plans = engine.plans(false);
    let (old, other) = match plans[0].action.tool() {
        "write-file" => (plans[0].clone(), plans[1].clone()),
        _ => (plans[1].clone(), plans[0].clone()),
    };
    let args = |content: &str| -> Map<String, Value> {
        json!({"path": file, "content": content}).as_object().cloned().expect("an object")
    };
    let weak = Origin { rights: Rights { approve: false, ..Rights::HUMAN }, ..origin() };
    assert!(engine.edit_plan(&weak, &old.id.0, args("x")).await.is_err());
    let mut outside = args("x");
    outside.insert("path".into(), home.store().join("objects").to_string_lossy().into_owned().into());
    let denied = engine.edit_plan(&origin(), &old.id.0, outside).await.expect_err("the store is closed to everything");
    assert!(denied.starts_with("Refused."), "{denied}");
    assert!(engine.edit_plan(&origin(), &old.id.0, Map::new()).await.is_err(), "malformed");
    assert_eq!(status(&engine, &old), PlanStatus::Pending);

    let new = engine.edit_plan(&origin(), &old.id.0, args("two\n")).await.expect("it is judged anew");
    assert_eq!(status(&engine, &old), PlanStatus::Replaced(new.id.clone()));
    assert!(home.approve(&engine, &old).await.is_err(), "the old one cannot be approved");
    // The other plan of the same answer knows of the change.
    let done = home.approve(&engine, &other).await.expect("the approval counts");
    assert_eq!((done.report.ending, done.report.plans), (Ending::Parked, vec![new.id.clone()]));
    let done = home.approve(&engine, &new).await.expect("the approval counts");
    assert_eq!((done.report.ending, done.report.text.as_str()), (Ending::Answered, "Both."));
    assert_eq!(std::fs::read_to_string(&file).expect("it was written"), "two\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_cannot_be_carried_out_is_refused_at_once() {
    let home = Home::new(&[("home.org", TILES)]);
    let deadline = |day: &str| json!({"id": "tiles", "kind": "deadline", "when": day});
    let server = FakeServer::start([calls(&[("c1", "org-schedule", why(deadline("2026-03-04")))])]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "set its deadline").await;
    let old = waiting(&engine);
    for (args, expected) in [
        (deadline("tomorrow"), "“tomorrow” is no date"),
        (deadline("2026-02-30"), "“2026-02-30” is no date"),
        (json!({"id": "nowhere", "kind": "deadline", "when": "2026-03-05"}), "nowhere"),
    ] {
        let args = args.as_object().cloned().expect("an object");
        let refused = engine.edit_plan(&origin(), &old.id.0, args).await.expect_err("it cannot be done");
        assert!(refused.contains(expected), "{refused}");
        assert_eq!(status(&engine, &old), PlanStatus::Pending);
    }
    let args = deadline("2026-03-05").as_object().cloned().expect("an object");
    let new = engine.edit_plan(&origin(), &old.id.0, args).await.expect("it can be done");
    assert_eq!(status(&engine, &old), PlanStatus::Replaced(new.id.clone()));
}

#[tokio::test(flavor = "multi_thread")]
async fn whenever_the_program_ends_while_a_plan_is_edited_one_plan_waits() {
    let home = Home::new(&[("home.org", TILES)]);
    let file = home.project("note.txt");
    let args = |content: &str| json!({"path": file, "content": content});
    let server = FakeServer::start([calls(&[("c1", "write-file", why(args("one\n")))])]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "write it down").await;
    let old = waiting(&engine);
    let log = home.store().join("memory.log");
    let before = std::fs::read(&log).expect("the log is there").len();
    let args = args("two\n").as_object().cloned().expect("an object");
    let new = engine.edit_plan(&origin(), &old.id.0, args).await.expect("it is judged anew");
    engine.close().await;
    let whole = std::fs::read(&log).expect("the log is there");
    assert!(whole.len() > before);
    let steps = (before..whole.len()).step_by(((whole.len() - before) / 40).max(1)).chain([whole.len()]);
    for cut in steps {
        // As if the power had failed when so much was written.
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("memory.log"), &whole[..cut]).expect("it is written");
        let mut store = DiskStore::open(folder.path()).expect("the log is the store");
        let mut last = std::collections::BTreeMap::new();
        for record in store.list("plan", 0).expect("a list") {
            last.insert(record.key, record.body["status"].as_str().unwrap_or_default().to_string());
        }
        let pending: Vec<&String> = last.iter().filter(|(_, status)| *status == "pending").map(|(id, _)| id).collect();
        let expected = if cut == whole.len() { &new.id.0 } else { &old.id.0 };
        assert_eq!(pending, [expected], "cut at {cut} of {before}..{}", whole.len());
        let talks = store.latest("conversation", expected).expect("a look").expect("it can go on");
        assert_eq!(talks.body["waiting"][0][1], json!(expected));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_can_no_longer_be_decided_about_holds_nothing_up() {
    let home = Home::new(&[("home.org", TILES)]);
    let schedule = |id, when: &str| (id, "org-schedule", why(json!({"id": "tiles", "when": when})));
    let server =
        FakeServer::start([calls(&[schedule("c1", "2026-04-01"), schedule("c2", "2026-05-01")]), says(&["I see."])]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "schedule the tiles").await;
    let plans = engine.plans(false);
    let parked = home.deny(&engine, &plans[0], "no").await.expect("the denial counts");
    assert_eq!(parked.report.ending, Ending::Parked);
    home.clock.advance(25);
    let late = home.deny(&engine, &plans[1], "no").await;
    // A denial tightens: it may come late. Whatever it came to, the plan is not approved.
    assert!(late.is_ok() || status(&engine, &plans[1]) == PlanStatus::Expired);
    assert_eq!(home.read_file("home.org"), TILES);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_intent_without_an_outcome_is_reported_at_the_next_start() {
    let home = Home::new(&[("home.org", TILES)]);
    let engine = home.engine().await;
    let toolbox = Toolbox::builtin();
    let args = json!({"query": "tiles", "explanation": "To find the tiles."}).as_object().cloned().expect("an object");
    let action = Action::new(&toolbox, "memory-search", args, None, Labels::USER);
    let action = action.expect("a proper action");
    let scope = engine.scope(&SessionId("chat".into()), None, true);
    let facts = Facts::default();
    let tool = toolbox.get("memory-search").expect("a known tool");
    let case = Case { action: &action, tool, scope: &scope, facts: &facts, set_off: Sensor::UserInput };
    let Judgement::Cleared(cleared) = judge(&standard(Vec::new()), case, None) else { panic!("searching passes") };
    engine.intent(&engine.new_turn(), &cleared).await.expect("it is stored");
    engine.close().await;
    for expected in [1, 0] {
        let engine = home.engine().await;
        let lines = engine.log_lines(50);
        let found = lines.iter().filter(|line| {
            line.text.starts_with("an earlier session ended while this was being done: Search memory for “tiles”")
        });
        assert_eq!(found.count(), expected, "it is reported once: {lines:?}");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_without_the_right_to_propose_reaches_no_model() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done()]);
    let engine = home.served(&server, &["fake"], true).await;
    for text in ["mark the tiles done", "/plans", "/approve P1"] {
        let from = Origin { source: Source::Gateway, rights: Rights::NONE, ..origin() };
        let finished = engine.ask(Ask { origin: from, ..ask(text) }, engine.new_turn(), &mut |_| {}).await;
        assert_eq!(finished.report.notice.as_deref(), Some("This channel may not ask for anything."));
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_of_a_turn_that_was_stopped_is_withdrawn() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done()]);
    // The turn is stopped at the very moment when its plan is parked.
    let running: Arc<std::sync::OnceLock<tokio::task::AbortHandle>> = Arc::default();
    let handle = running.clone();
    *home.notify.lock().expect("not poisoned") = Arc::new(move |notice| {
        if matches!(notice, Notice::Parked(_))
            && let Some(handle) = handle.get()
        {
            handle.abort();
        }
    });
    let engine = home.served(&server, &["fake"], true).await;
    let (turn, asking) = (engine.new_turn(), engine.clone());
    let (go, wait) = tokio::sync::oneshot::channel();
    let name = turn.clone();
    let task = tokio::spawn(async move {
        wait.await.expect("it goes on");
        asking.ask(ask("the tiles are ordered"), name, &mut |_| {}).await
    });
    running.set(task.abort_handle()).expect("it is set once");
    go.send(()).expect("it waits");
    assert!(soon(task).await.is_err(), "it was stopped");
    let plan = waiting(&engine);
    let _ = engine.interrupted(&turn, origin().session, "the tiles".into(), engine.clock.now()).await;
    let withdrawn = PlanStatus::Denied("the turn that asked for it was stopped".to_string());
    assert_eq!(status(&engine, &plan), withdrawn);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_without_its_conversation_can_be_denied_and_not_approved() {
    let home = Home::new(&[("home.org", TILES)]);
    let engine = home.engine().await;
    home.read(&engine).await;
    let toolbox = Toolbox::builtin();
    let args = why(json!({"id": "tiles", "state": "DONE"})).as_object().cloned().expect("an object");
    let action = Action::new(&toolbox, "org-set-todo", args, None, Labels::USER).expect("a proper action");
    let trace = passepartout::domain::gate::Trace { action: action.hash(), opinions: Vec::new() };
    let (session, turn) = (origin().session, engine.new_turn());
    let (call, project) = ("c1".into(), home.project(""));
    let parking = Parking {
        action,
        facts: Facts::default(),
        trace,
        session,
        turn,
        call,
        project,
        step: 0,
        tried: None,
        privacy: Privacy::Open,
    };
    let plan = engine.park(parking).await.expect("it is kept");
    let refused = home.approve(&engine, &plan).await.expect_err("it cannot go on");
    assert!(refused.contains("is not in the store, so it cannot go on"), "{refused}");
    assert_eq!(status(&engine, &plan), PlanStatus::Pending);
    let denied = home.deny(&engine, &plan, "").await.expect("the denial counts");
    assert_eq!(denied.report.notice.as_deref(), Some("Nothing was done."));
    assert_eq!(status(&engine, &plan), PlanStatus::Denied(String::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmation_holds_for_one_name_at_one_address() {
    let home = Home::new(&[("home.org", TILES)]);
    let (here, there) = (FakeServer::start([says(&["Hello."])]), FakeServer::start([says(&["Never."])]));
    let engine = home.served(&here, &["fake"], false).await;
    let _ = home.ask(&engine, "hello").await;
    home.approve(&engine, &waiting(&engine)).await.expect("the approval counts");
    engine.close().await;
    let engine = home.served(&there, &["fake"], false).await;
    let (asked, _) = home.ask(&engine, "hello").await;
    assert_eq!((asked.report.ending, there.connections()), (Ending::Parked, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_in_notes_are_masked_wherever_they_leave_the_store() {
    // Written in two halves: no whole secret of any shape stands in this project.
    let token = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    let text = format!("* Router\n:PROPERTIES:\n:ID: router\n:END:\nThe token of the router is {token} for now.\n");
    let home = Home::new(&[("home.org", &text)]);
    let server = FakeServer::start([
        says(&["Hello."]),
        calls(&[("c1", "memory-read", why(json!({"id": "router"})))]),
        calls(&[("c2", "memory-search", why(json!({"query": "token of the router"})))]),
        calls(&[("c3", "read-file", why(json!({"path": home.file("home.org")})))]),
        says(&["I see."]),
    ]);
    let engine = home.served(&server, &["fake"], false).await;
    engine.focus_at(&home.file("home.org"), 3);
    let _ = home.ask(&engine, "what is the token of the router?").await;
    let plan = waiting(&engine);
    assert!(!plan.body.contains(&token) && !plan.action.text("sent").unwrap_or_default().contains(&token));
    home.approve(&engine, &plan).await.expect("the approval counts");
    let _ = home.ask(&engine, "look again for the token of the router").await;
    assert_eq!(server.requests().len(), 5);
    for request in server.requests() {
        assert!(!request.body.contains(&token), "a secret left: {}", request.body);
        assert!(request.body.contains("Router"), "what is no secret is told");
    }
    for line in engine.log_lines(100) {
        assert!(!line.text.contains(&token), "{}", line.text);
    }
    engine.close().await;
    let engine = home.engine().await;
    let (_, streamed) = home.ask(&engine, "what is the token of the router?").await;
    assert!(streamed.contains("The token of the router is") && !streamed.contains(&token), "{streamed}");
}

/// An editor in which every file is open, and which never comes back from an edit.
struct Stuck {
    text: &'static str,
    asked: tokio::sync::Notify,
}

#[async_trait::async_trait]
impl Editor for Stuck {
    async fn buffer(&self, _file: &str) -> Result<Option<Buffer>, String> {
        Ok(Some(Buffer { text: self.text.into(), tick: 1, read_only: false }))
    }

    async fn edit(&self, _file: &str, _tick: i64, _splices: Vec<Splice>) -> Result<(), String> {
        self.asked.notify_one();
        std::future::pending().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_act_whose_end_nobody_saw_is_told_at_the_next_start() {
    let home = Home::new(&[("home.org", TILES)]);
    let stuck = Arc::new(Stuck { text: TILES, asked: tokio::sync::Notify::new() });
    *home.editor.lock().expect("not poisoned") = stuck.clone();
    let server = FakeServer::start([mark_done()]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "the tiles are ordered").await;
    let plan = waiting(&engine);
    let (deciding, id, shown) = (engine.clone(), plan.id.clone(), plan.shown());
    let task = tokio::spawn(async move {
        let decided = Decided::Approve { shown };
        deciding.decide(&origin(), &id.0, decided, deciding.new_turn(), &mut |_| {}).await.is_ok()
    });
    soon(stuck.asked.notified()).await;
    // As if the program ended here: nothing more reaches the store.
    engine.close().await;
    task.abort();
    assert!(soon(task).await.is_err());
    *home.editor.lock().expect("not poisoned") = Arc::new(NoEditor);
    let engine = home.served(&server, &["fake"], true).await;
    let lines: Vec<_> = engine.log_lines(50).into_iter().map(|line| line.text).collect();
    let told = "an earlier session ended while this was being done: Mark “Order tiles” DONE; look whether it was";
    assert!(lines.iter().any(|line| line == told), "{lines:?}");
    let PlanStatus::Failed(why) = status(&engine, &plan) else { panic!("{:?}", status(&engine, &plan)) };
    assert!(why.contains("look whether it was done"), "{why}");
    assert!(home.approve(&engine, &plan).await.is_err(), "an approval counts once");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_run_confined_and_their_output_goes_back() {
    let home = Home::new(&[("home.org", TILES)]);
    std::fs::write(home.project("kept.txt"), "seventeen\n").expect("a file");
    let shell = |id, command: &str| calls(&[(id, "shell", why(json!({ "command": command })))]);
    let server = FakeServer::start([
        shell("c1", "cat kept.txt"),
        shell("c2", "echo eighteen > new.txt"),
        says(&["It is written."]),
        shell("c3", &format!("cat {}", home.file("home.org"))),
        says(&["I see."]),
    ]);
    let engine = home.served(&server, &["fake"], true).await;
    let (asked, _) = home.ask(&engine, "count on").await;
    if let Confined::Nothing(missing) | Confined::Fewer { missing, .. } = engine.probe_confinement().await {
        skipped(format_args!("commands cannot be confined here: {missing}"));
        return;
    }
    assert_eq!(asked.report.ending, Ending::Parked, "reading passes, writing asks");
    assert_eq!(sent(&server, "tool"), ["Exit status 0.\n--- output ---\nseventeen"]);
    assert!(!std::path::Path::new(&home.project("new.txt")).exists());
    let done = home.approve(&engine, &waiting(&engine)).await.expect("the approval counts");
    assert_eq!(
        (done.report.text.as_str(), done.report.changed.len()),
        ("It is written.", 1),
        "{:?}",
        done.report.deeds
    );
    assert_eq!(std::fs::read_to_string(home.project("new.txt")).expect("it was written"), "eighteen\n");
    let (finished, _) = home.ask(&engine, "read the notes by a command").await;
    for plan in engine.plans(false) {
        home.approve(&engine, &plan).await.expect("the approval counts");
    }
    let told = server.requests().last().map(|request| request.body.clone()).unwrap_or_default();
    assert!(!told.contains("The white ones"), "the memex is not there for a command: {:?}", finished.report.deeds);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_a_turn_fails_after_an_act_memory_is_as_the_files_are() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done()]);
    let engine = home
        .engine_with(|config| {
            provide(config, &[("fake", &server, true)], &["fake"]);
            config.permissions.insert("org-set-todo".into(), passepartout::domain::scope::Level::Allow);
        })
        .await;
    home.read(&engine).await;
    let began = engine.head();
    let (finished, _) = home.ask(&engine, "the tiles are ordered").await;
    assert_eq!(finished.report.ending, Ending::Failed, "the script ends, and the server with it");
    assert_eq!(finished.report.changed, [home.file("home.org")]);
    let node = engine.view().get(&NodeId::new("tiles")).expect("the heading is in memory");
    assert_eq!(home.read_file("home.org"), node.text(), "what was done is not forgotten");
    let lines: Vec<_> = engine.log_lines(50).into_iter().map(|line| line.text).collect();
    let told = format!(
        "the turn failed; memory was at operation {} when it began and is at {} now, as the files are",
        began.0,
        engine.head().0
    );
    assert!(lines.contains(&told), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_plan_is_carried_out_in_the_project_it_was_shown_for() {
    let home = Home::new(&[("home.org", TILES)]);
    let work = home.folder.path().canonicalize().expect("it is there").join("work");
    std::fs::create_dir_all(work.join(".git")).expect("a project");
    let write = |id, text: &str| calls(&[(id, "write-file", why(json!({"path": "note.txt", "content": text})))]);
    for edited in [false, true] {
        let server = FakeServer::start([write("c1", "one\n"), write("c2", "two\n"), says(&["Both."])]);
        let start = || {
            home.engine_with(|config| {
                provide(config, &[("fake", &server, true)], &["fake"]);
                config.project = None;
            })
        };
        let mut engine = start().await;
        let asking = Ask { folder: Some(work.join("chats")), ..ask("write it down") };
        std::fs::create_dir_all(work.join("chats")).expect("a folder");
        let asked = engine.ask(asking, engine.new_turn(), &mut |_| {}).await;
        assert_eq!(asked.report.ending, Ending::Parked);
        for text in ["one\n", "two\n"] {
            engine.close().await;
            engine = start().await;
            let mut plan = waiting(&engine);
            if edited {
                let args = plan.action.args().clone();
                plan = engine.edit_plan(&origin(), &plan.id.0, args).await.expect("it is judged anew");
            }
            home.approve(&engine, &plan).await.expect("the approval counts");
            assert!(matches!(status(&engine, &plan), PlanStatus::Done(_)), "{:?}", status(&engine, &plan));
            assert_eq!(std::fs::read_to_string(work.join("note.txt")).expect("it was written"), text);
        }
        engine.close().await;
    }

    // A project that is gone is not replaced by another place.
    let server = FakeServer::start([calls(&[("c1", "shell", why(json!({"command": "touch here"})))])]);
    let engine = home
        .engine_with(|config| {
            provide(config, &[("fake", &server, true)], &["fake"]);
            config.project = None;
        })
        .await;
    let asking = Ask { folder: Some(work.clone()), ..ask("touch it") };
    let _ = engine.ask(asking, engine.new_turn(), &mut |_| {}).await;
    let plan = waiting(&engine);
    std::fs::rename(&work, work.with_file_name("elsewhere")).expect("it is moved");
    let refused = home.approve(&engine, &plan).await.expect_err("the project is gone");
    assert!(refused.contains("work") && refused.contains("ask again"), "{refused}");
    assert_eq!(status(&engine, &plan), PlanStatus::Pending);
}

#[tokio::test(flavor = "multi_thread")]
async fn slash_commands_reach_no_model() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done(), says(&["It is done."])]);
    let engine = home.served(&server, &["fake"], true).await;
    assert_eq!(home.ask(&engine, "/plans").await.1, "No plan waits.");
    let _ = home.ask(&engine, "the tiles are ordered").await;
    let plan = waiting(&engine);
    assert!(home.ask(&engine, "/plans").await.1.starts_with(&format!("- {}: Mark “Order tiles” DONE", plan.id)));
    assert!(home.ask(&engine, "/help").await.1.contains("/approve PLAN"));
    assert!(home.ask(&engine, "/approve P000000").await.1.contains("there is no plan P000000"));
    for command in ["/approve", "/deny"] {
        let said = home.ask(&engine, command).await.1;
        assert!(said.contains("name the plan; the plans are listed by /plans"), "{command}: {said}");
    }
    let unknown = home.ask(&engine, "/foo bar").await.1;
    assert!(unknown.starts_with("There is no “/foo”.\n- /plans"), "{unknown}");
    assert_eq!(server.requests().len(), 1);
    let (done, streamed) = home.ask(&engine, &format!("/approve {}", plan.id.0.to_lowercase())).await;
    assert_eq!((done.report.ending, streamed.as_str()), (Ending::Answered, "It is done."));
    assert!(home.read_file("home.org").contains("DONE Order tiles"));
}

#[test]
fn no_project_shows_commands_what_memory_hides() {
    let home = Home::new(&[("a.org", "* A\n")]);
    let config = home.config();
    let memex = config.directories[0].clone();
    std::fs::create_dir(memex.join("below")).unwrap();
    let link = memex.with_file_name("link");
    std::os::unix::fs::symlink(memex.join("below"), &link).unwrap();
    let parent = memex.parent().unwrap().to_path_buf();
    for (path, words) in [
        (memex.clone(), Some("it is a memex folder")),
        (memex.join("below"), Some("it lies in the memex")),
        (link, Some("it lies in the memex")),
        (parent, Some("lies in it")),
        (config.home.clone(), Some("it holds everything you have")),
        (config.project.clone().unwrap(), None),
    ] {
        let objection = passepartout::edge::project::objection(&config, &path);
        match words {
            Some(words) => assert!(objection.as_ref().is_some_and(|o| o.contains(words)), "{path:?}: {objection:?}"),
            None => assert_eq!(objection, None, "{path:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memex_behind_a_link_is_one_memex() {
    let home = secret_home();
    let real = home.config().directories[0].clone();
    let link = real.with_file_name("org");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let typed = |name: &str| link.join(name).to_string_lossy().into_owned();
    let server = FakeServer::start([
        says(&["Hello."]),
        calls(&[("c1", "read-file", why(json!({"path": typed("file.org")})))]),
        mark_done(),
    ]);
    let engine = home
        .engine_with(|config| {
            config.directories = vec![link.clone()];
            provide(config, &[("fake", &server, false)], &["fake"]);
        })
        .await;
    home.read(&engine).await;
    assert!(engine.view().document(&home.file("file.org")).is_some(), "memory names files canonically");
    let (id, _) = engine.focus_at(&typed("home.org"), 15).expect("a point by the name that was typed");
    assert_eq!(id, NodeId::new("tiles"));
    let _ = home.ask(&engine, "hello").await;
    let plan = waiting(&engine);
    home.approve(&engine, &plan).await.expect("the approval counts");
    let _ = home.ask(&engine, "what does the file say? then mark the tiles as done").await;
    for request in server.requests() {
        assert!(!request.body.contains(CANARY), "a private note left: {}", request.body);
    }
    let plan = waiting(&engine);
    home.approve(&engine, &plan).await.expect("the approval counts");
    assert!(home.read_file("home.org").contains("** DONE Order tiles"), "{}", home.read_file("home.org"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_as_private_as_its_text_whatever_memory_knows() {
    let secret = "* Health :private:\nThe result is ZANZIBAR7.\n";
    let home = Home::new(&[("home.org", TILES), ("later.org", "* Health\nNothing yet.\n")]);
    std::fs::write(home.project("unknown.org"), secret).unwrap();
    std::fs::write(home.project("broken.org"), b"* Health :private:\n\xff\xfe ZANZIBAR7\n").unwrap();
    std::fs::write(home.project("copy.org~"), secret).unwrap();
    std::os::unix::fs::symlink(home.project("unknown.org"), home.project("link.org")).unwrap();
    let read = |id: &'static str, path: String| calls(&[(id, "read-file", why(json!({"path": path})))]);
    let (later, names) = (home.file("later.org"), ["unknown.org", "broken.org", "link.org", "copy.org~"]);
    for file in names.map(|name| home.project(name)).into_iter().chain([later.clone()]) {
        let server = FakeServer::start([says(&["Hello."]), read("c1", file.clone()), says(&["I see."])]);
        let engine = home.served(&server, &["fake"], false).await;
        std::fs::write(&later, secret).unwrap();
        let _ = home.ask(&engine, "hello").await;
        for plan in engine.plans(false) {
            home.approve(&engine, &plan).await.expect("the approval counts");
        }
        let (finished, _) = home.ask(&engine, "read it").await;
        assert_eq!(finished.report.deeds.len(), 1, "{file}");
        assert_eq!(finished.report.deeds[0].outcome, "refused", "{file}");
        assert!(server.requests().iter().all(|request| !request.body.contains(CANARY)), "{file} left");
        engine.close().await;
        std::fs::write(&later, "* Health\nNothing yet.\n").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_carries_out_is_shown_and_bound() {
    let home = Home::new(&[("home.org", TILES)]);
    let files = [
        ("build.sh", "python3 inner.py\n"),
        ("inner.py", "print('inner')\n"),
        ("job.py", "print('job')\n"),
        ("Makefile", "all:\n\techo made\n"),
        ("x", "#!/usr/bin/env python3\nprint('x')\n"),
        ("notes.txt", "apples\n"),
    ];
    for (command, changed, shown) in [
        ("bash build.sh", "build.sh", true),
        ("bash build.sh", "inner.py", true),
        ("python3 job.py", "job.py", true),
        ("env -i timeout 9 python3 job.py", "job.py", true),
        ("make", "Makefile", true),
        ("./x", "x", true),
        ("cp notes.txt copy.txt", "notes.txt", false),
    ] {
        for (name, text) in files {
            std::fs::write(home.project(name), text).unwrap();
        }
        let shell = calls(&[("c1", "shell", why(json!({ "command": command })))]);
        let server = FakeServer::start([shell, says(&["I see."])]);
        let engine = home.served(&server, &["fake"], true).await;
        let _ = home.ask(&engine, "run it").await;
        let plan = waiting(&engine);
        let text = files.iter().find(|(name, _)| *name == changed).unwrap().1;
        let bars: String = text.lines().map(|line| format!("  | {line}\n")).collect();
        let runs = format!("runs: {}\n{bars}", home.project(changed));
        assert_eq!(plan.body.contains(&runs), shown, "{command}: {}", plan.body);
        std::fs::write(home.project(changed), "echo swapped > swapped\n").unwrap();
        let _ = home.approve(&engine, &plan).await;
        assert!(matches!(status(&engine, &plan), PlanStatus::Stale(_)), "{command}: {:?}", status(&engine, &plan));
        assert!(!std::path::Path::new(&home.project("swapped")).exists(), "{command}");
        engine.close().await;
    }
}

/// Ways by which a command reads private notes of its project; each is asked for in one conversation.
const READINGS: [&str; 6] = [
    "cat unknown.org",
    "grep -r . .",
    "sh reads.sh",
    "cat link.org hard.txt kept.org~",
    "cat broken.org deep/archive.org_archive",
    "git show HEAD:unknown.org; git log -p --all",
];

/// A project that holds private notes under several names, and one of them in the history of git.
fn notes_in_project() -> Home {
    let secret = "* Health :private:\nThe result is ZANZIBAR7.\n";
    let home = Home::new(&[("home.org", TILES)]);
    std::fs::create_dir(home.project("deep")).unwrap();
    for name in ["unknown.org", "deep/archive.org_archive", "kept.org~"] {
        std::fs::write(home.project(name), secret).unwrap();
    }
    std::fs::write(home.project("broken.org"), b"* Health :private:\n\xff\xfe ZANZIBAR7\n").unwrap();
    std::fs::write(home.project("open.org"), "* Garden\nThe apples are ripe.\n").unwrap();
    std::fs::write(home.project("reads.sh"), "cat unknown.org deep/*\n").unwrap();
    std::os::unix::fs::symlink(home.project("unknown.org"), home.project("link.org")).unwrap();
    std::fs::hard_link(home.project("unknown.org"), home.project("hard.txt")).unwrap();
    for words in [
        &["init", "-q"][..],
        &["add", "unknown.org"],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "notes"],
    ] {
        let ran = std::process::Command::new("git").args(words).current_dir(home.project("")).status();
        assert!(ran.is_ok_and(|status| status.success()), "git {words:?}");
    }
    home
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_shows_private_notes_to_a_model_elsewhere() {
    let home = notes_in_project();
    for command in READINGS.into_iter().chain(["cat open.org"]) {
        let shell = calls(&[("c1", "shell", why(json!({ "command": command })))]);
        let server = FakeServer::start([says(&["Hello."]), shell, says(&["I see."]), says(&["I see."])]);
        let engine = home.served(&server, &["fake"], false).await;
        if let Confined::Nothing(missing) | Confined::Fewer { missing, .. } = engine.probe_confinement().await {
            skipped(format_args!("commands cannot be confined here: {missing}"));
            return;
        }
        let _ = home.ask(&engine, "hello").await;
        for plan in engine.plans(false) {
            home.approve(&engine, &plan).await.expect("the approval counts");
        }
        let (finished, _) = home.ask(&engine, "read it").await;
        for plan in engine.plans(false) {
            home.approve(&engine, &plan).await.expect("the approval counts");
        }
        let bodies: Vec<_> = server.requests().iter().map(|request| request.body.clone()).collect();
        assert!(bodies.iter().all(|body| !body.contains(CANARY)), "{command}: {:?}", bodies.last());
        let apples = bodies.iter().any(|body| body.contains("apples"));
        assert_eq!(apples, command.contains("open") || command.contains("grep"), "{command}: {finished:?}");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_whose_command_could_read_private_notes_stays_private() {
    let home = notes_in_project();
    for command in READINGS {
        let shell = calls(&[("c1", "shell", why(json!({ "command": command })))]);
        let server = FakeServer::start([shell, says(&["I see."]), says(&["I see."])]);
        let engine = home.served(&server, &["fake"], true).await;
        if let Confined::Nothing(missing) | Confined::Fewer { missing, .. } = engine.probe_confinement().await {
            skipped(format_args!("commands cannot be confined here: {missing}"));
            return;
        }
        let _ = home.ask(&engine, "read it").await;
        for plan in engine.plans(false) {
            home.approve(&engine, &plan).await.expect("the approval counts");
        }
        assert!(
            (engine.known_privacy(&origin().session) == passepartout::domain::label::Privacy::Private),
            "{command}"
        );
        engine.close().await;
        std::fs::remove_dir_all(home.store()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_store_a_conversation_that_went_before_is_taken_for_private() {
    let home = Home::new(&[("home.org", TILES)]);
    let _first = home.engine().await;
    let far = FakeServer::start([]);
    let mut config = home.config();
    provide(&mut config, &[("far", &far, false)], &["far"]);
    let boot = Boot {
        config,
        vault: Vault::empty(),
        editor: Arc::new(NoEditor),
        clock: home.clock.clone(),
        notify: Arc::new(|_| {}),
        keep: Keep::OnDisk,
    };
    let engine = start(boot).await.expect("it goes on without a store");
    assert!(engine.store_trouble().is_some(), "the first engine has the store");
    let said =
        Said { role: Role::Assistant, text: format!("The result is {CANARY}."), privacy: Privacy::Open, aside: false };
    let finished = engine.ask(Ask { history: vec![said], ..ask("go on") }, engine.new_turn(), &mut |_| {}).await;
    assert!(finished.report.notice.as_deref().is_some_and(|n| n.contains("never leave this machine")));
    assert!(
        engine.plans(false).is_empty()
            && (engine.known_privacy(&origin().session) == passepartout::domain::label::Privacy::Private)
    );
    let other = Origin { session: SessionId("other".to_string()), ..origin() };
    let finished = engine.ask(Ask { origin: other, ..ask("hello") }, engine.new_turn(), &mut |_| {}).await;
    assert_eq!(finished.report.ending, Ending::Parked, "a new conversation is not: {:?}", finished.report.notice);
    assert!(far.requests().is_empty());
}
