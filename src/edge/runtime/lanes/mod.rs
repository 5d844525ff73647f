//! One lane a session: its turns run in the order in which they came, beside those of other sessions.

mod asked;
mod heard;
mod telling;
mod turn;

use crate::domain::id::{SessionId, TurnId};
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::Origin;
use crate::domain::turn::Ending;
use crate::domain::turn::earlier::Older;
use crate::edge::engine::Engine;
use crate::edge::engine::commands::runs_beside;
use crate::edge::engine::decisions::MAY_NOT_DECIDE;
use crate::edge::engine::delegation::{Reported, shown_in};
use crate::edge::engine::once::Once;
use crate::edge::engine::presets::Wishes;
use crate::edge::engine::turns::{Ask, Decided, first_line};
use crate::edge::runtime::Event;
use crate::edge::runtime::capacity::Place;
use crate::edge::runtime::clients::{ClientId, Clients};
use crate::edge::runtime::lanes::asked::{bytes_of, folder_in};
use crate::edge::runtime::lanes::heard::{Heard, Hearer};
use crate::edge::runtime::lanes::turn::Turn;
use futures_util::FutureExt;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

pub(super) use asked::{asked, older_in, privacy_at, said_in};

/// How long a stopped turn may take to end.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// In which form the words of a model are shown.
#[derive(Default, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Markup {
    /// As they were written.
    #[default]
    AsWritten,
    /// As Org, whatever they were written in.
    Org,
}

/// What a lane has to do.
struct Task {
    /// Who set it off, and who asked the same again by its name.
    wanted: Vec<Who>,
    work: Work,
    /// What it takes of the room of who set it off; `None` of what is not counted.
    place: Option<Place>,
    /// So many questions it stands for that were not taken on, and its words say why; 0 of all else.
    refused: usize,
}

/// Of one client at most so many refusals in a row wait behind questions that its client does not know begun; what comes
/// beyond is answered out of its turn.
const REFUSED_MOST: usize = 1_000;
/// What a text, or a name, costs beside its bytes.
const EACH: usize = 64;

/// A client, and the conversation as it knows it: who joins a turn by its name may have called its own otherwise.
#[derive(Clone)]
struct Who {
    client: ClientId,
    called: SessionId,
    /// How answers are shown there.
    markup: Markup,
}

impl Who {
    /// A client in a conversation of its own.
    fn of(client: ClientId, session: &SessionId) -> Who {
        Who { client, called: session.clone(), markup: Markup::AsWritten }
    }
}

enum Work {
    /// A question.
    Ask(Box<Ask>, Wanted),
    Decide {
        origin: Origin,
        /// The steps that it is about, by plan.
        plans: Vec<String>,
        /// `Err` when it does not count, and why.
        decided: Result<Vec<(String, Decided)>, String>,
    },
    /// A line of a REPL, and where it was typed.
    Repl { origin: Origin, line: String, folder: Option<PathBuf> },
    /// Says something of our own about what was typed here.
    Say(String),
    /// Tells what came of work that was handed over here.
    Report(Box<Reported>),
}

/// What is wanted of a question beside its answer.
#[derive(Default)]
struct Wanted {
    /// Its name, when it is asked once, whatever becomes of this core.
    once: Option<Once>,
    /// What the answer is to replace, and who asked: then its words are wanted as they are there, too.
    exact: Option<(ClientId, Arc<Replaced>)>,
}

/// A text that an answer is to replace.
struct Replaced {
    /// The name of its file, which says what it is.
    file: String,
    /// The text, as it came along.
    text: String,
}

impl Work {
    /// Returns the name of the question that it is, and whether its asker may see what is private.
    fn named(&self) -> Option<(&Once, bool)> {
        match self {
            Work::Ask(ask, Wanted { once: Some(once), .. }) => Some((once, ask.origin.rights.see_private)),
            Work::Ask(_, Wanted { once: None, .. })
            | Work::Decide { .. }
            | Work::Repl { .. }
            | Work::Say(_)
            | Work::Report(_) => None,
        }
    }

    /// Returns about how many bytes it holds while it waits.
    fn bytes(&self) -> usize {
        match self {
            Work::Ask(ask, Wanted { exact, .. }) => {
                bytes_of(ask) + exact.as_ref().map_or(0, |(_, replaced)| replaced.text.len())
            }
            Work::Decide { plans, decided, .. } => {
                let reason = |decided: &Decided| match decided {
                    Decided::Approve { shown } => shown.len(),
                    Decided::Deny { reason } | Decided::Stop { reason } => reason.len(),
                };
                let steps = decided.iter().flatten().map(|(id, decided)| id.len() + reason(decided) + EACH);
                plans.iter().map(|plan| plan.len() + EACH).chain(steps).sum()
            }
            Work::Repl { line, .. } => line.len(),
            Work::Say(text) => text.len(),
            Work::Report(_) => 0,
        }
    }

    /// Returns whether it is counted as asked by its client. Who may decide is not kept from that, and what is reported is
    /// nobody's asking.
    fn is_counted(&self) -> bool {
        match self {
            Work::Ask(..) | Work::Repl { .. } | Work::Say(_) => true,
            Work::Decide { origin, .. } => !origin.rights.approve,
            Work::Report(_) => false,
        }
    }

