//! Writes an archive: a consistent copy of the store, taken while its owner may write, and the files as they lie.

use super::{Entry, FORM, Kept, MANIFEST, Manifest};
use crate::domain::gate::place::secret_name;
use crate::edge::secret::without_secrets;
use crate::edge::store::copy_store;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// No folder lies deeper; what does is named and left out.
const DEEPEST: usize = 64;
/// The settings file that may hold keys, as a backup names it.
const ENV: &str = "settings/.env";
/// At most so many bytes of it are looked through for them.
const LONGEST_ENV: u64 = 1 << 20;

/// What lies in the store's folder and belongs to its machine, and what it is without it.
const STAYS: [(&str, &str); 5] = [
    ("calls", "it says which models are being asked"),
    ("clients", "it says whose keys are let in on this machine; elsewhere they are let in again"),
    ("conversations", "conversations of passepartout tui stay on this machine; copy the folder to have them elsewhere"),
    ("cookie", "it is the cookie of this machine; elsewhere a new one is made"),
    ("key.pem", "it is the key of this machine; elsewhere a new one is made, with another fingerprint"),
];

/// What is saved.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The store's folder.
    pub store: PathBuf,
    /// The settings' folder.
    pub settings: PathBuf,
    /// Folders and files of the memex; none leaves the notes out.
    pub memex: Vec<PathBuf>,
    /// Keys go along.
    pub keys: bool,
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// What the archive says of itself.
    pub manifest: Manifest,
    /// How long it is.
    pub bytes: u64,
}

/// Writes an archive to a new file that only its user can read.
///
/// # Errors
/// In words; then there is no archive.
pub fn write(sources: &Sources, file: &Path, at: jiff::Timestamp) -> Result<Written, String> {
    let named = |what: &Path, why: &dyn std::fmt::Display| format!("{}: {why}", what.display());
    if file.symlink_metadata().is_ok() {
        return Err(format!("{} is there already, and was left as it is; name another file", file.display()));
    }
    let mut name = file.file_name().ok_or_else(|| format!("{} names no file", file.display()))?.to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let part = file.with_file_name(name);
    let staging = Staging::beside(&part)?;
    let written = Archive::new(&part).map_err(|why| named(&part, &why)).and_then(|archive| {
        let mut archive = archive;
        let result = archive.fill(sources, &staging.0).and_then(|()| {
            let manifest = Manifest {
                form: FORM,
                made: at.to_string(),
                version: env!("CARGO_PKG_VERSION").to_string(),
                keys: sources.keys,
                store: sources.store.clone(),
                settings: sources.settings.clone(),
                memex: sources.memex.clone(),
                left_out: std::mem::take(&mut archive.left_out),
                files: std::mem::take(&mut archive.files),
            };
            archive.end(manifest).map_err(|why| named(&part, &why))
        });
        // Nothing half is left behind.
        let result = result.and_then(|written| {
            // A link first: it does not go over a file that came meanwhile.
            fs::hard_link(&part, file).or_else(|_| rename_new(&part, file)).map_err(|why| named(file, &why))?;
            Ok(written)
        });
        let _ = fs::remove_file(&part);
        result
    })?;
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        // The name is safe on disk as well; some file systems cannot promise it.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(written)
}

/// Renames where no link can be made.
fn rename_new(part: &Path, file: &Path) -> io::Result<()> {
    match file.symlink_metadata() {
        Ok(_) => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
        Err(_) => fs::rename(part, file),
    }
}

/// A folder for copies that are taken first; it goes with this.
struct Staging(PathBuf);

impl Staging {
    fn beside(part: &Path) -> Result<Staging, String> {
        let folder = part.with_extension("staging");
        let made = fs::DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|why| format!("{}: {why}", folder.display()))?;
        Ok(Staging(folder))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What stays has the name of what it was for.
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Archive {
    tar: tar::Builder<File>,
    /// What is made for the archive itself, which may lie in a folder that is saved.
    own: Vec<std::ffi::OsString>,
    files: Vec<Entry>,
    left_out: Vec<String>,
}

impl Archive {
    fn new(part: &Path) -> io::Result<Archive> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(part)?;
        let staging = part.with_extension("staging");
        let own = [part, &staging].into_iter().filter_map(|path| path.file_name().map(Into::into)).collect();
        Ok(Archive { tar: tar::Builder::new(file), own, files: Vec::new(), left_out: Vec::new() })
    }

