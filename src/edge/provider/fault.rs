//! What went wrong with a provider, in words that name it and the way out, and never a key.

use crate::domain::label::Privacy;
use crate::domain::port::{Charge, ProviderError, ProviderErrorKind};
use crate::edge::provider::config::{Address, ProviderConfig};
use crate::edge::provider::http::SmallFault;
use crate::edge::provider::known::key_variable;
use crate::edge::provider::retry::{Again, retry_after};
use crate::edge::secret::{MASK, Vault};
use serde_json::Value;
use std::error::Error as _;
use std::time::Duration;

/// The most characters of a server's own words that are repeated.
const MAX_WORDS: usize = 200;
/// The most of an error's body that is looked at, in bytes.
const MAX_BODY: usize = 64 * 1024;

/// A failure, and whether it may pass.
pub(super) struct Failed {
    pub(super) error: ProviderError,
    pub(super) again: Option<Again>,
}

impl From<ProviderError> for Failed {
    fn from(error: ProviderError) -> Failed {
        Failed { error, again: None }
    }
}

/// Tells faults of one provider.
pub(super) struct Teller<'a> {
    pub(super) config: &'a ProviderConfig,
    pub(super) address: &'a Address,
    pub(super) vault: &'a Vault,
    /// Of the prompt: a server may repeat parts of it, and nothing private may reach a log.
    pub(super) privacy: Privacy,
}

