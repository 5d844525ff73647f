//! Changes: what stood at each path before an act and after it, kept with the act, so that it can be taken back.
//!
//! The bytes are in the store before the act begins, and the intent names them; the change itself is stored with the
//! outcome. What a command changes is found out with the copies of its project (`src/edge/shadow.rs`).

use crate::domain::action::{Action, Observation, Outcome};
use crate::domain::gate::clearance::Cleared;
use crate::domain::gate::place::holds_notes;
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
use crate::edge::shadow::room::{self, Room};
use crate::edge::shadow::{self, Caps, Shadow, image_json, read_image};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The mode that a new file gets.
const NEW_MODE: u32 = 0o644;

/// How long the end of a turn that was stopped waits for what still writes for it.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);

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

/// A command that is being watched. Dropping it before [`Watched::end`] notes what an interrupted command changed.
pub(in crate::edge) struct Watched {
    /// `None` when nothing is known of what it changes, or all of that has been said.
    watch: Option<Watch>,
    _alone: Option<Alone>,
}

/// What it takes to say what a command changed, whatever becomes of its turn.
struct Watch {
    engine: Arc<Engine>,
    act: Act,
    change: Change,
    shadow: Shadow,
    alone: Alone,
    busy: tokio::sync::OwnedMutexGuard<()>,
}

impl Engine {
    /// Returns how much of a project is copied before a command.
    fn caps(&self) -> Caps {
        Caps { bytes: self.config.undo_bytes, files: self.config.undo_files }
    }

    /// Returns where copies of projects lie: those of one store, so that no other program counts them as its own.
    fn shadows(&self) -> PathBuf {
        let name = blake3::hash(self.config.store.as_os_str().as_encoded_bytes()).to_hex();
        self.all_shadows().join(name.get(..16).unwrap_or_default())
    }

    /// Returns where the copies of all stores lie.
    fn all_shadows(&self) -> PathBuf {
        self.config.cache.join("shadow")
    }

