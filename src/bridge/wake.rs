//! The one road from our threads to Emacs: a byte in a pipe, and never more than one that is not yet read.

use emacs::{Env, Result, Value};
use std::any::Any;
use std::io::{ErrorKind, PipeWriter, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// The writing end of the pipe process that wakes Emacs.
pub(super) struct Wake {
    pipe: PipeWriter,
    /// Whether Emacs has been woken and has not come yet.
    pending: AtomicBool,
}

impl Wake {
    /// Opens the channel of a pipe process, so that it neither blocks nor reaches children.
    pub(super) fn open(env: &Env, process: Value<'_>) -> Result<Wake> {
        // The emacs crate hides which type it returns; the descriptor is needed to set its flags.
        let channel: Box<dyn Any> = Box::new(env.open_channel(process)?);
        match channel.downcast::<PipeWriter>() {
            Ok(pipe) => Ok(Wake::new(*pipe)?),
            Err(_) => Err(std::io::Error::other("the channel of the emacs crate is no longer a PipeWriter").into()),
        }
    }

    fn new(pipe: PipeWriter) -> std::io::Result<Wake> {
        set_flag(pipe.as_raw_fd(), libc::F_GETFD, libc::F_SETFD, libc::FD_CLOEXEC)?;
        set_flag(pipe.as_raw_fd(), libc::F_GETFL, libc::F_SETFL, libc::O_NONBLOCK)?;
        Ok(Wake { pipe, pending: AtomicBool::new(false) })
    }

    /// Wakes Emacs, unless it has been woken and has not come yet. Never blocks; any thread may call it.
    pub(super) fn ring(&self) {
        if self.pending.swap(true, Ordering::AcqRel) {
            return;
        }
        // When Emacs has closed its end, `pending` stays set and nothing is written any more.
        // The check comes first because a write would raise SIGPIPE, which kills a batch Emacs when this is its
        // own thread; no other thread can close that end meanwhile, and our threads block all signals.
        while open(self.pipe.as_raw_fd()) {
            match (&self.pipe).write(&[1]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A full pipe (WouldBlock) wakes Emacs as well as another byte would.
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Notes that Emacs has come for the messages: the next one wakes it again.
    pub(super) fn clear(&self) {
        self.pending.store(false, Ordering::Release);
    }
}

/// Adds a flag to those of a descriptor.
fn set_flag(descriptor: RawFd, get: libc::c_int, set: libc::c_int, flag: libc::c_int) -> std::io::Result<()> {
    // SAFETY: fcntl with these commands takes and returns integers and touches no memory of ours; the descriptor is
    // open, because the PipeWriter that it was taken from lives.
    let done = unsafe {
        let flags = libc::fcntl(descriptor, get);
        flags >= 0 && libc::fcntl(descriptor, set, flags | flag) >= 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Returns whether somebody can still read from a pipe.
fn open(descriptor: RawFd) -> bool {
    let mut state = libc::pollfd { fd: descriptor, events: libc::POLLOUT, revents: 0 };
    // SAFETY: poll is given one valid pollfd, writes only its `revents`, and does not wait with a time-out of 0.
    let answer = unsafe { libc::poll(&raw mut state, 1, 0) };
    answer >= 0 && state.revents & (libc::POLLERR | libc::POLLNVAL) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, pipe};

    #[test]
    fn many_rings_are_one_byte_until_emacs_comes() -> std::io::Result<()> {
        let (mut reader, writer) = pipe()?;
        let wake = Wake::new(writer)?;
        for _ in 0..100_000 {
            wake.ring();
        }
        wake.clear();
        wake.ring();
        drop(wake);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes)?;
        assert_eq!(bytes, [1, 1]);
        Ok(())
    }

    #[test]
    fn a_full_pipe_blocks_nobody() -> std::io::Result<()> {
        let (_reader, writer) = pipe()?;
        let wake = Wake::new(writer)?;
        for _ in 0..200_000 {
            wake.ring();
            wake.clear();
        }
        Ok(())
    }

    #[test]
    fn a_closed_pipe_is_left_alone() -> std::io::Result<()> {
        let (reader, writer) = pipe()?;
        let wake = Wake::new(writer)?;
        drop(reader);
        wake.ring();
        wake.ring();
        assert!(wake.pending.load(Ordering::Acquire));
        Ok(())
    }

    #[test]
    fn children_do_not_get_the_descriptor() -> std::io::Result<()> {
        let (_reader, writer) = pipe()?;
        let wake = Wake::new(writer)?;
        // SAFETY: reading the flags of an open descriptor touches no memory.
        let flags = unsafe { libc::fcntl(wake.pipe.as_raw_fd(), libc::F_GETFD) };
        assert_ne!(flags & libc::FD_CLOEXEC, 0);
        Ok(())
    }
}
