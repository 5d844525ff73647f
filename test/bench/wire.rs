//! The wire under load: the codec by itself, clients over loopback that are let in, and how many come in a second.
//!
//! The core is a daemon in a process of its own; all clients are in this process, on one thread, and share the machine's
//! cores with it. So what is said of the core holds with the cost of its clients beside it.

use crate::flood::{core, p99, resident};
use crate::report::{processor_seconds, rated, row};
use passepartout::domain::sexp::plist::{Plist, message};
use passepartout::domain::sexp::reader::Sexp;
use passepartout::edge::peers::cookie;
use passepartout::edge::peers::greeting::{As, Said};
use passepartout::edge::peers::stranger::meet_stranger;
use passepartout::edge::peers::stream::Incoming;
use passepartout::edge::peers::tls::{Key, bound_client};
use passepartout::edge::peers::{allowed, tls};
use passepartout::edge::wire::frame::{Frames, encode};
use passepartout::edge::wire::proof::Cookie;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::hint::black_box;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::LocalSet;

/// Clients that say nothing once they are in.
const IDLE: usize = 1_000;
/// Clients that ask all the time.
const BUSY: usize = 100;
/// Questions a second of all that ask; as many answers come, so that twice as many messages go through the codec.
const RATE: u32 = 10_000;
/// How long they ask.
const SECONDS: u64 = 5;
/// So many questions of one client are under way at once when the most is measured.
const AT_ONCE: usize = 8;
/// Greetings by TCP and by TLS.
const GREETINGS: (usize, usize) = (4_000, 1_000);
/// So many greet at once.
const GREET_AT_ONCE: usize = 32;
/// Connections that say nothing, for what the machine does by itself.
const BARE: usize = 10_000;

/// Prints all rows.
pub fn print() {
    codec();
    clients();
    greetings();
}

/// Messages as a core and its clients exchange them, by how often they come.
fn messages() -> Vec<Sexp> {
    let words = "The harbour master has “not” answered; see [[id:boat][the boat]], due on Friday at 10:00.\n";
    let hit = |n: i64| {
        let path = ["Boat", "Harbour", "Paint and \"varnish\""];
        let hit = Plist::new().text("id", format!("id-{n}")).text("file", "/home/ida/notes/boat.org").int("line", n);
        let hit = hit.int("byte", n * 37).int("level", 3_i64).text("title", "Order paint").texts("path", path);
        let hit = hit.text("keyword", "TODO").texts("tags", ["boat", "spring"]).text("snippet", words);
        hit.text("link", format!("[[id:id-{n}][Order paint]]")).build()
    };
    let mut all = Vec::new();
    for n in 0..200_i64 {
        let chunk = Plist::new().text("turn", "T-4711-12").text("text", words);
        all.push(message("stream-chunk", chunk).build());
        let status = Plist::new().text("state", "idle").int("pending", 2_i64).int("files", 812_i64);
        all.push(message("status", status.int("headings", 10_000 + n).text("health", "healthy")).build());
        let asked = Plist::new().keyword("sensor", "user-input").text("text", "what is due this week?");
        all.push(message("event", asked).build());
        if n % 10 == 0 {
            let found = Plist::new().keyword("action", "query").int("request", n).text("query", "todo:TODO boat");
            all.push(message("response", found.int("total", 20_i64).list("hits", (0..20).map(hit))).build());
        }
        if n % 20 == 0 {
            let page = Plist::new().keyword("action", "plan-page").int("request", n).text("text", words.repeat(160));
            all.push(message("response", page).build());
        }
    }
    all
}

/// Does something for a second, and returns how many MB of each pass go through in a second of the processor.
fn rate(bytes: usize, mut pass: impl FnMut()) -> f64 {
    pass();
    let (begun, from, mut passes) = (Instant::now(), processor_seconds(), 0_usize);
    while begun.elapsed() < Duration::from_secs(1) {
        pass();
        passes += 1;
    }
    (bytes * passes) as f64 / 1e6 / (processor_seconds() - from)
}

fn codec() {
    let messages = messages();
    let stream: Vec<u8> = messages.iter().flat_map(|message| encode(&message.to_string()).unwrap()).collect();
    println!("\nThe codec: {} messages in {} kB of frames", messages.len(), stream.len() / 1000);
    let reading = rate(stream.len(), || {
        let (mut frames, mut count) = (Frames::default(), 0);
        for piece in stream.chunks(64 * 1024) {
            frames.push(piece);
            while let Some(text) = frames.take().unwrap() {
                black_box(Sexp::read(&text).unwrap());
                count += 1;
            }
        }
        assert_eq!(count, messages.len());
    });
    rated("reading frames and messages", "50 MB/s", &format!("{reading:.0} MB/s"), Some(reading));
    let writing = rate(stream.len(), || {
        let bytes: usize = messages.iter().map(|message| encode(&message.to_string()).unwrap().len()).sum();
        assert_eq!(bytes, stream.len());
    });
    rated("writing messages and frames", "50 MB/s", &format!("{writing:.0} MB/s"), Some(writing));
}

