//! Where others join the owner of a store: each connection is let in or not, and is a client of its own.
//!
//! What one of them does to its connection ends that connection and no other.

use crate::domain::sexp::plist::Plist;
use crate::edge::peers::greeting::{As, Said, Welcome, dismiss, greet, refuse, welcome};
use crate::edge::peers::identity::{known_to_be_emacs, known_to_be_installed_emacs};
use crate::edge::peers::lineage::{at_terminal, state_of};
use crate::edge::peers::place::{Guard, Listening, listen_again};
use crate::edge::peers::pulse;
use crate::edge::peers::stream::{Broken, Incoming, Outgoing};
use crate::edge::peers::trust::{Peer, admit, same_user};
use crate::edge::random;
use crate::edge::runtime::clients::{About, Channel, ClientId, OWN, own_name};
use crate::edge::runtime::line::{Hold, Line, Lines};
use crate::edge::runtime::lobby::{Held, taken_out};
use crate::edge::runtime::outbox::{Limits, Outbox};
use crate::edge::runtime::{Event, Letter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

/// As many clients are held at once, and so many more are being greeted.
const MOST: usize = 64;
/// What is said to who comes when there are as many.
const FULL: &str = "there are as many clients here as there is room for; end one of them first";
/// How long a client may take nothing while something waits for it; then its process is taken for stopped.
const STALLED: Duration = Duration::from_secs(90);
/// Bytes of messages that are written at a time, or one message.
const PIECE: usize = 64 * 1024;
/// How often it is looked whether the socket is still there: two small reads.
const LOOK: Duration = Duration::from_secs(2);
/// After so long without a word who is asked for a sign of life is asked.
const QUIET: Duration = Duration::from_secs(30);
/// So often it is asked before it is taken for gone: 90 seconds in all.
const PINGS: usize = 2;
/// How long a client whose connection broke may stay away and go on where it was.
const AWAY: Duration = Duration::from_secs(90);
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
    (door, host): (Arc<Door>, Host),
    told: impl Fn(Guard),
) {
    let (seats, rooms) = (Arc::new(Semaphore::new(MOST)), Arc::new(Semaphore::new(MOST)));
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listening, &rooms) => accepted,
            _ = look.tick() => {
                if let Some(anew) = found_again(&listening, &store, &door.inbox) {
                    told(anew.guard());
                    listening = anew;
                }
                continue;
            }
        };
        let Some((stream, room)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (seats, door) = (seats.clone(), door.clone());
        tokio::spawn(async move {
            let peer = match Peer::of(&stream) {
                // Another user is told nothing, not even why.
                Ok(peer) if same_user(peer).is_ok() => peer,
                Ok(_) | Err(_) => return,
            };
            match admit(peer) {
                Ok(process) => receive(stream, (process, host), (room, seats), &door).await,
                Err(why) => refuse(&mut Outgoing::new(stream), &why).await,
            }
        });
    }
}

