//! Messengers: one trait for what they all do, and the task that serves one as long as it is linked.
//!
//! A messenger that breaks waits and begins again; it ends nothing else. What it brings goes through the same turns and
//! gates as everything else, with the rights to read and to propose; of who may decide about plans, see `decide`.

mod decide;
pub(in crate::edge) mod serve;
mod signal;
mod telegram;

pub(in crate::edge) use signal::Signal;
pub(in crate::edge) use telegram::{Telegram, is_loopback};

use crate::domain::gateway::seen::Seen;
use crate::domain::gateway::{Arrived, Platform};
use async_trait::async_trait;
use jiff::Timestamp;
use std::time::Duration;

/// What every messenger can do.
#[async_trait]
pub(in crate::edge) trait Messenger: Send + Sync {
    /// Returns which one it is.
    fn platform(&self) -> Platform;

    /// Returns by which account it is reached; marks of what comes are those of one account. It is no secret.
    fn account(&self) -> &str;

    /// Returns a hash of what it was made from: two with one hash are reached the same way.
    fn identity(&self) -> blake3::Hash;

    /// Finds out under what name it is linked.
    async fn linked_as(&self) -> Result<String, Trouble>;

    /// Waits for what comes, and returns it in whatever order, perhaps with what came before; nothing, when nothing came
    /// for a while. What was returned last is all taken, or is known to have come before that.
    async fn receive(&self, seen: &Seen, now: Timestamp) -> Result<Vec<Arrived>, Trouble>;

    /// Sends one message, once.
    async fn send(&self, to: &str, text: &str) -> Result<(), Trouble>;
}

/// Why a messenger did not do what it should. No words of it come from its server, and no address is in them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::edge) enum Trouble {
    /// Its token does not count: no use in trying again.
    #[error(
        "its token is refused; link it again with the right one: C-u l in its list in Emacs, --new-token at a terminal"
    )]
    Refused,
    /// It may not be asked again before so long, or before the user did something about it.
    #[error(
        "it wants a captcha solved before it takes more: signal-cli submitRateLimitChallenge; else it is tried again in {} s",
        .0.as_secs()
    )]
    Captcha(Duration),
    /// It may not be asked again before so long.
    #[error("it asks us to wait {} s", .0.as_secs())]
    Wait(Duration),
    /// Somebody else takes its messages.
    #[error("another program, or a web hook, takes its messages; end that first")]
    Taken,
    /// It did not take what was sent, and would not take it again.
    #[error("{0}")]
    Unsent(&'static str),
    /// It did not take what was sent.
    #[error("it does not take this (status {0})")]
    Rejected(u16),
    /// Whatever may be over soon.
    #[error("{0}")]
    Passing(&'static str),
}
