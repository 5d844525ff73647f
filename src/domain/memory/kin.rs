//! Which heading of a file that was edited is which heading of the file before it.
//!
//! What both begin and end with stays where it is. Between them headings are told by their `ID`, by everything that
//! stands in them, by their own text, by their body, and by title and place among their siblings, in this order.

use crate::domain::id::ObjectHash;
use crate::domain::memory::card::{Card, fingerprint};
use crate::domain::memory::digest::Digests;
use crate::domain::memory::names::{Carried, Headings, Names};
use crate::domain::org::outline::Outline;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A node that was not there before.
pub(super) const NONE: u32 = u32::MAX;

/// The headings of a file with what tells them apart.
pub(super) trait Side: Headings {
    /// Returns what tells one own text, headline included, from another.
    fn text(&self, index: usize) -> u64;
    /// Returns what tells a node with all below it from another.
    fn tree(&self, index: usize) -> u64;
    /// Returns what tells one text below a headline from another; `None` when there is none, or it is not known.
    fn body(&self, index: usize) -> Option<u64>;
    /// Returns the index of the first node behind the subtree.
    fn behind(&self, index: usize) -> usize;
}

/// A side whose texts were hashed.
pub(super) struct Hashed<'a> {
    pub outline: &'a Outline,
    /// Each node's own text.
    pub own: &'a [ObjectHash],
    /// Each node with all below it.
    pub whole: &'a [ObjectHash],
}

/// A side that is known by its card, or is compared with one: texts count by their length and title.
pub(super) struct Sketched<'a, H> {
    headings: &'a H,
    own: Vec<u64>,
    whole: Vec<u64>,
}

impl Headings for Hashed<'_> {
    fn count(&self) -> usize {
        self.outline.count()
    }

    fn above(&self, index: usize) -> u32 {
        self.outline.above(index)
    }

    fn words(&self, index: usize) -> &str {
        self.outline.words(index)
    }

    fn own(&self, index: usize) -> Option<&str> {
        self.outline.own(index)
    }
}

impl Side for Hashed<'_> {
    fn text(&self, index: usize) -> u64 {
        self.own.get(index).map_or(0, first)
    }

    fn tree(&self, index: usize) -> u64 {
        self.whole.get(index).map_or(0, first)
    }

    fn body(&self, index: usize) -> Option<u64> {
        let body = self.outline.nodes.get(index).map(|node| self.outline.slice(&node.body).trim())?;
        (!body.is_empty()).then(|| fingerprint(body))
    }

    fn behind(&self, index: usize) -> usize {
        self.outline.after(index)
    }
}

/// Returns the beginning of a hash: whoever makes two texts share it gains a wrong name, and nothing else.
fn first(hash: &ObjectHash) -> u64 {
    hash.as_bytes().first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

impl<'a, H: Headings> Sketched<'a, H> {
    fn new(headings: &'a H, about: impl Fn(usize) -> (u16, u32)) -> Self {
        let own = |index: usize| {
            let (level, bytes) = about(index);
            mixed(fingerprint(headings.words(index)), u64::from(bytes) << 16 | u64::from(level))
        };
        let own: Vec<u64> = (0..headings.count()).map(own).collect();
        let mut whole = own.clone();
        for index in (1..whole.len()).rev() {
            let (below, above) = (whole.get(index).copied().unwrap_or(0), headings.above(index) as usize);
            if let Some(above) = whole.get_mut(above) {
                *above = mixed(*above, below);
            }
        }
        Sketched { headings, own, whole }
    }
}

impl<'a> Sketched<'a, Card> {
    /// Makes it of a card.
    pub fn of_card(card: &'a Card) -> Self {
        Sketched::new(card, |index| (card.level(index), card.own_bytes(index).len() as u32))
    }
}

impl<'a> Sketched<'a, Outline> {
    /// Makes it of an outline.
    pub fn of_outline(outline: &'a Outline) -> Self {
        Sketched::new(outline, |index| {
            outline.nodes.get(index).map_or((0, 0), |node| (node.level, node.section.end - node.begin))
        })
    }
}

impl<H: Headings> Headings for Sketched<'_, H> {
    fn count(&self) -> usize {
        self.headings.count()
    }

    fn above(&self, index: usize) -> u32 {
        self.headings.above(index)
    }

    fn words(&self, index: usize) -> &str {
        self.headings.words(index)
    }

    fn own(&self, index: usize) -> Option<&str> {
        self.headings.own(index)
    }
}

