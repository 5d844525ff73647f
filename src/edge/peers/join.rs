//! Joins the owner of a store over its socket.

use crate::edge::peers::greeting::{Said, Unmet, meet};
use crate::edge::peers::place::of_owner;
use crate::edge::peers::stream::Incoming;
use crate::edge::peers::trust::{Peer, same_user};
use std::path::Path;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// A connection to the owner of a store.
pub struct Joined {
    /// What comes from it.
    pub incoming: Incoming<OwnedReadHalf>,
    /// What goes to it.
    pub writer: OwnedWriteHalf,
    /// Its process, where the system tells.
    pub process: Option<u32>,
    /// Why this process has less rights there than what it joined as would have, if it has.
    pub doubt: Option<String>,
}

/// Joins the owner of the store in a folder.
///
/// # Errors
/// In words, when nobody listens, when who listens does not answer, and when it says no.
pub async fn join(store: &Path, this: &Said) -> Result<Joined, Unmet> {
    let stream = UnixStream::connect(of_owner(store)).await.map_err(|error| Unmet::Silent(error.to_string()))?;
    let peer = Peer::of(&stream).and_then(|peer| same_user(peer).map(|()| peer)).map_err(Unmet::Refused)?;
    let (reader, mut writer) = stream.into_split();
    let mut incoming = Incoming::new(reader);
    let doubt = meet(&mut incoming, &mut writer, this).await?;
    Ok(Joined { incoming, writer, process: peer.process, doubt })
}
