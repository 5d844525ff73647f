//! The Model Context Protocol: what other agents may ask of this one, and what servers lend to it.

pub mod client;
pub mod server;
pub mod setting;

/// The versions of the protocol that are spoken here, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
