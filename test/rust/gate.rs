//! The gates: tables of cases, properties, and the promises that nothing may break.

mod adding;
mod answers;
mod cases;
mod classes;
mod command;
mod content;
mod differential;
mod lisp;
mod live;
mod privacy;
mod programs;
mod properties;
mod reach;
mod secrets;
mod spellings;
mod swapped;
mod walls;

use passepartout::domain::action::{Action, Malformed};
use passepartout::domain::gate::clearance::{Judgement, ask_all, judge};
use passepartout::domain::gate::standard::standard;
use passepartout::domain::gate::{Case, Facts, Gate, Gates, Trace, Verdict};
use passepartout::domain::id::SessionId;
use passepartout::domain::label::{Labels, Privacy};
use passepartout::domain::port::Surveyor;
use passepartout::domain::scope::{Level, Scope};
use passepartout::domain::signal::Sensor;
use passepartout::domain::tool::{Tool, Toolbox};
use passepartout::edge::survey::{NoVault, Nowhere, Survey, VaultScan};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Duration;

/// A home with a project, a memex and secrets in a temporary folder.
pub struct World {
    _folder: tempfile::TempDir,
    pub scope: Scope,
    pub survey: Survey,
    pub gates: Gates,
}

impl World {
    pub fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let home = base.join("home/ada");
        for (path, text) in [
            ("project/README.md", "hello\n"),
            ("project/src/main.rs", "fn main() {}\n"),
            ("project/.env", "KEY=x\n"),
            ("project/build.sh", "#!/bin/sh\nrm -rf /\n"),
            ("memex/notes.org", "* Note\n"),
            ("documents/letter.txt", "dear\n"),
            ("documents/diary.txt", "dear diary\n"),
            (".ssh/id_rsa", "key\n"),
            (".bashrc", "\n"),
            (".config/passepartout/settings", "x\n"),
        ] {
            let path = home.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(home.join("documents/diary.txt"), private).unwrap();
        std::os::unix::fs::symlink(home.join(".ssh/id_rsa"), home.join("project/innocent.txt")).unwrap();
        std::os::unix::fs::symlink("loop", home.join("project/loop")).unwrap();
        std::fs::hard_link(home.join(".ssh/id_rsa"), home.join("project/hard.txt")).unwrap();
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let scope = Scope {
            session: SessionId("test".into()),
            memex: vec![text(&home.join("memex"))],
            project: text(&home.join("project")),
            home: text(&home),
            own: vec![text(&home.join(".config/passepartout"))],
            permissions: Default::default(),
            private_tags: vec!["private".into()],
            held: Default::default(),
            self_build: false,
            may_see: passepartout::domain::label::Privacy::Private,
            hosts: Vec::new(),
        };
        let survey = Survey::new(Arc::new(NoVault), Arc::new(Nowhere), None, Duration::from_secs(10));
        World { _folder: folder, scope, survey, gates: standard(Vec::new()) }
    }

    pub fn action(&self, tool: &str, args: Value) -> Result<Action, Malformed> {
        let args: Map<String, Value> = args.as_object().cloned().unwrap_or_default();
        Action::new(&Toolbox::builtin(), tool, args, Some("A test asks for it."), Labels::MODEL)
    }

    pub fn facts(&self, action: &Action) -> Facts {
        self.survey.look(action, &self.scope)
    }

    pub fn trace(&self, tool: &str, args: Value) -> Trace {
        let action = self.action(tool, args).unwrap();
        let facts = self.facts(&action);
        ask_all(&self.gates, &self.case(&action, &facts))
    }

    pub fn case<'a>(&'a self, action: &'a Action, facts: &'a Facts) -> Case<'a> {
        Case { action, tool: tool_of(action), scope: &self.scope, facts, set_off: Sensor::UserInput }
    }

    pub fn verdict(&self, tool: &str, args: Value) -> &'static str {
        self.trace(tool, args).strictest().unwrap().verdict.name()
    }
}

pub fn tool_of(action: &Action) -> &'static Tool {
    Toolbox::builtin().get(action.tool()).unwrap()
}