impl<H: Headings + Ends> Side for Sketched<'_, H> {
    fn text(&self, index: usize) -> u64 {
        self.own.get(index).copied().unwrap_or(0)
    }

    fn tree(&self, index: usize) -> u64 {
        self.whole.get(index).copied().unwrap_or(0)
    }

    fn body(&self, _index: usize) -> Option<u64> {
        None
    }

    fn behind(&self, index: usize) -> usize {
        self.headings.end_of(index)
    }
}

/// Where subtrees end.
pub(super) trait Ends {
    /// Returns the index of the first node behind a subtree.
    fn end_of(&self, index: usize) -> usize;
}

impl Ends for Outline {
    fn end_of(&self, index: usize) -> usize {
        self.after(index)
    }
}

impl Ends for Card {
    fn end_of(&self, index: usize) -> usize {
        self.after(index)
    }
}

impl Headings for Card {
    fn count(&self) -> usize {
        self.len()
    }

    fn above(&self, index: usize) -> u32 {
        self.parent(index).unwrap_or(0) as u32
    }

    fn words(&self, index: usize) -> &str {
        self.own_title(index)
    }

    fn own(&self, index: usize) -> Option<&str> {
        self.own_id(index)
    }
}

fn mixed(state: u64, word: u64) -> u64 {
    (state.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ state >> 29
}

/// Returns for each heading of a text the one that it is of an earlier text, told as memory tells them; the file's own
/// place counts as one, too.
pub(in crate::domain) fn followed(old: &Outline, new: &Outline) -> Vec<Option<usize>> {
    let [before, after] = [old, new].map(|outline| Digests::new(outline, None));
    let from = kin(
        &Hashed { outline: old, own: &before.own, whole: &before.whole },
        &Hashed { outline: new, own: &after.own, whole: &after.whole },
    );
    from.into_iter().map(|old| (old != NONE).then_some(old as usize)).collect()
}

/// Returns for each new node the old one that it is, or [`NONE`]; no two are the same one.
///
/// The time it takes grows with what lies between what both begin and end with, not with how it is changed.
pub(super) fn kin(old: &impl Side, new: &impl Side) -> Vec<u32> {
    let (before, after) = (old.count(), new.count());
    let same = |(old_index, new_index): &(usize, usize)| old.text(*old_index) == new.text(*new_index);
    let most = before.min(after);
    // The file is the same one, whatever stands in it.
    let head = 1 + (1..most).zip(1..most).take_while(same).count();
    let room = most.saturating_sub(head);
    let tail = (0..before).rev().zip((0..after).rev()).take(room).take_while(same).count();
    let head = head_of(old, new, head, tail);
    let mut pairs = Pairs { old, new, from: vec![NONE; after], to: vec![NONE; before] };
    for index in 0..head {
        pairs.put(index, index);
    }
    if before == after && before - head - tail <= 1 {
        // What is typed most often: one heading was touched.
        for index in head..before {
            pairs.join(index, index);
        }
        return pairs.from;
    }
    let (mut gone, mut come): (Vec<usize>, Vec<usize>) =
        ((head..before - tail).collect(), (head..after - tail).collect());
    pairs.by_id(&gone, &come);
    pairs.by_tree(&gone, &come);
    for (old, new) in (before - tail..before).zip(after - tail..after) {
        if !pairs.put(old, new) {
            // A subtree that was moved beside this one has it, or what it was.
            gone.push(old);
            come.push(new);
        }
    }
    pairs.once(&gone, &come, |index| Some(old.text(index)), |index| Some(new.text(index)));
    pairs.once(&gone, &come, |index| old.body(index), |index| new.body(index));
    pairs.by_place(&gone, &come);
    pairs.in_order(&gone, &come);
    pairs.from
}

/// Returns how many nodes at the beginning are the same ones: not a heading that begins alike only, because one that
/// says the same was put in, or taken out, in front of it.
fn head_of(old: &impl Side, new: &impl Side, head: usize, tail: usize) -> usize {
    let trees =
        |side: &dyn Fn(usize) -> (u32, u64), count: usize| (head..count - tail).map(side).collect::<HashSet<_>>();
    let gone = trees(&|index| (old.above(index), old.tree(index)), old.count());
    let come = trees(&|index| (new.above(index), new.tree(index)), new.count());
    if gone.is_empty() && come.is_empty() {
        return head;
    }
    // Only what holds the last node that is the same can have changed below.
    let holders =
        std::iter::successors(Some(head - 1), |index| Some(new.above(*index) as usize).filter(|_| *index > 0));
    let elsewhere = |index: &usize| {
        let above = new.above(*index);
        come.contains(&(above, old.tree(*index))) || gone.contains(&(above, new.tree(*index)))
    };
    holders.filter(|index| *index > 0).filter(elsewhere).min().unwrap_or(head)
}

struct Pairs<'a, O, N> {
    old: &'a O,
    new: &'a N,
    /// Old nodes by new ones.
    from: Vec<u32>,
    /// New nodes by old ones.
    to: Vec<u32>,
}

