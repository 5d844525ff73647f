//! The providers that need no more than a key, and how settings become a cascade.

use crate::edge::config::ProviderSetting;
use crate::edge::provider::config::{EFFORTS, Kind, ProviderConfig};
use crate::edge::provider::pictures::takes;
use crate::edge::secret::Vault;
use std::path::PathBuf;

/// A provider that we know by name.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its name in the cascade.
    pub name: &'static str,
    /// The protocol it speaks.
    pub kind: Kind,
    /// Its address.
    pub url: &'static str,
    /// The model that is asked when the user sets none. Only a default: models come and go, and the user's choice wins.
    pub model: &'static str,
    /// Whether it answers without a key.
    pub keyless: bool,
}

/// The known providers, in the order of the default cascade.
pub const KNOWN: &[Known] = &[
    known("ollama", Kind::Ollama, "http://127.0.0.1:11434/", "llama3.1"),
    known("openrouter", Kind::OpenRouter, "https://openrouter.ai/api/v1/", "openrouter/auto"),
    known("openai", Kind::OpenAi, "https://api.openai.com/v1/", "gpt-4.1-mini"),
    known("groq", Kind::OpenAi, "https://api.groq.com/openai/v1/", "llama-3.3-70b-versatile"),
    known("gemini", Kind::Gemini, "https://generativelanguage.googleapis.com/v1beta/", "gemini-2.5-flash"),
    known("deepseek", Kind::OpenAi, "https://api.deepseek.com/v1/", "deepseek-chat"),
    known("nvidia", Kind::OpenAi, "https://integrate.api.nvidia.com/v1/", "meta/llama-3.3-70b-instruct"),
    known("anthropic", Kind::Anthropic, "https://api.anthropic.com/v1/", "claude-sonnet-4-5"),
    known("mistral", Kind::Mistral, "https://api.mistral.ai/v1/", "mistral-medium-latest"),
    known("xai", Kind::Xai, "https://api.x.ai/v1/", "grok-4"),
    Known { keyless: true, ..known("llamacpp", Kind::OpenAi, "http://127.0.0.1:8080/v1/", ANY_MODEL) },
];

const fn known(name: &'static str, kind: Kind, url: &'static str, model: &'static str) -> Known {
    Known { name, kind, url, model, keyless: matches!(kind, Kind::Ollama) }
}

/// What the user declared of one provider; what is absent comes from [`KNOWN`].
#[derive(Clone, Debug, Default)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// The word for its protocol.
    pub kind: Option<String>,
    /// Its address.
    pub url: Option<String>,
    /// The model to ask.
    pub model: Option<String>,
    /// Whether the user says that it is local.
    pub local: bool,
    /// How hard it thinks.
    pub effort: Option<String>,
}

impl From<&ProviderSetting> for Declared {
    fn from(setting: &ProviderSetting) -> Declared {
        // A provider without a kind is written down with its name as its kind.
        let said = setting.kind != setting.name || setting.kind == REPLAY || Kind::parse(&setting.kind).is_some();
        Declared {
            name: setting.name.clone(),
            kind: said.then(|| setting.kind.clone()),
            url: setting.url.clone(),
            model: setting.model.clone(),
            local: setting.local,
            effort: setting.effort.clone(),
        }
    }
}

/// The model that a server of the user's own is asked for when none is set: many have one only and take any name.
const ANY_MODEL: &str = "default";

/// The name under which the built-in provider stands in a cascade. It is no HTTP provider and is not built here.
pub const RECALL: &str = "recall";

/// The kind of a provider that plays a cassette; its address is the file. It speaks no protocol of its own.
pub const REPLAY: &str = "replay";

/// What became of one name of the cascade.
#[derive(Debug)]
pub enum Place {
    /// A provider to build.
    Asked(ProviderConfig),
    /// The built-in provider.
    Recall,
    /// A provider that plays a cassette.
    Replay {
        /// Its name.
        name: String,
        /// The cassette's file.
        path: PathBuf,
    },
    /// Left out, for this reason; worth a line in the log.
    Left {
        /// The provider.
        name: String,
        /// Why, and how to have it.
        why: String,
    },
}

impl Place {
    /// Returns the name that it is the place of.
    pub fn name(&self) -> &str {
        match self {
            Place::Asked(config) => &config.name,
            Place::Recall => RECALL,
            Place::Replay { name, .. } | Place::Left { name, .. } => name,
        }
    }
}

