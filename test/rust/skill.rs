//! Skills: reading, examples, triggers, order, gates, and those that ship.

use crate::support::skills::load;
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
use passepartout::domain::skill::lisp::Role;
use passepartout::domain::skill::order::order;
use passepartout::domain::skill::parse::parse;
use passepartout::domain::skill::trigger::{SignalFacts, Trigger};
use passepartout::domain::skill::{Skill, mandates, offered, on_error, triggered};
use passepartout::domain::tool::Toolbox;
use passepartout::domain::turn::error::Resolution;
use passepartout::edge::skills::{Loaded, SkillState};
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
        (("* Mandates", "* Prompt\nMore.\n* Mandates"), "line 8: this is a second heading “Prompt”"),
        (("#+PRIORITY: 70", "#+PRIORITY: 70\n#+PRIORITY: 7"), "line 3: #+PRIORITY: it stands there twice"),
        (("#+TOOLS: ", "#+TOOL: "), "line 4: #+TOOL: this is not read; if #+TOOLS is meant, write that"),
        (("#+TOOLS: ", "#+TOOLS "), "line 4: #+TOOLS: it is not read without its colon"),
        (("* Mandates", "* Notes\n#+TOOLS: shell\n* Mandates"), "line 9: #+TOOLS: it stands below a heading"),
        (("command: git push*", "comand: git push*"), "shell has no argument “comand”; its arguments are command"),
        (("| shell | command: git push*", "| * | stat: git push*"), "no tool has an argument “stat”"),
    ] {
        let text = PUSH.replacen(change.0, change.1, 1);
        assert_ne!(text, PUSH, "{change:?} changes nothing");
        let why = read("push", &text).expect_err(expected);
        assert!(why.contains(expected), "expected {expected}\nfound {why}");
    }
}

#[test]
fn lisp_without_a_name_is_for_people_and_of_gates_there_is_one() {
    let block = |name: &str, code: &str| format!("{name}#+begin_src emacs-lisp\n{code}\n#+end_src\n");
    let with = |blocks: &[String]| read("push", &format!("{PUSH}* Code\n{}", blocks.concat()));
    let skill = with(&[block("", "(delete-file \"x\")"), block("#+NAME: other\n", "1")]).unwrap();
    assert_eq!(skill.remarks, ["2 Lisp blocks have no name that says what for, so nobody runs them."]);
    assert!(skill.lisp.blocks.is_empty());
    let shared = |n: usize| block("#+name: definitions\n", &format!("(setq x {n})\n,* not a heading"));
    let gate = block("#+NAME: Gate\n", "(lambda (_) 'pass)");
    let skill = with(&[shared(1), gate.clone(), shared(2)]).unwrap();
    assert!(skill.remarks.is_empty(), "{:?}", skill.remarks);
    assert_eq!(skill.lisp.code(Role::Gate), Some("(lambda (_) 'pass)"));
    let all: Vec<&str> = skill.lisp.all(Role::Definitions).collect();
    assert_eq!(all, ["(setq x 1)\n* not a heading", "(setq x 2)\n* not a heading"]);
    let why = with(&[gate.clone(), gate]).expect_err("nobody knows which counts");
    assert!(why.contains("a second block named “gate”"), "{why}");
    let why = with(&[block("#+NAME: gate\n", &"x".repeat(70_000))]).expect_err("it is too large");
    assert!(why.contains("Lisp is larger than 64 kB"), "{why}");
}

