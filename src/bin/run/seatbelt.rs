//! The launcher on macOS: starts the command under `sandbox-exec` with a profile of ours. Nobody has tried it yet.
//!
//! It has fewer walls than on Linux, so it runs only when the host asks for that by name.

use crate::REFUSED;
use crate::policy::{Policy, StatusTo, Task, Walls};
use crate::profile::profile;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// Runs the policy's task and returns its exit status.
pub fn run(policy: &Policy) -> i32 {
    let mut status = match policy.status {
        // A program that is kept is not run here.
        StatusTo::Nowhere | StatusTo::Stderr => None,
        StatusTo::Stdin => std::io::stdin().as_fd().try_clone_to_owned().ok().map(std::fs::File::from),
    };
    let mut tell = |line: &str| {
        if let Some(status) = &mut status {
            let _ = writeln!(status, "{line}");
        }
    };
    let why = match (policy.walls, policy.proxy, &policy.task) {
        _ if policy.bare => "a program without a project is not run on macOS",
        (Walls::All, _, _) => "macOS has no namespaces",
        (Walls::Fewer, true, _) => "hosts cannot be reached without a network namespace",
        (Walls::Fewer, false, Task::Probe) => "nothing is tried on macOS",
        (Walls::Fewer, false, Task::Command(words)) => {
            let scratch = std::env::temp_dir().join(format!("passepartout-{}", std::process::id()));
            if std::fs::create_dir(&scratch).is_err() {
                tell("{\"confined\":false,\"missing\":\"there is no folder for scratch\"}");
                return REFUSED;
            }
            tell("{\"confined\":true,\"notes\":[\"confined by sandbox-exec, which nobody has tried\"]}");
            let mut command = Command::new("/usr/bin/sandbox-exec");
            command.arg("-p").arg(profile(policy, &scratch)).args(words).current_dir(&policy.project);
            command
                .env_clear()
                .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
                .env("HOME", &scratch)
                .env("TMPDIR", &scratch);
            let ended = command.stdin(Stdio::null()).status();
            let _ = std::fs::remove_dir_all(&scratch);
            return match ended {
                Ok(ended) => {
                    let code = ended.code().unwrap_or_else(|| 128 + ended.signal().unwrap_or(9));
                    tell(&format!("{{\"exit\":{code}}}"));
                    code
                }
                Err(_) => REFUSED,
            };
        }
    };
    tell(&format!("{{\"confined\":false,\"missing\":\"{why}\"}}"));
    eprintln!("passepartout-run: not run, because it cannot be confined: {why}");
    REFUSED
}
