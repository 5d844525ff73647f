//! Reads what was written into a layer over a project: the upper folder of an overlay file system.
//!
//! The kernel copies a file there when it is first written to, and leaves marks of what was removed: a character device
//! of number 0 in the place of a file or folder, and an attribute of a folder that was made anew where one had been
//! (the kernel's `Documentation/filesystems/overlayfs.rst`).

use crate::edge::actuator::rehearse::Change;
use crate::edge::sandbox::SandboxError;
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
/// Most files that are listed.
const MOST: usize = 100_000;
/// Largest files that are compared byte by byte; larger ones that were written to count as changed.
const COMPARED: u64 = 100 << 20;

/// Returns the files of a project that are not as they were for who looks through the layer, without those of git, in the
/// order of their names. Blocks.
///
/// # Errors
/// When there are too many.
pub(super) fn changes(written: &Path, project: &Path) -> Result<Vec<Change>, SandboxError> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(written.join(&folder)).into_iter().flatten().flatten() {
            let (name, now) = (folder.join(entry.file_name()), entry.path());
            let Ok(about) = entry.metadata() else { continue };
            if entry.file_name() == ".git" {
                continue;
            }
            let real = project.join(&name);
            if about.is_dir() {
                if opaque(&now) {
                    removed(&real, &now, &mut found)?;
                }
                folders.push(name);
            } else if about.file_type().is_char_device() && about.rdev() == 0 {
                removed(&real, &now, &mut found)?;
            } else if !same(&real, &now, &about) {
                // A file in the place of a folder takes away what stood in it.
                removed(&real, &now, &mut found)?;
                found.retain(|change| change.real != real);
                found.push(Change { real, now: Some(now) });
            }
            bounded(&found)?;
        }
    }
    found.sort_by(|one, other| one.real.cmp(&other.real));
    found.dedup();
    Ok(found)
}

/// Lists what stands at a place of the project and below it and is not in the layer any more.
fn removed(real: &Path, now: &Path, found: &mut Vec<Change>) -> Result<(), SandboxError> {
    let mut places = vec![(real.to_path_buf(), now.to_path_buf())];
    while let Some((real, now)) = places.pop() {
        let Ok(about) = real.symlink_metadata() else { continue };
        if about.is_dir() {
            let inside = std::fs::read_dir(&real).into_iter().flatten().flatten().map(|entry| entry.file_name());
            places.extend(inside.filter(|name| name != ".git").map(|name| (real.join(&name), now.join(&name))));
        } else if now.symlink_metadata().map_or(true, |left| left.is_dir() || left.file_type().is_char_device()) {
            found.push(Change { real, now: None });
        }
        bounded(found)?;
    }
    Ok(())
}

fn bounded(found: &[Change]) -> Result<(), SandboxError> {
    match found.len() > MOST {
        true => Err(SandboxError::Policy(format!("it would change more than {MOST} files"))),
        false => Ok(()),
    }
}

fn opaque(folder: &Path) -> bool {
    let mut value = [0u8; 8];
    rustix::fs::lgetxattr(folder, OPAQUE, &mut value).is_ok_and(|length| value.get(..length) == Some(b"y"))
}

/// Returns whether a file was only touched: what is opened for writing is in the layer, whatever was written.
fn same(real: &Path, now: &Path, about: &Metadata) -> bool {
    let Ok(then) = real.symlink_metadata() else { return false };
    if then.file_type() != about.file_type() || then.mode() != about.mode() {
        return false;
    }
    if about.is_symlink() {
        return std::fs::read_link(real).ok() == std::fs::read_link(now).ok();
    }
    about.is_file() && then.len() == about.len() && about.len() <= COMPARED && same_bytes(real, now)
}

fn same_bytes(one: &Path, other: &Path) -> bool {
    let (Ok(one), Ok(other)) = (std::fs::File::open(one), std::fs::File::open(other)) else { return false };
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
        let (project, up) = (folder.path().join("p"), folder.path().join("up"));
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
        let found = changes(&up, &project).expect("they are few");
        let names: Vec<_> = found
            .iter()
            .map(|change| {
                (change.real.strip_prefix(&project).expect("in it").display().to_string(), change.now.is_some())
            })
            .collect();
        let expected = [("changed", true), ("dir", true), ("dir/a", false), ("dir/b", false), ("new/deep", true)];
        assert_eq!(names, expected.map(|(name, there)| (name.to_string(), there)));
    }
}
