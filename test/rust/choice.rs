//! What comes into a context: which evidence counts, what is near, and how much is looked at for it.

use jiff::civil::date;
use passepartout::domain::context::lexical::Index;
use passepartout::domain::context::rank::search;
use passepartout::domain::context::{Audience, Context, Included, Rendered, Request, assemble};
use passepartout::domain::id::{NodeId, ObjectHash};
use passepartout::domain::label::Privacy;
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::shape::Shape;
use passepartout::domain::memory::shelf::{Shelf, Texts};
use passepartout::domain::memory::view::View;
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::port::{CountTokens, Nearness};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Words are tokens; it says how many it counted.
#[derive(Default)]
struct Words(AtomicUsize);

impl CountTokens for Words {
    fn count(&self, text: &str) -> usize {
        let words = text.split_whitespace().count();
        self.0.fetch_add(words, Ordering::Relaxed);
        words
    }
}

/// Finds what it was told.
#[derive(Debug)]
struct Told {
    text: Vec<(&'static str, f32)>,
    node: Vec<(&'static str, f32)>,
}

fn told(nodes: &[(&'static str, f32)], most: usize) -> Vec<(NodeId, f32)> {
    nodes.iter().take(most).map(|(id, cosine)| (NodeId::new(*id), *cosine)).collect()
}

impl Nearness for Told {
    fn near_text(&self, _: &str, most: usize) -> Vec<(NodeId, f32)> {
        told(&self.text, most)
    }

    fn near_node(&self, _: &NodeId, most: usize) -> Vec<(NodeId, f32)> {
        told(&self.node, most)
    }
}

fn document(file: &str, text: &str) -> Document {
    let outline = scan(Arc::from(text), &ScanOptions::default()).expect("a small text");
    Document::build(file, outline, &PrivacyOptions::default())
}

fn memory(files: &[(&str, &str)]) -> (View, Index) {
    let put = |view: View, (file, text): &(&str, &str)| view.with(Arc::new(document(file, text)));
    let view = files.iter().fold(View::default(), put);
    let index = Index::of(&view);
    (view, index)
}

fn request(max_tokens: usize) -> Request<'static> {
    Request {
        focus: None,
        query: None,
        max_tokens,
        audience: Audience::Remote(Privacy::ELSEWHERE),
        now: date(2026, 3, 14).at(9, 0, 0, 0),
        deadline_minutes: 60,
        project_tag: "project",
        changed: &[],
        apart: false,
        explained: false,
        nearness: None,
        most_at_point: usize::MAX,
        near_cosine: passepartout::domain::context::rank::NEAR_COSINE,
        pinned: &[],
        unpinned: &[],
        quoting: None,
    }
}

fn included<'a>(context: &'a Context, id: &str) -> Option<&'a Included> {
    context.nodes.iter().find(|node| node.id.as_str() == id)
}

fn reason(context: &Context, id: &str) -> Option<String> {
    included(context, id).filter(|node| node.rendered == Rendered::Full).map(|node| node.reason.to_string())
}

/// A file whose headings are called by their ids, in the order that is given, with unrelated ones between.
fn headings(file: &'static str, headings: &[(&str, &str)]) -> (&'static str, String) {
    let far = "* Other\n* Other\n* Other\n* Other\n* Other\n";
    let one = |(id, text): &(&str, &str)| format!("* {id}\n:PROPERTIES:\n:ID: {id}\n:END:\n{text}\n{far}");
    (file, headings.iter().map(one).collect())
}

#[test]
fn a_meaning_that_is_near_is_shown_in_full() {
    let notes = headings(
        "notes.org",
        &[
            ("ship", "The ship leaves at noon."),
            ("ferry", "It crosses the strait daily."),
            ("bread", "Flour and water."),
            ("vault :private:", "Hidden."),
            ("both", "A ship of wood."),
        ],
    );
    let (view, index) = memory(&[(notes.0, &notes.1)]);
    let nearness = Told {
        text: vec![
            ("bread", 0.6),
            ("vault :private:", 0.99),
            ("nowhere", 0.9),
            ("ship", f32::NAN),
            ("both", 0.8),
            ("ferry", 0.8149),
            ("ferry", 0.3),
        ],
        node: vec![("bread", 0.76)],
    };
    let ask = Request { query: Some("ship"), nearness: Some(&nearness), ..request(4000) };
    let context = assemble(&view, &index, &ask, &Words::default());
    assert_eq!(reason(&context, "ferry").as_deref(), Some("cosine .81"));
    assert_eq!(reason(&context, "both").as_deref(), Some("cosine .80"));
    assert!(reason(&context, "ship").is_some_and(|reason| reason.starts_with("words")), "{:?}", context.nodes);
    assert_eq!(reason(&context, "bread"), None, "a cosine of .60 alone makes nothing near");
    assert!(!context.text.contains("Hidden"), "what may not leave is never a candidate: {}", context.text);
    let alone = assemble(&view, &index, &Request { query: Some("vessel"), ..ask.clone() }, &Words::default());
    assert_eq!(reason(&alone, "ferry").as_deref(), Some("cosine .81"), "without a word in common, too");
    let focus = NodeId::new("ship");
    let focused = assemble(&view, &index, &Request { focus: Some(&focus), query: None, ..ask }, &Words::default());
    assert_eq!(reason(&focused, "bread").as_deref(), Some("cosine .76"), "what is near the focus");
}

#[test]
fn words_with_a_slip_and_parts_of_words_are_found() {
    let files = [headings(
        "notes.org",
        &[
            ("sea", "We walked to the lighthouse."),
            ("garden", "Das Gartenhaus braucht Farbe."),
            ("harbour", "The harbour was empty."),
            ("plain", "Nothing of interest."),
        ],
    )];
    let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (*file, text.as_str())).collect();
    let (view, index) = memory(&files);
    for (query, expected) in [
        ("lighthuose", Some("sea")),
        ("lighthous", Some("sea")),
        ("haus", Some("garden")),
        ("Where is the habrour?", Some("harbour")),
        ("harboor lighthouse", Some("sea")),
        ("zzzz", None),
        ("qwertyuiop", None),
    ] {
        let hits = search(&view, &index, query, 5, Privacy::Open);
        assert_eq!(hits.first().map(|hit| hit.id.as_str()), expected, "{query}: {hits:?}");
    }
    let context = assemble(&view, &index, &Request { query: Some("lighthuose"), ..request(4000) }, &Words::default());
    assert_eq!(reason(&context, "sea").as_deref(), Some("similar words 1.00"));
    // A word that stands somewhere is meant as it is written.
    let hits = search(&view, &index, "harbour", 5, Privacy::Open);
    assert_eq!(hits.len(), 1, "{hits:?}");
}

