//! The cascade as one turn sees it: who may be asked, and what an answer drew on.

use crate::domain::factor::Factor;
use crate::domain::gate::facts::QuotedNote;
use crate::domain::id::{NodeId, SessionId};
use crate::domain::inert::exact;
use crate::domain::label::Privacy;
use crate::domain::memory::view::View;
use crate::domain::outside::Outside;
use crate::domain::port::{
    Answered, Apart, AtPoint, Locality, LogLevel, Model, ModelFailure, Profile, Prompt, Provider, ProviderError,
    ProviderErrorKind, Sink, Streamed,
};
use crate::domain::recall::answer::Narrowed;
use crate::domain::route::{Asked, Cascades, Ground, Route, Slot};
use crate::domain::sexp::reader::Sexp;
use crate::domain::turn::consensus::{Other, Round, Together};
use crate::domain::turn::prompt::tokens;
use crate::edge::config::ProviderSettings;
use crate::edge::engine::Engine;
use crate::edge::engine::briefing::Briefings;
use crate::edge::engine::ledger::Behalf;
use crate::edge::engine::quotations::Quoted;
use crate::edge::engine::record::kind;
use crate::edge::provider::cascade::{Cascade, Meter, Metered, Permit};
use crate::edge::provider::config::ProviderConfig;
use crate::edge::provider::http::{Clients, Limits, Timeouts};
use crate::edge::provider::known::{Declared, Place, places};
use crate::edge::provider::pictures::takes;
use crate::edge::provider::recall::{RecallProvider, Source};
use crate::edge::provider::replay::Replay;
use crate::edge::provider::retry::Retries;
use crate::edge::provider::served::Served;
use crate::edge::provider::shown::shown;
use crate::edge::secret::{Secret, keys_of};
use crate::edge::thread::in_place;
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The cascade as one turn sees it.
pub struct TurnModel<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The conversation: it is labelled as soon as something private stands in it.
    pub session: SessionId,
    /// Names the turn among those of this run of the program.
    pub serial: u64,
    /// The node at point when the turn began, which the models are told of.
    pub focus: Option<NodeId>,
    /// Who is asked in place of the usual ones, where the conversation's preset says so.
    pub preset: Option<Cascade>,
    /// The providers that the heading leaves where the turn began, in lower case; `None` for all.
    pub models: Option<BTreeSet<String>>,
    /// The most tokens of a prompt, as its provider counts them.
    pub most: usize,
    /// What of memory the models are told.
    pub briefings: &'a Briefings<'a>,
    /// Whether somebody can be asked about a first contact.
    pub attended: bool,
    /// Whether whoever asks may be told the titles of private notes.
    pub names_private: bool,
    /// On whose behalf: it stands in the ledger.
    pub behalf: Arc<Behalf>,
    /// What the user typed to set it off.
    pub typed: String,
    /// Who was asked by which rule, in words; each once.
    pub routes: Mutex<Vec<String>>,
    /// The kind of work that it was asked for last.
    pub slot: Mutex<Option<Slot>>,
    /// Whether the user wants several asked at once; `None` leaves it to the settings of the slot.
    pub together: Option<Together>,
    /// What came of it, each time that several were asked at once.
    pub rounds: Mutex<Vec<Round>>,
    /// The answers in words beside those that were followed.
    pub others: Mutex<Vec<Other>>,
}

/// Why a conversation that drew on what asks goes to no model elsewhere.
const ASKS: &str = "the conversation holds notes that you want to be asked about; /share lets them go to models \
                    elsewhere in this conversation, or use a model that runs here";

/// Why a provider that nobody confirmed is not contacted where nobody can be asked.
const UNATTENDED: &str = "it was never contacted before, and nobody can be asked here whether it may be; ask something \
                          in Emacs or at a terminal once, and confirm it there";

/// Returns what a confirmation of a provider is bound to: its name and where it is.
pub fn contact(name: &str, url: &str) -> String {
    format!("{name} {url}")
}

