//! Cards: what they answer is what documents say, cold or warm, and texts come back on demand.

use crate::memory::{document as toy_document, why};
use parking_lot::Mutex;
use passepartout::domain::id::{NodeId, ObjectHash};
use passepartout::domain::memory::card::{Card, Planning};
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::query::{self, Key};
use passepartout::domain::memory::shelf::{Shelf, Texts};
use passepartout::domain::memory::view::{NodeRef, View};
use passepartout::domain::org::outline::SetupUse;
use passepartout::domain::org::property::Inheritance;
use passepartout::domain::org::scan::{ScanOptions, scan};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

fn build(file: &str, text: &str) -> Arc<Document> {
    let outline = scan(text.into(), &ScanOptions::default()).expect("it is small");
    let modified = jiff::Timestamp::from_second(text.len() as i64).ok();
    Arc::new(Document::build(file, outline, &PrivacyOptions::default()).changed_at(modified))
}

/// Saved texts by their document's hash, with how often each was asked for.
#[derive(Clone, Default)]
struct Saved(Arc<Mutex<HashMap<ObjectHash, Asked>>>);

/// A text, and how often it was read.
type Asked = (Arc<str>, usize);

impl Saved {
    fn keep(&self, document: &Document) {
        self.0.lock().insert(document.root(), (document.outline.text.clone(), 0));
    }

    fn reads(&self) -> usize {
        self.0.lock().values().map(|(_, reads)| reads).sum()
    }
}

impl Texts for Saved {
    fn text(&self, _file: &str, document: ObjectHash) -> Result<Arc<str>, String> {
        let mut texts = self.0.lock();
        let (text, reads) = texts.get_mut(&document).ok_or("it is gone")?;
        *reads += 1;
        Ok(text.clone())
    }

    fn build(&self, file: &Arc<str>, text: Arc<str>) -> Result<Document, String> {
        let outline = scan(text, &ScanOptions::default()).map_err(|error| error.to_string())?;
        Ok(Document::build(file.clone(), outline, &PrivacyOptions::default()))
    }
}

/// A view of the same files as they are after a start: cards alone, through their bytes.
fn cold(warm: &View, most: usize) -> (View, Saved) {
    let saved = Saved::default();
    let shelf = Arc::new(Shelf::new(Box::new(saved.clone()), most));
    let again = |document: Arc<Document>| {
        saved.keep(&document);
        let card = Card::of(&document);
        let read = Card::decode(card.file.clone(), card.root(), card.modified(), &card.encode());
        assert_eq!(read.as_ref(), Some(&card));
        read.expect("it was written a moment ago")
    };
    let cards = warm.documents().map(again).collect();
    (View::of_cards(cards, shelf), saved)
}

/// Texts biased towards everything that a card keeps.
fn org_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        6 => ("\\*{1,4}", "( TODO| DONE| NEXT)?", "( \\[#[A-C]\\])?", "( COMMENT)?", "[ab/#é]{0,3}", "( :(x|Y|private):)?")
            .prop_map(|(stars, todo, priority, comment, title, tags)| {
                format!("{stars}{todo}{priority}{comment} {title}{tags}\n")
            }),
        2 => ("(SCHEDULED|DEADLINE|CLOSED)", 1..4u8).prop_map(|(word, day)| format!("{word}: <2026-11-0{day} Sun +1w>\n")),
        2 => "[ab]".prop_map(|id| format!(":PROPERTIES:\n:ID: {id}\n:Owner: Ann\n:END:\n")),
        1 => "[kK][+]?".prop_map(|key| format!(":PROPERTIES:\n:{key}: v {key}\n:END:\n")),
        1 => "[ab]".prop_map(|id| format!("see [[id:{id}][it]] at <2026-11-02 Mon>\n")),
        1 => Just("#+FILETAGS: :home:\n".to_string()),
        1 => Just("#+TITLE: A title\n".to_string()),
        1 => Just("#+TODO: TODO NEXT | DONE\n".to_string()),
        1 => Just(format!("* {}\n", "long ".repeat(220))),
        2 => "[a-c é\\*\r]{0,6}\n",
    ];
    prop::collection::vec(line, 0..24).prop_map(|lines| lines.concat())
}

