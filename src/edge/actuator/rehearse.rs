//! Tries a command out over its project, in a throw-away layer or else a copy: no network, no secrets, ten seconds, and
//! nothing is kept.
//!
//! What it says and would change is for the human who decides about it.

use crate::domain::gate::differ::difference;
use crate::domain::gate::plan::Tried;
use crate::domain::port::Content;
use crate::domain::scope::Scope;
use crate::edge::actuator::layer;
use crate::edge::actuator::remove::remove;
use crate::edge::config::Config;
use crate::edge::sandbox::{Limits, Policy, SandboxError, SecretTest, Stamps, changed_files, stamps};
use crate::edge::survey::open;
use crate::edge::thread::PROJECTS;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// What a trial may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialLimits {
    /// How much of a command's outputs is read, and how long it may run at most: what the copying leaves of this.
    pub run: Limits,
    /// The largest project that is copied, in bytes.
    pub copied: u64,
    /// Most files of a project that is copied.
    pub files: usize,
    /// How many bytes a command that is tried may write.
    pub written: u64,
}

impl TrialLimits {
    /// Those of every trial, but in tests.
    pub const USUAL: TrialLimits = TrialLimits {
        run: Limits { seconds: 10, ..Limits::USUAL },
        copied: 200 << 20,
        files: 20_000,
        written: 100 << 20,
    };

    /// What is said of a command that writes too much.
    pub(super) fn too_much(&self) -> String {
        format!("it would write more than {} MB", self.written >> 20)
    }
}

/// When the command has ended what it did is still looked at for so long.
const LOOKING: Duration = Duration::from_secs(3);
/// How many bytes are read of what a command left, and of one file that is compared with it.
const READ: u64 = 200 << 20;
/// The free space of a disk shrinks by what others write there, too, while a command is tried: only what it wrote itself
/// says that it would write too much. Beyond this it is ended before anybody has looked, in bytes.
const OTHERS: u64 = 1 << 30;
/// How often it is looked how much a command has written.
const LOOK: Duration = Duration::from_millis(250);
/// Of so many files the difference is shown, of the others the name.
const SHOWN: usize = 12;
/// Most bytes of a file that is shown.
const SHOWN_BYTES: u64 = 64 * 1024;
/// So many characters of what it said are shown.
const SAID: usize = 8_000;
/// What is older than this is nobody's any more.
const OLD: Duration = Duration::from_secs(3600);

/// Returns the folder below which commands are tried.
pub(in crate::edge) fn folder(config: &Config) -> PathBuf {
    config.cache.join("dry-run")
}

/// Tries a command out for at most so long, copying included, with a little more for looking at what it did.
/// Dropping the future ends the command, and what it wrote goes.
///
/// # Errors
/// Why it was not tried, in words.
pub(super) async fn within(
    most: Duration,
    trial: impl Future<Output = Result<Tried, String>>,
) -> Result<Tried, String> {
    let late = |_| Err(format!("trying it took more than {} seconds", most.as_secs().max(1)));
    tokio::time::timeout(most + LOOKING, trial).await.unwrap_or_else(late)
}

/// A folder of ours in which a command is tried; it goes when this does.
struct Room {
    folder: PathBuf,
    /// How many bytes we put there.
    bytes: u64,
    gone: bool,
}

impl Room {
    fn make(below: &Path, project: &Path) -> Result<Room, String> {
        let name = blake3::hash(format!("{:?} {}", SystemTime::now(), project.display()).as_bytes()).to_hex();
        let folder = below.join(format!("{}-{}", std::process::id(), name.get(..16).unwrap_or("trial")));
        new_folder(&folder)?;
        // The launcher follows no links.
        let folder = folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Room { folder, bytes: 0, gone: false })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.gone {
            return;
        }
        // Whoever drops it may be what answers everyone, so it is done elsewhere; what is left is swept later.
        let folder = self.folder.clone();
        let _ = std::thread::Builder::new().name("dry-run".to_string()).spawn(move || remove(&folder));
    }
}

fn new_folder(folder: &Path) -> Result<(), String> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| format!("{}: {error}", folder.display()))
}

/// How a project is kept as it is while a command is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// The command writes into a layer over it.
    Layered,
    /// The command works on a copy, without what it may not see.
    Copied,
}

/// Where a command is tried; nothing of it is left when this goes.
pub(super) struct Ground {
    room: Room,
    /// What the command may see and write.
    pub(super) policy: Policy,
    project: PathBuf,
    limits: TrialLimits,
    /// The copy as it was; `None` for a layer.
    before: Option<Stamps>,
}

