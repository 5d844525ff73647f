//! Looks at every piece of a stream before genai parses it.
//!
//! It knows when the server last gave a sign of life and whether the answer came to its end, which genai does not tell,
//! and stops what would make genai ask for any amount of memory.

use crate::domain::port::Ended;
use crate::edge::provider::config::Kind;
use crate::edge::provider::http::Limits;
use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef, StopReason};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::time::Instant;

/// The largest single piece of a stream, in bytes.
const MAX_PIECE: usize = 8 * 1024 * 1024;

/// What was seen of a stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// When the server last gave a sign of life; `None` before the first.
    pub(super) alive: Option<Instant>,
    /// Whether anything but signs of life came.
    pub(super) begun: bool,
    /// Whether the answer came to its end.
    pub(super) finished: bool,
    /// How it did, as far as its server says: genai does not tell where a server hangs up right behind the last piece.
    pub(super) ended: Ended,
    /// An error in the server's own words that genai passes over.
    pub(super) error: Option<Value>,
    /// Why the stream was stopped.
    pub(super) stopped: Option<Stopped>,
    /// How many tokens were thoughts, where genai does not tell.
    pub(super) thinking: u64,
    /// Whether thoughts came in the field `reasoning_content`.
    pub(super) reasoning_content: bool,
    /// Whether words came as lists of parts, as Mistral sends thoughts.
    pub(super) chunked: bool,
    /// Whether thoughts came in blocks that only the provider can read.
    pub(super) detailed: bool,
}

impl Seen {
    /// Takes in why an answer ends, if that is said here; returns whether it is.
    fn end(&mut self, reason: Option<&Value>) -> bool {
        let Some(reason) = reason.and_then(Value::as_str) else { return false };
        self.ended = match StopReason::from(reason.to_string()) {
            StopReason::MaxTokens(_) => Ended::Limit,
            StopReason::ContentFilter(_) => Ended::Filtered,
            StopReason::Completed(_) | StopReason::ToolCall(_) | StopReason::StopSequence(_) | StopReason::Other(_) => {
                Ended::Whole
            }
        };
        true
    }
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
    limits: Limits,
    seen: Mutex<Seen>,
    /// Blocks of thoughts as OpenRouter sends them, put together from their pieces.
    details: Mutex<Details>,
}

impl Watch {
    /// Starts a watch that allows so much.
    pub(super) fn new(kind: Kind, limits: Limits) -> Self {
        Watch { kind, limits, seen: Mutex::default(), details: Mutex::default() }
    }

    /// Returns the blocks of thoughts that only the provider can read.
    pub(super) fn take_details(&self) -> Vec<Value> {
        std::mem::take(&mut *self.details.lock()).blocks
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
            Kind::Anthropic => {
                seen.finished |= event == Some("message_stop");
                if event == Some("message_delta") {
                    seen.end(parsed().pointer("/delta/stop_reason"));
                }
                if data.contains("thinking_tokens") {
                    let tokens =
                        parsed().pointer("/usage/output_tokens_details/thinking_tokens").and_then(Value::as_u64);
                    seen.thinking = tokens.unwrap_or(seen.thinking);
                }
            }
            Kind::Gemini => {
                if data.contains("finishReason") {
                    seen.finished |= seen.end(parsed().pointer("/candidates/0/finishReason"));
                }
            }
            Kind::Ollama => {
                if data.contains("\"done\"") || data.contains("\"error\"") {
                    let value = parsed();
                    seen.finished |= value.get("done") == Some(&Value::Bool(true));
                    seen.end(value.get("done_reason"));
                    if value.get("error").is_some_and(Value::is_string) {
                        seen.error = Some(value);
                    }
                }
            }
            Kind::OpenAiResponses => look_at_response(&mut seen, data, self.limits.calls),
            Kind::OpenAi | Kind::OpenRouter | Kind::Mistral | Kind::Xai => {
                if data == "[DONE]" {
                    seen.finished = true;
                    return None;
                }
                let value = parsed();
                seen.finished |= seen.end(value.pointer("/choices/0/finish_reason"));
                let thoughts = value.pointer("/choices/0/delta/reasoning_content").and_then(Value::as_str);
                seen.reasoning_content |= thoughts.is_some_and(|words| !words.is_empty());
                seen.chunked |= value.pointer("/choices/0/delta/content").is_some_and(Value::is_array);
                if self.kind == Kind::OpenRouter
                    && let Some(Value::Array(blocks)) = value.pointer("/choices/0/delta/reasoning_details")
                {
                    seen.detailed = true;
                    self.details.lock().take(blocks, self.limits.text);
                }
                let calls = value.pointer("/choices/0/delta/tool_calls").and_then(Value::as_array);
                for call in calls.into_iter().flatten() {
                    let index = call.get("index").and_then(Value::as_u64);
                    match index.and_then(|index| usize::try_from(index).ok()) {
                        Some(index) if index < self.limits.calls => {}
                        Some(_) => seen.stopped = Some(Stopped::Calls),
                        None => seen.stopped = Some(Stopped::Unnumbered),
                    }
                }
            }
        }
        seen.stopped
    }
}

