//! The Merkle memory: names, hashes, privacy, views, transactions and the log.

use passepartout::domain::id::{NodeId, OperationId};
use passepartout::domain::label::Privacy;
use passepartout::domain::memory::document::{Anew, Document, PrivacyOptions};
use passepartout::domain::memory::index::Key;
use passepartout::domain::memory::operation::Why;
use passepartout::domain::memory::view::View;
use passepartout::domain::memory::{KEPT_CHANGES, Memory};
use passepartout::domain::org::outline::{Node, Outline};
use passepartout::domain::org::scan::{ScanOptions, scan};
use proptest::prelude::*;
use std::sync::Arc;

/// A small scanner: headlines, tags, property drawers; enough for these tests and nothing else.
pub fn outline(text: &str) -> Outline {
    let text: Arc<str> = text.into();
    let end = text.len() as u32;
    let file = Node {
        level: 0,
        parent: 0,
        line: 1,
        begin: 0,
        section: 0..end,
        end,
        title: 0..0,
        todo: None,
        priority: None,
        tags: Arc::default(),
        commented: false,
        properties: Arc::default(),
        scheduled: None,
        deadline: None,
        closed: None,
        body: 0..end,
    };
    let mut nodes = vec![file];
    let mut filetags = Vec::new();
    let mut at = 0;
    for (line, words) in text.split_inclusive('\n').enumerate() {
        let begin = at;
        at += words.len() as u32;
        let trimmed = words.trim_end();
        let level = trimmed.bytes().take_while(|b| *b == b'*').count();
        if let Some(tags) = trimmed.strip_prefix("#+FILETAGS:") {
            filetags.extend(tags.split([':', ' ']).filter(|t| !t.is_empty()).map(Box::from));
        }
        if level > 0 && trimmed.as_bytes().get(level) == Some(&b' ') {
            let last = nodes.len() - 1;
            nodes[last].section.end = begin;
            nodes[last].body.end = begin;
            let mut parent = last;
            while nodes[parent].level as usize >= level {
                nodes[parent].end = begin;
                parent = nodes[parent].parent as usize;
            }
            let title = &trimmed[level + 1..];
            let (title, tags) = match title.rsplit_once(" :") {
                Some((title, tags)) if tags.ends_with(':') => (title, tags.trim_end_matches(':')),
                _ => (title, ""),
            };
            let title_at = begin + level as u32 + 1;
            nodes.push(Node {
                level: level as u16,
                parent: parent as u32,
                line: line as u32 + 1,
                begin,
                section: at..end,
                end,
                title: title_at..title_at + title.len() as u32,
                tags: tags.split(':').filter(|t| !t.is_empty()).map(Box::from).collect(),
                body: at..end,
                ..nodes[0].clone()
            });
            let new = nodes.len() - 1;
            nodes[new].properties = Arc::default();
        } else if let Some((key, value)) = trimmed.strip_prefix(':').and_then(|rest| rest.split_once(": ")) {
            let node = nodes.last_mut().unwrap();
            let mut properties = node.properties.to_vec();
            properties.push((key.to_uppercase().into(), value.trim().into()));
            node.properties = properties.into();
        }
    }
    Outline {
        text,
        nodes,
        keywords: Vec::new(),
        filetags,
        title: None,
        startup: Default::default(),
        sequences: Default::default(),
        properties: Default::default(),
        category: None,
        abbreviations: Vec::new(),
        setups: Vec::new(),
        problems: Vec::new(),
    }
}

pub fn document(file: &str, text: &str) -> Arc<Document> {
    Arc::new(Document::build(file, outline(text), &PrivacyOptions::default()))
}

pub fn why(note: &str) -> Why {
    Why {
        cause: "test".into(),
        origin: "test".into(),
        at: jiff::Timestamp::from_second(1_700_000_000).unwrap(),
        note: note.into(),
    }
}

fn ids(document: &Document) -> Vec<&str> {
    document.ids.iter().map(NodeId::as_str).collect()
}

