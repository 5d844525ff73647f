//! Hostile but legal text: no panic, no depth, no more than linear work, ranges that hold.

use super::outline;
use passepartout::domain::id::ObjectHash;
use passepartout::domain::label::Privacy;
use passepartout::domain::org::outline::Outline;
use passepartout::domain::org::scan::{ScanOptions, TooLarge, scan};
use passepartout::domain::org::setup::{SetupText, SetupTexts, Setups, is_elsewhere};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn sound(outline: &Outline) {
    let text = &outline.text;
    assert!(!outline.nodes.is_empty());
    for (index, node) in outline.nodes.iter().enumerate() {
        let parent = &outline.nodes[node.parent as usize];
        assert!(index == 0 || (node.parent as usize) < index && parent.level < node.level && node.end <= parent.end);
        assert!(node.begin <= node.section.start && node.section.end <= node.end && node.end as usize <= text.len());
        assert!(node.section.start <= node.body.start && node.body.end == node.section.end);
        let mut ranges = vec![&node.section, &node.body, &node.title];
        ranges.extend([&node.scheduled, &node.deadline, &node.closed].into_iter().flatten());
        for range in ranges {
            assert!(text.get(range.start as usize..range.end as usize).is_some(), "{range:?}");
        }
        assert_eq!(index == 0, node.level == 0);
    }
    // Headlines and sections tile the text.
    for pair in outline.nodes.windows(2) {
        assert_eq!(pair[0].section.end, pair[1].begin);
    }
    assert_eq!(outline.nodes.last().map(|node| node.section.end as usize), Some(text.len()));
}

/// A quarter of a megabyte each: quadratic work on any of these would take minutes.
#[test]
fn repeated_pieces_are_read_in_one_pass() {
    let pieces = [
        "*",
        " *a",
        "\t",
        " ",
        ":a",
        "::",
        "#+",
        "<2020-01-01 ",
        "x",
        "漢",
        "\r\n",
        "\u{c}\n",
        "* \n",
        "*\n",
        "* H\n",
        "* H\n** I\n",
        "#+begin_src a\n",
        "#+end_src\n",
        "#+begin_quote\n",
        ":DR:\n",
        ":END:\n",
        "\\begin{a}\n",
        "\\end{a}",
        "#+TODO: A | B\n",
        "#+FILETAGS: :a:b:\n",
        "#+begin_src\n#+TODO: A\n",
        ":PROPERTIES:\n",
        "* h\n:PROPERTIES:\n:ID: a\n",
        "* h\nSCHEDULED: <2020-01-01 \n",
        "SCHEDULED:",
        "# a\n",
        "#+STARTUP: odd\n",
    ];
    for piece in pieces {
        let many = piece.repeat(250_000 / piece.len());
        for text in [
            many.clone(),
            format!("* h {many}:"),
            format!("* h\nSCHEDULED: {many}"),
            format!("* h\n:PROPERTIES:\n{many}:END:\n"),
            format!("{many}\n#+TODO: A | B\n"),
        ] {
            match scan(text.into(), &ScanOptions::default()) {
                Ok(outline) => sound(&outline),
                Err(error) => panic!("{piece:?}: {error}"),
            }
        }
    }
}

/// Hands in setup files, and counts how often it is asked.
#[derive(Default)]
struct Counting(AtomicUsize);

impl SetupTexts for Counting {
    fn place(&self, _: &str, name: &str) -> String {
        self.0.fetch_add(1, Ordering::Relaxed);
        name.to_owned()
    }

    fn text(&self, path: &str) -> Result<SetupText, String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let hash = ObjectHash::new([0; 32]);
        match path.starts_with('n') || is_elsewhere(path) {
            true => Err("there is no such file".to_owned()),
            false => Ok(SetupText { text: "#+SETUPFILE: a\n".repeat(10_000).into(), hash, privacy: Privacy::Open }),
        }
    }
}

