//! The engine: everything behind a chat turn and a command, without any client.

pub mod record;
