//! Several models asked at once. Each is asked in the way in which one is asked alone, with the same privacy, caps,
//! confirmations, patience and ledger. Where one step is asked of all, what they say is compared in
//! [`crate::domain::turn::consensus`]; in a fork each goes its own way, which the turn itself sees to.

use crate::domain::gate::secret::mask;
use crate::domain::inert::exact;
use crate::domain::label::Privacy;
use crate::domain::port::{
    Answered, Apart, Branch, Completion, Locality, LogLevel, Model, ModelFailure, Profile, Prompt, ProviderError,
    ProviderErrorKind, Sink, Streamed, Usage,
};
use crate::domain::route::Slot;
use crate::domain::turn::consensus::{MOST, Mode, Other, Round, Together, Vote, Voter, choose, is_decided};
use crate::domain::turn::proposal;
use crate::edge::engine::model::{Known, TurnModel};
use crate::edge::provider::cascade::{Cascade, Shut};
use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Those who cannot change what is followed any more have as long as it took until then, and at least so long.
const GRACE: Duration = Duration::from_secs(2);
/// Of the answers beside those that a turn followed the last so many are kept; the ballots have a line of each.
const OTHERS: usize = 2 * MOST;
/// Why a model has no vote that the others did not need.
const NOT_WAITED_FOR: &str = "not waited for, as the others had decided";

/// What one model came to: its answer, or why there is none.
type Came = Result<Answered, Vec<ProviderError>>;

