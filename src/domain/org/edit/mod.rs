//! Structural edits of an Org text as splices: every byte that an edit does not name stays as it was.
//!
//! An edit is checked by reading the result again: it is refused when the outline that comes out is not exactly
//! the intended one, for example because a title would be read as tags or a line of a body as a heading.

mod clock;
mod heading;
mod keyword;
mod place;
mod repeat;
mod section;
mod verify;

use super::outline::Outline;
use super::scan::{ScanOptions, TooLarge};
use jiff::civil::DateTime;
use std::ops::Range;
use verify::Record;

pub use clock::{clocked_in, clocked_out};
pub use keyword::{Keyword, keywords, set_keyword};
pub use place::{Subtree, extract};

/// What to change. Nodes are indices into [`Outline::nodes`]; 0 is the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Adds a heading as the last child.
    AddHeading(NewHeading),
    /// Adds a subtree, taken from any file by [`extract`], as the last child; `None` is the end of the file.
    Insert {
        /// The new parent.
        parent: Option<usize>,
        /// What to add.
        subtree: Subtree,
    },
    /// Removes a heading with all below it.
    Remove {
        /// Which.
        node: usize,
    },
    /// Moves a heading with all below it to the end of another's children.
    Move {
        /// Which.
        node: usize,
        /// The new parent; `None` is the end of the file, at the top level.
        parent: Option<usize>,
    },
    /// Sets or removes the keyword, with what Org does besides: CLOSED, and repeating dates.
    SetTodo {
        /// Of which heading.
        node: usize,
        /// One of the file's keywords.
        state: Option<String>,
    },
    /// Sets or removes the priority.
    SetPriority {
        /// Of which heading.
        node: usize,
        /// The character in `[#A]`.
        priority: Option<char>,
    },
    /// Replaces the own tags.
    SetTags {
        /// Of which heading.
        node: usize,
        /// In order, without colons.
        tags: Vec<String>,
    },
    /// Replaces the title; keyword, priority, COMMENT and tags stay.
    SetTitle {
        /// Of which heading.
        node: usize,
        /// One line.
        title: String,
    },
    /// Sets or removes an own property; the file has properties too.
    SetProperty {
        /// Of which node.
        node: usize,
        /// In any case; `KEY+` is a key of its own.
        key: String,
        /// One line. `None` removes every `KEY` and `KEY+`, as Org does.
        value: Option<String>,
    },
    /// Sets or removes a timestamp of the planning line.
    SetPlanning {
        /// Of which heading.
        node: usize,
        /// Which timestamp.
        kind: Planning,
        /// An Org timestamp with its brackets.
        stamp: Option<String>,
    },
    /// Replaces the text below planning line and drawer, up to the next heading; blank lines at its end stay.
    ///
    /// Inside `#+begin_…` blocks lines that begin with stars get a comma in front, as Org writes them;
    /// elsewhere they would be headings, and the edit is refused.
    SetBody {
        /// Of which node.
        node: usize,
        /// Any number of lines.
        body: String,
    },
    /// Puts a line into the log at the top of a heading's text, before the older ones; nothing else is touched.
    Log {
        /// Of which heading.
        node: usize,
        /// One line.
        line: String,
    },
}

/// A heading to add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewHeading {
    /// Under which heading; `None` is the end of the file, at the top level.
    pub parent: Option<usize>,
    /// One line, not empty.
    pub title: String,
    /// One of the file's keywords.
    pub todo: Option<String>,
    /// The character in `[#A]`.
    pub priority: Option<char>,
    /// In order, without colons.
    pub tags: Vec<String>,
    /// The text below; may be empty. Stars are treated as in [`Edit::SetBody`].
    pub body: String,
    /// An Org timestamp with its brackets.
    pub scheduled: Option<String>,
    /// Likewise.
    pub deadline: Option<String>,
    /// Keys in any case, with values of one line.
    pub properties: Vec<(String, String)>,
}

/// A timestamp of the planning line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planning {
    /// `SCHEDULED:`
    Scheduled,
    /// `DEADLINE:`
    Deadline,
    /// `CLOSED:`
    Closed,
}

impl Planning {
    /// Returns the word with its colon.
    pub fn keyword(self) -> &'static str {
        match self {
            Planning::Scheduled => "SCHEDULED:",
            Planning::Deadline => "DEADLINE:",
            Planning::Closed => "CLOSED:",
        }
    }
}

/// What an edit needs to know of the world.
#[derive(Clone, Debug)]
pub struct EditOptions {
    /// How the file was read; it is read again with the same.
    pub scan: ScanOptions,
    /// The local time, for CLOSED and for repeaters.
    pub now: DateTime,
    /// Whether DONE notes CLOSED (`org-log-done`); the file's `#+STARTUP` wins. Org's own default is no.
    pub log_done: bool,
    /// Whether a repeated task notes LAST_REPEAT and the change of state (`org-log-repeat`);
    /// the file's `#+STARTUP` wins. Org's own default is yes.
    pub log_repeat: bool,
}