const SAMPLE: &str = "\
intro
* Projects
:PROPERTIES:
:ID: p-1
:END:
** Alpha
** Beta :work:
text
* Projects
** Alpha
";

/// The root names a file's content for ever: stores and logs hold it.
#[test]
fn a_large_reading_leaves_no_old_views_in_memory() {
    let mut memory = Memory::default();
    let large = |n: usize| document(&format!("{n}.org"), &"* A heading\n".repeat(KEPT_CHANGES / 4));
    for n in 0..8 {
        let mut change = memory.begin();
        change.put(large(n));
        let _ = change.finish(why("read")).publish(&mut memory).expect("nothing else changes it");
    }
    let kept = |memory: &Memory| (1..=memory.at().0).filter(|id| memory.view_at(OperationId(*id)).is_some()).count();
    assert!((1..=5).contains(&kept(&memory)), "{} are kept", kept(&memory));
    // Edits that follow are kept all the same, each of a large file.
    let before = kept(&memory);
    for n in 1..=6 {
        let mut change = memory.begin();
        change.put(document("0.org", &"* A heading\n".repeat(KEPT_CHANGES / 4 - n)));
        let _ = change.finish(why("edit")).publish(&mut memory).expect("nothing else changes it");
    }
    assert_eq!(kept(&memory), before + 6);
}

#[test]
fn the_hashes_of_a_document_are_pinned() {
    let check = |text: &str, root: &str| assert_eq!(document("n.org", text).root().to_hex(), root);
    check("", "33cf429f30d0e4becd27c0cab353cc4c59190e95d8d879513000b6663ec2c0c6");
    check(SAMPLE, "7a33abaa13cddd589a93a030f1dd1464886d8acdee05d0f75239381b2555d3d2");
    // So many children that their list is hashed in groups, and a section that is hashed where it lies.
    let long: String = (0..1_000).map(|n| format!("* Heading {n}\n")).chain(["x".repeat(10_000)]).collect();
    check(&long, "585618121c1b6dfd8459c0e4a2d9a57f6f54eb24bf7671a1424a52039c247d58");
}

/// What an edit costs, counted in nodes: what the clock says is for the benches.
#[test]
fn an_edit_works_out_little_anew() {
    let text: String =
        (0..5_000).map(|n| format!("{} Heading {n}\nSome words.\n", if n % 10 == 0 { "*" } else { "**" })).collect();
    let before = document("n.org", &text);
    assert_eq!(before.anew, Anew { sections: 5_001, nodes: 5_001, names: 5_001 });
    let check = |text: &str, expect: Anew| {
        let after = Document::rebuild(&before, outline(text), &PrivacyOptions::default());
        assert_eq!(after.anew, expect);
        same_content(&after, &document("n.org", text));
    };
    check(&text, Anew { sections: 0, nodes: 0, names: 0 });
    // Its own section; itself, its parent and the file; and no name, because headings keep theirs.
    let typed = text.replacen("Heading 2345\nSome words", "Heading 2345\nSome wordss", 1);
    check(&typed, Anew { sections: 1, nodes: 3, names: 0 });
    let titled = text.replacen("Heading 2345\n", "Heading 2345!\n", 1);
    check(&titled, Anew { sections: 1, nodes: 3, names: 0 });
    let added = text.replacen("** Heading 2345\n", "** New\n** Heading 2345\n", 1);
    // The heading in front of it, too: both texts begin alike up to the title.
    check(&added, Anew { sections: 2, nodes: 4, names: 1 });
    let keywords = text.replacen("Heading 4999\nSome words.", "Heading 4999\n#+TODO: Heading | DONE", 1);
    // What is a keyword is no part of a title: only the scanner knows.
    let scanned = |text: &str| scan(text.into(), &ScanOptions::default()).expect("it is small");
    let before = Document::build("n.org", scanned(&text), &PrivacyOptions::default());
    let after = Document::rebuild(&before, scanned(&keywords), &PrivacyOptions::default());
    assert_eq!(after.anew, Anew { sections: 1, nodes: 3, names: 0 });
    same_content(&after, &Document::build("n.org", scanned(&keywords), &PrivacyOptions::default()));
}

