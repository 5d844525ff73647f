//! Carries out `git-commit`: the tree that the plan showed is made with plumbing alone, which runs no hook.
//!
//! The texts travel in files of their own below `.git`; an index of its own takes them, so that what the user staged stays.

use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::facts::CommitFact;
use crate::edge::actuator::{Actuators, Done, OWN};
use crate::edge::git::{GIT, author, quoted};
use crate::edge::sandbox::Ending;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

static SERIAL: AtomicU64 = AtomicU64::new(0);

/// A folder below `.git` that goes when it is dropped.
struct Aside(PathBuf);

impl Drop for Aside {
    fn drop(&mut self) {
        // One that is left over does no harm: git does not look there.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Actuators {
    pub(super) async fn commit(&self, cleared: &Cleared) -> Done {
        match self.committed(cleared).await {
            Ok(text) => Done::said(text, OWN),
            Err(why) => Done::failed(why),
        }
    }

    async fn committed(&self, cleared: &Cleared) -> Result<String, String> {
        let (scope, facts) = (cleared.scope(), cleared.facts());
        let commit = facts.commit.clone().ok_or("there is nothing to commit")?;
        let message = cleared.action().text("message").unwrap_or("").trim().to_string();
        let (project, home) = (PathBuf::from(&scope.project), PathBuf::from(&scope.home));
        let (told, texts) = (commit.clone(), message);
        let prepared = tokio::task::spawn_blocking(move || prepare(&project, &home, &told, &texts)).await;
        let (aside, script) = prepared.map_err(|_| "preparing the commit broke".to_string())??;
        let shell = self.engine.shell.as_ref().map_err(|why| format!("git cannot be confined here: {why}"))?;
        let report = shell.run_line(scope, &script).await.map_err(|why| format!("git was not run: {why}"))?;
        drop(aside);
        match report.ending {
            Ending::Exit(0) => {
                let id: String = report.stdout.text.trim().chars().take(12).collect();
                let left = match commit.left.len() {
                    0 => String::new(),
                    count => format!(" Left as it was: {}.", crate::domain::count::counted(count, "other change")),
                };
                let files: Vec<&str> = commit.files.iter().map(|file| file.path.as_str()).collect();
                Ok(format!("Committed {} as {id}.{left} “git reset --soft HEAD~1” takes it back.", files.join(", ")))
            }
            _ => Err(format!("git made no commit: {}", report.stderr.text.trim())),
        }
    }
}

/// Writes the texts aside and returns the script that commits them.
fn prepare(project: &Path, home: &Path, commit: &CommitFact, message: &str) -> Result<(Aside, String), String> {
    let name = format!("passepartout-{}-{}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
    let folder = project.join(".git").join(&name);
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir(&folder).map_err(failed)?;
    let aside = Aside(folder.clone());
    std::fs::write(folder.join("message"), format!("{message}\n")).map_err(failed)?;
    for (number, file) in commit.files.iter().enumerate() {
        if let Some(after) = &file.after {
            std::fs::write(folder.join(format!("f{number}")), after.as_bytes()).map_err(failed)?;
        }
    }
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let both = format!("{}\n{}", read(home.join(".gitconfig")), read(project.join(".git/config")));
    let (Some(name_of), Some(email)) = author(&both) else {
        return Err(
            "git does not know who you are: set user.name and user.email, in the repository or in ~/.gitconfig"
                .to_string(),
        );
    };
    let git = format!("{GIT} -c user.name={} -c user.email={}", quoted(&name_of), quoted(&email));
    Ok((aside, script(&git, &format!(".git/{name}"), commit)))
}

/// Returns the script: each of its programs is started once, however many files there are.
fn script(git: &str, aside: &str, commit: &CommitFact) -> String {
    let start = if commit.head.is_empty() { "--empty".to_string() } else { commit.head.clone() };
    let mut text = format!("set -euo pipefail\nexport GIT_INDEX_FILE=\"$PWD/{aside}/index\"\n");
    let mut add = |line: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
    };
    add(format!("{git} read-tree {start}"));
    // In the order of the texts, which is that of the files.
    let texts: Vec<String> = (0..commit.files.len())
        .filter(|number| commit.files.get(*number).is_some_and(|file| file.after.is_some()))
        .map(|number| format!("{aside}/f{number}"))
        .collect();
    if !texts.is_empty() {
        let hash = format!("{git} hash-object -w --no-filters -t blob --stdin-paths");
        // Not in a pipe of its own: what fails must end the script.
        add(format!("blobs=$(printf '%s\\n' {} | {hash})", texts.join(" ")));
        add(format!("mapfile -t blob <<<\"$blobs\"; [ \"${{#blob[@]}}\" = {} ]", texts.len()));
    }
    add("mode() { if [ -x \"$1\" ]; then printf 100755; else printf 100644; fi; }".to_string());
    add("entries() {".to_string());
    let mut number = 0;
    for file in &commit.files {
        let path = quoted(&file.path);
        match &file.after {
            Some(_) => {
                let seen = quoted(&format!("./{}", file.path));
                add(format!("printf '%s %s\\t%s\\0' \"$(mode {seen})\" \"${{blob[{number}]}}\" {path}"));
                number += 1;
            }
            None => add(format!("printf '0 {}\\t%s\\0' {path}", "0".repeat(commit.head.len().max(40)))),
        }
    }
    add("}".to_string());
    add(format!("entries | {git} update-index -z --index-info"));
    add(format!("tree=$({git} write-tree)"));
    let parent = if commit.head.is_empty() { String::new() } else { format!("-p {} ", commit.head) };
    add(format!("commit=$({git} commit-tree \"$tree\" {parent}-F {aside}/message)"));
    let old = if commit.head.is_empty() {
        "0000000000000000000000000000000000000000".to_string()
    } else {
        commit.head.clone()
    };
    add(format!("{git} update-ref -m 'commit by passepartout' {} \"$commit\" {old}", quoted(&commit.branch)));
    add("unset GIT_INDEX_FILE".to_string());
    add(format!("entries | {git} update-index -z --index-info"));
    add("echo \"$commit\"".to_string());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::gate::facts::CommitFile;

    #[test]
    fn however_many_files_there_are_git_is_started_as_often() {
        let commit = |count: usize| CommitFact {
            head: "a".repeat(40),
            branch: "refs/heads/main".into(),
            files: (0..count)
                .map(|number| CommitFile {
                    path: format!("f{number}.txt"),
                    before: Some("x".into()),
                    after: (number % 3 != 2).then(|| "y".into()),
                    diff: String::new(),
                })
                .collect(),
            left: Vec::new(),
        };
        let count = |count| script("GIT", ".git/aside", &commit(count)).matches("GIT ").count();
        assert_eq!((count(1), count(2), count(200)), (7, 7, 7));
    }
}