/// One client that was let in.
struct In {
    incoming: Incoming<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

async fn enter(at: SocketAddr, cookie: &Cookie) -> In {
    let stream = TcpStream::connect(at).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (reader, mut writer) = stream.into_split();
    let mut incoming = Incoming::new(reader);
    let said = Said::plain(As::Client);
    meet_stranger(&mut incoming, &mut writer, (cookie, at.to_string()), &said).await.unwrap();
    In { incoming, writer }
}

fn question(number: usize) -> Vec<u8> {
    encode(&format!("(:type :request :payload (:action :health-check :request {number}))")).unwrap()
}

/// Runs clients, all on this thread.
fn here<T>(clients: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, clients)
}

/// Returns when the next answer has come.
async fn answered(incoming: &mut Incoming<OwnedReadHalf>) {
    loop {
        let text = incoming.next().await.unwrap().expect("the core goes on");
        if text.contains(":action :health-check") {
            return;
        }
    }
}

/// Asks at a rate for some seconds; returns how long each answer took from the moment at which it was to be asked for,
/// whether that went out in time or not.
async fn asks(client: In, number: u32) -> Vec<Duration> {
    let In { mut incoming, mut writer } = client;
    let pause = Duration::from_secs(1) * BUSY as u32 / RATE;
    let begin = Instant::now() + pause * number / BUSY as u32;
    let due = Rc::new(RefCell::new(VecDeque::new()));
    let count = (RATE / BUSY as u32) as usize * SECONDS as usize;
    let asked = due.clone();
    let speaking = async {
        let mut done = 0;
        while done < count {
            let next = begin + pause * done as u32;
            tokio::time::sleep_until(next.into()).await;
            asked.borrow_mut().push_back(next);
            writer.write_all(&question(done)).await.unwrap();
            done += 1;
        }
    };
    let hearing = async {
        let mut times = Vec::with_capacity(count);
        while times.len() < count {
            answered(&mut incoming).await;
            let due = due.borrow_mut().pop_front().expect("nothing is answered before it was asked");
            times.push(due.elapsed());
        }
        times
    };
    tokio::join!(speaking, hearing).1
}

/// Asks with as many questions under way as may be, until the time is over; returns how many were answered, and the client.
async fn asks_on(mut client: In, until: Instant) -> (usize, In) {
    let mut count = 0;
    for number in 0..AT_ONCE {
        client.writer.write_all(&question(number)).await.unwrap();
    }
    while Instant::now() < until {
        answered(&mut client.incoming).await;
        count += 1;
        client.writer.write_all(&question(count)).await.unwrap();
    }
    for _ in 0..AT_ONCE {
        answered(&mut client.incoming).await;
    }
    (count + AT_ONCE, client)
}

async fn all<T: 'static>(tasks: impl Iterator<Item = impl Future<Output = T> + 'static>) -> Vec<T> {
    let tasks: Vec<_> = tasks.map(tokio::task::spawn_local).collect();
    let mut done = Vec::new();
    for task in tasks {
        done.push(task.await.unwrap());
    }
    done
}

