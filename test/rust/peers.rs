//! Several processes on one store: who joins, what each is told, and who goes on when the owner ends.

use crate::cli::{at_terminal, run};
use crate::runtime::{
    Buffer, Client, PATIENCE, TILES, action, approve, display, hash_of, mark_done, parked, payload_of, read_plan,
    say_yes, says, settings, text,
};
use crate::support::engine::Home;
use crate::support::fake_server::FakeServer;
use passepartout::domain::sexp::plist::Plist;
use passepartout::domain::sexp::reader::Sexp;
use passepartout::edge::wire::frame::{Frames, encode};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Starts a core that joins the one that owns the store.
pub(crate) fn join(home: &Home, server: Option<&FakeServer>) -> Client {
    let mut client = Client::begin(&settings(home, server, if server.is_some() { "\"fake\"" } else { "\"recall\"" }));
    client.wait("it to join", |m| text(m, "text").contains("does the work for this Emacs too"));
    assert_eq!(client.request("hello", Plist::new()).int_at("protocol"), Some(2));
    client
}

/// Begins anew, as Emacs does when it hears that its owner has ended.
#[track_caller]
fn begin_anew(client: &mut Client) {
    client.wait("that the owner is lost", |m| action(m) == Some("core-lost"));
    assert_eq!(client.request("hello", Plist::new()).int_at("protocol"), Some(2));
}

#[track_caller]
fn answered(client: &mut Client, words: &str, said: &str) {
    client.say(words);
    let turn = client.turn_done().text_at("turn").unwrap_or_default().to_string();
    assert_eq!(client.streamed(&turn).concat(), said);
}

#[test]
fn each_client_hears_its_own_turns_and_all_see_the_plans() {
    let home = Home::new(&[("home.org", TILES)]);
    let replies = [says(&["For the first."]), says(&["For the second."]), mark_done(), says(&["It is done."])];
    let server = FakeServer::start(replies);
    let mut first = Client::start(&home, Some(&server), "\"fake\"");
    let mut second = join(&home, Some(&server));
    answered(&mut first, "hello", "For the first.");
    answered(&mut second, "hello", "For the second.");
    assert_eq!((first.count("turn-done"), second.count("turn-done")), (1, 1));
    let status = second.request("status", Plist::new());
    assert_eq!((status.int_at("files"), status.int_at("headings")), (Some(1), Some(2)));

    // What the second parks is shown to the first, too; each must have displayed it to approve it.
    let plan = both(&mut second, &mut first, parked);
    let seen = first.wait("the plan", |m| action(m) == Some("plan-parked"));
    let seen = payload_of(&seen).get("plan").expect("a plan").clone();
    assert_eq!(seen, plan);
    read_plan(&mut first, &plan);
    display(&first, &plan);
    say_yes(&second, &plan);
    let refused = second.turn_done();
    assert!(refused.text_at("text").is_some_and(|why| why.contains("not been shown to its end")), "{refused}");
    assert_eq!(home.read_file("home.org"), TILES);
    let done = both(&mut second, &mut first, |second| {
        approve(second, &plan);
        second.turn_done()
    });
    assert_eq!(done.text_at("status"), Some("answered"));
    assert!(home.read_file("home.org").contains("** DONE Order tiles"));
    first.wait("what became of it", |m| {
        payload_of(m).get("plan").is_some_and(|plan| plan.text_at("status") == Some("done"))
    });
    assert_eq!(first.count("turn-done"), 1, "the turns of the second are none of the first's");
}

#[test]
fn a_plan_that_another_client_approves_goes_on_where_it_was_asked_for() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done(), says(&["It is done."])]);
    let mut first = Client::start(&home, Some(&server), "\"fake\"");
    let mut second = join(&home, Some(&server));
    let plan = both(&mut second, &mut first, parked);
    first.wait("the plan", |m| action(m) == Some("plan-parked"));
    let here = both(&mut first, &mut second, |first| {
        approve(first, &plan);
        first.turn_done()
    });
    assert!(home.read_file("home.org").contains("** DONE Order tiles"), "{here}");
    let there = second.turn_done();
    assert_eq!(here, there);
    for client in [&first, &second] {
        assert_eq!(client.streamed(here.text_at("turn").unwrap_or_default()).concat(), "It is done.");
    }
}

