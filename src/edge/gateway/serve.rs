//! Serves one messenger: takes what comes, in order and once, runs a turn for each message of who was let in, and answers.

use crate::domain::gateway::seen::Seen;
use crate::domain::gateway::split::split;
use crate::domain::gateway::{Arrived, Meaning, Message, meaning};
use crate::domain::id::SessionId;
use crate::domain::label::Privacy;
use crate::domain::port::LogLevel;
use crate::domain::signal::{Origin, Rights, Role, Said, Source};
use crate::domain::turn::TurnReport;
use crate::edge::engine::Engine;
use crate::edge::engine::gateways::session_of;
use crate::edge::engine::turns::Ask;
use crate::edge::gateway::decide::Desk;
use crate::edge::gateway::{Messenger, Trouble};
use crate::edge::token::may_stand_in;
use jiff::Timestamp;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Mutex, Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Messages of one conversation that may wait; what comes beyond is not taken until there is room for it.
const WAITING: usize = 16;
/// So much of a conversation goes along with a question.
const HISTORY: usize = 20;
/// The time between two messages to anybody, and to one.
const PACE: (Duration, Duration) = (Duration::from_millis(34), Duration::from_secs(1));
/// The first and the longest wait behind trouble.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));
/// So often one message is tried.
const TRIES: u32 = 6;
/// The longest wait after which a message is still sent.
const PATIENCE: Duration = Duration::from_secs(3_600);
/// What is said where an answer drew on what does not leave this machine.
const PRIVATE: &str = "The answer drew on private notes, so it is not sent here; ask in Emacs.";
/// What is said at the next start of what was taken and not answered.
const CUT_OFF: &str = "Passepartout ended before it had answered you. Your last message was not asked again: look in Emacs \
                       what was done, or send it again.";
/// What is said in the place of a plan that could not be sent as long as its token counted.
const TOO_LATE: &str =
    "A plan could not be sent in time, so its token counts no more; /plans shows what waits, with new ones.";
/// What such a channel may do.
pub(in crate::edge) const RIGHTS: Rights = Rights { read: true, propose: true, ..Rights::NONE };

/// Sends, at the pace that a messenger wants.
struct Sender {
    /// As it is linked now.
    messenger: parking_lot::Mutex<Arc<dyn Messenger>>,
    next: Mutex<Option<Instant>>,
}

impl Sender {
    fn messenger(&self) -> Arc<dyn Messenger> {
        self.messenger.lock().clone()
    }

    /// Sends a text in as many messages as it takes, as long as it may be: what was taken back meanwhile holds up the rest.
    async fn say(&self, to: &str, text: &str, may: &(dyn Fn() -> bool + Sync)) -> Result<(), Trouble> {
        for (at, part) in split(text, self.messenger().platform().limit()).iter().enumerate() {
            if at > 0 {
                tokio::time::sleep(PACE.1).await;
            }
            self.send(to, part, may).await?;
        }
        Ok(())
    }

    async fn send(&self, to: &str, part: &str, may: &(dyn Fn() -> bool + Sync)) -> Result<(), Trouble> {
        let mut tried = 0;
        loop {
            self.turn().await;
            if !may() {
                return Ok(());
            }
            let Err(trouble) = self.messenger().send(to, part).await else { return Ok(()) };
            tried += 1;
            let hopeless = match trouble {
                Trouble::Refused | Trouble::Rejected(_) | Trouble::Unsent(_) => true,
                Trouble::Wait(named) | Trouble::Captcha(named) => named > PATIENCE,
                Trouble::Taken | Trouble::Passing(_) => false,
            };
            if tried >= TRIES || hopeless {
                return Err(trouble);
            }
            tokio::time::sleep(wait(&trouble, tried)).await;
        }
    }

    /// Waits until the next message may go.
    async fn turn(&self) {
        let mut next = self.next.lock().await;
        if let Some(at) = *next {
            tokio::time::sleep_until(at).await;
        }
        *next = Some(Instant::now() + PACE.0);
    }
}

