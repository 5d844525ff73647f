//! Which jobs there are: read anew where a file or a skill changed, and so many of them at most.

use crate::domain::count::counted;
use crate::domain::job::found::{self, Found};
use crate::domain::job::{When, skill_of_task};
use crate::domain::memory::view::View;
use crate::domain::signal::Sensor;
use crate::domain::skill::lisp::Role;
use crate::domain::skill::trigger::SignalFacts;
use crate::domain::skill::{Skill, handlers};
use crate::edge::engine::Engine;
use crate::edge::engine::skills::Skills;
use std::collections::BTreeSet;
use std::sync::Arc;

/// So many of all files are looked at, beside those that the user confirmed.
const MOST: usize = 1_000;

impl Engine {
    /// Returns all jobs, after what changed was read. It may read texts.
    pub(super) fn found_jobs(&self) -> Vec<Arc<Found>> {
        let _alone = self.jobs.reading.lock();
        let (view, skills) = (self.view(), self.skills());
        let (mut files, changed, mut room) = {
            let mut known = self.jobs.known.lock();
            let whole = std::mem::replace(&mut known.whole, true);
            let changed: BTreeSet<Arc<str>> = match whole {
                true => std::mem::take(&mut known.stale),
                false => view.cards().map(|card| card.file.clone()).collect(),
            };
            let mut files = changed.clone();
            if std::mem::replace(&mut known.skills, skills.number) != skills.number {
                // Any of them may be answered by a skill now, or not any more.
                files.extend(known.found.keys().cloned());
            }
            if !files.is_empty() {
                // What found no room may find it now.
                files.extend(std::mem::take(&mut known.crowded));
            }
            if files.is_empty() {
                return known.found.values().flatten().cloned().collect();
            }
            let others = known.found.iter().filter(|(file, _)| !files.contains(*file));
            let taken = others.flat_map(|(_, found)| found).filter(|found| !self.is_confirmed_job(found)).count();
            (files, changed, MOST.saturating_sub(taken))
        };
        self.jobs.watched.lock().follow(&view, &changed.into_iter().collect::<Vec<_>>());
        while let Some(file) = files.pop_first() {
            let found = found::in_file(&view, &file).into_iter().map(|found| with_lisp(found, &skills, &view));
            let (found, left) = self.with_room(&file, found, &mut room);
            let mut known = self.jobs.known.lock();
            if left {
                known.crowded.insert(file.clone());
            }
            match found.is_empty() {
                true => drop(known.found.remove(&file)),
                false => drop(known.found.insert(file, found)),
            }
        }
        self.jobs.known.lock().found.values().flatten().cloned().collect()
    }

    /// Returns what of a file is looked at, and whether some of it is not: what was confirmed always is.
    fn with_room(
        &self,
        file: &Arc<str>,
        found: impl Iterator<Item = Found>,
        room: &mut usize,
    ) -> (Vec<Arc<Found>>, bool) {
        let (mut kept, mut left, mut first) = (Vec::new(), 0, None);
        for found in found {
            if *room > 0 || self.is_confirmed_job(&found) {
                *room -= usize::from(!self.is_confirmed_job(&found));
                kept.push(Arc::new(found));
                continue;
            }
            left += 1;
            first.get_or_insert(found);
        }
        if let Some(first) = first {
            let (at, title) = match first {
                Found::Job(job) => (job.node, job.title),
                Found::Broken { at, title, .. } => (at, title),
            };
            let more = counted(left, "job");
            let why = format!("only {MOST} of all files are looked at, so {more} of this one are not; take some away");
            kept.push(Arc::new(Found::Broken { at, file: file.clone(), title, why }));
        }
        (kept, left > 0)
    }

    fn is_confirmed_job(&self, found: &Found) -> bool {
        matches!(found, Found::Job(job) if self.is_confirmed(&job.loosening()))
    }

    /// Returns the jobs that can be understood, of headings that memory has.
    pub(super) fn understood_jobs(&self) -> Vec<(Arc<Found>, String)> {
        let named = |found: Arc<Found>| match &*found {
            Found::Job(job) => Some(job.key()).map(|key| (found.clone(), key)),
            Found::Broken { .. } => None,
        };
        self.found_jobs().into_iter().filter_map(named).collect()
    }
}

/// Adds the Lisp of the skill whose block a job asks for, and otherwise of those whose handlers it is for: what triggers a
/// skill is all part of what is confirmed.
fn with_lisp(found: Found, skills: &Skills, view: &View) -> Found {
    let Found::Job(mut job) = found else { return found };
    let lisp = |skill: &Skill| -> Arc<str> { Arc::from(skill.lisp.shown()) };
    if let Some(name) = skill_of_task(&job.task) {
        let asked = skills.loaded.skills.iter().find(|skill| skill.name == name && skill.lisp.has(Role::Job));
        job.lisp = asked.map(lisp);
        return Found::Job(job);
    }
    let node = view.get(&job.node);
    let sensor = match job.when {
        When::Due(_) => Sensor::Schedule,
        When::Changed => Sensor::Hook,
    };
    let facts = SignalFacts {
        sensor: sensor.name(),
        text: &job.task,
        tags: &job.tags,
        todo: node.as_ref().and_then(|node| node.keyword().map(|keyword| keyword.name)),
        file: Some(&job.file),
    };
    let answering = handlers(&skills.loaded.skills, &facts);
    let answering = answering.into_iter().map(|skill| (skill.name.clone(), lisp(skill))).collect();
    job.handlers = answering;
    Found::Job(job)
}
