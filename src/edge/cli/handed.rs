//! What came of work that a command handed over: heard, and put together with its own exit status.

use crate::domain::turn::Ending;
use crate::edge::cli::run::{DONE, FAILED, PENDING};
use crate::edge::cli::session::origin;
use crate::edge::engine::delegation::{Reported, shown_in};
use crate::edge::engine::{Notice, Notify};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Returns what came of a task, as it is printed in JSON.
pub(super) fn task(status: &str, text: &str, plans: &[String]) -> serde_json::Value {
    serde_json::json!({ "status": status, "text": text.trim(), "plans": plans })
}

/// Returns the exit status that goes with how a turn ended.
pub(super) fn ended(status: &str) -> u8 {
    match status {
        status if status == Ending::Answered.name() => DONE,
        status if status == Ending::Parked.name() => PENDING,
        _ => FAILED,
    }
}

/// Returns the exit status of two turns together.
pub(super) fn worse(one: u8, other: u8) -> u8 {
    if one == FAILED || other == FAILED { FAILED } else { one.max(other) }
}

/// Hands on what comes of tasks that this command hands over, beside what is worth a warning.
pub(super) fn hearing(complain: Notify, tell: mpsc::UnboundedSender<Reported>) -> Notify {
    let own = origin(false).session;
    Arc::new(move |notice: Notice| {
        if let Notice::Reported(reported) = &notice
            && shown_in(&reported.finished.session) == own
        {
            // Nobody listens any more when the command ends.
            let _ = tell.send(Reported::clone(reported));
        }
        complain(notice);
    })
}
