//! The Model Context Protocol: what other agents may ask of this one.

pub mod server;
