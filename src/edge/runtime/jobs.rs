//! When jobs are looked at: at each beat of the clock, and a moment after memory changed; and what clients ask about them.

use crate::domain::inert::exact;
use crate::domain::port::LogLevel;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::Origin;
use crate::domain::turn::panic_text;
use crate::edge::engine::Engine;
use crate::edge::engine::jobs::{Listed, REST};
use crate::edge::thread::aside;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// What a look came to: what wakes the next one, when it comes at the latest, and whether it comes in a moment.
struct Round {
    wake: Arc<Notify>,
    beat: Duration,
    soon: bool,
}

/// Runs what is due, as long as the engine lives.
pub(super) async fn follow(engine: Weak<Engine>) {
    let look = move || {
        let engine = engine.clone();
        async move {
            let here = engine.upgrade()?;
            let (wake, beat) = (here.jobs_wake(), Duration::from_secs(here.config.heartbeat));
            // What breaks in one look ends neither the next one nor the jobs of others.
            let soon = match AssertUnwindSafe(here.tick_jobs()).catch_unwind().await {
                Ok(ticked) => ticked.soon,
                Err(panic) => {
                    let text = format!("looking what is due broke off: {}", panic_text(&*panic));
                    here.say(LogLevel::Error, &text);
                    false
                }
            };
            Some(Round { wake, beat, soon })
        }
    };
    rounds(look).await;
}

/// Looks again and again, until there is nothing left to look at.
async fn rounds<F: Future<Output = Option<Round>> + Send>(mut look: impl FnMut() -> F + Send) {
    while let Some(Round { wake, beat, soon }) = look().await {
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

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use tokio::time::{Instant, sleep};

    /// Returns at what tenths of a second it was looked, when `beat` seconds lie between two looks, each says of itself
    /// whether the next comes in a moment, and these tenths of a second wake who waits.
    async fn looked(beat: u64, soon: &[bool], wakes: Vec<u64>) -> Vec<u128> {
        let (begun, wake, looks) = (Instant::now(), Arc::new(Notify::new()), Mutex::new(Vec::new()));
        let waking = tokio::spawn({
            let wake = wake.clone();
            async move {
                for tenth in wakes {
                    tokio::time::sleep_until(begun + Duration::from_millis(tenth * 100)).await;
                    wake.notify_one();
                }
            }
        });
        let look = || {
            let mut looks = looks.lock();
            // A timer may be a millisecond late.
            looks.push((begun.elapsed().as_millis() + 50) / 100);
            let said = soon.get(looks.len() - 1).copied();
            let wake = wake.clone();
            async move { said.map(|soon| Round { wake, beat: Duration::from_secs(beat), soon }) }
        };
        rounds(look).await;
        waking.abort();
        looks.into_inner()
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_looked_at_each_beat_and_when_what_came_in_rests_for_a_moment() {
        for (what, beat, soon, wakes, expected) in [
            ("each beat", 60, &[false, false, false][..], vec![], &[0, 600, 1200, 1800][..]),
            ("in a moment, as something ran", 60, &[true, true, false], vec![], &[0, 20, 40, 640]),
            ("no later than at the beat", 1, &[true, false], vec![], &[0, 10, 20]),
            ("two seconds after something came in", 60, &[false, false], vec![100], &[0, 120, 720]),
            ("when it rests", 60, &[false], vec![100, 110, 125], &[0, 145]),
            ("twice", 60, &[false, false], vec![100, 300], &[0, 120, 320]),
            ("though it never rests", 60, &[false, false], (1..400).map(|n| n * 7).collect(), &[0, 607, 1209]),
            ("what came in while it was looked", 60, &[false], vec![0], &[0, 20]),
            ("not at all, as nobody is there", 60, &[], vec![], &[0]),
        ] {
            assert_eq!(looked(beat, soon, wakes).await, expected, "{what}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_in_during_a_look_is_looked_at_behind_it() {
        let (begun, wake, looks) = (Instant::now(), Arc::new(Notify::new()), Arc::new(Mutex::new(Vec::new())));
        let look = || {
            let (wake, looks) = (wake.clone(), looks.clone());
            async move {
                looks.lock().push(begun.elapsed().as_secs());
                if looks.lock().len() > 2 {
                    return None;
                }
                // A run that takes its time, and that changes something.
                sleep(Duration::from_secs(30)).await;
                wake.notify_one();
                Some(Round { wake, beat: Duration::from_secs(60), soon: false })
            }
        };
        rounds(look).await;
        assert_eq!(*looks.lock(), [0, 32, 64]);
    }
}
