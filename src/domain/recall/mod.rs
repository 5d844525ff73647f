//! The provider that works without a model: a grammar of requests, and answers by extraction.
//!
//! It parses what the user typed and nothing else; the text of notes is data that it quotes.

pub mod date;
pub mod grammar;
pub mod request;
pub mod token;

mod clause;
mod command;
mod question;