    /// Says where copies of projects lie, what all of them take, and the most bytes that those of this store keep.
    pub async fn copies(&self) -> (PathBuf, Room, u64) {
        let (all, most) = (self.all_shadows(), room::most(self.caps()));
        let folder = all.clone();
        // What breaks here is no reason to break the doctor.
        let taken = tokio::task::spawn_blocking(move || room::taken(&folder)).await.unwrap_or_default();
        (all, taken, most)
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

    /// Waits until no other command runs in the project of a scope.
    pub(in crate::edge) async fn alone_in(&self, scope: &Scope) -> Alone {
        let lane = self.watching.projects.lock().entry(PathBuf::from(&scope.project)).or_default().clone();
        lane.lock_owned().await
    }

    /// Begins to watch what a command does to its project.
    ///
    /// # Errors
    /// When what stands there could not be copied, though it was said that it can: then the command must not run.
    pub(in crate::edge) async fn watch(
        self: &Arc<Self>,
        act: &Act,
        cleared: &Cleared,
        alone: Alone,
    ) -> Result<Watched, String> {
        if cleared.facts().not_undoable.is_some() {
            return Ok(Watched { watch: None, _alone: Some(alone) });
        }
        let failed = |why: String| format!("what it would change could not be kept, so it was not run: {why}");
        let busy = self.writing(act)?;
        let begun = self.watching.begun.lock().get(act).map(|begun| begun.change.clone());
        let change = begun.ok_or_else(|| "its turn was ended".to_string())?;
        let project = PathBuf::from(&cleared.scope().project);
        let (root, caps, note) = (self.shadows(), self.caps(), change_json(&change));
        if let Some(left) = shadow::unfinished_in(&root, &project) {
            let late = "what it changed was found out late; what came since counts as its own";
            self.note_left(project.clone(), &left, late).await.map_err(failed)?;
        }
        let work = move || {
            let mut shadow = Shadow::of(&root, &project, caps);
            shadow.before(&note).map(|()| shadow)
        };
        let made = tokio::task::spawn_blocking(work).await.map_err(|_| "copying its files broke".to_string())?;
        let shadow = made.map_err(failed)?;
        let watch = Watch { engine: self.clone(), act: act.clone(), change, shadow, alone, busy };
        Ok(Watched { watch: Some(watch), _alone: None })
    }

    /// Takes in what commands that an earlier session did not see to their end have changed.
    pub(super) async fn find_changed(self: &Arc<Self>) {
        for (project, note) in shadow::unfinished(&self.shadows()) {
            let late = "the program ended while it ran; what came since counts as its own";
            if let Err(why) = self.note_left(project, &note, late).await {
                self.say(LogLevel::Error, &why);
            }
        }
    }

    /// Stores what a command changed of which only the note is left that it ran.
    async fn note_left(&self, project: PathBuf, note: &Value, late: &str) -> Result<(), String> {
        let Some(change) = read_change(note) else { return Ok(()) };
        // When it was stored, and only the note outlived that, nothing that came since is laid at its door.
        let known = self.archive.latest(kind::CHANGE, change.id.clone()).await?.is_some();
        let (root, caps) = (self.shadows(), self.caps());
        let work = move || {
            let mut shadow = Shadow::of(&root, &project, caps);
            let changed = if known { shadow::Changed::default() } else { shadow.after() };
            (shadow, changed)
        };
        let Ok((shadow, mut changed)) = tokio::task::spawn_blocking(work).await else {
            self.say(LogLevel::Error, &format!("what a command changed could not be found out: {}", change.summary));
            return Ok(());
        };
        changed.doubt = Some(late.to_string());
        if !self.note_command(change, changed).await {
            return Err("what an earlier command changed could not be noted".to_string());
        }
        shadow.finished();
        Ok(())
    }

    /// Stores what a command changed, beside its outcome; returns whether that was possible.
    async fn note_command(&self, change: Change, changed: shadow::Changed) -> bool {
        self.keep_after(changed.contents).await;
        self.note_change(&Change { files: changed.files, doubt: changed.doubt, ..change }).await
    }

    /// Stores a change, if it is one; returns whether that was possible.
    async fn note_change(&self, change: &Change) -> bool {
        if !change.is_any() {
            return true;
        }
        let kept = self.append_all(change_records(change).into_iter()).await;
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
        self.seen(path, disk).await
    }

    /// As [`Engine::state_of`], for who has looked at the disk: one that may block must not wait for a second thread.
    pub(super) async fn seen(&self, path: &str, disk: State) -> (State, bool) {
        match self.editor.buffer(path).await {
            Ok(Some(buffer)) => {
                let mode = if let State::File { mode, .. } = &disk { *mode } else { NEW_MODE };
                (State::File { bytes: buffer.text.as_bytes().into(), mode }, true)
            }
            Ok(None) => (disk, false),
            Err(why) => (State::Unknown(why), false),
        }
    }

    /// Returns some changes by their names; those that are not known are left out.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) async fn changes_named(&self, names: Vec<String>) -> Result<Vec<Change>, String> {
        let records = self.archive.latest_of(kind::CHANGE, names).await?;
        Ok(records.iter().flatten().filter_map(|record| read_change(&record.body)).collect())
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
        if let Some(watch) = self.watch.take() {
            // In a task of its own: a turn that is stopped meanwhile loses nothing of it.
            let _ = tokio::spawn(watch.settle(None)).await;
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(watch.settle(Some("it was stopped while it ran")));
        }
    }
}

