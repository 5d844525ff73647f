//! The transcript of `docs/PROTOCOL.org`, replayed: a program says its lines, and the core must answer with the others.

use crate::network::{Program, cookie_of, meeting, owner};
use crate::peers::meanwhile;
use crate::runtime::{TILES, payload_of};
use crate::support::engine::Home;
use passepartout::domain::sexp::reader::Sexp;
use passepartout::edge::wire::proof::End;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// One line: who says it, and what.
struct Line {
    /// The program, and not the core.
    ours: bool,
    text: String,
    said: Sexp,
}

/// Returns the lines of the transcript, in order; a message may go over several.
fn lines() -> Vec<Line> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/PROTOCOL.org");
    let text = std::fs::read_to_string(file).expect("the document is there");
    let chapter = text.split("\n* A transcript\n").nth(1).expect("it has a transcript");
    let chapter = chapter.split("\n* ").next().unwrap_or_default();
    let block = chapter.split("#+begin_example\n").nth(1).and_then(|rest| rest.split("#+end_example").next());
    let mut found: Vec<(bool, String)> = Vec::new();
    for line in block.expect("it has an example").lines() {
        match (line.strip_prefix("C "), line.strip_prefix("S "), found.last_mut()) {
            (Some(text), _, _) => found.push((true, text.to_string())),
            (None, Some(text), _) => found.push((false, text.to_string())),
            (None, None, Some((_, text))) => {
                text.push(' ');
                text.push_str(line.trim());
            }
            (None, None, None) => panic!("a line begins with who says it: {line}"),
        }
    }
    let read = |(ours, text): (bool, String)| {
        let said = Sexp::read(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
        Line { ours, text, said }
    };
    found.into_iter().map(read).collect()
}

/// What names in capitals stand for: whatever is there, and the same wherever the name stands.
type Bound = BTreeMap<String, Sexp>;

/// Returns whether what was heard is what the transcript says, as far as its names leave it open.
fn fits(wanted: &Sexp, heard: &Sexp, bound: &mut Bound) -> bool {
    match (wanted, heard) {
        (Sexp::Symbol(name), _) => match bound.get(name.as_str()) {
            Some(known) => known == heard,
            None => {
                bound.insert(name.to_string(), heard.clone());
                true
            }
        },
        (Sexp::List(wanted), Sexp::List(heard)) => {
            wanted.len() == heard.len() && wanted.iter().zip(heard).all(|(wanted, heard)| fits(wanted, heard, bound))
        }
        _ => wanted == heard,
    }
}

/// Returns what is said, with what its names stand for.
fn filled(said: &Sexp, bound: &Bound) -> Sexp {
    match said {
        Sexp::Symbol(name) => bound.get(name.as_str()).unwrap_or_else(|| panic!("nothing is known of {name}")).clone(),
        Sexp::List(items) => Sexp::List(items.iter().map(|item| filled(item, bound)).collect()),
        other => other.clone(),
    }
}

/// Returns the next message that is no `:status` and no `:log`: these come whenever something changes.
fn next(program: &mut Program, heard: &mut VecDeque<Sexp>) -> Option<Sexp> {
    loop {
        let next = heard.pop_front().or_else(|| program.next())?;
        if !matches!(next.name_at("type"), Some("status" | "log")) {
            return Some(next);
        }
    }
}

/// Returns whether a message is a piece of an answer, and not its end.
fn is_piece(message: &Sexp) -> bool {
    let text = payload_of(message).text_at("text").unwrap_or_default();
    message.name_at("type") == Some("stream-chunk") && !text.is_empty()
}

/// Returns the next message; of an answer, which comes in as many pieces as it was made in, the last piece.
fn whole(program: &mut Program, heard: &mut VecDeque<Sexp>) -> Option<Sexp> {
    let mut told = next(program, heard)?;
    while is_piece(&told) {
        let follows = next(program, heard)?;
        if !is_piece(&follows) {
            heard.push_front(follows);
            break;
        }
        told = follows;
    }
    Some(told)
}

#[test]
fn what_the_transcript_of_the_protocol_says_is_what_is_said() {
    let home = Home::new(&[("home.org", TILES)]);
    let (mut owner, at) = owner(&home, None);
    let (mut program, greeting) = Program::connected(at);
    let meeting = meeting(&greeting, at);
    let cookie = cookie_of(&home);
    let text = |text: &str| Sexp::text(text.to_string());
    let mut bound = Bound::from([
        ("CLIENT-NONCE".to_string(), text(&meeting.client)),
        ("CLIENT-MAC".to_string(), text(&meeting.proof(&cookie, End::Client))),
        ("CORE-MAC".to_string(), text(&meeting.proof(&cookie, End::Server))),
        ("VERSION".to_string(), text(env!("CARGO_PKG_VERSION"))),
    ]);
    let mut heard: VecDeque<Sexp> = program.heard.clone().into();
    for line in lines() {
        if line.ours {
            program.send(&filled(&line.said, &bound).to_string());
            continue;
        }
        // Its Emacs answers what the core asks of it meanwhile.
        let told = meanwhile(&mut owner, || whole(&mut program, &mut heard));
        let told = told.unwrap_or_else(|| panic!("it ended before {}", line.text));
        let before = bound.clone();
        assert!(fits(&line.said, &told, &mut bound), "said:\n{told}\nand not:\n{}\n{before:?}", line.text);
    }
    assert_eq!(next(&mut program, &mut heard), None, "the core ends the connection of who leaves");
    assert!(payload_of(&program.heard[0]).text_at("nonce").is_some());
}
