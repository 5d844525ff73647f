//! Org text ↔ outline: our own line scanner for structure.

mod chars;
pub mod decode;
pub mod edit;
mod headline;
pub mod link;
pub mod outline;
pub mod scan;
mod section;
mod settings;
pub mod timestamp;
