//! The owner of a store and those who joined it: one that is stopped, one that is lied to, and what it alone knows.

use crate::cli::{at_terminal, run, terminal};
use crate::peers::{Owner, Raw, join, meanwhile};
use crate::runtime::{
    Buffer, Client, TILES, action, approve, display, mark_done, parked, payload_of, read_plan, says, settings, text,
};
use crate::support::engine::Home;
use crate::support::fake_server::FakeServer;
use passepartout::domain::sexp::plist::Plist;
use passepartout::domain::sexp::reader::Sexp;
use std::io::{Read, Write};
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn when_the_owner_is_stopped_emacs_and_commands_are_told_what_is_the_matter() {
    let home = Home::new(&[("home.org", TILES)]);
    let owner = Owner::start(&home, None);
    let mut emacs = join(&home, None);
    owner.signal("-STOP");
    let process = owner.0.id();
    // A command that comes now does not wait for long, and says whom it waited for.
    let begun = Instant::now();
    let ran = run(&home, &["plans", "list"]);
    assert_eq!(ran.status, 0, "what only reads needs nobody: {}", ran.err);
    let ran = at_terminal(&home, "plans deny P1", "");
    assert!(ran.status == 1 && ran.out.contains("did not answer within 5 seconds"), "{}", ran.out);
    assert!(
        ran.out.contains(&format!("process {process}")) && begun.elapsed() < Duration::from_secs(15),
        "{}",
        ran.out
    );
    emacs.say("are you there?");
    let told = emacs.wait("that it is stopped", |m| action(m) == Some("core-silent"));
    let told = text(&told, "text");
    assert!(told.starts_with(&format!("Process {process}, ")) && told.contains("it is stopped"), "{told}");
    assert!(told.contains(&format!("kill -CONT {process}")) && told.contains("10 seconds"), "{told}");
    owner.signal("-CONT");
    emacs.wait("that it goes on", |m| action(m) == Some("core-back"));
    // What was said meanwhile waited there, and was said once.
    emacs.turn_done();
    assert_eq!((emacs.count("turn-done"), emacs.count("turn-started")), (1, 1));
    assert_eq!(emacs.count("core-lost"), 0);
}

/// A program that is no Emacs and says that it is one, when a test starts it.
#[test]
fn a_program_that_says_it_is_an_emacs() {
    let Ok(store) = std::env::var("PRETENDER_CHILD") else { return };
    let mut raw = Raw::connect(std::path::Path::new(&store));
    raw.next().expect("a greeting");
    raw.say("(:type :event :payload (:action :handshake :protocol 2 :as :emacs))");
    println!("\nHEARD {}", raw.next().expect("it is let in"));
    let plan = std::env::var("PRETENDER_PLAN").expect("a plan");
    let shown = std::env::var("PRETENDER_SHOWN").expect("its hash");
    let mut from = Some(0);
    while let Some(at) = from {
        raw.say(&format!("(:type :request :payload (:action :plan-page :request 1 :plan {plan:?} :from {at}))"));
        let page = loop {
            let text = raw.next().expect("it is answered");
            if text.contains(":plan-page") {
                break Sexp::read(&text).expect("it can be read");
            }
        };
        from = payload_of(&page).int_at("next");
    }
    for sensor in ["plan-displayed", "approval"] {
        raw.say(&format!("(:type :event :payload (:sensor :{sensor} :plan {plan:?} :shown {shown:?}))"));
    }
    raw.say("(:type :request :payload (:action :focus :request 2 :line \"focus tiles\"))");
    let mut left = 2;
    while left > 0 {
        let text = raw.next().expect("it is answered");
        if text.contains(":turn-done") || text.contains(":request 2") {
            println!("\nHEARD {text}");
            left -= 1;
        }
    }
}

