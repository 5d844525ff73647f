//! A sorted set that is a value: cloning is O(1), a change copies one path, and items lie close together.
//!
//! A tree of full leaves, because a million small items must not cost a million allocations.

use std::sync::Arc;

/// The most items of a leaf, and the most children of a branch.
const MOST: usize = 64;
/// Neighbours with no more than this together are joined.
const FEW: usize = 48;

/// A persistent sorted set.
#[derive(Clone)]
pub struct Tree<T>(Option<Arc<Node<T>>>);

#[derive(Clone)]
enum Node<T> {
    Leaf(Vec<T>),
    /// Children, each with the least item that it may hold.
    Branch(Vec<(T, Arc<Node<T>>)>),
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Tree(None)
    }
}

impl<T: Ord + Clone> Tree<T> {
    /// Makes a tree of items that are sorted and all different.
    pub fn of_sorted(items: Vec<T>) -> Tree<T> {
        let mut level: Vec<(T, Arc<Node<T>>)> = Vec::with_capacity(items.len() / MOST + 1);
        let mut items = items.into_iter();
        loop {
            let leaf: Vec<T> = items.by_ref().take(MOST).collect();
            let Some(first) = leaf.first().cloned() else { break };
            level.push((first, Arc::new(Node::Leaf(leaf))));
        }
        while level.len() > 1 {
            let mut below = level.into_iter();
            level = Vec::new();
            loop {
                let children: Vec<_> = below.by_ref().take(MOST).collect();
                let Some((first, _)) = children.first() else { break };
                level.push((first.clone(), Arc::new(Node::Branch(children))));
            }
        }
        Tree(level.pop().map(|(_, root)| root))
    }

    /// Puts an item in, in the place of one that is equal.
    pub fn insert(&mut self, item: T) {
        let Some(root) = &mut self.0 else {
            self.0 = Some(Arc::new(Node::Leaf(vec![item])));
            return;
        };
        if let Some((first, behind)) = insert(root, item) {
            let old = root.clone();
            if let Some(least) = old.least() {
                *root = Arc::new(Node::Branch(vec![(least, old), (first, behind)]));
            }
        }
    }

    /// Takes the item out that is equal.
    pub fn remove(&mut self, item: &T) {
        let Some(root) = &mut self.0 else { return };
        remove(root, item);
        loop {
            let only = match root.as_ref() {
                Node::Leaf(items) if items.is_empty() => None,
                Node::Branch(children) if children.is_empty() => None,
                Node::Branch(children) if children.len() == 1 => children.first().map(|(_, child)| child.clone()),
                Node::Leaf(_) | Node::Branch(_) => return,
            };
            match only {
                None => {
                    self.0 = None;
                    return;
                }
                Some(child) => *root = child,
            }
        }
    }

    /// Returns the items from the first one on that is not `before` the wanted place, in order.
    pub fn from(&self, before: impl Fn(&T) -> bool) -> Iter<'_, T> {
        let mut iter = Iter { stack: Vec::new(), leaf: [].iter() };
        let mut node = self.0.as_deref();
        while let Some(here) = node {
            match here {
                Node::Leaf(items) => {
                    iter.leaf = items.get(items.partition_point(&before)..).unwrap_or_default().iter();
                    break;
                }
                Node::Branch(children) => {
                    let at = children.partition_point(|(least, _)| before(least)).saturating_sub(1);
                    node = children.get(at).map(|(_, child)| child.as_ref());
                    iter.stack.push(children.get(at + 1..).unwrap_or_default().iter());
                }
            }
        }
        iter
    }
}

