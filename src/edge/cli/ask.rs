//! `passepartout ask`: a question, answered here or by the process that owns the store.

use crate::domain::turn::Ending;
use crate::edge::cli::args::Place;
use crate::edge::cli::forward::Turned;
use crate::edge::cli::plans;
use crate::edge::cli::run::{DONE, FAILED, Failure, PENDING, USAGE};
use crate::edge::cli::session::{block_on, blocking, engine, options, origin, owner, readable, somewhere, with_engine};
use crate::edge::engine::Engine;
use crate::edge::engine::boot::Keep;
use crate::edge::engine::record::Finished;
use crate::edge::engine::turns::{Ask, Decided};
use std::io::Write;

/// Longer questions are refused, as they are in a chat.
const LONGEST_QUESTION: u64 = 1 << 20;

/// Returns what is asked: the words, or what is piped in when there are none or only “-”.
pub(super) fn question(words: &[String]) -> Result<String, Failure> {
    use std::io::{IsTerminal, Read};
    let usage = |text: &str| Failure {
        text: format!("{text}\nUsage: passepartout ask TEXT, or pipe the question in"),
        status: USAGE,
    };
    let piped = match words {
        [] => !std::io::stdin().is_terminal(),
        [only] => only == "-",
        _ => false,
    };
    let mut text = words.join(" ");
    if piped {
        text.clear();
        let mut input = std::io::stdin().lock().take(LONGEST_QUESTION + 1);
        input.read_to_string(&mut text).map_err(|error| usage(&format!("the question cannot be read: {error}")))?;
        if text.len() as u64 > LONGEST_QUESTION {
            return Err(usage("the question is longer than 1 MB; put it into a file and name the file"));
        }
    }
    if text.trim().is_empty() { Err(usage("there is no question")) } else { Ok(text) }
}

pub(super) fn ask(text: String, place: &Place, json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    somewhere(place)?;
    let asked = block_on(async {
        let Some(mut owner) = owner(place).await? else { return Ok(None) };
        let project = place.project.clone().or_else(|| std::env::current_dir().ok());
        let project = project.map(|path| std::path::absolute(&path).unwrap_or(path));
        if text.trim_start().starts_with('/') {
            let engine = engine(place, Keep::ToRead).await?;
            if let Some((id, decided)) = engine.typed_decision(&text) {
                return Err(elsewhere(id, &decided));
            }
            engine.close().await;
        }
        let turned = owner.ask(&text, project.as_deref()).await?;
        print_turned(turned, place, json, out).await.map(Some)
    })?;
    if let Some(status) = asked {
        return Ok(status);
    }
    with_engine(place, Keep::Along, async |engine| {
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        if let Some((id, decided)) = engine.typed_decision(&text) {
            return Err(elsewhere(id, &decided));
        }
        let folder = std::env::current_dir().ok();
        let ask = Ask { origin: origin(false), text, history: Vec::new(), folder };
        let turn = engine.new_turn();
        let mut answer = String::new();
        let finished = engine.ask(ask, turn, &mut |piece| answer.push_str(piece)).await;
        engine.flush().await?;
        let status = print_turn(engine, &finished, &answer, place, json, out)?;
        // An answer from nothing is no answer.
        Ok(if engine.view().is_empty() { FAILED } else { status })
    })
}

/// Says where a plan is decided about that was named in a question: here it would be done without having been shown.
fn elsewhere(id: &str, decided: &Decided) -> Failure {
    let (verb, why) = match decided {
        Decided::Approve { .. } => ("approve", "a plan is approved where it is shown"),
        Decided::Deny { .. } => ("deny", "a plan is not decided about in a question"),
    };
    let id = if id.is_empty() { "PLAN".to_string() } else { crate::domain::inert::exact(id) };
    Failure { text: format!("{why}; use: passepartout plans {verb} {id}"), status: USAGE }
}

/// Prints a turn that the owner of the store has carried out, from what it has stored.
pub(super) async fn print_turned(
    turned: Turned,
    place: &Place,
    json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let engine = engine(place, Keep::ToRead).await?;
    let finished = engine.turns(200).await?.into_iter().find(|finished| finished.turn.0 == turned.turn);
    let status = match finished {
        Some(finished) => print_turn(&engine, &finished, &turned.text, place, json, out),
        // It did not count, and says why; or an answer of few words that is in no trace.
        None => Err(Failure::from(turned.notice.unwrap_or(turned.text))),
    };
    engine.close().await;
    status
}

pub(super) fn print_turn(
    engine: &Engine,
    finished: &Finished,
    answer: &str,
    place: &Place,
    json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let report = &finished.report;
    let status = match report.ending {
        Ending::Answered => DONE,
        Ending::Parked => PENDING,
        Ending::Interrupted | Ending::Failed => FAILED,
    };
    let plans: Vec<_> = report.plans.iter().filter_map(|id| engine.plan(&id.0)).collect();
    if json {
        let all = serde_json::json!({
            "status": report.ending.name(), "text": answer, "notice": report.notice,
            "sources": report.sources.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
            "plans": plans.iter().map(plans::json).collect::<Vec<_>>(),
            "turn": crate::edge::engine::record::turn(finished),
        });
        writeln!(out, "{all}")?;
        return Ok(status);
    }
    if !answer.trim().is_empty() {
        writeln!(out, "{}", readable(answer.trim_end()))?;
    }
    if let Some(notice) = &report.notice {
        writeln!(out, "{}", readable(notice))?;
    }
    for plan in &plans {
        writeln!(out, "\n{}", plans::whole(plan))?;
        writeln!(out, "It waits. Approve it with: passepartout plans approve {}{}", plan.id, options(place))?;
    }
    Ok(status)
}
