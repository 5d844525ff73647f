//! What the core asks of the user's editor: the text of an open buffer, and an edit of it.

use crate::domain::editor::{Question, Row};
use crate::domain::id::SessionId;
use crate::domain::port::Locality;
use crate::domain::setting::{Change, SettingFact, Told};
use crate::domain::signal::Said;
use crate::domain::tool::Limits;
use crate::domain::turn::earlier::Older;
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What is said where the Emacs is not there whose settings count, and what to do then.
pub const NO_SETTINGS: &str = "the Emacs whose settings count is not there: its settings are told and changed in an Emacs \
                               that runs the core itself (M-x passepartout-chat where no other core runs). What counts \
                               without it stands in .env, which “passepartout configure” and /setup write";

/// A file that is open in the user's editor.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Its text now, saved or not.
    pub text: Arc<str>,
    /// Names this state of the text: an edit is refused when it has moved on.
    pub tick: i64,
    /// Whether it may not be changed.
    pub read_only: bool,
}

/// A replacement in a text; byte offsets before any of the edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// Where it begins.
    pub begin: usize,
    /// Where what is replaced ends.
    pub end: usize,
    /// What comes there.
    pub text: String,
}

/// The user's editor.
#[async_trait]
pub trait Editor: Send + Sync {
    /// Returns the buffer that visits a file; `None` when none does. An error means that it could not be found out.
    async fn buffer(&self, file: &str) -> Result<Option<Buffer>, String>;
    /// Returns whether a buffer visits a file. An error means that it could not be found out.
    async fn is_open(&self, file: &str) -> Result<bool, String> {
        Ok(self.buffer(file).await?.is_some())
    }
    /// Edits an open buffer as one undo step, without saving. Refused when its text is not of that tick any more.
    async fn edit(&self, file: &str, tick: i64, splices: Vec<Splice>) -> Result<(), String>;
    /// Asks one verb of the closed table. An error says why there is no answer.
    async fn ask(&self, _question: &Question) -> Result<Vec<Row>, String> {
        Err("there is no Emacs to ask: open one (M-x passepartout-chat), and ask again".to_string())
    }
    /// Has the user's own function choose whom of these to ask.
    async fn select(&self, _offer: &Offer) -> Result<Selection, String> {
        Err("there is no Emacs to ask".to_string())
    }
    /// Returns what was said in a turn of a chat that lies further back than what was sent of it, by the name that the chat
    /// gave it; nothing when there is none.
    async fn earlier_turn(&self, _session: &SessionId, _name: &str) -> Result<Vec<Said>, String> {
        Err("there is no Emacs to ask".to_string())
    }
    /// Returns the turns of a chat before the one of this name, as many as are named at once.
    async fn turns_before(&self, _session: &SessionId, _name: &str) -> Result<Older, String> {
        Err("there is no Emacs to ask".to_string())
    }
    /// Returns what the Emacs whose settings count tells of one option, or of those that fit some words.
    async fn settings(&self, _wanted: &Wanted) -> Result<Vec<Told>, String> {
        Err(NO_SETTINGS.to_string())
    }
    /// Finds out what a change of an option would do, without changing it.
    async fn weigh(&self, _change: &Change) -> Result<SettingFact, Unchanged> {
        Err(Unchanged::Refused(NO_SETTINGS.to_string()))
    }
    /// Changes an option, where all is as it was found out.
    async fn set(&self, _change: &Change, _found: &SettingFact) -> Result<(), Unchanged> {
        Err(Unchanged::Refused(NO_SETTINGS.to_string()))
    }
    /// Calls a tool that the user's Emacs declared, and waits for what it answers as long as the call says.
    async fn call(&self, _call: &Call) -> Result<String, Unanswered> {
        Err(Unanswered::Not("the Emacs that declared the tool is not there".to_string()))
    }
}

/// Which options Emacs is to tell of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The one of this name, with all of its documentation.
    One(String),
    /// Those that fit these words; all without.
    Fitting(String),
}

/// Why a change of an option came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unchanged {
    /// Emacs refuses it, and nothing was changed; why.
    Refused(String),
    /// Emacs did not say.
    Unknown(String),
}

/// Whom a request may go to, for the user's own function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The kind of work.
    pub slot: &'static str,
    /// The beginning of what was typed.
    pub text: String,
    /// Whether nothing of it may leave this machine.
    pub private: bool,
    /// Those who may be asked, in the order in which they would be.
    pub candidates: Vec<Candidate>,
}

/// A provider that may be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// The model that it is asked for; empty when it is none.
    pub model: String,
    /// Where it runs.
    pub locality: Locality,
    /// Whether it failed lately.
    pub demoted: bool,
}

/// What the user's own function chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// These, in this order, with the model that is asked of one behind a slash; none leaves the order as it is.
    These(Vec<String>),
    /// Nobody: the request is not made.
    Skip,
}

/// One call of a tool of the user's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tool's name.
    pub tool: String,
    /// What Emacs calls the declaration that the call was judged by.
    pub mark: String,
    /// The arguments, checked.
    pub args: Map<String, Value>,
    /// The folder of the project that the call was judged for.
    pub directory: String,
    /// How long it may take, and how much it may say.
    pub limits: Limits,
}

/// Why a call of a tool of the user's own came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// It was not begun.
    Not(String),
    /// It was begun, and failed with these words of its own.
    Failed(String),
    /// It was begun, and nobody knows how far it got.
    Unknown(String),
}

/// No editor: no file is open anywhere.
pub struct NoEditor;

#[async_trait]
impl Editor for NoEditor {
    async fn buffer(&self, _file: &str) -> Result<Option<Buffer>, String> {
        Ok(None)
    }

    async fn edit(&self, file: &str, _tick: i64, _splices: Vec<Splice>) -> Result<(), String> {
        Err(format!("{file} is open in no editor"))
    }
}

/// Returns the one splice that makes `after` of `before`: what differs between their common ends.
pub fn difference(before: &str, after: &str) -> Option<Splice> {
    if before == after {
        return None;
    }
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let mut begin = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    while !before.is_char_boundary(begin) || !after.is_char_boundary(begin) {
        begin -= 1;
    }
    let most = old.len().min(new.len()) - begin;
    let mut tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    while !before.is_char_boundary(old.len() - tail) || !after.is_char_boundary(new.len() - tail) {
        tail -= 1;
    }
    let text = after.get(begin..new.len() - tail).unwrap_or("").to_string();
    Some(Splice { begin, end: old.len() - tail, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_difference_makes_one_of_the_other(before in "[aäß語\n]{0,12}", after in "[aäß語\n]{0,12}") {
            match difference(&before, &after) {
                None => prop_assert_eq!(before, after),
                Some(splice) => {
                    let mut text = before.clone();
                    text.replace_range(splice.begin..splice.end, &splice.text);
                    prop_assert_eq!(text, after);
                }
            }
        }
    }
}