fn the_card_says_what_the_document_says(document: &Document) {
    let (card, outline) = (Card::of(document), &document.outline);
    assert_eq!(card.len(), outline.nodes.len());
    assert_eq!(
        (card.root(), card.modified(), card.is_notes()),
        (document.root(), document.modified, document.is_notes())
    );
    let keywords: Vec<_> = outline.keywords.iter().map(|keyword| (&*keyword.name, keyword.done)).collect();
    assert_eq!(card.keywords().map(|keyword| (keyword.name, keyword.done)).collect::<Vec<_>>(), keywords);
    assert_eq!(
        card.links().collect::<Vec<_>>(),
        document.links().iter().map(|l| (&*l.target, l.node as usize)).collect::<Vec<_>>()
    );
    for (index, node) in outline.nodes.iter().enumerate() {
        assert_eq!(card.id(index), document.ids[index]);
        assert_eq!(card.index_of(&document.ids[index]), Some(index));
        let title = if index > 0 { Some(outline.slice(&node.title)) } else { outline.title.as_deref() };
        assert_eq!(card.title(index), title.unwrap_or(&document.file));
        assert_eq!((card.level(index), card.line(index)), (node.level, node.line));
        assert_eq!((card.begin(index), card.end(index)), (node.begin, node.end));
        assert_eq!(card.parent(index), (index > 0).then_some(node.parent as usize));
        assert_eq!(card.after(index), outline.after(index));
        assert_eq!(card.children(index).collect::<Vec<_>>(), outline.children(index).collect::<Vec<_>>());
        for (child, next) in card.children(index).zip(card.children(index).skip(1)) {
            assert_eq!((card.next(child), card.previous(next)), (Some(next), Some(child)));
        }
        assert_eq!(card.at(node.begin as usize), outline.at(node.begin as usize));
        assert_eq!(card.keyword(index).map(|k| (k.name, k.done)), outline.todo(node).map(|k| (&*k.name, k.done)));
        assert_eq!((card.priority(index), card.commented(index)), (node.priority, node.commented));
        let texts = [outline.slice(&node.title), outline.slice(&node.body)];
        let dated = texts.iter().any(|text| text.contains("<2026"));
        assert!(card.may_be_dated(index) || !dated, "what holds a date is not passed over");
        assert_eq!(card.privacy(index), document.privacy[index]);
        let tags = if index == 0 { &outline.filetags[..] } else { &node.tags[..] };
        assert_eq!(card.tags(index).collect::<Vec<_>>(), tags.iter().map(|tag| &**tag).collect::<Vec<_>>());
        assert_eq!(card.all_tags(index), outline.all_tags(index));
        let properties: Vec<_> = node.properties.iter().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(card.properties(index).collect::<Vec<_>>(), properties);
        for (key, _) in properties {
            assert_eq!(card.property(index, key), outline.property(node, key));
        }
        for (planning, range) in Planning::ALL.into_iter().zip([&node.scheduled, &node.deadline, &node.closed]) {
            assert_eq!(card.planning(index, planning), range.as_ref().map(|range| outline.slice(range)));
        }
    }
}

/// Every node by what it is, in words.
fn told(node: &NodeRef) -> String {
    format!("{} {} {:?} {:?}", node.file(), node.id(), node.title(), node.body())
}

fn all(nodes: impl IntoIterator<Item = NodeRef>) -> Vec<String> {
    nodes.into_iter().map(|node| told(&node)).collect()
}

