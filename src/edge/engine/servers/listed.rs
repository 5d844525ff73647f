//! How each MCP server stands, for people.

use super::Slot;
use crate::edge::engine::Engine;

/// A server, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedServer {
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub place: String,
    /// Its program and arguments.
    pub command: Vec<String>,
    /// `not started`, `waiting`, `lending` or `broken`.
    pub state: &'static str,
    /// What is to be known of that, in words.
    pub why: Option<String>,
    /// What is confirmed, by its short name.
    pub rule: Option<String>,
    /// Its tools by our names, each with what it does.
    pub tools: Vec<(String, &'static str)>,
    /// What of its list was left out, and why.
    pub left: Vec<String>,
    /// How often it wanted something of us, which was refused.
    pub refused: u64,
}

impl Engine {
    /// Returns every server of the settings.
    pub fn servers(&self) -> Vec<ListedServer> {
        self.servers.slots.iter().map(|slot| self.listed_server(slot)).collect()
    }

    fn listed_server(&self, slot: &Slot) -> ListedServer {
        let loosening = slot.loosening();
        let confirmed = loosening.as_ref().is_some_and(|loosening| self.is_confirmed(loosening));
        let known = slot.known.lock();
        let tools = known.listing.as_ref().map_or(&[][..], |listing| listing.tools.as_slice());
        let (state, why) = match (&known.fault, &known.listing) {
            (Some(why), _) => ("broken", Some(why.clone())),
            (None, None) => ("not started", None),
            (None, Some(_)) if confirmed => ("lending", None),
            (None, Some(_)) => {
                ("waiting", Some("M-x passepartout-rules shows its tools whole, to confirm".to_string()))
            }
        };
        ListedServer {
            name: slot.name().to_string(),
            place: slot.setting.place.clone(),
            command: slot.setting.declared.command.clone(),
            state,
            why,
            rule: loosening.map(|loosening| loosening.id()),
            tools: tools.iter().map(|tool| (tool.name().to_string(), tool.effect().name())).collect(),
            left: known.listing.as_ref().map(|listing| listing.left.clone()).unwrap_or_default(),
            refused: known.refused,
        }
    }
}
