//! Predicts a commit of what the agent changed in this conversation, and of nothing else.
//!
//! The agent's changes are put, one after the other, into what the last commit has of each file. What the user wrote in
//! the same files stays out. Where that cannot be told apart, nothing is committed.

use crate::domain::action::Action;
use crate::domain::gate::facts::{CommitFact, CommitFile, EditFact};
use crate::domain::gate::place;
use crate::domain::scope::Scope;
use crate::domain::undo::lines::merge;
use crate::domain::undo::{Change, FileChange, Image};
use crate::edge::engine::Engine;
use crate::edge::engine::changes::read_change;
use crate::edge::engine::planner::{fact, waiting_for};
use crate::edge::engine::record::kind;
use crate::edge::git::{GIT, quoted};
use crate::edge::survey::Predicted;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// How many of the newest changes are looked at for those of a conversation.
const MOST_CHANGES: usize = 1_000;
/// How many files one commit has at most.
const MOST_FILES: usize = 200;
/// How many other changes are named.
const MOST_NAMED: usize = 20;
/// What parts the two answers of git to one line.
const LISTED: &str = "listed";
/// How long the paths of one command line may be together, in bytes.
const LINE: usize = 60_000;
/// How many bytes of committed texts are asked for at once.
const BATCH: usize = 6 << 20;

/// A file that is to be committed: the text of the last commit, and what it becomes.
struct Way {
    before: Option<String>,
    after: Option<String>,
}

