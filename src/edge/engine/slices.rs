//! The slice of memory that a question is answered from: the outline, and the notes near the question and the focus.

use crate::domain::context::almanac::holds_until;
use crate::domain::context::outline::{further, outline};
use crate::domain::context::pins::Pins;
use crate::domain::context::reason::Reason;
use crate::domain::context::{Audience, Context, Included, Quoting, Request, assemble};
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::view::View;
use crate::domain::port::{CountTokens, Nearness, Quotes};
use crate::edge::engine::Engine;
use jiff::civil::DateTime;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

/// The lines around notes take no more tokens than this.
const FRAME: usize = 64;

/// What a model is told of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Projects and files by their titles; it stays the same while memory does.
    pub outline: Context,
    /// What is near the question and the focus, is due, or changed.
    pub notes: Context,
    /// More files by their titles, in the room that the notes leave.
    pub further: Context,
}

/// What a slice is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// What the user asked.
    pub query: Option<&'a str>,
    /// The node at point.
    pub focus: Option<&'a NodeId>,
    /// The user's wall clock.
    pub now: DateTime,
    /// The most private that its reader may see.
    pub may_see: Privacy,
    /// Its most tokens.
    pub max_tokens: usize,
    /// The most tokens of a whole prompt: what is at point may take them.
    pub most_at_point: usize,
}

/// A slice is made so often at most until no title of what quotes stands in it. The words themselves never do.
const ROUNDS: usize = 3;

/// Makes the parts of a slice.
type Make<'a, const N: usize> = dyn Fn(&View, &Request<'_>, &dyn CountTokens) -> [Context; N] + 'a;

/// So many slices are kept.
const KEPT: usize = 8;

/// All that a slice is made from, beside the time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MadeFrom {
    memory: String,
    changed: Vec<NodeId>,
    pins: BTreeMap<NodeId, bool>,
    query: Option<String>,
    focus: Option<NodeId>,
    may_see: Privacy,
    max_tokens: usize,
    most_at_point: usize,
    /// How many vectors of notes there were, and whether there was one of the question.
    meaning: (usize, bool),
}

/// A slice that was assembled, and from when until when it holds.
struct Kept {
    made_from: MadeFrom,
    from: DateTime,
    until: DateTime,
    slice: Arc<Slice>,
}

/// The last slices that were assembled.
#[derive(Default)]
pub(in crate::edge) struct Slices {
    kept: VecDeque<Kept>,
    assembled: u64,
}

impl Slices {
    fn get(&self, made_from: &MadeFrom, now: DateTime) -> Option<Arc<Slice>> {
        let holds = |kept: &&Kept| kept.made_from == *made_from && (kept.from..kept.until).contains(&now);
        self.kept.iter().find(holds).map(|kept| kept.slice.clone())
    }

    fn keep(&mut self, kept: Kept) {
        self.kept.retain(|other| other.made_from != kept.made_from);
        self.kept.truncate(KEPT - 1);
        self.kept.push_front(kept);
    }
}

impl Slice {
    /// Returns the parts, in the order in which a model is told of them.
    pub fn parts(&self) -> [&Context; 3] {
        [&self.outline, &self.notes, &self.further]
    }

    /// Returns every node that is in, those of the outline first; one that stands in two parts comes twice.
    pub fn nodes(&self) -> impl Iterator<Item = &Included> {
        self.parts().into_iter().flat_map(|part| &part.nodes)
    }

    /// Returns what was left out, and why.
    pub fn dropped(&self) -> impl Iterator<Item = &(NodeId, Reason)> {
        self.parts().into_iter().flat_map(|part| &part.dropped)
    }

    /// Returns how private the most private node in it is; `None` when nothing is in it.
    pub fn privacy(&self) -> Option<Privacy> {
        let parts = self.parts().into_iter().filter(|part| !part.nodes.is_empty());
        parts.map(|part| part.privacy).max()
    }
}

impl Engine {
    /// Returns the slice of memory that a question is answered from, with its outline apart. It is used again as it is
    /// while nothing that it is made from has changed, and of the time as long as the same things are due.
    pub fn slice(&self, wanted: Wanted<'_>) -> Arc<Slice> {
        // Whoever changes memory holds this until the index has followed.
        let settled = self.changing.try_lock().is_some();
        let made_from = self.made_from(&wanted);
        if let Some(slice) = self.slices.lock().get(&made_from, wanted.now)
            && self.is_still_seen(&slice, wanted.may_see)
        {
            return slice;
        }
        let slice = Arc::new(self.assembled(wanted, false));
        if settled && made_from == self.made_from(&wanted) {
            let until = holds_until(&self.view(), wanted.now, i64::from(self.config.deadline_minutes));
            self.slices.lock().keep(Kept { made_from, from: wanted.now, until, slice: slice.clone() });
        }
        slice
    }

