//! The id newtypes: what names a thing, never confused with what names its content.

use std::fmt;
use std::sync::Arc;

/// Names a node of memory through edits: the Org `:ID:`, or `FILE::*path/of/titles` without one.
/// A file itself is named by its `:ID:` or by its path.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(Arc<str>);

impl NodeId {
    /// Wraps an id as it stands.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        NodeId(text.into())
    }

    /// Returns the id's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns an id of our making, in the form of a UUID, for what a hash names: the same for the same.
    pub fn made_of(mut bytes: [u8; 32]) -> Self {
        // As RFC 9562 has it for ids that are made in another way than its own.
        let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
        *version = *version & 0x0f | 0x80;
        *variant = *variant & 0x3f | 0x80;
        let hex: String = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
        NodeId::new([part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-"))
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeId({})", self.0)
    }
}

/// Makes a 32-byte hash newtype with hexadecimal text.
macro_rules! hash_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; 32]);

        impl $name {
            /// Wraps 32 bytes of BLAKE3.
            pub const fn new(bytes: [u8; 32]) -> Self {
                $name(bytes)
            }

            /// Returns the bytes.
            pub fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }

            /// Returns 64 lower-case hexadecimal digits.
            pub fn to_hex(&self) -> String {
                blake3::Hash::from_bytes(self.0).to_hex().to_string()
            }

            /// Reads 64 hexadecimal digits; `None` when the text is anything else.
            pub fn from_hex(text: &str) -> Option<Self> {
                blake3::Hash::from_hex(text).ok().map(|h| $name(*h.as_bytes()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.to_hex())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), &self.to_hex()[..12])
            }
        }
    };
}

hash_id!(
    /// Names the exact content of a memory object and of everything below it.
    ObjectHash
);
hash_id!(
    /// Names one exact action: target, tool, arguments and explanation.
    ActionHash
);
hash_id!(
    /// Names exactly what the edge found out before an action was judged.
    FactsHash
);

/// Makes a newtype over text that names a thing of ours.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// Names one flight plan; short enough to type after `/approve`.
    PlanId
);
text_id!(
    /// Names one conversation: a chat file, or one run of the command line.
    SessionId
);
text_id!(
    /// Names one turn: everything that one human signal set in motion.
    TurnId
);

/// The position of an operation in the log; the first is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct OperationId(pub u64);
