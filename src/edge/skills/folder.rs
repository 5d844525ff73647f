//! Skills of the common format: folders with a `SKILL.md`. They hold no rules, and always come from outside.

use super::package::Package;
use super::{Found, Ground, Loaded, MAX_FILES, SkillReport, SkillState, Whose, renamed, same, told};
use crate::domain::skill::handbook::{self, Handbook};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How many entries of a folder are looked at.
const MAX_ENTRIES: usize = 100_000;

/// A skill of the common format that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// What it says.
    pub handbook: Handbook,
    /// Its files, without their texts.
    pub package: Package,
}

/// Reads a folder of the common format. It holds no rules, and always comes from outside.
pub(super) fn install(folder: PathBuf, ground: &Ground<'_>, found: &[Found], loaded: &mut Loaded) {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if loaded.is_noted(&folder) || loaded.installed.iter().any(|other| same(&other.package.path, &folder)) {
        return;
    }
    let begin = Instant::now();
    let (package, handbook) = match open(&folder) {
        Ok(read) => read,
        Err(why) => return loaded.keep_out(&name, (Some(folder), Whose::Outside), why, false),
    };
    if let Some(why) = renamed(&folder) {
        return loaded.keep_out(&name, (Some(folder), Whose::Outside), why, false);
    }
    let taken = found.iter().find(|found| found.skill.name == name).map(|found| found.file.clone());
    let installed = loaded.installed.iter().find(|other| other.handbook.name == name);
    if let Some(first) = taken.or_else(|| installed.map(|other| Some(other.package.path.clone()))) {
        let first = first.map_or_else(|| "the program".to_string(), |first| first.display().to_string());
        let why = format!("a skill of this name is already loaded from {first}; rename one of them");
        return loaded.keep_out(&name, (Some(folder), Whose::Outside), why, false);
    }
    let off = package.off(false);
    if (ground.confirmed)(&off) {
        return loaded.note(&name, (&folder, Whose::Outside), SkillState::Off(off));
    }
    if !(ground.confirmed)(&package.loosening()) {
        return loaded.note(&name, (&folder, Whose::Outside), SkillState::Waiting(package.loosening()));
    }
    let remarks = told(&handbook.remarks);
    loaded.reports.push(SkillReport {
        name,
        file: Some(folder),
        whose: Whose::Outside,
        state: SkillState::Loaded,
        remarks,
        took: begin.elapsed(),
    });
    loaded.installed.push(Installed { handbook, package: package.without_texts() });
}

/// Reads all files of a folder of the common format, and what its `SKILL.md` says.
///
/// # Errors
/// In words, with the file and its line.
pub fn open(folder: &Path) -> Result<(Package, Handbook), String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let package = Package::read(folder, &name)?;
    let file = package.file(handbook::FILE).ok_or_else(|| format!("it has no {}", handbook::FILE))?;
    let text = file.text.as_ref().ok_or_else(|| format!("{} is no text, or has more than 96 kB", handbook::FILE))?;
    let read = handbook::read(&name, text).map_err(|why| format!("{}: {why}", handbook::FILE))?;
    Ok((package, read))
}

/// Returns the folders of the common format: a folder itself, or those in it.
pub(super) fn handbooks(folder: &Path, loaded: &mut Loaded) -> Vec<PathBuf> {
    let is_one = |folder: &Path| fs::symlink_metadata(folder.join(handbook::FILE)).is_ok();
    if is_one(folder) {
        return vec![folder.to_path_buf()];
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.take(MAX_ENTRIES).map(|entry| entry.path()).filter(|path| is_one(path)).collect();
    found.sort();
    if found.len() > MAX_FILES {
        let why =
            format!("it holds {} folders with a {}, and the first {MAX_FILES} are read", found.len(), handbook::FILE);
        loaded.keep_out(&name_of(folder), (Some(folder.to_path_buf()), Whose::Outside), why, false);
        found.truncate(MAX_FILES);
    }
    found
}

/// Returns the last part of a path.
fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
