//! Settings of the user's Emacs through whole turns: told without what is private, changed as a flight plan that Emacs
//! alone approves, put back with what was saved.

use crate::skill_host::{possible, workers};
use crate::support::engine::{Home, origin, status, waiting};
use crate::tools::World;
use async_trait::async_trait;
use passepartout::domain::gate::badge::Badge;
use passepartout::domain::gate::plan::PlanStatus;
use passepartout::domain::setting::{Change, OPTIONS, Saved, SettingFact, Stand, Told};
use passepartout::domain::signal::{Origin, Source};
use passepartout::domain::turn::refused;
use passepartout::edge::editor::{Buffer, Editor, Splice, Unchanged, Wanted};
use passepartout::edge::engine::decisions::Decided;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// An Emacs with settings: each with its value, and what is saved of it.
#[derive(Default)]
struct Emacs {
    settings: Mutex<BTreeMap<String, (String, Option<String>)>>,
    sets: Mutex<usize>,
}

impl Emacs {
    fn with(settings: &[(&str, &str)]) -> Arc<Emacs> {
        let settings = settings.iter().map(|(name, value)| (name.to_string(), (value.to_string(), None))).collect();
        Arc::new(Emacs { settings: Mutex::new(settings), sets: Mutex::default() })
    }

    fn now(&self, option: &str) -> (String, Option<String>) {
        self.settings.lock().unwrap().get(option).cloned().unwrap()
    }

    fn put(&self, option: &str, value: &str) {
        self.settings.lock().unwrap().get_mut(option).unwrap().0 = value.to_string();
    }

    fn sets(&self) -> usize {
        *self.sets.lock().unwrap()
    }
}

#[async_trait]
impl Editor for Emacs {
    async fn buffer(&self, _: &str) -> Result<Option<Buffer>, String> {
        Ok(None)
    }

    async fn edit(&self, file: &str, _: i64, _: Vec<Splice>) -> Result<(), String> {
        Err(format!("{file} is open nowhere"))
    }

    async fn settings(&self, wanted: &Wanted) -> Result<Vec<Told>, String> {
        let told = |(option, (value, _)): (&String, &(String, Option<String>))| Told {
            option: option.clone(),
            summary: "What it is.".to_string(),
            documentation: "What it is, at length.".to_string(),
            kind: "natnum".to_string(),
            value: (option != "passepartout-providers").then(|| value.clone()),
            standard: Some("nil".to_string()),
            state: "set in this Emacs, not saved".to_string(),
        };
        let fits = |option: &str| match wanted {
            Wanted::One(name) => option == name,
            Wanted::Fitting(words) => words.split_whitespace().all(|word| option.contains(word)),
        };
        Ok(self.settings.lock().unwrap().iter().filter(|(option, _)| fits(option)).map(told).collect())
    }

    async fn weigh(&self, change: &Change) -> Result<SettingFact, Unchanged> {
        let known = self.settings.lock().unwrap().get(&change.option).cloned();
        let (now, saved) = known.ok_or_else(|| Unchanged::Refused(format!("{} is no setting", change.option)))?;
        let saved_then = match &change.saved {
            Saved::Stays => saved.clone(),
            Saved::As(value) => Some(value.to_string()),
            Saved::Nothing => None,
        };
        let (summary, to) = ("What it is.".to_string(), change.value.to_string());
        Ok(SettingFact { option: change.option.clone(), summary, now, to, saved, saved_then, undoes: None })
    }

    async fn set(&self, change: &Change, found: &SettingFact) -> Result<(), Unchanged> {
        if change.value.to_string() == "13" {
            return Err(Unchanged::Refused("it was not changed: the disk is full".to_string()));
        }
        *self.sets.lock().unwrap() += 1;
        let after = (found.to.clone(), found.saved_then.clone());
        self.settings.lock().unwrap().insert(change.option.clone(), after);
        Ok(())
    }
}

