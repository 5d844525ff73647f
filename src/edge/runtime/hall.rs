//! Where others join the owner of a store: each connection is let in or not, and is a client of its own.
//!
//! What one of them does to its connection ends that connection and no other.

use crate::edge::peers::greeting::{As, greet, refuse, welcome};
use crate::edge::peers::identity::{known_to_be_emacs, known_to_be_installed_emacs};
use crate::edge::peers::lineage::at_terminal;
use crate::edge::peers::place::{Guard, Listening, listen_again};
use crate::edge::peers::pulse;
use crate::edge::peers::stream::{Broken, Incoming, write};
use crate::edge::peers::trust::{Peer, admit, same_user};
use crate::edge::runtime::clients::{Channel, ClientId, OWN};
use crate::edge::runtime::outbox::{Limits, Outbox};
use crate::edge::runtime::{Event, Letter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::sync::{Notify, Semaphore, mpsc};

/// As many connections are held at once.
const MOST: usize = 64;
/// How long a client may take nothing while something waits for it; then its process is taken for stopped.
const STALLED: Duration = Duration::from_secs(90);
/// Bytes of messages that are written at a time.
const PIECE: usize = 64 * 1024;
/// How often it is looked whether the socket is still there: two small reads.
const LOOK: Duration = Duration::from_secs(2);
/// How long nothing is accepted after that failed: there may be no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// What owns the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// An Emacs.
    Emacs,
    /// A command: it has no Emacs to compare another one with.
    Command,
    /// A daemon: it has no Emacs either, and takes one that the system installed for a human's own.
    Daemon,
}

impl Host {
    /// Finds out that a process is an Emacs, as a human's own channel is.
    async fn knows(self, process: u32) -> Result<(), String> {
        match self {
            Host::Emacs => known_to_be_emacs(process).await,
            Host::Daemon => known_to_be_installed_emacs(process).await,
            Host::Command => Err("a command owns the store while it runs, and cannot tell who is an Emacs".to_string()),
        }
    }
}

/// Lets others join, as long as this lives.
///
/// When the socket or the store's folder was taken away, the loop is told, which has the store put back; then others
/// can join again.
pub(super) async fn open(
    mut listening: Listening,
    store: PathBuf,
    (inbox, host): (mpsc::UnboundedSender<Event>, Host),
    told: impl Fn(Guard),
) {
    let (seats, next) = (Arc::new(Semaphore::new(MOST)), Arc::new(AtomicU32::new(OWN + 1)));
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let accepted = tokio::select! {
            accepted = listening.listener.accept() => accepted,
            _ = look.tick() => {
                if let Some(anew) = found_again(&listening, &store, &inbox) {
                    told(anew.guard());
                    listening = anew;
                }
                continue;
            }
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (seats, next, inbox) = (seats.clone(), next.clone(), inbox.clone());
        tokio::spawn(async move {
            let peer = match Peer::of(&stream) {
                // Another user is told nothing, not even why.
                Ok(peer) if same_user(peer).is_ok() => peer,
                Ok(_) | Err(_) => return,
            };
            let admitted = admit(peer).and_then(|process| match seats.try_acquire() {
                Ok(seat) => Ok((process, seat)),
                Err(_) => Err(format!("{MOST} clients are here already; end one of them first")),
            });
            match admitted {
                Ok((process, _seat)) => serve(stream, (process, host), &next, inbox).await,
                Err(why) => refuse(&mut { stream }, &why).await,
            }
        });
    }
}

/// Looks whether others still find the way here; a socket that was taken away is made anew once the store is there.
fn found_again(listening: &Listening, store: &Path, inbox: &mpsc::UnboundedSender<Event>) -> Option<Listening> {
    if listening.stands(store) {
        return None;
    }
    // The loop may have ended; then this soon does, too.
    let _ = inbox.send(Event::Uprooted);
    listen_again(store).ok()
}