#[async_trait]
impl Model for TurnModel<'_> {
    async fn complete(
        &self,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
        sink: Sink<'_>,
    ) -> Result<Answered, ModelFailure> {
        let (route, cascade) = self.routed().await;
        let asking = self.engine.next_serial().saturating_add(1);
        let prompt = &|locality: Locality| Prompt { asking, ..prompt(locality) };
        // Read each time: the user may have confirmed one since the turn began.
        let known = self.known(&cascade).await;
        match self.together_in(route.slot) {
            Some(together) => self.ask_together(together, &cascade, &known, prompt, sink).await,
            None => self.ask_one(&cascade, &known, prompt, sink).await,
        }
    }

    async fn apart<'a>(
        &'a self,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
    ) -> Result<Option<Apart<'a>>, ModelFailure> {
        self.forked(prompt).await
    }

    async fn exactly(&self, provider: &str, prompt: &Prompt) -> Result<String, String> {
        // The model may have been chosen for this request alone.
        let (_, cascade) = self.route(true).await;
        let found = cascade.providers().find(|known| known.name() == provider);
        let config = found.and_then(|found| self.engine.config_of(found));
        let config = config.ok_or_else(|| format!("{provider} cannot be asked now"))?;
        let clients = self.engine.clients().map_err(|why| format!("no HTTP client: {why}"))?;
        let shown = shown(&config, prompt, &clients, self.engine.vault.clone()).await?;
        Ok(format!("POST {}\n{}\n\n{}", shown.url, shown.headers.join("\n"), shown.body))
    }
}

/// Whom it is looked ahead for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reader {
    /// Where it runs; anywhere without it.
    pub(super) at: Option<Locality>,
    /// Whether the user's own function, and who makes vectors, may be called in order to know.
    pub(super) by_asking: bool,
}

impl Reader {
    /// Whoever would be asked first, by all that would be looked at.
    pub(super) const FIRST: Reader = Reader { at: None, by_asking: true };

    fn is(self, locality: Locality) -> bool {
        let elsewhere = |locality: Locality| locality == Locality::Remote;
        self.at.is_none_or(|at| elsewhere(at) == elsewhere(locality))
    }
}

/// Who would be asked first, and what.
#[derive(Clone, Debug)]
pub struct Foreseen {
    /// Its name.
    pub name: String,
    /// The model.
    pub model: String,
    /// Where it runs.
    pub locality: Locality,
    /// How many tokens it counts for one of ours.
    pub factor: f64,
    /// Its settings; `None` for what has none, as it is built in or plays a cassette.
    pub provider: Option<ProviderConfig>,
    /// What it would be sent.
    pub prompt: Box<Prompt>,
}

/// What is known of a conversation and its providers before one of them is asked.
pub(super) struct Known {
    /// The confirmed ones, as [`contact`] names them.
    confirmed: BTreeSet<String>,
    /// Whether it is known what was spent.
    recalled: Result<(), String>,
    /// Whether the user lets in this conversation what asks.
    shared: bool,
}

/// A prompt as it may be sent, by what it quotes.
pub(super) struct Unquoted {
    /// The prompt, as private as that.
    pub(super) prompt: Prompt,
    /// How private the conversation is from it.
    label: Privacy,
    /// What it quotes that only warns, and in which part of what is told beside the conversation: the user is told once
    /// it went elsewhere.
    warns: Vec<(QuotedNote, Option<String>)>,
}

