//! `passepartout models`: the providers in their order, how they stand, and which models they have.

use crate::domain::signal::Origin;
use crate::edge::cli::args::Place;
use crate::edge::cli::plans::human_terminal;
use crate::edge::cli::run::{DONE, Failure};
use crate::edge::cli::session::{beside, origin, readable, with_engine};
use crate::edge::clock::local;
use crate::edge::engine::Engine;
use crate::edge::engine::boot::Keep;
use crate::edge::engine::models::{Known, Listing, Standing, Wish};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::io::Write;

/// Prints it: by whoever owns the store, when somebody does and can be joined.
///
/// # Errors
/// In words for the user.
pub(super) fn run_models(
    place: &Place,
    provider: Option<&str>,
    as_json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let words = ["models".to_string()].into_iter().chain(as_json.then(|| "--json".to_string()));
    let words = words.chain(["--".to_string()]).chain(provider.map(str::to_string)).collect();
    if let Some(status) = beside(place, words, out)? {
        return Ok(status);
    }
    let origin = origin(human_terminal().is_ok());
    with_engine(place, Keep::ToRead, async |engine| Ok(gather(engine, &origin, provider).await?.print(as_json, out)?))
}

/// How providers stand, and their lists.
pub(super) struct Gathered {
    standings: Vec<Standing>,
    lists: Vec<Listing>,
    order: Vec<String>,
}

/// Finds out how providers stand and which models they have: those that were contacted before, or the one that is named.
///
/// # Errors
/// In words for the user.
pub(super) async fn gather(engine: &Engine, origin: &Origin, provider: Option<&str>) -> Result<Gathered, String> {
    let (names, wish) = match provider {
        Some(name) => (vec![name.to_string()], Wish { fresh: true, contact: true }),
        None => (engine.listable(), Wish::default()),
    };
    // All at once: one that is slow holds nobody up but the end.
    let lists = join_all(names.iter().map(|name| engine.model_list(origin, name, wish))).await;
    let lists: Vec<Listing> = match provider {
        // What was asked for by name and cannot be had is a failure.
        Some(name) => {
            lists.into_iter().collect::<Result<_, _>>().map_err(|why| format!("{}: {why}", readable(name)))?
        }
        // What goes wrong is told in the place of a list.
        None => {
            lists.into_iter().zip(&names).map(|(list, name)| list.unwrap_or_else(|why| untold(name, why))).collect()
        }
    };
    // Behind the lists, as they say what the models of the cascade read.
    let mut standings = engine.standings().await;
    standings.retain(|known| provider.is_none_or(|name| known.stand.name == name));
    Ok(Gathered { standings, lists, order: engine.order() })
}

fn untold(name: &str, why: String) -> Listing {
    Listing { provider: name.to_string(), at: None, models: Err(why) }
}

impl Gathered {
    /// Prints it; returns the exit status.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn print(&self, as_json: bool, out: &mut dyn Write) -> std::io::Result<u8> {
        match as_json {
            true => writeln!(out, "{}", all_json(&self.standings, &self.lists, &self.order))?,
            false => print(&self.standings, &self.lists, out)?,
        }
        Ok(DONE)
    }
}

fn print(standings: &[Standing], lists: &[Listing], out: &mut dyn Write) -> std::io::Result<()> {
    for Standing { stand, .. } in standings {
        let colon = if stand.why.is_empty() { "" } else { ": " };
        writeln!(out, "{} ({}){colon}{}", readable(&stand.name), stand.words(), readable(&stand.why))?;
        let Some(Listing { models, at, .. }) = lists.iter().find(|list| list.provider == stand.name) else { continue };
        match models {
            Err(why) => writeln!(out, "  no list: {}", readable(why))?,
            Ok(models) => {
                for model in models {
                    writeln!(out, "{}", line(model).trim_end())?;
                }
                let at = at.map(|at| local(at).strftime(", asked at %H:%M:%S").to_string()).unwrap_or_default();
                writeln!(out, "  {} in its own list{at}", crate::domain::count::counted(models.len(), "model"))?;
            }
        }
    }
    Ok(())
}

fn line(Known { name, context, price, set }: &Known) -> String {
    let size = context.map_or_else(|| "size unknown".to_string(), |tokens| format!("{tokens} tokens"));
    let set = if *set { "set" } else { "" };
    format!("  {:<44} {size:>16}  {set:<3}  price {price}", readable(name))
}

fn all_json(standings: &[Standing], lists: &[Listing], order: &[String]) -> Value {
    let standing = |Standing { stand, context, price }: &Standing| {
        json!({
            "name": stand.name, "state": stand.state, "why": stand.why, "model": stand.model, "context": context,
            "price": price, "pictures": stand.pictures,
        })
    };
    let model = |Known { name, context, price, set }: &Known| json!({ "name": name, "context": context, "price": price, "set": set });
    let list = |Listing { provider, at, models }: &Listing| {
        let models_of = |models: &Vec<Known>| models.iter().map(model).collect::<Vec<_>>();
        json!({
            "provider": provider, "at": at.map(|at| at.to_string()), "why": models.as_ref().err(),
            "models": models.as_ref().ok().map(models_of),
        })
    };
    json!({
        "order": order, "providers": standings.iter().map(standing).collect::<Vec<_>>(),
        "lists": lists.iter().map(list).collect::<Vec<_>>(),
    })
}
