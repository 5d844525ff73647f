//! An immutable picture of the whole memory. Cloning is O(1); a reader's world never moves.

use crate::domain::id::{NodeId, ObjectHash};
use crate::domain::label::Privacy;
pub use crate::domain::memory::document::Document;
use crate::domain::memory::files::FileTree;
use crate::domain::memory::holders::Holders;
use crate::domain::org::outline::Node;
use rpds::RedBlackTreeMapSync;
use std::sync::Arc;

/// How many `::*` of an id are tried as the end of a file's name.
const MAX_SPLITS: usize = 16;

/// One node, with the document it stands in.
#[derive(Clone)]
pub struct NodeRef {
    /// The document.
    pub document: Arc<Document>,
    /// Index into its nodes.
    pub index: usize,
}

/// The whole memory at one moment.
#[derive(Clone, Default)]
pub struct View {
    /// Documents by file.
    documents: RedBlackTreeMapSync<Arc<str>, Arc<Document>>,
    /// The same files by the hash of their name, for the root hash.
    files: FileTree,
    /// Files by ids of their own; ids made from a file's name need no index.
    ids: Holders,
    /// Files by the ids that they link to.
    targets: Holders,
    /// How many headings there are.
    headings: usize,
}

impl NodeRef {
    /// Returns the node.
    pub fn node(&self) -> &Node {
        &self.document.outline.nodes[self.index]
    }

    /// Returns the node's id.
    pub fn id(&self) -> &NodeId {
        &self.document.ids[self.index]
    }

    /// Returns the node's title; a file's is its `#+TITLE` or its name.
    pub fn title(&self) -> &str {
        if self.index > 0 {
            return self.document.outline.slice(&self.node().title);
        }
        match self.document.outline.title.as_deref() {
            Some(title) => title,
            None => self.document.file.rsplit('/').next().unwrap_or(&self.document.file),
        }
    }

    /// Returns the node's text below its headline, without planning line and drawer.
    pub fn body(&self) -> &str {
        self.document.outline.slice(&self.node().body)
    }

    /// Returns how private it is.
    pub fn privacy(&self) -> Privacy {
        self.document.privacy[self.index]
    }

    /// Returns the parent; a file has none.
    pub fn parent(&self) -> Option<NodeRef> {
        (self.index > 0).then(|| NodeRef { document: self.document.clone(), index: self.node().parent as usize })
    }

    /// Returns the children, in order.
    pub fn children(&self) -> impl Iterator<Item = NodeRef> + '_ {
        self.document.outline.children(self.index).map(|index| NodeRef { document: self.document.clone(), index })
    }
}

impl View {
    /// Returns how many headings there are, files not counted.
    pub fn headings(&self) -> usize {
        self.headings
    }

    /// Returns the documents, by file name.
    pub fn documents(&self) -> impl Iterator<Item = &Arc<Document>> {
        self.documents.values()
    }

    /// Returns how many documents there are.
    pub fn len(&self) -> usize {
        self.documents.size()
    }

    /// Returns whether there is nothing in memory.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Finds a document by its file.
    pub fn document(&self, file: &str) -> Option<&Arc<Document>> {
        self.documents.get(file)
    }

    /// Returns the hash of everything: two views with one root hold the same bytes.
    pub fn root(&self) -> ObjectHash {
        self.files.root()
    }

    /// Returns the trie over the files, for the store.
    pub fn files(&self) -> &FileTree {
        &self.files
    }

    /// Finds a node by its id; the first file in order wins where an id stands twice.
    pub fn get(&self, id: &NodeId) -> Option<NodeRef> {
        let text = id.as_str();
        let own = self.ids.files(text).map(|file| file.as_ref());
        let derived = text.match_indices("::*").take(MAX_SPLITS).filter_map(|(at, _)| text.get(..at));
        own.chain([text]).chain(derived).find_map(|file| {
            let document = self.documents.get(file)?;
            let index = document.index_of(id)?;
            Some(NodeRef { document: document.clone(), index })
        })
    }

    /// Returns the nodes that link to an id, in the order of files and lines.
    pub fn backlinks(&self, id: &NodeId) -> Vec<NodeRef> {
        let documents = self.targets.files(id.as_str()).filter_map(|file| self.documents.get(file));
        documents
            .flat_map(|document| {
                let links = document.links_to(id.as_str()).iter();
                links.map(|link| NodeRef { document: document.clone(), index: link.node as usize })
            })
            .collect()
    }

    /// Returns every node, files included, in the order of files and lines.
    pub fn nodes(&self) -> impl Iterator<Item = NodeRef> + '_ {
        self.documents.values().flat_map(|document| {
            (0..document.outline.nodes.len()).map(|index| NodeRef { document: document.clone(), index })
        })
    }

    /// Returns the memory with one document put in or replaced.
    pub fn with(&self, document: Arc<Document>) -> View {
        let mut next = self.clone();
        next.put(document);
        next
    }

    /// Returns the memory without one document.
    pub fn without(&self, file: &str) -> View {
        let mut next = self.clone();
        next.remove(file);
        next
    }

    /// Puts a document in, or replaces the one of the same file; clones of this view do not move.
    pub fn put(&mut self, document: Arc<Document>) {
        let file = document.file.clone();
        let old = self.documents.get(&file).cloned();
        let (old_ids, new_ids) = changed(old.as_deref().map_or(&[][..], |old| &old.ids), &document.ids);
        for id in old_ids.iter().filter(|id| !document.derives(id) && document.index_of(id).is_none()) {
            self.ids.remove(id.as_str(), &file);
        }
        for id in new_ids.iter().filter(|id| !document.derives(id)) {
            self.ids.insert(&id.as_str().into(), &file);
        }
        self.relink(old.as_deref(), Some(&document));
        self.headings -= old.as_deref().map_or(0, headings_of);
        self.headings += headings_of(&document);
        self.files.insert(&file, document.root());
        self.documents.insert_mut(file, document);
    }

    /// Takes a document out; clones of this view do not move.
    pub fn remove(&mut self, file: &str) {
        let Some(old) = self.documents.get(file).cloned() else { return };
        for id in old.ids.iter().filter(|id| !old.derives(id)) {
            self.ids.remove(id.as_str(), file);
        }
        self.relink(Some(&old), None);
        self.headings -= headings_of(&old);
        self.files.remove(file);
        self.documents.remove_mut(file);
    }

    /// Brings the index of links up to date; what both documents link to stays as it is.
    fn relink(&mut self, old: Option<&Document>, new: Option<&Document>) {
        if let Some(old) = old {
            for link in old.links() {
                if new.is_none_or(|new| new.links_to(&link.target).is_empty()) {
                    self.targets.remove(&link.target, &old.file);
                }
            }
        }
        if let Some(new) = new {
            for link in new.links() {
                if old.is_none_or(|old| old.links_to(&link.target).is_empty()) {
                    self.targets.insert(&link.target, &new.file);
                }
            }
        }
    }
}

fn headings_of(document: &Document) -> usize {
    document.outline.nodes.len().saturating_sub(1)
}

/// Returns the parts of two lists between what they begin and what they end with alike.
fn changed<'a>(old: &'a [NodeId], new: &'a [NodeId]) -> (&'a [NodeId], &'a [NodeId]) {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    (&old[..old.len() - tail], &new[..new.len() - tail])
}