impl TurnModel<'_> {
    pub(super) async fn known(&self, cascade: &Cascade) -> Known {
        let confirmed = self.engine.confirmed(cascade).await;
        let recalled = self.engine.recall_spent(&self.session.0, &self.behalf).await;
        Known { confirmed, recalled, shared: self.engine.is_shared(&self.session) }
    }

    /// Returns the tokens of a prompt, as we count them.
    pub(super) fn counted(&self, prompt: &Prompt) -> usize {
        tokens(prompt, self.engine.tokens.as_ref())
    }

    /// Decides on a provider that is not this program itself; the prompt that it would be sent has so many tokens.
    pub(super) fn permit(&self, known: &Known, provider: &dyn Profile, prompt: &Prompt, counted: usize) -> Permit {
        let most = self.most;
        let too_long = || {
            let factor = self.engine.factor(provider);
            let tokens = factor.theirs(counted);
            // What fits into the room that was found for it is judged no second time, whatever was learned meanwhile.
            let long = counted > prompt.room && tokens > most;
            let beside = |at_point: AtPoint| factor.theirs(counted.saturating_sub(at_point.tokens)) <= most;
            let at_point = prompt.at_point.filter(|point| !point.told || (long && beside(*point)));
            if let Some(AtPoint { tokens, .. }) = at_point {
                let tokens = factor.theirs(tokens);
                return Some(format!(
                    "the heading at point takes {tokens} tokens with all below it, and a prompt holds \
                     {most} in all; move point to a heading below it"
                ));
            }
            long.then(|| {
                format!("the prompt has {tokens} tokens, and CONTEXT_MAX_TOKENS, PP_BUDGET or a preset allows {most}")
            })
        };
        let unaffordable = || {
            let affords = || self.engine.affords(provider, prompt, &self.session, &self.behalf);
            known.recalled.clone().and_then(|()| affords()).err()
        };
        match provider.locality() {
            Locality::Local | Locality::Remote if let Some(why) = self.unseen(provider, prompt) => {
                Permit::Withheld(why)
            }
            Locality::Local | Locality::Remote if let Some(why) = too_long() => Permit::Withheld(why),
            Locality::Remote if let Some(why) = unaffordable() => Permit::Withheld(why),
            Locality::Builtin | Locality::Local => Permit::Granted,
            Locality::Remote if prompt.privacy.is_kept() && !known.shared => Permit::Withheld(ASKS.to_string()),
            Locality::Remote if known.confirmed.contains(&contact(provider.name(), &provider.url())) => Permit::Granted,
            Locality::Remote if self.attended => Permit::Confirm,
            Locality::Remote => Permit::Withheld(UNATTENDED.to_string()),
        }
    }

    /// Says why a provider is not sent a prompt with pictures, where nobody says that its model takes them; and who does.
    fn unseen(&self, provider: &dyn Profile, prompt: &Prompt) -> Option<String> {
        prompt.pictures().next()?;
        let model = provider.model();
        let why = match provider.takes_pictures() {
            Some(true) => return None,
            Some(false) => format!("a picture goes along, and its model {model} takes none"),
            None => format!(
                "a picture goes along, and nobody says that its model {model} takes one; if it does, name it in \
                 passepartout-picture-models or PICTURE_MODELS"
            ),
        };
        let all = self.candidates();
        let cascade = self.engine.cascade.read().clone();
        let other = all.providers().chain(cascade.providers()).find(|other| other.takes_pictures() == Some(true));
        Some(match other {
            Some(other) => format!("{why}; {} ({}) takes pictures", other.name(), other.model()),
            None => format!("{why}; no model that is set up is known to take pictures"),
        })
    }

    /// Asks the providers of a cascade, one after the other until one answers. The one way in which a turn asks any.
    pub(super) async fn ask_one(
        &self,
        cascade: &Cascade,
        known: &Known,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
        sink: Sink<'_>,
    ) -> Result<Answered, ModelFailure> {
        let given = Mutex::new(Privacy::Open);
        let outside = Mutex::new(Outside::default());
        let (warned, marked) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        // The tokens of the prompt that was sent last, as we count them.
        let sent = Mutex::new(0);
        let watched = |locality: Locality| {
            let Unquoted { prompt: made, label, warns } = self.unquoted(prompt(locality), locality);
            *warned.lock() = warns;
            *marked.lock() = made.marked.clone();
            if locality == Locality::Remote {
                self.briefings.count_left_out();
            }
            *given.lock() = match locality {
                Locality::Builtin => Privacy::Open,
                Locality::Local | Locality::Remote => label,
            };
            *outside.lock() = match locality {
                Locality::Builtin => Outside::default(),
                Locality::Local | Locality::Remote => made.outside.clone(),
            };
            made
        };
        let mut marking = |piece: Streamed<'_>| {
            // Half an answer stays in the chat, whatever becomes of the other half; so do half thoughts.
            if !piece.is_empty() {
                self.engine.mark_private(&self.session, *given.lock());
            }
            let read = std::mem::take(&mut *outside.lock());
            if !read.is_empty() {
                self.engine.mark_outside(&self.session, &read);
            }
            sink(piece);
        };
        let permits = |provider: &dyn Profile, prompt: &Prompt| {
            let counted = self.counted(prompt);
            // What a picture takes is an estimate: a report teaches nothing of how words are counted then.
            *sent.lock() = if prompt.pictures().next().is_some() { 0 } else { counted };
            self.permit(known, provider, prompt, counted)
        };
        let mut log = |level: LogLevel, text: String| self.engine.say(level, &text);
        let before = cascade.over();
        let reply = cascade.complete(&watched, &mut marking, &mut log, &permits, self).await;
        for error in cascade.over().into_iter().filter(|error| !before.contains(error)) {
            // Once: from now on nobody asks it.
            let text = format!("{} is asked no more: {}.", error.provider, error.text);
            self.engine.say(LogLevel::Info, &text);
            self.engine.tell(&self.session, exact(&text));
        }
        let reply = reply?;
        let answered = |provider: &&dyn Profile| provider.name() == reply.completion.provider;
        if let Some(usage) = reply.completion.usage
            && let Some(provider) = cascade.providers().find(answered)
        {
            let counted = *sent.lock();
            self.engine.learn_factor(provider, counted, usage);
            if Factor::is_short(counted, usage.input) {
                let text = format!(
                    "{} reports {} tokens of a prompt of about {counted}, so it has not read all of it",
                    provider.name(),
                    usage.input
                );
                self.engine.say(LogLevel::Warning, &text);
                // Without numbers: what is told in each step of a turn stands below its answer once.
                let told = format!(
                    "{} reports that it read much less than it was sent: its window is smaller than the prompt, and it drops \
                     the rest without a word. Give the model a larger one (OLLAMA_CONTEXT_LENGTH or num_ctx with Ollama), or \
                     set CONTEXT_MAX_TOKENS to less.",
                    provider.name()
                );
                self.engine.tell(&self.session, exact(&told));
            }
        }
        self.engine.tell_passed(&self.session, &reply);
        if let Some(said) = cascade.providers().find(answered).and_then(Profile::stands_in) {
            self.engine.tell(&self.session, exact(&said));
        }
        let privacy = match reply.locality {
            // The built-in provider is given no context: it draws on what it names.
            Locality::Builtin => self.privacy_of(&reply.completion.sources),
            Locality::Local | Locality::Remote => *given.lock(),
        };
        self.engine.mark_private(&self.session, privacy);
        if reply.locality == Locality::Remote {
            // Not before: where another model answers after all, nothing of it went elsewhere.
            for (note, part) in warned.into_inner() {
                self.tell_quotation(&note, part.as_deref());
                self.engine.count_sent_tags(Some(note.tag));
            }
            self.briefings.count_marked(marked.into_inner().iter().map(|(id, _)| id));
        }
        let outside = match reply.locality {
            Locality::Builtin => self.outside_of(&reply.completion.sources),
            Locality::Local | Locality::Remote => Vec::new(),
        };
        Ok(Answered { completion: reply.completion, locality: reply.locality, privacy, outside })
    }
}

