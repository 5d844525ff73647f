//! One turn of a lane: who hears it, how it runs, and how its end is told.

use crate::domain::gate::plan::FlightPlan;
use crate::domain::id::{SessionId, TurnId};
use crate::domain::inert::exact;
use crate::domain::label::Privacy;
use crate::domain::port::Streamed;
use crate::domain::route::Slot;
use crate::domain::sexp::plist::Plist;
use crate::domain::turn::{Act, Conversation, Ending, TurnReport};
use crate::edge::engine::Engine;
use crate::edge::engine::delegation::shown_in;
use crate::edge::engine::once::{Before, Going, Once};
use crate::edge::engine::record::Finished;
use crate::edge::engine::turns::BROKE;
use crate::edge::runtime::clients::{Channel, ClientId};
use crate::edge::runtime::lanes::heard::{Heard, Hearer};
use crate::edge::runtime::lanes::telling::{HIDDEN, Telling, marked};
use crate::edge::runtime::lanes::{Markup, Replaced, Who, Work};
use crate::edge::runtime::show;
use futures_util::FutureExt;
use parking_lot::Mutex;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// Of what a turn said so many bytes are kept for who asks the same again meanwhile.
const SAID_AGAIN: usize = 1 << 20;

/// One turn of a lane.
#[derive(Clone)]
pub(super) struct Turn {
    pub(super) engine: Arc<Engine>,
    pub(super) markup: Markup,
    /// Who is told of it.
    pub(super) heard: Arc<Mutex<Heard>>,
    /// The name of the question that it is, and whether its asker may see what is private.
    pub(super) named: Option<(Once, bool)>,
    pub(super) session: SessionId,
    pub(super) name: TurnId,
    pub(super) asked: String,
    /// What the answer is to replace, when who asked wants its words as they are.
    pub(super) exact: Option<(ClientId, Arc<Replaced>)>,
    pub(super) began: jiff::Timestamp,
    /// It goes on as long as anybody has to do with it.
    pub(super) _going: Arc<Going>,
}

impl Turn {
    pub(super) fn is_heard_by(&self, client: ClientId) -> bool {
        self.heard.lock().hearers.iter().any(|hearer| hearer.channel.id == client)
    }

    pub(super) fn is_named(&self, once: &Once) -> bool {
        self.named.as_ref().is_some_and(|(name, _)| name == once)
    }

    /// Returns whether somebody joined it out of a conversation that it calls so.
    pub(super) fn was_joined_by(&self, client: ClientId, called: &SessionId) -> bool {
        let is = |hearer: &Hearer| hearer.channel.id == client && hearer.called == *called && hearer.wants;
        *called != shown_in(&self.session) && self.heard.lock().hearers.iter().any(is)
    }

    /// Lets a client hear it that asks the same again, from its beginning; returns whether it does. None does when it is
    /// over, hears it already, may see less than who asked first, or when too much was said to be said again.
    pub(super) fn join(&self, channel: Arc<Channel>, who: &Who, sees: bool) -> bool {
        let private = self.named.as_ref().is_none_or(|(_, private)| *private);
        let mut heard = self.heard.lock();
        let hears = heard.hearers.iter().any(|hearer| hearer.channel.id == channel.id);
        let Some(said) = heard.said.as_deref().filter(|_| !heard.over && !hears && (sees || !private)) else {
            return false;
        };
        let started = Plist::new().keyword("action", "turn-started").text("turn", self.name.0.as_str());
        channel.outbox.send("event", Some(&who.called.0), started);
        if !self.is_hidden_from(&channel) {
            channel.outbox.stream(&who.called.0, &self.name.0, Streamed::Text(said));
        }
        heard.hearers.push(Hearer { channel, called: who.called.clone(), wants: true });
        true
    }

