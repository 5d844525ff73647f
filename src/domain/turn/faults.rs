//! What ends a fault: whoever is asked chooses, and an aborted turn raises a loop-error one deeper.

use crate::domain::port::{LogLevel, Sink};
use crate::domain::signal::{Body, Depth, Signal};
use crate::domain::turn::error::{Fault, Resolution};
use crate::domain::turn::{Desk, Turn};
use std::panic::AssertUnwindSafe;

/// Logs a fault and asks what ends it. Whoever is asked may break too: then the turn aborts.
pub(super) fn resolve(fault: &Fault, line: &str, desk: &Desk<'_>, sink: Sink<'_>) -> Resolution {
    let asked = std::panic::catch_unwind(AssertUnwindSafe(|| {
        desk.journal.log(LogLevel::Error, line);
        let resolution = (desk.on_error)(fault);
        if let Resolution::Fallback(text) = &resolution {
            sink(text);
        }
        resolution
    }));
    asked.unwrap_or(Resolution::Abort)
}

/// Returns the loop-error signal that a fault raises; none when the chain is already deep or about an error.
pub(super) fn raised(signal: Option<Signal>, sensor: &str, depth: Depth) -> Option<Signal> {
    signal.filter(|_| depth.get() <= 2 && !is_error_sensor(sensor))
}

pub(super) fn is_error_sensor(sensor: &str) -> bool {
    matches!(sensor, "loop-error" | "tool-error" | "syntax-error")
}

pub(super) fn next_signal_of(turn: &Turn, depth: Depth, fault: &Fault) -> Option<Signal> {
    let mut signal = turn.signal.clone();
    signal.depth = depth.deeper()?;
    signal.body = Body::LoopError { text: fault.to_string() };
    Some(signal)
}

/// Returns the words of a panic.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().map(|s| s.to_string()).or_else(|| panic.downcast_ref::<String>().cloned());
    words.unwrap_or_else(|| "something panicked without a word".to_string())
}
