//! The command line in pipes: answers and nothing else, a conversation line by line, JSON everywhere, input of any kind.

use crate::cli::{Ran, program, run};
use crate::support::engine::Home;
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use clap::CommandFactory;
use passepartout::edge::cli::args::Arguments;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

const TILES: &str = "#+TITLE: Home\n* Kitchen :project:\n** TODO Order tiles\nDEADLINE: <2026-03-01 Sun>\n:PROPERTIES:\n:ID: tiles\n:END:\nThe white ones.\n";

fn home() -> Home {
    Home::new(&[("home.org", TILES)])
}

fn says(texts: &[&str]) -> Reply {
    Reply::answer(Dialect::OpenAi, texts, &[])
}

/// A program that asks a model of these replies.
fn asking(home: &Home, server: &FakeServer) -> Command {
    let mut command = program(home);
    command.env("LOCAL_BASE_URL", server.url()).env("PROVIDER_CASCADE", "local");
    command
}

/// Runs it with something on its input.
fn fed(mut command: Command, input: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    // A program that refuses before it reads has closed its end.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("it ends").into()
}

fn with(mut command: Command, words: &[&str]) -> Command {
    command.args(words);
    command
}

#[test]
fn nobody_who_reads_beside_the_answer_ends_no_command() {
    let home = home();
    let command = |words: &[&str]| {
        let mut command = with(program(&home), words);
        command.env("PLAN_HOURS", "many").stdin(Stdio::null());
        command
    };
    for words in [&["query", "--json", "tiles"][..], &["gate"], &["ask", "/plans"], &["dump", "/nowhere"]] {
        let heard: Ran = command(words).output().expect("it runs").into();
        assert!(!heard.err.is_empty(), "{words:?} says nothing beside its answer: {heard:?}");
        let (reader, broken) = std::io::pipe().expect("a pipe");
        drop(reader);
        let unheard: Ran = command(words).stderr(broken).output().expect("it runs").into();
        assert_eq!((unheard.status, unheard.out), (heard.status, heard.out), "{words:?}");
    }
}

#[test]
fn send_prints_the_answer_and_says_the_rest_beside_it() {
    let home = home();
    let args = serde_json::json!({"id": "tiles", "state": "DONE", "explanation": "The user said that they came."});
    let server = FakeServer::start([
        says(&["Four ", "of them."]),
        says(&["From a pipe."]),
        Reply::answer(Dialect::OpenAi, &["I mark it."], &[("c1", "org-set-todo", args)]),
    ]);
    let plain: Ran = with(asking(&home, &server), &["send", "how many tiles?"]).output().expect("it runs").into();
    assert_eq!((plain.status, plain.out.as_str()), (0, "Four of them.\n"), "{plain:?}");
    let piped = fed(with(asking(&home, &server), &["send"]), b"how many tiles?\n");
    assert_eq!((piped.status, piped.out.as_str()), (0, "From a pipe.\n"), "{piped:?}");
    let plan: Ran = with(asking(&home, &server), &["send", "they came"]).output().expect("it runs").into();
    assert_eq!((plan.status, plan.out.as_str()), (3, "I mark it.\n"), "{plan:?}");
    assert!(plan.err.contains("It waits. Approve it with: passepartout plans approve P"), "{plan:?}");
    for words in [&["send"][..], &["send", "-"], &["send", "--teleport"]] {
        let ran = run(&home, words);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{ran:?}");
    }
}

#[test]
fn a_chat_in_a_pipe_answers_line_by_line_and_knows_what_was_said() {
    let home = home();
    for daemon in [false, true] {
        let server = FakeServer::start([says(&["Seven."]), says(&["You asked how many."])]);
        let mut owner = daemon.then(|| {
            let mut command = with(asking(&home, &server), &["daemon"]);
            command.stderr(Stdio::piped());
            let mut child = command.spawn().expect("it runs");
            let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
            while !lines.next().expect("it begins").expect("text").contains("owns the store") {}
            std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
            child
        });
        let mut chat = with(asking(&home, &server), &["chat"]);
        let mut chat =
            chat.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let (mut keys, out) = (chat.stdin.take().expect("a pipe"), chat.stdout.take().expect("a pipe"));
        let mut lines = BufReader::new(out).lines().map(|line| line.expect("text"));
        keys.write_all(b"how many tiles?\n").expect("it reads");
        assert_eq!((lines.next().as_deref(), lines.next().as_deref()), (Some("Seven."), Some("")));
        keys.write_all(b"\nwhat did I ask?\n/approve P1\n").expect("it reads");
        assert_eq!((lines.next().as_deref(), lines.next().as_deref()), (Some("You asked how many."), Some("")));
        drop(keys);
        assert_eq!(lines.next(), None);
        let ended = chat.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(1), "a decision is not taken there: {said}");
        assert!(said.contains("passepartout plans approve"), "{said}");
        let asked = &server.requests()[1].body;
        assert!(asked.contains("how many tiles?") && asked.contains("Seven."), "{asked}");
        if let Some(mut owner) = owner.take() {
            owner.kill().expect("it can be killed");
            owner.wait().expect("it ends");
        }
    }
    let server = FakeServer::start([says(&["One."]), says(&["Two."])]);
    let ran = fed(with(asking(&home, &server), &["chat", "--json"]), b"a\nb\n");
    let texts: Vec<String> = ran
        .out
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("JSON")["text"].as_str().expect("text").into()
        })
        .collect();
    assert_eq!((ran.status, texts), (0, vec!["One.".to_string(), "Two.".to_string()]), "{}", ran.err);
}

