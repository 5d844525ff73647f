//! The first process: pid 1 of the new namespace. When it ends, the kernel ends all that is in there.

use crate::policy::{HOME, Limits, PASSED, Policy, Stdin, Task, Walls};
use crate::status::Status;
use crate::sys::{self, Ended, Fork};
use crate::{REFUSED, lock, net, probe, root};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The exit status when the command grew beyond a limit: that of a process killed by signal 9.
pub const BEYOND: i32 = 128 + libc::SIGKILL;

/// How long the first process sleeps between two looks at what runs.
const LOOK: Duration = Duration::from_millis(20);

/// The environment of every command. Nothing of the host's is in it.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"),
    ("LANG", "C.UTF-8"),
    ("TERM", "dumb"),
    ("SHELL", "/bin/bash"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Does everything that pid 1 does, and leaves.
pub fn run(policy: &Policy, status: &Status, alive: &OwnedFd) -> ! {
    let code = match prepare(policy, alive) {
        Ok((notes, processes)) => start(policy, status, &notes, &processes),
        Err(missing) => Err(missing),
    };
    sys::leave(code.unwrap_or_else(|missing| {
        status.refused(&missing);
        REFUSED
    }))
}

/// Builds the world in which the command will run, and gives up the means to change it.
fn prepare(policy: &Policy, alive: &OwnedFd) -> Result<(Vec<String>, OwnedFd), String> {
    sys::die_with_parent().map_err(|e| format!("this process could not be tied to its parent: {e}"))?;
    if sys::hung_up(alive) {
        return Err("whoever wanted the command no longer lives".to_string());
    }
    sys::new_session();
    let notes = root::build(policy)?;
    let processes = sys::own_proc().map_err(|e| format!("the processes inside could not be watched ({e})"))?;
    // Not before: a kernel gives another /proc only to who has one that is whole.
    root::cover_proc()?;
    sys::enter(&processes).map_err(|e| format!("the processes inside could not be watched: {e}"))?;
    // A bound that holds for root too, where the kernel has it (6.14 and later); the watch bounds the rest.
    let _ = fs::write("sys/kernel/pid_max", policy.limits.processes.max(301).to_string());
    root::seal(policy)?;
    lock::give_up_privileges(policy.walls)?;
    lock::filter_calls(policy)?;
    sys::hide_self().map_err(|e| format!("this process could not be hidden: {e}"))?;
    Ok((notes, processes))
}

fn start(policy: &Policy, status: &Status, notes: &[String], processes: &OwnedFd) -> Result<i32, String> {
    match sys::fork().map_err(|e| format!("no process could be started: {e}"))? {
        Fork::Child => sys::leave(match command(policy, status, notes, Path::new("/tmp"), Path::new(HOME)) {
            Ok(code) => code,
            Err(missing) => {
                status.refused(&missing);
                REFUSED
            }
        }),
        Fork::Parent(main) => {
            sys::enter(processes).map_err(|e| format!("the processes inside could not be watched: {e}"))?;
            Ok(watch(main, policy, status))
        }
    }
}

/// Becomes the command. Returns only when that fails, or with the probe's result.
///
/// `scratch` is where it may write what is of no use later, and `home` where it is at home.
pub fn command(policy: &Policy, status: &Status, notes: &[String], scratch: &Path, home: &Path) -> Result<i32, String> {
    std::env::set_current_dir(&policy.project)
        .map_err(|e| format!("{} cannot be entered: {e}", policy.project.display()))?;
    if policy.stdin == Stdin::Null {
        // The host's /dev/null stands on a mount of the host, where its owner could change its mode.
        fs::File::open("/dev/null")
            .and_then(|null| sys::replace(&null, 0))
            .map_err(|e| format!("standard input could not be closed: {e}"))?;
    }
    if policy.walls == Walls::All {
        lock::restrict_paths(policy)?;
    }
    lock::bound(&policy.limits)?;
    if policy.bare {
        lock::forbid_processes()?;
    }
    sys::open_signals();
    status.confined(notes);
    match &policy.task {
        Task::Probe => Ok(probe::run(policy)),
        Task::Command(words) => {
            let Some((program, arguments)) = words.split_first() else {
                return Err("there is no command".to_string());
            };
            let mut command = Command::new(program);
            command.args(arguments).env_clear().envs(ENVIRONMENT.iter().copied());
            command.env("HOME", home).env("TMPDIR", scratch);
            if policy.proxy {
                command.envs(net::ENVIRONMENT.iter().copied());
            }
            for name in &policy.pass {
                if let Some(value) = std::env::var_os(format!("{PASSED}{name}")) {
                    command.env(name, value);
                }
            }
            let failed = command.exec();
            eprintln!("{}: {failed}", program.to_string_lossy());
            Ok(127)
        }
    }
}

/// Reaps, and looks after what runs, until the command ends or grows beyond its limits.
fn watch(main: i32, policy: &Policy, status: &Status) -> i32 {
    let limits = &policy.limits;
    // A file system that cannot be asked is not filled unseen: then nothing is free from the start.
    let before = sys::free(&policy.project).ok();
    loop {
        sys::wait_signal(Some(LOOK));
        while let Some((pid, ended)) = sys::wait(false) {
            if pid == main {
                return tell(ended, status);
            }
        }
        let full = before.is_none_or(|before| filled(before, &policy.project, limits));
        if let Some(limit) = if full { Some("disk") } else { beyond_inside(limits) } {
            status.beyond(limit);
            return BEYOND;
        }
    }
}

pub fn tell(ended: Ended, status: &Status) -> i32 {
    match ended {
        Ended::Exit(code) => {
            status.ended("exit", code);
            code
        }
        Ended::Signal(signal) => {
            status.ended("signal", signal);
            128 + signal
        }
    }
}

/// Returns the limit that all processes together have passed.
///
/// The current folder is a `/proc` of our own, so nobody can hide from this.
fn beyond_inside(limits: &Limits) -> Option<&'static str> {
    let Ok(entries) = fs::read_dir(".") else { return Some("watch") };
    let is_process =
        |entry: &fs::DirEntry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
    beyond(entries.flatten().filter(is_process).map(|entry| entry.path()), limits)
}

