//! What one provider is: its protocol, address, model and key, and whether it is local.

use crate::domain::port::Locality;
use crate::edge::secret::Secret;
use reqwest::Url;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

/// The protocol that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Chat completions as OpenAI has them, at any address.
    OpenAi,
    /// OpenAI's newer responses.
    OpenAiResponses,
    /// Mistral: OpenAI's chat completions with thoughts of another shape.
    Mistral,
    /// xAI: OpenAI's chat completions that count thoughts otherwise.
    Xai,
    /// Ollama's own.
    Ollama,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// OpenRouter: OpenAI's with its own address.
    OpenRouter,
}

impl Kind {
    /// Every kind with the word that settings use for it.
    pub const NAMES: &[(&str, Kind)] = &[
        ("openai", Kind::OpenAi),
        ("openai-responses", Kind::OpenAiResponses),
        ("mistral", Kind::Mistral),
        ("xai", Kind::Xai),
        ("ollama", Kind::Ollama),
        ("anthropic", Kind::Anthropic),
        ("gemini", Kind::Gemini),
        ("openrouter", Kind::OpenRouter),
    ];

    /// Reads the word that settings use; `openai-compatible` is `openai`.
    pub fn parse(word: &str) -> Option<Kind> {
        let word = word.strip_suffix("-compatible").unwrap_or(word);
        Kind::NAMES.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind)
    }

    /// Returns the address that this kind has when none is set.
    pub fn default_url(self) -> &'static str {
        match self {
            Kind::OpenAi | Kind::OpenAiResponses => "https://api.openai.com/v1/",
            Kind::Mistral => "https://api.mistral.ai/v1/",
            Kind::Xai => "https://api.x.ai/v1/",
            Kind::Ollama => "http://127.0.0.1:11434/",
            Kind::Anthropic => "https://api.anthropic.com/v1/",
            Kind::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
            Kind::OpenRouter => "https://openrouter.ai/api/v1/",
        }
    }

    /// Returns the path that an address without one gets.
    fn default_path(self) -> &'static str {
        match self {
            Kind::OpenAi | Kind::OpenAiResponses | Kind::Mistral | Kind::Xai | Kind::Anthropic => "/v1/",
            Kind::Ollama => "/",
            Kind::Gemini => "/v1beta/",
            Kind::OpenRouter => "/api/v1/",
        }
    }

    /// Returns the fewest tokens that an answer may be limited to.
    pub(crate) fn least_answer(self) -> u32 {
        match self {
            // OpenAI's responses refuse less, and OpenRouter may hand a request on to them.
            Kind::OpenAiResponses | Kind::OpenRouter => 16,
            Kind::OpenAi | Kind::Mistral | Kind::Xai | Kind::Ollama | Kind::Anthropic | Kind::Gemini => 1,
        }
    }

    /// Returns the path of a streamed chat below the address.
    fn chat_path(self) -> &'static str {
        match self {
            Kind::OpenAi | Kind::OpenRouter | Kind::Mistral | Kind::Xai => "chat/completions",
            Kind::OpenAiResponses => "responses",
            Kind::Ollama => "api/chat",
            Kind::Anthropic => "messages",
            Kind::Gemini => "models",
        }
    }

    /// Returns the path of the list of models below the address.
    fn models_path(self) -> &'static str {
        match self {
            Kind::Ollama => "api/tags",
            Kind::OpenAi
            | Kind::OpenAiResponses
            | Kind::OpenRouter
            | Kind::Mistral
            | Kind::Xai
            | Kind::Anthropic
            | Kind::Gemini => "models",
        }
    }
}

/// One provider as the user set it up.
#[derive(Clone)]
pub struct ProviderConfig {
    /// Its name, as the cascade spells it.
    pub name: String,
    /// The protocol it speaks.
    pub kind: Kind,
    /// Its address: `http(s)://…`, or `unix:///path/of/socket`.
    pub url: String,
    /// The model to ask.
    pub model: String,
    /// The key, if it wants one.
    pub key: Option<Secret>,
    /// Whether the user declared it to be local. It is believed only of this machine's own addresses.
    pub local: bool,
    /// How hard it thinks, one of [`EFFORTS`]; as its provider has it without. With one, its thoughts are asked for.
    pub effort: Option<String>,
    /// Whether its model takes pictures, as its maker or the user says; `None` where nobody does.
    pub pictures: Option<bool>,
}