#[test]
fn a_question_for_a_time_prefers_what_names_one() {
    let notes = headings(
        "notes.org",
        &[
            ("a", "Ada painted the boat with tar."),
            ("b", "Ada painted the boat last week."),
            ("c", "Ada painted in 1."),
        ],
    );
    let (view, index) = memory(&[(notes.0, &notes.1)]);
    for (query, expected) in [("When did Ada paint the boat?", "b"), ("Did Ada paint the boat with tar?", "a")] {
        let hits = search(&view, &index, query, 1, Privacy::Open);
        assert_eq!(hits.first().map(|hit| hit.id.as_str()), Some(expected), "{query}");
    }
}

#[test]
fn far_nodes_are_not_shown_in_full() {
    let mut notes: Vec<(String, String)> =
        (0..60).map(|n| (format!("n{n}"), format!("An ordinary note, number {n}, of the usual kind."))).collect();
    notes.push(("it".into(), "The note about zebra, quagga and okapi in the enclosure.".into()));
    let notes: Vec<(&str, &str)> = notes.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    let notes = headings("notes.org", &notes);
    let (view, index) = memory(&[(notes.0, &notes.1)]);
    let query = Some("note zebra quagga okapi enclosure");
    let context = assemble(&view, &index, &Request { query, ..request(4000) }, &Words::default());
    assert_eq!(reason(&context, "it").as_deref(), Some("words 1.00"));
    let full: Vec<&str> =
        context.nodes.iter().filter(|node| node.rendered == Rendered::Full).map(|node| node.id.as_str()).collect();
    assert!(full.len() < 12, "one frequent word in common is not near: {full:?}");
}

#[test]
fn what_is_near_the_focus_is_in_without_a_question() {
    let notes = headings(
        "notes.org",
        &[
            ("roof", "Slates of the roof slipped; ask the slater Holm. See [[id:ladder]]."),
            ("slater", "The slater Holm has slates of grey stone."),
            ("ladder", "It stands behind the shed."),
            ("tea", "Two spoons for a pot."),
        ],
    );
    let (view, index) = memory(&[(notes.0, &notes.1)]);
    let focus = NodeId::new("roof");
    let context = assemble(&view, &index, &Request { focus: Some(&focus), ..request(4000) }, &Words::default());
    assert!(reason(&context, "slater").is_some_and(|reason| reason.starts_with("words")), "{:?}", context.nodes);
    assert!(reason(&context, "ladder").is_some(), "what it links to: {:?}", context.nodes);
    assert_eq!(reason(&context, "tea"), None);
}

