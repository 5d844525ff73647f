//! The full-text index on disk: segments in the cache folder, each a file that is written once and never changed.
//!
//! Everything here is derived. Whatever is lost, cut short, changed or of another version is found by its checksums,
//! left out, and made anew from memory's texts.

pub mod folder;
pub mod pages;