/// Compares verdicts of a table with what is expected; all differences are shown at once.
pub fn check(world: &World, tool: &str, argument: &str, expected: &str, cases: &[&str]) {
    let mut wrong = Vec::new();
    for case in cases {
        let trace = world.trace(tool, json!({argument: case}));
        let found = trace.strictest().unwrap();
        let fits = expected.split('|').any(|verdict| verdict == found.verdict.name());
        let explained =
            found.verdict.name() == "pass" || found.verdict.reason().is_some_and(|reason| !reason.text.is_empty());
        if !fits || !explained {
            wrong.push(format!("{}: {case:?}: {:?}", found.verdict.name(), found.verdict.reason()));
        }
    }
    assert!(wrong.is_empty(), "expected {expected}:\n{}", wrong.join("\n"));
}

#[test]
fn unknown_tools_cannot_be_built() {
    let world = World::new();
    assert!(world.action("format-disk", json!({})).is_err());
    assert!(world.action("shell", json!({"command": 7})).is_err());
    assert!(world.action("shell", json!({"command": "ls", "sudo": true})).is_err());
}

#[test]
fn surveys_that_hang_stop_no_others() {
    /// Finds nothing, and hangs at some texts for as long as the lock is held.
    struct Hangs(Arc<RwLock<()>>);
    impl VaultScan for Hangs {
        fn find(&self, text: &str) -> Vec<String> {
            if text.contains("does not answer") {
                drop(self.0.read());
            }
            Vec::new()
        }
    }
    let (world, lock) = (World::new(), Arc::new(RwLock::new(())));
    let held = lock.write().unwrap();
    let survey = |patience| Survey::new(Arc::new(Hangs(lock.clone())), Arc::new(Nowhere), None, patience);
    let (brief, patient) = (survey(Duration::from_millis(1)), survey(Duration::from_secs(60)));
    let message = |text: &str| world.action("message", json!({"text": text})).unwrap();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).max_blocking_threads(1).enable_all().build();
    runtime.unwrap().block_on(async {
        for _ in 0..40 {
            let facts = brief.survey(&message("A disk that does not answer."), &world.scope).await;
            assert_eq!(facts.unknown, ["Finding out what this would touch took too long."]);
        }
        assert!(patient.survey(&message("Another disk."), &world.scope).await.unknown.is_empty());
        assert_eq!(tokio::task::spawn_blocking(|| 7).await.unwrap(), 7, "what others share is free");
    });
    drop(held);
}

#[test]
fn no_gates_clear_nothing() {
    let world = World::new();
    let action = world.action("read-file", json!({"path": "README.md"})).unwrap();
    let facts = world.facts(&action);
    for gates in [Gates::new(Vec::new()), Gates::for_tests(Vec::new())] {
        let judgement = judge(&gates, world.case(&action, &facts), None);
        assert!(matches!(judgement, Judgement::Rejected(_)));
    }
}

