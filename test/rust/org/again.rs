//! What is read again after an edit is what is read of the whole text.

use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::index::Key;
use passepartout::domain::memory::query;
use passepartout::domain::memory::view::View;
use passepartout::domain::org::scan::{ScanOptions, scan, scan_again};
use proptest::prelude::*;
use std::sync::Arc;

/// Lines that an outline depends on, whole and in part.
fn org_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        6 => ("\\*{1,4}", "( TODO| NEXT| DONE)?", "( \\[#A\\])?", " [ab]{0,2}", "( :(x|private):)?")
            .prop_map(|(stars, todo, priority, title, tags)| format!("{stars}{todo}{priority}{title}{tags}\n")),
        2 => "(SCHEDULED|DEADLINE|CLOSED): (<2026-11-02 Mon>|soon)\n",
        2 => ":PROPERTIES:\n(:ID: [ab]\n|:Owner: Ann\n|odd\n){0,2}(:END:\n)?",
        1 => "#\\+(TITLE|FILETAGS|CATEGORY|STARTUP): :[ab]:\n",
        1 => "#\\+TODO: (TODO NEXT|NEXT) \\| DONE\n",
        1 => "#\\+(begin|end)_(src|quote)\n",
        1 => "[ \t]{0,2}#\\+TODO: A \\| B\n",
        1 => "# comment\n",
        2 => "(see \\[\\[id:[ab]\\]\\] )?[a-c é*#+:\r\t]{0,6}\n?",
    ];
    prop::collection::vec(line, 0..24).prop_map(|lines| lines.concat())
}

/// A text that is put in the place of another: of a whole line or of what may make or unmake one.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a\n* #:+é]{1,3}", org_text()]
}

fn check(old: &str, new: &str, options: &ScanOptions, before: &ScanOptions) {
    let previous = scan(old.into(), before).expect("it is small");
    let again = scan_again(&previous, new.into(), options).expect("it is small");
    let whole = scan(new.into(), options).expect("it is small");
    assert_eq!(format!("{again:#?}"), format!("{whole:#?}"), "{old:?}\n→ {new:?}");
}

fn place(text: &str, part: f64) -> usize {
    let mut at = (text.len() as f64 * part) as usize;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn edited(text: &str, from: f64, to: f64, piece: &str) -> String {
    let (from, to) = (place(text, from.min(to)), place(text, from.max(to)));
    format!("{}{piece}{}", &text[..from], &text[to..])
}

#[test]
fn what_makes_and_unmakes_headings() {
    let options = ScanOptions::default();
    let text = "#+TITLE: t\n* A\nSCHEDULED: soon\nx\n** TODO B :t:\n:PROPERTIES:\n:ID: b\nodd\n:END:\n* C\n";
    for at in 0..=text.len() {
        for piece in ["", "\n", "* ", "*", " ", "#+TODO: A | B\n", "\n* D\n"] {
            for gone in 0..4.min(text.len() - at + 1) {
                check(text, &format!("{}{piece}{}", &text[..at], &text[at + gone..]), &options, &options);
            }
        }
    }
    let others = ScanOptions { sequences: vec!["A | B".to_owned()], ..ScanOptions::default() };
    check("* A x\n* B y\n", "* A x\n* B yy\n", &others, &options);
}

proptest! {
    #[test]
    fn an_outline_that_is_read_again_is_that_of_the_text(
        text in org_text(), piece in piece(), from in 0.0..=1.0f64, length in 0.0..0.2f64
    ) {
        let options = ScanOptions::default();
        check(&text, &edited(&text, from, (from + length).min(1.0), &piece), &options, &options);
    }

    #[test]
    fn memory_after_many_edits_is_that_of_the_last_text(
        text in org_text(), edits in prop::collection::vec((piece(), 0.0..=1.0f64, 0.0..0.1f64), 1..8)
    ) {
        let (options, privacy) = (ScanOptions::default(), PrivacyOptions::default());
        let mut text = text;
        let build = |text: &str| Document::build("n.org", scan(text.into(), &options).expect("it is small"), &privacy);
        let mut document = Arc::new(build(&text));
        let mut view = View::default().with(document.clone());
        for (piece, from, length) in edits {
            text = edited(&text, from, (from + length).min(1.0), &piece);
            let next = Document::edited(&document, text.as_str().into(), &options, &privacy).expect("it is small");
            let outline = scan(text.as_str().into(), &options).expect("it is small");
            let fresh = Document::rebuild(&document, outline, &privacy);
            document = Arc::new(next);
            view.put(document.clone());
            prop_assert_eq!(&document.hashes, &build(&text).hashes);
            prop_assert_eq!(&document.hashes, &fresh.hashes);
            prop_assert_eq!(&document.ids, &fresh.ids);
            prop_assert_eq!(document.links(), fresh.links());
            prop_assert_eq!(document.card().as_ref(), fresh.card().as_ref());
            let whole = View::default().with(Arc::new(fresh));
            prop_assert_eq!(view.root(), whole.root());
            for key in [
                Key::Id("a"), Key::Tag("x"), Key::Tag("private"), Key::Keyword("TODO"), Key::Keyword("A"), Key::Open,
                Key::Done, Key::Property("OWNER"), Key::Value("OWNER", "Ann"), Key::Link("a"), Key::Link("b"),
            ] {
                prop_assert_eq!(query::count(&view, &key), query::count(&whole, &key), "{:?}", key);
            }
        }
    }
}