    /// A client hears no more of it. Returns whether it is to be stopped then, as it was the last that wanted it; who
    /// goes on to be there, and lost its rights, is told of an end otherwise.
    pub(super) fn loses(&self, client: ClientId) -> bool {
        let mut heard = self.heard.lock();
        let (theirs, others): (Vec<&Hearer>, Vec<&Hearer>) =
            heard.hearers.iter().filter(|hearer| hearer.wants).partition(|hearer| hearer.channel.id == client);
        match (theirs.first(), others.is_empty()) {
            (None, _) => false,
            (Some(_), true) => true,
            (Some(hearer), false) => {
                let why = "This goes on for who asked the same; nothing more of it is told here.";
                hearer.tell(self, "stream-chunk", self.last_chunk());
                hearer.tell(self, "response", self.ending(Ending::Interrupted, why));
                heard.hearers.retain(|hearer| hearer.channel.id != client);
                false
            }
        }
    }

    /// Returns who wants it beside a client, when it is a question that several may ask by its name.
    pub(super) fn heir(&self, client: ClientId) -> Option<Who> {
        self.named.as_ref()?;
        let heard = self.heard.lock();
        let heir = heard.hearers.iter().find(|hearer| hearer.wants && hearer.channel.id != client)?;
        Some(Who { client: heir.channel.id, called: heir.called.clone(), markup: self.markup })
    }

    /// Returns whether a client is told no more of it than that it goes on and how it ended: it has drawn on what is
    /// private, and that client may not see this.
    fn is_hidden_from(&self, channel: &Channel) -> bool {
        !channel.rights().see_private && self.engine.known_privacy(&self.session) > Privacy::Open
    }

    fn tell(&self, kind: &str, payload: Plist) {
        self.heard.lock().hearers.iter().for_each(|hearer| hearer.tell(self, kind, payload.clone()));
    }

    /// Tells how a plan stands, to those who may see what it may hold.
    fn tell_plan(&self, plan: &FlightPlan) {
        let payload = Plist::new().keyword("action", "plan-changed").plist("plan", show::plan(plan));
        for hearer in self.heard.lock().hearers.iter().filter(|hearer| hearer.channel.rights().see_private) {
            hearer.tell(self, "event", payload.clone());
        }
    }

    /// Tells that thoughts are over, and of how many tokens they were.
    pub(super) fn tell_thought(&self, tokens: Option<usize>) {
        let over = Plist::new().text("turn", self.name.0.as_str()).text("thought", "").maybe_int("tokens", tokens);
        for hearer in self.heard.lock().hearers.iter().filter(|hearer| !self.is_hidden_from(&hearer.channel)) {
            hearer.tell(self, "stream-chunk", over.clone());
        }
    }

    /// Tells how an act stands: what it is about, to those who may see that.
    pub(super) fn tell_act(&self, act: &Act) {
        let privacy = act.privacy.max(self.engine.known_privacy(&self.session));
        let act = Act { privacy, ..act.clone() };
        let heard = self.heard.lock();
        // What is stopped may still be at an act when its end was told.
        for hearer in heard.hearers.iter().filter(|_| !heard.over) {
            hearer.tell(self, "event", show::act(&self.name, &act, hearer.channel.rights().see_private));
        }
    }

    pub(super) fn stream(&self, piece: Streamed<'_>) {
        let mut heard = self.heard.lock();
        // What was held back when it was stopped may come behind its end.
        if heard.over {
            return;
        }
        for Hearer { channel, called, .. } in heard.hearers.iter().filter(|one| !self.is_hidden_from(&one.channel)) {
            channel.outbox.stream(&called.0, &self.name.0, piece);
        }
        if let Streamed::Text(text) = piece {
            heard.said = heard.said.take().filter(|said| said.len() + text.len() <= SAID_AGAIN);
            if let Some(said) = heard.said.as_mut() {
                said.push_str(text);
            }
        }
    }

