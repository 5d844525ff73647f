//! One provider behind HTTP: its settings become requests of its protocol, and what comes back is read.

use crate::domain::cassette::Exchange;
use crate::domain::label::Privacy;
use crate::domain::port::{
    Charge, Completion, Locality, Message, Profile, Prompt, Provider, ProviderError, ProviderErrorKind, Sink, Streamed,
};
use crate::edge::provider::config::{Address, ConfigError, Kind, ProviderConfig, is_forwarded};
use crate::edge::provider::deck::Deck;
use crate::edge::provider::fault::{Failed, Teller};
use crate::edge::provider::http::{Clients, Limits, Timeouts, get_json};
use crate::edge::provider::pictures::hashed;
use crate::edge::provider::reading::Reading;
use crate::edge::provider::relay::Relay;
use crate::edge::provider::request::{caches_on_wish, request};
use crate::edge::provider::retry::Retries;
use crate::edge::provider::watch::Watch;
use crate::edge::secret::Vault;
use async_trait::async_trait;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ReasoningEffort};
use genai::resolver::{AuthData, Endpoint};
use genai::{Headers, ModelIden, ServiceTarget};
use serde_json::json;
use std::sync::Arc;

/// A provider that is asked over HTTP.
pub struct Served {
    pub(super) config: ProviderConfig,
    address: Address,
    /// Where requests go instead, without a key, when they are only to be shown.
    shown_at: Option<Address>,
    client: genai::Client,
    clients: Clients,
    pub(super) timeouts: Timeouts,
    pub(super) limits: Limits,
    retries: Retries,
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
        let client = client(clients, &address, &config.name)?;
        let (timeouts, retries) = (clients.timeouts(), clients.retries());
        let clients = clients.clone();
        Ok(Served { config, address, shown_at: None, client, clients, timeouts, retries, limits, vault })
    }

    /// Returns a provider whose requests are the same byte for byte, and go to another address, without a key.
    pub(super) fn shown_at(self, clients: &Clients, address: Address) -> Result<Served, ConfigError> {
        let client = client(clients, &address, &self.config.name)?;
        let config = ProviderConfig { key: None, ..self.config };
        Ok(Served { config, client, shown_at: Some(address), ..self })
    }

    /// Returns where a request goes; with a relay there, without a key.
    fn target(&self, relay: Option<&Relay>) -> ServiceTarget {
        let adapter = match self.config.kind {
            Kind::OpenAi | Kind::OpenRouter => AdapterKind::OpenAI,
            Kind::OpenAiResponses => AdapterKind::OpenAIResp,
            Kind::Mistral => AdapterKind::Mistral,
            Kind::Xai => AdapterKind::Xai,
            Kind::Ollama => AdapterKind::Ollama,
            Kind::Anthropic => AdapterKind::Anthropic,
            Kind::Gemini => AdapterKind::Gemini,
        };
        // URL and headers are ours alone: genai would put a key of its own making into a request without one.
        let headers: Vec<(&str, String)> = if relay.is_some() { Vec::new() } else { key_headers(&self.config) };
        let address = relay.map(|relay| &relay.here).or(self.shown_at.as_ref()).unwrap_or(&self.address);
        ServiceTarget {
            endpoint: Endpoint::from_owned(address.base()),
            auth: AuthData::RequestOverride { url: address.chat(&self.config.model), headers: Headers::from(headers) },
            model: ModelIden::new(adapter, name_for_genai(&self.config)),
        }
    }

    /// Returns the options of a request. Who was handed an answer of another model back, without thoughts of its own, is
    /// not told to think: Anthropic refuses that.
    fn options(&self, watch: &Arc<Watch>, prompt: &Prompt) -> ChatOptions {
        let mut options = ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_tool_calls(true)
            .with_capture_reasoning_content(self.keeps_signatures())
            .with_raw_frame_sink_arc(watch.clone());
        let last = prompt.messages.iter().rev().find_map(|message| match message {
            Message::Calls { thinking, .. } => Some(thinking.by == self.own_name()),
            Message::Text { .. } | Message::Result { .. } | Message::Picture(_) => None,
        });
        let may = self.config.kind != Kind::Anthropic || last.unwrap_or(true);
        if let Some(effort) = self.effort().filter(|_| may) {
            options = options.with_reasoning_effort(effort);
        }
        if let Some(most) = self.limits.answer {
            options = options.with_max_tokens(most);
        }
        match self.config.kind {
            // The name as the user set it, in place of the one that genai was given.
            Kind::OpenRouter if caches_on_wish(self.config.kind, &self.config.model) => {
                options.with_extra_body(json!({"model": self.config.model, "cache_control": {"type": "ephemeral"}}))
            }
            Kind::OpenAi | Kind::OpenAiResponses | Kind::OpenRouter | Kind::Mistral | Kind::Xai | Kind::Anthropic => {
                options.with_extra_body(json!({"model": self.config.model}))
            }
            Kind::Ollama | Kind::Gemini => options,
        }
    }

    /// Tells whether genai shall gather thoughts with what signs them. Gemini and OpenAI take that for a wish to be shown
    /// thoughts, which not every model of theirs can fulfil: there it goes with the wish that it thinks.
    fn keeps_signatures(&self) -> bool {
        match self.config.kind {
            Kind::Anthropic => true,
            Kind::Gemini | Kind::OpenAiResponses => {
                self.effort().is_some_and(|effort| !matches!(effort, ReasoningEffort::Zero))
            }
            Kind::OpenAi | Kind::OpenRouter | Kind::Mistral | Kind::Xai | Kind::Ollama => false,
        }
    }

    fn effort(&self) -> Option<ReasoningEffort> {
        self.config.effort.as_deref().and_then(ReasoningEffort::from_keyword)
    }

    /// Returns the name under which this provider knows thoughts of its own.
    pub(super) fn own_name(&self) -> String {
        format!("{} {} {}", self.config.name, self.address.shown(), self.config.model)
    }

    /// Asks once, and records it where that is wished.
    async fn ask(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion, Failed> {
        let Some(deck) = self.clients.deck().filter(|deck| deck.wants(prompt.privacy)) else {
            return self.ask_by(&self.client, None, prompt, sink).await;
        };
        let refused = |why: String| {
            let text = format!("its exchange cannot be recorded: {why}; stop recording, and ask again");
            Failed::from(ProviderError::new(&self.config.name, ProviderErrorKind::Refused, text))
        };
        let relay = Relay::open(&self.config, &self.address, &self.clients, prompt.asking).await.map_err(refused)?;
        let client = client(&self.clients, &relay.here, &self.config.name).map_err(|why| refused(why.to_string()))?;
        let mut taping = Taping { deck, relay: Some(relay), prompt };
        let result = self.ask_by(&client, taping.relay.as_ref(), prompt, sink).await;
        if let Some(relay) = taping.relay.take() {
            let exchange = relay.taped(result.is_ok()).await;
            taping.put(exchange);
        }
        result
    }

    async fn ask_by(
        &self,
        client: &genai::Client,
        relay: Option<&Relay>,
        prompt: &Prompt,
        sink: Sink<'_>,
    ) -> Result<Completion, Failed> {
        let teller = self.teller(prompt.privacy);
        let watch = Arc::new(Watch::new(self.config.kind, self.limits));
        let opened = client
            .exec_chat_stream(
                self.target(relay),
                request(prompt, self.config.kind, &self.own_name()),
                Some(&self.options(&watch, prompt)),
            )
            .await
            .map_err(|error| teller.genai(&error, false))?;
        let mut reading = Reading::begin(self, teller, watch);
        let end = reading.read(opened.stream, sink).await?;
        reading.finish(end)
    }

    /// Asks an Ollama whether it hands the model on to another machine: one may be called anything, and be copied to another
    /// name at any time. Other servers run what they serve.
    async fn stays_here(&self, privacy: Privacy) -> Result<(), ProviderError> {
        let Some(url) = self.address.model() else { return Ok(()) };
        let teller = self.teller(privacy);
        let client = self
            .clients
            .to(&self.address, &self.config.name)
            .map_err(|why| ProviderError::new(&self.config.name, ProviderErrorKind::Refused, why.to_string()))?;
        let request = client.post(url).json(&json!({ "model": self.config.model }));
        let about = get_json(request, self.timeouts).await.map_err(|fault| teller.small(&fault))?;
        let said = ["remote_host", "remote_model"].iter().filter_map(|name| about.get(name)?.as_str());
        match said.into_iter().find(|text| !text.is_empty()) {
            None => Ok(()),
            Some(_) => {
                let text = format!(
                    "private notes are never sent to {}: this server hands it on to another machine; choose a model that it \
                     runs itself",
                    self.config.model
                );
                Err(ProviderError::new(&self.config.name, ProviderErrorKind::Refused, text))
            }
        }
    }

    fn teller(&self, privacy: Privacy) -> Teller<'_> {
        Teller { config: &self.config, address: &self.address, vault: &self.vault, privacy }
    }
}

