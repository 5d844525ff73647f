//! What happened: a signal, where it came from, and how deep in a chain it stands.

use crate::domain::id::{PlanId, SessionId, TurnId};
use crate::domain::label::{Labels, Privacy};

/// What a channel may do. Nothing is allowed that is not said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// May ask for memory, traces and plans.
    pub read: bool,
    /// May send signals that lead to proposals.
    pub propose: bool,
    /// May approve a flight plan: a human's own channel.
    pub approve: bool,
    /// May see nodes that are private.
    pub see_private: bool,
    /// It is a human's own by its road, and not by what the user granted to a program.
    pub own: bool,
    /// It works on this machine, as its user: the folder that it says it works in is the project.
    pub here: bool,
    /// The number of the grant that these rights stand on, where it may be taken back while they are used.
    pub grant: Option<u64>,
}

impl Rights {
    /// A human's own channel on this machine.
    pub const HUMAN: Rights =
        Rights { read: true, propose: true, approve: true, see_private: true, own: true, here: true, grant: None };
    /// What nothing has been granted to.
    pub const NONE: Rights = Rights {
        read: false,
        propose: false,
        approve: false,
        see_private: false,
        own: false,
        here: false,
        grant: None,
    };

    /// Returns whether what only a human does may be done by it without a plan: to move the focus, to choose who is asked,
    /// to count a note from outside as one's own, to go back in time. Who was granted to decide about plans may not.
    pub fn may_steer(self) -> bool {
        self.approve && self.own
    }

    /// Returns whether what tightens counts at once when it says so: a rule taken back, a job stopped, a messenger that is
    /// not listened to any more. What a program has no authority over it does not take away either.
    pub fn may_take_away(self) -> bool {
        self.propose && self.own
    }

    /// Returns whether the folder that it names is taken for the project, whose files are read without a plan: who is
    /// elsewhere, and may not see what is private, would choose by it which of the user's folders it reads.
    pub fn may_name_the_project(self) -> bool {
        self.here || self.see_private
    }

    /// Returns what a channel with these rights may not do of what `needed` names, in words; `None` when it may do all.
    pub fn missing(self, needed: Rights) -> Option<&'static str> {
        let lacks = [
            (needed.read && !self.read, "this channel may not ask for anything that is kept here"),
            (needed.propose && !self.propose, "this channel may not ask for anything to be done"),
            (needed.approve && !self.approve, "this channel may not decide what is done"),
            (needed.see_private && !self.see_private, "this channel may not see what may be private"),
            (needed.own && !self.own, "only a human's own channel may do this, and this is a program's"),
        ];
        lacks.into_iter().find_map(|(lacks, words)| lacks.then_some(words))
    }
}

/// The kind of channel that a signal came by. The edge stamps it; a message cannot claim it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// This Emacs.
    Emacs,
    /// The command line.
    Cli,
    /// A TCP or Unix-socket client.
    Client,
    /// A messenger.
    Gateway,
    /// The clock.
    Clock,
    /// The core itself: feedback, faults.
    System,
}

impl Source {
    /// Every source; the last of them is the core itself.
    pub const ALL: [Source; Source::System as usize + 1] =
        [Source::Emacs, Source::Cli, Source::Client, Source::Gateway, Source::Clock, Source::System];
}

/// Where a signal came from, as the edge stamped it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The kind of channel.
    pub source: Source,
    /// The conversation.
    pub session: SessionId,
    /// What the channel may do.
    pub rights: Rights,
}

/// How many feedback steps lie between a signal and the human who set it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Depth(u8);

impl Depth {
    /// The deepest signal that is still handled.
    pub const MAX: u8 = 10;

    /// Returns the depth of a signal from outside.
    pub const fn outermost() -> Depth {
        Depth(0)
    }

    /// Returns the depth of feedback; `None` ends the chain.
    pub fn deeper(self) -> Option<Depth> {
        (self.0 < Self::MAX).then(|| Depth(self.0 + 1))
    }

    /// Reads a number; `None` when it is deeper than any signal may be.
    pub fn from_number(number: u64) -> Option<Depth> {
        u8::try_from(number).ok().filter(|n| *n <= Self::MAX).map(Depth)
    }

    /// Returns the number.
    pub fn get(self) -> u8 {
        self.0
    }
}

/// How far a signal has come through a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Normalised and ingested.
    Perceived,
    /// A proposal was made and judged.
    Reasoned,
    /// A flight plan waits for a human.
    RequiresApproval,
    /// Done.
    Acted,
}

