//! The file of vectors: whatever happens to it, what is read from it is what was written.

use passepartout::domain::embed::flat::Wanted;
use passepartout::domain::embed::{PassageKey, Vector};
use passepartout::edge::embed::kept::{KeepError, Kept};
use proptest::prelude::*;
use std::collections::HashSet;
use std::path::PathBuf;

const DIMENSION: usize = 5;

fn key(number: u16) -> PassageKey {
    *blake3::hash(&number.to_le_bytes()).as_bytes()
}

fn vector(number: u16) -> Vector {
    let numbers = (0..DIMENSION).map(|at| f32::from(number % 97) + 1.0 + at as f32 * 0.37).collect();
    Vector::new(numbers).expect("it points somewhere")
}

fn rows(numbers: impl IntoIterator<Item = u16>) -> Vec<(PassageKey, Vector)> {
    numbers.into_iter().map(|number| (key(number), vector(number))).collect()
}

fn file(folder: &std::path::Path) -> Option<PathBuf> {
    let mut found = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    found.find(|path| path.extension().is_some_and(|end| end == "vec"))
}

/// Asserts that what is kept is right, and returns which numbers are.
fn sound(kept: &Kept) -> HashSet<u16> {
    let numbers: HashSet<u16> = (0..600).filter(|number| kept.holds(&key(*number))).collect();
    for number in &numbers {
        let found = kept.vector(&key(*number)).expect("what is held can be read");
        assert!(found.cosine(&vector(*number)) > 0.9999, "{number} is another vector");
        let row = kept.row(&key(*number)).expect("it has a row");
        assert_eq!(kept.key(row), Some(key(*number)));
    }
    assert_eq!(kept.len(), numbers.len());
    numbers
}

/// What happens to a file of vectors.
#[derive(Clone, Debug)]
enum Deed {
    Put(u16, u16),
    LetGo(u16, u16),
    /// At most so many are moved to where nothing is wanted.
    Shrink(u8),
    Reopen,
    /// Cut behind so many parts of 256 of it.
    Tear(u8),
    /// A byte at so many parts of 256 of it is another one.
    Flip(u8),
    /// A torn row behind the last one.
    Append(u8),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => (0u16..600, 1u16..300).prop_map(|(from, count)| Deed::Put(from, count)),
        2 => (0u16..600, 1u16..600).prop_map(|(from, count)| Deed::LetGo(from, count)),
        2 => any::<u8>().prop_map(Deed::Shrink),
        2 => Just(Deed::Reopen),
        1 => any::<u8>().prop_map(Deed::Tear),
        1 => any::<u8>().prop_map(Deed::Flip),
        1 => any::<u8>().prop_map(Deed::Append),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn whatever_becomes_of_the_file_no_vector_is_wrong_and_none_is_lost_unharmed(
        deeds in proptest::collection::vec(deed(), 1..24),
    ) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (mut kept, _) = Kept::open(folder.path(), "fake m", true);
        let (mut expected, mut written): (HashSet<u16>, HashSet<u16>) = Default::default();
        for deed in deeds {
            let harm = |harm: &dyn Fn(&mut Vec<u8>)| {
                if let Some(path) = file(folder.path()) {
                    let mut bytes = std::fs::read(&path).expect("it can be read");
                    harm(&mut bytes);
                    std::fs::write(&path, bytes).expect("it can be written");
                }
            };
            let harmed = !matches!(deed, Deed::Put(..) | Deed::LetGo(..) | Deed::Shrink(_) | Deed::Reopen | Deed::Append(_));
            match deed {
                Deed::Put(from, count) => {
                    let new: Vec<u16> = (from..from.saturating_add(count).min(600)).filter(|n| !kept.holds(&key(*n))).collect();
                    kept.put(&rows(new.clone())).expect("there is room");
                    written.extend(new.iter().copied());
                    expected.extend(new);
                }
                Deed::LetGo(from, count) => {
                    expected.retain(|n| !(from..from.saturating_add(count)).contains(n));
                    kept.retain(&expected.iter().map(|n| key(*n)).collect());
                }
                Deed::Shrink(most) => {
                    let idle = kept.rows() - kept.len();
                    let more = kept.shrink(usize::from(most)).expect("the disk takes it");
                    prop_assert!(!more || usize::from(most) < idle, "{more} {most} {idle}");
                }
                Deed::Reopen => kept = Kept::open(folder.path(), "fake m", true).0,
                Deed::Tear(part) => harm(&|bytes| bytes.truncate(bytes.len() * usize::from(part) / 256)),
                Deed::Flip(part) => harm(&|bytes| {
                    let at = bytes.len() * usize::from(part) / 256;
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte ^= 0x40;
                    }
                }),
                Deed::Append(count) => harm(&|bytes| bytes.extend(std::iter::repeat_n(7, usize::from(count) % 40))),
            }
            if harmed {
                // Found by whoever opens it next.
                kept = Kept::open(folder.path(), "fake m", true).0;
                let left = sound(&kept);
                prop_assert!(left.is_subset(&written), "{left:?}");
                expected = left;
                continue;
            }
            let there = sound(&kept);
            // What was let go and is in the file still may come back when it is opened anew; it does no harm.
            prop_assert!(expected.is_subset(&there), "{expected:?} {there:?}");
            expected = there;
        }
    }
}

