//! Skills that users wrote by the manual alone: the one that it writes step by step, and those of =test/skills=.

use crate::skill_host::{possible, workers};
use crate::skill_kit::{confined, engine, line};
use crate::support::engine::{Home, provide, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::domain::scope::Level;
use passepartout::domain::turn::Ending;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Returns the blocks of the manual's skill, as Org would have them in a file.
fn of_the_manual() -> String {
    let manual = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/manual.org")).unwrap();
    let chapter = manual.split("** Writing a skill, step by step").nth(1).unwrap().split("\n* ").next().unwrap();
    let mut inside = false;
    let mut lines = Vec::new();
    for line in chapter.lines() {
        let line = line.strip_prefix("   ").unwrap_or(line);
        match line {
            "#+begin_example" => inside = true,
            "#+end_example" => inside = false,
            line if inside => lines.push(line.strip_prefix(',').unwrap_or(line)),
            _ => {}
        }
    }
    lines.join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_skill_of_the_manual_works() {
    let home = Home::new(&[("home.org", "* Kitchen\n")]);
    let own = home.own_skills();
    fs::create_dir_all(&own).unwrap();
    let text = of_the_manual();
    assert!(text.contains("#+NAME: gate\n") && text.contains("(ert-deftest "), "{text}");
    fs::write(format!("{own}/quiet-friday.org"), format!("#+TITLE: Quiet Friday\n\n* Gate\n{text}")).unwrap();
    let engine = engine(&home, &FakeServer::start([]), "/nowhere").await;
    let skill = line(&engine, "quiet-friday");
    assert_eq!((skill.state, skill.why, skill.remarks), ("loaded", None, Vec::new()));
    match engine.test_skill("quiet-friday").await {
        Err(why) if !confined(&why) => return,
        tested => {
            let tested = tested.unwrap();
            assert_eq!((tested.holds(), tested.tests.len()), (true, 3), "{tested:?}");
        }
    }
    engine.close().await;
}

const NOTES: &str = "* Plants\n** TODO Ferns                                        :plants:\n:PROPERTIES:\n:ID: ferns-1\n\
:END:\n** TODO Call Anna\n:PROPERTIES:\n:ID: anna\n:END:\n* Board                                        :meeting:\n\
:PROPERTIES:\n:ID: meeting-11\n:END:\nWe talked.\n";

fn says(text: &str) -> Reply {
    Reply::answer(Dialect::OpenAi, &[text], &[])
}

fn calls(tool: &str, mut args: Value) -> Reply {
    args["explanation"] = json!("It was asked for in the meeting.");
    Reply::answer(Dialect::OpenAi, &[], &[("c1", tool, args)])
}

/// Each of them loads with all that it says of itself, and does in a turn what it is for.
#[tokio::test(flavor = "multi_thread")]
async fn three_skills_that_somebody_wrote_by_the_manual_alone_do_what_they_are_for() {
    if !possible(&workers()).await {
        return;
    }
    let home = Home::new(&[("home.org", NOTES)]);
    let own = home.own_skills();
    fs::create_dir_all(&own).unwrap();
    let shelf = Path::new(env!("CARGO_MANIFEST_DIR")).join("test/skills");
    for name in ["minutes", "kind-dates", "watering"] {
        fs::copy(shelf.join(format!("{name}.org")), format!("{own}/{name}.org")).unwrap();
    }
    let server = FakeServer::start([]);
    let engine = home
        .engine_with(|config| {
            provide(config, &[("fake", &server, true)], &["fake"]);
            for tool in ["org-schedule", "org-add-heading", "org-set-property", "org-archive"] {
                config.permissions.insert(tool.into(), Level::Allow);
            }
        })
        .await;
    home.read(&engine).await;
    engine.try_skills().await;
    for (name, rules, gate_examples, tests) in [("minutes", 4, 0, 0), ("kind-dates", 0, 4, 4), ("watering", 0, 0, 3)] {
        let skill = line(&engine, name);
        assert_eq!((skill.state, skill.why, skill.remarks), ("loaded", None, Vec::new()), "{name}");
        let tested = engine.test_skill(name).await.unwrap();
        let counted = (tested.rules, tested.gate_examples, tested.tests.len());
        assert!(tested.holds() && counted == (rules, gate_examples, tests), "{name}: {tested:?}");
    }
    // The prompt, the mandate and the tools of one that is triggered; what its rule denies is refused.
    server.push(calls("org-archive", json!({"id": "meeting-11"})));
    server.push(says("Well."));
    let (finished, _) = home.ask(&engine, "write the minutes").await;
    assert_eq!(finished.report.skill.as_deref(), Some("minutes"));
    let sent = server.requests().first().unwrap().body.clone();
    assert!(sent.contains("Invent no name and no date.") && sent.contains("Write names of people"), "{sent}");
    assert!(finished.report.deeds[0].outcome.starts_with("refused"), "{:?}", finished.report.deeds);
    // A gate that asks about a Saturday, and one that rewrites before it is judged.
    server.push(calls("org-schedule", json!({"id": "anna", "kind": "deadline", "when": "2026-11-27"})));
    server.push(calls("org-schedule", json!({"id": "anna", "deadline": "2026-11-28"})));
    let (finished, _) = home.ask(&engine, "remind me of Anna").await;
    assert_eq!(finished.report.ending, Ending::Parked, "{:?}", finished.report);
    let plan = waiting(&engine);
    assert!(format!("{:?}", plan.trace).contains("It would be due on a weekend"), "{:?}", plan.trace);
    server.push(says("It waits no more."));
    home.approve(&engine, &plan).await.expect("it counts");
    assert!(home.read_file("home.org").contains("DEADLINE: <2026-11-28 Sat>"), "{}", home.read_file("home.org"));
    server.push(calls("org-add-heading", json!({"title": " call the baker. ", "file": home.file("home.org")})));
    server.push(says("Well."));
    home.ask(&engine, "plan the bread").await;
    assert!(home.read_file("home.org").contains("* Call the baker\n"), "{}", home.read_file("home.org"));
    // A slash command that no model answers.
    let asked = server.requests().len();
    home.ask(&engine, "/watered ferns-1").await;
    let (_, told) = home.ask(&engine, "/watered").await;
    assert!(told.contains("Say which plant: /watered ID"), "{told}");
    assert!(home.read_file("home.org").contains(":WATERED:  2026-03-02"), "{}", home.read_file("home.org"));
    assert_eq!(server.requests().len(), asked);
    engine.close().await;
}
