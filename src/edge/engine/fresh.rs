//! Keeps memory as fresh as the disk: what changes in the memex is read a moment later, and a renamed file keeps its past.

use crate::domain::count::counted;
use crate::domain::id::{NodeId, ObjectHash, OperationId};
use crate::domain::label::Privacy;
use crate::domain::memory::document::Document;
use crate::domain::memory::query::shaped_by;
use crate::domain::memory::view::View;
use crate::domain::policy::labels::passages;
use crate::domain::port::LogLevel;
use crate::edge::engine::focus::renamed_id;
use crate::edge::engine::memory::READ;
use crate::edge::engine::record;
use crate::edge::engine::skills::skill_folders;
use crate::edge::engine::{Engine, Notice};
use crate::edge::ingest::{IngestOptions, IngestReport, Known, Problem, ingest_changed};
use crate::edge::walk::canonical;
use crate::edge::watch::{Changed, Watch, watch};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Engine {
    /// Reads the memex, and from then on what changes in it, on a thread of its own, until the watch is dropped.
    ///
    /// # Errors
    /// When the system has no room for another thread; then nothing is read.
    pub fn follow_memex(self: &Arc<Self>) -> std::io::Result<Watch> {
        let (reader, engine) = (self.clone(), Arc::downgrade(self));
        // What changes while it is read is news already.
        let ready = move |complaints: &[String]| {
            for complaint in complaints {
                reader.say(LogLevel::Warning, complaint);
            }
            reader.read_memex(&mut |_| {});
        };
        let tell = move |changed: Changed| {
            let Some(engine) = engine.upgrade() else { return };
            match changed {
                Changed::Paths(paths) => drop(engine.read_changed(&paths)),
                Changed::Anything => drop(engine.read_memex(&mut |_| {})),
            }
        };
        let hearer = Arc::downgrade(self);
        let complain = move |complaint: &str| {
            if let Some(engine) = hearer.upgrade() {
                engine.say(LogLevel::Warning, complaint);
            }
        };
        let asked = Arc::downgrade(self);
        let also = move |path: &Path| asked.upgrade().is_some_and(|engine| engine.sets_up(path));
        watch(self.config.directories.clone(), also, ready, complain, tell)
    }

    /// Reads the skills anew whenever a file of theirs changes, until the watch is dropped; what changed since they were read
    /// last is taken at once, and Lisp that is new is tried out.
    ///
    /// # Errors
    /// When the system has no room for another thread; then they are read at the next start.
    pub fn follow_skills(self: &Arc<Self>) -> std::io::Result<Watch> {
        let (engine, runtime) = (Arc::downgrade(self), tokio::runtime::Handle::current());
        // The thread waits for nothing: what reads them ends with the runtime.
        let take = move || {
            let engine = engine.clone();
            drop(runtime.spawn(async move {
                if let Some(engine) = engine.upgrade() {
                    engine.reload_skills().await;
                    engine.try_skills().await;
                }
            }));
        };
        let again = take.clone();
        let roots = skill_folders(&self.config).iter().map(|folder| canonical(folder)).collect();
        let complainer = Arc::downgrade(self);
        let complain = move |complaint: &str| {
            if let Some(engine) = complainer.upgrade() {
                engine.say(LogLevel::Info, &format!("skills: {complaint}"));
            }
        };
        // A folder with a SKILL.md counts with all of its files; what git keeps for itself is none of it.
        let also = |path: &Path| !path.components().any(|part| part.as_os_str() == ".git");
        watch(roots, also, move |_| take(), complain, move |_| again())
    }

    /// Reads what changed at or below some paths of the memex. Blocks until it is done.
    pub fn read_changed(&self, paths: &[PathBuf]) -> IngestReport {
        self.read_again(paths, AGAIN)
    }

    /// Reads once more what memory did not take, as it had moved while that was read; at most `times`.
    fn read_refused(&self, refused: Vec<PathBuf>, times: usize) {
        if let Some(times) = times.checked_sub(1).filter(|_| !refused.is_empty()) {
            self.read_again(&refused, times);
        }
    }

    fn read_again(&self, paths: &[PathBuf], times: usize) -> IngestReport {
        let paths = &self.with_what_they_set_up(paths);
        let folders: HashSet<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let below = |file: &str| Path::new(file).ancestors().any(|folder| folders.contains(folder));
        let view = self.view();
        let stamps: Vec<_> = {
            // Only what memory has can be unchanged.
            let stamps = self.stamps.lock();
            let cards = paths.iter().filter_map(|path| path.to_str()).flat_map(|path| view.cards_below(path));
            cards.filter_map(|card| stamps.get(&card.file).cloned()).collect()
        };
        let known = Known::new(view, stamps);
        let options = self.ingest_options();
        let mut report = ingest_changed(paths, &known, &options, &self.stop);
        let refused = self.take_report(&mut report, &options, &known.view);
        let mut problems = self.problems.lock();
        let fresh: Vec<Problem> = report.problems.iter().filter(|found| !problems.contains(found)).cloned().collect();
        let view = self.view();
        // One about a setup file goes when no file names it any more.
        let named = |problem: &Problem| !problem.is_of_setup() || shaped_by(&view, &problem.file).next().is_some();
        problems.retain(|problem| !below(&problem.file) && named(problem));
        problems.extend(report.problems.iter().cloned());
        problems.sort();
        problems.dedup();
        drop(problems);
        for problem in fresh {
            self.say(LogLevel::Warning, &problem.to_string());
        }
        self.read_refused(refused, times);
        (self.notify)(Notice::Status);
        report
    }

    /// Returns whether a path is that of a setup file. Not each is remembered; memory knows what was read with one.
    fn sets_up(&self, path: &Path) -> bool {
        self.setups.knows(path) || path.to_str().is_some_and(|path| shaped_by(&self.view(), path).next().is_some())
    }

    /// Adds the files in which a setup file has a say that is among some paths, or below them.
    fn with_what_they_set_up(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let view = self.view();
        let mut setups = self.setups.at_or_below(paths);
        // Of those that are remembered no more, memory says what was read with them.
        setups.extend(paths.iter().filter_map(|path| path.to_str()).map(str::to_string));
        setups.sort_unstable();
        setups.dedup();
        let files = setups.iter().flat_map(|setup| shaped_by(&view, setup));
        let mut all: Vec<PathBuf> = paths.iter().cloned().chain(files.map(|file| PathBuf::from(&**file))).collect();
        all.sort();
        all.dedup();
        all
    }

    pub(super) fn ingest_options(&self) -> IngestOptions {
        IngestOptions {
            scan: self.scan_options(),
            privacy: self.privacy_options(),
            named: self.config.directories.clone(),
            ..IngestOptions::default()
        }
    }

    /// Takes what was read into memory, but for what a buffer or an act of ours knows better.
    /// Returns the files that were not taken because memory had moved since `before`.
    pub(super) fn take_report(&self, report: &mut IngestReport, read: &IngestOptions, before: &View) -> Vec<PathBuf> {
        let _org = self.hold_org();
        if read.scan != self.scan_options() {
            // Org's settings changed while it was read.
            let anew = |document: Arc<Document>| {
                let built = self.build(&document.file, document.outline.text.clone()).ok()?;
                Some(Arc::new(built.changed_at(document.modified)))
            };
            report.documents = std::mem::take(&mut report.documents).into_iter().filter_map(anew).collect();
        }
        let held = {
            // What is open may be ahead of the disk.
            let open = self.open.lock();
            let (held, free): (Vec<_>, Vec<_>) =
                std::mem::take(&mut report.documents).into_iter().partition(|document| open.contains(&*document.file));
            report.documents = free;
            report.removed.retain(|file| !open.contains(&**file));
            report.stamps.retain(|stamp| !open.contains(&*stamp.file));
            held
        };
        // Of the text that memory has, what its setup files say now may be stricter.
        report.documents.extend(held.iter().filter_map(|document| self.set_up_anew(&document.file, before)));
        let removed: Vec<String> = report.removed.iter().map(|file| file.to_string()).collect();
        let looked_at: HashSet<Arc<str>> = report.stamps.iter().map(|stamp| stamp.file.clone()).collect();
        {
            let mut known = self.stamps.lock();
            known.extend(report.stamps.iter().map(|stamp| (stamp.file.clone(), stamp.clone())));
            report.removed.iter().for_each(|file| drop(known.remove(file)));
        }
        let (mut documents, stamps) = (std::mem::take(&mut report.documents), std::mem::take(&mut report.stamps));
        let moved = renamed(before, &documents, &removed);
        keep_names(before, &mut documents, &moved);
        self.lines_follow(&moved);
        self.lines_follow(&changed_too(before, &documents, &removed, &moved));
        let mut note = format!("{} read, {} gone", counted(documents.len(), "file"), removed.len());
        for (from, to) in moved.iter().take(RENAMES_NAMED) {
            note.push_str(&format!("; renamed {from} to {to}"));
        }
        if moved.len() > RENAMES_NAMED {
            note.push_str(&format!("; {} more renamed", moved.len() - RENAMES_NAMED));
        }
        // What an act or a buffer made of a file while it was being read is newer than what was read.
        let root = |view: &View, file: &str| view.card(file).map(|card| card.root());
        let refused = RefCell::new(HashSet::new());
        let unmoved = |view: &View, file: &str| {
            let unmoved = root(view, file) == root(before, file);
            if !unmoved {
                refused.borrow_mut().insert(file.to_string());
            }
            unmoved
        };
        let read: Vec<(Arc<str>, ObjectHash)> =
            documents.iter().filter(|d| d.is_notes()).map(|d| (d.file.clone(), d.root())).collect();
        let beside = |operation: OperationId| {
            let refused = refused.borrow();
            let made = moved.iter().filter(|(from, to)| !refused.contains(from) && !refused.contains(to));
            made.map(|(from, to)| record::renamed(from, to, operation, self.clock.now())).collect()
        };
        self.change_memory_with(documents, &removed, stamps, (READ, &note), &unmoved, &beside);
        self.follow_renames(&moved);
        self.see_read(Some(&looked_at));
        let now = self.view();
        let came = read.iter().filter(|(file, read)| root(&now, file) != Some(*read)).map(|(file, _)| &**file);
        let went = removed.iter().filter(|file| root(&now, file).is_some()).map(String::as_str);
        came.chain(went).map(PathBuf::from).collect()
    }

    /// Makes a file anew of the text that memory has, when its setup files have changed.
    fn set_up_anew(&self, file: &str, view: &View) -> Option<Arc<Document>> {
        let card = view.card(file)?;
        if self.scan_options().setups.are_as(card.setups()) {
            return None;
        }
        let built = self.build(file, view.text(file)?).ok()?;
        Some(Arc::new(built.changed_at(card.modified())))
    }

    /// Lets the focus, and what was changed in this session, follow files to their new names.
    fn follow_renames(&self, moved: &[(String, String)]) {
        let follow =
            |id: &NodeId| moved.iter().find_map(|(from, to)| renamed_id(id.as_str(), from, to)).map(NodeId::new);
        if moved.is_empty() {
            return;
        }
        self.refocus(moved);
        if let Some(focus) = self.focus.lock().as_mut()
            && let Some(now) = follow(focus)
        {
            *focus = now;
        }
        self.lately.lock().changed.follow(follow);
    }
}

