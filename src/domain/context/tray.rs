//! Gathers what goes into a context, and keeps count of its tokens. It never takes what does not fit.

use crate::domain::context::reason::Reason;
use crate::domain::context::{Quoting, Rendered, Request, render};
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::view::NodeRef;
use crate::domain::port::CountTokens;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// Where a node stands: file and index. The order is the order in which nodes are written.
pub type Spot = (Arc<str>, usize);

/// One node, written.
pub struct Piece {
    /// The node.
    pub node: NodeRef,
    /// How it is written.
    pub rendered: Rendered,
    /// Whether its properties are written.
    pub properties: bool,
    /// Why it is in.
    pub reason: Reason,
    /// What is written.
    pub text: String,
    /// Tokens of that text.
    pub tokens: usize,
}

/// Everything gathered so far.
pub struct Tray<'a> {
    counter: &'a dyn CountTokens,
    clearance: Privacy,
    /// What the user wants out.
    barred: HashSet<&'a NodeId>,
    quoting: Option<Quoting<'a>>,
    /// Nodes that were not taken as words that the reader may not see stand in them, or in a title above them.
    found: BTreeSet<NodeId>,
    /// Tokens in use.
    pub used: usize,
    /// What is planned, one line each, first things first.
    pub due: Vec<Piece>,
    /// Active projects for which the outline has no room, one line each.
    pub projects: Vec<Piece>,
    /// How many more of them there are, and what finds them.
    pub more: Option<(usize, String)>,
    /// The outline.
    pub pieces: BTreeMap<Spot, Piece>,
    /// In which order pieces came; the last may go first.
    pub order: Vec<Spot>,
    /// What texts in full took so far: bytes, tokens, and how many there were.
    taken: (usize, usize, usize),
}

/// Returns where a node stands.
pub fn spot(node: &NodeRef) -> Spot {
    (node.file().clone(), node.index)
}

impl<'a> Tray<'a> {
    /// Starts with nothing but the tokens that the frame takes.
    pub fn new(counter: &'a dyn CountTokens, used: usize, request: &Request<'a>) -> Self {
        let (due, projects, more, pieces, order, taken) = Default::default();
        let (clearance, quoting, found) = (request.audience.clearance(), request.quoting, BTreeSet::new());
        let barred = request.unpinned.iter().collect();
        Tray { counter, clearance, barred, quoting, found, used, due, projects, more, pieces, order, taken }
    }

    /// Returns whether the user wants a node out. Where nothing is barred no node's id is made for that.
    pub fn is_barred(&self, node: &NodeRef) -> bool {
        !self.barred.is_empty() && self.barred.contains(node.id())
    }

    /// Returns whether a node is not taken for the words that stand in it.
    pub fn is_quoting(&self, node: &NodeRef) -> bool {
        let known = self.quoting.map_or(0, |quoting| quoting.found.len()) + self.found.len();
        known > 0 && (self.found.contains(node.id()) || self.quoting.is_some_and(|q| q.found.contains(node.id())))
    }

    /// Returns the nodes that were not taken for that, and forgets them.
    pub fn take_quoting(&mut self) -> BTreeSet<NodeId> {
        std::mem::take(&mut self.found)
    }

    /// Looks through a text as it would be told; when it may not be, so is the node for whose sake it would.
    fn quotes(&mut self, text: &str, node: &NodeRef) -> bool {
        let quotes = self.quoting.is_some_and(|quoting| quoting.words.quotes(text));
        if quotes {
            self.found.insert(node.id().clone());
        }
        quotes
    }

    /// Returns whether a node is refused without a look at its text: it is not for the reader, it is known to quote, or
    /// so many did that looking on would take too long.
    fn refuses(&self, node: &NodeRef) -> bool {
        node.privacy() > self.clearance || self.found.len() >= MOST_QUOTING || self.is_quoting(node)
    }

    /// Returns whether a node is in, at least as fully as asked.
    pub fn holds(&self, node: &NodeRef, rendered: Rendered) -> bool {
        self.pieces.get(&spot(node)).is_some_and(|piece| piece.rendered >= rendered)
    }