impl TurnModel<'_> {
    /// Returns whether several models are asked at once for each step of work of this kind: as the user wants it for this
    /// turn, or else as the settings say. In a fork each has steps of its own.
    pub(super) fn together_in(&self, slot: Slot) -> Option<Together> {
        let settings = || self.engine.config.consensus.get(&slot).map(|count| Together::new(Mode::Consensus, *count));
        self.together.or_else(settings).filter(|together| together.mode == Mode::Consensus && together.count > 1)
    }

    /// Asks several models at once, and returns what the one says that is followed. Where fewer than two may be asked,
    /// or the caps do not allow all, the cascade is asked as always; where none of them answers, the rest of it is.
    pub(super) async fn ask_together(
        &self,
        together: Together,
        cascade: &Cascade,
        known: &Known,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
        sink: Sink<'_>,
    ) -> Result<Answered, ModelFailure> {
        let Some((singles, rest)) = self.several(together, cascade, known, prompt)? else {
            return self.ask_one(cascade, known, prompt, sink).await;
        };
        let came = self.ask_all(&singles, known, prompt).await;
        match self.followed(&singles, came) {
            Ok(answered) => {
                sink(Streamed::Thought(&answered.completion.thinking.text()));
                sink(Streamed::Text(&answered.completion.text));
                Ok(answered)
            }
            Err(failed) => self.ask_one(&rest.having_failed(failed), known, prompt, sink).await,
        }
    }

    /// Finds out who is asked at once, and who is left; `None` where fewer than two may be, or the caps do not allow all,
    /// which the user is told.
    fn several(
        &self,
        together: Together,
        cascade: &Cascade,
        known: &Known,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
    ) -> Result<Option<(Vec<Cascade>, Cascade)>, ModelFailure> {
        // Before anybody is sent anything: who may be asked at all, whom a human must confirm, and what all may cost.
        let mut prompts: Vec<Prompt> = Vec::new();
        let (singles, rest) = cascade.apart(together.count, &mut |single| {
            let Some(provider) = single.in_order().into_iter().next() else { return Ok(false) };
            let prompt = self.unquoted(prompt(provider.locality()), provider.locality()).prompt;
            let permits =
                |provider: &dyn Profile, prompt: &Prompt| self.permit(known, provider, prompt, self.counted(prompt));
            match single.foresee(&prompt, &permits) {
                Ok(()) => prompts.push(prompt),
                Err(Shut::Confirm) => {
                    let (provider, url) = (provider.name().to_string(), provider.url());
                    return Err(ModelFailure::Confirm { provider, url, prompt: Box::new(prompt) });
                }
                // It says so itself when it is asked, behind the others.
                Err(Shut::Skip(_)) => return Ok(false),
            }
            Ok(true)
        })?;
        if singles.len() < 2 {
            self.tell_alone("no second model is set up that may be asked");
            return Ok(None);
        }
        let first = singles.iter().filter_map(|single| single.providers().next());
        let wanted: Vec<(&dyn Profile, Prompt)> = first.zip(prompts).collect();
        if let Err(why) = self.engine.affords_all(&wanted, &self.session, &self.behalf) {
            self.tell_alone(&why);
            return Ok(None);
        }
        drop(wanted);
        Ok(Some((singles, rest)))
    }

    /// Finds out which models of a fork answer apart from one another.
    pub(super) async fn forked<'a>(
        &'a self,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
    ) -> Result<Option<Apart<'a>>, ModelFailure> {
        let fork = |together: &Together| together.mode == Mode::Fork && together.count > 1;
        let Some(together) = self.together.filter(fork) else { return Ok(None) };
        let (_, cascade) = self.routed().await;
        let known = self.known(&cascade).await;
        let Some((singles, rest)) = self.several(together, &cascade, &known, prompt)? else { return Ok(None) };
        let shared = Arc::new(Shared { known, askings: Mutex::default() });
        let alone = move |cascade: Cascade, waited_for: bool| {
            let (shared, steps) = (shared.clone(), AtomicUsize::new(0));
            Alone { turn: self, cascade, shared, waited_for, steps }
        };
        let branch = |single: Cascade| {
            let profile = single.providers().next().map(|one| (one.name().to_string(), one.model().to_string()));
            let (provider, model) = profile.unwrap_or_default();
            Branch { provider, model, asked: Box::new(alone(single, true)) }
        };
        let branches = singles.into_iter().map(branch).collect();
        Ok(Some(Apart { branches, rest: Box::new(move |failed| Box::new(alone(rest.having_failed(failed), false))) }))
    }

    fn tell_alone(&self, why: &str) {
        let text = format!("Only one model was asked: {why}.");
        self.engine.say(LogLevel::Info, &text);
        self.engine.tell(&self.session, exact(&text));
    }

    /// Asks each, and waits until all have answered, failed, or taken too long; or, where what most of them want is
    /// followed, until nobody who is late can change that, and as long again for what they say to be shown. Dropping the
    /// future hangs up on all.
    async fn ask_all(
        &self,
        singles: &[Cascade],
        known: &Known,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
    ) -> Vec<Came> {
        let asks = singles.iter().enumerate().map(|(index, single)| async move {
            let mut quiet = |_: Streamed<'_>| {};
            (index, self.ask_in_time(single, known, prompt, &mut quiet).await)
        });
        // Each is woken by what is its own alone: who reads a stream takes of what one task may read at a time, and one
        // that is polled for another's sake would leave nothing to those behind it.
        let mut asks: FuturesUnordered<_> = asks.collect();
        let mut came: BTreeMap<usize, Came> = BTreeMap::new();
        let mut votes: Vec<Option<Vote>> = singles.iter().map(|_| None).collect();
        let (begun, mut until) = (Instant::now(), None);
        loop {
            let next = match until {
                None => asks.next().await,
                Some(until) => tokio::time::timeout_at(until, asks.next()).await.unwrap_or(None),
            };
            let Some((index, one)) = next else { break };
            if let Some(known) = votes.get_mut(index) {
                *known = Some(vote(&one));
            }
            came.insert(index, one);
            if until.is_none() && is_decided(&votes) {
                until = Some(Instant::now() + begun.elapsed().max(GRACE));
            }
        }
        // Those who are late are hung up on; they have not failed.
        drop(asks);
        let late = |single: &Cascade| {
            let name = single.providers().next().map(|provider| provider.name().to_string()).unwrap_or_default();
            Err(vec![ProviderError::new(name, ProviderErrorKind::Timeout, NOT_WAITED_FOR.to_string())])
        };
        singles.iter().enumerate().map(|(index, single)| came.remove(&index).unwrap_or_else(|| late(single))).collect()
    }

    /// Asks one of several models, which has as long as the settings say.
    async fn ask_in_time(
        &self,
        single: &Cascade,
        known: &Known,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
        sink: Sink<'_>,
    ) -> Came {
        let seconds = self.engine.config.consensus_timeout;
        let asked = self.ask_one(single, known, prompt, sink);
        let name = || single.providers().next().map(|provider| provider.name().to_string()).unwrap_or_default();
        let failed = |kind, text: String| vec![ProviderError::new(name(), kind, text)];
        match tokio::time::timeout(Duration::from_secs(seconds), asked).await {
            Ok(Ok(answered)) => Ok(answered),
            Ok(Err(ModelFailure::Exhausted(errors))) => Err(errors),
            Ok(Err(ModelFailure::Confirm { .. })) => {
                Err(failed(ProviderErrorKind::Refused, "not asked: you have not confirmed it yet".to_string()))
            }
            Err(_) => {
                let text = format!(
                    "it was not done after {seconds} seconds; passepartout-consensus-timeout says how long several \
                     models are waited for"
                );
                let failed = failed(ProviderErrorKind::Timeout, text);
                failed.iter().for_each(|error| single.note_failed(error));
                Err(failed)
            }
        }
    }

    /// Notes what each was for, and returns the answer that is followed; or how all failed.
    fn followed(&self, singles: &[Cascade], came: Vec<Came>) -> Result<Answered, Vec<ProviderError>> {
        let votes: Vec<Vote> = came.iter().map(vote).collect();
        let chosen = choose(&votes).map(|followed| followed.index);
        let voters = singles.iter().zip(&came).zip(votes);
        let voters = voters.map(|((single, came), vote)| {
            let profile = single.providers().next();
            let asked = || profile.map(|profile| profile.model().to_string()).unwrap_or_default();
            let model = came.as_ref().map_or_else(|_| asked(), |answered| answered.completion.model.clone());
            let provider = profile.map(|profile| profile.name().to_string()).unwrap_or_default();
            let said = came.as_ref().map_or_else(|_| String::new(), |answered| words_of(&answered.completion));
            Voter { provider, model, vote, said }
        });
        let round = Round::new(Mode::Consensus, voters.collect(), chosen, |text| mask(&self.engine.mask(text)).0);
        if let Some(line) = round.line() {
            self.engine.say(LogLevel::Info, &format!("asked of several models: {}", line.replace('\n', " ")));
        }
        // What nobody can read goes back to the first who said it, with where it breaks.
        let taken = chosen.or_else(|| came.iter().position(Result::is_ok));
        let (mut answer, mut failed, mut others) = (None, Vec::new(), Vec::new());
        let (mut privacy, mut used) = (Privacy::Open, None);
        for (index, came) in came.into_iter().enumerate() {
            match came {
                Err(errors) => failed.extend(errors),
                Ok(answered) => {
                    privacy = privacy.max(answered.privacy);
                    used = sum(used, answered.completion.usage);
                    if Some(index) == taken {
                        answer = Some(answered);
                    } else if spoke(&answered.completion) {
                        // Whoever is against what is followed says why before a human approves it.
                        others.push(other(answered.completion));
                    } else if let Some(ballot) = round.ballots.get(index).filter(|ballot| ballot.kind == "none") {
                        let (name, why) = (ballot.provider.as_str(), ballot.lines.concat());
                        failed.push(ProviderError::new(name, ProviderErrorKind::Garbled, why));
                    }
                }
            }
        }
        self.rounds.lock().push(round);
        let mut all = self.others.lock();
        all.extend(others);
        let more = all.len().saturating_sub(OTHERS);
        all.drain(..more);
        drop(all);
        let Some(answered) = answer else { return Err(failed) };
        // All of them stand in the chat or the trace: what one of them drew on makes all of it as private.
        let completion = Completion { usage: used, ..answered.completion };
        Ok(Answered { completion, privacy, ..answered })
    }
}

