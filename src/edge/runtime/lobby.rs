//! Where clients come in by the network: only with the cookie; from beyond this machine only by TLS, with a key that the
//! user has let in.
//!
//! Who has not proved itself is told nothing but a nonce. However many come at once, those that greet at once are let in:
//! the oldest that did not get through the greeting gives way to the newest.

use crate::domain::label::Privacy;
use crate::domain::port::LogLevel;
use crate::edge::engine::Engine;
use crate::edge::peers::allowed::{self, Allowed};
use crate::edge::peers::cookie;
use crate::edge::peers::greeting::{PATIENCE, refuse};
use crate::edge::peers::stranger::greet_stranger;
use crate::edge::peers::stream::{Incoming, Outgoing};
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
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio_rustls::TlsAcceptor;

/// So many may be in the greeting at once; twice as many connections are held while they give way.
const GREETING: usize = 128;
/// As many clients are held at once where descriptors allow it.
pub(in crate::edge) const MOST: usize = 2_048;
/// So many may have connected and wait to be accepted: whoever comes when there are more tries again after a second.
const WAITING: u32 = 4_096;
/// An Emacs waits with `select`, which knows no descriptor beyond 1,023.
const EMACS: usize = 400;
/// How long nothing is accepted after that failed: there may be no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);
/// So many bytes of what was written to a client lie here in the system, which may take twice as many; without a bound
/// that would be more than what is kept for who comes back.
const SENDING: u32 = 256 << 10;

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
            // An address names no note.
            let text = format!("nobody can connect by the network: {why}");
            engine.say_of(LogLevel::Error, Privacy::Open, &text);
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
    let listener = listening(address).map_err(|error| match error.kind() {
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

/// Binds an address and listens there.
fn listening(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = socket(address)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

/// Makes a socket for an address, from which each connection there has its settings.
fn socket(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // One that listened there a moment ago may have connections that have not ended.
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SENDING)?;
    Ok(socket)
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

/// So many files may be open for each client that may be here: half of them are left to everybody else.
pub(in crate::edge) const FILES_EACH: usize = 2;

/// Returns how many clients may be here at once: the files of everybody else need descriptors, too.
fn room(host: Host) -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let soft = limit.current.and_then(|soft| usize::try_from(soft).ok()).unwrap_or(MOST * 2);
    let most = match host {
        Host::Daemon => MOST,
        Host::Emacs | Host::Command => EMACS,
    };
    most.min(soft / FILES_EACH)
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
async fn enter<R, W>((reader, writer): (R, W), (bound, from): (String, SocketAddr), held: Option<Held>, terms: Terms)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let Terms { cookie, door, seats, .. } = terms;
    let (mut incoming, mut outgoing) = (Incoming::new(reader), Outgoing::new(writer));
    let said = match greet_stranger(&mut incoming, &mut outgoing, &cookie, bound).await {
        Ok(said) => said,
        Err(None) => return,
        Err(Some(why)) => return refuse(&mut outgoing, &why).await,
    };
    tokio::spawn(async move {
        let by = held.as_ref().and_then(Held::name).map(|name| format!(", by TLS as “{name}”")).unwrap_or_default();
        let road = Road { name: format!("the network, {from}{by}"), pinged: true, process: None, held, seats };
        let name = said.name.clone();
        let make = |id, own: &str, outbox| Channel::client(id, own, name.as_deref(), outbox);
        door.serve((incoming, outgoing), &said, road, make).await;
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sexp::reader::Sexp;
    use crate::edge::peers::greeting::{As, Said, Unmet};
    use crate::edge::peers::stranger::meet_stranger;
    use crate::edge::runtime::Event;
    use crate::edge::wire::frame::encode;
    use tokio::io::{AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
    use tokio::sync::mpsc;
    use tokio::time::Instant;

    /// What somebody says who does not get through the greeting, and how long after the beginning or the last of it.
    struct Mute {
        what: &'static str,
        says: Vec<(u64, Vec<u8>)>,
    }

    fn mutes() -> Vec<Mute> {
        let bytes = |text: &str| encode(text).expect("it is short");
        let drip = |bytes: &[u8]| bytes.iter().take(20).map(|byte| (1_000, vec![*byte])).collect();
        let claim = "(:type :event :payload (:action :handshake :protocol 2 :nonce \"ab\" :mac \"cd\"))";
        vec![
            Mute { what: "nothing", says: Vec::new() },
            Mute { what: "the beginning of a frame", says: vec![(0, b"0000".to_vec())] },
            Mute { what: "a length and nothing behind it", says: vec![(4_000, b"000100".to_vec())] },
            Mute { what: "half of an answer", says: vec![(4_900, bytes(claim)[..40].to_vec())] },
            Mute { what: "a byte a second", says: drip(&bytes(claim)) },
            Mute { what: "blanks", says: (0..20).map(|_| (900, vec![b' '])).collect() },
        ]
    }

    fn terms(tls: Option<&Path>) -> (Terms, mpsc::UnboundedReceiver<Event>) {
        let (inbox, events) = mpsc::unbounded_channel();
        let (door, seats) = (Door::new(inbox), Arc::new(Semaphore::new(8)));
        let tls = tls.map(|folder| {
            let (_, allowed) = watch::channel(Arc::new(Allowed::default()));
            let key = Key::kept(folder).expect("a key");
            (key.acceptor(allowed.clone()).expect("it takes connections"), allowed)
        });
        (Terms { cookie: Cookie::of([7; 32]), door, seats, tls }, events)
    }

    /// Has somebody come, and returns after how many milliseconds it was let go.
    async fn let_go(terms: &Terms, says: Vec<(u64, Vec<u8>)>) -> u128 {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut there = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("it listens");
        let (stream, from) = listener.accept().await.expect("somebody comes");
        let begun = Instant::now();
        let saying = async {
            for (pause, bytes) in says {
                tokio::time::sleep(Duration::from_millis(pause)).await;
                // It may be let go already.
                let _ = there.write_all(&bytes).await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = saying => 0,
            () = receive(stream, from, terms.clone()) => begun.elapsed().as_millis(),
        }
    }

    #[tokio::test]
    async fn little_of_what_is_written_lies_here_in_the_system() {
        let socket = socket(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a socket");
        let most = socket.send_buffer_size().expect("it is known");
        assert!((SENDING..=2 * SENDING).contains(&most), "{most} bytes");
    }

    /// The other end of a connection.
    type There = (Incoming<ReadHalf<DuplexStream>>, WriteHalf<DuplexStream>);

    /// Has somebody come who knows the cookie, and returns the other end with what it was told.
    async fn join(terms: &Terms, said: &Said) -> (There, Result<Sexp, Unmet>) {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (bound, from) = ("here".to_string(), SocketAddr::from(([127, 0, 0, 1], 1)));
        let (reader, mut writer) = tokio::io::split(theirs);
        let mut incoming = Incoming::new(reader);
        let entering = enter(tokio::io::split(ours), (bound.clone(), from), None, terms.clone());
        let meeting = meet_stranger(&mut incoming, &mut writer, (&terms.cookie, bound), said);
        let ((), met) = tokio::join!(entering, meeting);
        ((incoming, writer), met)
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_back_has_the_seat_that_it_had() {
        let (mut terms, _events) = terms(None);
        terms.seats = Arc::new(Semaphore::new(1));
        let (other, numbered) = (Said::plain(As::Client), Said { numbered: true, ..Said::plain(As::Client) });
        let (first, met) = join(&terms, &numbered).await;
        let welcome = met.expect("it is let in");
        let token = welcome.text_at("resume").expect("a token").to_string();
        let again = Said { resume: Some((token, 0)), ..numbered };
        // Before it is known that its connection broke, and behind that.
        let (second, met) = join(&terms, &again).await;
        assert!(met.expect("it is let in").flag_at("resumed"));
        drop((first, second));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (_, met) = join(&terms, &other).await;
        assert!(
            matches!(&met, Err(Unmet::Refused(why)) if why.contains("as many clients")),
            "it is waited for: {met:?}"
        );
        let (third, met) = join(&terms, &again).await;
        assert!(met.expect("it is let in").flag_at("resumed"));
        drop(third);
        tokio::time::sleep(Duration::from_secs(100)).await;
        let (_, met) = join(&terms, &other).await;
        met.expect("the first one has left");
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_back_too_late_to_go_on_has_the_seat_that_it_had_and_nobody_else_has_it() {
        let (mut terms, mut events) = terms(None);
        terms.seats = Arc::new(Semaphore::new(1));
        let numbered = Said { numbered: true, ..Said::plain(As::Client) };
        let (first, met) = join(&terms, &numbered).await;
        let token = met.expect("it is let in").text_at("resume").expect("a token").to_string();
        // Whether it is known yet that its connection broke or not.
        let mut here = Some((token, first));
        for broken in [false, true] {
            let (token, there) = here.take().expect("it is here");
            let there = (!broken).then_some(there);
            tokio::time::sleep(Duration::from_secs(1)).await;
            let guessed = Some(("00112233445566778899aabbccddeeff".to_string(), 99));
            for other in [numbered.clone(), Said { resume: guessed, ..numbered.clone() }] {
                let (_, met) = join(&terms, &other).await;
                assert!(matches!(&met, Err(Unmet::Refused(why)) if why.contains("as many clients")), "{met:?}");
            }
            // What it says that it has seen was never said; of what is not kept any more it cannot go on, either.
            let again = Said { resume: Some((token, 99)), ..numbered.clone() };
            let (next, met) = join(&terms, &again).await;
            let welcome = met.expect("it is let in");
            assert!(!welcome.flag_at("resumed"), "{welcome}");
            if let Some((mut incoming, _writer)) = there {
                assert!(matches!(incoming.next().await, Ok(None)), "its old connection has ended");
            }
            here = Some((welcome.text_at("resume").expect("another token").to_string(), next));
        }
        let mut heard = Vec::new();
        while let Ok(event) = events.try_recv() {
            match event {
                Event::Joined(channel) => heard.push(("joined", channel.id)),
                Event::Left(id) => heard.push(("left", id)),
                _ => panic!("nothing was said"),
            }
        }
        let [(_, one), _, (_, two), _, (_, three)] = heard.as_slice() else { panic!("{heard:?}") };
        let expected = [("joined", *one), ("left", *one), ("joined", *two), ("left", *two), ("joined", *three)];
        assert_eq!(heard, expected, "each leaves before the next one comes");
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_prove_itself_within_five_seconds_is_let_go() {
        let folder = tempfile::tempdir().expect("a folder");
        for tls in [None, Some(folder.path())] {
            let (terms, mut events) = terms(tls);
            for Mute { what, mut says } in mutes() {
                if tls.is_some() {
                    // Else it is let go at its first byte.
                    if let Some((_, first)) = says.first_mut() {
                        *first = vec![TLS, 3, 1, 2];
                    }
                    says.iter_mut().skip(1).for_each(|(_, bytes)| bytes.fill(0));
                }
                let after = let_go(&terms, says).await;
                assert!((5_000..5_010).contains(&after), "{what}, {}: {after} ms", tls.is_some());
            }
            assert!(events.try_recv().is_err(), "nobody has joined");
            assert_eq!(terms.seats.available_permits(), 8);
        }
    }
}
