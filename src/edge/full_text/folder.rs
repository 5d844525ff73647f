//! The folder in which the segments of one store lie.
//!
//! Names are hashes of content and files never change, so several processes may use it at once: each writes under a name
//! of its own and renames, and what is removed stays readable for whoever has it open. Unused files are swept when no
//! other process uses the folder, or when they are old.

use crate::domain::context::build::{JoinError, Sink};
use crate::domain::context::lexical::{Crowd, Index};
use crate::domain::context::segment::Segment;
use crate::domain::context::words::EDITION;
use crate::domain::memory::view::View;
use crate::domain::org::scan::ScanOptions;
use crate::edge::full_text::pages::{Cache, Draft, Reading, Unfit, open};
use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

/// What pages of all segments together may take in memory.
const CACHE_BYTES: usize = 16 << 20;
/// Files that nobody uses are swept after this, though another process uses the folder.
const OLD: Duration = Duration::from_secs(7 * 24 * 3600);
/// Folders of stores that were not opened for so long are swept.
const ABANDONED: Duration = Duration::from_secs(60 * 24 * 3600);

/// The segments of one store.
pub struct Folder {
    path: PathBuf,
    reading: Reading,
    cache: Arc<Cache>,
    /// Held shared as long as the folder is used.
    lock: Mutex<File>,
    /// The files of the segments that were opened or written here.
    files: Mutex<Vec<(Weak<Segment>, PathBuf)>>,
}

/// What a folder held.
#[derive(Default)]
pub struct Found {
    /// Every segment that holds something of memory as it is, and none of the rest of what they hold.
    pub index: Index,
    /// How many files were not as they had been written; they are removed.
    pub damaged: usize,
}

/// Returns what the words of a text depend on, beside the text.
pub fn reading(options: &ScanOptions) -> Reading {
    let mut hasher = blake3::Hasher::new_derive_key("passepartout full text reading");
    hasher.update(&EDITION.to_le_bytes());
    // Keywords are no words of the title.
    hasher.update(format!("{:?}", options.sequences).as_bytes());
    *hasher.finalize().as_bytes()
}

/// Takes what is written until it is told to stop.
struct UnlessStopped<'a> {
    draft: Draft,
    stop: &'a AtomicBool,
}

impl Sink for UnlessStopped<'_> {
    type Error = io::Error;

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(io::Error::new(io::ErrorKind::Interrupted, "it was stopped")),
            false => self.draft.put(bytes),
        }
    }
}

