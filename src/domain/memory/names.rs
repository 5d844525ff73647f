//! What the nodes of one file are called: first by the path of their titles, and from then on by the key they have.

use crate::domain::hash::ContentHasher;
use crate::domain::id::{NodeId, ObjectHash};
use crate::domain::org::outline::{Node, Outline};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::sync::Arc;

/// A path of titles longer than this many bytes is named by its hash instead.
const MAX_PATH: usize = 1024;
/// How long the name of such a path is, in bytes.
const SHORT_PATH: usize = 33;

/// The names of one file's nodes. Cloning is O(1).
///
/// A node without an `ID` is called `FILE::*` and its path: that of its parent and its own title, unless it keeps
/// another one that it had before.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// Each node's id, by index; no two are equal.
    pub ids: Arc<[NodeId]>,
    /// Paths of nodes that are not what their titles say, sorted by node.
    pub kept: Arc<[Kept]>,
    /// Numbers behind ids that would stand twice, sorted by node.
    pub numbers: Arc<[(u32, u32)]>,
}

/// A node, and the path that it keeps.
pub(super) type Kept = (u32, Box<str>);

/// The headings of a file, as far as their names go; the file itself is the first.
pub(super) trait Headings {
    /// Returns how many there are.
    fn count(&self) -> usize;
    /// Returns the index of the parent; the file's is 0.
    fn above(&self, index: usize) -> u32;
    /// Returns the title as it is written; a file's counts for nothing.
    fn words(&self, index: usize) -> &str;
    /// Returns the own `ID`.
    fn own(&self, index: usize) -> Option<&str>;
}

impl Headings for Outline {
    fn count(&self) -> usize {
        self.nodes.len()
    }

    fn above(&self, index: usize) -> u32 {
        self.nodes.get(index).map_or(0, |node| node.parent)
    }

    fn words(&self, index: usize) -> &str {
        self.nodes.get(index).map_or("", |node| self.slice(&node.title))
    }

    fn own(&self, index: usize) -> Option<&str> {
        // Nearly every node has no drawer.
        let node = self.nodes.get(index).filter(|node| !node.properties.is_empty())?;
        own_id(self, node)
    }
}

/// What the nodes of a file take over of the names that they had.
pub(super) struct Carried {
    /// By node; those that have none are named anew.
    pub ids: Vec<Option<NodeId>>,
    /// As in [`Names`].
    pub kept: Vec<Kept>,
    /// As in [`Names`].
    pub numbers: Vec<(u32, u32)>,
}

impl Names {
    /// Names each node of a file that is read for the first time; see [`super::document::Document::build`].
    pub fn new(file: &Arc<str>, headings: &impl Headings) -> Names {
        let nothing = Carried { ids: vec![None; headings.count()], kept: Vec::new(), numbers: Vec::new() };
        Names::after(file, headings, nothing)
    }

    /// Names the nodes that carry no name over.
    pub fn after(file: &Arc<str>, headings: &impl Headings, carried: Carried) -> Names {
        let Carried { ids, kept, numbers } = match carried.ids.iter().all(Option::is_some) {
            true => carried,
            false => Naming::new(file, headings, carried).run(),
        };
        Names { ids: ids.into_iter().flatten().collect(), kept: kept.into(), numbers: numbers.into() }
    }

