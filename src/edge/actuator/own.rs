//! Carries out a tool of the user's own: their Emacs is asked, what it answers is labelled by what it was given, and of
//! the files that it was given those that it changed are named.

use crate::domain::action::Outcome;
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::facts::{FileKind, PathFact};
use crate::domain::label::{Labels, Privacy, Provenance, Trust};
use crate::domain::outside::Piece;
use crate::domain::tool::Class;
use crate::domain::tool::own::REDECLARED;
use crate::edge::actuator::{Actuators, Done, OWN};
use crate::edge::editor::{Call, Unanswered};
use std::os::unix::fs::MetadataExt;

impl Actuators {
    /// Calls it. What it says is as private as what led to the call and as the files that it was given; it is from
    /// outside when its effect is network, or when one of those files is.
    pub(super) async fn call_own(&self, cleared: &Cleared, class: Class) -> Done {
        let (action, facts) = (cleared.action(), cleared.facts());
        let toolbox = self.engine.toolbox();
        let own = toolbox.own().iter().find(|own| Some(own.definition()) == action.definition());
        let Some(own) = own else {
            // It went between the survey and now.
            let outcome = Outcome::Stale(REDECLARED.to_string());
            return Done { outcome, labels: OWN, outside: Vec::new(), changed: Vec::new() };
        };
        let (tool, args) = (action.tool().to_string(), action.args().clone());
        let call = Call { tool, mark: own.mark().to_string(), args, limits: own.tool().limits };
        let outcome = match self.engine.editor.call(&call).await {
            Ok(text) => Outcome::Done(text),
            // These words are ours.
            Err(Unanswered::Not(why) | Unanswered::Unknown(why)) => return Done::failed(why),
            Err(Unanswered::Failed(why)) => Outcome::Failed(why),
        };
        let said = match &outcome {
            Outcome::Done(text) | Outcome::Failed(text) => text.clone(),
            Outcome::Stale(_) | Outcome::Cancelled(_) => String::new(),
        };
        let privacy = action.labels().privacy.max(facts.privacy.unwrap_or(Privacy::Open));
        let sent = (class == Class::Network).then(|| format!("what your tool {} answered", call.tool));
        let (engine, scope, paths) = (self.engine.clone(), cleared.scope().clone(), facts.paths.clone());
        let writes = matches!(class, Class::Write | Class::Execute);
        let looked = tokio::task::spawn_blocking(move || {
            let files = paths.iter().map(|path| path.resolved.as_str());
            let sources: Vec<String> = files.filter_map(|file| engine.source_of_file(file, &scope)).collect();
            let changed = paths.iter().filter(|path| writes && is_changed(path));
            (sources, changed.map(|path| path.resolved.clone()).collect::<Vec<_>>())
        });
        let Ok((sources, changed)) = looked.await else {
            return Done::failed(format!("{} was called, and looking at its files then broke", call.tool));
        };
        let outside: Vec<Piece> =
            sources.into_iter().chain(sent).map(|source| Piece::new(&source, &said, privacy)).collect();
        let trust = if outside.is_empty() { Trust::Kept } else { Trust::Untrusted };
        let labels = Labels { provenance: Provenance::Tool, trust, privacy };
        Done { outcome, labels, outside, changed }
    }
}

/// Returns whether a file is not what it was when it was surveyed. A folder is none.
fn is_changed(path: &PathFact) -> bool {
    let now = match std::fs::metadata(&path.resolved) {
        Ok(now) if now.is_file() => now,
        Ok(_) => return false,
        Err(_) => return path.kind == FileKind::File,
    };
    let modified = i128::from(now.mtime()) * 1_000_000_000 + i128::from(now.mtime_nsec());
    path.identity.is_none_or(|was| (was.inode, was.modified, path.size) != (now.ino(), modified, now.len()))
}
