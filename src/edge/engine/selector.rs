//! Who is asked for one request: the router's choice, and then that of the user's own function, if there is one.
//!
//! The function is told of those alone whom the router lets be asked, so privacy comes before it, and what it names
//! beside them counts for nothing. Where it does not answer in time, the order stays, and the trace says so.

use crate::domain::inert::exact;
use crate::domain::port::Locality;
use crate::domain::route::{Asked, Route};
use crate::edge::editor::{Candidate, Offer, Selection};
use crate::edge::engine::Engine;
use crate::edge::engine::cascade::Chosen;
use crate::edge::provider::cascade::Cascade;
use std::time::Duration;

/// For so long the function is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// So much of a question it is shown, in characters.
const SHOWN: usize = 2_000;

/// Says why a provider is not asked for a model that the function named.
const ELSEWHERE: &str = "the model that passepartout-select-model-function named does not run where this provider does";
const NO_MODEL: &str = "the model that passepartout-select-model-function named cannot be asked of it";

impl Engine {
    /// Returns who of a cascade may be asked in which order, and why. The user's function is not called unless it `may_be_called`.
    pub(super) async fn routed(
        &self,
        asked: &Asked<'_>,
        mut cascade: Cascade,
        may_be_called: bool,
    ) -> (Route, Cascade) {
        let mut route = cascade.route(asked);
        let selector = may_be_called && self.providers.read().selector;
        if selector && !route.order.is_empty() {
            let offer = offer(asked, &route, &cascade);
            match tokio::time::timeout(PATIENCE, self.editor.select(&offer)).await {
                Ok(Ok(Selection::Skip)) => route.skip(),
                Ok(Ok(Selection::These(names))) => match Chosen::read(&names) {
                    Ok(chosen) => {
                        route.choose(&chosen.names);
                        cascade = self.with_models(&mut route, cascade, &chosen);
                    }
                    Err(why) => route.unchosen(&why),
                },
                Ok(Err(why)) => route.unchosen(&exact(&why)),
                Err(_) => route.unchosen(&format!("it did not answer within {} seconds", PATIENCE.as_secs())),
            }
        }
        let cascade = cascade.along(&route);
        (route, cascade)
    }

    /// Returns a cascade in which the providers of a route are asked for the models that were chosen for them. The router
    /// let them be asked as they were: a model that would run elsewhere is not asked.
    fn with_models(&self, route: &mut Route, cascade: Cascade, chosen: &Chosen) -> Cascade {
        let wants = |name: &&String| chosen.models.contains_key(name.as_str());
        let names: Vec<String> = route.order.iter().filter(wants).cloned().collect();
        if names.is_empty() {
            return cascade;
        }
        let mut others = self.served(self.places_with(&names, &chosen.models));
        for name in names {
            let before =
                cascade.providers().find(|provider| provider.name() == name).map(|provider| provider.locality());
            let now = others.iter().find(|provider| provider.name() == name).map(|provider| provider.locality());
            match now {
                Some(Locality::Local | Locality::Remote) if now == before => {}
                Some(Locality::Local | Locality::Remote) => route.take_out(&name, ELSEWHERE),
                Some(Locality::Builtin) | None => route.take_out(&name, NO_MODEL),
            }
        }
        others.retain(|provider| route.order.iter().any(|name| name == provider.name()));
        cascade.with_models(others)
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