    /// Gives the nodes the names that they have by what they keep.
    pub fn given(file: &Arc<str>, headings: &impl Headings, kept: Vec<Kept>, numbers: Vec<(u32, u32)>) -> Names {
        let plain = Carried { ids: vec![None; headings.count()], kept, numbers };
        let mut naming = Naming::new(file, headings, plain);
        naming.given = true;
        let Carried { ids, kept, numbers } = naming.run();
        Names { ids: ids.into_iter().flatten().collect(), kept: kept.into(), numbers: numbers.into() }
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

    fn find(&self, ids: &[Option<NodeId>], hash: u64, name: &str) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let (mut at, tag) = (hash as usize & mask, (hash >> 32) as u32);
        let is = |id: &Option<NodeId>| id.as_ref().is_some_and(|id| id.as_str() == name);
        loop {
            let slot = self.slots.get(at)?;
            if slot.index == EMPTY {
                return None;
            }
            if slot.tag == tag && is(ids.get(slot.index as usize)?) {
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
struct Naming<'a, H> {
    headings: &'a H,
    file: &'a Arc<str>,
    carried: Carried,
    /// Whether what is carried says all, so that nothing is numbered.
    given: bool,
    /// How many of what is kept, and of the numbers, belong to nodes before the one at hand.
    seen: (usize, usize),
    /// Numbers that were given anew.
    numbered: Vec<(u32, u32)>,
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

impl<'a, H: Headings> Naming<'a, H> {
    fn new(file: &'a Arc<str>, headings: &'a H, carried: Carried) -> Self {
        let mut places = Places::new(headings.count());
        // What is carried over is taken before anything is named.
        for (index, id) in carried.ids.iter().enumerate() {
            if let Some(id) = id {
                places.insert(places.hash(id.as_str()), index as u32);
            }
        }
        let scratch = format!("{file}::*");
        let mut base_hash = places.keys.build_hasher();
        base_hash.write(scratch.as_bytes());
        let above = vec![Above { node: 0, begin: 0, hash: base_hash.clone() }];
        Naming {
            headings,
            file,
            carried,
            given: false,
            seen: (0, 0),
            numbered: Vec::new(),
            places,
            next_number: HashMap::new(),
            base: scratch.len(),
            scratch,
            base_hash,
            above,
            candidate: String::new(),
        }
    }

    fn run(mut self) -> Carried {
        let headings = self.headings;
        for index in 0..headings.count() {
            let has_name = self.carried.ids.get(index).is_some_and(Option::is_some);
            let own = headings.own(index);
            if index == 0 {
                if !has_name {
                    let name = own.map_or_else(|| NodeId::new(self.file.clone()), NodeId::new);
                    let hash = self.hasher_of(name.as_str());
                    self.name(0, name.as_str(), hash);
                }
                continue;
            }
            let parent = headings.above(index);
            while self.above.len() > 1
                && let Some(last) = self.above.pop_if(|last| last.node != parent)
            {
                self.scratch.truncate(last.begin);
            }
            let has_children = index + 1 < headings.count() && headings.above(index + 1) as usize == index;
            let index = index as u32;
            let named_by_path = !has_name && own.is_none();
            let path = (named_by_path || has_children).then(|| self.path(index));
            if let (Some(own), false) = (own, has_name) {
                let hash = self.hasher_of(own);
                self.name(index, own, hash);
            } else if let (Some((begin, hash)), true) = (&path, named_by_path) {
                // Taken out for as long as it is read, and put back.
                let scratch = std::mem::take(&mut self.scratch);
                self.name(index, scratch.get(*begin..).unwrap_or_default(), hash.clone());
                self.scratch = scratch;
            }
            match path {
                Some((begin, hash)) if has_children => self.above.push(Above { node: index, begin, hash }),
                Some((begin, _)) => self.scratch.truncate(begin),
                None => {}
            }
        }
        if !self.numbered.is_empty() {
            self.carried.numbers.append(&mut self.numbered);
            self.carried.numbers.sort_unstable();
        }
        self.carried
    }

    fn hasher_of(&self, name: &str) -> DefaultHasher {
        let mut hash = self.places.keys.build_hasher();
        hash.write(name.as_bytes());
        hash
    }

    /// Puts `FILE::*path/of/titles` behind the scratch text; returns where it begins, and its hash.
    ///
    /// It is what [`path()`] makes, without copying a path for each node.
    fn path(&mut self, index: u32) -> (usize, DefaultHasher) {
        let begin = self.scratch.len();
        while self.carried.kept.get(self.seen.0).is_some_and(|(node, _)| *node < index) {
            self.seen.0 += 1;
        }
        if let Some((_, kept)) = self.carried.kept.get(self.seen.0).filter(|(node, _)| *node == index) {
            self.scratch.extend_from_within(..self.base);
            self.scratch.push_str(kept);
            let mut hash = self.base_hash.clone();
            hash.write(kept.as_bytes());
            return (begin, hash);
        }
        let title = self.headings.words(index as usize);
        let (above, mut hash) = match self.above.last() {
            Some(above) => (above.begin..begin, above.hash.clone()),
            None => (0..self.base, self.base_hash.clone()),
        };
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

    /// Names a node: so, or when that is taken, with a number behind it.
    fn name(&mut self, index: u32, name: &str, hash: DefaultHasher) {
        if self.given {
            self.name_as_given(index, name);
            return;
        }
        let whole = hash.finish();
        let Some(taken) = self.places.find(&self.carried.ids, whole, name) else {
            self.take(index, whole, NodeId::new(name));
            return;
        };
        let mut candidate = std::mem::take(&mut self.candidate);
        candidate.clear();
        candidate.push_str(name);
        let mut next = self.next_number.get(&taken).copied().unwrap_or(2);
        loop {
            candidate.truncate(name.len());
            // Writing to a string cannot fail.
            let _ = write!(candidate, "#{next}");
            let mut hash = hash.clone();
            hash.write(candidate.get(name.len()..).unwrap_or_default().as_bytes());
            let whole = hash.finish();
            if self.places.find(&self.carried.ids, whole, &candidate).is_none() {
                self.take(index, whole, NodeId::new(candidate.as_str()));
                self.numbered.push((index, next));
                self.next_number.insert(taken, next + 1);
                self.candidate = candidate;
                return;
            }
            next += 1;
        }
    }

    fn take(&mut self, index: u32, hash: u64, id: NodeId) {
        self.places.insert(hash, index);
        if let Some(slot) = self.carried.ids.get_mut(index as usize) {
            *slot = Some(id);
        }
    }

    fn name_as_given(&mut self, index: u32, name: &str) {
        while self.carried.numbers.get(self.seen.1).is_some_and(|(node, _)| *node < index) {
            self.seen.1 += 1;
        }
        let number = self.carried.numbers.get(self.seen.1).filter(|(node, _)| *node == index);
        let id = number.map_or_else(|| NodeId::new(name), |(_, number)| NodeId::new(format!("{name}#{number}")));
        if let Some(slot) = self.carried.ids.get_mut(index as usize) {
            *slot = Some(id);
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
