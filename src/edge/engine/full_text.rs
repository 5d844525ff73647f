//! How the full-text index follows memory: at once for what is small, in the background for what is not.
//!
//! At a start the segments of the cache folder are opened, and what they do not hold is read from memory's texts in a
//! thread of its own, which also joins segments and writes them down. Questions are answered all the while, from what is
//! indexed so far, and [`Engine::filling`] says how far that is.

use crate::domain::context::build::Builder;
use crate::domain::context::lexical::{BATCH, Crowd, Index};
use crate::domain::context::segment::Segment;
use crate::domain::memory::document::Document;
use crate::domain::memory::view::View;
use crate::domain::port::LogLevel;
use crate::edge::engine::{Engine, Notice};
use crate::edge::full_text::folder::{self, Folder};
use parking_lot::{Condvar, Mutex, RwLock};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// Texts of at most so many bytes are indexed at once, by whoever brings them.
const AT_ONCE: usize = 256 << 10;
/// After a start so many headings are indexed at once, before anything is asked.
const AT_START: usize = 2_000;
/// So many headings are worth a second thread.
const SHARED: usize = 20_000;
/// Segments in memory that take more than this together are joined and written down.
const IN_MEMORY: usize = 4 << 20;
/// The stack of the thread that fills the index.
const STACK: usize = 2 << 20;

/// How far the full-text index has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filling {
    /// Files whose words can be found.
    pub done: usize,
    /// Files that there are.
    pub total: usize,
}

impl fmt::Display for Filling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the words of {} of {} files are indexed so far", self.done, self.total)
    }
}

/// The state of the full-text index's keeping.
#[derive(Default)]
pub struct FullText {
    folder: RwLock<Option<Arc<Folder>>>,
    /// Whether there was a folder before memory began to be made anew.
    put_aside: Mutex<bool>,
    /// Counts how often memory was made anew under the index.
    edition: AtomicU64,
    state: Mutex<State>,
    /// Told when nothing is left to do.
    rested: Condvar,
    /// Whether the user was told that it cannot be written down.
    told: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Whether the thread runs.
    running: bool,
    /// Whether something changed since it looked.
    wanted: bool,
    filling: Option<Filling>,
}

/// What threads that fill the index share.
struct Work {
    view: View,
    /// How often memory had been made anew by then.
    edition: u64,
    /// The files whose words are missing.
    missing: Vec<Arc<str>>,
    /// Which of them comes next.
    next: AtomicUsize,
    /// How many could not be read.
    lost: AtomicUsize,
    /// How many files have all of their words in the index.
    done: AtomicUsize,
}

impl FullText {
    /// Keeps the index in a folder, or in memory alone.
    pub fn new(folder: Option<Folder>) -> FullText {
        FullText { folder: RwLock::new(folder.map(Arc::new)), ..FullText::default() }
    }

    fn folder(&self) -> Option<Arc<Folder>> {
        self.folder.read().clone()
    }
}

impl Engine {
    /// Returns the index of memory now. It may lag behind while it is being filled; see [`Engine::filling`].
    pub fn index(&self) -> Index {
        let index = self.index.read().clone();
        if index.segments().any(|segment| segment.is_broken()) {
            self.fill_soon();
        }
        index
    }

    /// Returns how far the full-text index has come; `None` when it has everything.
    pub fn filling(&self) -> Option<Filling> {
        self.full_text.state.lock().filling
    }

    /// Waits until the index has all of memory, or the engine stops. Blocks.
    pub fn wait_until_filled(&self) {
        let mut state = self.full_text.state.lock();
        while state.running {
            self.full_text.rested.wait(&mut state);
        }
    }

    /// Opens what the cache folder holds, and begins to read what it does not. Blocks for as long as opening takes.
    pub(super) fn start_full_text(self: &Arc<Engine>) {
        let view = self.view();
        if let Some(folder) = self.full_text.folder() {
            let found = folder.load(&view);
            *self.index.write() = found.index;
            if found.damaged > 0 {
                self.say_damaged(&folder);
            }
        }
        let (index, missing) = self.index.read().clone().compared(&view);
        let headings = missing.iter().filter_map(|file| view.card(file)).map(|card| card.len());
        if headings.sum::<usize>() > AT_START {
            *self.index.write() = index;
            self.say_filling(Some(Filling { done: view.len().saturating_sub(missing.len()), total: view.len() }));
            self.fill_soon();
            return;
        }
        let (mut builder, mut lost) = (Builder::default(), 0);
        for file in &missing {
            match view.document(file) {
                Some(document) => builder.add(&document),
                None => lost += 1,
            }
        }
        let filled = Filling { done: view.len().saturating_sub(lost), total: view.len() };
        self.say_filling((lost > 0).then_some(filled));
        *self.index.write() =
            if builder.is_empty() { index } else { index.adopting(Arc::new(builder.finish()), &view) };
    }

    /// Memory is being made anew by other settings: nothing of the index is written down meanwhile, as what lies in the
    /// folder was read by the old ones.
    pub(super) fn full_text_rests(&self) {
        let folder = self.full_text.folder.write().take();
        *self.full_text.put_aside.lock() = folder.is_some();
        let _order = self.changing.lock();
        self.full_text.edition.fetch_add(1, Ordering::Relaxed);
    }

