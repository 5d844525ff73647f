//! What edits disclose: notes that would no longer be private, and private words in open places.

use super::World;
use passepartout::domain::action::Action;
use passepartout::domain::gate::disclosure;
use passepartout::domain::gate::facts::{BySetup, EditFact, QuoteFact, QuotedNote};
use passepartout::domain::gate::{Facts, clearance::ask_all};
use passepartout::domain::label::{Labels, Privacy, Provenance};
use passepartout::domain::org::edit::{Edit, EditOptions, apply, extract, splices};
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::tool::Toolbox;
use proptest::prelude::*;
use serde_json::{Value, json};

fn edit(file: &str, before: &str, after: &str) -> EditFact {
    EditFact {
        file: format!("/m/{file}"),
        before: Some(before.into()),
        after: after.into(),
        diff: String::new(),
        by_setup: BySetup::default(),
    }
}

fn loosened(edits: &[EditFact]) -> Vec<String> {
    disclosure::loosened(edits, &["private".into(), "@health".into()]).unwrap().names
}

#[test]
fn what_is_held_of_other_nodes_than_there_are_makes_nothing_safe() {
    let (before, after) = ("* A :private:\nSilver.\n* B\n", "* A\nSilver.\n* B\n");
    for held in [vec![], vec![Privacy::Private], vec![Privacy::Private; 9]] {
        let mut edit = edit("n.org", before, after);
        edit.by_setup.held_after = held.clone();
        assert_eq!(loosened(&[edit]), ["A"], "{held:?}");
    }
    let mut held = edit("n.org", before, after);
    held.by_setup.held_after = vec![Privacy::Open, Privacy::Private, Privacy::Open];
    assert_eq!(loosened(&[held]), [""; 0]);
    // Before, all is as private as the strictest.
    let mut held = edit("n.org", after, after);
    held.by_setup.held_before = vec![Privacy::Private];
    assert_eq!(loosened(&[held]), ["A", "B"]);
}

#[test]
fn what_a_heading_inherits_decides() {
    let diary = "* Diary :private:\n** Salary\n5000 a month\n** Friends\nAda\n* Work\n** Call Bob\n";
    let cases: &[(&str, &str, &[&str])] = &[
        // Moved out, promoted, the tag of a parent taken off, renamed, or taken over by another one.
        (diary, "* Diary :private:\n** Friends\nAda\n* Work\n** Call Bob\n** Salary\n5000 a month\n", &["Salary"]),
        (diary, "* Diary :private:\n** Friends\nAda\n* Salary\n5000 a month\n* Work\n** Call Bob\n", &["Salary"]),
        (diary, "* Diary\n** Salary\n5000 a month\n** Friends\nAda\n* Work\n** Call Bob\n", &["Diary"]),
        (diary, "* Diary :privat:\n** Salary\n5000 a month\n** Friends\nAda\n* Work\n** Call Bob\n", &["Diary"]),
        (diary, "* Diary :private:\n** Friends\nAda\n* Work\nAda\n** Call Bob\n** Salary\n", &["Salary"]),
        (diary, "5000 a month\n* Diary :private:\n** Salary\n** Friends\nAda\n* Work\n** Call Bob\n", &["Salary"]),
        // What stays private, is removed, becomes private, or only moves about.
        (diary, "* Diary :private:\n** Friends\nAda\n* Work\n** Call Bob\n", &[]),
        (diary, "* Diary :private:\n** Friends\nAda\n*** Salary\n5000 a month\n* Work\n** Call Bob\n", &[]),
        (diary, "* Diary :private:\n** Salary\n5001 a month\n** Friends\nAda\n* Work :private:\n** Call Bob\n", &[]),
        (diary, "* Work\n** Call Bob\n* Diary :@Health:\n** Salary\n5000 a month\n** Friends\nAda\n", &[]),
        // File tags and properties.
        ("#+FILETAGS: :a:private:\n* A\nx\n* B\n", "#+FILETAGS: :a:\n* A\nx\n* B\n", &["A", "B"]),
        ("#+FILETAGS: :private:\nHello.\n* A\n", "Hello.\n* A\n", &["n.org"]),
        ("#+PROPERTY: PRIVACY private\n* A\n", "#+PROPERTY: PRIVAC private\n* A\n", &["A"]),
        (
            "* A\n:PROPERTIES:\n:PRIVACY: private\n:END:\n** B\n",
            "* A\n:PROPERTIES:\n:SECRECY: private\n:END:\n** B\n",
            &["A"],
        ),
        ("* A\n:PROPERTIES:\n:PRIVACY: private\n:END:\n", "* A\n:PROPERTIES:\n:PRIVACY: open\n:END:\n", &["A"]),
        // A heading that breaks the drawer above its mark takes the mark away.
        ("* A\n:PROPERTIES:\n:PRIVACY: private\n:END:\n", "* A\n\n:PROPERTIES:\n:PRIVACY: private\n:END:\n", &["A"]),
        // The mark of a child is its own.
        ("* A\n** B :private:\nx\n", "* A\n* C\n** B :private:\nx\n", &[]),
        ("* A :private:\n** B :private:\nx\n", "* A\n** B :private:\nx\n", &["A"]),
        // A copy leaves the text where it is; what stands openly already is not made open.
        ("* A :private:\nmilk\n* B\n", "* A :private:\nmilk\n* B\nmilk\n", &[]),
        ("* A :private:\nmilk\n* B\nmilk\n", "* A :private:\n* B\nmilk\n", &[]),
    ];
    for (before, after, names) in cases {
        assert_eq!(loosened(&[edit("n.org", before, after)]), *names, "{before:?} -> {after:?}");
    }
}

