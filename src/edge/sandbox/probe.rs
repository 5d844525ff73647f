//! Tries whether confinement holds on this machine, by letting the launcher try to break out of it.

use crate::edge::sandbox::{Ending, Launcher, Limits, Policy, SandboxError, Task, Walls, run};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// One attempt to break out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What must hold, in words.
    pub name: String,
    /// What was found open instead; `None` when it holds.
    pub open: Option<String>,
}

/// What was found when it was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfinementReport {
    /// The attempts; empty when nothing could be run.
    pub checks: Vec<Check>,
    /// Why nothing could be run, and what to do.
    pub missing: Option<String>,
    /// What the host lacks that makes the inside poorer, never less safe.
    pub notes: Vec<String>,
}

impl ConfinementReport {
    /// Returns whether commands can be run, and everything that was tried was refused.
    pub fn holds(&self) -> bool {
        self.missing.is_none() && !self.checks.is_empty() && self.checks.iter().all(|check| check.open.is_none())
    }
}

/// Tries network, sockets, hidden and masked files, writing outside, other processes, the kernel and
/// privileges, in a folder of its own. `hidden` are the paths that commands must never see: home, memex, store.
pub async fn probe(hidden: &[PathBuf], walls: Walls) -> ConfinementReport {
    match attempt(hidden, walls).await {
        Ok(report) => report,
        Err(why) => ConfinementReport { checks: Vec::new(), missing: Some(why.to_string()), notes: Vec::new() },
    }
}

async fn attempt(hidden: &[PathBuf], walls: Walls) -> Result<ConfinementReport, SandboxError> {
    let launcher = Launcher::find()?;
    let folder = Folder::make()?;
    let secret = folder.0.join(".env");
    std::fs::write(&secret, "secret")?;
    std::fs::create_dir(folder.0.join("open"))?;
    let mut policy = Policy { walls, ..Policy::new(folder.0.clone()) };
    policy.mask.push(secret);
    policy.hide = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    policy.hide.retain(|path| *path != policy.project);
    let report = run(&launcher, &policy, Task::Probe, Limits { seconds: 10, output: 10_000 }).await?;
    let mut checks: Vec<Check> = report.stdout.text.lines().filter_map(read_line).collect();
    if !matches!(report.ending, Ending::Exit(0 | 1)) {
        checks.push(Check { name: "the attempts end by themselves".to_string(), open: Some(report.stderr.text) });
    }
    Ok(ConfinementReport { checks, missing: None, notes: report.notes })
}

/// Reads a line of the launcher's: `ok TAB name`, or `OPEN TAB name: why`.
fn read_line(line: &str) -> Option<Check> {
    let (verdict, words) = line.split_once('\t')?;
    match verdict {
        "ok" => Some(Check { name: words.to_string(), open: None }),
        _ => {
            let (name, why) = words.split_once(": ").unwrap_or((words, "it is open"));
            Some(Check { name: name.to_string(), open: Some(why.to_string()) })
        }
    }
}

/// So many names of a folder may be taken already.
const TRIES: usize = 100;

/// A folder of our own that goes when this does.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// Makes one, canonical, in the system's folder for temporary files.
    pub(crate) fn make() -> Result<Folder, std::io::Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let temporary = std::env::temp_dir().canonicalize()?;
        let mut tries = 0;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = temporary.join(format!("passepartout-probe-{}-{number}", std::process::id()));
            // What is there already is not ours: a process that was killed may have left it, and ours have its number.
            match std::fs::create_dir(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && tries < TRIES => tries += 1,
                made => return made.map(|()| Folder(path)),
            }
        }
    }

    /// Returns where it is.
    pub(super) fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_left_behind_is_stepped_over() {
        let first = Folder::make().expect("a folder");
        let number: u64 = first.0.to_str().and_then(|path| path.rsplit('-').next()?.parse().ok()).expect("a number");
        let left = |ahead: u64| {
            first.0.with_file_name(format!("passepartout-probe-{}-{}", std::process::id(), number + ahead))
        };
        // Other tests may take numbers meanwhile; some of these are met all the same.
        let held: Vec<PathBuf> = (1..=20).map(left).filter(|path| std::fs::create_dir(path).is_ok()).collect();
        let next = Folder::make().expect("another folder");
        assert!(!held.contains(&next.0) && next.0 != first.0 && next.0.is_dir());
        held.iter().for_each(|path| drop(std::fs::remove_dir(path)));
    }
}
