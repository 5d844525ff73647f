//! How much room the copies of projects take, and which of them go.
//!
//! Copies too many cost room and nothing else: what a command changed is in the store.

use crate::edge::shadow::{Caps, RUNNING, USED};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How many projects of the largest size keep their copies.
const PROJECTS_KEPT: u64 = 4;
/// How long the copies of another store are kept while nobody uses them.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3_600);

/// What stands behind the name of copies that are being removed.
const GONE: &str = ".gone";

/// What copies of projects take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// How many projects have copies.
    pub projects: usize,
    /// Their bytes, of all of them together.
    pub bytes: u64,
}

/// Returns the most bytes that the copies of one store keep.
pub fn most(caps: Caps) -> u64 {
    caps.bytes.saturating_mul(PROJECTS_KEPT)
}

/// Returns what the copies of all stores take; `all` is the folder that holds a folder for each store.
pub fn taken(all: &Path) -> Room {
    let mut room = Room::default();
    for project in below(all).iter().flat_map(|store| below(store)) {
        room.projects += 1;
        room.bytes = room.bytes.saturating_add(size(&project));
    }
    room
}

/// Takes copies of whole projects away until there are not too many, those that were not used for longest first, and
/// those of other stores that nobody has used for a month. A project in which a command runs keeps its own.
pub(super) fn tidy(root: &Path, caps: Caps) {
    // Who is copying has no note yet that it runs; the next one tidies up.
    let Some(_alone) = USED.try_write() else { return };
    take_away(root, most(caps));
    if let Some(all) = root.parent() {
        forget_unused(all, root, SystemTime::now());
    }
}

