//! Several providers in a row: the first that answers wins, each failure is logged and remembered for a while, and
//! private prompts stay here.

use crate::domain::label::Privacy;
use crate::domain::port::{
    Charge, Completion, Locality, LogLevel, ModelFailure, Profile, Prompt, Provider, ProviderError, ProviderErrorKind,
    Sink, Streamed,
};
use crate::domain::route::{Asked, Candidate, Cascades, Route, route};
use crate::domain::standing::{Standing, Standings};
use crate::edge::clock::Clock;
use async_trait::async_trait;
use futures_util::FutureExt;
use parking_lot::Mutex;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// Whether a provider may be sent a prompt now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permit {
    /// It may.
    Granted,
    /// It may not, for this reason (budget used up, offline); the next one is tried.
    Withheld(String),
    /// A human must confirm it first; nothing further is tried.
    Confirm,
}

/// Where lines for the log go.
pub type Log<'a> = &'a mut (dyn FnMut(LogLevel, String) + Send);

/// Decides on a provider that is not this program itself, seeing the prompt that it would be sent.
pub type Permits<'a> = &'a (dyn Fn(&dyn Profile, &Prompt) -> Permit + Send + Sync);

/// Keeps the accounts of calls. No prompt goes to a provider that is not this program itself before a call was opened.
#[async_trait]
pub trait Meter: Send + Sync {
    /// Opens a call.
    ///
    /// # Errors
    /// Why it may not be made; nothing is held then, and the next provider is tried.
    async fn open<'a>(&'a self, provider: &'a dyn Profile, prompt: &'a Prompt)
    -> Result<Box<dyn Metered + 'a>, String>;
}

/// A call that was opened. Where it is dropped without being closed, nobody waits for it any more.
#[async_trait]
pub trait Metered: Send {
    /// Takes in what came of it.
    async fn close(self: Box<Self>, result: &Result<Completion, ProviderError>);
}

/// An answer, and what it was drawn from.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The completion.
    pub completion: Completion,
    /// Where the provider runs.
    pub locality: Locality,
    /// Who stood before it and did not answer, each with why.
    pub before: Vec<ProviderError>,
}

/// What a cascade remembers of its providers from one request to the next.
pub struct Memory {
    standings: Mutex<Standings>,
    clock: Arc<dyn Clock>,
}

impl Memory {
    /// Makes one in which nobody has failed yet.
    pub fn new(clock: Arc<dyn Clock>) -> Memory {
        Memory { standings: Mutex::default(), clock }
    }

    /// Holds nothing against anybody any more.
    pub fn forget(&self) {
        self.standings.lock().keep(|_| false);
    }

    fn failed(&self, error: &ProviderError) {
        self.standings.lock().failed(error, self.clock.now());
    }

    fn answered(&self, provider: &str) {
        self.standings.lock().answered(provider);
    }

    /// Returns how a provider stands that is demoted now.
    pub fn demoted(&self, provider: &str) -> Option<Standing> {
        self.standings.lock().demoted(provider, self.clock.now()).cloned()
    }
}

/// Providers in the order in which they are asked.
#[derive(Clone, Default)]
pub struct Cascade {
    providers: Vec<Arc<dyn Provider>>,
    left: Vec<ProviderError>,
    cascades: Cascades,
    memory: Option<Arc<Memory>>,
    /// Whether the order stays, whoever failed lately.
    in_this_order: bool,
}

/// A prompt together with the provider that may have it, and its call. Only [`admit`] makes one, and only it can be sent.
struct Admitted<'a> {
    provider: &'a dyn Provider,
    prompt: &'a Prompt,
    /// `None` where this program itself answers.
    call: Option<Box<dyn Metered + 'a>>,
}

/// Why a prompt does not go to a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shut {
    /// It is passed over, for this reason.
    Skip(String),
    /// A human must confirm the provider first.
    Confirm,
}

/// Says in an answer that it broke off, and whether another provider begins one.
pub(super) fn broke_off(name: &str, next: bool) -> String {
    let afresh = if next { " The next one starts afresh." } else { "" };
    format!("\n\n(The answer of {name} broke off here.{afresh})\n\n")
}

