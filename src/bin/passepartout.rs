//! The command line: the same library without Emacs.
fn main() {}
