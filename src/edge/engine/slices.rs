//! The slice of memory that a question is answered from: the outline, and the notes near the question and the focus.

use crate::domain::context::outline::outline;
use crate::domain::context::reason::Reason;
use crate::domain::context::{Audience, Context, Included, Request, assemble};
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::edge::engine::Engine;

/// The lines around notes take no more tokens than this.
const FRAME: usize = 64;

/// What a model is told of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Projects and files by their titles; it stays the same while memory does.
    pub outline: Context,
    /// What is near the question and the focus, is due, or changed.
    pub notes: Context,
}

/// What a slice is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// What the user asked.
    pub query: Option<&'a str>,
    /// The node at point.
    pub focus: Option<&'a NodeId>,
    /// The user's wall clock.
    pub now: jiff::civil::DateTime,
    /// The most private that its reader may see.
    pub may_see: Privacy,
    /// Its most tokens.
    pub max_tokens: usize,
}

impl Slice {
    /// Returns every node that is in, those of the outline first; one that stands in both comes twice.
    pub fn nodes(&self) -> impl Iterator<Item = &Included> {
        self.outline.nodes.iter().chain(&self.notes.nodes)
    }

    /// Returns what was left out, and why.
    pub fn dropped(&self) -> impl Iterator<Item = &(NodeId, Reason)> {
        self.outline.dropped.iter().chain(&self.notes.dropped)
    }

    /// Returns how private the most private node in it is; `None` when nothing is in it.
    pub fn privacy(&self) -> Option<Privacy> {
        let parts = [&self.outline, &self.notes].into_iter().filter(|part| !part.nodes.is_empty());
        parts.map(|part| part.privacy).max()
    }
}

impl Engine {
    /// Assembles the slice of memory that a question is answered from, with its outline apart.
    pub fn slice(&self, wanted: Wanted<'_>) -> Slice {
        let changed = self.changed_nodes();
        let (view, index, tokens) = (self.view_in_sight(), self.index(), self.tokens.as_ref());
        let all = Request { apart: true, ..self.request(wanted, &changed) };
        let outline = outline(&view, &index, &all, tokens);
        let rest = Request { max_tokens: wanted.max_tokens.saturating_sub(outline.tokens), ..all };
        let notes = assemble(&view, &index, &rest, tokens);
        Slice { outline, notes }
    }

    /// Does the same with notes of at most so many tokens and no outline: those of the lowest rank give way, and the node in
    /// focus stays as it is in the whole slice.
    pub fn slice_of(&self, wanted: Wanted<'_>, most: usize) -> Slice {
        let whole = self.slice(wanted);
        let kept = |node: &&Included| matches!(node.reason, Reason::Focus | Reason::FocusCut(_) | Reason::Ancestor);
        let focus: usize = whole.notes.nodes.iter().filter(kept).map(|node| node.tokens).sum();
        let max_tokens = match wanted.focus {
            Some(_) => most.max(focus + FRAME),
            None => most,
        };
        let max_tokens = max_tokens.min(wanted.max_tokens.saturating_sub(whole.outline.tokens));
        if max_tokens < FRAME {
            let notes = Context { nodes: Vec::new(), text: String::new(), tokens: 0, ..whole.notes };
            return Slice { outline: whole.outline, notes };
        }
        let changed = self.changed_nodes();
        let request = Request { apart: true, max_tokens, ..self.request(wanted, &changed) };
        let notes = assemble(&self.view_in_sight(), &self.index(), &request, self.tokens.as_ref());
        Slice { outline: whole.outline, notes }
    }

    /// Assembles the slice of memory that a question is answered from, as one text.
    pub fn context(
        &self,
        query: Option<&str>,
        focus: Option<&NodeId>,
        now: jiff::civil::DateTime,
        may_see: Privacy,
        max_tokens: usize,
    ) -> Context {
        let (changed, wanted) = (self.changed_nodes(), Wanted { query, focus, now, may_see, max_tokens });
        let request = self.request(wanted, &changed);
        assemble(&self.view_in_sight(), &self.index(), &request, self.tokens.as_ref())
    }

    fn request<'a>(&self, wanted: Wanted<'a>, changed: &'a [NodeId]) -> Request<'a> {
        Request {
            focus: wanted.focus,
            query: wanted.query,
            max_tokens: wanted.max_tokens,
            audience: match wanted.may_see {
                Privacy::Private => Audience::Local,
                may_see @ (Privacy::Open | Privacy::Warn | Privacy::Ask) => Audience::Remote(may_see),
            },
            now: wanted.now,
            deadline_minutes: i64::from(self.config.deadline_minutes),
            project_tag: "project",
            changed,
            apart: false,
        }
    }
}
