//! Faults at the border, as Lisp error symbols below `passepartout-error`, and panics that keep their text.

use crate::edge::signals::Held;
use emacs::{Env, Result, define_errors};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

define_errors! {
    passepartout_error "Passepartout" (error)
    passepartout_not_running "Passepartout's core is not running" (passepartout_error)
    passepartout_start_error "Passepartout's core cannot start" (passepartout_error)
    passepartout_protocol_error "A message that cannot be read" (passepartout_error)
    passepartout_panic "A fault inside Passepartout's module" (passepartout_error)
}

/// What can go wrong in a function of the module.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// There is no core.
    NotRunning,
    /// The core did not start; the text says why and what to do.
    Start(String),
    /// The core did not take a message; the text says why.
    Protocol(String),
}

/// Runs the work of a function; a fault or a panic in it becomes a Lisp error with its text.
///
/// A signal that ends Emacs waits until the work is done: Emacs ends within its handler, runs Lisp there that stops the
/// core, and that would wait for ever for a lock that the work has taken.
pub(super) fn guarded<T>(env: &Env, work: impl FnOnce() -> std::result::Result<T, Fault>) -> Result<T> {
    let signals = Held::begin();
    // The work owns what it changes or holds it behind a lock that releases itself, so nothing half-done is seen.
    let came = catch_unwind(AssertUnwindSafe(work));
    drop(signals);
    match came {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(Fault::NotRunning)) => env.signal(passepartout_not_running, ("Start it with passepartout-restart",)),
        Ok(Err(Fault::Start(text))) => env.signal(passepartout_start_error, (text,)),
        Ok(Err(Fault::Protocol(text))) => env.signal(passepartout_protocol_error, (text,)),
        Err(payload) => env.signal(passepartout_panic, (panic_text(payload.as_ref()),)),
    }
}

/// Returns what a panic said.
pub(super) fn panic_text(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_string()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "panic without a text".to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_keeps_its_text() {
        let cases: Vec<(Box<dyn Any + Send>, &str)> = vec![
            (Box::new("a literal"), "a literal"),
            (Box::new("a made one".to_string()), "a made one"),
            (Box::new(7_u8), "panic without a text"),
        ];
        for (payload, text) in cases {
            assert_eq!(panic_text(payload.as_ref()), text);
        }
    }
}
