//! Tries a command out in a throw-away copy of its project: no network, no secrets, ten seconds, and nothing is kept.
//!
//! What it says and would change is for the human who decides about it.

use crate::domain::gate::differ::difference;
use crate::domain::gate::plan::Tried;
use crate::domain::scope::Scope;
use crate::edge::config::Config;
use crate::edge::sandbox::{Limits, Policy, SandboxError, SecretTest, changed_files, stamps};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// How much of a command's outputs is read, and how long it may run at most: what the copying leaves of this.
pub(super) const LIMITS: Limits = Limits { seconds: 10, ..Limits::USUAL };
/// When the command has ended what it did is still looked at for so long.
const LOOKING: Duration = Duration::from_secs(3);
/// The largest project that is copied, in bytes.
const COPIED: u64 = 200 << 20;
/// Most files of a project that is copied.
const FILES: usize = 20_000;
/// How many bytes a command that is tried may add to the copy.
const WRITTEN: u64 = 100 << 20;
/// How often it is looked how many those are.
const LOOK: Duration = Duration::from_millis(250);
/// Of so many files the difference is shown, of the others the name.
const SHOWN: usize = 12;
/// Most bytes of a file that is shown.
const SHOWN_BYTES: u64 = 64 * 1024;
/// So many characters of what it said are shown.
const SAID: usize = 8_000;
/// A copy that is older than this is nobody's any more.
const OLD: Duration = Duration::from_secs(3600);

/// Returns the folder below which copies are made.
pub(in crate::edge) fn folder(config: &Config) -> PathBuf {
    config.cache.join("dry-run")
}

/// Tries a command out for at most so long, copying included, with a little more for looking at what it did.
/// Dropping the future ends the command, and the copy goes.
///
/// # Errors
/// Why it was not tried, in words.
pub(super) async fn within(
    most: Duration,
    trial: impl Future<Output = Result<Tried, String>>,
) -> Result<Tried, String> {
    let late = |_| Err(format!("copying its project and trying it took more than {} seconds", most.as_secs().max(1)));
    tokio::time::timeout(most + LOOKING, trial).await.unwrap_or_else(late)
}

/// A copy of a project; it goes when this does.
pub(super) struct Copy {
    /// Where it is.
    pub(super) folder: PathBuf,
    bytes: u64,
    gone: bool,
}

impl Copy {
    /// Takes the copy away. Blocks.
    pub(super) fn remove(mut self) {
        remove(&self.folder);
        self.gone = true;
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if self.gone {
            return;
        }
        // Whoever drops it may be what answers everyone, so it is done elsewhere; what is left is swept later.
        let folder = self.folder.clone();
        let _ = std::thread::Builder::new().name("dry-run".to_string()).spawn(move || remove(&folder));
    }
}

