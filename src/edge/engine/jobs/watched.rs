//! The states of what jobs watch: worked out again where a file changed, and nowhere else; and what a job's own edits do
//! to them.

use crate::domain::gate::facts::EditFact;
use crate::domain::id::ObjectHash;
use crate::domain::job::found::Found;
use crate::domain::job::watch::{State, Watch, of_file};
use crate::domain::job::{Job, key_of_session};
use crate::domain::memory::view::View;
use crate::edge::engine::Engine;
use crate::edge::engine::changes::Act;
use crate::edge::thread::aside;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was worked out.
#[derive(Default)]
pub(super) struct Watched {
    /// Of jobs that watch a part of a file: what, the file as it was, and the state.
    parts: BTreeMap<String, (Watch, String, ObjectHash, State)>,
    /// What each file adds to the state of the memex, and the sum; only once a job watches it.
    memex: Option<(BTreeMap<Arc<str>, State>, State)>,
    /// How many texts were read for it, since the start.
    pub(super) read: u64,
}

impl Watched {
    /// Lets the sum follow files that changed.
    pub(super) fn follow(&mut self, view: &View, files: &[Arc<str>]) {
        let Some((parts, sum)) = &mut self.memex else { return };
        for file in files {
            self.read += 1;
            let new = of_file(view, file);
            let old = match view.card(file) {
                Some(_) => parts.insert(file.clone(), new),
                None => parts.remove(file),
            };
            *sum = *sum - old.unwrap_or_default() + new;
        }
    }

    /// Forgets jobs that there are no more.
    pub(super) fn keep(&mut self, is_one: impl Fn(&str) -> bool) {
        self.parts.retain(|key, _| is_one(key));
    }

    fn memex(&mut self, view: &View) -> State {
        if self.memex.is_none() {
            let parts: BTreeMap<_, _> =
                view.cards().map(|card| (card.file.clone(), of_file(view, &card.file))).collect();
            self.read += parts.len() as u64;
            let sum = parts.values().fold(State::default(), |sum, part| sum + *part);
            self.memex = Some((parts, sum));
        }
        self.memex.as_ref().map(|(_, sum)| *sum).unwrap_or_default()
    }
}

impl Engine {
    /// Returns the state of what a job watches; `None` when it is not there. It may read a text.
    pub(super) fn watched(&self, job: &Job, view: &View) -> Option<State> {
        let node = view.get(&job.node)?;
        let mut watched = self.jobs.watched.lock();
        let Some(file) = job.watch.file(view, &node) else {
            return (job.watch == Watch::Memex).then(|| watched.memex(view));
        };
        let root = view.card(&file)?.root();
        let key = job.key();
        let known =
            watched.parts.get(&key).filter(|(what, of, at, _)| *what == job.watch && *of == file && *at == root);
        if let Some((.., state)) = known {
            return Some(*state);
        }
        watched.read += 1;
        let state = job.watch.state(view, &node)?;
        watched.parts.insert(key, (job.watch.clone(), file, root, state));
        Some(state)
    }

    /// Takes note of an edit that a job made: what it does to what the job watches wakes it not, whatever else changed there.
    pub(in crate::edge) async fn own_edit(self: &Arc<Self>, (turn, action): &Act, edit: &EditFact) {
        let (session, ..) = self.doings.behind(turn, *action);
        let Some(key) = key_of_session(&session).map(str::to_string) else { return };
        let (engine, edit) = (self.clone(), edit.clone());
        aside(move || {
            let Ok(found) = engine.job_of(&key) else { return };
            let Found::Job(job) = &*found else { return };
            let Some(difference) = engine.difference(job, &edit) else { return };
            if let Some(run) = engine.jobs.running.lock().get_mut(&key) {
                run.difference = run.difference + difference;
            }
            engine.touch_standing(&key, |standing| {
                for state in [&mut standing.seen, &mut standing.failed].into_iter().flatten() {
                    *state = *state + difference;
                }
            });
        })
        .await;
    }

    /// Returns what an edit does to the state of what a job watches.
    fn difference(&self, job: &Job, edit: &EditFact) -> Option<State> {
        let view = self.view();
        let file: Arc<str> = edit.file.as_str().into();
        let with = |text: Option<&Arc<str>>| {
            let Some(text) = text else { return Some(view.without(&file)) };
            let scan = self.scan_options_of(&file);
            let document = view.follow_text(&file, text.clone(), &scan, &self.privacy_options()).ok()?;
            Some(view.with(Arc::new(document)))
        };
        let (before, after) = (with(edit.before.as_ref())?, with(Some(&edit.after))?);
        if job.watch == Watch::Memex {
            return Some(of_file(&after, &file) - of_file(&before, &file));
        }
        let state = |view: &View| {
            let node = view.get(&job.node)?;
            let here = job.watch.file(view, &node).as_deref() == Some(&file);
            Some(if here { job.watch.state(view, &node)? } else { State::default() })
        };
        Some(state(&after)? - state(&before)?)
    }
}
