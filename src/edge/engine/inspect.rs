//! What leaves this machine, exactly: the last request that was sent, or the next one.

use crate::domain::id::SessionId;
use crate::domain::label::Privacy;
use crate::domain::port::{Locality, Profile, Prompt};
use crate::domain::signal::{Origin, Source};
use crate::edge::engine::Engine;
use crate::edge::engine::ledger::{Came, Ended};
use crate::edge::engine::turns::Ask;
use crate::edge::provider::config::ProviderConfig;
use crate::edge::provider::known::Place;
use crate::edge::provider::shown::shown;
use crate::edge::secret::MASK;
use crate::edge::thread::aside;
use std::sync::Arc;

/// So many prompts are kept, in memory alone.
const KEPT: usize = 16;
/// What stands in the place of something that is not shown begins with one of these.
pub(super) const MASKS: [&str; 2] = ["⟨hidden: ", MASK];

/// A prompt that was sent.
pub struct Sent {
    session: SessionId,
    /// In which turn.
    turn: u64,
    /// As its settings were then.
    provider: ProviderConfig,
    at: jiff::Timestamp,
    prompt: Prompt,
    /// What came of it, once that is known.
    came: Came,
}

/// Whether words of private notes stand in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// No ten words in a row of a note that its reader may not see.
    Absent,
    /// There are some.
    Quoted,
    /// It stays on this machine, and private notes may stand in it.
    Here,
    /// The words of private notes are not known yet.
    Unknown,
}

/// A request, exactly.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Where it goes.
    pub url: String,
    /// When it was sent; `None` for the next one.
    pub sent: Option<jiff::Timestamp>,
    /// What came of it; `None` while it is not over.
    pub came: Option<Ended>,
    /// Its headers and, after an empty line, its body.
    pub text: String,
    /// How many secrets were taken out.
    pub redacted: usize,
    /// How many headings its reader may not see.
    pub kept_out: usize,
    /// How many headings stand in it: in what is told of memory, and in what tools read.
    pub nodes: usize,
    /// How many of these its reader may not see now; none could when it was made.
    pub above: usize,
    /// Whether any of them stands in it.
    pub proof: Proof,
}

impl Engine {
    /// Keeps a prompt that is about to be sent, for the user to look at.
    pub(super) fn keep_sent(
        &self,
        session: &SessionId,
        turn: u64,
        provider: &dyn Profile,
        prompt: &Prompt,
        came: Came,
    ) {
        // Of what is played from a cassette nothing is sent.
        let Some(provider) = self.config_of(provider) else { return };
        let (session, at) = (session.clone(), self.clock.now());
        let mut all = self.sent_last.lock();
        all.truncate(KEPT - 1);
        all.push_front(Sent { session, turn, provider, at, prompt: prompt.clone(), came });
    }

    /// Returns the last request of a conversation, with the last one that each other provider was sent in the same turn, as
    /// several were asked or the first ones failed; in the order in which they went out. In Emacs it is one of any
    /// conversation, when this one sent none: its buffers belong to one human.
    ///
    /// # Errors
    /// When none was sent since the start, or one cannot be shown.
    pub async fn inspect_last(self: &Arc<Self>, origin: &Origin) -> Result<Vec<Inspected>, String> {
        let mut found: Vec<(ProviderConfig, jiff::Timestamp, Prompt, Came)> = Vec::new();
        {
            let all = self.sent_last.lock();
            let own = all.iter().find(|sent| sent.session == origin.session);
            let turn = own.or_else(|| all.front().filter(|_| origin.source == Source::Emacs)).map(|sent| sent.turn);
            for sent in all.iter().filter(|sent| Some(sent.turn) == turn) {
                if !found.iter().any(|(provider, ..)| provider.name == sent.provider.name) {
                    found.push((sent.provider.clone(), sent.at, sent.prompt.clone(), sent.came.clone()));
                }
            }
        }
        found.reverse();
        if found.is_empty() {
            return Err("nothing was sent to a model since the start".to_string());
        }
        let mut all = Vec::new();
        for (provider, at, prompt, came) in found {
            let came = *came.lock();
            all.push(Inspected { came, ..self.inspected(provider, prompt, Some(at)).await? });
        }
        Ok(all)
    }

    /// Returns the request that a question would be sent with: to the first provider that may have it, or that you would
    /// have to confirm for it.
    ///
    /// # Errors
    /// When no provider may, or it cannot be shown.
    pub async fn inspect_next(self: &Arc<Self>, ask: Ask) -> Result<Inspected, String> {
        let foreseen = self.foresee(ask).await.map_err(|why| format!("no model would be sent this: {why}"))?;
        let config = foreseen.provider.ok_or(match foreseen.locality {
            Locality::Builtin => "nothing would be sent: the built-in provider answers this, and no model is asked",
            Locality::Local | Locality::Remote => "nothing would be sent: answers are played from a cassette",
        })?;
        self.inspected(config, *foreseen.prompt, None).await
    }

    async fn inspected(
        self: &Arc<Self>,
        config: ProviderConfig,
        prompt: Prompt,
        sent: Option<jiff::Timestamp>,
    ) -> Result<Inspected, String> {
        let clients = self.clients().map_err(|why| format!("no HTTP client: {why}"))?;
        let shown = shown(&config, &prompt, &clients, self.vault.clone()).await?;
        let local = config.locality() != Locality::Remote;
        let engine = self.clone();
        let (nodes, (above, kept_out, proof)) = aside(move || (prompt.nodes.len(), engine.proof(&prompt, local))).await;
        let text = format!("{}\n\n{}", shown.headers.join("\n"), shown.body);
        let redacted = MASKS.iter().map(|mask| shown.body.matches(mask).count()).sum();
        let (provider, model, url) = (config.name, config.model, shown.url);
        Ok(Inspected { provider, model, url, sent, came: None, text, redacted, kept_out, nodes, above, proof })
    }

    /// Counts which of its headings the reader may not see, and all such headings, and looks for words of these.
    fn proof(&self, prompt: &Prompt, local: bool) -> (usize, usize, Proof) {
        if local {
            return (0, 0, Proof::Here);
        }
        let (view, most) = (self.view(), prompt.privacy.max(Privacy::ELSEWHERE));
        let above = prompt.nodes.iter().filter_map(|id| view.get(id)).filter(|node| node.privacy() > most).count();
        let kept_out = view.nodes().filter(|node| node.privacy() > most).count();
        if kept_out > 0 && !self.knows_every_quotation() {
            return (above, kept_out, Proof::Unknown);
        }
        match self.quoted_in(prompt).privacy() {
            Some(privacy) if privacy > most => (above, kept_out, Proof::Quoted),
            Some(_) | None => (above, kept_out, Proof::Absent),
        }
    }

    /// Returns the settings of a provider, with the model that it asks.
    pub(super) fn config_of(&self, provider: &dyn Profile) -> Option<ProviderConfig> {
        let place = self.places_of(&[provider.name().to_string()]).into_iter().next();
        place.and_then(|place| match place {
            Place::Asked(config) => {
                let (model, pictures) = (provider.model().to_string(), provider.takes_pictures());
                Some(ProviderConfig { model, pictures, ..config })
            }
            Place::Replay { .. } | Place::Recall | Place::Left { .. } => None,
        })
    }
}
