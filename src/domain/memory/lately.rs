//! What was changed lately: by this session, on whatever day, and by anybody else on one day.

use crate::domain::id::NodeId;
use jiff::civil::Date;
use std::cmp::Reverse;
use std::collections::{HashSet, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

/// How many are remembered in their order.
pub const KEPT: usize = 50;

/// The nodes that were changed lately.
#[derive(Clone, Debug)]
pub struct Lately<Id = NodeId> {
    /// The last ones that this session changed, latest first, each with its moment.
    session: VecDeque<(u64, Id)>,
    /// The last ones that others changed on `day`.
    others: VecDeque<(u64, Id)>,
    day: Date,
    /// How many changes there were: the moment of the last one.
    changes: u64,
    /// All that this session changed.
    all: Arc<HashSet<Id>>,
    /// How often that was another set.
    moves: u64,
}

impl<Id> Default for Lately<Id> {
    fn default() -> Self {
        let (session, others, day, changes, all, moves) = Default::default();
        Lately { session, others, day, changes, all, moves }
    }
}

impl<Id: Clone + Eq + Hash> Lately<Id> {
    /// Notes what this session changed at once, the last one last.
    pub fn changed_here(&mut self, nodes: &[Id]) {
        if nodes.is_empty() {
            return;
        }
        self.changes = self.changes.saturating_add(1);
        push(&mut self.session, self.changes, nodes);
        Arc::make_mut(&mut self.all).extend(nodes.iter().cloned());
        self.moves = self.moves.saturating_add(1);
    }

    /// Notes what somebody else changed at once on a day, the last one last.
    pub fn changed_elsewhere(&mut self, nodes: &[Id], day: Date) {
        self.turn_to(day);
        self.changes = self.changes.saturating_add(1);
        push(&mut self.others, self.changes, nodes);
    }

    /// Takes what was changed on a day before all that is known, latest first.
    pub fn recall(&mut self, nodes: Vec<Id>, day: Date) {
        self.turn_to(day);
        let mut known: HashSet<Id> = self.others.iter().map(|(_, id)| id.clone()).collect();
        let before = nodes.into_iter().filter(|id| known.insert(id.clone()));
        let room = KEPT.saturating_sub(self.others.len());
        self.others.extend(before.take(room).map(|id| (0, id)));
    }

    /// Returns what was changed by this session, or by anybody on this day, latest first; at most [`KEPT`].
    pub fn latest(&mut self, day: Date) -> Vec<Id> {
        self.turn_to(day);
        let mut all: Vec<&(u64, Id)> = self.session.iter().chain(&self.others).collect();
        all.sort_by_key(|(at, _)| Reverse(*at));
        let mut seen = HashSet::new();
        let latest = all.into_iter().map(|(_, id)| id).filter(|id| seen.insert(*id));
        latest.take(KEPT).cloned().collect()
    }

    /// Returns all that this session changed. Cloning it is O(1).
    pub fn of_session(&self) -> Arc<HashSet<Id>> {
        self.all.clone()
    }

    /// Returns a number that another set of what this session changed has another one of.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Lets nodes follow their files to new names.
    pub fn follow(&mut self, renamed: impl Fn(&Id) -> Option<Id>) {
        for (_, id) in self.session.iter_mut().chain(&mut self.others) {
            if let Some(now) = renamed(id) {
                *id = now;
            }
        }
        self.all = Arc::new(self.all.iter().map(|id| renamed(id).unwrap_or_else(|| id.clone())).collect());
        self.moves = self.moves.saturating_add(1);
    }

    /// Lets go of what others changed on another day.
    fn turn_to(&mut self, day: Date) {
        if self.day != day {
            (self.day, self.others) = (day, VecDeque::new());
        }
    }
}

/// Puts the last of some nodes before the others. Only so many as are kept are looked at.
fn push<Id: Clone + Eq>(list: &mut VecDeque<(u64, Id)>, at: u64, nodes: &[Id]) {
    let nodes = nodes.get(nodes.len().saturating_sub(KEPT)..).unwrap_or_default();
    list.retain(|(_, known)| !nodes.contains(known));
    for node in nodes {
        list.push_front((at, node.clone()));
    }
    list.truncate(KEPT);
}
