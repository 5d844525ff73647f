//! Skills: reading, examples, triggers, order, gates, and those that ship.

use passepartout::domain::action::Action;
use passepartout::domain::gate::facts::{Facts, FileKind, PathFact, PathForm};
use passepartout::domain::gate::rule::Rules;
use passepartout::domain::gate::{Case, Gate};
use passepartout::domain::id::SessionId;
use passepartout::domain::label::Labels;
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::scope::Scope;
use passepartout::domain::signal::Sensor;
use passepartout::domain::skill::gate::{ToolsGate, gates};
use passepartout::domain::skill::order::order;
use passepartout::domain::skill::parse::parse;
use passepartout::domain::skill::trigger::{SignalFacts, Trigger};
use passepartout::domain::skill::{Skill, mandates, offered, on_error, triggered};
use passepartout::domain::tool::Toolbox;
use passepartout::domain::turn::error::Resolution;
use passepartout::edge::skills::{SkillState, load};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn read(name: &str, text: &str) -> Result<Skill, String> {
    let outline = scan(Arc::from(text), &ScanOptions::default()).unwrap();
    parse(name, &outline).map_err(|why| why.to_string())
}

const PUSH: &str = "\
#+TITLE: Push
#+PRIORITY: 70
#+TRIGGER: sensor:user-input words:\"push it, ship\"
#+TOOLS: shell memory-search
* Prompt
Push carefully.
# a remark for people
* Mandates
Be brief.
** In work
:PROPERTIES:
:WHEN: tag:work
:END:
Name the ticket.
* Rules
| tool  | pattern             | verdict | reason       |
|-------+---------------------+---------+--------------|
| shell | command: git push*  | ask     | Others see it. |
| shell | *--force*           | deny    | Never force. |
** Examples
| tool  | example             | match |
|-------+---------------------+-------|
| shell | git push            | ask   |
| shell | git push --force    | deny  |
| shell | git status          | no    |
";

#[test]
fn a_skill_is_read_whole() {
    let skill = read("push", PUSH).unwrap();
    assert_eq!((skill.name.as_str(), skill.title.as_str(), skill.priority), ("push", "Push", 70));
    assert_eq!(skill.prompt.as_deref(), Some("Push carefully."));
    assert_eq!(skill.rules.len(), 2);
    assert_eq!(skill.tools.unwrap().into_iter().collect::<Vec<_>>(), ["memory-search", "shell"]);
    assert!(skill.remarks.is_empty(), "{:?}", skill.remarks);
}

#[test]
fn a_skill_may_choose_what_ends_a_fault_and_without_a_choice_the_turn_is_aborted() {
    let with = |line: &str| read("push", &PUSH.replace("#+PRIORITY: 70", line));
    for (line, chosen) in [
        ("#+PRIORITY: 70", Resolution::Abort),
        ("#+ON_ERROR: abort", Resolution::Abort),
        ("#+on_error: Skip", Resolution::Skip),
        ("#+ON_ERROR:  fallback  Push it by hand. ", Resolution::Fallback("Push it by hand.".into())),
        (
            "#+ON_ERROR: fallback",
            Resolution::Fallback("I could not do this now. Ask again later; the log says what failed.".into()),
        ),
    ] {
        let skill = with(line).unwrap();
        assert_eq!(on_error(Some(&skill)), chosen, "{line}");
        assert!(skill.remarks.is_empty(), "{:?}", skill.remarks);
    }
    assert_eq!(on_error(None), Resolution::Abort);
    let long = format!("#+ON_ERROR: fallback {}", "x".repeat(2_049));
    for (line, expected) in [
        ("#+ON_ERROR: retry", "line 2: #+ON_ERROR: “retry” does not end a fault; there are skip, fallback and abort"),
        ("#+ON_ERROR:", "line 2: #+ON_ERROR: what ends a fault is missing; there are skip, fallback and abort"),
        ("#+ON_ERROR: skip it", "line 2: #+ON_ERROR: skip stands alone, without “it”; only fallback is followed by"),
        ("#+ON_ERROR: skip\n#+ON_ERROR: abort", "line 3: #+ON_ERROR: it stands there twice"),
        (long.as_str(), "line 2: #+ON_ERROR: the text of fallback has at most 2048 bytes, not 2049"),
    ] {
        let why = with(line).unwrap_err();
        assert!(why.starts_with(expected), "{why}");
    }
    let never = read("never", "#+ON_ERROR: skip\n* Mandates\nBe brief.\n").unwrap();
    assert_eq!(never.remarks, ["It has #+ON_ERROR but is never triggered, so it ends no fault."]);
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (change, expected) in [
        (("70", "high"), "line 2: #+PRIORITY: “high” is no number from 0 to 1000"),
        (("sensor:user-input", "sensor:telepathy"), "line 3: #+TRIGGER: there is no sensor “telepathy”"),
        (("words:", "wrods:"), "line 3: #+TRIGGER: “wrods:” is no condition"),
        (("shell memory-search", "shell telnet"), "line 4: #+TOOLS: there is no tool “telnet”"),
        (("| shell | *--force*  ", "| shel | *--force*  "), "no tool is called “shel”"),
        (("| deny    |", "| pass    |"), "a skill cannot pass: it can tighten"),
        (("| Never force. |", "| |"), "a rule needs a reason"),
        (("| pattern ", "| patern "), "the table needs the column “pattern”"),
        (
            ("git status          | no", "git status          | yes"),
            "the example “git status” of shell should give yes, but gives no",
        ),
        (("git push            | ask", "git push            | deny"), "should give deny, but gives ask"),
        (("| no    |", "| perhaps |"), "“perhaps” is no expectation"),
        (("tag:work", "tag"), "WHEN: “tag” is no condition"),
        (("Push carefully.\n", ""), "the prompt is empty"),
    ] {
        let text = PUSH.replacen(change.0, change.1, 1);
        assert_ne!(text, PUSH, "{change:?} changes nothing");
        let why = read("push", &text).expect_err(expected);
        assert!(why.contains(expected), "expected {expected}\nfound {why}");
    }
}