/// How often what was refused is read again; what changes all the while is news again.
const AGAIN: usize = 3;

/// How many renamed files an operation's note names.
const RENAMES_NAMED: usize = 3;

/// Lets the headings of renamed files keep the names that they had.
fn keep_names(before: &View, documents: &mut [Arc<Document>], moved: &[(String, String)]) {
    let from: HashMap<&str, &str> = moved.iter().map(|(from, to)| (to.as_str(), from.as_str())).collect();
    for document in documents {
        let card = from.get(&*document.file).and_then(|file| before.card(file));
        if let (Some(card), Some(document)) = (card, Arc::get_mut(document)) {
            document.name_as(card);
        }
    }
}

/// Returns the files that came to another name: one that is gone, and a new one that holds the very same.
///
/// Where several could be meant, the one that kept its last name is taken, then the first.
fn renamed(before: &View, documents: &[Arc<Document>], removed: &[String]) -> Vec<(String, String)> {
    let mut gone: HashMap<ObjectHash, Vec<&str>> = HashMap::new();
    for file in removed {
        if let Some(old) = before.card(file) {
            gone.entry(old.root()).or_default().push(file);
        }
    }
    let mut found = Vec::new();
    for document in documents.iter().filter(|document| before.card(&document.file).is_none()) {
        let Some(names) = gone.get_mut(&document.root()).filter(|names| !names.is_empty()) else { continue };
        let last = |file: &str| file.rsplit('/').next().unwrap_or(file).to_string();
        let at = names.iter().position(|name| last(name) == last(&document.file)).unwrap_or(0);
        found.push((names.remove(at).to_string(), document.file.to_string()));
    }
    found
}

