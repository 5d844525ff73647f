//! Files of our own, with what Org 9.7 reads in them.

use passepartout::domain::org::outline::{Node, Outline};
use passepartout::domain::org::scan::ScanOptions;
use passepartout::edge::org_file::read_outline;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("test/fixtures/org")
}

/// Renders an outline, a line a node: line, level, and what there is of keyword, priority, `!` for COMMENT, title,
/// tags, properties, planning, body.
fn rendered(outline: &Outline) -> String {
    let mut text = String::new();
    for node in &outline.nodes {
        text += &line(outline, node);
        text.push('\n');
    }
    text
}

fn line(outline: &Outline, node: &Node) -> String {
    let mut parts = vec![format!("{}/{}", node.line, node.level)];
    if node.level == 0 {
        let words = outline.keywords.iter().map(|k| format!("{}{}", k.name, if k.done { "." } else { "" }));
        parts.push(words.collect::<Vec<_>>().join(" "));
        parts.extend(outline.title.iter().map(|title| format!("{title:?}")));
        if !outline.filetags.is_empty() {
            parts.push(format!(":{}:", outline.filetags.join(":")));
        }
    } else {
        parts.extend(outline.todo(node).map(|keyword| keyword.name.to_string()));
        parts.extend(node.priority.map(|c| format!("#{c}")));
        parts.extend(node.commented.then(|| "!".to_owned()));
        parts.push(format!("{:?}", outline.slice(&node.title)));
        if !node.tags.is_empty() {
            parts.push(format!(":{}:", node.tags.join(":")));
        }
    }
    parts.extend(node.properties.iter().map(|(key, value)| format!("{key}={value}")));
    for (name, range) in [("S", &node.scheduled), ("D", &node.deadline), ("C", &node.closed)] {
        parts.extend(range.iter().map(|range| format!("{name}{}", outline.slice(range))));
    }
    let body = outline.slice(&node.body);
    if !body.is_empty() {
        parts.push(format!("{body:?}"));
    }
    parts.join(" ")
}

#[test]
fn every_fixture_is_read_as_org_reads_it() {
    for (name, expected) in FIXTURES {
        let (outline, _) = read_outline(&folder().join(format!("{name}.org")), &ScanOptions::default()).unwrap();
        assert_eq!(rendered(&outline), expected.trim_start(), "{name}");
    }
}

#[test]
fn every_fixture_is_in_the_table() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    let mut known: Vec<&str> = FIXTURES.iter().map(|(name, _)| *name).collect();
    known.sort();
    assert_eq!(names, known);
}

