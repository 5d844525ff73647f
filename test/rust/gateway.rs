//! Messengers: who is let in, what a message comes to, and a Telegram that behaves, misbehaves and vanishes.

mod numbers;
mod signal;

use crate::runtime::says;
use crate::support::engine::{Home, origin};
use crate::support::fake_server::FakeServer;
use passepartout::domain::gateway::door::{CODE, Door, code};
use passepartout::domain::gateway::seen::{NAMES, Seen};
use passepartout::domain::gateway::split::{Limit, MOST, split};
use passepartout::domain::gateway::{Arrived, Mark, Meaning, Message, meaning};
use passepartout::domain::signal::{Origin, Rights, Source};
use passepartout::edge::runtime::Core;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

fn at(second: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

fn said(text: &str) -> Message {
    Message { sender: "7".into(), name: "Ann".into(), text: Some(text.into()) }
}

#[test]
fn what_a_message_means() {
    let check = |text: &str, ask: Option<&str>| {
        let asked = match meaning(&said(text)) {
            Meaning::Ask(text) => Some(text),
            Meaning::Say(_) => None,
        };
        assert_eq!(asked.as_deref(), ask, "{text:?}");
    };
    check(" hello ", Some("hello"));
    check("1/2 of it", Some("1/2 of it"));
    for command in ["/approve 12", "/deny 1", " /share", "/consensus x", "/start", "/help", "/", "", "  "] {
        check(command, None);
    }
    assert!(matches!(meaning(&Message { text: None, ..said("") }), Meaning::Say(_)), "a picture is refused");
}

#[test]
fn a_code_marks_one_sender_and_lets_nobody_in() {
    let mut door = Door::default();
    assert!(!door.lets_in("1", "Eve", "ABCDEFGH", at(0)), "no pairing goes on");
    assert_eq!(door.paired("1"), None);
    door.pair("ABCDEFGH", at(0));
    assert!(!door.lets_in("2", "Ann", " abcd-efgh ", at(9)));
    assert_eq!(door.paired("2"), Some("Ann"));
    assert!(!door.lets_in("3", "Eve", "ABCDEFGH", at(10)));
    assert_eq!(door.paired("3"), None, "it counts once");
    door.allow("2", "Ann");
    assert!(door.lets_in("2", "Ann", "hello", at(11)));
    assert!(door.revoke("2") && !door.revoke("2"));
    assert!(!door.lets_in("2", "Ann", "hello", at(12)));
    assert_eq!(door.paired("2"), None, "who was let in once shows a new code");
}

#[test]
fn only_who_is_let_in_decides_and_each_grant_is_another() {
    let mut door = Door::of([("2".to_string(), "Ann".to_string())].into());
    assert_eq!(door.decides("2"), None, "nobody decides of itself");
    assert!(!door.let_decide("3") && door.decides("3").is_none(), "it is not let in");
    assert!(door.let_decide("2"));
    let first = door.decides("2").expect("it decides");
    assert!(door.decide_no_more("2") && !door.decide_no_more("2"));
    assert_eq!(door.decides("2"), None);
    assert!(door.let_decide("2") && door.decides("2") != Some(first));
    assert!(door.revoke("2"));
    assert_eq!(door.decides("2"), None, "who is not let in does not decide");
    door.allow("2", "Ann");
    assert_eq!(door.decides("2"), None, "not even when it is let in again");
}

#[test]
fn a_code_is_over_after_ten_minutes_and_after_five_wrong_ones() {
    for (wrong, late, counts) in [(0, 599, true), (0, 600, false), (4, 1, true), (5, 1, false)] {
        let mut door = Door::default();
        door.pair("ABCDEFGH", at(0));
        for _ in 0..wrong {
            door.lets_in("9", "Eve", "AAAAAAAA", at(0));
        }
        door.lets_in("2", "Ann", "ABCDEFGH", at(late));
        assert_eq!(door.paired("2").is_some(), counts, "{wrong} wrong, {late} s");
    }
}

#[test]
fn a_flood_of_strangers_is_bounded_and_pushes_out_nobody_who_showed_the_code() {
    let mut door = Door::default();
    door.pair("ABCDEFGH", at(0));
    door.lets_in("ann", &"n".repeat(1_000), "ABCDEFGH", at(0));
    for n in 0..1_000 {
        door.lets_in(&n.to_string(), "Eve", "let me in", at(1));
    }
    assert_eq!(door.strangers().count(), 50);
    assert_eq!(door.paired("ann").map(str::len), Some(60));
}

#[test]
fn codes_use_every_random_byte() {
    assert_eq!(code([0, 1, 2, 3, 31, 32, 33, 255]), "ABCD9AB9");
    assert_eq!(code([7; CODE]).len(), CODE);
}

#[test]
fn what_came_counts_once_and_is_in_order() {
    let named = |sender: &str, name: &str| Mark::Name { sender: sender.into(), name: name.into() };
    let check = |seen: &[Mark], came: &[Mark], taken: &[Mark]| {
        let mut known = Seen::default();
        seen.iter().for_each(|mark| known.note(mark, at(0)));
        let came = came.iter().map(|mark| Arrived { mark: mark.clone(), message: None }).collect();
        let found: Vec<Mark> = known.fresh(came).into_iter().map(|one| one.mark).collect();
        assert_eq!(found, taken, "{seen:?}");
    };
    let number = |number| Mark::Number { number, sent: None };
    check(&[number(3)], &[5, 3, 5, 2, 9, 3].map(number), &[5, 9].map(number));
    // One number is one thing, whatever is said of when it was sent.
    let sent = |second| Mark::Number { number: 5, sent: Some(at(second)) };
    check(&[number(3)], &[sent(7), sent(8)], &[sent(7)]);
    // Names have no order of their own: they stay as they came, and each sender has its own.
    let came = [named("a", "9"), named("b", "7"), named("a", "8"), named("a", "9"), named("a", "7")];
    check(&[named("a", "7")], &came, &[named("a", "9"), named("b", "7"), named("a", "8")]);
    // The last ones are known, however many came of somebody else.
    let mut many: Vec<Mark> = (0..=NAMES).map(|n| named("a", &n.to_string())).collect();
    many.extend((0..1_000).map(|n| named("b", &n.to_string())));
    check(&many, &[named("a", "0"), named("a", "1"), named("a", "64")], &[named("a", "0")]);
}

#[test]
fn a_smaller_number_is_new_when_it_was_sent_later() {
    const DAY: i64 = 86_400;
    let mut seen = Seen::default();
    assert_eq!(seen.next(at(0)), 0, "nothing came: whatever there is");
    seen.note(&Mark::Number { number: 1_000, sent: Some(at(0)) }, at(9));
    for (number, sent, new) in [
        (1_001, None, true),
        (1_001, Some(-5), true),
        // It came before, or nothing says that it did not.
        (1_000, Some(0), false),
        (1_000, None, false),
        (999, Some(-DAY), false),
        (999, Some(60), false),
        (17, None, false),
        // The messenger counts anew.
        (999, Some(61), true),
        (1_000, Some(8 * DAY), true),
        (17, Some(8 * DAY), true),
    ] {
        assert_eq!(!seen.has(&Mark::Number { number, sent: sent.map(at) }), new, "{number}, sent {sent:?}");
    }
    for (now, next) in [(0, 1_001), (-9, 1_001), (6 * DAY - 1, 1_001), (6 * DAY, 0), (60 * DAY, 0)] {
        assert_eq!(seen.next(at(now)), next, "{now}");
    }
    // From there on it counts on.
    seen.note(&Mark::Number { number: 17, sent: Some(at(8 * DAY)) }, at(8 * DAY));
    assert_eq!(seen.next(at(8 * DAY)), 18);
    let has = |number, sent| seen.has(&Mark::Number { number, sent: Some(at(sent)) });
    assert!(has(17, 8 * DAY) && !has(18, 8 * DAY));
    // What says nothing of when it was sent was sent when it came.
    seen.note(&Mark::Number { number: 20, sent: None }, at(9 * DAY));
    assert_eq!((seen.next(at(15 * DAY - 1)), seen.next(at(15 * DAY))), (21, 0));
}

#[test]
fn answers_are_cut_where_it_hurts_least() {
    let check = |text: &str, limit: usize, parts: &[&str]| {
        assert_eq!(split(text, Limit::Utf16(limit)), parts, "{text:?}");
    };
    check("", 10, &[]);
    check(" \n ", 10, &[]);
    check("short", 10, &["short"]);
    check("one two\n\nthree four", 12, &["one two", "three four"]);
    check("one\ntwo three", 10, &["one", "two three"]);
    check("one two three", 9, &["one two", "three"]);
    check("abcdefghij", 4, &["abcd", "efgh", "ij"]);
    check("𝄞𝄞𝄞", 4, &["𝄞𝄞", "𝄞"]);
    check("text\n\n```\na\n\nb\n```\nend", 15, &["text", "```\na\n\nb\n```", "end"]);
    check("t\n#+begin_src c\nx\n\ny\n#+end_src\nend", 33, &["t\n#+begin_src c\nx\n\ny\n#+end_src", "end"]);
    // A character counts as its messenger counts it.
    assert_eq!(split("äöü𝄞", Limit::Utf16(4)), ["äöü", "𝄞"]);
    assert_eq!(split("äöü𝄞", Limit::Utf8(4)), ["äö", "ü", "𝄞"]);
    assert_eq!(split("𝄞𝄞", Limit::Utf8(1)), ["𝄞", "𝄞"], "it ends whatever the limit is");
    let long = split(&"word ".repeat(100_000), Limit::Utf16(4_096));
    assert_eq!(long.len(), MOST);
    assert!(long.last().is_some_and(|last| last.contains("ask in Emacs")));
}

proptest! {
    #[test]
    fn no_part_is_too_long_and_nothing_but_white_space_is_lost(text in "[a-z𝄞\\n` ]{0,300}", limit in 60_usize..120) {
        let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        for counted in [Limit::Utf16(limit), Limit::Utf8(limit)] {
            let parts = split(&text, counted);
            for part in &parts {
                let length = if let Limit::Utf8(_) = counted { part.len() } else { part.encode_utf16().count() };
                prop_assert!(length <= limit && !part.trim().is_empty());
            }
            prop_assert!(parts.len() == MOST || solid(&parts.concat()) == solid(&text));
        }
    }
}

pub(crate) const TOKEN: &str = "123456789:AAfake-token_of-a-test";
const ANOTHER: &str = "987654321:AAfake-token_of-another";

/// What a fake Telegram heard, and what it says next.
#[derive(Default)]
pub(crate) struct Heard {
    /// Texts that were sent, each with its chat.
    pub(crate) sent: Vec<(i64, String)>,
    /// The offsets of polls.
    pub(crate) offsets: Vec<i64>,
    /// Answers to polls to come: a status and a body.
    polls: Vec<(u16, String)>,
    /// Answers to sending to come, in place of taking it.
    pub(crate) refusals: Vec<(u16, String)>,
}

/// A fake Telegram.
#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) heard: Arc<(Mutex<Heard>, Condvar)>,
    pub(crate) port: u16,
    over: Arc<AtomicBool>,
}

