//! Where clients come in by the network: only with the cookie, and only from this machine.
//!
//! Who has not proved itself is told nothing but a nonce. However many come at once, those that greet at once are let in:
//! the oldest that did not get through the greeting gives way to the newest.

use crate::domain::port::LogLevel;
use crate::edge::engine::Engine;
use crate::edge::peers::cookie;
use crate::edge::peers::greeting::refuse;
use crate::edge::peers::stranger::greet_stranger;
use crate::edge::peers::stream::Incoming;
use crate::edge::runtime::clients::Channel;
use crate::edge::runtime::hall::{Door, Host, Road};
use crate::edge::wire::proof::Cookie;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinHandle};

/// So many may be in the greeting at once.
const GREETING: usize = 128;
/// As many clients are held at once where descriptors allow it.
const MOST: usize = 2_048;
/// An Emacs waits with `select`, which knows no descriptor beyond 1,023.
const EMACS: usize = 400;
/// How long nothing is accepted after that failed: there may be no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// Listens, as long as this lives.
pub(super) struct Lobby {
    task: JoinHandle<()>,
}

impl Drop for Lobby {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Begins to listen where the settings say so; what is wrong is said in the log, and nobody can come in then.
pub(super) async fn open(engine: &Arc<Engine>, door: Arc<Door>, host: Host) -> Option<Lobby> {
    let address = engine.config.listen?;
    match begin(&engine.config.store, address, door, host).await {
        Ok((at, lobby)) => {
            let cookie = cookie::place(&engine.config.store);
            let text = format!("programs can connect to {at} with the cookie in {}", cookie.display());
            engine.say(LogLevel::Info, &text);
            engine.note_listening(Ok(at));
            Some(lobby)
        }
        Err(why) => {
            engine.say(LogLevel::Error, &format!("nobody can connect by the network: {why}"));
            engine.note_listening(Err(why));
            None
        }
    }
}

async fn begin(store: &Path, address: SocketAddr, door: Arc<Door>, host: Host) -> Result<(SocketAddr, Lobby), String> {
    if !address.ip().is_loopback() {
        return Err(format!("{address} is not on this machine, and beyond it nothing is listened for in this version"));
    }
    let listener = TcpListener::bind(address).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => format!(
            "something else listens at {address} already, and programs that connect there may talk with it; see what it \
             is (ss -ltnp), or set another port"
        ),
        _ => format!("{address}: {error}"),
    })?;
    let at = listener.local_addr().map_err(|error| error.to_string())?;
    let (folder, most) = (store.to_path_buf(), room(host));
    let cookie = crate::edge::thread::aside(move || cookie::kept(&folder)).await?;
    let task = tokio::spawn(accept(listener, cookie, door, most));
    Ok((at, Lobby { task }))
}

/// Returns how many clients may be here at once: the files of everybody else need descriptors, too.
fn room(host: Host) -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let soft = limit.current.and_then(|soft| usize::try_from(soft).ok()).unwrap_or(MOST * 2);
    let most = match host {
        Host::Daemon => MOST,
        Host::Emacs | Host::Command => EMACS,
    };
    most.min(soft / 2)
}

async fn accept(listener: TcpListener, cookie: Cookie, door: Arc<Door>, most: usize) {
    let seats = Arc::new(Semaphore::new(most));
    let greeting = Arc::new(Mutex::new(VecDeque::<AbortHandle>::new()));
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (cookie, door, seats) = (cookie.clone(), door.clone(), seats.clone());
        let task = tokio::spawn(receive(stream, from, cookie, door, seats));
        let mut waiting = greeting.lock();
        waiting.push_back(task.abort_handle());
        while waiting.len() > GREETING {
            if let Some(oldest) = waiting.pop_front() {
                oldest.abort();
            }
        }
    }
}

/// Greets one client; who gets through goes on in a task of its own, which no newcomer ends.
async fn receive(stream: TcpStream, from: SocketAddr, cookie: Cookie, door: Arc<Door>, seats: Arc<Semaphore>) {
    // Small messages go at once.
    let _ = stream.set_nodelay(true);
    let Ok(peer) = stream.local_addr() else { return };
    let (reader, mut writer) = stream.into_split();
    let mut incoming = Incoming::new(reader);
    let said = match greet_stranger(&mut incoming, &mut writer, &cookie, peer.to_string()).await {
        Ok(said) => said,
        Err(None) => return,
        Err(Some(why)) => return refuse(&mut writer, &why).await,
    };
    let Ok(seat) = seats.try_acquire_owned() else {
        return refuse(&mut writer, "there are as many clients here as there is room for; end one of them first").await;
    };
    tokio::spawn(async move {
        let _seat = seat;
        let road = Road { name: format!("the network, {from}"), pinged: true, process: None };
        let name = said.name.clone();
        let make = |id, own: &str, outbox| Channel::client(id, own, name.as_deref(), outbox);
        door.serve((incoming, writer), &said, road, make).await;
    });
}
