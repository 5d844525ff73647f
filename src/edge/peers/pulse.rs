//! Whether the owner of a store still lives, as who joined it sees: who hears nothing asks, and then says so.
//!
//! The owner's loop answers, so that a process which is stopped, or whose loop hangs, does not.

use crate::domain::sexp::plist::{Plist, message};
use crate::domain::sexp::reader::Sexp;
use crate::edge::peers::lineage::state_of;
use std::time::Duration;

/// After so long without a word the owner is asked for one.
pub const ASK: Duration = Duration::from_secs(5);
/// After so long without one it is taken for stopped.
pub const SILENCE: Duration = Duration::from_secs(10);

/// The message that asks for a sign of life.
pub const PING: &str = "ping";
/// The message that is one.
pub const ALIVE: &str = "alive";

/// The message of an owner that has nothing under way for anybody and ends.
pub const LEAVING: &str = "leaving";

/// Returns the message that asks for a sign of life, as text.
pub fn ping() -> String {
    message("event", Plist::new().keyword("action", PING)).build().to_string()
}

/// Returns whether a message asks for a sign of life.
pub fn is_ping(message: &Sexp) -> bool {
    let action = message.get("payload").and_then(|payload| payload.name_at("action"));
    message.name_at("type") == Some("event") && action == Some(PING)
}

/// Returns whether a message of a client says that it goes, and does not come back.
pub fn leaves(message: &Sexp) -> bool {
    let action = message.get("payload").and_then(|payload| payload.name_at("action"));
    message.name_at("type") == Some("event") && action == Some(LEAVING)
}

/// Returns whether a message is a sign of life and nothing else. It is looked at as text: who passes messages on reads
/// none of them.
pub fn is_alive(text: &str) -> bool {
    is(text, ALIVE)
}

/// Returns whether a message says that the owner ends and has nothing under way, and nothing else.
pub fn is_leaving(text: &str) -> bool {
    is(text, LEAVING)
}

fn is(text: &str, action: &str) -> bool {
    text == message("event", Plist::new().keyword("action", action)).build().to_string()
}

/// How long the other end has been silent, step by step.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Silence {
    step: Step,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Heard,
    Asked,
    Told,
}

/// What is to be done after a silence.
#[derive(Debug, PartialEq, Eq)]
pub enum Do {
    /// Ask for a sign of life.
    Ask,
    /// Say that there was none, and ask on.
    Tell,
}

impl Silence {
    /// Returns how long to listen before [`Silence::go_on`].
    pub fn patience(&self) -> Duration {
        match self.step {
            Step::Heard | Step::Told => ASK,
            Step::Asked => SILENCE.saturating_sub(ASK),
        }
    }

    /// Nothing was heard for as long as the patience was.
    pub fn go_on(&mut self) -> Do {
        let (step, next) = match self.step {
            Step::Heard => (Step::Asked, Do::Ask),
            Step::Asked => (Step::Told, Do::Tell),
            // It may have lost the question with what it was doing.
            Step::Told => (Step::Told, Do::Ask),
        };
        self.step = step;
        next
    }

    /// Something was heard; returns whether it had been said that there was nothing.
    pub fn heard(&mut self) -> bool {
        std::mem::take(&mut self.step) == Step::Told
    }
}

/// Says what is the matter with an owner that does not answer, and what to do. `then` says what follows when it ends.
pub fn diagnosis(process: Option<u32>, then: &str) -> String {
    let seconds = SILENCE.as_secs();
    let Some(process) = process else {
        return format!(
            "The process that owns the store has not answered for {seconds} seconds. Look what it does, or end it: {then}"
        );
    };
    let (matter, way_out) = match state_of(process) {
        Some('T' | 't') => (
            "it is stopped",
            format!("Continue it (kill -CONT {process}, or fg in its terminal), or end it (kill -KILL {process})"),
        ),
        Some('D') => (
            "it waits for a disk or another device",
            format!("See whether a disk is slow, full or gone, or end it (kill -KILL {process})"),
        ),
        Some(_) => ("it hangs, or has very much to do", format!("Look there, or end it (kill {process})")),
        None => ("it is not there any more", "Wait a moment".to_string()),
    };
    format!(
        "Process {process}, which owns the store, has not answered for {seconds} seconds: {matter}. {way_out}: {then}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_silent_is_asked_and_told_of_once_until_it_speaks_again() {
        let mut silence = Silence::default();
        assert_eq!(silence.patience(), ASK);
        assert_eq!(silence.go_on(), Do::Ask);
        assert_eq!(silence.patience() + ASK, SILENCE);
        assert!(!silence.heard(), "nobody was told");
        assert_eq!((silence.go_on(), silence.go_on()), (Do::Ask, Do::Tell));
        assert_eq!((silence.go_on(), silence.go_on()), (Do::Ask, Do::Ask));
        assert!(silence.heard() && !silence.heard());
    }

    #[test]
    fn a_diagnosis_names_the_process_what_is_the_matter_and_the_way_out() {
        let own = std::process::id();
        let told = diagnosis(Some(own), "then another one goes on.");
        assert!(told.contains(&format!("Process {own}, ")) && told.contains("kill ") && told.contains("10 seconds"));
        assert!(told.ends_with("then another one goes on."), "{told}");
        assert!(diagnosis(Some(u32::MAX), "").contains("not there any more"));
        assert!(!diagnosis(None, "").contains("kill"));
        assert!(is_alive("(:type :event :payload (:action :alive))") && !is_alive(&ping()));
        assert!(is_leaving("(:type :event :payload (:action :leaving))") && !is_leaving(""));
    }
}