    /// Memory was made anew: from now on the index is written down where the new settings have their folder. What did
    /// not change is found in the old one as long as this core runs.
    pub(super) fn full_text_goes_on(&self) {
        if std::mem::take(&mut *self.full_text.put_aside.lock()) {
            let reading = folder::reading(&self.scan_options());
            let opened = Folder::open(&self.config.cache, &self.config.store, reading);
            *self.full_text.folder.write() = opened.ok().map(Arc::new);
        }
        {
            let _order = self.changing.lock();
            self.full_text.edition.fetch_add(1, Ordering::Relaxed);
        }
        self.fill_soon();
    }

    /// Lets the index follow a change of memory. The caller holds the lock of changes.
    pub(super) fn index_follows(&self, changed: &[Arc<Document>], gone: &[&str]) {
        let mut index = self.index.read().clone();
        for file in gone {
            index = index.without(file);
        }
        let bytes: usize = changed.iter().map(|document| document.outline.text.len()).sum();
        let at_once = bytes <= AT_ONCE;
        for document in changed {
            index = if at_once { index.with(document) } else { index.without(&document.file) };
        }
        // Joining larger segments is not for whoever brings a change.
        let busy = index.in_memory(IN_MEMORY).is_some() || index.crowd(usize::MAX).is_some();
        *self.index.write() = index;
        self.embed_soon();
        self.jobs_follow(changed, gone);
        self.quotations_follow(changed, gone, at_once);
        if !at_once {
            let total = self.view().len();
            self.say_filling(Some(Filling { done: total.saturating_sub(changed.len()), total }));
        }
        // While the memex is read in parts, reading comes first: it wakes the thread at its end.
        if (!at_once || busy) && self.reading().is_none() {
            self.fill_soon();
        }
    }

    /// Wakes the thread that fills the index.
    pub(super) fn fill_soon(&self) {
        let mut state = self.full_text.state.lock();
        state.wanted = true;
        if state.running || self.stop.load(Ordering::Relaxed) {
            return;
        }
        let me = self.me.clone();
        state.running = crate::edge::thread::spawn("passepartout-full-text", STACK, move || fill(&me)).is_ok();
        if !state.running {
            drop(state);
            self.say(LogLevel::Error, "the full-text index is not complete: the system gives no thread");
        }
    }

    /// Returns whether something is to be done, and takes it as being done; when not, the thread has ended.
    fn wants_filling(&self) -> bool {
        let mut state = self.full_text.state.lock();
        if std::mem::take(&mut state.wanted) && !self.stop.load(Ordering::Relaxed) {
            return true;
        }
        // Under the same lock: what comes from here on starts another thread.
        state.running = false;
        false
    }

    fn rest(&self) {
        {
            let mut state = self.full_text.state.lock();
            // Another thread may have begun already.
            if state.running && !std::thread::panicking() {
                return;
            }
            state.running = false;
            // What it had not come to stays said.
            self.full_text.rested.notify_all();
        }
    }

    /// Writes down what of the index is in memory only. Blocks.
    pub(super) fn keep_full_text(&self) {
        self.wait_until_filled();
        let Some(folder) = self.full_text.folder() else { return };
        let index = self.index.read().clone();
        if let Some(crowd) = index.in_memory(0)
            && folder.join(&crowd).is_err()
        {
            // The texts are in memory's store; the next start reads them again.
            self.say(LogLevel::Info, "the newest part of the full-text index was not written down");
        }
    }

