//! Embedders behind HTTP: Ollama's own protocol, new and old, and the one of OpenAI that many servers speak.
//!
//! They share the clients, time-outs and rules of the model providers: no redirects, no compression, bounded answers.

use crate::domain::embed::{Batch, Vector};
use crate::domain::port::{EmbedError, EmbedErrorKind, Embedder, Locality};
use crate::edge::embed::fault::Teller;
use crate::edge::provider::config::{ConfigError, Kind, ProviderConfig};
use crate::edge::provider::http::{Clients, Timeouts};
use crate::edge::secret::Vault;
use async_trait::async_trait;
use reqwest::Url;
use serde::Deserialize;
use serde_json::{Value, json};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// The largest answer that is read, in bytes: far more than the vectors of one batch take.
const MOST_BYTES: usize = 16 << 20;
/// So much of a refusal is read.
const MOST_WORDS: usize = 64 << 10;

/// An embedder that is asked over HTTP.
pub struct Served {
    config: ProviderConfig,
    name: String,
    base: Url,
    shown: String,
    host: String,
    client: reqwest::Client,
    timeouts: Timeouts,
    vault: Arc<Vault>,
    /// The server knows Ollama's old protocol only.
    old: AtomicBool,
    /// 0 until it is known.
    dimension: AtomicUsize,
}

/// Why there is no answer.
pub(super) enum Fault {
    /// The connection.
    Web(reqwest::Error),
    /// Nothing in time.
    Silent,
    /// Something, and not all of it in this time.
    Slow(Duration),
    /// A status other than success, with the beginning of what came with it, and after how many seconds to come again.
    Status(u16, String, Option<u64>),
    /// What came is no answer.
    Garbled(String),
}

/// What Ollama answers.
#[derive(Deserialize)]
struct Ollama {
    embeddings: Vec<Vec<f32>>,
}

/// What Ollama answered once.
#[derive(Deserialize)]
struct OldOllama {
    embedding: Vec<f32>,
}

/// What OpenAI answers.
#[derive(Deserialize)]
struct OpenAi {
    data: Vec<OpenAiOne>,
}

#[derive(Deserialize)]
struct OpenAiOne {
    index: usize,
    embedding: Vec<f32>,
}

impl Served {
    /// Makes one of settings: [`Kind::Ollama`] speaks Ollama's protocol, any other kind OpenAI's.
    ///
    /// # Errors
    /// When the address is none, or holds a key, or no model is set.
    pub fn new(config: ProviderConfig, clients: &Clients, vault: Arc<Vault>) -> Result<Served, ConfigError> {
        if config.model.trim().is_empty() {
            return Err(ConfigError::Model { name: config.name });
        }
        let wrong = || ConfigError::Url { name: config.name.clone(), example: config.kind.default_url() };
        let address = config.address()?;
        let mut base = Url::parse(address.base()).map_err(|_| wrong())?;
        // Whoever gives the whole address of the request means the same.
        let path = base.path().trim_end_matches('/');
        let path = ["/api/embed", "/api/embeddings", "/embeddings"]
            .iter()
            .find_map(|end| path.strip_suffix(end))
            .unwrap_or(path);
        let path = format!("{path}/");
        base.set_path(&path);
        Ok(Served {
            name: format!("{} {}", config.name, config.model),
            client: clients.to(&address, &config.name)?,
            shown: address.shown(),
            host: address.host(),
            timeouts: clients.timeouts(),
            base,
            vault,
            old: AtomicBool::new(false),
            dimension: AtomicUsize::new(0),
            config,
        })
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", url.path()));
        url
    }

    async fn ask<T: for<'a> Deserialize<'a>>(&self, path: &str, body: &Value) -> Result<T, Fault> {
        let mut request = self.client.post(self.url(path)).json(body);
        if let Some(key) = self.config.key.as_ref().filter(|key| !key.is_empty()) {
            request = request.bearer_auth(key.expose());
        }
        let read = async {
            let mut response = within(self.timeouts.first, request.send()).await?;
            let status = response.status();
            let most = if status.is_success() { MOST_BYTES } else { MOST_WORDS };
            let after =
                response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
            let mut body = Vec::new();
            while let Some(chunk) = within(self.timeouts.stall, response.chunk()).await? {
                body.extend_from_slice(&chunk);
                if body.len() > most {
                    if status.is_success() {
                        return Err(Fault::Garbled("it is over 16 MiB".to_string()));
                    }
                    break;
                }
            }
            if !status.is_success() {
                return Err(Fault::Status(status.as_u16(), String::from_utf8_lossy(&body).into_owned(), after));
            }
            serde_json::from_slice(&body).map_err(|_| Fault::Garbled("it is no list of vectors".to_string()))
        };
        tokio::time::timeout(self.timeouts.whole, read).await.unwrap_or(Err(Fault::Slow(self.timeouts.whole)))
    }

