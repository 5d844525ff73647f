//! What a confined command may see and write, made from the scope of its turn.

use crate::domain::label::Privacy;
use crate::domain::memory::document::PrivacyOptions;
use crate::domain::org::scan::ScanOptions;
use crate::domain::scope::Scope;
use crate::edge::sandbox::{SandboxError, Walls, notes};
use crate::edge::setup_files::SetupFiles;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Tells whether a path (absolute) names a file that holds secrets. The gates own the rule.
pub type SecretTest = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Most entries of a project that are looked at. A larger one is refused: its secrets could not be masked.
const MOST_ENTRIES: usize = 400_000;
/// Most private notes that are hidden one by one, and most places that are protected: each is a mount, and a word of the launcher's command line.
const MOST_NOTES: usize = 1_000;

/// The largest file that a command may write, in bytes; a smaller bound on all of them bounds each.
const LARGEST: u64 = 1 << 30;
/// How much larger than all may be together one file may become: whoever writes one that large is beyond the bound on all.
const OVER: u64 = 1 << 20;

/// Files of a project that other programs run or obey as soon as somebody opens its folder or asks git for anything, in
/// whatever folder of it they stand. A command may read them, not change them; what it makes anew of them is named. The
/// gates guard more: what a build changes as it goes (a makefile, `node_modules/.bin`) is a command's to write.
const OBEYED: &[&str] = &[
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/info/attributes",
    ".husky",
    ".githooks",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    "lefthook.yml",
    ".lefthook.yml",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".eglot-workspace.el",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".envrc",
    ".mise.toml",
    "mise.toml",
    ".cargo/config",
    ".cargo/config.toml",
    ".vscode",
    ".idea",
    ".zed",
    ".fleet",
    ".devcontainer",
    ".devcontainer.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".claude/commands",
    ".claude/agents",
    ".claude/skills",
    ".claude/plugins",
    ".cursor",
    ".codex",
    ".gemini",
    ".opencode",
    ".mcp.json",
    ".ssh",
];

/// What git obeys in a folder of its own, be that `.git`, that of a submodule or a worktree, or a bare repository.
const OBEYED_BY_GIT: &[&str] = &["hooks", "config", "config.worktree", "commondir", "info/attributes"];

/// What git runs line by line when it goes on with what it was stopped in; it is git's to write, and named when it changed.
const TODO: &[&str] = &["rebase-merge/git-rebase-todo", "sequencer/todo"];

/// What one command may see, write and use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What confines.
    pub walls: Walls,
    /// The folder in which it runs, canonical; the only one that it can write besides its own `/tmp`.
    pub project: PathBuf,
    /// A folder with empty folders `up` and `work`: what the command writes in the project goes to `up`, and the project
    /// stays as it is.
    pub layer: Option<PathBuf>,
    /// More folders that it can read, canonical.
    pub read: Vec<PathBuf>,
    /// Paths that must not be there.
    pub hide: Vec<PathBuf>,
    /// Files that must not be readable.
    pub mask: Vec<PathBuf>,
    /// Paths of the project that must not be written.
    pub protect: Vec<PathBuf>,
    /// What of the project's private notes the command may read, as the scope lets it; the others are masked, and the
    /// history of versions with them.
    pub notes: Notes,
    /// Seconds of processor time of one process.
    pub cpu: u64,
    /// Bytes of memory of all processes together.
    pub memory: u64,
    /// Processes and threads at one time.
    pub processes: u64,
    /// Bytes by which the free space of the project's file system may shrink.
    pub disk: u64,
}

/// What a command may read of the private notes of its project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notes {
    /// How private the most private note is that it may read.
    pub shown: Privacy,
    /// Whether there are others, which it may not read.
    pub hidden: bool,
}

