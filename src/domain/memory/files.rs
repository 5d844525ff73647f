//! The root over all files: a persistent trie by the hash of the file's name.
//!
//! Its shape depends on the set of names alone, never on the order in which they came.
//! One change makes as many new branches as the trie is deep: about five among a million files.

use crate::domain::hash::ContentHasher;
use crate::domain::id::ObjectHash;
use std::sync::{Arc, OnceLock};

/// The kind under which a branch is hashed.
pub const BRANCH_KIND: &str = "files";

/// All files with the hash of each. Cloning is O(1).
#[derive(Clone, Default)]
pub struct FileTree(Arc<Branch>);

/// One branch: up to sixteen entries by the next four bits of the name's hash.
#[derive(Clone, Default)]
pub struct Branch {
    entries: Vec<(u8, Entry)>,
    /// Computed when first asked for, so that many changes in a row cost one hashing.
    hash: OnceLock<ObjectHash>,
}

#[derive(Clone)]
enum Entry {
    File(File),
    Branch(Arc<Branch>),
}

#[derive(Clone)]
struct File {
    key: [u8; 32],
    name: Arc<str>,
    document: ObjectHash,
}

/// One entry of a branch as it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredEntry {
    /// A file and its document's hash.
    File(Arc<str>, ObjectHash),
    /// A branch below.
    Branch(ObjectHash),
}

impl FileTree {
    /// Returns the hash over all files.
    pub fn root(&self) -> ObjectHash {
        self.0.hash()
    }

    /// Puts a file in, or gives it another hash.
    pub fn insert(&mut self, name: &Arc<str>, document: ObjectHash) {
        let file = File { key: key(name), name: name.clone(), document };
        Arc::make_mut(&mut self.0).insert(file, 0);
    }

    /// Takes a file out.
    pub fn remove(&mut self, name: &str) {
        Arc::make_mut(&mut self.0).remove(&key(name), 0);
    }

    /// Returns the files that may differ from those of another tree; nothing when there are more than `most`.
    pub fn differing(&self, other: &FileTree, most: usize) -> Option<Vec<Arc<str>>> {
        let mut found: Vec<Arc<str>> = Vec::new();
        let mut branches = vec![(Some(&self.0), Some(&other.0))];
        while let Some((one, other)) = branches.pop() {
            if one.map(|branch| branch.hash()) == other.map(|branch| branch.hash()) {
                continue;
            }
            for slot in 0..16 {
                let [one, other] = [one, other].map(|branch| branch.and_then(|branch| branch.at(slot)));
                if let (Some(Entry::File(one)), Some(Entry::File(other))) = (one, other)
                    && one.key == other.key
                    && one.document == other.document
                {
                    continue;
                }
                let below = [one, other].map(|entry| match entry {
                    Some(Entry::Branch(below)) => Some(below),
                    Some(Entry::File(file)) => {
                        found.push(file.name.clone());
                        None
                    }
                    None => None,
                });
                if let [None, None] = below {
                    continue;
                }
                branches.push((below[0], below[1]));
            }
            if found.len() > most.saturating_mul(2) {
                return None;
            }
        }
        found.sort_unstable();
        found.dedup();
        (found.len() <= most).then_some(found)
    }

    /// Visits every branch that is not also part of `before`, those below first.
    pub fn new_branches(&self, before: Option<&FileTree>, visit: &mut dyn FnMut(&Branch)) {
        walk(&self.0, before.map(|before| &before.0), visit);
    }
}

/// Bounded by the length of a key: 64 steps.
fn walk(branch: &Arc<Branch>, before: Option<&Arc<Branch>>, visit: &mut dyn FnMut(&Branch)) {
    if before.is_some_and(|before| Arc::ptr_eq(before, branch) || before.hash() == branch.hash()) {
        return;
    }
    for (slot, entry) in &branch.entries {
        if let Entry::Branch(below) = entry {
            let old = before.and_then(|before| before.at(*slot)).and_then(|entry| match entry {
                Entry::Branch(old) => Some(old),
                Entry::File(_) => None,
            });
            walk(below, old, visit);
        }
    }
    visit(branch);
}

impl Branch {
    /// Returns the hash of the branch and all below it.
    pub fn hash(&self) -> ObjectHash {
        *self.hash.get_or_init(|| name_of(&self.encode()))
    }

