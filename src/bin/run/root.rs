//! The new root: what is not put here is not there.
//!
//! Everything that is shown is first opened without following links and copied as a detached mount, with
//! its attributes set on the copy; then the old root goes, and the copies are put in place. Nothing is
//! ever looked up twice, so nothing can be swapped in between.

use crate::policy::{Policy, SYSTEM};
use crate::sys::{self, Reach};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Files and folders of `/etc` that programs need and that hold no secrets. All others are not there.
pub const ETC: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "debian_version",
    "emacs",
    "fonts",
    "group",
    "host.conf",
    "hosts",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "locale.gen",
    "localtime",
    "lsb-release",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "papersize",
    "passwd",
    "perl",
    "profile",
    "protocols",
    "python3",
    "services",
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "texmf",
    "timezone",
];

/// The devices that there are.
pub const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];

/// Links below `/dev`.
const DEVICE_LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("shm", "/tmp"),
];

const SAFE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
const CLOSED: u64 = SAFE | libc::MOUNT_ATTR_RDONLY;
/// Devices must stay devices; read-only keeps their owner from changing their mode.
const DEVICE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOEXEC;

/// What is put at one path of the new root.
enum Layer {
    /// A copy of what the host has there.
    Tree(fs::File),
    /// A copy of what the layers below show there, with these attributes.
    Again(u64),
    /// A link.
    Link(PathBuf),
    /// Nothing: an empty folder or a file that cannot be read covers what the layers below show there.
    Nothing,
    /// A file that cannot be read.
    Masked,
}

/// Builds the new root and enters it. Returns notes on what the host does not have.
pub fn build(policy: &Policy) -> Result<Vec<String>, String> {
    sys::make_private().map_err(|e| format!("the mounts could not be cut off from the host's: {e}"))?;
    let layers = collect(policy)?;
    enter_empty_root()?;
    for folder in ["/dev", "/etc", "/proc", "/tmp", "/var"] {
        make_folder(Path::new(folder))?;
    }
    let nothing = unreadable_file()?;
    put(&memory(policy.limits.scratch, 0o700)?, Path::new("/tmp"))?;
    make_folder(Path::new("/tmp/home"))?;
    if !policy.read.iter().chain([&policy.project]).any(|root| root.starts_with("/var/tmp")) {
        make_link(Path::new("/tmp"), Path::new("/var/tmp"))?;
    }
    for (path, layer) in &layers {
        apply(path, layer, &nothing)?;
    }
    for (name, target) in DEVICE_LINKS {
        make_link(Path::new(target), &Path::new("/dev").join(name))?;
    }
    let mut notes = Vec::new();
    if let Err(e) = sys::mount_proc(Path::new("/proc")) {
        // Containers often cover parts of /proc, and then no new one may be made. Without it there is
        // less to see, not more; some programs will miss it.
        notes.push(format!("there is no /proc inside ({e})"));
    }
    Ok(notes)
}

/// What a `/proc` tells of the whole machine, its keys, or its kernel, and what would change them.
const TELLING: &[&str] = &[
    "acpi",
    "asound",
    "config.gz",
    "iomem",
    "kallsyms",
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "latency_stats",
    "sched_debug",
    "scsi",
    "slabinfo",
    "sysrq-trigger",
    "timer_list",
    "vmallocinfo",
];

/// Covers what `/proc` tells of others than the processes inside.
pub fn cover_proc() -> Result<(), String> {
    let nothing = sys::name(Path::new(NOTHING)).map_err(|e| format!("no empty file is there: {e}"))?;
    for name in TELLING {
        cover(&Path::new("/proc").join(name), &Layer::Nothing, &nothing)?;
    }
    Ok(())
}

/// Takes the host's root away and closes the new one. Nothing of the host can be mounted after this.
pub fn seal(policy: &Policy) -> Result<(), String> {
    sys::detach(Path::new("/host")).map_err(|e| format!("the host's root could not be taken away: {e}"))?;
    fs::remove_dir("/host").map_err(|e| format!("the host's root is still there: {e}"))?;
    if policy.bare {
        let scratch = sys::name(Path::new("/tmp")).map_err(|e| format!("there is no /tmp: {e}"))?;
        sys::set_attributes(&scratch, CLOSED | libc::MOUNT_ATTR_NOEXEC, Reach::Alone)
            .map_err(|e| format!("/tmp could not be closed: {e}"))?;
    }
    let root = sys::name(Path::new("/")).map_err(|e| format!("the new root is not there: {e}"))?;
    sys::set_attributes(&root, CLOSED, Reach::Alone).map_err(|e| format!("the new root could not be closed: {e}"))
}

