//! One entry of the log that only grows: what moved memory's head, why, and when.

use crate::domain::hash::ContentHasher;
use crate::domain::id::{ObjectHash, OperationId};

/// Why memory is changed, as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// The signal or command that led to it.
    pub cause: String,
    /// Where that came from, as the edge stamped it.
    pub origin: String,
    /// When, as the edge's clock said.
    pub at: jiff::Timestamp,
    /// A line for people.
    pub note: String,
}

/// One move of memory's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its place in the log.
    pub id: OperationId,
    /// The hash of the operation before it; the first has none.
    pub parent: Option<ObjectHash>,
    /// The root of memory after it.
    pub root: ObjectHash,
    /// Why.
    pub why: Why,
}

impl Operation {
    /// Returns the operation's own hash: it covers the parent's, so the log is a chain.
    pub fn hash(&self) -> ObjectHash {
        let parent = self.parent.map(|parent| parent.to_hex());
        let mut hasher = ContentHasher::new("operation");
        hasher
            .number(self.id.0)
            .option(parent.as_deref())
            .bytes(self.root.as_bytes())
            .text(&self.why.cause)
            .text(&self.why.origin)
            .text(&self.why.at.as_nanosecond().to_string())
            .text(&self.why.note);
        ObjectHash::new(hasher.finish())
    }

    /// Returns the operation that follows `last` in the log.
    pub fn after(last: Option<&Operation>, root: ObjectHash, why: Why) -> Operation {
        Operation {
            id: OperationId(last.map_or(0, |last| last.id.0).saturating_add(1)),
            parent: last.map(Operation::hash),
            root,
            why,
        }
    }
}
