//! Reads folders of Org files into documents: beside everything else, on threads of its own, losing nothing.
//!
//! A file that looks as it did when it was last read is not read again. One that cannot be read now keeps
//! its last known content, and one line says so. Only a file that is known to be gone is reported as removed.

use crate::domain::memory::document::{Document, PrivacyOptions};
use crate::domain::memory::store::Stamp;
use crate::domain::memory::view::View;
use crate::domain::org::decode::decode;
use crate::domain::org::scan::{MAX_BYTES, ScanOptions};
use crate::domain::org::setup::is_elsewhere;
use crate::domain::turn::panic_text;
use crate::edge::org_file::{OrgFileError, read_bytes};
use crate::edge::thread::block_signals;
use crate::edge::walk::{WalkError, org_files, org_files_at, org_files_of};
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread;
use std::time::{Instant, SystemTime};

/// The largest file that is read unless the options say otherwise, in bytes.
pub const MAX_FILE: u64 = MAX_BYTES as u64;
/// Files of more bytes than this are read one at a time, whatever the number of threads: it bounds memory.
const LARGE: u64 = 16 << 20;
/// How many files may wait to be collected; it bounds what is in memory twice.
const WAITING: usize = 32;
/// The stack of a worker, in bytes; nothing recurses on what a file holds.
const STACK: usize = 4 << 20;
/// How often a file that changes while it is read is begun anew.
const TRIES: usize = 3;
/// A file that was changed less than this many nanoseconds ago may change again without a new time.
const UNSETTLED: i64 = 2_000_000_000;

/// How files are read.
#[derive(Clone, Debug)]
pub struct IngestOptions {
    /// How they are scanned.
    pub scan: ScanOptions,
    /// What makes a node private.
    pub privacy: PrivacyOptions,
    /// Larger files are not read, in bytes.
    pub max_bytes: u64,
    /// How many threads read; at least one does.
    pub threads: usize,
    /// Roots: files are read whatever their name, and of what is away what is known is kept.
    pub named: Vec<PathBuf>,
}

impl Default for IngestOptions {
    fn default() -> Self {
        let (scan, privacy) = (ScanOptions::default(), PrivacyOptions::default());
        IngestOptions { scan, privacy, max_bytes: MAX_FILE, threads: 2, named: Vec::new() }
    }
}

/// What memory knows already.
#[derive(Default)]
pub struct Known {
    /// Memory as it is.
    pub view: View,
    /// What files looked like when they were read, by file.
    pub stamps: HashMap<Arc<str>, Stamp>,
}

impl Known {
    /// Makes it of a view and the stamps that a store gave back.
    pub fn new(view: View, stamps: impl IntoIterator<Item = Stamp>) -> Known {
        Known { view, stamps: stamps.into_iter().map(|stamp| (stamp.file.clone(), stamp)).collect() }
    }
}

/// How far it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files that are done, read or not.
    pub done: usize,
    /// Files in all.
    pub total: usize,
    /// Bytes that were read.
    pub bytes: u64,
}

/// What went wrong with one file or folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Which one, as it can be shown: control characters are escaped.
    pub file: String,
    /// What happened, and what it means.
    pub text: String,
}

impl Problem {
    /// Returns whether this is about a setup file that is not read.
    pub fn is_of_setup(&self) -> bool {
        self.text.starts_with(SETUP)
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.file, self.text)
    }
}

/// What came of it.
#[derive(Default)]
pub struct IngestReport {
    /// New and changed documents, by file.
    pub documents: Vec<Arc<Document>>,
    /// Files that are gone.
    pub removed: Vec<Arc<str>>,
    /// What the files that were read looked like.
    pub stamps: Vec<Stamp>,
    /// Files that are in memory now because of this: read, or known and unchanged.
    pub files: usize,
    /// Those of them that did not have to be read.
    pub unchanged: usize,
    /// Their headings.
    pub headings: usize,
    /// Their size on disk in bytes.
    pub bytes: u64,
    /// What could not be read, by file.
    pub problems: Vec<Problem>,
    /// How long it took.
    pub seconds: f64,
    /// Whether it was stopped before its end; what was read until then counts.
    pub cancelled: bool,
}

/// Reads every Org file below `roots`.
///
/// Blocks until it is done or `cancel` is set. `progress` is called on the calling thread, once a file.
pub fn ingest(
    roots: &[PathBuf],
    known: &Known,
    options: &IngestOptions,
    progress: &mut dyn FnMut(Progress),
    cancel: &AtomicBool,
) -> IngestReport {
    read_listed(Reach::Whole(roots), org_files_of(roots), known, options, progress, None, cancel)
}