impl Teller<'_> {
    /// Returns an error of this provider, which may have been at work.
    pub(super) fn error(&self, kind: ProviderErrorKind, text: impl AsRef<str>) -> ProviderError {
        let error = ProviderError::new(&self.config.name, kind, self.mask(text.as_ref()));
        ProviderError { attempts: 1, charge: Charge::Perhaps, ..error }
    }

    /// Returns an error of this provider, which was not at work.
    fn unheard(&self, kind: ProviderErrorKind, text: impl AsRef<str>) -> ProviderError {
        ProviderError { charge: Charge::Nothing, ..self.error(kind, text) }
    }

    /// Returns a text without any key.
    fn mask(&self, text: &str) -> String {
        let text = self.vault.mask(text);
        match &self.config.key {
            Some(key) if !key.is_empty() => text.replace(key.expose(), MASK),
            Some(_) | None => text,
        }
    }

    /// Returns the host, for people.
    pub(super) fn host(&self) -> String {
        self.address.host()
    }

    /// Returns a server's own words, short and on one line; `None` when they may not be told.
    fn words(&self, words: Option<String>) -> Option<String> {
        let words = words.filter(|_| !self.privacy.is_kept())?;
        // Masked before it is cut, so that no half of a key is left.
        let masked = self.mask(&words);
        let line: Vec<&str> =
            masked.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
        let line = line.join(" ");
        let mut short: String = line.chars().take(MAX_WORDS).collect();
        if short.len() < line.len() {
            short.push('…');
        }
        Some(short).filter(|short| !short.is_empty())
    }

    /// Returns the failure for an HTTP status; the server may have said after how long to ask again.
    pub(super) fn status(&self, status: u16, body: &str, retry: Option<Duration>) -> Failed {
        // However long it is: its beginning says what it is about.
        let end = (0..=body.len().min(MAX_BODY)).rev().find(|at| body.is_char_boundary(*at)).unwrap_or(0);
        let body = body.get(..end).unwrap_or("");
        let body: Value = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_string()));
        let Failed { error, again } = self.said(Some(status), &body, retry);
        Failed { error: ProviderError { charge: Charge::Nothing, ..error }, again }
    }

    /// Returns the failure for what a server said instead of an answer, with the status if it is known.
    pub(super) fn said(&self, status: Option<u16>, body: &Value, retry: Option<Duration>) -> Failed {
        use ProviderErrorKind::{Garbled, Quota, Refused, Timeout, Unreachable};
        let host = self.host();
        let cause = self.words(words_of(body));
        let words = cause.as_deref().map_or_else(String::new, |words| format!(" (it says: {words})"));
        let model = &self.config.model;
        let number = status.map_or_else(String::new, |status| format!("HTTP {status}"));
        let variable = key_variable(&self.config.name);
        let key = if self.config.key.is_some() {
            format!(
                "{host} refuses the key [{number}]: check the key for host {host} in auth-source, or {variable} outside \
                 Emacs{words}"
            )
        } else {
            format!(
                "{host} wants a key [{number}]: add one for host {host} to auth-source, or set {variable} outside \
                 Emacs{words}"
            )
        };
        let (kind, text) = match status.or_else(|| code_of(body)) {
            Some(400) if bad_key(body) => (Refused, key),
            Some(401 | 403) => (Refused, key),
            Some(402) => (
                Quota,
                format!("{host} wants payment [{number}]: add credit there, or put another provider first{words}"),
            ),
            Some(404) => (
                Refused,
                format!(
                    "{host} does not have the model “{model}”, or the URL is wrong [{number}]: set another model (the doctor lists them){words}"
                ),
            ),
            Some(408 | 504) => (Timeout, format!("{host} gave up waiting for its model [{number}]: try again{words}")),
            Some(413) => {
                (Refused, format!("{host} finds the prompt too large [{number}]: lower the token budget{words}"))
            }
            Some(429) => {
                let wait =
                    retry.map_or_else(String::new, |after| format!(" after {} seconds", after.as_secs_f32().ceil()));
                (
                    Quota,
                    format!(
                        "{host} has had too many requests or no money is left [{number}]: try again{wait}, or look at the account{words}"
                    ),
                )
            }
            Some(300..=399) => (
                Refused,
                format!("{host} sends requests elsewhere [{number}], which is not followed: set the URL that it means"),
            ),
            Some(400..=499) => (
                Refused,
                format!(
                    "{host} does not accept the request for “{model}” [{number}]: see what it says, or set another model{words}"
                ),
            ),
            Some(500..) => (Unreachable, format!("{host} has a fault of its own [{number}]: try again later{words}")),
            Some(_) | None => {
                (Garbled, format!("{host} broke the answer off with an error: try again, or set another model{words}"))
            }
        };
        let again = is_passing(status.or_else(|| code_of(body)), body).then_some(Again { after: retry });
        Failed { error: ProviderError { status, cause, ..self.error(kind, text) }, again }
    }

    /// Returns the error for a failed connection. `begun` tells whether a part of the answer had come.
    pub(super) fn web(&self, error: &reqwest::Error, begun: bool) -> ProviderError {
        let host = self.host();
        let cause = self.words(deepest(error));
        let told = cause.as_deref().map_or_else(String::new, |cause| format!(" ({cause})"));
        if error.is_timeout() && error.is_connect() {
            return self.unheard(
                ProviderErrorKind::Timeout,
                format!("{host} does not take the connection: is it up, and the network?"),
            );
        }
        if error.is_timeout() {
            return self.silent(None);
        }
        if error.is_builder() {
            return self.unheard(
                ProviderErrorKind::Refused,
                format!("a request to {host} cannot be made: check its URL and key{told}"),
            );
        }
        if begun {
            return self.cut(None);
        }
        let way_out =
            if self.address.is_loopback() { "is its server running?" } else { "is the network up, and the URL right?" };
        let text = format!("{host} cannot be reached: {way_out}{told}");
        let charge = if error.is_connect() { Charge::Nothing } else { Charge::Perhaps };
        ProviderError { cause, charge, ..self.error(ProviderErrorKind::Unreachable, text) }
    }

    /// Returns the error for silence.
    pub(super) fn silent(&self, after: Option<Duration>) -> ProviderError {
        let host = self.host();
        let after = after.map_or_else(String::new, |after| format!(" for {} seconds", after.as_secs_f32()));
        self.error(
            ProviderErrorKind::Timeout,
            format!("{host} said nothing{after}: try again, or put another provider first"),
        )
    }

    /// Returns the error for an answer that came, and was not whole in the time that it has.
    pub(super) fn slow(&self, whole: Duration) -> ProviderError {
        let (host, seconds) = (self.host(), whole.as_secs_f32());
        self.error(
            ProviderErrorKind::Timeout,
            format!(
                "{host} was not done after {seconds} seconds: passepartout-answer-timeout says how long a whole answer \
                 may take"
            ),
        )
    }

    /// Returns the error for an answer that broke off, after so many characters of text if it is known.
    pub(super) fn cut(&self, characters: Option<usize>) -> ProviderError {
        let host = self.host();
        let kept = match characters {
            Some(n) if n > 0 => format!(" after {n} characters, which are kept"),
            Some(_) | None => String::new(),
        };
        self.error(ProviderErrorKind::Cut, format!("{host} hung up in the middle of its answer{kept}: ask again"))
    }

    /// Returns the error for something that is no answer.
    pub(super) fn garbled(&self, what: &str) -> ProviderError {
        let (host, model) = (self.host(), &self.config.model);
        self.error(
            ProviderErrorKind::Garbled,
            format!("{host} answered with what cannot be read: {what}; check URL and kind of the provider, or set another model than “{model}”"),
        )
    }

    /// Returns the error for an answer over a limit.
    pub(super) fn too_large(&self, what: &str) -> ProviderError {
        let host = self.host();
        self.error(
            ProviderErrorKind::Garbled,
            format!("{host} was stopped: {what}; ask for less, or set another model"),
        )
    }

    /// Returns the failure behind an error of genai. `begun` tells whether a part of the answer had come.
    pub(super) fn genai(&self, error: &genai::Error, begun: bool) -> Failed {
        match error {
            genai::Error::WebStream { error, .. } => {
                if let Some(genai::Error::HttpError { status, body, headers, .. }) =
                    error.downcast_ref::<genai::Error>()
                {
                    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
                    return self.status(status.as_u16(), body, retry_after(header, jiff::Timestamp::now()));
                }
                match error.downcast_ref::<reqwest::Error>() {
                    Some(error) => self.web(error, begun).into(),
                    None => self.garbled("it is not UTF-8").into(),
                }
            }
            genai::Error::ChatResponse { body, .. } => self.said(None, body, None),
            genai::Error::StreamParse { .. } | genai::Error::JsonValueExt(_) | genai::Error::SerdeJson(_) => {
                self.garbled("a part of it is not of its protocol").into()
            }
            _ => self.garbled("the request or the answer is not of its protocol").into(),
        }
    }

    /// Returns the error of a small request.
    pub(super) fn small(&self, fault: &SmallFault) -> ProviderError {
        match fault {
            SmallFault::Web(error) => self.web(error, false),
            SmallFault::Timeout => self.silent(None),
            SmallFault::Status(status, body) => self.status(*status, body, None).error,
            SmallFault::Garbled(what) => self.garbled(what),
        }
    }
}

