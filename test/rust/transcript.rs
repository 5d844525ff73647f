//! The transcript of `docs/PROTOCOL.org`, replayed: a program says its lines, and the core must answer with the others.

use crate::network::{Program, cookie_of, meeting, owner};
use crate::peers::{Raw, meanwhile};
use crate::runtime::{Client, TILES, action, payload_of};
use crate::support::engine::Home;
use passepartout::domain::sexp::plist::Plist;
use passepartout::domain::sexp::reader::Sexp;
use passepartout::edge::wire::proof::End;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::path::Path;

/// Who does something in a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// The program says it.
    Program,
    /// The core does.
    Core,
    /// The user's Emacs does, to the core.
    Emacs,
    /// Nobody: the connection breaks, and the program makes another one.
    Break,
}

/// One line: who says it, and what.
struct Line {
    who: Who,
    text: String,
    said: Sexp,
}

/// Returns the lines of one of the transcripts, in order; a message may go over several.
fn lines(number: usize) -> Vec<Line> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/PROTOCOL.org");
    let text = std::fs::read_to_string(file).expect("the document is there");
    let chapter = text.split("\n* Transcripts\n").nth(1).expect("it has transcripts");
    let chapter = chapter.split("\n* ").next().unwrap_or_default();
    let blocks: Vec<&str> = chapter.split("#+begin_example\n").skip(1).collect();
    assert_eq!(blocks.len(), 4, "each is replayed");
    let block = blocks[number].split("#+end_example").next().expect("it ends");
    let mut found: Vec<(Who, String)> = Vec::new();
    for line in block.lines() {
        let who = match line.split_at_checked(2).map(|(who, _)| who) {
            Some("C ") => Who::Program,
            Some("S ") => Who::Core,
            Some("E ") => Who::Emacs,
            Some("--") => Who::Break,
            _ => {
                let (_, text) = found.last_mut().unwrap_or_else(|| panic!("it begins with who says it: {line}"));
                text.push(' ');
                text.push_str(line.trim());
                continue;
            }
        };
        found.push((who, line.get(2..).unwrap_or_default().to_string()));
    }
    let read = |(who, text): (Who, String)| {
        let said = if who == Who::Break { Ok(Sexp::Nil) } else { Sexp::read(&text) };
        let said = said.unwrap_or_else(|why| panic!("{why}: {text}"));
        Line { who, text, said }
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

/// Returns the next message that does not tell how something stands: these come whenever it changes.
fn next(program: &mut There, heard: &mut VecDeque<Sexp>) -> Option<Sexp> {
    loop {
        let next = heard.pop_front().or_else(|| program.next())?;
        let tells = matches!(next.name_at("type"), Some("status" | "log")) || action(&next) == Some("plan-changed");
        if !tells {
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
fn whole(program: &mut There, heard: &mut VecDeque<Sexp>) -> Option<Sexp> {
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

/// A program, as far as the transcript has come.
struct Play<'a> {
    home: &'a Home,
    owner: &'a mut Client,
    at: SocketAddr,
    program: There,
    heard: VecDeque<Sexp>,
    bound: Bound,
}

/// The end of a connection at which the program of a transcript is.
enum There {
    Network(Box<Program>),
    Socket(Raw),
}

impl There {
    fn network(program: Program) -> There {
        There::Network(Box::new(program))
    }

    fn send(&mut self, text: &str) {
        match self {
            There::Network(program) => program.send(text),
            There::Socket(raw) => raw.say(text),
        }
    }

    fn next(&mut self) -> Option<Sexp> {
        match self {
            There::Network(program) => program.next(),
            There::Socket(raw) => raw.next().map(|text| Sexp::read(&text).expect("a message")),
        }
    }

    /// Returns all that was heard by the network.
    fn heard(&self) -> &[Sexp] {
        match self {
            There::Network(program) => &program.heard,
            There::Socket(_) => &[],
        }
    }
}

impl Play<'_> {
    fn run(&mut self, lines: Vec<Line>) {
        for Line { who, text, said } in lines {
            match who {
                Who::Program => self.program.send(&filled(&said, &self.bound).to_string()),
                Who::Core => self.hears(&text, &said),
                Who::Emacs => {
                    let asked = filled(&said, &self.bound);
                    let payload = payload_of(&asked);
                    let number = |key: &str| payload.int_at(key).expect("a number");
                    let grant = Plist::new().int("client", number("client"));
                    let grant = grant.keyword("grant", payload.name_at("grant").expect("what is granted"));
                    assert_eq!(payload.name_at("action"), Some("client-grant"), "{asked}");
                    let granted = self.owner.request("client-grant", grant);
                    assert!(granted.text_at("error").is_none(), "{granted}");
                }
                Who::Break => {
                    if let There::Network(program) = &self.program {
                        program.cut();
                    }
                    self.program = There::network(Program::proved(self.home, self.at));
                    self.heard.clear();
                }
            }
        }
        let (program, heard) = (&mut self.program, &mut self.heard);
        assert_eq!(next(program, heard), None, "the core ends the connection of who leaves");
    }

    fn hears(&mut self, text: &str, said: &Sexp) {
        let (program, heard) = (&mut self.program, &mut self.heard);
        // Its Emacs answers what the core asks of it meanwhile.
        let told = meanwhile(self.owner, || whole(program, heard));
        let told = told.unwrap_or_else(|| panic!("it ended before {text}"));
        let before = self.bound.clone();
        assert!(fits(said, &told, &mut self.bound), "said:\n{told}\nand not:\n{text}\n{before:?}");
    }
}

fn name(text: &str) -> Sexp {
    Sexp::text(text.to_string())
}

fn version() -> Bound {
    Bound::from([("VERSION".to_string(), name(env!("CARGO_PKG_VERSION")))])
}

#[test]
fn what_the_transcript_of_the_protocol_says_is_what_is_said() {
    let home = Home::new(&[("home.org", TILES)]);
    let (mut owner, at) = owner(&home, None);
    let (program, greeting) = Program::connected(at);
    let meeting = meeting(&greeting, at);
    let cookie = cookie_of(&home);
    let mut bound = version();
    bound.extend([
        ("CLIENT-NONCE".to_string(), name(&meeting.client)),
        ("CLIENT-MAC".to_string(), name(&meeting.proof(&cookie, End::Client))),
        ("CORE-MAC".to_string(), name(&meeting.proof(&cookie, End::Server))),
    ]);
    let heard = program.heard.clone().into();
    let program = There::network(program);
    let mut play = Play { home: &home, owner: &mut owner, at, program, heard, bound };
    play.run(lines(0));
    assert!(payload_of(&play.program.heard()[0]).text_at("nonce").is_some());
}

#[test]
fn a_connection_that_breaks_is_taken_up_as_the_protocol_says() {
    let home = Home::new(&[("home.org", TILES)]);
    let (mut owner, at) = owner(&home, None);
    let program = There::network(Program::proved(&home, at));
    let mut play = Play { home: &home, owner: &mut owner, at, program, heard: VecDeque::new(), bound: version() };
    play.run(lines(1));
    let turns = owner.request("trace", Plist::new());
    assert_eq!(turns.list_at("turns").len(), 1, "what was said twice was asked once: {turns}");
}

#[test]
fn a_plan_is_approved_by_a_program_as_the_protocol_says() {
    let home = Home::new(&[("home.org", TILES)]);
    let (mut owner, at) = owner(&home, None);
    let program = There::network(Program::proved(&home, at));
    // The program is the first that joins, and the user is shown its number.
    let mut bound = version();
    bound.insert("NUMBER".to_string(), Sexp::int(1_u64));
    let mut play = Play { home: &home, owner: &mut owner, at, program, heard: VecDeque::new(), bound };
    play.run(lines(2));
    let stands = play.bound.get("STANDS").cloned().expect("how the plan stands");
    assert_eq!(stands.text_at("status"), Some("done"), "{stands}");
    assert!(home.read_file("home.org").contains("** DONE Order tiles"));
}

#[test]
fn a_terminal_names_its_conversations_as_the_protocol_says() {
    let home = Home::new(&[("home.org", TILES)]);
    let (mut owner, at) = owner(&home, None);
    let mut program = There::Socket(Raw::connect(&home.store()));
    program.next().expect("it greets");
    let mut bound = version();
    let conversation = "0123456789abcdef".repeat(4);
    bound.insert("CONVERSATION".to_string(), name(&conversation));
    let mut play = Play { home: &home, owner: &mut owner, at, program, heard: VecDeque::new(), bound };
    play.run(lines(3));
    let session = play.bound.get("SESSION").and_then(Sexp::as_text).expect("a session").to_string();
    let hash = blake3::hash(conversation.as_bytes()).to_hex();
    assert_eq!(session, format!("tui-{}", &hash[..32]));
}
