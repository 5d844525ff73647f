//! Reads skills for the model, and writes those of the user's own: tried out first, and taken back where they do not load.
//!
//! What stands in a skill that was installed is text from outside, whoever installed it.

use crate::domain::action::Outcome;
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::place;
use crate::domain::label::{Labels, Privacy, Provenance};
use crate::domain::outside::Piece;
use crate::domain::port::LogLevel;
use crate::edge::actuator::{Actuators, Done, OWN, write};
use crate::edge::engine::authority::read_skill;
use crate::edge::engine::changes::Act;
use crate::edge::engine::skill_test::Tested;
use crate::edge::thread::aside;
use std::path::Path;

impl Actuators {
    /// Reads a skill that is loaded, or a file of one of the common format that has not changed since it was confirmed.
    pub(super) async fn read_skill(&self, cleared: &Cleared) -> Done {
        let text = |name: &str| cleared.action().text(name).map(str::to_string);
        let (engine, name, file) = (self.engine.clone(), text("skill"), text("file"));
        let source = format!("the skill {}", name.as_deref().unwrap_or("list"));
        match aside(move || read_skill(&engine, name.as_deref(), file.as_deref())).await {
            Ok((text, true)) => Done::said(text, OWN),
            Ok((text, false)) => {
                let piece = Piece::new(&source, &text, Privacy::Open);
                Done::read(text, Labels::untrusted(Provenance::File, Privacy::Open), vec![piece])
            }
            Err(why) => Done::failed(why),
        }
    }

    /// Writes a skill of the user's own, as it was approved: its Lisp and its tests are run first, and when it does not come
    /// to be loaded its file is put back.
    pub(super) async fn write_skill(&self, act: &Act, cleared: &Cleared) -> Done {
        let [edit] = cleared.facts().edits.as_slice() else { return Done::failed("there is no one skill to write") };
        let Some(name) = place::own_skill(&edit.file, cleared.scope()) else {
            return Done::failed(format!("{} is no skill of the user's own", edit.file));
        };
        let tested = match self.engine.test_skill_text(name, &edit.file, &edit.after).await {
            Ok(tested) if tested.holds() => tested,
            Ok(tested) => return Done::failed(format!("{} Nothing was changed.", failures(&tested))),
            Err(why) => return Done::failed(format!("{why}. Nothing was changed.")),
        };
        if let Err(why) = self.engine.make_skill_folder() {
            return Done::failed(format!("{why}. Nothing was changed."));
        }
        let in_buffer = self.engine.editor.buffer(&edit.file).await.is_ok_and(|buffer| buffer.is_some());
        let done = self.edit(act, cleared).await;
        let Outcome::Done(said) = &done.outcome else { return done };
        if in_buffer {
            return Done { outcome: Outcome::Done(format!("{said} The skill counts once it is saved.")), ..done };
        }
        match self.engine.load_written(name).await {
            Ok(()) => {
                let said = format!("{said} The skill {name} counts from the next turn on. {}", tested.words());
                Done { outcome: Outcome::Done(said), ..done }
            }
            Err(why) => {
                let back = self.put_back(act, cleared).await;
                self.engine.reload_skills().await;
                let ended = match back {
                    Ok(()) => "Its file was put back as it was.".to_string(),
                    Err(back) => format!("Its file could not be put back: {back}."),
                };
                self.engine.say(LogLevel::Warning, &format!("the skill {name} does not load as it was written: {why}"));
                Done::failed(format!("{why}. {ended}"))
            }
        }
    }

    /// Puts the file of a skill back as it was before it was written; what somebody made of it since stays.
    async fn put_back(&self, act: &Act, cleared: &Cleared) -> Result<(), String> {
        let Some(edit) = cleared.facts().edits.first().cloned() else { return Ok(()) };
        let busy = self.engine.writing(act)?;
        aside(move || {
            let _busy = busy;
            let path = Path::new(&edit.file);
            match &edit.before {
                Some(before) => write::replace(path, Some(&edit.after), before, None),
                None => match std::fs::read_to_string(path) {
                    Ok(now) if now == *edit.after => std::fs::remove_file(path).map_err(|error| error.to_string()),
                    Ok(_) => Err("it changed since it was written".to_string()),
                    Err(error) => Err(error.to_string()),
                },
            }
        })
        .await
    }
}

/// Returns what is wrong with a skill, in sentences for the model.
fn failures(tested: &Tested) -> String {
    let wrong = tested.wrong.iter().map(|(line, why)| match line {
        Some(line) if !why.starts_with("line ") => format!("line {line}: {why}."),
        Some(_) | None => format!("{why}."),
    });
    let failed = tested.tests.iter().filter(|test| test.ended == "failed").map(|test| {
        let line = test.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        format!("The test {}{line} fails: {}.", test.name, test.why)
    });
    wrong.chain(failed).collect::<Vec<_>>().join(" ")
}
