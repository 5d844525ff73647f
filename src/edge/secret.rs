//! Secrets and the vault: keys that leave this file only into a request header.
//!
//! A [`Secret`] has no `Debug`, no `Display` and no serialisation, so it cannot reach a message, trace, log or memory.
//! The [`Vault`] is an interface over what Emacs gave, the environment and `.env`; it has no file of its own.

mod disguise;

use crate::domain::sexp::reader::Sexp;
use aho_corasick::{AhoCorasick, MatchKind};
use disguise::Disguised;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A value that nobody may see. Clones share one copy, which is overwritten when the last of them goes.
#[derive(Clone)]
pub struct Secret {
    value: Arc<Wiped>,
    /// The one host that it is for; `None` for whatever bears its name.
    host: Option<Arc<str>>,
}

struct Wiped(Vec<u8>);

impl Drop for Wiped {
    fn drop(&mut self) {
        self.0.fill(0);
        // Without a reader the compiler may leave the overwriting out.
        std::hint::black_box(&self.0);
    }
}

impl Secret {
    /// Takes a value, without white space around it: a file may end its last line.
    pub fn new(value: String) -> Self {
        let whole = Wiped(value.into_bytes());
        let trimmed = whole.0.trim_ascii().to_vec();
        Secret { value: Arc::new(Wiped(trimmed)), host: None }
    }

    /// Makes it the key of one host, which no other is ever given.
    pub fn only_for(self, host: &str) -> Self {
        Secret { host: Some(Arc::from(host.to_ascii_lowercase())), ..self }
    }

    /// Returns whether a host may be given it.
    fn is_for(&self, host: Option<&str>) -> bool {
        self.host.as_deref().is_none_or(|own| host.is_some_and(|host| host.eq_ignore_ascii_case(own)))
    }

    /// Returns the value, for a request header and for nothing else.
    pub(crate) fn expose(&self) -> &str {
        std::str::from_utf8(&self.value.0).unwrap_or("")
    }

    /// Tells whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.value.0.is_empty()
    }
}

/// Values of at most this many characters are no secrets worth looking for: they would match everywhere.
const SHORT: usize = 5;
/// How many keys that were replaced stay known, of each name.
const BEFORE: usize = 16;
/// What stands in the place of a masked value.
pub const MASK: &str = "[MASKED]";
/// The largest `.env` file that is read, in bytes.
pub(in crate::edge) const MAX_ENV_FILE: u64 = 64 * 1024;

/// All keys that this process knows, by name.
/// More may come while it is in use: what looks for keys, or masks them, then knows these as well.
pub struct Vault(RwLock<Arc<Held>>);

/// The keys at one time, and what finds them in a text.
struct Held {
    secrets: BTreeMap<String, Secret>,
    /// Names in the order of the searched patterns.
    names: Vec<String>,
    every: Option<AhoCorasick>,
    disguised: Disguised,
    longest: Option<AhoCorasick>,
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault").field("names", &self.held().secrets.keys().collect::<Vec<_>>()).finish()
    }
}

impl Vault {
    /// Returns a vault without keys.
    pub fn empty() -> Self {
        Vault::new([])
    }

    /// Takes keys by name. Of two with one name the first counts; empty ones are left out.
    pub fn new(keys: impl IntoIterator<Item = (String, Secret)>) -> Self {
        let mut secrets = BTreeMap::new();
        for (name, secret) in keys {
            if !secret.is_empty() {
                secrets.entry(name).or_insert(secret);
            }
        }
        Vault(RwLock::new(Arc::new(Held::new(secrets))))
    }

    fn held(&self) -> Arc<Held> {
        self.0.read().clone()
    }

