//! The functions behind the command line.
pub mod args;
pub mod context;
pub mod dump;
pub mod forward;
pub mod ingest;
pub mod memory;
pub mod past;
pub mod plans;
pub mod query;
pub mod run;

pub mod gate;
