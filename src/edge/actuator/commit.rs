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

fn script(git: &str, aside: &str, commit: &CommitFact) -> String {
    let mut text = format!("set -eu\nexport GIT_INDEX_FILE=\"$PWD/{aside}/index\"\n");
    let start = if commit.head.is_empty() { "--empty".to_string() } else { commit.head.clone() };
    let mut add = |line: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
    };
    add(format!("{git} read-tree {start}"));
    let update = |file: &crate::domain::gate::facts::CommitFile, number: usize| match &file.after {
        Some(_) => {
            format!("{git} update-index --add --cacheinfo \"$mode{number},$blob{number},\"{}", quoted(&file.path))
        }
        None => format!("{git} update-index --force-remove -- {}", quoted(&file.path)),
    };
    for (number, file) in commit.files.iter().enumerate() {
        if file.after.is_some() {
            let executable = format!(
                "if [ -x {} ]; then mode{number}=100755; else mode{number}=100644; fi",
                quoted(&format!("./{}", file.path))
            );
            add(executable);
            add(format!("blob{number}=$({git} hash-object -w --no-filters -t blob {aside}/f{number})"));
        }
        add(update(file, number));
    }
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
    for (number, file) in commit.files.iter().enumerate() {
        add(update(file, number));
    }
    add("echo \"$commit\"".to_string());
    text
}