/// The answers of every primitive.
fn answers(view: &View) -> Vec<Vec<String>> {
    let day = |day: i8| jiff::civil::date(2026, 11, day);
    let planned =
        |planning| query::planned(view, planning, day(2), day(3)).map(|(node, day)| format!("{day} {}", told(&node)));
    let by_day = |planning| {
        let mut found: Vec<_> = query::planned_by_day(view, planning, day(2), day(3)).map(|(n, d)| (d, n)).collect();
        assert!(found.is_sorted_by_key(|(day, _)| *day));
        found.sort_by(|a, b| (a.1.file(), a.1.index).cmp(&(b.1.file(), b.1.index)));
        found.into_iter().map(|(day, node)| format!("{day} {}", told(&node))).collect::<Vec<_>>()
    };
    assert_eq!(by_day(Planning::Deadline), planned(Planning::Deadline).collect::<Vec<_>>());
    let second = |second| jiff::Timestamp::from_second(second).expect("in range");
    let cards = |cards: Vec<&Arc<Card>>| cards.into_iter().map(|card| card.file.to_string()).collect::<Vec<_>>();
    vec![
        all(view.nodes()),
        all(query::tagged(view, "x")),
        all(query::tagged(view, ":y:")),
        all(query::tagged(view, "HOME")),
        all(query::with_keyword(view, "TODO")),
        all(query::with_keyword(view, "NEXT")),
        all(query::open(view)),
        all(query::done(view)),
        all(query::with_property(view, "owner", None)),
        all(query::with_property(view, "OWNER", Some("Ann"))),
        all(query::with_property(view, "K+", None)),
        all(query::with_property(view, "id", Some("a"))),
        all(view.nodes().filter(|node| (node.index > 0 && node.title().contains('é')) || node.body().contains('é'))),
        all(query::linking(view, "a")),
        planned(Planning::Scheduled).collect(),
        planned(Planning::Deadline).collect(),
        planned(Planning::Closed).collect(),
        cards(query::changed_between(view, second(20), second(90)).collect()),
    ]
}

/// The same by going through all nodes.
fn expected(view: &View) -> Vec<Vec<String>> {
    let filter = |holds: &dyn Fn(&NodeRef) -> bool| all(view.nodes().filter(holds));
    let tag = |tag: &str| filter(&|node| node.all_tags().iter().any(|own| own.to_lowercase() == tag));
    let keyword = |name: &str| filter(&|node| node.keyword().is_some_and(|keyword| keyword.name == name));
    let planned = |planning| {
        let days = jiff::civil::date(2026, 11, 2)..=jiff::civil::date(2026, 11, 3);
        let day = |node: &NodeRef| node.planned_day(planning).filter(|day| days.contains(day));
        view.nodes().filter_map(|node| Some(format!("{} {}", day(&node)?, told(&node)))).collect()
    };
    let mut dated: Vec<(i64, String)> =
        view.cards().filter_map(|card| Some((card.modified()?.as_second(), card.file.to_string()))).collect();
    dated.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let between = dated.into_iter().filter(|(at, _)| (20..=90).contains(at)).map(|(_, file)| file).collect();
    vec![
        all(view.nodes()),
        tag("x"),
        tag("y"),
        tag("home"),
        keyword("TODO"),
        keyword("NEXT"),
        filter(&|node| node.keyword().is_some_and(|keyword| !keyword.done)),
        filter(&|node| node.keyword().is_some_and(|keyword| keyword.done)),
        filter(&|node| node.property("OWNER").is_some()),
        filter(&|node| node.property("OWNER") == Some("Ann")),
        filter(&|node| node.property("K+").is_some()),
        filter(&|node| node.property("ID") == Some("a")),
        filter(&|node| (node.index > 0 && node.title().contains('é')) || node.body().contains('é')),
        filter(&|node| node.links().any(|target| target == "a")),
        planned(Planning::Scheduled),
        planned(Planning::Deadline),
        planned(Planning::Closed),
        between,
    ]
}

