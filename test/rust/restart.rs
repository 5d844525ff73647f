//! A core that is killed in the middle of an answer and begun anew: what a program asked is neither lost nor asked twice.

use crate::daemon::{Daemon, asking};
use crate::network::Program;
use crate::peers::Raw;
use crate::runtime::{TILES, action, payload_of, says, text};
use crate::support::engine::Home;
use crate::support::fake_server::{FakeServer, Reply};
use crate::tui_talks::Desk;
use passepartout::domain::sexp::reader::Sexp;
use std::io::Write;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

/// By which road a program comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Road {
    Tcp,
    Socket,
}

/// A program at the end of one.
enum There {
    Tcp(Program),
    Socket(Raw, Sexp),
}

/// A core that was begun.
struct Begun {
    daemon: Daemon,
    at: SocketAddr,
}

fn begin(home: &Home, server: &FakeServer) -> Begun {
    let mut command = asking(home, server);
    command.args(["daemon", "--log-private"]).env("PASSEPARTOUT_LISTEN", "127.0.0.1:0");
    let mut daemon = Daemon::start(command);
    let words = "programs can connect to ";
    let line = daemon.wait(words);
    let at = line.split(words).nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("it says where");
    Begun { daemon, at }
}

impl Begun {
    /// Ends it as a cut of the power does.
    fn kill(mut self) {
        self.daemon.child.kill().expect("it runs");
        self.daemon.child.wait().expect("it ends");
    }

    fn join(&self, home: &Home, road: Road, more: &str) -> There {
        match road {
            Road::Tcp => There::Tcp(Program::join(home, self.at, more)),
            Road::Socket => {
                let mut raw = Raw::connect(&home.store());
                raw.next().expect("it greets");
                raw.say(&format!(
                    "(:type :event :payload (:action :handshake :protocol 2 :version \"test\" :as :client {more}))"
                ));
                let welcome = Sexp::read(&raw.next().expect("it is let in")).expect("a message");
                There::Socket(raw, payload_of(&welcome).clone())
            }
        }
    }
}

impl There {
    fn welcome(&self) -> &Sexp {
        match self {
            There::Tcp(program) => &program.welcome,
            There::Socket(_, welcome) => welcome,
        }
    }

    fn send(&mut self, text: &str) {
        match self {
            There::Tcp(program) => program.send(text),
            There::Socket(raw, _) => raw.say(text),
        }
    }

    fn next(&mut self) -> Option<Sexp> {
        match self {
            There::Tcp(program) => program.next(),
            There::Socket(raw, _) => raw.next().map(|text| Sexp::read(&text).expect("a message")),
        }
    }

    fn ask(&mut self, words: &str, number: u64, once: &str) {
        self.send(&format!(
            "(:type :event :meta (:session-id \"a\" :number {number}) \
             :payload (:sensor :user-input :text \"{words}\" :once \"{once}\"))"
        ));
    }

    /// Waits for a message, and returns it with what was streamed before.
    #[track_caller]
    fn until(&mut self, fits: impl Fn(&Sexp) -> bool) -> (Sexp, String) {
        let mut streamed = String::new();
        loop {
            let message = self.next().expect("it goes on");
            if message.name_at("type") == Some("stream-chunk") {
                streamed.push_str(text(&message, "text"));
            }
            if fits(&message) {
                return (payload_of(&message).clone(), streamed);
            }
        }
    }

    #[track_caller]
    fn done(&mut self) -> (Sexp, String) {
        self.until(|message| action(message) == Some("turn-done"))
    }
}

/// When the core is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// Before anything was asked.
    Before,
    /// With half of the answer said.
    Within,
    /// When all of it was.
    Behind,
}

fn name(number: usize) -> String {
    format!("{number:064x}")
}

