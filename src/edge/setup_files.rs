//! Setup files as they are on disk: which of them may be read, and their texts, each read once for each change of it.
//!
//! Only what lies in the memex is read, and neither secret files nor such as hold private notes: what they say would
//! turn up at headings of other files. A file that is private by its own lines, as with `#+FILETAGS: :private:`, makes
//! those private that are set up by it, and so does one that cannot be read, as nobody knows what it says.

use crate::domain::gate::place::secret_name;
use crate::domain::hash::ContentHasher;
use crate::domain::id::ObjectHash;
use crate::domain::label::Privacy;
use crate::domain::memory::document::{PrivacyOptions, privacy, private_by_lines};
use crate::domain::org::decode::decode;
use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::org::setup::{SetupText, SetupTexts, Setups, is_elsewhere};
use crate::edge::config::Config;
use crate::edge::org_file::read_bytes;
use crate::edge::walk::canonical;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The largest setup file that is read, in bytes.
const MAX_BYTES: u64 = 256 << 10;
/// How many paths are known as those of setup files; what comes after that is not followed when it changes.
const MAX_NAMES: usize = 10_000;
/// How many texts are held at once; the others are read each time.
const MAX_TEXTS: usize = 1_000;
/// The most bytes of texts that are held at once.
const MAX_HELD: usize = 16 << 20;
/// A file that was changed less than this many nanoseconds ago may change again without a new time.
const UNSETTLED: i128 = 2_000_000_000;

/// Reads setup files.
pub struct SetupFiles {
    /// The folders of the memex, where links lead.
    roots: Vec<PathBuf>,
    /// The same as they were named.
    named: Vec<PathBuf>,
    home: PathBuf,
    own: Vec<PathBuf>,
    privacy: PrivacyOptions,
    known: Mutex<Table>,
}

/// What is known of the paths that were asked for.
#[derive(Default)]
struct Table {
    /// Each path, with the one to which it leads where it is a link.
    names: BTreeMap<String, Option<String>>,
    /// Where the links among them lead.
    targets: BTreeSet<String>,
    texts: BTreeMap<String, Known>,
    /// The bytes of these texts.
    held: usize,
    /// The last path whose text was let go of.
    last: String,
}

struct Known {
    look: Option<Look>,
    text: Result<SetupText, String>,
}

impl Known {
    fn bytes(&self) -> usize {
        self.text.as_ref().map_or(0, |setup| setup.text.len())
    }
}

impl Table {
    /// Notes that a path was asked for, and where it leads.
    fn name(&mut self, path: &str) {
        if self.names.len() >= MAX_NAMES && !self.names.contains_key(path) {
            return;
        }
        let real = Path::new(path).canonicalize().ok().and_then(|real| real.to_str().map(str::to_owned));
        let target = real.filter(|real| real != path);
        if let Some(target) = &target
            && self.targets.len() < MAX_NAMES
        {
            self.targets.insert(target.clone());
        }
        self.names.insert(path.to_owned(), target);
    }

    /// Holds a text; where there are too many, others go, one after the other in the order of their paths.
    fn hold(&mut self, path: &str, known: Known) {
        let more = known.bytes();
        if let Some(old) = self.texts.remove(path) {
            self.held -= old.bytes();
        }
        while self.texts.len() >= MAX_TEXTS || (self.held + more > MAX_HELD && !self.texts.is_empty()) {
            let after = (Bound::Excluded(self.last.as_str()), Bound::Unbounded);
            let next = self.texts.range::<str, _>(after).next().or_else(|| self.texts.iter().next());
            let Some(next) = next.map(|(path, _)| path.clone()) else { break };
            if let Some(old) = self.texts.remove(&next) {
                self.held -= old.bytes();
            }
            self.last = next;
        }
        self.held += more;
        self.texts.insert(path.to_owned(), known);
    }
}

/// What tells one state of a file from another: device, number, size, time in nanoseconds since 1970.
type Look = (u64, u64, u64, i128);

impl SetupFiles {
    /// Reads those below some roots.
    pub fn below(roots: &[PathBuf], home: &Path, own: &[PathBuf], privacy: PrivacyOptions) -> Arc<SetupFiles> {
        let named = roots.iter().map(|root| plain(root)).collect();
        let roots = roots.iter().map(|root| canonical(root)).collect();
        let (home, own) = (home.to_path_buf(), own.iter().map(|folder| canonical(folder)).collect());
        Arc::new(SetupFiles { roots, named, home, own, privacy, known: Mutex::default() })
    }

    /// Reads those of the memex.
    pub fn of(config: &Config) -> Arc<SetupFiles> {
        let own = [config.store.clone(), config.settings.clone(), config.cache.clone()];
        let privacy = PrivacyOptions { tags: config.private_tags.clone() };
        SetupFiles::below(&config.directories, &config.home, &own, privacy)
    }

    /// Returns how files are scanned, with their setup files.
    pub fn scan_options(self: &Arc<Self>, sequences: Vec<String>) -> ScanOptions {
        ScanOptions { sequences, setups: Setups::new(self.clone()) }
    }

