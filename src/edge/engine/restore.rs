//! Predicts what taking changes back would do: a three-way merge of each path, on what the user sees there now.

use crate::domain::action::Action;
use crate::domain::gate::facts::{BySetup, EditFact, PutFact};
use crate::domain::id::ObjectHash;
use crate::domain::memory::store::{Content, content_name};
use crate::domain::org::decode::{Decoded, decode};
use crate::domain::undo::back::{State, back};
use crate::domain::undo::{Change, FileChange, Image};
use crate::edge::engine::Engine;
use crate::edge::engine::changes::{image_of, on_disk, texts};
use crate::edge::engine::planner::{fact, waiting_for};
use crate::edge::survey::Predicted;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

/// The most files that are taken back at once.
const MOST_FILES: usize = 2_000;

/// The most bytes that wait for being put; what is larger by itself is kept in the store when it is put.
const MOST_MERGED: usize = 32 << 20;

/// Merged bytes that a survey worked out. Each survey works them out anew, and one comes right before they are put.
#[derive(Default)]
pub(in crate::edge) struct Merged(VecDeque<Content>);

impl Merged {
    /// Holds bytes, and lets go of the oldest; returns those that are too large.
    fn hold(&mut self, contents: Vec<Content>) -> Option<Vec<Content>> {
        let (small, large): (Vec<_>, Vec<_>) =
            contents.into_iter().partition(|content| content.bytes.len() <= MOST_MERGED / 4);
        self.0.retain(|held| small.iter().all(|content| content.name != held.name));
        self.0.extend(small);
        while self.0.iter().map(|content| content.bytes.len()).sum::<usize>() > MOST_MERGED {
            self.0.pop_front();
        }
        (!large.is_empty()).then_some(large)
    }

    fn get(&self, name: ObjectHash) -> Option<Vec<u8>> {
        self.0.iter().find(|content| content.name == name).map(|content| content.bytes.clone())
    }
}

/// A path on its way back.
struct Path3 {
    /// What stands there as the user sees it.
    found: State,
    /// Whether that is an open buffer.
    open: bool,
    /// Whether a buffer that may not be changed visits it: an edit goes to its buffer wherever there is one.
    read_only: bool,
    /// What it becomes.
    state: State,
}

/// Everything on its way back.
struct Way<'a> {
    engine: &'a Engine,
    paths: BTreeMap<String, Path3>,
    left: Vec<String>,
    /// Whether it is about to be done: what only looks adds nothing to the store.
    now: bool,
}

impl Engine {
    /// Returns bytes that were kept.
    ///
    /// # Errors
    /// When they are not there, or the store cannot be read.
    pub(in crate::edge) async fn kept_bytes(&self, content: ObjectHash) -> Result<Vec<u8>, String> {
        let merged = self.merged.lock().get(content);
        let found = match merged {
            Some(bytes) => Some(bytes),
            None => self.archive.content(content).await?,
        };
        found.ok_or_else(|| "its bytes are not in the store".to_string())
    }

    /// Predicts what a `restore` does. Called on a thread that may block.
    pub(super) fn plan_restore(&self, action: &Action) -> Result<Predicted, String> {
        let named = texts(action, "changes");
        let all = waiting_for(self.changes_named(named.clone()))?;
        let chosen: Vec<&Change> = named
            .iter()
            .map(|id| all.iter().find(|change| change.id == *id).ok_or_else(|| format!("there is no change {id}")))
            .collect::<Result<_, _>>()?;
        let files: BTreeSet<&String> = chosen.iter().flat_map(|change| &change.files).map(|file| &file.path).collect();
        let asked: BTreeSet<String> = texts(action, "files").into_iter().collect();
        if let Some(path) = files.iter().find(|path| !asked.contains(**path)) {
            return Err(format!("{path} was changed as well, and is not named"));
        }
        self.predict_restore(&chosen, self.is_under_way(action.hash()))
    }

