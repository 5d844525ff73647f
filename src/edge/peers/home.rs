//! A client that can own the store itself: it joins the owner, which it becomes when there is none.

use crate::edge::peers::greeting::{Said, Unmet};
use crate::edge::peers::join::{Joined, join};
use crate::edge::store::owner_of;
use async_trait::async_trait;
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long an owner that does not listen yet is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long nothing is tried in between.
const PAUSE: Duration = Duration::from_millis(50);

/// What owns the store when nobody else does.
#[async_trait]
pub trait Home: Send + Sync {
    /// Begins to own it; false when somebody else does by now.
    ///
    /// # Errors
    /// In words, when it cannot be owned.
    async fn begin(&self) -> Result<bool, String>;

    /// Whether it is owned here, or about to be. Waits for nothing.
    fn is_here(&self) -> bool;

    /// Lets go of it: soon, or when what others have under way is done.
    async fn end(&self, soon: bool);
}

/// Joins the owner of the store, which this process becomes when there is none.
///
/// # Errors
/// In words, when the owner says no or does not answer, and when the store cannot be owned here.
pub async fn connect(store: &Path, this: &Said, home: &dyn Home) -> Result<Joined, String> {
    let begun = Instant::now();
    let mut last = "nobody owns the notes, and they could not be opened here".to_string();
    while begun.elapsed() < PATIENCE {
        if owner_of(store).is_none() {
            home.begin().await?;
        }
        match join(store, this).await {
            Ok(joined) => return Ok(joined),
            Err(Unmet::Refused(why)) => return Err(why),
            Err(Unmet::Silent(why) | Unmet::Late(why)) => last = why,
        }
        sleep(PAUSE).await;
    }
    Err(last)
}
