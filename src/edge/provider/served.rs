//! One provider behind HTTP: sends a prompt, streams the text, gathers the calls, and bounds all of it.

use crate::domain::label::{Labels, Privacy};
use crate::domain::port::{
    Call, Completion, Locality, Prompt, Provider, ProviderError, ProviderErrorKind, Sink, Usage,
};
use crate::edge::provider::config::{Address, ConfigError, Kind, ProviderConfig};
use crate::edge::provider::fault::Teller;
use crate::edge::provider::http::{Clients, Limits, Timeouts};
use crate::edge::provider::request::request;
use crate::edge::provider::watch::{Stopped, Watch};
use crate::edge::secret::Vault;
use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt};
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatStream, ChatStreamEvent, StopReason, StreamEnd, ToolCall};
use genai::resolver::{AuthData, Endpoint};
use genai::{Headers, ModelIden, ServiceTarget};
use serde_json::{Map, Value, json};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// A provider that is asked over HTTP.
pub struct Served {
    config: ProviderConfig,
    address: Address,
    client: genai::Client,
    timeouts: Timeouts,
    limits: Limits,
    vault: Arc<Vault>,
}

impl Served {
    /// Checks the settings of a provider and makes it. The vault's values are masked in all that it says.
    pub fn new(
        config: ProviderConfig,
        clients: &Clients,
        limits: Limits,
        vault: Arc<Vault>,
    ) -> Result<Served, ConfigError> {
        let address = config.address()?;
        if config.model.trim().is_empty() {
            return Err(ConfigError::Model { name: config.name });
        }
        let in_header = |key: &str| reqwest::header::HeaderValue::from_str(key).is_ok();
        if config.key.as_ref().is_some_and(|key| !in_header(key.expose())) {
            return Err(ConfigError::Key { name: config.name });
        }
        let http = clients.to(&address, &config.name)?;
        let client = genai::Client::builder()
            .with_reqwest(http)
            .build()
            .map_err(|error| ConfigError::Client { name: config.name.clone(), why: error.to_string() })?;
        Ok(Served { config, address, client, timeouts: clients.timeouts(), limits, vault })
    }

    fn target(&self) -> ServiceTarget {
        let adapter = match self.config.kind {
            Kind::OpenAi | Kind::OpenRouter => AdapterKind::OpenAI,
            Kind::Ollama => AdapterKind::Ollama,
            Kind::Anthropic => AdapterKind::Anthropic,
            Kind::Gemini => AdapterKind::Gemini,
        };
        // URL and headers are ours alone: genai would put a key of its own making into a request without one.
        let headers: Vec<(&str, String)> = key_headers(&self.config);
        ServiceTarget {
            endpoint: Endpoint::from_owned(self.address.base()),
            auth: AuthData::RequestOverride {
                url: self.address.chat(&self.config.model),
                headers: Headers::from(headers),
            },
            model: ModelIden::new(adapter, name_for_genai(&self.config)),
        }
    }

    fn options(&self, watch: &Arc<Watch>) -> ChatOptions {
        let options = ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_tool_calls(true)
            .with_raw_frame_sink_arc(watch.clone());
        match self.config.kind {
            // The name as the user set it, in place of the one that genai was given.
            Kind::OpenAi | Kind::OpenRouter | Kind::Anthropic => {
                options.with_extra_body(json!({"model": self.config.model}))
            }
            Kind::Ollama | Kind::Gemini => options,
        }
    }

    fn teller(&self, privacy: Privacy) -> Teller<'_> {
        Teller { config: &self.config, address: &self.address, vault: &self.vault, privacy }
    }
}

/// Returns the model's name such that genai does not take its last word for a wish about thinking:
/// it would cut “-high” and the like off, and ask for what nobody set. URL and body get the name as it is.
fn name_for_genai(config: &ProviderConfig) -> String {
    const EFFORTS: &[&str] = &["none", "zero", "minimal", "low", "medium", "high", "xhigh", "max"];
    let model = &config.model;
    let wish = model.rsplit_once('-').is_some_and(|(_, last)| EFFORTS.contains(&last));
    match config.kind {
        Kind::OpenAi | Kind::OpenRouter | Kind::Anthropic | Kind::Gemini if wish => format!("{model}-"),
        Kind::OpenAi | Kind::OpenRouter | Kind::Anthropic | Kind::Gemini | Kind::Ollama => model.clone(),
    }
}

