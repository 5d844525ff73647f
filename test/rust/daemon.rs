//! The built program as a daemon: it owns the store, serves who joins it, hears signals, and loses nothing.

use crate::cli::{Ran, at_terminal, program, run};
use crate::runtime::{Client, approve, mark_done, settings, text};
use crate::support::engine::Home;
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use crate::support::skip::skipped;
use passepartout::domain::sexp::plist::Plist;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const TILES: &str = "#+TITLE: Home\n* Kitchen :project:\n** TODO Order tiles\nDEADLINE: <2026-03-01 Sun>\n:PROPERTIES:\n:ID: tiles\n:END:\nThe white ones.\n";

/// Whatever takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A daemon that runs, with what it logs.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    lines: Receiver<String>,
    pub(crate) said: Vec<String>,
}

impl Daemon {
    pub(crate) fn start(mut command: Command) -> Daemon {
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let (tell, lines) = channel();
        let stderr = child.stderr.take().expect("a pipe");
        std::thread::spawn(move || {
            let lines = BufReader::new(stderr).lines().map_while(Result::ok);
            lines.take_while(|line| tell.send(line.clone()).is_ok()).for_each(drop);
        });
        Daemon { child, lines, said: Vec::new() }
    }

    /// Starts one that owns the store of a home.
    fn owning(home: &Home) -> Daemon {
        Daemon::with(program(home))
    }

    fn with(mut command: Command) -> Daemon {
        command.arg("daemon");
        let mut daemon = Daemon::start(command);
        daemon.wait("owns the store");
        daemon
    }

