//! An immutable picture of the whole memory. Cloning is O(1); a reader's world never moves.

use crate::domain::id::{NodeId, ObjectHash};
use crate::domain::label::Privacy;
use crate::domain::org::outline::{Node, Outline};
use rpds::{HashTrieMapSync, RedBlackTreeMapSync};
use std::sync::Arc;

/// One file in memory.
#[derive(Debug)]
pub struct Document {
    /// The file: absolute path, or its name in tests.
    pub file: Arc<str>,
    /// Its structure and text.
    pub outline: Outline,
    /// Each node's id, by index.
    pub ids: Vec<NodeId>,
    /// Each node's hash with all below it, by index.
    pub hashes: Vec<ObjectHash>,
    /// Each node's privacy, own or inherited, by index.
    pub privacy: Vec<Privacy>,
    /// When the file was last changed, if it is known; derived, never hashed.
    pub modified: Option<jiff::Timestamp>,
}

/// Where a node stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<str>,
    /// Index into the document's nodes.
    pub index: u32,
}

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
    /// Nodes by id; the first file in order wins where an id stands twice.
    ids: HashTrieMapSync<NodeId, Place>,
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

    /// Finds a node by its id.
    pub fn get(&self, id: &NodeId) -> Option<NodeRef> {
        let place = self.ids.get(id)?;
        let document = self.documents.get(&place.file)?.clone();
        (document.outline.nodes.len() > place.index as usize).then(|| NodeRef { document, index: place.index as usize })
    }

    /// Returns every node, files included, in the order of files and lines.
    pub fn nodes(&self) -> impl Iterator<Item = NodeRef> + '_ {
        self.documents.values().flat_map(|document| {
            (0..document.outline.nodes.len()).map(|index| NodeRef { document: document.clone(), index })
        })
    }

    /// Returns the memory with one document put in or replaced.
    pub fn with(&self, document: Arc<Document>) -> View {
        let mut next = self.without(&document.file);
        for (index, id) in document.ids.iter().enumerate() {
            if !next.ids.contains_key(id) {
                next.ids.insert_mut(id.clone(), Place { file: document.file.clone(), index: index as u32 });
            }
        }
        next.headings += document.outline.nodes.len().saturating_sub(1);
        next.documents.insert_mut(document.file.clone(), document);
        next
    }

    /// Returns the memory without one document.
    pub fn without(&self, file: &str) -> View {
        let mut next = self.clone();
        if let Some(old) = self.documents.get(file) {
            for id in &old.ids {
                if next.ids.get(id).is_some_and(|place| place.file.as_ref() == file) {
                    next.ids.remove_mut(id);
                }
            }
            next.headings -= old.outline.nodes.len().saturating_sub(1);
            next.documents.remove_mut(file);
        }
        next
    }
}