#[test]
fn what_is_nearly_right_is_told_and_what_is_not_meant_is_let_be() {
    let check = |from: &str, to: &str, remark: &str| {
        let text = PUSH.replacen(from, to, 1);
        assert_ne!(text, PUSH, "{from}");
        let skill = read("push", &text).unwrap();
        let said = skill.remarks.join("\n");
        assert_eq!((said.contains(remark), said.is_empty()), (true, remark.is_empty()), "{to}: {said}");
        skill
    };
    let lisp = |name: &str| format!("* Code\n#+NAME: {name}\n#+begin_src elisp\n1\n#+end_src\n* Mandates");
    for (from, to, remark) in [
        ("#+PRIORITY", "#+PRIORTY", "Line 2: #+PRIORTY: this is not read; if #+PRIORITY is meant, write that."),
        ("#+PRIORITY: 70", "#+DEPENDS: policy", "if #+DEPENDS_ON is meant"),
        ("#+PRIORITY: 70", "#+ON-ERROR: skip", "if #+ON_ERROR is meant"),
        ("#+TRIGGER", "#+TRIGER", "Line 3: #+TRIGER: this is not read"),
        ("* Mandates", "* Notes\n#+PRIORITY: 1\n* Mandates", "Line 9: #+PRIORITY: it stands below a heading"),
        ("* Mandates", "* Mandate", "Line 8: the heading “Mandate” is not read; if “Mandates” is meant, write that."),
        ("* Rules\n", "* Prompts\nx\n* Rules\n", "if “Prompt” is meant"),
        ("Name the ticket.", "Name it.\n*** Deep\nGone.", "a heading below a single mandate is told to nobody"),
        ("* Mandates", lisp("handlr").as_str(), "the block “handlr” is not run; if “handler” is meant, write that."),
        ("* Mandates", "* COMMENT Mandate\n#+TOOLS: shell\n* Mandates", ""),
        ("#+PRIORITY: 70", "#+PRIORITIES: A C B\n#+TODO: A B\n#+FILETAGS: :x:", ""),
        ("#+PRIORITY: 70", "#+begin_example\n#+TOOLS: nothing\n#+end_example", ""),
        ("* Mandates", "* Notes\n#+begin_example\n#+TOOLS: nothing\n#+end_example\n* Mandates", ""),
        ("** In work", "** COMMENT In work", ""),
    ] {
        check(from, to, remark);
    }
    let texts = |skill: Skill| skill.mandates.into_iter().map(|mandate| mandate.text).collect::<Vec<_>>();
    assert_eq!(texts(check("** In work", "** COMMENT In work", "")), ["Be brief."]);
    let code = "Be brief.\n# a remark\n#+begin_src sh\n# make it\nmake\n#+end_src";
    let skill = check("Be brief.", code, "");
    assert_eq!(texts(skill)[0], "Be brief.\n#+begin_src sh\n# make it\nmake\n#+end_src");
    let hidden = "carefully.\n** COMMENT Old\nPull.\n*** And this\nNo.\n** Then\nWait.";
    assert_eq!(check("carefully.", hidden, "").prompt.as_deref(), Some("Push carefully.\n** Then\nWait."));
    assert_eq!(check("** Examples", "** COMMENT Old\n*** Examples\nNone.\n** Examples", "").rules.len(), 2);
}

