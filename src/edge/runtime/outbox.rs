//! Messages that wait for a client: bounded, in order, and one wake-up for as many as have come.
//!
//! A client may take nothing for minutes: Emacs in a long command, a stopped process. What only tells how things
//! stand gives way to what tells it newer; what is shown elsewhere too is left out, with a note; what must arrive
//! (the end of a turn, an answer) comes in a short form at the worst.

use crate::domain::port::Streamed;
use crate::domain::sexp::plist::{Plist, message};
use crate::domain::sexp::reader::{MAX_BYTES, Sexp};
use crate::edge::wire::number::LONGER;
use parking_lot::Mutex;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};
use tokio::sync::{Notify, watch};

/// Streamed text is joined into messages of at most this many bytes.
const CHUNK: usize = 8 * 1024;
/// Streamed text that comes longer than this at one go is told in several messages.
const PIECE: usize = 1 << 20;
/// A message of at most this many bytes is as short as a short form.
const SHORT: usize = 1024;
/// How many plans are named whose messages were left out.
const NAMED: usize = 50;

/// From how many waiting bytes on what is done.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Of two messages about one plan only the newer is kept.
    pub pressed: usize,
    /// Streamed text and lines of the log are left out, with a note: the turn and the log keep them.
    pub most: usize,
    /// Plans are left out, with a note that names them, and everything else comes in a short form.
    pub full: usize,
    /// Nothing more is taken; a note says how much was lost.
    pub shut: usize,
    /// No longer message is sent: it comes in a short form, and a plan by its name.
    pub message: usize,
}

impl Limits {
    /// The limits towards Emacs.
    pub const USUAL: Limits =
        Limits { pressed: 1 << 20, most: 32 << 20, full: 64 << 20, shut: 72 << 20, message: usize::MAX };
    /// The limits towards a client at the other end of a connection; it is cut off when it is shut out. A message fits
    /// into a frame with the number that it may have there.
    pub const JOINED: Limits =
        Limits { pressed: 1 << 20, most: 8 << 20, full: 16 << 20, shut: 18 << 20, message: MAX_BYTES - LONGER };
}

/// What a message is about, when a newer one about the same makes it needless.
#[derive(PartialEq, Eq)]
enum About {
    Status,
    Plan { id: String, parked: bool },
}

enum Item {
    Message(Option<About>, String),
    /// A question of ours by its number; it can be withdrawn until it is taken.
    Question(u64, String),
    Chunk {
        session: String,
        turn: String,
        /// The field in which the text goes: `text` or `thought`.
        field: &'static str,
        text: String,
    },
}

impl Item {
    fn weight(&self) -> usize {
        match self {
            Item::Message(_, text) | Item::Question(_, text) | Item::Chunk { text, .. } => text.len(),
        }
    }
}

/// What did not reach the client.
#[derive(Default)]
struct Left {
    streamed: bool,
    lines: usize,
    plans: BTreeSet<String>,
    lost: usize,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
    left: Left,
}