    /// Returns whether it waits until a turn of its client may go on.
    fn takes_long(&self) -> bool {
        matches!(self, Work::Ask(..) | Work::Repl { .. })
    }

    /// Returns whether it is a command that is answered while a turn of its conversation goes on.
    fn runs_beside(&self) -> bool {
        matches!(self, Work::Ask(ask, _) if runs_beside(&ask.text))
    }
}

struct Running {
    /// `None` while it is being stopped.
    task: Option<tokio::task::JoinHandle<()>>,
    turn: Turn,
    /// Its client has room for another one when this has ended.
    _place: Option<Place>,
}

#[derive(Default)]
struct Lane {
    queue: VecDeque<Task>,
    running: Option<Running>,
}

impl Lane {
    /// Takes out what of this waits for a client; who asked the same beside it waits on.
    fn drop_of(&mut self, client: ClientId, of: impl Fn(&Work) -> bool) -> Vec<Task> {
        let mut dropped = Vec::new();
        for mut task in std::mem::take(&mut self.queue) {
            let theirs: Vec<Who> = match of(&task.work) {
                true => task.wanted.extract_if(.., |who| who.client == client).collect(),
                false => Vec::new(),
            };
            match (theirs.is_empty(), task.wanted.is_empty()) {
                (true, _) => self.queue.push_back(task),
                // What it took is given back here.
                (false, true) => dropped.push(Task { wanted: theirs, place: None, ..task }),
                (false, false) => {
                    let work = Work::Say(String::new());
                    dropped.push(Task { wanted: theirs, work, place: None, refused: task.refused });
                    self.queue.push_back(task);
                }
            }
        }
        dropped
    }
}

/// The lanes of all clients.
pub(super) struct Lanes {
    engine: Arc<Engine>,
    clients: Arc<Clients>,
    inbox: mpsc::UnboundedSender<Event>,
    lanes: HashMap<SessionId, Lane>,
    /// Who asked in a conversation last: its answers are shown there, whoever decides about a plan of it.
    homes: HashMap<SessionId, Who>,
}

impl Drop for Lanes {
    /// Without the loop nobody hears of the turns, and the store may soon be another's: they end, too.
    fn drop(&mut self) {
        for running in self.lanes.values().filter_map(|lane| lane.running.as_ref()) {
            if let Some(task) = &running.task {
                task.abort();
            }
        }
    }
}

impl Lanes {
    pub(super) fn new(engine: Arc<Engine>, clients: Arc<Clients>, inbox: mpsc::UnboundedSender<Event>) -> Lanes {
        Lanes { engine, clients, inbox, lanes: HashMap::new(), homes: HashMap::new() }
    }

    /// Returns whether a turn of a client is running.
    pub(super) fn busy(&self, client: ClientId) -> bool {
        self.lanes.values().any(|lane| lane.running.as_ref().is_some_and(|running| running.turn.is_heard_by(client)))
    }

    /// Returns whether nothing runs and nothing waits.
    pub(super) fn are_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// A client has gone, or what was granted to it was taken back: what it had set off is stopped, unless somebody else
    /// asked the same, and what waited behind that is dropped. One that is there still is told the end of each.
    pub(super) fn leave(&mut self, client: ClientId) {
        let mut dropped = Vec::new();
        for (session, lane) in &mut self.lanes {
            let theirs = lane.drop_of(client, |_| true);
            dropped.extend(theirs.into_iter().map(|task| (session.clone(), task)));
        }
        if self.clients.get(client).is_some() {
            dropped.into_iter().for_each(|(session, task)| self.end_dropped(&session, task));
        }
        let stops = |lane: &Lane| lane.running.as_ref().is_some_and(|running| running.turn.loses(client));
        let stopped: Vec<SessionId> =
            self.lanes.iter().filter(|(_, lane)| stops(lane)).map(|(session, _)| session.clone()).collect();
        let theirs: Vec<SessionId> =
            self.homes.iter().filter(|(_, home)| home.client == client).map(|(session, _)| session.clone()).collect();
        for session in theirs {
            let lane = self.lanes.get(&session);
            let hears = lane.and_then(|lane| lane.running.as_ref()).and_then(|running| running.turn.heir(client));
            let waits = || lane.and_then(|lane| lane.queue.iter().flat_map(|task| &task.wanted).next()).cloned();
            match hears.or_else(waits) {
                Some(heir) => drop(self.homes.insert(session, heir)),
                None => {
                    self.homes.remove(&session);
                    self.engine.end_conversation(&session);
                }
            }
        }
        for session in stopped {
            self.stop(&session);
        }
    }

