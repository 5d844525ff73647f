//! The five functions of the module, as `docs/PROTOCOL.org` lists them; it must know no sixth.

use crate::bridge::error::{Fault, guarded};
use crate::bridge::wake::Wake;
use crate::edge::runtime::Core;
use emacs::{Env, IntoLisp, Result, Value, defun};
use parking_lot::Mutex;
use std::sync::Arc;

/// The core of this Emacs, while it runs.
struct Running {
    core: Core,
    wake: Arc<Wake>,
}

/// Only Emacs's thread takes this lock, and no signal has it call again meanwhile (see [`guarded`]): nobody waits for it.
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

/// Start the core.
///
/// PIPE is a pipe process that wakes Emacs; SETTINGS is a plist as text.
/// A core that is still running is stopped first.
#[defun]
fn start(env: &Env, pipe: Value<'_>, settings: String) -> Result<()> {
    let wake = Arc::new(Wake::open(env, pipe)?);
    guarded(env, || {
        stop_running();
        let bell = Arc::clone(&wake);
        let core = Core::start(&settings, Box::new(move || bell.ring())).map_err(Fault::Start)?;
        *RUNNING.lock() = Some(Running { core, wake });
        Ok(())
    })
}

/// Queue TEXT, one message, for the core, and return at once.
#[defun]
fn send(env: &Env, text: String) -> Result<()> {
    guarded(env, || with_running(|running| running.core.send(&text).map_err(Fault::Protocol)))
}

/// Return a list of messages from the core, at most about BYTES in all; nil when there are none.
#[defun]
fn receive(env: &Env, bytes: i64) -> Result<Value<'_>> {
    let texts = guarded(env, || {
        with_running(|running| {
            // First, so that what comes in from now on rings again.
            running.wake.clear();
            Ok(running.core.receive(usize::try_from(bytes).unwrap_or(0)))
        })
    })?;
    let mut list = ().into_lisp(env)?;
    for text in texts.into_iter().rev() {
        list = env.cons(text, list)?;
    }
    Ok(list)
}

/// Stop the core; a core that is not running is no error.
#[defun]
fn stop(env: &Env) -> Result<()> {
    guarded(env, || {
        stop_running();
        Ok(())
    })
}

/// Return the version of the module.
#[defun]
fn version() -> Result<&'static str> {
    Ok(env!("CARGO_PKG_VERSION"))
}

fn stop_running() {
    // Not within the lock: it takes a moment.
    let running = RUNNING.lock().take();
    if let Some(running) = running {
        running.core.stop();
    }
}

fn with_running<T>(work: impl FnOnce(&Running) -> std::result::Result<T, Fault>) -> std::result::Result<T, Fault> {
    match RUNNING.lock().as_ref() {
        Some(running) => work(running),
        None => Err(Fault::NotRunning),
    }
}
