//! The store on disk.
