//! Where the owner of a store listens, and how its socket comes and goes.
//!
//! Only who holds the store's lock binds the socket, so one that lies there before is of a process that has ended.

use crate::edge::peers::trust::own_user;
use crate::edge::store::{announce, owned_here, socket_of};
use std::fs;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::net::UnixListener;

/// The socket's name in the store's folder.
const NAME: &str = "socket";
/// A socket's path may be at most so many bytes; Linux has 107, others a little less.
const LONGEST: usize = 100;

/// A socket that listens; its file goes when this is dropped.
pub struct Listening {
    /// Takes connections.
    pub listener: UnixListener,
    guard: Guard,
}

/// The file of a socket, as long as it is the one that was made.
#[derive(Clone)]
pub struct Guard {
    path: PathBuf,
    made: (u64, u64),
}

impl Guard {
    /// Removes the file, unless another process has put its own in its place.
    pub fn remove(&self) {
        if identity(&self.path).is_ok_and(|now| now == self.made) {
            // A socket that stays is removed by the next owner.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Listening {
    /// Returns whether others still find the way here: the socket is the one that was made, and the store's lock names it.
    pub fn stands(&self, store: &Path) -> bool {
        let named = socket_of(store).is_some_and(|path| path == self.guard.path);
        named && identity(&self.guard.path).is_ok_and(|now| now == self.guard.made)
    }

    /// Returns what removes the socket's file.
    pub fn guard(&self) -> Guard {
        self.guard.clone()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.guard.remove();
    }
}

/// Listens for a store that this process owns, and writes into its lock where.
///
/// # Errors
/// In words, when no socket can be made: then nobody can join, and everything else goes on.
pub fn listen(store: &Path) -> Result<Listening, String> {
    let near = store.join(NAME);
    let bound = match fits(&near) {
        true => bind(&near).map_err(|error| format!("{}: {error}", near.display())),
        false => Err(format!("{}: the path is too long for a socket", near.display())),
    };
    // A folder on a file system without sockets, or a long name.
    let bound = bound.or_else(|why| {
        let far = elsewhere(store).map_err(|error| format!("{why}; {error}"))?;
        bind(&far).map_err(|error| format!("{why}; {}: {error}", far.display()))
    })?;
    announce(store, &bound.guard.path).map_err(|error| format!("the lock cannot name the socket: {error}"))?;
    Ok(bound)
}

/// Listens anew for a store whose socket was taken away, once this process has its lock again.
///
/// # Errors
/// As [`listen`], and while another process has the lock, or nobody.
pub fn listen_again(store: &Path) -> Result<Listening, String> {
    match owned_here(store) {
        true => listen(store),
        false => Err("the store's lock is not held by this process".to_string()),
    }
}

/// Returns where the owner of a store listens, as its lock says; where the lock says nothing, where it would.
pub fn of_owner(store: &Path) -> PathBuf {
    socket_of(store).unwrap_or_else(|| store.join(NAME))
}

fn fits(path: &Path) -> bool {
    path.as_os_str().len() <= LONGEST
}

/// Returns a path for the socket outside the store: in the user's runtime folder, or in one of the user's own in `/tmp`.
fn elsewhere(store: &Path) -> Result<PathBuf, String> {
    let name = blake3::hash(store.as_os_str().as_encoded_bytes()).to_hex();
    let name = format!("{}.socket", name.get(..16).unwrap_or("store"));
    let user = own_user();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folders = runtime.map(|folder| folder.join("passepartout")).into_iter();
    let folders = folders.chain([PathBuf::from(format!("/tmp/passepartout-{user}"))]);
    let mut whys = Vec::new();
    for folder in folders {
        match private(&folder, user) {
            Ok(()) if fits(&folder.join(&name)) => return Ok(folder.join(&name)),
            Ok(()) => whys.push(format!("{}: the path is too long for a socket", folder.display())),
            Err(error) => whys.push(format!("{}: {error}", folder.display())),
        }
    }
    Err(whys.join("; "))
}

/// Makes a folder that only its user can enter, or makes sure that one is.
fn private(folder: &Path, user: u32) -> std::io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // Not through a link: anybody can make one in /tmp.
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0 {
        Ok(())
    } else {
        Err(Error::other("it is not a folder of the user's alone"))
    }
}

fn bind(path: &Path) -> std::io::Result<Listening> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => fs::remove_file(path)?,
        Ok(_) => return Err(Error::other("something that is no socket lies there; move it away")),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(path)?;
    // The folder keeps others out until this is done, and whoever comes is asked for their user.
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    let guard = Guard { path: path.to_path_buf(), made: identity(path)? };
    Ok(Listening { listener, guard })
}

fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::store::DiskStore;

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_what_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path();
        let _owned = DiskStore::open(store).expect("a store");
        let first = listen(store).expect("it listens");
        assert_eq!(fs::metadata(store.join(NAME)).expect("it is there").mode() & 0o777, 0o600);
        // As after a SIGKILL: nobody removed it.
        let stale = first.guard();
        std::mem::forget(first);
        let second = listen(store).expect("it listens");
        stale.remove();
        assert!(store.join(NAME).exists(), "the file of another is left alone");
        assert_eq!(of_owner(store), store.join(NAME));
        drop(second);
        assert!(!store.join(NAME).exists());
        fs::write(store.join(NAME), "a note").expect("it is written");
        let elsewhere = listen(store).expect("there is another place");
        assert_ne!(of_owner(store), store.join(NAME));
        assert_eq!(fs::read_to_string(store.join(NAME)).expect("it is read"), "a note");
        assert!(of_owner(store).exists());
        drop(elsewhere);
        assert!(!of_owner(store).exists());
    }

    #[tokio::test]
    async fn a_store_with_a_long_name_is_listened_for_elsewhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().join("x".repeat(120));
        let _owned = DiskStore::open(&store).expect("a store");
        let listening = listen(&store).expect("it listens");
        let path = of_owner(&store);
        assert!(!path.starts_with(&store) && path.exists(), "{}", path.display());
        let parent = path.parent().expect("a folder");
        assert_eq!(fs::metadata(parent).expect("it is there").mode() & 0o777, 0o700);
        drop(listening);
    }

    #[test]
    fn a_folder_that_is_a_link_or_open_to_others_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let user = fs::metadata(folder.path()).expect("it is there").uid();
        let at = |name: &str| folder.path().join(name);
        assert!(private(&at("new"), user).is_ok() && private(&at("new"), user).is_ok());
        assert!(private(&at("new"), user + 1).is_err(), "another's");
        std::os::unix::fs::symlink(at("new"), at("link")).expect("a link");
        assert!(private(&at("link"), user).is_err());
        fs::create_dir(at("open")).expect("a folder");
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o755)).expect("its mode");
        assert!(private(&at("open"), user).is_err());
    }
}
