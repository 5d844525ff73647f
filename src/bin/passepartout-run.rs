//! The launcher: confines itself, then executes a command.
fn main() {}
