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
mod support;
mod wire;
mod recall;
mod wire;
mod org;
mod org;
mod provider;
mod recall;
mod store;
mod support;
mod wire;