    /// Tells its end, each client in the words for it; nobody joins it any more.
    fn tell_end(&self, words: impl Fn(&Channel) -> Plist) {
        let mut heard = self.heard.lock();
        for hearer in &heard.hearers {
            hearer.tell(self, "stream-chunk", self.last_chunk());
            hearer.tell(self, "response", words(&hearer.channel));
        }
        (heard.said, heard.over) = (None, true);
    }

    /// Tells that it has started, and what it goes on from: in the order in which turns begin.
    pub(super) fn begin(&self, work: &Work) {
        let follows = match work {
            Work::Ask(..) | Work::Repl { .. } | Work::Say(_) => None,
            Work::Report(reported) => Some(reported.follows.0.clone()),
            // Who may not decide does not learn which plans there are.
            Work::Decide { origin, .. } if !origin.rights.approve => None,
            Work::Decide { plans, .. } => {
                plans.first().and_then(|plan| self.engine.with_plan(plan, |plan| plan.turn.0.clone()))
            }
        };
        let decides = match work {
            Work::Decide { plans, .. } => plans.clone(),
            Work::Ask(..) | Work::Repl { .. } | Work::Say(_) | Work::Report(_) => Vec::new(),
        };
        let started = Plist::new().keyword("action", "turn-started").text("turn", self.name.0.as_str());
        self.tell("event", started.maybe("follows", follows).texts("decides", decides));
    }

    pub(super) async fn run(&self, work: Work) {
        let Turn { engine, session, name, .. } = self;
        let decided = match &work {
            // Nothing is shown as decided because of what was typed.
            Work::Ask(..) | Work::Repl { .. } | Work::Say(_) | Work::Report(_) => Vec::new(),
            Work::Decide { plans, .. } => plans.clone(),
        };
        let mut telling = Telling::new(self);
        let mut sink = |piece: Streamed<'_>| telling.hear(piece);
        let result = match work {
            Work::Ask(ask, wanted) => match once_only(engine, wanted.once, name).await {
                Ok(None) => Ok(engine.ask(*ask, name.clone(), &mut sink).await),
                Ok(Some(before)) => return self.was_asked(&before),
                Err(why) => Err(why),
            },
            Work::Decide { origin, decided: Ok(decided), .. } => {
                engine.decide_steps(&origin, decided, name.clone(), &mut sink).await
            }
            Work::Decide { decided: Err(why), .. } => Err(why),
            Work::Repl { origin, line, folder } => {
                Ok(engine.repl(&origin, &line, folder, name.clone(), &mut sink).await)
            }
            Work::Report(reported) => {
                // First, so that nobody waits for a report that breaks.
                engine.note_told(&shown_in(&reported.finished.session));
                let told = reported.told(name);
                sink(Streamed::Text(&told.report.text));
                Ok(engine.keep_told(told).await)
            }
            Work::Say(text) => {
                let mut report = TurnReport::of(Conversation::empty());
                report.text = text;
                sink(Streamed::Text(&report.text));
                let (turn, session, asked) = (name.clone(), session.clone(), self.asked.clone());
                Ok(Finished { turn, session, at: self.began, asked, seconds: 0.0, report })
            }
        };
        telling.finish();
        match result {
            Ok(finished) => self.done(&finished),
            Err(why) => {
                // A client may show the decision already; it hears how the plan really stands.
                for plan in decided.iter().filter_map(|id| engine.plan(id)) {
                    self.tell_plan(&plan);
                }
                self.refuse(&why);
            }
        }
    }

    /// Ends the turn for the client; when even that breaks, in the fewest words.
    pub(super) async fn end(&self, end: impl Future<Output = Finished>) {
        let told = async { self.done(&end.await) };
        if AssertUnwindSafe(told).catch_unwind().await.is_err() {
            self.refuse(BROKE);
        }
    }

    pub(super) fn stopped(&self) -> impl Future<Output = Finished> {
        self.engine.interrupted(&self.name, self.session.clone(), self.asked.clone(), self.began)
    }

