//! Which models providers have: asked of themselves, kept for five minutes, with what is known of size and price.
//!
//! A list sends nothing of the user's, and yet it tells an address that the user is there, and with the key who. So a
//! provider that is not local and was never contacted is asked only when its human asks for exactly that.

use crate::domain::money::prices::Price;
use crate::domain::port::Locality;
use crate::domain::signal::Origin;
use crate::edge::engine::Engine;
use crate::edge::engine::cascade::Stand;
use crate::edge::engine::ledger::prices::price_in;
use crate::edge::engine::model::contact;
use crate::edge::engine::record::kind;
use crate::edge::provider::config::{Kind, ProviderConfig};
use crate::edge::provider::known::Place;
use crate::edge::provider::models::{Listed, add_sizes, is_named, list_models};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// For so long a list counts as it came.
const FRESH: SignedDuration = SignedDuration::from_secs(300);
/// So many providers' lists are kept at once.
const MOST: usize = 64;

/// Why a provider is not asked.
const UNMET: &str = "it was never contacted, so it is not asked for its list: its address would learn that you are \
                     there, and by your key who you are; nothing else would be sent. Ask for this one by its name";

/// The lists that came lately, by what a confirmation is bound to.
#[derive(Default)]
pub(in crate::edge) struct Lists(Mutex<HashMap<String, Kept>>);

#[derive(Clone)]
struct Kept {
    at: Timestamp,
    answer: Result<Arc<Vec<Listed>>, String>,
}

impl Lists {
    fn fresh(&self, contact: &str, now: Timestamp) -> Option<Kept> {
        let kept = self.0.lock().get(contact).cloned()?;
        let age = now.duration_since(kept.at);
        // A clock that went back says nothing.
        (!age.is_negative() && age < FRESH).then_some(kept)
    }

    /// Forgets all: what made one fail may be mended.
    pub(super) fn forget(&self) {
        self.0.lock().clear();
    }

    fn keep(&self, contact: String, kept: Kept) {
        let mut lists = self.0.lock();
        if lists.len() >= MOST {
            lists.clear();
        }
        lists.insert(contact, kept);
    }
}

/// How a list is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
    /// Anew, whatever is kept.
    pub fresh: bool,
    /// Of this provider, even when it was never contacted; only its human may wish that.
    pub contact: bool,
}

/// What came of asking a provider for its models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The provider.
    pub provider: String,
    /// When it was asked; `None` when it was not.
    pub at: Option<Timestamp>,
    /// Its models, or why there is no list and what to do.
    pub models: Result<Vec<Known>, String>,
}

/// What is known of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub name: String,
    /// The most tokens that it reads, as its provider says.
    pub context: Option<u64>,
    /// What a million tokens cost, in words.
    pub price: String,
    /// Whether it is the one that its provider is asked for.
    pub set: bool,
}

/// A provider and what is known of the model that it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// How it stands.
    pub stand: Stand,
    /// The most tokens that its model reads, where a list said so lately.
    pub context: Option<u64>,
    /// What a million tokens of its model cost, in words; `None` when it has none.
    pub price: Option<String>,
}

impl Engine {
    /// Returns a provider's models, from its own list.
    ///
    /// # Errors
    /// When there is no such provider to ask, or the channel may not have it contacted.
    pub async fn model_list(&self, origin: &Origin, name: &str, wish: Wish) -> Result<Listing, String> {
        let config = self.asked_place(name)?;
        let listing = |at, models| Listing { provider: config.name.clone(), at, models };
        let address = config.address().map_err(|why| why.to_string())?;
        let contact = contact(&config.name, &address.shown());
        if place_of(&config) == Locality::Remote && !self.is_met(&contact).await? {
            if !wish.contact {
                return Ok(listing(None, Err(UNMET.to_string())));
            }
            if !origin.rights.may_steer() {
                let way_out = "do it in Emacs, or in a terminal that the agent did not start";
                return Err(format!("this channel may not have a new provider contacted; {way_out}"));
            }
        }
        let known = self.lists.fresh(&contact, self.clock.now()).filter(|_| !wish.fresh);
        let kept = match known {
            Some(kept) => kept,
            None => {
                let kept = Kept { at: self.clock.now(), answer: self.fetch_list(&config).await };
                self.lists.keep(contact, kept.clone());
                kept
            }
        };
        let models = kept.answer.map(|models| self.known_models(&config, &models));
        Ok(listing(Some(kept.at), models))
    }

    /// Returns the names of the providers that can be asked for their models.
    pub fn listable(&self) -> Vec<String> {
        self.all_places()
            .into_iter()
            .filter(|place| matches!(place, Place::Asked(_)))
            .map(|p| p.name().into())
            .collect()
    }