    /// Returns the paths at or below some others that were asked for as setup files, or that lead there.
    pub fn at_or_below(&self, paths: &[PathBuf]) -> Vec<String> {
        let below = |name: &str| paths.iter().any(|path| Path::new(name).starts_with(path));
        let known = self.known.lock();
        let found = known.names.iter().filter(|(name, real)| below(name) || real.as_deref().is_some_and(below));
        found.map(|(name, _)| name.clone()).collect()
    }

    /// Returns whether a path was asked for as a setup file, or such a one leads there.
    pub fn knows(&self, path: &Path) -> bool {
        let known = self.known.lock();
        path.to_str().is_some_and(|path| known.names.contains_key(path) || known.targets.contains(path))
    }

    /// Returns whether a path lies in the memex by its name; nothing is looked at for that.
    fn is_inside(&self, path: &Path) -> bool {
        self.named.iter().chain(&self.roots).any(|root| path.starts_with(root))
    }

    /// Reads a path that lies in the memex by its name.
    fn read(&self, path: &str) -> Result<SetupText, String> {
        // Where a link leads counts, and not where it lies.
        let real = Path::new(path).canonicalize().map_err(|why| match why.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => "there is no such file".to_owned(),
            _ => format!("it cannot be read ({why})"),
        })?;
        if !self.roots.iter().any(|root| real.starts_with(root)) {
            return Err(OUTSIDE.to_owned());
        }
        if self.own.iter().any(|own| real.starts_with(own)) {
            return Err("it belongs to Passepartout itself".to_owned());
        }
        for name in [path, &real.to_string_lossy()] {
            if let Some(why) = secret_name(name) {
                return Err(why.to_owned());
            }
        }
        let about = real.metadata().map_err(|why| format!("it cannot be read ({why})"))?;
        if !about.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        if about.len() > MAX_BYTES {
            return Err(format!("it has more than {} kB", MAX_BYTES >> 10));
        }
        let bytes = read_bytes(&real).map_err(|why| why.to_string())?;
        let text = decode(&bytes).map_err(|why| why.to_string())?.text;
        let private = self.is_private(&text)?;
        let hash = ObjectHash::new(ContentHasher::new("setup").text(&text).finish());
        Ok(SetupText { text, hash, private })
    }

    /// Returns whether whatever names a file of this text would be private by that.
    pub fn makes_private(&self, text: &Arc<str>) -> bool {
        text.len() as u64 > MAX_BYTES || self.is_private(text).unwrap_or(true)
    }

    /// Returns whether a text is private by its own lines; the error says why it may not be read for settings.
    fn is_private(&self, text: &Arc<str>) -> Result<bool, String> {
        let outline = scan(text.clone(), &ScanOptions::default()).map_err(|why| why.to_string())?;
        let private = private_by_lines(&outline, &self.privacy);
        if !private && privacy(&outline, &self.privacy).contains(&Privacy::Private) {
            return Err("it holds private notes; keep settings in a file without them".to_owned());
        }
        Ok(private)
    }
}

impl SetupTexts for SetupFiles {
    fn place(&self, from: &str, name: &str) -> String {
        if is_elsewhere(name) {
            return name.to_owned();
        }
        let path = match name.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => self.home.join(rest.trim_start_matches('/')),
            Some(_) | None => Path::new(from).parent().unwrap_or(Path::new("/")).join(name),
        };
        // As Emacs has it, `..` is the folder above by name, wherever a link leads.
        let path = plain(&path);
        // What lies elsewhere may hang, or be watched by somebody, when it is looked at.
        let path = if self.is_inside(&path) { canonical(&path) } else { path };
        path.to_string_lossy().into_owned()
    }

    fn text(&self, path: &str) -> Result<SetupText, String> {
        if is_elsewhere(path) {
            return Err("it is not on this machine, and nothing is fetched".to_owned());
        }
        if !self.is_inside(Path::new(path)) {
            return Err(OUTSIDE.to_owned());
        }
        let before = look(path);
        if let Some(known) = self.known.lock().texts.get(path).filter(|known| known.look == before) {
            return known.text.clone();
        }
        let text = self.read(path);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let settled = before.is_none_or(|look| i128::try_from(now).is_ok_and(|now| now - look.3 >= UNSETTLED));
        // What may yet change unseen is read anew the next time.
        let look = if settled && before == look(path) { before } else { Some((0, 0, 0, 0)) };
        let mut known = self.known.lock();
        known.name(path);
        known.hold(path, Known { look, text: text.clone() });
        text
    }
}

/// Why a file from elsewhere is not read.
const OUTSIDE: &str = "it lies outside the memex; move it into one of its folders";

/// Returns a path without `.` and `..`, by name alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

fn look(path: &str) -> Option<Look> {
    let about = std::fs::metadata(path).ok()?;
    let time = i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec());
    Some((about.dev(), about.ino(), about.len(), time))
}
