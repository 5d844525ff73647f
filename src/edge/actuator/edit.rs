//! Carries out edits that were predicted: through the buffer where a file is open, else whole and atomically.

use crate::domain::action::Outcome;
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::disclosure::loosened;
use crate::domain::gate::dispatcher::changes_rules;
use crate::domain::gate::facts::{EditFact, Identity};
use crate::edge::actuator::{Actuators, Done, OWN, write};
use crate::edge::editor::difference;
use crate::edge::engine::changes::Act;
use crate::edge::thread::aside;
use std::path::Path;

impl Actuators {
    /// Makes every predicted edit; what the plan showed is exactly what is written.
    pub(super) async fn edit(&self, act: &Act, cleared: &Cleared) -> Done {
        let edits = &cleared.facts().edits;
        if edits.is_empty() {
            return Done::failed("there is nothing to change");
        }
        let mut changed = Vec::new();
        let mut said = Vec::new();
        for edit in edits {
            let place =
                cleared.facts().paths.iter().find(|path| path.resolved == edit.file).and_then(|path| path.folder);
            let done = self.edit_one(edit, place, act).await;
            if let Err(why) = done {
                let done = match changed.len() {
                    0 => "Nothing was changed.".to_string(),
                    _ => format!("Changed before that: {}.", changed.join(", ")),
                };
                return Done {
                    outcome: Outcome::Failed(format!("{}: {why}. {done}", edit.file)),
                    labels: OWN,
                    outside: Vec::new(),
                    nodes: Vec::new(),
                    changed,
                };
            }
            self.engine.own_edit(act, edit).await;
            said.extend(done);
            changed.push(edit.file.clone());
        }
        self.approved(cleared, edits).await;
        Done {
            outcome: Outcome::Done(format!("Done. {}", said.join(" "))),
            labels: OWN,
            outside: Vec::new(),
            nodes: Vec::new(),
            changed,
        }
    }

    /// Lets go the rules that edits took away which a human approved: each that changes such a line asks, whatever else is
    /// ruled. Where a line only ceased to be one, nobody was asked about it, and it goes on counting. Labels likewise.
    pub(super) async fn approved(&self, cleared: &Cleared, edits: &[EditFact]) {
        let rules = |edit: &EditFact| changes_rules(edit).is_some() || self.engine.is_rules(&edit.file);
        if cleared.rule().is_some() {
            return;
        }
        let speaks = edits.iter().any(rules);
        let (engine, edits, tags) = (self.engine.clone(), edits.to_vec(), cleared.scope().private_tags.clone());
        let let_go = move || {
            if speaks {
                engine.let_go_approved(&edits);
            }
            // No edit makes something less private that was not shown as doing so.
            if loosened(&edits, &tags).is_ok_and(|lost| !lost.names.is_empty()) {
                engine.let_go_labels(&edits);
            }
        };
        aside(let_go).await;
    }

    /// Makes one edit, in the folder that was judged; returns a sentence on where the change is now.
    async fn edit_one(&self, edit: &EditFact, place: Option<Identity>, act: &Act) -> Result<String, String> {
        let engine = &self.engine;
        let held = engine.held(&edit.file);
        let said = match engine.editor.buffer(&edit.file).await? {
            Some(buffer) => {
                if edit.before.as_deref() != Some(&*buffer.text) {
                    return Err("its buffer changed after it was judged".to_string());
                }
                if let Some(splice) = difference(&buffer.text, &edit.after) {
                    engine.editor.edit(&edit.file, buffer.tick, vec![splice]).await?;
                }
                // The user may have typed on by now, and memory may know it already.
                engine.edited(&edit.file, held, edit.after.clone(), act);
                match engine.editor.buffer(&edit.file).await {
                    Ok(Some(now)) if now.text == edit.after => {
                        format!("The buffer of {} was changed; it is not saved yet.", edit.file)
                    }
                    Ok(_) => format!(
                        "The buffer of {} was changed, and says something else by now than what was written; read it \
                         before you go on.",
                        edit.file
                    ),
                    Err(why) => {
                        format!("The buffer of {} was changed, and could not be read back: {why}.", edit.file)
                    }
                }
            }
            None => {
                let (file, before, after) = (edit.file.clone(), edit.before.clone(), edit.after.clone());
                let (busy, act, engine) = (engine.writing(act)?, act.clone(), engine.clone());
                // Both in one piece: a turn that is stopped meanwhile leaves memory as the file is.
                let write = move || {
                    let held = engine.held(&file);
                    // Whoever ends that turn waits for this.
                    let _busy = busy;
                    let path = Path::new(&file);
                    write::checked(path, &after, || write::replace(path, before.as_deref(), &after, place))?;
                    engine.edited(&file, held, after, &act);
                    Ok::<(), String>(())
                };
                tokio::task::spawn_blocking(write).await.map_err(|_| "writing it broke".to_string())??;
                let what = if edit.before.is_some() { "changed" } else { "written" };
                format!("{} was {what}.", edit.file)
            }
        };
        Ok(said)
    }
}
