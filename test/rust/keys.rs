//! Keys of headings without an `ID`: what is edited elsewhere in the file, or above them, leaves them as they are.

use crate::support::engine::Home;
use passepartout::domain::id::NodeId;
use passepartout::domain::memory::card::Card;
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::view::View;
use passepartout::domain::org::outline::Outline;
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::edge::engine::Engine;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

fn outline(text: &str) -> Outline {
    scan(text.into(), &ScanOptions::default()).expect("it is small")
}

fn first(text: &str) -> Document {
    Document::build("n.org", outline(text), &PrivacyOptions::default())
}

fn then(before: &Document, text: &str) -> Document {
    Document::rebuild(before, outline(text), &PrivacyOptions::default())
}

fn then_cold(before: &Document, text: &str) -> Document {
    Document::rebuild_cold(&Card::of(before), outline(text), &PrivacyOptions::default())
}

fn ids(document: &Document) -> Vec<&str> {
    document.ids.iter().skip(1).map(|id| id.as_str().strip_prefix("n.org::*").unwrap_or(id.as_str())).collect()
}

/// Whatever was done to it, a document is consistent with itself and with its card, and survives a restart.
fn sound(document: Document) -> Document {
    let unique: HashSet<_> = document.ids.iter().collect();
    assert_eq!(unique.len(), document.ids.len(), "{:?}", document.ids);
    let card = Card::of(&document);
    let read = Card::decode(card.file.clone(), card.root(), card.modified(), &card.encode());
    let read = read.expect("it was written a moment ago");
    assert_eq!(read, card);
    for (index, id) in document.ids.iter().enumerate() {
        assert_eq!(read.id(index), *id, "{:?}", document.outline.text);
        assert_eq!(read.index_of(id), Some(index));
    }
    let mut again = first(&document.outline.text);
    again.name_as(&read);
    assert_eq!((&again.ids, again.links()), (&document.ids, document.links()));
    document
}

#[test]
fn an_edit_elsewhere_leaves_keys_as_they_are() {
    let check = |before: &str, after: &str, expect: &[&str]| {
        let before = first(before);
        assert_eq!(ids(&sound(then(&before, after))), expect, "{after}");
        assert_eq!(ids(&sound(then_cold(&before, after))), expect, "cold: {after}");
    };
    // A title above, alone and with more of the text.
    check("* A\n** B\n*** C\n* D\n", "* Z\n** B\n*** C\n* D\n", &["A", "A/B", "A/B/C", "D"]);
    check("* A\n** B\nb\n** C\nc\n", "* Z\n** New\n** B\nb\n** C\nc!\n", &["A", "A/New", "A/B", "A/C"]);
    // A like-named sibling comes before, behind, and goes.
    check("* A\none\n", "* A\na new one\n* A\none\n", &["A#2", "A"]);
    check("* A\none\n", "* A\none\n* A\nnew\n", &["A", "A#2"]);
    check("* A\n* A\nthe second\n* A\nthree\n", "* A\n* A\nthree\n", &["A", "A#3"]);
    check("* A\n** B\n* A\n** C\n", "* A\n** C\n", &["A#2", "A/C"]);
    check("* A\n** C\n", "* A\n* A\n** C\n", &["A#2", "A", "A/C"]);
    // Siblings change places, and like-named ones below different parents are told apart.
    check("* A\n** x\n* B\n** x\n", "* B\n** x\n* A\n** x\n", &["B", "B/x", "A", "A/x"]);
    check("* A\n** x\n* A\n** y\n", "* A\n** y\n* A\n** x\n", &["A#2", "A/y", "A", "A/x"]);
    // A heading moves below another one, and the one above it goes.
    check("* A\n** x\nsome text\n* B\n", "* A\n* B\n** x\nsome text\n", &["A", "B", "A/x"]);
    check("* A\n** B\n*** C\n", "* A\n** C\n", &["A", "A/B"]);
    // Its own title: the place says that it is the same.
    check("* A\n* B\n* C\n", "* A\n* Bee\n* C\n", &["A", "B", "C"]);
    check("* A\n* B\nb\n* C\n", "* A\n* Bee\nbee\n* C\n* D\n", &["A", "B", "C", "D"]);
    // Its own title elsewhere below the same parent says more than its place.
    check("* A\n* B\nb\n* C\n", "* A\n* Bee\nbee\n* C\n* B\n", &["A", "Bee", "C", "B"]);
    // An ID is the identity; who loses it is named anew, and who has it twice gets the plain one when it is free.
    check("* A\n:PROPERTIES:\n:ID: i\n:END:\n** B\n", "* Z\n:PROPERTIES:\n:ID: i\n:END:\n** B\n", &["i", "A/B"]);
    check("* A\n:PROPERTIES:\n:ID: i\n:END:\n** B\n", "* A\n** B\n", &["A", "A/B"]);
    let twice = "* A\n:PROPERTIES:\n:ID: i\n:END:\n* B\n:PROPERTIES:\n:ID: i\n:END:\n";
    check(twice, "* B\n:PROPERTIES:\n:ID: i\n:END:\n", &["i"]);
    check("", "* A\n", &["A"]);
    check("* A\n", "", &[]);
}

