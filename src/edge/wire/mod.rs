//! Frames around the plist messages, for sockets.
//!
//! Pure: bytes in, texts or a typed error out. It knows no socket and no message's meaning.

pub mod frame;
