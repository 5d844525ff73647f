//! Reads what was written into a layer over a project: the upper folder of an overlay file system.
//!
//! The kernel copies a file there when it is first written to, and leaves marks of what was removed: a character device
//! of number 0 in the place of a file or folder, and an attribute of a folder that was made anew where one had been
//! (the kernel's `Documentation/filesystems/overlayfs.rst`).

use crate::edge::actuator::rehearse::{Budget, Change};
use crate::edge::sandbox::SandboxError;
use crate::edge::survey::open;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The folder of what was written.
pub(super) const WRITTEN: &str = "up";
/// A folder that the kernel needs.
pub(super) const WORK: &str = "work";
/// The attribute of a folder that hides what stood in its place, where users make layers.
const OPAQUE: &str = "user.overlay.opaque";

/// What was found: where a file stands in the project, and where it stands as it was left.
type Found = BTreeMap<PathBuf, Option<PathBuf>>;

/// Returns the files of a project that are not as they were for who looks through the layer, without those of git, in the
/// order of their names. Blocks.
///
/// # Errors
/// When not all of it can be looked at, and where it would change what is no file: then nothing can be promised.
pub(super) fn changes(written: &Path, project: &Path, budget: &mut Budget) -> Result<Vec<Change>, SandboxError> {
    let mut found = Found::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in inside(&written.join(&folder))? {
            budget.entry()?;
            let name = folder.join(&entry);
            let (real, now) = (project.join(&name), written.join(&name));
            if entry == ".git" {
                continue;
            }
            let about = now.symlink_metadata().map_err(|_| unseen(&now))?;
            if about.is_dir() {
                if stands(&real).is_some_and(|then| then.is_dir() && then.mode() != about.mode()) {
                    return Err(SandboxError::Policy(format!("it would change who may use {}", real.display())));
                }
                if opaque(&now) {
                    removed(&real, &now, &mut found, budget)?;
                }
                folders.push(name);
            } else if about.file_type().is_char_device() && about.rdev() == 0 {
                removed(&real, &now, &mut found, budget)?;
            } else if !same(&real, &now, &about, budget)? {
                // A file in the place of a folder takes away what stood in it.
                removed(&real, &now, &mut found, budget)?;
                found.insert(real, Some(now));
            }
        }
    }
    Ok(found.into_iter().map(|(real, now)| Change { real, now }).collect())
}

/// Lists what stands at a place of the project and below it and is not in the layer any more.
fn removed(real: &Path, now: &Path, found: &mut Found, budget: &mut Budget) -> Result<(), SandboxError> {
    let mut places = vec![(real.to_path_buf(), now.to_path_buf())];
    while let Some((real, now)) = places.pop() {
        budget.entry()?;
        let Some(about) = stands(&real) else { continue };
        if about.is_dir() {
            let names = inside(&real)?.into_iter().filter(|name| name != ".git");
            places.extend(names.map(|name| (real.join(&name), now.join(&name))));
        } else if now.symlink_metadata().map_or(true, |left| left.is_dir() || left.file_type().is_char_device()) {
            found.entry(real).or_insert(None);
        }
    }
    Ok(())
}

/// Returns what stands at a place of the project; a link on the way leads out of it, and then nothing stands there.
fn stands(real: &Path) -> Option<Metadata> {
    open::folder(real.parent()?).ok()?;
    real.symlink_metadata().ok()
}

/// Returns the names in a folder.
fn inside(folder: &Path) -> Result<Vec<std::ffi::OsString>, SandboxError> {
    let names = std::fs::read_dir(folder).and_then(|names| names.map(|entry| Ok(entry?.file_name())).collect());
    names.map_err(|_| unseen(folder))
}

fn unseen(place: &Path) -> SandboxError {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    SandboxError::Policy(format!("it left “{name}” where nobody can look into it"))
}

