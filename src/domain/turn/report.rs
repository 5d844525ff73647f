//! What came of a turn: its ending, its deeds, its plans, and the conversation for going on.

use crate::domain::gate::Trace;
use crate::domain::id::{NodeId, PlanId};
use crate::domain::label::{Labels, Privacy, Trust};
use crate::domain::money::totals::Shares;
use crate::domain::outside::{Outside, Piece};
use crate::domain::port::{Ended, Message, Prompt, Usage};
use crate::domain::route::Slot;
use crate::domain::signal::{Depth, Sensor};
use crate::domain::turn::consensus::{Other, Round};
use crate::domain::turn::earlier::Past;
use crate::domain::turn::error::Fault;
use crate::domain::turn::refused::DENIED;
use std::collections::{BTreeMap, BTreeSet};

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// With an answer.
    Answered,
    /// With plans that wait.
    Parked,
    /// The user stopped it.
    Interrupted,
    /// With a fault.
    Failed,
}

impl Ending {
    /// Returns the word for the wire.
    pub fn name(self) -> &'static str {
        match self {
            Ending::Answered => "answered",
            Ending::Parked => "parked",
            Ending::Interrupted => "interrupted",
            Ending::Failed => "failed",
        }
    }
}

/// One action of a turn, with what was said of it and what it came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Deed {
    /// The tool.
    pub tool: String,
    /// The action in a line.
    pub summary: String,
    /// What the gates said; `None` for a call that is no action at all.
    pub trace: Option<Trace>,
    /// What it came to, in words.
    pub outcome: String,
    /// The plan that it waits in.
    pub plan: Option<PlanId>,
    /// It is more private than the conversation: of why it was refused only words of our own are told there.
    pub bare: bool,
}

/// An act of a turn, told while the turn goes on. It says no more than the deed that the report has of it in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// Where its deed stands among those of the report.
    pub number: usize,
    /// The tool.
    pub tool: String,
    /// The action in a line.
    pub summary: String,
    /// How it stands.
    pub state: ActState,
    /// The plan that it waits in, or was approved by.
    pub plan: Option<PlanId>,
    /// How private what it is about is: the line is for those who may see that.
    pub privacy: Privacy,
}

/// How an act stands while its turn goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActState {
    /// It was cleared, and is being carried out.
    Begun,
    /// It was carried out.
    Done,
    /// It was begun and did not come to its end.
    Failed,
    /// It was refused, and nothing was done.
    Blocked,
    /// It waits for the user as a plan.
    Asked,
}

impl ActState {
    /// Returns the word for the wire.
    pub fn name(self) -> &'static str {
        match self {
            ActState::Begun => "begun",
            ActState::Done => "done",
            ActState::Failed => "failed",
            ActState::Blocked => "blocked",
            ActState::Asked => "asked",
        }
    }
}

/// What a human is shown before the first contact with a provider: exactly this is sent when it is approved.
#[derive(Clone, Debug, PartialEq)]
pub struct Contact {
    /// What would be sent.
    pub prompt: Prompt,
}

/// What a prompt took of the room that it had, in tokens as we count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// What was sent.
    pub used: usize,
    /// What may be sent at most.
    pub most: usize,
}

/// A conversation that can go on: kept while plans wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// The messages so far.
    pub messages: Vec<Message>,
    /// Which of them are turns that are over.
    pub past: Past,
    /// What the user typed to set it off.
    pub typed: String,
    /// How deep the next signal is.
    pub depth: Depth,
    /// The labels of everything in it.
    pub labels: Labels,
    /// What of it came from outside. Whenever it is not empty, the labels are untrusted.
    pub outside: Outside,
    /// Headings of memory that tools read in it.
    pub nodes: BTreeSet<NodeId>,
    /// Whether the last answer came from this machine; what a model elsewhere asks for is never private.
    pub local: bool,
    /// Calls of the last answer that still have no result, by call and plan.
    pub waiting: Vec<(String, PlanId)>,
    /// What was shown for a first contact that waits.
    pub contact: Option<Box<Contact>>,
    /// What set it off, however many steps and approvals ago.
    pub set_off: Sensor,
}