/// Takes a folder away, also one in which a command took rights away, or that is still being written to.
fn remove(folder: &Path) {
    for _ in 0..20 {
        match std::fs::remove_dir_all(folder) {
            Ok(()) => return,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(_) => open_up(folder),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn open_up(folder: &Path) {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let _ = std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700));
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
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

/// Makes a copy of the project of a scope below a folder of ours, without what a command may not see, and the policy for
/// a command in it. Blocks.
///
/// # Errors
/// In words, when it is too large or cannot be copied, or was given up.
pub(super) fn copy(
    scope: &Scope,
    secret: &SecretTest,
    below: &Path,
    given_up: &AtomicBool,
) -> Result<(Copy, Policy), String> {
    let policy = Policy::for_scope(scope, secret).map_err(|why| why.to_string())?;
    let project = policy.project.clone();
    let name = blake3::hash(format!("{:?} {}", SystemTime::now(), project.display()).as_bytes()).to_hex();
    let folder = below.join(format!("{}-{}", std::process::id(), name.get(..16).unwrap_or("copy")));
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|error| failed(&folder, error))?;
    let mut copy = Copy { folder: folder.clone(), bytes: 0, gone: false };
    let hidden = |path: &Path| policy.mask.iter().chain(&policy.hide).any(|closed| path.starts_with(closed));
    let (mut folders, mut files) = (vec![project.clone()], 0usize);
    while let Some(from) = folders.pop() {
        for entry in std::fs::read_dir(&from).into_iter().flatten().flatten() {
            let path = entry.path();
            if hidden(&path) {
                continue;
            }
            if given_up.load(Ordering::Relaxed) {
                return Err("it was given up".to_string());
            }
            let (Ok(about), Ok(rest)) = (entry.metadata(), path.strip_prefix(&project)) else { continue };
            let to = folder.join(rest);
            files += 1;
            copy.bytes = copy.bytes.saturating_add(if about.is_file() { about.len() } else { 0 });
            if copy.bytes > COPIED || files > FILES {
                return Err(format!("the project holds more than {} MB or {FILES} files", COPIED >> 20));
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
    let protect = policy.protect.iter().filter_map(|path| Some(folder.join(path.strip_prefix(&project).ok()?)));
    let protect = protect.filter(|path| path.exists()).collect();
    let hide = policy.hide.iter().filter(|path| !path.starts_with(&project)).cloned().collect();
    let policy = Policy { project: folder, mask: Vec::new(), hide, protect, disk: WRITTEN, ..policy };
    Ok((copy, policy))
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

/// Takes copies away that a program left which ended, by its death or a crash. Blocks.
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

/// Waits until a command has added too much to a copy.
pub(super) async fn grown(copy: &Copy) {
    loop {
        tokio::time::sleep(LOOK).await;
        let folder = copy.folder.clone();
        let size = tokio::task::spawn_blocking(move || size(&folder)).await.unwrap_or(u64::MAX);
        if size > copy.bytes.saturating_add(WRITTEN) {
            return;
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

/// Returns what a command did to a copy: in words for the human, and file by file by the names that these have in the
/// project. Blocks.
pub(super) fn looked_at(
    copy: &Copy,
    before: &crate::edge::sandbox::Stamps,
    project: &Path,
    said: &str,
) -> Result<Tried, SandboxError> {
    let after = stamps(&copy.folder)?;
    let changed = changed_files(before, &after);
    let short: String = said.chars().take(SAID).collect();
    let cut = if short.len() < said.len() { "\n… and more, which is not shown." } else { "" };
    let mut text = format!("In a copy of the project, without a network and without secrets:\n{short}{cut}\n");
    let mut files = Vec::new();
    if changed.is_empty() {
        text.push_str("It changed no file.\n");
    }
    for (at, file) in changed.iter().enumerate() {
        let path = Path::new(file);
        let real = project.join(path.strip_prefix(&copy.folder).unwrap_or(path));
        let name = real.display().to_string();
        if at < SHOWN {
            match (read(&real), read(path)) {
                (Some(then), Some(now)) => {
                    text.push_str(&difference(&name, &then, &now).replacen(", as it was shown", ", as it is", 1));
                }
                _ => text.push_str(&format!("{name}: not shown, because it is no short text\n")),
            }
        } else {
            text.push_str(&format!("{name}: changed as well\n"));
        }
        files.push((name, content(path)));
    }
    Ok(Tried { ran: true, text, said: said.to_string(), files })
}

/// Returns a short text; what is not there is an empty one.
fn read(path: &Path) -> Option<String> {
    match path.symlink_metadata() {
        Err(_) => Some(String::new()),
        Ok(about) if about.is_file() && about.len() <= SHOWN_BYTES => std::fs::read_to_string(path).ok(),
        Ok(_) => None,
    }
}

/// Returns the name of the bytes of a file, in hexadecimal; `None` when it is not there or is no file.
pub(super) fn content(path: &Path) -> Option<String> {
    let about = path.symlink_metadata().ok().filter(|about| about.is_file())?;
    match about.len() <= COPIED {
        true => std::fs::read(path).ok().map(|bytes| blake3::hash(&bytes).to_hex().to_string()),
        false => Some(format!("of {} bytes", about.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
