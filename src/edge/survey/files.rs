//! Binds the files of the project that a command names, or finds by itself, to what is judged and shown.
//!
//! What a script says decides what a command does. So its bytes belong to the facts, and its text to the plan.

use super::open::{self, identity};
use super::path::MAX_HASHED;
use super::roads::Roads;
use super::words::Folders;
use crate::domain::gate::facts::{FileFact, ScriptFact};
use crate::domain::gate::place::{self, Zone};
use crate::domain::gate::shell::runs;
use crate::domain::scope::Scope;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

/// The most files of one command that are bound.
const MAX_FILES: usize = 256;
/// The most bytes of one command's files that are hashed. What comes after them is bound by number, size and time.
const MAX_TOTAL: u64 = 64 * 1024 * 1024;
/// The longest script that is shown, in bytes.
const MAX_SHOWN: u64 = 16 * 1024;
/// The most bytes of scripts that are shown.
const MAX_ALL_SHOWN: u64 = 128 * 1024;

/// Returns the regular files of the project that scripts name or find; `None` when they are too many to be bound.
pub fn bind(roads: &Roads, scripts: &[ScriptFact], scope: &Scope) -> Option<Vec<FileFact>> {
    let (mut hashed, mut shown) = (MAX_TOTAL, MAX_ALL_SHOWN);
    let mut files = Vec::new();
    for (path, runs) in named(roads, scripts, scope) {
        let Some(file) = look(&path, runs, scope, &mut hashed, &mut shown) else { continue };
        if files.len() == MAX_FILES {
            return None;
        }
        files.push(file);
    }
    Some(files)
}

/// Returns the paths of the project that scripts name, and whether what stands there is carried out.
fn named(roads: &Roads, scripts: &[ScriptFact], scope: &Scope) -> BTreeMap<String, bool> {
    let bound = |path: &str| place::zone(path, scope) == Zone::Project && !roads.is_missing(path);
    let mut paths: BTreeMap<String, bool> = BTreeMap::new();
    for script in scripts {
        for path in script.words().flat_map(|word| &word.resolved).filter(|path| bound(path)) {
            paths.entry(path.clone()).or_default();
        }
        let (mut carried, mut sought) = (BTreeSet::new(), BTreeSet::new());
        for command in &script.commands {
            let runs = runs(command);
            carried.extend(runs.words.into_iter().flat_map(|word| &word.resolved));
            sought.extend(runs.found);
        }
        paths.extend(carried.into_iter().filter(|path| bound(path)).map(|path| (path.clone(), true)));
        if !sought.is_empty() {
            let all = Folders::of(roads, script, scope).all;
            let found = all.iter().flat_map(|folder| sought.iter().filter_map(|name| roads.resolve_in(folder, name)));
            let found = found.map(|path| path.to_string_lossy().into_owned());
            paths.extend(found.filter(|path| bound(path)).map(|path| (path, true)));
        }
    }
    paths
}

fn look(path: &str, runs: bool, scope: &Scope, hashed: &mut u64, shown: &mut u64) -> Option<FileFact> {
    let metadata = std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let mut fact = FileFact {
        path: path.to_string(),
        size: metadata.len(),
        identity: identity(&metadata),
        content: None,
        runs,
        text: None,
    };
    if fact.size > MAX_HASHED.min(*hashed) {
        return Some(fact);
    }
    *hashed -= fact.size;
    let Ok(file) = open::file(Path::new(path)) else { return Some(fact) };
    let same = file.metadata().is_ok_and(|now| now.is_file() && identity(&now) == fact.identity);
    let mut bytes = Vec::new();
    if !same || file.take(fact.size.saturating_add(1)).read_to_end(&mut bytes).is_err() {
        return Some(fact);
    }
    fact.content = Some(*blake3::hash(&bytes).as_bytes());
    // A plan is kept with its text: nothing that is secret or may be private goes into it.
    let open = place::secret(path, scope).is_none() && !place::holds_notes(path);
    if runs && open && fact.size <= MAX_SHOWN.min(*shown) {
        *shown -= fact.size;
        fact.text = String::from_utf8(bytes).ok().map(Into::into);
    }
    Some(fact)
}
