//! The hashes of one file's nodes, and which of them an edit leaves as they are.

use crate::domain::hash::ContentHasher;
use crate::domain::id::ObjectHash;
use crate::domain::memory::group;
use crate::domain::org::outline::{Node, Outline};
use crate::domain::org::scan::common;

/// The hashes of one file's nodes, by index.
#[derive(Debug)]
pub(super) struct Digests {
    /// Each with all below it.
    pub whole: Vec<ObjectHash>,
    /// Each without what is below it.
    pub own: Vec<ObjectHash>,
    /// How many of `whole` were worked out anew.
    pub nodes: usize,
    /// How many of `own` were.
    pub sections: usize,
}

impl Digests {
    /// Hashes every node that cannot be taken over from an earlier document.
    ///
    /// The pinned encoding: `section` over the raw bytes from the headline to the next headline;
    /// `node` over that hash, the number of children, and the hash of the children's list if there are any.
    pub fn new(outline: &Outline, reuse: Option<&Reuse>) -> Digests {
        let (own, sections) = sections(outline, reuse);
        let (whole, nodes) = nodes(outline, &own, reuse);
        Digests { whole, own, nodes, sections }
    }
}

fn sections(outline: &Outline, reuse: Option<&Reuse>) -> (Vec<ObjectHash>, usize) {
    let mut own = Vec::with_capacity(outline.nodes.len());
    let mut hasher = ContentHasher::new("section");
    let mut anew = 0;
    for (index, node) in outline.nodes.iter().enumerate() {
        let kept = reuse.and_then(|reuse| reuse.section.get(reuse.own(index, node)?).copied());
        own.push(kept.unwrap_or_else(|| {
            anew += 1;
            let bytes = outline.text.as_bytes().get(node.begin as usize..node.section.end as usize);
            ObjectHash::new(hasher.again().bytes(bytes.unwrap_or_default()).finish())
        }));
    }
    (own, anew)
}

fn nodes(outline: &Outline, own: &[ObjectHash], reuse: Option<&Reuse>) -> (Vec<ObjectHash>, usize) {
    let mut whole = vec![ObjectHash::new([0; 32]); own.len()];
    let mut hasher = ContentHasher::new("node");
    let mut anew = 0;
    // Children stand behind their parents, so going backwards meets them first: no recursion.
    // Those that wait for their parent stand here, the first on top.
    let mut waiting: Vec<u32> = Vec::new();
    let mut children = Vec::new();
    for (index, (node, own)) in outline.nodes.iter().zip(own).enumerate().rev() {
        let mine = |at: &mut u32| {
            outline.nodes.get(*at as usize).is_some_and(|child| child.parent as usize == index && *at as usize > index)
        };
        let kept = reuse.and_then(|reuse| reuse.whole.get(reuse.subtree(index, node)?).copied());
        let hash = match kept {
            Some(kept) => {
                while waiting.pop_if(mine).is_some() {}
                kept
            }
            None => {
                anew += 1;
                children.clear();
                while let Some(child) = waiting.pop_if(mine) {
                    children.extend(whole.get(child as usize));
                }
                hasher.again().bytes(own.as_bytes()).number(children.len() as u64);
                if !children.is_empty() {
                    hasher.bytes(group::root(&children, &mut |_, _, _| {}).as_bytes());
                }
                ObjectHash::new(hasher.finish())
            }
        };
        if let Some(slot) = whole.get_mut(index) {
            *slot = hash;
        }
        waiting.push(index as u32);
    }
    (whole, anew)
}

/// Which hashes of an earlier document still hold.
pub(super) struct Reuse<'a> {
    whole: &'a [ObjectHash],
    section: &'a [ObjectHash],
    old: &'a Outline,
    /// Bytes that both texts begin with.
    head: u32,
    /// Where the part that both texts end with begins, in the new text.
    tail: u32,
    /// How many nodes more the new outline has.
    more: isize,
    /// How many bytes longer the new text is.
    longer: i64,
}

impl<'a> Reuse<'a> {
    /// Compares the texts of an earlier outline, whose hashes with and without what is below are known, and of the
    /// outline that follows it.
    pub fn new(whole: &'a [ObjectHash], section: &'a [ObjectHash], earlier: &'a Outline, outline: &Outline) -> Self {
        let (old, new) = (earlier.text.as_bytes(), outline.text.as_bytes());
        let (head, tail) = common(old, new);
        Reuse {
            whole,
            section,
            old: earlier,
            head: head as u32,
            tail: (new.len() - tail) as u32,
            more: outline.nodes.len() as isize - earlier.nodes.len() as isize,
            longer: new.len() as i64 - old.len() as i64,
        }
    }

    /// Returns the index of the old node whose own bytes are those of a new one.
    fn own(&self, index: usize, node: &Node) -> Option<usize> {
        self.same(index, node, node.section.end, |old| old.section.end)
    }

    /// Returns the index of the old node whose whole subtree is that of a new one.
    fn subtree(&self, index: usize, node: &Node) -> Option<usize> {
        self.same(index, node, node.end, |old| old.end)
    }

    fn same(&self, index: usize, node: &Node, end: u32, end_of: impl Fn(&Node) -> u32) -> Option<usize> {
        // In front of the change offsets are the same; behind it they are moved.
        let (at, by) = if end <= self.head {
            (index, 0)
        } else if node.begin >= self.tail {
            (index.checked_add_signed(self.more.checked_neg()?)?, self.longer)
        } else {
            return None;
        };
        let old = self.old.nodes.get(at)?;
        (i64::from(old.begin) + by == i64::from(node.begin) && i64::from(end_of(old)) + by == i64::from(end))
            .then_some(at)
    }
}