#[test]
fn vectors_outlive_the_program_and_only_for_their_embedder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut kept, damaged) = Kept::open(folder.path(), "fake m", true);
    assert_eq!((damaged, kept.dimension(), kept.is_empty()), (0, None, true));
    kept.put(&rows(0..100)).expect("there is room");
    drop(kept);
    let (kept, damaged) = Kept::open(folder.path(), "fake m", false);
    assert_eq!((damaged, kept.dimension(), sound(&kept).len()), (0, Some(DIMENSION), 100));
    let near = kept.search(&vector(7), Wanted { most: 1, least: 0.9 }, &|_| true);
    assert_eq!(near.first().and_then(|near| kept.key(near.row)), Some(key(7)));
    assert!(Kept::open(folder.path(), "fake other", true).0.is_empty(), "another model has other vectors");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(file(folder.path()).expect("a file")).expect("it is there").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_cannot_be_kept_is_refused_whole() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut kept, _) = Kept::open(folder.path(), "fake m", true);
    kept.put(&rows(0..3)).expect("there is room");
    let longer = (key(9), Vector::new(vec![1.0; DIMENSION + 1]).expect("a direction"));
    let refused = kept.put(&[rows([4]).remove(0), longer]);
    assert!(matches!(refused, Err(KeepError::Dimension(6, 5))), "{refused:?}");
    assert_eq!(sound(&kept), (0..3).collect());
    let (mut beside, _) = Kept::open(folder.path(), "fake m", false);
    assert!(matches!(beside.put(&rows([5])), Err(KeepError::Disk(_))), "only the owner of the store writes");
    assert_eq!(sound(&beside), (0..3).collect());
    kept.clear();
    assert!(kept.is_empty() && file(folder.path()).is_none());
    kept.put(&[(key(1), Vector::new(vec![1.0, 1.0]).expect("a direction"))]).expect("another dimension");
    assert_eq!(Kept::open(folder.path(), "fake m", true).0.dimension(), Some(2));
}

#[test]
fn what_is_let_go_leaves_its_place_to_the_next() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bytes = |count: usize| count * DIMENSION;
    for in_memory in [false, true] {
        let kept = if in_memory { Kept::in_memory("fake m") } else { Kept::open(folder.path(), "fake m", true).0 };
        let mut kept = kept.within(bytes(10));
        assert_eq!((kept.room(None), kept.room(Some(DIMENSION))), (usize::MAX, 10));
        kept.put(&rows(0..10)).expect("there is room");
        let refused = kept.put(&rows([10]));
        assert!(matches!(refused, Err(KeepError::Full(10))), "{refused:?}");
        kept.retain(&rows(3..10).into_iter().map(|(key, _)| key).collect());
        let refused = kept.put(&rows(20..24));
        assert!(matches!(refused, Err(KeepError::Full(10))) && kept.room(None) == 3, "{refused:?}");
        let (beside, _) = Kept::open(folder.path(), "fake m", false);
        kept.put(&rows(20..23)).expect("there is room");
        assert_eq!((sound(&kept), kept.rows(), kept.room(None)), ((3..10).chain(20..23).collect(), 10, 0));
        let near = kept.search(&vector(21), Wanted { most: 1, least: 0.99 }, &|_| true);
        assert_eq!(near.first().and_then(|near| kept.key(near.row)), Some(key(21)));
        if !in_memory {
            assert_eq!(beside.vector(&key(0)), None, "whoever reads beside finds no other vector in its place");
            assert_eq!(sound(&Kept::open(folder.path(), "fake m", true).0), (3..10).chain(20..23).collect());
        }
    }
}

#[test]
fn what_is_let_go_frees_its_room() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for in_memory in [false, true] {
        let mut kept = if in_memory { Kept::in_memory("fake m") } else { Kept::open(folder.path(), "fake m", true).0 };
        kept.put(&rows(0..600)).expect("there is room");
        let long = || file(folder.path()).map(|path| std::fs::metadata(path).expect("it is there").len());
        let before = long();
        // Nothing else can be written where there is no room for it.
        let part = file(folder.path()).map(|path| path.with_extension("part"));
        part.iter().for_each(|part| std::fs::create_dir_all(part).expect("it can be made"));
        kept.retain(&rows(500..600).into_iter().map(|(key, _)| key).collect());
        let mut steps = 1;
        while kept.is_slack() && kept.shrink(20).expect("the disk takes it") {
            // Whoever comes in between finds all of them, and so does whoever opens the file.
            assert_eq!(sound(&kept), (500..600).collect());
            if !in_memory {
                assert!(sound(&Kept::open(folder.path(), "fake m", false).0).is_superset(&(500..600).collect()));
            }
            steps += 1;
        }
        assert_eq!((sound(&kept), kept.rows(), steps), ((500..600).collect(), 100, 5));
        if !in_memory {
            assert!(long() < before.map(|before| before / 5), "the file is shorter");
            assert_eq!(sound(&Kept::open(folder.path(), "fake m", true).0), (500..600).collect());
        }
        kept.put(&rows(300..310)).expect("there is room");
        assert_eq!(sound(&kept).len(), 110);
    }
}
