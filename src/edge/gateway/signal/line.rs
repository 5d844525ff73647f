//! A connection to a signal-cli daemon: lines of JSON-RPC both ways, over a Unix socket or a port of this machine.
//!
//! Whoever answers there must be of this user, or root: another user's program could pass itself off as signal-cli, and
//! name any sender it likes.

use crate::edge::gateway::Trouble;
use crate::edge::gateway::signal::envelope::{Brought, brought};
use crate::edge::peers::trust::{Peer, own_user};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Mutex, Notify, oneshot};

/// The longest line that is read, in bytes; the longest text of Signal is far shorter.
const LONGEST: usize = 1 << 20;
/// So many bytes of what came may wait to be taken, and so many of one sender: anybody may write.
const MOST: usize = 4 << 20;
const MOST_OF_ONE: usize = 1 << 20;
/// How long a connection, and the writing of one line, may take.
const SOON: Duration = Duration::from_secs(10);

/// What is said when it ended.
pub(super) const BROKE: Trouble = Trouble::Passing("the connection to signal-cli broke");
const SILENT: Trouble = Trouble::Passing("signal-cli did not answer in time");
const NOWHERE: Trouble = Trouble::Passing("signal-cli cannot be reached; start its daemon");
const FOREIGN: Trouble =
    Trouble::Passing("a program of another user answers in the place of signal-cli; nothing is taken from it");

/// Where a daemon listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// A Unix socket.
    Socket(PathBuf),
    /// A port of this machine.
    Port(SocketAddr),
}

impl Address {
    /// Reads an address as it is set.
    pub(super) fn parse(text: &str) -> Result<Address, String> {
        if text.starts_with('/') {
            return Ok(Address::Socket(PathBuf::from(text)));
        }
        let here = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        match here.as_deref().unwrap_or(text).parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Address::Port(address)),
            Ok(_) => {
                Err("SIGNAL_CLI_ADDRESS is of another machine; signal-cli must run on this one, as what it sends \
                          is not encrypted on its way"
                    .to_string())
            }
            Err(_) => Err("SIGNAL_CLI_ADDRESS is no address; it is the whole name of a socket, or like \
                           localhost:7583"
                .to_string()),
        }
    }
}

/// Who waits for which answer; nobody does when the connection is over.
type Waiting = Arc<parking_lot::Mutex<Option<HashMap<u64, oneshot::Sender<Value>>>>>;

/// What came and was not taken yet, in order. What has no room is lost, and that is known.
#[derive(Default)]
pub(super) struct Held {
    brought: VecDeque<Brought>,
    bytes: usize,
    lost: bool,
}

impl Held {
    fn keep(&mut self, brought: Brought) {
        let size = brought.size();
        let of_one: usize = self.brought.iter().filter(|one| one.sender() == brought.sender()).map(Brought::size).sum();
        if self.bytes + size > MOST || of_one + size > MOST_OF_ONE {
            self.lost = true;
            return;
        }
        self.bytes += size;
        self.brought.push_back(brought);
    }

    /// Takes the first.
    pub(super) fn take(&mut self) -> Option<Brought> {
        let first = self.brought.pop_front()?;
        self.bytes -= first.size();
        Some(first)
    }

    /// Returns whether something was lost since this was asked last.
    pub(super) fn take_lost(&mut self) -> bool {
        std::mem::take(&mut self.lost)
    }

    /// Puts what came later behind.
    pub(super) fn append(&mut self, later: Held) {
        self.lost |= later.lost;
        later.brought.into_iter().for_each(|brought| self.keep(brought));
    }
}

/// What a connection brought. Its reader never waits for who takes it: an answer may stand behind.
#[derive(Default)]
struct Came {
    held: parking_lot::Mutex<Held>,
    /// There is more, or the end.
    news: Notify,
}

/// A connection. It ends with its value.
pub(super) struct Line {
    write: Mutex<Box<dyn AsyncWrite + Send + Unpin>>,
    waiting: Waiting,
    next: AtomicU64,
    came: Arc<Came>,
    close: Arc<Notify>,
    /// Both ends, where who is there is found out by them.
    ends: Option<(SocketAddr, SocketAddr)>,
    trusted: AtomicBool,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.close.notify_one();
    }
}

