//! Many messages and many greetings through one core: its memory stays as it was, and others are answered meanwhile.
//!
//! `MESSAGES` and `GREETINGS` say how many; an ordinary run has few of both.

use crate::beyond;
use crate::cli::program;
use crate::daemon::Daemon;
use crate::flood::held;
use crate::network::Program;
use crate::runtime::{TILES, payload_of};
use crate::support::engine::Home;
use crate::support::skip::skipped;
use crate::support::soak::{asked, survived};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

/// Messages that programs send, in an ordinary run; as many answers come.
const MESSAGES: usize = 20_000;
/// Whole greetings by TLS, in an ordinary run.
const GREETINGS: usize = 200;
/// So many come before anything is compared.
const BEFORE_GREETINGS: usize = 400;
/// So many come before anything is compared: what threads and their allocators take for themselves is there then.
const BEFORE: usize = 10_000;
/// So many programs send them.
const SENDERS: usize = 8;
/// So many questions of one are under way at once.
const AT_ONCE: usize = 16;
/// So much more memory the core may have behind all than behind the first: what an allocator keeps, and nothing that
/// grows with the number of messages: twenty bytes of each of a million would be more.
const ROOM: usize = 16 << 20;

fn listening(home: &Home, address: &str) -> (Daemon, SocketAddr) {
    let mut command = program(home);
    command.args(["daemon", "--log-private"]).env("PASSEPARTOUT_LISTEN", address);
    let mut daemon = Daemon::start(command);
    let words = "programs can connect to ";
    let line = daemon.wait(words);
    let at = line.split(words).nth(1).and_then(|rest| rest.split(' ').next()?.parse::<SocketAddr>().ok());
    (daemon, SocketAddr::from((Ipv4Addr::LOCALHOST, at.expect("it says where").port())))
}

/// Sends so many messages and takes as many answers: mostly short ones, some with headings in them.
fn sends(home: &Home, at: SocketAddr, count: usize) {
    let mut program = Program::join(home, at, "");
    let question = |number: usize| match number % 20 {
        0 => format!("(:type :request :payload (:action :query :query \"todo:TODO\" :request {number}))"),
        1 => format!("(:type :request :payload (:action :status :request {number}))"),
        _ => format!("(:type :request :payload (:action :health-check :request {number}))"),
    };
    (0..count.min(AT_ONCE)).for_each(|number| program.send(&question(number)));
    let mut answered = 0;
    while answered < count {
        let message = program.next().expect("the core goes on");
        program.heard.clear();
        if message.name_at("type") == Some("response") && payload_of(&message).int_at("request").is_some() {
            assert_eq!(payload_of(&message).text_at("error"), None, "{message}");
            answered += 1;
            if answered + AT_ONCE <= count {
                program.send(&question(answered + AT_ONCE - 1));
            }
        }
    }
}

/// Sends so many from several programs at once, and returns the memory of the core then.
fn sent(home: &Home, (daemon, at): (&Daemon, SocketAddr), count: usize) -> usize {
    std::thread::scope(|scope| {
        for _ in 0..SENDERS {
            scope.spawn(|| sends(home, at, count / SENDERS));
        }
    });
    held(daemon.child.id()).1
}

#[test]
fn a_million_messages_leave_a_core_with_the_memory_that_it_had() {
    if !Path::new("/proc/self/status").exists() {
        return skipped("what a process holds is known on Linux alone");
    }
    let count = asked("MESSAGES").unwrap_or(MESSAGES);
    let home = Home::new(&[("home.org", TILES)]);
    let (daemon, at) = listening(&home, "127.0.0.1:0");
    let begun = Instant::now();
    let before = BEFORE.max(count / 10);
    let first = sent(&home, (&daemon, at), before);
    let last = sent(&home, (&daemon, at), count);
    let took = begun.elapsed();
    let grown = last.saturating_sub(first);
    survived(format!(
        "{before} messages of {SENDERS} programs and their answers, and {count} more, in {:.1} s, {:.0} a second: {} kB of \
         memory behind the first, {} kB behind all, {} kB more",
        took.as_secs_f64(),
        (before + count) as f64 / took.as_secs_f64(),
        first >> 10,
        last >> 10,
        grown >> 10
    ));
    assert!(grown <= ROOM, "{grown} bytes more");
}

#[test]
fn whole_greetings_by_tls_leave_nothing_behind() {
    if !Path::new("/proc/self/status").exists() {
        return skipped("what a process holds is known on Linux alone");
    }
    let count = asked("GREETINGS").unwrap_or(GREETINGS);
    let home = Home::new(&[("home.org", TILES)]);
    let guest = beyond::Guest::of(&home);
    let (daemon, at) = listening(&home, beyond::address());
    let greet = |count: usize| {
        std::thread::scope(|scope| {
            for _ in 0..SENDERS {
                scope.spawn(|| (0..count / SENDERS).for_each(|_| guest.greet(&home, at)));
            }
        });
        held(daemon.child.id())
    };
    let begun = Instant::now();
    // What a greeting costs by itself is there before.
    let first = greet(BEFORE_GREETINGS);
    let last = greet(count);
    let took = begun.elapsed();
    let grown = last.1.saturating_sub(first.1);
    survived(format!(
        "{count} whole greetings by TLS in {:.1} s with some before, {:.0} a second: {} kB of memory more than behind those",
        took.as_secs_f64(),
        count as f64 / took.as_secs_f64(),
        grown >> 10
    ));
    assert!(grown <= ROOM, "{grown} bytes more");
    // Who greeted and went is let go, and another one is answered.
    let late = Instant::now();
    while held(daemon.child.id()).0 > first.0 + 8 {
        assert!(late.elapsed() < Duration::from_secs(60), "{} files are open", held(daemon.child.id()).0);
        std::thread::park_timeout(Duration::from_millis(2));
    }
    guest.greet(&home, at);
}
