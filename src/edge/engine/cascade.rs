//! The order of providers as the user sets it at run time, and how each provider stands.
//!
//! What is set so comes before what the settings say, until the program ends or, kept in a record of the store, until it
//! is taken back. Only a human's own channel sets it. It confirms nobody: who may be sent what is judged as before.

use crate::domain::inert::exact;
use crate::domain::port::{Locality, LogLevel};
use crate::domain::signal::Origin;
use crate::edge::clock::local;
use crate::edge::engine::record::kind;
use crate::edge::engine::{Engine, Notice};
use crate::edge::provider::known::Place;
use serde_json::json;
use std::sync::Arc;

/// The key of the only record of its kind.
const KEY: &str = kind::CASCADE;
/// The most providers that stand in a cascade.
const MOST: usize = 32;

/// What becomes of the order of providers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// These, in this order.
    These {
        /// Their names.
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
    /// Whether it may be asked now: `ready`, `demoted`, `unconfirmed` or `left-out`.
    pub state: &'static str,
    /// Why it is not ready, and what to do; empty when it is.
    pub why: String,
}

impl Engine {
    /// Sets which providers are asked in which order. Turns that have begun to ask go on as they are.
    ///
    /// # Errors
    /// When the channel may not decide that, a provider cannot be used, or it could not be stored: then nothing changes.
    pub async fn set_cascade(self: &Arc<Self>, origin: &Origin, choice: Choice) -> Result<String, String> {
        if !origin.rights.approve {
            let way_out = "do it in Emacs, or in a terminal that the agent did not start";
            return Err(format!("this channel may not choose providers; {way_out}"));
        }
        let (chosen, keep) = match choice {
            Choice::Usual => (None, true),
            Choice::These { names, keep } => (Some(self.usable(names)?), keep),
        };
        if keep {
            let body = match &chosen {
                Some(names) => json!({ "providers": names }),
                None => json!({ "withdrawn": true }),
            };
            self.append(kind::CASCADE, KEY, body).await?;
        }
        let until = match (&chosen, keep) {
            (None, _) => "as your settings say",
            (Some(_), true) => "kept until /cascade usual",
            (Some(_), false) => "until the program ends or /cascade usual",
        };
        self.providers.write().chosen = chosen;
        self.set_up_cascade();
        (self.notify)(Notice::Status);
        let names = {
            let cascade = self.cascade.read();
            let known = |name: &&String| cascade.providers().any(|provider| provider.name() == name.as_str());
            let names: Vec<&str> = cascade.cascades().usual.iter().filter(known).map(String::as_str).collect();
            names.join(", ")
        };
        let words = format!("Providers are asked in this order: {names} ({until}).");
        self.say(LogLevel::Info, &words);
        Ok(words)
    }

    /// Returns names of providers without those that stand twice.
    fn usable(&self, mut names: Vec<String>) -> Result<Vec<String>, String> {
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        if names.is_empty() || names.len() > MOST {
            return Err(format!("name from one to {MOST} providers, such as “ollama recall”"));
        }
        let left = self.places_of(&names).into_iter().find_map(|place| match place {
            Place::Left { name, why } => Some(format!("{}: {why}", exact(&name))),
            Place::Recall | Place::Replay { .. } | Place::Asked(_) => None,
        });
        left.map_or(Ok(names), Err)
    }

    /// Loads the order that the store kept.
    pub(super) async fn load_cascade(&self) {
        let kept = match self.archive.latest(kind::CASCADE, KEY.to_string()).await {
            Ok(record) => record.and_then(|record| serde_json::from_value(record.body.get("providers")?.clone()).ok()),
            Err(why) => {
                self.say(LogLevel::Warning, &format!("the order of providers that you kept cannot be read: {why}"));
                None
            }
        };
        self.providers.write().chosen = kept;
    }

    /// Returns how every provider of the cascade stands, in the order in which they are asked now, then who is left out.
    pub async fn stands(&self) -> Vec<Stand> {
        let cascade = self.cascade.read().clone();
        let confirmed = self.confirmed(&cascade).await;
        let ready = cascade.in_order().into_iter().map(|provider| {
            let (name, locality) = (provider.name().to_string(), provider.locality());
            let standing = cascade.memory().and_then(|memory| memory.demoted(&name));
            let contact = super::model::contact(&name, &provider.url());
            let (state, why) = match (standing, locality) {
                (Some(standing), _) => {
                    let until = local(standing.until).strftime("%H:%M:%S").to_string();
                    ("demoted", format!("behind the others until {until}: {}", standing.why))
                }
                (None, Locality::Remote) if !confirmed.contains(&contact) => {
                    ("unconfirmed", "you are shown the first request before it is sent".to_string())
                }
                (None, _) => ("ready", String::new()),
            };
            Stand { name, locality: Some(locality), state, why }
        });
        let left = cascade.left().iter().map(|error| Stand {
            name: error.provider.clone(),
            locality: None,
            state: "left-out",
            why: error.text.clone(),
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
            format!("- {} ({}){why}\n", exact(&stand.name), stand.words())
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
            state => state,
        };
        format!("{place}{state}")
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
}
