//! What went wrong with an embedding server, in words that name it and the way out, and never a key.

use crate::domain::label::Privacy;
use crate::domain::port::{EmbedError, EmbedErrorKind};
use crate::edge::embed::served::Fault;
use crate::edge::provider::config::ProviderConfig;
use crate::edge::secret::{MASK, Vault};
use serde_json::Value;
use std::time::Duration;

/// The most characters of a server's own words that are repeated.
const MOST_WORDS: usize = 200;
/// No server is waited for longer than this because it said so, in seconds.
const LONGEST_WAIT: u64 = 3600;

/// Tells faults of one embedder.
pub(super) struct Teller<'a> {
    pub(super) config: &'a ProviderConfig,
    pub(super) host: &'a str,
    /// Whether it is on this machine.
    pub(super) here: bool,
    pub(super) vault: &'a Vault,
    /// Of the texts: a server may repeat parts of them, and nothing private may reach a log.
    pub(super) privacy: Privacy,
}

impl Teller<'_> {
    /// Returns an error of this embedder.
    pub(super) fn error(&self, kind: EmbedErrorKind, text: impl AsRef<str>) -> EmbedError {
        let text = format!("{}: {}", self.config.name, text.as_ref());
        EmbedError { kind, text: self.mask(&text), after: None }
    }

    fn mask(&self, text: &str) -> String {
        let text = self.vault.mask(text);
        match &self.config.key {
            Some(key) if !key.is_empty() => text.replace(key.expose(), MASK),
            Some(_) | None => text,
        }
    }

    /// Returns the error for a fault.
    pub(super) fn told(&self, fault: &Fault) -> EmbedError {
        use EmbedErrorKind::{Away, Texts};
        let host = self.host;
        match fault {
            Fault::Slow(whole) => {
                let seconds = whole.as_secs();
                let text = format!(
                    "{host} was not done after {seconds} s, as passepartout-embedding-timeout says; it is asked again later"
                );
                self.error(Away, text)
            }
            Fault::Silent => self.error(Away, format!("{host} said nothing in time; it is asked again later")),
            Fault::Web(error) if error.is_timeout() => {
                self.error(Away, format!("{host} does not take the connection: is it up, and the network?"))
            }
            Fault::Web(error) if error.is_body() || error.is_decode() => {
                self.error(Away, format!("{host} hung up in the middle of its answer; it is asked again later"))
            }
            Fault::Web(_) => {
                let way = if self.here { "is its server running?" } else { "is the network up, and the URL right?" };
                self.error(Away, format!("{host} cannot be reached: {way}"))
            }
            Fault::Status(status, body, after) => self.status(*status, body, *after),
            Fault::Garbled(what) => self.error(
                Texts,
                format!(
                    "{host} answered with what cannot be used: {what}; check URL and backend, or set another model than “{}”",
                    self.config.model
                ),
            ),
        }
    }

    fn status(&self, status: u16, body: &str, after: Option<u64>) -> EmbedError {
        use EmbedErrorKind::{Away, Refused, Texts};
        let (host, model, words) = (self.host, &self.config.model, self.words(body));
        match status {
            401 | 403 => {
                let verb = if self.config.key.is_some() { "refuses the key" } else { "wants a key" };
                self.error(
                    Refused,
                    format!("{host} {verb} [HTTP {status}]: put the right one for host {host} into auth-source, or set EMBEDDING_API_KEY{words}"),
                )
            }
            402 => self.error(Refused, format!("{host} wants payment [HTTP 402]: add credit there{words}")),
            404 => self.error(
                Refused,
                format!("{host} does not have the model “{model}”, or the URL is wrong [HTTP 404]: set another one, or fetch it there{words}"),
            ),
            429 => {
                let wait = after.map(|after| after.min(LONGEST_WAIT));
                let when = wait.map_or_else(String::new, |wait| format!(" in {wait} seconds"));
                let text = format!("{host} has had too many requests or no money is left [HTTP 429]; it is asked again{when}{words}");
                EmbedError { after: wait.map(Duration::from_secs), ..self.error(Away, text) }
            }
            300..=399 => self.error(
                Refused,
                format!("{host} sends requests elsewhere [HTTP {status}], which is not followed: set the URL that it means"),
            ),
            400 | 413 | 422 => self.error(Texts, format!("{host} does not accept the texts for “{model}” [HTTP {status}]{words}")),
            400..=499 => self.error(Refused, format!("{host} does not accept the request for “{model}” [HTTP {status}]: see what it says, or set another model{words}")),
            _ => self.error(Away, format!("{host} has a fault of its own [HTTP {status}]; it is asked again later{words}")),
        }
    }

    /// Returns a server's own words, short and on one line; empty when they may not be told.
    fn words(&self, body: &str) -> String {
        if self.privacy.is_kept() {
            return String::new();
        }
        let value: Value = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_string()));
        let places = ["/error/message", "/error", "/message", "/detail"];
        let found = places.iter().find_map(|at| value.pointer(at).and_then(Value::as_str)).or_else(|| value.as_str());
        // A page is for browsers. What is told is masked before it is cut, so that no half of a key is left.
        let found = found.filter(|words| !words.trim_start().starts_with('<')).map(|words| self.mask(words));
        let line: Vec<String> = found
            .iter()
            .flat_map(|words| words.split(|c: char| c.is_whitespace() || c.is_control()))
            .filter(|word| !word.is_empty())
            .map(str::to_string)
            .collect();
        let line = line.join(" ");
        let short: String = line.chars().take(MOST_WORDS).collect();
        match (short.is_empty(), short.len() < line.len()) {
            (true, _) => String::new(),
            (false, true) => format!(" (it says: {short}…)"),
            (false, false) => format!(" (it says: {short})"),
        }
    }
}
