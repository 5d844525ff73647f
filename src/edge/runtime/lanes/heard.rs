//! Who is told of a turn, and what each of them was told up to now.

use crate::domain::id::SessionId;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::engine::delegation::shown_in;
use crate::edge::runtime::clients::Channel;
use crate::edge::runtime::lanes::turn::Turn;
use std::sync::Arc;

/// Who is told of a turn, and what it said up to now.
pub(super) struct Heard {
    pub(super) hearers: Vec<Hearer>,
    /// `None` when it cannot be joined.
    pub(super) said: Option<String>,
    /// Its end was told.
    pub(super) over: bool,
}

/// One that is told of a turn.
pub(super) struct Hearer {
    pub(super) channel: Arc<Channel>,
    /// The conversation, as it knows it.
    pub(super) called: SessionId,
    /// The turn is its own, and goes on for as long as one such is there.
    pub(super) wants: bool,
}

impl Hearer {
    pub(super) fn tell(&self, turn: &Turn, kind: &str, payload: Plist) {
        let payload = match self.called == shown_in(&turn.session) {
            true => payload,
            false => payload.replaced("session", Sexp::text(self.called.0.as_str())),
        };
        self.channel.outbox.send(kind, Some(&self.called.0), payload);
    }
}
