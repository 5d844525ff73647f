//! Whole turns in which a model writes or mends a skill of the user's own: always a flight plan, tried out first, put back
//! where it does not come to be loaded.

use crate::skill_host::{block, possible, workers};
use crate::support::engine::{Home, origin, provide, status, waiting};
use crate::support::fake_server::{Dialect, FakeServer, Reply};
use passepartout::domain::gate::plan::{FlightPlan, PlanStatus};
use passepartout::domain::scope::Level;
use passepartout::domain::signal::{Origin, Source};
use passepartout::domain::turn::Ending;
use passepartout::edge::engine::Engine;
use passepartout::edge::engine::decisions::Decided;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::Arc;

const READING: &str = "#+TITLE: Reading\n#+TRIGGER: words:\"reading list\"\n#+TOOLS: memory-search\n* Prompt\nLook the list up.\n\
* Rules\n| tool | pattern | verdict | reason |\n| shell | command: wget* | deny | Books are bought. |\n\
* Examples\n| tool | example | match |\n| shell | wget x | deny |\n";

fn says(text: &str) -> Reply {
    Reply::answer(Dialect::OpenAi, &[text], &[])
}

fn calls(tool: &str, mut args: Value) -> Reply {
    args["explanation"] = json!("You asked for it.");
    Reply::answer(Dialect::OpenAi, &[], &[("c1", tool, args)])
}

/// A memex, the user's own skills, and a model that says what it is told to.
struct Study {
    home: Home,
    engine: Arc<Engine>,
    server: FakeServer,
}