#[async_trait]
impl Meter for TurnModel<'_> {
    async fn open<'a>(
        &'a self,
        provider: &'a dyn Profile,
        prompt: &'a Prompt,
    ) -> Result<Box<dyn Metered + 'a>, String> {
        let call = self.engine.open_call(provider, prompt, &self.session, &self.behalf).await?;
        if provider.locality() == Locality::Remote {
            // Not before: whoever is not asked was given nothing.
            let asks = self.briefings.take_asks();
            if prompt.privacy < Privacy::Private {
                self.engine.tell_left_out(&self.session, &asks, self.names_private);
            }
        }
        self.engine.keep_sent(&self.session, self.serial, provider, prompt, call.came());
        Ok(Box::new(call))
    }
}

impl TurnModel<'_> {
    /// Returns the providers among whom it is chosen who is asked now.
    fn candidates(&self) -> Cascade {
        self.preset.clone().unwrap_or_else(|| self.engine.cascade.read().clone())
    }

    /// Returns the most tokens that a prompt may have now, as we count them, whoever of the candidates is asked.
    pub(super) fn room(&self) -> usize {
        self.engine.greatest_factor(&self.candidates()).ours(self.most)
    }

    /// Learns from the store how those count who may be asked.
    pub(super) async fn load_factors(&self) {
        self.engine.load_factors(&self.candidates()).await;
    }

    /// Returns the providers that may be asked now, and why these.
    async fn route(&self, by_asking: bool) -> (Route, Cascade) {
        let (work, text, models) = (self.behalf.work, self.typed.as_str(), self.models.as_ref());
        let private = self.engine.ground(&self.session, self.focus.as_ref());
        let private = private.map(|ground| ground.told(self.names_private));
        let asked = Asked { work, text, private, models };
        self.load_factors().await;
        self.engine.routed(&asked, self.candidates(), by_asking).await
    }

    /// Returns whether a model elsewhere may be asked what was typed: all that it goes by stands before the first request.
    pub(super) async fn asks_elsewhere(&self) -> bool {
        let (_, cascade) = self.route(true).await;
        cascade.providers().any(|provider| provider.locality() == Locality::Remote)
    }

    /// Finds out who would be asked first, and what, by all that is looked at before somebody is asked. Nobody is.
    ///
    /// # Errors
    /// Why nobody would be.
    pub(super) async fn foresee(
        &self,
        prompt: &(dyn Fn(Locality) -> Prompt + Send + Sync),
        reader: Reader,
    ) -> Result<Foreseen, String> {
        let (_, cascade) = self.route(reader.by_asking).await;
        let known = self.known(&cascade).await;
        let judged = |locality: Locality| {
            let prompt = prompt(locality);
            let quoted = self.quoted(&prompt, locality).privacy();
            Prompt { privacy: quoted.map_or(prompt.privacy, |quoted| quoted.max(prompt.privacy)), ..prompt }
        };
        let permits =
            |provider: &dyn Profile, prompt: &Prompt| self.permit(&known, provider, prompt, self.counted(prompt));
        match cascade.first(&judged, &permits, &|locality| reader.is(locality)) {
            Ok((provider, prompt)) => Ok(Foreseen {
                name: provider.name().to_string(),
                model: provider.model().to_string(),
                factor: self.engine.factor(provider).value(),
                locality: provider.locality(),
                provider: self.engine.config_of(provider),
                prompt: Box::new(prompt),
            }),
            Err(refused) if refused.is_empty() => Err("none is set up".to_string()),
            Err(refused) => Err(refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
        }
    }

    /// Returns the providers that may be asked now, and keeps for the trace why these.
    pub(super) async fn routed(&self) -> (Route, Cascade) {
        let (route, cascade) = self.route(true).await;
        *self.slot.lock() = Some(route.slot);
        let (words, mut routes) = (route.words(), self.routes.lock());
        if !routes.contains(&words) {
            // What the user's own function says is not ours.
            let privacy = if route.own_choice.is_none() { Privacy::Open } else { Privacy::Private };
            self.engine.say_of(LogLevel::Info, privacy, &format!("asked of models: {words}"));
            routes.push(words);
        }
        drop(routes);
        (route, cascade)
    }

    /// Returns the notes more private than a prompt whose words stand in it. What is told beside the conversation may
    /// stand before a model that runs here.
    fn quoted(&self, prompt: &Prompt, locality: Locality) -> Quoted {
        let quoted = match (locality, prompt.privacy) {
            // The built-in provider reads what was typed alone, and sends nothing.
            (Locality::Builtin, _) | (_, Privacy::Private) => Quoted::default(),
            (Locality::Local | Locality::Remote, Privacy::Open | Privacy::Warn | Privacy::Ask) => {
                in_place(|| self.engine.quoted_in(prompt)).beyond(prompt.privacy)
            }
        };
        match locality {
            Locality::Remote => quoted,
            Locality::Builtin | Locality::Local => Quoted { beside: None, ..quoted },
        }
    }

    /// Returns a prompt as private as what it quotes: of what is kept only a model that runs here may have it. Where the
    /// conversation quotes it, it counts as private from now on; where that stands beside it, this prompt alone does.
    pub(super) fn unquoted(&self, prompt: Prompt, locality: Locality) -> Unquoted {
        let quoted = self.quoted(&prompt, locality);
        let (own, most) = (prompt.privacy, quoted.privacy());
        let label = quoted.said.as_ref().map_or(own, |note| note.privacy);
        let said = quoted.said.map(|note| (note, None));
        let beside = quoted.beside.map(|(note, part)| (note, Some(part)));
        let (kept, warns): (Vec<_>, Vec<_>) =
            said.into_iter().chain(beside).partition(|(note, _)| note.privacy.is_kept());
        for (note, part) in kept {
            let first = part.is_none() && self.engine.known_privacy(&self.session) < note.privacy;
            if part.is_none() {
                self.engine.mark_private(&self.session, note.privacy);
            }
            let goes = note.privacy < Privacy::Private && self.engine.is_shared(&self.session);
            let new = !goes && self.tell_quotation(&note, part.as_deref());
            if first || (new && part.is_some()) {
                self.engine.count_tags([note.tag]);
            }
        }
        Unquoted { prompt: Prompt { privacy: most.unwrap_or(own).max(own), ..prompt }, label, warns }
    }

    fn tell_quotation(&self, note: &QuotedNote, part: Option<&str>) -> bool {
        let title = self.names_private.then_some(note.title.as_str());
        self.engine.tell_quotation(&self.session, part, title, note.privacy)
    }

    fn outside_of(&self, sources: &[NodeId]) -> Vec<crate::domain::outside::Piece> {
        let view = self.engine.view();
        let nodes: Vec<_> = sources.iter().filter_map(|id| view.get(id)).collect();
        in_place(|| self.engine.outside_of_nodes(&nodes))
    }

    fn privacy_of(&self, sources: &[NodeId]) -> Privacy {
        let view = self.engine.view();
        let labels = sources.iter().map(|id| view.get(id).map_or(Privacy::Private, |node| node.privacy()));
        labels.max().unwrap_or(Privacy::Open)
    }
}

