//! Watches the folders of the memex and says, a moment after they changed, which paths did.
//!
//! The system's own news are used where there are any (the crate `notify`); where a folder cannot be watched, the
//! memex is looked through now and then. News may name too much and never too little: who is told reads anew.

use crate::edge::thread;
use crate::edge::walk::{is_org_name, links_below};
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// News are passed on when none has come for so long.
const QUIET: Duration = Duration::from_millis(80);
/// News are passed on after so long, however many still come.
const MOST: Duration = Duration::from_millis(600);
/// How often what gives no news is looked at.
const LOOK: Duration = Duration::from_millis(1_500);
/// What looking through everything may cost: one part in so many of the time.
const SHARE: u32 = 20;
/// What gives no news is looked at this often at least, whatever that costs.
const LOOK_AT_LEAST: Duration = Duration::from_secs(60);
/// So many changed paths are passed on by name; more than that is everything.
const NAMED: usize = 2_000;

/// How often what cannot be watched is looked through, in words.
const OFTEN: &str = "every few seconds, or once a minute where that takes long";

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// These files and folders; some may be gone.
    Paths(Vec<PathBuf>),
    /// Nobody knows what: look through everything.
    Anything,
}

/// Watches until it is dropped.
pub struct Watch {
    ears: Sender<Heard>,
}

enum Heard {
    News(notify::Result<notify::Event>),
    /// A path that somebody else has news of.
    Look(PathBuf),
    End,
}

impl Watch {
    /// Has a path told as the system's news are, and together with those that come at the same time.
    pub fn look(&self, path: PathBuf) {
        // The thread may have ended on its own.
        let _ = self.ears.send(Heard::Look(path));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The thread may have ended on its own.
        let _ = self.ears.send(Heard::End);
    }
}

/// Begins to watch folders and files, on a thread of its own; `roots` are absolute and resolved.
///
/// Org files are news, and such others as `also` says.
/// `ready` is called once, when everything is watched, with what cannot be and why, in words; `complain` is told
/// what cannot be later on.
/// `tell` is called on that thread and may take its time; what happens meanwhile is told after it.
///
/// # Errors
/// When the system has no room for another thread.
pub fn watch(
    roots: Vec<PathBuf>,
    also: impl Fn(&Path) -> bool + Send + 'static,
    ready: impl FnOnce(&[String]) + Send + 'static,
    mut complain: impl FnMut(&str) + Send + 'static,
    mut tell: impl FnMut(Changed) + Send + 'static,
) -> std::io::Result<Watch> {
    let (ears, news) = mpsc::channel();
    let own = ears.clone();
    thread::spawn("passepartout-watch", 1 << 20, move || {
        let mut watcher = Watching::new(roots, Box::new(also), own);
        watcher.ready();
        ready(&std::mem::take(&mut watcher.complaints));
        watcher.run(&news, &mut complain, &mut tell);
    })?;
    Ok(Watch { ears })
}

struct Watching {
    roots: Vec<PathBuf>,
    /// Says of other files than Org files whether they are news.
    also: Also,
    /// `None` when the system gives no news at all.
    watcher: Option<RecommendedWatcher>,
    watched: HashSet<PathBuf>,
    /// Roots and links of which no news come, as they looked last.
    looked: HashMap<PathBuf, Option<Look>>,
    /// Folders that give no news, so that they are looked through now and then; of several in each other the topmost.
    blind: BTreeSet<PathBuf>,
    /// Whether it was said that there are such.
    told: bool,
    /// What is to be said.
    complaints: Vec<String>,
    /// Where other machines' disks are mounted.
    remote: Vec<PathBuf>,
}

/// Says of a file that is no Org file whether it is news.
type Also = Box<dyn Fn(&Path) -> bool + Send>;

/// What tells one state of a file from another.
type Look = (u64, i64, i64, u64);

/// What has come since something was told last.
#[derive(Default)]
struct Batch {
    paths: BTreeSet<PathBuf>,
    anything: bool,
    /// Whether what gives no news is among it.
    looked: bool,
}

impl Watching {
    fn new(roots: Vec<PathBuf>, also: Also, ears: Sender<Heard>) -> Watching {
        Watching::hearing(roots, also, move |event| {
            // After the end nobody listens.
            let _ = ears.send(Heard::News(event));
        })
    }