/// An exchange that is being recorded. Where nobody waits for it any more, what came until then is written down.
struct Taping<'a> {
    deck: &'a Deck,
    relay: Option<Relay>,
    prompt: &'a Prompt,
}

impl Taping<'_> {
    /// Has an exchange written down, without the bytes of pictures.
    fn put(&self, exchange: Exchange) {
        let request = hashed(exchange.request, self.prompt);
        self.deck.put(Exchange { request, ..exchange });
    }
}

impl Drop for Taping<'_> {
    fn drop(&mut self) {
        if let Some(exchange) = self.relay.take().and_then(Relay::stopped) {
            self.put(exchange);
        }
    }
}

fn client(clients: &Clients, address: &Address, name: &str) -> Result<genai::Client, ConfigError> {
    genai::Client::builder()
        .with_reqwest(clients.to(address, name)?)
        .build()
        .map_err(|error| ConfigError::Client { name: name.to_string(), why: error.to_string() })
}

/// Returns the model's name such that genai does not take its last word for a wish about thinking:
/// it would cut “-high” and the like off, and ask for what nobody set. URL and body get the name as it is.
fn name_for_genai(config: &ProviderConfig) -> String {
    const EFFORTS: &[&str] = &["none", "zero", "minimal", "low", "medium", "high", "xhigh", "max"];
    let model = &config.model;
    let wish = model.rsplit_once('-').is_some_and(|(_, last)| EFFORTS.contains(&last));
    match config.kind {
        Kind::Ollama => model.clone(),
        _ if wish => format!("{model}-"),
        _ => model.clone(),
    }
}

