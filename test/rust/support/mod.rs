//! What several tests share.

pub mod engine;
pub mod fake_server;
pub mod heap;
pub mod skills;
pub mod skip;
pub mod soak;
pub mod user;