/// Returns the files that came to another name and were changed as well, as far as what is private of them tells: one
/// that is gone, and a new one in which most of its private passages stand, labels or not.
fn changed_too(
    before: &View,
    documents: &[Arc<Document>],
    removed: &[String],
    moved: &[(String, String)],
) -> Vec<(String, String)> {
    let (from, to): (HashSet<&str>, HashSet<&str>) =
        moved.iter().map(|(from, to)| (from.as_str(), to.as_str())).unzip();
    let come = |document: &&Arc<Document>| before.card(&document.file).is_none() && !to.contains(&*document.file);
    let mut come: Vec<&Arc<Document>> = documents.iter().filter(come).collect();
    let mut found = Vec::new();
    for file in removed.iter().filter(|file| !from.contains(file.as_str())) {
        let private = before.card(file).filter(|card| card.strictest() > Privacy::Open);
        let Some(old) = private.filter(|_| !come.is_empty()).and_then(|_| before.document(file)) else { continue };
        let private = passages(&old, |index| old.privacy.get(index).is_none_or(|tier| *tier > Privacy::Open));
        let shared = |new: &Document| passages(new, |_| true).intersection(&private).count();
        let last = |file: &str| file.rsplit('/').next().map(str::to_string);
        let best = come.iter().enumerate().map(|(at, new)| (shared(new), last(&new.file) == last(file), at)).max();
        if let Some((1.., _, at)) = best {
            found.push((file.clone(), come.remove(at).file.to_string()));
        }
    }
    found
}

