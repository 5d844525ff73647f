//! Canaries that hold, and that turn red when a rule answers too much.

use super::*;
use crate::domain::gate::facts::{CommandFact, ScriptFact, ShellFact};
use crate::domain::id::SessionId;
use crate::domain::policy::learned::{Shape, answerable, seen};

fn scope() -> Scope {
    Scope {
        session: SessionId("s".to_string()),
        memex: vec!["/m".to_string()],
        project: "/p".to_string(),
        home: "/home/u".to_string(),
        own: vec!["/home/u/.config/passepartout".to_string()],
        permissions: Default::default(),
        private_tags: vec!["private".into()],
        held: Default::default(),
        self_build: false,
        may_see: Privacy::Open,
        hosts: Vec::new(),
    }
}

fn rule(tool: &str, words: &[&str], place: &str) -> Learned {
    let words = words.iter().map(|word| word.to_string()).collect();
    let shape = Shape { tool: tool.to_string(), words };
    Learned { shape, place: place.to_string(), until: jiff::Timestamp::MAX, uses: 9 }
}

fn rules() -> [Learned; 6] {
    [
        rule("org-set-todo", &["id", "state=DONE"], "/m/a.org"),
        rule("org-set-tags", &["id", "tags"], "/m/a.org"),
        rule("org-add-heading", &["body", "file", "title"], "/m/a.org"),
        rule("write-file", &["content", "name=*.txt", "path"], "/p/notes"),
        // Beside the project and guarded: approved three times by its very name.
        rule("write-file", &["content", "name=/q/Makefile", "path"], "/q"),
        rule("shell", &["ls", "-l", "<path>"], "/p"),
    ]
}

fn made(rule: &Learned) -> (Sample, Scope) {
    let tool = Toolbox::builtin().get(&rule.shape.tool).expect("it is there");
    let mut sample = sample(rule, tool).expect("its shape can be made");
    if tool.effect == Effect::Execute {
        let word = |text: &str| Word { raw: text.to_string(), value: Some(text.to_string()), ..Word::default() };
        let file = Word { resolved: vec!["/p/canary.txt".to_string()], ..word("canary.txt") };
        let command = CommandFact { words: vec![word("ls"), word("-l"), file], ..CommandFact::default() };
        let text = sample.args["command"].as_str().expect("a command").to_string();
        assert_eq!(text, "'ls' '-l' canary.txt");
        let script = ScriptFact { text, commands: vec![command], ..ScriptFact::default() };
        sample.facts.shell = Some(ShellFact { scripts: vec![script], ..ShellFact::default() });
    }
    (sample, ground(rule, tool, &scope()))
}

#[test]
fn a_rule_lets_pass_what_it_was_learned_for_and_no_canary() {
    for rule in rules() {
        let (sample, scope) = made(&rule);
        let tried = tried(&sample, &scope, &Toolbox::builtin(), &|case, trace| rule.answers(case, trace));
        assert_eq!(tried.open, [""; 0], "{}", rule.words());
        assert!(tried.count >= 16, "{} {}", tried.count, rule.words());
    }
}

/// Returns what turns red when a rule answers by this alone.
fn red(rule: &Learned, answers: &dyn Fn(&Case<'_>, &Trace) -> bool) -> Vec<String> {
    let (sample, scope) = made(rule);
    tried(&sample, &scope, &Toolbox::builtin(), answers).open
}

#[test]
fn a_rule_that_answers_too_much_turns_canaries_red() {
    for rule in rules() {
        let fits =
            |case: &Case<'_>| seen(case.action, case.tool, case.scope, case.facts).is_some_and(|seen| rule.fits(&seen));
        let found = red(&rule, &|case, _| fits(case));
        for what in [
            "a private heading",
            "what text from outside led to",
            "words of a private note",
            "what is not all known",
            "what is not certain",
            "what cannot be undone",
            "a heading that cannot be read",
        ] {
            assert!(found.iter().any(|open| open == what), "{what}: {found:?} {}", rule.words());
        }
        let files = rule.shape.tool == "write-file";
        let notes = rule.shape.tool.starts_with("org-");
        for (what, expected) in [
            ("a line that rules", files || notes),
            ("a heading that leaves what rules it", notes),
            ("a heading that is private no longer", notes),
            ("fewer walls", rule.shape.tool == "shell"),
        ] {
            assert_eq!(found.iter().any(|open| open == what), expected, "{what}: {found:?} {}", rule.words());
        }
        // The other half: one that answers whatever may be answered, wherever it is.
        let found = red(&rule, &|case, trace| answerable(case, trace));
        for (what, expected) in [
            ("another place", files || notes),
            ("a file that runs by itself", files),
            ("a second command", rule.shape.tool == "shell"),
        ] {
            assert_eq!(found.iter().any(|open| open == what), expected, "{what}: {found:?} {}", rule.words());
        }
    }
}

#[test]
fn what_cannot_be_tried_counts_as_open() {
    let write = Toolbox::builtin().get("write-file").expect("it is there");
    let why = sample(&rule("write-file", &["colour"], "/p"), write).expect_err("there is no such argument");
    assert!(why.contains("has no argument “colour”"), "{why}");
    // Without its content it is no action.
    let open = red(&rule("write-file", &["name=*.txt", "path"], "/p"), &|_, _| false);
    let (first, rest) = open.split_first().expect("nothing could be tried");
    assert!(first.starts_with("what it was learned for does not pass by it"), "{first}");
    assert!(rest.len() > 10 && rest.iter().all(|open| open.contains("it could not be tried")), "{rest:?}");
}