/// What came of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnReport {
    /// How it ended.
    pub ending: Ending,
    /// What the model said last.
    pub text: String,
    /// A sentence for the user beside the text.
    pub notice: Option<String>,
    /// What was wanted and done.
    pub deeds: Vec<Deed>,
    /// Plans that wait.
    pub plans: Vec<PlanId>,
    /// Files that were changed.
    pub changed: Vec<String>,
    /// Nodes that the answer drew on.
    pub sources: Vec<NodeId>,
    /// Which skill it began under, or answered in place of a model.
    pub skill: Option<String>,
    /// Which provider and model answered last.
    pub answered_by: Option<(String, String)>,
    /// The kind of work for which it was asked; no record keeps it, as the routes say it.
    pub slot: Option<Slot>,
    /// Whether that answer was cut off.
    pub ended: Ended,
    /// Which rule chose which providers, in words.
    pub routes: Vec<String>,
    /// What came of asking several models at once, each time that they were.
    pub rounds: Vec<Round>,
    /// Answers beside this one. They stand in the chat, and no record keeps them.
    pub others: Vec<Other>,
    /// What the requests of the turn came to, as the ledger has it.
    pub spent: Shares,
    /// Tokens of all requests of the turn.
    pub usage: Usage,
    /// What the last prompt that a model answered took; `None` when none was asked.
    pub taken: Option<Taken>,
    /// The heading that it looked at.
    pub focus: Option<NodeId>,
    /// The conversation, for going on.
    pub conversation: Conversation,
    /// The fault that ended it, if one did.
    pub fault: Option<Fault>,
    /// Whether memory must go back to where it stood when the turn began.
    pub roll_back: bool,
    /// Whether it ended because it had taken as many steps as it may.
    pub out_of_steps: bool,
}

impl Conversation {
    /// Returns a conversation in which nothing was said, for reports of what no model took part in.
    pub fn empty() -> Conversation {
        Conversation {
            messages: Vec::new(),
            past: Past::default(),
            typed: String::new(),
            depth: Depth::outermost(),
            labels: Labels::USER,
            outside: Outside::default(),
            nodes: BTreeSet::new(),
            local: true,
            waiting: Vec::new(),
            contact: None,
            set_off: Sensor::UserCommand,
        }
    }
}

impl Conversation {
    /// Takes in text from outside.
    pub(super) fn take_outside(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            self.labels.trust = Trust::Untrusted;
            self.outside.take(piece);
        }
    }
}

impl TurnReport {
    /// Returns how many acts were refused.
    pub fn rejections(&self) -> usize {
        self.deeds.iter().filter(|deed| deed.outcome == DENIED).count()
    }

    /// Returns how many acts each gate refused, by the gate's name: of several that spoke against one, the strictest.
    pub fn blocked(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        let denied = self.deeds.iter().filter(|deed| deed.outcome == DENIED);
        for opinion in denied.filter_map(|deed| deed.trace.as_ref()?.strictest()) {
            *counts.entry(&*opinion.gate).or_default() += 1;
        }
        counts
    }

    /// Returns the report of a turn in which nothing has happened yet.
    pub fn of(conversation: Conversation) -> TurnReport {
        TurnReport {
            ending: Ending::Answered,
            text: String::new(),
            notice: None,
            deeds: Vec::new(),
            plans: Vec::new(),
            changed: Vec::new(),
            sources: Vec::new(),
            skill: None,
            answered_by: None,
            slot: None,
            ended: Ended::Whole,
            routes: Vec::new(),
            rounds: Vec::new(),
            others: Vec::new(),
            spent: Shares::default(),
            usage: Usage::default(),
            taken: None,
            focus: None,
            conversation,
            fault: None,
            roll_back: false,
            out_of_steps: false,
        }
    }
}
