//! Structural edits: what they write, what they leave, what they refuse.

use super::outline;
use crate::support::skip::skipped;
use jiff::civil::{DateTime, date};
use passepartout::domain::org::edit::{Edit, EditError, EditOptions, NewHeading, Planning, apply, extract, splices};
use passepartout::domain::org::outline::Outline;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn now() -> DateTime {
    date(2026, 11, 21).at(15, 30, 0, 0)
}

fn edited(text: &str, edit: &Edit) -> Result<String, EditError> {
    let outline = outline(text);
    let splices = splices(&outline, edit, &EditOptions::at(now()))?;
    Ok(apply(text, &splices))
}

fn check(text: &str, edit: Edit, expected: &str) {
    assert_eq!(
        edited(text, &edit).unwrap_or_else(|error| panic!("{edit:?}: {error}")),
        expected,
        "{edit:?} in {text:?}"
    );
}

fn refused(text: &str, edit: Edit) -> String {
    edited(text, &edit).expect_err("this edit is to be refused").to_string()
}

fn state(node: usize, state: &str) -> Edit {
    Edit::SetTodo { node, state: (!state.is_empty()).then(|| state.to_owned()) }
}

fn tags(node: usize, tags: &[&str]) -> Edit {
    Edit::SetTags { node, tags: tags.iter().map(|tag| (*tag).to_owned()).collect() }
}

fn title(node: usize, title: &str) -> Edit {
    Edit::SetTitle { node, title: title.to_owned() }
}

fn body(node: usize, body: &str) -> Edit {
    Edit::SetBody { node, body: body.to_owned() }
}

fn property(node: usize, key: &str, value: Option<&str>) -> Edit {
    Edit::SetProperty { node, key: key.to_owned(), value: value.map(str::to_owned) }
}

fn planning(node: usize, kind: Planning, stamp: Option<&str>) -> Edit {
    Edit::SetPlanning { node, kind, stamp: stamp.map(str::to_owned) }
}

fn heading(parent: Option<usize>, title: &str) -> NewHeading {
    NewHeading { parent, title: title.to_owned(), ..NewHeading::default() }
}