fn withheld(why: String) -> Shut {
    Shut::Skip(format!("not asked: {why}"))
}

/// Says whether a prompt may go to a provider. Nothing is sent or held for that.
fn may(prompt: &Prompt, provider: &dyn Provider, permits: Permits<'_>) -> Result<(), Shut> {
    match (prompt.privacy, provider.locality()) {
        // Nobody is asked about a provider that may not have it anyway.
        (Privacy::Private, Locality::Remote) => Err(Shut::Skip(
            "not asked: words of private notes stand in what it would be sent, and these never leave this machine; \
             use a model that runs here, or ask in a new chat without them"
                .into(),
        )),
        // It would answer as if there were none.
        (_, Locality::Builtin) if prompt.pictures().next().is_some() => Err(Shut::Skip(
            "not asked: it answers by fixed rules, which see no pictures; take them out, or add a model that takes some \
             (the models' list says which do)"
                .to_string(),
        )),
        (_, Locality::Builtin) => Ok(()),
        // Whether the user lets in what asks is for the permits to say.
        (Privacy::Private, Locality::Local)
        | (Privacy::Open | Privacy::Warn | Privacy::Ask, Locality::Local | Locality::Remote) => {
            match permits(provider, prompt) {
                Permit::Granted => Ok(()),
                Permit::Withheld(why) => Err(withheld(why)),
                Permit::Confirm => Err(Shut::Confirm),
            }
        }
    }
}

/// Lets a prompt go to a provider, or says why not.
async fn admit<'a>(
    prompt: &'a Prompt,
    provider: &'a dyn Provider,
    permits: Permits<'_>,
    meter: &'a dyn Meter,
) -> Result<Admitted<'a>, Shut> {
    may(prompt, provider, permits)?;
    let call = match provider.locality() {
        Locality::Builtin => None,
        Locality::Local | Locality::Remote => Some(meter.open(provider, prompt).await.map_err(withheld)?),
    };
    Ok(Admitted { provider, prompt, call })
}

impl Admitted<'_> {
    async fn send(self, sink: Sink<'_>) -> Result<Completion, ProviderError> {
        // A provider that breaks is one that fails: the next one is asked.
        let sent = AssertUnwindSafe(self.provider.complete(self.prompt, sink)).catch_unwind().await;
        let result = sent.unwrap_or_else(|_| {
            let text = "it broke inside on this request; the log says where".to_string();
            let error = ProviderError::new(self.provider.name(), ProviderErrorKind::Garbled, text);
            Err(ProviderError { charge: Charge::Perhaps, ..error })
        });
        if let Some(call) = self.call {
            call.close(&result).await;
        }
        result
    }
}

impl Cascade {
    /// Makes a cascade. `left` are those that the user named and that cannot be used, with the reason:
    /// they are told when nobody else answers.
    pub fn new(providers: Vec<Arc<dyn Provider>>, left: Vec<ProviderError>) -> Self {
        let usual = providers.iter().map(|provider| provider.name().to_string()).collect();
        Cascade {
            providers,
            left,
            cascades: Cascades { usual, ..Cascades::default() },
            memory: None,
            in_this_order: false,
        }
    }

    /// Gives slots their own.
    pub fn of(self, cascades: Cascades) -> Self {
        Cascade { cascades, ..self }
    }

    /// Returns which names stand in which slot.
    pub fn cascades(&self) -> &Cascades {
        &self.cascades
    }

    /// Returns who may have what is asked, in the order of its slot.
    pub fn route(&self, asked: &Asked<'_>) -> Route {
        let candidate = |provider: &&dyn Provider| (provider.name().to_string(), provider.locality());
        let known: Vec<(String, Locality)> = self.lasting().map(|provider| candidate(&provider)).collect();
        let demoted = |name: &str| self.memory.as_ref().is_some_and(|memory| memory.demoted(name).is_some());
        let candidates: Vec<Candidate<'_>> = known
            .iter()
            .map(|(name, locality)| Candidate { name, locality: *locality, demoted: demoted(name) })
            .collect();
        route(asked, &candidates, &self.cascades)
    }