    /// Watches, and gives the system's news to `hear` as they come.
    fn hearing(
        roots: Vec<PathBuf>,
        also: Also,
        hear: impl FnMut(notify::Result<notify::Event>) + Send + 'static,
    ) -> Watching {
        let (watcher, complaints) = match notify::recommended_watcher(hear) {
            Ok(watcher) => (Some(watcher), Vec::new()),
            Err(why) => {
                let text =
                    format!("the system gives no news of files ({why}); the memex is looked through {OFTEN} instead");
                (None, vec![text])
            }
        };
        Watching {
            blind: if watcher.is_none() { roots.iter().cloned().collect() } else { BTreeSet::new() },
            told: watcher.is_none(),
            roots,
            also,
            watcher,
            watched: HashSet::new(),
            looked: HashMap::new(),
            complaints,
            remote: remote_mounts(),
        }
    }

    fn ready(&mut self) {
        for root in self.roots.clone() {
            // A root that goes or comes is news of the folder above it.
            if let Some(above) = root.parent() {
                self.watch_one(above);
            }
            self.looked.insert(root.clone(), look(&root));
            self.watch_below(&root);
        }
    }

    /// Watches everything anew: what the system dropped may have been that a folder went, or came back.
    fn rescan(&mut self) {
        for folder in std::mem::take(&mut self.watched) {
            if let Some(watcher) = self.watcher.as_mut() {
                // The system may have forgotten it already.
                let _ = watcher.unwatch(&folder);
            }
        }
        if self.watcher.is_some() {
            self.blind.clear();
        }
        self.ready();
    }

