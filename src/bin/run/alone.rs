//! Confinement where the kernel makes no namespaces: Landlock, seccomp and limits alone.
//!
//! It is weaker, and asked for by name (`--walls fewer`) by a host that has said so to a human: that files exist can
//! be learnt, and what the command starts outlives a launcher that is killed by signal 9. All else is held as tightly,
//! some of it more tightly, because there is nothing of its own that the command could change instead.

use crate::first::{self, command};
use crate::policy::Policy;
use crate::status::Status;
use crate::sys::{self, Ended};
use crate::{REFUSED, lock};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the launcher sleeps between two looks at what runs.
///
/// Each look reads the list of all processes of the machine, so it is rarer than inside a namespace.
const LOOK: Duration = Duration::from_millis(100);
/// How often what runs is killed before it is left; each time only what was started meanwhile is left.
const ROUNDS: usize = 500;

/// Runs the policy's task and returns its exit status, or says what confinement lacks.
pub fn run(policy: &Policy, status: &Status) -> Result<i32, String> {
    sys::die_with_parent().map_err(|e| format!("this process could not be tied to its parent: {e}"))?;
    if sys::parent() != policy.parent {
        return Err(format!("process {} that wanted the command is not my parent or no longer lives", policy.parent));
    }
    if policy.proxy {
        return Err("hosts cannot be reached without a network namespace".to_string());
    }
    sys::adopt_orphans().map_err(|e| format!("what the command leaves behind could not be adopted: {e}"))?;
    sys::new_session();
    sys::block_waited();
    let scratch = Scratch::make()?;
    let at_home = policy.bare.then(|| Policy { project: scratch.0.clone(), ..policy.clone() });
    let policy = at_home.as_ref().unwrap_or(policy);
    let child = || {
        confined(policy, status, &scratch.0).unwrap_or_else(|missing| {
            status.refused(&missing);
            REFUSED
        })
    };
    let main = sys::begin(&child).map_err(|e| format!("no process could be started: {e}"))?;
    let code = watch(main, policy, status, &scratch.0);
    end_all();
    Ok(code)
}

/// Confines this process and becomes the command.
fn confined(policy: &Policy, status: &Status, scratch: &Path) -> Result<i32, String> {
    sys::die_with_parent().map_err(|e| format!("this process could not be tied to its parent: {e}"))?;
    lock::give_up_privileges(policy.walls)?;
    lock::restrict_alone(policy, scratch)?;
    lock::filter_calls(policy)?;
    command(policy, status, &[], scratch, scratch)
}

/// Looks after what runs, until the command ends, is told to end, or grows beyond its limits.
fn watch(main: i32, policy: &Policy, status: &Status, scratch: &Path) -> i32 {
    let before = (sys::free(&policy.project).ok(), sys::free(scratch).ok());
    let small = crate::policy::Limits { disk: policy.limits.scratch, ..policy.limits };
    loop {
        if sys::wait_signal(Some(LOOK)).is_some_and(|signal| signal != libc::SIGCHLD) {
            return 128 + libc::SIGTERM;
        }
        while let Some((pid, ended)) = sys::wait(false) {
            if pid == main {
                // A command that could not be confined has said so, and nothing else is said of it.
                return match ended {
                    Ended::Exit(REFUSED) => REFUSED,
                    other => first::tell(other, status),
                };
            }
        }
        // What can write nothing fills no disk; others may, and it is not ended for that.
        let full = !policy.bare
            && (before.0.is_none_or(|free| first::filled(free, &policy.project, &policy.limits))
                || before.1.is_none_or(|free| first::filled(free, scratch, &small)));
        let running = below().into_iter().map(|pid| Path::new("/proc").join(pid.to_string()));
        if let Some(limit) = if full { Some("disk") } else { first::beyond(running, &policy.limits) } {
            status.beyond(limit);
            return first::BEYOND;
        }
    }
}

/// Kills all that the command has started, also what has left its session: orphans become ours.
fn end_all() {
    for _ in 0..ROUNDS {
        while sys::wait(false).is_some() {}
        // Orphans are ours, so who has no child has nobody below.
        if sys::childless() {
            return;
        }
        below().into_iter().for_each(sys::kill);
        sys::wait_signal(Some(Duration::from_millis(2)));
    }
}

/// Returns every process below this one.
fn below() -> BTreeSet<i32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name, in brackets, may hold anything; the state and the parent come after it.
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse::<i32>().ok());
        parents.extend(parent.map(|parent| (pid, parent)));
    }
    let mut found = BTreeSet::from([sys::own()]);
    // Each round finds one more generation.
    while let Some((pid, _)) = parents.iter().find(|(pid, parent)| found.contains(parent) && !found.contains(pid)) {
        found.insert(*pid);
    }
    found.remove(&sys::own());
    found
}

/// A folder for what the command writes that is of no use later, where it is at home as well; it goes with the launcher.
struct Scratch(PathBuf);

impl Scratch {
    fn make() -> Result<Scratch, String> {
        let path = Path::new("/tmp").join(format!("passepartout-{}-{:x}", sys::own(), sys::chance()));
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|e| format!("there is no folder for scratch: {e}"))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