#[test]
fn what_lies_below_the_focus_is_told_whole_and_what_is_asked_besides_has_the_rest_of_the_room() {
    let below: String = (0..40).map(|n| format!("** Part {n}\nSome words that fill the part number {n}.\n")).collect();
    let book = format!("* Book\n:PROPERTIES:\n:ID: book\n:END:\nIts first page.\n{below}");
    let notes = headings("notes.org", &[("ida", "Ida keeps the lighthouse.")]);
    let (view, index) = memory(&[("book.org", &book), (notes.0, &notes.1)]);
    let focus = NodeId::new("book");
    for (room, besides) in [(2_000, true), (600, true), (300, false), (50, false)] {
        let ask = Request { focus: Some(&focus), query: Some("Who keeps the lighthouse?"), ..request(room) };
        let context = assemble(&view, &index, &ask, &Words::default());
        assert_eq!(reason(&context, "ida").is_some(), besides, "{room}: {:?}", context.nodes);
        let below = context.nodes.iter().filter(|node| node.reason.to_string() == "below the focus").count();
        assert_eq!((below, context.tokens <= room), (40, besides), "{room}: {}", context.tokens);
    }
}

#[test]
fn the_outline_shows_what_changed_last() {
    let changed = |n: i64| jiff::Timestamp::from_second(1_700_000_000 + n * 60).ok();
    let mut view = View::default();
    for n in 0..500 {
        let text = format!("#+TITLE: Note {n}\n* Heading {n}\n");
        view.put(Arc::new(document(&format!("note-{n:03}.org"), &text).changed_at(changed(n * 7 % 500))));
    }
    view.put(Arc::new(document("undated.org", "* Undated\n")));
    let index = Index::of(&view);
    let context = assemble(&view, &index, &request(200), &Words::default());
    let shown = |n: i64| {
        included(&context, &format!("note-{:03}.org", (0..500).find(|m| m * 7 % 500 == n).expect("one"))).is_some()
    };
    assert!((490..500).all(shown) && !shown(3), "{:?}", context.nodes);
    let (small, index) = memory(&[("a.org", "* One\n"), ("b.org", "* Two\n")]);
    let context = assemble(&small, &index, &request(200), &Words::default());
    assert!(context.text.contains("One") && context.text.contains("Two"), "those of no date are there, too");
}

/// Saved texts; it counts how often one is read.
#[derive(Clone, Default)]
struct Saved {
    texts: Arc<Mutex<HashMap<ObjectHash, Arc<str>>>>,
    read: Arc<AtomicUsize>,
}

impl Texts for Saved {
    fn text(&self, _: &str, document: ObjectHash) -> Result<Arc<str>, String> {
        self.read.fetch_add(1, Ordering::Relaxed);
        let texts = self.texts.lock().map_err(|_| "poisoned".to_string())?;
        texts.get(&document).cloned().ok_or_else(|| "missing".to_string())
    }

    fn build(&self, file: &Arc<str>, text: Arc<str>) -> Result<Document, String> {
        Shape::default().build(file, text)
    }
}

/// Returns how many texts are read beyond those that are shown in full, and how many words are counted, for some
/// questions, at most, in a memory of so many headings of which none is warm.
fn work(headings: usize) -> (usize, usize) {
    let saved = Saved::default();
    let mut view = View::shelved(Arc::new(Shelf::new(Box::new(saved.clone()), 0)));
    for file in 0..headings / 20 {
        let mut text = format!("#+TITLE: File {file}\n");
        for n in 0..20 {
            let at = file * 20 + n;
            let words = |step: usize| (0..8).map(|k| format!("w{} ", (at * step + k * 31) % 97)).collect::<String>();
            text.push_str(&format!(
                "* Heading {at} of w{}\n{}\nLast week {}{}\n",
                at % 97,
                words(7),
                words(13),
                words(29)
            ));
        }
        let document = Arc::new(document(&format!("file-{file:04}.org"), &text));
        saved.texts.lock().expect("no thread died").insert(document.root(), document.outline.text.clone());
        view.put_saved(document);
    }
    let index = Index::of(&view);
    let focus = view.node("file-0003.org", 5).map(|node| node.id().clone());
    let mut most = (0, 0);
    for (query, focus) in [
        (Some("w5 w17"), None),
        (Some("When was w3 with w90?"), None),
        (Some("w1 w2 w3 w4 w5 w6 w7"), focus.as_ref()),
        (Some("unheard"), focus.as_ref()),
        (None, focus.as_ref()),
        (None, None),
    ] {
        let counter = Words::default();
        saved.read.store(0, Ordering::Relaxed);
        let context = assemble(&view, &index, &Request { focus, query, ..request(1000) }, &counter);
        assert!(context.tokens <= 1000 && context.tokens > 100, "{query:?}: {}", context.tokens);
        let full = context.nodes.iter().filter(|node| node.rendered == Rendered::Full).count();
        let read = saved.read.load(Ordering::Relaxed);
        let did = (read.saturating_sub(full), counter.0.load(Ordering::Relaxed));
        most = (most.0.max(did.0), most.1.max(did.1));
    }
    most
}

#[test]
fn what_is_looked_at_for_a_context_does_not_grow_with_memory() {
    let (few, many) = (work(1_000), work(8_000));
    println!("texts read in vain and words counted: {few:?} of 1,000 headings, {many:?} of 8,000");
    for (texts, words) in [few, many] {
        assert!(texts <= 40 && words <= 5_000, "{texts} texts read in vain, {words} words counted");
    }
}
