//! One integration binary; its modules mirror `src/`.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod layering;
mod memory;
mod provider;
mod support;
mod store;
mod wire;
mod org;
mod recall;