/// Name, and what is read, as [`rendered`] puts it.
///
/// Checked against Org 9.5.5 but for what 9.7 reads differently: `* TODO` alone, tags without a blank before them,
/// COMMENT as a whole word only, tabs behind keys of drawers, and true levels under `#+STARTUP: odd`.
const FIXTURES: &[(&str, &str)] = &[
    (
        "archive",
        r##"
1/0 TODO DONE.
1/1 "old" :ARCHIVE:
2/2 "below"
"##,
    ),
    (
        "blocks-hold-no-headings",
        r##"
1/0 TODO DONE. "#+begin_src org\n"
2/1 "this is one all the same" ",* this is none\n#+end_src\n"
"##,
    ),
    (
        "byte-order-mark",
        r##"
1/0 TODO DONE. ID=m
4/1 "a"
"##,
    ),
    (
        "cjk",
        r##"
1/0 TODO DONE.
1/1 "会议记录" :工作: 负责人=王 S<2026-11-21 六 10:00> "全角\u{3000}空格。\n*\u{3000}全角空格不是标题\n"
"##,
    ),
    (
        "comment-above-file-drawer",
        r##"
1/0 TODO DONE. ID=77 "Text.\n"
"##,
    ),
    (
        "comment",
        r##"
1/0 TODO DONE.
1/1 ! "a"
2/1 TODO ! "b" :t:
3/1 "COMMENTARY"
4/1 ! ""
5/1 "COMMENT" :t:
6/1 #A ! "c"
"##,
    ),
    (
        "crlf",
        r##"
1/0 TODO DONE.
1/1 TODO "a" :t: ID=w S<2026-11-21 Sat> "Body\n"
"##,
    ),
    (
        "drawer-behind-planning",
        r##"
1/0 TODO DONE.
1/1 TODO "a" K=v D<2026-12-01 Tue>
6/1 "b" K=v "DEADLINE: <2026-12-01 Tue>\n"
"##,
    ),
    (
        "drawer-broken",
        r##"
1/0 TODO DONE.
1/1 "not closed" ":PROPERTIES:\n:A: 1\n"
4/1 "a word inside" ":PROPERTIES:\n:A: 1\nword\n:END:\n"
9/1 "blank line before" "\n:PROPERTIES:\n:A: 1\n:END:\n"
14/1 "blank in key" ":PROPERTIES:\n:A B: 1\n:END:\n"
"##,
    ),
    (
        "drawer-forms",
        r##"
1/0 TODO DONE.
1/1 "case and blanks" A=x B+=y
6/1 "empty" "text\n"
10/1 "end with value" END=x
14/1 "no newline" Z=1
"##,
    ),
    (
        "drawer",
        r##"
1/0 TODO DONE.
1/1 "a" ID=a-1 HEADER-ARGS+=:tangle no HEADER-ARGS+=:eval no EMPTY= SPACED=v  w URL=https://x.org:80/ "Body.\n"
"##,
    ),
    (
        "empty-titles",
        r##"
1/0 TODO DONE.
1/1 ""
2/2 TODO ""
3/1 #A ""
"##,
    ),
    (
        "empty",
        r##"
1/0 TODO DONE.
"##,
    ),
    (
        "filetags-glued",
        r##"
1/0 TODO DONE. :c: "#+FILETAGS::a:b:\n#+FILETAGS:c\n"
3/1 "h"
"##,
    ),
    (
        "filetags",
        r##"
1/0 TODO DONE. :home:work:extra:home: "#+FILETAGS: :home:work:\n#+filetags: extra home\n"
3/1 "a" :own:work:
4/2 "b" :deep:own:
5/1 "c"
"##,
    ),
    (
        "footnotes",
        r##"
1/0 TODO DONE.
1/1 "a[fn:1]"
2/1 "Footnotes" "[fn:1] A note.\n"
"##,
    ),
    (
        "form-feed",
        r##"
1/0 TODO DONE.
1/1 "a" "\u{c}\n"
3/1 "b" "\u{c}\ntext\n\u{c}\n"
"##,
    ),
    (
        "inline-task",
        r##"
1/0 TODO DONE.
1/1 "a"
2/15 TODO "inline"
3/15 "END" "after\n"
"##,
    ),
    (
        "keywords-behind",
        r##"
1/0 READ READY.
1/1 READ "this" "Text\n#+TODO: READ | READY\n"
4/1 READY "that"
"##,
    ),
    (
        "keywords-default",
        r##"
1/0 TODO DONE.
1/1 TODO "write"
2/1 DONE "rest"
3/1 "todo small"
4/1 TODO ""
5/1 "TODO: colon"
6/1 "TODOX"
7/1 "NEXT none here"
"##,
    ),
    (
        "keywords-in-block",
        r##"
1/0 YES DONE. "#+begin_src org\n#+TODO: NOT | HERE\n#+end_src\n#+begin_quote\n#+TODO: YES | DONE\n#+end_quote\n"
7/1 "NOT a"
8/1 YES "b"
"##,
    ),
    (
        "keywords-inner-unclosed",
        r##"
1/0 IN OUT. "#+begin_center\n#+begin_src\n#+TODO: IN | OUT\n#+end_center\n#+end_src\n"
6/1 IN "a"
"##,
    ),
    (
        "keywords-latex",
        r##"
1/0 C D. "\\begin{align}\n#+TODO: A | B\n\\end{align}\n\\begin{align} x \\end{align}\n#+TODO: C | D\n"
6/1 "A x"
7/1 C "y"
"##,
    ),
    (
        "keywords-sequence",
        r##"
1/0 TODO NEXT WAIT DONE. CXL. "#+TODO: TODO(t) NEXT(n!) WAIT(w@/!) | DONE(d!) CXL(c@)\n"
2/1 NEXT "call"
3/1 WAIT "for mail"
4/1 CXL "party"
5/1 DONE "x"
"##,
    ),
    (
        "keywords-two-lines",
        r##"
1/0 Anna Bert Gone. OPEN SHUT. "#+SEQ_TODO: OPEN | SHUT\n#+TYP_TODO: Anna Bert | Gone\n"
3/1 Anna "buys bread"
4/1 OPEN "door"
5/1 Gone "away"
6/1 "TODO no keyword"
"##,
    ),
    (
        "keywords-unclosed-block",
        r##"
1/0 SEEN DONE. "#+begin_example\n#+TODO: SEEN | DONE\n"
3/1 SEEN "the block is not closed" "#+end_example\n"
"##,
    ),
    (
        "keywords-unicode",
        r##"
1/0 要做 完成. "#+TODO: 要做 | 完成\n"
2/1 要做 "写信"
3/1 完成 "读书"
"##,
    ),
    (
        "keywords-without-bar",
        r##"
1/0 STEP1 STEP2 END. "#+todo: STEP1 STEP2 END\n"
2/1 STEP1 "a"
3/1 END "b"
"##,
    ),
    (
        "late-file-drawer",
        r##"
1/0 TODO DONE. "late" "#+title: late\n:PROPERTIES:\n:ID: no\n:END:\n"
5/1 "a"
"##,
    ),
    (
        "latin-1",
        r##"
1/0 TODO DONE.
1/1 "café" :été: "naïf\n"
"##,
    ),
    (
        "levels",
        r##"
1/0 TODO DONE.
1/3 "deep first"
2/1 "top"
3/5 "jump"
4/3 "back"
5/2 "more" "*no heading\n * nor this\n**\n"
"##,
    ),
    (
        "mixed-line-ends",
        r##"
1/0 TODO DONE.
1/1 "a :t:" "body\n"
3/1 "b"
"##,
    ),
    (
        "no-final-newline",
        r##"
1/0 TODO DONE.
1/1 "a"
2/2 "b" :t:
"##,
    ),
    (
        "odd-levels",
        r##"
1/0 TODO DONE. "#+STARTUP: odd\n"
2/1 "a"
3/3 "b"
4/5 "c"
5/3 "d"
"##,
    ),
    (
        "only-text",
        r##"
1/0 TODO DONE. "No heading at all.\n"
"##,
    ),
    (
        "plain",
        r##"
1/0 TODO DONE. "Text before.\n\n"
3/1 "One" "Body of one.\n"
5/2 "Two"
6/3 "Three"
7/1 "Four"
"##,
    ),
    (
        "planning-lower-case",
        r##"
1/0 TODO DONE.
1/1 "a" C<2026-01-01 Thu>
"##,
    ),
    (
        "planning-odd",
        r##"
1/0 TODO DONE.
1/1 "no date"
3/1 "twice" D<2026-02-02>
5/1 "text behind" S<2026-01-01 Thu>
7/1 "not first" "Text SCHEDULED: <2026-01-01>\n"
9/1 "second line" "\nSCHEDULED: <2026-01-01>\n"
12/1 "open"
14/1 "tab" S<2026-01-01>
16/1 "habit" S<2026-01-01 .+2d/4d>
18/1 "language" S<2026-01-01 jeu. 9:05>
"##,
    ),
    (
        "planning",
        r##"
1/0 TODO DONE.
1/1 TODO "a" S<2026-11-21 Sat 10:00-11:00 ++1w -2d> D<2026-12-01 Tue>
3/1 DONE "b" C[2026-11-20 Fri 09:15]
5/1 "c" D<2026-11-21 Sat>--<2026-11-23 Mon>
7/1 "d" S<%%(diary-float t 4 2)>
"##,
    ),
    (
        "priorities",
        r##"
1/0 TODO DONE.
1/1 #A "a"
2/1 TODO #B "b"
3/1 #C ""
4/1 "x [#A] y"
5/1 "[#AB] no"
6/1 #9 "digit"
7/1 #é "letter"
8/1 #A "[#B] two"
"##,
    ),
    (
        "right-to-left",
        r##"
1/0 TODO DONE.
1/1 TODO "شراء الخبز" :بيت: ID=ع "نص\n"
"##,
    ),
    (
        "tags-unicode",
        r##"
1/0 TODO DONE.
1/1 "a" :été:Straße:
2/1 "b" :日本:дом:
3/1 "c" :वन्दे:
4/1 "d :🦀:"
5/1 "e" :٣:
"##,
    ),
    (
        "tags",
        r##"
1/0 TODO DONE.
1/1 "a" :x:
2/1 "b" :x:y_1:@z:#q:%r:
3/1 "c" :x:
4/1 "" :only:
5/1 "d :x:" :y:
6/1 "e :x-y:"
7/1 "f ::"
8/1 "g" :x::y:
9/1 "h" :::
10/1 "i" :x:
11/1 "j ::" :k:
"##,
    ),
    (
        "title-and-file-drawer",
        r##"
1/0 TODO DONE. "The house and garden" ID=5d1c CATEGORY=house "#+TITLE: The house\n#+TITLE: and garden\n\n"
8/1 "Roof"
"##,
    ),
    (
        "utf-16",
        r##"
1/0 TODO DONE.
1/1 "é" :t:
"##,
    ),
];