/// The kind of a signal. The list is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sensor {
    /// The user typed something in a chat.
    UserInput,
    /// Text came from a gateway.
    ChatMessage,
    /// The user typed a slash command.
    UserCommand,
    /// An Org file or buffer changed.
    BufferUpdate,
    /// The user's point moved.
    PointUpdate,
    /// The clock ticked: housekeeping, with nobody looking on.
    Heartbeat,
    /// A job is due.
    Schedule,
    /// A hook of a node fired.
    Hook,
    /// The user stopped the running turn.
    Interrupt,
    /// Work was handed over by another part of the agent.
    Delegation,
    /// A tool answered.
    ToolOutput,
    /// A tool failed, or does not exist.
    ToolError,
    /// A human approved a flight plan.
    Approval,
    /// A human denied a flight plan.
    Denial,
    /// A turn failed.
    LoopError,
    /// Something could not be read.
    SyntaxError,
    /// A repair is asked for.
    RepairRequest,
    /// Lisp for the worker came in.
    ReplEval,
    /// The last operation is to be undone.
    Undo,
    /// What was undone is to be done again.
    Redo,
}

impl Sensor {
    /// Every sensor.
    pub const ALL: [Sensor; 20] = [
        Sensor::UserInput,
        Sensor::ChatMessage,
        Sensor::UserCommand,
        Sensor::BufferUpdate,
        Sensor::PointUpdate,
        Sensor::Heartbeat,
        Sensor::Schedule,
        Sensor::Hook,
        Sensor::Interrupt,
        Sensor::Delegation,
        Sensor::ToolOutput,
        Sensor::ToolError,
        Sensor::Approval,
        Sensor::Denial,
        Sensor::LoopError,
        Sensor::SyntaxError,
        Sensor::RepairRequest,
        Sensor::ReplEval,
        Sensor::Undo,
        Sensor::Redo,
    ];

    /// Returns the name used on the wire, in triggers and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Sensor::UserInput => "user-input",
            Sensor::ChatMessage => "chat-message",
            Sensor::UserCommand => "user-command",
            Sensor::BufferUpdate => "buffer-update",
            Sensor::PointUpdate => "point-update",
            Sensor::Heartbeat => "heartbeat",
            Sensor::Schedule => "schedule",
            Sensor::Hook => "hook",
            Sensor::Interrupt => "interrupt",
            Sensor::Delegation => "delegation",
            Sensor::ToolOutput => "tool-output",
            Sensor::ToolError => "tool-error",
            Sensor::Approval => "approval",
            Sensor::Denial => "denial",
            Sensor::LoopError => "loop-error",
            Sensor::SyntaxError => "syntax-error",
            Sensor::RepairRequest => "repair-request",
            Sensor::ReplEval => "repl-eval",
            Sensor::Undo => "undo",
            Sensor::Redo => "redo",
        }
    }

    /// Returns whether a job or hook of a heading is what raises it.
    pub fn is_of_job(self) -> bool {
        matches!(self, Sensor::Schedule | Sensor::Hook)
    }

    /// Finds a sensor by its name, exactly.
    pub fn parse(name: &str) -> Option<Sensor> {
        Sensor::ALL.into_iter().find(|sensor| sensor.name() == name)
    }
}

