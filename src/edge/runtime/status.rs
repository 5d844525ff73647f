//! What the client is told of the core at a glance, and how often.
//!
//! Counts may lag a moment, so that a long reading does not flood the client, and so may the title that somebody types;
//! which heading is at point may not.

use crate::domain::focus::Reach;
use crate::domain::id::NodeId;
use crate::domain::inert::exact;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::engine::Engine;
use std::sync::Arc;

/// The core at one moment.
#[derive(Clone)]
pub(super) struct Status {
    payload: Plist,
    /// The payload, as it is written.
    text: Arc<str>,
    focus: Option<NodeId>,
}

/// What to do with a status.
pub(super) enum Offered {
    /// It is the one that was sent last, or it waits for the end of the pause.
    Kept,
    /// It is sent.
    Send(Plist),
    /// It is sent, and a pause begins.
    SendAndPause(Plist),
}

/// Which status was sent last, and whether the next one waits.
#[derive(Default)]
pub(super) struct Statuses {
    sent: Option<(Arc<str>, Option<NodeId>)>,
    pausing: bool,
}

impl Statuses {
    /// Takes a status; within the pause after another one only a new focus is sent.
    pub(super) fn offer(&mut self, now: Status) -> Offered {
        let news = match &self.sent {
            None => true,
            Some((sent, focus)) => *sent != now.text && !(self.pausing && *focus == now.focus),
        };
        if !news {
            return Offered::Kept;
        }
        self.sent = Some((now.text, now.focus));
        if std::mem::replace(&mut self.pausing, true) {
            Offered::Send(now.payload)
        } else {
            Offered::SendAndPause(now.payload)
        }
    }

    /// The pause is over: the status as it is now must be offered again.
    pub(super) fn pause_is_over(&mut self) {
        self.pausing = false;
    }
}

/// So many files may be missing in the index without a word: what is being edited is behind for a moment at each rest, and
/// saying so would have every client draw twice for it.
const BEHIND: usize = 8;

/// Returns the status as it is now for a client, whose point is in the node `focus`; of what is private it is told only
/// where it may see that.
pub(super) fn now(engine: &Engine, busy: bool, health: &str, (focus, sees_private): (Option<&NodeId>, bool)) -> Status {
    let view = engine.view();
    let reading = engine.reading();
    let pending = engine.pending();
    let state = match (busy, reading, pending) {
        (true, _, _) => "thinking",
        (false, Some(_), _) => "reading",
        (false, None, 0) => "idle",
        (false, None, _) => "waiting",
    };
    let focus = focus.and_then(|id| view.get(id));
    let payload = Plist::new()
        .text("state", state)
        .int("pending", pending as i64)
        .maybe("focus", focus.as_ref().map(|node| exact(node.id().as_str())))
        .maybe("focus-title", focus.as_ref().map(|node| exact(node.title())))
        .maybe("scope", narrowed(engine).filter(|_| sees_private))
        .int("files", view.len() as i64)
        .int("headings", view.headings() as i64)
        .text("health", health)
        .int("problems", engine.problems().len() as i64);
    let jobs = engine.running_jobs();
    let payload = payload.maybe_int("jobs-running", Some(jobs).filter(|jobs| *jobs > 0));
    let payload = match reading {
        Some(reading) => payload.list("reading", [Sexp::int(reading.done as i64), Sexp::int(reading.total as i64)]),
        None => payload,
    };
    let payload = match engine.taped() {
        Some(taped) => payload.int("recorded", (taped.exchanges + taped.waits) as i64),
        None => payload,
    };
    let payload = match engine.filling().filter(|filling| filling.total.saturating_sub(filling.done) > BEHIND) {
        Some(filling) => payload.list("indexing", [Sexp::int(filling.done as i64), Sexp::int(filling.total as i64)]),
        None => payload,
    };
    Status::of(payload, focus.map(|node| node.id().clone()))
}

/// Returns what the agent's sight is narrowed to, in words; `None` when it sees everything.
fn narrowed(engine: &Engine) -> Option<String> {
    let stack = engine.focus_stack();
    (*stack.reach() != Reach::Memex).then(|| exact(&stack.reach().to_string()))
}

impl Status {
    fn of(payload: Plist, focus: Option<NodeId>) -> Status {
        let text = payload.clone().build().to_string().into();
        Status { payload, text, focus }
    }

    /// Returns the message's payload.
    pub(super) fn payload(self) -> Plist {
        self.payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(headings: i64, focus: &str) -> Status {
        titled(headings, focus, focus)
    }

    fn titled(headings: i64, focus: &str, title: &str) -> Status {
        let payload = Plist::new().int("headings", headings).text("focus", focus).text("focus-title", title);
        Status::of(payload, Some(NodeId::new(focus)))
    }

    fn word(offered: &Offered) -> &'static str {
        match offered {
            Offered::Kept => "kept",
            Offered::Send(_) => "sent",
            Offered::SendAndPause(_) => "sent, pause",
        }
    }

    #[test]
    fn counts_wait_for_the_pause_and_a_new_focus_does_not() {
        let mut statuses = Statuses::default();
        let offer = |statuses: &mut Statuses, headings, focus| word(&statuses.offer(status(headings, focus)));
        assert_eq!(offer(&mut statuses, 1, "a"), "sent, pause");
        assert_eq!(offer(&mut statuses, 2, "a"), "kept", "a count waits");
        assert_eq!(offer(&mut statuses, 2, "b"), "sent", "the heading at point is shown at once");
        assert_eq!(offer(&mut statuses, 3, "b"), "kept");
        statuses.pause_is_over();
        assert_eq!(offer(&mut statuses, 3, "b"), "sent, pause", "what waited is sent");
        statuses.pause_is_over();
        assert_eq!(offer(&mut statuses, 3, "b"), "kept", "nothing is sent twice");
    }

    #[test]
    fn a_title_that_is_typed_waits_for_the_pause() {
        let mut statuses = Statuses::default();
        let offer = |statuses: &mut Statuses, focus, title| word(&statuses.offer(titled(1, focus, title)));
        assert_eq!(offer(&mut statuses, "a", "T"), "sent, pause");
        assert_eq!(offer(&mut statuses, "a", "Ti"), "kept");
        assert_eq!(offer(&mut statuses, "a", "Tit"), "kept");
        assert_eq!(offer(&mut statuses, "b", "B"), "sent", "another heading is shown at once, whatever its title");
        assert_eq!(offer(&mut statuses, "a", "Titl"), "sent");
        assert_eq!(offer(&mut statuses, "a", "Title"), "kept");
        statuses.pause_is_over();
        assert_eq!(offer(&mut statuses, "a", "Title"), "sent, pause", "the newest is sent");
    }
}
