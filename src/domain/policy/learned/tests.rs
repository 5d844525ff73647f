//! What a rule may answer, tried on every kind of objection.

use super::*;
use crate::domain::gate::clearance::{Judgement, judge};
use crate::domain::gate::facts::{CommandFact, EditFact, Identity, PathFact, ShellFact, Word};
use crate::domain::gate::{Gate, Gates, Reason, standard::standard};
use crate::domain::id::SessionId;
use crate::domain::label::Labels;
use crate::domain::scope::Level;
use crate::domain::signal::Sensor;
use crate::domain::tool::Toolbox;
use proptest::prelude::*;
use serde_json::{Value, json};

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
        self_build: true,
        may_see: Privacy::Private,
        hosts: Vec::new(),
    }
}

fn action(tool: &str, args: Value, labels: Labels) -> Action {
    let args = args.as_object().cloned().expect("an object");
    let why = Some("The user asked for exactly this.");
    Action::new(&Toolbox::builtin(), tool, args, why, labels).expect("a test's own action is well-formed")
}

fn written(path: &str, content: &str) -> (Action, Facts) {
    let fact = PathFact {
        arg: "path".to_string(),
        asked: path.to_string(),
        resolved: path.to_string(),
        kind: crate::domain::gate::facts::FileKind::Missing,
        size: 0,
        links: 0,
        content: None,
        open: false,
        form: PathForm::Plain,
        shared: false,
        identity: None::<Identity>,
        folder: None,
    };
    let edit = EditFact {
        file: path.to_string(),
        before: None,
        after: content.into(),
        diff: String::new(),
        by_setup: Default::default(),
    };
    let facts = Facts { paths: vec![fact], edits: vec![edit], ..Facts::default() };
    (action("write-file", json!({ "path": path, "content": content }), Labels::USER), facts)
}

fn rule_for(action: &Action, facts: &Facts) -> Learned {
    let tool = Toolbox::builtin().get(action.tool()).expect("a tool");
    let seen = seen(action, tool, &scope(), facts).expect("it has a shape");
    Learned { shape: seen.shape, place: seen.place, until: jiff::Timestamp::MAX, uses: 10 }
}

/// Returns `pass`, `rule`, `ask` or `deny`.
fn verdict(gates: &Gates, action: &Action, facts: &Facts, scope: &Scope) -> &'static str {
    let tool = Toolbox::builtin().get(action.tool()).expect("a tool");
    match judge(gates, Case { action, tool, scope, facts, set_off: Sensor::UserInput }, None) {
        Judgement::Cleared(cleared) if cleared.rule().is_some() => "rule",
        Judgement::Cleared(_) => "pass",
        Judgement::Parked(_) => "ask",
        Judgement::Rejected(_) => "deny",
    }
}