impl EditOptions {
    /// Returns Org's own defaults at a time.
    pub fn at(now: DateTime) -> Self {
        EditOptions { scan: ScanOptions::default(), now, log_done: false, log_repeat: true }
    }
}

/// A replacement of a range of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// Of the old text; empty to insert.
    pub range: Range<usize>,
    /// What stands there afterwards.
    pub text: String,
}

/// Why an edit was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The node is not in this outline, or is the file where a heading is needed.
    #[error("there is no heading number {0} in this file; read the file again")]
    NoSuchNode(usize),
    /// A heading cannot be moved below itself.
    #[error("a heading cannot be moved below itself")]
    IntoItself,
    /// A keyword that this file does not have.
    #[error("{state:?} is no keyword of this file; it has {}", known.join(", "))]
    UnknownState {
        /// The keyword.
        state: String,
        /// Those that the file has.
        known: Vec<String>,
    },
    /// A part that cannot be written as such.
    #[error("{0}")]
    Invalid(String),
    /// Org would read the result differently from what was meant.
    #[error("refused, because Org would read it differently: {0}")]
    Misread(String),
    /// The result would be too large to be read again.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// Returns the splices that make an edit, in order and without overlap, after checking what they lead to.
///
/// # Errors
///
/// When a part is not valid, or when the result read again is not exactly the intended outline.
pub fn splices(outline: &Outline, edit: &Edit, options: &EditOptions) -> Result<Vec<Splice>, EditError> {
    let mut plan = plan(outline, edit, options)?;
    plan.splices.retain(|splice| outline.text.get(splice.range.clone()) != Some(splice.text.as_str()));
    // Stable: of two insertions at one place the first planned comes first.
    plan.splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
    join_insertions(&outline.text, &mut plan.splices);
    verify::verify(outline, &plan, &options.scan)?;
    Ok(plan.splices)
}

/// Returns a text with splices made; they must be in order and without overlap, as [`splices`] gives them.
pub fn apply(text: &str, splices: &[Splice]) -> String {
    let grown: usize = splices.iter().map(|splice| splice.text.len()).sum();
    let mut result = String::with_capacity(text.len() + grown);
    let mut at = 0;
    for splice in splices {
        result.push_str(text.get(at..splice.range.start).unwrap_or_default());
        result.push_str(&splice.text);
        at = splice.range.end;
    }
    result.push_str(text.get(at..).unwrap_or_default());
    result
}

/// Splices, and what the outline must be after them.
struct Plan<'a> {
    splices: Vec<Splice>,
    expected: Vec<Record<'a>>,
}

fn plan<'a>(outline: &'a Outline, edit: &Edit, options: &EditOptions) -> Result<Plan<'a>, EditError> {
    match edit {
        Edit::AddHeading(new) => place::add(outline, new),
        Edit::Insert { parent, subtree } => place::insert(outline, *parent, subtree),
        Edit::Remove { node } => place::remove(outline, *node),
        Edit::Move { node, parent } => place::shift(outline, *node, *parent),
        Edit::SetTodo { node, state } => repeat::set_todo(outline, *node, state.as_deref(), options),
        Edit::SetPriority { node, priority } => heading::set_priority(outline, *node, *priority),
        Edit::SetTags { node, tags } => heading::set_tags(outline, *node, tags),
        Edit::SetTitle { node, title } => heading::set_title(outline, *node, title),
        Edit::SetProperty { node, key, value } => section::set_property(outline, *node, key, value.as_deref()),
        Edit::SetPlanning { node, kind, stamp } => section::set_planning(outline, *node, *kind, stamp.as_deref()),
        Edit::SetBody { node, body } => section::set_body(outline, *node, body),
        Edit::Log { node, line } => section::log(outline, *node, line),
    }
}

/// Returns a node that must be a heading.
fn heading_at(outline: &Outline, index: usize) -> Result<&super::outline::Node, EditError> {
    outline.nodes.get(index).filter(|_| index > 0).ok_or(EditError::NoSuchNode(index))
}

/// Where several insertions meet behind a last line without newline, only the first brings one.
fn join_insertions(text: &str, splices: &mut [Splice]) {
    let mut last = None;
    for splice in splices {
        let at = splice.range.start;
        if last == Some(at) && at > 0 && text.as_bytes().get(at - 1) != Some(&b'\n') {
            splice.text = splice.text.strip_prefix('\n').unwrap_or(&splice.text).to_owned();
        }
        last = (splice.range.is_empty() && splice.text.ends_with('\n')).then_some(at);
    }
}

/// Returns a splice that inserts whole lines at the start of a line, also where the line before lacks its newline.
fn insert_lines(text: &str, at: usize, lines: String) -> Splice {
    let whole = at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n');
    Splice { range: at..at, text: if whole { lines } else { format!("\n{lines}") } }
}