    pub(super) fn broken(&self) -> impl Future<Output = Finished> {
        self.engine.broken(&self.name, self.session.clone(), self.asked.clone(), self.began)
    }

    /// Ends the turn of a question that was asked before: how that one stands.
    fn was_asked(&self, before: &Before) {
        let payload = Plist::new().keyword("action", "turn-done").text("turn", self.name.0.as_str());
        let payload = payload.text("status", before.stands.status()).text("before", before.turn.0.as_str());
        let payload = payload.text("text", format!("{}.", exact(&before.to_string())));
        self.tell_end(|_| payload.clone());
    }

    /// Ends the turn as failed, with why.
    pub(super) fn refuse(&self, why: &str) {
        self.end_as(Ending::Failed, why);
    }

    /// Ends the turn without a report.
    pub(super) fn end_as(&self, ending: Ending, why: &str) {
        self.tell_end(|_| self.ending(ending, why));
    }

    fn ending(&self, ending: Ending, why: &str) -> Plist {
        let payload = Plist::new().keyword("action", "turn-done").text("turn", self.name.0.as_str());
        payload.text("status", ending.name()).text("text", crate::domain::inert::inert(why))
    }

    fn last_chunk(&self) -> Plist {
        Plist::new().text("turn", self.name.0.as_str()).text("text", "")
    }

    /// Returns the heading that a turn looked at, for those who may see whatever it is.
    fn focus(&self, finished: &Finished) -> Option<String> {
        let sees = self.heard.lock().hearers.iter().all(|hearer| hearer.channel.rights().see_private);
        finished.report.focus.as_ref().filter(|_| sees).map(|id| exact(id.as_str()))
    }

    fn done(&self, finished: &Finished) {
        let labels = finished.report.conversation.labels;
        let privacy = labels.privacy.max(self.engine.known_privacy(&finished.session));
        let refused = self.engine.refusals(&finished.report);
        let payload = show::turn(finished, &self.engine.view())
            .list("refused", refused.iter().map(show::refused))
            .maybe_int("tasks", Some(self.engine.untold_tasks(&finished.session)).filter(|tasks| *tasks > 0))
            .maybe("slot", finished.report.slot.map(Slot::name))
            .maybe("preset", self.engine.preset_name(&finished.session).map(|name| exact(&name)))
            .int("pending", self.engine.pending() as i64)
            .list("blocked", finished.report.blocked().into_iter().map(show::blocked))
            .maybe("focus", self.focus(finished));
        let payload = match finished.report.taken {
            Some(taken) => payload.plist("context", show::taken(taken)),
            None => payload,
        };
        let payload = payload
            .list(
                "others",
                finished.report.others.iter().map(|one| show::other(one, self.markup, &finished.report.spent)),
            )
            .keyword("action", "turn-done");
        let payload = marked(payload, privacy);
        // Nobody but who asked for that is told words that are not inert.
        let exact = self.exact.as_ref().map(|(asker, replaced)| {
            let Replaced { file, text } = replaced.as_ref();
            (*asker, show::as_it_is(payload.clone(), &finished.report, file, text))
        });
        let plans = finished.report.plans.iter().map(|id| id.0.clone());
        let hidden = marked(self.ending(finished.report.ending, HIDDEN).texts("plans", plans), privacy);
        self.tell_end(|channel| match &exact {
            _ if privacy > Privacy::Open && !channel.rights().see_private => hidden.clone(),
            Some((asker, exact)) if *asker == channel.id => exact.clone(),
            Some(_) | None => payload.clone(),
        });
    }
}

/// Takes note that a question is asked; returns what became of it when it was asked before.
async fn once_only(engine: &Engine, once: Option<Once>, turn: &TurnId) -> Result<Option<Before>, String> {
    match once {
        Some(once) => engine.ask_once(&once, turn).await,
        None => Ok(None),
    }
}
