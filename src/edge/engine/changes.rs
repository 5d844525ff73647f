//! Changes: what stood at each path before an act and after it, kept with the act, so that it can be taken back.
//!
//! The bytes are in the store before the act begins, and the intent names them; the change itself is stored with the
//! outcome. What a command changes is found out in `watch.rs`.

mod kept;
mod watch;

pub(super) use kept::change_records;
pub(in crate::edge::engine) use kept::intent_json;
pub use kept::{change_json, read_change};

use crate::domain::action::{Action, Observation, Outcome};
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::title::told;
use crate::domain::id::{ActionHash, TurnId};
use crate::domain::memory::store::{Content, content_name};
use crate::domain::org::scan::MAX_BYTES;
use crate::domain::port::LogLevel;
use crate::domain::tool::{Effect, RESTORE};
use crate::domain::undo::back::State;
use crate::domain::undo::{Change, FileChange, Image, Kind};
use crate::edge::editor::Buffer;
use crate::edge::engine::Engine;
use crate::edge::shadow::{self, Shadow};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The mode that a new file gets.
const NEW_MODE: u32 = 0o644;

/// How long the end of a turn that was stopped waits for what still writes for it.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);

/// The buffer that visits a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visited {
    /// Whether it may not be changed.
    pub(super) read_only: bool,
}

/// What names an act that is under way: two turns may want the very same at once.
pub type Act = (TurnId, ActionHash);

/// What is known of acts that are under way, and the copies of projects.
#[derive(Default)]
pub(in crate::edge) struct Watching {
    begun: Mutex<HashMap<Act, Begun>>,
    /// One command at a time in a project: what it changed is its own.
    projects: Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>,
}

/// An act that is under way.
struct Begun {
    /// Each file with what stood there before; what stands there after is not known yet.
    change: Change,
    /// Whether the files are all; of a command they are found out when it ends.
    complete: bool,
    /// What open buffers hold when the act has been done: their texts need not travel once more.
    buffers: HashMap<String, Arc<str>>,
    /// Held by whoever writes for it on another thread: that goes on when its turn is stopped.
    busy: Arc<tokio::sync::Mutex<()>>,
    /// What a command has changed was found out, and is not stored yet.
    found: Option<Found>,
}

/// What is let go of when the change that a command made is stored: the note that it ran, and its project.
struct Found {
    shadow: Shadow,
    _alone: Alone,
}

/// Nobody else runs a command in a project while this lives.
pub(in crate::edge) type Alone = tokio::sync::OwnedMutexGuard<()>;

/// What an act that has ended changed.
#[derive(Default)]
pub(super) struct Ended {
    /// The change as records; nothing when it changed nothing.
    pub(super) records: Vec<(&'static str, String, Value)>,
    found: Option<Found>,
}

impl Ended {
    /// The record is on disk: nothing else needs to remember it.
    pub(super) fn stored(self) {
        if let Some(found) = self.found {
            found.shadow.finished();
        }
    }
}

impl Engine {
    /// Keeps what stands at the paths of an act that is about to happen; returns what the intent says of it.
    ///
    /// # Errors
    /// When it could not be kept: then the act must not happen.
    pub(super) async fn begin_change(&self, turn: &TurnId, cleared: &Cleared) -> Result<Value, String> {
        let (action, facts) = (cleared.action(), cleared.facts());
        let Some(tool) = self.toolbox().get(action.tool()).filter(|tool| tool.effect.changes()) else {
            return Ok(Value::Null);
        };
        if !matches!(tool.effect, Effect::EditOrg | Effect::WriteFile | Effect::Execute) {
            return Ok(Value::Null);
        }
        let mut contents = Vec::new();
        let mut files = Vec::new();
        let mut buffers = HashMap::new();
        let edited = facts.edits.iter().map(|edit| &edit.file);
        for path in edited.chain(facts.puts.iter().map(|put| &put.file)) {
            let (state, open) = self.state_of(path).await;
            let edit = facts.edits.iter().find(|edit| open && edit.file == *path);
            buffers.extend(edit.map(|edit| (path.clone(), edit.after.clone())));
            let before = image_of(&state, &mut contents);
            self.share(path, contents.last_mut());
            files.push(FileChange { path: path.clone(), before, after: Image::Absent });
        }
        let (session, plan, approver) = self.doings.behind(turn, action.hash());
        let change = Change {
            id: self.change_name(action),
            kind: restore_kind(action),
            time: self.clock.now(),
            since: self.head(),
            turn: turn.0.clone(),
            session,
            tool: action.tool().to_string(),
            summary: self.vault.mask(&told(action, facts)),
            plan,
            approver,
            of: self.not_left(texts(action, "changes"), &facts.left).await,
            files,
            memory: None,
            focus: None,
            doubt: None,
        };
        self.archive.keep(contents).await?;
        // All of it: whoever finds no outcome knows what it was, for whom, and what it took back.
        let said = change_json(&change);
        let complete = tool.effect != Effect::Execute;
        let begun = Begun { change, complete, buffers, busy: Arc::default(), found: None };
        self.watching.begun.lock().insert((turn.clone(), action.hash()), begun);
        Ok(said)
    }

