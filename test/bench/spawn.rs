//! What confinement costs at the start of a command, from a process as large as a large Emacs.

use crate::report::row;
use passepartout::domain::label::Privacy;
use passepartout::edge::sandbox::{Launcher, Walls};
use passepartout::edge::worker::{Evaluated, Owner, Told, WorkerLimits, Workers};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Bytes that the process holds while it starts others: what a fork would have to copy the tables of.
const RESIDENT: usize = 500 << 20;
const ROUNDS: usize = 200;

/// Prints a row for each kind of walls. Plain starts of the same program stand between them, in the same run.
pub fn print() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let held = vec![1u8; RESIDENT];
    let project = tempfile::tempdir().unwrap();
    let at = project.path().canonicalize().unwrap().display().to_string();
    let launcher = env!("CARGO_BIN_EXE_passepartout-run");
    let parent = std::process::id().to_string();
    let confined = |walls: &[&str]| {
        let mut command = Command::new(launcher);
        command
            .args(["--project", &at, "--parent", &parent])
            .args(walls)
            .args(["--", "true"])
            .env_clear()
            .current_dir("/");
        command
    };
    let (mut plain, mut all, mut fewer) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plain.extend(timed(Command::new("true")));
        all.extend(timed(confined(&[])));
        fewer.extend(timed(confined(&["--walls", "fewer"])));
    }
    std::hint::black_box(&held);
    worker(Path::new(launcher));
    let plain = told(&mut plain).unwrap_or_default();
    for (name, promised, times) in [
        ("start of a command in 500 MB, all walls", "p50 8 ms", &mut all),
        ("start of a command in 500 MB, Landlock and seccomp alone", "p50 3 ms", &mut fewer),
    ] {
        match told(times) {
            Some(figures) => row(name, promised, &format!("{figures}; plain {plain}")),
            None => row(name, promised, "not possible on this machine"),
        }
    }
}

/// Prints what the first call of a Lisp worker takes, which starts a confined Emacs, and what later ones do.
fn worker(launcher: &Path) {
    const STARTS: usize = 10;
    const CALLS: usize = 500;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let workers = Workers::new(Launcher::at(launcher).unwrap(), WorkerLimits::USUAL);
    let call = |owner: &Owner| {
        let from = Instant::now();
        let answer =
            runtime.block_on(workers.evaluate(owner, Walls::All, "(+ 1 2)", &Told::own(Privacy::Open))).ok()?;
        (answer.ended == Evaluated::Value("3".to_string())).then(|| from.elapsed().as_secs_f64() * 1e3)
    };
    let owner = |n: usize| Owner::Skill(format!("bench {n}"));
    let mut starts: Vec<f64> = (0..STARTS).filter_map(|n| call(&owner(n))).collect();
    let mut calls: Vec<f64> = (0..CALLS).filter_map(|_| call(&owner(STARTS - 1))).collect();
    for (name, promised, times) in
        [("start of a Lisp worker", "p50 150 ms", &mut starts), ("a call to a warm Lisp worker", "", &mut calls)]
    {
        times.sort_by(f64::total_cmp);
        match (times.get(times.len() / 2), times.get(times.len() * 99 / 100)) {
            (Some(middle), Some(most)) => row(name, promised, &format!("p50 {middle:.2} ms, p99 {most:.2}")),
            _ => row(name, promised, "not possible on this machine"),
        }
    }
}

/// Starts a command, waits for its end, and returns milliseconds on the wall and of the processor, which what else runs
/// does not change much; nothing when it was refused.
fn timed(mut command: Command) -> Option<(f64, f64)> {
    let before = of_children();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let from = Instant::now();
    let ended = command.status().ok()?;
    let milliseconds = from.elapsed().as_secs_f64() * 1e3;
    ended.success().then_some((milliseconds, of_children() - before))
}

fn told(times: &mut [(f64, f64)]) -> Option<String> {
    let (mut wall, mut processor): (Vec<f64>, Vec<f64>) = times.iter().copied().unzip();
    let at = |times: &mut Vec<f64>, share: f64| {
        times.sort_by(f64::total_cmp);
        times.get(((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1))).copied()
    };
    let (middle, most, spent) = (at(&mut wall, 0.5)?, at(&mut wall, 0.99)?, at(&mut processor, 0.5)?);
    Some(format!("p50 {middle:.1} ms ({spent:.1} of the processor), p99 {most:.1}"))
}

/// Returns what ended children have used of the processor, in milliseconds.
#[allow(unsafe_code)] // One call of getrusage.
fn of_children() -> f64 {
    // SAFETY: zero is a valid value of every field, and the structure outlives the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let milliseconds = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime)
}
