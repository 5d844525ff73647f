//! The tools for programs through whole turns: what a model is told, what a plan shows, and what stands in the files.

use crate::support::engine::{origin, waiting};
use crate::support::skip::skipped;
use crate::tools::World;
use passepartout::domain::label::Privacy;
use passepartout::domain::literate::tangle::{agree, tangle};
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::turn::Ending;
use passepartout::edge::worker::system_emacs;
use serde_json::{Value, json};
use std::process::Command;

const FILE: &str = ";;; a.el --- A\n\n;; Adds.\n(defun one (x)\n  (+ x 1))\n\n(defvar two 2)\n";

fn read(world: &World, name: &str) -> String {
    std::fs::read_to_string(world.home.project(name)).expect("it is there")
}

#[tokio::test(flavor = "multi_thread")]
async fn lisp_is_checked_in_three_passes_wherever_it_stands() {
    let notes = "* Code\n:PROPERTIES:\n:ID: code\n:END:\n#+NAME: bad\n#+begin_src emacs-lisp\n(a\n#+end_src\n\
                 #+begin_src c\n(\n#+end_src\n* Secret :private:\n:PROPERTIES:\n:ID: secret\n:END:\n\
                 #+begin_src emacs-lisp\n(hidden-call)\n#+end_src\n";
    for local in [true, false] {
        let world = World::new(&[("notes.org", notes)], local, &[]).await;
        world.write("a.el", FILE);
        world.write("b.txt", "(a");
        let told = world.call("lisp-check", json!({"text": "(+ 1 2)"})).await;
        assert_eq!(told, "1. It is balanced.\n2. It can be read.\n3. It calls nothing but what is known to be pure.");
        let told = world.call("lisp-check", json!({"text": "(progn (delete-file \"x\")"})).await;
        assert!(told.contains("line 1, column 1: “(” is not closed"), "{told}");
        let told = world.call("lisp-check", json!({"path": world.home.project("a.el")})).await;
        assert!(told.starts_with("1. It is balanced.\n2. It can be read.\n3. "), "{told}");
        let told = world.call("lisp-check", json!({"path": world.home.project("b.txt")})).await;
        assert!(told.contains("no file of Emacs Lisp"), "{told}");
        let told = world.call("lisp-check", json!({"id": "code"})).await;
        assert!(
            told.contains("Block “bad” in line 6") && told.contains("line 1, column 1: “(” is not closed"),
            "{told}"
        );
        assert!(!told.contains("hidden-call"), "what stands below another heading is not asked for: {told}");
        let told = world.call("lisp-check", json!({"id": "secret"})).await;
        assert_eq!(told.contains("hidden-call"), local, "{told}");
        let told = world.call("lisp-check", json!({"path": world.home.file("notes.org")})).await;
        assert_eq!(told.contains("hidden-call"), local, "{told}");
        let told = world.call("lisp-check", json!({"path": world.home.project(".env.el")})).await;
        assert!(!told.contains("1. It is"), "{told}");
        let told = world.call("lisp-check", json!({})).await;
        assert!(told.contains("say which Lisp is meant"), "{told}");
        let told = world.call("lisp-definitions", json!({"path": world.home.project("a.el")})).await;
        assert_eq!(told, "4-5: defun one\n7: defvar two");
        assert!(world.engine.plans(false).is_empty(), "what only looks asks nobody");
        let session = &crate::support::engine::origin().session;
        assert_eq!(
            world.engine.known_privacy(session) == Privacy::Private,
            local,
            "what was seen marks the conversation"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_is_changed_by_a_plan_that_shows_the_difference() {
    let world = World::new(&[], true, &[]).await;
    world.write("a.el", FILE);
    let path = world.home.project("a.el");
    let edit = |what: &str, name: &str, text: &str| json!({"path": path, "do": what, "name": name, "text": text});
    assert_eq!(world.call("lisp-edit", edit("replace", "one", "(defun one (x)\n  (+ x 2))")).await, "parked");
    let plan = world.plan();
    assert_eq!(plan.title, "Replace “one” in …/project/a.el");
    assert!(plan.diff.contains("-  (+ x 1))\n+  (+ x 2))") && !plan.diff.contains("+(defvar"), "{}", plan.diff);
    world.home.approve(&world.engine, &plan).await.expect("it counts");
    assert_eq!(read(&world, "a.el"), FILE.replace("x 1", "x 2"));
    let told = world.call("lisp-edit", edit("replace", "one", "(defun one (x)")).await;
    assert!(told.contains("“text” is not balanced: line 1, column 1"), "{told}");
    let told = world.call("lisp-edit", edit("replace", "one", "(defun one () (delete-file \"x\"))")).await;
    assert!(told.contains("forbidden to Lisp that runs unasked"), "{told}");
    let told = world.call("lisp-edit", edit("delete", "none", "")).await;
    assert!(told.contains("There is no “none”; lisp-definitions lists"), "{told}");
    assert!(world.engine.plans(false).is_empty(), "what cannot be done is no plan");
    assert_eq!(world.call("lisp-edit", edit("rename", "two", "zwei")).await, "parked");
    world.home.deny(&world.engine, &world.plan(), "no").await.expect("it counts");
    assert_eq!(read(&world, "a.el"), FILE.replace("x 1", "x 2"), "what is denied changes nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn brackets_are_balanced_by_a_plan_that_says_what_it_did() {
    let world = World::new(&[], true, &["lisp-balance"]).await;
    world.write("a.el", &FILE.replace("(+ x 1))", "(+ x 1"));
    world.write("b.el", "(a\nb\n");
    let path = world.home.project("a.el");
    // Allowed or not, what it did is said before it is written: here there is nothing that asks, so it is done.
    let told = world.call("lisp-balance", json!({"path": path})).await;
    if told == "parked" {
        let body = world.plan().body;
        assert!(body.contains("mind: Line 5: “))” was added."), "{body}");
        world.home.approve(&world.engine, &world.plan()).await.expect("it counts");
    }
    assert_eq!(read(&world, "a.el"), FILE);
    let told = world.call("lisp-balance", json!({"path": path})).await;
    assert!(told.contains("It is balanced; there is nothing to do"), "{told}");
    let told = world.call("lisp-balance", json!({"path": world.home.project("b.el")})).await;
    assert!(told.contains("line 2, column 1: the line is not indented"), "{told}");
    assert_eq!(read(&world, "b.el"), "(a\nb\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn org_and_code_are_compared_and_written_by_a_plan() {
    let notes = "#+PROPERTY: header-args :tangle yes\n* Code\n#+begin_src emacs-lisp\n  (defvar a 1)\n#+end_src\n\
                 #+begin_src sh :tangle b.sh\necho\n#+end_src\n#+begin_src sh :tangle c.sh :var x=1\n$x\n#+end_src\n\
                 #+begin_src sh :tangle ../none/d.sh\nd\n#+end_src\n#+begin_quote\n* Rest\n";
    let world = World::new(&[], true, &[]).await;
    world.write("n.org", notes);
    world.write("b.sh", "echo\n");
    let path = world.home.project("n.org");
    let told = world.call("literate-check", json!({"path": path})).await;
    for line in [
        "4 blocks, 4 of them of source.",
        "- line 15: #+begin_quote is not ended; the heading in line 16 would end it",
        "n.el (blocks in the lines 3): not there yet",
        "- b.sh (blocks in the lines 6): agrees",
        "- c.sh (blocks in the lines 9): not followed: line 9, what :var adds is not followed",
        "- ../none/d.sh (blocks in the lines 12): the folder of “../none/d.sh” is not there",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    let told = world.call("literate-tangle", json!({"path": path})).await;
    assert!(told.contains("the folder of “../none/d.sh” is not there"), "{told}");
    world.write("n.org", &notes.replace("../none/d.sh", "no"));
    world.write("b.sh", "echo 1\n");
    assert_eq!(world.call("literate-tangle", json!({"path": path})).await, "parked");
    let plan = world.plan();
    assert!(plan.diff.contains("+(defvar a 1)") && plan.diff.contains("-echo 1\n+echo\n"), "{}", plan.diff);
    assert!(plan.body.contains("mind: “c.sh” is left as it is: the block in line 9: what :var adds"), "{}", plan.body);
    world.home.approve(&world.engine, &plan).await.expect("it counts");
    assert_eq!((read(&world, "n.el").as_str(), read(&world, "b.sh").as_str()), ("(defvar a 1)\n", "echo\n"));
    assert!(!std::path::Path::new(&world.home.project("c.sh")).exists());
    let told = world.call("literate-check", json!({"path": path})).await;
    assert!(told.contains("n.el (blocks in the lines 3): agrees"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tangling_writes_no_file_twice_and_never_its_own_source() {
    let world = World::new(&[], true, &[]).await;
    let path = world.home.project("n.org");
    for (targets, why) in [
        (&["n.org"][..], "is the Org file itself"),
        (&["./n.org"], "is the Org file itself"),
        (&["a.sh", "./a.sh"], "is named in more than one way"),
    ] {
        let block = |target: &&str| format!("#+begin_src sh :tangle {target}\necho\n#+end_src\n");
        let notes: String = targets.iter().map(block).collect();
        world.write("n.org", &notes);
        let told = world.call("literate-tangle", json!({"path": path})).await;
        assert!(told.contains(why), "{targets:?}: {told}");
        assert_eq!(read(&world, "n.org"), notes);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tangling_reaches_nothing_that_writing_would_not() {
    let world = World::new(&[], true, &["literate-tangle"]).await;
    let outside = world.home.folder.path().canonicalize().expect("it is there");
    std::fs::create_dir_all(outside.join("home/.ssh")).expect("a folder");
    std::fs::write(outside.join("home/.bashrc"), "true\n").expect("a file");
    for target in ["~/.bashrc", "~/.ssh/config", "../home/.bashrc", ".env"] {
        world.write("n.org", &format!("#+begin_src sh :tangle {target}\nhacked\n#+end_src\n"));
        let told = world.call("literate-tangle", json!({"path": world.home.project("n.org")})).await;
        assert!(!told.starts_with("Done."), "{target}: {told}");
        if told == "parked" {
            world.home.deny(&world.engine, &world.plan(), "no").await.expect("it counts");
        }
        let told = world.call("literate-check", json!({"path": world.home.project("n.org")})).await;
        assert!(told.contains("not looked at") || told.contains("is not there"), "{target}: {told}");
    }
    assert_eq!(std::fs::read_to_string(outside.join("home/.bashrc")).expect("it is there"), "true\n");
}

/// Types a line in a REPL; returns what it was answered with, and how that ended.
async fn typed(world: &World, line: &str) -> (String, Ending) {
    let mut said = String::new();
    let folder = Some(world.home.project("").into());
    let turn = world.engine.new_turn();
    let finished = world.engine.repl(&origin(), line, folder, turn, &mut |text| said.push_str(text.text())).await;
    (finished.report.notice.unwrap_or(said), finished.report.ending)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repl_keeps_its_state_loads_what_the_gates_let_and_asks_no_model() {
    let world = World::new(&[], true, &[]).await;
    world.write("ours.el", "(+ 40\n   4)\n");
    world.write(".env", "KEY=1\n");
    assert!(typed(&world, ",help").await.0.contains(",load FILE"));
    for (line, said) in [("", "nothing to evaluate"), (",what", "no such command"), (",inspect (a)", "which name")] {
        let (told, ending) = typed(&world, line).await;
        assert!(told.contains(said) && ending == Ending::Failed, "{line}: {told}");
    }
    let (told, _) = typed(&world, "(progn (princ \"said\") (+ 40 2))").await;
    if !told.starts_with("Value") {
        skipped(told);
        return;
    }
    assert_eq!(told, "Value: 42\n--- output ---\nsaid");
    assert_eq!(typed(&world, ",load ours.el").await.0, "Value: 44");
    assert!(typed(&world, ",inspect car").await.0.contains("car is a function of 1 argument."));
    assert!(typed(&world, "(car 1)").await.0.starts_with("Error: "));
    let (told, ending) = typed(&world, ",load .env").await;
    assert!(told.contains("out of bounds") && ending == Ending::Failed, "{told}");
    assert!(typed(&world, ",load none.el").await.1 == Ending::Failed);
    world.write("key.el", &format!("(list \"ghp_{}\")\n", "a1B2c3D4e5".repeat(4)));
    let (told, ending) = typed(&world, ",load key.el").await;
    assert!(told.contains("nothing was loaded") && ending == Ending::Failed, "{told}");
    let (told, _) = typed(&world, ",inspect tetris").await;
    assert!(told.contains("tetris is a command of a library that is not loaded."), "{told}");
    // What is kept beyond its line asks, as it does for a model.
    assert_eq!(typed(&world, "(setq garden 3)").await.1, Ending::Parked);
    let before = world.requests();
    world.home.approve(&world.engine, &waiting(&world.engine)).await.expect("it counts");
    assert_eq!(world.requests(), before, "no model is told of it");
    assert_eq!(typed(&world, "garden").await.0, "Value: 3");
}

/// What Org itself writes is what we say that it would.
#[test]
fn org_tangles_what_we_say_that_it_would() {
    let Ok(emacs) = system_emacs() else { return skipped("there is no Emacs") };
    let folder = tempfile::tempdir().expect("a folder");
    let text = "#+PROPERTY: header-args :tangle all.el\n#+PROPERTY: header-args:sh :tangle one.sh\n\
                #+begin_src emacs-lisp\n    (a\n\n\t  b)\n  #+end_src\n#+begin_src emacs-lisp :tangle no\n(no)\n#+end_src\n\
                * One\n:PROPERTIES:\n:header-args: :tangle two.txt\n:header-args+: :padline no\n:END:\n\
                #+begin_src text\n,* star\n ,#+x\n,,* two\n#+end_src\n** Two\n#+begin_src text\n\n\n  x  \n\n#+end_src\n\
                #+HEADER: :tangle three.txt\n#+begin_src text :tangle no\n  y\n#+end_src\n\
                #+begin_src sh\necho 1\n#+end_src\n#+begin_src text -n :tangle \"fo ur.txt\"\n   z\n  z\n#+end_src\n\
                * COMMENT Three\n#+begin_src text\nno\n#+end_src\n* Four :ARCHIVE:\n** Five\n#+begin_src text\nno\n#+end_src\n\
                * Six\n#+begin_quote\n#+BEGIN_SRC emacs-lisp\n(inside)\n#+END_SRC\n#+end_quote\n\
                #+begin_src text :tangle (concat \"lisp\" \".txt\")\nx\n#+end_src\n";
    let file = folder.path().join("n.org");
    std::fs::write(&file, text).expect("it is written");
    let code = format!("(progn (require 'org) (require 'ob-tangle) (org-babel-tangle-file {file:?}))");
    let out = Command::new(emacs).args(["--batch", "-Q", "--eval", &code]).output();
    let out = out.expect("Emacs runs");
    let outline = scan(text.into(), &ScanOptions::default()).expect("it is short");
    let ours = tangle(&outline, file.to_str().expect("a name"));
    let mut written = 0;
    for target in &ours {
        let Ok(expected) = &target.text else { continue };
        let there = std::fs::read_to_string(folder.path().join(&target.file));
        let there =
            there.unwrap_or_else(|why| panic!("{}: {why}\n{}", target.file, String::from_utf8_lossy(&out.stderr)));
        assert_eq!(agree(&there, expected), None, "{}: Org has {there:?}, we have {expected:?}", target.file);
        written += 1;
    }
    assert_eq!(written, 5, "{ours:?}");
    let files = std::fs::read_dir(folder.path()).expect("it is there").count();
    assert_eq!(files, 1 + written + 1, "the note, what we followed, and what we did not");
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_made_here_and_never_by_a_model() {
    let notes = "#+TITLE: House\n* Tiles\n* Grout\n:PROPERTIES:\n:ID: grout\n:END:\n";
    let world = World::new(&[("house.org", notes)], true, &["org-set-property", "org-refactor"]).await;
    let file = world.home.file("house.org");
    let tiles = format!("{file}::*Tiles");
    for (tool, args) in [
        ("org-set-property", json!({"id": tiles, "property": "ID", "value": "mine"})),
        ("org-set-property", json!({"id": "grout", "property": "id"})),
        ("org-refactor", json!({"id": "grout", "properties": ["EFFORT=1", " Id =other"]})),
    ] {
        let told = world.call(tool, args).await;
        assert!(told.contains("org-add-id gives a heading one"), "{told}");
    }
    let told = world.call("org-add-id", json!({"id": "grout"})).await;
    assert!(told.contains("it has an ID: grout"), "{told}");
    assert!(world.engine.plans(false).is_empty(), "what cannot be done is no plan");
    assert_eq!(world.call("org-add-id", json!({"id": tiles})).await, "parked");
    let plan = world.plan();
    assert_eq!(plan.title, "Give “Tiles” an ID");
    world.home.approve(&world.engine, &plan).await.expect("it counts");
    let text = std::fs::read_to_string(&file).expect("it is there");
    let id = text.lines().find_map(|line| line.strip_prefix(":ID:")).expect("it has one").trim().to_string();
    assert!(plan.diff.contains(&format!("+:ID:       {id}")), "what was shown is what is written: {}", plan.diff);
    assert!(id.len() == 36 && id.split('-').count() == 5, "{id}");
    assert_eq!(text.replace(&format!(":PROPERTIES:\n:ID:       {id}\n:END:\n"), ""), notes);
}

#[tokio::test(flavor = "multi_thread")]
async fn keywords_of_a_file_are_set_by_a_plan_and_privacy_asks_whatever_is_allowed() {
    let notes = "#+TITLE: House\n#+FILETAGS: :private:\n* Tiles\nWhite.\n";
    let world = World::new(&[("house.org", notes)], true, &["org-set-keyword"]).await;
    let file = world.home.file("house.org");
    let set = |keyword: &str, value: &str| json!({"file": file, "keyword": keyword, "value": value});
    let text = || std::fs::read_to_string(&file).expect("it is there");
    assert!(world.call("org-set-keyword", set("#+title:", "Home")).await.starts_with("Done."));
    assert_eq!(text(), notes.replace("House", "Home"));
    let told = world.call("org-set-keyword", set("TITLE", "Home")).await;
    assert!(told.contains("says so already"), "{told}");
    let told = world.call("org-set-keyword", set("begin_src", "x")).await;
    assert!(told.contains("no keyword of a file"), "{told}");
    for args in [set("FILETAGS", ":home:"), json!({"file": file, "keyword": "FILETAGS"})] {
        assert_eq!(world.call("org-set-keyword", args).await, "parked", "what becomes less private asks");
        world.home.deny(&world.engine, &world.plan(), "no").await.expect("it counts");
    }
    assert_eq!(text(), notes.replace("House", "Home"));
    assert!(world.call("org-set-keyword", set("AUTHOR", "me")).await.starts_with("Done."));
    assert!(text().starts_with("#+TITLE: Home\n#+FILETAGS: :private:\n#+AUTHOR: me\n* Tiles"), "{}", text());
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_are_read_as_they_would_be_exported_as_far_as_they_may_be_seen() {
    let notes = "#+TITLE: House\n#+AUTHOR: me\n* TODO Tiles :room:\nSCHEDULED: <2026-11-21 Sat>\n:PROPERTIES:\n:ID: tiles\n\
                 :END:\n:LOGBOOK:\n- Note\n:END:\nThe *white* ones of [[id:shop][the shop]].\n** Grout\nGrey.\n\
                 ** COMMENT Not yet\nhidden-a\n** Not out :noexport:\nhidden-b\n*** Below\nhidden-c\n\
                 * Diary :private:\n:PROPERTIES:\n:ID: diary\n:END:\nhidden-d\n";
    for local in [true, false] {
        let world = World::new(&[("house.org", notes)], local, &[]).await;
        let file = world.home.file("house.org");
        let told = world.call("org-render", json!({"id": "tiles"})).await;
        assert_eq!(
            told,
            "TODO Tiles :room:\n=================\n\nThe white ones of the shop.\n\nGrout\n-----\n\nGrey.\n"
        );
        let told = world.call("org-render", json!({"id": "tiles", "form": "outline"})).await;
        assert_eq!(told, "- TODO Tiles :room:\n  - Grout\n");
        // As with the outline of a file: something private in it is refused whole to a model elsewhere.
        let told = world.call("org-render", json!({"file": file, "form": "keywords"})).await;
        assert_eq!(told == "#+TITLE: House\n#+AUTHOR: me", local, "{told}");
        for args in [json!({"file": file}), json!({"id": "diary"})] {
            let told = world.call("org-render", args).await;
            assert_eq!(told.contains("hidden-d"), local, "{told}");
            assert!(!told.contains("hidden-a") && !told.contains("hidden-b") && !told.contains("hidden-c"), "{told}");
        }
        for wrong in [json!({}), json!({"id": "tiles", "file": file}), json!({"id": "tiles", "form": "keywords"})] {
            let told = world.call("org-render", wrong).await;
            let refused = !local && told.starts_with("Refused");
            assert!(refused || told.contains("one of them") || told.contains("name its file"), "{told}");
        }
        assert!(world.engine.plans(false).is_empty(), "what only looks asks nobody");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_in_a_block_of_an_org_file_is_changed_and_all_else_stays() {
    let text = "* Setup\n#+NAME: first\n#+begin_src emacs-lisp\n(defun one (x)\n  (+ x 1))\n#+end_src\nProse (not closed.\n\
                * Rest\n  #+begin_src elisp\n  (defvar two 2)\n  (defun one () 3)\n  #+end_src\n";
    let world = World::new(&[("secret.org", &format!("{text}* Diary :private:\nZANZIBAR\n"))], true, &[]).await;
    world.write("init.org", text);
    let path = world.home.project("init.org");
    let told = world.call("lisp-definitions", json!({"path": path})).await;
    assert!(told.contains("Block “first” in line 3") && told.contains("1-2: defun one"), "{told}");
    assert!(told.contains("Block in line 9") && told.contains("1: defvar two"), "{told}");
    let edit = |more: Value| {
        let mut args = json!({"path": path, "do": "replace", "name": "one", "text": "(defun one ()\n  4)"});
        args.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        args
    };
    let told = world.call("lisp-edit", edit(json!({}))).await;
    assert!(told.contains("it could be each of the blocks “first” in line 3, that in line 9"), "{told}");
    let told = world.call("lisp-edit", edit(json!({"block": "none"}))).await;
    assert!(told.contains("no source block of Emacs Lisp is named “none”"), "{told}");
    let told = world.call("lisp-edit", edit(json!({"block": "first", "text": "(defun one ()"}))).await;
    assert!(told.contains("the block in line 3") && told.contains("is not balanced"), "{told}");
    assert!(world.engine.plans(false).is_empty(), "what cannot be done is no plan");
    for (block, from, to) in [
        ("first", "(defun one (x)\n  (+ x 1))", "(defun one ()\n  4)"),
        ("Rest", "  (defun one () 3)", "  (defun one ()\n    4)"),
    ] {
        let before = read(&world, "init.org");
        assert_eq!(world.call("lisp-edit", edit(json!({"block": block}))).await, "parked");
        world.home.approve(&world.engine, &world.plan()).await.expect("it counts");
        assert_eq!(read(&world, "init.org"), before.replace(from, to));
    }
    world.write("init.org", &text.replace("  (+ x 1))", "  (+ x 1"));
    assert_eq!(world.call("lisp-balance", json!({"path": path})).await, "parked");
    world.home.approve(&world.engine, &world.plan()).await.expect("it counts");
    assert_eq!(read(&world, "init.org"), text);
    // A model elsewhere is not even told which definitions stand in a file with something private.
    let far =
        World::new(&[("secret.org", &format!("{text}* Diary :private:\nZANZIBAR\n"))], false, &["lisp-edit"]).await;
    let args = json!({"path": far.home.file("secret.org"), "do": "delete", "name": "one"});
    let told = far.call("lisp-edit", args).await;
    assert!(!told.contains("in line") && !told.starts_with("Done."), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_blocks_of_a_skill_are_changed_in_no_other_way_than_skills_are() {
    let world = World::new(&[], true, &["lisp-edit", "lisp-balance", "org-set-keyword"]).await;
    let skill =
        "#+TITLE: Mine\n#+TRIGGER: words:\"mine\"\n* Lisp\n#+begin_src emacs-lisp\n(defun mine () 1)\n#+end_src\n";
    let folder = world.home.folder.path().canonicalize().expect("it is there").join("config/passepartout/skills");
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("mine.org");
    std::fs::write(&file, skill).expect("it is written");
    for (tool, args) in [
        ("lisp-edit", json!({"path": file, "do": "replace", "name": "mine", "text": "(defun mine () 2)"})),
        ("lisp-balance", json!({"path": file})),
        ("org-set-keyword", json!({"file": file, "keyword": "TRIGGER", "value": "words:\"yours\""})),
    ] {
        let told = world.call(tool, args).await;
        assert!(told.starts_with("Refused") || told.contains("balanced; there is nothing"), "{tool}: {told}");
    }
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), skill);
}