    /// Forgets an act whose intent could not be stored.
    pub(super) fn drop_change(&self, turn: &TurnId, action: ActionHash) {
        self.watching.begun.lock().remove(&(turn.clone(), action));
        self.led_acts.lock().remove(&(turn.clone(), action));
    }

    /// Returns what an act changed; [`Ended::stored`] when that is on disk.
    pub(super) async fn end_change(&self, turn: &TurnId, observation: &Observation) -> Ended {
        let begun = self.watching.begun.lock().remove(&(turn.clone(), observation.action));
        let Some(mut begun) = begun else { return Ended::default() };
        if !matches!(observation.outcome, Outcome::Done(_)) {
            begun.buffers.clear();
        }
        let found = begun.found.take();
        let change = self.completed(begun).await;
        Ended { records: change_records(&change), found }
    }

    /// Lets a thread write for an act; until what this returns is dropped, the end of its turn waits.
    ///
    /// # Errors
    /// When the turn has ended: then nothing may be written any more.
    pub(in crate::edge) fn writing(&self, act: &Act) -> Result<tokio::sync::OwnedMutexGuard<()>, String> {
        let begun = self.watching.begun.lock();
        let busy = begun.get(act).map(|begun| begun.busy.clone());
        busy.and_then(|busy| busy.try_lock_owned().ok()).ok_or_else(|| "its turn was ended".to_string())
    }

    /// Returns what is held by who writes for an act.
    pub(in crate::edge) fn busy_with(&self, act: &Act) -> Option<Arc<tokio::sync::Mutex<()>>> {
        self.watching.begun.lock().get(act).map(|begun| begun.busy.clone())
    }

    /// Ends an act of a turn that was stopped, once nothing writes for it any more; `false` when that took too long.
    pub(super) async fn stop_change(&self, act: &Act) -> bool {
        let busy = self.watching.begun.lock().get(act).map(|begun| begun.busy.clone());
        let Some(busy) = busy else { return true };
        let Ok(quiet) = tokio::time::timeout(WRITE_PATIENCE, busy.lock_owned()).await else { return false };
        let begun = self.watching.begun.lock().remove(act);
        drop(quiet);
        // A command that ended by itself, of which nothing was stored yet.
        if let Some(Begun { change, found: Some(found), .. }) = begun
            && self.note_change(&change).await
        {
            found.shadow.finished();
        }
        true
    }

    /// Finds out what stands at the paths now.
    async fn completed(&self, begun: Begun) -> Change {
        let Begun { mut change, complete, buffers, .. } = begun;
        if complete {
            let mut contents = Vec::new();
            for file in &mut change.files {
                let mode = if let Image::File { mode, .. } = file.before { mode } else { NEW_MODE };
                let state = match buffers.get(&file.path) {
                    Some(text) => State::File { bytes: text.as_bytes().into(), mode },
                    None => self.state_of(&file.path).await.0,
                };
                file.after = image_of(&state, &mut contents);
                self.share(&file.path, contents.last_mut());
            }
            let (stuck, gone) = change.files.iter().partition::<Vec<_>, _>(|file| file.before == file.after);
            change.of = self.not_failed(std::mem::take(&mut change.of), &stuck, &gone).await;
            change.files.retain(|file| file.before != file.after);
            self.keep_after(contents).await;
        }
        change
    }

    /// Names the document that memory has of a path when it holds these very bytes: they are kept once.
    fn share(&self, path: &str, content: Option<&mut Content>) {
        let view = self.view();
        let (Some(content), Some(card)) = (content, view.card(path)) else { return };
        if view.text(path).is_some_and(|text| text.as_bytes() == content.bytes) {
            content.same_as = Some(card.root());
        }
    }

