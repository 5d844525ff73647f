//! Several providers in a row: the first that answers wins, each failure is logged, and private prompts stay here.

use crate::domain::label::Privacy;
use crate::domain::port::{Completion, Locality, Prompt, Provider, ProviderError, ProviderErrorKind, Sink};
use std::fmt;
use std::sync::Arc;

/// Whether a provider may be asked now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permit {
    /// It may.
    Granted,
    /// It may not, for this reason: not yet confirmed, budget used up, offline.
    Withheld(String),
}

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// As it should be.
    Info,
    /// A provider failed; another may answer.
    Warning,
}

/// Where lines for the log go.
pub type Log<'a> = &'a mut (dyn FnMut(Weight, String) + Send);

/// What came of one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was not asked, for this reason.
    Skipped(String),
    /// It was asked and failed.
    Failed(ProviderErrorKind, String),
}

/// One provider of a cascade that gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Which.
    pub provider: String,
    /// Why.
    pub outcome: Outcome,
}

/// No provider gave an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// Every provider with its reason, in the order of the cascade.
    pub attempts: Vec<Attempt>,
    /// The text of the last provider that broke off in the middle of its answer; it was streamed already.
    pub partial: String,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.attempts.is_empty() {
            return f.write_str("No model provider is set up; add a key, or put “recall” into the cascade.");
        }
        f.write_str("No model provider gave an answer.")?;
        for Attempt { provider, outcome } in &self.attempts {
            match outcome {
                Outcome::Skipped(why) => write!(f, "\n- {provider} was not asked: {why}")?,
                Outcome::Failed(_, why) => write!(f, "\n- {provider}: {why}")?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Exhausted {}

/// Providers in the order in which they are asked.
#[derive(Clone, Default)]
pub struct Cascade(Vec<Arc<dyn Provider>>);

/// A prompt together with a provider that may have it. Only [`admit`] makes one, and only it can be sent.
struct Admitted<'a> {
    provider: &'a dyn Provider,
    prompt: &'a Prompt,
}

/// Lets a prompt go to a provider, or says why not. Whoever is asked for a permit is asked about open prompts only.
fn admit<'a>(
    prompt: &'a Prompt,
    provider: &'a dyn Provider,
    permitted: &(dyn Fn(&dyn Provider) -> Permit + Send + Sync),
) -> Result<Admitted<'a>, String> {
    match (prompt.privacy, provider.locality()) {
        (Privacy::Private, Locality::Remote) => {
            return Err("the conversation holds private notes, and it is not on this machine".into());
        }
        (Privacy::Private, Locality::Builtin | Locality::Local)
        | (Privacy::Open, Locality::Builtin | Locality::Local | Locality::Remote) => {}
    }
    match permitted(provider) {
        Permit::Granted => Ok(Admitted { provider, prompt }),
        Permit::Withheld(why) => Err(why),
    }
}

impl Admitted<'_> {
    async fn send(self, sink: Sink<'_>) -> Result<Completion, ProviderError> {
        self.provider.complete(self.prompt, sink).await
    }
}

impl Cascade {
    /// Makes a cascade.
    pub fn new(providers: Vec<Arc<dyn Provider>>) -> Self {
        Cascade(providers)
    }

    /// Returns the providers in order.
    pub fn providers(&self) -> &[Arc<dyn Provider>] {
        &self.0
    }

    /// Asks one provider after the other until one answers. Dropping the future cancels.
    ///
    /// When a provider fails after it streamed some text, that text stays, a line in `sink` says so,
    /// and the next one starts its answer afresh: half answers of two models are never joined into one.
    /// The completion holds the text of the one that answered, and nothing of the others.
    pub async fn complete(
        &self,
        prompt: &Prompt,
        sink: Sink<'_>,
        log: Log<'_>,
        permitted: &(dyn Fn(&dyn Provider) -> Permit + Send + Sync),
    ) -> Result<Completion, Exhausted> {
        let mut failed = Exhausted { attempts: Vec::new(), partial: String::new() };
        for (n, provider) in self.0.iter().enumerate() {
            let name = provider.name().to_string();
            let admitted = match admit(prompt, &**provider, permitted) {
                Ok(admitted) => admitted,
                Err(why) => {
                    log(Weight::Info, format!("{name} was not asked: {why}"));
                    failed.attempts.push(Attempt { provider: name, outcome: Outcome::Skipped(why) });
                    continue;
                }
            };
            let mut streamed = String::new();
            let mut both = |text: &str| {
                streamed.push_str(text);
                sink(text);
            };
            match admitted.send(&mut both).await {
                Ok(completion) => return Ok(completion),
                Err(error) => {
                    log(Weight::Warning, error.to_string());
                    if !streamed.is_empty() {
                        let next = self.0.get(n + 1).map_or("", |_| " The next provider starts afresh.");
                        sink(&format!("\n\n[{name} broke off here: {}.{next}]\n\n", first_clause(&error.text)));
                        failed.partial = streamed;
                    }
                    failed.attempts.push(Attempt { provider: name, outcome: Outcome::Failed(error.kind, error.text) });
                }
            }
        }
        Err(failed)
    }
}

/// Returns what happened, without the way out: that is in the log and in the last word.
fn first_clause(text: &str) -> &str {
    let end = text.find(": ").into_iter().chain(text.find("; ")).min().unwrap_or(text.len());
    text.get(..end).unwrap_or(text).trim_end_matches('.')
}