/// What is taken over while reading goes on, so that not everything is at hand at once.
pub struct Parts<'a> {
    /// Whenever so many bytes were read.
    pub bytes: u64,
    /// Takes documents, and what their files looked like. Called on the thread that called [`ingest_in_parts`].
    pub take: &'a mut dyn FnMut(Vec<Arc<Document>>, Vec<Stamp>),
}

/// Does the same as [`ingest`], and gives documents away in parts; the report has the last of them.
///
/// Where files are known to be gone, all are in the report: one of them may have come to another name.
pub fn ingest_in_parts(
    roots: &[PathBuf],
    known: &Known,
    options: &IngestOptions,
    progress: &mut dyn FnMut(Progress),
    parts: Parts<'_>,
    cancel: &AtomicBool,
) -> IngestReport {
    read_listed(Reach::Whole(roots), org_files_of(roots), known, options, progress, Some(parts), cancel)
}

/// Reads what lies at or below some paths of the memex: files and folders that were changed, made or removed.
///
/// As [`ingest`] does it; of a path at which nothing is any more, what memory knows of it is reported as removed.
pub fn ingest_changed(paths: &[PathBuf], known: &Known, options: &IngestOptions, cancel: &AtomicBool) -> IngestReport {
    // What the user named is read as it is at a start: where it is away for a while, what is known of it is kept.
    let entries = paths.iter().flat_map(|path| match options.named.contains(path) {
        true => org_files(path),
        false => org_files_at(path),
    });
    read_listed(Reach::Below(paths), entries.collect(), known, options, &mut |_| {}, None, cancel)
}