fn opaque(folder: &Path) -> bool {
    let mut value = [0u8; 8];
    rustix::fs::lgetxattr(folder, OPAQUE, &mut value).is_ok_and(|length| value.get(..length) == Some(b"y"))
}

/// Returns whether a file was only touched: what is opened for writing is in the layer, whatever was written.
fn same(real: &Path, now: &Path, about: &Metadata, budget: &mut Budget) -> Result<bool, SandboxError> {
    let Some(then) = stands(real) else { return Ok(false) };
    if then.file_type() != about.file_type() || then.mode() != about.mode() {
        return Ok(false);
    }
    if about.is_symlink() {
        return Ok(std::fs::read_link(real).ok() == std::fs::read_link(now).ok());
    }
    // What there is too much of to be compared counts as changed.
    if !about.is_file() || then.len() != about.len() || !budget.bytes(about.len())? {
        return Ok(false);
    }
    Ok(same_bytes(real, now))
}

fn same_bytes(one: &Path, other: &Path) -> bool {
    let (Ok(one), Ok(other)) = (open::file(one), open::file(other)) else { return false };
    let (mut one, mut other) = (std::io::BufReader::new(one).bytes(), std::io::BufReader::new(other).bytes());
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(Ok(left)), Some(Ok(right))) if left == right => {}
            (Some(_), _) | (None, Some(_)) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_told_from_what_was_touched() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("it is there");
        let (project, up) = (base.join("p"), base.join("up"));
        let write = |path: PathBuf, text: &str| {
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("it is made");
            std::fs::write(path, text).expect("it is written");
        };
        for (name, text) in
            [("same", "1"), ("changed", "1"), ("kept", "1"), ("dir/a", "1"), ("dir/b", "1"), (".git/x", "1")]
        {
            write(project.join(name), text);
        }
        for (name, text) in [("same", "1"), ("changed", "2"), ("new/deep", "3"), ("dir", "now a file"), (".git/x", "2")]
        {
            write(up.join(name), text);
        }
        let found = changes(&up, &project, &mut Budget::default()).expect("they are few");
        let names: Vec<_> = found
            .iter()
            .map(|change| {
                (change.real.strip_prefix(&project).expect("in it").display().to_string(), change.now.is_some())
            })
            .collect();
        let expected = [("changed", true), ("dir", true), ("dir/a", false), ("dir/b", false), ("new/deep", true)];
        assert_eq!(names, expected.map(|(name, there)| (name.to_string(), there)));
    }
    #[test]
    fn nothing_is_read_through_a_link_of_the_project_and_what_cannot_be_seen_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("it is there");
        let (project, up, home) = (base.join("p"), base.join("up"), base.join("home"));
        for folder in [&project, &up.join("a"), &home] {
            std::fs::create_dir_all(folder).expect("it is made");
        }
        std::fs::write(home.join("key"), "mine").expect("it is written");
        std::os::unix::fs::symlink(&home, project.join("a")).expect("a link");
        std::fs::write(up.join("a/key"), "theirs").expect("it is written");
        let found = changes(&up, &project, &mut Budget::default()).expect("they are few");
        assert_eq!(found, [Change { real: project.join("a/key"), now: Some(up.join("a/key")) }]);
        assert!(stands(&project.join("a/key")).is_none(), "it stands in a home, and not in the project");
        // Of a folder whose rights changed nobody knows what becomes.
        std::fs::create_dir_all(project.join("src")).expect("it is made");
        std::fs::create_dir_all(up.join("src")).expect("it is made");
        let rights = std::os::unix::fs::PermissionsExt::from_mode(0o500);
        std::fs::set_permissions(up.join("src"), rights).expect("it is ours");
        let why = changes(&up, &project, &mut Budget::default()).expect_err("it cannot be promised");
        assert!(why.to_string().contains("who may use"), "{why}");
        std::fs::remove_dir(up.join("src")).expect("it is empty");
        let mut small = Budget::default();
        small.entries = 1;
        assert!(changes(&up, &project, &mut small).is_err());
    }
}
