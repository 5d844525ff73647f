//! The full-text index: what it finds in any script, however it came about, and what it survives on disk.

use crate::support::engine::Home;
use passepartout::domain::context::build::Builder;
use passepartout::domain::context::lexical::{Index, QueryTerm, Scored};
use passepartout::domain::context::rank::search;
use passepartout::domain::context::segment::Segment;
use passepartout::domain::label::Privacy;
use passepartout::domain::memory::document::{Document, PrivacyOptions};
use passepartout::domain::memory::view::View;
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::port::LogLevel;
use passepartout::edge::full_text::folder::{Folder, reading};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn document(file: &str, text: &str) -> Arc<Document> {
    let outline = scan(Arc::from(text), &ScanOptions::default()).expect("a small text");
    Arc::new(Document::build(file, outline, &PrivacyOptions::default()))
}

fn folder(at: &Path) -> Folder {
    Folder::open(at, Path::new("/a/store"), reading(&ScanOptions::default())).expect("a folder for the index")
}

fn segment(documents: &[Arc<Document>]) -> Segment {
    let mut builder = Builder::default();
    documents.iter().for_each(|document| builder.add(document));
    builder.finish()
}

/// Writes down what an index has in memory.
fn written(folder: &Folder, index: &Index) -> Index {
    let Some(crowd) = index.in_memory(0) else { return index.clone() };
    index.joined(&crowd, folder.join(&crowd).expect("the disk takes it"))
}

fn all(_: &str, _: u32) -> bool {
    true
}

fn asked(words: &[&str]) -> Vec<QueryTerm> {
    words
        .iter()
        .enumerate()
        .map(|(at, word)| QueryTerm { term: (*word).into(), weight: 1.0 + at as f32 / 3.0 })
        .collect()
}

/// What an index says of some questions.
fn said(index: &Index) -> Vec<Vec<Scored>> {
    let questions: [&[&str]; 5] =
        [&["roof"], &["boat", "tea"], &["tea", "garden", "roof", "boat"], &["nowhere"], &["京都", "tea"]];
    let mut said: Vec<Vec<Scored>> = Vec::new();
    for limit in [1, 3, 1_000] {
        said.extend(questions.iter().map(|words| index.scores(&asked(words), limit, &all)));
    }
    said
}

/// Dice that fall the same way each time.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// A memory of many short headings.
fn many(headings: u64) -> View {
    let mut dice = Dice(5);
    let mut view = View::default();
    for file in 0..headings / 500 {
        let mut text = String::new();
        for _ in 0..500 {
            text.push_str("* w");
            text.push_str(&dice.throw(40).to_string());
            text.push('\n');
            for _ in 0..dice.throw(24) {
                // Low numbers are frequent.
                let most = 1 + dice.throw(300);
                text.push_str(&format!("w{} ", dice.throw(most)));
            }
            text.push('\n');
        }
        view.put(document(&format!("{file:03}.org"), &text));
    }
    view
}

#[test]
fn the_best_are_those_of_a_search_that_leaves_nothing_out() {
    let index = Index::of(&many(10_000));
    for words in
        [&["w1"][..], &["w0", "w250"], &["w2", "w40", "w199"], &["w0", "w1", "w2", "w3"], &["w290", "w280", "w7"]]
    {
        let everything = index.scores(&asked(words), usize::MAX, &all);
        for limit in [1, 10, 150] {
            let best = index.scores(&asked(words), limit, &all);
            assert_eq!(best, everything[..limit.min(everything.len())], "{words:?}, the best {limit}");
        }
    }
}

#[test]
fn few_are_asked_whether_they_may_be_candidates() {
    let index = Index::of(&many(10_000));
    let words = asked(&["w0", "w1", "w2", "w3"]);
    let everything = index.scores(&words, usize::MAX, &all).len();
    let mut last = 0;
    for limit in [1, 10, 100] {
        let count = std::cell::Cell::new(0);
        let may = |_: &str, _: u32| count.replace(count.get() + 1) < usize::MAX;
        assert_eq!(index.scores(&words, limit, &may).len(), limit);
        // Windows of nodes come one after the other; in each, the best are asked first. Equals are asked too.
        let asked = count.get();
        assert!((limit..everything / 10).contains(&asked), "{asked} of {everything} for {limit}");
        assert!(asked >= last);
        last = asked;
    }
}

