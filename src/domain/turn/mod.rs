//! One turn: perceive, reason, act. This file reads as the specification; its parts stand beside it.
//!
//! The chain is flat: what an act comes to is the next signal, one deeper, until a proposal wants nothing more.

mod act;
mod apart;
mod beside;
pub mod consensus;
pub mod earlier;
pub mod error;
mod faults;
mod feedback;
mod fit;
pub mod prompt;
pub mod proposal;
mod reason;
mod refused;
mod rehearse;
mod report;
mod settle;
mod written;

pub use act::{CONTACT, EXACTLY};
pub use faults::panic_text;
pub use refused::{Refused, refused};
pub use rehearse::TRYING;
pub use report::{Act, ActState, Contact, Conversation, Deed, Ending, Taken, TurnReport};

use crate::domain::action::Action;
use crate::domain::gate::plan::{Approval, FlightPlan, Tried};
use crate::domain::gate::{Facts, Gates, Trace};
use crate::domain::id::{SessionId, TurnId};
use crate::domain::label::{Privacy, Trust};
use crate::domain::outside::{Outside, Piece};
use crate::domain::port::{
    Actuator, AtWork, CountTokens, Journal, Locality, LogLevel, Message, Model, Prompt, Sink, Streamed, Surveyor,
};
use crate::domain::scope::Scope;
use crate::domain::signal::{Body, Role, Sensor, Signal};
use crate::domain::tool::{Tool, Toolbox};
use crate::domain::turn::earlier::Past;
use error::Fault;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// What stands before the words of a message that a model sent by a call.
const MESSAGE: &str = "Message from the agent: ";

/// How often a rejected proposal is given back to the model.
pub const MAX_TRIES: usize = 3;

/// All that a turn works with. Built by the runtime for one turn, from one snapshot of the world.
#[derive(Clone)]
pub struct Desk<'a> {
    /// Returns the gates that there are now: what tightens counts at once.
    pub gates: &'a (dyn Fn() -> Arc<Gates> + Send + Sync),
    /// The tools.
    pub toolbox: Toolbox,
    /// The tools that the model is told of.
    pub offered: &'a [&'static Tool],
    /// What the turn may see and touch.
    pub scope: &'a Scope,
    /// The model.
    pub model: &'a dyn Model,
    /// Finds out facts.
    pub surveyor: &'a dyn Surveyor,
    /// Carries out what is cleared.
    pub actuator: &'a dyn Actuator,
    /// Keeps intents, outcomes and plans.
    pub journal: &'a dyn Journal,
    /// What the model is told beside the conversation.
    pub briefing: &'a (dyn Fn(Privacy, prompt::Lean) -> prompt::Briefing + Send + Sync),
    /// The most private that a model which is not local may be given now, in this conversation.
    pub elsewhere: &'a (dyn Fn() -> Privacy + Send + Sync),
    /// The skill at work: it may rewrite what is proposed, and chooses what ends a fault.
    pub skill: &'a dyn AtWork,
    /// The wall clock of the user when the turn began.
    pub now: jiff::civil::DateTime,
    /// Counts tokens.
    pub tokens: &'a dyn CountTokens,
    /// Finds out the most tokens that a prompt may have, as we count them, for whoever would be asked now: what their
    /// reports said of the step before counts.
    pub max_tokens: &'a (dyn Fn() -> usize + Send + Sync),
    /// The clock; for the life of plans.
    pub clock: &'a (dyn Fn() -> jiff::Timestamp + Send + Sync),
}

/// An action that a gate asked about, on its way to becoming a plan.
#[derive(Clone, Debug)]
pub struct Parking {
    /// The action.
    pub action: Action,
    /// What was found out.
    pub facts: Facts,
    /// What the gates said.
    pub trace: Trace,
    /// The conversation.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The model's name for the call.
    pub call: String,
    /// The root of the turn's project, in which a command would run.
    pub project: String,
    /// Which step of its decision it is, from 0.
    pub step: u32,
    /// What came of trying it out; `None` for what is no command.
    pub tried: Option<Tried>,
    /// How private its conversation is.
    pub privacy: Privacy,
}

/// What sets a turn going.
pub enum Start {
    /// A signal that is reasoned about: the user's words, after the conversation so far.
    Words {
        /// The signal.
        signal: Signal,
        /// The messages before it.
        history: Vec<Message>,
        /// Which of them are what.
        past: Past,
        /// What of those messages came from outside.
        outside: Outside,
    },
    /// A human's own command.
    Commanded(Box<Commanded>),
    /// A human decided about steps of a plan.
    Decided {
        /// The signal.
        signal: Signal,
        /// The steps in the order in which they are carried out, each with what was decided about it.
        steps: Vec<(FlightPlan, Decision)>,
        /// The conversation that waited.
        conversation: Conversation,
    },
}

