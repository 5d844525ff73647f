//! Asks a provider which models it has, how much each of them reads, and what it says that they cost.
//!
//! No prompt is sent: the address learns that somebody asks, and the key says who. It is also the cheapest request that
//! tells whether address and key are right.

use crate::domain::label::Privacy;
use crate::domain::money::Micros;
use crate::domain::money::prices::Price;
use crate::domain::port::ProviderError;
use crate::edge::provider::config::{ConfigError, Kind, ProviderConfig, is_forwarded};
use crate::edge::provider::fault::Teller;
use crate::edge::provider::http::{Clients, get_json};
use crate::edge::provider::served::key_headers;
use crate::edge::secret::Vault;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

/// The most models of a list; those behind are not taken.
const MOST: usize = 10_000;
/// The longest name of a model that is taken, in bytes.
const LONGEST: usize = 200;
/// Of so many models is asked how much they read, where that takes a request for each.
const SIZED: usize = 100;
/// Under which names servers say how many tokens of a prompt a model reads; the first that is there counts.
const SIZES: &[&str] = &[
    "/context_length",
    "/context_window",
    "/max_context_length",
    "/max_model_len",
    "/max_input_tokens",
    "/inputTokenLimit",
    "/meta/n_ctx_train",
];

/// A model, as its provider lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// The most tokens that it reads; `None` when its provider does not say.
    pub context: Option<u64>,
    /// What its provider says that it costs, if it does.
    pub price: Option<Price>,
}

/// Why there is no list of models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// The settings are wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The provider failed.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

/// Returns a provider's models, sorted by name.
///
/// # Errors
/// When the settings are wrong or the provider fails; the words say what to do, and hold no key.
pub async fn list_models(config: &ProviderConfig, clients: &Clients, vault: &Vault) -> Result<Vec<Listed>, ListError> {
    let address = config.address()?;
    let client = clients.to(&address, &config.name)?;
    let request = with_key(client.get(address.models()), config);
    let teller = Teller { config, address: &address, vault, privacy: Privacy::Open };
    let body = get_json(request, clients.timeouts()).await.map_err(|fault| teller.small(&fault))?;
    read(config.kind, &body).ok_or_else(|| teller.garbled("its list of models has another shape").into())
}

/// Adds how much each model reads, where the list itself does not say and its server tells of each apart. What cannot be
/// had in the time of one request stays unknown.
pub async fn add_sizes(models: &mut [Listed], config: &ProviderConfig, clients: &Clients) {
    let Ok(address) = config.address() else { return };
    let (Some(url), Ok(client)) = (address.model(), clients.to(&address, &config.name)) else { return };
    // Of what its server only forwards, it would ask elsewhere.
    let here = models.iter_mut().filter(|model| model.context.is_none() && !is_forwarded(&model.name)).take(SIZED);
    let ask = async {
        for model in here {
            let request = with_key(client.post(&url), config).json(&json!({ "model": model.name }));
            let about = get_json(request, clients.timeouts()).await;
            model.context = about.ok().as_ref().and_then(own_size);
        }
    };
    // Who is slow has said something of the first ones.
    let _ = tokio::time::timeout(clients.timeouts().first, ask).await;
}

/// Tells whether a list of models holds the one that is set. Ollama's names have a tag that may be left out.
pub fn has_model(models: &[Listed], config: &ProviderConfig) -> bool {
    models.iter().any(|model| is_named(&model.name, &config.model, config.kind))
}

/// Tells whether a listed name is that of a model as settings name it.
pub fn is_named(listed: &str, set: &str, kind: Kind) -> bool {
    let wanted = set.strip_prefix("models/").unwrap_or(set);
    listed == wanted || (kind == Kind::Ollama && listed.strip_suffix(":latest") == Some(wanted))
}

fn with_key(mut request: RequestBuilder, config: &ProviderConfig) -> RequestBuilder {
    for (name, value) in key_headers(config) {
        request = request.header(name, value);
    }
    request
}

/// Reads a list; `None` when it has another shape.
fn read(kind: Kind, body: &Value) -> Option<Vec<Listed>> {
    let (list, name) = match kind {
        Kind::OpenAi | Kind::OpenAiResponses | Kind::OpenRouter | Kind::Mistral | Kind::Xai | Kind::Anthropic => {
            ("data", "id")
        }
        Kind::Gemini | Kind::Ollama => ("models", "name"),
    };
    let one = |model: &Value| {
        let name = model.get(name)?.as_str()?;
        let name = name.strip_prefix("models/").unwrap_or(name);
        let context = SIZES.iter().find_map(|at| model.pointer(at)?.as_u64()).filter(|tokens| *tokens > 0);
        let is_name = !name.is_empty() && name.len() <= LONGEST;
        is_name.then(|| Listed { name: name.to_string(), context, price: price(model) })
    };
    let mut models: Vec<Listed> = body.get(list)?.as_array()?.iter().take(MOST).filter_map(one).collect();
    models.sort_by(|a, b| a.name.cmp(&b.name));
    models.dedup_by(|a, b| a.name == b.name);
    Some(models)
}

/// Reads how much a model reads out of what its server says of it alone, under a name that begins with its family's.
fn own_size(about: &Value) -> Option<u64> {
    let facts = about.get("model_info")?.as_object()?;
    facts.iter().find(|(name, _)| name.ends_with(".context_length")).and_then(|(_, tokens)| tokens.as_u64())
}

/// Reads dollars for one token, as texts. A price that differs from call to call is said as a negative one: it is none.
fn price(model: &Value) -> Option<Price> {
    let pricing = model.get("pricing")?;
    let dollars = |name: &str| {
        let dollars: f64 = pricing.get(name)?.as_str()?.parse().ok()?;
        // In millionths of a dollar, for a million tokens.
        (0.0..1.0).contains(&dollars).then(|| Micros((dollars * 1e12).round() as u64))
    };
    let (input, output) = (dollars("prompt")?, dollars("completion")?);
    Some(Price { input, cached: dollars("input_cache_read").unwrap_or(input), output })
}