#[test]
fn lisp_is_not_run_and_said_so() {
    let text = format!("{PUSH}* Code\n#+begin_src emacs-lisp\n(delete-file \"x\")\n#+end_src\n");
    assert_eq!(read("push", &text).unwrap().remarks, ["1 Lisp block is not run in this version."]);
    let untried = PUSH.replacen("| shell | git push --force    | deny  |\n", "", 1);
    let why = read("push", &untried).expect_err("a rule without an example is kept out");
    assert!(why.starts_with("line 19: no example matches this rule"), "{why}");
}

#[test]
fn triggers() {
    let tags = ["Work".to_string()];
    let facts = SignalFacts {
        sensor: "user-input",
        text: "Now, please: push  it!",
        tags: &tags,
        todo: Some("NEXT"),
        file: Some("/m/work.org"),
    };
    for (line, expected) in [
        ("sensor:user-input", true),
        ("sensor:heartbeat,user-input", true),
        ("sensor:heartbeat", false),
        ("words:push", true),
        ("words:pus", false),
        ("words:\"push it\"", true),
        ("words:\"pull it, push it\"", true),
        ("words:\"it push\"", false),
        ("tag:work", true),
        ("tag:home", false),
        ("todo:NEXT file:work.org words:please", true),
        ("file:ork.org", false),
        ("todo:TODO", false),
    ] {
        assert_eq!(Trigger::parse(line).unwrap().matches(&facts), expected, "{line}");
    }
    for wrong in ["", "words:", "always", "words:\"x", "sensor:sight"] {
        assert!(Trigger::parse(wrong).is_err(), "{wrong}");
    }
}

fn simple(name: &str, front: &str) -> Skill {
    read(name, &format!("{front}\n* Prompt\nDo.\n")).unwrap()
}

#[test]
fn the_highest_priority_with_a_prompt_is_triggered() {
    let all = vec![
        simple("a", "#+TRIGGER: words:go\n#+PRIORITY: 20"),
        simple("c", "#+TRIGGER: words:go\n#+PRIORITY: 30"),
        simple("b", "#+TRIGGER: words:go\n#+PRIORITY: 30"),
        read("d", "#+TRIGGER: words:go\n#+PRIORITY: 90\n").unwrap(),
    ];
    let name =
        |text: &str| triggered(&all, &SignalFacts { text, ..SignalFacts::default() }).map(|skill| skill.name.clone());
    assert_eq!(name("go").as_deref(), Some("b"));
    assert_eq!(name("stay"), None);
}

