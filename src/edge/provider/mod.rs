//! Model providers and their cascade.
//!
//! `config` says what a provider is, `known` which ones we know, `served` asks one over HTTP, `cascade` tries several.
//! Only this folder knows HTTP and genai.

pub mod cascade;
pub mod config;
pub mod deck;
mod fault;
pub mod http;
pub mod known;
pub mod models;
pub(crate) mod pictures;
mod reading;
mod relay;
pub mod replay;
mod request;
pub mod retry;
pub mod served;
pub mod shown;
mod tags;
mod watch;

pub mod recall;
