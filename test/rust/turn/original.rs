//! What the tests of the original system check, each by a test of the same meaning.
//!
//! | original test | what it means | here |
//! |---------------|---------------|------|
//! | `test-loop-gate-perceive`, `test-perceive-gate` | a buffer update is ingested | `perceive_ingests_a_buffer_update` |
//! | `test-depth-limiting`, `test-loop-process-returns-nil-on-deep` | a chain deeper than ten is not processed | `a_signal_deeper_than_ten_cannot_be_made`, `at_depth_ten_the_turn_ends_with_what_was_done_and_an_offer` |
//! | `test-decide-gate-safety` (both) | an unsafe proposal of the model is blocked | `unsafe_proposals_are_blocked` |
//! | `loop-error-injection` | a crash while thinking is a loop-error that reaches the log | `a_crash_while_thinking_reaches_the_log_as_a_loop_error` |
//! | `test-process-signal-normal-path`, `test-pipeline-flow-flat` | a signal that nobody reasons about passes through | `signals_that_are_not_reasoned_about_pass_through` |
//! | `test-micro-rollback` | a crashing gate or provider leaves memory as it was | `a_crash_leaves_memory_as_it_was`, `a_crash_takes_back_what_the_turn_put_into_memory_and_the_log_of_memory_only_grows` |
//! | `test-global-awareness-assembly` | awareness names the active projects and their ids | `awareness_names_the_active_projects` |
//! | `test-skill-dependencies` | a skill's dependencies are resolved | `dependencies_of_skills_are_resolved` |
//! | `test-env-loading` | settings come from the environment | `settings_come_from_the_environment` |
//! | `test-path-resolution` | variables in paths are expanded | `variables_in_paths_are_expanded` |
//! | `test-log-buffering` | what is logged can be read back | `the_log_can_be_read_back` |
//!
//! Said by the code beside those tests, and tested here or in the module above: fences are stripped and keywords
//! normalised (`a_plist_in_text_is_one_call_and_nothing_else_is`), an exhausted cascade is a clear message
//! (`whatever_breaks_the_turn_ends_and_says_so`), three tries (`a_denied_proposal_goes_back_…`).

use super::desk::{Say, World, at, call, signal};
use crate::support::engine::Home;
use passepartout::domain::gate::standard::standard;
use passepartout::domain::id::NodeId;
use passepartout::domain::label::Privacy;
use passepartout::domain::port::LogLevel;
use passepartout::domain::signal::{Body, Depth};
use passepartout::domain::skill::order::order;
use passepartout::domain::skill::parse::parse;
use passepartout::domain::turn::{Ending, Start, is_reasoned};
use passepartout::edge::config::{Config, Surroundings, expand_variables};
use serde_json::json;
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread")]
async fn perceive_ingests_a_buffer_update() {
    let home = Home::new(&[]);
    let engine = home.engine().await;
    let text = "* Test\n:PROPERTIES:\n:ID: test-node\n:END:\n";
    engine.take_text(&home.file("inbox.org"), text.into(), "buffer-update").expect("it is read");
    assert_eq!(engine.view().get(&NodeId::new("test-node")).expect("it is in memory").title(), "Test");
    assert_eq!(engine.focus_at(&home.file("inbox.org"), 3).expect("a heading").1, "Test");
}

#[test]
fn a_signal_deeper_than_ten_cannot_be_made() {
    assert_eq!(Depth::from_number(11), None);
    assert_eq!(Depth::from_number(10).and_then(Depth::deeper), None);
}

#[tokio::test]
async fn unsafe_proposals_are_blocked() {
    for call in [
        call("c1", "shell", json!({"command": "rm -rf /"})),
        call("c1", "eval-lisp", json!({"code": "(shell-command \"rm -rf /\")"})),
    ] {
        let mut world = World::new([Say::Calls(vec![call]), Say::Words("I see.")]);
        world.gates = Arc::new(standard(Vec::new()));
        let (report, _) = world.ask("clean up").await;
        assert!(!world.events().iter().any(|event| event.starts_with("perform")), "{:?}", world.events());
        assert_ne!(report.deeds[0].outcome, "shell was carried out.");
    }
}