/// Takes the next connection once there is room to greet it; those behind it wait in the system.
async fn accept(listening: &Listening, rooms: &Arc<Semaphore>) -> Option<(UnixStream, OwnedSemaphorePermit)> {
    let room = rooms.clone().acquire_owned().await.ok()?;
    let (stream, _) = listening.listener.accept().await.ok()?;
    Some((stream, room))
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

/// Greets one client at the socket, for which it has a room, and serves it until its connection ends.
async fn receive(
    stream: UnixStream,
    (process, host): (u32, Host),
    (room, seats): (OwnedSemaphorePermit, Arc<Semaphore>),
    door: &Door,
) {
    let (reader, writer) = stream.into_split();
    let (mut incoming, mut outgoing) = (Incoming::new(reader), Outgoing::new(writer));
    let said = match greet(&mut incoming, &mut outgoing).await {
        Ok(said) => said,
        Err(why) => return refuse(&mut outgoing, &why).await,
    };
    // Finding out what it is may take a moment, so before anything of it is taken up.
    let kind = match said.kind {
        As::Emacs => Known::Emacs(host.knows(process).await),
        // Whatever it says of itself: the system knows whether it has a terminal.
        As::Cli => Known::Cli,
        As::Tui => Known::Tui,
        As::Client => Known::Client,
        As::Mcp => Known::Mcp,
        As::Acp => Known::Acp,
    };
    drop(room);
    let may = at_terminal(process);
    let make = |id, own: &str, outbox| match kind {
        Known::Emacs(Ok(())) => Channel::emacs(id, process, outbox),
        Known::Emacs(Err(why)) => Channel::doubted(id, process, (why, may), outbox),
        Known::Cli => Channel::cli(id, process, may, outbox),
        Known::Tui => Channel::tui(id, own, process, may, outbox),
        Known::Client => Channel::client(id, own, said.name.as_deref(), outbox),
        Known::Mcp => Channel::mcp(id, own, said.name.as_deref(), outbox),
        Known::Acp => Channel::acp(id, own, said.name.as_deref(), outbox),
    };
    let name = format!("the socket, process {process}");
    let road = Road { name, pinged: false, process: Some(process), held: None, seats };
    door.serve((incoming, outgoing), &said, road, make).await;
}

/// What the system says of who joins.
enum Known {
    /// An Emacs, or not, and why.
    Emacs(Result<(), String>),
    Cli,
    Tui,
    Client,
    Mcp,
    Acp,
}

/// By which road a client comes.
pub(super) struct Road {
    /// In words.
    pub(super) name: String,
    /// It is asked for a sign of life: the system does not say when its process has ended.
    pub(super) pinged: bool,
    /// Its process, where the system names it: nobody else takes up its connection.
    pub(super) process: Option<u32>,
    /// The key with which it came, where it came from beyond this machine.
    pub(super) held: Option<Held>,
    /// A seat for each client that may be here at once by this road.
    pub(super) seats: Arc<Semaphore>,
}

/// What all who let clients in share.
pub(super) struct Door {
    next: AtomicU32,
    inbox: mpsc::UnboundedSender<Event>,
    lines: Lines,
}

impl Door {
    /// Lets clients in to a loop.
    pub(super) fn new(inbox: mpsc::UnboundedSender<Event>) -> Arc<Door> {
        Arc::new(Door { next: AtomicU32::new(OWN + 1), inbox, lines: Lines::default() })
    }

    /// Serves one client until its connection ends; one that is numbered is waited for a while, and goes on where it was.
    pub(super) async fn serve(
        &self,
        (mut incoming, mut outgoing): (Incoming<impl AsyncRead + Unpin>, Outgoing<impl AsyncWrite + Unpin>),
        said: &Said,
        road: Road,
        make: impl FnOnce(ClientId, &str, Arc<Outbox>) -> Arc<Channel>,
    ) {
        let (line, hold, resumed) = match self.line(said, &road, make) {
            Ok(line) => line,
            Err(why) => return refuse(&mut outgoing, &why).await,
        };
        let channel = line.channel.clone();
        // Not when yet another connection has taken it meanwhile, and may have broken.
        line.hand_on(&hold, None, || channel.note_away(false));
        if !resumed {
            // Before its client knows the token: with that it may come back in this very moment by another connection, and
            // what it says there is for a client that has joined. The loop may have ended; then this connection soon does,
            // too.
            let _ = self.inbox.send(Event::Joined(channel.clone()));
        }
        let welcome_words = Welcome {
            client: &channel.name,
            doubt: channel.doubt.as_deref(),
            session: channel.kind.is_program().then(|| channel.session()),
            line: line.token().map(|token| (token, resumed, line.heard())),
        };
        let parts = async {
            if welcome(&mut outgoing, &welcome_words).await.is_err() {
                // Who was not told by which token cannot come back.
                return if resumed { End::Broken } else { End::Gone };
            }
            tokio::select! {
                end = hear(&mut incoming, (&line, &hold), &self.inbox, road.pinged) => end,
                end = speak(&mut outgoing, &self.lines, (&line, &hold)) => end,
            }
        };
        let end = tokio::select! {
            end = parts => end,
            () = channel.outbox.overflow() => End::Gone,
            () = channel.until_dismissed() => End::Dismissed("the user has ended this connection"),
            () = taken_out(road.held.as_ref()) => End::Dismissed("the key of this client is not let in any more"),
            // Its client has come back by another connection, which goes on.
            () = hold.lost() => return,
            // The loop has ended, or never began: who joined looks for another owner.
            () = self.inbox.closed() => End::Gone,
        };
        if matches!(end, End::Broken) && line.token().is_some() {
            // Who still believes in this connection learns that it has ended, and that it should come back.
            drop((incoming, outgoing));
            return self.wait_for(&line, &hold, &road).await;
        }
        match (self.end(&hold, &channel), end) {
            (true, End::Refused(why)) => refuse(&mut outgoing, &why).await,
            (true, End::Dismissed(why)) => dismiss(&mut outgoing, why).await,
            (true, End::Broken | End::Gone) | (false, _) => {}
        }
    }

    /// Waits a while for a client whose connection broke; one that does not come back has left.
    async fn wait_for(&self, line: &Line, hold: &Hold, road: &Road) {
        let channel = &line.channel;
        // Not of who has come back by another connection already.
        line.hand_on(hold, None, || channel.note_away(true));
        tokio::select! {
            () = hold.lost() => return,
            () = gone(road.process) => {}
            () = channel.outbox.overflow() => {}
            () = channel.until_dismissed() => {}
            () = taken_out(road.held.as_ref()) => {}
            () = self.inbox.closed() => {}
        }
        self.end(hold, channel);
    }

    /// Ends the line of a client, which has left then; returns false when it came back in this very moment.
    fn end(&self, hold: &Hold, channel: &Channel) -> bool {
        let ended = self.lines.end(hold);
        if ended {
            // The loop may have ended; then nobody needs to know.
            let _ = self.inbox.send(Event::Left(channel.id));
        }
        ended
    }

    /// Takes up the line of a client that comes back, or begins one where there is a seat for it, in the place of its old
    /// one where it cannot go on by that; says whether it was taken up.
    fn line(
        &self,
        said: &Said,
        road: &Road,
        make: impl FnOnce(ClientId, &str, Arc<Outbox>) -> Arc<Channel>,
    ) -> Result<(Arc<Line>, Hold, bool), String> {
        let (channel, bell, token) = self.channel(said, road, make)?;
        let resume = said.resume.as_ref().map(|(token, seen)| (token.as_str(), *seen));
        if let Some((line, hold)) = resume.and_then(|resume| self.lines.take_up(resume, road, &channel)) {
            return Ok((line, hold, true));
        }
        let old = resume.map(|(token, _)| token);
        let (seat, before) = self.lines.seat(old, road, &channel).ok_or(FULL)?;
        if let Some(before) = before {
            // The loop may have ended; then nobody needs to know.
            let _ = self.inbox.send(Event::Left(before));
        }
        let token = said.numbered.then_some(token);
        let (line, hold) = self.lines.begin((channel, bell), token, road, seat);
        Ok((line, hold, false))
    }

    /// Makes the channel of a client as if it came for the first time, with its bell and a token for its line.
    fn channel(
        &self,
        said: &Said,
        road: &Road,
        make: impl FnOnce(ClientId, &str, Arc<Outbox>) -> Arc<Channel>,
    ) -> Result<(Arc<Channel>, Arc<Notify>, String), String> {
        let unnamed = |why: std::io::Error| format!("the system gives no random bytes ({why})");
        let own = own_name().map_err(unnamed)?;
        let token = random::hex(&random::bytes::<16>().map_err(unnamed)?);
        let bell = Arc::new(Notify::new());
        let ring = bell.clone();
        let outbox = Outbox::with_limits(Limits::JOINED, Box::new(move || ring.notify_one()));
        let channel = make(self.next.fetch_add(1, Ordering::Relaxed), &own, outbox);
        channel.note_about(About {
            road: road.name.clone(),
            since: jiff::Timestamp::now(),
            shows_plans: said.shows_plans,
        });
        Ok((channel, bell, token))
    }
}

/// Waits until a client whose connection broke has been away for too long, or its process has ended.
async fn gone(process: Option<u32>) {
    let ended = async {
        while process.is_none_or(|process| state_of(process).is_some()) {
            tokio::time::sleep(LOOK).await;
        }
    };
    // Late is gone, too.
    let _ = tokio::time::timeout(AWAY, ended).await;
}

/// What is said to a client of a message that no frame holds.
const UNSENT: &str = "a message for this client is too long to be sent; connect anew, and ask for less at once";

/// How a connection ends.
enum End {
    /// It broke, and its client may come back.
    Broken,
    /// Its client is gone.
    Gone,
    /// What came by it cannot be read, or what is to go by it cannot be sent: why.
    Refused(String),
    /// The user sends its client away: why.
    Dismissed(&'static str),
}

/// Hands on what a client says until its connection ends, or cannot be read any more. Who is asked for a sign of life
/// and says nothing is gone.
async fn hear(
    incoming: &mut Incoming<impl AsyncRead + Unpin>,
    (line, hold): (&Line, &Hold),
    inbox: &mpsc::UnboundedSender<Event>,
    pinged: bool,
) -> End {
    let channel = &line.channel;
    let mut asked = 0;
    loop {
        let next = match pinged {
            false => incoming.next().await,
            true => match tokio::time::timeout(QUIET, incoming.next()).await {
                Ok(next) => next,
                Err(_) if asked == PINGS => return End::Broken,
                Err(_) => {
                    asked += 1;
                    channel.outbox.send("event", None, Plist::new().keyword("action", pulse::PING));
                    continue;
                }
            },
        };
        asked = 0;
        let text = match next {
            Ok(Some(text)) => text,
            Ok(None) | Err(Broken::System(_) | Broken::Half) => return End::Broken,
            Err(Broken::Frame(error)) => return End::Refused(error.to_string()),
        };
        let mut letter = Letter::read(&text);
        let number = letter.message.as_ref().ok().and_then(|message| line.number_of(message));
        match &letter.message {
            Err(why) => return End::Refused(why.clone()),
            Ok(message) if pulse::leaves(message) => return End::Gone,
            Ok(message) if message.name_at("type") == Some("request") => {
                let seat = channel.seats.clone().acquire_owned();
                letter.seat = while_it_waits(seat, channel, inbox).await.ok();
            }
            Ok(_) => {}
        }
        while_it_waits(channel.make_room(letter.bytes), channel, inbox).await;
        let bytes = letter.bytes;
        match line.hand_on(hold, number, || inbox.send(Event::Message(channel.id, letter))) {
            Some(Ok(())) => {}
            Some(Err(_)) => return End::Gone,
            None => channel.note_left_out(bytes),
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

/// Writes what waits for a client, until it takes nothing any more, or cannot be told what comes next.
async fn speak(outgoing: &mut Outgoing<impl AsyncWrite + Unpin>, lines: &Lines, (line, hold): (&Line, &Hold)) -> End {
    loop {
        let Some(texts) = lines.next(line, hold, PIECE) else {
            // It may have rung for the connection that holds it by now, and rings for one at a time.
            line.bell.notify_one();
            return End::Broken;
        };
        if texts.is_empty() {
            line.bell.notified().await;
            continue;
        }
        // All that waits goes at once.
        match tokio::time::timeout(STALLED, outgoing.write(&texts)).await {
            Ok(Ok(())) => {}
            // The outbox lets none through; were one left out all the same, its client would never know.
            Ok(Err(Broken::Frame(_))) => return End::Refused(UNSENT.to_string()),
            Ok(Err(Broken::System(_) | Broken::Half)) | Err(_) => return End::Broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sexp::plist::message;
    use crate::domain::sexp::reader::{MAX_BYTES, Sexp};
    use crate::edge::wire::number::LONGER;
    use futures_util::FutureExt;
    use tokio::io::{AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
    use tokio::time::Instant;

    /// A client at the other end of a connection by the network, and what the loop of the core would hear of it.
    struct There {
        incoming: Incoming<ReadHalf<DuplexStream>>,
        writer: WriteHalf<DuplexStream>,
        serving: tokio::task::JoinHandle<()>,
        welcome: Sexp,
        begun: Instant,
    }

    /// A core without a loop.
    struct Hall {
        door: Arc<Door>,
        events: mpsc::UnboundedReceiver<Event>,
    }

    fn hall() -> Hall {
        let (inbox, events) = mpsc::unbounded_channel();
        Hall { door: Door::new(inbox), events }
    }

    impl Hall {
        /// Begins to let a client in; the connection holds so many bytes that nobody took yet.
        fn begin(&self, said: Said, holds: usize) -> (DuplexStream, tokio::task::JoinHandle<()>) {
            let (ours, theirs) = tokio::io::duplex(holds);
            let (reader, writer) = tokio::io::split(ours);
            let door = self.door.clone();
            let (name, seats) = ("the network".to_string(), Arc::new(Semaphore::new(1)));
            let road = Road { name, pinged: true, process: None, held: None, seats };
            let serving = tokio::spawn(async move {
                let make = |id, own: &str, outbox| Channel::client(id, own, None, outbox);
                door.serve((Incoming::new(reader), Outgoing::new(writer)), &said, road, make).await;
            });
            (theirs, serving)
        }

        /// Lets a client in, as [`Hall::begin`] does.
        async fn let_in(&self, said: Said, holds: usize) -> There {
            let begun = Instant::now();
            let (theirs, serving) = self.begin(said, holds);
            let (reader, writer) = tokio::io::split(theirs);
            let mut incoming = Incoming::new(reader);
            let welcome = incoming.next().await.expect("frames").expect("it is let in");
            There { incoming, writer, serving, welcome: Sexp::read(&welcome).expect("a message"), begun }
        }

        /// Returns what the loop heard: who came, who left and which messages.
        fn heard(&mut self) -> Vec<&'static str> {
            let mut heard = Vec::new();
            while let Ok(event) = self.events.try_recv() {
                heard.push(match event {
                    Event::Joined(_) => "joined",
                    Event::Left(_) => "left",
                    Event::Message(..) => "a message",
                    _ => "something else",
                });
            }
            heard
        }
    }

    impl There {
        /// Returns at which seconds it was asked for a sign of life, until the connection ended, and at which it did.
        async fn asked(&mut self) -> (Vec<u64>, u64) {
            let mut asked = Vec::new();
            while let Ok(Some(text)) = self.incoming.next().await {
                assert_eq!(text, pulse::ping());
                asked.push(self.begun.elapsed().as_secs());
            }
            (asked, self.begun.elapsed().as_secs())
        }

        async fn say(&mut self, bytes: &[u8]) {
            self.writer.write_all(bytes).await.expect("it is taken");
        }

        /// Returns what it says when it comes back and has seen messages up to a number.
        fn resuming(&self, seen: u64) -> Said {
            let payload = self.welcome.get("payload").expect("a payload");
            let token = payload.text_at("resume").expect("a token").to_string();
            Said { resume: Some((token, seen)), ..numbered() }
        }

        /// Returns whether it goes on where it was.
        fn resumed(&self) -> bool {
            self.welcome.get("payload").is_some_and(|payload| payload.flag_at("resumed"))
        }
    }

    fn alive() -> Vec<u8> {
        crate::edge::wire::frame::encode("(:type :event :payload (:action :alive))").expect("it is short")
    }

    fn numbered() -> Said {
        Said { numbered: true, ..Said::plain(As::Client) }
    }

    /// Whoever knows its token may come back with it, and what it says then comes behind that it has joined.
    #[tokio::test(start_paused = true)]
    async fn a_client_has_joined_before_it_can_know_its_token() {
        let mut hall = hall();
        // The beginning of the welcome is written, and the rest when that is taken.
        let (theirs, serving) = hall.begin(numbered(), 16);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(hall.heard(), ["joined"]);
        drop(theirs);
        assert!(serving.await.is_ok());
        assert_eq!(hall.heard(), ["left"]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_answers_no_ping_is_gone_after_ninety_seconds() {
        let mut hall = hall();
        let mut there = hall.let_in(Said::plain(As::Client), 1 << 16).await;
        assert_eq!(there.asked().await, (vec![30, 60], 90));
        assert!((&mut there.serving).await.is_ok());
        assert_eq!(hall.heard(), ["joined", "left"]);
        // What is no whole message is no sign of life, however often some of it comes.
        let mut there = hall.let_in(Said::plain(As::Client), 1 << 16).await;
        let bytes = alive();
        let drip = async {
            for byte in bytes.iter().take(8) {
                tokio::time::sleep(Duration::from_secs(10)).await;
                there.writer.write_all(std::slice::from_ref(byte)).await.expect("it is taken");
            }
        };
        let ended = async {
            let serving = (&mut there.serving).await;
            (serving.is_ok(), there.begun.elapsed().as_secs())
        };
        let ((), ended) = tokio::join!(drip, ended);
        assert_eq!(ended, (true, 90));
        assert_eq!(hall.heard(), ["joined", "left"]);
        // Who may come back learns then that it should, and is waited for.
        let mut there = hall.let_in(numbered(), 1 << 16).await;
        while let Ok(Some(_)) = there.incoming.next().await {}
        assert_eq!(there.begun.elapsed().as_secs(), 90);
        assert!(there.writer.write_all(&alive()).await.is_err(), "nobody would read it");
        assert_eq!(hall.heard(), ["joined"]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_answers_in_the_last_moment_is_never_gone() {
        let mut hall = hall();
        let mut there = hall.let_in(Said::plain(As::Client), 1 << 16).await;
        for round in 1..=20 {
            // Both pings have come, and the third is not waited for.
            tokio::time::sleep(Duration::from_millis(89_900)).await;
            for _ in 0..2 {
                let text = there.incoming.next().await.expect("frames").expect("it goes on");
                assert_eq!(text, pulse::ping(), "round {round}");
            }
            there.say(&alive()).await;
            while hall.heard().last() != Some(&"a message") {
                tokio::task::yield_now().await;
            }
        }
        assert!(!there.serving.is_finished());
        drop(there);
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_for_ninety_seconds_is_gone_though_it_says_that_it_lives() {
        let mut hall = hall();
        // What is said to it fits in no way into the connection.
        let mut there = hall.let_in(Said::plain(As::Client), 4_096).await;
        let Some(Event::Joined(channel)) = hall.events.recv().await else { panic!("it has joined") };
        channel.outbox.send("log", None, Plist::new().text("text", "x".repeat(10_000)));
        let bytes = alive();
        let speaking = async {
            loop {
                tokio::time::sleep(Duration::from_secs(10)).await;
                if there.writer.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        };
        let ended = async {
            let serving = (&mut there.serving).await;
            (serving.is_ok(), there.begun.elapsed().as_secs())
        };
        let ended = tokio::select! {
            () = speaking => panic!("it ended"),
            ended = ended => ended,
        };
        assert_eq!(ended, (true, STALLED.as_secs()));
        assert!(hall.heard().ends_with(&["left"]));
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_slowly_can_read_why_its_connection_ends() {
        for (dismissed, why) in [(false, "no hexadecimal digit"), (true, "ended this connection")] {
            let mut hall = hall();
            let mut there = hall.let_in(Said::plain(As::Client), 4_096).await;
            let Some(Event::Joined(channel)) = hall.events.recv().await else { panic!("it has joined") };
            channel.outbox.send("log", None, Plist::new().text("text", "x".repeat(10_000)));
            // The beginning of that is written then, and the rest when it is taken.
            tokio::time::sleep(Duration::from_secs(1)).await;
            match dismissed {
                true => channel.dismiss(),
                false => there.say(b"zzzzzz").await,
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            let mut heard = Vec::new();
            while let Some(text) = there.incoming.next().await.expect("whole frames") {
                heard.push(Sexp::read(&text).expect("a message"));
            }
            let [log, last] = heard.as_slice() else { panic!("{heard:?}") };
            assert_eq!(log.name_at("type"), Some("log"));
            let last = last.get("payload").expect("a payload");
            assert_eq!((last.name_at("action"), last.flag_at("dismissed")), (Some("protocol-error"), dismissed));
            assert!(last.text_at("text").is_some_and(|text| text.contains(why)), "{last}");
        }
    }

    /// With its number a message is longer than it was when it was put in.
    #[tokio::test(start_paused = true)]
    async fn what_is_nearly_as_long_as_a_frame_arrives_with_its_number() {
        for (short_of, whole) in [(0, false), (1, false), (30, false), (LONGER - 1, false), (LONGER, true)] {
            let mut hall = hall();
            let mut there = hall.let_in(numbered(), 8 << 20).await;
            let Some(Event::Joined(channel)) = hall.events.recv().await else { panic!("it has joined") };
            let answer = |size: usize| Plist::new().int("request", 7).text("turns", "x".repeat(size));
            let around = message("response", answer(0)).build().to_string().len();
            channel.outbox.send("response", None, answer(MAX_BYTES - around - short_of));
            let heard = there.incoming.next().await.expect("frames").expect("it goes on");
            let heard = Sexp::read(&heard).expect("a message");
            let number = heard.get("meta").and_then(|meta| meta.int_at("number"));
            let payload = heard.get("payload").expect("a payload");
            let told = (number, payload.int_at("request"), payload.text_at("error").is_none());
            assert_eq!(told, (Some(1), Some(7), whole), "{short_of} bytes less");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_numbered_may_come_back_for_ninety_seconds_more() {
        let mut hall = hall();
        let first = hall.let_in(numbered(), 1 << 16).await;
        let said = first.resuming(0);
        drop((first.incoming, first.writer));
        tokio::time::sleep(AWAY - Duration::from_secs(1)).await;
        // Messages that were said to nobody meanwhile are said now.
        let Some(Event::Joined(channel)) = hall.events.recv().await else { panic!("it has joined") };
        channel.outbox.send("log", None, Plist::new().text("text", "meanwhile"));
        let mut again = hall.let_in(said, 1 << 16).await;
        assert!(again.resumed(), "{}", again.welcome);
        let heard = again.incoming.next().await.expect("frames").expect("it goes on");
        assert!(heard.contains(":number 1") && heard.contains("meanwhile"), "{heard}");
        assert!((first.serving).await.is_ok(), "the older connection is no longer waited for");
        assert_eq!(hall.heard(), Vec::<&str>::new(), "it has neither left nor come");

        let said = again.resuming(1);
        drop((again.incoming, again.writer));
        tokio::time::sleep(AWAY + Duration::from_secs(1)).await;
        assert_eq!(hall.heard(), ["left"]);
        assert!(again.serving.is_finished());
        let late = hall.let_in(said, 1 << 16).await;
        assert!(!late.resumed(), "{}", late.welcome);
    }

    /// An older connection that does not know yet that another one has taken its line is woken as if it had it still.
    #[tokio::test(start_paused = true)]
    async fn what_comes_while_two_connections_wait_goes_by_the_newer_one() {
        let (lines, bell) = (Lines::default(), Arc::new(Notify::new()));
        let ring = bell.clone();
        let outbox = Outbox::with_limits(Limits::JOINED, Box::new(move || ring.notify_one()));
        let channel = Channel::client(1, "ab", None, outbox);
        let seats = Arc::new(Semaphore::new(1));
        let road = Road { name: String::new(), pinged: true, process: None, held: None, seats };
        let (seat, _) = lines.seat(None, &road, &channel).expect("there is one");
        let (line, older) = lines.begin((channel.clone(), bell), Some("token".to_string()), &road, seat);
        let (first, _there) = tokio::io::duplex(1 << 16);
        let (second, there) = tokio::io::duplex(1 << 16);
        let (mut first, mut second) = (Outgoing::new(first), Outgoing::new(second));
        let mut by_older = std::pin::pin!(speak(&mut first, &lines, (&line, &older)));
        assert!(by_older.as_mut().now_or_never().is_none(), "it waits");
        let (_, newer) = lines.take_up(("token", 0), &road, &channel).expect("it is there");
        let mut by_newer = std::pin::pin!(speak(&mut second, &lines, (&line, &newer)));
        assert!(by_newer.as_mut().now_or_never().is_none(), "so does it");
        channel.outbox.send("log", None, Plist::new().text("text", "news"));
        assert!(matches!(by_older.as_mut().now_or_never(), Some(End::Broken)));
        assert!(by_newer.as_mut().now_or_never().is_none());
        let heard = Incoming::new(there).next().now_or_never().expect("it was written");
        assert!(heard.expect("frames").is_some_and(|heard| heard.contains("news")));
    }

    /// A client that reads slowly has not read what lies in the system's buffers when its connection breaks.
    #[tokio::test(start_paused = true)]
    async fn what_lay_in_the_buffers_of_a_broken_connection_is_said_again() {
        for (count, size) in [(96, 64 * 1024), (20_000, 100)] {
            let mut hall = hall();
            let first = hall.let_in(numbered(), 7 << 20).await;
            let Some(Event::Joined(channel)) = hall.events.recv().await else { panic!("it has joined") };
            for _ in 0..count {
                channel.outbox.send("log", None, Plist::new().text("text", "x".repeat(size)));
            }
            // Then all of it is written.
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(channel.outbox.bytes(), 0);
            let said = first.resuming(0);
            drop((first.incoming, first.writer));
            let mut again = hall.let_in(said, 1 << 16).await;
            assert!(again.resumed(), "{count} of {size} bytes: {}", again.welcome);
            for number in 1..=count {
                let heard = again.incoming.next().await.expect("frames").expect("it goes on");
                assert!(heard.contains(&format!(":number {number})")), "{:?}", heard.get(..100));
            }
        }
    }
}