/// The queue towards one client.
pub struct Outbox {
    queue: Mutex<Queue>,
    limits: Limits,
    /// Something was taken.
    taken: Notify,
    /// Something was lost; for whoever asks, however often.
    overflow: watch::Sender<bool>,
    /// The name below which the client's conversations stand; it knows them by what it called them.
    below: OnceLock<String>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Outbox {
    /// Makes a queue; `wake` is called when something was put in, and must not block.
    pub fn new(wake: Box<dyn Fn() + Send + Sync>) -> Arc<Outbox> {
        Outbox::with_limits(Limits::USUAL, wake)
    }

    /// Makes a queue with limits of its own.
    pub fn with_limits(limits: Limits, wake: Box<dyn Fn() + Send + Sync>) -> Arc<Outbox> {
        let (taken, overflow, below) = (Notify::new(), watch::Sender::new(false), OnceLock::new());
        Arc::new(Outbox { queue: Mutex::default(), limits, taken, overflow, below, wake })
    }

    /// From now on conversations whose names stand below this one are named as the client called them.
    pub fn speak_below(&self, name: &str) {
        // It is said once, when the client comes.
        let _ = self.below.set(format!("{name}/"));
    }

    /// Returns the name of a conversation as the client called it.
    fn called<'a>(&self, session: &'a str) -> &'a str {
        self.below.get().and_then(|below| session.strip_prefix(below.as_str())).unwrap_or(session)
    }

    /// Returns a payload, or a plan in it, with the name of its conversation as the client called it.
    fn with_called(&self, payload: Sexp) -> Sexp {
        let Sexp::List(mut items) = payload else { return payload };
        if self.below.get().is_some() {
            for pair in items.chunks_exact_mut(2) {
                match pair {
                    [Sexp::Keyword(key), Sexp::Str(name)] if key.as_str() == "session" => {
                        let called = self.called(name).to_string();
                        pair[1] = Sexp::text(called);
                    }
                    [Sexp::Keyword(key), plan] if key.as_str() == "plan" => {
                        let whole = std::mem::replace(plan, Sexp::Nil);
                        *plan = self.with_called(whole);
                    }
                    _ => {}
                }
            }
        }
        Sexp::List(items)
    }

    /// Returns how many bytes wait.
    pub fn bytes(&self) -> usize {
        self.queue.lock().bytes
    }

    /// Puts in a message of another process, as it is.
    pub fn pass(&self, text: String) {
        let status = text.starts_with("(:type :status ");
        let mut queue = self.queue.lock();
        if status {
            queue.forget_status();
        }
        queue.put(Item::Message(status.then_some(About::Status), text));
        drop(queue);
        (self.wake)();
    }

    /// Waits until at most so many bytes wait.
    pub async fn room(&self, bytes: usize) {
        while self.bytes() > bytes {
            self.taken.notified().await;
        }
    }

    /// Waits until messages were lost because the client took none.
    pub async fn overflow(&self) {
        // It lives as long as this does, so the wait ends for no other reason.
        let _ = self.overflow.subscribe().wait_for(|lost| *lost).await;
    }

    /// Puts a message in.
    pub fn send(&self, kind: &str, session: Option<&str>, payload: Plist) {
        let (payload, session) = (self.with_called(payload.build()), session.map(|session| self.called(session)));
        let limits = self.limits;
        let mut queue = self.queue.lock();
        match (kind, about(kind, &payload)) {
            (_, Some(About::Status)) => {
                queue.forget_status();
                queue.push(limits, Some(About::Status), whole(kind, session, payload));
            }
            (_, Some(About::Plan { id, .. })) if queue.bytes > limits.full => queue.left.name(id),
            (_, Some(About::Plan { id, parked })) => {
                let place = (queue.bytes > limits.pressed).then(|| queue.place_of(&id)).flatten();
                // The first word of a plan stays the first, and says how it stands now.
                let (parked, payload) = match place {
                    Some((_, was_parked)) => (parked || was_parked, as_action(&payload, parked || was_parked)),
                    None => (parked, payload),
                };
                let text = whole(kind, session, payload);
                match place {
                    _ if text.len() > limits.message => queue.left.name(id),
                    Some((at, _)) => queue.replace(at, Item::Message(Some(About::Plan { id, parked }), text)),
                    None => queue.push(limits, Some(About::Plan { id, parked }), text),
                }
            }
            ("log", None) if queue.bytes > limits.most => queue.left.lines += 1,
            (_, None) => {
                let text = whole(kind, session, payload.clone());
                let text = match (text.len() > limits.message, queue.bytes > limits.full && text.len() > SHORT) {
                    (true, _) => whole(kind, session, short_form(&payload, LONG)),
                    (false, true) => whole(kind, session, short_form(&payload, LATE)),
                    (false, false) => text,
                };
                queue.push(limits, None, text);
            }
        }
        let lost = queue.left.lost > 0;
        drop(queue);
        if lost {
            self.overflow.send_replace(true);
        }
        (self.wake)();
    }

    /// Puts a question in, under a number that no other question has; returns whether it is short enough to be sent.
    pub fn ask(&self, number: u64, payload: Plist) -> bool {
        let text = message("request", payload).build().to_string();
        if text.len() > self.limits.message {
            return false;
        }
        // Each has someone who waits, and is withdrawn when he no longer does: there are never many.
        self.queue.lock().put(Item::Question(number, text));
        (self.wake)();
        true
    }

    /// Takes a question back; returns whether it was still here, so that nobody will ever see it.
    pub fn withdraw(&self, number: u64) -> bool {
        let mut queue = self.queue.lock();
        let ours = |item: &Item| matches!(item, Item::Question(other, _) if *other == number);
        let Some(at) = queue.items.iter().position(ours) else { return false };
        queue.remove(at);
        true
    }

    /// Puts streamed text in; it is joined with what waits of the same turn and kind.
    pub fn stream(&self, session: &str, turn: &str, streamed: Streamed<'_>) {
        let (field, text) = match streamed {
            Streamed::Text(text) => ("text", text),
            Streamed::Thought(text) => ("thought", text),
            // It is a message of its own.
            Streamed::Act(_) => return,
        };
        if text.is_empty() {
            return;
        }
        let mut queue = self.queue.lock();
        if queue.bytes > self.limits.most {
            queue.left.streamed = true;
            return;
        }
        for text in pieces(text) {
            let joined = match queue.items.back_mut() {
                Some(Item::Chunk { turn: last, field: of, text: waiting, .. })
                    if last == turn && *of == field && waiting.len() + text.len() <= CHUNK =>
                {
                    waiting.push_str(text);
                    true
                }
                _ => false,
            };
            if joined {
                queue.bytes += text.len();
            } else {
                let (session, turn, text) = (self.called(session).to_string(), turn.to_string(), text.to_string());
                queue.put(Item::Chunk { session, turn, field, text });
            }
        }
        drop(queue);
        (self.wake)();
    }

    /// Returns waiting messages, at most about `bytes` of them, at least one if there is any.
    pub fn receive(&self, bytes: usize) -> Vec<String> {
        let mut queue = self.queue.lock();
        let mut taken = Vec::new();
        let mut size = 0;
        while size < bytes.max(1) {
            let Some(item) = queue.items.pop_front() else { break };
            queue.bytes = queue.bytes.saturating_sub(item.weight());
            let text = match item {
                Item::Message(_, text) | Item::Question(_, text) => text,
                Item::Chunk { session, turn, field, text } => chunk(&session, &turn, field, &text),
            };
            size += text.len();
            taken.push(text);
        }
        if queue.items.is_empty() {
            taken.extend(std::mem::take(&mut queue.left).notes());
        }
        drop(queue);
        self.taken.notify_one();
        taken
    }
}

