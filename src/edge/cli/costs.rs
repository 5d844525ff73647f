//! `passepartout costs`: what calls of models cost, and how much of each cap is used.

use crate::domain::money::totals::{Grouping, Sum};
use crate::edge::cli::args::Place;
use crate::edge::cli::run::{DONE, Failure, USAGE};
use crate::edge::cli::session::{beside, readable, with_engine};
use crate::edge::engine::Engine;
use crate::edge::engine::boot::Keep;
use crate::edge::engine::ledger::costs::{Overview, Row, since};
use jiff::civil::Date;
use serde_json::{Value, json};
use std::io::Write;

/// Prints the ledger by a grouping: by whoever owns the store, when somebody does and can be joined, for the caps and what
/// is under way are the owner's.
///
/// # Errors
/// In words for the user.
pub(super) fn run_costs(
    place: &Place,
    by: &str,
    from: Option<&str>,
    as_json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    wished(by, from).map_err(|text| Failure { text, status: USAGE })?;
    let words = ["costs", "--by", by].into_iter().chain(from.iter().flat_map(|from| ["--since", from]));
    let words = words.chain(as_json.then_some("--json")).map(str::to_string).collect();
    if let Some(status) = beside(place, words, out)? {
        return Ok(status);
    }
    let text = with_engine(place, Keep::ToRead, async |engine| Ok(costs(engine, by, from, true, as_json).await?))?;
    out.write_all(&text)?;
    Ok(DONE)
}

/// Returns what is printed of the ledger of an engine; titles of private headings stand in it where `names_private` says so.
///
/// # Errors
/// In words for the user.
pub(super) async fn costs(
    engine: &Engine,
    by: &str,
    from: Option<&str>,
    names_private: bool,
    as_json: bool,
) -> Result<Vec<u8>, String> {
    let (by, from) = wished(by, from)?;
    let overview = engine.overview(by, from, None, names_private).await?;
    let mut text = Vec::new();
    let printed = match as_json {
        true => writeln!(text, "{}", all_json(&overview)),
        false => print(&overview, &mut text),
    };
    printed.map_err(|error| error.to_string())?;
    Ok(text)
}

fn wished(by: &str, from: Option<&str>) -> Result<(Grouping, Option<Date>), String> {
    let grouping = Grouping::parse(by)
        .ok_or_else(|| format!("“{}” is none of day, heading, skill, provider and background", readable(by)))?;
    Ok((grouping, from.map(since).transpose()?))
}

fn print(overview: &Overview, out: &mut dyn Write) -> std::io::Result<()> {
    let Overview { rows, more, all, caps, notes, .. } = overview;
    let mut line = |label: &str, Sum { calls, failed, usage, .. }: &Sum, words: String| {
        let failed = if *failed > 0 { format!("  ({failed} not answered)") } else { String::new() };
        writeln!(
            out,
            "{:<40} {calls:>6} calls {:>10} in ({:>9} cached) {:>9} out  {words}{failed}",
            readable(label),
            usage.input,
            usage.cached,
            usage.output
        )
    };
    for Row { label, sum, .. } in rows {
        line(label, sum, sum.words())?;
    }
    line("in all", all, all.words())?;
    if *more > 0 {
        writeln!(out, "{more} more rows are not listed; the sum has them.")?;
    }
    caps.iter().try_for_each(|cap| writeln!(out, "Cap: {}.", readable(cap)))?;
    notes.iter().try_for_each(|note| writeln!(out, "Note: {}.", readable(note)))
}

fn all_json(overview: &Overview) -> Value {
    let sum = |sum: &Sum| {
        json!({
            "calls": sum.calls, "failed": sum.failed, "tokens_in": sum.usage.input, "tokens_cached": sum.usage.cached,
            "tokens_out": sum.usage.output, "micros": sum.cost.0, "guessed": sum.guessed, "unknown": sum.unknown,
            "cost": sum.words(),
        })
    };
    let rows = overview.rows.iter().map(|row| json!({ "label": row.label, "id": row.heading, "sum": sum(&row.sum) }));
    json!({
        "by": overview.by.name(), "since": overview.since.map(|day| day.to_string()),
        "rows": rows.collect::<Vec<_>>(), "more": overview.more, "all": sum(&overview.all), "caps": overview.caps,
        "notes": overview.notes,
    })
}