/// Returns the headers that carry the key: the only place that sees it.
pub(super) fn key_headers(config: &ProviderConfig) -> Vec<(&'static str, String)> {
    let key = config.key.as_ref().filter(|key| !key.is_empty());
    let mut headers = Vec::new();
    match config.kind {
        Kind::OpenAi | Kind::OpenRouter | Kind::Ollama => {
            headers.extend(key.map(|key| ("authorization", format!("Bearer {}", key.expose()))));
        }
        Kind::Anthropic => {
            headers.extend(key.map(|key| ("x-api-key", key.expose().to_string())));
            headers.push(("anthropic-version", "2023-06-01".to_string()));
        }
        Kind::Gemini => headers.extend(key.map(|key| ("x-goog-api-key", key.expose().to_string()))),
    }
    headers
}

#[async_trait]
impl Provider for Served {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn locality(&self) -> Locality {
        self.config.locality()
    }

    fn url(&self) -> String {
        self.address.shown()
    }

    async fn complete(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion, ProviderError> {
        let teller = self.teller(prompt.privacy);
        // The cascade has looked already; this is the last door before the network.
        match (prompt.privacy, self.locality()) {
            (Privacy::Open | Privacy::Warn | Privacy::Ask, Locality::Builtin | Locality::Local | Locality::Remote)
            | (Privacy::Private, Locality::Builtin | Locality::Local) => {}
            (Privacy::Private, Locality::Remote) => {
                let text = format!("private notes are never sent to {}; ask a local provider", teller.host());
                return Err(teller.error(ProviderErrorKind::Refused, text));
            }
        }
        let watch = Arc::new(Watch::new(self.config.kind, self.limits.calls));
        let opened = self
            .client
            .exec_chat_stream(self.target(), request(prompt, self.config.kind), Some(&self.options(&watch)))
            .await
            .map_err(|error| teller.genai(&error, false))?;
        let mut reading = Reading { served: self, teller, watch, started: Instant::now(), answer: Answer::default() };
        let end = reading.read(opened.stream, sink).await?;
        reading.finish(end)
    }
}

/// One answer as it comes in.
struct Reading<'a> {
    served: &'a Served,
    teller: Teller<'a>,
    watch: Arc<Watch>,
    started: Instant,
    answer: Answer,
}

#[derive(Default)]
struct Answer {
    text: String,
    thoughts: usize,
    calls: Vec<ToolCall>,
}

