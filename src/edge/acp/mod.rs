//! The Agent Client Protocol: another editor talks with the core over lines of JSON-RPC. What its messages are is the
//! crate's; what they mean here stands in these files, and none of them does anything that a message of the core does not.

mod agent;
mod decide;
pub mod link;
mod links;
mod prompt;
pub mod run;
mod session;
mod show;
mod turn;
