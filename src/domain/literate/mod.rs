//! Programs that are written in Org: the blocks of a text, and what tangling would write of them.

pub mod blocks;
pub mod tangle;
pub mod within;
