//! Takes changes back: edits of texts as every edit is made, everything else put whole or taken away.

use crate::domain::action::Outcome;
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::facts::PutFact;
use crate::domain::undo::Image;
use crate::edge::actuator::put::{in_order, put};
use crate::edge::actuator::{Actuators, Done, OWN};
use crate::edge::engine::changes::Act;

impl Actuators {
    /// Makes every file what the plan showed; stops at the first that cannot be, and says what was done before it.
    pub(super) async fn restore(&self, act: &Act, cleared: &Cleared) -> Done {
        let facts = cleared.facts();
        if facts.edits.is_empty() && facts.puts.is_empty() {
            return Done::failed("there is nothing that could be taken back");
        }
        let mut said = String::new();
        let mut changed = Vec::new();
        if !facts.edits.is_empty() {
            let done = self.edit(act, cleared).await;
            match done.outcome {
                Outcome::Done(text) => said.push_str(&text),
                _ => return done,
            }
            changed.extend(done.changed);
        }
        for fact in in_order(&facts.puts) {
            if let Err(why) = self.put_one(fact, act, cleared).await {
                let before = match changed.as_slice() {
                    [] => "Nothing was changed.".to_string(),
                    files => format!("Changed before that: {}.", files.join(", ")),
                };
                let outcome = Outcome::Failed(format!("{}: {why}. {before}", fact.file));
                return Done { outcome, labels: OWN, outside: Vec::new(), nodes: Vec::new(), changed };
            }
            changed.push(fact.file.clone());
        }
        self.approved(cleared, &facts.put_texts).await;
        if said.is_empty() {
            said.push_str("Done.");
        }
        for fact in &facts.puts {
            let what = match fact.after {
                Image::Absent => "was deleted",
                Image::File { .. } | Image::Link { .. } | Image::Folder { .. } | Image::Unkept { .. } => "was put back",
            };
            said.push_str(&format!(" {} {what}.", fact.file));
        }
        for left in &facts.left {
            said.push_str(&format!("\nLeft as it is: {left}."));
        }
        Done { outcome: Outcome::Done(said), labels: OWN, outside: Vec::new(), nodes: Vec::new(), changed }
    }

    async fn put_one(&self, fact: &PutFact, act: &Act, cleared: &Cleared) -> Result<(), String> {
        let bytes = match &fact.after {
            Image::File { content, .. } => Some(self.engine.kept_bytes(*content).await?),
            Image::Absent | Image::Link { .. } | Image::Folder { .. } | Image::Unkept { .. } => None,
        };
        let place = cleared.facts().paths.iter().find(|path| path.resolved == fact.file).and_then(|path| path.folder);
        let (fact, act, engine) = (fact.clone(), act.clone(), self.engine.clone());
        let busy = engine.writing(&act)?;
        // Both in one piece: a turn that is stopped meanwhile leaves memory as the file is.
        let work = move || {
            let held = engine.held(&fact.file);
            // Whoever ends that turn waits for this.
            let _busy = busy;
            put(&fact, bytes.as_deref(), place)?;
            match bytes.as_deref().map(crate::domain::org::decode::decode) {
                Some(Ok(decoded)) => engine.edited(&fact.file, held, decoded.text, &act),
                Some(Err(_)) | None => engine.removed(&fact.file, &act),
            }
            Ok::<(), String>(())
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| "putting it back broke".to_string())?
    }
}