impl<T: Clone> Node<T> {
    fn least(&self) -> Option<T> {
        match self {
            Node::Leaf(items) => items.first().cloned(),
            Node::Branch(children) => children.first().map(|(least, _)| least.clone()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Node::Leaf(items) => items.len(),
            Node::Branch(children) => children.len(),
        }
    }
}

/// The half of a node that has grown too large, with the least item that it may hold.
type Half<T> = Option<(T, Arc<Node<T>>)>;

/// Bounded by the tree's depth, which is the logarithm of its size.
fn insert<T: Ord + Clone>(node: &mut Arc<Node<T>>, item: T) -> Half<T> {
    match Arc::make_mut(node) {
        Node::Leaf(items) => {
            match items.binary_search(&item) {
                Ok(at) => items[at] = item,
                Err(at) => items.insert(at, item),
            }
            let half = halved(items)?;
            half.first().cloned().map(|first| (first, Arc::new(Node::Leaf(half))))
        }
        Node::Branch(children) => {
            let at = children.partition_point(|(least, _)| *least <= item).saturating_sub(1);
            let (least, child) = children.get_mut(at)?;
            if item < *least {
                *least = item.clone();
            }
            if let Some(half) = insert(child, item) {
                children.insert(at + 1, half);
            }
            let half = halved(children)?;
            half.first().map(|(least, _)| least.clone()).map(|first| (first, Arc::new(Node::Branch(half))))
        }
    }
}

fn halved<I>(items: &mut Vec<I>) -> Option<Vec<I>> {
    (items.len() > MOST).then(|| {
        let half = items.split_off(items.len() / 2);
        items.shrink_to_fit();
        half
    })
}

fn remove<T: Ord + Clone>(node: &mut Arc<Node<T>>, item: &T) {
    match Arc::make_mut(node) {
        Node::Leaf(items) => {
            if let Ok(at) = items.binary_search(item) {
                items.remove(at);
            }
        }
        Node::Branch(children) => {
            let at = children.partition_point(|(least, _)| least <= item).saturating_sub(1);
            let Some((_, child)) = children.get_mut(at) else { return };
            remove(child, item);
            if child.len() == 0 {
                children.remove(at);
            } else if child.len() <= FEW / 2 {
                // The neighbour behind joins in, or this one joins the one before.
                join(children, at);
                join(children, at.saturating_sub(1));
            }
        }
    }
}

/// Joins a child with the one behind it when both are small.
fn join<T: Clone>(children: &mut Vec<(T, Arc<Node<T>>)>, at: usize) {
    let Some([(_, left), (_, right)]) = children.get(at..at + 2).and_then(|two| <&[_; 2]>::try_from(two).ok()) else {
        return;
    };
    if left.len() + right.len() > FEW {
        return;
    }
    let joined = match (left.as_ref(), right.as_ref()) {
        (Node::Leaf(a), Node::Leaf(b)) => Node::Leaf([a.as_slice(), b.as_slice()].concat()),
        (Node::Branch(a), Node::Branch(b)) => Node::Branch([a.as_slice(), b.as_slice()].concat()),
        (Node::Leaf(_), Node::Branch(_)) | (Node::Branch(_), Node::Leaf(_)) => return,
    };
    children[at].1 = Arc::new(joined);
    children.remove(at + 1);
}

/// Items of a tree in order.
#[derive(Clone)]
pub struct Iter<'a, T> {
    stack: Vec<std::slice::Iter<'a, (T, Arc<Node<T>>)>>,
    leaf: std::slice::Iter<'a, T>,
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        loop {
            if let Some(item) = self.leaf.next() {
                return Some(item);
            }
            match self.stack.last_mut()?.next() {
                None => {
                    self.stack.pop();
                }
                Some((_, child)) => match child.as_ref() {
                    Node::Leaf(items) => self.leaf = items.iter(),
                    Node::Branch(children) => self.stack.push(children.iter()),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn depth<T>(node: &Node<T>) -> usize {
        match node {
            Node::Leaf(_) => 1,
            Node::Branch(children) => 1 + children.first().map_or(0, |(_, child)| depth(child)),
        }
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_set(steps in prop::collection::vec((any::<bool>(), 0..3000u32), 0..2000), from in 0..3000u32) {
            let (mut tree, mut set) = (Tree::default(), BTreeSet::new());
            for (put, item) in &steps {
                if *put { tree.insert(*item); set.insert(*item); } else { tree.remove(item); set.remove(item); }
            }
            let behind: Vec<u32> = tree.from(|item| *item < from).copied().collect();
            prop_assert_eq!(behind, set.range(from..).copied().collect::<Vec<_>>());
            let again = Tree::of_sorted(set.iter().copied().collect());
            prop_assert!(again.from(|_| false).eq(set.iter()));
            let kept = tree.clone();
            for item in &set { tree.remove(item); }
            prop_assert!(tree.0.is_none());
            prop_assert!(kept.from(|_| false).eq(set.iter()));
        }
    }

    #[test]
    fn it_stays_flat_and_full() {
        let mut tree = Tree::default();
        for n in 0..100_000_u64 {
            tree.insert(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        assert!(tree.0.as_deref().map_or(0, depth) <= 4);
        let items: Vec<u64> = tree.from(|_| false).copied().collect();
        assert_eq!(items.len(), 100_000);
        for item in items.iter().skip(100) {
            tree.remove(item);
        }
        assert!(tree.0.as_deref().map_or(0, depth) <= 2, "what became small was joined");
    }
}