    /// Queues the user's words. A chat's file outlives the store: what it marks as private makes the conversation so,
    /// and what it does not mark is as private as the store says. `blotted` takes out of the chat so far what nobody may
    /// read there.
    pub(super) fn ask(&mut self, client: ClientId, origin: Origin, payload: &Sexp, blotted: &dyn Fn(&str) -> String) {
        if let Some(why) = self.names_too_many(client, &origin.session) {
            return self.turn_away(Who::of(client, &origin.session), &origin.session, why);
        }
        self.engine.mark_private(&origin.session, privacy_at(payload));
        if payload.flag_at("resumed") {
            self.engine.note_resumed(&origin.session);
        }
        if payload.flag_at("waits") {
            self.engine.stay_for(&origin.session);
        }
        let markup = match payload.name_at("markup") {
            Some("org") => Markup::Org,
            Some(_) | None => Markup::AsWritten,
        };
        match payload.text_at("once").map(Once::read).transpose() {
            Ok(Some(once))
                // Who wants its words as they are asks for itself.
                if payload.text_at("exact").is_none()
                    && self.joins(Who { client, called: origin.session.clone(), markup }, &origin, &once, payload) => {}
            Ok(once) => {
                let ask = asked(origin, payload, blotted);
                let exact = payload.text_at("exact").map(|file| {
                    let text = ask.attached.iter().map(|along| along.text.as_str()).collect::<Vec<_>>().join("\n");
                    (client, Arc::new(Replaced { file: file.to_string(), text }))
                });
                self.take(client, markup, ask, Wanted { once, exact });
            }
            Err(why) => self.say(client, origin.session, format!("{why}; nobody was asked.")),
        }
    }

    /// Has who asks a question again by its name hear the turn that it is, which goes on or waits here, as if it had asked
    /// first. Returns whether it does.
    fn joins(&mut self, who: Who, origin: &Origin, once: &Once, payload: &Sexp) -> bool {
        let Some(session) = self.joined(&who, once, origin.rights.see_private) else { return false };
        if payload.flag_at("waits") {
            self.engine.stay_for(&session);
        }
        // Whose conversation it is stays that, as long as it is there.
        let lives = self.homes.get(&session).is_some_and(|home| self.clients.get(home.client).is_some());
        if !lives {
            self.homes.insert(session, who);
        }
        let _ = self.inbox.send(Event::Status);
        true
    }

    /// Returns the conversation of the question that was joined. A client knows its turns by their order: what it would
    /// hear before something that it asked earlier is not joined.
    fn joined(&mut self, who: &Who, once: &Once, sees: bool) -> Option<SessionId> {
        let is_theirs = |known: &Who| known.client == who.client && known.called == who.called;
        let waits = |task: &Task| task.wanted.iter().any(is_theirs);
        let lane = self.lanes.get(&who.called);
        // One that is being stopped has an end of its own.
        let joinable = |running: &Running| running.task.is_some() && running.turn.is_named(once);
        let runs = |lane: &Lane| lane.running.as_ref().is_some_and(joinable);
        if let Some((session, goes_on)) = self.lanes.iter().find(|(_, lane)| runs(lane)) {
            let may = lane.is_none_or(|lane| !lane.queue.iter().any(waits));
            let (channel, running) = (self.clients.get(who.client)?, goes_on.running.as_ref()?);
            return (may && running.turn.join(channel, who, sees)).then(|| session.clone());
        }
        let lane = self.lanes.get_mut(&who.called)?;
        let of = |task: &Task| task.work.named().is_some_and(|(name, private)| name == once && (sees || !private));
        let at = lane.queue.iter().position(of)?;
        let may = !lane.queue.iter().skip(at).any(waits);
        lane.queue.get_mut(at).filter(|_| may)?.wanted.push(who.clone());
        Some(who.called.clone())
    }

    /// Queues a slash command, without its slash.
    pub(super) fn command(&mut self, client: ClientId, origin: Origin, line: &str) {
        let markup = self.markup(&origin.session);
        self.take(
            client,
            markup,
            Ask {
                text: format!("/{line}"),
                origin,
                history: Vec::new(),
                older: Older::default(),
                folder: None,
                attached: Vec::new(),
                pictures: Vec::new(),
                wishes: Wishes::default(),
            },
            Wanted::default(),
        );
    }

    /// Queues a line of a REPL.
    pub(super) fn repl(&mut self, client: ClientId, origin: Origin, line: String, payload: &Sexp) {
        let session = origin.session.clone();
        if let Some(why) = self.names_too_many(client, &session) {
            return self.turn_away(Who::of(client, &session), &session, why);
        }
        self.homes.insert(session.clone(), Who::of(client, &session));
        let folder = folder_in(&origin, payload);
        self.queue(client, session, Work::Repl { origin, line, folder });
    }

    /// Queues what was typed; a decision about a plan of another conversation is carried out in that one's lane.
    fn take(&mut self, client: ClientId, markup: Markup, ask: Ask, wanted: Wanted) {
        let here = ask.origin.session.clone();
        if let Some(why) = self.names_too_many(client, &here) {
            return self.turn_away(Who::of(client, &here), &here, why);
        }
        self.homes.insert(here.clone(), Who { client, called: here.clone(), markup });
        let elsewhere = self
            .engine
            .typed_decision(&ask.text)
            .and_then(|(id, decided)| Some((self.engine.plan(id)?, decided)))
            .filter(|(plan, _)| plan.session != here);
        match elsewhere {
            Some((plan, decided)) => {
                let id = plan.id.0;
                self.decide(client, ask.origin, vec![id.clone()], Ok(vec![(id.clone(), decided)]));
                let text = format!("{id} belongs to another conversation; what comes of it stands there.");
                self.queue(client, here, Work::Say(text));
            }
            None => self.queue(client, here, Work::Ask(Box::new(ask), wanted)),
        }
    }

