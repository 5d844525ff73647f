//! Carries out `list-files` and `grep`: bounded walks that leave out what git ignores, secrets, and private notes.

use crate::domain::action::Action;
use crate::domain::count::counted;
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::place;
use crate::domain::label::{Labels, Privacy, Provenance, Trust};
use crate::domain::org::decode::decode;
use crate::domain::outside::Piece;
use crate::domain::scope::Scope;
use crate::edge::actuator::{Actuators, Done};
use crate::edge::engine::Engine;
use crate::edge::survey::open;
use crate::edge::thread::LOOKS;
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use regex::{Regex, RegexBuilder};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How many entries one walk looks at.
const MOST_ENTRIES: usize = 50_000;
/// How deep it goes.
const MOST_DEPTH: usize = 64;
/// How long one call looks; the tool itself ends later.
const LOOKING: Duration = Duration::from_secs(15);
/// The largest file that is searched, in bytes.
const MOST_FILE: u64 = 4 << 20;
/// How many bytes one search reads.
const MOST_BYTES: u64 = 256 << 20;
/// How many characters of a line are shown.
const MOST_LINE: usize = 300;
/// How large a compiled pattern may grow, in bytes.
const MOST_PATTERN: usize = 1 << 20;

/// Where and for whom a walk looks.
struct Look {
    engine: Arc<Engine>,
    scope: Scope,
    root: PathBuf,
    glob: Override,
    /// Set when nobody waits any more.
    stopped: Arc<AtomicBool>,
    until: Instant,
}

/// Stops a walk when nobody waits for it any more: a thread cannot be ended from outside.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What a walk came to.
struct Found {
    lines: Vec<String>,
    /// The strictest label of what the lines are from.
    privacy: Privacy,
    /// What of it came from outside.
    outside: Vec<Piece>,
    /// What was left out, in sentences.
    notes: Vec<String>,
}

impl Actuators {
    pub(super) async fn list_files(&self, cleared: &Cleared) -> Done {
        let limit = number(cleared.action(), "limit", 200);
        self.looking(cleared, move |look| look.list(limit)).await
    }

    pub(super) async fn grep(&self, cleared: &Cleared) -> Done {
        let action = cleared.action();
        let limit = number(action, "limit", 100);
        let pattern = match pattern(action) {
            Ok(pattern) => pattern,
            Err(why) => return Done::failed(why),
        };
        self.looking(cleared, move |look| look.grep(&pattern, limit)).await
    }

    async fn looking(&self, cleared: &Cleared, run: impl FnOnce(&Look) -> Found + Send + 'static) -> Done {
        let (action, scope) = (cleared.action(), cleared.scope().clone());
        let named = cleared.facts().paths.first().map(|path| path.resolved.clone());
        let root = PathBuf::from(named.unwrap_or_else(|| scope.project.clone()));
        let glob = match glob(&root, action.text("glob")) {
            Ok(glob) => glob,
            Err(why) => return Done::failed(why),
        };
        let stopped = Arc::new(AtomicBool::new(false));
        let _stop = Stop(stopped.clone());
        let until = Instant::now() + LOOKING;
        let look = Look { engine: self.engine.clone(), scope, root, glob, stopped, until };
        match LOOKS.run(move || run(&look)).await {
            Ok(found) => found.done(),
            Err(why) => Done::failed(format!("the files were not looked through: {why}")),
        }
    }
}

impl Default for Found {
    fn default() -> Self {
        let (lines, outside, notes) = Default::default();
        Found { lines, privacy: Privacy::Open, outside, notes }
    }
}

impl Found {
    fn done(mut self) -> Done {
        if self.lines.is_empty() {
            self.lines.push("Nothing was found.".to_string());
        }
        let privacy = self.privacy;
        self.lines.extend(self.notes);
        let labels = Labels { provenance: Provenance::File, trust: Trust::Kept, privacy };
        Done::read(self.lines.join("\n"), labels, self.outside)
    }
}

impl Look {
    /// Calls for each regular file that may be seen; `false` ends the walk. Returns why not all were looked at.
    fn each(&self, found: &mut Found, take: &mut dyn FnMut(&Path, &std::fs::Metadata, &mut Found) -> bool) {
        if !self.root.exists() {
            found.notes.push(format!("{} is not there.", self.root.display()));
            return;
        }
        let scope = self.scope.clone();
        let open = move |entry: &DirEntry| {
            let path = entry.path();
            let is_git = entry.file_name() == ".git";
            // Outside of project and memex, only what everybody on the machine may read.
            let shared =
                |name: &str| is_inside(name, &scope) || path.symlink_metadata().is_ok_and(|m| m.mode() & 0o004 != 0);
            !is_git && path.to_str().is_some_and(|name| place::secret(name, &scope).is_none() && shared(name))
        };
        let mut walk = WalkBuilder::new(&self.root);
        walk.hidden(false).parents(true).git_global(false).require_git(false).follow_links(false);
        walk.max_depth(Some(MOST_DEPTH)).overrides(self.glob.clone()).filter_entry(open);
        walk.sort_by_file_name(|a, b| a.cmp(b));
        let mut hidden = false;
        for (count, entry) in walk.build().enumerate() {
            if count >= MOST_ENTRIES || Instant::now() > self.until || self.stopped.load(Ordering::Relaxed) {
                found.notes.push("There are more files than were looked at: name a folder or a glob.".to_string());
                break;
            }
            let Ok(entry) = entry else { continue };
            let path = entry.path();
            let (Ok(metadata), Some(name)) = (path.symlink_metadata(), path.to_str()) else { continue };
            // The root itself does not go through the filter.
            if !metadata.is_file() || place::secret(name, &self.scope).is_some() {
                continue;
            }
            let privacy = self.engine.privacy_here(name);
            if privacy > self.scope.may_see {
                self.engine.count_file(name);
                hidden = true;
                continue;
            }
            let before = found.lines.len();
            let more = take(path, &metadata, found);
            if found.lines.len() > before {
                found.privacy = found.privacy.max(privacy);
                if let Some(source) = self.engine.source_of_place(name, &self.scope) {
                    let lines = found.lines.get(before..).unwrap_or_default().join("\n");
                    found.outside.push(Piece::new(&source, &lines, privacy));
                }
            }
            if !more {
                break;
            }
        }
        if hidden {
            found.notes.push("Private notes are left out.".to_string());
        }
    }

