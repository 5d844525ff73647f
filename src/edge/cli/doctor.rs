//! `passepartout doctor`: what works, what does not, and how to repair it.

use crate::domain::inert::exact;
use crate::edge::canaries;
use crate::edge::cli::args::Place;
use crate::edge::cli::plans::human_terminal;
use crate::edge::cli::run::{DONE, FAILED, Failure};
use crate::edge::cli::session::{blocking, configured, options, origin, with_engine};
use crate::edge::doctor;
use crate::edge::engine::boot::Keep;
use std::io::Write;

/// What the doctor is to do beside looking.
pub(super) struct Wanted {
    /// Repair what can be repaired here.
    pub fix: bool,
    /// Ask the model providers too.
    pub providers: bool,
    /// Try the canaries.
    pub gates: bool,
    /// Print one JSON object.
    pub json: bool,
}

pub(super) fn run_doctor(place: &Place, wanted: &Wanted, out: &mut dyn Write) -> Result<u8, Failure> {
    let Wanted { fix, providers, gates, json } = *wanted;
    if fix {
        for line in doctor::mend(&configured(place).store) {
            writeln!(out, "{line}")?;
        }
    }
    // Looking would make a new store where one was deleted, maybe under the process that can put it back.
    let gone = doctor::gone(&configured(place));
    let origin = origin(human_terminal().is_ok());
    let keep = if gone.is_some() { Keep::InMemory } else { Keep::Examine };
    with_engine(place, keep, async |engine| {
        if fix {
            for line in doctor::fix(engine, "all") {
                writeln!(out, "{line}")?;
            }
        }
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        let _ = engine.flush().await; // The store's own check says what is wrong with it.
        engine.try_skills().await;
        let mut checks = doctor::examine(engine, providers.then_some(&origin)).await;
        if let Some(gone) = gone {
            checks.retain(|check| check.name != gone.name);
            checks.insert(0, gone);
        }
        if gates {
            checks.extend(canaries::try_all(engine).await);
        }
        let verdict = doctor::verdict(&checks);
        if json {
            let checks: Vec<_> = checks
                .iter()
                .map(|c| serde_json::json!({"name": c.name, "title": c.title, "state": c.state.name(), "detail": c.detail, "repair": c.repair, "fix": c.fix}))
                .collect();
            let kept_back: serde_json::Map<String, serde_json::Value> =
                engine.kept_back().into_iter().map(|(tag, count)| (tag, count.into())).collect();
            writeln!(
                out,
                "{}",
                serde_json::json!({"verdict": verdict.name(), "checks": checks, "kept_back": kept_back})
            )?;
        } else {
            for check in &checks {
                writeln!(out, "{:<10} {:<19} {}", check.word(), check.title, exact(&check.detail))?;
                if let Some(repair) = &check.repair {
                    writeln!(out, "{:30} Repair: {}", "", exact(repair))?;
                }
                if check.fix {
                    writeln!(out, "{:30} Or let it be done: passepartout doctor --fix{}", "", options(place))?;
                }
            }
            writeln!(out, "\nIn all: {}.", verdict.name())?;
        }
        Ok(if verdict == doctor::State::Unhealthy { FAILED } else { DONE })
    })
}