impl Policy {
    /// Makes the usual policy for one folder, with nothing hidden or masked.
    pub fn new(project: PathBuf) -> Policy {
        Policy {
            walls: Walls::All,
            project,
            layer: None,
            read: Vec::new(),
            hide: Vec::new(),
            mask: Vec::new(),
            protect: Vec::new(),
            notes: Notes { shown: Privacy::Open, hidden: false },
            cpu: 60,
            memory: 2 << 30,
            processes: 512,
            disk: 4 << 30,
        }
    }

    /// Makes the policy of a turn: its project; home, memex, store and settings hidden; secret files masked.
    /// When private notes must not be seen, those of the project are masked as well.
    /// Reads the names of all files of the project and the text of its notes, so it is called where blocking is allowed.
    pub fn for_scope(scope: &Scope, secret: &SecretTest) -> Result<Policy, SandboxError> {
        let project = PathBuf::from(&scope.project);
        let closed: Vec<PathBuf> =
            [&scope.home].into_iter().chain(&scope.memex).chain(&scope.own).map(PathBuf::from).collect();
        if let Some(place) = closed.iter().find(|place| place.starts_with(&project)) {
            return Err(SandboxError::Policy(format!(
                "{} cannot be the project of a command, because {} must stay hidden from commands",
                project.display(),
                place.display()
            )));
        }
        if scope.own.iter().any(|own| project.starts_with(own)) {
            return Err(SandboxError::Policy(format!("{} is one of Passepartout's own folders", project.display())));
        }
        let entries = stamps(&project)?;
        Policy { hide: closed, ..Policy::new(project) }.over(&entries, scope, secret)
    }

    /// Adds what is hidden, masked and protected of what stands in the project.
    fn over(self, entries: &Stamps, scope: &Scope, secret: &SecretTest) -> Result<Policy, SandboxError> {
        let mut policy = self;
        let mut hidden = Vec::new();
        for (path, stamp) in entries {
            if stamp.shut {
                // Its owner could open it, and the command runs as its owner.
                hidden.push(path.clone());
            } else if path.to_str().is_none_or(|text| secret(text)) {
                if stamp.folder { hidden.push(path.clone()) } else { policy.mask.push(path.clone()) }
            }
        }
        let marks = notes::Marks { tags: &scope.private_tags, held: &scope.held };
        let private = notes::private(entries, &marks, &scanning(scope), notes::USUAL);
        let (hide, show): (Vec<_>, Vec<_>) = private.files.into_iter().partition(|(_, tier)| *tier > scope.may_see);
        policy.notes.shown = show.iter().map(|(_, tier)| *tier).max().unwrap_or(Privacy::Open);
        // What files were before may be what their tags kept closed then.
        let past = match scope.may_see < Privacy::Private && !(hide.is_empty() && show.is_empty()) {
            true => private.history,
            false => Vec::new(),
        };
        policy.notes.hidden = !hide.is_empty() || !past.is_empty();
        hidden.extend(past);
        if !hide.is_empty() {
            if hide.len() > MOST_NOTES {
                return Err(SandboxError::Policy(format!(
                    "{} notes of the project are private or too many to look at, and no more than {MOST_NOTES} can be hidden from a command for a model that is not local; choose a smaller folder, or ask a local model",
                    hide.len()
                )));
            }
            policy.mask.extend(hide.into_iter().map(|(path, _)| path));
            policy.mask.sort();
            policy.mask.dedup();
        }
        let covered = |path: &PathBuf| hidden.iter().any(|folder| path.starts_with(folder));
        policy.mask.retain(|path| !covered(path));
        policy.protect = entries.keys().filter(|path| obeyed(path, entries)).cloned().collect();
        // What lies in a folder that is protected is protected with it.
        policy.protect.dedup_by(|inner, outer| inner.starts_with(outer));
        if policy.protect.len() > MOST_NOTES {
            return Err(SandboxError::Policy(format!(
                "the project holds {} files and folders that other programs obey, as git's hooks, and no more than {MOST_NOTES} can be protected; choose a smaller folder",
                policy.protect.len()
            )));
        }
        // What cannot be seen needs no protection from writing.
        policy.protect.retain(|path| !covered(path) && !policy.mask.contains(path));
        policy.hide.extend(hidden);
        Ok(policy)
    }