impl Watch {
    /// Finds out what the command changed. It goes with the outcome, or is stored here when none will come.
    async fn settle(self, stopped: Option<&str>) {
        let Watch { engine, act, change, mut shadow, alone, busy } = self;
        let work = move || {
            let changed = shadow.after();
            (shadow, changed)
        };
        let Ok((shadow, mut changed)) = tokio::task::spawn_blocking(work).await else {
            let text = format!("what a command changed is found out before the next one runs: {}", change.summary);
            return engine.say(LogLevel::Error, &text);
        };
        changed.doubt = changed.doubt.or_else(|| stopped.map(str::to_string));
        if stopped.is_none() {
            engine.keep_after(std::mem::take(&mut changed.contents)).await;
            if let Some(begun) = engine.watching.begun.lock().get_mut(&act) {
                (begun.change.files, begun.change.doubt) = (changed.files, changed.doubt);
                begun.found = Some(Found { shadow, _alone: alone });
                return;
            }
        }
        if engine.note_command(change, changed).await {
            shadow.finished();
        }
        drop((alone, busy));
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

/// Returns a change as records: itself, and by what it is found when only its name or its bytes are known.
pub(super) fn change_records(change: &Change) -> Vec<(&'static str, String, Value)> {
    if !change.is_any() {
        return Vec::new();
    }
    let mut records = vec![(kind::CHANGE, change.id.clone(), change_json(change))];
    records.extend(change.taken_whole().map(|id| (kind::TAKEN, id.clone(), json!({ "by": change.id }))));
    for file in change.files.iter().filter(|file| holds_notes(&file.path)) {
        if let Image::File { content, .. } = &file.after {
            let body = json!({ "change": change.id, "path": file.path, "time": change.time.to_string() });
            records.push((kind::MADE, content.to_hex(), body));
        }
    }
    records
}

/// Returns a change as the store keeps it.
pub fn change_json(change: &Change) -> Value {
    let files = change.files.iter().map(|f| json!([f.path, image_json(&f.before), image_json(&f.after)]));
    json!({
        "id": change.id, "kind": change.kind.name(), "time": change.time.to_string(), "since": change.since.0,
        "turn": change.turn, "session": change.session, "tool": change.tool, "summary": change.summary,
        "plan": change.plan, "approver": change.approver, "of": change.of, "files": files.collect::<Vec<_>>(),
        "memory": change.memory.map(|(from, to)| [from.0, to.0]), "focus": change.focus, "doubt": change.doubt,
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
        focus: match &value["focus"] {
            Value::Null => None,
            moved => Some(serde_json::from_value(moved.clone()).ok()?),
        },
        doubt: text("doubt"),
    })
}

impl Engine {
    /// Stores what an act without an outcome has changed, so that it can be taken back; returns the files.
    pub(super) async fn recover_change(&self, intent: &NewRecord) -> Vec<String> {
        let Some(mut change) = read_change(&intent.body["change"]) else { return Vec::new() };
        let mut contents = Vec::new();
        for file in &mut change.files {
            let (state, _) = self.state_of(&file.path).await;
            file.after = image_of(&state, &mut contents);
        }
        change.files.retain(|file| file.before != file.after);
        self.keep_after(contents).await;
        change.doubt = Some("its end was not seen; what came since counts as its own".to_string());
        self.note_change(&change).await;
        change.files.into_iter().map(|file| file.path).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::gate::clearance::{Judgement, judge};
    use crate::domain::gate::facts::{Facts, PutFact};
    use crate::domain::gate::{Case, Gate, Gates, Verdict};
    use crate::domain::id::SessionId;
    use crate::domain::label::Labels;
    use crate::domain::port::Journal;
    use crate::domain::signal::Sensor;
    use crate::domain::tool::Toolbox;
    use crate::edge::clock::SystemClock;
    use crate::edge::config::{Config, Surroundings};
    use crate::edge::editor::NoEditor;
    use crate::edge::engine::boot::{Boot, Keep, start};
    use crate::edge::secret::Vault;

    /// A gate that lets everything pass, for a clearance.
    struct Open;

    impl Gate for Open {
        fn name(&self) -> &str {
            "open"
        }
        fn priority(&self) -> u16 {
            1
        }
        fn judge(&self, _: &Case<'_>) -> Verdict {
            Verdict::pass()
        }
    }

    /// A project and the copies of it, which outlive a session.
    struct Place {
        _folder: tempfile::TempDir,
        base: PathBuf,
    }

    impl Place {
        fn new() -> Place {
            let folder = tempfile::tempdir().expect("a folder");
            let base = folder.path().canonicalize().expect("it is there");
            std::fs::create_dir(base.join("project")).expect("a folder");
            std::fs::write(base.join("project/a"), "one").expect("a file");
            Place { _folder: folder, base }
        }

        fn at(&self, name: &str) -> String {
            self.base.join("project").join(name).to_string_lossy().into_owned()
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.at(name), text).expect("a file");
        }

        async fn engine(&self) -> Arc<Engine> {
            let mut config = Config::read(&Surroundings { variables: Default::default() });
            (config.cache, config.store) = (self.base.join("cache"), self.base.join("store"));
            config.directories = vec![self.base.join("memex")];
            let (vault, clock) = (Vault::empty(), Arc::new(SystemClock));
            let (editor, notify) = (Arc::new(NoEditor), Arc::new(|_| {}));
            let boot = Boot { config, vault, editor, clock, notify, keep: Keep::InMemory };
            start(boot).await.expect("the engine starts")
        }

        fn cleared(&self, tool: &str, args: Value, facts: Facts) -> Cleared {
            let toolbox = Toolbox::builtin();
            let args = args.as_object().expect("an object").clone();
            let action = Action::new(&toolbox, tool, args, Some("a test"), Labels::MODEL).expect("a proper action");
            let scope = Scope {
                session: SessionId("s".to_string()),
                memex: Vec::new(),
                project: self.base.join("project").to_string_lossy().into_owned(),
                home: self.base.to_string_lossy().into_owned(),
                own: Vec::new(),
                permissions: Default::default(),
                private_tags: Vec::new(),
                self_build: false,
                see_private: true,
                hosts: Vec::new(),
            };
            let tool = toolbox.get(tool).expect("a tool");
            let case = Case { action: &action, tool, scope: &scope, facts: &facts, set_off: Sensor::UserInput };
            match judge(&Gates::for_tests(vec![Box::new(Open)]), case, None) {
                Judgement::Cleared(cleared) => *cleared,
                other => panic!("{other:?}"),
            }
        }

        fn command(&self) -> Cleared {
            self.cleared("shell", json!({"command": "make"}), Facts::default())
        }

        fn undo(&self) -> Cleared {
            let before = shadow::at(Path::new(&self.at("a")), 100).0;
            let put = PutFact { file: self.at("a"), before, after: Image::Absent, diff: String::new() };
            let args = json!({"kind": "undo", "changes": ["A1", "A2"], "files": [self.at("a")]});
            self.cleared(RESTORE, args, Facts { puts: vec![put], ..Facts::default() })
        }
    }

    /// Begins an act of a turn as the turn does, and says by whom it was approved.
    async fn begin(engine: &Engine, cleared: &Cleared) -> Act {
        let turn = engine.new_turn();
        engine.doings.begin(&turn, &SessionId("s".to_string()), None);
        engine.doings.approved_by(&turn, "emacs");
        engine.intent(&turn, cleared).await.expect("it is stored");
        (turn, cleared.action().hash())
    }

    async fn watch(engine: &Arc<Engine>, act: &Act, cleared: &Cleared) -> Watched {
        let alone = engine.alone_in(cleared.scope()).await;
        engine.watch(act, cleared, alone).await.expect("it is watched")
    }

    fn done(act: &Act) -> Observation {
        let outcome = Outcome::Done("Exit status 0.".to_string());
        Observation { action: act.1, outcome, labels: Labels::MODEL, changed: Vec::new() }
    }

    fn paths(changes: &[Change]) -> Vec<Vec<&str>> {
        changes.iter().map(|change| change.files.iter().map(|file| file.path.as_str()).collect()).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_a_stopped_command_changed_is_known_when_its_turn_has_ended() {
        let place = Place::new();
        let (engine, cleared) = (place.engine().await, place.command());
        let act = begin(&engine, &cleared).await;
        let watched = watch(&engine, &act, &cleared).await;
        place.write("a", "by the command");
        drop(watched);
        engine.end_unfinished(&act.0).await;
        let changes = engine.changes().await.expect("they are read");
        assert_eq!(paths(&changes), [[place.at("a")]]);
        assert_eq!((changes[0].tool.as_str(), changes[0].approver.as_deref()), ("shell", Some("emacs")));
        assert_eq!(changes[0].doubt.as_deref(), Some("it was stopped while it ran"));
        assert_eq!(shadow::unfinished(&engine.shadows()), []);
        assert!(engine.watching.begun.lock().is_empty(), "nothing is left of it");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_a_command_changed_outlives_a_crash_until_its_outcome_is_stored() {
        let place = Place::new();
        let (engine, cleared) = (place.engine().await, place.command());
        let act = begin(&engine, &cleared).await;
        let watched = watch(&engine, &act, &cleared).await;
        place.write("b", "by the command");
        watched.end().await;
        // Whoever starts now finds no outcome, and the note.
        let again = place.engine().await;
        let changes = again.changes().await.expect("they are read");
        assert_eq!(paths(&changes), [[place.at("b")]]);
        assert!(changes[0].doubt.as_deref().is_some_and(|doubt| doubt.contains("the program ended")));
        assert_eq!(shadow::unfinished(&again.shadows()), []);

        let act = begin(&engine, &cleared).await;
        // The project is let go of with the outcome of the first.
        let waits = tokio::time::timeout(Duration::from_millis(20), engine.alone_in(cleared.scope())).await;
        assert!(waits.is_err(), "another command would write its note over that of the first");
        let first = engine.watching.begun.lock().keys().find(|key| **key != act).cloned().expect("the first");
        engine.outcome(&first.0, &done(&first)).await.expect("it is stored");
        let watched = watch(&engine, &act, &cleared).await;
        place.write("c", "by the command");
        watched.end().await;
        assert_eq!(shadow::unfinished(&engine.shadows()).len(), 1);
        engine.outcome(&act.0, &done(&act)).await.expect("it is stored");
        assert_eq!(shadow::unfinished(&engine.shadows()), []);
        let changes = engine.changes().await.expect("they are read");
        assert_eq!(paths(&changes), [[place.at("b")], [place.at("c")]]);
        assert!(changes.iter().all(|change| change.doubt.is_none()), "{changes:?}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_note_that_is_left_is_taken_in_before_the_next_command_and_never_twice() {
        let place = Place::new();
        let (engine, cleared) = (place.engine().await, place.command());
        for stored in [false, true] {
            let act = begin(&engine, &cleared).await;
            let watched = watch(&engine, &act, &cleared).await;
            place.write("a", &format!("by the command {stored}"));
            watched.end().await;
            let count = engine.changes().await.expect("they are read").len();
            let note = shadow::unfinished(&engine.shadows()).remove(0).1;
            if stored {
                engine.outcome(&act.0, &done(&act)).await.expect("it is stored");
                // As if the note had outlived it.
                let (root, project) = (engine.shadows(), place.base.join("project"));
                Shadow::of(&root, &project, engine.caps()).before(&note).expect("it is noted");
            } else {
                // As if its outcome could not be stored.
                engine.watching.begun.lock().remove(&act);
            }
            let act = begin(&engine, &cleared).await;
            place.write("mine", &format!("by hand {stored}"));
            watch(&engine, &act, &cleared).await.end().await;
            engine.outcome(&act.0, &done(&act)).await.expect("it is stored");
            let changes = engine.changes().await.expect("they are read");
            assert_eq!(changes.len(), count + 1, "{stored}: {changes:?}");
            assert_eq!(changes[count].doubt.is_some(), !stored, "{stored}: {changes:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_same_command_of_two_turns_is_told_apart() {
        let place = Place::new();
        let (engine, cleared) = (place.engine().await, place.command());
        let (first, second) = (begin(&engine, &cleared).await, begin(&engine, &cleared).await);
        for (act, text) in [(&second, "second"), (&first, "first")] {
            let watched = watch(&engine, act, &cleared).await;
            place.write("a", text);
            watched.end().await;
            engine.outcome(&act.0, &done(act)).await.expect("it is stored");
        }
        let changes = engine.changes().await.expect("they are read");
        let turns: Vec<&str> = changes.iter().map(|change| change.turn.as_str()).collect();
        assert_eq!(turns, [second.0.0.as_str(), first.0.0.as_str()]);
        assert_eq!(paths(&changes), [[place.at("a")], [place.at("a")]]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_undo_whose_end_was_not_seen_is_still_an_undo() {
        let place = Place::new();
        let (engine, cleared) = (place.engine().await, place.undo());
        let act = begin(&engine, &cleared).await;
        std::fs::remove_file(place.at("a")).expect("it goes");
        engine.end_unfinished(&act.0).await;
        let changes = engine.changes().await.expect("they are read");
        assert_eq!((changes.len(), changes[0].kind, changes[0].approver.as_deref()), (1, Kind::Undo, Some("emacs")));
        assert_eq!((changes[0].of.join(" ").as_str(), changes[0].session.as_str()), ("A1 A2", "s"));
        assert_eq!((&changes[0].turn, &changes[0].files[0].after), (&act.0.0, &Image::Absent));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_turn_that_is_stopped_ends_when_nothing_writes_for_it_any_more() {
        let place = Place::new();
        let (engine, cleared) = (place.engine().await, place.undo());
        let act = begin(&engine, &cleared).await;
        let busy = engine.writing(&act).expect("it may write");
        let (ending, turn) = (engine.clone(), act.0.clone());
        let mut ended = tokio::spawn(async move { ending.end_unfinished(&turn).await });
        assert!(tokio::time::timeout(Duration::from_millis(50), &mut ended).await.is_err(), "it waits");
        std::fs::remove_file(place.at("a")).expect("it goes");
        drop(busy);
        ended.await.expect("it ends");
        assert_eq!(paths(&engine.changes().await.expect("they are read")), [[place.at("a")]]);
        let outcomes = engine.archive.latest_each(kind::OUTCOME).await.expect("they are read");
        assert_eq!(outcomes[0].body["changed"], json!([place.at("a")]));
        assert!(engine.writing(&act).is_err(), "nothing is written for it from now on");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_only_looks_adds_nothing_to_the_store_however_large_it_is() {
        let place = Place::new();
        let engine = place.engine().await;
        let lines = |words: [&str; 3]| words.map(|word| format!("{}\n", word.repeat(1 << 20))).concat().into_bytes();
        let [before, after, now] =
            [["aaaa", "bbbb", "cccc"], ["dddd", "bbbb", "cccc"], ["dddd", "bbbb", "eeee"]].map(lines);
        let image = |bytes: &[u8], mode| Image::File { content: content_name(bytes), size: bytes.len() as u64, mode };
        engine
            .archive
            .keep(vec![Content::of(before.clone()), Content::of(after.clone())])
            .await
            .expect("they are kept");
        std::fs::write(place.at("a"), &now).expect("a file");
        let files =
            vec![FileChange { path: place.at("a"), before: image(&before, 0o755), after: image(&after, 0o644) }];
        let act = begin(&engine, &place.undo()).await;
        let change = engine.watching.begun.lock().get(&act).map(|begun| begun.change.clone()).expect("it has begun");
        let change = Arc::new(Change { files, ..change });
        let merged = content_name(&lines(["aaaa", "bbbb", "eeee"]));
        for now in [false, true] {
            let (looking, of) = (engine.clone(), change.clone());
            let work = move || looking.predict_restore(&[&of], now).map(|predicted| predicted.puts[0].after.clone());
            let found = tokio::task::spawn_blocking(work).await.expect("it does not break").expect("it is predicted");
            assert!(matches!(found, Image::File { content, mode: 0o755, .. } if content == merged), "{found:?}");
            assert_eq!(engine.kept_bytes(merged).await.is_ok(), now, "it is kept when it is about to be put");
        }
    }

    #[test]
    fn previews_at_once_never_wait_for_each_other() {
        let place = Place::new();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().max_blocking_threads(1).build();
        let runtime = runtime.expect("a runtime");
        let found = runtime.block_on(async {
            let (engine, cleared) = (place.engine().await, place.undo());
            let act = begin(&engine, &cleared).await;
            std::fs::remove_file(place.at("a")).expect("it goes");
            engine.end_unfinished(&act.0).await;
            let changes = engine.changes().await.expect("they are read");
            let work = move || engine.predict_restore(&[&changes[0]], false).map(|predicted| predicted.puts.len());
            let found = tokio::task::spawn_blocking(work);
            tokio::time::timeout(Duration::from_secs(20), found).await
        });
        // A thread that waits for itself is not waited for.
        runtime.shutdown_background();
        assert_eq!(found.expect("it comes in time").expect("it does not break"), Ok(1));
    }
}