/// What a listing is of.
#[derive(Clone, Copy)]
enum Reach<'a> {
    /// All of the memex, by its roots.
    Whole(&'a [PathBuf]),
    /// What lies at or below these paths.
    Below(&'a [PathBuf]),
}

/// Reads the files of a listing, and finds those that are gone.
fn read_listed(
    reach: Reach<'_>,
    entries: Vec<Result<PathBuf, WalkError>>,
    known: &Known,
    options: &IngestOptions,
    progress: &mut dyn FnMut(Progress),
    parts: Option<Parts<'_>>,
    cancel: &AtomicBool,
) -> IngestReport {
    let begin = Instant::now();
    let mut report = IngestReport::default();
    let mut listed = BTreeSet::new();
    let mut unseen = Vec::new();
    for entry in entries {
        match entry {
            Ok(path) => {
                listed.insert(path);
            }
            Err(error) => {
                report.problems.push(walk_problem(&error, known));
                unseen.push(error.path().to_path_buf());
            }
        }
    }
    let files: Vec<PathBuf> = listed.iter().cloned().collect();
    let parts = parts.filter(|_| gone(reach, known, &listed, &unseen).is_empty());
    read_all(&files, known, options, progress, parts, cancel, &mut report);
    report.cancelled = cancel.load(Ordering::Relaxed);
    if !report.cancelled {
        report.removed = gone(reach, known, &listed, &unseen);
    }
    report.documents.sort_by(|a, b| a.file.cmp(&b.file));
    report.stamps.sort_by(|a, b| a.file.cmp(&b.file));
    report.problems.sort();
    report.problems.dedup();
    report.seconds = begin.elapsed().as_secs_f64();
    report
}

/// One file's fate.
enum Outcome {
    Unchanged { headings: usize, bytes: u64, problems: Vec<Problem> },
    Read { document: Box<Document>, bytes: u64, stamp: Stamp },
    Failed(Problem),
}

fn read_all(
    files: &[PathBuf],
    known: &Known,
    options: &IngestOptions,
    progress: &mut dyn FnMut(Progress),
    mut parts: Option<Parts<'_>>,
    cancel: &AtomicBool,
    report: &mut IngestReport,
) {
    let mut state = Progress { total: files.len(), ..Progress::default() };
    progress(state);
    let (next, large) = (AtomicUsize::new(0), Mutex::new(()));
    let (sender, outcomes) = mpsc::sync_channel(WAITING);
    let mut taken = 0;
    thread::scope(|scope| {
        let mut started = 0;
        for n in 0..options.threads.max(1) {
            let (sender, next, large) = (sender.clone(), &next, &large);
            let work = move || {
                block_signals();
                work(files, next, known, options, cancel, large, &sender);
            };
            let name = format!("passepartout-read-{n}");
            started +=
                usize::from(thread::Builder::new().name(name).stack_size(STACK).spawn_scoped(scope, work).is_ok());
        }
        drop(sender);
        for outcome in outcomes {
            state.done += 1;
            state.bytes += collect(outcome, known, report);
            progress(state);
            if let Some(parts) = parts.as_mut().filter(|parts| state.bytes - taken >= parts.bytes) {
                taken = state.bytes;
                (parts.take)(std::mem::take(&mut report.documents), std::mem::take(&mut report.stamps));
            }
        }
        if started == 0 && !files.is_empty() {
            let text = "nothing was read: the system has no room for another thread; try again".to_string();
            report.problems.push(Problem { file: "Org files".to_string(), text });
        }
    });
}

fn work(
    files: &[PathBuf],
    next: &AtomicUsize,
    known: &Known,
    options: &IngestOptions,
    cancel: &AtomicBool,
    large: &Mutex<()>,
    sender: &SyncSender<Outcome>,
) {
    while !cancel.load(Ordering::Relaxed) {
        let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
        // A fault in reading one file is that file's problem and nobody else's.
        let outcome =
            catch_unwind(AssertUnwindSafe(|| read_one(path, known, options, large))).unwrap_or_else(|panic| {
                let words = panic_text(panic.as_ref());
                failed(path, known, format!("BUG: reading it failed in our own code ({words}); please report this"))
            });
        if sender.send(outcome).is_err() {
            return;
        }
    }
}

/// Puts an outcome into the report; returns the bytes that were read for it.
fn collect(outcome: Outcome, known: &Known, report: &mut IngestReport) -> u64 {
    match outcome {
        Outcome::Unchanged { headings, bytes, problems } => {
            report.problems.extend(problems);
            report.files += 1;
            report.unchanged += 1;
            report.headings += headings;
            report.bytes += bytes;
            0
        }
        Outcome::Read { document, bytes, stamp } => {
            report.files += 1;
            report.headings += document.outline.nodes.len().saturating_sub(1);
            report.bytes += bytes;
            report.stamps.push(stamp);
            let same = known.view.card(&document.file).is_some_and(|old| old.is_of(&document));
            let setups = document.outline.setups.iter();
            report.problems.extend(setups.filter_map(|setup| Some(refused(&setup.path, setup.problem.as_deref()?))));
            if !same {
                report.documents.push(Arc::from(document));
            }
            bytes
        }
        Outcome::Failed(problem) => {
            report.problems.push(problem);
            0
        }
    }
}

fn read_one(path: &Path, known: &Known, options: &IngestOptions, large: &Mutex<()>) -> Outcome {
    let Some(name) = path.to_str() else {
        return failed(path, known, "its name is not UTF-8, so nothing could link to it; rename it".to_string());
    };
    let file: Arc<str> = name.into();
    for last in [false; TRIES - 1].into_iter().chain([true]) {
        let before = match std::fs::metadata(path) {
            Ok(meta) => meta,
            Err(why) => return failed(path, known, unreadable(&why)),
        };
        if let Some(outcome) = unchanged(&file, &before, known, options) {
            return outcome;
        }
        let turn = (before.len() > LARGE).then(|| large.lock());
        if before.len() > options.max_bytes {
            let (size, most) = (before.len() / 1_000_000, options.max_bytes / 1_000_000);
            let text = format!("has {size} MB; files of more than {most} MB are not read. Split it into several files");
            return failed(path, known, text);
        }
        let bytes = match read_bytes(path) {
            Ok(bytes) => bytes,
            Err(OrgFileError::Unreadable { source, .. }) => return failed(path, known, unreadable(&source)),
            Err(OrgFileError::Undecodable { source, .. }) => return failed(path, known, source.to_string()),
            Err(OrgFileError::TooLarge { source, .. }) => return failed(path, known, format!("has {source}")),
        };
        let still = std::fs::metadata(path).is_ok_and(|after| look(&after) == look(&before));
        if still || last {
            return build(path, file, bytes, &before, still, known, options);
        }
        drop(turn);
    }
    failed(path, known, "changes faster than it can be read".to_string())
}

fn build(
    path: &Path,
    file: Arc<str>,
    bytes: Vec<u8>,
    meta: &Metadata,
    still: bool,
    known: &Known,
    options: &IngestOptions,
) -> Outcome {
    let read = bytes.len() as u64;
    let decoded = match decode(&bytes) {
        Ok(decoded) => decoded,
        Err(why) => return failed(path, known, why.to_string()),
    };
    // A large file is not kept twice while its headings are looked for.
    drop(bytes);
    let document = match known.view.follow_text(&file, decoded.text, &options.scan.of(&file), &options.privacy) {
        Ok(document) => document,
        Err(why) => return failed(path, known, format!("has {why}")),
    };
    let (modified, size) = look(meta);
    let document = document.changed_at(jiff::Timestamp::from_nanosecond(modified.into()).ok());
    // By this thread, one of several: memory takes documents in on one alone.
    document.card();
    let settled = still && now().saturating_sub(modified) >= UNSETTLED;
    let stamp = Stamp { file, modified, size, document: document.root(), settled };
    Outcome::Read { document: Box::new(document), bytes: read, stamp }
}

/// Answers for a file that looks as it did, when memory still has what was read then.
fn unchanged(file: &Arc<str>, meta: &Metadata, known: &Known, options: &IngestOptions) -> Option<Outcome> {
    let stamp = known.stamps.get(file)?;
    let card = known.view.card(file)?;
    let same = stamp.settled && (stamp.modified, stamp.size) == look(meta) && stamp.document == card.root();
    if !same || !options.scan.setups.are_as(card.setups()) {
        return None;
    }
    let missing = card.setups().filter(|(_, hash)| hash.is_none()).map(|(path, _)| path);
    let problems = missing.filter_map(|path| Some(refused(path, &options.scan.setups.problem(path)?))).collect();
    Some(Outcome::Unchanged { headings: card.headings(), bytes: stamp.size, problems })
}

/// Returns the files of memory that are known to be gone. What could not be looked at is kept.
fn gone(reach: Reach<'_>, known: &Known, listed: &BTreeSet<PathBuf>, unseen: &[PathBuf]) -> Vec<Arc<str>> {
    let below = |path: &Path, folders: &[PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
    let lost = |path: &Path| {
        let missing = || {
            std::fs::symlink_metadata(path).is_err_and(|why| {
                matches!(why.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
            })
        };
        !listed.contains(path) && !below(path, unseen) && missing()
    };
    match reach {
        Reach::Whole(roots) => {
            // A file that was read under another name is known twice: the one that was listed stays.
            let alias = |path: &Path| path.canonicalize().is_ok_and(|same| same != path && listed.contains(&same));
            let gone = |path: &Path| (below(path, roots) && lost(path)) || (!listed.contains(path) && alias(path));
            let files = known.view.cards().map(|card| &card.file);
            files.filter(|file| gone(Path::new(file.as_ref()))).cloned().collect()
        }
        // Nothing else is looked at: a saved file must not cost a look at each other one.
        Reach::Below(paths) => {
            let files = paths.iter().filter_map(|path| path.to_str()).flat_map(|path| known.view.cards_below(path));
            let gone: BTreeSet<&Arc<str>> =
                files.map(|card| &card.file).filter(|file| lost(Path::new(file.as_ref()))).collect();
            gone.into_iter().cloned().collect()
        }
    }
}

/// How that is begun.
const SETUP: &str = "a #+SETUPFILE line names it, and it is not read: ";

/// Says of a setup file that it does not count: once, however many files name it.
fn refused(setup: &str, why: &str) -> Problem {
    let private = if is_elsewhere(setup) { "" } else { "; what it sets up counts as private" };
    let text = format!("{SETUP}{why}{private}");
    Problem { file: shown(Path::new(setup)), text }
}

fn failed(path: &Path, known: &Known, text: String) -> Outcome {
    let kept = path.to_str().is_some_and(|file| known.view.card(file).is_some());
    let text = if kept { format!("{text}. Its last known content is kept") } else { text };
    Outcome::Failed(Problem { file: shown(path), text })
}

fn unreadable(why: &std::io::Error) -> String {
    match why.kind() {
        std::io::ErrorKind::NotFound => "vanished while the folder was read".to_string(),
        std::io::ErrorKind::PermissionDenied => "may not be read by you; give yourself the right to".to_string(),
        _ => format!("cannot be read ({why})"),
    }
}

fn walk_problem(error: &WalkError, known: &Known) -> Problem {
    let path = error.path();
    let text = match error {
        WalkError::Unreadable { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            "does not exist".to_string()
        }
        WalkError::Unreadable { source, .. } => unreadable(source),
        WalkError::NotAFile { .. } => "is not a regular file and was left out".to_string(),
        WalkError::TooDeep { .. } => "lies too many folders deep; what is below it was left out".to_string(),
    };
    let kept = path.to_str().is_some_and(|path| known.view.cards_below(path).next().is_some());
    let text = if kept { format!("{text}. What is known of it is kept") } else { text };
    Problem { file: shown(path), text }
}

/// Returns a path for people: what could move a terminal's cursor is escaped.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// Returns what tells whether a file was changed: its time in nanoseconds since 1970, and its size.
fn look(meta: &Metadata) -> (i64, u64) {
    (meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec()), meta.len())
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
