//! Reads skills for the model, and writes those of the user's own: tried out first, and taken back where they do not load.
//!
//! What stands in a skill that was installed is text from outside, whoever installed it.

use crate::domain::action::Outcome;
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::facts::EditFact;
use crate::domain::gate::place;
use crate::domain::label::{Labels, Privacy, Provenance};
use crate::domain::outside::Piece;
use crate::domain::port::LogLevel;
use crate::edge::actuator::{Actuators, Done, OWN, write};
use crate::edge::engine::Engine;
use crate::edge::engine::authority::read_skill;
use crate::edge::engine::changes::Act;
use crate::edge::engine::skill_test::Tested;
use crate::edge::thread::aside;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// How long a thread that still writes is waited for, when the turn was stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// A skill that is being written: when its turn is stopped before it is known whether it loads, that is found out all the
/// same, and its file is put back where it does not.
struct Unsettled {
    engine: Arc<Engine>,
    edit: EditFact,
    name: String,
    /// Held by who writes.
    busy: Option<Arc<tokio::sync::Mutex<()>>>,
    settled: bool,
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        let (false, Ok(runtime)) = (self.settled, Handle::try_current()) else { return };
        let (engine, edit, name, busy) = (self.engine.clone(), self.edit.clone(), self.name.clone(), self.busy.take());
        runtime.spawn(async move {
            if let Some(busy) = busy {
                let _ = tokio::time::timeout(PATIENCE, busy.lock()).await;
            }
            settle(&engine, &edit, &name).await;
        });
    }
}

/// Loads a skill as it was written, and puts its file back where it does not load; where something else stands there, nothing
/// is done.
async fn settle(engine: &Arc<Engine>, edit: &EditFact, name: &str) {
    let wanted = edit.clone();
    if !aside(move || std::fs::read_to_string(&wanted.file).is_ok_and(|now| now == *wanted.after)).await {
        return;
    }
    if let Err(why) = engine.load_written(name).await {
        let ended = take_back(engine, edit).await;
        engine.say(
            LogLevel::Warning,
            &format!("the turn that wrote the skill {name} was stopped, and the skill does not load: {why}. {ended}"),
        );
    }
}

/// Puts the file of a skill back that does not load, and reads all skills anew; returns what came of that.
async fn take_back(engine: &Arc<Engine>, edit: &EditFact) -> String {
    let edit = edit.clone();
    let back = aside(move || put_back(&edit)).await;
    engine.reload_skills().await;
    match back {
        Ok(()) => "Its file was put back as it was.".to_string(),
        Err(back) => format!("Its file could not be put back: {back}."),
    }
}

/// Puts the file of a skill back as it was before it was written; what somebody made of it since stays.
fn put_back(edit: &EditFact) -> Result<(), String> {
    let path = Path::new(&edit.file);
    match &edit.before {
        Some(before) => write::replace(path, Some(&edit.after), before, None),
        None => match std::fs::read_to_string(path) {
            Ok(now) if now == *edit.after => std::fs::remove_file(path).map_err(|error| error.to_string()),
            Ok(_) => Err("it changed since it was written".to_string()),
            Err(error) => Err(error.to_string()),
        },
    }
}

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
        let mut unsettled = Unsettled {
            engine: self.engine.clone(),
            edit: edit.clone(),
            name: name.to_string(),
            busy: self.engine.busy_with(act),
            settled: in_buffer,
        };
        let done = self.edit(act, cleared).await;
        let Outcome::Done(said) = &done.outcome else {
            unsettled.settled = true;
            return done;
        };
        if in_buffer {
            return Done { outcome: Outcome::Done(format!("{said} The skill counts once it is saved.")), ..done };
        }
        let loaded = self.engine.load_written(name).await;
        match loaded {
            Ok(in_use) => {
                unsettled.settled = true;
                let counts = match in_use {
                    true => format!("The skill {name} counts from the next turn on."),
                    false => format!(
                        "The skill {name} is out of use, as the user took it; it counts once they take it in again."
                    ),
                };
                let said = format!("{said} {counts} {}", tested.words());
                Done { outcome: Outcome::Done(said), ..done }
            }
            Err(why) => {
                let _busy = match self.engine.writing(act) {
                    Ok(busy) => busy,
                    Err(why) => return Done::failed(why),
                };
                let ended = take_back(&self.engine, edit).await;
                unsettled.settled = true;
                self.engine.say(LogLevel::Warning, &format!("the skill {name} does not load as it was written: {why}"));
                Done::failed(format!("{why}. {ended}"))
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::engine::fresh::tests::Place;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_skill_whose_turn_was_stopped_is_loaded_or_put_back() {
        const FINE: &str = "#+TITLE: Notes\n* Prompt\nKeep notes short.\n";
        const WRONG: &str = "#+TITLE: Notes\n#+PRIORITY: much\n* Prompt\nKeep notes short.\n";
        const HANDS: &str = "#+TITLE: Notes\n* Prompt\nOf the user.\n";
        for (before, after, now, expected) in [
            (None, FINE, FINE, Some(FINE)),
            (None, WRONG, WRONG, None),
            (Some(FINE), WRONG, WRONG, Some(FINE)),
            // It was not written yet, or somebody made something of it.
            (Some(FINE), WRONG, FINE, Some(FINE)),
            (Some(FINE), WRONG, HANDS, Some(HANDS)),
        ] {
            let place = Place::new("* One\n").await;
            let engine = place.engine.clone();
            engine.make_skill_folder().expect("it is made");
            let file = engine.config.settings.join("skills").join("notes.org");
            std::fs::write(&file, now).expect("it is written");
            let edit = crate::edge::engine::planner::fact(
                file.display().to_string(),
                before.map(|before: &str| before.into()),
                after.into(),
            );
            settle(&engine, &edit, "notes").await;
            assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), expected, "{after}");
            let loaded = engine.skills().loaded.skills.iter().any(|skill| skill.name == "notes");
            assert_eq!(loaded, expected == Some(FINE) && now != FINE || after == FINE, "{after}");
        }
    }
}