/// Commands that print something and have no `--json`, each with the reason.
const WITHOUT_JSON: &[(&str, &str)] = &[
    ("dump", "it prints nothing but lines of JSON"),
    ("gate", "it prints nothing but lines of JSON"),
    ("plans approve", "a human reads the plan at a terminal and types its name"),
    ("daemon", "it prints nothing; its log goes to standard error"),
    ("completions", "it prints a script for a shell"),
    ("clients allow", "a human reads the fingerprint at a terminal and types yes"),
    ("reach", "it hands on what another program says"),
    ("tui", "it draws on a terminal"),
    ("mcp", "it prints messages of the protocol, which are JSON"),
    ("acp", "it prints messages of the protocol, which are JSON"),
];

#[test]
fn every_command_has_json_or_a_reason() {
    fn walk(command: &clap::Command, path: &str, found: &mut Vec<(String, bool)>) {
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            let path = format!("{path} {}", below.get_name()).trim().to_string();
            walk(below, &path, found);
            if !below.is_subcommand_required_set() {
                let json = below.get_arguments().any(|argument| argument.get_long() == Some("json"));
                found.push((path, json));
            }
        }
    }
    let mut found = Vec::new();
    walk(&Arguments::command(), "", &mut found);
    assert!(found.len() > 40, "{found:?}");
    let reason = |path: &str| WITHOUT_JSON.iter().any(|(name, why)| *name == path && !why.is_empty());
    let wrong: Vec<&(String, bool)> = found.iter().filter(|(path, json)| *json == reason(path)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(WITHOUT_JSON.iter().all(|(name, _)| found.iter().any(|(path, _)| path == name)));
}