#[test]
fn nodes_are_named_by_id_or_path() {
    let check = |text: &str, expect: &[&str]| assert_eq!(ids(&document("n.org", text)), expect, "{text}");
    check("", &["n.org"]);
    check(
        SAMPLE,
        &[
            "n.org",
            "p-1",
            "n.org::*Projects/Alpha",
            "n.org::*Projects/Beta",
            "n.org::*Projects",
            "n.org::*Projects/Alpha#2",
        ],
    );
    check("* A\n* A\n* A\n", &["n.org", "n.org::*A", "n.org::*A#2", "n.org::*A#3"]);
    check("* A#2\n* A\n* A\n", &["n.org", "n.org::*A#2", "n.org::*A", "n.org::*A#3"]);
    check(":ID: f\n* A\n:ID: x\n* B\n:ID: x\n", &["f", "x", "x#2"]);
    check("* A\n*** B\n** C\n", &["n.org", "n.org::*A", "n.org::*A/B", "n.org::*A/C"]);
}

#[test]
fn long_paths_are_shortened_and_stay_apart() {
    let title = "t".repeat(600);
    let text = format!("* {title}\n** {title}\n*** x\n*** y\n* {title}{title}\n");
    let document = document("n.org", &text);
    assert!(ids(&document).iter().all(|id| id.len() < 1100));
    assert!(document.ids[2].as_str().starts_with("n.org::*~"));
    assert!(document.ids[3].as_str().ends_with("/x") && document.ids[4].as_str().ends_with("/y"));
    let unique: std::collections::HashSet<_> = document.ids.iter().collect();
    assert_eq!(unique.len(), document.ids.len());
}

#[test]
fn hashes_are_pinned() {
    let mut memory = Memory::default();
    let mut change = memory.begin();
    change.put(document("n.org", SAMPLE));
    let operation = change.finish(why("first")).publish(&mut memory).unwrap();
    let found = [document("n.org", SAMPLE).root(), View::default().root(), memory.head().root(), operation.hash()];
    assert_eq!(
        found.map(|hash| hash.to_hex()),
        [
            "7a33abaa13cddd589a93a030f1dd1464886d8acdee05d0f75239381b2555d3d2",
            "e85c61fed3cdb3cff9005c762ce012d1813562445286a67af135f8520242a53e",
            "6f88fa375dac051a343b19b01489d53c1d6e9522909ab641c5913079192a7a8f",
            "4c199cd426a0e802cdf0baf316ed356df3864f8248afee2ee51b9c9ceb577ab2",
        ]
    );
}

#[test]
fn what_makes_a_node_private() {
    let check = |text: &str, expect: &str| {
        let document = document("n.org", text);
        let found: String = document.privacy.iter().map(|p| if *p == Privacy::Private { 'P' } else { '.' }).collect();
        assert_eq!(found, expect, "{text}");
    };
    check("* A\n** B\n* C\n", "....");
    check("* A :private:\n** B\n*** C\n* D\n", ".PPP.");
    check("* A :@Private:\n", ".P");
    check("* A :privately:\n", "..");
    check("* A :x:PRIVATE:\n", ".P");
    check("#+FILETAGS: :private:\n* A\n", "PP");
    check("* A\n:PRIVACY: private\n** B\n* C\n", ".PP.");
    check("* A\n:PP_PRIVACY: Private\n** B\n:PRIVACY: open\n", ".PP");
    check("* A\n:PRIVACY+: private\n", ".P");
    check("* A\n:PRIVACY: public\n", "..");
    check(":PRIVACY: private\n* A\n", "PP");
    check("x\n  #+property: PRIVACY private\n* A\n", "PP");
    check("* A\n#+PROPERTY: privacy+ private\n", "PP");
    check("see #+PROPERTY: PRIVACY private\n", ".");
    check("#+PROPERTY: header-args private\n", ".");
    let options = PrivacyOptions { tags: vec!["@Secret".into(), ":intern:".into()] };
    let document = Document::build("n.org", outline("* A :secret:\n* B :Intern:\n* C :private:\n"), &options);
    assert_eq!(document.privacy, [Privacy::Open, Privacy::Private, Privacy::Private, Privacy::Open]);
}

