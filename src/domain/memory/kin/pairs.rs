//! The ways in which a heading of before is found again, each over what those before it left open.

use crate::domain::memory::kin::NONE;
use crate::domain::memory::kin::side::Side;
use std::collections::{BTreeMap, HashMap};

/// Old nodes and new ones, each joined with at most one.
pub(super) struct Pairs<'a, O, N> {
    pub(super) old: &'a O,
    pub(super) new: &'a N,
    /// Old nodes by new ones.
    pub(super) from: Vec<u32>,
    /// New nodes by old ones.
    pub(super) to: Vec<u32>,
}

impl<O: Side, N: Side> Pairs<'_, O, N> {
    /// Joins two nodes when neither is joined already; what have each an `ID`, and another one, are never the same.
    pub(super) fn join(&mut self, old: usize, new: usize) -> bool {
        let (Some(to), Some(from)) = (self.to.get_mut(old), self.from.get_mut(new)) else { return false };
        if *to != NONE || *from != NONE {
            return false;
        }
        if let (Some(was), Some(is)) = (self.old.own(old), self.new.own(new))
            && was != is
        {
            return false;
        }
        (*to, *from) = (new as u32, old as u32);
        true
    }

    /// Joins two nodes whose texts are the same, when neither is joined already.
    pub(super) fn put(&mut self, old: usize, new: usize) -> bool {
        match (self.to.get_mut(old), self.from.get_mut(new)) {
            (Some(to), Some(from)) if *to == NONE && *from == NONE => {
                (*to, *from) = (new as u32, old as u32);
                true
            }
            (Some(_) | None, Some(_) | None) => false,
        }
    }

    fn is_open(&self, old: usize) -> bool {
        self.to.get(old) == Some(&NONE)
    }

    fn origin(&self, new: usize) -> Option<u32> {
        self.from.get(new).copied().filter(|old| *old != NONE)
    }

    pub(super) fn by_id(&mut self, gone: &[usize], come: &[usize]) {
        let with_id = |index: &usize| self.old.own(*index).map(|id| (id, *index));
        let known: HashMap<&str, usize> = gone.iter().rev().filter_map(with_id).collect();
        if known.is_empty() {
            return;
        }
        for index in come {
            if let Some(old) = self.new.own(*index).and_then(|id| known.get(id)) {
                self.join(*old, *index);
            }
        }
    }

    /// Joins whole subtrees below the same parent.
    pub(super) fn by_tree(&mut self, gone: &[usize], come: &[usize]) {
        let mut known: HashMap<(u32, u64), Vec<usize>> = HashMap::new();
        for index in gone.iter().rev() {
            known.entry((self.old.above(*index), self.old.tree(*index))).or_default().push(*index);
        }
        let mut done = 0;
        for index in come.iter().copied() {
            if index < done {
                continue;
            }
            let Some(above) = self.origin(self.new.above(index) as usize) else { continue };
            let Some(same) = known.get_mut(&(above, self.new.tree(index))) else { continue };
            let joined = self.origin(index).map(|old| old as usize);
            let fits = |old: &usize| joined.map_or_else(|| self.is_open(*old), |joined| joined == *old);
            let Some(at) = same.iter().rposition(fits) else { continue };
            let old = same.remove(at);
            let (end, size) = (self.new.behind(index), self.old.behind(old) - old);
            for at in 0..size.min(end - index) {
                self.join(old + at, index + at);
            }
            done = end;
        }
    }

    /// Joins what has the same mark, and is the only one on either side.
    pub(super) fn once(
        &mut self,
        gone: &[usize],
        come: &[usize],
        of_old: impl Fn(usize) -> Option<u64>,
        of_new: impl Fn(usize) -> Option<u64>,
    ) {
        // How many have it, and the last of them: old ones, and new ones.
        let mut seen: HashMap<u64, [(usize, usize); 2]> = HashMap::new();
        for index in gone.iter().copied().filter(|index| self.is_open(*index)) {
            if let Some(mark) = of_old(index) {
                let [old, _] = seen.entry(mark).or_default();
                *old = (old.0 + 1, index);
            }
        }
        for index in come.iter().copied().filter(|index| self.origin(*index).is_none()) {
            if let Some([_, new]) = of_new(index).and_then(|mark| seen.get_mut(&mark)) {
                *new = (new.0 + 1, index);
            }
        }
        for [(olds, old), (news, new)] in seen.into_values() {
            if (olds, news) == (1, 1) {
                self.join(old, new);
            }
        }
    }

    /// Joins siblings, from the top down: of the same title between the same neighbours, then of the same title, then
    /// the only ones between the same neighbours.
    pub(super) fn by_place(&mut self, gone: &[usize], come: &[usize]) {
        let mut left: HashMap<u32, Vec<usize>> = HashMap::new();
        for index in gone.iter().copied().filter(|index| self.is_open(*index)) {
            left.entry(self.old.above(index)).or_default().push(index);
        }
        let mut wanted: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for index in come.iter().copied().filter(|index| self.origin(*index).is_none()) {
            wanted.entry(self.new.above(index)).or_default().push(index);
        }
        // Parents stand before their children, so they are joined before them.
        for (parent, come) in wanted {
            let Some(gone) = self.origin(parent as usize).and_then(|old| left.get(&old)) else { continue };
            let gone: Vec<(usize, usize)> = gone.iter().copied().zip(self.left_of_old(gone, parent)).collect();
            let come: Vec<(usize, usize)> = come.iter().copied().zip(self.left_of_new(&come, parent)).collect();
            let (old, new) = (self.old, self.new);
            self.in_turn(
                &gone,
                &come,
                |(index, gap)| (*gap, old.words(*index)),
                |(index, gap)| (*gap, new.words(*index)),
            );
            self.in_turn(&gone, &come, |(index, _)| old.words(*index), |(index, _)| new.words(*index));
            self.alone(&gone, &come);
        }
    }

    /// Joins what has the same mark, the first with the first.
    fn in_turn<'k, T, K: std::hash::Hash + Eq + 'k>(
        &mut self,
        gone: &'k [T],
        come: &'k [T],
        of_old: impl Fn(&'k T) -> K,
        of_new: impl Fn(&'k T) -> K,
    ) where
        T: Place,
    {
        let mut known: HashMap<K, Vec<usize>> = HashMap::new();
        for place in gone.iter().rev().filter(|place| self.is_open(place.index())) {
            known.entry(of_old(place)).or_default().push(place.index());
        }
        for place in come {
            if self.origin(place.index()).is_none()
                && let Some(same) = known.get_mut(&of_new(place))
                && let Some(old) = same.pop()
                && !self.join(old, place.index())
            {
                same.push(old);
            }
        }
    }

    /// Joins what is the only one left between its neighbours.
    fn alone(&mut self, gone: &[(usize, usize)], come: &[(usize, usize)]) {
        let mut gaps: HashMap<usize, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for (index, gap) in gone.iter().filter(|(index, _)| self.is_open(*index)) {
            gaps.entry(*gap).or_default().0.push(*index);
        }
        for (index, gap) in come.iter().filter(|(index, _)| self.origin(*index).is_none()) {
            gaps.entry(*gap).or_default().1.push(*index);
        }
        for (gone, come) in gaps.into_values() {
            if let ([old], [new]) = (gone.as_slice(), come.as_slice()) {
                self.join(*old, *new);
            }
        }
    }

    /// Returns behind which sibling that stays each of some new siblings stands, by its new index; 0 behind none.
    fn left_of_new(&self, siblings: &[usize], parent: u32) -> Vec<usize> {
        let was = self.origin(parent as usize);
        let stays = |index: usize| self.origin(index).is_some_and(|old| Some(self.old.above(old as usize)) == was);
        left_of(self.new, siblings, |index| stays(index).then_some(index))
    }

    /// Returns the same of old siblings.
    fn left_of_old(&self, siblings: &[usize], parent: u32) -> Vec<usize> {
        let now = |index: usize| {
            self.to.get(index).copied().filter(|new| *new != NONE && self.new.above(*new as usize) == parent)
        };
        left_of(self.old, siblings, |index| now(index).map(|new| new as usize))
    }

    /// Joins what is left and has the same text, in order, first of all below the same parent.
    pub(super) fn in_order(&mut self, gone: &[usize], come: &[usize]) {
        let (old, new) = (self.old, self.new);
        let from: Vec<Option<u32>> = come.iter().map(|index| self.origin(new.above(*index) as usize)).collect();
        let come: Vec<(usize, Option<u32>)> = come.iter().copied().zip(from).collect();
        let gone: Vec<(usize, Option<u32>)> = gone.iter().map(|index| (*index, Some(old.above(*index)))).collect();
        self.in_turn(
            &gone,
            &come,
            |(index, above)| (*above, old.text(*index)),
            |(index, above)| (*above, new.text(*index)),
        );
        self.in_turn(&gone, &come, |(index, _)| old.text(*index), |(index, _)| new.text(*index));
    }
}

/// Returns for each of some siblings what `stays` says of the nearest one before it of which it says something, or 0.
fn left_of(side: &impl Side, siblings: &[usize], stays: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut found: HashMap<usize, usize> = HashMap::new();
    let mut gaps = Vec::with_capacity(siblings.len());
    for index in siblings.iter().copied() {
        let (mut at, mut passed) = (index, vec![index]);
        let gap = loop {
            let Some(before) = sibling_before(side, at) else { break 0 };
            if let Some(gap) = found.get(&before).copied().or_else(|| stays(before)) {
                break gap;
            }
            // It came from elsewhere, or has left: what stands before it counts.
            passed.push(before);
            at = before;
        };
        found.extend(passed.into_iter().map(|index| (index, gap)));
        gaps.push(gap);
    }
    gaps
}

/// A node, and something about its place.
trait Place {
    fn index(&self) -> usize;
}

impl<T> Place for (usize, T) {
    fn index(&self) -> usize {
        self.0
    }
}

/// Returns the sibling before a node: climbs from the node right before it.
fn sibling_before(side: &impl Side, index: usize) -> Option<usize> {
    let parent = side.above(index) as usize;
    let mut at = index.checked_sub(1)?;
    while at > parent {
        let above = side.above(at) as usize;
        if above == parent {
            return Some(at);
        }
        at = above;
    }
    None
}