    /// Returns how many slices of memory were assembled since the start.
    pub fn slices_assembled(&self) -> u64 {
        self.slices.lock().assembled
    }

    fn made_from(&self, wanted: &Wanted<'_>) -> MadeFrom {
        MadeFrom {
            memory: self.memory_now(),
            changed: self.changed_lately(),
            pins: self.pins.lock().clone(),
            query: wanted.query.map(str::to_string),
            focus: wanted.focus.cloned(),
            may_see: wanted.may_see,
            max_tokens: wanted.max_tokens,
            most_at_point: wanted.most_at_point,
            meaning: self.meaning_now(wanted.query),
        }
    }

    /// Returns whether what a slice holds, and what it does not, is as private as it was: what makes notes private may
    /// change while their texts do not.
    fn is_still_seen(&self, slice: &Slice, may_see: Privacy) -> bool {
        let view = self.view();
        let privacy = |id: &NodeId| view.get(id).map_or(Privacy::Private, |node| node.privacy());
        let most = slice.nodes().map(|node| privacy(&node.id)).max();
        let mut private = slice.dropped().filter(|(_, reason)| *reason == Reason::Private);
        let quotes = || slice.parts().iter().any(|part| self.quotes_beyond(&part.text, may_see));
        most == slice.privacy() && private.all(|(id, _)| privacy(id) > may_see) && !quotes()
    }

    /// Assembles the slice of memory that a question is answered from; `explained` has everything named that was
    /// considered for it.
    pub(super) fn assembled(&self, wanted: Wanted<'_>, explained: bool) -> Slice {
        self.slices.lock().assembled += 1;
        let [outline, notes, further] = self.without_quoting(wanted, &|view, request, tokens| {
            let all = Request { apart: true, explained, ..request.clone() };
            let index = self.index();
            let outline = outline(view, &index, &all, tokens);
            let left = wanted.max_tokens.saturating_sub(outline.tokens);
            let notes = assemble(view, &index, &Request { max_tokens: left, ..all.clone() }, tokens);
            if notes.tokens > left && outline.tokens > 0 {
                // What is at point takes of the whole, and all else gives way.
                let notes = assemble(view, &index, &all, tokens);
                let further = further(view, &index, &Request { max_tokens: 0, ..all }, tokens, &[&notes]);
                return [gave_way(&outline), notes, further];
            }
            let rest = Request { max_tokens: left.saturating_sub(notes.tokens), ..all };
            let further = further(view, &index, &rest, tokens, &[&outline, &notes]);
            [outline, notes, further]
        });
        Slice { outline, notes, further }
    }

    /// Does the same with notes of at most so many tokens and no further outline: those of the lowest rank give way, and the
    /// node in focus stays as it is in the whole slice, with all below it.
    pub fn slice_of(&self, wanted: Wanted<'_>, most: usize) -> Slice {
        let whole = self.slice(wanted);
        let max_tokens = most.min(wanted.max_tokens.saturating_sub(whole.outline.tokens));
        let further = emptied(&whole.further);
        if max_tokens < FRAME && whole.notes.at_point.is_none() {
            return Slice { outline: whole.outline.clone(), notes: emptied(&whole.notes), further };
        }
        let [notes] = self.without_quoting(wanted, &|view, request, tokens| {
            let request = Request { apart: true, max_tokens, ..request.clone() };
            [assemble(view, &self.index(), &request, tokens)]
        });
        Slice { outline: whole.outline.clone(), notes, further }
    }

    /// Assembles the slice of memory that a question is answered from, as one text.
    pub fn context(
        &self,
        query: Option<&str>,
        focus: Option<&NodeId>,
        now: DateTime,
        may_see: Privacy,
        max_tokens: usize,
    ) -> Context {
        let most_at_point = self.greatest_factor(&self.cascade.read()).ours(self.config.context_tokens);
        let wanted = Wanted { query, focus, now, may_see, max_tokens, most_at_point };
        let [context] =
            self.without_quoting(wanted, &|view, request, tokens| [assemble(view, &self.index(), request, tokens)]);
        context
    }

