//! The command line: the same library without Emacs.

use passepartout::edge::cli::{args, run};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Wrong words end here, with exit status 2 and what would have been right.
    let arguments = args::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let result = run::run(arguments, &mut out);
    let flushed = out.flush();
    match result {
        Ok(status) if flushed.is_ok() => ExitCode::from(status),
        Ok(_) => ExitCode::from(run::FAILED),
        Err(failure) => {
            eprintln!("passepartout: {}", failure.text);
            ExitCode::from(failure.status)
        }
    }
}
