//! Where a file came from by the place that it lies in: a folder that the user does not trust, or a git repository
//! with a remote that is not the user's.

use std::io::Read;
use std::path::{Path, PathBuf};

/// The longest configuration of a repository that is read, in bytes.
const CONFIG: u64 = 256 * 1024;
/// How many folders upwards a repository is looked for.
const UPWARDS: usize = 64;
/// The most folders of a project that are looked through for repositories inside it.
const INSIDE: usize = 2_000;
/// How deep they are looked for.
const INSIDE_DEPTH: usize = 6;

/// What the user said about places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Folders whose files came from elsewhere.
    pub untrusted: Vec<PathBuf>,
    /// Remotes of repositories that are the user's: addresses, or beginnings of them.
    pub remotes: Vec<String>,
    /// Folders of notes: the repository that one of them is kept in counts as the user's, whatever its remotes.
    pub memex: Vec<PathBuf>,
    /// The user's home: a repository of the home itself says nothing of the files in it.
    pub home: PathBuf,
}

impl Places {
    /// Returns why a file, or all of a folder, counts as from outside; `None` when its place says nothing.
    pub fn source(&self, path: &Path) -> Option<String> {
        if self.untrusted.iter().any(|folder| path.starts_with(folder)) {
            return Some("in an untrusted folder".to_string());
        }
        let folder = if path.is_dir() { path } else { path.parent()? };
        let root = self.memex.iter().filter(|root| path.starts_with(root)).max_by_key(|root| root.as_os_str().len());
        let own = |folder: &Path| root.is_some_and(|root| !folder.starts_with(root) || folder == root);
        let above = folder.ancestors().take(UPWARDS).take_while(|at| !own(at) && *at != self.home);
        above.into_iter().find_map(|at| self.foreign(at))
    }

    /// Returns why a part of a folder counts as from outside: an untrusted folder, or a foreign repository in it.
    pub fn source_inside(&self, folder: &Path) -> Option<String> {
        if let Some(inside) = self.untrusted.iter().find(|untrusted| untrusted.starts_with(folder)) {
            return Some(format!("{} in it is an untrusted folder", last(inside)));
        }
        let mut waiting = vec![(folder.to_path_buf(), 0)];
        let mut looked = 0;
        while let Some((at, depth)) = waiting.pop() {
            if at != folder
                && let Some(why) = self.foreign(&at)
            {
                return Some(format!("{} in it is a {why}", last(&at)));
            }
            looked += 1;
            if looked > INSIDE || depth == INSIDE_DEPTH {
                continue;
            }
            let Ok(entries) = std::fs::read_dir(&at) else { continue };
            let folders = entries
                .flatten()
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != ".git");
            waiting.extend(folders.map(|entry| (entry.path(), depth + 1)));
        }
        None
    }

    /// Returns what is said of the repository whose work tree is exactly this folder, when it is not the user's.
    fn foreign(&self, folder: &Path) -> Option<String> {
        let config = config_of(folder)?;
        let Some(remotes) = config else { return Some("repository whose remotes cannot be read".to_string()) };
        let remotes = remotes.iter().map(|remote| self.led_to(folder, remote));
        let mut strangers = remotes.filter(|remote| !self.remotes.iter().any(|own| is_below(remote, own)));
        let stranger = strangers.next()?;
        Some(format!("repository of {}", plain(&stranger).chars().take(80).collect::<String>()))
    }

    /// Returns where a remote leads. One that names a folder is that folder, wherever the name is taken from: `../x` is
    /// the user's when they trust the folder that it leads to, and nobody's own for being written so.
    fn led_to(&self, folder: &Path, remote: &str) -> String {
        let Some(path) = local(remote) else { return remote.to_string() };
        let path = match path.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => folder.join(path),
        };
        path.canonicalize().unwrap_or(path).to_string_lossy().into_owned()
    }
}

/// Returns the path of a remote that is a folder, as git takes it: an address has a scheme, or a colon before any slash.
fn local(remote: &str) -> Option<&str> {
    let bare = remote.trim();
    match bare.split_once("://") {
        Some((scheme, path)) => scheme.eq_ignore_ascii_case("file").then_some(path),
        None => {
            let first = bare.split('/').next().unwrap_or_default();
            (bare.starts_with(['/', '.', '~']) || !first.contains(':')).then_some(bare)
        }
    }
}

