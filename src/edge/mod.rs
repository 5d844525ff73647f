//! Everything that touches the world: disk, network, clock, processes, and the one runtime.

pub mod actuator;
pub mod cli;
pub mod clock;
pub mod config;
pub mod doctor;
pub mod editor;
pub mod engine;
pub mod full_text;
pub mod ingest;
pub mod log;
pub mod org_file;
pub mod panics;
pub mod project;
pub mod provider;
pub mod runtime;
pub mod sandbox;
pub mod secret;
pub mod shadow;
pub mod skills;
pub mod store;
pub mod survey;
pub mod thread;
pub mod tokens;
pub mod walk;
pub mod watch;
pub mod wire;
