//! One Org file as Org sees it: a flat list of nodes in file order, as ranges into its text.

use crate::domain::id::ObjectHash;
use crate::domain::label::Privacy;
use std::ops::Range;
use std::sync::Arc;

/// One Org file. `nodes[0]` is the file itself (level 0); the others are its headings, in order.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The whole text; every range below points into it.
    pub text: Arc<str>,
    /// The nodes; never empty.
    pub nodes: Vec<Node>,
    /// The keywords that hold in this file, in order.
    pub keywords: Vec<Keyword>,
    /// Which keywords belong to one sequence.
    pub sequences: Vec<Sequence>,
    /// Tags of `#+FILETAGS`.
    pub filetags: Vec<Box<str>>,
    /// The value of `#+TITLE`, if there is one.
    pub title: Option<Box<str>>,
    /// The words of `#+STARTUP`, such as `logdone`.
    pub startup: Vec<Box<str>>,
    /// What `#+PROPERTY` lines say (and the first `#+CATEGORY`): upper-case key without `+`, value.
    pub properties: Vec<(Box<str>, Box<str>)>,
    /// The value of the last `#+CATEGORY`, if there is one.
    pub category: Option<Box<str>>,
    /// What `#+LINK` lines say: abbreviation, what it stands for. Of two of one name the last counts.
    pub abbreviations: Vec<(Box<str>, Box<str>)>,
    /// The setup files that have a say in all this, each once; what they say is in the other fields.
    pub setups: Vec<SetupUse>,
    /// What was odd, for people.
    pub problems: Vec<Problem>,
}

/// A setup file of a file, as it was when the file was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupUse {
    /// Its path.
    pub path: Box<str>,
    /// What names its text; none when it could not be read.
    pub hash: Option<ObjectHash>,
    /// The line that leads to it, one-based.
    pub line: u32,
    /// Why it does not count, or not everywhere, for people.
    pub problem: Option<Box<str>>,
    /// How private it makes the whole file: by its own lines, or as what it says could not be read.
    pub privacy: Privacy,
}

/// A keyword such as TODO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyword {
    /// The word.
    pub name: Box<str>,
    /// Whether it means that nothing is left to do.
    pub done: bool,
}

/// One sequence of keywords: one line of `#+TODO`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Indices into [`Outline::keywords`].
    pub keywords: Range<u16>,
    /// Whether its words are kinds of task (`#+TYP_TODO`) rather than steps.
    pub types: bool,
}

/// Something odd in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// One-based.
    pub line: u32,
    /// What.
    pub text: String,
}

/// One node of an outline. Offsets are bytes into [`Outline::text`].
#[derive(Clone, Debug)]
pub struct Node {
    /// 0 for the file, else what Org calls the level (under `#+STARTUP: odd`, the true level).
    pub level: u16,
    /// Index of the parent; the file's is 0.
    pub parent: u32,
    /// One-based line of the headline; 1 for the file.
    pub line: u32,
    /// Where the headline begins; 0 for the file.
    pub begin: u32,
    /// The own section: below the headline, up to the next headline of any level.
    pub section: Range<u32>,
    /// Where the subtree ends.
    pub end: u32,
    /// The title, without stars, keyword, priority, COMMENT and tags.
    pub title: Range<u32>,
    /// Index into [`Outline::keywords`].
    pub todo: Option<u16>,
    /// Priority character.
    pub priority: Option<char>,
    /// Own tags, in order; shared with the outline that follows after an edit.
    pub tags: Arc<[Box<str>]>,
    /// Whether the title begins with COMMENT.
    pub commented: bool,
    /// Own property drawer: upper-case key, trimmed value, in order; `:KEY+:` keeps its `+`.
    pub properties: Arc<[(Box<str>, Box<str>)]>,
    /// Raw text of the planning line's timestamps.
    pub scheduled: Option<Range<u32>>,
    /// Likewise.
    pub deadline: Option<Range<u32>>,
    /// Likewise.
    pub closed: Option<Range<u32>>,
    /// The section without planning line and property drawer.
    pub body: Range<u32>,
}

impl Outline {
    /// Returns the text of a range.
    pub fn slice(&self, range: &Range<u32>) -> &str {
        self.text.get(range.start as usize..range.end as usize).unwrap_or("")
    }

    /// Returns a node's keyword.
    pub fn todo(&self, node: &Node) -> Option<&Keyword> {
        node.todo.and_then(|index| self.keywords.get(index as usize))
    }

    /// Returns the value of a node's own property, by upper-case key; of several lines the last, as Org has it.
    ///
    /// [`Outline::value`] adds what `KEY+` lines say.
    pub fn property<'a>(&'a self, node: &'a Node, key: &str) -> Option<&'a str> {
        node.properties.iter().rev().find(|(k, _)| k.as_ref() == key).map(|(_, v)| v.as_ref())
    }

    /// Returns the indices of a node's children, in order.
    pub fn children(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let mut next = index + 1;
        std::iter::from_fn(move || {
            let node = self.nodes.get(next)?;
            if node.parent as usize != index {
                return None;
            }
            let found = next;
            next = self.after(found);
            Some(found)
        })
    }

    /// Returns the index of the first node behind a node's subtree.
    pub fn after(&self, index: usize) -> usize {
        match self.nodes.get(index) {
            None => self.nodes.len(),
            Some(_) if index == 0 => self.nodes.len(),
            Some(node) => index + self.nodes[index..].partition_point(|n| n.begin < node.end),
        }
    }

    /// Returns own and inherited tags: file tags first, then from the top down, without duplicates.
    pub fn all_tags(&self, index: usize) -> Vec<&str> {
        let mut chain = Vec::new();
        let mut at = index;
        while at != 0 {
            chain.push(at);
            at = self.nodes.get(at).map_or(0, |node| node.parent as usize);
        }
        let inherited = chain.iter().rev().flat_map(|&i| self.nodes[i].tags.iter().map(|tag| tag.as_ref()));
        let mut tags: Vec<&str> = Vec::new();
        for tag in self.filetags.iter().map(|tag| tag.as_ref()).chain(inherited) {
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        tags
    }

    /// Returns the node that a byte offset stands in: the last one that begins at or before it.
    pub fn at(&self, byte: usize) -> usize {
        let behind = self.nodes.partition_point(|node| (node.begin as usize) <= byte);
        // The file node and a headline at byte 0 both begin at 0: the headline wins.
        behind.saturating_sub(1)
    }
}
