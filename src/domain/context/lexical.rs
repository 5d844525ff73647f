//! The full-text index: which nodes hold which words, ranked by BM25.
//!
//! An index is a value: changing a document gives a new index that shares all other documents with the old one.
//! Documents stand in immutable segments, in memory while they are small and recent, in files of the cache folder
//! otherwise; small ones are joined as they gather, so that a change costs what the changed document costs, and a
//! question asks few segments. However an index came about, its hits and scores are those of one built fresh.

use crate::domain::context::build::{Builder, JoinError, Sink, join};
use crate::domain::context::holding::{Holding, common};
use crate::domain::context::postings::BLOCK;
use crate::domain::context::race::{self, Admit, Asked, Candidate};
use crate::domain::context::segment::{Entry, Head, Reader, Segment, Share, bit};
use crate::domain::context::sieve::Group;
use crate::domain::id::ObjectHash;
use crate::domain::memory::document::Document;
use crate::domain::memory::view::View;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

/// So many segments of about the same size are joined into one.
const FAN_IN: usize = 8;
/// Segments are not joined beyond this many nodes, so that no single join is long.
const LARGEST: usize = 1 << 20;
/// What [`Index::with`] joins at once has at most so many nodes: a change waits for no more.
const JOINED_AT_ONCE: usize = 1 << 8;
/// A segment is cut when so many pairs of term and node are gathered, which takes some 30 MB until it is written.
pub const BATCH: usize = 1_200_000;

/// Every document's words.
#[derive(Clone, Default)]
pub struct Index {
    pub(super) parts: Vec<Part>,
}

/// One segment, and which of its documents have been replaced since.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) segment: Arc<Segment>,
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
    /// How much it counts, from 0.
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

/// One node that holds what a question needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Best<T> {
    /// The node.
    pub place: Place,
    /// BM25.
    pub score: f32,
    /// What it was admitted with.
    pub with: T,
}

/// Segments that are to become one.
pub struct Crowd {
    parts: Vec<Part>,
}

impl Index {
    /// Builds an index of a whole memory, in memory.
    pub fn of(view: &View) -> Index {
        let (mut index, mut builder) = (Index::default(), Builder::default());
        for document in view.documents() {
            builder.add(&document);
            if builder.size() >= BATCH {
                index.parts.push(Part::new(builder.cut()));
            }
        }
        if !builder.is_empty() {
            index.parts.push(Part::new(builder.finish()));
        }
        index
    }

    /// Returns the index with all documents of a segment, of which it has none.
    pub fn including(&self, segment: Arc<Segment>) -> Index {
        let mut next = self.clone();
        next.parts.push(Part::new_shared(segment));
        next
    }

    /// Returns the index with one document put in or replaced.
    pub fn with(&self, document: &Arc<Document>) -> Index {
        let mut builder = Builder::default();
        builder.add(document);
        let mut next = self.without(&document.file);
        next.parts.push(Part::new(builder.finish()));
        while let Some(crowd) = next.crowd(JOINED_AT_ONCE).filter(Crowd::is_in_memory) {
            let mut body = Vec::new();
            let Ok(head) = crowd.join(&mut body) else { break };
            next = next.joined(&crowd, Arc::new(Segment::in_memory(head, body)));
        }
        next
    }

    /// Returns the index without one document.
    pub fn without(&self, file: &str) -> Index {
        let mut next = self.clone();
        for part in &mut next.parts {
            part.kill(file);
        }
        next.parts.retain(|part| part.live > 0);
        next
    }

    /// Returns the index with those documents of a segment that are in a memory as they were indexed and that it does
    /// not have yet; the same index when there are none.
    pub fn adopting(&self, segment: Arc<Segment>, view: &View) -> Index {
        let mut next = self.clone();
        let mut part = Part::new_shared(segment.clone());
        for share in segment.shares() {
            let wanted = view.card(&share.file).is_some_and(|card| card.root() == share.document);
            match self.document(&share.file) {
                Some(known) if wanted && known != share.document => next = next.without(&share.file),
                None if wanted => {}
                Some(_) | None => part.kill(&share.file),
            }
        }
        if part.live == 0 {
            return self.clone();
        }
        next.parts.push(part);
        next
    }