#[cfg(test)]
pub(in crate::edge) mod tests {
    use super::*;
    use crate::domain::org::setup::SetupTexts;
    use crate::edge::clock::SystemClock;
    use crate::edge::config::{Config, Surroundings};
    use crate::edge::editor::NoEditor;
    use crate::edge::engine::boot::{Boot, Keep, start};
    use crate::edge::engine::memory::ACT;
    use crate::edge::secret::Vault;

    /// A memex of one file.
    pub(in crate::edge) struct Place {
        _folder: tempfile::TempDir,
        pub(in crate::edge) file: String,
        pub(in crate::edge) engine: Arc<Engine>,
    }

    impl Place {
        pub(in crate::edge) async fn new(text: &str) -> Place {
            let folder = tempfile::tempdir().expect("a folder");
            let base = folder.path().canonicalize().expect("it is there");
            let memex = base.join("memex");
            std::fs::create_dir(&memex).expect("a folder");
            let file = memex.join("a.org").display().to_string();
            std::fs::write(&file, text).expect("a file");
            let mut config = Config::read(&Surroundings { variables: Default::default() });
            (config.cache, config.store) = (base.join("cache"), base.join("store"));
            config.directories = vec![memex];
            config.settings = base.join("settings");
            let (vault, clock) = (Vault::empty(), Arc::new(SystemClock));
            let (editor, notify) = (Arc::new(NoEditor), Arc::new(|_| {}));
            let boot = Boot { config, vault, editor, clock, notify, keep: Keep::InMemory };
            let engine = start(boot).await.expect("the engine starts");
            engine.read_memex(&mut |_| {});
            Place { _folder: folder, file, engine }
        }

