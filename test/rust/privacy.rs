//! Privacy through whole turns: what acts on private notes say, where they ask, and what records keep of them.

use crate::support::engine::{Home, provide, waiting};
use crate::support::fake_server::{Dialect, FakeCall, FakeServer, Reply};
use passepartout::domain::gate::plan::FlightPlan;
use passepartout::domain::label::Privacy;
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
        let _ = home.ask(&engine, "tidy my notes").await;
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
