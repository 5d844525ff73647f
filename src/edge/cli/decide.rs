//! `passepartout plans`: flight plans are listed, shown, and decided about.

use crate::edge::cli::args::{Place, Plans};
use crate::edge::cli::ask::{Way, print_turn, print_turned};
use crate::edge::cli::plans;
use crate::edge::cli::run::{DONE, Failure};
use crate::edge::cli::session::{block_on, blocking, engine, origin, owner, somewhere, with_engine};
use crate::edge::engine::Engine;
use crate::edge::engine::boot::Keep;
use crate::edge::engine::turns::Decided;
use crate::edge::plan_text;
use std::io::Write;
use std::sync::Arc;

pub(super) fn run_plans(command: Plans, out: &mut dyn Write) -> Result<u8, Failure> {
    match command {
        Plans::List { place, all, json } => with_engine(&place, Keep::ToRead, async |engine| {
            let listed = engine.plans(all).into_iter().map(|plan| (engine.step(&plan), plan)).collect::<Vec<_>>();
            write!(out, "{}", plans::list(&listed, engine.clock.now(), json))?;
            Ok(DONE)
        }),
        Plans::Show { plan, place, json } => with_engine(&place, Keep::ToRead, async |engine| {
            let plan =
                engine.plan(&plan).ok_or_else(|| format!("there is no plan {plan}; see: passepartout plans list"))?;
            if json {
                writeln!(out, "{}", plans::json(&plan))?
            } else {
                writeln!(out, "{}", plan_text::whole(&plan))?
            }
            Ok(DONE)
        }),
        Plans::Approve { plan, place } => {
            plans::human_terminal()?;
            somewhere(&place)?;
            if let Some(status) = approve_beside(&plan, &place, out)? {
                return Ok(status);
            }
            with_engine(&place, Keep::OnDiskOnly, async |engine| {
                let known = engine.plan(&plan);
                let found = known.ok_or_else(|| format!("there is no plan {plan}; see: passepartout plans list"))?;
                if !plans::confirmed(&plan_text::whole(&found), &found.id.0, out)? {
                    writeln!(out, "Nothing was done.")?;
                    return Ok(DONE);
                }
                decide(engine, &plan, Decided::Approve { shown: found.shown() }, (&place, false), out).await
            })
        }
        Plans::Deny { plan, reason, stop, place, json } => {
            let reason = reason.join(" ");
            plans::human_terminal()?;
            somewhere(&place)?;
            let denied = block_on(async {
                let Some(mut owner) = owner(&place).await? else { return Ok(None) };
                let turned = owner.deny(&plan, &reason, stop).await?;
                print_turned(Some(turned), &place, Way { json, ..Way::default() }, out).await.map(Some)
            })?;
            if let Some(status) = denied {
                return Ok(status);
            }
            with_engine(&place, Keep::OnDiskOnly, async |engine| {
                decide(engine, &plan, Decided::no(&reason, stop), (&place, json), out).await
            })
        }
    }
}

/// Shows a plan from the store and has it approved by the process that owns the store; `None` when there is none.
fn approve_beside(plan: &str, place: &Place, out: &mut dyn Write) -> Result<Option<u8>, Failure> {
    block_on(async {
        if owner(place).await?.is_none() {
            return Ok(None);
        }
        let engine = engine(place, Keep::ToRead).await?;
        let found = engine.plan(plan);
        engine.close().await;
        let found = found.ok_or_else(|| format!("there is no plan {plan}; see: passepartout plans list"))?;
        if !tokio::task::block_in_place(|| plans::confirmed(&plan_text::whole(&found), &found.id.0, out))? {
            writeln!(out, "Nothing was done.")?;
            return Ok(Some(DONE));
        }
        // It may be another one by now: whoever owns the store has the plan.
        let Some(mut owner) = owner(place).await? else {
            return Err("the process that owned the store has ended, and nothing was done; approve it again".into());
        };
        let turned = owner.approve(&found).await?;
        print_turned(Some(turned), place, Way::default(), out).await.map(Some)
    })
}

async fn decide(
    engine: &Arc<Engine>,
    plan: &str,
    decided: Decided,
    (place, json): (&Place, bool),
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
    let mut answer = String::new();
    let turn = engine.new_turn();
    let finished =
        engine.decide(&origin(true), plan, decided, turn, &mut |piece| answer.push_str(piece.text())).await?;
    engine.flush().await?;
    print_turn(engine, &finished, &answer, place, Way { json, kept: true, ..Way::default() }, out)
}