/// Leaves at most so many bytes.
fn take_away(root: &Path, most: u64) {
    let mut folders = below(root);
    folders.sort_by_key(|folder| std::cmp::Reverse(used(folder)));
    let mut total = 0u64;
    for folder in folders {
        let size = size(&folder);
        total = total.saturating_add(size);
        if total > most && !folder.join(RUNNING).exists() {
            total = total.saturating_sub(size);
            // What cannot be removed now is tried again with the next new project.
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
}

/// Removes the copies of other stores that were not used for long.
fn forget_unused(all: &Path, own: &Path, now: SystemTime) {
    for store in below(all).iter().filter(|store| *store != own) {
        for project in below(store) {
            forget(&project, &|project| {
                let since = used(project).and_then(|used| now.duration_since(used).ok());
                since.is_some_and(|since| since > UNUSED) && !project.join(RUNNING).exists()
            });
        }
        // Only when nothing is left in it.
        let _ = std::fs::remove_dir(store);
    }
}

/// Removes the copies of a project when they are unused, which another process may end at any moment: they get another
/// name first, so that it has all of them or none, and come back when they turn out to be used.
fn forget(project: &Path, unused: &dyn Fn(&Path) -> bool) {
    if !unused(project) {
        return;
    }
    let Some(name) = project.file_name().map(|name| name.to_string_lossy().into_owned()) else { return };
    // What an earlier run did not come to remove has such a name already.
    let away = project.with_file_name(format!("{}{GONE}", name.trim_end_matches(GONE)));
    if away != project && std::fs::rename(project, &away).is_err() {
        return;
    }
    if away == project || unused(&away) {
        // What cannot be removed now is tried again the next time.
        let _ = std::fs::remove_dir_all(&away);
    } else if std::fs::rename(&away, project).is_err() {
        // Who uses it has made it anew meanwhile: these are copies too many.
        let _ = std::fs::remove_dir_all(&away);
    }
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn size(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|about| about.len()).fold(0, u64::saturating_add)
}

fn used(folder: &Path) -> Option<SystemTime> {
    folder.metadata().and_then(|about| about.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::shadow::Shadow;
    use serde_json::Value;

    const CAPS: Caps = Caps { bytes: 1 << 20, files: 100 };

    #[test]
    fn copies_of_all_projects_together_have_a_limit() {
        let place = tempfile::tempdir().expect("a folder");
        let base = place.path().canonicalize().expect("it is there");
        let cache = base.join("cache");
        let mut shadows = Vec::new();
        for (age, name) in ["new", "old", "running"].into_iter().enumerate() {
            let project = base.join(name);
            std::fs::create_dir_all(&project).expect("a folder");
            std::fs::write(project.join("a"), name.repeat(1_000)).expect("a file");
            let mut shadow = Shadow::of(&cache, &project, CAPS);
            shadow.before(&Value::Null).expect("it is copied");
            if name != "running" {
                shadow.finished();
            }
            let used = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 - age as u64);
            std::fs::File::open(&shadow.folder).and_then(|folder| folder.set_modified(used)).expect("it is set");
            shadows.push(shadow);
        }
        let there = || shadows.iter().map(|shadow| shadow.folder.exists()).collect::<Vec<_>>();
        take_away(&cache, 1 << 20);
        assert_eq!(there(), [true, true, true]);
        take_away(&cache, 5_000);
        assert_eq!(there(), [true, false, true], "the one that was not used for longest goes");
    }

    #[test]
    fn copies_that_are_used_just_when_they_would_go_stay() {
        let place = tempfile::tempdir().expect("a folder");
        let base = place.path().canonicalize().expect("it is there");
        let (all, project) = (base.join("all"), base.join("project"));
        std::fs::create_dir(&project).expect("a folder");
        std::fs::write(project.join("a"), "1").expect("a file");
        let caps = Caps { files: 1, ..CAPS };
        let mut shadow = Shadow::of(&all.join("other"), &project, caps);
        shadow.before(&Value::Null).expect("it is copied");
        shadow.finished();
        let month = |folder: &Path| {
            let then = SystemTime::now() - Duration::from_secs(90 * 24 * 3_600);
            std::fs::File::open(folder).and_then(|folder| folder.set_modified(then)).expect("it is set");
        };
        month(&shadow.folder);
        // Its use is noted before anything is copied.
        std::fs::write(project.join("b"), "2").expect("a file");
        shadow.before(&Value::Null).expect_err("there is too much");
        forget_unused(&all, &all.join("own"), SystemTime::now());
        assert!(shadow.folder.join("index.jsonl").exists());
        // Used behind the first look.
        let looks = std::cell::Cell::new(0);
        forget(&shadow.folder, &|_| looks.replace(looks.get() + 1) == 0);
        assert!(shadow.folder.join("index.jsonl").exists());
        assert_eq!((looks.get(), below(&all.join("other")).len()), (2, 1));
        // What an earlier run left on its way goes with the rest.
        let left = all.join("other/x.gone");
        std::fs::create_dir(&left).expect("a folder");
        month(&left);
        month(&shadow.folder);
        forget_unused(&all, &all.join("own"), SystemTime::now());
        assert!(!all.join("other").exists());
    }

    #[test]
    fn copies_of_other_stores_go_when_nobody_has_used_them_for_a_month() {
        let place = tempfile::tempdir().expect("a folder");
        let all = place.path().canonicalize().expect("it is there");
        let now = SystemTime::now();
        for (store, project, days) in [("own", "a", 90), ("other", "a", 90), ("other", "b", 2), ("gone", "a", 31)] {
            let folder = all.join(store).join(project);
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join("copy"), "12345").expect("a file");
            let used = now - Duration::from_secs(days * 24 * 3_600);
            std::fs::File::open(&folder).and_then(|folder| folder.set_modified(used)).expect("it is set");
        }
        std::fs::create_dir_all(all.join("busy/a")).expect("a folder");
        std::fs::write(all.join("busy/a").join(RUNNING), "{}").expect("a file");
        let long_ago = now - Duration::from_secs(90 * 24 * 3_600);
        std::fs::File::open(all.join("busy/a")).and_then(|folder| folder.set_modified(long_ago)).expect("it is set");
        assert_eq!(taken(&all), Room { projects: 5, bytes: 22 });
        forget_unused(&all, &all.join("own"), now);
        let left = ["own/a", "other/a", "other/b", "gone", "busy/a"].map(|path| all.join(path).exists());
        assert_eq!(left, [true, false, true, false, true]);
    }
}
