//! What the nodes of one file are called, and which node has a name.

use crate::domain::hash::ContentHasher;
use crate::domain::id::{NodeId, ObjectHash};
use crate::domain::org::outline::{Node, Outline};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::sync::Arc;

/// A path of titles longer than this many bytes is named by its hash instead.
pub(super) const MAX_PATH: usize = 1024;
/// How long the name of such a path is, in bytes.
pub(super) const SHORT_PATH: usize = 33;

/// The names of one file's nodes. Cloning is O(1).
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// Each node's id, by index; no two are equal.
    pub ids: Arc<[NodeId]>,
    places: Arc<Places>,
}

impl Names {
    /// Names each node; see [`super::document::Document::build`].
    pub fn new(file: &Arc<str>, outline: &Outline) -> Names {
        let (ids, places) = Naming::new(file, outline).run();
        Names { ids: ids.into(), places: Arc::new(places) }
    }

    /// Returns the index of the node with a name.
    pub fn index_of(&self, id: &NodeId) -> Option<usize> {
        self.places.find(&self.ids, self.places.hash(id.as_str()), id.as_str()).map(|index| index as usize)
    }
}

/// Returns whether two outlines of one file give their nodes the same names.
pub(super) fn alike(old: &Outline, new: &Outline) -> bool {
    let own = |outline: &Outline, node: &Node| {
        // Nearly every node has no drawer.
        (!node.properties.is_empty()).then(|| own_id(outline, node).map(str::to_owned)).flatten()
    };
    old.nodes.len() == new.nodes.len()
        && old.nodes.iter().zip(&new.nodes).all(|(a, b)| {
            a.parent == b.parent
                && old.slice(&a.title) == new.slice(&b.title)
                && (a.properties == b.properties || own(old, a) == own(new, b))
        })
}

/// Returns a path with one more title; a long one is replaced by a hash, so that depth cannot make names grow.
pub(super) fn path(above: &str, title: &str) -> String {
    let path = match above {
        "" => title.to_string(),
        _ => format!("{above}/{title}"),
    };
    if path.len() <= MAX_PATH { path } else { short(&path) }
}

fn short(path: &str) -> String {
    let hash = ObjectHash::new(ContentHasher::new("path").text(path).finish()).to_hex();
    format!("~{}", hash.get(..SHORT_PATH - 1).unwrap_or(&hash))
}

fn own_id<'a>(outline: &'a Outline, node: &'a Node) -> Option<&'a str> {
    outline.property(node, "ID").map(str::trim).filter(|id| !id.is_empty())
}

/// Indices of nodes by the hash of their name: an open table that is never more than two thirds full.
#[derive(Debug)]
struct Places {
    slots: Vec<Slot>,
    /// Its keys are random, so that no file can be written to make the table slow.
    keys: RandomState,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Bits of the hash that do not choose the slot.
    tag: u32,
    /// Index of the node, or [`EMPTY`].
    index: u32,
}

const EMPTY: u32 = u32::MAX;

impl Places {
    fn new(nodes: usize) -> Places {
        let size = (nodes + nodes / 2 + 1).next_power_of_two();
        Places { slots: vec![Slot { tag: 0, index: EMPTY }; size], keys: RandomState::new() }
    }

    fn hash(&self, name: &str) -> u64 {
        let mut hasher = self.keys.build_hasher();
        hasher.write(name.as_bytes());
        hasher.finish()
    }

    fn find(&self, ids: &[NodeId], hash: u64, name: &str) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let (mut at, tag) = (hash as usize & mask, (hash >> 32) as u32);
        loop {
            let slot = self.slots.get(at)?;
            if slot.index == EMPTY {
                return None;
            }
            if slot.tag == tag && ids.get(slot.index as usize).is_some_and(|id| id.as_str() == name) {
                return Some(slot.index);
            }
            at = (at + 1) & mask;
        }
    }

    /// Puts in a name that is not there.
    fn insert(&mut self, hash: u64, index: u32) {
        let mask = self.slots.len() - 1;
        let (mut at, tag) = (hash as usize & mask, (hash >> 32) as u32);
        while let Some(slot) = self.slots.get_mut(at) {
            if slot.index == EMPTY {
                *slot = Slot { tag, index };
                return;
            }
            at = (at + 1) & mask;
        }
    }
}

/// A node whose children are named next.
struct Above {
    node: u32,
    /// Where its name by path begins in the scratch text.
    begin: usize,
    /// The hash of that name, to be gone on with: a deep path is not hashed anew for each node below it.
    hash: DefaultHasher,
}

/// Names nodes one after the other.
struct Naming<'a> {
    outline: &'a Outline,
    file: &'a Arc<str>,
    ids: Vec<NodeId>,
    places: Places,
    /// By the index of the node that has a name: the number that the next one with it gets.
    next_number: HashMap<u32, u32>,
    /// The names by path of the nodes above, one behind the other, and of the node at hand.
    scratch: String,
    /// Length of `FILE::*`.
    base: usize,
    base_hash: DefaultHasher,
    above: Vec<Above>,
    /// A name with a number behind it, before it is known to be free.
    candidate: String,
}

