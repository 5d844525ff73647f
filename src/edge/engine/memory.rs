//! How memory changes: files that were read, buffers that changed, and the point that moved.

use crate::domain::count::counted;
use crate::domain::id::{NodeId, ObjectHash, OperationId};
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::document::{Document, PrivacyOptions};
use crate::domain::memory::operation::Why;
use crate::domain::memory::shape::Shape;
use crate::domain::memory::store::{NewRecord, Stamp};
use crate::domain::memory::view::View;
use crate::domain::port::LogLevel;
use crate::edge::engine::Reading;
use crate::edge::engine::changes::Act;
use crate::edge::engine::{Engine, Notice};
use crate::edge::ingest::{IngestReport, Known, Parts, ingest_in_parts};
use crate::edge::org_file::read_text;
use crate::edge::walk::{canonical_name, is_listed};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The cause of operations that read the memex; they are no news.
pub const READ: &str = "read";

/// The cause of operations that follow a buffer of the user.
pub const BUFFER: &str = "buffer-update";

/// The cause of operations that follow an act of ours.
pub const ACT: &str = "act";

/// While the memex is read, memory takes over what was read whenever that is so many bytes.
const PART: u64 = 16 << 20;

impl Engine {
    /// Returns what makes a node private.
    pub fn privacy_options(&self) -> PrivacyOptions {
        PrivacyOptions { tags: self.config.private_tags.clone() }
    }

    /// Builds the document of a text, sharing what did not change with the one that memory has.
    pub fn build(&self, file: &str, text: Arc<str>) -> Result<Document, String> {
        let view = self.view();
        let built = view.follow_text(&Arc::from(file), text, &self.scan_options_of(file), &self.privacy_options());
        let built = built.map_err(|e| format!("{file}: {e}"))?;
        Ok(self.labelled(built))
    }

    /// Puts documents in and takes files out, as one operation. Nothing happens when nothing changed.
    pub fn change_memory(
        &self,
        put: Vec<Arc<Document>>,
        remove: &[String],
        stamps: Vec<Stamp>,
        cause: &str,
        note: &str,
    ) {
        self.change_memory_where(put, remove, stamps, cause, note, &|_, _| true);
    }

    /// Does the same, for those files alone of which `may` says so when it is given memory as it is at that moment.
    pub(super) fn change_memory_where(
        &self,
        put: Vec<Arc<Document>>,
        remove: &[String],
        stamps: Vec<Stamp>,
        cause: &str,
        note: &str,
        may: &dyn Fn(&View, &str) -> bool,
    ) {
        self.change_memory_with(put, remove, stamps, (cause, note), may, &|_| Vec::new());
    }

    /// Does the same with records that are stored in one piece with the operation, and returns that; `None` when
    /// nothing changed.
    pub(super) fn change_memory_with(
        &self,
        put: Vec<Arc<Document>>,
        remove: &[String],
        stamps: Vec<Stamp>,
        (cause, note): (&str, &str),
        may: &dyn Fn(&View, &str) -> bool,
        beside: &dyn Fn(OperationId) -> Vec<NewRecord>,
    ) -> Option<OperationId> {
        let why = Why {
            cause: cause.to_string(),
            origin: "engine".to_string(),
            at: self.clock.now(),
            note: note.to_string(),
        };
        // Of two changes of one file, the index must not take the older one last.
        let order = self.changing.lock();
        // Readers do not wait while the change is made: nobody else moves memory as long as `order` is held.
        let (before, mut transaction) = {
            let memory = self.memory.lock();
            (memory.head().clone(), memory.begin())
        };
        let (put, chats): (Vec<_>, Vec<_>) = put.into_iter().partition(|document| document.is_notes());
        // A file that has become a chat is taken out.
        let remove: BTreeSet<&str> =
            remove.iter().map(String::as_str).chain(chats.iter().map(|chat| &*chat.file)).collect();
        let mut changed = Vec::new();
        let put = put.into_iter().filter(|document| may(&before, &document.file)).collect();
        for document in self.with_labels(put) {
            // The same text means something else when a setup file has changed.
            if before.card(&document.file).is_none_or(|old| !old.is_of(&document)) {
                changed.push(document);
            }
        }
        // A step stores the cards of new texts alone.
        let remade: Vec<Arc<Card>> = {
            let same = |document: &&Arc<Document>| {
                before.card(&document.file).is_some_and(|old| old.root() == document.root())
            };
            changed.iter().filter(same).map(|document| document.card().clone()).collect()
        };
        transaction.put_all(&changed);
        let there = |file: &&str| before.card(file).is_some() && may(&before, file);
        let gone: Vec<&str> = remove.into_iter().filter(there).collect();
        for file in &gone {
            transaction.remove(file);
        }
        if transaction.is_empty() {
            self.archive.stamps(stamps);
            return None;
        }
        let change = transaction.finish(why);
        let mut memory = self.memory.lock();
        let made = change.publish(&mut memory).map(|operation| {
            let id = operation.id;
            self.archive.step_with(operation, memory.head().clone(), beside(id));
            if !remade.is_empty() {
                let shape = Shape { scan: self.scan_options(), privacy: self.privacy_options() };
                self.archive.queue_cards(shape, remade);
            }
            id
        });
        drop(memory);
        self.note_held(&changed, &gone);
        if let Err(conflict) = &made {
            self.say(LogLevel::Error, &format!("BUG: {conflict:?} under the lock"));
        }
        self.archive.stamps(stamps);
        self.note_changes(&before, &changed, cause);
        self.index_follows(&changed, &gone);
        // Whoever is told may change memory, too.
        drop(order);
        (self.notify)(Notice::Status);
        made.ok()
    }

