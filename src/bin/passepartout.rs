//! The command line: the same library without Emacs.

use passepartout::edge::cli::{args, run};
use passepartout::edge::panics::{Echo, install};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// Standard output, which knows whether its reader has left.
#[derive(Default)]
struct Out {
    left: bool,
}

impl Out {
    fn heed<T>(&mut self, written: std::io::Result<T>) -> std::io::Result<T> {
        self.left |= written.as_ref().is_err_and(|why| why.kind() == std::io::ErrorKind::BrokenPipe);
        written
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = std::io::stdout().lock().write(bytes);
        self.heed(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let flushed = std::io::stdout().lock().flush();
        self.heed(flushed)
    }
}

fn main() -> ExitCode {
    install(Echo::StandardError);
    // Wrong words end here, with exit status 2 and what would have been right.
    let arguments = args::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    let mut out = std::io::BufWriter::new(Out::default());
    let result = catch_unwind(AssertUnwindSafe(|| run::run(arguments, &mut out)));
    let broke =
        |_| Err(run::Failure { text: "something inside broke; the line above says where".into(), status: run::FAILED });
    let result = result.unwrap_or_else(broke);
    let flushed = out.flush();
    if out.get_ref().left {
        // Who read has enough: no word of ours is of any use.
        return ExitCode::from(run::FAILED);
    }
    match result {
        Ok(status) if flushed.is_ok() => ExitCode::from(status),
        Ok(_) => ExitCode::from(run::FAILED),
        Err(failure) => {
            // A closed standard error is no reason to break.
            let _ = writeln!(std::io::stderr(), "passepartout: {}", failure.text);
            ExitCode::from(failure.status)
        }
    }
}