#[test]
fn a_heading_that_leaves_its_file_is_followed() {
    let from = |file| edit(file, "#+FILETAGS: :private:\n* A\n* Salary\n5000\n", "#+FILETAGS: :private:\n* A\n");
    let open = |file| edit(file, "* Work\n", "* Work\n** Salary\n5000\n");
    assert_eq!(loosened(&[open("work.org"), from("diary.org")]), ["Salary"]);
    assert_eq!(loosened(&[open("work.txt"), from("diary.org_archive")]), ["Salary"], "text files keep nothing private");
    let private = edit("safe.org", "* Work :private:\n", "* Work :private:\n** Salary\n5000\n");
    assert_eq!(loosened(&[private, from("diary.org")]), Vec::<String>::new());
}

/// Judges an action on notes with labels and facts of its own; returns the dispatcher's verdict and reason.
fn judged(tool: &str, args: Value, labels: Labels, facts: Facts, see_private: bool) -> (&'static str, String) {
    let mut world = World::new();
    world.scope.may_see = if see_private { Privacy::Private } else { Privacy::ELSEWHERE };
    world.scope.memex.push("/m".into());
    let args = args.as_object().cloned().unwrap();
    let action = Action::new(&Toolbox::builtin(), tool, args, Some("A test asks for it."), labels).unwrap();
    let trace = ask_all(&world.gates, &world.case(&action, &facts));
    let verdict = &trace.opinions.iter().find(|opinion| opinion.gate == "dispatcher").unwrap().verdict;
    (verdict.name(), verdict.reason().map(|reason| reason.text.clone()).unwrap_or_default())
}

#[test]
fn the_ask_names_the_headings_to_whom_may_see_them() {
    let facts = |privacy| Facts {
        privacy: Some(privacy),
        edits: vec![edit("n.org", "* A :private:\n** Salary\n* B\n", "* A :private:\n* B\n** Salary\n")],
        ..Facts::default()
    };
    let move_it = json!({"id": "x", "parent": "y"});
    let named = judged("org-move", move_it.clone(), Labels::MODEL, facts(Privacy::Private), true);
    assert_eq!(named, ("ask", "privacy tags: “Salary” would no longer be private.".to_string()));
    // A model elsewhere hears of reasons too, and a turn that does not count as private may go elsewhere.
    let unnamed = ("ask", "privacy tags: Something in “n.org” would no longer be private.".to_string());
    assert_eq!(judged("org-move", move_it.clone(), Labels::MODEL, facts(Privacy::Private), false), unnamed);
    assert_eq!(judged("org-move", move_it, Labels::MODEL, facts(Privacy::Open), true), unnamed);
}