/// What those share who answer apart from one another.
struct Shared {
    known: Known,
    /// Which asking each step is: those of one step are one.
    askings: Mutex<Vec<u64>>,
}

/// One model of a fork, or whoever is left of the cascade: asked as one alone is.
struct Alone<'a, 't> {
    turn: &'a TurnModel<'t>,
    cascade: Cascade,
    shared: Arc<Shared>,
    /// Whether others wait for it, so that it has only so long.
    waited_for: bool,
    /// How many steps it has made.
    steps: AtomicUsize,
}

impl Alone<'_, '_> {
    fn asking(&self) -> u64 {
        let step = self.steps.fetch_add(1, Ordering::Relaxed);
        let mut askings = self.shared.askings.lock();
        while askings.len() <= step {
            askings.push(self.turn.engine.next_serial().saturating_add(1));
        }
        askings.get(step).copied().unwrap_or_default()
    }
}

#[async_trait]
impl Model for Alone<'_, '_> {
    async fn complete(
        &self,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
        sink: Sink<'_>,
    ) -> Result<Answered, ModelFailure> {
        let (asking, known) = (self.asking(), &self.shared.known);
        let prompt = &|locality: Locality| Prompt { asking, ..prompt(locality) };
        match self.waited_for {
            true => {
                let came = self.turn.ask_in_time(&self.cascade, known, prompt, sink).await;
                came.map_err(ModelFailure::Exhausted)
            }
            false => self.turn.ask_one(&self.cascade, known, prompt, sink).await,
        }
    }

    async fn exactly(&self, provider: &str, prompt: &Prompt) -> Result<String, String> {
        self.turn.exactly(provider, prompt).await
    }
}

fn vote(came: &Came) -> Vote {
    match came {
        Ok(answered) => Vote::of(&answered.completion),
        Err(errors) => Vote::None(errors.first().map_or_else(|| "it failed".to_string(), |error| error.text.clone())),
    }
}

/// Tells whether an answer is words and wants nothing.
fn spoke(completion: &Completion) -> bool {
    proposal::parse(completion).is_ok_and(|(text, calls)| calls.is_empty() && !text.trim().is_empty())
}

fn words_of(completion: &Completion) -> String {
    proposal::parse(completion).map_or_else(|_| completion.text.clone(), |(text, _)| text)
}

fn other(completion: Completion) -> Other {
    let mut text = words_of(&completion);
    if let Some(told) = completion.ended.told(&completion.provider) {
        text.push_str(&format!("\n\n({told})"));
    }
    Other { provider: completion.provider, model: completion.model, text }
}

fn sum(known: Option<Usage>, more: Option<Usage>) -> Option<Usage> {
    match (known, more) {
        (Some(mut known), Some(more)) => {
            known += more;
            Some(known)
        }
        (known, more) => known.or(more),
    }
}
