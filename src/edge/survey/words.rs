//! Gives the words of a parsed command the paths that they may mean.

use super::path::{expand_home, lexical, resolve};
use crate::domain::gate::facts::{ScriptFact, Word};
use crate::domain::gate::place;
use crate::domain::scope::Scope;
use std::path::{Path, PathBuf};

/// The most words of one command that are looked up; more make it unknown.
const MAX_LOOKUPS: usize = 600;
/// The most entries of a folder that a pattern is tried on.
const MAX_ENTRIES: usize = 4_096;

/// Resolves the words of a script. Relative names count in the project and in every folder that
/// the script changes to.
pub fn resolve_words(script: &mut ScriptFact, scope: &Scope, lookups: &mut usize) {
    let folders = folders(script, scope);
    let mut late = false;
    let words = script
        .commands
        .iter_mut()
        .flat_map(|command| command.assignments.iter_mut().map(|(_, word)| word).chain(command.words.iter_mut()));
    for word in words.chain(script.redirects.iter_mut().filter_map(|redirect| redirect.target.as_mut())) {
        late |= !resolve_word(word, &folders, scope, lookups);
    }
    if late {
        script.unknown.push("The command names more files than are looked up.".to_string());
    }
}

/// Returns the folders in which the script's relative names may count.
pub(super) fn folders(script: &ScriptFact, scope: &Scope) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from(&scope.project)];
    for command in &script.commands {
        let texts: Vec<&str> = command.words.iter().filter_map(|word| word.value.as_deref()).collect();
        let target = match texts.as_slice() {
            ["cd" | "pushd", rest @ ..] => rest.iter().find(|text| !text.starts_with('-')),
            ["git" | "make" | "tar" | "env", "-C", folder, ..] => Some(folder),
            _ => None,
        };
        if let Some(target) = target
            && folders.len() < 8
        {
            let from = folders.last().cloned().unwrap_or_default();
            folders.push(from.join(expand_home(target, scope)));
        }
    }
    folders
}

fn resolve_word(word: &mut Word, folders: &[PathBuf], scope: &Scope, lookups: &mut usize) -> bool {
    let Some(value) = word.value.clone() else { return true };
    let mut candidates: Vec<String> = vec![value.clone()];
    for mark in ['=', '@', ':'] {
        // `--file=x`, `if=x`, `-d @x`, `HEAD:x`
        candidates.extend(value.split_once(mark).map(|(_, rest)| rest.to_string()));
    }
    if value.starts_with('-') && !value.starts_with("--") {
        candidates.extend(value.get(2..).map(str::to_string));
    }
    candidates.retain(|text| may_be_path(text));
    candidates.dedup();
    for candidate in candidates {
        for folder in folders {
            *lookups += 1;
            if *lookups > MAX_LOOKUPS {
                return false;
            }
            let full = folder.join(expand_home(&candidate, scope));
            let found = resolve(&full).unwrap_or_else(|| lexical(&full));
            let found = found.to_string_lossy().into_owned();
            if !word.resolved.contains(&found) {
                word.resolved.push(found);
            }
            if full.is_absolute() && candidate.starts_with(['/', '~']) {
                break;
            }
        }
    }
    if word.glob {
        word.matched = matched(&value, folders, scope);
    }
    true
}

fn may_be_path(text: &str) -> bool {
    !text.is_empty() && text.len() < 4_096 && !text.contains('\n') && text != "-" && text != "--"
}

/// Returns the secret files that a pattern in the last part of a name matches.
fn matched(value: &str, folders: &[PathBuf], scope: &Scope) -> Vec<String> {
    let (folder, pattern) = value.rsplit_once('/').unwrap_or((".", value));
    if folder.contains(['*', '?', '[']) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for base in folders {
        let full = base.join(expand_home(if folder.is_empty() { "/" } else { folder }, scope));
        let Ok(entries) = std::fs::read_dir(Path::new(&full)) else { continue };
        for entry in entries.take(MAX_ENTRIES).flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let hidden = name.starts_with('.') && !pattern.starts_with('.');
            if hidden || !place::matches(pattern, &name) {
                continue;
            }
            let path = resolve(&entry.path()).unwrap_or_else(|| entry.path()).to_string_lossy().into_owned();
            if place::secret(&path, scope).is_some() && found.len() < 8 {
                found.push(path);
            }
        }
    }
    found
}
