//! What the memex beside the store must survive: folders that vanish, rights that are lost, and an index that is broken.

use super::scattered;
use crate::support::engine::{Home, waiting};
use crate::support::soak::{self, survived};
use crate::support::user::ordinary;
use passepartout::domain::context::rank::search;
use passepartout::domain::label::Privacy;
use passepartout::domain::turn::Ending;
use passepartout::edge::engine::Engine;
use passepartout::edge::store::verify::verify;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Runs an engine with the rights of an ordinary user.
fn by_an_ordinary_user<T: Send>(work: impl Future<Output = T> + Send) -> T {
    ordinary(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(work)
    })
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Returns what memory has of each file, by its name.
fn remembered(engine: &Engine) -> BTreeMap<String, String> {
    engine.view().documents().map(|d| (d.file.to_string(), d.outline.text.to_string())).collect()
}

/// What can happen to a memex.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Harm {
    FolderShut,
    FileShut,
    MemexGone,
    MemexShut,
    FolderReadOnly,
}

impl Harm {
    const ALL: [Harm; 5] = [Harm::FolderShut, Harm::FileShut, Harm::MemexGone, Harm::MemexShut, Harm::FolderReadOnly];

    /// Does it, or makes it good again.
    fn set(self, place: &Path, on: bool) {
        match self {
            Harm::FolderShut | Harm::MemexShut => mode(place, if on { 0o000 } else { 0o700 }),
            Harm::FileShut => mode(place, if on { 0o000 } else { 0o600 }),
            Harm::FolderReadOnly => mode(place, if on { 0o500 } else { 0o700 }),
            Harm::MemexGone if on => fs::rename(place, place.with_extension("aside")).unwrap(),
            Harm::MemexGone => fs::rename(place.with_extension("aside"), place).unwrap(),
        }
    }
}

#[test]
fn folders_that_vanish_and_rights_that_are_lost_take_nothing_out_of_memory() {
    let rounds: u64 = soak::asked("HARMS").unwrap_or(10);
    let home = Home::new(&[]);
    let root: PathBuf = Path::new(&home.file("x")).parent().unwrap().to_path_buf();
    let mut files = BTreeMap::new();
    for n in 0..40 {
        fs::create_dir_all(root.join(format!("{}", n % 5))).unwrap();
        let name = home.file(&format!("{}/{n}.org", n % 5));
        fs::write(&name, format!("* Note {n}\n")).unwrap();
        files.insert(name, format!("* Note {n}\n"));
    }
    let starts = by_an_ordinary_user(async {
        let mut engine = home.engine().await;
        let mut starts = 0;
        home.read(&engine).await;
        assert_eq!(remembered(&engine), files);
        for round in 0..rounds {
            let harm = Harm::ALL[round as usize % Harm::ALL.len()];
            let file = PathBuf::from(files.keys().nth(scattered(round) as usize % files.len()).unwrap());
            let place = match harm {
                Harm::FolderShut | Harm::FolderReadOnly => file.parent().unwrap(),
                Harm::FileShut => &file,
                Harm::MemexGone | Harm::MemexShut => &root,
            };
            // Changed so that it is read anew, if it can be.
            let changed = format!("* Changed in round {round}\n");
            fs::write(&file, &changed).unwrap();
            let old = files.insert(file.display().to_string(), changed).unwrap();
            harm.set(place, true);
            let mut known = files.clone();
            if harm != Harm::FolderReadOnly {
                known.insert(file.display().to_string(), old);
            }
            home.read(&engine).await;
            // By name, as the watch tells of it; and now and then the program is started in the middle of it.
            engine.read_changed(&[place.to_path_buf()]);
            if round % 3 == 1 {
                engine.close().await;
                engine = home.engine().await;
                home.read(&engine).await;
                starts += 1;
            }
            let told = engine.problems();
            assert_eq!(remembered(&engine), known, "{harm:?}: what was known is kept; {told:?}");
            let named = told.iter().any(|problem| problem.contains(&*place.to_string_lossy()));
            assert_eq!(named, harm != Harm::FolderReadOnly, "{harm:?}: {told:?}");
            harm.set(place, false);
            home.read(&engine).await;
            assert_eq!(remembered(&engine), files, "{harm:?}: it is as it is on disk");
            assert_eq!(engine.problems(), [""; 0], "{harm:?}");
        }
        engine.flush().await.unwrap();
        engine.close().await;
        starts
    });
    assert!(verify(&home.store(), Some(&home.config().heads())).unwrap().whole());
    survived(format!(
        "{rounds} times a folder, a file or the memex vanished, shut or read-only, {starts} starts in the middle of it: nothing forgotten, each named"
    ));
}

