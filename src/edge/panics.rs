//! Notes every panic of this program with its place, for the log: a hook that is installed once and never waits.
//!
//! It may run while any lock is held, so it takes none but its own, and hands the line to whoever listens.

use crate::domain::turn::panic_text;
use parking_lot::Mutex;
use std::io::Write;
use std::panic::PanicHookInfo;
use std::sync::Once;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What every line begins with.
pub const PREFIX: &str = "panic at ";

/// Where a line goes that nobody listens for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// Nowhere: standard error is the terminal that Emacs draws on.
    Nowhere,
    /// To standard error.
    StandardError,
    /// Where it went before, whoever listens: a test that fails must show why.
    #[cfg(test)]
    AsBefore,
}

static INSTALLED: Once = Once::new();
static LISTENERS: Mutex<Vec<UnboundedSender<String>>> = Mutex::new(Vec::new());

/// Installs the hook in place of the one that prints. Only the first call of a process counts.
pub fn install(echo: Echo) {
    INSTALLED.call_once(|| {
        #[cfg(test)]
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let line = line(panic);
            tracing::error!("{line}");
            let heard = tell(&line);
            match echo {
                // A closed standard error is no reason to fail while failing.
                Echo::StandardError if !heard => drop(writeln!(std::io::stderr(), "passepartout: {line}")),
                Echo::StandardError | Echo::Nowhere => {}
                #[cfg(test)]
                Echo::AsBefore => before(panic),
            }
        }));
    });
}

/// Returns the lines of all panics from now on.
pub fn listen() -> UnboundedReceiver<String> {
    let (sender, lines) = unbounded_channel();
    LISTENERS.lock().push(sender);
    lines
}

/// Hands a line to all who listen; returns whether anyone does.
fn tell(line: &str) -> bool {
    let listeners = LISTENERS.lock().clone();
    let heard = listeners.iter().filter(|listener| listener.send(line.to_string()).is_ok()).count();
    if heard < listeners.len() {
        LISTENERS.lock().retain(|listener| !listener.is_closed());
    }
    heard > 0
}

fn line(panic: &PanicHookInfo<'_>) -> String {
    let place = panic
        .location()
        .map_or_else(|| "an unknown place".to_string(), |place| format!("{}:{}", file(place.file()), place.line()));
    format!("{PREFIX}{place}: {}", panic_text(panic.payload()))
}

/// Returns a source file's name without the folders of the machine that it was built on.
fn file(name: &str) -> &str {
    let behind = |mark: &str| name.split_once(mark).map(|(_, rest)| rest);
    let beyond = |rest: &'static str| behind(rest).and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest);
    beyond("/registry/src/").or_else(|| beyond("/rustc/")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_that_built_it_is_not_named() {
        for (name, shown) in [
            ("src/edge/log.rs", "src/edge/log.rs"),
            ("/home/me/.cargo/registry/src/index.crates.io-1949cf8c/genai-0.7.2/src/x.rs", "genai-0.7.2/src/x.rs"),
            ("/rustc/59807616/library/core/src/str/mod.rs", "library/core/src/str/mod.rs"),
        ] {
            assert_eq!(file(name), shown);
        }
    }

    #[test]
    fn a_panic_is_told_with_its_place_to_all_who_listen() {
        install(Echo::AsBefore);
        let (mut one, mut two) = (listen(), listen());
        drop(listen());
        let at = line!() + 1;
        let thread = std::thread::spawn(|| panic!("the seventh tile"));
        assert!(thread.join().is_err());
        let expected = format!("{PREFIX}{}:{at}: the seventh tile", file!());
        for lines in [&mut one, &mut two] {
            // Other tests of this process panic on purpose, too.
            let found = std::iter::from_fn(|| lines.try_recv().ok()).any(|line| line == expected);
            assert!(found, "{expected}");
        }
    }
}