    /// Returns how every provider stands, those in no cascade last, each with what is known of its model. Nobody is asked.
    pub async fn standings(&self) -> Vec<Standing> {
        let mut stands = self.stands().await;
        for place in self.all_places() {
            let known = stands.iter().any(|stand| stand.name == place.name());
            let (Place::Asked(config), false) = (&place, known) else { continue };
            stands.push(Stand {
                name: config.name.clone(),
                locality: Some(config.locality()),
                state: "unused",
                why: String::new(),
                model: config.model.clone(),
                pictures: config.pictures,
            });
        }
        let (own, now) = (self.own_prices().0, self.clock.now());
        let standing = |stand: Stand| {
            let place = stand.locality.filter(|_| !stand.model.is_empty());
            let listed = place.and_then(|_| self.listed(&stand.name, now));
            let price = place.map(|place| {
                let price = price_in(&own, &stand.name, place, &stand.model, now).unwrap_or_default();
                price_words(price, listed.as_ref().and_then(|model| model.price))
            });
            Standing { context: listed.and_then(|model| model.context), price, stand }
        };
        stands.into_iter().map(standing).collect()
    }

    /// Returns what the last list said of the model that a provider is asked for.
    pub(super) fn listed(&self, name: &str, now: Timestamp) -> Option<Listed> {
        let config = self.asked_place(name).ok()?;
        let kept = self.lists.fresh(&contact(name, &config.address().ok()?.shown()), now)?;
        kept.answer.ok()?.iter().find(|model| is_named(&model.name, &config.model, config.kind)).cloned()
    }

    /// Returns the places of every provider that is set up, in a cascade or in none.
    fn all_places(&self) -> Vec<Place> {
        let mut names = self.cascade.read().cascades().names();
        let more: Vec<String> = self.places_of(&[]).iter().map(|place| place.name().to_string()).collect();
        names.extend(more);
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        self.places_of(&names)
    }

    /// Returns the settings of a provider that is asked over HTTP.
    ///
    /// # Errors
    /// Why there is none of that name.
    pub(super) fn asked_place(&self, name: &str) -> Result<ProviderConfig, String> {
        match self.places_of(&[name.to_string()]).pop() {
            Some(Place::Asked(config)) => Ok(config),
            Some(Place::Left { why, .. }) => Err(why),
            Some(Place::Recall) => Err("it is built in, and has no models".to_string()),
            Some(Place::Replay { .. }) => Err("it plays a cassette, and has no models of its own".to_string()),
            None => Err("name a provider".to_string()),
        }
    }

    /// Returns whether a human confirmed this contact before. What cannot be read was not confirmed.
    pub(super) async fn is_met(&self, contact: &str) -> Result<bool, String> {
        let latest = self.archive.latest(kind::CONFIRMATION, contact.to_string()).await;
        latest.map(|record| record.is_some()).map_err(|why| format!("the confirmed providers could not be read: {why}"))
    }

    async fn fetch_list(&self, config: &ProviderConfig) -> Result<Arc<Vec<Listed>>, String> {
        let clients = self.clients().map_err(|error| format!("no HTTP client: {error}"))?;
        let mut models = list_models(config, &clients, &self.vault).await.map_err(|error| error.to_string())?;
        if config.kind == Kind::Ollama {
            add_sizes(&mut models, config, &clients).await;
        }
        Ok(Arc::new(models))
    }

    fn known_models(&self, config: &ProviderConfig, models: &[Listed]) -> Vec<Known> {
        let (own, now) = (self.own_prices().0, self.clock.now());
        let known = |model: &Listed| {
            let place = ProviderConfig { model: model.name.clone(), ..config.clone() }.locality();
            let price = price_in(&own, &config.name, place, &model.name, now).unwrap_or_default();
            Known {
                name: model.name.clone(),
                context: model.context,
                price: price_words(price, model.price),
                set: is_named(&model.name, &config.model, config.kind),
            }
        };
        models.iter().map(known).collect()
    }
}

/// Returns where a list is asked for: what a server forwards makes its own list no farther away.
fn place_of(config: &ProviderConfig) -> Locality {
    ProviderConfig { model: String::new(), ..config.clone() }.locality()
}

/// Says what a million tokens cost by our tables, or else by the provider's list, by which nothing is counted.
pub(super) fn price_words(table: Option<Price>, listed: Option<Price>) -> String {
    match (table, listed) {
        (Some(Price::NOTHING), _) => "nothing".to_string(),
        (Some(price), _) => price.to_string(),
        (None, Some(price)) => format!("unknown here; its list says {price}"),
        (None, None) => "unknown".to_string(),
    }
}