/// Returns a server's words from the shapes that errors have.
fn words_of(body: &Value) -> Option<String> {
    let found = ["/error/message", "/message", "/error", "/detail", "/error/status"]
        .iter()
        .find_map(|at| body.pointer(at).and_then(Value::as_str))
        .or_else(|| body.as_str())?;
    // A page is for browsers.
    (!found.trim_start().starts_with('<')).then(|| found.to_string())
}

/// Returns the HTTP status that an error inside a stream stands for.
fn code_of(body: &Value) -> Option<u16> {
    let number = ["/error/code", "/code", "/status"].iter().find_map(|at| body.pointer(at).and_then(Value::as_u64));
    if let Some(code) = number.and_then(|code| u16::try_from(code).ok()).filter(|code| (300..600).contains(code)) {
        return Some(code);
    }
    let kind = ["/error/type", "/error/code", "/type", "/code"]
        .iter()
        .filter_map(|at| body.pointer(at).and_then(Value::as_str))
        .collect::<Vec<_>>()
        .join(" ");
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    if has(&["rate_limit", "quota"]) {
        Some(429)
    } else if has(&["authentication", "permission", "invalid_api_key"]) {
        Some(401)
    } else if has(&["billing"]) {
        Some(402)
    } else if has(&["not_found"]) {
        Some(404)
    } else if has(&["overloaded", "server_error", "api_error"]) {
        Some(503)
    } else if has(&["invalid_request"]) {
        Some(400)
    } else {
        None
    }
}

/// Tells whether a bad request means a bad key, as Gemini has it.
fn bad_key(body: &Value) -> bool {
    let text = body.to_string();
    text.contains("API_KEY_INVALID") || text.contains("API key not valid") || text.contains("invalid_api_key")
}

/// Tells whether the same request may well be answered later: too many at once, or a fault of the server's own. Where no
/// money is left it is not.
fn is_passing(status: Option<u16>, body: &Value) -> bool {
    let spent = ["/error/code", "/error/type", "/code", "/type"]
        .iter()
        .filter_map(|at| body.pointer(at).and_then(Value::as_str))
        .any(|word| word.contains("insufficient_quota") || word.contains("billing"));
    match status {
        Some(429) => !spent,
        Some(501) => false,
        Some(status) => status >= 500,
        None => false,
    }
}

/// Returns the words of the deepest cause; that of a connection names no URL.
fn deepest(error: &reqwest::Error) -> Option<String> {
    let mut cause = error.source()?;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    Some(cause.to_string())
}
