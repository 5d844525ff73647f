//! Where clients come in by the network: only with the cookie; from beyond this machine only by TLS, with a key that the
//! user has let in.
//!
//! Who has not proved itself is told nothing but a nonce. However many come at once, those that greet at once are let in:
//! the oldest that did not get through the greeting gives way to the newest.

use crate::domain::port::LogLevel;
use crate::edge::engine::Engine;
use crate::edge::peers::allowed::{self, Allowed};
use crate::edge::peers::cookie;
use crate::edge::peers::greeting::{PATIENCE, refuse};
use crate::edge::peers::stranger::greet_stranger;
use crate::edge::peers::stream::Incoming;
use crate::edge::peers::tls::{Fingerprint, Key, bound_server};
use crate::edge::runtime::clients::Channel;
use crate::edge::runtime::hall::{Door, Host, Road};
use crate::edge::thread::aside;
use crate::edge::wire::proof::Cookie;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio_rustls::TlsAcceptor;

/// So many may be in the greeting at once; twice as many connections are held while they give way.
const GREETING: usize = 128;
/// As many clients are held at once where descriptors allow it.
const MOST: usize = 2_048;
/// An Emacs waits with `select`, which knows no descriptor beyond 1,023.
const EMACS: usize = 400;
/// How long nothing is accepted after that failed: there may be no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// How often it is looked whose keys are let in.
const LOOK: Duration = Duration::from_secs(2);
/// The first byte of whatever greets by TLS.
const TLS: u8 = 0x16;

