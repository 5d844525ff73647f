//! `passepartout tui`: a client of the protocol on a terminal.
//!
//! In the middle is a pure core: [`state`] takes events and returns effects, and knows no terminal, no socket and no
//! clock. [`view`] draws it, [`link`] speaks with the owner of the store, and [`run`] is the thin loop between them.

mod act;
pub mod aside;
pub mod commands;
mod heard;
pub mod help;
pub mod history;
pub mod input;
mod job;
pub mod keep;
pub mod kept;
mod keys;
mod laid;
pub mod layout;
pub mod link;
mod lost;
pub mod markup;
pub mod names;
mod panel;
pub mod parts;
pub mod reader;
pub mod run;
mod screen;
mod show;
pub mod state;
mod talks;
pub mod theme;
pub mod transcript;
pub mod view;
pub mod wrap;
