//! Answers about providers and their models.

use crate::domain::inert::exact;
use crate::domain::preset::Preset;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::Origin;
use crate::edge::clock::local;
use crate::edge::engine::Engine;
use crate::edge::engine::key_test::{KeyTest, Offer};
use crate::edge::engine::models::{Known, Listing, Standing, Wish};
use crate::edge::runtime::show;

/// So many models of one provider are sent: a message stays small.
const MOST: usize = 500;

/// Returns how providers stand, in which order they are asked, and which slots have an order of their own.
pub(super) async fn standings(engine: &Engine) -> Plist {
    let one = |Standing { stand, context, price }: &Standing| {
        show::stand(stand)
            .maybe("model", Some(exact(&stand.model)).filter(|model| !model.is_empty()))
            .maybe_int("context", context.map(small))
            .maybe("price", price.clone())
            .flag("pictures", stand.pictures == Some(true))
            .build()
    };
    let standings = engine.standings().await;
    let slots = engine.slots().into_iter().map(|(slot, names)| {
        let names = names.iter().map(|name| Sexp::text(exact(name)));
        Sexp::list([Sexp::text(slot.name())].into_iter().chain(names))
    });
    Plist::new()
        .list("providers", standings.iter().map(one))
        .texts("order", engine.order().iter().map(|entry| exact(entry)))
        .flag("chosen", engine.is_chosen())
        .list("slots", slots)
}

/// Returns a provider's models.
pub(super) async fn list(engine: &Engine, origin: &Origin, payload: &Sexp) -> Result<Plist, String> {
    let name = payload.text_at("provider").ok_or("a list of models is that of a provider")?;
    let wish = Wish { fresh: payload.flag_at("fresh"), contact: payload.flag_at("contact") };
    let Listing { provider, at, models } = engine.model_list(origin, name, wish).await?;
    let at = at.map(|at| local(at).strftime("%H:%M:%S").to_string());
    let answer = Plist::new().text("provider", exact(&provider)).maybe("at", at);
    Ok(match models {
        Err(why) => answer.text("why", exact(&why)),
        Ok(models) => {
            // Whatever does not come, the one that is set does.
            let (set, others): (Vec<&Known>, Vec<&Known>) = models.iter().partition(|model| model.set);
            let shown = set.into_iter().chain(others).take(MOST);
            let more = models.len().saturating_sub(MOST);
            answer.list("models", shown.map(model)).int("more", more as i64)
        }
    })
}

/// Says what a test of a provider's key would send and cost; where that was shown, makes it.
pub(super) async fn key_test(engine: &Engine, origin: &Origin, payload: &Sexp) -> Result<Plist, String> {
    let name = payload.text_at("provider").ok_or("a key is that of a provider")?;
    Ok(match payload.text_at("shown") {
        None => {
            let Offer { shown, forbidden } = engine.offer_key_test(origin, name).await?;
            Plist::new().text("shown", shown).maybe("why", forbidden.map(|why| exact(&why)))
        }
        Some(shown) => {
            let KeyTest { works, text } = engine.test_key(origin, name, shown).await?;
            Plist::new().text(if works { "text" } else { "why" }, exact(&text))
        }
    })
}

/// Gives the session of a message a preset, or takes it back; without a name, says which presets there are.
pub(super) async fn preset(engine: &Engine, origin: &Origin, payload: &Sexp) -> Result<Plist, String> {
    let said = match payload.text_at("name") {
        Some(name) => Some(engine.set_preset(origin, name).await?),
        None => None,
    };
    let (presets, now) = (engine.presets(), engine.preset_now(&origin.session).await?);
    let one = |(name, read): (&str, Result<&Preset, &str>)| {
        let one = Plist::new().text("name", exact(name));
        match read {
            Ok(preset) => one.text("text", exact(&preset.words())).build(),
            Err(why) => one.text("why", exact(why)).build(),
        }
    };
    Ok(Plist::new()
        .maybe("text", said)
        .maybe("preset", now.map(|name| exact(&name)))
        .maybe("why", presets.trouble().map(exact))
        .list("presets", presets.all().map(one)))
}

fn model(Known { name, context, price, set }: &Known) -> Sexp {
    Plist::new()
        .text("name", exact(name))
        .maybe_int("context", context.map(small))
        .text("price", price.as_str())
        .flag("set", *set)
        .build()
}

/// Returns a count as a number that Emacs reads as one.
fn small(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX).min(1 << 60)
}