    /// Returns the launcher's arguments, without task and status.
    pub fn arguments(&self, parent: u32) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["--project".into(), self.project.clone().into()];
        for (option, paths) in
            [("--read", &self.read), ("--hide", &self.hide), ("--mask", &self.mask), ("--protect", &self.protect)]
        {
            words.extend(paths.iter().flat_map(|path| [option.into(), path.clone().into()]));
        }
        let numbers = [
            ("--limit-cpu", self.cpu),
            ("--limit-memory", self.memory),
            ("--limit-processes", self.processes),
            ("--limit-disk", self.disk),
            ("--limit-file", self.disk.saturating_add(OVER).min(LARGEST)),
            ("--parent", u64::from(parent)),
        ];
        if let Some(layer) = &self.layer {
            words.extend(["--layer".into(), layer.clone().into()]);
        }
        if self.walls == Walls::Fewer {
            words.extend(["--walls", "fewer"].map(OsString::from));
        }
        words.extend(numbers.iter().flat_map(|(option, number)| [OsString::from(option), number.to_string().into()]));
        words
    }
}

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Whether it is a folder.
    pub folder: bool,
    /// Whether it is a regular file.
    pub regular: bool,
    /// Whether it is a folder into which one may not look.
    pub shut: bool,
    size: u64,
    pub(super) inode: u64,
    /// When content or mode last changed; unlike the time of content, no program can set it.
    changed: (i64, i64),
}

/// The state of a project: everything in it except what git keeps for itself.
pub type Stamps = BTreeMap<PathBuf, Stamp>;

/// Returns how notes of a project are scanned for what is private: with setup files of the project and the memex.
fn scanning(scope: &Scope) -> ScanOptions {
    let roots: Vec<PathBuf> = scope.memex.iter().chain([&scope.project]).map(PathBuf::from).collect();
    let own: Vec<PathBuf> = scope.own.iter().map(PathBuf::from).collect();
    let privacy = PrivacyOptions { tags: scope.private_tags.clone() };
    SetupFiles::below(&roots, Path::new(&scope.home), &own, privacy).scan_options(ScanOptions::default().sequences)
}

/// Reads the state of a folder and all below it, without following links. Blocks.
pub fn stamps(folder: &Path) -> Result<Stamps, SandboxError> {
    let mut found = Stamps::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let inside = std::fs::read_dir(&folder);
        if let (Err(_), Some(stamp)) = (&inside, found.get_mut(&folder)) {
            stamp.shut = true;
        }
        for entry in inside.into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else { continue };
            let path = entry.path();
            if about.is_dir() && !path.ends_with(".git/objects") {
                folders.push(path.clone());
            }
            let stamp = Stamp {
                folder: about.is_dir(),
                regular: about.is_file(),
                shut: false,
                size: about.len(),
                inode: about.ino(),
                changed: (about.ctime(), about.ctime_nsec()),
            };
            found.insert(path, stamp);
            if found.len() > MOST_ENTRIES {
                return Err(SandboxError::Policy(format!(
                    "the project holds more than {MOST_ENTRIES} files, too many to look for secrets in; choose a smaller folder"
                )));
            }
        }
    }
    Ok(found)
}

/// Returns whether other programs run or obey what stands at a path, whatever folder of a project that is in.
fn obeyed(path: &Path, entries: &Stamps) -> bool {
    // The file `.git` of a submodule or a worktree says where git's folder is.
    let points = path.ends_with(".git") && entries.get(path).is_some_and(|stamp| !stamp.folder);
    points
        || OBEYED.iter().any(|name| path.ends_with(name))
        || OBEYED_BY_GIT.iter().any(|name| below(path, name).is_some_and(|folder| is_gits(folder, entries)))
}