#[test]
fn a_rule_without_an_example_is_kept_out() {
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
    let other = SignalFacts { sensor: "heartbeat", ..facts };
    assert!(!Trigger::parse("sensor:user-input").unwrap().matches(&other));
    assert!(Trigger::parse("words:please").unwrap().matches(&other));
    // What is quoted asks for nothing.
    for (text, expected) in [
        ("weekly review, please", true),
        ("Answer this:\n> a weekly review\nand that", false),
        ("#+begin_quote\nweekly review\n#+end_quote\nWhat does he want?", false),
        ("```\nweekly review\n```\nweekly review", true),
    ] {
        let asked = SignalFacts { text, ..other };
        assert_eq!(Trigger::parse("words:\"weekly review\"").unwrap().matches(&asked), expected, "{text}");
    }
    // A command of the user is only for who names it.
    let command = SignalFacts { sensor: "user-command", ..facts };
    assert!(!Trigger::parse("words:please").unwrap().matches(&command));
    assert!(Trigger::parse("sensor:user-command words:please").unwrap().matches(&command));
    for wrong in ["", "words:", "always", "words:\"x", "sensor:sight", "sensor:user-input,loop-error"] {
        assert!(Trigger::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_trigger_names_only_sensors_that_set_off_turns() {
    for sensor in Sensor::ALL {
        let read = Trigger::parse(&format!("sensor:{}", sensor.name()));
        let sets_off = [Sensor::UserInput, Sensor::Schedule, Sensor::Hook, Sensor::ChatMessage, Sensor::UserCommand];
        assert_eq!(read.is_ok(), sets_off.contains(&sensor), "{sensor:?}");
        if let Err(why) = read {
            let names = "user-input, schedule, hook, chat-message, user-command";
            assert!(why.ends_with(&format!("so this would never hold; a trigger can name {names}")), "{why}");
        }
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
    let names = |text: &str| -> Vec<String> {
        let found = triggered(&all, &SignalFacts { text, ..SignalFacts::default() });
        found.into_iter().map(|skill| skill.name.clone()).collect()
    };
    assert_eq!(names("go"), ["b", "c", "a"]);
    assert!(names("stay").is_empty());
}

#[test]
fn mandates_hold_under_their_condition() {
    let skills = [read("push", PUSH).unwrap()];
    let tags = ["work".to_string()];
    let texts = |facts: &SignalFacts<'_>| -> Vec<String> {
        mandates(&skills, facts).map(|(_, mandate)| mandate.text.clone()).collect()
    };
    assert_eq!(texts(&SignalFacts::default()), ["Be brief."]);
    assert_eq!(texts(&SignalFacts { tags: &tags, ..SignalFacts::default() }), ["Be brief.", "Name the ticket."]);
}

#[test]
fn order_follows_needs_and_names_what_is_wrong() {
    let skills = vec![
        simple("a", "#+DEPENDS_ON: c, id:x1"),
        simple("b", ":PROPERTIES:\n:ID: x1\n:END:"),
        simple("c", "#+DEPENDS_ON: [[id:x1][the other one]], a0"),
        simple("a0", ""),
        simple("d", "#+DEPENDS_ON: e"),
        simple("e", "#+DEPENDS_ON: f"),
        simple("f", "#+DEPENDS_ON: d"),
        simple("g", "#+DEPENDS_ON: d"),
        simple("h", "#+DEPENDS_ON: nobody"),
        simple("i", "#+DEPENDS_ON: i"),
    ];
    let ordered = order(skills);
    assert_eq!(ordered.skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["a0", "b", "c", "a"]);
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

/// Returns what a turn without notes may see and touch.
pub fn scope() -> Scope {
    Scope {
        session: SessionId("s".to_string()),
        memex: Vec::new(),
        project: "/p".to_string(),
        home: "/h".to_string(),
        own: Vec::new(),
        permissions: BTreeMap::new(),
        private_tags: Vec::new(),
        held: Default::default(),
        self_build: false,
        may_see: passepartout::domain::label::Privacy::ELSEWHERE,
        hosts: Vec::new(),
    }
}

fn only_gate(skill: &Skill) -> Rules {
    gates(std::slice::from_ref(skill)).0.pop().unwrap()
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
    let names = |skill: &Skill| offered(&toolbox, Some(skill)).iter().map(|tool| tool.name).collect::<Vec<_>>();
    let all = Skill { tools: None, ..skill.clone() };
    assert!(!names(&all).contains(&"lisp-edit"), "what no skill lists stands in no prompt");
    let lists = Skill { tools: Some(["lisp-edit", "restore"].map(str::to_string).into()), ..skill.clone() };
    assert_eq!(names(&lists), ["message", "lisp-edit"], "and what only the user may ask for in none");
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
            "config",
            "context-manager",
            "dispatcher",
            "event-orchestrator",
            "help",
            "inbox",
            "memory",
            "organize-subtree",
            "permissions",
            "policy",
            "programming",
            "providers",
            "reflection",
            "self-improve",
            "setup",
            "standards",
            "task-integrity",
            "validator",
            "vault",
            "weekly-review"
        ]
    );
    let facts = |text| SignalFacts { sensor: "user-input", text, ..SignalFacts::default() };
    assert_eq!(triggered(&loaded.skills, &facts("do my weekly review"))[0].name, "weekly-review");
    assert_eq!(triggered(&loaded.skills, &facts("organise this subtree please"))[0].name, "organize-subtree");
    assert_eq!(triggered(&loaded.skills, &facts("please rename that defun"))[0].name, "programming");
    assert!(triggered(&loaded.skills, &facts("what is due?")).is_empty());
    // What a shipped skill names is there.
    let (tools, builtin) = (loaded.skills.iter().filter_map(|skill| skill.tools.as_ref()), Toolbox::builtin());
    let unknown: Vec<&String> = tools.flatten().filter(|name| builtin.get(name).is_none()).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn what_is_said_triggers_the_skill_that_is_meant_and_what_only_sounds_like_it_none() {
    let loaded = load(&[shipped()]);
    for (said, skill) in [
        ("Sort my inbox, please.", "inbox"),
        ("could you go through my inbox?", "inbox"),
        ("INBOX ZERO!", "inbox"),
        ("reflect on my notes", "reflection"),
        ("Suggest some links between what I wrote", "reflection"),
        ("which notes belong together?", "reflection"),
        ("How does Passepartout keep secrets?", "help"),
        ("what does the passepartout manual say of plans?", "help"),
        ("can Passepartout read my mail?", "help"),
        ("give me a memory report", "memory"),
        ("what changed since Tuesday?", "memory"),
        ("how many notes are there?", "memory"),
        ("narrow your focus to the boat", "context-manager"),
        ("what are you looking at?", "context-manager"),
        ("Forget the focus.", "context-manager"),
        ("help me set up Passepartout", "setup"),
        ("How do I configure passepartout for ollama?", "setup"),
        ("first steps with Passepartout?", "setup"),
        ("what does M-x passepartout-setup ask?", "setup"),
        ("do my weekly review", "weekly-review"),
        // What is quoted asks for nothing, and neither do words that only begin alike.
        ("What is due?\n> sort my inbox\n> set up passepartout", ""),
        ("#+begin_quote\nsuggest links\n#+end_quote\nWho wrote this?", ""),
        ("my inboxes are full of mail", ""),
        ("is there an inbox in the hall?", ""),
        ("help me with the boat", ""),
        ("set up the tent", ""),
        ("I have a good memory, and a report to write", ""),
        ("she lost her focus", ""),
        ("the links of the chain are rusty", ""),
        ("how many boats are there?", ""),
        ("", ""),
    ] {
        let facts = SignalFacts { sensor: "user-input", text: said, ..SignalFacts::default() };
        let found = triggered(&loaded.skills, &facts);
        assert_eq!(found.first().map_or("", |skill| skill.name.as_str()), skill, "{said}");
        // What nobody said sets none of them off.
        let elsewhere = SignalFacts { sensor: "schedule", ..facts };
        assert!(triggered(&loaded.skills, &elsewhere).is_empty(), "{said}");
    }
}

#[test]
fn standing_rules_are_told_where_what_is_said_fits_them() {
    let loaded = load(&[shipped()]);
    let told = |said: &str| {
        let facts = SignalFacts { sensor: "user-input", text: said, ..SignalFacts::default() };
        let of = |name: &str| mandates(&loaded.skills, &facts).filter(|(skill, _)| skill.name == name).count();
        (of("standards"), of("setup"))
    };
    for (said, expected) in [
        ("fix the crash in the parser", (1, 0)),
        ("refactor the parser", (1, 0)),
        ("implement the feature, and mend the bug", (2, 0)),
        ("where do I put my API key?", (0, 1)),
        ("what is due?", (0, 0)),
        ("the prefix of the fixture", (0, 0)),
        ("where is the key of the house?", (0, 0)),
    ] {
        assert_eq!(told(said), expected, "{said}");
    }
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

/// What a gate stack says of an act; the strictest counts.
fn judged(loaded: &Loaded, tool: &str, args: serde_json::Value) -> &'static str {
    let gates = loaded.gates();
    let of_skills = gates.iter().filter(|gate| gate.name().starts_with("skill ") || gate.name().ends_with(": unread"));
    let all = of_skills.map(|gate| verdict(gate, tool, args.clone(), &Facts::default()));
    all.max_by_key(|word| ["pass", "ask", "deny"].iter().position(|known| known == word)).unwrap_or("pass")
}

const NO_PUSH: &str = "\
#+TITLE: No push
* Rules
| tool  | pattern             | verdict | reason       |
|-------+---------------------+---------+--------------|
| shell | command: git push*  | deny    | Others see it. |
** Examples
| tool  | example             | match |
|-------+---------------------+-------|
| shell | git push            | deny  |
| shell | git status          | no    |
";

/// A skill of the user that cannot be used must not leave what it forbids to the built-in gates.
#[test]
fn rules_that_cannot_be_used_ask_in_whatever_way_they_are_broken() {
    let with = |from: &str, to: &str| {
        let text = NO_PUSH.replacen(from, to, 1);
        assert_ne!(text, NO_PUSH);
        text.into_bytes()
    };
    let broken: Vec<(&str, Vec<u8>, &str, &str)> = vec![
        (
            "a typo in the front",
            with("* Rules", "#+ON_ERROR: retry\n* Rules"),
            "push.org: line 2: #+ON_ERROR: “ret",
            "deny",
        ),
        ("a bad trigger", with("* Rules", "#+TRIGGER: sensor:loop-error\n* Rules"), "line 2: #+TRIGGER", "deny"),
        ("an empty prompt", with("* Rules", "* Prompt\n* Rules"), "line 2: the prompt is empty", "deny"),
        ("a typo in a rule", with("| shell | command", "| shel | command"), "line 5: no tool is called “shel”", "ask"),
        ("a typo in a column", with("verdict", "verdikt"), "line 5: the table needs the column “verdict”", "ask"),
        ("a typo in the heading", with("* Rules", "* Ruels"), "line 3: this table of rules is not read", "ask"),
        (
            "a second table",
            with("** Examples", "\n| tool | pattern | verdict | reason |\n| shell | rm* | deny | No. |\n** Examples"),
            "line 7: this table of rules is not read",
            "deny",
        ),
        ("a deeper heading", with("* Rules", "* Mine\n** Rules"), "line 4: this table of rules is not read", "ask"),
        (
            "a failed example",
            with("git push            | deny ", "git push            | ask "),
            "line 9: the example “git push”",
            "deny",
        ),
        ("no example", with("| shell | git push            | deny  |\n", ""), "line 5: no example matches", "deny"),
        (
            "an unknown tool in an example",
            with("| shell | git status", "| shel | git status"),
            "line 10: no tool is called “shel”",
            "deny",
        ),
        (
            "a rule beside one that cannot be read",
            with("** Examples", "| shel | x | deny | No. |\n** Examples"),
            "line 6: no tool is called “shel”",
            "deny",
        ),
        (
            "a line above the table, below another heading",
            with("* Rules\n", "* Restrictions\n|---+---|\n"),
            "line 4: this table of rules is not read",
            "ask",
        ),
        (
            "a block without an end",
            with("* Rules", "* Notes\n#+begin_example\n* Ruels"),
            "line 5: this table of rules is not read",
            "ask",
        ),
        ("all tools left by a slip", with("* Rules", "#+TOOL: memory-search\n* Rules"), "if #+TOOLS is meant", "deny"),
        (
            "a gate by a slip",
            with("* Rules", "* Code\n#+NAME: gates\n#+begin_src elisp\n(lambda (_) 'pass)\n#+end_src\n* Rules"),
            "line 5: the block “gates” is not run; if “gate” is meant",
            "deny",
        ),
        ("too large", with("* Rules", &format!("{}\n* Rules", "x".repeat(256 * 1024))), "at most 256 kB", "ask"),
        ("not UTF-8", [b"\xff", NO_PUSH.as_bytes()].concat(), "not UTF-8 at byte 0", "ask"),
        (
            "an unknown dependency",
            with("* Rules", "#+DEPENDS_ON: nobody\n* Rules"),
            "needs “nobody”, and there is no",
            "deny",
        ),
        ("a circular dependency", with("* Rules", "#+DEPENDS_ON: push\n* Rules"), "in a circle", "deny"),
    ];
    let check = |folder: &Path, what: &str, why: &str, push: &str| {
        let loaded = load(&[folder.to_path_buf()]);
        let words: Vec<String> = loaded.unread.iter().map(|unread| unread.words()).collect();
        assert!(words.len() == 1 && words[0].contains(why), "{what}: {words:?}");
        let state = loaded.reports.iter().find(|report| report.name == "push").map(|report| &report.state);
        assert!(matches!(state, Some(SkillState::Unread(_))), "{what}: {state:?}");
        let shell = |command: &str| judged(&loaded, "shell", serde_json::json!({ "command": command }));
        assert_eq!((shell("git push"), shell("ls")), (push, "ask"), "{what}");
        let write = serde_json::json!({"path": "x", "content": "y"});
        assert_eq!(judged(&loaded, "write-file", write), "ask", "{what}");
        assert_eq!(judged(&loaded, "read-file", serde_json::json!({"path": "x"})), "pass", "{what}");
        assert_eq!(judged(&loaded, "memory-search", serde_json::json!({"query": "x"})), "pass", "{what}");
        assert_eq!(judged(&loaded, "message", serde_json::json!({"text": "x"})), "pass", "{what}");
        assert_eq!(loaded.gates().missing().count(), 0, "{what}");
    };
    for (what, bytes, why, push) in broken {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("push.org"), bytes).unwrap();
        check(folder.path(), what, why, push);
    }
    // A link that leads nowhere: nobody knows what stood there.
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(folder.path().join("gone"), folder.path().join("push.org")).unwrap();
    check(folder.path(), "unreadable", "push.org: it cannot be read", "ask");

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("push.org"), NO_PUSH).unwrap();
    let good = load(&[folder.path().to_path_buf(), folder.path().to_path_buf()]);
    assert_eq!((&good.unread[..], judged(&good, "shell", serde_json::json!({"command": "ls"}))), (&[][..], "pass"));
    assert_eq!(judged(&good, "shell", serde_json::json!({"command": "git push"})), "deny");
}

#[test]
fn a_name_that_is_taken_and_a_folder_that_cannot_be_read_ask_too() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(first.path().join("push.org"), "#+TITLE: Another\n").unwrap();
    fs::write(second.path().join("push.org"), NO_PUSH).unwrap();
    let loaded = load(&[first.path().to_path_buf(), second.path().to_path_buf()]);
    assert!(loaded.unread[0].words().contains("already loaded from"), "{:?}", loaded.unread);
    assert_eq!(judged(&loaded, "shell", serde_json::json!({"command": "git push"})), "deny");
    assert_eq!(judged(&loaded, "shell", serde_json::json!({"command": "ls"})), "ask");

    let file = first.path().join("push.org");
    let loaded = load(std::slice::from_ref(&file));
    assert!(loaded.unread[0].words().starts_with("the rules of the skills folder are not in force"), "{loaded:?}");
    assert_eq!(judged(&loaded, "shell", serde_json::json!({"command": "ls"})), "ask");
}