    async fn numbers(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Fault> {
        let model = &self.config.model;
        if self.config.kind != Kind::Ollama {
            let body = json!({ "model": model, "input": texts, "encoding_format": "float" });
            let mut answer: OpenAi = self.ask("embeddings", &body).await?;
            answer.data.sort_by_key(|one| one.index);
            let in_order = answer.data.iter().enumerate().all(|(at, one)| at == one.index);
            let numbers = answer.data.into_iter().map(|one| one.embedding).collect();
            return if in_order {
                Ok(numbers)
            } else {
                Err(Fault::Garbled("its vectors are not numbered through".into()))
            };
        }
        if !self.old.load(Ordering::Relaxed) {
            let answer = self.ask::<Ollama>("api/embed", &json!({ "model": model, "input": texts })).await;
            match answer {
                // Either it does not know this protocol yet, or not the model: the old one tells.
                Err(Fault::Status(404, words, after)) => match self.one_by_one(texts).await {
                    Err(Fault::Status(404, ..)) => return Err(Fault::Status(404, words, after)),
                    numbers => {
                        self.old.store(numbers.is_ok(), Ordering::Relaxed);
                        return numbers;
                    }
                },
                answer => return answer.map(|answer| answer.embeddings),
            }
        }
        self.one_by_one(texts).await
    }

    /// Asks as Ollama was asked once: for one text at a time.
    async fn one_by_one(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Fault> {
        let mut numbers = Vec::with_capacity(texts.len());
        for text in texts {
            let body = json!({ "model": self.config.model, "prompt": text });
            numbers.push(self.ask::<OldOllama>("api/embeddings", &body).await?.embedding);
        }
        Ok(numbers)
    }
}

/// Waits for a sign of life.
async fn within<T>(
    patience: std::time::Duration,
    coming: impl Future<Output = Result<T, reqwest::Error>>,
) -> Result<T, Fault> {
    match tokio::time::timeout(patience, coming).await {
        Ok(came) => came.map_err(Fault::Web),
        Err(_) => Err(Fault::Silent),
    }
}

/// Returns numbers as vectors: as many as there were texts, and all of one dimension.
fn checked(numbers: Vec<Vec<f32>>, texts: usize) -> Result<Vec<Vector>, String> {
    if numbers.len() != texts {
        return Err(format!("it gives {} vectors for {texts} texts", numbers.len()));
    }
    let dimension = numbers.first().map_or(0, Vec::len);
    if let Some(other) = numbers.iter().find(|other| other.len() != dimension) {
        return Err(format!("it mixes vectors of {dimension} and {} numbers", other.len()));
    }
    numbers.into_iter().map(|one| Vector::new(one).map_err(|wrong| wrong.to_string())).collect()
}

#[async_trait]
impl Embedder for Served {
    fn name(&self) -> &str {
        &self.name
    }

    fn locality(&self) -> Locality {
        self.config.locality()
    }

    fn url(&self) -> String {
        self.shown.clone()
    }

    fn dimension(&self) -> Option<usize> {
        Some(self.dimension.load(Ordering::Relaxed)).filter(|dimension| *dimension > 0)
    }

    async fn embed(&self, batch: &Batch) -> Result<Vec<Vector>, EmbedError> {
        let teller = Teller {
            config: &self.config,
            host: &self.host,
            here: self.config.address().is_ok_and(|address| address.is_loopback()),
            vault: &self.vault,
            privacy: batch.privacy(),
        };
        // Whoever made the batch has looked already; this is the last door before the network.
        if !batch.is_for(self.locality()) {
            let text = "notes that stay on this machine are never sent elsewhere; use a local embedder";
            return Err(teller.error(EmbedErrorKind::Refused, text));
        }
        let numbers = self.numbers(batch.texts()).await.map_err(|fault| teller.told(&fault))?;
        let vectors = checked(numbers, batch.texts().len()).map_err(|what| teller.told(&Fault::Garbled(what)))?;
        self.dimension.store(vectors.first().map_or(0, Vector::dimension), Ordering::Relaxed);
        Ok(vectors)
    }
}
