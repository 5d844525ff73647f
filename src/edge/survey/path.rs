//! Finds out which file a path means: links followed, home and parents resolved, odd spellings named.

use super::open::{self, identity};
use super::roads::Roads;
use super::shell::deceives;
use crate::domain::gate::facts::{FileKind, PathFact, PathForm};
use crate::domain::gate::place;
use crate::domain::scope::Scope;
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

/// The largest file whose bytes are named, in bytes. What is larger is bound by its number, size and time.
pub(super) const MAX_HASHED: u64 = 16 * 1024 * 1024;

/// Returns what a path argument means now.
pub fn look(roads: &Roads, arg: &str, asked: &str, scope: &Scope, open: &dyn Fn(&str) -> bool) -> PathFact {
    let (spelt, mut form) = plain(asked, scope);
    let mut fact = PathFact {
        arg: arg.to_string(),
        asked: asked.to_string(),
        resolved: String::new(),
        kind: FileKind::Unknown,
        size: 0,
        links: 0,
        content: None,
        open: false,
        form,
        shared: false,
        identity: None,
        folder: None,
    };
    let full = Path::new(&scope.project).join(&spelt);
    let Some(resolved) = roads.resolve(&full) else {
        form = PathForm::Unresolved;
        fact.form = form;
        fact.resolved = lexical(&full).to_string_lossy().into_owned();
        return fact;
    };
    let about = roads.ask(&resolved);
    let listed = roads.as_listed(resolved.clone(), about.as_ref().ok());
    if listed.is_none() {
        fact.form = PathForm::Unresolved;
    }
    let resolved = listed.unwrap_or(resolved);
    fact.resolved = resolved.to_string_lossy().into_owned();
    // However it was spelt, and over whatever links: this is the name that Emacs would be given.
    if place::is_remote(&fact.resolved) {
        fact.form = worse(fact.form, PathForm::Remote);
    }
    let parent = resolved.parent().and_then(|parent| std::fs::symlink_metadata(parent).ok());
    fact.folder = parent.filter(Metadata::is_dir).map(|parent| identity(&parent));
    match about {
        Ok(metadata) => describe(&mut fact, &resolved, &metadata),
        Err(error) if missing(&error) => fact.kind = FileKind::Missing,
        Err(_) => {}
    }
    fact.open = open(&fact.resolved);
    fact
}

fn missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

fn describe(fact: &mut PathFact, path: &Path, metadata: &Metadata) {
    let kind = metadata.file_type();
    fact.kind = if kind.is_file() {
        FileKind::File
    } else if kind.is_dir() {
        FileKind::Folder
    } else if kind.is_char_device() || kind.is_block_device() || kind.is_fifo() || kind.is_socket() {
        FileKind::Special
    } else {
        FileKind::Unknown
    };
    fact.identity = Some(identity(metadata));
    fact.size = metadata.len();
    fact.links = metadata.nlink();
    fact.shared = metadata.mode() & 0o004 != 0;
    if fact.kind == FileKind::File && fact.size <= MAX_HASHED {
        fact.content = name_bytes(path, metadata);
    }
}

/// Names the bytes of exactly the file that was looked at; `None` when it may not be read or is another one by now.
fn name_bytes(path: &Path, metadata: &Metadata) -> Option<[u8; 32]> {
    let file = open::file(path).ok()?;
    let same = file.metadata().is_ok_and(|now| (now.dev(), now.ino()) == (metadata.dev(), metadata.ino()));
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file.take(MAX_HASHED + 1)).ok().filter(|_| same)?;
    Some(*hasher.finalize().as_bytes())
}