/// Returns the headers that carry the key: the only place that sees it.
pub(super) fn key_headers(config: &ProviderConfig) -> Vec<(&'static str, String)> {
    let key = config.key.as_ref().filter(|key| !key.is_empty());
    let mut headers = Vec::new();
    match config.kind {
        Kind::OpenAi | Kind::OpenAiResponses | Kind::OpenRouter | Kind::Mistral | Kind::Xai | Kind::Ollama => {
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

impl Profile for Served {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn model(&self) -> &str {
        &self.config.model
    }

    fn locality(&self) -> Locality {
        self.config.locality()
    }

    fn takes_pictures(&self) -> Option<bool> {
        self.config.pictures
    }

    fn most_tokens(&self) -> Option<u64> {
        self.limits.answer.map(u64::from)
    }

    fn url(&self) -> String {
        // A server here that hands a model on to a cloud is confirmed for that model, whatever else it was confirmed for.
        match is_forwarded(&self.config.model) {
            true => format!("{}#{}", self.address.shown(), self.config.model),
            false => self.address.shown(),
        }
    }
}

#[async_trait]
impl Provider for Served {
    async fn complete(&self, prompt: &Prompt, sink: Sink<'_>) -> Result<Completion, ProviderError> {
        // The cascade has looked already; this is the last door before the network.
        match (prompt.privacy, self.locality()) {
            (Privacy::Open | Privacy::Warn | Privacy::Ask, Locality::Builtin | Locality::Local | Locality::Remote)
            | (Privacy::Private, Locality::Builtin | Locality::Local) => {}
            (Privacy::Private, Locality::Remote) => {
                let text = format!("private notes are never sent to {}; ask a local provider", self.address.host());
                return Err(ProviderError::new(&self.config.name, ProviderErrorKind::Refused, text));
            }
        }
        if prompt.pictures().next().is_some() && self.takes_pictures() != Some(true) {
            let text = format!("pictures are never sent to {}: nobody says that it takes them", self.config.model);
            return Err(ProviderError::new(&self.config.name, ProviderErrorKind::Refused, text));
        }
        if prompt.privacy.is_kept() && self.locality() == Locality::Local {
            self.stays_here(prompt.privacy).await?;
        }
        let (mut attempt, mut charge) = (1, Charge::Nothing);
        loop {
            let mut streamed = false;
            let mut told = |piece: Streamed<'_>| {
                streamed |= !piece.is_empty();
                sink(piece);
            };
            let mut failed = match self.ask(prompt, &mut told).await {
                Ok(completion) => return Ok(Completion { attempts: attempt, ..completion }),
                Err(failed) => failed,
            };
            charge = charge.max(failed.error.charge);
            failed.error.charge = charge;
            // What was shown is not said twice.
            let again = failed.again.filter(|_| !streamed);
            match again.and_then(|again| self.retries.wait(&again, attempt)) {
                Some(wait) => self.retries.pause(wait).await,
                None if attempt == 1 => return Err(failed.error),
                None => {
                    let text = format!("{} (asked {attempt} times)", failed.error.text);
                    return Err(ProviderError { text, attempts: attempt, ..failed.error });
                }
            }
            attempt += 1;
        }
    }
}