#[test]
fn a_body_says_what_a_title_does_not() {
    let before = first("* A\nthe words of A\n* B\n* C\nthe words of C\n");
    let after = then(&before, "* B\n* Sea\nthe words of C\n* Ay\nthe words of A\n");
    assert_eq!(ids(&sound(after)), ["B", "C", "A"]);
}

#[test]
fn keys_come_along_over_many_edits_and_new_ones_never_collide() {
    let mut document = first("* A\n** x\n");
    for n in 0..5 {
        document = sound(then(&document, &format!("* Title {n}\n** x\n")));
        assert_eq!(ids(&document), ["A", "A/x"]);
    }
    // What would be called as they are gets a number.
    let document = sound(then(&document, "* Title 4\n** x\n* A\n** x\n"));
    assert_eq!(ids(&document), ["A", "A/x", "A#2", "A/x#2"]);
    let document = sound(then(&document, "* A\n** x\n"));
    assert_eq!(ids(&document), ["A#2", "A/x#2"]);
}

#[test]
fn keywords_that_are_read_otherwise_leave_keys_as_they_are() {
    let before = first("* NEXT one\n** two\n");
    let after = then(&before, "#+TODO: NEXT | DONE\n* NEXT one\n** two\n");
    assert_eq!(ids(&sound(after)), ["NEXT one", "NEXT one/two"]);
}

#[test]
fn an_edit_names_nothing_but_what_is_new() {
    let text: String = (0..2_000).map(|n| format!("* Heading {n}\n** Below\n")).collect();
    let before = first(&text);
    let check = |text: &str, names: usize| assert_eq!(then(&before, text).anew.names, names);
    check(&text.replacen("Heading 1000\n", "Heading!\n", 1), 0);
    check(&text.replacen("* Heading 1000\n", "* New\n* Heading 1000\n", 1), 1);
    check(&format!("* Heading 2000\n{text}"), 1);
    check(&text.replacen("* Heading 7\n", "", 1), 0);
}

#[test]
fn what_memory_finds_by_a_key_stays_found() {
    let view = View::default().with(Arc::new(first("* A\n** B\nsee [[*B]]\n")));
    let id = NodeId::new("n.org::*A/B");
    let file: Arc<str> = "n.org".into();
    let after = view.follow(&file, outline("* Z\n** B\nsee [[*B]]\n"), &PrivacyOptions::default());
    let view = view.with(Arc::new(after));
    let found = view.get(&id).expect("its key is the same");
    assert_eq!((found.title(), found.id()), ("B", &id));
    assert_eq!(view.backlinks(&id).len(), 1, "links to a heading follow its key");
    assert!(view.get(&NodeId::new("n.org::*Z/B")).is_none());
}

/// However deep and alike the headings of a file are, no edit takes longer than reading it.
#[test]
fn hostile_edits_take_no_longer() {
    let size = 30_000;
    let alike = "* a\n".repeat(size);
    let deep: String = (1..2_000).map(|n| format!("{} t\n", "*".repeat(n))).collect();
    let stairs: String = (0..200).flat_map(|_| (1..100).map(|n| format!("{} t\n", "*".repeat(n)))).collect();
    for text in [alike, deep, stairs] {
        let begin = std::time::Instant::now();
        let before = first(&text);
        let once = begin.elapsed();
        for after in [
            text.replace("a\n", "b\n").replace("t\n", "u\n"),
            format!("* a\n{text}"),
            text.lines().rev().map(|line| format!("{line}\n")).collect(),
            text.lines().enumerate().map(|(n, line)| format!("{line}{}\n", n % 7)).collect(),
        ] {
            for follow in [then, then_cold] {
                let begin = std::time::Instant::now();
                let document = follow(&before, &after);
                assert!(begin.elapsed() < once * 20 + std::time::Duration::from_secs(5), "{:?}", begin.elapsed());
                assert_eq!(document.ids.iter().collect::<HashSet<_>>().len(), document.ids.len());
            }
        }
    }
}