        pub(in crate::edge::engine) fn write(&self, text: &str) {
            std::fs::write(&self.file, text).expect("a file");
        }

        fn path(&self) -> PathBuf {
            PathBuf::from(&self.file)
        }

        #[track_caller]
        fn has(&self, text: &str) {
            assert_eq!(self.engine.view().text(&self.file).as_deref(), Some(text));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_memory_did_not_take_because_it_had_moved_is_read_again() {
        let place = Place::new("* One\n").await;
        place.write("* From disk\n");
        let known = Known::new(place.engine.view(), []);
        let options = place.engine.ingest_options();
        let mut report = ingest_changed(&[place.path()], &known, &options, &place.engine.stop);
        place.engine.take_text(&place.file, "* By an act\n".into(), ACT).expect("it can be read");
        let refused = place.engine.take_report(&mut report, &options, &known.view);
        assert_eq!(refused, [place.path()]);
        place.has("* By an act\n");
        place.engine.read_refused(refused.clone(), 0);
        place.has("* By an act\n");
        place.engine.read_refused(refused, AGAIN);
        place.has("* From disk\n");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_setup_file_that_is_not_remembered_is_news_all_the_same() {
        let place = Place::new("* One\n").await;
        let base = place.path().with_file_name("base.setup");
        let is = || place.engine.view().card(&place.file).map(|card| card.privacy(1));
        for other in 0..20_000 {
            let other = base.with_file_name(format!("{other}.setup"));
            let _ = place.engine.setups.text(other.to_str().expect("it is UTF-8"));
        }
        std::fs::write(&base, "#+TODO: TODO | DONE\n").expect("a file");
        place.write("#+SETUPFILE: base.setup\n* One\n");
        place.engine.read_changed(&[place.path()]);
        assert_eq!(is(), Some(Privacy::Open));
        assert!(!place.engine.setups.knows(&base));
        assert!(place.engine.sets_up(&base) && !place.engine.sets_up(&base.with_file_name("other.setup")));
        std::fs::write(&base, "#+TODO: TODO | DONE\n#+FILETAGS: :private:\n").expect("a file");
        place.engine.read_changed(&[base]);
        assert_eq!(is(), Some(Privacy::Private));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_old_version_is_held_until_the_file_changes_and_never_over_what_was_not_read_yet() {
        let place = Place::new("* One\n").await;
        let goes_back = || {
            place.engine.take_text(&place.file, "* Before\n".into(), ACT).expect("it can be read");
            let root = place.engine.view().card(&place.file).expect("it is there").root();
            place.engine.hold(&[(place.file.clone(), root)]);
        };
        goes_back();
        place.engine.read_changed(&[place.path()]);
        place.has("* Before\n");
        place.write("* Two, changed\n");
        place.engine.read_changed(&[place.path()]);
        place.has("* Two, changed\n");
        place.write("* Three, and not read yet\n");
        goes_back();
        place.has("* Before\n");
        place.engine.read_changed(&[place.path()]);
        place.has("* Three, and not read yet\n");
    }
}