#[test]
fn a_text_that_is_put_whole_counts_like_an_edit_and_taking_back_always_asks() {
    let args = json!({"kind": "undo", "changes": ["A0123456789"], "files": ["/m/n.org"]});
    let put_texts = vec![edit("n.org", "* A :private:\nPay\n", "* A\nPay\n")];
    let facts = Facts { put_texts, privacy: Some(Privacy::Private), ..Facts::default() };
    let (verdict, why) = judged("restore", args.clone(), Labels::USER, facts, true);
    assert!(verdict == "ask" && why.contains("privacy tags: “A” would no longer be private."), "{why}");
    let (verdict, why) = judged("restore", args, Labels::USER, Facts::default(), true);
    assert_eq!((verdict, &*why), ("ask", "high impact: It takes back what was done to files."));
}

#[test]
fn words_of_a_private_note_ask_or_deny_by_where_they_would_go() {
    let note = || QuotedNote { title: "Salary".into(), tag: "private".into(), privacy: Privacy::Private };
    let quotes = || Facts {
        quotes: vec![QuoteFact { place: "Work".into(), note: note() }],
        edits: vec![edit("n.org", "* Work\n", "* Work\nNew.\n")],
        ..Facts::default()
    };
    let add = json!({"title": "Raise", "parent": "x"});
    let asks = "privacy text: Words of a private note stand in it, and “Work” is not private.";
    let said = |tool: &str, args: &Value, facts: Facts| judged(tool, args.clone(), Labels::USER, facts, true);
    assert_eq!(said("org-add-heading", &add, quotes()), ("ask", asks.to_string()));
    let (verdict, why) = said("fetch-url", &json!({"url": "https://example.org/?q=x"}), quotes());
    assert!(verdict == "deny" && why.contains("would leave the machine"), "{why}");
    let (verdict, why) = said("message", &json!({"text": "x", "to": "ann"}), quotes());
    assert!(verdict == "deny" && why.contains("goes to somebody else"), "{why}");
    assert_eq!(said("message", &json!({"text": "x"}), quotes()).0, "pass");
    // The note is named to nobody who reads reasons, and what is quoted is as private as the note.
    assert!(!why.contains("Salary"));
    assert_eq!((quotes().strictest(), Facts::default().strictest()), (Privacy::Private, Privacy::Open));
    assert_ne!(quotes().hash(), Facts { quotes: Vec::new(), ..quotes() }.hash());
}

#[test]
fn words_of_a_private_conversation_ask_where_they_would_stand_openly() {
    let private = Labels { privacy: Privacy::Private, ..Labels::MODEL };
    let one = |before: &str, after: &str| Facts { edits: vec![edit("n.org", before, after)], ..Facts::default() };
    let add = json!({"title": "Raise", "parent": "x"});
    let asks =
        |names: &str| ("ask", format!("privacy tags: Private notes led to this text, and {names} is not private."));
    let pass = || ("pass", String::new());
    let say = |tool: &str, args: &Value, labels, facts| judged(tool, args.clone(), labels, facts, true);
    let open = || one("* Work\n** Old\n", "* Work\n** Old\n** Raise\nSalary 5000.\n");
    assert_eq!(say("org-add-heading", &add, private, open()), asks("“Work”"));
    assert_eq!(say("org-add-heading", &add, Labels::MODEL, open()), pass());
    assert_eq!(say("org-add-heading", &add, private, one("* Work\n", "* Work\n* Raise\n")), asks("“n.org”"));
    // Words that the user typed are nobody's notes; what a model, a file or a page brought is.
    assert_eq!(say("org-add-heading", &add, Labels { privacy: Privacy::Private, ..Labels::USER }, open()), pass());
    for provenance in [Provenance::Note, Provenance::File, Provenance::Tool, Provenance::Gateway, Provenance::Web] {
        assert_eq!(say("org-add-heading", &add, Labels { provenance, ..private }, open()), asks("“Work”"));
    }
    // A place that is private, by itself or from above, or made so by the edit.
    for (before, after) in [
        ("* Work :private:\n** B\n", "* Work :private:\n** B\n*** Raise\n"),
        ("#+FILETAGS: :private:\n", "#+FILETAGS: :private:\n* Raise\n"),
        ("* Work\n", "* Work\n** Raise :private:\n5000\n"),
    ] {
        assert_eq!(say("org-add-heading", &add, private, one(before, after)), pass(), "{after:?}");
    }
    let property = json!({"id": "x", "property": "PAY", "value": "5000"});
    let drawer = one("* Work\n", "* Work\n:PROPERTIES:\n:PAY: 5000\n:END:\n");
    assert_eq!(say("org-set-property", &property, private, drawer.clone()), asks("“Work”"));
    // A keyword of the file says nothing of what was talked about; moving open text brings no words.
    let state = json!({"id": "x", "state": "DONE"});
    let done = one("* TODO Work\n", "* DONE Work\nCLOSED: [2026-03-02 Mon 09:00]\n");
    assert_eq!(say("org-set-todo", &state, private, done), pass());
    let moved = one("* Work\n* Call\n", "* Work\n** Call\n");
    assert_eq!(say("org-move", &json!({"id": "x", "parent": "y"}), private, moved), pass());
    // What was not predicted is not known to be private.
    let (verdict, why) = say("org-add-heading", &add, private, Facts::default());
    assert_eq!((verdict, why.contains("where it would go was not found out")), ("ask", true));
}