impl Study {
    async fn new(skills: &[(&str, &str)], replies: Vec<Reply>) -> Study {
        let home = Home::new(&[("home.org", "* Kitchen\n")]);
        for (name, text) in skills {
            fs::create_dir_all(home.own_skills()).unwrap();
            fs::write(format!("{}/{name}.org", home.own_skills()), text).unwrap();
        }
        let server = FakeServer::start(replies);
        let engine = home
            .engine_with(|config| {
                provide(config, &[("fake", &server, true)], &["fake"]);
                config.shipped_skills = Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("skills"));
                for tool in ["create-skill", "edit-skill", "write-file"] {
                    config.permissions.insert(tool.into(), Level::Allow);
                }
            })
            .await;
        home.read(&engine).await;
        Study { home, engine, server }
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(format!("{}/{name}.org", self.home.own_skills())).ok()
    }

    fn state(&self, name: &str) -> &'static str {
        self.engine.skill_list().into_iter().find(|line| line.name == name).map_or("none", |line| line.state)
    }

    /// Asks, and returns the plan that waits, as it must.
    async fn parked(&self, question: &str) -> FlightPlan {
        let (finished, _) = self.home.ask(&self.engine, question).await;
        assert_eq!(finished.report.ending, Ending::Parked, "{:?} {}", finished.report, self.last());
        waiting(&self.engine)
    }

    fn last(&self) -> String {
        self.server.requests().last().map(|request| request.body.clone()).unwrap_or_default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_is_made_when_it_was_approved_in_emacs_and_counts_from_the_next_turn() {
    let make = calls("create-skill", json!({"skill": "reading", "text": READING}));
    let study = Study::new(&[], vec![make, says("Made."), says("Here."), says("Here.")]).await;
    // The level of the tool is allow, and it asks all the same.
    let plan = study.parked("make a skill for my reading list").await;
    assert_eq!((study.text("reading"), plan.title.as_str()), (None, "Make the skill reading"));
    for told in ["| Look the list up.", "these tools alone", "a rule that may deny (shell): Books are bought"] {
        assert!(plan.body.contains(told), "{told}\n{}", plan.body);
    }
    let terminal = Origin { source: Source::Cli, ..origin() };
    let approve = Decided::Approve { shown: plan.shown() };
    let refused = study.engine.decide(&terminal, &plan.id.0, approve, study.engine.new_turn(), &mut |_| {}).await;
    assert!(refused.is_err_and(|why| why.to_string().contains("Emacs")), "a terminal approves no skill");
    study.home.approve(&study.engine, &plan).await.unwrap();
    assert!(matches!(status(&study.engine, &plan), PlanStatus::Done(_)), "{:?}", status(&study.engine, &plan));
    assert_eq!((study.text("reading").as_deref(), study.state("reading")), (Some(READING), "loaded"));
    assert!(
        study.last().contains("counts from the next turn on. It loads. Its rule holds its examples."),
        "{}",
        study.last()
    );
    study.home.ask(&study.engine, "the reading list, please").await;
    assert!(study.last().contains("Look the list up."), "{}", study.last());
    // What was made is taken back as any other change is.
    study.home.ask(&study.engine, "/undo").await;
    let plan = waiting(&study.engine);
    let approve = Decided::Approve { shown: plan.shown() };
    let refused = study.engine.decide(&terminal, &plan.id.0, approve, study.engine.new_turn(), &mut |_| {}).await;
    assert!(refused.is_err_and(|why| why.to_string().contains("in Emacs")), "nor takes one back");
    study.home.approve(&study.engine, &plan).await.unwrap();
    assert_eq!(study.text("reading"), None, "{:?}", status(&study.engine, &plan));
    study.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_not_load_is_refused_before_anybody_is_asked() {
    let broken = READING.replace("| wget x | deny |", "| wget x | no |");
    let unreadable = READING.replace("| deny | Books", "| pass | Books");
    let make = |skill: &str, text: &str| ("create-skill", json!({"skill": skill, "text": text}));
    let edit = |skill: &str, old: &str, new: &str| ("edit-skill", json!({"skill": skill, "old": old, "new": new}));
    let cases = [
        (make("../evil", READING), "is no name for a skill"),
        (make("policy", READING), "there is a skill policy already"),
        (make("mine", READING), "there is a skill mine already"),
        (make("reading", &broken), "should give no, but gives deny"),
        (make("reading", &unreadable), "never loosen it"),
        (edit("policy", "sentence", "word"), "none of the user's own"),
        (edit("nobody", "a", "b"), "there is no skill"),
        (edit("mine", "not there", "b"), "does not stand there"),
        (edit("mine", "wget", "b"), "stands there 2 times"),
        (edit("mine", "| shell | wget x | deny |", "| shell | wget x | no |"), "should give no, but gives deny"),
        (("edit-skill", json!({"skill": "mine"})), "are balanced"),
    ];
    for ((tool, args), why) in cases {
        let study = Study::new(&[("mine", READING)], vec![calls(tool, args.clone()), says("Well.")]).await;
        let (finished, _) = study.home.ask(&study.engine, "make a skill").await;
        assert_eq!(finished.report.ending, Ending::Answered, "{tool} {args}: {:?}", finished.report);
        assert!(study.last().contains(why), "{tool} {args}: {}", study.last());
        assert_eq!(study.text("mine").as_deref(), Some(READING));
        assert_eq!(study.engine.plans(false).len(), 0);
        study.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_says_what_would_not_be_forbidden_any_more() {
    let less = READING.split("* Rules").next().unwrap();
    let old = READING.get(less.len()..).unwrap();
    let new = "* Notes\nIt asks for nothing more.\n";
    let edit = calls("edit-skill", json!({"skill": "mine", "old": old, "new": new}));
    let study = Study::new(&[("mine", READING)], vec![edit, says("Done.")]).await;
    let plan = study.parked("change the skill mine").await;
    assert!(plan.body.contains("It would not deny any more: Books are bought."), "{}", plan.body);
    assert!(study.engine.skills().gates.iter().any(|gate| gate.name() == "skill mine"), "it still holds");
    study.home.approve(&study.engine, &plan).await.unwrap();
    assert_eq!(study.text("mine"), Some(format!("{less}{new}")));
    assert!(!study.engine.skills().gates.iter().any(|gate| gate.name() == "skill mine"));
    study.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_skill_that_does_not_load_says_what_would_not_be_forbidden_any_more() {
    let broken = format!("#+PRIORITY: high\n{READING}");
    let (kept, rules) = broken.split_at(broken.find("* Rules").unwrap());
    let edit = json!({"skill": "mine", "old": broken, "new": kept.replace("high", "20")});
    assert!(!rules.is_empty());
    let study = Study::new(&[("mine", &broken)], vec![calls("edit-skill", edit), says("Done.")]).await;
    let plan = study.parked("change the skill mine").await;
    for said in ["It does not load as it stands: ", "It would not deny any more: Books are bought."] {
        assert!(plan.body.contains(said), "{said}: {}", plan.body);
    }
    study.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_shared_code_is_told_as_one_of_what_uses_it() {
    let block = |name: &str, code: &str| format!("#+NAME: {name}\n#+begin_src elisp\n{code}\n#+end_src\n");
    let (shared, refine) = (block("definitions", "(defun mine () 1)"), block("refine", "(lambda (_) (mine) nil)"));
    let text = format!("{READING}* Code\n{shared}{refine}");
    let edit = json!({"skill": "mine", "old": "(defun mine () 1)", "new": "(defun mine () 2)"});
    let study = Study::new(&[("mine", &text)], vec![calls("edit-skill", edit), says("Done.")]).await;
    let plan = study.parked("change the skill mine").await;
    assert!(plan.body.contains("Its rewriting of proposals in Lisp would be another one."), "{}", plan.body);
    study.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_not_come_to_be_loaded_is_not_written() {
    let needs = READING.replace("#+TOOLS: memory-search", "#+DEPENDS_ON: nobody");
    let make = calls("create-skill", json!({"skill": "reading", "text": needs}));
    let edit = json!({"skill": "mine", "old": "#+TOOLS: memory-search", "new": "#+DEPENDS_ON: nobody"});
    for (reply, name, before) in [(make, "reading", None), (calls("edit-skill", edit), "mine", Some(READING))] {
        let study = Study::new(&[("mine", READING)], vec![reply, says("Well.")]).await;
        let plan = study.parked("make a skill").await;
        study.home.approve(&study.engine, &plan).await.unwrap();
        assert!(matches!(status(&study.engine, &plan), PlanStatus::Failed(_)), "{:?}", status(&study.engine, &plan));
        assert_eq!(study.text(name).as_deref(), before);
        assert!(study.last().contains("nobody") && study.last().contains("Nothing was changed"), "{}", study.last());
        assert_eq!(study.state("mine"), "loaded");
        study.engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn its_lisp_and_its_tests_are_run_before_it_is_written() {
    if !possible(&workers()).await {
        return;
    }
    let with = |code: &str, test: &str| {
        let test = format!("(ert-deftest it-holds () (should (equal (twice 2) {test})))");
        format!("{READING}* Code\n{}{}", block("definitions", code), block("tests", &test))
    };
    let sound = with("(defun twice (n)\n  (* 2 n))", "4");
    let unbalanced = with("(defun twice (n)\n  (* 2 n)", "4");
    let edit = |old: &str, new: &str| calls("edit-skill", json!({"skill": "mine", "old": old, "new": new}));
    for (reply, told, done) in [
        (edit("(* 2 n)", "(+ 3 n)"), "The test it-holds (line", false),
        (edit("(* 2 n)", "(call-process \"id\" nil t)"), "Nothing was changed.", false),
        (edit("(* 2 n)", "(twice n)"), "Nothing was changed.", false),
        (edit("(* 2 n)", "(+ n n)"), "Tests: 1 passed, 0 failed.", true),
    ] {
        let study = Study::new(&[("mine", &sound)], vec![reply, says("Well.")]).await;
        let plan = study.parked("change the skill mine").await;
        assert!(plan.body.contains("run in a spare worker before it is written"), "{}", plan.body);
        study.home.approve(&study.engine, &plan).await.unwrap();
        assert!(study.last().contains(told), "{told}: {}", study.last());
        assert_eq!(study.text("mine").as_deref() != Some(&sound), done, "{told}");
        study.engine.close().await;
    }
    // Brackets are put right without a model.
    let study = Study::new(&[("mine", &unbalanced)], vec![]).await;
    let plan = study.parked("balance the skill mine").await;
    study.home.approve(&study.engine, &plan).await.unwrap();
    assert_eq!(study.text("mine").as_deref(), Some(sound.as_str()), "{:?}", status(&study.engine, &plan));
    assert_eq!(study.server.requests().len(), 0);
    study.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_is_read_with_what_became_of_it() {
    let broken = READING.replace("| wget x | deny |", "| wget x | no |");
    let read = |name: &str| calls("skill-read", json!({"skill": name}));
    let study = Study::new(
        &[("mine", READING), ("bad", &broken)],
        vec![read("mine"), read("bad"), read("policy"), read("gone"), says("Well.")],
    )
    .await;
    study.home.ask(&study.engine, "mend the skill bad").await;
    let bodies: Vec<String> = study.server.requests().iter().map(|request| request.body.clone()).collect();
    for (body, told) in bodies.iter().skip(1).zip([
        ["The skill mine is loaded.", "Look the list up."],
        ["The skill bad is unread.", "should give no, but gives deny"],
        ["The skill policy is loaded.", "Every action that you propose"],
        ["no skill that can be read is called", "gone"],
    ]) {
        assert!(told.iter().all(|told| body.contains(told)), "{told:?}\n{body}");
    }
    assert!(Path::new(&study.home.own_skills()).join("bad.org").exists());
    study.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_of_providers_is_a_plan_that_emacs_alone_approves() {
    if !possible(&workers()).await {
        return;
    }
    let home = Home::new(&[("home.org", "* Kitchen\n")]);
    let (one, two) = (FakeServer::start([]), FakeServer::start([says("Two.")]));
    let engine = home
        .engine_with(|config| {
            provide(config, &[("one", &one, true), ("two", &two, true)], &["one"]);
            config.shipped_skills = Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("skills"));
            config.permissions.insert("set-cascade".into(), Level::Allow);
        })
        .await;
    home.read(&engine).await;
    let (finished, _) = home.ask(&engine, "use the providers two, one").await;
    assert_eq!(finished.report.ending, Ending::Parked, "{:?}", finished.report);
    let plan = waiting(&engine);
    assert_eq!(plan.title, "Ask providers in this order: two, one");
    assert!(format!("{plan:?}").contains("to whom what you ask and your notes are sent"), "{plan:?}");
    let terminal = Origin { source: Source::Cli, ..origin() };
    let approve = Decided::Approve { shown: plan.shown() };
    assert!(engine.decide(&terminal, &plan.id.0, approve, engine.new_turn(), &mut |_| {}).await.is_err());
    assert_eq!(engine.order(), ["one"]);
    home.approve(&engine, &plan).await.unwrap();
    assert_eq!(engine.order(), ["two", "one"]);
    home.ask(&engine, "hello there").await;
    assert_eq!((one.requests().len(), two.requests().len()), (0, 1));
    home.ask(&engine, "use the providers nobody").await;
    let plan = waiting(&engine);
    home.approve(&engine, &plan).await.unwrap();
    assert!(matches!(status(&engine, &plan), PlanStatus::Failed(_)), "{:?}", status(&engine, &plan));
    home.ask(&engine, "use the usual providers").await;
    let plan = waiting(&engine);
    home.approve(&engine, &plan).await.unwrap();
    assert_eq!(engine.order(), ["one"]);
    engine.close().await;
}
