//! Carries out `git-status`, `git-diff` and `git-log`: git itself, confined, with nothing that it could run switched on.
//!
//! The project is read-only for it. Names of secret files are left out before anything of their contents is asked for.

use crate::domain::action::Action;
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::place;
use crate::domain::label::{Labels, Privacy, Provenance, Trust};
use crate::domain::scope::Scope;
use crate::edge::actuator::{Actuators, Done};
use crate::edge::git::{GIT, quoted};
use crate::edge::sandbox::Ending;

/// How many changed files are shown.
const MOST_FILES: usize = 500;

impl Actuators {
    pub(super) async fn git(&self, cleared: &Cleared) -> Done {
        let (action, scope) = (cleared.action(), cleared.scope());
        let path = cleared.facts().paths.first().map(|path| path.resolved.as_str());
        let path = match path.map(|path| below(path, scope)).transpose() {
            Ok(path) => path.unwrap_or_else(|| ".".to_string()),
            Err(why) => return Done::failed(why),
        };
        let mut privacy = Privacy::Open;
        let said = match action.tool() {
            "git-status" => self.git_status(scope, &mut privacy).await,
            "git-log" => self.git_log(action, scope, &path, &mut privacy).await,
            _ => self.git_diff(action, scope, &path, &mut privacy).await,
        };
        match said {
            Ok(text) => {
                let labels = Labels { provenance: Provenance::Tool, trust: Trust::Kept, privacy };
                let (engine, scope, said) = (self.engine.clone(), scope.clone(), text.clone());
                let found = move || engine.outside_of_command(&scope, &said, privacy);
                match tokio::task::spawn_blocking(found).await {
                    Ok(outside) => Done::read(text, labels, outside),
                    // What is not known of it is the worst.
                    Err(_) => Done::said(text, Labels { trust: Trust::Untrusted, ..labels }),
                }
            }
            Err(why) => Done::failed(why),
        }
    }

    async fn git_status(&self, scope: &Scope, privacy: &mut Privacy) -> Result<String, String> {
        let line = format!("{GIT} status --porcelain=v1 --branch --no-renames --ignore-submodules=all -z");
        let out = self.run_git(scope, &line, privacy).await?;
        let shown = |entry: &&str| entry.starts_with("## ") || !is_secret(entry.get(3..).unwrap_or(entry));
        let lines: Vec<&str> = out.split('\0').filter(|entry| !entry.is_empty()).filter(shown).collect();
        let more = lines.len().saturating_sub(MOST_FILES);
        let mut text = lines.get(..lines.len().min(MOST_FILES)).unwrap_or_default().join("\n");
        match (lines.len(), more) {
            (0 | 1, _) => text.push_str("\nNothing has changed."),
            (_, 0) => {}
            (_, more) => text.push_str(&format!("\n{more} more are not shown.")),
        }
        Ok(text)
    }

    async fn git_log(
        &self,
        action: &Action,
        scope: &Scope,
        path: &str,
        privacy: &mut Privacy,
    ) -> Result<String, String> {
        let limit = action.args().get("limit").and_then(|limit| limit.as_u64()).unwrap_or(20).clamp(1, 200);
        let line = format!(
            "{GIT} log --max-count={limit} --no-show-signature --date=short --format='%h %ad %an: %s' -- {}",
            quoted(path)
        );
        let out = self.run_git(scope, &line, privacy).await?;
        Ok(if out.trim().is_empty() { "There is no commit.".to_string() } else { out })
    }

    async fn git_diff(
        &self,
        action: &Action,
        scope: &Scope,
        path: &str,
        privacy: &mut Privacy,
    ) -> Result<String, String> {
        let staged = action.args().get("staged").and_then(|staged| staged.as_bool()).unwrap_or(false);
        let since = action.text("since").map(str::trim).filter(|since| !since.is_empty());
        let against = match (staged, since) {
            (true, None) => "--cached".to_string(),
            (false, None) => String::new(),
            (false, Some(since)) => revision(since)?,
            (true, Some(_)) => return Err("say either “staged” or “since”".to_string()),
        };
        let plain = "diff --no-ext-diff --no-textconv --no-renames --no-relative --ignore-submodules=all";
        let names = format!("{GIT} {plain} --name-only -z {against} -- {}", quoted(path));
        let names = self.run_git(scope, &names, privacy).await?;
        let open: Vec<&str> = names.split('\0').filter(|name| !name.is_empty() && !is_secret(name)).collect();
        if open.is_empty() {
            return Ok("Nothing has changed there.".to_string());
        }
        // Names come from the top of the repository, wherever in it the project is.
        let shown = open.get(..open.len().min(MOST_FILES)).unwrap_or_default();
        let words: Vec<String> = shown.iter().map(|name| quoted(&format!(":(top,literal){name}"))).collect();
        let text = self.run_git(scope, &format!("{GIT} {plain} {against} -- {}", words.join(" ")), privacy).await?;
        Ok(match open.len() - shown.len() {
            0 => text,
            more => format!("{text}\n{more} more files are not shown; name a path."),
        })
    }

    async fn run_git(&self, scope: &Scope, line: &str, privacy: &mut Privacy) -> Result<String, String> {
        let shell = self.engine.shell.as_ref().map_err(|why| format!("git cannot be confined here: {why}"))?;
        let (report, notes) = shell.look(scope, line).await.map_err(|why| format!("git was not run: {why}"))?;
        *privacy = (*privacy).max(notes.shown);
        match report.ending {
            Ending::Exit(0) => Ok(report.stdout.text),
            _ if notes.hidden => {
                Err("private notes stand in this project, so its history is hidden from a model elsewhere".to_string())
            }
            _ => Err(format!("git could not say: {}", report.stderr.text.trim())),
        }
    }
}

/// Returns a path as git is told of it, relative to the project.
fn below(path: &str, scope: &Scope) -> Result<String, String> {
    let root = scope.project.trim_end_matches('/');
    match path.strip_prefix(root) {
        Some("") | Some("/") => Ok(".".to_string()),
        Some(rest) if rest.starts_with('/') => Ok(format!(":(literal){}", rest.trim_start_matches('/'))),
        Some(_) | None => Err(format!("{path} does not lie in the project {root}")),
    }
}

/// Returns a name of a commit that can be nothing but that.
fn revision(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '~' | '^' | '-' | '@');
    match text.chars().all(plain) && !text.starts_with('-') && text.len() <= 200 {
        // Not the name of a file's content, which may be that of a secret one.
        true => Ok(quoted(&format!("{text}^{{commit}}"))),
        false => Err(format!("“{text}” is no plain name of a commit, such as HEAD~2 or a branch")),
    }
}

fn is_secret(name: &str) -> bool {
    place::secret_name(&format!("/{name}")).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_named_plainly() {
        for (text, plain) in
            [("HEAD~2", true), ("v1.0^", true), ("main", true), ("--output=x", false), ("a b", false), ("$(x)", false)]
        {
            assert_eq!(revision(text).is_ok(), plain, "{text}");
        }
    }
}
