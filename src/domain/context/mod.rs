//! What a model is given of memory: chosen, rendered within a budget, and explained.
//!
//! Near the focus and the question nodes are shown in full, further away as titles, and far away not at all.
//! What may not leave is never a candidate.

mod alike;
pub mod almanac;
pub mod build;
mod desk;
mod dictionary;
mod field;
pub mod holding;
mod kindred;
pub mod lexical;
pub mod outline;
pub mod pins;
pub mod postings;
pub mod prose;
pub mod question;
pub mod race;
pub mod rank;
pub mod reason;
pub mod render;
pub mod script;
pub mod segment;
pub mod sieve;
pub mod swift;
pub mod tray;
pub mod trigram;
pub mod words;

use crate::domain::context::desk::Desk;
use crate::domain::context::lexical::Index;
use crate::domain::context::reason::Reason;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::view::View;
use crate::domain::port::{AtPoint, CountTokens, Nearness, Quotes};
use jiff::civil::DateTime;
use std::collections::BTreeSet;

pub use crate::domain::context::desk::NEAR;

/// Who will read the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Audience {
    /// A reader on this machine; private nodes may be in it.
    Local,
    /// Any other reader, and the most private that one may see.
    Remote(Privacy),
}

/// How a node is written. The order is by fullness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rendered {
    /// Its title line.
    Title,
    /// Heading, properties and text, without what is below it.
    Full,
}

/// What a context is asked for.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The node at point.
    pub focus: Option<&'a NodeId>,
    /// What the user asked.
    pub query: Option<&'a str>,
    /// The budget, in tokens of the whole text.
    pub max_tokens: usize,
    /// Who will read it.
    pub audience: Audience,
    /// The user's wall clock.
    pub now: DateTime,
    /// How many minutes ahead deadlines and schedules are shown first; 60 unless the user says otherwise.
    pub deadline_minutes: i64,
    /// The tag that makes a heading a project, lower case; `project` unless the user says otherwise.
    pub project_tag: &'a str,
    /// The most tokens that the focus may take with all below it: of more it is left out altogether. Up to that it is in as
    /// it stands, whatever `max_tokens` are.
    pub most_at_point: usize,
    /// Nodes changed in this session or today, latest first.
    pub changed: &'a [NodeId],
    /// Whether the outline of projects and files is told apart from this, by [`outline::outline`] and
    /// [`outline::further`].
    pub apart: bool,
    /// Whether everything that was considered is named, also what was too far, or would be near if it might be seen; else
    /// only the first of what was left out.
    pub explained: bool,
    /// What finds nodes by their meaning, when there is anything of the kind.
    pub nearness: Option<&'a dyn Nearness>,
    /// From which cosine on a node is near by its meaning; [`NEAR_COSINE`](rank::NEAR_COSINE) unless the user says otherwise.
    pub near_cosine: f32,
    /// What the user wants in, in full.
    pub pinned: &'a [NodeId],
    /// What the user wants out; the focus is in all the same.
    pub unpinned: &'a [NodeId],
    /// What may not be told though it is open, when there is anything of the kind.
    pub quoting: Option<Quoting<'a>>,
}

/// Which texts are as private as what they quote. They are told neither as they are nor above others, the focus included.
#[derive(Clone, Copy, Debug)]
pub struct Quoting<'a> {
    /// Whether words that the reader may not see stand in a text: each is asked about as it would be told.
    pub words: &'a dyn Quotes,
    /// Nodes in which such were found before: of these not even the title is told, but above another node.
    pub found: &'a BTreeSet<NodeId>,
}

/// One node that is in.
#[derive(Clone, Debug, PartialEq)]
pub struct Included {
    /// Which.
    pub id: NodeId,
    /// How it is written.
    pub rendered: Rendered,
    /// Why.
    pub reason: Reason,
    /// Tokens of its part of the text.
    pub tokens: usize,
}

/// What a model is given of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The text, fenced as data; empty when nothing is in it.
    pub text: String,
    /// Tokens of exactly that text.
    pub tokens: usize,
    /// What is in it, in the order of the text.
    pub nodes: Vec<Included>,
    /// What was considered and left out, best first, and why. Of what quotes the title may be in all the same.
    pub dropped: Vec<(NodeId, Reason)>,
    /// How many more were left out over budget, which are not named.
    pub unnamed: usize,
    /// The strictest label of what is in it.
    pub privacy: Privacy,
    /// What the focus takes with all below it.
    pub at_point: Option<AtPoint>,
}

impl Audience {
    /// Returns the strictest label that this reader may see.
    pub fn clearance(self) -> Privacy {
        match self {
            Audience::Local => Privacy::Private,
            Audience::Remote(privacy) => privacy,
        }
    }
}

/// Chooses and writes what a model is given of memory.
///
/// The text never takes more than `max_tokens`, except that the focus is in it with all below it that its reader may see:
/// where these alone take more, nothing else is in it but the titles above them.
pub fn assemble(view: &View, index: &Index, request: &Request<'_>, counter: &dyn CountTokens) -> Context {
    Desk::new(view, index, request, counter).assembled(counter)
}
