//! Scores by document and node, while evidence spreads from node to node.

use crate::domain::context::lexical::Place;
use crate::domain::context::rank::{Evidence, Ranked, Weights};
use crate::domain::context::swift::SwiftMap;
use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::view::{NodeRef, View};
use std::sync::Arc;

/// A cosine up to this one says nothing: texts of one language that have nothing to do with each other reach it.
const FAR_COSINE: f32 = 0.5;
/// At most so many nodes are ranked in the end.
const MOST_RANKED: usize = 600;

/// Scores by document and node, while evidence spreads.
pub(super) struct Field<'a> {
    view: &'a View,
    /// The files' own nodes: others of the same file are had without looking it up.
    files: Vec<NodeRef>,
    numbers: SwiftMap<Arc<str>, usize>,
    nodes: SwiftMap<(usize, u32), Score>,
    /// From which cosine on a node is near by its meaning.
    near_cosine: f32,
}

/// What a node has gathered.
#[derive(Clone, Copy, Default)]
struct Score {
    /// By its own words.
    own: f32,
    /// Which words.
    words: Option<Evidence>,
    /// By its meaning, and the cosine.
    meaning: f32,
    cosine: f32,
    /// From others.
    gathered: f32,
}

impl Score {
    /// What it passes on: what its meaning counts only if that is near.
    fn strength(&self, near_cosine: f32) -> f32 {
        self.own + if self.cosine >= near_cosine { self.meaning } else { 0.0 }
    }

    fn sum(&self) -> f32 {
        self.own + self.meaning + self.gathered
    }

    fn evidence(&self) -> Evidence {
        match self {
            _ if self.meaning > self.own => Evidence::Meaning,
            _ => self.words.unwrap_or(Evidence::Beside),
        }
    }
}

impl<'a> Field<'a> {
    /// Begins without any.
    pub(super) fn of(view: &'a View, near_cosine: f32) -> Self {
        Field { view, files: Vec::new(), numbers: SwiftMap::default(), nodes: SwiftMap::default(), near_cosine }
    }

    /// Takes a node that holds words.
    pub(super) fn seed(&mut self, place: &Place, own: f32, words: Evidence) {
        let Some(number) = self.number(&place.file) else { return };
        self.nodes.insert((number, place.index), Score { own, words: Some(words), ..Score::default() });
    }

    /// Takes a node near by its meaning; one of cosine 1 is given `most`.
    pub(super) fn mean(&mut self, node: &NodeRef, cosine: f32, most: f32) {
        let Some(number) = self.number(node.file()) else { return };
        let score = self.nodes.entry((number, node.index as u32)).or_default();
        let above = (cosine - FAR_COSINE) / (1.0 - FAR_COSINE);
        (score.meaning, score.cosine) = (most * above.clamp(0.0, 1.0), cosine);
    }

    /// Gives what stands around the focus, and what it links to, a share of what it counts.
    pub(super) fn spread_from(&mut self, focus: &NodeRef, strength: f32, weights: &Weights) {
        let Some(number) = self.number(focus.file()) else { return };
        self.give((number, focus.index as u32), strength, weights);
        for link in focus.links().take(LINKS) {
            if let Some(target) = self.view.get(&NodeId::new(link))
                && let Some(number) = self.number(target.file())
            {
                self.nodes.entry((number, target.index as u32)).or_default().gathered += strength * weights.link;
            }
        }
    }

    fn number(&mut self, file: &Arc<str>) -> Option<usize> {
        if let Some(number) = self.numbers.get(file) {
            return Some(*number);
        }
        self.files.push(self.view.node(file, 0)?);
        self.numbers.insert(file.clone(), self.files.len() - 1);
        Some(self.files.len() - 1)
    }