impl<O: Side, N: Side> Pairs<'_, O, N> {
    /// Joins two nodes when neither is joined already; what have each an `ID`, and another one, are never the same.
    fn join(&mut self, old: usize, new: usize) -> bool {
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
    fn put(&mut self, old: usize, new: usize) -> bool {
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

    fn by_id(&mut self, gone: &[usize], come: &[usize]) {
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
    fn by_tree(&mut self, gone: &[usize], come: &[usize]) {
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
    fn once(
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
    fn by_place(&mut self, gone: &[usize], come: &[usize]) {
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
    fn in_order(&mut self, gone: &[usize], come: &[usize]) {
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

/// Says what new nodes take over of the names of old ones.
pub(super) fn carried(old: &impl Headings, names: &Names, file: &str, new: &impl Headings, from: &[u32]) -> Carried {
    let base = file.len() + "::*".len();
    let at = |list: &[(u32, u32)], node: u32| {
        list.binary_search_by_key(&node, |(node, _)| *node).ok().and_then(|at| list.get(at).map(|(_, n)| *n))
    };
    let mut found = Carried { ids: Vec::with_capacity(from.len()), kept: Vec::new(), numbers: Vec::new() };
    // Whether the path of a node is the one that it had.
    let mut as_before: Vec<bool> = Vec::with_capacity(from.len());
    for (index, was) in from.iter().copied().enumerate() {
        let Some(id) = names.ids.get(was as usize).filter(|_| was != NONE) else {
            found.ids.push(None);
            as_before.push(index == 0);
            continue;
        };
        let above = new.above(index) as usize;
        let derived = index == 0
            || (as_before.get(above) == Some(&true)
                && from.get(above) == Some(&old.above(was as usize))
                && old.words(was as usize) == new.words(index));
        let kept = names.kept.binary_search_by_key(&was, |(node, _)| *node).ok().and_then(|at| names.kept.get(at));
        let number = at(&names.numbers, was);
        let (had, has) = (old.own(was as usize), new.own(index));
        let stays = match (had, has) {
            (None, None) => true,
            // A number is for those that stand twice only.
            (Some(had), Some(has)) => had == has && number.is_none(),
            (Some(_), None) | (None, Some(_)) => false,
        };
        found.ids.push(stays.then(|| id.clone()));
        if !stays || has.is_some() || index == 0 {
            as_before.push(index == 0 || (derived && kept.is_none()));
            continue;
        }
        as_before.push(true);
        found.numbers.extend(number.map(|number| (index as u32, number)));
        if let Some((_, path)) = kept {
            found.kept.push((index as u32, path.clone()));
        } else if !derived {
            let end = number.map_or(id.as_str().len(), |number| id.as_str().len() - format!("#{number}").len());
            let path = id.as_str().get(base..end).unwrap_or_default();
            found.kept.push((index as u32, path.into()));
        }
    }
    found
}