/// Memory as the built-in provider sees it: the user's own, on this machine.
struct Present(Weak<Engine>);

impl Source for Present {
    fn view(&self) -> View {
        self.0.upgrade().map(|engine| engine.view_in_sight()).unwrap_or_default()
    }

    fn search(&self, query: &str, limit: usize) -> Vec<(NodeId, f32)> {
        let Some(engine) = self.0.upgrade() else { return Vec::new() };
        let view = engine.view_in_sight();
        let hits = crate::domain::context::rank::search(&view, &engine.index(), query, limit, Privacy::Private);
        hits.into_iter().map(|hit| (hit.id, hit.score)).collect()
    }

    fn focus(&self) -> Option<NodeId> {
        self.0.upgrade().and_then(|engine| engine.focus())
    }

    fn narrowed(&self) -> Option<Narrowed> {
        self.0.upgrade().and_then(|engine| engine.narrowed_to())
    }
}

impl Engine {
    /// Returns why nothing of a conversation may leave now, if so: by where point is, and where it was when a turn began.
    pub(super) fn ground(&self, session: &SessionId, began: Option<&NodeId>) -> Option<Ground> {
        if self.known_privacy(session) == Privacy::Private {
            return Some(Ground::Conversation);
        }
        let (now, view) = (self.focus(), self.view());
        // Of a heading that is gone nothing is told.
        let mut points = began.into_iter().chain(now.as_ref()).filter_map(|id| view.get(id));
        points.any(|node| node.privacy() == Privacy::Private).then_some(Ground::Focus)
    }

