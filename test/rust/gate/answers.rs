//! Gates that skills wrote in Lisp: what they answered is a fact, and no answer, for whatever reason, denies.

use super::World;
use super::properties::approval;
use crate::support::skills::load;
use async_trait::async_trait;
use passepartout::domain::action::Action;
use passepartout::domain::gate::clearance::{Judgement, ask_all, judge};
use passepartout::domain::gate::facts::Answer;
use passepartout::domain::gate::{Facts, Gates};
use passepartout::domain::port::{SkillHost, Surveyor};
use passepartout::domain::skill::gate::Asked;
use passepartout::edge::survey::{NoVault, Nowhere, Survey};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const GATE: &str = "skill push: gate 1";

fn with_gate(world: &World) -> Gates {
    world.gates.clone().and(Box::new(Asked::new("push", "1", 70)))
}

fn answered(facts: &Facts, answer: Option<Answer>) -> Facts {
    Facts { answers: answer.map(|answer| (GATE.to_string(), answer)).into_iter().collect(), ..facts.clone() }
}

#[test]
fn a_gate_without_an_answer_denies_and_no_approval_helps() {
    let world = World::new();
    let action = world.action("read-file", json!({"path": "README.md"})).unwrap();
    let facts = world.facts(&action);
    let gates = with_gate(&world);
    let (ask, deny) = (Answer::Ask("others see it".into()), Answer::Deny("never".into()));
    for (answer, expected, why) in [
        (None, "deny", "gave no answer"),
        (Some(Answer::Pass), "pass", ""),
        (Some(ask), "ask", "others see it"),
        (Some(Answer::Ask(" ".into())), "ask", "asks about it and says no more"),
        (Some(deny), "deny", "never"),
    ] {
        let facts = answered(&facts, answer.clone());
        let trace = ask_all(&gates, &world.case(&action, &facts));
        let strictest = trace.strictest().unwrap();
        assert_eq!(strictest.verdict.name(), expected, "{answer:?}");
        let said = strictest.verdict.reason().map_or("", |reason| reason.text.as_str());
        assert!(said.contains(why) && (expected == "pass" || strictest.gate == "skill push: gate"), "{strictest:?}");
        let approved = judge(&gates, world.case(&action, &facts), Some(approval(&world, &gates, &action, &facts)));
        assert_eq!(matches!(approved, Judgement::Cleared(_)), expected != "deny", "{answer:?}");
    }
    // An answer of another gate is none of this one.
    let other = Facts { answers: BTreeMap::from([("skill pull: gate 1".to_string(), Answer::Pass)]), ..facts };
    assert!(matches!(judge(&gates, world.case(&action, &other), None), Judgement::Rejected(_)));
}

#[test]
fn an_approval_holds_for_the_answers_that_were_shown() {
    let world = World::new();
    let action = world.action("read-file", json!({"path": "README.md"})).unwrap();
    let facts = world.facts(&action);
    let answers = [
        None,
        Some(Answer::Pass),
        Some(Answer::Ask("a".into())),
        Some(Answer::Ask("b".into())),
        Some(Answer::Deny("a".into())),
    ];
    let hashes: Vec<_> = answers.into_iter().map(|answer| answered(&facts, answer).hash()).collect();
    for (n, one) in hashes.iter().enumerate() {
        assert!(hashes.iter().skip(n + 1).all(|other| other != one), "{n}");
    }
}

/// Answers as the name of the gate says.
struct Host;

#[async_trait]
impl SkillHost for Host {
    fn gates(&self) -> Vec<String> {
        ["hangs", "breaks", "refuses", "speaks"].map(str::to_string).to_vec()
    }

    async fn answer(&self, gate: &str, _: &Action, _: &Facts) -> Result<Answer, String> {
        match gate {
            "hangs" => std::future::pending().await,
            "breaks" => panic!("a gate that fails"),
            "refuses" => Err("its worker ended".to_string()),
            _ => Ok(Answer::Ask("so it says".to_string())),
        }
    }
}

#[tokio::test]
async fn a_gate_that_hangs_or_breaks_leaves_no_answer_and_keeps_no_other_from_answering() {
    let world = World::new();
    let survey = Survey::new(Arc::new(NoVault), Arc::new(Nowhere), None, Duration::from_secs(3_600));
    // What is ready is never late, however short the time; what hangs would hang for ever.
    let survey = survey.asking(Arc::new(Host), Duration::from_millis(1));
    let action = world.action("read-file", json!({"path": "README.md"})).unwrap();
    let facts = survey.survey(&action, &world.scope).await;
    let expected = BTreeMap::from([("speaks".to_string(), Answer::Ask("so it says".to_string()))]);
    assert_eq!(facts.answers, expected);
    assert!(!facts.unsurveyed, "what else was found out stands");
}