#[test]
fn a_process_that_only_claims_to_be_an_emacs_has_no_rights_of_a_human() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done()]);
    let mut emacs = Client::start(&home, Some(&server), "\"fake\"");
    let plan = parked(&mut emacs);
    let name = |key: &str| plan.text_at(key).expect("it is there").to_string();
    // Another file with the same program: neither this one nor the system's.
    let program = home.folder.path().join("emacs");
    std::fs::copy(std::env::current_exe().expect("it has a name"), &program).expect("it is copied");
    let mut child = Command::new(&program);
    child.args(["--exact", "owner::a_program_that_says_it_is_an_emacs", "--nocapture"]);
    child.env("PRETENDER_CHILD", home.store()).env("PRETENDER_PLAN", name("id")).env("PRETENDER_SHOWN", name("shown"));
    child.stdin(std::process::Stdio::null());
    let ran = meanwhile(&mut emacs, || child.output().expect("it runs"));
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let heard: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("HEARD ")).collect();
    assert_eq!(heard.len(), 3, "{said}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(heard[0].contains("says that it is an Emacs") && heard[0].contains(":doubt \"its program is "), "{said}");
    let refused = |text: &str| text.contains("\"failed\"") || text.contains(":error ");
    assert!(heard[1..].iter().all(|text| refused(text)), "{said}");
    assert_eq!(home.read_file("home.org"), TILES);
    let plans = emacs.request("plans", Plist::new());
    assert_eq!(plans.list_at("plans"), std::slice::from_ref(&plan), "it waits on");
    let log = emacs.request("log", Plist::new().int("limit", 50)).to_string();
    assert!(log.contains("has joined with the rights of a command"), "{log}");
}

#[test]
fn an_emacs_that_starts_while_a_command_owns_the_store_joins_it_and_takes_over_at_its_end() {
    let home = Home::new(&[("home.org", TILES)]);
    let ran = run(&home, &["ask", "mark order tiles done"]);
    assert_eq!(ran.status, 3, "{}{}", ran.out, ran.err);
    let mut first = Client::start(&home, None, "\"recall\"");
    let plan = first.request("plans", Plist::new()).list_at("plans")[0].clone();
    drop(first);
    // It shows the plan, and waits for somebody to type its name.
    let mut command = terminal(&home, &format!("plans approve {}", plan.text_at("id").expect("an id")));
    let (mut out, mut seen) = (command.stdout.take().expect("a pipe"), Vec::new());
    while !String::from_utf8_lossy(&seen).contains("to approve exactly this") {
        let mut piece = [0; 1024];
        let count = out.read(&mut piece).expect("it goes on");
        assert!(count > 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&piece[..count]);
        if String::from_utf8_lossy(&seen).ends_with("anything else stops: ") {
            command.stdin.as_mut().expect("a pipe").write_all(b"\n").expect("the terminal reads");
        }
    }
    let mut emacs = Client::begin(&settings(&home, None, "\"recall\""));
    emacs.wait("it to join", |m| text(m, "text").contains("does the work for this Emacs too"));
    emacs.wait("what it may", |m| text(m, "text").contains("a command owns the store while it runs"));
    assert_eq!(emacs.request("plans", Plist::new()).list_at("plans"), std::slice::from_ref(&plan));
    // The command has the settings of the command line: nothing is begun by them for an Emacs, which looks only.
    emacs.say("what is open?");
    let refused = emacs.turn_done();
    assert_eq!(refused.text_at("status"), Some("failed"), "{refused}");
    assert!(refused.text_at("text").is_some_and(|why| why.contains("owns the store until it ends")), "{refused}");
    approve(&mut emacs, &plan);
    assert_eq!(emacs.turn_done().text_at("status"), Some("failed"), "a command cannot tell who is an Emacs");
    let refused = emacs.request("focus", Plist::new().text("line", "focus tiles"));
    assert!(refused.text_at("error").is_some_and(|why| why.contains("then ask again")), "{refused}");
    let found = emacs.request("query", Plist::new().text("query", "tiles").keyword("for", "screen"));
    assert_eq!(found.text_at("error"), None, "{found}");
    // Another command has its work done there, too.
    let ran = run(&home, &["ask", "what is open?"]);
    assert!(ran.status == 0 && !ran.err.contains("nothing of this is kept"), "{}{}", ran.out, ran.err);
    command.stdin.take().expect("a pipe").write_all(b"no\n").expect("the terminal reads");
    emacs.wait("that the command is done", |m| {
        action(m) == Some("core-lost") && text(m, "text").contains("with nothing under way")
    });
    assert!(command.wait().expect("it ends").success());
    assert_eq!(emacs.request("hello", Plist::new()).int_at("protocol"), Some(2));
    approve(&mut emacs, &plan);
    assert_eq!(emacs.turn_done().text_at("status"), Some("answered"));
    assert!(home.read_file("home.org").contains("** DONE Order tiles"));
}

