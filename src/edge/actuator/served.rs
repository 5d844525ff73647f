//! Carries out a tool that an MCP server lends. Whatever the server says is a stranger's text, as its errors are.

use crate::domain::action::Outcome;
use crate::domain::gate::clearance::Cleared;
use crate::domain::label::{Labels, Privacy, Provenance};
use crate::domain::outside::Piece;
use crate::domain::tool::own::Own;
use crate::domain::tool::server::Served;
use crate::edge::actuator::{Actuators, Done};
use crate::edge::engine::servers::{Called, stale};
use std::time::Duration;

impl Actuators {
    /// Calls it. What it says is as private as all that it was told since the core began, and from outside.
    pub(super) async fn call_served(&self, cleared: &Cleared, own: &Own, served: &Served) -> Done {
        let (action, limits) = (cleared.action(), own.tool().limits);
        let privacy = action.labels().privacy.max(cleared.facts().privacy.unwrap_or(Privacy::Open));
        // It lives on between calls: what it says now may be what it was told before.
        let privacy = self.engine.tell_server(&served.server, privacy);
        let patience = Duration::from_secs(limits.seconds);
        let called = self.engine.call_server(served, own.definition(), action.args(), patience).await;
        let (outcome, said) = match called {
            Called::Answered(text) => (Outcome::Done(text.clone()), text),
            Called::Failed(text) => (Outcome::Failed(text.clone()), text),
            Called::Stale => (Outcome::Stale(stale()), String::new()),
            // They may quote what the server said.
            Called::Not(why) | Called::Unknown(why) => (Outcome::Failed(why.clone()), why),
        };
        let source = format!("what {} of the MCP server {} answered", action.tool(), served.server);
        let outside = vec![Piece::new(&source, &said, privacy)];
        let labels = Labels::untrusted(Provenance::Tool, privacy);
        Done { outcome, labels, outside, nodes: Vec::new(), changed: Vec::new() }
    }
}
