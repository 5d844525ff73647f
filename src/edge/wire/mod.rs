//! Frames around the plist messages, for sockets, and the proof by which two ends know each other.
//!
//! Pure: bytes in, texts or a typed error out. It knows no socket and no message's meaning.

pub mod frame;
pub mod number;
pub mod proof;
pub mod slices;