    /// Returns which providers of a cascade the user confirmed, of those that are not local, as [`contact`] names them.
    pub(super) async fn confirmed(&self, cascade: &Cascade) -> BTreeSet<String> {
        let mut confirmed = BTreeSet::new();
        for provider in cascade.providers().filter(|provider| provider.locality() == Locality::Remote) {
            let contact = contact(provider.name(), &provider.url());
            match self.archive.latest(kind::CONFIRMATION, contact.clone()).await {
                Ok(Some(_)) => {
                    confirmed.insert(contact);
                }
                Ok(None) => {}
                Err(why) => {
                    self.say(LogLevel::Warning, &format!("the confirmed providers could not be read: {why}"));
                    break;
                }
            }
        }
        confirmed
    }

    /// Sets the providers up anew by what a client says of them, with further keys. Turns that have begun to ask go on
    /// with those before. Returns the names in their order.
    pub fn follow_providers(self: &Arc<Self>, settings: &Sexp) -> Vec<String> {
        self.vault.add(keys_of(settings));
        let unknown = self.providers.write().take(settings);
        unknown.iter().for_each(|why| self.say(LogLevel::Warning, why));
        // What made them fail may be mended.
        self.standing.forget();
        self.lists.forget();
        self.set_up_cascade();
        self.provider_names().0
    }