    /// Returns it with those alone whom a route has, in its order.
    pub fn along(&self, route: &Route) -> Cascade {
        let named = |name: &String| self.providers.iter().find(|provider| provider.name() == name).cloned();
        let providers = route.order.iter().filter_map(named).collect();
        let (names, _) = self.cascades.of(route.slot);
        let left = self.left().into_iter().filter(|error| names.contains(&error.provider));
        let left = left.chain(route.refused()).collect();
        // Who chose knew who had failed lately: that order stays.
        Cascade { providers, left, in_this_order: route.chosen, ..self.clone() }
    }

    /// Returns it with these in place of those of the same names.
    pub fn with_models(mut self, others: Vec<Arc<dyn Provider>>) -> Cascade {
        for other in others {
            if let Some(known) = self.providers.iter_mut().find(|known| known.name() == other.name()) {
                *known = other;
            }
        }
        self
    }

    /// Lets it remember who failed; whoever it does not hold is forgotten.
    pub fn remembering(self, memory: Arc<Memory>) -> Self {
        memory.standings.lock().keep(|name| self.providers.iter().any(|provider| provider.name() == name));
        self.sharing(memory)
    }

    /// Lets it remember in what others remember in, too: nobody is forgotten.
    pub fn sharing(self, memory: Arc<Memory>) -> Self {
        Cascade { memory: Some(memory), ..self }
    }

    /// Returns what it remembers of who failed, if it remembers.
    pub fn memory(&self) -> Option<&Arc<Memory>> {
        self.memory.as_ref()
    }

    /// Returns the providers in the order in which they are asked now: who failed lately stands behind the others, but
    /// never behind the built-in one, which always answers.
    pub fn in_order(&self) -> Vec<&dyn Profile> {
        self.ordered().into_iter().map(|provider| -> &dyn Profile { provider }).collect()
    }

    /// Returns those who can still answer.
    fn lasting(&self) -> impl Iterator<Item = &dyn Provider> {
        self.providers.iter().map(|provider| &**provider).filter(|provider| provider.over().is_none())
    }

    fn ordered(&self) -> Vec<&dyn Provider> {
        let providers = self.lasting();
        let Some(memory) = self.memory.as_ref().filter(|_| !self.in_this_order) else { return providers.collect() };
        let builtin = |provider: &&dyn Provider| provider.locality() == Locality::Builtin;
        let (standings, now) = (memory.standings.lock(), memory.clock.now());
        standings.ordered(providers, |provider| provider.name(), builtin, now)
    }

    /// Returns each of the first `count` models alone that `takes` takes, in the order in which they are asked now, and
    /// all others together. The built-in provider is no model.
    ///
    /// # Errors
    /// Those of `takes`.
    pub fn apart<E>(
        &self,
        count: usize,
        takes: &mut dyn FnMut(&Cascade) -> Result<bool, E>,
    ) -> Result<(Vec<Cascade>, Cascade), E> {
        let ordered: Vec<String> = self.ordered().iter().map(|provider| provider.name().to_string()).collect();
        let named = |name: &String| self.providers.iter().find(|provider| provider.name() == name).cloned();
        let (mut singles, mut others) = (Vec::new(), Vec::new());
        for provider in ordered.iter().filter_map(named) {
            let single = Cascade { providers: vec![provider.clone()], left: Vec::new(), ..self.clone() };
            let taken = match provider.locality() {
                Locality::Local | Locality::Remote => singles.len() < count && takes(&single)?,
                Locality::Builtin => false,
            };
            if taken {
                singles.push(single);
            } else {
                others.push(provider);
            }
        }
        Ok((singles, Cascade { providers: others, ..self.clone() }))
    }

    /// Notes that a provider failed, as asking it would have.
    pub fn note_failed(&self, error: &ProviderError) {
        if let Some(memory) = &self.memory {
            memory.failed(error);
        }
    }

    /// Adds what is told when nobody answers.
    pub fn having_failed(mut self, failed: Vec<ProviderError>) -> Self {
        self.left.extend(failed);
        self
    }