/// A heading of which the test knows which one it is.
#[derive(Clone, Debug)]
struct Heading {
    who: u32,
    level: usize,
    title: String,
    body: String,
}

/// One edit of a file.
#[derive(Clone, Debug)]
enum Edit {
    Insert(usize, usize, String),
    Remove(usize),
    Rename(usize, String),
    Write(usize, String),
    /// A subtree changes places with the one behind it.
    Swap(usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        3 => (0..99usize, 1..4usize, "[ab]").prop_map(|(at, level, title)| Edit::Insert(at, level, title)),
        2 => (0..99usize).prop_map(Edit::Remove),
        3 => (0..99usize, "[abc]{0,2}").prop_map(|(at, title)| Edit::Rename(at, title)),
        2 => (0..99usize, "[xy]{0,3}").prop_map(|(at, body)| Edit::Write(at, body)),
        3 => (0..99usize).prop_map(Edit::Swap),
    ];
    prop::collection::vec(edit, 1..12)
}

fn text_of(headings: &[Heading]) -> String {
    headings.iter().map(|h| format!("{} {}\n{}", "*".repeat(h.level), h.title, h.body)).collect()
}

fn end_of(headings: &[Heading], at: usize) -> usize {
    let level = headings[at].level;
    (at + 1..headings.len()).find(|i| headings[*i].level <= level).unwrap_or(headings.len())
}

fn parent_of(headings: &[Heading], at: usize) -> Option<u32> {
    (0..at).rev().find(|i| headings[*i].level < headings[at].level).map(|i| headings[i].who)
}

/// Carries an edit out; returns who was touched: who was made, renamed or written.
fn edited(headings: &mut Vec<Heading>, edit: &Edit, next: &mut u32) -> Option<u32> {
    let size = headings.len();
    match edit {
        Edit::Insert(at, level, title) => {
            let who = *next;
            *next += 1;
            let heading = Heading { who, level: *level, title: title.clone(), body: String::new() };
            headings.insert(at % (size + 1), heading);
            return Some(who);
        }
        _ if size == 0 => {}
        Edit::Remove(at) => {
            let at = at % size;
            headings.drain(at..end_of(headings, at));
        }
        Edit::Rename(at, title) => {
            headings[at % size].title = title.clone();
            return Some(headings[at % size].who);
        }
        Edit::Write(at, body) => {
            let heading = &mut headings[at % size];
            heading.body = if body.is_empty() { String::new() } else { format!("{body}\n") };
            return Some(heading.who);
        }
        Edit::Swap(at) => {
            let (at, middle) = (at % size, end_of(headings, at % size));
            if middle < size && headings[middle].level == headings[at].level {
                let end = end_of(headings, middle);
                headings[at..end].rotate_left(middle - at);
            }
        }
    }
    None
}

/// Who cannot be told from another one, before or after an edit, or stands below somebody who cannot.
fn doubtful(before: &[Heading], after: &[Heading]) -> HashSet<u32> {
    let mut seen: HashMap<(Option<u32>, String), HashSet<u32>> = HashMap::new();
    for headings in [before, after] {
        for at in 0..headings.len() {
            let text = text_of(&headings[at..end_of(headings, at)]);
            seen.entry((parent_of(headings, at), text)).or_default().insert(headings[at].who);
        }
    }
    let mut found: HashSet<u32> = seen.into_values().filter(|who| who.len() > 1).flatten().collect();
    for headings in [before, after] {
        for at in 0..headings.len() {
            if parent_of(headings, at).is_some_and(|who| found.contains(&who)) {
                found.insert(headings[at].who);
            }
        }
    }
    found
}