    /// Predicts what taking changes back does, the first of them first; `now` says that it is about to be done.
    pub(super) fn predict_restore(&self, changes: &[&Change], now: bool) -> Result<Predicted, String> {
        let mut way = Way { engine: self, paths: BTreeMap::new(), left: Vec::new(), now };
        for change in changes {
            way.take_back(change)?;
        }
        let mut predicted = way.predicted()?;
        let doubt = |change: &&Change| change.doubt.as_ref().map(|doubt| format!("“{}”: {doubt}", change.summary));
        predicted.doubts = changes.iter().filter_map(doubt).collect();
        Ok(predicted)
    }
}

impl Way<'_> {
    fn take_back(&mut self, change: &Change) -> Result<(), String> {
        let before: Vec<(String, State)> = change
            .files
            .iter()
            .map(|f| Ok((f.path.clone(), self.find(f)?.state.clone())))
            .collect::<Result<_, String>>()?;
        let mut left = Vec::new();
        for file in &change.files {
            left.extend(self.file_back(file)?);
        }
        if !left.is_empty() && change.tool == "org-move" {
            // A heading that left one file came into another: half of that would double it, or lose it.
            for (path, state) in before {
                if let Some(found) = self.paths.get_mut(&path) {
                    found.state = state;
                }
            }
            left.push(format!("so all of “{}” is left as it is", change.summary));
        }
        self.left.extend(left);
        Ok(())
    }

    /// Returns a path as it stands on its way back; looks at it the first time.
    fn find(&mut self, file: &FileChange) -> Result<&mut Path3, String> {
        if !self.paths.contains_key(&file.path) {
            if self.paths.len() >= MOST_FILES {
                return Err(format!("more than {MOST_FILES} files would be changed at once; go back in smaller steps"));
            }
            let disk = on_disk(&file.path);
            let (found, visited) = waiting_for(async { Ok(self.engine.seen(&file.path, disk.clone()).await) })?;
            // A buffer that has not followed the disk yet shows what stood there before the act.
            let behind = is(&disk, &file.after) && is(&found, &file.before);
            let (found, open) = match visited {
                // A buffer without changes of its own holds nothing back.
                Some(_) if behind || disk == found => (disk, false),
                visited => (found, visited.is_some()),
            };
            let read_only = visited.is_some_and(|visited| visited.read_only);
            self.paths.insert(file.path.clone(), Path3 { state: found.clone(), found, open, read_only });
        }
        self.paths.get_mut(&file.path).ok_or_else(|| "BUG: a path is lost".to_string())
    }

    fn file_back(&mut self, file: &FileChange) -> Result<Vec<String>, String> {
        let options = self.engine.scan_options_of(&file.path);
        let now = self.find(file)?.state.clone();
        let before = self.load(&file.before)?;
        // What was not touched since goes back, even when what the act left is not kept.
        let after = if is(&now, &file.after) { now.clone() } else { self.load(&file.after)? };
        let back = back(&file.path, &now, &before, &after, &options);
        self.find(file)?.state = back.state;
        Ok(back.left.iter().map(|why| format!("{}: {why}", file.path)).collect())
    }

    fn load(&self, image: &Image) -> Result<State, String> {
        Ok(match image {
            Image::Absent => State::Absent,
            Image::File { content, mode, .. } => match waiting_for(self.engine.archive.content(*content))? {
                Some(bytes) => State::File { bytes: bytes.into(), mode: *mode },
                None => State::Unknown("its bytes are not in the store".to_string()),
            },
            Image::Link { target } => State::Link(target.clone()),
            Image::Folder { mode } => State::Folder(*mode),
            Image::Unkept { why } => State::Unknown(why.clone()),
        })
    }

    fn predicted(mut self) -> Result<Predicted, String> {
        self.keep_full_folders();
        let mut predicted = Predicted { left: std::mem::take(&mut self.left), ..Predicted::default() };
        for (path, Path3 { found, open, read_only, state }) in &self.paths {
            // What cannot be known is left as it is, and said to be.
            if found.same(state) || matches!(state, State::Unknown(_)) {
                continue;
            }
            let mut contents = Vec::new();
            let (before, after) = (image_of(found, &mut Vec::new()), image_of(state, &mut contents));
            match (texts_of(found, state), open) {
                (Some(_), _) if *read_only => {
                    predicted.left.push(format!("{path}: it is open in a read-only buffer; let that be changed first"));
                    continue;
                }
                (Some((old, new)), _) => {
                    predicted.edits.push(fact(path.clone(), Some(old.text), new.text));
                    continue;
                }
                (None, true) => {
                    predicted.left.push(format!("{path}: it is open in a buffer; save or close that first"));
                    continue;
                }
                (None, false) => {}
            }
            let text = |state: &State| match state {
                State::File { bytes, .. } => decode(bytes).ok().map(|decoded| decoded.text),
                _ => Some(Arc::from("")),
            };
            let diff = text(found).zip(text(state)).map(|(old, new)| fact(path.clone(), Some(old), new).diff);
            if let Image::File { content, .. } = &after
                && waiting_for(self.engine.archive.content(*content))?.is_none()
            {
                // Merged bytes are nobody's yet: they wait here for being put, so that looking adds nothing to the store.
                let too_large = self.engine.merged.lock().hold(contents);
                if let Some(too_large) = too_large.filter(|_| self.now) {
                    waiting_for(self.engine.archive.keep(too_large))?;
                }
            }
            predicted.put_texts.extend(put_text(path, found, state));
            predicted.puts.push(PutFact { file: path.clone(), before, after, diff: diff.unwrap_or_default() });
        }
        Ok(predicted)
    }

    /// A folder that goes must be empty by then; one with other things in it stays.
    fn keep_full_folders(&mut self) {
        let going: Vec<String> = self
            .paths
            .iter()
            .filter(|(_, path)| matches!(path.found, State::Folder(_)) && !matches!(path.state, State::Folder(_)))
            .map(|(path, _)| path.clone())
            .collect();
        for path in going.into_iter().rev() {
            let stays = |entry: &std::fs::DirEntry| {
                let known = entry.path().to_str().and_then(|name| self.paths.get(name)).map(|path| &path.state);
                !matches!(known, Some(State::Absent))
            };
            let entries = std::fs::read_dir(Path::new(&path)).into_iter().flatten().flatten();
            if entries.into_iter().any(|entry| stays(&entry)) {
                self.left.push(format!("{path}: the folder has other things in it"));
                if let Some(path) = self.paths.get_mut(&path) {
                    path.state = path.found.clone();
                }
            }
        }
    }
}