fn killed(road: Road) {
    for (cut, asked) in [(Cut::Before, 1), (Cut::Within, 1), (Cut::Behind, 1)] {
        let home = Home::new(&[("home.org", TILES)]);
        let whole = || says(&["The first half, ", "and the second."]);
        let first = if cut == Cut::Within { whole().silent_after("half, ") } else { whole() };
        let server = FakeServer::start([first, whole()]);
        let core = begin(&home, &server);
        let mut there = core.join(&home, road, ":seen 0");
        let token = there.welcome().text_at("resume").expect("a token").to_string();
        match cut {
            Cut::Before => {}
            Cut::Within => {
                there.ask("tell me", 1, &name(7));
                there.until(|message| text(message, "text").contains("first half"));
            }
            Cut::Behind => {
                there.ask("tell me", 1, &name(7));
                assert_eq!(there.done().1, "The first half, and the second.");
            }
        }
        // Whatever is not said again later was asked once by now, in these words.
        let heard = server.requests();
        let words = |body: &str| body.contains("tell me");
        assert_eq!(heard.len(), usize::from(cut != Cut::Before), "{road:?} {cut:?}");
        assert!(heard.iter().all(|request| words(&request.body)), "{road:?} {cut:?}");
        core.kill();
        while there.next().is_some() {}

        let core = begin(&home, &server);
        let mut again = core.join(&home, road, &format!(":resume \"{token}\" :seen 3"));
        let welcome = again.welcome();
        assert!(!welcome.flag_at("resumed") && welcome.int_at("heard") == Some(0), "{welcome}");
        assert_ne!(welcome.text_at("resume"), Some(token.as_str()), "numbers begin anew");
        again.ask("tell me", 1, &name(7));
        let (done, streamed) = again.done();
        assert_eq!(server.requests().len(), asked, "{road:?} {cut:?}: {done}");
        let told = (done.text_at("status"), done.text_at("before").is_some(), streamed.as_str());
        let words = done.text_at("text").unwrap_or_default();
        match cut {
            Cut::Before => {
                assert_eq!(told, (Some("answered"), false, "The first half, and the second."));
                assert!(server.requests().iter().all(|request| request.body.contains("tell me")));
            }
            Cut::Within => {
                assert_eq!(told, (Some("failed"), true, ""), "{done}");
                assert!(words.contains("the core ended before it was over"), "{done}");
            }
            Cut::Behind => {
                assert_eq!(told, (Some("answered"), true, ""), "{done}");
                assert!(words.contains("nobody was asked again"), "{done}");
            }
        }
        // Under another name it is another question.
        if cut != Cut::Before {
            again.ask("tell me", 2, &name(8));
            let (done, streamed) = again.done();
            assert_eq!(
                (done.text_at("status"), streamed.as_str()),
                (Some("answered"), "The first half, and the second.")
            );
            assert_eq!(server.requests().len(), 2);
        }
    }
}

#[test]
fn a_core_that_is_killed_in_mid_stream_loses_no_question_and_asks_none_twice_by_tcp() {
    killed(Road::Tcp);
}

#[test]
fn a_core_that_is_killed_in_mid_stream_loses_no_question_and_asks_none_twice_by_the_socket() {
    killed(Road::Socket);
}

/// Its connection is lost, and who asked asks again from another while the core goes on with it.
#[test]
fn who_asks_again_while_the_turn_goes_on_joins_it_and_it_outlives_the_first_connection() {
    for road in [Road::Tcp, Road::Socket] {
        let home = Home::new(&[("home.org", TILES)]);
        let (release, held) = std::sync::mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        let halts = move || {
            let released = held.lock().expect("not poisoned").recv_timeout(Duration::from_secs(60));
            released.expect("it is let go on");
        };
        let server = FakeServer::start([says(&["The first half, ", "and the second."]).halting_after("half, ", halts)]);
        let core = begin(&home, &server);
        let mut there = core.join(&home, road, ":seen 0");
        there.ask("tell me", 1, &name(7));
        let (half, _) = there.until(|message| text(message, "text").contains("first half"));
        let mut again = core.join(&home, road, ":seen 0");
        again.ask("tell me", 1, &name(7));
        let (said, streamed) = again.until(|message| text(message, "text").contains("first half"));
        assert_eq!((said.text_at("turn"), streamed.as_str()), (half.text_at("turn"), "The first half, "), "{road:?}");
        // Who asked first goes for good; by its own name the conversation is that of each.
        there.send("(:type :event :payload (:action :leaving))");
        while there.next().is_some() {}
        release.send(()).expect("it waits");
        let (done, rest) = again.done();
        assert_eq!((done.text_at("status"), rest.as_str()), (Some("answered"), "and the second."), "{road:?}: {done}");
        assert_eq!((done.text_at("before"), done.text_at("session")), (None, Some("a")), "{road:?}: {done}");
        assert_eq!(server.requests().len(), 1, "{road:?}: nobody was asked again");
        again.ask("tell me", 2, &name(7));
        let (done, streamed) = again.done();
        assert!(done.text_at("before").is_some() && streamed.is_empty(), "{road:?}: {done}");
    }
}