    /// Returns which text of a file memory holds, for [`Engine::edited`].
    pub fn held(&self, file: &str) -> Option<ObjectHash> {
        self.view().card(file).map(|card| card.root())
    }

    /// Takes what an act of ours made of a file, when the file belongs to the memex.
    /// The operation names the change that made it, when `act` is one that is under way.
    ///
    /// `held` is what memory held when the act began. Where memory has gone on to another text since, that came from the
    /// file or the buffer as the act or somebody after it left it, and it stays.
    pub fn edited(&self, file: &str, held: Option<ObjectHash>, text: Arc<str>, act: &Act) {
        if !self.follows(file) {
            return;
        }
        let (cause, note) = self.said_of(file, act);
        let _org = self.hold_org();
        let root = |view: &View| view.card(file).map(|card| card.root());
        let still = |view: &View, file: &str| self.belongs(file) && root(view) == held;
        match self.build(file, text) {
            Ok(document) => {
                let document = Arc::new(document.changed_at(Some(self.clock.now())));
                self.change_memory_where(vec![document], &[], Vec::new(), cause, &note, &still);
            }
            Err(why) => self.say(LogLevel::Warning, &why),
        }
    }

    /// Takes out a file that an act of ours removed.
    pub fn removed(&self, file: &str, act: &Act) {
        if self.follows(file) {
            let (cause, note) = self.said_of(file, act);
            self.change_memory(Vec::new(), &[file.to_string()], Vec::new(), cause, &note);
        }
    }

    fn follows(&self, file: &str) -> bool {
        self.config.directories.iter().any(|root| is_listed(root, Path::new(file)))
    }

    /// Returns the cause and the note of an operation that an act makes.
    fn said_of(&self, file: &str, act: &Act) -> (&'static str, String) {
        match self.cause_of(act) {
            Some((kind, change)) => (kind.name(), format!("{change} {file}")),
            None => (ACT, file.to_string()),
        }
    }

    /// Returns how private a file is that is of the memex; one that memory does not know counts as private, and any other
    /// as open.
    fn file_privacy(&self, file: &str) -> Privacy {
        match self.view().card(file) {
            Some(card) => card.privacy(0),
            None if self.follows(file) => Privacy::Private,
            None => Privacy::Open,
        }
    }

    /// Says which files acts of a turn changed.
    pub(super) fn report_changed(&self, files: &[String]) {
        for file in files {
            self.say_of(LogLevel::Info, self.file_privacy(file), &format!("changed {file}"));
        }
    }

    /// Notes that memory holds this document for a file as it is on disk now, so that it is read again only when it
    /// changes. What changed on disk since memory looked at it last is not noted, and so it is read.
    pub(super) fn hold(&self, held: &[(String, ObjectHash)]) {
        let before = {
            let memory = self.memory.lock();
            memory.view_at(OperationId(memory.at().0.saturating_sub(1)))
        };
        let stamp = |(file, document): &(String, ObjectHash)| {
            let (modified, size) = on_disk(file)?;
            let seen = self.stamps.lock().get(file.as_str()).is_some_and(|s| (s.modified, s.size) == (modified, size));
            let known = || {
                // An act of ours, or a buffer that was saved, may be on disk before it was read there.
                let card = before.as_ref()?.card(file)?;
                let text = read_text(Path::new(file)).ok()?.text;
                (self.build(file, text).ok()?.root() == card.root() && on_disk(file)? == (modified, size)).then_some(())
            };
            (seen || known().is_some()).then(|| Stamp {
                file: file.as_str().into(),
                modified,
                size,
                document: *document,
                settled: true,
            })
        };
        let stamps: Vec<Stamp> = held.iter().filter_map(stamp).collect();
        self.stamps.lock().extend(stamps.iter().map(|stamp| (stamp.file.clone(), stamp.clone())));
        self.archive.stamps(stamps);
    }

    /// Takes the text of one file as it stands in a buffer or on disk now.
    ///
    /// # Errors
    /// When it is too large to be read; memory keeps what it had.
    pub fn take_text(&self, file: &str, text: Arc<str>, cause: &str) -> Result<(), String> {
        self.take_where(file, text, cause, &|_| true)
    }