    /// Takes further keys, each in place of one of the same name. What is replaced is still a secret: it is looked for and
    /// masked as before, for the last `BEFORE` of a name.
    pub fn add(&self, keys: impl IntoIterator<Item = (String, Secret)>) {
        let mut held = self.0.write();
        let mut secrets = held.secrets.clone();
        for (name, secret) in keys.into_iter().filter(|(_, secret)| !secret.is_empty()) {
            let Some(old) = secrets.insert(name.clone(), secret.clone()) else { continue };
            let former = |n: usize| format!("{name} before {n}");
            let known = |other: &Secret| other.expose() == old.expose();
            if old.expose() == secret.expose() || (1..=BEFORE).any(|n| secrets.get(&former(n)).is_some_and(known)) {
                continue;
            }
            for n in (1..BEFORE).rev() {
                if let Some(older) = secrets.remove(&former(n)) {
                    secrets.insert(former(n + 1), older);
                }
            }
            secrets.insert(former(1), old);
        }
        *held = Arc::new(Held::new(secrets));
    }

    /// Gathers keys: those that Emacs gave win over the environment, and that over the `.env` file.
    /// Of environment and file only variables whose name says that they hold a secret are taken.
    pub fn gather(
        given: impl IntoIterator<Item = (String, Secret)>,
        environment: impl IntoIterator<Item = (String, String)>,
        env_file: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let variables = environment.into_iter().chain(env_file);
        Vault::new(given.into_iter().chain(Vault::keys_among(variables)))
    }

    /// Returns those of some variables whose name says that they hold a secret.
    pub fn keys_among(variables: impl IntoIterator<Item = (String, String)>) -> Vec<(String, Secret)> {
        let secret_ones = variables.into_iter().filter(|(name, _)| names_a_secret(name));
        secret_ones.map(|(name, value)| (name, Secret::new(value))).collect()
    }

    /// Returns a provider's key for an address: the one of its name, or of the variable `NAME_API_KEY`. A key that was
    /// found for another host is none.
    pub fn key(&self, provider: &str, url: &str) -> Option<Secret> {
        let variable = format!("{}_API_KEY", provider.to_ascii_uppercase().replace('-', "_"));
        let host = reqwest::Url::parse(url.trim()).ok().and_then(|url| url.host_str().map(str::to_string));
        let held = self.held();
        let named = |name: &str| held.secrets.get(name).filter(|secret| secret.is_for(host.as_deref()));
        named(provider).or_else(|| named(&variable)).cloned()
    }

    /// Returns what a messenger is used with at an address: the key of its name, or the variable. One that was found for
    /// another host is none.
    pub(crate) fn token(&self, name: &str, variable: &str, url: &str) -> Option<Secret> {
        let host = reqwest::Url::parse(url.trim()).ok().and_then(|url| url.host_str().map(str::to_string));
        let held = self.held();
        let named = |name: &str| held.secrets.get(name).filter(|secret| secret.is_for(host.as_deref()));
        named(name).or_else(|| named(variable)).cloned()
    }

    /// Returns the names, never the values, of all keys that occur in a text.
    pub fn scan(&self, text: &str) -> Vec<String> {
        self.held().scan(text)
    }

    /// Returns the names of all keys that occur in a text, plain or in disguise: in base64, in hexadecimal, escaped, or
    /// split over lines or by quotes.
    pub fn scan_disguised(&self, text: &str) -> Vec<String> {
        self.held().scan_disguised(text)
    }

    /// Returns a text with every key in it replaced by [`MASK`].
    pub fn mask(&self, text: &str) -> String {
        self.held().mask(text)
    }
}