/// Whenever it is killed: each question is asked at most once, and what became of it is told.
#[test]
fn a_core_that_is_killed_at_any_message_asks_no_question_twice() {
    let home = Home::new(&[("home.org", TILES)]);
    let pieces: Vec<String> = (0..6).map(|n| format!("piece {n}\n")).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let rounds = 6;
    let slow = || says(&pieces).in_pieces(40).dripping(Duration::from_millis(1));
    let replies: Vec<Reply> = (0..rounds).map(|_| slow()).collect();
    let server = FakeServer::start(replies);
    let mut core = begin(&home, &server);
    let (mut begun, mut anew) = (0, 0);
    for round in 0..rounds {
        let (road, once) = (if round % 2 == 0 { Road::Tcp } else { Road::Socket }, name(round));
        let words = format!("question {round}");
        let mut there = core.join(&home, road, ":seen 0");
        there.ask(&words, 1, &once);
        // How often something of the turn was heard, and whether some of its answer was.
        let mut answered = false;
        for _ in 0..round {
            let (heard, _) = there.until(|message| payload_of(message).text_at("turn").is_some());
            answered |= heard.text_at("text").is_some_and(|text| text.contains("piece"));
            if heard.name_at("action") == Some("turn-done") {
                break;
            }
        }
        let before = server.requests().iter().filter(|request| request.body.contains(&words)).count();
        assert!(!answered || before == 1, "{round}: what is answered was asked");
        core.kill();
        core = begin(&home, &server);
        let mut again = core.join(&home, road, ":seen 0");
        again.ask(&words, 1, &once);
        let (done, streamed) = again.done();
        let asked = server.requests().iter().filter(|request| request.body.contains(&words)).count();
        match done.text_at("before") {
            // It was begun, or at its end; whether its model was asked then or not, it is not asked again.
            Some(_) => {
                assert!(asked <= 1 && asked >= before && streamed.is_empty(), "{round}: {done}");
                begun += asked;
            }
            None => {
                assert_eq!((asked, streamed, before), (1, pieces.concat(), 0), "{round}: {done}");
                anew += 1;
            }
        }
        assert!(!answered || done.text_at("before").is_some(), "{round}: {done}");
    }
    // Of some the core was killed in the middle: those were asked, and not again.
    assert!(begun >= 3 && begun + anew <= rounds, "{begun} were asked before, {anew} anew");
}

#[test]
fn a_command_whose_owner_was_killed_says_what_became_of_its_question_and_nobody_is_asked_again() {
    for (words, input, answer) in
        [(["send", "tell me"].as_slice(), "", ""), (["chat"].as_slice(), "tell me\nand now?\n", "Still white.")]
    {
        let home = Home::new(&[("home.org", TILES)]);
        let half = says(&["They are, ", "and so on."]).silent_after("They are, ");
        let server = FakeServer::start([half, says(&["Still white."])]);
        let core = begin(&home, &server);
        let mut command = asking(&home, &server);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
        assert!(server.wait_asked("tell me"), "{words:?} asks");
        core.kill();
        let ran = child.wait_with_output().expect("it ends");
        let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(err.contains("finding out what became of the question"), "{words:?}: {out}{err}");
        assert!(err.contains("nobody was asked again"), "{words:?}: {out}{err}");
        assert_eq!((ran.status.code(), out.contains(answer)), (Some(1), true), "{words:?}: {out}{err}");
        // The next line of a conversation is another question.
        let last = |request: &str| request.contains("and now?");
        assert_eq!(server.requests().iter().filter(|request| !last(&request.body)).count(), 1, "{words:?}");
    }
}

#[test]
fn the_terminal_client_is_told_by_the_next_core_what_became_of_its_question() {
    for cut in [Cut::Before, Cut::Within] {
        let home = Home::new(&[("home.org", TILES)]);
        let whole = || says(&["They are, ", "and so on."]);
        let first = if cut == Cut::Within { whole().silent_after("They are, ") } else { whole() };
        let server = FakeServer::start([first, whole()]);
        let core = begin(&home, &server);
        let mut desk = Desk::open(&home, 1);
        if cut == Cut::Before {
            // It is typed and goes nowhere: the core is gone, which the client does not know yet.
            core.kill();
            desk.lose_what_is_sent();
            desk.enter("tell me");
        } else {
            desk.enter("tell me");
            desk.until_alone(|heard| text(heard, "text").contains("They are"));
            core.kill();
        }
        let asked = server.requests().len();
        assert_eq!(asked, usize::from(cut == Cut::Within));
        let _core = begin(&home, &server);
        desk.join_again(&home);
        let done = desk.until_alone(|heard| action(heard) == Some("turn-done"));
        let done = payload_of(&done);
        assert_eq!(server.requests().len(), 1, "{cut:?}: {done}");
        match cut {
            Cut::Within => {
                assert!(done.text_at("before").is_some(), "{done}");
                assert!(done.text_at("text").is_some_and(|text| text.contains("nobody was asked again")), "{done}");
            }
            Cut::Before | Cut::Behind => {
                assert_eq!((done.text_at("before"), done.text_at("status")), (None, Some("answered")), "{done}");
            }
        }
        assert!(!desk.state.busy());
    }
}