/// Copies all that will be shown, ordered so that deeper paths come after those that they lie in.
fn collect(policy: &Policy) -> Result<Vec<(PathBuf, Layer)>, String> {
    let mut layers = Vec::new();
    for path in SYSTEM.iter().map(PathBuf::from).chain(ETC.iter().map(|name| Path::new("/etc").join(name))) {
        if let Some(layer) = system(&path)? {
            layers.push((path, layer));
        }
    }
    for name in DEVICES {
        let path = Path::new("/dev").join(name);
        layers.push((path.clone(), Layer::Tree(copy(&path, DEVICE)?)));
    }
    for path in &policy.read {
        layers.push((path.clone(), Layer::Tree(copy(path, CLOSED)?)));
    }
    let access = if policy.writable { SAFE } else { CLOSED };
    if !policy.bare {
        layers.push((policy.project.clone(), Layer::Tree(project(policy, access)?)));
    }
    for path in held(policy) {
        let layer = inner(policy, &path, access)?;
        layers.push((path, layer));
    }
    for path in &policy.protect {
        match sys::name(path) {
            Ok(_) => layers.push((path.clone(), inner(policy, path, CLOSED)?)),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(format!("{} cannot be protected: {e}", path.display())),
        }
    }
    // What lies in nothing that is shown needs no cover: it is not there.
    let shown = |path: &&PathBuf| {
        let system = SYSTEM.iter().any(|root| path.starts_with(root));
        system || policy.read.iter().chain([&policy.project]).any(|root| path.starts_with(root))
    };
    layers.extend(policy.hide.iter().filter(shown).map(|path| (path.clone(), Layer::Nothing)));
    layers.extend(policy.mask.iter().filter(shown).map(|path| (path.clone(), Layer::Masked)));
    layers.sort_by_key(|(path, layer)| (path.components().count(), matches!(layer, Layer::Nothing | Layer::Masked)));
    Ok(layers)
}

/// Returns the project, or a layer over it.
fn project(policy: &Policy, access: u64) -> Result<fs::File, String> {
    let Some(folder) = &policy.layer else { return copy(&policy.project, access) };
    let told = |e: std::io::Error| format!("no layer over {} could be made: {e}", policy.project.display());
    let [lower, upper, work] = [policy.project.clone(), folder.join("up"), folder.join("work")];
    let tree = sys::layered(
        &sys::name(&lower).map_err(told)?,
        &sys::name(&upper).map_err(told)?,
        &sys::name(&work).map_err(told)?,
    )
    .map_err(told)?;
    sys::set_attributes(&tree, access, Reach::Below).map_err(told)?;
    Ok(fs::File::from(tree))
}

/// Returns what is shown at a path inside the project: the host's own, or, under a layer, what the layer shows. The
/// host's would be written to past the layer.
fn inner(policy: &Policy, path: &Path, attributes: u64) -> Result<Layer, String> {
    match policy.layer {
        Some(_) => Ok(Layer::Again(attributes)),
        None => copy(path, attributes).map(Layer::Tree),
    }
}

/// Returns the folders of the project in which something is protected. Each becomes a mount of its own, because what
/// is mounted can be neither moved aside nor replaced; otherwise another could be made in its place, with other content.
fn held(policy: &Policy) -> BTreeSet<PathBuf> {
    let there = policy.protect.iter().filter(|path| sys::name(path).is_ok());
    let above = there.flat_map(|path| path.ancestors().skip(1));
    above
        .filter(|folder| **folder != policy.project && folder.starts_with(&policy.project))
        .map(Path::to_path_buf)
        .collect()
}

/// Returns what stands at a system path; nothing when the host has none.
fn system(path: &Path) -> Result<Option<Layer>, String> {
    let named = sys::name(path);
    match named.as_ref().map_err(std::io::Error::raw_os_error) {
        Err(Some(libc::ENOENT | libc::ENOTDIR | libc::EACCES)) => return Ok(None),
        Err(Some(libc::ELOOP)) => {
            // The last part is a link, or one before it.
            if let Ok(target) = fs::read_link(path) {
                return Ok(Some(Layer::Link(target)));
            }
        }
        Ok(_) | Err(_) => {}
    }
    match copy_named(path, named, CLOSED) {
        Ok(tree) => Ok(Some(Layer::Tree(tree))),
        // A file of /etc that this user may not even name, or behind a link: it stays away.
        Err(_) if path.starts_with("/etc") => Ok(None),
        Err(why) => Err(why),
    }
}

fn copy(path: &Path, attributes: u64) -> Result<fs::File, String> {
    copy_named(path, sys::name(path), attributes)
}

