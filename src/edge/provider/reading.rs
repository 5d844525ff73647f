//! One answer as it comes in: its words are streamed, its thoughts told apart, its calls gathered, and all of it bounded.

use crate::domain::label::Labels;
use crate::domain::port::{
    Call, Completion, Ended, ProviderError, ProviderErrorKind, Sink, Streamed, Thinking, Thought, Usage,
};
use crate::edge::provider::config::Kind;
use crate::edge::provider::fault::{Failed, Teller};
use crate::edge::provider::served::Served;
use crate::edge::provider::tags::{Piece, Tags};
use crate::edge::provider::watch::{Seen, Stopped, Watch};
use futures_util::{FutureExt, StreamExt};
use genai::chat::{ChatStream, ChatStreamEvent, ContentPart, StreamEnd, ToolCall};
use serde_json::{Map, Value};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::time::Instant;

/// One answer as it comes in.
pub(super) struct Reading<'a> {
    served: &'a Served,
    teller: Teller<'a>,
    watch: Arc<Watch>,
    started: Instant,
    answer: Answer,
}

#[derive(Default)]
struct Answer {
    text: String,
    thoughts: String,
    /// `None` of a protocol that has a place of its own for thoughts.
    tags: Option<Tags>,
    calls: Vec<ToolCall>,
}

impl<'a> Reading<'a> {
    /// Begins to read; the time that it may take counts from here.
    pub(super) fn begin(served: &'a Served, teller: Teller<'a>, watch: Arc<Watch>) -> Self {
        let tags = served.config.kind.writes_tags().then(Tags::default);
        let answer = Answer { tags, ..Answer::default() };
        Reading { served, teller, watch, started: Instant::now(), answer }
    }

    /// Reads to the end of the stream; returns genai's last event if there was one.
    pub(super) async fn read(&mut self, mut stream: ChatStream, sink: Sink<'_>) -> Result<Option<StreamEnd>, Failed> {
        let end = loop {
            let event = match self.step(&mut stream).await? {
                None => break None,
                Some(Ok(event)) => event,
                // Some servers hang up right behind the last piece.
                Some(Err(_)) if self.watch.seen().finished => break None,
                Some(Err(error)) => return Err(self.fault(&error)),
            };
            match event {
                ChatStreamEvent::Start | ChatStreamEvent::Heartbeat | ChatStreamEvent::ThoughtSignatureChunk(_) => {}
                ChatStreamEvent::Chunk(chunk) => self.words(&chunk.content, sink)?,
                ChatStreamEvent::ReasoningChunk(chunk) => self.thought(&chunk.content, sink)?,
                ChatStreamEvent::ToolCallChunk(chunk) => self.call(chunk.tool_call)?,
                ChatStreamEvent::End(end) => break Some(end),
            }
        };
        let held = self.answer.tags.as_mut().and_then(Tags::finish);
        held.into_iter().try_for_each(|piece| self.piece(piece, sink))?;
        Ok(end)
    }

    /// Waits for the next event, as long as the server gives signs of life.
    async fn step(&self, stream: &mut ChatStream) -> Result<Option<genai::Result<ChatStreamEvent>>, ProviderError> {
        let timeouts = self.served.timeouts;
        let whole = self.started + timeouts.whole;
        let mut stream = std::pin::pin!(AssertUnwindSafe(stream.next()).catch_unwind());
        let mut next = std::pin::pin!(std::future::poll_fn(|cx| {
            take_little(cx);
            stream.as_mut().poll(cx)
        }));
        loop {
            let alive = self.watch.seen().alive;
            let (deadline, patience) = match alive {
                None => (self.started + timeouts.first, timeouts.first),
                Some(alive) => (alive + timeouts.stall, timeouts.stall),
            };
            match tokio::time::timeout_at(deadline.min(whole), &mut next).await {
                Ok(Ok(event)) => return Ok(event),
                Ok(Err(_)) => return Err(self.stopped()),
                Err(_) if Instant::now() >= whole => return Err(self.late(self.teller.slow(timeouts.whole))),
                Err(_) if self.watch.seen().alive != alive => {}
                Err(_) => return Err(self.late(self.teller.silent(Some(patience)))),
            }
        }
    }

    /// Takes words of the answer, which may hold thoughts between tags.
    fn words(&mut self, text: &str, sink: Sink<'_>) -> Result<(), ProviderError> {
        match &mut self.answer.tags {
            None => self.text(text, sink),
            Some(tags) => tags.push(text).into_iter().try_for_each(|piece| self.piece(piece, sink)),
        }
    }

