//! When jobs are looked at: at each beat of the clock, and a moment after memory changed; and what clients ask about them.

use crate::domain::inert::exact;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::Origin;
use crate::edge::engine::Engine;
use crate::edge::engine::jobs::{Listed, REST};
use crate::edge::thread::aside;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Runs what is due, as long as the engine lives.
pub(super) async fn follow(engine: Weak<Engine>) {
    loop {
        let Some(here) = engine.upgrade() else { return };
        let (wake, beat) = (here.jobs_wake(), Duration::from_secs(here.config.heartbeat));
        let soon = here.tick_jobs().await.soon;
        drop(here);
        tokio::select! {
            () = tokio::time::sleep(if soon { REST.min(beat) } else { beat }) => {}
            () = wake.notified() => {
                let rest = async { while tokio::time::timeout(REST, wake.notified()).await.is_ok() {} };
                // Something may come in all the time.
                let _ = tokio::time::timeout(beat, rest).await;
            }
        }
    }
}

/// Returns all jobs, for a client.
pub(super) async fn list(engine: &Arc<Engine>) -> Plist {
    let reader = engine.clone();
    let jobs = aside(move || reader.jobs()).await;
    Plist::new().list("jobs", jobs.iter().map(job))
}

fn job(job: &Listed) -> Sexp {
    let plist = Plist::new()
        .text("job", job.key.as_str())
        .text("id", job.node.as_str())
        .text("file", job.file.as_str())
        .maybe_int("line", job.line.map(i64::from))
        .text("title", exact(&job.title))
        .text("state", job.state)
        .text("rhythm", exact(&job.rhythm))
        .text("tier", job.tier)
        .text("text", exact(&job.shown))
        .maybe("next", job.next.map(|at| at.to_string()))
        .texts("ahead", job.ahead.iter().map(|at| at.to_string()))
        .maybe("ran", job.ran.as_ref().map(|(at, _)| at.to_string()))
        .maybe("outcome", job.ran.as_ref().map(|(_, outcome)| outcome.clone()))
        .maybe("late", job.missed.map(|(_, at)| at.to_string()))
        .maybe("why", job.why.as_deref().map(exact));
    plist.int("missed", job.missed.map_or(0, |(missed, _)| missed as i64)).build()
}

/// Does what the user wants done about one job.
pub(super) async fn rule(engine: &Arc<Engine>, origin: &Origin, payload: &Sexp) -> Result<Plist, String> {
    let key = payload.text_at("job").unwrap_or("");
    let said = match payload.name_at("do") {
        Some("confirm") => {
            let finished = engine.propose_job(origin, key).await?;
            let text = finished.report.notice.unwrap_or_else(|| "It waits as a flight plan.".to_string());
            let plans = finished.report.plans.iter().map(|id| id.0.clone());
            return Ok(Plist::new().text("text", exact(&text)).texts("plans", plans));
        }
        Some("withdraw") => engine.withdraw_job(origin, key).await?,
        Some("report") => engine.job_report(origin, key).await?,
        Some("stop") => engine.stop_job(origin, key)?,
        Some("pause") => engine.pause_job(origin, key, true).await?,
        Some("resume") => engine.pause_job(origin, key, false).await?,
        Some("run") => {
            let finished = engine.run_job_now(origin, key).await?;
            let notice = finished.report.notice.map(|notice| format!(": {notice}")).unwrap_or_default();
            format!("The job has run and {}{notice}", finished.report.ending.name())
        }
        Some(_) | None => return Err("a job is confirmed, withdrawn, paused, resumed, run or stopped".to_string()),
    };
    Ok(Plist::new().text("text", exact(&said)))
}
