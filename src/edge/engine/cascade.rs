//! The order of providers as the user sets it at run time, and how each provider stands.
//!
//! What is set so comes before what the settings say, until the program ends or, kept in a record of the store, until it
//! is taken back. Only a human's own channel sets it. It confirms nobody: who may be sent what is judged as before.

use crate::domain::inert::exact;
use crate::domain::port::{Locality, LogLevel, Provider};
use crate::domain::route::Slot;
use crate::domain::signal::Origin;
use crate::edge::clock::local;
use crate::edge::engine::record::kind;
use crate::edge::engine::{Engine, Notice};
use crate::edge::provider::cascade::Cascade;
use crate::edge::provider::known::Place;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The key of the only record of its kind.
const KEY: &str = kind::CASCADE;
/// The most providers that stand in a cascade.
const MOST: usize = 32;
/// The longest name of a model, in bytes.
const LONGEST: usize = 200;

/// What becomes of the order of providers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// These, in this order.
    These {
        /// Their names; behind a slash may stand the model that is asked of one.
        names: Vec<String>,
        /// Whether it holds for good, or until the program ends.
        keep: bool,
    },
    /// As the settings say again.
    Usual,
}

impl Choice {
    /// Reads what stands behind `/cascade`: `NAME…`, `keep NAME…` or `usual`; `None` when nothing does.
    pub fn parse(words: &str) -> Option<Choice> {
        let mut names: Vec<String> =
            words.split([' ', ',', '\t']).filter(|word| !word.is_empty()).map(str::to_string).collect();
        if names.is_empty() {
            return None;
        }
        if names == ["usual"] {
            return Some(Choice::Usual);
        }
        let keep = names[..1] == ["keep"];
        names.drain(..usize::from(keep));
        Some(Choice::These { names, keep })
    }
}

/// How a provider of the cascade stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stand {
    /// Its name.
    pub name: String,
    /// Where it runs; `None` when it cannot be used.
    pub locality: Option<Locality>,
    /// Whether it may be asked now: `ready`, `demoted`, `unconfirmed`, `left-out`, or `unused` in no cascade.
    pub state: &'static str,
    /// Why it is not ready, and what to do; empty when it is.
    pub why: String,
    /// The model that it is asked for; empty when it is none.
    pub model: String,
    /// Whether that takes pictures; `None` where nobody says it.
    pub pictures: Option<bool>,
}

/// An order of providers, with the models that were chosen for some of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) names: Vec<String>,
    pub(super) models: BTreeMap<String, String>,
}

impl Chosen {
    /// Reads entries such as `far`, or `far/model` with the model that is asked there.
    pub(super) fn read(entries: &[String]) -> Result<Chosen, String> {
        let mut chosen = Chosen::default();
        for entry in entries {
            let (name, model) = match entry.split_once('/') {
                Some((name, model)) => (name, Some(model)),
                None => (entry.as_str(), None),
            };
            let again = chosen.names.iter().any(|known| known == name);
            let known = chosen.models.get(name).map(String::as_str);
            if again && model.is_some_and(|model| known != Some(model)) {
                return Err(format!(
                    "{0} stands there twice with different models, and one provider has one model; give the second \
                     model a provider of its own with passepartout-define-provider",
                    exact(name)
                ));
            }
            if !again {
                chosen.names.push(name.to_string());
            }
            let Some(model) = model else { continue };
            let sound = !model.is_empty() && model.len() <= LONGEST && !model.contains(char::is_control);
            if !sound || model.contains(char::is_whitespace) {
                return Err(format!("“{}” names no model; write PROVIDER/MODEL", exact(entry)));
            }
            chosen.models.insert(name.to_string(), model.to_string());
        }
        Ok(chosen)
    }

    fn entries(&self) -> Vec<String> {
        self.names.iter().map(|name| entry(name, self.models.get(name))).collect()
    }
}

/// Returns the name of the provider of an entry.
fn named(entry: &str) -> &str {
    entry.split_once('/').map_or(entry, |(name, _)| name)
}

/// Returns how a provider stands in an order, with the model that was chosen for it.
fn entry(name: &str, model: Option<&String>) -> String {
    model.map_or_else(|| name.to_string(), |model| format!("{name}/{model}"))
}

impl Engine {
    /// Sets which providers are asked in which order. Turns that have begun to ask go on as they are.
    ///
    /// # Errors
    /// When the channel may not decide that, a provider cannot be used, or it could not be stored: then nothing changes.
    pub async fn set_cascade(self: &Arc<Self>, origin: &Origin, choice: Choice) -> Result<String, String> {
        if !origin.rights.may_steer() {
            let way_out = "do it in Emacs, or in a terminal that the agent did not start";
            return Err(format!("this channel may not choose providers; {way_out}"));
        }
        self.order_providers(choice).await
    }