/// Takes the spellings of Org links, `file:` addresses, quoting and home off a path.
fn plain(asked: &str, scope: &Scope) -> (String, PathForm) {
    let mut text = asked.trim_start_matches("[[").trim_end_matches("]]").to_string();
    if asked.starts_with("[[")
        && let Some((target, _)) = asked.trim_start_matches("[[").split_once("][")
    {
        text = target.to_string();
    }
    let mut form = PathForm::Plain;
    if asked.chars().any(|c| deceives(c) || c == '\n' || c == '\t') || looks_alike(asked) {
        form = PathForm::Deceptive;
    }
    text.retain(|c| !deceives(c) && c != '\n' && c != '\t');
    if let Some(rest) = text.strip_prefix("/:") {
        text = rest.to_string();
    }
    if let Some(rest) = strip_scheme(&text, "file:") {
        let (host, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                rest.split_once('/').map_or((rest, ""), |(host, _)| (host, rest.get(host.len()..).unwrap_or("")))
            }
            None => ("", rest),
        };
        if !matches!(host, "" | "localhost") {
            form = PathForm::Remote;
        }
        text = percent(path);
    } else if strip_scheme(&text, "http://").or_else(|| strip_scheme(&text, "https://")).is_some() {
        return (text, worse(form, PathForm::Web));
    } else if has_scheme(&text) {
        return (text, worse(form, PathForm::Remote));
    }
    if place::is_remote(&text) || is_shared_folder(&text) {
        return (text, worse(form, PathForm::Remote));
    }
    if expands(&text) {
        form = worse(form, PathForm::Expands);
    }
    (home(&text, scope), form)
}

fn worse(known: PathForm, new: PathForm) -> PathForm {
    if known == PathForm::Plain { new } else { known }
}

fn strip_scheme<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let head = text.get(..scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then(|| text.get(scheme.len()..).unwrap_or(""))
}

fn has_scheme(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// Returns whether a name is that of a folder which another machine shares: `\\host\folder`.
fn is_shared_folder(text: &str) -> bool {
    text.strip_prefix("\\\\")
        .is_some_and(|rest| rest.split_once('\\').is_some_and(|(host, share)| !host.is_empty() && !share.is_empty()))
}

/// Returns whether a shell, or `substitute-in-file-name`, would make another name of it.
fn expands(text: &str) -> bool {
    let variable = text.match_indices('$').any(|(at, _)| {
        text.get(at + 1..)
            .and_then(|rest| rest.chars().next())
            .is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '{' | '(' | '$'))
    });
    let windows = text
        .split('%')
        .skip(1)
        .step_by(2)
        .any(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
    let braces = text
        .split_once('{')
        .is_some_and(|(_, rest)| rest.split_once('}').is_some_and(|(inner, _)| inner.contains(',')));
    variable || windows || braces || text.contains(['`', '*', '?'])
}

/// Returns whether letters of other scripts make the name look like that of a secret file.
fn looks_alike(text: &str) -> bool {
    if text.is_ascii() {
        return false;
    }
    let skeleton: String = text.chars().map(look_alike).filter(|c| !deceives(*c)).collect();
    let mixed = text
        .split(['/', '.'])
        .any(|part| part.chars().any(|c| c.is_ascii_alphabetic()) && part.chars().any(|c| look_alike(c) != c));
    mixed || (skeleton != text && place::secret_name(&skeleton).is_some())
}

/// Returns the ASCII letter that a letter of another script looks like; otherwise the letter itself.
fn look_alike(c: char) -> char {
    match c {
        'а' | 'ɑ' | 'α' => 'a',
        'е' | 'ҽ' => 'e',
        'о' | 'ο' | 'օ' => 'o',
        'р' | 'ρ' => 'p',
        'с' | 'ϲ' => 'c',
        'ѕ' => 's',
        'у' | 'γ' => 'y',
        'х' | 'χ' => 'x',
        'і' | 'ι' | 'ı' => 'i',
        'ј' => 'j',
        'ԁ' => 'd',
        'һ' => 'h',
        'ո' => 'n',
        'ν' | 'ѵ' => 'v',
        'ԝ' => 'w',
        'к' | 'κ' => 'k',
        'т' | 'τ' => 't',
        'м' => 'm',
        'в' => 'b',
        'н' => 'h',
        'ԛ' => 'q',
        'ɡ' => 'g',
        'ӏ' => 'l',
        '․' | '‥' | '。' | '．' => '.',
        '∕' | '⁄' | '／' => '/',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        _ => c,
    }
}

