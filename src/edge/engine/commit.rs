//! Predicts a commit of what the agent changed in this conversation, and of nothing else.
//!
//! The agent's changes are put, one after the other, into what the last commit has of each file. What the user wrote in
//! the same files stays out. Where that cannot be told apart, nothing is committed.

use crate::domain::action::Action;
use crate::domain::gate::facts::{CommitFact, CommitFile, EditFact};
use crate::domain::gate::{place, secret};
use crate::domain::scope::Scope;
use crate::domain::undo::lines::merge;
use crate::domain::undo::{Change, FileChange, Image};
use crate::edge::engine::Engine;
use crate::edge::engine::changes::read_change;
use crate::edge::engine::planner::{fact, waiting_for};
use crate::edge::engine::record::kind;
use crate::edge::git::{GIT, quoted};
use crate::edge::survey::Predicted;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// How many of the newest changes are looked at for those of a conversation.
const MOST_CHANGES: usize = 1_000;
/// How many files one commit has at most.
const MOST_FILES: usize = 200;
/// How many other changes are named.
const MOST_NAMED: usize = 20;

/// A file that is to be committed: the text of the last commit, and what it becomes.
struct Way {
    before: Option<String>,
    after: Option<String>,
}

impl Engine {
    /// Predicts a commit.
    pub(super) fn plan_commit(&self, action: &Action, scope: &Scope) -> Predicted {
        match waiting_for(self.commit_of(action, scope)) {
            Ok(commit) => {
                let doubts = commit.files.iter().filter(|file| holds_secret(file));
                let doubts = doubts.map(|file| format!("{} seems to hold a secret.", file.path)).collect();
                Predicted { commit: Some(commit), doubts, ..Predicted::default() }
            }
            Err(why) => Predicted { impossible: vec![why], ..Predicted::default() },
        }
    }

    async fn commit_of(&self, action: &Action, scope: &Scope) -> Result<CommitFact, String> {
        if action.text("message").is_none_or(|message| message.trim().is_empty()) {
            return Err("a commit needs a message".to_string());
        }
        let root = Path::new(&scope.project);
        let inside = root.join(".git");
        if !inside.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(format!("{} is not the top of a git repository of its own", scope.project));
        }
        for (name, what) in [
            ("MERGE_HEAD", "a merge"),
            ("CHERRY_PICK_HEAD", "a cherry-pick"),
            ("rebase-merge", "a rebase"),
            ("rebase-apply", "a rebase"),
        ] {
            if inside.join(name).exists() {
                return Err(format!("{what} is under way in the repository; end it first"));
            }
        }
        let git = |line: String| async move { self.git_text(scope, &format!("{GIT} {line}")).await };
        let branch = git("symbolic-ref HEAD".to_string()).await.map_err(|_| "no branch is checked out".to_string())?;
        let branch = branch.trim().to_string();
        let head =
            git("rev-parse --verify --quiet HEAD^{commit}".to_string()).await.unwrap_or_default().trim().to_string();
        let staged =
            git("diff --cached --name-only --no-renames --no-ext-diff -z".to_string()).await.unwrap_or_default();
        let mut files = Vec::new();
        let mut left = Vec::new();
        for (path, changes) in self.changed_in(scope).await? {
            if place::secret_name(&format!("/{path}")).is_some() {
                left.push(format!("{path}: its name is that of a file with secrets"));
                continue;
            }
            let before = match head.is_empty() {
                true => None,
                false => self.committed(scope, &head, &path).await?,
            };
            let way = self.replayed(&path, before, &changes).await?;
            if way.before == way.after {
                continue;
            }
            if staged.split('\0').any(|name| name == path) {
                return Err(format!("{path} is staged already: commit or unstage that first"));
            }
            let disk = disk_text(&root.join(&path))?;
            match stands(&way, disk.as_deref()) {
                Some(true) => {}
                Some(false) => left.push(format!("{path}: what was changed in it otherwise")),
                None => return Err(format!("{path} does not say any more what was changed in it; look at it")),
            }
            if files.len() == MOST_FILES {
                return Err(format!("more than {MOST_FILES} files were changed; commit by hand"));
            }
            let full = format!("{}/{path}", scope.project.trim_end_matches('/'));
            let EditFact { diff, .. } =
                fact(full, way.before.as_deref().map(Arc::from), way.after.as_deref().unwrap_or("").into());
            files.push(CommitFile { path, before: way.before.map(Arc::from), after: way.after.map(Arc::from), diff });
        }
        if files.is_empty() {
            return Err("nothing that was changed in this conversation is left to be committed".to_string());
        }
        let status = git("status --porcelain=v1 --no-renames --ignore-submodules=all -z".to_string()).await?;
        let others: Vec<&str> = status.split('\0').filter_map(|entry| entry.get(3..)).collect();
        let others: Vec<&str> = others
            .into_iter()
            .filter(|name| !name.is_empty() && !files.iter().any(|file| file.path == *name))
            .collect();
        let named = others.iter().take(MOST_NAMED).filter(|name| place::secret_name(&format!("/{name}")).is_none());
        left.extend(named.map(|name| format!("{name}: it was changed otherwise")));
        if others.len() > MOST_NAMED {
            left.push(format!("{} more files", others.len() - MOST_NAMED));
        }
        Ok(CommitFact { head, branch, files, left })
    }

    /// Runs git, which only looks; returns all that it said.
    async fn git_text(&self, scope: &Scope, line: &str) -> Result<String, String> {
        let shell = self.shell.as_ref().map_err(|why| format!("git cannot be confined here: {why}"))?;
        let (report, notes) = shell.look_at_all(scope, line).await.map_err(|why| format!("git was not run: {why}"))?;
        if report.stdout.truncated || report.stdout.text.contains('\u{fffd}') {
            return Err("what git has is too large, or no text".to_string());
        }
        match report.ending {
            crate::edge::sandbox::Ending::Exit(0) => Ok(report.stdout.text),
            _ if notes.hidden => {
                Err("private notes stand in this project, so its history is hidden from a model elsewhere".to_string())
            }
            _ => Err(format!("git could not say: {}", report.stderr.text.trim())),
        }
    }

    /// Returns the text that a commit has of a file; `None` when it has none.
    async fn committed(&self, scope: &Scope, head: &str, path: &str) -> Result<Option<String>, String> {
        let name = quoted(&format!(":(literal){path}"));
        let listed = self.git_text(scope, &format!("{GIT} ls-tree -z {head} -- {name}")).await?;
        if listed.is_empty() {
            return Ok(None);
        }
        if !listed.starts_with("100644 blob ") && !listed.starts_with("100755 blob ") {
            return Err(format!("{path} is no plain file in the repository"));
        }
        let text = self.git_text(scope, &format!("{GIT} cat-file blob {}", quoted(&format!("{head}:{path}")))).await;
        text.map(Some).map_err(|why| format!("{path}: {why}"))
    }

    /// Returns what was changed in files of the project in this conversation, each oldest first.
    async fn changed_in(&self, scope: &Scope) -> Result<BTreeMap<String, Vec<FileChange>>, String> {
        let records = self.archive.newest(kind::CHANGE, MOST_CHANGES).await?;
        let changes: Vec<Change> = records.iter().filter_map(|record| read_change(&record.body)).collect();
        let root = format!("{}/", scope.project.trim_end_matches('/'));
        let mut files: BTreeMap<String, Vec<FileChange>> = BTreeMap::new();
        for change in changes.into_iter().rev().filter(|change| change.session == scope.session.0) {
            for file in change.files {
                if let Some(path) = file.path.strip_prefix(&root).filter(|path| !path.starts_with(".git/")) {
                    files.entry(path.to_string()).or_default().push(file);
                }
            }
        }
        Ok(files)
    }

    /// Puts changes into a text, one after the other.
    async fn replayed(&self, path: &str, before: Option<String>, changes: &[FileChange]) -> Result<Way, String> {
        let clash = || format!("{path}: what was changed cannot be told apart from other changes; commit it by hand");
        let mut after = before.clone();
        for change in changes {
            let (old, new) =
                (self.image_text(path, &change.before).await?, self.image_text(path, &change.after).await?);
            after = if after == old {
                new
            } else if after == new {
                after
            } else {
                match (old, new, after) {
                    (Some(old), Some(new), Some(now)) => Some(merge(&old, &new, &now).map_err(|_| clash())?),
                    _ => return Err(clash()),
                }
            };
        }
        Ok(Way { before, after })
    }

    async fn image_text(&self, path: &str, image: &Image) -> Result<Option<String>, String> {
        match image {
            Image::Absent => Ok(None),
            Image::File { content, .. } => {
                let bytes = self.kept_bytes(*content).await.map_err(|why| format!("{path}: {why}"))?;
                let text =
                    String::from_utf8(bytes).map_err(|_| format!("{path} is no text in UTF-8; commit it by hand"));
                text.map(Some)
            }
            Image::Link { .. } | Image::Folder { .. } | Image::Unkept { .. } => {
                Err(format!("{path} is or was no plain file; commit it by hand"))
            }
        }
    }
}

