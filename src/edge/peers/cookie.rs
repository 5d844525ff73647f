//! The file with the cookie by which clients from the network are known: random, and its user's alone.

use crate::edge::peers::private::{self, Unread};
use crate::edge::random;
use crate::edge::wire::proof::Cookie;
use std::path::{Path, PathBuf};

/// Its name in the store's folder.
const NAME: &str = "cookie";
/// A longer file is none.
const LONGEST: u64 = 256;

/// Returns where the cookie of a store lies.
pub fn place(store: &Path) -> PathBuf {
    store.join(NAME)
}

/// Reads the cookie of a store; where there is none yet, one is made.
///
/// # Errors
/// In words, when it is not its user's alone, cannot be read, or the system gives no random bytes.
pub fn kept(store: &Path) -> Result<Cookie, String> {
    let path = place(store);
    match read(&path) {
        Err(Unread::Missing) => make(&path),
        Err(Unread::Refused(why)) => Err(why),
        Ok(cookie) => Ok(cookie),
    }
}

/// Reads a cookie's file.
///
/// # Errors
/// When it is not there, not its user's alone, or holds something else.
pub fn read(path: &Path) -> Result<Cookie, Unread> {
    let told = "a cookie is a file of its user's alone, with mode 0600; remove it, and another is made";
    let text = private::read(path, LONGEST, told)?;
    let none = || Unread::Refused(format!("{}: this is no cookie; remove it, and another is made", path.display()));
    Cookie::read(&text).ok_or_else(none)
}

fn make(path: &Path) -> Result<Cookie, String> {
    let cookie = Cookie::of(random::bytes().map_err(|error| format!("{}: {error}", path.display()))?);
    if private::make(path, &format!("{}\n", cookie.expose()))? {
        return Ok(cookie);
    }
    read(path).map_err(|unread| match unread {
        Unread::Missing => format!("{}: it was removed meanwhile", path.display()),
        Unread::Refused(why) => why,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn a_cookie_is_made_once_and_is_its_users_alone() {
        let store = tempfile::tempdir().expect("a folder");
        let first = kept(store.path()).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(fs::metadata(place(store.path())).expect("it is there").mode() & 0o777, 0o600);
        assert!(kept(store.path()).is_ok_and(|again| again.expose() == first.expose()));
        assert_eq!(fs::read_dir(store.path()).expect("a folder").count(), 1, "nothing else is left");
        let other = tempfile::tempdir().expect("a folder");
        assert!(kept(other.path()).is_ok_and(|other| other.expose() != first.expose()));
    }

    #[test]
    fn what_others_may_read_or_is_no_cookie_is_refused_and_left_as_it_is() {
        let store = tempfile::tempdir().expect("a folder");
        let path = place(store.path());
        let refused = |what: &str| {
            let why = kept(store.path()).err().unwrap_or_else(|| panic!("{what}"));
            assert!(why.contains("cookie") && (why.contains("another is made") || why.contains("os error")), "{why}");
        };
        kept(store.path()).unwrap_or_else(|why| panic!("{why}"));
        for mode in [0o640, 0o604, 0o660] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
            refused("others may read it");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its mode");
        for text in ["", "short", &"z".repeat(64), &"a".repeat(1_000)] {
            fs::write(&path, text).expect("it is written");
            refused(text);
            assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
        }
        fs::rename(&path, store.path().join("elsewhere")).expect("it moves");
        fs::write(store.path().join("elsewhere"), "a".repeat(64)).expect("it is written");
        std::os::unix::fs::symlink("elsewhere", &path).expect("a link");
        refused("a link");
    }
}