/// Works out a cascade: the names that the user gave in their order, or else every declared provider,
/// then every known one that has a key; the built-in provider is last unless the user placed it.
pub fn places(cascade: &[String], declared: &[Declared], vault: &Vault) -> Vec<Place> {
    if !cascade.is_empty() {
        return cascade.iter().map(|name| place(name, declared, vault)).collect();
    }
    let mut names: Vec<&str> = declared.iter().map(|declared| declared.name.as_str()).collect();
    // Without a key nobody asked for these: they are not even worth a line.
    names.extend(KNOWN.iter().filter(|known| vault.key(known.name, known.url).is_some()).map(|known| known.name));
    names.push(RECALL);
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    names.into_iter().map(|name| place(name, declared, vault)).collect()
}

fn place(name: &str, declared: &[Declared], vault: &Vault) -> Place {
    if name == RECALL {
        return Place::Recall;
    }
    let left = |why: String| Place::Left { name: name.to_string(), why };
    let declared = declared.iter().find(|declared| declared.name == name);
    let own_url = declared.is_some_and(|declared| declared.url.is_some());
    let known = KNOWN.iter().find(|known| known.name == name);
    if declared.and_then(|declared| declared.kind.as_deref()) == Some(REPLAY) {
        let path = declared.and_then(|declared| declared.url.as_deref()).map(PathBuf::from);
        return match path.filter(|path| path.is_absolute()) {
            Some(path) => Place::Replay { name: name.to_string(), path },
            None => left("a provider of the kind “replay” has the absolute name of a cassette as its URL".into()),
        };
    }
    let kind = match (declared.and_then(|declared| declared.kind.as_deref()), known) {
        (Some(word), _) => match Kind::parse(word) {
            Some(kind) => kind,
            None => {
                let words: Vec<&str> = Kind::NAMES.iter().map(|(name, _)| *name).chain([REPLAY]).collect();
                return left(format!("“{word}” is no kind of provider; the kinds are {}", words.join(", ")));
            }
        },
        (None, Some(known)) => known.kind,
        (None, None) if own_url => Kind::OpenAi,
        (None, None) if name == "local" => {
            return left("it has no address; set LOCAL_BASE_URL to that of a server of this machine".into());
        }
        (None, None) => return left("it is not known; declare it with a kind, a URL and a model".into()),
    };
    let url = declared.and_then(|declared| declared.url.clone()).or_else(|| known.map(|known| known.url.to_string()));
    let effort = declared.and_then(|declared| declared.effort.clone());
    if let Some(word) = effort.as_deref().filter(|word| !EFFORTS.contains(word)) {
        return left(format!("“{word}” is no effort; write one of {}", EFFORTS.join(", ")));
    }
    let url = url.unwrap_or_else(|| kind.default_url().to_string());
    let key = vault.key(name, &url);
    // Whoever gives an address of their own may run a server that wants no key.
    let keyless = own_url
        || declared.is_some_and(|declared| declared.local)
        || known.is_some_and(|known| known.keyless)
        || kind == Kind::Ollama;
    if key.is_none() && !keyless {
        let host =
            reqwest::Url::parse(&url).ok().and_then(|url| url.host_str().map(str::to_string)).unwrap_or_default();
        let variable = key_variable(name);
        return left(format!("there is no key for it; add one for host {host} to auth-source, or set {variable}"));
    }
    let model = declared
        .and_then(|declared| declared.model.clone())
        .or_else(|| known.map(|known| known.model.to_string()))
        .or_else(|| KNOWN.iter().find(|known| known.kind == kind && !own_url).map(|known| known.model.to_string()))
        .unwrap_or_else(|| ANY_MODEL.to_string());
    Place::Asked(ProviderConfig {
        name: name.to_string(),
        kind,
        url,
        key,
        local: declared.is_some_and(|declared| declared.local),
        effort,
        // Whoever names models that do knows more.
        pictures: takes(&model, &[]),
        model,
    })
}

/// Returns the variable of the environment in which the key of a provider may stand.
pub(super) fn key_variable(name: &str) -> String {
    format!("{}_API_KEY", name.to_ascii_uppercase().replace('-', "_"))
}
