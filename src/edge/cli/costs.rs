//! `passepartout costs`: what calls of models cost, and how much of each cap is used.

use crate::domain::money::totals::{Grouping, Sum};
use crate::edge::cli::args::Place;
use crate::edge::cli::run::{DONE, Failure, USAGE};
use crate::edge::cli::session::{readable, with_engine};
use crate::edge::engine::boot::Keep;
use crate::edge::engine::ledger::costs::{Overview, Row, since};
use serde_json::{Value, json};
use std::io::Write;

/// Prints the ledger by a grouping.
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
    let usage = |text: String| Failure { text, status: USAGE };
    let by = Grouping::parse(by)
        .ok_or_else(|| usage(format!("“{}” is none of day, heading, skill, provider and background", readable(by))))?;
    let from = from.map(since).transpose().map_err(usage)?;
    with_engine(place, Keep::ToRead, async |engine| {
        let overview = engine.overview(by, from, None, true).await?;
        match as_json {
            true => writeln!(out, "{}", all_json(&overview))?,
            false => print(&overview, out)?,
        }
        Ok(DONE)
    })
}

fn print(overview: &Overview, out: &mut dyn Write) -> std::io::Result<()> {
    let Overview { rows, more, all, caps, notes, .. } = overview;
    let mut line = |label: &str, Sum { calls, usage, .. }: &Sum, words: String| {
        writeln!(
            out,
            "{:<40} {calls:>6} calls {:>10} in ({:>9} cached) {:>9} out  {words}",
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
