//! `passepartout audit`: who decided what, and whether the records of it are unbroken.

use crate::domain::audit::Entry;
use crate::domain::inert::exact;
use crate::edge::cli::args::Place;
use crate::edge::cli::run::{DONE, FAILED, Failure, USAGE};
use crate::edge::cli::session::{configured, readable, with_engine};
use crate::edge::clock::local;
use crate::edge::engine::audit;
use crate::edge::engine::boot::Keep;
use crate::edge::store::verify::{Proof, verify_records};
use std::io::Write;
use std::path::Path;

/// Prints the last decisions, newest first, and checks all records.
///
/// # Errors
/// In words for the user.
pub(super) fn run_audit(
    place: &Place,
    since: Option<&str>,
    limit: usize,
    json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let since = since.map(moment).transpose()?;
    let config = configured(place);
    let proof = match config.store.join("memory.sqlite").exists() {
        true => Some(verify_records(&config.store, &config.heads())?),
        false => None,
    };
    with_engine(place, Keep::ToRead, async |engine| {
        let entries = engine.decisions(since, limit).await?;
        if json {
            writeln!(out, "{}", all_json(&entries, proof.as_ref()))?;
        } else {
            print(&entries, proof.as_ref(), &config.store, out)?;
        }
        Ok(if proof.as_ref().is_none_or(Proof::whole) { DONE } else { FAILED })
    })
}

/// Explains the last decision, or that about a plan or an action.
///
/// # Errors
/// In words for the user.
pub(super) fn run_why(place: &Place, of: Option<&str>, as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    with_engine(place, Keep::ToRead, async |engine| {
        let why = engine.why(of).await?;
        match as_json {
            true => writeln!(out, "{}", serde_json::json!({ "text": why }))?,
            false => write!(out, "{}", readable(&why))?,
        }
        Ok(DONE)
    })
}

fn print(entries: &[Entry], proof: Option<&Proof>, store: &Path, out: &mut dyn Write) -> std::io::Result<()> {
    for entry in entries {
        let at = local(entry.at).strftime("%Y-%m-%d %H:%M:%S");
        writeln!(out, "{:>6}  {at}  {}", entry.seq, exact(&entry.decision.line()).replace('\n', " "))?;
    }
    match entries.first() {
        None => writeln!(out, "Nothing has been decided yet.")?,
        Some(entry) => writeln!(out, "\nOne of them explained, by its number: passepartout why {}", entry.seq)?,
    }
    match proof {
        None => {
            let store = exact(&store.display().to_string());
            writeln!(out, "There is no store at {store} yet, so there are no records to check; --store names another.")
        }
        Some(proof) if proof.whole() => {
            writeln!(out, "unbroken: {} records, in their order and as they were written", proof.records)?;
            proof.notes.iter().try_for_each(|note| writeln!(out, "{note}"))
        }
        Some(proof) => {
            writeln!(out, "BROKEN: the records are not what was written")?;
            proof.breaks.iter().try_for_each(|place| writeln!(out, "- {}", place.text))?;
            writeln!(out, "`passepartout memory verify` checks everything else as well.")
        }
    }
}

fn all_json(entries: &[Entry], proof: Option<&Proof>) -> serde_json::Value {
    let entries: Vec<_> = entries.iter().map(audit::json).collect();
    let whole = proof.is_none_or(Proof::whole);
    let breaks: Vec<&str> = proof.iter().flat_map(|proof| &proof.breaks).map(|place| place.text.as_str()).collect();
    serde_json::json!({
        "decisions": entries, "whole": whole, "records": proof.map_or(0, |proof| proof.records), "breaks": breaks,
    })
}

/// Reads a moment: a day, a day and a time of the user's clock, or a timestamp with its zone.
fn moment(text: &str) -> Result<jiff::Timestamp, Failure> {
    let text = text.trim();
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Ok(at);
    }
    let civil = text.replacen(' ', "T", 1).parse::<jiff::civil::DateTime>();
    let civil = civil.or_else(|_| text.parse::<jiff::civil::Date>().map(|day| day.at(0, 0, 0, 0)));
    let zoned = civil.and_then(|civil| civil.to_zoned(jiff::tz::TimeZone::system()));
    zoned.map(|zoned| zoned.timestamp()).map_err(|_| Failure {
        text: format!("“{}” is no moment; write 2026-12-01, or '2026-12-01 14:30'", exact(text)),
        status: USAGE,
    })
}
