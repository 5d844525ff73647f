//! `passepartout gate` and a chat judge alike: the same gates, rules of skills, keys, memory and planner.

use crate::support::engine::Home;
use passepartout::domain::action::Action;
use passepartout::domain::gate::Case;
use passepartout::domain::gate::clearance::ask_all;
use passepartout::domain::label::Labels;
use passepartout::domain::scope::Scope;
use passepartout::domain::signal::Sensor;
use passepartout::domain::tool::Toolbox;
use passepartout::edge::config::{Config, Surroundings};
use passepartout::edge::editor::NoEditor;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::boot::{Boot, Keep, start};
use passepartout::edge::secret::{Vault, read_env_file};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

const WHY: &str = "A test asks for it.";
const KEY: &str = "zq81-klmvnd-7713-untold";
const NOTES: &str = "* Kitchen\n** TODO Order tiles\n:PROPERTIES:\n:ID: tiles\n:END:\nThe white ones.\n\
* Health :private:\n:PROPERTIES:\n:ID: health\n:END:\nThe result is in.\n";
const SKILL: &str = "#+TITLE: Garden\n#+PRIORITY: 40\n\n* Rules\n| tool | pattern | verdict | reason |\n|-\n\
| shell | command: *ls garden* | ask | The garden is nobody's business. |\n\n\
* Examples\n| tool | example | match |\n|-\n| shell | ls garden | ask |\n| shell | ls | no |\n";

/// Folders with the shipped skills and one more, a key in the settings, and notes.
fn home() -> Home {
    let home = Home::new(&[("home.org", NOTES)]);
    let settings = home.config().settings;
    std::fs::create_dir_all(settings.join("skills")).unwrap();
    // Below the project the program finds the shipped ones itself; a build elsewhere is given them.
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_passepartout"));
    if !program.ancestors().skip(1).take(4).any(|folder| folder.join("skills/policy.org").is_file()) {
        let shipped = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("skills");
        for file in std::fs::read_dir(shipped).unwrap().flatten() {
            std::fs::copy(file.path(), settings.join("skills").join(file.file_name())).unwrap();
        }
    }
    std::fs::write(settings.join("skills/garden.org"), SKILL).unwrap();
    std::fs::write(settings.join(".env"), format!("OPENAI_API_KEY={KEY}\n")).unwrap();
    let owners = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(settings.join(".env"), owners).unwrap();
    std::fs::write(home.project("diary.org"), "* Health :private:\n").unwrap();
    std::fs::write(home.project("build.sh"), "rm -rf ~\n").unwrap();
    home
}

/// Returns the actions that are judged: tool, arguments, and whether private notes may be seen.
fn actions(home: &Home) -> Vec<(&'static str, Value, bool)> {
    let note = home.file("home.org");
    let mut actions = Vec::new();
    for (tool, args) in [
        ("shell", json!({"command": "ls"})),
        ("shell", json!({"command": "ls garden"})),
        ("shell", json!({"command": "git push --force origin main"})),
        ("shell", json!({"command": "cat diary.org"})),
        ("shell", json!({"command": "bash build.sh"})),
        ("shell", json!({"command": format!("echo {KEY}")})),
        ("message", json!({"text": format!("It is {KEY}."), "to": "user"})),
        ("read-file", json!({"path": note})),
        ("read-file", json!({"path": home.project("diary.org")})),
        ("memory-read", json!({"id": "tiles"})),
        ("memory-read", json!({"id": "health"})),
        ("memory-read", json!({"id": "nowhere"})),
        ("org-set-todo", json!({"id": "tiles", "state": "DONE"})),
        ("org-set-todo", json!({"id": "nowhere", "state": "DONE"})),
        ("org-set-property", json!({"id": "health", "name": "A", "value": "b"})),
        ("write-file", json!({"path": home.project("new.txt"), "content": "x"})),
        ("write-file", json!({"path": note, "content": "* Health\nThe result is in.\n"})),
        ("eval-lisp", json!({"code": "(+ 1 2)"})),
        ("teleport", json!({})),
    ] {
        actions.extend([true, false].map(|sees| (tool, args.clone(), sees)));
    }
    actions
}