    /// Queues words of our own, as the answer to what was typed in a conversation.
    pub(super) fn say(&mut self, client: ClientId, session: SessionId, text: String) {
        self.queue(client, session, Work::Say(text));
    }

    /// Queues what came of work that a conversation handed over, for whoever is there; it is in the store in any case.
    pub(super) fn report(&mut self, reported: Box<Reported>) {
        let session = shown_in(&reported.finished.session);
        if let Some(home) = self.homes.get(&session).cloned() {
            // It is as private as the task was from its first word on.
            let finished = &reported.finished;
            let privacy = finished.report.conversation.labels.privacy.max(self.engine.known_privacy(&finished.session));
            self.engine.mark_private(&session, privacy);
            self.queue_for(home, session, Work::Report(reported));
        }
    }

    /// Queues a human's decision, in the lane of the conversation that it belongs to.
    pub(super) fn decide(
        &mut self,
        client: ClientId,
        origin: Origin,
        plans: Vec<String>,
        decided: Result<Vec<(String, Decided)>, String>,
    ) {
        let session = plans.first().and_then(|plan| self.engine.with_plan(plan, |plan| plan.session.clone()));
        let session = session.unwrap_or_else(|| origin.session.clone());
        self.queue(client, session, Work::Decide { origin, plans, decided });
    }

    /// Queues the refusal of what a channel may not decide, where it spoke and whatever plans there are: it does not learn
    /// which those are, nor come into their conversations.
    pub(super) fn refuse_decision(&mut self, client: ClientId, origin: Origin, plans: Vec<String>) {
        let session = origin.session.clone();
        self.queue(client, session, Work::Decide { origin, plans, decided: Err(MAY_NOT_DECIDE.to_string()) });
    }

    /// Stops the running turn of a session when it is one of this client's, by whatever name that knows the session.
    pub(super) fn interrupt(&mut self, client: ClientId, session: &SessionId) {
        let heard = |lane: &Lane| lane.running.as_ref().is_some_and(|running| running.turn.is_heard_by(client));
        if self.lanes.get(session).is_some_and(heard) {
            return self.stop(session);
        }
        let joined =
            |lane: &Lane| lane.running.as_ref().is_some_and(|running| running.turn.was_joined_by(client, session));
        if let Some(at) = self.lanes.iter().find(|(_, lane)| joined(lane)).map(|(at, _)| at.clone()) {
            self.stop(&at);
        }
    }

    /// Drops the questions of this client that wait in a session behind a turn that goes on; the turn itself does.
    pub(super) fn drop_waiting(&mut self, client: ClientId, session: &SessionId) {
        let Some(lane) = self.lanes.get_mut(session) else { return };
        let dropped = lane.drop_of(client, |work| matches!(work, Work::Ask(..)));
        dropped.into_iter().for_each(|task| self.end_dropped(session, task));
    }

    /// Tells the end of what was dropped before it began. A client knows its turns by their order, so it begins first.
    fn end_dropped(&self, session: &SessionId, Task { wanted, work, refused, .. }: Task) {
        let why = match work {
            Work::Say(why) if refused > 0 => return self.refuse_each(session, wanted, &why, refused),
            Work::Ask(..) | Work::Say(_) => "Stopped before it began; nobody was asked.",
            Work::Decide { .. } => "Stopped before it began; nothing was decided.",
            Work::Repl { .. } => "Stopped before it began; nothing was evaluated.",
            Work::Report(_) => "Stopped before it was told.",
        };
        self.begun(session, wanted, work).0.end_as(Ending::Interrupted, why);
    }

    /// A conversation of this client is closed: what was kept alive for it ends. It may be opened again later.
    pub(super) fn close(&mut self, client: ClientId, session: &SessionId) {
        self.drop_waiting(client, session);
        self.interrupt(client, session);
        if self.homes.get(session).is_some_and(|home| home.client == client) {
            self.homes.remove(session);
            self.engine.end_conversation(session);
        }
    }

    /// Stops the running turn of a session. Turns behind it go on when it has ended; nobody waits for that here.
    fn stop(&mut self, session: &SessionId) {
        let Some(running) = self.lanes.get_mut(session).and_then(|lane| lane.running.as_mut()) else { return };
        // Without a task it is being stopped already.
        let Some(task) = running.task.take() else { return };
        task.abort();
        let (turn, inbox) = (running.turn.clone(), self.inbox.clone());
        tokio::spawn(async move {
            // What is on its way on another thread ends at its next pause; a turn that had ended by itself counts.
            if let Ok(Ok(())) = tokio::time::timeout(STOP_PATIENCE, task).await {
                return;
            }
            turn.end(turn.stopped()).await;
            let _ = inbox.send(Event::TurnDone(turn.session, turn.name));
        });
    }

