//! Texts on demand: what was read lately is still warm, everything else is asked of the store when it is wanted.

use crate::domain::id::ObjectHash;
use crate::domain::memory::card::Card;
use crate::domain::memory::document::Document;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// So many bytes of texts, and of what was made of them, stay warm unless something else is said.
pub const WARM_BYTES: usize = 32 << 20;
/// What a heading of a whole document takes beside its text, in bytes, roughly.
const NODE_BYTES: usize = 320;

/// Gives back the texts of documents that were saved. It blocks, and is asked by several threads.
pub trait Texts: Send + Sync {
    /// Returns the text of a document, checked by its hash.
    ///
    /// # Errors
    /// In words, when it is damaged or cannot be read.
    fn text(&self, file: &str, document: ObjectHash) -> Result<Arc<str>, String>;

    /// Makes a document of a text, as when it was first read.
    ///
    /// # Errors
    /// When it is too large to be read.
    fn build(&self, file: &Arc<str>, text: Arc<str>) -> Result<Document, String>;
}

/// A text, and the document of it once somebody wanted that.
pub struct Book {
    text: Arc<str>,
    document: OnceLock<Option<Arc<Document>>>,
}

/// Told of a text that cannot be had.
type Listener = Box<dyn Fn(&str) + Send + Sync>;

/// Where the texts of a memory come from, and which of them are warm.
pub struct Shelf {
    texts: Box<dyn Texts>,
    most: usize,
    warm: Mutex<Warm>,
    /// What cannot be had, each once.
    lost: Mutex<HashSet<ObjectHash>>,
    /// What was said before anybody listened.
    unsaid: Mutex<Vec<String>>,
    listener: OnceLock<Listener>,
}

/// A file with exactly this content.
type Name = (Arc<str>, ObjectHash);

#[derive(Default)]
struct Warm {
    books: HashMap<Name, (u64, usize, Arc<Book>)>,
    /// Names by when they were last wanted.
    order: BTreeMap<u64, Name>,
    clock: u64,
    bytes: usize,
}

impl Book {
    /// Makes one of a document.
    pub fn of(document: Arc<Document>) -> Book {
        Book { text: document.outline.text.clone(), document: OnceLock::from(Some(document)) }
    }

    /// Returns the text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns the document if it has been made already.
    pub fn made(&self) -> Option<Arc<Document>> {
        self.document.get().cloned().flatten()
    }

    fn bytes(&self) -> usize {
        let nodes = self.made().map_or(0, |document| document.outline.nodes.len());
        self.text.len() + nodes * NODE_BYTES
    }
}

impl Shelf {
    /// Makes a shelf that keeps about so many bytes warm.
    pub fn new(texts: Box<dyn Texts>, most: usize) -> Shelf {
        Shelf {
            texts,
            most,
            warm: Mutex::default(),
            lost: Mutex::default(),
            unsaid: Mutex::default(),
            listener: OnceLock::new(),
        }
    }

    /// Hears from now on, and of what was said before, which texts cannot be had. The first listener stays.
    pub fn listen(&self, listener: impl Fn(&str) + Send + Sync + 'static) {
        if self.listener.set(Box::new(listener)).is_ok() {
            for text in std::mem::take(&mut *self.unsaid.lock()) {
                self.say(text);
            }
        }
    }

    /// Returns how many bytes are warm, about.
    pub fn warm_bytes(&self) -> usize {
        self.warm.lock().bytes
    }

    /// Lets go of everything that is warm: it was made in another way than it would be now.
    pub fn clear(&self) {
        *self.warm.lock() = Warm::default();
    }

    /// Returns a text when it is warm.
    pub(super) fn look(&self, file: &Arc<str>, document: ObjectHash) -> Option<Arc<Book>> {
        self.warm.lock().touch(&(file.clone(), document))
    }

    /// Returns a text, from the store if need be; `None` when it cannot be had, which is said once.
    pub(super) fn take(&self, file: &Arc<str>, document: ObjectHash) -> Option<Arc<Book>> {
        if let Some(book) = self.look(file, document) {
            return Some(book);
        }
        // Nobody waits for another one's reading: at worst a text is read twice.
        match self.texts.text(file, document) {
            Ok(text) => {
                let book = Arc::new(Book { text, document: OnceLock::new() });
                self.keep(file, document, book.clone());
                Some(book)
            }
            Err(why) => {
                self.complain(file, document, &why);
                None
            }
        }
    }

    /// Returns the document of a text; the card knows when its file was changed.
    pub(super) fn make(&self, card: &Card, book: &Arc<Book>) -> Option<Arc<Document>> {
        let make = || match self.texts.build(&card.file, book.text.clone()) {
            Ok(mut made) if made.root() == card.root() => {
                made.name_as(card);
                made.hold_as(card);
                Some(Arc::new(made.changed_at(card.modified())))
            }
            Ok(_) => {
                self.complain(&card.file, card.root(), "it is not the text that was stored, and was changed since");
                None
            }
            Err(why) => {
                self.complain(&card.file, card.root(), &why);
                None
            }
        };
        let made = book.document.get_or_init(make);
        if made.as_ref().is_some_and(|made| !made.is_made_as(card)) {
            // A view of another time had other names and labels for the same text: each has its own.
            return make();
        }
        // It takes more room now.
        self.keep(&card.file, card.root(), book.clone());
        made.clone()
    }

    /// Keeps a text warm, and lets go of those that were not wanted for longest.
    pub(super) fn keep(&self, file: &Arc<str>, document: ObjectHash, book: Arc<Book>) {
        let mut warm = self.warm.lock();
        let name = (file.clone(), document);
        warm.let_go(&name);
        let (clock, bytes) = (warm.clock, book.bytes());
        warm.clock += 1;
        warm.bytes += bytes;
        warm.order.insert(clock, name.clone());
        warm.books.insert(name, (clock, bytes, book));
        while warm.bytes > self.most
            && let Some((_, name)) = warm.order.pop_first()
        {
            warm.let_go(&name);
        }
    }

    fn complain(&self, file: &str, document: ObjectHash, why: &str) {
        if self.lost.lock().insert(document) {
            self.say(format!("{file}: its text cannot be had: {why}"));
        }
    }

    fn say(&self, text: String) {
        match self.listener.get() {
            Some(listener) => listener(&text),
            None => self.unsaid.lock().push(text),
        }
    }
}

impl Warm {
    fn touch(&mut self, name: &Name) -> Option<Arc<Book>> {
        let clock = self.clock;
        let (last, _, book) = self.books.get_mut(name)?;
        let before = std::mem::replace(last, clock);
        let book = book.clone();
        self.order.remove(&before);
        self.order.insert(clock, name.clone());
        self.clock += 1;
        Some(book)
    }

    fn let_go(&mut self, name: &Name) {
        if let Some((clock, bytes, _)) = self.books.remove(name) {
            self.order.remove(&clock);
            self.bytes -= bytes;
        }
    }
}
