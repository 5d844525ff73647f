//! `passepartout memory`: the store proves itself, and lets go of what is old when it is told to.

use crate::edge::cli::args::Memory;
use crate::edge::cli::plans;
use crate::edge::cli::run::{DONE, FAILED, Failure};
use crate::edge::cli::session::configured;
use crate::edge::clock::{Clock, SystemClock};
use crate::edge::config::Config;
use crate::edge::stderr::complain;
use crate::edge::store::compact::{Compaction, Keep};
use crate::edge::store::verify::{Proof, keep_result, verify};
use crate::edge::store::{DiskStore, witness};
use std::io::Write;
use std::time::Duration;

/// How long an owner that is about to end is waited for.
const PATIENCE: Duration = Duration::from_millis(500);

/// Checks a store and prints what came of it; the doctor remembers it.
///
/// # Errors
/// When there is no store, or it cannot be read for a reason that is no damage.
pub fn check(
    config: &Config,
    now: jiff::Timestamp,
    accept: bool,
    json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let heads = config.heads();
    if accept {
        let count = witness::accept(&heads, &config.store)?;
        // What is there is noted anew.
        let mut store = DiskStore::open_patiently(&config.store, PATIENCE)?;
        store.watch(&heads);
        if !json {
            writeln!(out, "What is there now counts from here on; {count} heads that did not fit are forgotten.")?;
        }
    }
    let begun = std::time::Instant::now();
    let proof = verify(&config.store, Some(&heads))?;
    if let Err(why) = keep_result(&heads, &config.store, &proof, now) {
        complain(&format!("warning: the result could not be kept for the doctor: {why}"));
    }
    print(&proof, begun.elapsed(), json, out)?;
    Ok(if proof.whole() { DONE } else { FAILED })
}

fn print(proof: &Proof, took: Duration, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    if json {
        let mut all = serde_json::to_value(proof)?;
        all["whole"] = proof.whole().into();
        all["verdict"] = proof.verdict().into();
        all["seconds"] = took.as_secs_f64().into();
        writeln!(out, "{all}")?;
    } else {
        write!(out, "{}", proof.text())?;
        writeln!(out, "checked in {:.1} s", took.as_secs_f64())?;
    }
    Ok(())
}

/// Lets go of old contents, or says what that would free.
///
/// # Errors
/// When the store is in use, or cannot be opened or written.
pub fn compact(
    config: &Config,
    now: jiff::Timestamp,
    keep: Keep,
    dry_run: bool,
    json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let days = (config.history_days > 0).then_some(config.history_days);
    let keep = if keep == Keep::default() { Keep { days, ..keep } } else { keep };
    let done: Compaction = if dry_run {
        DiskStore::open_to_read(&config.store)?.plan_compaction(keep, now)?
    } else {
        let mut store = DiskStore::open_patiently(&config.store, PATIENCE)?;
        store.watch(&config.heads());
        for notice in store.notices() {
            complain(&format!("warning: {notice}"));
        }
        store.compact(keep, now)?
    };
    if json {
        writeln!(out, "{}", serde_json::to_value(&done)?)?;
    } else {
        write!(out, "{}", done.text())?;
    }
    Ok(DONE)
}

pub(super) fn run_memory(command: Memory, out: &mut dyn Write) -> Result<u8, Failure> {
    let now = SystemClock.now();
    match command {
        Memory::Verify { place, accept, json } => {
            if accept {
                plans::human_terminal()?;
            }
            check(&configured(&place), now, accept, json, out)
        }
        Memory::Compact { place, keep_days, keep_operations, dry_run, json } => {
            let keep = Keep { days: keep_days, operations: keep_operations };
            compact(&configured(&place), now, keep, dry_run, json, out)
        }
        other => super::past::run(other, out),
    }
}