    /// Has the parts of a slice made without what holds words that its reader may not see: every text is looked through
    /// before it is taken, as it would be told. What holds them is left out altogether, its title too, so the parts are
    /// made again where that stands in one already.
    fn without_quoting<const N: usize>(&self, wanted: Wanted<'_>, make: &Make<'_, N>) -> [Context; N] {
        let (changed, view) = (self.changed_lately(), self.view_in_sight());
        let meaning = self.meaning(&view, wanted.may_see);
        let nearness = meaning.as_ref().map(|meaning| meaning as &dyn Nearness);
        let pins = Pins::of(&view, &self.pins.lock()).naming(wanted.query.unwrap_or_default());
        let words = Words { engine: self, may_see: wanted.may_see };
        let looked_through = wanted.may_see < Privacy::Private && self.knows_quotations();
        let mut found: BTreeSet<NodeId> = BTreeSet::new();
        let mut round = 1;
        let mut made = loop {
            let quoting = looked_through.then_some(Quoting { words: &words, found: &found });
            let request = Request { nearness, quoting, ..self.request(wanted, &changed, &pins) };
            let made = make(&view, &request, self.tokens.as_ref());
            let quotes = made.iter().flat_map(|part| &part.dropped).filter(|(_, reason)| *reason == Reason::Quotes);
            found.extend(quotes.map(|(id, _)| id.clone()).collect::<Vec<_>>());
            let mut told = made.iter().flat_map(|part| &part.nodes).filter(|node| node.reason != Reason::Ancestor);
            if round == ROUNDS || !told.any(|node| found.contains(&node.id)) {
                break made;
            }
            round += 1;
        };
        if looked_through {
            made.iter_mut().for_each(|part| self.emptied_where_it_quotes(part, wanted.may_see));
        }
        tell_quoting(&mut made, found);
        made
    }

    /// Leaves nothing of a part in which such words stand all the same, as they do where two texts meet.
    fn emptied_where_it_quotes(&self, part: &mut Context, may_see: Privacy) {
        if !self.quotes_beyond(&part.text, may_see) {
            return;
        }
        let left_out = part.nodes.drain(..).map(|node| (node.id, Reason::Quotes));
        part.dropped = left_out.chain(part.dropped.drain(..)).collect();
        (part.text, part.tokens, part.privacy) = (String::new(), 0, Privacy::Open);
    }

    fn request<'a>(&self, wanted: Wanted<'a>, changed: &'a [NodeId], pins: &'a Pins) -> Request<'a> {
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
            most_at_point: wanted.most_at_point,
            changed,
            apart: false,
            explained: false,
            nearness: None,
            near_cosine: self.config.semantic_threshold,
            pinned: &pins.pinned,
            unpinned: &pins.unpinned,
            quoting: None,
        }
    }
}

/// Returns a part without anything in it.
fn emptied(part: &Context) -> Context {
    Context { nodes: Vec::new(), text: String::new(), tokens: 0, privacy: Privacy::Open, ..part.clone() }
}

/// Returns a part of which all gave way.
fn gave_way(part: &Context) -> Context {
    let nodes = part.nodes.iter().map(|node| (node.id.clone(), Reason::OverBudget));
    Context { dropped: nodes.chain(part.dropped.iter().cloned()).collect(), ..emptied(part) }
}

/// Says of notes that were left out as they quote private ones that this is why.
fn tell_quoting(made: &mut [Context], mut found: BTreeSet<NodeId>) {
    let quotes = made.iter().flat_map(|part| &part.dropped).filter(|(_, reason)| *reason == Reason::Quotes);
    found.extend(quotes.map(|(id, _)| id.clone()).collect::<Vec<_>>());
    for node in made.iter().flat_map(|part| &part.nodes) {
        found.remove(&node.id);
    }
    for part in made.iter_mut() {
        part.dropped.retain(|(id, reason)| *reason != Reason::Quotes && !found.contains(id));
    }
    if let Some(last) = made.last_mut() {
        last.dropped.extend(found.into_iter().map(|id| (id, Reason::Quotes)));
    }
}

/// The words that a reader may not see.
struct Words<'a> {
    engine: &'a Engine,
    may_see: Privacy,
}

impl Quotes for Words<'_> {
    fn quotes(&self, text: &str) -> bool {
        self.engine.quotes_beyond(text, self.may_see)
    }
}

impl fmt::Debug for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words").field("may_see", &self.may_see).finish_non_exhaustive()
    }
}
