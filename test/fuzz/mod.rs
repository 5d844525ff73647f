//! Fuzzing with a stable driver: each target is a plain function of bytes, which panics when something is wrong.
//!
//! A run replays `corpus/TARGET/*`, then tries made-up inputs: raw bytes, words of the target's language in any
//! order, and mutants of the corpus. `make soak` tries many more (`PASSEPARTOUT_SOAK=1`, `FUZZ_CASES=N`).
//! An input that was found to break something belongs into the corpus, under any name.

mod hostile;
mod targets;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestError, TestRng, TestRunner};
use std::path::{Path, PathBuf};
use targets::{TARGETS, Target};

/// Cases of a target in an ordinary run, and when soaking.
const CASES: (u32, u32) = (150, 20_000);

/// Returns whether long tests were asked for.
pub fn soaking() -> bool {
    std::env::var_os("PASSEPARTOUT_SOAK").is_some()
}

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
    let soak_cases = std::env::var("FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES.1);
    let config = ProptestConfig {
        cases: if soaking() { soak_cases } else { CASES.0 },
        failure_persistence: None,
        max_shrink_iters: 4_000,
        ..ProptestConfig::default()
    };
    let cases = config.cases;
    let seeds = files.into_iter().map(|(_, bytes)| bytes).collect();
    // An ordinary run tries the same inputs each time; a soak tries new ones.
    let mut runner = match soaking() {
        false => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
        true => TestRunner::new(config),
    };
    let found = runner.run(&inputs(target, seeds), |bytes| {
        (target.run)(&bytes);
        Ok(())
    });
    match found {
        Ok(()) => println!("{name}: {cases} inputs"),
        Err(TestError::Fail(why, bytes)) => {
            panic!("{name}: {why}\nwith b\"{}\"", bytes.escape_ascii())
        }
        Err(TestError::Abort(why)) => panic!("{name}: {why}"),
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

fuzz_tests!(frame, sexp, org_scan, org_edit, org_bytes, proposal, shell, lisp, secret, inert, recall, settings);