fn counts(view: &View) {
    let check = |key: Key<'_>, found: usize| assert_eq!(query::count(view, &key), found, "{key:?}");
    check(Key::Tag("X"), query::tagged(view, "x").count());
    check(Key::Tag("home"), query::tagged(view, "home").count());
    check(Key::Keyword("TODO"), query::with_keyword(view, "TODO").count());
    check(Key::Open, query::open(view).count());
    check(Key::Done, query::done(view).count());
    check(Key::Property("OWNER"), view.nodes().filter(|node| node.property("OWNER").is_some()).count());
    check(Key::Link("a"), query::linking(view, "a").count());
    let planned = |planning| view.nodes().filter(|node| node.planned_day(planning).is_some()).count();
    check(Key::Planned(Planning::Deadline), planned(Planning::Deadline));
}

fn view_of(texts: &BTreeMap<String, String>) -> View {
    texts.iter().fold(View::default(), |view, (file, text)| view.with(build(file, text)))
}

#[test]
fn a_card_keeps_what_holds_of_the_whole_file_and_what_set_it_up() {
    let text =
        "#+PROPERTY: a 1\n#+PROPERTY: A+ 2\n#+CATEGORY: first\n#+CATEGORY: last\n* h\n:PROPERTIES:\n:A+: 3\n:END:\n";
    let mut outline = scan(text.into(), &ScanOptions::default()).expect("it is small");
    let hash = Some(ObjectHash::new([7; 32]));
    let setup = |path: &str, hash| SetupUse {
        path: path.into(),
        hash,
        line: 1,
        problem: None,
        privacy: passepartout::domain::label::Privacy::Open,
    };
    outline.setups = vec![setup("/m/base.org", hash), setup("/m/gone.org", None)];
    let document = Document::build("n.org", outline, &PrivacyOptions::default());
    let card = Card::of(&document);
    assert_eq!(card.file_properties().collect::<Vec<_>>(), [("A", "1 2"), ("CATEGORY", "last")]);
    assert_eq!(card.effective_value(1, "A", &Inheritance::Always).as_deref(), Some("1 2 3"));
    assert_eq!(card.effective_value(1, "A", &Inheritance::Never).as_deref(), Some("3"));
    let outline = &document.outline;
    assert_eq!(outline.effective_value(1, "A", &Inheritance::Always).as_deref(), Some("1 2 3"));
    assert_eq!(card.setups().collect::<Vec<_>>(), [("/m/base.org", hash), ("/m/gone.org", None)]);
    assert_eq!(Card::decode(card.file.clone(), card.root(), None, &card.encode()).as_ref(), Some(&card));
    assert!(card.is_of(&document));
    assert!(!card.is_of(&build("n.org", text)), "the same text, set up by nothing");
}

proptest! {
    #[test]
    fn a_card_says_what_its_document_says(text in org_text()) {
        the_card_says_what_the_document_says(&build("n.org", &text));
        // Outlines of another scanner, too.
        the_card_says_what_the_document_says(&toy_document("n.org", &text));
    }

    #[test]
    fn answers_are_the_same_cold_and_warm_and_after_edits(
        texts in prop::collection::btree_map("[a-e]", org_text(), 1..5),
        edits in prop::collection::vec(("[a-f]", prop::option::of(org_text())), 0..6),
    ) {
        let mut now = texts.clone();
        let warm = view_of(&texts);
        let (mut edited_warm, (mut edited_cold, saved)) = (warm.clone(), cold(&warm, 1 << 20));
        for (file, text) in edits {
            match text {
                Some(text) => {
                    let document = build(&file, &text);
                    edited_warm.put(document.clone());
                    edited_cold.put(document.clone());
                    // Every second one is saved meanwhile.
                    if text.len() % 2 == 0 {
                        saved.keep(&document);
                        edited_cold.settle([file.as_str()]);
                    }
                    now.insert(file, text);
                }
                None => {
                    edited_warm.remove(&file);
                    edited_cold.remove(&file);
                    now.remove(&file);
                }
            }
        }
        let fresh = view_of(&now);
        let wanted = expected(&fresh);
        for view in [&fresh, &edited_warm, &edited_cold, &cold(&fresh, 0).0] {
            assert_eq!(answers(view), wanted);
            assert_eq!((view.root(), view.headings(), view.len()), (fresh.root(), fresh.headings(), now.len()));
            counts(view);
            for node in fresh.nodes() {
                let found = view.get(node.id()).expect("it is there");
                let first = fresh.get(node.id()).expect("it is there");
                assert_eq!(told(&found), told(&first));
                assert_eq!(all(view.backlinks(node.id())), all(fresh.backlinks(node.id())));
                let file = fresh.document(node.file()).expect("it is there");
                let outline = &file.outline;
                assert_eq!(node.body(), outline.slice(&outline.nodes[node.index].body));
                assert_eq!(node.section(), outline.slice(&outline.nodes[node.index].section));
                assert_eq!(node.subtree(), outline.slice(&(node.begin()..node.end())));
            }
        }
        assert_eq!(answers(&warm), expected(&view_of(&texts)), "who holds an older view sees what it saw");
    }

    #[test]
    fn damaged_bytes_are_no_card(text in org_text(), at in 0.0..1.0f64, bit in 0..8u8) {
        let card = Card::of(&build("n.org", &text));
        let mut bytes = card.encode();
        let at = (bytes.len() as f64 * at) as usize;
        bytes[at] ^= 1 << bit;
        prop_assert_eq!(Card::decode(card.file.clone(), card.root(), None, &bytes), None);
        prop_assert_eq!(Card::decode(card.file.clone(), card.root(), None, &bytes[..at]), None);
        prop_assert_eq!(Card::decode("other".into(), card.root(), None, &card.encode()), None);
    }
}