#[test]
fn mandates_hold_under_their_condition() {
    let skills = [read("push", PUSH).unwrap()];
    let tags = ["work".to_string()];
    assert_eq!(mandates(&skills, &SignalFacts::default()), ["Be brief."]);
    assert_eq!(
        mandates(&skills, &SignalFacts { tags: &tags, ..SignalFacts::default() }),
        ["Be brief.", "Name the ticket."]
    );
}

#[test]
fn order_follows_needs_and_names_what_is_wrong() {
    let skills = vec![
        simple("a", "#+DEPENDS_ON: c, id:x1"),
        simple("b", ":PROPERTIES:\n:ID: x1\n:END:"),
        simple("c", "#+DEPENDS_ON: [[id:x1][b]]"),
        simple("d", "#+DEPENDS_ON: e"),
        simple("e", "#+DEPENDS_ON: f"),
        simple("f", "#+DEPENDS_ON: d"),
        simple("g", "#+DEPENDS_ON: d"),
        simple("h", "#+DEPENDS_ON: nobody"),
        simple("i", "#+DEPENDS_ON: i"),
    ];
    let ordered = order(skills);
    assert_eq!(ordered.skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["b", "c", "a"]);
    let why: Vec<String> = ordered.left_out.iter().map(|(skill, why)| format!("{}: {why}", skill.name)).collect();
    assert_eq!(
        why,
        [
            "d: d → e → f need each other in a circle",
            "e: d → e → f need each other in a circle",
            "f: d → e → f need each other in a circle",
            "g: g needs d, which was not loaded",
            "h: h needs “nobody”, and there is no such skill",
            "i: i need each other in a circle",
        ]
    );
}

fn scope() -> Scope {
    Scope {
        session: SessionId("s".to_string()),
        memex: Vec::new(),
        project: "/p".to_string(),
        home: "/h".to_string(),
        own: Vec::new(),
        permissions: BTreeMap::new(),
        private_tags: Vec::new(),
        self_build: false,
        see_private: false,
        hosts: Vec::new(),
    }
}

fn only_gate(skill: &Skill) -> Rules {
    gates(std::slice::from_ref(skill)).unwrap().pop().unwrap()
}

fn verdict(gate: &dyn Gate, tool: &str, args: serde_json::Value, facts: &Facts) -> &'static str {
    let toolbox = Toolbox::builtin();
    let args = args.as_object().unwrap().clone();
    let action = Action::new(&toolbox, tool, args, Some("a test"), Labels::MODEL).unwrap();
    let scope = scope();
    let (tool, set_off) = (toolbox.get(tool).unwrap(), Sensor::UserInput);
    gate.judge(&Case { action: &action, tool, scope: &scope, facts, set_off }).name()
}

#[test]
fn the_gate_of_a_skill_asks_and_denies() {
    let gate = only_gate(&read("push", PUSH).unwrap());
    let none = Facts::default();
    for (command, expected) in [
        ("git push", "ask"),
        ("git   push origin", "ask"),
        ("git push --force", "deny"),
        ("make --force", "deny"),
        ("ls", "pass"),
    ] {
        assert_eq!(verdict(&gate, "shell", serde_json::json!({"command": command}), &none), expected, "{command}");
    }
    assert_eq!((gate.name(), gate.priority()), ("skill push", 70));
}

#[test]
fn a_rule_for_a_path_sees_where_it_leads() {
    let text = "* Rules\n| tool | pattern | verdict | reason |\n| read-file | path: */secret/* | deny | No. |\n\
        * Examples\n| tool | example | match |\n| read-file | /m/secret/y | yes |\n";
    let gate = only_gate(&read("s", text).unwrap());
    let path = PathFact {
        arg: "path".to_string(),
        asked: "link".to_string(),
        resolved: "/m/secret/x".to_string(),
        kind: FileKind::File,
        size: 1,
        links: 1,
        content: None,
        open: false,
        form: PathForm::Plain,
        identity: None,
        folder: None,
        shared: false,
    };
    let facts = Facts { paths: vec![path], ..Facts::default() };
    assert_eq!(verdict(&gate, "read-file", serde_json::json!({"path": "link"}), &facts), "deny");
    assert_eq!(verdict(&gate, "read-file", serde_json::json!({"path": "link"}), &Facts::default()), "pass");
}