fn last(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns the remotes of the repository of a folder; `None` when it is none, `Some(None)` when they cannot be told.
fn config_of(folder: &Path) -> Option<Option<Vec<String>>> {
    let git = folder.join(".git");
    let kind = git.symlink_metadata().ok()?;
    let config = if kind.is_dir() {
        git.join("config")
    } else {
        // A work tree or a submodule: the file says where its repository is.
        let Some(directory) = read(&git).and_then(|text| Some(text.trim().strip_prefix("gitdir:")?.trim().to_string()))
        else {
            return Some(None);
        };
        let directory = folder.join(directory);
        match read(&directory.join("commondir")) {
            Some(common) => directory.join(common.trim()).join("config"),
            None => directory.join("config"),
        }
    };
    Some(match (read(&config), config.exists()) {
        (Some(text), _) => remotes(&text),
        (None, false) => Some(Vec::new()),
        (None, true) => None,
    })
}

fn read(path: &Path) -> Option<String> {
    let file = std::fs::File::open(path).ok().filter(|file| file.metadata().is_ok_and(|about| about.is_file()))?;
    let mut text = String::new();
    let size = file.take(CONFIG + 1).read_to_string(&mut text).ok()?;
    (size as u64 <= CONFIG).then_some(text)
}

/// Returns the addresses of all remotes; `None` when the configuration takes more from elsewhere, or rewrites addresses.
fn remotes(config: &str) -> Option<Vec<String>> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in config.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        let mut rest = line;
        if let Some(header) = line.strip_prefix('[') {
            let (name, behind) = header.split_once(']')?;
            section = name.split_whitespace().next().unwrap_or("").to_ascii_lowercase();
            if matches!(section.split('.').next(), Some("include" | "includeif" | "url")) {
                return None;
            }
            rest = behind.trim();
        }
        let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
        if section.split('.').next() == Some("remote") && key.trim().eq_ignore_ascii_case("url") {
            if rest.ends_with('\\') {
                return None;
            }
            found.push(value.trim().trim_matches('"').to_string());
        }
    }
    Some(found)
}

