//! Labels: where a text came from, how far it is trusted, how private it is.
//!
//! They travel from memory through context and proposal to the action.

/// Where a text came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Provenance {
    /// Typed by the user.
    User,
    /// A note of the user's memex.
    Note,
    /// A file from elsewhere.
    File,
    /// A tool's output.
    Tool,
    /// A model's words.
    Model,
    /// A gateway (mail, messenger).
    Gateway,
    /// Another agent or client.
    Agent,
    /// The web.
    Web,
}

/// How far a text is trusted. The order is by trust: `min` of two is the safe one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trust {
    /// Anyone may have written it.
    Untrusted,
    /// Kept by the user, though perhaps pasted from elsewhere.
    Kept,
    /// The user's own words.
    Own,
}

/// How private a text is. The order is by strictness: `max` of two is the safe one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Privacy {
    /// May be sent to a provider that the user confirmed.
    Open,
    /// Never leaves this machine.
    Private,
}

/// The three labels of one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Labels {
    /// Where it came from.
    pub provenance: Provenance,
    /// How far it is trusted.
    pub trust: Trust,
    /// How private it is.
    pub privacy: Privacy,
}

impl Provenance {
    /// Returns the words for people, where nothing more exact is known.
    pub fn phrase(self) -> &'static str {
        match self {
            Provenance::User => "what was typed",
            Provenance::Note => "a note",
            Provenance::File => "a file from elsewhere",
            Provenance::Tool => "what a tool said",
            Provenance::Model => "what a model said",
            Provenance::Gateway => "a message from a gateway",
            Provenance::Agent => "another agent",
            Provenance::Web => "a page of the web",
        }
    }
}

impl Labels {
    /// The labels of what the user typed.
    pub const USER: Labels = Labels { provenance: Provenance::User, trust: Trust::Own, privacy: Privacy::Open };
    /// The labels of a model's words before they meet others: a model that read nothing from outside is not steered
    /// from there. Joined with what it did read, they are as weak as that.
    pub const MODEL: Labels = Labels { provenance: Provenance::Model, trust: Trust::Kept, privacy: Privacy::Open };

    /// Returns the labels of a text that anyone may have written.
    pub const fn untrusted(provenance: Provenance, privacy: Privacy) -> Labels {
        Labels { provenance, trust: Trust::Untrusted, privacy }
    }

    /// Returns the labels of a text made from both: least trusted, most private.
    pub fn join(self, other: Labels) -> Labels {
        Labels {
            provenance: self.provenance.max(other.provenance),
            trust: self.trust.min(other.trust),
            privacy: self.privacy.max(other.privacy),
        }
    }
}
