//! The query language: one way to ask memory, for Emacs, the command line and tools.
//!
//! [`parse::parse`] makes a [`Query`] of what was typed, [`print::print`] writes one out again, and [`run::run`]
//! answers it from a view and an index. `docs/manual.org` explains the language to users.

pub mod census;
pub mod date;
pub mod distilled;
pub mod error;
pub mod field;
pub mod garden;
pub mod hint;
pub mod near;
pub mod parse;
pub mod plan;
pub mod print;
pub mod run;
pub mod show;
pub mod snippet;
pub(crate) mod source;
pub mod text;
pub mod twins;

mod begin;
mod best;
mod check;
mod lisp;
mod order;
mod token;
mod value;

use crate::domain::query::date::When;

/// The longest query, in bytes.
pub const MAX_BYTES: usize = 4096;
/// How deep groups may stand in each other.
pub const MAX_DEPTH: usize = 32;
/// How many terms a query may have.
pub const MAX_TERMS: usize = 100;
/// The greatest limit.
pub const MAX_LIMIT: usize = 10_000;
/// How many nodes are found when a query does not say.
pub const USUAL_LIMIT: usize = 20;

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Which nodes.
    pub filter: Filter,
    /// In which order; the first counts most. Without any, text is ranked and the rest stands as in the files.
    pub sort: Vec<Sort>,
    /// How many at most.
    pub limit: Option<usize>,
}

/// Which nodes. No group holds a group of its own kind, and none but the outermost is empty or of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Those that fit all of these; everything when there are none.
    All(Vec<Filter>),
    /// Those that fit one of these.
    Any(Vec<Filter>),
    /// Those that do not fit.
    Not(Box<Filter>),
    /// One condition.
    Term(Term),
}

impl Default for Filter {
    fn default() -> Filter {
        Filter::All(Vec::new())
    }
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// The node's text has this word, in any form of it.
    Word(String),
    /// The node's text has exactly these words in a row.
    Phrase(String),
    /// The title holds this text, without regard to case.
    Title(String),
    /// The keyword.
    Todo(Todo),
    /// One of these tags, own or inherited.
    Tag(Vec<String>),
    /// One of these tags, own.
    OwnTag(Vec<String>),
    /// An own property.
    Property(String, Test),
    /// The priority: one of these.
    Priority(Vec<char>),
    /// The level, from and to.
    Level(u16, u16),
    /// The file's name, or a part of it.
    File(String),
    /// The node itself.
    Id(String),
    /// Nodes below this one.
    Under(String),
    /// Nodes right below this one.
    Parent(String),
    /// Nodes that this one links to.
    Links(String),
    /// Nodes that link to this one.
    Backlinks(String),
    /// Nodes whose words are like those of this one.
    Similar(String),
    /// A time of the node.
    Time(Stamp, When),
    /// What the node has.
    Has(Thing),
    /// What the node is.
    Is(State),
}

/// Which keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Todo {
    /// One of these.
    Named(Vec<String>),
    /// Any that leaves something to do.
    Open,
    /// Any that means that nothing is left to do.
    Done,
    /// Any.
    Any,
    /// None.
    None,
}

/// What a property's value must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// Anything.
    There,
    /// This, without regard to case.
    Is(String),
    /// Something that holds this, without regard to case.
    Holds(String),
    /// A number or date that compares so.
    Compare(Relation, String),
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

/// A time that a node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// When work is to begin.
    Scheduled,
    /// When it is due.
    Deadline,
    /// When it was done.
    Closed,
    /// Either of scheduled and deadline.
    Planned,
    /// When its file was changed.
    Modified,
}

/// What a node may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A keyword.
    Todo,
    /// A priority.
    Priority,
    /// A tag, own or inherited.
    Tags,
    /// A property.
    Properties,
    /// An `:ID:` of its own.
    Id,
    /// Text below its headline.
    Body,
    /// Headings below it.
    Children,
    /// A link to an id.
    Links,
    /// A link from elsewhere.
    Backlinks,
    /// A time.
    Scheduled,
    /// A time.
    Deadline,
    /// A time.
    Closed,
}

