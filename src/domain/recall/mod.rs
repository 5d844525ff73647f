//! The provider that works without a model: a grammar of requests, and answers by extraction.
//!
//! It parses what the user typed and nothing else; the text of notes is data that it quotes.
//! [`grammar::parse`] makes a request of words, [`answer::answer`] an answer of a request and the memory,
//! [`report::report`] a sentence of what became of a proposal.

pub mod answer;
pub(crate) mod changed;
pub mod date;
pub mod grammar;
pub mod hint;
pub mod report;
pub mod request;
pub mod resolve;
pub mod show;
pub mod stamp;
pub mod token;

mod clause;
mod command;
mod focus;
mod list;
mod passage;
mod propose;
mod question;
