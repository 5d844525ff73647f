//! `#+SETUPFILE:` lines: what other files say of the settings of one, put where the line stands, as Org does.
//!
//! Which texts there are, and which of them may be read, is for whoever hands them in.

use super::outline::SetupUse;
use super::scan;
use super::settings::{Kind, Line, Statement, value};
use crate::domain::id::ObjectHash;
use crate::domain::label::Privacy;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How deep setup files may name each other.
const MAX_DEPTH: usize = 8;

/// How many setup files one file may have, each counted as often as it is named, whether it is found or not.
const MAX_FILES: usize = 32;

/// The most bytes of setup files that one file may have, in all.
const MAX_BYTES: usize = 1 << 20;

/// The most bytes of settings that one file may take from setup files, in all: a few lines in each of many small files
/// must not fill memory with the same long settings again and again.
const MAX_SAID: usize = 16 << 10;

/// The text of a setup file.
#[derive(Clone, Debug)]
pub struct SetupText {
    /// Its text.
    pub text: Arc<str>,
    /// What names this text; whoever was shaped by it is shaped anew when it is another one.
    pub hash: ObjectHash,
    /// How private its own lines make it; whatever names it is as private as a whole, whatever later lines say.
    pub privacy: Privacy,
}

/// Hands in the texts of setup files. It may block, and is asked by several threads.
pub trait SetupTexts: Send + Sync {
    /// Returns the path that is meant by what a file names. What is not on this machine is its own path.
    fn place(&self, from: &str, name: &str) -> String;

    /// Returns the text of a path as it is now.
    ///
    /// # Errors
    /// In words for people, when there is none, or it may not be read.
    fn text(&self, path: &str) -> Result<SetupText, String>;
}

/// Where a file's setup files come from. The default reads none.
#[derive(Clone, Default)]
pub struct Setups {
    texts: Option<Arc<dyn SetupTexts>>,
    file: Option<Arc<str>>,
}

impl Setups {
    /// Makes it of what hands the texts in; none is read before a file is named.
    pub fn new(texts: Arc<dyn SetupTexts>) -> Setups {
        Setups { texts: Some(texts), file: None }
    }

    /// Returns the same for a file.
    pub fn of(&self, file: &str) -> Setups {
        match &self.texts {
            None => Setups::default(),
            Some(texts) => Setups { texts: Some(texts.clone()), file: Some(file.into()) },
        }
    }

    /// Returns whether setup files are what they were when something was shaped by them.
    pub fn are_as<'a>(&self, uses: impl IntoIterator<Item = (&'a str, Option<ObjectHash>)>) -> bool {
        uses.into_iter().all(|(path, hash)| self.hash(path) == hash)
    }

    /// Returns why a path is not read now, if it is not.
    pub fn problem(&self, path: &str) -> Option<String> {
        self.texts.as_ref()?.text(path).err()
    }

    fn hash(&self, path: &str) -> Option<ObjectHash> {
        self.texts.as_ref()?.text(path).ok().map(|setup| setup.hash)
    }
}

impl std::fmt::Debug for Setups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setups").field("texts", &self.texts.is_some()).field("file", &self.file).finish()
    }
}

impl PartialEq for Setups {
    fn eq(&self, other: &Setups) -> bool {
        let same = match (&self.texts, &other.texts) {
            (None, None) => true,
            (Some(own), Some(other)) => std::ptr::addr_eq(Arc::as_ptr(own), Arc::as_ptr(other)),
            (Some(_), None) | (None, Some(_)) => false,
        };
        same && self.file == other.file
    }
}

impl Eq for Setups {}

/// What the setting lines of a file say, with those of its setup files.
#[derive(Debug, Default)]
pub(super) struct Gathered<'a> {
    pub statements: Vec<Statement<'a>>,
    /// Each setup file once, in the order in which they were met.
    pub uses: Vec<SetupUse>,
}

