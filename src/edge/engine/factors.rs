//! How many tokens each provider counts for one of ours: learned from what it reports, and kept in the store.

use crate::domain::factor::Factor;
use crate::domain::memory::store::NewRecord;
use crate::domain::port::{Locality, LogLevel, Profile, Usage};
use crate::edge::engine::Engine;
use crate::edge::engine::record::kind;
use crate::edge::provider::cascade::Cascade;
use serde_json::json;

/// A factor is stored when it has moved by more than this since.
const MOVED: f64 = 0.01;
/// The only host that is known to count as we do.
const OURS: &str = "api.openai.com";

impl Engine {
    /// Loads what was learned of the providers of a cascade, of whom nothing is known yet.
    pub(super) async fn load_factors(&self, cascade: &Cascade) {
        for provider in cascade.providers().filter(|provider| provider.locality() != Locality::Builtin) {
            if self.factors.lock().contains_key(provider.name()) {
                continue;
            }
            let kept = match self.archive.latest(kind::FACTOR, provider.name().to_string()).await {
                Ok(record) => record.and_then(|record| Factor::kept(record.body.get("factor")?.as_f64()?)),
                Err(why) => {
                    self.say(LogLevel::Warning, &format!("how providers count tokens could not be read: {why}"));
                    return;
                }
            };
            // Not over what was learned while that was read.
            self.factors.lock().entry(provider.name().to_string()).or_insert(kept);
        }
    }

    /// Returns how many tokens a provider counts for one of ours.
    pub(super) fn factor(&self, provider: &dyn Profile) -> Factor {
        let known = self.factors.lock().get(provider.name()).copied().flatten();
        known.unwrap_or_else(|| match (provider.locality(), host(&provider.url())) {
            (Locality::Builtin, _) | (Locality::Remote, OURS) => Factor::OURS,
            (Locality::Remote | Locality::Local, _) => Factor::OTHERS,
        })
    }

    /// Returns how many tokens a provider of the cascade counts for one of ours; `None` when it is not in it.
    pub fn factor_of(&self, name: &str) -> Option<f64> {
        let cascade = self.cascade.read();
        let provider = cascade.providers().find(|provider| provider.name() == name)?;
        Some(self.factor(provider).value())
    }

    /// Returns the greatest factor of a cascade: what fits by it fits whoever of it is asked.
    pub(super) fn greatest_factor(&self, cascade: &Cascade) -> Factor {
        cascade.providers().map(|provider| self.factor(provider)).fold(Factor::OURS, Factor::max)
    }

    /// Learns from what a provider reported of a prompt that has `counted` tokens of ours.
    pub(super) fn learn_factor(&self, provider: &dyn Profile, counted: usize, usage: Usage) {
        let before = self.factor(provider);
        let now = before.learned(counted, usage.input);
        let name = provider.name().to_string();
        let known = self.factors.lock().insert(name.clone(), Some(now)).flatten();
        let step = |value: f64| (value / MOVED).round();
        if known.is_some() && step(before.value()) == step(now.value()) {
            return;
        }
        let body = json!({ "factor": now.value() });
        let record = NewRecord { at: self.clock.now(), kind: kind::FACTOR.to_string(), key: name, body };
        self.archive.queue(vec![record]);
    }
}

/// Returns the host of an address.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', ':', '?', '#']).next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn the_host_of_an_address_is_no_part_of_its_path() {
        for (url, expected) in [
            ("https://api.openai.com/v1/", "api.openai.com"),
            ("https://example.org/api.openai.com/", "example.org"),
            ("http://127.0.0.1:8080/v1", "127.0.0.1"),
            ("api.openai.com", "api.openai.com"),
            ("", ""),
        ] {
            assert_eq!(host(url), expected, "{url}");
        }
    }
}