#[test]
fn an_act_where_nothing_may_be_written_fails_says_so_and_leaves_no_trace() {
    let note = "* TODO A\n:PROPERTIES:\n:ID: a\n:END:\n";
    let home = Home::new(&[("a.org", note)]);
    let root: PathBuf = Path::new(&home.file("x")).parent().unwrap().to_path_buf();
    let harms = [Harm::FolderReadOnly, Harm::FolderShut, Harm::MemexGone];
    by_an_ordinary_user(async {
        for harm in harms {
            let engine = home.engine().await;
            home.read(&engine).await;
            home.ask(&engine, "mark A done").await;
            let plan = waiting(&engine);
            harm.set(&root, true);
            // Whether it is stale or fails: it is said, and nothing is done.
            if let Ok(finished) = home.approve(&engine, &plan).await {
                let said = format!("{:?} {:?}", finished.report.deeds, finished.report.notice);
                assert!(finished.report.deeds.iter().all(|deed| deed.outcome != "done"), "{harm:?}: {said}");
                assert_ne!((finished.report.ending, said.len() > 8), (Ending::Answered, false), "{harm:?}");
            }
            harm.set(&root, false);
            assert_eq!(home.read_file("a.org"), note, "{harm:?}");
            let left: Vec<_> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(left, ["a.org"], "{harm:?}: no half-written file is left");
            for plan in engine.plans(false) {
                home.deny(&engine, &plan, "enough").await.unwrap();
            }
            home.ask(&engine, "mark A done").await;
            home.approve(&engine, &waiting(&engine)).await.unwrap();
            assert_eq!(home.read_file("a.org"), note.replace("TODO", "DONE"), "{harm:?}: and then it can be done");
            fs::write(home.file("a.org"), note).unwrap();
            engine.close().await;
        }
    });
    assert!(verify(&home.store(), Some(&home.config().heads())).unwrap().whole());
    survived(format!("{} acts where nothing may be written: none done by half, each done later", harms.len()));
}

/// Returns the files of the full-text index.
fn index_files(cache: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![cache.join("full-text")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => files.push(path),
            }
        }
    }
    files.sort();
    files
}

/// Lost, emptied, cut short, overwritten, one bit flipped: the next questions are answered as before.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_text_index_that_is_lost_or_broken_is_made_again() {
    let rounds: u64 = soak::asked("INDEX_HARMS").unwrap_or(8);
    let words = ["harbour", "crane", "lantern", "timber", "kettle", "orchard"];
    let heading = |file: usize, n: usize| {
        format!("* About the {} {n}\n{}key{file}x{n}\n", words[(file + n) % 6], "Little is said here. ".repeat(9))
    };
    let texts: Vec<(String, String)> =
        (0..16).map(|file| (format!("{file}.org"), (0..90).map(|n| heading(file, n)).collect())).collect();
    let home = Home::new(&texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>());
    let questions: Vec<String> = (0..16).map(|n| format!("key{n}x{}", n * 5)).chain(words.map(String::from)).collect();
    let answers = |engine: &Engine| -> Vec<Vec<String>> {
        let ids = |query: &String| {
            let mut found: Vec<String> = search(&engine.view(), &engine.index(), query, 2_000, Privacy::Private)
                .iter()
                .map(|hit| hit.id.to_string())
                .collect();
            found.sort();
            found
        };
        questions.iter().map(ids).collect()
    };
    let engine = home.engine().await;
    home.read(&engine).await;
    engine.wait_until_filled();
    let expect = answers(&engine);
    assert!(expect.iter().all(|found| !found.is_empty()));
    engine.close().await;
    drop(engine);
    let cache = home.config().cache;
    let mut harmed = 0;
    for round in 0..rounds {
        let files = index_files(&cache);
        assert!(!files.is_empty(), "round {round}");
        let file = &files[scattered(round) as usize % files.len()];
        let mut bytes = fs::read(file).unwrap();
        let at = scattered(round + 1_000) as usize % bytes.len().max(1);
        match round % 6 {
            0 => fs::remove_dir_all(cache.join("full-text")).unwrap(),
            1 => fs::remove_file(file).unwrap(),
            2 => fs::write(file, &bytes[..at]).unwrap(),
            3 => fs::write(file, "nothing of ours").unwrap(),
            4 => files.iter().for_each(|file| fs::write(file, "").unwrap()),
            _ => {
                bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << (round % 8));
                fs::write(file, &bytes).unwrap();
            }
        }
        harmed += 1;
        let engine = home.engine().await;
        home.read(&engine).await;
        engine.wait_until_filled();
        // What is damaged in the middle is seen when it is read; then it is made again.
        let mut tries = 0;
        while answers(&engine) != expect {
            tries += 1;
            assert!(tries < 50, "round {round}: {} was harmed", file.display());
            engine.wait_until_filled();
        }
        engine.close().await;
    }
    survived(format!(
        "{harmed} harms of the full-text index: made again each time, {} questions answered as before",
        questions.len()
    ));
}
