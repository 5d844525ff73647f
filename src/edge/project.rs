//! The project root: where the agent may write and run commands.

use crate::domain::id::SessionId;
use crate::edge::config::Config;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How old an empty folder of a conversation is when it goes.
pub const OLD: Duration = Duration::from_secs(24 * 3_600);

/// Returns the project root of a conversation: the folder that the user `chose` to look at, else the one that was given
/// at the start, else the version-controlled folder around the chat's, else a scratch folder of the conversation's own.
/// Never home, `/`, a memex or a folder in one, or an ancestor of memex, store or settings.
pub fn root(config: &Config, session: &SessionId, chosen: Option<&Path>, folder: Option<&Path>) -> PathBuf {
    let given = [chosen, config.project.as_deref()].into_iter().flatten();
    given
        .filter(|path| is_allowed(config, path))
        .map(Path::to_path_buf)
        .next()
        .or_else(|| folder.and_then(marked_ancestor).filter(|path| is_allowed(config, path)))
        .unwrap_or_else(|| scratch(config, session))
}

/// Returns why a folder cannot be a project root; `None` when it can.
pub fn objection(config: &Config, path: &Path) -> Option<String> {
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let root = canonical(path);
    let own = [&config.store, &config.settings, &config.cache];
    if root.parent().is_none() || root == canonical(&config.home) {
        return Some(format!("{} cannot be the project: it holds everything you have", path.display()));
    }
    if let Some(memex) = config.directories.iter().map(|p| canonical(p)).find(|memex| root.starts_with(memex)) {
        let lies = if root == memex {
            "it is a memex folder".into()
        } else {
            format!("it lies in the memex {}", memex.display())
        };
        // A command may read all of its project, and notes may be private.
        return Some(format!("{} cannot be the project: {lies}, whose notes commands may not see", path.display()));
    }
    let kept = config.directories.iter().chain(own).map(|p| canonical(p)).find(|kept| kept.starts_with(&root));
    kept.map(|kept| format!("{} cannot be the project: {} lies in it", path.display(), kept.display()))
}

fn is_allowed(config: &Config, path: &Path) -> bool {
    path.is_dir() && objection(config, path).is_none()
}

/// The nearest folder at or above that a version control system keeps.
fn marked_ancestor(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    folder
        .ancestors()
        .find(|at| [".git", ".hg", ".jj", ".svn"].iter().any(|mark| at.join(mark).exists()))
        .map(Path::to_path_buf)
}

/// Returns where the folders of conversations lie: beside the store, not in it, as the store is closed to everything.
pub fn scratches(config: &Config) -> PathBuf {
    config.store.parent().unwrap_or(&config.store).join("passepartout-scratch")
}

/// Takes away the folders of conversations that nobody put anything into, when they are `old`: one is made for each
/// conversation without a project, whatever it does. Blocks.
pub fn sweep(scratches: &Path, old: Duration) {
    for entry in std::fs::read_dir(scratches).into_iter().flatten().flatten() {
        let age = entry.metadata().ok().and_then(|about| about.modified().ok()?.elapsed().ok());
        if age.is_some_and(|age| age >= old) {
            // One with anything in it stays; the system sees to that.
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// Returns a folder of this conversation's own, made when it is first used.
pub fn scratch(config: &Config, session: &SessionId) -> PathBuf {
    let name = blake3::hash(session.0.as_bytes()).to_hex();
    let base = scratches(config);
    let folder = base.join(name.as_str().get(..12).unwrap_or("scratch"));
    if std::fs::create_dir_all(&folder).is_ok() {
        use std::os::unix::fs::PermissionsExt;
        for path in [&base, &folder] {
            // Only a looser mode than we would like; the launcher confines all the same.
            let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
        }
    }
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_folders_of_conversations_go_and_others_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["empty", "used"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        std::fs::write(folder.path().join("used/a.txt"), "x").expect("a file");
        std::fs::write(folder.path().join("file"), "x").expect("a file");
        let left = || {
            let entries = std::fs::read_dir(folder.path()).expect("it is there").flatten();
            let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        };
        sweep(folder.path(), OLD);
        assert_eq!(left(), ["empty", "file", "used"], "somebody may work there");
        sweep(folder.path(), Duration::ZERO);
        assert_eq!(left(), ["file", "used"]);
        sweep(&folder.path().join("none"), Duration::ZERO);
    }
}
