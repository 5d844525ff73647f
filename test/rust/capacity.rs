//! How much of what a program asks is taken on at once: it counts, and nothing of it depends on how fast a machine is.

use crate::network::{Program, owner};
use crate::runtime::{TILES, payload_of, says, text};
use crate::support::engine::Home;
use crate::support::fake_server::{FakeServer, Reply};
use passepartout::domain::sexp::plist::{Plist, message};
use passepartout::domain::sexp::reader::Sexp;

/// An answer that begins and never ends.
fn endless() -> Reply {
    says(&["One moment.\n\n", "And here it is."]).silent_after("moment")
}

/// Sends an event in a conversation.
fn send_in(program: &mut Program, session: &str, sensor: &str, payload: Plist) {
    let meta = Plist::new().text("session-id", session);
    let event = message("event", payload.keyword("sensor", sensor)).plist("meta", meta);
    program.send(&event.build().to_string());
}

fn ask_in(program: &mut Program, session: &str, words: &str) {
    send_in(program, session, "user-input", Plist::new().text("text", words));
}

/// Returns how so many turns end, in the order in which they do: status and words.
fn ends(program: &mut Program, count: usize) -> Vec<(String, String)> {
    let end = |done: Sexp| {
        let text = |key: &str| done.text_at(key).unwrap_or_default().to_string();
        (text("status"), text("text"))
    };
    (0..count).map(|_| end(program.turn_done())).collect()
}

/// Returns the conversations in which an answer has begun.
fn begun(program: &Program) -> Vec<String> {
    let said = |m: &&Sexp| m.name_at("type") == Some("stream-chunk") && text(m, "text").contains("One moment.");
    let session = |m: &Sexp| m.get("meta").and_then(|meta| meta.text_at("session-id")).unwrap_or_default().to_string();
    program.heard.iter().filter(said).map(session).collect()
}

/// Takes messages until so many answers have begun.
fn until_begun(program: &mut Program, count: usize) {
    while begun(program).len() < count {
        assert!(program.next().is_some(), "it ended: {:?}", program.heard.last());
    }
}

#[test]
fn a_program_has_four_turns_under_way_and_what_it_asks_beyond_twenty_is_refused() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start((0..30).map(|_| endless()));
    let (mut owner, at) = owner(&home, Some(&server));
    let mut program = Program::join(&home, at, "");
    for n in 0..30 {
        ask_in(&mut program, &format!("c{n}"), "what is due?");
    }
    for (status, why) in ends(&mut program, 10) {
        assert_eq!(status, "failed");
        assert!(why.contains("20 questions of this client go on or wait already. Ask again"), "{why}");
    }
    until_begun(&mut program, 4);
    // Nothing else of the program is kept from coming through, nor anything of others.
    program.request("status", Plist::new());
    assert_eq!(server.requests().len(), 4, "the others wait");
    owner.say("what is due?");
    owner.wait("the user's own answer", |m| text(m, "text").contains("One moment."));
    assert_eq!(server.requests().len(), 5);
    // One that waits is stopped before it began, and behind one that goes on the next one begins.
    let going = begun(&program);
    let waiting = (0..20).map(|n| format!("c{n}")).find(|session| !going.contains(session)).expect("sixteen wait");
    send_in(&mut program, &waiting, "interrupt", Plist::new());
    assert_eq!(ends(&mut program, 1)[0].0, "interrupted");
    program.request("status", Plist::new());
    assert_eq!(server.requests().len(), 5, "none of the four has ended");
    send_in(&mut program, &going[0], "interrupt", Plist::new());
    assert_eq!(ends(&mut program, 1)[0].0, "interrupted");
    until_begun(&mut program, 5);
    assert_eq!(server.requests().len(), 6);
    assert!(!begun(&program).contains(&waiting));
    // With both there is room for two more.
    for n in 30..33 {
        ask_in(&mut program, &format!("c{n}"), "what is due?");
    }
    assert_eq!(ends(&mut program, 1)[0].0, "failed");
    let last = program.heard.last().and_then(|m| m.get("meta")).and_then(|meta| meta.text_at("session-id"));
    assert!(last.is_some_and(|session| session != "c30"), "{last:?}");
}

#[test]
fn what_waits_of_a_program_is_bounded_in_bytes_and_refused_in_its_order() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([endless(), says(&["Tiles."])]);
    let (_owner, at) = owner(&home, Some(&server));
    let mut program = Program::join(&home, at, "");
    ask_in(&mut program, "a", "what is due?");
    until_begun(&mut program, 1);
    // Three of these fit, and four do not.
    let large = "tiles ".repeat(370_000);
    for _ in 0..5 {
        ask_in(&mut program, "a", &large);
    }
    // In another conversation it is refused at once, and where others wait when its turn would have come.
    ask_in(&mut program, "b", &large);
    let refused = ends(&mut program, 1);
    let (status, why) = &refused[0];
    assert!(status == "failed" && why.contains("with 8 MB go on or wait already"), "{status}: {why}");
    let last = program.heard.last().expect("its end");
    assert_eq!(last.get("meta").and_then(|meta| meta.text_at("session-id")), Some("b"), "{}", payload_of(last));
    send_in(&mut program, "a", "interrupt", Plist::new().flag("waiting", true));
    send_in(&mut program, "a", "interrupt", Plist::new());
    let ended = ends(&mut program, 6);
    let statuses: Vec<&str> = ended.iter().map(|(status, _)| status.as_str()).collect();
    assert_eq!(statuses, ["interrupted", "interrupted", "interrupted", "interrupted", "failed", "failed"]);
    assert!(ended[5].1.contains("with 8 MB go on or wait already"), "{ended:?}");
    // What it took was given back.
    ask_in(&mut program, "b", "what is due?");
    assert_eq!(ends(&mut program, 1)[0].0, "answered");
    assert_eq!(server.requests().len(), 2, "nobody was asked what was refused or dropped");
}

#[test]
fn a_program_has_a_thousand_conversations_at_most() {
    let home = Home::new(&[("home.org", TILES)]);
    let (_owner, at) = owner(&home, None);
    let mut program = Program::join(&home, at, "");
    let help = |program: &mut Program, session: &str| {
        send_in(program, session, "user-command", Plist::new().text("line", "help"));
    };
    for n in 0..1_010 {
        help(&mut program, &format!("n{n}"));
    }
    let many = "this client has 1000 conversations, and may have no more";
    assert_eq!(ends(&mut program, 1_010).iter().filter(|(_, why)| why.contains(many)).count(), 10);
    // It goes on in one that it has, and one that it closed makes room for another.
    help(&mut program, "n7");
    assert_eq!(ends(&mut program, 1)[0].0, "answered");
    help(&mut program, "another");
    assert!(ends(&mut program, 1)[0].1.contains(many));
    send_in(&mut program, "n8", "interrupt", Plist::new().flag("closed", true));
    help(&mut program, "another");
    assert_eq!(ends(&mut program, 1)[0].0, "answered");
}