impl Held {
    fn new(secrets: BTreeMap<String, Secret>) -> Held {
        let sought: Vec<(&String, &Secret)> =
            secrets.iter().filter(|(_, secret)| secret.expose().chars().count() > SHORT).collect();
        let names = sought.iter().map(|(name, _)| (*name).clone()).collect();
        let values: Vec<&str> = sought.iter().map(|(_, secret)| secret.expose()).collect();
        let every = AhoCorasick::new(&values).ok();
        let longest = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&values).ok();
        let disguised = Disguised::new(values.iter().copied());
        Held { secrets, names, every, disguised, longest }
    }

    fn scan(&self, text: &str) -> Vec<String> {
        let Some(every) = &self.every else {
            // The automaton could not be built: fail closed by naming every key.
            return self.secrets.keys().cloned().collect();
        };
        if self.names.is_empty() {
            return Vec::new();
        }
        self.named(every.find_overlapping_iter(text).map(|m| m.pattern().as_usize()).collect())
    }

    fn scan_disguised(&self, text: &str) -> Vec<String> {
        let mut found = self.scan(text);
        found.extend(self.named(self.disguised.find(text)));
        found.sort_unstable();
        found.dedup();
        found
    }

    fn named(&self, mut found: Vec<usize>) -> Vec<String> {
        found.sort_unstable();
        found.dedup();
        found.into_iter().filter_map(|n| self.names.get(n).cloned()).collect()
    }

    fn mask(&self, text: &str) -> String {
        match &self.longest {
            None => MASK.to_string(),
            Some(longest) => {
                let mut masked = String::with_capacity(text.len());
                longest.replace_all_with(text, &mut masked, |_, _, to| {
                    to.push_str(MASK);
                    true
                });
                masked
            }
        }
    }
}

/// Returns the keys that a message of Emacs holds, by provider.
pub(crate) fn keys_of(settings: &Sexp) -> Vec<(String, Secret)> {
    let key = |entry: &Sexp| {
        let (name, key, host) = match entry {
            Sexp::Dotted(items, key) => (items.first()?, &**key, None),
            Sexp::List(items) => (items.first()?, items.get(1)?, items.get(2)),
            _ => return None,
        };
        let secret = Secret::new(key.as_text()?.to_string());
        let secret = match host {
            None | Some(Sexp::Nil) => secret,
            Some(host) => secret.only_for(host.as_text()?),
        };
        Some((name.as_name()?.to_string(), secret))
    };
    settings.list_at("keys").iter().filter_map(key).collect()
}

/// Tells whether a variable of this name holds a secret.
fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_CREDENTIALS"].iter().any(|end| name.ends_with(end))
        || name.contains("_SECRET_")
}

/// Returns the text of an `.env` file without the lines whose name says that they hold a secret, also where they are
/// commented out; and without those that cannot be read.
pub fn without_secrets(text: &str) -> String {
    let open = |line: &&str| {
        let line = line.trim();
        let bare = line.trim_start_matches(|c: char| c == '#' || c.is_whitespace());
        let words = bare.strip_prefix("export").filter(|rest| rest.starts_with(char::is_whitespace)).unwrap_or(bare);
        match words.split_once('=') {
            // A remark may be put into words before it; the name stands last.
            Some((name, _)) => !name.split_whitespace().any(names_a_secret),
            None => line.is_empty() || line.starts_with('#'),
        }
    };
    text.lines().filter(open).flat_map(|line| [line, "\n"]).collect()
}

