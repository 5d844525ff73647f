//! The functions behind the command line.
pub mod dump;