/// Serves one client until its connection ends.
async fn serve(
    stream: UnixStream,
    (process, host): (u32, Host),
    next: &AtomicU32,
    inbox: mpsc::UnboundedSender<Event>,
) {
    let (reader, mut writer) = stream.into_split();
    let mut incoming = Incoming::new(reader);
    let kind = match greet(&mut incoming, &mut writer).await {
        Ok(kind) => kind,
        Err(why) => return refuse(&mut writer, &why).await,
    };
    let bell = Arc::new(Notify::new());
    let ring = bell.clone();
    let outbox = Outbox::with_limits(Limits::JOINED, Box::new(move || ring.notify_one()));
    let id: ClientId = next.fetch_add(1, Ordering::Relaxed);
    let channel = match kind {
        As::Emacs => match host.knows(process).await {
            Ok(()) => Channel::emacs(id, process, outbox),
            Err(why) => Channel::doubted(id, process, (why, at_terminal(process)), outbox),
        },
        // Whatever it says of itself: the system knows whether it has a terminal.
        As::Cli | As::Tui => Channel::cli(id, process, at_terminal(process), outbox),
    };
    if welcome(&mut writer, &channel.name, channel.doubt.as_deref()).await.is_err() {
        return;
    }
    // The loop may have ended; then this connection soon does, too.
    let _ = inbox.send(Event::Joined(channel.clone()));
    let why = tokio::select! {
        why = hear(&mut incoming, &channel, &inbox) => why,
        () = speak(&mut writer, &channel.outbox, &bell) => None,
        () = channel.outbox.overflow() => None,
        // The loop has ended, or never began: who joined looks for another owner.
        () = inbox.closed() => None,
    };
    let _ = inbox.send(Event::Left(id));
    if let Some(why) = why {
        refuse(&mut writer, &why).await;
    }
}

/// Hands on what a client says until its connection ends, or cannot be read any more: then returns why.
async fn hear(
    incoming: &mut Incoming<impl AsyncRead + Unpin>,
    channel: &Channel,
    inbox: &mpsc::UnboundedSender<Event>,
) -> Option<String> {
    loop {
        let text = match incoming.next().await {
            Ok(Some(text)) => text,
            Ok(None) | Err(Broken::System(_) | Broken::Half) => return None,
            Err(Broken::Frame(error)) => return Some(error.to_string()),
        };
        let mut letter = Letter::read(&text);
        match &letter.message {
            Err(why) => return Some(why.clone()),
            Ok(message) if message.name_at("type") == Some("request") => {
                let seat = channel.seats.clone().acquire_owned();
                letter.seat = while_it_waits(seat, channel, inbox).await.ok();
            }
            Ok(_) => {}
        }
        while_it_waits(channel.make_room(letter.bytes), channel, inbox).await;
        if inbox.send(Event::Message(channel.id, letter)).is_err() {
            return None;
        }
    }
}

/// Waits for something, and lets the loop give the client a sign of life meanwhile: while nothing is read of its
/// connection, it cannot ask for one.
async fn while_it_waits<T>(
    what: impl Future<Output = T>,
    channel: &Channel,
    inbox: &mpsc::UnboundedSender<Event>,
) -> T {
    tokio::pin!(what);
    loop {
        tokio::select! {
            done = &mut what => return done,
            () = tokio::time::sleep(pulse::ASK) => {
                let ping = Letter::read(&pulse::ping());
                channel.note_waiting(ping.bytes);
                // The loop may have ended; then nobody waits any more.
                let _ = inbox.send(Event::Message(channel.id, ping));
            }
        }
    }
}

/// Writes what waits for a client, until it takes nothing any more.
async fn speak(writer: &mut (impl AsyncWrite + Unpin), outbox: &Outbox, bell: &Notify) {
    loop {
        let texts = outbox.receive(PIECE);
        if texts.is_empty() {
            bell.notified().await;
        }
        for text in texts {
            // What no frame holds came in a short form; a line of our own that is longer is nobody's loss.
            match tokio::time::timeout(STALLED, write(writer, &text)).await {
                Ok(Ok(()) | Err(Broken::Frame(_))) => {}
                Ok(Err(Broken::System(_) | Broken::Half)) | Err(_) => return,
            }
        }
    }
}