/// An action that a human's own command asks for; no model takes part.
pub struct Commanded {
    /// What was typed or pressed, as a signal.
    pub signal: Signal,
    /// The action.
    pub action: Action,
    /// The human's yes to what a preview showed of it.
    pub approval: Option<Approval>,
}

/// What a human decided about a plan.
#[derive(Debug)]
pub enum Decision {
    /// Yes.
    Approved(Approval),
    /// No, and why; the model may try otherwise.
    Denied(String),
    /// No, and why; the model is not asked again, and what waits beside it is denied as well.
    Stopped(String),
}

/// Whether a signal is reasoned about, or passes through.
pub fn is_reasoned(body: &Body) -> bool {
    match body {
        Body::UserInput { .. }
        | Body::ChatMessage { .. }
        | Body::Schedule { .. }
        | Body::Hook { .. }
        | Body::ToolOutput { .. }
        | Body::ToolError { .. }
        | Body::Approval { .. }
        | Body::Denial { .. }
        | Body::Delegation { .. } => true,
        Body::UserCommand { .. }
        | Body::BufferUpdate { .. }
        | Body::PointUpdate { .. }
        | Body::Heartbeat
        | Body::Interrupt
        | Body::LoopError { .. }
        | Body::SyntaxError { .. }
        | Body::RepairRequest { .. }
        | Body::ReplEval { .. }
        | Body::Undo
        | Body::Redo => false,
    }
}

/// Runs one turn to its end. It always ends, and never panics: a fault is an ending.
pub async fn run(start: Start, desk: &Desk<'_>, sink: Sink<'_>) -> TurnReport {
    let (turn, next) = Turn::begin(start);
    turn.through(next, desk, sink).await
}

/// A turn that is laid out as [`run`] would, and asks nobody.
pub struct Ahead<'a> {
    turn: Turn,
    desk: &'a Desk<'a>,
}

/// Lays a turn out up to what it would ask first. Nobody is asked, and nothing is done.
pub fn foreseen<'a>(start: Start, desk: &'a Desk<'a>) -> Ahead<'a> {
    let (mut turn, _) = Turn::begin(start);
    turn.fit(desk);
    Ahead { turn, desk }
}

impl Ahead<'_> {
    /// Returns what a provider of this locality would be asked first.
    pub fn asked(&self, locality: Locality) -> Prompt {
        self.turn.asked(self.desk, locality)
    }

    /// Returns the most private that a provider of this locality would be given.
    pub fn may_see(&self, locality: Locality) -> Privacy {
        prompt::may_see(self.desk, locality)
    }

    /// Returns what of the briefing gave way for lack of room.
    pub fn lean(&self) -> prompt::Lean {
        self.turn.lean
    }

    /// Returns what people call the parts of that prompt, each with its tokens; their sum is that of the prompt.
    pub fn sections(&self, prompt: &Prompt) -> Vec<(&'static str, usize)> {
        prompt::sections(prompt, &self.turn.report.conversation.past, self.desk.tokens)
    }
}

/// One signal on its way through the turn.
enum Step {
    /// Ask the model.
    Reason(Signal),
    /// Carry out what a human decided.
    Settle(Signal, Vec<(FlightPlan, Decision)>),
    /// Judge and carry out what a human's command asks for.
    Command(Box<Commanded>),
    /// Nothing is reasoned about it.
    Pass(Signal),
}

impl Step {
    fn signal(&self) -> &Signal {
        match self {
            Step::Reason(signal) | Step::Settle(signal, _) | Step::Pass(signal) => signal,
            Step::Command(commanded) => &commanded.signal,
        }
    }
}

enum Flow {
    Go(Box<Step>),
    End(Ending),
}

struct Turn {
    signal: Signal,
    report: TurnReport,
    /// Proposals that were refused since the last one that was not.
    tries: usize,
    /// Whether anything was carried out in it.
    acted: bool,
    /// What the model said to the user by messages of its own, not yet streamed.
    said: Vec<String>,
    /// Acts that were judged and not yet told.
    untold: Vec<Act>,
    /// Whether what was streamed last is a text of the model that what follows must be parted from.
    spoke: bool,
    /// Whether a fault has ended it; what follows only says so.
    failed: bool,
    /// How many milliseconds are left for trying commands out.
    trying: u64,
    /// What of the briefing has given way for lack of room.
    lean: prompt::Lean,
    /// Whether it was found out already if several models answer apart from one another.
    split: bool,
    /// Whether it is what one of these does: it changes nothing, and has the user asked nothing.
    beside: bool,
    /// The room that was found for the prompt of this step, and what it takes of that.
    taken: Taken,
}

