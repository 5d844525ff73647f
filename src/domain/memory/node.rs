//! One node of a view: what its card says of it, and its text when somebody asks.

use crate::domain::id::NodeId;
use crate::domain::label::Privacy;
use crate::domain::memory::card::{Card, Keyword, Planning};
use crate::domain::memory::document::Document;
use crate::domain::memory::shelf::Book;
use crate::domain::memory::view::Held;
use jiff::civil::Date;
use std::sync::{Arc, OnceLock};

/// One node, with the file it stands in. Cloning is cheap.
#[derive(Clone)]
pub struct NodeRef {
    /// Index among the nodes of its file; 0 is the file.
    pub index: usize,
    held: Arc<Held>,
    /// The text of the file, once it was asked for.
    book: OnceLock<Option<Arc<Book>>>,
    id: OnceLock<NodeId>,
}

impl std::fmt::Debug for NodeRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NodeRef({}, {})", self.file(), self.index)
    }
}

/// What is answered without reading anything.
impl NodeRef {
    /// Returns a node of a file, if it has so many.
    pub(super) fn of(held: &Arc<Held>, index: usize) -> Option<NodeRef> {
        let there = index < held.card.len();
        there.then(|| NodeRef { index, held: held.clone(), book: OnceLock::new(), id: OnceLock::new() })
    }

    /// Returns another node of the same file.
    pub fn at(&self, index: usize) -> Option<NodeRef> {
        (index < self.card().len()).then(|| NodeRef {
            index,
            held: self.held.clone(),
            book: self.book.clone(),
            id: OnceLock::new(),
        })
    }

    /// Returns the card of its file.
    pub fn card(&self) -> &Arc<Card> {
        &self.held.card
    }

    /// Returns the file's name.
    pub fn file(&self) -> &Arc<str> {
        &self.card().file
    }

    /// Returns the node's id.
    pub fn id(&self) -> &NodeId {
        self.id.get_or_init(|| self.card().id(self.index))
    }

    /// Returns the node's title; a file's is its `#+TITLE` or its name.
    pub fn title(&self) -> &str {
        self.card().title(self.index)
    }

    /// Returns the level; a file's is 0.
    pub fn level(&self) -> u16 {
        self.card().level(self.index)
    }

    /// Returns the one-based line of the headline.
    pub fn line(&self) -> u32 {
        self.card().line(self.index)
    }

    /// Returns the byte at which the headline begins.
    pub fn begin(&self) -> u32 {
        self.card().begin(self.index)
    }

    /// Returns the byte at which the subtree ends.
    pub fn end(&self) -> u32 {
        self.card().end(self.index)
    }

    /// Returns whether the title begins with COMMENT.
    pub fn commented(&self) -> bool {
        self.card().commented(self.index)
    }

    /// Returns whether the title, or the text below it, may hold an active timestamp; planning lines do not count.
    pub fn may_be_dated(&self) -> bool {
        self.card().may_be_dated(self.index)
    }

