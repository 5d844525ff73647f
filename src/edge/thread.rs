//! Threads with every signal blocked: inside Emacs, signals are Emacs's.
#![allow(unsafe_code)] // Calls of pthread_sigmask and setpriority, below.

use std::io;
use std::thread::JoinHandle;

/// Starts a named thread in which every signal is blocked, with a stack of `stack` bytes.
///
/// # Errors
/// When the system has no room for another thread.
pub fn spawn(name: &str, stack: usize, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_string()).stack_size(stack).spawn(move || {
        block_signals();
        run();
    })
}

/// Blocks every signal in the calling thread. A batch Emacs would be killed by a SIGPIPE that one of ours receives.
pub fn block_signals() {
    // SAFETY: `set` is initialised by sigfillset before it is read, and the mask of this thread alone is changed.
    unsafe {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(set.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// How much less urgent than Emacs's own thread ours are, as a nice value.
#[cfg(target_os = "linux")]
const STEP: libc::c_int = 5;

/// Makes the calling thread, and those that it starts, less urgent than Emacs's own: when cores are few, Emacs goes first.
pub fn step_back() {
    // Only Linux has a nice value for each thread; elsewhere it would be Emacs's own.
    #[cfg(target_os = "linux")]
    // SAFETY: both calls take and return integers and touch no memory of ours. That it is refused does no harm.
    unsafe {
        let now = libc::getpriority(libc::PRIO_PROCESS, 0);
        libc::setpriority(libc::PRIO_PROCESS, 0, now + STEP);
    }
}