    /// Waits for a line that has these words.
    pub(crate) fn wait(&mut self, words: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|why| panic!("{words}: {why}\n{}", self.said.join("\n")));
            self.said.push(line.clone());
            if line.contains(words) {
                return line;
            }
        }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
    }

    /// Tells it to end, and returns how long that took.
    fn end(&mut self, name: &str) -> Duration {
        let begun = Instant::now();
        self.signal(name);
        assert!(self.child.wait().expect("it ends").success());
        begun.elapsed()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It has ended by itself where all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn home() -> Home {
    Home::new(&[("home.org", TILES)])
}

/// A program that asks a model of these replies.
pub(crate) fn asking(home: &Home, server: &FakeServer) -> Command {
    let mut command = program(home);
    command.env("LOCAL_BASE_URL", server.url()).env("PROVIDER_CASCADE", "local");
    command
}

#[test]
fn a_daemon_owns_the_store_serves_commands_and_ends_on_a_signal() {
    for signal in ["-TERM", "-INT"] {
        let home = home();
        let nobody = run(&home, &["status", "--json"]);
        assert_eq!((nobody.status, nobody.json()["running"].as_bool()), (4, Some(false)), "{nobody:?}");
        let mut daemon = Daemon::owning(&home);
        let socket = home.store().join("socket");
        assert!(socket.exists());
        let status = run(&home, &["status", "--json"]);
        assert_eq!((status.status, status.json()["running"].as_bool()), (0, Some(true)), "{status:?}");
        let owner = status.json()["owner"].as_str().unwrap_or_default().to_string();
        assert!(owner.contains(&daemon.child.id().to_string()), "{owner}");
        let plain = run(&home, &["status"]);
        assert!(plain.out.contains("is owned by") && plain.out.contains("plans that wait"), "{plain:?}");

        let answer = run(&home, &["ask", "what is overdue?", "--json"]);
        assert_eq!(answer.status, 0, "{answer:?}");
        assert!(answer.json()["text"].as_str().is_some_and(|text| text.contains("Order tiles")), "{answer:?}");

        let second = run(&home, &["daemon"]);
        assert_eq!((second.status, second.out.as_str()), (4, ""), "{second:?}");
        assert!(second.err.contains("is in use by") && second.err.contains("--wait"), "{second:?}");

        let took = daemon.end(signal);
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert!(!socket.exists() && run(&home, &["status"]).status == 4);
        assert_eq!(run(&home, &["memory", "verify"]).status, 0);
        // It closed the store: nobody has to take it over.
        let next = run(&home, &["plans", "list"]);
        assert!(!next.err.contains("without closing"), "{next:?}");
    }
}

#[test]
fn health_is_the_doctors_word_with_a_status_to_go_by() {
    let home = home();
    let check = |ran: &Ran| {
        let told = ran.json();
        let verdict = told["verdict"].as_str().unwrap_or_default().to_string();
        let expected = match verdict.as_str() {
            "healthy" => 0,
            "unhealthy" => 1,
            _ => 5,
        };
        assert_eq!(ran.status, expected, "{ran:?}");
        let titles: Vec<_> = told["checks"].as_array().expect("checks").iter().map(|c| c["title"].clone()).collect();
        assert!(titles.contains(&"Store".into()) && titles.contains(&"Memex".into()), "{titles:?}");
        verdict
    };
    let alone = check(&run(&home, &["health", "--json"]));
    let daemon = Daemon::owning(&home);
    assert_eq!(check(&run(&home, &["health", "--json"])), alone);
    let plain = run(&home, &["health"]);
    assert_eq!(plain.out.lines().last(), Some(alone.as_str()), "{plain:?}");
    drop(daemon);
    // A memex that is gone.
    std::fs::remove_file(home.file("home.org")).expect("it is there");
    std::fs::remove_dir(home.file("")).expect("it is empty");
    let ran = run(&home, &["health", "--json"]);
    assert_ne!((ran.status, check(&ran).as_str()), (0, "healthy"));
}

#[test]
fn a_daemon_that_is_told_to_end_in_the_middle_of_a_turn_ends_in_time_and_says_so_to_who_asked() {
    let home = home();
    let server = FakeServer::start([Reply::nothing()]);
    let mut daemon = Daemon::with(asking(&home, &server));
    let mut child = program(&home);
    child.args(["ask", "are the tiles ordered?"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().expect("it runs");
    let begun = Instant::now();
    while server.requests().is_empty() && begun.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
    let took = daemon.end("-TERM");
    assert!(took < Duration::from_secs(2), "{took:?}");
    let asked: Ran = child.wait_with_output().expect("it ends").into();
    assert!(asked.status == 1 && !asked.err.contains("panic"), "{asked:?}");
    assert_eq!(run(&home, &["memory", "verify"]).status, 0);
}

#[test]
fn each_form_of_a_repl_has_its_own_answer_when_a_plan_of_it_was_decided_elsewhere() {
    for decision in ["approve", "deny"] {
        let home = home();
        let mut daemon = Daemon::owning(&home);
        let mut repl = program(&home);
        let repl = repl.args(["repl", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut repl = repl.spawn().expect("it runs");
        let (mut typed, out) = (repl.stdin.take().expect("a pipe"), repl.stdout.take().expect("a pipe"));
        let mut lines = BufReader::new(out).lines();
        let mut evaluate = |form: &str| -> serde_json::Value {
            writeln!(typed, "{form}").expect("it is read");
            let line = lines.next().expect("it answers").expect("a line");
            serde_json::from_str(&line).unwrap_or_else(|why| panic!("{line}: {why}"))
        };
        let waits = evaluate("(setq garden 3)");
        if waits.to_string().contains("cannot be confined") {
            skipped(waits);
            drop(typed);
            repl.wait().expect("it ends");
            return;
        }
        let plan = waits["plans"][0].as_str().unwrap_or_else(|| panic!("{waits}")).to_string();
        let ran = at_terminal(&home, &format!("plans {decision} {plan}"), &format!("{plan}\n"));
        assert!(matches!((decision, ran.status), ("approve", 0) | ("deny", _)), "{}{}", ran.out, ran.err);
        for (form, value) in [("(+ 1 1)", "2"), ("(+ 2 1)", "3")] {
            let came = evaluate(form);
            assert_eq!(came["value"].as_str().map(str::trim), Some(value), "{decision} {form}: {came}");
        }
        drop(typed);
        assert!(repl.wait().expect("it ends").code().is_some());
        daemon.end("-TERM");
    }
}

#[test]
fn every_call_of_a_model_is_in_the_ledger_however_a_daemon_ends() {
    const ASKED: usize = 3;
    for signal in ["-TERM", "-KILL"] {
        let home = home();
        let server = FakeServer::start((0..ASKED).map(|_| Reply::nothing()));
        let mut daemon = Daemon::with(asking(&home, &server));
        let ask = |number: usize| {
            let mut child = program(&home);
            child.args(["send", &format!("question {number}")]).stdin(Stdio::null());
            let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
            assert!(server.wait_asked(&format!("question {number}")), "{number}");
            child
        };
        let asked: Vec<Child> = (0..ASKED).map(ask).collect();
        // They would go on by asking the next owner, which would be another question.
        let ended: Vec<Ran> = {
            match signal {
                "-KILL" => {
                    daemon.child.kill().expect("it can be killed");
                    daemon.child.wait().expect("it ends");
                }
                _ => assert!(daemon.end(signal) < Duration::from_secs(2)),
            }
            asked.into_iter().map(|child| child.wait_with_output().expect("it ends").into()).collect()
        };
        let requests = server.requests().len();
        let mut daemon = Daemon::with(asking(&home, &server));
        let costs = run(&home, &["costs", "--json"]).json();
        assert_eq!(costs["all"]["calls"].as_u64(), Some(requests as u64), "{signal}: {costs} {ended:?}");
        assert!(requests >= ASKED, "{signal}");
        daemon.end("-TERM");
    }
}

#[test]
fn a_daemon_that_was_killed_is_started_again_and_knows_its_plans() {
    let home = home();
    let server = FakeServer::start([mark_done(), Reply::answer(Dialect::OpenAi, &["It waits."], &[])]);
    let mut daemon = Daemon::with(asking(&home, &server));
    let asked = run(&home, &["ask", "the tiles are ordered", "--json"]);
    assert_eq!(asked.status, 3, "{asked:?}");
    let plan = asked.json()["plans"][0]["id"].as_str().expect("an id").to_string();
    daemon.child.kill().expect("it can be killed");
    daemon.child.wait().expect("it ends");
    assert!(home.store().join("socket").exists(), "nobody removed it");
    let status = run(&home, &["status"]);
    assert_eq!(status.status, 4, "{status:?}");
    let mut again = Daemon::with(asking(&home, &server));
    let plans = run(&home, &["plans", "list", "--json"]).json();
    assert_eq!(plans["plans"][0]["id"].as_str(), Some(plan.as_str()), "{plans}");
    assert_eq!(run(&home, &["status", "--json"]).json()["pending"], 1);
    assert_eq!(home.read_file("home.org"), TILES);
    again.end("-TERM");
}

#[test]
fn settings_are_read_anew_and_what_cannot_be_taken_is_named_without_a_secret() {
    use std::os::unix::fs::PermissionsExt;
    let home = home();
    let server = FakeServer::start([Reply::answer(Dialect::OpenAi, &["From the new one."], &[])]);
    let mut daemon = Daemon::owning(&home);
    let folder = home.folder.path().canonicalize().expect("it is there").join("config/passepartout");
    std::fs::create_dir_all(&folder).expect("a folder");
    let secret = ["sk", "abcdefghijklmnop1234"].join("-");
    let file = folder.join(".env");
    let write = |text: String, mode: u32| {
        std::fs::write(&file, text).expect("a file");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    let text =
        format!("PROVIDER_CASCADE=local\nLOCAL_BASE_URL={}\nOPENAI_API_KEY={secret}\nDAY_BUDGET_USD=1\n", server.url());
    write(text.clone(), 0o644);
    daemon.signal("-HUP");
    daemon.wait("the settings stay as they were");
    write(text, 0o600);
    daemon.signal("-HUP");
    let line = daemon.wait("settings were read anew");
    assert!(line.contains("taken: LOCAL_BASE_URL, OPENAI_API_KEY, PROVIDER_CASCADE"), "{line}");
    assert!(line.contains("these count from the next start on: DAY_BUDGET_USD"), "{line}");
    assert!(line.contains("providers: local"), "{line}");
    let answer = run(&home, &["ask", "hello"]);
    assert!(answer.status == 0 && answer.out.contains("From the new one."), "{answer:?}");
    daemon.end("-TERM");
    while let Ok(line) = daemon.lines.recv() {
        daemon.said.push(line);
    }
    assert!(!daemon.said.iter().any(|line| line.contains(&secret)), "{:?}", daemon.said);
    assert!(
        daemon
            .said
            .iter()
            .all(|line| line.contains(" info: ") || line.contains("error: ") || line.contains("warning: "))
    );
}

#[test]
fn what_is_wrong_with_settings_or_port_is_in_the_log_of_a_daemon_that_keeps_its_lines() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = taken.local_addr().expect("an address").to_string();
    for (listen, words) in [
        (at.as_str(), "nobody can connect by the network: something else listens at"),
        ("foo", "Nothing is listened for: “foo” is no address with a port"),
    ] {
        let home = home();
        let mut command = program(&home);
        command.arg("daemon").env("PASSEPARTOUT_LISTEN", listen);
        let mut daemon = Daemon::start(command);
        daemon.wait(words);
        daemon.end("-TERM");
        while let Ok(line) = daemon.lines.recv() {
            daemon.said.push(line);
        }
        assert_eq!(daemon.said.iter().filter(|line| line.contains(words)).count(), 1, "{:?}", daemon.said);
    }
}

#[test]
fn a_text_is_endorsed_by_whoever_owns_the_store() {
    let home = home();
    let mut daemon = Daemon::owning(&home);
    // By then the notes are read.
    let asked = run(&home, &["ask", "what is overdue?"]);
    assert!(asked.out.contains("Order tiles"), "{asked:?}");
    let ran = at_terminal(&home, "memory endorse tiles", "");
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("is in use by"), "{}", ran.out);
    let piped = run(&home, &["memory", "endorse", "tiles"]);
    assert!(piped.status == 1 && piped.err.contains("this is done in Emacs or at a terminal"), "{piped:?}");
    daemon.end("-TERM");
}

#[test]
fn a_daemon_that_waits_takes_over_when_the_owner_ends() {
    let home = home();
    let mut first = Daemon::owning(&home);
    let mut command = program(&home);
    command.args(["daemon", "--wait"]);
    let mut second = Daemon::start(command);
    second.wait("waiting until it is free");
    first.end("-TERM");
    second.wait("owns the store");
    assert_eq!(run(&home, &["status"]).status, 0);
    second.end("-TERM");
    // One that waits ends as well.
    let _first = Daemon::owning(&home);
    let mut command = program(&home);
    command.args(["daemon", "--wait"]);
    let mut third = Daemon::start(command);
    third.wait("waiting until it is free");
    assert!(third.end("-TERM") < Duration::from_secs(2));
}

#[test]
fn an_emacs_that_joins_works_there_and_one_that_is_none_of_the_systems_approves_nothing() {
    let home = home();
    let server = FakeServer::start([mark_done(), Reply::answer(Dialect::OpenAi, &["It waits."], &[])]);
    let mut daemon = Daemon::with(asking(&home, &server));
    let mut emacs = Client::begin(&settings(&home, None, "\"recall\""));
    emacs.wait("it to join", |m| text(m, "text").contains("does the work for this Emacs too"));
    emacs.wait("whose settings count", |m| text(m, "text").contains("a Passepartout without Emacs (process"));
    assert_eq!(emacs.request("hello", Plist::new()).int_at("protocol"), Some(2));
    let plan = crate::runtime::parked(&mut emacs);
    // This test is no Emacs, and has no terminal of its own.
    approve(&mut emacs, &plan);
    assert_eq!(emacs.turn_done().text_at("status"), Some("failed"));
    assert_eq!(home.read_file("home.org"), TILES);
    let declared = emacs.request("define-tool", Plist::new().text("name", "mine"));
    assert!(declared.text_at("error").is_some(), "{declared}");
    let found = emacs.request("query", Plist::new().text("query", "tiles").keyword("for", "screen"));
    assert_eq!(found.text_at("error"), None, "{found}");
    let took = daemon.end("-TERM");
    assert!(took < Duration::from_secs(2), "{took:?}");
    emacs.wait("that the daemon has ended", |m| crate::runtime::action(m) == Some("core-lost"));
}

/// Runs it without systemd in reach.
fn without_systemd(home: &Home, words: &[&str]) -> Ran {
    let nowhere = home.folder.path().join("project");
    program(home).env("PATH", nowhere).args(words).output().expect("it runs").into()
}

#[test]
fn a_service_is_written_when_it_is_confirmed_and_never_over_one_that_was_changed() {
    let home = home();
    let unit = home.folder.path().canonicalize().expect("it is there").join("config/systemd/user/passepartout.service");
    let ran = without_systemd(&home, &["install", "service"]);
    assert!(ran.status == 1 && ran.out.contains("[Service]") && ran.err.contains("nothing was written"), "{ran:?}");
    assert!(!unit.exists());
    let ran = without_systemd(&home, &["uninstall", "service", "--yes"]);
    assert!(ran.status == 1 && ran.err.contains("there is no "), "{ran:?}");
    let ran = without_systemd(&home, &["install", "service", "--yes", "--json"]);
    assert_eq!(
        (ran.status, ran.json()["written"].as_bool(), ran.json()["reloaded"].as_bool()),
        (0, Some(true), Some(false))
    );
    assert_eq!(ran.json()["next"][0], "systemctl --user daemon-reload");
    let text = std::fs::read_to_string(&unit).expect("it is written");
    let line = |text: &str| text.lines().find(|line| line.starts_with("ExecStart=")).map(str::to_string);
    let started = line(&text).expect("it is there");
    assert!(started.contains(env!("CARGO_BIN_EXE_passepartout")) && started.ends_with(" daemon --wait"), "{started}");
    assert!(text.contains("XDG_STATE_HOME=") && text.contains("NoNewPrivileges=yes"), "{text}");
    assert!(text.contains("\nLimitNOFILE=4096\n"), "as many as the clients need that a daemon takes: {text}");
    // Once more is no change by hand.
    assert_eq!(without_systemd(&home, &["install", "service", "--yes"]).status, 0);
    std::fs::write(&unit, text.replace("RestartSec=5", "RestartSec=9")).expect("it is ours");
    for words in [&["install", "service", "--yes"][..], &["uninstall", "service", "--yes"]] {
        let ran = without_systemd(&home, words);
        assert!(ran.status == 1 && ran.err.contains("was changed by hand"), "{ran:?}");
    }
    assert!(std::fs::read_to_string(&unit).expect("it stays").contains("RestartSec=9"));
    std::fs::write(&unit, text).expect("it is ours");
    let ran = without_systemd(&home, &["uninstall", "service", "--yes"]);
    assert!(ran.status == 0 && !Path::new(&unit).exists(), "{ran:?}");
}