    fn shown(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.scope.project).unwrap_or(path);
        crate::domain::inert::exact(&below.to_string_lossy())
    }

    fn list(&self, limit: usize) -> Found {
        let mut found = Found::default();
        self.each(&mut found, &mut |path, metadata, found| {
            if found.lines.len() >= limit {
                found.notes.push(format!("Only the first {limit} are shown: name a folder or a glob."));
                return false;
            }
            found.lines.push(format!("{} ({} bytes)", self.shown(path), metadata.len()));
            true
        });
        found
    }

    fn grep(&self, pattern: &Regex, limit: usize) -> Found {
        let mut found = Found::default();
        let (mut read, mut large, mut linked) = (0, 0, 0);
        self.each(&mut found, &mut |path, metadata, found| {
            if metadata.len() > MOST_FILE {
                large += 1;
                return true;
            }
            // Another name of a file may be that of a secret.
            if metadata.nlink() > 1 {
                linked += 1;
                return true;
            }
            read += metadata.len();
            if read > MOST_BYTES {
                found.notes.push("More text than is read at once: name a folder or a glob.".to_string());
                return false;
            }
            let Some(text) = text_of(path, metadata) else { return true };
            let before = found.lines.len();
            for (number, line) in text.lines().enumerate() {
                if !pattern.is_match(line) {
                    continue;
                }
                if found.lines.len() >= limit {
                    found.notes.push(format!("Only the first {limit} lines are shown."));
                    return false;
                }
                let cut: String = line.chars().take(MOST_LINE).collect();
                let more = if cut.len() < line.len() { "…" } else { "" };
                found.lines.push(format!("{}:{}: {cut}{more}", self.shown(path), number + 1));
            }
            if let Some(name) = path.to_str().filter(|_| found.lines.len() > before) {
                // A note of the user may hold what was captured elsewhere.
                let privacy = self.engine.privacy_here(name);
                found.outside.extend(self.engine.outside_of_text(name, &text, privacy, &self.scope));
            }
            true
        });
        if large > 0 {
            found.notes.push(format!("{} of more than {} MB left out.", counted(large, "file"), MOST_FILE >> 20));
        }
        if linked > 0 {
            found.notes.push(format!("{} with a second name (a hard link) left out.", counted(linked, "file")));
        }
        found
    }
}

pub(super) fn is_inside(path: &str, scope: &Scope) -> bool {
    matches!(place::zone(path, scope), place::Zone::Project | place::Zone::Memex)
}

/// Returns the text of a file that is still the one that was looked at; `None` when it is no text.
pub(super) fn text_of(path: &Path, metadata: &std::fs::Metadata) -> Option<Arc<str>> {
    let file = open::file(path).ok()?;
    let now = file.metadata().ok()?;
    if !now.is_file() || (now.dev(), now.ino()) != (metadata.dev(), metadata.ino()) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST_FILE + 1).read_to_end(&mut bytes).ok()?;
    let head = bytes.get(..bytes.len().min(8_000)).unwrap_or_default();
    if head.contains(&0) {
        return None;
    }
    decode(&bytes).ok().map(|decoded| decoded.text)
}

fn number(action: &Action, name: &str, usual: u64) -> usize {
    let number = action.args().get(name).and_then(|number| number.as_u64()).unwrap_or(usual);
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn glob(root: &Path, glob: Option<&str>) -> Result<Override, String> {
    let mut builder = OverrideBuilder::new(root);
    if let Some(glob) = glob.map(str::trim).filter(|glob| !glob.is_empty()) {
        if glob.starts_with('!') {
            return Err("a glob says what is wanted; it does not begin with “!”".to_string());
        }
        builder.add(glob).map_err(|error| format!("the glob cannot be read: {error}"))?;
    }
    builder.build().map_err(|error| format!("the glob cannot be read: {error}"))
}

/// Returns the pattern of a search; regular expressions of this crate take time that grows with the text alone.
fn pattern(action: &Action) -> Result<Regex, String> {
    let flag = |name: &str| action.args().get(name).and_then(|flag| flag.as_bool()).unwrap_or(false);
    let text = action.text("pattern").unwrap_or("");
    if text.is_empty() || text.contains('\n') && !flag("regex") {
        return Err("the pattern is one line that is not empty".to_string());
    }
    let literal = if flag("regex") { text.to_string() } else { regex::escape(text) };
    let built = RegexBuilder::new(&literal).case_insensitive(flag("ignore-case")).size_limit(MOST_PATTERN).build();
    built.map_err(|error| format!("the pattern cannot be read: {error}"))
}