fn percent(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while let Some(byte) = bytes.get(i) {
        let hex = text.get(i + 1..i + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (byte, hex) {
            (b'%', Some(value)) => {
                out.push(value);
                i += 3;
            }
            _ => {
                out.push(*byte);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn home(text: &str, scope: &Scope) -> String {
    let Some(rest) = text.strip_prefix('~') else { return text.to_string() };
    let (user, below) = rest.split_once('/').map_or((rest, ""), |(user, below)| (user, below));
    let folder = if user.is_empty() { Some(scope.home.clone()) } else { home_of(user) };
    match folder {
        Some(folder) => format!("{folder}/{below}"),
        None => text.to_string(),
    }
}

/// Returns another user's home, as the system's list of users says.
pub(super) fn home_of(user: &str) -> Option<String> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.first() == Some(&user)).then(|| fields.get(5).map(|home| home.to_string())).flatten()
    })
}

/// Returns the path with `.` and `..` taken away by text alone.
pub fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// Returns the home that `~user` stands for, for words of commands.
pub(super) fn expand_home(text: &str, scope: &Scope) -> String {
    home(text, scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds a path as a file system does in which letters do not count.
    fn in_any_case(path: &Path) -> std::io::Result<PathBuf> {
        let mut at = PathBuf::from("/");
        for part in path.components().skip(1) {
            let exact = at.join(part);
            if exact.symlink_metadata().is_ok() {
                at = exact;
                continue;
            }
            let wanted = part.as_os_str().to_string_lossy().to_lowercase();
            let mut entries = std::fs::read_dir(&at)?.flatten();
            let found = entries.find(|entry| entry.file_name().to_string_lossy().to_lowercase() == wanted);
            at = found.ok_or(std::io::ErrorKind::NotFound)?.path();
        }
        Ok(at)
    }

    #[test]
    fn a_path_is_spelt_as_its_folders_spell_it_where_letters_do_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("it is there");
        let at = |name: &str| base.join(name).to_string_lossy().into_owned();
        for name in ["memex/Été", "project"] {
            std::fs::create_dir_all(base.join(name)).expect("a folder");
        }
        for name in ["memex/home.org", "memex/Été/2024.org", "memex/Été/x.org"] {
            std::fs::write(base.join(name), name).expect("a file");
        }
        let scope = Scope {
            memex: vec![at("memex")],
            project: at("project"),
            home: at("home"),
            own: vec![at("state/passepartout")],
            ..Scope::bare()
        };
        let look = |roads: &Roads, name: &str| look(roads, "path", &at(name), &scope, &|_| false);
        for (asked, meant) in [
            ("memex/home.org", "memex/home.org"),
            ("memex/HOME.org", "memex/home.org"),
            ("MEMEX/Home.ORG", "memex/home.org"),
            ("Memex/été/2024.org", "memex/Été/2024.org"),
            ("memex/ÉTÉ/X.org", "memex/Été/x.org"),
            // What is not there yet has the name that it is given, in the folder that is meant.
            ("MEMEX/New.org", "memex/New.org"),
            ("MEMEX/Deep/New.org", "memex/Deep/New.org"),
        ] {
            let roads = Roads::on(
                |path| in_any_case(path)?.symlink_metadata(),
                |folder| std::fs::read_dir(in_any_case(folder)?),
            );
            let fact = look(&roads, asked);
            assert_eq!((fact.resolved.as_str(), fact.form), (at(meant).as_str(), PathForm::Plain), "{asked}");
            assert_eq!(place::zone(&fact.resolved, &scope), place::Zone::Memex, "{asked}");
        }
        // Where letters count, each spelling is a file of its own, and it costs one question to know that.
        let roads = Roads::default();
        assert_eq!(look(&roads, "memex/HOME.org").resolved, at("memex/HOME.org"));
        assert_eq!(look(&roads, "memex/HOME.org").kind, FileKind::Missing);
        let roads = Roads::default();
        let resolved = roads.resolve(&base.join("memex/home.org")).expect("it is there");
        let (before, about) = (roads.looks(), resolved.symlink_metadata().expect("it is there"));
        assert_eq!(roads.as_listed(resolved.clone(), Some(&about)), Some(resolved));
        assert_eq!(roads.looks(), before + 1);
        // Our own folders are ours in any spelling.
        assert_eq!(place::zone(&at("State/PASSEPARTOUT/memory.db"), &scope), place::Zone::Own);
        assert_eq!(place::zone(&at("state/passepartouts"), &scope), place::zone(&at("else"), &scope));
    }
}