impl Fake {
    pub(crate) fn start() -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let fake = Fake { heard: Arc::default(), port, over: Arc::default() };
        let served = fake.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if served.over.load(Ordering::Relaxed) {
                    return;
                }
                let served = served.clone();
                std::thread::spawn(move || served.answer(stream));
            }
        });
        fake
    }

    fn answer(&self, mut stream: TcpStream) -> Option<()> {
        let (path, body) = read_request(&mut stream)?;
        let of = |token: &&str| path.strip_prefix(&format!("/bot{token}/")).map(str::to_string);
        let method = [TOKEN, ANOTHER].iter().find_map(of);
        let ok = |result: Value| (200, json!({ "ok": true, "result": result }).to_string());
        let (status, text) = match method.as_deref().unwrap_or("of another bot") {
            "of another bot" => (401, json!({ "ok": false }).to_string()),
            "getMe" => ok(json!({ "id": 1, "is_bot": true, "username": "test_bot" })),
            "getUpdates" => {
                let (heard, bell) = &*self.heard;
                let mut heard = heard.lock().ok()?;
                heard.offsets.push(body["offset"].as_i64()?);
                bell.notify_all();
                // A long poll: nothing is said until there is something.
                while heard.polls.is_empty() {
                    heard = bell.wait_timeout(heard, Duration::from_millis(20)).ok()?.0;
                    if self.over.load(Ordering::Relaxed) {
                        return None;
                    }
                }
                // What is meant for another core must not go to one that has ended.
                stream.set_nonblocking(true).ok()?;
                if stream.peek(&mut [0]).is_ok() {
                    return None;
                }
                stream.set_nonblocking(false).ok()?;
                heard.polls.remove(0)
            }
            "sendMessage" => {
                let (heard, bell) = &*self.heard;
                let mut heard = heard.lock().ok()?;
                let answer = match heard.refusals.is_empty() {
                    false => heard.refusals.remove(0),
                    true => {
                        heard.sent.push((body["chat_id"].as_i64()?, body["text"].as_str()?.to_string()));
                        ok(json!({}))
                    }
                };
                bell.notify_all();
                answer
            }
            _ => return None,
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            text.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes())).ok()
    }

    fn poll(&self, status: u16, body: impl Into<String>) {
        self.heard.0.lock().expect("it is ours").polls.push((status, body.into()));
        self.heard.1.notify_all();
    }

    pub(crate) fn updates(&self, updates: &[Value]) {
        self.poll(200, json!({ "ok": true, "result": updates }).to_string());
    }

    /// Waits until something was heard.
    #[track_caller]
    pub(crate) fn until<T>(&self, found: impl Fn(&Heard) -> Option<T>) -> T {
        let mut heard = self.heard.0.lock().expect("it is ours");
        for _ in 0..200 {
            if let Some(found) = found(&heard) {
                return found;
            }
            heard = self.heard.1.wait_timeout(heard, Duration::from_millis(200)).expect("it is ours").0;
        }
        panic!("it was never heard: sent {:?}, offsets {:?}", heard.sent, heard.offsets);
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        if Arc::strong_count(&self.over) <= 2 {
            self.over.store(true, Ordering::Relaxed);
            self.heard.1.notify_all();
            let _ = TcpStream::connect(("127.0.0.1", self.port));
        }
    }
}

