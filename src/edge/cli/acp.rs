//! `passepartout acp`: another editor's agent, over lines of the Agent Client Protocol on standard input and output.

use crate::edge::acp::run::{Ended, run};
use crate::edge::cli::args::Place;
use crate::edge::cli::home::{Here, Reading};
use crate::edge::cli::run::{DONE, FAILED, Failure};
use crate::edge::cli::session::{block_on, configured, somewhere};
use crate::edge::peers::home::Home;
use crate::edge::stderr::complain;

/// Talks with an editor until it goes.
///
/// # Errors
/// In words, when the memex is not there or the editor takes nothing.
pub(super) fn run_acp(place: &Place) -> Result<u8, Failure> {
    somewhere(place)?;
    block_on(async {
        let config = tokio::task::block_in_place(|| configured(place));
        let home = Here::new(place, Reading::First, |line| complain(&line));
        let ended = run(config.store, home.clone()).await;
        home.end(true).await;
        Ok(match ended? {
            Ended::Closed => DONE,
            Ended::Signal => FAILED,
        })
    })
}
