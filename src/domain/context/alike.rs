//! What the full-text index says beside who holds which words best: which nodes hold a term at all, and which terms are
//! written nearly as another.

use crate::domain::context::holding::common;
use crate::domain::context::lexical::{Index, Place, QueryTerm};
use crate::domain::context::trigram::Pattern;

/// So many blocks of dictionaries are read for words that are written alike.
const BLOCKS_FOR_ALIKE: usize = 32;
impl Index {
    /// Returns whether each of some nodes holds a term, in their order.
    pub fn have(&self, term: &str, places: &[Place]) -> Vec<bool> {
        let mut have = vec![false; places.len()];
        for part in &self.parts {
            let number = |(at, place): (usize, &Place)| {
                let share = part.share(&place.file).filter(|share| place.index < share.count)?;
                Some((share.first + place.index, at))
            };
            let mut nodes: Vec<(u32, usize)> = places.iter().enumerate().filter_map(number).collect();
            nodes.sort_unstable();
            let mut reader = part.segment.reader();
            let Some(entry) = reader.find(term).filter(|_| !nodes.is_empty()) else { continue };
            let numbers: Vec<u32> = nodes.iter().map(|(node, _)| *node).collect();
            let held = common(&mut reader, entry, &numbers).unwrap_or_default();
            for (_, at) in nodes.iter().filter(|(node, _)| held.binary_search(node).is_ok()) {
                if let Some(have) = have.get_mut(*at) {
                    *have = true;
                }
            }
        }
        have
    }

    /// Returns at most `most` terms that are written nearly as a word, or that it is a part of, with how much they are
    /// alike as their weight, best first. Few blocks of the dictionary are read, those that promise most.
    pub fn alike(&self, word: &str, most: usize) -> Vec<QueryTerm> {
        let Some(pattern) = Pattern::of(word) else { return Vec::new() };
        let mut promising: Vec<(usize, usize, usize)> = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            let sketches = part.segment.head().sketches.iter().enumerate();
            let promise =
                |(block, sketch): (usize, &Option<_>)| Some((pattern.promise(sketch.as_deref()?)?, at, block));
            promising.extend(sketches.filter_map(promise));
        }
        promising.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
        let mut found: Vec<QueryTerm> = Vec::new();
        let (mut bytes, mut terms) = (Vec::new(), Vec::new());
        for (_, part, block) in promising.into_iter().take(BLOCKS_FOR_ALIKE) {
            let Some(part) = self.parts.get(part) else { continue };
            let Some(lead) = part.segment.head().blocks.get(block) else { continue };
            if part.segment.reader().terms(*lead, &mut bytes, &mut terms).is_none() {
                continue;
            }
            let mut begin = 0;
            for (end, _) in &terms {
                let term = bytes.get(begin..*end).and_then(|term| std::str::from_utf8(term).ok()).unwrap_or_default();
                begin = *end;
                if let Some(weight) = pattern.likeness(term)
                    && !found.iter().any(|known| known.term.as_ref() == term)
                {
                    found.push(QueryTerm { term: Box::from(term), weight });
                }
            }
        }
        found.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.term.cmp(&b.term)));
        found.truncate(most);
        found
    }
}