    /// Gives what stands around every node that has something of its own a share of that.
    pub(super) fn spread(&mut self, weights: &Weights) {
        let strong = self.nodes.iter().map(|(at, score)| (*at, score.strength(self.near_cosine)));
        let mut seeds: Vec<((usize, u32), f32)> = strong.filter(|seed| seed.1 > 0.0).collect();
        // Sums of floats depend on their order; this one is fixed.
        seeds.sort_unstable_by_key(|seed| seed.0);
        for (at, score) in seeds {
            self.give(at, score, weights);
        }
    }

    /// Passes shares of a node's score on to what stands around it.
    fn give(&mut self, (number, index): (usize, u32), score: f32, weights: &Weights) {
        let Some(card) = self.files.get(number).map(|file| file.card().clone()) else { return };
        let mut give = |at: usize, part: f32| {
            self.nodes.entry((number, at as u32)).or_default().gathered += score * part;
        };
        let index = index as usize;
        let (mut before, mut behind) = (card.previous(index), card.next(index));
        let mut left = 1.0;
        for _ in 0..REACH {
            before.into_iter().for_each(|at| give(at, weights.previous * left));
            behind.into_iter().for_each(|at| give(at, weights.next * left));
            before = before.and_then(|at| card.previous(at));
            behind = behind.and_then(|at| card.next(at));
            left *= weights.fade;
        }
        if let Some(parent) = card.parent(index).filter(|parent| *parent > 0) {
            give(parent, weights.parent);
        }
        if index > 0 {
            card.children(index).take(CHILDREN).for_each(|at| give(at, weights.child));
        }
    }

    /// Gives the nodes that the best ones link to a share.
    pub(super) fn follow_links(&mut self, weights: &Weights, clearance: Privacy) {
        let strong = self.nodes.iter().map(|(at, score)| (*at, score.strength(self.near_cosine)));
        let mut best: Vec<((usize, u32), f32)> = strong.filter(|(_, score)| *score > 0.0).collect();
        best.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        for ((number, index), score) in best.into_iter().take(LINKING) {
            let Some(card) = self.files.get(number).map(|file| file.card().clone()) else { continue };
            for link in card.links_of(index as usize).take(LINKS) {
                let Some(target) = self.view.get(&NodeId::new(link)) else { continue };
                if target.privacy() <= clearance
                    && let Some(number) = self.number(target.file())
                {
                    self.nodes.entry((number, target.index as u32)).or_default().gathered += score * weights.link;
                }
            }
        }
    }

    /// Returns the best nodes that may be seen, in no order.
    pub(super) fn finish(self, clearance: Privacy) -> Vec<Ranked> {
        let (view, files) = (self.view, self.files);
        let seen = |number: usize, index: u32| {
            let file = files.get(number)?;
            let open = file.card().privacy(index as usize) <= clearance;
            (open && view.sight().holds(file.file(), index as usize)).then_some(file)
        };
        let mut scores: Vec<((usize, u32), Score)> = self.nodes.into_iter().collect();
        scores.retain(|((number, index), score)| score.sum() > 0.0 && seen(*number, *index).is_some());
        if scores.len() > MOST_RANKED {
            let name = |number: usize| files.get(number).map(|file| file.file());
            scores.select_nth_unstable_by(MOST_RANKED, |(a, one), (b, other)| {
                let place = || (name(a.0), a.1).cmp(&(name(b.0), b.1));
                other.sum().total_cmp(&one.sum()).then_with(place)
            });
            scores.truncate(MOST_RANKED);
        }
        let ranked = scores.into_iter().filter_map(|((number, index), score)| {
            let node = files.get(number)?.at(index as usize)?;
            let Score { own, meaning, cosine, .. } = score;
            Some(Ranked { node, score: score.sum(), own, meaning, evidence: score.evidence(), cosine })
        });
        ranked.collect()
    }
}

/// So many siblings on either side are given a share.
const REACH: usize = 4;
/// The links of so many of the best nodes are followed.
const LINKING: usize = 24;
/// At most so many links of each.
const LINKS: usize = 8;
/// A heading passes on to at most so many children.
const CHILDREN: usize = 32;