#[test]
fn a_skill_without_rules_is_only_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let texts = [
        ("typo", "#+ON_ERROR: retry\n* Prompt\nPush.\n"),
        ("lonely", "#+DEPENDS_ON: nobody\n* Prompt\nPush.\n| verb | meaning |\n"),
        ("wordy", "#+PRIORITY: none\n* Notes\nThe verdict stands in no table, nor do rules.\n"),
    ];
    for (name, text) in texts {
        fs::write(folder.path().join(name).with_extension("org"), text).unwrap();
    }
    let loaded = load(&[folder.path().to_path_buf()]);
    assert_eq!(loaded.unread, []);
    let failed = loaded.reports.iter().filter(|report| matches!(report.state, SkillState::Failed(_))).count();
    assert_eq!((failed, judged(&loaded, "shell", serde_json::json!({"command": "ls"}))), (texts.len(), "pass"));
}

#[test]
fn a_slip_in_a_skill_that_narrows_its_turns_asks_as_taking_it_out_does() {
    let block = |name: &str| format!("* Code\n#+NAME: {name}\n#+begin_src emacs-lisp\n(lambda (_) nil)\n#+end_src\n");
    let front = "#+TRIGGER: words:deploy\n";
    for (what, text, asks) in [
        ("tools", format!("{front}#+TOOLS: memory-search\n* Prompt\nDeploy.\n"), true),
        ("tools in lower case", format!("{front}#+tools: none\n* Prompt\nDeploy.\n"), true),
        ("nearly tools", format!("{front}#+TOOL: memory-search\n* Prompt\nDeploy.\n"), true),
        ("refine", format!("{front}* Prompt\nDeploy.\n{}", block("refine")), true),
        ("nearly refine", format!("{front}* Prompt\nDeploy.\n{}", block("refien")), true),
        ("a handler", format!("{front}* Prompt\nDeploy.\n{}", block("handler")), false),
        ("a prompt", format!("{front}* Prompt\nDeploy with few tools.\n"), false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("deploy.org"), format!("#+PRIORITY: x\n{text}")).unwrap();
        let loaded = load(&[folder.path().to_path_buf()]);
        let expected = if asks { "ask" } else { "pass" };
        assert_eq!(judged(&loaded, "shell", serde_json::json!({"command": "ls"})), expected, "{what}");
        let report = loaded.reports.iter().find(|report| report.name == "deploy").unwrap();
        assert_eq!(matches!(report.state, SkillState::Unread(_)), asks, "{what}: {:?}", report.state);
    }
}