/// Returns how long to wait behind trouble: what the server named, or twice as long each time, spread.
fn wait(trouble: &Trouble, tried: u32) -> Duration {
    let chance = f64::from((std::hash::RandomState::new().hash_one(0_u8) >> 32) as u32) / f64::from(u32::MAX);
    match trouble {
        Trouble::Wait(named) | Trouble::Captcha(named) => *named + Duration::from_millis(500).mul_f64(chance),
        Trouble::Refused | Trouble::Taken | Trouble::Rejected(_) | Trouble::Unsent(_) | Trouble::Passing(_) => {
            let doubled = BACK_OFF.0.saturating_mul(1_u32.checked_shl(tried.saturating_sub(1)).unwrap_or(u32::MAX));
            doubled.min(BACK_OFF.1).mul_f64(0.5 + chance / 2.0)
        }
    }
}

/// One messenger that is served. What came and was not answered yet stays here while it is linked again.
pub(in crate::edge) struct Service {
    engine: Weak<Engine>,
    messenger: Arc<dyn Messenger>,
    chats: Chats,
    /// What came and is not taken yet.
    waiting: VecDeque<Arrived>,
    /// It said under what name it is linked.
    named: bool,
    /// Those whose messages were cut off were told.
    told: bool,
}

impl Service {
    pub(in crate::edge) fn new(engine: Weak<Engine>, messenger: Arc<dyn Messenger>) -> Service {
        let sender = Arc::new(Sender { messenger: parking_lot::Mutex::new(messenger.clone()), next: Mutex::default() });
        let chats = Chats { engine: engine.clone(), sender, open: HashMap::new(), tasks: JoinSet::new() };
        Service { engine, messenger, chats, waiting: VecDeque::new(), named: false, told: false }
    }

    /// Goes on with a messenger as it is linked now; with the one that there was, where it is reached the same way.
    pub(in crate::edge) fn link(&mut self, messenger: Arc<dyn Messenger>) {
        self.named = false;
        if self.messenger.identity() == messenger.identity() {
            return;
        }
        if self.messenger.account() != messenger.account() {
            // It is not noted as taken, so the other account brings it again when it is linked.
            self.waiting.clear();
        }
        *self.chats.sender.messenger.lock() = messenger.clone();
        self.messenger = messenger;
    }

    /// Serves until something about it changed, and returns true then; false when its token is refused.
    pub(in crate::edge) async fn run(&mut self, changed: &Notify) -> bool {
        let (platform, mut tried) = (self.messenger.platform(), 0);
        loop {
            let Some(here) = self.engine.upgrade() else { return true };
            let (seen, now) = (here.gateway_seen(platform, self.messenger.account()), here.clock.now());
            drop(here);
            // What was received is there at once or not at all: to be woken meanwhile loses nothing.
            let came = tokio::select! {
                came = self.next(&seen, now) => came,
                () = changed.notified() => return true,
            };
            let Some(here) = self.engine.upgrade() else { return true };
            let some = came.as_ref().is_ok_and(|arrived| !arrived.is_empty());
            let trouble = match came {
                Ok(arrived) => {
                    self.waiting.extend(arrived);
                    self.named = true;
                    if !std::mem::replace(&mut self.told, true) {
                        self.chats.say_cut_off(&here);
                    }
                    self.chats.take(&here, &mut self.waiting).await.err()
                }
                Err(trouble) => Some(trouble),
            };
            let Some(trouble) = trouble else {
                if tried > 0 || some {
                    here.note_gateway(platform, None, "running");
                }
                tried = 0;
                continue;
            };
            tried += 1;
            if tried == 1 || trouble == Trouble::Refused {
                here.say(LogLevel::Warning, &format!("the gateway {}: {trouble}", platform.name()));
            }
            here.note_gateway(platform, None, &trouble.to_string());
            drop(here);
            if trouble == Trouble::Refused {
                return false;
            }
            tokio::select! {
                () = tokio::time::sleep(wait(&trouble, tried)) => {}
                () = changed.notified() => return true,
            }
        }
    }

    /// Returns what comes next; nothing, when it said its name only.
    async fn next(&self, seen: &Seen, now: Timestamp) -> Result<Vec<Arrived>, Trouble> {
        match (self.named, self.waiting.front()) {
            // What found no room, or could not be stored, comes from nowhere else again.
            (true, Some(first)) => {
                self.chats.room_for(first).await;
                Ok(Vec::new())
            }
            (true, None) => self.messenger.receive(seen, now).await.map(|arrived| seen.fresh(arrived)),
            (false, _) => {
                let name = self.messenger.linked_as().await?;
                let platform = self.messenger.platform();
                self.engine.upgrade().iter().for_each(|here| here.note_gateway(platform, Some(&name), "running"));
                Ok(Vec::new())
            }
        }
    }
}