#[test]
fn nodes_that_hold_all_words_are_found_in_order() {
    let view = many(2_000);
    let index = Index::of(&view);
    let holding = index.holding(&["w0", "w7"]);
    let holds = |word: &str| {
        let found = index.scores(&asked(&[word]), usize::MAX, &all);
        found.into_iter().map(|found| (found.place.file, found.place.index)).collect::<std::collections::BTreeSet<_>>()
    };
    let expected: Vec<_> = holds("w0").intersection(&holds("w7")).cloned().collect();
    assert!(expected.len() > 10);
    assert_eq!(holding.places().map(|(file, at)| (file.clone(), at)).collect::<Vec<_>>(), expected);
    assert_eq!(holding.len(), expected.len());
    let everything = holds("w0");
    assert!(everything.iter().all(|at| holding.has(&at.0, at.1) == expected.contains(at)));
    assert!(!holding.has("000.org", u32::MAX) && !holding.has("nowhere.org", 0));
    assert!(index.holding(&["w0", "nowhere"]).is_empty());
    assert!(index.holding(&[]).is_empty());
}

#[test]
fn words_of_any_script_are_found() {
    for (text, questions, misses) in [
        ("The runners were painting", &["runner", "PAINTED", "paint"][..], &["runic"][..]),
        ("東京タワーに登った", &["東京", "タワー", "登", "京", "東京タワー"], &["西京", "タクシ"]),
        ("我爱北京天安门", &["北京", "天安门", "爱", "北京天安门"], &["南京", "山"]),
        ("ｶﾞｲﾄﾞﾌﾞｯｸ", &["ガイド", "ブック", "ｶﾞｲﾄﾞ"], &["カイト"]),
        ("서울에서 만나요", &["서울", "만나", "울"], &["부산"]),
        ("แมวกินปลาดุก", &["แมว", "ปลา", "กิน", "ปลาดุก"], &["หมา"]),
        ("ดื่มน้ำเย็น", &["น้ำ", "เย็น", "ดื่ม"], &["ร้อน"]),
        ("กินปูดอง", &["ปู", "ดอง"], &["หอย"]),
        ("Rust言語2024で書く", &["rust", "言語", "2024", "書"], &["rus"]),
        ("ＡＢＣ１２３", &["abc123"], &["abc"]),
        ("Tiếng Việt", &["tieng viet", "Tiếng"], &["viel"]),
        ("人々の声", &["人々", "々", "声"], &["神々"]),
        ("𠮷野家で食べる", &["𠮷野", "𠮷"], &["吉野"]),
        ("ພາສາລາວ", &["ລາວ", "ພາ"], &["ໄທ"]),
    ] {
        let view =
            View::default().with(document("a.org", &format!("* Heading\n:PROPERTIES:\n:ID: it\n:END:\n{text}\n")));
        let index = Index::of(&view);
        let found = |question: &str| {
            let hits = search(&view, &index, question, 10, Privacy::Private);
            hits.iter().any(|hit| hit.id.as_str() == "it")
        };
        for question in questions {
            assert!(found(question), "“{question}” in “{text}”");
        }
        for question in misses {
            assert!(!found(question), "“{question}” in “{text}”");
        }
    }
}

const WORDS: [&str; 8] = ["roof", "boat", "tea", "garden", "京都", "the", "tea tea tea", "ปลา"];