    /// Says of its first provider whether it may be sent this; nothing is sent or held for that.
    pub fn foresee(&self, prompt: &Prompt, permits: Permits<'_>) -> Result<(), Shut> {
        self.ordered().first().map_or(Ok(()), |provider| may(prompt, *provider, permits))
    }

    /// Returns the first provider, of those that `are`, that may be sent what it would be asked, or would have to be
    /// confirmed first, with that prompt; nothing is sent or held for that.
    ///
    /// # Errors
    /// Why each of them may not.
    pub fn first(
        &self,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
        permits: Permits<'_>,
        are: &dyn Fn(Locality) -> bool,
    ) -> Result<(&dyn Profile, Prompt), Vec<ProviderError>> {
        let mut refused = self.left();
        for provider in self.ordered().into_iter().filter(|provider| are(provider.locality())) {
            let prompt = prompt(provider.locality());
            match may(&prompt, provider, permits) {
                Ok(()) | Err(Shut::Confirm) => return Ok((provider, prompt)),
                Err(Shut::Skip(why)) => {
                    refused.push(ProviderError::new(provider.name(), ProviderErrorKind::Refused, why));
                }
            }
        }
        Err(refused)
    }

    /// Returns the providers as they were set up, to look at: asked they are by [`Cascade::complete`] alone.
    pub fn providers(&self) -> impl Iterator<Item = &dyn Profile> {
        self.providers.iter().map(|provider| -> &dyn Profile { &**provider })
    }

    /// Returns those that the user named and that cannot be used, or not any more.
    pub fn left(&self) -> Vec<ProviderError> {
        self.left.iter().cloned().chain(self.over()).collect()
    }

    /// Returns those who cannot answer any more, and why.
    pub fn over(&self) -> Vec<ProviderError> {
        let refused = |name: &str, why| ProviderError::new(name, ProviderErrorKind::Refused, why);
        let over = self.providers().filter_map(|provider| Some(refused(provider.name(), provider.over()?)));
        over.collect()
    }

    /// Asks one provider after the other until one answers. Dropping the future cancels.
    /// `prompt` is asked for the text that a provider of that locality may be sent.
    ///
    /// When a provider fails after it streamed some text, that text stays, a line in `sink` says so,
    /// and the next one starts its answer afresh: half answers of two models are never joined into one.
    /// The completion holds the text of the one that answered, and nothing of the others.
    pub async fn complete(
        &self,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
        sink: Sink<'_>,
        log: Log<'_>,
        permits: Permits<'_>,
        meter: &dyn Meter,
    ) -> Result<Reply, ModelFailure> {
        let mut failed = self.left();
        let providers = self.ordered();
        for (n, provider) in providers.iter().copied().enumerate() {
            let (name, locality) = (provider.name().to_string(), provider.locality());
            let prompt = prompt(locality);
            let admitted = match admit(&prompt, provider, permits, meter).await {
                Ok(admitted) => admitted,
                Err(Shut::Confirm) => {
                    let (url, prompt) = (provider.url(), Box::new(prompt.clone()));
                    return Err(ModelFailure::Confirm { provider: name, url, prompt });
                }
                Err(Shut::Skip(text)) => {
                    let error = ProviderError::new(name, ProviderErrorKind::Refused, text);
                    log(LogLevel::Info, error.to_string());
                    failed.push(error);
                    continue;
                }
            };
            let mut streamed = false;
            let mut both = |piece: Streamed<'_>| {
                streamed |= !piece.text().is_empty();
                sink(piece);
            };
            match admitted.send(&mut both).await {
                Ok(completion) => {
                    self.memory.iter().for_each(|memory| memory.answered(&name));
                    return Ok(Reply { completion, locality, before: failed });
                }
                Err(error) => {
                    self.memory.iter().for_each(|memory| memory.failed(&error));
                    let next = providers.get(n + 1).is_some();
                    log(
                        LogLevel::Warning,
                        format!("{error}{}", if next { "; the next provider is tried" } else { "" }),
                    );
                    if streamed {
                        sink(Streamed::Text(&broke_off(&name, next)));
                    }
                    failed.push(error);
                }
            }
        }
        Err(ModelFailure::Exhausted(failed))
    }
}