#[test]
fn an_edit_goes_to_the_emacs_that_has_the_file_open_and_two_unsaved_buffers_refuse_it() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done(), says(&["It is done."]), mark_done(), says(&["I see."])]);
    let mut first = Client::start(&home, Some(&server), "\"fake\"");
    let mut second = join(&home, Some(&server));
    let file = home.file("home.org");
    let unsaved = |word: &str| Buffer { text: TILES.replace("white", word), tick: 7, modified: true };
    second.buffers.insert(file.clone(), unsaved("blue"));
    // Both answer what the core asks while one waits.
    let plan = both(&mut first, &mut second, parked);
    both(&mut first, &mut second, |first| {
        approve(first, &plan);
        first.turn_done()
    });
    let edited = &second.buffers[&file].text;
    assert!(edited.contains("** DONE Order tiles") && edited.contains("blue"), "{edited}");
    assert_eq!(home.read_file("home.org"), TILES, "nothing is saved behind the user");

    first.buffers.insert(file.clone(), unsaved("green"));
    second.buffers.insert(file.clone(), unsaved("blue"));
    first.say("the tiles are ordered");
    let done = both(&mut first, &mut second, Client::turn_done);
    let told = format!("{done}{:?}", server.requests().last().map(|request| request.json().to_string()));
    assert!(told.contains("unsaved changes in this Emacs and the Emacs of process"), "{told}");
    assert_eq!((&first.buffers[&file].tick, &second.buffers[&file].tick), (&7, &7), "neither was changed");
}

/// Lets one client do something while another one answers what it is asked.
pub(crate) fn both<T: Send>(one: &mut Client, other: &mut Client, work: impl FnOnce(&mut Client) -> T + Send) -> T {
    meanwhile(other, || work(one))
}

/// Does something while a client answers what it is asked.
pub(crate) fn meanwhile<T: Send>(client: &mut Client, work: impl FnOnce() -> T + Send) -> T {
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            over.store(true, std::sync::atomic::Ordering::Release);
            result
        });
        while !over.load(std::sync::atomic::Ordering::Acquire) {
            client.pump();
            std::thread::park_timeout(Duration::from_millis(2));
        }
        match worker.join().expect("it was caught") {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[test]
fn when_the_owner_stops_another_takes_over_and_the_rest_join_it() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done(), says(&["It is done."]), says(&["Here I am."])]);
    let mut first = Client::start(&home, Some(&server), "\"fake\"");
    let mut second = join(&home, Some(&server));
    let mut third = join(&home, Some(&server));
    let plan = both(&mut second, &mut first, |second| both(second, &mut third, parked));
    third.wait("the plan", |m| action(m) == Some("plan-parked"));
    drop(first);
    begin_anew(&mut second);
    begin_anew(&mut third);
    let plans = third.request("plans", Plist::new());
    assert_eq!(plans.list_at("plans"), std::slice::from_ref(&plan), "what waited waits on");
    // What was displayed before counts no more: another process shows it now.
    say_yes(&third, &plan);
    assert_eq!(third.turn_done().text_at("status"), Some("failed"));
    let done = both(&mut third, &mut second, |third| {
        approve(third, &plan);
        third.turn_done()
    });
    assert_eq!(done.text_at("status"), Some("answered"));
    assert!(home.read_file("home.org").contains("** DONE Order tiles"));
    second.wait("what became of it", |m| {
        payload_of(m).get("plan").is_some_and(|plan| plan.text_at("status") == Some("done"))
    });
    answered(&mut second, "are you there?", "Here I am.");
}

