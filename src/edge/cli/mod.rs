//! The functions behind the command line.
pub mod args;
mod ask;
mod audit;
mod cassette;
pub mod context;
mod costs;
mod decide;
mod doctor;
pub mod dump;
pub mod forward;
mod handed;
pub mod ingest;
mod jobs;
pub mod memory;
mod models;
pub mod past;
pub mod plans;
pub mod query;
mod repl;
mod rules;
pub mod run;
mod session;
pub mod skills;
mod terminal;

pub mod gate;