/// How hard a model may be told to think.
pub const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "max"];

impl fmt::Debug for ProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderConfig")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("url", &Address::parse(&self.url, self.kind).map_or_else(|_| "?".into(), |address| address.shown()))
            .field("model", &self.model)
            .field("key", &self.key.is_some())
            .field("local", &self.local)
            .finish()
    }
}

/// What is wrong with a provider's settings, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The address is none.
    #[error("{name}: its URL is no http, https or unix address; set one such as {example}")]
    Url {
        /// The provider.
        name: String,
        /// An address that would do.
        example: &'static str,
    },
    /// The address holds a key.
    #[error(
        "{name}: its URL holds a user name, password or key; take it out and put the key in auth-source under the URL's host"
    )]
    KeyInUrl {
        /// The provider.
        name: String,
    },
    /// There is no model.
    #[error("{name}: no model is set; name one (the doctor lists what the provider has)")]
    Model {
        /// The provider.
        name: String,
    },
    /// The key cannot stand in a header.
    #[error("{name}: its key holds characters that no header can; enter it again in auth-source")]
    Key {
        /// The provider.
        name: String,
    },
    /// The program cannot make a connection of this kind.
    #[error("{name}: no HTTP client can be made: {why}")]
    Client {
        /// The provider.
        name: String,
        /// Why.
        why: String,
    },
}

impl ProviderConfig {
    /// Returns where it runs: local only when the user declared it so, its address can only be this machine's,
    /// and its server does not forward the model to a cloud.
    pub fn locality(&self) -> Locality {
        let here = Address::parse(&self.url, self.kind).is_ok_and(|address| address.is_loopback());
        if self.local && here && !is_forwarded(&self.model) { Locality::Local } else { Locality::Remote }
    }

    /// Returns the checked address.
    pub(crate) fn address(&self) -> Result<Address, ConfigError> {
        Address::parse(&self.url, self.kind).map_err(|fault| match fault {
            AddressFault::Unreadable => ConfigError::Url { name: self.name.clone(), example: self.kind.default_url() },
            AddressFault::Key => ConfigError::KeyInUrl { name: self.name.clone() },
        })
    }
}

/// Tells whether a local server forwards this model to a cloud. Ollama marks such models in their names.
pub(crate) fn is_forwarded(model: &str) -> bool {
    let model = model.trim().to_ascii_lowercase();
    model == "cloud" || model.ends_with("-cloud") || model.ends_with(":cloud")
}

/// A provider's address, checked: it holds no key.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// The base of all requests; its path ends with a slash.
    base: Url,
    kind: Kind,
    /// The Unix socket that takes the host's place.
    pub(crate) socket: Option<PathBuf>,
}

enum AddressFault {
    Unreadable,
    Key,
}

