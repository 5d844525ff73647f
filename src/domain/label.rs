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

/// How private a text is. The order is by strictness: `max` of two is the safe one, and whoever may see one tier may see
/// those below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Privacy {
    /// May be sent to a provider that the user confirmed.
    Open,
    /// The same, and each time it is said and counted.
    Warn,
    /// Leaves this machine in conversations for which the user said so, and in no other.
    Ask,
    /// Never leaves this machine.
    Private,
}

/// A tag that makes notes private, and how private.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PrivacyTag {
    /// The tag, as it was set.
    pub tag: String,
    /// How private what carries it is.
    pub tier: Privacy,
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
            Provenance::Agent => "another agent or program",
            Provenance::Web => "a page of the web",
        }
    }
}

impl Privacy {
    /// What a model elsewhere is given without the user being asked.
    pub const ELSEWHERE: Privacy = Privacy::Warn;

    /// Returns the word that people write and read: `open`, `warn`, `ask` or `block`.
    pub fn word(self) -> &'static str {
        match self {
            Privacy::Open => "open",
            Privacy::Warn => "warn",
            Privacy::Ask => "ask",
            Privacy::Private => "block",
        }
    }

    /// Reads a tier, without regard to case: `block` (or `private`), `ask` or `warn`.
    pub fn tier(word: &str) -> Option<Privacy> {
        match word.trim_matches('"').to_ascii_lowercase().as_str() {
            "block" | "private" => Some(Privacy::Private),
            "ask" => Some(Privacy::Ask),
            "warn" => Some(Privacy::Warn),
            _ => None,
        }
    }

    /// Returns whether it stays on this machine unless the user says otherwise, or whatever the user says.
    pub fn is_kept(self) -> bool {
        self > Privacy::ELSEWHERE
    }
}

impl PrivacyTag {
    /// Reads `TAG`, which blocks, or `TAG=TIER`. A tier that is none blocks as well; the second value says so.
    pub fn read(text: &str) -> (PrivacyTag, Option<String>) {
        match text.split_once('=') {
            None => (PrivacyTag::from(text), None),
            Some((tag, tier)) => PrivacyTag::of(tag, tier),
        }
    }

    /// Makes a tag of one of the words `block`, `ask` and `warn`. Another word blocks; the second value says so.
    pub fn of(tag: &str, word: &str) -> (PrivacyTag, Option<String>) {
        let wrong = || {
            let (tag, word) = (crate::domain::inert::exact(tag), crate::domain::inert::exact(word));
            format!("The private tag “{tag}” blocks: “{word}” is no tier; write block, ask or warn.")
        };
        match Privacy::tier(word) {
            Some(tier) => (PrivacyTag { tag: tag.to_string(), tier }, None),
            None => (PrivacyTag::from(tag), Some(wrong())),
        }
    }
}

impl From<&str> for PrivacyTag {
    /// Returns a tag that blocks.
    fn from(tag: &str) -> PrivacyTag {
        PrivacyTag { tag: tag.to_string(), tier: Privacy::Private }
    }
}

impl From<String> for PrivacyTag {
    fn from(tag: String) -> PrivacyTag {
        PrivacyTag::from(tag.as_str())
    }
}

impl std::fmt::Display for PrivacyTag {
    /// Writes it as [`PrivacyTag::read`] reads it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.tier {
            Privacy::Private => f.write_str(&self.tag),
            Privacy::Open | Privacy::Warn | Privacy::Ask => write!(f, "{}={}", self.tag, self.tier.word()),
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
