//! The pure core: no Emacs, HTTP, TCP, disk, clock, thread or environment.
//!
//! Modules are listed in reading order; `test/rust/layering.rs` holds the order of imports.

pub mod action;
pub mod audit;
pub mod cassette;
pub mod context;
pub mod count;
pub mod editor;
pub mod embed;
pub mod factor;
pub mod focus;
pub mod gate;
pub mod gateway;
pub mod hash;
pub mod id;
pub mod inert;
pub mod job;
pub mod label;
pub mod lisp;
pub mod literate;
pub mod manual;
pub mod markdown;
pub mod memory;
pub mod money;
pub mod org;
pub mod outside;
pub mod page;
pub mod picture;
pub mod policy;
pub mod port;
pub mod preset;
pub mod query;
pub mod recall;
pub mod replace;
pub mod route;
pub mod scope;
pub mod setting;
pub mod sexp;
pub mod signal;
pub mod skill;
pub mod standing;
pub mod tool;
pub mod turn;
pub mod undo;
pub mod web;
pub mod work;