#[test]
fn what_only_said_a_sentence_says_it_as_json_too() {
    let home = home();
    for (words, status) in [
        (&["why", "--json"][..], None),
        (&["rules", "withdraw", "none", "--json"], Some(1)),
        (&["skills", "show", "programming", "--json"], Some(0)),
        (&["skills", "new", "mine", "--json"], Some(0)),
        (&["context", "why", "tiles", "--json"], Some(0)),
        (&["context", "dropped", "--json"], Some(0)),
    ] {
        let ran = run(&home, words);
        assert!(status.is_none_or(|status| ran.status == status), "{words:?}: {ran:?}");
        if ran.status == 0 {
            assert!(ran.json().is_object(), "{words:?}");
        } else {
            assert!(ran.out.is_empty() && ran.err.starts_with("passepartout: "), "{words:?}: {ran:?}");
        }
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_panic() {
    let home = home();
    let many: String = (0..20_000).map(|n| format!("* Heading {n}\nSome words of it.\n")).collect();
    std::fs::write(home.file("many.org"), many).expect("a file");
    let memex = home.file("");
    for words in [&["dump", &memex, "--jsonl"][..], &["completions", "bash"], &["query", "heading", "--limit", "1000"]]
    {
        let mut command = with(program(&home), words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let mut out = child.stdout.take().expect("a pipe");
        let mut first = [0; 1];
        assert_eq!(out.read(&mut first).expect("it writes"), 1, "{words:?}");
        drop(out);
        let ended = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(matches!(ended.status.code(), Some(0 | 1)), "{words:?}: {:?} {said}", ended.status);
        assert!(!said.contains("panic") && !said.contains("Broken pipe"), "{words:?}: {said}");
    }
    // Nobody reads anything at all, nor what is complained of.
    let mut command = with(program(&home), &["plans", "show", "P0"]);
    let (closed, writer) = std::io::pipe().expect("a pipe");
    drop(closed);
    let both = writer.try_clone().expect("a pipe");
    let ended = command.stdout(writer).stderr(both).status().expect("it runs");
    assert_eq!(ended.code(), Some(1));
}

#[test]
fn input_of_several_megabytes_and_words_of_no_language_are_refused_in_words() {
    let home = home();
    let long = "long ".repeat(1 << 20);
    for (words, status) in [(&["send", "-"][..], 2), (&["chat"], 2), (&["ask"], 2), (&["repl"], 1)] {
        let ran = fed(with(program(&home), words), long.as_bytes());
        assert_eq!(ran.status, status, "{words:?}: {ran:?}");
        assert!(ran.err.contains("1 MB") && !ran.err.contains("panic"), "{words:?}: {}", ran.err);
    }
    for (words, input) in [(&["send"][..], &b"\xff\xfe what\n"[..]), (&["chat"], b"\xff\n"), (&["query", "-"], b"\xff")]
    {
        let ran = fed(with(program(&home), words), input);
        assert!(matches!(ran.status, 1 | 2) && !ran.err.contains("panic"), "{words:?}: {ran:?}");
        assert!(ran.err.contains("cannot be read"), "{words:?}: {ran:?}");
    }
    let odd = OsStr::from_bytes(b"\xffodd");
    for before in [&["send"][..], &["ask"], &["query"], &["plans", "show"], &["completions"], &["status", "--store"]] {
        let mut command = with(program(&home), before);
        command.arg(odd);
        let ran: Ran = command.output().expect("it runs").into();
        assert!(ran.status != 101 && !ran.err.contains("panic"), "{before:?}: {ran:?}");
        assert!(matches!(ran.status, 2 | 4), "{before:?}: {ran:?}");
    }
}

#[test]
fn a_shell_gets_what_completes_every_command() {
    let home = home();
    for (shell, mark) in
        [("bash", "complete -F"), ("zsh", "#compdef passepartout"), ("fish", "complete -c passepartout")]
    {
        let ran = run(&home, &["completions", shell]);
        assert!(ran.status == 0 && ran.out.contains(mark), "{shell}");
        for command in ["daemon", "send", "chat", "backup", "restore", "configure", "health"] {
            assert!(ran.out.contains(command), "{shell}: {command}");
        }
    }
    assert_eq!(run(&home, &["completions", "tcsh"]).status, 2);
    let ran = run(&home, &["completions", "bash"]);
    let bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn();
    if let Ok(mut bash) = bash {
        bash.stdin.take().expect("a pipe").write_all(ran.out.as_bytes()).expect("it reads");
        assert!(bash.wait().expect("it ends").success(), "bash reads the script");
    }
}

#[test]
fn settings_are_asked_for_or_said_and_nothing_else_of_the_file_changes() {
    use std::os::unix::fs::PermissionsExt;
    let home = home();
    let file = home.folder.path().canonicalize().expect("it is there").join("config/passepartout/.env");
    let memex = home.file("").trim_end_matches('/').to_string();
    let ran = run(&home, &["configure"]);
    assert!(ran.status == 2 && ran.err.contains("--non-interactive"), "{ran:?}");
    assert!(!file.exists());
    for wrong in [
        &["--memex", "/no/such/folder"][..],
        &["--memex", "/"],
        &["--provider", "nobody"],
        &["--budget", "much"],
        &["--provider", "ollama", "--key-from", "-"],
    ] {
        let ran = fed(with(with(program(&home), &["configure", "--non-interactive"]), wrong), b"");
        assert_eq!((ran.status, file.exists()), (2, false), "{wrong:?}: {ran:?}");
    }
    let key = ["sk", "abcdefghijklmnop1234"].join("-");
    let words = ["configure", "--non-interactive", "--memex", &memex, "--provider", "openai,recall", "--key-from", "-"];
    let ran = fed(with(with(program(&home), &words), &["--budget", "2"]), format!("{key}\n").as_bytes());
    assert!(ran.status == 0 && !ran.out.contains(&key) && !ran.err.contains(&key), "{ran:?}");
    let text = std::fs::read_to_string(&file).expect("it is written");
    assert_eq!(
        text,
        format!("MEMEX_DIR={memex}\nPROVIDER_CASCADE=openai,recall\nOPENAI_API_KEY={key}\nDAY_BUDGET_USD=2\n")
    );
    assert_eq!(std::fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    std::fs::write(&file, format!("# mine\n{text}")).expect("it is ours");
    let ran = run(&home, &["configure", "--json", "--budget", "0", "--provider", "recall"]);
    assert_eq!(ran.json()["written"], serde_json::json!(["PROVIDER_CASCADE", "DAY_BUDGET_USD"]), "{ran:?}");
    let text = std::fs::read_to_string(&file).expect("it is there");
    assert!(text.starts_with("# mine\nMEMEX_DIR=") && text.contains(&key) && !text.contains("BUDGET"), "{text}");
    let answer = run(&home, &["send", "what is overdue?"]);
    assert!(answer.status == 0 && answer.out.contains("Order tiles"), "{answer:?}");
}
