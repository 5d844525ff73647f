//! `passepartout rules` and `passepartout gate replay`: what loosens, what was learned, and what that would change.

use crate::edge::cli::args::{Place, Rules};
use crate::edge::cli::run::{DONE, FAILED, Failure};
use crate::edge::cli::session::{beside, blocking, origin, readable, say, with_engine};
use crate::edge::engine::Engine;
use crate::edge::engine::authority::Ruled;
use crate::edge::engine::boot::Keep;
use serde_json::json;
use std::io::Write;

pub(super) fn run_rules(command: Rules, out: &mut dyn Write) -> Result<u8, Failure> {
    match command {
        Rules::List { place, json } => with_engine(&place, Keep::ToRead, async |engine| {
            blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
            print(engine, json, out)?;
            Ok(DONE)
        }),
        Rules::Withdraw { rule, place, json } => {
            let words = ["rules", "withdraw"].into_iter().chain(json.then_some("--json")).chain(["--", &rule]);
            let words = words.map(str::to_string).collect();
            if let Some(status) = beside(&place, words, out)? {
                return Ok(status);
            }
            with_engine(&place, Keep::OnDiskOnly, async |engine| {
                say(&engine.withdraw_rule(&origin(false), &rule).await?, json, out)
            })
        }
    }
}

fn print(engine: &Engine, as_json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let rules = engine.rules();
    if as_json {
        let each = rules
            .iter()
            .map(|rule| json!({ "id": rule.id, "state": rule.state, "text": rule.text, "used": rule.used }));
        writeln!(out, "{}", json!({ "rules": each.collect::<Vec<_>>(), "gaps": engine.rule_gaps() }))?;
        return Ok(());
    }
    for gap in engine.rule_gaps() {
        writeln!(out, "Attention: {}", readable(&gap))?;
    }
    for Ruled { id, state, text, used } in &rules {
        let used = used.map(|used| format!(" (used {used} times)")).unwrap_or_default();
        writeln!(out, "{id}  {state:<9}  {}{used}", readable(text))?;
    }
    if rules.is_empty() {
        writeln!(out, "Nothing loosens what may happen, and no rule was learned.")?;
    }
    Ok(())
}

/// Prints what a rule, or each that is known, would change; a rule that opens what is denied ends with 1.
///
/// # Errors
/// In words for the user.
pub(super) fn replay(rule: Option<&str>, place: &Place, as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    with_engine(place, Keep::ToRead, async |engine| {
        let replays = engine.replay(rule).await?;
        let refused = replays.iter().any(|(_, replay)| replay.refused());
        if as_json {
            let each = replays.iter().map(|(id, replay)| {
                json!({
                    "rule": id, "passes": replay.passes, "opens": replay.opens, "canaries": replay.canaries,
                    "tried": replay.tried, "refused": replay.refused(),
                })
            });
            writeln!(out, "{}", json!({ "rules": each.collect::<Vec<_>>() }))?;
        } else {
            for (id, replay) in &replays {
                write!(out, "{}", readable(&replay.text(id)))?;
            }
            if replays.is_empty() {
                writeln!(out, "No rule was learned yet.")?;
            }
        }
        Ok(if refused { FAILED } else { DONE })
    })
}
