//! The built program: every command on a small memex, its exit statuses, and what it says of bad input.

use crate::support::engine::Home;
use crate::support::fake_server::{Dialect, FakeServer, Recorded, Reply};
use crate::support::skip::skipped;
use passepartout::domain::id::NodeId;
use passepartout::domain::label::Privacy;
use passepartout::edge::clock::{Clock, SystemClock};
use passepartout::edge::store::DiskStore;
use serde_json::Value;
use std::io::{Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const TILES: &str = "#+TITLE: Home\n* Kitchen :project:\n** TODO Order tiles\nDEADLINE: <2026-03-01 Sun>\n:PROPERTIES:\n:ID: tiles\n:END:\nThe white ones.\n";

/// Returns the program, with folders of a home of its own and nothing else of the environment.
pub(crate) fn program(home: &Home) -> Command {
    let base = home.folder.path().canonicalize().expect("it is there");
    let mut command = Command::new(env!("CARGO_BIN_EXE_passepartout"));
    command.env_clear().env("PATH", "/usr/bin:/bin").env("TZ", "UTC").current_dir(base.join("project"));
    for (name, folder) in
        [("HOME", "home"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config"), ("XDG_CACHE_HOME", "cache")]
    {
        command.env(name, base.join(folder));
    }
    command.env("MEMEX_DIR", base.join("memex")).stdin(Stdio::null());
    command
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes UTF-8");
        Ran { status: output.status.code().expect("it exits"), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}\n{}", self.out, self.err))
    }
}

pub(crate) fn run(home: &Home, words: &[&str]) -> Ran {
    program(home).args(words).output().expect("it runs").into()
}

/// Runs it with lines on its input.
fn feed(home: &Home, words: &[&str], lines: &str) -> Ran {
    let mut child = program(home)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    // A program that refuses before it reads has closed its end.
    let _ = child.stdin.take().expect("a pipe").write_all(lines.as_bytes());
    child.wait_with_output().expect("it ends").into()
}

fn home() -> Home {
    Home::new(&[("home.org", TILES)])
}

#[test]
fn every_command_answers_in_json() {
    let home = home();
    let memex = home.file("");
    let ran = run(&home, &["ingest", &memex, "--json"]);
    let figures = ran.json();
    assert_eq!(
        (ran.status, &figures["files"], &figures["headings"], &figures["problems"]),
        (0, &1.into(), &2.into(), &0.into())
    );
    assert!(figures["bytes"].is_u64() && figures["seconds"].is_number());

    let ran = run(&home, &["dump", &memex, "--jsonl"]);
    let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.iter().map(|l| l["level"].as_u64()).collect::<Vec<_>>(), [Some(0), Some(1), Some(2)]);
    assert_eq!(
        (lines[2]["id"].as_str(), lines[2]["todo"].as_str(), &lines[2]["all_tags"]),
        (Some("tiles"), Some("TODO"), &serde_json::json!(["project"]))
    );

    let ran = run(&home, &["context", "--memex", &memex, "--query", "tiles", "--json"]);
    let context = ran.json();
    assert!(context["text"].as_str().is_some_and(|text| text.contains("Order tiles")), "{context}");
    assert!(context["tokens"].as_u64().is_some_and(|n| n > 0) && context["micros"].is_u64());

    let ran = feed(
        &home,
        &["context", "--memex", &memex, "--jsonl"],
        "{\"id\": 1, \"query\": \"tiles\"}\nnonsense\n{\"id\": \"b\", \"focus\": \"tiles\"}\n",
    );
    let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((ran.status, lines.len()), (0, 3));
    assert_eq!((&lines[0]["id"], &lines[2]["id"]), (&1.into(), &"b".into()));
    assert!(lines[1]["error"].is_string());

    let cases = "{\"id\": 1, \"tool\": \"shell\", \"args\": {\"command\": \"rm -rf /\"}, \"explanation\": \"To clean up the disk.\"}\n\
                 {\"id\": 2, \"tool\": \"shell\", \"args\": {\"command\": \"ls\"}, \"explanation\": \"To look at the files.\"}\n\
                 {\"id\": 3, \"tool\": \"teleport\", \"args\": {}, \"explanation\": \"To be elsewhere soon.\"}\n";
    let ran = feed(&home, &["gate", "--jsonl"], cases);
    let verdicts: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(
        verdicts.iter().map(|v| v["verdict"].as_str()).collect::<Vec<_>>(),
        [Some("deny"), Some("pass"), Some("deny")]
    );
    assert!(verdicts[0]["trace"].as_array().is_some_and(|trace| trace.len() >= 7));

    let ran = run(&home, &["ask", "what is overdue?", "--json"]);
    let answer = ran.json();
    assert_eq!((ran.status, answer["status"].as_str()), (0, Some("answered")), "{}", ran.err);
    assert!(answer["text"].as_str().is_some_and(|text| text.contains("Order tiles")), "{answer}");
    assert_eq!(answer["sources"], serde_json::json!(["tiles"]));

    let ran = run(&home, &["plans", "list", "--json"]);
    assert_eq!((ran.status, ran.json()), (0, serde_json::json!({"plans": []})));
    let ran = run(&home, &["doctor", "--json"]);
    let doctor = ran.json();
    let names: Vec<_> = doctor["checks"].as_array().expect("checks").iter().map(|c| c["name"].clone()).collect();
    for name in ["store", "memex", "project", "settings", "confinement", "models"] {
        assert!(names.contains(&name.into()), "{names:?}");
    }
    assert!(ran.status == 0 || doctor["verdict"] == "unhealthy");
    for words in [&["--help"][..], &["--version"], &["ask", "--help"]] {
        assert_eq!(run(&home, words).status, 0);
    }
}

#[test]
fn wrong_words_end_with_two_and_say_what_would_be_right() {
    let home = home();
    for words in [
        &[][..],
        &["teleport"],
        &["ask"],
        &["ingest"],
        &["plans"],
        &["plans", "show"],
        &["context", "--max-tokens", "many"],
        &["ask", "--teleport", "x"],
        &["ask", "-"],
        &["--memex", "/tmp", "what is overdue?"],
        &["what is overdue?"],
        &["plans", "show", "--memex", "/tmp"],
    ] {
        let ran = run(&home, words);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{words:?}");
        assert!(ran.err.contains("Usage:") || ran.err.contains("'--help'"), "{words:?}: {}", ran.err);
    }
}

#[test]
fn rules_without_a_word_are_listed() {
    let home = home();
    let (bare, list) = (run(&home, &["rules"]), run(&home, &["rules", "list"]));
    assert_eq!((bare.status, &bare.out), (0, &list.out), "{bare:?}");
    assert!(bare.out.contains("Nothing loosens"), "{bare:?}");
    assert!(run(&home, &["rules", "--json"]).json()["rules"].is_array());
    let store = home.store();
    let words = ["--store", store.to_str().expect("UTF-8"), "rules", "list", "--json"];
    assert!(run(&home, &words).json()["rules"].is_array());
    assert_eq!(run(&home, &["rules", "teleport"]).status, 2);
}

#[test]
fn what_was_refused_is_said_once_beside_the_answer() {
    let home = home();
    let wipe = |id| {
        let args = serde_json::json!({"command": "rm -rf /", "explanation": "To have more room on the disk."});
        Reply::answer(Dialect::OpenAi, &[], &[(id, "shell", args)])
    };
    let done = || Reply::answer(Dialect::OpenAi, &["I could not."], &[]);
    let server = FakeServer::start([wipe("c1"), wipe("c2"), done(), wipe("c3"), done()]);
    let ask = |words: &[&str]| -> Ran {
        let mut asking = program(&home);
        asking.env("LOCAL_BASE_URL", server.url()).env("PROVIDER_CASCADE", "local").arg("ask").args(words);
        asking.output().expect("it runs").into()
    };
    let ran = ask(&["clean up"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let refused: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("Refused: ")).collect();
    let [line] = refused.as_slice() else { panic!("{ran:?}") };
    assert!(line.starts_with("Refused: Run: rm -rf / — ") && line.len() < 300, "{line}");
    let (_, hash) = line.rsplit_once("(passepartout why ").expect("it can be asked about");
    let why = run(&home, &["why", hash.trim_end_matches(')')]);
    assert!(why.out.contains("A denial stands: nothing was done"), "{why:?}");
    let json = ask(&["again", "--json"]).json();
    let told = &json["refused"];
    assert_eq!(told.as_array().map(Vec::len), Some(1), "{json}");
    assert!(told[0]["text"].as_str().is_some_and(|text| text.starts_with("Run: rm -rf /")), "{json}");
    assert!(told[0]["action"].as_str().is_some_and(|hash| hash.len() == 64), "{json}");
}

#[test]
fn lisp_is_evaluated_form_by_form_from_a_pipe() {
    let home = home();
    let lines = "(progn (princ \"said\")\n  (+ 40 2)) ; two lines\n\n; a remark\n,inspect car\n,quit\n(+ 70 7)\n";
    let ran = feed(&home, &["repl"], lines);
    if ran.out.contains("cannot be confined") {
        skipped(ran.out);
        return;
    }
    assert!(ran.status == 0 && ran.out.starts_with("said\n42\ncar is a function of 1 argument."), "{ran:?}");
    assert!(!ran.out.contains("77"), "what stands behind ,quit is not evaluated: {ran:?}");
    for (lines, status, said) in [
        ("", 0, ""),
        (",help\n", 0, ",load FILE"),
        ("(car 1)\n(+ 1 2)\n", 1, "Error: Wrong type argument: listp, 1"),
        ("(+ 1 2)\n(car 1)", 1, "3\nError: "),
        ("(setq garden 3)\n", 3, "It waits as P"),
        ("(+ 1\n", 1, ""),
        (",load .env\n", 1, ""),
        (",what\n", 1, "There is no such command"),
    ] {
        let ran = feed(&home, &["repl"], lines);
        assert!(ran.status == status && ran.out.contains(said), "{lines}: {ran:?}");
    }
    let ran = run(&home, &["plans", "list"]);
    assert!(ran.out.contains("eval-lisp") || ran.out.contains("garden"), "it waits in the store: {ran:?}");
}

#[test]
fn a_repl_beside_another_is_evaluated_by_the_one_that_owns_the_store() {
    let home = home();
    let mut first = program(&home).arg("repl").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let (mut typed, mut out) = (first.stdin.take().expect("a pipe"), first.stdout.take().expect("a pipe"));
    typed.write_all(b"(+ 1 2)\n").expect("it is read");
    let mut said = [0; 2];
    out.read_exact(&mut said).expect("it answers");
    if &said != b"3\n" {
        drop(typed);
        let mut rest = String::new();
        let _ = out.read_to_string(&mut rest);
        let _ = first.wait();
        skipped(rest);
        return;
    }
    let ran = feed(&home, &["repl"], "(+ 2 2)\n(car 1)\n");
    assert!(ran.status == 1 && ran.out.starts_with("4\nError: "), "{ran:?}");
    // Each has a worker of its own.
    let ran = feed(&home, &["repl"], "(boundp 'garden)\n(setq garden 1)\n");
    assert!(ran.status == 3 && ran.out.starts_with("nil\n"), "{ran:?}");
    drop(typed);
    assert!(first.wait().expect("it ends").success());
}

#[test]
fn a_name_in_the_settings_file_that_is_no_setting_is_said_with_what_may_be_meant() {
    let home = home();
    let folder = home.folder.path().join("config/passepartout");
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(".env");
    for (line, said) in [
        ("DAY_BUDGT_USD=1", &["DAY_BUDGT_USD in .env is no setting", "DAY_BUDGET_USD may be meant"][..]),
        ("NONSENSE_KEY=hunter2", &["NONSENSE_KEY in .env is no setting"]),
        ("export PLAN_HUORS=3", &["PLAN_HUORS in .env is no setting", "PLAN_HOURS may be meant"]),
        ("DAY_BUDGET_USD=1\nMINE_API_KEY=x\n# DAY_BUDGT_USD=1", &[]),
    ] {
        std::fs::write(&file, format!("{line}\n")).expect("a file");
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
        let told = run(&home, &["doctor", "--json"]).json();
        let checks = told["checks"].as_array().expect("checks");
        let settings = checks.iter().find(|check| check["title"] == "Settings").expect("it looks");
        let detail = settings["detail"].as_str().unwrap_or_default();
        assert!(said.iter().all(|words| detail.contains(words)), "{line}: {settings}");
        assert_eq!(detail.contains("is no setting"), !said.is_empty(), "{line}: {settings}");
        assert!(!detail.contains("hunter2"), "{settings}");
    }
}

#[test]
fn a_question_is_read_wherever_it_stands() {
    let home = home();
    let memex = home.file("");
    let plain = run(&home, &["ask", "what is overdue?"]);
    assert!(plain.status == 0 && plain.out.contains("Order tiles"), "{}{}", plain.out, plain.err);
    for words in [
        &["ask", "--memex", &memex, "what is overdue?"][..],
        &["ask", "--memex", &memex, &memex, "what", "is", "overdue?"],
        &["ask", "what is overdue?", "--memex", &memex],
        &["--memex", &memex, "ask", "what is overdue?"],
        &["--project", ".", "ask", "--memex", &memex, "--", "what is overdue?"],
    ] {
        let ran = run(&home, words);
        assert_eq!((ran.status, &ran.out), (0, &plain.out), "{words:?}: {}", ran.err);
    }
    for words in [&["ask", "-"][..], &["ask"], &["ask", "--memex", &memex]] {
        let ran = feed(&home, words, "what is overdue?\n");
        assert_eq!((ran.status, &ran.out), (0, &plain.out), "{words:?}: {}", ran.err);
    }
    let ran = feed(&home, &["ask", "-"], &"long ".repeat(1 << 18));
    assert!(ran.status == 2 && ran.err.contains("longer than 1 MB"), "{}", ran.err);
}

#[test]
fn a_context_says_why_each_node_is_in_it() {
    let home = home();
    let ran = run(&home, &["context", "--query", "tiles", "--max-tokens", "300"]);
    let (text, why) = ran.out.split_once("\nWhy (").expect("the reasons stand below the text");
    assert!(text.contains("Order tiles"), "{text}");
    let rows: Vec<&str> = why.lines().skip(1).collect();
    let row = rows.iter().find(|row| row.ends_with("  tiles")).unwrap_or_else(|| panic!("{why}"));
    assert!(row.contains("words 1.00") && row.contains("full"), "{row}");
    let ends: Vec<usize> = rows.iter().filter_map(|row| row.find(" full ").or_else(|| row.find(" title "))).collect();
    assert!(ends.len() > 1 && ends.iter().all(|end| *end == ends[0]), "the columns stand below each other:\n{why}");
}

/// Asks for a change and returns the plan that waits.
fn pending(home: &Home) -> Value {
    let ran = run(home, &["ask", "mark order tiles done", "--json"]);
    assert_eq!(ran.status, 3, "{}\n{}", ran.out, ran.err);
    let answer = ran.json();
    assert_eq!(answer["status"], "parked");
    answer["plans"][0].clone()
}

#[test]
fn a_plan_is_left_waiting_and_can_be_seen() {
    let home = home();
    let plan = pending(&home);
    let id = plan["id"].as_str().expect("an id");
    assert_eq!((plan["tool"].as_str(), plan["args"]["id"].as_str()), (Some("org-set-todo"), Some("tiles")));
    assert_eq!(home.read_file("home.org"), TILES);
    assert_eq!(run(&home, &["plans", "list", "--json"]).json()["plans"], serde_json::json!([plan]));
    let shown = run(&home, &["plans", "show", id]);
    assert_eq!(shown.status, 0);
    assert!(shown.out.contains("-** TODO Order tiles") && shown.out.contains("+** DONE Order tiles"), "{}", shown.out);
    assert_eq!(run(&home, &["plans", "show", id, "--json"]).json(), plan);
    let none = run(&home, &["plans", "show", "P0"]);
    assert_eq!(
        (none.status, none.err.as_str()),
        (1, "passepartout: there is no plan P0; see: passepartout plans list\n")
    );
    let ran = run(&home, &["ask", "mark order tiles done"]);
    assert_eq!(ran.status, 3);
    assert!(ran.out.contains("It waits. Approve it with: passepartout plans approve P"), "{}", ran.out);

    for words in [&["plans", "approve", id][..], &["plans", "deny", id, "no"]] {
        let refused = feed(&home, words, &format!("{id}\n"));
        assert_eq!(refused.status, 1);
        assert!(refused.err.contains("in Emacs or at a terminal"), "{}", refused.err);
    }
    for (verb, more) in [("approve", ""), ("deny", " no")] {
        let typed = run(&home, &["ask", &format!("/{verb} {id}{more}")]);
        assert_eq!((typed.status, typed.out.as_str()), (2, ""), "{}", typed.err);
        assert!(typed.err.contains(&format!("use: passepartout plans {verb} {id}\n")), "{}", typed.err);
    }
    assert_eq!(run(&home, &["plans", "show", id, "--json"]).json()["status"], "pending");
    assert_eq!(home.read_file("home.org"), TILES);
}

/// Runs it at a terminal of its own (that of `script`), where something is typed.
pub(crate) fn at_terminal(home: &Home, words: &str, typed: &str) -> Ran {
    answering(terminal(home, words), typed)
}

/// Goes through the pages that a command shows, as a human does, and types something where it asks.
pub(crate) fn answering(mut child: Child, typed: &str) -> Ran {
    let (mut keys, mut said) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let (mut out, mut seen, mut piece) = (Vec::new(), 0, [0; 4096]);
    loop {
        let count = said.read(&mut piece).expect("it goes on");
        if count == 0 {
            break;
        }
        out.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&out[seen..]).into_owned();
        for (question, answer) in
            [("anything else stops: ", "\n"), ("anything else to leave it: ", typed), ("(it is not shown): ", typed)]
        {
            if text.contains(question) {
                seen = out.len();
                // It may have ended by itself.
                let _ = keys.write_all(answer.as_bytes());
            }
        }
    }
    drop(keys);
    let ended = child.wait_with_output().expect("it ends");
    Output { stdout: out, ..ended }.into()
}

/// Begins a command at a terminal.
pub(crate) fn terminal(home: &Home, words: &str) -> Child {
    terminal_of(&program(home), words)
}

/// Begins a program at a terminal, with its folder and its environment.
pub(crate) fn terminal_of(plain: &Command, words: &str) -> Child {
    let line = format!("{} {words}", env!("CARGO_BIN_EXE_passepartout"));
    let mut command = Command::new("script");
    command.args(["-q", "-e", "-c", &line, "/dev/null"]).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("SHELL", "/bin/sh");
    command.current_dir(plain.get_current_dir().expect("it was set"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("script is part of Debian")
}

/// Returns the first process that another one started.
pub(crate) fn child_of(process: u32) -> u32 {
    let ran = Command::new("ps").args(["-o", "pid=", "--ppid", &process.to_string()]).output().expect("ps runs");
    let children = String::from_utf8_lossy(&ran.stdout).into_owned();
    children.split_whitespace().next().and_then(|process| process.parse().ok()).expect("it started one")
}

#[test]
fn what_is_typed_before_a_plan_is_shown_approves_nothing() {
    let home = home();
    let id = pending(&home)["id"].as_str().expect("an id").to_string();
    let mut child = terminal(&home, &format!("plans approve {id}"));
    let keys = child.stdin.as_mut().expect("a pipe");
    keys.write_all(format!("{id}\n{id}\n").as_bytes()).expect("the terminal reads");
    let ran = answering(child, "no\n");
    assert!(ran.out.contains("Nothing was done."), "{}{}", ran.out, ran.err);
    assert_eq!(home.read_file("home.org"), TILES);
    assert_eq!(run(&home, &["plans", "show", &id, "--json"]).json()["status"], "pending");
}

#[test]
fn a_human_at_a_terminal_approves_what_was_shown_and_denies() {
    let home = home();
    let id = pending(&home)["id"].as_str().expect("an id").to_string();
    let other = at_terminal(&home, &format!("plans approve {id}"), "yes\n");
    assert!(other.out.contains("Nothing was done."), "{}{}", other.out, other.err);
    assert_eq!(home.read_file("home.org"), TILES);

    let ran = at_terminal(&home, &format!("plans approve {id}"), &format!("{id}\n"));
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
    let (shown, asked) = (ran.out.find("+** DONE Order tiles"), ran.out.find("to approve exactly this"));
    assert!(shown.is_some() && shown < asked, "it is shown before it is asked about: {}", ran.out);
    assert!(home.read_file("home.org").contains("** DONE Order tiles"));
    assert_eq!(run(&home, &["plans", "show", &id, "--json"]).json()["status"], "done");
    let again = at_terminal(&home, &format!("plans approve {id}"), &format!("{id}\n"));
    assert_eq!(again.status, 1, "{}", again.out);
    assert!(again.out.contains("no longer waits"), "{}", again.out);

    std::fs::write(home.file("home.org"), TILES).expect("a file");
    let id = pending(&home)["id"].as_str().expect("an id").to_string();
    let ran = at_terminal(&home, &format!("plans deny {id} not before Friday"), "");
    assert_eq!(ran.status, 0, "{}", ran.out);
    let plan = run(&home, &["plans", "list", "--all", "--json"]).json();
    let denied =
        plan["plans"].as_array().expect("plans").iter().find(|p| p["id"] == id.as_str()).expect("it is listed").clone();
    assert_eq!(denied["status"], "denied");
    assert_eq!(home.read_file("home.org"), TILES);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_and_the_engine_say_the_same() {
    let home = home();
    home.clock.follow_the_machine();
    let engine = home.engine().await;
    home.read(&engine).await;
    let (now, memex) = (SystemClock.wall(), home.file("").trim_end_matches('/').to_string());
    for (query, focus) in
        [(Some("which tiles?"), None), (None, Some("tiles")), (Some("what is overdue?"), Some("tiles"))]
    {
        let node = focus.map(NodeId::new);
        let ours = engine.context(query, node.as_ref(), now, Privacy::Open, 4_000);
        let mut words = vec!["context", "--json"];
        words.extend(query.iter().flat_map(|query| ["--query", query]));
        words.extend(focus.iter().flat_map(|focus| ["--focus", focus]));
        let theirs = run(&home, &words).json();
        assert_eq!(theirs["text"].as_str(), Some(ours.text.as_str()), "{query:?} {focus:?}");
        assert_eq!(theirs["tokens"].as_u64(), Some(ours.tokens as u64));
    }
    for question in
        ["what is overdue?", "what do the notes say about tiles?", "which projects are there?", "teleport me"]
    {
        let (finished, streamed) = home.ask(&engine, question).await;
        // The same memex, and a store of its own: the engine holds the other one.
        let theirs = run(&self::home(), &["ask", question, "--json", "--memex", &memex]).json();
        assert_eq!(theirs["text"].as_str().map(str::trim_end), Some(streamed.trim_end()), "{question}");
        assert_eq!(theirs["status"].as_str(), Some(finished.report.ending.name()));
        let sources: Vec<_> = finished.report.sources.iter().map(|id| id.as_str().to_string()).collect();
        assert_eq!(theirs["sources"], serde_json::json!(sources), "{question}");
    }
}

#[test]
fn a_program_that_is_killed_in_the_middle_of_a_turn_loses_nothing() {
    let home = home();
    let plan = pending(&home);
    let server = FakeServer::start([Reply::nothing()]);
    let mut asking = program(&home);
    asking.env("LOCAL_BASE_URL", server.url()).env("PROVIDER_CASCADE", "local").args(["ask", "are the tiles ordered?"]);
    let mut child = asking.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let end = Instant::now() + Duration::from_secs(30);
    while server.requests().is_empty() && Instant::now() < end {
        std::thread::yield_now();
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    assert!(server.wait_gone(1), "nothing is left running");
    let list = run(&home, &["plans", "list", "--json"]);
    assert_eq!((list.status, &list.json()["plans"]), (0, &serde_json::json!([plan])), "{}", list.err);
    assert_eq!(run(&home, &["ask", "what is overdue?"]).status, 0);
    assert_eq!(home.read_file("home.org"), TILES);
}

#[test]
fn a_model_server_is_asked_streams_and_its_plan_waits() {
    let home = home();
    let args =
        serde_json::json!({"id": "tiles", "state": "DONE", "explanation": "The user said that they are ordered."});
    let server = FakeServer::start([
        Reply::answer(Dialect::OpenAi, &[], &[("c1", "org-set-todo", args)]),
        Reply::answer(Dialect::OpenAi, &["It is ", "done."], &[]),
        Reply::raw(500, "text/plain", "oops"),
    ]);
    let settings = format!("LOCAL_BASE_URL={}\nPROVIDER_CASCADE=local\n", server.url());
    let folder = home.folder.path().join("config/passepartout");
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(".env");
    std::fs::write(&file, settings).expect("a file");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
    let ran = run(&home, &["ask", "the tiles are ordered", "--json"]);
    assert_eq!(ran.status, 3, "{}{}", ran.out, ran.err);
    let id = ran.json()["plans"][0]["id"].as_str().expect("an id").to_string();
    let ran = at_terminal(&home, &format!("plans approve {id}"), &format!("{id}\n"));
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("It is done."), "the conversation goes on: {}", ran.out);
    assert!(server.requests()[1].body.contains("was changed"), "the model sees the result");
    let ran = run(&home, &["ask", "hello"]);
    assert_eq!(ran.status, 1);
    assert!(ran.out.contains("no model answered") && ran.out.contains("local"), "{}{}", ran.out, ran.err);
}

#[test]
fn work_that_was_handed_over_is_waited_for_and_told_below_the_answer() {
    let hands_over = || {
        let args = serde_json::json!({"task": "Find the colour.", "explanation": "It takes a while."});
        Reply::answer(Dialect::OpenAi, &[], &[("c1", "delegate-task", args)])
    };
    let says = |text: &str| Reply::answer(Dialect::OpenAi, &[text], &[]);
    let done = serde_json::json!({"id": "tiles", "state": "DONE", "explanation": "They are ordered."});
    let marks = || Reply::answer(Dialect::OpenAi, &[], &[("c1", "org-set-todo", done.clone())]);
    for (json, reply, status, told) in [
        (false, says("White."), 0, "The task “Find the colour.” is done:\n\nWhite."),
        (true, says("White."), 0, "The task “Find the colour.” is done:\n\nWhite."),
        (false, marks(), 3, "The task “Find the colour.” waits for you, as a flight plan."),
        (true, marks(), 3, "The task “Find the colour.” waits for you, as a flight plan."),
    ] {
        for beside in [false, true] {
            let home = home();
            let front = FakeServer::start([hands_over(), says("Handed over.")]);
            let back = FakeServer::start([reply.clone()]);
            // A provider of the settings for the answers, another for what goes on in the background.
            let settings = format!(
                "LOCAL_BASE_URL={}\nLLAMA_HOST={}\nPROVIDER_CASCADE=local\nPROVIDER_CASCADE_BACKGROUND=llamacpp\n",
                front.url(),
                back.url()
            );
            let folder = home.folder.path().join("config/passepartout");
            std::fs::create_dir_all(&folder).expect("a folder");
            let file = folder.join(".env");
            std::fs::write(&file, settings).expect("a file");
            std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
            // With another command that owns the store, it is that one's turn.
            let mut owner = beside.then(|| {
                let mut owner =
                    program(&home).arg("repl").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
                let (mut typed, mut out) = (owner.stdin.take().expect("a pipe"), owner.stdout.take().expect("a pipe"));
                typed.write_all(b",what\n").expect("it is read");
                out.read_exact(&mut [0; 5]).expect("it answers");
                (owner, typed)
            });
            let words = ["ask", "which colour?", "--json"];
            let ran = run(&home, &words[..if json { 3 } else { 2 }]);
            let name = format!("json {json}, beside {beside}: {ran:?}");
            assert_eq!(ran.status, status, "{name}");
            if json {
                let said = ran.json();
                assert_eq!(said["text"].as_str().map(str::trim_end), Some("Handed over."), "{name}");
                assert_eq!(said["tasks"][0]["text"], told, "{name}");
                assert_eq!(
                    said["tasks"][0]["plans"].as_array().map(Vec::len),
                    Some(usize::from(status == 3)),
                    "{name}"
                );
            } else {
                assert!(ran.out.starts_with("Handed over.\n"), "{name}");
                assert!(ran.out.contains(told), "{name}");
                assert_eq!(ran.out.contains("passepartout plans approve"), status == 3, "{name}");
            }
            if let Some((mut owner, typed)) = owner.take() {
                drop(typed);
                owner.wait().expect("it ends");
            }
        }
    }
}

#[test]
fn bad_input_is_named_and_loses_nothing() {
    let home = home();
    std::fs::write(home.file("binary.org"), [0_u8, 159, 146, 150, 0, 1, 2]).expect("a file");
    std::fs::write(home.file("latin.org"), b"* caf\xe9\n").expect("a file");
    std::fs::write(home.file("empty.org"), "").expect("a file");
    std::os::unix::fs::symlink("/nowhere", home.file("dangling.org")).expect("a link");
    let ran = run(&home, &["ingest", &home.file(""), "--json"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.json()["files"].as_u64().is_some_and(|n| n >= 2), "{}", ran.out);
    assert!(ran.json()["problems"].as_u64().is_some_and(|n| n >= 1) && ran.err.contains("binary.org"), "{}", ran.err);

    for words in
        [&["ingest", "/nowhere/at/all"][..], &["ingest", "/nowhere/at/all", "--json"], &["dump", "/nowhere/at/all"]]
    {
        let ran = run(&home, words);
        assert_eq!(ran.status, 1, "{words:?}: {}", ran.out);
        assert!(format!("{}{}", ran.out, ran.err).contains("/nowhere/at/all"), "{words:?}: {}{}", ran.out, ran.err);
    }
    let nowhere = ["--memex", "/nowhere/at/all"];
    for words in [&["ask", "what is overdue?"][..], &["context", "--query", "tiles"], &["gate", "--jsonl"]] {
        let ran = run(&home, &[words, &nowhere].concat());
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{words:?}: {}", ran.err);
        assert!(ran.err.contains("/nowhere/at/all does not exist") && ran.err.contains("--memex"), "{}", ran.err);
        let ran = run(&home, &[words, &nowhere, &["--memex", "/nor/here"]].concat());
        assert!(ran.status == 2 && ran.err.contains("/nowhere/at/all, /nor/here do not exist"), "{}", ran.err);
    }
    assert!(!home.store().exists(), "no store is made for nothing");
    let memex = home.file("");
    for words in [&["ask", "what is overdue?"][..], &["context", "--query", "tiles"]] {
        let ran = run(&home, &[words, &nowhere, &[memex.as_str()]].concat());
        assert_eq!(ran.status, 0, "{words:?}: {}", ran.err);
        assert!(ran.out.contains("Order tiles") && ran.err.contains("/nowhere/at/all: does not exist"), "{}", ran.err);
    }
    let checks = run(&home, &["doctor", "--json"]).json();
    let of_memex = checks["checks"].as_array().expect("checks").iter().find(|check| check["name"] == "memex");
    let detail = of_memex.and_then(|check| check["detail"].as_str()).expect("a check of the memex");
    assert!(detail.contains(memex.trim_end_matches('/')), "{detail}");
    let ran = run(&home, &["context", "--query", "tiles"]);
    assert!(ran.out.contains("Order tiles") && ran.err.contains("binary.org"), "{}", ran.err);
}

#[test]
fn tasks_of_a_folder_that_is_not_named_any_more_are_not_listed() {
    let home = home();
    let other = home.project("org2");
    std::fs::create_dir(&other).expect("a folder");
    std::fs::write(format!("{other}/garden.org"), "* TODO Plant bulbs\n").expect("a file");
    let memex = home.file("");
    let first = run(&home, &["ask", "open tasks", "--memex", &memex]);
    assert!(first.out.contains("Order tiles"), "{}{}", first.out, first.err);
    let second = run(&home, &["ask", "open tasks", "--memex", &other]);
    assert!(second.out.contains("Plant bulbs") && !second.out.contains("Order tiles"), "{}", second.out);
    assert_eq!(run(&home, &["ask", "open tasks", "--memex", &memex]).out, first.out);
    let checks = run(&home, &["doctor", "--memex", &other]);
    assert!(checks.out.contains("1 file, 1 heading in "), "{}", checks.out);
}

#[test]
fn what_is_read_without_a_store_is_set_up_by_its_own_files() {
    let home = home();
    let elsewhere = home.project("notes");
    std::fs::create_dir(&elsewhere).expect("a folder");
    std::fs::write(format!("{elsewhere}/a.org"), "#+SETUPFILE: base.setup\n* A\n").expect("a file");
    std::fs::write(format!("{elsewhere}/base.setup"), "#+FILETAGS: :a:\n").expect("a file");
    let ran = run(&home, &["ingest", &elsewhere, "--json"]);
    assert_eq!((ran.json()["files"].clone(), ran.json()["problems"].clone()), (1.into(), 0.into()), "{}", ran.err);
}

#[test]
fn a_chat_counts_as_a_file_of_org_and_stands_in_no_context() {
    let home = home();
    let chat = ":PROPERTIES:\n:PP_CHAT: s1\n:END:\n* Where are the tiles?\nTiles are out.\n";
    std::fs::write(home.file("chat.org"), chat).expect("a file");
    let memex = home.file("");
    assert_eq!(run(&home, &["ingest", &memex, "--json"]).json()["files"], 2);
    assert!(run(&home, &["dump", &memex]).out.contains("Where are the tiles?"));
    let store = home.store().to_string_lossy().into_owned();
    for place in [&["--memex", memex.as_str()][..], &["--memex", memex.as_str(), "--store", store.as_str()]] {
        let ran = run(&home, &[&["context", "--query", "tiles"], place].concat());
        assert!(ran.out.contains("Order tiles") && !ran.out.contains("Tiles are out"), "{}{}", ran.out, ran.err);
    }
}

/// Returns the files of the store but the one that SQLite's readers and writers share.
fn stored(home: &Home) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut files = crate::support::engine::tree(&home.store());
    files.retain(|(path, _)| !path.to_string_lossy().ends_with("-shm"));
    files
}

#[test]
fn beside_the_owner_of_a_store_what_reads_works_and_what_writes_names_the_owner() {
    let home = home();
    let plan = pending(&home);
    let id = plan["id"].as_str().expect("an id");
    // It holds the store, and lets nobody join.
    let owner = DiskStore::open(&home.store()).expect("nobody else owns it");
    let pid = format!("process {}", std::process::id());
    let before = stored(&home);
    let memex = home.file("");
    let store = home.store().to_string_lossy().into_owned();

    let ran = run(&home, &["plans", "list", "--json"]);
    assert_eq!((ran.status, &ran.json()["plans"], ran.err.as_str()), (0, &serde_json::json!([plan]), ""));
    let ran = run(&home, &["plans", "show", id, "--json"]);
    assert_eq!((ran.status, ran.json(), ran.err.as_str()), (0, plan.clone(), ""));
    let ran = run(&home, &["context", "--store", &store, "--query", "tiles"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("Order tiles"), "{}", ran.out);
    assert_eq!(run(&home, &["dump", &memex]).status, 0);
    assert_eq!(feed(&home, &["gate", "--jsonl"], "").status, 0);
    let doctor = run(&home, &["doctor", "--json"]).json();
    let of_store = doctor["checks"].as_array().expect("checks").iter().find(|check| check["name"] == "store");
    let of_store = of_store.expect("a check of the store");
    assert_eq!(of_store["state"], "healthy", "{of_store}");
    assert!(of_store["detail"].as_str().is_some_and(|detail| detail.contains(&pid)), "{of_store}");
    let ran = run(&home, &["ask", "what is overdue?"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.contains("Order tiles"), "{}", ran.out);
    assert!(ran.err.contains(&pid) && ran.err.contains("nothing of this is kept"), "{}", ran.err);

    let ran = run(&home, &["ask", "mark order tiles done"]);
    let said = format!("{}{}", ran.out, ran.err);
    assert_eq!(ran.status, 1, "{said}");
    assert!(ran.out.is_empty() && ran.err.contains(&pid) && ran.err.contains("do this there"), "{said}");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert!(lines.len() == 3 && lines[1].starts_with("passepartout: nothing was done: what you asked for"), "{said}");
    let ran = at_terminal(&home, &format!("plans approve {id}"), &format!("{id}\n"));
    assert_eq!(ran.status, 1, "{}", ran.out);
    assert!(ran.out.contains(&pid) && ran.out.contains("do this there"), "{}", ran.out);
    let ran = at_terminal(&home, &format!("plans deny {id}"), "");
    assert!(ran.status == 1 && ran.out.contains(&pid), "{}", ran.out);
    let ran = run(&home, &["ingest", &memex, "--store", &store]);
    assert!(ran.status == 1 && ran.err.contains(&pid), "{}", ran.err);

    assert_eq!(home.read_file("home.org"), TILES);
    assert_eq!(stored(&home), before, "nothing was written beside the owner");
    drop(owner);
    let ran = run(&home, &["plans", "list", "--json"]);
    assert_eq!((ran.status, &ran.json()["plans"]), (0, &serde_json::json!([plan])), "{}", ran.err);
    let ran = at_terminal(&home, &format!("plans approve {id}"), &format!("{id}\n"));
    assert_eq!(ran.status, 0, "and then it can be decided: {}", ran.out);
}

#[test]
fn where_there_is_no_store_reading_makes_none() {
    let home = home();
    let store = home.store().to_string_lossy().into_owned();
    let ran = run(&home, &["plans", "list"]);
    assert_eq!((ran.status, ran.out.as_str(), ran.err.as_str()), (0, "No plan waits.\n", ""));
    let ran = run(&home, &["context", "--store", &store, "--query", "tiles"]);
    assert!(ran.status == 0 && ran.out.contains("Order tiles"), "{}{}", ran.out, ran.err);
    assert!(!home.store().exists());
}

#[test]
fn a_store_that_cannot_be_opened_is_one_message() {
    let home = home();
    assert_eq!(run(&home, &["ask", "what is overdue?"]).status, 0);
    let commands = [&["ask", "what is overdue?"][..], &["plans", "list"], &["ingest", "."]];
    let with_store = |words: &[&str]| {
        let mut words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        words.extend(["--store".to_string(), home.store().to_string_lossy().into_owned()]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        run(&home, &words)
    };
    {
        let _held = DiskStore::open(&home.store()).expect("the store is free");
        let ran = with_store(&["ingest", "."]);
        assert_eq!(ran.status, 1);
        let line = format!("{}", std::process::id());
        assert!(ran.err.contains(&line) && ran.err.contains("state/passepartout"), "{}", ran.err);
        assert_eq!(ran.err.trim_end().lines().count(), 1, "{}", ran.err);
    }
    let database = home.store().join("memory.sqlite");
    let good = std::fs::read(&database).expect("the database");
    let mut newer = good.clone();
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    for (bytes, words) in
        [(newer, "newer version"), (b"not a database at all, but a text".to_vec(), "not a database of Passepartout")]
    {
        std::fs::write(&database, &bytes).expect("it is written");
        for command in commands {
            let ran = with_store(command);
            assert_eq!(ran.status, 1, "{command:?}");
            assert!(ran.err.contains(words) && ran.err.contains("memory.sqlite"), "{command:?}: {}", ran.err);
        }
        assert_eq!(std::fs::read(&database).expect("the database"), bytes, "nothing is touched");
        let doctor = run(&home, &["doctor", "--json"]);
        assert_eq!((doctor.status, doctor.json()["verdict"].clone()), (1, "unhealthy".into()));
    }
    std::fs::write(&database, &good).expect("it is written");
    assert_eq!(with_store(&["ask", "what is overdue?"]).status, 0, "and then all is well again");
}

#[test]
fn a_query_is_answered_at_a_terminal_and_in_json() {
    let home = home();
    let memex = home.file("");
    let ran = run(&home, &["query", "tag:project", "white", "--memex", &memex]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let text = ran.out.replace(&memex, "");
    assert!(text.contains("TODO Order tiles :project:\n"), "{text}");
    assert!(text.contains("Kitchen  deadline <2026-03-01 Sun>\n  The white ones.\n1 heading.\n"), "{text}");
    let json = run(&home, &["query", "--memex", &memex, "--json", "deadline:<2026-04-01", "-tag:nobody"]).json();
    let hit = &json["hits"][0];
    assert_eq!((&json["form"], &json["total"], &json["exact"]), (&1.into(), &1.into(), &true.into()));
    assert_eq!((&hit["id"], &hit["line"], &hit["keyword"]), (&"tiles".into(), &3.into(), &"TODO".into()));
    // Nothing that fits is no failure, and says what may be meant.
    let ran = run(&home, &["query", "tag:projekt", "--memex", &memex]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.out.contains("did you mean project?"), "{}", ran.out);
    // What cannot be read says where, and reads no memory for it.
    let ran = run(&home, &["query", "tga:project", "--memex", "/nowhere"]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("column 1: there is no “tga:”; did you mean tag:project?"), "{}", ran.err);
    assert!(ran.err.contains("\n  tga:project\n  ^^^"), "{}", ran.err);
    let ran = run(&home, &["query", "--json", "level:x"]);
    assert_eq!((ran.status, ran.json()["column"].as_u64()), (2, Some(7)));
    assert_eq!(run(&home, &["query", "x", "--limit", "0", "--memex", &memex]).status, 2);
    // A query that is empty, as a variable of a script may be, does not ask for everything.
    for (words, piped) in [(["query", ""], ""), (["query", " "], ""), (["query", "-"], "\n")] {
        let ran = feed(&home, &words, piped);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{words:?}: {}", ran.err);
        assert!(ran.err.contains("there is no query; write words"), "{words:?}: {}", ran.err);
    }
    // A hyphen alone reads the query that is piped in.
    let ran = feed(&home, &["query", "-", "--memex", &memex], "tag:projekt\n");
    assert_eq!((ran.status, ran.out.contains("Nothing fits: tag:projekt\n")), (0, true), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("did you mean project?\n"), "{}", ran.out);
    // Without a memex, that is what is missing.
    let ran = program(&home).env_remove("MEMEX_DIR").args(["query", "tiles"]).output().expect("it runs");
    let ran = Ran::from(ran);
    assert!(ran.out.contains("no folder is named as the memex; name one with --memex PATH"), "{}{}", ran.out, ran.err);
}

/// Errors send people there.
#[test]
fn the_help_of_a_query_lists_every_name() {
    let help = run(&home(), &["query", "--help"]).out;
    for known in passepartout::domain::query::field::FIELDS {
        assert!(help.contains(known.example), "{} is missing:\n{help}", known.example);
        assert!(known.others.iter().all(|other| help.contains(other)), "{}:\n{help}", known.name);
    }
    for word in ["archived", "backlinks", "modified"] {
        assert!(help.contains(word), "{word} is missing:\n{help}");
    }
}

/// Who asks in a terminal sees no header that says what the focus narrows.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_a_terminal_says_what_it_is_narrowed_to() {
    use passepartout::edge::engine::focus::Turnabout;
    let home = Home::new(&[("home.org", "* Home\n** TODO Sweep\n* Work [0/1]\n** TODO Clean up the build server\n")]);
    let (memex, store) = (home.file(""), home.store().to_string_lossy().into_owned());
    let words = "Only “Home” is looked at; /unfocus in a chat looks at everything.";
    let clean = "mark Clean up the build server done";
    for (command, typed, said, expected) in [
        (None, "what is due this week?", false, "Nothing is due"),
        (Some("focus Home"), clean, true, "no heading called"),
        (None, "what is due this week?", true, "Nothing is due"),
        (Some("focus work"), "what is due this week?", false, "Only “Work (0/1)” is looked at; /scope memex in a chat"),
        (Some("scope memex"), clean, false, "I propose to set"),
    ] {
        if let Some(command) = command {
            let engine = home.engine().await;
            home.read(&engine).await;
            let there = Turnabout::parse(command).expect("a command of the focus");
            engine.turn_focus(there).await.expect("it is there");
            engine.close().await;
        }
        let out = run(&home, &["ask", typed, "--memex", &memex, "--store", &store]).out;
        assert_eq!((out.contains(words), out.contains(expected)), (said, true), "{typed}: {out}");
    }
}

#[test]
fn lines_are_answered_by_meaning_where_that_is_wished() {
    let home = home();
    std::fs::write(home.file("soap.org"), "* Soap\n:PROPERTIES:\n:ID: soap\n:END:\nFor the hands.\n")
        .expect("it is written");
    // A server that finds all texts alike.
    let vectors = |request: &Recorded| {
        let texts = request.json()["input"].as_array().map_or(0, Vec::len);
        serde_json::json!({"embeddings": vec![[1.0, 0.0]; texts]})
    };
    let server = FakeServer::start([Reply::computed(vectors), Reply::computed(vectors)]);
    let words = ["context", "--memex", &home.file(""), "--jsonl", "--vectors"];
    let mut child = program(&home)
        .env("EMBEDDING_PROVIDER", "local")
        .env("EMBEDDING_URL", server.url())
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    child.stdin.take().expect("a pipe").write_all(b"{\"id\": 1, \"query\": \"zebra\"}\n").expect("it listens");
    let ran = Ran::from(child.wait_with_output().expect("it ends"));
    let line: Value = serde_json::from_str(&ran.out).unwrap_or_else(|why| panic!("{why}: {}{}", ran.out, ran.err));
    let soap = line["nodes"].as_array().and_then(|nodes| nodes.iter().find(|node| node["id"] == "soap"));
    assert_eq!(soap.map(|node| &node["reason"]), Some(&"cosine 1.00".into()), "{}{}", ran.out, ran.err);
    assert_eq!(server.requests().len(), 2, "all notes, and the question");
    // Without anything that makes them, and with a server that does not answer, it says so and what to do.
    for (provider, words_of_it) in [
        (None, "nothing makes vectors: name what does in EMBEDDING_PROVIDER"),
        (Some("local"), "embedding-local nomic-embed-text made no vectors of all notes: "),
        (Some("openai"), "which is not on this machine and which you have not confirmed"),
    ] {
        let mut child = program(&home);
        if let Some(provider) = provider {
            child.env("EMBEDDING_PROVIDER", provider);
        }
        let ran = child.env("EMBEDDING_URL", server.url()).args(words).stdin(Stdio::null()).output().expect("it runs");
        let ran = Ran::from(ran);
        assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{provider:?}: {}", ran.err);
        assert!(ran.err.contains(words_of_it), "{provider:?}: {}", ran.err);
    }
    assert_eq!(run(&home, &["context", "--vectors"]).status, 2);
}
