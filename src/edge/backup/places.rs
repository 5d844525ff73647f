//! Where the files of an archive go back to.

use super::{Manifest, Targets, Unrestorable};
use crate::domain::gate::place::{lies_as_in_a_home, runs_unasked};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The places of all files of an archive, which may be very many.
pub(super) struct Places<'a> {
    manifest: &'a Manifest,
    targets: &'a Targets,
    /// How many files each part of the memex has, by its number.
    counts: BTreeMap<&'a str, usize>,
}

impl<'a> Places<'a> {
    pub(super) fn new(manifest: &'a Manifest, targets: &'a Targets) -> Places<'a> {
        let mut counts = BTreeMap::new();
        for (number, _) in manifest.files.iter().filter_map(|entry| numbered(&entry.name)) {
            *counts.entry(number).or_default() += 1;
        }
        Places { manifest, targets, counts }
    }

    /// Returns where a file of the settings or of the memex goes; `None` for what is not wanted, and for the store.
    pub(super) fn of(&self, name: &str) -> Option<PathBuf> {
        if let Some(rest) = name.strip_prefix("settings/") {
            return Some(self.targets.settings.join(rest));
        }
        let (number, rest) = numbered(name).filter(|_| self.targets.memex)?;
        let place = self.manifest.memex.get(number.parse::<usize>().ok()?)?;
        // A memex may be one file.
        let alone = self.counts.get(number) == Some(&1) && place.file_name().is_some_and(|own| own == rest);
        Some(if alone { place.clone() } else { place.join(rest) })
    }
}

/// Splits the name of a note into the number of its part of the memex, and the rest.
fn numbered(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("memex/")?.split_once('/')
}

/// Looks whether the notes may go to where the archive says that they lay: it may come from anywhere.
///
/// # Errors
/// When they may not, with the way out.
pub(super) fn check_memex(manifest: &Manifest, targets: &Targets) -> Result<(), Unrestorable> {
    if !targets.memex {
        return Ok(());
    }
    let mut places = manifest.memex.iter();
    let Some((place, why)) = places.find_map(|place| Some((place, unfit(place, targets)?))) else { return Ok(()) };
    let text = format!(
        "the backup says that notes lay in {}, and {why}; nothing was put back\nWithout --memex the rest comes back; \
         take the notes out with tar, to where you want them",
        place.display()
    );
    Err(Unrestorable::InTheWay(text))
}

/// Returns why no notes are put there.
fn unfit(place: &Path, targets: &Targets) -> Option<&'static str> {
    let Some(whole) = resolved(place).filter(|_| place.is_absolute()) else {
        return Some("that is no whole path");
    };
    let real = |path: &PathBuf| resolved(path).unwrap_or_else(|| path.clone());
    let own = [real(&targets.settings), real(&targets.store)];
    if real(&targets.home).starts_with(&whole) || own.iter().any(|own| own.starts_with(&whole)) {
        return Some("that holds much that is no note");
    }
    if own.iter().any(|own| whole.starts_with(own)) {
        return Some("that is a folder of Passepartout's own");
    }
    // What is not UTF-8 is compared as far as it is.
    let name = whole.to_string_lossy();
    if lies_as_in_a_home(&format!("{name}/x")) || lies_as_in_a_home(&name) {
        return Some("keys, passwords or private data are kept there");
    }
    runs_unasked(&name)
}

