//! The race for the best nodes of one segment, window by window.
//!
//! A window is a few thousand neighbouring nodes. What the blocks of its lists can be worth at most says which lists
//! must be read at all, and for which nodes the others matter. Every score is summed in the order of the question, so
//! that it is the same to the last bit however the nodes are spread over segments. Where a question needs words, only
//! what goes through the [`Sieve`] is in the race at all.

use crate::domain::context::postings::{BLOCK, Block, Posting};
use crate::domain::context::segment::{Entry, Reader, Segment, bit};
use crate::domain::context::sieve::{Bits, Group, Sieve, places};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// How fast a repeated word stops counting.
const SATURATION: f32 = 1.0;
/// How much long nodes are held back, 0 to 1.
const LENGTH_NORM: f32 = 0.6;
/// So many nodes are looked at together.
pub(super) const WINDOW: u32 = 4096;
/// Sums of floats in another order differ by less than this.
const MARGIN: f32 = 1.0001;

/// A node in the race; greater is worse, so that a heap pops the worst first.
pub struct Candidate<'a, T> {
    /// BM25; above 0.
    pub score: f32,
    /// The file.
    pub file: &'a Arc<str>,
    /// Index into the document's nodes.
    pub index: u32,
    /// What it was admitted with.
    pub with: T,
}

impl<T> Ord for Candidate<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = || (self.file.as_ref(), self.index).cmp(&(other.file.as_ref(), other.index));
        other.score.total_cmp(&self.score).then_with(place)
    }
}

impl<T> PartialOrd for Candidate<'_, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Candidate<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Candidate<'_, T> {}

/// Says whether a node may be a candidate at all, by its file, its place there and which of the terms it holds, and
/// what goes with it.
pub type Admit<'q, T> = dyn FnMut(&Arc<str>, u32, &[bool]) -> Option<T> + 'q;

/// What is asked, and of whom.
pub struct Asked<'q, T> {
    /// Terms with what they weigh here, rarity included; those of no weight are only told of.
    pub terms: &'q [(&'q str, f32)],
    /// What a node must hold.
    pub need: &'q [Group],
    /// How long a node is on the average.
    pub mean: f32,
    /// So many are wanted.
    pub limit: usize,
    /// Says what may be a candidate.
    pub admit: &'q mut Admit<'q, T>,
}

/// Adds a segment's best nodes to the best found so far. With `only`, which is in order, no other nodes count.
pub fn run<'a, T>(
    segment: &'a Segment,
    dead: Option<&[u64]>,
    only: Option<&[u32]>,
    asked: &mut Asked<'_, T>,
    best: &mut BinaryHeap<Candidate<'a, T>>,
) {
    let score = Scoring::of_segment(segment, asked.mean);
    let mut lanes: Vec<Lane<'a>> = Vec::with_capacity(asked.terms.len());
    let mut lane_of: Vec<Option<usize>> = Vec::with_capacity(asked.terms.len());
    for (at, (term, weight)) in asked.terms.iter().enumerate() {
        let lane = Lane::open(&score, at, term, *weight);
        lane_of.push(lane.is_some().then_some(lanes.len()));
        lanes.extend(lane);
    }
    let Some(sieve) = Sieve::of(asked.need, &lane_of, only) else { return };
    if lanes.is_empty() || asked.limit == 0 {
        return;
    }
    let mut window = Window::new(lanes.len());
    let mut held = vec![false; asked.terms.len()];
    let nodes = segment.len() as u32;
    let mut begin = 0;
    while begin < nodes {
        let end = begin.saturating_add(WINDOW).min(nodes);
        let least = if best.len() >= asked.limit { best.peek().map_or(0.0, |worst| worst.score) } else { 0.0 };
        if window.gather(&mut lanes, &score, begin..end, least, &sieve) {
            window.score(&lanes, &score, begin, least);
            // Best first: asking who may be a candidate at all costs most.
            while let Some((score, node)) = window.next() {
                // The heap's top is its worst; whoever comes later in this window is no better.
                let full = best.len() >= asked.limit;
                if full && best.peek().is_some_and(|worst| score < worst.score) {
                    break;
                }
                if dead.is_some_and(|dead| bit(dead, node)) {
                    continue;
                }
                let Some(share) = segment.share_of(node) else { continue };
                let index = node - share.first;
                held.fill(false);
                let place = (node - begin) as usize;
                for lane in lanes.iter().filter(|lane| lane.counts[place] > 0) {
                    held[lane.term] = true;
                }
                let Some(with) = (asked.admit)(&share.file, index, &held) else { continue };
                best.push(Candidate { score, file: &share.file, index, with });
                if full {
                    best.pop();
                }
            }
            clear(&mut lanes);
        }
        begin = end;
    }
}

