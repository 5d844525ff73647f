//! Who is asked for one request: the router's choice, and then that of the user's own function, if there is one.
//!
//! The function is told of those alone whom the router lets be asked, so privacy comes before it, and what it names
//! beside them counts for nothing. Where it does not answer in time, the order stays, and the trace says so.

use crate::domain::inert::exact;
use crate::domain::route::{Asked, Route};
use crate::edge::editor::{Candidate, Offer};
use crate::edge::engine::Engine;
use crate::edge::provider::cascade::Cascade;
use std::time::Duration;

/// For so long the function is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// So much of a question it is shown, in characters.
const SHOWN: usize = 2_000;

impl Engine {
    /// Returns who of a cascade may be asked in which order, and why.
    pub(super) async fn routed(&self, asked: &Asked<'_>, cascade: Cascade) -> (Route, Cascade) {
        let mut route = cascade.route(asked);
        let selector = self.providers.read().selector;
        if selector && route.order.len() > 1 {
            let offer = offer(asked, &route, &cascade);
            match tokio::time::timeout(PATIENCE, self.editor.select(&offer)).await {
                Ok(Ok(names)) => route.choose(&names),
                Ok(Err(why)) => route.unchosen(&exact(&why)),
                Err(_) => route.unchosen(&format!("it did not answer within {} seconds", PATIENCE.as_secs())),
            }
        }
        let cascade = cascade.along(&route);
        (route, cascade)
    }
}

fn offer(asked: &Asked<'_>, route: &Route, cascade: &Cascade) -> Offer {
    let candidate = |name: &String| {
        let provider = cascade.providers().find(|provider| provider.name() == name)?;
        Some(Candidate {
            name: name.clone(),
            model: provider.model().to_string(),
            locality: provider.locality(),
            demoted: route.demoted.contains(name),
        })
    };
    Offer {
        slot: route.slot.name(),
        text: asked.text.chars().take(SHOWN).collect(),
        private: asked.private.is_some(),
        candidates: route.order.iter().filter_map(candidate).collect(),
    }
}
