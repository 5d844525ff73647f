//! Gathers what goes into a context, and keeps count of its tokens. It never takes what does not fit.

use crate::domain::context::reason::Reason;
use crate::domain::context::{Rendered, render};
use crate::domain::label::Privacy;
use crate::domain::memory::view::NodeRef;
use crate::domain::port::CountTokens;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a node stands: file and index. The order is the order in which nodes are written.
pub type Spot = (Arc<str>, usize);

/// One node, written.
pub struct Piece {
    /// The node.
    pub node: NodeRef,
    /// How it is written.
    pub rendered: Rendered,
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
    /// Tokens in use.
    pub used: usize,
    /// What is planned, one line each, first things first.
    pub due: Vec<Piece>,
    /// The outline.
    pub pieces: BTreeMap<Spot, Piece>,
    /// In which order pieces came; the last may go first.
    pub order: Vec<Spot>,
}

/// Returns where a node stands.
pub fn spot(node: &NodeRef) -> Spot {
    (node.file().clone(), node.index)
}

impl<'a> Tray<'a> {
    /// Starts with nothing but the tokens that the frame takes.
    pub fn new(counter: &'a dyn CountTokens, clearance: Privacy, used: usize) -> Self {
        Tray { counter, clearance, used, due: Vec::new(), pieces: BTreeMap::new(), order: Vec::new() }
    }

    /// Returns whether a node is in, at least as fully as asked.
    pub fn holds(&self, node: &NodeRef, rendered: Rendered) -> bool {
        self.pieces.get(&spot(node)).is_some_and(|piece| piece.rendered >= rendered)
    }

    /// Takes a node, and the titles above it, if all of them fit below `limit` tokens in use.
    /// Returns whether the node is in now.
    pub fn offer(&mut self, node: &NodeRef, rendered: Rendered, reason: Reason, limit: usize) -> bool {
        if self.holds(node, rendered) {
            return true;
        }
        // Long texts take long to count, and most of them cannot fit; only the focus is worth the time.
        let hopeless = node.body_len() / BYTES_OF_TOKEN > limit.saturating_sub(self.used);
        if rendered == Rendered::Full && reason != Reason::Focus && hopeless {
            return false;
        }
        let text = match (rendered, &reason) {
            (Rendered::Full, _) => render::full(node),
            (Rendered::Title, Reason::Root | Reason::Outline) => render::title_and_properties(node),
            (Rendered::Title, _) => render::title(node),
        };
        self.put(node, rendered, reason, text, limit)
    }

    /// Takes a node as it has been written, if it fits; see [`Tray::offer`].
    pub fn put(&mut self, node: &NodeRef, rendered: Rendered, reason: Reason, text: String, limit: usize) -> bool {
        if node.privacy() > self.clearance {
            return false;
        }
        let mut coming = vec![self.piece(node.clone(), rendered, reason, text)];
        let mut above = node.parent();
        while let Some(parent) = above {
            if self.pieces.contains_key(&spot(&parent)) {
                break;
            }
            // A parent is never stricter than its child; if one ever were, the child is not shown under it.
            if parent.privacy() > self.clearance {
                return false;
            }
            let text = render::title(&parent);
            above = parent.parent();
            coming.push(self.piece(parent, Rendered::Title, Reason::Ancestor, text));
        }
        let known = self.pieces.get(&spot(node)).map_or(0, |piece| piece.tokens);
        let more = coming.iter().map(|piece| piece.tokens).sum::<usize>().saturating_sub(known);
        if self.used.saturating_add(more) > limit {
            return false;
        }
        self.used += more;
        for piece in coming.into_iter().rev() {
            let spot = spot(&piece.node);
            self.order.retain(|known| *known != spot);
            self.order.push(spot.clone());
            self.pieces.insert(spot, piece);
        }
        true
    }

    /// Takes one line about a planned node if it fits. Returns whether it did.
    pub fn note_due(&mut self, node: &NodeRef, reason: Reason, what: &str, limit: usize) -> bool {
        let piece = self.piece(node.clone(), Rendered::Title, reason, render::due(node, what));
        let fits = node.privacy() <= self.clearance && self.used.saturating_add(piece.tokens) <= limit;
        if fits {
            self.used += piece.tokens;
            self.due.push(piece);
        }
        fits
    }

    /// Removes what came last, sparing the focus; returns `None` when nothing may go any more.
    pub fn drop_last(&mut self) -> Option<Piece> {
        // Titles go before what stands below them would lose its place, so only leaves of the tray may go.
        let at = self.order.iter().rposition(|spot| {
            let spared = |piece: &Piece| matches!(piece.reason, Reason::Focus | Reason::FocusCut(_));
            self.pieces.get(spot).is_some_and(|piece| !spared(piece)) && !self.carries(spot)
        });
        let piece = match at {
            Some(at) => self.pieces.remove(&self.order.remove(at)),
            None => self.due.pop(),
        }?;
        self.used = self.used.saturating_sub(piece.tokens);
        Some(piece)
    }

    /// Returns the text as it stands.
    pub fn text(&self) -> String {
        let texts = self.due.iter().chain(self.pieces.values());
        render::fence(&texts.map(|piece| piece.text.as_str()).collect::<Vec<_>>())
    }

    /// Returns whether a node that is in stands below this one.
    fn carries(&self, spot: &Spot) -> bool {
        let Some(piece) = self.pieces.get(spot) else { return false };
        let after = piece.node.card().after(spot.1);
        self.pieces.range((spot.0.clone(), spot.1 + 1)..(spot.0.clone(), after.max(spot.1 + 1))).next().is_some()
    }

    fn piece(&self, node: NodeRef, rendered: Rendered, reason: Reason, text: String) -> Piece {
        Piece { tokens: self.counter.count(&text), node, rendered, reason, text }
    }
}

/// Tokens of a text that people wrote are not longer than this many bytes on average.
const BYTES_OF_TOKEN: usize = 6;