fn read_request(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut read = Vec::new();
    let (head, mut body) = loop {
        let mut piece = [0; 4096];
        let taken = stream.read(&mut piece).ok().filter(|taken| *taken > 0)?;
        read.extend_from_slice(&piece[..taken]);
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break (String::from_utf8_lossy(&read[..end]).to_ascii_lowercase(), read.split_off(end + 4));
        }
    };
    let text = String::from_utf8_lossy(&read);
    let path = text.split_whitespace().nth(1)?.to_string();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?.trim().parse::<usize>().ok()?;
    while body.len() < length {
        let mut piece = [0; 4096];
        let taken = stream.read(&mut piece).ok().filter(|taken| *taken > 0)?;
        body.extend_from_slice(&piece[..taken]);
    }
    Some((path, serde_json::from_slice(&body).ok()?))
}

pub(crate) fn update(number: i64, from: i64, text: &str) -> Value {
    json!({ "update_id": number, "message": {
        "message_id": number, "from": { "id": from, "is_bot": false, "first_name": "Ann" },
        "chat": { "id": from, "type": "private" }, "text": text,
    }})
}

fn telegram(fake: &Fake, token: &str) -> [(&'static str, String); 2] {
    [("TELEGRAM_URL", format!("http://127.0.0.1:{}", fake.port)), ("TELEGRAM_BOT_TOKEN", token.to_string())]
}

/// A core whose messengers are fake.
struct Running {
    core: Core,
    heard: Vec<String>,
    bell: Arc<(Mutex<bool>, Condvar)>,
}

impl Running {
    fn start(home: &Home, fake: &Fake) -> Running {
        Running::start_as(home, fake, TOKEN)
    }

    /// With a model of its own.
    fn start_with(home: &Home, fake: &Fake, server: Option<&FakeServer>) -> Running {
        Running::begin(home, &telegram(fake, TOKEN), server)
    }

    fn start_as(home: &Home, fake: &Fake, token: &str) -> Running {
        Running::begin(home, &telegram(fake, token), None)
    }

    /// With the variables that lead to messengers.
    fn begin(home: &Home, messengers: &[(&str, String)], server: Option<&FakeServer>) -> Running {
        let bell: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let ring = bell.clone();
        let folders = [
            ("HOME", home.folder.path().to_string_lossy().into_owned()),
            ("XDG_CONFIG_HOME", home.folder.path().join("config").to_string_lossy().into_owned()),
        ];
        let variables: Vec<String> =
            folders.iter().chain(messengers).map(|(name, value)| format!("({name:?} . {value:?})")).collect();
        let settings = crate::runtime::settings(home, server, if server.is_some() { "\"fake\"" } else { "recall" });
        let settings = settings.strip_suffix(')').expect("a list");
        let settings = format!("{settings} :environment ({}))", variables.join(" "));
        let core = Core::start(
            &settings,
            Box::new(move || {
                *ring.0.lock().expect("it is ours") = true;
                ring.1.notify_all();
            }),
        )
        .expect("it starts");
        Running { core, heard: Vec::new(), bell }
    }

    /// Asks, and waits for the answer.
    #[track_caller]
    fn ask(&mut self, payload: &str) -> String {
        let number = self.heard.len() + 1_000;
        let asked = format!("(:type :request :payload (:request {number} {payload}))");
        self.core.send(&asked).expect("it runs");
        let mark = format!(":request {number}");
        for _ in 0..200 {
            self.heard.extend(self.core.receive(1 << 20));
            if let Some(answer) = self.heard.iter().find(|text| text.contains(&mark)) {
                return answer.clone();
            }
            let rung = self.bell.0.lock().expect("it is ours");
            let (mut rung, _) = self.bell.1.wait_timeout(rung, Duration::from_millis(200)).expect("it is ours");
            *rung = false;
        }
        panic!("no answer to {asked}: {:?}", self.heard);
    }

    /// Has a sender let in, as a user does it.
    fn let_in(&mut self, fake: &Fake, number: i64, sender: i64) {
        let answer = self.ask(":action :gateway :platform \"telegram\" :do :pair");
        let code = answer.split(":code \"").nth(1).and_then(|rest| rest.split('"').next()).expect("a code").to_string();
        fake.updates(&[update(number, sender, &code)]);
        fake.until(|heard| heard.offsets.contains(&(number + 1)).then_some(()));
        let allow = format!(":action :gateway :platform \"telegram\" :do :allow :sender \"{sender}\"");
        let answer = self.ask(&allow);
        assert!(answer.contains("may write"), "{answer}");
    }
}

fn home() -> Home {
    Home::new(&[("notes.org", "* Boiler\nThe boiler is serviced in May.\n* Safe :private:\nThe number is 4711.\n")])
}

/// Returns what was sent but for the word that a core ended first: one that ends in the moment behind an answer cannot know
/// that it arrived.
pub(crate) fn answers(heard: &Heard) -> Vec<(i64, String)> {
    let cut_off = |text: &str| text.contains("ended before it had answered you");
    heard.sent.iter().filter(|(_, text)| !cut_off(text)).cloned().collect()
}

#[test]
fn only_who_was_let_in_is_answered_in_order_once_and_across_restarts() {
    let (home, fake) = (home(), Fake::start());
    let mut running = Running::start(&home, &fake);
    let listed = running.ask(":action :gateways");
    assert!(listed.contains("not linked") && !listed.contains(TOKEN), "{listed}");
    let linked = running.ask(":action :gateway :platform \"telegram\" :do :link");
    assert!(linked.contains("is linked"), "{linked}");
    fake.updates(&[update(10, 66, "let me in"), update(11, 66, "/approve P1")]);
    fake.until(|heard| heard.offsets.contains(&12).then_some(()));
    let refused = running.ask(":action :gateway :platform \"telegram\" :do :allow :sender \"66\"");
    assert!(refused.contains("pairing code"), "who showed no code is not let in by a slip: {refused}");
    running.let_in(&fake, 20, 7);
    let mut picture = update(23, 7, "");
    picture["message"]["text"] = Value::Null;
    let mut group = update(24, 7, "hello all");
    group["message"]["chat"] = json!({ "id": -5, "type": "group" });
    // Out of order, twice, one that came before, one that is no update, another sender.
    fake.updates(&[
        update(22, 7, "/approve P1"),
        json!("x"),
        update(20, 7, "old"),
        update(22, 7, "/deny P1"),
        group,
        update(21, 7, "/help"),
        picture,
        update(25, 66, "hello?"),
    ]);
    let sent = fake.until(|heard| (heard.sent.len() >= 3).then(|| heard.sent.clone()));
    let begins: Vec<_> = sent.iter().map(|(chat, text)| (*chat, text.split(',').next().unwrap_or(""))).collect();
    assert_eq!(begins, [(7, "Write"), (7, "Commands"), (7, "I read text only")]);
    let listed = running.ask(":action :gateways");
    assert!(listed.contains("@test_bot") && listed.contains("running") && !listed.contains(TOKEN), "{listed}");
    running.core.stop();
    // Another core takes none of it again, and knows who is let in.
    let mut running = Running::start(&home, &fake);
    fake.updates(&[update(25, 7, "/help"), update(26, 7, "boiler"), update(27, 7, "4711")]);
    let sent = fake.until(|heard| Some(answers(heard)).filter(|sent| sent.len() >= 5));
    assert!(sent[3].1.contains("boiler"), "{sent:?}");
    assert!(!sent.iter().any(|(_, text)| text.contains("Safe") || text.contains("number is")), "{sent:?}");
    assert!(sent.iter().all(|(chat, _)| *chat == 7), "a stranger gets nothing: {sent:?}");
    // Who is let in no more gets nothing.
    let revoked = running.ask(":action :gateway :platform \"telegram\" :do :revoke :sender \"7\"");
    assert!(revoked.contains("not write"), "{revoked}");
    fake.updates(&[update(30, 7, "/help")]);
    fake.until(|heard| heard.offsets.contains(&31).then_some(()));
    assert_eq!(fake.until(|heard| Some(answers(heard).len())), 5);
    let said = running.heard.concat();
    assert!(!said.contains("AAfake"), "the token is in no message");
    running.core.stop();
}

#[test]
fn a_telegram_that_misbehaves_is_waited_for_and_the_core_goes_on() {
    let (home, fake) = (home(), Fake::start());
    let mut running = Running::start(&home, &fake);
    running.ask(":action :gateway :platform \"telegram\" :do :link");
    running.let_in(&fake, 1, 7);
    let wait = json!({ "ok": false, "parameters": { "retry_after": 0 } }).to_string();
    for (status, body) in [
        (500, "oops".to_string()),
        (200, "<html>".into()),
        (200, "{\"ok\":true,\"result\":7}".into()),
        (429, wait.clone()),
    ] {
        fake.poll(status, body);
    }
    fake.heard.0.lock().expect("it is ours").refusals = vec![(429, wait), (502, String::new())];
    fake.updates(&[update(2, 7, "/help")]);
    let sent = fake.until(|heard| (!heard.sent.is_empty()).then(|| heard.sent.clone()));
    assert!(sent[0].1.starts_with("Write"), "{sent:?}");
    // Its token does not count any more: nothing is tried again, and that is said.
    fake.poll(401, "{}");
    let mut listed = String::new();
    for _ in 0..200 {
        listed = running.ask(":action :gateways");
        if listed.contains("is refused") {
            break;
        }
    }
    assert!(listed.contains("is refused"), "{listed}");
    let said = running.heard.concat();
    assert!(!said.contains("AAfake"), "the token is in no line of the log");
    let began = std::time::Instant::now();
    running.core.stop();
    assert!(began.elapsed() < Duration::from_secs(1), "a long poll holds nothing up");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_emacs_lets_in_and_a_chat_takes_nothing_away() {
    let home = home();
    let engine = home.engine().await;
    let telegram = passepartout::domain::gateway::Platform::Telegram;
    for source in Source::ALL {
        for rights in [Rights::HUMAN, Rights { approve: false, ..Rights::HUMAN }] {
            let from = Origin { source, rights, ..origin() };
            if source == Source::Emacs && rights.approve {
                continue;
            }
            // It lets nobody in: a human at a terminal may do that, and hears what is missing.
            let links = source == Source::Cli && rights.approve;
            let refused = engine.link_gateway(&from, telegram).await.expect_err("there is no token");
            assert_eq!(refused.contains("there is no token"), links, "{source:?}: {refused}");
            assert_eq!(refused.contains("is decided in Emacs"), !links, "{source:?}: {refused}");
            let refused = engine.take_gateway_token(&from, telegram, "no token").await.expect_err("it is none");
            assert_eq!(refused.contains("this is no token"), links, "{source:?}: {refused}");
            assert!(engine.pair_gateway(&from, telegram).await.is_err(), "{source:?}");
            assert!(engine.allow_sender(&from, telegram, "7").await.is_err(), "{source:?}");
            let refused = engine.let_decide(&from, telegram, "7").await.expect_err("it is no Emacs");
            assert!(refused.contains("is decided in Emacs"), "{source:?}: {refused}");
        }
    }
    let chat = Origin { source: Source::Gateway, ..origin() };
    assert!(engine.unlink_gateway(&chat, telegram).await.is_err());
    let refused = engine.decide_no_more(&chat, telegram, "7").await.expect_err("it is a chat");
    assert!(refused.contains("is decided in Emacs"), "{refused}");
    let refused = engine.let_decide(&origin(), telegram, "7").await.expect_err("it is not let in");
    assert!(refused.contains("is not let in"), "{refused}");
    assert!(engine.unlink_gateway(&origin(), telegram).await.is_ok());
}

#[test]
fn another_bot_counts_for_itself() {
    let (home, fake) = (home(), Fake::start());
    let mut running = Running::start(&home, &fake);
    running.ask(":action :gateway :platform \"telegram\" :do :link");
    running.let_in(&fake, 900, 7);
    running.core.stop();
    // Its numbers are far below those of the first.
    let running = Running::start_as(&home, &fake, ANOTHER);
    fake.updates(&[update(3, 7, "/help")]);
    fake.until(|heard| (!heard.sent.is_empty()).then_some(()));
    running.core.stop();
    // What came by it counts once, too, over a restart.
    let running = Running::start_as(&home, &fake, ANOTHER);
    fake.until(|heard| (heard.offsets.last() == Some(&4)).then_some(()));
    running.core.stop();
}

#[test]
fn the_command_line_lists_links_and_unlinks_and_lets_nobody_in() {
    let home = home();
    let configured = |words: &str| {
        let mut command = crate::cli::program(&home);
        command.env("TELEGRAM_BOT_TOKEN", TOKEN).env("TELEGRAM_URL", "http://127.0.0.1:9");
        command.args(words.split(' '));
        command
    };
    let listed =
        || -> Value { crate::cli::Ran::from(configured("gateway list --json").output().expect("it runs")).json() };
    let told = crate::cli::run(&home, &["gateway"]);
    assert!(told.status == 0 && told.out.starts_with("telegram     there is no token"), "{told:?}");
    assert_eq!(listed()["gateways"][0]["state"], "not linked");
    for (words, status, said) in [
        ("gateway link telegram", 1, "linked in Emacs or at a terminal; this is neither"),
        ("gateway link pigeon", 2, "there is no messenger “pigeon”; there is telegram, signal"),
    ] {
        let ran: crate::cli::Ran = configured(words).output().expect("it runs").into();
        assert!(ran.status == status && ran.err.contains(said), "{words}: {ran:?}");
    }
    let linked = crate::cli::answering(crate::cli::terminal_of(&configured("gateway"), "gateway link telegram"), "");
    assert!(
        linked.status == 0 && linked.out.contains("is linked; who may write is said with a pairing code"),
        "{linked:?}"
    );
    assert_eq!(
        (listed()["gateways"][0]["linked"].clone(), listed()["gateways"][0]["allowed"].clone()),
        (json!(true), json!([]))
    );
    let gone: crate::cli::Ran = configured("gateway unlink telegram --json").output().expect("it runs").into();
    assert!(gone.out.contains("is not linked any more"), "{gone:?}");
    assert_eq!(listed()["gateways"][0]["linked"], false);
    // Whoever owns the store is asked, and has the last word.
    let fake = Fake::start();
    let mut running = Running::start(&home, &fake);
    running.ask(":action :gateway :platform \"telegram\" :do :link");
    running.let_in(&fake, 5, 7);
    let shown = crate::cli::run(&home, &["gateway", "list"]);
    assert!(shown.out.contains("7 (Ann) may write"), "{shown:?}");
    let gone = crate::cli::run(&home, &["gateway", "unlink", "telegram"]);
    assert!(gone.out.contains("is not linked any more"), "{gone:?}");
    assert!(!running.ask(":action :gateways").contains(":linked t"));
}

#[test]
fn a_token_is_typed_unseen_tried_and_kept_where_keys_are() {
    use std::os::unix::fs::PermissionsExt;
    let (home, fake) = (home(), Fake::start());
    let folder = home.folder.path().canonicalize().expect("it is there");
    let file = folder.join("config/passepartout/.env");
    let link = |words: &str, typed: &str| {
        let mut command = crate::cli::program(&home);
        command.env("TELEGRAM_URL", format!("http://127.0.0.1:{}", fake.port));
        crate::cli::answering(crate::cli::terminal_of(&command, &format!("gateway link {words}")), typed)
    };
    for (typed, said) in [
        ("123456789:AAwrong\r", "Telegram does not know this token, so nothing was stored"),
        ("two words\r", "this is no token, so nothing was stored"),
        ("\r", "no token was typed; nothing was done"),
        ("123\u{3}", "no token was typed; nothing was done"),
    ] {
        let ran = link("telegram", typed);
        assert!(ran.status == 1 && ran.out.contains(said) && !ran.out.contains("AAwrong"), "{typed:?}: {ran:?}");
        assert!(!file.exists(), "{typed:?}");
    }
    let linked = link("telegram", &format!("{TOKEN}\r"));
    assert!(linked.status == 0 && linked.out.contains("is linked") && !linked.out.contains("AAfake"), "{linked:?}");
    let kept = || std::fs::read_to_string(&file).expect("it is there");
    assert_eq!(kept(), format!("TELEGRAM_BOT_TOKEN={TOKEN}\n"));
    assert_eq!(std::fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    // Where there is one nothing is asked, unless another one is wanted; what is piped is read.
    let again = link("telegram", "");
    assert!(again.status == 0 && !again.out.contains("Token of the bot"), "{again:?}");
    let anew = link("telegram --new-token", &format!("{ANOTHER}\r"));
    assert!(anew.status == 0 && kept() == format!("TELEGRAM_BOT_TOKEN={ANOTHER}\n"), "{anew:?}");
    std::fs::write(folder.join("token"), format!("{TOKEN}\nmore\n")).expect("a file");
    let piped = link(&format!("telegram < {}", folder.join("token").display()), "");
    assert!(piped.status == 0 && kept() == format!("TELEGRAM_BOT_TOKEN={TOKEN}\n"), "{piped:?}");
    assert!(link("signal --new-token", "").out.contains("signal has no token"));
}

#[test]
fn a_signal_while_a_token_is_typed_leaves_a_terminal_that_shows_what_is_typed() {
    use std::io::Read;
    for signal in ["-TERM", "-HUP", "-INT", "-QUIT"] {
        let home = home();
        let command = crate::cli::program(&home);
        let mut shell = crate::cli::terminal_of(&command, "gateway link telegram; echo ENDED $?; stty -a");
        let (mut said, mut seen, mut piece) = (shell.stdout.take().expect("a pipe"), String::new(), [0; 4096]);
        let mut told = false;
        loop {
            let count = said.read(&mut piece).expect("it goes on");
            if count == 0 {
                break;
            }
            seen.push_str(&String::from_utf8_lossy(&piece[..count]));
            if !told && seen.contains("(it is not shown): ") {
                told = true;
                let program = crate::cli::child_of(crate::cli::child_of(shell.id()));
                let sent = std::process::Command::new("kill").args([signal, &program.to_string()]).status();
                assert!(sent.expect("kill is there").success());
            }
        }
        shell.wait().expect("it ends");
        let (_, after) = seen.split_once("ENDED ").expect("the shell goes on");
        let code: i32 = after.split_whitespace().next().and_then(|code| code.parse().ok()).expect("a code");
        let modes: Vec<&str> = after.split_whitespace().collect();
        assert!(code > 128, "{signal} ended it: {seen}");
        for mode in ["echo", "icanon", "isig"] {
            assert!(modes.contains(&mode), "{signal} took {mode}: {seen}");
        }
    }
}

#[test]
fn a_core_that_runs_takes_a_token_from_emacs_and_from_a_terminal() {
    for from_emacs in [true, false] {
        let (home, fake) = (home(), Fake::start());
        let file = home.folder.path().join("config/passepartout/.env");
        let url = format!("http://127.0.0.1:{}", fake.port);
        let mut running = Running::begin(&home, &[("TELEGRAM_URL", url.clone())], None);
        assert!(running.ask(":action :gateways").contains("there is no token: linking it asks for one"));
        let wrong = running.ask(":action :gateway :platform \"telegram\" :do :link :token \"1:AAwrong\"");
        assert!(wrong.contains("does not know this token") && !file.exists(), "{wrong}");
        if from_emacs {
            let ask = format!(":action :gateway :platform \"telegram\" :do :link :token \"{TOKEN}\"");
            let linked = running.ask(&ask);
            assert!(linked.contains("is linked"), "{linked}");
        } else {
            let mut command = crate::cli::program(&home);
            command.env("TELEGRAM_URL", url);
            let terminal = crate::cli::terminal_of(&command, "gateway link telegram");
            let linked = crate::cli::answering(terminal, &format!("{TOKEN}\r"));
            assert!(linked.status == 0 && linked.out.contains("is linked"), "{linked:?}");
        }
        // It is used at once, and told to nobody.
        fake.until(|heard| (!heard.offsets.is_empty()).then_some(()));
        assert!(std::fs::read_to_string(&file).is_ok_and(|text| text.contains(TOKEN)));
        running.ask(":action :gateways");
        let said = running.heard.concat();
        assert!(!said.contains("AAfake") && !said.contains("AAwrong"));
    }
}

/// A model that is still thinking when the core ends.
#[test]
fn what_the_end_of_a_core_cut_off_is_said_once_and_asked_no_more() {
    let (home, fake) = (home(), Fake::start());
    let (begun, asked) = std::sync::mpsc::channel();
    let thinks = says(&["It is serviced in May."])
        .silent_after("It")
        .meanwhile(move || begun.send(()).expect("the test waits for it"));
    let server = FakeServer::start([thinks, says(&["In May."])]);
    let mut running = Running::start_with(&home, &fake, Some(&server));
    running.ask(":action :gateway :platform \"telegram\" :do :link");
    running.let_in(&fake, 1, 7);
    fake.updates(&[update(2, 7, "when is the boiler serviced?")]);
    asked.recv_timeout(Duration::from_secs(60)).expect("the model is asked");
    running.core.stop();
    assert!(fake.until(|heard| Some(heard.sent.is_empty())));
    let running = Running::start_with(&home, &fake, Some(&server));
    let sent = fake.until(|heard| (!heard.sent.is_empty()).then(|| heard.sent.clone()));
    assert!(sent[0].0 == 7 && sent[0].1.contains("ended before it had answered you"), "{sent:?}");
    fake.updates(&[update(3, 7, "when, then?")]);
    let sent = fake.until(|heard| (heard.sent.len() > 1).then(|| heard.sent.clone()));
    assert_eq!((sent.len(), sent[1].1.as_str(), server.requests().len()), (2, "In May.", 2));
    running.core.stop();
}