fn hundred() -> View {
    let text = |n: u32| format!("* Heading {n}\n{}\n", "word ".repeat(200));
    (0..100).fold(View::default(), |view, n| view.with(build(&format!("{n:02}.org"), &text(n))))
}

#[test]
fn nothing_is_read_before_somebody_asks_for_a_text() {
    let (view, saved) = cold(&hundred(), 1 << 20);
    for node in view.nodes() {
        let _ = (node.id(), node.title(), node.all_tags(), node.privacy(), node.children().count(), node.body_len());
    }
    assert!(view.get(&NodeId::new("42.org::*Heading 42")).is_some());
    assert_eq!((saved.reads(), view.warm("42.org").is_none()), (0, true));
    let node = view.get(&NodeId::new("42.org::*Heading 42")).expect("it is there");
    assert!(node.body().starts_with("word word"));
    assert!(node.document().is_some() && view.document("42.org").is_some() && view.warm("42.org").is_some());
    assert_eq!(saved.reads(), 1);
}

#[test]
fn what_was_not_wanted_for_longest_goes_and_what_is_not_saved_stays() {
    let most = 20_000;
    let (mut view, saved) = cold(&hundred(), most);
    let shelf = view.shelf().expect("it has one").clone();
    for _ in 0..2 {
        for node in view.nodes() {
            assert_eq!(node.text().len(), node.card().end(0) as usize);
            assert!(shelf.warm_bytes() <= most);
        }
    }
    assert_eq!(saved.reads(), 200, "each was read anew, once a round");
    assert!(view.text("99.org").is_some() && saved.reads() == 200, "the last ones are warm");
    let unsaved = build("new.org", "* Only here\nand nowhere else\n");
    view.put(unsaved.clone());
    view.nodes().for_each(|node| drop(node.text().to_string()));
    assert_eq!(view.text("new.org").as_deref(), Some("* Only here\nand nowhere else\n"));
    // A clone that was made before it was saved lets go of it, too.
    let clone = view.clone();
    saved.keep(&unsaved);
    view.settle(["new.org"]);
    let before = saved.reads();
    clone.nodes().filter(|node| &**node.file() != "new.org").for_each(|node| drop(node.text().to_string()));
    assert_eq!(clone.text("new.org").as_deref(), Some("* Only here\nand nowhere else\n"));
    assert!(saved.reads() > before + 100, "it was read like the others");
}

