//! How vectors stand in their file: its head, and rows of one length. `docs/adr/0009-vectors.org` has the format.

use crate::domain::embed::{PassageKey, Vector};

/// What a file of this kind begins with, with the number of its format.
const MAGIC: &[u8; 8] = b"ppvect\x00\x01";
/// Magic, hash of the embedder's name, dimension, and the checksum of these.
pub(super) const HEAD: usize = 8 + 32 + 8 + SUM;
/// How many bytes of a hash are kept as a checksum.
const SUM: usize = 8;
/// How many bytes the key of a row has.
pub(super) const KEY: usize = size_of::<PassageKey>();

fn sum(parts: &[&[u8]]) -> [u8; SUM] {
    let mut hasher = blake3::Hasher::new();
    parts.iter().for_each(|part| {
        hasher.update(part);
    });
    let mut sum = [0; SUM];
    sum.copy_from_slice(&hasher.finalize().as_bytes()[..SUM]);
    sum
}

/// Returns how many bytes a row has.
pub(super) fn length(dimension: usize) -> usize {
    KEY + 4 * dimension + SUM
}

/// Returns the head of a file.
pub(super) fn head(name: &[u8; 32], dimension: usize) -> Vec<u8> {
    let mut head = [MAGIC.as_slice(), name, &(dimension as u64).to_le_bytes()].concat();
    head.extend(sum(&[&head]));
    head
}

/// Returns the dimension that a head speaks of; `None` when it is not one of this embedder.
pub(super) fn dimension_of(bytes: &[u8; HEAD], name: &[u8; 32]) -> Option<usize> {
    let number: [u8; 8] = bytes.get(MAGIC.len() + name.len()..)?.first_chunk().copied()?;
    let dimension = usize::try_from(u64::from_le_bytes(number)).ok()?;
    let fits = (1..=crate::domain::embed::MOST_DIMENSIONS).contains(&dimension);
    (fits && head(name, dimension) == bytes).then_some(dimension)
}

/// Returns a row as it is written.
pub(super) fn row(key: &PassageKey, vector: &Vector) -> Vec<u8> {
    let mut row = Vec::with_capacity(length(vector.dimension()));
    row.extend(key);
    vector.numbers().iter().for_each(|number| row.extend(number.to_le_bytes()));
    row.extend(sum(&[&row]));
    row
}

/// Reads a row; `None` when it is not as it was written.
pub(super) fn read_row(bytes: &[u8]) -> Option<(PassageKey, Vector)> {
    let (row, last) = bytes.split_last_chunk::<SUM>()?;
    if sum(&[row]) != *last {
        return None;
    }
    let (key, numbers) = row.split_first_chunk::<KEY>()?;
    let number = |bytes: &[u8]| Some(f32::from_le_bytes(bytes.first_chunk().copied()?));
    let numbers: Vec<f32> = numbers.chunks_exact(4).filter_map(number).collect();
    Some((*key, Vector::new(numbers).ok()?))
}