    /// Does the same for whoever was found to be allowed to.
    ///
    /// # Errors
    /// When a provider cannot be used, or it could not be stored: then nothing changes.
    pub(in crate::edge) async fn order_providers(self: &Arc<Self>, choice: Choice) -> Result<String, String> {
        let (chosen, keep) = match choice {
            Choice::Usual => (None, true),
            Choice::These { names, keep } => {
                // Whoever stands there already may stay, though it cannot be asked now: its key may come back.
                let standing = self.cascade.read().cascades().usual.clone();
                (Some(self.usable(&names, &standing)?.0), keep)
            }
        };
        if keep {
            let body = match &chosen {
                Some(chosen) => json!({ "providers": chosen.entries() }),
                None => json!({ "withdrawn": true }),
            };
            self.append(kind::CASCADE, KEY, body).await?;
        }
        let until = match (&chosen, keep) {
            (None, _) => "as your settings say",
            (Some(_), true) => "kept until /cascade usual",
            (Some(_), false) => "until the program ends or /cascade usual",
        };
        self.take_chosen(chosen);
        self.set_up_cascade();
        (self.notify)(Notice::Status);
        let (order, left) = (self.order(), self.cascade.read().left());
        let is_left = |entry: &&String| left.iter().any(|error| error.provider == named(entry));
        let (out, asked): (Vec<&String>, Vec<&String>) = order.iter().partition(is_left);
        let asked: Vec<&str> = asked.into_iter().map(String::as_str).collect();
        let mut words = format!("Providers are asked in this order: {} ({until}).", asked.join(", "));
        for error in left.iter().filter(|error| out.iter().any(|entry| named(entry) == error.provider)) {
            words.push_str(&format!(" Left out for now is {}: {}.", exact(&error.provider), exact(&error.text)));
        }
        self.say(LogLevel::Info, &words);
        Ok(words)
    }

    fn take_chosen(&self, chosen: Option<Chosen>) {
        let mut providers = self.providers.write();
        (providers.chosen, providers.models) = match chosen {
            Some(Chosen { names, models }) => (Some(names), models),
            None => (None, BTreeMap::new()),
        };
    }

    /// Returns the order of the usual cascade as it could be set again: also who is left out for now has its place, and
    /// behind a slash stands the model that was chosen for a provider.
    pub fn order(&self) -> Vec<String> {
        let (cascade, settings) = (self.cascade.read(), self.providers.read());
        let names = cascade.cascades().usual.iter();
        names.map(|name| entry(name, settings.models.get(name))).collect()
    }

    /// Returns the slots that have an order of their own now.
    pub fn slots(&self) -> Vec<(Slot, Vec<String>)> {
        self.providers.read().slots().iter().map(|(slot, names)| (*slot, names.clone())).collect()
    }

    /// Returns whether the user chose the order at run time.
    pub fn is_chosen(&self) -> bool {
        self.providers.read().chosen.is_some()
    }

    /// Returns a cascade in an order of its own, for every kind of work.
    ///
    /// # Errors
    /// When somebody in it cannot be asked.
    pub(super) fn cascade_of(self: &Arc<Self>, entries: &[String]) -> Result<Cascade, String> {
        let (_, providers) = self.usable(entries, &[])?;
        Ok(Cascade::new(providers, Vec::new()).sharing(self.standing.clone()))
    }

    /// Reads an order, in which nobody stands twice, and builds its providers; `standing` are those who may be in it though
    /// they cannot be asked now.
    fn usable(
        self: &Arc<Self>,
        entries: &[String],
        standing: &[String],
    ) -> Result<(Chosen, Vec<Arc<dyn Provider>>), String> {
        let chosen = Chosen::read(entries)?;
        if chosen.names.is_empty() || chosen.names.len() > MOST {
            return Err(format!("name from one to {MOST} providers, such as “ollama recall”"));
        }
        let places = self.places_with(&chosen.names, &chosen.models);
        let modelless = places.iter().find(|place| match place {
            Place::Recall | Place::Replay { .. } => chosen.models.contains_key(place.name()),
            Place::Asked(_) | Place::Left { .. } => false,
        });
        if let Some(place) = modelless {
            return Err(format!("{}: it has no model to be chosen", exact(place.name())));
        }
        let (providers, left) = self.built(places);
        let new = left.iter().find(|error| !standing.contains(&error.provider));
        match new {
            Some(error) => Err(format!("{}: {}", exact(&error.provider), error.text)),
            None if providers.is_empty() => Err("none of them can be asked now".to_string()),
            None => Ok((chosen, providers)),
        }
    }

    /// Loads the order that the store kept.
    pub(super) async fn load_cascade(&self) {
        let kept = match self.archive.latest(kind::CASCADE, KEY.to_string()).await {
            Ok(record) => record.and_then(|record| {
                // One that was withdrawn names none.
                let kept = serde_json::from_value::<Vec<String>>(record.body.get("providers")?.clone());
                let read = kept.map_err(|why| why.to_string()).and_then(|entries| Chosen::read(&entries));
                read.inspect_err(|why| {
                    let told = format!("the order of providers that you kept is left out, as it cannot be read: {why}");
                    self.say(LogLevel::Warning, &told);
                })
                .ok()
            }),
            Err(why) => {
                self.say(LogLevel::Warning, &format!("the order of providers that you kept cannot be read: {why}"));
                None
            }
        };
        self.take_chosen(kept);
    }

