//! Messages that wait for a client: bounded, in order, and one wake-up for as many as have come.

use crate::domain::sexp::plist::{Plist, message};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Streamed text is joined into messages of at most this many bytes.
const CHUNK: usize = 8 * 1024;
/// What may wait at most, in bytes; beyond it streamed text is dropped with a note, since the turn keeps the whole.
const MOST: usize = 32 * 1024 * 1024;

enum Item {
    Message(String),
    /// A question of ours by its number; it can be withdrawn until it is taken.
    Question(u64, String),
    Chunk {
        session: String,
        turn: String,
        text: String,
    },
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
    dropped: bool,
}

/// The queue towards one client.
pub struct Outbox {
    queue: Mutex<Queue>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Outbox {
    /// Makes a queue; `wake` is called when something was put in, and must not block.
    pub fn new(wake: Box<dyn Fn() + Send + Sync>) -> Arc<Outbox> {
        Arc::new(Outbox { queue: Mutex::default(), wake })
    }

    /// Puts a message in.
    pub fn send(&self, kind: &str, session: Option<&str>, payload: Plist) {
        let mut whole = message(kind, payload);
        if let Some(session) = session {
            whole = whole.plist("meta", Plist::new().text("session-id", session));
        }
        self.put(Item::Message(whole.build().to_string()));
    }

    /// Puts a question in, under a number that no other question has.
    pub fn ask(&self, number: u64, payload: Plist) {
        self.put(Item::Question(number, message("request", payload).build().to_string()));
    }

    /// Takes a question back; returns whether it was still here, so that nobody will ever see it.
    pub fn withdraw(&self, number: u64) -> bool {
        let mut queue = self.queue.lock();
        let ours = |item: &Item| matches!(item, Item::Question(other, _) if *other == number);
        let Some(Item::Question(_, text)) = queue.items.iter().position(ours).and_then(|at| queue.items.remove(at))
        else {
            return false;
        };
        queue.bytes = queue.bytes.saturating_sub(text.len());
        true
    }

    fn put(&self, item: Item) {
        let mut queue = self.queue.lock();
        queue.bytes += match &item {
            Item::Message(text) | Item::Question(_, text) | Item::Chunk { text, .. } => text.len(),
        };
        queue.items.push_back(item);
        drop(queue);
        (self.wake)();
    }

    /// Puts streamed text in; it is joined with what waits of the same turn.
    pub fn stream(&self, session: &str, turn: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut queue = self.queue.lock();
        if queue.bytes > MOST {
            queue.dropped = true;
            return;
        }
        queue.bytes += text.len();
        match queue.items.back_mut() {
            Some(Item::Chunk { turn: last, text: waiting, .. })
                if last == turn && waiting.len() + text.len() <= CHUNK =>
            {
                waiting.push_str(text);
            }
            _ => {
                let (session, turn, text) = (session.to_string(), turn.to_string(), text.to_string());
                queue.items.push_back(Item::Chunk { session, turn, text });
            }
        }
        drop(queue);
        (self.wake)();
    }

    /// Returns waiting messages, at most about `bytes` of them, at least one if there is any.
    pub fn receive(&self, bytes: usize) -> Vec<String> {
        let mut queue = self.queue.lock();
        let mut taken = Vec::new();
        let mut size = 0;
        while size < bytes.max(1) {
            let Some(item) = queue.items.pop_front() else { break };
            let (text, weight) = match item {
                Item::Message(text) | Item::Question(_, text) => {
                    let weight = text.len();
                    (text, weight)
                }
                Item::Chunk { session, turn, text } => {
                    let weight = text.len();
                    (chunk(&session, &turn, &text), weight)
                }
            };
            queue.bytes = queue.bytes.saturating_sub(weight);
            size += text.len();
            taken.push(text);
        }
        if queue.items.is_empty() && std::mem::take(&mut queue.dropped) {
            let note = "Part of a streamed answer was not shown, because Emacs did not take it in time.";
            taken.push(message("log", Plist::new().text("level", "warning").text("text", note)).build().to_string());
        }
        taken
    }
}

/// Returns a `stream-chunk`; the empty text ends a stream.
fn chunk(session: &str, turn: &str, text: &str) -> String {
    message("stream-chunk", Plist::new().text("turn", turn).text("text", text))
        .plist("meta", Plist::new().text("session-id", session))
        .build()
        .to_string()
}