impl Ground {
    /// Makes the ground for a command of a scope below a folder of ours. Blocks.
    ///
    /// # Errors
    /// In words, when the project cannot be looked at, or is too large to be copied, or it was given up.
    pub(super) fn make(
        scope: &Scope,
        secret: &SecretTest,
        below: &Path,
        (kept, limits): (Kept, TrialLimits),
        given_up: &AtomicBool,
    ) -> Result<Ground, String> {
        let policy = Policy::for_scope(scope, secret).map_err(|why| why.to_string())?;
        let (project, disk) = (policy.project.clone(), limits.written.saturating_add(OTHERS));
        let mut room = Room::make(below, &project)?;
        if kept == Kept::Layered {
            for name in [layer::WRITTEN, layer::WORK] {
                new_folder(&room.folder.join(name))?;
            }
            let policy = Policy { layer: Some(room.folder.clone()), disk, ..policy };
            return Ok(Ground { room, policy, project, limits, before: None });
        }
        copy(&mut room, &policy, &limits, given_up)?;
        let folder = room.folder.clone();
        let protect = policy.protect.iter().filter_map(|path| Some(folder.join(path.strip_prefix(&project).ok()?)));
        let protect = protect.filter(|path| path.exists()).collect();
        let hide = policy.hide.iter().filter(|path| !path.starts_with(&project)).cloned().collect();
        let before = Some(stamps(&folder).map_err(|why| why.to_string())?);
        let policy = Policy { project: folder, mask: Vec::new(), hide, protect, disk, ..policy };
        Ok(Ground { room, policy, project, limits, before })
    }

    /// Waits until a command has written too much.
    pub(super) async fn grown(&self) {
        loop {
            tokio::time::sleep(LOOK).await;
            let folder = self.room.folder.clone();
            let size = PROJECTS.run(move || size(&folder)).await.unwrap_or(u64::MAX);
            if size > self.room.bytes.saturating_add(self.limits.written) {
                return;
            }
        }
    }

    /// Returns what a command that said this did, and takes the ground away: in words for the human, and file by file by
    /// the names that these have in the project. Blocks.
    ///
    /// # Errors
    /// When it wrote too much, when not all of it can be looked at, or when it was given up.
    pub(super) fn looked_at(mut self, said: &str, given_up: Arc<AtomicBool>) -> Result<Tried, SandboxError> {
        let mut budget = Budget { given_up, ..Budget::default() };
        let tried = match size(&self.room.folder) > self.room.bytes.saturating_add(self.limits.written) {
            true => Err(SandboxError::Policy(self.limits.too_much())),
            false => self.changes(&mut budget).and_then(|changed| told(&changed, said, &mut budget)),
        };
        remove(&self.room.folder);
        self.room.gone = true;
        tried
    }

    /// Returns the files that are not as they were.
    fn changes(&self, budget: &mut Budget) -> Result<Vec<Change>, SandboxError> {
        let Some(before) = &self.before else {
            return layer::changes(&self.room.folder.join(layer::WRITTEN), &self.project, budget);
        };
        let after = stamps(&self.room.folder)?;
        if let Some((shut, _)) = after.iter().find(|(_, stamp)| stamp.shut) {
            let name = shut.file_name().unwrap_or_default().to_string_lossy();
            return Err(SandboxError::Policy(format!("it left “{name}” where nobody can look into it")));
        }
        let change = |file: String| {
            let now = PathBuf::from(file);
            let real = self.project.join(now.strip_prefix(&self.room.folder).unwrap_or(&now));
            Change { real, now: now.symlink_metadata().is_ok_and(|about| !about.is_dir()).then_some(now) }
        };
        Ok(changed_files(before, &after).into_iter().map(change).collect())
    }
}

/// How much of what a command left is looked at.
pub(super) struct Budget {
    /// So many files and folders more.
    pub(super) entries: usize,
    /// So many bytes more.
    left: u64,
    given_up: Arc<AtomicBool>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { entries: 100_000, left: READ, given_up: Arc::default() }
    }
}

impl Budget {
    /// Takes note of one more file or folder.
    ///
    /// # Errors
    /// When there are too many, or it was given up.
    pub(super) fn entry(&mut self) -> Result<(), SandboxError> {
        if self.given_up.load(Ordering::Relaxed) {
            return Err(SandboxError::Policy("it was given up".to_string()));
        }
        let left = self.entries.checked_sub(1);
        self.entries =
            left.ok_or_else(|| SandboxError::Policy("it would change more than 100,000 files".to_string()))?;
        Ok(())
    }