    fn run(&mut self, news: &Receiver<Heard>, complain: &mut dyn FnMut(&str), tell: &mut dyn FnMut(Changed)) {
        let mut pause = LOOK;
        let mut next = Instant::now() + pause;
        loop {
            let mut batch = Batch::default();
            match news.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(heard @ (Heard::News(_) | Heard::Look(_))) => {
                    if self.heard(heard, &mut batch).is_none() || self.gather(news, &mut batch).is_none() {
                        return;
                    }
                }
                Ok(Heard::End) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    self.look_around(&mut batch);
                    next = Instant::now() + pause;
                }
            }
            self.complaints.drain(..).for_each(|complaint| complain(&complaint));
            let looked = batch.looked;
            if let Some(changed) = batch.changed() {
                let begun = Instant::now();
                tell(changed);
                if looked {
                    pause = (begun.elapsed() * SHARE).clamp(LOOK, LOOK_AT_LEAST);
                    next = Instant::now() + pause;
                }
            }
        }
    }

    /// Takes further news until none comes for a moment; `None` says that this is the end.
    fn gather(&mut self, news: &Receiver<Heard>, batch: &mut Batch) -> Option<()> {
        let begun = Instant::now();
        while begun.elapsed() < MOST {
            match news.recv_timeout(QUIET) {
                Ok(heard) => self.heard(heard, batch)?,
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        Some(())
    }

    /// Notes what was heard; `None` says that this is the end.
    fn heard(&mut self, heard: Heard, batch: &mut Batch) -> Option<()> {
        match heard {
            Heard::News(event) => self.note(event, batch),
            Heard::Look(path) => drop(batch.paths.insert(path)),
            Heard::End => return None,
        }
        Some(())
    }

    fn note(&mut self, event: notify::Result<notify::Event>, batch: &mut Batch) {
        let event = match event {
            Ok(event) => event,
            Err(_) => {
                batch.anything = true;
                return;
            }
        };
        if event.need_rescan() {
            self.rescan();
            batch.anything = true;
            return;
        }
        let worth = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
            EventKind::Access(_) => false,
            EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Other => {
                true
            }
        };
        let went = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
        for path in event.paths.into_iter().filter(|_| worth) {
            self.note_path(path, went, batch);
        }
    }

    /// Notes one path; `went` says that what was there went, though something may be there again.
    fn note_path(&mut self, path: PathBuf, went: bool, batch: &mut Batch) {
        if !self.roots.iter().any(|root| path.starts_with(root)) {
            return;
        }
        let is_folder = std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir());
        let was_folder = self.watched.contains(&path);
        if was_folder && (went || !is_folder) {
            self.forget_below(&path);
        }
        if is_folder && (went || !was_folder) {
            // Watched before it is read: what comes after is news, what came before is read.
            self.watch_below(&path);
        }
        let is_link = std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink());
        if is_link {
            self.looked.insert(path.clone(), look(&path));
        }
        let named = path.file_name().is_some_and(is_org_name) || self.roots.contains(&path) || (self.also)(&path);
        if named || is_folder || was_folder {
            batch.paths.insert(path);
        }
    }

    fn watch_below(&mut self, root: &Path) {
        if !root.is_dir() {
            return;
        }
        let links = links_below(root, &mut |folder| {
            if self.remote.iter().any(|mount| folder.starts_with(mount)) {
                self.complain(folder, "it lies on another machine, of whose changes the system tells nothing");
            } else {
                self.watch_one(folder);
            }
        });
        for link in links {
            let now = look(&link);
            self.looked.entry(link).or_insert(now);
        }
    }

    fn watch_one(&mut self, folder: &Path) {
        let Some(watcher) = self.watcher.as_mut() else { return };
        if self.watched.contains(folder) {
            return;
        }
        match watcher.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.watched.insert(folder.to_path_buf());
            }
            // A folder that vanished meanwhile is news of the one above it.
            Err(_) if !folder.exists() => {}
            Err(why) => self.complain(folder, &why.to_string()),
        }
    }

    fn complain(&mut self, folder: &Path, why: &str) {
        if folder.ancestors().any(|above| self.blind.contains(above)) {
            return;
        }
        // A folder above a root is looked at by the root itself.
        if self.roots.iter().any(|root| folder.starts_with(root)) {
            self.blind.retain(|known| !known.starts_with(folder));
            self.blind.insert(folder.to_path_buf());
        }
        if !std::mem::replace(&mut self.told, true) {
            self.complaints
                .push(format!("{} cannot be watched ({why}); it is looked through {OFTEN} instead", folder.display()));
        }
    }

    /// What is gone gives no news under its old name, and what comes back under it must be watched anew.
    fn forget_below(&mut self, path: &Path) {
        let gone: Vec<PathBuf> = self.watched.iter().filter(|folder| folder.starts_with(path)).cloned().collect();
        for folder in gone {
            if let Some(watcher) = self.watcher.as_mut() {
                // The system may have forgotten it already.
                let _ = watcher.unwatch(&folder);
            }
            self.watched.remove(&folder);
        }
        if self.watcher.is_some() {
            self.blind.retain(|folder| !folder.starts_with(path) || self.roots.contains(folder));
        }
        self.looked.retain(|link, _| !link.starts_with(path) || self.roots.contains(link));
    }

    /// Looks at what gives no news: roots that are not there, files that are links, and everything when blind.
    fn look_around(&mut self, batch: &mut Batch) {
        batch.looked = !self.blind.is_empty();
        // A root that is away for a while is read as a root: what is known of it is kept.
        batch.anything |= self.blind.iter().any(|folder| self.roots.contains(folder) || !folder.exists());
        batch.paths.extend(self.blind.iter().cloned());
        let changed: Vec<(PathBuf, Option<Look>)> = self
            .looked
            .iter()
            .map(|(path, last)| (path, last, look(path)))
            .filter(|(_, last, now)| *last != now)
            .map(|(path, _, now)| (path.clone(), now))
            .collect();
        for (path, now) in changed {
            if now.is_some() && path.is_dir() {
                self.watch_below(&path);
            } else if now.is_none() {
                self.forget_below(&path);
            }
            match now.is_none() && !self.roots.contains(&path) {
                true => self.looked.remove(&path),
                false => self.looked.insert(path.clone(), now),
            };
            batch.paths.insert(path);
        }
    }
}

impl Batch {
    fn changed(self) -> Option<Changed> {
        if self.anything || self.paths.len() > NAMED {
            return Some(Changed::Anything);
        }
        // What lies below a changed folder is read with it.
        let mut paths: Vec<PathBuf> = Vec::new();
        for path in self.paths {
            if paths.last().is_none_or(|last| !path.starts_with(last)) {
                paths.push(path);
            }
        }
        (!paths.is_empty()).then_some(Changed::Paths(paths))
    }
}

/// Follows links. Of a folder only that it is the same one counts: what is in it is told otherwise.
fn look(path: &Path) -> Option<Look> {
    let meta = std::fs::metadata(path).ok()?;
    Some(match meta.is_dir() {
        true => (meta.ino(), 0, 0, 0),
        false => (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len()),
    })
}

/// File systems that other machines change without a word to this one, as the system names them.
const REMOTE: [&str; 14] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "ceph",
    "afs",
    "davfs",
    "fuse.davfs2",
    "fuse.sshfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.glusterfs",
];

/// Returns where such file systems are mounted; nowhere, when the system does not say (`/proc/self/mountinfo`).
fn remote_mounts() -> Vec<PathBuf> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    table.lines().filter_map(remote_mount).collect()
}

