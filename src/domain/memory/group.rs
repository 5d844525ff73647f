//! One hash over a long list of hashes: a tree of groups, cut where the content says.
//!
//! A change in the middle of a list touches one group a level, whatever stands before or behind it.

use crate::domain::hash::ContentHasher;
use crate::domain::id::ObjectHash;

/// The most items in one group.
pub const MAX_GROUP: usize = 256;
/// The fewest items in a group that is not the last; it makes each level at most half as long as the one below.
const MIN_GROUP: usize = 2;
/// One hash in this many ends a group.
const CUT_ONE_IN: u64 = 64;

/// Cuts a list into groups by the content of its items.
pub fn groups(items: &[ObjectHash]) -> Vec<&[ObjectHash]> {
    let mut found = Vec::with_capacity(items.len() / 32 + 1);
    let mut rest = items;
    while !rest.is_empty() {
        let (group, behind) = rest.split_at(first(rest));
        found.push(group);
        rest = behind;
    }
    found
}

/// Returns how many items the first group of a list has.
fn first(items: &[ObjectHash]) -> usize {
    let limit = items.len().min(MAX_GROUP);
    (MIN_GROUP..limit).find(|&length| ends_group(&items[length - 1])).unwrap_or(limit)
}

/// Returns the hash over a list, and hands every group with its hash to `visit`, from the bottom up.
///
/// The empty list has a hash too. Takes time in proportion to the list, and does not recurse.
pub fn root(items: &[ObjectHash], visit: &mut dyn FnMut(ObjectHash, u64, &[ObjectHash])) -> ObjectHash {
    if first(items) == items.len() {
        return named(0, items, visit);
    }
    let mut level = 0;
    let mut above = Vec::new();
    loop {
        let below: &[ObjectHash] = if level == 0 { items } else { &above };
        let next: Vec<ObjectHash> = match below {
            [] => vec![named(level, &[], visit)],
            _ => groups(below).into_iter().map(|group| named(level, group, visit)).collect(),
        };
        if next.len() == 1 {
            return next[0];
        }
        above = next;
        level += 1;
    }
}

/// Returns the hash of one group at one level.
pub fn hash(level: u64, group: &[ObjectHash]) -> ObjectHash {
    let mut hasher = ContentHasher::with_room("group", group.len() * 40);
    hasher.number(level).number(group.len() as u64);
    for item in group {
        hasher.bytes(item.as_bytes());
    }
    ObjectHash::new(hasher.finish())
}

fn named(level: u64, group: &[ObjectHash], visit: &mut dyn FnMut(ObjectHash, u64, &[ObjectHash])) -> ObjectHash {
    let name = hash(level, group);
    visit(name, level, group);
    name
}

fn ends_group(item: &ObjectHash) -> bool {
    let [a, b, c, d, e, f, g, h, ..] = *item.as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h]).is_multiple_of(CUT_ONE_IN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn items(count: u32) -> Vec<ObjectHash> {
        (0..count).map(|n| ObjectHash::new(*blake3::hash(&n.to_le_bytes()).as_bytes())).collect()
    }

    fn names(items: &[ObjectHash]) -> (ObjectHash, HashSet<ObjectHash>, usize) {
        let mut seen = HashSet::new();
        let mut largest = 0;
        let root = root(items, &mut |name, _, group| {
            seen.insert(name);
            largest = largest.max(group.len());
        });
        (root, seen, largest)
    }

    #[test]
    fn a_change_touches_few_groups() {
        let before = items(20_000);
        let mut after = before.clone();
        after.insert(7_000, ObjectHash::new([7; 32]));
        let (old_root, old, largest) = names(&before);
        let (new_root, new, _) = names(&after);
        assert_ne!(old_root, new_root);
        assert!(largest <= MAX_GROUP);
        let fresh = new.difference(&old).count();
        assert!(fresh <= 8, "{fresh} groups of {} are new", new.len());
    }

    #[test]
    fn neighbours_differ() {
        let list = items(300);
        let mut seen = HashSet::new();
        for length in 0..300 {
            assert!(seen.insert(names(&list[..length]).0), "{length}");
        }
        let mut swapped = list.clone();
        swapped.swap(3, 4);
        assert_ne!(names(&list).0, names(&swapped).0);
    }

    #[test]
    fn items_that_never_cut_still_end() {
        let list = vec![ObjectHash::new([1; 32]); 100_000];
        let (_, seen, largest) = names(&list);
        assert!(largest <= MAX_GROUP && seen.len() < 100);
        let list = vec![ObjectHash::new([0; 32]); 100_000];
        assert!(names(&list).2 >= MIN_GROUP);
    }
}