#[derive(Clone, Debug)]
enum Step {
    Put(usize, Vec<Vec<usize>>),
    Remove(usize),
    /// Writes down what is in memory.
    Write,
    /// Joins what is crowded, on disk.
    Join,
    /// Ends and starts again.
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let headings = prop::collection::vec(prop::collection::vec(0..WORDS.len(), 0..8), 0..6);
    let step = prop_oneof![
        6 => (0usize..9, headings).prop_map(|(file, headings)| Step::Put(file, headings)),
        1 => (0usize..9).prop_map(Step::Remove),
        2 => Just(Step::Write),
        1 => Just(Step::Join),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_index_that_grew_on_disk_equals_one_built_fresh(steps in steps()) {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let mut disk = folder(cache.path());
        let (mut view, mut index) = (View::default(), Index::default());
        for step in steps {
            match step {
                Step::Put(file, headings) => {
                    let mut text = String::new();
                    for words in headings {
                        let words: Vec<&str> = words.into_iter().map(|word| WORDS[word]).collect();
                        text.push_str(&format!("* {}\n{}\n", words.first().unwrap_or(&"x"), words.join(" ")));
                    }
                    let document = document(&format!("{file}.org"), &text);
                    view.put(document.clone());
                    index = index.with(&document);
                }
                Step::Remove(file) => {
                    view.remove(&format!("{file}.org"));
                    index = index.without(&format!("{file}.org"));
                }
                Step::Write => index = written(&disk, &index),
                Step::Join => {
                    if let Some(crowd) = index.crowd(usize::MAX) {
                        index = index.joined(&crowd, disk.join(&crowd).expect("the disk takes it"));
                    }
                    disk.sweep(&index);
                }
                Step::Restart => {
                    written(&disk, &index);
                    drop(disk);
                    disk = folder(cache.path());
                    let found = disk.load(&view);
                    prop_assert_eq!(found.damaged, 0);
                    index = found.index;
                    let (compared, missing) = index.compared(&view);
                    prop_assert!(missing.is_empty(), "{:?} are not on disk", missing);
                    index = compared;
                }
            }
            let fresh = Index::of(&view);
            prop_assert_eq!(index.len(), fresh.len());
            prop_assert_eq!(said(&index), said(&fresh));
            for word in ["roof", "tea", "京都", "京"] {
                prop_assert_eq!(index.frequency(word), fresh.frequency(word));
            }
        }
    }
}

/// A folder with some segments in it, and the memory that they are of.
fn filled(cache: &Path) -> (View, Vec<PathBuf>) {
    let disk = folder(cache);
    let view = many(2_000);
    let documents: Vec<Arc<Document>> = view.documents().collect();
    for half in documents.chunks(2) {
        disk.keep(&segment(half)).expect("the disk takes it");
    }
    (view, segments(&disk))
}

fn segments(folder: &Folder) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.path()).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "seg")).collect();
    paths.sort();
    paths
}

#[test]
fn a_damaged_segment_is_found_and_only_its_documents_are_read_again() {
    type Harm = fn(&mut Vec<u8>);
    let harms: [(&str, Harm); 7] = [
        ("cut to nothing", |bytes| bytes.clear()),
        ("cut short", |bytes| bytes.truncate(bytes.len() / 2)),
        ("cut by a byte", |bytes| bytes.truncate(bytes.len() - 1)),
        ("a byte more", |bytes| bytes.push(0)),
        ("a bit of the trailer", |bytes| {
            let at = bytes.len() - 40;
            bytes[at] ^= 4;
        }),
        ("a bit of the head", |bytes| {
            let at = bytes.len() - 400;
            bytes[at] ^= 1;
        }),
        ("another file altogether", |bytes| *bytes = b"* A heading\n".repeat(1_000)),
    ];
    for (name, harm) in harms {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let (view, paths) = filled(cache.path());
        let mut bytes = std::fs::read(&paths[0]).expect("the segment is there");
        harm(&mut bytes);
        std::fs::write(&paths[0], bytes).expect("it is written");
        let disk = folder(cache.path());
        let found = disk.load(&view);
        assert_eq!(found.damaged, 1, "{name}");
        assert!(!paths[0].exists(), "{name}: it is removed");
        let (index, missing) = found.index.compared(&view);
        assert_eq!(missing.len(), 2, "{name}");
        let missing: Vec<Arc<Document>> = missing.iter().filter_map(|file| view.document(file)).collect();
        let index = index.adopting(Arc::new(segment(&missing)), &view);
        let query = asked(&["w1", "w70"]);
        assert_eq!(index.scores(&query, 20, &all), Index::of(&view).scores(&query, 20, &all), "{name}");
    }
}

