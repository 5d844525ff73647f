//! Vectors of meaning: which text of a node is made into one, who may be sent it, and which vectors are near.
//!
//! A vector is derived data: it is made again from its text whenever it is missing, and nothing depends on having it.

pub mod batch;
pub mod flat;
pub mod hashing;
pub mod passage;
mod vector;

pub use batch::{Admitted, Batch};
pub use passage::{Passage, PassageKey};
pub use vector::{MOST_DIMENSIONS, Vector, WrongVector};

/// From this cosine on a vector of a model that was trained for meaning counts as near.
pub const NEAR: f32 = 0.75;
