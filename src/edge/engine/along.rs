//! How private a text is that came along with a question: as private as the file where it stands.
//!
//! A client may name a file in many ways, and what it embeds may be a part of it, or not saved yet. So each way in which
//! an address can name a file of the memex counts, and what lies there without memory knowing it counts as private.

use crate::domain::gate::place::holds_notes;
use crate::domain::label::Privacy;
use crate::edge::engine::Engine;
use crate::edge::engine::turns::{Ask, Attached};
use crate::edge::survey::path::lexical;
use crate::edge::thread::aside;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An address of this many bytes or more names no file that the system could open (`PATH_MAX`): it is not looked for.
const LONGEST: usize = 4096;
/// So many ways to read an address are looked at.
const WAYS: usize = 64;
/// So many ends of each, of which the first is its own.
const ENDS: usize = 8;
/// What may stand behind a path in an address.
const BEHIND: [char; 3] = ['#', '?', '&'];

impl Engine {
    /// Returns how private the most private text is that came along with a question. It reads the disk.
    pub(super) async fn attached_privacy(self: Arc<Self>, ask: &Ask) -> Privacy {
        if ask.attached.is_empty() {
            return Privacy::Open;
        }
        let (attached, folder) = (ask.attached.clone(), ask.folder.clone());
        let look = move || {
            let one = |along: &Attached| self.privacy_of_attached(along, folder.as_deref());
            attached.iter().map(one).max().unwrap_or(Privacy::Open)
        };
        aside(look).await
    }

    fn privacy_of_attached(&self, along: &Attached, folder: Option<&Path>) -> Privacy {
        let named = along.file.as_deref().unwrap_or(&along.name);
        if named.len() >= LONGEST {
            return Privacy::Private;
        }
        // What was not looked at to its end may be anything.
        let Some(files) = self.files_named(named, folder) else { return Privacy::Private };
        let of_files = files.iter().map(|file| self.privacy_of_source(file)).max().unwrap_or(Privacy::Open);
        // What is embedded may be newer than what stands on the disk.
        let notes = files.iter().find(|file| holds_notes(file));
        of_files.max(notes.map_or(Privacy::Open, |file| self.privacy_of_text(file, along.text.as_str().into())))
    }

    fn privacy_of_source(&self, file: &str) -> Privacy {
        let known = self.view().card(file).map(|card| card.strictest());
        let inside = self.places.iter().any(|place| Path::new(file).starts_with(place));
        let known = known.unwrap_or(if inside { Privacy::Private } else { Privacy::Open });
        known.max(self.privacy_here(file))
    }

    /// Returns the files that an address may name: itself, what it names from the folder of the question, and what in it
    /// begins as a folder of the memex does; each with and without what stands behind it there, such as lines. `None` where
    /// there are more ways to read it than are looked at.
    pub(super) fn files_named(&self, named: &str, folder: Option<&Path>) -> Option<BTreeSet<String>> {
        let at_home = named.strip_prefix("~/").map(|rest| self.config.home.join(rest));
        let at_home = at_home.as_deref().and_then(Path::to_str);
        let mut ways = vec![named];
        ways.extend(at_home);
        let folders = self.places.iter().filter_map(|place| place.to_str());
        ways.extend(folders.flat_map(|place| named.match_indices(place)).filter_map(|(at, _)| named.get(at..)));
        let localhost = named.strip_prefix("localhost").filter(|rest| rest.starts_with('/'));
        ways.extend(localhost);
        // What is no path may be a mere title, or an address elsewhere.
        let is_there = |path: &PathBuf| path.exists() || path.to_str().is_none_or(holds_notes);
        let path = |way: &str| match (Path::new(way).is_absolute(), folder) {
            (true, _) => Some(PathBuf::from(way)),
            (false, Some(folder)) if !way.contains("://") => Some(folder.join(way)).filter(is_there),
            (false, _) => None,
        };
        if ways.len() > WAYS || named.matches(BEHIND).count() >= ENDS {
            return None;
        }
        let files = |way: &str| {
            let ends = std::iter::once(way.len()).chain(way.match_indices(BEHIND).map(|(at, _)| at));
            let ends = ends.filter_map(|end| way.get(..end)).filter(|way| !way.is_empty());
            let files: Vec<PathBuf> = ends.filter_map(path).flat_map(|path| [real(&path), path]).collect();
            // Where one of them is there, what stands behind it are lines and the like.
            let there: Vec<PathBuf> = files.iter().filter(|file| self.is_known(file)).cloned().collect();
            if there.is_empty() { files } else { there }
        };
        let files = ways.into_iter().flat_map(files);
        Some(files.filter_map(|file| file.to_str().map(str::to_string)).collect())
    }

    fn is_known(&self, file: &Path) -> bool {
        file.is_file() || file.to_str().is_some_and(|file| self.view().card(file).is_some())
    }
}

/// Returns a path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let real = there.and_then(|(above, real)| Some(real.join(path.strip_prefix(above).ok()?)));
    lexical(&real.unwrap_or_else(|| path.to_path_buf()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::engine::fresh::tests::Place;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_comes_along_is_as_private_as_where_it_stands() {
        let place = Place::new("* Open\n* Diary :private:\n").await;
        let memex = Path::new(&place.file).parent().expect("a folder");
        let other = tempfile::tempdir().expect("a folder");
        let other = other.path().canonicalize().expect("it is there");
        std::fs::write(memex.join("strange.org"), "* Nobody has read this\n").expect("it is written");
        std::os::unix::fs::symlink(memex, other.join("link")).expect("a link");
        let name = |path: PathBuf| path.to_str().expect("UTF-8").to_string();
        let (inside, outside) = (|file: &str| name(memex.join(file)), |file: &str| name(other.join(file)));
        let private = [
            inside("a.org"),
            inside("a.org#L3:4"),
            inside("x/../a.org"),
            format!("zed:///agent/selection?path={}#L1", inside("a.org")),
            format!("localhost{}", inside("a.org")),
            "a.org".to_string(),
            outside("link/a.org"),
            outside("link/gone.org"),
            inside("gone.txt"),
            inside("strange.org"),
            "x".repeat(LONGEST),
            outside("a#b#c#d#e#f#g#h#.txt#L3"),
        ];
        let open = [outside("mail.txt"), outside("mail.org"), "https://example.org/a?b=c".into(), "a selection".into()];
        let check = |file: &str, text: &str, privacy: Privacy| {
            // A name alone counts as well.
            for (name, file) in [("it", Some(file)), (file, None)] {
                let along = Attached { name: name.to_string(), file: file.map(str::to_string), text: text.to_string() };
                assert_eq!(place.engine.privacy_of_attached(&along, Some(memex)), privacy, "{along:?}");
            }
        };
        private.iter().for_each(|file| check(file, "a part", Privacy::Private));
        open.iter().for_each(|file| check(file, "* A part\n", Privacy::Open));
        // Not on the disk yet.
        check(&outside("mail.org"), "* Mine :private:\n", Privacy::Private);
        // Made open, and read again.
        place.write("* Open\n");
        place.engine.read_memex(&mut |_| {});
        check(&inside("a.org#L3:4"), "* Open\n", Privacy::Open);
    }
}
