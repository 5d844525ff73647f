//! Finds the nearest of many vectors: all of them in one byte a number, then the few that can be best exactly.
//!
//! Each row knows how far it is from the vector that it stands for, so a bound holds for what the bytes say: whatever can
//! be among the best is compared exactly, and the answer is that of comparing all of them exactly.

use crate::domain::embed::Vector;
use crate::domain::embed::vector::dot;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// So many rows lie in one piece of memory: growing copies none of them.
const BLOCK: usize = 4096;
/// The largest number of a row.
const LARGEST: f32 = 127.0;
/// The largest number of a question; finer than a row, and small enough that no sum overflows.
const FINEST: f32 = 1023.0;
/// What sums of floats may be off by.
const SLACK: f32 = 1e-5;
/// At most so many rows are compared exactly. More can be as good only where thousands of texts mean the same.
const MOST_EXACT: usize = 4096;

/// Vectors of one dimension, by number.
#[derive(Clone, Debug)]
pub struct Flat {
    dimension: usize,
    blocks: Vec<Vec<i8>>,
    marks: Vec<Mark>,
}

/// What a row's bytes mean.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// What one step of a byte is; 0 for a row that stands for nothing.
    step: f32,
    /// How far the bytes are from the vector.
    off: f32,
}

/// A vector that is near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// Its number.
    pub row: u32,
    /// The cosine, from -1 to 1.
    pub cosine: f32,
}

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// At most so many.
    pub most: usize,
    /// None with a smaller cosine.
    pub least: f32,
}

impl Flat {
    /// Makes room for vectors of a dimension.
    pub fn new(dimension: usize) -> Flat {
        Flat { dimension, blocks: Vec::new(), marks: Vec::new() }
    }

    /// Returns how many numbers a vector has.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns how many rows there are, also those that stand for nothing.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns how many bytes it takes.
    pub fn heap_bytes(&self) -> usize {
        self.blocks.iter().map(Vec::capacity).sum::<usize>() + self.marks.capacity() * size_of::<Mark>()
    }

