//! Which changes the next undo or redo takes back, found by looking back from the newest change, and no further than it
//! takes.

use crate::domain::undo::{Change, IN_PART, Kind};
use std::collections::BTreeSet;

/// Looks back for what the next undo or redo takes back.
///
/// What is of one turn and one kind is one step. What took a change back came behind it, so whoever goes back has seen
/// that before the change itself.
pub struct Next {
    wanted: Wanted,
    /// Changes that are not taken back once more: they were, all of them or a part.
    gone: BTreeSet<String>,
    /// The step that is being looked at.
    step: Option<(Kind, String)>,
    found: Vec<Change>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Undo,
    Redo,
}

impl Next {
    /// Looks for what the next undo takes back.
    pub fn undo() -> Next {
        Next::of(Wanted::Undo)
    }

    /// Looks for what the next redo takes back.
    pub fn redo() -> Next {
        Next::of(Wanted::Redo)
    }

    fn of(wanted: Wanted) -> Next {
        Next { wanted, gone: BTreeSet::new(), step: None, found: Vec::new() }
    }

    /// Looks at a change; they come newest first. Returns whether one more has to be looked at.
    pub fn look(&mut self, change: Change) -> bool {
        if !change.is_any() {
            return true;
        }
        let same = self.step.as_ref().is_some_and(|(kind, turn)| (*kind, turn) == (change.kind, &change.turn));
        if !same && !self.found.is_empty() {
            return false;
        }
        self.step = Some((change.kind, change.turn.clone()));
        let is_wanted = match (self.wanted, change.kind) {
            (Wanted::Undo, Kind::Act | Kind::Rewind | Kind::Redo) | (Wanted::Redo, Kind::Undo) => true,
            (Wanted::Undo, Kind::Undo) | (Wanted::Redo, Kind::Redo) => {
                let bare = |id: &String| id.strip_suffix(IN_PART).unwrap_or(id).to_string();
                self.gone.extend(change.of.iter().map(bare));
                false
            }
            // What is done anew ends what could be redone.
            (Wanted::Redo, Kind::Act | Kind::Rewind) => return false,
        };
        if is_wanted && !self.gone.contains(&change.id) {
            self.found.push(change);
        }
        true
    }

    /// Returns the changes of the step that was found, newest first; empty when there is nothing.
    pub fn found(self) -> Vec<Change> {
        self.found
    }
}
