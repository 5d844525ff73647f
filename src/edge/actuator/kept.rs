//! What a turn has read stays at hand: the same question on the same facts is answered once, until something changes.

use crate::domain::action::{Action, Outcome};
use crate::domain::gate::clearance::Cleared;
use crate::domain::hash::ContentHasher;
use crate::domain::id::TurnId;
use crate::domain::label::Labels;
use crate::domain::tool::{Stands, Tool};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;

/// How many answers are kept, of all turns together.
const MOST: usize = 64;
/// How many bytes they may have.
const MOST_BYTES: usize = 8 << 20;

/// The answers of reading tools, newest last.
#[derive(Default)]
pub(super) struct Kept(Mutex<VecDeque<Answer>>);

struct Answer {
    turn: TurnId,
    question: [u8; 32],
    text: String,
    labels: Labels,
}

impl Kept {
    /// Returns the name of a question, when its answer may be kept: tool, arguments, facts, who asks, and the state of
    /// memory, with what the user narrowed it to. Why it is asked makes no difference.
    pub(super) fn question(tool: &Tool, cleared: &Cleared, memory: &str) -> Option<[u8; 32]> {
        let paths = &cleared.facts().paths;
        // What a buffer holds may change without anything that is looked at here.
        let stands = paths.iter().all(|path| !path.open)
            && match tool.stands {
                Stands::Never => false,
                Stands::WithMemory => true,
                Stands::WithFiles => !paths.is_empty() && paths.iter().all(|path| path.content.is_some()),
            };
        if !stands {
            return None;
        }
        let action: &Action = cleared.action();
        let mut hasher = ContentHasher::new("question of a turn");
        hasher.text(tool.name).json(&Value::Object(action.args().clone()));
        hasher.bytes(cleared.facts().hash().as_bytes()).text(memory);
        hasher.number(cleared.scope().may_see as u64).text(&cleared.scope().project);
        Some(hasher.finish())
    }

    /// Returns what was answered to a question in a turn.
    pub(super) fn get(&self, turn: &TurnId, question: &[u8; 32]) -> Option<(String, Labels)> {
        let kept = self.0.lock();
        let found = kept.iter().find(|answer| answer.turn == *turn && answer.question == *question)?;
        Some((found.text.clone(), found.labels))
    }

    /// Keeps an answer; only one that came to something.
    pub(super) fn keep(&self, turn: &TurnId, question: [u8; 32], outcome: &Outcome, labels: Labels) {
        let Outcome::Done(text) = outcome else { return };
        let mut kept = self.0.lock();
        kept.push_back(Answer { turn: turn.clone(), question, text: text.clone(), labels });
        let mut bytes: usize = kept.iter().map(|answer| answer.text.len()).sum();
        while kept.len() > MOST || bytes > MOST_BYTES {
            let Some(oldest) = kept.pop_front() else { break };
            bytes -= oldest.text.len();
        }
    }

    /// Forgets everything: somebody has changed something, and nobody knows what depends on it.
    pub(super) fn forget(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::actuator::OWN;

    #[test]
    fn answers_are_kept_for_their_turn_until_something_changes() {
        let (kept, one, other) = (Kept::default(), TurnId("one".to_string()), TurnId("other".to_string()));
        kept.keep(&one, [1; 32], &Outcome::Done("found".to_string()), OWN);
        kept.keep(&one, [2; 32], &Outcome::Failed("broke".to_string()), OWN);
        let text = |turn: &TurnId, question: [u8; 32]| kept.get(turn, &question).map(|(text, _)| text);
        assert_eq!(text(&one, [1; 32]).as_deref(), Some("found"));
        assert_eq!(text(&one, [2; 32]), None, "what failed is tried again");
        assert_eq!(text(&other, [1; 32]), None);
        for number in 0..MOST {
            let question = [u8::try_from(number % 200).unwrap_or(0) + 3; 32];
            kept.keep(&other, question, &Outcome::Done("x".repeat(1 << 16)), OWN);
        }
        assert_eq!(text(&one, [1; 32]), None, "old answers give way");
        kept.forget();
        assert_eq!(text(&other, [3; 32]), None);
    }
}
