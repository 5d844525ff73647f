//! Looks inside sections on a thread with a stack that is large enough, where a break of the parser breaks nothing.

use crate::domain::org::contents::{self, Contents, Limits, STACK};

/// Why a section was not looked into.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookError {
    /// It is beyond what is parsed.
    #[error(transparent)]
    Limits(#[from] Limits),
    /// The parser broke, or no thread could be had.
    #[error("its inside cannot be read: {0}")]
    Broken(String),
}

/// Looks inside some sections, one result for each, in order.
///
/// Waits until all are done, which takes some ten milliseconds for each at most: never on Emacs's thread.
pub fn look(texts: &[&str]) -> Vec<Result<Contents, LookError>> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("contents".to_owned()).stack_size(STACK);
        let thread = builder.spawn_scoped(scope, || texts.iter().map(|text| one(text)).collect::<Vec<_>>());
        let broken = |why: &str| texts.iter().map(|_| Err(LookError::Broken(why.to_owned()))).collect();
        match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| broken("the parser broke")),
            Err(error) => broken(&error.to_string()),
        }
    })
}

fn one(text: &str) -> Result<Contents, LookError> {
    let parsed = std::panic::catch_unwind(|| contents::parse(text));
    Ok(parsed.map_err(|_| LookError::Broken("the parser broke".to_owned()))??)
}