impl Queue {
    fn put(&mut self, item: Item) {
        self.bytes += item.weight();
        self.items.push_back(item);
    }

    fn push(&mut self, limits: Limits, about: Option<About>, text: String) {
        // Of what is too long even in its short form, as a client's own names in it are, nothing can be said.
        if self.bytes > limits.shut || text.len() > limits.message {
            self.left.lost += 1;
        } else {
            self.put(Item::Message(about, text));
        }
    }

    fn remove(&mut self, at: usize) {
        let weight = self.items.remove(at).map_or(0, |item| item.weight());
        self.bytes = self.bytes.saturating_sub(weight);
    }

    fn replace(&mut self, at: usize, item: Item) {
        if let Some(old) = self.items.get_mut(at) {
            self.bytes = self.bytes.saturating_sub(old.weight()).saturating_add(item.weight());
            *old = item;
        }
    }

    fn forget_status(&mut self) {
        let status = |item: &Item| matches!(item, Item::Message(Some(About::Status), _));
        if let Some(at) = self.items.iter().rposition(status) {
            self.remove(at);
        }
    }

    /// Returns where a message about a plan waits, and whether it says that the plan was parked.
    fn place_of(&self, plan: &str) -> Option<(usize, bool)> {
        self.items.iter().enumerate().rev().find_map(|(at, item)| match item {
            Item::Message(Some(About::Plan { id, parked }), _) if id == plan => Some((at, *parked)),
            Item::Message(..) | Item::Question(..) | Item::Chunk { .. } => None,
        })
    }
}

impl Left {
    fn name(&mut self, plan: String) {
        if self.plans.len() < NAMED {
            self.plans.insert(plan);
        }
    }

    /// Says what did not reach the client, and where it can be seen.
    fn notes(self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.streamed {
            notes.push("Part of a streamed answer was not shown, because Emacs did not take it in time.".to_string());
        }
        if self.lines > 0 {
            notes.push(format!(
                "{} lines of the log were not sent in time; the last of them can be asked for.",
                self.lines
            ));
        }
        if !self.plans.is_empty() {
            let plans: Vec<String> = self.plans.into_iter().collect();
            notes.push(format!(
                "What became of these plans was not sent in time: {}; list the plans to see how they stand.",
                plans.join(", ")
            ));
        }
        if self.lost > 0 {
            notes.push(format!(
                "{} messages were lost, because Emacs took none for too long; start Passepartout again if something looks unfinished.",
                self.lost
            ));
        }
        let note = |text| message("log", Plist::new().text("level", "warning").text("text", text)).build().to_string();
        notes.into_iter().map(note).collect()
    }
}

