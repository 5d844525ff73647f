//! The lexical index: which nodes hold which words, ranked by BM25. It lives in memory and is never stored.
//!
//! An index is a value: changing a document gives a new index that shares all other documents with the old one.
//! Documents stand in immutable segments; small ones are joined as they gather, so that a change costs
//! what the changed document costs, and a question asks few segments.

use crate::domain::context::almanac::Almanac;
use crate::domain::context::segment::{Segment, bit};
use crate::domain::context::words::Analyser;
use crate::domain::memory::document::Document;
use crate::domain::memory::view::View;
use rpds::RedBlackTreeMapSync;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// How fast a repeated word stops counting.
const SATURATION: f32 = 1.0;
/// How much long nodes are held back, 0 to 1.
const LENGTH_NORM: f32 = 0.6;
/// So many segments of about the same size are joined into one.
const FAN_IN: usize = 8;
/// Segments are not joined beyond this many nodes, so that no single change is slow.
const LARGEST: usize = 1 << 18;

/// Every document's words.
#[derive(Clone, Default)]
pub struct Index {
    parts: Vec<Part>,
    /// What is due when, and which headings are projects; only documents that have any.
    almanacs: RedBlackTreeMapSync<Arc<str>, Arc<Almanac>>,
}

/// One segment, and which of its documents have been replaced since.
#[derive(Clone)]
struct Part {
    segment: Arc<Segment>,
    /// One bit for each node of the segment; `None` while all live.
    dead: Option<Arc<Vec<u64>>>,
    /// Nodes that live.
    live: usize,
    /// Their lengths, summed.
    length: u64,
}

/// One weighted term of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryTerm {
    /// The term, as the analyser makes it.
    pub term: Box<str>,
    /// How much it counts; above 0.
    pub weight: f32,
}

/// Where a node stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<str>,
    /// Index into the document's nodes.
    pub index: u32,
}

/// One node that holds some of a question's words.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// The node.
    pub place: Place,
    /// BM25; above 0.
    pub score: f32,
}

impl Index {
    /// Builds an index of a whole memory.
    pub fn of(view: &View) -> Index {
        let mut analyser = Analyser::default();
        let mut index = Index::default();
        let mut batch: Vec<Arc<Document>> = Vec::new();
        let mut nodes = 0;
        for document in view.documents() {
            index.note(&document);
            nodes += document.outline.nodes.len();
            batch.push(document);
            if nodes >= LARGEST / 2 {
                index.parts.push(Part::new(Segment::build(&batch, &mut analyser)));
                batch.clear();
                nodes = 0;
            }
        }
        if !batch.is_empty() {
            index.parts.push(Part::new(Segment::build(&batch, &mut analyser)));
        }
        index
    }

    /// Returns the index with one document put in or replaced.
    pub fn with(&self, document: &Arc<Document>) -> Index {
        let mut next = self.without(&document.file);
        next.parts.push(Part::new(Segment::build([document], &mut Analyser::default())));
        next.note(document);
        next.join();
        next
    }

    /// Returns the index without one document.
    pub fn without(&self, file: &str) -> Index {
        let mut next = self.clone();
        next.almanacs.remove_mut(file);
        for part in &mut next.parts {
            part.kill(file);
        }
        next.parts.retain(|part| part.live > 0);
        next
    }

    /// Returns how many nodes are indexed, files included.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.live).sum()
    }

    /// Returns whether nothing is indexed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes that the postings and terms take on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.segment.heap_bytes()).sum()
    }

    /// Returns the documents that have something due or a project, by file.
    pub fn almanacs(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<Almanac>)> {
        self.almanacs.iter()
    }

    /// Returns in how many nodes a term stands.
    pub fn frequency(&self, term: &str) -> usize {
        self.parts.iter().map(|part| part.frequency(term)).sum()
    }

    /// Returns the best `limit` nodes for a question, best first; equals stand in the order of files and lines.
    /// `admit` says of a node whether it may be a candidate at all.
    pub fn scores(&self, query: &[QueryTerm], limit: usize, admit: &dyn Fn(&str, u32) -> bool) -> Vec<Scored> {
        let nodes = self.len() as f32;
        let length: u64 = self.parts.iter().map(|part| part.length).sum();
        let mean = (length as f32 / nodes.max(1.0)).max(1.0);
        let weighted: Vec<(&str, f32)> = query
            .iter()
            .map(|term| {
                let holding = self.frequency(&term.term) as f32;
                (term.term.as_ref(), term.weight * (1.0 + (nodes - holding + 0.5) / (holding + 0.5)).ln())
            })
            .collect();
        let mut best: BinaryHeap<Candidate<'_>> = BinaryHeap::new();
        for part in &self.parts {
            part.gather(&weighted, mean, limit, admit, &mut best);
        }
        let sorted = best.into_sorted_vec();
        sorted
            .into_iter()
            .map(|found| Scored { place: Place { file: found.file.clone(), index: found.index }, score: found.score })
            .collect()
    }

    fn note(&mut self, document: &Arc<Document>) {
        let almanac = Almanac::of(document);
        if !almanac.is_empty() {
            self.almanacs.insert_mut(document.file.clone(), Arc::new(almanac));
        }
    }

    /// Joins segments of about the same size while there are too many of them, and sweeps out the dead.
    fn join(&mut self) {
        for part in &mut self.parts {
            if part.live * 2 < part.segment.len() {
                *part = Part::merged(std::slice::from_ref(part));
            }
        }
        loop {
            let tier = |part: &Part| part.live.max(1).ilog(FAN_IN);
            let crowded = (0..=LARGEST.ilog(FAN_IN)).find(|wanted| {
                let sizes = self.parts.iter().filter(|part| tier(part) == *wanted).map(|part| part.live);
                let (count, sum) = sizes.fold((0, 0), |(count, sum), live| (count + 1, sum + live));
                count >= FAN_IN && sum <= LARGEST
            });
            let Some(crowded) = crowded else { return };
            let (small, mut rest): (Vec<Part>, Vec<Part>) =
                std::mem::take(&mut self.parts).into_iter().partition(|part| tier(part) == crowded);
            rest.push(Part::merged(&small));
            self.parts = rest;
        }
    }
}