#[test]
fn a_text_that_is_damaged_is_said_once_and_is_empty() {
    let (view, saved) = cold(&hundred(), 1 << 20);
    let root = view.card("07.org").expect("it is there").root();
    saved.0.lock().remove(&root);
    let node = view.node("07.org", 1).expect("it is there");
    assert_eq!((node.title(), node.body(), node.section(), node.text()), ("Heading 7", "", "", ""));
    assert!(node.document().is_none() && view.document("07.org").is_none());
    assert_eq!(view.documents().count(), 99);
    let told: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let (listener, count) = (told.clone(), Arc::new(Mutex::new(0)));
    let counter = count.clone();
    view.shelf().expect("it has one").listen(move |text| {
        *counter.lock() += 1;
        listener.lock().insert(text.to_string());
    });
    assert!(view.node("07.org", 1).is_some_and(|node| node.body().is_empty()));
    let told: Vec<String> = told.lock().iter().cloned().collect();
    assert_eq!(told, ["07.org: its text cannot be had: it is gone"]);
    assert_eq!(*count.lock(), 1);
}

#[test]
fn going_back_to_the_empty_memory_keeps_the_way_to_texts() {
    use passepartout::domain::id::OperationId;
    use passepartout::domain::memory::Memory;
    let (view, _) = cold(&hundred(), 0);
    let mut memory = Memory::restore(view, Vec::new());
    memory.rollback(OperationId(0), why("empty")).expect("it is always there");
    assert!(memory.head().is_empty() && memory.head().shelf().is_some());
}

mod stored {
    use super::*;
    use passepartout::domain::hash::ContentHasher;
    use passepartout::domain::memory::Memory;
    use passepartout::domain::memory::shape::Shape;
    use passepartout::domain::memory::store::{Commit, Loaded, Store};
    use passepartout::edge::store::DiskStore;
    use passepartout::edge::store::verify::verify;
    use std::path::Path;

    const GOING: &(dyn Fn() -> Result<(), String> + Sync) = &|| Ok(());

    fn load(folder: &Path, shape: &Shape) -> (DiskStore, Loaded) {
        let mut store = DiskStore::open(folder).expect("it opens");
        let loaded = store.load_cards(shape, GOING).expect("it loads");
        (store, loaded)
    }

    /// A store of twenty files, of which one was changed once.
    fn filled(folder: &Path) -> View {
        let (mut store, loaded) = load(folder, &Shape::default());
        let mut memory = Memory::restore(loaded.view, loaded.log);
        let text = |n: usize| format!("* TODO Heading {n} :secret:\n:PROPERTIES:\n:ID: id-{n}\n:END:\nText {n}\n");
        for files in [0..20, 7..8] {
            let mut change = memory.begin();
            for n in files {
                change.put(build(&format!("{n:02}.org"), &format!("{}{}", text(n), memory.at().0)));
            }
            change.finish(why("step")).publish(&mut memory).expect("nobody else changes it");
            let step = (memory.last().expect("it was made").clone(), memory.head().clone());
            store.commit(&Commit { steps: &[step], ..Commit::default() }).expect("it is stored");
        }
        memory.head().clone()
    }

    fn sql(folder: &Path, statement: &str) -> usize {
        let connection = rusqlite::Connection::open(folder.join("memory.sqlite")).expect("it opens");
        connection.execute(statement, []).expect("it is done")
    }