    fn piece(&mut self, piece: Piece, sink: Sink<'_>) -> Result<(), ProviderError> {
        match piece {
            Piece::Text(text) => self.text(&text, sink),
            Piece::Thought(text) => self.thought(&text, sink),
        }
    }

    fn text(&mut self, text: &str, sink: Sink<'_>) -> Result<(), ProviderError> {
        if self.answer.text.len() + text.len() > self.served.limits.text {
            let most = self.served.limits.text / 1024;
            return Err(self.teller.too_large(&format!("its answer is over the limit of {most} kB")));
        }
        self.answer.text.push_str(text);
        sink(Streamed::Text(text));
        Ok(())
    }

    fn thought(&mut self, text: &str, sink: Sink<'_>) -> Result<(), ProviderError> {
        if self.answer.thoughts.len() + text.len() > self.served.limits.text {
            return Err(self.teller.too_large("its thoughts ran beyond the limit"));
        }
        self.answer.thoughts.push_str(text);
        sink(Streamed::Thought(text));
        Ok(())
    }

    /// Takes a call, or a longer form of one that came before.
    fn call(&mut self, call: ToolCall) -> Result<(), ProviderError> {
        // These send a call whole, and genai may give two of them one id.
        let whole = matches!(self.served.config.kind, Kind::Gemini | Kind::Ollama);
        let same = |known: &&mut ToolCall| !whole && known.call_id == call.call_id;
        match self.answer.calls.iter_mut().find(same) {
            Some(known) => *known = call,
            None => self.answer.calls.push(call),
        }
        let limits = self.served.limits;
        if self.answer.calls.len() > limits.calls {
            return Err(self.too_many_calls());
        }
        let size =
            |call: &ToolCall| call.fn_arguments.as_str().map_or_else(|| call.fn_arguments.to_string().len(), str::len);
        if self.answer.calls.iter().map(size).sum::<usize>() > limits.arguments {
            let most = limits.arguments / 1024;
            return Err(self.teller.too_large(&format!("the arguments of its calls are over the limit of {most} kB")));
        }
        Ok(())
    }

    fn too_many_calls(&self) -> ProviderError {
        let most = self.served.limits.calls;
        self.teller.too_large(&format!("it wants more than {most} calls at once"))
    }

    /// Returns the error for a stream that was stopped before it was parsed.
    fn stopped(&self) -> ProviderError {
        match self.watch.seen().stopped {
            Some(Stopped::Piece) => self.teller.too_large("one piece of its answer is over 8 MiB"),
            Some(Stopped::Calls) => self.too_many_calls(),
            Some(Stopped::Unnumbered) => self.teller.garbled("a call without its number"),
            None => self.teller.garbled("a part of it broke the parser"),
        }
    }

    /// Says in an error about time how much of the answer there is.
    fn late(&self, mut error: ProviderError) -> ProviderError {
        let kept = self.answer.text.chars().count();
        if kept > 0 {
            error.text.push_str(&format!("; the {kept} characters before that are kept"));
        }
        error
    }

    fn fault(&self, error: &genai::Error) -> Failed {
        let seen = self.watch.seen();
        if let Some(said) = &seen.error {
            return self.teller.said(None, said, None);
        }
        let told = self.teller.genai(error, seen.begun);
        if told.error.kind == ProviderErrorKind::Cut { self.cut().into() } else { told }
    }

    fn cut(&self) -> ProviderError {
        self.teller.cut(Some(self.answer.text.chars().count()))
    }