/// Returns what is put whole as an edit, where either side is a text; what is no text counts as none.
fn put_text(path: &str, found: &State, state: &State) -> Option<EditFact> {
    let text = |state: &State| match state {
        State::File { bytes, .. } => decode(bytes).ok().map(|decoded| decoded.text),
        State::Absent | State::Link(_) | State::Folder(_) | State::Unknown(_) => None,
    };
    let (before, after) = (text(found), text(state));
    if before.is_none() && after.is_none() {
        return None;
    }
    let after = after.unwrap_or_else(|| "".into());
    Some(EditFact { file: path.to_string(), before, after, diff: String::new(), by_setup: BySetup::default() })
}

/// Whether a state is what an image names.
fn is(state: &State, image: &Image) -> bool {
    match (state, image) {
        (State::File { bytes, mode }, Image::File { content, mode: kept, .. }) => {
            mode == kept && content_name(bytes) == *content
        }
        (State::Unknown(_), _) => false,
        (state, image) => image_of(state, &mut Vec::new()) == *image,
    }
}

/// Returns both texts when one becomes the other by an edit: both are texts, written alike, of one mode.
fn texts_of(found: &State, state: &State) -> Option<(Decoded, Decoded)> {
    match (found, state) {
        (State::File { bytes: a, mode: m }, State::File { bytes: b, mode: n }) if m == n => {
            let both = decode(a).ok().zip(decode(b).ok())?;
            // An act that only wrote it in another way is taken back byte by byte.
            (both.0.text != both.1.text).then_some(both)
        }
        _ => None,
    }
}
