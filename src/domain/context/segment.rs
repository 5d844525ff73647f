//! One immutable part of the lexical index: terms in order, and for each the nodes that hold it.

use crate::domain::context::words::Analyser;
use crate::domain::memory::view::Document;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// What a word in a title counts, beside one in the body.
const TITLE_WEIGHT: u16 = 2;
/// What a tag counts.
const TAG_WEIGHT: u16 = 2;
/// Bodies beyond this many bytes are data; their beginning is indexed.
const LONGEST_BODY: usize = 1 << 20;

/// One document's share of a segment.
#[derive(Clone, Debug)]
pub struct Share {
    /// The file.
    pub file: Arc<str>,
    /// The first node; the node of index `i` is `first + i`.
    pub first: u32,
    /// How many nodes.
    pub count: u32,
}

/// An immutable inverted index over whole documents.
#[derive(Debug, Default)]
pub struct Segment {
    /// The documents, by file.
    pub shares: Vec<Share>,
    /// All terms, sorted, one behind the other.
    text: String,
    /// Where each term ends in `text`.
    ends: Vec<u32>,
    /// Where each term's postings end.
    posting_ends: Vec<u32>,
    /// Postings: which node.
    nodes: Vec<u32>,
    /// Postings: how much of the term it holds.
    weights: Vec<u16>,
    /// How long each node is, in weighted terms.
    lengths: Vec<u32>,
}

impl Segment {
    /// Builds a segment of documents, which come sorted by file.
    pub fn build<'a>(documents: impl IntoIterator<Item = &'a Arc<Document>>, analyser: &mut Analyser) -> Segment {
        let mut builder = Builder::default();
        for document in documents {
            builder.add(document, analyser);
        }
        builder.finish()
    }

    /// Returns how many nodes it holds, dead ones included.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Returns whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Returns a node's length in weighted terms.
    pub fn length(&self, node: u32) -> u32 {
        self.lengths.get(node as usize).copied().unwrap_or(0)
    }

    /// Returns the nodes and weights of a term; empty when it is unknown.
    pub fn postings(&self, term: &str) -> (&[u32], &[u16]) {
        self.find(term).map_or((&[], &[]), |at| self.postings_at(at))
    }

    /// Returns the position of a file in `shares`.
    pub fn position(&self, file: &str) -> Option<usize> {
        self.shares.binary_search_by(|share| share.file.as_ref().cmp(file)).ok()
    }

    /// Returns the position in `shares` of the document that a node stands in.
    pub fn share_of(&self, node: u32) -> usize {
        self.shares.partition_point(|share| share.first <= node).saturating_sub(1)
    }

    /// Returns the bytes that its parts take on the heap, file names left out.
    pub fn heap_bytes(&self) -> usize {
        self.text.capacity()
            + 4 * (self.ends.capacity() + self.posting_ends.capacity() + self.nodes.capacity())
            + 4 * self.lengths.capacity()
            + 2 * self.weights.capacity()
            + size_of::<Share>() * self.shares.capacity()
    }

    /// Joins segments, leaving out documents that are dead. Each part comes with its dead nodes, a bit each.
    pub fn merge(parts: &[(&Segment, Option<&[u64]>)]) -> Segment {
        let mut order: Vec<(usize, usize)> = Vec::new();
        for (part, (segment, dead)) in parts.iter().enumerate() {
            let alive = |share: &Share| !dead.is_some_and(|dead| bit(dead, share.first));
            let living = segment.shares.iter().enumerate().filter(|(_, share)| alive(share));
            order.extend(living.map(|(at, _)| (part, at)));
        }
        order.sort_by(|a, b| parts[a.0].0.shares[a.1].file.cmp(&parts[b.0].0.shares[b.1].file));
        let mut merged = Segment::default();
        // For each part, how its nodes are numbered now; DEAD where they are left out.
        let mut renumber: Vec<Vec<u32>> = parts.iter().map(|(segment, _)| vec![DEAD; segment.len()]).collect();
        for (part, at) in order {
            let segment = parts[part].0;
            let share = &segment.shares[at];
            let first = merged.lengths.len() as u32;
            for offset in 0..share.count {
                renumber[part][(share.first + offset) as usize] = first + offset;
                merged.lengths.push(segment.length(share.first + offset));
            }
            merged.shares.push(Share { file: share.file.clone(), first, count: share.count });
        }
        let mut cursors = vec![0usize; parts.len()];
        let mut found: Vec<(u32, u16)> = Vec::new();
        loop {
            let heads = parts.iter().zip(&cursors);
            let Some(term) = heads.filter_map(|((segment, _), at)| segment.term(*at)).min() else { break };
            found.clear();
            for (part, (segment, _)) in parts.iter().enumerate() {
                if segment.term(cursors[part]) == Some(term) {
                    let (nodes, weights) = segment.postings_at(cursors[part]);
                    let here =
                        nodes.iter().zip(weights).map(|(node, weight)| (renumber[part][*node as usize], *weight));
                    found.extend(here.filter(|(node, _)| *node != DEAD));
                    cursors[part] += 1;
                }
            }
            found.sort_unstable();
            merged.push_term(term, &found);
        }
        merged.shrink();
        merged
    }

    fn push_term(&mut self, term: &str, postings: &[(u32, u16)]) {
        if postings.is_empty() {
            return;
        }
        self.text.push_str(term);
        self.ends.push(self.text.len() as u32);
        self.nodes.extend(postings.iter().map(|posting| posting.0));
        self.weights.extend(postings.iter().map(|posting| posting.1));
        self.posting_ends.push(self.nodes.len() as u32);
    }

    fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.posting_ends.shrink_to_fit();
        self.nodes.shrink_to_fit();
        self.weights.shrink_to_fit();
        self.lengths.shrink_to_fit();
        self.shares.shrink_to_fit();
    }

    fn range(ends: &[u32], at: usize) -> Range<usize> {
        let begin = at.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
        begin as usize..ends.get(at).copied().unwrap_or(begin) as usize
    }

    fn term(&self, at: usize) -> Option<&str> {
        (at < self.ends.len()).then(|| self.text.get(Self::range(&self.ends, at)).unwrap_or_default())
    }

    fn postings_at(&self, at: usize) -> (&[u32], &[u16]) {
        let range = Self::range(&self.posting_ends, at);
        (self.nodes.get(range.clone()).unwrap_or_default(), self.weights.get(range).unwrap_or_default())
    }

    fn find(&self, term: &str) -> Option<usize> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.term(middle)?.cmp(term) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }
}

