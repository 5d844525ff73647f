//! Which headings that a change had taken out a hand has put back since, and where: no place is that of two.

use crate::domain::undo::parts::{Pairs, Parts};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

/// Returns where each heading of `ours` that is not in the base, by `was`, stands in `theirs` again: below the same
/// heading first of all, and where it says the same. What `now` says to be one of the base's is none of them.
///
/// The time it takes grows with the texts, however many headings are alike.
pub(super) fn put_back(ours: &Parts<'_>, was: &Pairs, now: &Pairs, theirs: &Parts<'_>) -> Pairs {
    let of_base: HashSet<usize> = now.iter().flatten().copied().collect();
    let is_open = |at: &usize| !of_base.contains(at) && !ours.called(theirs.name(*at)).is_empty();
    let open: Vec<usize> = (1..theirs.count()).filter(is_open).collect();
    let mut again = Again { found: vec![None; ours.count()], taken: vec![false; theirs.count()] };
    if open.is_empty() {
        return again.found;
    }
    let was = |index: usize| was.get(index).copied().flatten();
    let gone: Vec<usize> = (1..ours.count()).filter(|index| was(*index).is_none()).collect();
    let mut siblings: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for index in &gone {
        siblings.entry(ours.above(*index)).or_default().push(*index);
    }
    let mut alike_below = places(&open, |at| (theirs.above(at), theirs.name(at), theirs.own(at)));
    let mut called_below = places(&open, |at| (theirs.above(at), theirs.name(at)));
    // Parents stand before their children, so they are found before them.
    for (above, siblings) in siblings {
        let place = match was(above) {
            Some(base) => now.get(base).copied().flatten(),
            None => again.place(above),
        };
        let Some(place) = place else { continue };
        again.take(&siblings, &mut alike_below, |index| (place, ours.name(index), ours.own(index)));
        again.take(&siblings, &mut called_below, |index| (place, ours.name(index)));
    }
    // One with an `ID` is the same wherever it hangs.
    again.take(&gone, &mut places(&open, |at| (theirs.name(at), theirs.own(at))), |i| (ours.name(i), ours.own(i)));
    again.take(&gone, &mut places(&open, |at| theirs.name(at)), |index| ours.name(index));
    again.found
}

/// Returns the places by a mark, the last one first.
fn places<K: Hash + Eq>(open: &[usize], mark: impl Fn(usize) -> K) -> HashMap<K, Vec<usize>> {
    let mut places = HashMap::<K, Vec<usize>>::new();
    for at in open.iter().rev() {
        places.entry(mark(*at)).or_default().push(*at);
    }
    places
}

struct Again {
    found: Pairs,
    /// Which places of theirs are one heading's already.
    taken: Vec<bool>,
}

impl Again {
    fn place(&self, index: usize) -> Option<usize> {
        self.found.get(index).copied().flatten()
    }

    /// Gives each heading that has no place yet the first open one of its mark.
    fn take<K: Hash + Eq>(&mut self, headings: &[usize], open: &mut HashMap<K, Vec<usize>>, mark: impl Fn(usize) -> K) {
        for index in headings {
            let Some(place @ None) = self.found.get_mut(*index) else { continue };
            let Some(places) = open.get_mut(&mark(*index)) else { continue };
            // What is looked at is used up, so all of this looks at each place once.
            while let Some(at) = places.pop() {
                if let Some(taken @ false) = self.taken.get_mut(at) {
                    *taken = true;
                    *place = Some(at);
                    break;
                }
            }
        }
    }
}