    /// Adds a row; `None`, or a vector of another dimension, makes one that is never found. Returns its number.
    pub fn push(&mut self, vector: Option<&Vector>) -> u32 {
        if self.marks.len().is_multiple_of(BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK * self.dimension));
        }
        let (bytes, mark) = self.bytes(vector);
        if let Some(block) = self.blocks.last_mut() {
            block.extend_from_slice(&bytes);
        }
        self.marks.push(mark);
        (self.marks.len() - 1) as u32
    }

    /// Lets a row stand for another vector; one of another dimension makes it one that is never found.
    pub fn set(&mut self, row: u32, vector: &Vector) {
        let (bytes, new) = self.bytes(Some(vector));
        let (block, at) = (row as usize / BLOCK, row as usize % BLOCK * self.dimension);
        let place = self.blocks.get_mut(block).and_then(|block| block.get_mut(at..at + self.dimension));
        if let (Some(place), Some(mark)) = (place, self.marks.get_mut(row as usize)) {
            place.copy_from_slice(&bytes);
            *mark = new;
        }
    }

    /// Takes the last row away.
    pub fn pop(&mut self) {
        if self.marks.pop().is_none() {
            return;
        }
        if let Some(block) = self.blocks.last_mut() {
            block.truncate(block.len().saturating_sub(self.dimension));
        }
        if self.marks.len().is_multiple_of(BLOCK) {
            self.blocks.pop();
        }
    }

    fn bytes(&self, vector: Option<&Vector>) -> (Vec<i8>, Mark) {
        let numbers = vector.map(Vector::numbers).filter(|numbers| numbers.len() == self.dimension);
        match numbers {
            Some(numbers) => {
                let (steps, step, off) = coarse(numbers, LARGEST);
                (steps.into_iter().map(|step| step as i8).collect(), Mark { step, off })
            }
            None => (vec![0; self.dimension], Mark { step: 0.0, off: 0.0 }),
        }
    }

    /// Returns the rows nearest to a question, nearest first; of two as near, the one with the smaller number.
    ///
    /// `admit` says which rows count, and `exact` gives the vector of a row; without one, or with one of another
    /// dimension, the row is left out.
    pub fn search(
        &self,
        question: &Vector,
        wanted: Wanted,
        admit: &dyn Fn(u32) -> bool,
        exact: &dyn Fn(u32) -> Option<Vector>,
    ) -> Vec<Near> {
        if question.dimension() != self.dimension || wanted.most == 0 {
            return Vec::new();
        }
        let hopeful = self.hopeful(question, wanted, admit);
        let near = hopeful.into_iter().filter_map(|row| {
            let vector = exact(row).filter(|vector| vector.dimension() == self.dimension)?;
            let cosine = dot(question.numbers(), vector.numbers());
            (cosine >= wanted.least).then_some(Near { row, cosine })
        });
        let mut near: Vec<Near> = near.collect();
        near.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then_with(|| a.row.cmp(&b.row)));
        near.truncate(wanted.most);
        near
    }

    /// Returns the rows that can be among the wanted ones.
    fn hopeful(&self, question: &Vector, wanted: Wanted, admit: &dyn Fn(u32) -> bool) -> Vec<u32> {
        let (steps, step, off) = coarse(question.numbers(), FINEST);
        let steps: Vec<i16> = steps.into_iter().map(|step| step as i16).collect();
        // Both are of length 1, so what they are off by bounds what their product is off by.
        let reach = |mark: &Mark| off + (1.0 + off) * mark.off + SLACK;
        let mut best: BinaryHeap<Reverse<Ranked>> = BinaryHeap::with_capacity(wanted.most + 1);
        let mut found: Vec<Ranked> = Vec::new();
        let rows = self.blocks.iter().flat_map(|block| block.chunks_exact(self.dimension.max(1)));
        for ((row, bytes), mark) in (0u32..).zip(rows).zip(&self.marks) {
            let about = product(&steps, bytes) as f32 * step * mark.step;
            let (least, most) = (about - reach(mark), about + reach(mark));
            if most < wanted.least || mark.step == 0.0 {
                continue;
            }
            // What is worse than the worst of enough others is not even asked about.
            let full = best.len() >= wanted.most;
            if (full && best.peek().is_some_and(|Reverse(worst)| most < worst.by)) || !admit(row) {
                continue;
            }
            found.push(Ranked { by: most, row });
            best.push(Reverse(Ranked { by: least, row }));
            if full {
                best.pop();
            }
        }
        let full = best.len() >= wanted.most;
        let worst = best.peek().filter(|_| full).map_or(f32::NEG_INFINITY, |Reverse(worst)| worst.by);
        found.retain(|ranked| ranked.by >= worst);
        if found.len() > MOST_EXACT {
            found.select_nth_unstable_by(MOST_EXACT, |a, b| b.cmp(a));
            found.truncate(MOST_EXACT);
        }
        found.into_iter().map(|ranked| ranked.row).collect()
    }
}

/// A row by a cosine; the better is the greater.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    by: f32,
    row: u32,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.by.total_cmp(&other.by).then_with(|| other.row.cmp(&self.row))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

/// Returns numbers in steps, of which the largest is so many; what a step is, and how far they are from what they were.
fn coarse(numbers: &[f32], most: f32) -> (Vec<f32>, f32, f32) {
    let largest = numbers.iter().fold(0f32, |largest, number| largest.max(number.abs()));
    // Numbers this small are as good as none, and would divide by nothing.
    let step = (largest / most).max(f32::MIN_POSITIVE);
    let steps: Vec<f32> = numbers.iter().map(|number| (number / step).round()).collect();
    let off = numbers.iter().zip(&steps).map(|(number, steps)| (number - steps * step).powi(2)).sum::<f32>().sqrt();
    (steps, step, off)
}

