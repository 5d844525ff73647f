//! S-expressions: what crosses the module's border and a socket, and what a model may propose in.

pub mod plist;
pub mod reader;