#[test]
fn each_mandatory_gate_must_be_there() {
    use passepartout::domain::gate::standard::{MANDATORY, standard};
    struct Silent(&'static str);
    impl Gate for Silent {
        fn name(&self) -> &str {
            self.0
        }
        fn priority(&self) -> u16 {
            1
        }
        fn judge(&self, _: &Case<'_>) -> Verdict {
            Verdict::pass()
        }
    }
    let silent = |missing: Option<&str>| {
        let names = MANDATORY.iter().filter(|name| Some(**name) != missing);
        Gates::new(names.map(|name| Box::new(Silent(name)) as Box<dyn Gate>).collect())
    };
    let world = World::new();
    let action = world.action("read-file", json!({"path": "README.md"})).unwrap();
    let facts = world.facts(&action);
    let denied_by = |gates: &Gates| match judge(gates, world.case(&action, &facts), None) {
        Judgement::Rejected(trace) => trace.strictest().map(|opinion| opinion.gate.clone()),
        Judgement::Parked(_) | Judgement::Cleared(_) => None,
    };
    for name in MANDATORY {
        assert_eq!(denied_by(&silent(Some(name))).as_deref(), Some(*name));
    }
    assert_eq!(denied_by(&silent(None)), None);
    assert_eq!(standard(Vec::new()).missing().count(), 0);
}

#[test]
fn the_command_line_answers_every_line() {
    use passepartout::edge::cli::gate::GateCommand;
    let world = World::new();
    let command = GateCommand {
        gates: &world.gates,
        look: &|action, scope| world.survey.look(action, scope),
        scope: world.scope.clone(),
    };
    let input = concat!(
        r#"{"id":"1","tool":"shell","args":{"command":"ls"},"explanation":"look around here"}"#,
        "\n",
        "not json\n\n[1]\n",
        r#"{"id":2,"tool":"launch","args":{},"explanation":"look around here"}"#,
        "\n",
        r#"{"id":3,"tool":"shell","args":{"command":"ls"},"explanation":""}"#,
        "\n",
        r#"{"id":4,"tool":"shell","args":{"command":"ls"},"explanation":"look around here","labels":{"trust":"total"}}"#,
        "\n",
        r#"{"id":5,"tool":"message","args":{"text":"hello","to":"bob"},"explanation":"greet somebody","memex":["/"]}"#,
    );
    let mut output = Vec::new();
    command.run(&mut input.as_bytes(), &mut output).unwrap();
    let answers: Vec<Value> =
        String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verdicts: Vec<Value> = answers.iter().map(|a| a.get("verdict").cloned().unwrap_or(json!("error"))).collect();
    assert_eq!(verdicts, ["pass", "error", "error", "deny", "deny", "deny", "pass"]);
    let first = answers.first().unwrap();
    let gates: Vec<&str> = first["trace"].as_array().unwrap().iter().map(|o| o["gate"].as_str().unwrap()).collect();
    assert_eq!(gates, ["permissions", "vault", "policy", "dispatcher", "archivist", "validator", "event-orchestrator"]);
    assert!(first["micros"].as_f64().unwrap() > 0.0);
}

#[test]
fn where_looking_was_broken_off_all_is_denied_but_words() {
    /// Hangs as long as the lock is held.
    struct Hangs(Arc<RwLock<()>>);
    impl VaultScan for Hangs {
        fn find(&self, _: &str) -> Vec<String> {
            drop(self.0.read());
            Vec::new()
        }
    }
    let (mut world, lock) = (World::new(), Arc::new(RwLock::new(())));
    let held = lock.write().unwrap();
    let survey = Survey::new(Arc::new(Hangs(lock.clone())), Arc::new(Nowhere), None, Duration::from_millis(1));
    let gates = passepartout::domain::gate::standard::standard(Vec::new());
    let all = ["read-file", "write-file", "memory-search", "shell", "eval-lisp", "message"];
    world.scope.permissions = all.map(|tool| (tool.to_string(), Level::Allow)).into();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (tool, args, expected) in [
        ("read-file", json!({"path": "README.md"}), "deny"),
        ("write-file", json!({"path": "new.txt", "content": "x"}), "deny"),
        ("memory-search", json!({"query": "tiles"}), "deny"),
        ("shell", json!({"command": "ls"}), "deny"),
        ("eval-lisp", json!({"code": "(+ 1 2)"}), "deny"),
        ("message", json!({"text": "Good morning."}), "ask"),
    ] {
        let action = world.action(tool, args).unwrap();
        let facts = runtime.block_on(survey.survey(&action, &world.scope));
        assert!(facts.unsurveyed && facts.privacy == Some(Privacy::Private) && !facts.mandate.wrong.is_empty());
        let trace = ask_all(&gates, &world.case(&action, &facts));
        let strictest = trace.strictest().unwrap().verdict.clone();
        assert_eq!(strictest.name(), expected, "{tool}: {strictest:?}");
        let found = Facts { unsurveyed: false, ..facts.clone() };
        assert_ne!(facts.hash(), found.hash(), "what was approved of the one is not approved of the other");
    }
    drop(held);
}