/// Returns the limit that these processes, by their folders in a `/proc`, have passed together.
pub fn beyond(running: impl Iterator<Item = PathBuf>, limits: &Limits) -> Option<&'static str> {
    let (mut processes, mut pages) = (0u64, 0u64);
    for process in running {
        processes += 1;
        // One that ended meanwhile uses nothing.
        pages += fs::read_to_string(process.join("statm")).map_or(0, |text| private_pages(&text));
    }
    if processes > limits.processes {
        return Some("processes");
    }
    (pages.saturating_mul(sys::page()) > limits.memory).then_some("memory")
}

/// The least size that a file is taken to have when files are counted.
const SMALLEST: u64 = 4096;

/// Returns whether more than the limit has gone from where the project stands. The kernel bounds one file, and not
/// how many there are. Whoever else writes there meanwhile counts too: who is who cannot be told from here.
pub fn filled(before: sys::Free, project: &Path, limits: &Limits) -> bool {
    let Ok(now) = sys::free(project) else { return true };
    let files = (limits.disk / SMALLEST).max(1000);
    before.bytes.saturating_sub(now.bytes) > limits.disk || before.files.saturating_sub(now.files) > files
}

/// Reads how many pages a process has to itself from the line of `statm`: size, resident, shared, …
fn private_pages(statm: &str) -> u64 {
    let mut fields = statm.split_whitespace().skip(1).map(|field| field.parse::<u64>().unwrap_or(0));
    let (resident, shared) = (fields.next().unwrap_or(0), fields.next().unwrap_or(0));
    resident.saturating_sub(shared)
}

#[cfg(test)]
mod tests {
    #[test]
    fn shared_pages_do_not_count() {
        assert_eq!(super::private_pages("500 120 20 1 0 90 0\n"), 100);
        assert_eq!(super::private_pages(""), 0);
        assert_eq!(super::private_pages("1 2 3"), 0);
    }
}