    /// Returns what places the settings give providers.
    pub(super) fn places(&self) -> Vec<Place> {
        let names = self.providers.read().names().unwrap_or_default().to_vec();
        self.places_of(&names)
    }

    /// Sets the providers up anew by the settings as they are now, with further keys; what the user chose at run time
    /// stays. Returns the names in their order.
    pub fn replace_providers(
        self: &Arc<Self>,
        settings: ProviderSettings,
        keys: impl IntoIterator<Item = (String, Secret)>,
    ) -> Vec<String> {
        self.vault.add(keys);
        {
            let mut known = self.providers.write();
            let (chosen, models) = (known.chosen.take(), std::mem::take(&mut known.models));
            *known = ProviderSettings { chosen, models, ..settings };
        }
        self.standing.forget();
        self.lists.forget();
        self.set_up_cascade();
        self.provider_names().0
    }

    /// Returns what place each of these names has; without any, what the settings give.
    pub(super) fn places_of(&self, names: &[String]) -> Vec<Place> {
        let models = self.providers.read().models.clone();
        self.places_with(names, &models)
    }

    /// Does the same with these models in place of those that were chosen.
    pub(super) fn places_with(&self, names: &[String], models: &BTreeMap<String, String>) -> Vec<Place> {
        let (declared, seeing): (Vec<Declared>, _) = {
            let settings = self.providers.read();
            (settings.declared.iter().map(Declared::from).collect(), settings.picture_models.clone())
        };
        let mut places = places(names, &declared, &self.vault);
        for place in &mut places {
            if let Place::Asked(config) = place {
                if let Some(model) = models.get(&config.name) {
                    config.model.clone_from(model);
                }
                config.pictures = takes(&config.model, &seeing);
            }
        }
        places
    }