    /// Returns the bytes that are stored and hashed.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![1, self.entries.len() as u8];
        for (slot, entry) in &self.entries {
            bytes.push(*slot);
            match entry {
                Entry::File(file) => {
                    bytes.push(0);
                    bytes.extend_from_slice(&(file.name.len() as u32).to_le_bytes());
                    bytes.extend_from_slice(file.name.as_bytes());
                    bytes.extend_from_slice(file.document.as_bytes());
                }
                Entry::Branch(below) => {
                    bytes.push(1);
                    bytes.extend_from_slice(below.hash().as_bytes());
                }
            }
        }
        bytes
    }

    /// Returns the files that stand in this branch itself, with their documents' hashes.
    pub fn files(&self) -> impl Iterator<Item = (&Arc<str>, ObjectHash)> {
        self.entries.iter().filter_map(|(_, entry)| match entry {
            Entry::File(file) => Some((&file.name, file.document)),
            Entry::Branch(_) => None,
        })
    }

    fn at(&self, slot: u8) -> Option<&Entry> {
        self.entries.iter().find(|(s, _)| *s == slot).map(|(_, entry)| entry)
    }

    fn insert(&mut self, file: File, depth: usize) {
        self.hash = OnceLock::new();
        let slot = slot(&file.key, depth);
        let place = self.entries.partition_point(|(s, _)| *s < slot);
        match self.entries.get_mut(place).filter(|(s, _)| *s == slot) {
            None => self.entries.insert(place, (slot, Entry::File(file))),
            Some((_, Entry::Branch(below))) => Arc::make_mut(below).insert(file, depth + 1),
            Some((_, entry @ Entry::File(_))) => {
                if let Entry::File(old) = entry
                    && old.key != file.key
                {
                    let mut below = Branch::default();
                    below.insert(old.clone(), depth + 1);
                    below.insert(file, depth + 1);
                    *entry = Entry::Branch(Arc::new(below));
                } else {
                    *entry = Entry::File(file);
                }
            }
        }
    }

    fn remove(&mut self, key: &[u8; 32], depth: usize) {
        self.hash = OnceLock::new();
        let slot = slot(key, depth);
        let Some(place) = self.entries.iter().position(|(s, _)| *s == slot) else { return };
        match &mut self.entries[place].1 {
            Entry::File(file) if file.key == *key => {
                self.entries.remove(place);
            }
            Entry::File(_) => {}
            entry @ Entry::Branch(_) => {
                let Entry::Branch(below) = entry else { return };
                Arc::make_mut(below).remove(key, depth + 1);
                // A branch with one file left folds into it: the shape tells nothing of the past.
                if let [(_, Entry::File(last))] = below.entries.as_slice() {
                    *entry = Entry::File(last.clone());
                }
            }
        }
    }
}

/// Returns the name of a stored branch.
pub fn name_of(bytes: &[u8]) -> ObjectHash {
    ObjectHash::new(ContentHasher::new(BRANCH_KIND).bytes(bytes).finish())
}

/// Reads a stored branch; `None` when the bytes are anything else.
pub fn decode(bytes: &[u8]) -> Option<Vec<StoredEntry>> {
    decode_slots(bytes).map(|entries| entries.into_iter().map(|(_, entry)| entry).collect())
}

/// Returns the slot of a file in the branch that stands at a depth, 0 for the root.
pub fn slot_of(name: &str, depth: usize) -> u8 {
    slot(&key(name), depth)
}

/// Does what [`decode`] does, and says the slot of each entry.
pub fn decode_slots(bytes: &[u8]) -> Option<Vec<(u8, StoredEntry)>> {
    let (head, mut rest) = bytes.split_at_checked(2)?;
    let count = match head {
        [1, count] => *count,
        _ => return None,
    };
    let mut entries = Vec::with_capacity(count.into());
    for _ in 0..count {
        let (head, behind) = rest.split_at_checked(2)?;
        rest = behind;
        let slot = head.first().copied()?;
        let name = match head {
            [_, 0] => {
                let (length, behind) = rest.split_first_chunk::<4>()?;
                let (name, behind) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                rest = behind;
                Some(std::str::from_utf8(name).ok()?)
            }
            [_, 1] => None,
            _ => return None,
        };
        let (hash, behind) = rest.split_first_chunk::<32>()?;
        rest = behind;
        let hash = ObjectHash::new(*hash);
        entries.push((slot, name.map_or(StoredEntry::Branch(hash), |name| StoredEntry::File(name.into(), hash))));
    }
    rest.is_empty().then_some(entries)
}

fn key(name: &str) -> [u8; 32] {
    ContentHasher::new("file name").text(name).finish()
}

fn slot(key: &[u8; 32], depth: usize) -> u8 {
    let byte = key.get(depth / 2).copied().unwrap_or(0);
    if depth.is_multiple_of(2) { byte >> 4 } else { byte & 15 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(names: impl IntoIterator<Item = u32>) -> FileTree {
        let mut tree = FileTree::default();
        for n in names {
            tree.insert(
                &Arc::from(format!("/notes/{n}.org")),
                ObjectHash::new(*blake3::hash(&n.to_le_bytes()).as_bytes()),
            );
        }
        tree
    }

    fn branches(tree: &FileTree, before: Option<&FileTree>) -> Vec<(ObjectHash, Vec<u8>)> {
        let mut found = Vec::new();
        tree.new_branches(before, &mut |branch| found.push((branch.hash(), branch.encode())));
        found
    }

    #[test]
    fn order_and_past_leave_no_mark() {
        let forward = tree(0..500);
        let backward = tree((0..500).rev());
        let mut shrunk = tree(0..900);
        for n in 500..900 {
            shrunk.remove(&format!("/notes/{n}.org"));
        }
        assert_eq!(forward.root(), backward.root());
        assert_eq!(forward.root(), shrunk.root());
        assert_ne!(forward.root(), tree(0..499).root());
        assert_ne!(FileTree::default().root(), tree(0..1).root());
    }

    #[test]
    fn one_change_makes_few_branches() {
        let before = tree(0..20_000);
        let mut after = before.clone();
        after.insert(&Arc::from("/notes/77.org"), ObjectHash::new([9; 32]));
        let fresh = branches(&after, Some(&before));
        assert!(fresh.len() <= 6, "{}", fresh.len());
        assert!(fresh.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() < 4_000);
        assert!(branches(&before, Some(&before)).is_empty());
    }

    #[test]
    fn what_is_stored_can_be_read() {
        let tree = tree(0..300);
        let mut files = 0;
        for (hash, bytes) in branches(&tree, None) {
            assert_eq!(name_of(&bytes), hash);
            let entries = decode(&bytes).unwrap_or_default();
            files += entries.iter().filter(|entry| matches!(entry, StoredEntry::File(..))).count();
            for end in 0..bytes.len() {
                assert_eq!(decode(&bytes[..end]), None);
            }
        }
        assert_eq!(files, 300);
    }
}
