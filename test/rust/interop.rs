//! Clients that share nothing with this program but the protocol: SBCL, and Emacs Lisp without the module.

use crate::runtime::{Client, TILES, says};
use crate::support::engine::Home;
use crate::support::fake_server::FakeServer;
use crate::support::skip::skipped;
use std::path::Path;
use std::process::{Command, Output};

/// What any reader of Lisp could misread in a text.
const HARD: &[&str] = &[
    "He said “no”, \"no\" and \\no\\;",
    " #.(error \"read\") '(a . b) ?\\( |x| :y",
    " é 漢 😀 e\u{301}\n\ttab",
    " done",
];

/// Runs a client of `test/clients` with a program; `None` where the program is not installed.
fn client(program: &str, words: &[&str], file: &str, home: &Home, question: &str) -> Option<Output> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("test/clients").join(file);
    let run = Command::new(program).args(words).arg(file).arg(home.store().join("socket")).arg(question).output();
    run.ok()
}

/// Has a client ask something while an owner is there, and checks what both of them heard.
#[track_caller]
fn check(program: &str, words: &[&str], file: &str) {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([says(HARD), says(&["Second."])]);
    let mut owner = Client::start(&home, Some(&server), "\"fake\"");
    let question = "What is \"due\" \\ today, größer? 漢";
    let Some(ran) = client(program, words, file, &home, question) else {
        return skipped(format_args!("there is no {program} here"));
    };
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{program}: {said}");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), HARD.concat(), "{program}: {said}");
    let asked = server.requests()[0].json();
    assert!(asked["messages"].to_string().contains("größer? 漢"), "{program}: {asked}");
    // The owner heard nothing of it, and goes on.
    assert_eq!(owner.count("turn-done"), 0);
    owner.say("and mine?");
    let turn = owner.turn_done().text_at("turn").unwrap_or_default().to_string();
    assert_eq!(owner.streamed(&turn).concat(), "Second.");
}

#[test]
fn sbcl_asks_a_question_over_the_socket() {
    check("sbcl", &["--script"], "ask.lisp");
}

#[test]
fn emacs_without_the_module_asks_a_question_over_the_socket() {
    check("emacs", &["-Q", "--batch", "-l"], "ask.el");
}