    /// Returns the HTTP clients of everything that asks models or embedders; they are made once, so that connections stay.
    pub(super) fn clients(&self) -> Result<Clients, reqwest::Error> {
        let mut kept = self.clients.lock();
        if let Some(clients) = &*kept {
            return Ok(clients.clone());
        }
        let (config, seconds) = (&self.config, Duration::from_secs);
        let timeouts = Timeouts {
            connect: seconds(config.connect_timeout),
            first: seconds(config.request_timeout),
            stall: seconds(config.stall_timeout),
            whole: seconds(config.answer_timeout),
        };
        let retries = Retries::new(config.request_tries, seconds(config.retry_wait));
        Ok(kept.insert(Clients::new(timeouts)?.retrying(retries).taped(self.deck.clone())).clone())
    }

    /// Builds the cascade from the settings.
    pub(super) fn set_up_cascade(self: &Arc<Self>) {
        let mut places = self.places();
        let slots = self.providers.read().slots().clone();
        let cascades = Cascades { usual: places.iter().map(|place| place.name().to_string()).collect(), slots };
        let more: Vec<String> = cascades.names().into_iter().filter(|name| !cascades.usual.contains(name)).collect();
        if !more.is_empty() {
            places.extend(self.places_of(&more));
        }
        let (providers, left) = self.built(places);
        for error in &left {
            self.say(LogLevel::Info, &format!("provider left out: {error}"));
        }
        *self.cascade.write() = Cascade::new(providers, left).of(cascades).remembering(self.standing.clone());
    }

    /// Builds the providers at these places, and says who is left out.
    pub(super) fn built(self: &Arc<Self>, places: Vec<Place>) -> (Vec<Arc<dyn Provider>>, Vec<ProviderError>) {
        let (mut providers, mut left): (Vec<Arc<dyn Provider>>, Vec<ProviderError>) = (Vec::new(), Vec::new());
        let refused = |provider: String, text: String| ProviderError::new(provider, ProviderErrorKind::Refused, text);
        let clients = self.clients();
        for place in places {
            match (place, &clients) {
                (Place::Recall, _) => {
                    providers.push(Arc::new(RecallProvider::new(Arc::new(Present(Arc::downgrade(self))))))
                }
                (Place::Left { name, why }, _) => left.push(refused(name, why)),
                (Place::Asked(ProviderConfig { name, .. }) | Place::Replay { name, .. }, Err(error)) => {
                    left.push(refused(name, format!("no HTTP client: {error}")))
                }
                (Place::Replay { name, path }, Ok(clients)) => {
                    providers.push(Arc::new(Replay::new(name, self.playback(path), clients, self.vault.clone())))
                }
                (Place::Asked(config), Ok(clients)) => {
                    let name = config.name.clone();
                    match Served::new(config, clients, Limits::default(), self.vault.clone()) {
                        Ok(served) => providers.push(Arc::new(served)),
                        Err(error) => left.push(refused(name, error.to_string())),
                    }
                }
            }
        }
        (providers, left)
    }

    /// Builds those of the providers at these places that are asked over HTTP, without those who cannot be.
    pub(super) fn served(&self, places: Vec<Place>) -> Vec<Arc<dyn Provider>> {
        let Ok(clients) = self.clients() else { return Vec::new() };
        let served = |place: Place| match place {
            Place::Asked(config) => Served::new(config, &clients, Limits::default(), self.vault.clone()).ok(),
            Place::Recall | Place::Replay { .. } | Place::Left { .. } => None,
        };
        places.into_iter().filter_map(served).map(|served| Arc::new(served) as Arc<dyn Provider>).collect()
    }

    /// Returns the names of the providers that are set up, and why others are left out.
    pub fn provider_names(&self) -> (Vec<String>, Vec<String>) {
        let cascade = self.cascade.read();
        let names = cascade.providers().map(|provider| provider.name().to_string()).collect();
        (names, cascade.left().iter().map(ToString::to_string).collect())
    }
}