impl<'a> Naming<'a> {
    fn new(file: &'a Arc<str>, outline: &'a Outline) -> Self {
        let places = Places::new(outline.nodes.len());
        let scratch = format!("{file}::*");
        let mut base_hash = places.keys.build_hasher();
        base_hash.write(scratch.as_bytes());
        let above = vec![Above { node: 0, begin: 0, hash: base_hash.clone() }];
        let ids = Vec::with_capacity(outline.nodes.len());
        let base = scratch.len();
        let (next_number, candidate) = (HashMap::new(), String::new());
        Naming { outline, file, ids, places, next_number, scratch, base, base_hash, above, candidate }
    }

    fn run(mut self) -> (Vec<NodeId>, Places) {
        let outline = self.outline;
        for (index, node) in outline.nodes.iter().enumerate() {
            let own = own_id(outline, node);
            if index == 0 {
                let name = own.map_or_else(|| NodeId::new(self.file.clone()), NodeId::new);
                let mut hash = self.places.keys.build_hasher();
                hash.write(name.as_str().as_bytes());
                self.name(0, name.as_str(), hash);
                continue;
            }
            while self.above.len() > 1
                && let Some(last) = self.above.pop_if(|last| last.node != node.parent)
            {
                self.scratch.truncate(last.begin);
            }
            let has_children = outline.nodes.get(index + 1).is_some_and(|next| next.parent as usize == index);
            let index = index as u32;
            let path = (own.is_none() || has_children).then(|| self.path(outline.slice(&node.title)));
            match (own, &path) {
                (Some(own), _) => {
                    let mut hash = self.places.keys.build_hasher();
                    hash.write(own.as_bytes());
                    self.name(index, own, hash);
                }
                (None, Some((begin, hash))) => {
                    // Taken out for as long as it is read, and put back.
                    let scratch = std::mem::take(&mut self.scratch);
                    self.name(index, scratch.get(*begin..).unwrap_or_default(), hash.clone());
                    self.scratch = scratch;
                }
                (None, None) => {}
            }
            match path {
                Some((begin, hash)) if has_children => self.above.push(Above { node: index, begin, hash }),
                Some((begin, _)) => self.scratch.truncate(begin),
                None => {}
            }
        }
        (self.ids, self.places)
    }

    /// Puts `FILE::*path/of/titles` behind the scratch text; returns where it begins, and its hash.
    ///
    /// It is what [`path`] makes, without copying a path for each node.
    fn path(&mut self, title: &str) -> (usize, DefaultHasher) {
        let (above, mut hash) = match self.above.last() {
            Some(above) => (above.begin..self.scratch.len(), above.hash.clone()),
            None => (0..self.base, self.base_hash.clone()),
        };
        let begin = self.scratch.len();
        let titled = above.len() > self.base;
        self.scratch.extend_from_within(above);
        if titled {
            self.scratch.push('/');
            hash.write(b"/");
        }
        self.scratch.push_str(title);
        let path = self.scratch.get(begin + self.base..).unwrap_or_default();
        if path.len() <= MAX_PATH {
            hash.write(title.as_bytes());
            return (begin, hash);
        }
        let short = short(path);
        self.scratch.truncate(begin + self.base);
        self.scratch.push_str(&short);
        let mut hash = self.base_hash.clone();
        hash.write(short.as_bytes());
        (begin, hash)
    }

    /// Gives a name to the next node: this one, or when it is taken, this one with a number behind it.
    fn name(&mut self, index: u32, name: &str, hash: DefaultHasher) {
        let whole = hash.finish();
        let Some(taken) = self.places.find(&self.ids, whole, name) else {
            self.places.insert(whole, index);
            self.ids.push(NodeId::new(name));
            return;
        };
        let candidate = &mut self.candidate;
        candidate.clear();
        candidate.push_str(name);
        let next = self.next_number.entry(taken).or_insert(2);
        loop {
            candidate.truncate(name.len());
            // Writing to a string cannot fail.
            let _ = write!(candidate, "#{next}");
            *next += 1;
            let mut hash = hash.clone();
            hash.write(candidate.get(name.len()..).unwrap_or_default().as_bytes());
            let whole = hash.finish();
            if self.places.find(&self.ids, whole, candidate).is_none() {
                self.places.insert(whole, index);
                self.ids.push(NodeId::new(candidate.as_str()));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names are hashed in parts and looked up whole.
    #[test]
    fn a_hash_goes_on_where_it_ended() {
        let places = Places::new(4);
        let text = "/notes/file.org::*A long title/below it/漢字#17";
        for (cut, _) in text.char_indices() {
            let mut hasher = places.keys.build_hasher();
            hasher.write(&text.as_bytes()[..cut]);
            let mut hasher = hasher.clone();
            hasher.write(&text.as_bytes()[cut..]);
            assert_eq!(hasher.finish(), places.hash(text), "{cut}");
        }
    }
}
