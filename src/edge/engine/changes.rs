//! Changes: what stood at each path before an act and after it, kept with the act, so that it can be taken back.
//!
//! The bytes are in the store before the act begins, and the intent names them; the change itself is stored with the
//! outcome. What a command changes is found out with the copies of its project (`src/edge/shadow.rs`).

use crate::domain::action::{Action, Observation, Outcome};
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::title::title;
use crate::domain::id::{ActionHash, OperationId, TurnId};
use crate::domain::memory::store::{Content, NewRecord, content_name};
use crate::domain::org::scan::MAX_BYTES;
use crate::domain::port::LogLevel;
use crate::domain::scope::Scope;
use crate::domain::tool::{Effect, RESTORE};
use crate::domain::undo::back::State;
use crate::domain::undo::{Change, FileChange, Image, Kind};
use crate::edge::engine::Engine;
use crate::edge::engine::record::kind;
use crate::edge::shadow::{self, Caps, Shadow, image_json, read_image};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The mode that a new file gets.
const NEW_MODE: u32 = 0o644;

/// What is known of acts that are under way, and the copies of projects.
#[derive(Default)]
pub(in crate::edge) struct Watching {
    begun: Mutex<HashMap<(TurnId, ActionHash), Begun>>,
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
}

/// A command that is being watched. Dropping it before [`Watched::end`] notes what an interrupted command changed.
pub(in crate::edge) struct Watched {
    engine: Arc<Engine>,
    action: ActionHash,
    shadow: Option<Shadow>,
    /// Nobody else runs a command in this project meanwhile.
    alone: Option<tokio::sync::OwnedMutexGuard<()>>,
}

impl Engine {
    /// Returns how much of a project is copied before a command.
    fn caps(&self) -> Caps {
        Caps { bytes: self.config.undo_bytes, files: self.config.undo_files }
    }

    /// Returns where copies of projects lie: those of one store, so that no other program counts them as its own.
    fn shadows(&self) -> PathBuf {
        let name = blake3::hash(self.config.store.as_os_str().as_encoded_bytes()).to_hex();
        self.config.cache.join("shadow").join(name.get(..16).unwrap_or_default())
    }

    /// Returns why what commands change in a scope could not be taken back. Reads the names of the project's files.
    pub(super) fn not_undoable(&self, scope: &Scope) -> Option<String> {
        shadow::objection(Path::new(&scope.project), self.caps())
    }

    /// Keeps what stands at the paths of an act that is about to happen; returns what the intent says of it.
    ///
    /// # Errors
    /// When it could not be kept: then the act must not happen.
    pub(super) async fn begin_change(&self, turn: &TurnId, cleared: &Cleared) -> Result<Value, String> {
        let (action, facts) = (cleared.action(), cleared.facts());
        let Some(tool) = self.toolbox.get(action.tool()).filter(|tool| tool.effect.changes()) else {
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
            summary: self.vault.mask(&title(action, facts)),
            plan,
            approver,
            of: self.not_left(texts(action, "changes"), &facts.left).await,
            files,
            memory: None,
            doubt: None,
        };
        self.archive.keep(contents).await?;
        let said = json!({ "id": change.id, "files": before_json(&change.files) });
        let complete = tool.effect != Effect::Execute;
        self.watching.begun.lock().insert((turn.clone(), action.hash()), Begun { change, complete, buffers });
        Ok(said)
    }

    /// Forgets an act whose intent could not be stored.
    pub(super) fn drop_change(&self, turn: &TurnId, action: ActionHash) {
        self.watching.begun.lock().remove(&(turn.clone(), action));
    }

    /// Returns what an act changed, as a record; nothing when it changed nothing.
    pub(super) async fn end_change(&self, turn: &TurnId, observation: &Observation) -> Option<(String, Value)> {
        let mut begun = self.watching.begun.lock().remove(&(turn.clone(), observation.action))?;
        if !matches!(observation.outcome, Outcome::Done(_)) {
            begun.buffers.clear();
        }
        let change = self.completed(begun).await;
        (!change.files.is_empty()).then(|| (change.id.clone(), change_json(&change)))
    }