/// Copies what was opened by its path, if it was.
fn copy_named(path: &Path, named: std::io::Result<OwnedFd>, attributes: u64) -> Result<fs::File, String> {
    let name = named.map_err(|e| match e.raw_os_error() {
        Some(libc::ELOOP) => format!("{} has a symbolic link in it; name the place itself", path.display()),
        _ => format!("{} cannot be opened: {e}", path.display()),
    })?;
    let tree = sys::copy_tree(&name).map_err(|e| format!("{} cannot be shown inside: {e}", path.display()))?;
    sys::set_attributes(&tree, attributes, Reach::Below)
        .map_err(|e| format!("{} cannot be closed against writing: {e}", path.display()))?;
    Ok(fs::File::from(tree))
}

/// Puts an empty folder in memory in the place of the root; the host's stands at `/host` for a while.
fn enter_empty_root() -> Result<(), String> {
    let told = |what: &str, e: std::io::Error| format!("no new root could be made ({what}: {e})");
    let place = ["/tmp", "/mnt", "/usr"]
        .into_iter()
        .find(|place| fs::symlink_metadata(place).is_ok_and(|found| found.is_dir()))
        .ok_or("no new root could be made: there is no folder to build it on")?;
    put(&memory(1 << 20, 0o755)?, Path::new(place))?;
    std::env::set_current_dir(place).map_err(|e| told("enter", e))?;
    fs::create_dir("host").map_err(|e| told("folder", e))?;
    sys::pivot(Path::new("."), Path::new("host")).map_err(|e| told("pivot", e))?;
    std::env::set_current_dir("/").map_err(|e| told("enter", e))
}

fn apply(path: &Path, layer: &Layer, nothing: &OwnedFd) -> Result<(), String> {
    match layer {
        Layer::Link(target) => make_link(target, path),
        Layer::Again(attributes) => put(&copy(path, *attributes)?, path),
        Layer::Tree(tree) => {
            let folder = tree.metadata().map_err(|e| format!("{}: {e}", path.display()))?.is_dir();
            if folder {
                make_folder(path)?
            } else {
                make_file(path)?
            }
            put(tree, path)
        }
        Layer::Nothing | Layer::Masked => cover(path, layer, nothing),
    }
}

/// Covers a path if the layers below show something there.
fn cover(path: &Path, layer: &Layer, nothing: &OwnedFd) -> Result<(), String> {
    let told = |e: std::io::Error| format!("{} cannot be hidden: {e}", path.display());
    let place = match sys::name(path) {
        Ok(place) => place,
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) => return Ok(()),
        Err(e) => return Err(told(e)),
    };
    let place = fs::File::from(place);
    let found = place.metadata().map_err(told)?;
    match layer {
        // Left open for the folders that lead to a project in it; seen from inside, it is empty.
        Layer::Nothing if found.is_dir() => sys::attach(&memory(1 << 20, 0o711)?, &place).map_err(told),
        Layer::Masked if found.is_dir() => Err(format!("{} is a folder; hide it instead", path.display())),
        _ => {
            let copy = sys::copy_tree(nothing).map_err(told)?;
            sys::set_attributes(&copy, CLOSED, Reach::Alone).map_err(told)?;
            sys::attach(&copy, &place).map_err(told)
        }
    }
}

/// The file that covers others.
const NOTHING: &str = "/dev/.nothing";

/// Makes the file that covers others: nobody may read it.
fn unreadable_file() -> Result<OwnedFd, String> {
    use std::os::unix::fs::OpenOptionsExt;
    let path = Path::new(NOTHING);
    let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o000).open(path);
    made.and_then(|_| sys::name(path)).map_err(|e| format!("no empty file could be made: {e}"))
}

fn memory(bytes: u64, mode: u32) -> Result<OwnedFd, String> {
    let files = (bytes / 4096).clamp(1024, 1 << 18);
    sys::memory_folder(bytes, files, mode).map_err(|e| format!("no folder in memory could be made: {e}"))
}

fn put(tree: &impl AsRawFd, at: &Path) -> Result<(), String> {
    sys::name(at)
        .and_then(|place| sys::attach(tree, &place))
        .map_err(|e| format!("{} cannot be placed: {e}", at.display()))
}

fn make_folder(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|e| format!("{} cannot be made: {e}", path.display()))
}

fn make_file(path: &Path) -> Result<(), String> {
    let made = || fs::OpenOptions::new().write(true).create_new(true).open(path);
    // Mostly its folder is there, and it is not.
    if made().is_ok() || fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    made().map(drop).map_err(|e| format!("{} cannot be made: {e}", path.display()))
}

fn make_link(target: &Path, path: &Path) -> Result<(), String> {
    symlink(target, path).map_err(|e| format!("{} cannot be made: {e}", path.display()))
}