#[test]
fn tools_are_only_taken_away() {
    let skill = read("push", PUSH).unwrap();
    let toolbox = Toolbox::builtin();
    assert_eq!(
        offered(&toolbox, Some(&skill)).iter().map(|tool| tool.name).collect::<Vec<_>>(),
        ["memory-search", "shell", "message"]
    );
    assert_eq!(offered(&toolbox, None).len(), toolbox.offered().count());
    let gate = ToolsGate::new(&skill).unwrap();
    let none = Facts::default();
    assert_eq!(verdict(&gate, "shell", serde_json::json!({"command": "ls"}), &none), "pass");
    assert_eq!(verdict(&gate, "read-file", serde_json::json!({"path": "x"}), &none), "deny");
    assert_eq!(verdict(&gate, "message", serde_json::json!({"text": "x"}), &none), "pass");
}

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("skills")
}

#[test]
fn every_shipped_skill_loads_and_every_rule_has_an_example() {
    let loaded = load(&[shipped()]);
    let bad: Vec<_> =
        loaded.reports.iter().filter(|r| r.state != SkillState::Loaded || !r.remarks.is_empty()).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    let mut names: Vec<&str> = loaded.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names.first(), Some(&"policy"), "the others need it");
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "archivist",
            "dispatcher",
            "event-orchestrator",
            "organize-subtree",
            "permissions",
            "policy",
            "validator",
            "vault",
            "weekly-review"
        ]
    );
    let facts = |text| SignalFacts { sensor: "user-input", text, ..SignalFacts::default() };
    assert_eq!(triggered(&loaded.skills, &facts("do my weekly review")).unwrap().name, "weekly-review");
    assert_eq!(triggered(&loaded.skills, &facts("organise this subtree please")).unwrap().name, "organize-subtree");
    assert!(triggered(&loaded.skills, &facts("what is due?")).is_none());
}

#[test]
fn mandatory_skills_cannot_be_absent() {
    let folder = tempfile::tempdir().unwrap();
    let names = |loaded: &passepartout::edge::skills::Loaded| {
        loaded.skills.iter().map(|skill| skill.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&load(&[folder.path().join("nowhere")])), ["policy", "dispatcher"]);
    fs::write(folder.path().join("policy.org"), "#+PRIORITY: none\n").unwrap();
    fs::write(folder.path().join("dispatcher.org"), "#+DEPENDS_ON: nobody\n").unwrap();
    let loaded = load(&[folder.path().to_path_buf()]);
    let mut present = names(&loaded);
    present.sort();
    assert_eq!(present, ["dispatcher", "policy"]);
    assert!(!loaded.skills.iter().find(|skill| skill.name == "dispatcher").unwrap().rules.is_empty());
    let failed = loaded.reports.iter().filter(|report| report.state != SkillState::Loaded).count();
    assert_eq!(failed, 2, "{:#?}", loaded.reports);
}

#[test]
fn a_bad_file_keeps_no_other_out() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let put =
        |folder: &tempfile::TempDir, name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    put(&first, "good.org", b"#+TITLE: Good\n");
    put(&first, "binary.org", &[0xff, 0xfe, 0x00]);
    put(&first, "large.org", &vec![b'x'; 300 * 1024]);
    put(&first, "README.org", b"#+PRIORITY: none\n");
    put(&first, ".#good.org", b"x");
    put(&second, "good.org", b"#+TITLE: Second\n");
    fs::create_dir(first.path().join("folder.org")).unwrap();
    let loaded = load(&[first.path().to_path_buf(), second.path().to_path_buf()]);
    let said = |name: &str| {
        let found = loaded.reports.iter().filter(|report| report.name == name);
        found.map(|report| format!("{:?}", report.state)).collect::<Vec<_>>().join("\n")
    };
    assert!(said("good").contains("Loaded") && said("good").contains("already loaded from"), "{}", said("good"));
    assert!(said("binary").contains("not UTF-8 at byte 0"), "{}", said("binary"));
    assert!(said("large").contains("at most 256 kB"), "{}", said("large"));
    assert!(said("folder").contains("no regular file"), "{}", said("folder"));
    assert_eq!(said("README"), "");
    assert_eq!(loaded.skills.iter().find(|skill| skill.name == "good").unwrap().title, "Good");
}

proptest! {
    #[test]
    fn any_text_is_a_skill_or_a_problem(text in "(\\* |#\\+|\\||Rules|Prompt|TOOLS: |[a-z:\" \n]){0,40}") {
        let _ = read("any", &text);
    }
}
