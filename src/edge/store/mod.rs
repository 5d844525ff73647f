//! The store on disk: one SQLite file, a plain log beside it, and a lock.
//!
//! The folder holds `memory.sqlite`, `memory.log` and `lock`. The head is noted outside it, at each save.
//!
//! - `objects`: branches of the trie of files, pieces of texts, and groups of pieces, each named by its hash.
//!   A text is cut about every 6 kB where its content says. One row a heading would be the plainer choice;
//!   it costs a million random inserts for a million headings, and loading them all again one by one.
//! - `texts`: one manifest for each document's hash; a text of up to 4 kB lies in it itself.
//! - `operations`, `heads`, `records`: what moved memory and what was decided; rows are never changed.
//! - `stamps`: what files looked like when they were read; derived.
//! - `cards`: what stays in memory of each file of the head, so that a start reads no text; derived.
//! - `touched`: which operations touched a file, as far as the `heads` say; derived.
//! - `memory.log`: operations and records once more, in a form that needs no database.
//!
//! One process owns it. Others read along: they see it as it stood when they opened it, and write nothing.
//!
//! Old objects are kept until the user lets go of them (`compact`): an edit of a 2.5 kB file adds about 5 kB.

pub mod beside;
mod cards;
mod carve;
pub mod compact;
mod copy;
pub mod disk;
pub mod journal;
mod lock;
mod objects;
mod open;
mod past;
mod recover;
mod rows;
mod snapshot;
mod texts;
mod touched;
pub mod verify;
pub mod witness;
mod writer;

pub use beside::Beside;
pub use copy::copy_store;
pub use disk::DiskStore;
pub use lock::{Lock, announce, owned_here, owner_of, socket_of};
