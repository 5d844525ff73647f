//! What commands are told where a machine cannot confine them, or not entirely.

use super::{World, tool_of};
use passepartout::domain::action::Action;
use passepartout::domain::gate::clearance::ask_all;
use passepartout::domain::gate::facts::WallsFact;
use passepartout::domain::gate::{Case, Facts, show};
use passepartout::domain::scope::Level;
use passepartout::domain::signal::Sensor;
use serde_json::json;

fn judged(world: &World, action: &Action, facts: &Facts) -> String {
    let case = Case { action, tool: tool_of(action), scope: &world.scope, facts, set_off: Sensor::UserInput };
    let trace = ask_all(&world.gates, &case);
    let verdict = &trace.strictest().unwrap().verdict;
    format!("{}: {}", verdict.name(), verdict.reason().map_or("", |reason| reason.text.as_str()))
}

#[test]
fn what_is_missing_is_said_before_a_command_runs() {
    let mut world = World::new();
    world.scope.permissions.insert("shell".to_string(), Level::Allow);
    let why = || "the kernel makes no namespaces".to_string();
    let cases = [
        (None, json!({"command": "ls"}), "pass: "),
        (Some(WallsFact::All), json!({"command": "ls"}), "pass: "),
        (
            Some(WallsFact::Fewer(why())),
            json!({"command": "ls"}),
            "ask: high impact: It would run without namespaces (the kernel makes no namespaces): it could learn which files \
             there are, and what it starts would outlive a crash of Emacs.",
        ),
        (
            Some(WallsFact::Fewer(why())),
            json!({"command": "ls", "hosts": ["a.example"]}),
            "deny: high impact: Hosts can be reached only from namespaces",
        ),
        (
            Some(WallsFact::Nothing(why())),
            json!({"command": "ls"}),
            "deny: high impact: Commands cannot be confined on this machine: the kernel makes no namespaces.",
        ),
    ];
    for (walls, args, expected) in cases {
        let action = world.action("shell", args).unwrap();
        let facts = Facts { walls, ..world.facts(&action) };
        let found = judged(&world, &action, &facts);
        assert!(found.starts_with(expected), "{:?}: {found}", facts.walls);
    }
    // Nobody else is concerned.
    let action = world.action("read-file", json!({"path": "README.md"})).unwrap();
    let facts = Facts { walls: Some(WallsFact::Nothing(why())), ..world.facts(&action) };
    assert_eq!(judged(&world, &action, &facts), "pass: ");
}

#[test]
fn an_approval_holds_for_the_walls_that_were_shown() {
    let world = World::new();
    let action = world.action("shell", json!({"command": "make"})).unwrap();
    let with = |walls| Facts { walls, ..world.facts(&action) };
    let all = with(Some(WallsFact::All));
    let fewer = with(Some(WallsFact::Fewer("none".to_string())));
    let nothing = with(Some(WallsFact::Nothing("none".to_string())));
    assert_eq!(with(None).hash(), all.hash());
    assert!(all.hash() != fewer.hash() && fewer.hash() != nothing.hash() && all.hash() != nothing.hash());
    assert!(show::body(&action, &fewer, "/p").contains("runs without namespaces: none\n"));
}
