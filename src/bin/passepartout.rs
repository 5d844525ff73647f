//! The command line: the same library without Emacs.

use passepartout::edge::cli::{args, run};
use passepartout::edge::panics::{Echo, install};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

fn main() -> ExitCode {
    install(Echo::StandardError);
    // Wrong words end here, with exit status 2 and what would have been right.
    let arguments = args::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let result = catch_unwind(AssertUnwindSafe(|| run::run(arguments, &mut out)));
    let broke =
        |_| Err(run::Failure { text: "something inside broke; the line above says where".into(), status: run::FAILED });
    let result = result.unwrap_or_else(broke);
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
