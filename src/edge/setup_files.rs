//! Setup files as they are on disk: which of them may be read, and their texts, each read once for each change of it.
//!
//! Only what lies in the memex is read, and neither secret files nor such as hold private notes: what they say would
//! turn up at headings of other files. A file that is private by its own lines, as with `#+FILETAGS: :private:`, makes
//! those private that are set up by it, and so does one that cannot be read, as nobody knows what it says.

use crate::domain::gate::place::secret_name;
use crate::domain::hash::ContentHasher;
use crate::domain::id::ObjectHash;
use crate::domain::label::Privacy;
use crate::domain::memory::document::{PrivacyOptions, privacy, privacy_by_lines};
use crate::domain::org::decode::decode;
use crate::domain::org::scan::{ScanOptions, scan};
use crate::domain::org::setup::{SetupText, SetupTexts, Setups, is_elsewhere};
use crate::edge::config::Config;
use crate::edge::org_file::read_bytes;
use crate::edge::walk::{canonical, links_and_destination};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashSet};
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
/// A file of which something was changed less than this many nanoseconds ago may change again without a new time.
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
    /// Each path, with the links by which it leads elsewhere, and where that is.
    names: BTreeMap<String, Vec<String>>,
    /// All these links, and where they lead.
    ways: BTreeSet<String>,
    texts: BTreeMap<String, Known>,
    /// The bytes of these texts.
    held: usize,
    /// The last path whose text was let go of.
    last: String,
}

/// How a file looked when its text was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// So; `None` when there was none.
    As(Option<Look>),
    /// It may have changed unseen since.
    Unsettled,
}

struct Known {
    look: Seen,
    text: Result<SetupText, String>,
}

impl Known {
    fn bytes(&self) -> usize {
        self.text.as_ref().map_or(0, |setup| setup.text.len())
    }
}

impl Table {
    /// Notes that a path was asked for, and its [`ways`].
    fn name(&mut self, path: &str, ways: Vec<String>) {
        if self.names.len() >= MAX_NAMES && !self.names.contains_key(path) {
            return;
        }
        for way in &ways {
            if self.ways.len() < MAX_NAMES {
                self.ways.insert(way.clone());
            }
        }
        self.names.insert(path.to_owned(), ways);
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

/// What tells one state of a file from another.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Look {
    device: u64,
    number: u64,
    size: u64,
    modified: (i64, i64),
    /// When content, name or rights last changed, in nanoseconds since 1970; no program can set it.
    changed: i128,
}

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
        let paths: HashSet<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let below = |name: &str| Path::new(name).ancestors().any(|path| paths.contains(path));
        let known = self.known.lock();
        let found = known.names.iter().filter(|(name, ways)| below(name) || ways.iter().any(|way| below(way)));
        found.map(|(name, _)| name.clone()).collect()
    }

    /// Returns whether a path was asked for as a setup file, or such a one leads there, or by a link there.
    pub fn knows(&self, path: &Path) -> bool {
        let known = self.known.lock();
        path.to_str().is_some_and(|path| known.names.contains_key(path) || known.ways.contains(path))
    }

    /// Returns a path with the memex's folders by where they lead, as news of them name them. What is linked within
    /// them keeps its name, as it may lead elsewhere tomorrow. Nothing is looked at for that.
    fn as_in_news(&self, path: PathBuf) -> PathBuf {
        let roots = self.named.iter().zip(&self.roots).filter(|(named, _)| path.starts_with(named));
        let nearest = roots.max_by_key(|(named, _)| named.as_os_str().len());
        let below = nearest.and_then(|(named, root)| Some((root, path.strip_prefix(named).ok()?)));
        // Joined part by part: an empty rest would leave a slash behind.
        below.map(|(root, rest)| root.components().chain(rest.components()).collect()).unwrap_or(path)
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
        let too_large = || format!("it has more than {} kB", MAX_BYTES >> 10);
        if about.len() > MAX_BYTES {
            return Err(too_large());
        }
        let bytes = read_bytes(&real).map_err(|why| why.to_string())?;
        // It may have grown meanwhile.
        if bytes.len() as u64 > MAX_BYTES {
            return Err(too_large());
        }
        let text = decode(&bytes).map_err(|why| why.to_string())?.text;
        let privacy = self.privacy_of(&text)?;
        let hash = ObjectHash::new(ContentHasher::new("setup").text(&text).finish());
        Ok(SetupText { text, hash, privacy })
    }

    /// Returns how private whatever names a file of this text would be by that.
    pub fn makes_private(&self, text: &Arc<str>) -> Privacy {
        match text.len() as u64 > MAX_BYTES {
            true => Privacy::Private,
            false => self.privacy_of(text).unwrap_or(Privacy::Private),
        }
    }

    /// Returns how private a text is by its own lines; the error says why it may not be read for settings.
    fn privacy_of(&self, text: &Arc<str>) -> Result<Privacy, String> {
        let outline = scan(text.clone(), &ScanOptions::default()).map_err(|why| why.to_string())?;
        let by_lines = privacy_by_lines(&outline, &self.privacy);
        // What a heading keeps must not turn up, by a line of it, at headings that keep less.
        if privacy(&outline, &self.privacy).into_iter().any(|one| one.is_kept() && one > by_lines) {
            return Err("it holds private notes; keep settings in a file without them".to_owned());
        }
        Ok(by_lines)
    }
}

impl SetupTexts for SetupFiles {
    fn place(&self, from: &str, name: &str) -> String {
        if name.contains("://") {
            return name.to_owned();
        }
        let path = match name.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => self.home.join(rest.trim_start_matches('/')),
            Some(_) | None => Path::new(from).parent().unwrap_or(Path::new("/")).join(name),
        };
        // As Emacs has it, `..` is the folder above by name, wherever a link leads.
        self.as_in_news(plain(&path)).to_string_lossy().into_owned()
    }

    fn text(&self, path: &str) -> Result<SetupText, String> {
        if is_elsewhere(path) {
            return Err("it is not on this machine, and nothing is fetched".to_owned());
        }
        if path.contains("://") {
            return Err("it is named by an address; name it by its path".to_owned());
        }
        // What lies elsewhere may hang, or be watched by somebody, when it is looked at.
        if !self.is_inside(Path::new(path)) {
            return Err(OUTSIDE.to_owned());
        }
        let before = look(path);
        if let Some(known) = self.known.lock().texts.get(path).filter(|known| known.look == Seen::As(before)) {
            return known.text.clone();
        }
        let text = self.read(path);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let settled = before.is_none_or(|look| i128::try_from(now).is_ok_and(|now| now - look.changed >= UNSETTLED));
        // What may yet change unseen is read anew the next time.
        let look = if settled && before == look(path) { Seen::As(before) } else { Seen::Unsettled };
        // The disk is not looked at under the lock.
        let ways = ways(path);
        let mut known = self.known.lock();
        known.name(path, ways);
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

/// Returns the links by which a path leads elsewhere, and where that is; nothing, when it holds no link.
fn ways(path: &str) -> Vec<String> {
    let (links, end) = links_and_destination(Path::new(path));
    let last = (!links.is_empty()).then_some(end);
    links.into_iter().chain(last).filter_map(|way| way.to_str().map(str::to_owned)).collect()
}

fn look(path: &str) -> Option<Look> {
    let about = std::fs::metadata(path).ok()?;
    let changed = i128::from(about.ctime()) * 1_000_000_000 + i128::from(about.ctime_nsec());
    let modified = (about.mtime(), about.mtime_nsec());
    Some(Look { device: about.dev(), number: about.ino(), size: about.len(), modified, changed })
}