    /// Returns whether so many bytes more may be read.
    ///
    /// # Errors
    /// When it was given up.
    pub(super) fn bytes(&mut self, more: u64) -> Result<bool, SandboxError> {
        self.entry()?;
        let left = self.left.checked_sub(more);
        self.left = left.unwrap_or(self.left);
        Ok(left.is_some())
    }
}

/// A file that a command would make, change or remove.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// Where it stands in the project.
    pub(super) real: PathBuf,
    /// Where it stands as the command left it; `None` when the command removed it.
    pub(super) now: Option<PathBuf>,
}

/// Says to a copying that it need not go on; it does so when it is dropped.
#[derive(Default)]
pub(super) struct GivenUp(Arc<AtomicBool>);

impl GivenUp {
    /// Returns what is looked at while it is copied.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Copies a project into a room, without what a command may not see. Blocks.
fn copy(room: &mut Room, policy: &Policy, limits: &TrialLimits, given_up: &AtomicBool) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    // Most projects lie below a home, which is hidden itself.
    let closed: Vec<&PathBuf> =
        policy.mask.iter().chain(&policy.hide).filter(|closed| closed.starts_with(&policy.project)).collect();
    let hidden = |path: &Path| closed.iter().any(|closed| path.starts_with(closed));
    let (mut folders, mut files) = (vec![policy.project.clone()], 0usize);
    while let Some(from) = folders.pop() {
        for entry in std::fs::read_dir(&from).into_iter().flatten().flatten() {
            let path = entry.path();
            if hidden(&path) {
                continue;
            }
            if given_up.load(Ordering::Relaxed) {
                return Err("it was given up".to_string());
            }
            let (Ok(about), Ok(rest)) = (entry.metadata(), path.strip_prefix(&policy.project)) else { continue };
            let to = room.folder.join(rest);
            files += 1;
            room.bytes = room.bytes.saturating_add(if about.is_file() { about.len() } else { 0 });
            if room.bytes > limits.copied || files > limits.files {
                let TrialLimits { copied, files, .. } = limits;
                return Err(format!("the project holds more than {} MB or {files} files", copied >> 20));
            }
            if about.is_dir() {
                std::fs::create_dir(&to).map_err(|error| failed(&to, error))?;
                folders.push(path);
            } else if about.is_symlink() {
                let target = std::fs::read_link(&path).map_err(|error| failed(&path, error))?;
                std::os::unix::fs::symlink(target, &to).map_err(|error| failed(&to, error))?;
            } else if about.is_file() {
                copy_file(&path, &to).map_err(|error| failed(&path, error))?;
            }
        }
    }
    Ok(())
}

/// Copies a file that is no link, also not by now: a link could lead to what is hidden.
fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut source =
        std::fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(from)?;
    let about = source.metadata()?;
    if !about.is_file() {
        return Err(std::io::Error::other("it is no file any more"));
    }
    let mut target = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    // It may have grown since it was counted.
    std::io::copy(&mut std::io::Read::by_ref(&mut source).take(about.len()), &mut target)?;
    target.set_permissions(about.permissions())
}

/// Takes away what a program left which ended, by its death or a crash. Blocks.
pub(in crate::edge) fn sweep(below: &Path) {
    for entry in std::fs::read_dir(below).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|about| about.modified()).ok().and_then(|at| at.elapsed().ok());
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.split('-').next().and_then(|number| number.parse::<u32>().ok());
        // Where the system lists no processes, only their age tells.
        let lists = Path::new("/proc/self").exists();
        let ended = process.is_none_or(|number| lists && !Path::new(&format!("/proc/{number}")).exists());
        if ended || age.is_some_and(|age| age > OLD) {
            remove(&entry.path());
        }
    }
}

fn size(folder: &Path) -> u64 {
    let (mut total, mut folders) = (0u64, vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(about) if about.is_dir() => folders.push(entry.path()),
                Ok(about) => total = total.saturating_add(about.len()),
                Err(_) => {}
            }
        }
    }
    total
}

