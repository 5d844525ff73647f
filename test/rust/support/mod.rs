//! What several tests share.

pub mod fake_server;