#[test]
fn nodes_are_found_wherever_they_stand() {
    let view = View::default()
        .with(document("b.org", "* Two\n:ID: same\n"))
        .with(document("a.org", "* One\n:ID: same\n** Below\n"));
    let title = |view: &View, id: &str| view.get(&NodeId::new(id)).map(|node| node.title().to_string());
    assert_eq!(title(&view, "same").as_deref(), Some("One"));
    assert_eq!(title(&view, "a.org::*One/Below").as_deref(), Some("Below"));
    assert_eq!(title(&view, "b.org").as_deref(), Some("b.org"));
    assert_eq!(title(&view, "nowhere::*x"), None);
    let view = view.without("a.org");
    assert_eq!(title(&view, "same").as_deref(), Some("Two"), "the other holder comes back");
    let view = view.with(document("b.org", "* Two\n:ID: other\n"));
    assert_eq!(title(&view, "same"), None);
    assert_eq!(title(&view, "other").as_deref(), Some("Two"));
    assert_eq!(view.headings(), 1);
}

#[test]
fn links_are_found_from_behind() {
    let target = NodeId::new("t-1");
    let linking = |text: &str| document("l.org", text);
    let view = View::default()
        .with(document("t.org", "* T\n:ID: t-1\n"))
        .with(linking("* A\n[[id:t-1][t]]\n* B\n* C id:t-1\n"));
    let sources = |view: &View| view.backlinks(&target).iter().map(|n| n.title().to_string()).collect::<Vec<_>>();
    assert_eq!(sources(&view), ["A", "C id:t-1"]);
    let view = view.with(linking("* A\n* B\n<id:t-1>\n"));
    assert_eq!(sources(&view), ["B"]);
    assert!(sources(&view.with(linking("* A\n"))).is_empty());
    assert!(sources(&view.without("l.org")).is_empty());
}

#[test]
fn the_second_of_two_changes_meets_a_conflict() {
    let mut memory = Memory::default();
    let change = |memory: &Memory, file: &str, text: &str| {
        let mut change = memory.begin();
        change.put(document(file, text));
        change.finish(why(text))
    };
    let first = change(&memory, "a.org", "* one\n");
    let second = change(&memory, "b.org", "* two\n");
    let third = change(&memory, "a.org", "* three\n");
    first.publish(&mut memory).unwrap();
    let before = memory.head().root();
    let conflict = second.publish(&mut memory).unwrap_err();
    assert_eq!((conflict.expected, conflict.found), (OperationId(0), OperationId(1)));
    assert_eq!(memory.head().root(), before);
    conflict.change.rebase(&memory).unwrap().publish(&mut memory).unwrap();
    assert_eq!(memory.head().len(), 2);
    let conflict = third.publish(&mut memory).unwrap_err();
    assert_eq!(conflict.change.rebase(&memory).unwrap_err().files, ["a.org"]);
    assert_eq!(memory.log().len(), 2);
}

