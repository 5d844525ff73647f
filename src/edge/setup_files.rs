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
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The largest setup file that is read, in bytes.
const MAX_BYTES: u64 = 256 << 10;
/// How many paths are remembered; beyond that all is forgotten and looked at anew.
const KNOWN: usize = 1_000;
/// A file that was changed less than this many nanoseconds ago may change again without a new time.
const UNSETTLED: i128 = 2_000_000_000;

/// Reads setup files.
pub struct SetupFiles {
    roots: Vec<PathBuf>,
    home: PathBuf,
    own: Vec<PathBuf>,
    privacy: PrivacyOptions,
    known: Mutex<BTreeMap<String, Known>>,
}

#[derive(Clone)]
struct Known {
    look: Option<Look>,
    text: Result<SetupText, String>,
}

/// What tells one state of a file from another: device, number, size, time in nanoseconds since 1970.
type Look = (u64, u64, u64, i128);

impl SetupFiles {
    /// Reads those below some roots.
    pub fn below(roots: &[PathBuf], home: &Path, own: &[PathBuf], privacy: PrivacyOptions) -> Arc<SetupFiles> {
        let roots = roots.iter().map(|root| canonical(root)).collect();
        let (home, own) = (home.to_path_buf(), own.iter().map(|folder| canonical(folder)).collect());
        Arc::new(SetupFiles { roots, home, own, privacy, known: Mutex::default() })
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

    /// Returns the paths at or below some others that were asked for as setup files.
    pub fn at_or_below(&self, paths: &[PathBuf]) -> Vec<String> {
        let known = self.known.lock();
        known.keys().filter(|known| paths.iter().any(|path| Path::new(known).starts_with(path))).cloned().collect()
    }

    /// Returns whether a path was asked for as a setup file.
    pub fn knows(&self, path: &Path) -> bool {
        path.to_str().is_some_and(|path| self.known.lock().contains_key(path))
    }

    fn read(&self, path: &str) -> Result<SetupText, String> {
        if is_elsewhere(path) {
            return Err("it is not on this machine, and nothing is fetched".to_owned());
        }
        let file = Path::new(path);
        // Where a link leads counts, and not where it lies.
        let real = file.canonicalize().map_err(|why| match why.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => "there is no such file".to_owned(),
            _ => format!("it cannot be read ({why})"),
        });
        let inside = |path: &Path| self.roots.iter().any(|root| path.starts_with(root));
        if !inside(file) || real.as_ref().is_ok_and(|real| !inside(real)) {
            return Err("it lies outside the memex; move it into one of its folders".to_owned());
        }
        let real = real?;
        if self.own.iter().any(|own| real.starts_with(own)) {
            return Err("it belongs to Passepartout itself".to_owned());
        }
        for name in [path, &real.to_string_lossy()] {
            if let Some(why) = secret_name(name) {
                return Err(why.to_owned());
            }
        }
        let about = real.metadata().map_err(|why| format!("it cannot be read ({why})"))?;
        if about.len() > MAX_BYTES {
            return Err(format!("it has more than {} kB", MAX_BYTES >> 10));
        }
        let bytes = read_bytes(&real).map_err(|why| why.to_string())?;
        let text = decode(&bytes).map_err(|why| why.to_string())?.text;
        let private = self.is_private(&text)?;
        let hash = ObjectHash::new(ContentHasher::new("setup").text(&text).finish());
        Ok(SetupText { text, hash, private })
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
        canonical(&plain).to_string_lossy().into_owned()
    }

    fn text(&self, path: &str) -> Result<SetupText, String> {
        let before = look(path);
        if let Some(known) = self.known.lock().get(path).filter(|known| known.look == before) {
            return known.text.clone();
        }
        let text = self.read(path);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let settled = before.is_none_or(|look| i128::try_from(now).is_ok_and(|now| now - look.3 >= UNSETTLED));
        let mut known = self.known.lock();
        if known.len() >= KNOWN && !known.contains_key(path) {
            known.clear();
        }
        // What may yet change unseen is read anew the next time.
        let look = if settled && before == look(path) { before } else { Some((0, 0, 0, 0)) };
        known.insert(path.to_owned(), Known { look, text: text.clone() });
        text
    }
}

fn look(path: &str) -> Option<Look> {
    let about = std::fs::metadata(path).ok()?;
    let time = i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec());
    Some((about.dev(), about.ino(), about.len(), time))
}