/// What happened, by sensor. The list is closed.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The user typed something in a chat.
    UserInput {
        /// What was typed.
        text: String,
        /// The conversation so far, oldest first, as the client shows it.
        history: Vec<Said>,
    },
    /// Text from a gateway, for the model.
    ChatMessage {
        /// What was said.
        text: String,
    },
    /// A slash command typed by the user, without its slash.
    UserCommand {
        /// The command and its arguments.
        line: String,
    },
    /// An Org file or buffer changed; the edge has the text.
    BufferUpdate {
        /// The file, absolute.
        file: String,
        /// Its whole text now.
        text: std::sync::Arc<str>,
    },
    /// The user's point moved.
    PointUpdate {
        /// The file, absolute.
        file: String,
        /// Byte offset of point in the file's text.
        byte: usize,
    },
    /// The clock ticked.
    Heartbeat,
    /// A job is due.
    Schedule {
        /// The job's name.
        job: String,
        /// What is to be done, as the user confirmed it.
        task: String,
    },
    /// A hook of a node fired.
    Hook {
        /// The hook's name.
        name: String,
        /// What is to be done, as the user confirmed it.
        task: String,
    },
    /// The user stopped the running turn.
    Interrupt,
    /// Work handed over by another part of the agent.
    Delegation {
        /// What is to be done.
        task: String,
    },
    /// A tool's answer.
    ToolOutput {
        /// The tool.
        tool: String,
        /// What it said.
        text: String,
    },
    /// A tool failed, or does not exist.
    ToolError {
        /// The tool.
        tool: String,
        /// Why.
        text: String,
    },
    /// A human approved a flight plan.
    Approval {
        /// The plan.
        plan: PlanId,
        /// The hash that was shown, in hexadecimal.
        shown: String,
    },
    /// A human denied a flight plan.
    Denial {
        /// The plan.
        plan: PlanId,
        /// Why; may be empty.
        reason: String,
    },
    /// A turn failed.
    LoopError {
        /// What failed.
        text: String,
    },
    /// Something could not be read.
    SyntaxError {
        /// What and where.
        text: String,
    },
    /// A repair is asked for.
    RepairRequest {
        /// Of what.
        text: String,
    },
    /// Lisp for the worker, bypassing the model.
    ReplEval {
        /// The code.
        code: String,
    },
    /// Undo the last operation.
    Undo,
    /// Redo what was undone.
    Redo,
}

/// One turn of a conversation as a client shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Who spoke.
    pub role: Role,
    /// What.
    pub text: String,
    /// The node ids that the chat's store labels as private-derived make this private.
    pub privacy: Privacy,
    /// Whether it is an answer beside the one that the conversation went on from.
    pub aside: bool,
}

/// Who spoke in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The human.
    User,
    /// The model.
    Assistant,
    /// A tool's answer.
    Tool,
}

impl Body {
    /// Returns what is asked by it: of a model by words of the user, a job that the user confirmed, or work that was handed
    /// over; of a skill by a command.
    pub fn asked(&self) -> Option<&str> {
        match self {
            Body::UserInput { text, .. } | Body::ChatMessage { text } => Some(text),
            Body::Schedule { task, .. } | Body::Hook { task, .. } | Body::Delegation { task } => Some(task),
            Body::UserCommand { line } => Some(line),
            Body::BufferUpdate { .. }
            | Body::PointUpdate { .. }
            | Body::Heartbeat
            | Body::Interrupt
            | Body::ToolOutput { .. }
            | Body::ToolError { .. }
            | Body::Approval { .. }
            | Body::Denial { .. }
            | Body::LoopError { .. }
            | Body::SyntaxError { .. }
            | Body::RepairRequest { .. }
            | Body::ReplEval { .. }
            | Body::Undo
            | Body::Redo => None,
        }
    }

    /// Returns the sensor; tag and payload cannot disagree.
    pub fn sensor(&self) -> Sensor {
        match self {
            Body::UserInput { .. } => Sensor::UserInput,
            Body::ChatMessage { .. } => Sensor::ChatMessage,
            Body::UserCommand { .. } => Sensor::UserCommand,
            Body::BufferUpdate { .. } => Sensor::BufferUpdate,
            Body::PointUpdate { .. } => Sensor::PointUpdate,
            Body::Heartbeat => Sensor::Heartbeat,
            Body::Schedule { .. } => Sensor::Schedule,
            Body::Hook { .. } => Sensor::Hook,
            Body::Interrupt => Sensor::Interrupt,
            Body::Delegation { .. } => Sensor::Delegation,
            Body::ToolOutput { .. } => Sensor::ToolOutput,
            Body::ToolError { .. } => Sensor::ToolError,
            Body::Approval { .. } => Sensor::Approval,
            Body::Denial { .. } => Sensor::Denial,
            Body::LoopError { .. } => Sensor::LoopError,
            Body::SyntaxError { .. } => Sensor::SyntaxError,
            Body::RepairRequest { .. } => Sensor::RepairRequest,
            Body::ReplEval { .. } => Sensor::ReplEval,
            Body::Undo => Sensor::Undo,
            Body::Redo => Sensor::Redo,
        }
    }
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// Where it came from.
    pub origin: Origin,
    /// How deep in a chain.
    pub depth: Depth,
    /// The turn that it belongs to.
    pub turn: TurnId,
    /// When, as the edge's clock said.
    pub at: jiff::Timestamp,
    /// Labels of the text it carries.
    pub labels: Labels,
    /// What happened.
    pub body: Body,
}