/// Returns the sum of products. No sum of [`super::vector::MOST_DIMENSIONS`] products of such numbers overflows.
fn product(steps: &[i16], bytes: &[i8]) -> i32 {
    steps.iter().zip(bytes).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers that look random and are the same each time.
    fn random(seed: &mut u64) -> f32 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    fn vectors(count: usize, dimension: usize, seed: u64) -> Vec<Vector> {
        let mut seed = seed;
        let one = |_| Vector::new((0..dimension).map(|_| random(&mut seed)).collect()).expect("it points somewhere");
        (0..count).map(one).collect()
    }

    fn flat(vectors: &[Vector], dimension: usize) -> Flat {
        let mut flat = Flat::new(dimension);
        vectors.iter().for_each(|vector| {
            flat.push(Some(vector));
        });
        flat
    }

    /// What comparing all of them exactly comes to.
    fn plainly(vectors: &[Vector], question: &Vector, wanted: Wanted, admit: &dyn Fn(u32) -> bool) -> Vec<Near> {
        let rows = (0u32..).zip(vectors).filter(|(row, _)| admit(*row));
        let near = rows.map(|(row, vector)| Near { row, cosine: dot(question.numbers(), vector.numbers()) });
        let mut near: Vec<Near> = near.filter(|near| near.cosine >= wanted.least).collect();
        near.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then_with(|| a.row.cmp(&b.row)));
        near.truncate(wanted.most);
        near
    }

    #[test]
    fn the_ten_best_are_those_of_comparing_all_exactly() {
        for (dimension, count) in [(384, 6_000), (768, 3_000), (7, 9_000)] {
            let vectors = vectors(count, dimension, dimension as u64);
            let flat = flat(&vectors, dimension);
            for question in vectors.iter().step_by(count / 20) {
                let wanted = Wanted { most: 10, least: -1.0 };
                let exact = |row: u32| vectors.get(row as usize).cloned();
                let found = flat.search(question, wanted, &|_| true, &exact);
                assert_eq!(found, plainly(&vectors, question, wanted, &|_| true), "{dimension}");
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_counts_the_nearest_are_found(
            seed in any::<u64>(),
            dimension in 1usize..40,
            count in 0usize..200,
            most in 0usize..20,
            least in -1.0f32..1.0,
            part in 1u32..4,
        ) {
            let (vectors, question) = (vectors(count, dimension, seed), &vectors(1, dimension, !seed)[0]);
            let (wanted, admit) = (Wanted { most, least }, |row: u32| row.is_multiple_of(part));
            let found = flat(&vectors, dimension).search(question, wanted, &admit, &|row| vectors.get(row as usize).cloned());
            prop_assert_eq!(found, plainly(&vectors, question, wanted, &admit));
        }
    }

    #[test]
    fn what_stands_for_nothing_is_never_found() {
        let vectors = vectors(3, 4, 1);
        let mut flat = Flat::new(4);
        flat.push(Some(&vectors[0]));
        flat.push(None);
        flat.push(Some(&Vector::new(vec![1.0]).expect("a direction")));
        let wanted = Wanted { most: 10, least: -1.0 };
        let found = |question: &Vector, exact: &dyn Fn(u32) -> Option<Vector>| {
            let found = flat.search(question, wanted, &|_| true, exact);
            found.iter().map(|near| near.row).collect::<Vec<_>>()
        };
        let all = |row: u32| vectors.get(row as usize).cloned();
        assert_eq!((flat.len(), found(&vectors[0], &all)), (3, vec![0]));
        assert_eq!(found(&vectors[0], &|_| None), [0u32; 0], "a row that cannot be read is left out");
        assert_eq!(found(&Vector::new(vec![1.0]).expect("a direction"), &all), [0u32; 0], "of another dimension");
    }
}
