//! Privacy through whole turns: what acts on private notes say, where they ask, and what records keep of them.

use crate::support::engine::{Home, provide, tree, waiting};
use crate::support::fake_server::{Dialect, FakeCall, FakeServer, Reply};
use passepartout::domain::action::Action;
use passepartout::domain::gate::clearance::{Judgement, judge};
use passepartout::domain::gate::plan::FlightPlan;
use passepartout::domain::gate::standard::standard;
use passepartout::domain::gate::{Case, Facts};
use passepartout::domain::id::SessionId;
use passepartout::domain::label::{Labels, Privacy};
use passepartout::domain::port::Journal;
use passepartout::domain::signal::Sensor;
use passepartout::domain::tool::Toolbox;
use passepartout::domain::turn::Ending;
use serde_json::{Value, json};

/// Stands in private notes only.
const CANARY: &str = "ZANZIBAR7";

fn home() -> Home {
    let health = "* Health :private:\n** Doctor\n:PROPERTIES:\n:ID: doctor\n:END:\nThe result is ZANZIBAR7.\n\
                  * Shopping\n:PROPERTIES:\n:ID: shopping\n:END:\nMilk.\n";
    Home::new(&[("health.org", health)])
}

fn call<'a>(id: &'a str, tool: &'a str, mut args: Value) -> FakeCall<'a> {
    args["explanation"] = json!("The user asked for exactly this.");
    (id, tool, args)
}