    /// Returns the index without what is not in a memory, and the files of it whose words it does not have, in order.
    pub fn compared(&self, view: &View) -> (Index, Vec<Arc<str>>) {
        let root = |file: &str| view.card(file).map(|card| card.root());
        let mut stale: Vec<&Arc<str>> = Vec::new();
        let mut known: std::collections::HashSet<&str> = std::collections::HashSet::new();
        for share in self.parts.iter().flat_map(Part::shares) {
            if root(&share.file) == Some(share.document) {
                known.insert(&share.file);
            } else {
                stale.push(&share.file);
            }
        }
        let mut next = self.clone();
        for file in stale {
            next = next.without(file);
        }
        let missing = view.cards().filter(|card| !known.contains(card.file.as_ref()));
        (next, missing.map(|card| card.file.clone()).collect())
    }

    /// Returns the index without the segments that cannot be read as they were written; `None` when all can.
    pub fn without_broken(&self) -> Option<Index> {
        if !self.parts.iter().any(|part| part.segment.is_broken()) {
            return None;
        }
        let mut next = self.clone();
        next.parts.retain(|part| !part.segment.is_broken());
        Some(next)
    }

    /// Returns the hash of the document that is indexed for a file.
    pub fn document(&self, file: &str) -> Option<ObjectHash> {
        self.parts.iter().find_map(|part| part.share(file)).map(|share| share.document)
    }

    /// Returns the segments.
    pub fn segments(&self) -> impl Iterator<Item = &Arc<Segment>> {
        self.parts.iter().map(|part| &part.segment)
    }

    /// Returns segments that should become one, which will have at most `most` nodes; `None` while there are few.
    pub fn crowd(&self, most: usize) -> Option<Crowd> {
        let half_dead = |part: &&Part| part.live * 2 < part.segment.len() && part.live <= most;
        if let Some(part) = self.parts.iter().find(half_dead) {
            return Some(Crowd { parts: vec![part.clone()] });
        }
        let most = most.min(LARGEST);
        let tier = |part: &Part| part.live.max(1).ilog(FAN_IN);
        (0..=most.max(1).ilog(FAN_IN)).find_map(|wanted| {
            let mut parts: Vec<&Part> = self.parts.iter().filter(|part| tier(part) == wanted).collect();
            if parts.len() < FAN_IN {
                return None;
            }
            parts.sort_by_key(|part| part.live);
            let mut sum = 0;
            let fitting = parts.into_iter().take_while(|part| {
                sum += part.live;
                sum <= most
            });
            let parts: Vec<Part> = fitting.cloned().collect();
            (parts.len() >= FAN_IN / 2).then_some(Crowd { parts })
        })
    }

    /// Returns all segments that are in memory as one crowd, when they take more than so many bytes.
    pub fn in_memory(&self, above: usize) -> Option<Crowd> {
        let parts = self.parts.iter().filter(|part| part.segment.memory().is_some());
        let parts: Vec<Part> = parts.cloned().collect();
        let bytes: usize = parts.iter().map(|part| part.segment.heap_bytes()).sum();
        (bytes > above).then_some(Crowd { parts })
    }

    /// Returns the index with a crowd's segments replaced by what came of joining them, in which documents are dead that
    /// were replaced meanwhile.
    pub fn joined(&self, crowd: &Crowd, segment: Arc<Segment>) -> Index {
        let (old, mut parts): (Vec<Part>, Vec<Part>) = self.parts.iter().cloned().partition(|part| crowd.has(part));
        let mut part = Part::new_shared(segment.clone());
        for share in segment.shares() {
            let lives = |old: &Part| old.share(&share.file).is_some_and(|old| old.document == share.document);
            if !old.iter().any(lives) {
                part.kill(&share.file);
            }
        }
        if part.live > 0 {
            parts.push(part);
        }
        Index { parts }
    }

