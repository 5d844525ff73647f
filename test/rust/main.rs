//! One integration binary; its modules mirror `src/`.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod context;
mod engine;
mod ingest;
mod gate;
mod ingest;
mod layering;
mod memory;
mod org;
mod provider;
mod recall;
mod sandbox;
mod skill;
mod store;
mod support;
mod turn;
mod wire;