    /// Takes a node, and the titles above it, if all of them fit below `limit` tokens in use.
    /// Returns whether the node is in now.
    pub fn offer(&mut self, node: &NodeRef, rendered: Rendered, reason: Reason, limit: usize) -> bool {
        let outlined = rendered == Rendered::Title && matches!(reason, Reason::Root | Reason::Outline);
        let known = self.pieces.get(&spot(node)).filter(|piece| piece.rendered >= rendered);
        if known.is_some_and(|piece| piece.properties || !outlined) {
            return true;
        }
        if self.refuses(node) {
            return false;
        }
        // A title that stands above others says nothing of itself; any other has its own reason, and stays as it is for it.
        let reason =
            known.filter(|piece| piece.reason != Reason::Ancestor).map_or(reason, |piece| piece.reason.clone());
        let at_point = matches!(reason, Reason::Focus | Reason::BelowFocus);
        // Only the focus is worth the time of reading and counting what will hardly fit.
        if rendered == Rendered::Full && !at_point && self.is_hopeless(node, limit) {
            return false;
        }
        let text = match rendered {
            Rendered::Full if at_point => render::whole(node),
            Rendered::Full => render::full(node),
            Rendered::Title if outlined => render::title_and_properties(node),
            Rendered::Title => render::title(node),
        };
        let is_new = known.is_none();
        // What is there stays there, also without its properties.
        self.place(node, (rendered, outlined || rendered == Rendered::Full), reason, text, limit) || !is_new
    }

    /// Returns whether a node is so long that its text need not be read to know that it does not fit: by what the texts
    /// before it took, once there are some, and else by what no text of people falls short of.
    fn is_hopeless(&self, node: &NodeRef, limit: usize) -> bool {
        let room = limit.saturating_sub(self.used);
        let (bytes, tokens, texts) = self.taken;
        let least = node.body_len() / BYTES_OF_TOKEN;
        // Two thirds of the mean: few texts are so much denser than those beside them.
        let likely =
            if texts < KNOWN_TEXTS { 0 } else { node.body_len().saturating_mul(tokens * 2) / (bytes * 3).max(1) };
        least.max(likely) > room
    }

    /// Takes everything back; what was found to quote stays known.
    pub fn clear(&mut self, used: usize) {
        self.pieces.clear();
        self.order.clear();
        (self.used, self.taken) = (used, (0, 0, 0));
    }

    fn place(
        &mut self,
        node: &NodeRef,
        (rendered, properties): (Rendered, bool),
        reason: Reason,
        text: String,
        limit: usize,
    ) -> bool {
        if self.refuses(node) || (reason != Reason::Focus && self.is_barred(node)) {
            return false;
        }
        let known = self.pieces.get(&spot(node)).map_or(0, |piece| piece.tokens);
        let mut room = limit.saturating_sub(self.used).saturating_add(known);
        let mut above = node.parent();
        let mut titles: Vec<Piece> = Vec::new();
        while let Some(parent) = above {
            if self.pieces.contains_key(&spot(&parent)) {
                break;
            }
            // A parent is never stricter than its child; if one ever were, the child is not shown under it.
            if parent.privacy() > self.clearance {
                return false;
            }
            let text = render::title(&parent);
            if self.quotes(&text, node) {
                return false;
            }
            above = parent.parent();
            let piece = self.piece(parent, (Rendered::Title, false), Reason::Ancestor, text, room);
            let Some(piece) = piece else { return false };
            room -= piece.tokens;
            titles.push(piece);
        }
        let bytes = text.len();
        // What does not fit is counted no further than that.
        let piece = self.piece(node.clone(), (rendered, properties), reason, text, room);
        let Some(piece) = piece else { return false };
        if self.quotes(&piece.text, node) {
            return false;
        }
        if rendered == Rendered::Full {
            self.taken = (self.taken.0 + bytes, self.taken.1 + piece.tokens, self.taken.2 + 1);
        }
        let more = titles.iter().map(|title| title.tokens).sum::<usize>() + piece.tokens;
        self.used = self.used.saturating_add(more).saturating_sub(known);
        for piece in titles.into_iter().rev().chain([piece]) {
            let spot = spot(&piece.node);
            self.order.retain(|known| *known != spot);
            self.order.push(spot.clone());
            self.pieces.insert(spot, piece);
        }
        true
    }