fn disk_text(path: &Path) -> Result<Option<String>, String> {
    match crate::edge::survey::open::file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
        Ok(file) => {
            let mut text = String::new();
            let read = std::io::Read::read_to_string(&mut { file }, &mut text);
            read.map(|_| Some(text)).map_err(|error| format!("{}: {error}", path.display()))
        }
    }
}

/// Returns whether a file says what would be committed: all of it (`true`), or with other changes besides (`false`);
/// `None` when what would be committed is not there any more.
fn stands(way: &Way, disk: Option<&str>) -> Option<bool> {
    match (&way.before, &way.after, disk) {
        (_, None, None) => Some(true),
        (_, Some(after), Some(disk)) if after == disk => Some(true),
        (before, Some(after), Some(disk)) => {
            let merged = merge(before.as_deref().unwrap_or(""), after, disk).ok()?;
            (merged == disk).then_some(false)
        }
        (_, None, Some(_)) | (_, Some(_), None) => None,
    }
}

fn holds_secret(file: &CommitFile) -> bool {
    let old = file.before.as_deref().map(secret::scan).unwrap_or_default().len();
    file.after.as_deref().is_some_and(|after| secret::scan(after).len() > old)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_still_stands_in_the_file() {
        let way = |before: Option<&str>, after: Option<&str>| Way {
            before: before.map(str::to_string),
            after: after.map(str::to_string),
        };
        let text = "a\nb\nc\nd\ne\n";
        let mine = "a\nB\nc\nd\ne\n";
        for (way, disk, expected) in [
            (way(Some(text), Some(mine)), Some(mine), Some(true)),
            (way(Some(text), Some(mine)), Some("a\nB\nc\nd\nE\n"), Some(false)),
            (way(Some(text), Some(mine)), Some(text), None),
            (way(Some(text), Some(mine)), None, None),
            (way(Some(text), None), None, Some(true)),
            (way(Some(text), None), Some(text), None),
            (way(None, Some("new\n")), Some("new\n"), Some(true)),
        ] {
            assert_eq!(stands(&way, disk), expected);
        }
    }
}
