//! The outer process: makes the namespaces, starts the first process, and takes it along when it ends.

use crate::policy::Policy;
use crate::status::Status;
use crate::sys::{self, Ended, Fork};
use crate::{REFUSED, first, net};

/// Runs the policy's task and returns its exit status, or says what confinement lacks.
pub fn run(policy: &Policy, status: &Status) -> Result<i32, String> {
    enter_namespaces()?;
    // After the namespaces: new credentials clear this. The check closes the gap before it.
    sys::die_with_parent().map_err(|e| format!("this process could not be tied to its parent: {e}"))?;
    if sys::parent() != policy.parent {
        return Err(format!("process {} that wanted the command is not my parent or no longer lives", policy.parent));
    }
    if policy.proxy {
        net::open(status)?;
    }
    let (alive, hold) = sys::pipe().map_err(|e| format!("no pipe could be made: {e}"))?;
    sys::block_waited();
    match sys::fork().map_err(|e| format!("no process could be started: {e}"))? {
        Fork::Child => {
            drop(hold);
            first::run(policy, status, &alive)
        }
        Fork::Parent(first) => {
            drop(alive);
            let code = watch(first);
            drop(hold);
            Ok(code)
        }
    }
}

fn enter_namespaces() -> Result<(), String> {
    let (user, group) = sys::identity();
    if user == 0 {
        sys::leave_groups();
    }
    let all = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    sys::unshare(all).map_err(|e| {
        format!(
            "the kernel makes no namespaces for this user ({e}). They are closed by one of: \
             sysctl user.max_user_namespaces=0, kernel.unprivileged_userns_clone=0, \
             kernel.apparmor_restrict_unprivileged_userns=1, or a container that forbids them"
        )
    })?;
    // The same ids inside and outside, so that files belong to whom they belong.
    let maps = [
        ("setgroups", "deny".to_string()),
        ("uid_map", format!("{user} {user} 1")),
        ("gid_map", format!("{group} {group} 1")),
    ];
    for (file, line) in maps {
        std::fs::write(format!("/proc/self/{file}"), line)
            .map_err(|e| format!("the user namespace could not be set up ({file}: {e})"))?;
    }
    Ok(())
}

/// Waits for the first process. Told to end, it kills it and still waits: when this returns, nothing
/// of the command lives.
fn watch(first: i32) -> i32 {
    loop {
        if sys::wait_signal(None).is_some_and(|signal| signal != libc::SIGCHLD) {
            sys::kill(first);
            sys::wait(true);
            return 128 + libc::SIGTERM;
        }
        match sys::wait(false) {
            Some((_, Ended::Exit(code))) => return code,
            Some((_, Ended::Signal(_))) => return REFUSED,
            None => {}
        }
    }
}
