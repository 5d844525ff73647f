//! How the nodes that hold a term are written: blocks of small differences, with what each block can be worth.
//!
//! A list of up to [`BLOCK`] nodes is one block. A longer one begins with a directory that says of each block where it
//! ends and the most that a node in it can score, so that a search passes over blocks that cannot matter.
//! Everything is read as if it came from a stranger: what makes no sense is `None`, never a panic.

/// So many nodes stand in one block.
pub const BLOCK: usize = 128;

/// One node that holds a term, and how much of it.
pub type Posting = (u32, u16);

/// What the directory says of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The last node in it.
    pub last: u32,
    /// Where its bytes begin, counted from the beginning of the list.
    pub begin: u32,
    /// How many bytes it has.
    pub bytes: u32,
    /// How many nodes it holds.
    pub count: u32,
    /// The greatest weight in it.
    pub most: u16,
    /// The shortest node in it, in weighted terms.
    pub shortest: u32,
}

/// Appends a number, seven bits a byte.
pub fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number and moves behind it; `None` when the bytes end or it has more than 64 bits.
#[inline]
pub fn number(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    // Nearly all numbers have one byte.
    if first < 0x80 {
        return Some(u64::from(first));
    }
    longer(first, bytes, at)
}

fn longer(first: u8, bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = u64::from(first & 0x7f);
    let mut shift = 7u32;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
        if shift > 63 {
            return None;
        }
    }
}

/// Reads a number that must fit into 32 bits.
#[inline]
pub fn small(bytes: &[u8], at: &mut usize) -> Option<u32> {
    u32::try_from(number(bytes, at)?).ok()
}

/// Appends a list; its nodes come in order, each once. `length` tells how long a node is.
pub fn write(postings: &[Posting], length: &dyn Fn(u32) -> u32, out: &mut Vec<u8>, scratch: &mut Scratch) {
    let mut before = 0;
    if postings.len() <= BLOCK {
        write_block(postings, before, out);
        return;
    }
    scratch.blocks.clear();
    scratch.directory.clear();
    for block in postings.chunks(BLOCK) {
        let begin = scratch.blocks.len();
        write_block(block, before, &mut scratch.blocks);
        let last = block.last().map_or(before, |posting| posting.0);
        push_number(&mut scratch.directory, u64::from(last - before));
        push_number(&mut scratch.directory, (scratch.blocks.len() - begin) as u64);
        let most = block.iter().map(|posting| posting.1).max().unwrap_or(0);
        let shortest = block.iter().map(|posting| length(posting.0)).min().unwrap_or(0);
        push_number(&mut scratch.directory, u64::from(most));
        push_number(&mut scratch.directory, u64::from(shortest));
        before = last;
    }
    push_number(out, scratch.directory.len() as u64);
    out.extend_from_slice(&scratch.directory);
    out.extend_from_slice(&scratch.blocks);
}

/// What `write` needs on the way, kept so that it need not be asked for anew.
#[derive(Default)]
pub struct Scratch {
    blocks: Vec<u8>,
    directory: Vec<u8>,
}

fn write_block(postings: &[Posting], mut before: u32, out: &mut Vec<u8>) {
    for (node, weight) in postings {
        // Most weights are 1: they take no byte of their own.
        push_number(out, u64::from(node - before) << 1 | u64::from(*weight != 1));
        if *weight != 1 {
            push_number(out, u64::from(*weight));
        }
        before = *node;
    }
}

/// Reads one block of `count` nodes into `into`, which is emptied before. `before` is the last node of the block before,
/// 0 for the first.
pub fn read_block(bytes: &[u8], count: u32, before: u32, into: &mut Vec<Posting>) -> Option<()> {
    into.clear();
    let (mut at, mut node) = (0, before);
    for _ in 0..count {
        let head = number(bytes, &mut at)?;
        node = node.checked_add(u32::try_from(head >> 1).ok()?)?;
        let weight = if head & 1 == 0 { 1 } else { u16::try_from(number(bytes, &mut at)?).ok()? };
        into.push((node, weight));
    }
    Some(())
}

/// Returns how many bytes at the beginning of a list of more than [`BLOCK`] nodes hold its directory, with the number
/// that says so; `head` is the list's first ten bytes, or all of it.
pub fn directory_bytes(head: &[u8]) -> Option<usize> {
    let mut at = 0;
    let bytes = usize::try_from(number(head, &mut at)?).ok()?;
    bytes.checked_add(at)
}

/// Reads the directory of a list of `count` nodes; `bytes` are as many as [`directory_bytes`] said.
pub fn read_directory(bytes: &[u8], count: u32) -> Option<Vec<Block>> {
    let mut at = 0;
    number(bytes, &mut at)?;
    let blocks = (count as usize).div_ceil(BLOCK);
    // Each entry has four bytes or more: a number of blocks that cannot be is not believed.
    if blocks > bytes.len() / 4 {
        return None;
    }
    let mut directory = Vec::with_capacity(blocks);
    let (mut last, mut begin, mut left) = (0u32, u32::try_from(bytes.len()).ok()?, count);
    while left > 0 {
        last = last.checked_add(small(bytes, &mut at)?)?;
        let size = small(bytes, &mut at)?;
        let most = u16::try_from(number(bytes, &mut at)?).ok()?;
        let shortest = small(bytes, &mut at)?;
        let here = left.min(BLOCK as u32);
        directory.push(Block { last, begin, bytes: size, count: here, most, shortest });
        begin = begin.checked_add(size)?;
        left -= here;
    }
    Some(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(list: &[u8], count: u32) -> Option<Vec<Posting>> {
        let mut found = Vec::new();
        let mut block = Vec::new();
        if count as usize <= BLOCK {
            read_block(list, count, 0, &mut block)?;
            return Some(block);
        }
        let directory = read_directory(list.get(..directory_bytes(list)?)?, count)?;
        let mut before = 0;
        for entry in directory {
            let bytes = list.get(entry.begin as usize..(entry.begin + entry.bytes) as usize)?;
            read_block(bytes, entry.count, before, &mut block)?;
            assert_eq!(block.last().map(|posting| posting.0), Some(entry.last));
            assert!(block.iter().all(|posting| posting.1 <= entry.most));
            before = entry.last;
            found.extend_from_slice(&block);
        }
        Some(found)
    }

    proptest! {
        #[test]
        fn lists_are_read_as_they_were_written(
            steps in prop::collection::vec((1u32..100_000, prop_oneof![Just(1u16), any::<u16>()]), 0..700)
        ) {
            let mut node = 0;
            let postings: Vec<Posting> = steps.iter().map(|(step, weight)| {
                node += step;
                (node, *weight)
            }).collect();
            let mut list = Vec::new();
            write(&postings, &|node| node % 100, &mut list, &mut Scratch::default());
            prop_assert_eq!(read(&list, postings.len() as u32), Some(postings));
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), count in 0u32..2_000) {
            let mut block = Vec::new();
            read_block(&bytes, count, 7, &mut block);
            if let Some(size) = directory_bytes(&bytes) && let Some(head) = bytes.get(..size) {
                read_directory(head, count);
            }
        }
    }
}