/// Returns whether an address is one that the user named, or lies below it. One that climbs is neither: what a server
/// makes of `..` is not known here.
fn is_below(remote: &str, own: &str) -> bool {
    let (remote, own) = (plain(remote), plain(own));
    let climbs = |part: &str| matches!(part.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
    let parts = remote.to_ascii_lowercase().replace("%2f", "/").replace("%5c", "/").replace('\\', "/");
    !parts.split('/').any(climbs)
        && !own.is_empty()
        && (remote == own || remote.strip_prefix(&own).is_some_and(|rest| rest.starts_with('/')))
}

/// Returns an address as host and path, however it is written: `git@host:me/x.git` is `host/me/x`.
fn plain(address: &str) -> String {
    let bare = address.trim();
    let (scheme, bare) = bare.split_once("://").map_or((None, bare), |(scheme, rest)| (Some(scheme), rest));
    if scheme == Some("file") || scheme.is_none() && bare.starts_with(['/', '.', '~']) {
        return bare.trim_end_matches('/').to_string();
    }
    let (host, path) = bare.split_once('/').map_or((bare, None), |(host, path)| (host, Some(path)));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    // `host:path` has no scheme; with one, what stands behind the colon is a port.
    let host = if scheme.is_none() { host.replacen(':', "/", 1) } else { host.to_string() };
    let (name, more) = host.split_once('/').map_or((host.as_str(), None), |(name, more)| (name, Some(more)));
    let parts =
        std::iter::once(name.to_ascii_lowercase()).chain(more.map(str::to_string)).chain(path.map(str::to_string));
    let whole = parts.collect::<Vec<_>>().join("/");
    let whole = whole.trim_end_matches('/');
    whole.strip_suffix(".git").unwrap_or(whole).trim_end_matches('/').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_users_however_it_is_written() {
        let own = ["github.com/me", "git@git.example.org:team/notes.git", "/srv/git"];
        let is_own = |remote: &str| own.iter().any(|own| is_below(remote, own));
        for remote in [
            "git@github.com:me/notes.git",
            "https://github.com/me/notes",
            "https://token@GitHub.com/me/notes.git/",
            "ssh://git@github.com/me/notes.git",
            "https://git.example.org/team/notes",
            "/srv/git/notes.git",
            "file:///srv/git/x",
        ] {
            assert!(is_own(remote), "{remote}");
        }
        for remote in [
            "git@github.com:me-too/notes.git",
            "https://github.com.evil.example/me/x",
            "https://evil.example/github.com/me",
            "https://github.com@evil.example/me/x",
            "https://github.com/other/me",
            "https://git.example.org/team/notes2",
            "../srv/git/x",
            "/srv/git/../other/x",
            "file:///srv/git/../other",
            "https://github.com/me/../other/x",
            "https://github.com/me/%2E%2e/other/x",
            "https://github.com/me/%2e%2e%2fother",
            "git@github.com:me/../other.git",
            "https://github.com/me/./x",
            "",
        ] {
            assert!(!is_own(remote), "{remote}");
        }
    }

    #[test]
    fn remotes_are_read_and_what_is_not_clear_is_foreign() {
        let check = |config: &str, expected: Option<&[&str]>| {
            let found = remotes(config);
            assert_eq!(
                found.as_ref().map(|all| all.iter().map(String::as_str).collect::<Vec<_>>()).as_deref(),
                expected
            );
        };
        check("", Some(&[]));
        check("[core]\n\tbare = false\n", Some(&[]));
        check(
            "[remote \"origin\"]\n\turl = https://a/b\n\tfetch = x\n[remote \"up\"] url = c:d\n",
            Some(&["https://a/b", "c:d"]),
        );
        check("[REMOTE \"o\"]\n URL=\"x\"\n; url = y\n", Some(&["x"]));
        check("[include]\n\tpath = other\n", None);
        check("[url \"https://evil/\"]\n\tinsteadOf = https://me/\n", None);
        check("[remote \"o\"\n", None);
    }

    #[test]
    fn a_remote_that_is_a_folder_is_where_it_leads() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("it is there");
        for made in ["mine/origin", "theirs/origin"] {
            std::fs::create_dir_all(base.join(made)).expect("a folder");
        }
        std::os::unix::fs::symlink(base.join("theirs/origin"), base.join("mine/link")).expect("a link");
        let places = Places { remotes: vec![base.join("mine").display().to_string()], ..Places::default() };
        for (number, (url, own)) in [
            ("../mine/origin".to_string(), true),
            ("../mine/./origin/../origin".to_string(), true),
            (format!("file://{}/mine/origin", base.display()), true),
            ("../theirs/origin".to_string(), false),
            ("../mine/../theirs/origin".to_string(), false),
            ("../mine/link".to_string(), false),
            // What is not there leads nowhere that is known.
            ("../mine/none/../none".to_string(), false),
            ("../elsewhere".to_string(), false),
            ("mine/origin".to_string(), false),
        ]
        .into_iter()
        .enumerate()
        {
            let work = base.join(format!("work{number}"));
            std::fs::create_dir_all(work.join(".git")).expect("a folder");
            std::fs::write(work.join(".git/config"), format!("[remote \"origin\"]\n\turl = {url}\n")).expect("a file");
            assert_eq!(places.source(&work.join("a")).is_none(), own, "{url}: {:?}", places.source(&work.join("a")));
        }
    }

    #[test]
    fn places_are_known_by_folder_and_repository() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("it is there");
        let repository = |name: &str, url: Option<&str>| {
            std::fs::create_dir_all(base.join(name).join(".git")).expect("a folder");
            let config = url.map(|url| format!("[remote \"origin\"]\n\turl = {url}\n")).unwrap_or_default();
            std::fs::write(base.join(name).join(".git/config"), config).expect("a file");
        };
        repository("memex", Some("https://host/me-or-not"));
        repository("memex/cloned", Some("https://host/other"));
        repository("own", Some("git@host:me/own.git"));
        repository("own/vendor/lib", Some("https://host/other"));
        repository("fresh", None);
        repository("theirs", Some("https://host/other"));
        std::fs::create_dir_all(base.join("memex/captured")).expect("a folder");
        let places = Places {
            untrusted: vec![base.join("memex/captured"), base.join("fresh/in")],
            remotes: vec!["host/me".to_string()],
            memex: vec![base.join("memex")],
            home: base.clone(),
        };
        let source = |name: &str| places.source(&base.join(name));
        assert_eq!(source("memex/a.org"), None);
        assert_eq!(source("memex/captured/a.org").as_deref(), Some("in an untrusted folder"));
        assert_eq!(source("memex/cloned/a.org").as_deref(), Some("repository of host/other"));
        assert_eq!((source("own/a"), source("fresh/a"), source("nowhere/a")), (None, None, None));
        assert_eq!(source("own/vendor/lib/a").as_deref(), Some("repository of host/other"));
        assert_eq!(source("theirs/deep/er/a").as_deref(), Some("repository of host/other"));
        let inside = |name: &str| places.source_inside(&base.join(name));
        assert_eq!(inside("own").as_deref(), Some("lib in it is a repository of host/other"));
        assert_eq!(inside("fresh").as_deref(), Some("in in it is an untrusted folder"));
        assert_eq!(inside("theirs"), None);
    }
}