/// Reads one line of the table of mounts; its fields are described in proc_pid_mountinfo(5).
fn remote_mount(line: &str) -> Option<PathBuf> {
    let (mount, kind) = line.split_once(" - ")?;
    let kind = kind.split(' ').next().filter(|kind| REMOTE.contains(kind));
    let place = mount.split(' ').nth(4)?;
    kind.map(|_| PathBuf::from(place.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn mounts_of_other_machines_are_known() {
        let check = |line: &str, expect: Option<&str>| {
            assert_eq!(remote_mount(line), expect.map(PathBuf::from), "{line}");
        };
        check("36 35 98:0 / / rw,noatime shared:1 - ext4 /dev/root rw", None);
        check("40 36 0:35 / /mnt/my\\040notes rw - nfs4 host:/notes rw", Some("/mnt/my notes"));
        check("41 36 0:36 / /home/me/far rw shared:3 - fuse.sshfs me@host: rw", Some("/home/me/far"));
        check("rubbish", None);
        check("", None);
    }

    #[test]
    fn what_lies_below_a_changed_folder_is_not_named_again() {
        let paths = ["/n/a", "/n/a/b.org", "/n/ab.org"].map(PathBuf::from);
        let batch = Batch { paths: paths.into(), anything: false, looked: false };
        assert_eq!(batch.changed(), Some(Changed::Paths(vec!["/n/a".into(), "/n/ab.org".into()])));
        let many = (0..=NAMED).map(|n| PathBuf::from(format!("/n/{n}.org"))).collect();
        assert_eq!(Batch { paths: many, anything: false, looked: false }.changed(), Some(Changed::Anything));
        assert_eq!(Batch::default().changed(), None);
    }

    /// A test never hangs.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// A folder with a folder in it, watched; what the system says of them waits while the gate is held.
    struct Gated {
        _home: tempfile::TempDir,
        root: PathBuf,
        watching: Watching,
        news: Receiver<Heard>,
        gate: Arc<Mutex<()>>,
    }

    impl Gated {
        fn new() -> Gated {
            let home = tempfile::tempdir().expect("a folder");
            let root = home.path().canonicalize().expect("a folder");
            std::fs::create_dir(root.join("a")).expect("a folder");
            let ((ears, news), gate) = (mpsc::channel(), Arc::<Mutex<()>>::default());
            let own = gate.clone();
            let mut watching = Watching::hearing(vec![root.clone()], Box::new(|_| false), move |event| {
                let _pass = own.lock().expect("nobody panicked");
                // After the end nobody listens.
                let _ = ears.send(Heard::News(event));
            });
            watching.ready();
            Gated { _home: home, root, watching, news, gate }
        }

        /// Takes news until they name a path, or that everything must be looked through.
        #[track_caller]
        fn until(&mut self, expect: Option<&Path>) {
            loop {
                let mut batch = Batch::default();
                match self.news.recv_timeout(PATIENCE) {
                    Ok(Heard::News(event)) => self.watching.note(event, &mut batch),
                    Ok(Heard::Look(_) | Heard::End) => panic!("nobody looked or ended it"),
                    Err(why) => panic!("no news of {expect:?}: {why}"),
                }
                match expect {
                    Some(path) if batch.paths.contains(path) => return,
                    None if batch.anything => return,
                    Some(_) | None => {}
                }
            }
        }
    }

    #[test]
    fn after_news_were_dropped_a_folder_that_was_made_again_meanwhile_is_watched() {
        let most = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap_or_default();
        let most: usize = most.trim().parse().ok().filter(|most| *most <= 1 << 17).unwrap_or(0);
        let mut gated = Gated::new();
        let (folder, files) = (gated.root.join("a"), ["x", "y"].map(|name| gated.root.join(name)));
        files.iter().for_each(|file| std::fs::write(file, "").expect("a file"));
        let gate = gated.gate.clone();
        let shut = gate.lock().expect("nobody panicked");
        // Each is news of its own, as it is another file than before; what comes behind them finds no room.
        for file in files.iter().cycle().take(most + 1_000) {
            std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
        }
        std::fs::remove_dir(&folder).expect("it is empty");
        std::fs::create_dir(&folder).expect("a folder");
        drop(shut);
        if most == 0 {
            // A system that does not say how much it keeps: then it is only said that something was dropped.
            let dropped = notify::Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
            gated.watching.note(Ok(dropped), &mut Batch::default());
        } else {
            gated.until(None);
        }
        let note = folder.join("new.org");
        std::fs::write(&note, "* New\n").expect("a file");
        gated.until(Some(&note));
    }

    #[test]
    fn a_folder_that_is_held_open_while_it_is_made_again_is_watched() {
        let mut gated = Gated::new();
        let folder = gated.root.join("a");
        // The system says that the old one is gone for good only when nobody has it open any more.
        let held = std::fs::File::open(&folder).expect("a folder can be opened");
        std::fs::remove_dir(&folder).expect("it is empty");
        std::fs::create_dir(&folder).expect("a folder");
        let first = folder.join("first.org");
        gated.until(Some(&folder));
        std::fs::write(&first, "* First\n").expect("a file");
        gated.until(Some(&first));
        drop(held);
        let second = folder.join("second.org");
        std::fs::write(&second, "* Second\n").expect("a file");
        gated.until(Some(&second));
    }

    #[test]
    fn a_folder_that_takes_the_name_of_another_is_watched_under_it() {
        let mut gated = Gated::new();
        let (a, b) = (gated.root.join("a"), gated.root.join("b"));
        std::fs::create_dir_all(b.join("deep")).expect("folders");
        gated.until(Some(&b));
        std::fs::rename(&a, gated.root.join("old")).expect("renamed");
        std::fs::rename(&b, &a).expect("renamed");
        let (note, mark) = (a.join("deep/note.org"), gated.root.join("mark.org"));
        gated.until(Some(&a));
        // News come in their order: with this, all of the renaming is noted. What is written before that may be named by
        // its folder alone.
        std::fs::write(&mark, "* Mark\n").expect("a file");
        gated.until(Some(&mark));
        std::fs::write(&note, "* Deep\n").expect("a file");
        gated.until(Some(&note));
        let other = gated.root.join("old/other.org");
        std::fs::write(&other, "* Other\n").expect("a file");
        gated.until(Some(&other));
    }

    #[test]
    fn only_what_gives_no_news_is_looked_through() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().canonicalize().expect("a folder");
        let far = root.join("far");
        std::fs::create_dir_all(far.join("below")).expect("folders");
        let mut watching = Watching::new(vec![root.clone()], Box::new(|_| false), mpsc::channel().0);
        let looked = |watching: &mut Watching| {
            let mut batch = Batch::default();
            watching.look_around(&mut batch);
            (batch.looked, batch.changed())
        };
        watching.ready();
        assert_eq!(looked(&mut watching), (false, None), "all of it gives news");
        watching.remote = vec![far.clone()];
        watching.rescan();
        assert_eq!(watching.complaints.len(), 1, "it is said once: {:?}", watching.complaints);
        assert_eq!(looked(&mut watching), (true, Some(Changed::Paths(vec![far.clone()]))));
        std::fs::remove_dir_all(&far).expect("removed");
        assert_eq!(looked(&mut watching), (true, Some(Changed::Anything)), "it may be away for a while only");
        watching.remote = vec![root];
        watching.rescan();
        assert_eq!(looked(&mut watching), (true, Some(Changed::Anything)));
        assert_eq!(watching.complaints.len(), 1, "and not again: {:?}", watching.complaints);
    }

    #[test]
    fn what_cannot_be_watched_later_on_is_said_and_looked_through() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().canonicalize().expect("a folder");
        let (tell, told) = mpsc::channel();
        let complaints = tell.clone();
        let (ears, news) = mpsc::channel();
        let mut watching = Watching::new(vec![root.clone()], Box::new(|_| false), ears.clone());
        watching.ready();
        // A disk of another machine is mounted below a folder that is watched.
        watching.remote = vec![root.join("far")];
        std::fs::create_dir(root.join("far")).expect("a folder");
        let worker = std::thread::spawn(move || {
            let mut complain = |text: &str| complaints.send(text.to_string()).expect("the test listens");
            watching.run(&news, &mut complain, &mut |changed| {
                tell.send(format!("{changed:?}")).expect("the test listens");
            });
        });
        let first = told.recv_timeout(PATIENCE).expect("it is said");
        assert!(first.contains("far cannot be watched (it lies on another machine"), "{first}");
        let far = format!("{:?}", Changed::Paths(vec![root.join("far")]));
        for _ in 0..2 {
            assert_eq!(told.recv_timeout(PATIENCE).expect("it is told"), far, "the news of it, and then a look");
        }
        ears.send(Heard::End).expect("it listens");
        worker.join().expect("it ends");
    }
}