/// Returns the folder in which a name of one or two parts stands, when a path ends with it.
fn below<'a>(path: &'a Path, name: &str) -> Option<&'a Path> {
    path.ends_with(name).then(|| path.ancestors().nth(Path::new(name).components().count())).flatten()
}

/// Returns whether git takes a folder for one of its own.
fn is_gits(folder: &Path, entries: &Stamps) -> bool {
    let has = |name: &str| entries.contains_key(&folder.join(name));
    has("HEAD") && (has("objects") || has("commondir"))
}

/// Returns what other programs run or obey and was not there before, so that it could not be protected, or is git's to
/// write and has changed.
pub fn newly_obeyed(before: &Stamps, after: &Stamps) -> Vec<String> {
    let new = after.iter().filter(|(path, stamp)| match before.get(*path) {
        None => obeyed(path, after) || TODO.iter().any(|name| path.ends_with(name)),
        // What stood there without being obeyed is, as soon as git takes its folder for its own.
        Some(was) => {
            (obeyed(path, after) && !obeyed(path, before))
                || (was != *stamp && TODO.iter().any(|name| path.ends_with(name)))
        }
    });
    let mut new: Vec<&PathBuf> = new.map(|(path, _)| path).collect();
    new.dedup_by(|inner, outer| inner.starts_with(&**outer));
    new.into_iter().map(|path| path.display().to_string()).collect()
}

