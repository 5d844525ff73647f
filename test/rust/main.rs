//! One integration binary; its modules mirror `src/`.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod acts;
mod approval;
mod archive;
mod cards;
mod cli;
mod context;
mod documents;
mod engine;
mod faults;
mod focus;
mod folders;
mod fresh;
mod full_text;
#[path = "../fuzz/mod.rs"]
mod fuzz;
mod gate;
mod inert;
mod ingest;
mod keys;
mod layering;
mod let_go;
mod memory;
mod one_door;
mod org;
mod org_settings;
mod owner;
mod peers;
mod privacy;
mod proof;
mod provider;
mod query;
mod recall;
mod runtime;
mod sandbox;
mod settle;
mod skill;
mod store;
mod support;
mod survive;
mod takeover;
mod time;
mod turn;
mod undo;
mod wire;