impl Line {
    /// Connects. Of whoever takes a port it is found out later who it is: see [`Line::check`].
    pub(super) async fn open(address: &Address) -> Result<Line, Trouble> {
        match address {
            Address::Socket(path) => {
                let found = tokio::time::timeout(SOON, UnixStream::connect(path)).await.map_err(|_| NOWHERE)?;
                let stream = found.map_err(|_| NOWHERE)?;
                let peer = Peer::of(&stream).map_err(|_| FOREIGN)?;
                let (read, write) = stream.into_split();
                if is_trusted(peer.user) { Ok(Line::over(read, write, None)) } else { Err(FOREIGN) }
            }
            Address::Port(address) => {
                let found = tokio::time::timeout(SOON, TcpStream::connect(address)).await.map_err(|_| NOWHERE)?;
                let stream = found.map_err(|_| NOWHERE)?;
                let ends = stream.local_addr().and_then(|ours| Ok((ours, stream.peer_addr()?))).map_err(|_| BROKE)?;
                // Where nobody listens, a connection may meet itself.
                if ends.0 == ends.1 {
                    return Err(NOWHERE);
                }
                let (read, write) = stream.into_split();
                Ok(Line::over(read, write, Some(ends)))
            }
        }
    }

    fn over(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
        ends: Option<(SocketAddr, SocketAddr)>,
    ) -> Line {
        let waiting: Waiting = Arc::new(parking_lot::Mutex::new(Some(HashMap::new())));
        let (came, close) = (Arc::<Came>::default(), Arc::new(Notify::new()));
        let (listening, closed) = (listen(BufReader::new(read), waiting.clone(), came.clone()), close.clone());
        let (told, ended) = (waiting.clone(), came.clone());
        tokio::spawn(async move {
            tokio::select! { () = listening => {}, () = closed.notified() => {} }
            *told.lock() = None;
            ended.news.notify_one();
        });
        Line {
            write: Mutex::new(Box::new(write)),
            waiting,
            next: AtomicU64::new(1),
            came,
            close,
            ends,
            trusted: AtomicBool::new(ends.is_none()),
        }
    }

    /// Makes sure that the other end is trusted. It must have answered before: of a connection that nobody took yet the
    /// system's table has no user.
    pub(super) async fn check(&self) -> Result<(), Trouble> {
        let trusted = match self.ends {
            None => true,
            Some(ends) => owner(ends).await.is_some_and(is_trusted),
        };
        self.trusted.store(trusted, Ordering::Relaxed);
        if trusted { Ok(()) } else { Err(FOREIGN) }
    }

    /// Returns whether it is known that the other end is trusted.
    pub(super) fn is_trusted(&self) -> bool {
        self.trusted.load(Ordering::Relaxed)
    }

    /// Returns whether it still holds.
    pub(super) fn is_open(&self) -> bool {
        self.waiting.lock().is_some()
    }

    /// Waits for a message; `None` when it is over and there are no more.
    pub(super) async fn came(&self) -> Option<Brought> {
        loop {
            // In this order: what comes before the end is found.
            let is_open = self.is_open();
            if let Some(brought) = self.came_already() {
                return Some(brought);
            }
            if !is_open {
                return None;
            }
            self.came.news.notified().await;
        }
    }

    /// Returns a message that is there already.
    pub(super) fn came_already(&self) -> Option<Brought> {
        self.came.held.lock().take()
    }

    /// Takes all that is there.
    pub(super) fn rest(&self) -> Held {
        std::mem::take(&mut *self.came.held.lock())
    }

    /// Returns whether more came than can wait, since this was asked last.
    pub(super) fn take_lost(&self) -> bool {
        self.came.held.lock().take_lost()
    }

    /// Asks for something; what is answered is the result, or the error of the daemon.
    pub(super) async fn ask(
        &self,
        method: &str,
        params: Value,
        longest: Duration,
    ) -> Result<Result<Value, Value>, Trouble> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (tell, told) = oneshot::channel();
        match self.waiting.lock().as_mut() {
            Some(waiting) => waiting.insert(id, tell),
            None => return Err(BROKE),
        };
        let line = format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut write = self.write.lock().await;
        let written = tokio::time::timeout(SOON, write.write_all(line.as_bytes())).await;
        drop(write);
        if !matches!(written, Ok(Ok(()))) {
            // Half a line may be on its way: nothing more can be said by this connection.
            self.close.notify_one();
            return Err(BROKE);
        }
        let Ok(answer) = tokio::time::timeout(longest, told).await else {
            if let Some(waiting) = self.waiting.lock().as_mut() {
                waiting.remove(&id);
            }
            return Err(SILENT);
        };
        let mut answer = answer.map_err(|_| BROKE)?;
        match answer.get_mut("error").filter(|error| !error.is_null()) {
            Some(error) => Ok(Err(error.take())),
            None => Ok(Ok(answer["result"].take())),
        }
    }
}