/// What a node may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Still to be done.
    Open,
    /// Done.
    Done,
    /// Still to be done, and its deadline has passed.
    Overdue,
    /// Private.
    Private,
    /// A whole file.
    File,
    /// A heading.
    Heading,
    /// Archived, by tag.
    Archived,
    /// Commented out.
    Commented,
}

/// One criterion of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// By what.
    pub key: SortKey,
    /// Whether the other way round.
    pub reversed: bool,
}

/// By what nodes are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// How well the text fits, best first.
    Score,
    /// By file and line.
    File,
    /// By title.
    Title,
    /// By keyword: in the order of the file's own keywords, those without one last.
    Todo,
    /// By priority, A first.
    Priority,
    /// By level.
    Level,
    /// By time, earliest first, those without one last.
    Scheduled,
    /// Likewise.
    Deadline,
    /// Likewise.
    Closed,
    /// By the earlier of scheduled and deadline.
    Planned,
    /// By when the file was changed, latest first.
    Modified,
}

/// The name of the heading at the user's point, where a query names a heading.
pub const THIS: &str = "this";

impl Query {
    /// Returns the query with [`THIS`] written out as the id of the heading at the user's point.
    pub fn at(self, id: &str) -> Query {
        Query { filter: self.filter.at(id), ..self }
    }
}

impl Filter {
    /// Writes [`THIS`] out. It calls itself as deep as groups stand in each other, which reading bounds.
    fn at(self, id: &str) -> Filter {
        let each = |parts: Vec<Filter>| parts.into_iter().map(|part| part.at(id)).collect();
        let name = |name: String| if name.eq_ignore_ascii_case(THIS) { id.to_string() } else { name };
        match self {
            Filter::All(parts) => Filter::All(each(parts)),
            Filter::Any(parts) => Filter::Any(each(parts)),
            Filter::Not(inner) => Filter::Not(Box::new(inner.at(id))),
            Filter::Term(Term::Under(of)) => Filter::Term(Term::Under(name(of))),
            Filter::Term(Term::Parent(of)) => Filter::Term(Term::Parent(name(of))),
            Filter::Term(Term::Links(of)) => Filter::Term(Term::Links(name(of))),
            Filter::Term(Term::Backlinks(of)) => Filter::Term(Term::Backlinks(name(of))),
            Filter::Term(Term::Similar(of)) => Filter::Term(Term::Similar(name(of))),
            Filter::Term(term) => Filter::Term(term),
        }
    }

    /// Returns a filter for all of some filters, in its plain form.
    pub fn all(parts: Vec<Filter>) -> Filter {
        let mut flat = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Filter::All(inner) => flat.extend(inner),
                Filter::Any(_) | Filter::Not(_) | Filter::Term(_) => flat.push(part),
            }
        }
        match flat.len() {
            1 => flat.remove(0),
            _ => Filter::All(flat),
        }
    }

    /// Returns a filter for any of some filters, in its plain form; for all nodes, where there is none.
    pub fn any(parts: Vec<Filter>) -> Filter {
        let mut flat = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Filter::Any(inner) => flat.extend(inner),
                Filter::All(_) | Filter::Not(_) | Filter::Term(_) => flat.push(part),
            }
        }
        match flat.len() {
            0 => Filter::default(),
            1 => flat.remove(0),
            _ => Filter::Any(flat),
        }
    }

    /// Returns the opposite of a filter, in its plain form.
    pub fn negated(self) -> Filter {
        match self {
            Filter::Not(inner) => *inner,
            Filter::All(_) | Filter::Any(_) | Filter::Term(_) => Filter::Not(Box::new(self)),
        }
    }

    /// Returns whether a filter asks for something; what was typed may hold signs alone, which no text is made of.
    pub fn says_something(&self) -> bool {
        !self.conjuncts().is_empty()
    }

    /// Returns the parts that must all fit.
    pub fn conjuncts(&self) -> &[Filter] {
        match self {
            Filter::All(parts) => parts,
            Filter::Any(_) | Filter::Not(_) | Filter::Term(_) => std::slice::from_ref(self),
        }
    }
}