    /// Returns how every provider of the cascade stands, in the order in which they are asked now, then who is left out.
    pub async fn stands(&self) -> Vec<Stand> {
        let cascade = self.cascade.read().clone();
        let confirmed = self.confirmed(&cascade).await;
        let ready = cascade.in_order().into_iter().map(|provider| {
            let (name, locality) = (provider.name().to_string(), provider.locality());
            let model = provider.model().to_string();
            let standing = cascade.memory().and_then(|memory| memory.demoted(&name));
            let contact = super::model::contact(&name, &provider.url());
            let (state, why) = match (standing, locality) {
                (Some(standing), _) => {
                    let until = local(standing.until).strftime("%H:%M:%S").to_string();
                    ("demoted", format!("others go first until {until}, where there are any: {}", standing.why))
                }
                (None, Locality::Remote) if !confirmed.contains(&contact) => {
                    ("unconfirmed", "you are shown the first request before it is sent".to_string())
                }
                (None, _) => ("ready", String::new()),
            };
            Stand { name, locality: Some(locality), state, why, model, pictures: provider.takes_pictures() }
        });
        let left = cascade.left().into_iter().map(|error| Stand {
            name: error.provider,
            locality: None,
            state: "left-out",
            why: error.text,
            model: String::new(),
            pictures: None,
        });
        ready.chain(left).collect()
    }

    /// Returns the order of providers in words, and whose choice it is.
    pub(super) async fn cascade_lines(&self) -> String {
        let chosen = self.providers.read().chosen.is_some();
        let head = match chosen {
            true => "Providers in the order in which they are asked, as you chose; /cascade usual takes that back:\n",
            false => "Providers in the order in which they are asked; /cascade NAME NAME… changes it:\n",
        };
        let line = |stand: &Stand| {
            let why = if stand.why.is_empty() { String::new() } else { format!(": {}", exact(&stand.why)) };
            let named = entry(&stand.name, self.providers.read().models.get(&stand.name));
            format!("- {} ({}){why}\n", exact(&named), stand.words())
        };
        let mut lines = head.to_string() + &self.stands().await.iter().map(line).collect::<String>();
        for (slot, names) in self.providers.read().slots() {
            lines.push_str(&format!("- for “{}”: {}\n", slot.name(), exact(&names.join(", "))));
        }
        lines
    }
}

impl Stand {
    /// Returns where it runs and its state, for people.
    pub fn words(&self) -> String {
        let place = match self.locality {
            Some(Locality::Builtin) => "built in, ",
            Some(Locality::Local) => "local, ",
            Some(Locality::Remote) => "elsewhere, ",
            None => "",
        };
        let state = match self.state {
            "unconfirmed" => "not confirmed",
            "left-out" => "left out",
            "unused" => "in no cascade",
            state => state,
        };
        let pictures = if self.pictures == Some(true) { ", takes pictures" } else { "" };
        format!("{place}{state}{pictures}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_cascade_is_read() {
        let these = |names: &[&str], keep| {
            Some(Choice::These { names: names.iter().map(|name| name.to_string()).collect(), keep })
        };
        for (words, expected) in [
            ("", None),
            (" , ", None),
            (" usual ", Some(Choice::Usual)),
            ("a", these(&["a"], false)),
            ("a,b c", these(&["a", "b", "c"], false)),
            ("keep a b", these(&["a", "b"], true)),
            ("keep", these(&[], true)),
            ("usual a", these(&["usual", "a"], false)),
        ] {
            assert_eq!(Choice::parse(words), expected, "{words:?}");
        }
    }

    #[test]
    fn a_model_stands_behind_its_provider() {
        let check = |entries: &[&str], expected: Result<&[&str], &str>| {
            let entries: Vec<String> = entries.iter().map(|entry| entry.to_string()).collect();
            match (Chosen::read(&entries), expected) {
                (Ok(chosen), Ok(expected)) => {
                    assert_eq!(chosen.entries(), expected, "{entries:?}");
                    assert_eq!(Chosen::read(&chosen.entries()), Ok(chosen), "{entries:?}");
                }
                (Err(why), Err(words)) => assert!(why.contains(words), "{entries:?}: {why}"),
                (found, _) => panic!("{entries:?}: {found:?}"),
            }
        };
        check(&[], Ok(&[]));
        check(&["a", "b", "a"], Ok(&["a", "b"]));
        check(&["a/m", "b"], Ok(&["a/m", "b"]));
        check(&["far/maker/model:free", "a/x:7b"], Ok(&["far/maker/model:free", "a/x:7b"]));
        check(&["a/m", "a", "a/m"], Ok(&["a/m"]));
        check(&["a/m", "a/n"], Err("a stands there twice"));
        check(&["a", "a/n"], Err("a stands there twice"));
        check(&["a/"], Err("“a/” names no model"));
        check(&["a/b c"], Err("names no model"));
        check(&["a/b\n"], Err("names no model"));
        check(&[&format!("a/{}", "m".repeat(LONGEST + 1))], Err("names no model"));
    }
}