/// Reads lines until there are no more. What is no answer that somebody waits for and no notification is nothing.
async fn listen(mut from: impl AsyncBufRead + Unpin, waiting: Waiting, came: Arc<Came>) {
    let mut line = Vec::new();
    while let Ok(true) = next(&mut from, &mut line).await {
        let Ok(said) = serde_json::from_slice::<Value>(&line) else { continue };
        if said["method"] == "receive" {
            if let Some(brought) = brought(&said["params"]) {
                came.held.lock().keep(brought);
                came.news.notify_one();
            }
        } else if let Some(id) = said["id"].as_u64() {
            let tell = waiting.lock().as_mut().and_then(|waiting| waiting.remove(&id));
            // Who waited may have gone.
            if let Some(tell) = tell {
                let _ = tell.send(said);
            }
        }
    }
}

/// Reads a line. Of one that is too long nothing is kept, and a last one without its end is none.
async fn next(from: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    let mut whole = true;
    loop {
        let found = from.fill_buf().await?;
        if found.is_empty() {
            return Ok(false);
        }
        let end = memchr::memchr(b'\n', found);
        let taken = end.map_or(found.len(), |end| end + 1);
        whole = whole && line.len() + taken <= LONGEST;
        match whole {
            true => line.extend_from_slice(&found[..taken]),
            false => *line = Vec::new(),
        }
        from.consume(taken);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// Returns whether a user may be where signal-cli is thought to be: ours, or who can do everything anyway.
fn is_trusted(user: u32) -> bool {
    user == own_user() || user == 0
}

/// Returns the user at the other end of a connection within this machine; `None` when the system does not say.
async fn owner(ends: (SocketAddr, SocketAddr)) -> Option<u32> {
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        let table = tokio::fs::read_to_string(table).await.unwrap_or_default();
        if let Some(user) = owner_in(&table, ends) {
            return Some(user);
        }
    }
    None
}

/// Returns the user of the other end, as a table of connections has it.
fn owner_in(table: &str, (ours, theirs): (SocketAddr, SocketAddr)) -> Option<u32> {
    let same = |text: &str, address: SocketAddr| {
        address_of(text).is_some_and(|(ip, port)| (ip, port) == (address.ip().to_canonical(), address.port()))
    };
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, local, remote, state, _, _, _, user, ..] = fields.as_slice() else { return None };
        let it_is = *state == "01" && same(local, theirs) && same(remote, ours);
        it_is.then(|| user.parse().ok()).flatten()
    })
}

