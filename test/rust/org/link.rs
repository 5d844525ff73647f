//! The links of a text.

use passepartout::domain::org::link::{Abbreviations, Form, Kind, links};
use proptest::prelude::*;

/// Returns the links as `form kind target [| description]`.
fn found(text: &str) -> Vec<String> {
    let slice = |range: std::ops::Range<usize>| text[range].to_owned();
    links(text)
        .into_iter()
        .map(|link| {
            let description = link.description.map(|range| format!(" | {}", slice(range))).unwrap_or_default();
            format!("{:?} {:?} {}{description}", link.form, link.kind, slice(link.target))
        })
        .collect()
}

#[test]
fn links_are_found() {
    let check = |text: &str, links: &[&str]| assert_eq!(found(text), links, "{text}");
    check("see [[id:ab-1][the plan]] and [[id:c]].", &["Bracket Id ab-1 | the plan", "Bracket Id c"]);
    check(
        "[[file:a b.org::*H][x]] [[./c.png]] [[~/d]]",
        &["Bracket File a b.org::*H | x", "Bracket File ./c.png", "Bracket File ~/d"],
    );
    check(
        "[[*A heading]] [[#custom]] [[target]]",
        &["Bracket Heading A heading", "Bracket CustomId custom", "Bracket Search target"],
    );
    check("[[https://x.org/a?b=c][d [e] f]]", &["Bracket Web https://x.org/a?b=c | d [e] f"]);
    check(r"[[a\[b\]c][d]]", &[r"Bracket Search a\[b\]c | d"]);
    check(
        "[[attachment:p.pdf]] [[mailto:a@b.c]] [[elisp:(x)][run]]",
        &["Bracket Attachment p.pdf", "Bracket Other mailto:a@b.c", "Bracket Other elisp:(x) | run"],
    );
    check(
        "go to https://x.org/a_(b). Or (http://y.org), ok",
        &["Plain Web https://x.org/a_(b)", "Plain Web http://y.org"],
    );
    check("id:abc file:x.org, nohttp:x 時http://a.b", &["Plain Id abc", "Plain File x.org"]);
    check("<https://x.org/a b> <mailto:a@b.c> <b@c.d>", &["Angle Web https://x.org/a b", "Angle Other mailto:a@b.c"]);
    check("[[a\nb][c\nd]]", &["Bracket Search a\nb | c\nd"]);
    check("[[a\n\nb]] [[a][b\n\nc]] [[]] [[a][]] [[a [b]", &[]);
    check("[[x][[[id:a][b]]]]", &["Bracket Search x | [[id:a][b"]);
}

#[test]
fn verbatim_text_has_no_links() {
    let text = "\
[[id:a]]
#+begin_src org
[[id:b]]
#+END_SRC
: [[id:c]]
# [[id:d]]
#+begin_quote
[[id:e]]
#+end_quote
#+begin_example
[[id:f]]
";
    assert_eq!(found(text), ["Bracket Id a", "Bracket Id e", "Bracket Id f"]);
}

/// Abbreviations, links and what Org 9.7 makes of them.
#[test]
fn abbreviations_are_written_out() {
    let lines = "#+LINK: w https://w/%s\n#+LINK: \"two words\" x\n#+LINK: h file:%h.org\n#+LINK: l %(getenv)\n#+LINK: s %s/%s\n#+LINK: id0 id:\n#+LINK: w https://last/%s\n#+LINK: bare\n#+LINK: top *\n";
    let outline = super::outline(lines);
    let check = |link: &str, kind: Kind, path: &str| {
        let text = format!("[[{link}]]");
        let found = links(&text);
        let resolved = found[0].resolved(&text, &Abbreviations::of(&outline.abbreviations));
        assert_eq!((resolved.0, resolved.1.as_ref()), (kind, path), "{link}");
    };
    check("w", Kind::Web, "https://last/");
    check("w:x", Kind::Web, "https://last/x");
    check("w::x", Kind::Web, "https://last/x");
    check("two words:z", Kind::Search, "xz");
    check("h:é b", Kind::File, "%C3%A9%20b.org");
    check("h:a/b~c", Kind::File, "a%2Fb~c.org");
    check("s:x", Kind::Search, "x/%s");
    check("id0:abc", Kind::Id, "abc");
    check("top:A title", Kind::Heading, "A title");
    // No Lisp is run, and what has no replacement is no abbreviation.
    check("l:x", Kind::Search, "l:x");
    check("bare:x", Kind::Search, "bare:x");
    check("id:abc", Kind::Id, "abc");
    let plain = "w:x <w:x>";
    assert!(links(plain).is_empty());
}

#[test]
fn an_abbreviation_that_names_a_function_is_none() {
    for (stands_for, lisp) in [
        ("%(f)", true),
        ("a%(f)b", true),
        ("%()", false),
        ("%(", false),
        ("%(f", false),
        ("%()f)", false),
        ("%(%()", true),
        (")%(", false),
        ("%() %(f)", true),
        ("%(f%()", true),
    ] {
        let outline = super::outline(&format!("#+LINK: x {stands_for}\n"));
        let found = links("[[x:y]]");
        let (_, path) = found[0].resolved("[[x:y]]", &Abbreviations::of(&outline.abbreviations));
        assert_eq!(path == "x:y", lisp, "{stands_for}");
    }
}

/// Each link repeats what its abbreviation stands for.
#[test]
fn long_abbreviations_are_left_out() {
    let check = |length: usize, taken: usize| {
        let outline = super::outline(&format!("#+LINK: x {}\n", "a".repeat(length)));
        assert_eq!(outline.abbreviations.len(), taken, "{length}");
    };
    check(998, 1);
    check(999, 0);
}

#[test]
fn hostile_abbreviations_are_read_in_one_pass() {
    let quotes = "\"".repeat(2_000_000);
    let calls = format!("{} [[x]]", "%(".repeat(450));
    let many: String = (0..1_000).map(|n| format!("#+LINK: n{n} {}\n", "%(".repeat(490))).collect();
    let used = format!("{many}* A\n{}", "[[n0:y]]\n".repeat(200_000));
    for text in [format!("#+LINK: {quotes}\n"), format!("#+LINK: x {calls}\n"), used] {
        let document = crate::memory::document("a.org", &text);
        assert!(document.links().is_empty());
    }
}

/// Quadratic work on any of these would take minutes.
#[test]
fn hostile_text_is_read_in_one_pass() {
    for piece in [
        "[[a ",
        "[[a][",
        "[[",
        "[",
        "<http:",
        "<",
        "http:",
        ":",
        "[[a]",
        "#+begin_src\n",
        "[[a\\[",
        "file:(",
        "[[a][b]\n\n",
        ": \n",
        "http:::",
    ] {
        let text = piece.repeat(250_000 / piece.len());
        let found = links(&text);
        assert!(found.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start), "{piece}");
    }
}

proptest! {
    #[test]
    fn ranges_are_good(text in "([\\[\\]<>:a# \\n]|id:|http:|é|\\[\\[|\\]\\]|\\]\\[|#\\+begin_src|#\\+end_src){0,40}") {
        let mut end = 0;
        for link in links(&text) {
            prop_assert!(link.range.start >= end && text.get(link.range.clone()).is_some());
            prop_assert!(!link.target.is_empty() || matches!(link.kind, Kind::Heading | Kind::CustomId | Kind::Id | Kind::File | Kind::Attachment));
            prop_assert!(text.get(link.target.clone()).is_some());
            prop_assert!(link.form == Form::Bracket || link.description.is_none());
            end = link.range.end;
        }
    }
}