#[test]
fn going_back_appends() {
    let mut memory = Memory::default();
    for n in 0..80 {
        let mut change = memory.begin();
        change.put(document("a.org", &format!("* {n}\n")));
        change.finish(why("step")).publish(&mut memory).unwrap();
    }
    let there = memory.view_at(OperationId(70)).unwrap();
    memory.rollback(OperationId(70), why("back")).unwrap();
    assert_eq!(memory.head().root(), there.root());
    assert_eq!(memory.log().len(), 81);
    assert_eq!(memory.at(), OperationId(81));
    use passepartout::domain::memory::RollbackError;
    assert_eq!(memory.rollback(OperationId(3), why("far")), Err(RollbackError::NotKept(OperationId(3))));
    assert_eq!(memory.rollback(OperationId(99), why("never")), Err(RollbackError::Unknown(OperationId(99))));
    let third = View::default().with(document("a.org", "* 2\n"));
    assert!(memory.rollback_to(there, OperationId(3), why("wrong")).is_err());
    memory.rollback_to(third, OperationId(3), why("from the store")).unwrap();
    for pair in memory.log().windows(2) {
        assert_eq!(pair[1].parent, Some(pair[0].hash()));
        assert_eq!(pair[1].id.0, pair[0].id.0 + 1);
    }
    memory.rollback(OperationId(0), why("empty")).unwrap();
    assert!(memory.head().is_empty());
}

/// Texts biased towards what moves boundaries: stars, tags, drawers, repeated titles.
fn org_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        3 => (1..4usize, "[ab]{0,2}").prop_map(|(stars, title)| format!("{} {title}\n", "*".repeat(stars))),
        1 => "[ab]".prop_map(|id| format!(":ID: {id}\n")),
        1 => Just("* P :private:\n".to_string()),
        1 => "[ab]".prop_map(|id| format!("see [[id:{id}]]\n")),
        2 => "[a-c é\\*]{0,6}\n",
    ];
    prop::collection::vec(line, 0..24).prop_map(|lines| lines.concat())
}

/// But for names, which an edit keeps, and links, which say them.
fn same_content(a: &Document, b: &Document) {
    assert_eq!(a.hashes, b.hashes);
    assert_eq!(a.privacy, b.privacy);
    assert_eq!(a.links().len(), b.links().len());
}

proptest! {
    #[test]
    fn an_edit_gives_what_building_gives(before in org_text(), insert in org_text(), from in 0.0..1.0f64, to in 0.0..1.0f64) {
        let place = |part: f64| {
            let mut at = (before.len() as f64 * part) as usize;
            while !before.is_char_boundary(at) { at -= 1; }
            at
        };
        let (from, to) = (place(from.min(to)), place(from.max(to)));
        let after = format!("{}{}{}", &before[..from], insert, &before[to..]);
        let old = document("n.org", &before);
        let options = PrivacyOptions::default();
        same_content(&Document::rebuild(&old, outline(&after), &options), &document("n.org", &after));
    }

    #[test]
    fn any_changed_byte_changes_the_root(text in org_text(), at in 0.0..1.0f64) {
        prop_assume!(!text.is_empty());
        let mut bytes = text.clone().into_bytes();
        let at = (bytes.len() as f64 * at) as usize;
        prop_assume!(bytes[at].is_ascii());
        bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
        let other = String::from_utf8(bytes).unwrap();
        let view = |text: &str| View::default().with(document("n.org", text)).root();
        prop_assert_ne!(view(&text), view(&other));
        prop_assert_ne!(view(&text), view(&format!("{text}\n")));
    }

    #[test]
    fn order_and_past_leave_no_mark(texts in prop::collection::btree_map("[a-e]", org_text(), 1..5), extra in org_text(), seed in any::<u64>()) {
        let forward = texts.iter().fold(View::default(), |view, (file, text)| view.with(document(file, text)));
        let mut order: Vec<_> = texts.iter().collect();
        order.sort_by_key(|(file, _)| blake3::hash(format!("{seed}{file}").as_bytes()).to_hex().to_string());
        let mut other = View::default();
        for (file, text) in order {
            other.put(document(file, &extra));
            other.put(document("z", text));
            other.put(document(file, text));
        }
        other.remove("z");
        prop_assert_eq!(forward.root(), other.root());
        prop_assert_eq!(forward.headings(), other.headings());
        for node in forward.nodes() {
            let here = forward.get(node.id()).unwrap();
            let there = other.get(node.id()).unwrap();
            prop_assert_eq!((here.file(), here.index), (there.file(), there.index));
            let links = |view: &View| view.backlinks(node.id()).iter().map(|n| (n.file().clone(), n.index)).collect::<Vec<_>>();
            prop_assert_eq!(links(&forward), links(&other));
        }
        let mut emptied = other.clone();
        for file in texts.keys() { emptied.remove(file); }
        prop_assert_eq!(emptied.root(), View::default().root());
        prop_assert_eq!(emptied.headings(), 0);
    }

    #[test]
    fn the_log_only_grows_and_views_stay(texts in prop::collection::vec((0..3u8, org_text()), 1..12), back in 0.0..1.0f64) {
        let mut memory = Memory::default();
        let mut roots = vec![memory.head().root()];
        for (file, text) in &texts {
            let mut change = memory.begin();
            if text.is_empty() { change.remove(&file.to_string()) } else { change.put(document(&file.to_string(), text)) }
            change.finish(why("step")).publish(&mut memory).unwrap();
            roots.push(memory.head().root());
        }
        let to = OperationId((back * roots.len() as f64) as u64);
        memory.rollback(to, why("back")).unwrap();
        prop_assert_eq!(memory.head().root(), roots[to.0 as usize]);
        prop_assert_eq!(memory.log().len(), texts.len() + 1);
        for (id, root) in roots.iter().enumerate() {
            prop_assert_eq!(memory.view_at(OperationId(id as u64)).unwrap().root(), *root);
        }
    }
}

