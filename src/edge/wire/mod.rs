//! The plist codec and frames: what crosses the module's border and what crosses a socket.
//!
//! Pure: text and bytes in, values or a typed error out. It knows no socket and no message's meaning.

pub mod frame;
pub mod plist;
pub mod sexp;