    /// Finds out what stands at the paths now.
    async fn completed(&self, begun: Begun) -> Change {
        let Begun { mut change, complete, buffers } = begun;
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

    /// Returns the name of the change and its kind that an action under way makes, for the log of memory.
    pub(in crate::edge) fn cause_of(&self, action: ActionHash) -> Option<(Kind, String)> {
        let begun = self.watching.begun.lock();
        let mut found = begun.iter().filter(|((_, hash), _)| *hash == action);
        found.next().map(|(_, begun)| (begun.change.kind, begun.change.id.clone()))
    }

    /// Begins to watch what a command does to its project.
    ///
    /// # Errors
    /// When what stands there could not be copied, though it was said that it can: then the command must not run.
    pub(in crate::edge) async fn watch(self: &Arc<Self>, cleared: &Cleared) -> Result<Watched, String> {
        let project = PathBuf::from(&cleared.scope().project);
        let lane = self.watching.projects.lock().entry(project.clone()).or_default().clone();
        let alone = lane.lock_owned().await;
        let action = cleared.action().hash();
        let mut watched = Watched { engine: self.clone(), action, shadow: None, alone: Some(alone) };
        if cleared.facts().not_undoable.is_some() {
            return Ok(watched);
        }
        let note = {
            let begun = self.watching.begun.lock();
            let found = begun.iter().find(|((_, hash), _)| *hash == action);
            found.map_or(Value::Null, |(_, begun)| change_json(&begun.change))
        };
        let (root, caps) = (self.shadows(), self.caps());
        let work = move || {
            let mut shadow = Shadow::of(&root, &project, caps);
            shadow.before(&note).map(|()| shadow)
        };
        let made = tokio::task::spawn_blocking(work).await.map_err(|_| "copying its files broke".to_string())?;
        watched.shadow =
            Some(made.map_err(|why| format!("what it would change could not be kept, so it was not run: {why}"))?);
        Ok(watched)
    }

    /// Takes in what a command that an earlier session did not see to its end has changed.
    pub(super) async fn find_changed(self: &Arc<Self>) {
        for (project, note) in shadow::unfinished(&self.shadows()) {
            let Some(change) = read_change(&note) else { continue };
            let (root, caps) = (self.shadows(), self.caps());
            let work = move || {
                let mut shadow = Shadow::of(&root, &project, caps);
                let changed = shadow.after();
                (shadow, changed)
            };
            let Ok((shadow, mut changed)) = tokio::task::spawn_blocking(work).await else { continue };
            changed.doubt = Some("the program ended while it ran; what came since counts as its own".to_string());
            if self.note_command(change, changed).await {
                shadow.finished();
            }
        }
    }

    /// Stores what a command changed, beside its outcome; returns whether that was possible.
    async fn note_command(&self, change: Change, changed: shadow::Changed) -> bool {
        let change = Change { files: changed.files, doubt: changed.doubt, ..change };
        if change.files.is_empty() {
            return true;
        }
        self.keep_after(changed.contents).await;
        let kept = self.append(kind::CHANGE, &change.id, change_json(&change)).await;
        if let Err(why) = &kept {
            self.say(LogLevel::Error, &format!("what a command changed could not be noted: {why}"));
        }
        kept.is_ok()
    }

    /// Returns what stands at a path as the user sees it, and whether it is that of an open buffer.
    pub(super) async fn state_of(&self, path: &str) -> (State, bool) {
        let file = path.to_string();
        let found = tokio::task::spawn_blocking(move || on_disk(&file)).await;
        let disk = found.unwrap_or_else(|_| State::Unknown("looking at it broke".to_string()));
        match self.editor.buffer(path).await {
            Ok(Some(buffer)) => {
                let mode = if let State::File { mode, .. } = &disk { *mode } else { NEW_MODE };
                (State::File { bytes: buffer.text.as_bytes().into(), mode }, true)
            }
            Ok(None) => (disk, false),
            Err(why) => (State::Unknown(why), false),
        }
    }

    /// Returns every change, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn changes(&self) -> Result<Vec<Change>, String> {
        let records = self.archive.latest_each(kind::CHANGE).await?;
        Ok(records.iter().filter_map(|record| read_change(&record.body)).collect())
    }

    fn change_name(&self, action: &Action) -> String {
        let mut hasher = crate::domain::hash::ContentHasher::new("change");
        hasher.bytes(action.hash().as_bytes()).text(&self.clock.now().to_string());
        hasher.number(self.next_serial()).number(u64::from(std::process::id()));
        let hash = blake3::Hash::from_bytes(hasher.finish()).to_hex();
        format!("A{}", hash.as_str().get(..10).unwrap_or_default())
    }

    /// Stores a change that moved memory's head alone.
    pub(super) async fn keep_move(&self, change: &Change) -> Result<(), String> {
        self.append(kind::CHANGE, &change.id, change_json(change)).await
    }

    /// Returns a name for a change that no action makes.
    pub(super) fn new_change_name(&self, seed: &str) -> String {
        let mut hasher = crate::domain::hash::ContentHasher::new("change of memory");
        hasher.text(seed).text(&self.clock.now().to_string()).number(self.next_serial());
        let hash = blake3::Hash::from_bytes(hasher.finish()).to_hex();
        format!("A{}", hash.as_str().get(..10).unwrap_or_default())
    }
}