/// A view read by the real scanner.
fn scanned(files: &[(&str, &str)]) -> View {
    use passepartout::domain::org::scan::{ScanOptions, scan};
    let build = |file: &str, text: &str| {
        let outline = scan(text.into(), &ScanOptions::default()).unwrap();
        let modified = jiff::Timestamp::from_second(file.len() as i64).unwrap();
        Document::build(file, outline, &PrivacyOptions::default()).changed_at(Some(modified))
    };
    files.iter().fold(View::default(), |view, (file, text)| view.with(Arc::new(build(file, text))))
}

#[test]
fn queries_find_what_they_say() {
    use passepartout::domain::memory::query::{self, Planning};
    use passepartout::domain::memory::view::NodeRef;
    let view = scanned(&[
        (
            "a.org",
            "#+FILETAGS: :home:\n* TODO Pay :Money:\nDEADLINE: <2026-11-23 Mon +1m>\n** Bill\n* DONE Eat\nCLOSED: [2026-11-01 Sun 10:00]\n",
        ),
        (
            "bb.org",
            "* Café\n:PROPERTIES:\n:Owner: Ann\n:END:\nSCHEDULED: <not a date>\nLONG words\n* TODO Walk\nSCHEDULED: <2026-11-30 Mon>\n",
        ),
    ]);
    let titles = |found: Vec<NodeRef>| found.iter().map(|n| n.title().to_string()).collect::<Vec<_>>().join(" ");
    let day = |text: &str| text.parse().unwrap();
    assert_eq!(titles(query::tagged(&view, "money").collect()), "Pay Bill");
    assert_eq!(titles(query::tagged(&view, ":HOME:").collect()), "a.org Pay Bill Eat");
    assert_eq!(titles(query::with_keyword(&view, "TODO").collect()), "Pay Walk");
    assert_eq!(titles(query::open(&view).collect()), "Pay Walk");
    assert_eq!(titles(query::with_property(&view, "owner", None).collect()), "Café");
    assert_eq!(titles(query::with_property(&view, "OWNER", Some("Bob")).collect()), "");
    let planned = |planning, first: &str, last: &str| -> Vec<String> {
        let found = query::planned(&view, planning, day(first), day(last));
        found.map(|(node, day)| format!("{} {day}", node.title())).collect()
    };
    assert_eq!(planned(Planning::Deadline, "2026-11-23", "2026-11-23"), ["Pay 2026-11-23"]);
    assert_eq!(planned(Planning::Scheduled, "2026-11-01", "2026-12-31"), ["Walk 2026-11-30"]);
    assert_eq!(planned(Planning::Closed, "2026-10-01", "2026-11-01"), ["Eat 2026-11-01"]);
    assert_eq!(planned(Planning::Deadline, "2026-11-24", "2027-01-01"), [""; 0]);
    let since = jiff::Timestamp::from_second(6).unwrap();
    let changed = query::changed_between(&view, since, jiff::Timestamp::MAX);
    assert_eq!(changed.map(|d| d.file.to_string()).collect::<Vec<_>>(), ["bb.org"]);
}

