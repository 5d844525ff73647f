//! Which paths name secrets: by the place they lie in, or by their name alone.

use super::copies::{self, in_any_form};
use super::glob::{Patterns, matches, may_match};
use super::is_below;
use super::tables::{CERTIFICATES, COMMON_NAMES, OPEN_NAMES, SECRET_HOME, SECRET_NAMES, SECRET_SYSTEM};
use crate::domain::scope::Scope;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static NAMES: LazyLock<Patterns> = LazyLock::new(|| Patterns::new(SECRET_NAMES));
static OPEN: LazyLock<Patterns> = LazyLock::new(|| Patterns::new(OPEN_NAMES));
static HOME: LazyLock<Places> = LazyLock::new(|| Places::new(SECRET_HOME));
static SYSTEM: LazyLock<Places> = LazyLock::new(|| Places::new(SECRET_SYSTEM));

/// Builds the tables now, so that no verdict pays for them.
pub(super) fn prepare() {
    LazyLock::force(&NAMES);
    LazyLock::force(&OPEN);
    LazyLock::force(&HOME);
    LazyLock::force(&SYSTEM);
    copies::prepare();
}

/// Returns a text in small letters; a copy only where it has others.
pub(super) fn small(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.to_lowercase())
    }
}

/// Returns why a canonical path names a secret file; `None` when it names none.
pub fn secret(path: &str, scope: &Scope) -> Option<&'static str> {
    if scope.own.iter().any(|root| is_below(path, root)) {
        return Some("it belongs to Passepartout itself");
    }
    let lower = small(path);
    if SYSTEM.fit(&lower) {
        return Some("the system keeps secrets there");
    }
    let in_home = lower.strip_prefix(&*small(&scope.home)).or_else(|| of_any_home(&lower));
    if let Some(rest) = in_home.map(|rest| rest.trim_start_matches('/'))
        && HOME.fit(rest)
    {
        return Some("keys, passwords or private data are kept there");
    }
    secret_name(&lower)
}

/// Returns whether a file in a hidden folder of a home is named as programs name what they keep for their user:
/// settings, accounts, sessions, data. There are more programs than any list knows, and many keep keys in such files.
pub fn kept_by_a_program(path: &str, scope: &Scope) -> bool {
    let lower = small(path);
    let rest = lower.strip_prefix(&*small(&scope.home)).or_else(|| of_any_home(&lower));
    let Some(rest) = rest.map(|rest| rest.trim_start_matches('/')).filter(|rest| rest.starts_with('.')) else {
        return false;
    };
    let base = rest.rsplit('/').next().unwrap_or("");
    if ["secret", "token", "passw", "credential", "account", "login", "apikey", "api_key", "api-key", "authinfo"]
        .iter()
        .any(|word| base.contains(word))
    {
        return true;
    }
    let (stem, kind) = base.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).unwrap_or((base, ""));
    let stem = stem.trim_start_matches('.').trim_end_matches(|c: char| c.is_ascii_digit());
    let data = matches!(
        kind,
        "" | "json" | "toml" | "yml" | "yaml" | "ini" | "conf" | "cfg" | "xml" | "txt" | "properties" | "dat" | "eld"
    );
    let stored = matches!(kind, "db" | "sqlite" | "sqlite3" | "ldb" | "vscdb" | "kdb" | "mdb");
    let named = |kept: &str| stem.strip_suffix(kept).is_some_and(|head| head.is_empty() || head.ends_with('-'));
    rest.contains('/') && (stored || data && KEPT_STEMS.iter().any(|kept| named(kept)))
}

/// Returns whether a file lies below some folder as secrets lie below a home: `dotfiles/.aws/config`. Projects have such
/// files as examples, too; which of them is private, its mode tells.
pub fn lies_as_in_a_home(path: &str) -> bool {
    let lower = small(path);
    let hidden = lower.match_indices("/.").take(DEPTH).filter_map(|(at, _)| lower.get(at + 1..));
    hidden.into_iter().any(|rest| HOME.fit(rest) || in_any_form(rest, |form| HOME.fit(form)))
}

/// How many hidden folders of a path are looked at.
const DEPTH: usize = 16;

/// How programs name what they keep, without the kind of file.
const KEPT_STEMS: &[&str] = &[
    "config",
    "conf",
    "settings",
    "preferences",
    "prefs",
    "auth",
    "session",
    "sessions",
    "cookies",
    "profile",
    "profiles",
    "hosts",
    "clouds",
    "servers",
    "connections",
    "remotes",
    "state",
    "data",
    "storage",
    "keys",
    "client",
    "cli",
    "database",
    "user",
    "users",
    "identity",
    "wallet",
];