/// Reads an address as the system writes it: words of four bytes in its own order, and a port.
fn address_of(text: &str) -> Option<(std::net::IpAddr, u16)> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let words: Option<Vec<[u8; 4]>> = host
        .as_bytes()
        .chunks(8)
        .map(|word| Some(u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?.to_ne_bytes()))
        .collect();
    let bytes = words?.concat();
    if let Ok(four) = <[u8; 4]>::try_from(bytes.as_slice()) {
        return Some((four.into(), port));
    }
    let sixteen = <[u8; 16]>::try_from(bytes.as_slice()).ok()?;
    Some((std::net::IpAddr::from(sixteen).to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_socket_and_a_port_of_this_machine_are_addresses() {
        let port = |text: &str| Address::Port(text.parse().expect("an address"));
        for (text, found) in [
            ("/run/user/1/signal-cli/socket", Some(Address::Socket("/run/user/1/signal-cli/socket".into()))),
            ("localhost:7583", Some(port("127.0.0.1:7583"))),
            ("127.0.0.1:7583", Some(port("127.0.0.1:7583"))),
            ("[::1]:7583", Some(port("[::1]:7583"))),
            ("192.168.0.2:7583", None),
            ("0.0.0.0:7583", None),
            ("[::]:7583", None),
            ("example.org:7583", None),
            ("localhost.example.org:7583", None),
            ("http://localhost:7583", None),
            ("localhost", None),
            ("socket", None),
            ("", None),
        ] {
            assert_eq!(Address::parse(text).ok(), found, "{text}");
        }
        let beyond = Address::parse("192.168.0.2:7583").expect_err("it is beyond");
        assert!(beyond.contains("must run on this one"), "{beyond}");
    }

    /// Lines of a reader of few bytes at once.
    async fn lines(text: &[u8], room: usize) -> Vec<usize> {
        let (mut from, mut line, mut found) = (BufReader::with_capacity(room, text), Vec::new(), Vec::new());
        while next(&mut from, &mut line).await.expect("it can be read") {
            found.push(line.len());
        }
        found
    }

    #[tokio::test]
    async fn a_long_line_is_passed_over_and_half_a_line_is_none() {
        for room in [1, 7, 1 << 13] {
            assert_eq!(lines(b"", room).await, [0; 0]);
            assert_eq!(lines(b"ab\n\nc\nhalf", room).await, [3, 1, 2]);
        }
        let mut long = vec![b'x'; LONGEST];
        long.extend(b"\nab\n");
        assert_eq!(lines(&long, 1 << 13).await, [0, 3]);
    }

    fn notification(sender: u32, stamp: usize, text: &str) -> String {
        let data = json!({ "timestamp": stamp, "message": text });
        let sender = format!("{sender:08x}-0000-4000-8000-000000000000");
        let params = json!({ "account": "+1", "envelope": { "sourceUuid": sender, "dataMessage": data } });
        format!("{}\n", json!({ "jsonrpc": "2.0", "method": "receive", "params": params }))
    }

    #[tokio::test]
    async fn an_answer_never_waits_behind_what_came() {
        let (ours, theirs) = tokio::io::duplex(64);
        let (read, write) = tokio::io::split(ours);
        let line = Line::over(read, write, None);
        let daemon = tokio::spawn(async move {
            let (read, mut write) = tokio::io::split(theirs);
            let mut asked = String::new();
            BufReader::new(read).read_line(&mut asked).await.expect("it is asked");
            for stamp in 1..=1_000 {
                write.write_all(notification(7, stamp, "hello").as_bytes()).await.expect("it is read");
            }
            write.write_all(b"{\"id\":1,\"result\":7}\n").await.expect("it is read");
        });
        let answer = line.ask("send", json!({}), SOON).await;
        assert_eq!(answer, Ok(Ok(json!(7))), "nobody took what came before it");
        daemon.await.expect("it ends");
        let mut stamps = 0;
        while let Some(brought) = line.came().await {
            stamps += 1;
            let name = stamps.to_string();
            let mark = brought.to(None).expect("it is a message").mark;
            assert!(
                matches!(&mark, crate::domain::gateway::Mark::Name { name: found, .. } if *found == name),
                "{mark:?}"
            );
        }
        assert_eq!((stamps, line.take_lost()), (1_000, false));
    }

    #[test]
    fn what_may_wait_is_bounded_and_one_sender_takes_no_room_of_another() {
        let long = "x".repeat(32 << 10);
        let one = |sender: u32| {
            let said: Value = serde_json::from_str(&notification(sender, 1, &long)).expect("JSON");
            brought(&said["params"]).expect("it is a message")
        };
        let mut held = Held::default();
        (0..1_000).for_each(|_| held.keep(one(1)));
        assert!(held.bytes <= MOST_OF_ONE && held.take_lost() && !held.take_lost());
        let before = held.brought.len();
        held.keep(one(2));
        assert_eq!((held.brought.len(), held.take_lost()), (before + 1, false), "there is room for another");
        (3..1_000).for_each(|sender| held.keep(one(sender)));
        assert!(held.bytes <= MOST && held.take_lost());
        while held.take().is_some() {}
        assert_eq!(held.bytes, 0);
    }

    #[test]
    fn the_users_of_connections_are_read_from_the_systems_table() {
        let word = |text: &str| {
            let bytes = text.parse::<std::net::Ipv4Addr>().expect("an address").octets();
            format!("{:08X}", u32::from_ne_bytes(bytes))
        };
        let (here, mapped) = (word("127.0.0.1"), format!("{:08X}", u32::from_ne_bytes([0, 0, 0xff, 0xff])));
        let row = |local: &str, remote: &str, state: &str, user: u32| {
            format!("  1: {local} {remote} {state} 00000000:00000000 00:00000000 00000000  {user}        0 5 1\n")
        };
        let (server, client) = (format!("{here}:1D9F"), format!("{here}:C350"));
        let (server6, client6) =
            (format!("0000000000000000{mapped}{server}"), format!("0000000000000000{mapped}{client}"));
        let ends = ("127.0.0.1:50000".parse().expect("an address"), "127.0.0.1:7583".parse().expect("an address"));
        for (table, user) in [
            (row(&server, &client, "01", 1001), Some(1001)),
            (row(&server6, &client6, "01", 1001), Some(1001)),
            // Our own end, who only listens, who is about to go, another connection, no table.
            (row(&client, &server, "01", 1001), None),
            (row(&server, "00000000:0000", "0A", 1001), None),
            (row(&server, &client, "06", 0), None),
            (row(&server, &format!("{here}:C351"), "01", 1001), None),
            ("  sl  local_address rem_address   st\nx\n1: a:b c:d 01 e f g h\n".to_string(), None),
        ] {
            assert_eq!(owner_in(&table, ends), user, "{table}");
        }
    }
}