/// Has the agent mark the tiles as done, on disk.
fn done(emacs: &mut Client) {
    let plan = parked(emacs);
    read_plan(emacs, &plan);
    display(emacs, &plan);
    approve(emacs, &plan);
    assert_eq!(emacs.turn_done().text_at("status"), Some("answered"));
}

#[test]
fn what_would_be_taken_back_is_worked_out_by_the_owner_who_knows_unsaved_buffers() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done(), says(&["It is done."])]);
    let mut emacs = Client::start(&home, Some(&server), "\"fake\"");
    done(&mut emacs);
    let plain = meanwhile(&mut emacs, || run(&home, &["memory", "undo", "--dry-run"]));
    assert!(plain.status == 0 && plain.out.contains("+** TODO Order tiles"), "{}{}", plain.out, plain.err);
    assert!(plain.out.ends_with("Nothing was done.\n"), "{}", plain.out);
    // In Emacs the same heading says something else, and is not saved.
    let typed = home.read_file("home.org").replace("** DONE Order tiles", "** DONE Order many tiles");
    emacs.buffers.insert(home.file("home.org"), Buffer { text: typed, tick: 9, modified: true });
    let now = meanwhile(&mut emacs, || run(&home, &["memory", "undo", "--dry-run"]));
    assert_ne!(now.out, plain.out, "{}", now.err);
    let json = meanwhile(&mut emacs, || run(&home, &["memory", "undo", "--json"]));
    assert_eq!((json.status, json.out.is_empty()), (now.status, now.out.is_empty()), "{}{}", json.out, json.err);
    assert!(home.read_file("home.org").contains("** DONE Order tiles"), "nothing was done");
}

#[test]
fn what_one_client_was_shown_another_cannot_carry_out() {
    let home = Home::new(&[("home.org", TILES)]);
    let server = FakeServer::start([mark_done(), says(&["It is done."])]);
    let mut first = Client::start(&home, Some(&server), "\"fake\"");
    let mut second = join(&home, Some(&server));
    meanwhile(&mut second, || done(&mut first));
    let shown = meanwhile(&mut second, || first.request("undo", Plist::new()));
    let hash = shown.text_at("shown").expect("it is short").to_string();
    let carry_out = || Plist::new().text("shown", hash.as_str());
    let refused = second.request("memory-do", carry_out());
    assert!(refused.text_at("error").is_some_and(|why| why.contains("not all of it was shown here")), "{refused}");
    assert!(home.read_file("home.org").contains("** DONE Order tiles"));
    let page = Plist::new().text("preview", shown.text_at("preview").expect("a name")).int("from", 0);
    assert_eq!(second.request("memory-page", page).text_at("shown"), Some(hash.as_str()));
    let undone = meanwhile(&mut first, || second.request("memory-do", carry_out()));
    assert_eq!(undone.text_at("status"), Some("answered"), "{undone}");
    assert_eq!(home.read_file("home.org"), TILES);
}

#[test]
fn pages_of_the_past_are_of_one_text_and_begin_with_the_first() {
    let many: String = (0..4000).map(|n| format!("* Heading {n}\nIt says {n}.\n")).collect();
    let home = Home::new(&[("home.org", &many)]);
    let mut client = Client::start(&home, None, "\"recall\"");
    let asked = |from: i64| Plist::new().int("operation", 1).int("from", from);
    let refused = |client: &mut Client, from: i64| {
        let page = client.request("memory-show", asked(from));
        assert!(page.text_at("error").is_some_and(|why| why.contains("ask for it again")), "{page}");
    };
    refused(&mut client, 100);
    let (mut whole, mut from, mut pages) = (String::new(), 0, 0);
    loop {
        let page = client.request("memory-show", asked(from));
        whole.push_str(page.text_at("text").expect("a page"));
        pages += 1;
        match page.int_at("next") {
            Some(next) => from = next,
            None => break,
        }
    }
    assert!(pages > 1 && whole.contains("heading: Heading 999\n") && whole.contains(" more headings\n"), "{pages}");
    assert!(!whole.contains("heading: Heading 1000\n") && whole.contains("\n+* Heading 3999\n+It says 3999."));
    refused(&mut client, from);
}

