//! Gives the words of a parsed command the paths that they may mean.

mod folders;
mod settings;

pub(super) use folders::Folders;

use super::path::{expand_home, lexical};
use super::roads::{Entry, MAX_ENTRIES, Roads};
use crate::domain::gate::facts::{CommandFact, ScriptFact, Word};
use crate::domain::gate::place::{self, Zone};
use crate::domain::scope::Scope;
use std::borrow::Cow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most words of one command that are looked up; more make it unknown.
const MAX_LOOKUPS: usize = 600;
/// How many names in a folder are compared with a pattern for the time of one lookup.
const NAMES_A_LOOKUP: usize = 64;

/// Resolves the words of a script. Relative names count in the project and in every folder in which their command may be.
pub fn resolve_words(roads: &Roads, script: &mut ScriptFact, scope: &Scope, lookups: &mut usize) {
    let folders = Folders::of(roads, script, scope);
    if folders.lost {
        script.unknown.push("Where it looks for files is known only at run time.".to_string());
    }
    let (mut late, mut dashed) = (false, false);
    let words = script.commands.iter_mut().flat_map(|command| {
        let CommandFact { assignments, words, pipeline, .. } = command;
        assignments.iter_mut().map(|(_, word)| word).chain(words).map(|word| (*pipeline, word))
    });
    let targets =
        script.redirects.iter_mut().filter_map(|redirect| Some((redirect.pipeline, redirect.target.as_mut()?)));
    for (pipeline, word) in words.chain(targets) {
        let here = folders.at(pipeline);
        late |= !resolve_word(roads, word, here, scope, lookups);
        dashed |= word.glob && matches_option(roads, word, here);
    }
    if dashed {
        script
            .unknown
            .push("A pattern may match a file whose name begins with a dash, which would be an option.".to_string());
    }
    script.unknown.extend(settings::carried_out(roads, script, &folders.all, scope, lookups));
    if late || *lookups > MAX_LOOKUPS {
        script.unknown.push("The command names more files than are looked up.".to_string());
    }
}

fn resolve_word(roads: &Roads, word: &mut Word, folders: &[PathBuf], scope: &Scope, lookups: &mut usize) -> bool {
    let Word { value: Some(value), resolved, glob, matched, wholes, private, .. } = word else { return true };
    if word.raw.starts_with("<(") {
        // No file, but the other end of a pipe.
        return true;
    }
    let mut candidates: Vec<&str> = Vec::with_capacity(5);
    candidates_of(value, &mut candidates);
    for candidate in candidates {
        let name = if candidate.starts_with('~') {
            Cow::Owned(expand_home(candidate, scope))
        } else {
            Cow::Borrowed(candidate)
        };
        for folder in folders {
            *lookups += 1;
            if *lookups > MAX_LOOKUPS {
                return false;
            }
            let found = roads.resolve_in(folder, &name).unwrap_or_else(|| lexical(&folder.join(&*name)));
            let found = found.to_string_lossy();
            if !resolved.iter().any(|known| *known == found) {
                resolved.push(found.into_owned());
            }
            if candidate.starts_with(['/', '~']) {
                break;
            }
        }
        if candidate == value.as_str() {
            *wholes = resolved.len();
        }
    }
    private.extend(resolved.iter().filter(|path| is_private(path, scope)).cloned());
    if *glob {
        *matched = matching(roads, value, folders, scope, lookups);
    }
    *lookups <= MAX_LOOKUPS
}

/// Returns whether a file of the project lies as keys lie in a home, and others may not read it.
fn is_private(path: &str, scope: &Scope) -> bool {
    let kept = || {
        let metadata = std::fs::symlink_metadata(Path::new(path)).ok().filter(std::fs::Metadata::is_file);
        metadata.is_some_and(|metadata| metadata.mode() & 0o004 == 0)
    };
    let inside = || matches!(place::zone(path, scope), Zone::Project | Zone::Memex);
    path.contains("/.") && inside() && place::lies_as_in_a_home(path) && kept()
}

/// Gathers what in a word may be a path: all of it, and what stands behind a sign or an option's letter.
fn candidates_of<'a>(value: &'a str, candidates: &mut Vec<&'a str>) {
    let behind = ['=', '@', ':'].map(|mark| {
        // `--file=x`, `if=x`, `-d @x`, `HEAD:x`
        value.split_once(mark).map(|(_, rest)| rest)
    });
    let option = value.get(2..).filter(|_| value.starts_with('-') && !value.starts_with("--"));
    // `-rf/etc/x`: of several letters the last takes the name.
    let bundled = option.and_then(|rest| rest.get(rest.find(['/', '.', '~'])?..)).filter(|rest| rest.len() > 1);
    for text in [Some(value)].into_iter().chain(behind).chain([option, bundled]).flatten() {
        if may_be_path(text) && !candidates.contains(&text) {
            candidates.push(text);
        }
    }
}

/// Returns whether a pattern matches a name that begins with a dash. Of a folder with more names than are listed that is
/// not known.
fn matches_option(roads: &Roads, word: &Word, folders: &[PathBuf]) -> bool {
    let Some(value) = word.value.as_deref().filter(|value| place::may_match_option(value)) else { return false };
    let first = value.split('/').next().unwrap_or(value);
    folders.iter().any(|folder| {
        let names = roads.names(folder);
        names.len() >= MAX_ENTRIES
            || names.iter().any(|Entry { name, .. }| {
                let name = name.to_string_lossy();
                name.starts_with('-') && (first.contains('(') || place::may_match(first, &name))
            })
    })
}

fn may_be_path(text: &str) -> bool {
    !text.is_empty() && text.len() < 4_096 && !text.contains('\n') && text != "-" && text != "--"
}

/// Returns the secret files that a pattern in the last part of a name matches.
fn matching(roads: &Roads, value: &str, folders: &[PathBuf], scope: &Scope, lookups: &mut usize) -> Vec<String> {
    let (folder, pattern) = value.rsplit_once('/').unwrap_or((".", value));
    if folder.contains(['*', '?', '[']) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for base in folders {
        if *lookups > MAX_LOOKUPS {
            break;
        }
        let full = base.join(expand_home(if folder.is_empty() { "/" } else { folder }, scope));
        let names = roads.names(&full);
        // Names in a folder are not asked the disk for one by one, but a large folder is not for nothing.
        *lookups += names.len() / NAMES_A_LOOKUP;
        let mut at: Option<PathBuf> = None;
        for Entry { name, plain } in names.iter() {
            let text = name.to_string_lossy();
            let hidden = text.starts_with('.') && !pattern.starts_with('.');
            if hidden || found.len() >= 8 || !place::may_match(pattern, &text) {
                continue;
            }
            // Of what is no link, only the folder must be followed, and that once.
            let folder = at.get_or_insert_with(|| roads.resolve(&full).unwrap_or_else(|| full.clone()));
            let entry = folder.join(name);
            let entry = if *plain { entry } else { roads.resolve(&entry).unwrap_or(entry) };
            let path = entry.to_string_lossy().into_owned();
            if place::secret(&path, scope).is_some() || is_private(&path, scope) {
                found.push(path);
            }
        }
    }
    found
}
