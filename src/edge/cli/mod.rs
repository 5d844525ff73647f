//! The functions behind the command line.
