//! Asks a provider which models it has: the cheapest request that tells whether address and key are right.

use crate::domain::label::Privacy;
use crate::domain::port::ProviderError;
use crate::edge::provider::config::{ConfigError, Kind, ProviderConfig};
use crate::edge::provider::fault::Teller;
use crate::edge::provider::http::{Clients, get_json};
use crate::edge::provider::served::key_headers;
use crate::edge::secret::Vault;
use serde_json::Value;

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

/// Returns the names of a provider's models, sorted. No prompt is sent.
pub async fn list_models(config: &ProviderConfig, clients: &Clients, vault: &Vault) -> Result<Vec<String>, ListError> {
    let address = config.address()?;
    let client = clients.to(&address, &config.name)?;
    let mut request = client.get(address.models());
    for (name, value) in key_headers(config) {
        request = request.header(name, value);
    }
    let teller = Teller { config, address: &address, vault, privacy: Privacy::Open };
    let body = get_json(request, clients.timeouts()).await.map_err(|fault| teller.small(&fault))?;
    let (list, name) = match config.kind {
        Kind::OpenAi | Kind::OpenAiResponses | Kind::OpenRouter | Kind::Mistral | Kind::Xai | Kind::Anthropic => {
            ("data", "id")
        }
        Kind::Gemini | Kind::Ollama => ("models", "name"),
    };
    let Some(models) = body.get(list).and_then(Value::as_array) else {
        return Err(teller.garbled("its list of models has another shape").into());
    };
    let names = models.iter().filter_map(|model| model.get(name).and_then(Value::as_str));
    let mut names: Vec<String> = names.map(|name| name.strip_prefix("models/").unwrap_or(name).to_string()).collect();
    names.sort();
    Ok(names)
}

/// Tells whether a list of models holds the one that is set. Ollama's names have a tag that may be left out.
pub fn has_model(models: &[String], config: &ProviderConfig) -> bool {
    let wanted = config.model.strip_prefix("models/").unwrap_or(&config.model);
    models
        .iter()
        .any(|model| model == wanted || (config.kind == Kind::Ollama && model.strip_suffix(":latest") == Some(wanted)))
}