    /// Takes note that a turn of a session has ended, and starts the next.
    pub(super) fn finished(&mut self, session: &SessionId, turn: &TurnId) {
        if let Some(lane) = self.lanes.get_mut(session)
            && lane.running.as_ref().is_none_or(|running| running.turn.name == *turn)
        {
            lane.running = None;
            self.next(session);
        }
        let _ = self.inbox.send(Event::Status);
    }

    /// Starts what waits in a session, behind what was refused before that.
    fn next(&mut self, session: &SessionId) {
        while let Some(lane) = self.lanes.get_mut(session) {
            match lane.queue.pop_front() {
                Some(Task { wanted, work: Work::Say(why), refused: times @ 1.., .. }) => {
                    self.refuse_each(session, wanted, &why, times);
                }
                Some(task) => return self.start(session.clone(), task),
                None => drop(self.lanes.remove(session)),
            }
        }
    }

    /// Returns why a client can have no conversation of this name, as it has as many as there is room for.
    fn names_too_many(&self, client: ClientId, session: &SessionId) -> Option<String> {
        let most = self.clients.get(client)?.capacity.most.conversations;
        let has = || self.homes.values().filter(|home| home.client == client).count();
        (!self.homes.contains_key(session) && has() >= most).then(|| {
            format!(
                "Nothing was begun: this client has {most} conversations, and may have no more. Go on in one of them, or \
                 close one first."
            )
        })
    }

    /// Has what a client asks counted; `None` for what is not.
    ///
    /// # Errors
    /// Why it is not taken on.
    fn place(&self, client: ClientId, work: &Work) -> Result<Option<Place>, String> {
        match self.clients.get(client).filter(|_| work.is_counted()) {
            Some(channel) => channel.capacity.place(work.bytes()).map(Some),
            None => Ok(None),
        }
    }

    /// Answers what is not taken on. A client knows its turns by the order in which it asked, so that is told where
    /// its turn would have begun.
    fn turn_away(&mut self, who: Who, session: &SessionId, why: String) {
        let is_theirs = |task: &Task| task.wanted.iter().any(|other| other.client == who.client);
        let Some(lane) = self.lanes.get_mut(session).filter(|lane| lane.queue.iter().any(is_theirs)) else {
            return self.refuse(session, who, &why);
        };
        match lane.queue.back_mut().filter(|last| last.refused > 0 && is_theirs(last)) {
            Some(last) if last.refused < REFUSED_MOST => last.refused += 1,
            Some(_) => {
                if let Some(channel) = self.clients.get(who.client) {
                    channel.refuse(Some(&who.called.0), why);
                }
            }
            None => lane.queue.push_back(Task { wanted: vec![who], work: Work::Say(why), place: None, refused: 1 }),
        }
    }

    /// Ends at once what is not taken on.
    fn refuse(&self, session: &SessionId, who: Who, why: &str) {
        self.begun(session, vec![who], Work::Say(String::new())).0.refuse(why);
    }

    /// The same, for each who wants it and so many times.
    fn refuse_each(&self, session: &SessionId, wanted: Vec<Who>, why: &str, times: usize) {
        for who in wanted {
            (0..times).for_each(|_| self.refuse(session, who.clone(), why));
        }
    }

    /// Returns how answers are shown in a conversation.
    fn markup(&self, session: &SessionId) -> Markup {
        self.homes.get(session).map(|home| home.markup).unwrap_or_default()
    }

    fn queue(&mut self, client: ClientId, session: SessionId, work: Work) {
        let called = shown_in(&session);
        let markup = self.markup(&called);
        self.queue_for(Who { client, called, markup }, session, work);
    }

    fn queue_for(&mut self, who: Who, session: SessionId, work: Work) {
        let place = match self.place(who.client, &work) {
            Ok(place) => place,
            Err(why) => return self.turn_away(who, &session, why),
        };
        let task = Task { wanted: vec![who], work, place, refused: 0 };
        let lane = self.lanes.entry(session.clone()).or_default();
        // Where something waits already, clients could not tell whose turn it is.
        if lane.running.is_some() && lane.queue.is_empty() && task.work.runs_beside() {
            let Task { wanted, work, place, .. } = task;
            let (turn, work) = self.begun(&session, wanted, work);
            tokio::spawn(async move {
                let _place = place;
                if AssertUnwindSafe(turn.run(work)).catch_unwind().await.is_err() {
                    turn.end(turn.broken()).await;
                }
            });
        } else if lane.running.is_some() {
            lane.queue.push_back(task);
        } else {
            self.start(session, task);
        }
    }

