//! The built-in provider: its grammar, its answers, its proposals.

mod grammar;