#[test]
fn words_of_a_private_conversation_ask_before_they_stand_in_a_file() {
    let world = World::new();
    let private = Labels { privacy: Privacy::Private, ..Labels::MODEL };
    let args = |path: &str| json!({"path": path, "content": "Salary 5000.\n"});
    let facts = |path: &str, after: &str| {
        let action = world.action("write-file", args(path)).unwrap();
        let edits = vec![EditFact {
            file: format!("{}/{path}", world.scope.project),
            before: None,
            after: after.into(),
            diff: String::new(),
            by_setup: BySetup::default(),
        }];
        Facts { edits, ..world.facts(&action) }
    };
    let write = |path: &str, after: &str| judged("write-file", args(path), private, facts(path, after), true);
    let expected = "Private notes led to this text, and “notes.txt” is not private.";
    let (verdict, why) = write("notes.txt", "Salary 5000.\n");
    assert_eq!((verdict, why.contains(expected)), ("ask", true), "{why}");
    let (_, why) = write("pay.org", "#+FILETAGS: :private:\nSalary 5000.\n");
    assert!(!why.contains("privacy tags"), "{why}");
    let (verdict, why) = write("pay.org", "* Salary\n5000.\n");
    assert_eq!((verdict, why.contains("“pay.org” is not private.")), ("ask", true), "{why}");
}

/// What a setup file makes private counts as what the file's own lines make so.
#[test]
fn what_a_setup_file_makes_private_opens_when_the_line_goes() {
    let set_up = edit("a.org", "#+SETUPFILE: p.org\n* Salary\n", "* Salary\n");
    assert_eq!(loosened(std::slice::from_ref(&set_up)), Vec::<String>::new(), "nothing says that it was private");
    let by_setup = BySetup { before: Privacy::Private, ..BySetup::default() };
    assert_eq!(loosened(&[EditFact { by_setup, ..set_up.clone() }]), ["Salary"]);
    let by_setup = BySetup { before: Privacy::Private, after: Privacy::Private, ..BySetup::default() };
    assert_eq!(loosened(&[EditFact { by_setup, ..set_up.clone() }]), Vec::<String>::new());
    // An edit of the setup file itself holds nothing of what it opens.
    let by_setup = BySetup { opens: vec!["/m/a.org".into(), "/m/b.org".into()], ..BySetup::default() };
    let setup = EditFact { by_setup, ..edit("base.setup", "#+FILETAGS: :private:\n", "#+FILETAGS: :open:\n") };
    assert_eq!(loosened(std::slice::from_ref(&setup)), ["a.org", "b.org"]);
    assert_eq!(loosened(&[setup, set_up]), ["a.org", "b.org"]);
}

/// Words that mark what a heading of a random outline says; each is unique.
fn word(n: usize) -> String {
    format!("word{n:03}")
}

/// How a random heading is marked.
const MARKS: [&str; 6] = ["", "", "", " :private:", " :work:@Private:", "property"];

fn heading(n: usize, level: usize, mark: &str) -> String {
    let stars = "*".repeat(level);
    match mark {
        "property" => format!("{stars} {}\n:PROPERTIES:\n:PRIVACY: private\n:END:\nbody{n:03}\n", word(n)),
        tags => format!("{stars} {}{tags}\nbody{n:03}\n", word(n)),
    }
}