    /// Takes a text when it is still wanted once it has been read, over what memory holds by then.
    fn take_where(
        &self,
        file: &str,
        text: Arc<str>,
        cause: &str,
        wanted: &dyn Fn(Option<ObjectHash>) -> bool,
    ) -> Result<(), String> {
        let _org = self.hold_org();
        let document = self.build(file, text)?.changed_at(Some(self.clock.now()));
        // Asked while nobody else moves memory. A buffer may have been closed meanwhile.
        let still = |view: &View, file: &str| wanted(view.card(file).map(|card| card.root())) && self.belongs(file);
        self.change_memory_where(vec![Arc::new(document)], &[], Vec::new(), cause, file, &still);
        Ok(())
    }

    /// Moves the focus to the heading at a byte of a file, and returns its id and title.
    pub fn focus_at(&self, file: &str, byte: usize) -> Option<(NodeId, String)> {
        let view = self.view();
        let file = canonical_name(file);
        let node = view.node(&file, view.card(&file)?.at(byte))?;
        let found = (node.id().clone(), node.title().to_string());
        let mut focus = self.focus.lock();
        let moved = focus.as_ref() != Some(&found.0);
        *focus = Some(found.0.clone());
        drop(focus);
        if moved {
            (self.notify)(Notice::Status);
        }
        Some(found)
    }
}

impl Engine {
    /// Takes the text of a buffer, unless a newer one has come meanwhile.
    ///
    /// # Errors
    /// When the text cannot be read; memory keeps what it had.
    pub fn take_buffer(&self, file: &str, text: Arc<str>, wanted: &dyn Fn() -> bool) -> Result<(), String> {
        self.take_where(file, text, BUFFER, &|_| wanted())
    }

    /// Does the same with the text that a buffer had when memory held `held` of its file; returns whether memory still
    /// did. Where it has gone on since, by an act of ours or from the disk, the text may be the one of before: nothing is
    /// taken, and the buffer is to be looked at again.
    ///
    /// # Errors
    /// As [`Engine::take_buffer`].
    pub fn take_buffer_over(
        &self,
        file: &str,
        held: Option<ObjectHash>,
        text: Arc<str>,
        wanted: &dyn Fn() -> bool,
    ) -> Result<bool, String> {
        let moved = Cell::new(false);
        let still = |now: Option<ObjectHash>| {
            moved.set(now != held);
            now == held && wanted()
        };
        self.take_where(file, text, BUFFER, &still)?;
        Ok(!moved.get())
    }

    /// Returns whether the memex was read to its end since this started.
    pub fn has_read_memex(&self) -> bool {
        self.memex_read.load(std::sync::atomic::Ordering::Acquire)
    }

    /// Reads the memex: what is new or has changed on disk. Blocks until it is done.
    ///
    /// Memory takes it over in parts, each an operation of its own: what was read is found while the rest is read, and
    /// only texts that are not stored yet are in memory.
    pub fn read_memex(&self, progress: &mut dyn FnMut(Reading)) -> IngestReport {
        self.leave_out_strangers();
        let reading = WhileReading(self);
        let known = Known { view: self.view(), stamps: self.stamps.lock().clone() };
        let options = self.ingest_options();
        let mut report = ingest_in_parts(
            &self.config.directories,
            &known,
            &options,
            &mut |at| {
                let reading = Reading { done: at.done, total: at.total };
                *self.reading.lock() = Some(reading);
                (self.notify)(Notice::Status);
                progress(reading);
            },
            Parts {
                bytes: PART,
                take: &mut |documents, stamps| {
                    // The part before it is stored by now, or soon: else texts would pile up faster than they are stored.
                    self.archive.wait();
                    let mut part = IngestReport { documents, stamps, ..IngestReport::default() };
                    drop(self.take_report(&mut part, &options, &known.view));
                },
            },
            &self.stop,
        );
        drop(reading);
        // Also what a buffer or an act brought meanwhile did not wake it.
        self.fill_soon();
        // What memory refused is newer than what was read here; what changes on disk is news of its own.
        drop(self.take_report(&mut report, &options, &known.view));
        // Also what a store of an earlier version never looked for.
        self.see_read(None);
        for problem in &report.problems {
            self.say(LogLevel::Warning, &problem.to_string());
        }
        *self.problems.lock() = report.problems.clone();
        self.memex_read.store(true, std::sync::atomic::Ordering::Release);
        let (view, seconds) = (self.view(), report.seconds);
        let (files, headings) = (counted(view.len(), "file"), counted(view.headings(), "heading"));
        let text = format!("the memex has {files} with {headings}; read in {seconds:.2} s");
        self.say_of(LogLevel::Info, Privacy::Open, &text);
        (self.notify)(Notice::Status);
        report
    }
}

/// Returns when a file was changed last, in nanoseconds since 1970, and its size.
fn on_disk(file: &str) -> Option<(i64, u64)> {
    let about = std::fs::metadata(file).ok()?;
    let modified = crate::edge::survey::open::identity(&about).modified;
    Some((i64::try_from(modified).ok()?, about.len()))
}

/// Whatever ends the reading of the memex, nobody waits for it behind that.
struct WhileReading<'a>(&'a Engine);

impl Drop for WhileReading<'_> {
    fn drop(&mut self) {
        *self.0.reading.lock() = None;
    }
}
