//! The project root: where the agent may write and run commands.

use crate::domain::id::SessionId;
use crate::edge::config::Config;
use std::path::{Path, PathBuf};

/// Returns the project root of a conversation: the folder that the user `chose` to look at, else the one that was given
/// at the start, else the version-controlled folder around the chat's, else a scratch folder of the conversation's own. Never home, `/`, a memex or a folder in one, or an
/// ancestor of memex, store or settings.
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

/// A folder of this conversation's own, made when it is first used.
fn scratch(config: &Config, session: &SessionId) -> PathBuf {
    let name = blake3::hash(session.0.as_bytes()).to_hex();
    // Beside the store, not in it: the store is closed to everything.
    let base = config.store.parent().unwrap_or(&config.store).join("passepartout-scratch");
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