    /// Makes the turn of what is to be done, and tells that it has started.
    fn begun(&self, session: &SessionId, wanted: Vec<Who>, work: Work) -> (Turn, Work) {
        let engine = self.engine.clone();
        // What is no answer of a model is not written in Markdown.
        let markup = match work {
            Work::Repl { .. } | Work::Say(_) => Markup::AsWritten,
            Work::Ask(..) | Work::Decide { .. } | Work::Report(_) => {
                wanted.first().map(|who| who.markup).unwrap_or_default()
            }
        };
        // Who set it off hears it, and where its conversation is.
        let home = self.homes.get(&shown_in(session)).filter(|home| wanted.iter().all(|who| who.client != home.client));
        let home = home.cloned().map(|home| (home, false));
        let hearers = wanted.into_iter().map(|who| (who, true)).chain(home);
        let hearers = hearers.filter_map(|(Who { client, called, .. }, wants)| {
            Some(Hearer { channel: self.clients.get(client)?, called, wants })
        });
        let named = work.named().map(|(once, private)| (once.clone(), private));
        let said = named.as_ref().map(|_| String::new());
        let heard = Arc::new(Mutex::new(Heard { hearers: hearers.collect(), said, over: false }));
        let asked = match &work {
            Work::Ask(ask, _) => first_line(&ask.text),
            Work::Decide { plans, .. } => first_line(&format!("decision about {}", plans.join(", "))),
            Work::Repl { line, .. } => first_line(line),
            Work::Say(_) => "a decision about a plan".to_string(),
            Work::Report(reported) => first_line(&format!("report of the task: {}", reported.task)),
        };
        let exact = match &work {
            Work::Ask(_, Wanted { exact, .. }) => exact.clone(),
            Work::Decide { .. } | Work::Repl { .. } | Work::Say(_) | Work::Report(_) => None,
        };
        let (name, began) = (engine.new_turn(), engine.clock.now());
        let _going = Arc::new(engine.goes_on(&name));
        let turn = Turn { engine, markup, heard, named, session: session.clone(), name, asked, exact, began, _going };
        turn.begin(&work);
        (turn, work)
    }

