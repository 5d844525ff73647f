//! Where the files of an archive go back to.

use super::{Manifest, Targets};
use std::collections::BTreeMap;
use std::path::PathBuf;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::backup::{Entry, FORM};

    pub(super) fn manifest(memex: &[&str], files: impl IntoIterator<Item = String>) -> Manifest {
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

    pub(super) fn targets() -> Targets {
        let (store, settings) = ("/home/me/store".into(), "/home/me/settings".into());
        Targets { store, settings, memex: true, force: false }
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
}
