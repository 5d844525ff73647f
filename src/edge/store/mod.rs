//! The store on disk: one SQLite file, a plain log beside it, and a lock.
//!
//! The folder holds `memory.sqlite` (objects, operations, records), `memory.log` (what only the store
//! knows, in a form that needs no database) and `lock`. Old objects are kept for ever, for now.

pub mod disk;
pub mod journal;
mod lock;
mod objects;

pub use disk::DiskStore;