/// BM25 of one segment's nodes.
struct Scoring<'a> {
    segment: &'a Segment,
    /// What holds a node back, whatever its length, and for each term of its length.
    base: f32,
    slope: f32,
}

impl<'a> Scoring<'a> {
    fn of_segment(segment: &'a Segment, mean: f32) -> Self {
        let (base, slope) = (SATURATION * (1.0 - LENGTH_NORM), SATURATION * LENGTH_NORM / mean);
        Scoring { segment, base, slope }
    }

    fn of(&self, weight: f32, count: u16, length: u32) -> f32 {
        let count = f32::from(count);
        weight * count * (SATURATION + 1.0) / (count + self.base + self.slope * length as f32)
    }
}

/// One term's list.
pub(super) struct Lane<'a> {
    /// The term's place in the question.
    term: usize,
    reader: Reader<'a>,
    entry: Entry,
    weight: f32,
    blocks: Vec<Block>,
    /// What each block can be worth at most.
    bounds: Vec<f32>,
    /// The first block that does not end before the window.
    at: usize,
    /// The block that was read last, and what is in it.
    read: Option<usize>,
    nodes: Vec<Posting>,
    /// How much of the term each node of the window holds.
    counts: Box<[u16]>,
    used: bool,
    /// Whether that is known of every node of the window that is still in the race.
    complete: bool,
}

impl<'a> Lane<'a> {
    fn open(score: &Scoring<'a>, at: usize, term: &str, weight: f32) -> Option<Self> {
        let mut reader = score.segment.reader();
        let entry = reader.find(term)?;
        let mut nodes = Vec::with_capacity(BLOCK);
        let (blocks, read) = if entry.count as usize <= BLOCK {
            reader.short(entry, &mut nodes)?;
            let most = nodes.iter().map(|posting| posting.1).max()?;
            let shortest = nodes.iter().map(|posting| score.segment.length(posting.0)).min()?;
            let last = nodes.last()?.0;
            (vec![Block { last, begin: 0, bytes: entry.bytes, count: entry.count, most, shortest }], Some(0))
        } else {
            (reader.directory(entry)?, None)
        };
        let bounds = blocks.iter().map(|block| score.of(weight, block.most, block.shortest)).collect();
        let counts = vec![0; WINDOW as usize].into_boxed_slice();
        let (used, complete) = (false, false);
        Some(Lane { term: at, reader, entry, weight, blocks, bounds, at: 0, read, nodes, counts, used, complete })
    }

    /// Returns the blocks that may have nodes in a window.
    fn in_window(&mut self, window: &std::ops::Range<u32>) -> std::ops::Range<usize> {
        while self.blocks.get(self.at).is_some_and(|block| block.last < window.start) {
            self.at += 1;
        }
        let mut end = self.at;
        while end < self.blocks.len() && (end == 0 || self.blocks[end - 1].last.saturating_add(1) < window.end) {
            end += 1;
        }
        self.at..end.max(self.at)
    }

    /// Returns what a node of a window can get from this term at most.
    fn bound(&mut self, window: &std::ops::Range<u32>) -> f32 {
        let blocks = self.in_window(window);
        if blocks.len() == 1 && self.read == Some(blocks.start) && self.at_hand(window) == 0 {
            return 0.0;
        }
        self.bounds.get(blocks).unwrap_or_default().iter().copied().fold(0.0, f32::max)
    }

    /// Returns how many nodes of a window hold the term, at most.
    pub(super) fn most(&mut self, window: &std::ops::Range<u32>) -> usize {
        let blocks = self.in_window(window);
        if blocks.len() == 1 && self.read == Some(blocks.start) {
            return self.at_hand(window);
        }
        self.blocks.get(blocks).unwrap_or_default().iter().map(|block| block.count as usize).sum()
    }