/// Returns what a message is about, when a newer one about the same makes it needless.
fn about(kind: &str, payload: &Sexp) -> Option<About> {
    match (kind, payload.name_at("action")) {
        ("status", _) => Some(About::Status),
        ("event", Some(action @ ("plan-parked" | "plan-changed"))) => {
            let id = payload.get("plan")?.text_at("id")?.to_string();
            Some(About::Plan { id, parked: action == "plan-parked" })
        }
        _ => None,
    }
}

fn as_action(payload: &Sexp, parked: bool) -> Sexp {
    let plan = payload.get("plan").cloned().unwrap_or(Sexp::Nil);
    Plist::new().keyword("action", if parked { "plan-parked" } else { "plan-changed" }).value("plan", plan).build()
}

/// Why a message comes in a short form.
const LATE: &str = "The rest was left out, because Emacs took no messages for too long; ask for it again.";
const LONG: &str = "The rest was left out, because it is too long for one message; ask for less at once.";

/// Returns what of a message must arrive: what it answers or ends, and why the rest was left out.
fn short_form(payload: &Sexp, why: &str) -> Sexp {
    // A client may have asked for something with a name as long as a message.
    let action = payload.name_at("action").filter(|action| action.len() <= SHORT).unwrap_or("unknown");
    let short = Plist::new()
        .keyword("action", action)
        .maybe("turn", payload.text_at("turn"))
        .maybe("status", payload.text_at("status"))
        .flag("private", payload.flag_at("private"));
    match payload.int_at("request") {
        Some(number) => short.int("request", number).text("error", why),
        None => short.text("text", why),
    }
    .build()
}

fn whole(kind: &str, session: Option<&str>, payload: Sexp) -> String {
    let whole = Plist::new().keyword("type", kind);
    let whole = match session {
        Some(session) => whole.plist("meta", Plist::new().text("session-id", session)),
        None => whole,
    };
    whole.value("payload", payload).build().to_string()
}