/// Returns what came of a trial.
fn told(changed: &[Change], said: &str, budget: &mut Budget) -> Result<Tried, SandboxError> {
    let short: String = said.chars().take(SAID).collect();
    let cut = if short.len() < said.len() { "\n… and more, which is not shown." } else { "" };
    let mut text = format!("Without a network and without secrets; nothing of it was kept:\n{short}{cut}\n");
    let mut files = Vec::new();
    if changed.is_empty() {
        text.push_str("It changed no file.\n");
    }
    for (at, Change { real, now }) in changed.iter().enumerate() {
        let name = real.display().to_string();
        if at < SHOWN {
            match (read(real), now.as_deref().map_or_else(|| Some(String::new()), read)) {
                (Some(then), Some(now)) => {
                    let diff = difference(&name, &then, &now).replacen(", as it was shown", ", as it is", 1);
                    text.push_str(&diff.replacen(
                        &format!("+++ {name}, now"),
                        &format!("+++ {name}, as it would be"),
                        1,
                    ));
                }
                _ => text.push_str(&format!("{name}: not shown, because it is no short text\n")),
            }
        } else {
            text.push_str(&format!("{name}: changed as well\n"));
        }
        let length = now.as_ref().and_then(|now| now.symlink_metadata().ok()).map_or(0, |about| about.len());
        let now = match budget.bytes(length)? {
            true => now.as_deref().and_then(bytes),
            false => Some(format!("of {length} bytes")),
        };
        files.push((name, now));
    }
    Ok(Tried { ran: true, text, said: said.to_string(), files })
}

/// Returns a short text; what is not there is an empty one. No link is followed: it may lead to what is nobody's business.
fn read(path: &Path) -> Option<String> {
    let file = match open::file(path) {
        Ok(file) => file,
        Err(_) if open::folder(path.parent()?).is_ok() && path.symlink_metadata().is_ok() => return None,
        Err(_) => return Some(String::new()),
    };
    let about = file.metadata().ok().filter(|about| about.is_file() && about.len() <= SHOWN_BYTES)?;
    let mut text = String::new();
    file.take(about.len()).read_to_string(&mut text).ok().map(|_| text)
}

/// Returns what stands in a file. What is no file, such as a link, holds nothing.
pub(super) fn content(path: &Path) -> Content {
    match std::fs::symlink_metadata(path) {
        Ok(about) if about.is_file() => bytes(path).map_or(Content::Unknown, Content::Bytes),
        Ok(_) => Content::Nothing,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Content::Nothing,
        Err(_) => Content::Unknown,
    }
}

/// Returns the name of the bytes of a file, in hexadecimal; `None` when they cannot be read.
fn bytes(path: &Path) -> Option<String> {
    let file = open::file(path).ok()?;
    let about = file.metadata().ok().filter(|about| about.is_file())?;
    if about.len() > READ {
        return Some(format!("of {} bytes", about.len()));
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file.take(READ)).ok()?;
    Some(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_that_cannot_be_opened_is_unknown_and_what_is_not_there_is_nothing() {
        let below = tempfile::tempdir().expect("a folder");
        let at = |name: &str| below.path().join(name);
        std::fs::write(at("a"), "x").expect("it is written");
        std::os::unix::fs::symlink(at("a"), at("link")).expect("it is made");
        std::os::unix::fs::symlink(below.path(), at("way")).expect("it is made");
        let named = blake3::hash(b"x").to_hex().to_string();
        for (name, expected) in [
            ("a", Content::Bytes(named)),
            ("none", Content::Nothing),
            ("a/below", Content::Nothing),
            ("link", Content::Nothing),
            ("", Content::Nothing),
            // A link on the way: it is there, and is not opened.
            ("way/a", Content::Unknown),
        ] {
            assert_eq!(content(&at(name)), expected, "{name}");
        }
    }

    #[test]
    fn what_a_program_left_that_has_ended_is_swept_and_what_another_one_is_doing_is_not() {
        let below = tempfile::tempdir().expect("a folder");
        let own = std::process::id();
        // No process has the largest number.
        for name in [format!("{}-0", u32::MAX), format!("{own}-0"), "odd".to_string()] {
            std::fs::create_dir_all(below.path().join(&name).join("shut")).expect("it is made");
            std::fs::write(below.path().join(&name).join("shut/a.txt"), "x").expect("it is written");
        }
        let shut = below.path().join(format!("{}-0/shut", u32::MAX));
        std::fs::set_permissions(&shut, std::fs::Permissions::from_mode(0o000)).expect("it is ours");
        sweep(below.path());
        let left: Vec<_> = std::fs::read_dir(below.path()).expect("it is there").flatten().collect();
        assert_eq!(left.iter().map(|entry| entry.file_name()).collect::<Vec<_>>(), [format!("{own}-0").as_str()]);
    }

    #[test]
    fn a_link_is_not_copied_as_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("secret"), "hunter2").expect("it is written");
        std::os::unix::fs::symlink(folder.path().join("secret"), folder.path().join("link")).expect("a link");
        assert!(copy_file(&folder.path().join("link"), &folder.path().join("copy")).is_err());
        assert!(copy_file(&folder.path().join("secret"), &folder.path().join("copy")).is_ok());
    }
}