const SKILL: &str = "#+TITLE: Push\n* Code\n#+NAME: gate\n#+begin_src emacs-lisp\n(lambda (case) 'pass)\n#+end_src\n";

fn loaded(text: &str) -> (usize, &'static str, Vec<String>) {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("push.org"), text).unwrap();
    let loaded = load(&[folder.path().to_path_buf()]);
    let action = world.action("read-file", json!({"path": "README.md"})).unwrap();
    let facts = world.facts(&action);
    let trace = ask_all(&loaded.gates(), &world.case(&action, &facts));
    (loaded.own_gates().len(), trace.strictest().unwrap().verdict.name(), loaded.gaps(false))
}

#[test]
fn a_skill_with_a_gate_in_lisp_denies_until_it_can_be_asked() {
    for (text, count, verdict) in [
        (SKILL.to_string(), 1, "deny"),
        (SKILL.replace("#+NAME: gate", "#+name:  Gate "), 1, "deny"),
        (SKILL.replace("#+begin_src", "#+HEADER: :results silent\n#+BEGIN_SRC"), 1, "deny"),
        // It is kept out for what it needs, or for another fault: its gate holds all the same.
        (SKILL.replace("* Code", "#+DEPENDS_ON: none-such\n* Code"), 1, "deny"),
        (SKILL.replace("* Code", "#+PRIORITY: high\n* Code"), 1, "deny"),
        (format!("{SKILL}* Rules\n| tool | pattern | verdict | reason |\n| shel | x* | deny | No. |\n"), 1, "deny"),
        // A block before it lost its end, or it lost its own.
        (SKILL.replace("#+NAME: gate", "#+begin_src emacs-lisp\n(setq x 1)\n#+NAME: gate"), 1, "deny"),
        (SKILL.replace("#+end_src\n", ""), 1, "deny"),
        (SKILL.replace("#+NAME: gate", "#+NAME: prompt"), 0, "pass"),
        (SKILL.replace("#+NAME: gate\n", "#+NAME: gate\n\n# as it is\n"), 1, "deny"),
        (SKILL.replace("#+NAME: gate\n", "#+NAME: gate\nSome words.\n"), 0, "pass"),
        // It is called a gate and is none that anybody could ask.
        (SKILL.replace("emacs-lisp", "scheme"), 1, "deny"),
        (SKILL.replace(" emacs-lisp", ""), 1, "deny"),
        (SKILL.replace("* Code", "* COMMENT Code"), 0, "pass"),
    ] {
        let (gates, found, gaps) = loaded(&text);
        assert_eq!((gates, found), (count, verdict), "{text}");
        let said = gaps.iter().any(|gap| gap.contains("the skill push has a gate of its own in Lisp"));
        assert_eq!(said, count == 1, "{gaps:?}");
    }
}

/// Every gate, by the file that it stands in. What is here judges by what it is given, in steps that its input bounds;
/// whatever may run on, as Lisp may, is asked before judging, and its answer is a fact.
const GATES: &[&str] = &[
    "domain/gate/archivist.rs",
    "domain/gate/dispatcher/mod.rs",
    "domain/gate/orchestrator.rs",
    "domain/gate/permissions.rs",
    "domain/gate/policy.rs",
    "domain/gate/rule.rs",
    "domain/gate/validator.rs",
    "domain/gate/vault.rs",
    "domain/policy/tools.rs",
    "domain/skill/gate.rs",
];

#[test]
fn every_gate_is_built_in_or_data() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut found, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") && holds_a_gate(&path) {
                found.push(path.strip_prefix(&root).unwrap().to_path_buf());
            }
        }
    }
    found.sort();
    let known: Vec<PathBuf> = GATES.iter().map(PathBuf::from).collect();
    assert_eq!(found, known, "a gate that may run on is asked before judging: see `Asked`");
}

/// Returns whether a gate is made in a file outside its tests.
fn holds_a_gate(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    path.file_name().is_some_and(|name| name != "tests.rs") && text.contains(" Gate for ")
}