/// Returns the files (not folders, and nothing of git's) that were made, changed or removed between two states.
pub fn changed_files(before: &Stamps, after: &Stamps) -> Vec<String> {
    let gits = |path: &Path| path.components().any(|part| part.as_os_str() == ".git");
    let made = after.iter().filter(|(path, stamp)| before.get(*path) != Some(*stamp));
    // A folder in the place of a file took the file away.
    let gone = before.iter().filter(|(path, _)| after.get(*path).is_none_or(|stamp| stamp.folder));
    let mut files: Vec<String> = made
        .chain(gone)
        .filter(|(path, stamp)| !stamp.folder && !gits(path))
        .map(|(path, _)| path.display().to_string())
        .collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::label::PrivacyTag;

    fn scope(project: &Path, may_see: Privacy) -> Scope {
        Scope {
            project: project.display().to_string(),
            home: "/nowhere/home".to_string(),
            private_tags: ["private", "journal=ask", "work=warn"].map(|tag| PrivacyTag::read(tag).0).to_vec(),
            may_see,
            ..Scope::bare()
        }
    }

    fn policy(project: &Path, may_see: Privacy, entries: &Stamps) -> Policy {
        let none: SecretTest = std::sync::Arc::new(|_: &str| false);
        let made = Policy::new(project.to_path_buf()).over(entries, &scope(project, may_see), &none);
        made.expect("there is a policy")
    }

    #[test]
    fn a_folder_that_is_shut_is_hidden_whole_whoever_asks() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().canonicalize().expect("it is there");
        std::fs::create_dir_all(project.join("shut/inside")).expect("folders");
        let mut entries = stamps(&project).expect("it is read");
        let shut = project.join("shut");
        assert!(!policy(&project, Privacy::Private, &entries).hide.contains(&shut));
        // Whoever is root may look into each.
        entries.get_mut(&shut).expect("it is known").shut = true;
        for may_see in [Privacy::Open, Privacy::Warn, Privacy::Ask, Privacy::Private] {
            assert!(policy(&project, may_see, &entries).hide.contains(&shut), "{may_see:?}");
        }
    }

    #[test]
    fn the_history_is_hidden_wherever_a_note_has_a_tier() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().canonicalize().expect("it is there");
        std::fs::create_dir_all(project.join(".git/objects")).expect("folders");
        let past = project.join(".git/objects");
        let hidden = |tag: &str, may_see: Privacy| {
            std::fs::write(project.join("a.org"), format!("* A{tag}\n")).expect("a file");
            let made = policy(&project, may_see, &stamps(&project).expect("it is read"));
            assert_eq!(made.notes.hidden, made.hide.contains(&past), "{tag} {may_see:?}");
            made.notes.hidden
        };
        for tag in [" :work:", " :journal:", " :private:"] {
            for may_see in [Privacy::Open, Privacy::Warn, Privacy::Ask] {
                assert!(hidden(tag, may_see), "it may have had another tag before: {tag} {may_see:?}");
            }
            assert!(!hidden(tag, Privacy::Private), "{tag}");
        }
        assert!(!hidden("", Privacy::Open));
    }

    /// Makes files, and folders for them; what ends with a slash is a folder.
    fn make(project: &Path, names: &[&str]) {
        for name in names {
            let path = project.join(name);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("folders");
            match name.ends_with('/') {
                true => std::fs::create_dir_all(&path).expect("a folder"),
                false => std::fs::write(&path, "x").expect("a file"),
            }
        }
    }

    #[test]
    fn what_others_obey_is_protected_in_every_folder_that_git_takes_for_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().canonicalize().expect("it is there");
        let kept = [
            ".claude/hooks/",
            ".git/config",
            ".git/hooks/",
            ".git/modules/lib/config",
            ".git/modules/lib/hooks/",
            ".git/worktrees/two/commondir",
            ".husky/pre-commit",
            "lib/.git",
            "mirror.git/config",
            "mirror.git/info/attributes",
        ];
        make(&project, &kept);
        let gits = [
            ".git/modules/lib/HEAD",
            ".git/modules/lib/objects/",
            ".git/worktrees/two/HEAD",
            "mirror.git/HEAD",
            "mirror.git/objects/",
        ];
        make(&project, &gits);
        make(&project, &["src/config", "config", "src/hooks/", ".git/index", "Makefile"]);
        let entries = stamps(&project).expect("it is read");
        let policy = policy(&project, Privacy::Private, &entries);
        let protected: Vec<&str> =
            policy.protect.iter().map(|path| path.strip_prefix(&project).unwrap().to_str().unwrap()).collect();
        let husky = kept.map(|name| name.trim_end_matches('/').trim_end_matches("/pre-commit"));
        assert_eq!(protected, husky);
    }

    #[test]
    fn what_a_command_makes_others_obey_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().canonicalize().expect("it is there");
        make(
            &project,
            &["src/config", "src/hooks/x", ".git/rebase-merge/git-rebase-todo", ".git/HEAD", ".git/objects/"],
        );
        let before = stamps(&project).expect("it is read");
        assert_eq!(newly_obeyed(&before, &before), Vec::<String>::new());
        // A folder becomes a bare repository by what is put beside.
        make(
            &project,
            &["src/HEAD", "src/objects/", ".cargo/config.toml", ".git/sequencer/todo", ".git/index", "lib/.git"],
        );
        std::fs::write(project.join(".git/rebase-merge/git-rebase-todo"), "exec touch x\n").expect("a file");
        let named = newly_obeyed(&before, &stamps(&project).expect("it is read"));
        let named: Vec<&str> = named.iter().map(|path| path.strip_prefix(project.to_str().unwrap()).unwrap()).collect();
        assert_eq!(
            named,
            [
                "/.cargo/config.toml",
                "/.git/rebase-merge/git-rebase-todo",
                "/.git/sequencer/todo",
                "/lib/.git",
                "/src/config",
                "/src/hooks"
            ]
        );
    }

    #[test]
    fn the_gates_guard_whatever_a_command_may_not_change() {
        let scope = scope(Path::new("/p"), Privacy::Open);
        for name in OBEYED {
            let path = format!("/p/{name}");
            let guards = |path: &str| crate::domain::gate::place::guarded(path, &scope).is_some();
            assert!(guards(&path) || guards(&format!("{path}/x")), "{name}");
        }
    }
}
