//! Judges Emacs Lisp by walking it: what is not on the list of pure functions and forms asks.
//!
//! The text is read by a reader of our own; nothing is ever evaluated here.

mod callers;
mod calls;
mod patterns;
mod read;
mod tables;
pub(in crate::domain) mod token;
mod walk;

pub use callers::steers;
pub use read::{Forms, MAX_DEPTH, MAX_LENGTH, Node, Unreadable, first_form, read};
pub use tables::prepare;

/// A function that is known, and what it does with what it is handed; places are counted from 0.
#[derive(Clone, Debug)]
pub struct Known {
    /// What it is called.
    pub name: &'static str,
    /// The places of the arguments that it calls.
    pub calls: Vec<usize>,
    /// Where keywords begin, behind which stands what it calls.
    pub keywords: Option<usize>,
    /// The place of a type, which can name what is called.
    pub types: Option<usize>,
}

/// Returns the functions that are known to be pure, or to call nothing but what they are handed.
pub fn known() -> Vec<Known> {
    let mut names: Vec<_> = tables::PURE.iter().chain(tables::FILES.iter()).chain(callers::CALLING.iter()).collect();
    names.sort_unstable();
    names.dedup();
    let places = |name: &'static str| callers::places(name).map(|(place, _)| place).collect();
    let known =
        |name| Known { name, calls: places(name), keywords: callers::keywords(name), types: callers::type_place(name) };
    names.into_iter().map(known).collect()
}

/// What speaks against a piece of Lisp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It cannot be read: unbalanced, or with syntax that runs while it is read.
    Unreadable(String),
    /// It reaches for processes, files, the network, evaluation or start-up.
    Harmful(String),
    /// It was not looked at to its end: what else it reaches for is not known.
    Incomplete(String),
    /// It uses what is not known to be pure.
    Unknown(String),
}

impl Found {
    /// Returns the sentence for people.
    pub fn why(&self) -> &str {
        match self {
            Found::Unreadable(why) | Found::Harmful(why) | Found::Incomplete(why) | Found::Unknown(why) => why,
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
                Found::Incomplete(_) => 2,
                Found::Unknown(_) => 3,
            });
            found.dedup();
            found
        }
    }
}
