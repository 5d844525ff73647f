//! Messengers: what a message of one means, who is let in, and how an answer is cut to fit.
//!
//! Nothing here talks with a messenger, and no text of a chat lets anybody in or approves anything.

pub mod door;
pub mod seen;
pub mod split;

use crate::domain::gateway::split::Limit;
use jiff::Timestamp;

/// A messenger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Platform {
    /// Telegram, through its Bot API.
    Telegram,
    /// Signal, through the user's signal-cli.
    Signal,
}

impl Platform {
    /// Every one.
    pub const ALL: [Platform; 2] = [Platform::Telegram, Platform::Signal];

    /// Returns the name in the store, on the wire and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Platform::Telegram => "telegram",
            Platform::Signal => "signal",
        }
    }

    /// Finds one by its name.
    pub fn parse(name: &str) -> Option<Platform> {
        Platform::ALL.into_iter().find(|platform| platform.name() == name)
    }

    /// Returns how long a message may be.
    pub const fn limit(self) -> Limit {
        match self {
            Platform::Telegram => Limit::Utf16(4_096),
            // What is longer becomes an attachment.
            Platform::Signal => Limit::Utf8(2_000),
        }
    }
}

/// By what it is known that something came already.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// A number of the messenger's own: what comes next has a larger one, whoever sent it, unless the messenger has begun
    /// to count anew since.
    Number {
        /// The number.
        number: i64,
        /// When what has it was sent, by the messenger's own clock; `None` where it does not say that.
        sent: Option<Timestamp>,
    },
    /// What its sender's device called it. It says nothing about what came before it, or what comes next.
    Name {
        /// Who sent it, by the messenger's own name.
        sender: String,
        /// The name, which no two messages of a sender share.
        name: String,
    },
}

impl Mark {
    /// Returns whether it is kept that something came. A number counts whatever came with it; a name only where its sender
    /// is let in, or strangers would fill the store.
    pub const fn is_kept(&self, let_in: bool) -> bool {
        match self {
            Mark::Number { .. } => true,
            Mark::Name { .. } => let_in,
        }
    }
}

/// Something that came in; whatever it is, its mark says that it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// By what it is known.
    pub mark: Mark,
    /// The message, if it is one that a person sent to us alone.
    pub message: Option<Message>,
}

/// A message of a person, in a conversation that nobody else reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who sent it, by the messenger's own name, which no sender chooses.
    pub sender: String,
    /// What the sender is called; anybody may be called anything.
    pub name: String,
    /// What was said; `None` when it is no text.
    pub text: Option<String>,
}

/// What a message of somebody who was let in comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A turn is to be run for it.
    Ask(String),
    /// It is answered by this.
    Say(&'static str),
}

/// What is said of what is no text.
pub const NO_TEXT: &str = "I read text only, so this was not looked at. Please write what you mean.";
/// What is said to who begins.
pub const HELP: &str = "Write, and you get an answer. What needs a yes waits in Emacs; commands are typed there, too.";
/// What is said of a command.
pub const NO_COMMAND: &str = "Commands, also /approve and /deny, are typed in Emacs. Nothing was done.";

/// Returns what a message means.
pub fn meaning(message: &Message) -> Meaning {
    let Some(text) = message.text.as_deref().map(str::trim).filter(|text| !text.is_empty()) else {
        return Meaning::Say(NO_TEXT);
    };
    match text.split_whitespace().next() {
        Some("/start" | "/help") => Meaning::Say(HELP),
        Some(word) if word.starts_with('/') => Meaning::Say(NO_COMMAND),
        Some(_) | None => Meaning::Ask(text.to_string()),
    }
}