    /// Takes one line about a planned node if it fits. Returns whether it did.
    pub fn note_due(&mut self, node: &NodeRef, reason: Reason, what: &str, limit: usize) -> bool {
        let Some(line) = self.line(node, reason, render::due(node, what), limit) else { return false };
        self.due.push(line);
        true
    }

    /// Takes one line about an active project if it fits. Returns whether it did.
    pub fn note_project(&mut self, node: &NodeRef, limit: usize) -> bool {
        let Some(line) = self.line(node, Reason::Project, render::project(node), limit) else { return false };
        self.projects.push(line);
        true
    }

    fn line(&mut self, node: &NodeRef, reason: Reason, text: String, limit: usize) -> Option<Piece> {
        if self.refuses(node) || self.is_barred(node) {
            return None;
        }
        let room = limit.saturating_sub(self.used);
        let line = self.piece(node.clone(), (Rendered::Title, false), reason, text, room)?;
        if self.quotes(&line.text, node) {
            return None;
        }
        self.used += line.tokens;
        Some(line)
    }

    /// Says how many active projects are not told of, and what finds them, if that fits. Returns whether it does.
    pub fn note_more(&mut self, count: usize, query: &str, limit: usize) -> bool {
        let room = limit.saturating_sub(self.used);
        let Some(tokens) = self.counter.count_within(&render::more_projects(count, query), room) else { return false };
        self.used += tokens;
        self.more = Some((count, query.to_string()));
        true
    }

    /// Removes what came last, sparing the focus and what is below it; returns `None` when nothing may go any more.
    pub fn drop_last(&mut self) -> Option<Piece> {
        // Titles go before what stands below them would lose its place, so only leaves of the tray may go.
        let at = self.order.iter().rposition(|spot| {
            let spared = |piece: &Piece| matches!(piece.reason, Reason::Focus | Reason::BelowFocus);
            self.pieces.get(spot).is_some_and(|piece| !spared(piece)) && !self.carries(spot)
        });
        let piece = match at {
            Some(at) => self.pieces.remove(&self.order.remove(at)),
            None => self.drop_line(),
        }?;
        self.used = self.used.saturating_sub(piece.tokens);
        Some(piece)
    }

    /// Removes a project that has a line of its own, and counts it among those that have none; then what is planned.
    fn drop_line(&mut self) -> Option<Piece> {
        let Some(project) = self.projects.pop() else { return self.due.pop() };
        if let Some((count, _)) = &mut self.more {
            *count += 1;
        }
        Some(project)
    }

    /// Returns everything that is in, in the order of the text.
    pub fn all(&self) -> impl Iterator<Item = &Piece> {
        self.due.iter().chain(&self.projects).chain(self.pieces.values())
    }

    /// Returns whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none() && self.more.is_none()
    }

    /// Returns the text as it stands.
    pub fn text(&self) -> String {
        let more = self.more.as_ref().map(|(count, query)| render::more_projects(*count, query));
        let lines = self.due.iter().chain(&self.projects).map(|piece| piece.text.as_str());
        let texts = lines.chain(more.as_deref()).chain(self.pieces.values().map(|piece| piece.text.as_str()));
        render::fence(&texts.collect::<Vec<_>>())
    }

    /// Returns whether a node that is in stands below this one.
    fn carries(&self, spot: &Spot) -> bool {
        let Some(piece) = self.pieces.get(spot) else { return false };
        let after = piece.node.card().after(spot.1);
        self.pieces.range((spot.0.clone(), spot.1 + 1)..(spot.0.clone(), after.max(spot.1 + 1))).next().is_some()
    }

    fn piece(
        &self,
        node: NodeRef,
        (rendered, properties): (Rendered, bool),
        reason: Reason,
        text: String,
        most: usize,
    ) -> Option<Piece> {
        let tokens = self.counter.count_within(&text, most)?;
        Some(Piece { tokens, node, rendered, properties, reason, text })
    }
}

/// Tokens of a text that people wrote are not longer than this many bytes on average.
pub(super) const BYTES_OF_TOKEN: usize = 6;
/// After so many nodes that quote nothing more is taken.
const MOST_QUOTING: usize = 256;
/// After so many texts their mean says what others will take.
const KNOWN_TEXTS: usize = 4;
