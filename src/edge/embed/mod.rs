//! Embedders, what settings make of them, and the file that their vectors are kept in.
//!
//! `served` asks one over HTTP, `fault` tells what went wrong with it, `kept` keeps what it made, in rows (`row`).

mod fault;
pub mod folder;
pub mod kept;
mod row;
pub mod served;

use crate::domain::embed::hashing::{DIMENSION, hashed};
use crate::domain::embed::{Batch, Vector};
use crate::domain::port::{EmbedError, Embedder, Locality};
use crate::edge::config::Config;
use crate::edge::embed::served::Served;
use crate::edge::provider::config::{Kind, ProviderConfig};
use crate::edge::provider::http::Clients;
use crate::edge::secret::{Secret, Vault};
use async_trait::async_trait;
use std::sync::Arc;

/// Under this name the vault holds the key of an embedding server; in the environment it is `EMBEDDING_API_KEY`.
pub const KEY: &str = "embedding";

/// What makes vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// This program, without a model.
    #[default]
    Hashing,
    /// Ollama.
    Local,
    /// Any server that speaks OpenAI's protocol.
    OpenAi,
}

impl Backend {
    /// Every backend with the word that settings use for it.
    pub const NAMES: [(&'static str, Backend); 3] =
        [("hashing", Backend::Hashing), ("local", Backend::Local), ("openai", Backend::OpenAi)];

    /// Reads the word that settings use; `trigram` and `ollama` are other words for the first two.
    pub fn parse(word: &str) -> Option<Backend> {
        let word = word.trim().to_ascii_lowercase();
        match word.as_str() {
            "trigram" => Some(Backend::Hashing),
            "ollama" => Some(Backend::Local),
            _ => Backend::NAMES.iter().find(|(name, _)| *name == word).map(|(_, backend)| *backend),
        }
    }

    /// Returns the word that settings use.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Hashing => "hashing",
            Backend::Local => "local",
            Backend::OpenAi => "openai",
        }
    }

    /// Returns the model that is asked when none is set.
    pub fn default_model(self) -> &'static str {
        match self {
            Backend::Hashing => "trigrams",
            Backend::Local => "nomic-embed-text",
            Backend::OpenAi => "text-embedding-3-small",
        }
    }

    /// Returns whether its vectors know meaning, and not only spelling: only those count as evidence unless the user names
    /// the backend.
    pub fn knows_meaning(self) -> bool {
        match self {
            Backend::Hashing => false,
            Backend::Local | Backend::OpenAi => true,
        }
    }
}

/// The embedder as the user set it up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbeddingSetting {
    /// What makes vectors; `None` when nothing was said, which is [`Backend::Hashing`] that is asked for nothing.
    pub backend: Option<Backend>,
    /// The model; the backend's own without.
    pub model: Option<String>,
    /// Where it is; the backend's own address without.
    pub url: Option<String>,
}

/// Vectors of trigrams, made here.
pub struct Hashing;

#[async_trait]
impl Embedder for Hashing {
    fn name(&self) -> &str {
        "hashing trigrams 1"
    }

    fn locality(&self) -> Locality {
        Locality::Builtin
    }

    fn url(&self) -> String {
        String::new()
    }

    fn dimension(&self) -> Option<usize> {
        Some(DIMENSION)
    }

    async fn embed(&self, batch: &Batch) -> Result<Vec<Vector>, EmbedError> {
        let texts = batch.texts().to_vec();
        let vectors = crate::edge::thread::aside(move || texts.iter().map(|text| hashed(text)).collect::<Option<_>>());
        vectors.await.ok_or_else(|| EmbedError::texts("a text holds no letter"))
    }
}

/// Returns the settings of a server; `None` for what is made here.
pub fn server(config: &Config, vault: &Vault) -> Option<ProviderConfig> {
    let setting = &config.embedding;
    let backend = setting.backend.filter(|backend| *backend != Backend::Hashing)?;
    let (kind, local) = match backend {
        // Whoever names this backend declares it to be local, which is believed of this machine's own addresses alone.
        Backend::Local => (Kind::Ollama, true),
        Backend::OpenAi | Backend::Hashing => (Kind::OpenAi, false),
    };
    let ollama = || config.providers.iter().find(|known| known.name == "ollama").and_then(|known| known.url.clone());
    let url = setting.url.clone().or_else(|| ollama().filter(|_| backend == Backend::Local));
    let own = url.is_some();
    let url = url.unwrap_or_else(|| kind.default_url().to_string());
    // The same server may be declared already, as a provider.
    let declared =
        config.providers.iter().any(|known| known.local && known.url.as_deref().is_some_and(|at| same(at, &url)));
    Some(ProviderConfig {
        name: format!("embedding-{}", backend.name()),
        kind,
        key: key(vault, backend, own, &url),
        url,
        model: setting.model.clone().unwrap_or_else(|| backend.default_model().to_string()),
        local: local || declared,
        effort: None,
        pictures: None,
    })
}

/// Returns the key of the server. That of OpenAI goes to OpenAI alone.
fn key(vault: &Vault, backend: Backend, own: bool, url: &str) -> Option<Secret> {
    let theirs = || vault.key("openai", url).filter(|_| backend == Backend::OpenAi && !own);
    vault.key(KEY, url).or_else(theirs)
}

/// Returns whether two addresses are of one server.
fn same(one: &str, other: &str) -> bool {
    let server = |url: &str| {
        let url = reqwest::Url::parse(url.trim()).ok()?;
        Some((url.scheme().to_string(), url.host_str().map(str::to_string), url.port_or_known_default(), unix(&url)))
    };
    server(one).is_some_and(|found| Some(found) == server(other))
}

/// Returns the path of a Unix socket.
fn unix(url: &reqwest::Url) -> Option<String> {
    (url.scheme() == "unix").then(|| url.path().to_string())
}

/// Makes the embedder that the settings name; `None` when nothing was named.
///
/// # Errors
/// In words, when its settings are wrong.
pub fn embedder(config: &Config, clients: &Clients, vault: &Arc<Vault>) -> Result<Option<Arc<dyn Embedder>>, String> {
    match (config.embedding.backend, server(config, vault)) {
        (None, _) => Ok(None),
        (Some(_), None) => Ok(Some(Arc::new(Hashing))),
        (Some(_), Some(server)) => match Served::new(server, clients, vault.clone()) {
            Ok(served) => Ok(Some(Arc::new(served))),
            Err(error) => Err(error.to_string()),
        },
    }
}
