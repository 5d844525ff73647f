//! What several tests share.

pub mod engine;
pub mod fake_server;
