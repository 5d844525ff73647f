//! Which part of memory is looked at: all of it, or the files and subtrees that the user's focus narrows it to.

use crate::domain::focus::{Project, Reach};
use crate::domain::id::NodeId;
use crate::domain::memory::view::View;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A part of memory. Cloning is O(1).
#[derive(Clone, Debug, Default)]
pub struct Sight(Option<Arc<Part>>);

#[derive(Debug, Default)]
struct Part {
    /// Every file below these, each with a slash at its end.
    folders: Vec<String>,
    /// These nodes of these files, in their order; none of them overlap.
    trees: BTreeMap<Arc<str>, Vec<Range<usize>>>,
}

impl Sight {
    /// Works out what a reach means in a view; `changed` are the nodes that were changed in this session.
    ///
    /// What is not there (a project whose heading is gone) is nothing: the sight is never wider than what was chosen.
    pub fn of(reach: &Reach, view: &View, changed: &[NodeId]) -> Sight {
        let mut part = Part::default();
        match reach {
            Reach::Memex => return Sight(None),
            Reach::Session => changed.iter().for_each(|id| part.add(view, id)),
            Reach::Project(Project::Node { id, .. }) => part.add(view, &NodeId::new(id.as_str())),
            Reach::Project(Project::Folder { path }) => part.folders.push(format!("{}/", path.trim_end_matches('/'))),
        }
        part.trees.values_mut().for_each(outermost);
        Sight(Some(Arc::new(part)))
    }

    /// Returns whether everything is looked at.
    pub fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// Returns whether a node is looked at, by its file and its place there.
    pub fn holds(&self, file: &str, index: usize) -> bool {
        let Some(part) = &self.0 else { return true };
        let last = |trees: &[Range<usize>]| trees.partition_point(|tree| tree.start <= index).checked_sub(1);
        let holds =
            |trees: &Vec<Range<usize>>| last(trees).and_then(|at| trees.get(at)).is_some_and(|t| t.contains(&index));
        let tree = || part.trees.get(file).is_some_and(holds);
        part.folder(file) || tree()
    }

    /// Returns where the subtrees begin that are looked at, as files and places there.
    pub fn trees(&self) -> impl Iterator<Item = (&Arc<str>, usize)> {
        let trees = self.0.iter().flat_map(|part| &part.trees);
        trees.flat_map(|(file, trees)| trees.iter().map(move |tree| (file, tree.start)))
    }

    /// Returns whether any node of a file is looked at.
    pub fn touches(&self, file: &str) -> bool {
        self.0.as_ref().is_none_or(|part| part.folder(file) || part.trees.contains_key(file))
    }
}

/// Sorts subtrees, and leaves out those that lie in others.
fn outermost(trees: &mut Vec<Range<usize>>) {
    trees.sort_by_key(|tree| (tree.start, Reverse(tree.end)));
    let mut end = 0;
    trees.retain(|tree| {
        let outside = tree.start >= end;
        end = end.max(tree.end);
        outside
    });
}

impl Part {
    fn add(&mut self, view: &View, id: &NodeId) {
        if let Some(node) = view.get(id) {
            self.trees.entry(node.file().clone()).or_default().push(node.index..node.after());
        }
    }

    fn folder(&self, file: &str) -> bool {
        self.folders.iter().any(|folder| file.starts_with(folder))
    }
}