struct Says(&'static str, u8);

impl Gate for Says {
    fn name(&self) -> &str {
        self.0
    }

    fn priority(&self) -> u16 {
        1
    }

    fn judge(&self, _: &Case<'_>) -> Verdict {
        match self.1 {
            0 => Verdict::pass(),
            1 => Verdict::Ask(Reason::new("It asks.")),
            _ => Verdict::Deny(Reason::new("It denies.")),
        }
    }
}

#[test]
fn a_rule_answers_its_shape_at_its_place_and_nothing_else() {
    let (one, facts) = written("/p/notes/a.txt", "x");
    let gates = standard(Vec::new()).with_rules(vec![rule_for(&one, &facts)]);
    let check = |path: &str, content: &str, expected: &str| {
        let (action, facts) = written(path, content);
        assert_eq!(verdict(&gates, &action, &facts, &scope()), expected, "{path}");
    };
    check("/p/notes/b.txt", "y", "rule");
    check("/p/notes/deep/b.txt", "y", "rule");
    check("/p/b.txt", "y", "ask");
    check("/p/notesb/b.txt", "y", "ask");
    check("/p/notes/b.sh", "y", "ask");
    check("/p/notes/.envrc", "y", "ask");
    // What other checks say of the same shape at the same place stands.
    check("/p/notes/b.txt", &["ghp_", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"].concat(), "deny");
    check("/p/notes/b.txt", "password = \"hunter2-correct-horse\"", "ask");
    check("/p/notes/passepartout/src/b.txt", "y", "ask");
    check("/home/u/.config/passepartout/b.txt", "y", "deny");
}

#[test]
fn what_is_guarded_is_answered_at_its_own_place_only() {
    let (one, facts) = written("/p/.envrc", "x");
    let gates = standard(Vec::new()).with_rules(vec![rule_for(&one, &facts)]);
    for (path, expected) in
        [("/p/.envrc", "rule"), ("/p/sub/.envrc", "ask"), ("/p/.bashrc", "ask"), ("/p/a.txt", "ask")]
    {
        let (action, facts) = written(path, "y");
        assert_eq!(verdict(&gates, &action, &facts, &scope()), expected, "{path}");
    }
}

#[test]
fn no_heading_allows_in_advance_what_runs_by_itself() {
    let gates = standard(Vec::new());
    for (path, expected) in [("/p/a.txt", "rule"), ("/p/.envrc", "ask"), ("/p/.git/hooks/a.txt", "ask")] {
        let (action, mut facts) = written(path, "x");
        facts.mandate.allow.insert("write-file".to_string(), "L0".to_string());
        assert_eq!(verdict(&gates, &action, &facts, &scope()), expected, "{path}");
    }
}

#[test]
fn what_a_skill_rewrote_is_answered_by_no_rule_and_allowed_by_no_heading() {
    let (one, mut facts) = written("/p/notes/a.txt", "x");
    let gates = standard(Vec::new()).with_rules(vec![rule_for(&one, &facts)]);
    let args = one.args().clone();
    let rewritten = one
        .clone()
        .refined(&Toolbox::builtin(), ("tidy", &Default::default()), args, None)
        .expect("a test's own action is well-formed");
    assert_eq!(verdict(&gates, &one, &facts, &scope()), "rule");
    assert_eq!(verdict(&gates, &rewritten, &facts, &scope()), "ask");
    facts.mandate.allow.insert("write-file".to_string(), "L0".to_string());
    assert_eq!(verdict(&gates, &rewritten, &facts, &scope()), "ask");
    assert_ne!(one.hash(), rewritten.hash(), "an approval of the one holds for no other");
}

#[test]
fn facts_that_a_rule_never_answers() {
    let (one, facts) = written("/p/notes/a.txt", "x");
    let gates = standard(Vec::new()).with_rules(vec![rule_for(&one, &facts)]);
    let other = |change: &dyn Fn(&mut Facts)| {
        let mut facts = facts.clone();
        change(&mut facts);
        verdict(&gates, &one, &facts, &scope())
    };
    assert_eq!(other(&|_| {}), "rule");
    assert_eq!(other(&|facts| facts.unknown.push("?".to_string())), "ask");
    assert_eq!(other(&|facts| facts.not_undoable = Some("too large".to_string())), "ask");
    assert_ne!(other(&|facts| facts.vault.push("KEY".to_string())), "rule");
    assert_ne!(other(&|facts| facts.privacy = Some(Privacy::Private)), "rule");
    assert_ne!(other(&|facts| facts.edits[0].after = "* A\n:PROPERTIES:\n:PP_ALLOW: shell\n:END:\n".into()), "rule");
    assert_eq!(other(&|facts| facts.mandate.deny = [("write-file".to_string(), "H".to_string())].into()), "deny");
    let (led, _) = written("/p/notes/a.txt", "x");
    let led =
        action("write-file", Value::Object(led.args().clone()), Labels { trust: Trust::Untrusted, ..Labels::USER });
    assert_ne!(verdict(&gates, &led, &facts, &scope()), "rule");
    let denied = Scope { permissions: [("write-file".to_string(), Level::Deny)].into(), ..scope() };
    assert_eq!(verdict(&gates, &one, &facts, &denied), "deny");
}

fn command(words: &[&str], glob: bool) -> Facts {
    let word = |text: &&str| Word {
        raw: text.to_string(),
        value: Some(text.to_string()),
        glob,
        resolved: if text.starts_with('-') { Vec::new() } else { vec![format!("/p/{text}")] },
        wholes: usize::from(!text.starts_with('-')),
        ..Word::default()
    };
    let command = CommandFact { words: words.iter().map(word).collect(), ..CommandFact::default() };
    let script = ScriptFact { text: words.join(" "), commands: vec![command], ..ScriptFact::default() };
    Facts { shell: Some(ShellFact { scripts: vec![script], files: Vec::new() }), ..Facts::default() }
}

#[test]
fn of_commands_only_one_plain_program_with_known_words_is_remembered() {
    let tool = Toolbox::builtin().get("shell").expect("a tool");
    let words = |facts: &Facts| {
        let action = action("shell", json!({ "command": "x" }), Labels::USER);
        seen(&action, tool, &scope(), facts).map(|seen| seen.shape.words.join(" "))
    };
    assert_eq!(words(&command(&["wc", "-l", "a.txt"], false)).as_deref(), Some("wc -l <path>"));
    assert_eq!(words(&command(&["wc", "-c", "a.txt"], false)).as_deref(), Some("wc -c <path>"));
    assert_eq!(words(&command(&["wc", "-l", "a.txt"], true)), None);
    for program in [
        "sh",
        "bash",
        "env",
        "xargs",
        "python3",
        "python3.12",
        "make",
        "npm",
        "npx",
        "cargo",
        "git",
        "find",
        "awk",
        "sudo",
        "timeout",
        "busybox",
        "emacs",
        "perl5.36",
        "node",
        "./run",
        "/bin/ls",
        "eval",
        "passepartout",
    ] {
        assert_eq!(words(&command(&[program, "a.txt"], false)), None, "{program}");
    }
    let mut piped = command(&["cat", "a.txt"], false);
    if let Some(shell) = &mut piped.shell {
        let first = shell.scripts[0].commands[0].clone();
        shell.scripts[0].commands.push(first);
    }
    assert_eq!(words(&piped), None);
    let mut assigned = command(&["cat", "a.txt"], false);
    if let Some(shell) = &mut assigned.shell {
        shell.scripts[0].commands[0].assignments.push(("LD_PRELOAD".to_string(), Word::default()));
    }
    assert_eq!(words(&assigned), None);
}

#[test]
fn what_loosens_restores_sends_or_evaluates_has_no_shape() {
    let cases = [
        ("confirm-rule", json!({ "file": "f", "heading": "h", "name": "n", "value": "v" })),
        ("contact-provider", json!({ "provider": "p", "url": "http://x.example", "sent": "s" })),
        ("eval-lisp", json!({ "code": "(+ 1 2)" })),
        ("message", json!({ "text": "t" })),
    ];
    for (name, args) in cases {
        let (action, tool) = (action(name, args, Labels::USER), Toolbox::builtin().get(name).expect("a tool"));
        assert_eq!(seen(&action, tool, &scope(), &Facts::default()), None, "{name}");
    }
}

proptest! {
    #[test]
    fn a_rule_never_answers_another_gate_or_a_denial(
        name in "(permissions2|skill push|provenance|vault|privacy|archivist2|rules.org: unread)",
        says in 0u8..3,
        level in 0usize..4,
    ) {
        let name: &'static str = Box::leak(name.into_boxed_str());
        let (action, facts) = written("/p/notes/a.txt", "x");
        let level = [Level::Allow, Level::Ask, Level::Deny, Level::Auto][level];
        let scope = Scope { permissions: [("write-file".to_string(), level)].into(), ..scope() };
        let plain = standard(Vec::new()).and(Box::new(Says(name, says)));
        let ruled = plain.clone().with_rules(vec![rule_for(&action, &facts)]);
        let (before, after) = (verdict(&plain, &action, &facts, &scope), verdict(&ruled, &action, &facts, &scope));
        prop_assert_eq!(before == "deny", after == "deny");
        prop_assert_eq!(before == "pass", after == "pass");
        if says > 0 {
            prop_assert_eq!(before, after, "a rule answered {}", name);
        }
    }

    #[test]
    fn a_rule_fits_only_below_its_place(place in "(/p|/p/a|/p/ab|/q|/)(/[ab]{1,2}){0,2}", own in "(/p|/p/a)") {
        let shape = Shape { tool: "write-file".to_string(), words: vec!["path".to_string()] };
        let rule = Learned { shape: shape.clone(), place: own.clone(), until: jiff::Timestamp::MAX, uses: 1 };
        let below = place == own || place.starts_with(&format!("{own}/"));
        prop_assert_eq!(rule.fits(&Seen { shape, place }), below);
    }
}