const HOURS: &str = "passepartout-plan-hours";

async fn world(emacs: &Arc<Emacs>) -> World {
    let home = Home::new(&[("home.org", "* Kitchen\n")]);
    *home.editor.lock().unwrap() = emacs.clone();
    // Whatever the level is, it asks.
    World::with(home, true, &["setting-change", "setting-undo"]).await
}

/// Returns what the user is told of a line that they typed: the answer, and what was refused.
async fn typed(world: &World, line: &str) -> String {
    let report = world.home.ask(&world.engine, line).await.0.report;
    let refused: Vec<String> = refused(&report).into_iter().map(|refused| refused.text).collect();
    format!("{}{}{}", report.text, report.notice.unwrap_or_default(), refused.join("\n"))
}

fn set(option: &str, value: &str) -> serde_json::Value {
    json!({ "option": option, "value": value })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_setting_is_a_plan_that_emacs_alone_approves_and_goes_back() {
    let emacs = Emacs::with(&[(HOURS, "nil")]);
    let world = world(&emacs).await;
    let mut args = set("plan-hours", "48");
    args["keep"] = json!(true);
    assert_eq!(world.call("setting-change", args).await, "parked");
    let plan = waiting(&world.engine);
    assert_eq!(plan.title, "Set passepartout-plan-hours to 48 for good");
    assert_eq!(plan.about.badge, Badge::Undoable);
    for shown in [
        "setting: passepartout-plan-hours\nwhat it is: What it is.\nvalue now: nil\nvalue then: 48\n",
        "saved now: nothing\nsaved then: 48\n",
        "counts: from the next start of the core",
        "mind: it guards for how long a plan can be approved\n",
    ] {
        assert!(plan.body.contains(shown), "{}", plan.body);
    }
    assert!(plan.asks().iter().any(|(_, why)| why.contains("a setting that guards for how long")), "{:?}", plan.asks());
    let terminal = Origin { source: Source::Cli, ..origin() };
    let approve = Decided::Approve { shown: plan.shown() };
    let turn = world.engine.new_turn();
    assert!(world.engine.decide(&terminal, &plan.id.0, approve, turn, &mut |_| {}).await.is_err());
    assert_eq!((emacs.now(HOURS), emacs.sets()), (("nil".to_string(), None), 0));
    world.home.approve(&world.engine, &plan).await.unwrap();
    assert_eq!(emacs.now(HOURS), ("48".to_string(), Some("48".to_string())));
    let PlanStatus::Done(said) = status(&world.engine, &plan) else { panic!("{:?}", status(&world.engine, &plan)) };
    assert!(said.contains("is 48 from now on; it was nil.") && said.contains("/settings undo "), "{said}");
    // Putting it back waits as well, and puts back what was saved.
    world.home.ask(&world.engine, "/settings undo").await;
    let back = waiting(&world.engine);
    assert_eq!(back.title, "Put passepartout-plan-hours back to nil");
    assert!(back.body.contains("saved now: 48\nsaved then: nothing\n"), "{}", back.body);
    assert_eq!(emacs.sets(), 1);
    world.home.approve(&world.engine, &back).await.unwrap();
    assert_eq!(emacs.now(HOURS), ("nil".to_string(), None));
    let said = typed(&world, "/settings undo").await;
    assert!(said.contains("changed no setting that could be put back"), "{said}");
    world.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_changed_can_be_put_back_after_a_restart_and_says_what_came_between() {
    let emacs = Emacs::with(&[(HOURS, "nil"), ("passepartout-request-tries", "3")]);
    let world = world(&emacs).await;
    for (option, value) in [(HOURS, "48"), ("passepartout-request-tries", "5")] {
        assert_eq!(world.call("setting-change", set(option, value)).await, "parked");
        world.home.approve(&world.engine, &waiting(&world.engine)).await.unwrap();
    }
    world.engine.close().await;
    let engine = world.home.engine().await;
    world.home.read(&engine).await;
    emacs.put("passepartout-request-tries", "7");
    let said = engine.propose_setting_undo(&origin(), None).await;
    let plan = waiting(&engine);
    assert!(said.contains("waits as a flight plan"), "{said}");
    assert_eq!(plan.title, "Put passepartout-request-tries back to 3");
    assert!(plan.body.contains("mind: It was changed again since it was set to 5.\n"), "{}", plan.body);
    world.home.approve(&engine, &plan).await.unwrap();
    engine.propose_setting_undo(&origin(), None).await;
    world.home.approve(&engine, &waiting(&engine)).await.unwrap();
    assert_eq!(emacs.now("passepartout-request-tries").0, "3");
    assert_eq!(emacs.now(HOURS).0, "nil");
    let said = engine.propose_setting_undo(&origin(), None).await;
    assert!(said.contains("changed no setting that could be put back"), "{said}");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_that_changed_since_it_was_shown_stays_as_it_is() {
    let emacs = Emacs::with(&[(HOURS, "nil")]);
    let world = world(&emacs).await;
    assert_eq!(world.call("setting-change", set(HOURS, "48")).await, "parked");
    let plan = waiting(&world.engine);
    emacs.put(HOURS, "12");
    // Whatever that answers, it is not carried out.
    let _ = world.home.approve(&world.engine, &plan).await;
    assert_eq!((emacs.now(HOURS).0.as_str(), emacs.sets()), ("12", 0));
    assert!(!matches!(status(&world.engine, &plan), PlanStatus::Done(_)));
    world.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_emacs_refuses_at_the_end_is_said_and_leaves_nothing_to_put_back() {
    let emacs = Emacs::with(&[(HOURS, "nil")]);
    let world = world(&emacs).await;
    assert_eq!(world.call("setting-change", set(HOURS, "13")).await, "parked");
    let plan = waiting(&world.engine);
    world.home.approve(&world.engine, &plan).await.unwrap();
    let PlanStatus::Failed(why) = status(&world.engine, &plan) else { panic!("{:?}", status(&world.engine, &plan)) };
    assert!(why.contains("the disk is full"), "{why}");
    let said = typed(&world, "/settings undo").await;
    assert!(said.contains("changed no setting"), "{said}");
    world.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_protects_the_user_or_is_no_data_is_never_proposed() {
    let all: Vec<(&str, &str)> = OPTIONS.iter().map(|(name, ..)| (*name, "nil")).collect();
    let emacs = Emacs::with(&all);
    let world = world(&emacs).await;
    let never: Vec<&str> =
        OPTIONS.iter().filter(|(_, stand, _)| matches!(stand, Stand::Never(_))).map(|(name, ..)| *name).collect();
    for option in [
        "passepartout-permissions",
        "passepartout-privacy-tags",
        "passepartout-select-model-function",
        "passepartout-module-file",
        "passepartout-skills-directories",
        "passepartout-approval-delay",
        "passepartout-providers",
        "passepartout-allowed-hosts",
    ] {
        assert!(never.contains(&option), "{option}");
    }
    for option in never.into_iter().chain(["passepartout-no-such", "load-path", "passepartout-global-mode"]) {
        let told = world.call("setting-change", set(option, "t")).await;
        assert!(told.contains("the user alone sets"), "{option}: {told}");
    }
    for (value, expected) in [
        ("#'ignore", "no plain Lisp data"),
        ("(lambda", "no plain Lisp data"),
        ("1 2", "no plain Lisp data"),
        ("nil", "is nil already"),
    ] {
        let told = world.call("setting-change", set(HOURS, value)).await;
        assert!(told.contains(expected), "{value}: {told}");
    }
    assert!(world.engine.plans(false).is_empty());
    assert_eq!(emacs.sets(), 0);
    world.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_explained_with_and_without_a_model() {
    let emacs = Emacs::with(&[
        (HOURS, "48"),
        ("passepartout-day-budget", "2.5"),
        ("passepartout-session-budget", "nil"),
        ("passepartout-providers", "CANARY"),
    ]);
    let world = world(&emacs).await;
    let told = world.call("setting-explain", json!({"query": HOURS})).await;
    for part in
        ["What it is, at length.", "Value: 48 (set in this Emacs", "Type: natnum", "In the manual: ", "Settings"]
    {
        assert!(told.contains(part), "{told}");
    }
    let told = world.call("setting-explain", json!({"query": "budget"})).await;
    assert!(told.contains("- passepartout-day-budget: What it is. (2.5)\n- passepartout-session-budget"), "{told}");
    let told = world.call("setting-explain", json!({"query": "providers"})).await;
    assert!(told.contains("not told here") && told.contains("No change of it is ever proposed"), "{told}");
    assert!(!told.contains("CANARY"), "{told}");
    let before = world.requests();
    for (line, expected) in [
        ("/settings plan-hours", "Value: 48"),
        ("/settings plan hours", "Value: 48"),
        ("/settings", "- passepartout-day-budget"),
        ("/settings zeppelin", "No setting of Passepartout fits"),
        ("/settings undo nothing", "no change of a setting called nothing"),
    ] {
        let said = typed(&world, line).await;
        assert!(said.contains(expected), "{line}: {said}");
    }
    assert_eq!(world.requests(), before, "no model was asked");
    world.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_emacs_that_is_said() {
    let home = Home::new(&[("home.org", "* Kitchen\n")]);
    let world = World::with(home, true, &[]).await;
    let told = world.call("setting-explain", json!({"query": HOURS})).await;
    assert!(told.contains("the Emacs whose settings count is not there"), "{told}");
    let told = world.call("setting-change", set(HOURS, "48")).await;
    assert!(told.contains("the Emacs whose settings count is not there"), "{told}");
    assert!(world.engine.plans(false).is_empty());
    world.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_is_named_and_changed_without_a_model() {
    if !possible(&workers()).await {
        return;
    }
    let emacs = Emacs::with(&[(HOURS, "nil")]);
    let world = world(&emacs).await;
    let before = world.requests();
    let said = typed(&world, "what does passepartout-plan-hours mean?").await;
    assert!(said.contains("What it is, at length."), "{said}");
    world.home.ask(&world.engine, "set passepartout-plan-hours to 48").await;
    world.home.approve(&world.engine, &waiting(&world.engine)).await.unwrap();
    assert_eq!(emacs.now(HOURS).0, "48");
    world.home.ask(&world.engine, "put the setting back").await;
    world.home.approve(&world.engine, &waiting(&world.engine)).await.unwrap();
    assert_eq!(emacs.now(HOURS).0, "nil");
    assert_eq!(world.requests(), before, "no model was asked");
    world.engine.close().await;
}

/// Returns the names of all options that the Lisp declares.
fn declared() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("lisp");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let lisp = files.filter(|path| path.extension().is_some_and(|end| end == "el"));
    let texts: Vec<String> = lisp.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let names = |text: &String| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("(defcustom "));
        lines.map(|line| line.split_whitespace().next().unwrap_or_default().to_string()).collect()
    };
    texts.iter().flat_map(names).collect()
}

#[test]
fn of_every_option_it_is_decided_whether_a_change_may_be_proposed_and_its_name_calls_the_skill() {
    let listed: BTreeSet<String> = OPTIONS.iter().map(|(name, ..)| name.to_string()).collect();
    assert_eq!(listed, declared());
    let skill = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("skills/config.org")).unwrap();
    let trigger = skill.lines().find(|line| line.starts_with("#+TRIGGER:")).expect("it is triggered");
    let words: BTreeSet<&str> = trigger.split([',', '"']).map(str::trim).collect();
    let missing: Vec<&String> = listed.iter().filter(|name| !words.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
