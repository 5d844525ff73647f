//! Lines: what was said to a client by number, so that it goes on where it was when its connection broke.
//!
//! A line outlives its connections. One connection holds it at a time; a newer one takes it from the older, which then
//! says nothing more.

use crate::domain::sexp::reader::Sexp;
use crate::edge::peers::tls::Fingerprint;
use crate::edge::runtime::clients::Channel;
use crate::edge::runtime::hall::Road;
use crate::edge::runtime::lobby::Held;
use crate::edge::wire::number::Sent;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{Notify, OwnedSemaphorePermit, watch};

/// What one client is told and says, whatever becomes of its connections.
pub(super) struct Line {
    pub(super) channel: Arc<Channel>,
    /// Rings when something waits for the client.
    pub(super) bell: Arc<Notify>,
    /// By which the client takes it up; `None` where its messages are not numbered.
    token: Option<String>,
    /// Its process, where the system names it.
    process: Option<u32>,
    /// The key with which its client came from another machine.
    key: Option<Fingerprint>,
    state: Mutex<State>,
    /// Which connection holds it.
    holder: watch::Sender<u64>,
    /// Its client's place among those who may be here. It outlives a connection, as the line does: who comes back has it
    /// still, and no more can be waited for than can be here.
    _seat: OwnedSemaphorePermit,
}

#[derive(Default)]
struct State {
    sent: Sent,
    /// The number of the client's last message that came.
    heard: u64,
    holder: u64,
}

/// A connection's hold of a line.
pub(super) struct Hold {
    line: Arc<Line>,
    number: u64,
    again: Mutex<Vec<String>>,
    watch: watch::Receiver<u64>,
}

impl Line {
    /// Returns the token by which its client takes it up, where its messages are numbered.
    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Returns the number of the client's last message that came.
    pub(super) fn heard(&self) -> u64 {
        self.state.lock().heard
    }

    /// Takes note of what a message says that its client has seen, and returns the message's own number, where it has one
    /// and the line counts.
    pub(super) fn number_of(&self, message: &Sexp) -> Option<u64> {
        self.token.as_ref()?;
        let meta = |key: &str| message.get("meta").and_then(|meta| meta.count_at(key)).map(|number| number as u64);
        if let Some(seen) = meta("seen") {
            self.state.lock().sent.seen(seen);
        }
        meta("number")
    }

    /// Hands a message of the client on, once: not what came before, and nothing by a connection that does not hold the
    /// line any more, of which the client says it again. Returns what `send` does; `None` when it was left out.
    pub(super) fn hand_on<T>(&self, hold: &Hold, number: Option<u64>, send: impl FnOnce() -> T) -> Option<T> {
        // Under one lock: what counts as heard was handed on.
        let mut state = self.state.lock();
        if state.holder != hold.number || number.is_some_and(|number| number <= state.heard) {
            return None;
        }
        state.heard = number.unwrap_or(state.heard);
        Some(send())
    }

    /// Returns what waits for the client, at most about `bytes` of it; `None` to a connection that does not hold it any
    /// more.
    pub(super) fn next(&self, hold: &Hold, bytes: usize) -> Option<Vec<String>> {
        // Under one lock: what was taken is kept, whoever writes it.
        let mut state = self.state.lock();
        if state.holder != hold.number {
            return None;
        }
        let texts = self.channel.outbox.receive(bytes);
        Some(match self.token {
            None => texts,
            Some(_) => texts.iter().map(|text| state.sent.number(text)).collect(),
        })
    }

    fn hold(self: &Arc<Self>, seen: u64) -> Option<Hold> {
        let mut state = self.state.lock();
        let again = state.sent.behind(seen)?;
        state.sent.seen(seen);
        state.holder += 1;
        let number = state.holder;
        self.holder.send_replace(number);
        Some(Hold { line: self.clone(), number, again: Mutex::new(again), watch: self.holder.subscribe() })
    }
}

impl Hold {
    /// Returns what the client did not see of earlier connections, once.
    pub(super) fn again(&self) -> Vec<String> {
        std::mem::take(&mut *self.again.lock())
    }

    /// Waits until another connection has taken the line.
    pub(super) async fn lost(&self) {
        let number = self.number;
        // The line lives as long as this does, so the wait ends for no other reason.
        let _ = self.watch.clone().wait_for(|holder| *holder != number).await;
    }
}

/// The lines that can be taken up, by their tokens.
#[derive(Default)]
pub(super) struct Lines(Mutex<HashMap<String, Arc<Line>>>);

impl Lines {
    /// Begins the line of a client that has come for the first time; `None` when its road has no seat left.
    pub(super) fn begin(
        &self,
        (channel, bell): (Arc<Channel>, Arc<Notify>),
        token: Option<String>,
        road: &Road,
    ) -> Option<(Arc<Line>, Hold)> {
        let seat = road.seats.clone().try_acquire_owned().ok()?;
        let state = State { holder: 1, ..State::default() };
        let (holder, watch) = watch::channel(1);
        let (process, key) = (road.process, road.held.as_ref().map(Held::key));
        let state = Mutex::new(state);
        let line = Arc::new(Line { channel, bell, token, process, key, state, holder, _seat: seat });
        if let Some(token) = &line.token {
            self.0.lock().insert(token.clone(), line.clone());
        }
        Some((line.clone(), Hold { line, number: 1, again: Mutex::default(), watch }))
    }

