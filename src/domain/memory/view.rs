//! An immutable picture of the whole memory. Cloning is O(1); a reader's world never moves.
//!
//! A view holds a card of each file, and the texts that are not saved yet. What is saved is read on demand, so whoever
//! asks for a text may wait for the disk; everything else is answered by cards.

use crate::domain::id::{NodeId, ObjectHash};
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
pub use crate::domain::memory::document::Document;
use crate::domain::memory::document::PrivacyOptions;
use crate::domain::memory::files::FileTree;
use crate::domain::memory::index::{Index, Key, Keys};
pub use crate::domain::memory::node::NodeRef;
use crate::domain::memory::shelf::{Book, Shelf};
use crate::domain::memory::sight::Sight;
use crate::domain::org::outline::Outline;
use crate::domain::org::scan::{ScanOptions, TooLarge, scan};
use parking_lot::Mutex;
use rpds::RedBlackTreeMapSync;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Fewer documents than this are put in one by one.
const BULK: usize = 32;
/// How many `::*` of an id are tried as the end of a file's name.
const MAX_SPLITS: usize = 16;

/// The whole memory at one moment.
#[derive(Clone, Default)]
pub struct View {
    /// What is held of each file, by its name.
    held: RedBlackTreeMapSync<Arc<str>, Arc<Held>>,
    /// The same files by the hash of their name, for the root hash.
    files: FileTree,
    /// Which files hold which ids, tags, keywords and so on.
    index: Index,
    /// Where texts come from that are saved; without one, all stay here.
    shelf: Option<Arc<Shelf>>,
    /// How many headings there are.
    headings: usize,
    /// What of all this its reader looks at.
    sight: Sight,
    /// How private the nodes may be that its reader is given; all are without.
    lid: Option<Privacy>,
}

/// What is held of one file: its card, and its text while that is nowhere else.
pub(super) struct Held {
    pub(super) card: Arc<Card>,
    /// Only here until it is saved.
    pinned: Mutex<Option<Arc<Book>>>,
    shelf: Option<Arc<Shelf>>,
}

impl Held {
    /// Returns the text, from the store if need be.
    pub(super) fn book(&self) -> Option<Arc<Book>> {
        let pinned = self.pinned.lock().clone();
        pinned.or_else(|| self.shelf.as_ref()?.take(&self.card.file, self.card.root()))
    }

    /// Returns the text when it need not be read.
    fn warm(&self) -> Option<Arc<Book>> {
        let pinned = self.pinned.lock().clone();
        pinned.or_else(|| self.shelf.as_ref()?.look(&self.card.file, self.card.root()))
    }

    /// Returns the document of a text of this file.
    pub(super) fn document(&self, book: &Arc<Book>) -> Option<Arc<Document>> {
        // The same text may have had other names at another time.
        let made = book.made().filter(|made| made.is_made_as(&self.card));
        made.or_else(|| self.shelf.as_ref()?.make(&self.card, book))
    }

    fn is_pinned(&self) -> bool {
        self.pinned.lock().is_some()
    }
}

impl View {
    /// Returns an empty memory whose texts, once they are saved, come from a shelf.
    pub fn shelved(shelf: Arc<Shelf>) -> View {
        View { shelf: Some(shelf), ..View::default() }
    }

    /// Returns a memory of cards whose texts are all saved. Of two cards of one file the last one counts.
    pub fn of_cards(cards: Vec<Card>, shelf: Arc<Shelf>) -> View {
        let mut view = View::of_held(cards, shelf);
        view.index = Index::of(view.held.values().map(|held| held.card.as_ref()));
        view
    }

    /// Does the same with cards whose keys are gathered already, each file once.
    pub fn of_indexed(cards: Vec<(Vec<Card>, Keys)>, shelf: Arc<Shelf>) -> View {
        let (cards, keys): (Vec<_>, Vec<_>) = cards.into_iter().unzip();
        let mut view = View::of_held(cards.into_iter().flatten(), shelf);
        view.index = Index::of_keys(keys);
        view
    }

    fn of_held(cards: impl IntoIterator<Item = Card>, shelf: Arc<Shelf>) -> View {
        let mut view = View::shelved(shelf);
        for card in cards {
            view.files.insert(&card.file, card.root());
            let held = Held { card: Arc::new(card), pinned: Mutex::new(None), shelf: view.shelf.clone() };
            view.held.insert_mut(held.card.file.clone(), Arc::new(held));
        }
        view.headings = view.cards().map(|card| card.headings()).sum();
        view
    }

    /// Returns the empty memory that has this one's shelf.
    pub fn cleared(&self) -> View {
        View { shelf: self.shelf.clone(), ..View::default() }
    }

    /// Returns where texts come from that are saved, if that is anywhere.
    pub fn shelf(&self) -> Option<&Arc<Shelf>> {
        self.shelf.as_ref()
    }

    /// Returns the same memory for a reader who looks at a part of it: walks and queries give nothing else.
    ///
    /// What is asked for by its name is found all the same, and root and counts are those of the whole.
    pub fn narrowed(&self, sight: Sight) -> View {
        View { sight, ..self.clone() }
    }

