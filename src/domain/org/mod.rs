//! Org text ↔ outline: our own line scanner for structure.

pub mod outline;
