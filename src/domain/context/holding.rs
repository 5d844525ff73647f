//! Nodes that hold every one of some terms, whatever that is worth.

use crate::domain::context::postings::BLOCK;
use crate::domain::context::segment::{Entry, Reader, Segment};
use std::sync::Arc;

/// Nodes that hold what was asked for, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Holding {
    /// Segments, and of each the nodes that live, in order.
    parts: Vec<(Arc<Segment>, Vec<u32>)>,
}

impl Holding {
    /// Gathers nodes by their segments, in order.
    pub(super) fn of(mut parts: Vec<(Arc<Segment>, Vec<u32>)>) -> Holding {
        parts.retain(|(_, nodes)| !nodes.is_empty());
        Holding { parts }
    }

    /// Returns whether a node is among them.
    pub fn has(&self, file: &str, index: u32) -> bool {
        self.parts.iter().any(|(segment, nodes)| {
            let share = segment.share(file).filter(|share| index < share.count);
            share.is_some_and(|share| nodes.binary_search(&(share.first + index)).is_ok())
        })
    }

    /// Returns every one, by its file and its place there, in the order of files and lines.
    pub fn places(&self) -> impl Iterator<Item = (&Arc<str>, u32)> + '_ {
        let mut documents: Vec<(&Arc<str>, u32, &[u32])> = Vec::new();
        for (segment, nodes) in &self.parts {
            let mut rest = nodes.as_slice();
            while let Some(share) = rest.first().and_then(|node| segment.share_of(*node)) {
                let (here, behind) = rest.split_at(rest.partition_point(|node| *node < share.first + share.count));
                documents.push((&share.file, share.first, here));
                rest = behind;
            }
        }
        documents.sort_unstable_by_key(|(file, _, _)| *file);
        documents.into_iter().flat_map(|(file, first, nodes)| nodes.iter().map(move |node| (file, node - first)))
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|(_, nodes)| nodes.len()).sum()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

/// Returns those of some nodes, in order, that a list has. Blocks in which none of them can be are not read.
pub(super) fn common(reader: &mut Reader<'_>, entry: Entry, nodes: &[u32]) -> Option<Vec<u32>> {
    let (mut block, mut left) = (Vec::with_capacity(BLOCK), Vec::with_capacity(nodes.len()));
    let has = |block: &[(u32, u16)], node: &u32| block.binary_search_by_key(node, |posting| posting.0).is_ok();
    if entry.count as usize <= BLOCK {
        reader.short(entry, &mut block)?;
        left.extend(nodes.iter().filter(|node| has(&block, node)));
        return Some(left);
    }
    let (mut before, mut rest) = (0, nodes);
    for part in reader.directory(entry)? {
        let (here, behind) = rest.split_at(rest.partition_point(|node| *node <= part.last));
        if !here.is_empty() {
            reader.one_block(entry, &part, before, &mut block)?;
            left.extend(here.iter().filter(|node| has(&block, node)));
        }
        (before, rest) = (part.last, behind);
    }
    Some(left)
}
