//! The signals that end a program which runs by itself, or have it read its settings anew: taken one at a time, by a
//! thread that does nothing else; and those that a short work holds back until it has put things right.
#![allow(unsafe_code)] // Calls of sigaddset, pthread_sigmask, sigpending and sigwait.

use crate::edge::thread::spawn;
use std::io;
use std::mem::MaybeUninit;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// To save and end: SIGTERM, or SIGINT as Control-C sends it.
    End,
    /// To read the settings anew: SIGHUP.
    Reload,
}

/// The stack of the thread that waits, in bytes.
const STACK: usize = 256 << 10;

/// From now on these signals end nothing by themselves; they are told here. Called before any other thread is started:
/// a signal goes to whichever thread does not block it.
///
/// # Errors
/// When the system does not take the mask, or gives no thread.
pub fn expect() -> io::Result<UnboundedReceiver<Told>> {
    let signals = set([libc::SIGTERM, libc::SIGINT, libc::SIGHUP]);
    // SAFETY: the set was initialised, and the mask of this thread alone is changed.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut()) } {
        0 => {}
        code => return Err(io::Error::from_raw_os_error(code)),
    }
    let (tell, told) = unbounded_channel();
    spawn("passepartout-signals", STACK, move || {
        while let Some(signal) = wait(&signals) {
            let what = if signal == libc::SIGHUP { Told::Reload } else { Told::End };
            if tell.send(what).is_err() {
                return;
            }
        }
    })?;
    Ok(told)
}

/// Signals that wait until this is dropped; then they do what they do.
pub struct Held(libc::sigset_t);

/// Those that end a program.
const ENDS: [libc::c_int; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

impl Held {
    /// Holds back what would end or stop the calling thread's process. It serves where all others of its threads block
    /// signals, as ours do.
    ///
    /// # Errors
    /// When the system does not take the mask.
    pub fn begin() -> io::Result<Held> {
        let mut signals = set(ENDS);
        let mut before = set([]);
        // SAFETY: both sets were initialised, the number is that of a signal, and the mask of this thread alone changes.
        let code = unsafe {
            libc::sigaddset(&raw mut signals, libc::SIGTSTP);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, &raw mut before)
        };
        if code == 0 { Ok(Held(before)) } else { Err(io::Error::from_raw_os_error(code)) }
    }

    /// Whether one waits that ends the program.
    pub fn is_over(&self) -> bool {
        let mut waits = set([]);
        // SAFETY: the set was initialised, and only read and written during these calls.
        unsafe {
            libc::sigpending(&raw mut waits) == 0
                && ENDS.iter().any(|signal| libc::sigismember(&raw const waits, *signal) == 1)
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the set is the mask that this thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

fn set<const N: usize>(signals: [libc::c_int; N]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set before anything reads it, and each number is that of a signal.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

/// Waits for the next of these signals; `None` when the system does not wait for them.
fn wait(signals: &libc::sigset_t) -> Option<libc::c_int> {
    let mut signal = 0;
    // SAFETY: the set lives on, and the kernel writes the number when it returns 0.
    (unsafe { libc::sigwait(signals, &raw mut signal) } == 0).then_some(signal)
}