/// However often a file names setup files, and whether or not they are there: few are looked for.
#[test]
fn many_setup_lines_are_little_work() {
    let many = |name: &dyn Fn(usize) -> String| (0..350_000).map(|n| format!("#+SETUPFILE: {}\n", name(n))).collect();
    for (private, text) in [
        (true, many(&|n| format!("n{n}"))),
        (true, many(&|_| "n".to_owned())),
        (true, many(&|n| format!("f{n}"))),
        (true, many(&|_| "main".to_owned())),
        (false, many(&|n| format!("https://example.org/{n}"))),
    ] {
        let text: String = text;
        let counting = Arc::new(Counting::default());
        let options = ScanOptions { setups: Setups::new(counting.clone()), ..ScanOptions::default() };
        let outline = scan(text.as_str().into(), &options.of("main")).expect("it is not too large");
        sound(&outline);
        let asked = counting.0.load(Ordering::Relaxed);
        assert!(asked <= 80 && outline.setups.len() <= 40, "{asked} questions for {}", &text[..40]);
        assert_eq!(outline.setups.iter().any(|setup| setup.privacy == Privacy::Private), private, "{}", &text[..40]);
    }
}

#[test]
fn nesting_is_no_depth() {
    let stairs: String = (1..2000).map(|level| format!("{} x\n", "*".repeat(level))).collect();
    let outline = outline(&stairs);
    sound(&outline);
    assert_eq!(outline.nodes.last().unwrap().level, 1999);
    let blocks: String = (0..30_000).map(|i| format!("#+begin_b{i}\n")).collect::<String>() + "#+TODO: A\n";
    assert_eq!(super::outline(&blocks).keywords.len(), 1);
    // More stars than a level can count are still one headline each.
    let wide = format!("{} a\n{} b\n", "*".repeat(70_000), "*".repeat(80_000));
    let outline = super::outline(&wide);
    sound(&outline);
    assert_eq!(outline.nodes.len(), 3);
}

#[test]
fn too_many_headings_are_refused() {
    let text = "* \n".repeat(1_000_001);
    let error = scan(text.into(), &ScanOptions::default()).unwrap_err();
    assert_eq!(error, TooLarge::Headings);
    insta::assert_snapshot!(error.to_string(), @"more than a million headings; such a file is not read. Split it into several files");
    insta::assert_snapshot!(TooLarge::Bytes(600_000_000).to_string(), @"600000000 bytes; an Org file of more than 500 MB is not read. Split it into several files");
}

#[test]
fn many_tags_are_kept_once_each() {
    let text = format!("* h {}:private:\n", ":a".repeat(100_000));
    assert_eq!(&*outline(&text).nodes[1].tags, [Box::from("a"), Box::from("private")]);
}

proptest! {
    #[test]
    fn any_text_has_a_sound_outline(text in any::<String>()) {
        sound(&outline(&text));
    }

    #[test]
    fn any_mixture_of_pieces_has_a_sound_outline(pieces in proptest::collection::vec(
        proptest::sample::select(vec![
            "* ", "** ", "*", "TODO ", "[#A] ", "COMMENT ", "é", "漢", " ", "\t", "\n", "\r\n", ":a:", ":", ":PROPERTIES:\n", ":ID: x\n", ":END:\n",
            "SCHEDULED: ", "closed: ", "<2026-11-21 Sat +1w>", "<", "]", "--", "#+TODO: A(a) | B\n", "#+FILETAGS: :x:\n", "#+begin_src\n", "#+end_src\n", "# c\n",
        ]), 0..60)) {
        let outline = outline(&pieces.concat());
        sound(&outline);
        for index in 0..outline.nodes.len() {
            prop_assert_eq!(outline.at(outline.nodes[index].begin as usize) >= index, true);
            let after = outline.after(index);
            prop_assert!(outline.nodes.get(after).is_none_or(|next| next.begin >= outline.nodes[index].end));
        }
    }
}