proptest! {
    #[test]
    fn whoever_is_not_touched_keeps_its_key(edits in edits(), start in 0..8usize) {
        let mut next = 100;
        let mut headings: Vec<Heading> = (0..start)
            .map(|n| Heading { who: n as u32, level: 1 + n % 3, title: ["a", "b"][n / 2 % 2].into(), body: String::new() })
            .collect();
        let mut document = sound(first(&text_of(&headings)));
        for edit in &edits {
            let before = headings.clone();
            let touched = edited(&mut headings, edit, &mut next);
            let after = sound(then(&document, &text_of(&headings)));
            sound(then_cold(&document, &text_of(&headings)));
            let keys: HashMap<u32, &NodeId> = before.iter().zip(document.ids.iter().skip(1)).map(|(h, id)| (h.who, id)).collect();
            let doubtful = doubtful(&before, &headings);
            for (heading, id) in headings.iter().zip(after.ids.iter().skip(1)) {
                let sure = touched != Some(heading.who) && !doubtful.contains(&heading.who);
                if let Some(had) = keys.get(&heading.who).filter(|_| sure) {
                    prop_assert_eq!(*had, id, "{:?}\n{}\n{}", edit, text_of(&before), text_of(&headings));
                }
            }
            document = after;
        }
    }

    #[test]
    fn whatever_becomes_of_a_file_keys_are_sound(texts in prop::collection::vec("((\\*{1,3} [ab]{0,2}|[xy]{0,2}|:ID: [ij])\n){0,9}", 1..6)) {
        let mut document = sound(first(&texts[0]));
        for text in &texts {
            sound(then_cold(&document, text));
            document = sound(then(&document, text));
        }
    }
}

/// A key outlives the program, other settings of how files are read, and a new name of its file.
#[tokio::test(flavor = "multi_thread")]
async fn keys_outlive_the_program_and_follow_a_renamed_file() {
    let home = Home::new(&[("a.org", "* A\n** B\nsome words\n"), ("b.org", "* Other\n")]);
    let found = |engine: &Engine, id: &str| {
        let node = engine.view().get(&NodeId::new(home.file(id)))?;
        let document = node.document().expect("its text is there");
        assert_eq!(document.ids[node.index], *node.id(), "the text is called as the card says");
        Some(node.title().to_string())
    };
    let first = home.engine().await;
    home.read(&first).await;
    for text in ["* Z\n** B\nsome words\n", "* Z\n** B\nsome words\n* A\n"] {
        std::fs::write(home.file("a.org"), text).expect("a file");
        home.read(&first).await;
    }
    assert_eq!(found(&first, "a.org::*A/B").as_deref(), Some("B"));
    assert_eq!(found(&first, "a.org::*A#2").as_deref(), Some("A"));
    first.close().await;
    for tags in [["private"], ["secret"]] {
        let again = home.engine_with(|config| config.private_tags = tags.map(Into::into).to_vec()).await;
        assert_eq!(found(&again, "a.org::*A/B").as_deref(), Some("B"), "{tags:?}");
        assert_eq!(found(&again, "a.org::*A").as_deref(), Some("Z"), "{tags:?}");
        again.close().await;
    }
    let last = home.engine().await;
    std::fs::write(home.file("a.org"), "* Why\n** B\nmore than some words\n* A\n").expect("a file");
    home.read(&last).await;
    assert_eq!(found(&last, "a.org::*A/B").as_deref(), Some("B"), "known again by its card");
    std::fs::rename(home.file("a.org"), home.file("c.org")).expect("renamed");
    home.read(&last).await;
    assert_eq!(found(&last, "c.org::*A/B").as_deref(), Some("B"));
    assert_eq!(found(&last, "c.org::*A").as_deref(), Some("Why"));
}

/// Two states of a file with the same text may call a heading differently: each view has its own names.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_text_at_another_time_keeps_the_names_of_that_time() {
    let home = Home::new(&[("a.org", "* A\n")]);
    let engine = home.engine().await;
    home.read(&engine).await;
    engine.flush().await.expect("it is saved");
    let old = engine.view();
    let name = |view: &View| {
        let document = view.document(&home.file("a.org")).expect("its text is there");
        assert_eq!(view.card(&home.file("a.org")).expect("it is there").id(1), document.ids[1]);
        document.ids[1].as_str().to_string()
    };
    for text in ["* C\n", "* A\n* C\n", "* A\n"] {
        std::fs::write(home.file("a.org"), text).expect("a file");
        home.read(&engine).await;
        engine.flush().await.expect("it is saved");
    }
    let new = engine.view();
    assert_eq!(old.root(), new.root(), "the texts are the same");
    for _ in 0..2 {
        assert_eq!((name(&old), name(&new)), (home.file("a.org::*A"), home.file("a.org::*A#2")));
    }
}