impl Part {
    fn new(segment: Segment) -> Part {
        let length = (0..segment.len() as u32).map(|node| u64::from(segment.length(node))).sum();
        Part { live: segment.len(), length, segment: Arc::new(segment), dead: None }
    }

    fn merged(parts: &[Part]) -> Part {
        let inputs: Vec<(&Segment, Option<&[u64]>)> =
            parts.iter().map(|part| (part.segment.as_ref(), part.dead.as_ref().map(|dead| dead.as_slice()))).collect();
        Part::new(Segment::merge(&inputs))
    }

    fn is_dead(&self, node: u32) -> bool {
        self.dead.as_ref().is_some_and(|dead| bit(dead, node))
    }

    fn kill(&mut self, file: &str) {
        let Some(share) = self.segment.position(file).and_then(|at| self.segment.shares.get(at)) else { return };
        if self.is_dead(share.first) {
            return;
        }
        let nodes = share.first..share.first + share.count;
        let mut dead =
            self.dead.as_ref().map_or_else(|| vec![0; self.segment.len().div_ceil(64)], |dead| dead.to_vec());
        for node in nodes.clone() {
            dead[node as usize / 64] |= 1 << (node % 64);
        }
        self.length -= nodes.clone().map(|node| u64::from(self.segment.length(node))).sum::<u64>();
        self.live -= nodes.len();
        self.dead = Some(Arc::new(dead));
    }

    fn frequency(&self, term: &str) -> usize {
        let (nodes, _) = self.segment.postings(term);
        match self.dead {
            None => nodes.len(),
            Some(_) => nodes.iter().filter(|node| !self.is_dead(**node)).count(),
        }
    }

    /// Adds this part's best nodes to the best found so far.
    fn gather<'a>(
        &'a self,
        query: &[(&str, f32)],
        mean: f32,
        limit: usize,
        admit: &dyn Fn(&str, u32) -> bool,
        best: &mut BinaryHeap<Candidate<'a>>,
    ) {
        let mut scores = vec![0f32; self.segment.len()];
        let mut touched: Vec<u32> = Vec::new();
        for (term, weight) in query {
            let (nodes, weights) = self.segment.postings(term);
            for (node, count) in nodes.iter().zip(weights) {
                let Some(score) = scores.get_mut(*node as usize) else { continue };
                if *score == 0.0 {
                    touched.push(*node);
                }
                let norm = 1.0 - LENGTH_NORM + LENGTH_NORM * self.segment.length(*node) as f32 / mean;
                let count = f32::from(*count);
                *score += weight * count * (SATURATION + 1.0) / (count + SATURATION * norm);
            }
        }
        for node in touched {
            let score = scores.get(node as usize).copied().unwrap_or(0.0);
            // The heap's top is its worst; most nodes stop here.
            if best.len() >= limit && best.peek().is_some_and(|worst| score < worst.score) {
                continue;
            }
            let at = self.segment.share_of(node);
            let share = &self.segment.shares[at];
            let index = node - share.first;
            if self.is_dead(node) || !admit(&share.file, index) {
                continue;
            }
            best.push(Candidate { score, file: &share.file, index });
            if best.len() > limit {
                best.pop();
            }
        }
    }
}

/// A node in the race; greater is worse, so that a heap pops the worst first.
struct Candidate<'a> {
    score: f32,
    file: &'a Arc<str>,
    index: u32,
}

impl Ord for Candidate<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = || (self.file.as_ref(), self.index).cmp(&(other.file.as_ref(), other.index));
        other.score.total_cmp(&self.score).then_with(place)
    }
}

impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate<'_> {}