fn clients() {
    println!(
        "\n{IDLE} idle and {BUSY} busy clients over loopback TCP, with the cookie, all in another process than the core"
    );
    let base = tempfile::tempdir().unwrap();
    let (mut core, at) = core(base.path(), "127.0.0.1:0");
    let cookie = cookie::kept(&base.path().join("state/passepartout")).unwrap();
    let before = resident(core.id());
    here(async {
        let begun = Instant::now();
        let mut idle = Vec::new();
        for _ in 0..IDLE {
            idle.push(enter(at, &cookie).await);
        }
        let mut busy = Vec::new();
        for _ in 0..BUSY {
            busy.push(enter(at, &cookie).await);
        }
        let took = begun.elapsed();
        let each = resident(core.id()).saturating_sub(before) / (IDLE + BUSY);
        row("1,100 clients let in, one after the other", "", &format!("{:.1} s", took.as_secs_f64()));
        row("memory of a core for each", "", &format!("{:.1} kB", each as f64 / 1024.0));
        let until = Instant::now() + Duration::from_secs(SECONDS);
        let on = all(busy.into_iter().map(|client| asks_on(client, until))).await;
        let most = on.iter().map(|(count, _)| count).sum::<usize>() as f64 / SECONDS as f64;
        let told = format!("{most:.0} questions and answers a second");
        row("as many as come", "20,000 messages/s", &told);
        let busy: Vec<In> = on.into_iter().map(|(_, client)| client).collect();
        let begun = Instant::now();
        let times: Vec<Duration> =
            all(busy.into_iter().enumerate().map(|(number, client)| asks(client, number as u32))).await.concat();
        let rate = times.len() as f64 / begun.elapsed().as_secs_f64();
        let mut sorted = times.clone();
        sorted.sort_unstable();
        let p50 = sorted[sorted.len() / 2].as_secs_f64() * 1e3;
        let told = format!("p50 {p50:.1} ms, p99 {:.1} ms at {rate:.0} a second", p99(times));
        row("an answer with 10,000 questions a second, and 10,000 answers", "20,000 messages/s, 20 ms", &told);
        drop(idle);
    });
    core.kill().unwrap();
    core.wait().unwrap();
}

/// Has so many greet, some at once, and returns how many did in a second.
fn greet<F: Future<Output = ()> + 'static>(count: usize, one: impl Fn() -> F + Clone + 'static) -> f64 {
    let begun = Instant::now();
    here(async {
        all((0..GREET_AT_ONCE).map(|_| {
            let one = one.clone();
            async move {
                for _ in 0..count / GREET_AT_ONCE {
                    one().await;
                }
            }
        }))
        .await;
    });
    count as f64 / begun.elapsed().as_secs_f64()
}

fn greetings() {
    println!("\nWhole greetings: connecting, both proofs, the welcome, and leaving");
    let bare = bare();
    row("connections that this machine makes and drops by itself", "", &format!("{bare:.0} a second"));
    let base = tempfile::tempdir().unwrap();
    let store = base.path().join("state/passepartout");
    let (mut plain, at) = core(base.path(), "127.0.0.1:0");
    let known = cookie::kept(&store).unwrap();
    let each = greet(GREETINGS.0, move || {
        let known = known.clone();
        async move {
            let mut client = enter(at, &known).await;
            let leaving = encode("(:type :event :payload (:action :leaving))").unwrap();
            client.writer.write_all(&leaving).await.unwrap();
        }
    });
    row("greetings by TCP", "", &format!("{each:.0} a second"));
    plain.kill().unwrap();
    plain.wait().unwrap();

    let base = tempfile::tempdir().unwrap();
    let store = base.path().join("state/passepartout");
    let (mine, key) = elsewhere(&store);
    let (mut secured, at) = core(base.path(), "[::ffff:127.0.0.1]:0");
    let (known, own) = (cookie::kept(&store).unwrap(), Key::kept(&store).unwrap().fingerprint());
    let before = resident(secured.id());
    let each = greet(GREETINGS.1, move || {
        let (known, key) = (known.clone(), key.clone());
        async move {
            let stream = key.connect(TcpStream::connect(at).await.unwrap(), own).await.unwrap();
            let bound = bound_client(&stream).unwrap();
            let (reader, mut writer) = tokio::io::split(stream);
            let said = Said::plain(As::Client);
            meet_stranger(&mut Incoming::new(reader), &mut writer, (&known, bound), &said).await.unwrap();
        }
    });
    let more = resident(secured.id()).saturating_sub(before) >> 10;
    row("greetings by TLS", "", &format!("{each:.0} a second, {more} kB more"));
    secured.kill().unwrap();
    secured.wait().unwrap();
    drop(mine);
}

/// Makes the key of another machine, and lets it in to the store.
fn elsewhere(store: &Path) -> (tempfile::TempDir, Rc<Key>) {
    std::fs::create_dir_all(store).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let key = Key::kept(folder.path()).unwrap();
    let mut all = allowed::Allowed::kept(store).unwrap();
    all.let_in(key.fingerprint(), "bench").unwrap();
    all.keep(store).unwrap();
    assert!(tls::place(folder.path()).exists());
    (folder, Rc::new(key))
}

/// Connects to a listener that drops whoever comes: what the system itself costs, on both sides.
fn bare() -> f64 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..BARE).for_each(|_| drop(listener.accept().unwrap())));
        (0..BARE).for_each(|_| drop(std::net::TcpStream::connect(at).unwrap()));
    });
    BARE as f64 / begun.elapsed().as_secs_f64()
}
