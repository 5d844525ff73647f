//! The versioned memory: documents and their nodes, named by content, with a log that only grows.

pub mod view;