/// Returns one bit of many; what is not there is 0.
pub fn bit(bits: &[u64], at: u32) -> bool {
    bits.get(at as usize / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
}

/// Marks a node that a merge leaves out.
const DEAD: u32 = u32::MAX;

/// Gathers postings in the order of nodes.
#[derive(Default)]
struct Builder {
    shares: Vec<Share>,
    lengths: Vec<u32>,
    terms: HashMap<Box<str>, u32>,
    /// Term, node, weight.
    postings: Vec<(u32, u32, u16)>,
    /// Terms of the node at hand, with their weights.
    here: Vec<(u32, u16)>,
}

impl Builder {
    fn add(&mut self, document: &Document, analyser: &mut Analyser) {
        let first = self.lengths.len() as u32;
        for index in 0..document.outline.nodes.len() {
            self.add_node(document, index, analyser);
        }
        let count = self.lengths.len() as u32 - first;
        self.shares.push(Share { file: document.file.clone(), first, count });
    }

    fn add_node(&mut self, document: &Document, index: usize, analyser: &mut Analyser) {
        let (outline, node) = (&document.outline, &document.outline.nodes[index]);
        let title = if index > 0 { outline.slice(&node.title) } else { outline.title.as_deref().unwrap_or("") };
        let (terms, here) = (&mut self.terms, &mut self.here);
        here.clear();
        let mut put = |term: &str, weight: u16| here.push((intern(terms, term), weight));
        analyser.all_terms(title, |term| put(term, TITLE_WEIGHT));
        if index == 0 {
            let name = document.file.rsplit('/').next().unwrap_or("").trim_end_matches(".org");
            analyser.terms(name, |term| put(term, 1));
        }
        let own = if index == 0 { &outline.filetags[..] } else { &node.tags[..] };
        for tag in own {
            analyser.all_terms(tag, |term| put(term, TAG_WEIGHT));
        }
        for (key, value) in &node.properties {
            if key.as_ref() != "ID" {
                analyser.terms(value, |term| put(term, 1));
            }
        }
        for range in [&node.scheduled, &node.deadline, &node.closed].into_iter().flatten() {
            analyser.terms(outline.slice(range), |term| put(term, 1));
        }
        let body = outline.slice(&node.body);
        analyser.terms(prefix(body, LONGEST_BODY), |term| put(term, 1));
        let at = self.lengths.len() as u32;
        self.lengths.push(self.here.iter().map(|(_, weight)| u32::from(*weight)).sum());
        self.here.sort_unstable_by_key(|(term, _)| *term);
        for same in self.here.chunk_by(|a, b| a.0 == b.0) {
            let weight = same.iter().fold(0u16, |sum, (_, weight)| sum.saturating_add(*weight));
            self.postings.push((same[0].0, at, weight));
        }
    }

    fn finish(self) -> Segment {
        let mut terms: Vec<(Box<str>, u32)> = self.terms.into_iter().collect();
        terms.sort_unstable();
        let mut rank = vec![0u32; terms.len()];
        for (at, (_, term)) in terms.iter().enumerate() {
            rank[*term as usize] = at as u32;
        }
        let mut postings = self.postings;
        postings.iter_mut().for_each(|posting| posting.0 = rank[posting.0 as usize]);
        postings.sort_unstable_by_key(|posting| (posting.0, posting.1));
        let mut segment = Segment { shares: self.shares, lengths: self.lengths, ..Segment::default() };
        let mut here: Vec<(u32, u16)> = Vec::new();
        for same in postings.chunk_by(|a, b| a.0 == b.0) {
            here.clear();
            here.extend(same.iter().map(|posting| (posting.1, posting.2)));
            segment.push_term(&terms[same[0].0 as usize].0, &here);
        }
        segment.shrink();
        segment
    }
}

fn intern(terms: &mut HashMap<Box<str>, u32>, term: &str) -> u32 {
    if let Some(known) = terms.get(term) {
        return *known;
    }
    let new = terms.len() as u32;
    terms.insert(Box::from(term), new);
    new
}

/// Returns the beginning of a text, at most so many bytes, cut between characters.
pub fn prefix(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let cut = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..cut).unwrap_or_default()
}