/// Listens, as long as this lives.
pub(super) struct Lobby {
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Lobby {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Begins to listen where the settings say so; what is wrong is said in the log, and nobody can come in then.
pub(super) async fn open(engine: &Arc<Engine>, door: Arc<Door>, host: Host) -> Option<Lobby> {
    let address = engine.config.listen?;
    match begin(engine, address, door, host).await {
        Ok((at, how, lobby)) => {
            let cookie = cookie::place(&engine.config.store);
            let text = format!("programs can connect to {at} {how}with the cookie in {}", cookie.display());
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

/// What is known of everybody who comes, and who may.
#[derive(Clone)]
struct Terms {
    cookie: Cookie,
    door: Arc<Door>,
    seats: Arc<Semaphore>,
    /// Beyond this machine: how they come, and whose keys are let in.
    tls: Option<(TlsAcceptor, watch::Receiver<Arc<Allowed>>)>,
}

async fn begin(
    engine: &Arc<Engine>,
    address: SocketAddr,
    door: Arc<Door>,
    host: Host,
) -> Result<(SocketAddr, String, Lobby), String> {
    let listener = TcpListener::bind(address).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => format!(
            "something else listens at {address} already, and programs that connect there may talk with it; see what it \
             is (ss -ltnp), or set another port"
        ),
        _ => format!("{address}: {error}"),
    })?;
    let at = listener.local_addr().map_err(|error| error.to_string())?;
    let store = engine.config.store.clone();
    let folder = store.clone();
    // What it was bound to counts, and not what it was asked for.
    let (tls, how, watching) = match at.ip().is_loopback() {
        true => (None, String::new(), None),
        false => {
            let key = aside(move || Key::kept(&folder)).await?;
            let now = look(&store).await;
            let (now, words) = heed(&store, now, &Allowed::default());
            say(engine, words);
            let (tell, allowed) = watch::channel(Arc::new(now));
            let acceptor = key.acceptor(allowed.clone())?;
            let how = format!("by TLS with a key that was let in (this core's is {}), and ", key.fingerprint());
            let watching = tokio::spawn(follow(engine.clone(), store.clone(), tell));
            (Some((acceptor, allowed)), how, Some(watching))
        }
    };
    let folder = store;
    let cookie = aside(move || cookie::kept(&folder)).await?;
    let terms = Terms { cookie, door, seats: Arc::new(Semaphore::new(room(host))), tls };
    let tasks = watching.into_iter().chain([tokio::spawn(accept(listener, terms))]).collect();
    Ok((at, how, Lobby { tasks }))
}

async fn look(store: &Path) -> Result<Allowed, String> {
    let folder = store.to_path_buf();
    aside(move || Allowed::kept(&folder)).await
}

/// Follows whose keys are let in.
async fn follow(engine: Arc<Engine>, store: PathBuf, tell: watch::Sender<Arc<Allowed>>) {
    let mut last = Ok(Allowed::clone(&tell.borrow()));
    loop {
        tokio::time::sleep(LOOK).await;
        let now = look(&store).await;
        if now != last {
            let before = tell.borrow().clone();
            let (allowed, words) = heed(&store, now.clone(), &before);
            tell.send_replace(Arc::new(allowed));
            say(&engine, words);
            last = now;
        }
    }
}

/// Returns who is let in now, and what is to be said of that; nobody is while that cannot be known.
fn heed(store: &Path, now: Result<Allowed, String>, before: &Allowed) -> (Allowed, Vec<(LogLevel, String)>) {
    let mut words = Vec::new();
    let now = now.unwrap_or_else(|why| {
        words.push((LogLevel::Error, format!("no client on another machine is let in: {why}")));
        Allowed::default()
    });
    let names = |of: &Allowed, but: &Allowed| {
        let new = of.all().iter().filter(|(key, _)| but.name_of(*key).is_none());
        new.map(|(key, name)| format!("“{name}” ({key})")).collect::<Vec<_>>().join(", ")
    };
    for (verb, who) in [("is let in", names(&now, before)), ("is not let in any more", names(before, &now))] {
        if !who.is_empty() {
            words.push((LogLevel::Info, format!("from other machines {verb}: {who}")));
        }
    }
    if now.all().is_empty() {
        let place = allowed::place(store);
        let text =
            format!("no key of a client is let in ({}); passepartout clients allow lets one in", place.display());
        words.push((LogLevel::Info, text));
    }
    (now, words)
}

fn say(engine: &Engine, words: Vec<(LogLevel, String)>) {
    words.into_iter().for_each(|(level, text)| engine.say(level, &text));
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

async fn accept(listener: TcpListener, terms: Terms) {
    let mut waiting = VecDeque::<AbortHandle>::new();
    // One that gave way is still there until its turn comes: a flood is faster than that.
    let rooms = Arc::new(Semaphore::new(2 * GREETING));
    loop {
        let Ok(room) = rooms.clone().acquire_owned().await else { return };
        let Ok((stream, from)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let terms = terms.clone();
        let task = tokio::spawn(async move {
            receive(stream, from, terms).await;
            drop(room);
        });
        waiting.retain(|task| !task.is_finished());
        waiting.push_back(task.abort_handle());
        while waiting.len() > GREETING {
            if let Some(oldest) = waiting.pop_front() {
                oldest.abort();
            }
        }
    }
}

/// Takes one connection, by TLS where that is wanted.
async fn receive(stream: TcpStream, from: SocketAddr, terms: Terms) {
    // Small messages go at once.
    let _ = stream.set_nodelay(true);
    let Ok(peer) = stream.local_addr() else { return };
    let Some((acceptor, allowed)) = terms.tls.clone() else {
        let (reader, writer) = stream.into_split();
        return enter((reader, writer), (peer.to_string(), from), None, terms).await;
    };
    let secured = async {
        // What does not speak TLS is not even told so.
        let mut first = [0u8; 1];
        if stream.peek(&mut first).await.ok()? == 0 || first != [TLS] {
            return None;
        }
        acceptor.accept(stream).await.ok()
    };
    let Ok(Some(stream)) = tokio::time::timeout(PATIENCE, secured).await else { return };
    let Some((bound, key)) = bound_server(&stream) else { return };
    enter(tokio::io::split(stream), (bound, from), Some(Held { key, allowed }), terms).await;
}

/// A key that was let in, and whether it still is.
pub(super) struct Held {
    key: Fingerprint,
    allowed: watch::Receiver<Arc<Allowed>>,
}

impl Held {
    /// Returns which key it is.
    pub(super) fn key(&self) -> Fingerprint {
        self.key
    }

    fn name(&self) -> Option<String> {
        self.allowed.borrow().name_of(self.key).map(str::to_string)
    }
}

/// Waits until a client's key is not let in any more, or nobody looks any more whether it is; one that came without a key
/// goes on.
pub(super) async fn taken_out(held: Option<&Held>) {
    let Some(Held { key, allowed }) = held else { return std::future::pending().await };
    let mut allowed = allowed.clone();
    // Without anybody who would say that it was taken out it counts as that.
    let _ = allowed.wait_for(|allowed| allowed.name_of(*key).is_none()).await;
}

/// Greets one client; who gets through goes on in a task of its own, which no newcomer ends.
async fn enter<R, W>(
    (reader, mut writer): (R, W),
    (bound, from): (String, SocketAddr),
    held: Option<Held>,
    terms: Terms,
) where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let Terms { cookie, door, seats, .. } = terms;
    let mut incoming = Incoming::new(reader);
    let said = match greet_stranger(&mut incoming, &mut writer, &cookie, bound).await {
        Ok(said) => said,
        Err(None) => return,
        Err(Some(why)) => return refuse(&mut writer, &why).await,
    };
    let Ok(seat) = seats.try_acquire_owned() else {
        return refuse(&mut writer, "there are as many clients here as there is room for; end one of them first").await;
    };
    tokio::spawn(async move {
        let _seat = seat;
        let by = held.as_ref().and_then(Held::name).map(|name| format!(", by TLS as “{name}”")).unwrap_or_default();
        let road = Road { name: format!("the network, {from}{by}"), pinged: true, process: None, held };
        let name = said.name.clone();
        let make = |id, own: &str, outbox| Channel::client(id, own, name.as_deref(), outbox);
        door.serve((incoming, writer), &said, road, make).await;
    });
}