    /// Makes the completion, if the answer came to its end.
    pub(super) fn finish(self, end: Option<StreamEnd>) -> Result<Completion, Failed> {
        let seen = self.watch.seen();
        if let Some(error) = &seen.error {
            return Err(self.teller.said(None, error, None));
        }
        if !seen.begun {
            return Err(self.teller.garbled("it is no stream of this protocol").into());
        }
        if !seen.finished {
            return Err(self.cut().into());
        }
        let mut end = end.unwrap_or_default();
        let usage = end.captured_usage.take().and_then(|usage| usage_of(&usage, seen.thinking));
        let parts = end.captured_content.take().map(|content| content.into_parts()).unwrap_or_default();
        let (calls, parts): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| matches!(part, ContentPart::ToolCall(_)));
        let gathered: Vec<ToolCall> = calls.into_iter().filter_map(ContentPart::into_tool_call).collect();
        let calls = if gathered.is_empty() { self.answer.calls } else { gathered };
        if calls.len() > self.served.limits.calls {
            let most = self.served.limits.calls;
            return Err(self.teller.too_large(&format!("it wants more than {most} calls at once")).into());
        }
        // Who was told to stop so early may have come no farther than its thoughts.
        let as_told = seen.ended == Ended::Limit && self.served.limits.answer.is_some();
        if calls.is_empty() && self.answer.text.trim().is_empty() && !as_told {
            let why = match seen.ended {
                Ended::Filtered => "nothing but a refusal by its content filter",
                Ended::Limit => "nothing, since its limit of tokens was used up before the answer",
                Ended::Whole if !self.answer.thoughts.is_empty() => "thoughts, and no answer",
                Ended::Whole => "an empty answer",
            };
            return Err(self.teller.garbled(why).into());
        }
        let kind = self.served.config.kind;
        let Called { calls, unreadable, signed } = calls_of(calls, kind).map_err(|what| self.teller.garbled(&what))?;
        let details = self.watch.take_details();
        let thoughts = thoughts_of(kind, self.answer.thoughts, parts, details, signed);
        let taken_back = !thoughts.is_empty() && kind.takes_thoughts_back(&seen);
        let by = if taken_back { self.served.own_name() } else { String::new() };
        Ok(Completion {
            provider: self.served.config.name.clone(),
            model: self.served.config.model.clone(),
            text: self.answer.text,
            ended: seen.ended,
            thinking: Thinking { by, thoughts },
            calls,
            unreadable,
            labels: Labels::MODEL,
            usage,
            attempts: 1,
            sources: Vec::new(),
        })
    }
}

impl Kind {
    /// Tells whether models behind this protocol may write thoughts into their answers.
    fn writes_tags(self) -> bool {
        match self {
            Kind::OpenAi | Kind::OpenRouter | Kind::Mistral | Kind::Xai | Kind::Ollama => true,
            Kind::OpenAiResponses | Kind::Anthropic | Kind::Gemini => false,
        }
    }

    /// Tells whether a provider takes back thoughts that came as was seen. Who has no place for them may refuse them.
    fn takes_thoughts_back(self, seen: &Seen) -> bool {
        match self {
            Kind::Anthropic | Kind::Gemini | Kind::OpenAiResponses => true,
            // Those that say `reasoning_content` want it back with the results; others refuse a field of that name.
            Kind::OpenAi | Kind::Xai => seen.reasoning_content,
            Kind::Mistral => seen.chunked,
            Kind::OpenRouter => seen.detailed,
            // genai has no place for them.
            Kind::Ollama => false,
        }
    }
}

/// How many reads of a socket one step of a stream makes at most, of the 128 that tokio lets a task make in a row.
const READS: usize = 8;

/// Lets what follows in this step make few reads: genai goes through a line that does not end again with each of them,
/// and only in between is the time looked at.
fn take_little(cx: &mut std::task::Context<'_>) {
    for _ in READS..128 {
        if std::pin::pin!(tokio::task::consume_budget()).poll(cx).is_pending() {
            return;
        }
    }
}

/// Returns what was used, as it was reported.
fn usage_of(usage: &genai::chat::Usage, thinking: u64) -> Option<Usage> {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
    // Half of it says neither what the call cost nor how the provider counts.
    let (input, output) = (count(usage.prompt_tokens)?, count(usage.completion_tokens)?);
    let cached = usage.prompt_tokens_details.as_ref().and_then(|details| count(details.cached_tokens));
    let thought = usage.completion_tokens_details.as_ref().and_then(|details| count(details.reasoning_tokens));
    Some(Usage { input, output, cached: cached.unwrap_or(0), thinking: thought.unwrap_or(thinking) })
}

