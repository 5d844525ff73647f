//! What a command changes: its project is copied before it runs and compared with the copies when it has ended, whatever
//! becomes of its turn.

use crate::domain::gate::clearance::Cleared;
use crate::domain::port::LogLevel;
use crate::domain::scope::Scope;
use crate::domain::undo::Change;
use crate::edge::engine::Engine;
use crate::edge::engine::changes::kept::{change_json, read_change};
use crate::edge::engine::changes::{Act, Alone, Found};
use crate::edge::engine::record::kind;
use crate::edge::shadow::room::{self, Room};
use crate::edge::shadow::{self, Caps, Shadow};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    pub(super) fn caps(&self) -> Caps {
        Caps { bytes: self.config.undo_bytes, files: self.config.undo_files }
    }

    /// Returns where copies of projects lie: those of one store, so that no other program counts them as its own.
    pub(super) fn shadows(&self) -> PathBuf {
        let name = blake3::hash(self.config.store.as_os_str().as_encoded_bytes()).to_hex();
        self.all_shadows().join(name.get(..16).unwrap_or_default())
    }

    /// Returns where the copies of all stores lie.
    pub(super) fn all_shadows(&self) -> PathBuf {
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
    pub(in crate::edge::engine) fn not_undoable(&self, scope: &Scope) -> Option<String> {
        shadow::objection(Path::new(&scope.project), self.caps())
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
    pub(in crate::edge::engine) async fn find_changed(self: &Arc<Self>) {
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