impl Folder {
    /// Opens, or makes, the folder of a store below our cache folder.
    ///
    /// # Errors
    /// When it cannot be made or written.
    pub fn open(cache: &Path, store: &Path, reading: Reading) -> io::Result<Folder> {
        let mut hasher = blake3::Hasher::new_keyed(&reading);
        let name = hasher.update(store.as_os_str().as_encoded_bytes()).finalize().to_hex();
        let all = cache.join("full-text");
        let path = all.join(name.get(..24).unwrap_or_default());
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path.join("lock"))?;
        lock.lock_shared()?;
        // Only tells that the folder is used still.
        let _ = lock.set_modified(SystemTime::now());
        sweep_abandoned(&all, &path);
        let cache = Cache::new(CACHE_BYTES);
        Ok(Folder { path, reading, cache, lock: Mutex::new(lock), files: Mutex::default() })
    }

    /// Returns where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the segments that hold something of a memory.
    pub fn load(&self, view: &View) -> Found {
        let mut found = Found::default();
        let name = |file: &str| view.card(file).map_or_else(|| Arc::from(file), |known| known.file.clone());
        let mut segments: Vec<(Arc<Segment>, PathBuf)> = Vec::new();
        for path in self.entries("seg") {
            match open(&path, &self.reading, &self.cache, &name) {
                Ok(segment) => segments.push((segment, path)),
                Err(Unfit::Damaged) => {
                    // Another process may just have swept it.
                    found.damaged += usize::from(std::fs::remove_file(&path).is_ok());
                }
                Err(Unfit::Foreign) => {}
            }
        }
        // Of two that hold the same the larger one is taken.
        segments.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.1.cmp(&b.1)));
        for (segment, path) in segments {
            found.index = found.index.adopting(segment.clone(), view);
            self.remember(&segment, path);
        }
        found
    }

    /// Writes a segment that is in memory to a file; returns the one to use from now on.
    ///
    /// # Errors
    /// When the disk takes no more, or what was written cannot be read again.
    pub fn keep(&self, segment: &Segment) -> io::Result<Arc<Segment>> {
        use crate::domain::context::build::Sink;
        let mut draft = Draft::begin(&self.path)?;
        draft.put(segment.memory().unwrap_or_default())?;
        self.finish(draft, segment.head())
    }

    /// Joins segments into a file.
    ///
    /// # Errors
    /// As [`Folder::keep`], and when one of them is broken.
    pub fn join(&self, crowd: &Crowd) -> io::Result<Arc<Segment>> {
        self.join_unless(crowd, &AtomicBool::new(false))
    }

    /// Does the same, unless it is told to stop meanwhile.
    ///
    /// # Errors
    /// As [`Folder::join`], and when it was stopped; then nothing is written.
    pub fn join_unless(&self, crowd: &Crowd, stop: &AtomicBool) -> io::Result<Arc<Segment>> {
        let mut sink = UnlessStopped { draft: Draft::begin(&self.path)?, stop };
        let head = crowd.join(&mut sink).map_err(|error| match error {
            JoinError::Broken => io::Error::other("a part of the index is damaged"),
            JoinError::Sink(error) => error,
        })?;
        self.finish(sink.draft, &head)
    }

    fn finish(&self, draft: Draft, head: &crate::domain::context::segment::Head) -> io::Result<Arc<Segment>> {
        let names: std::collections::HashMap<&str, &Arc<str>> =
            head.shares.iter().map(|share| (share.file.as_ref(), &share.file)).collect();
        let path = draft.finish(head, &self.reading)?;
        let name = |file: &str| names.get(file).map_or_else(|| Arc::from(file), |name| (*name).clone());
        let segment = open(&path, &self.reading, &self.cache, &name)
            .map_err(|unfit| io::Error::other(format!("what was written to {} is {unfit:?}", path.display())))?;
        self.remember(&segment, path);
        Ok(segment)
    }

    fn remember(&self, segment: &Arc<Segment>, path: PathBuf) {
        self.files.lock().push((Arc::downgrade(segment), path));
    }

    /// Removes the files that an index does not use, if no other process may use them; returns how many.
    pub fn sweep(&self, index: &Index) -> usize {
        let mut files = self.files.lock();
        let used =
            |segment: &Weak<Segment>| index.segments().any(|used| std::ptr::eq(Arc::as_ptr(used), segment.as_ptr()));
        files.retain(|(segment, _)| used(segment));
        let lock = self.lock.lock();
        let alone = lock.try_lock().is_ok();
        let old = |path: &Path| {
            let modified = std::fs::metadata(path).and_then(|about| about.modified());
            modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > OLD))
        };
        let mut swept = 0;
        for path in self.entries("seg").into_iter().chain(self.entries("part")) {
            if !files.iter().any(|(_, used)| *used == path) && (alone || old(&path)) {
                swept += usize::from(std::fs::remove_file(&path).is_ok());
            }
        }
        // Whoever waits for the whole lock does so for as long as a sweep takes.
        let _ = lock.lock_shared();
        swept
    }

    fn entries(&self, extension: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<PathBuf> =
            entries.filter(|path| path.extension().is_some_and(|known| known == extension)).collect();
        found.sort();
        found
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = self.lock.lock().unlock();
    }
}

/// Removes the folders beside ours whose stores nobody opened for long.
fn sweep_abandoned(all: &Path, ours: &Path) {
    for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
        let path = entry.path();
        let lock = path.join("lock");
        let modified = std::fs::metadata(&lock).and_then(|about| about.modified());
        let abandoned = modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED));
        if path != ours
            && abandoned
            && let Ok(held) = File::open(&lock)
            && held.try_lock().is_ok()
        {
            // A cache: what cannot be removed does no harm.
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}
