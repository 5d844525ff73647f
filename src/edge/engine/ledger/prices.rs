//! The price of a call: what the user's own table says, then what is shipped.

use crate::domain::money::prices::{Asked, Price, Prices};
use crate::domain::port::{Locality, Profile};
use crate::edge::clock::local;
use crate::edge::engine::Engine;
use crate::edge::rules_file::text;
use std::path::PathBuf;
use std::sync::LazyLock;

/// The name of the user's table.
const NAME: &str = "prices.org";
/// The table that is shipped.
pub const SHIPPED: &str = include_str!("prices.org");

static STANDARD: LazyLock<Prices> = LazyLock::new(|| Prices::read(SHIPPED).0);

impl Engine {
    /// Returns where the user's table of prices is; whether it is there.
    pub fn prices_file(&self) -> (PathBuf, bool) {
        let path = self.config.settings.join(NAME);
        let there = path.exists();
        (path, there)
    }

    /// Reads the user's table, and says what in it is not understood. A small file, read anew with each call: what was
    /// edited counts at once.
    pub fn own_prices(&self) -> (Prices, Vec<String>) {
        let (path, _) = self.prices_file();
        match text(&path) {
            Ok(None) => Default::default(),
            Ok(Some(text)) => {
                let (prices, wrong) = Prices::read(&text);
                (prices, wrong.into_iter().map(|why| format!("{}: {why}", path.display())).collect())
            }
            Err(why) => (Prices::default(), vec![format!("{}: {why}; its prices are not known", path.display())]),
        }
    }

    /// Returns the price of a model at a moment, `None` where it is not known; nothing is paid for what runs here.
    ///
    /// # Errors
    /// Where the line of the user's table that says it cannot be read: which, and why.
    pub(super) fn price(
        &self,
        provider: &dyn Profile,
        model: &str,
        at: jiff::Timestamp,
    ) -> Result<Option<Price>, String> {
        let (own, _) = self.own_prices();
        let wrong = |why| format!("{}: {why}", self.prices_file().0.display());
        price_in(&own, provider.name(), provider.locality(), model, at).map_err(wrong)
    }
}

/// Returns the price of a model at a moment, with the user's table at hand; nothing is paid for what runs here.
///
/// # Errors
/// Where the line that says it cannot be read: which, and why.
pub fn price_in(
    own: &Prices,
    provider: &str,
    place: Locality,
    model: &str,
    at: jiff::Timestamp,
) -> Result<Option<Price>, String> {
    match place {
        Locality::Builtin | Locality::Local => return Ok(Some(Price::NOTHING)),
        Locality::Remote => {}
    }
    Prices::price([own, &STANDARD], &Asked { provider, model, day: local(at).date() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shipped_is_understood() {
        let (prices, wrong) = Prices::read(SHIPPED);
        assert_eq!(wrong, Vec::<String>::new());
        let price_of = |provider: &str, model: &str, day: jiff::civil::Date| {
            let found = Prices::price([&prices], &Asked { provider, model, day });
            let found = found.expect("it can be read");
            found.map(|price| [price.input, price.cached, price.output].map(|amount| amount.0 / 1_000))
        };
        let price = |model: &str, day: jiff::civil::Date| price_of("anthropic", model, day);
        let known = jiff::civil::date(2026, 10, 24);
        for (model, day, expected) in [
            ("claude-haiku-4-5-20251001", known, Some([1_000, 100, 5_000])),
            ("claude-opus-5-5", known, Some([4_000, 200, 20_000])),
            ("claude-opus-5", known, Some([5_000, 500, 25_000])),
            // It costs more where a prompt is long: no row can say that.
            ("claude-haiku-5-5", known, None),
            ("claude-opus-5", known.yesterday().expect("a day"), None),
        ] {
            assert_eq!(price(model, day), expected, "{model} {day}");
        }
        let september = jiff::civil::date(2026, 9, 22);
        for (provider, model, day, expected) in [
            ("openai", "gpt-6-luna", september, Some([100, 10, 500])),
            ("openai", "gpt-6-luna", september.yesterday().expect("a day"), None),
            ("openai", "gpt-5-mini", september, Some([250, 25, 2_000])),
            ("openai", "gpt-5-turbo", september, None),
            ("gemini", "gemini-2.5-flash", september, Some([300, 30, 2_500])),
            ("xai", "grok-4.5", september, Some([2_000, 300, 6_000])),
            // It has no price of its own for what is cached.
            ("groq", "llama-3.3-70b-versatile", september, Some([590, 590, 790])),
            // The same name with another provider is another price.
            ("openrouter", "gpt-5-mini", september, None),
            ("mistral", "mistral-medium-latest", september, None),
            ("deepseek", "deepseek-chat", september, None),
        ] {
            assert_eq!(price_of(provider, model, day), expected, "{provider} {model} {day}");
        }
    }
}
