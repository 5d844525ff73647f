//! Ten thousand connections that say nothing or nonsense: they take neither the memory nor the answers of others.

use crate::cli::program;
use crate::daemon::Daemon;
use crate::network::Program;
use crate::peers::Raw;
use crate::runtime::TILES;
use crate::support::engine::Home;
use crate::support::skip::skipped;
use crate::support::soak::{asked, survived};
use std::collections::VecDeque;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Connections in all, in an ordinary run.
const CONNECTS: usize = 10_000;
/// So many come from each side at once.
const SIDES: usize = 4;
/// So many of its connections a side keeps open.
const HELD: usize = 60;
/// So many connections are held before the greeting is done, and some descriptors more come and go by themselves.
const MOST: usize = 256 + 32;
/// So much more memory the core may take: what 128 greetings hold, and what an allocator does not give back.
const ROOM: usize = 96 << 20;
/// Nobody waits so long for an answer, even where all processors are busy.
const SLOWEST: Duration = Duration::from_secs(10);

/// How often it is looked what the core holds.
const SAMPLE: Duration = Duration::from_millis(2);

/// What one side says, one after the other.
const WORDS: [&[u8]; 6] = [
    b"",
    b"GET / HTTP/1.1\r\nHost: box\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"",
    b"3fffff(",
    b"\0",
];

/// Files that a process has open, and bytes of memory that it has.
pub(crate) fn held(process: u32) -> (usize, usize) {
    let at = Path::new("/proc").join(process.to_string());
    let files = std::fs::read_dir(at.join("fd")).expect("it runs").count();
    let status = std::fs::read_to_string(at.join("status")).expect("it runs");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux says it");
    let kilobytes: usize = resident.trim().trim_end_matches(" kB").parse().expect("a number");
    (files, kilobytes << 10)
}

/// Connects again and again, and returns how often that went well.
fn side(at: SocketAddr, count: usize) -> usize {
    let mut open = VecDeque::new();
    let mut made = 0;
    for number in 0..count {
        let Ok(mut stream) = TcpStream::connect(at) else { continue };
        made += 1;
        // It may be closed already.
        let _ = stream.write_all(WORDS[number % WORDS.len()]);
        open.push_back(stream);
        if open.len() > HELD {
            open.pop_front();
        }
    }
    made
}

/// Joins by the socket, and asks until it is told to stop; returns how long each answer took.
fn asks(store: &Path, stop: &AtomicBool) -> Vec<Duration> {
    let mut raw = Raw::connect(store);
    raw.next().expect("it greets");
    raw.say("(:type :event :payload (:action :handshake :protocol 2 :version \"1\" :as :client))");
    raw.next().expect("it is let in");
    let mut times = Vec::new();
    while !stop.load(Ordering::Relaxed) || times.is_empty() {
        let (begun, number) = (Instant::now(), times.len() + 1);
        raw.say(&format!("(:type :request :payload (:action :health-check :request {number}))"));
        let mine = format!(":request {number}");
        while !raw.next().expect("the connection goes on").contains(&mine) {}
        times.push(begun.elapsed());
    }
    times
}

fn flooded(address: &str) {
    let count = asked("CONNECTS").unwrap_or(CONNECTS);
    let home = Home::new(&[("home.org", TILES)]);
    let mut command = program(&home);
    command.args(["daemon", "--log-private"]).env("PASSEPARTOUT_LISTEN", address);
    let mut daemon = Daemon::start(command);
    let words = "programs can connect to ";
    let line = daemon.wait(words);
    let at = line.split(words).nth(1).and_then(|rest| rest.split(' ').next()?.parse::<SocketAddr>().ok());
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, at.expect("it says where").port()));
    let (process, store) = (daemon.child.id(), home.store());
    // What one client costs by itself is there before.
    asks(&store, &AtomicBool::new(true));
    let (files, memory) = held(process);
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let (made, times, most) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| asks(&store, &stop));
        let sides: Vec<_> = (0..SIDES).map(|_| scope.spawn(|| side(at, count / SIDES))).collect();
        let mut most = (files, memory);
        while !sides.iter().all(|side| side.is_finished()) {
            let now = held(process);
            most = (most.0.max(now.0), most.1.max(now.1));
            std::thread::park_timeout(SAMPLE);
        }
        let made: usize = sides.into_iter().map(|side| side.join().expect("it ends")).sum();
        stop.store(true, Ordering::Relaxed);
        (made, asking.join().expect("it is answered"), most)
    });
    let took = begun.elapsed();
    let slowest = times.iter().max().copied().unwrap_or_default();
    let (more, grown) = (most.0.saturating_sub(files), most.1.saturating_sub(memory));
    survived(format!(
        "{made} connects to {address} in {:.1} s that said nothing or nonsense: {} answers to another client, the slowest \
         in {} ms, at most {more} files and {} kB more",
        took.as_secs_f64(),
        times.len(),
        slowest.as_millis(),
        grown >> 10
    ));
    assert!(made > count / 2, "{made} of {count} were taken");
    assert!(more <= MOST, "{more} connections were held at once");
    assert!(grown <= ROOM, "{grown} bytes more");
    assert!(slowest < SLOWEST, "an answer took {slowest:?}");
    // They are let go, and who knows the cookie still comes in.
    let late = Instant::now();
    while held(process).0 > files + 8 {
        assert!(late.elapsed() < Duration::from_secs(60), "{} files are still open", held(process).0);
        std::thread::park_timeout(SAMPLE);
    }
    if address.starts_with("127.") {
        Program::join(&home, at, "");
    }
}

#[test]
fn ten_thousand_connections_that_say_nothing_or_nonsense_take_nothing_from_others() {
    if !Path::new("/proc/self/fd").exists() {
        return skipped("what a process holds is known on Linux alone");
    }
    flooded("127.0.0.1:0");
}

#[test]
fn ten_thousand_connections_that_greet_by_no_tls_take_nothing_from_others() {
    if !Path::new("/proc/self/fd").exists() {
        return skipped("what a process holds is known on Linux alone");
    }
    flooded(crate::beyond::address());
}