    /// Takes everything in. The settings come first: the head of the store that is noted there is then no newer than
    /// the copy of the store.
    fn fill(&mut self, sources: &Sources, staging: &Path) -> Result<(), String> {
        self.take_settings(&sources.settings, sources.keys)?;
        let (database, log) = (staging.join("memory.sqlite"), staging.join("memory.log"));
        if copy_store(&sources.store, &database, &log)? {
            for (copy, name) in [(&database, "store/memory.sqlite"), (&log, "store/memory.log")] {
                if copy.exists() {
                    self.take_file(copy, name)?;
                }
            }
        } else {
            self.left_out.push(format!("{}: there is no store", sources.store.display()));
        }
        self.name_what_stays(&sources.store);
        for (n, place) in sources.memex.iter().enumerate() {
            let below = format!("memex/{n}");
            if place.is_file() {
                let name = place.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                self.take_file(place, &format!("{below}/{name}"))?;
            } else if place.is_dir() {
                self.take_folder(place, &below, &|_| false)?;
            } else {
                self.left_out.push(format!("{}: it is not there", place.display()));
            }
        }
        Ok(())
    }

    /// Names what else lies in the store's folder: it stays there.
    fn name_what_stays(&mut self, store: &Path) {
        let entries: Vec<fs::DirEntry> = fs::read_dir(store).into_iter().flatten().flatten().collect();
        let mut names: Vec<String> =
            entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        for name in names {
            let own = |own: &std::ffi::OsString| own.to_string_lossy() == name.as_str();
            // The rest of what is copied or is made anew at each start.
            let kept = name == "memory.log" || name == "lock" || name == "socket" || name.starts_with("memory.sqlite");
            let damaged = name.starts_with("memory.sqlite.");
            if (kept && !damaged) || self.own.iter().any(own) {
                continue;
            }
            let why =
                STAYS.iter().find(|(known, _)| *known == name).map_or("it is no part of the store", |(_, why)| why);
            self.left_out.push(format!("{}: {why}", store.join(&name).display()));
        }
    }

    fn take_settings(&mut self, folder: &Path, keys: bool) -> Result<(), String> {
        if !folder.is_dir() {
            return Ok(());
        }
        let env = folder.join(".env");
        let named_so = |path: &Path| path.file_name().and_then(|name| secret_name(&name.to_string_lossy())).is_some();
        let holds_keys = |path: &Path| !keys && (path == env || named_so(path));
        self.take_folder(folder, "settings", &holds_keys)?;
        if keys || !env.exists() {
            return Ok(());
        }
        if env.metadata().is_ok_and(|about| about.len() > LONGEST_ENV) {
            self.left_out.push(format!("{}: it is larger than 1 MB, so nobody reads it", env.display()));
            return Ok(());
        }
        // What is no key goes along, line by line as it stands.
        let mut text = String::new();
        let read = File::open(&env).and_then(|file| file.take(LONGEST_ENV).read_to_string(&mut text));
        read.map_err(|why| format!("{}: {why}", env.display()))?;
        let kept = without_secrets(&text);
        if kept.lines().count() != text.lines().count() {
            let path = env.display();
            self.left_out.push(format!("{path}: its lines that may hold keys; --with-keys takes them along"));
        }
        let told = |why: io::Error| format!("{}: {why}", env.display());
        let kept_as = Kept { mode: 0o600, modified: modified(&env.metadata().map_err(told)?) };
        self.add(ENV, kept_as, kept.len() as u64, &mut kept.as_bytes()).map_err(told)
    }

