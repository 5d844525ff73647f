//! One integration binary; its modules mirror `src/`.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod ingest;
mod context;
mod layering;
mod memory;
mod org;
mod provider;
mod recall;
mod support;
mod store;
mod sandbox;
mod wire;