impl Engine {
    /// Predicts a commit.
    pub(super) fn plan_commit(&self, action: &Action, scope: &Scope) -> Predicted {
        match waiting_for(self.commit_of(action, scope)) {
            Ok(commit) => Predicted { commit: Some(commit), ..Predicted::default() },
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
        let mut left = Vec::new();
        let mut changed = self.changed_in(scope).await?;
        changed.retain(|path, _| match place::secret_name(&format!("/{path}")) {
            None => true,
            Some(_) => {
                left.push(format!("{path}: its name is that of a file with secrets"));
                false
            }
        });
        let paths: Vec<&str> = changed.keys().map(String::as_str).collect();
        let Status { branch, head, staged, changed: status, listed } = self.status(scope, &paths).await?;
        let mut texts = self.committed(scope, &listed).await?;
        let mut files = Vec::new();
        for (path, changes) in changed {
            let before = texts.remove(&path);
            let way = self.replayed(&path, before, &changes).await?;
            if way.before == way.after {
                continue;
            }
            if staged.contains(&path) {
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
        let others = status.iter().map(String::as_str);
        let others: Vec<&str> = others
            .filter(|name| !name.is_empty() && !files.iter().any(|file: &CommitFile| file.path == *name))
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

    /// Returns how the repository stands, and what its last commit has at these paths: with one start of a confined
    /// shell, unless the paths are very many.
    async fn status(&self, scope: &Scope, paths: &[&str]) -> Result<Status, String> {
        let mut batches = batches(paths, |path| path.len() + 20, LINE).into_iter();
        let first = self.git_text(scope, &status_line(batches.next().unwrap_or_default())).await?;
        let mut status = read_status(&first)?;
        for batch in batches {
            if status.head.is_empty() {
                break;
            }
            let more = self.git_text(scope, &listing(&status.head, batch)).await?;
            status.listed.extend(read_listing(&more)?);
        }
        Ok(status)
    }

    /// Returns the texts of committed files, by path: with one start of a confined shell, unless they are very large.
    async fn committed(&self, scope: &Scope, listed: &[Listed]) -> Result<BTreeMap<String, String>, String> {
        let mut texts = BTreeMap::new();
        for batch in batches(listed, |file| file.size + 100, BATCH) {
            let names: Vec<&str> = batch.iter().map(|file| file.object.as_str()).collect();
            let line = format!("printf '%s\\n' {} | {GIT} cat-file --batch", names.join(" "));
            let said = self.git_text(scope, &line).await.map_err(|why| match batch {
                [one] => format!("{}: {why}", one.path),
                _ => why,
            })?;
            let mut rest = said.as_str();
            for file in batch {
                let text =
                    next_text(&mut rest, file).ok_or_else(|| format!("{}: git said what is no text", file.path))?;
                texts.insert(file.path.clone(), text);
            }
        }
        Ok(texts)
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

/// How a repository stands.
#[derive(Debug, Default, PartialEq, Eq)]
struct Status {
    /// The full name of the branch that is checked out.
    branch: String,
    /// Its last commit; empty when it has none.
    head: String,
    /// What the index has otherwise than the last commit.
    staged: BTreeSet<String>,
    /// Everything that was changed or is not known to git, in git's order.
    changed: Vec<String>,
    /// What the last commit has at the paths that were asked for.
    listed: Vec<Listed>,
}

/// A plain file of a commit.
#[derive(Debug, PartialEq, Eq)]
struct Listed {
    path: String,
    object: String,
    /// In bytes.
    size: usize,
}

/// Cuts a list so that the weights of each part stay below a limit; what weighs more alone is a part of its own.
fn batches<T>(all: &[T], weight: impl Fn(&T) -> usize, most: usize) -> Vec<&[T]> {
    let (mut parts, mut begin, mut sum) = (Vec::new(), 0, 0usize);
    for (at, one) in all.iter().enumerate() {
        let heavy = weight(one);
        if at > begin && sum.saturating_add(heavy) > most {
            parts.extend(all.get(begin..at));
            (begin, sum) = (at, 0);
        }
        sum = sum.saturating_add(heavy);
    }
    parts.extend(all.get(begin..).filter(|rest| !rest.is_empty()));
    parts
}

/// Returns the line that asks how the repository stands and what its last commit has; what git says of the two is parted
/// by an empty record and this word.
fn status_line(paths: &[&str]) -> String {
    let status = format!("{GIT} status --porcelain=v2 --branch --no-renames --ignore-submodules=all -z");
    match paths {
        [] => status,
        // Without a commit there is nothing to list, and git fails; that is known from its status, and else an error.
        paths => format!("{status} && printf '\\0{LISTED}\\0' && {{ {} || printf failed; }}", listing("HEAD", paths)),
    }
}

fn listing(commit: &str, paths: &[&str]) -> String {
    let names: Vec<String> = paths.iter().map(|path| quoted(&format!(":(literal){path}"))).collect();
    format!("{GIT} ls-tree -l -z {commit} -- {}", names.join(" "))
}

/// Reads what [`status_line`] came to.
fn read_status(said: &str) -> Result<Status, String> {
    let odd = || "git said of the repository what is not understood".to_string();
    let parting = format!("\0\0{LISTED}\0");
    let (status, listed) = said.split_once(&parting).unwrap_or((said, ""));
    let mut read = Status::default();
    let (mut head, mut branch) = (None, None);
    for entry in status.split('\0').filter(|entry| !entry.is_empty()) {
        if let Some(about) = entry.strip_prefix("# ") {
            match about.split_once(' ') {
                Some(("branch.oid", oid)) => head = Some(oid),
                Some(("branch.head", name)) => branch = Some(name),
                Some(_) | None => {}
            }
            continue;
        }
        // How many fields stand before the path, which may hold anything.
        let fields = match entry.as_bytes().first() {
            Some(b'?' | b'!') => 1,
            Some(b'1') => 8,
            Some(b'u') => 10,
            Some(_) | None => return Err(odd()),
        };
        let path = entry.splitn(fields + 1, ' ').nth(fields).ok_or_else(odd)?;
        let index = entry.split(' ').nth(1).and_then(|both| both.bytes().next());
        if fields > 1 && index != Some(b'.') {
            read.staged.insert(path.to_string());
        }
        read.changed.push(path.to_string());
    }
    let none = || "no branch is checked out".to_string();
    read.branch = match branch {
        Some(name) if !name.starts_with('(') && !name.starts_with("refs/") => format!("refs/heads/{name}"),
        Some(_) => return Err(none()),
        None => return Err(odd()),
    };
    match head.ok_or_else(odd)? {
        "(initial)" => {}
        oid if oid.len() >= 40 && oid.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            read.head = oid.to_string();
            read.listed = read_listing(listed)?;
        }
        _ => return Err(odd()),
    }
    Ok(read)
}

/// Reads what git lists of a commit: `MODE TYPE OBJECT SIZE`, a tab, and the path.
fn read_listing(said: &str) -> Result<Vec<Listed>, String> {
    let mut files = Vec::new();
    for entry in said.split('\0').filter(|entry| !entry.is_empty()) {
        let (about, path) = entry.split_once('\t').ok_or("git listed what is not understood")?;
        let words: Vec<&str> = about.split_whitespace().collect();
        let plain = || format!("{path} is no plain file in the repository");
        let ["100644" | "100755", "blob", object, size] = words.as_slice() else { return Err(plain()) };
        let size = size.parse().map_err(|_| plain())?;
        if !object.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(plain());
        }
        files.push(Listed { path: path.to_string(), object: object.to_string(), size });
    }
    Ok(files)
}

/// Takes the next text from what `cat-file --batch` said: `OBJECT blob SIZE`, the text, and the end of a line.
fn next_text(rest: &mut &str, file: &Listed) -> Option<String> {
    let (about, after) = rest.split_once('\n')?;
    if about != format!("{} blob {}", file.object, file.size) {
        return None;
    }
    let text = after.get(..file.size)?;
    *rest = after.get(file.size..)?.strip_prefix('\n')?;
    Some(text.to_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_repository_stands_is_read_from_one_answer() {
        let oid = "a".repeat(40);
        let said = format!(
            "# branch.oid {oid}\0# branch.head main\0# branch.ab +1 -0\01 .M N... 100644 100644 100644 {oid} {oid} a b.txt\0\
             1 A. N... 000000 100644 100644 {oid} {oid} new\nline\0u UU N... 1 2 3 4 {oid} {oid} {oid} both\0? other/\0\0listed\0\
             100644 blob {oid}       3\ta b.txt\0100755 blob {oid}      12\tin\tit\0"
        );
        let status = read_status(&said).expect("it is read");
        assert_eq!((status.branch.as_str(), status.head.as_str()), ("refs/heads/main", oid.as_str()));
        assert_eq!(status.changed, ["a b.txt", "new\nline", "both", "other/"]);
        assert_eq!(status.staged.iter().collect::<Vec<_>>(), ["both", "new\nline"]);
        assert_eq!(
            status.listed.iter().map(|one| (one.path.as_str(), one.size)).collect::<Vec<_>>(),
            [("a b.txt", 3), ("in\tit", 12)]
        );
        let initial = read_status("# branch.oid (initial)\0# branch.head main\0? a\0\0listed\0").expect("it is read");
        assert_eq!((initial.head.as_str(), initial.listed.len()), ("", 0));
        for bad in [
            format!("# branch.oid {oid}\0# branch.head (detached)\0"),
            format!("# branch.oid {oid}\0# branch.head refs/else\0"),
            format!("# branch.oid {oid}\0"),
            "# branch.head main\0".to_string(),
            "# branch.oid HEAD;x\0# branch.head main\0".to_string(),
            format!("# branch.oid {oid}\0# branch.head main\02 R. odd\0"),
            format!("# branch.oid {oid}\0# branch.head main\01 .M short\0"),
            format!("# branch.oid {oid}\0# branch.head main\0\0listed\0120000 blob {oid} 3\tlink\0"),
            format!("# branch.oid {oid}\0# branch.head main\0\0listed\0160000 commit {oid} -\tsub\0"),
        ] {
            assert!(read_status(&bad).is_err(), "{bad:?}");
        }
        let (one, two) = (
            Listed { path: "a".into(), object: oid.clone(), size: 4 },
            Listed { path: "b".into(), object: "b".repeat(40), size: 0 },
        );
        let said = format!("{oid} blob 4\nä\n\n\n{} blob 0\n\n", "b".repeat(40));
        let mut rest = said.as_str();
        assert_eq!(next_text(&mut rest, &one).as_deref(), Some("ä\n\n"));
        assert_eq!(next_text(&mut rest, &two).as_deref(), Some(""));
        assert_eq!((rest, next_text(&mut rest, &two)), ("", None));
        assert_eq!(next_text(&mut said.replace("blob 4", "blob 3").as_str(), &one), None);
    }

    #[test]
    fn however_many_files_there_are_git_is_started_as_often() {
        let git = |line: &str| line.matches("git --no-pager").count();
        let many: Vec<String> = (0..200).map(|n| format!("src/module{n}/file with a long name {n}.rs")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!((git(&status_line(&["a"])), git(&status_line(&many))), (2, 2));
        assert_eq!(batches(&many, |path| path.len() + 20, LINE).len(), 1);
        for (weights, most, parts) in [
            (vec![], 10, vec![]),
            (vec![3, 3, 3], 10, vec![3]),
            (vec![30], 10, vec![1]),
            (vec![4, 30, 4, 4, 4], 10, vec![1, 1, 2, 1]),
        ] {
            let cut: Vec<usize> = batches(&weights, |weight| *weight, most).iter().map(|part| part.len()).collect();
            assert_eq!(cut, parts, "{weights:?}");
        }
    }

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