    /// Takes every file below a folder, in the order of names.
    fn take_folder(&mut self, folder: &Path, below: &str, holds_keys: &dyn Fn(&Path) -> bool) -> Result<(), String> {
        let mut waiting = vec![(folder.to_path_buf(), below.to_string(), 0)];
        while let Some((folder, below, depth)) = waiting.pop() {
            let told = |why: io::Error| format!("{}: {why}", folder.display());
            let entries: io::Result<Vec<fs::DirEntry>> = fs::read_dir(&folder).and_then(Iterator::collect);
            let mut entries = entries.map_err(told)?;
            entries.sort_by_key(fs::DirEntry::file_name);
            entries.retain(|entry| !self.own.contains(&entry.file_name()));
            for entry in entries {
                let path = entry.path();
                let left_out = |why: &str| format!("{}: {why}", path.display());
                let Some(name) = entry.file_name().to_str().map(|name| format!("{below}/{name}")) else {
                    self.left_out.push(left_out("its name is not UTF-8"));
                    continue;
                };
                let linked = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                match fs::metadata(&path) {
                    Ok(about) if about.is_dir() && linked => self.left_out.push(left_out("it is a link to a folder")),
                    Ok(about) if about.is_dir() && depth >= DEEPEST => {
                        self.left_out.push(left_out("it lies too deep"));
                    }
                    Ok(about) if about.is_dir() => waiting.push((path, name, depth + 1)),
                    // It is taken line by line, and says for itself what of it was left out.
                    Ok(about) if about.is_file() && holds_keys(&path) && name == ENV => {}
                    Ok(about) if about.is_file() && holds_keys(&path) => {
                        self.left_out.push(left_out("it may hold keys; --with-keys takes it along"));
                    }
                    Ok(about) if about.is_file() => self.take_file(&path, &name)?,
                    Ok(_) => self.left_out.push(left_out("it is no file")),
                    Err(why) => self.left_out.push(left_out(&why.to_string())),
                }
            }
        }
        Ok(())
    }

    fn take_file(&mut self, path: &Path, name: &str) -> Result<(), String> {
        let told = |why: io::Error| format!("{}: {why}", path.display());
        // Not blocking, so that a pipe in its place cannot hold us up.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(told)?;
        let about = file.metadata().map_err(told)?;
        let kept_as = Kept { mode: about.permissions().mode() & 0o700, modified: modified(&about) };
        self.add(name, kept_as, about.len(), &mut { file }).map_err(told)
    }

    /// Adds one file of this length.
    fn add(&mut self, name: &str, kept: Kept, bytes: u64, from: &mut impl Read) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_mode(kept.mode);
        header.set_size(bytes);
        header.set_mtime(kept.modified);
        let mut summed = Summed { from: from.take(bytes), hasher: blake3::Hasher::new(), left: bytes };
        self.tar.append_data(&mut header, name, &mut summed)?;
        if summed.left > 0 {
            return Err(io::Error::other("it became shorter while it was read; make the backup again"));
        }
        let blake3 = summed.hasher.finalize().to_hex().to_string();
        self.files.push(Entry { name: name.to_string(), bytes, blake3 });
        Ok(())
    }

    /// Writes the manifest and ends the archive, on disk.
    fn end(mut self, manifest: Manifest) -> io::Result<Written> {
        let text = serde_json::to_vec_pretty(&manifest)?;
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_mode(0o600);
        header.set_size(text.len() as u64);
        self.tar.append_data(&mut header, MANIFEST, text.as_slice())?;
        let mut file = self.tar.into_inner()?;
        file.flush()?;
        file.sync_all()?;
        Ok(Written { manifest, bytes: file.metadata()?.len() })
    }
}

/// When a file was changed, in whole seconds; what is older than such times can say counts as not known.
fn modified(about: &fs::Metadata) -> u64 {
    u64::try_from(about.mtime()).unwrap_or(0)
}

/// Sums what is read through it.
struct Summed<R> {
    from: R,
    hasher: blake3::Hasher,
    left: u64,
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.hasher.update(into.get(..count).unwrap_or_default());
        self.left = self.left.saturating_sub(count as u64);
        Ok(count)
    }
}