    fn start(&mut self, session: SessionId, task: Task) {
        let inbox = self.inbox.clone();
        let Task { wanted, work, place, .. } = task;
        let who = wanted.first().filter(|_| work.takes_long()).map(|who| who.client);
        let capacity = who.and_then(|client| self.clients.get(client)).map(|channel| channel.capacity.clone());
        let (turn, work) = self.begun(&session, wanted, work);
        let running = turn.clone();
        let task = tokio::spawn(async move {
            let _under_way = match capacity {
                Some(capacity) => capacity.turn().await,
                None => None,
            };
            if AssertUnwindSafe(turn.run(work)).catch_unwind().await.is_err() {
                turn.end(turn.broken()).await;
            }
            let _ = inbox.send(Event::TurnDone(turn.session, turn.name));
        });
        self.lanes.entry(session).or_default().running =
            Some(Running { task: Some(task), turn: running, _place: place });
        let _ = self.inbox.send(Event::Status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::label::Privacy;
    use crate::domain::sexp::plist::Plist;
    use crate::domain::signal::{Rights, Source};
    use crate::edge::clock::SystemClock;
    use crate::edge::config::{Config, ProviderSetting, Surroundings};
    use crate::edge::editor::NoEditor;
    use crate::edge::engine::Notice;
    use crate::edge::engine::boot::{Boot, Keep, start};
    use crate::edge::engine::turns::BROKE;
    use crate::edge::panics::{Echo, PREFIX, install};
    use crate::edge::runtime::clients::{Channel, OWN};
    use crate::edge::runtime::outbox::Outbox;
    use crate::edge::secret::Vault;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// How often telling of a line in the log still panics.
    type Bombs = Arc<AtomicUsize>;

    /// A model that never says anything, as long as this lives.
    fn silent(config: &mut Config) -> std::net::TcpListener {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1/", listener.local_addr().expect("an address"));
        let (name, kind, model) = ("silent".to_string(), "openai".to_string(), Some("m".to_string()));
        config.providers =
            vec![ProviderSetting { name: name.clone(), kind, url: Some(url), model, local: true, effort: None }];
        config.cascade = Some(vec![name]);
        listener
    }

    fn config() -> Config {
        let mut config = Config::read(&Surroundings { variables: Default::default() });
        // Nobody answers: the turn fails, and says so in the log.
        config.cascade = Some(vec!["nobody".to_string()]);
        config
    }

    async fn lanes(config: Config, bombs: Bombs) -> (Lanes, mpsc::UnboundedReceiver<Event>) {
        let notify = Arc::new(move |notice: Notice| {
            let fails = matches!(&notice, Notice::Logged(line) if line.text.starts_with("the turn failed"))
                || matches!(&notice, Notice::Logged(line) if line.text.ends_with("broke and was ended"));
            let left = bombs.load(Ordering::Relaxed);
            if fails && left > 0 {
                bombs.store(left - 1, Ordering::Relaxed);
                panic!("the notice breaks");
            }
        });
        let (vault, clock) = (Vault::empty(), Arc::new(SystemClock));
        let boot = Boot { config, vault, editor: Arc::new(NoEditor), clock, notify, keep: Keep::InMemory };
        let engine = start(boot).await.expect("the engine starts");
        let (inbox, events) = mpsc::unbounded_channel();
        let own = Channel::own(Outbox::new(Box::new(|| {})));
        (Lanes::new(engine, Clients::of(own), inbox), events)
    }

    fn say(lanes: &mut Lanes) {
        let session = SessionId("s".to_string());
        let origin = Origin { source: Source::Emacs, session, rights: Rights::HUMAN };
        lanes.ask(OWN, origin, &Plist::new().text("text", "hello").build(), &|text| text.to_string());
    }

    /// Waits for the end of a turn, and returns what the client was told of it.
    async fn done(lanes: &mut Lanes, events: &mut mpsc::UnboundedReceiver<Event>) -> (String, String) {
        let heard = loop {
            let event = tokio::time::timeout(Duration::from_secs(20), events.recv()).await;
            if let Event::TurnDone(session, turn) = event.expect("it comes in time").expect("there are events") {
                let heard = lanes.clients.get(OWN).expect("it is there").outbox.receive(1 << 20);
                lanes.finished(&session, &turn);
                break heard;
            }
        };
        let mut done =
            heard.iter().rev().filter_map(|text| Sexp::read(text).ok()).filter_map(|m| m.get("payload").cloned());
        let last = done.find(|payload| payload.name_at("action") == Some("turn-done")).expect("a turn-done");
        let text = |key: &str| last.text_at(key).unwrap_or_default().to_string();
        (text("status"), text("text"))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_a_chat_marks_as_private_goes_nowhere_else_whatever_the_store_knows() {
        for (ask, private) in [
            ("(:text \"go on\" :history ((:role :assistant :text \"The result is 7.\" :private nil)))", false),
            ("(:text \"go on\" :private nil)", false),
            ("(:text \"go on\" :history ((:role :assistant :text \"The result is 7.\" :private t)))", true),
            (
                "(:text \"go on\" :history ((:role :user :text \"a\") (:private t :role :tool :text \"b\") \
                  (:role :user :text \"c\")))",
                true,
            ),
            ("(:text \"go on\" :attached ((:name \"m\" :file \"/no/mail.org\" :text \"* A\")))", false),
            ("(:text \"go on\" :attached ((:name \"m\" :file \"/no/mail.org\" :text \"* A :private:\")))", true),
            ("(:text \"the result is 7\" :private t)", true),
            ("(:text \"go on\" :private yes :history ((:role :user :text \"a\")))", true),
        ] {
            let mut config = config();
            let _listening = silent(&mut config);
            config.providers.iter_mut().for_each(|provider| provider.local = false);
            let (mut lanes, mut events) = lanes(config, Bombs::default()).await;
            let session = SessionId("s".to_string());
            let origin = Origin { source: Source::Emacs, session: session.clone(), rights: Rights::HUMAN };
            lanes.ask(OWN, origin.clone(), &Sexp::read(ask).expect("a question"), &|text| text.to_string());
            let (status, text) = done(&mut lanes, &mut events).await;
            assert_eq!(status, if private { "failed" } else { "parked" }, "{ask}: {text}");
            assert_eq!(text.contains("never leave this machine"), private, "{ask}: {text}");
            assert_eq!(lanes.engine.known_privacy(&session) == Privacy::Private, private, "{ask}");
            assert_eq!(lanes.engine.plans(false).is_empty(), private, "{ask}: nothing is offered to be sent");
            // What is not said again is not forgotten.
            say(&mut lanes);
            assert_eq!(done(&mut lanes, &mut events).await.0, if private { "failed" } else { "parked" }, "{ask}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_stops_a_turn_twice_stops_one_turn_and_nobody_waits_for_it() {
        let mut config = config();
        let _listening = silent(&mut config);
        let (mut lanes, mut events) = lanes(config, Bombs::default()).await;
        say(&mut lanes);
        say(&mut lanes);
        let session = SessionId("s".to_string());
        for _ in 0..2 {
            lanes.interrupt(OWN, &session);
            lanes.interrupt(OWN, &session);
            assert!(lanes.busy(OWN), "until it has ended, the one behind it waits");
            assert_eq!(done(&mut lanes, &mut events).await, ("interrupted".to_string(), "Stopped.".to_string()));
        }
        assert!(!lanes.busy(OWN));
        lanes.interrupt(OWN, &session);
        assert_eq!(lanes.engine.turns(10).await.map(|turns| turns.len()), Ok(2));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_drops_what_waits_leaves_what_goes_on() {
        let mut config = config();
        let _listening = silent(&mut config);
        let (mut lanes, mut events) = lanes(config, Bombs::default()).await;
        let session = SessionId("s".to_string());
        // Nothing is there to be dropped.
        lanes.drop_waiting(OWN, &session);
        (0..3).for_each(|_| say(&mut lanes));
        lanes.drop_waiting(OWN + 1, &session);
        assert_eq!(lanes.lanes.get(&session).map(|lane| lane.queue.len()), Some(2), "another's stay");
        lanes.drop_waiting(OWN, &session);
        assert_eq!(lanes.lanes.get(&session).map(|lane| lane.queue.len()), Some(0));
        let heard = lanes.clients.get(OWN).expect("it is there").outbox.receive(1 << 20).concat();
        assert_eq!(heard.matches("Stopped before it began").count(), 2, "{heard}");
        assert_eq!(heard.matches(":turn-started").count(), 3, "each turn begins before it ends: {heard}");
        assert!(lanes.busy(OWN), "the first goes on");
        lanes.interrupt(OWN, &session);
        assert_eq!(done(&mut lanes, &mut events).await.0, "interrupted");
        assert!(!lanes.busy(OWN) && lanes.are_empty());
    }

    /// Waits for the end of a turn.
    async fn next_end(lanes: &mut Lanes, events: &mut mpsc::UnboundedReceiver<Event>) {
        loop {
            let event = tokio::time::timeout(Duration::from_secs(20), events.recv()).await;
            if let Event::TurnDone(session, turn) = event.expect("it comes in time").expect("there are events") {
                return lanes.finished(&session, &turn);
            }
        }
    }

    /// Returns what a client was told up to now.
    fn told(lanes: &Lanes, client: ClientId) -> String {
        lanes.clients.get(client).expect("it is there").outbox.receive(1 << 20).concat()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_question_that_is_asked_again_by_its_name_is_one_turn_for_all_who_ask() {
        let mut config = config();
        let listening = silent(&mut config);
        let (mut lanes, mut events) = lanes(config, Bombs::default()).await;
        let (cli, other, stranger) = (7, 8, 9);
        let outbox = || Outbox::new(Box::new(|| {}));
        for (id, process) in [(cli, 70), (other, 80)] {
            lanes.clients.join(Channel::cli(id, process, false, outbox()));
        }
        lanes.clients.join(Channel::client(stranger, "ab12", None, outbox()));
        let ask = |lanes: &mut Lanes, client: ClientId, chat: &str, digit: &str| {
            let origin = lanes.clients.get(client).expect("it is there").origin(Some(chat));
            let payload = Plist::new().text("text", "hello").text("once", digit.repeat(64)).build();
            lanes.ask(client, origin, &payload, &|text| text.to_string());
        };
        let count = |heard: &str, what: &str| heard.matches(what).count();
        ask(&mut lanes, OWN, "chat", "a");
        // Once the model is asked, the name is stored.
        let asked = tokio::task::spawn_blocking(move || (listening.accept().expect("it is asked"), listening));
        let _asked = tokio::time::timeout(Duration::from_secs(20), asked).await.expect("in time").expect("it is asked");
        ask(&mut lanes, OWN, "chat", "b");
        ask(&mut lanes, cli, "", "a");
        let heard = told(&lanes, cli);
        assert_eq!((count(&heard, ":turn-started"), lanes.lanes.len()), (1, 1), "{heard}");
        // Who may see less hears nothing of it.
        ask(&mut lanes, stranger, "x", "a");
        assert_eq!(lanes.lanes.len(), 2);
        next_end(&mut lanes, &mut events).await;
        let heard = told(&lanes, stranger);
        assert!(heard.contains("cannot be listened to from here"), "{heard}");
        // What waits is joined as well, in its own conversation.
        ask(&mut lanes, OWN, "chat", "b");
        let session = SessionId("chat".to_string());
        let waits = |lanes: &Lanes| lanes.lanes.get(&session).map(|lane| lane.queue.len());
        assert_eq!(waits(&lanes), Some(2), "a client that waits for it already waits for another turn");
        lanes.drop_waiting(OWN, &session);
        assert_eq!(waits(&lanes), Some(0));
        // The first one goes, and the turn goes on for the other one, which is where the conversation is now.
        lanes.leave(OWN);
        assert!(lanes.busy(cli));
        let heard = told(&lanes, OWN);
        assert!(heard.contains("nothing more of it is told here"), "{heard}");
        assert_eq!(lanes.homes.get(&session).map(|home| home.client), Some(cli));
        // By its own name it stops it.
        ask(&mut lanes, other, "", "a");
        lanes.leave(cli);
        assert_eq!(lanes.homes.get(&session).map(|home| home.client), Some(other));
        let called = lanes.clients.get(other).expect("it is there").origin(None).session;
        lanes.interrupt(other, &called);
        next_end(&mut lanes, &mut events).await;
        assert!(lanes.are_empty());
        let heard = told(&lanes, other);
        assert!(
            heard.contains(":status \"interrupted\"") && heard.contains(&format!(":session \"{}\"", called.0)),
            "{heard}"
        );
        // Who is the last one to want it takes it along.
        ask(&mut lanes, other, "", "c");
        lanes.leave(other);
        next_end(&mut lanes, &mut events).await;
        assert!(lanes.are_empty());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_lane_that_panics_is_logged_answered_and_goes_on() {
        install(Echo::AsBefore);
        // The turn breaks; and the turn breaks, and what says so breaks, too.
        for count in [1, 2] {
            let bombs = Bombs::default();
            let (mut lanes, mut events) = lanes(config(), bombs.clone()).await;
            bombs.store(count, Ordering::Relaxed);
            say(&mut lanes);
            say(&mut lanes);
            let (status, text) = done(&mut lanes, &mut events).await;
            assert_eq!((status.as_str(), text.as_str()), ("failed", BROKE), "{count}");
            // The one behind it has its turn.
            let (status, text) = done(&mut lanes, &mut events).await;
            assert_eq!(status, "failed");
            assert!(text.starts_with("no model answered."), "{text}");
            assert!(!lanes.busy(OWN));
            let place = format!("{PREFIX}{}:", file!());
            let logged = async {
                while !lanes
                    .engine
                    .log_lines(100)
                    .iter()
                    .any(|line| line.text.starts_with(&place) && line.text.ends_with(": the notice breaks"))
                {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(20), logged).await.expect("the log has text and place");
        }
    }
}