    /// Returns how many nodes are indexed, files included.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.live).sum()
    }

    /// Returns whether nothing is indexed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes that it takes in memory, names of files left out.
    pub fn heap_bytes(&self) -> usize {
        let dead = |part: &Part| part.dead.as_ref().map_or(0, |dead| 8 * dead.len());
        self.parts.iter().map(|part| part.segment.heap_bytes() + dead(part)).sum()
    }

    /// Returns in how many nodes a term stands.
    pub fn frequency(&self, term: &str) -> usize {
        self.frequencies(&[term]).first().copied().unwrap_or(0)
    }

    /// Returns in how many nodes each of some terms stands. Asking for many at once reads the dictionary once.
    pub fn frequencies(&self, terms: &[&str]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..terms.len()).collect();
        order.sort_by_key(|at| terms[*at]);
        let mut sums = vec![0; terms.len()];
        for part in &self.parts {
            let mut reader = part.segment.reader();
            for at in &order {
                sums[*at] += part.frequency(&mut reader, terms[*at]);
            }
        }
        sums
    }

    /// Returns the best `limit` nodes for a question, best first; equals stand in the order of files and lines.
    /// `admit` says of a node whether it may be a candidate at all.
    pub fn scores(&self, query: &[QueryTerm], limit: usize, admit: &dyn Fn(&str, u32) -> bool) -> Vec<Scored> {
        let mut admit = |file: &Arc<str>, index: u32, _: &[bool]| admit(file, index).then_some(());
        let best = self.best(query, &[], limit, &mut admit).into_iter();
        best.map(|found| Scored { place: found.place, score: found.score }).collect()
    }

    /// Returns the best `limit` nodes for a question that hold what it needs, as [`Index::scores`] does.
    ///
    /// Terms of no weight do not count. `admit` is asked of few nodes besides the best; it is told which of the terms a
    /// node holds, and what it gives comes with the node.
    pub fn best<T>(&self, query: &[QueryTerm], need: &[Group], limit: usize, admit: &mut Admit<'_, T>) -> Vec<Best<T>> {
        let single = |group: &Group, term: usize| group.iter().any(|row| row.as_slice() == [term]);
        let counting = || query.iter().enumerate().filter(|(_, term)| term.weight > 0.0).map(|(at, _)| at);
        // Whatever is worth anything holds one of its terms.
        let given = |group: &Group| counting().all(|term| single(group, term));
        let need: Vec<Group> = need.iter().filter(|group| !given(group)).cloned().collect();
        self.race(query, &need, limit, admit, &|_| None)
    }

    /// Returns what each of some nodes is worth; those that hold none of the terms are left out.
    pub fn worth(&self, query: &[QueryTerm], places: &[Place]) -> Vec<Scored> {
        let only = |part: &Part| {
            let node = |place: &Place| {
                let share = part.share(&place.file).filter(|share| place.index < share.count)?;
                Some(share.first + place.index)
            };
            let mut nodes: Vec<u32> = places.iter().filter_map(node).collect();
            nodes.sort_unstable();
            Some(nodes)
        };
        let found = self.race(query, &[], places.len(), &mut |_, _, _| Some(()), &only);
        let found = found.into_iter().filter(|found| found.score > 0.0);
        found.map(|found| Scored { place: found.place, score: found.score }).collect()
    }

    fn race<T>(
        &self,
        query: &[QueryTerm],
        need: &[Group],
        limit: usize,
        admit: &mut Admit<'_, T>,
        only: &dyn Fn(&Part) -> Option<Vec<u32>>,
    ) -> Vec<Best<T>> {
        let nodes = self.len() as f32;
        let length: u64 = self.parts.iter().map(|part| part.length).sum();
        let mean = (length as f32 / nodes.max(1.0)).max(1.0);
        let terms: Vec<&str> = query.iter().map(|term| term.term.as_ref()).collect();
        let weighted: Vec<(&str, f32)> = query
            .iter()
            .zip(self.frequencies(&terms))
            .map(|(term, holding)| {
                let holding = holding as f32;
                (term.term.as_ref(), term.weight * (1.0 + (nodes - holding + 0.5) / (holding + 0.5)).ln())
            })
            .collect();
        let mut asked = Asked { terms: &weighted, need, mean, limit, admit };
        let mut best: BinaryHeap<Candidate<'_, T>> = BinaryHeap::new();
        // What a large segment finds raises the bar for the small ones.
        let mut parts: Vec<&Part> = self.parts.iter().collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.live));
        for part in parts {
            let dead = part.dead.as_ref().map(|dead| dead.as_slice());
            race::run(&part.segment, dead, only(part).as_deref(), &mut asked, &mut best);
        }
        let place = |found: &Candidate<'_, T>| Place { file: found.file.clone(), index: found.index };
        let sorted = best.into_sorted_vec().into_iter();
        sorted.map(|found| Best { place: place(&found), score: found.score, with: found.with }).collect()
    }

    /// Returns the nodes that hold every one of the terms.
    pub fn holding(&self, terms: &[&str]) -> Holding {
        let parts = self.parts.iter().map(|part| (part.segment.clone(), part.holding(terms)));
        Holding::of(parts.collect())
    }
}

impl Crowd {
    /// Returns whether all of it is in memory.
    pub fn is_in_memory(&self) -> bool {
        self.parts.iter().all(|part| part.segment.memory().is_some())
    }