    /// Returns how many nodes of the block that was read last are in a window.
    fn at_hand(&self, window: &std::ops::Range<u32>) -> usize {
        let before = |node: u32| self.nodes.partition_point(|posting| posting.0 < node);
        before(window.end).saturating_sub(before(window.start))
    }

    /// Keeps of some nodes of a window those that hold the term; false when none is left. `all` says that nobody else is
    /// in the race.
    pub(super) fn keep(&mut self, window: &std::ops::Range<u32>, nodes: &mut Bits, all: bool) -> bool {
        let standing = *nodes;
        nodes.fill(0);
        if self.complete {
            for place in places(&standing).filter(|place| self.counts[*place] > 0) {
                nodes[place / 64] |= 1 << (place % 64);
            }
        } else {
            self.visit(
                window,
                |first, last| any(&standing, first, last),
                |place, count, counts| {
                    counts[place] = count;
                    nodes[place / 64] |= standing[place / 64] & 1 << (place % 64);
                },
            );
            self.complete = all;
        }
        nodes.iter().any(|word| *word != 0)
    }

    /// Calls `visit` with the nodes of a window, counted from its begin, and with what each holds.
    /// Blocks that `wanted` does not want, by their first and last place in the window, are passed over.
    fn visit(
        &mut self,
        window: &std::ops::Range<u32>,
        wanted: impl Fn(usize, usize) -> bool,
        mut visit: impl FnMut(usize, u16, &mut [u16]),
    ) {
        self.used = true;
        for at in self.in_window(window) {
            let before = at.checked_sub(1).map_or(0, |before| self.blocks[before].last);
            let (first, last) = (before.max(window.start), self.blocks[at].last.min(window.end - 1));
            if !wanted((first - window.start) as usize, (last - window.start) as usize) {
                continue;
            }
            if self.read != Some(at) {
                self.read = Some(at);
                // A list that cannot be read ends here; its segment says that it is broken.
                if self.reader.one_block(self.entry, &self.blocks[at], before, &mut self.nodes).is_none() {
                    self.blocks.truncate(at);
                    self.bounds.truncate(at);
                    return;
                }
            }
            let begin = self.nodes.partition_point(|posting| posting.0 < window.start);
            for (node, count) in &self.nodes[begin..] {
                if *node >= window.end {
                    break;
                }
                visit((node - window.start) as usize, *count, &mut self.counts);
            }
        }
    }
}

/// The scores of a window while they are gathered.
struct Window {
    /// Sums in any order.
    sums: Box<[f32]>,
    /// Which nodes are still in the race, a bit each.
    alive: Bits,
    bounds: Vec<f32>,
    order: Vec<usize>,
    /// The nodes that are left, by the bits of their scores and then from the first on.
    left: BinaryHeap<u64>,
}

impl Window {
    fn new(lanes: usize) -> Self {
        Window {
            sums: vec![0.0; WINDOW as usize].into_boxed_slice(),
            alive: [0; WINDOW as usize / 64],
            bounds: Vec::with_capacity(lanes),
            order: Vec::with_capacity(lanes),
            left: BinaryHeap::new(),
        }
    }