/// Follows the links of a path as far as it is there.
fn resolved(path: &Path) -> Option<PathBuf> {
    let (mut at, mut rest) = (path, Vec::new());
    loop {
        if let Ok(found) = at.canonicalize() {
            return Some(rest.iter().rev().fold(found, |path, name| path.join(name)));
        }
        // There is no name where it ends in “..”, which may lead anywhere.
        rest.push(at.file_name()?);
        at = at.parent()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::backup::{Entry, FORM};

    fn manifest(memex: &[&str], files: impl IntoIterator<Item = String>) -> Manifest {
        let entry = |name| Entry { name, bytes: 0, blake3: String::new() };
        Manifest {
            form: FORM,
            made: String::new(),
            version: String::new(),
            keys: false,
            store: "/home/me/store".into(),
            settings: "/home/me/settings".into(),
            memex: memex.iter().map(PathBuf::from).collect(),
            left_out: Vec::new(),
            files: files.into_iter().map(entry).collect(),
        }
    }

    fn targets() -> Targets {
        let (store, settings) = ("/home/me/store".into(), "/home/me/settings".into());
        Targets { store, settings, home: "/home/me".into(), memex: true, force: false }
    }

    #[test]
    fn each_file_has_its_place() {
        let names = ["memex/0/a.org", "memex/0/sub/b.org", "memex/1/one.org", "memex/2/notes", "memex/2/more.org"];
        let manifest = manifest(&["/n", "/m/one.org", "/p/notes"], names.map(String::from));
        for (name, memex, place) in [
            ("settings/skills/x.org", false, Some("/home/me/settings/skills/x.org")),
            ("store/memory.log", true, None),
            ("memex/0/a.org", true, Some("/n/a.org")),
            ("memex/0/a.org", false, None),
            ("memex/0/sub/b.org", true, Some("/n/sub/b.org")),
            ("memex/1/one.org", true, Some("/m/one.org")),
            ("memex/2/notes", true, Some("/p/notes/notes")),
            ("memex/9/a.org", true, None),
            ("memex/x/a.org", true, None),
        ] {
            let targets = Targets { memex, ..targets() };
            assert_eq!(Places::new(&manifest, &targets).of(name), place.map(PathBuf::from), "{name} {memex}");
        }
    }

    #[test]
    fn a_hundred_thousand_files_have_their_places_soon() {
        let names = (0..100_000).map(|n| format!("memex/0/{n}.org"));
        let (manifest, targets) = (manifest(&["/n"], names), targets());
        let places = Places::new(&manifest, &targets);
        assert!(manifest.files.iter().all(|entry| places.of(&entry.name).is_some()));
    }

    #[test]
    fn an_archive_puts_no_notes_where_none_belong() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("it is there");
        let home = base.join("home/me");
        std::fs::create_dir_all(home.join("org")).expect("a folder");
        std::fs::create_dir_all(home.join(".ssh")).expect("a folder");
        std::os::unix::fs::symlink(home.join(".ssh"), home.join("keys")).expect("a link");
        std::os::unix::fs::symlink(&base, home.join("up")).expect("a link");
        let (store, settings) = (home.join(".local/state/passepartout"), home.join(".config/passepartout"));
        let targets = Targets { store, settings, home: home.clone(), memex: true, force: true };
        for (place, fits) in [
            ("org", true),
            ("org/sub/not/there/yet", true),
            ("org/one.org", true),
            ("other/../org", true),
            (".notes", true),
            ("", false),
            ("..", false),
            ("../..", false),
            ("up", false),
            ("up/home", false),
            (".config", false),
            (".config/passepartout", false),
            (".config/passepartout/skills", false),
            (".local/state/passepartout/x", false),
            (".ssh", false),
            ("keys", false),
            ("keys/more", false),
            (".bashrc", false),
            (".config/autostart", false),
            (".config/systemd/user", false),
            ("not/there/..", false),
        ] {
            let place = home.join(place);
            std::fs::create_dir_all(home.join("other")).expect("a folder");
            let manifest = manifest(&[&home.join("org").display().to_string(), &place.display().to_string()], []);
            assert_eq!(check_memex(&manifest, &targets).is_ok(), fits, "{place:?}");
            let without = Targets { memex: false, ..targets.clone() };
            assert_eq!(check_memex(&manifest, &without), Ok(()), "{place:?}");
        }
        for place in ["", "org", "./org", "/"] {
            assert!(check_memex(&manifest(&[place], []), &targets).is_err(), "{place}");
        }
    }
}
