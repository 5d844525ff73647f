//! Fuzzing with a stable driver: each target is a plain function of bytes, which panics when something is wrong.
//!
//! A run replays `corpus/TARGET/*`, then tries made-up inputs: raw bytes, words of the target's language in any
//! order, and mutants of the corpus. An ordinary run tries the same inputs each time. `FUZZ_SECONDS=N` tries new
//! ones for so long, from a seed that is printed, and `FUZZ_INPUTS=N` so many however long they take; `FUZZ_SEED=N`
//! begins with that one, to see a failure again.
//! An input that was found to break something belongs into the corpus, under any name.

mod first_words;
mod hostile;
mod targets;
mod words;

use crate::support::soak::asked;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestError, TestRng, TestRunner};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use targets::{TARGETS, Target};

/// Cases of a target in an ordinary run.
const CASES: u32 = 150;

/// Cases of a target that are tried from one seed in a long run: a failure is found again in as many.
const BATCH: u32 = 1_000;

fn corpus(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test/fuzz/corpus").join(target.name);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

/// Inputs for a target: its words are its own language, so that deep states are reached.
fn inputs(target: &'static Target, seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let seeds = if seeds.is_empty() { vec![Vec::new()] } else { seeds };
    let words = prop::collection::vec(prop::sample::select(target.words), 0..60).prop_map(|words| words.concat());
    let soup = (words, any::<String>()).prop_map(|(words, odd)| format!("{words}{odd}").into_bytes());
    let raw = prop::collection::vec(any::<u8>(), 0..200);
    let change = (any::<prop::sample::Index>(), 0usize..8, prop::sample::select(target.words));
    let mutant = (prop::sample::select(seeds), prop::collection::vec(change, 1..6)).prop_map(|(mut seed, changes)| {
        for (at, gone, word) in changes {
            let at = at.index(seed.len() + 1);
            let end = (at + gone).min(seed.len());
            seed.splice(at..end, word.bytes());
        }
        seed
    });
    prop_oneof![2 => soup, 1 => raw, 3 => mutant]
}

fn fuzz(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of that name");
    let files = corpus(target);
    assert!(!files.is_empty(), "test/fuzz/corpus/{name} is empty");
    for (path, bytes) in &files {
        println!("{}", path.display());
        (target.run)(bytes);
    }
    let seeds: Vec<Vec<u8>> = files.into_iter().map(|(_, bytes)| bytes).collect();
    let (first, time) = (asked("FUZZ_SEED"), asked("FUZZ_SECONDS").map(Duration::from_secs));
    let least = asked::<u64>("FUZZ_INPUTS").unwrap_or(0);
    let long = time.is_some() || least > 0;
    let Some(mut seed) = first.or_else(|| long.then(fresh_seed)) else {
        let tried = batch(target, seeds, CASES, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        return tried.unwrap_or_else(|why| panic!("{name}: {why}"));
    };
    let (begun, begin) = (Instant::now(), seed);
    let mut tried = 0u64;
    loop {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        batch(target, seeds.clone(), BATCH, random)
            .unwrap_or_else(|why| panic!("{name}: {why}\nAgain: FUZZ_SEED={seed} cargo test --test rust fuzz::{name}"));
        tried += u64::from(BATCH);
        if begun.elapsed() >= time.unwrap_or_default() && tried >= least {
            break;
        }
        seed = seed.wrapping_add(1);
    }
    println!("fuzz {name}: {tried} inputs in {} s from seed {begin}", begun.elapsed().as_secs());
}

/// A seed that differs from run to run.
fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish() >> 16
}

/// Tries a number of inputs; says what was wrong with the least of those that fail.
fn batch(target: &'static Target, seeds: Vec<Vec<u8>>, cases: u32, random: TestRng) -> Result<(), String> {
    let config =
        ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 4_000, ..ProptestConfig::default() };
    let found = TestRunner::new_with_rng(config, random).run(&inputs(target, seeds), |bytes| {
        (target.run)(&bytes);
        Ok(())
    });
    match found {
        Ok(()) => Ok(()),
        Err(TestError::Fail(why, bytes)) => Err(format!("{why}\nwith b\"{}\"", bytes.escape_ascii())),
        Err(TestError::Abort(why)) => Err(why.to_string()),
    }
}

macro_rules! fuzz_tests {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { fuzz(stringify!($name)); })*

        #[test]
        fn every_target_has_a_test() {
            let tested = [$(stringify!($name)),*];
            let targets: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(targets, tested);
        }
    };
}

fuzz_tests!(
    frame,
    first_words,
    sexp,
    org_scan,
    org_edit,
    org_bytes,
    org_contents,
    org_ingest,
    proposal,
    shell,
    lisp,
    lisp_edit,
    blocks,
    secret,
    inert,
    live,
    recall,
    query,
    settings,
    handbook
);