impl Watched {
    /// Finds out what the command changed, for its outcome.
    pub(in crate::edge) async fn end(mut self) {
        let Some(mut shadow) = self.shadow.take() else { return };
        let work = move || {
            let changed = shadow.after();
            (shadow, changed)
        };
        let Ok((shadow, changed)) = tokio::task::spawn_blocking(work).await else { return };
        self.engine.keep_after(changed.contents).await;
        let mut begun = self.engine.watching.begun.lock();
        if let Some((_, begun)) = begun.iter_mut().find(|((_, hash), _)| *hash == self.action) {
            begun.change.files = changed.files;
            begun.change.doubt = changed.doubt;
        }
        drop(begun);
        shadow.finished();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Without a shadow nothing is known of what it changed, or everything is noted already.
        let Some(mut shadow) = self.shadow.take() else { return };
        let (engine, action, alone) = (self.engine.clone(), self.action, self.alone.take());
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let found = {
            let mut begun = engine.watching.begun.lock();
            let key = begun.keys().find(|(_, hash)| *hash == action).cloned();
            key.and_then(|key| begun.remove(&key))
        };
        let Some(begun) = found else { return };
        runtime.spawn(async move {
            let work = move || {
                let changed = shadow.after();
                (shadow, changed)
            };
            if let Ok((shadow, mut changed)) = tokio::task::spawn_blocking(work).await {
                changed.doubt = changed.doubt.or_else(|| Some("it was stopped while it ran".to_string()));
                if engine.note_command(begun.change, changed).await {
                    shadow.finished();
                }
            }
            drop(alone);
        });
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

fn before_json(files: &[FileChange]) -> Vec<Value> {
    files.iter().map(|file| json!([file.path, image_json(&file.before)])).collect()
}

/// Returns a change as the store keeps it.
pub fn change_json(change: &Change) -> Value {
    let files = change.files.iter().map(|f| json!([f.path, image_json(&f.before), image_json(&f.after)]));
    json!({
        "id": change.id, "kind": change.kind.name(), "time": change.time.to_string(), "since": change.since.0,
        "turn": change.turn, "session": change.session, "tool": change.tool, "summary": change.summary,
        "plan": change.plan, "approver": change.approver, "of": change.of, "files": files.collect::<Vec<_>>(),
        "memory": change.memory.map(|(from, to)| [from.0, to.0]), "doubt": change.doubt,
    })
}

/// Reads what [`change_json`] wrote.
pub fn read_change(value: &Value) -> Option<Change> {
    let text = |key: &str| value[key].as_str().map(str::to_string);
    let file = |value: &Value| {
        Some(FileChange {
            path: value[0].as_str()?.to_string(),
            before: read_image(&value[1])?,
            after: read_image(&value[2])?,
        })
    };
    let operation = |value: &Value| value.as_u64().map(OperationId);
    Some(Change {
        id: text("id")?,
        kind: Kind::parse(value["kind"].as_str()?)?,
        time: value["time"].as_str()?.parse().ok()?,
        since: operation(&value["since"])?,
        turn: text("turn")?,
        session: text("session")?,
        tool: text("tool")?,
        summary: text("summary")?,
        plan: text("plan"),
        approver: text("approver"),
        of: value["of"].as_array()?.iter().filter_map(Value::as_str).map(str::to_string).collect(),
        files: value["files"].as_array()?.iter().map(file).collect::<Option<Vec<_>>>()?,
        memory: operation(&value["memory"][0]).zip(operation(&value["memory"][1])),
        doubt: text("doubt"),
    })
}

impl Engine {
    /// Ends acts that an earlier session left without an outcome: what they had begun to change can be taken back.
    pub(super) async fn recover_change(&self, intent: &NewRecord) {
        let said = &intent.body["change"];
        let Some(id) = said["id"].as_str() else { return };
        let mut contents = Vec::new();
        let mut files = Vec::new();
        for file in said["files"].as_array().into_iter().flatten() {
            let (Some(path), Some(before)) = (file[0].as_str(), read_image(&file[1])) else { continue };
            let (state, _) = self.state_of(path).await;
            let after = image_of(&state, &mut contents);
            if after != before {
                files.push(FileChange { path: path.to_string(), before, after });
            }
        }
        if files.is_empty() {
            return;
        }
        self.keep_after(contents).await;
        let text = |key: &str| intent.body[key].as_str().unwrap_or_default().to_string();
        let change = Change {
            id: id.to_string(),
            kind: Kind::Act,
            time: intent.at,
            since: OperationId(intent.body["since"].as_u64().unwrap_or(self.head().0)),
            turn: text("turn"),
            session: String::new(),
            tool: text("tool"),
            summary: text("summary"),
            plan: None,
            approver: None,
            of: Vec::new(),
            files,
            memory: None,
            doubt: Some("its end was not seen; what came since counts as its own".to_string()),
        };
        if let Err(why) = self.append(kind::CHANGE, id, change_json(&change)).await {
            self.say(LogLevel::Error, &why);
        }
    }
}
