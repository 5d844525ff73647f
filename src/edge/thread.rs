//! Threads with every signal blocked: inside Emacs, signals are Emacs's.
#![allow(unsafe_code)] // One call of pthread_sigmask, below.

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
