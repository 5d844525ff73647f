//! Which heading of a file that was edited is which heading of the file before it.
//!
//! What both begin and end with stays where it is. Between them headings are told by their `ID`, by everything that
//! stands in them, by their own text, by their body, and by title and place among their siblings, in this order.

mod pairs;
mod side;

pub(super) use side::{Hashed, Sketched};

use crate::domain::memory::digest::Digests;
use crate::domain::memory::kin::pairs::Pairs;
use crate::domain::memory::kin::side::Side;
use crate::domain::memory::names::{Carried, Headings, Names};
use crate::domain::org::outline::Outline;
use std::collections::HashSet;

/// A node that was not there before.
pub(super) const NONE: u32 = u32::MAX;

/// Returns for each heading of a text the one that it is of an earlier text, told as memory tells them; the file's own
/// place counts as one, too.
pub(crate) fn followed(old: &Outline, new: &Outline) -> Vec<Option<usize>> {
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