    /// Takes a line up for a client that comes back and has seen messages up to a number; `now` is what it would be if it
    /// came for the first time. `None` when there is none by this token, it is another process's, of another key or of one
    /// that is not now what it was then, or what was not seen is not kept any more.
    pub(super) fn take_up(&self, (token, seen): (&str, u64), road: &Road, now: &Channel) -> Option<(Arc<Line>, Hold)> {
        let lines = self.0.lock();
        let line = lines.get(token)?;
        let then = &line.channel;
        // What a client was granted it has beyond what its road gives.
        let same = then.kind == now.kind && (then.kind.is_program() || then.rights() == now.rights());
        let key = road.held.as_ref().map(Held::key);
        let line = Some(line).filter(|line| same && line.process == road.process && line.key == key)?.clone();
        // Under the lock: a line that is being ended is not taken up.
        let hold = line.hold(seen)?;
        Some((line, hold))
    }

    /// Ends a line for the connection that holds it; returns false when another one holds it by now.
    pub(super) fn end(&self, hold: &Hold) -> bool {
        let mut lines = self.0.lock();
        if hold.line.state.lock().holder != hold.number {
            return false;
        }
        if let Some(token) = &hold.line.token {
            lines.remove(token);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sexp::plist::Plist;
    use crate::edge::runtime::clients::Grant;
    use crate::edge::runtime::outbox::Outbox;
    use tokio::sync::Semaphore;

    fn outbox() -> Arc<Outbox> {
        Outbox::new(Box::new(|| {}))
    }

    fn road(process: Option<u32>) -> Road {
        Road { name: String::new(), pinged: false, process, held: None, seats: Arc::new(Semaphore::new(1)) }
    }

    fn begin(lines: &Lines, channel: Arc<Channel>, process: Option<u32>) -> (Arc<Line>, Hold) {
        lines.begin((channel, Arc::default()), Some("token".to_string()), &road(process)).expect("there is a seat")
    }

    #[test]
    fn what_was_handed_on_counts_as_heard_and_nothing_else_does() {
        let lines = Lines::default();
        let (line, first) = begin(&lines, Channel::client(1, "ab", None, outbox()), None);
        assert_eq!(line.hand_on(&first, Some(1), || "first"), Some("first"));
        assert_eq!(line.hand_on(&first, Some(1), || "again"), None);
        assert_eq!(line.hand_on(&first, None, || "unnumbered"), Some("unnumbered"));
        let now = Channel::client(2, "cd", None, outbox());
        let (same, second) = lines.take_up(("token", 0), &road(None), &now).expect("it is there");
        // What the older connection still had in its hands is said again by the newer.
        assert_eq!(line.hand_on(&first, Some(2), || "late"), None);
        assert_eq!((same.heard(), same.hand_on(&second, Some(2), || "second")), (1, Some("second")));
        line.channel.outbox.send("log", None, Plist::new().text("text", "news"));
        assert!(line.next(&first, 1 << 20).is_none());
        assert!(line.next(&second, 1 << 20).is_some_and(|texts| texts.len() == 1));
        assert!(!lines.end(&first) && lines.end(&second));
        assert!(lines.take_up(("token", 0), &road(None), &now).is_none(), "it has ended");
    }

    #[test]
    fn a_line_is_taken_up_by_who_is_still_what_it_was_and_nobody_else() {
        let emacs = || Channel::emacs(1, 7, outbox());
        let doubted = || Channel::doubted(2, 7, ("it runs a script".to_string(), false), outbox());
        let (terminal, pipe) = (Channel::cli(3, 7, true, outbox()), Channel::cli(4, 7, false, outbox()));
        let client = || Channel::client(5, "ab", None, outbox());
        let granted = client();
        granted.grant(Grant::Private, 0).expect("it can be");
        for (then, now, process, taken) in [
            (emacs(), emacs(), Some(7), true),
            (emacs(), emacs(), Some(8), false),
            (emacs(), doubted(), Some(7), false),
            (emacs(), client(), Some(7), false),
            (terminal, pipe, Some(7), false),
            // What it was granted holds over a break, and is nothing that it has by itself.
            (granted, client(), Some(7), true),
        ] {
            let lines = Lines::default();
            let (line, _hold) = begin(&lines, then.clone(), Some(7));
            let again = lines.take_up(("token", 0), &road(process), &now);
            assert_eq!(again.is_some(), taken, "{} by {}", then.name, now.name);
            assert!(lines.take_up(("another", 0), &road(process), &now).is_none());
            assert_eq!(line.channel.rights(), then.rights());
        }
    }
}