#[tokio::test]
async fn a_crash_while_thinking_reaches_the_log_as_a_loop_error() {
    let world = World::new([Say::Panic("CRITICAL BRAIN FAILURE")]);
    let (report, _) = world.ask("hello").await;
    assert_eq!(report.ending, Ending::Failed);
    assert_eq!(
        world.log(),
        [
            "warning: user-input, depth 0: the turn failed: CRITICAL BRAIN FAILURE",
            "warning: loop-error, depth 1: the turn failed: CRITICAL BRAIN FAILURE"
        ]
    );
}

#[tokio::test]
async fn signals_that_are_not_reasoned_about_pass_through() {
    let text = || "hm".to_string();
    for body in [
        Body::Heartbeat,
        Body::BufferUpdate { file: text(), text: "".into() },
        Body::PointUpdate { file: text(), byte: 0 },
        Body::LoopError { text: text() },
        Body::SyntaxError { text: text() },
        Body::Interrupt,
        Body::Undo,
    ] {
        assert!(!is_reasoned(&body));
        let world = World::new([]);
        let (report, streamed) = world
            .start(Start::Words {
                signal: signal(body),
                history: Vec::new(),
                past: Default::default(),
                outside: Default::default(),
            })
            .await;
        assert_eq!((report.ending, report.text.as_str(), streamed.as_str()), (Ending::Answered, "", ""));
        assert!(world.events().is_empty(), "{:?}", world.events());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_leaves_memory_as_it_was() {
    let home = Home::new(&[("a.org", "* State A\n:PROPERTIES:\n:ID: node-1\n:END:\n")]);
    let engine = home.engine_with(|config| config.cascade = Some(vec!["nobody".into()])).await;
    home.read(&engine).await;
    let before = (engine.head(), engine.view().root());
    let (finished, _) = home.ask(&engine, "mark State A done").await;
    assert_eq!(finished.report.ending, Ending::Failed);
    assert!(finished.report.roll_back);
    assert_eq!((engine.head(), engine.view().root()), before);
    assert_eq!(engine.view().get(&NodeId::new("node-1")).expect("it is there").title(), "State A");
    let lines: Vec<_> = engine.log_lines(50).into_iter().map(|line| line.text).collect();
    assert!(lines.iter().any(|line| line.starts_with("the turn failed; memory stands where it stood")), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn awareness_names_the_active_projects() {
    let text = "* Project Alpha :project:\n:PROPERTIES:\n:ID: proj-1\n:END:\n* Something else\n";
    let home = Home::new(&[("p.org", text)]);
    let engine = home.engine().await;
    home.read(&engine).await;
    let now = jiff::civil::date(2026, 3, 2).at(9, 0, 0, 0);
    let awareness = engine.context(Some("what is going on?"), None, now, Privacy::Open, 4_000).text;
    assert!(awareness.contains("Project Alpha") && awareness.contains("proj-1"), "{awareness}");
}

#[test]
fn dependencies_of_skills_are_resolved() {
    let skill = |name: &str, needs: &str| {
        let text = format!("#+TITLE: {name}\n{needs}\n* Prompt\nSay so.\n");
        let outline = passepartout::domain::org::scan::scan(text.into(), &Default::default()).expect("a small text");
        parse(name, &outline).expect("a skill")
    };
    let needs = "#+DEPENDS_ON: mock-safety";
    let ordered = order(vec![skill("mock-dependent", needs), skill("mock-safety", "")]);
    let names: Vec<_> = ordered.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["mock-safety", "mock-dependent"]);
    assert!(ordered.left_out.is_empty());
}

#[test]
fn settings_come_from_the_environment() {
    let variables = [("HOME", "/h"), ("MEMEX_ASSISTANT", "Amr"), ("LOCAL_BASE_URL", "http://mock")];
    let variables = variables.map(|(name, value)| (name.to_string(), value.to_string())).into();
    let config = Config::read(&Surroundings { variables });
    assert_eq!(config.assistant, "Amr");
    assert_eq!(config.providers[0].url.as_deref(), Some("http://mock"));
}

#[test]
fn variables_in_paths_are_expanded() {
    let lookup = |name: &str| (name == "MEMEX_USER").then(|| "Amr".to_string());
    assert_eq!(expand_variables("$MEMEX_USER/test", &lookup), "Amr/test");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_can_be_read_back() {
    let home = Home::new(&[]);
    let engine = home.engine().await;
    engine.say(LogLevel::Info, "Engineering TEST LOG");
    let lines = engine.log_lines(5);
    assert!(lines.iter().any(|line| line.text.contains("Engineering TEST LOG")), "{lines:?}");
    assert_ne!(lines[0].at, at());
}
