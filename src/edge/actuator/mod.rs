//! Carries out what was cleared.

pub mod shell;