/// The conversations of a messenger; they end with it.
struct Chats {
    engine: Weak<Engine>,
    sender: Arc<Sender>,
    open: HashMap<String, mpsc::Sender<Message>>,
    tasks: JoinSet<()>,
}

impl Chats {
    /// Takes what came, in order. That it came is stored first: what was begun is never begun again. What could not be
    /// stored, or has no room in its conversation, stays there, and all behind it: a number says that what has a smaller
    /// one was taken.
    async fn take(&mut self, engine: &Arc<Engine>, arrived: &mut VecDeque<Arrived>) -> Result<(), Trouble> {
        let platform = self.sender.messenger().platform();
        while let Some(one) = arrived.front() {
            let unstored = |_| Trouble::Passing("what came cannot be noted in the store, so nothing is taken");
            let message = match one.message.clone().filter(|message| engine.gateway_lets_in(platform, message)) {
                Some(message) => {
                    let Ok(room) = self.way_to(&message.sender).try_reserve_owned() else { return Ok(()) };
                    Some((message, room))
                }
                None => None,
            };
            // Before it counts as taken: what a core that ends between the two leaves behind is said to be cut off.
            if let Some((message, _)) = &message {
                engine.count_open(platform, &message.sender, 1).await;
            }
            let marked = match one.mark.is_kept(message.is_some()) {
                true => engine.mark_gateway(platform, self.sender.messenger().account(), &one.mark).await,
                false => Ok(()),
            };
            if let Err(why) = marked {
                if let Some((message, _)) = message {
                    engine.count_open(platform, &message.sender, -1).await;
                }
                return Err(unstored(why));
            }
            arrived.pop_front();
            if let Some((message, room)) = message {
                room.send(message);
            }
        }
        Ok(())
    }

    /// Tells those whose messages were cut off when this was served last. Nothing of theirs is asked again: what was begun
    /// may have been done.
    fn say_cut_off(&mut self, engine: &Arc<Engine>) {
        let platform = self.sender.messenger().platform();
        for (chat, open) in engine.cut_off(platform) {
            let (engine, sender) = (engine.clone(), self.sender.clone());
            self.tasks.spawn(async move {
                let told = sender.say(&chat, CUT_OFF, &|| engine.gateway_allows(platform, &chat)).await;
                // Where it could not be said, it is tried at the next start.
                if told.is_ok() {
                    engine.count_open(platform, &chat, -open).await;
                }
            });
        }
    }

    /// Returns the way into a conversation, which begins with it where there is none.
    fn way_to(&mut self, chat: &str) -> mpsc::Sender<Message> {
        while self.tasks.try_join_next().is_some() {}
        if let Some(into) = self.open.get(chat).filter(|into| !into.is_closed()) {
            return into.clone();
        }
        let (into, messages) = mpsc::channel(WAITING);
        self.tasks.spawn(converse(self.engine.clone(), self.sender.clone(), chat.to_string(), messages));
        self.open.insert(chat.to_string(), into.clone());
        into
    }

    /// Waits until there is room in the conversation of what came; where there is none yet, or it has ended, there is.
    async fn room_for(&self, one: &Arrived) {
        let into = one.message.as_ref().and_then(|message| self.open.get(&message.sender));
        if let Some(into) = into {
            // Nobody else takes it meanwhile. One that has ended is begun anew when this is taken.
            let _ = into.reserve().await;
        }
    }
}

/// What was said in a conversation, as far as it goes along with a question.
pub(super) type History = VecDeque<Said>;