#[test]
fn two_questions_at_once_are_both_answered_and_both_plans_wait() {
    let notes: String = (1..=6).map(|n| format!("* TODO Task {}\n", "abcdef".chars().nth(n - 1).unwrap())).collect();
    let home = Home::new(&[("home.org", &notes)]);
    for pair in [["a", "b"], ["c", "d"], ["e", "f"]] {
        let ask = |name: &str| run(&home, &["ask", &format!("mark \"Task {name}\" as done"), "--json"]);
        let ran = std::thread::scope(|scope| {
            let both = pair.map(|name| scope.spawn(move || ask(name)));
            both.map(|one| one.join().expect("it runs"))
        });
        for ran in ran {
            assert_eq!(ran.status, 3, "{}{}", ran.out, ran.err);
            assert_eq!(ran.json()["plans"].as_array().map(Vec::len), Some(1), "{}", ran.out);
            assert_eq!(ran.err, "");
        }
    }
    let listed = run(&home, &["plans", "list", "--json"]);
    assert_eq!(listed.json()["plans"].as_array().map(Vec::len), Some(6), "{}", listed.out);
}

#[test]
fn a_store_that_is_deleted_under_its_owner_is_put_back_and_can_be_joined_again() {
    let home = Home::new(&[("home.org", TILES)]);
    // Both note the head of the store at the same place.
    let base = home.folder.path().canonicalize().expect("it is there");
    let at = |name: &str, folder: &str| format!("({name:?} . {:?})", base.join(folder).to_string_lossy());
    let own = [at("HOME", "home"), at("XDG_CONFIG_HOME", "config"), at("XDG_CACHE_HOME", "cache")].join(" ");
    let settings = settings(&home, None, "\"recall\"");
    let mut emacs = Client::begin(&settings.replacen('(', &format!("(:environment ({own}) "), 1));
    emacs.wait("the memex to be read", |m| text(m, "text").starts_with("the memex has "));
    // What was never saved is missed by nobody.
    emacs.say("what is open?");
    emacs.turn_done();
    for round in 1..=2 {
        std::fs::remove_dir_all(home.store()).expect("it is there");
        let ran = meanwhile(&mut emacs, || run(&home, &["ask", "what is open?"]));
        assert!(ran.status == 0 && ran.out.contains("Order tiles"), "{round}: {}{}", ran.out, ran.err);
        assert!(home.store().join("socket").exists(), "{round}: who owned it owns it still: {}", ran.err);
    }
    let log = emacs.request("log", Plist::new().int("limit", 50)).to_string();
    assert_eq!(log.matches("was taken away while it was in use").count(), 1, "{log}");
}

#[test]
fn a_store_that_is_gone_is_no_healthy_one() {
    let home = Home::new(&[("home.org", TILES)]);
    assert_eq!(run(&home, &["ask", "what is open?"]).status, 0);
    std::fs::remove_dir_all(home.store()).expect("it is there");
    let ran = run(&home, &["doctor"]);
    assert!(ran.status == 1 && ran.out.contains("the store is gone; it was at operation 1"), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("unhealthy  Store") && ran.out.contains("from a backup"), "{}", ran.out);
    assert!(!home.store().join("memory.sqlite").exists(), "looking makes no new one");
    // Whoever goes on without it makes a new one.
    assert_eq!(run(&home, &["ask", "what is open?"]).status, 0);
    assert!(!run(&home, &["doctor"]).out.contains("the store is gone"));
}

#[test]
fn what_is_answered_in_few_words_beside_an_owner_is_an_answer() {
    let home = Home::new(&[("home.org", TILES)]);
    let mut emacs = Client::start(&home, None, "\"recall\"");
    for (line, said) in [("/focus", "whole memex"), ("/plans", "No plan waits"), ("/help", "/undo")] {
        let ran = meanwhile(&mut emacs, || run(&home, &["ask", line]));
        assert!(ran.status == 0 && ran.out.contains(said) && ran.err.is_empty(), "{line}: {}{}", ran.out, ran.err);
        let json = meanwhile(&mut emacs, || run(&home, &["ask", line, "--json"])).json();
        assert!(json["text"].as_str().is_some_and(|text| text.contains(said)), "{json}");
    }
}
