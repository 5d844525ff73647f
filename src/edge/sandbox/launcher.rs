//! Finds the launcher, and makes sure before each start that it is still the one that was found.

use crate::edge::sandbox::SandboxError;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NAME: &str = "passepartout-run";

/// The launcher as it was when it was found.
#[derive(Clone, Debug)]
pub struct Launcher {
    path: PathBuf,
    /// Held open, so that what is checked is what is started, whatever is put at the path.
    file: Arc<File>,
    hash: blake3::Hash,
}

impl Launcher {
    /// Finds the launcher beside the file that this code was loaded from: the module inside Emacs, the
    /// program elsewhere. A module `passepartout-module-TAG.so` has its launcher at `passepartout-run-TAG`.
    pub fn find() -> Result<Launcher, SandboxError> {
        let own = own_file().ok_or_else(|| SandboxError::NoLauncher("this program".to_string()))?;
        let found = candidates(&own).into_iter().find(|path| path.is_file());
        Launcher::at(&found.ok_or_else(|| SandboxError::NoLauncher(own.display().to_string()))?)
    }

    /// Takes the launcher at a path and records its BLAKE3.
    pub fn at(path: &Path) -> Result<Launcher, SandboxError> {
        let missing = |_| SandboxError::NoLauncher(path.display().to_string());
        let file = Arc::new(File::open(path).map_err(missing)?);
        let hash = hash(&file)?;
        Ok(Launcher { path: path.to_path_buf(), file, hash })
    }

    /// Returns where it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its BLAKE3 in hexadecimal.
    pub fn hash(&self) -> String {
        self.hash.to_hex().to_string()
    }

    /// Returns a path that starts exactly the file that was found, after checking that its bytes are the same.
    pub(super) fn checked(&self) -> Result<PathBuf, SandboxError> {
        if hash(&self.file)? != self.hash {
            return Err(SandboxError::Changed(self.path.display().to_string()));
        }
        let open = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        // Without /proc there is only the name.
        Ok(if open.exists() { open } else { self.path.clone() })
    }
}

fn hash(file: &File) -> Result<blake3::Hash, std::io::Error> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 128 * 1024];
    let mut at = 0;
    loop {
        match file.read_at(&mut buffer, at)? {
            0 => return Ok(hasher.finalize()),
            n => {
                hasher.update(buffer.get(..n).unwrap_or_default());
                at += n as u64;
            }
        }
    }
}

/// Returns the file that this function was loaded from.
fn own_file() -> Option<PathBuf> {
    let address = own_file as *const () as usize;
    let mapped = std::fs::read_to_string("/proc/self/maps").ok().and_then(|maps| mapped_file(&maps, address));
    mapped.or_else(|| std::env::current_exe().ok())
}

/// Reads from `/proc/PID/maps` which file is mapped at an address.
fn mapped_file(maps: &str, address: usize) -> Option<PathBuf> {
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let inside = (usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?).contains(&address);
        let path = rest.find('/').and_then(|at| rest.get(at..))?;
        inside.then(|| PathBuf::from(path))
    })
}

/// Returns where the launcher may stand, best first.
fn candidates(own: &Path) -> Vec<PathBuf> {
    let Some(folder) = own.parent() else { return Vec::new() };
    let tag = own.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.rsplit_once('-')).map(|(_, tag)| tag);
    let mut found: Vec<PathBuf> = tag.map(|tag| folder.join(format!("{NAME}-{tag}"))).into_iter().collect();
    found.push(folder.join(NAME));
    // Cargo puts the binaries of tests one folder below those of programs.
    if folder.file_name().is_some_and(|name| name == "deps") {
        found.extend(folder.parent().map(|above| above.join(NAME)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_lies_beside_the_module() {
        let named =
            |own: &str| candidates(Path::new(own)).iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        assert_eq!(named("/b/passepartout-module-0f.so"), ["/b/passepartout-run-0f", "/b/passepartout-run"]);
        assert_eq!(named("/b/passepartout"), ["/b/passepartout-run"]);
        assert_eq!(
            named("/t/deps/rust-1"),
            ["/t/deps/passepartout-run-1", "/t/deps/passepartout-run", "/t/passepartout-run"]
        );
    }

    #[test]
    fn the_own_file_is_found_in_the_maps() {
        let maps =
            "1000-2000 r--p 0 00:00 0 \n2000-3000 r-xp 0 fe:00 9    /a b/m.so\n3000-4000 rw-p 0 00:00 0 [heap]\n";
        assert_eq!(mapped_file(maps, 0x2fff), Some(PathBuf::from("/a b/m.so")));
        assert_eq!(mapped_file(maps, 0x3000), None);
        assert_eq!(
            own_file().and_then(|path| path.canonicalize().ok()),
            std::env::current_exe().ok().and_then(|path| path.canonicalize().ok())
        );
    }
}