/// Answers the messages of one conversation, one after the other.
async fn converse(engine: Weak<Engine>, sender: Arc<Sender>, chat: String, mut messages: mpsc::Receiver<Message>) {
    let platform = sender.messenger().platform();
    let mut history = History::new();
    let Some(mut desk) = engine.upgrade().map(|here| Desk::new(&here, platform, &chat)) else { return };
    while let Some(message) = messages.recv().await {
        let Some(here) = engine.upgrade() else { return };
        // Who was allowed when the message came may not be any more.
        if !here.gateway_allows(platform, &chat) {
            here.count_open(platform, &chat, -1).await;
            continue;
        }
        let texts = match desk.heard(&here, message.text.as_deref().unwrap_or(""), &mut history).await {
            Some(texts) => texts,
            None => match meaning(&message) {
                Meaning::Say(text) => vec![text.to_string()],
                Meaning::Ask(text) => answer(&here, &mut desk, session_of(platform, &chat), text, &mut history).await,
            },
        };
        for (at, text) in texts.iter().enumerate() {
            if at > 0 {
                tokio::time::sleep(PACE.1).await;
            }
            let (grant, of_plan) = (desk.grant(), may_stand_in(text));
            // A plan goes nowhere once the sender may not decide any more, or not as it may since, nor when its token counts no
            // more.
            let granted = || !of_plan || here.gateway_decides(platform, &chat) == grant;
            let until = if of_plan { desk.until(text) } else { None };
            let late = AtomicBool::new(false);
            let in_time = || {
                let counts = until.is_none_or(|until| here.clock.now() < until);
                late.fetch_or(!counts, Ordering::Relaxed);
                counts
            };
            let allowed = || here.gateway_allows(platform, &chat);
            let mut sent = sender.say(&chat, text, &|| allowed() && granted() && in_time()).await;
            if sent.is_ok() && late.load(Ordering::Relaxed) {
                sent = sender.say(&chat, TOO_LATE, &allowed).await;
            }
            if let Err(trouble) = sent {
                here.say(LogLevel::Warning, &format!("an answer could not be sent by {}: {trouble}", platform.name()));
                here.note_gateway(platform, None, &trouble.to_string());
                break;
            }
        }
        here.count_open(platform, &chat, -1).await;
        drop(here);
        tokio::time::sleep(PACE.1).await;
    }
}

/// Runs the turn of a message, and returns what is sent.
async fn answer(
    engine: &Arc<Engine>,
    desk: &mut Desk,
    session: SessionId,
    text: String,
    history: &mut History,
) -> Vec<String> {
    let origin = Origin { source: Source::Gateway, session, rights: RIGHTS };
    let past = history.iter().cloned().collect();
    let ask = Ask {
        origin,
        text: text.clone(),
        history: past,
        older: Default::default(),
        folder: None,
        attached: Vec::new(),
        pictures: Vec::new(),
        wishes: Default::default(),
    };
    let report = engine.ask(ask, engine.new_turn(), &mut |_| {}).await.report;
    note(history, Some(text), &report);
    let offer = desk.offer(engine, &report.plans).await;
    let said = told(engine, &report).into_iter().chain(offer.said).collect::<Vec<_>>().join("\n\n");
    match said.is_empty() && offer.plan.is_none() {
        true => vec!["Nothing was said; Emacs has what was done.".to_string()],
        false => [said].into_iter().filter(|said| !said.is_empty()).chain(offer.plan).collect(),
    }
}

/// Takes note of what was said, for the next question. What is said behind a decision belongs to the answer before it.
pub(super) fn note(history: &mut History, asked: Option<String>, report: &TurnReport) {
    let (privacy, text) = (report.conversation.labels.privacy, report.text.clone());
    match (asked, history.back_mut().filter(|last| last.role == Role::Assistant)) {
        (None, Some(last)) => {
            last.text = format!("{}\n\n{text}", last.text).trim().to_string();
            last.privacy = last.privacy.max(privacy);
        }
        (asked, _) => {
            let said = asked.map(|text| (Role::User, text)).into_iter().chain([(Role::Assistant, text)]);
            history.extend(said.map(|(role, text)| Said { role, text, privacy, aside: false }));
        }
    }
    while history.len() > HISTORY {
        history.pop_front();
    }
}

/// Returns what of a turn is said in a chat; nothing of one that drew on what stays on this machine.
pub(super) fn told(engine: &Engine, report: &TurnReport) -> Option<String> {
    if report.conversation.labels.privacy > Privacy::ELSEWHERE {
        return Some(PRIVATE.to_string());
    }
    let parts = [Some(&report.text), report.notice.as_ref()].into_iter().flatten();
    let said: Vec<&str> = parts.map(|part| part.as_str()).filter(|part| !part.trim().is_empty()).collect();
    (!said.is_empty()).then(|| engine.masked(&said.join("\n\n")))
}