    /// Returns the keyword.
    pub fn keyword(&self) -> Option<Keyword<'_>> {
        self.card().keyword(self.index)
    }

    /// Returns the priority, if there is one.
    pub fn priority(&self) -> Option<char> {
        self.card().priority(self.index)
    }

    /// Returns the own tags, in order; a file's are those of `#+FILETAGS`.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.card().tags(self.index)
    }

    /// Returns own and inherited tags: file tags first, then from the top down, without duplicates.
    pub fn all_tags(&self) -> Vec<&str> {
        self.card().all_tags(self.index)
    }

    /// Returns whether a tag is own or inherited, without regard to case.
    pub fn has_tag(&self, tag: &str) -> bool {
        let wanted = tag.to_lowercase();
        std::iter::successors(Some(self.index), |at| self.card().parent(*at))
            .any(|at| self.card().tags(at).any(|own| own.eq_ignore_ascii_case(tag) || own.to_lowercase() == wanted))
    }

    /// Returns the own property drawer: upper-case key and trimmed value, in order.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &str)> {
        self.card().properties(self.index)
    }

    /// Returns the value of an own property, by upper-case key.
    pub fn property(&self, key: &str) -> Option<&str> {
        self.card().property(self.index, key)
    }

    /// Returns the value of a property, own or of the nearest node above that has it.
    pub fn inherited_property(&self, key: &str) -> Option<&str> {
        let mut chain = std::iter::successors(Some(self.index), |at| self.card().parent(*at));
        chain.find_map(|at| self.card().property(at, key))
    }

    /// Returns a timestamp of the planning line as it is written.
    pub fn planning(&self, planning: Planning) -> Option<&str> {
        self.card().planning(self.index, planning)
    }

    /// Returns the day of a planning, if it has one that can be read; repeaters are not followed.
    pub fn planned_day(&self, planning: Planning) -> Option<Date> {
        self.card().planned_day(self.index, planning)
    }

    /// Returns how many bytes [`NodeRef::body`] has.
    pub fn body_len(&self) -> usize {
        self.card().body(self.index).len()
    }

    /// Returns when its file was last changed, if it is known.
    pub fn modified(&self) -> Option<jiff::Timestamp> {
        self.card().modified()
    }

    /// Returns how private it is.
    pub fn privacy(&self) -> Privacy {
        self.card().privacy(self.index)
    }

    /// Returns the parent; a file has none.
    pub fn parent(&self) -> Option<NodeRef> {
        self.card().parent(self.index).and_then(|parent| self.at(parent))
    }

    /// Returns the nodes above, the nearest first and the file last.
    pub fn ancestors(&self) -> impl Iterator<Item = NodeRef> {
        std::iter::successors(self.parent(), NodeRef::parent)
    }

    /// Returns the children, in order.
    pub fn children(&self) -> impl Iterator<Item = NodeRef> + '_ {
        self.card().children(self.index).filter_map(|child| self.at(child))
    }

    /// Returns the index of the first node behind the subtree.
    pub fn after(&self) -> usize {
        self.card().after(self.index)
    }

    /// Returns the node and all below it, in order.
    pub fn with_descendants(&self) -> impl Iterator<Item = NodeRef> + '_ {
        (self.index..self.after()).filter_map(|index| self.at(index))
    }

    /// Returns the ids that it links to, sorted.
    pub fn links(&self) -> impl Iterator<Item = &str> {
        self.card().links_of(self.index)
    }
}

/// What may be read from the store first. A text that cannot be had is empty, which is said to whoever listens to the
/// shelf; it is never an error here.
impl NodeRef {
    fn book(&self) -> Option<&Arc<Book>> {
        self.book.get_or_init(|| self.held.book()).as_ref()
    }

    fn slice(&self, range: std::ops::Range<u32>) -> &str {
        self.text().get(range.start as usize..range.end as usize).unwrap_or("")
    }

    /// Returns the whole file's text.
    pub fn text(&self) -> &str {
        self.book().map_or("", |book| book.text())
    }

    /// Returns the text below the headline, without planning line and drawer, up to the next headline.
    pub fn body(&self) -> &str {
        self.slice(self.card().body(self.index))
    }

    /// Returns everything below the headline, up to the next headline of any level.
    pub fn section(&self) -> &str {
        let own = self.own();
        match (self.index, own.find('\n')) {
            (0, _) => own,
            (_, Some(end)) => own.get(end + 1..).unwrap_or(""),
            (_, None) => "",
        }
    }

    /// Returns the headline and everything below it, up to the next headline of any level.
    pub fn own(&self) -> &str {
        self.slice(self.card().own_bytes(self.index))
    }

    /// Returns the whole subtree.
    pub fn subtree(&self) -> &str {
        self.slice(self.begin()..self.end())
    }

    /// Returns the document of its file.
    pub fn document(&self) -> Option<Arc<Document>> {
        self.held.document(self.book()?)
    }
}