    /// Finds the nodes of a window that can reach `least`; false when there are none.
    fn gather(
        &mut self,
        lanes: &mut [Lane<'_>],
        score: &Scoring<'_>,
        window: std::ops::Range<u32>,
        least: f32,
        sieve: &Sieve<'_>,
    ) -> bool {
        self.bounds.clear();
        self.bounds.extend(lanes.iter_mut().map(|lane| lane.bound(&window)));
        let rest: f32 = self.bounds.iter().sum();
        if rest <= 0.0 || rest * MARGIN < least {
            return false;
        }
        self.alive.fill(0);
        let sieved = !sieve.is_open();
        if sieved && !sieve.pass(lanes, &window, &mut self.alive) {
            clear(lanes);
            return false;
        }
        self.sums.fill(0.0);
        self.order.clear();
        self.order.extend((0..lanes.len()).filter(|at| self.bounds[*at] > 0.0));
        let bounds = &self.bounds;
        self.order.sort_by(|a, b| bounds[*b].total_cmp(&bounds[*a]).then(a.cmp(b)));
        // What the lists from each one on can be worth, summed from the smallest, so that nothing is lost in rounding.
        let mut rests: Vec<f32> = Vec::with_capacity(self.order.len());
        rests.extend(self.order.iter().rev().scan(0.0, |sum, at| {
            *sum += bounds[*at];
            Some(*sum)
        }));
        rests.reverse();
        for (at, rest) in self.order.iter().zip(rests) {
            let (lane, sums, alive) = (&mut lanes[*at], &mut self.sums, &mut self.alive);
            let weight = lane.weight;
            let length = |place: usize| score.segment.length(window.start + place as u32);
            if !sieved && (least <= 0.0 || rest * MARGIN >= least) {
                // What is in no list so far may still win by the lists from here on.
                lane.visit(
                    &window,
                    |_, _| true,
                    |place, count, counts| {
                        counts[place] = count;
                        sums[place] += score.of(weight, count, length(place));
                        alive[place / 64] |= 1 << (place % 64);
                    },
                );
                continue;
            }
            if !narrow(sums, alive, rest, least) {
                break;
            }
            if lane.complete {
                for place in places(alive).filter(|place| lane.counts[*place] > 0) {
                    sums[place] += score.of(weight, lane.counts[place], length(place));
                }
                continue;
            }
            let (standing, alive) = (*alive, alive);
            lane.visit(
                &window,
                |first, last| any(&standing, first, last),
                |place, count, counts| {
                    counts[place] = count;
                    if alive[place / 64] >> (place % 64) & 1 == 1 {
                        sums[place] += score.of(weight, count, length(place));
                    }
                },
            );
        }
        if !narrow(&self.sums, &mut self.alive, 0.0, least) {
            clear(lanes);
            return false;
        }
        let alive = &self.alive;
        for lane in lanes.iter_mut().filter(|lane| lane.weight <= 0.0 && !lane.complete) {
            lane.visit(&window, |first, last| any(alive, first, last), |place, count, counts| counts[place] = count);
        }
        true
    }

    /// Scores the nodes that are left, exactly; those that reach `least` come out by [`Window::next`].
    fn score(&mut self, lanes: &[Lane<'_>], score: &Scoring<'_>, begin: u32, least: f32) {
        let mut left = std::mem::take(&mut self.left).into_vec();
        left.clear();
        for place in places(&self.alive) {
            let node = begin + place as u32;
            let length = score.segment.length(node);
            let mut sum = 0.0;
            for lane in lanes.iter().filter(|lane| lane.used) {
                let count = lane.counts[place];
                if count > 0 {
                    sum += score.of(lane.weight, count, length);
                }
            }
            if sum >= least {
                // Of floats that are not below 0 the bits have the order of the numbers.
                left.push(u64::from(sum.to_bits()) << 32 | u64::from(!node));
            }
        }
        self.left = left.into();
    }

    /// Takes out the best node that is left, the first of equals.
    fn next(&mut self) -> Option<(f32, u32)> {
        self.left.pop().map(|key| (f32::from_bits((key >> 32) as u32), !(key as u32)))
    }
}

fn clear(lanes: &mut [Lane<'_>]) {
    for lane in lanes.iter_mut().filter(|lane| lane.used) {
        lane.counts.fill(0);
        (lane.used, lane.complete) = (false, false);
    }
}

/// Takes nodes out of the race that cannot reach `least` with `rest` more; false when none is left.
fn narrow(sums: &[f32], alive: &mut [u64], rest: f32, least: f32) -> bool {
    let mut left = 0;
    for (at, word) in alive.iter_mut().enumerate() {
        let mut bits = *word;
        while bits != 0 {
            let place = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if (sums[at * 64 + place] + rest) * MARGIN < least {
                *word &= !(1 << place);
            }
        }
        left |= *word;
    }
    left != 0
}

/// Returns whether any bit from `first` to `last` is set.
fn any(bits: &[u64], first: usize, last: usize) -> bool {
    let (from, to) = (first / 64, last / 64);
    (from..=to).any(|at| {
        let mut word = bits.get(at).copied().unwrap_or(0);
        if at == from {
            word &= u64::MAX << (first % 64);
        }
        if at == to {
            word &= u64::MAX >> (63 - last % 64);
        }
        word != 0
    })
}