    #[test]
    fn a_start_reads_cards_and_no_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let before = filled(folder.path());
        let (store, loaded) = load(folder.path(), &Shape::default());
        assert_eq!(loaded.problems, [""; 0]);
        assert_eq!((loaded.view.root(), loaded.view.headings()), (before.root(), 20));
        let node = loaded.view.get(&NodeId::new("id-7")).expect("it is there");
        assert_eq!((node.title(), node.body()), ("Heading 7", "Text 7\n1"));
        assert_eq!(all(loaded.view.nodes()), all(before.nodes()));
        drop((store, loaded, before, node));
        assert_eq!(sql(folder.path(), "DELETE FROM texts"), 21);
        let (_store, loaded) = load(folder.path(), &Shape::default());
        assert_eq!((loaded.problems.as_slice(), query::open(&loaded.view).count()), (&[][..], 20));
        let node = loaded.view.get(&NodeId::new("id-7")).expect("it is there");
        assert_eq!((node.title(), node.body()), ("Heading 7", ""), "its text is gone, and nothing breaks");
    }

    /// Reads a file again that memory does not have, as a start does, and stores it.
    fn read_again(store: &mut DiskStore, loaded: Loaded, document: Arc<Document>) {
        let mut memory = Memory::restore(loaded.view, loaded.log);
        let mut change = memory.begin();
        change.put(document);
        change.finish(why("read again")).publish(&mut memory).expect("nobody else changes it");
        let step = (memory.last().expect("it was made").clone(), memory.head().clone());
        store.commit(&Commit { steps: &[step], ..Commit::default() }).expect("it is stored");
    }

    #[test]
    fn a_damaged_text_of_a_current_file_comes_back() {
        let damages = [
            "UPDATE texts SET manifest = x'' WHERE document = (SELECT document FROM cards WHERE file = '03.org')",
            "DELETE FROM texts WHERE document = (SELECT document FROM cards WHERE file = '03.org')",
        ];
        for (damage, asked) in damages.into_iter().flat_map(|damage| [(damage, false), (damage, true)]) {
            let folder = tempfile::tempdir().expect("a folder");
            let before = filled(folder.path());
            let document = before.document("03.org").expect("it is there");
            let stamp = "INSERT INTO stamps SELECT file, 1, 1, document, 1 FROM cards";
            assert_eq!(sql(folder.path(), stamp), 20);
            assert_eq!(sql(folder.path(), damage), 1);
            assert!(!verify(folder.path(), None).expect("it is read").whole());
            match asked {
                // Somebody wanted the text.
                true => {
                    let (_store, loaded) = load(folder.path(), &Shape::default());
                    assert_eq!(loaded.view.node("03.org", 1).expect("it is there").body(), "");
                }
                false => drop(DiskStore::rebuild(folder.path()).expect("it is repaired")),
            }
            let (mut store, loaded) = load(folder.path(), &Shape::default());
            assert!(loaded.view.card("03.org").is_none(), "{damage} {asked}: nothing says that it was read");
            assert_eq!((loaded.problems.len(), loaded.stamps.len()), (1, 19), "{damage} {asked}");
            read_again(&mut store, loaded, document);
            drop(store);
            let (_store, loaded) = load(folder.path(), &Shape::default());
            assert_eq!((loaded.problems.as_slice(), all(loaded.view.nodes())), (&[][..], all(before.nodes())));
            let proof = verify(folder.path(), None).expect("it is read");
            assert!(proof.whole(), "{damage} {asked}: {:?}", proof.breaks);
        }
    }

    #[test]
    fn a_text_that_was_changed_with_its_sum_is_a_break() {
        let mut shape = Shape::default();
        shape.scan.sequences.push("WAIT | OVER".to_string());
        for shape in [Shape::default(), shape] {
            let folder = tempfile::tempdir().expect("a folder");
            filled(folder.path());
            let (store, loaded) = load(folder.path(), &shape);
            let (before, document) = (all(loaded.view.nodes()), loaded.view.document("03.org").expect("it is there"));
            drop((store, loaded));
            assert!(verify(folder.path(), None).expect("it is read").whole());
            let name = document.root();
            let bytes = document.outline.text.replace("Text 3", "Text 8").into_bytes();
            let mut manifest = vec![1];
            manifest.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            manifest.push(0);
            manifest.extend_from_slice(&bytes);
            let sum = ContentHasher::new("manifest").bytes(name.as_bytes()).bytes(&manifest).finish();
            let connection = rusqlite::Connection::open(folder.path().join("memory.sqlite")).expect("it opens");
            let whole = [sum.as_slice(), &manifest].concat();
            let update = "UPDATE texts SET manifest = ?2 WHERE document = ?1";
            assert_eq!(connection.execute(update, rusqlite::params![name.as_bytes(), whole]).expect("it is done"), 1);
            drop(connection);
            let (store, loaded) = load(folder.path(), &shape);
            assert!(loaded.view.document("03.org").is_none(), "nobody takes it for the document");
            drop((store, loaded));
            let proof = verify(folder.path(), None).expect("it is read");
            assert_eq!(proof.breaks.len(), 1, "{:?}", proof.breaks);
            assert!(proof.breaks[0].text.ends_with("was changed with its sum"), "{:?}", proof.breaks);
            drop(DiskStore::rebuild(folder.path()).expect("it is repaired"));
            let (mut store, loaded) = load(folder.path(), &shape);
            read_again(&mut store, loaded, document);
            drop(store);
            let (_store, loaded) = load(folder.path(), &shape);
            assert_eq!((loaded.problems.as_slice(), all(loaded.view.nodes())), (&[][..], before));
            assert!(verify(folder.path(), None).expect("it is read").whole());
        }
    }

    #[test]
    fn what_was_saved_is_let_go_of_and_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let view = filled(folder.path());
        let shelf = view.shelf().expect("it has one");
        assert!(shelf.warm_bytes() > 0, "what was saved a moment ago is warm");
        let other = view.document("03.org").expect("it is there");
        assert_eq!(&*other.outline.text, view.text("03.org").as_deref().expect("it is there"));
        assert_eq!(other.modified, view.card("03.org").expect("it is there").modified());
    }

    #[test]
    fn cards_that_do_not_fit_are_made_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let before = filled(folder.path());
        let answers = all(before.nodes());
        let mut private = Shape::default();
        private.privacy.tags.push("secret".into());
        let (store, loaded) = load(folder.path(), &private);
        let labels =
            |view: &View| view.nodes().filter(|n| n.privacy() > passepartout::domain::label::Privacy::Open).count();
        assert_eq!((labels(&loaded.view), labels(&before)), (20, 0));
        drop((store, loaded));
        let damages = [
            "UPDATE cards SET card = zeroblob(100) WHERE file = '03.org'",
            "UPDATE cards SET card = 'text' WHERE file = '03.org'",
            "UPDATE cards SET document = (SELECT document FROM cards WHERE file = '04.org') WHERE file = '03.org'",
            "UPDATE cards SET card = (SELECT card FROM cards WHERE file = '04.org') WHERE file = '03.org'",
            "DELETE FROM cards WHERE file = '03.org'",
            "UPDATE cards SET file = 'gone.org' WHERE file = '03.org'",
        ];
        for damage in damages {
            assert_eq!(sql(folder.path(), damage), 1);
            let (store, loaded) = load(folder.path(), &Shape::default());
            assert_eq!((loaded.problems.as_slice(), all(loaded.view.nodes())), (&[][..], answers.clone()), "{damage}");
            drop((store, loaded));
            let count = "UPDATE cards SET card = card WHERE file < 'a' AND length(card) > 200";
            assert_eq!(sql(folder.path(), count), 20, "{damage}: made good");
        }
    }

    #[test]
    fn a_store_without_cards_is_read_all_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let before = filled(folder.path());
        sql(folder.path(), "DROP TABLE cards");
        let mut reader = DiskStore::open_to_read(folder.path()).expect("it opens");
        let loaded = reader.load_cards(&Shape::default(), GOING).expect("it loads");
        assert_eq!((loaded.problems.as_slice(), all(loaded.view.nodes())), (&[][..], all(before.nodes())));
    }

    #[test]
    fn a_start_that_is_stopped_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        filled(folder.path());
        sql(folder.path(), "DELETE FROM cards");
        let mut store = DiskStore::open(folder.path()).expect("it opens");
        let loaded = store.load_cards(&Shape::default(), &|| Err("stopped".to_string())).expect("it loads");
        assert_eq!(loaded.problems.len(), 20);
    }
}