impl Reading<'_> {
    /// Reads to the end of the stream; returns genai's last event if there was one.
    async fn read(&mut self, mut stream: ChatStream, sink: Sink<'_>) -> Result<Option<StreamEnd>, ProviderError> {
        loop {
            let event = match self.step(&mut stream).await? {
                None => return Ok(None),
                Some(Ok(event)) => event,
                // Some servers hang up right behind the last piece.
                Some(Err(_)) if self.watch.seen().finished => return Ok(None),
                Some(Err(error)) => return Err(self.fault(&error)),
            };
            match event {
                ChatStreamEvent::Start | ChatStreamEvent::Heartbeat | ChatStreamEvent::ThoughtSignatureChunk(_) => {}
                ChatStreamEvent::Chunk(chunk) => self.text(&chunk.content, sink)?,
                ChatStreamEvent::ReasoningChunk(chunk) => {
                    self.answer.thoughts += chunk.content.len();
                    if self.answer.thoughts > self.served.limits.text {
                        return Err(self.teller.too_large("its thoughts ran beyond the limit"));
                    }
                }
                ChatStreamEvent::ToolCallChunk(chunk) => self.call(chunk.tool_call)?,
                ChatStreamEvent::End(end) => return Ok(Some(end)),
            }
        }
    }

    /// Waits for the next event, as long as the server gives signs of life.
    async fn step(&self, stream: &mut ChatStream) -> Result<Option<genai::Result<ChatStreamEvent>>, ProviderError> {
        let timeouts = self.served.timeouts;
        let whole = self.started + timeouts.whole;
        let mut next = std::pin::pin!(AssertUnwindSafe(stream.next()).catch_unwind());
        loop {
            let alive = self.watch.seen().alive;
            let (deadline, patience) = match alive {
                None => (self.started + timeouts.first, timeouts.first),
                Some(alive) => (alive + timeouts.stall, timeouts.stall),
            };
            match tokio::time::timeout_at(deadline.min(whole), &mut next).await {
                Ok(Ok(event)) => return Ok(event),
                Ok(Err(_)) => return Err(self.stopped()),
                Err(_) if Instant::now() >= whole => return Err(self.silence(timeouts.whole)),
                Err(_) if self.watch.seen().alive != alive => {}
                Err(_) => return Err(self.silence(patience)),
            }
        }
    }

    fn text(&mut self, text: &str, sink: &mut (dyn FnMut(&str) + Send)) -> Result<(), ProviderError> {
        if self.answer.text.len() + text.len() > self.served.limits.text {
            let most = self.served.limits.text / 1024;
            return Err(self.teller.too_large(&format!("its answer is over the limit of {most} kB")));
        }
        self.answer.text.push_str(text);
        sink(text);
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

    fn silence(&self, patience: Duration) -> ProviderError {
        let mut error = self.teller.silent(Some(patience));
        let kept = self.answer.text.chars().count();
        if kept > 0 {
            error.text.push_str(&format!("; the {kept} characters before that are kept"));
        }
        error
    }

    fn fault(&self, error: &genai::Error) -> ProviderError {
        let told = self.teller.genai(error, self.watch.seen().begun);
        if told.kind == ProviderErrorKind::Cut { self.cut() } else { told }
    }

    fn cut(&self) -> ProviderError {
        self.teller.cut(Some(self.answer.text.chars().count()))
    }

    /// Makes the completion, if the answer came to its end.
    fn finish(self, end: Option<StreamEnd>) -> Result<Completion, ProviderError> {
        let seen = self.watch.seen();
        if let Some(error) = &seen.error {
            return Err(self.teller.said(None, error, None));
        }
        if !seen.begun {
            return Err(self.teller.garbled("it is no stream of this protocol"));
        }
        if !seen.finished {
            return Err(self.cut());
        }
        let mut end = end.unwrap_or_default();
        let usage = end.captured_usage.take().and_then(|usage| {
            let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
            let (input, output) = (count(usage.prompt_tokens), count(usage.completion_tokens));
            (input.is_some() || output.is_some())
                .then(|| Usage { input: input.unwrap_or(0), output: output.unwrap_or(0) })
        });
        let reason = end.captured_stop_reason.take();
        let gathered = end.captured_into_tool_calls().unwrap_or_default();
        let calls = if gathered.is_empty() { self.answer.calls } else { gathered };
        if calls.len() > self.served.limits.calls {
            let most = self.served.limits.calls;
            return Err(self.teller.too_large(&format!("it wants more than {most} calls at once")));
        }
        if calls.is_empty() && self.answer.text.trim().is_empty() {
            let why = match reason {
                Some(StopReason::ContentFilter(_)) => "nothing but a refusal by its content filter",
                Some(StopReason::MaxTokens(_)) => "nothing, since its limit of tokens was used up before the answer",
                _ => "an empty answer",
            };
            return Err(self.teller.garbled(why));
        }
        let calls = calls_of(calls, self.served.config.kind).map_err(|what| self.teller.garbled(&what))?;
        Ok(Completion {
            provider: self.served.config.name.clone(),
            model: self.served.config.model.clone(),
            text: self.answer.text,
            calls,
            labels: Labels::MODEL,
            usage,
            sources: Vec::new(),
        })
    }
}

/// Returns the calls with an object as arguments and ids that no other call has.
fn calls_of(calls: Vec<ToolCall>, kind: Kind) -> Result<Vec<Call>, String> {
    let mut read: Vec<Call> = Vec::with_capacity(calls.len());
    for call in calls {
        if call.fn_name.trim().is_empty() {
            return Err("a call without the name of a tool".into());
        }
        let args = object(call.fn_arguments)
            .ok_or_else(|| format!("the arguments of its call to {} are no JSON object", call.fn_name))?;
        let taken = read.iter().any(|other| other.id == call.call_id);
        let id = if taken || is_made_up(&call.call_id) { made_up(kind, &call.fn_name) } else { call.call_id };
        read.push(Call { id, tool: call.fn_name, args });
    }
    Ok(read)
}

/// Reads arguments; none at all are an empty object.
fn object(arguments: Value) -> Option<Map<String, Value>> {
    match arguments {
        Value::Object(map) => Some(map),
        Value::Null => Some(Map::new()),
        Value::String(text) if text.trim().is_empty() => Some(Map::new()),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(map)) => Some(map),
            Ok(_) | Err(_) => None,
        },
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
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
        Kind::OpenAi | Kind::OpenRouter | Kind::Ollama | Kind::Anthropic => format!("call_{number:x}"),
    }
}