#[test]
fn a_bit_that_flips_anywhere_in_a_body_is_found_when_it_is_read() {
    let cache = tempfile::tempdir().expect("a temporary folder");
    let (view, paths) = filled(cache.path());
    let whole = std::fs::read(&paths[0]).expect("the segment is there");
    let fresh = Index::of(&view);
    let words: Vec<String> = (0..300).map(|word| format!("w{word}")).collect();
    for at in (0..whole.len() / 2).step_by(whole.len() / 12) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&paths[0], &bytes).expect("it is written");
        let disk = folder(cache.path());
        let index = disk.load(&view).index;
        assert_eq!(index.len(), fresh.len(), "heads are whole");
        for word in &words {
            let found = index.scores(&asked(&[word]), 5, &all);
            // It says too little or the truth, and never what was not written.
            assert!(found.iter().all(|hit| hit.score.is_finite()), "{word} at {at}");
        }
        let mended = index.without_broken().unwrap_or_else(|| panic!("byte {at} was never found"));
        let (mended, missing) = mended.compared(&view);
        assert_eq!((missing.len(), mended.segments().count()), (2, 1), "byte {at}");
        std::fs::write(&paths[0], &whole).expect("it is written");
    }
}

#[test]
fn a_lost_or_foreign_segment_is_made_again() {
    let cache = tempfile::tempdir().expect("a temporary folder");
    let (view, paths) = filled(cache.path());
    std::fs::remove_file(&paths[0]).expect("it was there");
    let found = folder(cache.path()).load(&view);
    assert_eq!((found.damaged, found.index.compared(&view).1.len()), (0, 2), "a lost one");

    // Of a newer version: everything is as it should be, but for the number.
    let bytes = std::fs::read(&paths[1]).expect("the segment is there");
    let (body, trailer) = bytes.split_at(bytes.len() - 128);
    let mut told = trailer[..96].to_vec();
    told[7] += 1;
    let newer = [body, &told, blake3::hash(&told).as_bytes()].concat();
    std::fs::write(&paths[1], newer).expect("it is written");
    let disk = folder(cache.path());
    let found = disk.load(&view);
    assert_eq!((found.damaged, found.index.len()), (0, 0), "a foreign one is no damage");
    assert!(paths[1].exists());
    assert_eq!(disk.sweep(&found.index), 1, "and is swept when nobody uses it");

    let other = ScanOptions { sequences: Vec::new(), ..ScanOptions::default() };
    let other = Folder::open(cache.path(), Path::new("/a/store"), reading(&other)).expect("a folder");
    assert_ne!(other.path(), disk.path(), "whoever reads texts otherwise has a folder of their own");
}

#[test]
fn two_processes_do_not_take_each_others_segments_away() {
    let cache = tempfile::tempdir().expect("a temporary folder");
    let (view, paths) = filled(cache.path());
    let (one, other) = (folder(cache.path()), folder(cache.path()));
    let index = one.load(&view).index;
    assert_eq!(other.sweep(&Index::default()), 0, "the other is there");
    assert_eq!(segments(&other), paths);
    // Both write the same: it is one file.
    let documents: Vec<Arc<Document>> = view.documents().collect();
    one.keep(&segment(&documents)).expect("the disk takes it");
    other.keep(&segment(&documents)).expect("the disk takes it");
    assert_eq!(segments(&one).len(), paths.len() + 1);
    drop(one);
    assert_eq!(other.sweep(&Index::default()), paths.len() + 1);
    let query = asked(&["w3", "w9"]);
    let found = index.scores(&query, 10, &all);
    assert_eq!(found, Index::of(&view).scores(&query, 10, &all), "what is open stays readable");
}