/// Why an `.env` file was not read.
#[derive(Debug, thiserror::Error)]
pub enum EnvFileError {
    /// Others may read it.
    #[error("{} is not read: its mode is {mode:03o}, so others may read the keys in it; run `chmod 600 {}`", path.display(), path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// No regular file, or too large.
    #[error("{} is not read: {why}", path.display())]
    Odd {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A line that is no assignment. The line is not repeated: it may hold a key.
    #[error("{}, line {line}: not of the form NAME=VALUE", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The 1-based line.
        line: usize,
    },
    /// The disk.
    #[error("{} cannot be read: {error}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

/// Reads the assignments of an `.env` file; none when there is no such file.
/// It must be a regular file of mode 0600 or stricter, since it may hold keys.
pub fn read_env_file(path: &Path) -> Result<Vec<(String, String)>, EnvFileError> {
    let Some(text) = read_own_text(path, MAX_ENV_FILE)? else { return Ok(Vec::new()) };
    assignments(&text).map_err(|line| EnvFileError::Line { path: path.into(), line })
}

/// Reads a file that may hold keys: a regular one of mode 0600 or stricter, and not too large. `None` when there is none.
pub(in crate::edge) fn read_own_text(path: &Path, largest: u64) -> Result<Option<String>, EnvFileError> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let disk = |error| EnvFileError::Disk { path: path.into(), error };
    let odd = |why| EnvFileError::Odd { path: path.into(), why };
    // Not blocking, so that a pipe in its place cannot hold us up.
    let file = match std::fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(disk(error)),
    };
    let metadata = file.metadata().map_err(disk)?;
    if !metadata.is_file() {
        return Err(odd("it is no regular file"));
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(EnvFileError::Open { path: path.into(), mode });
    }
    let mut text = String::new();
    file.take(largest + 1).read_to_string(&mut text).map_err(disk)?;
    if text.len() as u64 > largest {
        return Err(odd(if largest == MAX_ENV_FILE { "it is larger than 64 kB" } else { "it is too large" }));
    }
    Ok(Some(text))
}

/// Reads `NAME=VALUE` lines: `export`, comments, single and double quotes as a shell has them, no expansion.
/// An error is the 1-based number of the line.
fn assignments(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut read = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
        let (name, value) = line.split_once('=').ok_or(n + 1)?;
        let name = name.trim_end();
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if name.is_empty() || !name.bytes().all(plain) || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(n + 1);
        }
        read.push((name.to_string(), unquote(value.trim()).ok_or(n + 1)?));
    }
    Ok(read)
}

/// Returns the value of an assignment; `None` when a quote does not end.
fn unquote(value: &str) -> Option<String> {
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            let (inside, after) = rest.split_once(quote)?;
            let after = after.trim_start();
            return (after.is_empty() || after.starts_with('#')).then(|| inside.to_string());
        }
    }
    Some(value.split(" #").next().unwrap_or("").trim_end().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_are_read_as_a_shell_would() {
        let text = "# keys\n\nexport A_KEY='x y' # mine\nB=plain value # note\nC=\"#1\"\nD=\n";
        let expected = [("A_KEY", "x y"), ("B", "plain value"), ("C", "#1"), ("D", "")];
        let expected: Vec<_> = expected.map(|(name, value)| (name.to_string(), value.to_string())).into();
        assert_eq!(assignments(text), Ok(expected));
        for (text, line) in [("A=1\nsk-secret\n", 2), ("A='x", 1), ("1A=x", 1), ("A-B=x", 1), ("A='x' y", 1)] {
            assert_eq!(assignments(text), Err(line), "{text:?}");
        }
    }

    #[test]
    fn a_line_with_a_key_is_left_out_also_as_a_remark() {
        for (line, stays) in [
            ("PLAN_HOURS=48", true),
            ("# mine", true),
            ("# A day = 24 hours", true),
            ("#PLAN_HOURS=48", true),
            ("", true),
            ("OPENAI_API_KEY=sk-1", false),
            ("export\tOPENAI_API_KEY=sk-1", false),
            ("# OPENAI_API_KEY=sk-1", false),
            ("  ## \t# export OPENAI_API_KEY = sk-1", false),
            ("#openai_api_key=sk-1", false),
            ("# the old OPENAI_API_KEY=sk-1", false),
            ("sk-1", false),
        ] {
            let expected = if stays { format!("{line}\n") } else { String::new() };
            assert_eq!(without_secrets(line), if line.is_empty() { String::new() } else { expected }, "{line}");
        }
    }

    #[test]
    fn a_secret_is_exposed_only_here_and_clones_share_it() {
        let secret = Secret::new("sk-123456".into());
        let clone = secret.clone();
        drop(secret);
        assert_eq!(clone.expose(), "sk-123456");
    }
}