#[test]
fn a_table_of_rules_for_people_is_no_mistake() {
    let table = "| tool | pattern | verdict | reason |\n| shell | x | deny | No. |\n";
    for text in [
        format!("* Prompt\nWrite such a table:\n#+begin_example\n{table}#+end_example\n"),
        format!("* COMMENT Rules\n{table}"),
        format!("* COMMENT Old\n** Rules\n{table}"),
        "* Notes\n| verdict | meaning |\n| deny | it must not happen |\n".to_string(),
    ] {
        assert_eq!(read("s", &text).map(|skill| skill.rules.len()), Ok(0), "{text}");
    }
    assert!(read("s", &format!("* Notes\n{table}")).unwrap_err().starts_with("line 2: this table of rules"));
}

#[test]
fn rules_whose_examples_do_not_hold_ask() {
    let mut skill = read("push", NO_PUSH).unwrap();
    skill.rules[0].matches = vec!["git status".to_string()];
    let (rules, unread) = gates(&[skill]);
    assert!(rules.is_empty() && unread[0].words().contains("does not match its own example “git status”"));
    assert_eq!(verdict(&unread[0], "shell", serde_json::json!({"command": "ls"}), &Facts::default()), "ask");
}

proptest! {
    #[test]
    fn any_text_is_a_skill_or_a_problem(text in "(\\* |#\\+|\\||Rules|Prompt|TOOLS: |[a-z:\" \n]){0,40}") {
        let _ = read("any", &text);
    }
}
