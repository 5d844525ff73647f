//! What a turn may see and touch: roots, permissions, privacy tags.

use crate::domain::id::SessionId;
use crate::domain::label::{Privacy, PrivacyTag};
use std::collections::BTreeMap;

/// How the permissions gate treats a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Passes.
    Allow,
    /// Asks.
    Ask,
    /// Denies.
    Deny,
    /// As severe as the dispatcher judges.
    Auto,
}

impl Level {
    /// Reads `allow`, `ask`, `deny` or `auto`, without regard to case.
    pub fn parse(text: &str) -> Option<Level> {
        match text.trim().to_ascii_lowercase().as_str() {
            "allow" => Some(Level::Allow),
            "ask" => Some(Level::Ask),
            "deny" => Some(Level::Deny),
            "auto" => Some(Level::Auto),
            _ => None,
        }
    }
}

/// What one turn may see and touch. Paths are absolute and canonical; the edge made them so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The conversation.
    pub session: SessionId,
    /// The roots of the memex.
    pub memex: Vec<String>,
    /// The project root: never home, `/`, or an ancestor of memex, store or configuration.
    pub project: String,
    /// The user's home.
    pub home: String,
    /// The store, settings and cache folders, which nothing may touch.
    pub own: Vec<String>,
    /// Levels that the user set, by tool; built-in defaults stand behind them.
    pub permissions: BTreeMap<String, Level>,
    /// Tags that make a node private, as they were set, each with how private.
    pub private_tags: Vec<PrivacyTag>,
    /// Files with notes that are more private than they say, since what made them so was taken away, each with how
    /// private the strictest of them is.
    pub held: BTreeMap<String, Privacy>,
    /// Whether the agent may write its own program and skills (asks; otherwise denied).
    pub self_build: bool,
    /// The most private that may be read on behalf of whoever asks.
    pub may_see: Privacy,
    /// Hosts that network tools may name without being asked about.
    pub hosts: Vec<String>,
}

#[cfg(test)]
impl Scope {
    /// A scope without any root, setting or level, in which everything may be seen, for tests to fill in.
    pub(crate) fn bare() -> Scope {
        Scope {
            session: SessionId("s".to_string()),
            memex: Vec::new(),
            project: String::new(),
            home: String::new(),
            own: Vec::new(),
            permissions: BTreeMap::new(),
            private_tags: Vec::new(),
            held: BTreeMap::new(),
            self_build: false,
            may_see: Privacy::Private,
            hosts: Vec::new(),
        }
    }
}