    /// Does what is to be done for the index.
    fn fill_once(&self) {
        self.mend();
        self.fill_quotations();
        let (missing, view, edition) = {
            let _order = self.changing.lock();
            let view = self.view();
            let (index, missing) = self.index.read().compared(&view);
            *self.index.write() = index;
            (missing, view, self.full_text.edition.load(Ordering::Relaxed))
        };
        let filling = Filling { done: view.len().saturating_sub(missing.len()), total: view.len() };
        self.say_filling((!missing.is_empty()).then_some(filling));
        let headings: usize = missing.iter().filter_map(|file| view.card(file)).map(|card| card.len()).sum();
        let work = Work {
            view,
            missing,
            edition,
            next: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            done: filling.done.into(),
        };
        std::thread::scope(|scope| {
            if headings > SHARED && std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
                let thread = std::thread::Builder::new().name("passepartout-full-text-2".to_string()).stack_size(STACK);
                let run = || {
                    crate::edge::thread::block_signals();
                    self.take_share(&work, &|| {});
                };
                // Without a second thread it takes longer.
                let _ = thread.spawn_scoped(scope, run);
            }
            self.take_share(&work, &|| self.join_crowds());
        });
        if self.stop.load(Ordering::Relaxed) {
            return;
        }
        self.join_crowds();
        let (total, lost) = (work.view.len(), work.lost.into_inner());
        self.say_filling((lost > 0).then_some(Filling { done: total.saturating_sub(lost), total }));
        if let Some(folder) = self.full_text.folder() {
            folder.sweep(&self.index.read());
        }
    }

    /// Indexes files until none is left; does something else after each segment.
    fn take_share(&self, work: &Work, after: &dyn Fn()) {
        let (mut builder, mut held) = (Builder::default(), 0);
        while let Some(file) = work.missing.get(work.next.fetch_add(1, Ordering::Relaxed)) {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            match work.view.document(file) {
                Some(document) => {
                    builder.add(&document);
                    held += 1;
                }
                // What went away or changed meanwhile is not missed.
                None => {
                    work.lost.fetch_add(usize::from(self.has_lost(&work.view, file)), Ordering::Relaxed);
                }
            }
            if builder.size() >= BATCH {
                self.take_in(builder.cut(), work.edition);
                let held = std::mem::take(&mut held);
                let done = work.done.fetch_add(held, Ordering::Relaxed) + held;
                self.say_filling(Some(Filling { done, total: work.view.len() }));
                after();
            }
        }
        if !builder.is_empty() {
            self.take_in(builder.finish(), work.edition);
        }
    }

    /// Returns whether a file is in memory as a view has it, when its text could not be had.
    fn has_lost(&self, view: &View, file: &str) -> bool {
        let root = |view: &View| view.card(file).map(|card| card.root());
        root(view).is_some() && root(view) == root(&self.view())
    }

    /// Joins what has become too many segments.
    fn join_crowds(&self) {
        while !self.stop.load(Ordering::Relaxed)
            && let Some(crowd) = self.crowd()
            && self.take_joined(&crowd)
        {}
    }

    fn crowd(&self) -> Option<Crowd> {
        let index = self.index.read();
        index
            .in_memory(IN_MEMORY)
            .filter(|_| self.full_text.folder.read().is_some())
            .or_else(|| index.crowd(usize::MAX))
    }

    /// Leaves out what cannot be read as it was written, and says so.
    fn mend(&self) {
        let order = self.changing.lock();
        let index = self.index.read().without_broken();
        let Some(index) = index else { return };
        *self.index.write() = index;
        drop(order);
        if let Some(folder) = self.full_text.folder() {
            self.say_damaged(&folder);
        }
    }

    fn say_damaged(&self, folder: &Folder) {
        let path = folder.path().display();
        let text = format!("the full-text index in {path} was damaged; what is lost is being read again from memory");
        self.say(LogLevel::Warning, &text);
    }

    fn say_filling(&self, filling: Option<Filling>) {
        let before = std::mem::replace(&mut self.full_text.state.lock().filling, filling);
        if before != filling {
            (self.notify)(Notice::Status);
        }
    }

    /// Takes what was indexed, unless memory was made anew since: then it is indexed once more.
    fn take_in(&self, segment: Segment, edition: u64) {
        let segment = self.on_disk(|folder| folder.keep(&segment)).unwrap_or_else(|| Arc::new(segment));
        let _order = self.changing.lock();
        if self.full_text.edition.load(Ordering::Relaxed) != edition {
            self.full_text.state.lock().wanted = true;
            return;
        }
        let index = self.index.read().adopting(segment, &self.view());
        *self.index.write() = index;
    }

    fn take_joined(&self, crowd: &Crowd) -> bool {
        let joined = self.on_disk(|folder| folder.join_unless(crowd, &self.stop)).or_else(|| {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            // Without a disk only what is in memory already is joined there.
            let mut body = Vec::new();
            let head = crowd.is_in_memory().then(|| crowd.join(&mut body))?.ok()?;
            Some(Arc::new(Segment::in_memory(head, body)))
        });
        let Some(joined) = joined else { return false };
        let _order = self.changing.lock();
        let index = self.index.read().joined(crowd, joined);
        *self.index.write() = index;
        true
    }

    /// Writes a segment down; `None` when there is no folder, or it takes no more.
    fn on_disk(&self, keep: impl Fn(&Folder) -> std::io::Result<Arc<Segment>>) -> Option<Arc<Segment>> {
        let folder = self.full_text.folder()?;
        match keep(&folder) {
            Ok(segment) => Some(segment),
            // Whoever ends does not wait for it, and the next start does it again.
            Err(_) if self.stop.load(Ordering::Relaxed) => None,
            Err(why) => {
                if !self.full_text.told.swap(true, Ordering::Relaxed) {
                    let path = folder.path().display();
                    let text =
                        format!("the full-text index stays in memory: {path} takes no more: {why}; make room there");
                    self.say(LogLevel::Warning, &text);
                }
                None
            }
        }
    }
}

/// Fills the index until nothing is left to do.
fn fill(engine: &Weak<Engine>) {
    crate::edge::thread::step_back();
    let Some(engine) = engine.upgrade() else { return };
    let _resting = Resting(&engine);
    while engine.wants_filling() {
        engine.fill_once();
    }
}

/// Whatever ends the thread, nobody waits for it behind that, and the next change may start another.
struct Resting<'a>(&'a Engine);

impl Drop for Resting<'_> {
    fn drop(&mut self) {
        self.0.rest();
    }
}
