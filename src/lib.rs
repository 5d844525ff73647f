//! Passepartout: an agent that lives in Emacs.
//!
//! Three folders, and imports run in one direction: `bridge → edge → domain`.
//!
//! - [`domain`] is pure: what a signal, an action, a memory and a gate *are*.
//! - [`edge`] touches the world: disk, network, clock, processes, the runtime.
//! - `bridge` (feature `emacs`) is the only folder that knows Emacs.
//!
//! Read `docs/ARCHITECTURE.org` for the way from a signal to an act.

pub mod domain;
pub mod edge;

#[cfg(feature = "emacs")]
pub mod bridge;