/// Returns why the last parts of a path name a secret file, by name alone.
pub fn secret_name(path: &str) -> Option<&'static str> {
    let lower = small(path);
    // Only in names from Windows does a backslash part folders.
    let windows = lower.get(1..2) == Some(":") || lower.starts_with("\\\\");
    let parts = || lower.rsplit(|c| c == '/' || (windows && c == '\\')).filter(|part| !part.is_empty() && *part != ".");
    let last = parts().next().unwrap_or("");
    if parts().skip(1).any(|part| matches!(part, "private-keys-v1.d" | ".gnupg" | ".password-store")) {
        return Some("keys or passwords are kept there");
    }
    if parts().nth(1) == Some(".ssh") && !in_any_form(last, |form| SSH_OPEN.contains(&form)) && !OPEN.fit(last) {
        return Some("keys are kept there");
    }
    let thrown_away = || {
        let parts: Vec<&str> = parts().collect();
        COMMON_NAMES.contains(&last) && matches!(parts.as_slice(), [_, "tmp"] | [_, "tmp", "var"])
    };
    let certificate = || CERTIFICATES.iter().any(|folder| lower.starts_with(folder)) && !lower.contains("..");
    let hit = in_any_form(last, |form| !OPEN.fit(form) && NAMES.fit(form));
    let prose = || last.split_whitespace().count() > 3;
    let vendored = || parts().skip(1).any(|part| matches!(part, "node_modules" | "vendor" | "site-packages"));
    let spared = || (lower.starts_with('/') && thrown_away()) || certificate() || prose() || vendored();
    (hit && !spared()).then_some("its name is that of a file with keys or passwords")
}

/// What lies beside keys in a folder of SSH and is none.
const SSH_OPEN: &[&str] = &[
    "config",
    "config.d",
    "known_hosts",
    "authorized_keys",
    "environment",
    "rc",
    "readme",
    "readme.txt",
    "readme.org",
];

/// Returns whether an unquoted pattern could name a secret file that a plain `*` would not.
pub fn pattern_may_be_secret(pattern: &str) -> bool {
    let lower = pattern.to_lowercase();
    let samples = [
        ".env",
        ".env.local",
        ".ssh",
        ".gnupg",
        ".aws",
        ".netrc",
        ".authinfo",
        ".authinfo.gpg",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        "id_rsa",
        "id_ed25519",
        "id_ecdsa",
        "credentials",
        "shadow",
        "gshadow",
        ".pgpass",
        ".kube",
        "server.key",
        "server.pem",
        "secrets.yaml",
        "environ",
        "auth.json",
        ".config",
        "passwords.kdbx",
    ];
    lower.split('/').any(|part| {
        let special = part.contains(['*', '?', '[']);
        if let Some(ending) = part.strip_prefix("*.").filter(|ending| !ending.contains(['*', '?', '['])) {
            // `*.json` looks for a kind of file, `*.pem` for keys.
            return secret_name(&format!("x.{ending}")).is_some() || secret_name(&format!(".{ending}")).is_some();
        }
        // A bare `*` skips hidden files in a shell; `*.txt` names no secret of the list.
        special && part != "*" && part != "**" && samples.iter().any(|sample| may_match(part, sample))
    })
}

/// Returns the rest of a path below any user's home.
fn of_any_home(lower: &str) -> Option<&str> {
    if let Some(rest) = lower.strip_prefix("/root/") {
        return Some(rest);
    }
    ["/home/", "/users/"].iter().find_map(|root| {
        let rest = lower.strip_prefix(root)?;
        rest.split_once('/').map(|(_, below)| below)
    })
}

/// Patterns of places, by their second letter: most differ in it already, for the first is a slash or a dot.
struct Places {
    by_second: BTreeMap<u8, Vec<String>>,
    /// Those that begin with any letter.
    others: Vec<String>,
}

impl Places {
    fn new(patterns: &[&str]) -> Places {
        let mut places = Places { by_second: BTreeMap::new(), others: Vec::new() };
        for pattern in patterns.iter().map(|pattern| pattern.to_lowercase()) {
            match pattern.as_bytes() {
                [first, second, ..] if ![first, second].iter().any(|b| matches!(b, b'*' | b'?' | b'[')) => {
                    places.by_second.entry(*second).or_default().push(pattern);
                }
                _ => places.others.push(pattern),
            }
        }
        places
    }

    /// Returns whether a path in small letters is one of the places, or lies in one.
    fn fit(&self, path: &str) -> bool {
        let second = path.as_bytes().get(1).and_then(|second| self.by_second.get(second));
        second.into_iter().flatten().chain(&self.others).any(|pattern| matches_place(pattern, path))
    }
}

fn matches_place(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('/') {
        Some(folder) if folder.contains('*') => {
            let depth = folder.bytes().filter(|b| *b == b'/').count();
            let head = path.match_indices('/').nth(depth).map_or(path, |(end, _)| path.get(..end).unwrap_or(path));
            matches(folder, head)
        }
        Some(folder) => path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        None if pattern.contains(['*', '?', '[']) => matches(pattern, path),
        None => pattern == path,
    }
}