/// Returns a text in pieces of at most [`PIECE`] bytes.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE));
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns a `stream-chunk`; the empty text ends a stream.
fn chunk(session: &str, turn: &str, field: &str, text: &str) -> String {
    whole("stream-chunk", Some(session), Plist::new().text("turn", turn).text(field, text).build())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    const SMALL: Limits = Limits { pressed: 2_000, most: 6_000, full: 12_000, shut: 20_000, message: usize::MAX };
    /// The largest message that [`Step`] makes, and its envelope.
    const LARGEST: usize = 2_200;

    #[derive(Clone, Debug)]
    enum Step {
        Status,
        Line(usize),
        Plan(u8, bool, usize),
        Done(usize),
        Answer(usize),
        Stream(u8, usize),
        Ask,
        Withdraw,
        Take(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let size = || 0..2_000_usize;
        prop_oneof![
            4 => Just(Step::Status),
            4 => size().prop_map(Step::Line),
            4 => (0..4_u8, any::<bool>(), size()).prop_map(|(id, parked, size)| Step::Plan(id, parked, size)),
            4 => size().prop_map(Step::Done),
            4 => size().prop_map(Step::Answer),
            8 => (0..3_u8, size()).prop_map(|(turn, size)| Step::Stream(turn, size)),
            1 => Just(Step::Ask),
            1 => Just(Step::Withdraw),
            2 => (0..4_000_usize).prop_map(Step::Take),
        ]
    }

    /// What was sent, to be compared with what arrives.
    #[derive(Default)]
    struct Sent {
        count: i64,
        must: Vec<i64>,
        status: Option<i64>,
        plans: HashMap<String, i64>,
        streamed: HashMap<String, String>,
    }

    fn carry_out(outbox: &Outbox, sent: &mut Sent, step: &Step) -> Vec<String> {
        sent.count += 1;
        let n = sent.count;
        match step {
            Step::Status => {
                sent.status = Some(n);
                outbox.send("status", None, Plist::new().int("pending", n));
            }
            Step::Line(size) => outbox.send("log", None, Plist::new().text("text", "l".repeat(*size))),
            Step::Plan(id, parked, size) => {
                let id = format!("P{id}");
                sent.plans.insert(id.clone(), n);
                let plan = Plist::new().text("id", id).int("at", n).text("body", "b".repeat(*size));
                let action = if *parked { "plan-parked" } else { "plan-changed" };
                outbox.send("event", Some("s"), Plist::new().keyword("action", action).plist("plan", plan));
            }
            Step::Done(size) => {
                sent.must.push(n);
                let done = Plist::new().keyword("action", "turn-done").text("turn", n.to_string());
                outbox.send("response", Some("s"), done.text("status", "answered").text("text", "d".repeat(*size)));
            }
            Step::Answer(size) => {
                sent.must.push(n);
                let answer = Plist::new().keyword("action", "trace").int("request", n);
                outbox.send("response", Some("s"), answer.text("turns", "a".repeat(*size)));
            }
            Step::Stream(turn, size) => {
                let text = format!("{n}:{}", "x".repeat(*size));
                sent.streamed.entry(turn.to_string()).or_default().push_str(&text);
                outbox.stream("s", &turn.to_string(), Streamed::Text(&text));
            }
            Step::Ask => {
                outbox.ask(7, Plist::new().keyword("action", "buffer-state").int("request", 7));
            }
            Step::Withdraw => {
                outbox.withdraw(7);
            }
            Step::Take(bytes) => return outbox.receive(*bytes),
        }
        Vec::new()
    }

    proptest! {
        #[test]
        fn it_is_bounded_and_what_must_arrive_arrives_in_order(steps in proptest::collection::vec(step(), 0..300)) {
            let outbox = Outbox::with_limits(SMALL, Box::new(|| {}));
            let mut sent = Sent::default();
            let mut heard = Vec::new();
            for step in &steps {
                let taken = carry_out(&outbox, &mut sent, step);
                let statuses = taken.iter().filter(|text| text.starts_with("(:type :status ")).count();
                prop_assert!(statuses <= 1, "of the statuses that wait only the newest is kept");
                heard.extend(taken);
                prop_assert!(outbox.bytes() <= SMALL.shut + LARGEST, "{} bytes wait", outbox.bytes());
            }
            heard.extend(outbox.receive(usize::MAX));
            prop_assert_eq!(outbox.bytes(), 0);
            let heard: Vec<Sexp> = heard.iter().map(|text| Sexp::read(text).expect("it can be read")).collect();
            let payloads = || heard.iter().filter_map(|m| Some((m.name_at("type")?, m.get("payload")?)));
            let notes: String = payloads().filter(|(kind, _)| *kind == "log").filter_map(|(_, p)| p.text_at("text")).collect();

            let must: Vec<i64> = payloads()
                .filter(|(kind, _)| *kind == "response")
                .filter_map(|(_, p)| p.int_at("request").or_else(|| p.text_at("turn")?.parse().ok()))
                .collect();
            if notes.contains("messages were lost") {
                prop_assert!(must.is_sorted() && must.iter().all(|n| sent.must.contains(n)));
            } else {
                prop_assert_eq!(&must, &sent.must);
                let last = payloads().rfind(|(kind, _)| *kind == "status").and_then(|(_, p)| p.int_at("pending"));
                prop_assert_eq!(last, sent.status, "the newest status arrives");
                for (id, newest) in &sent.plans {
                    let mut of_plan = payloads().filter_map(|(_, p)| p.get("plan")).filter(|p| p.text_at("id") == Some(id));
                    let last = of_plan.next_back().and_then(|plan| plan.int_at("at"));
                    prop_assert!(last == Some(*newest) || notes.contains(id.as_str()), "{id}: {last:?}, not {newest}");
                }
            }
            for (turn, whole) in &sent.streamed {
                let arrived: String = payloads()
                    .filter(|(kind, p)| *kind == "stream-chunk" && p.text_at("turn") == Some(turn))
                    .filter_map(|(_, p)| p.text_at("text"))
                    .collect();
                prop_assert!(arrived == *whole || notes.contains("streamed answer was not shown"));
            }
        }
    }

    #[test]
    fn a_plan_that_was_parked_and_decided_while_nobody_looked_is_told_once() {
        let outbox = Outbox::with_limits(Limits { pressed: 0, ..SMALL }, Box::new(|| {}));
        let tell = |action: &str, status: &str| {
            let plan = Plist::new().text("id", "P1").text("status", status);
            outbox.send("event", None, Plist::new().keyword("action", action).plist("plan", plan));
        };
        tell("plan-parked", "pending");
        outbox.send("response", None, Plist::new().keyword("action", "turn-done").text("turn", "T1"));
        tell("plan-changed", "approved");
        tell("plan-changed", "done");
        let heard = outbox.receive(usize::MAX);
        assert_eq!(heard.len(), 2, "{heard:?}");
        assert!(heard[0].contains(":plan-parked") && heard[0].contains("\"done\""), "{heard:?}");
        assert!(heard[1].contains(":turn-done"), "{heard:?}");
    }

    /// Whatever is told and however long it is, what goes out fits into a frame with its number.
    #[test]
    fn whatever_is_too_long_for_a_frame_comes_in_a_short_form_or_is_named() {
        type Tell = fn(&Outbox);
        let quotes = || "\"".repeat(3 << 20);
        let cases: [(&str, Tell, &[&str]); 6] = [
            (
                "an answer",
                |outbox| {
                    let answer = Plist::new().keyword("action", "trace").int("request", 7);
                    outbox.send("response", Some("s"), answer.text("turns", "x".repeat(MAX_BYTES)));
                },
                &[":action :trace", ":request 7", "too long for one message"],
            ),
            (
                "an answer to who asks for something with a long name",
                |outbox| {
                    let answer = Plist::new().text("action", "x".repeat(MAX_BYTES)).int("request", 7);
                    outbox.send("response", Some("s"), answer);
                },
                &[":action :unknown", ":request 7"],
            ),
            (
                "a plan",
                |outbox| {
                    let plan = Plist::new().text("id", "P1").text("body", "x".repeat(MAX_BYTES));
                    outbox.send("event", None, Plist::new().keyword("action", "plan-parked").plist("plan", plan));
                },
                &[":type :log", "P1", "list the plans"],
            ),
            (
                "a plan of which a word waits already",
                |outbox| {
                    let news = |action: &str, size: usize| {
                        let plan = Plist::new().text("id", "P1").text("body", "x".repeat(size));
                        outbox.send("event", None, Plist::new().keyword("action", action).plist("plan", plan));
                    };
                    news("plan-parked", 2 << 20);
                    news("plan-changed", MAX_BYTES);
                },
                &[":action :plan-parked", ":type :log", "list the plans"],
            ),
            (
                "a question",
                |outbox| {
                    let edits = Plist::new().keyword("action", "buffer-edit").text("edits", "x".repeat(MAX_BYTES));
                    assert!(!outbox.ask(7, edits), "who asks is told so");
                },
                &[],
            ),
            (
                "a line of the log",
                |outbox| outbox.send("log", None, Plist::new().text("text", "x".repeat(MAX_BYTES))),
                &[":type :log", "too long for one message"],
            ),
        ];
        let fits = |what: &str, heard: &[String]| {
            for text in heard {
                assert!(text.len() + LONGER <= MAX_BYTES, "{what}: {} bytes", text.len());
            }
        };
        for (what, tell, expected) in cases {
            let outbox = Outbox::with_limits(Limits::JOINED, Box::new(|| {}));
            tell(&outbox);
            let heard = outbox.receive(usize::MAX);
            fits(what, &heard);
            let all = heard.concat();
            assert!(expected.iter().all(|words| all.contains(words)), "{what}: {}", all.get(..500).unwrap_or(&all));
            assert_eq!(heard.is_empty(), expected.is_empty(), "{what}");
        }
        // Streamed text is told whole, in several messages.
        let outbox = Outbox::with_limits(Limits::JOINED, Box::new(|| {}));
        outbox.stream("s", "T1", Streamed::Text(&quotes()));
        let heard = outbox.receive(usize::MAX);
        fits("streamed text", &heard);
        let told = |text: &String| {
            let message = Sexp::read(text).expect("it can be read");
            message.get("payload").and_then(|payload| payload.text_at("text")).expect("a text").to_string()
        };
        assert_eq!(heard.iter().map(told).collect::<String>(), quotes());
        // Who names a conversation by what no frame holds beside it is cut off.
        outbox.send(
            "response",
            Some(&"s".repeat(MAX_BYTES)),
            Plist::new().keyword("action", "trace").int("request", 7),
        );
        fits("a long name", &outbox.receive(usize::MAX));
        for connection in ["one that was just left", "the one that goes on"] {
            assert!(futures_util::FutureExt::now_or_never(outbox.overflow()).is_some(), "{connection}");
        }
    }
}
