//! A file of the user's alone, put whole or not at all in the place of another.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Writes a small file whole or not at all; nobody else can read it, whatever lay there before.
///
/// # Errors
/// What the system says, and when a link lies in its place: it would be lost, or led to a file that others read.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = folder_of(path);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    put(path, text, File::sync_all)?;
    File::open(folder)?.sync_all()
}

/// Does the same in a folder that is there, and does not wait for the disk: it outlives this process, and not a cut of the
/// power.
///
/// # Errors
/// As [`replace`], and when there is no such folder.
pub fn replace_soon(path: &Path, text: &str) -> io::Result<()> {
    put(path, text, |_| Ok(()))
}

/// Removes a file that may be there.
///
/// # Errors
/// What the system says.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn put(path: &Path, text: &str, settle: fn(&File) -> io::Result<()>) -> io::Result<()> {
    let folder = folder_of(path);
    if let Ok(to) = fs::read_link(path) {
        let to = to.display();
        let text =
            format!("it is a link to {to} and stays as it is; write into that file yourself, or remove the link");
        return Err(io::Error::other(text));
    }
    let mut new = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_os_string();
    new.push(format!(".{}.new", std::process::id()));
    let new = folder.join(new);
    // What lies there of a process that was killed is neither written through nor taken over with its mode.
    remove(&new)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| settle(&file)).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // What could not be written whole is not left behind; it may hold keys.
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn nothing_that_lies_in_the_way_makes_a_file_readable_by_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(".env");
        let victim = folder.path().join("victim");
        fs::write(&victim, "theirs").expect("a file");
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o644)).expect("it is ours");
        for new in [".env.new".to_string(), format!(".env.{}.new", std::process::id())] {
            for linked in [false, true] {
                let stale = folder.path().join(&new);
                let _ = fs::remove_file(&stale);
                match linked {
                    true => symlink(&victim, &stale).expect("a link"),
                    false => drop(fs::copy(&victim, &stale).expect("a file of mode 0644")),
                }
                fs::write(&path, "old").expect("a file");
                fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
                replace(&path, "KEY=sk").expect("it is written");
                let about = fs::symlink_metadata(&path).expect("it is there");
                assert!(about.is_file() && about.permissions().mode() & 0o777 == 0o600, "{new} {linked}");
                assert_eq!(fs::read_to_string(&path).expect("it is there"), "KEY=sk");
                assert_eq!(fs::read_to_string(&victim).expect("it is there"), "theirs");
                let _ = fs::remove_file(&stale);
            }
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2, "nothing is left behind");
    }

    #[test]
    fn a_link_is_neither_followed_nor_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, victim) = (folder.path().join(".env"), folder.path().join("victim"));
        for there in [false, true] {
            if there {
                fs::write(&victim, "theirs").expect("a file");
            } else {
                symlink(&victim, &path).expect("a link");
            }
            let refused = replace(&path, "KEY=sk").expect_err("a link").to_string();
            assert!(refused.contains("it is a link to") && refused.contains("remove the link"), "{refused}");
            assert!(path.is_symlink());
        }
        assert_eq!(fs::read_to_string(&victim).expect("it is there"), "theirs");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2, "nothing is left behind");
    }
}
