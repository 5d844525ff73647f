//! Who may join: a process of the same user that nothing of the agent's started.

use crate::edge::peers::lineage;
use tokio::net::UnixStream;

/// The process at the other end of a socket, as the system names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its user.
    pub user: u32,
    /// Its number; `None` where the system does not tell.
    pub process: Option<u32>,
}

impl Peer {
    /// Returns who is at the other end.
    ///
    /// # Errors
    /// In words, when the system does not say.
    pub fn of(stream: &UnixStream) -> Result<Peer, String> {
        let found = stream.peer_cred().map_err(|error| format!("who is there cannot be found out: {error}"))?;
        let process = found.pid().and_then(|process| u32::try_from(process).ok());
        Ok(Peer { user: found.uid(), process })
    }
}

/// Returns the user of this process.
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Lets a process in that wants to join; returns its number.
///
/// # Errors
/// In words, why it may not.
pub fn admit(peer: Peer) -> Result<u32, String> {
    let strict = |process| lineage::not_started_by_us(process).and_then(|()| lineage::not_confined(process));
    judge(peer, own_user(), strict)
}

/// Makes sure that the owner of a store, who is joined, is a process of the same user.
///
/// # Errors
/// In words, when it is not.
pub fn same_user(peer: Peer) -> Result<(), String> {
    if peer.user == own_user() { Ok(()) } else { Err("another user listens at the store's socket".to_string()) }
}

fn judge(peer: Peer, user: u32, origin: impl Fn(u32) -> Result<(), String>) -> Result<u32, String> {
    if peer.user != user {
        return Err(format!("user {} may not join a process of user {user}", peer.user));
    }
    let process = peer.process.ok_or_else(|| "the system does not say which process wants to join".to_string())?;
    origin(process).map_err(|why| format!("process {process} may not join: {why}"))?;
    Ok(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_user_an_unknown_process_and_what_the_agent_started_stay_outside() {
        let free = |_| Ok(());
        let ours = |_| Err("the agent started it".to_string());
        let peer = |user, process| Peer { user, process };
        assert_eq!(judge(peer(1000, Some(7)), 1000, free), Ok(7));
        for (peer, origin) in [
            (peer(1001, Some(7)), &free as &dyn Fn(u32) -> Result<(), String>),
            // Root reads everything anyway, and is not the user.
            (peer(0, Some(7)), &free),
            (peer(1000, None), &free),
            (peer(1000, Some(7)), &ours),
        ] {
            assert!(judge(peer, 1000, origin).is_err(), "{peer:?}");
        }
    }

    #[tokio::test]
    async fn the_system_names_who_is_there() {
        let (one, _other) = UnixStream::pair().expect("a pair");
        let peer = Peer::of(&one).expect("it is told");
        assert_eq!((peer.user, peer.process), (own_user(), Some(std::process::id())));
        assert_eq!(admit(peer), Ok(std::process::id()));
    }
}