/// Gathers what setting lines say; `line_of` counts the lines of the text, and is asked no oftener than there may be
/// setup files.
pub(super) fn gather<'a>(
    text: &'a str,
    lines: &[Line],
    setups: &Setups,
    line_of: impl Fn(usize) -> u32,
) -> Gathered<'a> {
    let mut gathered = Gathered::default();
    let mut left = Left { files: MAX_FILES, bytes: MAX_BYTES, said: MAX_SAID, cut: false };
    let source = setups.texts.as_deref().zip(setups.file.as_deref());
    let mut met = BTreeMap::new();
    for line in lines {
        let said = value(text, line);
        match (line.kind, source) {
            (Kind::Setupfile, Some((texts, file))) => {
                let line = &|| line_of(line.begin);
                let mut reading = Reading { texts, line, left: &mut left, met: &mut met };
                reading.include(file, said, &mut vec![file.to_owned()], &mut gathered);
            }
            (Kind::Setupfile, None) => {}
            (kind, _) => gathered.statements.push(Statement { kind, value: Cow::Borrowed(said), own: true }),
        }
    }
    gathered
}

/// What one file may still read.
struct Left {
    files: usize,
    bytes: usize,
    /// Bytes of settings.
    said: usize,
    /// Whether one was left out because there were too many before it; nothing more is looked at then.
    cut: bool,
}

/// Reads the setup files of one line.
struct Reading<'r> {
    texts: &'r dyn SetupTexts,
    line: &'r dyn Fn() -> u32,
    left: &'r mut Left,
    /// What was read already: a file that is named twice is asked for once, so that it is one text.
    met: &'r mut BTreeMap<String, Result<SetupText, String>>,
}

impl Reading<'_> {
    /// Takes in what a setup file says, as deep as [`MAX_DEPTH`]; `above` are the files that lead to it.
    fn include(&mut self, from: &str, said: &str, above: &mut Vec<String>, gathered: &mut Gathered<'_>) {
        let name = unquoted(said);
        if name.trim().is_empty() {
            return;
        }
        // What is not on this machine is not read, and it says nothing of what is private here.
        let local = !is_elsewhere(name);
        let none_left = self.left.files == 0;
        if none_left && (self.left.cut || !local) {
            return;
        }
        self.left.cut = none_left;
        self.left.files = self.left.files.saturating_sub(1);
        let path = self.texts.place(from, name);
        // As Org has it, a loop ends without a word; where nothing more is looked at, the first one stands for the rest.
        if !none_left && above.contains(&path) {
            return;
        }
        let read = match self.met.get(&path) {
            Some(read) => read.clone(),
            None => {
                let read = self.texts.text(&path);
                self.met.insert(path.clone(), read.clone());
                let problem = read.as_ref().err().map(|why| why.as_str().into());
                let hash = read.as_ref().ok().map(|setup| setup.hash);
                // What could not be read may say that all is private.
                let unread = if local { Privacy::Private } else { Privacy::Open };
                let privacy = read.as_ref().map_or(unread, |setup| setup.privacy);
                let path = path.as_str().into();
                gathered.uses.push(SetupUse { path, hash, line: (self.line)(), problem, privacy });
                read
            }
        };
        let Ok(setup) = read else { return };
        let room = above.len() <= MAX_DEPTH && !none_left && setup.text.len() <= self.left.bytes;
        let lines = if room { scan::setting_lines(&setup.text) } else { Vec::new() };
        let settings: usize = lines.iter().map(|line| value(&setup.text, line).len()).sum();
        if !room || settings > self.left.said {
            let known = gathered.uses.iter_mut().find(|known| *known.path == *path);
            if let Some(known) = known.filter(|known| known.problem.is_none()) {
                known.problem = Some("too many setup files, or too long or too deep ones, lead to it".into());
                known.privacy = Privacy::Private;
            }
            return;
        }
        self.left.bytes -= setup.text.len();
        self.left.said -= settings;
        above.push(path);
        for line in lines {
            let said = value(&setup.text, &line);
            match line.kind {
                Kind::Setupfile => {
                    let from = above.last().cloned().unwrap_or_default();
                    self.include(&from, said, above, gathered);
                }
                kind => {
                    let value = Cow::Owned(said.to_owned());
                    gathered.statements.push(Statement { kind, value, own: false });
                }
            }
        }
        above.pop();
    }
}

/// The schemes of addresses that Org fetches from another machine; whatever else is named may be a file of this one.
const FETCHED: [&str; 8] = ["https", "http", "ftp", "gemini", "gopher", "telnet", "wais", "www"];

/// Returns whether a name is one of another machine.
pub fn is_elsewhere(name: &str) -> bool {
    let scheme = name.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| FETCHED.iter().any(|known| known.eq_ignore_ascii_case(scheme)))
}

/// Returns a name without the quotation marks around it.
fn unquoted(name: &str) -> &str {
    name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(name)
}