#[test]
fn keywords() {
    check("* a\n", state(1, "TODO"), "* TODO a\n");
    check("* TODO a\n", state(1, "DONE"), "* DONE a\n");
    check("** TODO  a :x:\n", state(1, ""), "** a :x:\n");
    check("* [#A] a\n", state(1, "TODO"), "* TODO [#A] a\n");
    check("* ", state(1, "TODO"), "* TODO");
    check("* :x:\n", state(1, "TODO"), "* TODO :x:\n");
    check("* TODO\n", state(1, ""), "* \n");
    check("#+TODO: A | B\n* A x\n", state(1, "B"), "#+TODO: A | B\n* B x\n");
    insta::assert_snapshot!(refused("#+TODO: NEXT | FIN\n* a\n", state(1, "DONE")), @r#""DONE" is no keyword of this file; it has NEXT, FIN"#);
    insta::assert_snapshot!(refused("* a\n", state(2, "DONE")), @"there is no heading number 2 in this file; read the file again");
    insta::assert_snapshot!(refused("* a\n", state(0, "DONE")), @"there is no heading number 0 in this file; read the file again");
}

#[test]
fn closed_comes_and_goes() {
    check(
        "#+STARTUP: logdone\n* TODO a\n",
        state(1, "DONE"),
        "#+STARTUP: logdone\n* DONE a\nCLOSED: [2026-11-21 Sat 15:30]\n",
    );
    check(
        "#+STARTUP: logdone\n* TODO a\nDEADLINE: <2026-12-01 Tue>\n",
        state(1, "DONE"),
        "#+STARTUP: logdone\n* DONE a\nCLOSED: [2026-11-21 Sat 15:30] DEADLINE: <2026-12-01 Tue>\n",
    );
    check("* DONE a\nCLOSED: [2026-11-20 Fri]\nText\n", state(1, "TODO"), "* TODO a\nText\n");
    check(
        "* DONE a\nCLOSED: [2026-11-20 Fri] DEADLINE: <2026-12-01 Tue>\n",
        state(1, ""),
        "* a\nDEADLINE: <2026-12-01 Tue>\n",
    );
    check("#+STARTUP: logdone nologdone\n* TODO a\n", state(1, "DONE"), "#+STARTUP: logdone nologdone\n* DONE a\n");
    let text = "* TODO a\n";
    let options = EditOptions { log_done: true, ..EditOptions::at(now()) };
    let splices = splices(&outline(text), &state(1, "DONE"), &options).unwrap();
    assert_eq!(apply(text, &splices), "* DONE a\nCLOSED: [2026-11-21 Sat 15:30]\n");
}

#[test]
fn repeating_tasks_move_on() {
    check(
        "* TODO water\nSCHEDULED: <2026-11-20 Fri .+2d> DEADLINE: <2026-11-20 Fri +1w>\nText <2026-11-20 Fri ++1m> [2026-11-20 Fri +1d]\n* next\n",
        state(1, "DONE"),
        "\
* TODO water
SCHEDULED: <2026-11-23 Mon .+2d> DEADLINE: <2026-11-27 Fri +1w>
:PROPERTIES:
:LAST_REPEAT: [2026-11-21 Sat 15:30]
:END:
- State \"DONE\"       from \"TODO\"       [2026-11-21 Sat 15:30]
Text <2026-12-20 Sun ++1m> [2026-11-20 Fri +1d]
* next
",
    );
    check(
        "#+STARTUP: nologrepeat\n#+TYP_TODO: Ann Bob | Done\n* Bob x\nDEADLINE: <2026-11-20 Fri +1d>",
        state(1, "Done"),
        "#+STARTUP: nologrepeat\n#+TYP_TODO: Ann Bob | Done\n* Bob x\nDEADLINE: <2026-11-21 Sat +1d>",
    );
    check(
        "#+STARTUP: nologrepeat\n#+TODO: TODO NEXT WAIT | DONE\n* WAIT x\nDEADLINE: <2026-11-20 Fri +1d>\n:PROPERTIES:\n:REPEAT_TO_STATE: NEXT\n:END:\n",
        state(1, "DONE"),
        "#+STARTUP: nologrepeat\n#+TODO: TODO NEXT WAIT | DONE\n* NEXT x\nDEADLINE: <2026-11-21 Sat +1d>\n:PROPERTIES:\n:REPEAT_TO_STATE: NEXT\n:END:\n",
    );
    check(
        "* TODO x\nDEADLINE: <2026-11-20 Fri +1d>",
        state(1, "DONE"),
        "* TODO x\nDEADLINE: <2026-11-21 Sat +1d>\n:PROPERTIES:\n:LAST_REPEAT: [2026-11-21 Sat 15:30]\n:END:\n- State \"DONE\"       from \"TODO\"       [2026-11-21 Sat 15:30]\n",
    );
}

#[test]
fn titles_priorities_and_tags() {
    check("* TODO [#A] COMMENT old  :x:\n", title(1, "new one"), "* TODO [#A] COMMENT new one  :x:\n");
    check("* TODO :x:\n", title(1, "new"), "* TODO new :x:\n");
    check("* TODO", title(1, "new"), "* TODO new");
    check("* a\n", Edit::SetPriority { node: 1, priority: Some('B') }, "* [#B] a\n");
    check("* TODO [#A] a\n", Edit::SetPriority { node: 1, priority: Some('C') }, "* TODO [#C] a\n");
    check("* TODO [#A] a\n", Edit::SetPriority { node: 1, priority: None }, "* TODO a\n");
    check("* a     :x:\n", tags(1, &["y", "z"]), "* a     :y:z:\n");
    check("* a     :x:\n", tags(1, &[]), "* a\n");
    check("* :x:\n", tags(1, &[]), "* \n");
    let aligned = edited("* TODO heading\n", &tags(1, &["home"])).unwrap();
    assert_eq!(aligned.len(), 78, "{aligned:?}");
    check(&format!("* {}\n", "x".repeat(90)), tags(1, &["y"]), &format!("* {} :y:\n", "x".repeat(90)));
    insta::assert_snapshot!(refused("* a\n", title(1, "b :x:")), @r#"refused, because Org would read it differently: the tags of "b :x:" would be ["x"]"#);
    insta::assert_snapshot!(refused("* a\n", title(1, "TODO b")), @r#"refused, because Org would read it differently: the keyword of "TODO b" would be "TODO""#);
    insta::assert_snapshot!(refused("* a\n", title(1, "COMMENT b")), @r#"refused, because Org would read it differently: the word COMMENT at the start of "COMMENT b" has a meaning of its own"#);
    insta::assert_snapshot!(refused("* a\n", title(1, "b\n* c")), @r"a title is one line of text; it cannot hold '\n'");
    insta::assert_snapshot!(refused("* a\n", title(1, "  ")), @"a heading needs a title");
    insta::assert_snapshot!(refused("* a\n", tags(1, &["two words"])), @r#""two words" is no tag: a tag is made of letters, digits and the signs _ @ # %"#);
}

#[test]
fn properties() {
    check("* a\nText\n", property(1, "id", Some("x-1")), "* a\n:PROPERTIES:\n:id:       x-1\n:END:\nText\n");
    check(
        "* a\nDEADLINE: <2026-12-01 Tue>\n",
        property(1, "K", Some("v")),
        "* a\nDEADLINE: <2026-12-01 Tue>\n:PROPERTIES:\n:K:        v\n:END:\n",
    );
    check(
        "* a\n  :PROPERTIES:\n  :Key: old\n  :END:\n",
        property(1, "KEY", Some("new")),
        "* a\n  :PROPERTIES:\n  :Key:      new\n  :END:\n",
    );
    check(
        "* a\n  :PROPERTIES:\n  :A: 1\n  :END:\n",
        property(1, "B", Some("2")),
        "* a\n  :PROPERTIES:\n  :A: 1\n  :B:        2\n  :END:\n",
    );
    check(
        "* a\n:PROPERTIES:\n:A: 1\n:B: 2\n:A+: 3\n:END:\n",
        property(1, "a", None),
        "* a\n:PROPERTIES:\n:B: 2\n:END:\n",
    );
    check("* a\n:PROPERTIES:\n:A: 1\n:END:\nText\n", property(1, "A", None), "* a\nText\n");
    check("* a\n", property(1, "A", None), "* a\n");
    check("* a", property(1, "A", Some("")), "* a\n:PROPERTIES:\n:A:\n:END:\n");
    check("# c\nText\n", property(0, "ID", Some("f")), "# c\n:PROPERTIES:\n:ID:       f\n:END:\nText\n");
    check("", property(0, "ID", Some("f")), ":PROPERTIES:\n:ID:       f\n:END:\n");
    insta::assert_snapshot!(refused("* a\n", property(1, "two words", Some("v"))), @r#""two words" is no property key: a key is one word without blanks"#);
    insta::assert_snapshot!(refused("* a\n", property(1, "END", Some("v"))), @r#""END" is no property key: a key is one word without blanks"#);
    insta::assert_snapshot!(refused("* a\n", property(1, "A", Some("v\n:END:"))), @r"a property is one line of text; it cannot hold '\n'");
}

#[test]
fn planning_lines() {
    use Planning::{Closed, Deadline, Scheduled};
    check("* a\nText\n", planning(1, Scheduled, Some("<2026-12-01 Tue>")), "* a\nSCHEDULED: <2026-12-01 Tue>\nText\n");
    check(
        "* a\n  DEADLINE: <2026-12-01 Tue>\n",
        planning(1, Scheduled, Some("<2026-11-30 Mon>")),
        "* a\n  SCHEDULED: <2026-11-30 Mon> DEADLINE: <2026-12-01 Tue>\n",
    );
    check(
        "* a\nDEADLINE: <2026-12-01 Tue>\n",
        planning(1, Deadline, Some("<2026-12-02 Wed +1w>")),
        "* a\nDEADLINE: <2026-12-02 Wed +1w>\n",
    );
    check("* a\nDEADLINE: <2026-12-01 Tue>\nText\n", planning(1, Deadline, None), "* a\nText\n");
    check(
        "* a\nCLOSED: [2026-12-01 Tue] SCHEDULED: <2026-12-01 Tue> DEADLINE: <2026-12-02 Wed>\n",
        planning(1, Scheduled, None),
        "* a\nCLOSED: [2026-12-01 Tue] DEADLINE: <2026-12-02 Wed>\n",
    );
    check(
        "* a\nCLOSED: [2026-12-01 Tue] DEADLINE: <2026-12-02 Wed>",
        planning(1, Deadline, None),
        "* a\nCLOSED: [2026-12-01 Tue]",
    );
    check("* a\n", planning(1, Closed, None), "* a\n");
    insta::assert_snapshot!(refused("* a\n", planning(1, Deadline, Some("tomorrow"))), @r#""tomorrow" is no Org timestamp; write one as <2026-11-21 Sat 10:00>"#);
    insta::assert_snapshot!(refused("* a\nDEADLINE: <2026-01-01> DEADLINE: <2026-02-02>\n", planning(1, Deadline, None)), @r#"refused, because Org would read it differently: DEADLINE of "a" would be "<2026-01-01>""#);
}

#[test]
fn bodies() {
    check("* a\nold\n\n* b\n", body(1, "new\ntwo\n"), "* a\nnew\ntwo\n\n* b\n");
    check("* a\n* b\n", body(1, "new"), "* a\nnew\n* b\n");
    check("* a", body(1, "new"), "* a\nnew\n");
    check("* a\n:PROPERTIES:\n:A: 1\n:END:\nold", body(1, "new"), "* a\n:PROPERTIES:\n:A: 1\n:END:\nnew\n");
    check("* a\nold\n** b\n", body(1, ""), "* a\n** b\n");
    check("old\n* a\n", body(0, "new"), "new\n* a\n");
    check("* a\n", body(1, "#+begin_src org\n* b\n** c\n#+end_src"), "* a\n#+begin_src org\n,* b\n,** c\n#+end_src\n");
    check("* a\n", body(1, "*bold* text"), "* a\n*bold* text\n");
    insta::assert_snapshot!(refused("* a\n", body(1, "x\n* b")), @r#"refused, because Org would read it differently: the text below "a" would be cut differently"#);
    insta::assert_snapshot!(refused("* a\n", body(1, "SCHEDULED: <2026-01-01>")), @r#"refused, because Org would read it differently: SCHEDULED of "a" would be "<2026-01-01>""#);
    insta::assert_snapshot!(refused("* a\n", body(1, ":PROPERTIES:\n:ID: x\n:END:")), @r#"refused, because Org would read it differently: the properties of "a" would be [("ID", "x")]"#);
    insta::assert_snapshot!(refused("* a\n", body(1, "#+TODO: X | Y")), @"refused, because Org would read it differently: a line would change the keywords of the whole file");
    insta::assert_snapshot!(refused("* a\n", body(1, "#+FILETAGS: :private:")), @"refused, because Org would read it differently: a line would change the tags, the title or the options of the whole file");
    insta::assert_snapshot!(refused("* a\n", body(1, "a\u{0}b")), @r"a body is plain text with \n line ends; it cannot hold '\0'");
}

#[test]
fn headings_are_added() {
    check("* a\n* b\n", Edit::AddHeading(heading(None, "c")), "* a\n* b\n* c\n");
    check("* a\nText\n** x\n* b\n", Edit::AddHeading(heading(Some(1), "c")), "* a\nText\n** x\n** c\n* b\n");
    check("* a", Edit::AddHeading(heading(Some(1), "c")), "* a\n** c\n");
    check("", Edit::AddHeading(heading(None, "c")), "* c\n");
    check("* a\n\n* b\n", Edit::AddHeading(heading(Some(1), "c")), "* a\n\n** c\n\n* b\n");
    check("#+STARTUP: odd\n* a\n", Edit::AddHeading(heading(Some(1), "c")), "#+STARTUP: odd\n* a\n*** c\n");
    let full = NewHeading {
        todo: Some("TODO".into()),
        priority: Some('A'),
        tags: vec!["home".into()],
        body: "One.\nTwo.".into(),
        scheduled: Some("<2026-12-01 Tue>".into()),
        deadline: Some("<2026-12-02 Wed>".into()),
        properties: vec![("ID".into(), "n-1".into()), ("Effort".into(), "1:00".into())],
        ..heading(None, "Call the bank")
    };
    insta::assert_snapshot!(edited("Notes\n", &Edit::AddHeading(full)).unwrap(), @r"
    Notes
    * TODO [#A] Call the bank                                              :home:
    SCHEDULED: <2026-12-01 Tue> DEADLINE: <2026-12-02 Wed>
    :PROPERTIES:
    :ID:       n-1
    :Effort:   1:00
    :END:
    One.
    Two.
    ");
    let starred = NewHeading { body: "x\n* y".into(), ..heading(None, "c") };
    insta::assert_snapshot!(refused("* a\n", Edit::AddHeading(starred)), @r#"refused, because Org would read it differently: the text below "c" would be cut differently"#);
}

#[test]
fn headings_are_removed_and_moved() {
    check("* a\n** b\nText\n* c\n", Edit::Remove { node: 1 }, "* c\n");
    check("x\n* a", Edit::Remove { node: 1 }, "x\n");
    let shift = |node, parent| Edit::Move { node, parent };
    check("* a\n* b\nText\n*** deep\n* c\n", shift(2, Some(1)), "* a\n** b\nText\n**** deep\n* c\n");
    check("* a\n** b\n* c\n", shift(2, Some(3)), "* a\n* c\n** b\n");
    check("* a\n** b\n*** c\n* d", shift(3, None), "* a\n** b\n* d\n* c\n");
    check("* a\n* b", shift(2, Some(1)), "* a\n** b\n");
    check("* a\n* b", shift(1, Some(2)), "* b\n** a\n");
    check("* a\n* b", shift(2, None), "* a\n* b\n");
    insta::assert_snapshot!(refused("* a\n** b\n", shift(1, Some(2))), @"a heading cannot be moved below itself");
    insta::assert_snapshot!(refused("* a\n", shift(1, Some(7))), @"there is no heading number 7 in this file; read the file again");
}

#[test]
fn subtrees_go_from_file_to_file() {
    let source = outline("#+FILETAGS: :private:\n* p :x:\n*** TODO a :y:\nText\n**** DONE b\n* q\n");
    let subtree = extract(&source, 2).unwrap();
    assert_eq!(subtree.text, "* TODO a :y:\nText\n** DONE b\n");
    assert_eq!(subtree.keywords, [Box::from("TODO"), Box::from("DONE")]);
    assert_eq!(subtree.inherited_tags, [Box::from("private"), Box::from("x")]);
    let insert = |parent| Edit::Insert { parent, subtree: subtree.clone() };
    check("* t\n** u\n", insert(Some(2)), "* t\n** u\n*** TODO a :y:\nText\n**** DONE b\n");
    check("text", insert(None), "text\n* TODO a :y:\nText\n** DONE b\n");
    insta::assert_snapshot!(refused("#+TODO: NEXT | FIN\n", insert(None)), @r#""TODO" is no keyword of this file; it has NEXT, FIN"#);
}

/// Returns the own text of every node, headline and section, without blank ends.
fn pieces(outline: &Outline) -> Vec<&str> {
    let text = &outline.text;
    outline.nodes.iter().map(|n| text[n.begin as usize..n.section.end as usize].trim_end()).collect()
}

/// Makes many edits of one heading; all but the edited node must keep their text.
fn try_all(text: &str, node: usize, refusals: &mut Vec<String>) {
    let old = outline(text);
    let done = old.keywords.iter().find(|keyword| keyword.done).map(|keyword| keyword.name.to_string());
    let edits = [
        title(node, "Another title"),
        tags(node, &["one", "two"]),
        tags(node, &[]),
        state(node, ""),
        Edit::SetTodo { node, state: done },
        property(node, "NEW_KEY", Some("value")),
        planning(node, Planning::Deadline, Some("<2026-12-01 Tue +1w>")),
        planning(node, Planning::Scheduled, None),
        Edit::SetPriority { node, priority: Some('B') },
        body(node, "A new body.\nOf two lines."),
        body(0, "A new start."),
    ];
    for edit in edits {
        let splices = match splices(&old, &edit, &EditOptions::at(now())) {
            Ok(splices) => splices,
            Err(error) => {
                refusals.push(format!("{edit:?}: {error}"));
                continue;
            }
        };
        let new = outline(&apply(text, &splices));
        let target = if matches!(edit, Edit::SetBody { node: 0, .. }) { 0 } else { node };
        let (before, after) = (pieces(&old), pieces(&new));
        assert_eq!(before.len(), after.len());
        for (index, (before, after)) in before.iter().zip(after).enumerate() {
            assert!(index == target || *before == after, "{edit:?} changed node {index}");
        }
    }
    // What is added and taken away again leaves the text as it was, but for a newline at its end.
    if let Ok(added) = edited(text, &Edit::AddHeading(heading(Some(node), "Added"))) {
        let back = edited(&added, &Edit::Remove { node: old.after(node) }).unwrap();
        let blank = |text: &str| text.replace("\n\n", "\n").trim_end().to_owned();
        assert_eq!(blank(&back), blank(text));
    } else {
        refusals.push("add".to_owned());
    }
    if let Ok(subtree) = extract(&old, node) {
        let moved = edited("* Other\n", &Edit::Insert { parent: Some(1), subtree });
        refusals.extend(
            moved.err().filter(|error| !matches!(error, EditError::UnknownState { .. })).map(|e| e.to_string()),
        );
    }
    let _ = edited(text, &Edit::Move { node, parent: None });
}

fn line() -> impl Strategy<Value = String> {
    let title = proptest::sample::select(vec![
        "Plan",
        "TODO Call :home:",
        "[#A] x",
        "DONE été",
        "COMMENT y",
        "",
        "漢 :a:b:",
        "z    :t:",
    ]);
    prop_oneof![
        3 => (1usize..5, title).prop_map(|(level, title)| format!("{} {title}", "*".repeat(level))),
        3 => proptest::sample::select(vec![
            "Text.", "", "  indented", "- item", ":PROPERTIES:\n:ID: q\n:END:", "  :PROPERTIES:\n  :A: 1\n  :a+: 2\n  :END:", ":PROPERTIES:\n:END:",
            "SCHEDULED: <2026-11-20 Fri +1w>", "CLOSED: [2026-11-20 Fri] DEADLINE: <2026-11-22 Sun>", "# comment", "#+begin_src org\n,* x\n#+end_src",
            "#+TODO: TODO NEXT | DONE", "#+FILETAGS: :f:", ":LOGBOOK:\nCLOCK: [2026-11-20 Fri 10:00]\n:END:", "<2026-11-20 Fri .+1d>",
        ]).prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::soak::cases(200)))]

    #[test]
    fn untouched_bytes_stay(lines in proptest::collection::vec(line(), 1..12), ended: bool, pick: prop::sample::Index) {
        let text = lines.join("\n") + if ended { "\n" } else { "" };
        let count = outline(&text).nodes.len();
        if count > 1 {
            let mut refusals = Vec::new();
            try_all(&text, 1 + pick.index(count - 1), &mut refusals);
            // Replacing a text may take settings of the file away, and what stands behind a drawer or a planning
            // line may count as one when the first is gone.
            refusals.retain(|what| !what.contains("of the whole file") && !what.contains("stamp: None"));
            prop_assert!(refusals.is_empty(), "{text:?}: {refusals:#?}");
        }
    }

    #[test]
    fn no_text_of_an_edit_panics(text in "(\\* |TODO|:a:|\n|é|:PROPERTIES:\n|:END:|SCHEDULED: |<2026-11-20>|#\\+TODO: A){0,16}", new in ".{0,20}", node in 0usize..4) {
        for edit in [
            title(node, &new), tags(node, &[&new]), state(node, &new), property(node, &new, Some(&new)), property(node, &new, None),
            planning(node, Planning::Closed, Some(&new)), planning(node, Planning::Scheduled, None), body(node, &new), Edit::Remove { node },
            Edit::AddHeading(heading(Some(node), &new)), Edit::Move { node, parent: Some(1) }, Edit::SetPriority { node, priority: new.chars().next() },
        ] {
            let _ = edited(&text, &edit);
        }
    }
}

/// Real files where the corpus lies beside the project: few edits are refused, and none for nothing.
#[test]
fn real_files_keep_what_is_not_edited() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/org");
    if !root.exists() {
        skipped(format_args!("{} is not there", root.display()));
        return;
    }
    let files: Vec<PathBuf> = passepartout::edge::walk::org_files(&root).into_iter().filter_map(Result::ok).collect();
    let (mut tried, mut refusals) = (0, Vec::new());
    for path in files.iter().step_by(40) {
        let text = passepartout::edge::org_file::read_text(path).unwrap().text;
        let count = outline(&text).nodes.len();
        for node in (1..count).step_by(1 + count / 3) {
            let mut some = Vec::new();
            try_all(&text, node, &mut some);
            tried += 1;
            refusals.extend(some.into_iter().map(|what| format!("{}: {node}: {what}", path.display())));
        }
    }
    println!("{tried} headings edited in all ways, {} edits refused\n{}", refusals.len(), refusals.join("\n"));
    refusals.retain(|what| !what.contains("of the whole file"));
    assert!(tried > 0 && refusals.is_empty(), "{}", refusals.join("\n"));
}

#[test]
fn a_line_in_a_log_touches_nothing_else() {
    let log = |line: &str| Edit::Log { node: 1, line: line.to_owned() };
    for (text, expected) in [
        ("* A\nBody.\n", "* A\n:LOGBOOK:\n- x\n:END:\nBody.\n"),
        ("* A", "* A\n:LOGBOOK:\n- x\n:END:\n"),
        ("* A\n* B\n", "* A\n:LOGBOOK:\n- x\n:END:\n* B\n"),
        ("* A\n:LOGBOOK:\n- old\n:END:\nBody.\n", "* A\n:LOGBOOK:\n- x\n- old\n:END:\nBody.\n"),
        (
            "* A\nSCHEDULED: <2026-11-21 Sat>\n:PROPERTIES:\n:ID: a\n:END:\nBody.\n",
            "* A\nSCHEDULED: <2026-11-21 Sat>\n:PROPERTIES:\n:ID: a\n:END:\n:LOGBOOK:\n- x\n:END:\nBody.\n",
        ),
        // What stands in blocks, blanks at the ends of lines and of the text stay as they are.
        (
            "* A\n#+begin_src org\n,* no heading\n  ,#+x\n#+end_src  \n\n\n* B\n",
            "* A\n:LOGBOOK:\n- x\n:END:\n#+begin_src org\n,* no heading\n  ,#+x\n#+end_src  \n\n\n* B\n",
        ),
        // A drawer of that name in an example is an example.
        (
            "* A\n#+begin_example\n:LOGBOOK:\n:END:\n#+end_example\n",
            "* A\n:LOGBOOK:\n- x\n:END:\n#+begin_example\n:LOGBOOK:\n:END:\n#+end_example\n",
        ),
        // As the lines of the file end.
        ("* A\r\nBody.\r\n", "* A\r\n:LOGBOOK:\r\n- x\r\n:END:\r\nBody.\r\n"),
        ("* A\r\n:LOGBOOK:\r\n- old\r\n:END:\r\nBody.\r\n", "* A\r\n:LOGBOOK:\r\n- x\r\n- old\r\n:END:\r\nBody.\r\n"),
    ] {
        check(text, log("- x"), expected);
    }
    for (node, line) in [(0, "- x"), (7, "- x"), (1, "- x\n* B"), (1, "* B"), (1, ":END:")] {
        let text = refused("* A\n:LOGBOOK:\n:END:\n", Edit::Log { node, line: line.to_owned() });
        assert!(!text.is_empty(), "{node} {line}");
    }
}