impl Address {
    fn parse(text: &str, kind: Kind) -> Result<Address, AddressFault> {
        let text = text.trim();
        if let Some(path) = text.strip_prefix("unix://") {
            if !path.starts_with('/') {
                return Err(AddressFault::Unreadable);
            }
            let base = format!("http://localhost{}", kind.default_path());
            let base = Url::parse(&base).map_err(|_| AddressFault::Unreadable)?;
            return Ok(Address { base, kind, socket: Some(PathBuf::from(path)) });
        }
        let mut base = Url::parse(text).map_err(|_| AddressFault::Unreadable)?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(AddressFault::Unreadable);
        }
        let sounds_secret = |name: &str| ["key", "token", "secret", "password"].iter().any(|word| name.contains(word));
        let key_in_query = base.query_pairs().any(|(name, _)| sounds_secret(&name.to_ascii_lowercase()));
        if !base.username().is_empty() || base.password().is_some() || key_in_query {
            return Err(AddressFault::Key);
        }
        base.set_fragment(None);
        let path = match base.path().trim_end_matches('/') {
            "" => kind.default_path().to_string(),
            path => {
                let end = format!("/{}", kind.chat_path());
                format!("{}/", path.strip_suffix(end.as_str()).unwrap_or(path))
            }
        };
        base.set_path(&path);
        Ok(Address { base, kind, socket: None })
    }

    /// Returns the base address without its query.
    pub(crate) fn base(&self) -> &str {
        self.base.as_str()
    }

    /// Returns the address of a streamed chat with a model.
    pub(crate) fn chat(&self, model: &str) -> String {
        let mut url = self.below(self.kind.chat_path());
        if self.kind == Kind::Gemini {
            if let Ok(mut parts) = url.path_segments_mut() {
                parts.push(&format!("{}:streamGenerateContent", model.strip_prefix("models/").unwrap_or(model)));
            }
            url.query_pairs_mut().append_pair("alt", "sse");
        }
        url.into()
    }

    /// Returns the address of the list of models.
    pub(crate) fn models(&self) -> String {
        let mut url = self.below(self.kind.models_path());
        // Where lists come in pages, one page has them all.
        match self.kind {
            Kind::Anthropic => drop(url.query_pairs_mut().append_pair("limit", "1000")),
            Kind::Gemini => drop(url.query_pairs_mut().append_pair("pageSize", "1000")),
            Kind::OpenAi | Kind::OpenAiResponses | Kind::OpenRouter | Kind::Mistral | Kind::Xai | Kind::Ollama => {}
        }
        url.into()
    }

    /// Returns the address that says more of one model, where lists leave it out.
    pub(crate) fn model(&self) -> Option<String> {
        (self.kind == Kind::Ollama).then(|| self.below("api/show").into())
    }

    fn below(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path()));
        url
    }

    /// Returns the host with its port, or the socket: what errors name and people recognise.
    pub(crate) fn host(&self) -> String {
        match &self.socket {
            Some(path) => format!("unix:{}", path.display()),
            None => {
                let host = self.base.host_str().unwrap_or("?");
                self.base.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}"))
            }
        }
    }

    /// Returns the address as people may see it: without a query.
    pub(crate) fn shown(&self) -> String {
        match &self.socket {
            Some(path) => format!("unix://{}", path.display()),
            None => {
                let mut url = self.base.clone();
                url.set_query(None);
                url.into()
            }
        }
    }

    /// Tells whether the address can only be this machine's. Names other than `localhost` are not looked up.
    pub(crate) fn is_loopback(&self) -> bool {
        if self.socket.is_some() {
            return true;
        }
        let host = self.base.host_str().unwrap_or("");
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: Kind, url: &str, chat: &str) {
        let address = Address::parse(url, kind).ok().map(|address| address.chat("m/x y"));
        assert_eq!(address.as_deref(), Some(chat), "{url}");
    }

    #[test]
    fn addresses_lead_to_the_chat_of_their_kind() {
        check(Kind::OpenAi, "http://localhost:8080", "http://localhost:8080/v1/chat/completions");
        check(Kind::OpenAi, "https://h/api/v2", "https://h/api/v2/chat/completions");
        check(
            Kind::OpenAi,
            "https://h/v1/chat/completions?api-version=3",
            "https://h/v1/chat/completions?api-version=3",
        );
        check(Kind::OpenAi, "unix:///run/llm.sock", "http://localhost/v1/chat/completions");
        check(Kind::OpenAiResponses, "https://h/v1/responses", "https://h/v1/responses");
        check(Kind::OpenAiResponses, "https://h", "https://h/v1/responses");
        check(Kind::Mistral, "https://h", "https://h/v1/chat/completions");
        check(Kind::Xai, "https://h/v1", "https://h/v1/chat/completions");
        check(Kind::Ollama, "http://127.0.0.1:11434", "http://127.0.0.1:11434/api/chat");
        check(Kind::Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1/messages");
        check(Kind::OpenRouter, "https://openrouter.ai", "https://openrouter.ai/api/v1/chat/completions");
        check(Kind::Gemini, "https://g", "https://g/v1beta/models/m%2Fx%20y:streamGenerateContent?alt=sse");
    }

    #[test]
    fn an_address_with_a_key_is_refused() {
        for url in ["https://me:pw@h/v1", "https://tok@h/v1", "https://h/v1?key=abc", "https://h/v1?api_key=x"] {
            assert!(matches!(Address::parse(url, Kind::Gemini), Err(AddressFault::Key)), "{url}");
        }
        for url in ["", "localhost:80", "ftp://h/", "file:///etc/passwd", "unix://x"] {
            assert!(matches!(Address::parse(url, Kind::Gemini), Err(AddressFault::Unreadable)), "{url}");
        }
    }
}