#[test]
fn hostile_texts_take_no_longer() {
    use passepartout::domain::org::scan::{ScanOptions, scan};
    let size = 200_000;
    let deep: String = (1..600).map(|n| format!("{} t{n}\n", "*".repeat(n))).collect();
    let cases = [
        "#+".repeat(size / 2),
        "[[id:".repeat(size / 5),
        "id:a ".repeat(size / 5),
        "* a\n".repeat(size / 4),
        "* a :private:\n:PROPERTIES:\n:ID: x\n:END:\n".repeat(size / 40),
        format!("* {}\n", "t".repeat(size)),
        deep,
    ];
    for text in cases {
        let begin = std::time::Instant::now();
        let outline = scan(text.as_str().into(), &ScanOptions::default()).unwrap();
        let document = Arc::new(Document::build("/n.org", outline, &PrivacyOptions::default()));
        let view = View::default().with(document.clone());
        let unique: std::collections::HashSet<_> = document.ids.iter().collect();
        assert_eq!(unique.len(), document.ids.len());
        assert!(document.ids.iter().all(|id| id.as_str().len() < 1_200));
        assert!(view.get(document.ids.last().unwrap()).is_some());
        // Unoptimised and on a busy machine; what is not linear takes minutes here.
        assert!(begin.elapsed().as_secs() < 20, "{:?} for {:?}…", begin.elapsed(), &text[..20]);
    }
}

#[test]
fn many_documents_at_once_are_as_one_by_one() {
    let text =
        |n: usize| format!("* TODO Heading {n} :tag{}:\n:PROPERTIES:\n:ID: i{n}\n:END:\n[[id:i{}]]\n", n % 3, n + 1);
    let documents: Vec<_> = (0..60).map(|n| document(&format!("{n:02}.org"), &text(n))).collect();
    let before = documents.iter().take(5).fold(View::default(), |view, document| view.with(document.clone()));
    for base in [View::default(), before] {
        let single = documents.iter().fold(base.clone(), |view, document| view.with(document.clone()));
        let mut many = base.clone();
        many.put_all(&documents);
        assert_eq!((many.root(), many.headings(), many.len()), (single.root(), single.headings(), single.len()));
        for n in 0..60 {
            let id = NodeId::new(format!("i{n}"));
            let told = |view: &View| (view.get(&id).map(|n| n.file().clone()), view.backlinks(&id).len());
            assert_eq!(told(&many), told(&single));
        }
        for n in 0..3 {
            let tagged = |view: &View| view.index().count(&Key::Tag(&format!("tag{n}")));
            assert_eq!(tagged(&many), tagged(&single));
        }
    }
}

#[test]
fn a_card_that_was_made_follows_what_its_document_holds_and_is_not_made_again() {
    let text = "* One\n** Below\n* Two :private:\n* Three\n";
    let made = || Arc::unwrap_or_clone(document("a.org", text));
    // (nodes that are held, by index, and how private each is)
    for least in [&[][..], &[(1, Privacy::Private)], &[(1, Privacy::Warn), (4, Privacy::Ask)], &[(3, Privacy::Open)]] {
        let (mut early, mut late) = (made(), made());
        let before = Arc::as_ptr(early.card());
        early.hold(least);
        late.hold(least);
        assert_eq!(early.card(), late.card(), "{least:?}");
        assert_eq!(Arc::as_ptr(early.card()), before, "{least:?}");
        // Each time anew: what was held before is not kept.
        early.hold(&[]);
        assert_eq!(early.card(), made().card(), "{least:?}");
    }
}
