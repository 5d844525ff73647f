//! The attempts, made from where a confined command stands. Each runs in a process of its own, so that none stops the rest.

use crate::targets::Targets;
use crate::{files, kernel, network, processes};
use std::io;

/// What an attempt came to: it went through, or what it was refused with.
pub type Tried = io::Result<()>;

/// What is to be expected where nothing confines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bare {
    /// It goes through, for every user.
    Open,
    /// It goes through or not: that depends on the user, or on how the kernel was built.
    Varies,
    /// It is not tried there, since it might do harm to the machine of whoever runs the tests.
    Untried,
}

/// One way out.
pub struct Escape {
    /// Says what is tried.
    pub name: &'static str,
    /// What is to be expected without confinement.
    pub bare: Bare,
    /// Tries it.
    pub attempt: fn(&Targets) -> Tried,
}

/// A table of attempts.
pub type Table = &'static [(&'static str, Bare, fn(&Targets) -> Tried)];

/// Returns every attempt.
pub fn all() -> Vec<Escape> {
    let tables = [files::TABLE, network::TABLE, processes::TABLE, kernel::TABLE];
    let rows = tables.into_iter().flatten();
    rows.map(|(name, bare, attempt)| Escape { name, bare: *bare, attempt: *attempt }).collect()
}

/// Makes every attempt, or the named one, and prints a line for each: `THROUGH` or `REFUSED`, a tab, and its name.
///
/// `skip` leaves out what is not tried without confinement.
pub fn run(targets: &Targets, only: Option<&str>, skip: bool) -> i32 {
    let mut through = 0;
    for escape in all() {
        let tried = only.is_none_or(|name| name == escape.name) && !(skip && escape.bare == Bare::Untried);
        if tried && let Some(refusal) = apart(&escape, targets) {
            println!("REFUSED\t{}\t{refusal}", escape.name);
        } else if tried {
            through += 1;
            println!("THROUGH\t{}", escape.name);
        }
    }
    through
}

/// Makes one attempt in a process of its own and returns how it was refused.
fn apart(escape: &Escape, targets: &Targets) -> Option<String> {
    use std::io::Write;
    let _ = io::stdout().flush();
    // SAFETY: this process has one thread; the child only makes its attempt and leaves.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: plain numbers. What hangs is ended by its alarm.
        unsafe { libc::alarm(5) };
        let code = match (escape.attempt)(targets) {
            Ok(()) => 0,
            Err(why) => why.raw_os_error().map_or(255, |code| code.clamp(1, 254)),
        };
        // SAFETY: always sound.
        unsafe { libc::_exit(code) };
    }
    assert!(child > 0, "a process is started for each attempt: {}", io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: the status is valid for the call.
    unsafe { libc::waitpid(child, &mut status, 0) };
    if libc::WIFSIGNALED(status) {
        return Some(format!("ended by signal {}", libc::WTERMSIG(status)));
    }
    match libc::WEXITSTATUS(status) {
        0 => None,
        255 => Some("in words".to_string()),
        code => Some(io::Error::from_raw_os_error(code).to_string()),
    }
}

/// Turns what a call of the C library returned into a result.
pub fn done(code: impl Into<i64>) -> Tried {
    if code.into() < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes a system call by its number. An answer that only the call itself gives, such as that an argument is
/// wrong, says that it was entered: that counts as through.
pub fn entered(number: libc::c_long, args: &[i64]) -> Tried {
    let arg = |n: usize| args.get(n).copied().unwrap_or(0);
    // SAFETY: whoever calls this passes numbers, or addresses that live as long as the call.
    let code = unsafe { libc::syscall(number, arg(0), arg(1), arg(2), arg(3), arg(4), arg(5)) };
    match done(code) {
        Err(e) if matches!(e.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS)) => Err(e),
        _ => Ok(()),
    }
}

/// Says in words that an attempt came to nothing.
pub fn failed(why: &'static str) -> Tried {
    Err(io::Error::other(why))
}
