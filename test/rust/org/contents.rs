//! What stands inside a section, and that looking there ends.

use passepartout::domain::org::contents::{Check, Contents, Limits, check};
use passepartout::edge::contents::{LookError, look};
use std::time::{Duration, Instant};

fn inside(text: &str) -> Contents {
    look(&[text]).remove(0).unwrap()
}

#[test]
fn tables_are_data() {
    let text = "Words\n| a | b |\n|---+---|\n| 1 | x y |\n|  |\n#+TBLFM: $1=1\n";
    let found = inside(text);
    assert_eq!(found.tables.len(), 1);
    let table = &found.tables[0];
    assert_eq!(table.rows, [vec!["a", "b"], vec!["1", "x y"], vec![]]);
    assert_eq!(table.header, 1);
    assert!(text[table.range.clone()].starts_with("| a |"), "{:?}", &text[table.range.clone()]);
}

#[test]
fn items_have_depth_and_boxes() {
    let text = "- [ ] milk\n  - [X] white\n  - [-] brown\n- plain\n\n\n1. [ ] one\n- term :: what\n";
    let found = inside(text);
    let items: Vec<_> = found.items.iter().map(|item| (item.depth, item.check, item.text.as_str())).collect();
    assert_eq!(
        items,
        [
            (0, Some(Check::Open), "milk"),
            (1, Some(Check::Done), "white"),
            (1, Some(Check::Partly), "brown"),
            (0, None, "plain"),
            (0, Some(Check::Open), "one"),
            (0, None, "term :: what"),
        ]
    );
    assert!(text[found.items[0].range.clone()].contains("brown"));
}

#[test]
fn blocks_and_footnotes_are_found() {
    let text = ":PROPERTIES:\n:NO: drawer\n:END:\n#+begin_src rust :x y\nfn a() {}\n#+end_src\n\n#+BEGIN_QUOTE\n| in | it |\n#+END_QUOTE\n\n[fn:one] A note.\n";
    let found = inside(text);
    let blocks: Vec<_> = found.blocks.iter().map(|block| (block.kind.as_str(), block.language.as_deref())).collect();
    assert_eq!(blocks, [("src", Some("rust")), ("quote", None)]);
    assert!(text[found.blocks[0].range.clone()].trim_end().ends_with("#+end_src"));
    assert_eq!(found.footnotes.iter().map(|note| note.label.as_str()).collect::<Vec<_>>(), ["one"]);
    assert_eq!(found.tables.len(), 1);
}

#[test]
fn what_is_too_large_says_so() {
    let refused = |text: &str| look(&[text]).remove(0).unwrap_err();
    assert_eq!(refused(&"a\n".repeat(40_000)), LookError::Limits(Limits::Bytes(80_000)));
    assert_eq!(refused(&"a\n".repeat(4_000)), LookError::Limits(Limits::Lines(4_001)));
    assert_eq!(refused(&" *a".repeat(5_000)), LookError::Limits(Limits::Markers));
    assert_eq!(refused(&"#+begin_src\n".repeat(1_000)), LookError::Limits(Limits::Marks(1_000)));
    assert_eq!(refused(&format!("{}- a\n", " ".repeat(200))), LookError::Limits(Limits::Depth));
    insta::assert_snapshot!(refused(&" *a".repeat(5_000)), @"too many markers stand in one paragraph to look inside");
}

/// Each piece, repeated as often as the limits let through, on lines of its own and in one line.
#[test]
fn whatever_is_let_through_ends_soon() {
    // A debug build is several times slower than what users run.
    let most = Duration::from_millis(if cfg!(debug_assertions) { 1_500 } else { 50 });
    let pieces = [
        " *a",
        " /a",
        " =a",
        "*",
        "=",
        "[",
        "[[",
        "{{{",
        "\\(",
        "_{",
        "call_",
        "src_",
        "call_a(",
        "src_a{",
        "[fn:x:",
        "a_{",
        "#+name: x\n",
        "#+begin_src\n",
        "#+begin_x\n",
        ":drawer:\n",
        "\\begin{a}\n",
        "| a ",
        "|\n",
        "- a\n",
        "  - a\n",
        "<<",
        "<<<",
        "@@",
        "$a",
        "$",
        "^{",
        "[1/",
        "<2026-01-01 ",
        "&",
        "\\a",
        "a ",
        "\n",
        "::",
        "- a :: ",
        "[[a][",
        "-",
        "1. ",
        "#+begin_quote\n",
        "+a",
        "~",
        "CLOCK: ",
        "%%(",
        ": ",
        "# ",
        "[fn:1] a\n",
        "*a* ",
        "[ ] ",
        "é",
        "漢",
    ];
    let mut slowest = (Duration::ZERO, "");
    for piece in pieces {
        // The most that is let through, by halving.
        let fits = |count: usize| check(&piece.repeat(count)).is_ok();
        let (mut low, mut high) = (1usize, (32 << 10) / piece.len() + 1);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if fits(middle) { low = middle } else { high = middle }
        }
        let text = piece.repeat(low);
        let begun = Instant::now();
        let found = look(&[&text]).remove(0);
        let took = begun.elapsed();
        assert!(found.is_ok(), "{piece:?} times {low}: {found:?}");
        slowest = slowest.max((took, piece));
        assert!(took < most, "{piece:?} times {low} ({} bytes) took {took:?}", text.len());
    }
    println!("slowest: {slowest:?}");
}