/// Returns what the program says: verdict and trace, in order.
fn said(home: &Home, options: &[&str]) -> Vec<(Value, Value)> {
    let base = home.folder.path().canonicalize().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_passepartout"));
    command.env_clear().env("PATH", "/usr/bin:/bin").env("TZ", "UTC").current_dir(base.join("project"));
    for (name, folder) in
        [("HOME", "home"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config"), ("XDG_CACHE_HOME", "cache")]
    {
        command.env(name, base.join(folder));
    }
    command.args(["gate", "--jsonl"]).args(options).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for (tool, args, sees) in actions(home) {
        let line = json!({"id": 1, "tool": tool, "args": args, "explanation": WHY, "see_private": sees});
        writeln!(input, "{line}").unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers = answers.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    answers.map(|answer| (answer["verdict"].clone(), answer["trace"].clone())).collect()
}

/// Returns what the gates of an engine say to an action.
async fn judged(engine: &Engine, scope: &Scope, tool: &str, args: &Value) -> (Value, Value) {
    let toolbox = Toolbox::builtin();
    let args = args.as_object().cloned().unwrap();
    let action = match Action::new(&toolbox, tool, args, Some(WHY), Labels::MODEL) {
        Ok(action) => action,
        Err(why) => {
            let opinion = json!({"gate": "action", "priority": 700, "verdict": "deny", "reason": why.to_string()});
            return (json!("deny"), json!([opinion]));
        }
    };
    let facts = engine.surveyor().survey(&action, scope).await;
    let tool = toolbox.get(action.tool()).unwrap();
    let case = Case { action: &action, tool, scope, facts: &facts, set_off: Sensor::UserInput };
    let trace = ask_all(&engine.gates(), &case);
    let opinions = trace.opinions.iter().map(|opinion| {
        let reason = opinion.verdict.reason().map(|reason| reason.text.clone());
        json!({"gate": opinion.gate, "priority": opinion.priority, "verdict": opinion.verdict.name(), "reason": reason})
    });
    (json!(trace.strictest().unwrap().verdict.name()), Value::Array(opinions.collect()))
}

fn verdict(home: &Home, said: &[(Value, Value)], wanted: (&str, &str, bool)) -> String {
    let at = actions(home)
        .iter()
        .position(|(tool, args, sees)| (*tool, *sees) == (wanted.0, wanted.2) && args.to_string().contains(wanted.1));
    said[at.unwrap()].0.as_str().unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_judges_as_a_chat_does() {
    let home = home();
    let config: Config = home.config();
    let env_file = read_env_file(&config.settings.join(".env")).unwrap();
    let boot = Boot {
        vault: Vault::gather([], Surroundings { variables: Default::default() }.variables, env_file),
        config,
        editor: Arc::new(NoEditor),
        clock: home.clock.clone(),
        notify: Arc::new(|_| {}),
        keep: Keep::OnDiskOnly,
    };
    let engine = start(boot).await.expect("the engine starts");
    home.read(&engine).await;
    let session = crate::support::engine::origin().session;
    let mut expected = Vec::new();
    for (tool, args, sees) in actions(&home) {
        let scope = engine.scope(&session, None, sees);
        expected.push(judged(&engine, &scope, tool, &args).await);
    }
    engine.flush().await.unwrap();
    engine.close().await;
    let (memex, store) = (home.file(""), home.store().to_string_lossy().into_owned());
    let found = said(&home, &["--memex", &memex, "--store", &store]);
    for ((found, expected), action) in found.iter().zip(&expected).zip(actions(&home)) {
        assert_eq!(found, expected, "{action:?}");
    }
    assert_eq!(found.len(), expected.len());
    assert_eq!(said(&home, &["--memex", &memex]), found, "memory that is read for this once judges alike");
    for (tool, args, sees, wanted) in [
        ("shell", "ls\"", true, "pass"),
        ("shell", "ls garden", true, "ask"),
        ("shell", "push --force", true, "ask"),
        ("shell", "diary", true, "pass"),
        ("shell", "diary", false, "deny"),
        ("message", KEY, true, "deny"),
        ("memory-read", "health", true, "pass"),
        ("memory-read", "health", false, "deny"),
        ("org-set-todo", "tiles", true, "ask"),
    ] {
        assert_eq!(verdict(&home, &found, (tool, args, sees)), wanted, "{tool} {args} {sees}");
    }
    // Without memory: the same gates, rules and keys.
    let plain = said(&home, &[]);
    for ((plain, expected), (tool, args, sees)) in plain.iter().zip(&expected).zip(actions(&home)) {
        if matches!(tool, "message" | "eval-lisp" | "teleport") || (tool == "shell" && sees) {
            assert_eq!(plain, expected, "{tool} {args}");
        }
    }
}
