//! `passepartout repl`: lines of Lisp, evaluated in the confined worker of this command, by the gates that judge it in Emacs.
//!
//! It knows nothing of Lisp but where a form ends; what a line means stands in `domain/lisp/repl.rs`.

use crate::domain::lisp::repl::{QUIT, Said, is_whole, nothing};
use crate::domain::turn::Ending;
use crate::edge::cli::args::Place;
use crate::edge::cli::ask::not_beside;
use crate::edge::cli::forward::{Met, Owner};
use crate::edge::cli::run::{DONE, FAILED, Failure, PENDING};
use crate::edge::cli::session::{
    block_on, blocking, complaining, met, options, origin, readable, somewhere, with_engine_that_tells,
};
use crate::edge::engine::Engine;
use crate::edge::engine::boot::Keep;
use crate::edge::store::owner_of;
use crate::edge::thread::in_place;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::sync::Arc;

/// What is typed at once is no longer than this, in bytes.
const LONGEST: u64 = 1 << 20;
/// Stands before what is typed.
const PROMPT: &str = "lisp> ";
/// Stands before what goes on with a form.
const GOES_ON: &str = "....> ";

/// What a line came to.
struct Came {
    text: String,
    notice: Option<String>,
    ending: Ending,
    plans: Vec<String>,
}

/// Evaluates what is typed or piped in, form by form.
///
/// # Errors
/// In words for the user.
pub(super) fn run_repl(place: &Place, json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    somewhere(place)?;
    let mut typed = Typing { at_terminal: std::io::stdin().is_terminal(), json };
    let beside = block_on(async {
        match met(place).await? {
            Met::Owner(owner) => at_owner(owner, place, &mut typed, out).await.map(Some),
            Met::Closed | Met::Nobody => Ok(None),
        }
    })?;
    match beside {
        Some(status) => Ok(status),
        None => here(place, &mut typed, out),
    }
}

/// Has each form evaluated by the process that owns the store.
async fn at_owner(mut owner: Owner, place: &Place, typed: &mut Typing, out: &mut dyn Write) -> Result<u8, Failure> {
    let project = place.project.clone().or_else(|| std::env::current_dir().ok());
    let project = project.map(|path| std::path::absolute(&path).unwrap_or(path));
    let mut status = DONE;
    while let Some(line) = in_place(|| typed.next(out))? {
        let turned = owner.evaluate(&line, project.as_deref()).await?;
        let ending = match (turned.answered, turned.plans.is_empty()) {
            (true, _) => Ending::Answered,
            (false, false) => Ending::Parked,
            (false, true) => Ending::Failed,
        };
        let came = Came { text: turned.text, notice: turned.notice, ending, plans: turned.plans };
        status = typed.told(status, print(&came, (place, typed.json), out)?);
        if turned.again {
            // Whoever owns the store next has another worker.
            return Ok(FAILED);
        }
    }
    Ok(status)
}

/// Evaluates each form in this process, which owns the store meanwhile.
fn here(place: &Place, typed: &mut Typing, out: &mut dyn Write) -> Result<u8, Failure> {
    with_engine_that_tells(place, Keep::Along, complaining(), async |engine| {
        if engine.beside().is_some() {
            return Err(not_beside(owner_of(&engine.config.store)));
        }
        // What of it is private decides what may be loaded.
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        let mut status = DONE;
        while let Some(line) = in_place(|| typed.next(out))? {
            let came = evaluated(engine, &line).await?;
            status = typed.told(status, print(&came, (place, typed.json), out)?);
        }
        Ok(status)
    })
}

async fn evaluated(engine: &Arc<Engine>, line: &str) -> Result<Came, Failure> {
    let (turn, folder, mut text) = (engine.new_turn(), std::env::current_dir().ok(), String::new());
    let finished = engine.repl(&origin(false), line, folder, turn, &mut |piece| text.push_str(piece.text())).await;
    engine.flush().await?;
    let plans = finished.report.plans.iter().map(|plan| plan.0.clone()).collect();
    Ok(Came { text, notice: finished.report.notice, ending: finished.report.ending, plans })
}

/// Prints what a line came to: what it printed, then its value; returns the exit status that goes with it.
fn print(came: &Came, (place, json): (&Place, bool), out: &mut dyn Write) -> Result<u8, Failure> {
    let said = Said::read(&came.text);
    let status = match came.ending {
        Ending::Answered if said.went_wrong => FAILED,
        Ending::Answered => DONE,
        Ending::Parked => PENDING,
        Ending::Interrupted | Ending::Failed => FAILED,
    };
    if json {
        let all = serde_json::json!({
            "status": came.ending.name(), "failed": status == FAILED, "printed": said.printed, "value": said.value,
            "notice": came.notice, "plans": came.plans,
        });
        writeln!(out, "{all}")?;
        out.flush()?;
        return Ok(status);
    }
    for text in [said.printed, said.value].into_iter().filter(|text| !text.trim().is_empty()) {
        writeln!(out, "{}", readable(text.trim_end()))?;
    }
    if let Some(notice) = &came.notice {
        writeln!(out, "{}", readable(notice))?;
    }
    for plan in &came.plans {
        let (plan, options) = (readable(plan), options(place));
        writeln!(out, "It waits as {plan}. Look at it and approve it in another terminal:")?;
        writeln!(out, "passepartout plans approve {plan}{options}")?;
    }
    out.flush()?;
    Ok(status)
}

/// What is typed, or piped in.
struct Typing {
    at_terminal: bool,
    /// What a form came to is printed as JSON.
    json: bool,
}

impl Typing {
    /// Returns the next command, or as many lines as a form has; `None` at the end.
    fn next(&mut self, out: &mut dyn Write) -> Result<Option<String>, Failure> {
        let mut text = String::new();
        loop {
            if self.at_terminal {
                write!(out, "{}", if text.is_empty() { PROMPT } else { GOES_ON })?;
                out.flush()?;
            }
            let left = LONGEST.saturating_sub(text.len() as u64);
            let length = std::io::stdin().lock().take(left + 1).read_line(&mut text);
            let length = length.map_err(|error| format!("what is typed cannot be read: {error}"))?;
            if length as u64 > left {
                return Err("a form of more than 1 MB is not evaluated; load it from a file with ,load FILE".into());
            }
            if length == 0 {
                if self.at_terminal {
                    writeln!(out)?;
                }
                // The last form may lack its end, which is said of it.
                return Ok(Some(text).filter(|text| !nothing(text)));
            }
            if nothing(&text) {
                text.clear();
            } else if text.trim() == QUIT {
                return Ok(None);
            } else if is_whole(&text) {
                return Ok(Some(text));
            }
        }
    }

    /// Returns the exit status after one more line: at a terminal the human has seen what went wrong.
    fn told(&self, before: u8, now: u8) -> u8 {
        match (self.at_terminal, before, now) {
            (true, ..) => DONE,
            (false, FAILED, _) | (false, _, FAILED) => FAILED,
            (false, before, now) => before.max(now),
        }
    }
}
