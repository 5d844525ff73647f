//! `passepartout jobs`: the headings that want work done by themselves, and how each stands.

use crate::domain::label::Privacy;
use crate::edge::cli::args::Place;
use crate::edge::cli::run::{DONE, Failure};
use crate::edge::cli::session::{blocking, readable, with_engine};
use crate::edge::clock::local;
use crate::edge::engine::boot::Keep;
use crate::edge::engine::jobs::Listed;
use serde_json::json;
use std::io::Write;

/// Prints all jobs. They are confirmed in Emacs.
///
/// # Errors
/// In words for the user.
pub(super) fn run_jobs(place: &Place, as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    with_engine(place, Keep::ToRead, async |engine| {
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        let jobs = blocking(engine, |engine| engine.jobs()).await?;
        match as_json {
            true => writeln!(out, "{}", json!({ "jobs": jobs.iter().map(all_of).collect::<Vec<_>>() }))?,
            false => print(&jobs, out)?,
        }
        Ok(DONE)
    })
}

fn print(jobs: &[Listed], out: &mut dyn Write) -> std::io::Result<()> {
    for job in jobs {
        writeln!(out, "{:<9}  {}  ({})", job.state, readable(&job.title), readable(&job.file))?;
        let minute = |at| local(at).strftime("%Y-%m-%d %H:%M").to_string();
        let next = job.next.map(|at| format!(", next {}", minute(at))).unwrap_or_default();
        if job.state != "broken" {
            writeln!(out, "           {}, {}{next}", readable(&job.rhythm), job.tier)?;
        }
        if let Some((at, outcome)) = &job.ran {
            writeln!(out, "           ran {}: {}", minute(*at), readable(outcome))?;
        }
        if let Some((missed, last)) = job.missed {
            writeln!(out, "           missed {missed}, the last one of {}", minute(last))?;
        }
        if let Some(why) = &job.why {
            writeln!(out, "           {}", readable(why))?;
        }
    }
    if jobs.is_empty() {
        writeln!(out, "No heading wants work done by itself.")?;
    }
    Ok(())
}

fn all_of(job: &Listed) -> serde_json::Value {
    json!({
        "id": job.node.as_str(), "file": job.file, "title": job.title, "private": job.privacy > Privacy::Open,
        "state": job.state, "rhythm": job.rhythm, "tier": job.tier, "next": job.next.map(|at| at.to_string()),
        "ran": job.ran.as_ref().map(|(at, _)| at.to_string()), "outcome": job.ran.as_ref().map(|(_, outcome)| outcome),
        "missed": job.missed.map_or(0, |(missed, _)| missed), "late": job.missed.map(|(_, at)| at.to_string()),
        "why": job.why,
    })
}
