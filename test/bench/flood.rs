//! What ten thousand connections a second that say nothing or nonsense take from a core and from its other clients.

use crate::report::row;
use passepartout::edge::wire::frame::{Frames, encode};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Connections in all.
const CONNECTS: usize = 10_000;
/// So many come from each side at once.
const SIDES: usize = 4;
/// So many of its connections a side keeps open.
const HELD: usize = 60;
/// How often another client asks before, to compare with.
const ASKED: usize = 500;

/// Prints the rows of both roads: with the cookie alone on this machine, and by TLS beyond it.
pub fn print() {
    println!("\n{CONNECTS} connections that say nothing or nonsense, and another client that asks meanwhile");
    for (road, address) in [("TCP", "127.0.0.1:0"), ("TLS", "[::ffff:127.0.0.1]:0")] {
        let base = tempfile::tempdir().unwrap();
        let (mut core, at) = core(base.path(), address);
        let store = base.path().join("state/passepartout");
        let before = asks(&store, &AtomicBool::new(true), ASKED);
        let memory = resident(core.id());
        let stop = AtomicBool::new(false);
        let begun = Instant::now();
        let (during, took, most) = std::thread::scope(|scope| {
            let asking = scope.spawn(|| asks(&store, &stop, 1));
            let sides: Vec<_> = (0..SIDES).map(|number| scope.spawn(move || side(at, number))).collect();
            let mut most = memory;
            while !sides.iter().all(|side| side.is_finished()) {
                most = most.max(resident(core.id()));
                std::thread::park_timeout(Duration::from_millis(2));
            }
            let took = begun.elapsed();
            stop.store(true, Ordering::Relaxed);
            (asking.join().unwrap(), took, most)
        });
        let each = CONNECTS as f64 / took.as_secs_f64();
        row(&format!("connections by {road}"), "10,000 a second", &format!("{each:.0} a second"));
        let told = format!("{:.1} ms; {:.1} before", p99(during), p99(before));
        row(&format!("an answer to another client meanwhile, p99 ({road})"), "20 ms", &told);
        row(&format!("memory more ({road})"), "flat", &format!("{} kB", most.saturating_sub(memory) >> 10));
        core.kill().unwrap();
        core.wait().unwrap();
    }
}

/// Starts a core that listens there, and returns where it is reached.
pub fn core(base: &Path, address: &str) -> (Child, SocketAddr) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passepartout"));
    command.env_clear().env("PATH", "/usr/bin:/bin").env("PASSEPARTOUT_LISTEN", address);
    for (name, folder) in
        [("HOME", "home"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config"), ("XDG_CACHE_HOME", "cache")]
    {
        std::fs::create_dir_all(base.join(folder)).unwrap();
        command.env(name, base.join(folder));
    }
    std::fs::create_dir_all(base.join("memex")).unwrap();
    command.env("MEMEX_DIR", base.join("memex")).current_dir(base.join("home"));
    command.args(["daemon", "--log-private"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let words = "programs can connect to ";
    let line = lines.find(|line| line.contains(words)).expect("it says where it listens");
    std::thread::spawn(move || lines.for_each(drop));
    let at: SocketAddr = line.split(words).nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap();
    (child, SocketAddr::from((Ipv4Addr::LOCALHOST, at.port())))
}

fn side(at: SocketAddr, number: usize) {
    let words: [&[u8]; 4] =
        [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"3fffff("];
    let mut open = VecDeque::new();
    for turn in number..number + CONNECTS / SIDES {
        let Ok(mut stream) = TcpStream::connect(at) else { continue };
        // It may be closed already.
        let _ = stream.write_all(words[turn % words.len()]);
        open.push_back(stream);
        if open.len() > HELD {
            open.pop_front();
        }
    }
}

/// Joins by the socket and asks, at least so often, until it is told to stop; returns how long each answer took.
fn asks(store: &Path, stop: &AtomicBool, least: usize) -> Vec<Duration> {
    let mut stream = UnixStream::connect(store.join("socket")).unwrap();
    let (mut frames, mut piece) = (Frames::default(), [0; 4096]);
    let mut next = |stream: &mut UnixStream| loop {
        if let Some(text) = frames.take().unwrap() {
            break text;
        }
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "the connection ended");
        frames.push(&piece[..count]);
    };
    next(&mut stream);
    let hello = "(:type :event :payload (:action :handshake :protocol 2 :version \"1\" :as :client))";
    stream.write_all(&encode(hello).unwrap()).unwrap();
    next(&mut stream);
    let mut times = Vec::new();
    while times.len() < least || !stop.load(Ordering::Relaxed) {
        let (begun, number) = (Instant::now(), times.len() + 1);
        let asked = format!("(:type :request :payload (:action :health-check :request {number}))");
        stream.write_all(&encode(&asked).unwrap()).unwrap();
        while !next(&mut stream).contains(&format!(":request {number}")) {}
        times.push(begun.elapsed());
    }
    times
}

/// Returns the 99th of a hundred, in milliseconds.
pub fn p99(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() * 99 / 100].as_secs_f64() * 1e3
}

/// Returns how many bytes of memory a process has; 0 where the system does not say it as Linux does.
pub fn resident(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<usize>().map_or(0, |kilobytes| kilobytes << 10)
}