    /// Returns how many nodes the joined segment will have.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.live).sum()
    }

    /// Returns whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Joins the segments: `sink` takes the body.
    ///
    /// # Errors
    /// When a segment is broken, or the sink takes no more.
    pub fn join<S: Sink>(&self, sink: &mut S) -> Result<Head, JoinError<S::Error>> {
        let dead = |part: &'_ Part| part.dead.clone();
        let dead: Vec<Option<Arc<Vec<u64>>>> = self.parts.iter().map(dead).collect();
        let parts = self.parts.iter().zip(&dead);
        let parts: Vec<(&Segment, Option<&[u64]>)> =
            parts.map(|(part, dead)| (part.segment.as_ref(), dead.as_ref().map(|dead| dead.as_slice()))).collect();
        join(&parts, sink)
    }

    fn has(&self, part: &Part) -> bool {
        self.parts.iter().any(|mine| Arc::ptr_eq(&mine.segment, &part.segment))
    }
}

impl Part {
    fn new(segment: Segment) -> Part {
        Self::new_shared(Arc::new(segment))
    }

    fn new_shared(segment: Arc<Segment>) -> Part {
        let length = segment.head().lengths.iter().map(|length| u64::from(*length)).sum();
        Part { live: segment.len(), length, segment, dead: None }
    }

    fn is_dead(&self, node: u32) -> bool {
        self.dead.as_ref().is_some_and(|dead| bit(dead, node))
    }

    /// Returns the documents that live.
    fn shares(&self) -> impl Iterator<Item = &Share> {
        self.segment.shares().iter().filter(|share| !self.is_dead(share.first))
    }

    pub(super) fn share(&self, file: &str) -> Option<&Share> {
        self.segment.share(file).filter(|share| !self.is_dead(share.first))
    }

    fn kill(&mut self, file: &str) {
        let Some(share) = self.share(file) else { return };
        let nodes = share.first..share.first + share.count;
        // Only a copy that others hold too is copied again.
        let mut dead = self.dead.take().unwrap_or_else(|| Arc::new(vec![0; self.segment.len().div_ceil(64)]));
        let bits = Arc::make_mut(&mut dead);
        for node in nodes.clone() {
            if let Some(word) = bits.get_mut(node as usize / 64) {
                *word |= 1 << (node % 64);
            }
        }
        self.length -= nodes.clone().map(|node| u64::from(self.segment.length(node))).sum::<u64>();
        self.live -= nodes.len();
        self.dead = Some(dead);
    }

    fn frequency(&self, reader: &mut Reader<'_>, term: &str) -> usize {
        let Some(entry) = reader.find(term) else { return 0 };
        match &self.dead {
            None => entry.count as usize,
            Some(dead) => living(reader, entry, dead).unwrap_or(0),
        }
    }

    /// Returns the nodes that hold every one of the terms and live, in order.
    fn holding(&self, terms: &[&str]) -> Vec<u32> {
        let mut reader = self.segment.reader();
        let mut entries: Vec<Entry> = Vec::new();
        for term in terms {
            let Some(entry) = reader.find(term) else { return Vec::new() };
            entries.push(entry);
        }
        entries.sort_by_key(|entry| entry.count);
        let Some((first, rest)) = entries.split_first() else { return Vec::new() };
        let mut list = Vec::new();
        if reader.all(*first, &mut list).is_none() {
            return Vec::new();
        }
        let mut nodes: Vec<u32> =
            list.into_iter().map(|posting| posting.0).filter(|node| !self.is_dead(*node)).collect();
        for entry in rest {
            match common(&mut reader, *entry, &nodes) {
                Some(left) => nodes = left,
                None => return Vec::new(),
            }
        }
        nodes
    }
}

/// Counts the nodes of a list that live. Blocks in which nothing is dead are not read.
fn living(reader: &mut Reader<'_>, entry: Entry, dead: &[u64]) -> Option<usize> {
    let mut nodes = Vec::with_capacity(BLOCK);
    let lives = |nodes: &[(u32, u16)]| nodes.iter().filter(|posting| !bit(dead, posting.0)).count();
    if entry.count as usize <= BLOCK {
        reader.short(entry, &mut nodes)?;
        return Some(lives(&nodes));
    }
    let (mut sum, mut before) = (0, 0);
    for block in reader.directory(entry)? {
        if any_dead(dead, before..block.last) {
            reader.one_block(entry, &block, before, &mut nodes)?;
            sum += lives(&nodes);
        } else {
            sum += block.count as usize;
        }
        before = block.last;
    }
    Some(sum)
}

/// Returns whether any node of a range is dead, its end included, or of those that share a word of bits with them.
fn any_dead(dead: &[u64], nodes: Range<u32>) -> bool {
    let words = nodes.start as usize / 64..nodes.end as usize / 64 + 1;
    dead.get(words).is_none_or(|words| words.iter().any(|word| *word != 0))
}
