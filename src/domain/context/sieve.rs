//! Which nodes of a window hold what a question needs: lists are intersected, the rarest first, and of the longer ones
//! only the blocks are read in which something is left.

use crate::domain::context::race::{Lane, WINDOW};
use std::ops::Range;

/// What a node must hold: of one of these rows every term, by its place in the question.
pub type Group = Vec<Vec<usize>>;

/// Nodes of a window, a bit each.
pub type Bits = [u64; WINDOW as usize / 64];

/// What lets nodes through.
pub struct Sieve<'o> {
    /// As in the question, with places of lanes.
    groups: Vec<Group>,
    /// The only nodes that count, in order.
    only: Option<&'o [u32]>,
}

impl<'o> Sieve<'o> {
    /// Makes one for a segment; `None` when nothing in it can go through. `lane_of` says which terms it has.
    pub fn of(need: &[Group], lane_of: &[Option<usize>], only: Option<&'o [u32]>) -> Option<Sieve<'o>> {
        let lane = |term: &usize| lane_of.get(*term).copied().flatten();
        let row = |row: &Vec<usize>| row.iter().map(lane).collect::<Option<Vec<usize>>>();
        let groups: Vec<Group> = need.iter().map(|group| group.iter().filter_map(row).collect()).collect();
        let possible = groups.iter().all(|group| !group.is_empty()) && only.is_none_or(|only| !only.is_empty());
        possible.then_some(Sieve { groups, only })
    }

    /// Returns whether it lets everything through.
    pub fn is_open(&self) -> bool {
        self.groups.is_empty() && self.only.is_none()
    }

    /// Finds the nodes of a window that go through; false when there are none.
    pub(super) fn pass(&self, lanes: &mut [Lane<'_>], window: &Range<u32>, alive: &mut Bits) -> bool {
        let mut order: Vec<(usize, &Group)> = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            // Nothing is read before each group may have something here.
            let most = group.iter().map(|row| row.iter().map(|at| lanes[*at].most(window)).min().unwrap_or(0)).sum();
            if most == 0 {
                return false;
            }
            order.push((most, group));
        }
        order.sort_by_key(|(most, _)| *most);
        match self.only {
            None => alive.fill(u64::MAX),
            Some(only) => {
                alive.fill(0);
                let begin = only.partition_point(|node| *node < window.start);
                for node in only.get(begin..).unwrap_or_default().iter().take_while(|node| **node < window.end) {
                    let place = (node - window.start) as usize;
                    alive[place / 64] |= 1 << (place % 64);
                }
            }
        }
        order.into_iter().all(|(_, group)| match group.as_slice() {
            [row] => keep(lanes, row, window, alive, true),
            rows => {
                let mut through: Bits = [0; WINDOW as usize / 64];
                for row in rows {
                    let mut here = *alive;
                    if keep(lanes, row, window, &mut here, false) {
                        through.iter_mut().zip(here).for_each(|(all, here)| *all |= here);
                    }
                }
                *alive = through;
                alive.iter().any(|word| *word != 0)
            }
        }) && alive.iter().any(|word| *word != 0)
    }
}

/// Keeps the nodes that hold every term of a row. `alone` says that no other row may let a node through.
fn keep(lanes: &mut [Lane<'_>], row: &[usize], window: &Range<u32>, nodes: &mut Bits, alone: bool) -> bool {
    let mut order: Vec<(usize, usize)> = row.iter().map(|at| (lanes[*at].most(window), *at)).collect();
    order.sort_unstable();
    // The first list of a row is read for all that are in the race, whatever the other rows say.
    order.into_iter().enumerate().all(|(turn, (_, at))| lanes[at].keep(window, nodes, alone || turn == 0))
}

/// Returns the places of bits.
pub fn places(bits: &Bits) -> impl Iterator<Item = usize> + '_ {
    bits.iter().enumerate().flat_map(|(at, word)| {
        let mut word = *word;
        std::iter::from_fn(move || {
            let place = (word != 0).then(|| at * 64 + word.trailing_zeros() as usize)?;
            word &= word - 1;
            Some(place)
        })
    })
}