/// A core in a process of its own, when a test starts it.
#[test]
fn a_core_of_its_own_process() {
    let Ok(settings) = std::env::var("PEERS_CHILD") else { return };
    let mut client = Client::begin(&settings);
    client.wait("the memex to be read", |m| text(m, "text").starts_with("the memex has "));
    println!("\nREADY");
    loop {
        client.pump();
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

pub(crate) struct Owner(pub(crate) Child);

impl Owner {
    pub(crate) fn start(home: &Home, server: Option<&FakeServer>) -> Owner {
        let settings = settings(home, server, if server.is_some() { "\"fake\"" } else { "\"recall\"" });
        let mut child = Command::new(std::env::current_exe().expect("it has a name"));
        child.args(["--exact", "peers::a_core_of_its_own_process", "--nocapture"]).env("PEERS_CHILD", settings);
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let ready = lines.map_while(Result::ok).any(|line| line == "READY");
        assert!(ready, "the owner has read the memex");
        Owner(child)
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().expect("it can be killed");
        self.0.wait().expect("it ends");
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.0.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn when_the_owner_is_killed_what_was_under_way_is_lost_and_said_so_and_nothing_is_done_twice() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([says(&["Half an ", "answer"]).silent_after("Half an "), says(&["Anew."])]);
    let mut owner = Owner::start(&home, Some(&server));
    let mut second = join(&home, Some(&server));
    second.say("first");
    second.say("second");
    second.wait("a chunk", |m| m.name_at("type") == Some("stream-chunk"));
    owner.kill();
    second.wait("that the owner is lost", |m| {
        action(m) == Some("core-lost") && text(m, "text").contains("before you ask for it again")
    });
    // Whatever was said before the hello was meant for the one that was lost.
    second.say("third");
    let hello = second.request("hello", Plist::new());
    assert_eq!(hello.int_at("protocol"), Some(2));
    answered(&mut second, "fourth", "Anew.");
    assert_eq!(server.requests().len(), 2, "nothing was asked again");
    assert_eq!(second.count("turn-done"), 1);
    let taken = second.request("log", Plist::new().int("limit", 100)).to_string();
    assert!(taken.contains("ended without closing the store; it was taken over"), "{taken}");
}

#[test]
fn an_owner_that_is_stopped_is_waited_for_and_joined_when_it_goes_on() {
    let home = Home::new(&[("home.org", TILES)]);
    let owner = Owner::start(&home, None);
    owner.signal("-STOP");
    let mut second = Client::begin(&settings(&home, None, "\"recall\""));
    let why = second.wait("that it waits", |m| text(m, "text").contains("cannot be joined yet"));
    assert!(text(&why, "text").contains(&format!("process {}", owner.0.id())), "{why}");
    owner.signal("-CONT");
    second.wait("it to join", |m| text(m, "text").contains("does the work for this Emacs too"));
    assert_eq!(second.request("status", Plist::new()).int_at("files"), Some(1));
}

/// A connection as anything might make it.
pub(crate) struct Raw {
    pub(crate) stream: UnixStream,
    frames: Frames,
}

impl Raw {
    pub(crate) fn connect(store: &std::path::Path) -> Raw {
        let stream = UnixStream::connect(store.join("socket")).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        Raw { stream, frames: Frames::default() }
    }

    fn joined(home: &Home) -> Raw {
        let mut raw = Raw::connect(&home.store());
        assert!(raw.next().is_some_and(|greeting| greeting.contains(":handshake")));
        raw.say("(:type :event :payload (:action :handshake :protocol 2 :as :emacs))");
        assert!(raw.next().is_some_and(|welcome| welcome.contains("the Emacs of process")));
        raw
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.stream.write_all(&encode(text).expect("it is short")).expect("it is taken");
    }

    /// Returns the next text; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<String> {
        let mut piece = [0; 4096];
        loop {
            if let Some(text) = self.frames.take().expect("the owner writes frames") {
                return Some(text);
            }
            match self.stream.read(&mut piece) {
                Ok(0) => return None,
                Ok(count) => self.frames.push(&piece[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("it neither speaks nor ends: {error}"),
            }
        }
    }

    /// Reads to the end; returns what was said of a mistake.
    fn ending(&mut self) -> Option<String> {
        let mut why = None;
        while let Some(text) = self.next() {
            let message = Sexp::read(&text).expect("it can be read");
            if action(&message) == Some("protocol-error") {
                why = payload_of(&message).text_at("text").map(str::to_string);
            }
        }
        why
    }
}

#[test]
fn a_connection_that_speaks_no_protocol_ends_with_why_and_the_others_live_on() {
    let home = Home::new(&[("home.org", TILES)]);
    let mut first = Client::start(&home, None, "\"recall\"");
    let deep = format!("{}{}", "(".repeat(100), ")".repeat(100));
    for (greeting, why) in [
        ("(:type :event :payload (:action :handshake :protocol 1 :as :emacs))", "the other end has 1"),
        ("(:type :event :payload (:action :handshake :protocol 2 :as :root))", "joins as"),
        ("(:type :event :payload (:sensor :user-input :text \"hello\"))", "begins with a handshake"),
        ("hello", ""),
    ] {
        let mut raw = Raw::connect(&home.store());
        raw.say(greeting);
        let said = raw.ending().unwrap_or_default();
        assert!(!said.is_empty() && said.contains(why), "{greeting}: {said}");
    }
    let frame = |text: &str| encode(text).expect("it is short");
    for (bytes, why) in [
        (b"hello there".to_vec(), "no hexadecimal digit"),
        (b"ffffff".to_vec(), "over the limit of 4 MiB"),
        (b"000002\xff\xfe".to_vec(), "not UTF-8"),
        (vec![b' '; 5000], "4,096 bytes of white space"),
        (frame(&deep), ""),
        (frame("(:type :event :payload #.(delete-file))"), ""),
        (frame("("), ""),
    ] {
        let mut raw = Raw::joined(&home);
        raw.stream.write_all(&bytes).expect("it is taken");
        let said = raw.ending().unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&bytes)));
        assert!(!said.is_empty() && said.contains(why), "{said}");
    }
    // Half a frame, and nothing at all.
    for bytes in [&b"0000"[..], b"00000a(:ty", b""] {
        let mut raw = Raw::joined(&home);
        raw.stream.write_all(bytes).expect("it is taken");
        raw.stream.shutdown(std::net::Shutdown::Write).expect("it is shut");
        assert_eq!(raw.ending(), None);
    }
    // Byte by byte is as good as in one piece, and messages of no known type end nothing.
    let mut raw = Raw::joined(&home);
    for byte in frame("(:type :nonsense)").into_iter().chain(frame("(:type :request :payload (:action :hello))")) {
        raw.stream.write_all(&[byte]).expect("it is taken");
    }
    while !raw.next().expect("it is answered").contains(":hello") {}
    assert_eq!(first.request("hello", Plist::new()).int_at("protocol"), Some(2), "it goes on");
}

#[test]
fn a_client_that_takes_nothing_is_cut_off_and_nobody_else_notices() {
    let home = Home::new(&[("home.org", TILES)]);
    let mut first = Client::start(&home, None, "\"recall\"");
    let mut raw = Raw::joined(&home);
    let ask = format!("(:type :request :payload (:action :{} :request 1))", "x".repeat(1000));
    let many = encode(&ask).expect("it is short").repeat(64);
    let end = Instant::now() + Duration::from_secs(120);
    raw.stream.set_write_timeout(Some(Duration::from_millis(100))).expect("a time-out");
    let (mut sent, mut at, mut asked) = (0, 0, Instant::now());
    // It asks, and reads nothing; what it cannot send now it sends later.
    loop {
        match raw.stream.write(&many[at..]) {
            Ok(count) => (sent, at) = (sent + count, (at + count) % many.len()),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
        if asked.elapsed() > Duration::from_millis(100) {
            let begun = Instant::now();
            assert_eq!(first.request("hello", Plist::new()).int_at("protocol"), Some(2));
            assert!(begun.elapsed() < Duration::from_secs(5), "another client waits for it");
            asked = Instant::now();
        }
        assert!(Instant::now() < end, "it is still there after {sent} bytes");
    }
    // The word of it may have come while another answer was waited for.
    while !first.heard.iter().any(|m| text(m, "text").contains("has left")) {
        assert_eq!(first.request("hello", Plist::new()).int_at("protocol"), Some(2));
        assert!(Instant::now() < end, "nobody was told that it is gone");
    }
}

#[test]
fn who_goes_away_takes_its_turns_along_and_its_buffers() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([says(&["Half an ", "answer"]).silent_after("Half an ")]);
    let mut first = Client::start(&home, Some(&server), "\"fake\"");
    let mut second = join(&home, Some(&server));
    let text_of = "* Typed and not saved\n* Twice\n* Thrice\n";
    for part in [
        Plist::new().keyword("part", "begin").int("size", text_of.len() as i64),
        Plist::new().keyword("part", "slice").int("slice", 1).text("text", text_of),
        Plist::new().keyword("part", "end").int("tick", 1).text("hash", hash_of(&[text_of])),
    ] {
        second.event("buffer-update", part.text("file", home.file("home.org")));
    }
    first.status("the other's buffer", |status| status.int_at("headings") == Some(3));
    second.say("hello");
    second.wait("a chunk", |m| m.name_at("type") == Some("stream-chunk"));
    drop(second);
    first.wait("it to be gone", |m| text(m, "text").contains("has left"));
    first.status("the file", |status| status.int_at("headings") == Some(2));
    assert!(server.wait_gone(1), "its turn was stopped");
    // It is written down a moment behind that.
    let end = Instant::now() + Duration::from_secs(30);
    while first.request("trace", Plist::new()).list_at("turns").len() != 1 {
        assert!(Instant::now() < end, "its turn is not in the trace");
    }
}

/// Returns what a terminal should say of a row that Emacs shows.
fn line(row: &Sexp) -> (String, String) {
    let text = |key: &str| row.text_at(key).expect("it is there").to_string();
    let (id, reason) = (text("id"), text("reason"));
    let place = if row.flag_at("outline") { " in the outline" } else { "" };
    let tokens = row.int_at("tokens").expect("a number");
    let line = match row.name_at("rendered") {
        Some("out") => format!("{id}: left out, {reason}"),
        rendered => format!("{id}: {}{place}, {reason}, {tokens} tokens", rendered.expect("it is said")),
    };
    (id, line)
}

#[test]
fn a_terminal_is_told_of_a_context_what_emacs_shows() {
    let soap = "* Soap\n:PROPERTIES:\n:ID: soap\n:END:\nSoap for the tiles.\n* Lamp\n** Shade\n";
    let mine = "* Tiles of mine :private:\n:PROPERTIES:\n:ID: mine\n:END:\nWhite tiles.\n";
    let home = Home::new(&[("home.org", TILES), ("soap.org", soap), ("mine.org", mine)]);
    let server = FakeServer::start([]);
    let settings = settings(&home, Some(&server), "\"fake\"").replace(":local t", ":local nil");
    let mut emacs = Client::begin(&settings);
    emacs.status("what was read", |status| status.int_at("files") == Some(3));
    emacs.request("context-pin", Plist::new().text("id", "soap").keyword("pin", "out"));
    let query = "white tiles";
    let end = Instant::now() + Duration::from_secs(30);
    let rows = loop {
        let rows = emacs.request("context", Plist::new().text("query", query));
        let rows: Vec<(String, String)> = rows.list_at("nodes").iter().map(line).collect();
        // Once it is known which words stand where.
        if rows.iter().any(|(id, line)| id == "tiles" && line.contains(": full, words ")) {
            break rows;
        }
        assert!(Instant::now() < end, "{rows:?}");
    };
    assert!(rows.contains(&("soap".to_string(), "soap: left out, left out by you".to_string())), "{rows:?}");
    let mut said = |words: &[&str]| {
        let ran = meanwhile(&mut emacs, || run(&home, &[&["context"], words, &["--query", query]].concat()));
        assert_eq!(ran.status, 0, "{}", ran.err);
        ran.out
    };
    for id in rows.iter().map(|(id, _)| id) {
        let expected: String =
            rows.iter().filter(|(other, _)| other == id).map(|(_, line)| format!("{line}\n")).collect();
        assert_eq!(said(&["why", id]), expected);
    }
    let out: String =
        rows.iter().filter(|(_, line)| line.contains(": left out, ")).map(|(_, line)| format!("{line}\n")).collect();
    assert_eq!(said(&["dropped"]), out);
    // Where nobody owns the store, the same is worked out by the program itself, which knows of no pin of a session.
    drop(emacs);
    let alone = run(&home, &["context", "why", "soap", "--query", query]);
    assert!(alone.status == 0 && alone.out.contains("soap: full, words "), "{}{}", alone.out, alone.err);
    let alone = run(&home, &["context", "why", "home.org::*Nothing", "--query", query]);
    assert_eq!(
        alone.out,
        "No heading is called “home.org::*Nothing”; passepartout query finds headings, and context names their ids.\n",
        "{}",
        alone.err
    );
}

#[test]
fn a_command_beside_an_emacs_is_carried_out_there() {
    let home = Home::new(&[("home.org", TILES)]);
    let mut emacs = Client::start(&home, None, "\"recall\"");
    let store = home.store().to_string_lossy().into_owned();

    // A question leaves a plan that Emacs sees, and is in the trace there.
    let ran = meanwhile(&mut emacs, || run(&home, &["ask", "mark order tiles done"]));
    assert_eq!(ran.status, 3, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("+** DONE Order tiles") && ran.out.contains("It waits."), "{}", ran.out);
    let plan = emacs.wait("the plan", |m| action(m) == Some("plan-parked"));
    let plan = payload_of(&plan).get("plan").expect("a plan").clone();
    let id = plan.text_at("id").expect("an id").to_string();
    let turns = emacs.request("trace", Plist::new());
    assert_eq!(turns.list_at("turns")[0].text_at("asked"), Some("mark order tiles done"));
    assert_eq!(emacs.count("turn-done"), 0, "it is no turn of Emacs's");

    // A decision at a terminal counts; one in a pipe does not.
    let ran = run(&home, &["plans", "approve", &id]);
    assert!(ran.status == 1 && ran.err.contains("at a terminal"), "{}", ran.err);
    let ran = at_terminal(&home, &format!("plans approve {id}"), "no\n");
    assert!(ran.status == 0 && ran.out.contains("Nothing was done."), "{}", ran.out);
    let approved = || at_terminal(&home, &format!("plans approve {id}"), &format!("{id}\n"));
    let ran = meanwhile(&mut emacs, approved);
    assert_eq!(ran.status, 0, "{}", ran.out);
    assert!(home.read_file("home.org").contains("** DONE Order tiles"));
    let ran = meanwhile(&mut emacs, approved);
    assert!(ran.status == 1 && ran.out.contains("no longer waits"), "{}", ran.out);

    let ran = meanwhile(&mut emacs, || run(&home, &["ask", "--json", "add a todo “Buy grout” under Kitchen"]));
    assert_eq!(ran.status, 3, "{}{}", ran.out, ran.err);
    let told: serde_json::Value = serde_json::from_str(&ran.out).expect("one object");
    let id = told["plans"][0]["id"].as_str().expect("an id").to_string();
    let ran = meanwhile(&mut emacs, || at_terminal(&home, &format!("plans deny {id} not now"), ""));
    assert_eq!(ran.status, 0, "{}", ran.out);
    emacs.wait("the denial", |m| {
        payload_of(m)
            .get("plan")
            .is_some_and(|plan| plan.text_at("id") == Some(id.as_str()) && plan.text_at("status") == Some("denied"))
    });

    // Reading the memex again is done there, too, and of another memex the owner keeps nothing.
    std::fs::write(home.file("more.org"), "* One\n* Two\n").expect("a file");
    let ran = run(&home, &["ingest", &home.file(""), "--store", &store]);
    assert!(ran.status == 0 && ran.out.contains("2 files, 4 headings"), "{}{}", ran.out, ran.err);
    emacs.status("what was read", |status| status.int_at("files") == Some(2));
    let ran = run(&home, &["ingest", &home.project(""), "--store", &store]);
    assert!(ran.status == 1 && ran.err.contains("is not in the memex"), "{}{}", ran.out, ran.err);
    let ran = run(&home, &["ask", "what is open?", "--memex", &home.project("")]);
    assert!(ran.err.contains("nothing of this is kept"), "of another memex it reads along: {}", ran.err);
}