impl Turn {
    fn begin(start: Start) -> (Turn, Step) {
        // Words of a command are laid out where a skill answers them, in place of a model.
        let answered = matches!(&start, Start::Words { signal, .. } if signal.body.sensor() == Sensor::UserCommand);
        let (signal, conversation, settle) = match start {
            Start::Commanded(commanded) => {
                let signal = commanded.signal.clone();
                let (labels, set_off) = (signal.labels, signal.body.sensor());
                let report = TurnReport::of(Conversation { labels, set_off, ..Conversation::empty() });
                return (Turn::new(signal, report), Step::Command(commanded));
            }
            Start::Words { signal, mut history, past, outside } => {
                let typed = signal.body.asked().unwrap_or_default().to_string();
                history.push(Message::Text { role: Role::User, text: typed.clone() });
                let labels = signal.labels;
                let (depth, set_off) = (signal.depth, signal.body.sensor());
                let said = Piece::new(labels.provenance.phrase(), &typed, labels.privacy);
                let mut begun =
                    Conversation { messages: history, past, typed, depth, labels, set_off, ..Conversation::empty() };
                if labels.trust == Trust::Untrusted {
                    begun.take_outside(&[said]);
                }
                if !outside.is_empty() {
                    begun.labels.trust = Trust::Untrusted;
                    begun.outside.join(&outside);
                }
                (signal, begun, None)
            }
            Start::Decided { mut signal, steps, conversation } => {
                signal.depth = conversation.depth;
                (signal, conversation, Some(steps))
            }
        };
        let report = TurnReport::of(conversation);
        let step = match settle {
            Some(steps) => Step::Settle(signal.clone(), steps),
            None if answered || is_reasoned(&signal.body) => Step::Reason(signal.clone()),
            None => Step::Pass(signal.clone()),
        };
        (Turn::new(signal, report), step)
    }

    /// Takes step after step to the end.
    async fn through(mut self, mut next: Step, desk: &Desk<'_>, sink: Sink<'_>) -> TurnReport {
        loop {
            let signal = next.signal().clone();
            let step = AssertUnwindSafe(self.step(next, desk, sink)).catch_unwind().await;
            let fault = match step {
                Ok(Ok(Flow::Go(following))) => {
                    next = *following;
                    continue;
                }
                Ok(Ok(Flow::End(ending))) => {
                    self.report.ending = ending;
                    return self.report;
                }
                Ok(Err(fault)) => fault,
                Err(panic) => Fault::Pipeline(panic_text(panic.as_ref())),
            };
            match self.fail(&fault, &signal, desk, sink).await {
                Some(loop_error) => next = Step::Pass(loop_error),
                None => return self.report,
            }
        }
    }

    fn new(signal: Signal, report: TurnReport) -> Turn {
        let (said, untold, lean, trying) = (Vec::new(), Vec::new(), prompt::Lean::Whole, TRYING);
        let (acted, spoke, failed, split, beside, taken) = Default::default();
        Turn { signal, report, tries: 0, acted, said, untold, spoke, failed, trying, lean, split, beside, taken }
    }

    async fn step(&mut self, step: Step, desk: &Desk<'_>, sink: Sink<'_>) -> Result<Flow, Fault> {
        let flow = match step {
            Step::Pass(signal) => {
                if let Body::LoopError { text } = &signal.body {
                    let depth = signal.depth.get();
                    desk.journal.log(LogLevel::Warning, &format!("loop-error, depth {depth}: {text}"));
                }
                Ok(Flow::End(self.report.ending))
            }
            Step::Reason(signal) => self.reason(signal, desk, sink).await,
            Step::Settle(signal, steps) => self.settle(signal, steps, desk, sink).await,
            Step::Command(commanded) => self.command(*commanded, desk, sink).await,
        };
        self.tell_acts(sink);
        // Before anything else is streamed, and whatever became of the step: it was said.
        for text in std::mem::take(&mut self.said) {
            sink(Streamed::Text(&format!("{MESSAGE}{text}\n\n")));
            self.spoke = false;
        }
        flow
    }
}
