//! Judges Emacs Lisp by walking it: what is not on the list of pure functions and forms asks.
//!
//! The text is read by a reader of our own; nothing is ever evaluated here.

mod read;
mod tables;
mod walk;

pub use read::{Unreadable, read};
pub use tables::prepare;

/// What speaks against a piece of Lisp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It cannot be read: unbalanced, or with syntax that runs while it is read.
    Unreadable(String),
    /// It reaches for processes, files, the network, evaluation or start-up.
    Harmful(String),
    /// It uses what is not known to be pure.
    Unknown(String),
}

impl Found {
    /// Returns the sentence for people.
    pub fn why(&self) -> &str {
        match self {
            Found::Unreadable(why) | Found::Harmful(why) | Found::Unknown(why) => why,
        }
    }
}

/// Returns what speaks against a piece of Lisp; nothing when it is known to be pure.
pub fn examine(code: &str) -> Vec<Found> {
    match read(code) {
        Err(unreadable) => vec![Found::Unreadable(unreadable.to_string())],
        Ok(forms) => {
            let mut found = walk::walk(&forms);
            found.sort_by_key(|found| match found {
                Found::Unreadable(_) => 0,
                Found::Harmful(_) => 1,
                Found::Unknown(_) => 2,
            });
            found.dedup();
            found
        }
    }
}