/// Puts together what was thought: what was shown, what only the provider can read, and signatures.
fn thoughts_of(
    kind: Kind,
    shown: String,
    parts: Vec<ContentPart>,
    details: Vec<Value>,
    signatures: Vec<Thought>,
) -> Vec<Thought> {
    let mut thoughts: Vec<Thought> = Vec::new();
    match kind {
        // Each block has a signature of its own, in front of its words.
        Kind::Anthropic => {
            for part in parts {
                match part {
                    ContentPart::ThoughtSignature(signature) => {
                        thoughts.push(Thought::Words { text: String::new(), signature: Some(signature) });
                    }
                    ContentPart::ReasoningContent(words) => match thoughts.last_mut() {
                        Some(Thought::Words { text, .. }) if text.is_empty() => *text = words,
                        _ => thoughts.push(Thought::Words { text: words, signature: None }),
                    },
                    ContentPart::Custom(custom) => thoughts.push(Thought::Sealed(custom.data)),
                    _ => {}
                }
            }
            let told =
                thoughts.iter().any(|thought| matches!(thought, Thought::Words { text, .. } if !text.is_empty()));
            if !told && !shown.is_empty() {
                thoughts.push(Thought::Words { text: shown, signature: None });
            }
        }
        Kind::Gemini
        | Kind::OpenAi
        | Kind::OpenAiResponses
        | Kind::OpenRouter
        | Kind::Mistral
        | Kind::Xai
        | Kind::Ollama => {
            if !shown.is_empty() {
                thoughts.push(Thought::Words { text: shown, signature: None });
            }
            thoughts.extend(details.into_iter().map(Thought::Sealed));
            // What stands for thoughts that are not shown.
            let sealed = parts.into_iter().filter(|_| kind == Kind::OpenAiResponses);
            thoughts.extend(
                sealed
                    .filter_map(ContentPart::into_thought_signature)
                    .map(|signature| Thought::Words { text: String::new(), signature: Some(signature) }),
            );
        }
    }
    thoughts.extend(signatures);
    thoughts
}

/// The calls of an answer.
#[derive(Default)]
struct Called {
    calls: Vec<Call>,
    /// Ids of calls whose arguments cannot be read, and why.
    unreadable: Vec<(String, String)>,
    /// What signs them.
    signed: Vec<Thought>,
}

/// Returns the calls with an object as arguments and ids that no other call has.
fn calls_of(calls: Vec<ToolCall>, kind: Kind) -> Result<Called, String> {
    let mut read = Called::default();
    for call in calls {
        if call.fn_name.trim().is_empty() {
            return Err("a call without the name of a tool".into());
        }
        let args = object(call.fn_arguments);
        let taken = read.calls.iter().any(|other| other.id == call.call_id);
        let id = if taken || is_made_up(&call.call_id) { made_up(kind, &call.fn_name) } else { call.call_id };
        // Others sign thoughts, and genai repeats that with the first call.
        let signatures = call.thought_signatures.filter(|_| kind == Kind::Gemini);
        let signature = signatures.and_then(|signatures| signatures.into_iter().next());
        read.signed.extend(signature.map(|signature| Thought::OfCall { call: id.clone(), signature }));
        if let Err(why) = &args {
            read.unreadable.push((id.clone(), format!("{}: {why}", call.fn_name)));
        }
        read.calls.push(Call { id, tool: call.fn_name, args: args.unwrap_or_default() });
    }
    Ok(read)
}

/// Reads arguments; none at all are an empty object. `Err` says to the model what is wrong with them, and where.
fn object(arguments: Value) -> Result<Map<String, Value>, String> {
    const WANTED: &str = "send one JSON object with the arguments by name";
    let read = match arguments {
        Value::String(text) if text.trim().is_empty() => Value::Null,
        // The words of the parser quote nothing.
        Value::String(text) => serde_json::from_str(&text)
            .map_err(|error| format!("its arguments are no JSON ({error} of {} bytes); {WANTED}", text.len()))?,
        other => other,
    };
    match read {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        other => Err(format!("its arguments are {}; {WANTED}", shape(&other))),
    }
}

fn shape(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Tells whether an id is none of the provider's: genai numbers such calls within one answer only.
fn is_made_up(id: &str) -> bool {
    let counted = id.strip_prefix("call_").is_some_and(|n| n.len() <= 2 && n.bytes().all(|b| b.is_ascii_digit()));
    id.is_empty() || id.starts_with("call#") || counted
}

/// Returns an id that no other call of this conversation has. For Gemini it has the shape by which genai
/// knows that the provider never saw it.
fn made_up(kind: Kind, tool: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let number = (now << 16) | (NEXT.fetch_add(1, Ordering::Relaxed) & 0xffff);
    match kind {
        Kind::Gemini => format!("call#{tool}#{number}"),
        Kind::OpenAi
        | Kind::OpenAiResponses
        | Kind::OpenRouter
        | Kind::Mistral
        | Kind::Xai
        | Kind::Ollama
        | Kind::Anthropic => format!("call_{number:x}"),
    }
}