    /// Keeps the bytes that an act left; without them it can still be undone while nobody touched its files.
    async fn keep_after(&self, contents: Vec<Content>) {
        if let Err(why) = self.archive.keep(contents).await {
            self.say(LogLevel::Error, &format!("what an act left could not be kept, so it cannot be redone: {why}"));
        }
    }

    /// Returns the name of the change and its kind that an act under way makes, for the log of memory.
    pub(in crate::edge) fn cause_of(&self, act: &Act) -> Option<(Kind, String)> {
        let begun = self.watching.begun.lock();
        begun.get(act).map(|begun| (begun.change.kind, begun.change.id.clone()))
    }

    /// Returns whether an action is being carried out: its intent is stored, and its outcome is not.
    pub(super) fn is_under_way(&self, action: ActionHash) -> bool {
        self.watching.begun.lock().keys().any(|(_, under_way)| *under_way == action)
    }

    /// Returns what stands at a path as the user sees it, and whether it is that of an open buffer.
    pub(super) async fn state_of(&self, path: &str) -> (State, bool) {
        let file = path.to_string();
        let found = tokio::task::spawn_blocking(move || on_disk(&file)).await;
        let disk = found.unwrap_or_else(|_| State::Unknown("looking at it broke".to_string()));
        let (state, visited) = self.seen(path, disk).await;
        (state, visited.is_some())
    }

    /// As [`Engine::state_of`], for who has looked at the disk: one that may block must not wait for a second thread.
    pub(super) async fn seen(&self, path: &str, disk: State) -> (State, Option<Visited>) {
        match self.editor.buffer(path).await {
            Ok(Some(Buffer { text, read_only, .. })) => {
                let mode = if let State::File { mode, .. } = &disk { *mode } else { NEW_MODE };
                (State::File { bytes: text.as_bytes().into(), mode }, Some(Visited { read_only }))
            }
            Ok(None) => (disk, None),
            Err(why) => (State::Unknown(why), None),
        }
    }

    fn change_name(&self, action: &Action) -> String {
        let mut hasher = crate::domain::hash::ContentHasher::new("change");
        hasher.bytes(action.hash().as_bytes()).text(&self.clock.now().to_string());
        hasher.number(self.next_serial()).number(u64::from(std::process::id()));
        let hash = blake3::Hash::from_bytes(hasher.finish()).to_hex();
        format!("A{}", hash.as_str().get(..10).unwrap_or_default())
    }

    /// Returns a name for a change that no action makes.
    pub(super) fn new_change_name(&self, seed: &str) -> String {
        let mut hasher = crate::domain::hash::ContentHasher::new("change of memory");
        hasher.text(seed).text(&self.clock.now().to_string()).number(self.next_serial());
        let hash = blake3::Hash::from_bytes(hasher.finish()).to_hex();
        format!("A{}", hash.as_str().get(..10).unwrap_or_default())
    }
}

/// Returns what stands at a path on disk.
pub(super) fn on_disk(path: &str) -> State {
    match shadow::at(Path::new(path), MAX_BYTES as u64) {
        (Image::File { mode, .. }, Some(bytes)) => State::File { bytes: bytes.into(), mode },
        (Image::File { .. }, None) => State::Unknown("it could not be read".to_string()),
        (Image::Absent, _) => State::Absent,
        (Image::Link { target }, _) => State::Link(target),
        (Image::Folder { mode }, _) => State::Folder(mode),
        (Image::Unkept { why }, _) => State::Unknown(why),
    }
}

/// Returns a state as it is kept, and adds its bytes to what is to be kept.
pub(super) fn image_of(state: &State, contents: &mut Vec<Content>) -> Image {
    match state {
        State::Absent => Image::Absent,
        State::File { bytes, mode } => {
            let content = content_name(bytes);
            contents.push(Content { name: content, bytes: bytes.to_vec(), same_as: None });
            Image::File { content, size: bytes.len() as u64, mode: *mode }
        }
        State::Link(target) => Image::Link { target: target.clone() },
        State::Folder(mode) => Image::Folder { mode: *mode },
        State::Unknown(why) => Image::Unkept { why: why.clone() },
    }
}

/// Returns the texts of an argument that is a list.
pub(super) fn texts(action: &Action, name: &str) -> Vec<String> {
    let list = action.args().get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_string).collect()
}

fn restore_kind(action: &Action) -> Kind {
    let named = (action.tool() == RESTORE).then(|| action.text("kind")).flatten();
    named.and_then(Kind::parse).unwrap_or(Kind::Act)
}
