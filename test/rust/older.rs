//! A long chat, of which a client sends the newest part and names what is before it: all of it can be named and reopened.

use crate::prompts::{BOAT, says};
use crate::support::engine::{Home, ask, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use async_trait::async_trait;
use passepartout::domain::id::SessionId;
use passepartout::domain::label::Privacy;
use passepartout::domain::signal::{Role, Said};
use passepartout::domain::turn::earlier::Older;
use passepartout::edge::editor::{Buffer, Editor, Splice};
use passepartout::edge::engine::turns::Ask;
use serde_json::json;
use std::sync::Arc;

/// So many turns the chat has.
const TURNS: usize = 500;
/// So many of them are sent along, and so many before these are named at once.
const SENT: usize = 20;
const NAMED: usize = 100;

fn turn(n: usize, privacy: Privacy) -> Vec<Said> {
    let said = |role: Role, text: String| Said { role, text, privacy, aside: false };
    let answer = format!("In turn {n} it was said at length: {}.", "larch is a wood that lasts ".repeat(6));
    vec![said(Role::User, format!("Question {n} about the boat?")), said(Role::Assistant, answer)]
}

/// Names the turns before one, as many as are named at once.
fn before(n: usize) -> Older {
    let first = n.saturating_sub(NAMED).max(1);
    let named = |n: usize| (format!("t{n}"), format!("Question {n} about the boat?"));
    Older { turns: (first..n).map(named).collect(), more: first > 1 }
}

/// An Emacs with that chat; turn 3 of it is private.
struct Chat;

#[async_trait]
impl Editor for Chat {
    async fn buffer(&self, _: &str) -> Result<Option<Buffer>, String> {
        Ok(None)
    }

    async fn edit(&self, file: &str, _: i64, _: Vec<Splice>) -> Result<(), String> {
        Err(format!("{file} is open nowhere"))
    }

    async fn earlier_turn(&self, session: &SessionId, name: &str) -> Result<Vec<Said>, String> {
        let n = number(session, name)?;
        Ok(turn(n, if n == 3 { Privacy::Private } else { Privacy::Open }))
    }

    async fn turns_before(&self, session: &SessionId, name: &str) -> Result<Older, String> {
        Ok(before(number(session, name)?))
    }
}

fn number(session: &SessionId, name: &str) -> Result<usize, String> {
    let n = name.strip_prefix('t').and_then(|n| n.parse().ok());
    n.filter(|n| session.0 == "chat" && (1..=TURNS).contains(n)).ok_or("the chat has no such turn".to_string())
}

fn reopens(call: &str, args: serde_json::Value) -> Reply {
    let mut args = args;
    args["explanation"] = "It was said there.".into();
    Reply::answer(Dialect::OpenAi, &[], &[(call, "reopen-turn", args)])
}

/// Returns the texts of the results in a request, oldest first.
fn results(server: &FakeServer, request: usize) -> Vec<String> {
    let body = server.requests()[request].json();
    let messages = body["messages"].as_array().expect("messages").clone();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap_or_default().to_string()).collect()
}

fn question() -> Ask {
    let first = TURNS - SENT + 1;
    let history = (first..=TURNS).flat_map(|n| turn(n, Privacy::Open)).collect();
    Ask { history, older: before(first), ..ask("which wood?") }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_of_five_hundred_turns_is_named_and_reopened() {
    let home = Home::new(&[("boat.org", BOAT)]);
    let folder = home.config().settings.join("skills");
    std::fs::create_dir_all(&folder).expect("a folder");
    let own = "#+TITLE: House rules\n* Mandates\nNever order anything on a Sunday.\n";
    std::fs::write(folder.join("house.org"), own).expect("it is written");
    *home.editor.lock().expect("not poisoned") = Arc::new(Chat);
    let list = |call: &str, name: &str| reopens(call, json!({"turn": name, "before": true}));
    let server = FakeServer::start([
        says("one"),
        list("c1", "t381"),
        list("c2", "t281"),
        list("c3", "t181"),
        list("c4", "t81"),
        reopens("c5", json!({"turn": "t1"})),
        says("It lasts."),
    ]);
    let engine = home.served(&server, &["fake"], true).await;
    let _ = home.ask(&engine, "which wood?").await;
    let done = engine.ask(question(), engine.new_turn(), &mut |_| {}).await;
    assert_eq!(done.report.text, "It lasts.", "{:?}", done.report.notice);
    // The rules are those of the first turn, byte for byte.
    let system = |request: usize| server.requests()[request].json()["messages"][0]["content"].to_string();
    let stable = |text: String| text.split("Now it is ").next().map(str::to_string);
    assert!(system(0).contains("Never order anything on a Sunday."), "{}", system(0));
    assert_eq!(stable(system(0)), stable(system(1)));
    let body = server.requests()[1].json();
    let listed = body["messages"][1]["content"].as_str().expect("a list").to_string();
    assert!(listed.contains("- t480 “Question 480 about the boat?”"), "{listed}");
    assert!(listed.contains("(More before these are not listed.)"), "{listed}");
    let told = results(&server, 5);
    assert!(told[3].starts_with("- t1 “Question 1 about the boat?”"), "the first has none before it: {}", told[3]);
    for (result, (from, to)) in told.iter().zip([(281, 380), (181, 280), (81, 180), (1, 80)]) {
        assert!(result.contains(&format!("- t{from} ")) && result.contains(&format!("- t{to} ")), "{result}");
    }
    let read = results(&server, 6).pop().expect("it was read");
    let [asked, answered] = turn(1, Privacy::Open).try_into().expect("two");
    assert_eq!(read, format!("User:\n{}\n\nAssistant:\n{}", asked.text, answered.text), "as it was said");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_turn_that_lies_further_back_is_read_by_no_model_elsewhere() {
    let home = Home::new(&[("boat.org", BOAT)]);
    *home.editor.lock().expect("not poisoned") = Arc::new(Chat);
    let server = FakeServer::start([
        reopens("c1", json!({"turn": "t3"})),
        reopens("c2", json!({"turn": "t4"})),
        reopens("c3", json!({"turn": "t501"})),
        says("I cannot."),
    ]);
    let engine = home.served(&server, &["fake"], false).await;
    let _ = home.ask(&engine, "hello").await;
    engine.confirm_provider("fake", &format!("{}/v1/", server.url())).await.expect("it is stored");
    let plan = waiting(&engine);
    home.deny(&engine, &plan, "").await.expect("it is denied");
    let done = engine.ask(question(), engine.new_turn(), &mut |_| {}).await;
    assert_eq!(done.report.text, "I cannot.", "{:?}", done.report.notice);
    let told = results(&server, 3);
    assert!(told[0].contains("there is no earlier turn t3"), "{}", told[0]);
    assert!(told[1].contains("In turn 4 it was said"), "{}", told[1]);
    assert!(told[2].contains("there is no earlier turn t501"), "{}", told[2]);
    assert!(server.requests().iter().all(|request| !request.body.contains("In turn 3 it was said")));
}