fn outline_text(file_tag: bool, headings: &[(usize, usize)]) -> String {
    let mut text = if file_tag { "#+FILETAGS: :private:\n".to_string() } else { String::new() };
    for (n, (level, mark)) in headings.iter().enumerate() {
        text.push_str(&heading(n, *level, MARKS[*mark % MARKS.len()]));
    }
    text
}

/// Returns whether each unique word of a text stands privately, worked out naively from its lines.
fn naive(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let whole = text.lines().any(|line| line.starts_with("#+FILETAGS:") && line.contains(":private:"));
    let mut stack: Vec<(usize, bool)> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let level = line.chars().take_while(|c| *c == '*').count();
        if level > 0 {
            while stack.last().is_some_and(|(above, _)| *above >= level) {
                stack.pop();
            }
            let lower = line.to_lowercase();
            let below: Vec<&str> = lines.iter().skip(at + 1).take(2).flat_map(|line| line.split_whitespace()).collect();
            let property = below == [":PROPERTIES:", ":PRIVACY:", "private"];
            let own = lower.contains(":private:") || lower.contains(":@private:") || property;
            stack.push((level, own || stack.last().map_or(whole, |(_, above)| *above)));
        }
        let private = stack.last().map_or(whole, |(_, private)| *private);
        let words = line.split_whitespace().filter(|word| word.starts_with("word") || word.starts_with("body"));
        found.extend(words.map(|word| (word.to_string(), private)));
    }
    found
}

fn edited(text: &str, edit: &Edit) -> Option<String> {
    let outline = scan(text.into(), &ScanOptions::default()).unwrap();
    let options = EditOptions::at(jiff::civil::date(2026, 3, 2).at(9, 0, 0, 0));
    splices(&outline, edit, &options).ok().map(|splices| apply(text, &splices))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn loosening_is_reported_exactly_when_private_text_becomes_open(
        file_tag in any::<bool>(),
        headings in proptest::collection::vec((1usize..4, 0usize..6), 1..8),
        kind in 0usize..7,
        pick in 0usize..8,
        other in 0usize..9,
        mark in 0usize..6,
    ) {
        let before = outline_text(file_tag && mark > 2, &headings);
        let node = 1 + pick % headings.len();
        let target = other % (headings.len() + 1);
        let mut files = Vec::new();
        let after = match kind {
            0 => edited(&before, &Edit::Move { node, parent: (target > 0).then_some(target) }),
            1 => edited(&before, &Edit::SetTags { node, tags: if mark < 2 { vec![] } else { vec!["private".into()] } }),
            2 => edited(&before, &Edit::SetProperty { node, key: "PRIVACY".into(), value: (mark < 3).then(|| "private".into()) }),
            3 => edited(&before, &Edit::Remove { node }),
            4 => Some(before.replace("#+FILETAGS: :private:\n", "")),
            // Rewritten whole: other levels and marks.
            5 => {
                let turned: Vec<_> = headings.iter().rev().map(|(level, old)| (4 - level, (old + mark) % 6)).collect();
                Some(outline_text(mark == 0, &turned))
            }
            // Refiled into another file.
            _ => {
                let outline = scan(before.as_str().into(), &ScanOptions::default()).unwrap();
                let subtree = extract(&outline, node).unwrap();
                let there = if mark < 3 { "* Other\n" } else { "* Other :private:\n" };
                if let Some(after) = edited(there, &Edit::Insert { parent: Some(1), subtree }) {
                    files.push(edit("other.org", there, &after));
                }
                edited(&before, &Edit::Remove { node })
            }
        };
        let Some(after) = after else { return Ok(()) };
        files.push(edit("n.org", &before, &after));
        let now: Vec<(String, bool)> = files.iter().flat_map(|file| naive(&file.after)).collect();
        let loosens = naive(&before).iter().filter(|(_, private)| *private).any(|(word, _)| now.contains(&(word.clone(), false)));
        let found = loosened(&files);
        prop_assert_eq!(!found.is_empty(), loosens, "{:?}\n{}\n-> {}", found, before, after);
        // What is named was private, and stands openly or holds what does.
        for name in &found {
            prop_assert!(name == "n.org" || naive(&before).contains(&(name.clone(), true)), "{}", name);
        }
    }
}