    /// Returns the same memory for a reader who may see nodes up to this privacy and no others: not by their ids either.
    pub fn up_to(&self, most: Privacy) -> View {
        View { lid: Some(most), ..self.clone() }
    }

    /// Returns whether its reader may see a node.
    pub fn shows(&self, card: &Card, index: usize) -> bool {
        self.lid.is_none_or(|most| card.privacy(index) <= most)
    }

    /// Returns whether its reader looks at a node, and may see it.
    pub(super) fn looks_at(&self, card: &Card, index: usize) -> bool {
        self.sight.holds(&card.file, index) && self.shows(card, index)
    }

    /// Returns what its reader looks at.
    pub fn sight(&self) -> &Sight {
        &self.sight
    }

    /// Returns how many headings there are, files not counted.
    pub fn headings(&self) -> usize {
        self.headings
    }

    /// Returns the cards, by file name. Nothing is read for them.
    pub fn cards(&self) -> impl Iterator<Item = &Arc<Card>> {
        self.held.values().map(|held| &held.card).filter(|card| self.sight.touches(&card.file))
    }

    /// Returns the cards of a file or of all files below a folder, by file name, whatever its reader looks at.
    pub fn cards_below(&self, path: &str) -> impl Iterator<Item = &Arc<Card>> + use<'_> {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let first: Arc<str> = folder.as_str().into();
        let below = self.held.range(first..).take_while(move |(file, _)| file.starts_with(&folder));
        self.held.get(path).into_iter().chain(below.map(|(_, held)| held)).map(|held| &held.card)
    }

    /// Returns the documents, by file name, one after the other: each may be read from the store.
    /// What cannot be had is left out.
    pub fn documents(&self) -> impl Iterator<Item = Arc<Document>> + '_ {
        self.held.values().filter_map(|held| held.document(&held.book()?))
    }

    /// Returns how many files there are.
    pub fn len(&self) -> usize {
        self.held.size()
    }

    /// Returns whether there is nothing in memory.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Finds the card of a file.
    pub fn card(&self, file: &str) -> Option<&Arc<Card>> {
        self.held.get(file).map(|held| &held.card)
    }

    pub(super) fn held(&self, file: &str) -> Option<&Arc<Held>> {
        self.held.get(file)
    }

    /// Finds a document by its file, and reads it if need be; `None` also when its text cannot be had, which is said
    /// once to whoever listens to the shelf.
    pub fn document(&self, file: &str) -> Option<Arc<Document>> {
        let held = self.held.get(file)?;
        held.document(&held.book()?)
    }

    /// Finds the text of a file, and reads it if need be; `None` also when it cannot be had.
    pub fn text(&self, file: &str) -> Option<Arc<str>> {
        Some(self.held.get(file)?.book()?.text().clone())
    }

    /// Finds a document by its file when it is at hand as a whole; reads and makes nothing.
    pub fn warm(&self, file: &str) -> Option<Arc<Document>> {
        let held = self.held.get(file)?;
        held.warm().and_then(|book| book.made()).filter(|made| made.is_made_as(&held.card))
    }

    /// Builds the document that takes the place of what memory has of a file, if it has anything: what did not change,
    /// and the names of headings, are taken over.
    pub fn follow(&self, file: &Arc<str>, outline: Outline, options: &PrivacyOptions) -> Document {
        match (self.warm(file), self.card(file)) {
            (Some(previous), _) => Document::rebuild(&previous, outline, options),
            (None, Some(card)) => Document::rebuild_cold(card, outline, options),
            (None, None) => Document::build(file.clone(), outline, options),
        }
    }

    /// Reads a text, and builds its document as [`View::follow`] does; where the earlier document is at hand, only what
    /// was touched is read.
    ///
    /// # Errors
    /// When the text is too large.
    pub fn follow_text(
        &self,
        file: &Arc<str>,
        text: Arc<str>,
        scan_options: &ScanOptions,
        options: &PrivacyOptions,
    ) -> Result<Document, TooLarge> {
        match self.warm(file) {
            Some(previous) => Document::edited(&previous, text, scan_options, options),
            None => Ok(self.follow(file, scan(text, scan_options)?, options)),
        }
    }

    /// Returns the hash of everything: two views with one root hold the same bytes.
    pub fn root(&self) -> ObjectHash {
        self.files.root()
    }

    /// Returns the trie over the files, for the store.
    pub fn files(&self) -> &FileTree {
        &self.files
    }

    /// Returns the structural index; [`crate::domain::memory::query`] reads it.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Finds a node by its file and its place there.
    pub fn node(&self, file: &str, index: usize) -> Option<NodeRef> {
        let held = self.held.get(file)?;
        NodeRef::of(held, index).filter(|_| self.shows(&held.card, index))
    }

    /// Finds a node by its id; the first file in order wins where an id stands twice.
    pub fn get(&self, id: &NodeId) -> Option<NodeRef> {
        let text = id.as_str();
        let own = self.index.files(&Key::Id(text)).map(|entry| entry.file.as_ref());
        let derived = text.match_indices("::*").take(MAX_SPLITS).filter_map(|(at, _)| text.get(..at));
        own.chain([text]).chain(derived).find_map(|file| {
            let held = self.held.get(file)?;
            let index = held.card.index_of(id)?;
            NodeRef::of(held, index).filter(|_| self.shows(&held.card, index))
        })
    }

    /// Returns the nodes that link to an id, in the order of files and lines.
    pub fn backlinks(&self, id: &NodeId) -> Vec<NodeRef> {
        let entries = self.index.files(&Key::Link(id.as_str()));
        let held = entries.filter_map(|entry| self.held.get(&entry.file));
        held.flat_map(|held| held.card.links_to(id.as_str()).filter_map(|node| self.seen(held, node))).collect()
    }

    /// Returns every node, files included, in the order of files and lines.
    pub fn nodes(&self) -> impl Iterator<Item = NodeRef> + '_ {
        let held = self.held.values().filter(|held| self.sight.touches(&held.card.file));
        held.flat_map(move |held| (0..held.card.len()).filter_map(move |index| self.seen(held, index)))
    }

    fn seen(&self, held: &Arc<Held>, index: usize) -> Option<NodeRef> {
        NodeRef::of(held, index).filter(|_| self.looks_at(&held.card, index))
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
    /// Its text stays here until [`View::settle`] says that it is saved.
    pub fn put(&mut self, document: Arc<Document>) {
        let held = self.holding(document);
        self.place(held);
    }

    fn holding(&self, document: Arc<Document>) -> Arc<Held> {
        let card = document.card().clone();
        // The same content is as saved as it was.
        let known = self.held.get(&card.file).filter(|held| held.card.root() == card.root() && !held.is_pinned());
        let (saved, book) = (known.is_some(), Arc::new(Book::of(document)));
        let pinned = match &self.shelf {
            Some(shelf) if saved => {
                shelf.keep(&card.file, card.root(), book);
                None
            }
            Some(_) | None => Some(book),
        };
        Arc::new(Held { card, pinned: Mutex::new(pinned), shelf: self.shelf.clone() })
    }

    /// Puts many documents in. Where they are a large part of what is then there, the index is made anew at once.
    pub fn put_all(&mut self, documents: &[Arc<Document>]) {
        let coming: usize = documents.iter().map(|document| document.outline.nodes.len()).sum();
        if documents.len() < BULK || coming < (self.headings + self.len()) / 2 {
            documents.iter().for_each(|document| self.put(document.clone()));
            return;
        }
        for document in documents {
            let held = self.holding(document.clone());
            self.replace(held);
        }
        self.index = Index::of(self.held.values().map(|held| held.card.as_ref()));
    }

    /// Puts a document in whose text is saved already.
    pub fn put_saved(&mut self, document: Arc<Document>) {
        let file = document.file.clone();
        self.put(document);
        self.settle([file.as_ref()]);
    }

    /// Takes over what another view holds of a file, without reading it.
    pub fn adopt(&mut self, other: &View, file: &str) {
        if let Some(held) = other.held.get(file) {
            self.place(held.clone());
        }
    }

    /// Says that the texts of some files are saved, as this view has them: from here on they are read on demand.
    pub fn settle<'a>(&self, files: impl IntoIterator<Item = &'a str>) {
        let Some(shelf) = &self.shelf else { return };
        for held in files.into_iter().filter_map(|file| self.held.get(file)) {
            let Some(book) = held.pinned.lock().clone() else { continue };
            shelf.keep(&held.card.file, held.card.root(), book);
            // Only now: at no moment is it nowhere at hand.
            *held.pinned.lock() = None;
        }
    }

    fn place(&mut self, held: Arc<Held>) {
        let old = self.held.get(&held.card.file).map(|held| held.card.clone());
        self.index.change(old.as_deref(), Some(&held.card));
        self.replace(held);
    }

    /// Does all of it but for the index.
    fn replace(&mut self, held: Arc<Held>) {
        let card = &held.card;
        let old = self.held.get(&card.file).map(|held| held.card.clone());
        self.headings -= old.map_or(0, |old| old.headings());
        self.headings += card.headings();
        self.files.insert(&card.file, card.root());
        self.held.insert_mut(card.file.clone(), held.clone());
    }

    /// Takes a document out; clones of this view do not move.
    pub fn remove(&mut self, file: &str) {
        let Some(old) = self.card(file).cloned() else { return };
        self.index.change(Some(&old), None);
        self.headings -= old.headings();
        self.files.remove(file);
        self.held.remove_mut(file);
    }

    /// Returns the files that are not the same in another view, or are in one of both only.
    pub fn differing(&self, other: &View) -> BTreeSet<Arc<str>> {
        let other_root = |view: &View, card: &Card| view.card(&card.file).map(|card| card.root()) != Some(card.root());
        let here = self.cards().filter(|card| other_root(other, card));
        let there = other.cards().filter(|card| self.card(&card.file).is_none());
        here.chain(there).map(|card| card.file.clone()).collect()
    }
}
