//! The built-in provider: its grammar, its answers, its proposals.

mod answer;
mod grammar;
mod memex;
mod provider;