fn calls(calls: &[FakeCall<'_>]) -> Reply {
    Reply::answer(Dialect::OpenAi, &[], calls)
}

fn says(text: &str) -> Reply {
    Reply::answer(Dialect::OpenAi, &[text], &[])
}

fn dispatcher(plan: &FlightPlan) -> String {
    let asks = plan.asks();
    asks.into_iter().find(|(gate, _)| gate == "dispatcher").map(|(_, why)| why).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_private_notes_ask_by_name_before_they_stand_openly() {
    let home = home();
    let add = json!({"title": "Result", "parent": "shopping", "body": "It is ZANZIBAR7."});
    let server = FakeServer::start([
        calls(&[call("c1", "memory-read", json!({"id": "doctor"}))]),
        calls(&[call("c2", "org-add-heading", add.clone())]),
        says("It is noted."),
    ]);
    let engine = home.served(&server, &["fake"], true).await;
    let (finished, _) = home.ask(&engine, "note the result of the doctor under shopping").await;
    assert_eq!(finished.report.ending, Ending::Parked, "{:?}", finished.report.notice);
    let plan = waiting(&engine);
    let why = "privacy tags: Private notes led to this text, and “Shopping” is not private.";
    assert_eq!(dispatcher(&plan), why);
    // The trace of the turn says the same, and the log says what kind of act on which file, and nothing of the text.
    let trace =
        finished.report.deeds.iter().find_map(|deed| deed.plan.as_ref().and(deed.trace.clone())).expect("a trace");
    assert!(trace.opinions.iter().any(|o| o.verdict.reason().is_some_and(|reason| reason.text == why)));
    home.approve(&engine, &plan).await.expect("the approval counts");
    assert!(home.read_file("health.org").contains("** Result\nIt is ZANZIBAR7.\n"));
    for line in engine.log_lines(1000) {
        assert!(!line.text.contains(CANARY) && !line.text.contains("Result"), "{}", line.text);
    }

    // A conversation that drew on nothing private asks as every edit does, without that reason.
    engine.close().await;
    let home = Home::new(&[("shopping.org", "* Shopping\n:PROPERTIES:\n:ID: shopping\n:END:\nMilk.\n")]);
    let server = FakeServer::start([calls(&[call("c1", "org-add-heading", add)])]);
    let engine = home.served(&server, &["fake"], true).await;
    let (finished, _) = home.ask(&engine, "note that under shopping").await;
    assert_eq!(finished.report.conversation.labels.privacy, Privacy::Open);
    assert_eq!(dispatcher(&waiting(&engine)), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_typed_is_no_private_text_though_the_chat_is_private() {
    let home = home();
    let engine = home.engine_with(|_| {}).await;
    home.read(&engine).await;
    let (told, _) = home.ask(&engine, "find doctor").await;
    assert_eq!(told.report.conversation.labels.privacy, Privacy::Private, "{}", told.report.text);
    let (finished, _) = home.ask(&engine, "add a todo buy bread under Shopping").await;
    assert_eq!(finished.report.ending, Ending::Parked, "every edit asks: {:?}", finished.report.notice);
    let plan = waiting(&engine);
    assert_eq!(dispatcher(&plan), "");
    // Its labels stay private for the log and for what becomes of it.
    assert_eq!(plan.action.labels().privacy, Privacy::Private);
    home.deny(&engine, &plan, "no").await.expect("the denial counts");
    let (_, _) = home.ask(&engine, "move Doctor under Shopping").await;
    assert!(dispatcher(&waiting(&engine)).contains("no longer be private"), "that reason stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heading_that_leaves_its_private_parent_is_named() {
    let home = home();
    let server = FakeServer::start([]);
    let engine = home.engine_with(|config| provide(config, &[("fake", &server, true)], &["fake"])).await;
    home.read(&engine).await;
    for (tool, args, name) in [
        ("org-move", json!({"id": "doctor", "parent": "shopping"}), Some("Doctor")),
        ("org-move", json!({"id": "doctor", "file": home.file("health.org")}), Some("Doctor")),
        ("org-move", json!({"id": "doctor", "file": home.file("work.org")}), Some("Doctor")),
        ("write-file", json!({"path": home.file("health.org"), "content": "* Health\n** Doctor\n"}), Some("Health")),
        ("org-move", json!({"id": "shopping", "parent": "doctor"}), None),
        ("org-set-todo", json!({"id": "doctor", "state": "DONE"}), None),
    ] {
        server.push(calls(&[call("c1", tool, args.clone())]));
        let _ = home.ask(&engine, "do it").await;
        let plan = waiting(&engine);
        let expected = name.map(|name| format!("privacy tags: “{name}” would no longer be private."));
        let found = dispatcher(&plan);
        match expected {
            Some(expected) => assert!(found.contains(&expected), "{args}: {found}"),
            None => assert!(!found.contains("no longer be private"), "{args}: {found}"),
        }
        server.push(says("As you like."));
        home.deny(&engine, &plan, "no").await.expect("the denial counts");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_a_setup_file_asks_for_the_notes_that_it_opens() {
    let home = Home::new(&[
        ("a.org", "#+SETUPFILE: base.setup\n* Pay\n"),
        ("b.org", "#+SETUPFILE: base.org\n* Rent\n"),
        ("c.org", "#+SETUPFILE: later.setup\n* Debts\n"),
        ("base.setup", "#+FILETAGS: :private:\n"),
        ("base.org", "#+SETUPFILE: base.setup\n"),
        ("other.setup", "#+FILETAGS: :private:\n"),
    ]);
    let server = FakeServer::start([]);
    let engine = home.engine_with(|config| provide(config, &[("fake", &server, true)], &["fake"])).await;
    home.read(&engine).await;
    for (name, text, opens) in [
        ("base.setup", "#+FILETAGS: :work:\n", true),
        ("base.setup", "#+FILETAGS: :work:private:\n", false),
        ("base.setup", "* Health :private:\n", false),
        ("base.org", "#+TODO: A | B\n", true),
        // As long as it is missing, what names it is private.
        ("later.setup", "#+TODO: A | B\n", true),
        ("later.setup", "#+PROPERTY: PRIVACY private\n", false),
        // Nothing names it.
        ("other.setup", "#+TODO: A | B\n", false),
    ] {
        server.push(calls(&[call("c1", "write-file", json!({"path": home.file(name), "content": text}))]));
        let _ = home.ask(&engine, "tidy my settings").await;
        let plan = waiting(&engine);
        let found = dispatcher(&plan);
        assert_eq!(found.contains("would no longer be private"), opens, "{name}: {text}: {found}");
        server.push(says("As you like."));
        home.deny(&engine, &plan, "no").await.expect("the denial counts");
    }
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_record_of_a_private_act_says_what_kind_and_where_and_not_what() {
    let home = home();
    let engine = home.engine().await;
    home.read(&engine).await;
    let toolbox = Toolbox::builtin();
    let scope = engine.scope(&SessionId("chat".into()), None, true);
    let private = Labels { privacy: Privacy::Private, ..Labels::USER };
    for (tool, args, privacy) in [
        // Private by the conversation, and by what is read.
        ("memory-search", json!({"query": CANARY}), None),
        (
            "memory-read",
            json!({"id": format!("{}::*Health/{CANARY}", home.file("health.org"))}),
            Some(Privacy::Private),
        ),
    ] {
        let labels = if privacy.is_some() { Labels::USER } else { private };
        let args = args.as_object().cloned().expect("an object");
        let action = Action::new(&toolbox, tool, args, Some("To find the result."), labels).expect("well-formed");
        let facts = Facts { privacy, ..Facts::default() };
        let (tool, set_off) = (toolbox.get(tool).expect("a known tool"), Sensor::UserInput);
        let case = Case { action: &action, tool, scope: &scope, facts: &facts, set_off };
        let Judgement::Cleared(cleared) = judge(&standard(Vec::new()), case, None) else { panic!("reading passes") };
        engine.intent(&engine.new_turn(), &cleared).await.expect("it is stored");
    }
    engine.close().await;
    let kept = tree(&home.store()).into_iter().map(|(_, bytes)| String::from_utf8_lossy(&bytes).into_owned());
    let records: Vec<String> = kept.filter(|text| text.contains("memory-search")).collect();
    assert!(!records.is_empty(), "the records can be read as text, so that this test bites");
    let engine = home.engine().await;
    let lines: Vec<String> = engine.log_lines(50).into_iter().map(|line| line.text).collect();
    let begin = "an earlier session ended while this was being done: ";
    let mut told: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix(begin)).collect();
    told.sort_unstable();
    let place = format!("memory-read {}::*…; look whether it was", home.file("health.org"));
    assert_eq!(told, [&place, "memory-search; look whether it was"]);
    for text in &records {
        // The note itself is in the store, as part of memory; the records name neither title nor query.
        assert!(!text.contains(&format!("memory-search {CANARY}")) && !text.contains(&format!("Health/{CANARY}")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_the_log_is_told_with_nothing_that_is_less_private_than_it() {
    let home = Home::new(&[
        ("home.org", "* Boiler\nIt is from 1998.\n"),
        ("divorce.org", "#+FILETAGS: :private:\n* Letter\n"),
    ]);
    let edit = |name: &str, text: &str| {
        let args = json!({"path": home.file(name), "content": text});
        calls(&[call("c1", "write-file", args)])
    };
    let server = FakeServer::start([
        edit("divorce.org", "#+FILETAGS: :private:\n* Letter\nIt is sent.\n"),
        says("It is written."),
        edit("home.org", "* Boiler\nIt is from 1999.\n"),
        says("It is written."),
        says("It is from 1999."),
        says("It is from 1999."),
    ]);
    let engine = home.served(&server, &["fake"], true).await;
    for question in ["write that the letter is sent", "write that the boiler is from 1999"] {
        let _ = home.ask(&engine, question).await;
        home.approve(&engine, &waiting(&engine)).await.expect("the approval counts");
    }
    let log: Vec<String> = engine.log_lines(1_000).into_iter().map(|line| line.text).collect();
    for name in ["divorce.org", "home.org"] {
        assert!(log.contains(&format!("changed {}", home.file(name))), "{log:?}");
    }
    // With nothing private beside it: in sight is an open heading alone.
    let to = passepartout::edge::engine::focus::Turnabout::parse("focus Boiler").expect("a command of the focus");
    engine.move_focus(&crate::support::engine::origin(), to).await.expect("a human moves it");
    let ask = async |name: &str| {
        let session = SessionId(name.to_string());
        let origin = passepartout::domain::signal::Origin { session, ..crate::support::engine::origin() };
        let asked = crate::support::engine::ask_from(origin, "how old is the boiler?");
        let finished = engine.ask(asked, engine.new_turn(), &mut |_| {}).await;
        let told = server.requests().last().expect("it was asked").json()["messages"][0]["content"].to_string();
        (told, finished.report.conversation.labels.privacy)
    };
    let (told, privacy) = ask("narrow").await;
    assert_eq!(privacy, Privacy::Open);
    assert!(!told.contains("divorce.org"), "{told}");
    let (changed, moved) = (format!("changed {}", home.file("home.org")), "the focus was moved in chat");
    assert!(told.contains(&changed) && told.contains(moved), "{told}");
    // Beside what is as private, all of it is told.
    let to = passepartout::edge::engine::focus::Turnabout::parse("unfocus").expect("a command of the focus");
    engine.move_focus(&crate::support::engine::origin(), to).await.expect("a human moves it");
    let (told, privacy) = ask("wide").await;
    assert_eq!(privacy, Privacy::Private);
    assert!(told.contains(&format!("changed {}", home.file("divorce.org"))), "{told}");
}
