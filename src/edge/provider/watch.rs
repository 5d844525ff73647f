//! Looks at every piece of a stream before genai parses it.
//!
//! It knows when the server last gave a sign of life and whether the answer came to its end, which genai does not tell,
//! and stops what would make genai ask for any amount of memory.

use crate::edge::provider::config::Kind;
use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

/// The largest single piece of a stream, in bytes.
const MAX_PIECE: usize = 8 * 1024 * 1024;

/// What was seen of a stream.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// When the server last gave a sign of life; `None` before the first.
    pub(super) alive: Option<Instant>,
    /// Whether anything but signs of life came.
    pub(super) begun: bool,
    /// Whether the answer came to its end.
    pub(super) finished: bool,
    /// An error in the server's own words that genai passes over.
    pub(super) error: Option<Value>,
    /// Why the stream was stopped.
    pub(super) stopped: Option<Stopped>,
}

/// Why a stream was stopped before it was parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// A piece over [`MAX_PIECE`].
    Piece,
    /// A call with a number beyond the limit.
    Calls,
    /// A call without a number: genai would drop it without a word.
    Unnumbered,
}

/// The watch over one stream.
pub(super) struct Watch {
    kind: Kind,
    calls: usize,
    seen: Mutex<Seen>,
}

impl Watch {
    /// Starts a watch that allows so many calls.
    pub(super) fn new(kind: Kind, calls: usize) -> Self {
        let seen = Seen { alive: None, begun: false, finished: false, error: None, stopped: None };
        Watch { kind, calls, seen: Mutex::new(seen) }
    }

    /// Returns what was seen up to now.
    pub(super) fn seen(&self) -> Seen {
        self.seen.lock().clone()
    }

    fn look(&self, event: Option<&str>, data: &str) -> Option<Stopped> {
        let mut seen = self.seen.lock();
        seen.alive = Some(Instant::now());
        if data.trim().is_empty() {
            return None;
        }
        seen.begun = true;
        if data.len() > MAX_PIECE {
            seen.stopped = Some(Stopped::Piece);
            return seen.stopped;
        }
        let parsed = || serde_json::from_str::<Value>(data).unwrap_or(Value::Null);
        match self.kind {
            Kind::Anthropic => seen.finished |= event == Some("message_stop"),
            Kind::Gemini => {
                seen.finished |= data.contains("finishReason")
                    && parsed().pointer("/candidates/0/finishReason").is_some_and(Value::is_string);
            }
            Kind::Ollama => {
                if data.contains("\"done\"") || data.contains("\"error\"") {
                    let value = parsed();
                    seen.finished |= value.get("done") == Some(&Value::Bool(true));
                    if value.get("error").is_some_and(Value::is_string) {
                        seen.error = Some(value);
                    }
                }
            }
            Kind::OpenAi | Kind::OpenRouter => {
                if data == "[DONE]" {
                    seen.finished = true;
                    return None;
                }
                let value = parsed();
                seen.finished |= value.pointer("/choices/0/finish_reason").is_some_and(Value::is_string);
                let calls = value.pointer("/choices/0/delta/tool_calls").and_then(Value::as_array);
                for call in calls.into_iter().flatten() {
                    let index = call.get("index").and_then(Value::as_u64);
                    match index.and_then(|index| usize::try_from(index).ok()) {
                        Some(index) if index < self.calls => {}
                        Some(_) => seen.stopped = Some(Stopped::Calls),
                        None => seen.stopped = Some(Stopped::Unnumbered),
                    }
                }
            }
        }
        seen.stopped
    }
}

impl ChatFrameSink for Watch {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        if self.look(frame.event, frame.data).is_some() {
            // There is no other way to keep genai from parsing this piece: it would reserve memory for as many calls
            // as the number says. It runs no panic hook, and `served` catches it around each step of the stream.
            std::panic::resume_unwind(Box::new("stopped"));
        }
    }
}