/// Looks at an event of OpenAI's responses. genai passes over errors, and makes a call for each number.
fn look_at_response(seen: &mut Seen, data: &str, calls: usize) {
    if !["response.completed", "response.incomplete", "response.failed", "error", "output_item"]
        .iter()
        .any(|word| data.contains(word))
    {
        return;
    }
    let event = serde_json::from_str::<Value>(data).unwrap_or(Value::Null);
    match event.get("type").and_then(Value::as_str) {
        Some("response.completed") => seen.finished = true,
        Some("response.incomplete") => {
            seen.finished = true;
            let why = event.pointer("/response/incomplete_details/reason").and_then(Value::as_str);
            seen.ended = if why == Some("content_filter") { Ended::Filtered } else { Ended::Limit };
        }
        Some("response.failed") => seen.error = Some(event.get("response").cloned().unwrap_or(Value::Null)),
        Some("error") => seen.error = Some(event),
        Some("response.output_item.added") => {
            let index = event.get("output_index").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
            // Words and thoughts have numbers as well.
            if index.is_none_or(|index| index > calls.saturating_mul(4)) {
                seen.stopped = Some(Stopped::Calls);
            }
        }
        _ => {}
    }
}

/// Blocks of thoughts, put together.
#[derive(Default)]
struct Details {
    blocks: Vec<Value>,
    bytes: usize,
}

impl Details {
    /// Takes pieces of blocks; those of one block have one number, and their words follow one another.
    /// Beyond so many bytes nothing more is kept: half of what is signed is worth nothing.
    fn take(&mut self, pieces: &[Value], most: usize) {
        self.bytes = self.bytes.saturating_add(pieces.iter().map(|piece| piece.to_string().len()).sum());
        if self.bytes > most {
            self.blocks.clear();
            return;
        }
        for piece in pieces {
            let same = |block: &Value| {
                ["index", "type"].iter().all(|name| block.get(*name) == piece.get(*name))
                    && piece.get("index").is_some()
            };
            match (self.blocks.last_mut().filter(|block| same(block)), piece.as_object()) {
                (Some(Value::Object(block)), Some(piece)) => {
                    piece.iter().for_each(|(name, more)| join(block, name, more))
                }
                _ => self.blocks.push(piece.clone()),
            }
        }
    }
}

/// Adds a field of a piece to its block.
fn join(block: &mut Map<String, Value>, name: &str, more: &Value) {
    match (block.get_mut(name), more) {
        (Some(Value::String(words)), Value::String(more)) if matches!(name, "text" | "summary" | "data") => {
            words.push_str(more);
        }
        (_, Value::Null) => {}
        _ => {
            block.insert(name.to_string(), more.clone());
        }
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
