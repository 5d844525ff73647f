//! Several processes on one store: the owner listens on a Unix socket, others join it there.
//!
//! The messages are those of `docs/PROTOCOL.org`, in frames. What travels is not understood here.

pub mod allowed;
pub mod cookie;
pub mod greeting;
pub mod home;
pub mod identity;
pub mod join;
pub mod lineage;
pub mod place;
pub mod private;
pub mod pulse;
pub mod stranger;
pub mod stream;
pub mod tls;
pub mod trust;
