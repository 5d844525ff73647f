//! Which files belong to memory: those of the memex, and the buffers that the user has open elsewhere.
//!
//! In the memex the name decides, on disk and in a buffer alike: what the walk leaves out there, such as archives, is
//! not in memory because somebody visits it.
//! A chat that was saved is no note. What the store holds of other folders is left out of memory; its history stays,
//! and naming the folder again brings it back. A folder that is named and has vanished keeps what is known of it.

use crate::domain::count::counted;
use crate::domain::memory::card::Card;
use crate::domain::memory::store::Store;
use crate::domain::memory::view::View;
use crate::domain::port::LogLevel;
use crate::edge::config::Config;
use crate::edge::engine::Engine;
use crate::edge::engine::memory::READ;
use crate::edge::engine::record::{self, KnownMemex, kind};
use crate::edge::store::DiskStore;
use crate::edge::walk::{destination, is_listed};
use std::path::{Path, PathBuf};

/// Returns where the folders of the memex lie: by the names that they have, and by where these lead when nothing
/// is there now.
pub(super) fn places(directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = directories.iter().flat_map(|path| [path.clone(), destination(path)]).collect();
    places.sort();
    places.dedup();
    places
}

/// Returns the memex that a store was read from last, as it says itself; an empty one when it does not say or cannot be
/// read.
pub fn known_memex(store: &Path) -> KnownMemex {
    if !store.join("memory.sqlite").exists() {
        return KnownMemex::default();
    }
    // Whoever opens it next says what is wrong with it.
    let kept = DiskStore::open_to_read(store).and_then(|mut store| store.latest(kind::MEMEX, kind::MEMEX));
    kept.ok().flatten().map(|record| record::read_memex(&record.body)).unwrap_or_default()
}

impl Engine {
    /// Keeps which folders memory is read from, for whoever names none.
    pub(super) async fn keep_memex(&self) -> Result<(), String> {
        let Config { directories, private_tags, untrusted_folders, .. } = &self.config;
        if directories.is_empty() {
            return Ok(());
        }
        let mut now = KnownMemex {
            directories: directories.clone(),
            private_tags: private_tags.clone(),
            untrusted_folders: untrusted_folders.clone(),
        };
        let kept = self.archive.latest(kind::MEMEX, kind::MEMEX.to_string()).await?;
        let kept = kept.map(|kept| record::read_memex(&kept.body)).unwrap_or_default();
        // A terminal that names the same folders may know nothing of the tags and folders that Emacs has set.
        if kept.directories == now.directories {
            let more = kept.private_tags.iter().filter(|tag| !private_tags.contains(tag));
            now.private_tags.extend(more.cloned().collect::<Vec<_>>());
            now.private_tags.sort_unstable();
            let more = kept.untrusted_folders.iter().filter(|folder| !untrusted_folders.contains(folder));
            now.untrusted_folders.extend(more.cloned().collect::<Vec<_>>());
            now.untrusted_folders.sort_unstable();
        }
        let Some(body) = record::memex(&now).filter(|_| kept != now) else { return Ok(()) };
        self.append(kind::MEMEX, kind::MEMEX, body).await
    }

    /// Returns whether a file belongs to memory. Where no folder is named, all that is known does.
    pub fn belongs(&self, file: &str) -> bool {
        let path = Path::new(file);
        let mut above = self.places.iter().filter(|place| path.starts_with(place)).peekable();
        match above.peek() {
            Some(_) => above.any(|place| is_listed(place, path)),
            None => self.places.is_empty() || self.buffers.lock().contains(file),
        }
    }

    /// Returns whether a file is one of a memex that was named: where none was, none is.
    pub fn lies_in_memex(&self, file: &str) -> bool {
        self.places.iter().any(|place| Path::new(file).starts_with(place)) && self.belongs(file)
    }

    /// Returns whether a folder of the memex in which a file lies is not there now: then nothing is known of the file.
    pub fn is_away(&self, file: &str) -> bool {
        let path = Path::new(file);
        self.config.directories.iter().any(|root| path.starts_with(root) && !root.exists())
    }

    /// Notes whether a client follows a buffer of a file: outside of the memex it belongs to memory as long.
    pub fn note_buffer(&self, file: &str, open: bool) {
        let mut files = self.buffers.lock();
        if open {
            files.insert(file.to_string());
        } else {
            files.remove(file);
        }
    }

    /// Takes what does not belong to memory out of it, by one operation.
    pub fn leave_out_strangers(&self) {
        let view = self.view();
        // A store of an earlier version may hold chats.
        let stranger = |card: &Card| !card.is_notes() || !self.belongs(&card.file);
        let strangers: Vec<String> =
            view.cards().filter(|card| stranger(card)).map(|card| card.file.to_string()).collect();
        if strangers.is_empty() {
            return;
        }
        let note = format!("{} left out: no notes of the memex", counted(strangers.len(), "file"));
        // A buffer may have been opened meanwhile.
        let still = |view: &View, file: &str| view.card(file).is_some_and(|card| stranger(card));
        self.change_memory_where(Vec::new(), &strangers, Vec::new(), READ, &note, &still);
        self.say(LogLevel::Info, &note);
    }
}
