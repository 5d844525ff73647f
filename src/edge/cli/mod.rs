//! The functions behind the command line.
pub mod context;
pub mod dump;
pub mod ingest;

pub mod gate;
