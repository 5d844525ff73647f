//! `passepartout completions`: what a shell needs to complete commands and options.

use crate::edge::cli::args::Arguments;
use crate::edge::cli::run::{DONE, Failure};
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use std::io::Write;

/// Prints the script of a shell.
///
/// # Errors
/// When it cannot be written, or there is no such shell.
pub(super) fn run_completions(shell: &str, out: &mut dyn Write) -> Result<u8, Failure> {
    let shell = match shell {
        "bash" => Shell::Bash,
        "zsh" => Shell::Zsh,
        "fish" => Shell::Fish,
        other => return Err(format!("there are completions for bash, zsh and fish, and none for {other}").into()),
    };
    // Into memory: the generator panics where nothing more is read.
    let mut script = Vec::new();
    generate(shell, &mut Arguments::command(), "passepartout", &mut script);
    out.write_all(&script)?;
    Ok(DONE)
}
