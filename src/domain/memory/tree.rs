//! A sorted set that is a value: cloning is O(1), a change copies one path, items lie close together, and what a range
//! of them weighs is known without going through it.
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

/// What weighs something.
pub trait Weighed {
    /// Returns how much; of items that are equal one may weigh more than the other.
    fn weight(&self) -> usize;
}

#[derive(Clone)]
enum Node<T> {
    Leaf(Vec<T>),
    Branch(Vec<Child<T>>),
}

#[derive(Clone)]
struct Child<T> {
    /// The least item that it may hold.
    least: T,
    /// What all of its items weigh.
    weight: usize,
    node: Arc<Node<T>>,
}

impl<T: Weighed + Clone> Child<T> {
    /// Makes a child of a node; `None` when that is empty.
    fn of(node: Node<T>) -> Option<Child<T>> {
        let least = match &node {
            Node::Leaf(items) => items.first()?.clone(),
            Node::Branch(children) => children.first()?.least.clone(),
        };
        Some(Child { least, weight: node.weight(), node: Arc::new(node) })
    }
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Tree(None)
    }
}

impl<T: Ord + Clone + Weighed> Tree<T> {
    /// Makes a tree of items that are sorted and all different.
    pub fn of_sorted(items: Vec<T>) -> Tree<T> {
        let mut level: Vec<Child<T>> = Vec::with_capacity(items.len() / MOST + 1);
        let mut items = items.into_iter();
        while let Some(leaf) = Child::of(Node::Leaf(items.by_ref().take(MOST).collect())) {
            level.push(leaf);
        }
        while level.len() > 1 {
            let mut below = level.into_iter();
            level = Vec::new();
            while let Some(branch) = Child::of(Node::Branch(below.by_ref().take(MOST).collect())) {
                level.push(branch);
            }
        }
        Tree(level.pop().map(|root| root.node))
    }

    /// Puts an item in, in the place of one that is equal.
    pub fn insert(&mut self, item: T) {
        let Some(root) = &mut self.0 else {
            self.0 = Some(Arc::new(Node::Leaf(vec![item])));
            return;
        };
        if let Some(behind) = insert(Arc::make_mut(root), item) {
            let before = std::mem::replace(root, Arc::new(Node::Leaf(Vec::new())));
            let halves = Child::of(Arc::unwrap_or_clone(before)).into_iter().chain([behind]);
            *root = Arc::new(Node::Branch(halves.collect()));
        }
    }

    /// Takes the item out that is equal.
    pub fn remove(&mut self, item: &T) {
        let Some(root) = &mut self.0 else { return };
        remove(Arc::make_mut(root), item);
        loop {
            let only = match root.as_ref() {
                Node::Leaf(items) if items.is_empty() => None,
                Node::Branch(children) if children.is_empty() => None,
                Node::Branch(children) if children.len() == 1 => children.first().map(|only| only.node.clone()),
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
                    let at = children.partition_point(|child| before(&child.least)).saturating_sub(1);
                    node = children.get(at).map(|child| child.node.as_ref());
                    iter.stack.push(children.get(at + 1..).unwrap_or_default().iter());
                }
            }
        }
        iter
    }

    /// Returns what the items weigh that are `before` some place. It looks at one path.
    pub fn weight(&self, before: impl Fn(&T) -> bool) -> usize {
        let mut weight = 0;
        let mut node = self.0.as_deref();
        while let Some(here) = node {
            match here {
                Node::Leaf(items) => {
                    return weight + items.iter().take_while(|item| before(item)).map(T::weight).sum::<usize>();
                }
                Node::Branch(children) => {
                    let at = children.partition_point(|child| before(&child.least)).saturating_sub(1);
                    weight += children.iter().take(at).map(|child| child.weight).sum::<usize>();
                    node = children.get(at).map(|child| child.node.as_ref());
                }
            }
        }
        weight
    }
}

