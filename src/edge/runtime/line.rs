//! Lines: what was said to a client by number, so that it goes on where it was when its connection broke.
//!
//! A line outlives its connections. One connection holds it at a time; a newer one takes it from the older, which then
//! says nothing more.

use crate::domain::sexp::reader::Sexp;
use crate::edge::runtime::clients::Channel;
use crate::edge::runtime::hall::Road;
use crate::edge::wire::number::Sent;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{Notify, watch};

/// What one client is told and says, whatever becomes of its connections.
pub(super) struct Line {
    pub(super) channel: Arc<Channel>,
    /// Rings when something waits for the client.
    pub(super) bell: Arc<Notify>,
    /// By which the client takes it up; `None` where its messages are not numbered.
    token: Option<String>,
    /// Its process, where the system names it.
    process: Option<u32>,
    state: Mutex<State>,
    /// Which connection holds it.
    holder: watch::Sender<u64>,
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

    /// Returns whether a message of the client did not come before, and takes note of what it says it has seen.
    pub(super) fn is_new(&self, message: &Sexp) -> bool {
        if self.token.is_none() {
            return true;
        }
        let meta = |key: &str| message.get("meta").and_then(|meta| meta.count_at(key)).map(|number| number as u64);
        let mut state = self.state.lock();
        if let Some(seen) = meta("seen") {
            state.sent.seen(seen);
        }
        match meta("number") {
            None => true,
            Some(number) => {
                let new = number > state.heard;
                state.heard = state.heard.max(number);
                new
            }
        }
    }

    /// Returns what waits for the client, at most about `bytes` of it; nothing to a connection that does not hold it any
    /// more.
    pub(super) fn next(&self, hold: &Hold, bytes: usize) -> Vec<String> {
        // Under one lock: what was taken is kept, whoever writes it.
        let mut state = self.state.lock();
        if state.holder != hold.number {
            return Vec::new();
        }
        let texts = self.channel.outbox.receive(bytes);
        match self.token {
            None => texts,
            Some(_) => texts.iter().map(|text| state.sent.number(text)).collect(),
        }
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
    /// Begins the line of a client that has come for the first time.
    pub(super) fn begin(
        &self,
        (channel, bell): (Arc<Channel>, Arc<Notify>),
        token: Option<String>,
        process: Option<u32>,
    ) -> (Arc<Line>, Hold) {
        let state = State { holder: 1, ..State::default() };
        let (holder, watch) = watch::channel(1);
        let line = Arc::new(Line { channel, bell, token, process, state: Mutex::new(state), holder });
        if let Some(token) = &line.token {
            self.0.lock().insert(token.clone(), line.clone());
        }
        (line.clone(), Hold { line, number: 1, again: Mutex::default(), watch })
    }

    /// Takes a line up for a client that comes back and has seen messages up to a number; `None` when there is none by
    /// this token, it is another process's, or what was not seen is not kept any more.
    pub(super) fn take_up(&self, token: &str, seen: u64, road: &Road) -> Option<(Arc<Line>, Hold)> {
        let lines = self.0.lock();
        let line = lines.get(token).filter(|line| line.process == road.process)?.clone();
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
