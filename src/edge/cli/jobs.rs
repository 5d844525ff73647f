//! `passepartout jobs`: the headings that want work done by themselves, and how each stands.

use crate::domain::count::counted;
use crate::domain::label::Privacy;
use crate::edge::cli::args::Place;
use crate::edge::cli::run::{DONE, Failure};
use crate::edge::cli::session::{beside, blocking, readable, with_engine};
use crate::edge::clock::local;
use crate::edge::engine::Engine;
use crate::edge::engine::boot::Keep;
use crate::edge::engine::jobs::Listed;
use serde_json::json;
use std::io::Write;
use std::sync::Arc;

/// Prints all jobs, as the process that owns the store has them: what runs there runs, and the skills of its Emacs count.
/// They are confirmed in Emacs.
///
/// # Errors
/// In words for the user.
pub(super) fn run_jobs(place: &Place, as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let words = ["jobs"].into_iter().chain(as_json.then_some("--json"));
    if let Some(status) = beside(place, words.map(str::to_string).collect(), out)? {
        return Ok(status);
    }
    with_engine(place, Keep::ToRead, async |engine| {
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        out.write_all(&listed(engine, true, as_json).await?)?;
        Ok(DONE)
    })
}

/// Returns what is printed of all jobs; of private ones who may not see them learns that there are some.
///
/// # Errors
/// When looking broke.
pub(super) async fn listed(engine: &Arc<Engine>, sees_private: bool, as_json: bool) -> Result<Vec<u8>, Failure> {
    let jobs = blocking(engine, |engine| engine.jobs()).await?;
    let (shown, private): (Vec<Listed>, Vec<Listed>) =
        jobs.into_iter().partition(|job| sees_private || !job.privacy.is_kept());
    let mut out = Vec::new();
    match as_json {
        true => {
            let all = shown.iter().map(all_of).collect::<Vec<_>>();
            writeln!(out, "{}", json!({ "jobs": all, "private": private.len() }))?;
        }
        false => {
            print(&shown, private.is_empty(), &mut out)?;
            if !private.is_empty() {
                let private = counted(private.len(), "private job");
                writeln!(out, "{private} may not be seen here; look in Emacs: M-x passepartout-jobs")?;
            }
        }
    }
    Ok(out)
}

fn print(jobs: &[Listed], all: bool, out: &mut dyn Write) -> std::io::Result<()> {
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
    if jobs.is_empty() && all {
        writeln!(out, "No heading wants work done by itself.")?;
    }
    Ok(())
}

fn all_of(job: &Listed) -> serde_json::Value {
    json!({
        "id": job.node.as_str(), "file": job.file, "line": job.line, "title": job.title, "private": job.privacy > Privacy::Open,
        "state": job.state, "rhythm": job.rhythm, "tier": job.tier, "next": job.next.map(|at| at.to_string()),
        "ran": job.ran.as_ref().map(|(at, _)| at.to_string()), "outcome": job.ran.as_ref().map(|(_, outcome)| outcome),
        "missed": job.missed.map_or(0, |(missed, _)| missed), "late": job.missed.map(|(_, at)| at.to_string()),
        "why": job.why,
    })
}
