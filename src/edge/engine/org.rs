//! Org's settings change while the core runs: memory is made anew by the new ones, beside everything else.
//!
//! No byte of memory is another one, so no operation is logged. Turns go on; each reads what memory is at its moment.

use crate::domain::count::counted;
use crate::domain::memory::card::Card;
use crate::domain::memory::document::Document;
use crate::domain::memory::shape::Shape;
use crate::domain::memory::view::View;
use crate::domain::org::scan::ScanOptions;
use crate::domain::port::LogLevel;
use crate::edge::config::OrgSettings;
use crate::edge::engine::{Engine, Notice};
use parking_lot::RwLockReadGuard;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// So many bytes of texts are put into memory at once.
const BATCH: usize = 4 << 20;
/// So many cards are stored at once: acts wait for no more of them.
const CARDS: usize = 500;

impl Engine {
    /// Returns how Org files are scanned; each with its setup files by [`ScanOptions::of`].
    pub fn scan_options(&self) -> ScanOptions {
        self.setups.scan_options(self.org.read().todo_sequences.clone())
    }

    /// Returns how an Org file is scanned.
    pub fn scan_options_of(&self, file: &str) -> ScanOptions {
        self.scan_options().of(file)
    }

    /// Returns Org's settings as they are now.
    pub fn org_settings(&self) -> OrgSettings {
        self.org.read().clone()
    }

    /// Holds Org's settings as they are: what is read by them meanwhile comes into memory before they change.
    /// Nothing that holds them takes hold of them again.
    pub(super) fn hold_org(&self) -> RwLockReadGuard<'_, ()> {
        self.org_held.read()
    }

    /// Waits until nothing is on its way into memory that was read by the settings before.
    async fn settle_org(self: &Arc<Self>, settings: OrgSettings) -> Result<(), String> {
        let engine = self.clone();
        let set = move || {
            let _nobody = engine.org_held.write();
            *engine.org.write() = settings;
        };
        tokio::task::spawn_blocking(set).await.map_err(|_| "the new settings could not be taken".to_string())
    }

    /// Takes other settings, and makes memory anew by them in the background. Returns whether they are other ones.
    ///
    /// # Errors
    /// When the store has ended; the settings are as they were.
    pub async fn follow_org(self: &Arc<Self>, settings: OrgSettings) -> Result<bool, String> {
        let turn = self.reshaping.clone().lock_owned().await;
        let before = self.org_settings();
        if before == settings {
            return Ok(false);
        }
        let same_scan = before.todo_sequences == settings.todo_sequences;
        if same_scan {
            // Inheritance is looked up when somebody asks.
            self.settle_org(settings).await?;
            return Ok(true);
        }
        let scan = self.setups.scan_options(settings.todo_sequences.clone());
        let shape = Shape { scan, privacy: self.privacy_options() };
        // Before anything is made by them: no card of the new way is stored as one of the old.
        self.archive.reshape(shape.clone()).await?;
        self.settle_org(settings).await?;
        let engine = self.clone();
        let remade = move || {
            let _turn = turn;
            crate::edge::thread::step_back();
            engine.make_anew(&shape);
        };
        crate::edge::thread::spawn("passepartout-org", 8 << 20, remade).map_err(|error| error.to_string())?;
        Ok(true)
    }

    /// Makes every document of memory anew, a batch after the other.
    fn make_anew(&self, shape: &Shape) {
        let begun = std::time::Instant::now();
        self.full_text_rests();
        let clear = |view: &View| view.shelf().inspect(|shelf| shelf.clear()).is_some();
        let view = self.view();
        clear(&view);
        let cards: Vec<Arc<Card>> = view.cards().cloned().collect();
        let (mut batch, mut bytes, mut differing) = (Vec::new(), 0, 0);
        for card in &cards {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let Some(document) = self.made_anew(card) else { continue };
            differing += usize::from(Card::of(&document) != **card);
            bytes += document.outline.text.len();
            batch.push(document);
            if bytes >= BATCH {
                self.take_anew(std::mem::take(&mut batch), &cards);
                bytes = 0;
            }
        }
        self.take_anew(batch, &cards);
        // What somebody made meanwhile, of a text that was read before.
        clear(&view);
        self.full_text_goes_on();
        let text = format!(
            "memory was read anew by Org's new settings: {} {} otherwise; it took {:.2} s",
            counted(differing, "file"),
            if differing == 1 { "reads" } else { "read" },
            begun.elapsed().as_secs_f64()
        );
        self.say(LogLevel::Info, &text);
        (self.notify)(Notice::Status);
        if let Err(why) = self.keep_cards(shape) {
            self.say(LogLevel::Warning, &format!("the next start reads all texts again: {why}"));
        }
    }

    /// Makes a document anew; `None` when it would be as it is, or its text cannot be had.
    fn made_anew(&self, card: &Card) -> Option<Arc<Document>> {
        let view = self.view();
        // At hand as a whole means that it is held as it was made before.
        let held = view.warm(&card.file).is_some();
        let before = view.document(&card.file)?;
        let document = self.build(&card.file, before.outline.text.clone()).ok()?.changed_at(before.modified);
        (held || Card::of(&document) != *card).then(|| Arc::new(document))
    }

    /// Puts documents in the place of those of the same texts.
    pub(super) fn take_anew(&self, documents: Vec<Arc<Document>>, before: &[Arc<Card>]) {
        if documents.is_empty() {
            return;
        }
        let order = self.changing.lock();
        let taken = self.memory.lock().reshape(documents);
        self.note_held(&taken, &[]);
        let other = |document: &&Arc<Document>| {
            let at = before.binary_search_by(|card| card.file.cmp(&document.file)).ok();
            at.and_then(|at| before.get(at)).is_none_or(|card| Card::of(document) != **card)
        };
        let other: Vec<Arc<Document>> = taken.iter().filter(other).cloned().collect();
        self.index_follows(&other, &[]);
        drop(order);
        (self.notify)(Notice::Status);
    }

    /// Stores the cards as they are now, so that the next start reads no text.
    fn keep_cards(&self, shape: &Shape) -> Result<(), String> {
        let view = self.view();
        let cards: Vec<Arc<Card>> = view.cards().cloned().collect();
        for some in cards.chunks(CARDS) {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.archive.keep_cards(shape.clone(), some.to_vec(), false)?;
        }
        // What moved meanwhile; from here on every step keeps its own.
        let (at, now) = {
            let memory = self.memory.lock();
            (memory.at(), memory.head().clone())
        };
        let moved = now.differing(&view);
        let moved = moved.iter().filter_map(|file| now.card(file).cloned()).collect();
        if self.archive.keep_cards(shape.clone(), moved, true)? >= at {
            // What was made anew before it was saved is saved by now: it need not stay here.
            now.settle(now.cards().map(|card| card.file.as_ref()));
        }
        Ok(())
    }
}