#[test]
fn a_file_cut_short_under_an_open_segment_ends_nothing() {
    let cache = tempfile::tempdir().expect("a temporary folder");
    let (view, paths) = filled(cache.path());
    let index = folder(cache.path()).load(&view).index;
    for path in &paths {
        std::fs::File::options().write(true).open(path).and_then(|file| file.set_len(10)).expect("it is cut");
    }
    for word in ["w1", "w2", "w100"] {
        index.scores(&asked(&[word]), 10, &all);
    }
    let mended = index.without_broken().expect("it is known to be broken");
    assert!(mended.is_empty());
    assert_eq!(mended.compared(&view).1.len(), view.len());
}

/// The files of a memex that is too large to be indexed at once.
fn large() -> Vec<(String, String)> {
    let words = ["harbour", "crane", "lantern", "timber", "kettle", "orchard"];
    let file = |file: usize| {
        let heading = |n: usize| {
            let word = words[(file + n) % words.len()];
            format!("* About the {word} {n}\n{}\nkey{file}x{n}\n", "A line of words that say little. ".repeat(12))
        };
        (format!("f{file:02}.org"), (0..120).map(heading).collect::<String>())
    };
    (0..24).map(file).collect()
}

fn home() -> Home {
    let files = large();
    Home::new(&files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>())
}

fn hits(engine: &passepartout::edge::engine::Engine, query: &str) -> usize {
    search(&engine.view(), &engine.index(), query, 10, Privacy::Private).len()
}

fn warnings(engine: &passepartout::edge::engine::Engine) -> Vec<String> {
    let lines = engine.log_lines(1_000).into_iter().filter(|line| line.level == LogLevel::Warning);
    lines.map(|line| line.text).filter(|text| text.contains("full-text")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_fills_in_the_background_and_is_there_at_once_after_a_start() {
    let home = home();
    let engine = home.engine().await;
    home.read(&engine).await;
    // Whatever it has so far, it answers and says how far it is.
    let (before, found) = (engine.filling(), hits(&engine, "key3x7"));
    assert!(found == 1 || before.is_some_and(|filling| filling.done < filling.total), "{before:?}, {found} hits");
    engine.wait_until_filled();
    assert_eq!(engine.filling(), None);
    assert_eq!(hits(&engine, "key3x7"), 1);
    assert_eq!(engine.index().len(), 24 * 121);
    engine.close().await;
    drop(engine);

    let engine = home.engine().await;
    assert_eq!(engine.filling(), None, "nothing is left to do");
    assert_eq!(hits(&engine, "key3x7"), 1);
    assert!(engine.index().segments().all(|segment| segment.memory().is_none()), "all of it is on disk");
    assert_eq!(warnings(&engine), Vec::<String>::new());

    // A file that is changed is read again, and the others are not.
    std::fs::write(home.file("f03.org"), "* Another heading\nkey99x99\n").expect("it is written");
    home.read(&engine).await;
    engine.wait_until_filled();
    assert_eq!((hits(&engine, "key3x7"), hits(&engine, "key99x99"), hits(&engine, "key4x7")), (0, 1, 1));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_index_is_made_again_and_said_once() {
    let home = home();
    let engine = home.engine().await;
    home.read(&engine).await;
    engine.wait_until_filled();
    engine.close().await;
    drop(engine);
    let mut files = Vec::new();
    let mut folders = vec![home.config().cache.join("full-text")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of the index").flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if path.extension().is_some_and(|end| end == "seg") => files.push(path),
                _ => {}
            }
        }
    }
    assert!(!files.is_empty());
    for file in &files {
        // The body alone: heads are read at the start, bodies when something is asked.
        let mut bytes = std::fs::read(file).expect("a segment");
        let half = bytes.len() / 3;
        bytes[..half].iter_mut().for_each(|byte| *byte ^= 0x55);
        std::fs::write(file, bytes).expect("it is written");
    }
    let engine = home.engine().await;
    for _ in 0..50 {
        hits(&engine, "harbour key3x7");
        engine.wait_until_filled();
    }
    assert_eq!(hits(&engine, "key3x7"), 1);
    assert_eq!(warnings(&engine).len(), 1, "{:?}", warnings(&engine));
    engine.close().await;
}