impl<T: Weighed> Node<T> {
    fn weight(&self) -> usize {
        match self {
            Node::Leaf(items) => items.iter().map(T::weight).sum(),
            Node::Branch(children) => children.iter().map(|child| child.weight).sum(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Node::Leaf(items) => items.len(),
            Node::Branch(children) => children.len(),
        }
    }
}

/// Puts an item below a node; returns the half that is split off when it has grown too large.
///
/// Bounded by the tree's depth, which is the logarithm of its size.
fn insert<T: Ord + Clone + Weighed>(node: &mut Node<T>, item: T) -> Option<Child<T>> {
    match node {
        Node::Leaf(items) => {
            match items.binary_search(&item) {
                Ok(at) => items[at] = item,
                Err(at) => items.insert(at, item),
            }
            halved(items).map(Node::Leaf).and_then(Child::of)
        }
        Node::Branch(children) => {
            let at = place(children, &item);
            let child = children.get_mut(at)?;
            if item < child.least {
                child.least = item.clone();
            }
            let inner = Arc::make_mut(&mut child.node);
            let half = insert(inner, item);
            child.weight = inner.weight();
            if let Some(half) = half {
                children.insert(at + 1, half);
            }
            halved(children).map(Node::Branch).and_then(Child::of)
        }
    }
}

/// Returns which child holds an item, if any does.
fn place<T: Ord>(children: &[Child<T>], item: &T) -> usize {
    children.partition_point(|child| child.least <= *item).saturating_sub(1)
}

fn halved<I>(items: &mut Vec<I>) -> Option<Vec<I>> {
    (items.len() > MOST).then(|| {
        let half = items.split_off(items.len() / 2);
        items.shrink_to_fit();
        half
    })
}

fn remove<T: Ord + Clone + Weighed>(node: &mut Node<T>, item: &T) {
    match node {
        Node::Leaf(items) => {
            if let Ok(at) = items.binary_search(item) {
                items.remove(at);
            }
        }
        Node::Branch(children) => {
            let at = place(children, item);
            let Some(child) = children.get_mut(at) else { return };
            let inner = Arc::make_mut(&mut child.node);
            remove(inner, item);
            child.weight = inner.weight();
            if inner.len() == 0 {
                children.remove(at);
            } else if inner.len() <= FEW / 2 {
                // The neighbour behind joins in, or this one joins the one before.
                join(children, at);
                join(children, at.saturating_sub(1));
            }
        }
    }
}

/// Joins a child with the one behind it when both are small.
fn join<T: Clone + Weighed>(children: &mut Vec<Child<T>>, at: usize) {
    let Some([left, right]) = children.get(at..at + 2) else { return };
    if left.node.len() + right.node.len() > FEW {
        return;
    }
    let joined = match (left.node.as_ref(), right.node.as_ref()) {
        (Node::Leaf(a), Node::Leaf(b)) => Node::Leaf([a.as_slice(), b.as_slice()].concat()),
        (Node::Branch(a), Node::Branch(b)) => Node::Branch([a.as_slice(), b.as_slice()].concat()),
        (Node::Leaf(_), Node::Branch(_)) | (Node::Branch(_), Node::Leaf(_)) => return,
    };
    let both = Child { least: left.least.clone(), weight: left.weight + right.weight, node: Arc::new(joined) };
    children[at] = both;
    children.remove(at + 1);
}

/// Items of a tree in order.
#[derive(Clone)]
pub struct Iter<'a, T> {
    stack: Vec<std::slice::Iter<'a, Child<T>>>,
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
                Some(child) => match child.node.as_ref() {
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
    use std::collections::BTreeMap;

    /// Equal to others of its number, whatever it weighs.
    #[derive(Clone, Copy, Debug)]
    struct Item(u32, usize);

    impl Weighed for Item {
        fn weight(&self) -> usize {
            self.1
        }
    }

    impl PartialEq for Item {
        fn eq(&self, other: &Item) -> bool {
            self.0 == other.0
        }
    }

    impl Eq for Item {}

    impl PartialOrd for Item {
        fn partial_cmp(&self, other: &Item) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Item {
        fn cmp(&self, other: &Item) -> std::cmp::Ordering {
            self.0.cmp(&other.0)
        }
    }

    impl Weighed for u64 {
        fn weight(&self) -> usize {
            1
        }
    }

    fn depth<T>(node: &Node<T>) -> usize {
        match node {
            Node::Leaf(_) => 1,
            Node::Branch(children) => 1 + children.first().map_or(0, |child| depth(&child.node)),
        }
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_set_that_knows_its_weight(
            steps in prop::collection::vec((any::<bool>(), 0..3000u32, 0..9usize), 0..2000),
            from in 0..3000u32,
        ) {
            let (mut tree, mut set) = (Tree::default(), BTreeMap::new());
            for (put, item, weight) in &steps {
                if *put {
                    tree.insert(Item(*item, *weight));
                    set.insert(*item, *weight);
                } else {
                    tree.remove(&Item(*item, 0));
                    set.remove(item);
                }
            }
            let pairs = |tree: &Tree<Item>, from: u32| -> Vec<(u32, usize)> {
                tree.from(|item| item.0 < from).map(|item| (item.0, item.1)).collect()
            };
            let known = |from: u32| -> Vec<(u32, usize)> { set.range(from..).map(|(item, weight)| (*item, *weight)).collect() };
            let weight = set.range(..from).map(|(_, weight)| *weight).sum::<usize>();
            prop_assert_eq!(pairs(&tree, from), known(from));
            prop_assert_eq!(tree.weight(|item| item.0 < from), weight);
            let again = Tree::of_sorted(set.iter().map(|(item, weight)| Item(*item, *weight)).collect());
            prop_assert_eq!(pairs(&again, 0), known(0));
            prop_assert_eq!(again.weight(|item| item.0 < from), weight);
            let kept = tree.clone();
            for item in set.keys() {
                tree.remove(&Item(*item, 0));
            }
            prop_assert!(tree.0.is_none());
            prop_assert_eq!(pairs(&kept, 0), known(0));
            prop_assert_eq!(kept.weight(|_| true), set.values().sum::<usize>());
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
