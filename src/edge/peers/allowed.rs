//! Whose keys are let in from other machines: a file of fingerprints that the user alone keeps.

use crate::edge::own_file::replace;
use crate::edge::peers::private::{self, Unread};
use crate::edge::peers::tls::Fingerprint;
use std::path::{Path, PathBuf};

/// Its name in the store's folder.
const NAME: &str = "clients";
/// A longer file is none.
const LONGEST: u64 = 64 * 1024;
/// As many characters has the name of a key.
const LETTERS: usize = 40;

/// The keys that are let in, each with the name that the user gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed(Vec<(Fingerprint, String)>);

/// Returns where the file of a store lies.
pub fn place(store: &Path) -> PathBuf {
    store.join(NAME)
}

impl Allowed {
    /// Reads who is let in at a store; where there is no file, nobody is.
    ///
    /// # Errors
    /// In words, when the file is not its user's alone, or a line of it cannot be read: then nobody is let in.
    pub fn kept(store: &Path) -> Result<Allowed, String> {
        let path = place(store);
        let told = "whose keys are let in stands in a file of its user's alone, with mode 0600; until then nobody is";
        match private::read(&path, LONGEST, told) {
            Ok(text) => Allowed::read(&text).map_err(|why| format!("{}: {why}", path.display())),
            Err(Unread::Missing) => Ok(Allowed::default()),
            Err(Unread::Refused(why)) => Err(why),
        }
    }

    /// Reads lines of a fingerprint and a name; what stands behind `#` and empty lines do not count.
    fn read(text: &str) -> Result<Allowed, String> {
        let mut all = Allowed::default();
        for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (digits, name) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let key = Fingerprint::read(digits);
            let key = key.ok_or_else(|| format!("line {number} begins with no fingerprint, so nobody is let in"))?;
            all.let_in(key, name).map_err(|why| format!("line {number}: {why}, so nobody is let in"))?;
        }
        Ok(all)
    }

    /// Lets a key in under a name.
    ///
    /// # Errors
    /// In words, when the name is none, or the key or the name is there already.
    pub fn let_in(&mut self, key: Fingerprint, name: &str) -> Result<(), String> {
        let name = name.trim();
        let fits = |c: char| c.is_alphanumeric() || "-_.@ ".contains(c);
        if name.is_empty() || name.chars().count() > LETTERS || !name.chars().all(fits) {
            return Err(format!("a key has a name of 1 to {LETTERS} letters, digits, spaces and -_.@"));
        }
        if let Some(there) = self.name_of(key) {
            return Err(format!("this key is let in already, as “{there}”"));
        }
        if self.0.iter().any(|(_, other)| other == name) {
            return Err(format!("another key is called “{name}”"));
        }
        self.0.push((key, name.to_string()));
        Ok(())
    }

    /// Takes a key out, by its name or its fingerprint; returns whether it was there.
    pub fn take_out(&mut self, which: &str) -> bool {
        let (key, before) = (Fingerprint::read(which), self.0.len());
        self.0.retain(|(other, name)| name != which.trim() && Some(*other) != key);
        self.0.len() < before
    }

    /// Writes who is let in.
    ///
    /// # Errors
    /// In words, when that cannot be.
    pub fn keep(&self, store: &Path) -> Result<(), String> {
        let mut text = "# Keys of clients on other machines; passepartout clients changes it.\n".to_string();
        self.0.iter().for_each(|(key, name)| text.push_str(&format!("{key} {name}\n")));
        let path = place(store);
        if text.len() as u64 > LONGEST {
            return Err(format!("{}: there is no room for more keys", path.display()));
        }
        replace(&path, &text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Returns the name of a key that is let in.
    pub fn name_of(&self, key: Fingerprint) -> Option<&str> {
        self.0.iter().find(|(other, _)| *other == key).map(|(_, name)| name.as_str())
    }

    /// Returns all of them.
    pub fn all(&self) -> &[(Fingerprint, String)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn key(digit: &str) -> Fingerprint {
        Fingerprint::read(&digit.repeat(64)).expect("64 digits")
    }

    #[test]
    fn what_is_let_in_is_read_back_and_a_file_that_is_not_as_it_should_be_lets_nobody_in() {
        let store = tempfile::tempdir().expect("a folder");
        assert_eq!(Allowed::kept(store.path()), Ok(Allowed::default()), "without a file nobody is");
        let mut all = Allowed::default();
        all.let_in(key("a"), " Laptop at home ").unwrap_or_else(|why| panic!("{why}"));
        all.let_in(key("b"), "Büro").unwrap_or_else(|why| panic!("{why}"));
        all.keep(store.path()).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(Allowed::kept(store.path()), Ok(all.clone()));
        assert_eq!((all.name_of(key("a")), all.name_of(key("c"))), (Some("Laptop at home"), None));
        let long = "x".repeat(41);
        for (which, name) in [("a", "new"), ("c", "Büro"), ("c", ""), ("c", "a\nb"), ("c", "a\u{202e}b"), ("c", &long)]
        {
            assert!(all.let_in(key(which), name).is_err(), "{which} {name:?}");
        }
        assert!(all.take_out("Büro") && !all.take_out("Büro") && all.take_out(&"A".repeat(64)), "{all:?}");
        let path = place(store.path());
        let good = std::fs::read_to_string(&path).expect("it is there");
        for text in ["no digits Laptop\n".to_string(), format!("{good}zz x\n"), "a".repeat(64), "#".repeat(70_000)] {
            std::fs::write(&path, &text).expect("it is written");
            assert!(Allowed::kept(store.path()).is_err(), "{}", text.get(..80).unwrap_or(&text));
        }
        std::fs::write(&path, &good).expect("it is written");
        assert!(Allowed::kept(store.path()).is_ok());
        for mode in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("its mode");
            assert!(Allowed::kept(store.path()).is_err_and(|why| why.contains("0600")), "{mode:o}");
        }
    }
}
